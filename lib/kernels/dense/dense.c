/* Dense products: the choice of who runs which (gnn__dense), and those by OpenBLAS or another BLAS,
 * by the GEMV batch kernel, and with weights in 16 bits. OpenBLAS's threads are OpenMP's in
 * Debian's openmp build and its own in the pthread build. */
#include <lib/kernels/dense/dense.h>
#include <lib/base/room.h>

#include <cblas.h>
#include <limits.h>
#include <omp.h>

/* Values of openblas_get_parallel; OTHER_BLAS: not OpenBLAS, whose calls are assumed to be serial
 * and safe from several threads at once. */
enum { SERIAL_BUILD = 0, PTHREAD_BUILD = 1, OPENMP_BUILD = 2, OTHER_BLAS = 3 };

/* Built with another BLAS. OpenBLAS may still be loaded under the same library name (Debian's
 * update-alternatives); these symbols exist then. */
#if defined(GNN__OTHER_BLAS)
int openblas_get_parallel(void) __attribute__((weak));
int openblas_get_num_threads(void) __attribute__((weak));
void openblas_set_num_threads(int) __attribute__((weak));
char *openblas_get_config(void) __attribute__((weak));
char *openblas_get_corename(void) __attribute__((weak));

static int provider_build(void)
{
    return openblas_get_parallel ? openblas_get_parallel() : OTHER_BLAS;
}
#else
static int provider_build(void)
{
    return openblas_get_parallel();
}
#endif

/* Blocks of a deterministic product; multiply-adds below which one thread is faster; fewest rows of
 * a narrow product, and largest B of one; fewest columns and smallest B of a GEMV batch; terms that
 * another BLAS may add in sequence. */
enum {
    BLOCK_ROWS = 64,
    BLOCK_COLS = 512,
    SMALL_PRODUCT = 1000000,
    NARROW_ROWS = 1024,
    NARROW_PRODUCT = 1024,
    GEMV_COLS = 64,
    SUM_TERMS = 512,
    GEMV_PRODUCT = 1 << 16
};

/* libomp next to OpenBLAS's libgomp: both must not start threads (clang cannot target libgomp). */
#if defined(__clang__)
enum { SHARED_RUNTIME = 0 };
#else
enum { SHARED_RUNTIME = 1 };
#endif

static void call(const gnn__product_t *p)
{
    const CBLAS_TRANSPOSE ta = p->transpose_a ? CblasTrans : CblasNoTrans,
                          tb = p->transpose_b ? CblasTrans : CblasNoTrans;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    const int lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
#if GNN_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, p->alpha, p->a, lda, p->b, ldb, p->beta, p->c, ldc);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, p->alpha, p->a, lda, p->b, ldb, p->beta, p->c, ldc);
#endif
}

/* Rows r .. and columns c .. of the product, at most one block of them. */
static gnn__product_t block_of(const gnn__product_t *whole, int64_t r, int64_t c)
{
    gnn__product_t p = *whole;
    p.m = whole->m - r < BLOCK_ROWS ? whole->m - r : BLOCK_ROWS;
    p.n = whole->n - c < BLOCK_COLS ? whole->n - c : BLOCK_COLS;
    p.a += whole->transpose_a ? r : r * p.lda;
    p.b += whole->transpose_b ? c * p.ldb : c;
    p.c += r * p.ldc + c;
    return p;
}

/* One block by another BLAS. Debian's reference BLAS adds all terms in sequence, which is less
 * accurate than `highest` promises: sums over parts of k are added up here. */
static void call_in_parts(const gnn__product_t *block)
{
    gnn_real_t part[BLOCK_ROWS * BLOCK_COLS];
    gnn__product_t p = *block;
    p.k = gnn__min(SUM_TERMS, block->k);
    call(&p);
    p.c = part;
    p.ldc = p.n;
    p.beta = 0;
    for (int64_t from = p.k; from < block->k; from += SUM_TERMS) {
        p.k = gnn__min(SUM_TERMS, block->k - from);
        p.a = block->a + from * (p.transpose_a ? p.lda : 1);
        p.b = block->b + from * (p.transpose_b ? 1 : p.ldb);
        call(&p);
        for (int64_t r = 0; r < p.m; r++)
            for (int64_t c = 0; c < p.n; c++)
                block->c[r * block->ldc + c] += part[r * p.n + c];
    }
}

