/* Dense products: every matrix product of the library goes through gnn__dense or one of the kernels
 * below it. OpenBLAS is always there, oneDNN where the build found it (onednn.c);
 * docs/decisions/005-two-dense-providers.md has the measurements.
 *
 *     shape of C = A B                          runs on
 *     few rows (m <= 8 or 16), large B          GEMV batch, a kernel of ours: memory-bound
 *     many rows, n * k <= 1024                  OpenBLAS in row blocks; linear layers: narrow GEMM
 *     large, fp32                               oneDNN: tall GEMM in pieces, sgemm or its primitive
 *     large, bf16 levels                        oneDNN
 *     the rest, and deterministic contexts      OpenBLAS */
#ifndef GNN_KERNELS_DENSE_H
#define GNN_KERNELS_DENSE_H

#include <lib/base/base.h>

/* C (m x n) = alpha op(A) op(B) + beta C, or with a bias (beta is ignored) alpha op(A) op(B) + bias
 * in every row; op transposes where the flag is set; row-major with strides lda, ldb, ldc in
 * elements. */
typedef struct gnn__product {
    bool transpose_a, transpose_b;
    int64_t m, n, k, lda, ldb, ldc;
    gnn_real_t alpha, beta;
    const gnn_real_t *a, *b;
    gnn_real_t *c;
    const gnn_real_t *bias; /* n elements, or NULL */
    int threads;            /* most threads; 0: all of the context's */
} gnn__product_t;

/* Sets row r of C to the bias, for a product that adds to it. */
static inline void gnn__product_bias_row(const gnn__product_t *product, int64_t r)
{
    memcpy(product->c + r * product->ldc, product->bias, (size_t)product->n * sizeof(gnn_real_t));
}

/* Runs the product; called outside of parallel regions. With a deterministic context it is split
 * into fixed row blocks that are computed serially, so that results are bit-identical for any
 * thread count. beta 0 overwrites C even where it holds NaN. m, n or k may be 0. The provider and
 * its thread count follow from the shape, the context and the processor alone. */
int gnn__dense(gnn_context_t *context, const gnn__product_t *product);

/* The calling thread's counts of threads before gnn__blas_set_threads. */
typedef struct gnn__blas_threads {
    bool inside; /* the provider may be called from parallel regions */
    int openmp, provider;
} gnn__blas_threads_t;
/* Sets how many threads the provider uses in calls of this thread; restores the former count. */
gnn__blas_threads_t gnn__blas_set_threads(int threads);
void gnn__blas_reset_threads(const gnn__blas_threads_t *before);

/* Writes a description such as "OpenBLAS 0.3.21, core Cooperlake, OpenMP; oneDNN 2.6.3,
 * avx512_core_bf16". */
void gnn__dense_info(char *text, size_t size);
/* True if the provider's core is older than the processor (OPENBLAS_CORETYPE was set); programs
 * warn once. */
bool gnn__dense_core_is_old(void);

/* ---- oneDNN; builds without it refuse every call (openblas_only.c) ---- */

/* Runs the product at `level`. GNN_EUNSUPPORTED (no message is set): *product is what is left of it
 * for OpenBLAS at `highest`, mostly all of it. */
int gnn__onednn(gnn_context_t *context, gnn__product_t *product, gnn_precision_t level, int threads);
/* True if the processor can compute at this level, and if that is faster than at `highest`. */
bool gnn__onednn_has(gnn_precision_t level);
bool gnn__onednn_gains(gnn_precision_t level);
void gnn__onednn_info(char *text, size_t size);

/* Packed or rounded copies of weights that do not change, kept with the weights so that they are
 * made once and not in every product. Covers `length` elements from `begin` on; NULL where nothing
 * is gained. */
typedef struct gnn__prepacked gnn__prepacked_t;
int gnn__prepacked_new(gnn__prepacked_t **prepacked, const gnn_real_t *begin, int64_t length);
/* prepacked may be NULL. */
void gnn__prepacked_free(gnn__prepacked_t *prepacked);

/* ---- GEMV batch: few rows times a large matrix (gemv_batch.kernel.c) ---- */

/* Storage format of W. */
typedef enum { GNN__FORMAT_BF16, GNN__FORMAT_FP16, GNN__FORMAT_REAL } gnn__format_t;

