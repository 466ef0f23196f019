/* GraphML, written by igraph. */
#include <lib/base/igraph.h>
#include <lib/data/arrays/text_file.h>

#include <math.h>
#include <stdlib.h>

/* XML holds characters from U+0020 on, tabs and line breaks. */
static bool is_text(const char *name)
{
    int64_t length = (int64_t)strlen(name);
    for (int64_t k = 0, step; k < length; k += step) {
        step = gnn__utf8_length((const unsigned char *)name + k, length - k);
        if (step == 0 || ((unsigned char)name[k] < 32 && !strchr("\t\n\r", name[k])))
            return false;
    }
    return true;
}

static int check(const gnn_graph_t *graph, const char *const *names, const gnn_real_t *weight)
{
    const int64_t n = gnn_graph_n_dst(graph), m = weight ? gnn_graph_n_pairs(graph) : 0;
    if (n != gnn_graph_n_src(graph))
        return gnn__error(
            GNN_ETOPOLOGY,
            "GraphML has one kind of nodes, but the graph has %lld receivers and %lld senders",
            (long long)n, (long long)gnn_graph_n_src(graph));
    for (int64_t k = 0; names && k < n; k++)
        if (!names[k] || !is_text(names[k]))
            return gnn__error(GNN_EINVALID, "the name of node %lld is not UTF-8 text", (long long)k);
    for (int64_t k = 0; k < m; k++)
        if (!isfinite(weight[k]))
            return gnn__error(GNN_ENUMERIC, "the weight of pair %lld is %g", (long long)k,
                              (double)weight[k]);
    return GNN_OK;
}

int gnn_graph_write_graphml(const gnn_graph_t *graph, const char *const *names,
                            const gnn_real_t *weight, const char *path)
{
    GNN__NEED(graph);
    GNN__NEED(path);
    const gnn__igraph_functions_t *igraph;
    gnn__output_t output = {.fd = -1};
    char *text = NULL;
    size_t size = 0;
    int rc;
    GNN_CHECK(check(graph, names, weight));
    GNN_CHECK(gnn__output_open(&output, path));
    rc = gnn__igraph_need(&igraph, "GraphML is written by igraph");
    if (rc != GNN_OK)
        GNN_CHECK(gnn__error_prefix(rc, "%s", gnn__file_name(path)));
    GNN_CHECK(igraph->write_graphml(graph, names, weight, &text, &size));
    GNN_CHECK(gnn__output_write(&output, text, (int64_t)size));
    rc = gnn__output_commit(&output);
done:
    gnn__output_close(&output);
    free(text);
    return rc;
}
