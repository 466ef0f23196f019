/* Edge inputs of additive scores: logits from edge features, edge biases, and their gradients. With
 * U the weights of d_e features per head,
 *
 *     t = e . U                         logit of an edge
 *     s = q_i + k_j + t                 score before the slope
 *     final = leaky(s) + bias
 *
 * and with p = dY_i . v_j, alpha' after dropout and (slope or 1) by the sign of s
 *
 *     g = (slope or 1) (alpha' p - alpha S_i)      gradient of s, hence of t
 *     d_bias = alpha' p - alpha S_i
 *     d_U += e g        d_e += U g
 *
 * Logits take one of two routes. Where an edge has few features, each block computes those of its
 * pairs (block_logits); else one sweep over all edges stores them (make_edge_logits) and passes
 * load `width` elements per pair:
 *
 *     make_edge_logits     features (edges x d_e)   ->  logits (edges x width)
 *     edge_terms           logits, biases           ->  b->edge, b->second     forward and backward
 *     edge_grads           g of a block             ->  replaces the logits
 *     edge_logits_backward    g (edges x width)        ->  d_e, d_U */
#include <lib/kernels/attention/by_lane/edge_inputs.h>
#include <lib/kernels/attention/by_lane/lane_passes.h>

/* ---- rows of features of a block ---- */

void edge_feature_rows(const gnn__lanes_t *l, const lane_block_t *b)
{
    const gnn__attention_t *a = l->a;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features;
    const int64_t edges = a->edges, at = b->at;
    const gnn_real_t **rows = b->features, *zeros = b->zeros;
    const int n = b->n;
    for (int e = 0; e < n; e++) {
        const int64_t id = gnn__pairs_edge(&pairs, at + e);
        rows[e] = has_row(id, edges) ? gnn__matrix_row(&features, id) : zeros;
    }
    for (int e = n; e < BLOCK_PAIRS && e < n + LANES; e++)
        rows[e] = zeros;
}

void prefetch_edge_features(const gnn__lanes_t *l, const lane_block_t *b)
{
    const gnn__matrix_t features = l->a->features;
    const gnn__pairs_t pairs = l->a->pairs;
    const int64_t last = last_slot(&pairs), rows = l->a->edges;
    for (int64_t at = b->at + EDGE_AHEAD; at < b->at + b->n + EDGE_AHEAD && at <= last; at++)
        prefetch_row(&features, rows, gnn__pairs_edge(&pairs, at));
}

/* ---- terms of a block ---- */

/* Every edge of the list has a row, those of loops that a view adds too. */
GNN__INLINE void load_logits(const gnn__lanes_t *l, lane_block_t *block, int64_t at, const int width)
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

/* biases = the biases of the pairs (pairs x width). */
GNN__INLINE void load_biases(const gnn__lanes_t *l, const lane_block_t *b, int64_t at,
                             gnn_real_t *biases, const int width)
{
    const gnn__attention_t *a = l->a;
    const int64_t last = last_slot(&a->pairs);
    for (int e = 0; e < b->n; e++) {
        const int64_t id = gnn__pairs_edge(&a->pairs, at + e),
                      ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last;
        const gnn_real_t *row = has_row(id, a->biases) ? gnn__matrix_row(&a->bias, id) : NULL;
        gnn_real_t *to = biases + e * width;
        prefetch_row(&a->bias, a->biases, gnn__pairs_edge(&a->pairs, ahead));
        const int step = a->bias_cols == 1 ? 0 : 1;
        for (int h = 0; h < width; h++)
            to[h] = row && h < a->heads ? row[h * step] : 0;
    }
}

#define LOAD_TERMS(width)                                                            \
    PER_WIDTH load_terms_##width(const gnn__lanes_t *l, lane_block_t *b, int64_t at) \
    {                                                                                \
        if (l->edge_logits.at)                                                       \
            load_logits(l, b, at, width);                                            \
        else if (has_logits(l))                                                      \
            block_logits(l, b, at);                                                  \
        else                                                                         \
            memset(b->edge, 0, sizeof *b->edge *(size_t)(b->n * width));             \
        if (l->a->bias.at)                                                           \
            load_biases(l, b, at, b->second, width);                                 \
    }
FOR_WIDTHS(LOAD_TERMS)

void edge_terms(const gnn__lanes_t *l, lane_block_t *b, int64_t at)
{
    const int n = b->n * l->width;
    const int64_t *edge = l->a->pairs.indptr ? l->a->pairs.edge : NULL;
    BY_WIDTH(l->width, load_terms, l, b, at);
    if (edge && has_logits(l)) {
        b->next_edges = edge + at + BLOCK_PAIRS;
        b->coming = last_slot(&l->a->pairs) + 1 - at - BLOCK_PAIRS;
    }
    for (int x = n; x < padded(n); x++)
        b->edge[x] = b->second[x] = 0;
}

#define LOAD_BIASES(width)                                                                  \
    PER_WIDTH load_biases_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at) \
    {                                                                                       \
        load_biases(l, b, at, b->edge, width);                                              \
    }
