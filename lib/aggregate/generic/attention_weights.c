/* Attention weights on request: what the weigher says of every pair, before dropout and edge
 * weights. */
#include <lib/aggregate/generic/driver.h>

/* Where the matrix of each segment starts is found by walking; receivers and senders of other
 * segments have no place in it. */
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

static void write_row(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, const sheet_t *sheet, int64_t row)
{
    const gnn__plan_t *plan = listener->plan;
    const gnn_weigher_t *w = plan->weigher;
    const int64_t node = gnn__pairs_node(listener->pairs, row),
                  to = gnn__pairs_to(listener->pairs, row);
    gnn__pair_t pair;
    for (int64_t at = gnn__pairs_from(listener->pairs, row); at < to; at++) {
        gnn__pair_meet(listener, node, at, &pair);
        gnn__pair_scores(plan, scratch, &pair);
        for (int64_t a = 0; a < plan->shape.heads; a++)
            write_pair(plan, sheet, &pair, a,
                       w->weight(&plan->weigher_shape, a,
                                 gnn__driver_state(run, node) + a * w->state, scratch->scores[a]));
    }
}

void gnn__attention_weights(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    if (!plan->how->edge_weights_out && !plan->how->segment_weights_out)
        return;
    clear(plan);
    const gnn__pair_scratch_t scratch = gnn__pair_scratch(plan, run->scratch);
    sheet_t sheet = {.base = plan->how->segment_weights_out, .segment = -1};
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__listener_t listener = gnn__listener(plan, p, false, run->positions);
        const gnn__pairs_t *pairs = listener.pairs;
        for (int64_t r = 0; r < pairs->n_rows; r++) {
            if (gnn__pairs_from(pairs, r) == gnn__pairs_to(pairs, r))
                continue;
            if (plan->how->segment_weights_out)
                turn_to(plan, &sheet, gnn__graph_dst_segment(plan->graph, gnn__pairs_node(pairs, r)));
            write_row(&listener, run, &scratch, &sheet, r);
        }
    }
}
