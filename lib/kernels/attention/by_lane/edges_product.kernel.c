/* Edge features in dot scores (keys and values) and in additive-v2 scores (keys).
 *
 * Dot scores are linear in the key, so features are never multiplied out per edge:
 *
 *     q_i . (k_j + W e) = q_i . k_j + (W' q_i) . e
 *     sum of alpha (v_j + W e) = sum of alpha v_j + W sum of alpha e
 *
 * A receiver has one projection W' q_i (d_e x width), and a pair costs d_e multiply-adds per head:
 *
 *     add_edge_rows     score += (W' q_i) . e           second += (W' dY_i) . e in backward
 *     feature_sums      sum of alpha e per receiver     (edges_additive.kernel.c)
 *     spread_sums       y += W (sum of alpha e)
 *
 * Backward, with g and alpha' (after dropout) of every pair, and dY_i . (v_j + W e) likewise:
 *
 *     d_q_i += W sum of g e
 *     d_Wk = sum over i of q_i (sum of g e)'       d_Wv = sum over i of dY_i (sum of alpha' e)'
 *     d_e = (W' q_i) g + (W' dY_i) alpha'
 *
 * Additive-v2 scores s = a . leaky(q_i + k_j + W e) have the slope between W and a, so every pair
 * needs its row x = q_i + k_j + W e. Forward makes it in registers, a tile of pairs at a time, and
 * keeps the scores alone; backward keeps the rows of one block in cache:
 *
 *     tile of TILE_PAIRS pairs        feature 0   feature 1  ..
 *     x[pair][register]  = q + k      += e0 w0    += e1 w1    then a . leaky(x), reduced per head
 *
 * With g the gradient of a pair's score and z = g (1 or slope) elementwise
 *
 *     d_e += W' (a z)      d_W = a R, R = sum of z e'      d_a = sum of z x
 *
 * the last because leaky(x) = x leaky'(x). Both ends of a pair compute the same values. */
#include <lib/kernels/attention/by_lane/lane_block.h>
#include <lib/kernels/attention/by_lane/edge_inputs.h>

/* Projections that meet features: those of the row's own node, or (own NULL) of each pair's other
 * end. */
typedef struct projections {
    gnn__matrix_t rows;
    const gnn_real_t *own;
} projections_t;

static projections_t projections_of(const gnn__lanes_t *l, const gnn__matrix_t *rows, int64_t node)
{
    return (projections_t){*rows, l->a->transposed ? NULL : gnn__matrix_row(rows, node)};
}

/* The projections of pair e; prefetches those of a later pair. */
GNN__INLINE const gnn_real_t *projections_at(const projections_t *p, const lane_block_t *b, int e,
                                             int64_t elements)
{
    if (p->own)
        return p->own;
    for (int64_t x = 0; x < elements; x += 64 / (int64_t)sizeof *p->own)
        __builtin_prefetch(gnn__matrix_row(&p->rows, b->other[e + AHEAD]) + x);
    return gnn__matrix_row(&p->rows, b->other[e]);
}

GNN__INLINE void store_products(const gnn_real_t *x, const gnn_real_t *weights, int64_t d_e,
                                gnn_real_t *out, const int width)
{
    gnn__vec_t sum[PATTERN];
    fill_pattern(sum, 0);
#pragma GCC unroll 8
    for (int64_t f = 0; x && f < d_e; f++)
        for (int u = 0; u < pattern_registers(width); u++)
            sum[u] += x[f] * gnn__vec_load(weights + f * width + u * LANES);
    for (int u = 0; u < pattern_registers(width); u++)
        gnn__vec_store(out + u * LANES, sum[u]);
}

/* Eight features and eight heads. */
enum { EIGHT = 8, EIGHT_ROWS = EIGHT * HEADS / LANES, IN_HALVES = LANES == 2 * HEADS };

static bool is_8x8(const gnn__lanes_t *l)
{
    return (IN_HALVES || LANES == HEADS) && l->width == HEADS && l->a->d_e == EIGHT;
}

