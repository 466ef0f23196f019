/* Edge features in the keys of additive-v2 scores, s = a . leaky(q_i + k_j + W e). The slope stands
 * between W and a, so that nothing folds: every pair has a row q_i + k_j + W e of its own. Forward
 * makes it in registers, some pairs at a time, and leaves nothing but the scores; backward keeps
 * the rows of one block. With g the gradient of a pair's score and z = g (1 or slope), number by
 * number,
 *
 *     d_e += W' (a z)      d_W = a R, R = sum of z e'      d_a = sum of z (q_i + k_j + W e)
 *
 * the last because leaky(x) = x leaky'(x). Both ends of a pair make the same numbers of it. */
#include <lib/kernels/attention/by_lane/edge_keys.h>

/* Features whose sums stay in registers; of sums over whole rows, as many as fill one register at
 * most. */
enum { AT_ONCE = 8, REDUCED = LANES < AT_ONCE ? LANES : AT_ONCE };

void edge_feature_rows(const gnn__lanes_t *l, const lane_block_t *b)
{
    const gnn__attention_t *a = l->a;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features;
    const int64_t edges = a->edges, at = b->at;
    const gnn_real_t **rows = b->features, *zeros = b->zeros;
    const int n = b->n;
    for (int e = 0; e < n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e);
        rows[e] = has_row(number, edges) ? gnn__matrix_row(&features, number) : zeros;
    }
    for (int e = n; e < BLOCK_PAIRS && e < n + LANES; e++)
        rows[e] = zeros;
}

void await_edge_features(const gnn__lanes_t *l, const lane_block_t *b)
{
    const gnn__matrix_t features = l->a->features;
    const gnn__pairs_t pairs = l->a->pairs;
    const int64_t last = last_place(&pairs), rows = l->a->edges;
    for (int64_t at = b->at + EDGE_AHEAD; at < b->at + b->n + EDGE_AHEAD && at <= last; at++)
        prefetch_row(&features, rows, gnn__pairs_edge(&pairs, at));
}

/* ---- scores ---- */

/* Pairs of a tile, and registers of their rows: what is summed up, weights and features fit the
 * register file. FEWEST: registers of every row. */
#if defined(__AVX512F__)
enum { TILE_PAIRS = 4 };
#else
enum { TILE_PAIRS = 2 };
#endif
enum { TILE = 4, FEWEST = LANES >= 16 ? 1 : LANES >= 8 ? 2 : 4 };

/* Registers c .. of the rows of a tile; `sum`: a pattern for each pair. */
GNN__INLINE void tile_section(const gnn__lanes_t *l, const gnn_real_t *const *key,
                              const gnn_real_t *const *features, const gnn_real_t *own, int64_t c,
                              gnn_real_t *kept, gnn__vec_t *sum, const int parts, const int registers)
{
    const int64_t numbers = l->row_numbers, d_e = l->a->d_e;
    const gnn_real_t *weights = l->edge_keys + c, slope = l->a->slope;
    gnn__vec_t x[TILE_PAIRS * TILE];
#pragma GCC unroll 4
    for (int p = 0; p < TILE_PAIRS; p++)
#pragma GCC unroll 4
        for (int v = 0; v < registers; v++)
            x[p * TILE + v] =
                gnn__vec_load(own + c + v * LANES) + gnn__vec_load(key[p] + c + v * LANES);
#pragma GCC unroll 1
    for (int64_t f = 0; f < d_e; f++, weights += numbers) {
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
                gnn__vec_store(kept + p * numbers + c + v * LANES, x[p * TILE + v]);
            *to = gnn__vec_add_bent(*to, x[p * TILE + v], above, below);
        }
    }
}

/* Products of tiles go into one register two by two, where two patterns fill it. */
GNN__INLINE void put_scores(const gnn__vec_t *sum, gnn_real_t *score, const int width)
{
    if (2 * width == LANES)
        for (int p = 0; p < TILE_PAIRS; p += 2)
            gnn__vec_store(score + p * width, gnn__vec_reduce_two(sum[p], sum[p + 1]));
    else
        for (int p = 0; p < TILE_PAIRS; p++)
            for (int u = 0; u < pattern_registers(width); u++)
                gnn__vec_put(score + p * width, gnn__vec_reduce(sum[p * PATTERN + u], width, false),
                             width, u);
}

