/* Files of graphs through igraph, from memory: the caller has checked the bytes already. */
#include <graphs/igraph/call.h>
#include <graphs/igraph/read.h>
#include <math.h>

void gnn__read_links_free(gnn__read_links_t *links)
{
    gnn_free(links->a);
    gnn_free(links->b);
    gnn_free(links->weight);
    *links = (gnn__read_links_t){.a = NULL};
}

/* The edge attribute "weight", if the document declares one. */
static int take_weights(gnn__read_links_t *links, const igraph_t *igraph)
{
    if (!igraph_cattribute_has_attr(igraph, IGRAPH_ATTRIBUTE_EDGE, "weight"))
        return GNN_OK;
    GNN_TRY(gnn__igraph_check_numeric(igraph, "weight"));
    GNN_TRY(gnn__new(&links->weight, links->m, sizeof *links->weight, "weights"));
    for (int64_t e = 0; e < links->m; e++) {
        links->weight[e] = (gnn_real_t)EAN(igraph, "weight", e);
        if (!isfinite(links->weight[e]))
            return gnn__error(GNN_ENUMERIC, "weight: %g at link %lld, %s", (double)links->weight[e],
                              (long long)e, "a finite number is expected");
    }
    return GNN_OK;
}

static int take_links(gnn__read_links_t *links, const igraph_t *igraph)
{
    links->n = igraph_vcount(igraph);
    links->m = igraph_ecount(igraph);
    GNN_TRY(gnn__graph_check_size("the number of nodes", links->n));
    GNN_TRY(gnn__new(&links->a, links->m, sizeof *links->a, "links"));
    GNN_TRY(gnn__new(&links->b, links->m, sizeof *links->b, "links"));
    for (int64_t e = 0; e < links->m; e++) {
        links->a[e] = (int32_t)IGRAPH_FROM(igraph, e);
        links->b[e] = (int32_t)IGRAPH_TO(igraph, e);
    }
    return GNN_OK;
}

/* Capacities of a flow problem are weights; they are no attribute. */
static int take_capacities(gnn__read_links_t *links, const igraph_vector_t *capacity)
{
    if (igraph_vector_size(capacity) == 0)
        return GNN_OK;
    GNN_TRY(gnn__new(&links->weight, links->m, sizeof *links->weight, "weights"));
    for (int64_t e = 0; e < links->m && e < igraph_vector_size(capacity); e++)
        links->weight[e] = (gnn_real_t)VECTOR(*capacity)[e];
    return GNN_OK;
}

static int call_reader(igraph_t *igraph, gnn__igraph_form_t form, FILE *stream,
                       igraph_vector_t *capacity)
{
    switch (form) {
    case GNN__IGRAPH_GRAPHML: return igraph_read_graph_graphml(igraph, stream, 0);
    case GNN__IGRAPH_GML: return igraph_read_graph_gml(igraph, stream);
    case GNN__IGRAPH_PAJEK: return igraph_read_graph_pajek(igraph, stream);
    case GNN__IGRAPH_NCOL:
        return igraph_read_graph_ncol(igraph, stream, NULL, true, IGRAPH_ADD_WEIGHTS_IF_PRESENT,
                                      IGRAPH_DIRECTED);
    case GNN__IGRAPH_LGL:
        return igraph_read_graph_lgl(igraph, stream, true, IGRAPH_ADD_WEIGHTS_IF_PRESENT,
                                     IGRAPH_DIRECTED);
    case GNN__IGRAPH_DL: return igraph_read_graph_dl(igraph, stream, IGRAPH_DIRECTED);
    case GNN__IGRAPH_DIMACS:
        return igraph_read_graph_dimacs_flow(igraph, stream, NULL, NULL, NULL, NULL, capacity,
                                             IGRAPH_DIRECTED);
    case GNN__IGRAPH_GRAPHDB: return igraph_read_graph_graphdb(igraph, stream, IGRAPH_DIRECTED);
    }
    return IGRAPH_EINVAL;
}

static int read_graph(gnn__read_links_t *links, gnn__igraph_form_t form, FILE *stream,
                      igraph_vector_t *capacity)
{
    igraph_t igraph;
    int rc = call_reader(&igraph, form, stream, capacity);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = take_links(links, &igraph);
    if (rc == GNN_OK)
        rc = form == GNN__IGRAPH_DIMACS ? take_capacities(links, capacity)
                                        : take_weights(links, &igraph);
    igraph_destroy(&igraph);
    return rc;
}

/* Numbers of attributes are read with a decimal point, whatever the program's locale. They are kept
 * by igraph's own attribute handler, not by the program's. */
static int read_stream(gnn__read_links_t *links, gnn__igraph_form_t form, FILE *stream)
{
    igraph_safelocale_t locale;
    igraph_vector_t capacity;
    int rc = igraph_enter_safelocale(&locale);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    const igraph_attribute_table_t *before = igraph_set_attribute_table(&igraph_cattribute_table);
    rc = igraph_vector_init(&capacity, 0);
    if (rc == IGRAPH_SUCCESS) {
        rc = read_graph(links, form, stream, &capacity);
        igraph_vector_destroy(&capacity);
    }
    igraph_set_attribute_table(before);
    igraph_exit_safelocale(&locale);
    return rc;
}

int gnn__igraph_read(gnn__read_links_t *links, gnn__igraph_form_t form, const char *text, int64_t size)
{
    gnn__igraph_call_t call;
    FILE *stream = fmemopen((void *)text, (size_t)size, "r"); /* only read */
    if (!stream)
        return gnn__error(GNN_EMEMORY, "no memory for a stream of %lld bytes", (long long)size);
    gnn__igraph_enter(&call);
    int rc = gnn__igraph_leave(&call, read_stream(links, form, stream));
    fclose(stream);
    return rc <= 0 || rc >= 1000 ? rc : rc == IGRAPH_ENOMEM ? GNN_EMEMORY : GNN_EFORMAT;
}
