/* GraphML through igraph, into memory: the caller writes the file. */
#include <graphs/igraph/call.h>

#include <stdlib.h>

static int name_nodes(igraph_t *igraph, const char *const *names)
{
    igraph_strvector_t list;
    int64_t n = igraph_vcount(igraph);
    int rc = igraph_strvector_init(&list, (igraph_integer_t)n);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    for (int64_t k = 0; rc == IGRAPH_SUCCESS && k < n; k++)
        rc = igraph_strvector_set(&list, (igraph_integer_t)k, names[k]);
    if (rc == IGRAPH_SUCCESS)
        rc = igraph_cattribute_VAS_setv(igraph, "name", &list);
    igraph_strvector_destroy(&list);
    return rc;
}

/* Numbers have a decimal point whatever the program's locale. */
static int write_stream(const igraph_t *igraph, FILE *stream)
{
    igraph_safelocale_t locale;
    int rc = igraph_enter_safelocale(&locale);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = igraph_write_graph_graphml(igraph, stream, 0);
    igraph_exit_safelocale(&locale);
    return rc;
}

static int write_graph(const gnn_graph_t *graph, const char *const *names, const gnn_real_t *weight,
                       FILE *stream)
{
    igraph_t igraph;
    int rc = gnn__igraph_from_graph(graph, &igraph);
    if (rc != GNN_OK)
        return rc;
    if (names)
        rc = name_nodes(&igraph, names);
    if (rc == GNN_OK && weight)
        rc = gnn__igraph_weigh_edges(&igraph, weight);
    if (rc == GNN_OK)
        rc = write_stream(&igraph, stream);
    igraph_destroy(&igraph);
    return rc;
}

int gnn__igraph_write_graphml(const gnn_graph_t *graph, const char *const *names,
                              const gnn_real_t *weight, char **text, size_t *size)
{
    gnn__igraph_call_t call;
    *text = NULL;
    FILE *stream = gnn__igraph_core()->allocation_fails() ? NULL : open_memstream(text, size);
    if (!stream)
        return gnn__igraph_error(GNN_EMEMORY, "no memory to write GraphML");
    gnn__igraph_enter(&call);
    /* Attributes are written by igraph's C handler, whichever the program has. */
    const igraph_attribute_table_t *before = igraph_set_attribute_table(&igraph_cattribute_table);
    int rc = write_graph(graph, names, weight, stream);
    igraph_set_attribute_table(before);
    rc = gnn__igraph_leave(&call, rc);
    if (fclose(stream) != 0 && rc == GNN_OK)
        rc = gnn__igraph_error(GNN_EMEMORY, "no memory to write GraphML");
    if (rc != GNN_OK) {
        free(*text);
        *text = NULL;
    }
    return rc;
}
