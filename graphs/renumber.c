/* The same graph under other node numbers. With many-heard nodes first, the rows that are read most
 * often lie together and rows of like length follow one another. communities.c has the order that
 * puts neighbours together as well. */
#include <graphs/build.h>

static int check_graph(const gnn_graph_t *graph, const int64_t *order)
{
    if (!graph || !order)
        return gnn__error(GNN_EINVALID, "the %s is NULL", graph ? "order" : "graph");
    if (graph->n_dst != graph->n_src)
        return gnn__error(
            GNN_ETOPOLOGY,
            "an order is one of nodes that hear and are heard, but the graph has %lld receivers and %lld senders",
            (long long)graph->n_dst, (long long)graph->n_src);
    return GNN_OK;
}

/* A counting sort: place[d] is where the next node that hears `most` - d pairs goes. */
int gnn_graph_degree_order(const gnn_graph_t *graph, int64_t *order)
{
    int64_t most = 0, *place;
    GNN_TRY(check_graph(graph, order));
    const int64_t *degree = graph->base.degree;
    for (int64_t i = 0; i < graph->n_dst; i++)
        most = degree[i] > most ? degree[i] : most;
    GNN_TRY(gnn__new(&place, most + 2, sizeof *place, "places of degrees"));
    for (int64_t i = 0; i < graph->n_dst; i++)
        place[most - degree[i] + 1]++;
    for (int64_t d = 0; d < most; d++)
        place[d + 1] += place[d];
    for (int64_t i = 0; i < graph->n_dst; i++)
        order[place[most - degree[i]]++] = i;
    gnn_free(place);
    return GNN_OK;
}

int gnn__order_invert(int64_t n, const int64_t *order, int64_t **rank)
{
    int64_t *at;
    GNN_TRY(gnn__new(rank, n, sizeof **rank, "new numbers of nodes"));
    for (int64_t r = 0; r < n; r++) {
        bool known = order[r] >= 0 && order[r] < n;
        at = *rank + (known ? order[r] : 0);
        if (!known || *at) {
            gnn_free(*rank);
            *rank = NULL;
            return gnn__error(GNN_EINVALID, "order[%lld] = %lld %s", (long long)r,
                              (long long)order[r], known ? "was there before" : "is no node");
        }
        *at = r + 1;
    }
    for (int64_t i = 0; i < n; i++)
        (*rank)[i]--;
    return GNN_OK;
}

/* Rows and columns under their new numbers, the columns of a row in the order they had. */
static int relabel(gnn_graph_t *graph, const gnn__pairs_t *from, const int64_t *order,
                   const int64_t *rank, gnn__pairs_t *to)
{
    int64_t *indptr, *edge, at = 0;
    int32_t *indices;
    GNN_TRY(gnn__graph_own(graph, &indptr, from->n_rows + 1, sizeof *indptr, "row pointers"));
    GNN_TRY(gnn__graph_own(graph, &indices, from->count, sizeof *indices, "edges"));
    GNN_TRY(gnn__graph_own(graph, &edge, from->count, sizeof *edge, "edge numbers"));
    for (int64_t r = 0; r < from->n_rows; r++) {
        for (int64_t k = from->indptr[order[r]]; k < from->indptr[order[r] + 1]; k++, at++) {
            indices[at] = (int32_t)rank[from->indices[k]];
            edge[at] = gnn__pairs_edge(from, k);
        }
        indptr[r + 1] = at;
    }
    *to = *from;
    to->indptr = indptr;
    to->indices = indices;
    to->edge = edge;
    return GNN_OK;
}

/* Two transposes sort the senders of every receiver. What stands in between belongs to a graph that
 * is thrown away. */