/* Features x times their weights. */
GNN__INLINE gnn__vec_t eight_product(const gnn_real_t *x, const gnn__vec_t *weights,
                                     gnn__vec_bits_t feature)
{
    gnn__vec_t sum = gnn__vec_all(0);
    if (IN_HALVES) { /* two features per register */
        const gnn__vec_t pattern = gnn__vec_pattern(x, HEADS, 0);
#pragma GCC unroll 4
        for (int v = 0; v < EIGHT_ROWS; v++)
            sum += gnn__vec_spread(pattern, feature + 2 * v) * weights[v];
    } else
#pragma GCC unroll 8
        for (int v = 0; v < EIGHT_ROWS; v++)
            sum += x[v] * weights[v];
    return sum;
}

/* out = features of the block's pairs times projections. `own`: these are the row's and stay in
 * registers. */
GNN__INLINE void eight_products(const lane_block_t *b, const projections_t *projections,
                                gnn_real_t *out, const bool own)
{
    const projections_t p = *projections;
    const gnn_real_t **rows = b->features;
    const int n = b->n;
    gnn__vec_t weights[EIGHT_ROWS];
    gnn__vec_bits_t feature;
    for (int lane = 0; lane < LANES; lane++)
        feature[lane] = lane / HEADS;
#pragma GCC unroll 8
    for (int v = 0; own && v < EIGHT_ROWS; v++)
        weights[v] = gnn__vec_load(p.own + v * LANES);
#pragma GCC unroll 1
    for (int e = 0; e < n; e += 2) {
        gnn__vec_t sum[2];
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            if (!own) {
                const gnn_real_t *from = projections_at(&p, b, e + k, EIGHT * HEADS);
#pragma GCC unroll 8
                for (int v = 0; v < EIGHT_ROWS; v++)
                    weights[v] = gnn__vec_load(from + v * LANES);
            }
            sum[k] = eight_product(rows[e + k], weights, feature);
        }
        if (IN_HALVES)
            gnn__vec_store(out + e * HEADS, gnn__vec_reduce_two(sum[0], sum[1]));
        else
            for (int k = 0; k < 2; k++)
                gnn__vec_store(out + (e + k) * HEADS, sum[k]);
    }
    for (int x = n * HEADS; x < padded(n * HEADS); x++)
        out[x] = 0;
}

static __attribute__((noinline)) void own_products(const lane_block_t *b, const projections_t *p,
                                                   gnn_real_t *out)
{
    eight_products(b, p, out, true);
}

static __attribute__((noinline)) void others_products(const lane_block_t *b, const projections_t *p,
                                                      gnn_real_t *out)
{
    eight_products(b, p, out, false);
}

/* b->edge = features times the projections `one`, and with `two` b->weight = features times
 * `other`. known: d_e as a constant; 0: any. */
GNN__INLINE void edge_products(const gnn__lanes_t *l, const lane_block_t *block, int64_t at,
                               const projections_t *one, const projections_t *other,
                               const int width, const bool two, const int known)
{
    const gnn__attention_t *a = l->a;
    const lane_block_t b = *block;
    const projections_t first = *one, second = *other;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features;
    const int64_t last = last_slot(&pairs), edges = a->edges, d_e = known ? known : a->d_e;
    for (int e = 0; e < b.n; e++) {
        const int64_t id = gnn__pairs_edge(&pairs, at + e),
                      ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last;
        const gnn_real_t *x = has_row(id, edges) ? gnn__matrix_row(&features, id) : NULL;
        prefetch_row(&features, edges, gnn__pairs_edge(&pairs, ahead));
        store_products(x, projections_at(&first, &b, e, d_e * width), d_e, b.edge + e * width, width);
        if (two)
            store_products(x, projections_at(&second, &b, e, d_e * width), d_e,
                           b.weight + e * width, width);
    }
    for (int x = b.n * width; x < padded(b.n * width); x++)
        b.edge[x] = b.weight[x] = 0;
}

