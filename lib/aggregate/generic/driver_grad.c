/* The generic driver, backward: each receiver's state becomes what its edges need (finish_grad); then one pass by receiver writes
 * what belongs to receivers, to edges and to shared weights, and one pass by sender over the transposed parts writes what belongs
 * to senders. Sums over all edges are made per fixed chunk and added in order. */
#include <lib/aggregate/generic/driver.h>

/* ---- memory ---- */

static int64_t shared_part(gnn__shared_grads_t *s, bool present, int64_t count)
{
    int64_t at = s->size;
    s->size += present ? gnn__round_up(count, 16) : 0;
    return present ? at : -1;
}

static gnn__shared_grads_t shared_grads(const gnn__plan_t *plan)
{
    gnn__shared_grads_t s = {0};
    const gnn_tensor_t *distance = &plan->in[GNN_AGGREGATE_DISTANCE];
    s.parameters = shared_part(&s, plan->has[GNN_AGGREGATE_PARAMETERS],
                               plan->in[GNN_AGGREGATE_PARAMETERS].cols);
    s.message_weight = shared_part(&s, plan->edge_message, plan->d_e * plan->edge_width);
    s.message_bias = shared_part(&s, plan->has[GNN_AGGREGATE_EDGE_MESSAGE_BIAS], plan->edge_width);
    s.key_weight = shared_part(&s, plan->edge_key, plan->d_e * plan->key_width);
    s.distance = shared_part(&s, plan->has[GNN_AGGREGATE_DISTANCE], distance->rows * distance->cols);
    return s;
}

int gnn__driver_backward_memory(const gnn__plan_t *plan, void *scratch, gnn__driver_run_t *run,
                                size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    gnn__driver_common_memory(plan, &carve, run);
    run->shared = shared_grads(plan);
    int64_t states = 0, partials = 0;
    carve.overflow |= !gnn__mul(plan->graph->n_dst, run->state_size, &states);
    carve.overflow |= !gnn__mul(gnn__most_chunks(plan->view), run->shared.size, &partials);
    run->states = gnn__carve(&carve, states, sizeof *run->states);
    run->partials = gnn__carve(&carve, partials, sizeof *run->partials);
    return gnn__carved(&carve, bytes);
}

/* ---- receivers' states ---- */

static void finish_row_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                            const gnn__pair_scratch_t *scratch, int64_t i)
{
    const gnn_real_t *d_out = gnn__row(&plan->d_out, i),
                     *out = run->raw ? run->raw + i * plan->out_width : gnn__row(&plan->out, i);
    if (run->raw) {
        const gnn_real_t *gate = gnn__row(&plan->in[GNN_AGGREGATE_GATE], i);
        gnn_real_t *d_gate = gnn__wants_gradient(plan, GNN_AGGREGATE_GATE)
                                 ? gnn__row(&plan->d[GNN_AGGREGATE_GATE], i)
                                 : NULL;
        for (int64_t c = 0; c < plan->out_width; c++) {
            const int64_t a = c / plan->shape.d_v;
            scratch->d_out[c] = gate[a] * d_out[c];
            if (d_gate)
                d_gate[a] += out[c] * d_out[c];
        }
        d_out = scratch->d_out;
    }
    if (plan->view->degree[i] > 0)
        plan->aggregator->finish_grad(&plan->shape, gnn__driver_state(run, i), out, d_out);
}

static void finish_grads(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                         const gnn_real_t *saved, int threads)
{
    const size_t bytes = sizeof(gnn_real_t) * (size_t)run->state_size;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < plan->graph->n_dst; i++) {
        const gnn__pair_scratch_t scratch = gnn__driver_scratch(plan, run);
        memcpy(gnn__driver_state(run, i), saved + i * run->state_size, bytes);
        finish_row_grad(plan, run, &scratch, i);
    }
}

/* ---- by receiver ---- */

static gnn_real_t *zeroed(gnn_real_t *row, int64_t count, bool wanted)
{
    if (wanted)
        memset(row, 0, sizeof *row * (size_t)count);
    return wanted ? row : NULL;
}

static gnn__wanted_t wanted_by_receiver(const gnn__plan_t *plan)
{
    const bool features = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_FEATURES);
    gnn__wanted_t w = {0};
    w.weight = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_WEIGHT);
    w.edge = plan->edge_width > 0 &&
             ((plan->edge_message &&
               (features || gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT))) ||
              gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_MESSAGE_BIAS));
    w.key = plan->edge_key && (features || gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT));
    w.bias = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_BIAS) ||
             gnn__wants_gradient(plan, GNN_AGGREGATE_DISTANCE);
    w.message = w.edge || gnn__wants_gradient(plan, GNN_AGGREGATE_DST_MESSAGE) ||
                (!plan->scored && w.weight);
    return w;
}

