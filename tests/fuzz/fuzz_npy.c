/* libFuzzer: the header of a .npy alone, without the checksum of a zip in the way. */
#include "fuzz.h"

#include <lib/data/arrays/arrays.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn__npy_t npy;
    char *text = malloc(size ? size : 1); /* its own block, so that a byte too many is seen */
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    if (gnn__npy_parse(&npy, text, (int64_t)size) == GNN_OK && !npy.left_out) {
        int64_t count;
        if (!gnn__shape_count(npy.like.ndim, npy.like.shape, &count) || count != npy.like.count ||
            npy.bytes != count * (int64_t)gnn__element(npy.like.dtype)->size)
            abort();
    }
    free(text);
    return 0;
}