#define EDGE_PRODUCTS(width)                                                                  \
    PER_WIDTH edge_products_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, \
                                    const projections_t *one, const projections_t *other)     \
    {                                                                                         \
        const bool eight = l->a->d_e == 8;                                                    \
        if (other && eight)                                                                   \
            edge_products(l, b, at, one, other, width, true, 8);                              \
        else if (other)                                                                       \
            edge_products(l, b, at, one, other, width, true, 0);                              \
        else if (eight)                                                                       \
            edge_products(l, b, at, one, one, width, false, 8);                               \
        else                                                                                  \
            edge_products(l, b, at, one, one, width, false, 0);                               \
    }
FOR_WIDTHS(EDGE_PRODUCTS)

/* to += factor * x, pairs x width. */
static void add_scaled(const gnn__lanes_t *l, const lane_block_t *b, gnn_real_t factor,
                       const gnn_real_t *x, gnn_real_t *to)
{
    for (int k = 0; k < padded(b->n * l->width); k += LANES)
        gnn__vec_store(to + k, gnn__vec_load(to + k) + factor * gnn__vec_load(x + k));
}

void add_edge_rows(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, int64_t node,
                   bool backward)
{
    const bool keys = l->key_rows != NULL, values = backward && l->value_rows;
    projections_t of_keys, of_values;
    void (*products)(const lane_block_t *, const projections_t *, gnn_real_t *) =
        l->a->transposed ? others_products : own_products;
    if (keys)
        of_keys = projections_of(l, &l->edge_queries, node);
    if (values)
        of_values = projections_of(l, &l->edge_outputs, node);
    if ((keys || values) && in_columns(l) && !l->a->transposed)
        column_features(l, b, keys ? of_keys.own : of_values.own,
                        keys && values ? of_values.own : NULL);
    else if ((keys || values) && is_8x8(l)) {
        prefetch_edge_features(l, b);
        edge_feature_rows(l, b);
        products(b, keys ? &of_keys : &of_values, b->edge);
        if (keys && values)
            products(b, &of_values, b->weight);
    } else if (keys || values)
        BY_WIDTH(l->width, edge_products, l, b, at, keys ? &of_keys : &of_values,
                 keys && values ? &of_values : NULL);
    if (keys)
        add_scaled(l, b, l->a->scale, b->edge, b->score);
    if (values)
        add_scaled(l, b, 1, keys ? b->weight : b->edge, b->second);
}

/* For each feature f: y + f * y_step (`elements` elements) += sums, a pattern, times x + f *
 * x_step. */
static void add_by_sums(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x,
                        int64_t x_step, int64_t elements, gnn_real_t *y, int64_t y_step)
{
    const int parts = pattern_registers(l->width);
    for (int64_t f = 0; f < l->a->d_e; f++, x += x_step, y += y_step, sums += TERM_ROW) {
        gnn__vec_t by[PATTERN];
        read_pattern(sums, by, l->width);
        for (int64_t c = 0; c < elements; c += LANES)
            gnn__vec_store(y + c,
                           gnn__vec_load(y + c) + by[c / LANES % parts] * gnn__vec_load(x + c));
    }
}

/* The same for one head of d elements, `step` apart in `to`. */
static void add_narrow(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x,
                       int64_t x_row, int64_t d, gnn_real_t *to, int64_t to_row, int64_t step)
{
    for (int64_t f = 0; f < l->a->d_e; f++)
        for (int64_t c = 0; c < d; c++)
            to[f * to_row + c * step] += sums[f * TERM_ROW] * x[f * x_row + c];
}

/* In columns lane 0 of the per-lane sums receives it. */
void spread_sums(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *rows,
                 int64_t elements, gnn_real_t *y)
{
    if (in_columns(l)) {
        add_narrow(l, sums, rows, elements, elements / 16, y, 0, 16);
        return;
    }
    add_by_sums(l, sums, rows, elements, elements, y, 0);
}

