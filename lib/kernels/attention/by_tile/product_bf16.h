/* Products of tiles in bf16 by vdpbf16ps, and what makes words of numbers. Included by kernels
 * only. */
#ifndef GNN_KERNELS_PRODUCT_BF16_H
#define GNN_KERNELS_PRODUCT_BF16_H

#include <lib/kernels/attention/by_tile/tile_product.h>

#define rounded_product GNN__KERNEL(tile_rounded_product)
#define split_product GNN__KERNEL(tile_split_product)
#define bf16_row GNN__KERNEL(tile_bf16_row)
#define halve GNN__KERNEL(tile_halve)
#define pair GNN__KERNEL(tile_pair)

/* n, steps and distances count words. */
product_t rounded_product, split_product;

/* One row, of numbers from .. to - 1, in the same order. */
void bf16_row(const gnn_real_t *a, int64_t step, const gnn_real_t *b, int64_t ldb, int64_t from,
              int64_t to, gnn_real_t *out, int64_t width, bool split);

/* n numbers (whole rows) become rows of a, where they are. */
void halve(gnn_real_t *x, int64_t n, bool split);

/* Rows become those of b; beyond the last one is 0. y may be x. */
void pair(const gnn_real_t *x, int64_t rows, int64_t ld, gnn_real_t *y, bool split);

#endif
