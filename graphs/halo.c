/* The graph of one rank, cut out of the whole graph; and the exchange of the halo's rows. */
#include <graphs/build.h>
#include <graphs/halo.h>
#include <lib/base/room.h>

static void free_halo(gnn__halo_t *halo)
{
    if (!halo)
        return;
    gnn_graph_free(halo->wide);
    gnn_free(halo->nodes);
    gnn_free(halo->place);
    gnn_free(halo->give);
    gnn_free(halo->give_at);
    gnn_free(halo->take_at);
    gnn_free(halo->messages);
    gnn_free(halo->sent);
    gnn_free(halo->taken);
    gnn_free(halo);
}

/* ---- nodes of the halo ---- */

static int check_whole(const gnn_graph_t *whole, const gnn__ranks_t *ranks)
{
    if (whole->n_dst != whole->n_src || whole->n_dst != ranks->n || whole->origin)
        return gnn__error(GNN_EUNSUPPORTED,
                          "ranks: expected a graph of %lld nodes on both sides, got %lld receivers "
                          "and %lld senders",
                          (long long)ranks->n, (long long)whole->n_dst, (long long)whole->n_src);
    if (whole->n_segments > 0)
        return gnn__error(GNN_EUNSUPPORTED, "ranks: a graph with segments is not supported");
    for (int64_t p = 0; p < whole->base.n_parts; p++)
        if (gnn__pairs_form(&whole->base.parts[p].pairs) != GNN__EDGES)
            return gnn__error(GNN_EUNSUPPORTED,
                              "ranks: part %lld of the graph stores spans, expected edges: see "
                              "gnn_graph_to_edges",
                              (long long)p);
    return GNN_OK;
}

/* place[c] = 0 for the columns of rows lo .. hi - 1. */
static void mark_columns(const gnn__pairs_t *pairs, int64_t lo, int64_t hi, int32_t *place)
{
    for (int64_t k = pairs->indptr[lo]; k < pairs->indptr[hi]; k++)
        place[pairs->indices[k]] = 0;
}

static int number_nodes(gnn__halo_t *halo)
{
    const gnn__ranks_t *ranks = halo->ranks;
    const gnn_view_t plain = {.backward = GNN_ON};
    GNN_TRY(gnn_graph_prepare(halo->whole, &plain));
    const gnn__built_view_t *view = gnn__graph_view(halo->whole, &plain);
    GNN_TRY(gnn__new(&halo->place, ranks->n, sizeof *halo->place, "rows of a rank"));
    memset(halo->place, -1, sizeof *halo->place * (size_t)ranks->n);
    for (int64_t p = 0; p < view->n_parts; p++) {
        mark_columns(&view->parts[p].pairs, ranks->lo, ranks->hi, halo->place);
        mark_columns(&view->transposed[p].pairs, ranks->lo, ranks->hi, halo->place);
    }
    halo->n_wide = halo->n_own = ranks->hi - ranks->lo;
    for (int64_t i = 0; i < ranks->n; i++) {
        const bool own = i >= ranks->lo && i < ranks->hi;
        halo->n_wide += !own && halo->place[i] == 0;
    }
    GNN_TRY(gnn__new(&halo->nodes, halo->n_wide, sizeof *halo->nodes, "rows of a rank"));
    int64_t next = halo->n_own;
    for (int64_t i = 0; i < ranks->n; i++) {
        const bool own = i >= ranks->lo && i < ranks->hi;
        if (!own && halo->place[i] < 0)
            continue;
        halo->place[i] = (int32_t)(own ? i - ranks->lo : next++);
        halo->nodes[halo->place[i]] = (int32_t)i;
    }
    return GNN_OK;
}

/* ---- messages ---- */

static size_t bytes_of(const int64_t *at, int r, size_t bytes)
{
    return (size_t)(at[r + 1] - at[r]) * bytes;
}

