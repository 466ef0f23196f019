/* Combines graphs: disjoint ones (batch), and parts over the same nodes (merge). */
#include <graphs/build.h>

static int check_graphs(int64_t count, const gnn_graph_t *const *graphs)
{
    if (count < 1)
        return gnn__error(GNN_EINVALID, "expected at least one graph, got %lld", (long long)count);
    for (int64_t g = 0; g < count; g++)
        if (!graphs[g])
            return gnn__error(GNN_EINVALID, "graph %lld of %lld is NULL", (long long)g,
                              (long long)count);
    return GNN_OK;
}

/* ---- merge ---- */

static int copy_pairs(gnn_graph_t *graph, const gnn__pairs_t *from, int64_t shift, gnn__pairs_t *to)
{
    *to = *from;
    if (gnn__pairs_form(from) == GNN__SPANS) {
        GNN_TRY(gnn__graph_own_copy(graph, &to->row_order, from->row_order, from->n_rows,
                                    sizeof(int32_t), "order of receivers"));
        GNN_TRY(gnn__graph_own_copy(graph, &to->col_order, from->col_order, from->n_cols,
                                    sizeof(int32_t), "order of senders"));
        GNN_TRY(gnn__graph_own_copy(graph, &to->lo, from->lo, from->n_rows, sizeof(int32_t), "spans"));
        return gnn__graph_own_copy(graph, &to->hi, from->hi, from->n_rows, sizeof(int32_t), "spans");
    }
    int64_t *edge;
    to->edge_base = from->edge_base + shift;
    GNN_TRY(gnn__graph_own_copy(graph, &to->indptr, from->indptr, from->n_rows + 1, sizeof(int64_t),
                                "row pointers"));
    GNN_TRY(gnn__graph_own_copy(graph, &to->indices, from->indices, from->count, sizeof(int32_t),
                                "edges"));
    GNN_TRY(gnn__graph_own_copy(graph, &edge, from->edge, from->count, sizeof(int64_t), "edge ids"));
    for (int64_t k = 0; edge && k < from->count; k++)
        edge[k] += shift;
    to->edge = edge;
    return GNN_OK;
}

static int merge_parts(gnn_graph_t *graph, int64_t count, const gnn_graph_t *const *graphs)
{
    for (int64_t k = 0, to = 0; k < count; k++) {
        for (int64_t p = 0; p < graphs[k]->base.n_parts; p++, to++) {
            const gnn__part_t *from = &graphs[k]->base.parts[p];
            GNN_TRY(copy_pairs(graph, &from->pairs, graph->n_edges, &graph->base.parts[to].pairs));
            GNN_TRY(gnn__part_set_positions(graph, to, from->dst_position, from->src_position));
        }
        graph->n_edges += graphs[k]->n_edges;
    }
    return GNN_OK;
}

/* Copies the segments of the first graph that has any. */
static int merge_segments(gnn_graph_t *graph, int64_t count, const gnn_graph_t *const *graphs)
{
    for (int64_t k = 0; k < count; k++)
        if (graphs[k]->n_segments > 0)
            return gnn__graph_copy_segments(graph, graphs[k]);
    return GNN_OK;
}

int gnn_graph_merge(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(graphs, count);
    int rc;
    gnn_graph_t *g = NULL;
    int64_t n_parts = 0;
    GNN_CHECK(check_graphs(count, graphs));
    for (int64_t k = 0; k < count; k++) {
        const gnn_graph_t *a = graphs[0], *b = graphs[k];
        if (a->n_dst != b->n_dst || a->n_src != b->n_src)
            GNN_CHECK(gnn__error(
                GNN_ESHAPE,
                "graph %lld has %lld receivers and %lld senders, graph 0 has %lld and %lld",
                (long long)k, (long long)b->n_dst, (long long)b->n_src, (long long)a->n_dst,
                (long long)a->n_src));
        n_parts += b->base.n_parts;
    }
    GNN_CHECK(gnn__graph_new(&g, graphs[0]->n_dst, graphs[0]->n_src, n_parts));
    GNN_CHECK(merge_segments(g, count, graphs));
    GNN_CHECK(merge_parts(g, count, graphs));
done:
    return gnn__graph_deliver(graph, g, rc);
}

/* ---- batch ---- */

/* Offsets of each graph's nodes and edges, and the slot (part of the batch) of each of its parts:
 * slot[part_offset[g] + p]. */
typedef struct layout {
    int64_t count, n_slots;
    const gnn_graph_t *const *graphs;
    int64_t *dst, *src, *edge, *part; /* (count + 1) offsets each */
    int64_t *slot;                    /* (all parts) */
    gnn__form_t *form;                /* (n_slots) */
} layout_t;

static void layout_free(layout_t *l)
{
    gnn_free(l->dst);
    gnn_free(l->src);
    gnn_free(l->edge);
    gnn_free(l->part);
    gnn_free(l->slot);
    gnn_free(l->form);
}

