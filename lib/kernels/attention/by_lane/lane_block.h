/* Shared by the by-lane kernels: a block of pairs of one row, patterns of heads, rows of values,
 * weighted sums, scores. Included by kernels only.
 *
 * A row of a pass (a receiver, or a sender on the transposed part) is processed in blocks of at
 * most BLOCK_PAIRS pairs. Arrays of a block are "pairs x width": the heads of a pair are next to
 * each other, padded to `width` (1, 4 or 8), so that a register holds LANES / width pairs, or a
 * pair takes PATTERN registers where heads are more than lanes:
 *
 *     width 4, 8 lanes           lane  0   1   2   3   4   5   6   7
 *     b.score[0 .. 7]                  h0  h1  h2  h3  h0  h1  h2  h3
 *                                      ---- pair 0 --  ---- pair 1 --
 *
 * A scalar per head of a row (its query, its largest score) is repeated over a register in the same
 * way: a pattern. So scores, exp and dropout of all heads run in whole registers, and sums over
 * pairs stay lane by lane until the row ends, when lanes of one head are reduced. */
#ifndef GNN_KERNELS_LANE_BLOCK_H
#define GNN_KERNELS_LANE_BLOCK_H

#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/simd/philox.h>
#include <lib/kernels/simd/vec_heads.h>

/* Pairs of a block; pairs whose dropout is drawn together, and the granularity of draws; distance
 * of prefetches in pairs; rows whose exponential factors are computed together; registers of a
 * pattern; elements that hold a pattern in memory. */
enum {
    BLOCK_PAIRS = GNN__LANES_PAIRS,
    DRAW_PAIRS = GNN__LANES_DRAW_PAIRS,
    AHEAD = 8,
    DRAW_STEP = 16,
    FACTOR_ROWS = GNN__LANES_FACTOR_ROWS,
    LANES = GNN__VEC_LANES,
    HEADS = GNN__LANES_HEADS,
    PATTERN = HEADS > LANES ? HEADS / LANES : 1,
    PATTERN_ROOM = HEADS > LANES ? HEADS : LANES
};

/* Loops over pairs have the width of patterns as a constant: f_1, f_4 and f_8 are made of one
 * inline function f, and BY_WIDTH calls the right one. Code that runs once per row takes any
 * width. */
