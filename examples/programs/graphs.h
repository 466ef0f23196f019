/* Shared by the files of graphs: graphs.c (options), graphs_model.c (the network), graphs_train.c
 * (folds) and graphs_report.c (words, JSON, pictures). */
#ifndef GRAPHS_H
#define GRAPHS_H

#include <gnn/gnn.h>
#include <stdio.h>

/* Which graphs are learned and which are judged, and by which epoch: the set's own split, its
 * validation graphs choose the epoch; the folds of a cross-validation, and the epoch that is best
 * in the mean over them (Xu et al. 2019) or, for each fold, on another one that is held out. */
typedef enum { PROTOCOL_AUTO, PROTOCOL_OWN, PROTOCOL_MEAN, PROTOCOL_HELD } protocol_t;
typedef enum { JUMP_SUM, JUMP_LAST } jump_t;
/* The value by which an epoch is chosen. */
typedef enum { GRAPHS_WATCH_METRIC, GRAPHS_WATCH_LOSS } graphs_watch_t;

/* Aggregators and blocks that make one row of a graph's nodes, separated by "|". */
#define READOUTS \
    "sum|mean|max|min|std|var|softmax_mean|attentional|set2set|lstm_readout|power_mean|pma"
extern const char *const readouts[12];

typedef struct {
    const char *data, *layer, *log, *curve, *save;
    /* an index of readouts; jump_t; protocol_t, PROTOCOL_AUTO only until the set is known */
    int readout, jump, protocol, watch; /* watch: graphs_watch_t */
    int64_t layers, hidden, heads, folds, most_folds, epochs, batch, per_epoch, period, seed, threads;
    double dropout, lr, weight_decay;
    int json, degrees;
    FILE *say;
} options_t;

/* The network: the features' product, `layers` hops, a readout of each. NULL layers and readouts
 * that there are none of give GNN_ENOTFOUND. */
int graphs_build_model(gnn_model_t **model, gnn_context_t *context, const options_t *options,
                       const gnn_data_t *data);

/* One fold: validation figures of its epochs, and of the epoch that counts. */
typedef struct {
    /* (epochs) accuracy on validation graphs, which are the test's with PROTOCOL_MEAN */
    double *curve, *loss; /* loss: on the same graphs */
    double test, seconds;
    int64_t epoch; /* whose figure `test` is, from 1 */
} fold_t;

typedef struct {
    fold_t *folds;
    int64_t count, epochs;
    double *mean_curve, *mean_loss, *index; /* (epochs) over folds; 1, 2, ... */
    double mean, deviation; /* of the test figures; over folds, with n in the denominator */
} study_t;

/* The part of each graph as the set's first array split.NAME has it; NULL if there is none. */
const gnn_array_t *own_split(const gnn_data_t *data);
/* With PROTOCOL_OWN: one training on the set's split, the epoch chosen by its validation graphs. */
int graphs_study_run(study_t *study, const options_t *options, gnn_context_t *context,
                     gnn_data_t *data);
void graphs_study_free(study_t *study);

void graphs_print_json(FILE *file, const options_t *options, const gnn_data_t *data,
                       const study_t *study);
int graphs_write_curve(const options_t *options, const gnn_data_t *data, const study_t *study);

#endif