/* take_at from the nodes of the halo, which ascend as their owners do; give_at from the others'. */
static int count_messages(gnn__halo_t *halo)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks;
    GNN_TRY(gnn__new(&halo->take_at, size + 1, sizeof *halo->take_at, "messages of ranks"));
    GNN_TRY(gnn__new(&halo->give_at, size + 1, sizeof *halo->give_at, "messages of ranks"));
    GNN_TRY(gnn__new(&halo->messages, 2 * (int64_t)size, sizeof *halo->messages, "messages of ranks"));
    int64_t k = halo->n_own;
    for (int r = 0; r < size; r++) {
        while (k < halo->n_wide && halo->nodes[k] < ranks->book[r + 1])
            k++;
        halo->take_at[r + 1] = k - halo->n_own;
    }
    int64_t *counts;
    int rc;
    GNN_TRY(gnn__new(&counts, 2 * (int64_t)size, sizeof *counts, "messages of ranks"));
    for (int r = 0; r < size; r++) {
        counts[r] = halo->take_at[r + 1] - halo->take_at[r];
        halo->messages[r] = (gnn_bytes_t){counts + r, sizeof *counts};
        halo->messages[size + r] = (gnn_bytes_t){counts + size + r, sizeof *counts};
    }
    GNN_CHECK(gnn__ranks_exchange(ranks, "counts", halo->messages, halo->messages + size));
    for (int r = 0; r < size; r++)
        halo->give_at[r + 1] = halo->give_at[r] + counts[size + r];
done:
    gnn_free(counts);
    return rc;
}

/* Each rank sends the nodes of its halo to their owners. */
static int ask_owners(gnn__halo_t *halo)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks;
    GNN_TRY(count_messages(halo));
    GNN_TRY(gnn__new(&halo->give, halo->give_at[size], sizeof *halo->give, "messages of ranks"));
    for (int r = 0; r < size; r++) {
        halo->messages[r] = (gnn_bytes_t){halo->nodes + halo->n_own + halo->take_at[r],
                                          bytes_of(halo->take_at, r, sizeof *halo->nodes)};
        halo->messages[size + r] = (gnn_bytes_t){halo->give + halo->give_at[r],
                                                 bytes_of(halo->give_at, r, sizeof *halo->give)};
    }
    GNN_TRY(gnn__ranks_exchange(ranks, "nodes", halo->messages, halo->messages + size));
    for (int64_t k = 0; k < halo->give_at[size]; k++)
        halo->give[k] -= (int32_t)ranks->lo;
    return GNN_OK;
}

int gnn__halo_pull(gnn__halo_t *halo, void *rows, size_t stride, size_t bytes)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks;
    const int64_t n_halo = halo->n_wide - halo->n_own;
    if (size == 1)
        return GNN_OK;
    char *halo_rows = (char *)rows + (size_t)halo->n_own * stride;
    const bool direct = stride == bytes;
    GNN_TRY(gnn__reserve(&halo->sent, &halo->sent_room, halo->give_at[size] * (int64_t)bytes, 1,
                         "rows of ranks"));
    GNN_TRY(gnn__reserve(&halo->taken, &halo->taken_room, direct ? 0 : n_halo * (int64_t)bytes, 1,
                         "rows of ranks"));
    for (int64_t k = 0; k < halo->give_at[size]; k++)
        memcpy(halo->sent + (size_t)k * bytes, (const char *)rows + (size_t)halo->give[k] * stride,
               bytes);
    char *into = direct ? halo_rows : halo->taken;
    for (int r = 0; r < size; r++) {
        halo->messages[r] = (gnn_bytes_t){halo->sent + (size_t)halo->give_at[r] * bytes,
                                          bytes_of(halo->give_at, r, bytes)};
        halo->messages[size + r] = (gnn_bytes_t){into + (size_t)halo->take_at[r] * bytes,
                                                 bytes_of(halo->take_at, r, bytes)};
    }
    GNN_TRY(gnn__ranks_exchange(ranks, "rows", halo->messages, halo->messages + size));
    for (int64_t k = 0; !direct && k < n_halo; k++)
        memcpy(halo_rows + (size_t)k * stride, halo->taken + (size_t)k * bytes, bytes);
    return GNN_OK;
}

/* ---- rows of edges ---- */

/* Edges whose receivers rank r owns, over all parts. */
static int64_t count_edges(const gnn__halo_t *halo, int r)
{
    const gnn__built_view_t *view = &halo->whole->base;
    const int64_t *book = halo->ranks->book;
    int64_t count = 0;
    for (int64_t p = 0; p < view->n_parts; p++)
        count += view->parts[p].pairs.indptr[book[r + 1]] - view->parts[p].pairs.indptr[book[r]];
    return count;
}

