/* Dense products by OpenBLAS, or by the BLAS that there is, and who gets which product. OpenBLAS's
 * threads are OpenMP's in Debian's openmp build, its own in the pthread build: asked once. */
#include <lib/kernels/dense/dense.h>
#include <lib/base/room.h>
#include <lib/kernels/dense/few_rows.h>

#include <cblas.h>
#include <limits.h>
#include <omp.h>
#include <sys/mman.h>

/* What openblas_get_parallel says; OTHER_BLAS: not OpenBLAS. Its calls are taken to run on the
 * thread that makes them, and on several at once. */
enum { SERIAL_BUILD = 0, PTHREAD_BUILD = 1, OPENMP_BUILD = 2, OTHER_BLAS = 3 };

/* Built with another BLAS. OpenBLAS may still run behind the same name, for the system chooses
 * (Debian's update-alternatives): then these symbols are there. */
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

/* Blocks of a deterministic product; multiply-adds below which one thread is faster; the least
 * rows of a thin product, and the most numbers of its B; the least columns and numbers of a B that
 * few rows meet; terms that another BLAS may add one after another. */
enum {
    BLOCK_ROWS = 64,
    BLOCK_COLS = 512,
    SMALL_PRODUCT = 1000000,
    THIN_ROWS = 1024,
    THIN_PRODUCT = 1024,
    FEW_ROWS_COLS = 64,
    SUM_TERMS = 512,
    FEW_ROWS_PRODUCT = 1 << 16
};

/* libomp beside OpenBLAS's libgomp: two run-times that must not both start threads (clang cannot
 * generate code for libgomp). */
#if defined(__clang__)
enum { SHARED_RUNTIME = 0 };
#else
enum { SHARED_RUNTIME = 1 };
#endif

static void call(const gnn__product_t *p)
{
    const CBLAS_TRANSPOSE ta = p->transpose_a ? CblasTrans : CblasNoTrans,
                          tb = p->transpose_b ? CblasTrans : CblasNoTrans;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb,
        ldc = (int)p->ldc;
#if GNN_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, p->alpha, p->a, lda, p->b, ldb, p->beta, p->c, ldc);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, p->alpha, p->a, lda, p->b, ldb, p->beta, p->c, ldc);
#endif
}

/* Rows r.. and columns c.. of the product, at most one block of them. */
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

/* One block by another BLAS. Debian's reference adds all terms one after another, which loses more
 * than `highest` promises: parts of the sum are added up here. */
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

/* Runs the product with so many threads of the provider. Only the calling thread's OpenMP setting
 * is touched, and put back. */
static void run(const gnn__product_t *p, int threads, bool split)
{
    const int build = provider_build();
    const bool inside = build == OTHER_BLAS || (SHARED_RUNTIME && build == OPENMP_BUILD);
    const int before = omp_get_max_threads(),
              provider = inside || build == SERIAL_BUILD ? 0 : openblas_get_num_threads();
    const int wanted = split || !SHARED_RUNTIME ? 1 : threads;
    omp_set_num_threads(wanted);
    if (provider && provider != wanted)
        openblas_set_num_threads(wanted);
    if (split)
        call_blocks(p, inside ? threads : 1);
    else
        call(p);
    if (provider && provider != wanted)
        openblas_set_num_threads(provider);
    omp_set_num_threads(before);
}

/* ---- memory of the provider ---- */

/* What a thread's first product takes (BUFFER_SIZE of Debian's build), what the C library sets
 * aside for a thread that allocates, and a product that is not too small to take a buffer. */
enum { BUFFER = 128 << 20, ARENA = 64 << 20, SIDE = 192 };

/* One product for each of `threads` threads at once, so that OpenBLAS makes as many buffers. */
static int first_products(int threads)
{
    gnn_real_t *numbers;
    GNN_TRY(gnn__new(&numbers, (int64_t)(threads + 1) * SIDE * SIDE, sizeof *numbers,
                     "the first product"));
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads); /* or one thread's product would start others */
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const gnn__product_t p = {.m = SIDE,
                                  .n = SIDE,
                                  .k = SIDE,
                                  .alpha = 1,
                                  .a = numbers,
                                  .lda = SIDE,
                                  .b = numbers,
                                  .ldb = SIDE,
                                  .c = numbers + (omp_get_thread_num() + 1) * SIDE * SIDE,
                                  .ldc = SIDE};
#pragma omp barrier
        call(&p);
    }
    omp_set_num_threads(before);
    gnn_free(numbers);
    return GNN_OK;
}

/* OpenBLAS waits for ever for buffers that the system does not give. Where address space is
 * limited, they are asked for beforehand, by one thread too, and OpenBLAS keeps them. */