/* d_projected (cols) goes to the features' row and to the sums of weight and bias. */
static void project_grad(const gnn__plan_t *plan, int input, int64_t number,
                         const gnn_real_t *d_projected, int64_t cols, gnn_real_t *d_weight)
{
    if (!gnn__users_edge(plan, number))
        return;
    const gnn_real_t *f = gnn__row(&plan->in[GNN_AGGREGATE_EDGE_FEATURES], number);
    gnn_real_t *d_f = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_FEATURES)
                          ? gnn__row(&plan->d[GNN_AGGREGATE_EDGE_FEATURES], number)
                          : NULL;
    for (int64_t e = 0; e < plan->d_e; e++) {
        const gnn_real_t *w = gnn__row(&plan->in[input], e);
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < cols; c++) {
            sum += w[c] * d_projected[c];
            d_weight[e * cols + c] += f[e] * d_projected[c];
        }
        if (d_f)
            d_f[e] += sum;
    }
}

static void bias_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                      const gnn__pair_t *pair, const gnn_real_t *d_bias, gnn_real_t *sums)
{
    const int64_t heads = plan->shape.heads;
    if (gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_BIAS) && gnn__users_edge(plan, pair->number)) {
        gnn_real_t *d = gnn__row(&plan->d[GNN_AGGREGATE_EDGE_BIAS], pair->number);
        for (int64_t a = 0; a < heads; a++)
            d[plan->in[GNN_AGGREGATE_EDGE_BIAS].cols == 1 ? 0 : a] += d_bias[a];
    }
    if (!gnn__wants_gradient(plan, GNN_AGGREGATE_DISTANCE))
        return;
    gnn_real_t *d = sums + run->shared.distance;
    for (int64_t a = 0; a < heads; a++)
        if (plan->how->distance == GNN_DISTANCE_SLOPE)
            d[a] += d_bias[a] * (gnn_real_t)pair->distance;
        else
            d[a * plan->how->distance_buckets + gnn__bucket(plan, pair->distance)] += d_bias[a];
}

/* What a row without scores was told was the message times its weight. */
static void weigh_message(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                          const gnn__pair_t *pair)
{
    for (int64_t c = 0; !plan->scored && pair->weight != 1 && c < plan->message_width; c++)
        scratch->d_message[c] *= pair->weight;
}

/* The message's gradient goes on to receiver and edge; for rows without scores the weight's comes from here too. */
static void message_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, const gnn__pair_t *pair,
                         gnn_real_t *d_weight, gnn_real_t *sums)
{
    for (int64_t c = 0; !plan->scored && run->wanted.weight && c < plan->message_width; c++)
        *d_weight += scratch->d_message[c] * pair->message[c];
    weigh_message(plan, scratch, pair);
    gnn_real_t *d_dst = gnn__wants_gradient(plan, GNN_AGGREGATE_DST_MESSAGE)
                            ? gnn__row(&plan->d[GNN_AGGREGATE_DST_MESSAGE], pair->i)
                            : NULL;
    gnn_real_t *d_edge = zeroed(scratch->d_edge, plan->edge_width, run->wanted.edge);
    if (d_dst || d_edge)
        plan->message->message_grad(plan->message_width, pair->dst, pair->src, pair->projected,
                                    scratch->d_message, d_dst, NULL, d_edge);
    if (!d_edge)
        return;
    if (plan->edge_message)
        project_grad(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, pair->number, d_edge,
                     plan->edge_width, sums + run->shared.message_weight);
    for (int64_t c = 0; plan->has[GNN_AGGREGATE_EDGE_MESSAGE_BIAS] && c < plan->edge_width; c++)
        sums[run->shared.message_bias + c] += d_edge[c];
}

