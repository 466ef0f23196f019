/* What an op does at least, for profiles: every operand passes once, in backward twice, and what
 * the op says of itself beyond that. */
#include <lib/tape/tape.h>

static double stored(const gnn_operand_t *x)
{
    if (!x->present)
        return 0;
    if (x->sparse)
        return (double)x->sparse->indptr[x->rows] * (sizeof(gnn_real_t) + sizeof(int32_t));
    return (double)x->rows * (double)x->cols *
           (x->ids      ? sizeof(int32_t)
            : x->halves ? sizeof(uint16_t)
                        : sizeof(gnn_real_t));
}

gnn_op_work_t gnn__node_work(const gnn__node_t *node, bool backward)
{
    const gnn_op_call_t *call = &node->call;
    gnn_op_work_t work = {0};
    for (int k = 0; k < call->n_out; k++)
        work.bytes += (double)call->out[k].rows * (double)call->out[k].cols * sizeof(gnn_real_t);
    for (int k = 0; k < call->n_in; k++)
        work.bytes += stored(&call->in[k]);
    work.bytes *= backward ? 2 : 1;
    if (node->op->work)
        node->op->work(call, backward, &work);
    return work;
}