static int provide_buffers(gnn_context_t *context, int threads)
{
    const int missing = gnn__buffers_claim(context, threads);
    if (missing == 0 || !gnn__memory_is_limited() || provider_build() == OTHER_BLAS ||
        !(SHARED_RUNTIME || threads == 1))
        return GNN_OK;
    const size_t bytes = (size_t)missing * BUFFER + (size_t)(threads - 1) * ARENA;
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        gnn__buffers_return(context, missing);
        return gnn__error(GNN_EMEMORY,
                          "no address space for the buffers of OpenBLAS, %d MB for each of %d "
                          "threads: raise the limit (ulimit -v)%s",
                          BUFFER >> 20, threads, threads > 1 ? ", or use fewer threads" : "");
    }
    munmap(room, bytes);
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

/* Rows of C become the bias, for a product that adds to them. */
static void spread_bias(const gnn_context_t *context, gnn__product_t *p)
{
    const int threads = gnn__threads_within(context, p->threads, p->m * p->n);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < p->m; r++)
        gnn__product_bias_row(p, r);
    p->beta = 1;
}

/* Many rows by few numbers: bound by the rows, which should be met where they lie. */
static bool thin(const gnn__product_t *p)
{
    return !p->transpose_a && p->m >= THIN_ROWS && p->n * p->k <= THIN_PRODUCT;
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
        provider_build() == OTHER_BLAS || ((context->deterministic || thin(&p)) && SHARED_RUNTIME));
    return GNN_OK;
}

/* As many as are of use just now: the barriers inside a provider's product wait for a preempted
 * thread as those of our own loops do. A deterministic context's products have the same bits with
 * any number. */
static int threads_of(const gnn_context_t *context, const gnn__product_t *p, double work)
{
    if (thin(p))
        return gnn__threads_within(context, p->threads, p->m * p->n * p->k / 8);
    if (work < SMALL_PRODUCT)
        return 1;
    return gnn__threads_within(context, p->threads, INT64_MAX);
}

/* Reading B is what takes the time: a kernel of our own. */
static bool few_rows(const gnn_context_t *context, const gnn__product_t *p)
{
    return !p->transpose_a && p->m <= (p->transpose_b ? GNN__FEW_ROWS : GNN__FEW_ROWS_COLUMNS) &&
           p->n >= FEW_ROWS_COLS && p->n * p->k >= FEW_ROWS_PRODUCT && p->alpha == 1 &&
           (p->bias || p->beta == 0 || p->beta == 1) && !context->forced;
}

static void multiply_few(const gnn_context_t *context, const gnn__product_t *p)
{
    const gnn__few_rows_t few = {.numbers = GNN__REAL,
                                 .turned = p->transpose_b,
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
    gnn__few_rows(context, &few, p->threads);
}

int gnn__dense(gnn_context_t *context, const gnn__product_t *p)
{
    if (p->m == 0 || p->n == 0)
        return GNN_OK;
    if (few_rows(context, p)) {
        multiply_few(context, p);
        return GNN_OK;
    }
    const double work = (double)p->m * (double)p->n * (double)p->k;
    const int threads = threads_of(context, p, work);
    gnn__product_t rest = *p;
    int rc = GNN_EUNSUPPORTED;
    if (work >= SMALL_PRODUCT && !thin(p) && p->alpha == 1 && !context->deterministic)
        rc = gnn__onednn(context, &rest, gnn_context_precision_used(context), threads);
    return rc == GNN_EUNSUPPORTED ? openblas(context, &rest, threads) : rc;
}

gnn_precision_t gnn_context_precision_used(const gnn_context_t *context)
{
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

/* Every core that OpenBLAS 0.3 names for AVX2 or AVX-512 processors; the others are older. */
static gnn__isa_t core_isa(const char *core)
{
    static const char *const v4[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    static const char *const v3[] = {"Haswell", "Zen", "Excavator"};
    for (size_t i = 0; i < sizeof v4 / sizeof *v4; i++)
        if (strcasecmp(core, v4[i]) == 0)
            return GNN__ISA_AMX; /* nothing is missed: its fp32 products have no use for tiles */
    for (size_t i = 0; i < sizeof v3 / sizeof *v3; i++)
        if (strcasecmp(core, v3[i]) == 0)
            return GNN__ISA_V3;
    return GNN__ISA_BASELINE;
}

/* On other processors the baseline is all there is, and no core is older. */
bool gnn__dense_core_is_old(void)
{
    return provider_build() != OTHER_BLAS && core_isa(openblas_get_corename()) < gnn__isa();
}
