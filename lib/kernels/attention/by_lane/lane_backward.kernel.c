/* Backward of attention by lane.
 *
 *     prepare_receivers   per receiver    S_i = dY_i . Y_i, packed dY, records for senders;
 *                                         additive: d_q_i, without edges
 *     receive_pairs       per receiver    dot, additive-v2: d_q_i and gradients of edge inputs, and
 *                                         where `both_ends` allows, d_k and d_v of the senders
 *     collect_senders     per sender      adds up what groups of receivers left in l->d_senders
 *     send_additive       per sender      additive: d_k_j, d_v_j and gradients of edge inputs
 *     send_pairs          per sender      dot, additive-v2: d_k_j, d_v_j
 *
 * A record is what a sender reads of a receiver, so that one gather brings it: log-sum-exp, S, and
 * the query where scores are additive, `width` elements each.
 *
 * Additive scores: by_lane.h derives the formulas. Dot and additive-v2:
 *
 *     alpha = exp(score - lse_i)     g = alpha (f dY_i . v_j - S_i)     f: dropout
 *     dot            d_q_i = scale sum of g k_j        d_k_j = scale sum of g q_i
 *     additive-v2    d_q_i = a D_i                     d_k_j = a D_j
 *                    D = slope (sum of g) + (1 - slope) (sum of g where q_i + k_j > 0)
 *                    d_a = sum over i of q_i D_i + sum over j of k_j D_j, because
 *                    leaky(z) = z leaky'(z)
 *     both           d_v_j = sum of alpha f dY_i */
#include <lib/kernels/attention/by_lane/lane_passes.h>
#include <lib/kernels/attention/by_lane/edge_inputs.h>
#include <lib/kernels/attention/by_lane/lane_block.h>

/* ---- prepare: per receiver, without edges ---- */

/* Packs dY, computes S and the records of receivers, and with additive scores d_q. */
GNN__INLINE void prepare_rows(const gnn__lanes_t *l, int64_t i0, int64_t i1, const lane_block_t *b,
                              const int width)
{
    const gnn__attention_t *a = l->a;
    const gnn__matrix_t lses = l->records, products = {lses.at + width, lses.stride},
                        records = {lses.at + 2 * width, lses.stride};
    for (int64_t i = i0; i < i1; i++) {
        gnn_real_t *dy = gnn__matrix_row(&l->dy, i), *y = gnn__matrix_row(&a->y, i);
        gnn__vec_t s[PATTERN], p[PATTERN], a_sum[PATTERN], lse[PATTERN], q[PATTERN];
        fill_pattern(lse, 0);
        if (l->layout == GNN__PACKED) {
            load_row(l, gnn__matrix_row(&a->grad.y, i), dy, width);
            load_row(l, y, b->y, width);
            y = b->y;
        }
        row_products(l, dy, y, s, width);
        read_heads(a->grad.lse + i * a->heads, a->heads, lse, -INFINITY, width);
        for (int u = 0; u < pattern_registers(width); u++)
            lse[u] = gnn__vec_select(lse[u] == -INFINITY, gnn__vec_all(INFINITY), lse[u]);
        write_heads(gnn__matrix_row(&lses, i), width, lse, false, width);
        write_heads(gnn__matrix_row(&products, i), width, s, false, width);
        if (!l->p_sums)
            continue;
        read_pattern(gnn__matrix_row(&l->q, i), q, width);
        write_heads(gnn__matrix_row(&records, i), width, q, false, width);
        row_products(l, dy, l->p_sums + i * l->value_numbers, p, width);
        read_pattern(l->a_sums + i * width, a_sum, width);
        for (int u = 0; u < pattern_registers(width); u++)
            p[u] = (1 - a->slope) * (s[u] * a_sum[u] - p[u]);
        if (a->grad.q.at)
            write_heads(gnn__matrix_row(&a->grad.q, i), a->heads, p, !l->writes_q, width);
    }
}

#define PREPARE(width)                                                                              \
    PER_WIDTH prepare_##width(const gnn__lanes_t *l, int64_t i0, int64_t i1, const lane_block_t *b) \
    {                                                                                               \
        prepare_rows(l, i0, i1, b, width);                                                          \
    }
FOR_WIDTHS(PREPARE)

void prepare_receivers(const gnn__lanes_t *l, int64_t i0, int64_t i1, gnn_real_t *scratch)
{
    const lane_block_t b = lane_block_carve(l, i1, scratch);
    if (in_columns(l))
        column_prepare(l, i0, i1);
    else
        BY_WIDTH(l->width, prepare, l, i0, i1, &b);
}

/* ---- additive: per sender ---- */