/* y = x op(W) + bias, x being (rows x k). */
typedef struct gnn__gemv_batch {
    gnn__format_t format;
    bool transposed; /* W is (outputs x k); else (k x outputs), in GNN__FORMAT_REAL only */
    const void *w;
    const gnn_real_t *x, *bias; /* outputs elements, or NULL */
    gnn_real_t *y;
    int64_t rows, outputs, k, ldx, ldw, ldy;
    bool add; /* y += instead; without bias then */
} gnn__gemv_batch_t;

/* Most rows for which this beats a library, if the rows of W are outputs and if its columns are. */
enum { GNN__GEMV_ROWS = 8, GNN__GEMV_ROWS_COLUMNS = 16 };

typedef struct gnn__gemv_batch_kernels {
    /* Outputs from .. to - 1. The order of each sum follows from k alone. */
    void (*product)(const gnn__gemv_batch_t *p, int64_t from, int64_t to);
} gnn__gemv_batch_kernels_t;
const gnn__gemv_batch_kernels_t *gnn__gemv_batch_kernels(void);

/* The whole product, with at most `threads` of the context's (0: all). Called outside of parallel
 * regions; bit-identical for any thread count. */
void gnn__gemv_batch(const gnn_context_t *context, const gnn__gemv_batch_t *product, int threads);

/* ---- weights stored in fp16 or bf16 ---- */

/* A matrix that keeps the 16-bit format of its file. It is widened as it is read, exactly, and all
 * sums are of gnn_real_t. */
typedef struct gnn__fp16 {
    const uint16_t *at; /* rows x cols, contiguous */
    int64_t rows, cols;
    bool bf16;       /* bf16, the upper half of a float; else fp16 */
    bool transposed; /* the parameter is the transpose, (cols x rows) */
} gnn__fp16_t;

/* y = x W' + bias, W stored as (outputs x k). */
typedef struct gnn__fp16_product {
    const gnn__fp16_t *w;
    const gnn_real_t *x, *bias; /* rows x k; outputs elements, or NULL */
    gnn_real_t *y;              /* rows x outputs */
    int64_t rows, ldx, ldy;
    bool add; /* y += instead; without bias then */
} gnn__fp16_product_t;

typedef struct gnn__fp16_kernels {
    /* to[k] = from[k] for n elements of bf16, else fp16; exact. */
    void (*widen)(int64_t n, bool bf16, const uint16_t *from, gnn_real_t *to);
    /* high = x rounded to bf16, ties to even; low (may be NULL: not wanted) = x - high, rounded
     * likewise. Together they hold 16 of a float's 24 bits. NaN stays NaN in both; low is 0 where
     * high is infinite. */
    void (*split)(int64_t n, const float *x, uint16_t *high, uint16_t *low);
} gnn__fp16_kernels_t;
const gnn__fp16_kernels_t *gnn__fp16_kernels(void);

/* The whole product. More than GNN__GEMV_ROWS rows go through gnn__dense, with panels of W widened
 * into `scratch` (gnn__fp16_scratch elements). Called outside of parallel regions. */
int gnn__fp16_multiply(gnn_context_t *context, const gnn__fp16_product_t *product, int threads,
                       gnn_real_t *scratch);
int64_t gnn__fp16_scratch(const gnn__fp16_t *w, int64_t rows);
/* Widens all of W to the parameter's shape: transposed if W is. */
void gnn__fp16_widen(const gnn_context_t *context, const gnn__fp16_t *w, int threads,
                     gnn_real_t *to, int64_t stride);

/* ---- narrow GEMM: many rows times a matrix of few columns (gemm_narrow.kernel.c) ---- */

/* Linear maps to at most 16 outputs, as last layers are, and both their gradients in one sweep over
 * the input. Libraries pack what is read once, and fill registers with columns that do not
 * exist. */
/* Most columns of y; the columns of x, and the stride of a padded matrix, are multiples of the
 * second. */
enum { GNN__GEMM_NARROW = 16, GNN__GEMM_NARROW_UNIT = 16 };

typedef struct gnn__gemm_narrow {
    int64_t rows, in, out;
    const gnn_real_t *x; /* rows x in */
    int64_t ldx;
    const gnn_real_t *w;    /* in x GNN__GEMM_NARROW: W, padded with zeros */
    const gnn_real_t *bias; /* out elements, or NULL */
    gnn_real_t *y;          /* rows x out */
    int64_t ldy;
    bool add; /* y += instead */
} gnn__gemm_narrow_t;

