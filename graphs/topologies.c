/* Topologies: graphs over a list of segment lengths, as constructors and as a table with options
 * in text. */
#include <graphs/build.h>
#include <lib/base/settings.h>

/* ---- options: "width=3,dilation=2" ---- */

static int unknown_option(const char *topology, const char *text, size_t length, int64_t count,
                          const gnn__topology_option_t *options)
{
    char known[256] = "";
    for (int64_t k = 0; k < count; k++)
        gnn__append_name(known, sizeof known, ", ", options[k].name);
    return gnn__error(GNN_EINVALID, "topology %s has no option \"%.*s\"; it has %s", topology,
                      (int)(length < 80 ? length : 80), text, *known ? known : "no options");
}

#define MOST INT64_C(999999999999999999) /* 18 digits cannot overflow */

/* Reads `text` as a decimal integer without sign; false for anything else. */
static bool read_integer(const char *text, size_t length, int64_t *value)
{
    int64_t digits = 0;
    if (length == 0 || length > 18)
        return false;
    for (size_t k = 0; k < length; k++) {
        if (text[k] < '0' || text[k] > '9')
            return false;
        digits = digits * 10 + (text[k] - '0');
    }
    *value = digits;
    return true;
}

static int read_option(const char *topology, const char *text, size_t length, int64_t count,
                       const gnn__topology_option_t *options, unsigned *given)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;
    for (int64_t k = 0; k < count; k++) {
        const gnn__topology_option_t *o = &options[k];
        if (strlen(o->name) != name || memcmp(o->name, text, name) != 0)
            continue;
        const int64_t most = o->most ? o->most : MOST;
        if (*given & 1u << k)
            return gnn__error(GNN_EINVALID, "topology %s: option %s is given twice", topology,
                              o->name);
        *given |= 1u << k;
        if (!equals || !read_integer(equals + 1, length - name - 1, o->value) ||
            *o->value < o->least || *o->value > most)
            return gnn__error(GNN_EINVALID,
                              "\"%.*s\" of topology %s: expected %s=integer, %lld to %lld",
                              (int)(length < 80 ? length : 80), text, topology, o->name,
                              (long long)o->least, (long long)most);
        return GNN_OK;
    }
    return unknown_option(topology, text, name, count, options);
}

int gnn__topology_options(gnn_graph_t **graph, const char *topology, const char *text,
                          int64_t count, const gnn__topology_option_t *options)
{
    unsigned given = 0;
    if (graph)
        *graph = NULL;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        GNN_TRY(read_option(topology, text, length, count, options, &given));
        text += length + (text[length] == ',');
    }
    return GNN_OK;
}

/* ---- complete ---- */

/* Every node receives from every node of its segment: an encoder's self-attention (Vaswani et al.
 * 2017). */

int gnn_graph_complete(gnn_graph_t **graph, int64_t segments, const int64_t *lengths)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(lengths, segments);
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__graph_new_segments(&g, segments, lengths, lengths, 1));
    GNN_CHECK(gnn__spans_whole_segments(g, &g->base.parts[0].pairs));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_complete(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                           const char *options)
{
    GNN_TRY(gnn__topology_options(graph, "complete", options, 0, NULL));
    return gnn_graph_complete(graph, segments, lengths);
}

/* ---- causal ---- */

/* Position p receives from positions 0..p of its segment: a decoder's self-attention (Vaswani et
 * al. 2017, section 3.2.3). */

static int causal_fill(gnn_graph_t *g, gnn__pairs_t *pairs)
{
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(g, &lo, g->n_dst, sizeof *lo, "spans"));
    GNN_TRY(gnn__graph_own(g, &hi, g->n_dst, sizeof *hi, "spans"));
    for (int64_t s = 0; s < g->n_segments; s++)
        for (int64_t p = g->dst_segments[s]; p < g->dst_segments[s + 1]; p++) {
            lo[p] = (int32_t)g->src_segments[s];
            hi[p] = (int32_t)(p + 1);
        }
    gnn__spans_set(pairs, lo, hi);
    return GNN_OK;
}

