/* Attention row by row: all scores, edge inputs, both forms; the reference, and the fallback for
 * what the other kernels do not take. A row is processed in blocks of 64 pairs:
 *
 *     block       pair 0          pair 1          ..  pair 63
 *     i, j        receiver, sender of each
 *     score       h0 h1 .. h(H-1) h0 h1 .. h(H-1)            pairs x heads, any count of heads
 *     alpha       the same
 *
 *     forward     row_block_load      nodes, edge ids, weights, dropout
 *                 row_block_scores    scores, softcap, bias, prior, keys by distance
 *                 rescale             online-softmax step
 *                 row_block_exp       alpha = exp(score - shift)
 *                 gather              y += alpha weight keep v_j
 *                 finish_row          y / sum, log-sum-exp
 *     receive     per receiver: d_q, and gradients of edge inputs, priors and tables
 *     send        per sender, over the transposed part: d_k, d_v
 *
 * In backward alpha comes from the log-sum-exp: recompute_alpha replaces the online softmax. */
#include <lib/kernels/attention/attention.h>
#include <lib/kernels/simd/philox.h>
#include <lib/kernels/simd/real_math.h>
#include <lib/kernels/simd/vec.h>
#include <lib/kernels/isa.h>

/* Pairs of a block. */
enum { ROW_PAIRS = 64 };

/* One block of pairs of one row. Arrays of pairs x heads have the heads of a pair in sequence. */
typedef struct row_block {
    int n;
    uint32_t *i, *j;    /* receiver and sender of each pair */
    uint32_t *keys[2];  /* the same as keys of draws */
    int64_t *edge;      /* edge id of each pair */
    gnn_real_t *weight; /* edge weight of each pair with node scales; valid if `weighs` */
    gnn_real_t *score;  /* pairs x heads: scores with bias and prior */
    gnn_real_t *shift;  /* pairs x heads: subtracted before exp */
    gnn_real_t *alpha;  /* pairs x heads: weights of the softmax, then times weight and dropout */
    gnn_real_t *keep;   /* pairs x heads: dropout multipliers; valid if `drops` */
    /* pairs x heads: score / softcap before bias and prior; valid with a softcap */
    gnn_real_t *tanh;
    gnn_real_t *grad; /* pairs x heads: gradient of alpha, then of the score; backward only */
    bool weighs, drops;
} row_block_t;

GNN__INLINE row_block_t row_block_at(const gnn__attention_t *a, gnn_real_t *scratch)
{
    const int64_t matrix = ROW_PAIRS * a->heads;
    gnn__carve_t c = {.base = (char *)scratch};
    row_block_t b = {0};
    b.i = gnn__carve(&c, ROW_PAIRS, sizeof *b.i);
    b.j = gnn__carve(&c, ROW_PAIRS, sizeof *b.j);
    for (int k = 0; k < 2; k++)
        b.keys[k] = gnn__carve(&c, ROW_PAIRS, sizeof *b.keys[k]);
    b.edge = gnn__carve(&c, ROW_PAIRS, sizeof *b.edge);
    b.weight = gnn__carve(&c, ROW_PAIRS, sizeof *b.weight);
    b.score = gnn__carve(&c, matrix, sizeof *b.score);
    b.shift = gnn__carve(&c, matrix, sizeof *b.shift);
    b.alpha = gnn__carve(&c, matrix, sizeof *b.alpha);
    b.keep = gnn__carve(&c, matrix, sizeof *b.keep);
    b.tanh = gnn__carve(&c, matrix, sizeof *b.tanh);
    b.grad = gnn__carve(&c, matrix, sizeof *b.grad);
    b.weighs = a->weight.at || a->dst_scale || a->src_scale;
    b.drops = a->dropout != NULL;
    return b;
}

/* The scales of pair e's nodes, which multiply its edge weight. */
GNN__INLINE gnn_real_t node_scales(const gnn__attention_t *a, const row_block_t *b, int e)
{
    const gnn_real_t dst = a->dst_scale ? a->dst_scale[b->i[e]] : 1;
    const gnn_real_t src = a->src_scale ? a->src_scale[b->j[e]] : 1;
    return dst * src;
}

