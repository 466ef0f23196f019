/* Forward of attention by lane for all scores, and the table of its kernels. Row by row, in blocks
 * of at most 128 pairs, with an online softmax over blocks:
 *
 *     load       lane_block_load      senders, dropout
 *     score      additive_scores,     pairs x width, one register for several pairs or one
 *                product_scores
 *     update     online_softmax_update  running maximum; earlier sums are rescaled to it
 *     weigh      weigh                exp(leaky(score) - maximum), sums, dropout
 *     gather     gather, column_gather  y += weight * v_j (and P over pairs with s <= 0)
 *     finish     finish_row           1 / sum, log-sum-exp, the row is stored
 *
 * Two shortcuts for additive scores: batches of short rows (short_rows.kernel.c) and weights from
 * exponential factors (exp_factors.kernel.c). by_lane.h has the formulas. */
#include <lib/kernels/attention/by_lane/edge_inputs.h>
#include <lib/kernels/attention/by_lane/lane_passes.h>
#include <lib/kernels/attention/by_lane/lane_block.h>
#include <lib/kernels/attention/by_lane/by_lane.h>

/* Online-softmax step: raises the running maximum, rescales the accumulated sums to it, and returns
 * in `base` the value to subtract before exp. `fresh`: nothing is accumulated yet. */
static __attribute__((noinline)) void online_softmax_update(const gnn__lanes_t *l,
                                                            const lane_block_t *b, lane_state_t *s,
                                                            gnn__vec_t *base, bool fresh, int width)
{
    gnn__vec_t most[PATTERN], shrink[PATTERN];
    bool changed = false;
    for (int u = 0; u < pattern_registers(width); u++)
        most[u] = gnn__vec_all(-INFINITY);
    for (int x = 0; x < padded(b->n * width); x += LANES)
        most[x / LANES % pattern_registers(width)] =
            gnn__vec_max(gnn__vec_load(b->score + x), most[x / LANES % pattern_registers(width)]);
    for (int u = 0; u < pattern_registers(width); u++) {
        most[u] = gnn__vec_leaky(reduce(most[u], width, true), l->slope);
        most[u] = gnn__vec_max(most[u], s->largest[u]);
        base[u] = gnn__vec_select(most[u] == -INFINITY, gnn__vec_all(0), most[u]);
        if (fresh) {
            s->largest[u] = most[u];
            continue;
        }
        shrink[u] = gnn__vec_exp(s->largest[u] - base[u]);
        s->sum[u] *= shrink[u];
        s->a_sum[u] *= shrink[u];
        changed |= any_differs(most[u], s->largest[u]);
        s->largest[u] = most[u];
    }
    if (changed) {
        scale_row(l, b->y, shrink, b->y, width);
        if (l->p_sums)
            scale_row(l, b->p, shrink, b->p, width);
        for (int64_t f = 0; l->value_rows && f < l->a->d_e * TERM_ROW; f += LANES)
            gnn__vec_store(b->sums[0] + f, shrink[f / LANES % pattern_registers(width)] *
                                               gnn__vec_load(b->sums[0] + f));
    }
}

/* Turns scores into weights and adds them up. */
GNN__INLINE void weigh_block(const gnn__lanes_t *l, const lane_block_t *block, lane_state_t *state,
                             const gnn__vec_t *base, const int width)
{
    /* copies, so that the compiler may keep them in registers across stores */
    const lane_block_t b = *block;
    lane_state_t s = *state;
    const bool records = l->p_sums != NULL;
    const gnn__matrix_t source = edge_source(l);
    const gnn_real_t slope = l->slope, *signs = l->a->bias.at ? b.edge : b.score;
    for (int x = 0; x < padded(b.n * width); x += LANES) {
        const int u = x / LANES % pattern_registers(width);
        const gnn__vec_t score = gnn__vec_load(b.score + x);
        prefetch_pairs(&source, &b, x, width);
        accumulate_weights(&b, records, x, gnn__vec_exp(gnn__vec_leaky(score, slope) - base[u]),
                           ~(gnn__vec_load(signs + x) > 0), &s.sum[u], &s.a_sum[u]);
    }
    *state = s;
}

#define WEIGH(width)                                                                       \
    PER_WIDTH weigh_##width(const gnn__lanes_t *l, const lane_block_t *b, lane_state_t *s, \
                            const gnn__vec_t *base)                                        \
    {                                                                                      \
        weigh_block(l, b, s, base, width);                                                 \
    }
