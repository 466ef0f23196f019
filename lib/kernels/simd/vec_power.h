/* Powers of vectors of numbers, by exp and log. */
#ifndef GNN_KERNELS_VEC_POWER_H
#define GNN_KERNELS_VEC_POWER_H

#include <lib/kernels/simd/vec_math.h>

#include <float.h>

/* log(x); that of the least normal number where x is less. */
GNN__INLINE gnn__vec_t gnn__vec_log_positive(gnn__vec_t x)
{
    return gnn__vec_log(gnn__vec_max(x, gnn__vec_all(GNN_DOUBLE ? (gnn_real_t)DBL_MIN : FLT_MIN)));
}

/* x^p where x > 0, else 0. */
GNN__INLINE gnn__vec_t gnn__vec_power(gnn__vec_t x, gnn_real_t p)
{
    return gnn__vec_select(x > 0, gnn__vec_exp(p * gnn__vec_log_positive(x)), gnn__vec_all(0));
}

/* Its slope p y / x, y = x^p; where x is not positive 0, but 1 where x is 0 and p 1. */
GNN__INLINE gnn__vec_t gnn__vec_power_slope(gnn__vec_t x, gnn__vec_t y, gnn_real_t p)
{
    const gnn__vec_t zero = gnn__vec_all(0), one = gnn__vec_all(1);
    const gnn__vec_t below = gnn__vec_select(x == 0, gnn__vec_all(p == 1 ? 1 : 0), zero);
    return gnn__vec_select(x > 0, p * y / gnn__vec_select(x > 0, x, one), below);
}

#endif
