/* What an op does at least, for profiles: operations (a multiply-add is two) and bytes that it reads and writes if every operand passes once; sums over
 * neighbours read a row for each pair. Backward of a product is two products, of an attention recomputation and two more. */
#include <lib/aggregate/aggregate.h>
#include <lib/ops/ops.h>
#include <lib/tape/tape.h>

static double stored(const gnn_operand_t *x)
{
    if (!x->present)
        return 0;
    if (x->sparse)
        return (double)x->sparse->indptr[x->rows] * (sizeof(gnn_real_t) + sizeof(int32_t));
    return (double)x->rows * (double)x->cols * (x->ids ? sizeof(int32_t) : sizeof(gnn_real_t));
}

static double linear_flops(const gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    const double pairs =
        x->sparse ? (double)x->sparse->indptr[x->rows] : (double)x->rows * (double)x->cols;
    return 2 * pairs * (double)call->in[1].cols;
}

static gnn__work_t aggregate_work(const gnn_op_call_t *call, bool backward)
{
    const gnn_aggregate_t *how = call->attributes;
    const double pairs = (double)gnn_graph_n_pairs(how->graph), width = (double)call->out[0].cols,
                 heads = how->shape.heads > 0 ? (double)how->shape.heads : 1,
                 score = how->aggregator->score == GNN_SCORE_PER_KEY
                             ? 2 * heads * (double)how->shape.d_k
                             : 4 * heads;
    const bool scored = how->aggregator->flags & GNN_AGGREGATOR_SCORED;
    const double sums = 2 * pairs * width, own = scored ? pairs * score : 0;
    gnn__work_t work = {.flops = sums + own};
    if (backward && scored)
        work.flops = 2 * sums + 3 * own;
    if (gnn_graph_n_edges(how->graph) > 0)
        work.bytes = pairs * (width * sizeof(gnn_real_t) + sizeof(int32_t));
    return work;
}

gnn__work_t gnn__tape_work(const gnn__node_t *node, bool backward)
{
    const gnn_op_call_t *call = &node->call;
    gnn__work_t work = {0};
    double bytes = 0;
    for (int k = 0; k < call->n_out; k++)
        bytes += stored(
            &(gnn_operand_t){.rows = call->out[k].rows, .cols = call->out[k].cols, .present = 1});
    for (int k = 0; k < call->n_in; k++)
        bytes += stored(&call->in[k]);
    if (node->op == &gnn__op_linear) {
        const bool both = backward && !call->in[0].sparse && call->in[0].wants_grad;
        work.flops = linear_flops(call) * (both ? 2 : 1);
    } else if (node->op == &gnn__op_aggregate) {
        work = aggregate_work(call, backward);
    }
    work.bytes = (work.bytes + bytes) * (backward ? 2 : 1);
    return work;
}