int gnn_graph_causal(gnn_graph_t **graph, int64_t segments, const int64_t *lengths)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(lengths, segments);
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__graph_new_segments(&g, segments, lengths, lengths, 1));
    GNN_CHECK(causal_fill(g, &g->base.parts[0].pairs));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_causal(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options)
{
    GNN_TRY(gnn__topology_options(graph, "causal", options, 0, NULL));
    return gnn_graph_causal(graph, segments, lengths);
}

/* ---- bipartite ---- */

/* Complete bipartite segments: every receiver of a segment receives from all its senders.
 * Cross-attention (Vaswani et al. 2017) and, with one receiver each, readouts. */

int gnn_graph_bipartite(gnn_graph_t **graph, int64_t segments, const int64_t *dst_lengths,
                        const int64_t *src_lengths)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(dst_lengths, segments);
    GNN__NEED_LIST(src_lengths, segments);
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__graph_new_segments(&g, segments, dst_lengths, src_lengths, 1));
    GNN_CHECK(gnn__spans_whole_segments(g, &g->base.parts[0].pairs));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_bipartite(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                            const char *options)
{
    int64_t receivers = 0, *dst_lengths = NULL;
    GNN_TRY(gnn__topology_options(graph, "bipartite", options, 1,
                                  (gnn__topology_option_t[]){{"receivers", &receivers, 0, 0}}));
    if (receivers == 0 || segments <= 0)
        return gnn_graph_bipartite(graph, segments, lengths, lengths);
    GNN_TRY(gnn__new(&dst_lengths, segments, sizeof *dst_lengths, "segment lengths"));
    for (int64_t s = 0; s < segments; s++)
        dst_lengths[s] = receivers;
    int rc = gnn_graph_bipartite(graph, segments, dst_lengths, lengths);
    gnn_free(dst_lengths);
    return rc;
}

/* ---- window ---- */

/* Sliding window, Beltagy et al. 2020, figures 2b and 2c: position p receives from p + k *
 * dilation for |k| <= width within its segment.
 *
 * With a dilation the senders of p are not contiguous, but all are in the residue class of p.
 * Ordered class by class, every run of senders is contiguous again. Length 7, dilation 2:
 *
 *     rank    0 1 2 3 | 4 5 6
 *     node    0 2 4 6 | 1 3 5       node 4, width 1: ranks 1..3, nodes 2 4 6 */

typedef struct window {
    int64_t before, after, dilation;
    int32_t *order, *lo, *hi; /* order NULL: dilation 1 */
} window_t;

/* Positions first, first + dilation, ... of a segment that ends at `end`, as ranks from `rank` on.
 * Returns their count. */
static int64_t fill_class(const window_t *w, int64_t first, int64_t end, int64_t rank)
{
    int64_t length = (end - first - 1) / w->dilation + 1;
    for (int64_t k = 0; k < length; k++) {
        if (w->order)
            w->order[rank + k] = (int32_t)(first + k * w->dilation);
        w->lo[rank + k] = (int32_t)(rank + (k > w->before ? k - w->before : 0));
        w->hi[rank + k] = (int32_t)(rank + (w->after < length - 1 - k ? k + w->after + 1 : length));
    }
    return length;
}

static int window_fill(gnn_graph_t *g, gnn__pairs_t *pairs, window_t *w)
{
    if (w->dilation > 1)
        GNN_TRY(gnn__graph_own(g, &w->order, g->n_dst, sizeof(int32_t), "order of receivers"));
    GNN_TRY(gnn__graph_own(g, &w->lo, g->n_dst, sizeof(int32_t), "spans"));
    GNN_TRY(gnn__graph_own(g, &w->hi, g->n_dst, sizeof(int32_t), "spans"));
    for (int64_t s = 0, rank = 0; s < g->n_segments; s++) {
        int64_t start = g->dst_segments[s], end = g->dst_segments[s + 1];
        for (int64_t residue = 0; residue < w->dilation && start + residue < end; residue++)
            rank += fill_class(w, start + residue, end, rank);
    }
    pairs->row_order = pairs->col_order = w->order;
    gnn__spans_set(pairs, w->lo, w->hi);
    return GNN_OK;
}