GNN__INLINE void tile_scores(const gnn__lanes_t *l, const lane_block_t *block, const gnn_real_t *own,
                             const gnn__matrix_t *keys, const int width, const bool keep)
{
    const lane_block_t b = *block;
    const gnn__matrix_t from = *keys, edges = l->a->features;
    const gnn__pairs_t pairs = l->a->pairs;
    const int64_t numbers = l->row_numbers, last = last_place(&pairs), rows = l->a->edges;
    for (int e = 0; e < b.n; e += TILE_PAIRS) {
        const gnn_real_t *key[TILE_PAIRS], *features[TILE_PAIRS];
        gnn__vec_t sum[TILE_PAIRS * PATTERN];
        gnn_real_t *kept = keep ? b.rows + e * numbers : NULL;
        int64_t c = 0;
        for (int p = 0; p < TILE_PAIRS; p++) {
            const gnn_real_t *next = gnn__matrix_row(&from, b.other[e + p + AHEAD]);
            const int64_t ahead = b.at + e + p + EDGE_AHEAD;
            prefetch_row(&edges, rows, gnn__pairs_edge(&pairs, ahead < last ? ahead : last));
            for (int64_t x = 0; x < numbers; x += 64 / (int64_t)sizeof *next)
                __builtin_prefetch(next + x);
            key[p] = gnn__matrix_row(&from, b.other[e + p]);
            features[p] = b.features[e + p];
        }
        for (int u = 0; u < TILE_PAIRS * PATTERN; u++)
            sum[u] = gnn__vec_all(0);
        for (; c + TILE * LANES <= numbers; c += TILE * LANES)
            tile_section(l, key, features, own, c, kept, sum, pattern_registers(width), TILE);
        for (; c < numbers; c += FEWEST * LANES)
            tile_section(l, key, features, own, c, kept, sum, pattern_registers(width), FEWEST);
        put_scores(sum, b.score + e * width, width);
    }
}