#define FOR_WIDTHS(define) define(1) define(4) define(8)
#define BY_WIDTH(width, f, ...) \
    ((width) == 1 ? f##_1(__VA_ARGS__) : (width) == 4 ? f##_4(__VA_ARGS__) : f##_8(__VA_ARGS__))
#define PER_WIDTH static __attribute__((noinline, unused)) void

/* One block of pairs of one row, and scratch memory of a thread. Arrays of pairs x width have room
 * for whole registers beyond the last pair. */
typedef struct lane_block {
    int n;      /* pairs */
    int64_t at; /* slot of the first pair in the part */
    /* Node at the other end of each pair, and of AHEAD pairs after the block for prefetches: a
     * pointer into the part's list, or `copied` where that list ends too soon. */
    const uint32_t *other;
    uint32_t *copied;
    gnn_real_t *score;  /* pairs x width; minus infinity after the last pair */
    gnn_real_t *weight; /* pairs x width; alpha after dropout */
    /* Edge ids of the pairs one block later, of which the first `coming` exist: their logits are
     * prefetched while this block is weighed. */
    const int64_t *next_edges;
    int64_t coming;
    /* pairs x width. Additive: what the edge adds to the score; backward: its gradient */
    gnn_real_t *edge;
    gnn_real_t *d_edges; /* additive scores, backward: d_edges of `send`; may be NULL: not wanted */
    /* d_e x 16, products with edge features: sums of features times weights, and in backward of
     * features times g */
    gnn_real_t *sums[2];
    /* pairs x width. Additive scores: the weights of pairs with s <= 0, else 0. Dot and
     * additive-v2: dY . v, then g */
    gnn_real_t *second;
    /* Dropout multipliers of the pairs in slots drawn_from .. drawn_to - 1, in the form that
     * gnn__kept reads. They are drawn for many rows at once; those of this block start at element
     * `kept`. */
    void *drawn;
    int64_t drawn_from, drawn_to, kept;
    gnn_real_t scale;  /* dropout scale 1 / (1 - p); 0: no dropout */
    uint32_t *ends[2]; /* nodes of the drawn pairs: of the row, and of the other end */
    int64_t row1;      /* end of the rows of this call */
    /* Sums of a row of values, and their second copy (additive: P). y has room for a row of keys
     * after a row of values. */
    gnn_real_t *y, *p;
    /* GNN__COLUMNS: column-major, element c of pair e is at c * BLOCK_PAIRS + e
     * (one_head.kernel.c). Exponential factors: those of rows own_from .., a register each. */
    gnn_real_t *columns;
    /* Additive-v2 with edge features: keys of the block's pairs (pairs x row_numbers), the feature
     * rows of the pairs, and a row of zeros for pairs that have none. */
    gnn_real_t *rows, *zeros;
    const gnn_real_t **features;
    int64_t own_from;
} lane_block_t;

/* Lays a block out in a thread's scratch memory. The rows of the call end at row1. */
#define lane_block_carve GNN__KERNEL(lanes_block_carve)
lane_block_t lane_block_carve(const gnn__lanes_t *l, int64_t row1, gnn_real_t *scratch);

/* ---- patterns: one scalar per head, repeated over the lanes ---- */

GNN__INLINE int pattern_registers(int width)
{
    return PATTERN > 1 && width > LANES ? width / LANES : 1;
}

GNN__INLINE int padded(int elements)
{
    return (elements + LANES - 1) / LANES * LANES;
}

GNN__INLINE gnn__vec_bits_t first_lanes(int count)
{
    gnn__vec_bits_t index;
    for (int lane = 0; lane < LANES; lane++)
        index[lane] = lane;
    return index < count;
}

GNN__INLINE bool any_differs(gnn__vec_t x, gnn__vec_t y)
{
    const gnn__vec_bits_t unlike = x != y;
    gnn__bits_t any = 0;
    for (int lane = 0; lane < LANES; lane++)
        any |= (gnn__bits_t)unlike[lane];
    return any != 0;
}

/* gnn__vec_reduce. Where the width is not a constant, one shared copy of all its cases. */
static __attribute__((noinline, unused)) gnn__vec_t reduce_any(gnn__vec_t x, int width, bool largest)
{
    return gnn__vec_reduce(x, width, largest);
}

GNN__INLINE gnn__vec_t reduce(gnn__vec_t x, const int width, bool largest)
{
    return __builtin_constant_p(width) ? gnn__vec_reduce(x, width, largest)
                                       : reduce_any(x, width, largest);
}

GNN__INLINE void fill_pattern(gnn__vec_t *x, gnn_real_t with)
{
    for (int u = 0; u < PATTERN; u++)
        x[u] = gnn__vec_all(with);
}

GNN__INLINE void read_pattern(const gnn_real_t *at, gnn__vec_t *x, int width)
{
    for (int u = 0; u < pattern_registers(width); u++)
        x[u] = gnn__vec_pattern(at, width, u);
}

/* Load and store `heads` elements of a pattern and leave its padding out, which is `none` when
 * loaded. `add`: onto what is stored. */
#define read_some GNN__KERNEL(lanes_read_some)
#define write_some GNN__KERNEL(lanes_write_some)
void read_some(const gnn_real_t *at, int64_t heads, gnn__vec_t *x, gnn_real_t none, int width);
void write_some(gnn_real_t *at, int64_t heads, const gnn__vec_t *x, bool add, int width);

/* The same, fast where heads fill the pattern, as they mostly do. */
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
            gnn__vec_store_pattern(at, x[u], width, u);
}

/* ---- pairs ---- */

/* Elements x .. x + LANES - 1 of the block's pairs x width, gathered from the rows (of `width`
 * elements) of the pairs' other ends. */
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

/* Weights x .. of the block's pairs x width after dropout. */
GNN__INLINE gnn__vec_t drop(const lane_block_t *b, int x, gnn__vec_t w)
{
    return b->scale > 0 ? gnn__kept(b->scale, b->drawn, b->kept + x, w) : w;
}

/* Loads the pairs in slots at .. of a row, at most a block of them, with the nodes of the pairs
 * after them for prefetches, and draws their dropout. */