/* Inside a parallel region OpenBLAS's OpenMP build is serial; its other builds are never called
 * from one. */
static void call_blocks(const gnn__product_t *whole, int threads)
{
    int64_t across = (whole->n + BLOCK_COLS - 1) / BLOCK_COLS,
            blocks = (whole->m + BLOCK_ROWS - 1) / BLOCK_ROWS * across;
    const bool other = provider_build() == OTHER_BLAS;
    GNN__EACH_CHUNK (k, blocks, threads) {
        gnn__product_t p = block_of(whole, k / across * BLOCK_ROWS, k % across * BLOCK_COLS);
        if (other)
            call_in_parts(&p);
        else
            call(&p);
    }
}

gnn__blas_threads_t gnn__blas_set_threads(int threads)
{
    const int build = provider_build();
    const bool inside = build == OTHER_BLAS || (SHARED_RUNTIME && build == OPENMP_BUILD);
    const gnn__blas_threads_t before = {
        .inside = inside,
        .openmp = omp_get_max_threads(),
        .provider = inside || build == SERIAL_BUILD ? 0 : openblas_get_num_threads()};
    omp_set_num_threads(threads);
    if (before.provider && before.provider != threads)
        openblas_set_num_threads(threads);
    return before;
}

void gnn__blas_reset_threads(const gnn__blas_threads_t *before)
{
    if (before->provider && before->provider != omp_get_max_threads())
        openblas_set_num_threads(before->provider);
    omp_set_num_threads(before->openmp);
}

/* Runs the product on `threads` threads of the provider. */
static void run(const gnn__product_t *p, int threads, bool split)
{
    const gnn__blas_threads_t before = gnn__blas_set_threads(split || !SHARED_RUNTIME ? 1 : threads);
    if (split)
        call_blocks(p, before.inside ? threads : 1);
    else
        call(p);
    gnn__blas_reset_threads(&before);
}

/* ---- memory of the provider ---- */

/* Buffer of a thread's first product (BUFFER_SIZE of Debian's build); address space that the C
 * library reserves for a thread that allocates; size of a product that takes a buffer. */
enum { BUFFER = 128 << 20, ARENA = 64 << 20, SIDE = 192 };

/* Runs one product on each of `threads` threads at once, so that OpenBLAS allocates as many
 * buffers. */
static int first_products(int threads)
{
    gnn_real_t *buffer;
    GNN_TRY(gnn__new(&buffer, (int64_t)(threads + 1) * SIDE * SIDE, sizeof *buffer,
                     "the first product"));
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads); /* otherwise a thread's product would start threads */
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const gnn__product_t p = {.m = SIDE,
                                  .n = SIDE,
                                  .k = SIDE,
                                  .alpha = 1,
                                  .a = buffer,
                                  .lda = SIDE,
                                  .b = buffer,
                                  .ldb = SIDE,
                                  .c = buffer + (omp_get_thread_num() + 1) * SIDE * SIDE,
                                  .ldc = SIDE};
#pragma omp barrier
        call(&p);
    }
    omp_set_num_threads(before);
    gnn_free(buffer);
    return GNN_OK;
}

/* OpenBLAS waits forever for buffers that the system refuses. Where address space is limited they
 * are therefore requested beforehand, also by a single thread, and OpenBLAS keeps them. */
