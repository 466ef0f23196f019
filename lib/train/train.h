/* Internals of training, shared by the loop, optimisers, metrics and the best weights. */
#ifndef GNN_TRAIN_TRAIN_H
#define GNN_TRAIN_TRAIN_H

#include <gnn/train.h>
#include <lib/base/ranks.h>
#include <lib/train/training_set.h>
#include <math.h>

/* Id of the first parameter with a non-finite value (gradients 0) or gradient (1), with position
 * and value; -1: all are finite. */
int32_t gnn__first_not_finite(const gnn_parameters_t *parameters, int gradients, int64_t *row,
                              int64_t *col, double *value);

/* ---- metrics over rows pooled from several batches; memory only grows ---- */

typedef struct gnn__pool {
    gnn_real_t *logits;
    int32_t *labels;
    gnn_real_t *targets; /* as many columns as logits; of pools with real targets */
    double *sort;        /* scores of roc-auc */
    int64_t rows, cols;  /* now */
    int64_t hits;        /* for accuracy, which does not store logits (a vocabulary has many) */
    gnn_metric_t metric;
    int64_t room, sort_room, targets_room;
} gnn__pool_t;

void gnn__pool_free(gnn__pool_t *pool);
/* Forgets the rows, keeps the memory. */
void gnn__pool_reset(gnn__pool_t *pool, gnn_metric_t metric);
/* Appends the unmasked rows with their labels, or with their targets if labels is NULL. */
int gnn__pool_add(gnn__pool_t *pool, const gnn_tensor_t *logits, const int32_t *labels,
                  const gnn_tensor_t *targets, const uint8_t *mask);
int gnn__pool_metric(gnn__pool_t *pool, double *value);
/* The rows of all ranks, in order, in the pools of all. */
int gnn__pool_gather(gnn__pool_t *pool, gnn__ranks_t *ranks);
/* Is it measured against targets, not labels? */
/* Entries of gnn_metric and gnn_metric_of_targets whose implementation has a file of its own. */
double gnn__metric_average_precision(const gnn_tensor_t *logits, const int32_t *labels,
                                     const uint8_t *mask);

static inline bool gnn__takes_targets(gnn_metric_t metric)
{
    return metric >= GNN_METRIC_MICRO_F1 && metric <= GNN_METRIC_R2;
}
/* Is smaller better? */
static inline bool gnn__metric_is_error(gnn_metric_t metric)
{
    return metric == GNN_METRIC_MAE || metric == GNN_METRIC_RMSE;
}
/* Count of the elements below x among n ascending ones; ties count half. */
double gnn__rank_of(const double *sorted, int64_t n, double x);
/* Sorts in place, ascending. */
void gnn__sort_numbers(double *x, int64_t n);
/* Area under the ROC curve; `sort` is scratch of `rows` elements. NaN without both classes, or if a
 * score is NaN. */
double gnn__roc_auc(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask,
                    double *sort);
/* Average precision; `sort` as above. */
double gnn__average_precision(const gnn_tensor_t *logits, const int32_t *labels,
                              const uint8_t *mask, double *sort);
/* The mean over columns of the area under the curve; `sort` as above. */
double gnn__mean_auc(const gnn_tensor_t *logits, const gnn_tensor_t *targets, const uint8_t *mask,
                     double *sort);
/* Is row r included? */
static inline bool gnn__counts(const int32_t *labels, const uint8_t *mask, int64_t r)
{
    return (!mask || mask[r]) && (!labels || labels[r] >= 0);
}

/* The score of class 1 of two: the only column, or the second minus the first. */
static inline double gnn__score_of(const gnn_tensor_t *logits, int64_t r)
{
    const gnn_real_t *row = gnn__row(logits, r);
    return logits->cols == 1 ? (double)row[0] : (double)row[1] - (double)row[0];
}

/* The largest logit's column; one column is the logit of class 1. -1 for a row of NaN. */
int64_t gnn__predicted(const gnn_tensor_t *logits, int64_t r);

/* ---- the best weights so far, running statistics included ---- */

typedef struct gnn__best {
    gnn_parameters_t *parameters;
    gnn_real_t *kept; /* the parameter block, then the buffers */
    gnn_tensor_t *buffers;
    int64_t n_buffers;
    double loss, metric; /* the best of each */
    double tie_loss;     /* loss of the kept weights, to break ties of the metric */
    int64_t stale;       /* epochs since the last improvement */
    bool any;
} gnn__best_t;

