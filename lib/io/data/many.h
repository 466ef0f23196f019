/* What readers of sets of many graphs find in their files, and what becomes of it. */
#ifndef GNN_LIB_IO_MANY_H
#define GNN_LIB_IO_MANY_H

#include <gnn/collection.h>
#include <lib/io/data/data.h>

/* Lists grow by gnn__room; all are freed by gnn__many_free. Nodes stand graph after graph. */
typedef struct gnn__many {
    int64_t graphs, nodes, links;
    int64_t *lengths;                        /* (graphs) nodes */
    int64_t *labels;                         /* (graphs) any numbers; NULL: none */
    int64_t *tags;                           /* (nodes) any numbers; NULL: none */
    int32_t *a, *b;                          /* (links) ends, by the set's node numbers */
    int64_t *kinds;                          /* (links) any numbers; NULL: none */
    gnn_real_t *nodes_x, *links_x, *targets; /* (nodes, links, graphs) x their columns */
    int64_t node_cols, link_cols, target_cols;
    int64_t room_lengths, room_labels, room_tags, room_a, room_b, room_x;
} gnn__many_t;

void gnn__many_free(gnn__many_t *many);
/* Makes the set: classes and tags become numbers from 0 in their order, tags a 1 in a column each,
 * beside the attributes; where all nodes are alike, their degrees. */
int gnn__data_many(gnn_data_t *data, const gnn__many_t *many);
/* A label array on graphs, of classes. */
int gnn__data_graph_classes(gnn_data_t *data, const int32_t *labels, int64_t classes);

/* Does the text begin as MatrixMarket's do? */
bool gnn__data_is_matrix_market(const gnn__text_t *text);
/* A graph as a matrix, from the text's start. */
int gnn__data_read_matrix_market(gnn_data_t *data, gnn__text_t *text);

/* A text in which Dai et al. 2016 (structure2vec) keep sets of graphs, opened at its start. */
int gnn__data_read_dai(gnn_data_t *data, gnn__text_t *text);
/* A folder as TU Dortmund unpacks it: PREFIX_A.txt and others. */
int gnn__data_read_tu(gnn_data_t *data, const char *path);
/* Does the folder hold a file PREFIX_A.txt? *prefix is gnn_free'd by the caller, NULL if not. */
int gnn__data_find_tu(char **prefix, const char *path);
/* A folder of OGB with many graphs: it has a graph-label, or, without a node-label, more than one
 * line in num-node-list. */
int gnn__data_ogb_is_many(const char *folder, const gnn_limits_t *limits, bool *many);
int gnn__data_read_ogb_graphs(gnn_data_t *data, const char *folder);

#endif