/* Weights of a block of receivers; adds alpha S (times the slope where s <= 0) to `sum`. With edge
 * terms, which edge_terms has left, `edge` becomes the score before the slope and `score` what
 * edge_grads needs. */
GNN__INLINE void weigh_back(const gnn__lanes_t *l, const lane_block_t *block, const gnn__vec_t *k,
                            gnn__vec_t *sum, const bool edges, const bool bias, const int width)
{
    const lane_block_t b = *block;
    const gnn_real_t slope = l->a->slope;
    gnn__vec_t all[PATTERN];
    const gnn__matrix_t lse = l->records, s = {lse.at + width, lse.stride},
                        q = {lse.at + 2 * width, lse.stride}, source = edge_source(l);
    fill_pattern(all, 0);
    for (int x = 0; x < padded(b.n * width); x += LANES) {
        const int u = x / LANES % pattern_registers(width);
        gnn__vec_t score = rows_at(&q, b.other, x, width) + k[u];
        if (edges) {
            score += gnn__vec_load(b.edge + x);
            prefetch_pairs(&source, &b, x, width);
            gnn__vec_store(b.edge + x, score);
        }
        const gnn__vec_t products = rows_at(&s, b.other, x, width);
        const gnn__vec_bits_t negative = ~(score > 0);
        gnn__vec_t final = gnn__vec_leaky(score, slope);
        if (bias)
            final += gnn__vec_load(b.second + x);
        gnn__vec_t w = gnn__vec_exp(final - rows_at(&lse, b.other, x, width));
        gnn__vec_t c = w * products;
        if (x + LANES > b.n * width) {
            w = gnn__vec_where(first_lanes(b.n * width - x), w);
            c = gnn__vec_where(first_lanes(b.n * width - x), c);
        }
        const gnn__vec_t sloped = gnn__vec_select(negative, slope * c, c);
        if (edges)
            gnn__vec_store(b.score + x, bias ? c : sloped);
        all[u] += sloped;
        w = drop(&b, x, w);
        gnn__vec_store(b.weight + x, w);
        gnn__vec_store(b.second + x, gnn__vec_where(negative, w));
    }
    for (int u = 0; u < pattern_registers(width); u++)
        sum[u] += all[u];
}

#define WEIGH_BACK(width)                                                      \
    PER_WIDTH weigh_back_##width(const gnn__lanes_t *l, const lane_block_t *b, \
                                 const gnn__vec_t *k, gnn__vec_t *sum)         \
    {                                                                          \
        if (l->a->bias.at)                                                     \
            weigh_back(l, b, k, sum, true, true, width);                       \
        else if (has_logits(l))                                                \
            weigh_back(l, b, k, sum, true, false, width);                      \
        else                                                                   \
            weigh_back(l, b, k, sum, false, false, width);                     \
    }
FOR_WIDTHS(WEIGH_BACK)

void send_additive(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                   gnn_real_t *d_edges)
{
    const bool edges = has_edge_terms(l);
    const int width = l->width;
    const gnn__attention_t *a = l->a;
    lane_block_t b = lane_block_carve(l, row1, scratch);
    int64_t ran = 0;
    b.d_edges = d_edges;
    for (int64_t row = row0; row < row1; row++) {
        const int64_t done = l->a->bias.at ? 0 : send_short(l, &b, row);
        const bool due = gnn__pairs_due(&a->pairs, row, done > 0 ? done : 1);
        ran += !due ? 0 : done > 0 ? done : 1;
        if (done > 0 || !due) {
            row += done > 0 ? done - 1 : 0;
            continue;
        }
        const int64_t j = gnn__pairs_node(&a->pairs, row), from = gnn__pairs_from(&a->pairs, row),
                      to = gnn__pairs_to(&a->pairs, row);
        gnn__vec_t k[PATTERN], sum[PATTERN];
        if (from >= to) {
            clear_sender(l, j);
            continue;
        }
        fill_pattern(sum, 0);
        read_pattern(gnn__matrix_row(&l->k, j), k, width);
        for (int64_t at = from; at < to; at += BLOCK_PAIRS) {
            lane_block_load(l, &b, row, at, to);
            if (edges)
                edge_terms(l, &b, at);
            BY_WIDTH(width, weigh_back, l, &b, k, sum);
            gather(l, &b, &l->dy, l->value_numbers, at == from, true);
            if (!l->term_grads)
                continue;
            value_products(l, &b, gnn__matrix_row(&l->v, j), &l->dy, b.second);
            edge_grads(l, &b, at);
        }
        for (int u = 0; u < pattern_registers(width); u++)
            sum[u] = reduce(sum[u], width, false);
        finish_sender(l, &b, j, sum, width);
    }
    count_rows(l, ran);
    gnn__vec_fence();
}

