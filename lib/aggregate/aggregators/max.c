/* The largest message in every column. */
#include <lib/aggregate/aggregators/extreme.h>

static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *state, const gnn_edge_t *edge)
{
    extreme_accumulate(shape, state, edge->message, true);
}

const gnn_aggregator_t gnn_aggregator_max = {
    .name = "max",
    .paper = "Hamilton, Ying, Leskovec 2017 (GraphSAGE)",
    .help = "the largest number heard in every column; ties share the gradient equally",
    .state = extreme_state,
    .accumulate = accumulate,
    .finish = extreme_finish,
    .finish_grad = extreme_finish_grad,
    .accumulate_grad = extreme_accumulate_grad,
    .fast = GNN__FAST_MAX,
};
