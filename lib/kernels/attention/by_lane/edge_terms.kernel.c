/* What edges add to additive scores, s = q_i + k_j + e . U before the slope and a bias behind it,
 * and the way back. With p = dY_i . v_j, alpha' behind dropout and slope or 1 by the sign of s, the
 * gradient of a score is
 *
 *     g = (slope or 1) (alpha' p - alpha S_i)      d_U += e g      d_e += U g
 *
 * and d_bias the same without the slope. */
#include <lib/kernels/attention/by_lane/edge_terms.h>

/* Registers of a pattern overlap the next pair's numbers, which are written after them. */
GNN__INLINE void put_pattern(gnn_real_t *at, const gnn__vec_t *x, const int width)
{
    for (int u = 0; u < pattern_registers(width); u++)
        gnn__vec_store(at + u * LANES, x[u]);
}

/* x . weights for `known` features, the weights in registers. */
GNN__INLINE gnn__vec_t known_terms(const gnn_real_t *x, const gnn__vec_t *weights, const int known)
{
    gnn__vec_t sum[2] = {{0}};
#pragma GCC unroll 8
    for (int f = 0; f < known; f++)
        sum[f % 2] += x[f] * weights[f];
    return sum[0] + sum[1];
}

/* Without biases, `known` features, in patterns of one register. */
GNN__INLINE void plain_terms(const gnn__lanes_t *l, const lane_block_t *block, int64_t at,
                             const int width, const int known)
{
    const gnn__attention_t *a = l->a;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features;
    const int64_t last = last_place(&pairs), edges = a->edges;
    const int n = block->n;
    gnn_real_t *edge = block->edge;
    gnn__vec_t weights[8];
#pragma GCC unroll 8
    for (int f = 0; f < known; f++)
        weights[f] = gnn__vec_load(l->edge_weights + f * TERM_ROW);
    for (int e = 0; e < n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e),
                      ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last;
        prefetch_row(&features, edges, gnn__pairs_edge(&pairs, ahead));
        gnn__vec_t sum = {0};
        if (has_row(number, edges))
            sum = known_terms(gnn__matrix_row(&features, number), weights, known);
        gnn__vec_store(edge + e * width, sum);
    }
    memset(block->second, 0, sizeof *edge * (size_t)padded(n * width));
    for (int x = n * width; x < padded(n * width); x++)
        edge[x] = 0;
}

GNN__INLINE void terms(const gnn__lanes_t *l, const lane_block_t *block, int64_t at, const int width)
{
    const gnn__attention_t *a = l->a;
    /* these stay in registers: what is stored might else change them */
    const lane_block_t b = *block;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features, biases = a->bias;
    const int64_t last = last_place(&pairs), d_e = a->d_e, edges = a->edges, rows = a->biases,
                  cols = a->bias_cols, heads = a->heads;
    const gnn_real_t *weights = l->edge_weights;
    for (int e = 0; e < b.n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e),
                      ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last,
                      next = gnn__pairs_edge(&pairs, ahead);
        const bool has_bias = biases.at && has_row(number, rows);
        gnn__vec_t sum[PATTERN], bias[PATTERN];
        prefetch_row(&features, edges, next);
        prefetch_row(&biases, rows, next);
        fill(sum, 0);
        fill(bias, has_bias && cols == 1 ? *gnn__matrix_row(&biases, number) : 0);
        if (has_bias && cols > 1)
            read_heads(gnn__matrix_row(&biases, number), heads, bias, 0, width);
        if (weights && has_row(number, edges)) {
            const gnn_real_t *x = gnn__matrix_row(&features, number);
            for (int64_t f = 0; f < d_e; f++)
                for (int u = 0; u < pattern_registers(width); u++)
                    sum[u] += x[f] * gnn__vec_load(weights + f * TERM_ROW + u * LANES);
        }
        put_pattern(b.edge + e * width, sum, width);
        put_pattern(b.second + e * width, bias, width);
    }
    for (int x = b.n * width; x < padded(b.n * width); x++)
        b.edge[x] = b.second[x] = 0;
}

#define TERMS(width)                                                                              \
    MADE terms_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)                  \
    {                                                                                             \
        if (pattern_registers(width) == 1 && l->edge_weights && !l->a->bias.at && l->a->d_e == 8) \
            plain_terms(l, b, at, width, 8);                                                      \
        else                                                                                      \
            terms(l, b, at, width);                                                               \
    }
