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

/** Parameters whose name begins with `prefix` get these instead (the last match wins). "0." is step
 * 0 of a model. */
typedef struct gnn_parameter_group {
    const char *prefix;
    gnn_real_t lr_scale;     /**< 0: 1; GNN_ZERO freezes */
    gnn_real_t weight_decay; /**< 0: the optimiser's; GNN_ZERO: none */
} gnn_parameter_group_t;

/** Does not grow: gnn_train_config_t holds it. */
typedef struct gnn_optimizer_config {
    gnn_optimizer_kind_t kind;    /**< [Adam] */
    gnn_real_t lr;                /**< [0.01] */
    gnn_real_t momentum;          /**< SGD [0] */
    gnn_flag_t nesterov;          /**< SGD [off] */
    gnn_real_t beta1, beta2, eps; /**< Adam [0.9, 0.999, 1e-8]; RMSprop: beta2 [0.99] */
    /** [0] L2 added to the gradient (SGD, Adam), decoupled in AdamW: as PyTorch's */
    gnn_real_t weight_decay;
    gnn_real_t clip_norm; /**< [0: off] gradients are scaled so that their norm is at most this */
    const gnn_parameter_group_t *groups;
    int64_t n_groups;
} gnn_optimizer_config_t;

/** An optimiser with its moments. */
typedef struct gnn_optimizer gnn_optimizer_t;
/**
 * An optimiser over all numbers of a parameter block, with moments of the block's layout.
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
/** Frees an optimiser; NULL is fine. The parameters stay. */
GNN_API void gnn_optimizer_free(gnn_optimizer_t *optimizer);
/** One step from the gradients in the block, at lr times `lr_factor` (a schedule's value; 1: none).
 * One vectorised sweep. GNN_ENUMERIC names the first parameter whose gradient is not finite;
 * nothing has moved then. */
GNN_API int gnn_optimizer_step(gnn_optimizer_t *optimizer, double lr_factor);
/** Count of the steps that were taken. */
GNN_API int64_t gnn_optimizer_steps(const gnn_optimizer_t *optimizer);
/** Scales the gradients to at most `max_norm` and returns the norm they had through *norm (may be
 * NULL). As torch's clip_grad_norm_. */
GNN_API int gnn_clip_gradients(gnn_parameters_t *parameters, gnn_real_t max_norm, double *norm);

/** Schedules of the learning rate. */
typedef enum {
    GNN_SCHEDULE_CONSTANT = 0,
    GNN_SCHEDULE_STEP,
    GNN_SCHEDULE_COSINE,
    GNN_SCHEDULE_WARMUP,
    GNN_SCHEDULE_LINEAR
} gnn_schedule_kind_t;
/** Does not grow: gnn_train_config_t holds it. */
typedef struct gnn_schedule {
    gnn_schedule_kind_t kind;
    /** steps; linear to 1 first, for every kind. WARMUP: the paper's min(s^-.5, s warmup^-1.5),
     * times width^-.5 */
    int64_t warmup;
    /** STEP: multiply by `gamma` every `period` steps; COSINE and LINEAR: reach `gamma` after this
     * many */
    int64_t period;
    double gamma; /**< [STEP 0.1, others 0] */
    double width; /**< WARMUP: d_model */
} gnn_schedule_t;
/** Factor on the learning rate at step s = 1, 2, ... "Attention is all you need", eq. 3; Loshchilov
 * & Hutter 2017 (cosine). */
GNN_API double gnn_schedule_factor(const gnn_schedule_t *schedule, int64_t step);

/* ---- metrics; rows with mask 0 or label -1 do not count; NaN if none counts ---- */

/** Share of rows whose largest logit is that of their label; one column: the sign of the logit. */
GNN_API double gnn_metric_accuracy(const gnn_tensor_t *logits, const int32_t *labels,
                                   const uint8_t *mask);
/** Mean over classes of F1; classes that neither occur nor are predicted do not count. */
GNN_API double gnn_metric_macro_f1(const gnn_tensor_t *logits, const int32_t *labels,
                                   const uint8_t *mask);
/** Area under the ROC curve of two classes by the score of class 1 (logit difference), ties counted
 * half. */
