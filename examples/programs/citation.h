/* Shared by the files of citation: citation.c (options), citation_models.c and citation_deep.c
 * (the networks), citation_recipes.c (their settings), citation_train.c (training over seeds and
 * splits), citation_watch.c (progress and log), citation_report.c (words, JSON, CSV) and
 * citation_pictures.c, citation_diffuse.c (another graph in place of the set's). */
#ifndef CITATION_H
#define CITATION_H

#include "options.h"
#include "scale.h"

#include <gnn/gnn.h>
#include <stdio.h>

/* ---- what a set is (citation_facts.c) ---- */

typedef struct {
    features_t features;
    int64_t columns;                    /* of the features */
    int64_t nodes, labelled, validated; /* labelled: training nodes of the split */
    double degree;                      /* messages per node */
    double homophily; /* adjusted, of messages between known nodes; NaN: there are none */
    int64_t known;    /* these messages */
} facts_t;

/* Of a split. The classes of test nodes are not looked at. */
int facts_of(facts_t *facts, const gnn_data_t *data, int64_t split);

/* ---- the networks ---- */

typedef struct recipe recipe_t;

/* Makes the network of a recipe for a set. */
typedef int build_t(gnn_model_t **model, gnn_context_t *context, const recipe_t *recipe,
                    const gnn_data_t *data);

/* A network and how it is trained; 0 where it has no such thing. */
struct recipe {
    const char *name;
    int (*fits)(const facts_t *facts); /* sets that the settings are for; NULL: any */
    build_t *build;
    int64_t hidden, heads;      /* width of the hidden layer, of one head where there are several */
    int64_t last_heads, layers; /* heads that are averaged in the end; layers, or hops */
    double alpha, theta;        /* share of the first features; GCNII's lambda */
    double dropout, lr, weight_decay;
    const char *group; /* parameters that begin with this have `group_decay` instead */
    double group_decay;
    int64_t epochs, patience;
    gnn_watch_t watch;
    int hops_itself; /* spreads over the links by a rule of its own: no diffused graph */
    /* set for the set at hand: the graph has weights and self-loops already; width of the output;
     * outputs are real values, which a last step brings to their scale */
    int diffused;
    int64_t outputs;
    int rescaled;
};

build_t build_layers, build_transformer, build_mlp, build_sgc, build_appnp, build_gcn2,
    build_residual, build_blocks;

/* A model of `count` steps, with what the recipe asks for behind them. */
int recipe_build(gnn_model_t **model, gnn_context_t *context, const recipe_t *recipe, int64_t count,
                 const gnn_step_t *steps);
/* Sets the last step of a model of real values: column c times spread[c], and mean[c]. NULL: they
 * stay. */
int recipe_rescale(gnn_model_t *model, const double *mean, const double *spread);

const recipe_t *recipe_find(const char *name);
/* Names of the networks; NULL after the last one. */
const char *recipe_name(size_t index);

/* ---- training ---- */

/* Settings in place of the recipe's; 0, and of those that may be 0 what is below it: the recipe's.
 */
typedef struct {
    int64_t hidden, heads, layers, epochs, patience;
    double dropout, lr, weight_decay;
} own_settings_t;

/* Whom each node hears in place of the set's links; 0: the default. */
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
    /* splits 0: `split` alone; otherwise the first so many, -1: all */
    int64_t seeds, seed, split, splits; /* seed: of the first training */
    int64_t drawn;                      /* splits that are drawn in place of the file's; 0: none */
    int64_t each[2];       /* nodes of each class for training and validation in a drawn split */
    int settings, scale;   /* settings_t, scale_t */
    int form, watch;       /* form_t, watch_t */
    int task, measure;     /* task_t; choice of --metric, 0: by what the labels are */
    gnn_label_kind_t kind; /* what is learnt, once the set is known, */
    gnn_metric_t metric;   /* and how that is measured */
    int directed;
    facts_t facts;   /* of the set, */
    recipe_t chosen; /* and what they lead to, */
    scale_t scaled;  /* features included */
    int papers;      /* the settings are those of a paper */
    const char *why; /* they are, in a few words */
    int64_t threads;
    int json, report, resume, overwrite;
    FILE *say; /* where words go: stdout, or stderr if JSON goes there */
} options_t;

/* --task: the kind of the labels. */
typedef enum { TASK_AUTO, TASK_CLASSES, TASK_SEVERAL, TASK_REAL } task_t;

/* Sets kind and metric; PROGRAM_REFUSED after a line about labels or a measure that do not fit. */
int task_choose(options_t *options, gnn_data_t *data);
/* Puts the array "targets.standard" of the values with mean 0 and variance 1 over the training
 * nodes of a split beside "targets"; mean and spread have a place for each column. */
