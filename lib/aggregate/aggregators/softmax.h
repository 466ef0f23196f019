/* What the attention rows share: y_a = sum_j alpha_ja v_j, alpha = softmax over j of the scores of head a. A row adds its score and the score's derivative.
 *
 * State per receiver: for each head the largest score, the sum of exp(score - largest), and S = dY.Y (backward only); then heads * d_v numbers, the weighted
 * sum in forward and dY in backward. A sum of 0 means that nobody was heard, or nobody with a score above minus infinity: alpha is 0 then. */
#ifndef GNN_AGGREGATE_AGGREGATORS_SOFTMAX_H
#define GNN_AGGREGATE_AGGREGATORS_SOFTMAX_H

#include <lib/aggregate/tables.h>
#include <lib/kernels/simd/real_math.h>
#include <string.h>

/* Score of head a without bias, and its derivative times d_score, added to grad. */
typedef gnn_real_t score_t(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, int64_t a);
typedef void score_grad_t(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, int64_t a,
                          gnn_real_t d_score, gnn_edge_grad_t *grad);

static inline size_t softmax_state(const gnn_aggregate_shape_t *shape)
{
    return (size_t)(shape->heads * (3 + shape->d_v));
}

/* Head a hears key and value head `kv_head`. */
static inline int64_t kv_head(const gnn_aggregate_shape_t *shape, int64_t a)
{
    return a / (shape->heads / shape->kv_heads);
}

static inline gnn_real_t softmax_factor(const gnn_edge_t *edge, int64_t a)
{
    return edge->keep ? edge->weight * edge->keep[a] : edge->weight;
}

/* Takes one score in; returns how much of it counts after the state was rescaled. */
static inline gnn_real_t softmax_enter(gnn_real_t *largest, gnn_real_t *sum, gnn_real_t *values,
                                       int64_t d_v, gnn_real_t score)
{
    if (*sum == 0) {
        *largest = score;
        *sum = score == -INFINITY ? (gnn_real_t)0 : (gnn_real_t)1;
        return *sum;
    }
    if (!(score > *largest)) {
        gnn_real_t p = gnn__exp(score - *largest);
        *sum += p;
        return p;
    }
    gnn_real_t shrink = gnn__exp(*largest - score);
    *largest = score;
    *sum = *sum * shrink + 1;
    for (int64_t c = 0; c < d_v; c++)
        values[c] *= shrink;
    return 1;
}

static inline void softmax_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *state,
                                      const gnn_edge_t *edge, score_t *score)
{
    const int64_t heads = shape->heads, d_v = shape->d_v;
    for (int64_t a = 0; a < heads; a++) {
        gnn_real_t *values = state + 3 * heads + a * d_v;
        gnn_real_t s = score(shape, edge, a) + (edge->bias ? edge->bias[a] : 0);
        gnn_real_t p =
            softmax_enter(&state[a], &state[heads + a], values, d_v, s) * softmax_factor(edge, a);
        const gnn_real_t *v = edge->message + kv_head(shape, a) * d_v;
        /* What is dropped, or weighs nothing, is not there: 0 x NaN would be NaN. */
        for (int64_t c = 0; p != 0 && c < d_v; c++)
            values[c] += p * v[c];
    }
}

static inline void softmax_finish(const gnn_aggregate_shape_t *shape, gnn_real_t *state,
                                  gnn_real_t *out)
{
    const int64_t heads = shape->heads, d_v = shape->d_v;
    for (int64_t k = 0; k < heads * d_v; k++) {
        gnn_real_t sum = state[heads + k / d_v];
        out[k] = sum == 0 ? 0 : state[3 * heads + k] / sum;
    }
}

static inline void softmax_finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *state,
                                       const gnn_real_t *out, const gnn_real_t *d_out)
{
    const int64_t heads = shape->heads, d_v = shape->d_v;
    for (int64_t a = 0; a < heads; a++) {
        gnn_real_t s = 0;
        for (int64_t c = a * d_v; c < (a + 1) * d_v; c++)
            s += out[c] * d_out[c];
        state[2 * heads + a] = s;
    }
    memcpy(state + 3 * heads, d_out, sizeof *state * (size_t)(heads * d_v));
}

static inline void softmax_accumulate_grad(const gnn_aggregate_shape_t *shape,
                                           const gnn_real_t *state, const gnn_edge_t *edge,
                                           gnn_edge_grad_t *grad, score_t *score,
                                           score_grad_t *score_grad)
{
    const int64_t heads = shape->heads, d_v = shape->d_v;
    for (int64_t a = 0; a < heads; a++) {
        if (state[heads + a] == 0)
            continue;
        gnn_real_t s = score(shape, edge, a) + (edge->bias ? edge->bias[a] : 0);
        gnn_real_t alpha = gnn__exp(s - state[a]) / state[heads + a],
                   factor = softmax_factor(edge, a);
        const gnn_real_t *d_out = state + 3 * heads + a * d_v,
                         *v = edge->message + kv_head(shape, a) * d_v;
        gnn_real_t d_alpha = 0; /* before weight and dropout; 0 x NaN as above */
        for (int64_t c = 0; (factor != 0 || grad->weight) && c < d_v; c++)
            d_alpha += d_out[c] * v[c];
        for (int64_t c = 0; grad->message && c < d_v; c++)
            grad->message[kv_head(shape, a) * d_v + c] += alpha * factor * d_out[c];
        if (grad->weight)
            *grad->weight += alpha * (edge->keep ? edge->keep[a] : 1) * d_alpha;
        gnn_real_t d_score = alpha * ((factor != 0 ? factor * d_alpha : 0) - state[2 * heads + a]);
        if (grad->bias)
            grad->bias[a] += d_score;
        score_grad(shape, edge, a, d_score, grad);
    }
}

/* The two functions of a row that take a score. */
#define SOFTMAX_ROW(score, score_grad)                                                       \
    static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *state,            \
                           const gnn_edge_t *edge)                                           \
    {                                                                                        \
        softmax_accumulate(shape, state, edge, score);                                       \
    }                                                                                        \
    static void accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *state, \
                                const gnn_edge_t *edge, gnn_edge_grad_t *grad)               \
    {                                                                                        \
        softmax_accumulate_grad(shape, state, edge, grad, score, score_grad);                \
    }

#endif