GNN_API double gnn_metric_roc_auc(const gnn_tensor_t *logits, const int32_t *labels,
                                  const uint8_t *mask);

/** F1 of all decisions, a row and a column each: 2 tp / (2 tp + fp + fn), where a logit above 0 is
 * held against a target above 0.5. Rows may have several labels. NaN if there is no label, said or
 * true, or if shapes differ. */
GNN_API double gnn_metric_micro_f1(const gnn_tensor_t *logits, const gnn_tensor_t *targets,
                                   const uint8_t *mask);
/** Mean over columns of the area under the ROC curve; columns without rows of both kinds do not
 * count. NaN if none counts. */
GNN_API double gnn_metric_mean_auc(const gnn_tensor_t *logits, const gnn_tensor_t *targets,
                                   const uint8_t *mask);
/** Mean of |y - t| over rows that count and columns. NaN if none counts, or if shapes differ. */
GNN_API double gnn_metric_mae(const gnn_tensor_t *outputs, const gnn_tensor_t *targets,
                              const uint8_t *mask);
/** Root of the mean of (y - t)^2 over rows that count and columns. NaN if none counts, or if shapes
 * differ. */
GNN_API double gnn_metric_rmse(const gnn_tensor_t *outputs, const gnn_tensor_t *targets,
                               const uint8_t *mask);

/** Share of the targets' variance that the outputs account for (coefficient of determination): 1 -
 * sum (y - t)^2 / sum (t - mean)^2, the mean over columns whose targets differ. NaN if none counts,
 * or if shapes differ. */
GNN_API double gnn_metric_r2(const gnn_tensor_t *outputs, const gnn_tensor_t *targets,
                             const uint8_t *mask);

/** How one class was told from the others. */
typedef struct gnn_class_metrics {
    double precision, recall,
        /** 0 where nothing was predicted or nothing was there, as scikit-learn's; NaN where
         * neither */
        f1;
    int64_t support, predicted, hits; /**< rows of the class, rows taken for it, both at once */
} gnn_class_metrics_t;
/**
 * Precision, recall, F1 and support of every class, and who was taken for whom.
 *
 * @param[in] logits      (n x classes), or (n x 1) for two classes
 * @param[in] labels      (n), below `classes`; -1: does not count
 * @param[in] mask        (n), the rows that count; NULL: all
 * @param[out] per_class  (classes) or NULL. `classes` is the number of logits, 2 if there is one.
 * @param[out] confusion  (classes x classes) or NULL: rows of label `row` that were taken for
 *                        `column`; overwritten
 * @return GNN_OK; GNN_EINVALID without logits or labels, or if a label is not below `classes`;
 *         GNN_ESHAPE if `confusion` has another shape; GNN_EMEMORY.
 */
GNN_API int gnn_metric_per_class(const gnn_tensor_t *logits, const int32_t *labels,
                                 const uint8_t *mask, gnn_class_metrics_t *per_class,
                                 const gnn_tensor_t *confusion);

/* ---- the loop ---- */

/** The state of a training after an epoch, as the callback gets it. */
typedef struct gnn_progress {
    int64_t epoch, epochs;
    double train_loss, validation_loss, validation_metric;
    int improved;   /**< this epoch is the best so far */
    double seconds; /**< since the start, of all runs that were resumed */
    double lr;      /**< learning rate of the last step, schedule included */
} gnn_progress_t;

/** One batch of a source: what the model runs on and what its output is held against. */
typedef struct gnn_batch {
    gnn_model_inputs_t inputs;
    gnn_loss_t loss;
} gnn_batch_t;

/** Where batches come from. `get` fills `batch` for index 0 .. count-1 of a part (GNN_TRAIN,
 * GNN_VALIDATION); pointers stay valid until the next get. Graphs must be prepared for the model
 * (backward for training). */
typedef struct gnn_source {
    int (*get)(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch);
    int64_t count[3];
    void *user;
    /** of the data, any number that tells them from others: a checkpoint of another one is not
     * resumed. 0: not told apart */
    uint64_t identity;
} gnn_source_t;

