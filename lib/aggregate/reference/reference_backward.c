/* The reference, backward: one pass by receiver writes what belongs to receivers, to edges and
 * to what all pairs share, and one pass by sender over the transposed parts writes what belongs
 * to senders. Sums over all pairs are made per fixed chunk and added in order. Before, the state
 * of a receiver becomes what its pairs need. */
#include <graphs/halo.h>
#include <lib/aggregate/reference/reference.h>
#include <lib/aggregate/tables.h>
#include <lib/kernels/rowwise/rowwise.h>

/* ---- messages ---- */

/* Without scores accumulate_grad got the message times its weight. */
static void weigh_message(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                          const gnn__pair_t *pair)
{
    for (int64_t c = 0; !plan->scored && pair->weight != 1 && c < plan->message_width; c++)
        scratch->d_message[c] *= pair->weight;
}

void gnn__driver_message_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                              const gnn__pair_scratch_t *scratch, const gnn__pair_t *pair,
                              gnn_real_t *d_weight, gnn_real_t *sums)
{
    for (int64_t c = 0; d_weight && c < plan->message_width; c++)
        *d_weight += scratch->d_message[c] * pair->message[c];
    weigh_message(plan, scratch, pair);
    gnn_message_grad_t grad = {
        .dst = gnn__wants_gradient(plan, GNN_AGGREGATE_DST_MESSAGE)
                   ? gnn__row(&plan->d[GNN_AGGREGATE_DST_MESSAGE], pair->i)
                   : NULL,
        .edge = gnn__zeroed(gnn__driver_free_row(&scratch->d_edge, plan->edge_width),
                            plan->edge_width, run->wanted.edge),
        .parameters = gnn__driver_sums(plan, run, GNN_AGGREGATE_MESSAGE_PARAMETERS, sums)};
    if (grad.dst || grad.edge || grad.parameters.data)
        plan->message->message_grad(&plan->message_shape, &pair->rows, scratch->d_message, &grad);
    if (!grad.edge)
        return;
    const int64_t bias = run->shared[GNN_AGGREGATE_EDGE_MESSAGE_BIAS];
    if (bias >= 0)
        gnn__elementwise_kernels()->scale(plan->edge_width, 1, grad.edge, true, sums + bias);
    if (plan->edge_message)
        gnn__driver_project_grad(plan, run, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, pair->number,
                                 &scratch->d_edge, sums);
}

void gnn__driver_send_message_grad(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                                   const gnn__pair_t *pair)
{
    gnn_message_grad_t grad = {.src = gnn__row(&plan->d[GNN_AGGREGATE_SRC_MESSAGE], pair->j)};
    weigh_message(plan, scratch, pair);
    plan->message->message_grad(&plan->message_shape, &pair->rows, scratch->d_message, &grad);
}

/* ---- with scores ---- */

/* Target of receiver i's gradients of the weigher's parameters; data NULL: not wanted. Over ranks
 * each slice of own rows has a sum, which its first row opens. */
static gnn_tensor_t weigher_target(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t i)
{
    const int64_t slice = i / GNN_SLICE;
    gnn_tensor_t to = plan->d[GNN_AGGREGATE_WEIGHER_PARAMETERS];
    if (!to.data || !plan->weigher->settle_grad || !plan->nodes)
        return to;
    if (i >= plan->graph->wide_of->n_own)
        return (gnn_tensor_t){0};
    gnn_real_t *sums = run->partials + slice * run->shared_size;
    if (i % GNN_SLICE == 0)
        memset(sums, 0, sizeof *sums * (size_t)run->shared_size);
    return gnn_tensor(sums + run->shared[GNN_AGGREGATE_WEIGHER_PARAMETERS], to.rows, to.cols);
}

static int add_weigher_sums(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    const gnn_tensor_t *to = &plan->d[GNN_AGGREGATE_WEIGHER_PARAMETERS];
    int64_t chunks = 0;
    if (!to->data || !plan->weigher->settle_grad || !plan->nodes)
        return GNN_OK;
    GNN_TRY(gnn__sum_slices(plan, run->partials, &chunks, run->shared_size));
    gnn__add_chunks(to, run->partials + run->shared[GNN_AGGREGATE_WEIGHER_PARAMETERS], chunks,
                    run->shared_size);
    return GNN_OK;
}

