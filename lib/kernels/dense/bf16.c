/* Operands of products in bf16. */
#include <lib/kernels/dense/bf16.h>
#include <lib/kernels/isa.h>

GNN__DISPATCH(gnn__bf16_kernels_t, bf16_kernels)

size_t gnn__bf16_bytes(const gnn__bf16_operand_t *o)
{
    return ((size_t)o->rows * (size_t)o->cols * (size_t)o->parts * sizeof *o->to + 63) / 64 * 64;
}

void gnn__bf16_make(const gnn_context_t *context, int limit, const gnn__bf16_operand_t *o)
{
    const gnn__bf16_kernels_t *kernels = gnn__bf16_kernels();
    const int64_t stride = o->beside ? o->parts * o->cols : o->cols,
                  step = o->beside ? o->cols : o->rows * o->cols;
    const int threads = gnn__threads_within(context, limit, 2 * o->rows * o->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < o->rows; r++) {
        uint16_t *high = o->to + r * stride;
        kernels->split(o->cols, o->x + r * o->stride, high,
                       o->parts == 1 ? NULL : high + o->low * step);
        if (o->parts > 1)
            memcpy(high + o->again * step, high, (size_t)o->cols * sizeof *high);
    }
}
