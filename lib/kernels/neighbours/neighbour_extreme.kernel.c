/* Elementwise maxima (minima) over in-neighbours on edges, and their gradient (neighbours.h).
 *
 *     receive    per row: a block of BLOCK registers holds the maxima so far; x of the next
 *                neighbours is prefetched; NaN is tracked in a mask
 *     match      per row: adds `gain` of neighbours that attain the extreme */
#include <lib/kernels/neighbours/neighbours.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/simd/vec_math.h>
#include <math.h>

enum { LANES = GNN__VEC_LANES, AHEAD = 8, BLOCK = 4 };

/* A whole register, or the `count` elements that are left. */
GNN__INLINE gnn__vec_t load(const gnn_real_t *x, int count)
{
    return count == LANES ? gnn__vec_load(x) : gnn__vec_load_first(x, count);
}

GNN__INLINE void store(gnn_real_t *x, gnn__vec_t v, int count)
{
    if (count == LANES)
        gnn__vec_store(x, v);
    else
        gnn__vec_store_first(x, v, count);
}

/* Prefetches the row of a later neighbour. */
GNN__INLINE void prefetch(const gnn__pairs_t *p, int64_t at, const gnn_real_t *x, int64_t ld,
                          const int vectors)
{
    const int64_t end = p->indptr[p->n_rows], next = at + AHEAD < end ? at + AHEAD : end - 1;
    const char *row = (const char *)(x + p->indices[next] * ld);
    for (int byte = 0; byte < vectors * GNN__VEC_BYTES; byte += 64)
        __builtin_prefetch(row + byte);
}

GNN__INLINE int left(const gnn__neighbour_extreme_t *e, int64_t f)
{
    return e->width - f < LANES ? (int)(e->width - f) : LANES;
}

/* `vectors` registers from element f on, of `count` elements each. */
GNN__INLINE void receive_block(const gnn__neighbour_extreme_t *e, int64_t row, int64_t f,
                               const int vectors, int count)
{
    gnn__vec_t best[BLOCK];
    gnn__vec_bits_t bad[BLOCK];
    const gnn__pairs_t p = e->pairs;
    const gnn_real_t *x = e->other + f, sign = e->sign;
    const int64_t from = p.indptr[row], to = p.indptr[row + 1], ldx = e->ldother;
    for (int v = 0; v < vectors; v++) {
        best[v] = gnn__vec_all(from < to ? -(gnn_real_t)INFINITY : 0 * sign);
        bad[v] = (gnn__vec_bits_t){0};
    }
#pragma GCC unroll 1
    for (int64_t at = from; at < to; at++) {
        const gnn_real_t *row_of_sender = x + p.indices[at] * ldx;
        prefetch(&p, at, x, ldx, vectors);
        for (int v = 0; v < vectors; v++) {
            const gnn__vec_t m = sign * load(row_of_sender + v * LANES, count);
            best[v] = gnn__vec_max(m, best[v]);
            bad[v] |= m != m;
        }
    }
    for (int v = 0; v < vectors; v++)
        store(e->own + row * e->ldown + f + v * LANES,
              gnn__vec_select(bad[v], gnn__vec_all(NAN), sign * best[v]), count);
}

static void receive(const gnn__neighbour_extreme_t *e, int64_t row0, int64_t row1)
{
    for (int64_t row = row0, f; row < row1; row++) {
        for (f = 0; f + BLOCK * LANES <= e->width; f += BLOCK * LANES)
            receive_block(e, row, f, BLOCK, LANES);
        for (; f < e->width; f += LANES)
            receive_block(e, row, f, 1, left(e, f));
    }
}

GNN__INLINE void match_block(const gnn__neighbour_extreme_t *e, int64_t row, int64_t f,
                             const int vectors, int count)
{
    gnn__vec_t own[BLOCK], sum[BLOCK];
    const gnn__pairs_t p = e->pairs;
    const gnn_real_t *other = e->other + f, *gain = e->gain + f;
    const int64_t to = p.indptr[row + 1], ldother = e->ldother, ldgain = e->ldgain;
    gnn_real_t *y = e->to + row * e->ldto + f;
    for (int v = 0; v < vectors; v++) {
        own[v] = load(e->own + row * e->ldown + f + v * LANES, count);
        sum[v] = e->add ? load(y + v * LANES, count) : gnn__vec_all(0);
    }
#pragma GCC unroll 1
    for (int64_t at = p.indptr[row]; at < to; at++) {
        const gnn_real_t *x = other + p.indices[at] * ldother,
                         *gained = gain + p.indices[at] * ldgain;
        prefetch(&p, at, other, ldother, vectors);
        prefetch(&p, at, gain, ldgain, vectors);
        for (int v = 0; v < vectors; v++)
            sum[v] += gnn__vec_where(load(x + v * LANES, count) == own[v],
                                     load(gained + v * LANES, count));
    }
    for (int v = 0; v < vectors; v++)
        store(y + v * LANES, sum[v], count);
}

static void match(const gnn__neighbour_extreme_t *e, int64_t row0, int64_t row1)
{
    for (int64_t row = row0, f; row < row1; row++) {
        for (f = 0; f + BLOCK * LANES <= e->width; f += BLOCK * LANES)
            match_block(e, row, f, BLOCK, LANES);
        for (; f < e->width; f += LANES)
            match_block(e, row, f, 1, left(e, f));
    }
}

extern const gnn__neighbour_extreme_kernels_t GNN__KERNEL(neighbour_extreme_kernels);
const gnn__neighbour_extreme_kernels_t GNN__KERNEL(neighbour_extreme_kernels) = {.receive = receive,
                                                                                 .match = match};