/* Loads pairs in slots at .. of the row of `node`, at most a block of them. */
GNN__INLINE void row_block_load(const gnn__attention_t *a, row_block_t *b, int64_t node, int64_t at,
                                int64_t to)
{
    b->n = (int)(to - at < ROW_PAIRS ? to - at : ROW_PAIRS);
    for (int e = 0; e < b->n; e++) {
        const int64_t other = gnn__pairs_col(&a->pairs, at + e);
        b->i[e] = (uint32_t)(a->transposed ? other : node);
        b->j[e] = (uint32_t)(a->transposed ? node : other);
        b->edge[e] = gnn__pairs_edge(&a->pairs, at + e);
    }
    for (int e = 0; b->weighs && e < b->n; e++) {
        b->weight[e] = node_scales(a, b, e);
        if (a->weight.at && b->edge[e] < a->weights)
            b->weight[e] *= *gnn__matrix_row(&a->weight, b->edge[e]);
    }
    if (!b->drops)
        return;
    for (int e = 0; e < b->n; e++) {
        b->keys[0][e] = a->nodes ? (uint32_t)a->nodes[b->i[e]] : b->i[e];
        b->keys[1][e] = a->nodes ? (uint32_t)a->nodes[b->j[e]] : b->j[e];
    }
    gnn__keep_pairs(a->dropout, b->n, b->keys[0], b->keys[1], a->heads, b->keep);
}

/* ---- scores ---- */

static void scores_additive(const gnn__attention_t *a, const row_block_t *b)
{
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *q = gnn__matrix_row(&a->q, b->i[e]), *k = gnn__matrix_row(&a->k, b->j[e]);
        for (int64_t h = 0; h < a->heads; h++)
            b->score[e * a->heads + h] = gnn__leaky(q[h] + k[h], a->slope);
    }
}

static void scores_dot(const gnn__attention_t *a, const row_block_t *b, const int64_t d_k)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *q = gnn__matrix_row(&a->q, b->i[e]),
                         *keys = gnn__matrix_row(&a->k, b->j[e]);
        for (int64_t h = 0; h < a->heads; h++, q += d_k) {
            const gnn_real_t *k = keys + h / group * d_k;
            gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t c = 0; c < d_k; c++)
                sum += q[c] * k[c];
            b->score[e * a->heads + h] = a->scale * sum;
        }
    }
}

static void scores_additive_v2(const gnn__attention_t *a, const row_block_t *b, const int64_t d_k)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *q = gnn__matrix_row(&a->q, b->i[e]);
        const gnn_real_t *keys = gnn__matrix_row(&a->k, b->j[e]), *weight = a->a, slope = a->slope;
        for (int64_t h = 0; h < a->heads; h++, q += d_k, weight += d_k) {
            const gnn_real_t *k = keys + h / group * d_k;
            gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t c = 0; c < d_k; c++)
                sum += weight[c] * gnn__leaky(q[c] + k[c], slope);
            b->score[e * a->heads + h] = sum;
        }
    }
}

/* Index of pair e's distance among the elements of the prior. */
GNN__INLINE int64_t row_block_distance(const gnn__attention_t *a, const row_block_t *b, int e)
{
    return a->prior.src_position[b->j[e]] - a->prior.dst_position[b->i[e]] + a->prior.origin;
}

/* The key of head h for a distance. */
GNN__INLINE const gnn_real_t *row_block_key(const gnn__key_table_t *t, int64_t place, int64_t h)
{
    return t->at + t->row[place] * t->stride + t->column[h];
}

