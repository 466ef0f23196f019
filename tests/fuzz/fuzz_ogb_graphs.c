/* libFuzzer: nine texts as the parts of OGB's folder of many graphs; an empty one is not there. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "f/raw/num-node-list.csv.gz", "f/raw/num-edge-list.csv.gz", "f/raw/edge.csv.gz",
        "f/raw/graph-label.csv.gz",   "f/raw/node-feat.csv.gz",     "f/raw/edge-feat.csv.gz",
        "f/split/s/train.csv.gz",     "f/split/s/valid.csv.gz",     "f/split/s/test.csv.gz"};
    char path[256] = "";
    gnn_data_t *set = NULL;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const uint8_t *part;
        size_t n = fuzz_part(&part, &data, &size);
        const char *file = fuzz_file(names[k], part, n);
        if (n == 0)
            unlink(file);
        snprintf(path, sizeof path, "%s", file);
    }
    *strstr(path, "/split/") = '\0';
    int rc = gnn_data_open(&set, path);
    fuzz_set(rc, set);
    return 0;
}
