/* A golden case that is a model of steps: its inputs and graphs, and which array is which field. */
#ifndef GNN_TESTS_ZOO_CASE_H
#define GNN_TESTS_ZOO_CASE_H

#include "golden.h"

/* Layout of a field in its array: equal, transposed (a PyTorch linear), or (heads x rows x
 * width). */
typedef enum { SAME, TURNED, BY_HEAD } layout_t;

typedef struct {
    const char *field, *array; /* the array without "w." */
    layout_t layout;
    int part; /* of a packed array: index of the field in it */
} place_t;

enum { GRAPHS = 64, VALUES = 160, STEPS = 1200 };

typedef struct {
    golden_t g;
    gnn_steps_t *steps;
    gnn_model_t *model;
    gnn_tape_t *tape;
    gnn_graph_t *graphs[GRAPHS];
    int n_graphs;
    gnn_named_t values[VALUES];
    gnn_tensor_t tensors[VALUES];
    gnn_var_t vars[VALUES], outputs[STEPS];
    int n_values;
    struct gallery *gallery; /* of an entry of tests/zoo */
} zoo_t;

/* False, and skipped, where the file zoo/NAME is absent. */
bool zoo_open(zoo_t *z, const char *name);
/* The same for NAME next to the folder zoo. */
bool zoo_open_base(zoo_t *z, const char *name);
void zoo_close(zoo_t *z);
/* The array of this name is an input of the model that wants a gradient. */
void zoo_input(zoo_t *z, const char *name);
int64_t zoo_number(zoo_t *z, const char *name);
double zoo_real(zoo_t *z, const char *name);
/* Columns of an array: its last dimension. */
int64_t zoo_cols(zoo_t *z, const char *name);
/* An array with one element `number` per segment of `lengths`. */
int64_t *zoo_each(zoo_t *z, const char *lengths, int64_t number);
/* The next slot: a bipartite graph of these lengths, or of those in two arrays. */
void zoo_between(zoo_t *z, int64_t segments, const int64_t *dst, const int64_t *src);
/* The next slot: the graph of `src` and `dst` over the rows of x; from its edges to their
 * receivers; from nodes to the receiver with their id in `batch`. */
void zoo_graph(zoo_t *z);
void zoo_edges_to_nodes(zoo_t *z);
void zoo_readout(zoo_t *z);
void zoo_lengths(zoo_t *z, const char *dst, const char *src);
/* A block, called "w" unless the settings have a name. */
void zoo_block(zoo_t *z, const char *name, gnn_block_t settings);
/* Width as the file has it. */
gnn_block_t zoo_wide(zoo_t *z);
/* Width and output columns as the file has them. */
gnn_block_t zoo_sized(zoo_t *z);
void zoo_add(zoo_t *z, gnn_step_t step);
/* Makes the model, fills its fields and puts it on the tape. `places` names every field. */
void zoo_record(zoo_t *z, const place_t *places, int count);
void zoo_same_gradients(zoo_t *z, const place_t *places, int count);
/* The same of weights that `places` does not list: all of the file are imported, and their
 * gradients compared, by the names of another library. */
void zoo_run_imported(zoo_t *z, gnn_names_t names, const char *prefix);
/* The value of a step against an array. */
void zoo_same_value(zoo_t *z, const char *step, const char *array);
/* Records, runs both ways, compares y and all gradients, closes. */
void zoo_run(zoo_t *z, const place_t *places, int count);

#endif
