/* Eigenvectors and inverses by LAPACK, which is called by its Fortran names: the header for C is
 * not everywhere where LAPACK is. */
#include <cblas.h>
#include <lib/kernels/dense/lapack.h>

void dsyevr_(const char *job, const char *range, const char *uplo, const int *n, double *a,
             const int *lda, const double *vl, const double *vu, const int *il, const int *iu,
             const double *tolerance, int *found, double *w, double *z, const int *ldz,
             int *support, double *work, const int *lwork, int *iwork, const int *liwork, int *info,
             size_t, size_t, size_t);
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void dgetri_(const int *n, double *a, const int *lda, const int *pivots, double *work,
             const int *lwork, int *info);

void gnn__add_products(double *matrix, int64_t n, const double *panel, int64_t rows)
{
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, (int)n, (int)rows, 1, panel, (int)n, 1,
                matrix, (int)n);
}

/* ---- eigenvectors ---- */

typedef struct {
    double *values, *work;
    int *support, *integers;
} scratch_t;

static int new_scratch(scratch_t *s, int64_t n, int64_t count)
{
    GNN_TRY(gnn__new(&s->values, n, sizeof *s->values, "eigenvalues"));
    GNN_TRY(gnn__new(&s->work, 64 * n, sizeof *s->work, "scratch of eigenvectors"));
    GNN_TRY(gnn__new(&s->support, 2 * count, sizeof *s->support, "scratch of eigenvectors"));
    return gnn__new(&s->integers, 16 * n, sizeof *s->integers, "scratch of eigenvectors");
}

static int eigenvectors(scratch_t *s, double *matrix, int64_t n, int64_t first, int64_t count,
                        double *vectors)
{
    const int size = (int)n, lwork = 64 * size, liwork = 16 * size;
    const int low = (int)first + 1, high = (int)(first + count);
    const double none = 0;
    int found = 0, info = 0;
    dsyevr_("V", "I", "U", &size, matrix, &size, &none, &none, &low, &high, &none, &found, s->values,
            vectors, &size, s->support, s->work, &lwork, s->integers, &liwork, &info, 1, 1, 1);
    if (info != 0 || found != count)
        return gnn__error(GNN_ENUMERIC, "LAPACK found %d of %lld eigenvectors (dsyevr %d)", found,
                          (long long)count, info);
    return GNN_OK;
}

int gnn__eigenvectors(double *matrix, int64_t n, int64_t first, int64_t count, double *values,
                      double *vectors)
{
    scratch_t s = {0};
    if (n > GNN__LAPACK_MOST)
        return gnn__error(GNN_EUNSUPPORTED, "eigenvectors of %lld rows, expected at most %d",
                          (long long)n, GNN__LAPACK_MOST);
    int rc = new_scratch(&s, n, count);
    if (rc == GNN_OK)
        rc = eigenvectors(&s, matrix, n, first, count, vectors);
    if (rc == GNN_OK)
        memcpy(values, s.values, (size_t)count * sizeof *values);
    gnn_free(s.values);
    gnn_free(s.work);
    gnn_free(s.support);
    gnn_free(s.integers);
    return rc;
}

/* ---- inverses: rows are LAPACK's columns, and the inverse of a transpose is the transpose of the
 * inverse ---- */

bool gnn__inverse_scratch(int64_t m, int64_t *bytes)
{
    return m <= GNN__LAPACK_MOST && gnn__mul(m, (int64_t)(sizeof(double) + sizeof(int)), bytes);
}

bool gnn__inverse(double *matrix, int64_t m, void *scratch)
{
    double *work = scratch;
    int *pivots = (int *)(work + m), info = 0;
    const int size = (int)m;
    dgetrf_(&size, &size, matrix, &size, pivots, &info);
    if (info == 0)
        dgetri_(&size, matrix, &size, pivots, work, &size, &info);
    return info == 0;
}