static int renumber_edges(gnn_graph_t *graph, const gnn__part_t *from, const int64_t *order,
                          const int64_t *rank, gnn__part_t *to)
{
    gnn_graph_t *rest;
    gnn__part_t mixed = {0}, by_sender;
    int rc;
    GNN_TRY(gnn__graph_new(&rest, 0, 0, 0));
    GNN_CHECK(relabel(rest, &from->pairs, order, rank, &mixed.pairs));
    GNN_CHECK(gnn__part_transpose(rest, &mixed, &by_sender));
    GNN_CHECK(gnn__part_transpose(graph, &by_sender, to));
done:
    gnn_graph_free(rest);
    return rc;
}

static int renumber_nodes(gnn_graph_t *graph, const int32_t *from, int64_t n, const int64_t *rank,
                          const int32_t **to)
{
    int32_t *order;
    GNN_TRY(gnn__graph_own(graph, &order, n, sizeof *order, "order of nodes"));
    for (int64_t r = 0; r < n; r++)
        order[r] = (int32_t)rank[from ? from[r] : r];
    *to = order;
    return GNN_OK;
}

/* Rows stay where they stand; only their names change. */
static int renumber_spans(gnn_graph_t *graph, const gnn__pairs_t *from, const int64_t *rank,
                          gnn__pairs_t *to)
{
    const int64_t n = from->n_rows;
    *to = *from;
    GNN_TRY(renumber_nodes(graph, from->row_order, n, rank, &to->row_order));
    GNN_TRY(renumber_nodes(graph, from->col_order, n, rank, &to->col_order));
    GNN_TRY(gnn__graph_own_copy(graph, &to->lo, from->lo, n, sizeof *from->lo, "spans"));
    return gnn__graph_own_copy(graph, &to->hi, from->hi, n, sizeof *from->hi, "spans");
}

int(gnn_graph_renumber)(gnn_graph_t **graph, const gnn_graph_t *of, gnn_ints_t new_order)
{
    int rc;
    gnn_graph_t *g = NULL;
    const int64_t *order = new_order.data;
    int64_t *rank = NULL, *made = NULL;
    GNN_CHECK(check_graph(of, order));
    GNN_CHECK(gnn__ints_64("order", new_order, of->n_dst, &order, &made));
    if (of->n_segments > 0)
        GNN_CHECK(gnn__error(GNN_EUNSUPPORTED, "the graph has segments, whose nodes stand together"));
    GNN_CHECK(gnn__order_invert(of->n_dst, order, &rank));
    GNN_CHECK(gnn__graph_new(&g, of->n_dst, of->n_src, of->base.n_parts));
    g->n_edges = of->n_edges;
    for (int64_t p = 0; p < of->base.n_parts; p++) {
        const gnn__part_t *from = &of->base.parts[p];
        gnn__part_t *to = &g->base.parts[p];
        GNN_CHECK(gnn__pairs_form(&from->pairs) == GNN__EDGES
                      ? renumber_edges(g, from, order, rank, to)
                      : renumber_spans(g, &from->pairs, rank, &to->pairs));
    }
done:
    gnn_free(rank);
    gnn_free(made);
    return gnn__graph_deliver(graph, g, rc);
}

void gnn__graph_place_edges(gnn_graph_t *graph, int64_t *old)
{
    int64_t at = 0;
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        gnn__pairs_t *pairs = &graph->base.parts[p].pairs;
        for (int64_t k = 0; k < pairs->count; k++)
            old[at + k] = gnn__pairs_edge(pairs, k);
        pairs->edge = NULL;
        pairs->edge_base = at;
        at += pairs->count;
    }
}

int gnn__graph_rename_edges(gnn_graph_t *graph, const int64_t *number)
{
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        gnn__pairs_t *pairs = &graph->base.parts[p].pairs;
        int64_t *edge;
        GNN_TRY(gnn__graph_own(graph, &edge, pairs->count, sizeof *edge, "edge numbers"));
        for (int64_t k = 0; k < pairs->count; k++)
            edge[k] = number[gnn__pairs_edge(pairs, k)];
        pairs->edge = edge;
    }
    return GNN_OK;
}
