/* The dense seam: every matrix product of the library goes through here. OpenBLAS lies behind it,
 * and oneDNN where the build found it (onednn.c): docs/decisions/005-two-dense-providers.md says
 * which runs what. */
#ifndef GNN_KERNELS_DENSE_H
#define GNN_KERNELS_DENSE_H

#include <lib/base/base.h>

/* C (m x n) = alpha op(A) op(B) + beta C, or with a bias (beta then counts as 0) alpha op(A) op(B)
 * + bias in every row; op transposes where the flag is set; row-major with strides. */
typedef struct gnn__product {
    bool transpose_a, transpose_b;
    int64_t m, n, k, lda, ldb, ldc;
    gnn_real_t alpha, beta;
    const gnn_real_t *a, *b;
    gnn_real_t *c;
    const gnn_real_t *bias; /* n numbers, or NULL */
    int threads;            /* at most so many of the context's; 0: all of them */
} gnn__product_t;

/* Row r of C becomes the bias, for a product that adds to it. */
static inline void gnn__product_bias_row(const gnn__product_t *product, int64_t r)
{
    memcpy(product->c + r * product->ldc, product->bias, (size_t)product->n * sizeof(gnn_real_t));
}

/* Called outside parallel regions. With a deterministic context the product is split into fixed row
 * blocks that are computed serially, so that bits do not depend on the number of threads. beta 0
 * overwrites C even where it holds NaN. m, n or k of 0 are fine. Which provider runs, and with how
 * many threads, follows from the shape, the context and the processor alone. */
int gnn__dense(gnn_context_t *context, const gnn__product_t *product);

/* "OpenBLAS 0.3.21, core Cooperlake, OpenMP; oneDNN 2.6.3, avx512_core_bf16" */
void gnn__dense_info(char *text, size_t size);
/* True if the provider's core is older than the processor (OPENBLAS_CORETYPE was set); programs
 * warn once. */
bool gnn__dense_core_is_old(void);

/* ---- oneDNN; without it these decline and say no ---- */

/* Runs the product at `level`. GNN_EUNSUPPORTED (no message is set): *product is what is left of it
 * for OpenBLAS, at `highest`. Most often that is all of it. */
int gnn__onednn(gnn_context_t *context, gnn__product_t *product, gnn_precision_t level, int threads);
/* Can the processor compute at this level at all, and is that faster than at `highest`? */
bool gnn__onednn_has(gnn_precision_t level);
bool gnn__onednn_gains(gnn_precision_t level);
void gnn__onednn_info(char *text, size_t size);

/* What products have laid out, or rounded, of weights that stay as they are: kept with the weights,
 * so that it is done once and not in every product. For weights in `length` numbers from `begin`
 * on; NULL where nothing is gained. */
typedef struct gnn__prepacked gnn__prepacked_t;
int gnn__prepacked_new(gnn__prepacked_t **prepacked, const gnn_real_t *begin, int64_t length);
/* NULL is none. */
void gnn__prepacked_free(gnn__prepacked_t *prepacked);

#endif
