/* Dropout's multipliers for many places at once: the counters and keys are those of gnn__dropout_draw, many of them side by side; a block is the eight places of one
 * counter. */
#include <lib/kernels/isa.h>
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/kernels/simd/philox.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    BLOCKS = GNN__KEEPS_BITS ? 32 : 16,
    LANES = 8,
    AT_ONCE = (int)(GNN__VEC_BYTES / sizeof(uint64_t))
};

#if GNN__KEEPS_BITS
/* ---- multipliers as bits ---- */

typedef uint64_t kept_t[GNN__PHILOX_REGISTERS];

static void keep_blocks(const gnn__dropout_t *d, const uint64_t a[BLOCKS], const uint64_t b[BLOCKS],
                        kept_t kept)
{
    __m512i all_a[GNN__PHILOX_REGISTERS], all_b[GNN__PHILOX_REGISTERS];
    for (int r = 0; r < GNN__PHILOX_REGISTERS; r++) {
        all_a[r] = _mm512_loadu_si512(a + r * AT_ONCE);
        all_b[r] = _mm512_loadu_si512(b + r * AT_ONCE);
    }
    gnn__kept_in_four(d, 0, all_a, all_b, kept);
}

/* Blocks of a matrix, row by row: the next eight. */
typedef struct {
    __m512i row, block;
} places_t;

static places_t first_places(int64_t row, uint64_t blocks)
{
    uint64_t a[AT_ONCE] = {0}, b[AT_ONCE] = {0};
    for (uint64_t l = 0; blocks > 0 && l < AT_ONCE; l++) {
        a[l] = (uint32_t)row + l / blocks;
        b[l] = l % blocks;
    }
    return (places_t){_mm512_loadu_si512(a), _mm512_loadu_si512(b)};
}

GNN__INLINE void move_on(places_t *at, int64_t blocks)
{
    const __m512i all = _mm512_set1_epi64(blocks);
    __mmask8 over;
    at->block = _mm512_add_epi64(at->block, _mm512_set1_epi64(AT_ONCE));
    while ((over = _mm512_cmpge_epu64_mask(at->block, all)) != 0) {
        at->block = _mm512_mask_sub_epi64(at->block, over, at->block, all);
        at->row = _mm512_mask_add_epi64(at->row, over, at->row, _mm512_set1_epi64(1));
    }
}

/* A dropped element is -0 even if x is infinite or NaN, as if it had not been there. `live`: the numbers that there are. */
GNN__INLINE void apply(__mmask16 kept, __mmask16 live, float scale, const gnn_real_t *x, bool add,
                       gnn_real_t *y)
{
    const __m512 larger =
        _mm512_fmadd_ps(_mm512_maskz_loadu_ps(live, x), _mm512_set1_ps(scale), _mm512_setzero_ps());
    __m512 v = _mm512_mask_mov_ps(_mm512_set1_ps(-0.0F), kept, larger);
    if (add)
        v = _mm512_add_ps(_mm512_maskz_loadu_ps(live, y), v);
    _mm512_mask_storeu_ps(y, live, v);
}

static void matrix(const gnn__dropout_t *d, int64_t row, int64_t rows, int64_t cols,
                   const gnn_real_t *x, int64_t ldx, bool add, gnn_real_t *y, int64_t ldy)
{
    const int64_t blocks = (cols + LANES - 1) / LANES, total = rows * blocks;
    const bool flat = cols % LANES == 0 && ldx == cols && ldy == cols;
    places_t at = first_places(row, (uint64_t)blocks);
    __m512i a[GNN__PHILOX_REGISTERS], b[GNN__PHILOX_REGISTERS];
    kept_t kept;
    for (int64_t done = 0; done < total; done += BLOCKS) {
        for (int r = 0; r < GNN__PHILOX_REGISTERS; r++, move_on(&at, blocks)) {
            a[r] = at.row;
            b[r] = at.block;
        }
        gnn__kept_in_four(d, 0, a, b, kept);
        if (flat && total - done >= BLOCKS) {
            for (int k = 0; k < BLOCKS / 2; k++)
                apply((__mmask16)(kept[k / 4] >> 16 * (k % 4)), 0xffff, d->scale,
                      x + (done + 2 * k) * LANES, add, y + (done + 2 * k) * LANES);
            continue;
        }
        for (int64_t l = 0; l < BLOCKS && done + l < total; l++) {
            const int64_t r = (done + l) / blocks, c = (done + l) % blocks * LANES,
                          left = cols - c < LANES ? cols - c : LANES;
            apply((__mmask16)(kept[l / LANES] >> LANES * (l % LANES)),
                  (__mmask16)((1u << left) - 1), d->scale, x + r * ldx + c, add, y + r * ldy + c);
        }
    }
}
#else
/* ---- multipliers as numbers ---- */

typedef gnn_real_t kept_t[BLOCKS * LANES];
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