typedef struct gnn__gemm_narrow_grads {
    int64_t rows, in, out;
    const gnn_real_t *x; /* rows x in */
    int64_t ldx;
    const gnn_real_t *dy; /* rows x out */
    int64_t lddy;
    /* W in units, one after another: out rows of GNN__GEMM_NARROW_UNIT elements, the transpose of
     * the next rows of W. Transposed as a whole, its rows would collide in few sets of the
     * first-level cache. */
    const gnn_real_t *w;
    gnn_real_t *dx; /* rows x in: dx (+)= dy w; NULL: not wanted */
    int64_t lddx;
    bool add;
    gnn_real_t *sums; /* laid out as w: sums += dy' x */
} gnn__gemm_narrow_grads_t;

typedef struct gnn__gemm_narrow_kernels {
    /* Least columns: a product of fewer would leave half of each register empty, and runs on a
     * library. */
    int64_t least_out;
    void (*product)(const gnn__gemm_narrow_t *t);
    void (*grads)(const gnn__gemm_narrow_grads_t *t);
} gnn__gemm_narrow_kernels_t;
const gnn__gemm_narrow_kernels_t *gnn__gemm_narrow_kernels(void);

/* ---- a sparse matrix (CSR) times a dense one (csr.kernel.c) ---- */

/* Serial: the ops divide rows and columns among threads. */
typedef struct gnn__csr_product {
    const int64_t *indptr;
    /* row r holds counts[r] elements from indptr[r] on; NULL: up to indptr[r + 1] */
    const int32_t *counts;
    const int32_t *indices;
    const gnn_real_t *values; /* NULL: all are 1 */
    const gnn_real_t *x;
    int64_t ldx;
    gnn_real_t *y;
    int64_t ldy;
    const gnn_real_t *bias; /* a row that every sum starts from, or NULL */
} gnn__csr_product_t;

typedef struct gnn__csr_kernels {
    /* Rows from .. to - 1 of y, `cols` wide: sums of value times row `index` of x. */
    void (*gather)(const gnn__csr_product_t *p, int64_t from, int64_t to, int64_t cols);
    /* Adds value times row r of x to row `index` of y for r = from, ..., to - 1 in turn, in `cols`
     * columns from `first` on. Bit-identical for any division of the columns. */
    void (*scatter)(const gnn__csr_product_t *p, int64_t from, int64_t to, int64_t first,
                    int64_t cols);
} gnn__csr_kernels_t;
const gnn__csr_kernels_t *gnn__csr_kernels(void);

/* ---- tall GEMM by oneDNN's serial sgemm (gemm_tall.c) ---- */

/* In fp32. Threads claim blocks of rows one after another and multiply each by a serial sgemm:
 * docs/decisions/005-two-dense-providers.md. Bit-identical for any thread count that
 * gnn__gemm_tall_fits accepts. */

/* True if this is faster than one threaded product, with this count of threads. */
bool gnn__gemm_tall_fits(const gnn__product_t *product, int threads);
/* The whole product by sgemm, with OpenMP's current thread count; false: oneDNN returned an
 * error. */
bool gnn__sgemm(const gnn__product_t *product);
/* Called outside of parallel regions, with OpenMP's thread count set to `threads`. GNN_EUNSUPPORTED
 * (no message is set): oneDNN returned an error. */
int gnn__gemm_tall(const gnn__product_t *product, int threads, gnn__arena_t *arena);

/* ---- small blocks, inside of a parallel region; gemm_block.kernel.c ---- */

/* c (m x n) += alpha a (m x k) b (k x n). Element (i, l) of a is a[i * a_row + l * a_col], so that
 * a matrix and its transpose are both read in place; rows of b and c are contiguous. */
typedef struct gnn__gemm_block {
    int64_t m, n, k;
    const gnn_real_t *a;
    int64_t a_row, a_col;
    const gnn_real_t *b;
    int64_t ldb;
    gnn_real_t *c;
    int64_t ldc;
    gnn_real_t alpha;
} gnn__gemm_block_t;

typedef struct gnn__gemm_block_kernels {
    void (*multiply)(const gnn__gemm_block_t *p);
} gnn__gemm_block_kernels_t;

const gnn__gemm_block_kernels_t *gnn__gemm_block_kernels(void);

#endif