FOR_WIDTHS(WEIGH)

/* Loads state, y and P of a receiver that earlier parts have begun. */
static __attribute__((noinline)) void resume_row(const gnn__lanes_t *l, const lane_block_t *b,
                                                 int64_t i, lane_state_t *s, int width)
{
    const gnn__attention_t *a = l->a;
    read_some(a->state.largest + i * a->heads, a->heads, s->largest, -INFINITY, width);
    read_some(a->state.sum + i * a->heads, a->heads, s->sum, 0, width);
    load_row(l, gnn__matrix_row(&a->y, i), b->y, width);
    if (in_columns(l))
        column_spread(b->y, a->d_v);
    if (l->p_sums)
        read_some(l->a_sums + i * width, width, s->a_sum, 0, width);
    for (int u = 0; u < pattern_registers(width); u++) {
        /* the lanes of a head are added up at the end, so that one of them keeps the sum */
        s->sum[u] = gnn__vec_where(first_lanes(width), s->sum[u]);
        s->a_sum[u] = gnn__vec_where(first_lanes(width), s->a_sum[u]);
    }
    if (!l->p_sums)
        return;
    memcpy(b->p, l->p_sums + i * l->value_numbers, sizeof *b->p * (size_t)l->value_numbers);
}

static __attribute__((noinline)) void finish_row(const gnn__lanes_t *l, const lane_block_t *b,
                                                 int64_t i, lane_state_t *s, int width)
{
    const gnn__attention_t *a = l->a;
    gnn__vec_t inverse[PATTERN], lse[PATTERN];
    fill_pattern(inverse, 1);
    fill_pattern(lse, 0);
    for (int u = 0; u < pattern_registers(width); u++) {
        s->sum[u] = reduce(s->sum[u], width, false);
        s->a_sum[u] = reduce(s->a_sum[u], width, false);
        if (a->last)
            inverse[u] = gnn__vec_select(s->sum[u] == 0, gnn__vec_all(0), 1 / s->sum[u]);
        s->a_sum[u] *= inverse[u];
    }
    if (a->state.largest) {
        for (int u = 0; u < pattern_registers(width); u++)
            lse[u] = a->last ? gnn__vec_select(s->sum[u] == 0, gnn__vec_all(-INFINITY),
                                               s->largest[u] + gnn__vec_log(s->sum[u]))
                             : s->largest[u];
        write_heads(a->state.largest + i * a->heads, a->heads, lse, false, width);
    }
    if (!a->last)
        write_heads(a->state.sum + i * a->heads, a->heads, s->sum, false, width);
    if (in_columns(l))
        column_reduce(b->y, a->d_v);
    scale_row_out(l, b->y, inverse, gnn__matrix_row(&a->y, i), width);
    if (!l->p_sums)
        return;
    write_heads(l->a_sums + i * width, width, s->a_sum, false, width);
    scale_row(l, b->p, inverse, l->p_sums + i * l->value_numbers, width);
}

/* Pairs from which on a row is faster by factors than in a batch of short rows by exp. */
enum { BY_FACTORS = 8 };

/* Runs `finish` on rows row0 .. row1 - 1: on all at once, or one by one where they are not
 * contiguous. */
static void finish_rows(const gnn__lanes_t *l, int64_t row0, int64_t row1)
{
    const gnn__attention_t *a = l->a;
    const int64_t step = a->pairs.row_order ? 1 : row1 - row0;
    for (int64_t row = row0; row < row1; row += step)
        l->finish(l->how, gnn__matrix_row(&a->y, gnn__pairs_node(&a->pairs, row)), step, a->y.stride);
}

/* Final scores of receiver i with a block of pairs, dot or additive-v2. */
static void product_scores(const gnn__lanes_t *l, const lane_block_t *b, int64_t i, int64_t at)
{
    const gnn_real_t *q = gnn__matrix_row(&l->q, i);
    if (l->row_numbers > 0)
        edge_key_scores(l, b, q, &l->k, false);
    else
        pair_scores(l, b, q, &l->k, NULL, &l->v);
    if (has_edge_rows(l))
        add_edge_rows(l, b, at, i, false);
    if (l->a->bias.at)
        add_biases(l, b, at);
}

