/* The generic driver of aggregators with scores, forward, in two passes over the pairs: every score
 * enters its receiver's state, the states settle, then messages are added up by their weights.
 * Where the graph is one part a receiver does both passes at once, and keeps its scores in between
 * if they are not too many. */
#include <lib/aggregate/generic/driver.h>
#include <lib/aggregate/tables.h>

static void enter(const gnn__plan_t *plan, gnn_real_t *state, const gnn_real_t *scores)
{
    const gnn_weigher_t *w = plan->weigher;
    for (int64_t a = 0; a < plan->shape.heads; a++)
        w->enter(&plan->weigher_shape, a, state + a * w->state, scores[a]);
}

static void settle(const gnn__plan_t *plan, gnn_real_t *state)
{
    const gnn_weigher_t *w = plan->weigher;
    for (int64_t a = 0; w->settle && a < plan->shape.heads; a++)
        w->settle(&plan->weigher_shape, a, state + a * w->state);
}

/* The scores of pair `at`: where they are kept, or worked out anew. */
static const gnn_real_t *scores_again(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                                      const gnn_real_t *kept, gnn__pair_t *pair)
{
    if (kept)
        return kept;
    gnn__pair_scores(plan, scratch, pair);
    return scratch->scores;
}

/* First pass over one row. `kept` (pairs x heads), or NULL, receives the scores. */
static void enter_scores(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *kept)
{
    const gnn__plan_t *plan = listener->plan;
    const int64_t node = gnn__pairs_node(listener->pairs, row), heads = plan->shape.heads,
                  from = gnn__pairs_from(listener->pairs, row),
                  to = gnn__pairs_to(listener->pairs, row);
    gnn__pair_t pair;
    for (int64_t at = from; plan->weigher->enter && at < to; at++) {
        gnn__pair_meet(listener, node, at, &pair);
        gnn__pair_scores(plan, scratch, &pair);
        enter(plan, gnn__driver_state(run, node), scratch->scores);
        if (kept)
            memcpy(kept + (at - from) * heads, scratch->scores, sizeof *kept * (size_t)heads);
    }
}

/* Second pass over one row. */
static void add_messages(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, int64_t row, const gnn_real_t *kept)
{
    const gnn__plan_t *plan = listener->plan;
    const int64_t node = gnn__pairs_node(listener->pairs, row),
                  from = gnn__pairs_from(listener->pairs, row),
                  to = gnn__pairs_to(listener->pairs, row);
    gnn_real_t *out = gnn__row(&plan->out, node);
    gnn__pair_t pair;
    for (int64_t at = from; at < to; at++) {
        gnn__pair_meet(listener, node, at, &pair);
        const gnn_real_t *scores =
            scores_again(plan, scratch, kept ? kept + (at - from) * plan->shape.heads : NULL, &pair);
        gnn__pair_load(listener, scratch, &pair);
        gnn__pair_weights(plan, scratch, gnn__driver_state(run, node), scores, &pair);
        plan->aggregator->accumulate(&plan->shape, out, &pair.edge);
    }
}

static void enter_row(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    (void)sums;
    enter_scores(listener, run, scratch, row, NULL);
}

static void add_row(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                    const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    (void)sums;
    add_messages(listener, run, scratch, row, NULL);
}

/* Both passes. */
static void attend_row(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                       const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const gnn__plan_t *plan = listener->plan;
    const int64_t count = gnn__pairs_to(listener->pairs, row) - gnn__pairs_from(listener->pairs, row);
    gnn_real_t *kept =
        plan->weigher->enter && count <= GNN__KEPT_SCORES / plan->shape.heads ? scratch->kept : NULL;
    (void)sums;
    enter_scores(listener, run, scratch, row, kept);
    settle(plan, gnn__driver_state(run, gnn__pairs_node(listener->pairs, row)));
    add_messages(listener, run, scratch, row, kept);
}

void gnn__driver_attend(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads)
{
    const int64_t n = plan->graph->n_dst, parts = plan->view->n_parts;
    for (int64_t i = 0; i < n; i++)
        memset(gnn__row(&plan->out, i), 0, sizeof(gnn_real_t) * (size_t)plan->out_width);
    if (parts == 1) {
        gnn__driver_visit(plan, run, 0, false, threads, attend_row);
    } else {
        for (int64_t p = 0; p < parts; p++)
            gnn__driver_visit(plan, run, p, false, threads, enter_row);
        for (int64_t i = 0; i < n; i++)
            settle(plan, gnn__driver_state(run, i));
        for (int64_t p = 0; p < parts; p++)
            gnn__driver_visit(plan, run, p, false, threads, add_row);
    }
    for (int64_t i = 0; i < n; i++)
        if (plan->view->degree[i] > 0)
            plan->aggregator->finish(&plan->shape, gnn__row(&plan->out, i), gnn__row(&plan->out, i));
}
