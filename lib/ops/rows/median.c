/* The lower median of every column over the senders that a receiver hears; 0 where it hears none.
 * The gradient goes to the sender whose number it is, the first of equal ones. PyG's
 * MedianAggregation. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    GNN_TRY(gnn__op_dense(call, "median", 0, 0, 1));
    GNN_TRY(gnn__op_senders(call, "median", &pairs));
    const int64_t n = gnn__op_options(call)->graph->n_dst;
    gnn__op_output(call, n, call->in[0].cols);
    GNN_TRY(gnn__op_list_bytes(call, pairs, &call->forward_scratch));
    return gnn__op_bytes(call, call->recording ? n : 0, call->in[0].cols, sizeof(int64_t),
                         &call->saved_bytes[0]);
}

static gnn__sender_number_t median(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r,
                                   int64_t c)
{
    gnn__sender_number_t *list = call->scratch;
    const int64_t count = gnn__op_sorted(call, pairs, r, c, false, list);
    return count == 0 ? (gnn__sender_number_t){0, -1} : list[(count - 1) / 2];
}

static int forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "median");
    const gnn_tensor_t *y = &call->out[0].value;
    int64_t *senders = call->recording ? call->saved[0] : NULL;
    for (int64_t i = 0; i < y->rows; i++)
        memset(gnn__row(y, i), 0, sizeof(gnn_real_t) * (size_t)y->cols);
    for (int64_t k = 0; senders && k < y->rows * y->cols; k++)
        senders[k] = -1;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            const int64_t i = gnn__pairs_node(pairs, r);
            const gnn__sender_number_t m = median(call, pairs, r, c);
            gnn__row(y, i)[c] = m.value;
            if (senders)
                senders[i * y->cols + c] = m.sender;
        }
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t *senders = call->saved[0];
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t i = 0; i < dy->rows; i++)
        for (int64_t c = 0; c < dy->cols; c++)
            if (senders[i * dy->cols + c] >= 0)
                gnn__row(&call->in[0].grad, senders[i * dy->cols + c])[c] += gnn__row(dy, i)[c];
    return GNN_OK;
}

const gnn_op_t gnn_op_median = {.name = "median",
                                .shape = shape,
                                .forward = forward,
                                .backward = backward,
                                .flags = GNN_OP_READS_GRAPH};