void add_outer(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x, int64_t elements,
               gnn_real_t *d)
{
    if (in_columns(l)) {
        add_narrow(l, sums, x, 0, elements / 16, d, elements, 1);
        return;
    }
    add_by_sums(l, sums, x, 0, elements, d, elements);
}

void edge_row_grads(const gnn__lanes_t *l, const lane_block_t *b, const edges_t *edges, int64_t i)
{
    if (l->key_rows)
        feature_grads(l, edges, gnn__matrix_row(&l->edge_queries, i), l->width, b->second);
    if (l->value_rows)
        feature_grads(l, edges, gnn__matrix_row(&l->edge_outputs, i), l->width, b->weight);
}

/* ---- features in the keys of additive-v2 scores ---- */

/* Features whose sums stay in registers; of those that are reduced together, at most as many as a
 * register has lanes. */
enum { AT_ONCE = 8, REDUCED = LANES < AT_ONCE ? LANES : AT_ONCE };

/* Pairs of a tile, and registers of their rows: sums, weights and features fit the register file.
 * FEWEST: every row is a multiple of this many registers. */
#if defined(__AVX512F__)
enum { TILE_PAIRS = 4 };
#else
enum { TILE_PAIRS = 2 };
#endif
enum { TILE = 4, FEWEST = LANES < 4 ? 4 : 16 / LANES };

/* Registers c .. of the rows of a tile. sum: a pattern per pair. kept (NULL: not kept): the rows
 * are stored there. */
GNN__INLINE void tile_section(const gnn__lanes_t *l, const gnn_real_t *const *key,
                              const gnn_real_t *const *features, const gnn_real_t *own, int64_t c,
                              gnn_real_t *kept, gnn__vec_t *sum, const int parts, const int registers)
{
    const int64_t elements = l->row_numbers, d_e = l->a->d_e;
    const gnn_real_t *weights = l->edge_keys + c, slope = l->a->slope;
    gnn__vec_t x[TILE_PAIRS * TILE];
#pragma GCC unroll 4
    for (int p = 0; p < TILE_PAIRS; p++)
#pragma GCC unroll 4
        for (int v = 0; v < registers; v++)
            x[p * TILE + v] =
                gnn__vec_load(own + c + v * LANES) + gnn__vec_load(key[p] + c + v * LANES);
#pragma GCC unroll 1
    for (int64_t f = 0; f < d_e; f++, weights += elements) {
        gnn__vec_t w[TILE];
#pragma GCC unroll 4
        for (int v = 0; v < registers; v++)
            w[v] = gnn__vec_load(weights + v * LANES);
#pragma GCC unroll 4
        for (int p = 0; p < TILE_PAIRS; p++) {
            const gnn__vec_t by = gnn__vec_all(features[p][f]);
#pragma GCC unroll 4
            for (int v = 0; v < registers; v++)
                x[p * TILE + v] += by * w[v];
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < registers; v++) {
        const gnn__vec_t above = gnn__vec_load(l->weights + c + v * LANES), below = slope * above;
#pragma GCC unroll 4
        for (int p = 0; p < TILE_PAIRS; p++) {
            gnn__vec_t *to = sum + p * PATTERN + v % parts;
            if (kept)
                gnn__vec_store(kept + p * elements + c + v * LANES, x[p * TILE + v]);
            *to = gnn__vec_add_leaky(*to, x[p * TILE + v], above, below);
        }
    }
}

/* Reduces the tile's products per head; two patterns that fill a register are reduced together. */
GNN__INLINE void store_scores(const gnn__vec_t *sum, gnn_real_t *score, const int width)
{
    if (2 * width == LANES)
        for (int p = 0; p < TILE_PAIRS; p += 2)
            gnn__vec_store(score + p * width, gnn__vec_reduce_two(sum[p], sum[p + 1]));
    else
        for (int p = 0; p < TILE_PAIRS; p++)
            for (int u = 0; u < pattern_registers(width); u++)
                gnn__vec_store_pattern(score + p * width,
                                       gnn__vec_reduce(sum[p * PATTERN + u], width, false), width, u);
}

GNN__INLINE void tile_scores(const gnn__lanes_t *l, const lane_block_t *block, const gnn_real_t *own,
                             const gnn__matrix_t *keys, const int width, const bool keep)
{
    const lane_block_t b = *block;
    const gnn__matrix_t from = *keys, edges = l->a->features;
    const gnn__pairs_t pairs = l->a->pairs;
    const int64_t elements = l->row_numbers, last = last_slot(&pairs), rows = l->a->edges;
    for (int e = 0; e < b.n; e += TILE_PAIRS) {
        const gnn_real_t *key[TILE_PAIRS], *features[TILE_PAIRS];
        gnn__vec_t sum[TILE_PAIRS * PATTERN];
        gnn_real_t *kept = keep ? b.rows + e * elements : NULL;
        int64_t c = 0;
        for (int p = 0; p < TILE_PAIRS; p++) {
            const gnn_real_t *next = gnn__matrix_row(&from, b.other[e + p + AHEAD]);
            const int64_t ahead = b.at + e + p + EDGE_AHEAD;
            prefetch_row(&edges, rows, gnn__pairs_edge(&pairs, ahead < last ? ahead : last));
            for (int64_t x = 0; x < elements; x += 64 / (int64_t)sizeof *next)
                __builtin_prefetch(next + x);
            key[p] = gnn__matrix_row(&from, b.other[e + p]);
            features[p] = b.features[e + p];
        }
        for (int u = 0; u < TILE_PAIRS * PATTERN; u++)
            sum[u] = gnn__vec_all(0);
        for (; c + TILE * LANES <= elements; c += TILE * LANES)
            tile_section(l, key, features, own, c, kept, sum, pattern_registers(width), TILE);
        for (; c < elements; c += FEWEST * LANES)
            tile_section(l, key, features, own, c, kept, sum, pattern_registers(width), FEWEST);
        store_scores(sum, b.score + e * width, width);
    }
}

#define TILE_SCORES(width)                                                                           \
    PER_WIDTH tile_scores_##width(const gnn__lanes_t *l, const lane_block_t *b,                      \
                                  const gnn_real_t *own, const gnn__matrix_t *keys, const bool keep) \
    {                                                                                                \
        if (keep)                                                                                    \
            tile_scores(l, b, own, keys, width, true);                                               \
        else                                                                                         \
            tile_scores(l, b, own, keys, width, false);                                              \
    }
