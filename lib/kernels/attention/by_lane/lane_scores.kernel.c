/* Scores of a block of pairs, by lane.
 *
 *     additive      score = q_i + k_j (+ edges)       a sum of two patterns, register by register
 *     dot           score = scale q_i . k_j           product of rows, reduced per head
 *     additive-v2   score = a . leaky(q_i + k_j)      the same with a leaky product
 *
 * Products of rows come in three forms, by how many registers a row of keys takes:
 *
 *     any           pair by pair, own row loaded again for each
 *     four          8 heads x 8 with AVX-512: own row in 4 registers; two pairs share a reduction
 *     eight         8 heads x 8 with AVX2: 4 pairs share loads of the own row; no reduction
 *
 * In backward the same passes also compute dY . v of each pair. */
#include <lib/kernels/attention/by_lane/lane_block.h>
#include <lib/kernels/attention/by_lane/edge_inputs.h>

#include <math.h>

/* ---- additive scores ---- */

/* `edges`: adds what edges add before the slope, which is in b.edge. */
GNN__INLINE void scores_additive(const gnn__matrix_t *k, const lane_block_t *block,
                                 const gnn__vec_t *q, const int width, const bool edges)
{
    const lane_block_t b = *block;
    const int n = b.n * width;
    for (int x = 0; x < padded(n); x += LANES) {
        gnn__vec_t score = rows_at(k, b.other, x, width) + q[x / LANES % pattern_registers(width)];
        if (edges)
            score += gnn__vec_load(b.edge + x);
        gnn__vec_store(b.score + x, score);
    }
    for (int x = n; x < padded(n); x++)
        b.score[x] = -INFINITY;
}

#define SCORES(width)                                                                \
    PER_WIDTH scores_additive_##width(const gnn__matrix_t *k, const lane_block_t *b, \
                                      const gnn__vec_t *q, bool edges)               \
    {                                                                                \
        if (edges)                                                                   \
            scores_additive(k, b, q, width, true);                                   \
        else                                                                         \
            scores_additive(k, b, q, width, false);                                  \
    }
FOR_WIDTHS(SCORES)

void additive_scores(const gnn__lanes_t *l, lane_block_t *b, const gnn__vec_t *q, int64_t at)
{
    const bool edges = has_edge_terms(l);
    if (edges)
        edge_terms(l, b, at);
    BY_WIDTH(l->width, scores_additive, &l->k, b, q, edges);
    if (!l->a->bias.at)
        return;
    for (int x = 0; x < padded(b->n * l->width); x += LANES) {
        const gnn__vec_t score = gnn__vec_load(b->score + x);
        gnn__vec_store(b->edge + x, score);
        gnn__vec_store(b->score + x,
                       gnn__vec_leaky(score, l->a->slope) + gnn__vec_load(b->second + x));
    }
    for (int x = b->n * l->width; x < padded(b->n * l->width); x++)
        b->score[x] = -INFINITY;
}

/* ---- products of the row's own key with those of the pairs ---- */

/* True if a row takes four registers and a pattern half of one (8 heads x 8, the most frequent
 * shape): the row's own side stays in registers. */
GNN__INLINE bool in_four_registers(const int width, int64_t row)
{
    /* AVX-512 has registers enough */
    return SHARES && 2 * width == LANES && row == 4 * LANES;
}

/* The own side of such a row: own row, and a and slope * a for additive-v2. */
typedef struct four {
    gnn__vec_t own[4], above[4], below[4];
} four_registers_t;

GNN__INLINE four_registers_t four_registers(const gnn_real_t *own, const gnn_real_t *a,
                                            gnn_real_t slope)
{
    four_registers_t f;
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        f.own[v] = gnn__vec_load(own + v * LANES);
        f.above[v] = gnn__vec_load(a + v * LANES);
        f.below[v] = slope * f.above[v];
    }
    return f;
}

GNN__INLINE gnn__vec_t four_register_product(const four_registers_t *f, const gnn_real_t *x,
                                             bool leaky)
{
    gnn__vec_t sum = gnn__vec_all(0);
    if (leaky)
        for (int v = 0; v < 4; v++)
            sum = gnn__vec_add_leaky(sum, f->own[v] + gnn__vec_load(x + v * LANES), f->above[v],
                                     f->below[v]);
    else
        for (int v = 0; v < 4; v++)
            sum += f->own[v] * gnn__vec_load(x + v * LANES);
    return sum;
}

