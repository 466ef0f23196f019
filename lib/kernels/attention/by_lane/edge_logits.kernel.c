/* Logits of edges, e . U with U the weights of d_e features for each head: one sweep over the
 * features as they lie makes them, so that the passes over pairs read `width` numbers of an edge
 * and multiply nothing. The pass by sender puts the gradients g of the logits in their place, and a
 * sweep over the edges that receivers hear spends them:
 *
 *     d_U += e g      d_e += U g */
#include <lib/kernels/attention/by_lane/edge_logits.h>
#include <lib/kernels/attention/by_lane/edge_terms.h>

/* Rows of features that lie in small pages are fetched page by page by the processor; these lines
 * are asked for ahead. */
GNN__INLINE void prefetch_features(const gnn__matrix_t *features, int64_t e, int64_t count)
{
    const char *from = (const char *)gnn__matrix_row(features, e),
               *to = (const char *)gnn__matrix_row(features, e + count);
    for (; from < to; from += 64)
        __builtin_prefetch(from);
}

/* ---- e . U ---- */

/* Of edges e0 .. e1 - 1, any number of features. */
GNN__INLINE void any_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1, const int width)
{
    const gnn__matrix_t features = l->a->features, logits = l->edge_logits;
    const gnn_real_t *weights = l->edge_weights;
    const int64_t d_e = l->a->d_e;
    for (int64_t e = e0; e < e1; e++) {
        const gnn_real_t *x = gnn__matrix_row(&features, e);
        gnn__vec_t sum[PATTERN];
        fill(sum, 0);
        for (int64_t f = 0; f < d_e; f++)
            for (int u = 0; u < pattern_registers(width); u++)
                sum[u] += x[f] * gnn__vec_load(weights + f * TERM_ROW + u * LANES);
        for (int u = 0; u < pattern_registers(width); u++)
            gnn__vec_put(gnn__matrix_row(&logits, e), sum[u], width, u);
    }
}

enum { KNOWN = 8 };

/* Eight features, their weights in registers. */
GNN__INLINE void known_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1, const int width)
{
    const gnn__matrix_t features = l->a->features, logits = l->edge_logits;
    gnn__vec_t weights[KNOWN];
#pragma GCC unroll 8
    for (int f = 0; f < KNOWN; f++)
        weights[f] = gnn__vec_load(l->edge_weights + f * TERM_ROW);
    for (int64_t e = e0; e < e1; e++) {
        const gnn_real_t *x = gnn__matrix_row(&features, e);
        gnn__vec_t sum[2] = {{0}};
        __builtin_prefetch(gnn__matrix_row(&features, e + EDGE_AHEAD));
#pragma GCC unroll 8
        for (int f = 0; f < KNOWN; f++)
            sum[f % 2] += x[f] * weights[f];
        gnn__vec_put(gnn__matrix_row(&logits, e), sum[0] + sum[1], width, 0);
    }
}

/* Eight features that lie without gaps, and one head: products of as many edges as a register has
 * lanes are added up together. Returns the first edge that is left. */
static int64_t narrow_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1)
{
    gnn_real_t weights[KNOWN + LANES]; /* whole registers of them repeat the eight */
    for (int c = 0; c < KNOWN + LANES; c++)
        weights[c] = l->edge_weights[c % KNOWN * TERM_ROW];
    int64_t e = e0;
    for (; l->a->features.stride == KNOWN && e + LANES <= e1; e += LANES) {
        const gnn_real_t *x = gnn__matrix_row(&l->a->features, e);
        prefetch_features(&l->a->features, e + EDGE_AHEAD, LANES);
        gnn__vec_t products[KNOWN];
#pragma GCC unroll 8
        for (int v = 0; v < KNOWN; v++)
            products[v] = gnn__vec_load(x + v * LANES) * gnn__vec_load(weights + v * LANES % KNOWN);
        gnn__vec_store(l->edge_logits.at + e, shared_reduce(products, KNOWN, KNOWN));
    }
    return e;
}