static void receive_pair(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                         const gnn__pair_scratch_t *scratch, const gnn__pair_t *pair,
                         gnn_real_t *sums)
{
    const gnn__wanted_t *w = &run->wanted;
    gnn_real_t d_weight = 0;
    gnn_edge_grad_t grad = {
        .query = gnn__wants_gradient(plan, GNN_AGGREGATE_QUERY)
                     ? gnn__row(&plan->d[GNN_AGGREGATE_QUERY], pair->i)
                     : NULL,
        .key = zeroed(scratch->d_key, plan->key_width, w->key),
        .message = zeroed(scratch->d_message, plan->message_width, w->message),
        .weight = w->weight && plan->scored ? &d_weight : NULL,
        .bias = zeroed(scratch->d_bias, plan->shape.heads, w->bias),
        .parameters = gnn__wants_gradient(plan, GNN_AGGREGATE_PARAMETERS)
                          ? sums + run->shared.parameters
                          : NULL,
    };
    plan->aggregator->accumulate_grad(&plan->shape, gnn__driver_state(run, pair->i), &pair->edge,
                                      &grad);
    if (w->message)
        message_grad(plan, run, scratch, pair, &d_weight, sums);
    if (w->key)
        project_grad(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT, pair->number, scratch->d_key,
                     plan->key_width, sums + run->shared.key_weight);
    if (w->bias)
        bias_grad(plan, run, pair, scratch->d_bias, sums);
    if (w->weight && pair->number < plan->in[GNN_AGGREGATE_EDGE_WEIGHT].rows)
        *gnn__row(&plan->d[GNN_AGGREGATE_EDGE_WEIGHT], pair->number) += d_weight * pair->scale;
}

static void add_shared(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t chunks)
{
    const gnn__shared_grads_t *s = &run->shared;
    const struct {
        int input;
        int64_t at;
    } targets[] = {{GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, s->message_weight},
                   {GNN_AGGREGATE_EDGE_MESSAGE_BIAS, s->message_bias},
                   {GNN_AGGREGATE_EDGE_KEY_WEIGHT, s->key_weight},
                   {GNN_AGGREGATE_PARAMETERS, s->parameters},
                   {GNN_AGGREGATE_DISTANCE, s->distance}};
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        if (targets[t].at >= 0 && gnn__wants_gradient(plan, targets[t].input))
            gnn__add_partials(&plan->d[targets[t].input], run->partials + targets[t].at, chunks,
                              s->size);
}

/* ---- by sender ---- */

static void send_pair(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                      const gnn__pair_scratch_t *scratch, const gnn__pair_t *pair, gnn_real_t *sums)
{
    (void)sums;
    const bool wants_message = gnn__wants_gradient(plan, GNN_AGGREGATE_SRC_MESSAGE);
    gnn_edge_grad_t grad = {
        .key = gnn__wants_gradient(plan, GNN_AGGREGATE_KEY)
                   ? gnn__row(&plan->d[GNN_AGGREGATE_KEY], pair->j)
                   : NULL,
        .message = zeroed(scratch->d_message, plan->message_width, wants_message),
    };
    plan->aggregator->accumulate_grad(&plan->shape, gnn__driver_state(run, pair->i), &pair->edge,
                                      &grad);
    if (!wants_message)
        return;
    weigh_message(plan, scratch, pair);
    plan->message->message_grad(plan->message_width, pair->dst, pair->src, pair->projected,
                                scratch->d_message, NULL,
                                gnn__row(&plan->d[GNN_AGGREGATE_SRC_MESSAGE], pair->j), NULL);
}

/* ---- all of it ---- */

static bool receivers_want(const gnn__plan_t *plan)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        if (k != GNN_AGGREGATE_SRC_MESSAGE && k != GNN_AGGREGATE_KEY && k != GNN_AGGREGATE_GATE &&
            gnn__wants_gradient(plan, k))
            return true;
    return false;
}

int gnn__driver_backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__driver_run_t run = {0};
    size_t bytes;
    GNN_TRY(gnn__driver_backward_memory(plan, call->scratch, &run, &bytes));
    run.raw = plan->has[GNN_AGGREGATE_GATE] ? call->saved[1] : NULL;
    run.wanted = wanted_by_receiver(plan);
    gnn__fill_positions(plan, run.positions);
    gnn__zero_gradients(plan, 0);
    const int threads = gnn__gradient_threads(plan, gnn__driver_work(plan));
    const bool senders_want = gnn__wants_gradient(plan, GNN_AGGREGATE_SRC_MESSAGE) ||
                              gnn__wants_gradient(plan, GNN_AGGREGATE_KEY);
    finish_grads(plan, &run, call->saved[0], threads);
    for (int64_t p = 0; receivers_want(plan) && p < plan->view->n_parts; p++)
        add_shared(plan, &run, gnn__driver_visit(plan, &run, p, false, threads, receive_pair));
    for (int64_t p = 0; senders_want && p < plan->view->n_parts; p++)
        gnn__driver_visit(plan, &run, p, true, threads, send_pair);
    return GNN_OK;
}
