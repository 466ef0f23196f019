/* Backward of dot and additive-v2 attention with heads in lanes, once by receiver and once by
 * sender, or by receiver for both; attention_lanes.h has the layout.
 *
 *     alpha = exp(score - lse_i)     g = alpha (f dY_i . v_j - S_i)     f: dropout
 *     dot            d_q_i = scale sum of g k_j        d_k_j = scale sum of g q_i
 *     additive-v2    d_q_i = a D_i                     d_k_j = a D_j
 *                    D = slope (sum of g) + (1 - slope) (sum of g where q_i + k_j > 0)
 *                    d_a = sum over i of q_i D_i + sum over j of k_j D_j, because
 *                    gnn__vec_leaky(z) = z gnn__vec_leaky'(z)
 *     both           d_v_j = sum of alpha f dY_i */
#include <lib/kernels/attention/by_lane/backward_product.h>
#include <lib/kernels/attention/by_lane/gather.h>
#include <lib/kernels/attention/by_lane/columns.h>
#include <lib/kernels/attention/by_lane/edge_keys.h>
#include <lib/kernels/attention/by_lane/edge_rows.h>
#include <lib/kernels/attention/by_lane/scores.h>

/* Both ends of a pair as the pass sees them: the row's own and the other ones. */
typedef struct ends {
    gnn__matrix_t own_key, other_key, own_value, other_value;
    gnn__matrix_t d_key; /* where the gradient of the own key goes; at NULL: not wanted */
} ends_t;

static ends_t ends_of(const gnn__lanes_t *l)
{
    if (l->a->transposed)
        return (ends_t){l->k, l->q, l->v, l->dy, l->a->grad.k};
    return (ends_t){l->q, l->k, l->dy, l->v, l->a->grad.q};
}

/* Numbers of the other ends, from their records. */
GNN__INLINE gnn__vec_t others(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m,
                              int column, int x, const int width)
{
    return width == 1 && in_columns(l) ? gnn__vec_load(b->columns + column * BLOCK_PAIRS + x)
                                       : rows_at(m, b->other, x, width);
}

/* Scores become alpha f in `weight` and g in `second`, which holds dY . v before; adds up g. */
GNN__INLINE void weigh_pairs(const gnn__lanes_t *l, const lane_block_t *block, int64_t node,
                             gnn__vec_t *sum, const int width)
{
    const lane_block_t b = *block; /* what is stored might else be the block itself */
    const bool by_sender = l->a->transposed;
    const gnn__matrix_t lse = l->records, s = {lse.at + width, lse.stride};
    const gnn_real_t factor = l->a->score == GNN__SCORE_DOT ? l->a->scale : 1;
    const int n = b.n * width;
    gnn__vec_t own_lse[PATTERN], own_s[PATTERN], all[PATTERN];
    read_pattern(gnn__matrix_row(&lse, by_sender ? 0 : node), own_lse, width);
    read_pattern(gnn__matrix_row(&s, by_sender ? 0 : node), own_s, width);
    fill(all, 0);
    for (int x = 0; x < padded(n); x += LANES) {
        const int u = x / LANES % pattern_registers(width);
        const gnn__vec_t shift = !by_sender ? own_lse[u] : others(l, &b, &lse, 0, x, width),
                         delta = !by_sender ? own_s[u] : others(l, &b, &s, 1, x, width);
        const gnn__vec_t alpha = gnn__vec_exp(gnn__vec_load(b.score + x) - shift);
        gnn__vec_t g = drop(&b, x, gnn__vec_load(b.second + x));
        gnn__vec_store(b.weight + x, drop(&b, x, alpha));
        g = factor * alpha * (g - delta);
        if (x + LANES > n)
            g = gnn__vec_where(first_lanes(n - x), g);
        gnn__vec_store(b.second + x, g);
        all[u] += g;
    }
    for (int u = 0; u < pattern_registers(width); u++)
        sum[u] += all[u];
}

#define WEIGH_PAIRS(width)                                                               \
    MADE weigh_pairs_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t node, \
                             gnn__vec_t *sum)                                            \
    {                                                                                    \
        weigh_pairs(l, b, node, sum, width);                                             \
    }
FOR_WIDTHS(WEIGH_PAIRS)

/* y += g where own + x > 0, which is where x > -own, over a block; `registers` registers from
 * number `from` on. */