FOR_WIDTHS(TILE_SCORES)

void edge_key_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                     const gnn__matrix_t *keys, bool keep)
{
    edge_feature_rows(l, b);
    BY_WIDTH(l->width, tile_scores, l, b, own, keys, keep);
    for (int x = b->n * l->width; x < padded(b->n * l->width); x++)
        b->score[x] = -INFINITY;
}

/* Targets of one backward pass over a block. */
typedef struct targets {
    const gnn_real_t *dy;
    gnn_real_t *d_weights, *d_senders; /* NULL: not wanted */
    bool replaces_rows;                /* rows are replaced by z */
} block_targets_t;

/* Registers c .. of the block's rows: adds to y, p and, where wanted, to senders and to the sums of
 * `count` features. */
GNN__INLINE void gain_section(const gnn__lanes_t *l, const lane_block_t *block,
                              const block_targets_t *targets, int64_t c, const int width,
                              const int registers, const int count, const bool senders)
{
    const lane_block_t b = *block;
    const int64_t elements = l->row_numbers;
    const gnn__matrix_t to_senders = {targets->d_senders, l->sender_numbers};
    const gnn_real_t slope = l->a->slope;
    const bool replaces_rows = targets->replaces_rows;
    gnn_real_t *row = b.rows + c, *to_weights = count > 0 ? targets->d_weights + c : NULL;
    const gnn__vec_t zero = {0};
    gnn__vec_t a[2], grad[2], d[2], p[2], sum[2 * AT_ONCE];
#pragma GCC unroll 2
    for (int v = 0; v < registers; v++) {
        const int64_t x = c + v * LANES;
        d[v] = gnn__vec_load(b.y + x);
        p[v] = gnn__vec_load(b.p + x);
        if (senders) {
            a[v] = gnn__vec_load(l->weights + x);
            grad[v] = gnn__vec_load(targets->dy + x);
        }
#pragma GCC unroll 8
        for (int r = 0; r < count; r++)
            sum[2 * r + v] = gnn__vec_load(to_weights + r * elements + v * LANES);
    }
#pragma GCC unroll 1
    for (int e = 0; e < b.n; e++, row += elements) {
        const gnn_real_t *features = b.features[e];
        gnn_real_t *to = NULL;
        gnn__vec_t z[2];
        if (senders) {
            to = gnn__matrix_row(&to_senders, b.other[e]) + c;
            const gnn_real_t *next = gnn__matrix_row(&to_senders, b.other[e + AHEAD]) + c;
            for (int byte = 0; byte < registers * GNN__VEC_BYTES; byte += 64)
                __builtin_prefetch((const char *)next + byte);
        }
#pragma GCC unroll 2
        for (int v = 0; v < registers; v++) {
            const int part = (int)(c / LANES) + v;
            const gnn__vec_t x = gnn__vec_load(row + v * LANES),
                             g = gnn__vec_pattern(b.second + e * width, width, part);
            z[v] = gnn__vec_select_above(x, zero, g, slope * g);
            d[v] = gnn__vec_add_above(d[v], x, zero, g);
            p[v] += z[v] * x;
            if (replaces_rows)
                gnn__vec_store(row + v * LANES, z[v]);
            if (senders)
                gnn__vec_store(to + v * LANES,
                               gnn__vec_load(to + v * LANES) +
                                   gnn__vec_pattern(b.weight + e * width, width, part) * grad[v] +
                                   z[v] * a[v]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < count; r++)
#pragma GCC unroll 2
            for (int v = 0; v < registers; v++)
                sum[2 * r + v] += features[r] * z[v];
    }
#pragma GCC unroll 2
    for (int v = 0; v < registers; v++) {
        gnn__vec_store(b.y + c + v * LANES, d[v]);
        gnn__vec_store(b.p + c + v * LANES, p[v]);
#pragma GCC unroll 8
        for (int r = 0; r < count; r++)
            gnn__vec_store(to_weights + r * elements + v * LANES, sum[2 * r + v]);
    }
}

/* Registers at a time: as many as the register file holds with eight sums each. */
enum { SOME = LANES >= 16 ? 2 : 1 };

GNN__INLINE void gain_sections(const gnn__lanes_t *l, const lane_block_t *b,
                               const block_targets_t *targets, const int width, const int count,
                               const bool senders)
{
    int64_t c = 0;
    for (; c + SOME * LANES <= l->row_numbers; c += SOME * LANES)
        gain_section(l, b, targets, c, width, SOME, count, senders);
    for (; c < l->row_numbers; c += LANES)
        gain_section(l, b, targets, c, width, 1, count, senders);
}

#define GAIN(width)                                                      \
    PER_WIDTH gain_##width(const gnn__lanes_t *l, const lane_block_t *b, \
                           const block_targets_t *targets)               \
    {                                                                    \
        const bool sums = targets->d_weights && l->a->d_e >= AT_ONCE;    \
        if (BOTH_ENDS && width == HEADS && targets->d_senders && sums)   \
            gain_sections(l, b, targets, width, AT_ONCE, true);          \
        else if (BOTH_ENDS && width == HEADS && targets->d_senders)      \
            gain_sections(l, b, targets, width, 0, true);                \
        else if (sums)                                                   \
            gain_sections(l, b, targets, width, AT_ONCE, false);         \
        else                                                             \
            gain_sections(l, b, targets, width, 0, false);               \
    }
