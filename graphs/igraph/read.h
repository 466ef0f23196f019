/* Files that igraph reads, as lists of links. Includes nothing of igraph's. */
#ifndef GNN_GRAPHS_IGRAPH_READ_H
#define GNN_GRAPHS_IGRAPH_READ_H

#include <lib/base/base.h>

typedef struct gnn__links {
    int64_t n, m;
    int32_t *a, *b;
    gnn_real_t *weight; /* (m) the edge attribute "weight"; NULL: there is none */
} gnn__read_links_t;

/* What igraph reads. */
typedef enum gnn__igraph_form {
    GNN__IGRAPH_GRAPHML,
    GNN__IGRAPH_GML,
    GNN__IGRAPH_PAJEK,
    GNN__IGRAPH_NCOL,
    GNN__IGRAPH_LGL,
    GNN__IGRAPH_DL,
    GNN__IGRAPH_DIMACS,
    GNN__IGRAPH_GRAPHDB
} gnn__igraph_form_t;

/* The first graph of a text of `size` bytes. GNN_EFORMAT with igraph's message if it is of another
 * form. The caller frees `links`, on failure too. */
int gnn__igraph_read(gnn__read_links_t *links, gnn__igraph_form_t form, const char *text,
                     int64_t size);
void gnn__read_links_free(gnn__read_links_t *links);

#endif
