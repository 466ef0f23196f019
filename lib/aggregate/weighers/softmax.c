/* The weigher softmax: weights of a receiver add up to 1. */
#include <lib/aggregate/weighers/softmax.h>

const gnn_weigher_t gnn_weigher_softmax = {
    .name = "softmax",
    .paper = "Vaswani et al. 2017, eq. 1",
    .help = "exp(s) over the sum of exp(s) of everything that the receiver hears",
    .state = 2,
    .enter = softmax_enter,
    .weight = softmax_weight,
    .weight_grad = softmax_weight_grad,
    .fast = GNN__FAST_SOFTMAX,
};
