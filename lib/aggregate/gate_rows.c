/* Gates of heads. */
#include <lib/aggregate/gate_rows.h>

static int threads_of(const gnn__plan_t *plan)
{
    return gnn__plan_threads(plan, plan->graph->n_dst * plan->out_width);
}

int gnn__gate_sizes(const gnn__plan_t *plan, gnn_op_call_t *call, size_t *bytes)
{
    gnn__carve_t rows = {0};
    int64_t count = 0;
    *bytes = 0;
    if (!plan->has[GNN_AGGREGATE_GATE] || !plan->recording)
        return GNN_OK;
    rows.overflow |= !gnn__mul(plan->graph->n_dst, plan->out_width, &count);
    gnn__carve(&rows, count, sizeof(gnn_real_t));
    call->in[GNN_AGGREGATE_GATE].keep = 1;
    call->out[0].keep = 0;
    GNN_TRY(gnn__carved(&rows, &call->saved_bytes[GNN__GATE_SAVED]));
    *bytes = call->saved_bytes[GNN__GATE_SAVED];
    return GNN_OK;
}

/* dY of the open output = gate dY. */
static void open_gradient(const gnn__plan_t *plan, gnn_real_t *scratch, gnn__plan_t *open)
{
    const int64_t d_v = plan->shape.d_v, width = plan->out_width;
    open->d_out = (gnn_tensor_t){scratch, plan->out.rows, width, width};
    GNN__PARALLEL_FOR (threads_of(plan), int64_t i = 0; i < plan->graph->n_dst; i++) {
        const gnn_real_t *gate = gnn__row(&plan->in[GNN_AGGREGATE_GATE], i),
                         *from = gnn__row(&plan->d_out, i);
        gnn_real_t *to = gnn__row(&open->d_out, i);
        for (int64_t c = 0; c < width; c++)
            to[c] = gate[c / d_v] * from[c];
    }
}

gnn__plan_t gnn__gate_open(const gnn__plan_t *plan, const gnn_op_call_t *call, void *scratch)
{
    gnn__plan_t open = *plan;
    if (plan->recording)
        open.out = (gnn_tensor_t){call->saved[GNN__GATE_SAVED], plan->out.rows, plan->out_width,
                                  plan->out_width};
    if (scratch)
        open_gradient(plan, scratch, &open);
    return open;
}

void gnn__gate_rows(const gnn__plan_t *plan, const gnn__plan_t *open)
{
    const int64_t d_v = plan->shape.d_v;
    GNN__PARALLEL_FOR (threads_of(plan), int64_t i = 0; i < plan->graph->n_dst; i++) {
        const gnn_real_t *gate = gnn__row(&plan->in[GNN_AGGREGATE_GATE], i),
                         *from = gnn__row(&open->out, i);
        gnn_real_t *to = gnn__row(&plan->out, i);
        for (int64_t c = 0; c < plan->out_width; c++)
            to[c] = gate[c / d_v] * from[c];
    }
}

void gnn__gate_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *open)
{
    const int64_t d_v = plan->shape.d_v;
    if (!gnn__wants_gradient(plan, GNN_AGGREGATE_GATE))
        return;
    GNN__PARALLEL_FOR (threads_of(plan), int64_t i = 0; i < plan->graph->n_dst; i++) {
        const gnn_real_t *d_out = gnn__row(&plan->d_out, i), *out = gnn__row(&open->out, i);
        gnn_real_t *d_gate = gnn__row(&plan->d[GNN_AGGREGATE_GATE], i);
        for (int64_t a = 0; a < plan->shape.heads; a++) {
            gnn_real_t sum = 0;
            for (int64_t c = a * d_v; c < (a + 1) * d_v; c++)
                sum += out[c] * d_out[c];
            d_gate[a] += sum;
        }
    }
}