/** Steps on samples of the graph instead of all of it: the way for graphs that a step on the whole
 * does not fit. */
typedef struct gnn_sampling {
    /** the method, its fan-outs (the seeds' hop first) and the seed of all draws. Blocks: as many
     * hops as the model has graph slots, its first layer on slot 0 */
    gnn_sampler_config_t sampler;
    int64_t batch; /**< nodes that a step learns from; "cluster": clusters of a step [1024] */
    /** OFF: a batch is drawn by all threads when it is asked for; ON: by a thread of its own, while
     * the step before it runs, in memory for one batch more [on where there are more processors
     * than the context has threads]. The same numbers either way */
    gnn_flag_t prefetch;
} gnn_sampling_t;

/** The first four are of labels, the others of targets (numbers); of MAE and RMSE less is
 * better. */
typedef enum {
    GNN_METRIC_ACCURACY = 0,
    GNN_METRIC_MACRO_F1,
    GNN_METRIC_ROC_AUC,
    GNN_METRIC_AVERAGE_PRECISION, /**< gnn/links.h */
    GNN_METRIC_MICRO_F1,
    GNN_METRIC_MEAN_AUC,
    GNN_METRIC_MAE,
    GNN_METRIC_RMSE,
    GNN_METRIC_R2
} gnn_metric_t;

/** What is watched for early stopping and the best weights. LOSS_OR_METRIC: patience starts anew
 * when either improves (the GAT paper's). */
typedef enum {
    GNN_WATCH_DEFAULT = 0,
    GNN_WATCH_LOSS,
    GNN_WATCH_METRIC,
    GNN_WATCH_LOSS_OR_METRIC,
    GNN_WATCH_NONE
} gnn_watch_t;

/** Settings of a training. Zero means the default in brackets. */
typedef struct gnn_train_config {
    int64_t epochs; /**< [200] */
    gnn_optimizer_config_t optimizer;
    gnn_schedule_t schedule;
    gnn_real_t lr, weight_decay; /**< short for optimizer.lr and optimizer.weight_decay */
    /** epochs without improvement of what is watched before stopping [0: never]. Of epochs that are
     * equal in it the one with the lowest loss is kept, and is no improvement */
    int64_t patience;
    gnn_watch_t watch;   /**< [metric]; the best weights are restored at the end unless NONE */
    gnn_metric_t metric; /**< [accuracy] */
    gnn_real_t label_smoothing;
    const gnn_real_t *class_weight;
    gnn_loss_kind_t loss;
    int64_t split; /**< which split of the set [0] */
    /** Called after each epoch; non-zero stops (the loop returns GNN_OK and the best weights). */
    int (*callback)(void *user, const gnn_progress_t *progress);
    void *user;
    /** Becomes non-zero to stop after the running step, e.g. from a signal handler of the program:
     * GNN_ESTOPPED. NULL: none. */
    volatile int *stop;
    /** a file that always holds the last complete state of the training (gnn_checkpoint_save);
     * NULL: none. Written every `checkpoint_every` epochs, when training ends, and after the step
     * that `stop` ended */
    const char *checkpoint;
    int64_t checkpoint_every; /**< [10] */
    /** GNN_ON: goes on where `checkpoint` stands, with the same bits as if it had never stopped;
     * starts anew if there is no such file. `epochs`, `patience` and what observes may differ from
     * the run before, other settings may not */
    gnn_flag_t resume;
    /** batches whose gradients make one step, each counting alike [1]; the last ones of an epoch
     * may be fewer. `stop` and checkpoints wait for the step */
    int64_t accumulate;
    /** gnn_train learns from samples, drawn anew each epoch from shuffled training nodes;
     * validation hears samples too, the same in each epoch. NULL: from the whole graph at once */
    const gnn_sampling_t *sampling;
    /** gnn_train holds the output against this array of reals on nodes, not against classes:
     * numbers with GNN_LOSS_MEAN_SQUARED, or 1 in the column of each of a node's labels with
     * GNN_LOSS_BINARY_CROSS_ENTROPY. NULL: classes */
    const char *targets;
    /** splits of the nodes in place of the set's own, of which `split` is one; with `targets` they
     * may take nodes without a class. NULL: the set's */
    const gnn_split_t *splits;
    /** gnn_train on the whole graph: the chance in [0, 1) that a step does without an edge, both of
     * its directions [0]. Degrees are those of what is left. Rong et al. 2020 (DropEdge) */
    gnn_real_t drop_edge;
    /** the same for a node, whose edges fall with it [0] */
    gnn_real_t drop_node;
    /** gnn_train learns which pairs of nodes are links, as batches of gnn/links.h have them: all at
     * once, or with `sampling` on a sample around each batch of pairs. Of gnn_data_graph(data);
     * borrowed. `loss` and masks are theirs; `metric` is ROC AUC or average precision. NULL: nodes
     * are classified */
    struct gnn_links *links;
    /** gnn_train learns from typed samples of this description (gnn/hetero_sample.h), of which
     * `data` was made by gnn_data_hetero_for. NULL: it does not */
    const struct gnn_typed_sampling *typed;
} gnn_train_config_t;

