/* Principal components by block power iteration with Rayleigh-Ritz: V <- orthonormalise(C V),
 * where the covariance C is never formed. The first two components converge at the rate of the gap
 * after the whole block. */
#include <gnn/report.h>
#include <lib/base/base.h>
#include <float.h>
#include <math.h>

enum { BLOCK = 4, MOST_ROUNDS = 500 };

typedef struct {
    const gnn_tensor_t *x;
    int64_t d, block;
    double *mean;         /* (d): of the scaled columns */
    double *v, *w;        /* (block x d) */
    double scale;         /* 1 / the largest |x|, so that squares stay finite */
    double values[BLOCK]; /* variance along the rows of v */
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

/* w = C v. The coefficients have mean 0. */
static void multiply(pca_t *p)
{
    double offset[BLOCK];
    memset(p->w, 0, sizeof *p->w * (size_t)(p->block * p->d));
    for (int64_t b = 0; b < p->block; b++)
        offset[b] = dot(p->v + b * p->d, p->mean, p->d);
    for (int64_t i = 0; i < p->x->rows; i++)
        for (int64_t b = 0; b < p->block; b++) {
            double *w = p->w + b * p->d, t = along(p, i, p->v + b * p->d, offset[b]);
            const gnn_real_t *row = gnn__row(p->x, i);
            for (int64_t c = 0; c < p->d; c++)
                w[c] += t * ((double)row[c] * p->scale - p->mean[c]);
        }
}

/* Gram-Schmidt, twice for numerical stability; a linearly dependent row becomes 0. */
static void orthonormalise(double *m, int64_t rows, int64_t d)
{
    for (int64_t b = 0; b < rows; b++) {
        double *row = m + b * d, before = sqrt(dot(row, row, d));
        for (int twice = 0; twice < 2; twice++)
            for (int64_t a = 0; a < b; a++) {
                double part = dot(row, m + a * d, d);
                for (int64_t c = 0; c < d; c++)
                    row[c] -= part * m[a * d + c];
            }
        double norm = sqrt(dot(row, row, d));
        for (int64_t c = 0; c < d; c++)
            row[c] = norm > 1e-14 * before && norm > 1e-150 ? row[c] / norm : 0;
    }
}

/* One Jacobi rotation: rotates rows a and b of v and w so that v_a C v_b = 0. */
static void rotate(pca_t *p, int64_t a, int64_t b)
{
    double *va = p->v + a * p->d, *vb = p->v + b * p->d;
    double *wa = p->w + a * p->d, *wb = p->w + b * p->d;
    double off = dot(va, wb, p->d), aa = dot(va, wa, p->d), bb = dot(vb, wb, p->d);
    if (fabs(off) <= 1e-15 * (fabs(aa) + fabs(bb)))
        return;
    double theta = (bb - aa) / (2 * off),
           t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double cosine = 1 / sqrt(t * t + 1), sine = t * cosine;
    for (int64_t c = 0; c < p->d; c++) {
        double v = va[c], w = wa[c];
        va[c] = cosine * v - sine * vb[c];
        wa[c] = cosine * w - sine * wb[c];
        vb[c] = sine * v + cosine * vb[c];
        wb[c] = sine * w + cosine * wb[c];
    }
}

static void swap_rows(double *m, int64_t a, int64_t b, int64_t d)
{
    for (int64_t c = 0; c < d; c++) {
        double kept = m[a * d + c];
        m[a * d + c] = m[b * d + c];
        m[b * d + c] = kept;
    }
}

/* Rayleigh-Ritz: the rows of v become the eigenvectors of C within the block, by descending
 * variance. */
static void ritz(pca_t *p)
{
    for (int sweep = 0; sweep < 8; sweep++)
        for (int64_t a = 0; a < p->block; a++)
            for (int64_t b = a + 1; b < p->block; b++)
                rotate(p, a, b);
    for (int64_t b = 0; b < p->block; b++)
        p->values[b] = dot(p->v + b * p->d, p->w + b * p->d, p->d);
    for (int64_t a = 0; a < p->block; a++)
        for (int64_t b = a + 1; b < p->block; b++)
            if (p->values[b] > p->values[a]) {
                double kept = p->values[a];
                p->values[a] = p->values[b];
                p->values[b] = kept;
                swap_rows(p->v, a, b, p->d);
                swap_rows(p->w, a, b, p->d);
            }
}

static void iterate(pca_t *p)
{
    double before[2] = {-1, -1};
    for (int64_t k = 0; k < p->block * p->d; k++)
        p->v[k] = gnn__normal(0, 1, (uint64_t)k);
    orthonormalise(p->v, p->block, p->d);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        multiply(p);
        ritz(p);
        double second = p->block > 1 ? p->values[1] : 0;
        if (fabs(p->values[0] - before[0]) + fabs(second - before[1]) <= 1e-13 * p->values[0])
            return;
        before[0] = p->values[0];
        before[1] = second;
        memcpy(p->v, p->w, sizeof *p->v * (size_t)(p->block * p->d));
        orthonormalise(p->v, p->block, p->d);
    }
    multiply(p);
    ritz(p);
}

static void fill(pca_t *p, const gnn_tensor_t *points, double total, double share[2])
{
    for (int64_t a = 0; a < 2; a++) {
        double *v = p->v + a * p->d, largest = 0;
        bool any = a < p->block && total > 0 && p->values[a] > total * 1e-14;
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
    if (!x || !points)
        return gnn__error(GNN_EINVALID, "principal components: x or points is NULL");
    GNN_TRY(gnn_tensor_check_finite(x, "principal components: x"));
    GNN_TRY(gnn_tensor_check(points, "principal components: points"));
    if (points->rows != x->rows || points->cols != 2)
        return gnn__error(GNN_ESHAPE,
                          "principal components: points: expected %lld x 2, got %lld x %lld",
                          (long long)x->rows, (long long)points->rows, (long long)points->cols);
    p.d = x->cols;
    p.block = p.d < BLOCK ? p.d : BLOCK;
    GNN_CHECK(gnn__new(&p.mean, p.d, sizeof *p.mean, "means"));
    GNN_CHECK(gnn__new(&p.v, BLOCK * p.d, sizeof *p.v, "directions"));
    GNN_CHECK(gnn__new(&p.w, BLOCK * p.d, sizeof *p.w, "directions"));
    double total = centre(&p);
    if (total > 0)
        iterate(&p);
    fill(&p, points, total, share);
done:
    gnn_free(p.mean);
    gnn_free(p.v);
    gnn_free(p.w);
    return rc;
}