/* out = scale own . x per head for every pair; with `a`: a . leaky(own + x). */
GNN__INLINE void pair_products(const lane_block_t *b, const gnn_real_t *own, const gnn__matrix_t *m,
                               int64_t row, gnn_real_t scale, const gnn_real_t *a, gnn_real_t slope,
                               gnn_real_t *out, const int width)
{
#pragma GCC unroll 1
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *x = gnn__matrix_row(m, b->other[e]),
                         *next = gnn__matrix_row(m, b->other[e + AHEAD]);
        gnn__vec_t sum[PATTERN];
        for (int u = 0; u < pattern_registers(width); u++)
            sum[u] = gnn__vec_all(0);
        for (int64_t c = 0; c < row; c += LANES) {
            const gnn__vec_t mine = gnn__vec_load(own + c), theirs = gnn__vec_load(x + c);
            __builtin_prefetch(next + c);
            sum[c / LANES % pattern_registers(width)] +=
                a ? gnn__vec_load(a + c) * gnn__vec_leaky(mine + theirs, slope) : mine * theirs;
        }
        for (int u = 0; u < pattern_registers(width); u++)
            gnn__vec_store_pattern(out + e * width, scale * gnn__vec_reduce(sum[u], width, false),
                                   width, u);
    }
}

/* Rows of four registers, keys and values of equal width, two pairs at a time. `two`: also dY . v
 * into `second`. */
GNN__INLINE void four_register_pairs(const gnn__lanes_t *l, const lane_block_t *b,
                                     const gnn_real_t *own_key, gnn__matrix_t keys,
                                     const gnn_real_t *own_value, gnn__matrix_t values,
                                     const bool two)
{
    const bool leaky = l->a->score != GNN__SCORE_DOT, apart = two && keys.at != values.at,
               records = two && l->a->transposed;
    const gnn__matrix_t record = l->records;
    const gnn_real_t scale = leaky ? 1 : l->a->scale;
    const four_registers_t key = four_registers(own_key, leaky ? l->weights : own_key, l->a->slope),
                           value = four_registers(two ? own_value : own_key, own_key, 0);
    const uint32_t *others = b->other;
    gnn_real_t *scores = b->score, *products = b->second;
    const int n = b->n;
#pragma GCC unroll 1
    for (int e = 0; e < n; e += 2, scores += LANES, products += LANES) {
        gnn__vec_t score[2], product[2];
        for (int pair = 0; pair < 2; pair++) {
            const uint32_t other = others[e + pair], next = others[e + pair + AHEAD];
            prefetch_eight(gnn__matrix_row(&keys, next));
            if (apart)
                prefetch_eight(gnn__matrix_row(&values, next));
            if (records)
                __builtin_prefetch(gnn__matrix_row(&record, next));
            score[pair] = four_register_product(&key, gnn__matrix_row(&keys, other), leaky);
            product[pair] =
                two ? four_register_product(&value, gnn__matrix_row(&values, other), false)
                    : score[pair];
        }
        gnn__vec_store(scores, scale * gnn__vec_reduce_two(score[0], score[1]));
        if (two)
            gnn__vec_store(products, gnn__vec_reduce_two(product[0], product[1]));
    }
}

/* True if a row takes eight registers and a pattern one (8 heads x 8 with AVX2): four pairs at a
 * time share what is loaded of the own row, and nothing is reduced across lanes. */
GNN__INLINE bool in_eight_registers(const int width, int64_t row)
{
    return LANES == HEADS && width == LANES && row == 8 * LANES;
}

GNN__INLINE void eight_products(const lane_block_t *b, const gnn_real_t *own,
                                const gnn__matrix_t *m, gnn_real_t scale, const gnn_real_t *a,
                                gnn_real_t slope, gnn_real_t *out)
{
    enum { SOME = 4 };
    const uint32_t *others = b->other;
    const int n = b->n;
#pragma GCC unroll 1
    for (int e = 0; e < n; e += SOME, out += SOME * LANES) {
        const gnn_real_t *x0 = gnn__matrix_row(m, others[e]);
        const gnn_real_t *x1 = gnn__matrix_row(m, others[e + 1]);
        const gnn_real_t *x2 = gnn__matrix_row(m, others[e + 2]);
        const gnn_real_t *x3 = gnn__matrix_row(m, others[e + 3]);
        gnn__vec_t s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int k = 0; k < SOME; k++)
            prefetch_eight(gnn__matrix_row(m, others[e + k + AHEAD]));
#pragma GCC unroll 8
        for (int c = 0; c < 8 * LANES; c += LANES) {
            const gnn__vec_t mine = gnn__vec_load(own + c), by = a ? gnn__vec_load(a + c) : mine;
#define PRODUCT(x) (a ? gnn__vec_leaky(mine + gnn__vec_load(x + c), slope) : gnn__vec_load(x + c))
            s0 += by * PRODUCT(x0);
            s1 += by * PRODUCT(x1);
            s2 += by * PRODUCT(x2);
            s3 += by * PRODUCT(x3);
#undef PRODUCT
        }
        gnn__vec_store(out, scale * s0);
        gnn__vec_store(out + LANES, scale * s1);
        gnn__vec_store(out + 2 * LANES, scale * s2);
        gnn__vec_store(out + 3 * LANES, scale * s3);
    }
}

