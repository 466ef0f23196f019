/* The reference, forward: it takes every call, and the fast strategies are tested against it.
 *
 * Without scores: state, accumulate part after part, finish. With scores there are two passes over
 * the pairs, or more: every score enters its receiver's state in the weigher, again as long as the
 * weigher asks for it, the states settle, then the aggregator gets messages and weights. Every
 * thread owns receivers, and a receiver takes its senders in the order of its part, so the results
 * do not depend on the count of threads. */
#include <lib/aggregate/reference/reference.h>
#include <lib/aggregate/strategies.h>
#include <lib/aggregate/tables.h>

/* ---- attention weights on request: the weigher's, before dropout and edge weights ---- */

/* The matrix of one segment in segment_weights_out: its start is found by walking over the
 * segments. */
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

/* Moves the sheet to a segment. */
static void move_to(const gnn__plan_t *plan, sheet_t *sheet, int64_t segment)
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

static void write_row(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, const sheet_t *sheet, int64_t row)
{
    const gnn__plan_t *plan = walk->plan;
    const gnn_weigher_t *w = plan->weigher;
    const int64_t node = gnn__pairs_node(walk->pairs, row), to = gnn__pairs_to(walk->pairs, row);
    gnn__pair_t pair;
    for (int64_t at = gnn__pairs_from(walk->pairs, row); at < to; at++) {
        gnn__pair_meet(walk, node, at, &pair);
        gnn__pair_scores(plan, scratch, &pair);
        for (int64_t a = 0; a < plan->shape.heads; a++)
            write_pair(plan, sheet, &pair, a,
                       w->weight(&plan->weigher_shape, a,
                                 gnn__driver_state(run, node) + a * w->state, scratch->scores[a]));
    }
}

/* Fills edge_weights_out and segment_weights_out from the settled states. */
static void attention_weights(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    if (!plan->how->edge_weights_out && !plan->how->segment_weights_out)
        return;
    clear(plan);
    const gnn__pair_scratch_t scratch = gnn__pair_scratch(plan, run->scratch);
    sheet_t sheet = {.base = plan->how->segment_weights_out, .segment = -1};
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__walk_t walk = gnn__walk(plan, p, false, run->positions);
        const gnn__pairs_t *pairs = walk.pairs;
        for (int64_t r = 0; r < pairs->n_rows; r++) {
            if (gnn__pairs_from(pairs, r) == gnn__pairs_to(pairs, r))
                continue;
            if (plan->how->segment_weights_out)
                move_to(plan, &sheet, gnn__graph_dst_segment(plan->graph, gnn__pairs_node(pairs, r)));
            write_row(&walk, run, &scratch, &sheet, r);
        }
    }
}

/* ---- with scores ---- */

static void enter(const gnn__plan_t *plan, gnn_real_t *state, const gnn_real_t *scores)
{
    const gnn_weigher_t *w = plan->weigher;
    for (int64_t a = 0; a < plan->shape.heads; a++)
        w->enter(&plan->weigher_shape, a, state + a * w->state, scores[a]);
}

/* True if any head of a receiver needs another pass over its scores. */
static bool enters_again(const gnn__plan_t *plan, gnn_real_t *state)
{
    const gnn_weigher_t *w = plan->weigher;
    bool again = false;
    for (int64_t a = 0; w->enter && w->again && a < plan->shape.heads; a++)
        again |= w->again(&plan->weigher_shape, a, state + a * w->state) != 0;
    return again;
}

static void settle(const gnn__plan_t *plan, gnn_real_t *state)
{
    const gnn_weigher_t *w = plan->weigher;
    for (int64_t a = 0; w->settle && a < plan->shape.heads; a++)
        w->settle(&plan->weigher_shape, a, state + a * w->state);
}

/* The scores of a pair: kept ones, or recomputed. */
static const gnn_real_t *scores_again(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                                      const gnn_real_t *kept, gnn__pair_t *pair)
{
    if (kept)
        return kept;
    gnn__pair_scores(plan, scratch, pair);
    return scratch->scores;
}