#define lane_block_load GNN__KERNEL(lanes_load)
void lane_block_load(const gnn__lanes_t *l, lane_block_t *b, int64_t row, int64_t at, int64_t to);

/* ---- rows of values, in place or packed with heads fastest ---- */

/* IN_PLACE: lanes of a register, where one head narrower than a register is read in place, else 0.
 * SHARES: small heads that share registers are read in place. BOTH_ENDS: rows of 8 heads x 8 fill
 * whole registers, so that backward can serve both ends of a pair in one pass over receivers. */
#if !GNN_DOUBLE && defined(__AVX2__)
enum { IN_PLACE = LANES };
#else
enum { IN_PLACE = 0 };
#endif
#if !GNN_DOUBLE && defined(__AVX512F__)
enum { SHARES = 1 };
#else
enum { SHARES = 0 };
#endif
enum { BOTH_ENDS = LANES >= HEADS, EIGHTS = HEADS * 8 / LANES };

/* Width of the one head that is narrower than a register, and of heads that share registers; 0: the
 * layout is another. */
GNN__INLINE int narrow_width(const gnn__lanes_t *l)
{
    return IN_PLACE > 0 && l->layout == GNN__NARROW ? (int)l->a->d_v : 0;
}

GNN__INLINE int shared_width(const gnn__lanes_t *l)
{
    return SHARES && l->layout == GNN__SHARED ? (int)l->a->d_v : 0;
}

/* Rows lie as the caller's do: neither packed nor padded. */
GNN__INLINE bool in_callers_layout(const gnn__lanes_t *l)
{
    return l->layout == GNN__WHOLE || shared_width(l);
}

/* Pack one row with heads fastest (element c of head h at c * width + h, zeros up to `row`
 * elements), and the way back to heads of d elements each. `add`: onto what is there. */
#define pack_row GNN__KERNEL(lanes_pack_row)
#define unpack_row GNN__KERNEL(lanes_unpack_row)
void pack_row(const gnn_real_t *x, int64_t heads, int64_t d, int width, gnn_real_t *y, int64_t row);
void unpack_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int64_t d, bool add,
                int width);

static inline void load_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int width)
{
    if (!in_callers_layout(l))
        pack_row(x, l->a->heads, l->a->d_v, width, y, l->value_numbers);
    else
        memcpy(y, x, sizeof *y * (size_t)l->value_numbers);
}

GNN__INLINE void clear_row(const gnn__lanes_t *l, const lane_block_t *b)
{
    memset(b->y, 0, sizeof *b->y * (size_t)l->value_numbers);
    memset(b->p, 0, sizeof *b->p * (size_t)l->value_numbers);
}

/* Sums over the lanes of each head that shares x[0 .. registers - 1], as a pattern: neighbouring
 * lanes are added until one lane holds a head's sum. Overwrites x. */
GNN__INLINE gnn__vec_t shared_reduce(gnn__vec_t *x, int d, const int registers)
{
    for (int n = registers; n > 1; n /= 2, d /= 2)
        for (int v = 0; v < n / 2; v++)
            x[v] = gnn__vec_neighbours(x[2 * v], x[2 * v + 1]);
    for (; d > 1; d /= 2)
        x[0] = gnn__vec_neighbours(x[0], x[0]);
    return x[0];
}

/* Layout GNN__SHARED: y = x times the factor of its head; products = x . y per head. `pass`: with
 * streaming stores. */
#define scale_shared GNN__KERNEL(lanes_scale_shared)
#define shared_products GNN__KERNEL(lanes_shared_products)
void scale_shared(const gnn__lanes_t *l, const gnn_real_t *x, gnn__vec_t by, gnn_real_t *y,
                  bool stream);
void shared_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                     gnn__vec_t *products);

GNN__INLINE bool streams(const gnn__lanes_t *l, const gnn_real_t *y)
{
    return in_callers_layout(l) && gnn__vec_streams(y, l->value_numbers * l->a->pairs.n_rows);
}

/* y = x times the factor of its head, in any layout. y may be x. */
#define scale_row GNN__KERNEL(lanes_scale_row)
void scale_row(const gnn__lanes_t *l, const gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
               int width);

