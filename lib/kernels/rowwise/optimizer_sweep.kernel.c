/* SGD and Adam by PyTorch's formulas, and what is asked of gradients before a step. */
#include <lib/kernels/isa.h>
#include <lib/kernels/rowwise/optimizer_sweep.h>
#include <math.h>

static void sgd(const gnn__sweep_t *s, gnn_real_t *restrict p, const gnn_real_t *restrict g,
                gnn_real_t *restrict b, int64_t n)
{
    const gnn__sweep_t c = *s;
    if (!b) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            p[k] -= c.lr * (c.scale * g[k] + c.l2 * p[k]);
        return;
    }
    const gnn_real_t own = c.nesterov ? 1 : 0, of_buffer = c.nesterov ? c.momentum : 1;
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        gnn_real_t d = c.scale * g[k] + c.l2 * p[k];
        gnn_real_t buffer = c.momentum * b[k] + d;
        b[k] = buffer;
        p[k] -= c.lr * (own * d + of_buffer * buffer);
    }
}

static void adam(const gnn__sweep_t *s, gnn_real_t *restrict p, const gnn_real_t *restrict g,
                 gnn_real_t *restrict m, gnn_real_t *restrict v, int64_t n)
{
    const gnn__sweep_t c = *s;
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        gnn_real_t d = c.scale * g[k] + c.l2 * p[k];
        gnn_real_t first = m[k] + c.one_beta1 * (d - m[k]);
        gnn_real_t second = c.beta2 * v[k] + c.one_beta2 * (d * d);
#if GNN_DOUBLE
        gnn_real_t root = sqrt(second);
#else
        gnn_real_t root = sqrtf(second);
#endif
        m[k] = first;
        v[k] = second;
        p[k] = c.shrink * p[k] - c.lr * first / (root / c.root_correction2 + c.eps);
    }
}

static double squares(int64_t n, const gnn_real_t *x)
{
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t k = 0; k < n; k++)
        total += (double)x[k] * (double)x[k];
    return total;
}

/* x * 0 is NaN where x is not finite. */
static bool finite_all(int64_t n, const gnn_real_t *x)
{
    gnn_real_t any = 0;
#pragma omp simd reduction(+ : any)
    for (int64_t k = 0; k < n; k++)
        any += x[k] * 0;
    return any == 0;
}

const gnn__optimizer_kernels_t GNN__KERNEL(optimizer_kernels) = {
    .sgd = sgd, .adam = adam, .squares = squares, .finite = finite_all};
