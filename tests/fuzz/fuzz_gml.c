/* libFuzzer: any bytes as GML. */
#include "fuzz.h"

#include <gnn/igraph.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_data_t *set = NULL;
    if (gnn_igraph_use() != GNN_OK)
        abort();
    int rc = gnn_data_open(&set, fuzz_file("f.gml", data, size));
    fuzz_set(rc, set);
    return 0;
}
