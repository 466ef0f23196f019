/* Linear on a sparse x (CSR): row r of y is the sum of v W_c over the stored (c, v) of row r, and
 * row c of dW the sum of v dy_r over the stored (r, v) of column c. With dropout on the stored
 * numbers, the dropped ones are kept for backward (one number each).
 *
 * Both passes want the matrix whose rows they jump about in to stay in the cache. Backward either
 * gathers rows of dy, in the order of columns that is found once per program on the tape, or adds
 * each row of dy to many rows of dW, a narrow block of columns at a time. */
#include <lib/kernels/sparse.h>
#include <lib/ops/linear.h>

enum {
    ROWS_AT_ONCE = 64, /* threads take turns at pieces: rows differ in how much they hold */
    COLUMNS_AT_ONCE = 8,
    UNIT = 64 / sizeof(gnn_real_t),
    BLOCK = 2 * UNIT,  /* columns of y or dW at once, where all of them are too many */
    NEAR = 1024 * 1024 /* bytes that stay near a core */
};

static gnn_real_t dropout_rate(const gnn_op_call_t *call)
{
    const gnn__linear_t *how = call->attributes;
    return call->training && how ? how->sparse_dropout : 0;
}

/* x by columns: the rows of the stored numbers, and their places in x. */
typedef struct {
    int64_t *indptr;
    int32_t *rows, *places;
} columns_t;

static columns_t columns_of(const gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    columns_t c = {.indptr = call->kept};
    c.rows = (int32_t *)(c.indptr + x->cols + 1);
    c.places = c.rows + x->indptr[x->rows];
    return c;
}

/* By the shape alone, so that the bits do not depend on threads. */
static bool by_columns(const gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const int64_t width = call->in[1].cols, bytes = width * (int64_t)sizeof(gnn_real_t);
    return x->indptr[x->rows] <= INT32_MAX &&
           (width < 2 * BLOCK || x->rows <= x->cols || x->rows * bytes <= NEAR);
}

int gnn__linear_sparse_shape(gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn__linear_t *how = call->attributes;
    const int64_t stored = x->indptr[x->rows];
    size_t lists, indptr;
    if (how && !(how->sparse_dropout >= 0 && how->sparse_dropout < 1))
        return gnn__op_error(call, GNN_EINVALID, "dropout takes a rate in [0, 1), got %g",
                             (double)how->sparse_dropout);
    if (dropout_rate(call) > 0)
        GNN_TRY(gnn__op_bytes(call, stored, 1, sizeof(gnn_real_t),
                              call->recording ? &call->saved_bytes[0] : &call->forward_scratch));
    if (call->recording && call->in[1].wants_grad && by_columns(call)) {
        GNN_TRY(gnn__op_bytes(call, stored, 2, sizeof(int32_t), &lists));
        GNN_TRY(gnn__op_bytes(call, x->cols + 1, 1, sizeof(int64_t), &indptr));
        call->kept_bytes = lists + indptr;
    }
    return GNN_OK;
}

static void sort_by_columns(const gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const columns_t c = columns_of(call);
    memset(c.indptr, 0, sizeof *c.indptr * (size_t)(x->cols + 1));
    for (int64_t k = 0; k < x->indptr[x->rows]; k++)
        c.indptr[x->indices[k]]++;
    for (int64_t col = 0, at = 0; col <= x->cols; col++) {
        const int64_t count = c.indptr[col];
        c.indptr[col] = at;
        at += col < x->cols ? count : 0;
    }
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t k = x->indptr[r]; k < x->indptr[r + 1]; k++) {
            const int64_t at = c.indptr[x->indices[k]]++;
            c.rows[at] = (int32_t)r;
            c.places[at] = (int32_t)k;
        }
    /* Every column now begins where it ends. */
    memmove(c.indptr + 1, c.indptr, sizeof *c.indptr * (size_t)x->cols);
    c.indptr[0] = 0;
}

