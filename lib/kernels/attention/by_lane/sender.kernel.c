/* The end of a sender's row in backward of additive scores. */
#include <lib/kernels/attention/by_lane/lane_row.h>
#include <lib/kernels/attention/by_lane/sender.h>

/* What a sender's row of values has gathered. */
GNN__INLINE void give_values(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y,
                             const int width)
{
    if (!l->writes_v || !passes(l, y)) {
        unpack_row(l, x, y, l->a->d_v, !l->writes_v, width);
        return;
    }
    for (int64_t c = 0; c < l->value_numbers; c += LANES)
        gnn__vec_put_by(y + c, gnn__vec_load(x + c), true);
}

GNN__INLINE void finish_row_of(const gnn__lanes_t *l, const lane_block_t *b, int64_t j,
                               const gnn__vec_t *sum, const int width)
{
    const gnn__attention_t *a = l->a;
    const gnn_real_t *v = gnn__matrix_row(&l->v, j);
    gnn__vec_t products[PATTERN];
    for (int64_t x = 0; x < l->value_numbers; x += 64 / (int64_t)sizeof *v) /* the next one's */
        __builtin_prefetch(v + l->v.stride + x);
    if (a->grad.v.at)
        give_values(l, b->y, gnn__matrix_row(&a->grad.v, j), width);
    if (!a->grad.k.at)
        return;
    for (int64_t x = 0; x < l->value_numbers; x += LANES)
        gnn__vec_store(b->p + x, gnn__vec_load(b->y + x) - (1 - a->slope) * gnn__vec_load(b->p + x));
    row_products(l, v, b->p, products, width);
    for (int u = 0; u < pattern_registers(width); u++)
        products[u] -= sum[u];
    write_heads(gnn__matrix_row(&a->grad.k, j), a->heads, products, !l->writes_k, width);
}

#define FINISH(width)                                                            \
    MADE finish_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t j, \
                        const gnn__vec_t *sum)                                   \
    {                                                                            \
        finish_row_of(l, b, j, sum, width);                                      \
    }
FOR_WIDTHS(FINISH)

void finish_sender(const gnn__lanes_t *l, const lane_block_t *b, int64_t j, const gnn__vec_t *sum,
                   int width)
{
    BY_WIDTH(width, finish, l, b, j, sum);
}

void clear_sender(const gnn__lanes_t *l, int64_t j)
{
    const gnn__attention_t *a = l->a;
    if (l->writes_v)
        memset(gnn__matrix_row(&a->grad.v, j), 0, sizeof(gnn_real_t) * (size_t)(a->heads * a->d_v));
    if (l->writes_k)
        memset(gnn__matrix_row(&a->grad.k, j), 0, sizeof(gnn_real_t) * (size_t)a->heads);
}