FOR_WIDTHS(TERMS)

void edge_terms(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    BY_WIDTH(l->width, terms, l, b, at);
}

/* ---- backward ---- */

/* b->edge = g; `score` = the gradient of the bias. */
static void score_grads(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own)
{
    const int n = b->n * l->width;
    const gnn_real_t slope = l->a->slope;
    for (int e = 0; e < b->n; e++) {
        gnn__vec_t products[PATTERN];
        row_products(l, own, gnn__matrix_row(&l->dy, b->other[e]), products, l->width);
        for (int u = 0; u < pattern_registers(l->width); u++)
            gnn__vec_put(b->second + e * l->width, products[u], l->width, u);
    }
    for (int x = n; x < padded(n); x++)
        b->second[x] = 0;
    for (int x = 0; x < padded(n); x += LANES) {
        const gnn__vec_t g = gnn__vec_load(b->weight + x) * gnn__vec_load(b->second + x) -
                             gnn__vec_load(b->score + x);
        const gnn__vec_bits_t negative = ~(gnn__vec_load(b->edge + x) > 0);
        gnn__vec_store(b->score + x, g);
        gnn__vec_store(b->edge + x, gnn__vec_select(negative, slope * g, g));
    }
}

/* `rows` rows of sums: what stands behind a row's heads is of no use. */
GNN__INLINE void sum_section(const gnn__lanes_t *l, const lane_block_t *b, int64_t at,
                             const gnn_real_t *from, int64_t f, const int rows, gnn_real_t *sums)
{
    const gnn__attention_t *a = l->a;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features;
    const int64_t edges = a->edges;
    const int width = l->width, n = b->n;
    for (int u = 0; u < pattern_registers(width); u++) {
        gnn__vec_t sum[4];
        gnn_real_t *to = sums + f * TERM_ROW + u * LANES;
        for (int r = 0; r < rows; r++)
            sum[r] = gnn__vec_load(to + r * TERM_ROW);
        for (int e = 0; e < n; e++) {
            const int64_t number = gnn__pairs_edge(&pairs, at + e);
            if (!has_row(number, edges))
                continue;
            const gnn_real_t *x = gnn__matrix_row(&features, number) + f;
            const gnn__vec_t by = gnn__vec_load(from + e * width + u * LANES);
            for (int r = 0; r < rows; r++)
                sum[r] += x[r] * by;
        }
        for (int r = 0; r < rows; r++)
            gnn__vec_store(to + r * TERM_ROW, sum[r]);
    }
}

void feature_sums(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, const gnn_real_t *from,
                  gnn_real_t *sums)
{
    int64_t f = 0;
    for (; f + 4 <= l->a->d_e; f += 4)
        sum_section(l, b, at, from, f, 4, sums);
    for (; f < l->a->d_e; f++)
        sum_section(l, b, at, from, f, 1, sums);
}

static void feature_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    const gnn__attention_t *a = l->a;
    for (int e = 0; e < b->n; e++) {
        const int64_t number = gnn__pairs_edge(&a->pairs, at + e);
        if (!has_row(number, a->edges))
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.features, number);
        const gnn_real_t *g = b->edge + e * l->width;
        for (int64_t f = 0; f < a->d_e; f++) {
            gnn_real_t sum = 0;
            for (int64_t h = 0; h < a->heads; h++)
                sum += l->edge_weights[f * TERM_ROW + h] * g[h];
            d[f] += sum;
        }
    }
}

static void bias_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    const gnn__attention_t *a = l->a;
    for (int e = 0; e < b->n; e++) {
        const int64_t number = gnn__pairs_edge(&a->pairs, at + e);
        if (!has_row(number, a->biases))
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.bias, number);
        for (int64_t h = 0; h < a->heads; h++)
            d[a->bias_cols == 1 ? 0 : h] += b->score[e * l->width + h];
    }
}

void edge_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, const gnn_real_t *own,
                gnn_real_t *d_weights)
{
    score_grads(l, b, own);
    if (d_weights)
        feature_sums(l, b, at, b->edge, d_weights);
    if (l->a->grad.features.at)
        feature_grads(l, b, at);
    if (l->a->grad.bias.at)
        bias_grads(l, b, at);
}