int gnn_graph_window(gnn_graph_t **graph, int64_t segments, const int64_t *lengths, int64_t width,
                     int64_t dilation, gnn_flag_t causal)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(lengths, segments);
    int rc;
    gnn_graph_t *g = NULL;
    window_t w = {.before = width, .after = causal == GNN_ON ? 0 : width, .dilation = dilation};
    if (width < 0)
        GNN_CHECK(gnn__error(GNN_EINVALID, "width: expected >= 0, got %lld", (long long)width));
    if (dilation < 1)
        GNN_CHECK(gnn__error(GNN_EINVALID, "dilation: expected >= 1, got %lld", (long long)dilation));
    GNN_CHECK(gnn__check_flag(causal, "causal"));
    GNN_CHECK(gnn__graph_new_segments(&g, segments, lengths, lengths, 1));
    GNN_CHECK(window_fill(g, &g->base.parts[0].pairs, &w));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_window(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options)
{
    int64_t width = 1, dilation = 1, causal = 0;
    GNN_TRY(gnn__topology_options(graph, "window", options, 3,
                                  (gnn__topology_option_t[]){{"width", &width, 0, 0},
                                                             {"dilation", &dilation, 1, 0},
                                                             {"causal", &causal, 0, 1}}));
    return gnn_graph_window(graph, segments, lengths, width, dilation, causal ? GNN_ON : GNN_OFF);
}

/* ---- window_global ---- */

/* Longformer's pattern, Beltagy et al. 2020, figure 2d: a window over positions, and global nodes
 * that are connected to their whole segment in both directions. Three disjoint parts, so that no
 * pair is counted twice:
 *
 *     part  receivers  senders                  order of senders
 *     0     others     others in their window   others, then globals
 *     1     others     globals of the segment   others, then globals
 *     2     globals    the whole segment        by position
 *
 * A part has a row for every receiver; receivers without senders in it have empty runs
 * (gnn__spans_settle). */

typedef struct pattern {
    int64_t width, n_others;
    uint8_t *is_global;
    int32_t *others; /* others[p]: the count of nodes below p that are not global */
} pattern_t;

static int mark_globals(pattern_t *pattern, int64_t n, int64_t m, gnn_ints_t globals)
{
    GNN_TRY(gnn__new(&pattern->is_global, n, 1, "marks of global nodes"));
    GNN_TRY(gnn__new(&pattern->others, n + 1, sizeof(int32_t), "counts of other nodes"));
    for (int64_t k = 0; k < m; k++) {
        const int64_t node = gnn__int(globals, k);
        if (node < 0 || node >= n)
            return gnn__error(GNN_ETOPOLOGY, "globals[%lld] = %lld, but there are %lld nodes",
                              (long long)k, (long long)node, (long long)n);
        if (pattern->is_global[node])
            return gnn__error(GNN_ETOPOLOGY, "globals[%lld] = %lld is a duplicate", (long long)k,
                              (long long)node);
        pattern->is_global[node] = 1;
    }
    for (int64_t p = 0; p < n; p++)
        pattern->others[p + 1] = pattern->others[p] + !pattern->is_global[p];
    pattern->n_others = n - m;
    return GNN_OK;
}

static int order_senders(gnn_graph_t *g, const pattern_t *pattern, int32_t **order)
{
    GNN_TRY(gnn__graph_own(g, order, g->n_src, sizeof **order, "order of senders"));
    for (int64_t p = 0; p < g->n_src; p++) {
        int64_t rank =
            pattern->is_global[p] ? pattern->n_others + p - pattern->others[p] : pattern->others[p];
        (*order)[rank] = (int32_t)p;
    }
    return GNN_OK;
}

