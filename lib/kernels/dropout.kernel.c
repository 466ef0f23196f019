/* Dropout's multipliers for many places at once: the counters and keys are those of
 * gnn__dropout_draw, sixteen of them side by side. Each word of Philox lies in 64 bits of its own, so
 * that a product needs no shuffles: what stands above the lower 32 bits is never read. */
#include <lib/kernels/elementwise.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/vec.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROUNDS = 10, BLOCKS = 16, LANES = 8, AT_ONCE = (int)(GNN__VEC_BYTES / sizeof(uint64_t)) };

typedef uint64_t words_t __attribute__((vector_size(GNN__VEC_BYTES)));
typedef uint64_t words_anywhere_t
    __attribute__((vector_size(GNN__VEC_BYTES), aligned(sizeof(uint64_t)), may_alias));

/* The lower 32 bits of each lane times m, all 64 bits of it. */
GNN__INLINE words_t product(words_t x, uint32_t m)
{
#if defined(__AVX512F__)
    return (words_t)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(m));
#elif defined(__AVX2__)
    return (words_t)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(m));
#elif defined(__x86_64__)
    return (words_t)_mm_mul_epu32((__m128i)x, _mm_set1_epi64x(m));
#else
    return (x & 0xffffffffu) * m;
#endif
}

/* The keys of all rounds, each as wide as a lane. */
typedef struct {
    uint64_t k0[ROUNDS], k1[ROUNDS];
} keys_t;

static keys_t keys_of(const gnn__dropout_t *d)
{
    keys_t keys;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        keys.k0[round] = d->key[0] + round * 0x9E3779B9u;
        keys.k1[round] = d->key[1] + round * 0xBB67AE85u;
    }
    return keys;
}

/* One register of blocks. */
typedef struct {
    words_t c0, c1, c2, c3;
} state_t;

GNN__INLINE state_t begin(const gnn__dropout_t *d, const uint64_t *a, const uint64_t *b)
{
    return (state_t){*(const words_anywhere_t *)a, *(const words_anywhere_t *)b,
                     d->step - (words_t){0}, (uint64_t)(d->stream << 8) - (words_t){0}};
}

GNN__INLINE state_t turn(state_t s, words_t k0, words_t k1)
{
    const words_t p0 = product(s.c0, 0xD2511F53u), p1 = product(s.c2, 0xCD9E8D57u);
    return (state_t){p1 >> 32 ^ s.c1 ^ k0, p1, p0 >> 32 ^ s.c3 ^ k1, p0};
}

/* As the four words of every block lie in memory. */
GNN__INLINE void end(state_t s, uint64_t *draws)
{
    const words_t low = (s.c0 & 0xffffffffu) | s.c1 << 32, high = (s.c2 & 0xffffffffu) | s.c3 << 32;
    for (int l = 0; l < AT_ONCE; l++) {
        draws[2 * l] = low[l];
        draws[2 * l + 1] = high[l];
    }
}

/* Sixteen bits for each lane of each block; two registers of blocks, because a round waits for the one before. */
GNN__INLINE void draw(const gnn__dropout_t *d, const keys_t *keys, const uint64_t *a,
                      const uint64_t *b, uint64_t *draws)
{
    state_t x = begin(d, a, b), y = begin(d, a + AT_ONCE, b + AT_ONCE);
    for (int round = 0; round < ROUNDS; round++) {
        const words_t k0 = keys->k0[round] - (words_t){0}, k1 = keys->k1[round] - (words_t){0};
        x = turn(x, k0, k1);
        y = turn(y, k0, k1);
    }
    end(x, draws);
    end(y, draws + 2 * AT_ONCE);
}

/* Multipliers of BLOCKS blocks of eight places. */
static void keep_blocks(const gnn__dropout_t *d, const keys_t *keys, const uint64_t a[BLOCKS],
                        const uint64_t b[BLOCKS], gnn_real_t keep[BLOCKS * LANES])
{
    uint64_t draws[2 * BLOCKS];
    uint16_t bits[BLOCKS * LANES]; /* lowest first: the order of a little-endian processor */
    for (int l = 0; l < BLOCKS; l += 2 * AT_ONCE)
        draw(d, keys, a + l, b + l, draws + 2 * l);
    memcpy(bits, draws, sizeof bits);
    const uint16_t most = (uint16_t)(d->threshold - 1);
    const gnn_real_t scale = d->scale;
    for (int l = 0; l < BLOCKS * LANES; l++)
        keep[l] = bits[l] <= most ? scale : 0;
}

