/* GNNExplainer: masks over edges and features, sigmoids of numbers that are learned so that the
 * prediction stays, few are left and each is nearly 0 or 1. What had no gradient in the first step is
 * out of reach and gets 0, as in PyG. Ying et al. 2019. */
#include <lib/explain/explain.h>

#include <math.h>

/* A mask that is learned. */
typedef struct mask {
    gnn_tensor_t number, d_number; /* the optimiser's */
    uint8_t *live;                 /* had a gradient */
    double size, entropy;          /* factors of one number's terms */
    int64_t count, living;
    int32_t id;
} mask_t;

typedef struct masks {
    gnn_parameters_t *parameters;
    gnn_optimizer_t *optimizer;
    mask_t edges, features; /* .count 0: features are not masked */
} masks_t;

static double value_of(const mask_t *m, int64_t k)
{
    return 1 / (1 + exp(-(double)m->number.data[k]));
}

static int add(masks_t *m, const char *name, int64_t rows, int64_t cols)
{
    int32_t id;
    return gnn_parameters_add(m->parameters, name, rows, cols, GNN_INIT_ZEROS, 0, 0, 0, &id);
}

static int start(mask_t *mask, const masks_t *m, const char *name, double deviation, uint64_t seed)
{
    mask->id = gnn_parameters_find(m->parameters, name);
    mask->number = gnn_parameters_value(m->parameters, mask->id);
    mask->count = mask->number.rows * mask->number.cols;
    for (int64_t k = 0; k < mask->count; k++)
        mask->number.data[k] =
            (gnn_real_t)(deviation * gnn__normal(seed, gnn__hash_string(name), (uint64_t)k));
    return gnn__new(&mask->live, mask->count, 1, "a mask");
}

static int open(masks_t *m, gnn__explain_t *e)
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

/* The number of the features' mask at row r, column c. */
static int64_t place(const mask_t *m, int64_t r, int64_t c)
{
    return (m->number.rows == 1 ? 0 : r) * m->number.cols + c;
}

static void apply(const masks_t *m, gnn__probe_t *p)
{
    for (int64_t k = 0; k < m->edges.count; k++)
        p->mask.data[k] = (gnn_real_t)value_of(&m->edges, k);
    for (int64_t r = 0; m->features.count > 0 && r < p->x.rows; r++)
        for (int64_t c = 0; c < p->x.cols; c++) {
            const gnn_real_t x = gnn__row(&p->x, r)[c];
            gnn__row(&p->x_run, r)[c] =
                x == 0 ? 0 : x * (gnn_real_t)value_of(&m->features, place(&m->features, r, c));
        }
}

/* From the gradients of what the model read to those of the masks. */
static void gather(masks_t *m, const gnn__probe_t *p, const gnn_tensor_t *d_x,
                   const gnn_tensor_t *d_mask)
{
    for (int64_t k = 0; k < m->edges.count; k++)
        m->edges.d_number.data[k] = gnn__row(d_mask, k)[0];
    for (int64_t r = 0; m->features.count > 0 && r < p->x.rows; r++)
        for (int64_t c = 0; c < p->x.cols; c++)
            m->features.d_number.data[place(&m->features, r, c)] +=
                gnn__row(d_x, r)[c] * gnn__row(&p->x, r)[c];
}

/* Who has a gradient takes part in the terms of size and entropy. */
static void mark_live(mask_t *m, double size, bool mean_size, double entropy)
{
    for (int64_t k = 0; k < m->count; k++) {
        m->live[k] = m->d_number.data[k] != 0;
        m->living += m->live[k];
    }
    const double n = (double)gnn__max(m->living, 1);
    m->size = mean_size ? size / n : size;
    m->entropy = entropy / n;
}

/* Adds the derivatives of size and entropy, and goes through the sigmoid: of the entropy of v =
 * sigmoid(u) it is -u. */
static void finish(mask_t *m, bool terms)
{
    for (int64_t k = 0; k < m->count; k++) {
        const double v = value_of(m, k), u = (double)m->number.data[k];
        double d = (double)m->d_number.data[k];
        if (terms && m->live[k])
            d += m->size - m->entropy * u;
        m->d_number.data[k] = (gnn_real_t)(d * v * (1 - v));
    }
}

static int epoch(masks_t *m, gnn__explain_t *e, bool first)
{
    const gnn_explain_config_t *c = &e->config;
    gnn_tensor_t d_x, d_mask;
    apply(m, &e->probe);
    GNN_TRY(gnn__probe_run(&e->probe));
    gnn__target_loss_grad(&e->probe.logits, &e->first, c->loss, e->found->output, e->d_row);
    GNN_TRY(gnn__probe_gradients(&e->probe, e->d_row, &d_x, &d_mask));
    gnn_parameters_zero_gradients(m->parameters);
    m->edges.d_number = gnn_parameters_gradient(m->parameters, m->edges.id);
    if (m->features.count > 0)
        m->features.d_number = gnn_parameters_gradient(m->parameters, m->features.id);
    gather(m, &e->probe, &d_x, &d_mask);
    if (first) {
        mark_live(&m->edges, (double)c->edge_size, false, (double)c->edge_entropy);
        mark_live(&m->features, (double)c->feature_size, true, (double)c->feature_entropy);
    }
    finish(&m->edges, !first);
    finish(&m->features, !first);
    return gnn_optimizer_step(m->optimizer, 1);
}

static int run(gnn__explain_t *e)
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

const gnn__explainer_t gnn__explainer_gnn_explainer = {.gradients = true, .run = run};