/** The outcome of a training: of an early end too, and all 0 where it did not begin. */
typedef struct gnn_train_result {
    int64_t epochs, best_epoch;
    double train_loss, validation_loss, validation_metric, seconds;
} gnn_train_result_t;

GNN_API int gnn_train_sized(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                            const gnn_train_config_t *config, size_t size,
                            gnn_train_result_t *result, size_t result_size);
/** Trains a model to classify nodes: on the whole graph, which every graph slot of the model gets
 * and which is prepared, or with `config->sampling` on samples of it. A loss that is not finite
 * stops with GNN_ENUMERIC naming the first tensor that went bad. */
static inline int gnn_train(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                            const gnn_train_config_t *config, gnn_train_result_t *result)
{
    return gnn_train_sized(model, context, data, config, sizeof *config, result, sizeof *result);
}
GNN_API int gnn_train_batches_sized(gnn_model_t *model, gnn_context_t *context,
                                    const gnn_source_t *source, const gnn_train_config_t *config,
                                    size_t size, gnn_train_result_t *result, size_t result_size);
/** Trains a model by gnn_train's loop on batches of a source. */
static inline int gnn_train_batches(gnn_model_t *model, gnn_context_t *context,
                                    const gnn_source_t *source, const gnn_train_config_t *config,
                                    gnn_train_result_t *result)
{
    return gnn_train_batches_sized(model, context, source, config, sizeof *config, result,
                                   sizeof *result);
}

/** Batches of samples of a data set, as gnn_train makes them of `config->sampling`: for loops of
 * one's own, and gnn_train_batches. */
typedef struct gnn_batches gnn_batches_t;
GNN_API int gnn_batches_new_sized(gnn_batches_t **batches, const gnn_model_t *model,
                                  gnn_context_t *context, const gnn_data_t *data,
                                  const gnn_train_config_t *config, size_t size);
/**
 * A source of batches: each is drawn, its graphs are prepared for the model, and the rows of
 * features, arrays and labels that it reads are gathered. An edge array comes for each graph slot.
 * A method that scales sums ("walk", "layerwise") multiplies the edge array "weight" by it, and
 * gives it where the set has none.
 *
 * @param[in] model, context, data  borrowed until gnn_batches_free; the features may be mapped from
 *                                  a file, and stay there
 * @param[in] config                its `sampling` is needed; of the rest split, loss, class_weight,
 *                                  label_smoothing and epochs are read
 * @return GNN_OK; GNN_EINVALID (a setting; no training nodes; blocks and slots that differ in
 *         number); as gnn_sampler_new; GNN_EMEMORY
 *
 * Threads: gnn_source_t's get belongs to the thread that has the context. A child of fork() makes
 * batches of its own, since the thread that fills the next batch stays behind. Memory: two batches.
 */
static inline int gnn_batches_new(gnn_batches_t **batches, const gnn_model_t *model,
                                  gnn_context_t *context, const gnn_data_t *data,
                                  const gnn_train_config_t *config)
{
    return gnn_batches_new_sized(batches, model, context, data, config, sizeof *config);
}
/** Frees batches; NULL is fine. */
GNN_API void gnn_batches_free(gnn_batches_t *batches);
/** The source of batches, for gnn_train_batches; belongs to `batches`. */
GNN_API const gnn_source_t *gnn_batches_source(const gnn_batches_t *batches);

