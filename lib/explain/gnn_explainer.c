/* GNNExplainer, Ying et al. 2019: masks over edges and features, sigmoids of learned values,
 * trained to keep the prediction, to be small and to be near 0 or 1. As in PyG, elements without a
 * gradient in the first epoch cannot matter and get 0. */
#include <lib/explain/explain.h>

#include <math.h>

/* A learned mask. */
typedef struct mask {
    gnn_tensor_t logit, d_logit; /* values before the sigmoid, and their gradient */
    uint8_t *live;               /* 1: had a gradient */
    double size, entropy;        /* factors of the terms of one element */
    int64_t count, n_live;
    int32_t id; /* of the parameter */
} mask_t;

typedef struct masks {
    gnn_parameters_t *parameters;
    gnn_optimizer_t *optimizer;
    mask_t edges, features; /* features.count 0: not masked */
} masks_t;

static double value_of(const mask_t *m, int64_t k)
{
    return 1 / (1 + exp(-(double)m->logit.data[k]));
}

static int add(masks_t *m, const char *name, int64_t rows, int64_t cols)
{
    int32_t id;
    return gnn_parameters_add(m->parameters, name, rows, cols, GNN_INIT_ZEROS, 0, 0, 0, &id);
}

static int start(mask_t *mask, const masks_t *m, const char *name, double deviation, uint64_t seed)
{
    mask->id = gnn_parameters_find(m->parameters, name);
    mask->logit = gnn_parameters_value(m->parameters, mask->id);
    mask->count = mask->logit.rows * mask->logit.cols;
    for (int64_t k = 0; k < mask->count; k++)
        mask->logit.data[k] =
            (gnn_real_t)(deviation * gnn__normal(seed, gnn__hash_string(name), (uint64_t)k));
    return gnn__new(&mask->live, mask->count, 1, "a mask");
}

static int open(masks_t *m, gnn__explaining_t *e)
{
    const gnn_explain_config_t *c = &e->config;
    const gnn_tensor_t *features = &e->found->features;
    GNN_TRY(gnn_parameters_new(&m->parameters));
    GNN_TRY(add(m, "edges", gnn__max(e->probe.n_edges, 1), 1));
    if (features->rows > 0)
        GNN_TRY(add(m, "features", features->rows, features->cols));
    GNN_TRY(gnn_parameters_allocate(m->parameters, e->probe.context));
    GNN_TRY(start(&m->edges, m, "edges", sqrt(2.0 / (double)gnn__max(e->probe.n_nodes, 1)), c->seed));
    m->edges.count = e->probe.n_edges;
    if (features->rows > 0)
        GNN_TRY(start(&m->features, m, "features", 0.1, c->seed));
    return gnn_optimizer_new(&m->optimizer, e->probe.context, m->parameters,
                             &(gnn_optimizer_config_t){.kind = GNN_ADAM, .lr = c->lr});
}

static void close(masks_t *m)
{
    gnn_optimizer_free(m->optimizer);
    gnn_parameters_free(m->parameters);
    gnn_free(m->edges.live);
    gnn_free(m->features.live);
}

/* Element of the features' mask for row r, column c. */
static int64_t mask_element(const mask_t *m, int64_t r, int64_t c)
{
    return (m->logit.rows == 1 ? 0 : r) * m->logit.cols + c;
}

static void apply(const masks_t *m, gnn__probe_t *p)
{
    for (int64_t k = 0; k < m->edges.count; k++)
        p->mask.data[k] = (gnn_real_t)value_of(&m->edges, k);
    for (int64_t r = 0; m->features.count > 0 && r < p->x.rows; r++)
        for (int64_t c = 0; c < p->x.cols; c++) {
            const gnn_real_t x = gnn__row(&p->x, r)[c];
            gnn__row(&p->x_run, r)[c] =
                x == 0 ? 0 : x * (gnn_real_t)value_of(&m->features, mask_element(&m->features, r, c));
        }
}

/* Gradients of the masks from those of the model's inputs. */
static void gather(masks_t *m, const gnn__probe_t *p, const gnn_tensor_t *d_x,
                   const gnn_tensor_t *d_mask)
{
    for (int64_t k = 0; k < m->edges.count; k++)
        m->edges.d_logit.data[k] = gnn__row(d_mask, k)[0];
    for (int64_t r = 0; m->features.count > 0 && r < p->x.rows; r++)
        for (int64_t c = 0; c < p->x.cols; c++)
            m->features.d_logit.data[mask_element(&m->features, r, c)] +=
                gnn__row(d_x, r)[c] * gnn__row(&p->x, r)[c];
}

/* Elements with a gradient take part in the terms of size and entropy. */
static void mark_live(mask_t *m, double size, bool mean_size, double entropy)
{
    for (int64_t k = 0; k < m->count; k++) {
        m->live[k] = m->d_logit.data[k] != 0;
        m->n_live += m->live[k];
    }
    const double n = (double)gnn__max(m->n_live, 1);
    m->size = mean_size ? size / n : size;
    m->entropy = entropy / n;
}

/* Adds the derivatives of size and entropy, and applies the sigmoid's. The derivative of the
 * entropy of v = sigmoid(u) by v is -u. */
static void finish(mask_t *m, bool terms)
{
    for (int64_t k = 0; k < m->count; k++) {
        const double v = value_of(m, k), u = (double)m->logit.data[k];
        double d = (double)m->d_logit.data[k];
        if (terms && m->live[k])
            d += m->size - m->entropy * u;
        m->d_logit.data[k] = (gnn_real_t)(d * v * (1 - v));
    }
}

static int epoch(masks_t *m, gnn__explaining_t *e, bool first)
{
    const gnn_explain_config_t *c = &e->config;
    gnn_tensor_t d_x, d_mask;
    apply(m, &e->probe);
    GNN_TRY(gnn__probe_run(&e->probe));
    gnn__target_loss_grad(&e->probe.logits, &e->first, c->loss, e->found->output, e->d_row);
    GNN_TRY(gnn__probe_gradients(&e->probe, e->d_row, &d_x, &d_mask));
    gnn_parameters_zero_gradients(m->parameters);
    m->edges.d_logit = gnn_parameters_gradient(m->parameters, m->edges.id);
    if (m->features.count > 0)
        m->features.d_logit = gnn_parameters_gradient(m->parameters, m->features.id);
    gather(m, &e->probe, &d_x, &d_mask);
    if (first) {
        mark_live(&m->edges, (double)c->edge_size, false, (double)c->edge_entropy);
        mark_live(&m->features, (double)c->feature_size, true, (double)c->feature_entropy);
    }
    finish(&m->edges, !first);
    finish(&m->features, !first);
    return gnn_optimizer_step(m->optimizer, 1);
}

static int run(gnn__explaining_t *e)
{
    masks_t m = {0};
    int rc;
    GNN_CHECK(open(&m, e));
    for (int64_t k = 0; k < e->config.epochs; k++)
        GNN_CHECK(epoch(&m, e, k == 0));
    for (int64_t k = 0; k < m.edges.count; k++)
        e->edges[k] = m.edges.live[k] ? (gnn_real_t)value_of(&m.edges, k) : 0;
    for (int64_t k = 0; k < m.features.count; k++)
        e->found->features.data[k] = m.features.live[k] ? (gnn_real_t)value_of(&m.features, k) : 0;
done:
    close(&m);
    return rc;
}

const gnn__explainer_t gnn__explainer_gnn_explainer = {.gradients = true, .masks = true, .run = run};
