/* The op `aggregate`: y_i = aggregate over j in N(i) of message(x_i, x_j, e_ij). What depends on
 * the row of the table or on the graph is behind the plan: aggregate_plan.c makes it, ways.c picks
 * the way that carries it out. */
#include <lib/aggregate/gate_rows.h>
#include <lib/aggregate/map_rows.h>
#include <lib/aggregate/tables.h>
#include <lib/aggregate/ways.h>

static int shape(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    size_t forward, backward, gate;
    GNN_TRY(gnn__plan(&plan, call));
    gnn__op_output(call, plan.graph->n_dst, plan.out_width);
    GNN_TRY(plan.way->sizes(&plan, call));
    GNN_TRY(gnn__gate_sizes(&plan, call, &gate));
    GNN_TRY(gnn__map_scratch(&plan, false, &forward));
    GNN_TRY(gnn__map_scratch(&plan, true, &backward));
    call->forward_scratch += forward;
    call->backward_scratch += backward + gate;
    return GNN_OK;
}

/* A profile's rows are by the way that ran. */
static void tell_profile(const gnn__plan_t *plan)
{
    gnn__profile_t *profile = plan->context->profile;
    if (profile)
        plan->way->describe(plan, profile->detail, sizeof profile->detail);
}

/* Maps the rows and moves the call's scratch to what is left for the way; *bytes is how far. */
static int take_map(gnn__plan_t *plan, gnn_op_call_t *call, bool backward, gnn__map_run_t *run,
                    size_t *bytes)
{
    GNN_TRY(gnn__map_scratch(plan, backward, bytes));
    if (plan->map)
        GNN_TRY(gnn__map_rows(plan, call->scratch, backward, run));
    call->scratch = (char *)call->scratch + *bytes;
    return GNN_OK;
}

/* With a gate, what the way calls the output is what stands before it. */
static int gated_forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    const gnn__plan_t open = gnn__gate_open(plan, call, NULL);
    GNN_TRY(plan->way->forward(&open, call));
    gnn__gate_rows(plan, &open);
    return GNN_OK;
}

static int forward(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    gnn__map_run_t run;
    size_t bytes;
    GNN_TRY(gnn__plan(&plan, call));
    tell_profile(&plan);
    GNN_TRY(take_map(&plan, call, false, &run, &bytes));
    const int rc =
        plan.has[GNN_AGGREGATE_GATE] ? gated_forward(&plan, call) : plan.way->forward(&plan, call);
    call->scratch = (char *)call->scratch - bytes;
    return rc;
}

/* With a map, what the way calls the gradients of queries and keys are those of the mapped rows. */
static int mapped_backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__plan_t mapped = *plan;
    gnn__map_run_t run;
    size_t bytes;
    gnn__zero_gradients(plan, ~(1u << GNN_AGGREGATE_QUERY | 1u << GNN_AGGREGATE_KEY));
    GNN_TRY(take_map(&mapped, call, true, &run, &bytes));
    const int rc = plan->way->backward(&mapped, call);
    call->scratch = (char *)call->scratch - bytes;
    if (rc == GNN_OK)
        gnn__map_rows_grad(plan, &mapped, &run);
    return rc;
}

/* With a gate, what the way calls the output and its gradient are those before it. */
static int gated_backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    const gnn__plan_t open = gnn__gate_open(plan, call, call->scratch);
    const size_t bytes =
        (size_t)gnn__round_up(plan->graph->n_dst * plan->out_width * (int64_t)sizeof(gnn_real_t), 64);
    call->scratch = (char *)call->scratch + bytes;
    const int rc = plan->map ? mapped_backward(&open, call) : plan->way->backward(&open, call);
    call->scratch = (char *)call->scratch - bytes;
    if (rc == GNN_OK)
        gnn__gate_rows_grad(plan, &open);
    return rc;
}

static int backward(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    GNN_TRY(gnn__plan(&plan, call));
    tell_profile(&plan);
    if (plan.has[GNN_AGGREGATE_GATE])
        return gated_backward(&plan, call);
    return plan.map ? mapped_backward(&plan, call) : plan.way->backward(&plan, call);
}

static unsigned finishes(const gnn_op_call_t *call)
{
    gnn__plan_t plan;
    if (gnn__plan(&plan, call) != GNN_OK || !plan.way->finishes || plan.has[GNN_AGGREGATE_GATE])
        return 0;
    return plan.way->finishes(&plan);
}

/* A sum reads a row for each pair. Backward of an attention is its recomputation and two more. */
static void work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const gnn_aggregate_t *how = call->attributes;
    const double pairs = (double)gnn_graph_n_pairs(how->graph), width = (double)call->out[0].cols,
                 heads = how->shape.heads > 0 ? (double)how->shape.heads : 1,
                 score = !how->score || gnn__scores_keys(how->score)
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
