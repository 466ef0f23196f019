/* Elementary functions of gnn_real_t without calls or branches, so that loops over them vectorise:
 * exp and expm1 to about 1e-7 relative in float and 2e-16 in double; tanh and erf likewise in float
 * (libm's in double). NaN gives NaN, and arguments far out of range give the limits. */
#ifndef GNN_KERNELS_REAL_MATH_H
#define GNN_KERNELS_REAL_MATH_H

#include <gnn/build.h>
#include <math.h>

#define GNN__REAL(x) ((gnn_real_t)(x))

#if GNN_DOUBLE
typedef uint64_t gnn__bits_t;
#define GNN__MANTISSA 52
#define GNN__BIAS 1023
#define GNN__EXP_LEAST (-746.0)
#define GNN__EXP_MOST 710.0
#define GNN__LN2_HIGH 0x1.62e42fee00000p-1
#define GNN__LN2_LOW 0x1.a39ef35793c76p-33
#else
typedef uint32_t gnn__bits_t;
#define GNN__MANTISSA 23
#define GNN__BIAS 127
#define GNN__EXP_LEAST (-104.0f)
#define GNN__EXP_MOST 89.0f
#define GNN__LN2_HIGH 0x1.62e400p-1f
#define GNN__LN2_LOW 0x1.7f7d1cp-20f
#endif

static inline gnn__bits_t gnn__to_bits(gnn_real_t x)
{
    union {
        gnn_real_t real;
        gnn__bits_t bits;
    } u = {.real = x};
    return u.bits;
}

static inline gnn_real_t gnn__from_bits(gnn__bits_t bits)
{
    union {
        gnn__bits_t bits;
        gnn_real_t real;
    } u = {.bits = bits};
    return u.real;
}

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2: Taylor series in double, a Chebyshev fit of degree 4 in
 * float. */
static inline gnn_real_t gnn__exp_tail(gnn_real_t r)
{
#if GNN_DOUBLE
    double q = 1.0 / 6227020800.0;
    q = q * r + 1.0 / 479001600.0;
    q = q * r + 1.0 / 39916800.0;
    q = q * r + 1.0 / 3628800.0;
    q = q * r + 1.0 / 362880.0;
    q = q * r + 1.0 / 40320.0;
    q = q * r + 1.0 / 5040.0;
    q = q * r + 1.0 / 720.0;
    q = q * r + 1.0 / 120.0;
    q = q * r + 1.0 / 24.0;
    q = q * r + 1.0 / 6.0;
    return q * r + 0.5;
#else
    float q = 1.392632562e-03f;
    q = q * r + 8.363292753e-03f;
    q = q * r + 4.166655376e-02f;
    q = q * r + 1.666657631e-01f;
    return q * r + 5.000000000e-01f;
#endif
}

/* e^x = (1 + p) * high * low. The power of two comes in two factors, so that results may be
 * subnormal or overflow to infinity. */
static inline void gnn__exp_parts(gnn_real_t x, gnn_real_t *p, gnn_real_t *high, gnn_real_t *low)
{
    const gnn_real_t magic =
        GNN__REAL(3) *
        GNN__REAL((gnn__bits_t)1 << (GNN__MANTISSA - 1)); /* adding it rounds to integers */
    x = x < GNN__EXP_LEAST ? GNN__EXP_LEAST : x;
    x = x > GNN__EXP_MOST ? GNN__EXP_MOST : x;
    gnn_real_t rounded = x * GNN__REAL(1.4426950408889634) + magic;
    gnn_real_t n = rounded - magic;
    gnn_real_t r = x - n * GNN__LN2_HIGH;
    r = r - n * GNN__LN2_LOW;
    gnn__bits_t e = gnn__to_bits(rounded) - gnn__to_bits(magic) + 2 * GNN__BIAS;
    *p = r + r * r * gnn__exp_tail(r);
    *high = gnn__from_bits((e >> 1) << GNN__MANTISSA);
    *low = gnn__from_bits((e - (e >> 1)) << GNN__MANTISSA);
}

static inline gnn_real_t gnn__exp(gnn_real_t x)
{
    gnn_real_t p, high, low;
    gnn__exp_parts(x, &p, &high, &low);
    return (1 + p) * high * low;
}

/* e^x - 1 for x <= 0, without cancellation near 0. */
static inline gnn_real_t gnn__expm1_negative(gnn_real_t x)
{
    gnn_real_t p, high, low;
    gnn__exp_parts(x, &p, &high, &low);
    gnn_real_t scale = high * low;
    return scale * p + (scale - 1);
}

static inline gnn_real_t gnn__sigmoid(gnn_real_t x)
{
    return 1 / (1 + gnn__exp(-x));
}

static inline gnn_real_t gnn__tanh(gnn_real_t x)
{
#if GNN_DOUBLE
    return tanh(x);
#else
    /* Cephes: an odd polynomial near 0, 1 - 2 / (e^2|x| + 1) beyond. */
    float size = fabsf(x), z = x * x;
    float near = -5.70498872745e-3f;
    near = near * z + 2.06390887954e-2f;
    near = near * z - 5.37397155531e-2f;
    near = near * z + 1.33314422036e-1f;
    near = near * z - 3.33332819422e-1f;
    near = near * z * x + x;
    float far = copysignf(1 - 2 / (gnn__exp(2 * size) + 1), x);
    return size < 0.625f ? near : far;
#endif
}

static inline gnn_real_t gnn__erf(gnn_real_t x)
{
#if GNN_DOUBLE
    return erf(x);
#else
    /* An odd polynomial near 0; 1 - e^(polynomial in |x|) beyond, whose exponent decreases without
     * bound. */
    float size = fabsf(x), z = x * x;
    float far = -1.72853470e-5f * size + 3.83197126e-4f;
    far = far * z + (-3.88396438e-3f * size + 2.42546219e-2f);
    far = far * size - 1.06777877e-1f;
    far = far * size - 6.34846687e-1f;
    far = far * size - 1.28717512e-1f;
    far = far * size - size;
    far = copysignf(1 - gnn__exp(far), x);
    float near = -5.96761703e-4f;
    near = near * z + 4.99119423e-3f;
    near = near * z - 2.67681349e-2f;
    near = near * z + 1.12819925e-1f;
    near = near * z - 3.76125336e-1f;
    near = near * z + 1.28379166e-1f;
    near = near * x + x;
    return size > 0.927734375f ? far : near;
#endif
}

/* x, or slope x where x <= 0. */
static inline gnn_real_t gnn__leaky(gnn_real_t x, gnn_real_t slope)
{
    return x > 0 ? x : slope * x;
}

/* log(1 + e^x) for x <= 0. */
static inline gnn_real_t gnn__softplus_negative(gnn_real_t x)
{
#if GNN_DOUBLE
    return log1p(gnn__exp(x));
#else
    /* log(1 + e) = 2 atanh(e / (2 + e)), whose argument is at most 1/3. */
    float e = gnn__exp(x), s = e / (2 + e), z = s * s;
    float q = 1.0f / 15;
    q = q * z + 1.0f / 13;
    q = q * z + 1.0f / 11;
    q = q * z + 1.0f / 9;
    q = q * z + 1.0f / 7;
    q = q * z + 1.0f / 5;
    q = q * z + 1.0f / 3;
    return 2 * s + 2 * s * z * q;
#endif
}

#endif