FOR_WIDTHS(LOAD_BIASES)

void add_biases(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    BY_WIDTH(l->width, load_biases, l, b, at);
    for (int x = 0; x < b->n * l->width; x++)
        b->score[x] += b->edge[x];
}

/* ---- backward ---- */

/* edge = g; with biases also score = the gradient of the bias. */
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

/* AVX-512 has registers enough to keep sums of eight features of a pattern. */
#if defined(__AVX512F__)
enum { WIDE_SUMS = 1 };
#else
enum { WIDE_SUMS = 0 };
#endif

/* Eight heads that fill half a register: eight rows of sums. */
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
        const int64_t id = gnn__pairs_edge(&pairs, at + e);
        if (!has_row(id, edges))
            continue;
        const gnn_real_t *x = gnn__matrix_row(&features, id) + f;
        const eight_t by = *(const eight_t *)(from + e * HEADS);
#pragma GCC unroll 8
        for (int r = 0; r < 8; r++)
            sum[r] += x[r] * by;
    }
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++)
        *(eight_t *)(sums + (f + r) * TERM_ROW) = sum[r];
}

/* `rows` rows of sums; elements after a row's heads are padding. */
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
            const int64_t id = gnn__pairs_edge(&pairs, at + e);
            if (!has_row(id, edges))
                continue;
            const gnn_real_t *x = gnn__matrix_row(&features, id) + f;
            const gnn__vec_t by = gnn__vec_load(from + e * width + u * LANES);
            for (int r = 0; r < rows; r++)
                sum[r] += x[r] * by;
        }
        for (int r = 0; r < rows; r++)
            gnn__vec_store(to + r * TERM_ROW, sum[r]);
    }
}

/* One head: features f .. f + count - 1 are in the lanes. */
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
        const int64_t id = gnn__pairs_edge(&pairs, at + e);
        const gnn__vec_t before = even;
        even = odd;
        odd = before;
        if (!has_row(id, edges))
            continue;
        const gnn_real_t *x = gnn__matrix_row(&features, id) + f;
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

#define FEATURE_SUMS(width)                                                     \
    PER_WIDTH feature_sums_##width(const gnn__lanes_t *l, const edges_t *edges, \
                                   const gnn_real_t *from, gnn_real_t *sums)    \
    {                                                                           \
        int64_t f = 0;                                                          \
        for (; WIDE_SUMS && f + 8 <= l->a->d_e; f += 8)                         \
            if (width == HEADS && LANES > HEADS)                                \
                sum_eights(l, edges, from, f, sums);                            \
            else                                                                \
                sum_section(l, edges, from, f, 8, sums, width);                 \
        for (; f + 4 <= l->a->d_e; f += 4)                                      \
            sum_section(l, edges, from, f, 4, sums, width);                     \
        for (; f < l->a->d_e; f++)                                              \
            sum_section(l, edges, from, f, 1, sums, width);                     \
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

/* Features f .. f + count - 1. */
GNN__INLINE void grad_section(const gnn__lanes_t *l, const edges_t *list, const gnn_real_t *rows,
                              int64_t stride, const gnn_real_t *from, int64_t f, int count,
                              const int width)
{
    const gnn__pairs_t pairs = *list->pairs;
    const gnn__matrix_t grad = l->a->grad.features;
    const int64_t edges = l->a->edges, at = list->at;
    const int n = list->n;
    gnn_real_t transposed_row[HEADS * LANES] = {0};
    gnn__vec_t column[HEADS];
    for (int64_t h = 0; h < l->a->heads; h++)
        for (int c = 0; c < count; c++)
            transposed_row[h * LANES + c] = rows[(f + c) * stride + h];
    for (int h = 0; h < width; h++)
        column[h] = gnn__vec_load(transposed_row + h * LANES);
    for (int e = 0; e < n; e++) {
        const int64_t id = gnn__pairs_edge(&pairs, at + e);
        if (!has_row(id, edges))
            continue;
        gnn_real_t *d = gnn__matrix_row(&grad, id) + f;
        gnn__vec_t sum = count == LANES ? gnn__vec_load(d) : gnn__vec_load_first(d, count);
        for (int h = 0; h < width; h++)
            sum += from[e * width + h] * column[h];
        if (count == LANES)
            gnn__vec_store(d, sum);
        else
            gnn__vec_store_first(d, sum, count);
    }
}

#define FEATURE_GRADS(width)                                                                        \
    PER_WIDTH feature_grads_##width(const gnn__lanes_t *l, const edges_t *edges,                    \
                                    const gnn_real_t *rows, int64_t stride, const gnn_real_t *from) \
    {                                                                                               \
        for (int64_t f = 0; f < l->a->d_e; f += LANES)                                              \
            grad_section(l, edges, rows, stride, from, f,                                           \
                         (int)(l->a->d_e - f < LANES ? l->a->d_e - f : LANES), width);              \
    }
FOR_WIDTHS(FEATURE_GRADS)

