/* Shared by the readers of .npz layouts: arrays by any of their names, and sparse matrices. */
#ifndef GNN_LIB_DATA_LAYOUTS_H
#define GNN_LIB_DATA_LAYOUTS_H

#include <lib/data/arrays/arrays.h>
#include <lib/data/data.h>

/* Parts of a set with several names each, and the names (lists that end with NULL). */
typedef enum {
    GNN__OF_LABELS,
    GNN__OF_FEATURES,
    GNN__OF_SENDERS,
    GNN__OF_RECEIVERS,
    GNN__OF_WEIGHTS,
    GNN__OF_EDGE_FEATURES,
    GNN__PARTS
} gnn__layout_part_t;
enum { GNN__MOST_NAMES = 9 };
extern const char *const gnn__layout_names[GNN__PARTS][GNN__MOST_NAMES];
/* The first of the names (a list that ends with NULL) that the file has, or NULL. */
const gnn_array_t *gnn__layout_find(const gnn_arrays_t *arrays, const char *const *names);
/* Is this a name of an array of splits? */
bool gnn__layout_wants_split(const char *name, size_t length);
/* The error for a missing array. */
int gnn__layout_missing(const gnn_arrays_t *arrays, const char *name);
/* The error for a missing part, `what`; it lists the arrays of other names. */
int gnn__layout_lacks(const gnn_arrays_t *arrays, const char *what);
int gnn__layout_rank(const gnn_array_t *array, int ndim);
int gnn__layout_integer(const gnn_array_t *array);

typedef struct gnn__layout_csr {
    int64_t rows, cols, nnz;
    int64_t *indptr;
    int32_t *indices;
} gnn__layout_csr_t;

/* The separator between `matrix` and its parts in this file ("_" in adj_indptr); NULL if there is
 * no such matrix. */
const char *gnn__layout_spelling(const gnn_arrays_t *arrays, const char *matrix);
/* The indptr of `matrix`; NULL if there is none. */
const gnn_array_t *gnn__layout_indptr(const gnn_arrays_t *arrays, const char *matrix);
/* Reads a matrix of n rows with that separator; "": the parts have no prefix. On failure the caller
 * frees the contents of `csr`. `data` receives the values, NULL if there are none. */
int gnn__layout_csr(gnn__layout_csr_t *csr, const gnn_array_t **data, const gnn_arrays_t *arrays,
                    const char *matrix, int64_t n);
/* The row of each entry (nnz, released with gnn_free). */
int gnn__layout_csr_rows(const gnn__layout_csr_t *csr, int32_t **rows);
/* Dense features; NULL if there are none. */
const gnn_array_t *gnn__layout_dense(const gnn_arrays_t *arrays);
/* The error for a file without features. */
int gnn__layout_no_features(const gnn_arrays_t *arrays);
/* Count of the features' rows, also for features that are not loaded yet. */
int gnn__layout_feature_rows(const gnn_arrays_t *arrays, int64_t *rows);
/* Reads the labels. Called before the other readers, since labels determine the count of nodes
 * (without labels the features do). */
int gnn__layout_labels(gnn_data_t *data, const gnn_arrays_t *arrays);
/* The file's m links, their weights (NULL: none) and edge arrays. */
int gnn__layout_links(gnn_data_t *data, const gnn_arrays_t *arrays, const gnn_array_t *weight,
                      gnn__data_links_t links);
/* Links whose senders and receivers are arrays of their own, as DGL has them. */
int gnn__layout_two_lists(gnn_data_t *data, const gnn_arrays_t *arrays, const gnn_array_t *senders,
                          const gnn_array_t *receivers, const gnn_array_t *weight);
/* Links of a square matrix (gnn__layout_csr): row i has the senders of receiver i, as in A x;
 * `transposed`: row i has the receivers of sender i. */
int gnn__layout_adjacency(gnn_data_t *data, const gnn_arrays_t *arrays, const char *matrix,
                          bool transposed);
/* Is it a file of scipy.sparse.save_npz? */
bool gnn__layout_is_scipy(const gnn_arrays_t *arrays);
/* Reads its matrix as a graph; all arrays are there. */
int gnn__layout_scipy(gnn_data_t *data, const gnn_arrays_t *arrays);
/* The graph and its edge arrays. */
int gnn__layout_edges(gnn_data_t *data, const gnn_arrays_t *arrays);
/* The splits, as masks or as indices; without either one is drawn. GNN_EFORMAT: arrays of other
 * names that are of splits. */
int gnn__layout_masks(gnn_data_t *data, const gnn_arrays_t *arrays);
/* "node.NAME", "graph.NAME" as arrays NAME. */
int gnn__layout_arrays(gnn_data_t *data, const gnn_arrays_t *arrays);

#endif
