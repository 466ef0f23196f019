/* Golden files in C: one file open with what was made from it, and the comparison that decides. */
#ifndef GNN_TESTS_GOLDEN_H
#define GNN_TESTS_GOLDEN_H

#include "support.h"

/* Tolerances (README of the golden files): in a double build only the rounding of the stored file
 * remains. */
#define GOLDEN_OUT (GNN_DOUBLE ? 1e-6 : 1e-5)
#define GOLDEN_GRAD (GNN_DOUBLE ? 1e-6 : 1e-4)

/* An array that differs by more than its tolerance, and by at most GOLDEN_DOUBT times it. */
enum { GOLDEN_DOUBT = 10, GOLDEN_DOUBTS = 32 };

typedef struct {
    char name[96];
    gnn_real_t *ours;
    double worst, limit;
    double moved; /* largest difference between runs on inputs that differ in the last bit */
} golden_doubt_t;

/* Arrays in doubt, over several runs of a case. */
typedef struct {
    golden_doubt_t arrays[GOLDEN_DOUBTS];
    int count;
    bool again; /* a further run, on inputs that differ in the last bit */
} golden_doubts_t;

typedef struct golden {
    char name[64];
    gnn_context_t *context;
    gnn_arrays_t *arrays;
    /* Over all arrays that begin with "d"; of a constant loss: |y| |gy| over the largest input. */
    double largest_gradient;
    golden_doubts_t *doubts; /* NULL: what differs by more than its tolerance fails at once */
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
 * others of the file, relative to the rounding of these. With doubts, an array that differs by up
 * to GOLDEN_DOUBT tolerances is kept for golden_settle, and a further run adds what it moves. */
void golden_same(const golden_t *g, const char *name, const gnn_tensor_t *ours, double tolerance);
/* Fails unless every array in doubt is ill-conditioned: inputs that differ in the last bit move it
 * by a quarter of its difference or more. Frees the arrays. */
void golden_settle(golden_doubts_t *doubts, const char *name);
/* Writes a model and a run of it into the folder GNN_GOLDEN_MODELS, if the environment names one:
 * NAME.safetensors and NAME.npz (graphs as pairs, inputs, y). python/tests/test_onnx.py exports and
 * runs them. */
void golden_keep_model(const golden_t *g, const gnn_model_t *model,
                       const gnn_model_inputs_t *inputs, const gnn_tensor_t *y);
/* The graph of `src` and `dst` over `n` nodes. */
gnn_graph_t *golden_graph(golden_t *g, int64_t n);

#endif
