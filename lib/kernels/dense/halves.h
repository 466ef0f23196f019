/* Matrices whose numbers stay in the 16 bits that a file has: bf16 (the upper half of a float) or
 * float16. They are widened as they are read, exactly, and all sums are of gnn_real_t. */
#ifndef GNN_KERNELS_HALVES_H
#define GNN_KERNELS_HALVES_H

#include <lib/kernels/dense/few_rows.h>

typedef struct gnn__halves {
    const uint16_t *at; /* rows x cols, without gaps */
    int64_t rows, cols;
    bool bf16;   /* else float16 */
    bool turned; /* the parameter is the transposed of what is stored: (cols x rows) */
} gnn__halves_t;

/* y = x W' + bias, W stored as (outputs x k). */
typedef struct gnn__halves_product {
    const gnn__halves_t *w;
    const gnn_real_t *x, *bias; /* rows x k; a row of outputs, or NULL */
    gnn_real_t *y;              /* rows x outputs */
    int64_t rows, ldx, ldy;
    bool add; /* to what y holds; then there is no bias */
} gnn__halves_product_t;

typedef struct gnn__halves_kernels {
    void (*widen)(int64_t n, bool bf16, const uint16_t *from, gnn_real_t *to);
} gnn__halves_kernels_t;
const gnn__halves_kernels_t *gnn__halves_kernels(void);

/* The whole product. More than GNN__FEW_ROWS rows go through gnn__dense, with panels of W widened
 * into `scratch` (gnn__halves_scratch numbers). Called outside parallel regions. */
int gnn__halves_multiply(gnn_context_t *context, const gnn__halves_product_t *product, int threads,
                         gnn_real_t *scratch);
int64_t gnn__halves_scratch(const gnn__halves_t *w, int64_t rows);
/* All of W, as the parameter is: transposed where it is turned. */
void gnn__halves_widen(const gnn_context_t *context, const gnn__halves_t *w, int threads,
                       gnn_real_t *to, int64_t stride);

#endif
