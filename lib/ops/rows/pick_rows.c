/* Row ids[r] of a table as row r; -1 gives zeros. Backward adds rows of dy where they came from:
 * every element of the table's gradient has one owner. */
#include <lib/kernels/dense/halves.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

static int gather_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "gather", 0, 0, 2));
    if (!call->in[1].ids && call->in[1].rows > 0)
        return gnn_op_fail(call, GNN_EUNSUPPORTED,
                           "gather takes a list of row numbers as its second input");
    gnn__op_output(call, call->in[1].rows, call->in[0].cols);
    return GNN_OK;
}

static int check_ids(const gnn_op_call_t *call)
{
    const int32_t *ids = call->in[1].ids;
    for (int64_t r = 0; r < call->in[1].rows; r++)
        if (ids[r] < -1 || ids[r] >= call->in[0].rows)
            return gnn_op_fail(call, GNN_EINVALID,
                               "gather: row %lld asks for id %lld, the table has %lld rows",
                               (long long)r, (long long)ids[r], (long long)call->in[0].rows);
    return GNN_OK;
}

static void copy_row(const gnn_operand_t *table, int64_t row, gnn_real_t *to)
{
    const gnn__halves_t *h = table->halves;
    if (h)
        gnn__halves_kernels()->widen(h->cols, h->bf16, h->at + row * h->cols, to);
    else
        memcpy(to, gnn__row(&table->value, row), (size_t)table->cols * sizeof *to);
}

static int gather_forward(gnn_op_call_t *call)
{
    const int32_t *ids = call->in[1].ids;
    const gnn_tensor_t *y = &call->out[0].value;
    GNN_TRY(check_ids(call));
    const size_t bytes = (size_t)y->cols * sizeof(gnn_real_t);
    const int threads = gnn__op_threads(call, bytes ? y->rows * y->cols : 0);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < y->rows; r++) {
        if (bytes && ids[r] >= 0)
            copy_row(&call->in[0], ids[r], gnn__row(y, r));
        else if (bytes)
            memset(gnn__row(y, r), 0, bytes);
    }
    return GNN_OK;
}

static void add_block(const gnn_op_call_t *call, const gnn__owned_block_t *block)
{
    const int32_t *ids = call->in[1].ids;
    const gnn_tensor_t *table = &call->in[0].grad, *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn__scatter_begin(block, table, call->in[0].accumulate);
    for (int64_t r = 0; r < dy->rows; r++)
        if (ids[r] >= block->row && ids[r] < block->row + block->rows)
            kernels->scale(block->cols, 1, gnn__row(dy, r) + block->col, true,
                           gnn__row(table, ids[r]) + block->col);
}

static int gather_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *table = &call->in[0].grad;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    const int threads =
        gnn__op_threads(call, (call->in[0].accumulate ? 0 : table->rows * table->cols) +
                                  call->in[1].rows * table->cols);
    GNN__PARALLEL_FOR_AS (threads, schedule(static, 1), int share = 0; share < threads; share++) {
        gnn__owned_block_t block = gnn__scatter_share(table->rows, table->cols, share, threads);
        if (block.rows > 0 && block.cols > 0)
            add_block(call, &block);
    }
    return GNN_OK;
}

static bool reads_halves(const void *attributes, int k, const gnn__halves_t *w)
{
    (void)attributes;
    return k == 0 && !w->turned;
}

static const gnn__op_traits_t traits = {.halves = reads_halves};
const gnn_op_t gnn_op_pick_rows = {.name = "pick_rows",
                                   .shape = gather_shape,
                                   .forward = gather_forward,
                                   .backward = gather_backward,
                                   .traits = &traits};
