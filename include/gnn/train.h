/** Training: optimisers over the flat parameter block, schedules, metrics, and one loop with early
 * stopping, a callback and a stop flag. */
#ifndef GNN_TRAIN_H
#define GNN_TRAIN_H

#include <gnn/data.h>
#include <gnn/sample.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Optimisers. */
typedef enum {
    GNN_OPTIMIZER_DEFAULT = 0,
    GNN_SGD,
    GNN_ADAM,
    GNN_ADAMW,
    GNN_RMSPROP /**< PyTorch's, without momentum: beta2 is its alpha */
} gnn_optimizer_kind_t;

/** Settings for parameters whose name begins with `prefix` (the last match wins). "0." is step 0 of
 * a model. */
typedef struct gnn_parameter_group {
    const char *prefix;
    gnn_real_t lr_scale;     /**< 0: 1; GNN_ZERO freezes */
    gnn_real_t weight_decay; /**< 0: the optimiser's; GNN_ZERO: none */
} gnn_parameter_group_t;

/** Settings of an optimiser. Zero means the default in brackets. Fixed layout: fields are never
 * added, since gnn_train_config_t contains it. */
typedef struct gnn_optimizer_config {
    gnn_optimizer_kind_t kind;    /**< [Adam] */
    gnn_real_t lr;                /**< [0.01] */
    gnn_real_t momentum;          /**< SGD [0] */
    gnn_flag_t nesterov;          /**< SGD [off] */
    gnn_real_t beta1, beta2, eps; /**< Adam [0.9, 0.999, 1e-8]; RMSprop: beta2 [0.99] */
    /** [0] L2 penalty (SGD, Adam), decoupled in AdamW: as in PyTorch */
    gnn_real_t weight_decay;
    gnn_real_t clip_norm; /**< [0: off] maximum norm, to which gradients are scaled */
    const gnn_parameter_group_t *groups;
    int64_t n_groups;
} gnn_optimizer_config_t;

/** An optimiser with its state (moments). */
typedef struct gnn_optimizer gnn_optimizer_t;
/**
 * Makes an optimiser of all parameters of a block.
 *
 * @param[out] optimizer   the caller's, for gnn_optimizer_free
 * @param[in]  context     its threads run the steps; must outlive the optimiser
 * @param[in]  parameters  allocated; must outlive the optimiser
 * @param[in]  config      NULL: all defaults; groups are copied
 * @return GNN_OK; GNN_EINVALID if a setting is out of its range; GNN_EMEMORY.
 *
 * Papers: Kingma and Ba 2015 (Adam), Loshchilov and Hutter 2019 (AdamW), Tieleman and Hinton 2012
 * (RMSprop).
 */
GNN_API int gnn_optimizer_new(gnn_optimizer_t **optimizer, gnn_context_t *context,
                              gnn_parameters_t *parameters, const gnn_optimizer_config_t *config);
/** Frees an optimiser; may be NULL. The parameters stay. */
GNN_API void gnn_optimizer_free(gnn_optimizer_t *optimizer);
/**
 * One step with the gradients of the block and the learning rate lr * `lr_factor`
 * (gnn_schedule_factor, or 1), in one pass over the parameters. GNN_ENUMERIC names the first
 * parameter whose gradient is not finite; nothing is changed then.
 *
 * @param[in] lr_factor  finite, at least 0
 */
GNN_API int gnn_optimizer_step(gnn_optimizer_t *optimizer, double lr_factor);
/** Count of the steps taken. */
GNN_API int64_t gnn_optimizer_steps(const gnn_optimizer_t *optimizer);
/**
 * Scales the gradients to a norm of at most `max_norm` and stores their original norm in *norm (may
 * be NULL). As torch's clip_grad_norm_.
 *
 * @param[in]  max_norm  above 0
 * @param[out] norm      the norm before; may be NULL
 * @return GNN_OK; GNN_EINVALID (a NULL, max_norm); GNN_ENUMERIC: a gradient is not finite, with its
 *         position; nothing is changed then
 */
GNN_API int gnn_clip_gradients(gnn_parameters_t *parameters, gnn_real_t max_norm, double *norm);

