/* Attention row by row, for any scores, edge inputs and form: one fused pass per receiver in
 * forward, one per receiver and one per sender in backward. */
#include <lib/kernels/attention/by_row/by_row.h>
#include <lib/kernels/attention/by_row/row_block.h>
#include <lib/kernels/isa.h>

enum { AHEAD = 8 };

/* y[c] += p x[c] for one head. */
GNN__INLINE void add_scaled(gnn_real_t *y, gnn_real_t p, const gnn_real_t *x, int64_t n)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        y[c] += p * x[c];
}

GNN__INLINE gnn_real_t dot(const gnn_real_t *x, const gnn_real_t *y, int64_t n)
{
    gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += x[c] * y[c];
    return sum;
}

GNN__INLINE void prefetch(const gnn__matrix_t *m, const uint32_t *rows, int e, int n, int64_t width)
{
    const char *row = (const char *)gnn__matrix_row(m, rows[e + AHEAD < n ? e + AHEAD : n - 1]);
    for (size_t byte = 0; byte < sizeof(gnn_real_t) * (size_t)width && byte < 1024; byte += 64)
        __builtin_prefetch(row + byte);
}

/* ---- forward ---- */

/* Rescales what was gathered so far to the largest score of old and new pairs; leaves it in
 * shift. */
static void rescale(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *largest,
                    gnn_real_t *sum, gnn_real_t *y)
{
    for (int64_t h = 0; h < a->heads; h++) {
        gnn_real_t most = largest[h];
        for (int e = 0; e < b->n; e++)
            most = b->score[e * a->heads + h] > most ? b->score[e * a->heads + h] : most;
        const gnn_real_t base = most == -INFINITY ? 0 : most;
        if (most != largest[h]) {
            const gnn_real_t shrink = gnn__exp(largest[h] - base);
            sum[h] *= shrink;
            for (int64_t c = 0; c < a->d_v; c++)
                y[h * a->d_v + c] *= shrink;
            largest[h] = most;
        }
        for (int e = 0; e < b->n; e++)
            b->shift[e * a->heads + h] = base;
    }
}

static void gather(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *y, const int64_t d_v)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *v = gnn__matrix_row(&a->v, b->j[e]), *p = b->alpha + e * a->heads;
        prefetch(&a->v, b->j, e, b->n, a->kv_heads * d_v);
        for (int64_t h = 0; h < a->heads; h++)
            add_scaled(y + h * d_v, p[h], v + h / group * d_v, d_v);
    }
}

/* The row by distance that value head `head` hears with pair e. */
GNN__INLINE const gnn_real_t *added_row(const gnn__attention_t *a, const row_block_t *b, int e,
                                        int64_t head)
{
    return row_block_key(&a->values, row_block_distance(a, b, e), head);
}

static void gather_by_distance(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *y,
                               const int64_t d_v)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; e < b->n; e++)
        for (int64_t h = 0; h < a->heads; h++)
            add_scaled(y + h * d_v, b->alpha[e * a->heads + h], added_row(a, b, e, h / group), d_v);
}

static void take_block(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *largest,
                       gnn_real_t *sum, gnn_real_t *y)
{
    rescale(a, b, largest, sum, y);
    row_block_exp(a, b);
    for (int e = 0; e < b->n; e++)
        for (int64_t h = 0; h < a->heads; h++)
            sum[h] += b->alpha[e * a->heads + h];
    for (int e = 0; (b->weighs || b->drops) && e < b->n; e++)
        for (int64_t x = e * a->heads; x < (e + 1) * a->heads; x++)
            b->alpha[x] *= factor(b, e, x);
    gather(a, b, y, a->d_v);
    if (a->values.at)
        gather_by_distance(a, b, y, a->d_v);
}

static void finish_row(const gnn__attention_t *a, gnn_real_t *largest, const gnn_real_t *sum,
                       gnn_real_t *y)
{
    for (int64_t h = 0; h < a->heads; h++) {
        const gnn_real_t scale = sum[h] == 0 ? 0 : 1 / sum[h];
        for (int64_t c = h * a->d_v; c < (h + 1) * a->d_v; c++)
            y[c] *= scale;
        largest[h] = sum[h] == 0 ? -INFINITY : largest[h] + (gnn_real_t)log((double)sum[h]);
    }
}

