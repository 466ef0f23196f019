/* How much memory a graph's views take. */
#include <graphs/graph.h>

/* One side of a part, beside what it shares with `base` (NULL: nothing). */
static size_t side_bytes(const gnn__pairs_t *p, const gnn__pairs_t *base)
{
    const size_t rows = (size_t)p->n_rows, count = (size_t)p->count;
    size_t bytes = 0;
    if (p->indptr) {
        bytes += base && p->indptr == base->indptr ? 0 : (rows + 1) * sizeof *p->indptr;
        bytes += base && p->indices == base->indices ? 0 : count * sizeof *p->indices;
        bytes += !p->edge || (base && p->edge == base->edge) ? 0 : count * sizeof *p->edge;
    } else {
        bytes += base && p->lo == base->lo ? 0 : 2 * rows * sizeof *p->lo;
    }
    return bytes;
}

static size_t scale_bytes(const gnn__part_t *part)
{
    return ((part->scale_row ? (size_t)part->pairs.n_rows : 0) +
            (part->scale_col ? (size_t)part->pairs.n_cols : 0)) *
           sizeof(gnn_real_t);
}

size_t gnn__graph_bytes(const gnn_graph_t *graph, bool views_only)
{
    size_t bytes = 0;
    for (int64_t p = 0; !views_only && p < graph->base.n_parts; p++)
        bytes += side_bytes(&graph->base.parts[p].pairs, NULL);
    for (int64_t v = 0; v < graph->n_views; v++) {
        const gnn__built_view_t *view = graph->views[v];
        bytes += view->degree != graph->base.degree ? (size_t)graph->n_dst * sizeof *view->degree : 0;
        for (int64_t p = 0; p < view->n_parts; p++) {
            bytes += side_bytes(&view->parts[p].pairs, &graph->base.parts[p].pairs) +
                     scale_bytes(&view->parts[p]);
            if (view->transposed)
                bytes += side_bytes(&view->transposed[p].pairs, &graph->base.parts[p].pairs);
        }
    }
    return bytes;
}
