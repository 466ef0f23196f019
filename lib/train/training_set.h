/* A data set as training, evaluation and prediction read it. */
#ifndef GNN_TRAIN_TRAINING_SET_H
#define GNN_TRAIN_TRAINING_SET_H

#include <gnn/train.h>
#include <lib/base/ranks.h>

/* A named input of a model from a set. */
typedef struct gnn__data_input {
    gnn_named_t whole; /* all rows, borrowed */
    gnn_data_place_t place;
} gnn__data_input_t;

/* The inputs of a model and the truth of a loss or a metric. Arrays are borrowed, but for the two
 * lists. */
typedef struct gnn__training_set {
    const gnn_data_t *data;
    gnn__ranks_t *ranks; /* the set has one rank's rows: its counts are summed; NULL: all rows */
    const char *name;
    int64_t nodes, classes;
    gnn_graph_t *graph;        /* of all nodes */
    gnn_graph_t **graphs;      /* (n_slots) by slot of the model: `graph`, or those of the set */
    int n_slots;               /* of the model */
    bool several;              /* `graphs` are the set's graphs of slots */
    gnn__data_input_t *inputs; /* (n_inputs) "x", then the arrays of reals */
    int64_t n_inputs;
    /* after gnn__training_set_truth */
    gnn_data_place_t on;
    int64_t rows, split;         /* rows: count of what is learnt: nodes, edges or graphs */
    const int32_t *labels;       /* (rows) -1: none; NULL: targets, or nothing is known */
    const gnn_tensor_t *targets; /* (rows x columns) the array of targets; NULL: labels */
    const uint8_t *masks[3];     /* (rows) by part */
    /* after gnn__training_set_learn */
    gnn_loss_t loss; /* kind and class weights */
    gnn_real_t label_smoothing;
} gnn__training_set_t;

/* The rows to learn or to measure. */
typedef struct gnn__learnt {
    gnn_data_place_t on;       /* nodes, edges or graphs */
    const char *targets;       /* an array of reals; NULL: the set's labels */
    const int32_t *labels;     /* of edges, of which sets have none */
    const gnn_split_t *splits; /* NULL: the set's */
    int64_t split;
    gnn_metric_t metric;
    gnn_loss_kind_t loss;
    const gnn_real_t *class_weight;
    gnn_real_t label_smoothing;
} gnn__learnt_t;

/* Opens what models read; the caller closes the set, on failure too. A set of one rank's rows is
 * for the ranks of the context with which it was opened; context NULL: all rows are needed. */
int gnn__training_set_open(gnn__training_set_t *set, const gnn_model_t *model,
                           const gnn_data_t *data, const gnn_context_t *context);
void gnn__training_set_close(gnn__training_set_t *set);
/* Leaves an empty set, whose closing does nothing. */
gnn__training_set_t gnn__training_set_move(gnn__training_set_t *set);
/* GNN_EINVALID unless there is a graph for each slot of the model. */
int gnn__training_set_slots(const gnn__training_set_t *set);
/* The input of a name, on nodes, edges or graphs in this order; NULL: there is none. */
const gnn__data_input_t *gnn__training_set_input(const gnn__training_set_t *set, const char *name);

/* Finds labels or targets, and the masks of the split. GNN_EINVALID: no such array or split, or
 * classes of nodes that the metric cannot tell apart. */
int gnn__training_set_truth(gnn__training_set_t *set, const gnn__learnt_t *learnt);
/* The same for a training run. GNN_EINVALID: nothing to learn from, a class weight that is
 * negative or not finite; GNN_EUNSUPPORTED: targets that the loss does not read. A collective
 * call for a set of one rank's rows, as is gnn__training_set_any. */
int gnn__training_set_learn(gnn__training_set_t *set, const gnn__learnt_t *learnt);

/* Does a row count in a part? */
static inline bool gnn__training_set_counts(const gnn__training_set_t *set, int part, int64_t row)
{
    return set->masks[part][row] && (!set->labels || set->labels[row] >= 0);
}
/* *any: is a row in the part, of those of all ranks? */
int gnn__training_set_any(const gnn__training_set_t *set, int part, bool *any);
/* Lists the rows that count in a part; returns their count. */
int64_t gnn__training_set_rows(const gnn__training_set_t *set, int part, int32_t *rows);
/* GNN_ESHAPE unless a model's output with `columns` columns can be compared with the truth: targets
 * have as many columns, and no class is beyond them; the model may know further ones. */
int gnn__training_set_measures(const gnn__training_set_t *set, int64_t columns);
/* The loss of batches of a part, to which the batch adds its rows. */
gnn_loss_t gnn__training_set_loss(const gnn__training_set_t *set, int part);
/* Does the loss read targets: the array, or labels one-hot? Their count of columns; one row. */
bool gnn__training_set_has_targets(const gnn__training_set_t *set);
int64_t gnn__training_set_columns(const gnn__training_set_t *set);
void gnn__training_set_target(const gnn__training_set_t *set, int64_t row, gnn_real_t *to);

#endif
