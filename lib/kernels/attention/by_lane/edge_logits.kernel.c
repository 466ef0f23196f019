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