/**
 * A model's output for all nodes of a set, on its graph, features and arrays.
 *
 * @param[out] out  (nodes x the model's width), caller's, overwritten
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EUNPREPARED (gnn_model_prepare of the set's graph;
 *         gnn_train has done so); GNN_ESHAPE; GNN_EMEMORY
 */
GNN_API int gnn_predict(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                        const gnn_tensor_t *out);

/** gnn_predict step by step with chunks of rows, by gnn_model_infer_layers: for graphs that one
 * pass over the whole does not fit. Needs no preparation. */
GNN_API int gnn_predict_layers(const gnn_model_t *model, gnn_context_t *context,
                               const gnn_data_t *data, int64_t rows_at_once, const gnn_tensor_t *out);

/* ---- checkpoints ---- */

/** Where a training stands, beside weights, buffers and the optimiser's moments. The loop keeps it
 * by itself; this is for loops of one's own. */
typedef struct gnn_checkpoint {
    int64_t epoch;              /**< the running one, from 1 */
    int64_t batch;              /**< how many of its batches are done */
    double loss_sum, loss_rows; /**< of these */
    /** steps so far: the place in the schedule, and with `seed` the whole random state (dropout is
     * keyed by both) */
    int64_t step;
    uint64_t seed;
    double seconds;
    int any_best;  /**< `best` is an epoch's */
    int64_t stale; /**< epochs since the last improvement */
    double best_loss, best_metric, tie_loss;
    gnn_train_result_t kept; /**< of the best epoch */
    /** (n_best) the best weights: block, then buffers; NULL: none are kept. Caller's, filled by
     * load */
    gnn_real_t *best;
    int64_t n_best;
    const char *settings; /**< words that must be the same when loading (NULL: not asked) */
} gnn_checkpoint_t;

/**
 * Writes model, optimiser and state as one safetensors file with a checksum: beside `path`, synced
 * and renamed, so that `path` always holds one complete checkpoint, whenever the process or the
 * machine stops. docs/formats.md has the names.
 *
 * @return GNN_OK; GNN_EINVALID if something is missing; GNN_ENUMERIC if a weight is not finite;
 *         GNN_EIO; GNN_EMEMORY.
 */
GNN_API int gnn_checkpoint_save(const char *path, const gnn_model_t *model,
                                const gnn_optimizer_t *optimizer, const gnn_checkpoint_t *state);
/**
 * Reads one back into a model and an optimiser made as those that were saved. Nothing changes
 * unless everything fits.
 *
 * @return GNN_OK; GNN_EIO if the file cannot be read; GNN_EFORMAT if it is no checkpoint, cut short
 *         or its checksum is wrong; GNN_ESHAPE if it is of another model; GNN_EINVALID if it is of
 *         another optimiser, or other settings; GNN_EUNSUPPORTED if written with another
 *         gnn_real_t; GNN_ENUMERIC if a weight is not finite; GNN_EMEMORY. The message says which,
 *         and what was expected.
 */
GNN_API int gnn_checkpoint_load(const char *path, gnn_model_t *model, gnn_optimizer_t *optimizer,
                                gnn_checkpoint_t *state);

/** Metric of a model on one part (GNN_TRAIN, ...) of a split; NaN if the part has no nodes.
 * GNN_EUNPREPARED: a model that was loaded, not trained on this set, needs gnn_model_prepare of
 * gnn_data_graph(data) first; else as gnn_predict. */
GNN_API int gnn_evaluate(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                         int64_t split, int part, gnn_metric_t metric, double *value);
/**
 * A metric of targets: the model's output against an array of reals on nodes.
 *
 * @param[in] targets  its name; as many columns as the model puts out
 * @param[in] splits   of the nodes; NULL: the set's own
 * @param[in] split    which of them
 * @param[in] part     GNN_TRAIN, GNN_VALIDATION, GNN_TEST; -1: all nodes
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
