/* Shared by sentence.c (the model) and sentence_report.c (its evaluation). */
#ifndef SENTENCE_H
#define SENTENCE_H

#include "language.h"

#include <gnn/gnn.h>

enum { SENTENCES = 48, WIDTH = 48, HEADS = 4 };

typedef enum { COMPLETE, CAUSAL, WINDOW, EDGES } topology_t;

typedef struct {
    topology_t topology;
    int64_t window, layers, epochs;
    uint64_t seed;
    int threads;
    const char *name, *picture;
} options_t;

/* Concatenated sentences with their prepared graph. */
typedef struct {
    sentence_t sentences[SENTENCES];
    int64_t lengths[SENTENCES], rows;
    int32_t words[SENTENCES * MAX_WORDS], places[SENTENCES * MAX_WORDS],
        answers[SENTENCES * MAX_WORDS]; /* labels: -1 except at verbs */
    gnn_named_t values[2];
    gnn_graph_t *graph;
} pack_t;

static inline gnn_model_inputs_t pack_inputs(const pack_t *p)
{
    return (gnn_model_inputs_t){.graphs = (const gnn_graph_t *const *)&p->graph,
                                .n_graphs = 1,
                                .values = p->values,
                                .n_values = 2};
}

/* The graph of one pack, which depends on --topology. */
int make_graph(gnn_graph_t **graph, topology_t topology, int64_t window, const int64_t *lengths);

/* Prints accuracies and attention on the subject, and writes the picture. */
int report(const gnn_model_t *model, gnn_context_t *context, const options_t *options,
           const pack_t *packs, int count);

#endif
