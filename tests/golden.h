/* Golden files in C: one file open with what was made from it, and the comparison that decides. */
#ifndef GNN_TESTS_GOLDEN_H
#define GNN_TESTS_GOLDEN_H

#include "support.h"

/* Tolerances (README of the golden files): in a double build only the rounding of the stored file
 * remains. */
#define GOLDEN_OUT (GNN_DOUBLE ? 1e-6 : 1e-5)
#define GOLDEN_GRAD (GNN_DOUBLE ? 1e-6 : 1e-4)

typedef struct golden {
    char name[64];
    gnn_context_t *context;
    gnn_arrays_t *arrays;
    double largest_gradient; /* over all arrays that begin with "d" */
    void **owned;
    int n_owned;
} golden_t;

/* False, and skipped, where the file is absent. */
bool golden_open(golden_t *g, const char *name);
void golden_close(golden_t *g);
bool golden_has(const golden_t *g, const char *name);
/* Zeroed memory that is freed with the file. */
void *golden_own(golden_t *g, size_t bytes);
/* The array must be there. */
const gnn_array_t *golden_array(const golden_t *g, const char *name);
/* The array as a matrix: rows are the first dimension, columns all others. Valid until
 * golden_close. */
gnn_tensor_t golden_tensor(golden_t *g, const char *name);
gnn_real_t *golden_reals(golden_t *g, int64_t count);
int64_t *golden_integers(golden_t *g, const char *name, int64_t *count);
/* Compares with array `name`, relative to its largest element; a gradient that is small next to the
 * others of the file, relative to the rounding of these. */
void golden_same(const golden_t *g, const char *name, const gnn_tensor_t *ours, double tolerance);
/* Writes a model and a run of it into the folder GNN_GOLDEN_MODELS, if the environment names one:
 * NAME.safetensors and NAME.npz (graphs as pairs, inputs, y). python/tests/test_onnx.py exports and
 * runs them. */
void golden_keep_model(const golden_t *g, const gnn_model_t *model,
                       const gnn_model_inputs_t *inputs, const gnn_tensor_t *y);
/* The graph of `src` and `dst` over `n` nodes. */
gnn_graph_t *golden_graph(golden_t *g, int64_t n);

#endif
