/* Dense products by OpenBLAS. Its threads are OpenMP's in Debian's openmp build, its own in the
 * pthread build: asked once. */
#include <lib/kernels/dense.h>

#include <cblas.h>
#include <limits.h>
#include <omp.h>

/* What openblas_get_parallel says. */
enum { SERIAL_BUILD = 0, PTHREAD_BUILD = 1, OPENMP_BUILD = 2 };

/* Blocks of a deterministic product, and multiply-adds below which one thread is faster. */
enum { BLOCK_ROWS = 64, BLOCK_COLS = 512, SMALL_PRODUCT = 1000000 };

/* libomp beside OpenBLAS's libgomp: two run-times that must not both start threads (clang cannot
 * generate code for libgomp). */
#if defined(__clang__)
enum { SHARED_RUNTIME = 0 };
#else
enum { SHARED_RUNTIME = 1 };
#endif

typedef struct {
    CBLAS_TRANSPOSE ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    gnn_real_t alpha, beta;
    const gnn_real_t *a, *b;
    gnn_real_t *c;
} product_t;

static void call(const product_t *p)
{
    int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb,
        ldc = (int)p->ldc;
#if GNN_DOUBLE
    cblas_dgemm(CblasRowMajor, p->ta, p->tb, m, n, k, p->alpha, p->a, lda, p->b, ldb, p->beta, p->c,
                ldc);
#else
    cblas_sgemm(CblasRowMajor, p->ta, p->tb, m, n, k, p->alpha, p->a, lda, p->b, ldb, p->beta, p->c,
                ldc);
#endif
}

/* Rows r.. and columns c.. of the product, at most one block of them. */
static product_t block_of(const product_t *whole, int64_t r, int64_t c)
{
    product_t p = *whole;
    p.m = whole->m - r < BLOCK_ROWS ? whole->m - r : BLOCK_ROWS;
    p.n = whole->n - c < BLOCK_COLS ? whole->n - c : BLOCK_COLS;
    p.a += whole->ta == CblasTrans ? r : r * p.lda;
    p.b += whole->tb == CblasTrans ? c * p.ldb : c;
    p.c += r * p.ldc + c;
    return p;
}

/* Inside a parallel region OpenBLAS's OpenMP build is serial; other builds are never called from
 * one. */
static void call_blocks(const product_t *whole, int threads)
{
    int64_t across = (whole->n + BLOCK_COLS - 1) / BLOCK_COLS,
            blocks = (whole->m + BLOCK_ROWS - 1) / BLOCK_ROWS * across;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
    for (int64_t k = 0; k < blocks; k++) {
        product_t p = block_of(whole, k / across * BLOCK_ROWS, k % across * BLOCK_COLS);
        call(&p);
    }
}

/* Runs the product with so many threads of the provider. Only the calling thread's OpenMP setting
 * is touched, and put back. */
static void run(const product_t *p, int threads, bool split)
{
    const int build = openblas_get_parallel();
    const bool inside = SHARED_RUNTIME && build == OPENMP_BUILD;
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

static void scale_only(const product_t *p)
{
    for (int64_t r = 0; r < p->m; r++)
        for (int64_t c = 0; c < p->n; c++)
            p->c[r * p->ldc + c] = p->beta == 0 ? 0 : p->beta * p->c[r * p->ldc + c];
}

int gnn__gemm(const gnn_context_t *context, bool transpose_a, bool transpose_b, int64_t m,
              int64_t n, int64_t k, gnn_real_t alpha, const gnn_real_t *a, int64_t lda,
              const gnn_real_t *b, int64_t ldb, gnn_real_t beta, gnn_real_t *c, int64_t ldc)
{
    if (m == 0 || n == 0)
        return GNN_OK;
    product_t p = {transpose_a ? CblasTrans : CblasNoTrans,
                   transpose_b ? CblasTrans : CblasNoTrans,
                   m,
                   n,
                   k,
                   lda,
                   ldb,
                   ldc,
                   alpha,
                   beta,
                   a,
                   b,
                   c};
    if (k == 0 || alpha == 0) {
        scale_only(&p);
        return GNN_OK;
    }
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX || lda > INT_MAX || ldb > INT_MAX || ldc > INT_MAX)
        return gnn__error(GNN_EOVERFLOW,
                          "a product of %lld x %lld x %lld does not fit OpenBLAS's 32-bit sizes",
                          (long long)m, (long long)n, (long long)k);
    const double work = (double)m * (double)n * (double)k;
    run(&p, work < SMALL_PRODUCT ? 1 : context->threads, context->deterministic && SHARED_RUNTIME);
    return GNN_OK;
}

void gnn__dense_info(char *text, size_t size)
{
    static const char *const builds[] = {"serial", "pthreads", "OpenMP"};
    const char *config = openblas_get_config(); /* "OpenBLAS 0.3.21 DYNAMIC_ARCH ..." */
    const char *space = strchr(config, ' ');
    const char *end = space ? strchr(space + 1, ' ') : NULL;
    int build = openblas_get_parallel();
    snprintf(text, size, "%.*s, core %s, %s", (int)(end ? end - config : (ptrdiff_t)strlen(config)),
             config, openblas_get_corename(),
             build >= SERIAL_BUILD && build <= OPENMP_BUILD ? builds[build] : "unknown threads");
}

/* Every core that OpenBLAS 0.3 names for AVX2 or AVX-512 processors; the others are older. */
static gnn__isa_t core_isa(const char *core)
{
    static const char *const v4[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    static const char *const v3[] = {"Haswell", "Zen", "Excavator"};
    for (size_t i = 0; i < sizeof v4 / sizeof *v4; i++)
        if (strcasecmp(core, v4[i]) == 0)
            return GNN__ISA_V4;
    for (size_t i = 0; i < sizeof v3 / sizeof *v3; i++)
        if (strcasecmp(core, v3[i]) == 0)
            return GNN__ISA_V3;
    return GNN__ISA_BASELINE;
}

bool gnn__dense_core_is_old(void)
{
#if defined(__x86_64__)
    return core_isa(openblas_get_corename()) < gnn__isa();
#else
    return false;
#endif
}
