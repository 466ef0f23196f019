/* The interface between libgnn and libgnn-igraph: the functions that the latter provides, and the
 * core's services that it uses. Neither library sees more of the other than this file and the
 * public interface. Includes no header of igraph. */
#ifndef GNN_LIB_BASE_IGRAPH_H
#define GNN_LIB_BASE_IGRAPH_H

#include <gnn/error.h>
#include <gnn/graph.h>
#include <stdbool.h>

typedef enum gnn__igraph_form { GNN__IGRAPH_GRAPHML, GNN__IGRAPH_GML } gnn__igraph_form_t;

/* Edges of a file, each once. The arrays are released with gnn_free. */
typedef struct gnn__igraph_links {
    int64_t n, m;       /* counts of nodes and edges */
    bool directed;      /* by the file */
    int32_t *a, *b;     /* (m): ends, below n */
    gnn_real_t *weight; /* (m): the edge attribute "weight", finite; NULL: none */
    char unread[192];   /* names of the other attributes but those of names; "" if there are none */
} gnn__igraph_links_t;

/* Members are not NULL. Each is called without a lock, and returns GNN_OK or a code with its
 * message set. */
typedef struct gnn__igraph_functions {
    /* Reads the first graph of a text whose size has been checked. GNN_EFORMAT with igraph's
     * message if it is malformed. The caller frees `links`, on failure too. */
    int (*read)(gnn__igraph_links_t *links, gnn__igraph_form_t form, const char *text, int64_t size);
    /* Writes a graph as GraphML, with node attribute "name" and edge attribute "weight" if given.
     * *text is released with free. */
    int (*write_graphml)(const gnn_graph_t *graph, const char *const *names,
                         const gnn_real_t *weight, char **text, size_t *size);
    /* The `count` smallest eigenvalues of I - A, ascending, and their vectors (count x n). A is
     * symmetric with eigenvalues in -1..1: n rows in CSR. */
    int (*eigenvectors)(int64_t n, const int64_t *indptr, const int32_t *indices,
                        const double *weight, int64_t count, double *values, double *vectors);
} gnn__igraph_functions_t;

/* gnn__set_message, gnn__new and gnn__allocation_fails of lib/base/base.h. */
typedef struct gnn__igraph_services {
    void (*set_message)(const char *format, ...) __attribute__((format(printf, 1, 2)));
    int (*allocate)(void *out, int64_t count, size_t element, const char *what);
    bool (*allocation_fails)(void);
} gnn__igraph_services_t;

/* The only exported symbol of the core that is not in a public header; gnn_igraph_use calls it.
 * `build` names version and precision; GNN_EUNSUPPORTED if the core's differ, since the two structs
 * have no version of their own. Thread-safe and repeatable. */
#define GNN__IGRAPH_BUILD GNN_VERSION GNN__IGRAPH_PRECISION
#if GNN_DOUBLE
#define GNN__IGRAPH_PRECISION " (double)"
#else
#define GNN__IGRAPH_PRECISION " (float)"
#endif
GNN_API int gnn_igraph_register(const char *build, const gnn__igraph_functions_t *functions,
                                const gnn__igraph_services_t **services);

/* NULL before gnn_igraph_use. */
const gnn__igraph_functions_t *gnn__igraph(void);
/* Sets *functions, or returns GNN_EUNSUPPORTED with `what` igraph is needed for and how to link
 * it. */
int gnn__igraph_need(const gnn__igraph_functions_t **functions, const char *what);

#endif