/* True if `finish` (bias, activation) runs over some finished rows together. Where the output
 * exceeds the caches it runs on each row before the row is stored past them. */
GNN__INLINE bool finishes_later(const gnn__lanes_t *l)
{
    return l->finish && !(streams(l, l->a->y.at) && l->a->y.stride % LANES == 0);
}

/* Scales x, runs `finish` on it, and stores it in y past the caches. Overwrites x. */
#define scale_and_stream GNN__KERNEL(lanes_scale_and_stream)
void scale_and_stream(const gnn__lanes_t *l, gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
                      int width);

/* Scales a finished row and stores it in the caller's row y, where heads follow one another. */
static inline void scale_row_out(const gnn__lanes_t *l, gnn_real_t *x, const gnn__vec_t *by,
                                 gnn_real_t *y, int width)
{
    if (l->finish && !finishes_later(l)) {
        scale_and_stream(l, x, by, y, width);
        return;
    }
    if (in_callers_layout(l)) {
        scale_row(l, x, by, y, width);
        return;
    }
    scale_row(l, x, by, x, width);
    unpack_row(l, x, y, l->a->d_v, false, width);
}

/* products = x . y per head, in any layout. */
#define row_products GNN__KERNEL(lanes_row_products)
void row_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                  gnn__vec_t *products, int width);

/* Prefetches a row of 8 heads x 8. */
GNN__INLINE void prefetch_eight(const gnn_real_t *x)
{
    for (int c = 0; c < 64; c += 64 / (int)sizeof *x)
        __builtin_prefetch(x + c);
}

/* ---- weighted sums of rows ---- */

/* Layout GNN__SHARED: sum += weight x over pairs from .. to - 1, for `registers` registers of a
 * row, and sum_p likewise with `second` where `two`. */
GNN__INLINE void shared_sums(const lane_block_t *b, const gnn__matrix_t *m, int from, int to,
                             int width, const gnn__vec_bits_t *head, gnn__vec_t *sum,
                             gnn__vec_t *sum_p, const int registers, const bool two)
{
    for (int e = from; e < to; e++) {
        const gnn_real_t *row = gnn__matrix_row(m, b->other[e]),
                         *next = gnn__matrix_row(m, b->other[e + AHEAD]);
        const gnn__vec_t w = gnn__vec_pattern(b->weight + e * width, HEADS, 0),
                         w_p = two ? gnn__vec_pattern(b->second + e * width, HEADS, 0) : w;
        for (int v = 0; v < registers; v++) {
            const gnn__vec_t x = gnn__vec_load(row + v * LANES);
            __builtin_prefetch(next + v * LANES);
            sum[v] += gnn__vec_spread(w, head[v]) * x;
            if (two)
                sum_p[v] += gnn__vec_spread(w_p, head[v]) * x;
        }
    }
}

/* Layout GNN__NARROW: returns the sum of weight x over pairs from .. to - 1, and in *p that with
 * `second` where `two`. Even and odd pairs have separate sums to hide the latency of additions. */
GNN__INLINE gnn__vec_t narrow_sum(const lane_block_t *b, const gnn__matrix_t *m, int count,
                                  int from, int to, gnn__vec_t *p, const bool two)
{
    gnn__vec_t sum[2] = {{0}}, sum_p[2] = {{0}};
    for (int e = from; e < to; e += 2)
        for (int k = 0; k < 2 && e + k < to; k++) {
            const gnn__vec_t x = gnn__vec_load_first(gnn__matrix_row(m, b->other[e + k]), count);
            __builtin_prefetch(gnn__matrix_row(m, b->other[e + k + AHEAD]));
            sum[k] += b->weight[e + k] * x;
            if (two)
                sum_p[k] += b->second[e + k] * x;
        }
    if (two)
        *p = sum_p[0] + sum_p[1];
    return sum[0] + sum[1];
}

/* b->y (+)= weight x over the pairs of a block, where x are rows of `row` elements of m, and b->p
 * likewise with `second` where `two`. `fresh`: overwrites. */
#define gather GNN__KERNEL(lanes_gather)
void gather(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m, int64_t row,
            bool fresh, bool two);

/* ---- gradients of a sender, additive scores ---- */

