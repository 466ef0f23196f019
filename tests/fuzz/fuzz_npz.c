/* libFuzzer: any bytes as a .npz, and as a data set. */
#include "fuzz.h"

#include <graphs/graph.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_arrays_t *arrays = NULL;
    gnn_data_t *set = NULL;
    int rc = gnn_npz_read(&arrays, fuzz_path(data, size), &fuzz_limits);
    fuzz_arrays(rc, arrays);
    if (rc == GNN_OK && gnn_data_open(&set, fuzz_path(data, size)) == GNN_OK &&
        gnn__graph_validate(gnn_data_graph(set)) != GNN_OK)
        abort();
    gnn_data_free(set);
    return 0;
}
