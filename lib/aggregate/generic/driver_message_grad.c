/* The generic driver, backward: what rows with scores and rows without do with the gradient of a
 * pair's message. */
#include <lib/aggregate/generic/driver.h>
#include <lib/kernels/rowwise/rowwise.h>

/* What a row without scores was told was the message times its weight. */
static void weigh_message(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                          const gnn__pair_t *pair)
{
    for (int64_t c = 0; !plan->scored && pair->weight != 1 && c < plan->message_width; c++)
        scratch->d_message[c] *= pair->weight;
}

static void end_waiting(const gnn__plan_t *plan, const gnn__driver_run_t *run, int input,
                        const gnn__waiting_t *waiting, gnn_real_t *sums)
{
    const gnn__feature_weight_t projection = gnn__pair_projection(plan, input);
    if (*waiting->count > 0)
        gnn__pair_kernels()->project_weights(&projection, *waiting->count, waiting->features,
                                             waiting->d, sums + run->shared[input]);
    *waiting->count = 0;
}

void gnn__driver_project_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run, int input,
                              int64_t number, const gnn__waiting_t *waiting, gnn_real_t *sums)
{
    if (!gnn__has_features(plan, number))
        return;
    const gnn__feature_weight_t projection = gnn__pair_projection(plan, input);
    if (gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_FEATURES))
        gnn__pair_kernels()->project_features(
            &projection, gnn__driver_free_row(waiting, projection.n),
            gnn__row(&plan->d[GNN_AGGREGATE_EDGE_FEATURES], number));
    waiting->features[(*waiting->count)++] = gnn__row(&plan->in[GNN_AGGREGATE_EDGE_FEATURES], number);
    if (*waiting->count == GNN__WAITING)
        end_waiting(plan, run, input, waiting, sums);
}

void gnn__driver_end_waiting(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                             const gnn__pair_scratch_t *scratch, gnn_real_t *sums)
{
    end_waiting(plan, run, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, &scratch->d_edge, sums);
    end_waiting(plan, run, GNN_AGGREGATE_EDGE_KEY_WEIGHT, &scratch->d_key, sums);
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
