/* Shared by the files of explain: explain.c (options), explain_model.c (set and network),
 * explain_study.c (one node), explain_score.c (many nodes), explain_report.c (text and JSON),
 * explain_page.c (pictures). */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "scale.h"

#include <gnn/gnn.h>
#include <stdio.h>

typedef struct {
    const char *data, *layer, *load, *save, *method, *graph, *html;
    int64_t node, top, layers, hidden, heads, epochs, masks, fidelity, seed, threads;
    double lr, weight_decay, dropout, mask_lr, mask_size, mask_entropy;
    int json, houses, scale, edges_alone, directed; /* scale: scale_t */
    FILE *say;
} options_t;

/* The set, the network and its inputs. */
typedef struct {
    gnn_context_t *context;
    gnn_data_t *data;
    gnn_model_t *model;
    const gnn_graph_t **graphs;
    gnn_named_t *values;
    gnn_model_inputs_t inputs;
    int64_t *src, *dst; /* by edge id */
    double accuracy;    /* accuracy on the test nodes; NaN: none */
    scale_t scale;      /* of its features */
} subject_t;

int subject_open(subject_t *subject, const options_t *options);
void subject_free(subject_t *subject);
/* Settings from the options; `method` NULL: theirs. */
int subject_explain(const subject_t *subject, const options_t *options, int64_t node,
                    const char *method, gnn_explanation_t **why);
/* The name of a class; `room` is used if it has none. */
const char *explain_class_name(const gnn_data_t *data, int64_t k, char room[32]);

/* A link or a column with its importance, and the loss of probability without it. */
typedef struct {
    int64_t edge, column; /* -1: not applicable */
    double importance, lost, attention;
} item_t;

typedef struct {
    gnn_explanation_t *why, *lost, *attention; /* the last one NULL: no attention layers */
    item_t *heard, *edges, *columns;           /* the most important first */
    int64_t n_heard, n_edges, n_columns;
    gnn_fidelity_t fidelity;
} study_t;
int study_node(study_t *study, const subject_t *subject, const options_t *options);
void explain_study_free(study_t *study);

void report_words(FILE *file, const subject_t *subject, const options_t *options,
                  const study_t *study);
void report_json(FILE *file, const subject_t *subject, const options_t *options,
                 const study_t *study);
int write_graph(const char *path, const subject_t *subject, const study_t *study);
int write_page(const char *path, const subject_t *subject, const options_t *options,
               const study_t *study);

/* Mean fidelity over the first test nodes; AUC of the houses' links over the nodes of houses. */
int score_fidelity(const subject_t *subject, const options_t *options);
int score_houses(const subject_t *subject, const options_t *options);

#endif
