/* Norms of rows, sums down columns, and the derivative that follows from what an activation and
 * dropout left: inner loops, serial, as in elementwise.h. */
#ifndef GNN_KERNELS_ROW_NORM_H
#define GNN_KERNELS_ROW_NORM_H

#include <lib/base/base.h>

/* f' where y = dropout(f(x)) tells it: `above` where y > 0; 0 where y was dropped, which is -0 then
 * and never else (where nothing drops, `dropped` is a NaN); else curved y + below. */
typedef struct gnn__grad_from_output {
    gnn_real_t above, below, curved, dropped;
} gnn__grad_from_output_t;

typedef struct gnn__row_kernels {
    /* y = gain (x - mean) rstd + shift over one row; gain, shift may be NULL. stats receives mean
     * and rstd; rms: mean is 0. */
    void (*norm)(bool rms, int64_t n, const gnn_real_t *x, const gnn_real_t *gain,
                 const gnn_real_t *shift, gnn_real_t eps, gnn_real_t *y, gnn_real_t stats[2]);
    void (*norm_grad)(bool rms, int64_t n, const gnn_real_t *x, const gnn_real_t *gain,
                      const gnn_real_t *dy, const gnn_real_t stats[2], gnn_real_t *dx);
    /* y = x factor[c] + offset[c] */
    void (*affine)(int64_t n, const gnn_real_t *x, const gnn_real_t *factor,
                   const gnn_real_t *offset, gnn_real_t *y);
    /* dx (+)= p[c] dy + q[c] (x - center[c]) + r[c] */
    void (*affine_grad)(int64_t n, const gnn_real_t *dy, const gnn_real_t *x,
                        const gnn_real_t *center, const gnn_real_t *p, const gnn_real_t *q,
                        const gnn_real_t *r, bool add, gnn_real_t *dx);

    /* Sums down columns into `sums` (cols), overwritten: blocks of rows add up in gnn_real_t, the
     * blocks in double. */
    void (*column_sum)(int64_t rows, int64_t cols, const gnn_real_t *x, int64_t ldx, double *sums);
    /* dx = dy f'(x) from y, and its sums down columns, unless NULL. dx is part of a matrix of so
     * many numbers. */
    void (*left_grad)(const gnn__grad_from_output_t *f, int64_t rows, int64_t cols,
                      const gnn_real_t *y, int64_t ldy, const gnn_real_t *dy, int64_t ldd,
                      gnn_real_t *dx, int64_t ldx, int64_t numbers, double *sums);
    /* of (x - center[c])^2 */
    void (*column_square)(int64_t rows, int64_t cols, const gnn_real_t *x, int64_t ldx,
                          const gnn_real_t *center, double *sums);
    /* of dy (x - center[c]) */
    void (*column_product)(int64_t rows, int64_t cols, const gnn_real_t *dy, int64_t ldy,
                           const gnn_real_t *x, int64_t ldx, const gnn_real_t *center, double *sums);
    /* of dy (x - mean[r]) rstd[r]; stats is (rows x 2) */
    void (*column_normal)(int64_t rows, int64_t cols, const gnn_real_t *dy, int64_t ldy,
                          const gnn_real_t *x, int64_t ldx, const gnn_real_t *stats, double *sums);
} gnn__row_kernels_t;
const gnn__row_kernels_t *gnn__row_kernels(void);

#endif
