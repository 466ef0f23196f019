/* Linear with a sparse x (CSR): row r of y is the sum of v W_c over the stored (c, v) of row r,
 * row c of dW the sum of v dy_r over the stored (r, v) of column c. With dropout the kept values of
 * each row are listed once and saved for backward.
 *
 * Backward adds rows of dy to rows of dW, which should stay in the cache. A small dW is computed as
 * several copies, each from a fixed share of the rows, that are then added in order; a wide or
 * large dW is split by columns. */
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/ops/linear.h>

enum {
    ROWS_AT_ONCE = 64, /* dynamic chunks of rows, whose counts of stored values differ */
    UNIT = 64 / sizeof(gnn_real_t),
    STRIP = 2 * UNIT, /* columns of a large dW that are accumulated at once */
    COPIES = 4,
    COPIES_BYTES = 512 * 1024 /* budget for all copies of a small dW */
};

static gnn_real_t dropout_rate(const gnn_op_call_t *call)
{
    const gnn__linear_settings_t *how = call->attributes;
    return call->training && how ? how->sparse_dropout : 0;
}

/* The values that dropout keeps: those of row r start at indptr[r]. */
typedef struct {
    gnn_real_t *values;
    int32_t *indices, *counts;
    size_t bytes;
} kept_t;

static int lay_out_kept(const gnn_op_call_t *call, void *memory, kept_t *kept)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const int64_t stored = x->indptr[x->rows];
    size_t values, indices, counts;
    GNN_TRY(gnn__op_bytes(call, stored, 1, sizeof(gnn_real_t), &values));
    GNN_TRY(gnn__op_bytes(call, stored, 1, sizeof(int32_t), &indices));
    GNN_TRY(gnn__op_bytes(call, x->rows, 1, sizeof(int32_t), &counts));
    kept->bytes = values + indices + counts;
    if (!memory) /* only the size is wanted */
        return GNN_OK;
    kept->values = memory;
    kept->indices = (int32_t *)(kept->values + stored);
    kept->counts = kept->indices + stored;
    return GNN_OK;
}

/* Copies of dW; the count depends on the shape alone, so that results do not depend on threads. */
static int copies_of(const gnn_op_call_t *call)
{
    const int64_t most = call->in[0].rows / ROWS_AT_ONCE,
                  bytes = call->in[1].rows * call->in[1].cols * (int64_t)sizeof(gnn_real_t),
                  fit = bytes > 0 ? COPIES_BYTES / bytes : 0;
    return (int)gnn__max(gnn__min(gnn__min(most, fit), COPIES), 1);
}

int gnn__linear_sparse_shape(gnn_op_call_t *call)
{
    const gnn__linear_settings_t *how = call->attributes;
    kept_t kept;
    if (how && !(how->sparse_dropout >= 0 && how->sparse_dropout < 1))
        return gnn_op_fail(call, GNN_EINVALID, "dropout takes a rate in [0, 1), got %g",
                           (double)how->sparse_dropout);
    if (dropout_rate(call) > 0) {
        GNN_TRY(lay_out_kept(call, NULL, &kept));
        *(call->recording ? &call->saved_bytes[0] : &call->forward_scratch) = kept.bytes;
    }
    if (call->in[1].wants_grad && copies_of(call) > 1)
        GNN_TRY(gnn__op_bytes(call, copies_of(call) * call->in[1].rows, call->in[1].cols,
                              sizeof(gnn_real_t), &call->backward_scratch));
    return GNN_OK;
}

/* The product with x, or with the values that dropout kept. */
static gnn__csr_product_t product_of(const gnn_op_call_t *call, const kept_t *kept)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    gnn__csr_product_t p = {.indptr = x->indptr, .indices = x->indices, .values = x->values};
    if (kept->bytes > 0) {
        p.indices = kept->indices;
        p.values = kept->values;
        p.counts = kept->counts;
    }
    return p;
}

