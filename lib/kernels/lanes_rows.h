/* Between the kernels of attention with heads in lanes: rows of values, as copies or in place, and their weighted sums. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_ROWS_H
#define GNN_KERNELS_LANES_ROWS_H

#include <lib/kernels/lanes_block.h>

/* ---- layouts ---- */

#if !GNN_DOUBLE && defined(__AVX512F__)
enum { IN_PLACE = LANES };
#else
enum { IN_PLACE = 0 };
#endif

/* Numbers of the one head that does not fill a register, or of each of several that share them; 0: the layout is another. */
GNN__INLINE int narrow(const gnn__lanes_t *l)
{
    return IN_PLACE > 0 && l->layout == GNN__NARROW ? (int)l->a->d_v : 0;
}

GNN__INLINE int shared(const gnn__lanes_t *l)
{
    return IN_PLACE > 0 && l->layout == GNN__SHARED ? (int)l->a->d_v : 0;
}

/* Rows of the kernels' own lie as the caller's do: neither heads fastest nor padded. */
GNN__INLINE bool as_given(const gnn__lanes_t *l)
{
    return l->layout == GNN__WHOLE || shared(l);
}

/* ---- copies: number c of head h is at c * width + h ---- */

/* A copy of x, and the way back to heads of d numbers one after another; `add`: onto what is there. lanes_rows.kernel.c */
#define pack_row GNN__KERNEL(lanes_pack_row)
#define send_row GNN__KERNEL(lanes_send_row)
void pack_row(const gnn_real_t *x, int64_t heads, int64_t d, int width, gnn_real_t *y, int64_t row);
void send_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int64_t d, bool add,
              int width);

static inline void load_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int width)
{
    if (!as_given(l))
        pack_row(x, l->a->heads, l->a->d_v, width, y, l->row);
    else
        memcpy(y, x, sizeof *y * (size_t)l->row);
}

GNN__INLINE void clear_row(const gnn__lanes_t *l, const block_t *b)
{
    memset(b->y, 0, sizeof *b->y * (size_t)l->row);
    memset(b->p, 0, sizeof *b->p * (size_t)l->row);
}

/* ---- small heads read where they are ---- */

/* Sums over the lanes of each head that shares x[0 .. registers - 1], as a pattern: neighbours are added until one lane holds a head's. x is lost. */
GNN__INLINE gnn__vec_t shared_fold(gnn__vec_t *x, int d, const int registers)
{
    for (int n = registers; n > 1; n /= 2, d /= 2)
        for (int v = 0; v < n / 2; v++)
            x[v] = gnn__vec_neighbours(x[2 * v], x[2 * v + 1]);
    for (; d > 1; d /= 2)
        x[0] = gnn__vec_neighbours(x[0], x[0]);
    return x[0];
}

/* sum += weight x over pairs from .. to - 1 of a block, `registers` registers of a row, and sum_p likewise with `negative` where `two`. */
GNN__INLINE void shared_sums(const block_t *b, const gnn__matrix_t *m, int from, int to, int width,
                             const gnn__vec_bits_t *head, gnn__vec_t *sum, gnn__vec_t *sum_p,
                             const int registers, const bool two)
{
    for (int e = from; e < to; e++) {
        const gnn_real_t *row = gnn__matrix_row(m, b->other[e]),
                         *next = gnn__matrix_row(m, b->other[e + AHEAD]);
        const gnn__vec_t w = gnn__vec_pattern(b->weight + e * width, HEADS, 0),
                         negative = two ? gnn__vec_pattern(b->negative + e * width, HEADS, 0) : w;
        for (int v = 0; v < registers; v++) {
            const gnn__vec_t x = gnn__vec_load(row + v * LANES);
            __builtin_prefetch(next + v * LANES);
            sum[v] += gnn__vec_spread(w, head[v]) * x;
            if (two)
                sum_p[v] += gnn__vec_spread(negative, head[v]) * x;
        }
    }
}

/* y = x times its head's number; products = x . y of each head. lanes_rows.kernel.c */
#define scale_shared GNN__KERNEL(lanes_scale_shared)
#define shared_products GNN__KERNEL(lanes_shared_products)
void scale_shared(const gnn__lanes_t *l, const gnn_real_t *x, gnn__vec_t by, gnn_real_t *y,
                  bool pass);
void shared_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                     gnn__vec_t *products);

/* Sum of weight x over pairs from .. to - 1 of a block, and *p likewise with `negative` where `two`. Even and odd pairs have sums of their own: no addition waits for
 * the last. */