static void forward(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch)
{
    row_block_t b = row_block_at(a, scratch);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t i = gnn__pairs_node(&a->pairs, row), to = gnn__pairs_to(&a->pairs, row);
        gnn_real_t *largest = a->state.largest + i * a->heads, *sum = a->state.sum + i * a->heads,
                   *y = gnn__matrix_row(&a->y, i);
        for (int64_t h = 0; a->first && h < a->heads; h++) {
            largest[h] = -INFINITY;
            sum[h] = 0;
        }
        if (a->first)
            memset(y, 0, sizeof *y * (size_t)(a->heads * a->d_v));
        for (int64_t at = gnn__pairs_from(&a->pairs, row); at < to; at += ROW_PAIRS) {
            row_block_load(a, &b, i, at, to);
            row_block_scores(a, &b);
            take_block(a, &b, largest, sum, y);
        }
        if (a->last)
            finish_row(a, largest, sum, y);
    }
}

/* ---- backward ---- */

static void delta(const gnn__attention_t *a, int64_t i0, int64_t i1, gnn_real_t *out)
{
    for (int64_t i = i0; i < i1; i++)
        for (int64_t h = 0; h < a->heads; h++)
            out[i * a->heads + h] = dot(gnn__matrix_row(&a->grad.y, i) + h * a->d_v,
                                        gnn__matrix_row(&a->y, i) + h * a->d_v, a->d_v);
}

static void load_alpha(const gnn__attention_t *a, const row_block_t *b)
{
    for (int e = 0; e < b->n; e++)
        for (int64_t h = 0; h < a->heads; h++)
            b->shift[e * a->heads + h] = shift_of(a->grad.lse[b->i[e] * a->heads + h]);
    row_block_exp(a, b);
}

/* grad += dY_i . the row by distance. */
static void add_value_products(const gnn__attention_t *a, const row_block_t *b, const int64_t d_v)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; e < b->n; e++)
        for (int64_t h = 0; h < a->heads; h++)
            b->grad[e * a->heads + h] += dot(gnn__matrix_row(&a->grad.y, b->i[e]) + h * d_v,
                                             added_row(a, b, e, h / group), d_v);
}

/* grad = dY_i . v_j, the gradient of alpha before weight and dropout. */
static void load_products(const gnn__attention_t *a, const row_block_t *b, const int64_t d_v)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *dy = gnn__matrix_row(&a->grad.y, b->i[e]),
                         *v = gnn__matrix_row(&a->v, b->j[e]);
        if (a->transposed)
            prefetch(&a->grad.y, b->i, e, b->n, a->heads * d_v);
        else
            prefetch(&a->v, b->j, e, b->n, a->kv_heads * d_v);
        for (int64_t h = 0; h < a->heads; h++)
            b->grad[e * a->heads + h] = dot(dy + h * d_v, v + h / group * d_v, d_v);
    }
    if (a->values.at)
        add_value_products(a, b, d_v);
}

/* The gradient of the rows by distance. */
static void value_table_grads(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *d,
                              const int64_t d_v)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; d && e < b->n; e++) {
        gnn_real_t *row = d + a->values.row[row_block_distance(a, b, e)] * a->values.cols;
        const gnn_real_t *dy = gnn__matrix_row(&a->grad.y, b->i[e]);
        for (int64_t h = 0, x = e * a->heads; h < a->heads; h++, x++)
            add_scaled(row + a->values.column[h / group], b->alpha[x] * factor(b, e, x),
                       dy + h * d_v, d_v);
    }
}

/* grad becomes the gradient of the score. */
static void score_grads(const gnn__attention_t *a, const row_block_t *b)
{
    for (int e = 0; e < b->n; e++)
        for (int64_t h = 0, x = e * a->heads; h < a->heads; h++, x++)
            b->grad[x] =
                b->alpha[x] * (factor(b, e, x) * b->grad[x] - a->grad.delta[b->i[e] * a->heads + h]);
}

