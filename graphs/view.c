/* Views: the same graph with added self-loops, degree norms and a transpose, built on request
 * (gnn_graph_prepare) and kept inside the graph.
 *
 * A view shares every array that it does not change with the base graph or an earlier view: without
 * added self-loops the parts are the base's, and a part is transposed only once. */
#include <graphs/build.h>

#include <lib/base/settings.h>
#include <lib/base/room.h>
#include <math.h>

static gnn_view_t normalise(const gnn_view_t *view)
{
    return (gnn_view_t){.self_loops = view->self_loops == GNN_ON ? GNN_ON : GNN_OFF,
                        .norm =
                            view->norm == GNN_GRAPH_NORM_DEFAULT ? GNN_GRAPH_NORM_NONE : view->norm,
                        .backward = view->backward == GNN_ON ? GNN_ON : GNN_OFF};
}

void gnn__view_name(const gnn_view_t *key, char *text, size_t size)
{
    const char *words[3];
    int n = 0;
    if (key->self_loops == GNN_ON)
        words[n++] = "self-loops";
    if (key->norm == GNN_GRAPH_NORM_SYMMETRIC || key->norm == GNN_GRAPH_NORM_ROW)
        words[n++] = key->norm == GNN_GRAPH_NORM_ROW ? "row norm" : "symmetric norm";
    if (key->backward == GNN_ON)
        words[n++] = "transpose";
    static const char *const between[] = {"", ", ", " and "};
    size_t used = (size_t)snprintf(text, size, "%s", n ? "" : "no additions");
    for (int k = 0; k < n && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 between[k == 0 ? 0 : 1 + (k + 1 == n)], words[k]);
}

static bool serves(const gnn__built_view_t *view, const gnn_view_t *key)
{
    return view->key.self_loops == key->self_loops && view->key.norm == key->norm &&
           (view->key.backward == GNN_ON || key->backward == GNN_OFF);
}

static const gnn__built_view_t *find(const gnn_graph_t *graph, const gnn_view_t *key)
{
    if (serves(&graph->base, key))
        return &graph->base;
    for (int64_t v = 0; v < graph->n_views; v++)
        if (serves(graph->views[v], key))
            return graph->views[v];
    return NULL;
}

const gnn__built_view_t *gnn__graph_view(const gnn_graph_t *graph, const gnn_view_t *wanted)
{
    gnn_view_t key = normalise(wanted);
    const gnn__built_view_t *view = find(graph, &key);
    char name[64];
    if (graph->halo) {
        (void)gnn__error(GNN_EUNSUPPORTED, "ranks: only aggregations read a graph over ranks");
        return NULL;
    }
    if (view)
        return view;
    gnn__view_name(&key, name, sizeof name);
    (void)gnn__error(
        GNN_EUNPREPARED,
        "the graph has no view with %s: call gnn_graph_prepare, gnn_layer_prepare or gnn_model_prepare",
        name);
    return NULL;
}

/* ---- self-loops ---- */

/* Clears missing[i] if i -> i is in the part. `rank` (n_cols) is scratch for spans: rank[j] is the
 * column of sender j. */
static void find_loops(const gnn__pairs_t *pairs, int32_t *rank, uint8_t *missing)
{
    const bool spans = gnn__pairs_form(pairs) == GNN__SPANS;
    for (int64_t c = 0; spans && c < pairs->n_cols; c++)
        rank[gnn__pairs_col(pairs, c)] = (int32_t)c;
    for (int64_t r = 0; r < pairs->n_rows; r++) {
        const int64_t i = gnn__pairs_node(pairs, r), from = gnn__pairs_from(pairs, r),
                      to = gnn__pairs_to(pairs, r);
        if (spans && from <= rank[i] && rank[i] < to)
            missing[i] = 0;
        for (int64_t k = from; !spans && k < to; k++)
            if (pairs->indices[k] == i)
                missing[i] = 0;
    }
}

