/* Calls of igraph, under one process-wide lock and with errors that return. libgnn-igraph is a
 * separate library: of the core it uses the public interface and the services that gnn_igraph_use
 * received. Only files of this folder include igraph. */
#ifndef GNN_GRAPHS_IGRAPH_CALL_H
#define GNN_GRAPHS_IGRAPH_CALL_H

#include <gnn/igraph.h>
#include <igraph/igraph.h>
#include <lib/base/base.h>
#include <lib/base/igraph.h>

/* The core's services; set when gnn_igraph_use returns GNN_OK. */
const gnn__igraph_services_t *gnn__igraph_core(void);
/* gnn__error and gnn__new in this library. */
#define gnn__igraph_error(code, ...) (gnn__igraph_core()->set_message(__VA_ARGS__), (code))
/* GNN__NEED in this library; after gnn_igraph_use. */
#define GNN__IGRAPH_NEED(argument)                                                         \
    do {                                                                                   \
        if (!(argument))                                                                   \
            return gnn__igraph_error(GNN_EINVALID, "%s: %s is NULL", __func__, #argument); \
    } while (0)
#define gnn__igraph_new(out, count, element, what) \
    gnn__igraph_core()->allocate(out, count, element, what)

/* igraph 1.0 returns views, earlier versions fill them in. */
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

/* The program's handlers, saved by gnn__igraph_enter and restored by gnn__igraph_leave. */
typedef struct gnn__igraph_call {
    igraph_error_handler_t *error;
    igraph_warning_handler_t *warning;
} gnn__igraph_call_t;

/* igraph is not thread-safe in Debian, and its default error handler aborts. Between these two
 * calls errors and warnings return, and igraph's stack of temporary objects has a new level, so
 * that an error frees what igraph allocated since and nothing of the caller's. */
void gnn__igraph_enter(gnn__igraph_call_t *call);
/* Returns `code`; for igraph's codes (1-999) sets igraph's message. */
int gnn__igraph_leave(gnn__igraph_call_t *call, int code);

/* GNN_ENOTFOUND unless the graph has a numeric edge attribute of this name. Call it between enter
 * and leave. */
int gnn__igraph_check_numeric(const igraph_t *igraph, const char *name);

/* Call these between enter and leave. */
int gnn__igraph_to_graph(gnn_graph_t **graph, const igraph_t *igraph, int64_t **igraph_edge);
int gnn__igraph_from_graph(const gnn_graph_t *graph, igraph_t *igraph);
/* Sets the numeric edge attribute "weight", one value per edge. Returns igraph's code. */
int gnn__igraph_weigh_edges(igraph_t *igraph, const gnn_real_t *weight);

/* ---- the members of gnn__igraph_functions_t ---- */

int gnn__igraph_read(gnn__igraph_links_t *links, gnn__igraph_form_t form, const char *text,
                     int64_t size);
int gnn__igraph_write_graphml(const gnn_graph_t *graph, const char *const *names,
                              const gnn_real_t *weight, char **text, size_t *size);
int gnn__igraph_eigenvectors(int64_t n, const int64_t *indptr, const int32_t *indices,
                             const double *weight, int64_t count, double *values, double *vectors);

#endif
