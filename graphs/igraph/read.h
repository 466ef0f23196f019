/* Files that igraph reads, as lists of links. Includes nothing of igraph's. */
#ifndef GNN_GRAPHS_IGRAPH_READ_H
#define GNN_GRAPHS_IGRAPH_READ_H

#include <lib/base/base.h>

typedef struct gnn__links {
    int64_t n, m;
    int32_t *a, *b;
    gnn_real_t *weight; /* (m) the edge attribute "weight"; NULL: there is none */
} gnn__read_links_t;

/* The first graph of a GraphML document of `size` bytes. GNN_EFORMAT with igraph's message if it is
 * none. The caller frees `links`, on failure too. */
int gnn__igraph_read_graphml(gnn__read_links_t *links, const char *text, int64_t size);
void gnn__read_links_free(gnn__read_links_t *links);

#endif