static void weight_grads(const gnn__attention_t *a, const row_block_t *b)
{
    for (int e = 0; a->grad.weight.at && e < b->n; e++) {
        if (b->number[e] >= a->weights)
            continue;
        gnn_real_t sum = 0;
        for (int64_t x = e * a->heads; x < (e + 1) * a->heads; x++)
            sum += b->alpha[x] * (b->drops ? b->keep[x] : 1) * b->grad[x];
        const gnn_real_t scale =
            (a->dst_scale ? a->dst_scale[b->i[e]] : 1) * (a->src_scale ? a->src_scale[b->j[e]] : 1);
        *gnn__matrix_row(&a->grad.weight, b->number[e]) += scale * sum;
    }
}

static void bias_grads(const gnn__attention_t *a, const row_block_t *b)
{
    for (int e = 0; a->grad.bias.at && e < b->n; e++) {
        if (b->number[e] < 0 || b->number[e] >= a->biases)
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.bias, b->number[e]);
        for (int64_t h = 0; h < a->heads; h++)
            d[a->bias_cols == 1 ? 0 : h] += b->grad[e * a->heads + h];
    }
}

static void prior_grads(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *d)
{
    for (int e = 0; d && e < b->n; e++) {
        gnn_real_t *sums = d + row_block_distance(a, b, e);
        for (int64_t h = 0; h < a->heads; h++)
            sums[h * a->prior.stride] += b->grad[e * a->heads + h];
    }
}

/* Derivatives of the products with keys, to the queries and to one table. */
static void key_grads(const gnn__attention_t *a, const row_block_t *b, const gnn__key_table_t *t,
                      gnn_real_t *d_keys, const int64_t d_k)
{
    for (int e = 0; e < b->n; e++) {
        const int64_t place = row_block_distance(a, b, e);
        const gnn_real_t *q = gnn__matrix_row(&a->keys.q, b->i[e]);
        for (int64_t h = 0; h < a->heads; h++) {
            const gnn_real_t d = a->scale * b->grad[e * a->heads + h];
            if (a->keys.d_q.at)
                add_scaled(gnn__matrix_row(&a->keys.d_q, b->i[e]) + h * d_k, d,
                           row_block_key(t, place, h), d_k);
            if (d_keys)
                add_scaled(d_keys + t->sums + t->row[place] * t->cols + t->column[h], d,
                           q + h * d_k, d_k);
        }
    }
}

/* ---- the scores' derivatives: by the receiver's row, or by the sender's, and by the row's own
 * parameters ---- */

static void additive_grads(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *d)
{
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *q = gnn__matrix_row(&a->q, b->i[e]), *k = gnn__matrix_row(&a->k, b->j[e]),
                         *grad = b->grad + e * a->heads;
        for (int64_t h = 0; h < a->heads; h++)
            d[h] += q[h] + k[h] > 0 ? grad[h] : a->slope * grad[h];
    }
}

static void dot_grads(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *d,
                      const int64_t d_k)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *q = gnn__matrix_row(&a->q, b->i[e]), *k = gnn__matrix_row(&a->k, b->j[e]),
                         *grad = b->grad + e * a->heads;
        for (int64_t h = 0; h < a->heads; h++) {
            const int64_t at_q = h * d_k, at_k = h / group * d_k;
            add_scaled(d + (a->transposed ? at_k : at_q), a->scale * grad[h],
                       a->transposed ? q + at_q : k + at_k, d_k);
        }
    }
}

static void v2_grads(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *d,
                     gnn_real_t *d_a, const int64_t d_k)
{
    const int64_t group = a->heads / a->kv_heads;
    const gnn_real_t slope = a->slope;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *q = gnn__matrix_row(&a->q, b->i[e]),
                         *keys = gnn__matrix_row(&a->k, b->j[e]), *weight = a->a;
        for (int64_t h = 0; h < a->heads; h++, q += d_k, weight += d_k) {
            const gnn_real_t *k = keys + h / group * d_k, grad = b->grad[e * a->heads + h];
            gnn_real_t *d_row = d + (a->transposed ? h / group : h) * d_k;
#pragma omp simd
            for (int64_t c = 0; c < d_k; c++)
                d_row[c] += grad * weight[c] * (q[c] + k[c] > 0 ? 1 : slope);
            if (!d_a)
                continue;
#pragma omp simd
            for (int64_t c = 0; c < d_k; c++)
                d_a[h * d_k + c] += grad * gnn__leaky(q[c] + k[c], slope);
        }
    }
}

