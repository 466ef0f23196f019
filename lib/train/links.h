/* Internals of link prediction: splits of links, negative pairs, batches. */
#ifndef GNN_TRAIN_LINKS_H
#define GNN_TRAIN_LINKS_H

#include <gnn/links.h>
#include <lib/train/train.h>

/* Pairs owned by the library. */
typedef struct gnn__pair_list {
    int64_t count;
    int32_t *src, *dst;
} gnn__pair_list_t;

int gnn__pair_list_new(gnn__pair_list_t *list, int64_t count);
void gnn__pair_list_free(gnn__pair_list_t *list);

/* The links of a graph, sorted by their ends: link_of[e] is the link of edge e in the order of
 * gnn_graph_pairs, -1 for a self-loop. */
typedef struct gnn__link_index {
    int64_t edges, count;
    int64_t *src, *dst, *edge; /* (edges) in the order of gnn_graph_pairs */
    int64_t *link_of;          /* (edges) */
    int64_t *first;            /* (count) the lowest edge id of each link */
} gnn__link_index_t;

/* GNN_ETOPOLOGY and GNN_EUNSUPPORTED as gnn_links_split. */
int gnn__link_index_new(gnn__link_index_t *index, const gnn_graph_t *graph, bool directed);
void gnn__link_index_free(gnn__link_index_t *index);

/* Draws pairs like gnn_negatives_draw, without duplicates; if the graph has fewer, all of them
 * repeatedly. O(count log n). */
int gnn__negatives_different(const gnn_negatives_t *negatives, uint64_t seed, int64_t count,
                             int32_t *src, int32_t *dst);

struct gnn_links {
    int64_t nodes, edges; /* of the graph that was split */
    gnn_graph_t *graph;   /* the training's */
    int64_t *kept;        /* (edges of it) their ids in the original graph */
    gnn__pair_list_t of[3], without[3];
    gnn_negatives_t *all, *known; /* exclude all links, and training links */
    uint64_t seed;
};

/* Samples around the ends of pairs (link_sampled.c). */
typedef struct gnn__link_sampling gnn__link_sampling_t;

/* Batches of links and negative pairs, or of edges with classes. */
typedef struct gnn__link_source {
    gnn__source_state_t base;
    gnn__training_set_t set;
    const gnn_model_t *model;
    gnn_links_t *links; /* NULL: batches of classes */
    gnn_link_source_config_t config;
    gnn_graph_t *graph; /* borrowed */
    const gnn_graph_t **graphs;
    /* inputs: "sources", "targets", "x", the set's arrays; then arrays on edges again for pairs */
    gnn_named_t *values;
    gnn_data_place_t *places; /* (n_whole) inputs from the set */
    int64_t n_values, n_whole;
    gnn__link_sampling_t *sampling; /* NULL: batches run on the whole graph */
    gnn_tensor_t *rows;             /* (n_values) gathered rows of edges; data NULL: not gathered */
    int64_t *rows_room;
    /* pairs of each part: links, or edges with classes */
    gnn_node_pairs_t pairs[3];
    int32_t *labels[3];        /* of edges with classes */
    int64_t *numbers[3];       /* their edge ids */
    gnn__pair_list_t owned[3]; /* their ends */
    int32_t *order;            /* order of training pairs in epoch `ordered` */
    int64_t ordered;
    /* a batch */
    gnn__pair_list_t batch;
    int32_t *batch_labels;
    int64_t *batch_edges;
    gnn_real_t *targets;
    gnn_tensor_t target;
    int64_t room;
} gnn__link_source_t;
extern const gnn__source_kind_t gnn__source_of_pairs;

/* Sets the pairs of the batch and returns the model's inputs. */
int gnn__link_inputs(gnn__link_source_t *batches, const gnn_node_pairs_t *pairs,
                     gnn_model_inputs_t *inputs);

int gnn__link_sampling_new(gnn__link_sampling_t **sampling, const gnn__link_source_t *batches,
                           const gnn_sampling_t *how);
void gnn__link_sampling_free(gnn__link_sampling_t *sampling);
/* Draws the sample of a batch of pairs; `inputs` stay valid until the next draw. */
int gnn__link_sampling_draw(gnn__link_sampling_t *sampling, const gnn__link_source_t *batches,
                            int part, int64_t epoch, int64_t batch, const gnn_node_pairs_t *pairs,
                            gnn_model_inputs_t *inputs);
#endif
