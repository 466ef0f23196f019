/* Dropout of dense rows and of stored elements of sparse ones. Counters and keys are those of
 * gnn__dropout_draw, many at a time; a counter decides on a block of eight elements, whose bits
 * form a byte:
 *
 *     row r        block 0           block 1           ..
 *                  c0 .. c7          c8 .. c15         counter (row, block, step, stream)
 *     bits         byte 0            byte 1            bit l: element 8 block + l is kept
 *
 *     matrix       32 counters -> 32 bytes -> multiply 256 elements, across rows
 *     sparse       the same over stored elements, and kept ones are compacted to the left */
#include <lib/kernels/isa.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/kernels/simd/philox.h>
#include <lib/kernels/simd/vec_math.h>

enum { BLOCKS = 2 * GNN__PHILOX_LANES, LANES = 8 };

/* ---- dense matrices ---- */

/* The register x, elements k .. of those that `bits` belong to, after dropout. A dropped element is
 * -0 even if x is infinite or NaN. */
GNN__INLINE gnn__vec_t left_of(const uint8_t *bits, int64_t k, gnn_real_t scale, gnn__vec_t x)
{
    const gnn__vec_t larger = x * scale + 0, dropped = gnn__vec_all((gnn_real_t)-0.0);
#if !GNN_DOUBLE && defined(__AVX512F__)
    uint16_t kept;
    memcpy(&kept, bits + k / LANES, sizeof kept);
    return (gnn__vec_t)_mm512_mask_mov_ps((__m512)dropped, kept, (__m512)larger);
#else
    gnn__vec_bits_t place;
    for (int l = 0; l < GNN__VEC_LANES; l++)
        place[l] = 1 << l;
    return gnn__vec_select(((bits[k / LANES] >> k % LANES) & place) == place, larger, dropped);
#endif
}

/* y (+)= x after dropout, n contiguous elements; `bits` is readable for a register more. */
GNN__INLINE void apply(const uint8_t *bits, gnn_real_t scale, int64_t n, const gnn_real_t *x,
                       bool add, gnn_real_t *y)
{
    int64_t k = 0;
    for (; k + GNN__VEC_LANES <= n; k += GNN__VEC_LANES) {
        const gnn__vec_t left = left_of(bits, k, scale, gnn__vec_load(x + k));
        gnn__vec_store(y + k, add ? gnn__vec_load(y + k) + left : left);
    }
    const int rest = (int)(n - k);
    if (rest > 0) {
        const gnn__vec_t left = left_of(bits, k, scale, gnn__vec_load_first(x + k, rest));
        gnn__vec_store_first(y + k, add ? gnn__vec_load_first(y + k, rest) + left : left, rest);
    }
}

/* Rows and blocks of as many counters as a register holds. */
typedef struct {
    gnn__wide_words_t row, block;
} places_t;

static places_t first_places(int64_t row, uint64_t blocks)
{
    places_t at = {gnn__words_all(0), gnn__words_all(0)};
    for (uint64_t l = 0; blocks > 0 && l < GNN__PHILOX_AT_ONCE; l++) {
        at.row[l] = (uint32_t)row + l / blocks;
        at.block[l] = l % blocks;
    }
    return at;
}

/* Moves those past their row's end to the next row; false if there was none. */
GNN__INLINE bool wrap(places_t *at, gnn__wide_words_t blocks)
{
#if defined(__AVX512F__)
    const __mmask8 over = _mm512_cmpge_epu64_mask((__m512i)at->block, (__m512i)blocks);
    at->block = (gnn__wide_words_t)_mm512_mask_sub_epi64((__m512i)at->block, over,
                                                         (__m512i)at->block, (__m512i)blocks);
    at->row = (gnn__wide_words_t)_mm512_mask_add_epi64((__m512i)at->row, over, (__m512i)at->row,
                                                       _mm512_set1_epi64(1));
    return over != 0;
#else
    typedef int64_t over_t __attribute__((vector_size(GNN__VEC_BYTES)));
    const over_t over = (over_t)at->block >= (over_t)blocks; /* -1 where true */
    uint64_t any = 0;
    at->block -= blocks & (gnn__wide_words_t)over;
    at->row -= (gnn__wide_words_t)over;
    for (int l = 0; l < GNN__PHILOX_AT_ONCE; l++)
        any |= (uint64_t)over[l];
    return any != 0;
#endif
}

static void matrix(const gnn__dropout_t *d, int64_t row, int64_t rows, int64_t cols,
                   const gnn_real_t *x, int64_t ldx, bool add, gnn_real_t *y, int64_t ldy)
{
    const int64_t blocks = (cols + LANES - 1) / LANES, total = rows * blocks;
    const bool flat = cols % LANES == 0 && ldx == cols && ldy == cols;
    const gnn__wide_words_t all_blocks = gnn__words_all((uint64_t)blocks);
    places_t at = first_places((int64_t)d->row + row, (uint64_t)blocks);
    gnn__wide_words_t a[GNN__PHILOX_REGISTERS], b[GNN__PHILOX_REGISTERS];
    uint8_t bits[BLOCKS + 8] = {0};
    for (int64_t done = 0; done < total; done += BLOCKS) {
        for (int r = 0; r < GNN__PHILOX_REGISTERS; r++) {
            a[r] = at.row;
            b[r] = at.block;
            at.block += GNN__PHILOX_AT_ONCE;
            while (wrap(&at, all_blocks))
                ;
        }
        gnn__keep_32(d, 0, a, b, bits);
        if (flat) {
            apply(bits, d->scale, gnn__min(total - done, BLOCKS) * LANES, x + done * LANES, add,
                  y + done * LANES);
            continue;
        }
        for (int64_t l = 0; l < BLOCKS && done + l < total; l++) {
            const int64_t r = (done + l) / blocks, c = (done + l) % blocks * LANES;
            apply(bits + l, d->scale, gnn__min(cols - c, LANES), x + r * ldx + c, add,
                  y + r * ldy + c);
        }
    }
}

