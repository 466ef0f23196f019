/* Gathering dense rows, sparse rows and ids of a part of the nodes or edges. */
#include <lib/model/part_rows.h>

enum { AHEAD = 8, LINE = 64 };

void gnn__part_rows_free(gnn__part_rows_t *rows)
{
    gnn_free(rows->numbers);
    gnn_free(rows->indptr);
    gnn_free(rows->indices);
    *rows = (gnn__part_rows_t){0};
}

/* Prefetches all cache lines of a row that is copied soon. */
static void prefetch_row(const gnn_tensor_t *from, int64_t row)
{
    const char *line = (const char *)gnn__row(from, row);
    for (size_t byte = 0; byte < (size_t)from->cols * sizeof *from->data; byte += LINE)
        __builtin_prefetch(line + byte);
}

static int take_dense(gnn__part_rows_t *to, const gnn_tensor_t *from,
                      const gnn__part_index_t *index, gnn_context_t *context)
{
    const int64_t n = index->count, cols = from->cols;
    int64_t numbers;
    if (!index->nodes && !index->edges) {
        to->dense = *from;
        to->dense.data = gnn__row(from, index->first);
        to->dense.rows = n;
        return GNN_OK;
    }
    if (!gnn__mul(n, cols, &numbers))
        return gnn__error(GNN_EOVERFLOW, "%lld rows of %lld columns do not fit", (long long)n,
                          (long long)cols);
    GNN_TRY(gnn__reserve(&to->numbers, &to->numbers_room, numbers, sizeof *to->numbers,
                         "rows of a part"));
    to->dense = gnn_tensor(to->numbers, n, cols);
    const int threads = gnn__threads(context, 4 * numbers);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < n; k++) {
        if (k + AHEAD < n)
            prefetch_row(from, gnn__part_row(index, k + AHEAD));
        memcpy(to->numbers + k * cols, gnn__row(from, gnn__part_row(index, k)),
               (size_t)cols * sizeof *to->numbers);
    }
    return GNN_OK;
}

static void fill_sparse(gnn__part_rows_t *to, const gnn_sparse_t *from, const gnn__part_index_t *index)
{
    for (int64_t k = 0; k < index->count; k++) {
        const int64_t row = gnn__part_row(index, k), begin = from->indptr[row];
        const size_t count = (size_t)(from->indptr[row + 1] - begin);
        memcpy(to->indices + to->indptr[k], from->indices + begin, count * sizeof *to->indices);
        if (from->values)
            memcpy(to->numbers + to->indptr[k], from->values + begin, count * sizeof *to->numbers);
    }
}

static int take_sparse(gnn__part_rows_t *to, const gnn_sparse_t *from, const gnn__part_index_t *index)
{
    const int64_t n = index->count;
    GNN_TRY(gnn__reserve(&to->indptr, &to->indptr_room, n + 1, sizeof *to->indptr, "rows of a part"));
    to->indptr[0] = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = gnn__part_row(index, k);
        to->indptr[k + 1] = to->indptr[k] + from->indptr[row + 1] - from->indptr[row];
    }
    const int64_t stored = to->indptr[n];
    GNN_TRY(gnn__reserve(&to->indices, &to->indices_room, stored, sizeof *to->indices,
                         "rows of a part"));
    if (from->values)
        GNN_TRY(gnn__reserve(&to->numbers, &to->numbers_room, stored, sizeof *to->numbers,
                             "rows of a part"));
    fill_sparse(to, from, index);
    to->sparse = (gnn_sparse_t){.rows = n,
                                .cols = from->cols,
                                .indptr = to->indptr,
                                .indices = to->indices,
                                .values = from->values ? to->numbers : NULL};
    return GNN_OK;
}

static int take_ids(gnn__part_rows_t *to, const int32_t *from, const gnn__part_index_t *index)
{
    GNN_TRY(gnn__reserve(&to->indices, &to->indices_room, index->count, sizeof *to->indices,
                         "rows of a part"));
    for (int64_t k = 0; k < index->count; k++)
        to->indices[k] = from[gnn__part_row(index, k)];
    return GNN_OK;
}

int gnn__part_rows_take(gnn__part_rows_t *to, const gnn_named_t *from,
                        const gnn__part_index_t *index, gnn_context_t *context, gnn_named_t *out)
{
    *out = (gnn_named_t){.name = from->name};
    if (from->dense) {
        GNN_TRY(take_dense(to, from->dense, index, context));
        out->dense = &to->dense;
    } else if (from->sparse) {
        GNN_TRY(take_sparse(to, from->sparse, index));
        out->sparse = &to->sparse;
    } else {
        GNN_TRY(take_ids(to, from->ids, index));
        out->ids = to->indices;
        out->count = index->count;
    }
    return GNN_OK;
}
