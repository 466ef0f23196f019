/* Shared by the files of inspect. */
#ifndef INSPECT_H
#define INSPECT_H

#include <gnn/gnn.h>

typedef struct {
    const char *folder, *sentence, *heatmap, *graph, *grid, *html, *graphml;
    const char *uas, *uas_map, *prune, *test, *curve;
    int64_t layer, head, limit, threads, seed; /* layer and head -1: the mean over all */
    int pieces, plain, both, json, keep_16_bits;
} inspect_t;

/* Trains a small model on generated sentences, for machines without a pretrained folder. */
int inspect_small(gnn_attention_maps_t **attention, gnn_context_t *context, const inspect_t *o);
/* Prints the attention of the words, and writes the requested pictures. */
int inspect_show(const gnn_attention_maps_t *attention, const inspect_t *o);
/* Compares each head with a treebank. */
int inspect_syntax(const gnn_pretrained_t *p, gnn_context_t *context, const inspect_t *o);
/* Masks heads in ascending order of importance. */
int inspect_prune(const gnn_pretrained_t *p, gnn_context_t *context, const inspect_t *o);

#endif