static int provide_buffers(gnn_context_t *context, int threads)
{
    const int missing = gnn__buffers_claim(context, threads);
    if (missing == 0 || !gnn__memory_is_limited() || provider_build() == OTHER_BLAS ||
        !(SHARED_RUNTIME || threads == 1))
        return GNN_OK;
    if (!gnn__has_room((size_t)missing * BUFFER + (size_t)(threads - 1) * ARENA)) {
        gnn__buffers_return(context, missing);
        return gnn__error(GNN_EMEMORY,
                          "no address space for the buffers of OpenBLAS, %d MB for each of %d "
                          "threads: raise the limit (ulimit -v)%s",
                          BUFFER >> 20, threads, threads > 1 ? ", or use fewer threads" : "");
    }
    const int rc = first_products(threads);
    if (rc != GNN_OK)
        gnn__buffers_return(context, missing);
    return rc;
}

static void scale_only(const gnn__product_t *p)
{
    for (int64_t r = 0; r < p->m; r++)
        for (int64_t c = 0; c < p->n; c++)
            p->c[r * p->ldc + c] = p->beta == 0 ? 0 : p->beta * p->c[r * p->ldc + c];
}

/* Sets the rows of C to the bias, for a product that adds to them. */
static void spread_bias(const gnn_context_t *context, gnn__product_t *p)
{
    const int threads = gnn__threads_within(context, p->threads, p->m * p->n);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < p->m; r++)
        gnn__product_bias_row(p, r);
    p->beta = 1;
}

/* Many rows, small B: bound by reading A, which should not be packed. */
static bool narrow(const gnn__product_t *p)
{
    return !p->transpose_a && p->m >= NARROW_ROWS && p->n * p->k <= NARROW_PRODUCT;
}

static int openblas(gnn_context_t *context, const gnn__product_t *product, int threads)
{
    gnn__product_t p = *product;
    if (p.bias)
        spread_bias(context, &p);
    if (p.k == 0 || p.alpha == 0) {
        scale_only(&p);
        return GNN_OK;
    }
    if (p.m > INT_MAX || p.n > INT_MAX || p.k > INT_MAX || p.lda > INT_MAX || p.ldb > INT_MAX ||
        p.ldc > INT_MAX)
        return gnn__error(GNN_EOVERFLOW,
                          "a product of %lld x %lld x %lld does not fit the 32-bit sizes of BLAS",
                          (long long)p.m, (long long)p.n, (long long)p.k);
    GNN_TRY(provide_buffers(context, threads));
    run(&p, threads,
        provider_build() == OTHER_BLAS || ((context->deterministic || narrow(&p)) && SHARED_RUNTIME));
    return GNN_OK;
}

/* Threads that are useful now: barriers inside a provider's product wait for a preempted thread as
 * our own loops do. Products of a deterministic context are bit-identical for any count. */
static int threads_of(const gnn_context_t *context, const gnn__product_t *p, double work)
{
    if (narrow(p))
        return gnn__threads_within(context, p->threads, p->m * p->n * p->k / 8);
    if (work < SMALL_PRODUCT)
        return 1;
    return gnn__threads_within(context, p->threads, INT64_MAX);
}

/* Bound by reading B: runs on our own kernel. */
static bool fits_gemv_batch(const gnn_context_t *context, const gnn__product_t *p)
{
    return !p->transpose_a && p->m <= (p->transpose_b ? GNN__GEMV_ROWS : GNN__GEMV_ROWS_COLUMNS) &&
           p->n >= GEMV_COLS && p->n * p->k >= GEMV_PRODUCT && p->alpha == 1 &&
           (p->bias || p->beta == 0 || p->beta == 1) && !context->forced;
}

static void gemv_batch(const gnn_context_t *context, const gnn__product_t *p)
{
    const gnn__gemv_batch_t few = {.format = GNN__FORMAT_REAL,
                                   .transposed = p->transpose_b,
                                   .w = p->b,
                                   .x = p->a,
                                   .bias = p->bias,
                                   .y = p->c,
                                   .rows = p->m,
                                   .outputs = p->n,
                                   .k = p->k,
                                   .ldx = p->lda,
                                   .ldw = p->ldb,
                                   .ldy = p->ldc,
                                   .add = !p->bias && p->beta == 1};
    gnn__gemv_batch(context, &few, p->threads);
}

