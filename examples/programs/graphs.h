/* Shared by the files of graphs: graphs.c (options), graphs_model.c (the network), graphs_train.c
 * (folds) and graphs_report.c (text, JSON, pictures). */
#ifndef GRAPHS_H
#define GRAPHS_H

#include <gnn/gnn.h>
#include <stdio.h>

/* Protocol of the evaluation: the set's own split, with the epoch chosen on its validation graphs;
 * or cross-validation, with the epoch that is best on average over folds (Xu et al. 2019) or, per
 * fold, on another held-out fold. */
typedef enum { PROTOCOL_AUTO, PROTOCOL_OWN, PROTOCOL_MEAN, PROTOCOL_HELD } protocol_t;
typedef enum { JUMP_SUM, JUMP_LAST } jump_t;
/* The criterion by which an epoch is chosen. */
typedef enum { GRAPHS_WATCH_METRIC, GRAPHS_WATCH_LOSS } graphs_watch_t;

/* Names of readouts, NULL after the last one: the library's aggregators without scores, then
 * blocks. */
const char *graphs_readout_at(size_t index);

typedef struct {
    const char *data, *layer, *readout, *log, *curve, *save;
    /* jump_t; protocol_t, which is PROTOCOL_AUTO only until the set is known */
    int jump, protocol, watch; /* watch: graphs_watch_t */
    int64_t layers, hidden, heads, folds, most_folds, epochs, batch, per_epoch, period, seed, threads;
    double dropout, lr, weight_decay;
    int json, degrees;
    FILE *say;
} options_t;

/* Makes the network: a linear map of the features, `layers` hops, a readout of each. GNN_ENOTFOUND:
 * an unknown layer or readout. */
int graphs_build_model(gnn_model_t **model, gnn_context_t *context, const options_t *options,
                       const gnn_data_t *data);

/* One fold: validation results of its epochs, and of the chosen epoch. */
typedef struct {
    /* (epochs) accuracy on validation graphs, which with PROTOCOL_MEAN are the test graphs */
    double *curve, *loss; /* loss: on the same graphs */
    double test, seconds;
    int64_t epoch; /* the epoch of `test`, from 1 */
} fold_t;

typedef struct {
    fold_t *folds;
    int64_t room, count, epochs;            /* folds that are allocated, folds that ran */
    double *mean_curve, *mean_loss, *index; /* (epochs) mean over folds; 1, 2, ... */
    double mean, deviation; /* of the test results; over folds, with n in the denominator */
} study_t;

/* The part of each graph by the set's first array split.NAME; NULL if there is none. */
const gnn_array_t *own_split(const gnn_data_t *data);
/* With PROTOCOL_OWN: one training on the set's split, with the epoch chosen on its validation
 * graphs. */
int graphs_study_run(study_t *study, const options_t *options, gnn_context_t *context,
                     gnn_data_t *data);
void graphs_study_free(study_t *study);

void graphs_print_json(FILE *file, const options_t *options, const gnn_data_t *data,
                       const study_t *study);
int graphs_write_curve(const options_t *options, const gnn_data_t *data, const study_t *study);

#endif