/* Copies the rows of these edges to `packed`, or back. */
static void copy_edges(const gnn__halo_t *halo, int r, const gnn_tensor_t *rows, bool back,
                       gnn_real_t *packed)
{
    const gnn__built_view_t *view = &halo->whole->base;
    const int64_t lo = halo->ranks->book[r], hi = halo->ranks->book[r + 1];
    const size_t bytes = sizeof *packed * (size_t)rows->cols;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t k = pairs->indptr[lo]; k < pairs->indptr[hi]; k++, packed += rows->cols) {
            gnn_real_t *row = gnn__row(rows, gnn__pairs_edge(pairs, k));
            memcpy(back ? row : packed, back ? packed : row, bytes);
        }
    }
}

int gnn__halo_gather_edges(gnn__halo_t *halo, const gnn_tensor_t *rows)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks, own = ranks->transport->rank;
    const int64_t cols = rows->cols;
    size_t *counts = NULL;
    gnn_real_t *packed = NULL, *all = NULL, *at;
    int rc;
    if (size == 1)
        return GNN_OK;
    GNN_CHECK(gnn__new(&counts, size, sizeof *counts, "sizes of messages"));
    for (int r = 0; r < size; r++)
        counts[r] = (size_t)count_edges(halo, r);
    GNN_CHECK(gnn__new(&packed, (int64_t)counts[own] * cols, sizeof *packed, "rows of edges"));
    GNN_CHECK(gnn__new(&all, halo->whole->n_edges * cols, sizeof *all, "rows of edges"));
    copy_edges(halo, own, rows, false, packed);
    GNN_CHECK(gnn__ranks_gather(ranks, packed, counts, sizeof *all * (size_t)cols, all));
    at = all;
    for (int r = 0; r < size; at += (int64_t)counts[r] * cols, r++)
        if (r != own)
            copy_edges(halo, r, rows, true, at);
done:
    gnn_free(counts);
    gnn_free(packed);
    gnn_free(all);
    return rc;
}

/* ---- views ---- */

static int cut_scale(gnn__halo_t *halo, const gnn_real_t *from, const gnn_real_t **to)
{
    gnn_real_t *scale;
    *to = NULL;
    if (!from)
        return GNN_OK;
    GNN_TRY(gnn__graph_own(halo->wide, &scale, halo->n_wide, sizeof *scale, "degree norm"));
    for (int64_t k = 0; k < halo->n_wide; k++)
        scale[k] = from[halo->nodes[k]];
    *to = scale;
    return GNN_OK;
}

static int cut_part(gnn__halo_t *halo, const gnn__part_t *from, gnn__part_t *to)
{
    const gnn__pairs_t *pairs = &from->pairs;
    const int64_t lo = halo->ranks->lo, hi = halo->ranks->hi, first = pairs->indptr[lo],
                  count = pairs->indptr[hi] - first;
    int64_t *indptr, *edge;
    int32_t *indices;
    GNN_TRY(gnn__graph_own(halo->wide, &indptr, halo->n_wide + 1, sizeof *indptr, "row pointers"));
    GNN_TRY(gnn__graph_own(halo->wide, &indices, count, sizeof *indices, "edges of a rank"));
    GNN_TRY(gnn__graph_own(halo->wide, &edge, count, sizeof *edge, "edge ids of a rank"));
    for (int64_t r = 0; r <= halo->n_wide; r++)
        indptr[r] = pairs->indptr[gnn__min(lo + r, hi)] - first;
    for (int64_t k = 0; k < count; k++) {
        indices[k] = halo->place[pairs->indices[first + k]];
        edge[k] = gnn__pairs_edge(pairs, first + k);
        if (edge[k] >= halo->whole->n_edges) /* a loop that the view adds has its node's id */
            edge[k] = halo->whole->n_edges + indices[k];
    }
    to->pairs = (gnn__pairs_t){.n_rows = halo->n_wide,
                               .n_cols = halo->n_wide,
                               .count = count,
                               .sliced = true,
                               .own_rows = halo->n_own,
                               .indptr = indptr,
                               .indices = indices,
                               .edge = edge};
    GNN_TRY(cut_scale(halo, from->scale_row, &to->scale_row));
    return cut_scale(halo, from->scale_col, &to->scale_col);
}

