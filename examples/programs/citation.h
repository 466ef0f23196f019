/* Shared by the files of citation: citation.c (options), citation_models.c and citation_deep.c
 * (the networks), citation_recipes.c (their settings), citation_trial.c (those that validation
 * chooses), citation_train.c (training over seeds and splits), citation_watch.c (progress and
 * log), citation_report.c (words, JSON, CSV), citation_pictures.c, and citation_diffuse.c (another
 * graph in place of the set's). */
#ifndef CITATION_H
#define CITATION_H

#include "options.h"
#include "scale.h"

#include <gnn/gnn.h>
#include <stdio.h>

/* ---- properties of a set (citation_facts.c) ---- */

typedef struct {
    features_t features;
    int64_t columns;                    /* of the features */
    int64_t nodes, labelled, validated; /* labelled: training nodes of the split */
    double degree;                      /* messages per node */
    double homophily; /* adjusted, of edges between nodes with known classes; NaN: none */
    int64_t known;    /* count of these edges */
} facts_t;

/* Measures a split, without the classes of test nodes. */
int facts_of(facts_t *facts, const gnn_data_t *data, int64_t split);

/* ---- the networks ---- */

typedef struct recipe recipe_t;

/* Builds the network of a recipe for a data set. */
typedef int build_t(gnn_model_t **model, gnn_context_t *context, const recipe_t *recipe,
                    const gnn_data_t *data);

/* A network and its training settings; 0: not applicable. */
struct recipe {
    const char *name;
    int (*fits)(const facts_t *facts); /* the condition of the settings; NULL: any set */
    build_t *build;
    int64_t hidden, heads;      /* hidden width, per head if there are several */
    int64_t last_heads, layers; /* averaged heads of the last layer; layers, or hops */
    double alpha, theta;        /* weight of the initial features; GCNII's lambda */
    double dropout, lr, weight_decay;
    const char *group; /* prefix of the parameters with `group_decay` instead */
    double group_decay;
    int64_t epochs, patience;
    gnn_watch_t watch;
    int hops_itself; /* propagates by its own rule: not used with a diffused graph */
    /* set per data set: the graph has weights and self-loops already; width of the output;
     * regression, with a last step that restores the scale */
    int diffused;
    int64_t outputs;
    int rescaled;
};

build_t build_layers, build_transformer, build_mlp, build_sgc, build_appnp, build_gcn2,
    build_residual, build_blocks;
/* The name of the set's weights on edges; NULL: it has none. */
const char *weight_of(const gnn_data_t *data);
/* Turns self-loops and norm off on a diffused graph, whose weights include them. */
void leave_diffused(gnn_layer_config_t *layer, const recipe_t *r);

/* Makes a model of `count` steps, followed by those that the recipe adds. */
int recipe_build(gnn_model_t **model, gnn_context_t *context, const recipe_t *recipe, int64_t count,
                 const gnn_step_t *steps);
/* Sets the last step of a regression model: column c times spread[c], plus mean[c]. NULL:
 * unchanged. */
int recipe_rescale(gnn_model_t *model, const double *mean, const double *spread);

const recipe_t *recipe_find(const char *name);
/* Names of the networks; NULL after the last one. */
const char *recipe_name(size_t index);

/* ---- training ---- */

/* A recipe (network and training settings), and how features are scaled. */
typedef struct {
    recipe_t recipe;
    scale_t scale;
} choice_t;

/* Settings from the command line that replace the recipe's. 0 keeps the recipe's value; where 0
 * is a valid setting, a negative value does. */
typedef struct {
    int64_t hidden, heads, layers, epochs, patience;
    double dropout, lr, weight_decay;
} own_settings_t;

/* The diffused graph that replaces the set's; 0: the default. */
typedef enum { DIFFUSION_NONE, DIFFUSION_PPR, DIFFUSION_HEAT } diffusion_kind_t;
typedef struct {
    int kind; /* diffusion_kind_t */
    double alpha, time, threshold;
    int64_t top, average;
} diffusion_t;

