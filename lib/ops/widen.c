/* Widens an fp16 or bf16 parameter for ops that read full precision only. There is no gradient:
 * such parameters are not trained. */
#include <lib/kernels/dense/dense.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

static int widen_shape(gnn_op_call_t *call)
{
    if (!gnn__has_input(call, 0) || !gnn__op_fp16(call, 0))
        return gnn_op_fail(call, GNN_EINVALID, "widen expects an fp16 or bf16 parameter");
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    return GNN_OK;
}

static int widen_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *y = &call->out[0].value;
    gnn__fp16_widen(call->context, gnn__op_fp16(call, 0), call->threads, y->data, gnn__stride(y));
    return GNN_OK;
}

static bool reads_fp16(const void *attributes, int k, const gnn__fp16_t *w)
{
    (void)attributes, (void)k, (void)w;
    return true;
}

static const gnn__op_traits_t traits = {.reads_fp16 = reads_fp16};
const gnn_op_t gnn__op_widen = {
    .name = "widen", .shape = widen_shape, .forward = widen_forward, .traits = &traits};