static int cut_view(gnn__halo_t *halo, const gnn__built_view_t *from, gnn__built_view_t *to)
{
    int64_t *degree, pairs = 0;
    GNN_TRY(gnn__graph_own(halo->wide, &to->parts, from->n_parts, sizeof *to->parts, "parts"));
    GNN_TRY(gnn__graph_own(halo->wide, &to->transposed, from->n_parts, sizeof *to->parts, "parts"));
    GNN_TRY(gnn__graph_own(halo->wide, &degree, halo->n_wide, sizeof *degree, "degrees"));
    for (int64_t p = 0; p < from->n_parts; p++) {
        GNN_TRY(cut_part(halo, &from->parts[p], &to->parts[p]));
        GNN_TRY(cut_part(halo, &from->transposed[p], &to->transposed[p]));
        pairs += from->parts[p].pairs.count;
    }
    for (int64_t k = 0; k < halo->n_wide; k++)
        degree[k] = from->degree[halo->nodes[k]];
    to->degree = degree;
    to->n_parts = from->n_parts;
    to->n_loops = from->n_loops ? halo->n_wide : 0;
    to->mean_pairs = halo->ranks->n > 0 ? pairs / halo->ranks->n : 0;
    return GNN_OK;
}

static int prepare(gnn__halo_t *halo, const gnn_view_t *view)
{
    const gnn_view_t key = {view->self_loops == GNN_ON ? GNN_ON : GNN_OFF,
                            view->norm == GNN_GRAPH_NORM_DEFAULT ? GNN_GRAPH_NORM_NONE : view->norm,
                            GNN_ON};
    gnn_graph_t *wide = halo->wide;
    gnn__built_view_t *built;
    for (int64_t v = 0; v < wide->n_views; v++)
        if (memcmp(&wide->views[v]->key, &key, sizeof key) == 0)
            return GNN_OK;
    GNN_TRY(gnn_graph_prepare(halo->whole, &key));
    const gnn__built_view_t *from = gnn__graph_view(halo->whole, &key);
    GNN_TRY(gnn__room(&wide->views, wide->n_views, &wide->views_room, sizeof *wide->views,
                      "list of views"));
    GNN_TRY(gnn__graph_own(wide, &built, 1, sizeof *built, "view"));
    built->key = key;
    GNN_TRY(cut_view(halo, from, built));
    wide->views[wide->n_views++] = built;
    return GNN_OK;
}

/* ---- the whole ---- */

static int cut(gnn__halo_t *halo)
{
    const gnn_view_t plain = {.backward = GNN_ON};
    GNN_TRY(check_whole(halo->whole, halo->ranks));
    GNN_TRY(number_nodes(halo));
    GNN_TRY(ask_owners(halo));
    GNN_TRY(gnn__graph_new(&halo->wide, halo->n_wide, halo->n_wide, 0));
    halo->wide->n_edges = halo->whole->n_edges;
    halo->wide->wide_of = halo;
    GNN_TRY(cut_view(halo, gnn__graph_view(halo->whole, &plain), &halo->wide->base));
    halo->wide->base.key.backward = GNN_ON;
    return GNN_OK;
}

int gnn__halo_new(gnn_graph_t **own, gnn_graph_t *whole, gnn__ranks_t *ranks)
{
    gnn__halo_t *halo;
    int rc;
    *own = NULL;
    GNN_TRY(gnn__new(&halo, 1, sizeof *halo, "the halo of a rank"));
    halo->ranks = ranks;
    halo->whole = whole;
    GNN_CHECK(cut(halo));
    GNN_CHECK(gnn__graph_new(own, halo->n_own, halo->n_own, 0));
    (*own)->n_edges = whole->n_edges;
    (*own)->halo = halo;
    (*own)->halo_free = free_halo;
    (*own)->halo_prepare = prepare;
    return GNN_OK;
done:
    free_halo(halo);
    return rc;
}
