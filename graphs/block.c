/* Blocks: bipartite graphs whose receivers are the first of their senders, built anew for each
 * batch of a sample in the memory of the one before, views included. */
#include <graphs/build.h>

int gnn__block_new(gnn_graph_t **block, const gnn__whole_t *whole)
{
    gnn_graph_t *g;
    *block = NULL;
    GNN_TRY(gnn__new(&g, 1, sizeof *g, "a block"));
    const int rc = gnn__new(&g->room, 1, sizeof *g->room, "a block");
    if (rc != GNN_OK) {
        gnn_free(g);
        return rc;
    }
    g->whole = whole;
    *block = g;
    return GNN_OK;
}

int gnn__block_begin(gnn_graph_t *g, int64_t n_dst, int64_t **indptr)
{
    g->n_views = 0;
    gnn__graph_forget(g, 0);
    g->n_dst = g->n_src = n_dst;
    g->n_edges = 0;
    g->base = (gnn__built_view_t){
        .key = {.self_loops = GNN_OFF, .norm = GNN_GRAPH_NORM_NONE, .backward = GNN_OFF}};
    GNN_TRY(gnn__graph_own(g, &g->base.parts, 1, sizeof *g->base.parts, "parts of a block"));
    GNN_TRY(gnn__graph_own(g, indptr, n_dst + 1, sizeof **indptr, "row pointers of a block"));
    g->base.parts[0].pairs = (gnn__pairs_t){.n_rows = n_dst, .n_cols = n_dst, .indptr = *indptr};
    g->base.n_parts = 1;
    return GNN_OK;
}

int gnn__block_edges(gnn_graph_t *g, int32_t **indices)
{
    gnn__pairs_t *pairs = &g->base.parts[0].pairs;
    g->n_edges = pairs->count = pairs->indptr[g->n_dst];
    GNN_TRY(gnn__graph_own(g, indices, g->n_edges, sizeof **indices, "edges of a block"));
    pairs->indices = *indices;
    return GNN_OK;
}

int gnn__block_end(gnn_graph_t *g, int64_t n_src)
{
    int64_t *degree;
    g->n_src = g->base.parts[0].pairs.n_cols = n_src;
    GNN_TRY(gnn__graph_own(g, &degree, g->n_dst, sizeof *degree, "degrees of a block"));
    gnn__pairs_count_degrees(&g->base.parts[0].pairs, degree);
    g->base.degree = degree;
    return GNN_OK;
}