int gnn__linear_sparse_forward(gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn_tensor_t *w = &call->in[1].value, *y = &call->out[0].value;
    const gnn__csr_kernels_t *kernels = gnn__csr_kernels();
    const gnn__dropout_kernels_t *dropout = gnn__dropout_kernels();
    const gnn__dropout_t d = gnn__dropout(call->rng, dropout_rate(call));
    kept_t kept = {0};
    if (dropout_rate(call) > 0)
        GNN_TRY(lay_out_kept(call, call->recording ? call->saved[0] : call->scratch, &kept));
    gnn__csr_product_t p = product_of(call, &kept);
    p.x = w->data;
    p.ldx = gnn__stride(w);
    p.y = y->data;
    p.ldy = gnn__stride(y);
    p.bias = gnn__has_input(call, 2) ? call->in[2].value.data : NULL;
    const int64_t pieces = (x->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    const int threads = gnn__op_threads(call, x->indptr[x->rows] * y->cols);
    GNN__EACH_CHUNK (k, pieces, threads) {
        const int64_t from = k * ROWS_AT_ONCE,
                      to = from + ROWS_AT_ONCE < x->rows ? from + ROWS_AT_ONCE : x->rows;
        if (kept.bytes > 0)
            dropout->sparse(&d, from, to, x, kept.indices, kept.values, kept.counts);
        kernels->gather(&p, from, to, y->cols);
    }
    return GNN_OK;
}

/* For a dW that is wide, or too large for copies: each thread owns columns. */
static void scatter_by_columns(const gnn_op_call_t *call, const gnn__csr_product_t *p, int threads)
{
    const gnn_tensor_t *dw = &call->in[1].grad;
    const gnn__csr_kernels_t *kernels = gnn__csr_kernels();
    const int64_t units = (dw->cols + UNIT - 1) / UNIT;
    const int shares = threads < units ? threads : (int)units;
    GNN__PARALLEL_FOR_AS (shares, schedule(static, 1), int share = 0; share < shares; share++) {
        const int64_t first = gnn__share(units, share, shares) * UNIT,
                      end = gnn__share(units, share + 1, shares) * UNIT;
        const gnn__owned_block_t block = {0, dw->rows, first,
                                          (end < dw->cols ? end : dw->cols) - first};
        gnn__scatter_begin(&block, dw, call->in[1].accumulate);
        for (int64_t c = 0; c < block.cols; c += STRIP)
            kernels->scatter(p, 0, call->in[0].rows, block.col + c,
                             block.cols - c < STRIP ? block.cols - c : STRIP);
    }
}

static void add_copies(const gnn_op_call_t *call, int copies, int threads)
{
    const gnn_tensor_t *dw = &call->in[1].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_real_t *parts = call->scratch;
    const int64_t pieces = (dw->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < pieces; k++) {
        const int64_t from = k * ROWS_AT_ONCE,
                      to = from + ROWS_AT_ONCE < dw->rows ? from + ROWS_AT_ONCE : dw->rows;
        const bool flat = gnn__stride(dw) == dw->cols;
        const int64_t step = flat ? to - from : 1;
        for (int64_t r = from; r < to; r += step)
            for (int copy = 0; copy < copies; copy++)
                kernels->scale(step * dw->cols, 1, parts + (copy * dw->rows + r) * dw->cols,
                               copy > 0 || call->in[1].accumulate, gnn__row(dw, r));
    }
}

static void scatter_by_rows(const gnn_op_call_t *call, const gnn__csr_product_t *p, int copies,
                            int threads)
{
    const gnn_tensor_t *dw = &call->in[1].grad;
    const gnn__csr_kernels_t *kernels = gnn__csr_kernels();
    const int64_t rows = call->in[0].rows, size = dw->rows * dw->cols;
    GNN__PARALLEL_FOR_AS (threads, schedule(static, 1), int copy = 0; copy < copies; copy++) {
        gnn__csr_product_t own = *p;
        own.y = (gnn_real_t *)call->scratch + copy * size;
        own.ldy = dw->cols;
        memset(own.y, 0, (size_t)size * sizeof *own.y);
        kernels->scatter(&own, gnn__share(rows, copy, copies), gnn__share(rows, copy + 1, copies),
                         0, dw->cols);
    }
    add_copies(call, copies, gnn__op_threads(call, copies * size));
}

int gnn__linear_sparse_grad(const gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn_tensor_t *dw = &call->in[1].grad, *dy = &call->out[0].grad;
    kept_t kept = {0};
    if (dropout_rate(call) > 0)
        GNN_TRY(lay_out_kept(call, call->saved[0], &kept));
    gnn__csr_product_t p = product_of(call, &kept);
    p.x = dy->data;
    p.ldx = gnn__stride(dy);
    p.y = dw->data;
    p.ldy = gnn__stride(dw);
    const int threads = gnn__op_threads(call, x->indptr[x->rows] * dw->cols),
              copies = copies_of(call);
    if (copies > 1)
        scatter_by_rows(call, &p, copies, threads);
    else
        scatter_by_columns(call, &p, threads);
    return GNN_OK;
}
