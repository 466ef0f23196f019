/* Packs of sentences with their graphs. */
#include "classify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make_graph(gnn_graph_t **graph, const char *topology, const gnn_pack_t *p)
{
    char options[40];
    int edges = strcmp(topology, "edges") == 0, window = strncmp(topology, "window=", 7) == 0;
    const gnn_topology_t *found = gnn_topology_find(edges    ? "complete"
                                                    : window ? "window"
                                                             : topology);
    snprintf(options, sizeof options, "width=%s", window ? topology + 7 : "");
    if (!found) {
        fprintf(stderr, "no topology of the name %s\n", topology);
        return GNN_ENOTFOUND;
    }
    if (!edges)
        return found->build(graph, p->sentences, p->lengths, window ? options : NULL);
    gnn_graph_t *complete;
    GNN_TRY(found->build(&complete, p->sentences, p->lengths, NULL));
    int rc = gnn_graph_to_edges(graph, complete);
    gnn_graph_free(complete);
    return rc;
}

/* The readout of each sentence receives from all of its words. */
static int make_readout(gnn_graph_t **graph, const gnn_pack_t *p)
{
    int64_t *ones = malloc((size_t)p->sentences * sizeof *ones);
    for (int64_t s = 0; ones && s < p->sentences; s++)
        ones[s] = 1;
    int rc = ones ? gnn_graph_bipartite(graph, p->sentences, ones, p->lengths) : GNN_EMEMORY;
    free(ones);
    return rc;
}

static int make_batch(batch_t *b, const gnn_model_t *model)
{
    const gnn_pack_t *p = b->pack;
    b->ids = malloc((size_t)p->rows * sizeof *b->ids);
    b->queries = calloc((size_t)p->sentences, sizeof *b->queries);
    if (!b->ids || !b->queries)
        return GNN_EMEMORY;
    memcpy(b->ids, p->ids, (size_t)p->rows * sizeof *b->ids);
    b->values[0] = (gnn_named_t){.name = "words", .ids = b->ids, .count = p->rows};
    b->values[1] = (gnn_named_t){.name = "places", .ids = p->positions, .count = p->rows};
    b->values[2] = (gnn_named_t){.name = "queries", .ids = b->queries, .count = p->sentences};
    GNN_TRY(make_graph(&b->graphs[0], b->options->topology, p));
    GNN_TRY(make_readout(&b->graphs[1], p));
    GNN_TRY(gnn_model_prepare(model, 0, b->graphs[0], GNN_ON));
    return gnn_model_prepare(model, 1, b->graphs[1], GNN_ON);
}

int batches_new(batches_t *batches, const gnn_corpus_t *corpus, const gnn_vocabulary_t *vocabulary,
                const gnn_model_t *model, const classify_t *options)
{
    gnn_packing_t how = {
        .sentences = 64, .max_words = options->max_length, .shuffle = GNN_ON, .seed = options->seed};
    GNN_TRY(gnn_packs_new(&batches->packs, corpus, vocabulary, &how));
    batches->batch = calloc((size_t)batches->packs->count, sizeof *batches->batch);
    int rc = batches->batch ? GNN_OK : GNN_EMEMORY;
    for (int64_t k = 0; rc == GNN_OK && k < batches->packs->count; k++) {
        batches->batch[k].pack = &batches->packs->at[k];
        batches->batch[k].options = options;
        rc = make_batch(&batches->batch[k], model);
    }
    return rc;
}

void batches_free(batches_t *batches)
{
    for (int64_t k = 0; batches->batch && k < batches->packs->count; k++) {
        gnn_graph_free(batches->batch[k].graphs[0]);
        gnn_graph_free(batches->batch[k].graphs[1]);
        free(batches->batch[k].ids);
        free(batches->batch[k].queries);
    }
    free(batches->batch);
    gnn_packs_free(batches->packs);
    *batches = (batches_t){0};
}

gnn_model_inputs_t batch_inputs(const batch_t *b)
{
    return (gnn_model_inputs_t){.graphs = (const gnn_graph_t *const *)b->graphs,
                                .n_graphs = 2,
                                .values = b->values,
                                .n_values = 3};
}
