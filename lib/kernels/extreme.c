#include <lib/kernels/extreme.h>
#include <lib/kernels/isa.h>

#if defined(__x86_64__)
extern const gnn__extreme_kernels_t gnn__extreme_kernels_v3, gnn__extreme_kernels_v4;
#endif

const gnn__extreme_kernels_t *gnn__extreme_kernels(void)
{
#if defined(__x86_64__)
    if (gnn__isa() >= GNN__ISA_V4)
        return &gnn__extreme_kernels_v4;
    if (gnn__isa() == GNN__ISA_V3)
        return &gnn__extreme_kernels_v3;
#endif
    return NULL;
}