/** Schedules of the learning rate. */
typedef enum {
    GNN_SCHEDULE_CONSTANT = 0,
    GNN_SCHEDULE_STEP,
    GNN_SCHEDULE_COSINE,
    GNN_SCHEDULE_WARMUP,
    GNN_SCHEDULE_LINEAR
} gnn_schedule_kind_t;
/** Settings of a schedule. Fixed layout: fields are never added, since gnn_train_config_t contains
 * it. */
typedef struct gnn_schedule {
    gnn_schedule_kind_t kind;
    /** steps of linear warm-up, for every kind. WARMUP: the paper's min(s^-.5, s warmup^-1.5)
     * width^-.5 */
    int64_t warmup;
    /** in steps; STEP: multiply by `gamma` per period; COSINE and LINEAR: reach `gamma` after it */
    int64_t period;
    double gamma; /**< [STEP 0.1, others 0] */
    double width; /**< WARMUP: d_model */
} gnn_schedule_t;
/**
 * The factor of the learning rate at step s = 1, 2, ... Papers: Vaswani et al. 2017, eq. 3
 * (WARMUP); Loshchilov and Hutter 2017 (cosine).
 *
 * @param[in] schedule  NULL: 1 at every step
 * @param[in] step      from 1
 */
GNN_API double gnn_schedule_factor(const gnn_schedule_t *schedule, int64_t step);

/* ---- metrics; rows with mask 0 or label -1 are excluded; NaN without rows ---- */

/** Metrics. The first four are for class labels, the others for real or multi-label targets;
 * smaller is better for MAE and RMSE. */
typedef enum {
    /** fraction of rows whose largest logit is that of their label; one column: by the sign of the
     * logit */
    GNN_METRIC_ACCURACY = 0,
    /** the mean of F1 over classes; classes that neither occur nor are predicted are excluded */
    GNN_METRIC_MACRO_F1,
    /** area under the ROC curve of two classes by the score of class 1 (logit difference); ties
     * count half */
    GNN_METRIC_ROC_AUC,
    /** of two classes, by the score of class 1: sum over thresholds of (R_t - R_t-1) P_t, where
     * equal scores share one threshold (scikit-learn's average_precision_score); NaN without a row
     * of class 1 */
    GNN_METRIC_AVERAGE_PRECISION,
    /** over rows and columns of multi-label targets: 2 tp / (2 tp + fp + fn), where a positive
     * logit predicts a target above 0.5; NaN without predicted and true labels */
    GNN_METRIC_MICRO_F1,
    /** mean over columns of the area under the ROC curve; columns with one class only are excluded,
     * NaN if all are */
    GNN_METRIC_MEAN_AUC,
    GNN_METRIC_MAE,  /**< mean absolute error over rows and columns */
    GNN_METRIC_RMSE, /**< root mean squared error over rows and columns */
    /** coefficient of determination: 1 - sum (y - t)^2 / sum (t - mean)^2, averaged over columns
     * whose targets are not constant; NaN if there are none */
    GNN_METRIC_R2
} gnn_metric_t;
/**
 * A metric of class labels.
 *
 * @param[in] logits  (n x classes), or (n x 1) for two classes
 * @param[in] labels  (n); -1: excluded
 * @param[in] mask    (n), non-zero for included rows; NULL: all
 * @return NaN without rows, without memory, or for a metric of targets: gnn_error_message()
 *         names the reason. O(n classes), of areas O(n log n)
 */
GNN_API double gnn_metric(gnn_metric_t metric, const gnn_tensor_t *logits, const int32_t *labels,
                          const uint8_t *mask);
/**
 * A metric of real or multi-label targets.
 *
 * @param[in] outputs, targets  (n x c)
 * @param[in] mask              (n), non-zero for included rows; NULL: all
 * @return NaN without rows, if shapes differ, or for a metric of labels
 */
GNN_API double gnn_metric_of_targets(gnn_metric_t metric, const gnn_tensor_t *outputs,
                                     const gnn_tensor_t *targets, const uint8_t *mask);

