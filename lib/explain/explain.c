/* Explains a row of a model's output: checks settings, runs the method, maps the result to the
 * caller's ids. */
#include <lib/base/settings.h>
#include <lib/explain/explain.h>

#include <math.h>

static const gnn__explainer_t *const explainers[] = {
#define GNN_EXPLAINER(name, paper, help) &gnn__explainer_##name,
#include <lib/explain/explainers.def>
#undef GNN_EXPLAINER
};

static const gnn_explain_method_t methods[] = {
#define GNN_EXPLAINER(name, paper, help) {#name, paper, help},
#include <lib/explain/explainers.def>
#undef GNN_EXPLAINER
};

const gnn_explain_method_t *gnn_explain_method_at(size_t index)
{
    return index < sizeof methods / sizeof *methods ? &methods[index] : NULL;
}

static const char *name_at(size_t index)
{
    const gnn_explain_method_t *method = gnn_explain_method_at(index);
    return method ? method->name : NULL;
}

static int find_method(gnn__explaining_t *e, const gnn__explainer_t **explainer)
{
    const char *name = e->config.method ? e->config.method : methods[0].name;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
        if (strcmp(methods[k].name, name) == 0) {
            e->found->method = methods[k].name;
            *explainer = explainers[k];
            return GNN_OK;
        }
    return gnn__unknown_name("method of explanation", name, name_at);
}

/* ---- settings ---- */

static int check_number(const char *name, gnn_real_t *value, double initial)
{
    const double v = gnn__setting(*value, initial);
    if (!(v >= 0) || isinf(v))
        return gnn__error(GNN_EINVALID, "explanation: %s: expected a finite value >= 0, got %g",
                          name, v);
    *value = (gnn_real_t)v;
    return GNN_OK;
}

static int check_count(const char *name, int64_t *value, int64_t initial)
{
    enum { MOST = 1000000 };
    *value = *value == 0 ? initial : *value;
    if (*value < 1 || *value > MOST)
        return gnn__error(GNN_EINVALID, "explanation: %s: expected 1 to %d, got %lld", name, MOST,
                          (long long)*value);
    return GNN_OK;
}

static int check_unread(const gnn_explain_config_t *c, const gnn__explainer_t *explainer,
                        const char *method)
{
    enum { MASKS = 1, PATH = 2 };
    const unsigned reads = (explainer->masks ? MASKS : 0) | (explainer->path ? PATH : 0);
    const gnn__setting_use_t uses[] = {{"features", c->features != GNN_EXPLAIN_EACH, MASKS},
                                       {"epochs", c->epochs != 0, MASKS},
                                       {"lr", c->lr != 0, MASKS},
                                       {"edge_size", c->edge_size != 0, MASKS},
                                       {"edge_entropy", c->edge_entropy != 0, MASKS},
                                       {"feature_size", c->feature_size != 0, MASKS},
                                       {"feature_entropy", c->feature_entropy != 0, MASKS},
                                       {"steps", c->steps != 0, PATH},
                                       {"seed", c->seed != 0, MASKS}};
    const char *unread = gnn__unread_setting(uses, sizeof uses / sizeof *uses, reads);
    if (unread)
        return gnn__error(GNN_EINVALID, "explanation: method \"%s\" reads no %s", method, unread);
    if (c->features == GNN_EXPLAIN_NONE && (c->feature_size != 0 || c->feature_entropy != 0))
        return gnn__error(GNN_EINVALID,
                          "explanation: feature_size and feature_entropy are given, but no mask of "
                          "features (features = GNN_EXPLAIN_NONE)");
    return GNN_OK;
}

static int resolve(gnn_explain_config_t *c)
{
    if ((int)c->features < 0 || c->features > GNN_EXPLAIN_NONE)
        return gnn__error(GNN_EINVALID, "explanation: features: expected 0 to %d, got %d",
                          (int)GNN_EXPLAIN_NONE, (int)c->features);
    if ((int)c->loss < 0 || c->loss > GNN_LOSS_MEAN_SQUARED)
        return gnn__error(GNN_EINVALID, "explanation: loss: expected 0 to %d, got %d",
                          (int)GNN_LOSS_MEAN_SQUARED, (int)c->loss);
    GNN_TRY(check_count("epochs", &c->epochs, 100));
    GNN_TRY(check_count("steps", &c->steps, 50));
    GNN_TRY(check_number("lr", &c->lr, 0.01));
    GNN_TRY(check_number("edge_size", &c->edge_size, 0.005));
    GNN_TRY(check_number("edge_entropy", &c->edge_entropy, 1));
    GNN_TRY(check_number("feature_size", &c->feature_size, 1));
    return check_number("feature_entropy", &c->feature_entropy, 0.1);
}

/* ---- the result ---- */

