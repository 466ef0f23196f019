/* DropEdge and DropNode: graphs with randomly dropped edges. Draws are keyed by the two ids of a
 * pair (Philox), so that both directions of a link are dropped together. */
#include <graphs/graph.h>
#include <lib/base/base.h>
#include <lib/train/drop_edges.h>

static int check(const gnn_graph_t *whole, double edge, double node)
{
    if (!(edge >= 0 && edge < 1 && node >= 0 && node < 1))
        return gnn__error(GNN_EINVALID,
                          "drop_edge = %g, drop_node = %g: both are expected in [0, 1)", edge, node);
    if (gnn_graph_n_parts(whole) != 1 || gnn__graph_part_is_spans(whole, 0) ||
        gnn_graph_n_dst(whole) != gnn_graph_n_src(whole))
        return gnn__error(
            GNN_EUNSUPPORTED,
            "edges are dropped of a graph of one part that stores edges between nodes of one kind");
    return GNN_OK;
}

int gnn__drop_open(gnn__drop_t *d, const gnn_graph_t *whole, double edge, double node, uint64_t seed)
{
    const int64_t n = gnn_graph_n_dst(whole), m = gnn_graph_n_edges(whole);
    *d = (gnn__drop_t){.whole = whole, .edge = edge, .node = node, .seed = seed};
    GNN_TRY(check(whole, edge, node));
    GNN_TRY(gnn__new(&d->kept, m, sizeof *d->kept, "edges that are left"));
    GNN_TRY(gnn__new(&d->indices, m, sizeof *d->indices, "edges that are left"));
    GNN_TRY(gnn__new(&d->indptr, n + 1, sizeof *d->indptr, "edges that are left"));
    return gnn__new(&d->fallen, n, sizeof *d->fallen, "nodes that are left");
}

void gnn__drop_close(gnn__drop_t *d)
{
    gnn_graph_free(d->graph);
    gnn_free(d->kept);
    gnn_free(d->indices);
    gnn_free(d->indptr);
    gnn_free(d->fallen);
    *d = (gnn__drop_t){0};
}

static bool falls(const gnn__drop_t *d, uint64_t stream, int64_t i, int64_t j)
{
    const uint64_t low = (uint64_t)gnn__min(i, j), high = (uint64_t)gnn__max(i, j);
    return d->fallen[i] || d->fallen[j] ||
           (d->edge > 0 && gnn__uniform(d->seed, stream, low << 32 | high) < d->edge);
}

int gnn__drop_draw(gnn__drop_t *d, int64_t epoch)
{
    const int64_t n = gnn_graph_n_dst(d->whole);
    const uint64_t stream = gnn__hash_string("drop edge") + (uint64_t)epoch,
                   nodes = gnn__hash_string("drop node") + (uint64_t)epoch;
    gnn_graph_free(d->graph);
    d->graph = NULL;
    d->count = 0;
    for (int64_t i = 0; i < n; i++)
        d->fallen[i] = d->node > 0 && gnn__uniform(d->seed, nodes, (uint64_t)i) < d->node;
    for (int64_t i = 0; i < n; i++) {
        gnn_graph_row_t row;
        GNN_TRY(gnn_graph_row(d->whole, 0, i, &row));
        for (int64_t k = 0; k < row.count; k++) {
            const int64_t j = gnn_graph_row_sender(&row, k);
            if (falls(d, stream, i, j))
                continue;
            d->kept[d->count] = gnn_graph_row_edge(&row, k);
            d->indices[d->count++] = (int32_t)j;
        }
        d->indptr[i + 1] = d->count;
    }
    return gnn_graph_from_csr(&d->graph, n, n, d->indptr, d->indices);
}
