/* The generic driver of aggregators with scores, backward, from the settled states: with w the
 * weight of a pair, f its edge weight times its dropout and dY the gradient of the output,
 *
 *     dm = w f dY      dw = f dY . m      ds = weigher's gradient of (dw, delta)
 *     delta = sum over j of w dw = dY . Y
 *
 * A weigher that believes in other weights backward (straight-through) has these in ds and delta,
 * and delta takes a pass over the pairs. */
#include <lib/aggregate/generic/driver.h>
#include <lib/aggregate/tables.h>

void gnn__driver_attend_prepare(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    const gnn_weigher_t *w = plan->weigher;
    const int64_t heads = plan->shape.heads, d_v = plan->shape.d_v;
    const gnn_tensor_t *d_parameters = &plan->d[GNN_AGGREGATE_WEIGHER_PARAMETERS];
    for (int64_t i = 0; i < plan->graph->n_dst; i++) {
        const gnn_real_t *out = gnn__row(&plan->out, i);
        gnn_real_t *d_out = gnn__row(&plan->d_out, i);
        if (plan->view->degree[i] > 0)
            plan->aggregator->finish_grad(&plan->shape, d_out, out, d_out);
        for (int64_t a = 0; a < heads; a++) {
            gnn_real_t delta = 0;
            for (int64_t c = a * d_v; c < (a + 1) * d_v; c++)
                delta += out[c] * d_out[c];
            run->delta[i * heads + a] = delta;
            if (d_parameters->data && w->settle_grad)
                w->settle_grad(&plan->weigher_shape, a, gnn__driver_state(run, i) + a * w->state,
                               delta, d_parameters);
        }
    }
}

/* ---- straight-through ---- */

/* scratch->d_weights: the derivatives by the weights, which are dY . m; adds to d_message and to
 * `parameters` unless they are NULL. */
static void weight_grads(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                         const gnn__pair_t *pair, gnn_real_t *d_message, gnn_tensor_t parameters)
{
    gnn_edge_grad_t grad = {.message = d_message,
                            .weights = gnn__zeroed(scratch->d_weights, plan->shape.heads, true),
                            .parameters = parameters};
    plan->aggregator->accumulate_grad(&plan->shape, gnn__row(&plan->d_out, pair->i), &pair->edge,
                                      &grad);
}

static gnn_real_t believed(const gnn__plan_t *plan, int64_t a, const gnn_real_t *state,
                           gnn_real_t score, gnn_real_t weight)
{
    const gnn_weigher_t *w = plan->weigher;
    return w->weight_backward ? w->weight_backward(&plan->weigher_shape, a, state, score) : weight;
}

/* delta of the receivers of a part: the sum of what one part gives. */
static void add_delta(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const gnn__plan_t *plan = listener->plan;
    const gnn_weigher_t *w = plan->weigher;
    const int64_t node = gnn__pairs_node(listener->pairs, row), heads = plan->shape.heads,
                  to = gnn__pairs_to(listener->pairs, row);
    gnn__pair_t pair;
    (void)sums;
    for (int64_t at = gnn__pairs_from(listener->pairs, row); at < to; at++) {
        gnn__pair_meet(listener, node, at, &pair);
        gnn__pair_scores(plan, scratch, &pair);
        gnn__pair_load(listener, scratch, &pair);
        gnn__pair_weights(plan, scratch, gnn__driver_state(run, node), scratch->scores, &pair);
        weight_grads(plan, scratch, &pair, NULL, (gnn_tensor_t){0});
        for (int64_t a = 0; a < heads; a++) {
            const gnn_real_t factor = gnn__pair_factor(&pair, a);
            const gnn_real_t weight =
                w->weight_backward(&plan->weigher_shape, a,
                                   gnn__driver_state(run, node) + a * w->state, scratch->scores[a]);
            if (weight != 0 && factor != 0)
                run->delta[node * heads + a] += weight * factor * scratch->d_weights[a];
        }
    }
}

void gnn__driver_attend_believe(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads)
{
    if (!plan->weigher->weight_backward)
        return;
    memset(run->delta, 0, sizeof *run->delta * (size_t)(plan->graph->n_dst * plan->shape.heads));
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        gnn__driver_visit(plan, run, p, false, threads, add_delta);
}

/* ---- pairs ---- */

/* Fills scratch->d_scores; adds to d_message (message_width), d_weight and `parameters`, unless
 * they are NULL. 0 x NaN is NaN: derivatives by weights of dropped messages are not read. */
static void weights_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, gnn__pair_t *pair,
                         gnn_real_t *d_message, gnn_real_t *d_weight, gnn_tensor_t parameters)
{
    const gnn_weigher_t *weigher = plan->weigher;
    const int64_t heads = plan->shape.heads;
    const gnn_real_t *states = gnn__driver_state(run, pair->i);
    gnn__pair_weights(plan, scratch, states, scratch->scores, pair);
    weight_grads(plan, scratch, pair, d_message, parameters);
    for (int64_t a = 0; a < heads; a++) {
        const gnn_real_t *state = states + a * weigher->state, score = scratch->scores[a],
                         keep = pair->keep ? pair->keep[a] : 1, factor = pair->weight * keep,
                         dot = scratch->d_weights[a];
        const gnn_real_t w = weigher->weight(&plan->weigher_shape, a, state, score);
        if (d_weight && w != 0 && keep != 0)
            *d_weight += w * keep * dot;
        scratch->d_scores[a] = weigher->weight_grad(
            &plan->weigher_shape, a, state, score, believed(plan, a, state, score, w),
            factor != 0 ? factor * dot : 0, run->delta[pair->i * heads + a]);
    }
}

