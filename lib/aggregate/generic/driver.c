/* The generic driver, forward: state, accumulate part after part, finish. Every thread owns
 * receivers; a receiver takes its senders in the order of its part, so the number of threads
 * changes nothing. */
#include <lib/aggregate/generic/driver.h>

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

static void hear_row(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                     const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const gnn__plan_t *plan = listener->plan;
    const int64_t node = gnn__pairs_node(listener->pairs, row),
                  to = gnn__pairs_to(listener->pairs, row);
    gnn__pair_t pair;
    (void)sums;
    for (int64_t at = gnn__pairs_from(listener->pairs, row); at < to; at++) {
        gnn__pair_meet(listener, node, at, &pair);
        gnn__pair_load(listener, scratch, &pair);
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

static void aggregate(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads)
{
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        gnn__driver_visit(plan, run, p, false, threads, hear_row);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < plan->graph->n_dst; i++)
        finish_row(plan, run, i);
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
    if (plan->scored)
        gnn__driver_attend(plan, &run, threads);
    else
        aggregate(plan, &run, threads);
    gnn__attention_weights(plan, &run);
    return GNN_OK;
}
