/* The op `aggregate`: y_i = aggregate over j in N(i) of message(x_i, x_j, e_ij). Everything that depends on the row of the table or on the graph is behind the
 * plan: see plan.c, driver.c (works for every row) and sum.c, attention.c (kernels of some rows). */
#include <lib/aggregate/aggregate.h>

static int shape(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    GNN_TRY(gnn__plan(&plan, call));
    call->n_out = 1;
    call->out[0].rows = plan.graph->n_dst;
    call->out[0].cols = plan.out_width;
    return plan.kernels->sizes(&plan, call);
}

static int forward(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    GNN_TRY(gnn__plan(&plan, call));
    return plan.kernels->forward(&plan, call);
}

static int backward(gnn_op_call_t *call)
{
    gnn__plan_t plan;
    GNN_TRY(gnn__plan(&plan, call));
    return plan.kernels->backward(&plan, call);
}

unsigned gnn__aggregate_finishes(const gnn_op_call_t *call)
{
    gnn__plan_t plan;
    return gnn__plan(&plan, call) == GNN_OK && plan.kernels->finishes ? plan.kernels->finishes(&plan)
                                                                      : 0;
}

const gnn_op_t gnn__op_aggregate = {"aggregate", shape, forward, backward};
