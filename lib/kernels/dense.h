/* The dense seam: every matrix product of the library goes through here; OpenBLAS lies behind it (a second provider may). */
#ifndef GNN_KERNELS_DENSE_H
#define GNN_KERNELS_DENSE_H

#include <lib/base/base.h>

/* C (m x n) = alpha op(A) op(B) + beta C; op transposes where the flag is set; row-major with strides. Called outside parallel regions. With a deterministic
 * context the product is split into fixed row blocks that are computed serially, so that bits do not depend on the number of threads. beta 0 overwrites C even
 * where it holds NaN. m, n or k of 0 are fine. */
int gnn__gemm(const gnn_context_t *context, bool transpose_a, bool transpose_b, int64_t m,
              int64_t n, int64_t k, gnn_real_t alpha, const gnn_real_t *a, int64_t lda,
              const gnn_real_t *b, int64_t ldb, gnn_real_t beta, gnn_real_t *c, int64_t ldc);

/* "OpenBLAS 0.3.21, core Cooperlake, OpenMP" */
void gnn__dense_info(char *text, size_t size);
/* True if the provider's core is older than the processor (OPENBLAS_CORETYPE was set); programs warn once. */
bool gnn__dense_core_is_old(void);

#endif
