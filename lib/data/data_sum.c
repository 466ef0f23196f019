/* The hash by which ranks compare their sets. It is kept, since it reads all of a set, until the
 * set changes. */
#include <graphs/graph.h>
#include <lib/data/arrays/arrays.h>
#include <lib/data/data.h>

/* By words: a large set is read whole. */
static void add(uint64_t *sum, const void *data, size_t bytes)
{
    *sum = gnn__hash_words(gnn__hash_start(*sum, bytes), data, bytes);
}

static void hash_graph(uint64_t *sum, const gnn_graph_t *graph)
{
    const int64_t sizes[] = {graph->n_dst, graph->n_src, graph->base.n_parts};
    add(sum, sizes, sizeof sizes);
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        const gnn__pairs_t *pairs = &graph->base.parts[p].pairs;
        if (gnn__pairs_form(pairs) != GNN__EDGES)
            continue;
        add(sum, pairs->indptr, (size_t)(pairs->n_rows + 1) * sizeof *pairs->indptr);
        add(sum, pairs->indices, (size_t)pairs->count * sizeof *pairs->indices);
    }
}

static void hash_rows(uint64_t *sum, const gnn_tensor_t *rows)
{
    for (int64_t r = 0; rows->data && r < rows->rows; r++)
        add(sum, gnn__row(rows, r), (size_t)rows->cols * sizeof *rows->data);
}

static void hash_sparse(uint64_t *sum, const gnn_sparse_t *x)
{
    const size_t stored = (size_t)x->indptr[x->rows];
    add(sum, x->indptr, (size_t)(x->rows + 1) * sizeof *x->indptr);
    add(sum, x->indices, stored * sizeof *x->indices);
    if (x->values)
        add(sum, x->values, stored * sizeof *x->values);
}

static uint64_t compute(const gnn_data_t *data)
{
    uint64_t sum = GNN__HASH_START;
    hash_graph(&sum, data->graph);
    for (int64_t k = 0; k < data->n_slots; k++)
        hash_graph(&sum, data->slots[k]);
    hash_rows(&sum, &data->x);
    if (data->sparse.indptr)
        hash_sparse(&sum, &data->sparse);
    for (int64_t k = 0; k < data->n_arrays; k++) {
        const gnn__data_array_t *a = &data->arrays[k];
        if (!a->rows.data)
            continue;
        add(&sum, a->array.name, strlen(a->array.name));
        hash_rows(&sum, &a->rows);
    }
    return sum ? sum : 1;
}

uint64_t gnn__data_sum(const gnn_data_t *data)
{
    gnn_data_t *kept = (gnn_data_t *)(uintptr_t)data;
    uint64_t sum = atomic_load(&kept->sum);
    if (sum == 0) {
        sum = compute(data);
        atomic_store(&kept->sum, sum);
    }
    return sum;
}

void gnn__data_changed(gnn_data_t *data)
{
    atomic_store(&data->sum, 0);
}
