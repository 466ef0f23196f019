/* Norms of rows, sums down columns (gradients of biases and gains, statistics of batch norm), and
 * gradients that follow from an activation's output.
 *
 *     sums down columns     strips of WIDE columns, read in long runs
 *     block of 32 rows      summed in gnn_real_t
 *     all blocks            summed in double */
#include <lib/kernels/isa.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/kernels/simd/vec_math.h>

static gnn_real_t mean_of(int64_t n, const gnn_real_t *x)
{
    gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < n; k++)
        sum += x[k];
    return sum / (gnn_real_t)n;
}

static gnn_real_t mean_square(int64_t n, const gnn_real_t *x, gnn_real_t center)
{
    gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < n; k++)
        sum += (x[k] - center) * (x[k] - center);
    return sum / (gnn_real_t)n;
}

static void norm(bool rms, int64_t n, const gnn_real_t *x, const gnn_real_t *gain,
                 const gnn_real_t *shift, gnn_real_t eps, gnn_real_t *y, gnn_real_t stats[2])
{
    gnn_real_t mean = rms ? 0 : mean_of(n, x);
    gnn_real_t rstd = GNN__REAL(1 / sqrt((double)(mean_square(n, x, mean) + eps)));
    stats[0] = mean;
    stats[1] = rstd;
#pragma omp simd
    for (int64_t k = 0; k < n; k++)
        y[k] = (x[k] - mean) * rstd * (gain ? gain[k] : 1) + (shift ? shift[k] : 0);
}

/* With g = dy gain and z = (x - mean) rstd: dx = rstd (g - mean(g) - z mean(g z)); rms has no
 * mean(g). */
static void norm_grad(bool rms, int64_t n, const gnn_real_t *x, const gnn_real_t *gain,
                      const gnn_real_t *dy, const gnn_real_t stats[2], gnn_real_t *dx)
{
    const gnn_real_t mean = stats[0], rstd = stats[1];
    gnn_real_t along = 0, across = 0;
#pragma omp simd reduction(+ : along, across)
    for (int64_t k = 0; k < n; k++) {
        gnn_real_t g = dy[k] * (gain ? gain[k] : 1);
        along += g;
        across += g * (x[k] - mean);
    }
    along = rms ? 0 : along / (gnn_real_t)n;
    across = across * rstd * rstd / (gnn_real_t)n;
#pragma omp simd
    for (int64_t k = 0; k < n; k++)
        dx[k] = rstd * (dy[k] * (gain ? gain[k] : 1) - along - (x[k] - mean) * across);
}

static void affine(int64_t n, const gnn_real_t *x, const gnn_real_t *factor,
                   const gnn_real_t *offset, gnn_real_t *y)
{
#pragma omp simd
    for (int64_t k = 0; k < n; k++)
        y[k] = x[k] * factor[k] + offset[k];
}

static void affine_grad(int64_t n, const gnn_real_t *dy, const gnn_real_t *x,
                        const gnn_real_t *center, const gnn_real_t *p, const gnn_real_t *q,
                        const gnn_real_t *r, bool add, gnn_real_t *dx)
{
    if (add) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            dx[k] += p[k] * dy[k] + q[k] * (x[k] - center[k]) + r[k];
    } else {
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            dx[k] = p[k] * dy[k] + q[k] * (x[k] - center[k]) + r[k];
    }
}

enum { STRIP = 64, WIDE = 2048, BLOCK = 32 };

/* sums[c] = sum of the formula in r (row) and c (column), by strips of columns and blocks of
 * rows. */
#define DOWN_COLUMNS(formula)                                                                  \
    for (int64_t first = 0; first < cols; first += WIDE) {                                     \
        const int64_t last = cols < first + WIDE ? cols : first + WIDE;                        \
        for (int64_t c = first; c < last; c++)                                                 \
            sums[c] = 0;                                                                       \
        for (int64_t top = 0; top < rows; top += BLOCK) {                                      \
            const int64_t end = rows < top + BLOCK ? rows : top + BLOCK;                       \
            gnn_real_t block[WIDE];                                                            \
            memset(block, 0, sizeof *block *(size_t)(last - first));                           \
            for (int64_t r = top; r < end; r++) {                                              \
                _Pragma("omp simd") for (int64_t c = first; c < last; c++) block[c - first] += \
                    (formula);                                                                 \
            }                                                                                  \
            for (int64_t c = first; c < last; c++)                                             \
                sums[c] += (double)block[c - first];                                           \
        }                                                                                      \
    }

static void sum_down(int64_t rows, int64_t cols, const gnn_real_t *x, int64_t ldx, double *sums)
{
    DOWN_COLUMNS(x[r * ldx + c])
}

