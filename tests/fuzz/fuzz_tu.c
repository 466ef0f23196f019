/* libFuzzer: seven texts as the files of a folder of many graphs. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"f/T_A.txt",
                                        "f/T_graph_indicator.txt",
                                        "f/T_graph_labels.txt",
                                        "f/T_node_labels.txt",
                                        "f/T_edge_labels.txt",
                                        "f/T_node_attributes.txt",
                                        "f/T_graph_attributes.txt"};
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
    *strstr(path, "/T_") = '\0';
    int rc = gnn_data_open(&set, path);
    fuzz_set(rc, set);
    return 0;
}
