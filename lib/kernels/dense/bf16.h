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

/* At `high` an operand stands three times along the product's inner dimension. */
enum { GNN__BF16_PARTS = 3 };

/* One operand of a product: its parts stand beside or below one another, along the product's inner
 * dimension. */
typedef struct gnn__bf16_operand {
    const gnn_real_t *x;
    int64_t rows, cols, stride;
    bool beside;
    int parts, again, low; /* places of the second copy of the high part, and of the low part */
    uint16_t *to;
} gnn__bf16_operand_t;
size_t gnn__bf16_bytes(const gnn__bf16_operand_t *operand);
/* Fills `to`, with at most `limit` threads. */
void gnn__bf16_make(const gnn_context_t *context, int limit, const gnn__bf16_operand_t *operand);

#endif
