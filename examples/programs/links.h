/* Shared by the files of links: links.c (options), links_model.c (encoder and decoder),
 * links_train.c (training runs over seeds) and links_report.c (JSON, CSV, the curve). */
#ifndef LINKS_H
#define LINKS_H

#include <gnn/gnn.h>
#include <stdio.h>

typedef enum { WATCH_AUC, WATCH_AP, WATCH_LOSS, WATCH_LAST } watching_t;

typedef struct {
    const char *data, *layer, *save, *load, *log, *curve, *predict;
    int decoder, scale, watch; /* an index of decoders; scale_t, watching_t */
    int64_t layers, hidden, out, heads, epochs, patience, batch, negatives, seeds, seed, threads;
    double dropout, lr, weight_decay, validation_share, test_share;
    int directed, json;
    FILE *say; /* stream of text: stdout, or stderr if JSON goes to stdout */
} options_t;

/* Names of blocks without "link_", separated by "|". */
#define DECODERS "dot|bilinear|distance|product|mlp"
extern const char *const decoders[5];

/* `layers` hops of a preset, then a decoder over pairs. */
int links_build_model(gnn_model_t **model, gnn_context_t *context, const options_t *options,
                      const gnn_data_t *data);

/* One training: its best epoch by validation links, and test metrics. */
typedef struct {
    int64_t seed, epoch, epochs;
    double validation, seconds;
    gnn_link_metrics_t test;
} outcome_t;

/* Losses and validation metric of each epoch of one training. */
typedef struct {
    double *epoch, *train, *validation, *metric;
    int64_t count;
} history_t;

typedef struct {
    outcome_t *outcomes;
    int64_t count;
    gnn_model_t *loaded;                /* of --load, evaluated for each seed; NULL: none */
    history_t history;                  /* of the first training */
    gnn_link_metrics_t mean, deviation; /* mean and sample standard deviation of the test metrics */
} study_t;

int links_study_run(study_t *study, const options_t *options, gnn_context_t *context,
                    gnn_data_t *data);
void links_study_free(study_t *study);
/* Six figures of a metric, in one order. */
void figures_of(const gnn_link_metrics_t *metrics, double figures[6]);
extern const char *const figure_names[6];

void links_print_json(FILE *file, const options_t *options, const gnn_data_t *data,
                      const study_t *study);
int links_write_curve(const options_t *options, const gnn_data_t *data, const study_t *study);
/* Writes the test links and negative pairs with their scores as CSV. */
int write_scores(const options_t *options, const gnn_data_t *data, const gnn_links_t *links,
                 gnn_source_t *source, const gnn_model_t *model, gnn_context_t *context);

#endif
