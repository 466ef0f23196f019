/* Occlusion: what the probability loses when one edge, or one column of the features, is taken away.
 * Zeiler and Fergus 2014. */
#include <lib/explain/explain.h>

static int loss_of(gnn__explain_t *e, gnn_real_t *lost)
{
    GNN_TRY(gnn__probe_run(&e->probe));
    *lost = (gnn_real_t)(e->found->probability -
                         gnn__target_probability(&e->probe.logits, e->config.loss, e->found->output));
    return GNN_OK;
}

/* Edges whose receiver is farther than all hops but one are not heard. */
static int edges(gnn__explain_t *e)
{
    gnn__probe_t *p = &e->probe;
    const gnn_graph_t *graph = p->graph;
    for (int64_t part = 0; part < gnn_graph_n_parts(graph); part++)
        for (int64_t i = 0; i < gnn_graph_n_dst(graph); i++) {
            gnn_graph_row_t row;
            GNN_TRY(gnn_graph_row(graph, part, i, &row));
            for (int64_t k = 0; k < row.count; k++) {
                const int64_t edge = gnn_graph_row_edge(&row, k);
                if (edge < 0 || (p->hops >= 0 && p->distance[i] >= p->hops))
                    continue;
                p->mask.data[edge] = 0;
                GNN_TRY(loss_of(e, &e->edges[edge]));
                p->mask.data[edge] = 1;
            }
        }
    return GNN_OK;
}

/* Writes the column anew, or zeros; says whether it holds anything. */
static bool set_column(gnn__probe_t *p, int64_t c, bool zero)
{
    bool any = false;
    for (int64_t r = 0; r < p->x.rows; r++) {
        any = any || gnn__row(&p->x, r)[c] != 0;
        gnn__row(&p->x_run, r)[c] = zero ? 0 : gnn__row(&p->x, r)[c];
    }
    return any;
}

static int run(gnn__explain_t *e)
{
    gnn_tensor_t *features = &e->found->features;
    GNN_TRY(edges(e));
    for (int64_t c = 0; c < features->cols; c++)
        if (set_column(&e->probe, c, true)) {
            GNN_TRY(loss_of(e, &features->data[c]));
            set_column(&e->probe, c, false);
        }
    return GNN_OK;
}

const gnn__explainer_t gnn__explainer_occlusion = {.columns = true, .run = run};