/** Metrics of one class. */
typedef struct gnn_class_metrics {
    double precision, recall,
        /** 0 if the class was never predicted or never occurs, as in scikit-learn; NaN if
         * neither */
        f1;
    /** rows of the class, rows predicted as it, true positives */
    int64_t support, predicted, hits;
} gnn_class_metrics_t;
/**
 * Precision, recall, F1 and support of every class, and the confusion matrix.
 *
 * @param[in] logits      (n x classes), or (n x 1) for two classes
 * @param[in] labels      (n), below `classes`; -1: excluded
 * @param[in] mask        (n), non-zero for included rows; NULL: all
 * @param[out] per_class  (classes) or NULL. `classes` is the count of logit columns, 2 if there is
 *                        one.
 * @param[out] confusion  (classes x classes) or NULL: counts by label (row) and prediction
 *                        (column); overwritten
 * @return GNN_OK; GNN_EINVALID: a NULL, or a label is not below `classes`; GNN_ESHAPE if
 *         `confusion` has another shape; GNN_EMEMORY.
 */
GNN_API int gnn_metric_per_class(const gnn_tensor_t *logits, const int32_t *labels,
                                 const uint8_t *mask, gnn_class_metrics_t *per_class,
                                 const gnn_tensor_t *confusion);

/* ---- the loop ---- */

/** The state of a training run after an epoch, for the callback. */
typedef struct gnn_progress {
    int64_t epoch, epochs;
    double train_loss, validation_loss, validation_metric;
    int improved;   /**< this epoch is the best so far */
    double seconds; /**< since the start, including resumed runs */
    double lr;      /**< learning rate of the last step, with the schedule */
} gnn_progress_t;

/** One batch of a source: inputs of the model, and targets of the loss. */
typedef struct gnn_batch {
    gnn_model_inputs_t inputs;
    gnn_loss_t loss;
} gnn_batch_t;

/**
 * A source of batches, which gnn_train_batches trains on. Functions named gnn_source_of_* make one,
 * for gnn_source_free; a program with batches of its own fills one in:
 *
 *     const gnn_source_t mine = {.get = get, .count = {8, 2}, .user = &rows};
 *     gnn_train_batches(model, context, &mine, &config, NULL);
 *
 * A copy with another `get`, which calls that of the original, wraps a source; the original stays
 * the one to be freed.
 */
typedef struct gnn_source {
    /** fills `batch` for index 0 .. count[part] - 1 of GNN_TRAIN, GNN_VALIDATION or GNN_TEST.
     * Pointers stay valid until the next call. Graphs must be prepared for the model, with
     * `backward` for training. `epoch` counts from 1 */
    int (*get)(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch);
    int64_t count[3]; /**< batches per epoch of each part; 0: none */
    void *user;       /**< first argument of `get` */
    /** a hash of the data: a checkpoint of another identity is not resumed. 0: not checked */
    uint64_t identity;
    /** ON: all requests of a part return the same batch, so that it is recorded once [off] */
    gnn_flag_t fixed;
    /** of the library's sources; NULL in a source of the program's */
    struct gnn_source_state *state;
} gnn_source_t;

/** Frees a source of gnn_source_of_*; may be NULL. Sources that a program filled in are left
 * alone. */
GNN_API void gnn_source_free(gnn_source_t *source);

/** Mini-batch training on samples, for graphs that are too large for full-batch steps. */
typedef struct gnn_sampling {
    /** the method, its fan-outs (the seeds' hop first) and the seed of all draws. Block methods
     * need as many hops as the model has graph slots, with its first layer on slot 0 */
    gnn_sampler_config_t sampler;
    int64_t batch; /**< seeds per step; "cluster": clusters per step [1024] */
    /** OFF: a batch is drawn by all threads when it is requested; ON: by an extra thread during the
     * previous step, with memory for a second batch [on if there are more processors than threads
     * of the context]. Batches are the same */
    gnn_flag_t prefetch;
} gnn_sampling_t;

/** The criterion of early stopping and of the best weights. LOSS_OR_METRIC: patience is reset when
 * either improves (as in the GAT paper). */
typedef enum {
    GNN_WATCH_DEFAULT = 0,
    GNN_WATCH_LOSS,
    GNN_WATCH_METRIC,
    GNN_WATCH_LOSS_OR_METRIC,
    GNN_WATCH_NONE
} gnn_watch_t;

