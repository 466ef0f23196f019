/* libFuzzer: any bytes as networkx's JSON of nodes and links. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_data_t *set = NULL;
    int rc = gnn_data_open(&set, fuzz_file("f.json", data, size));
    fuzz_set(rc, set);
    return 0;
}
