/* The same pairs by sender. Explicit, so that the backward pass owns its rows and needs no atomics.
 */
#include <graphs/build.h>

/* Stable counting sort by column: a sender's edges keep the order of the forward part. */
static void sort_by_column(const gnn__pairs_t *pairs, int64_t *indptr, int32_t *indices, int64_t *edge)
{
    for (int64_t k = 0; k < pairs->count; k++)
        indptr[pairs->indices[k] + 1]++;
    for (int64_t j = 0; j < pairs->n_cols; j++)
        indptr[j + 1] += indptr[j];
    for (int64_t i = 0; i < pairs->n_rows; i++)
        for (int64_t k = pairs->indptr[i]; k < pairs->indptr[i + 1]; k++) {
            int64_t place = indptr[pairs->indices[k]]++;
            indices[place] = (int32_t)i;
            edge[place] = gnn__pairs_edge(pairs, k);
        }
    memmove(indptr + 1, indptr, (size_t)pairs->n_cols * sizeof *indptr);
    indptr[0] = 0;
}

static int transpose_edges(gnn_graph_t *graph, const gnn__pairs_t *pairs, gnn__pairs_t *out)
{
    int64_t *indptr, *edge;
    int32_t *indices;
    GNN_TRY(gnn__graph_own(graph, &indptr, pairs->n_cols + 1, sizeof *indptr,
                           "row pointers of the transpose"));
    GNN_TRY(gnn__graph_own(graph, &indices, pairs->count, sizeof *indices, "edges of the transpose"));
    GNN_TRY(gnn__graph_own(graph, &edge, pairs->count, sizeof *edge, "edge numbers of the transpose"));
    sort_by_column(pairs, indptr, indices, edge);
    out->indptr = indptr;
    out->indices = indices;
    out->edge = edge;
    out->edge_base = 0;
    return GNN_OK;
}

/* Sender j is heard by the rows whose run ends after j and starts at or before it: since lo and hi
 * never decrease, these are the rows from #{r : hi_r <= j} to #{r : lo_r <= j}, and both counts
 * never decrease with j. Rows with empty runs fall out by themselves. */
static int transpose_spans(gnn_graph_t *graph, const gnn__pairs_t *pairs, gnn__pairs_t *out)
{
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(graph, &lo, pairs->n_cols, sizeof *lo, "spans of the transpose"));
    GNN_TRY(gnn__graph_own(graph, &hi, pairs->n_cols, sizeof *hi, "spans of the transpose"));
    int32_t ended = 0, started = 0;
    for (int64_t j = 0; j < pairs->n_cols; j++) {
        while (ended < pairs->n_rows && pairs->hi[ended] <= j)
            ended++;
        while (started < pairs->n_rows && pairs->lo[started] <= j)
            started++;
        lo[j] = ended;
        hi[j] = started;
    }
    out->lo = lo;
    out->hi = hi;
    out->row_order = pairs->col_order;
    out->col_order = pairs->row_order;
    return GNN_OK;
}

int gnn__part_transpose(gnn_graph_t *graph, const gnn__part_t *part, gnn__part_t *out)
{
    const gnn__pairs_t *pairs = &part->pairs;
    *out = (gnn__part_t){.pairs = *pairs, .scale_row = part->scale_col, .scale_col = part->scale_row};
    out->pairs.n_rows = pairs->n_cols;
    out->pairs.n_cols = pairs->n_rows;
    return gnn__pairs_form(pairs) == GNN__EDGES ? transpose_edges(graph, pairs, &out->pairs)
                                                : transpose_spans(graph, pairs, &out->pairs);
}