/* ---- stored elements of sparse matrices ---- */

/* The next BLOCKS blocks of stored elements, from block `block` of row r on. */
static void next_blocks(const int64_t *indptr, int64_t r, int64_t block, int64_t to, uint32_t row,
                        uint32_t *a, uint32_t *b)
{
    for (int taken = 0; taken < BLOCKS && r < to; r++, block = 0)
        for (; taken < BLOCKS && indptr[r] + LANES * block < indptr[r + 1]; taken++, block++) {
            a[taken] = row + (uint32_t)r;
            b[taken] = (uint32_t)block;
        }
}

/* Appends the kept ones of at most eight elements and returns their count. May write eight where
 * there are eight. */
#if !GNN_DOUBLE && defined(__AVX512F__)
GNN__INLINE int64_t squeeze(int64_t n, uint8_t kept, gnn_real_t scale, const int32_t *from_at,
                            const gnn_real_t *from_by, int32_t *at, gnn_real_t *by)
{
    const __mmask8 live = (__mmask8)(n < LANES ? (1u << n) - 1 : 0xff), mask = kept & live;
    const __m256i places = _mm256_maskz_compress_epi32(mask, _mm256_maskz_loadu_epi32(live, from_at));
    const __m256 values =
        _mm256_maskz_compress_ps(mask, _mm256_maskz_loadu_ps(live, from_by) * _mm256_set1_ps(scale));
    _mm256_mask_storeu_epi32(at, live, places);
    _mm256_mask_storeu_ps(by, live, values);
    return __builtin_popcount(mask);
}
#else
GNN__INLINE int64_t squeeze_each(int64_t n, uint8_t kept, gnn_real_t scale, const int32_t *from_at,
                                 const gnn_real_t *from_by, int32_t *at, gnn_real_t *by)
{
    int64_t count = 0;
    for (int64_t k = 0; k < n && k < LANES; k++) {
        at[count] = from_at[k];
        by[count] = from_by[k] * scale;
        count += kept >> k & 1;
    }
    return count;
}

#if !GNN_DOUBLE && defined(__AVX2__)
/* Positions of the set bits of a byte, a byte each: those of four bits come from a table, and the
 * upper four's follow the lower four's. */
GNN__INLINE __m256i set_bits(uint8_t byte)
{
    static const uint32_t of_four[16] = {0x0,   0x0,     0x1,     0x100,    0x2,   0x200,
                                         0x201, 0x20100, 0x3,     0x300,    0x301, 0x30100,
                                         0x302, 0x30200, 0x30201, 0x3020100};
    const uint32_t low = byte & 15u, high = byte >> 4;
    const uint64_t places = (uint64_t)of_four[low] | ((uint64_t)of_four[high] + 0x04040404u)
                                                         << 8 * __builtin_popcount(low);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)places));
}

GNN__INLINE int64_t squeeze(int64_t n, uint8_t kept, gnn_real_t scale, const int32_t *from_at,
                            const gnn_real_t *from_by, int32_t *at, gnn_real_t *by)
{
    if (n < LANES)
        return squeeze_each(n, kept, scale, from_at, from_by, at, by);
    const __m256i places = set_bits(kept);
    const __m256 values = _mm256_loadu_ps(from_by) * _mm256_set1_ps(scale);
    _mm256_storeu_si256(
        (void *)at, _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const void *)from_at), places));
    _mm256_storeu_ps(by, _mm256_permutevar8x32_ps(values, places));
    return __builtin_popcount(kept);
}
#else
#define squeeze squeeze_each
#endif
#endif

static void sparse(const gnn__dropout_t *d, int64_t from, int64_t to, const gnn_sparse_t *x,
                   int32_t *indices, gnn_real_t *values, int32_t *counts)
{
    static const gnn_real_t ones[LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
    uint32_t a[BLOCKS] = {0}, b[BLOCKS] = {0};
    uint8_t kept[BLOCKS];
    int drawn = BLOCKS; /* blocks of `kept` that were used */
    for (int64_t r = from; r < to; r++) {
        const int64_t end = x->indptr[r + 1];
        int64_t left = x->indptr[r];
        for (int64_t k = x->indptr[r]; k < end; k += LANES, drawn++) {
            if (drawn == BLOCKS) {
                drawn = 0;
                next_blocks(x->indptr, r, (k - x->indptr[r]) / LANES, to, d->row, a, b);
                gnn__keep_bytes(d, BLOCKS, a, b, 0, kept);
            }
            left += squeeze(end - k, kept[drawn], d->scale, x->indices + k,
                            x->values ? x->values + k : ones, indices + left, values + left);
        }
        counts[r] = (int32_t)(left - x->indptr[r]);
    }
}

const gnn__dropout_kernels_t GNN__KERNEL(dropout_kernels) = {.matrix = matrix, .sparse = sparse};
