/* libFuzzer: the first byte names a form that igraph reads, the others are its text. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"f.gml", "f.net",    "f.ncol",   "f.lgl",
                                        "f.dl",  "f.dimacs", "f.graphdb"};
    gnn_data_t *set = NULL;
    if (size == 0)
        return 0;
    int rc = gnn_data_open(&set, fuzz_file(names[data[0] % 7], data + 1, size - 1));
    fuzz_set(rc, set);
    return 0;
}
