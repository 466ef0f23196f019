/* Integrated gradients: x times the mean gradient on the way from 0 to x. Features and edges each for
 * themselves, the other ones whole, so that each adds up to what the logit loses without them.
 * Sundararajan et al. 2017. */
#include <lib/explain/explain.h>

static void scale(gnn__probe_t *p, bool edges, double t)
{
    gnn__probe_reset(p);
    for (int64_t k = 0; edges && k < p->n_edges; k++)
        p->mask.data[k] = (gnn_real_t)t;
    for (int64_t k = 0; !edges && k < p->x.rows * p->x.cols; k++)
        p->x_run.data[k] = (gnn_real_t)(t * (double)p->x.data[k]);
}

/* Adds one point of the integral. */
static int point(gnn__explain_t *e, bool edges, double t, double weight)
{
    gnn__probe_t *p = &e->probe;
    gnn_tensor_t d_x, d_mask;
    scale(p, edges, t);
    GNN_TRY(gnn__probe_run(p));
    gnn__target_logit_grad(p->logits.cols, e->config.loss, e->found->output, e->d_row);
    GNN_TRY(gnn__probe_gradients(p, e->d_row, &d_x, &d_mask));
    for (int64_t k = 0; edges && k < p->n_edges; k++)
        e->edges[k] += (gnn_real_t)(weight * (double)gnn__row(&d_mask, k)[0]);
    for (int64_t r = 0; !edges && r < p->x.rows; r++)
        for (int64_t c = 0; c < p->x.cols; c++)
            gnn__row(&e->found->features, r)[c] +=
                (gnn_real_t)(weight * (double)gnn__row(d_x.data ? &d_x : &p->x, r)[c] *
                             (double)gnn__row(&p->x, r)[c]);
    return GNN_OK;
}

static int integrate(gnn__explain_t *e, bool edges, double *nothing)
{
    const int64_t steps = e->config.steps;
    for (int64_t k = 0; k < steps; k++)
        GNN_TRY(point(e, edges, ((double)k + 0.5) / (double)steps, 1 / (double)steps));
    scale(&e->probe, edges, 0);
    GNN_TRY(gnn__probe_run(&e->probe));
    *nothing = gnn__target_logit(&e->probe.logits, e->config.loss, e->found->output);
    return GNN_OK;
}

static int run(gnn__explain_t *e)
{
    gnn_explanation_t *f = e->found;
    f->value = gnn__target_logit(&e->first, e->config.loss, f->output);
    if (f->features.rows > 0)
        GNN_TRY(integrate(e, false, &f->value_without_features));
    return integrate(e, true, &f->value_without_edges);
}

const gnn__explainer_t gnn__explainer_integrated_gradients = {.gradients = true, .run = run};