GNN__INLINE void above_section(const lane_block_t *b, const gnn_real_t *own, const gnn__matrix_t *m,
                               int64_t from, const int width, const int registers)
{
    gnn__vec_t sum[4], least[4];
    for (int v = 0; v < registers; v++) {
        sum[v] = gnn__vec_load(b->y + from + v * LANES);
        least[v] = -gnn__vec_load(own + from + v * LANES);
    }
#pragma GCC unroll 1
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *x = gnn__matrix_row(m, b->other[e]) + from;
        for (int v = 0; v < registers; v++) {
            const gnn__vec_t g =
                gnn__vec_pattern(b->second + e * width, width, (int)(from / LANES) + v);
            sum[v] = gnn__vec_add_above(sum[v], gnn__vec_load(x + v * LANES), least[v], g);
        }
    }
    for (int v = 0; v < registers; v++)
        gnn__vec_store(b->y + from + v * LANES, sum[v]);
}

#define ABOVE(width)                                                                         \
    MADE above_##width(const lane_block_t *b, const gnn_real_t *own, const gnn__matrix_t *m, \
                       int64_t row)                                                          \
    {                                                                                        \
        int64_t from = 0;                                                                    \
        for (; from + 4 * LANES <= row; from += 4 * LANES)                                   \
            above_section(b, own, m, from, width, 4);                                        \
        for (; from < row; from += LANES)                                                    \
            above_section(b, own, m, from, width, 1);                                        \
    }
FOR_WIDTHS(ABOVE)

/* The gradient of the row's own key from what a block gives; the sum is in y. d_weights: as
 * edge_key_block takes it. */
static __attribute__((noinline)) void key_block(const gnn__lanes_t *l, lane_block_t *b,
                                                const ends_t *ends, int64_t node, bool fresh,
                                                gnn_real_t *d_weights)
{
    const int width = l->width;
    const gnn_real_t *own = gnn__matrix_row(&ends->own_key, node);
    const bool dot = l->a->score == GNN__SCORE_DOT;
    if (fresh && !dot)
        memset(b->y, 0, sizeof *b->y * (size_t)l->key_numbers);
    if (dot && in_columns(l)) {
        column_gather(l, b, b->second, true, fresh, b->y);
    } else if (dot) {
        lane_block_t g = *b;
        g.weight = b->second;
        gather(l, &g, &ends->other_key, l->key_numbers, fresh, false);
    } else if (in_columns(l)) {
        column_above(l, b, own);
    } else if (l->row_numbers > 0) {
        edge_key_block(l, b, NULL, d_weights, NULL);
    } else {
        BY_WIDTH(width, above, b, own, &ends->other_key, l->key_numbers);
    }
}

/* `sum`: of g; p gains own . D, unless edge_key_block has added it. */
static void key_row_done(const gnn__lanes_t *l, const lane_block_t *b, const ends_t *ends,
                         int64_t node, gnn__vec_t *sum)
{
    const gnn_real_t *own = gnn__matrix_row(&ends->own_key, node), slope = l->a->slope;
    const int parts = pattern_registers(l->width);
    int64_t row = l->key_numbers;
    gnn_real_t copy[GNN__LANES_COLUMNS] = {0};
    if (in_columns(l)) {
        column_reduce(b->y, l->a->d_k);
        row = GNN__LANES_COLUMNS;
        own = memcpy(copy, own, sizeof *own * (size_t)l->a->d_k);
    }
    for (int u = 0; u < parts; u++)
        sum[u] = slope * reduce(sum[u], l->width, false);
    for (int64_t x = 0; l->a->score != GNN__SCORE_DOT && x < row; x += LANES) {
        const gnn__vec_t d = sum[x / LANES % parts] + (1 - slope) * gnn__vec_load(b->y + x);
        if (l->row_numbers == 0)
            gnn__vec_store(b->p + x, gnn__vec_load(b->p + x) + d * gnn__vec_load(own + x));
        gnn__vec_store(b->y + x, d * gnn__vec_load(l->weights + x));
    }
    if (ends->d_key.at)
        unpack_row(l, b->y, gnn__matrix_row(&ends->d_key, node), l->a->d_k, true, l->width);
}

/* A row of gradients that will be added to when its pairs are done. */
static __attribute__((noinline)) void await_row(const gnn__matrix_t *m, int64_t node, int64_t numbers)
{
    for (int64_t x = 0; m->at && x < numbers; x += 64 / (int64_t)sizeof *m->at)
        __builtin_prefetch(gnn__matrix_row(m, node) + x);
}