/** Most terms of a loss. */
#define GNN_LOSS_TERMS 16
/** A term of a loss besides that of the targets: weight * the mean of a step's value over all its
 * elements. A step computes it: the balance of experts, the cost of pondering, the disagreement of
 * heads, the distance to a teacher's output, reward times log-probability of what op `draw` drew
 * (with a negative weight: the score-function gradient). */
typedef struct gnn_loss_term {
    const char *step;
    gnn_real_t weight;
} gnn_loss_term_t;

/** Settings of a training run. Zero means the default in brackets. */
typedef struct gnn_train_config {
    int64_t epochs; /**< [200] */
    gnn_optimizer_config_t optimizer;
    gnn_schedule_t schedule;
    /** epochs without improvement of the watched value before stopping [0: unlimited]. Ties keep
     * the weights with the lower loss, without counting as improvement */
    int64_t patience;
    gnn_watch_t watch;   /**< [metric]; the best weights are restored at the end unless NONE */
    gnn_metric_t metric; /**< [accuracy] */
    gnn_real_t label_smoothing;
    const gnn_real_t *class_weight;
    gnn_loss_kind_t loss;
    int64_t split; /**< index of the split [0] */
    /** called after each epoch; non-zero stops the training, which returns GNN_OK with the best
     * weights */
    int (*callback)(void *user, const gnn_progress_t *progress);
    void *user;
    /** set to non-zero, for example by a signal handler, to stop after the running step with
     * GNN_ESTOPPED. NULL: none */
    volatile int *stop;
    /** path of a checkpoint (gnn_checkpoint_save), written every `checkpoint_every` epochs, at the
     * end of the run, and after the step at which `stop` ended it; NULL: none */
    const char *checkpoint;
    int64_t checkpoint_every; /**< [10] */
    /** GNN_ON: resumes from `checkpoint`, with the same bits as an uninterrupted run; starts from
     * scratch if there is no such file. `epochs`, `patience`, callbacks and paths may differ from
     * the earlier run, other settings may not */
    gnn_flag_t resume;
    /** gradient accumulation: batches per step, with equal weight [1]; the last step of an epoch
     * may have fewer. `stop` and checkpoints take effect after the step */
    int64_t accumulate;
    /** gnn_train: mini-batches of samples, with training nodes shuffled in each epoch; validation
     * uses samples too, the same in each epoch. NULL: full batch */
    const gnn_sampling_t *sampling;
    /** gnn_train: name of an array of reals on nodes, the targets in place of classes: real values
     * with GNN_LOSS_MEAN_SQUARED, 0 or 1 per label with GNN_LOSS_BINARY_CROSS_ENTROPY. NULL:
     * classes */
    const char *targets;
    /** splits of the nodes in place of the set's; `split` is an index into them. With `targets`
     * they may contain unlabelled nodes. NULL: the set's */
    const gnn_split_t *splits;
    /** gnn_train, full batch: probability in [0, 1) that a step drops an edge, in both directions
     * [0]. Degrees are those of the remaining graph. Rong et al. 2020 (DropEdge) */
    gnn_real_t drop_edge;
    /** probability that a step drops a node with its edges [0] */
    gnn_real_t drop_node;
    /** gnn_train: link prediction on these links of gnn_data_graph(data), with batches as in
     * gnn/links.h: all at once, or with `sampling` on a sample around each batch of pairs.
     * Borrowed. Loss and masks are those of the links; `metric` is ROC AUC or average precision.
     * NULL: node classification */
    struct gnn_links *links;
    /** gnn_train: mini-batches of heterogeneous samples (gnn/hetero_sample.h); `data` was made by
     * gnn_data_hetero_for of the same description. NULL: none */
    const struct gnn_typed_sampling *typed;
    /** (n_terms) terms that the training loss has in addition; the validation loss is without them.
     * Borrowed. NULL: none */
    const gnn_loss_term_t *terms;
    int64_t n_terms;
} gnn_train_config_t;

/** The result of a training run, also of one that was stopped; all 0 if it did not start. */
typedef struct gnn_train_result {
    int64_t epochs, best_epoch;
    double train_loss, validation_loss, validation_metric, seconds;
} gnn_train_result_t;

