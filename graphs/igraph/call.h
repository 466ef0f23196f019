/* Calls of igraph: under one process-wide lock, with errors that return. libgnn-igraph is a library
 * of its own: of the core it uses the public interface and what gnn_igraph_use was handed. Only
 * files of this folder include igraph. */
#ifndef GNN_GRAPHS_IGRAPH_CALL_H
#define GNN_GRAPHS_IGRAPH_CALL_H

#include <gnn/igraph.h>
#include <igraph/igraph.h>
#include <lib/base/base.h>
#include <lib/base/igraph.h>

/* The core's services; set once gnn_igraph_use has returned GNN_OK. */
const gnn__igraph_services_t *gnn__igraph_core(void);
/* gnn__error and gnn__new of this library. */
#define gnn__igraph_error(code, ...) (gnn__igraph_core()->set_message(__VA_ARGS__), (code))
#define gnn__igraph_new(out, count, element, what) \
    gnn__igraph_core()->allocate(out, count, element, what)

/* igraph 1.0 returns views, where earlier versions fill them in. */
static inline igraph_vector_int_t gnn__igraph_view(const igraph_integer_t *values, int64_t count)
{
#if IGRAPH_VERSION_MAJOR >= 1
    return igraph_vector_int_view(values, (igraph_integer_t)count);
#else
    igraph_vector_int_t view = {0};
    igraph_vector_int_view(&view, values, (igraph_integer_t)count);
    return view;
#endif
}

/* The handlers that gnn__igraph_enter found and gnn__igraph_leave puts back. */
typedef struct gnn__igraph_call {
    igraph_error_handler_t *error;
    igraph_warning_handler_t *warning;
} gnn__igraph_call_t;

/* Debian's igraph is not thread-safe and its default error handler aborts. Between these two calls,
 * errors and warnings return; igraph's stack of temporary objects has a level of its own, so that
 * an error frees what igraph allocated since and nothing of the caller's. */
void gnn__igraph_enter(gnn__igraph_call_t *call);
/* Returns `code`; one of igraph's (1-999) gets igraph's message. */
int gnn__igraph_leave(gnn__igraph_call_t *call, int code);

/* GNN_ENOTFOUND unless the graph has a numeric edge attribute of this name; inside a call. */
int gnn__igraph_check_numeric(const igraph_t *igraph, const char *name);

/* To be called between enter and leave. */
int gnn__igraph_to_graph(gnn_graph_t **graph, const igraph_t *igraph, int64_t **igraph_edge);
int gnn__igraph_from_graph(const gnn_graph_t *graph, igraph_t *igraph);
/* The numeric edge attribute "weight", one value per edge; inside a call, too. Returns igraph's
 * code. */
int gnn__igraph_weigh_edges(igraph_t *igraph, const gnn_real_t *weight);

/* ---- the members of gnn__igraph_functions_t ---- */

int gnn__igraph_read(gnn__igraph_links_t *links, gnn__igraph_form_t form, const char *text,
                     int64_t size);
int gnn__igraph_write_graphml(const gnn_graph_t *graph, const char *const *names,
                              const gnn_real_t *weight, char **text, size_t *size);
int gnn__igraph_eigenvectors(int64_t n, const int64_t *indptr, const int32_t *indices,
                             const double *weight, int64_t count, double *values, double *vectors);

#endif
