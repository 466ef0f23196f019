/* Attention with heads in lanes, forward, for all scores: scores, running softmax and weighted
 * sums, block by block; by_lane.h has the formulas. */
#include <lib/kernels/attention/by_lane/edge_keys.h>
#include <lib/kernels/attention/by_lane/edge_rows.h>
#include <lib/kernels/attention/by_lane/factors.h>
#include <lib/kernels/attention/by_lane/gather.h>
#include <lib/kernels/attention/by_lane/lane_forward.h>
#include <lib/kernels/attention/by_lane/columns.h>
#include <lib/kernels/attention/by_lane/scores.h>
#include <lib/kernels/attention/by_lane/short_rows.h>

/* The largest score of the block joins; what was gathered is rescaled to it. Returns what is
 * subtracted before exp. */
static __attribute__((noinline)) void raise(const gnn__lanes_t *l, const lane_block_t *b,
                                            lane_state_t *s, gnn__vec_t *base, bool fresh, int width)
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
        changed |= differs(most[u], s->largest[u]);
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

/* Scores become weights. */
GNN__INLINE void weigh_block(const gnn__lanes_t *l, const lane_block_t *block, lane_state_t *state,
                             const gnn__vec_t *base, const int width)
{
    /* these stay in registers: what is stored might else change them */
    const lane_block_t b = *block;
    lane_state_t s = *state;
    const bool records = l->p_sums != NULL;
    const gnn__matrix_t source = edge_source(l);
    const gnn_real_t slope = l->slope, *signs = l->a->bias.at ? b.edge : b.score;
    for (int x = 0; x < padded(b.n * width); x += LANES) {
        const int u = x / LANES % pattern_registers(width);
        const gnn__vec_t score = gnn__vec_load(b.score + x);
        prefetch_pairs(&source, &b, x, width);
        take_weights(&b, records, x, gnn__vec_exp(gnn__vec_leaky(score, slope) - base[u]),
                     ~(gnn__vec_load(signs + x) > 0), &s.sum[u], &s.a_sum[u]);
    }
    *state = s;
}

#define WEIGH(width)                                                                  \
    MADE weigh_##width(const gnn__lanes_t *l, const lane_block_t *b, lane_state_t *s, \
                       const gnn__vec_t *base)                                        \
    {                                                                                 \
        weigh_block(l, b, s, base, width);                                            \
    }
FOR_WIDTHS(WEIGH)

/* State, y and P of a receiver that earlier parts have begun. */
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
        /* Lanes of a head are added up again at the end: one of them keeps the sum. */
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
    fill(inverse, 1);
    fill(lse, 0);
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

/* Pairs of a row from which on it does better by factors than in a handful of rows by exp. */
enum { BY_FACTORS = 8 };

/* Rows row0 .. row1 - 1, one by one where they do not follow one another. */
static void finish_rows(const gnn__lanes_t *l, int64_t row0, int64_t row1)
{
    const gnn__attention_t *a = l->a;
    const int64_t step = a->pairs.row_order ? 1 : row1 - row0;
    for (int64_t row = row0; row < row1; row += step)
        l->finish(l->how, gnn__matrix_row(&a->y, gnn__pairs_node(&a->pairs, row)), step, a->y.stride);
}

/* Final scores of receiver i with a block of pairs; not additive ones. */
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

/* One row, of any length. */
static void forward_row(const gnn__lanes_t *l, lane_block_t *b, int64_t row)
{
    const int width = l->width;
    const gnn__attention_t *a = l->a;
    const bool additive = a->score == GNN__SCORE_ADDITIVE;
    const int64_t i = gnn__pairs_node(&a->pairs, row), to = gnn__pairs_to(&a->pairs, row);
    lane_state_t s;
    gnn__vec_t q[PATTERN], base[PATTERN];
    bool fresh = a->first;
    fill(s.largest, -INFINITY);
    fill(s.sum, 0);
    fill(s.a_sum, 0);
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
        raise(l, b, &s, base, fresh, width);
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

void lanes_forward(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch)
{
    const gnn__pairs_t *p = &l->a->pairs;
    const bool handfuls = l->a->score == GNN__SCORE_ADDITIVE && l->a->first && !l->a->bias.at,
               later = finishes_later(l);
    lane_block_t b = lane_block_at(l, row1, scratch);
    int64_t finished = row0;
    for (int64_t row = row0, done; row < row1; row += done) {
        const bool by_factors =
            l->key_factors && gnn__pairs_to(p, row) - gnn__pairs_from(p, row) >= BY_FACTORS;
        done = handfuls && !by_factors ? forward_short(l, &b, row) : 0;
        if (done == 0) {
            forward_row(l, &b, row);
            done = 1;
        }
        /* Some rows together: one by one each would wait for the last, all at once they would be
         * far away. */
        if (later && (row + done - finished >= l->at_once || row + done == row1)) {
            finish_rows(l, finished, row + done);
            finished = row + done;
        }
    }
    gnn__vec_all_passed();
}
