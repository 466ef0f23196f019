/* What edges add to additive scores, s = q_i + k_j + t before the slope, t = e . U the edge's
 * logits (edge_logits.kernel.c), and a bias behind it, and the way back. With p = dY_i . v_j,
 * alpha' behind dropout and slope or 1 by the sign of s, the gradient of a score is
 *
 *     g = (slope or 1) (alpha' p - alpha S_i)
 *
 * and that of the bias the same without the slope. */
#include <lib/kernels/attention/by_lane/block_logits.h>
#include <lib/kernels/attention/by_lane/edge_terms.h>

/* Every edge of a list has a row, the loops that a view adds too. */
GNN__INLINE void take_logits(const gnn__lanes_t *l, lane_block_t *block, int64_t at, const int width)
{
    const gnn__pairs_t *pairs = &l->a->pairs;
    const int64_t *edge = pairs->edge ? pairs->edge + at : NULL;
    const gnn__matrix_t logits = l->edge_logits;
    gnn_real_t *to = block->edge;
    const int n = block->n;
    const size_t size = sizeof *to * (size_t)width;
    if (!pairs->indptr)
        memset(to, 0, size * (size_t)n);
    else if (!edge)
        memcpy(to, gnn__matrix_row(&logits, pairs->edge_base + at), size * (size_t)n);
    else
        for (int e = 0; e < n; e++)
            memcpy(to + e * width, gnn__matrix_row(&logits, edge[e]), size);
}

/* `numbers` = the biases of the pairs. */
GNN__INLINE void take_biases(const gnn__lanes_t *l, const lane_block_t *b, int64_t at,
                             gnn_real_t *numbers, const int width)
{
    const gnn__attention_t *a = l->a;
    const int64_t last = last_place(&a->pairs);
    for (int e = 0; e < b->n; e++) {
        const int64_t number = gnn__pairs_edge(&a->pairs, at + e),
                      ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last;
        const gnn_real_t *row = has_row(number, a->biases) ? gnn__matrix_row(&a->bias, number) : NULL;
        gnn_real_t *to = numbers + e * width;
        prefetch_row(&a->bias, a->biases, gnn__pairs_edge(&a->pairs, ahead));
        for (int h = 0; h < width; h++)
            to[h] = row && h < a->heads ? row[a->bias_cols == 1 ? 0 : h] : 0;
    }
}

#define TAKE_TERMS(width)                                                       \
    MADE take_terms_##width(const gnn__lanes_t *l, lane_block_t *b, int64_t at) \
    {                                                                           \
        if (l->edge_logits.at)                                                  \
            take_logits(l, b, at, width);                                       \
        else if (has_logits(l))                                                 \
            block_logits(l, b, at);                                             \
        else                                                                    \
            memset(b->edge, 0, sizeof *b->edge *(size_t)(b->n * width));        \
        if (l->a->bias.at)                                                      \
            take_biases(l, b, at, b->second, width);                            \
    }
FOR_WIDTHS(TAKE_TERMS)

void edge_terms(const gnn__lanes_t *l, lane_block_t *b, int64_t at)
{
    const int n = b->n * l->width;
    const int64_t *edge = l->a->pairs.indptr ? l->a->pairs.edge : NULL;
    BY_WIDTH(l->width, take_terms, l, b, at);
    if (edge && has_logits(l)) {
        b->numbers = edge + at + BLOCK_PAIRS;
        b->coming = last_place(&l->a->pairs) + 1 - at - BLOCK_PAIRS;
    }
    for (int x = n; x < padded(n); x++)
        b->edge[x] = b->second[x] = 0;
}

#define TAKE_BIASES(width)                                                             \
    MADE take_biases_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at) \
    {                                                                                  \
        take_biases(l, b, at, b->edge, width);                                         \
    }
FOR_WIDTHS(TAKE_BIASES)

void add_biases(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    BY_WIDTH(l->width, take_biases, l, b, at);
    for (int x = 0; x < b->n * l->width; x++)
        b->score[x] += b->edge[x];
}

/* ---- backward ---- */

/* `edge` = g; with a bias `score` = the gradient of the bias. */
static void score_grads(const gnn__lanes_t *l, const lane_block_t *b)
{
    const int n = b->n * l->width;
    const gnn_real_t slope = l->a->slope;
    for (int x = n; x < padded(n); x++)
        b->second[x] = 0;
    for (int x = 0; x < padded(n); x += LANES) {
        const gnn__vec_t g = gnn__vec_load(b->weight + x) * gnn__vec_load(b->second + x),
                         c = gnn__vec_load(b->score + x);
        const gnn__vec_bits_t negative = ~(gnn__vec_load(b->edge + x) > 0);
        if (l->a->bias.at) {
            gnn__vec_store(b->score + x, g - c);
            gnn__vec_store(b->edge + x, gnn__vec_select(negative, slope * (g - c), g - c));
        } else
            gnn__vec_store(b->edge + x, gnn__vec_select(negative, slope * g, g) - c);
    }
}

