/* Fidelity of an explanation: the model is run on the explanation alone and on its complement. */
#include <lib/explain/explain.h>

#include <math.h>
#include <stdlib.h>

typedef struct trial {
    gnn_fidelity_config_t config;
    const gnn_explanation_t *explanation;
    gnn__probe_t probe;
    gnn_real_t *edges;      /* (n_edges of the probe): edge mask; NULL: 1 */
    gnn_real_t *features;   /* (as the explanation's): feature mask; NULL: 1 */
    gnn_tensor_t logits[3]; /* logits (1 x c): unmasked, complement, explanation */
} trial_t;

static int compare(const void *a, const void *b)
{
    const gnn_real_t x = *(const gnn_real_t *)a, y = *(const gnn_real_t *)b;
    return (x < y) - (x > y);
}

/* Sets the `most` largest values to 1 (of equal ones the first), the others to 0. */
static int keep_largest(gnn_real_t *values, int64_t n, int64_t most)
{
    gnn_real_t *sorted;
    GNN_TRY(gnn__new(&sorted, n, sizeof *sorted, "importance"));
    if (n > 0)
        memcpy(sorted, values, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    const int64_t count = gnn__min(most, n);
    const gnn_real_t least = count > 0 ? sorted[count - 1] : 0;
    int64_t above = 0;
    for (int64_t k = 0; k < n; k++)
        above += values[k] > least;
    int64_t ties = count - above;
    for (int64_t k = 0; k < n; k++)
        values[k] = values[k] > least || (values[k] == least && ties-- > 0) ? 1 : 0;
    gnn_free(sorted);
    return GNN_OK;
}

static int make_mask(gnn_real_t *values, int64_t n, int64_t most, const char *what)
{
    for (int64_t k = 0; k < n && most == 0; k++)
        if (!(values[k] >= 0 && values[k] <= 1))
            return gnn__error(
                GNN_EINVALID,
                "fidelity: expected an importance of %s in 0..1, got %g; for others set the count to keep",
                what, (double)values[k]);
    return most > 0 ? keep_largest(values, n, most) : GNN_OK;
}

static int take_masks(trial_t *t)
{
    const gnn_explanation_t *x = t->explanation;
    const int64_t n = t->probe.n_edges, count = x->features.rows * x->features.cols;
    if (t->config.edges >= 0) {
        GNN_TRY(gnn__new(&t->edges, n, sizeof *t->edges, "a mask"));
        for (int64_t k = 0; k < n; k++)
            t->edges[k] = x->edges.data[t->probe.edges[k]];
        GNN_TRY(make_mask(t->edges, n, t->config.edges, "edges"));
    }
    if (t->config.features < 0 || count == 0)
        return GNN_OK;
    GNN_TRY(gnn__new(&t->features, count, sizeof *t->features, "a mask"));
    memcpy(t->features, x->features.data, (size_t)count * sizeof *t->features);
    return make_mask(t->features, count, t->config.features, "features");
}

/* Applies the masks, or (rest) their complement. */
static void apply(trial_t *t, bool complement)
{
    gnn__probe_t *p = &t->probe;
    const int64_t cols = p->x.cols;
    for (int64_t k = 0; t->edges && k < p->n_edges; k++)
        p->mask.data[k] = complement ? 1 - t->edges[k] : t->edges[k];
    for (int64_t k = 0; t->features && k < p->x.rows * cols; k++) {
        const gnn_real_t m = t->features[t->explanation->features.rows == 1 ? k % cols : k];
        p->x_run.data[k] = p->x.data[k] * (complement ? 1 - m : m);
    }
}

static int run(trial_t *t, int which)
{
    gnn_tensor_t *kept = &t->logits[which];
    const int64_t cols = t->probe.logits.cols;
    if (which > 0)
        apply(t, which == 1);
    GNN_TRY(gnn__probe_run(&t->probe));
    GNN_TRY(gnn__new(&kept->data, cols, sizeof *kept->data, "logits"));
    *kept = gnn_tensor(kept->data, 1, cols);
    memcpy(kept->data, t->probe.logits.data, (size_t)cols * sizeof *kept->data);
    return GNN_OK;
}

/* Checks that these are the inputs that were explained. */
static int check_same(const trial_t *t)
{
    const gnn_explanation_t *x = t->explanation;
    const gnn__probe_t *p = &t->probe;
    const bool columns = x->features.cols == 0 || x->features.cols == p->x.cols,
               rows = x->features.rows <= 1 || x->features.rows == p->x.rows;
    int64_t wanted;
    if (x->n_nodes != p->n_nodes || x->n_edges != p->n_edges || !columns || !rows ||
        (p->n_nodes > 0 && memcmp(x->nodes, p->nodes, (size_t)p->n_nodes * sizeof *x->nodes) != 0))
        return gnn__error(
            GNN_EINVALID,
            "fidelity: expected the explained inputs with %lld nodes, %lld edges and %lld features; "
            "got %lld, %lld and %lld, or other nodes",
            (long long)x->n_nodes, (long long)x->n_edges, (long long)x->features.cols,
            (long long)p->n_nodes, (long long)p->n_edges, (long long)p->x.cols);
    return gnn__target(&p->logits, t->config.loss, x->output + 1, &wanted);
}

static void measure(const trial_t *t, gnn_fidelity_t *f)
{
    const gnn_loss_kind_t loss = t->config.loss;
    const int64_t y = t->explanation->output, n = t->probe.n_edges;
    const gnn_tensor_t *all = &t->logits[0], *rest = &t->logits[1], *alone = &t->logits[2];
    const double p = gnn__target_probability(all, loss, y);
    *f = (gnn_fidelity_t){.plus = !gnn__target_predicted(rest, all, loss, y),
                          .minus = !gnn__target_predicted(alone, all, loss, y),
                          .plus_probability = p - gnn__target_probability(rest, loss, y),
                          .minus_probability = p - gnn__target_probability(alone, loss, y),
                          .unfaithfulness = 1 - exp(-gnn__target_divergence(alone, all, loss, y))};
    for (int64_t k = 0; t->edges && k < n; k++)
        f->sparsity += (1 - (double)t->edges[k]) / (double)n;
}

static int try_all(trial_t *t, const gnn_model_t *model, gnn_context_t *context,
                   const gnn_model_inputs_t *inputs)
{
    if (t->config.edges < -1 || t->config.features < -1)
        return gnn__error(GNN_EINVALID,
                          "fidelity: expected counts of edges and features >= -1, got %lld and %lld",
                          (long long)t->config.edges, (long long)t->config.features);
    if (t->config.loss == GNN_LOSS_MEAN_SQUARED)
        return gnn__error(GNN_EUNSUPPORTED,
                          "fidelity needs classes; the loss is that of a regression");
    const gnn__probe_config_t how = {t->explanation->row, t->config.input, t->config.slot, false};
    GNN_TRY(gnn__probe_open(&t->probe, model, context, inputs, &how));
    GNN_TRY(check_same(t));
    GNN_TRY(take_masks(t));
    for (int k = 0; k < 3; k++)
        GNN_TRY(run(t, k));
    return GNN_OK;
}

int gnn_explain_fidelity(const gnn_model_t *model, gnn_context_t *context,
                         const gnn_model_inputs_t *inputs, const gnn_explanation_t *explanation,
                         const gnn_fidelity_config_t *config, gnn_fidelity_t *fidelity)
{
    trial_t t = {.explanation = explanation};
    t.config = config ? *config : (gnn_fidelity_config_t){0};
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(inputs);
    GNN__NEED(explanation);
    GNN__NEED(fidelity);
    const int rc = try_all(&t, model, context, inputs);
    if (rc == GNN_OK)
        measure(&t, fidelity);
    gnn__probe_close(&t.probe);
    gnn_free(t.edges);
    gnn_free(t.features);
    for (int k = 0; k < 3; k++)
        gnn_free(t.logits[k].data);
    return rc;
}