typedef struct {
    const char *layer;
    const recipe_t *recipe; /* of that name */
    own_settings_t own;
    diffusion_t diffusion;
    const char *data, *save, *load, *predict, *scatter, *curve, *confusion, *log, *checkpoint;
    /* splits 0: `split` alone; else the count of splits, -1: all */
    int64_t seeds, seed, split, splits; /* seed: of the first training */
    int64_t drawn;                      /* count of random splits in place of the file's; 0: none */
    int64_t each[2];       /* nodes of each class for training and validation in a drawn split */
    int settings, scale;   /* settings_t, scale_t */
    int form, watch;       /* form_t, watch_t */
    int task, measure;     /* task_t; choice of --metric, 0: by the kind of labels */
    gnn_label_kind_t kind; /* kind of labels, once the set is known, */
    gnn_metric_t metric;   /* and its metric */
    int directed;
    facts_t facts;   /* of the set, */
    choice_t chosen; /* and the settings chosen by them, */
    const char *why; /* their description */
    int papers;      /* the settings are those of a paper */
    int64_t trial;   /* epochs of the short run of each candidate; 0: no trial */
    /* candidates compared with `chosen`, if there are any */
    int has_form, has_scale;
    choice_t other_form;
    scale_t other_scale;
    int64_t threads;
    int json, report, resume, overwrite;
    FILE *say; /* stream of text: stdout, or stderr if JSON goes to stdout */
} options_t;

/* --task: the kind of the labels. */
typedef enum { TASK_AUTO, TASK_CLASSES, TASK_SEVERAL, TASK_REAL } task_t;

/* Sets kind and metric; PROGRAM_REFUSED after an error message about labels or metric. */
int task_choose(options_t *options, gnn_data_t *data);
/* Adds the array "targets.standard": "targets" standardised over the training nodes of a split;
 * mean and spread have one element per column. */
int task_standardise(gnn_data_t *data, int64_t split, double *mean, double *spread);
/* The metric on the nodes of a part, for every kind of labels. */
int task_measure(const options_t *options, const gnn_model_t *model, gnn_context_t *context,
                 const gnn_data_t *data, int64_t split, int part, gnn_metric_t metric, double *value);
/* Columns of the output. */
int64_t task_outputs(const options_t *options, const gnn_data_t *data);
/* The second metric that is reported; the chosen one if there is none. */
gnn_metric_t task_second(const options_t *options);

extern const char *const metric_names[GNN_METRIC_R2 + 1];
/* A metric's value as text; fractions in percent. */
const char *metric_text(gnn_metric_t metric, double value, char room[24]);

/* Source of the settings: the network's paper on sets like its own and general ones elsewhere, or
 * always one of the two. */
typedef enum { FORM_AUTO, FORM_PLAIN, FORM_RESIDUAL } form_t;
typedef enum { WATCH_AUTO, WATCH_LOSS, WATCH_METRIC } watch_t;
typedef enum { SETTINGS_AUTO, SETTINGS_PAPER, SETTINGS_GENERAL } settings_t;

/* Chooses the recipe for a set and its alternatives and applies the caller's settings: fills
 * `facts` to `other_scale` of the options. */
int recipe_choose(options_t *options, const gnn_data_t *data);
/* Prints the chosen recipe and the reason. */
void recipe_print(const options_t *options);

/* ---- another graph (citation_diffuse.c) ---- */

/* Appends its options. */
int diffusion_rows(option_t *to, diffusion_t *d);
/* Returns 0 after an error message for a network that does not read the graph, or propagates by its
 * own rule. */
int diffusion_fits(const diffusion_t *d, const recipe_t *recipe);
/* The options that make the graph, for a model's note. */
enum { GRAPH_WORDS = 160 };
const char *graph_words(char words[GRAPH_WORDS], const options_t *options);
/* Replaces the set by one with the diffused graph, if requested. */
int diffuse(gnn_data_t **data, gnn_context_t *context, const options_t *options);

/* ---- what validation chooses (citation_trial.c) ---- */

/* The set of the options, by the scale of its features; each is made on first use. */
typedef struct {
    options_t *options;
    gnn_context_t *context;
    gnn_data_t *raw; /* opened, and not yet scaled; NULL: it is opened again */
    gnn_data_t *of[SCALES];
} sets_t;

