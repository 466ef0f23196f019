/* Saliency: the size of the logit's gradient at the input. Simonyan et al. 2014. */
#include <lib/explain/explain.h>

#include <math.h>

static int run(gnn__explain_t *e)
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

const gnn__explainer_t gnn__explainer_saliency = {.gradients = true, .run = run};
