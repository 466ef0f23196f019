/* Peak rates: loops of multiply-adds on registers alone, and of reads alone. */
#include <lib/kernels/isa.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/kernels/simd/vec.h>

enum { SUMS = 12, L = GNN__VEC_LANES };

static gnn_real_t total(gnn__vec_t x)
{
    gnn_real_t sum = 0;
    for (int l = 0; l < L; l++)
        sum += x[l];
    return sum;
}

static gnn_real_t multiply_add(int64_t rounds, gnn_real_t by, double *operations)
{
    gnn__vec_t sum[SUMS];
    const gnn__vec_t factor = gnn__vec_all(by);
    for (int s = 0; s < SUMS; s++)
        sum[s] = gnn__vec_all((gnn_real_t)s);
    for (int64_t k = 0; k < rounds; k++)
        for (int s = 0; s < SUMS; s++)
            sum[s] = sum[s] * factor + factor;
    for (int s = 1; s < SUMS; s++)
        sum[0] += sum[s];
    *operations = 2.0 * SUMS * L;
    return total(sum[0]);
}

static gnn_real_t read_all(int64_t n, const gnn_real_t *x)
{
    gnn__vec_t sum[4] = {{0}};
    for (int64_t k = 0; k + 4 * L <= n; k += 4 * L)
        for (int s = 0; s < 4; s++)
            sum[s] += gnn__vec_load(x + k + s * L);
    return total(sum[0] + sum[1] + sum[2] + sum[3]);
}

const gnn__peak_kernels_t GNN__KERNEL(peak_kernels) = {.multiply_add = multiply_add,
                                                       .read = read_all};