/* Opens the set unscaled, with the splits and the graph of the options; tells: prints its
 * description. */
int citation_open_set(gnn_data_t **data, options_t *options, gnn_context_t *context, int tells);
/* The set at a scale, owned by `sets`. */
int set_of(gnn_data_t **data, sets_t *sets, scale_t scale);
void sets_free(sets_t *sets);

/* One training. */
typedef struct {
    int64_t split, seed;
    choice_t choice;                 /* its settings */
    double validation, test, second; /* second: metric of task_second */
    gnn_train_result_t result;
} outcome_t;

/* The history of a training run: epoch, training loss, validation loss, validation metric per
 * row. */
typedef struct {
    double *columns[4];
    int64_t count, room;
    int failed; /* no memory: the callback stops the training, which is an error then */
} history_t;

/* The outcomes of all training runs, and model and history of the one with the best validation
 * metric. */
typedef struct {
    outcome_t *outcomes;
    int64_t count, best;
    gnn_model_t *model;
    history_t history;
    double mean, deviation; /* mean and sample standard deviation of the test metric */
    double second;          /* mean of the second metric */
} study_t;

/* Destinations of the callback of one training. */
typedef struct {
    const options_t *options;
    const outcome_t *outcome;
    history_t history;
    FILE *log;
    const char *trial; /* the candidate of a short run; NULL: a training run of the study */
    int terminal;
    double told; /* time of the last plain line in seconds */
} watcher_t;

/* The callback of a training run; its user is a watcher_t. */
int watch_epoch(void *user, const gnn_progress_t *now);
/* Opens the log if requested; a resumed training appends to it. */
int open_log(FILE **log, const options_t *options);
void free_history(history_t *history);

/* Replaces `chosen` of the options by the alternative that is better in a short run, and prints it.
 * Split and seed are those of `at`. */
int trial_choose(options_t *options, gnn_context_t *context, sets_t *sets, const outcome_t *at);

/* Trains a model by the recipe of the watcher's options; validation and test are not measured. */
int citation_train_model(gnn_model_t *model, watcher_t *w, outcome_t *out, gnn_context_t *context,
                         gnn_data_t *data, const char *checkpoint);
int citation_study_train(study_t *study, const options_t *options, gnn_context_t *context,
                         sets_t *sets);
/* Evaluates study->model, which was loaded, instead of training. */
int citation_study_evaluate(study_t *study, const options_t *options, gnn_context_t *context,
                            gnn_data_t *data);
void citation_study_free(study_t *study);

/* ---- outputs ---- */

/* Prints the error of a file to stderr. */
FILE *open_file(const char *path, const char *mode);
int close_file(FILE *file, const char *path, int rc);

/* The class with the largest logit. */
int32_t likeliest(const gnn_tensor_t *logits, int64_t i);
const char *citation_class_name(const gnn_data_t *data, int64_t c, char room[32]);

/* One line per node, in the order of the file: id, predicted class, its probability, label; or
 * predicted and true values. */
int write_predictions(const gnn_tensor_t *logits, const options_t *options, const gnn_data_t *data,
                      const char *path);
/* Precision, recall, F1 and support of each class on test nodes. */
int print_classes(FILE *file, const gnn_tensor_t *logits, const gnn_data_t *data, int64_t split);
void citation_print_json(FILE *file, const options_t *options, const gnn_data_t *data,
                         const study_t *study);

/* A scatter plot of the nodes, coloured by predicted class: small graphs by a layout, others by the
 * first two principal components of the logits, which are overwritten. */
int write_scatter(gnn_tensor_t *logits, const gnn_data_t *data, int64_t split, const char *path);
/* Curves of losses and metric over epochs, with the best epoch marked. */
int citation_write_curve(const study_t *study, const options_t *options, const gnn_data_t *data,
                         const char *path);
/* The confusion matrix of the test nodes, as fractions of each class. */
int write_confusion(const gnn_tensor_t *logits, const gnn_data_t *data, int64_t split,
                    const char *path);

#endif
