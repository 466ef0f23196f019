/* Logits e . U of the edges of a block of pairs, made of the features where they are needed. */
#include <lib/kernels/attention/by_lane/block_logits.h>
#include <lib/kernels/attention/by_lane/edge_terms.h>

enum { FEATURES = 8 };

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
    eight_t weights[FEATURES];
    gnn_real_t *to = b->edge;
    const int n = b->n;
#pragma GCC unroll 8
    for (int f = 0; f < FEATURES; f++)
        weights[f] = *(const eight_t *)(l->edge_weights + f * TERM_ROW);
    for (int e = 0; e < n; e++, to += HEADS) {
        const gnn_real_t *x = features_at(l, edge, first, e);
        eight_t sum[2] = {{0}};
        if (x)
#pragma GCC unroll 8
            for (int f = 0; f < FEATURES; f++)
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
    else if (l->a->d_e == FEATURES && l->width == HEADS)
        eight_logits(l, b, edge, first);
    else
        few_logits(l, b, edge, first);
}