/**
 * Trains a model on a data set, by default as a node classifier on the whole graph, which is
 * prepared and used for every graph slot of the model; with `config->sampling` on samples of it.
 *
 * @param[in]  data    its graph keeps the prepared views
 * @param[in]  config  NULL: all defaults
 * @param[out] result  also of a training run that stopped early; may be NULL
 * @return GNN_OK; GNN_EINVALID (a NULL, a setting, no such split, no training nodes);
 *         GNN_EUNSUPPORTED: settings that exclude each other; GNN_ESHAPE; GNN_ENUMERIC: the loss is
 *         not finite, with the first tensor that is not; GNN_ESTOPPED: by config->stop; GNN_EIO: a
 *         checkpoint cannot be read or written; GNN_EFORMAT: it is damaged; GNN_EMEMORY
 */
GNN_API int gnn_train(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                      const gnn_train_config_t *config, gnn_train_result_t *result);
/**
 * Trains a model with the loop of gnn_train on batches of a source. Fields of `config` that
 * describe batches of a data set (`sampling` and those after it, `loss`, `split`, `class_weight`,
 * `label_smoothing`) are refused, except with a source of gnn_source_of_data, which has read them.
 *
 * @param[in]  config  NULL: all defaults
 * @param[out] result  also of a training run that stopped early; may be NULL
 * @return GNN_OK; GNN_EINVALID (a NULL, a field that describes batches of a data set); else as
 *         gnn_train
 */
GNN_API int gnn_train_batches(gnn_model_t *model, gnn_context_t *context, const gnn_source_t *source,
                              const gnn_train_config_t *config, gnn_train_result_t *result);

/**
 * Makes the source of batches that gnn_train trains on: the whole graph, or with `sampling`,
 * `links` or `typed` batches of samples and links. gnn_train is this function, gnn_train_batches
 * and gnn_source_free.
 *
 * A sampled batch is drawn, its graphs are prepared for the model, and its rows of features, arrays
 * and labels are gathered; edge arrays are gathered per graph slot. Methods that scale sums
 * ("walk", "layerwise") multiply the edge array "weight" by the scale, or supply it if the set has
 * none.
 *
 * @param[out] source       the caller's, for gnn_source_free; NULL after an error
 * @param[in]  model, data  borrowed until then; the features may be mapped from a file. Without
 *                          samples the set's graph is prepared for the model
 * @param[in]  context      borrowed; must not run over ranks
 * @param[in]  config       copied; what it points to is borrowed. NULL: the whole graph
 * @return GNN_OK; GNN_EINVALID (a setting; no training nodes; different counts of blocks and
 *         slots); GNN_EUNSUPPORTED (settings that exclude each other; ranks); as gnn_sampler_new;
 *         GNN_EMEMORY
 *
 * Threads: `get` must be called by the thread of the context. A child of fork() must make its own
 * source, since the prefetch thread is not copied. Memory: two batches with samples, else one.
 */
GNN_API int gnn_source_of_data(gnn_source_t **source, const gnn_model_t *model,
                               gnn_context_t *context, gnn_data_t *data,
                               const gnn_train_config_t *config);

/**
 * A model's output for all nodes of a set.
 *
 * @param[out] out  (nodes x the model's width), caller's, overwritten
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EUNPREPARED (gnn_model_prepare of the set's graph;
 *         gnn_train has done so); GNN_ESHAPE; GNN_EMEMORY
 */
GNN_API int gnn_predict(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                        const gnn_tensor_t *out);

/**
 * gnn_predict layer by layer, for models that were trained on samples of a graph too large for one
 * pass: each step runs over all its rows, a chunk at a time, before the next one begins. A chunk's
 * receivers aggregate all their senders, so the result is that of gnn_predict up to rounding;
 * memory holds the values that later steps read, and one chunk. Needs no prepared views.
 *
 * @param[in] rows_at_once  rows of a chunk [0: 16,384]
 * @return GNN_OK; GNN_EINVALID (a NULL, rows_at_once); GNN_ENOTFOUND, GNN_ESHAPE;
 *         GNN_EUNSUPPORTED names a step that cannot run by chunks of rows (a readout, stacked rows,
 *         values on edges), or a graph that cannot be sampled; GNN_EMEMORY
 *
 * Cost: that of the steps, and for each layer the gathering of each chunk's senders. Paper:
 * Hamilton et al. 2017.
 */
