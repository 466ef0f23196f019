/* Dropout's multipliers of pairs as kernels of attention draw them: compiled once per instruction
 * set, compared by test_instruction_sets.c. */
#include "draws.h"

#include <lib/kernels/isa.h>
#include <lib/kernels/simd/philox.h>

enum { MOST = 64, WIDEST = 8 };

static void patterns(const gnn__dropout_t *d, int n, const uint32_t *i, const uint32_t *j,
                     int width, gnn_real_t *keep)
{
    _Alignas(64) gnn_real_t drawn[MOST * WIDEST + 64];
    const gnn__vec_t ones = gnn__vec_all(1);
    gnn__keep_patterns(d, n, i, j, drawn, width);
    for (int k = 0; k < n * width; k++) {
        const gnn__vec_t kept = gnn__kept(d->scale, drawn, k, ones);
        for (int l = 0; l < GNN__VEC_LANES && k + l < n * width; l++)
            keep[k + l] = kept[l];
    }
}

static void pairs(const gnn__dropout_t *d, int n, const uint32_t *i, const uint32_t *j, int heads,
                  gnn_real_t *keep)
{
    gnn__keep_pairs(d, n, i, j, heads, keep);
}

const draws_t GNN__KERNEL(draws) = {.patterns = patterns, .pairs = pairs};