void feature_grads(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *rows,
                   int64_t stride, const gnn_real_t *from)
{
    BY_WIDTH(l->width, feature_grads, l, edges, rows, stride, from);
}

/* The gradients of logits replace the logits. */
GNN__INLINE void store_logit_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at,
                                   const int width)
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

#define STORE_LOGIT_GRADS(width)                                                                  \
    PER_WIDTH store_logit_grads_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at) \
    {                                                                                             \
        store_logit_grads(l, b, at, width);                                                       \
    }
FOR_WIDTHS(STORE_LOGIT_GRADS)

/* Gradients of biases += scale * from (pairs x width). */
static void bias_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at,
                       const gnn_real_t *from, gnn_real_t scale)
{
    const gnn__attention_t *a = l->a;
    for (int e = 0; e < b->n; e++) {
        const int64_t id = gnn__pairs_edge(&a->pairs, at + e);
        if (!has_row(id, a->biases))
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.bias, id);
        for (int64_t h = 0; h < a->heads; h++)
            d[a->bias_cols == 1 ? 0 : h] += scale * from[e * l->width + h];
    }
}

void edge_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at)
{
    score_grads(l, b);
    const edges_t edges = {&l->a->pairs, at, b->n};
    if (l->edge_logits.at)
        BY_WIDTH(l->width, store_logit_grads, l, b, at);
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

/* ---- logits of all edges ---- */

/* Prefetches features ahead: hardware prefetchers stop at the end of each 4 KiB page. */
GNN__INLINE void prefetch_features(const gnn__matrix_t *features, int64_t e, int64_t count)
{
    const char *from = (const char *)gnn__matrix_row(features, e),
               *to = (const char *)gnn__matrix_row(features, e + count);
    for (; from < to; from += 64)
        __builtin_prefetch(from);
}

/* Edges e0 .. e1 - 1, any d_e. */
GNN__INLINE void logits_any(const gnn__lanes_t *l, int64_t e0, int64_t e1, const int width)
{
    const gnn__matrix_t features = l->a->features, logits = l->edge_logits;
    const gnn_real_t *weights = l->edge_weights;
    const int64_t d_e = l->a->d_e;
    for (int64_t e = e0; e < e1; e++) {
        const gnn_real_t *x = gnn__matrix_row(&features, e);
        gnn__vec_t sum[PATTERN];
        fill_pattern(sum, 0);
        for (int64_t f = 0; f < d_e; f++)
            for (int u = 0; u < pattern_registers(width); u++)
                sum[u] += x[f] * gnn__vec_load(weights + f * TERM_ROW + u * LANES);
        for (int u = 0; u < pattern_registers(width); u++)
            gnn__vec_store_pattern(gnn__matrix_row(&logits, e), sum[u], width, u);
    }
}

enum { KNOWN = 8 };

/* Eight features, with their weights in registers. */
GNN__INLINE void logits_eight(const gnn__lanes_t *l, int64_t e0, int64_t e1, const int width)
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
        gnn__vec_store_pattern(gnn__matrix_row(&logits, e), sum[0] + sum[1], width, 0);
    }
}

/* Eight contiguous features and one head: products of LANES edges are reduced together. Returns the
 * first edge that is left. */
static int64_t logits_one_head(const gnn__lanes_t *l, int64_t e0, int64_t e1)
{
    gnn_real_t weights[KNOWN + LANES]; /* the eight repeated over whole registers */
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

#define LOGITS(width)                                                       \
    PER_WIDTH logits_##width(const gnn__lanes_t *l, int64_t e0, int64_t e1) \
    {                                                                       \
        if (width == 1 && l->a->d_e == KNOWN)                               \
            e0 = logits_one_head(l, e0, e1);                                \
        if (pattern_registers(width) == 1 && l->a->d_e == KNOWN)            \
            logits_eight(l, e0, e1, width);                                 \
        else                                                                \
            logits_any(l, e0, e1, width);                                   \
    }
FOR_WIDTHS(LOGITS)

void make_edge_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *scratch)
{
    (void)scratch;
    BY_WIDTH(l->width, logits, l, e0, e1);
}

void edge_logits_backward(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *d_weights)
{
    /* one row that holds every edge at the slot of its id */
    const int64_t places[] = {0, l->a->edges};
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

/* ---- logits of a block ---- */

enum { FEATURES = 8 };

/* Features of the edge at slot first + e; NULL: it has none. */
GNN__INLINE const gnn_real_t *features_at(const gnn__lanes_t *l, const int64_t *edge, int64_t first,
                                          int e)
{
    const int64_t id = edge ? edge[e] : first + e;
    return has_row(id, l->a->edges) ? gnn__matrix_row(&l->a->features, id) : NULL;
}

/* Eight features, eight heads. */
static void block_logits_8x8(const gnn__lanes_t *l, const lane_block_t *b, const int64_t *edge,
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

/* Any d_e and heads. */
static void block_logits_any(const gnn__lanes_t *l, const lane_block_t *b, const int64_t *edge,
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
        block_logits_8x8(l, b, edge, first);
    else
        block_logits_any(l, b, edge, first);
}
