/* Attention weights on request. A weight is the derivative of the output by the message (without edge weight and dropout), so the four small functions of any
 * scored row give it: send ones into one number of every head, and read the message's gradient. */
#include <lib/aggregate/generic/driver.h>

/* Where the matrix of each segment starts is found by walking; receivers and senders of other segments have no place in it. */
typedef struct gnn__sheet {
    gnn_real_t *base;
    int64_t segment, i0, j0, n_dst, n_src;
} sheet_t;

static void clear(const gnn__plan_t *plan)
{
    const gnn_graph_t *g = plan->graph;
    const gnn_tensor_t *out = plan->how->edge_weights_out;
    for (int64_t k = 0; out && k < out->rows; k++)
        memset(gnn__row(out, k), 0, sizeof(gnn_real_t) * (size_t)out->cols);
    int64_t count = 0;
    for (int64_t s = 0; s < g->n_segments; s++)
        count += plan->shape.heads * (g->dst_segments[s + 1] - g->dst_segments[s]) *
                 (g->src_segments[s + 1] - g->src_segments[s]);
    if (plan->how->segment_weights_out && count > 0)
        memset(plan->how->segment_weights_out, 0, sizeof(gnn_real_t) * (size_t)count);
}

/* Moves the sheet on to the segment of receiver i. */
static void turn_to(const gnn__plan_t *plan, sheet_t *sheet, int64_t segment)
{
    const gnn_graph_t *g = plan->graph;
    if (segment < sheet->segment)
        *sheet = (sheet_t){.base = plan->how->segment_weights_out, .segment = -1};
    while (sheet->segment < segment) {
        sheet->base += plan->shape.heads * sheet->n_dst * sheet->n_src;
        int64_t s = ++sheet->segment;
        sheet->i0 = g->dst_segments[s];
        sheet->j0 = g->src_segments[s];
        sheet->n_dst = g->dst_segments[s + 1] - sheet->i0;
        sheet->n_src = g->src_segments[s + 1] - sheet->j0;
    }
}

static void write_pair(const gnn__plan_t *plan, const sheet_t *sheet, const gnn__pair_t *pair,
                       int64_t a, gnn_real_t weight)
{
    const gnn_tensor_t *out = plan->how->edge_weights_out;
    if (out && gnn__users_edge(plan, pair->number))
        gnn__row(out, pair->number)[a] = weight;
    int64_t i = pair->i - sheet->i0, j = pair->j - sheet->j0;
    if (plan->how->segment_weights_out && sheet->segment >= 0 && j >= 0 && j < sheet->n_src)
        sheet->base[(a * sheet->n_dst + i) * sheet->n_src + j] += weight;
}

/* Heads that share a value head are read one after another: `round` is their place in the group. */
static void read_row(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                     const gnn__pair_scratch_t *scratch, const sheet_t *sheet, int64_t row,
                     int64_t round)
{
    const gnn__plan_t *plan = listener->plan;
    const int64_t group = plan->shape.heads / plan->shape.kv_heads, d_v = plan->shape.d_v;
    const int64_t i = gnn__pairs_node(listener->pairs, row), to = gnn__pairs_to(listener->pairs, row);
    const gnn_real_t *out = run->raw ? run->raw + i * plan->out_width : gnn__row(&plan->out, i);
    memset(scratch->d_out, 0, sizeof(gnn_real_t) * (size_t)plan->out_width);
    for (int64_t kv = 0; kv < plan->shape.kv_heads; kv++)
        scratch->d_out[(kv * group + round) * d_v] = 1;
    memcpy(scratch->state, gnn__driver_state(run, i), sizeof(gnn_real_t) * (size_t)run->state_size);
    plan->aggregator->finish_grad(&plan->shape, scratch->state, out, scratch->d_out);
    gnn__pair_t pair;
    for (int64_t at = gnn__pairs_from(listener->pairs, row); at < to; at++) {
        gnn__pair_load(listener, i, at, scratch, &pair);
        pair.edge.weight = 1;
        pair.edge.keep = NULL;
        memset(scratch->d_message, 0, sizeof(gnn_real_t) * (size_t)plan->message_width);
        plan->aggregator->accumulate_grad(&plan->shape, scratch->state, &pair.edge,
                                          &(gnn_edge_grad_t){.message = scratch->d_message});
        for (int64_t kv = 0; kv < plan->shape.kv_heads; kv++)
            write_pair(plan, sheet, &pair, kv * group + round, scratch->d_message[kv * d_v]);
    }
}

void gnn__attention_weights(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    if (!plan->how->edge_weights_out && !plan->how->segment_weights_out)
        return;
    clear(plan);
    const gnn__pair_scratch_t scratch = gnn__pair_scratch(plan, run->scratch);
    sheet_t sheet = {.base = plan->how->segment_weights_out, .segment = -1};
    for (int64_t p = 0; plan->shape.d_v > 0 && p < plan->view->n_parts; p++) {
        const gnn__listener_t listener = gnn__listener(plan, p, false, run->positions);
        const gnn__pairs_t *pairs = listener.pairs;
        for (int64_t r = 0; r < pairs->n_rows; r++) {
            if (gnn__pairs_from(pairs, r) == gnn__pairs_to(pairs, r))
                continue;
            if (plan->how->segment_weights_out)
                turn_to(plan, &sheet, gnn__graph_dst_segment(plan->graph, gnn__pairs_node(pairs, r)));
            for (int64_t round = 0; round < plan->shape.heads / plan->shape.kv_heads; round++)
                read_row(&listener, run, &scratch, &sheet, r, round);
        }
    }
}
