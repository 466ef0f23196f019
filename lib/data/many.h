/* Intermediate form of sets of many graphs, from the readers, and its conversion. */
#ifndef GNN_LIB_DATA_MANY_H
#define GNN_LIB_DATA_MANY_H

#include <gnn/collection.h>
#include <lib/data/data.h>

/* Lists grow by gnn__room; all are freed by gnn__many_free. Nodes are in the order of graphs. */
typedef struct gnn__many {
    int64_t graphs, nodes, links;
    int64_t *lengths;                        /* (graphs) nodes */
    int64_t *labels;                         /* (graphs) any integers; NULL: none */
    int64_t *tags;                           /* (nodes x tag_cols) any integers; NULL: none */
    int32_t *a, *b;                          /* (links) ends, by the set's node ids */
    int64_t *kinds;                          /* (links x kind_cols) any integers; NULL: none */
    gnn_real_t *nodes_x, *links_x, *targets; /* (nodes, links, graphs) x their columns */
    int64_t node_cols, link_cols, target_cols;
    int64_t tag_cols, kind_cols; /* 0: one */
    int64_t room_lengths, room_labels, room_tags, room_a, room_b, room_x;
} gnn__many_t;

void gnn__many_free(gnn__many_t *many);
/* Makes the set: classes and tags are ranked from 0, each column of tags becomes one-hot columns
 * after the attributes; if there is neither, one-hot degrees. */
int gnn__data_many(gnn_data_t *data, const gnn__many_t *many);
/* Sets a label array on graphs, of classes. */
int gnn__data_graph_classes(gnn_data_t *data, const int32_t *labels, int64_t classes);

/* Does the text begin like MatrixMarket? */
bool gnn__data_is_matrix_market(const gnn__text_t *text);
/* Reads a graph as a matrix, from the start of the text. */
int gnn__data_read_matrix_market(gnn_data_t *data, gnn__text_t *text);

/* A set of graphs in the text format of Dai et al. 2016 (structure2vec), opened at its start. */
int gnn__data_read_dai(gnn_data_t *data, gnn__text_t *text);
/* A folder of TU Dortmund's collection: PREFIX_A.txt and others. */
int gnn__data_read_tu(gnn_data_t *data, const char *path);
/* Does the folder have a file PREFIX_A.txt? Release *prefix with gnn_free; NULL if not. */
int gnn__data_find_tu(char **prefix, const char *path);
/* A folder of OGB with many graphs: it has a graph-label, or, without a node-label, more than one
 * line in num-node-list. */
int gnn__data_ogb_is_many(const char *folder, const gnn_limits_t *limits, bool *many);
int gnn__data_read_ogb_graphs(gnn_data_t *data, const char *folder);

#endif
