/* Graphs from spans of rows of sequences, filled receiver by receiver. */
#include <lib/weights/arch/arch.h>

int gnn__arch_spans_new(gnn__arch_spans_t *spans, int64_t n_dst, int64_t n_src)
{
    *spans = (gnn__arch_spans_t){.n_dst = n_dst, .n_src = n_src};
    if (n_dst > INT32_MAX || n_src > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d rows", INT32_MAX);
    GNN_TRY(gnn__new(&spans->lo, n_dst, sizeof *spans->lo, "spans"));
    return gnn__new(&spans->hi, n_dst, sizeof *spans->hi, "spans");
}

void gnn__arch_span(gnn__arch_spans_t *spans, int64_t lo, int64_t hi)
{
    spans->lo[spans->n] = (int32_t)lo;
    spans->hi[spans->n++] = (int32_t)hi;
}

int gnn__arch_spans_graph(gnn_graph_t **graph, gnn__arch_spans_t *spans, int rc)
{
    while (rc == GNN_OK && spans->n < spans->n_dst)
        gnn__arch_span(spans, spans->n_src, spans->n_src);
    if (rc == GNN_OK)
        rc = gnn_graph_from_spans(graph, spans->n_dst, spans->n_src, spans->receivers,
                                  spans->senders, spans->lo, spans->hi);
    gnn_free(spans->lo);
    gnn_free(spans->hi);
    return rc;
}

int64_t gnn__arch_all_rows(const gnn__arch_sequences_t *s)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < s->count; k++)
        rows += s->lengths[k];
    return rows;
}

int gnn__arch_merged(gnn_graph_t **graph, gnn_graph_t **parts, int64_t n, int rc)
{
    if (rc == GNN_OK)
        rc = gnn_graph_merge(graph, n, (const gnn_graph_t *const *)parts);
    for (int64_t k = 0; k < n; k++)
        gnn_graph_free(parts[k]);
    return rc;
}
