/* Inverted dropout, keyed by (row, column): the mask is drawn again in backward, never stored. The
 * identity unless training. */
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

static gnn_real_t rate_of(const gnn_op_call_t *call)
{
    return ((const gnn__dropout_settings_t *)call->attributes)->rate;
}

static int dropout_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "dropout", 0, 0, 1));
    if (!(rate_of(call) >= 0 && rate_of(call) < 1))
        return gnn_op_fail(call, GNN_EINVALID, "dropout takes a rate in [0, 1), got %g",
                           (double)rate_of(call));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    return GNN_OK;
}

static void drop(const gnn_op_call_t *call, const gnn_tensor_t *x, bool add, const gnn_tensor_t *y)
{
    enum { ROWS_AT_ONCE = 32 };
    if (!call->training || rate_of(call) == 0) {
        gnn__op_send(call, 1, x, y, add);
        return;
    }
    const gnn__dropout_t d = gnn__dropout(call->rng, rate_of(call));
    const gnn__dropout_kernels_t *kernels = gnn__dropout_kernels();
    const int threads = gnn__op_threads(call, 4 * x->rows * x->cols);
    const int64_t pieces = (x->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < pieces; k++) {
        const int64_t row = k * ROWS_AT_ONCE,
                      rows = x->rows - row < ROWS_AT_ONCE ? x->rows - row : ROWS_AT_ONCE;
        kernels->matrix(&d, row, rows, x->cols, gnn__row(x, row), gnn__stride(x), add,
                        gnn__row(y, row), gnn__stride(y));
    }
}

static int dropout_forward(gnn_op_call_t *call)
{
    drop(call, &call->in[0].value, false, &call->out[0].value);
    return GNN_OK;
}

static int dropout_backward(gnn_op_call_t *call)
{
    if (gnn__wants(call, 0))
        drop(call, &call->out[0].grad, call->in[0].accumulate, &call->in[0].grad);
    return GNN_OK;
}

static gnn_real_t *rate(void *attributes)
{
    return &((gnn__dropout_settings_t *)attributes)->rate;
}

static const gnn__op_traits_t traits = {.rate = rate, .is_dropout = true};
const gnn_op_t gnn__op_dropout = {.name = "dropout",
                                  .shape = dropout_shape,
                                  .forward = dropout_forward,
                                  .backward = dropout_backward,
                                  .flags = GNN_OP_ELEMENTWISE,
                                  .traits = &traits};
