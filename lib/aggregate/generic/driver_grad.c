/* The generic driver, backward: one pass by receiver writes what belongs to receivers, to edges and
 * to what all pairs share, and one pass by sender over the transposed parts writes what belongs to
 * senders. Sums over all pairs are made per fixed chunk and added in order. Before, the state of a
 * receiver becomes what its pairs need. */
#include <lib/aggregate/generic/driver.h>
#include <lib/aggregate/tables.h>

/* ---- memory ---- */

/* Inputs whose gradients are sums over all pairs. */
static void lay_out_shared(const gnn__plan_t *plan, gnn__driver_run_t *run)
{
    static const int inputs[] = {GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT,
                                 GNN_AGGREGATE_EDGE_MESSAGE_BIAS,
                                 GNN_AGGREGATE_EDGE_KEY_WEIGHT,
                                 GNN_AGGREGATE_PARAMETERS,
                                 GNN_AGGREGATE_MESSAGE_PARAMETERS,
                                 GNN_AGGREGATE_SCORE_PARAMETERS,
                                 GNN_AGGREGATE_PRIOR_0,
                                 GNN_AGGREGATE_PRIOR_1,
                                 GNN_AGGREGATE_PRIOR_2};
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        run->shared[k] = -1;
    run->shared_size = 0;
    for (size_t n = 0; n < sizeof inputs / sizeof *inputs; n++) {
        const int k = inputs[n];
        if (!plan->has[k] || gnn__prior_numbers(plan, k) != GNN_PRIOR_SHARED)
            continue;
        run->shared[k] = run->shared_size;
        run->shared_size += gnn__round_up(plan->in[k].rows * plan->in[k].cols, 16);
    }
}

int gnn__driver_backward_memory(const gnn__plan_t *plan, void *scratch, gnn__driver_run_t *run,
                                size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const int64_t n = plan->graph->n_dst;
    int64_t states = 0, partials = 0;
    gnn__driver_common_memory(plan, &carve, run);
    lay_out_shared(plan, run);
    carve.overflow |= !gnn__mul(n, run->state_size, &states) ||
                      !gnn__mul(gnn__most_chunks(plan->view), run->shared_size, &partials);
    if (!plan->scored)
        run->states = gnn__carve(&carve, states, sizeof *run->states);
    else
        run->delta = gnn__carve(&carve, n * plan->shape.heads, sizeof *run->delta);
    run->partials = gnn__carve(&carve, partials, sizeof *run->partials);
    return gnn__carved(&carve, bytes);
}

/* ---- receivers ---- */

static void finish_grads(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                         const gnn_real_t *saved, int threads)
{
    const size_t bytes = sizeof(gnn_real_t) * (size_t)run->state_size;
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < plan->graph->n_dst; i++) {
        memcpy(gnn__driver_state(run, i), saved + i * run->state_size, bytes);
        if (plan->view->degree[i] > 0)
            plan->aggregator->finish_grad(&plan->shape, gnn__driver_state(run, i),
                                          gnn__row(&plan->out, i), gnn__row(&plan->d_out, i));
    }
}

/* ---- aggregators without scores ---- */

static void receive_pair(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, const gnn__pair_t *pair,
                         gnn_real_t *sums)
{
    const gnn__wanted_t *w = &run->wanted;
    gnn_real_t d_weight = 0;
    gnn_edge_grad_t grad = {
        .message = gnn__zeroed(scratch->d_message, plan->message_width, w->message),
        .parameters = gnn__driver_sums(plan, run, GNN_AGGREGATE_PARAMETERS, sums)};
    plan->aggregator->accumulate_grad(&plan->shape, gnn__driver_state(run, pair->i), &pair->edge,
                                      &grad);
    if (w->message)
        gnn__driver_message_grad(plan, run, scratch, pair, w->weight ? &d_weight : NULL, sums);
    if (w->weight && pair->number < plan->in[GNN_AGGREGATE_EDGE_WEIGHT].rows)
        *gnn__row(&plan->d[GNN_AGGREGATE_EDGE_WEIGHT], pair->number) += d_weight * pair->scale;
}

static void send_pair(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, const gnn__pair_t *pair)
{
    gnn_edge_grad_t grad = {.message = gnn__zeroed(scratch->d_message, plan->message_width, true)};
    plan->aggregator->accumulate_grad(&plan->shape, gnn__driver_state(run, pair->i), &pair->edge,
                                      &grad);
    gnn__driver_send_message_grad(plan, scratch, pair);
}