/* A dropped element is 0 even if x is infinite or NaN, as if it had not been there. */
GNN__INLINE void apply(int64_t n, const gnn_real_t *keep, const gnn_real_t *x, bool add,
                       gnn_real_t *y)
{
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
    const int64_t blocks = (cols + LANES - 1) / LANES;
    const bool flat = cols % LANES == 0 && ldx == cols && ldy == cols;
    const keys_t keys = keys_of(d);
    uint64_t a[BLOCKS] = {0}, b[BLOCKS] = {0};
    gnn_real_t keep[BLOCKS * LANES];
    for (int64_t r = 0, block = 0; r < rows && blocks > 0;) {
        const int64_t first = r * blocks + block;
        int taken = 0;
        for (; taken < BLOCKS && r < rows; taken++) {
            a[taken] = (uint32_t)(row + r);
            b[taken] = (uint32_t)block;
            if (++block == blocks) {
                block = 0;
                r++;
            }
        }
        keep_blocks(d, &keys, a, b, keep);
        if (flat) {
            apply(taken * LANES, keep, x + first * LANES, add, y + first * LANES);
            continue;
        }
        for (int l = 0; l < taken; l++) {
            const int64_t c = LANES * (int64_t)b[l], at = (int64_t)((uint32_t)a[l] - (uint32_t)row);
            apply(cols - c < LANES ? cols - c : LANES, keep + l * LANES, x + at * ldx + c, add,
                  y + at * ldy + c);
        }
    }
}

/* Names the next BLOCKS blocks of stored numbers, from one of row r on. */
static void next_blocks(const int64_t *indptr, int64_t r, int64_t block, int64_t to, uint64_t *a,
                        uint64_t *b)
{
    for (int taken = 0; taken < BLOCKS && r < to; r++, block = 0)
        for (; taken < BLOCKS && indptr[r] + LANES * block < indptr[r + 1]; taken++, block++) {
            a[taken] = (uint32_t)r;
            b[taken] = (uint32_t)block;
        }
}

/* Appends those of n numbers that are kept. Writes n places, whatever is kept. */
GNN__INLINE int64_t squeeze(int64_t n, const gnn_real_t *keep, const int32_t *from_at,
                            const gnn_real_t *from_by, int32_t *at, gnn_real_t *by)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++) {
        at[kept] = from_at[k];
        by[kept] = from_by[k] * keep[k];
        kept += keep[k] > 0;
    }
    return kept;
}

#if defined(__AVX512F__) && !GNN_DOUBLE
GNN__INLINE int64_t squeeze_block(const gnn_real_t *keep, const int32_t *from_at,
                                  const gnn_real_t *from_by, int32_t *at, gnn_real_t *by)
{
    const __m256 k = _mm256_loadu_ps(keep);
    const __mmask8 mask = _mm256_cmp_ps_mask(k, _mm256_setzero_ps(), _CMP_GT_OQ);
    const __m256i places = _mm256_loadu_si256((const __m256i *)from_at);
    _mm256_storeu_si256((__m256i *)at, _mm256_maskz_compress_epi32(mask, places));
    _mm256_storeu_ps(by, _mm256_maskz_compress_ps(mask, _mm256_loadu_ps(from_by) * k));
    return __builtin_popcount(mask);
}
#else
#define squeeze_block(keep, from_at, from_by, at, by) squeeze(LANES, keep, from_at, from_by, at, by)
#endif

static void sparse(const gnn__dropout_t *d, int64_t from, int64_t to, const gnn_sparse_t *x,
                   int32_t *indices, gnn_real_t *values, int32_t *counts)
{
    static const gnn_real_t ones[LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
    uint64_t a[BLOCKS] = {0}, b[BLOCKS] = {0};
    gnn_real_t keep[BLOCKS * LANES];
    const keys_t keys = keys_of(d);
    int drawn = BLOCKS; /* blocks of `keep` that were used */
    for (int64_t r = from; r < to; r++) {
        const int64_t end = x->indptr[r + 1];
        int64_t left = x->indptr[r];
        for (int64_t k = x->indptr[r]; k < end; k += LANES, drawn++) {
            if (drawn == BLOCKS) {
                drawn = 0;
                next_blocks(x->indptr, r, (k - x->indptr[r]) / LANES, to, a, b);
                keep_blocks(d, &keys, a, b, keep);
            }
            const gnn_real_t *multipliers = keep + drawn * LANES,
                             *by = x->values ? x->values + k : ones;
            left += end - k >= LANES ? squeeze_block(multipliers, x->indices + k, by,
                                                     indices + left, values + left)
                                     : squeeze(end - k, multipliers, x->indices + k, by,
                                               indices + left, values + left);
        }
        counts[r] = (int32_t)(left - x->indptr[r]);
    }
}

const gnn__dropout_kernels_t GNN__KERNEL(dropout_kernels) = {.matrix = matrix, .sparse = sparse};
