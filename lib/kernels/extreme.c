#include <lib/kernels/extreme.h>
#include <lib/kernels/isa.h>

GNN__DISPATCH_WIDE(gnn__extreme_kernels_t, extreme_kernels)