static int layout_offsets(layout_t *l)
{
    GNN_TRY(gnn__new(&l->dst, l->count + 1, sizeof(int64_t), "offsets of a batch"));
    GNN_TRY(gnn__new(&l->src, l->count + 1, sizeof(int64_t), "offsets of a batch"));
    GNN_TRY(gnn__new(&l->edge, l->count + 1, sizeof(int64_t), "offsets of a batch"));
    GNN_TRY(gnn__new(&l->part, l->count + 1, sizeof(int64_t), "offsets of a batch"));
    for (int64_t g = 0; g < l->count; g++) {
        const gnn_graph_t *graph = l->graphs[g];
        if (!gnn__add(l->dst[g], graph->n_dst, &l->dst[g + 1]) ||
            !gnn__add(l->src[g], graph->n_src, &l->src[g + 1]) ||
            !gnn__add(l->edge[g], graph->n_edges, &l->edge[g + 1]))
            return gnn__error(GNN_EOVERFLOW, "the nodes or edges of %lld graphs overflow",
                              (long long)l->count);
        l->part[g + 1] = l->part[g] + graph->base.n_parts;
    }
    return GNN_OK;
}

/* Assigns each part to the first slot of its form that its graph does not use yet. */
static int layout_slots(layout_t *l)
{
    int64_t *last; /* (slots): the last graph that uses it, + 1 */
    GNN_TRY(gnn__new(&l->slot, l->part[l->count], sizeof *l->slot, "parts of a batch"));
    GNN_TRY(gnn__new(&l->form, l->part[l->count], sizeof *l->form, "parts of a batch"));
    GNN_TRY(gnn__new(&last, l->part[l->count], sizeof *last, "parts of a batch"));
    for (int64_t g = 0; g < l->count; g++)
        for (int64_t p = 0; p < l->graphs[g]->base.n_parts; p++) {
            const gnn__form_t form = gnn__pairs_form(&l->graphs[g]->base.parts[p].pairs);
            int64_t s = 0;
            while (s < l->n_slots && (l->form[s] != form || last[s] == g + 1))
                s++;
            l->n_slots += s == l->n_slots;
            l->form[s] = form;
            l->slot[l->part[g] + p] = s;
            last[s] = g + 1;
        }
    gnn_free(last);
    return GNN_OK;
}

/* The part of graph g in slot s; NULL if it has none. */
static const gnn__pairs_t *part_in(const layout_t *l, int64_t g, int64_t s)
{
    for (int64_t p = 0; p < l->graphs[g]->base.n_parts; p++)
        if (l->slot[l->part[g] + p] == s)
            return &l->graphs[g]->base.parts[p].pairs;
    return NULL;
}

/* True if the edge ids of a slot are consecutive from *base: then it needs no list of ids. */
static bool consecutive(const layout_t *l, int64_t s, int64_t *base)
{
    int64_t at = 0;
    *base = 0;
    for (int64_t g = 0; g < l->count; g++) {
        const gnn__pairs_t *pairs = part_in(l, g, s);
        if (!pairs || pairs->count == 0)
            continue;
        int64_t first = l->edge[g] + pairs->edge_base - at;
        if (pairs->edge || (at > 0 && first != *base))
            return false;
        *base = first;
        at += pairs->count;
    }
    return true;
}

static void concat_rows(const layout_t *l, int64_t s, int64_t *indptr, int32_t *indices, int64_t *edge)
{
    int64_t at = 0;
    for (int64_t g = 0; g < l->count; g++) {
        const gnn__pairs_t *pairs = part_in(l, g, s);
        for (int64_t i = 0; i < l->graphs[g]->n_dst; i++) {
            for (int64_t k = pairs ? pairs->indptr[i] : 0; pairs && k < pairs->indptr[i + 1];
                 k++, at++) {
                indices[at] = (int32_t)(l->src[g] + pairs->indices[k]);
                if (edge)
                    edge[at] = l->edge[g] + gnn__pairs_edge(pairs, k);
            }
            indptr[l->dst[g] + i + 1] = at;
        }
    }
}

static int concat_edges(gnn_graph_t *graph, const layout_t *l, int64_t s, gnn__pairs_t *out)
{
    int64_t *indptr, *edge = NULL;
    int32_t *indices;
    for (int64_t g = 0; g < l->count; g++) {
        const gnn__pairs_t *pairs = part_in(l, g, s);
        out->count += pairs ? pairs->count : 0;
    }
    GNN_TRY(gnn__graph_own(graph, &indptr, out->n_rows + 1, sizeof *indptr, "row pointers"));
    GNN_TRY(gnn__graph_own(graph, &indices, out->count, sizeof *indices, "edges"));
    if (!consecutive(l, s, &out->edge_base)) {
        GNN_TRY(gnn__graph_own(graph, &edge, out->count, sizeof *edge, "edge ids"));
        out->edge_base = 0;
    }
    concat_rows(l, s, indptr, indices, edge);
    out->indptr = indptr;
    out->indices = indices;
    out->edge = edge;
    return GNN_OK;
}