/* Columns of y that are made at once. */
static int64_t forward_block(const gnn_tensor_t *w)
{
    const int64_t bytes = w->rows * w->cols * (int64_t)sizeof(gnn_real_t);
    return bytes <= NEAR || w->cols < BLOCK ? w->cols : BLOCK;
}

int gnn__linear_sparse_forward(gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn_tensor_t *w = &call->in[1].value, *y = &call->out[0].value;
    const gnn__sparse_kernels_t *kernels = gnn__sparse_kernels();
    const gnn__dropout_kernels_t *dropout = gnn__dropout_kernels();
    const gnn__dropout_t d = gnn__dropout(call->rng, dropout_rate(call));
    const bool drop = dropout_rate(call) > 0;
    gnn_real_t *kept = call->recording ? call->saved[0] : call->scratch;
    const gnn__sparse_product_t p = {.indptr = x->indptr,
                                     .indices = x->indices,
                                     .values = drop ? kept : x->values,
                                     .gaps = drop,
                                     .x = w->data,
                                     .ldx = gnn__stride(w),
                                     .y = y->data,
                                     .ldy = gnn__stride(y),
                                     .bias = gnn__has_input(call, 2) ? call->in[2].value.data : NULL};
    const int64_t pieces = (x->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, block = forward_block(w);
    const int threads = gnn__threads(call->context, x->indptr[x->rows] * y->cols);
    if (call->kept_bytes && call->fresh)
        sort_by_columns(call);
    for (int64_t first = 0; first < w->cols; first += block) {
        const int64_t cols = w->cols - first < block ? w->cols - first : block;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (int64_t k = 0; k < pieces; k++) {
            const int64_t from = k * ROWS_AT_ONCE, to = from + ROWS_AT_ONCE;
            const int64_t end = to < x->rows ? to : x->rows;
            if (drop && first == 0)
                dropout->sparse(&d, from, end, x->indptr, x->values, kept);
            kernels->gather(&p, from, end, first, cols);
        }
    }
    return GNN_OK;
}

static void gather_gradient(const gnn_op_call_t *call, gnn__sparse_product_t *p, int threads)
{
    const gnn_tensor_t *dw = &call->in[1].grad;
    const gnn__sparse_kernels_t *kernels = gnn__sparse_kernels();
    const columns_t columns = columns_of(call);
    const int64_t pieces = (dw->rows + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE;
    p->indptr = columns.indptr;
    p->indices = columns.rows;
    p->place = columns.places;
    p->add = call->in[1].accumulate;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t k = 0; k < pieces; k++) {
        const int64_t from = k * COLUMNS_AT_ONCE, to = from + COLUMNS_AT_ONCE;
        kernels->gather(p, from, to < dw->rows ? to : dw->rows, 0, dw->cols);
    }
}

static void scatter_gradient(const gnn_op_call_t *call, const gnn__sparse_product_t *p, int threads)
{
    const gnn_tensor_t *dw = &call->in[1].grad;
    const gnn__sparse_kernels_t *kernels = gnn__sparse_kernels();
    const int64_t blocks = (dw->cols + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t first = k * BLOCK, left = dw->cols - first;
        const gnn__block_t block = {0, dw->rows, first, left < BLOCK ? left : BLOCK};
        gnn__scatter_begin(&block, dw, call->in[1].accumulate);
        kernels->scatter(p, call->in[0].rows, block.col, block.cols);
    }
}

void gnn__linear_sparse_grad(const gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn_tensor_t *dw = &call->in[1].grad, *dy = &call->out[0].grad;
    const bool drop = dropout_rate(call) > 0;
    gnn__sparse_product_t p = {.indptr = x->indptr,
                               .indices = x->indices,
                               .values = drop ? call->saved[0] : x->values,
                               .gaps = drop,
                               .x = dy->data,
                               .ldx = gnn__stride(dy),
                               .y = dw->data,
                               .ldy = gnn__stride(dw)};
    const int threads = gnn__threads(call->context, x->indptr[x->rows] * dw->cols);
    if (call->kept_bytes)
        gather_gradient(call, &p, threads);
    else
        scatter_gradient(call, &p, threads);
}
