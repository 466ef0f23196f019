/* Packing of tiles, products of packed tiles in fp32, and draws of dropout (tile.h).
 *
 *     pack_rows     rows of some nodes, one head -> contiguous rows, times a factor, padded with 0
 *     transpose     packed rows -> columns of a tile, COLUMNS apart
 *     product       GROUP rows x PANEL registers of sums (product_template.h)
 *     draw_piece    8 heads at a time: a byte for each row and column of a piece
 *     keep_row      the bytes of one row of a tile -> a mask, or a multiplier per column */
#include <lib/kernels/attention/by_tile/tile.h>
#include <lib/kernels/simd/philox.h>

#define TARGET
#define MULTIPLY_ADD(w, x, sum) ((sum) + (w) * (x))
#include <lib/kernels/attention/by_tile/product_template.h>

ONE_COPY void product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                      const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                      int64_t width, bool add)
{
    grouped_product(a, row, step, rows, b, ldb, n, out, ldo, width, add);
}

/* ---- packing ---- */

/* Packs the elements of a row that do not fill a register, then zeros up to ld. */
static ONE_COPY gnn_real_t pack_remainder(const gnn_real_t *x, int64_t k, int64_t count, int64_t ld,
                                          gnn_real_t factor, gnn_real_t *row)
{
    gnn_real_t nothing = 0;
    for (; k < count; k++) {
        row[k] = factor * x[k];
        nothing += (row[k] + row[k]) * 0;
    }
    for (; k < ld; k++)
        row[k] = 0;
    return nothing;
}

ONE_COPY bool pack_rows(const gnn__matrix_t *m, const uint32_t *node, int n, int whole,
                        int64_t first, int64_t count, int64_t ld, gnn_real_t factor, gnn_real_t *rows)
{
    const gnn__vec_t by = gnn__vec_all(factor);
    gnn__vec_t nothing = {0};
    for (int r = 0; r < n; r++, rows += ld) {
        const gnn_real_t *x = gnn__matrix_row(m, node[r]) + first;
        int64_t k = 0;
        for (; k + LANES <= count; k += LANES) {
            const gnn__vec_t v = by * gnn__vec_load(x + k);
            /* x + x also catches values that rounding to bf16 would carry to infinity */
            nothing += (v + v) * 0;
            gnn__vec_store(rows + k, v);
        }
        if (k < ld)
            nothing += pack_remainder(x, k, count, ld, factor, rows);
    }
    clear(rows, (whole - n) * ld);
    return all_zero(nothing);
}

ONE_COPY void transpose(const panel_t *p, int count, int64_t width, gnn_real_t *columns)
{
    const gnn_real_t *row[LANES], *at = p->rows;
    for (int c = 0; c < count; c += LANES) {
        for (int l = 0; l < LANES; l++) {
            row[l] = at;
            at += c + l + 1 < count ? p->ld : 0;
        }
        for (int64_t x = 0; x < width; x += LANES)
            transpose_square(row, x, columns + x * COLUMNS + c, COLUMNS);
    }
}

ONE_COPY void put_scaled(const gnn_real_t *x, int64_t n, gnn_real_t factor, bool add, gnn_real_t *y)
{
    static const gnn_real_t nothing[LANES];
    const gnn_real_t *old = add ? y : nothing;
    const gnn__vec_t by = gnn__vec_all(factor);
    int64_t c = 0;
#pragma GCC unroll 1
    for (; c + LANES <= n; c += LANES, old += add ? LANES : 0)
        gnn__vec_store(y + c, by * gnn__vec_load(x + c) + gnn__vec_load(old));
#pragma GCC unroll 1
    for (; c < n; c++, old += add ? 1 : 0)
        y[c] = factor * x[c] + *old;
}

/* ---- dropout ---- */

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
        const int count = (int)(n - c < DRAWN ? n - c : DRAWN);
        const uint32_t *receivers = a->transposed ? other : own;
        const uint32_t *senders = a->transposed ? own : other;
        gnn__keep_bytes(a->dropout, count, receivers, senders, (uint32_t)(head / 8), bits + c);
    }
}

void draw_piece(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head, drawn_t *drawn)
{
    enum { WHOLE = 32 }; /* registers, as lanes_from counts them */
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

/* A mask of the bytes from .. to - 1 that have the head's bit. */
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
