/* Draws of dropout for pieces and rows of tiles. */
#include <lib/kernels/attention/by_tile/tile_dropout.h>
#include <lib/kernels/simd/philox.h>

static ONE_COPY void draw_row(const gnn__attention_t *a, int64_t row, int64_t at, int64_t n,
                              int64_t head, uint8_t *bits)
{
    enum { DRAWN = 2 * GNN__PHILOX_LANES };
    const uint32_t node = (uint32_t)gnn__pairs_node(&a->pairs, row);
    uint32_t own[DRAWN], other[DRAWN];
    for (int l = 0; l < DRAWN; l++)
        own[l] = node;
    for (int64_t c = 0; c < n; c += DRAWN) {
        if (!a->pairs.col_order)
            for (int l = 0; l < DRAWN; l++)
                other[l] = (uint32_t)(at + c) + (uint32_t)l;
        else
            for (int64_t l = 0; l < DRAWN; l++)
                other[l] = (uint32_t)gnn__pairs_col(&a->pairs, at + (c + l < n ? c + l : n - 1));
        gnn__keep_bytes(a->dropout, (int)(n - c < DRAWN ? n - c : DRAWN), a->transposed ? other : own,
                        a->transposed ? own : other, (uint32_t)(head / 8), bits + c);
    }
}

void draw_piece(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head, drawn_t *drawn)
{
    enum { WHOLE = 32 }; /* registers, as lanes_from has them */
    const int64_t at = a->pairs.lo[row0], n = a->pairs.hi[row1 - 1] - at,
                  ld = gnn__tile_width(n > 0 ? n : 0);
    drawn->row0 = row0;
    drawn->column0 = at;
    drawn->ld = (row1 - row0) * ld <= GNN__TILE_DRAWN ? ld : 0;
    for (int64_t row = row0; drawn->ld > 0 && row < row1; row++) {
        const int64_t from = (a->pairs.lo[row] - at) / WHOLE * WHOLE, to = a->pairs.hi[row] - at;
        draw_row(a, row, at + from, to - from, head, drawn->bits + (row - row0) * ld + from);
    }
}

#if defined(__AVX512BW__) && !GNN_DOUBLE
static inline uint64_t below(int n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

/* Which of the bytes from .. to - 1 have the head's bit. */
static void spread_bits(const uint8_t *bits, int from, int to, int64_t head, gnn_real_t scale,
                        keep_t *keep)
{
    keep->kept = _mm512_test_epi8_mask(_mm512_maskz_loadu_epi8(below(to) & ~below(from), bits),
                                       _mm512_set1_epi8((char)(1 << head % 8)));
    keep->scale = scale;
}
#else
static void spread_bits(const uint8_t *bits, int from, int to, int64_t head, gnn_real_t scale,
                        keep_t *keep)
{
    typedef uint8_t bytes_t __attribute__((vector_size(LANES)));
    const lane_int_t bit = (lane_int_t)1 << head % 8;
#pragma GCC unroll 1
    for (int c = from; c < to; c += LANES) {
        bytes_t byte;
        memcpy(&byte, bits + c, sizeof byte);
        const lanes_t kept = (__builtin_convertvector(byte, lanes_t) & bit) != 0;
        gnn__vec_store(keep->by + c, choose(kept, gnn__vec_all(scale), 0));
    }
}
#endif

void keep_row(const gnn__attention_t *a, const drawn_t *drawn, int64_t row, int64_t at, int from,
              int to, int64_t head, keep_t *keep)
{
    uint8_t own[COLUMNS];
    const uint8_t *bits = own;
    from -= from % GNN__PHILOX_LANES;
    if (drawn->ld > 0)
        bits = drawn->bits + (row - drawn->row0) * drawn->ld + (at - drawn->column0);
    else
        draw_row(a, row, at + from, to - from, head, own + from);
    spread_bits(bits, from, to, head, a->dropout->scale, keep);
}
