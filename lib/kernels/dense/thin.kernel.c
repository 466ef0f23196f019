/* Both gradients of a linear map to a few numbers, a unit of columns at a time (thin.h). */
#include <lib/kernels/isa.h>
#include <lib/kernels/dense/thin.h>
#include <lib/kernels/simd/vec.h>

enum { LANES = GNN__VEC_LANES, FEW = GNN__THIN, REGISTERS = GNN__THIN_UNIT / LANES };

/* One unit of columns from column c on, its sums in registers. */
static void unit(const gnn__thin_t *t, int64_t c)
{
    gnn__vec_t sum[FEW][REGISTERS] = {{{0}}};
    for (int64_t r = 0; r < t->rows; r++) {
        const gnn_real_t *g = t->dy + r * FEW;
        gnn_real_t *dx = t->dx ? t->dx + r * t->lddx + c : NULL;
        for (int v = 0; v < REGISTERS; v++) {
            const gnn__vec_t x = gnn__vec_load(t->x + r * t->ldx + c + v * LANES);
            gnn__vec_t d = dx && t->add ? gnn__vec_load(dx + v * LANES) : gnn__vec_all(0);
            for (int k = 0; k < FEW; k++) {
                sum[k][v] += g[k] * x;
                d += g[k] * gnn__vec_load(t->w + k * t->cols + c + v * LANES);
            }
            if (dx)
                gnn__vec_store(dx + v * LANES, d);
        }
    }
    for (int k = 0; k < FEW; k++)
        for (int v = 0; v < REGISTERS; v++) {
            gnn_real_t *to = t->sums + k * t->cols + c + v * LANES;
            gnn__vec_store(to, gnn__vec_load(to) + sum[k][v]);
        }
}

static void grads(const gnn__thin_t *t)
{
    for (int64_t c = 0; c < t->cols; c += GNN__THIN_UNIT)
        unit(t, c);
}

extern const gnn__thin_kernels_t GNN__KERNEL(thin_kernels);
const gnn__thin_kernels_t GNN__KERNEL(thin_kernels) = {grads};