#define TILE_SCORES(width)                                                                        \
    MADE tile_scores_##width(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own, \
                             const gnn__matrix_t *keys, const bool keep)                          \
    {                                                                                             \
        if (keep)                                                                                 \
            tile_scores(l, b, own, keys, width, true);                                            \
        else                                                                                      \
            tile_scores(l, b, own, keys, width, false);                                           \
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

/* ---- backward ---- */

/* What a pass over a block is for. */
typedef struct gains {
    const gnn_real_t *dy;
    gnn_real_t *d_weights, *d_senders; /* NULL: not wanted */
    bool bends;                        /* rows become z */
} gains_t;

/* Registers c .. of the rows; `count` features' sums go along. */
GNN__INLINE void gain_section(const gnn__lanes_t *l, const lane_block_t *block,
                              const gains_t *gains, int64_t c, const int width, const int registers,
                              const int count, const bool senders)
{
    const lane_block_t b = *block;
    const int64_t numbers = l->row_numbers;
    const gnn__matrix_t to_senders = {gains->d_senders, l->sender_numbers};
    const gnn_real_t slope = l->a->slope;
    const bool bends = gains->bends;
    gnn_real_t *row = b.rows + c, *to_weights = count > 0 ? gains->d_weights + c : NULL;
    const gnn__vec_t zero = {0};
    gnn__vec_t a[2], grad[2], d[2], p[2], sum[2 * AT_ONCE];
#pragma GCC unroll 2
    for (int v = 0; v < registers; v++) {
        const int64_t x = c + v * LANES;
        d[v] = gnn__vec_load(b.y + x);
        p[v] = gnn__vec_load(b.p + x);
        if (senders) {
            a[v] = gnn__vec_load(l->weights + x);
            grad[v] = gnn__vec_load(gains->dy + x);
        }
#pragma GCC unroll 8
        for (int r = 0; r < count; r++)
            sum[2 * r + v] = gnn__vec_load(to_weights + r * numbers + v * LANES);
    }
#pragma GCC unroll 1
    for (int e = 0; e < b.n; e++, row += numbers) {
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
            z[v] = gnn__vec_bend(x, zero, g, slope * g);
            d[v] = gnn__vec_add_above(d[v], x, zero, g);
            p[v] += z[v] * x;
            if (bends)
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
            gnn__vec_store(to_weights + r * numbers + v * LANES, sum[2 * r + v]);
    }
}

/* Registers at a time: as many as fit the register file with eight sums each. */
enum { SOME = LANES >= 16 ? 2 : 1 };

GNN__INLINE void gain_sections(const gnn__lanes_t *l, const lane_block_t *b, const gains_t *gains,
                               const int width, const int count, const bool senders)
{
    int64_t c = 0;
    for (; c + SOME * LANES <= l->row_numbers; c += SOME * LANES)
        gain_section(l, b, gains, c, width, SOME, count, senders);
    for (; c < l->row_numbers; c += LANES)
        gain_section(l, b, gains, c, width, 1, count, senders);
}

#define GAIN(width)                                                                       \
    MADE gain_##width(const gnn__lanes_t *l, const lane_block_t *b, const gains_t *gains) \
    {                                                                                     \
        const bool sums = gains->d_weights && l->a->d_e >= AT_ONCE;                       \
        if (BOTH_ENDS && width == HEADS && gains->d_senders && sums)                      \
            gain_sections(l, b, gains, width, AT_ONCE, true);                             \
        else if (BOTH_ENDS && width == HEADS && gains->d_senders)                         \
            gain_sections(l, b, gains, width, 0, true);                                   \
        else if (sums)                                                                    \
            gain_sections(l, b, gains, width, AT_ONCE, false);                            \
        else                                                                              \
            gain_sections(l, b, gains, width, 0, false);                                  \
    }
FOR_WIDTHS(GAIN)

/* Numbers c .. of `count` rows of d_weights, from feature f on. */
GNN__INLINE void weight_section(const gnn__lanes_t *l, const lane_block_t *b, int64_t c, int64_t f,
                                gnn_real_t *d_weights, const int count)
{
    const int64_t numbers = l->row_numbers;
    const gnn_real_t *row = b->rows + c, **rows = b->features;
    const int n = b->n;
    gnn_real_t *to = d_weights + f * numbers + c;
    gnn__vec_t sum[AT_ONCE];
#pragma GCC unroll 8
    for (int r = 0; r < count; r++)
        sum[r] = gnn__vec_load(to + r * numbers);
    for (int e = 0; e < n; e++, row += numbers) {
        const gnn_real_t *features = rows[e] + f;
        const gnn__vec_t z = gnn__vec_load(row);
#pragma GCC unroll 8
        for (int r = 0; r < count; r++)
            sum[r] += features[r] * z;
    }
#pragma GCC unroll 8
    for (int r = 0; r < count; r++)
        gnn__vec_store(to + r * numbers, sum[r]);
}

/* Of the features from f on. */
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

/* Features f .. f + count - 1 of one edge: products of a z, which is in `row`, with the weights. */
GNN__INLINE void edge_section(const gnn__lanes_t *l, const gnn_real_t *row, int64_t f,
                              const int count, gnn_real_t *d)
{
    const int64_t numbers = l->row_numbers;
    const gnn_real_t *weights = l->edge_keys + f * numbers;
    gnn__vec_t sum[REDUCED] = {{0}};
    gnn_real_t all[LANES];
    for (int64_t c = 0; c < numbers; c += LANES) {
        const gnn__vec_t z = gnn__vec_load(row + c) * gnn__vec_load(l->weights + c);
        for (int r = 0; r < count; r++)
            sum[r] += z * gnn__vec_load(weights + r * numbers + c);
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
        const int64_t number = gnn__pairs_edge(&a->pairs, b->at + e);
        int64_t f = 0;
        if (!has_row(number, a->edges))
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.features, number);
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
    const gains_t gains = {dy, d_weights, d_senders, features || rest};
    BY_WIDTH(l->width, gain, l, b, &gains);
    if (rest)
        weight_sums(l, b, done, d_weights);
    if (features)
        edge_grads_of_rows(l, b);
}
