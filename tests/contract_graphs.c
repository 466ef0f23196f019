/* Graphs of the contract suite. */
#include "contract.h"

#include <graphs/graph.h>

draw_t draw_from(uint64_t seed)
{
    draw_t d = {seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u};
    draw_below(&d, 2);
    return d;
}

int64_t draw_below(draw_t *d, int64_t n)
{
    d->state += 0x9E3779B97F4A7C15u;
    uint64_t z = d->state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return n > 0 ? (int64_t)(z % (uint64_t)n) : 0;
}

bool draw_once_in(draw_t *d, int64_t n)
{
    return draw_below(d, n) == 0;
}

/* ---- random graphs ---- */

gnn_graph_t *contract_random_edges(int64_t n_dst, int64_t n_src, int64_t m, uint64_t seed)
{
    draw_t d = draw_from(seed);
    if (n_dst == 0 || n_src == 0)
        m = 0;
    int64_t *src = malloc(sizeof *src * (size_t)(m + 1)),
            *dst = malloc(sizeof *dst * (size_t)(m + 1));
    int64_t silent = draw_below(&d, n_dst), unheard = draw_below(&d, n_src);
    for (int64_t k = 0; k < m; k++) {
        src[k] = draw_below(&d, n_src);
        dst[k] = draw_below(&d, n_dst);
        if (k > 0 && draw_once_in(&d, 5)) { /* a parallel edge */
            int64_t of = draw_below(&d, k);
            src[k] = src[of];
            dst[k] = dst[of];
        }
        if (dst[k] == silent)
            dst[k] = (silent + 1) % n_dst;
        if (src[k] == unheard)
            src[k] = (unheard + 1) % n_src;
    }
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_from_edges(&g, n_dst, n_src, m, src, dst));
    free(src);
    free(dst);
    return g;
}

static void shuffle(draw_t *d, int32_t *order, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        order[k] = (int32_t)k;
    for (int64_t k = n - 1; k > 0; k--) {
        int64_t with = draw_below(d, k + 1);
        int32_t keep = order[k];
        order[k] = order[with];
        order[with] = keep;
    }
}

static int by_number(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/* Two sorted lists of integers in 0..n_src, the smaller of each pair first: monotone spans with
 * empty ones at both ends and in between. */
gnn_graph_t *contract_random_spans(int64_t n_dst, int64_t n_src, uint64_t seed)
{
    draw_t d = draw_from(seed);
    size_t rows = (size_t)(n_dst + 1) * sizeof(int32_t);
    int32_t *lo = malloc(rows), *hi = malloc(rows), *dst = malloc(rows),
            *src = malloc((size_t)(n_src + 1) * sizeof(int32_t));
    int64_t from = draw_below(&d, n_src / 4 + 1), to = n_src - draw_below(&d, n_src / 4 + 1);
    for (int64_t r = 0; r < n_dst; r++) {
        lo[r] = (int32_t)(from + draw_below(&d, to - from + 1));
        hi[r] = (int32_t)(from + draw_below(&d, to - from + 1));
    }
    qsort(lo, (size_t)n_dst, sizeof *lo, by_number);
    qsort(hi, (size_t)n_dst, sizeof *hi, by_number);
    for (int64_t r = 0; r < n_dst; r++) {
        int32_t a = lo[r], b = hi[r];
        lo[r] = a < b ? a : b;
        hi[r] = a < b ? b : a;
        if (r < n_dst / 8)
            hi[r] = lo[r];
    }
    shuffle(&d, dst, n_dst);
    shuffle(&d, src, n_src);
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_from_spans(&g, n_dst, n_src, draw_once_in(&d, 3) ? NULL : dst,
                               draw_once_in(&d, 3) ? NULL : src, lo, hi));
    free(lo);
    free(hi);
    free(dst);
    free(src);
    return g;
}

/* ---- topologies ---- */

/* n nodes as one segment, or as a few with an empty one among them. */
static int64_t segments_of(draw_t *d, int64_t n, int64_t lengths[4])
{
    if (n < 4 || draw_once_in(d, 3)) {
        lengths[0] = n;
        return 1;
    }
    lengths[0] = 1 + draw_below(d, n / 2);
    lengths[1] = draw_once_in(d, 2) ? 0 : 1;
    lengths[2] = draw_below(d, n - lengths[0] - lengths[1]);
    lengths[3] = n - lengths[0] - lengths[1] - lengths[2];
    return 4;
}

static gnn_graph_t *topology(const gnn_topology_t *t, int64_t n, draw_t *d)
{
    int64_t lengths[4], segments = segments_of(d, n, lengths);
    bool window = strncmp(t->name, "window", 6) == 0;
    const char *options = window && draw_once_in(d, 3) ? "width=3"
                          : window && strcmp(t->name, "window") == 0 && draw_once_in(d, 2)
                              ? "width=2,dilation=2"
                          : strstr(t->name, "pool") && draw_once_in(d, 2) ? "size=2"
                                                                          : NULL;
    gnn_graph_t *g = NULL;
    ck_ok(t->build(&g, segments, lengths, options));
    for (int64_t s = 0; s < segments && draw_once_in(d, 2); s++)
        ck_ok(gnn__graph_set_start(g, s, draw_below(d, 3), draw_below(d, 3)));
    return g;
}

