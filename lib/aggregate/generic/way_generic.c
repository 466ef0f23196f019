/* The way that takes every call: the generic driver. It is the reference that the others are tested
 * against. */
#include <lib/aggregate/generic/driver.h>
#include <lib/aggregate/ways.h>

static bool takes(const gnn__plan_t *plan)
{
    (void)plan;
    return true;
}

/* *bytes of n_dst rows of so many numbers. */
static int saved_rows(const gnn__plan_t *plan, int64_t numbers, size_t *bytes)
{
    gnn__carve_t carve = {0};
    int64_t count = 0;
    carve.overflow |= !gnn__mul(plan->graph->n_dst, numbers, &count);
    gnn__carve(&carve, count, sizeof(gnn_real_t));
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__driver_run_t run = {0};
    GNN_TRY(gnn__driver_forward_memory(plan, NULL, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    GNN_TRY(saved_rows(plan, run.state_size, &call->saved_bytes[0]));
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        call->in[k].keep = plan->has[k];
    call->out[0].keep = 1;
    return gnn__driver_backward_memory(plan, NULL, &run, &call->backward_scratch);
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    (void)plan;
    snprintf(text, size, "generic");
}

const gnn__way_t gnn__way_generic = {.takes = takes,
                                     .sizes = sizes,
                                     .forward = gnn__driver_forward,
                                     .backward = gnn__driver_backward,
                                     .describe = describe};
