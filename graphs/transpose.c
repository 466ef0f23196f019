/* The same pairs by sender. Explicit, so that the backward pass owns its rows and needs no atomics.
 */
#include <graphs/build.h>

/* Stable counting sort by column: a sender's edges keep the order of the forward part. */
static void sort_by_column(const gnn__part_t *part, int64_t *indptr, int32_t *indices, int64_t *edge)
{
    for (int64_t k = 0; k < part->pairs; k++)
        indptr[part->indices[k] + 1]++;
    for (int64_t j = 0; j < part->n_cols; j++)
        indptr[j + 1] += indptr[j];
    for (int64_t i = 0; i < part->n_rows; i++)
        for (int64_t k = part->indptr[i]; k < part->indptr[i + 1]; k++) {
            int64_t place = indptr[part->indices[k]]++;
            indices[place] = (int32_t)i;
            edge[place] = part->edge ? part->edge[k] : part->edge_base + k;
        }
    memmove(indptr + 1, indptr, (size_t)part->n_cols * sizeof *indptr);
    indptr[0] = 0;
}

static int transpose_edges(gnn_graph_t *graph, const gnn__part_t *part, gnn__part_t *out)
{
    int64_t *indptr, *edge;
    int32_t *indices;
    GNN_TRY(gnn__graph_own(graph, &indptr, part->n_cols + 1, sizeof *indptr,
                           "row pointers of the transpose"));
    GNN_TRY(gnn__graph_own(graph, &indices, part->pairs, sizeof *indices, "edges of the transpose"));
    GNN_TRY(gnn__graph_own(graph, &edge, part->pairs, sizeof *edge, "edge numbers of the transpose"));
    sort_by_column(part, indptr, indices, edge);
    out->indptr = indptr;
    out->indices = indices;
    out->edge = edge;
    out->edge_base = 0;
    return GNN_OK;
}

/* Sender j is heard by the rows whose run ends after j and starts at or before it: since lo and hi
 * never decrease, these are the rows from #{r : hi_r <= j} to #{r : lo_r <= j}, and both counts
 * never decrease with j. Rows with empty runs fall out by themselves. */
static int transpose_spans(gnn_graph_t *graph, const gnn__part_t *part, gnn__part_t *out)
{
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(graph, &lo, part->n_cols, sizeof *lo, "spans of the transpose"));
    GNN_TRY(gnn__graph_own(graph, &hi, part->n_cols, sizeof *hi, "spans of the transpose"));
    int32_t ended = 0, started = 0;
    for (int64_t j = 0; j < part->n_cols; j++) {
        while (ended < part->n_rows && part->hi[ended] <= j)
            ended++;
        while (started < part->n_rows && part->lo[started] <= j)
            started++;
        lo[j] = ended;
        hi[j] = started;
    }
    out->lo = lo;
    out->hi = hi;
    out->row_order = part->col_order;
    out->col_order = part->row_order;
    return GNN_OK;
}

int gnn__part_transpose(gnn_graph_t *graph, const gnn__part_t *part, gnn__part_t *out)
{
    *out = *part;
    out->n_rows = part->n_cols;
    out->n_cols = part->n_rows;
    out->scale_row = part->scale_col;
    out->scale_col = part->scale_row;
    return part->form == GNN__EDGES ? transpose_edges(graph, part, out)
                                    : transpose_spans(graph, part, out);
}
