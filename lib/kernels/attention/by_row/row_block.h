/* Between the row kernels of attention: a block of pairs of one row, its scores, weights and
 * dropout. Included by kernels only. */
#ifndef GNN_KERNELS_ROW_BLOCK_H
#define GNN_KERNELS_ROW_BLOCK_H

#include <lib/kernels/attention/attention.h>
#include <lib/kernels/simd/philox.h>
#include <lib/kernels/simd/real_math.h>
#include <lib/kernels/simd/vec.h>

/* Pairs in a block. */
enum { ROW_PAIRS = 64 };

/* Arrays of pairs x heads have the heads of one pair side by side. */
typedef struct block {
    int n;
    uint32_t *i, *j;    /* receiver, sender */
    int64_t *number;    /* of the edge */
    gnn_real_t *weight; /* of the edge with its scales */
    gnn_real_t *score;  /* pairs x heads, bias and prior included */
    gnn_real_t *shift;  /* pairs x heads: what is subtracted before exp */
    gnn_real_t *alpha;  /* pairs x heads */
    gnn_real_t *keep;   /* pairs x heads: dropout's multipliers */
    gnn_real_t *tanh;   /* pairs x heads, with a cap: score / cap before anything is added */
    gnn_real_t *grad;   /* pairs x heads */
    bool weighs, drops;
} row_block_t;

GNN__INLINE row_block_t row_block_at(const gnn__attention_t *a, gnn_real_t *scratch)
{
    const int64_t matrix = ROW_PAIRS * a->heads;
    gnn__carve_t c = {.base = (char *)scratch};
    row_block_t b = {0};
    b.i = gnn__carve(&c, ROW_PAIRS, sizeof *b.i);
    b.j = gnn__carve(&c, ROW_PAIRS, sizeof *b.j);
    b.number = gnn__carve(&c, ROW_PAIRS, sizeof *b.number);
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

/* Pairs at places at .. of a row whose node is `node`. */
GNN__INLINE void row_block_load(const gnn__attention_t *a, row_block_t *b, int64_t node, int64_t at,
                                int64_t to)
{
    b->n = (int)(to - at < ROW_PAIRS ? to - at : ROW_PAIRS);
    for (int e = 0; e < b->n; e++) {
        const int64_t other = gnn__pairs_col(&a->pairs, at + e);
        b->i[e] = (uint32_t)(a->transposed ? other : node);
        b->j[e] = (uint32_t)(a->transposed ? node : other);
        b->number[e] = gnn__pairs_edge(&a->pairs, at + e);
    }
    for (int e = 0; b->weighs && e < b->n; e++) {
        b->weight[e] =
            (a->dst_scale ? a->dst_scale[b->i[e]] : 1) * (a->src_scale ? a->src_scale[b->j[e]] : 1);
        if (a->weight.at && b->number[e] < a->weights)
            b->weight[e] *= *gnn__matrix_row(&a->weight, b->number[e]);
    }
    if (b->drops)
        gnn__keep_pairs(a->dropout, b->n, b->i, b->j, a->heads, b->keep);
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
        const gnn_real_t *q = gnn__matrix_row(&a->q, b->i[e]),
                         *keys = gnn__matrix_row(&a->k, b->j[e]), *weight = a->a, slope = a->slope;
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

/* Place of pair e among the numbers of the prior. */
GNN__INLINE int64_t row_block_distance(const gnn__attention_t *a, const row_block_t *b, int e)
{
    return a->prior.src_position[b->j[e]] - a->prior.dst_position[b->i[e]] + a->prior.origin;
}

/* The key of head h at a place. */
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
        if (b->number[e] < 0 || b->number[e] >= a->biases)
            continue;
        const gnn_real_t *bias = gnn__matrix_row(&a->bias, b->number[e]);
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

/* alpha = exp(score - shift), all heads of all pairs in one sweep. */
GNN__INLINE void row_block_exp(const gnn__attention_t *a, const row_block_t *b)
{
    const int64_t n = b->n * a->heads;
    gnn_real_t *alpha = b->alpha;
    const gnn_real_t *score = b->score, *shift = b->shift;
#pragma omp simd
    for (int64_t x = 0; x < n; x++)
        alpha[x] = gnn__exp(score[x] - shift[x]);
}

/* With a log-sum-exp of minus infinity every alpha is 0, whatever is subtracted. */
GNN__INLINE gnn_real_t shift_of(gnn_real_t lse)
{
    return lse == -INFINITY ? INFINITY : lse;
}

/* What alpha is multiplied by after the softmax. */
GNN__INLINE gnn_real_t factor(const row_block_t *b, int e, int64_t x)
{
    return (b->weighs ? b->weight[e] : 1) * (b->drops ? b->keep[x] : 1);
}

#endif
