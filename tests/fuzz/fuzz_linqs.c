/* libFuzzer: two texts as LINQS' NAME.content and NAME.cites. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_data_t *set = NULL;
    const uint8_t *part;
    size_t n = fuzz_part(&part, &data, &size);
    fuzz_file("f.content", part, n);
    int rc = gnn_data_open(&set, fuzz_file("f.cites", data, size));
    fuzz_set(rc, set);
    return 0;
}
