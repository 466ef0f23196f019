/* The op `aggregate`: y_i = aggregate over j in N(i) of message(x_i, x_j, e_ij). What depends on the row of the table or on the
 * graph is behind the plan: aggregate_plan.c makes it, ways.c picks the way that carries it out. */
#include <lib/aggregate/ways.h>

static int shape(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    GNN_TRY(gnn__plan(&plan, call));
    gnn__op_output(call, plan.graph->n_dst, plan.out_width);
    return plan.way->sizes(&plan, call);
}

/* A profile's rows are by the way that ran. */
static void tell_profile(const gnn__plan_t *plan)
{
    gnn__profile_t *profile = plan->context->profile;
    if (profile)
        plan->way->describe(plan, profile->detail, sizeof profile->detail);
}

static int forward(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    GNN_TRY(gnn__plan(&plan, call));
    tell_profile(&plan);
    return plan.way->forward(&plan, call);
}

static int backward(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    GNN_TRY(gnn__plan(&plan, call));
    tell_profile(&plan);
    return plan.way->backward(&plan, call);
}

static unsigned finishes(const gnn_op_call_t *call)
{
    gnn__plan_t plan;
    if (gnn__plan(&plan, call) != GNN_OK || !plan.way->finishes)
        return 0;
    return plan.way->finishes(&plan);
}

/* A sum reads a row for each pair. Backward of an attention is its recomputation and two more. */
static void work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const gnn_aggregate_t *how = call->attributes;
    const double pairs = (double)gnn_graph_n_pairs(how->graph), width = (double)call->out[0].cols,
                 heads = how->shape.heads > 0 ? (double)how->shape.heads : 1,
                 score = how->aggregator->score_width == GNN_SCORE_PER_KEY
                             ? 2 * heads * (double)how->shape.d_k
                             : 4 * heads;
    const bool scored = how->aggregator->flags & GNN_AGGREGATOR_SCORED;
    const double sums = 2 * pairs * width, own = scored ? pairs * score : 0;
    work->flops = backward && scored ? 2 * sums + 3 * own : sums + own;
    if (gnn_graph_n_edges(how->graph) > 0)
        work->bytes += (backward ? 2 : 1) * pairs * (width * sizeof(gnn_real_t) + sizeof(int32_t));
}

static const gnn__op_traits_t traits = {.finishes = finishes};
const gnn_op_t gnn__op_aggregate = {.name = "aggregate",
                                    .shape = shape,
                                    .forward = forward,
                                    .backward = backward,
                                    .work = work,
                                    .traits = &traits};
