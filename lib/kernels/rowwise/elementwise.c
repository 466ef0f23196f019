/* What callers of the elementwise kernels must know of an activation. */
#include <lib/kernels/rowwise/elementwise.h>

bool gnn__activation_from_output(gnn_activation_t kind, gnn_real_t slope)
{
    switch (kind) {
    case GNN_RELU:
    case GNN_ELU:
    case GNN_TANH:
    case GNN_SIGMOID: return true;
    case GNN_LEAKY_RELU: return slope > 0; /* y then has the sign of x */
    default: return false;
    }
}
