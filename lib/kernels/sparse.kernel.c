/* Sums of weighted rows with the sums in registers, and their counterpart that adds one row to many.
 * A row's stored numbers are first made a list without gaps: half of them may be dropped. */
#include <lib/kernels/isa.h>
#include <lib/kernels/sparse.h>
#include <lib/kernels/vec.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

enum { LONGEST = 512, L = GNN__VEC_LANES };

typedef struct {
    const int32_t *at; /* rows of x or y */
    const gnn_real_t *by;
    int64_t count;
    int32_t own_at[LONGEST + 16];
    gnn_real_t own_by[LONGEST + 16];
} list_t;

/* Keeps the numbers that are not 0; they may lie anywhere. */
static int64_t squeeze(const gnn__sparse_product_t *p, int64_t k, int64_t count, list_t *list)
{
    int64_t kept = 0, e = 0;
#if defined(__AVX512F__) && !GNN_DOUBLE
    for (; e + 16 <= count; e += 16) {
        const __m512i at = _mm512_loadu_si512(p->indices + k + e);
        const __m512 by = p->place ? _mm512_i32gather_ps(_mm512_loadu_si512(p->place + k + e),
                                                         p->values, sizeof(gnn_real_t))
                                   : _mm512_loadu_ps(p->values + k + e);
        const __mmask16 mask = _mm512_cmp_ps_mask(by, _mm512_setzero_ps(), _CMP_NEQ_UQ);
        _mm512_storeu_si512(list->own_at + kept, _mm512_maskz_compress_epi32(mask, at));
        _mm512_storeu_ps(list->own_by + kept, _mm512_maskz_compress_ps(mask, by));
        kept += __builtin_popcount(mask);
    }
#endif
    for (; e < count; e++) {
        const gnn_real_t by = p->values[p->place ? p->place[k + e] : k + e];
        list->own_at[kept] = p->indices[k + e];
        list->own_by[kept] = by;
        kept += by != 0;
    }
    return kept;
}

/* The stored numbers from the k-th on, at most LONGEST. */
static void make_list(const gnn__sparse_product_t *p, int64_t k, int64_t count, list_t *list)
{
    list->at = p->indices + k;
    list->by = p->values ? p->values + k : list->own_by;
    list->count = count;
    if (p->values && (p->gaps || p->place)) {
        list->at = list->own_at;
        list->by = list->own_by;
        list->count = squeeze(p, k, count, list);
    }
}

/* own_by stands for values that are not stored. */
static void begin_list(const gnn__sparse_product_t *p, list_t *list)
{
    for (int k = 0; k < LONGEST && !p->values; k++)
        list->own_by[k] = 1;
}

/* A constant number of vectors and of sums for each, so that all stay in registers and do not wait
 * for one another. */
GNN__INLINE void sum_vectors(int vectors, int sums, const list_t *list, const gnn_real_t *x,
                             int64_t ldx, const gnn_real_t *start, gnn_real_t *y)
{
    gnn__vec_t sum[4][4];
    for (int s = 0; s < sums; s++)
        for (int v = 0; v < vectors; v++)
            sum[s][v] = s == 0 && start ? gnn__vec_load(start + v * L) : gnn__vec_all(0);
    int64_t k = 0;
    for (; k + sums <= list->count; k += sums)
        for (int s = 0; s < sums; s++) {
            const gnn_real_t *row = x + list->at[k + s] * ldx;
            for (int v = 0; v < vectors; v++)
                sum[s][v] += gnn__vec_load(row + v * L) * list->by[k + s];
        }
    for (; k < list->count; k++)
        for (int v = 0; v < vectors; v++)
            sum[0][v] += gnn__vec_load(x + list->at[k] * ldx + v * L) * list->by[k];
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
        const gnn_real_t *row = x + list->at[k] * ldx, by = list->by[k];
        for (int64_t c = 0; c < cols; c++)
            sum[c] += row[c] * by;
    }
    for (int64_t c = 0; c < cols; c++)
        y[c] = sum[c];
}

static void sum_list(const list_t *list, int64_t cols, const gnn_real_t *x, int64_t ldx,
                     const gnn_real_t *start, gnn_real_t *y)
{
    int64_t c = 0;
    for (; cols - c >= 4 * L; c += 4 * L)
        sum_vectors(4, 1, list, x + c, ldx, start ? start + c : NULL, y + c);
    if (cols - c >= 2 * L) {
        sum_vectors(2, 2, list, x + c, ldx, start ? start + c : NULL, y + c);
        c += 2 * L;
    }
    if (cols - c >= L) {
        sum_vectors(1, 4, list, x + c, ldx, start ? start + c : NULL, y + c);
        c += L;
    }
    if (cols - c > 0)
        sum_rest(cols - c, list, x + c, ldx, start ? start + c : NULL, y + c);
}

static void gather(const gnn__sparse_product_t *p, int64_t from, int64_t to, int64_t first,
                   int64_t cols)
{
    list_t list;
    begin_list(p, &list);
    for (int64_t r = from; r < to; r++) {
        gnn_real_t *y = p->y + r * p->ldy + first;
        const gnn_real_t *start = p->bias ? p->bias + first : p->add ? y : NULL;
        int64_t k = p->indptr[r];
        do {
            const int64_t left = p->indptr[r + 1] - k;
            make_list(p, k, left < LONGEST ? left : LONGEST, &list);
            sum_list(&list, cols, p->x + first, p->ldx, start, y);
            start = y;
            k += LONGEST;
        } while (k < p->indptr[r + 1]);
    }
}

GNN__INLINE void add_vectors(int vectors, const list_t *list, const gnn_real_t *x, gnn_real_t *y,
                             int64_t ldy)
{
    gnn__vec_t row[4];
    for (int v = 0; v < vectors; v++)
        row[v] = gnn__vec_load(x + v * L);
    for (int64_t k = 0; k < list->count; k++) {
        gnn_real_t *to = y + list->at[k] * ldy;
        for (int v = 0; v < vectors; v++)
            gnn__vec_store(to + v * L, gnn__vec_load(to + v * L) + row[v] * list->by[k]);
    }
}

static void add_list(const list_t *list, int64_t cols, const gnn_real_t *x, gnn_real_t *y, int64_t ldy)
{
    int64_t c = 0;
    for (; cols - c >= 4 * L; c += 4 * L)
        add_vectors(4, list, x + c, y + c, ldy);
    for (; cols - c >= L; c += L)
        add_vectors(1, list, x + c, y + c, ldy);
    for (int64_t k = 0; c < cols && k < list->count; k++)
        for (int64_t rest = c; rest < cols; rest++)
            y[list->at[k] * ldy + rest] += x[rest] * list->by[k];
}

static void scatter(const gnn__sparse_product_t *p, int64_t rows, int64_t first, int64_t cols)
{
    list_t list;
    begin_list(p, &list);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = p->indptr[r]; k < p->indptr[r + 1]; k += LONGEST) {
            const int64_t left = p->indptr[r + 1] - k;
            make_list(p, k, left < LONGEST ? left : LONGEST, &list);
            add_list(&list, cols, p->x + r * p->ldx + first, p->y + first, p->ldy);
        }
}

const gnn__sparse_kernels_t GNN__KERNEL(sparse_kernels) = {.gather = gather, .scatter = scatter};