/* One register of blocks; each word of Philox lies in 64 bits of its own, so that a product needs no shuffles: what stands above the lower 32 bits is never read. */
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
GNN__INLINE void draw(const gnn__dropout_t *d, const uint64_t *a, const uint64_t *b, uint64_t *draws)
{
    state_t x = begin(d, a, b), y = begin(d, a + AT_ONCE, b + AT_ONCE);
    uint32_t k0 = d->key[0], k1 = d->key[1];
#pragma GCC unroll 1
    for (int round = 0; round < GNN__DROPOUT_ROUNDS; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const words_t all_k0 = (uint64_t)k0 - (words_t){0}, all_k1 = (uint64_t)k1 - (words_t){0};
        x = turn(x, all_k0, all_k1);
        y = turn(y, all_k0, all_k1);
    }
    end(x, draws);
    end(y, draws + 2 * AT_ONCE);
}

/* Multipliers of BLOCKS blocks of eight places. */
static void keep_blocks(const gnn__dropout_t *d, const uint64_t a[BLOCKS], const uint64_t b[BLOCKS],
                        kept_t keep)
{
    uint64_t draws[2 * BLOCKS];
    uint16_t bits[BLOCKS * LANES]; /* lowest first: the order of a little-endian processor */
    for (int l = 0; l < BLOCKS; l += 2 * AT_ONCE)
        draw(d, a + l, b + l, draws + 2 * l);
    memcpy(bits, draws, sizeof bits);
    const uint16_t most = (uint16_t)(d->threshold - 1);
    const gnn_real_t scale = d->scale;
    for (int l = 0; l < BLOCKS * LANES; l++)
        keep[l] = bits[l] <= most ? scale : 0;
}

/* A dropped element is -0 even if x is infinite or NaN, as if it had not been there. */
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
            y[k] = keep[k] > 0 ? x[k] * keep[k] + 0 : (gnn_real_t)-0.0;
    }
}

static void matrix(const gnn__dropout_t *d, int64_t row, int64_t rows, int64_t cols,
                   const gnn_real_t *x, int64_t ldx, bool add, gnn_real_t *y, int64_t ldy)
{
    const int64_t blocks = (cols + LANES - 1) / LANES;
    const bool flat = cols % LANES == 0 && ldx == cols && ldy == cols;
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
        keep_blocks(d, a, b, keep);
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

#endif

/* ---- stored numbers of sparse matrices ---- */

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

#if GNN__KEEPS_BITS
/* Appends those of at most eight numbers that are kept. Writes eight places where there are eight numbers. */
GNN__INLINE int64_t squeeze(int64_t n, const kept_t kept, int block, gnn_real_t scale,
                            const int32_t *from_at, const gnn_real_t *from_by, int32_t *at,
                            gnn_real_t *by)
{
    const __mmask8 live = (__mmask8)(n < LANES ? (1u << n) - 1 : 0xff),
                   mask = (__mmask8)(kept[block / LANES] >> LANES * (block % LANES)) & live;
    const __m256i places = _mm256_maskz_compress_epi32(mask, _mm256_maskz_loadu_epi32(live, from_at));
    const __m256 numbers =
        _mm256_maskz_compress_ps(mask, _mm256_maskz_loadu_ps(live, from_by) * _mm256_set1_ps(scale));
    _mm256_mask_storeu_epi32(at, live, places);
    _mm256_mask_storeu_ps(by, live, numbers);
    return __builtin_popcount(mask);
}
#else
GNN__INLINE int64_t squeeze(int64_t n, const kept_t keep, int block, gnn_real_t scale,
                            const int32_t *from_at, const gnn_real_t *from_by, int32_t *at,
                            gnn_real_t *by)
{
    int64_t kept = 0;
    (void)scale;
    keep += block * LANES;
    for (int64_t k = 0; k < n && k < LANES; k++) {
        at[kept] = from_at[k];
        by[kept] = from_by[k] * keep[k];
        kept += keep[k] > 0;
    }
    return kept;
}
#endif

static void sparse(const gnn__dropout_t *d, int64_t from, int64_t to, const gnn_sparse_t *x,
                   int32_t *indices, gnn_real_t *values, int32_t *counts)
{
    static const gnn_real_t ones[LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
    uint64_t a[BLOCKS] = {0}, b[BLOCKS] = {0};
    kept_t kept;
    int drawn = BLOCKS; /* blocks of `kept` that were used */
    for (int64_t r = from; r < to; r++) {
        const int64_t end = x->indptr[r + 1];
        int64_t left = x->indptr[r];
        for (int64_t k = x->indptr[r]; k < end; k += LANES, drawn++) {
            if (drawn == BLOCKS) {
                drawn = 0;
                next_blocks(x->indptr, r, (k - x->indptr[r]) / LANES, to, a, b);
                keep_blocks(d, a, b, kept);
            }
            left += squeeze(end - k, kept, drawn, d->scale, x->indices + k,
                            x->values ? x->values + k : ones, indices + left, values + left);
        }
        counts[r] = (int32_t)(left - x->indptr[r]);
    }
}

const gnn__dropout_kernels_t GNN__KERNEL(dropout_kernels) = {.matrix = matrix, .sparse = sparse};