int gnn__dense(gnn_context_t *context, const gnn__product_t *p)
{
    if (p->m == 0 || p->n == 0)
        return GNN_OK;
    if (fits_gemv_batch(context, p)) {
        gemv_batch(context, p);
        return GNN_OK;
    }
    const double work = (double)p->m * (double)p->n * (double)p->k;
    const int threads = threads_of(context, p, work);
    gnn__product_t rest = *p;
    int rc = GNN_EUNSUPPORTED;
    if (work >= SMALL_PRODUCT && !narrow(p) && p->alpha == 1 && !context->deterministic)
        rc = gnn__onednn(context, &rest, gnn_context_precision_used(context), threads);
    return rc == GNN_EUNSUPPORTED ? openblas(context, &rest, threads) : rc;
}

gnn_precision_t gnn_context_precision_used(const gnn_context_t *context)
{
    GNN__NEED_OR(context, (gnn_precision_t)0);
    const gnn_precision_t wanted = context->precision;
    const bool used = !context->deterministic &&
                      (context->forced ? gnn__onednn_has(wanted) : gnn__onednn_gains(wanted));
    return used ? wanted : GNN_PRECISION_HIGHEST;
}

static void openblas_info(char *text, size_t size)
{
    static const char *const builds[] = {"serial", "pthreads", "OpenMP"};
    const char *config = openblas_get_config(); /* "OpenBLAS 0.3.21 DYNAMIC_ARCH ..." */
    const char *space = strchr(config, ' ');
    const char *end = space ? strchr(space + 1, ' ') : NULL;
    const int build = openblas_get_parallel();
    snprintf(text, size, "%.*s, core %s, %s", (int)(end ? end - config : (ptrdiff_t)strlen(config)),
             config, openblas_get_corename(),
             build >= SERIAL_BUILD && build <= OPENMP_BUILD ? builds[build] : "unknown threads");
}

void gnn__dense_info(char *text, size_t size)
{
    if (provider_build() == OTHER_BLAS)
        snprintf(text, size, "the system's BLAS");
    else
        openblas_info(text, size);
    const size_t used = strlen(text);
    gnn__onednn_info(text + used, size - used);
}