/* Several contiguous narrow rows are summed as one wide row. */
static void column_sum(int64_t rows, int64_t cols, const gnn_real_t *x, int64_t ldx, double *sums)
{
    const int64_t side = cols > 0 && ldx == cols ? STRIP / cols : 0;
    double all[STRIP];
    if (side < 2) {
        sum_down(rows, cols, x, ldx, sums);
        return;
    }
    const int64_t wide = rows / side;
    sum_down(wide, side * cols, x, side * cols, all);
    sum_down(rows - wide * side, cols, x + wide * side * cols, cols, sums);
    for (int64_t k = 0; k < side * cols; k++)
        sums[k % cols] += all[k];
}

static void column_square(int64_t rows, int64_t cols, const gnn_real_t *x, int64_t ldx,
                          const gnn_real_t *center, double *sums)
{
    DOWN_COLUMNS((x[r * ldx + c] - center[c]) * (x[r * ldx + c] - center[c]))
}

static void column_product(int64_t rows, int64_t cols, const gnn_real_t *dy, int64_t ldy,
                           const gnn_real_t *x, int64_t ldx, const gnn_real_t *center, double *sums)
{
    DOWN_COLUMNS(dy[r * ldy + c] * (x[r * ldx + c] - center[c]))
}

static void column_normal(int64_t rows, int64_t cols, const gnn_real_t *dy, int64_t ldy,
                          const gnn_real_t *x, int64_t ldx, const gnn_real_t *stats, double *sums){
    DOWN_COLUMNS(dy[r * ldy + c] * (x[r * ldx + c] - stats[2 * r]) * stats[2 * r + 1])}

/* ---- gradients from an activation's output ---- */

/* dy f'(x), see gnn__grad_from_output_t. */
GNN__INLINE gnn__vec_t left_product(const gnn__grad_from_output_t *f, gnn__vec_t y, gnn__vec_t dy)
{
    const gnn__vec_bits_t kept = (gnn__vec_bits_t)y != (gnn__vec_bits_t)gnn__vec_all(f->dropped);
    return gnn__vec_where(
        kept, gnn__vec_select(y > 0, gnn__vec_all(f->above), f->curved * y + f->below) * dy);
}

GNN__INLINE gnn_real_t left_element(const gnn__grad_from_output_t *f, gnn_real_t y, gnn_real_t dy)
{
    if (y == 0 && signbit(y) && f->dropped == 0)
        return 0;
    return (y > 0 ? f->above : f->curved * y + f->below) * dy;
}

/* At most WIDE elements of a row, and their sums. */
GNN__INLINE void left_row(int64_t n, const gnn__grad_from_output_t *f, const gnn_real_t *y,
                          const gnn_real_t *dy, gnn_real_t *dx, bool pass, gnn_real_t *sums)
{
    int64_t c = 0;
    for (; c + GNN__VEC_LANES <= n; c += GNN__VEC_LANES) {
        const gnn__vec_t d = left_product(f, gnn__vec_load(y + c), gnn__vec_load(dy + c));
        gnn__vec_store(sums + c, gnn__vec_load(sums + c) + d);
        gnn__vec_store_or_stream(dx + c, d, pass);
    }
    for (; c < n; c++) {
        dx[c] = left_element(f, y[c], dy[c]);
        sums[c] += dx[c];
    }
}

static void left_grad(const gnn__grad_from_output_t *f, int64_t rows, int64_t cols,
                      const gnn_real_t *y, int64_t ldy, const gnn_real_t *dy, int64_t ldd,
                      gnn_real_t *dx, int64_t ldx, int64_t elements, double *sums)
{
    const bool pass = ldx % GNN__VEC_LANES == 0 && gnn__vec_streams(dx, elements);
    for (int64_t first = 0; first < cols; first += WIDE) {
        const int64_t count = cols - first < WIDE ? cols - first : WIDE;
        for (int64_t c = 0; sums && c < count; c++)
            sums[first + c] = 0;
        for (int64_t top = 0; top < rows; top += BLOCK) {
            gnn_real_t block[WIDE];
            memset(block, 0, sizeof *block * (size_t)count);
            for (int64_t r = top; r < rows && r < top + BLOCK; r++)
                left_row(count, f, y + r * ldy + first, dy + r * ldd + first, dx + r * ldx + first,
                         pass, block);
            for (int64_t c = 0; sums && c < count; c++)
                sums[first + c] += (double)block[c];
        }
    }
    if (pass)
        gnn__vec_fence();
}

const gnn__row_kernels_t GNN__KERNEL(row_kernels) = {
    .norm = norm,
    .norm_grad = norm_grad,
    .affine = affine,
    .affine_grad = affine_grad,
    .column_sum = column_sum,
    .column_square = column_square,
    .left_grad = left_grad,
    .column_product = column_product,
    .column_normal = column_normal,
};