GNN_API int gnn_predict_layers(const gnn_model_t *model, gnn_context_t *context,
                               const gnn_data_t *data, int64_t rows_at_once, const gnn_tensor_t *out);

/* ---- checkpoints ---- */

/** The state of a training run, in addition to weights, buffers and the optimiser's moments. For
 * loops of your own; gnn_train handles it itself. */
typedef struct gnn_checkpoint {
    int64_t epoch;              /**< current epoch, from 1 */
    int64_t batch;              /**< batches of it that are done */
    double loss_sum, loss_rows; /**< sums over these batches */
    /** steps so far: the position in the schedule, and with `seed` the complete random state (the
     * keys of dropout) */
    int64_t step;
    uint64_t seed;
    double seconds;
    int any_best;  /**< 1: `best` is set */
    int64_t stale; /**< epochs since the last improvement */
    double best_loss, best_metric, tie_loss;
    gnn_train_result_t kept; /**< of the best epoch */
    /** (n_best) the best weights: parameter block, then buffers; may be NULL. Caller's, filled by
     * load */
    gnn_real_t *best;
    int64_t n_best;
    const char *settings; /**< a string that must be equal when loading; NULL: not checked */
} gnn_checkpoint_t;

/**
 * Writes model, optimiser and state as one safetensors file with a checksum: to a temporary file,
 * synced and renamed, so that `path` always holds a complete checkpoint, even if the process or
 * machine stops. docs/formats.md lists the names.
 *
 * @return GNN_OK; GNN_EINVALID: a NULL; GNN_ENUMERIC if a weight is not finite; GNN_EIO;
 *         GNN_EMEMORY.
 */
GNN_API int gnn_checkpoint_save(const char *path, const gnn_model_t *model,
                                const gnn_optimizer_t *optimizer, const gnn_checkpoint_t *state);
/**
 * Loads a checkpoint into a model and an optimiser with the same settings as the saved ones.
 * Nothing is changed on an error.
 *
 * @return GNN_OK; GNN_EIO if the file cannot be read; GNN_EFORMAT if it is not a checkpoint,
 *         truncated, or its checksum is wrong; GNN_ESHAPE if it is of another model; GNN_EINVALID
 *         if it is of another optimiser, or other settings; GNN_EUNSUPPORTED if written with
 *         another gnn_real_t; GNN_ENUMERIC if a weight is not finite; GNN_EMEMORY. The message
 *         gives what was expected and found.
 */
GNN_API int gnn_checkpoint_load(const char *path, gnn_model_t *model, gnn_optimizer_t *optimizer,
                                gnn_checkpoint_t *state);

/**
 * A metric of a model on part GNN_TRAIN, GNN_VALIDATION or GNN_TEST of a split; NaN if the part has
 * no nodes. GNN_EUNPREPARED: a model that was not trained on this set needs gnn_model_prepare with
 * gnn_data_graph(data) first; GNN_ESHAPE: the set has more classes than the output has columns, one
 * column being two classes; else as gnn_predict.
 *
 * @param[in]  split  index of the split
 * @param[in]  part   GNN_TRAIN, GNN_VALIDATION or GNN_TEST
 * @param[out] value  the metric; NaN if the part has no nodes
 */
GNN_API int gnn_evaluate(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                         int64_t split, int part, gnn_metric_t metric, double *value);
/**
 * A metric of the model's output against an array of reals on nodes.
 *
 * @param[in]  targets  name of the array; with as many columns as the model's output
 * @param[in]  splits   of the nodes; NULL: the set's own
 * @param[in]  split    index into the splits
 * @param[in]  part     GNN_TRAIN, GNN_VALIDATION, GNN_TEST; -1: all nodes
 * @param[out] value    the metric; NaN if the part has no nodes
 * @return GNN_OK; GNN_EINVALID (no such array, part or split, a metric of labels); GNN_ESHAPE; else
 *         as gnn_predict
 */
GNN_API int gnn_evaluate_targets(const gnn_model_t *model, gnn_context_t *context,
                                 const gnn_data_t *data, const char *targets,
                                 const gnn_split_t *splits, int64_t split, int part,
                                 gnn_metric_t metric, double *value);

#ifdef __cplusplus
}
#endif
#endif