/* ---- weights of pairs that receivers leave for senders ---- */

GNN__INLINE void put_pairs(const gnn__lanes_t *l, const lane_block_t *block, int64_t at,
                           const int width)
{
    const lane_block_t b = *block;
    const gnn__pairs_t pairs = l->a->pairs;
    const gnn__matrix_t kept = l->pair_weights;
    const size_t size = sizeof *b.weight * (size_t)width;
    for (int e = 0; e < b.n; e++) {
        gnn_real_t *to = gnn__matrix_row(&kept, gnn__pairs_edge(&pairs, at + e));
        memcpy(to, b.weight + e * width, size);
        memcpy(to + width, b.second + e * width, size);
    }
}

/* Adds up g, in the order of weigh_pairs. */
GNN__INLINE void take_pairs(const gnn__lanes_t *l, const lane_block_t *block, int64_t at,
                            gnn__vec_t *sum, const int width)
{
    const lane_block_t b = *block;
    const gnn__pairs_t pairs = l->a->pairs;
    const gnn__matrix_t kept = l->pair_weights;
    const int64_t last = last_place(&pairs);
    const size_t size = sizeof *b.weight * (size_t)width;
    for (int e = 0; e < b.n; e++) {
        const int64_t ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last;
        const gnn_real_t *from = gnn__matrix_row(&kept, gnn__pairs_edge(&pairs, at + e));
        __builtin_prefetch(gnn__matrix_row(&kept, gnn__pairs_edge(&pairs, ahead)));
        memcpy(b.weight + e * width, from, size);
        memcpy(b.second + e * width, from + width, size);
    }
    for (int x = b.n * width; x < padded(b.n * width); x++)
        b.weight[x] = b.second[x] = 0;
    gnn__vec_t all[PATTERN];
    fill(all, 0);
    for (int x = 0; x < padded(b.n * width); x += LANES)
        all[x / LANES % pattern_registers(width)] += gnn__vec_load(b.second + x);
    for (int u = 0; u < pattern_registers(width); u++)
        sum[u] += all[u];
}

#define PAIRS(width)                                                                  \
    MADE put_pairs_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)  \
    {                                                                                 \
        put_pairs(l, b, at, width);                                                   \
    }                                                                                 \
    MADE take_pairs_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, \
                            gnn__vec_t *sum)                                          \
    {                                                                                 \
        take_pairs(l, b, at, sum, width);                                             \
    }
FOR_WIDTHS(PAIRS)

/* A row's scores, dY . v and weights for one block; adds up g. */
static __attribute__((noinline)) void load_block(const gnn__lanes_t *l, lane_block_t *b,
                                                 const ends_t *ends, int64_t row, int64_t node,
                                                 int64_t at, int64_t to, gnn__vec_t *sum)
{
    const int width = l->width;
    const gnn_real_t *key = gnn__matrix_row(&ends->own_key, node),
                     *value = gnn__matrix_row(&ends->own_value, node);
    lane_block_load(l, b, row, at, to);
    if (l->row_numbers > 0)
        edge_key_scores(l, b, key, &ends->other_key, true);
    if (l->a->transposed && l->pair_weights.at) {
        if (in_columns(l))
            column_load(l, b);
        BY_WIDTH(width, take_pairs, l, b, at, sum);
        return;
    }
    if (l->row_numbers > 0)
        value_products(l, b, value, &ends->other_value, b->second);
    else
        pair_scores(l, b, key, &ends->other_key, value, &ends->other_value);
    if (has_edge_rows(l))
        add_edge_rows(l, b, at, node, true);
    if (l->a->bias.at)
        add_biases(l, b, at);
    BY_WIDTH(width, weigh_pairs, l, b, node, sum);
    if (l->pair_weights.at)
        BY_WIDTH(width, put_pairs, l, b, at);
}

/* What rows of this call add to d_a. */
static void give_parameters(const gnn__lanes_t *l, const gnn_real_t *p, gnn_real_t *d_a)
{
    if (!d_a)
        return;
    memset(d_a, 0, sizeof *d_a * (size_t)(l->a->heads * l->a->d_k));
    unpack_row(l, p, d_a, l->a->d_k, true, l->width);
}

/* What the pairs of a block give to both their ends, where keys are values: the sum of D in y, to
 * the senders' rows alpha f dY + a g (1 or slope), and to p what d_a has by way of them. */
