/* The pairs of a graph as arrays, row by row, as a graph of edges, and transposed. */
#include <graphs/build.h>

/* ---- arrays, rows, edges ---- */

/* The pairs of a graph as arrays, row by row, or as a graph of edges: part after part and, within
 * a part, by receiver. */

void gnn__pairs_starts(const gnn__pairs_t *pairs, int64_t *starts)
{
    memset(starts, 0, (size_t)(pairs->n_rows + 1) * sizeof *starts);
    gnn__pairs_count_degrees(pairs, starts + 1);
    for (int64_t i = 0; i < pairs->n_rows; i++)
        starts[i + 1] += starts[i];
}

static void write_pairs(const gnn__pairs_t *pairs, const int64_t *starts, int64_t *src,
                        int64_t *dst, int64_t *edge)
{
    for (int64_t r = 0; r < pairs->n_rows; r++) {
        const int64_t i = gnn__pairs_node(pairs, r), to = gnn__pairs_to(pairs, r);
        for (int64_t k = gnn__pairs_from(pairs, r), at = starts[i]; k < to; k++, at++) {
            if (src)
                src[at] = gnn__pairs_col(pairs, k);
            if (dst)
                dst[at] = i;
            if (edge)
                edge[at] = gnn__pairs_edge(pairs, k);
        }
    }
}

int gnn_graph_pairs(const gnn_graph_t *graph, int64_t *src, int64_t *dst, int64_t *edge)
{
    GNN__NEED(graph);
    int64_t *starts, at = 0;
    GNN_TRY(gnn__new(&starts, graph->n_dst + 1, sizeof *starts, "offsets of pairs"));
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        const gnn__pairs_t *pairs = &graph->base.parts[p].pairs;
        gnn__pairs_starts(pairs, starts);
        write_pairs(pairs, starts, src ? src + at : NULL, dst ? dst + at : NULL,
                    edge ? edge + at : NULL);
        at += pairs->count;
    }
    gnn_free(starts);
    return GNN_OK;
}

int gnn_graph_row(const gnn_graph_t *graph, int64_t p, int64_t i, gnn_graph_row_t *row)
{
    GNN__NEED(graph);
    GNN__NEED(row);
    if (p < 0 || p >= graph->base.n_parts || i < 0 || i >= graph->n_dst)
        return gnn__error(
            GNN_EINVALID,
            "gnn_graph_row: expected a receiver 0 to %lld of a part 0 to %lld, got %lld of %lld",
            (long long)graph->n_dst - 1, (long long)graph->base.n_parts - 1, (long long)i,
            (long long)p);
    const gnn__part_t *part = &graph->base.parts[p];
    const gnn__pairs_t *pairs = &part->pairs;
    const int64_t r = part->row_of ? part->row_of[i] : i, from = gnn__pairs_from(pairs, r);
    const int32_t *senders = pairs->indptr ? pairs->indices : pairs->col_order;
    *row = (gnn_graph_row_t){.count = gnn__pairs_to(pairs, r) - from,
                             .senders = senders ? senders + from : NULL,
                             .first = senders ? 0 : from,
                             .edges = pairs->edge ? pairs->edge + from : NULL,
                             .first_edge = pairs->indptr ? pairs->edge_base + from : -1};
    return GNN_OK;
}

static int copy_edges(gnn_graph_t *graph, const gnn__pairs_t *from, gnn__pairs_t *to)
{
    *to = *from;
    GNN_TRY(gnn__graph_own_copy(graph, &to->indptr, from->indptr, from->n_rows + 1,
                                sizeof *from->indptr, "row pointers"));
    GNN_TRY(gnn__graph_own_copy(graph, &to->indices, from->indices, from->count,
                                sizeof *from->indices, "edges"));
    return gnn__graph_own_copy(graph, &to->edge, from->edge, from->count, sizeof *from->edge,
                               "edge ids");
}

static int expand_spans(gnn_graph_t *graph, const gnn__pairs_t *from, int64_t edge_base,
                        gnn__pairs_t *to)
{
    int64_t *indptr;
    int32_t *indices;
    GNN_TRY(gnn__graph_own(graph, &indptr, from->n_rows + 1, sizeof *indptr, "row pointers"));
    GNN_TRY(gnn__graph_own(graph, &indices, from->count, sizeof *indices,
                           "edges of a graph that was stored as spans"));
    gnn__pairs_starts(from, indptr);
    for (int64_t r = 0; r < from->n_rows; r++) {
        int64_t at = indptr[gnn__pairs_node(from, r)];
        for (int64_t k = from->lo[r]; k < from->hi[r]; k++)
            indices[at++] = (int32_t)gnn__pairs_col(from, k);
    }
    *to = (gnn__pairs_t){.n_rows = from->n_rows,
                         .n_cols = from->n_cols,
                         .count = from->count,
                         .indptr = indptr,
                         .indices = indices,
                         .edge_base = edge_base};
    return GNN_OK;
}

/* Explicit edges keep the user's ids; pairs of spans get ids after them. */
int gnn_graph_to_edges(gnn_graph_t **graph, const gnn_graph_t *of)
{
    GNN__NEED(graph);
    int rc;
    gnn_graph_t *g = NULL;
    GNN__NEED(of);
    GNN_CHECK(gnn__graph_new(&g, of->n_dst, of->n_src, of->base.n_parts));
    GNN_CHECK(gnn__graph_copy_segments(g, of));
    g->n_edges = of->n_edges;
    for (int64_t p = 0; p < of->base.n_parts; p++) {
        const gnn__pairs_t *from = &of->base.parts[p].pairs;
        GNN_CHECK(gnn__part_set_positions(g, p, of->base.parts[p].dst_position,
                                          of->base.parts[p].src_position));
        if (gnn__pairs_form(from) == GNN__EDGES) {
            GNN_CHECK(copy_edges(g, from, &g->base.parts[p].pairs));
            continue;
        }
        GNN_CHECK(expand_spans(g, from, g->n_edges, &g->base.parts[p].pairs));
        g->n_edges += from->count;
    }
done:
    return gnn__graph_deliver(graph, g, rc);
}

/* ---- transposes ---- */

/* The transpose of a part: its pairs by sender. Explicit, so that each row of the backward pass
 * has one owner and needs no atomics. */

/* Stable counting sort by column: a sender's edges keep the order of the forward part. */
static void sort_by_column(const gnn__pairs_t *pairs, int64_t *indptr, int32_t *indices, int64_t *edge)
{
    for (int64_t k = 0; k < pairs->count; k++)
        indptr[pairs->indices[k] + 1]++;
    for (int64_t j = 0; j < pairs->n_cols; j++)
        indptr[j + 1] += indptr[j];
    for (int64_t i = 0; i < pairs->n_rows; i++)
        for (int64_t k = pairs->indptr[i]; k < pairs->indptr[i + 1]; k++) {
            int64_t position = indptr[pairs->indices[k]]++;
            indices[position] = (int32_t)i;
            edge[position] = gnn__pairs_edge(pairs, k);
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
    GNN_TRY(gnn__graph_own(graph, &edge, pairs->count, sizeof *edge, "edge ids of the transpose"));
    sort_by_column(pairs, indptr, indices, edge);
    out->indptr = indptr;
    out->indices = indices;
    out->edge = edge;
    out->edge_base = 0;
    return GNN_OK;
}

/* The receivers of sender j are the rows whose run starts at or before j and ends after it. Since
 * lo and hi never decrease, these are the rows from #{r : hi_r <= j} to #{r : lo_r <= j}, and
 * neither count decreases with j. Rows with empty runs drop out. */
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