int gnn__best_open(gnn__best_t *best, const gnn_model_t *model);
void gnn__best_close(gnn__best_t *best);
void gnn__best_keep(gnn__best_t *best);
void gnn__best_restore(const gnn__best_t *best);
/* Records an epoch; true if its weights are now the best. `watch` must not be DEFAULT. */
bool gnn__best_update(gnn__best_t *best, gnn_watch_t watch, double loss, double metric);

/* Copies block and buffers, or the buffers only, in the layout of `kept`. */
int64_t gnn__best_count(const gnn__best_t *best);

/* ---- checkpoints ---- */

/* The moments of this kind of optimiser (NULL: absent), each as long as the block. */
void gnn__optimizer_moments(gnn_optimizer_t *optimizer, gnn_real_t **first, gnn_real_t **second);
const gnn_parameters_t *gnn__optimizer_parameters(const gnn_optimizer_t *optimizer);
void gnn__optimizer_set_steps(gnn_optimizer_t *optimizer, int64_t steps);
/* All settings as text, groups included; for gnn_free. */
int gnn__optimizer_describe(char **text, const gnn_optimizer_t *optimizer);
double gnn__optimizer_lr(const gnn_optimizer_t *optimizer);

/* ---- step_sums.c: batches divided among ranks ---- */

/* The sums of one step: losses, rows, and, in training, gradients and running statistics. Every
 * batch begins with the statistics from before the step, which become the mean over batches. */
typedef struct gnn__step_sums {
    gnn__ranks_t *ranks;
    gnn_parameters_t *parameters;
    gnn_tensor_t *buffers;
    int64_t n_buffers, in_buffers, length;
    int64_t gradients; /* summed by this step: 0 or length */
    gnn_real_t *kept;  /* the statistics from before the step */
    gnn__slice_sums_t sums;
} gnn__step_sums_t;

int gnn__step_sums_open(gnn__step_sums_t *sums, gnn__ranks_t *ranks, const gnn_model_t *model);
void gnn__step_sums_close(gnn__step_sums_t *sums);
/* Begins a step; with `gradients` one of training, else one of validation. */
void gnn__step_sums_begin(gnn__step_sums_t *sums, bool gradients);
/* Begins a batch of this rank: sets gradients to 0 and running statistics to those from before the
 * step. */
void gnn__step_sums_before(gnn__step_sums_t *sums);
/* Ends the batch: adds its loss, rows, gradients and statistics to the sums. Calls come in
 * ascending order of `index`, the batch's index in the step. */
int gnn__step_sums_add(gnn__step_sums_t *sums, int64_t index, double loss, double rows);
/* Ends a step of `batches` batches: gradients and running statistics become those of all ranks;
 * *loss += sum of loss x rows, *rows += sum of rows. A collective call. */
int gnn__step_sums_end(gnn__step_sums_t *sums, int64_t batches, double *loss, double *rows);

/* The rank that computes batch `index` of an epoch: each rank has consecutive batches of a step of
 * `accumulate` batches, or of all `count` validation batches. */
static inline int gnn__rank_of_batch(const gnn__ranks_t *ranks, int64_t accumulate, int64_t count,
                                     int part, int64_t index)
{
    const int64_t all = part == GNN_TRAIN ? gnn__max(accumulate, 1) : count,
                  at = part == GNN_TRAIN ? index % all : index;
    return (int)(at * ranks->transport->ranks / all);
}

/* ---- the loop ---- */

/* gnn_train_batches with a result. The program of a batch of a fixed source is reused: equal
 * pointers would not prove that a batch is the same, since a new graph may have the address of a
 * freed one. */
int gnn__train_loop(gnn_model_t *model, gnn_context_t *context, const gnn_source_t *source,
                    const gnn_train_config_t *config, gnn_train_result_t *result);

/* ---- sources of batches ---- */

/* A kind of source that the library makes. */
typedef struct gnn__source_kind {
    const char *made_by;                      /* its makers, for messages */
    void (*free)(struct gnn_source_state *s); /* frees all of a source, also one half made */
} gnn__source_kind_t;

/* The first member of what a maker allocates. */
typedef struct gnn_source_state {
    const gnn__source_kind_t *kind;
    bool of_data;        /* it has read the settings of gnn_train for batches */
    bool divided;        /* over ranks: each rank computes some of the batches */
    gnn_source_t source; /* what the maker returns */
} gnn__source_state_t;

