/* The strategies that run an aggregation. Each has a pure function that is true for calls that
 * it takes; the first of the list in aggregate_plan.c that takes a call runs it. */
#ifndef GNN_AGGREGATE_STRATEGIES_H
#define GNN_AGGREGATE_STRATEGIES_H

#include <lib/aggregate/aggregate.h>

typedef struct gnn__strategy {
    /* Does it run this call? Reads the plan, and which kernels the processor has, and nothing
     * else. Asked once a plan. */
    bool (*takes)(const gnn__plan_t *plan);
    /* Fills the part of the plan that holds how this strategy runs the call (plan->lanes),
     * once, after it has taken it. NULL: there is nothing to choose. */
    void (*choose)(gnn__plan_t *plan);
    /* Sets saved_bytes, forward_scratch, backward_scratch and `keep` of operands, all 0
     * before. */
    int (*sizes)(const gnn__plan_t *plan, gnn_op_call_t *call);
    int (*forward)(const gnn__plan_t *plan, gnn_op_call_t *call);
    int (*backward)(const gnn__plan_t *plan, gnn_op_call_t *call);
    /* As gnn__op_traits_t.finishes; NULL: it finishes nothing. */
    unsigned (*finishes)(const gnn__plan_t *plan);
    /* Writes what runs, such as "by_lane/shared+factors". Asked where there is a profile. */
    void (*describe)(const gnn__plan_t *plan, char *text, size_t size);
    /* Over ranks: values per receiver in saved[k]. NULL: it does not run there. */
    int64_t (*saved_row)(const gnn__plan_t *plan, int k);
    /* Is this a call that it runs over ranks? NULL: all that it takes are. */
    bool (*takes_over_ranks)(const gnn__plan_t *plan);
    /* Reads the features of self-loops, which follow those of the user's edges. */
    bool loop_features;
    /* Operations of a pass over pairs by running sums in place of pairs; 0: they are not used.
     * NULL: they never are. */
    double (*running_flops)(const gnn__plan_t *plan, const gnn__pairs_t *pairs, bool backward);
    /* Continues sums of earlier rows (plan->how->running). */
    bool continues_sums;
} gnn__strategy_t;

extern const gnn__strategy_t gnn__strategy_sum, gnn__strategy_extreme, gnn__strategy_by_lane,
    gnn__strategy_attention, gnn__strategy_aligned, gnn__strategy_linear, gnn__strategy_by_strip,
    gnn__strategy_reference;

static inline bool gnn__runs_over_ranks(const gnn__strategy_t *strategy, const gnn__plan_t *plan)
{
    return strategy->saved_row && (!strategy->takes_over_ranks || strategy->takes_over_ranks(plan));
}

/* ---- conditions that fast strategies share ---- */

/* Kernels add priors by distance, as strips and as keys; other priors are the reference's. */
static inline bool gnn__priors_by_distance(const gnn__plan_t *plan)
{
    bool known = true;
    for (int p = 0; p < GNN_PRIORS; p++)
        known &= !plan->prior[p] || plan->prior[p]->strip ||
                 (plan->prior[p]->key_row && plan->prior_part[p] == 0);
    return known;
}

/* Priors that are of one part, or distances by positions that a part has of its own. */
static inline bool gnn__parts_differ(const gnn__plan_t *plan)
{
    bool differ = gnn__graph_has_positions(plan->graph);
    for (int p = 0; p < GNN_PRIORS; p++)
        differ |= plan->prior[p] && plan->prior_part[p] > 0;
    return differ;
}

/* The message is the sender's row plus one by distance. */
static inline bool gnn__values_by_distance(const gnn__plan_t *plan)
{
    return plan->hints.message == GNN__MESSAGE_PLUS_DISTANCE;
}

/* Kernels read senders' rows in place, and may sum edges' rows, and those of distances, apart;
 * weighers other than softmax, different counts of key and value heads, and attention weights
 * on request are the reference's. */
static inline bool gnn__reads_rows(const gnn__plan_t *plan)
{
    return plan->hints.message != GNN__MESSAGE_OTHER && plan->has[GNN_AGGREGATE_SRC_MESSAGE] &&
           gnn__priors_by_distance(plan) &&
           (plan->hints.weigher == GNN__WEIGHER_SOFTMAX ||
            plan->hints.weigher == GNN__WEIGHER_SOFTMAX_SINK) &&
           plan->shape.key_heads == plan->shape.value_heads && !plan->how->edge_weights_out &&
           !plan->how->segment_weights_out;
}

/* The same where nothing is added to messages and keys. */
static inline bool gnn__is_plain(const gnn__plan_t *plan)
{
    return gnn__reads_rows(plan) && !gnn__values_by_distance(plan) && plan->edge_width == 0 &&
           !plan->edge_key;
}

#endif