static __attribute__((noinline)) void eight_both(const gnn__lanes_t *l, const lane_block_t *block,
                                                 const gnn_real_t *own, const gnn_real_t *dy,
                                                 gnn_real_t *d_senders)
{
    /* registers of a row at a time: as many as fit the register file five times over */
    enum { SOME = LANES > HEADS ? 4 : 2 };
    const lane_block_t b = *block;
    const gnn__matrix_t keys = l->k, senders = {d_senders, l->sender_numbers};
    const gnn_real_t slope = l->a->slope;
    for (int first = 0; first < EIGHTS * LANES; first += SOME * LANES) {
        gnn__vec_t least[SOME], a[SOME], grad[SOME], d[SOME], p[SOME];
#pragma GCC unroll 4
        for (int v = 0; v < SOME; v++) {
            const int c = first + v * LANES;
            least[v] = -gnn__vec_load(own + c);
            a[v] = gnn__vec_load(l->weights + c);
            grad[v] = gnn__vec_load(dy + c);
            d[v] = gnn__vec_load(b.y + c);
            p[v] = gnn__vec_load(b.p + c);
        }
#pragma GCC unroll 1
        for (int e = 0; e < b.n; e++) {
            const gnn_real_t *k = gnn__matrix_row(&keys, b.other[e]) + first;
            gnn_real_t *to = gnn__matrix_row(&senders, b.other[e]) + first;
            const gnn__vec_t w = gnn__vec_pattern(b.weight + e * HEADS, HEADS, 0),
                             g = gnn__vec_pattern(b.second + e * HEADS, HEADS, 0), bent = slope * g;
            const char *next = (const char *)(gnn__matrix_row(&senders, b.other[e + AHEAD]) + first);
            for (int byte = 0; byte < SOME * GNN__VEC_BYTES; byte += 64)
                __builtin_prefetch(next + byte);
#pragma GCC unroll 4
            for (int v = 0; v < SOME; v++) {
                const gnn__vec_t x = gnn__vec_load(k + v * LANES),
                                 z = gnn__vec_bend(x, least[v], g, bent);
                d[v] = gnn__vec_add_above(d[v], x, least[v], g);
                p[v] += z * x;
                gnn__vec_store(to + v * LANES,
                               gnn__vec_load(to + v * LANES) + w * grad[v] + z * a[v]);
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < SOME; v++) {
            gnn__vec_store(b.y + first + v * LANES, d[v]);
            gnn__vec_store(b.p + first + v * LANES, p[v]);
        }
    }
}

static __attribute__((noinline)) void both_ends(const gnn__lanes_t *l, const lane_block_t *b,
                                                int64_t node, bool fresh, gnn_real_t *d_weights,
                                                gnn_real_t *d_senders)
{
    const gnn_real_t *own = gnn__matrix_row(&l->q, node), *dy = gnn__matrix_row(&l->dy, node);
    if (fresh)
        memset(b->y, 0, sizeof *b->y * (size_t)l->key_numbers);
    if (in_columns(l))
        column_both(l, b, own, dy, d_senders);
    else if (l->row_numbers > 0)
        edge_key_block(l, b, dy, d_weights, d_senders);
    else
        eight_both(l, b, own, dy, d_senders);
}

/* Sums of features over a receiver's pairs, from one block, and gradients of these features. */
static __attribute__((noinline)) void edge_block(const gnn__lanes_t *l, const lane_block_t *b,
                                                 int64_t i, int64_t at, bool fresh)
{
    const size_t bytes = sizeof *b->y * (size_t)(l->a->d_e * TERM_ROW);
    const edges_t edges = {&l->a->pairs, at, b->n};
    for (int k = 0; fresh && k < 2; k++)
        memset(b->sums[k], 0, bytes);
    if (l->value_rows)
        feature_sums(l, &edges, b->weight, b->sums[0]);
    if (l->key_rows)
        feature_sums(l, &edges, b->second, b->sums[1]);
    if (l->a->grad.features.at)
        edge_row_grads(l, b, &edges, i);
}

/* What the sums give to d_q, which is in y, and to the gradients of weights. */
static __attribute__((noinline)) void edge_row_done(const gnn__lanes_t *l, const lane_block_t *b,
                                                    int64_t i, gnn_real_t *d_weights)
{
    if (l->key_rows)
        spread_sums(l, b->sums[1], l->key_rows, l->key_numbers, b->y);
    if (!d_weights)
        return;
    if (l->key_rows)
        add_outer(l, b->sums[1], gnn__matrix_row(&l->q, i), l->key_numbers, d_weights);
    if (l->value_rows)
        add_outer(l, b->sums[0], gnn__matrix_row(&l->dy, i), l->value_numbers,
                  d_weights + l->a->d_e * l->key_numbers);
}

void collect_senders(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch)
{
    const int64_t row = l->sender_numbers, rows = l->n_src;
    for (int64_t j = j0; j < j1; j++) {
        memcpy(scratch, l->d_senders + j * row, sizeof *scratch * (size_t)row);
        for (int64_t c = 1; c < l->groups; c++)
            for (int64_t x = 0; x < row; x++)
                scratch[x] += l->d_senders[(c * rows + j) * row + x];
        unpack_row(l, scratch, gnn__matrix_row(&l->a->grad.k, j), l->a->d_k, true, l->width);
    }
}

void receive_pairs(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                   gnn_real_t *d_a, gnn_real_t *d_edges, gnn_real_t *d_senders)
{
    const gnn__pairs_t *pairs = &l->a->pairs;
    const ends_t ends = ends_of(l);
    lane_block_t b = lane_block_at(l, row1, scratch);
    memset(b.p, 0, sizeof *b.p * (size_t)l->key_numbers);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t i = gnn__pairs_node(pairs, row), from = gnn__pairs_from(pairs, row),
                      to = gnn__pairs_to(pairs, row);
        gnn__vec_t sum[PATTERN];
        fill(sum, 0);
        await_row(&ends.d_key, i, l->a->heads * l->a->d_k);
        for (int64_t at = from; at < to; at += BLOCK_PAIRS) {
            load_block(l, &b, &ends, row, i, at, to, sum);
            if (d_senders)
                both_ends(l, &b, i, at == from, d_edges, d_senders);
            else
                key_block(l, &b, &ends, i, at == from, d_edges);
            if (has_edge_rows(l))
                edge_block(l, &b, i, at, at == from);
            if (l->edge_keys && in_columns(l) && (d_edges || d_a || l->a->grad.features.at))
                column_edges(l, &b, gnn__matrix_row(&l->q, i), d_edges, !d_senders);
            if (l->a->grad.bias.at)
                pair_bias_grads(l, &b, at);
        }
        if (from < to && has_edge_rows(l))
            edge_row_done(l, &b, i, d_edges);
        if (from < to)
            key_row_done(l, &b, &ends, i, sum);
    }
    give_parameters(l, b.p, d_a);
}