/* The run of receiver p of segment [start, end) in one of the three parts; empty if it has no
 * senders there. */
static void find_run(const pattern_t *pattern, int which, int64_t p, int64_t start, int64_t end,
                     int32_t *lo, int32_t *hi)
{
    const int32_t *others = pattern->others;
    int64_t first = p - start > pattern->width ? p - pattern->width : start;
    int64_t last = end - 1 - p > pattern->width ? p + pattern->width + 1 : end;
    *lo = *hi = 0;
    if (pattern->is_global[p] != (which == 2))
        return;
    if (which == 0) {
        *lo = others[first];
        *hi = others[last];
    } else if (which == 1) {
        *lo = (int32_t)(pattern->n_others + start - others[start]);
        *hi = (int32_t)(pattern->n_others + end - others[end]);
    } else {
        *lo = (int32_t)start;
        *hi = (int32_t)end;
    }
}

static int window_global_fill(gnn_graph_t *g, const pattern_t *pattern, int which,
                              const int32_t *order)
{
    gnn__pairs_t *pairs = &g->base.parts[which].pairs;
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(g, &lo, g->n_dst, sizeof *lo, "spans"));
    GNN_TRY(gnn__graph_own(g, &hi, g->n_dst, sizeof *hi, "spans"));
    for (int64_t s = 0; s < g->n_segments; s++)
        for (int64_t p = g->dst_segments[s]; p < g->dst_segments[s + 1]; p++)
            find_run(pattern, which, p, g->dst_segments[s], g->dst_segments[s + 1], &lo[p], &hi[p]);
    pairs->col_order = order;
    return gnn__spans_settle(g, pairs, lo, hi);
}

int(gnn_graph_window_global)(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                             int64_t width, int64_t m, gnn_ints_t globals)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(lengths, segments);
    GNN__NEED_INTS(globals, m);
    int rc;
    gnn_graph_t *g = NULL;
    pattern_t pattern = {.width = width};
    int32_t *order;
    if (width < 0 || m < 0)
        GNN_CHECK(gnn__error(GNN_EINVALID, "%s: expected >= 0, got %lld", width < 0 ? "width" : "m",
                             (long long)(width < 0 ? width : m)));
    GNN_CHECK(gnn__ints_check("globals", globals, m));
    GNN_CHECK(gnn__graph_new_segments(&g, segments, lengths, lengths, 3));
    GNN_CHECK(mark_globals(&pattern, g->n_dst, m, globals));
    GNN_CHECK(order_senders(g, &pattern, &order));
    GNN_CHECK(window_global_fill(g, &pattern, 0, order));
    GNN_CHECK(window_global_fill(g, &pattern, 1, order));
    GNN_CHECK(window_global_fill(g, &pattern, 2, NULL));
done:
    gnn_free(pattern.is_global);
    gnn_free(pattern.others);
    return gnn__graph_deliver(graph, g, rc);
}

/* The first `each` nodes of every segment (all nodes of a shorter one). */
static int first_nodes(int64_t segments, const int64_t *lengths, int64_t each, int64_t *m,
                       int64_t **globals)
{
    int64_t start = 0;
    *m = 0;
    for (int64_t s = 0; s < segments; s++)
        *m += lengths[s] < each ? lengths[s] : each;
    GNN_TRY(gnn__new(globals, *m, sizeof **globals, "global nodes"));
    for (int64_t s = 0, at = 0; s < segments; start += lengths[s++])
        for (int64_t k = 0; k < each && k < lengths[s]; k++)
            (*globals)[at++] = start + k;
    return GNN_OK;
}