/* Sums of eight features stay in registers, where there are twice as many. */
#if defined(__AVX512F__)
enum { WIDE_SUMS = 1 };
#else
enum { WIDE_SUMS = 0 };
#endif

/* Eight heads, which fill half a register: eight rows of sums. */
GNN__INLINE void sum_eights(const gnn__lanes_t *l, const edges_t *list, const gnn_real_t *from,
                            int64_t f, gnn_real_t *sums)
{
    const gnn__pairs_t pairs = *list->pairs;
    const gnn__matrix_t features = l->a->features;
    const int64_t edges = l->a->edges, at = list->at;
    const int n = list->n;
    eight_t sum[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++)
        sum[r] = *(const eight_t *)(sums + (f + r) * TERM_ROW);
    for (int e = 0; e < n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e);
        if (!has_row(number, edges))
            continue;
        const gnn_real_t *x = gnn__matrix_row(&features, number) + f;
        const eight_t by = *(const eight_t *)(from + e * HEADS);
#pragma GCC unroll 8
        for (int r = 0; r < 8; r++)
            sum[r] += x[r] * by;
    }
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++)
        *(eight_t *)(sums + (f + r) * TERM_ROW) = sum[r];
}

/* `rows` rows of sums: what stands behind a row's heads is of no use. */
GNN__INLINE void sum_section(const gnn__lanes_t *l, const edges_t *list, const gnn_real_t *from,
                             int64_t f, const int rows, gnn_real_t *sums, const int width)
{
    const gnn__pairs_t pairs = *list->pairs;
    const gnn__matrix_t features = l->a->features;
    const int64_t edges = l->a->edges, at = list->at;
    const int n = list->n;
    for (int u = 0; u < pattern_registers(width); u++) {
        gnn__vec_t sum[8];
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

/* One head: features f .. f + count - 1 stand in the lanes. */
GNN__INLINE void narrow_section(const gnn__lanes_t *l, const edges_t *list, const gnn_real_t *from,
                                int64_t f, const int count, gnn_real_t *sums)
{
    const gnn__pairs_t pairs = *list->pairs;
    const gnn__matrix_t features = l->a->features;
    const int64_t edges = l->a->edges, at = list->at;
    const int n = list->n;
    gnn__vec_t even = {0}, odd = {0};
    gnn_real_t all[LANES];
    for (int e = 0; e < n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e);
        const gnn__vec_t before = even;
        even = odd;
        odd = before;
        if (!has_row(number, edges))
            continue;
        const gnn_real_t *x = gnn__matrix_row(&features, number) + f;
        even += from[e] * (count == LANES ? gnn__vec_load(x) : gnn__vec_load_first(x, count));
    }
    gnn__vec_store(all, even + odd);
    for (int c = 0; c < count; c++)
        sums[(f + c) * TERM_ROW] += all[c];
}

static void narrow_sums(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *from,
                        gnn_real_t *sums)
{
    int64_t f = 0;
    for (; f + LANES <= l->a->d_e; f += LANES)
        narrow_section(l, edges, from, f, LANES, sums);
    if (l->a->d_e - f == 8)
        narrow_section(l, edges, from, f, 8, sums);
    else if (f < l->a->d_e)
        narrow_section(l, edges, from, f, (int)(l->a->d_e - f), sums);
}

#define FEATURE_SUMS(width)                                                                        \
    MADE feature_sums_##width(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *from, \
                              gnn_real_t *sums)                                                    \
    {                                                                                              \
        int64_t f = 0;                                                                             \
        for (; WIDE_SUMS && f + 8 <= l->a->d_e; f += 8)                                            \
            if (width == HEADS && LANES > HEADS)                                                   \
                sum_eights(l, edges, from, f, sums);                                               \
            else                                                                                   \
                sum_section(l, edges, from, f, 8, sums, width);                                    \
        for (; f + 4 <= l->a->d_e; f += 4)                                                         \
            sum_section(l, edges, from, f, 4, sums, width);                                        \
        for (; f < l->a->d_e; f++)                                                                 \
            sum_section(l, edges, from, f, 1, sums, width);                                        \
    }
FOR_WIDTHS(FEATURE_SUMS)