static int new_tensor(gnn_tensor_t *t, int64_t rows, int64_t cols)
{
    int64_t count;
    if (!gnn__mul(rows, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "an explanation: the size of %lld x %lld overflows",
                          (long long)rows, (long long)cols);
    GNN_TRY(gnn__new(&t->data, count, sizeof *t->data, "an explanation"));
    *t = gnn_tensor(t->data, rows, cols);
    return GNN_OK;
}

static int allocate_result(gnn__explaining_t *e, const gnn__explainer_t *explainer)
{
    gnn_explanation_t *f = e->found;
    const gnn__probe_t *p = &e->probe;
    const bool columns = explainer->columns || e->config.features == GNN_EXPLAIN_COMMON;
    GNN_TRY(gnn__new(&e->edges, p->n_edges, sizeof *e->edges, "an explanation"));
    GNN_TRY(gnn__new(&e->d_row, p->logits.cols, sizeof *e->d_row, "an explanation"));
    GNN_TRY(new_tensor(&e->first, 1, p->logits.cols));
    GNN_TRY(new_tensor(&f->logits, 1, p->logits.cols));
    GNN_TRY(new_tensor(&f->edges, gnn_graph_n_edges(p->given->graphs[e->config.slot]), 1));
    if (p->features < 0 || explainer->no_features || e->config.features == GNN_EXPLAIN_NONE)
        return GNN_OK;
    return new_tensor(&f->features, columns ? 1 : p->x.rows, p->x.cols);
}

/* Writes the importance to the caller's edges; the result takes over the probe's id arrays. */
static void write_result(gnn__explaining_t *e)
{
    gnn_explanation_t *f = e->found;
    gnn__probe_t *p = &e->probe;
    for (int64_t k = 0; k < p->n_edges; k++)
        f->edges.data[p->edges[k]] = e->edges[k];
    f->hops = p->hops;
    f->n_nodes = p->n_nodes;
    f->nodes = p->nodes;
    f->n_edges = p->n_edges;
    f->edge_numbers = p->edges;
    p->nodes = p->edges = NULL;
}

static int run_unmasked(gnn__explaining_t *e)
{
    gnn_explanation_t *f = e->found;
    GNN_TRY(gnn__probe_run(&e->probe));
    memcpy(e->first.data, e->probe.logits.data, (size_t)e->first.cols * sizeof(gnn_real_t));
    memcpy(f->logits.data, e->first.data, (size_t)e->first.cols * sizeof(gnn_real_t));
    for (int64_t c = 0; c < e->first.cols; c++)
        if (!isfinite(e->first.data[c]))
            return gnn__error(GNN_ENUMERIC, "row %lld of the output is not finite: %g in column %lld",
                              (long long)f->row, (double)e->first.data[c], (long long)c);
    GNN_TRY(gnn__target(&e->first, e->config.loss, e->config.output, &f->output));
    f->probability = gnn__target_probability(&e->first, e->config.loss, f->output);
    return GNN_OK;
}

static int explain(gnn__explaining_t *e, const gnn_model_t *model, gnn_context_t *context,
                   const gnn_model_inputs_t *inputs)
{
    const gnn__explainer_t *explainer = NULL;
    GNN_TRY(find_method(e, &explainer));
    GNN_TRY(check_unread(&e->config, explainer, e->found->method));
    GNN_TRY(resolve(&e->config));
    const gnn__probe_config_t how = {e->found->row, e->config.input, e->config.slot,
                                     explainer->gradients};
    GNN_TRY(gnn__probe_open(&e->probe, model, context, inputs, &how));
    GNN_TRY(allocate_result(e, explainer));
    GNN_TRY(run_unmasked(e));
    GNN_TRY(explainer->run(e));
    write_result(e);
    return GNN_OK;
}

int gnn_explain(gnn_explanation_t **explanation, const gnn_model_t *model, gnn_context_t *context,
                const gnn_model_inputs_t *inputs, int64_t row, const gnn_explain_config_t *config)
{
    gnn__explaining_t e = {0};
    e.config = config ? *config : (gnn_explain_config_t){0};
    GNN__NEED(explanation);
    *explanation = NULL;
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(inputs);
    GNN_TRY(gnn__new(&e.found, 1, sizeof *e.found, "an explanation"));
    e.found->row = row;
    const int rc = explain(&e, model, context, inputs);
    gnn__probe_close(&e.probe);
    gnn_free(e.edges);
    gnn_free(e.d_row);
    gnn_free(e.first.data);
    if (rc == GNN_OK)
        *explanation = e.found;
    else
        gnn_explanation_free(e.found);
    return rc;
}

void gnn_explanation_free(gnn_explanation_t *explanation)
{
    if (!explanation)
        return;
    gnn_free((void *)explanation->nodes);
    gnn_free((void *)explanation->edge_numbers);
    gnn_free(explanation->edges.data);
    gnn_free(explanation->features.data);
    gnn_free(explanation->logits.data);
    gnn_free(explanation);
}
