/* Dropout's multipliers for many places at once: the counters and keys are those of
 * gnn__dropout_draw, sixteen of them side by side. Each word of Philox lies in 64 bits of its own, so
 * that a product needs no shuffles: what stands above the lower 32 bits is never read. */
#include <lib/kernels/elementwise.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/vec.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && !GNN_DOUBLE
#define GNN__KEEPS_BITS 1 /* multipliers are bits of masks */
#else
#define GNN__KEEPS_BITS 0
#endif

enum {
    ROUNDS = 10,
    BLOCKS = GNN__KEEPS_BITS ? 32 : 16,
    LANES = 8,
    AT_ONCE = (int)(GNN__VEC_BYTES / sizeof(uint64_t))
};

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

GNN__INLINE words_t words_at(const uint64_t *x)
{
    return *(const words_anywhere_t *)x;
}

GNN__INLINE state_t begin(const gnn__dropout_t *d, words_t a, words_t b)
{
    return (state_t){a, b, d->step - (words_t){0}, (uint64_t)(d->stream << 8) - (words_t){0}};
}

GNN__INLINE words_t differences(words_t x, words_t y, words_t z)
{
#if defined(__AVX512F__)
    return (words_t)_mm512_ternarylogic_epi64((__m512i)x, (__m512i)y, (__m512i)z, 0x96);
#else
    return x ^ y ^ z;
#endif
}

GNN__INLINE state_t turn(state_t s, words_t k0, words_t k1)
{
    const words_t p0 = product(s.c0, 0xD2511F53u), p1 = product(s.c2, 0xCD9E8D57u);
    return (state_t){differences(p1 >> 32, s.c1, k0), p1, differences(p0 >> 32, s.c3, k1), p0};
}

#if GNN__KEEPS_BITS
/* ---- multipliers as bits ---- */

/* Byte l of the result: which of block l's eight numbers are kept. */
GNN__INLINE uint64_t kept_of(const gnn__dropout_t *d, state_t s)
{
    const __m512i low = (__m512i)((s.c0 & 0xffffffffu) | s.c1 << 32),
                  high = (__m512i)((s.c2 & 0xffffffffu) | s.c3 << 32),
                  most = _mm512_set1_epi16((short)(d->threshold - 1));
    const uint64_t even = _mm512_cmple_epu16_mask(_mm512_unpacklo_epi64(low, high), most),
                   odd = _mm512_cmple_epu16_mask(_mm512_unpackhi_epi64(low, high), most);
    return _pdep_u64(even, 0x00ff00ff00ff00ff) | _pdep_u64(odd, 0xff00ff00ff00ff00);
}

/* Four registers of blocks, because a round waits for the one before. */
static void keep_bits(const gnn__dropout_t *d, const keys_t *keys, const uint64_t a[BLOCKS],
                      const uint64_t b[BLOCKS], uint64_t kept[BLOCKS / AT_ONCE])
{
    state_t w = begin(d, words_at(a), words_at(b)),
            x = begin(d, words_at(a + AT_ONCE), words_at(b + AT_ONCE)),
            y = begin(d, words_at(a + 2 * AT_ONCE), words_at(b + 2 * AT_ONCE)),
            z = begin(d, words_at(a + 3 * AT_ONCE), words_at(b + 3 * AT_ONCE));
    for (int round = 0; round < ROUNDS; round++) {
        const words_t k0 = keys->k0[round] - (words_t){0}, k1 = keys->k1[round] - (words_t){0};
        w = turn(w, k0, k1);
        x = turn(x, k0, k1);
        y = turn(y, k0, k1);
        z = turn(z, k0, k1);
    }
    kept[0] = kept_of(d, w);
    kept[1] = kept_of(d, x);
    kept[2] = kept_of(d, y);
    kept[3] = kept_of(d, z);
}

/* Names the next BLOCKS blocks of a matrix with `blocks` blocks a row, from *a, *b on. */
GNN__INLINE void next_places(uint64_t blocks, words_t *a, words_t *b, uint64_t *all_a, uint64_t *all_b)
{
    for (int l = 0; l < BLOCKS; l += AT_ONCE) {
        *(words_anywhere_t *)(all_a + l) = *a;
        *(words_anywhere_t *)(all_b + l) = *b;
        *b += AT_ONCE;
        for (__mmask8 over;
             (over = _mm512_cmpge_epu64_mask((__m512i)*b, _mm512_set1_epi64((long long)blocks)));) {
            *b = (words_t)_mm512_mask_sub_epi64((__m512i)*b, over, (__m512i)*b,
                                                _mm512_set1_epi64((long long)blocks));
            *a = (words_t)_mm512_mask_add_epi64((__m512i)*a, over, (__m512i)*a, _mm512_set1_epi64(1));
        }
    }
}

