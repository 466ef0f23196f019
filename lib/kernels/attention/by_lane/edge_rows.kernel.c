/* Edge features in the keys and values of dot scores, never multiplied out per edge:
 *
 *     q_i . (k_j + W e) = q_i . k_j + (W' q_i) . e           sum of alpha (v_j + W e) = sum of alpha v_j + W sum of alpha e
 *
 * and backward, with g and alpha' (behind dropout) of every pair, dY_i . (v_j + W e) alike and
 *
 *     d_q_i += W sum of g e       d_Wk = sum over i of q_i (sum of g e)'       d_Wv = sum over i of dY_i (sum of alpha' e)'
 *     d_e = (W' q_i) g + (W' dY_i) alpha' */
#include <lib/kernels/attention/by_lane/edge_rows.h>

/* b->edge = features times the projections of the row's node, or of each pair's other end. */
GNN__INLINE void edge_products(const gnn__lanes_t *l, const lane_block_t *block, int64_t at,
                               const gnn__matrix_t projections, const gnn_real_t *own,
                               const int width)
{
    const gnn__attention_t *a = l->a;
    const lane_block_t b = *block;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features;
    const int64_t last = last_place(&pairs), edges = a->edges, d_e = a->d_e;
    for (int e = 0; e < b.n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e),
                      ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last;
        const gnn_real_t *weights = own ? own : gnn__matrix_row(&projections, b.other[e]);
        gnn__vec_t sum[PATTERN];
        prefetch_row(&features, edges, gnn__pairs_edge(&pairs, ahead));
        for (int64_t x = 0; !own && x < d_e * width; x += 64 / (int64_t)sizeof *weights)
            __builtin_prefetch(gnn__matrix_row(&projections, b.other[e + AHEAD]) + x);
        fill(sum, 0);
        if (has_row(number, edges)) {
            const gnn_real_t *x = gnn__matrix_row(&features, number);
            for (int64_t f = 0; f < d_e; f++)
                for (int u = 0; u < pattern_registers(width); u++)
                    sum[u] += x[f] * gnn__vec_load(weights + f * width + u * LANES);
        }
        for (int u = 0; u < pattern_registers(width); u++)
            gnn__vec_store(b.edge + e * width + u * LANES, sum[u]);
    }
    for (int x = b.n * width; x < padded(b.n * width); x++)
        b.edge[x] = 0;
}

#define EDGE_PRODUCTS(width)                                                             \
    MADE edge_products_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, \
                               gnn__matrix_t projections, const gnn_real_t *own)         \
    {                                                                                    \
        edge_products(l, b, at, projections, own, width);                                \
    }
FOR_WIDTHS(EDGE_PRODUCTS)

/* to += factor * what the edges give. */
static void add_products(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, int64_t node,
                         const gnn__matrix_t *projections, gnn_real_t factor, gnn_real_t *to)
{
    const gnn_real_t *own = l->a->transposed ? NULL : gnn__matrix_row(projections, node);
    BY_WIDTH(l->width, edge_products, l, b, at, *projections, own);
    for (int x = 0; x < padded(b->n * l->width); x += LANES)
        gnn__vec_store(to + x, gnn__vec_load(to + x) + factor * gnn__vec_load(b->edge + x));
}

void add_edge_rows(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, int64_t node,
                   bool backward)
{
    if (l->key_rows)
        add_products(l, b, at, node, &l->edge_queries, l->a->scale, b->score);
    if (backward && l->value_rows)
        add_products(l, b, at, node, &l->edge_outputs, 1, b->second);
}

void spread_sums(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *rows,
                 int64_t numbers, gnn_real_t *y)
{
    for (int64_t f = 0; f < l->a->d_e; f++, rows += numbers, sums += TERM_ROW)
        for (int64_t x = 0; x < numbers; x += LANES) {
            gnn__vec_t by[PATTERN];
            read_pattern(sums, by, l->width);
            gnn__vec_store(y + x, gnn__vec_load(y + x) + by[x / LANES % pattern_registers(l->width)] *
                                                             gnn__vec_load(rows + x));
        }
}

void add_outer(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x, int64_t numbers,
               gnn_real_t *d)
{
    for (int64_t f = 0; f < l->a->d_e; f++, d += numbers, sums += TERM_ROW)
        for (int64_t c = 0; c < numbers; c += LANES) {
            gnn__vec_t by[PATTERN];
            read_pattern(sums, by, l->width);
            gnn__vec_store(d + c, gnn__vec_load(d + c) + by[c / LANES % pattern_registers(l->width)] *
                                                             gnn__vec_load(x + c));
        }
}

/* d += projections times the numbers of one pair, heads by heads. */
static void add_row_grad(const gnn__lanes_t *l, const gnn_real_t *projections,
                         const gnn_real_t *numbers, gnn_real_t *d)
{
    for (int64_t f = 0; f < l->a->d_e; f++) {
        gnn_real_t sum = 0;
        for (int64_t h = 0; h < l->a->heads; h++)
            sum += projections[f * l->width + h] * numbers[h];
        d[f] += sum;
    }
}

void edge_row_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, int64_t i)
{
    const gnn__attention_t *a = l->a;
    for (int e = 0; e < b->n; e++) {
        const int64_t number = gnn__pairs_edge(&a->pairs, at + e);
        if (!has_row(number, a->edges))
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.features, number);
        if (l->key_rows)
            add_row_grad(l, gnn__matrix_row(&l->edge_queries, i), b->second + e * l->width, d);
        if (l->value_rows)
            add_row_grad(l, gnn__matrix_row(&l->edge_outputs, i), b->weight + e * l->width, d);
    }
}
