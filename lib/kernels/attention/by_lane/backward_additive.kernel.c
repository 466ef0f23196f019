/* Backward of additive attention with heads in lanes: receivers need no edges, senders one gather;
 * by_lane.h has the formulas. */
#include <lib/kernels/attention/by_lane/backward_additive.h>
#include <lib/kernels/attention/by_lane/edge_terms.h>
#include <lib/kernels/attention/by_lane/gather.h>
#include <lib/kernels/attention/by_lane/columns.h>
#include <lib/kernels/attention/by_lane/scores.h>
#include <lib/kernels/attention/by_lane/sender.h>
#include <lib/kernels/attention/by_lane/short_rows.h>

/* ---- by receiver, without edges ---- */

/* Rows with heads fastest, S and what else senders ask of a receiver; with additive scores d_q. */
GNN__INLINE void prepare_rows(const gnn__lanes_t *l, int64_t i0, int64_t i1, const lane_block_t *b,
                              const int width)
{
    const gnn__attention_t *a = l->a;
    const gnn__matrix_t lses = l->records, products = {lses.at + width, lses.stride},
                        records = {lses.at + 2 * width, lses.stride};
    for (int64_t i = i0; i < i1; i++) {
        gnn_real_t *dy = gnn__matrix_row(&l->dy, i), *y = gnn__matrix_row(&a->y, i);
        gnn__vec_t s[PATTERN], p[PATTERN], a_sum[PATTERN], lse[PATTERN], q[PATTERN];
        fill(lse, 0);
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

#define PREPARE(width)                                                                         \
    MADE prepare_##width(const gnn__lanes_t *l, int64_t i0, int64_t i1, const lane_block_t *b) \
    {                                                                                          \
        prepare_rows(l, i0, i1, b, width);                                                     \
    }
FOR_WIDTHS(PREPARE)

void prepare_receivers(const gnn__lanes_t *l, int64_t i0, int64_t i1, gnn_real_t *scratch)
{
    const lane_block_t b = lane_block_at(l, i1, scratch);
    if (in_columns(l))
        column_prepare(l, i0, i1);
    else
        BY_WIDTH(l->width, prepare, l, i0, i1, &b);
}

/* ---- by sender ---- */

/* Weights of a block of receivers; adds up alpha S, times the slope where s <= 0. With terms of
 * edges, as edge_terms leaves them, `edge` becomes the score before the slope and `score` what
 * edge_grads wants. */
GNN__INLINE void weigh_back(const gnn__lanes_t *l, const lane_block_t *block, const gnn__vec_t *k,
                            gnn__vec_t *sum, const bool edges, const bool bias, const int width)
{
    const lane_block_t b = *block;
    const gnn_real_t slope = l->a->slope;
    gnn__vec_t all[PATTERN];
    const gnn__matrix_t lse = l->records, s = {lse.at + width, lse.stride},
                        q = {lse.at + 2 * width, lse.stride}, source = edge_source(l);
    fill(all, 0);
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

#define WEIGH_BACK(width)                                                                      \
    MADE weigh_back_##width(const gnn__lanes_t *l, const lane_block_t *b, const gnn__vec_t *k, \
                            gnn__vec_t *sum)                                                   \
    {                                                                                          \
        if (l->a->bias.at)                                                                     \
            weigh_back(l, b, k, sum, true, true, width);                                       \
        else if (has_logits(l))                                                                \
            weigh_back(l, b, k, sum, true, false, width);                                      \
        else                                                                                   \
            weigh_back(l, b, k, sum, false, false, width);                                     \
    }
FOR_WIDTHS(WEIGH_BACK)

void send_additive(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                   gnn_real_t *d_edges)
{
    const bool edges = has_edge_terms(l);
    const int width = l->width;
    const gnn__attention_t *a = l->a;
    lane_block_t b = lane_block_at(l, row1, scratch);
    b.d_edges = d_edges;
    for (int64_t row = row0; row < row1; row++) {
        const int64_t done = l->a->bias.at ? 0 : send_short(l, &b, row);
        if (done > 0) {
            row += done - 1;
            continue;
        }
        const int64_t j = gnn__pairs_node(&a->pairs, row), from = gnn__pairs_from(&a->pairs, row),
                      to = gnn__pairs_to(&a->pairs, row);
        gnn__vec_t k[PATTERN], sum[PATTERN];
        if (from >= to) {
            clear_sender(l, j);
            continue;
        }
        fill(sum, 0);
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
    gnn__vec_all_passed();
}