int task_standardise(gnn_data_t *data, int64_t split, double *mean, double *spread);
/* The metric of nodes of a part, whatever is learnt. */
int task_measure(const options_t *options, const gnn_model_t *model, gnn_context_t *context,
                 const gnn_data_t *data, int64_t split, int part, gnn_metric_t metric, double *value);
/* Columns of the output. */
int64_t task_outputs(const options_t *options, const gnn_data_t *data);
/* The metric that is told beside the chosen one; the chosen one where there is none. */
gnn_metric_t task_second(const options_t *options);

extern const char *const metric_names[GNN_METRIC_R2 + 1];
/* A metric's value as text: shares in percent. */
const char *metric_text(gnn_metric_t metric, double value, char room[24]);

/* Whose settings: those of the network's paper on its own sets and others elsewhere, or always one
 * of the two. */
typedef enum { FORM_AUTO, FORM_PLAIN, FORM_RESIDUAL } form_t;
typedef enum { WATCH_AUTO, WATCH_LOSS, WATCH_METRIC } watch_t;
typedef enum { SETTINGS_AUTO, SETTINGS_PAPER, SETTINGS_GENERAL } settings_t;

/* Chooses the recipe for a set, with what the caller sets otherwise: `facts`, `chosen` and
 * `scaled` of the options. */
int recipe_choose(options_t *options, const gnn_data_t *data);
/* Tells what was chosen, and why. */
void recipe_print(const options_t *options);

/* ---- another graph (citation_diffuse.c) ---- */

/* Appends its options. */
int diffusion_rows(option_t *to, diffusion_t *d);
/* 0 after a line for a network that does not read the graph, or spreads by itself. */
int diffusion_fits(const diffusion_t *d, const recipe_t *recipe);
/* Replaces the set by one with the diffused graph, if that is wanted. */
int diffuse(gnn_data_t **data, gnn_context_t *context, const options_t *options);

/* One training. */
typedef struct {
    int64_t split, seed;
    double validation, test, second; /* second: of task_second */
    gnn_train_result_t result;
} outcome_t;

/* What each epoch of a training gave, in columns: epoch, training loss, validation loss, validation
 * metric. */
typedef struct {
    double *columns[4];
    int64_t count, room;
} history_t;

/* All trainings: their outcomes, and model and history of the one with the best validation
 * metric. */
typedef struct {
    outcome_t *outcomes;
    int64_t count, best;
    gnn_model_t *model;
    history_t history;
    double mean, deviation; /* of the test metric; the sample's deviation */
    double second;          /* mean of the other metric */
} study_t;

/* What the callback of one training writes to. */
typedef struct {
    const options_t *options;
    const outcome_t *outcome;
    history_t history;
    FILE *log;
    int terminal;
    double told; /* seconds of the last plain line */
} watcher_t;

/* The callback of a training; its user is a watcher_t. */
int watch_epoch(void *user, const gnn_progress_t *now);
/* Opens the log if one is wanted; a resumed training goes on in the same file. */
int open_log(FILE **log, const options_t *options);
void free_history(history_t *history);

int citation_study_train(study_t *study, const options_t *options, gnn_context_t *context,
                         gnn_data_t *data);
/* A saved model in place of training. */
int citation_study_load(study_t *study, const options_t *options, gnn_context_t *context,
                        gnn_data_t *data);
void citation_study_free(study_t *study);

/* ---- what comes out ---- */

/* Says on stderr what is wrong with a file. */
FILE *open_file(const char *path, const char *mode);
int close_file(FILE *file, const char *path, int rc);

/* The class with the largest logit. */
int32_t likeliest(const gnn_tensor_t *logits, int64_t i);
const char *citation_class_name(const gnn_data_t *data, int64_t c, char room[32]);

/* A line per node, in the order of the file: number, predicted class, its probability, label; or
 * each predicted value and each of the file. */
int write_predictions(const gnn_tensor_t *logits, const options_t *options, const gnn_data_t *data,
                      const char *path);
/* Precision, recall, F1 and number of test nodes of each class. */
int print_classes(FILE *file, const gnn_tensor_t *logits, const gnn_data_t *data, int64_t split);
void citation_print_json(FILE *file, const options_t *options, const gnn_data_t *data,
                         const study_t *study);

/* The nodes in the plane, coloured by predicted class: small graphs by a layout, others
 * by the two main directions of the logits, which are changed. */
int write_scatter(gnn_tensor_t *logits, const gnn_data_t *data, int64_t split, const char *path);
/* Losses and metric over the epochs, the best one marked. */
int citation_write_curve(const study_t *study, const options_t *options, const gnn_data_t *data,
                         const char *path);
/* Which share of each class's test nodes is taken for which class. */
int write_confusion(const gnn_tensor_t *logits, const gnn_data_t *data, int64_t split,
                    const char *path);

#endif
