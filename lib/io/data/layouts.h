/* What the readers of .npz layouts share: arrays found by any of their names, and sparse
 * matrices. */
#ifndef GNN_LIB_IO_LAYOUTS_H
#define GNN_LIB_IO_LAYOUTS_H

#include <lib/io/arrays/arrays.h>
#include <lib/io/data/data.h>

/* The first of the names (a list that ends with NULL) that the file has, or NULL. */
const gnn_array_t *gnn__layout_find(const gnn_arrays_t *arrays, const char *const *names);
/* May a data set read an array of this name? */
bool gnn__layout_wants(const char *name, size_t length);
/* The error that says why there is no such array. */
int gnn__layout_missing(const gnn_arrays_t *arrays, const char *name);
int gnn__layout_rank(const gnn_array_t *array, int ndim);
int gnn__layout_integer(const gnn_array_t *array);

typedef struct gnn__layout_csr {
    int64_t rows, cols, nnz;
    int64_t *indptr;
    int32_t *indices;
} gnn__layout_csr_t;

/* What stands between `matrix` and its parts in this file ("_" in adj_indptr); NULL if it has no
 * such matrix. */
const char *gnn__layout_spelling(const gnn_arrays_t *arrays, const char *matrix);
/* Is there an indptr of `matrix`? */
bool gnn__layout_has(const gnn_arrays_t *arrays, const char *matrix);
/* A matrix of n rows in that spelling. On failure the caller frees what `csr` holds. `data`
 * receives the matrix's numbers, NULL if there are none. */
int gnn__layout_csr(gnn__layout_csr_t *csr, const gnn_array_t **data, const gnn_arrays_t *arrays,
                    const char *matrix, int64_t n);
/* Labels, and with them the count of nodes: the first of all parts. */
int gnn__layout_labels(gnn_data_t *data, const gnn_arrays_t *arrays);
/* The graph and its edge arrays. */
int gnn__layout_edges(gnn_data_t *data, const gnn_arrays_t *arrays);
/* "node.NAME", "graph.NAME" as arrays NAME. */
int gnn__layout_arrays(gnn_data_t *data, const gnn_arrays_t *arrays);

#endif