static void row_grad(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                     const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const int64_t node = gnn__pairs_node(listener->pairs, row),
                  to = gnn__pairs_to(listener->pairs, row);
    gnn__pair_t pair;
    for (int64_t at = gnn__pairs_from(listener->pairs, row); at < to; at++) {
        gnn__pair_meet(listener, node, at, &pair);
        gnn__pair_load(listener, scratch, &pair);
        if (listener->transposed)
            send_pair(listener->plan, run, scratch, &pair);
        else
            receive_pair(listener->plan, run, scratch, &pair, sums);
    }
}

/* ---- what is wanted ---- */

static gnn__wanted_t wanted_by_receiver(const gnn__plan_t *plan)
{
    static const int of_scores[] = {GNN_AGGREGATE_QUERY, GNN_AGGREGATE_PRIOR_QUERY,
                                    GNN_AGGREGATE_SCORE_PARAMETERS, GNN_AGGREGATE_EDGE_BIAS};
    const bool features = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_FEATURES);
    gnn__wanted_t w = {0};
    w.weight = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_WEIGHT);
    w.edge = plan->edge_width > 0 &&
             ((plan->edge_message &&
               (features || gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT))) ||
              gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_MESSAGE_BIAS));
    w.key = plan->edge_key && (features || gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT));
    w.message = w.edge || gnn__wants_gradient(plan, GNN_AGGREGATE_DST_MESSAGE) ||
                gnn__wants_gradient(plan, GNN_AGGREGATE_MESSAGE_PARAMETERS) ||
                (!plan->scored && w.weight);
    w.score = w.key;
    for (size_t k = 0; k < sizeof of_scores / sizeof *of_scores; k++)
        w.score |= plan->scored && gnn__wants_gradient(plan, of_scores[k]);
    for (int k = GNN_AGGREGATE_PRIOR_0; k < GNN_AGGREGATE_PRIOR_0 + GNN_PRIORS; k++)
        w.score |=
            gnn__wants_gradient(plan, k) && gnn__prior_numbers(plan, k) != GNN_PRIOR_PER_SENDER;
    return w;
}

/* Derivatives of sums and means, and of what they hear, need no messages: accumulate_grad of these
 * rows reads none. */
static bool is_silent(const gnn__plan_t *plan)
{
    return (plan->hints.reduction == GNN__REDUCTION_SUM ||
            plan->hints.reduction == GNN__REDUCTION_MEAN) &&
           !gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_WEIGHT);
}

static bool senders_want(const gnn__plan_t *plan)
{
    bool want = gnn__wants_gradient(plan, GNN_AGGREGATE_SRC_MESSAGE) ||
                gnn__wants_gradient(plan, GNN_AGGREGATE_KEY);
    for (int k = GNN_AGGREGATE_PRIOR_0; k < GNN_AGGREGATE_PRIOR_0 + GNN_PRIORS; k++)
        want |= gnn__wants_gradient(plan, k) && gnn__prior_numbers(plan, k) == GNN_PRIOR_PER_SENDER;
    return want;
}

static bool receivers_want(const gnn__plan_t *plan, const gnn__wanted_t *w)
{
    return w->message || w->weight || w->score || gnn__wants_gradient(plan, GNN_AGGREGATE_PARAMETERS);
}

/* ---- all of it ---- */

static void add_shared(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t chunks)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        if (run->shared[k] >= 0 && gnn__wants_gradient(plan, k))
            gnn__add_partials(&plan->d[k], run->partials + run->shared[k], chunks, run->shared_size);
}

int gnn__driver_backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__driver_run_t run = {0};
    size_t bytes;
    GNN_TRY(gnn__driver_backward_memory(plan, call->scratch, &run, &bytes));
    run.wanted = wanted_by_receiver(plan);
    run.silent = is_silent(plan);
    gnn__driver_positions(plan, &run);
    gnn__zero_gradients(plan, 0);
    const int threads = gnn__gradient_threads(plan, gnn__driver_work(plan));
    gnn__visit_t *const visit = plan->scored ? gnn__driver_attend_grad : row_grad;
    if (plan->scored) {
        run.states = call->saved[0];
        gnn__driver_attend_prepare(plan, &run);
        gnn__driver_attend_believe(plan, &run, threads);
    } else {
        finish_grads(plan, &run, call->saved[0], threads);
    }
    for (int64_t p = 0; receivers_want(plan, &run.wanted) && p < plan->view->n_parts; p++)
        add_shared(plan, &run, gnn__driver_visit(plan, &run, p, false, threads, visit));
    for (int64_t p = 0; senders_want(plan) && p < plan->view->n_parts; p++)
        gnn__driver_visit(plan, &run, p, true, threads, visit);
    return GNN_OK;
}
