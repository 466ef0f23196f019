/* Between the kernels of attention with heads in lanes: rows of values, as copies or in place, and
 * their weighted sums. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_ROWS_H
#define GNN_KERNELS_LANES_ROWS_H

#include <lib/kernels/attention/by_lane/lane_block.h>

/* ---- layouts ---- */

/* IN_PLACE: numbers of a register, where one head of fewer is read where it lies. SHARES: so are
 * small heads that share registers. BOTH_ENDS: rows of eight heads of eight numbers fill registers,
 * so that backward can go through pairs once for both their ends. */
#if !GNN_DOUBLE && defined(__AVX2__)
enum { IN_PLACE = LANES };
#else
enum { IN_PLACE = 0 };
#endif
#if !GNN_DOUBLE && defined(__AVX512F__)
enum { SHARES = 1 };
#else
enum { SHARES = 0 };
#endif
enum { BOTH_ENDS = LANES >= HEADS, EIGHTS = HEADS * 8 / LANES };

/* Numbers of the one head that does not fill a register, or of each of several that share them; 0:
 * the layout is another. */
GNN__INLINE int narrow_width(const gnn__lanes_t *l)
{
    return IN_PLACE > 0 && l->layout == GNN__NARROW ? (int)l->a->d_v : 0;
}

GNN__INLINE int shared_width(const gnn__lanes_t *l)
{
    return SHARES && l->layout == GNN__SHARED ? (int)l->a->d_v : 0;
}

/* Rows of the kernels' own lie as the caller's do: neither heads fastest nor padded. */
GNN__INLINE bool as_given(const gnn__lanes_t *l)
{
    return l->layout == GNN__WHOLE || shared_width(l);
}

/* ---- copies: number c of head h is at c * width + h ---- */

/* A copy of x, and the way back to heads of d numbers one after another; `add`: onto what is there.
 * lanes_rows.kernel.c */
#define pack_row GNN__KERNEL(lanes_pack_row)
#define unpack_row GNN__KERNEL(lanes_unpack_row)
void pack_row(const gnn_real_t *x, int64_t heads, int64_t d, int width, gnn_real_t *y, int64_t row);
void unpack_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int64_t d, bool add,
                int width);

static inline void load_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int width)
{
    if (!as_given(l))
        pack_row(x, l->a->heads, l->a->d_v, width, y, l->value_numbers);
    else
        memcpy(y, x, sizeof *y * (size_t)l->value_numbers);
}

GNN__INLINE void clear_row(const gnn__lanes_t *l, const lane_block_t *b)
{
    memset(b->y, 0, sizeof *b->y * (size_t)l->value_numbers);
    memset(b->p, 0, sizeof *b->p * (size_t)l->value_numbers);
}

/* ---- small heads read where they are ---- */

/* Sums over the lanes of each head that shares x[0 .. registers - 1], as a pattern: neighbours are
 * added until one lane holds a head's. x is lost. */
GNN__INLINE gnn__vec_t shared_reduce(gnn__vec_t *x, int d, const int registers)
{
    for (int n = registers; n > 1; n /= 2, d /= 2)
        for (int v = 0; v < n / 2; v++)
            x[v] = gnn__vec_neighbours(x[2 * v], x[2 * v + 1]);
    for (; d > 1; d /= 2)
        x[0] = gnn__vec_neighbours(x[0], x[0]);
    return x[0];
}

/* y = x times its head's number; products = x . y of each head. lanes_rows.kernel.c */
#define scale_shared GNN__KERNEL(lanes_scale_shared)
#define shared_products GNN__KERNEL(lanes_shared_products)
void scale_shared(const gnn__lanes_t *l, const gnn_real_t *x, gnn__vec_t by, gnn_real_t *y,
                  bool pass);
void shared_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                     gnn__vec_t *products);

/* ---- products ---- */

GNN__INLINE bool passes(const gnn__lanes_t *l, const gnn_real_t *y)
{
    return as_given(l) && gnn__vec_passes(y, l->value_numbers * l->a->pairs.n_rows);
}

/* y = x times its head's number; y may be x. lanes_rows.kernel.c */
#define scale_row GNN__KERNEL(lanes_scale_row)
void scale_row(const gnn__lanes_t *l, const gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
               int width);

/* Rows of y are finished when some of them are done; where the whole is too large for any cache
 * each is before it passes by them. */
GNN__INLINE bool finishes_later(const gnn__lanes_t *l)
{
    return l->finish && !(passes(l, l->a->y.at) && l->a->y.stride % LANES == 0);
}

/* As scale_row_out, finished, into a row that passes the caches. lanes_rows.kernel.c */
#define scale_and_pass GNN__KERNEL(lanes_scale_and_pass)
void scale_and_pass(const gnn__lanes_t *l, gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
                    int width);

/* The same into a row of the caller's, where rows lie head by head. */
static inline void scale_row_out(const gnn__lanes_t *l, gnn_real_t *x, const gnn__vec_t *by,
                                 gnn_real_t *y, int width)
{
    if (l->finish && !finishes_later(l)) {
        scale_and_pass(l, x, by, y, width);
        return;
    }
    if (as_given(l)) {
        scale_row(l, x, by, y, width);
        return;
    }
    scale_row(l, x, by, x, width);
    unpack_row(l, x, y, l->a->d_v, false, width);
}

/* products = x . y of each head. lanes_rows.kernel.c */
#define row_products GNN__KERNEL(lanes_row_products)
void row_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                  gnn__vec_t *products, int width);

/* ---- prefetching ---- */

/* A row of eight heads of eight numbers. */
GNN__INLINE void prefetch_eight(const gnn_real_t *x)
{
    for (int c = 0; c < 64; c += 64 / (int)sizeof *x)
        __builtin_prefetch(x + c);
}

#endif
