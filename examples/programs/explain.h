/* Shared by the files of explain: explain.c (options), explain_model.c (set and network),
 * explain_study.c (one node, looked at), explain_score.c (many nodes), explain_report.c (words and
 * JSON), explain_page.c (pictures). */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <gnn/gnn.h>
#include <stdio.h>

typedef struct {
    const char *data, *layer, *load, *save, *method, *graph, *html;
    int64_t node, top, layers, hidden, heads, epochs, masks, fidelity, seed, threads;
    double lr, weight_decay, dropout, mask_lr, mask_size, mask_entropy;
    int json, houses, scale, edges_alone, directed; /* scale: scale_t */
    FILE *say;
} options_t;

/* The set, the network and what it reads. */
typedef struct {
    gnn_context_t *context;
    gnn_data_t *data;
    gnn_model_t *model;
    const gnn_graph_t **graphs;
    gnn_named_t *values;
    gnn_model_inputs_t inputs;
    int64_t *src, *dst; /* by edge number */
    double accuracy;    /* on the test nodes; NaN: none */
} subject_t;

int subject_open(subject_t *subject, const options_t *options);
void subject_free(subject_t *subject);
/* As the options say; `method` NULL: theirs. */
int subject_explain(const subject_t *subject, const options_t *options, int64_t node,
                    const char *method, gnn_explanation_t **why);
/* Of a class; `room` is used where it has none. */
const char *explain_class_name(const gnn_data_t *data, int64_t k, char room[32]);

/* A link or a column with its importance, and what the probability loses without it. */
typedef struct {
    int64_t edge, column; /* -1: it is the other one */
    double importance, lost, attention;
} item_t;

typedef struct {
    gnn_explanation_t *why, *lost, *attention; /* the last NULL: the model does not attend */
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
