/* Attention with one head of few numbers: pairs stand in the lanes of a register, as many at once as it has. What is needed of their other ends is written into columns
 * first, one for each number:
 *
 *     0, 1: log-sum-exp and S (rows are senders)     2 ..: keys, or queries     2 + d_k ..: values, or dY; where values are keys there is one copy of both */
#include <lib/kernels/isa.h>
#include <lib/kernels/lanes_few.h>

static const gnn_real_t *columns_of(const gnn__lanes_t *l, const block_t *b, bool keys)
{
    const bool second = !keys && (l->a->transposed || !gnn__keys_are_values(l->a));
    return b->columns + (2 + (second ? l->a->d_k : 0)) * PAIRS;
}

/* `count` numbers of each pair. */
GNN__INLINE void collect(const uint32_t *nodes, int n, const gnn_real_t *x, int64_t stride,
                         gnn_real_t *to, const int count)
{
#pragma GCC unroll 1
    for (int e = 0; e < n; e++) {
        __builtin_prefetch(x + nodes[e + AHEAD] * stride);
        for (int c = 0; c < count; c++)
            to[c * PAIRS + e] = x[nodes[e] * stride + c];
    }
}

/* `count` numbers of each pair, by fours and twos; what a register has behind the last pair is the last one's too, and of no weight. */
static __attribute__((noinline)) void collect_all(const block_t *b, const gnn__matrix_t *m,
                                                  int64_t count, gnn_real_t *to)
{
    const int n = padded(b->n);
    const gnn_real_t *x = m->at;
    uint32_t nodes[PAIRS + 2 * DRAWS];
    memcpy(nodes, b->other, sizeof *nodes * (size_t)(b->n + AHEAD));
    for (int e = b->n; e < n; e++)
        nodes[e] = nodes[b->n - 1];
    for (; count >= 4; count -= 4, x += 4, to += 4 * PAIRS)
        collect(nodes, n, x, m->stride, to, 4);
    for (; count >= 2; count -= 2, x += 2, to += 2 * PAIRS)
        collect(nodes, n, x, m->stride, to, 2);
    if (count > 0)
        collect(nodes, n, x, m->stride, to, 1);
}

static void load_columns(const gnn__lanes_t *l, const block_t *b)
{
    const int64_t d_k = l->a->d_k, d_v = l->a->d_v;
    if (l->a->transposed) {
        collect_all(b, &l->records, 2 + d_k + d_v, b->columns);
        return;
    }
    collect_all(b, &l->k, d_k, b->columns + 2 * PAIRS);
    if (!gnn__keys_are_values(l->a))
        collect_all(b, &l->v, d_v, b->columns + (2 + d_k) * PAIRS);
}

/* out = scale times own . x; with a: a . leaky(own + x). */
static __attribute__((noinline)) void products(const block_t *b, const gnn_real_t *own,
                                               const gnn_real_t *columns, int64_t d,
                                               gnn_real_t scale, const gnn_real_t *a,
                                               gnn_real_t slope, gnn_real_t *out)
{
#pragma GCC unroll 1
    for (int x = 0; x < padded(b->n); x += LANES) {
        gnn__vec_t sum = gnn__vec_all(0);
#pragma GCC unroll 1
        for (int64_t c = 0; c < d; c++) {
            const gnn__vec_t theirs = gnn__vec_load(columns + c * PAIRS + x);
            sum += a ? a[c] * leaky(own[c] + theirs, slope) : own[c] * theirs;
        }
        gnn__vec_store(out + x, scale * sum);
    }
}

void few_scores(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own_key,
                const gnn_real_t *own_value)
{
    const bool dot = l->a->score == GNN__SCORE_DOT;
    load_columns(l, b);
    products(b, own_key, columns_of(l, b, true), l->a->d_k, dot ? l->a->scale : 1,
             dot ? NULL : l->weights, l->a->slope, b->score);
    if (own_value)
        products(b, own_value, columns_of(l, b, false), l->a->d_v, 1, NULL, 0, b->negative);
}

void few_gather(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *weight, bool keys,
                bool fresh, gnn_real_t *y)
{
    const gnn_real_t *columns = columns_of(l, b, keys);
    const int64_t d = keys ? l->a->d_k : l->a->d_v;
    for (int64_t c = 0; c < d; c++, columns += PAIRS, y += 16) {
        gnn__vec_t sum = fresh ? gnn__vec_all(0) : gnn__vec_load(y);
#pragma GCC unroll 1
        for (int x = 0; x < padded(b->n); x += LANES)
            sum += gnn__vec_load(weight + x) * gnn__vec_load(columns + x);
        gnn__vec_store(y, sum);
    }
}

void few_above(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own)
{
    const gnn_real_t *columns = columns_of(l, b, true);
    for (int64_t c = 0; c < l->a->d_k; c++, columns += PAIRS) {
        gnn__vec_t sum = gnn__vec_load(b->y + c * 16);
#pragma GCC unroll 1
        for (int x = 0; x < padded(b->n); x += LANES)
            sum = gnn__vec_add_above(sum, own[c] + gnn__vec_load(columns + x),
                                     gnn__vec_load(b->negative + x));
        gnn__vec_store(b->y + c * 16, sum);
    }
}

void few_fold(gnn_real_t *y, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        y[c] = gnn__vec_fold(gnn__vec_load(y + c * 16), 1, false)[0];
}

void few_unfold(gnn_real_t *y, int64_t n)
{
    for (int64_t c = n; c-- > 0;)
        gnn__vec_store(y + c * 16, gnn__vec_where(first_lanes(1), gnn__vec_all(y[c])));
}

void few_prepare(const gnn__lanes_t *l, int64_t i0, int64_t i1)
{
    const gnn__attention_t *a = l->a;
    const int64_t d_k = a->d_k, d_v = a->d_v;
    for (int64_t i = i0; i < i1; i++) {
        const gnn_real_t *y = gnn__matrix_row(&a->y, i), *dy = gnn__matrix_row(&a->dy, i),
                         lse = a->lse[i];
        gnn_real_t *to = gnn__matrix_row(&l->records, i), sum = 0;
#pragma GCC unroll 1
        for (int64_t c = 0; c < d_v; c++)
            sum += dy[c] * y[c];
        to[0] = lse == -INFINITY ? INFINITY : lse;
        to[1] = sum;
        memcpy(to + 2, gnn__matrix_row(&l->q, i), sizeof *to * (size_t)d_k);
        memcpy(to + 2 + d_k, dy, sizeof *to * (size_t)d_v);
    }
}
