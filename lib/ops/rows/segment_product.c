/* The product of every column over the senders of a receiver; 1 where it has none. PyG's
 * MulAggregation. The derivative by one sender is the product of the others, which is not a
 * quotient where one of them is 0. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    GNN_TRY(gnn__op_dense(call, "segment_product", 0, 0, 1));
    GNN_TRY(gnn__op_senders(call, "segment_product", &pairs));
    gnn__op_output(call, gnn__op_options(call)->graph->n_dst, call->in[0].cols);
    call->in[0].keep = call->in[0].wants_grad;
    GNN_TRY(gnn__op_list_bytes(call, pairs, &call->forward_scratch));
    return gnn__op_list_bytes(call, pairs, &call->backward_scratch);
}

/* The product of `count` values, without the one at `left_out`. */
static double product(const gnn__sender_number_t *list, int64_t count, int64_t left_out)
{
    double y = 1;
    for (int64_t k = 0; k < count; k++)
        if (k != left_out)
            y *= (double)list[k].value;
    return y;
}

static int forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "segment_product");
    const gnn_tensor_t *y = &call->out[0].value;
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t c = 0; c < y->cols; c++)
            gnn__row(y, i)[c] = 1;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            gnn__sender_number_t *list = call->scratch;
            const int64_t count = gnn__op_sorted(call, pairs, r, c, false, list);
            gnn__row(y, gnn__pairs_node(pairs, r))[c] = (gnn_real_t)product(list, count, -1);
        }
    return GNN_OK;
}

/* Adds what column c of one receiver gives to its senders: quotients where nothing is 0. */
static void column_backward(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r,
                            int64_t c, double dy)
{
    gnn__sender_number_t *list = call->scratch;
    const int64_t count = gnn__op_sorted(call, pairs, r, c, false, list);
    const double y = product(list, count, -1);
    for (int64_t k = 0; k < count; k++) {
        const double others = y != 0 ? y / (double)list[k].value : product(list, count, k);
        gnn__row(&call->in[0].grad, list[k].sender)[c] += (gnn_real_t)(dy * others);
    }
}

static int backward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "segment_product");
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < dy->cols; c++)
            column_backward(call, pairs, r, c, (double)gnn__row(dy, gnn__pairs_node(pairs, r))[c]);
    return GNN_OK;
}

const gnn_op_t gnn_op_segment_product = {.name = "segment_product",
                                         .shape = shape,
                                         .forward = forward,
                                         .backward = backward,
                                         .flags = GNN_OP_READS_GRAPH};
