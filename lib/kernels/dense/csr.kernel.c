/* A sparse matrix (CSR) times a dense one.
 *
 *     gather     y[r] = sum over k of value_k x[index_k]    a block of columns in registers
 *     scatter    y[index_k] += value_k x[r]                 a row of x in registers, which is added
 *                                                           to many rows of y */
#include <lib/kernels/isa.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/simd/vec.h>

enum { L = GNN__VEC_LANES };

/* The stored elements of one row. */
typedef struct {
    const int32_t *at;
    const gnn_real_t *by;
    int64_t mask; /* the k-th value is by[k & mask]; 0 where all values are 1 */
    int64_t count;
} list_t;

static inline list_t list_of(const gnn__csr_product_t *p, int64_t r)
{
    static const gnn_real_t one = 1;
    const int64_t k = p->indptr[r];
    return (list_t){.at = p->indices + k,
                    .by = p->values ? p->values + k : &one,
                    .mask = p->values ? -1 : 0,
                    .count = p->counts ? p->counts[r] : p->indptr[r + 1] - k};
}

/* Constant counts of registers and of independent sums for each, which hide the latency of
 * additions. */
GNN__INLINE void sum_vectors(int vectors, int sums, const list_t *list, const gnn_real_t *x,
                             int64_t ldx, const gnn_real_t *start, gnn_real_t *y)
{
    const list_t l = *list;
    gnn__vec_t sum[4][4];
    for (int s = 0; s < sums; s++)
        for (int v = 0; v < vectors; v++)
            sum[s][v] = s == 0 && start ? gnn__vec_load(start + v * L) : gnn__vec_all(0);
    int64_t k = 0;
    for (; k + sums <= l.count; k += sums)
        for (int s = 0; s < sums; s++) {
            const gnn_real_t *row = x + l.at[k + s] * ldx, by = l.by[(k + s) & l.mask];
            for (int v = 0; v < vectors; v++)
                sum[s][v] += gnn__vec_load(row + v * L) * by;
        }
    for (; k < l.count; k++)
        for (int v = 0; v < vectors; v++)
            sum[0][v] += gnn__vec_load(x + l.at[k] * ldx + v * L) * l.by[k & l.mask];
    for (int v = 0; v < vectors; v++) {
        for (int s = 1; s < sums; s++)
            sum[0][v] += sum[s][v];
        gnn__vec_store(y + v * L, sum[0][v]);
    }
}

static void sum_rest(int64_t cols, const list_t *list, const gnn_real_t *x, int64_t ldx,
                     const gnn_real_t *start, gnn_real_t *y)
{
    gnn_real_t sum[L] = {0};
    for (int64_t c = 0; start && c < cols; c++)
        sum[c] = start[c];
    for (int64_t k = 0; k < list->count; k++) {
        const gnn_real_t *row = x + list->at[k] * ldx, by = list->by[k & list->mask];
        for (int64_t c = 0; c < cols; c++)
            sum[c] += row[c] * by;
    }
    for (int64_t c = 0; c < cols; c++)
        y[c] = sum[c];
}

static void gather(const gnn__csr_product_t *p, int64_t from, int64_t to, int64_t cols)
{
    for (int64_t r = from; r < to; r++) {
        const list_t list = list_of(p, r);
        const gnn_real_t *bias = p->bias;
        gnn_real_t *y = p->y + r * p->ldy;
        int64_t c = 0;
        for (; cols - c >= 4 * L; c += 4 * L)
            sum_vectors(4, 1, &list, p->x + c, p->ldx, bias ? bias + c : NULL, y + c);
        if (cols - c >= 2 * L) {
            sum_vectors(2, 2, &list, p->x + c, p->ldx, bias ? bias + c : NULL, y + c);
            c += 2 * L;
        }
        if (cols - c >= L) {
            sum_vectors(1, 4, &list, p->x + c, p->ldx, bias ? bias + c : NULL, y + c);
            c += L;
        }
        if (cols - c > 0)
            sum_rest(cols - c, &list, p->x + c, p->ldx, bias ? bias + c : NULL, y + c);
    }
}

GNN__INLINE void add_vectors(int vectors, const list_t *list, const gnn_real_t *x, gnn_real_t *y,
                             int64_t ldy)
{
    const list_t l = *list;
    gnn__vec_t row[4];
    for (int v = 0; v < vectors; v++)
        row[v] = gnn__vec_load(x + v * L);
    for (int64_t k = 0; k < l.count; k++) {
        gnn_real_t *to = y + l.at[k] * ldy;
        const gnn_real_t by = l.by[k & l.mask];
        for (int v = 0; v < vectors; v++)
            gnn__vec_store(to + v * L, gnn__vec_load(to + v * L) + row[v] * by);
    }
}

static void add_rest(int64_t cols, const list_t *list, const gnn_real_t *x, gnn_real_t *y, int64_t ldy)
{
    for (int64_t k = 0; k < list->count; k++)
        for (int64_t c = 0; c < cols; c++)
            y[list->at[k] * ldy + c] += x[c] * list->by[k & list->mask];
}

/* Adds `vectors` registers, from column c on, of every row. */
GNN__INLINE void scatter_block(int vectors, const gnn__csr_product_t *p, int64_t from, int64_t to,
                               int64_t c)
{
    for (int64_t r = from; r < to; r++) {
        const list_t list = list_of(p, r);
        add_vectors(vectors, &list, p->x + r * p->ldx + c, p->y + c, p->ldy);
    }
}

/* Column block by column block, each over all rows. */
static void scatter(const gnn__csr_product_t *p, int64_t from, int64_t to, int64_t first, int64_t cols)
{
    const int64_t end = first + cols;
    int64_t c = first;
    for (; end - c >= 4 * L; c += 4 * L)
        scatter_block(4, p, from, to, c);
    if (end - c >= 2 * L) {
        scatter_block(2, p, from, to, c);
        c += 2 * L;
    }
    if (end - c >= L) {
        scatter_block(1, p, from, to, c);
        c += L;
    }
    for (int64_t r = from; c < end && r < to; r++) {
        const list_t list = list_of(p, r);
        add_rest(end - c, &list, p->x + r * p->ldx + c, p->y + c, p->ldy);
    }
}

const gnn__csr_kernels_t GNN__KERNEL(csr_kernels) = {.gather = gather, .scatter = scatter};
