/* Graphs of every kind, small enough for brute force; shared by the suites on graphs. */
#ifndef GNN_TESTS_GRAPH_ZOO_H
#define GNN_TESTS_GRAPH_ZOO_H

#include "support.h"

#include <graphs/graph.h>

static inline void *zeros(int64_t n, size_t element)
{
    return calloc((size_t)(n > 0 ? n : 1), element);
}

/* Multiplicities of pairs (i, j): an (n_dst x n_src) table. */
static inline int *table(const gnn_graph_t *g)
{
    int64_t m = gnn_graph_n_pairs(g), *src = zeros(m, sizeof *src), *dst = zeros(m, sizeof *dst);
    int *count = zeros(g->n_dst * g->n_src, sizeof *count);
    ck_ok(gnn_graph_pairs(g, src, dst, NULL));
    for (int64_t k = 0; k < m; k++)
        count[dst[k] * g->n_src + src[k]]++;
    free(src);
    free(dst);
    return count;
}

static inline void same_tables(const gnn_graph_t *a, const gnn_graph_t *b)
{
    ck_assert(a->n_dst == b->n_dst && a->n_src == b->n_src);
    int *x = table(a), *y = table(b);
    ck_assert(memcmp(x, y, (size_t)(a->n_dst * a->n_src) * sizeof *x) == 0);
    free(x);
    free(y);
}

/* ---- a zoo of graphs that several tests walk through ---- */

static inline int make_csr(gnn_graph_t **g)
{
    return gnn_graph_from_csr(g, 5, 5, ((int64_t[]){0, 3, 3, 5, 6, 9}),
                              ((int32_t[]){1, 0, 1, 2, 4, 0, 4, 4, 3}));
}

static inline int make_edges(gnn_graph_t **g)
{
    return gnn_graph_from_edges(g, 4, 4, 7, ((int64_t[]){3, 0, 1, 2, 0, 1, 3}),
                                ((int64_t[]){2, 1, 0, 2, 3, 0, 0}));
}

static inline int make_sampled(gnn_graph_t **g)
{
    return gnn_graph_from_edges(g, 3, 7, 6, ((int64_t[]){6, 0, 5, 3, 3, 2}),
                                ((int64_t[]){2, 0, 0, 2, 2, 0}));
}

static inline int make_empty(gnn_graph_t **g)
{
    return gnn_graph_from_csr(g, 3, 3, ((int64_t[]){0, 0, 0, 0}), NULL);
}

static inline int make_nothing(gnn_graph_t **g)
{
    return gnn_graph_complete(g, 0, NULL);
}

/* Random monotone spans under random permutations; about half of the bounds do not move, so that
 * there are empty spans on both sides. */
static inline int random_spans(gnn_graph_t **g, int64_t n_dst, int64_t n_src, uint64_t seed)
{
    int32_t *rows = zeros(n_dst, 4), *cols = zeros(n_src, 4), *lo = zeros(n_dst, 4),
            *hi = zeros(n_dst, 4);
    for (int64_t r = 0; r < n_dst; r++) {
        int32_t *runs[2] = {lo, hi};
        for (int side = 0; side < 2; side++) {
            int64_t before = r ? runs[side][r - 1] : 0,
                    step = test_below(&seed, 2) ? test_below(&seed, 5) : 0;
            runs[side][r] = (int32_t)(before + step > n_src ? n_src : before + step);
        }
        lo[r] = lo[r] > hi[r] ? hi[r] : lo[r];
    }
    for (int64_t r = 0; r < n_dst; r++) {
        int64_t other = test_below(&seed, r + 1);
        rows[r] = rows[other];
        rows[other] = (int32_t)r;
    }
    for (int64_t r = 0; r < n_src; r++) {
        int64_t other = test_below(&seed, r + 1);
        cols[r] = cols[other];
        cols[other] = (int32_t)r;
    }
    int rc = gnn_graph_from_spans(g, n_dst, n_src, seed & 1 << 20 ? rows : NULL,
                                  seed & 1 << 21 ? cols : NULL, lo, hi);
    free(rows);
    free(cols);
    free(lo);
    free(hi);
    return rc;
}

static inline int make_spans(gnn_graph_t **g)
{
    return random_spans(g, 9, 9, 5);
}

static inline int make_window(gnn_graph_t **g)
{
    return gnn_graph_window(g, 3, (int64_t[]){7, 0, 6}, 1, 2, GNN_OFF);
}

static inline int make_causal(gnn_graph_t **g)
{
    return gnn_graph_causal(g, 2, (int64_t[]){3, 4});
}

static inline int make_window_global(gnn_graph_t **g)
{
    return gnn_graph_window_global(g, 3, ((int64_t[]){6, 1, 5}), 1, 4, ((int64_t[]){9, 2, 0, 6}));
}

static inline int make_bipartite(gnn_graph_t **g)
{
    return gnn_graph_bipartite(g, 3, (int64_t[]){2, 3, 0}, (int64_t[]){4, 0, 2});
}

static inline int join(gnn_graph_t **g,
                       int (*how)(gnn_graph_t **, int64_t, const gnn_graph_t *const *), int count,
                       int (*const *makers)(gnn_graph_t **))
{
    gnn_graph_t *parts[8] = {NULL};
    int rc = GNN_OK;
    *g = NULL;
    for (int k = 0; k < count && rc == GNN_OK; k++)
        rc = makers[k](&parts[k]);
    if (rc == GNN_OK)
        rc = how(g, count, (const gnn_graph_t *const *)parts);
    for (int k = 0; k < count; k++)
        gnn_graph_free(parts[k]);
    return rc;
}

static inline int make_batch(gnn_graph_t **g)
{
    return join(g, gnn_graph_batch, 6,
                (int (*const[])(gnn_graph_t **)){make_edges, make_window, make_csr,
                                                 make_window_global, make_nothing, make_spans});
}

static inline int make_batch_of_edges(gnn_graph_t **g)
{
    return join(g, gnn_graph_batch, 3,
                (int (*const[])(gnn_graph_t **)){make_csr, make_empty, make_csr});
}

static inline int make_merge(gnn_graph_t **g)
{
    return join(g, gnn_graph_merge, 3,
                (int (*const[])(gnn_graph_t **)){make_window, make_batch_of_edges, make_window});
}

static inline int make_to_edges(gnn_graph_t **g)
{
    gnn_graph_t *of = NULL;
    int rc = make_batch(&of);
    rc = rc ? rc : gnn_graph_to_edges(g, of);
    if (rc)
        *g = NULL;
    gnn_graph_free(of);
    return rc;
}

typedef int (*maker_t)(gnn_graph_t **);
static const maker_t zoo[] = {make_csr,           make_edges,     make_sampled, make_empty,
                              make_nothing,       make_spans,     make_window,  make_causal,
                              make_window_global, make_bipartite, make_batch,   make_batch_of_edges,
                              make_merge,         make_to_edges};
#define ZOO (int)(sizeof zoo / sizeof *zoo)

#endif