void feature_sums(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *from,
                  gnn_real_t *sums)
{
    if (l->width == 1)
        narrow_sums(l, edges, from, sums);
    else
        BY_WIDTH(l->width, feature_sums, l, edges, from, sums);
}

/* Of features f .. f + count - 1. */
GNN__INLINE void grad_section(const gnn__lanes_t *l, const edges_t *list, const gnn_real_t *rows,
                              int64_t stride, const gnn_real_t *from, int64_t f, int count,
                              const int width)
{
    const gnn__pairs_t pairs = *list->pairs;
    const gnn__matrix_t grad = l->a->grad.features;
    const int64_t edges = l->a->edges, at = list->at;
    const int n = list->n;
    gnn_real_t turned[HEADS * LANES] = {0};
    gnn__vec_t column[HEADS];
    for (int64_t h = 0; h < l->a->heads; h++)
        for (int c = 0; c < count; c++)
            turned[h * LANES + c] = rows[(f + c) * stride + h];
    for (int h = 0; h < width; h++)
        column[h] = gnn__vec_load(turned + h * LANES);
    for (int e = 0; e < n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e);
        if (!has_row(number, edges))
            continue;
        gnn_real_t *d = gnn__matrix_row(&grad, number) + f;
        gnn__vec_t sum = count == LANES ? gnn__vec_load(d) : gnn__vec_load_first(d, count);
        for (int h = 0; h < width; h++)
            sum += from[e * width + h] * column[h];
        if (count == LANES)
            gnn__vec_store(d, sum);
        else
            gnn__vec_store_first(d, sum, count);
    }
}

#define FEATURE_GRADS(width)                                                                   \
    MADE feature_grads_##width(const gnn__lanes_t *l, const edges_t *edges,                    \
                               const gnn_real_t *rows, int64_t stride, const gnn_real_t *from) \
    {                                                                                          \
        for (int64_t f = 0; f < l->a->d_e; f += LANES)                                         \
            grad_section(l, edges, rows, stride, from, f,                                      \
                         (int)(l->a->d_e - f < LANES ? l->a->d_e - f : LANES), width);         \
    }
FOR_WIDTHS(FEATURE_GRADS)

void feature_grads(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *rows,
                   int64_t stride, const gnn_real_t *from)
{
    BY_WIDTH(l->width, feature_grads, l, edges, rows, stride, from);
}

/* Gradients of logits take the place of the logits. */
GNN__INLINE void put_logits(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, const int width)
{
    const gnn__pairs_t *pairs = &l->a->pairs;
    const gnn__matrix_t logits = l->edge_logits;
    const int64_t *edge = pairs->edge ? pairs->edge + at : NULL;
    const gnn_real_t *g = b->edge;
    const int n = b->n;
    const size_t size = sizeof *g * (size_t)width;
    if (pairs->indptr && !edge)
        memcpy(gnn__matrix_row(&logits, pairs->edge_base + at), g, size * (size_t)n);
    for (int e = 0; edge && e < n; e++)
        memcpy(gnn__matrix_row(&logits, edge[e]), g + e * width, size);
}

#define PUT_LOGITS(width)                                                             \
    MADE put_logits_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at) \
    {                                                                                 \
        put_logits(l, b, at, width);                                                  \
    }
FOR_WIDTHS(PUT_LOGITS)

/* Biases gain `scale` times what `from` has for the pairs. */
static void bias_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at,
                       const gnn_real_t *from, gnn_real_t scale)
{
    const gnn__attention_t *a = l->a;
    for (int e = 0; e < b->n; e++) {
        const int64_t number = gnn__pairs_edge(&a->pairs, at + e);
        if (!has_row(number, a->biases))
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.bias, number);
        for (int64_t h = 0; h < a->heads; h++)
            d[a->bias_cols == 1 ? 0 : h] += scale * from[e * l->width + h];
    }
}

void edge_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    score_grads(l, b);
    const edges_t edges = {&l->a->pairs, at, b->n};
    if (l->edge_logits.at)
        BY_WIDTH(l->width, put_logits, l, b, at);
    else if (has_logits(l) && b->d_edges)
        feature_sums(l, &edges, b->edge, b->d_edges);
    if (has_logits(l) && !l->edge_logits.at && l->a->grad.features.at)
        feature_grads(l, &edges, l->edge_weights, TERM_ROW, b->edge);
    if (l->a->grad.bias.at)
        bias_grads(l, b, at, b->score, 1);
}

void pair_bias_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    const bool dot = l->a->score == GNN__SCORE_DOT;
    bias_grads(l, b, at, b->second, dot ? 1 / l->a->scale : 1);
}
