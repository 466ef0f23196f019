/* Dropout's multipliers for many places at once: the counters and keys are those of
 * gnn__dropout_draw, sixteen of them side by side. */
#include <lib/kernels/elementwise.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/philox_lanes.h>

enum { LANES = GNN__PHILOX_LANES };

/* Multipliers of LANES blocks of eight columns. */
static void keep_blocks(const gnn__dropout_t *d, const uint32_t a[LANES], const uint32_t b[LANES],
                        gnn_real_t keep[LANES][8])
{
    uint32_t words[4][LANES];
    gnn__philox_lanes(d, a, b, 0, words);
    const uint32_t threshold = d->threshold;
    const gnn_real_t scale = d->scale;
    for (int w = 0; w < 4; w++)
        for (int l = 0; l < LANES; l++) {
            keep[l][2 * w] = (words[w][l] & 0xffff) < threshold ? scale : 0;
            keep[l][2 * w + 1] = (words[w][l] >> 16) < threshold ? scale : 0;
        }
}

static void apply(int64_t n, const gnn_real_t *keep, const gnn_real_t *x, bool add, gnn_real_t *y)
{
    /* A dropped element is 0 even if x is infinite or NaN, as if it had not been there. */
    if (add) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            y[k] += keep[k] > 0 ? x[k] * keep[k] : 0;
    } else {
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            y[k] = keep[k] > 0 ? x[k] * keep[k] : 0;
    }
}

static void matrix(const gnn__dropout_t *d, int64_t row, int64_t rows, int64_t cols,
                   const gnn_real_t *x, int64_t ldx, bool add, gnn_real_t *y, int64_t ldy)
{
    const int64_t blocks = (cols + 7) / 8;
    int64_t r = 0, block = 0, at_r[LANES], at_block[LANES];
    uint32_t a[LANES] = {0}, b[LANES] = {0};
    gnn_real_t keep[LANES][8];
    while (r < rows && blocks > 0) {
        int taken = 0;
        for (; taken < LANES && r < rows; taken++) {
            at_r[taken] = r;
            at_block[taken] = block;
            a[taken] = (uint32_t)(row + r);
            b[taken] = (uint32_t)block;
            if (++block == blocks) {
                block = 0;
                r++;
            }
        }
        keep_blocks(d, a, b, keep);
        for (int l = 0; l < taken; l++) {
            int64_t c = 8 * at_block[l], n = cols - c < 8 ? cols - c : 8;
            apply(n, keep[l], x + at_r[l] * ldx + c, add, y + at_r[l] * ldy + c);
        }
    }
}

static void sparse(const gnn__dropout_t *d, int64_t from, int64_t to, const int64_t *indptr,
                   const int32_t *indices, const gnn_real_t *values, gnn_real_t *y)
{
    uint32_t a[LANES] = {0}, b[LANES] = {0}, words[4][LANES];
    int64_t row = from;
    for (int64_t k = indptr[from]; k < indptr[to]; k += LANES) {
        int64_t taken = indptr[to] - k < LANES ? indptr[to] - k : LANES;
        for (int64_t l = 0; l < taken; l++) {
            while (k + l >= indptr[row + 1])
                row++;
            a[l] = (uint32_t)row;
            b[l] = (uint32_t)indices[k + l] / 8;
        }
        gnn__philox_lanes(d, a, b, 0, words);
        for (int64_t l = 0; l < taken; l++) {
            uint32_t lane = (uint32_t)indices[k + l] % 8, word = words[lane / 2][l];
            bool kept = (lane & 1 ? word >> 16 : word & 0xffff) < d->threshold;
            y[k + l] = kept ? (values ? values[k + l] : 1) * d->scale : 0;
        }
    }
}

const gnn__dropout_kernels_t GNN__KERNEL(dropout_kernels) = {.matrix = matrix, .sparse = sparse};