#define finish_sender GNN__KERNEL(lanes_finish_sender)
#define clear_sender GNN__KERNEL(lanes_clear_sender)
/* d_v and d_k of sender j from the sums of its row, in b->y and b->p; `sum` is the pattern of the
 * row's sums of alpha S, times the slope where s <= 0. */
void finish_sender(const gnn__lanes_t *l, const lane_block_t *b, int64_t j, const gnn__vec_t *sum,
                   int width);
/* Gradients of a sender without receivers, where gradients are written and not added to. */
void clear_sender(const gnn__lanes_t *l, int64_t j);

/* ---- scores ---- */

/* Additive: score = q + k plus what the edges in slots at .. add; q is the pattern of the row's
 * own term. Elements after the last pair become minus infinity. With edge biases the scores are
 * final, and `edge` keeps them as they were before the slope. */
#define additive_scores GNN__KERNEL(lanes_additive_scores)
void additive_scores(const gnn__lanes_t *l, lane_block_t *b, const gnn__vec_t *q, int64_t at);

/* Dot and additive-v2: scores of the block's pairs from the row's key (or query) and the other
 * ends', minus infinity after the last pair. With own_value (not NULL) dY . v goes to `second`. */
#define pair_scores GNN__KERNEL(lanes_pair_scores)
void pair_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own_key,
                 const gnn__matrix_t *keys, const gnn_real_t *own_value, const gnn__matrix_t *values);

/* out = own . x per head for every pair of the block; rows x are laid out as values. */
#define value_products GNN__KERNEL(lanes_value_products)
void value_products(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                    const gnn__matrix_t *values, gnn_real_t *out);

/* ---- layout GNN__COLUMNS: one head of at most 16 elements (one_head.kernel.c) ---- */

#define column_scores GNN__KERNEL(lanes_column_scores)
#define column_gather GNN__KERNEL(lanes_column_gather)
#define column_above GNN__KERNEL(lanes_column_above)
#define column_both GNN__KERNEL(lanes_column_both)
#define column_reduce GNN__KERNEL(lanes_column_reduce)
#define column_spread GNN__KERNEL(lanes_column_spread)
#define column_prepare GNN__KERNEL(lanes_column_prepare)

GNN__INLINE bool in_columns(const gnn__lanes_t *l)
{
    return l->layout == GNN__COLUMNS;
}

/* Loads the block's columns; score = own_key with the pairs' keys (queries, where rows are
 * senders); with own_value (not NULL), second = own_value . values (dY, where rows are senders). */
void column_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own_key,
                   const gnn_real_t *own_value);
/* Loads the block's columns. */
#define column_load GNN__KERNEL(lanes_column_load)
void column_load(const gnn__lanes_t *l, const lane_block_t *b);
/* b->edge = features of the block's pairs times `one`, the row's own d_e elements, and, if `other`
 * is not NULL, b->weight = features times `other`. */
#define column_features GNN__KERNEL(lanes_column_features)
void column_features(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *one,
                     const gnn_real_t *other);
/* Per-lane sums: y (+)= weight x over the block, x being the pairs' keys or values; y += g where
 * own + key > 0. */
void column_gather(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *weight,
                   bool keys, bool fresh, gnn_real_t *y);
void column_above(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own);
/* Adds a block's gradients to both ends of its pairs (lane_backward.kernel.c): per-lane sums in y,
 * d_a in p, rows of d_senders. */
void column_both(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                 const gnn_real_t *dy, gnn_real_t *d_senders);
/* Additive-v2 with edge features, rows are receivers. Adds to the gradients of the features; to
 * d_weights (may be NULL), as 16 per-lane sums per element and without the factor a, those of the
 * projection; and where `keys_too`, to p those of a through the keys. */
#define column_edges GNN__KERNEL(lanes_column_edges)
void column_edges(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                  gnn_real_t *d_weights, bool keys_too);
/* Reduce per-lane sums to a row of n elements, and spread a row into lane 0 of each. */
void column_reduce(gnn_real_t *y, int64_t n);
void column_spread(gnn_real_t *y, int64_t n);
/* Writes the records of receivers i0 .. i1 - 1: log-sum-exp, S, query, dY. */
void column_prepare(const gnn__lanes_t *l, int64_t i0, int64_t i1);

#endif
