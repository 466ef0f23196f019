/* Edge features in the keys and values of dot scores, never multiplied out per edge:
 *
 *     q_i . (k_j + W e) = q_i . k_j + (W' q_i) . e
 *     sum of alpha (v_j + W e) = sum of alpha v_j + W sum of alpha e
 *
 * and backward, with g and alpha' (behind dropout) of every pair, dY_i . (v_j + W e) alike and
 *
 *     d_q_i += W sum of g e
 *     d_Wk = sum over i of q_i (sum of g e)'       d_Wv = sum over i of dY_i (sum of alpha' e)'
 *     d_e = (W' q_i) g + (W' dY_i) alpha' */
#include <lib/kernels/attention/by_lane/columns.h>
#include <lib/kernels/attention/by_lane/edge_keys.h>
#include <lib/kernels/attention/by_lane/edge_rows.h>

/* Projections that features are multiplied by: those of the row's node, or where it is NULL of each
 * pair's other end. */
typedef struct projections {
    gnn__matrix_t rows;
    const gnn_real_t *own;
} projections_t;

static projections_t projections_of(const gnn__lanes_t *l, const gnn__matrix_t *rows, int64_t node)
{
    return (projections_t){*rows, l->a->transposed ? NULL : gnn__matrix_row(rows, node)};
}

/* The pair's projections; those of a later pair are on their way. */
GNN__INLINE const gnn_real_t *projections_at(const projections_t *p, const lane_block_t *b, int e,
                                             int64_t numbers)
{
    if (p->own)
        return p->own;
    for (int64_t x = 0; x < numbers; x += 64 / (int64_t)sizeof *p->own)
        __builtin_prefetch(gnn__matrix_row(&p->rows, b->other[e + AHEAD]) + x);
    return gnn__matrix_row(&p->rows, b->other[e]);
}

GNN__INLINE void put_products(const gnn_real_t *x, const gnn_real_t *weights, int64_t d_e,
                              gnn_real_t *out, const int width)
{
    gnn__vec_t sum[PATTERN];
    fill(sum, 0);
#pragma GCC unroll 8
    for (int64_t f = 0; x && f < d_e; f++)
        for (int u = 0; u < pattern_registers(width); u++)
            sum[u] += x[f] * gnn__vec_load(weights + f * width + u * LANES);
    for (int u = 0; u < pattern_registers(width); u++)
        gnn__vec_store(out + u * LANES, sum[u]);
}

/* Eight features, eight heads. */
enum { EIGHT = 8, EIGHT_ROWS = EIGHT * HEADS / LANES, IN_HALVES = LANES == 2 * HEADS };

static bool eight_by_eight(const gnn__lanes_t *l)
{
    return (IN_HALVES || LANES == HEADS) && l->width == HEADS && l->a->d_e == EIGHT;
}

/* Features x times the weights. */
GNN__INLINE gnn__vec_t eight_product(const gnn_real_t *x, const gnn__vec_t *weights,
                                     gnn__vec_bits_t feature)
{
    gnn__vec_t sum = gnn__vec_all(0);
    if (IN_HALVES) { /* two features to a register */
        const gnn__vec_t pattern = gnn__vec_pattern(x, HEADS, 0);
#pragma GCC unroll 4
        for (int v = 0; v < EIGHT_ROWS; v++)
            sum += gnn__vec_spread(pattern, feature + 2 * v) * weights[v];
    } else
#pragma GCC unroll 8
        for (int v = 0; v < EIGHT_ROWS; v++)
            sum += x[v] * weights[v];
    return sum;
}

/* out = features of the block's pairs times projections; the row's own stay in registers. */
GNN__INLINE void eight_products(const lane_block_t *b, const projections_t *projections,
                                gnn_real_t *out, const bool own)
{
    const projections_t p = *projections;
    const gnn_real_t **rows = b->features;
    const int n = b->n;
    gnn__vec_t weights[EIGHT_ROWS];
    gnn__vec_bits_t feature;
    for (int lane = 0; lane < LANES; lane++)
        feature[lane] = lane / HEADS;
#pragma GCC unroll 8
    for (int v = 0; own && v < EIGHT_ROWS; v++)
        weights[v] = gnn__vec_load(p.own + v * LANES);
#pragma GCC unroll 1
    for (int e = 0; e < n; e += 2) {
        gnn__vec_t sum[2];
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            if (!own) {
                const gnn_real_t *from = projections_at(&p, b, e + k, EIGHT * HEADS);
#pragma GCC unroll 8
                for (int v = 0; v < EIGHT_ROWS; v++)
                    weights[v] = gnn__vec_load(from + v * LANES);
            }
            sum[k] = eight_product(rows[e + k], weights, feature);
        }
        if (IN_HALVES)
            gnn__vec_store(out + e * HEADS, gnn__vec_reduce_two(sum[0], sum[1]));
        else
            for (int k = 0; k < 2; k++)
                gnn__vec_store(out + (e + k) * HEADS, sum[k]);
    }
    for (int x = n * HEADS; x < padded(n * HEADS); x++)
        out[x] = 0;
}

static __attribute__((noinline)) void own_products(const lane_block_t *b, const projections_t *p,
                                                   gnn_real_t *out)
{
    eight_products(b, p, out, true);
}

static __attribute__((noinline)) void others_products(const lane_block_t *b, const projections_t *p,
                                                      gnn_real_t *out)
{
    eight_products(b, p, out, false);
}

/* b->edge = features times the projections, and with `two` b->weight = features times others.
 * `known`: so many features; 0: any. */