/* First pass over one row. `kept` (pairs x heads), or NULL, receives the scores. */
static void enter_scores(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *kept)
{
    const gnn__plan_t *plan = walk->plan;
    const int64_t node = gnn__pairs_node(walk->pairs, row), heads = plan->shape.heads,
                  from = gnn__pairs_from(walk->pairs, row), to = gnn__pairs_to(walk->pairs, row);
    gnn__pair_t pair;
    for (int64_t at = from; plan->weigher->enter && at < to; at++) {
        gnn__pair_meet(walk, node, at, &pair);
        gnn__pair_scores(plan, scratch, &pair);
        enter(plan, gnn__driver_state(run, node), scratch->scores);
        if (kept)
            memcpy(kept + (at - from) * heads, scratch->scores, sizeof *kept * (size_t)heads);
    }
}

/* Another pass over one row. */
static void enter_again(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                        const gnn__pair_scratch_t *scratch, int64_t row, const gnn_real_t *kept)
{
    const int64_t heads = walk->plan->shape.heads,
                  count = gnn__pairs_to(walk->pairs, row) - gnn__pairs_from(walk->pairs, row);
    if (!kept)
        enter_scores(walk, run, scratch, row, NULL);
    for (int64_t k = 0; kept && k < count; k++)
        enter(walk->plan, gnn__driver_state(run, gnn__pairs_node(walk->pairs, row)),
              kept + k * heads);
}

/* The last pass over one row. */
static void add_messages(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, int64_t row, const gnn_real_t *kept)
{
    const gnn__plan_t *plan = walk->plan;
    const int64_t node = gnn__pairs_node(walk->pairs, row),
                  from = gnn__pairs_from(walk->pairs, row), to = gnn__pairs_to(walk->pairs, row);
    gnn_real_t *out = gnn__row(&plan->out, node);
    gnn__pair_t pair;
    for (int64_t at = from; at < to; at++) {
        gnn__pair_meet(walk, node, at, &pair);
        const gnn_real_t *scores =
            scores_again(plan, scratch, kept ? kept + (at - from) * plan->shape.heads : NULL, &pair);
        gnn__pair_load(walk, scratch, &pair);
        gnn__pair_weights(plan, scratch, gnn__driver_state(run, node), scores, &pair);
        plan->aggregator->accumulate(&plan->shape, out, &pair.edge);
    }
}

static void enter_row(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    (void)sums;
    enter_scores(walk, run, scratch, row, NULL);
}

static void add_row(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                    const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    (void)sums;
    add_messages(walk, run, scratch, row, NULL);
}

/* All passes. */
static void attend_row(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                       const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const gnn__plan_t *plan = walk->plan;
    const int64_t count = gnn__pairs_to(walk->pairs, row) - gnn__pairs_from(walk->pairs, row);
    gnn_real_t *kept =
        plan->weigher->enter && count <= GNN__KEPT_SCORES / plan->shape.heads ? scratch->kept : NULL;
    gnn_real_t *state = gnn__driver_state(run, gnn__pairs_node(walk->pairs, row));
    (void)sums;
    enter_scores(walk, run, scratch, row, kept);
    while (enters_again(plan, state))
        enter_again(walk, run, scratch, row, kept);
    settle(plan, state);
    add_messages(walk, run, scratch, row, kept);
}

/* Scores of all parts enter until no receiver needs them again. */
static int enter_parts(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads)
{
    bool again = true;
    while (again) {
        again = false;
        for (int64_t p = 0; p < plan->view->n_parts; p++)
            GNN_TRY(gnn__driver_visit(plan, run, p, false, threads, enter_row));
        for (int64_t i = 0; i < plan->graph->n_dst; i++)
            again |= enters_again(plan, gnn__driver_state(run, i));
    }
    return GNN_OK;
}

int gnn__driver_attend(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads)
{
    const int64_t n = plan->graph->n_dst, parts = plan->view->n_parts;
    for (int64_t i = 0; i < n; i++)
        memset(gnn__row(&plan->out, i), 0, sizeof(gnn_real_t) * (size_t)plan->out_width);
    if (parts == 1) {
        GNN_TRY(gnn__driver_visit(plan, run, 0, false, threads, attend_row));
    } else {
        GNN_TRY(enter_parts(plan, run, threads));
        for (int64_t i = 0; i < n; i++)
            settle(plan, gnn__driver_state(run, i));
        for (int64_t p = 0; p < parts; p++)
            GNN_TRY(gnn__driver_visit(plan, run, p, false, threads, add_row));
    }
    for (int64_t i = 0; i < n; i++)
        if (plan->view->degree[i] > 0)
            plan->aggregator->finish(&plan->shape, gnn__row(&plan->out, i), gnn__row(&plan->out, i));
    return GNN_OK;
}

