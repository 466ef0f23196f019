/* Attention: of each edge its weight, the mean over heads and the largest of the hops in which the
 * row depends on it. */
#include <lib/explain/explain.h>

#include <lib/model/steps.h>

/* Receivers that are so far that the step's output of them does not reach the row are left out. */
static void take_larger(gnn__explaining_t *e, const gnn_tensor_t *weights, int32_t after)
{
    const gnn__probe_t *p = &e->probe;
    for (int64_t i = 0; i < gnn_graph_n_dst(p->graph); i++)
        for (int64_t part = 0; part < gnn_graph_n_parts(p->graph); part++) {
            gnn_graph_row_t row;
            if ((p->hops >= 0 && p->distance[i] > after) ||
                gnn_graph_row(p->graph, part, i, &row) != GNN_OK)
                continue;
            for (int64_t k = 0; k < row.count; k++) {
                const int64_t edge = gnn_graph_row_edge(&row, k);
                double sum = 0;
                for (int64_t h = 0; edge >= 0 && h < weights->cols; h++)
                    sum += (double)gnn__row(weights, edge)[h];
                sum /= (double)weights->cols;
                if (edge >= 0 && sum > (double)e->edges[edge])
                    e->edges[edge] = (gnn_real_t)sum;
            }
        }
}

static int step_weights(gnn__explaining_t *e, int64_t step, int64_t heads)
{
    const gnn__probe_t *p = &e->probe;
    gnn_real_t *numbers;
    int64_t count;
    if (!gnn__mul(p->n_edges, heads, &count))
        return gnn__error(GNN_EOVERFLOW, "attention of %lld edges", (long long)p->n_edges);
    GNN_TRY(gnn__new(&numbers, count, sizeof *numbers, "attention weights"));
    const gnn_tensor_t weights = gnn_tensor(numbers, p->n_edges, heads);
    const int rc = gnn_model_attention(p->model, p->context, &p->inputs, step, &weights, NULL);
    if (rc == GNN_OK)
        take_larger(e, &weights, p->after[step]);
    gnn_free(numbers);
    return rc;
}

static int run(gnn__explaining_t *e)
{
    const gnn__probe_t *p = &e->probe;
    bool any = false;
    for (int64_t k = 0; k < p->model->n_steps; k++) {
        const gnn__model_step_t *s = &p->model->steps[k];
        const gnn_layer_config_t *c = &s->step.layer;
        if (!s->row->attends || !gnn__scored(c) || p->after[k] < 0 ||
            p->graphs[s->step.graph] != p->graph)
            continue;
        GNN_TRY(step_weights(e, k, c->heads));
        any = true;
    }
    return any ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED,
                            "no step of the model attends over the graph of slot %d", e->config.slot);
}

const gnn__explainer_t gnn__explainer_attention = {.no_features = true, .run = run};
