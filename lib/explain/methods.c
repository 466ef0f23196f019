/* Methods of explanation that need no training: gradients, occlusion, attention weights. */
#include <lib/explain/explain.h>
#include <lib/model/steps.h>

#include <math.h>

/* ---- saliency ---- */

/* Saliency, Simonyan et al. 2014: the magnitude of the logit's gradient at the input. */

static int saliency_run(gnn__explaining_t *e)
{
    gnn__probe_t *p = &e->probe;
    gnn_tensor_t *features = &e->found->features;
    gnn_tensor_t d_x, d_mask;
    gnn__target_logit_grad(p->logits.cols, e->config.loss, e->found->output, e->d_row);
    GNN_TRY(gnn__probe_gradients(p, e->d_row, &d_x, &d_mask));
    for (int64_t k = 0; k < p->n_edges; k++)
        e->edges[k] = (gnn_real_t)fabs((double)gnn__row(&d_mask, k)[0]);
    for (int64_t r = 0; d_x.data && r < features->rows; r++)
        for (int64_t c = 0; c < features->cols; c++)
            gnn__row(features, r)[c] = (gnn_real_t)fabs((double)gnn__row(&d_x, r)[c]);
    return GNN_OK;
}

const gnn__explainer_t gnn__explainer_saliency = {.gradients = true, .run = saliency_run};

/* ---- integrated_gradients ---- */

/* Integrated gradients, Sundararajan et al. 2017: x times the mean gradient on the path from 0 to
 * x. For features and for edges separately, the others unchanged, so that each sums to the change
 * of the logit without them. */

static void scale(gnn__probe_t *p, bool edges, double t)
{
    gnn__probe_reset(p);
    for (int64_t k = 0; edges && k < p->n_edges; k++)
        p->mask.data[k] = (gnn_real_t)t;
    for (int64_t k = 0; !edges && k < p->x.rows * p->x.cols; k++)
        p->x_run.data[k] = (gnn_real_t)(t * (double)p->x.data[k]);
}

/* Adds one point of the integral. */
static int add_point(gnn__explaining_t *e, bool edges, double t, double weight)
{
    gnn__probe_t *p = &e->probe;
    gnn_tensor_t d_x, d_mask;
    scale(p, edges, t);
    GNN_TRY(gnn__probe_run(p));
    gnn__target_logit_grad(p->logits.cols, e->config.loss, e->found->output, e->d_row);
    GNN_TRY(gnn__probe_gradients(p, e->d_row, &d_x, &d_mask));
    for (int64_t k = 0; edges && k < p->n_edges; k++)
        e->edges[k] += (gnn_real_t)(weight * (double)gnn__row(&d_mask, k)[0]);
    for (int64_t r = 0; !edges && d_x.data && r < p->x.rows; r++)
        for (int64_t c = 0; c < p->x.cols; c++)
            gnn__row(&e->found->features, r)[c] +=
                (gnn_real_t)(weight * (double)gnn__row(&d_x, r)[c] * (double)gnn__row(&p->x, r)[c]);
    return GNN_OK;
}

static int integrate(gnn__explaining_t *e, bool edges, double *baseline)
{
    const int64_t steps = e->config.steps;
    for (int64_t k = 0; k < steps; k++)
        GNN_TRY(add_point(e, edges, ((double)k + 0.5) / (double)steps, 1 / (double)steps));
    scale(&e->probe, edges, 0);
    GNN_TRY(gnn__probe_run(&e->probe));
    *baseline = gnn__target_logit(&e->probe.logits, e->config.loss, e->found->output);
    return GNN_OK;
}

static int integrated_gradients_run(gnn__explaining_t *e)
{
    gnn_explanation_t *f = e->found;
    f->value = gnn__target_logit(&e->first, e->config.loss, f->output);
    if (f->features.rows > 0)
        GNN_TRY(integrate(e, false, &f->value_without_features));
    return integrate(e, true, &f->value_without_edges);
}

const gnn__explainer_t gnn__explainer_integrated_gradients = {
    .gradients = true, .path = true, .run = integrated_gradients_run};

/* ---- occlusion ---- */

/* Occlusion, Zeiler and Fergus 2014: the loss of probability when one edge, or one column of the
 * features, is removed. */

static int lost_probability(gnn__explaining_t *e, gnn_real_t *lost)
{
    GNN_TRY(gnn__probe_run(&e->probe));
    *lost = (gnn_real_t)(e->found->probability -
                         gnn__target_probability(&e->probe.logits, e->config.loss, e->found->output));
    return GNN_OK;
}

/* Edges whose receiver is as far as the neighbourhood's radius have no effect and are skipped. */
static int edges(gnn__explaining_t *e)
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
                GNN_TRY(lost_probability(e, &e->edges[edge]));
                p->mask.data[edge] = 1;
            }
        }
    return GNN_OK;
}

/* Restores the column or sets it to 0; returns true if it has a value other than 0. */
static bool set_column(gnn__probe_t *p, int64_t c, bool zero)
{
    bool any = false;
    for (int64_t r = 0; r < p->x.rows; r++) {
        any = any || gnn__row(&p->x, r)[c] != 0;
        gnn__row(&p->x_run, r)[c] = zero ? 0 : gnn__row(&p->x, r)[c];
    }
    return any;
}

static int occlusion_run(gnn__explaining_t *e)
{
    gnn_tensor_t *features = &e->found->features;
    GNN_TRY(edges(e));
    for (int64_t c = 0; c < features->cols; c++)
        if (set_column(&e->probe, c, true)) {
            GNN_TRY(lost_probability(e, &features->data[c]));
            set_column(&e->probe, c, false);
        }
    return GNN_OK;
}

const gnn__explainer_t gnn__explainer_occlusion = {.columns = true, .run = occlusion_run};

/* ---- attention ---- */

/* Attention: the weight of each edge, averaged over heads; the largest over the steps on which the
 * row depends. */

/* Receivers too far for this step's output to reach the row are skipped. */
static void max_weights(gnn__explaining_t *e, const gnn_tensor_t *weights, int32_t after)
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
    gnn_real_t *elements;
    int64_t count;
    if (!gnn__mul(p->n_edges, heads, &count))
        return gnn__error(GNN_EOVERFLOW, "attention: the size of %lld x %lld weights overflows",
                          (long long)p->n_edges, (long long)heads);
    GNN_TRY(gnn__new(&elements, count, sizeof *elements, "attention weights"));
    const gnn_tensor_t weights = gnn_tensor(elements, p->n_edges, heads);
    const int rc = gnn_model_attention(p->model, p->context, &p->inputs, step, &weights, NULL);
    if (rc == GNN_OK)
        max_weights(e, &weights, p->after[step]);
    gnn_free(elements);
    return rc;
}

static int attention_run(gnn__explaining_t *e)
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

const gnn__explainer_t gnn__explainer_attention = {.no_features = true, .run = attention_run};
