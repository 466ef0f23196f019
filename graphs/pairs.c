/* A graph written out pair by pair: as arrays, or as a graph of edges. Pairs stand part after part
 * and receiver after receiver, by node number. */
#include <graphs/build.h>

void gnn__part_starts(const gnn__part_t *part, int64_t *starts)
{
    memset(starts, 0, (size_t)(part->n_rows + 1) * sizeof *starts);
    gnn__part_count_degrees(part, starts + 1);
    for (int64_t i = 0; i < part->n_rows; i++)
        starts[i + 1] += starts[i];
}

static void write_pairs(const gnn__part_t *part, const int64_t *starts, int64_t *src, int64_t *dst,
                        int64_t *edge)
{
    for (int64_t r = 0; r < part->n_rows; r++) {
        gnn__walk_t w = gnn__walk_row(part, r);
        int64_t j, e, at = starts[w.node];
        for (; gnn__walk_next(&w, &j, &e); at++) {
            if (src)
                src[at] = j;
            if (dst)
                dst[at] = w.node;
            if (edge)
                edge[at] = e;
        }
    }
}

int gnn_graph_pairs(const gnn_graph_t *graph, int64_t *src, int64_t *dst, int64_t *edge)
{
    if (!graph)
        return gnn__error(GNN_EINVALID, "the graph is NULL");
    int64_t *starts, at = 0;
    GNN_TRY(gnn__new(&starts, graph->n_dst + 1, sizeof *starts, "offsets of pairs"));
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        const gnn__part_t *part = &graph->base.parts[p];
        gnn__part_starts(part, starts);
        write_pairs(part, starts, src ? src + at : NULL, dst ? dst + at : NULL,
                    edge ? edge + at : NULL);
        at += part->pairs;
    }
    gnn_free(starts);
    return GNN_OK;
}

static int copy_edges(gnn_graph_t *graph, const gnn__part_t *from, gnn__part_t *to)
{
    *to = *from;
    GNN_TRY(gnn__graph_own_copy(graph, &to->indptr, from->indptr, from->n_rows + 1,
                                sizeof *from->indptr, "row pointers"));
    GNN_TRY(gnn__graph_own_copy(graph, &to->indices, from->indices, from->pairs,
                                sizeof *from->indices, "edges"));
    return gnn__graph_own_copy(graph, &to->edge, from->edge, from->pairs, sizeof *from->edge,
                               "edge numbers");
}

static int expand_spans(gnn_graph_t *graph, const gnn__part_t *from, int64_t edge_base,
                        gnn__part_t *to)
{
    int64_t *indptr;
    int32_t *indices;
    GNN_TRY(gnn__graph_own(graph, &indptr, from->n_rows + 1, sizeof *indptr, "row pointers"));
    GNN_TRY(gnn__graph_own(graph, &indices, from->pairs, sizeof *indices,
                           "edges of a graph that was stored as spans"));
    gnn__part_starts(from, indptr);
    for (int64_t r = 0; r < from->n_rows; r++) {
        gnn__walk_t w = gnn__walk_row(from, r);
        int64_t j, e, at = indptr[w.node];
        while (gnn__walk_next(&w, &j, &e))
            indices[at++] = (int32_t)j;
    }
    *to = (gnn__part_t){.form = GNN__EDGES,
                        .n_rows = from->n_rows,
                        .n_cols = from->n_cols,
                        .pairs = from->pairs,
                        .indptr = indptr,
                        .indices = indices,
                        .edge_base = edge_base,
                        .parameter_set = from->parameter_set};
    return GNN_OK;
}

/* Explicit edges keep the user's numbers; what was spans is numbered after them. */
int gnn_graph_to_edges(gnn_graph_t **graph, const gnn_graph_t *of)
{
    int rc;
    gnn_graph_t *g = NULL;
    if (!of)
        GNN_CHECK(gnn__error(GNN_EINVALID, "the graph is NULL"));
    GNN_CHECK(gnn__graph_new(&g, of->n_dst, of->n_src, of->base.n_parts));
    GNN_CHECK(gnn__graph_copy_segments(g, of));
    g->n_edges = of->n_edges;
    for (int64_t p = 0; p < of->base.n_parts; p++) {
        const gnn__part_t *from = &of->base.parts[p];
        if (from->form == GNN__EDGES) {
            GNN_CHECK(copy_edges(g, from, &g->base.parts[p]));
            continue;
        }
        GNN_CHECK(expand_spans(g, from, g->n_edges, &g->base.parts[p]));
        g->n_edges += from->pairs;
    }
done:
    return gnn__graph_deliver(graph, g, rc);
}