/* ---- dot and additive-v2 ---- */

/* The two ends of a pair as a pass sees them: the row's own end and the other one. */
typedef struct ends {
    gnn__matrix_t own_key, other_key, own_value, other_value;
    gnn__matrix_t d_key; /* gradient of the own key; at NULL: not wanted */
} ends_t;

static ends_t pair_ends(const gnn__lanes_t *l)
{
    if (l->a->transposed)
        return (ends_t){l->k, l->q, l->v, l->dy, l->a->grad.k};
    return (ends_t){l->q, l->k, l->dy, l->v, l->a->grad.q};
}

/* A field of the other ends' records for elements x .. of pairs x width. */
GNN__INLINE gnn__vec_t others(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m,
                              int column, int x, const int width)
{
    return width == 1 && in_columns(l) ? gnn__vec_load(b->columns + column * BLOCK_PAIRS + x)
                                       : rows_at(m, b->other, x, width);
}

/* Replaces scores by alpha f (in `weight`) and dY . v (in `second`) by g; adds g to `sum`. */
GNN__INLINE void weigh_pairs(const gnn__lanes_t *l, const lane_block_t *block, int64_t node,
                             gnn__vec_t *sum, const int width)
{
    /* a copy, so that the compiler may keep it in registers across stores */
    const lane_block_t b = *block;
    const bool by_sender = l->a->transposed;
    const gnn__matrix_t lse = l->records, s = {lse.at + width, lse.stride};
    const gnn_real_t factor = l->a->score == GNN__SCORE_DOT ? l->a->scale : 1;
    const int n = b.n * width;
    gnn__vec_t own_lse[PATTERN], own_s[PATTERN], all[PATTERN];
    read_pattern(gnn__matrix_row(&lse, by_sender ? 0 : node), own_lse, width);
    read_pattern(gnn__matrix_row(&s, by_sender ? 0 : node), own_s, width);
    fill_pattern(all, 0);
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

#define WEIGH_PAIRS(width)                                                                    \
    PER_WIDTH weigh_pairs_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t node, \
                                  gnn__vec_t *sum)                                            \
    {                                                                                         \
        weigh_pairs(l, b, node, sum, width);                                                  \
    }
FOR_WIDTHS(WEIGH_PAIRS)

/* For each pair of the block adds g to y where own + x > 0 (where x > -own), for `registers`
 * registers starting at column `from`. */
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

#define ABOVE(width)                                                                              \
    PER_WIDTH above_##width(const lane_block_t *b, const gnn_real_t *own, const gnn__matrix_t *m, \
                            int64_t row)                                                          \
    {                                                                                             \
        int64_t from = 0;                                                                         \
        for (; from + 4 * LANES <= row; from += 4 * LANES)                                        \
            above_section(b, own, m, from, width, 4);                                             \
        for (; from < row; from += LANES)                                                         \
            above_section(b, own, m, from, width, 1);                                             \
    }
FOR_WIDTHS(ABOVE)

/* Adds a block's part of the gradient of the row's own key to b->y. d_weights: as in
 * edge_key_block. */
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

/* Completes the gradient of a row's own key from the sums in b->y and the pattern `sum` of g. p +=
 * own . D, unless edge_key_block has added it. */
static void finish_key_row(const gnn__lanes_t *l, const lane_block_t *b, const ends_t *ends,
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

/* Prefetches a row of gradients that is added to once its pairs are done. */
static __attribute__((noinline)) void prefetch_grad_row(const gnn__matrix_t *m, int64_t node,
                                                        int64_t elements)
{
    for (int64_t x = 0; m->at && x < elements; x += 64 / (int64_t)sizeof *m->at)
        __builtin_prefetch(gnn__matrix_row(m, node) + x);
}

/* ---- weights of pairs that `receive` leaves for `send` ---- */

GNN__INLINE void store_pair_weights(const gnn__lanes_t *l, const lane_block_t *block, int64_t at,
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

/* Adds up g in the order of weigh_pairs, so that results are bit-identical. */
GNN__INLINE void load_pair_weights(const gnn__lanes_t *l, const lane_block_t *block, int64_t at,
                                   gnn__vec_t *sum, const int width)
{
    const lane_block_t b = *block;
    const gnn__pairs_t pairs = l->a->pairs;
    const gnn__matrix_t kept = l->pair_weights;
    const int64_t last = last_slot(&pairs);
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
    fill_pattern(all, 0);
    for (int x = 0; x < padded(b.n * width); x += LANES)
        all[x / LANES % pattern_registers(width)] += gnn__vec_load(b.second + x);
    for (int u = 0; u < pattern_registers(width); u++)
        sum[u] += all[u];
}

#define PAIR_WEIGHTS(width)                                                                        \
    PER_WIDTH store_pair_weights_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at) \
    {                                                                                              \
        store_pair_weights(l, b, at, width);                                                       \
    }                                                                                              \
    PER_WIDTH load_pair_weights_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at,  \
                                        gnn__vec_t *sum)                                           \
    {                                                                                              \
        load_pair_weights(l, b, at, sum, width);                                                   \
    }
