/* Floats as sums of bf16 numbers (the upper half of a float, rounded), for products at `high` and
 * `medium`. */
#ifndef GNN_KERNELS_BF16_H
#define GNN_KERNELS_BF16_H

#include <lib/base/base.h>

typedef struct gnn__bf16_kernels {
    /* high = the bf16 number nearest to x, ties to even; low = the one nearest to x - high, or
     * NULL. Together they hold 16 of a float's 24 bits. NaN stays NaN in both; low is 0 where high
     * is infinite. */
    void (*split)(int64_t n, const float *x, uint16_t *high, uint16_t *low);
} gnn__bf16_kernels_t;
const gnn__bf16_kernels_t *gnn__bf16_kernels(void);

#endif
