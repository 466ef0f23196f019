/* Edge features in the keys of additive-v2 scores, s = a . leaky(q_i + k_j + W e). The slope stands
 * between W and a, so that nothing folds: every pair has a row k_j + W e of its own. Rows of one
 * block are made when they are needed, in a matrix that stays in a cache; kernels of pairs read
 * them in place of keys. With g the gradient of a pair's score and z = g (1 or slope), number by
 * number,
 *
 *     d_e += W' (a z)      d_W = a R, R = sum of z e'      d_a += sum over features of W R
 *
 * the last because leaky(x) = x leaky'(x): the parts of q_i and k_j are added up elsewhere. */
#include <lib/kernels/attention/by_lane/edge_keys.h>

/* Features that are multiplied at once; of sums over whole rows, as many as fill one register at
 * most. */
enum { AT_ONCE = 8, REDUCED = LANES < AT_ONCE ? LANES : AT_ONCE };

/* b->features: rows of features of the block's pairs; NULL: a pair has none. */
static void find_features(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    const gnn__attention_t *a = l->a;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features;
    const int64_t last = last_place(&pairs), edges = a->edges;
    const gnn_real_t **rows = b->features;
    const int n = b->n;
    for (int e = 0; e < n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e),
                      ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last;
        prefetch_row(&features, edges, gnn__pairs_edge(&pairs, ahead));
        rows[e] = has_row(number, edges) ? gnn__matrix_row(&features, number) : NULL;
    }
}

/* ---- forward ---- */

/* Numbers c .. of the rows of pairs e0 .. e1 - 1: `count` features from f on join. */
GNN__INLINE void key_section(const gnn__lanes_t *l, const lane_block_t *block,
                             const gnn__matrix_t *keys, int e0, int e1, int64_t c, int64_t f,
                             const int count)
{
    const lane_block_t b = *block;
    const gnn__matrix_t from = *keys;
    const int64_t numbers = l->row_numbers;
    gnn_real_t *row = b.rows + e0 * numbers + c;
    gnn__vec_t weights[AT_ONCE];
    for (int r = 0; r < count; r++)
        weights[r] = gnn__vec_load(l->edge_keys + (f + r) * numbers + c);
    for (int e = e0; e < e1; e++, row += numbers) {
        const gnn_real_t *features = b.features[e];
        gnn__vec_t sum =
            gnn__vec_load(f == 0 ? gnn__matrix_row(&from, b.other[e]) + c : (const gnn_real_t *)row);
        if (features)
            for (int r = 0; r < count; r++)
                sum += features[f + r] * weights[r];
        gnn__vec_store(row, sum);
    }
}

/* Pairs whose keys, and the rows that are made of them, stay in the nearest cache. */
enum { PAIRS_AT_ONCE = 32 };

static void await_keys(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *keys,
                       int e0, int e1)
{
    for (int e = e0; e < e1; e++)
        for (int64_t x = 0; x < l->row_numbers; x += 64 / (int64_t)sizeof *keys->at)
            __builtin_prefetch(gnn__matrix_row(keys, b->other[e]) + x);
}

void edge_key_rows(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *keys, int64_t at)
{
    const int64_t d_e = l->a->d_e;
    await_keys(l, b, keys, 0, b->n < PAIRS_AT_ONCE ? b->n : PAIRS_AT_ONCE);
    find_features(l, b, at);
    for (int e0 = 0, e1; e0 < b->n; e0 = e1) {
        e1 = b->n < e0 + PAIRS_AT_ONCE ? b->n : e0 + PAIRS_AT_ONCE;
        await_keys(l, b, keys, e1, b->n < e1 + PAIRS_AT_ONCE ? b->n : e1 + PAIRS_AT_ONCE);
        for (int64_t c = 0; c < l->row_numbers; c += LANES) {
            int64_t f = 0;
            for (; f + AT_ONCE <= d_e; f += AT_ONCE)
                key_section(l, b, keys, e0, e1, c, f, AT_ONCE);
            for (; f < d_e; f++)
                key_section(l, b, keys, e0, e1, c, f, 1);
        }
    }
}

/* ---- backward ---- */

/* b->rows = z. */
GNN__INLINE void bend_rows(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                           const int width)
{
    const gnn_real_t slope = l->a->slope, *second = b->second;
    const int64_t numbers = l->row_numbers;
    const int n = b->n;
    gnn_real_t *row = b->rows;
    for (int e = 0; e < n; e++, row += numbers)
        for (int64_t c = 0; c < numbers; c += LANES) {
            const gnn__vec_t g = gnn__vec_pattern(second + e * width, width, (int)(c / LANES)),
                             sum = gnn__vec_load(own + c) + gnn__vec_load(row + c);
            gnn__vec_store(row + c, gnn__vec_select(sum > 0, g, slope * g));
        }
}

#define BEND_ROWS(width)                                                                        \
    MADE bend_rows_##width(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own) \
    {                                                                                           \
        bend_rows(l, b, own, width);                                                            \
    }
FOR_WIDTHS(BEND_ROWS)

/* Numbers c .. of `count` rows of d_weights, from feature f on. */
GNN__INLINE void weight_section(const gnn__lanes_t *l, const lane_block_t *b, int64_t c, int64_t f,
                                gnn_real_t *d_weights, const int count)
{
    const int64_t numbers = l->row_numbers;
    const gnn_real_t *row = b->rows + c, **rows = b->features;
    const int n = b->n;
    gnn_real_t *to = d_weights + f * numbers + c;
    gnn__vec_t sum[AT_ONCE];
    for (int r = 0; r < count; r++)
        sum[r] = gnn__vec_load(to + r * numbers);
    for (int e = 0; e < n; e++, row += numbers) {
        const gnn_real_t *features = rows[e];
        const gnn__vec_t z = gnn__vec_load(row);
        if (features)
            for (int r = 0; r < count; r++)
                sum[r] += features[f + r] * z;
    }
    for (int r = 0; r < count; r++)
        gnn__vec_store(to + r * numbers, sum[r]);
}

static void weight_sums(const gnn__lanes_t *l, const lane_block_t *b, gnn_real_t *d_weights)
{
    for (int64_t c = 0; c < l->row_numbers; c += LANES) {
        int64_t f = 0;
        for (; f + AT_ONCE <= l->a->d_e; f += AT_ONCE)
            weight_section(l, b, c, f, d_weights, AT_ONCE);
        for (; f < l->a->d_e; f++)
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

void edge_key_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, const gnn_real_t *own,
                    gnn_real_t *d_weights)
{
    const gnn__attention_t *a = l->a;
    BY_WIDTH(l->width, bend_rows, l, b, own);
    if (d_weights)
        weight_sums(l, b, d_weights);
    for (int e = 0; a->grad.features.at && e < b->n; e++) {
        const gnn_real_t *row = b->rows + e * l->row_numbers;
        gnn_real_t *d = gnn__matrix_row(&a->grad.features, gnn__pairs_edge(&a->pairs, at + e));
        int64_t f = 0;
        if (!b->features[e])
            continue;
        for (; f + REDUCED <= a->d_e; f += REDUCED)
            edge_section(l, row, f, REDUCED, d);
        for (; f < a->d_e; f++)
            edge_section(l, row, f, 1, d);
    }
}