FOR_WIDTHS(PAIR_WEIGHTS)

/* Loads a block and computes its scores, dY . v and weights; adds g to `sum`. */
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
        BY_WIDTH(width, load_pair_weights, l, b, at, sum);
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
        BY_WIDTH(width, store_pair_weights, l, b, at);
}

/* Writes what the rows of this call add to d_a. */
static void write_d_a(const gnn__lanes_t *l, const gnn_real_t *p, gnn_real_t *d_a)
{
    if (!d_a)
        return;
    memset(d_a, 0, sizeof *d_a * (size_t)(l->a->heads * l->a->d_k));
    unpack_row(l, p, d_a, l->a->d_k, true, l->width);
}

/* Keys are values, 8 heads x 8: adds a block's part to D in y, alpha f dY + a g (1 or slope) to the
 * senders' rows, and to p the part of d_a through the keys. */
static __attribute__((noinline)) void both_ends_8x8(const gnn__lanes_t *l, const lane_block_t *block,
                                                    const gnn_real_t *own, const gnn_real_t *dy,
                                                    gnn_real_t *d_senders)
{
    /* registers of a row at a time: five arrays of this length fit the register file */
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
                             g = gnn__vec_pattern(b.second + e * HEADS, HEADS, 0), leaky = slope * g;
            const char *next = (const char *)(gnn__matrix_row(&senders, b.other[e + AHEAD]) + first);
            for (int byte = 0; byte < SOME * GNN__VEC_BYTES; byte += 64)
                __builtin_prefetch(next + byte);
#pragma GCC unroll 4
            for (int v = 0; v < SOME; v++) {
                const gnn__vec_t x = gnn__vec_load(k + v * LANES),
                                 z = gnn__vec_select_above(x, least[v], g, leaky);
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
        both_ends_8x8(l, b, own, dy, d_senders);
}

/* Adds features of a receiver's block to its sums, and computes the gradients of these features. */
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

/* Adds what the sums of features give to d_q, in y, and to the gradients of weights. */
static __attribute__((noinline)) void finish_edge_row(const gnn__lanes_t *l, const lane_block_t *b,
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
    const ends_t ends = pair_ends(l);
    lane_block_t b = lane_block_carve(l, row1, scratch);
    memset(b.p, 0, sizeof *b.p * (size_t)l->key_numbers);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t i = gnn__pairs_node(pairs, row), from = gnn__pairs_from(pairs, row),
                      to = gnn__pairs_to(pairs, row);
        gnn__vec_t sum[PATTERN];
        fill_pattern(sum, 0);
        prefetch_grad_row(&ends.d_key, i, l->a->heads * l->a->d_k);
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
            finish_edge_row(l, &b, i, d_edges);
        if (from < to)
            finish_key_row(l, &b, &ends, i, sum);
    }
    write_d_a(l, b.p, d_a);
}

void send_pairs(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                gnn_real_t *d_a)
{
    const gnn__attention_t *a = l->a;
    const bool keys_too = a->grad.k.at || d_a;
    ends_t ends = pair_ends(l);
    lane_block_t b = lane_block_carve(l, row1, scratch), keys = b;
    if (l->same_gradient)
        ends.d_key.at = NULL;
    keys.y = b.y + l->value_numbers;
    memset(keys.p, 0, sizeof *keys.p * (size_t)l->key_numbers);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t j = gnn__pairs_node(&a->pairs, row), from = gnn__pairs_from(&a->pairs, row),
                      to = gnn__pairs_to(&a->pairs, row);
        gnn__vec_t sum[PATTERN];
        fill_pattern(sum, 0);
        prefetch_grad_row(&ends.d_key, j, a->heads * a->d_k);
        prefetch_grad_row(&a->grad.v, j, a->heads * a->d_v);
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
            finish_key_row(l, &keys, &ends, j, sum);
        for (int64_t x = 0; l->same_gradient && x < l->key_numbers; x += LANES)
            gnn__vec_store(b.y + x, gnn__vec_load(b.y + x) + gnn__vec_load(keys.y + x));
        if (a->grad.v.at)
            unpack_row(l, b.y, gnn__matrix_row(&a->grad.v, j), a->d_v, true, l->width);
    }
    write_d_a(l, keys.p, d_a);
}
