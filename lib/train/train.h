/* Inside of training: what the loop, its optimiser, its metrics and its memory of the best weights
 * share. */
#ifndef GNN_TRAIN_TRAIN_H
#define GNN_TRAIN_TRAIN_H

#include <gnn/train.h>
#include <lib/base/base.h>
#include <math.h>

/* Number of the first parameter whose values (gradients 0) or gradients (1) are not all finite,
 * with the place and what stands there; -1: all are. */
int32_t gnn__first_not_finite(const gnn_parameters_t *parameters, int gradients, int64_t *row,
                              int64_t *col, double *value);

/* ---- metrics over rows that were put together from several batches; memory only grows ---- */

typedef struct gnn__pool {
    gnn_real_t *logits;
    int32_t *labels;
    gnn_real_t *targets; /* as many columns as logits; of pools that are held against numbers */
    double *sort;        /* scores of roc-auc */
    int64_t rows, cols;  /* now */
    int64_t hits;        /* of accuracy, which needs no logits: a vocabulary's are many */
    gnn_metric_t metric;
    int64_t room, sort_room, targets_room;
} gnn__pool_t;

void gnn__pool_free(gnn__pool_t *pool);
/* Forgets the rows, keeps the memory. */
void gnn__pool_reset(gnn__pool_t *pool, gnn_metric_t metric);
/* Appends the rows that count, with their labels, or with their targets where labels is NULL. */
int gnn__pool_add(gnn__pool_t *pool, const gnn_tensor_t *logits, const int32_t *labels,
                  const gnn_tensor_t *targets, const uint8_t *mask);
int gnn__pool_metric(gnn__pool_t *pool, double *value);
/* Is it measured against targets, not labels? */
static inline bool gnn__metric_of_targets(gnn_metric_t metric)
{
    return metric >= GNN_METRIC_MICRO_F1 && metric <= GNN_METRIC_R2;
}
/* Is less better? */
static inline bool gnn__metric_is_error(gnn_metric_t metric)
{
    return metric == GNN_METRIC_MAE || metric == GNN_METRIC_RMSE;
}
/* How many of `n` ascending numbers are below x, ties counted half. */
double gnn__rank_of(const double *sorted, int64_t n, double x);
/* Ascending, in place. */
void gnn__sort_numbers(double *x, int64_t n);
/* Area under the curve; `sort` has room for `rows` numbers. NaN without both classes, or if a score
 * is NaN. */
double gnn__roc_auc(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask,
                    double *sort);
/* Average precision; `sort` as above. */
double gnn__average_precision(const gnn_tensor_t *logits, const int32_t *labels,
                              const uint8_t *mask, double *sort);
/* The mean over columns of the area under the curve; `sort` as above. */
double gnn__mean_auc(const gnn_tensor_t *logits, const gnn_tensor_t *targets, const uint8_t *mask,
                     double *sort);
/* Does row r count? */
static inline bool gnn__counts(const int32_t *labels, const uint8_t *mask, int64_t r)
{
    return (!mask || mask[r]) && (!labels || labels[r] >= 0);
}

/* The score of class 1 of two: the only column, or the second less the first. */
static inline double gnn__score_of(const gnn_tensor_t *logits, int64_t r)
{
    const gnn_real_t *row = gnn__row(logits, r);
    return logits->cols == 1 ? (double)row[0] : (double)row[1] - (double)row[0];
}

/* The largest logit's column; one column is the logit of class 1. -1 where a row holds nothing but
 * NaN. */
int64_t gnn__predicted(const gnn_tensor_t *logits, int64_t r);

/* ---- the best weights so far, running statistics included ---- */

typedef struct gnn__best {
    gnn_parameters_t *parameters;
    gnn_real_t *kept; /* the block, then the buffers one after another */
    gnn_tensor_t *buffers;
    int64_t n_buffers;
    double loss, metric; /* the best of each */
    double tie_loss;     /* loss of the kept weights, decides between equal metrics */
    int64_t stale;       /* epochs since one of what is watched improved */
    bool any;
} gnn__best_t;

int gnn__best_open(gnn__best_t *best, const gnn_model_t *model);
void gnn__best_close(gnn__best_t *best);
void gnn__best_keep(gnn__best_t *best);
void gnn__best_restore(const gnn__best_t *best);
/* Takes an epoch in; true if its weights are now the best. `watch` is not DEFAULT. */
bool gnn__best_update(gnn__best_t *best, gnn_watch_t watch, double loss, double metric);