/* From the gradients of capped scores to those of the scores. */
static void uncap_grads(const gnn__attention_t *a, const row_block_t *b)
{
    for (int64_t x = 0; x < b->n * a->heads; x++)
        b->grad[x] *= 1 - b->tanh[x] * b->tanh[x];
}

/* d: the row of d_q, or where rows are senders of d_k. */
static void row_block_grads(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *d,
                            gnn_real_t *d_a)
{
    if (a->softcap > 0)
        uncap_grads(a, b);
    if (a->score == GNN__SCORE_ADDITIVE)
        additive_grads(a, b, d);
    else if (a->score == GNN__SCORE_DOT)
        dot_grads(a, b, d, a->d_k);
    else
        v2_grads(a, b, d, d_a, a->d_k);
}

/* ---- the two passes ---- */

static void receive(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch,
                    const gnn__row_sums_t *sums)
{
    row_block_t b = row_block_at(a, scratch);
    gnn_real_t *unwanted = b.grad + ROW_PAIRS * a->heads; /* d_q, where only d_a is asked for */
    for (int64_t row = row0; row < row1; row++) {
        const int64_t i = gnn__pairs_node(&a->pairs, row), to = gnn__pairs_to(&a->pairs, row);
        gnn_real_t *d_q = a->grad.q.at ? gnn__matrix_row(&a->grad.q, i) : sums->a ? unwanted : NULL;
        for (int64_t at = gnn__pairs_from(&a->pairs, row); at < to; at += ROW_PAIRS) {
            row_block_load(a, &b, i, at, to);
            row_block_scores(a, &b);
            load_alpha(a, &b);
            load_products(a, &b, a->d_v);
            weight_grads(a, &b);
            value_table_grads(a, &b, sums->values, a->d_v);
            score_grads(a, &b);
            bias_grads(a, &b);
            prior_grads(a, &b, sums->prior);
            for (int64_t t = 0; t < a->keys.count; t++)
                key_grads(a, &b, &a->keys.table[t], sums->keys, a->d_k);
            if (d_q)
                row_block_grads(a, &b, d_q, sums->a);
        }
    }
}

/* d_v_j += sum over receivers of alpha dY_i. */
static void value_grads(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *d,
                        const int64_t d_v)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *dy = gnn__matrix_row(&a->grad.y, b->i[e]);
        prefetch(&a->grad.y, b->i, e, b->n, a->heads * d_v);
        for (int64_t h = 0, x = e * a->heads; h < a->heads; h++, x++)
            add_scaled(d + h / group * d_v, b->alpha[x] * factor(b, e, x), dy + h * d_v, d_v);
    }
}

static void send(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch)
{
    row_block_t b = row_block_at(a, scratch);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t j = gnn__pairs_node(&a->pairs, row), to = gnn__pairs_to(&a->pairs, row);
        for (int64_t at = gnn__pairs_from(&a->pairs, row); at < to; at += ROW_PAIRS) {
            row_block_load(a, &b, j, at, to);
            row_block_scores(a, &b);
            load_alpha(a, &b);
            if (a->grad.v.at)
                value_grads(a, &b, gnn__matrix_row(&a->grad.v, j), a->d_v);
            if (!a->grad.k.at)
                continue;
            load_products(a, &b, a->d_v);
            score_grads(a, &b);
            row_block_grads(a, &b, gnn__matrix_row(&a->grad.k, j), NULL);
        }
    }
}

extern const gnn__attention_rows_t GNN__KERNEL(attention_rows);
const gnn__attention_rows_t GNN__KERNEL(attention_rows) = {forward, delta, receive, send};
