/* Backward of dot and additive-v2 attention with heads in lanes, once by receiver and once by sender; attention_lanes.h has the layout.
 *
 *     alpha = exp(score - lse_i)     g = alpha (f dY_i . v_j - S_i)                       f: dropout
 *     dot            d_q_i = scale sum of g k_j                    d_k_j = scale sum of g q_i
 *     additive-v2    d_q_i = a sum of g (1 or slope)               d_k_j likewise          d_a = sum of g leaky(q_i + k_j)
 *     both           d_v_j = sum of alpha f dY_i */
#include <lib/kernels/attention_lanes.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/lanes_block.h>
#include <lib/kernels/lanes_rows.h>

void GNN__KERNEL(lanes_receive_pairs)(const gnn__lanes_t *l, int64_t row0, int64_t row1,
                                      gnn_real_t *scratch, gnn_real_t *d_a);
void GNN__KERNEL(lanes_send_pairs)(const gnn__lanes_t *l, int64_t row0, int64_t row1,
                                   gnn_real_t *scratch);

/* Both ends of a pair as the pass sees them: the row's own and the other ones. */
typedef struct ends {
    gnn__matrix_t own_key, other_key, own_value, other_value;
    gnn__matrix_t d_key; /* where the gradient of the own key goes; at NULL: not wanted */
} ends_t;

static ends_t ends_of(const gnn__lanes_t *l)
{
    if (l->a->transposed)
        return (ends_t){l->k, l->q, l->v, l->dy, l->a->d_k_rows};
    return (ends_t){l->q, l->k, l->dy, l->v, l->a->d_q};
}

/* Scores become alpha f in `weight` and g in `negative`, which holds dY . v before. */
GNN__INLINE void weigh_pairs(const gnn__lanes_t *l, const block_t *b, int64_t node, const int width)
{
    const gnn__matrix_t lse = {l->records + width, 3 * width},
                        s = {l->records + 2 * width, 3 * width};
    const gnn_real_t factor = l->a->score == GNN__SCORE_DOT ? l->a->scale : 1;
    gnn__vec_t own_lse[PATTERN], own_s[PATTERN];
    read_pattern(gnn__matrix_row(&lse, l->a->transposed ? 0 : node), own_lse, width);
    read_pattern(gnn__matrix_row(&s, l->a->transposed ? 0 : node), own_s, width);
    for (int x = 0; x < padded(b->n * width); x += LANES) {
        const int u = x / LANES % parts_of(width);
        const gnn__vec_t shift = l->a->transposed ? rows_at(&lse, b->other, x, width) : own_lse[u],
                         delta = l->a->transposed ? rows_at(&s, b->other, x, width) : own_s[u];
        const gnn__vec_t alpha = gnn__vec_exp(gnn__vec_load(b->score + x) - shift);
        gnn__vec_t f = gnn__vec_all(1);
        if (l->a->dropout)
            f = gnn__vec_load(b->keep + x);
        gnn__vec_store(b->weight + x, alpha * f);
        gnn__vec_store(b->negative + x,
                       factor * alpha * (f * gnn__vec_load(b->negative + x) - delta));
    }
}

#define WEIGH_PAIRS(width)                                                          \
    MADE weigh_pairs_##width(const gnn__lanes_t *l, const block_t *b, int64_t node) \
    {                                                                               \
        weigh_pairs(l, b, node, width);                                             \
    }
FOR_WIDTHS(WEIGH_PAIRS)

/* y (+)= g (1 or slope), p += g leaky(own + x), over a block; `registers` registers from number `from` on. */
GNN__INLINE void slopes_section(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own,
                                const gnn__matrix_t *m, int64_t from, bool fresh, const int width,
                                const int registers)
{
    gnn__vec_t sum[4], products[4], mine[4];
    const gnn_real_t slope = l->a->slope;
    for (int v = 0; v < registers; v++) {
        const int64_t x = from + v * LANES;
        sum[v] = fresh ? gnn__vec_all(0) : gnn__vec_load(b->y + x);
        products[v] = gnn__vec_load(b->p + x);
        mine[v] = gnn__vec_load(own + x);
    }
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *x = gnn__matrix_row(m, b->other[e]) + from;
        for (int v = 0; v < registers; v++) {
            const gnn__vec_t g =
                gnn__vec_pattern(b->negative + e * width, width, (int)(from / LANES) + v);
            const gnn__vec_t z = mine[v] + gnn__vec_load(x + v * LANES);
            sum[v] += gnn__vec_select(z > 0, g, slope * g);
            products[v] += g * leaky(z, slope);
        }
    }
    for (int v = 0; v < registers; v++) {
        gnn__vec_store(b->y + from + v * LANES, sum[v]);
        gnn__vec_store(b->p + from + v * LANES, products[v]);
    }
}

