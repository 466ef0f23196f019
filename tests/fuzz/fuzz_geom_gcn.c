/* libFuzzer: two texts as the nodes and links of Geom-GCN's folder. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"f/out1_node_feature_label.txt", "f/out1_graph_edges.txt"};
    fuzz_folder(sizeof names / sizeof names[0], names, data, size);
    return 0;
}