/* Every core that OpenBLAS 0.3 names for AVX2 or AVX-512 processors; all others are older. */
static gnn__isa_t core_isa(const char *core)
{
    static const char *const v4[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    static const char *const v3[] = {"Haswell", "Zen", "Excavator"};
    for (size_t i = 0; i < sizeof v4 / sizeof *v4; i++)
        if (strcasecmp(core, v4[i]) == 0)
            return GNN__ISA_AMX; /* its fp32 products do not use tiles */
    for (size_t i = 0; i < sizeof v3 / sizeof *v3; i++)
        if (strcasecmp(core, v3[i]) == 0)
            return GNN__ISA_V3;
    return GNN__ISA_BASELINE;
}

/* On other processors the baseline is the only set, and no core is older. */
bool gnn__dense_core_is_old(void)
{
    return provider_build() != OTHER_BLAS && core_isa(openblas_get_corename()) < gnn__isa();
}

/* ---- GEMV batch: division among threads ---- */

/* Outputs per chunk: rows of W, or the fewest columns. */
enum { AT_ONCE = 64, LEAST_COLUMNS = 256 };

/* Columns per chunk: rows of W should be read from end to end, and threads finish together. */
static int64_t columns_at_once(int64_t outputs, int threads)
{
    const int64_t parts = gnn__max(outputs / LEAST_COLUMNS / threads, 1) * threads;
    return gnn__round_up((outputs + parts - 1) / parts, AT_ONCE);
}

void gnn__gemv_batch(const gnn_context_t *context, const gnn__gemv_batch_t *p, int limit)
{
    const gnn__gemv_batch_kernels_t *kernels = gnn__gemv_batch_kernels();
    const int threads = gnn__threads_within(context, limit, p->outputs * p->k / 4);
    const int64_t n = p->transposed ? AT_ONCE : columns_at_once(p->outputs, threads);
    GNN__EACH_CHUNK (k, (p->outputs + n - 1) / n, threads)
        kernels->product(p, k * n, gnn__min((k + 1) * n, p->outputs));
}

/* ---- weights in fp16 or bf16 ---- */

/* Outputs of a panel that is widened at once. */
enum { PANEL = 512 };

int64_t gnn__fp16_scratch(const gnn__fp16_t *w, int64_t rows)
{
    return rows <= GNN__GEMV_ROWS ? 0 : gnn__min(w->rows, PANEL) * w->cols;
}

static void gemv_batch_fp16(const gnn_context_t *context, const gnn__fp16_product_t *p, int limit)
{
    const gnn__gemv_batch_t few = {.format = p->w->bf16 ? GNN__FORMAT_BF16 : GNN__FORMAT_FP16,
                                   .transposed = true,
                                   .w = p->w->at,
                                   .x = p->x,
                                   .bias = p->bias,
                                   .y = p->y,
                                   .rows = p->rows,
                                   .outputs = p->w->rows,
                                   .k = p->w->cols,
                                   .ldx = p->ldx,
                                   .ldw = p->w->cols,
                                   .ldy = p->ldy,
                                   .add = p->add};
    gnn__gemv_batch(context, &few, limit);
}

static void widen_rows(const gnn_context_t *context, const gnn__fp16_t *w, int limit, int64_t first,
                       int64_t count, gnn_real_t *to, int64_t stride)
{
    const gnn__fp16_kernels_t *kernels = gnn__fp16_kernels();
    const int threads = gnn__threads_within(context, limit, count * w->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < count; r++)
        kernels->widen(w->cols, w->bf16, w->at + (first + r) * w->cols, to + r * stride);
}

int gnn__fp16_multiply(gnn_context_t *context, const gnn__fp16_product_t *p, int threads,
                       gnn_real_t *scratch)
{
    const int64_t outputs = p->w->rows, k = p->w->cols;
    if (p->rows <= GNN__GEMV_ROWS) {
        gemv_batch_fp16(context, p, threads);
        return GNN_OK;
    }
    for (int64_t first = 0; first < outputs; first += PANEL) {
        const int64_t n = gnn__min(PANEL, outputs - first);
        widen_rows(context, p->w, threads, first, n, scratch, k);
        GNN_TRY(gnn__dense(context, &(gnn__product_t){.transpose_b = true,
                                                      .m = p->rows,
                                                      .n = n,
                                                      .k = k,
                                                      .lda = p->ldx,
                                                      .ldb = k,
                                                      .ldc = p->ldy,
                                                      .alpha = 1,
                                                      .beta = p->add ? 1 : 0,
                                                      .a = p->x,
                                                      .b = scratch,
                                                      .c = p->y + first,
                                                      .bias = p->bias ? p->bias + first : NULL,
                                                      .threads = threads}));
    }
    return GNN_OK;
}

/* Transposes while widening, STRIP columns at a time. */
static void widen_transposed(const gnn_context_t *context, const gnn__fp16_t *w, int limit,
                             gnn_real_t *to, int64_t stride)
{
    enum { STRIP = 32 };
    const gnn__fp16_kernels_t *kernels = gnn__fp16_kernels();
    const int threads = gnn__threads_within(context, limit, w->rows * w->cols);
    GNN__PARALLEL_FOR (threads, int64_t col = 0; col < w->cols; col += STRIP)
        for (int64_t r = 0; r < w->rows; r++) {
            gnn_real_t part[STRIP];
            const int64_t n = gnn__min(STRIP, w->cols - col);
            kernels->widen(n, w->bf16, w->at + r * w->cols + col, part);
            for (int64_t c = 0; c < n; c++)
                to[(col + c) * stride + r] = part[c];
        }
}

void gnn__fp16_widen(const gnn_context_t *context, const gnn__fp16_t *w, int threads,
                     gnn_real_t *to, int64_t stride)
{
    if (w->transposed)
        widen_transposed(context, w, threads, to, stride);
    else
        widen_rows(context, w, threads, 0, w->rows, to, stride);
}