GNN__INLINE void slopes(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own,
                        const gnn__matrix_t *m, bool fresh, const int width)
{
    int64_t from = 0;
    for (; from + 4 * LANES <= l->key_row; from += 4 * LANES)
        slopes_section(l, b, own, m, from, fresh, width, 4);
    for (; from < l->key_row; from += LANES)
        slopes_section(l, b, own, m, from, fresh, width, 1);
}

#define SLOPES(width)                                                                   \
    MADE slopes_##width(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own, \
                        const gnn__matrix_t *m, bool fresh)                             \
    {                                                                                   \
        slopes(l, b, own, m, fresh, width);                                             \
    }
FOR_WIDTHS(SLOPES)

#define PRODUCTS(width)                                                                   \
    MADE products_##width(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own, \
                          const gnn__matrix_t *m)                                         \
    {                                                                                     \
        pair_products(b, own, m, l->row, 1, NULL, 0, b->negative, width);                 \
    }
FOR_WIDTHS(PRODUCTS)

/* The gradient of the row's own key from what a block gives; the sum is in y. */
static void key_block(const gnn__lanes_t *l, block_t *b, const ends_t *ends, int64_t node, bool fresh)
{
    const int width = l->width;
    if (l->a->score == GNN__SCORE_DOT) {
        block_t g = *b;
        g.weight = b->negative;
        gather(l, &g, &ends->other_key, l->key_row, fresh, false);
    } else {
        const gnn_real_t *own = gnn__matrix_row(&ends->own_key, node);
        BY_WIDTH(width, slopes, l, b, own, &ends->other_key, fresh);
    }
}

static void key_row_done(const gnn__lanes_t *l, const block_t *b, const ends_t *ends, int64_t node)
{
    if (l->a->score != GNN__SCORE_DOT)
        for (int64_t x = 0; x < l->key_row; x++)
            b->y[x] *= l->weights[x];
    if (ends->d_key.at)
        send_row(l, b->y, gnn__matrix_row(&ends->d_key, node), l->a->d_k, true, l->width);
}

/* A row's scores, dY . v and weights for one block. */
static void load_block(const gnn__lanes_t *l, block_t *b, const ends_t *ends, int64_t row,
                       int64_t node, int64_t at, int64_t to)
{
    const int width = l->width;
    block_load(l, b, row, at, to);
    pair_scores(l, b, gnn__matrix_row(&ends->own_key, node), &ends->other_key);
    BY_WIDTH(width, products, l, b, gnn__matrix_row(&ends->own_value, node), &ends->other_value);
    BY_WIDTH(width, weigh_pairs, l, b, node);
}

void GNN__KERNEL(lanes_receive_pairs)(const gnn__lanes_t *l, int64_t row0, int64_t row1,
                                      gnn_real_t *scratch, gnn_real_t *d_a)
{
    const gnn__pairs_t *pairs = &l->a->pairs;
    const ends_t ends = ends_of(l);
    block_t b = block_at(l, row1, scratch);
    memset(b.p, 0, sizeof *b.p * (size_t)l->key_row);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t i = gnn__pairs_node(pairs, row), from = gnn__pairs_from(pairs, row),
                      to = gnn__pairs_to(pairs, row);
        for (int64_t at = from; at < to; at += PAIRS) {
            load_block(l, &b, &ends, row, i, at, to);
            key_block(l, &b, &ends, i, at == from);
        }
        if (from < to)
            key_row_done(l, &b, &ends, i);
    }
    if (d_a) {
        memset(d_a, 0, sizeof *d_a * (size_t)(l->a->heads * l->a->d_k));
        send_row(l, b.p, d_a, l->a->d_k, true, l->width);
    }
}

void GNN__KERNEL(lanes_send_pairs)(const gnn__lanes_t *l, int64_t row0, int64_t row1,
                                   gnn_real_t *scratch)
{
    const gnn__attention_t *a = l->a;
    const ends_t ends = ends_of(l);
    block_t b = block_at(l, row1, scratch), keys = b;
    keys.y = b.y + l->row;
    memset(keys.p, 0, sizeof *keys.p * (size_t)l->key_row);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t j = gnn__pairs_node(&a->pairs, row), from = gnn__pairs_from(&a->pairs, row),
                      to = gnn__pairs_to(&a->pairs, row);
        for (int64_t at = from; at < to; at += PAIRS) {
            load_block(l, &b, &ends, row, j, at, to);
            keys.n = b.n;
            keys.other = b.other;
            if (a->d_v_rows.at)
                gather(l, &b, &l->dy, l->row, at == from, false);
            if (a->d_k_rows.at)
                key_block(l, &keys, &ends, j, at == from);
        }
        if (from < to && a->d_v_rows.at)
            send_row(l, b.y, gnn__matrix_row(&a->d_v_rows, j), a->d_v, true, l->width);
        if (from < to && a->d_k_rows.at)
            key_row_done(l, &keys, &ends, j);
    }
}
