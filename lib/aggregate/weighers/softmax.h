/* What softmax and softmax_sink share. State of a head: the largest score, and the sum of exp(score
 * - largest). The sum is 0 where there was no score above minus infinity: then every weight is
 *   0. */
#ifndef GNN_AGGREGATE_WEIGHERS_SOFTMAX_H
#define GNN_AGGREGATE_WEIGHERS_SOFTMAX_H

#include <lib/aggregate/tables.h>
#include <lib/kernels/simd/real_math.h>

static inline void softmax_enter(const gnn_aggregate_shape_t *shape, int64_t head,
                                 gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    if (state[1] == 0) {
        state[0] = score;
        state[1] = score == -INFINITY ? (gnn_real_t)0 : (gnn_real_t)1;
    } else if (score > state[0]) {
        state[1] = state[1] * gnn__exp(state[0] - score) + 1;
        state[0] = score;
    } else {
        state[1] += gnn__exp(score - state[0]);
    }
}

static inline gnn_real_t softmax_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                                        const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    return state[1] == 0 ? 0 : gnn__exp(score - state[0]) / state[1];
}

static inline gnn_real_t softmax_weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                                             const gnn_real_t *state, gnn_real_t score,
                                             gnn_real_t weight, gnn_real_t d_weight, gnn_real_t delta)
{
    (void)shape, (void)head, (void)state, (void)score;
    return weight == 0 ? 0 : weight * (d_weight - delta);
}

#endif
