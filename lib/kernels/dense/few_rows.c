/* Who multiplies which outputs of few rows. */
#include <lib/kernels/dense/few_rows.h>

/* Outputs that a thread takes at once: rows of W, or the least columns. */
enum { AT_ONCE = 64, LEAST_COLUMNS = 256 };

/* Rows of W should be read from end to end, by threads that end together. */
static int64_t columns_at_once(int64_t outputs, int threads)
{
    const int64_t parts = gnn__max(outputs / LEAST_COLUMNS / threads, 1) * threads;
    return gnn__round_up((outputs + parts - 1) / parts, AT_ONCE);
}

void gnn__few_rows(const gnn_context_t *context, const gnn__few_rows_t *p, int limit)
{
    const gnn__few_rows_kernels_t *kernels = gnn__few_rows_kernels();
    const int threads = gnn__threads_within(context, limit, p->outputs * p->k / 4);
    const int64_t n = p->turned ? AT_ONCE : columns_at_once(p->outputs, threads);
    GNN__EACH_CHUNK (k, (p->outputs + n - 1) / n, threads)
        kernels->product(p, k * n, gnn__min((k + 1) * n, p->outputs));
}