FOR_WIDTHS(GAIN)

/* Elements c .. c + LANES - 1 of `count` rows of d_weights, from feature f on. */
GNN__INLINE void weight_section(const gnn__lanes_t *l, const lane_block_t *b, int64_t c, int64_t f,
                                gnn_real_t *d_weights, const int count)
{
    const int64_t elements = l->row_numbers;
    const gnn_real_t *row = b->rows + c, **rows = b->features;
    const int n = b->n;
    gnn_real_t *to = d_weights + f * elements + c;
    gnn__vec_t sum[AT_ONCE];
#pragma GCC unroll 8
    for (int r = 0; r < count; r++)
        sum[r] = gnn__vec_load(to + r * elements);
    for (int e = 0; e < n; e++, row += elements) {
        const gnn_real_t *features = rows[e] + f;
        const gnn__vec_t z = gnn__vec_load(row);
#pragma GCC unroll 8
        for (int r = 0; r < count; r++)
            sum[r] += features[r] * z;
    }
#pragma GCC unroll 8
    for (int r = 0; r < count; r++)
        gnn__vec_store(to + r * elements, sum[r]);
}

/* d_weights for the features from f on. */
static void weight_sums(const gnn__lanes_t *l, const lane_block_t *b, int64_t first,
                        gnn_real_t *d_weights)
{
    const int64_t d_e = l->a->d_e;
    for (int64_t c = 0; c < l->row_numbers; c += LANES) {
        int64_t f = first;
        for (; f + AT_ONCE <= d_e; f += AT_ONCE)
            weight_section(l, b, c, f, d_weights, AT_ONCE);
        for (; f + 4 <= d_e; f += 4)
            weight_section(l, b, c, f, d_weights, 4);
        for (; f + 2 <= d_e; f += 2)
            weight_section(l, b, c, f, d_weights, 2);
        if (f < d_e)
            weight_section(l, b, c, f, d_weights, 1);
    }
}