static void add_key_products(const gnn__attention_t *a, const row_block_t *b,
                             const gnn__key_table_t *t, const int64_t d_k)
{
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *q = gnn__matrix_row(&a->keys.q, b->i[e]);
        const int64_t place = row_block_distance(a, b, e);
        for (int64_t h = 0; h < a->heads; h++, q += d_k) {
            const gnn_real_t *key = row_block_key(t, place, h);
            gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t c = 0; c < d_k; c++)
                sum += q[c] * key[c];
            b->score[e * a->heads + h] += a->scale * sum;
        }
    }
}

static void cap_scores(const gnn__attention_t *a, const row_block_t *b)
{
    const int64_t n = b->n * a->heads;
    for (int64_t x = 0; x < n; x++) {
        b->tanh[x] = gnn__tanh(b->score[x] / a->softcap);
        b->score[x] = a->softcap * b->tanh[x];
    }
}

static void row_block_scores(const gnn__attention_t *a, const row_block_t *b)
{
    if (a->score == GNN__SCORE_ADDITIVE)
        scores_additive(a, b);
    else if (a->score == GNN__SCORE_DOT)
        scores_dot(a, b, a->d_k);
    else
        scores_additive_v2(a, b, a->d_k);
    if (a->softcap > 0)
        cap_scores(a, b);
    for (int e = 0; a->bias.at && e < b->n; e++) {
        if (b->edge[e] < 0 || b->edge[e] >= a->biases)
            continue;
        const gnn_real_t *bias = gnn__matrix_row(&a->bias, b->edge[e]);
        for (int64_t h = 0; h < a->heads; h++)
            b->score[e * a->heads + h] += bias[a->bias_cols == 1 ? 0 : h];
    }
    for (int e = 0; a->prior.at && e < b->n; e++) {
        const gnn_real_t *prior = a->prior.at + row_block_distance(a, b, e);
        for (int64_t h = 0; h < a->heads; h++)
            b->score[e * a->heads + h] += prior[h * a->prior.stride];
    }
    for (int64_t t = 0; t < a->keys.count; t++)
        add_key_products(a, b, &a->keys.table[t], a->d_k);
}

/* alpha = exp(score - shift) for all heads of all pairs in one sweep. */
GNN__INLINE void row_block_exp(const gnn__attention_t *a, const row_block_t *b)
{
    const int64_t n = b->n * a->heads;
    gnn_real_t *alpha = b->alpha;
    const gnn_real_t *score = b->score, *shift = b->shift;
#pragma omp simd
    for (int64_t x = 0; x < n; x++)
        alpha[x] = gnn__exp(score[x] - shift[x]);
}

/* With a log-sum-exp of minus infinity every alpha is 0, whatever the score. */
GNN__INLINE gnn_real_t shift_of(gnn_real_t lse)
{
    return lse == -INFINITY ? INFINITY : lse;
}

/* The factor of alpha after the softmax: edge weight and dropout. */
GNN__INLINE gnn_real_t alpha_factor(const row_block_t *b, int e, int64_t x)
{
    const gnn_real_t weight = b->weighs ? b->weight[e] : 1, keep = b->drops ? b->keep[x] : 1;
    return weight * keep;
}

/* ---- helpers of both passes ---- */

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

/* Online-softmax step: raises the running maximum of each head, rescales sum and y, and leaves the
 * value to subtract in `shift`. */
static void online_softmax_update(const gnn__attention_t *a, const row_block_t *b,
                                  gnn_real_t *largest, gnn_real_t *sum, gnn_real_t *y)
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

/* The row by distance that is added to the value of head `head` in pair e. */
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