/* ---- all of it ---- */

int gnn__driver_forward_memory(const gnn__plan_t *plan, void *scratch, gnn__driver_run_t *run,
                               size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    int64_t states = 0;
    gnn__driver_common_memory(plan, &carve, run);
    carve.overflow |= !gnn__mul(plan->graph->n_dst, run->state_size, &states);
    if (!plan->recording)
        run->states = gnn__carve(&carve, states, sizeof *run->states);
    return gnn__carved(&carve, bytes);
}

static void accumulate_row(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                           const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const gnn__plan_t *plan = walk->plan;
    const int64_t node = gnn__pairs_node(walk->pairs, row), to = gnn__pairs_to(walk->pairs, row);
    gnn__pair_t pair;
    (void)sums;
    for (int64_t at = gnn__pairs_from(walk->pairs, row); at < to; at++) {
        gnn__pair_meet(walk, node, at, &pair);
        gnn__pair_load(walk, scratch, &pair);
        plan->aggregator->accumulate(&plan->shape, gnn__driver_state(run, node), &pair.edge);
    }
}

static void finish_row(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t i)
{
    gnn_real_t *out = gnn__row(&plan->out, i);
    if (plan->view->degree[i] == 0)
        memset(out, 0, sizeof *out * (size_t)plan->out_width);
    else
        plan->aggregator->finish(&plan->shape, gnn__driver_state(run, i), out);
}

static int aggregate(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads)
{
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        GNN_TRY(gnn__driver_visit(plan, run, p, false, threads, accumulate_row));
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < plan->graph->n_dst; i++)
        finish_row(plan, run, i);
    return GNN_OK;
}

int gnn__driver_forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__driver_run_t run = {0};
    size_t bytes;
    GNN_TRY(gnn__driver_forward_memory(plan, call->scratch, &run, &bytes));
    const int64_t n = plan->graph->n_dst;
    if (plan->recording)
        run.states = call->saved[0];
    if (n * run.state_size > 0)
        memset(run.states, 0, sizeof *run.states * (size_t)(n * run.state_size));
    gnn__driver_positions(plan, &run);
    const int threads = gnn__plan_threads(plan, gnn__driver_work(plan));
    GNN_TRY(plan->scored ? gnn__driver_attend(plan, &run, threads) : aggregate(plan, &run, threads));
    attention_weights(plan, &run);
    return GNN_OK;
}

/* ---- the strategy ---- */

static bool takes(const gnn__plan_t *plan)
{
    (void)plan;
    return true;
}

/* *bytes of n_dst rows of `numbers` values. */
static int saved_rows(const gnn__plan_t *plan, int64_t numbers, size_t *bytes)
{
    gnn__carve_t carve = {0};
    int64_t count = 0;
    carve.overflow |= !gnn__mul(plan->graph->n_dst, numbers, &count);
    gnn__carve(&carve, count, sizeof(gnn_real_t));
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__driver_run_t run = {0};
    GNN_TRY(gnn__driver_forward_memory(plan, NULL, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    GNN_TRY(saved_rows(plan, run.state_size, &call->saved_bytes[0]));
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        call->in[k].keep = plan->has[k];
    call->out[0].keep = 1;
    return gnn__driver_backward_memory(plan, NULL, &run, &call->backward_scratch);
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    (void)plan;
    snprintf(text, size, "generic");
}

static int64_t saved_row(const gnn__plan_t *plan, int k)
{
    gnn__driver_run_t run = {0};
    size_t bytes;
    return k == 0 && gnn__driver_forward_memory(plan, NULL, &run, &bytes) == GNN_OK ? run.state_size
                                                                                    : 0;
}

const gnn__strategy_t gnn__strategy_reference = {.takes = takes,
                                                 .saved_row = saved_row,
                                                 .sizes = sizes,
                                                 .forward = gnn__driver_forward,
                                                 .backward = gnn__driver_backward,
                                                 .describe = describe,
                                                 .loop_features = true};
