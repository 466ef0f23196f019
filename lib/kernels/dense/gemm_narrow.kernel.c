/* Narrow GEMM: linear maps of many rows to at most 16 outputs, and their gradients (dense.h).
 *
 *     product    rows of x in tiles of SUMS / vectors; each x[r][c], broadcast, times row c of w
 *                x[r][c]  *  [w_c0 .. w_c15]  ->  sum[r], registers
 *     grads      4 rows at a time, a unit of 16 columns of x and w after the other:
 *                d[r]    += dy[r][o] * w[o][unit]       dx, registers
 *                sums[o] += dy[r][o] * x[r][unit]       dW, first-level cache */
#include <lib/kernels/isa.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/simd/vec.h>

enum {
    LANES = GNN__VEC_LANES,
    SUMS = 12,                       /* registers for the sums of a product */
    MOST = GNN__GEMM_NARROW / LANES, /* registers of a row of y */
    ROWS = 4,                        /* rows of gradients at once */
    NEAR = 2048 /* elements of w, and of sums, that stay in the first-level cache */
};

/* ---- y (+)= x w + bias ---- */

GNN__INLINE gnn__vec_t part(const gnn_real_t *at, int64_t from, int64_t count)
{
    return count - from >= LANES ? gnn__vec_load(at + from)
                                 : gnn__vec_load_first(at + from, (int)(count - from));
}

/* `rows` rows from r on, `vectors` registers each. */
GNN__INLINE void product_rows(const int rows, const int vectors, const gnn__gemm_narrow_t *t,
                              int64_t r)
{
    const gnn_real_t *x = t->x + r * t->ldx, *w = t->w;
    gnn__vec_t sum[SUMS][MOST];
    for (int k = 0; k < rows; k++)
        for (int v = 0; v < vectors; v++) {
            sum[k][v] = t->bias ? part(t->bias, v * LANES, t->out) : gnn__vec_all(0);
            if (t->add)
                sum[k][v] += part(t->y + (r + k) * t->ldy, v * LANES, t->out);
        }
    for (int64_t c = 0; c < t->in; c++, w += GNN__GEMM_NARROW) {
        gnn__vec_t own[MOST];
        for (int k = 0; c % GNN__GEMM_NARROW_UNIT == 0 && k < rows; k++)
            __builtin_prefetch(x + (rows + k) * t->ldx + c);
        for (int v = 0; v < vectors; v++)
            own[v] = gnn__vec_load(w + v * LANES);
        for (int k = 0; k < rows; k++)
            for (int v = 0; v < vectors; v++)
                sum[k][v] += x[k * t->ldx + c] * own[v];
    }
    for (int k = 0; k < rows; k++)
        for (int v = 0; v < vectors; v++) {
            gnn_real_t *to = t->y + (r + k) * t->ldy + v * LANES;
            if (t->out - v * LANES >= LANES)
                gnn__vec_store(to, sum[k][v]);
            else
                gnn__vec_store_first(to, sum[k][v], (int)(t->out - v * LANES));
        }
}

GNN__INLINE void product_all(const int vectors, const gnn__gemm_narrow_t *t)
{
    int64_t r = 0;
    for (; r + SUMS / vectors <= t->rows; r += SUMS / vectors)
        product_rows(SUMS / vectors, vectors, t, r);
    for (; r < t->rows; r++)
        product_rows(1, vectors, t, r);
}

static void product(const gnn__gemm_narrow_t *t)
{
    const int vectors = (int)((t->out + LANES - 1) / LANES);
    if (vectors == 1)
        product_all(1, t);
#if GNN__VEC_BYTES < 64 || GNN_DOUBLE
    else if (vectors == 2)
        product_all(2, t);
#endif
    else
        for (int v = 0; v < vectors; v++) { /* one register at a time */
            gnn__gemm_narrow_t one = *t;
            one.out = t->out - v * LANES < LANES ? t->out - v * LANES : LANES;
            one.w += v * LANES;
            one.bias = t->bias ? t->bias + v * LANES : NULL;
            one.y += v * LANES;
            product_all(1, &one);
        }
}

/* ---- dx (+)= dy w, sums += dy' x ---- */

/* `rows` rows from r on, columns c .. end - 1. */
GNN__INLINE void grads_rows(const int rows, const gnn__gemm_narrow_grads_t *t, int64_t r, int64_t c,
                            int64_t end)
{
    const gnn_real_t *x = t->x + r * t->ldx, *dy = t->dy + r * t->lddy;
    gnn_real_t *dx = t->dx ? t->dx + r * t->lddx : NULL;
    for (; c < end; c += LANES) {
        const int64_t unit = (c - c % GNN__GEMM_NARROW_UNIT) * t->out + c % GNN__GEMM_NARROW_UNIT;
        const gnn_real_t *w = t->w + unit;
        gnn_real_t *sums = t->sums + unit;
        gnn__vec_t own[ROWS], d[ROWS];
        for (int k = 0; k < rows; k++) {
            __builtin_prefetch(x + (rows + k) * t->ldx + c);
            own[k] = gnn__vec_load(x + k * t->ldx + c);
            d[k] = dx && t->add ? gnn__vec_load(dx + k * t->lddx + c) : gnn__vec_all(0);
        }
        for (int64_t o = 0; o < t->out;
             o++, w += GNN__GEMM_NARROW_UNIT, sums += GNN__GEMM_NARROW_UNIT) {
            const gnn__vec_t factor = gnn__vec_load(w);
            gnn__vec_t sum = gnn__vec_load(sums);
            for (int k = 0; k < rows; k++) {
                const gnn_real_t g = dy[k * t->lddy + o];
                sum += g * own[k];
                d[k] += g * factor;
            }
            gnn__vec_store(sums, sum);
        }
        for (int k = 0; dx && k < rows; k++)
            gnn__vec_store(dx + k * t->lddx + c, d[k]);
    }
}

static void grads(const gnn__gemm_narrow_grads_t *t)
{
    const int64_t fit = NEAR / t->out / GNN__GEMM_NARROW_UNIT * GNN__GEMM_NARROW_UNIT;
    for (int64_t c = 0; c < t->in; c += fit) {
        const int64_t end = c + fit < t->in ? c + fit : t->in;
        int64_t r = 0;
        for (; r + ROWS <= t->rows; r += ROWS)
            grads_rows(ROWS, t, r, c, end);
        for (; r < t->rows; r++)
            grads_rows(1, t, r, c, end);
    }
}

extern const gnn__gemm_narrow_kernels_t GNN__KERNEL(gemm_narrow_kernels);
const gnn__gemm_narrow_kernels_t GNN__KERNEL(gemm_narrow_kernels) = {
    .least_out = LANES / 2 + 1, .product = product, .grads = grads};
