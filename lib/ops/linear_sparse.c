/* Linear on a sparse x (CSR): row r of y is the sum of v W_c over the stored (c, v) of row r, and
 * row c of dW the sum of v dy_r over the stored (r, v) of column c. With dropout, what is left of
 * each row's stored numbers is listed once and kept for backward.
 *
 * Backward adds rows of dy to rows of dW, which should stay in the cache: a wide dW is divided by
 * columns; a small one is made several times, of fixed shares of the rows, and added up in
 * order. */
#include <lib/kernels/dense/csr.h>
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/ops/linear.h>

enum {
    ROWS_AT_ONCE = 64, /* threads take turns at pieces: rows differ in how much they hold */
    UNIT = 64 / sizeof(gnn_real_t),
    STRIP = 2 * UNIT, /* columns of a dW too big for the nearer caches that are added to at once */
    COPIES = 4,
    COPIES_BYTES = 512 * 1024 /* that all copies of a small dW may take */
};

static gnn_real_t dropout_rate(const gnn_op_call_t *call)
{
    const gnn__linear_settings_t *how = call->attributes;
    return call->training && how ? how->sparse_dropout : 0;
}

/* What dropout leaves: row r's numbers from indptr[r] on. */
typedef struct {
    gnn_real_t *values;
    int32_t *indices, *counts;
    size_t bytes;
} left_t;

static int left_of(const gnn_op_call_t *call, void *memory, left_t *left)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const int64_t stored = x->indptr[x->rows];
    size_t values, indices, counts;
    GNN_TRY(gnn__op_bytes(call, stored, 1, sizeof(gnn_real_t), &values));
    GNN_TRY(gnn__op_bytes(call, stored, 1, sizeof(int32_t), &indices));
    GNN_TRY(gnn__op_bytes(call, x->rows, 1, sizeof(int32_t), &counts));
    left->bytes = values + indices + counts;
    if (!memory) /* only the size is asked */
        return GNN_OK;
    left->values = memory;
    left->indices = (int32_t *)(left->values + stored);
    left->counts = left->indices + stored;
    return GNN_OK;
}

/* How often dW is made; by the shape alone, so that the bits do not depend on threads. */
static int copies_of(const gnn_op_call_t *call)
{
    const int64_t most = call->in[0].rows / ROWS_AT_ONCE,
                  bytes = call->in[1].rows * call->in[1].cols * (int64_t)sizeof(gnn_real_t),
                  fit = bytes > 0 ? COPIES_BYTES / bytes : 0;
    const int64_t copies = most < fit ? most : fit;
    return copies > COPIES ? COPIES : copies < 2 ? 1 : (int)copies;
}

int gnn__linear_sparse_shape(gnn_op_call_t *call)
{
    const gnn__linear_settings_t *how = call->attributes;
    left_t left;
    if (how && !(how->sparse_dropout >= 0 && how->sparse_dropout < 1))
        return gnn_op_fail(call, GNN_EINVALID, "dropout takes a rate in [0, 1), got %g",
                           (double)how->sparse_dropout);
    if (dropout_rate(call) > 0) {
        GNN_TRY(left_of(call, NULL, &left));
        *(call->recording ? &call->saved_bytes[0] : &call->forward_scratch) = left.bytes;
    }
    if (call->in[1].wants_grad && copies_of(call) > 1)
        GNN_TRY(gnn__op_bytes(call, copies_of(call) * call->in[1].rows, call->in[1].cols,
                              sizeof(gnn_real_t), &call->backward_scratch));
    return GNN_OK;
}

/* The product with x as it stands, or with what is left of it. */
static gnn__csr_product_t product_of(const gnn_op_call_t *call, const left_t *left)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    gnn__csr_product_t p = {.indptr = x->indptr, .indices = x->indices, .values = x->values};
    if (left->bytes > 0) {
        p.indices = left->indices;
        p.values = left->values;
        p.counts = left->counts;
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
    left_t left = {0};
    if (dropout_rate(call) > 0)
        GNN_TRY(left_of(call, call->recording ? call->saved[0] : call->scratch, &left));
    gnn__csr_product_t p = product_of(call, &left);
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
        if (left.bytes > 0)
            dropout->sparse(&d, from, to, x, left.indices, left.values, left.counts);
        kernels->gather(&p, from, to, y->cols);
    }
    return GNN_OK;
}

/* dW is wide, or too big for copies: threads own columns. */
static void divide_columns(const gnn_op_call_t *call, const gnn__csr_product_t *p, int threads)
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

static void divide_rows(const gnn_op_call_t *call, const gnn__csr_product_t *p, int copies,
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
    left_t left = {0};
    if (dropout_rate(call) > 0)
        GNN_TRY(left_of(call, call->saved[0], &left));
    gnn__csr_product_t p = product_of(call, &left);
    p.x = dy->data;
    p.ldx = gnn__stride(dy);
    p.y = dw->data;
    p.ldy = gnn__stride(dw);
    const int threads = gnn__op_threads(call, x->indptr[x->rows] * dw->cols),
              copies = copies_of(call);
    if (copies > 1)
        divide_rows(call, &p, copies, threads);
    else
        divide_columns(call, &p, threads);
    return GNN_OK;
}
