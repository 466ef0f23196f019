/* Who multiplies by a matrix in 16 bits: a kernel of its own for few rows, gnn__dense on panels
 * that are widened for many. */
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/dense/halves.h>

/* Outputs of one panel. */
enum { PANEL = 512 };

int64_t gnn__halves_scratch(const gnn__halves_t *w, int64_t rows)
{
    return rows <= GNN__FEW_ROWS ? 0 : gnn__min(w->rows, PANEL) * w->cols;
}

static void multiply_few(const gnn_context_t *context, const gnn__halves_product_t *p, int limit)
{
    const gnn__few_rows_t few = {.numbers = p->w->bf16 ? GNN__BF16 : GNN__FLOAT16,
                                 .turned = true,
                                 .w = p->w->at,
                                 .x = p->x,
                                 .bias = p->bias,
                                 .y = p->y,
                                 .rows = p->rows,
                                 .outputs = p->w->rows,
                                 .k = p->w->cols,
                                 .ldx = p->ldx,
                                 .ldw = p->w->cols,
                                 .ldy = p->ldy,
                                 .add = p->add};
    gnn__few_rows(context, &few, limit);
}

static void widen_rows(const gnn_context_t *context, const gnn__halves_t *w, int limit,
                       int64_t first, int64_t count, gnn_real_t *to, int64_t stride)
{
    const gnn__halves_kernels_t *kernels = gnn__halves_kernels();
    const int threads = gnn__threads_within(context, limit, count * w->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < count; r++)
        kernels->widen(w->cols, w->bf16, w->at + (first + r) * w->cols, to + r * stride);
}

int gnn__halves_multiply(gnn_context_t *context, const gnn__halves_product_t *p, int threads,
                         gnn_real_t *scratch)
{
    const int64_t outputs = p->w->rows, k = p->w->cols;
    if (p->rows <= GNN__FEW_ROWS) {
        multiply_few(context, p, threads);
        return GNN_OK;
    }
    for (int64_t first = 0; first < outputs; first += PANEL) {
        const int64_t n = gnn__min(PANEL, outputs - first);
        widen_rows(context, p->w, threads, first, n, scratch, k);
        GNN_TRY(gnn__dense(context, &(gnn__product_t){.transpose_b = true,
                                                      .m = p->rows,
                                                      .n = n,
                                                      .k = k,
                                                      .lda = p->ldx,
                                                      .ldb = k,
                                                      .ldc = p->ldy,
                                                      .alpha = 1,
                                                      .beta = p->add ? 1 : 0,
                                                      .a = p->x,
                                                      .b = scratch,
                                                      .c = p->y + first,
                                                      .bias = p->bias ? p->bias + first : NULL,
                                                      .threads = threads}));
    }
    return GNN_OK;
}

/* Rows of the stored matrix become columns, some at a time. */
static void widen_turned(const gnn_context_t *context, const gnn__halves_t *w, int limit,
                         gnn_real_t *to, int64_t stride)
{
    enum { SIDE = 32 };
    const gnn__halves_kernels_t *kernels = gnn__halves_kernels();
    const int threads = gnn__threads_within(context, limit, w->rows * w->cols);
    GNN__PARALLEL_FOR (threads, int64_t col = 0; col < w->cols; col += SIDE)
        for (int64_t r = 0; r < w->rows; r++) {
            gnn_real_t part[SIDE];
            const int64_t n = gnn__min(SIDE, w->cols - col);
            kernels->widen(n, w->bf16, w->at + r * w->cols + col, part);
            for (int64_t c = 0; c < n; c++)
                to[(col + c) * stride + r] = part[c];
        }
}

void gnn__halves_widen(const gnn_context_t *context, const gnn__halves_t *w, int threads,
                       gnn_real_t *to, int64_t stride)
{
    if (w->turned)
        widen_turned(context, w, threads, to, stride);
    else
        widen_rows(context, w, threads, 0, w->rows, to, stride);
}
