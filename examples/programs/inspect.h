/* What the parts of inspect share. */
#ifndef INSPECT_H
#define INSPECT_H

#include <gnn/gnn.h>

typedef struct {
    const char *folder, *sentence, *heatmap, *graph, *grid, *html, *graphml;
    const char *uas, *uas_map, *prune, *test, *curve;
    int64_t layer, head, limit, threads, seed; /* layer and head -1: the mean of all */
    int pieces, plain, both, json, keep_16_bits;
} inspect_t;

/* A small model that learns agreement on the spot, on a generated sentence: for machines without a
 * pretrained folder. */
int inspect_small(gnn_attention_maps_t **attention, gnn_context_t *context, const inspect_t *o);
/* Prints whom the words attend to, and writes the pictures that are asked for. */
int inspect_show(const gnn_attention_maps_t *attention, const inspect_t *o);
/* Syntax in each head, against a treebank. */
int inspect_syntax(const gnn_pretrained_t *p, gnn_context_t *context, const inspect_t *o);
/* Closes heads, those that matter least first. */
int inspect_prune(const gnn_pretrained_t *p, gnn_context_t *context, const inspect_t *o);

#endif