#define LOGITS(width)                                                  \
    MADE logits_##width(const gnn__lanes_t *l, int64_t e0, int64_t e1) \
    {                                                                  \
        if (width == 1 && l->a->d_e == KNOWN)                          \
            e0 = narrow_logits(l, e0, e1);                             \
        if (pattern_registers(width) == 1 && l->a->d_e == KNOWN)       \
            known_logits(l, e0, e1, width);                            \
        else                                                           \
            any_logits(l, e0, e1, width);                              \
    }
FOR_WIDTHS(LOGITS)

void make_edge_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *scratch)
{
    (void)scratch;
    BY_WIDTH(l->width, logits, l, e0, e1);
}

/* ---- pair by pair ---- */

/* Features of the edge at place at + e of a block; NULL: it has none. */
GNN__INLINE const gnn_real_t *features_at(const gnn__lanes_t *l, const int64_t *edge, int64_t first,
                                          int e)
{
    const int64_t number = edge ? edge[e] : first + e;
    return has_row(number, l->a->edges) ? gnn__matrix_row(&l->a->features, number) : NULL;
}

/* Eight features, eight heads. */
static void eight_logits(const gnn__lanes_t *l, const lane_block_t *b, const int64_t *edge,
                         int64_t first)
{
    eight_t weights[KNOWN];
    gnn_real_t *to = b->edge;
    const int n = b->n;
#pragma GCC unroll 8
    for (int f = 0; f < KNOWN; f++)
        weights[f] = *(const eight_t *)(l->edge_weights + f * TERM_ROW);
    for (int e = 0; e < n; e++, to += HEADS) {
        const gnn_real_t *x = features_at(l, edge, first, e);
        eight_t sum[2] = {{0}};
        if (x)
#pragma GCC unroll 8
            for (int f = 0; f < KNOWN; f++)
                sum[f % 2] += x[f] * weights[f];
        *(eight_t *)to = sum[0] + sum[1];
    }
}

/* Any number of features and heads. */
static void few_logits(const gnn__lanes_t *l, const lane_block_t *b, const int64_t *edge,
                       int64_t first)
{
    const int width = l->width;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *x = features_at(l, edge, first, e);
        gnn_real_t *to = b->edge + e * width;
        memset(to, 0, sizeof *to * (size_t)width);
        for (int64_t f = 0; x && f < l->a->d_e; f++)
            for (int h = 0; h < width; h++)
                to[h] += x[f] * l->edge_weights[f * TERM_ROW + h];
    }
}

void block_logits(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    const gnn__pairs_t *pairs = &l->a->pairs;
    const int64_t *edge = pairs->edge ? pairs->edge + at : NULL, first = pairs->edge_base + at;
    if (!pairs->indptr)
        memset(b->edge, 0, sizeof *b->edge * (size_t)(b->n * l->width));
    else if (l->a->d_e == KNOWN && l->width == HEADS)
        eight_logits(l, b, edge, first);
    else
        few_logits(l, b, edge, first);
}

/* ---- the way back ---- */

void spend_edge_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *d_weights)
{
    const int64_t places[] = {0, l->a->edges}; /* every edge at the place of its number */
    const gnn__pairs_t every = {.n_rows = 1, .count = l->a->edges, .indptr = places};
    for (int64_t e = e0; e < e1; e += BLOCK_PAIRS) {
        const edges_t edges = {&every, e, (int)(e1 - e < BLOCK_PAIRS ? e1 - e : BLOCK_PAIRS)};
        const gnn_real_t *g = gnn__matrix_row(&l->edge_logits, e);
        prefetch_features(&l->a->features, e + BLOCK_PAIRS, BLOCK_PAIRS);
        if (d_weights)
            feature_sums(l, &edges, g, d_weights);
        if (l->a->grad.features.at)
            feature_grads(l, &edges, l->edge_weights, TERM_ROW, g);
    }
}