int gnn__view_missing_loops(const gnn__built_view_t *view, int64_t n, uint8_t **missing,
                            int64_t *count)
{
    int32_t *rank;
    *missing = NULL;
    *count = 0;
    GNN_TRY(gnn__new(&rank, n, sizeof *rank, "ranks of senders"));
    int rc = gnn__new(missing, n, 1, "marks of missing self-loops");
    if (rc == GNN_OK) {
        memset(*missing, 1, (size_t)n);
        for (int64_t p = 0; p < view->n_parts; p++)
            find_loops(&view->parts[p].pairs, rank, *missing);
        for (int64_t i = 0; i < n; i++)
            *count += (*missing)[i];
    }
    gnn_free(rank);
    return rc;
}

/* The edges of `from` (NULL: none), each row followed by its missing self-loop. */
static int insert_loops(gnn_graph_t *graph, const gnn__pairs_t *from, const uint8_t *missing,
                        int64_t count, gnn__pairs_t *out)
{
    int64_t n = graph->n_dst, at = 0, *indptr, *edge;
    int32_t *indices;
    *out = from ? *from : (gnn__pairs_t){.n_rows = n, .n_cols = n};
    out->count += count;
    GNN_TRY(gnn__graph_own(graph, &indptr, n + 1, sizeof *indptr, "row pointers with self-loops"));
    GNN_TRY(gnn__graph_own(graph, &indices, out->count, sizeof *indices, "edges with self-loops"));
    GNN_TRY(gnn__graph_own(graph, &edge, out->count, sizeof *edge, "edge ids with self-loops"));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = from ? from->indptr[i] : 0; from && k < from->indptr[i + 1]; k++, at++) {
            indices[at] = from->indices[k];
            edge[at] = gnn__pairs_edge(from, k);
        }
        if (missing[i]) {
            indices[at] = (int32_t)i;
            edge[at++] = graph->n_edges + i;
        }
        indptr[i + 1] = at;
    }
    out->indptr = indptr;
    out->indices = indices;
    out->edge = edge;
    return GNN_OK;
}

/* The base's parts with the missing self-loops: inserted if there is a single part of edges,
 * otherwise as one more part. */
static int build_loops(gnn_graph_t *graph, gnn__built_view_t *view, const uint8_t *missing,
                       int64_t count)
{
    const gnn__built_view_t *base = &graph->base;
    bool inside = base->n_parts == 1 && gnn__pairs_form(&base->parts[0].pairs) == GNN__EDGES;
    int64_t *degree;
    view->n_parts = base->n_parts + (inside ? 0 : 1);
    view->n_loops = graph->n_dst;
    GNN_TRY(
        gnn__graph_own(graph, &view->parts, view->n_parts, sizeof *view->parts, "parts of a view"));
    GNN_TRY(
        gnn__graph_own_copy(graph, &degree, base->degree, graph->n_dst, sizeof *degree, "degrees"));
    for (int64_t i = 0; i < graph->n_dst; i++)
        degree[i] += missing[i];
    view->degree = degree;
    memcpy(view->parts, base->parts, (size_t)base->n_parts * sizeof *base->parts);
    return insert_loops(graph, inside ? &base->parts[0].pairs : NULL, missing, count,
                        &view->parts[view->n_parts - 1].pairs);
}

/* ---- parts, transposes, norms ---- */

/* A view with the same pairs; NULL if there is none. */
static const gnn__built_view_t *find_same_pairs(const gnn_graph_t *graph, gnn_flag_t self_loops)
{
    if (self_loops == GNN_OFF)
        return &graph->base;
    for (int64_t v = 0; v < graph->n_views; v++)
        if (graph->views[v]->key.self_loops == self_loops)
            return graph->views[v];
    return NULL;
}