/* One row of any length. */
static void forward_row(const gnn__lanes_t *l, lane_block_t *b, int64_t row)
{
    const int width = l->width;
    const gnn__attention_t *a = l->a;
    const bool additive = a->score == GNN__SCORE_ADDITIVE;
    const int64_t i = gnn__pairs_node(&a->pairs, row), to = gnn__pairs_to(&a->pairs, row);
    lane_state_t s;
    gnn__vec_t q[PATTERN], base[PATTERN];
    bool fresh = a->first;
    fill_pattern(s.largest, -INFINITY);
    fill_pattern(s.sum, 0);
    fill_pattern(s.a_sum, 0);
    if (l->key_factors && fresh && gather_by_factors(l, b, row, &s)) {
        finish_row(l, b, i, &s, width);
        return;
    }
    if (!fresh)
        resume_row(l, b, i, &s, width);
    if (l->value_rows)
        memset(b->sums[0], 0, sizeof *b->y * (size_t)(a->d_e * TERM_ROW));
    if (additive)
        read_pattern(gnn__matrix_row(&l->q, i), q, width);
    for (int64_t at = gnn__pairs_from(&a->pairs, row); at < to; at += BLOCK_PAIRS, fresh = false) {
        lane_block_load(l, b, row, at, to);
        if (additive)
            additive_scores(l, b, q, at);
        else
            product_scores(l, b, i, at);
        online_softmax_update(l, b, &s, base, fresh, width);
        BY_WIDTH(width, weigh, l, b, &s, base);
        if (in_columns(l))
            column_gather(l, b, b->weight, false, fresh, b->y);
        else
            gather(l, b, &l->v, l->value_numbers, fresh, l->p_sums != NULL);
        if (l->value_rows)
            feature_sums(l, &(edges_t){&a->pairs, at, b->n}, b->weight, b->sums[0]);
    }
    if (fresh)
        clear_row(l, b);
    if (l->value_rows)
        spread_sums(l, b->sums[0], l->value_rows, l->value_numbers, b->y);
    finish_row(l, b, i, &s, width);
}

static void forward(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch)
{
    const gnn__pairs_t *p = &l->a->pairs;
    const bool batches = l->a->score == GNN__SCORE_ADDITIVE && l->a->first && !l->a->bias.at,
               later = finishes_later(l);
    lane_block_t b = lane_block_carve(l, row1, scratch);
    int64_t finished = row0, ran = 0;
    for (int64_t row = row0, done; row < row1; row += done) {
        const bool by_factors =
            l->key_factors && gnn__pairs_to(p, row) - gnn__pairs_from(p, row) >= BY_FACTORS;
        done = batches && !by_factors ? forward_short(l, &b, row) : 0;
        const bool due = gnn__pairs_due(p, row, done ? done : 1);
        if (done == 0 && due)
            forward_row(l, &b, row);
        done = done ? done : 1;
        ran += due ? done : 0;
        /* Several rows per call of `finish`: each call has a cost, and the rows should still be in
         * cache. */
        if (later && (row + done - finished >= l->at_once || row + done == row1)) {
            finish_rows(l, finished, row + done);
            finished = row + done;
        }
    }
    count_rows(l, ran);
    gnn__vec_fence();
}

/* ---- the table; by_lane.h describes its functions ---- */

static void pack(const gnn__matrix_t *from, int64_t i0, int64_t i1, int64_t heads, int64_t d,
                 int width, const gnn__matrix_t *to, int64_t row)
{
    for (int64_t i = i0; i < i1; i++)
        pack_row(gnn__matrix_row(from, i), heads, d, width, gnn__matrix_row(to, i), row);
}

static void send(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                 gnn_real_t *d_a, gnn_real_t *d_edges)
{
    if (l->a->score != GNN__SCORE_ADDITIVE)
        send_pairs(l, row0, row1, scratch, d_a);
    else
        send_additive(l, row0, row1, scratch, d_edges);
}

extern const gnn__attention_lanes_t GNN__KERNEL(attention_lanes);
const gnn__attention_lanes_t GNN__KERNEL(attention_lanes) = {
    .pack = pack,
    .factors = make_factors,
    .edge_logits = make_edge_logits,
    .forward = forward,
    .prepare = prepare_receivers,
    .receive = receive_pairs,
    .collect = collect_senders,
    .send = send,
    .logits_backward = edge_logits_backward,
    .in_place = IN_PLACE,
    .shares = SHARES,
    .both_ends = BOTH_ENDS,
};
