/* What callers of the elementwise kernels must know of an activation. */
#include <lib/kernels/rowwise/elementwise.h>

bool gnn__activation_from_output(gnn_activation_t kind, gnn_real_t slope)
{
    switch (kind) {
#define GNN_ACTIVATION(id, name, from_output) \
    case GNN_##id:                            \
        return from_output;
#include <lib/kernels/rowwise/activations.def>
#undef GNN_ACTIVATION
    default: return false;
    }
}