/* d[f .. f + count - 1] of one edge += a z, in `row`, times the weights. */
GNN__INLINE void edge_section(const gnn__lanes_t *l, const gnn_real_t *row, int64_t f,
                              const int count, gnn_real_t *d)
{
    const int64_t elements = l->row_numbers;
    const gnn_real_t *weights = l->edge_keys + f * elements;
    gnn__vec_t sum[REDUCED] = {{0}};
    gnn_real_t all[LANES];
    for (int64_t c = 0; c < elements; c += LANES) {
        const gnn__vec_t z = gnn__vec_load(row + c) * gnn__vec_load(l->weights + c);
        for (int r = 0; r < count; r++)
            sum[r] += z * gnn__vec_load(weights + r * elements + c);
    }
    gnn__vec_store(all, shared_reduce(sum, LANES, REDUCED));
    for (int r = 0; r < count; r++)
        d[f + r] += all[r];
}

static void edge_grads_of_rows(const gnn__lanes_t *l, const lane_block_t *b)
{
    const gnn__attention_t *a = l->a;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *row = b->rows + e * l->row_numbers;
        const int64_t id = gnn__pairs_edge(&a->pairs, b->at + e);
        int64_t f = 0;
        if (!has_row(id, a->edges))
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.features, id);
        for (; f + REDUCED <= a->d_e; f += REDUCED)
            edge_section(l, row, f, REDUCED, d);
        for (; f < a->d_e; f++)
            edge_section(l, row, f, 1, d);
    }
}

void edge_key_block(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *dy,
                    gnn_real_t *d_weights, gnn_real_t *d_senders)
{
    const gnn__attention_t *a = l->a;
    const int64_t done = a->d_e >= AT_ONCE ? AT_ONCE : 0;
    const bool features = a->grad.features.at && !a->transposed, rest = d_weights && done < a->d_e;
    const block_targets_t targets = {dy, d_weights, d_senders, features || rest};
    BY_WIDTH(l->width, gain, l, b, &targets);
    if (rest)
        weight_sums(l, b, done, d_weights);
    if (features)
        edge_grads_of_rows(l, b);
}