GNN__INLINE void edge_products(const gnn__lanes_t *l, const lane_block_t *block, int64_t at,
                               const projections_t *one, const projections_t *other,
                               const int width, const bool two, const int known)
{
    const gnn__attention_t *a = l->a;
    const lane_block_t b = *block;
    const projections_t first = *one, second = *other;
    const gnn__pairs_t pairs = a->pairs;
    const gnn__matrix_t features = a->features;
    const int64_t last = last_place(&pairs), edges = a->edges, d_e = known ? known : a->d_e;
    for (int e = 0; e < b.n; e++) {
        const int64_t number = gnn__pairs_edge(&pairs, at + e),
                      ahead = at + e + EDGE_AHEAD < last ? at + e + EDGE_AHEAD : last;
        const gnn_real_t *x = has_row(number, edges) ? gnn__matrix_row(&features, number) : NULL;
        prefetch_row(&features, edges, gnn__pairs_edge(&pairs, ahead));
        put_products(x, projections_at(&first, &b, e, d_e * width), d_e, b.edge + e * width, width);
        if (two)
            put_products(x, projections_at(&second, &b, e, d_e * width), d_e, b.weight + e * width,
                         width);
    }
    for (int x = b.n * width; x < padded(b.n * width); x++)
        b.edge[x] = b.weight[x] = 0;
}

#define EDGE_PRODUCTS(width)                                                             \
    MADE edge_products_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, \
                               const projections_t *one, const projections_t *other)     \
    {                                                                                    \
        const bool eight = l->a->d_e == 8;                                               \
        if (other && eight)                                                              \
            edge_products(l, b, at, one, other, width, true, 8);                         \
        else if (other)                                                                  \
            edge_products(l, b, at, one, other, width, true, 0);                         \
        else if (eight)                                                                  \
            edge_products(l, b, at, one, one, width, false, 8);                          \
        else                                                                             \
            edge_products(l, b, at, one, one, width, false, 0);                          \
    }
FOR_WIDTHS(EDGE_PRODUCTS)

/* to += factor * x. */
static void add_scaled(const gnn__lanes_t *l, const lane_block_t *b, gnn_real_t factor,
                       const gnn_real_t *x, gnn_real_t *to)
{
    for (int k = 0; k < padded(b->n * l->width); k += LANES)
        gnn__vec_store(to + k, gnn__vec_load(to + k) + factor * gnn__vec_load(x + k));
}

void add_edge_rows(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, int64_t node,
                   bool backward)
{
    const bool keys = l->key_rows != NULL, values = backward && l->value_rows;
    projections_t of_keys, of_values;
    void (*products)(const lane_block_t *, const projections_t *, gnn_real_t *) =
        l->a->transposed ? others_products : own_products;
    if (keys)
        of_keys = projections_of(l, &l->edge_queries, node);
    if (values)
        of_values = projections_of(l, &l->edge_outputs, node);
    if ((keys || values) && in_columns(l) && !l->a->transposed)
        column_features(l, b, keys ? of_keys.own : of_values.own,
                        keys && values ? of_values.own : NULL);
    else if ((keys || values) && eight_by_eight(l)) {
        await_edge_features(l, b);
        edge_feature_rows(l, b);
        products(b, keys ? &of_keys : &of_values, b->edge);
        if (keys && values)
            products(b, &of_values, b->weight);
    } else if (keys || values)
        BY_WIDTH(l->width, edge_products, l, b, at, keys ? &of_keys : &of_values,
                 keys && values ? &of_values : NULL);
    if (keys)
        add_scaled(l, b, l->a->scale, b->edge, b->score);
    if (values)
        add_scaled(l, b, 1, keys ? b->weight : b->edge, b->second);
}

/* y + f * y_step (`numbers` long) += sums times x + f * x_step, for each feature f. */
static void add_by_sums(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x,
                        int64_t x_step, int64_t numbers, gnn_real_t *y, int64_t y_step)
{
    const int parts = pattern_registers(l->width);
    for (int64_t f = 0; f < l->a->d_e; f++, x += x_step, y += y_step, sums += TERM_ROW) {
        gnn__vec_t by[PATTERN];
        read_pattern(sums, by, l->width);
        for (int64_t c = 0; c < numbers; c += LANES)
            gnn__vec_store(y + c,
                           gnn__vec_load(y + c) + by[c / LANES % parts] * gnn__vec_load(x + c));
    }
}

/* Row f of `to` += row f of x times its sum, of one head of d numbers; `step`: from one of these
 * numbers to the next. */
static void add_narrow(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x,
                       int64_t x_row, int64_t d, gnn_real_t *to, int64_t to_row, int64_t step)
{
    for (int64_t f = 0; f < l->a->d_e; f++)
        for (int64_t c = 0; c < d; c++)
            to[f * to_row + c * step] += sums[f * TERM_ROW] * x[f * x_row + c];
}

/* In columns the first lane's sums gain it. */
void spread_sums(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *rows,
                 int64_t numbers, gnn_real_t *y)
{
    if (in_columns(l)) {
        add_narrow(l, sums, rows, numbers, numbers / 16, y, 0, 16);
        return;
    }
    add_by_sums(l, sums, rows, numbers, numbers, y, 0);
}

void add_outer(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x, int64_t numbers,
               gnn_real_t *d)
{
    if (in_columns(l)) {
        add_narrow(l, sums, x, 0, numbers / 16, d, numbers, 1);
        return;
    }
    add_by_sums(l, sums, x, 0, numbers, d, numbers);
}

void edge_row_grads(const gnn__lanes_t *l, const lane_block_t *b, const edges_t *edges, int64_t i)
{
    if (l->key_rows)
        feature_grads(l, edges, gnn__matrix_row(&l->edge_queries, i), l->width, b->second);
    if (l->value_rows)
        feature_grads(l, edges, gnn__matrix_row(&l->edge_outputs, i), l->width, b->weight);
}
