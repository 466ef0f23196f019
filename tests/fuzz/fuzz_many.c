/* libFuzzer: any bytes as a text of many graphs. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_data_t *set = NULL;
    int rc = gnn_data_open(&set, fuzz_file("f.txt", data, size));
    fuzz_set(rc, set);
    return 0;
}