GNN__INLINE gnn__vec_t narrow_sum(const block_t *b, const gnn__matrix_t *m, int count, int from,
                                  int to, gnn__vec_t *p, const bool two)
{
    gnn__vec_t sum[2] = {{0}}, sum_p[2] = {{0}};
    for (int e = from; e < to; e += 2)
        for (int k = 0; k < 2 && e + k < to; k++) {
            const gnn__vec_t x = gnn__vec_load_part(gnn__matrix_row(m, b->other[e + k]), count);
            __builtin_prefetch(gnn__matrix_row(m, b->other[e + k + AHEAD]));
            sum[k] += b->weight[e + k] * x;
            if (two)
                sum_p[k] += b->negative[e + k] * x;
        }
    if (two)
        *p = sum_p[0] + sum_p[1];
    return sum[0] + sum[1];
}

/* ---- products ---- */

GNN__INLINE bool passes(const gnn__lanes_t *l, const gnn_real_t *y)
{
    return as_given(l) && gnn__vec_passes(y, l->row * l->a->pairs.n_rows);
}

/* y = x times its head's number; y may be x. lanes_rows.kernel.c */
#define scale_row GNN__KERNEL(lanes_scale_row)
void scale_row(const gnn__lanes_t *l, const gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
               int width);

/* Rows of y are finished when some of them are done; where the whole is too large for any cache each is before it passes by them. */
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
    send_row(l, x, y, l->a->d_v, false, width);
}

/* products = x . y of each head. lanes_rows.kernel.c */
#define row_products GNN__KERNEL(lanes_row_products)
void row_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                  gnn__vec_t *products, int width);

/* y (+)= weight x over the pairs of a block, rows of `row` numbers, and p likewise with `negative` where `two`. lanes_parts.kernel.c */
#define gather GNN__KERNEL(lanes_gather)
void gather(const gnn__lanes_t *l, const block_t *b, const gnn__matrix_t *m, int64_t row,
            bool fresh, bool two);

/* ---- products of the row's own numbers with the pairs' ---- */

/* Eight heads of eight numbers, as most have, and what else takes four registers, two pairs filling one: what a row needs stays in them. */
GNN__INLINE bool in_four_registers(const int width, int64_t row)
{
    return IN_PLACE > 0 && 2 * width == LANES && row == 4 * LANES; /* where there are enough of them */
}

/* What a row's own numbers give with the other ends'. */
typedef struct four {
    gnn__vec_t own[4], above[4], below[4];
} four_t;

GNN__INLINE four_t four_of(const gnn_real_t *own, const gnn_real_t *a, gnn_real_t slope)
{
    four_t f;
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        f.own[v] = gnn__vec_load(own + v * LANES);
        f.above[v] = gnn__vec_load(a + v * LANES);
        f.below[v] = slope * f.above[v];
    }
    return f;
}

/* `bent`: a . leaky(own + x), else own . x. */
GNN__INLINE gnn__vec_t four_product(const four_t *f, const gnn_real_t *x, bool bent)
{
    gnn__vec_t sum = gnn__vec_all(0);
    if (bent)
        for (int v = 0; v < 4; v++)
            sum = gnn__vec_add_bent(sum, f->own[v] + gnn__vec_load(x + v * LANES), f->above[v],
                                    f->below[v]);
    else
        for (int v = 0; v < 4; v++)
            sum += f->own[v] * gnn__vec_load(x + v * LANES);
    return sum;
}

GNN__INLINE void prefetch_four(const gnn_real_t *x)
{
    for (int byte = 0; byte < 4 * GNN__VEC_BYTES; byte += 64)
        __builtin_prefetch((const char *)x + byte);
}

/* out = scale times own . x of each head, for every pair; with a: a . leaky(own + x). */
GNN__INLINE void pair_products(const block_t *b, const gnn_real_t *own, const gnn__matrix_t *m,
                               int64_t row, gnn_real_t scale, const gnn_real_t *a, gnn_real_t slope,
                               gnn_real_t *out, const int width)
{
#pragma GCC unroll 1
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *x = gnn__matrix_row(m, b->other[e]),
                         *next = gnn__matrix_row(m, b->other[e + AHEAD]);
        gnn__vec_t sum[PATTERN];
        for (int u = 0; u < parts_of(width); u++)
            sum[u] = gnn__vec_all(0);
        for (int64_t c = 0; c < row; c += LANES) {
            const gnn__vec_t mine = gnn__vec_load(own + c), theirs = gnn__vec_load(x + c);
            __builtin_prefetch(next + c);
            sum[c / LANES % parts_of(width)] +=
                a ? gnn__vec_load(a + c) * leaky(mine + theirs, slope) : mine * theirs;
        }
        for (int u = 0; u < parts_of(width); u++)
            gnn__vec_put(out + e * width, scale * gnn__vec_fold(sum[u], width, false), width, u);
    }
}

/* Scores of a block's pairs from rows of keys and queries, behind the last pair minus infinity; where there are values, dY . v into `negative` too.
 * lanes_parts.kernel.c */
#define pair_scores GNN__KERNEL(lanes_pair_scores)
void pair_scores(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own_key,
                 const gnn__matrix_t *keys, const gnn_real_t *own_value, const gnn__matrix_t *values);

#endif