#define ROW_PRODUCTS(width)                                                                \
    PER_WIDTH row_products_##width(const lane_block_t *b, const gnn_real_t *own,           \
                                   const gnn__matrix_t *m, int64_t row, gnn_real_t scale,  \
                                   const gnn_real_t *a, gnn_real_t slope, gnn_real_t *out) \
    {                                                                                      \
        if (in_eight_registers(width, row) && a)                                           \
            eight_products(b, own, m, scale, a, slope, out);                               \
        else if (in_eight_registers(width, row))                                           \
            eight_products(b, own, m, scale, NULL, 0, out);                                \
        else if (a)                                                                        \
            pair_products(b, own, m, row, scale, a, slope, out, width);                    \
        else                                                                               \
            pair_products(b, own, m, row, scale, NULL, 0, out, width);                     \
    }
FOR_WIDTHS(ROW_PRODUCTS)

static void all_products(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own_key,
                         const gnn__matrix_t *keys, const gnn_real_t *own_value,
                         const gnn__matrix_t *values)
{
    const bool dot = l->a->score == GNN__SCORE_DOT;
    BY_WIDTH(l->width, row_products, b, own_key, keys, l->key_numbers, dot ? l->a->scale : 1,
             dot ? NULL : l->weights, l->a->slope, b->score);
    if (own_value)
        BY_WIDTH(l->width, row_products, b, own_value, values, l->value_numbers, 1, NULL, 0,
                 b->second);
}

void pair_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own_key,
                 const gnn__matrix_t *keys, const gnn_real_t *own_value, const gnn__matrix_t *values)
{
    if (in_columns(l))
        column_scores(l, b, own_key, own_value);
    else if (in_four_registers(l->width, l->key_numbers) && l->value_numbers == l->key_numbers)
        own_value ? four_register_pairs(l, b, own_key, *keys, own_value, *values, true)
                  : four_register_pairs(l, b, own_key, *keys, NULL, *values, false);
    else
        all_products(l, b, own_key, keys, own_value, values);
    for (int x = b->n * l->width; x < padded(b->n * l->width); x++)
        b->score[x] = -INFINITY;
}

/* ---- dY . v alone ---- */

/* Packed rows of four registers: two pairs fill one register. */
GNN__INLINE void four_register_values(const lane_block_t *b, const gnn_real_t *own,
                                      gnn__matrix_t dy, gnn_real_t *out)
{
    const four_registers_t mine = four_registers(own, own, 0);
    const uint32_t *others = b->other;
    const int n = b->n;
    for (int e = 0; e < n; e += 2)
        gnn__vec_store(out + e * HEADS,
                       gnn__vec_reduce_two(
                           four_register_product(&mine, gnn__matrix_row(&dy, others[e]), false),
                           four_register_product(&mine, gnn__matrix_row(&dy, others[e + 1]), false)));
}

/* One head of few elements. */
static void narrow_values(const lane_block_t *b, const gnn_real_t *own, gnn__matrix_t dy, int64_t d,
                          gnn_real_t *out)
{
    const uint32_t *others = b->other;
    const int n = b->n;
    for (int e = 0; e < n; e++) {
        const gnn_real_t *x = gnn__matrix_row(&dy, others[e]);
        gnn_real_t sum = own[0] * x[0];
        for (int64_t c = 1; c < d; c++)
            sum += own[c] * x[c];
        out[e] = sum;
    }
}

enum { FEW_VALUES = 4 };

void value_products(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                    const gnn__matrix_t *values, gnn_real_t *out)
{
    const int width = l->width;
    if (l->layout == GNN__PACKED && in_four_registers(width, l->value_numbers))
        four_register_values(b, own, *values, out);
    else if (l->layout == GNN__PACKED)
        BY_WIDTH(width, row_products, b, own, values, l->value_numbers, 1, NULL, 0, out);
    else if (l->layout == GNN__NARROW && l->a->d_v <= FEW_VALUES)
        narrow_values(b, own, *values, l->a->d_v, out);
    else
        for (int e = 0; e < b->n; e++) {
            gnn__vec_t products[PATTERN];
            row_products(l, own, gnn__matrix_row(values, b->other[e]), products, width);
            for (int u = 0; u < pattern_registers(width); u++)
                gnn__vec_store_pattern(out + e * width, products[u], width, u);
        }
}