static gnn_graph_t *bipartite(int64_t n, draw_t *d)
{
    int64_t dst[4], segments = segments_of(d, n, dst), src[4];
    for (int64_t s = 0; s < segments; s++)
        src[s] = draw_below(d, n + 2) / (segments == 1 ? 1 : 2);
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_bipartite(&g, segments, dst, src));
    return g;
}

gnn_graph_t *contract_edges_of(const gnn_graph_t *of)
{
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_to_edges(&g, of));
    return g;
}

/* One part of a merge: a topology over one segment, as spans or as edges, or random spans or
 * edges. */
static gnn_graph_t *part(int64_t n, draw_t *d)
{
    uint64_t seed = (uint64_t)draw_below(d, 1 << 30);
    if (draw_once_in(d, 3))
        return contract_random_edges(n, n, n, seed);
    if (draw_once_in(d, 2))
        return contract_random_spans(n, n, seed);
    const gnn_topology_t *t = gnn_topology_at((size_t)draw_below(d, (int64_t)topology_count()));
    gnn_graph_t *g = NULL, *edges = NULL;
    ck_ok(t->build(&g, 1, &n, strcmp(t->name, "tree") == 0 ? "levels=0" : NULL));
    if (draw_once_in(d, 2))
        return g;
    edges = contract_edges_of(g);
    gnn_graph_free(g);
    return edges;
}

gnn_graph_t *contract_random_merge(int64_t n, int64_t parts, uint64_t seed)
{
    draw_t d = draw_from(seed);
    gnn_graph_t *of[4] = {NULL}, *g = NULL;
    for (int64_t p = 0; p < parts; p++)
        of[p] = part(n, &d);
    ck_ok(gnn_graph_merge(&g, parts, (const gnn_graph_t *const *)of));
    for (int64_t p = 0; p < parts; p++)
        gnn_graph_free(of[p]);
    return g;
}

/* ---- all kinds ---- */

enum { RANDOM_EDGES, RANDOM_SPANS, RANDOM_MERGE, RANDOM_BIPARTITE, POSITIONS, RANDOM_KINDS };

/* A window, and what reads the same senders by positions that ascend in steps. */
static gnn_graph_t *with_positions(int64_t n, draw_t *d)
{
    const int64_t size = 1 + draw_below(d, 4);
    gnn_graph_t *parts[2] = {NULL}, *g = NULL;
    int64_t *positions = calloc((size_t)(2 * n + 1), sizeof *positions);
    for (int64_t k = 0; k < 2 * n; k++)
        positions[k] = k % n / size - draw_below(d, 2);
    ck_ok(gnn_graph_window(&parts[0], 1, &n, 2, 1, GNN_OFF));
    if (draw_once_in(d, 2))
        ck_ok(gnn_graph_complete(&parts[1], 1, &n));
    else
        parts[1] = contract_random_edges(n, n, 2 * n, (uint64_t)draw_below(d, 1 << 30));
    ck_ok(gnn__part_set_positions(parts[1], 0, positions, positions + n));
    ck_ok(gnn_graph_merge(&g, 2, (const gnn_graph_t *const *)parts));
    gnn_graph_free(parts[0]);
    gnn_graph_free(parts[1]);
    free(positions);
    return g;
}

size_t contract_graph_count(void)
{
    return topology_count() + RANDOM_KINDS;
}

const char *contract_graph_name(size_t kind)
{
    static const char *const names[RANDOM_KINDS] = {"random edges", "random spans", "merge",
                                                    "unequal segments", "positions of a part"};
    return kind < topology_count() ? gnn_topology_at(kind)->name : names[kind - topology_count()];
}

gnn_graph_t *contract_graph(size_t kind, int64_t n, uint64_t seed)
{
    draw_t d = draw_from(seed ^ 0x6772617068u);
    if (kind < topology_count())
        return topology(gnn_topology_at(kind), n, &d);
    int64_t other = draw_once_in(&d, 2) ? n : draw_below(&d, n + 3);
    switch (kind - topology_count()) {
    case RANDOM_EDGES: return contract_random_edges(n, other, 3 * n, seed);
    case RANDOM_SPANS: return contract_random_spans(n, other, seed);
    case RANDOM_MERGE: return contract_random_merge(n, 1 + draw_below(&d, 4), seed);
    case POSITIONS: return with_positions(n, &d);
    default: return bipartite(n, &d);
    }
}

bool contract_has_spans(const gnn_graph_t *g)
{
    for (int64_t p = 0; p < gnn_graph_n_parts(g); p++)
        if (gnn__graph_part_is_spans(g, p))
            return true;
    return false;
}