/* Gradients that belong to receivers. */
static gnn_real_t *own_row(const gnn__plan_t *plan, int input, int64_t row)
{
    return gnn__wants_gradient(plan, input) ? gnn__row(&plan->d[input], row) : NULL;
}

/* Where a prior's derivatives go in the pass by receiver. */
static gnn_prior_grad_t prior_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run, int p,
                                   int64_t i, gnn_real_t *sums)
{
    const int input = GNN_AGGREGATE_PRIOR_0 + p, query = plan->has[GNN_AGGREGATE_PRIOR_QUERY]
                                                             ? GNN_AGGREGATE_PRIOR_QUERY
                                                             : GNN_AGGREGATE_QUERY;
    gnn_prior_grad_t grad = {.query = own_row(plan, query, i)};
    if (gnn__prior_numbers(plan, input) == GNN_PRIOR_SHARED)
        grad.parameters = gnn__driver_sums(plan, run, input, sums);
    else if (gnn__prior_numbers(plan, input) == GNN_PRIOR_PER_RECEIVER)
        grad.parameters = plan->d[input];
    return grad;
}

static void receive_pair(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, gnn__pair_t *pair, gnn_real_t *sums)
{
    const gnn__wanted_t *wanted = &run->wanted;
    gnn_real_t d_weight = 0;
    weights_grad(plan, run, scratch, pair,
                 gnn__zeroed(scratch->d_message, plan->message_width, wanted->message),
                 wanted->weight ? &d_weight : NULL,
                 gnn__driver_sums(plan, run, GNN_AGGREGATE_PARAMETERS, sums));
    if (wanted->message)
        gnn__driver_message_grad(plan, run, scratch, pair, NULL, sums);
    if (wanted->score) {
        gnn__pair_scores_grad_t grad = {
            .score.query = own_row(plan, GNN_AGGREGATE_QUERY, pair->i),
            .score.key = wanted->key
                             ? gnn__zeroed(gnn__driver_free_row(&scratch->d_key, plan->key_width),
                                           plan->key_width, true)
                             : NULL,
            .score.parameters = gnn__driver_sums(plan, run, GNN_AGGREGATE_SCORE_PARAMETERS, sums),
            .bias = gnn__users_edge(plan, pair->number)
                        ? own_row(plan, GNN_AGGREGATE_EDGE_BIAS, pair->number)
                        : NULL};
        for (int p = 0; p < GNN_PRIORS; p++) {
            grad.prior[p] = prior_grad(plan, run, p, pair->i, sums);
            grad.prior[p].key = grad.score.key;
        }
        gnn__pair_scores_grad(plan, scratch, pair, &grad);
    }
    if (wanted->key)
        gnn__driver_project_grad(plan, run, GNN_AGGREGATE_EDGE_KEY_WEIGHT, pair->number,
                                 &scratch->d_key, sums);
    if (wanted->weight && pair->number < plan->in[GNN_AGGREGATE_EDGE_WEIGHT].rows)
        *gnn__row(&plan->d[GNN_AGGREGATE_EDGE_WEIGHT], pair->number) += d_weight * pair->scale;
}

static void send_pair(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    const bool message = gnn__wants_gradient(plan, GNN_AGGREGATE_SRC_MESSAGE);
    gnn__pair_scores_grad_t grad = {.score.key = own_row(plan, GNN_AGGREGATE_KEY, pair->j)};
    bool scores = grad.score.key != NULL;
    for (int p = 0; p < GNN_PRIORS; p++) {
        grad.prior[p].key = grad.score.key;
        if (gnn__prior_numbers(plan, GNN_AGGREGATE_PRIOR_0 + p) == GNN_PRIOR_PER_SENDER) {
            grad.prior[p].parameters = plan->d[GNN_AGGREGATE_PRIOR_0 + p];
            scores |= grad.prior[p].parameters.data != NULL;
        }
    }
    weights_grad(plan, run, scratch, pair,
                 gnn__zeroed(scratch->d_message, plan->message_width, message), NULL,
                 (gnn_tensor_t){0});
    if (message)
        gnn__driver_send_message_grad(plan, scratch, pair);
    if (scores)
        gnn__pair_scores_grad(plan, scratch, pair, &grad);
}

/* ---- rows ---- */

void gnn__driver_attend_grad(const gnn__listener_t *listener, const gnn__driver_run_t *run,
                             const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const gnn__plan_t *plan = listener->plan;
    const int64_t node = gnn__pairs_node(listener->pairs, row),
                  to = gnn__pairs_to(listener->pairs, row);
    gnn__pair_t pair;
    for (int64_t at = gnn__pairs_from(listener->pairs, row); at < to; at++) {
        gnn__pair_meet(listener, node, at, &pair);
        gnn__pair_scores(plan, scratch, &pair);
        gnn__pair_load(listener, scratch, &pair);
        if (listener->transposed)
            send_pair(plan, run, scratch, &pair);
        else
            receive_pair(plan, run, scratch, &pair, sums);
    }
}
