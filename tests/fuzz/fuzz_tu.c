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
    fuzz_folder(sizeof names / sizeof names[0], names, data, size);
    return 0;
}