int gnn__topology_window_global(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                                const char *options)
{
    int64_t width = 1, each = 1, m, *globals;
    gnn_graph_t *check;
    GNN_TRY(gnn__topology_options(
        graph, "window_global", options, 2,
        (gnn__topology_option_t[]){{"width", &width, 0, 0}, {"globals", &each, 0, 0}}));
    GNN_TRY(gnn__graph_new_segments(&check, segments, lengths, lengths,
                                    0)); /* checks the lengths, which first_nodes relies on */
    gnn_graph_free(check);
    GNN_TRY(first_nodes(segments, lengths, each, &m, &globals));
    int rc = gnn_graph_window_global(graph, segments, lengths, width, m, globals);
    gnn_free(globals);
    return rc;
}

/* ---- incremental decoding ---- */

/* Incremental decoding: segment s has before[s] rows already and counts[s] new ones, which receive
 * from themselves and from earlier rows, at most `window` of them (0: all). Segments of senders
 * have `capacity` rows each; those not yet written have no receivers. */

static void fill_decoding_segment(const gnn_graph_t *g, int64_t s, int64_t window, int32_t *lo,
                                  int32_t *hi)
{
    const int64_t begin = g->src_segments[s], from = g->dst_segments[s];
    for (int64_t r = from; r < g->dst_segments[s + 1]; r++) {
        const int64_t position = g->dst_start[s] + r - from;
        lo[r] = (int32_t)(begin + (window > 0 ? gnn__max(0, position - window) : 0));
        hi[r] = (int32_t)(begin + position + 1);
    }
}

static int decoding_fill(gnn_graph_t *g, const int64_t *before, int64_t window)
{
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(g, &lo, g->n_dst, sizeof *lo, "spans"));
    GNN_TRY(gnn__graph_own(g, &hi, g->n_dst, sizeof *hi, "spans"));
    for (int64_t s = 0; s < g->n_segments; s++) {
        g->dst_start[s] = before[s];
        fill_decoding_segment(g, s, window, lo, hi);
    }
    gnn__spans_set(&g->base.parts[0].pairs, lo, hi);
    return GNN_OK;
}

int gnn__graph_continued(gnn_graph_t **graph, int64_t segments, const int64_t *before,
                         const int64_t *counts, int64_t capacity, int64_t window)
{
    gnn_graph_t *g = NULL;
    int64_t *room = NULL;
    int rc;
    GNN_CHECK(gnn__new(&room, segments, sizeof *room, "lengths of segments"));
    for (int64_t s = 0; s < segments; s++)
        room[s] = capacity;
    GNN_CHECK(gnn__graph_new_segments(&g, segments, counts, room, 1));
    GNN_CHECK(decoding_fill(g, before, window));
done:
    gnn_free(room);
    return gnn__graph_deliver(graph, g, rc);
}

/* ---- the table ---- */

#define GNN_TOPOLOGY(name, help) {#name, help, gnn__topology_##name},
static const gnn_topology_t topologies[] = {
#include <graphs/topologies.def>
};
#undef GNN_TOPOLOGY

enum { TOPOLOGIES = sizeof topologies / sizeof *topologies };

const gnn_topology_t *gnn_topology_at(size_t index)
{
    return index < TOPOLOGIES ? &topologies[index] : NULL;
}

static const char *topology_name(size_t index)
{
    return index < TOPOLOGIES ? topologies[index].name : NULL;
}

const gnn_topology_t *gnn_topology_find(const char *name)
{
    GNN__NEED_OR(name, NULL);
    for (size_t t = 0; name && t < TOPOLOGIES; t++)
        if (strcmp(topologies[t].name, name) == 0)
            return &topologies[t];
    (void)gnn__unknown_name("topology", name ? name : "", topology_name);
    return NULL;
}

int gnn_graph_topology(gnn_graph_t **graph, const char *name, int64_t segments,
                       const int64_t *lengths, const char *options)
{
    GNN__NEED(graph);
    GNN__NEED(name);
    GNN__NEED_LIST(lengths, segments);
    const gnn_topology_t *topology = gnn_topology_find(name);
    if (graph)
        *graph = NULL;
    return topology ? topology->build(graph, segments, lengths, options) : GNN_ENOTFOUND;
}
