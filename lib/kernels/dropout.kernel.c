/* Dropout's multipliers for many places at once: the counters and keys are those of
 * gnn__dropout_draw, sixteen of them side by side. */
#include <lib/kernels/elementwise.h>
#include <lib/kernels/isa.h>

enum { LANES = 16, ROUNDS = 10 };

/* words[w][lane] is word w of Philox for the counter (a[lane], b[lane], step, stream << 8). */
static void philox_lanes(const gnn__dropout_t *d, const uint32_t a[LANES], const uint32_t b[LANES],
                         uint32_t words[4][LANES])
{
    uint32_t *c0 = words[0], *c1 = words[1], *c2 = words[2], *c3 = words[3], k0 = d->key[0],
             k1 = d->key[1];
    for (int l = 0; l < LANES; l++) {
        c0[l] = a[l];
        c1[l] = b[l];
        c2[l] = d->step;
        c3[l] = d->stream << 8;
    }
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[l], p1 = (uint64_t)0xCD9E8D57u * c2[l];
            uint32_t next0 = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0,
                     next2 = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
            c1[l] = (uint32_t)p1;
            c3[l] = (uint32_t)p0;
            c0[l] = next0;
            c2[l] = next2;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* Multipliers of LANES blocks of eight columns. */
static void keep_blocks(const gnn__dropout_t *d, const uint32_t a[LANES], const uint32_t b[LANES],
                        gnn_real_t keep[LANES][8])
{
    uint32_t words[4][LANES];
    philox_lanes(d, a, b, words);
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
        philox_lanes(d, a, b, words);
        for (int64_t l = 0; l < taken; l++) {
            uint32_t lane = (uint32_t)indices[k + l] % 8, word = words[lane / 2][l];
            bool kept = (lane & 1 ? word >> 16 : word & 0xffff) < d->threshold;
            y[k + l] = kept ? (values ? values[k + l] : 1) * d->scale : 0;
        }
    }
}

const gnn__dropout_kernels_t GNN__KERNEL(dropout_kernels) = {.matrix = matrix, .sparse = sparse};