void gnn__driver_attend_prepare(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                                int64_t first, int64_t end)
{
    const gnn_weigher_t *w = plan->weigher;
    const int64_t heads = plan->shape.heads, d_v = plan->shape.d_v;
    for (int64_t i = first; i < end; i++) {
        const gnn_real_t *out = gnn__row(&plan->out, i);
        gnn_real_t *d_out = gnn__row(&plan->d_out, i);
        gnn_tensor_t d_parameters = weigher_target(plan, run, i);
        if (plan->view->degree[i] > 0)
            plan->aggregator->finish_grad(&plan->shape, d_out, out, d_out);
        for (int64_t a = 0; a < heads; a++) {
            gnn_real_t delta = 0;
            for (int64_t c = a * d_v; c < (a + 1) * d_v; c++)
                delta += out[c] * d_out[c];
            run->delta[i * heads + a] = delta;
            if (d_parameters.data && w->settle_grad)
                w->settle_grad(&plan->weigher_shape, a, gnn__driver_state(run, i) + a * w->state,
                               delta, &d_parameters);
        }
    }
}

/* ---- straight-through ---- */

/* scratch->d_weights: the derivatives with respect to the weights, dY . m; adds to d_message and
 * to `parameters` unless they are NULL. */
static void weight_grads(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                         const gnn__pair_t *pair, gnn_real_t *d_message, gnn_tensor_t parameters)
{
    gnn_edge_grad_t grad = {.message = d_message,
                            .weights = gnn__zeroed(scratch->d_weights, plan->shape.heads, true),
                            .parameters = parameters};
    plan->aggregator->accumulate_grad(&plan->shape, gnn__row(&plan->d_out, pair->i), &pair->edge,
                                      &grad);
}

static gnn_real_t backward_weight(const gnn__plan_t *plan, int64_t a, const gnn_real_t *state,
                                  gnn_real_t score, gnn_real_t weight)
{
    const gnn_weigher_t *w = plan->weigher;
    return w->weight_backward ? w->weight_backward(&plan->weigher_shape, a, state, score) : weight;
}

/* Adds the terms of one part to delta of its receivers. */
static void add_delta(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const gnn__plan_t *plan = walk->plan;
    const gnn_weigher_t *w = plan->weigher;
    const int64_t node = gnn__pairs_node(walk->pairs, row), heads = plan->shape.heads,
                  to = gnn__pairs_to(walk->pairs, row);
    gnn__pair_t pair;
    (void)sums;
    for (int64_t at = gnn__pairs_from(walk->pairs, row); at < to; at++) {
        gnn__pair_meet(walk, node, at, &pair);
        gnn__pair_scores(plan, scratch, &pair);
        gnn__pair_load(walk, scratch, &pair);
        for (int64_t a = 0; a < heads; a++)
            scratch->weights[a] = w->weight_backward(&plan->weigher_shape, a,
                                                     gnn__driver_state(run, node) + a * w->state,
                                                     scratch->scores[a]) *
                                  gnn__pair_factor(&pair, a);
        pair.edge = (gnn_edge_t){.message = pair.message, .weights = scratch->weights};
        weight_grads(plan, scratch, &pair, NULL, (gnn_tensor_t){0});
        for (int64_t a = 0; a < heads; a++)
            if (scratch->weights[a] != 0)
                run->delta[node * heads + a] += scratch->weights[a] * scratch->d_weights[a];
    }
}

int gnn__driver_attend_delta(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads)
{
    const size_t bytes = sizeof *run->delta * (size_t)plan->shape.heads;
    if (!plan->weigher->weight_backward)
        return GNN_OK;
    memset(run->delta, 0, sizeof *run->delta * (size_t)(plan->graph->n_dst * plan->shape.heads));
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        gnn__driver_sum(plan, run, p, threads, add_delta);
    return plan->nodes ? gnn__halo_pull(plan->graph->wide_of, run->delta, bytes, bytes) : GNN_OK;
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
        const gnn_real_t w = scratch->plain_weights[a];
        if (d_weight && w != 0 && keep != 0)
            *d_weight += w * keep * dot;
        scratch->d_scores[a] = weigher->weight_grad(
            &plan->weigher_shape, a, state, score, backward_weight(plan, a, state, score, w),
            factor != 0 ? factor * dot : 0, run->delta[pair->i * heads + a]);
    }
}

/* The row of a gradient that belongs to a receiver; NULL: not wanted. */
static gnn_real_t *own_row(const gnn__plan_t *plan, int input, int64_t row)
{
    return gnn__wants_gradient(plan, input) ? gnn__row(&plan->d[input], row) : NULL;
}

/* Targets of a prior's derivatives in the pass by receiver. */
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