static int share_parts(gnn_graph_t *graph, gnn__built_view_t *view, const gnn__built_view_t *from)
{
    view->n_parts = from->n_parts;
    view->n_loops = from->n_loops;
    view->degree = from->degree;
    GNN_TRY(gnn__graph_own_copy(graph, &view->parts, from->parts, from->n_parts,
                                sizeof *from->parts, "parts of a view"));
    for (int64_t p = 0; p < view->n_parts; p++)
        view->parts[p].scale_row = view->parts[p].scale_col = NULL;
    return GNN_OK;
}

/* The marks belong to the block, which allocates nothing once its memory has grown. */
static int build_block_loops(gnn_graph_t *graph, gnn__built_view_t *view)
{
    uint8_t *missing;
    int64_t count = 0;
    GNN_TRY(gnn__graph_own(graph, &missing, graph->n_dst, 1, "marks of missing self-loops"));
    memset(missing, 1, (size_t)graph->n_dst);
    find_loops(&graph->base.parts[0].pairs, NULL, missing);
    for (int64_t i = 0; i < graph->n_dst; i++)
        count += missing[i];
    return count ? build_loops(graph, view, missing, count) : share_parts(graph, view, &graph->base);
}

static int build_parts(gnn_graph_t *graph, gnn__built_view_t *view)
{
    const gnn__built_view_t *same = find_same_pairs(graph, view->key.self_loops);
    uint8_t *missing = NULL;
    int64_t count;
    if (same)
        return share_parts(graph, view, same);
    if (graph->origin)
        return build_block_loops(graph, view);
    int rc = gnn__view_missing_loops(&graph->base, graph->n_dst, &missing, &count);
    if (rc == GNN_OK)
        rc = count ? build_loops(graph, view, missing, count)
                   : share_parts(graph, view, &graph->base);
    gnn_free(missing);
    return rc;
}

static bool same_arrays(const gnn__pairs_t *a, const gnn__pairs_t *b)
{
    return a->indptr == b->indptr && a->indices == b->indices && a->edge == b->edge &&
           a->edge_base == b->edge_base && a->row_order == b->row_order &&
           a->col_order == b->col_order && a->lo == b->lo && a->hi == b->hi;
}

static const gnn__part_t *find_transposed(const gnn_graph_t *graph, const gnn__part_t *part)
{
    for (int64_t v = 0; v < graph->n_views; v++)
        for (int64_t p = 0; graph->views[v]->transposed && p < graph->views[v]->n_parts; p++)
            if (same_arrays(&graph->views[v]->parts[p].pairs, &part->pairs))
                return &graph->views[v]->transposed[p];
    return NULL;
}

static int build_transposed(gnn_graph_t *graph, gnn__built_view_t *view)
{
    if (view->key.backward == GNN_OFF)
        return GNN_OK;
    GNN_TRY(gnn__graph_own(graph, &view->transposed, view->n_parts, sizeof *view->transposed,
                           "transposed parts"));
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__part_t *part = &view->parts[p], *before = find_transposed(graph, part);
        if (before)
            view->transposed[p] = *before;
        else
            GNN_TRY(gnn__part_transpose(graph, part, &view->transposed[p]));
        view->transposed[p].scale_row = part->scale_col;
        view->transposed[p].scale_col = part->scale_row;
    }
    return GNN_OK;
}

gnn_real_t gnn__norm_factor(gnn_graph_norm_t norm, int64_t degree)
{
    if (degree <= 0)
        return 0;
    return (gnn_real_t)(norm == GNN_GRAPH_NORM_SYMMETRIC ? 1 / sqrt((double)degree)
                                                         : 1 / (double)degree);
}

/* Uses the degrees of the whole graph. A receiver with c of its D pairs scales its messages by D /
 * c, so that with all of them the factors are those of the whole graph. */
