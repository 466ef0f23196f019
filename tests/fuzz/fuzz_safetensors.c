/* libFuzzer: any bytes as a safetensors file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_arrays_t *arrays = NULL;
    int rc = gnn_safetensors_read(&arrays, fuzz_path(data, size), &fuzz_limits);
    fuzz_arrays(rc, arrays);
    return 0;
}
