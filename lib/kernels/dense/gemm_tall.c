/* Tall GEMM in fp32: A has far more rows than any cache holds. Threads take pieces one by one, each
 * by oneDNN's serial sgemm, so that a piece of A and of C stays in cache.
 *
 *     y = x W: by rows                     dW = x' dy: by groups of slices
 *     +------+                             x'  [ group 0 | group 1 | .. | group 15 ]
 *     | 960  |  piece 0 -> thread          dy  [         |         |    |          ]
 *     | rows |                             sum   sum 0   + sum 1   + .. + sum 15
 *     +------+                             each group adds slices of 512 rows in order
 *     | 960  |  piece 1 -> thread */
#include <lib/kernels/dense/dense.h>

#include <dnnl.h>

/* Rows of a piece of C, and of a slice of the inner dimension; elements of an operand that exceeds
 * any cache. */
enum { ROWS = 960, SLICE = 512, STREAMS = 8 << 20 };

/* dW = x' dy: groups with a sum of their own, of at most this many elements; pieces per thread that
 * keep it busy until the others are done. */
enum { GROUPS = 16, MOST_ELEMENTS = 1 << 18, A_THREAD = 8 };

bool gnn__gemm_tall_fits(const gnn__product_t *p, int threads)
{
    const int64_t length = p->transpose_a ? p->k : p->m;
    if (p->alpha != 1 || length * gnn__max(p->n, p->transpose_a ? p->m : p->k) < STREAMS)
        return false;
    if (!p->transpose_a)
        return length >= (int64_t)ROWS * A_THREAD * gnn__max(threads, 2);
    return !p->bias && length >= 2 * GROUPS * SLICE && p->m * p->n <= MOST_ELEMENTS &&
           threads <= A_THREAD;
}

bool gnn__sgemm(const gnn__product_t *p)
{
    return dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k, 1,
                      p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc) == dnnl_success;
}

/* Sets the rows of a piece to the bias, which its product then adds to. */
static void spread_bias(gnn__product_t *p)
{
    for (int64_t r = 0; r < p->m; r++)
        gnn__product_bias_row(p, r);
    p->beta = 1;
}

static int by_rows(const gnn__product_t *whole, int threads)
{
    const int64_t pieces = (whole->m + ROWS - 1) / ROWS;
    bool fine = true;
    GNN__EACH_CHUNK (c, pieces, threads) {
        gnn__product_t p = *whole;
        p.a += c * ROWS * p.lda;
        p.c += c * ROWS * p.ldc;
        p.m = gnn__min(ROWS, p.m - c * ROWS);
        if (p.bias)
            spread_bias(&p);
        if (!gnn__sgemm(&p)) {
#pragma omp atomic write
            fine = false;
        }
    }
    return fine ? GNN_OK : GNN_EUNSUPPORTED;
}

/* sum = product over rows from .. to - 1 of A and B. */
static bool add_group(const gnn__product_t *whole, int64_t from, int64_t to, gnn_real_t *sum)
{
    gnn__product_t p = *whole;
    bool fine = true;
    p.c = sum;
    p.ldc = p.n;
    p.beta = 0;
    for (int64_t k = from; k < to && fine; k += SLICE, p.beta = 1) {
        p.k = gnn__min(SLICE, to - k);
        p.a = whole->a + k * p.lda;
        p.b = whole->b + k * (p.transpose_b ? 1 : p.ldb);
        fine = gnn__sgemm(&p);
    }
    return fine;
}

/* C = beta C + the sums of all groups in order. */
static void add_up(const gnn__product_t *p, const gnn_real_t *sums, int threads)
{
    const int64_t elements = p->m * p->n;
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < p->m; r++) {
        gnn_real_t *to = p->c + r * p->ldc;
        for (int g = 0; g < GROUPS; g++) {
            const gnn_real_t *from = sums + g * elements + r * p->n;
            const bool fresh = g == 0 && p->beta == 0;
#pragma omp simd
            for (int64_t c = 0; c < p->n; c++)
                to[c] = fresh ? from[c] : to[c] + from[c];
        }
    }
}

static int by_groups(const gnn__product_t *p, int threads, gnn__arena_t *arena)
{
    const int64_t elements = p->m * p->n, slices = (p->k + SLICE - 1) / SLICE;
    const size_t bytes = (size_t)(GROUPS * elements) * sizeof(gnn_real_t);
    bool fine = true;
    GNN_TRY(gnn__arena_reserve(arena, bytes, "sums of a product"));
    gnn_real_t *sums = gnn__arena_take(arena, bytes);
    GNN__EACH_CHUNK (g, GROUPS, threads) {
        const int64_t from = slices * g / GROUPS * SLICE,
                      to = gnn__min(slices * (g + 1) / GROUPS * SLICE, p->k);
        if (!add_group(p, from, to, sums + g * elements)) {
#pragma omp atomic write
            fine = false;
        }
    }
    if (fine)
        add_up(p, sums, threads);
    return fine ? GNN_OK : GNN_EUNSUPPORTED;
}

int gnn__gemm_tall(const gnn__product_t *p, int threads, gnn__arena_t *arena)
{
    return p->transpose_a ? by_groups(p, threads, arena) : by_rows(p, threads);
}
