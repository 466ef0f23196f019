/* The list of entries that fast strategies know. */
#include <lib/aggregate/hints.h>

static const struct {
    const void *entry;
    int kind; /* of the entry's own table; 0 is OTHER */
} known[] = {
    {&gnn_aggregator_sum, GNN__REDUCTION_SUM},
    {&gnn_aggregator_mean, GNN__REDUCTION_MEAN},
    {&gnn_aggregator_max, GNN__REDUCTION_MAX},
    {&gnn_aggregator_min, GNN__REDUCTION_MIN},
    {&gnn_aggregator_attention, GNN__REDUCTION_ATTENTION},
    {&gnn_message_none, GNN__MESSAGE_SENDER},
    {&gnn_message_linear, GNN__MESSAGE_SENDER},
    {&gnn_message_linear_edge, GNN__MESSAGE_PLUS_EDGE},
    {&gnn_message_by_distance, GNN__MESSAGE_PLUS_DISTANCE},
    {&gnn_score_dot, GNN__SCORE_DOT},
    {&gnn_score_additive, GNN__SCORE_ADDITIVE},
    {&gnn_score_additive_v2, GNN__SCORE_ADDITIVE_V2},
    {&gnn_score_additive_tanh, GNN__SCORE_ADDITIVE_TANH},
    {&gnn_weigher_softmax, GNN__WEIGHER_SOFTMAX},
    {&gnn_weigher_softmax_sink, GNN__WEIGHER_SOFTMAX_SINK},
    {&gnn_weigher_linear, GNN__WEIGHER_LINEAR},
    {&gnn_weigher_decay, GNN__WEIGHER_DECAY},
    {&gnn_weigher_ratio, GNN__WEIGHER_RATIO},
    {&gnn_prior_receiver, GNN__PRIOR_RECEIVER},
    {&gnn_prior_sender, GNN__PRIOR_SENDER},
    {&gnn_prior_decay, GNN__PRIOR_DECAY},
    {&gnn_prior_slope, GNN__PRIOR_SLOPE},
    {&gnn_prior_place, GNN__PRIOR_PLACE},
    {&gnn_prior_sender_keys, GNN__PRIOR_SENDER_KEYS},
};

static int kind_of(const void *entry)
{
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].entry == entry)
            return known[k].kind;
    return 0;
}

gnn__hints_t gnn__hints_of(const gnn_aggregate_t *how)
{
    const gnn_score_t *score = how->score ? how->score : &gnn_score_dot;
    const gnn_weigher_t *weigher = how->weigher ? how->weigher : &gnn_weigher_softmax;
    gnn__hints_t hints = {.reduction = (gnn__reduction_t)kind_of(how->aggregator),
                          .message = (gnn__message_kind_t)kind_of(how->message),
                          .weigher = (gnn__weigher_kind_t)kind_of(weigher)};
    if (hints.reduction == GNN__REDUCTION_ATTENTION)
        hints.score = (gnn__score_kind_t)kind_of(score);
    for (int p = 0; p < GNN_PRIORS; p++)
        hints.prior[p] =
            how->priors[p].row ? (gnn__prior_kind_t)kind_of(how->priors[p].row) : GNN__PRIOR_NONE;
    return hints;
}

bool gnn__message_is_sender(const gnn_message_t *message)
{
    return kind_of(message) == GNN__MESSAGE_SENDER;
}
