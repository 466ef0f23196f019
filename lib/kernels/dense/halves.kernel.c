/* Widening of numbers in 16 bits (halves.h). */
#include <lib/kernels/dense/halves.h>
#include <lib/kernels/dense/widened.h>
#include <lib/kernels/isa.h>

static void widen(int64_t n, bool bf16, const uint16_t *from, gnn_real_t *to)
{
    const int64_t whole = n - n % LANES;
    for (int64_t k = 0; k < whole; k += LANES)
        gnn__vec_store(to + k, widened(from + k, bf16));
    if (whole < n)
        gnn__vec_store_first(to + whole, widened_first(from + whole, (int)(n - whole), bf16),
                             (int)(n - whole));
}

extern const gnn__halves_kernels_t GNN__KERNEL(halves_kernels);
const gnn__halves_kernels_t GNN__KERNEL(halves_kernels) = {.widen = widen};