static void accumulate_block(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *largest,
                             gnn_real_t *sum, gnn_real_t *y)
{
    online_softmax_update(a, b, largest, sum, y);
    row_block_exp(a, b);
    for (int e = 0; e < b->n; e++)
        for (int64_t h = 0; h < a->heads; h++)
            sum[h] += b->alpha[e * a->heads + h];
    for (int e = 0; (b->weighs || b->drops) && e < b->n; e++)
        for (int64_t x = e * a->heads; x < (e + 1) * a->heads; x++)
            b->alpha[x] *= alpha_factor(b, e, x);
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
            accumulate_block(a, &b, largest, sum, y);
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

static void recompute_alpha(const gnn__attention_t *a, const row_block_t *b)
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

/* Gradient of the table of rows by distance. */
static void value_table_grads(const gnn__attention_t *a, const row_block_t *b, gnn_real_t *d,
                              const int64_t d_v)
{
    const int64_t group = a->heads / a->kv_heads;
    for (int e = 0; d && e < b->n; e++) {
        gnn_real_t *row = d + a->values.row[row_block_distance(a, b, e)] * a->values.cols;
        const gnn_real_t *dy = gnn__matrix_row(&a->grad.y, b->i[e]);
        for (int64_t h = 0, x = e * a->heads; h < a->heads; h++, x++)
            add_scaled(row + a->values.column[h / group], b->alpha[x] * alpha_factor(b, e, x),
                       dy + h * d_v, d_v);
    }
}

/* Replaces grad by the gradient of the score. */
static void score_grads(const gnn__attention_t *a, const row_block_t *b)
{
    for (int e = 0; e < b->n; e++)
        for (int64_t h = 0, x = e * a->heads; h < a->heads; h++, x++)
            b->grad[x] = b->alpha[x] * (alpha_factor(b, e, x) * b->grad[x] -
                                        a->grad.delta[b->i[e] * a->heads + h]);
}

static void weight_grads(const gnn__attention_t *a, const row_block_t *b)
{
    for (int e = 0; a->grad.weight.at && e < b->n; e++) {
        if (b->edge[e] >= a->weights)
            continue;
        gnn_real_t sum = 0;
        for (int64_t x = e * a->heads; x < (e + 1) * a->heads; x++)
            sum += b->alpha[x] * (b->drops ? b->keep[x] : 1) * b->grad[x];
        *gnn__matrix_row(&a->grad.weight, b->edge[e]) += node_scales(a, b, e) * sum;
    }
}

static void bias_grads(const gnn__attention_t *a, const row_block_t *b)
{
    for (int e = 0; a->grad.bias.at && e < b->n; e++) {
        if (b->edge[e] < 0 || b->edge[e] >= a->biases)
            continue;
        gnn_real_t *d = gnn__matrix_row(&a->grad.bias, b->edge[e]);
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

/* Gradients of the products with keys by distance, to queries and to one table. */
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

/* ---- gradients of scores: to the receiver's row, or to the sender's, and to a ---- */

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

/* Turns gradients of capped scores into those of the scores. */
static void uncap_grads(const gnn__attention_t *a, const row_block_t *b)
{
    for (int64_t x = 0; x < b->n * a->heads; x++)
        b->grad[x] *= 1 - b->tanh[x] * b->tanh[x];
}

/* d: the row of d_q, or of d_k where rows are senders. */
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

/* ---- the passes ---- */

static void receive(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch,
                    const gnn__row_sums_t *sums)
{
    row_block_t b = row_block_at(a, scratch);
    gnn_real_t *unwanted = b.grad + ROW_PAIRS * a->heads; /* d_q where d_a alone is wanted */
    for (int64_t row = row0; row < row1; row++) {
        const int64_t i = gnn__pairs_node(&a->pairs, row), to = gnn__pairs_to(&a->pairs, row);
        gnn_real_t *d_q = sums->a ? unwanted : NULL;
        if (a->grad.q.at)
            d_q = gnn__matrix_row(&a->grad.q, i);
        for (int64_t at = gnn__pairs_from(&a->pairs, row); at < to; at += ROW_PAIRS) {
            row_block_load(a, &b, i, at, to);
            row_block_scores(a, &b);
            recompute_alpha(a, &b);
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
            add_scaled(d + h / group * d_v, b->alpha[x] * alpha_factor(b, e, x), dy + h * d_v, d_v);
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
            recompute_alpha(a, &b);
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
const gnn__attention_rows_t GNN__KERNEL(attention_rows) = {
    .forward = forward, .delta = delta, .receive = receive, .send = send};
