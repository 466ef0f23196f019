#include <lib/kernels/elementwise.h>
#include <lib/kernels/heads.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/optimizer.h>
#include <lib/kernels/roof.h>
#include <lib/kernels/sparse.h>
#include <lib/kernels/thin.h>

GNN__DISPATCH(gnn__elementwise_kernels_t, elementwise_kernels)
GNN__DISPATCH(gnn__row_kernels_t, row_kernels)
GNN__DISPATCH(gnn__dropout_kernels_t, dropout_kernels)
GNN__DISPATCH(gnn__head_kernels_t, head_kernels)
GNN__DISPATCH(gnn__sparse_kernels_t, sparse_kernels)
GNN__DISPATCH(gnn__thin_kernels_t, thin_kernels)
GNN__DISPATCH(gnn__roof_kernels_t, roof_kernels)
GNN__DISPATCH(gnn__optimizer_kernels_t, optimizer_kernels)

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
