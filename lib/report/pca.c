/* Principal components: the eigenvectors of the covariance of the columns, C = X'X, or, with fewer
 * rows than columns, of the products of rows, G = XX', whose vectors u give v = X'u. Both are sums
 * over panels of the centred matrix, which is never stored. LAPACK runs on one thread: the bits do
 * not depend on the count of threads. */
#include <gnn/report.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/dense/lapack.h>
#include <float.h>
#include <math.h>

enum { PANEL = 128, COMPONENTS = 2 };

typedef struct {
    const gnn_tensor_t *x;
    int64_t n, d, order;       /* order: of the matrix, the lesser of n and d */
    bool by_rows;              /* the matrix is G */
    double *mean;              /* (d): of the scaled columns */
    double scale;              /* 1 / the largest |x|, so that squares stay finite */
    double *matrix, *panel;    /* (order x order), (PANEL x order) */
    double *u;                 /* (2 x order) by ascending variance */
    double *v;                 /* (2 x d) by descending variance */
    double values[COMPONENTS]; /* variance along the rows of v */
} pca_t;

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Means of the scaled columns. Returns the total variance; 0 if it is within rounding: scaled
 * values are in -1..1, so differences from a mean are off by a few units in the last place. */
static double centre(pca_t *p)
{
    double largest = 0, total = 0;
    const gnn_tensor_t *x = p->x;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t c = 0; c < p->d; c++) {
            const double size = fabs((double)gnn__row(x, i)[c]);
            largest = size > largest ? size : largest;
        }
    p->scale = largest > 0 ? 1 / largest : 0;
    if (!isfinite(p->scale))
        p->scale = 0;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t c = 0; c < p->d; c++)
            p->mean[c] += (double)gnn__row(x, i)[c] * p->scale / (double)x->rows;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t c = 0; c < p->d; c++) {
            double centred = (double)gnn__row(x, i)[c] * p->scale - p->mean[c];
            total += centred * centred;
        }
    const double rounding = 8 * DBL_EPSILON;
    return total > rounding * rounding * (double)(x->rows * p->d) ? total : 0;
}

/* Coordinate of row i along v; `offset` is the product of v and the mean. */
static double along(const pca_t *p, int64_t i, const double *v, double offset)
{
    const gnn_real_t *row = gnn__row(p->x, i);
    double sum = 0;
    for (int64_t c = 0; c < p->d; c++)
        sum += (double)row[c] * v[c];
    return sum * p->scale - offset;
}

/* Element of the centred matrix. */
static double centred(const pca_t *p, int64_t i, int64_t c)
{
    return (double)gnn__row(p->x, i)[c] * p->scale - p->mean[c];
}

/* The sum over panels: of rows of X, or of columns for the products of rows. */
static void multiply(pca_t *p)
{
    const int64_t length = p->by_rows ? p->d : p->n;
    for (int64_t first = 0; first < length; first += PANEL) {
        const int64_t rows = gnn__min(PANEL, length - first);
        for (int64_t k = 0; k < rows; k++)
            for (int64_t e = 0; e < p->order; e++)
                p->panel[k * p->order + e] =
                    p->by_rows ? centred(p, e, first + k) : centred(p, first + k, e);
        gnn__add_products(p->matrix, p->order, p->panel, rows);
    }
}

/* v = u, or X'u of length 1. */
static void directions(pca_t *p, int64_t count)
{
    for (int64_t a = 0; a < count; a++) {
        const double *u = p->u + (count - 1 - a) * p->order;
        double *v = p->v + a * p->d, norm = 0;
        if (!p->by_rows) {
            memcpy(v, u, (size_t)p->d * sizeof *v);
            continue;
        }
        for (int64_t i = 0; i < p->n; i++)
            for (int64_t c = 0; c < p->d; c++)
                v[c] += centred(p, i, c) * u[i];
        norm = sqrt(dot(v, v, p->d));
        for (int64_t c = 0; c < p->d; c++)
            v[c] = norm > 0 ? v[c] / norm : 0;
    }
}

static int solve(pca_t *p)
{
    const int64_t m = p->order, count = gnn__min(COMPONENTS, m);
    double values[COMPONENTS];
    GNN_TRY(gnn__new(&p->matrix, m * m, sizeof *p->matrix, "a covariance"));
    GNN_TRY(gnn__new(&p->panel, PANEL * m, sizeof *p->panel, "rows of a matrix"));
    GNN_TRY(gnn__new(&p->u, COMPONENTS * m, sizeof *p->u, "directions"));
    const gnn__blas_threads_t before = gnn__blas_set_threads(1);
    multiply(p);
    const int rc = gnn__eigenvectors(p->matrix, m, m - count, count, values, p->u);
    gnn__blas_reset_threads(&before);
    if (rc != GNN_OK)
        return rc;
    for (int64_t a = 0; a < count; a++)
        p->values[a] = values[count - 1 - a];
    directions(p, count);
    return GNN_OK;
}

static void fill(pca_t *p, const gnn_tensor_t *points, double total, double share[2])
{
    for (int64_t a = 0; a < 2; a++) {
        double *v = p->v + a * p->d, largest = 0;
        bool any = a < p->order && total > 0 && p->values[a] > total * 1e-14;
        for (int64_t c = 0; any && c < p->d; c++)
            largest = fabs(v[c]) > fabs(largest) ? v[c] : largest;
        for (int64_t c = 0; any && largest < 0 && c < p->d; c++)
            v[c] = -v[c];
        double offset = any ? dot(v, p->mean, p->d) : 0;
        for (int64_t i = 0; i < p->x->rows; i++)
            gnn__row(points, i)[a] = any ? (gnn_real_t)(along(p, i, v, offset) / p->scale) : 0;
        if (share)
            share[a] = any ? p->values[a] / total : 0;
    }
}

int gnn_pca_2d(const gnn_tensor_t *x, const gnn_tensor_t *points, double share[2])
{
    pca_t p = {.x = x};
    int rc;
    GNN__NEED(x);
    GNN__NEED(points);
    GNN_TRY(gnn__tensor_check_finite(x, "principal components: x"));
    GNN_TRY(gnn__tensor_check(points, "principal components: points"));
    if (points->rows != x->rows || points->cols != 2)
        return gnn__error(GNN_ESHAPE,
                          "principal components: points: expected %lld x 2, got %lld x %lld",
                          (long long)x->rows, (long long)points->rows, (long long)points->cols);
    p.n = x->rows;
    p.d = x->cols;
    p.by_rows = p.n < p.d;
    p.order = gnn__min(p.n, p.d);
    if (p.order > GNN__LAPACK_MOST)
        return gnn__error(GNN_EUNSUPPORTED,
                          "principal components: expected at most %d rows or columns, got %lld x %lld",
                          GNN__LAPACK_MOST, (long long)p.n, (long long)p.d);
    GNN_CHECK(gnn__new(&p.mean, p.d, sizeof *p.mean, "means"));
    GNN_CHECK(gnn__new(&p.v, COMPONENTS * p.d, sizeof *p.v, "directions"));
    const double total = centre(&p);
    if (total > 0)
        GNN_CHECK(solve(&p));
    fill(&p, points, total, share);
done:
    gnn_free(p.mean);
    gnn_free(p.v);
    gnn_free(p.matrix);
    gnn_free(p.panel);
    gnn_free(p.u);
    return rc;
}