/* Block and buffers, or only the buffers, as they lie in `kept`. */
int64_t gnn__best_count(const gnn__best_t *best);

/* ---- checkpoints ---- */

/* The moments that this kind of optimiser has (NULL: not this one), each of the block's length. */
void gnn__optimizer_moments(gnn_optimizer_t *optimizer, gnn_real_t **first, gnn_real_t **second);
const gnn_parameters_t *gnn__optimizer_parameters(const gnn_optimizer_t *optimizer);
void gnn__optimizer_set_steps(gnn_optimizer_t *optimizer, int64_t steps);
/* Every setting in words, groups included; released with gnn_free. */
int gnn__optimizer_describe(char **text, const gnn_optimizer_t *optimizer);
double gnn__optimizer_lr(const gnn_optimizer_t *optimizer);
/* Removes what writers of `path` left behind that were killed. */
void gnn__checkpoint_sweep(const char *path);

/* ---- the loop ---- */

/* As gnn_train_batches, with a result; `fixed` says that the source gives the same batch again each
 * time it is asked for a part, so that its program on the tape stands. A pointer that comes again
 * is no proof of that: a graph freed and built anew may get the old address. */
int gnn__train_loop(gnn_model_t *model, gnn_context_t *context, const gnn_source_t *source,
                    const gnn_train_config_t *config, gnn_train_result_t *result, bool fixed);

/* What is done with the batches of a training; `fixed` as above. */
typedef int gnn__source_use_t(void *user, const gnn_source_t *source, bool fixed);
/* Checks what gnn_train is given, makes its batches of the whole graph or of samples, and hands
 * them to `use`, whose error it returns. */
int gnn__train_source(const gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                      const gnn_train_config_t *config, gnn__source_use_t *use, void *user);
/* The same of config->typed. typed_batches.c */
int gnn__train_typed(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                     const gnn_train_config_t *config, gnn__source_use_t *use, void *user);
/* Does the model run on the set's graphs for slots, not on its one graph? */
bool gnn__runs_on_slots(const gnn_model_t *model, const gnn_data_t *data);

/* Is any of n marks set? NULL: none. */
bool gnn__any_marked(const uint8_t *mask, int64_t n);
/* (nodes) those of a part in the split that a training goes by, the caller's or the set's. */
const uint8_t *gnn__train_mask(const gnn_data_t *data, const gnn_train_config_t *config, int part);
/* What a resumed training must find again of a set: sizes, labels, masks, class weights, and of its
 * samples how they are drawn. Not the features, which may have been scaled by another machine. */
uint64_t gnn__identify_data(const gnn_data_t *data, const gnn_train_config_t *config);

/* ---- data_inputs.c ---- */

/* What a set gives to a model under a name. */
typedef struct gnn__data_input {
    gnn_named_t whole; /* all rows, borrowed */
    gnn_data_place_t place;
} gnn__data_input_t;
/* "x", then the set's arrays of reals in its order; `*list` is released with gnn_free. */
int gnn__data_inputs(gnn__data_input_t **list, int64_t *count, const gnn_data_t *data);

/* One tape that holds the program of one batch. */
typedef struct gnn__run {
    gnn_tape_t *tape;
    int training;
    bool built;
    gnn_var_t logits, loss;
} gnn__run_t;

/* Puts model and loss on the tape unless they stand there and `fixed`, and runs forward. `loss`
 * NULL: no loss is wanted. */
int gnn__run_forward(gnn__run_t *run, const gnn_model_t *model, const gnn_model_inputs_t *inputs,
                     const gnn_loss_t *loss, uint32_t step, bool fixed);

/* ---- blame.c ---- */

/* A pass whose loss is not finite. */
typedef struct gnn__blame {
    const gnn_model_t *model;
    gnn_context_t *context;
    const char *part; /* "training" */
    bool training;
    int64_t epoch, step;
    double loss;
} gnn__blame_t;
/* GNN_ENUMERIC that names the first tensor that went bad: a parameter, an input, what a step of the
 * model puts out, or the loss. */
int gnn__blame(const gnn__blame_t *b, const gnn_model_inputs_t *inputs);

#endif