static int build_block_norm(gnn_graph_t *graph, gnn__built_view_t *view)
{
    const gnn__origin_t *origin = graph->origin;
    const bool symmetric = view->key.norm == GNN_GRAPH_NORM_SYMMETRIC;
    gnn_real_t *row, *col = NULL;
    GNN_TRY(gnn__graph_own(graph, &row, graph->n_dst, sizeof *row, "degree norm"));
    if (symmetric)
        GNN_TRY(gnn__graph_own(graph, &col, graph->n_src, sizeof *col, "degree norm"));
    for (int64_t j = 0; j < graph->n_src; j++) {
        const int32_t node = origin->nodes[j];
        const int64_t sampled = j < graph->n_dst ? view->degree[j] : 0,
                      degree = origin->degree[node] +
                               (view->key.self_loops == GNN_ON ? origin->missing[node] : 0);
        const gnn_real_t factor = gnn__norm_factor(view->key.norm, degree);
        if (col)
            col[j] = factor;
        if (j < graph->n_dst)
            row[j] = sampled == 0 ? 0 : factor;
        if (j < graph->n_dst && sampled > 0 && sampled != degree)
            row[j] *= (gnn_real_t)((double)degree / (double)sampled);
    }
    view->parts[0].scale_row = row;
    view->parts[0].scale_col = col;
    return GNN_OK;
}

static int build_norm(gnn_graph_t *graph, gnn__built_view_t *view)
{
    gnn_real_t *factor;
    if (view->key.norm == GNN_GRAPH_NORM_NONE)
        return GNN_OK;
    if (graph->origin)
        return build_block_norm(graph, view);
    GNN_TRY(gnn__graph_own(graph, &factor, graph->n_dst, sizeof *factor, "degree norm"));
    for (int64_t i = 0; i < graph->n_dst; i++)
        factor[i] = gnn__norm_factor(view->key.norm, view->degree[i]);
    for (int64_t p = 0; p < view->n_parts; p++) {
        view->parts[p].scale_row = factor;
        view->parts[p].scale_col = view->key.norm == GNN_GRAPH_NORM_SYMMETRIC ? factor : NULL;
    }
    return GNN_OK;
}

static int check_view(const gnn_graph_t *graph, const gnn_view_t *view)
{
    GNN_TRY(gnn__check_flag(view->self_loops, "self_loops"));
    GNN_TRY(gnn__check_flag(view->backward, "backward"));
    if ((unsigned)view->norm > GNN_GRAPH_NORM_ROW)
        return gnn__error(GNN_EINVALID, "norm: expected 0 to %d, got %d", GNN_GRAPH_NORM_ROW,
                          (int)view->norm);
    bool loops = view->self_loops == GNN_ON;
    if (!graph->origin && graph->n_dst != graph->n_src &&
        (loops || view->norm == GNN_GRAPH_NORM_SYMMETRIC))
        return gnn__error(
            GNN_ETOPOLOGY,
            "%s needs the same nodes on both sides, but the graph has %lld receivers and %lld senders",
            loops ? "self-loops" : "symmetric norm", (long long)graph->n_dst,
            (long long)graph->n_src);
    return GNN_OK;
}

int gnn_graph_prepare(gnn_graph_t *graph, const gnn_view_t *view)
{
    int rc;
    GNN__NEED(graph);
    GNN__NEED(view);
    GNN_TRY(check_view(graph, view));
    if (graph->halo)
        return graph->halo_prepare(graph->halo, view);
    gnn_view_t key = normalise(view);
    gnn__built_view_t *built;
    if (find(graph, &key))
        return GNN_OK;
    int64_t mark = graph->n_owned;
    GNN_CHECK(gnn__room(&graph->views, graph->n_views, &graph->views_room, sizeof *graph->views,
                        "list of views"));
    GNN_CHECK(gnn__graph_own(graph, &built, 1, sizeof *built, "view"));
    built->key = key;
    GNN_CHECK(build_parts(graph, built));
    GNN_CHECK(build_norm(graph, built));
    GNN_CHECK(build_transposed(graph, built));
    graph->views[graph->n_views++] = built;
    return GNN_OK;
done:
    gnn__graph_forget(graph, mark);
    return rc;
}