/* The source of a state, whose `get` gets the state. */
static inline gnn__source_state_t gnn__source_state(const gnn__source_kind_t *kind,
                                                    gnn__source_state_t *state,
                                                    int (*get)(void *, int, int64_t, int64_t,
                                                               gnn_batch_t *))
{
    return (gnn__source_state_t){.kind = kind, .source = {.get = get, .user = state, .state = state}};
}
/* Returns rc; the source is in *source if it is GNN_OK, else it is freed. */
static inline int gnn__source_finish(gnn_source_t **source, gnn__source_state_t *state, int rc)
{
    if (rc == GNN_OK)
        *source = &state->source;
    else
        state->kind->free(state);
    return rc;
}

/* GNN_EINVALID unless a source is of this kind. */
static inline int gnn__source_is(const gnn_source_t *source, const gnn__source_kind_t *kind)
{
    GNN__NEED(source);
    const gnn__source_kind_t *own = source->state ? source->state->kind : NULL;
    if (own != kind)
        return gnn__error(GNN_EINVALID, "the source is %s, expected one of %s",
                          own ? own->made_by : "a program's own", kind->made_by);
    return GNN_OK;
}

/* Checks the arguments of gnn_train and makes the source of its batches. */
int gnn__batches_of_data(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                         gnn_data_t *data, const gnn_train_config_t *config);
/* Its sources of nodes: the whole graph as one batch, config->sampling and config->typed. They take
 * the opened set over. */
int gnn__batches_of_nodes(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                          gnn__training_set_t *set, const gnn_train_config_t *config);
int gnn__batches_of_samples(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                            gnn__training_set_t *set, const gnn_train_config_t *config);
int gnn__batches_of_types(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                          gnn__training_set_t *set, const gnn_train_config_t *config);

/* The identity of a set for resumed training: sizes, labels, masks, class weights and sampling
 * settings. Not the features, which may have been scaled on another machine. A collective call for
 * a set of one rank's rows, which has the identity of the whole set in the order of its folder. */
int gnn__identify_data(uint64_t *identity, const gnn__training_set_t *set,
                       const gnn_train_config_t *config);

/* GNN_EINVALID unless all ranks hold the same set; the same seed and weights. Collective calls. */
int gnn__ranks_same_data(gnn__ranks_t *ranks, const gnn__training_set_t *set);
int gnn__ranks_same_weights(gnn__ranks_t *ranks, const gnn_context_t *context,
                            const gnn_model_t *model);

/* ---- the loop's programs ---- */

/* A tape with the program of one batch. */
typedef struct gnn__run {
    gnn_tape_t *tape;
    int training;
    bool built;
    gnn_var_t logits, loss;
    const gnn_train_config_t *config; /* whose terms the loss has; NULL: none */
    gnn_var_t *outputs;               /* (steps) with terms; NULL: none */
} gnn__run_t;

/* Records model and loss (skipped if already recorded and `fixed`), then runs forward. `loss` may
 * be NULL. */
int gnn__run_forward(gnn__run_t *run, const gnn_model_t *model, const gnn_model_inputs_t *inputs,
                     const gnn_loss_t *loss, uint32_t step, bool fixed);

/* ---- loss_terms.c ---- */

/* GNN_EINVALID, GNN_ENOTFOUND: a term's weight, or its step. */
int gnn__loss_terms_check(const gnn_model_t *model, const gnn_context_t *context,
                          const gnn_train_config_t *config);
/* Of steps and weights, for checkpoints. */
uint64_t gnn__loss_terms_hash(const gnn_train_config_t *config);
/* The loss with its terms; `outputs` (steps) are the values of the model's steps. */
gnn_var_t gnn__loss_terms_record(const gnn_model_t *model, gnn_tape_t *tape, gnn_var_t loss,
                                 const gnn_var_t *outputs, const gnn_train_config_t *config);

/* ---- blame.c ---- */

/* A pass with a non-finite loss. */
typedef struct gnn__blame {
    const gnn_model_t *model;
    gnn_context_t *context;
    const char *part; /* "training" */
    bool training;
    int64_t epoch, step;
    double loss;
} gnn__blame_t;
/* Returns GNN_ENUMERIC with a message that names the first non-finite tensor: a parameter, an
 * input, the output of a model step, or the loss. */
int gnn__blame(const gnn__blame_t *b, const gnn_model_inputs_t *inputs);

#endif
