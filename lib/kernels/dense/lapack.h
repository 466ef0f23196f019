/* Dense linear algebra in double precision by LAPACK, which OpenBLAS brings: eigenvectors of
 * symmetric matrices, and inverses. Called outside of parallel regions, as all products. */
#ifndef GNN_KERNELS_LAPACK_H
#define GNN_KERNELS_LAPACK_H

#include <lib/base/base.h>

/* Largest order of a matrix here: LAPACK's integers have 32 bits, and its scratch 64 columns. */
#define GNN__LAPACK_MOST 32768

/* matrix += the products of all pairs of columns of a panel (rows x n, row-major): the triangle
 * that gnn__eigenvectors reads. */
void gnn__add_products(double *matrix, int64_t n, const double *panel, int64_t rows);

/* Eigenvectors first .. first + count - 1 of a symmetric matrix (n x n), by ascending eigenvalue.
 * Reads the triangle of columns up to the row; the matrix is overwritten.
 * values (count); vectors (count x n) of length 1, whose signs are LAPACK's. dsyevr.
 * GNN_EUNSUPPORTED above GNN__LAPACK_MOST; GNN_ENUMERIC; GNN_EMEMORY. */
int gnn__eigenvectors(double *matrix, int64_t n, int64_t first, int64_t count, double *values,
                      double *vectors);

/* Bytes of scratch for the inverse of an m x m matrix; false: they overflow. */
bool gnn__inverse_scratch(int64_t m, int64_t *bytes);
/* Inverts a finite matrix (m x m, row-major) in place. False: it has no inverse. dgetrf, dgetri. */
bool gnn__inverse(double *matrix, int64_t m, void *scratch);

#endif