static void attend_receive(const gnn__plan_t *plan, const gnn__driver_run_t *run,
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

static void attend_send(const gnn__plan_t *plan, const gnn__driver_run_t *run,
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

void gnn__driver_attend_grad(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                             const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const gnn__plan_t *plan = walk->plan;
    const int64_t node = gnn__pairs_node(walk->pairs, row), to = gnn__pairs_to(walk->pairs, row);
    gnn__pair_t pair;
    for (int64_t at = gnn__pairs_from(walk->pairs, row); at < to; at++) {
        gnn__pair_meet(walk, node, at, &pair);
        gnn__pair_scores(plan, scratch, &pair);
        gnn__pair_load(walk, scratch, &pair);
        if (walk->transposed)
            attend_send(plan, run, scratch, &pair);
        else
            attend_receive(plan, run, scratch, &pair, sums);
    }
}

/* ---- without scores, and all of it ---- */

/* ---- memory ---- */

static void add_shared_input(const gnn__plan_t *plan, int k, gnn__driver_run_t *run)
{
    run->shared[k] = run->shared_size;
    run->shared_size += gnn__round_up(plan->in[k].rows * plan->in[k].cols, 16);
}

/* Inputs whose gradients are sums over all pairs; over ranks also those over all receivers. */
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
        add_shared_input(plan, k, run);
    }
    if (plan->nodes && plan->has[GNN_AGGREGATE_WEIGHER_PARAMETERS])
        add_shared_input(plan, GNN_AGGREGATE_WEIGHER_PARAMETERS, run);
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
                         const gnn_real_t *saved, int64_t first, int64_t end, int threads)
{
    const size_t bytes = sizeof(gnn_real_t) * (size_t)run->state_size;
    GNN__PARALLEL_FOR (threads, int64_t i = first; i < end; i++) {
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

static void row_grad(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                     const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums)
{
    const int64_t node = gnn__pairs_node(walk->pairs, row), to = gnn__pairs_to(walk->pairs, row);
    gnn__pair_t pair;
    for (int64_t at = gnn__pairs_from(walk->pairs, row); at < to; at++) {
        gnn__pair_meet(walk, node, at, &pair);
        gnn__pair_load(walk, scratch, &pair);
        if (walk->transposed)
            send_pair(walk->plan, run, scratch, &pair);
        else
            receive_pair(walk->plan, run, scratch, &pair, sums);
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

/* Derivatives of sums and means need no messages: their accumulate_grad reads none. */
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

static bool shared_want(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    bool want = false;
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        want |= run->shared[k] >= 0 && gnn__wants_gradient(plan, k);
    return want;
}

static int add_shared(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t chunks)
{
    if (!shared_want(plan, run))
        return GNN_OK;
    GNN_TRY(gnn__sum_slices(plan, run->partials, &chunks, run->shared_size));
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        if (run->shared[k] >= 0 && k != GNN_AGGREGATE_WEIGHER_PARAMETERS)
            gnn__add_chunks(&plan->d[k], run->partials + run->shared[k], chunks, run->shared_size);
    return GNN_OK;
}

typedef struct {
    const gnn__plan_t *plan;
    const gnn__driver_run_t *run;
    const gnn_real_t *saved;
    int threads;
    bool prepared; /* the halo's rows */
} prepare_t;

/* Turns the states of receivers into what their pairs need. */
static void prepare_rows(const prepare_t *p, int64_t first, int64_t end)
{
    if (p->plan->scored)
        gnn__driver_attend_prepare(p->plan, p->run, first, end);
    else
        finish_grads(p->plan, p->run, p->saved, first, end, p->threads);
}

static void prepare_halo(void *user)
{
    prepare_t *p = user;
    const int64_t end = p->plan->graph->n_dst;
    if (!p->prepared)
        prepare_rows(p, gnn__rows_at_hand(p->plan, end), end);
    p->prepared = true;
}

/* A weigher with other weights backward has sums of receivers that are pulled in their turn. */
static int prepare(prepare_t *p, gnn__driver_run_t *run)
{
    const gnn__plan_t *plan = p->plan;
    run->arrived = prepare_halo;
    run->user = p;
    prepare_rows(p, 0, gnn__rows_at_hand(plan, plan->graph->n_dst));
    if (!plan->scored)
        return GNN_OK;
    GNN_TRY(add_weigher_sums(plan, run));
    if (!plan->weigher->weight_backward)
        return GNN_OK;
    GNN_TRY(gnn__await_halo(plan));
    prepare_halo(p);
    return gnn__driver_attend_delta(plan, run, p->threads);
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
    prepare_t rows = {.plan = plan, .run = &run, .saved = call->saved[0], .threads = threads};
    if (plan->scored)
        run.states = call->saved[0];
    GNN_TRY(prepare(&rows, &run));
    for (int64_t p = 0; receivers_want(plan, &run.wanted) && p < plan->view->n_parts; p++)
        GNN_TRY(add_shared(plan, &run, gnn__driver_sum(plan, &run, p, threads, visit)));
    for (int64_t p = 0; senders_want(plan) && p < plan->view->n_parts; p++)
        GNN_TRY(gnn__driver_visit(plan, &run, p, true, threads, visit));
    return GNN_OK;
}