/* A dropped element is 0 even if x is infinite or NaN, as if it had not been there. `live`: the numbers that there are. */
GNN__INLINE void apply_bits(__mmask16 kept, __mmask16 live, __m512 scale, const gnn_real_t *x,
                            bool add, gnn_real_t *y)
{
    __m512 v = _mm512_maskz_mul_ps(kept, _mm512_maskz_loadu_ps(live, x), scale);
    if (add)
        v = _mm512_add_ps(_mm512_maskz_loadu_ps(live, y), v);
    _mm512_mask_storeu_ps(y, live, v);
}

static void matrix(const gnn__dropout_t *d, int64_t row, int64_t rows, int64_t cols,
                   const gnn_real_t *x, int64_t ldx, bool add, gnn_real_t *y, int64_t ldy)
{
    const int64_t blocks = (cols + LANES - 1) / LANES, total = rows * blocks;
    const bool flat = cols % LANES == 0 && ldx == cols && ldy == cols;
    const keys_t keys = keys_of(d);
    const __m512 scale = _mm512_set1_ps(d->scale);
    uint64_t all_a[BLOCKS], all_b[BLOCKS], kept[BLOCKS / AT_ONCE];
    uint64_t first_a[AT_ONCE], first_b[AT_ONCE];
    for (uint64_t l = 0; blocks > 0 && l < AT_ONCE; l++) {
        first_a[l] = (uint32_t)row + l / (uint64_t)blocks;
        first_b[l] = l % (uint64_t)blocks;
    }
    words_t a = words_at(first_a), b = words_at(first_b);
    for (int64_t done = 0, r = 0, c = 0; done < total; done += BLOCKS) {
        next_places((uint64_t)blocks, &a, &b, all_a, all_b);
        keep_bits(d, &keys, all_a, all_b, kept);
        if (flat && total - done >= BLOCKS) {
            for (int k = 0; k < BLOCKS / 2; k++)
                apply_bits((__mmask16)(kept[k / 4] >> 16 * (k % 4)), 0xffff, scale,
                           x + (done + 2 * k) * LANES, add, y + (done + 2 * k) * LANES);
            continue;
        }
        if (flat)
            r = done / blocks, c = done % blocks;
        for (int l = 0; l < BLOCKS && done + l < total; l++) {
            const int64_t at = LANES * c, left = cols - at < LANES ? cols - at : LANES;
            apply_bits((__mmask16)(kept[l / LANES] >> LANES * (l % LANES) & 0xff),
                       (__mmask16)((1u << left) - 1), scale, x + r * ldx + at, add, y + r * ldy + at);
            if (++c == blocks) {
                c = 0;
                r++;
            }
        }
    }
}
#else
/* ---- multipliers as numbers ---- */

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
    state_t x = begin(d, words_at(a), words_at(b)),
            y = begin(d, words_at(a + AT_ONCE), words_at(b + AT_ONCE));
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
typedef uint64_t kept_t[BLOCKS / AT_ONCE];
#define keep_some keep_bits

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
typedef gnn_real_t kept_t[BLOCKS * LANES];
#define keep_some keep_blocks

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
    const keys_t keys = keys_of(d);
    int drawn = BLOCKS; /* blocks of `kept` that were used */
    for (int64_t r = from; r < to; r++) {
        const int64_t end = x->indptr[r + 1];
        int64_t left = x->indptr[r];
        for (int64_t k = x->indptr[r]; k < end; k += LANES, drawn++) {
            if (drawn == BLOCKS) {
                drawn = 0;
                next_blocks(x->indptr, r, (k - x->indptr[r]) / LANES, to, a, b);
                keep_some(d, &keys, a, b, kept);
            }
            left += squeeze(end - k, kept, drawn, d->scale, x->indices + k,
                            x->values ? x->values + k : ones, indices + left, values + left);
        }
        counts[r] = (int32_t)(left - x->indptr[r]);
    }
}

const gnn__dropout_kernels_t GNN__KERNEL(dropout_kernels) = {.matrix = matrix, .sparse = sparse};