/* Concatenates the permutations of one side; *out stays NULL if all are the identity. */
static int concat_orders(gnn_graph_t *graph, const layout_t *l, int64_t s, bool rows,
                         const int32_t **out)
{
    const int64_t *offset = rows ? l->dst : l->src;
    bool needed = false;
    int32_t *order;
    for (int64_t g = 0; g < l->count; g++) {
        const gnn__pairs_t *pairs = part_in(l, g, s);
        needed = needed || (pairs && (rows ? pairs->row_order : pairs->col_order));
    }
    if (!needed)
        return GNN_OK;
    GNN_TRY(gnn__graph_own(graph, &order, offset[l->count], sizeof *order, "order of a batch"));
    for (int64_t g = 0; g < l->count; g++) {
        const gnn__pairs_t *pairs = part_in(l, g, s);
        const int32_t *from = NULL;
        if (pairs)
            from = rows ? pairs->row_order : pairs->col_order;
        for (int64_t r = offset[g]; r < offset[g + 1]; r++)
            order[r] = (int32_t)(offset[g] + (from ? from[r - offset[g]] : r - offset[g]));
    }
    *out = order;
    return GNN_OK;
}

/* Runs stay monotone from one graph to the next, since each has senders of its own; a graph
 * without the part gets empty runs. */
static int concat_spans(gnn_graph_t *graph, const layout_t *l, int64_t s, gnn__pairs_t *out)
{
    int32_t *lo, *hi;
    GNN_TRY(concat_orders(graph, l, s, true, &out->row_order));
    GNN_TRY(concat_orders(graph, l, s, false, &out->col_order));
    GNN_TRY(gnn__graph_own(graph, &lo, out->n_rows, sizeof *lo, "spans"));
    GNN_TRY(gnn__graph_own(graph, &hi, out->n_rows, sizeof *hi, "spans"));
    for (int64_t g = 0; g < l->count; g++) {
        const gnn__pairs_t *pairs = part_in(l, g, s);
        for (int64_t r = l->dst[g]; r < l->dst[g + 1]; r++) {
            lo[r] = (int32_t)(l->src[g] + (pairs ? pairs->lo[r - l->dst[g]] : 0));
            hi[r] = (int32_t)(l->src[g] + (pairs ? pairs->hi[r - l->dst[g]] : 0));
        }
    }
    gnn__spans_set(out, lo, hi);
    return GNN_OK;
}

/* Concatenates segments; a graph without segments counts as one. */
static int concat_segments(gnn_graph_t *graph, const layout_t *l)
{
    int64_t segments = 0, at = 0;
    for (int64_t g = 0; g < l->count; g++)
        segments += l->graphs[g]->n_segments ? l->graphs[g]->n_segments : 1;
    GNN_TRY(gnn__graph_add_segments(graph, segments));
    for (int64_t g = 0; g < l->count; g++) {
        const gnn_graph_t *from = l->graphs[g];
        for (int64_t s = 0; s < from->n_segments; s++, at++) {
            graph->dst_segments[at] = l->dst[g] + from->dst_segments[s];
            graph->src_segments[at] = l->src[g] + from->src_segments[s];
            graph->dst_start[at] = from->dst_start[s];
            graph->src_start[at] = from->src_start[s];
        }
        if (from->n_segments == 0) {
            graph->dst_segments[at] = l->dst[g];
            graph->src_segments[at++] = l->src[g];
        }
    }
    graph->dst_segments[at] = graph->n_dst;
    graph->src_segments[at] = graph->n_src;
    return GNN_OK;
}

int gnn_graph_batch(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(graphs, count);
    int rc;
    gnn_graph_t *b = NULL;
    layout_t l = {.count = count, .graphs = graphs};
    GNN_CHECK(check_graphs(count, graphs));
    for (int64_t g = 0; g < count; g++)
        if (gnn__graph_has_positions(graphs[g]))
            GNN_CHECK(gnn__error(GNN_EUNSUPPORTED,
                                 "graph %lld has a part with positions of its own: not in a batch",
                                 (long long)g));
    GNN_CHECK(layout_offsets(&l));
    GNN_CHECK(layout_slots(&l));
    GNN_CHECK(gnn__graph_new(&b, l.dst[count], l.src[count], l.n_slots));
    GNN_CHECK(concat_segments(b, &l));
    b->n_edges = l.edge[count];
    for (int64_t s = 0; s < l.n_slots; s++) {
        gnn__pairs_t *pairs = &b->base.parts[s].pairs;
        GNN_CHECK(l.form[s] == GNN__EDGES ? concat_edges(b, &l, s, pairs)
                                          : concat_spans(b, &l, s, pairs));
    }
done:
    layout_free(&l);
    return gnn__graph_deliver(graph, b, rc);
}
