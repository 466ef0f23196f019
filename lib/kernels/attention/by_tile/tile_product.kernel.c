/* Products of tiles in the numbers of the library. */
#include <lib/kernels/attention/by_tile/tile_product.h>

#define TARGET
#define MULTIPLY_ADD(w, x, sum) ((sum) + (w) * (x))
#include <lib/kernels/attention/by_tile/product_template.h>

ONE_COPY void product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                      const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                      int64_t width, bool add)
{
    grouped_product(a, row, step, rows, b, ldb, n, out, ldo, width, add);
}
