/* GraphML through igraph, from memory: the caller has checked the bytes already. */
#include <graphs/igraph/call.h>
#include <graphs/igraph/read.h>

void gnn__links_free(gnn__links_t *links)
{
    gnn_free(links->a);
    gnn_free(links->b);
    *links = (gnn__links_t){.a = NULL};
}

static int take_links(gnn__links_t *links, const igraph_t *igraph)
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

/* Numbers of attributes are read with a decimal point, whatever the program's locale. They are not
 * kept: the program's attribute handler does not see them. */
static int read_stream(igraph_t *igraph, FILE *stream)
{
    igraph_safelocale_t locale;
    int rc = igraph_enter_safelocale(&locale);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    const igraph_attribute_table_t *before = igraph_set_attribute_table(NULL);
    rc = igraph_read_graph_graphml(igraph, stream, 0);
    igraph_set_attribute_table(before);
    igraph_exit_safelocale(&locale);
    return rc;
}

static int read_graphml(gnn__links_t *links, FILE *stream)
{
    igraph_t igraph;
    GNN_TRY(read_stream(&igraph, stream));
    int rc = take_links(links, &igraph);
    igraph_destroy(&igraph);
    return rc;
}

int gnn__igraph_read_graphml(gnn__links_t *links, const char *text, int64_t size)
{
    gnn__igraph_call_t call;
    FILE *stream = fmemopen((void *)text, (size_t)size, "r"); /* only read */
    if (!stream)
        return gnn__error(GNN_EMEMORY, "no memory for a stream of %lld bytes", (long long)size);
    gnn__igraph_enter(&call);
    int rc = gnn__igraph_leave(&call, read_graphml(links, stream));
    fclose(stream);
    return rc <= 0 || rc >= 1000 ? rc : rc == IGRAPH_ENOMEM ? GNN_EMEMORY : GNN_EFORMAT;
}
