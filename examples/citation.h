/* What citation.c (options, training), citation_models.c (the networks) and citation_output.c (predictions, pictures) share. */
#ifndef CITATION_H
#define CITATION_H

#include <gnn/gnn.h>

/* A network with the settings that its paper trains it with. */
typedef struct {
    const char *name;
    int64_t hidden, heads; /* width of the hidden layer, of one head where there are several */
    double dropout, lr, weight_decay;
    int64_t epochs, patience;
    gnn_watch_t watch;
    int decay_first_layer_only;
} recipe_t;

const recipe_t *recipe_find(const char *name);
/* Fits a recipe to a data set whose paper used other settings. */
recipe_t recipe_for(const recipe_t *recipe, const gnn_data_t *data);
int recipe_build(gnn_model_t **model, gnn_context_t *context, const recipe_t *recipe, const gnn_data_t *data);

/* A row for each node: number, predicted class, its probability, label. */
int write_predictions(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data, const char *path);
/* The nodes in the plane, coloured by predicted class: the karate club by igraph's layout, others by the two main directions of the logits. */
int write_plot(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data, int64_t split, const char *path);

#endif
