/* Files of graphs through igraph, from memory: the caller has checked the bytes already. */
#include <graphs/igraph/call.h>
#include <math.h>

/* The edge attribute "weight", if the document declares one. */
static int take_weights(gnn__igraph_links_t *links, const igraph_t *igraph)
{
    if (!igraph_cattribute_has_attr(igraph, IGRAPH_ATTRIBUTE_EDGE, "weight"))
        return GNN_OK;
    GNN_TRY(gnn__igraph_check_numeric(igraph, "weight"));
    GNN_TRY(gnn__igraph_new(&links->weight, links->m, sizeof *links->weight, "weights"));
    for (int64_t e = 0; e < links->m; e++) {
        links->weight[e] = (gnn_real_t)EAN(igraph, "weight", e);
        if (!isfinite(links->weight[e]))
            return gnn__igraph_error(GNN_ENUMERIC, "weight: %g at link %lld, %s",
                                     (double)links->weight[e], (long long)e,
                                     "a finite number is expected");
    }
    return GNN_OK;
}

static int take_links(gnn__igraph_links_t *links, const igraph_t *igraph)
{
    links->n = igraph_vcount(igraph);
    links->m = igraph_ecount(igraph);
    if (links->n > INT32_MAX)
        return gnn__igraph_error(GNN_EOVERFLOW, "%lld nodes, at most %d fit", (long long)links->n,
                                 INT32_MAX);
    GNN_TRY(gnn__igraph_new(&links->a, links->m, sizeof *links->a, "links"));
    GNN_TRY(gnn__igraph_new(&links->b, links->m, sizeof *links->b, "links"));
    for (int64_t e = 0; e < links->m; e++) {
        links->a[e] = (int32_t)IGRAPH_FROM(igraph, e);
        links->b[e] = (int32_t)IGRAPH_TO(igraph, e);
    }
    return GNN_OK;
}

static int read_graph(gnn__igraph_links_t *links, gnn__igraph_form_t form, FILE *stream)
{
    igraph_t igraph;
    const igraph_error_t read = form == GNN__IGRAPH_GML
                                    ? igraph_read_graph_gml(&igraph, stream)
                                    : igraph_read_graph_graphml(&igraph, stream, 0);
    int rc = (int)read;
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = take_links(links, &igraph);
    if (rc == GNN_OK)
        rc = take_weights(links, &igraph);
    igraph_destroy(&igraph);
    return rc;
}

/* Numbers of attributes are read with a decimal point, whatever the program's locale. They are kept
 * by igraph's own attribute handler, not by the program's. */
static int read_stream(gnn__igraph_links_t *links, gnn__igraph_form_t form, FILE *stream)
{
    igraph_safelocale_t locale;
    int rc = igraph_enter_safelocale(&locale);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    const igraph_attribute_table_t *before = igraph_set_attribute_table(&igraph_cattribute_table);
    rc = read_graph(links, form, stream);
    igraph_set_attribute_table(before);
    igraph_exit_safelocale(&locale);
    return rc;
}

int gnn__igraph_read(gnn__igraph_links_t *links, gnn__igraph_form_t form, const char *text,
                     int64_t size)
{
    gnn__igraph_call_t call;
    FILE *stream = fmemopen((void *)text, (size_t)size, "r"); /* only read */
    if (!stream)
        return gnn__igraph_error(GNN_EMEMORY, "no memory for a stream of %lld bytes",
                                 (long long)size);
    gnn__igraph_enter(&call);
    int rc = gnn__igraph_leave(&call, read_stream(links, form, stream));
    fclose(stream);
    return rc <= 0 || rc >= 1000 ? rc : rc == IGRAPH_ENOMEM ? GNN_EMEMORY : GNN_EFORMAT;
}
