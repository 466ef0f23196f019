/* Between the kernels of attention with heads in lanes: a block of pairs of one row, and patterns
 * of heads. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_BLOCK_H
#define GNN_KERNELS_LANES_BLOCK_H

#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/simd/philox.h>
#include <lib/kernels/simd/vec_heads.h>

/* Pairs of a block, pairs that are drawn at once; how far ahead rows are prefetched; registers that
 * a pattern takes. */
enum {
    BLOCK_PAIRS = GNN__LANES_PAIRS,
    DRAWN = GNN__LANES_DRAWN,
    AHEAD = 8,
    DRAWS = 16,
    OWN = GNN__LANES_OWN,
    LANES = GNN__VEC_LANES,
    HEADS = GNN__LANES_HEADS,
    PATTERN = HEADS > LANES ? HEADS / LANES : 1,
    ROOM = HEADS > LANES ? HEADS : LANES /* for a pattern in memory */
};

/* Loops over pairs know the width of patterns as a constant: f_1, f_4 and f_8 are made from one
 * inline function; what runs once a row takes any. */
#define FOR_WIDTHS(define) define(1) define(4) define(8)
#define BY_WIDTH(width, f, ...) \
    ((width) == 1 ? f##_1(__VA_ARGS__) : (width) == 4 ? f##_4(__VA_ARGS__) : f##_8(__VA_ARGS__))
#define MADE static __attribute__((noinline, unused)) void

/* Arrays of pairs x width have the heads of one pair side by side and room for whole registers. */
typedef struct block {
    int n;
    int64_t at; /* place of the first pair */
    /* the pairs' other ends and some more; in `copied` where the list is about to end */
    const uint32_t *other;
    uint32_t *copied;
    gnn_real_t *score, *weight;
    /* Numbers of the edges of the pairs one block further on, `coming` of them, whose logits are to
     * be prefetched while this block is weighed. */
    const int64_t *numbers;
    int64_t coming;
    gnn_real_t *edge;    /* what edges add to additive scores; backward: g */
    gnn_real_t *d_edges; /* additive, backward: as `send` is given them */
    /* of features, d_e rows of 16 numbers: times weights, and backward times g */
    gnn_real_t *sums[2];
    /* additive scores: weights of pairs with s <= 0, else 0; products: dY . v, then g */
    gnn_real_t *second;
    /* Dropout's multipliers are drawn for the pairs of many rows at once, sixteen at a time: those
     * at places drawn_from .. drawn_to - 1, as gnn__kept takes them; those of this block begin with
     * number `kept`. */
    void *drawn;
    int64_t drawn_from, drawn_to, kept;
    gnn_real_t scale;  /* of what dropout leaves; 0: it drops nothing */
    uint32_t *ends[2]; /* of the drawn pairs: the rows' nodes, and the other ones */
    int64_t row1;      /* where the rows of this call end */
    gnn_real_t *y, *p; /* rows; y has room for a row of keys behind a row of values */
    /* GNN__COLUMNS: number c of pair e at c * BLOCK_PAIRS + e; see lanes_few.kernel.c. By factors:
     * those of rows own_from .., a register each */
    gnn_real_t *columns;
    /* Additive-v2 with edge features: keys of the block's pairs, l->row_numbers each, their rows of
     * features, and that of a pair without. */
    gnn_real_t *rows, *zeros;
    const gnn_real_t **features;
    int64_t own_from;
} lane_block_t;

/* The rows of a call end at row1. lanes_parts.kernel.c */
#define lane_block_at GNN__KERNEL(lanes_block_at)
lane_block_t lane_block_at(const gnn__lanes_t *l, int64_t row1, gnn_real_t *scratch);

/* ---- patterns ---- */

/* Registers that a pattern takes. */
GNN__INLINE int pattern_registers(int width)
{
    return PATTERN > 1 && width > LANES ? width / LANES : 1;
}

GNN__INLINE int padded(int numbers)
{
    return (numbers + LANES - 1) / LANES * LANES;
}

GNN__INLINE gnn__vec_bits_t first_lanes(int count)
{
    gnn__vec_bits_t number;
    for (int lane = 0; lane < LANES; lane++)
        number[lane] = lane;
    return number < count;
}

GNN__INLINE bool differs(gnn__vec_t x, gnn__vec_t y)
{
    const gnn__vec_bits_t unlike = x != y;
    gnn__bits_t any = 0;
    for (int lane = 0; lane < LANES; lane++)
        any |= (gnn__bits_t)unlike[lane];
    return any != 0;
}

/* Where the width is not a constant there is one copy of all its cases. */
static __attribute__((noinline, unused)) gnn__vec_t reduce_any(gnn__vec_t x, int width, bool largest)
{
    return gnn__vec_reduce(x, width, largest);
}

GNN__INLINE gnn__vec_t reduce(gnn__vec_t x, const int width, bool largest)
{
    return __builtin_constant_p(width) ? gnn__vec_reduce(x, width, largest)
                                       : reduce_any(x, width, largest);
}

GNN__INLINE void fill(gnn__vec_t *x, gnn_real_t with)
{
    for (int u = 0; u < PATTERN; u++)
        x[u] = gnn__vec_all(with);
}

GNN__INLINE void read_pattern(const gnn_real_t *at, gnn__vec_t *x, int width)
{
    for (int u = 0; u < pattern_registers(width); u++)
        x[u] = gnn__vec_pattern(at, width, u);
}

/* `heads` numbers of a pattern, those of its padding left out; read, they are `none`.
 * lanes_parts.kernel.c */
#define read_some GNN__KERNEL(lanes_read_some)
#define write_some GNN__KERNEL(lanes_write_some)
void read_some(const gnn_real_t *at, int64_t heads, gnn__vec_t *x, gnn_real_t none, int width);
void write_some(gnn_real_t *at, int64_t heads, const gnn__vec_t *x, bool add, int width);

/* Most often heads fill their pattern. */
GNN__INLINE void read_heads(const gnn_real_t *at, int64_t heads, gnn__vec_t *x, gnn_real_t none,
                            int width)
{
    if (heads == width)
        read_pattern(at, x, width);
    else
        read_some(at, heads, x, none, width);
}

GNN__INLINE void write_heads(gnn_real_t *at, int64_t heads, const gnn__vec_t *x, bool add, int width)
{
    if (add || heads != width)
        write_some(at, heads, x, add, width);
    else
        for (int u = 0; u < pattern_registers(width); u++)
            gnn__vec_put(at, x[u], width, u);
}

/* ---- pairs ---- */

/* Numbers x .. x + LANES - 1 of the block's pairs x width, read from rows of `width` numbers. */
GNN__INLINE gnn__vec_t rows_at(const gnn__matrix_t *m, const uint32_t *nodes, int x, const int width)
{
    if (width >= LANES)
        return gnn__vec_load(gnn__matrix_row(m, nodes[x / width]) + x % width);
    const uint32_t *node = nodes + x / width;
#if !GNN_DOUBLE && defined(__AVX512F__)
    if (width == 8)
        return (gnn__vec_t)_mm512_insertf32x8(
            _mm512_castps256_ps512(_mm256_loadu_ps(gnn__matrix_row(m, node[0]))),
            _mm256_loadu_ps(gnn__matrix_row(m, node[1])), 1);
    if (width == 4) {
        const __m256 low = _mm256_insertf128_ps(
                         _mm256_castps128_ps256(_mm_loadu_ps(gnn__matrix_row(m, node[0]))),
                         _mm_loadu_ps(gnn__matrix_row(m, node[1])), 1),
                     high = _mm256_insertf128_ps(
                         _mm256_castps128_ps256(_mm_loadu_ps(gnn__matrix_row(m, node[2]))),
                         _mm_loadu_ps(gnn__matrix_row(m, node[3])), 1);
        return (gnn__vec_t)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
    }
#elif !GNN_DOUBLE && defined(__AVX2__)
    if (width == 4)
        return (gnn__vec_t)_mm256_insertf128_ps(
            _mm256_castps128_ps256(_mm_loadu_ps(gnn__matrix_row(m, node[0]))),
            _mm_loadu_ps(gnn__matrix_row(m, node[1])), 1);
#endif
    gnn__vec_t y;
    for (int lane = 0; lane < LANES; lane++)
        y[lane] = gnn__matrix_row(m, node[lane / width])[lane % width];
    return y;
}

/* Weights x .. of the block's pairs x width behind dropout. */
GNN__INLINE gnn__vec_t drop(const lane_block_t *b, int x, gnn__vec_t w)
{
    return b->scale > 0 ? gnn__kept(b->scale, b->drawn, b->kept + x, w) : w;
}

/* The pairs at places at .. of a row; nodes of the next rows behind them, for the prefetch.
 * lanes_parts.kernel.c */
#define lane_block_load GNN__KERNEL(lanes_load)
void lane_block_load(const gnn__lanes_t *l, lane_block_t *b, int64_t row, int64_t at, int64_t to);

#endif
