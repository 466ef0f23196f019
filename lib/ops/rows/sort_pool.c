/* The k senders of a receiver with the largest numbers in the last column, that one first, side by
 * side; 0 where there are fewer: (n_src x d) -> (n_dst x k*d). Option: k. Zhang et al. 2018
 * (SortPool). */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    int64_t k, cols;
    GNN_TRY(gnn__op_dense(call, "sort_pool", 0, 0, 1));
    GNN_TRY(gnn__op_whole(call, "sort_pool", 0, INT32_MAX, &k));
    GNN_TRY(gnn__op_senders(call, "sort_pool", &pairs));
    const int64_t n = gnn__op_options(call)->graph->n_dst;
    if (!gnn__mul(k, call->in[0].cols, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "sort_pool: too many columns");
    gnn__op_output(call, n, cols);
    GNN_TRY(gnn__op_list_bytes(call, pairs, &call->forward_scratch));
    return gnn__op_bytes(call, call->recording ? n : 0, k, sizeof(int64_t), &call->saved_bytes[0]);
}

static int forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "sort_pool");
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t k = x->cols > 0 ? y->cols / x->cols : 0;
    int64_t *senders = call->recording ? call->saved[0] : NULL;
    for (int64_t i = 0; i < y->rows; i++)
        memset(gnn__row(y, i), 0, sizeof(gnn_real_t) * (size_t)y->cols);
    for (int64_t at = 0; senders && at < y->rows * k; at++)
        senders[at] = -1;
    for (int64_t r = 0; k > 0 && r < pairs->n_rows; r++) {
        gnn__sender_number_t *list = call->scratch;
        const int64_t i = gnn__pairs_node(pairs, r),
                      count = gnn__op_sorted(call, pairs, r, x->cols - 1, true, list);
        for (int64_t at = 0; at < k && at < count; at++) {
            memcpy(gnn__row(y, i) + at * x->cols, gnn__row(x, list[at].sender),
                   sizeof(gnn_real_t) * (size_t)x->cols);
            if (senders)
                senders[i * k + at] = list[at].sender;
        }
    }
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad, *dx = &call->in[0].grad;
    const int64_t *senders = call->saved[0];
    if (!gnn__wants(call, 0) || dx->cols == 0)
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t i = 0; i < dy->rows; i++)
        for (int64_t at = 0; at < dy->cols / dx->cols; at++) {
            const int64_t j = senders[i * (dy->cols / dx->cols) + at];
            if (j >= 0)
                gnn__elementwise_kernels()->scale(dx->cols, 1, gnn__row(dy, i) + at * dx->cols,
                                                  true, gnn__row(dx, j));
        }
    return GNN_OK;
}

const gnn_op_t gnn_op_sort_pool = {.name = "sort_pool",
                                   .shape = shape,
                                   .forward = forward,
                                   .backward = backward,
                                   .flags = GNN_OP_READS_GRAPH};
