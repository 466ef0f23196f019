/* At which level the products of attention run. */
#include <lib/kernels/attention/attention.h>

/* vdpbf16ps does twice the work of an fp32 instruction on AMD's processors, no more than that on
 * Intel's: `medium` gains by it on the former, `high` by AMX alone. */
gnn_precision_t gnn__attention_level(const gnn_context_t *context)
{
    const gnn_precision_t used = gnn_context_precision_used(context);
    if (GNN_DOUBLE || used == GNN_PRECISION_HIGHEST || gnn__isa() < GNN__ISA_V4 ||
        !gnn__cpu_has_bf16())
        return GNN_PRECISION_HIGHEST;
    const bool on_amd = used == GNN_PRECISION_MEDIUM && gnn__cpu_is_amd();
    return context->forced || on_amd || gnn__amx_granted() ? used : GNN_PRECISION_HIGHEST;
}