void send_pairs(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                gnn_real_t *d_a)
{
    const gnn__attention_t *a = l->a;
    const bool keys_too = a->grad.k.at || d_a;
    ends_t ends = ends_of(l);
    lane_block_t b = lane_block_at(l, row1, scratch), keys = b;
    if (l->same_gradient)
        ends.d_key.at = NULL;
    keys.y = b.y + l->value_numbers;
    memset(keys.p, 0, sizeof *keys.p * (size_t)l->key_numbers);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t j = gnn__pairs_node(&a->pairs, row), from = gnn__pairs_from(&a->pairs, row),
                      to = gnn__pairs_to(&a->pairs, row);
        gnn__vec_t sum[PATTERN];
        fill(sum, 0);
        await_row(&ends.d_key, j, a->heads * a->d_k);
        await_row(&a->grad.v, j, a->heads * a->d_v);
        for (int64_t at = from; at < to; at += BLOCK_PAIRS) {
            load_block(l, &b, &ends, row, j, at, to, sum);
            keys.n = b.n;
            keys.at = b.at;
            keys.other = b.other;
            if (a->grad.v.at && in_columns(l))
                column_gather(l, &b, b.weight, false, at == from, b.y);
            else if (a->grad.v.at)
                gather(l, &b, &l->dy, l->value_numbers, at == from, false);
            if (keys_too)
                key_block(l, &keys, &ends, j, at == from, NULL);
        }
        if (from >= to)
            continue;
        if (in_columns(l) && a->grad.v.at)
            column_reduce(b.y, a->d_v);
        if (keys_too)
            key_row_done(l, &keys, &ends, j, sum);
        for (int64_t x = 0; l->same_gradient && x < l->key_numbers; x += LANES)
            gnn__vec_store(b.y + x, gnn__vec_load(b.y + x) + gnn__vec_load(keys.y + x));
        if (a->grad.v.at)
            unpack_row(l, b.y, gnn__matrix_row(&a->grad.v, j), a->d_v, true, l->width);
    }
    give_parameters(l, keys.p, d_a);
}
