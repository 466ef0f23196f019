/* Node classification on one graph: a source of one batch for the loop, and evaluation on a part of
 * a split. Regression and multi-label targets and dropped edges use the same source. */
#include <graphs/halo.h>
#include <lib/data/data.h>
#include <lib/train/drop_edges.h>
#include <lib/train/links.h>
#include <lib/train/train.h>
#include <math.h>

typedef struct {
    gnn__source_state_t base;
    gnn_batch_t batches[2];    /* training, validation */
    gnn__data_input_t *inputs; /* (n_values) of the set */
    gnn_named_t *values;
    int64_t n_values;
    const gnn_graph_t **graphs; /* by slot: the set's graph, or its graphs of slots */
    gnn_tensor_t targets;       /* one-hot, for losses of real targets */
    const gnn_model_t *model;
    const gnn_data_t *data;
    /* with dropped edges: the remaining graph, its inputs, and rows of edge arrays */
    gnn__drop_t drop;
    gnn_named_t *left_values;
    const gnn_graph_t **left_graphs;
    gnn_tensor_t *left_rows;
    /* over ranks: the graph of this rank, and its rows of the inputs and of the targets */
    gnn_graph_t **own_graphs; /* by slot; NULL: that of slot 0 */
    bool split;
    gnn_tensor_t *own_rows, own_targets;
    gnn_sparse_t own_sparse;
    const void **own_inputs; /* (n_values) those with rows of nodes */
    int64_t n_own;
    int64_t first; /* row; 0 without ranks */
} nodes_t;

/* Gathers rows of edge arrays for the remaining edges. */
static void gather_left(nodes_t *nodes)
{
    for (int64_t v = 0; v < nodes->n_values; v++) {
        const gnn_tensor_t *from = nodes->values[v].dense;
        gnn_tensor_t *to = &nodes->left_rows[v];
        if (!to->data)
            continue;
        to->rows = nodes->drop.count;
        for (int64_t k = 0; k < to->rows; k++)
            memcpy(gnn__row(to, k), gnn__row(from, nodes->drop.kept[k]),
                   (size_t)from->cols * sizeof *from->data);
    }
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    nodes_t *nodes = user;
    (void)index;
    *batch = nodes->batches[part];
    if (part != GNN_TRAIN || !nodes->left_graphs)
        return GNN_OK;
    GNN_TRY(gnn__drop_draw(&nodes->drop, epoch));
    for (int slot = 0; slot < batch->inputs.n_graphs; slot++) {
        GNN_TRY(gnn_model_prepare(nodes->model, slot, nodes->drop.graph, GNN_ON));
        nodes->left_graphs[slot] = nodes->drop.graph;
    }
    gather_left(nodes);
    batch->inputs.graphs = nodes->left_graphs;
    batch->inputs.values = nodes->left_values;
    return GNN_OK;
}

static int check_data(const gnn_model_t *model, const gnn_data_t *data, int64_t split,
                      gnn_metric_t metric)
{
    const bool two = metric == GNN_METRIC_ROC_AUC || metric == GNN_METRIC_AVERAGE_PRECISION;
    if (!model || !data)
        return gnn__error(GNN_EINVALID, "node classification: model and data must be given");
    if (split < 0 || split >= gnn_data_splits(data))
        return gnn__error(GNN_EINVALID, "split %lld was asked for, the data has %lld",
                          (long long)split, (long long)gnn_data_splits(data));
    if (gnn_data_classes(data) == 1)
        return gnn__error(GNN_EINVALID, "\"%s\" has one class, there is nothing to tell apart",
                          gnn_data_name(data));
    if (two && gnn_data_classes(data) != 2)
        return gnn__error(GNN_EINVALID, "%s tells two classes apart, the set has %lld",
                          metric == GNN_METRIC_ROC_AUC ? "ROC AUC" : "average precision",
                          (long long)gnn_data_classes(data));
    return GNN_OK;
}

bool gnn__runs_on_slots(const gnn_model_t *model, const gnn_data_t *data)
{
    const int64_t count = gnn_data_graph_count(data);
    return count > 0 && count == gnn_model_graph_count(model);
}

static gnn_graph_t *graph_of(const gnn_model_t *model, const gnn_data_t *data, int slot)
{
    return gnn__runs_on_slots(model, data) ? gnn_data_graph_at(data, slot) : gnn_data_graph(data);
}

/* A set with graphs of slots is for models with as many slots; its single graph is for models with
 * one. */
static int check_slots(const gnn_model_t *model, const gnn_data_t *data,
                       const gnn_train_config_t *config)
{
    const int slots = gnn_model_graph_count(model);
    if (gnn_data_graph_count(data) == 0 || (slots <= 1 && !gnn__runs_on_slots(model, data)))
        return GNN_OK;
    if (!gnn__runs_on_slots(model, data))
        return gnn__error(GNN_EINVALID,
                          "the model runs on %d graph slots, the set has graphs for %lld", slots,
                          (long long)gnn_data_graph_count(data));
    if (config && (config->sampling || config->drop_edge != 0 || config->drop_node != 0))
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s on a set with graphs for %d slots: training is on "
                          "all of them",
                          config->sampling ? "samples" : "dropped edges and nodes", slots);
    return GNN_OK;
}

/* Fills `nodes` with all inputs that a model may name; the caller must not move the struct. */
static int inputs_of(nodes_t *nodes, const gnn_model_t *model, const gnn_data_t *data,
                     gnn_model_inputs_t *inputs)
{
    int64_t n;
    GNN_TRY(check_slots(model, data, NULL));
    GNN_TRY(gnn__data_inputs(&nodes->inputs, &n, data));
    GNN_TRY(gnn__new(&nodes->values, n, sizeof *nodes->values, "a model's inputs"));
    for (; nodes->n_values < n; nodes->n_values++)
        nodes->values[nodes->n_values] = nodes->inputs[nodes->n_values].whole;
    const int slots = gnn_model_graph_count(model);
    GNN_TRY(gnn__new(&nodes->graphs, slots, sizeof(gnn_graph_t *), "a model's graphs"));
    for (int k = 0; k < slots; k++)
        nodes->graphs[k] = graph_of(model, data, k);
    *inputs = (gnn_model_inputs_t){.graphs = nodes->graphs,
                                   .n_graphs = slots,
                                   .values = nodes->values,
                                   .n_values = nodes->n_values};
    return GNN_OK;
}

/* ---- over ranks: all hold the set, each computes its own rows ---- */

static gnn_tensor_t own_window(const gnn__ranks_t *ranks, const gnn_tensor_t *t)
{
    return (gnn_tensor_t){gnn__row(t, ranks->lo), ranks->hi - ranks->lo, t->cols, t->stride};
}

/* Rows of nodes become those of this rank; others stay whole. */
static void own_input(nodes_t *nodes, const gnn__ranks_t *ranks, int64_t v)
{
    gnn_named_t *value = &nodes->values[v];
    const void *own = NULL;
    if (nodes->inputs[v].place != GNN_ON_NODES)
        return;
    if (value->dense) {
        nodes->own_rows[v] = own_window(ranks, value->dense);
        own = value->dense = &nodes->own_rows[v];
    } else if (value->sparse) {
        nodes->own_sparse = (gnn_sparse_t){ranks->hi - ranks->lo, value->sparse->cols,
                                           value->sparse->indptr + ranks->lo,
                                           value->sparse->indices, value->sparse->values};
        own = value->sparse = &nodes->own_sparse;
    } else if (value->ids) {
        own = value->ids += ranks->lo;
        value->count = ranks->hi - ranks->lo;
    }
    nodes->own_inputs[nodes->n_own++] = own;
}

/* The weights of rows are degrees over the graphs of all slots. */
static int split_rows(const nodes_t *nodes, gnn__ranks_t *ranks, int64_t slots)
{
    const int64_t n = gnn_data_nodes(nodes->data);
    int64_t *degree;
    int rc;
    GNN_TRY(gnn__new(&degree, n, sizeof *degree, "degrees"));
    for (int slot = 0; slot < slots; slot++) {
        const gnn_graph_t *graph = nodes->graphs[slot];
        if (graph->n_dst != n || graph->n_src != n)
            GNN_CHECK(gnn__error(GNN_EUNSUPPORTED,
                                 "ranks: expected graphs of all %lld nodes, that of slot %d has "
                                 "%lld receivers and %lld senders",
                                 (long long)n, slot, (long long)graph->n_dst,
                                 (long long)graph->n_src));
        for (int64_t i = 0; i < n && (slot == 0 || graph != nodes->graphs[0]); i++)
            degree[i] += graph->base.degree[i];
    }
    rc = gnn__ranks_split_rows(ranks, n, degree);
done:
    gnn_free(degree);
    return rc;
}

/* One graph of this rank per graph of the set: slots may share one. */
static int own_graphs(nodes_t *nodes, gnn__ranks_t *ranks, int64_t slots)
{
    const bool several = gnn__runs_on_slots(nodes->model, nodes->data);
    GNN_TRY(gnn__new(&nodes->own_graphs, slots, sizeof(gnn_graph_t *), "a model's graphs"));
    for (int slot = 0; slot < slots; slot++) {
        if (slot == 0 || several)
            GNN_TRY(gnn__halo_new(&nodes->own_graphs[slot],
                                  graph_of(nodes->model, nodes->data, slot), ranks));
        nodes->graphs[slot] = nodes->own_graphs[several ? slot : 0];
    }
    return GNN_OK;
}

static int split_inputs(nodes_t *nodes, const gnn_context_t *context, gnn_model_inputs_t *inputs)
{
    gnn__ranks_t *ranks = context->ranks;
    if (!ranks)
        return GNN_OK;
    GNN_TRY(gnn__ranks_same_data(ranks, nodes->data));
    GNN_TRY(gnn__ranks_same_weights(ranks, context, nodes->model));
    GNN_TRY(split_rows(nodes, ranks, inputs->n_graphs));
    GNN_TRY(own_graphs(nodes, ranks, inputs->n_graphs));
    nodes->split = true;
    nodes->first = ranks->lo;
    GNN_TRY(gnn__new(&nodes->own_rows, nodes->n_values, sizeof *nodes->own_rows, "inputs"));
    GNN_TRY(gnn__new(&nodes->own_inputs, nodes->n_values, sizeof(void *), "inputs"));
    for (int64_t v = 0; v < nodes->n_values; v++)
        own_input(nodes, ranks, v);
    ranks->own = nodes->own_inputs;
    ranks->n_own = nodes->n_own;
    return GNN_OK;
}

static int prepare_own(const nodes_t *nodes, gnn_flag_t backward)
{
    for (int slot = 0; nodes->split && slot < gnn_model_graph_count(nodes->model); slot++)
        GNN_TRY(gnn_model_prepare(nodes->model, slot,
                                  nodes->own_graphs[nodes->own_graphs[slot] ? slot : 0], backward));
    return GNN_OK;
}

static void free_nodes(nodes_t *nodes)
{
    for (int slot = 0; nodes->own_graphs && slot < gnn_model_graph_count(nodes->model); slot++)
        gnn_graph_free(nodes->own_graphs[slot]);
    gnn_free(nodes->own_graphs);
    gnn_free(nodes->own_inputs);
    gnn_free(nodes->own_rows);
    gnn_free(nodes->inputs);
    gnn_free(nodes->values);
    gnn_free(nodes->graphs);
    gnn_free(nodes->targets.data);
    for (int64_t v = 0; nodes->left_rows && v < nodes->n_values; v++)
        gnn_free(nodes->left_rows[v].data);
    gnn_free(nodes->left_rows);
    gnn_free(nodes->left_values);
    gnn_free(nodes->left_graphs);
    gnn__drop_close(&nodes->drop);
}

static int make_targets(nodes_t *nodes, const gnn_data_t *data)
{
    const int32_t *labels = gnn_data_labels(data);
    int64_t count;
    if (!gnn__mul(gnn_data_nodes(data), gnn_data_classes(data), &count))
        return gnn__error(GNN_EOVERFLOW, "targets of %lld nodes and %lld classes do not fit",
                          (long long)gnn_data_nodes(data), (long long)gnn_data_classes(data));
    GNN_TRY(gnn__new(&nodes->targets.data, count, sizeof *nodes->targets.data, "one-hot targets"));
    nodes->targets = gnn_tensor(nodes->targets.data, gnn_data_nodes(data), gnn_data_classes(data));
    for (int64_t i = 0; i < gnn_data_nodes(data); i++)
        if (labels[i] >= 0 && labels[i] < gnn_data_classes(data))
            gnn__row(&nodes->targets, i)[labels[i]] = 1;
    return GNN_OK;
}

/* Allocates the remaining graph of a step, with the size of the whole. */
static int open_drop(nodes_t *nodes, const gnn_train_config_t *config, uint64_t seed)
{
    const int slots = gnn_model_graph_count(nodes->model);
    const int64_t edges = gnn_graph_n_edges(gnn_data_graph(nodes->data));
    GNN_TRY(gnn__drop_open(&nodes->drop, gnn_data_graph(nodes->data), (double)config->drop_edge,
                           (double)config->drop_node, seed));
    GNN_TRY(gnn__new(&nodes->left_rows, nodes->n_values, sizeof *nodes->left_rows, "inputs"));
    GNN_TRY(gnn__new(&nodes->left_values, nodes->n_values, sizeof *nodes->left_values, "inputs"));
    memcpy(nodes->left_values, nodes->values, (size_t)nodes->n_values * sizeof *nodes->values);
    for (int64_t v = 0; v < nodes->n_values; v++) {
        const gnn_tensor_t *whole = nodes->values[v].dense;
        int64_t count;
        if (nodes->inputs[v].place != GNN_ON_EDGES)
            continue;
        if (!gnn__mul(edges, whole->cols, &count))
            return gnn__error(GNN_EOVERFLOW, "%lld rows of edges do not fit", (long long)edges);
        gnn_tensor_t *rows = &nodes->left_rows[v];
        GNN_TRY(gnn__new(&rows->data, count, sizeof *rows->data, "rows of edges"));
        *rows = gnn_tensor(rows->data, edges, whole->cols);
        nodes->left_values[v].dense = rows;
    }
    return gnn__new(&nodes->left_graphs, slots, sizeof(gnn_graph_t *), "a model's graphs");
}

static int make_batches(nodes_t *nodes, const gnn_model_t *model, const gnn_context_t *context,
                        const gnn_data_t *data, const gnn_train_config_t *config)
{
    const int32_t *labels = config->targets ? NULL : gnn_data_labels(data);
    gnn_model_inputs_t inputs;
    const gnn_tensor_t *targets = NULL;
    nodes->model = model;
    nodes->data = data;
    GNN_TRY(inputs_of(nodes, model, data, &inputs));
    GNN_TRY(split_inputs(nodes, context, &inputs));
    GNN_TRY(prepare_own(nodes, GNN_ON));
    if (config->targets) {
        targets = gnn_data_rows(data, GNN_ON_NODES, config->targets);
    } else if (config->loss != GNN_LOSS_CROSS_ENTROPY) {
        GNN_TRY(make_targets(nodes, data));
        targets = &nodes->targets;
    }
    if (targets && nodes->split) {
        nodes->own_targets = own_window(context->ranks, targets);
        targets = &nodes->own_targets;
    }
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++) {
        nodes->batches[part] =
            (gnn_batch_t){.inputs = inputs,
                          .loss = {.kind = config->loss,
                                   .labels = labels ? labels + nodes->first : NULL,
                                   .targets = targets,
                                   .mask = gnn__train_mask(data, config, part) + nodes->first,
                                   .label_smoothing = part == GNN_TRAIN ? config->label_smoothing : 0,
                                   .class_weight = config->class_weight}};
    }
    return GNN_OK;
}

/* Rejects class weights without a mean, and training nodes without a class. */
static int check_targets(const gnn_data_t *data, const gnn_train_config_t *config)
{
    const int32_t *labels = gnn_data_labels(data);
    const uint8_t *mask = gnn__train_mask(data, config, GNN_TRAIN);
    const gnn_real_t *weight = config->class_weight;
    if (!gnn__any_marked(mask, gnn_data_nodes(data)))
        return gnn__error(GNN_EINVALID, "split %lld of \"%s\" has no training nodes",
                          (long long)config->split, gnn_data_name(data));
    double sum = 0;
    bool labelled = false;
    for (int64_t c = 0; weight && c < gnn_data_classes(data); c++)
        if (!(weight[c] >= 0) || !isfinite(weight[c]))
            return gnn__error(GNN_EINVALID, "class_weight[%lld] is %g, a number from 0 is expected",
                              (long long)c, (double)weight[c]);
    for (int64_t i = 0; i < gnn_data_nodes(data); i++)
        if (mask[i] && labels[i] >= 0) {
            labelled = true;
            sum += weight ? (double)weight[labels[i]] : 1;
        }
    if (!labelled || sum <= 0)
        return gnn__error(GNN_EINVALID, "split %lld of \"%s\" has no training nodes%s",
                          (long long)config->split, gnn_data_name(data),
                          labelled ? " whose class weighs anything" : " with a label");
    return GNN_OK;
}

/* Rejects missing targets, targets that the loss cannot use, and splits without training nodes. */
static int check_numbers(const gnn_data_t *data, const gnn_train_config_t *config)
{
    if (!gnn_data_rows(data, GNN_ON_NODES, config->targets))
        return gnn__error(GNN_EINVALID, "no array of reals on nodes is called \"%s\"",
                          config->targets);
    if (config->loss == GNN_LOSS_CROSS_ENTROPY || config->sampling)
        return gnn__error(GNN_EUNSUPPORTED, "targets are for %s",
                          config->sampling
                              ? "training on the whole graph, not on samples"
                              : "binary cross-entropy and squared error, not cross-entropy");
    if (!gnn__any_marked(gnn__train_mask(data, config, GNN_TRAIN), gnn_data_nodes(data)))
        return gnn__error(GNN_EINVALID, "no node of \"%s\" is in the training's part",
                          gnn_data_name(data));
    return GNN_OK;
}

static void free_source(gnn__source_state_t *state)
{
    free_nodes((nodes_t *)state);
    gnn_free(state);
}

static const gnn__source_kind_t of_nodes = {"gnn_source_of_data", free_source};

static int open_nodes(nodes_t *nodes, const gnn_model_t *model, gnn_context_t *context,
                      gnn_data_t *data, const gnn_train_config_t *config)
{
    const bool drops = config->drop_edge != 0 || config->drop_node != 0;
    if (context->ranks && drops)
        return gnn__error(GNN_EUNSUPPORTED, "ranks: drop_edge and drop_node are not supported");
    for (int slot = 0; !context->ranks && slot < gnn_model_graph_count(model); slot++)
        GNN_TRY(gnn_model_prepare(model, slot, graph_of(model, data, slot), GNN_ON));
    GNN_TRY(make_batches(nodes, model, context, data, config));
    gnn_source_t *source = &nodes->base.source;
    source->count[GNN_TRAIN] = 1;
    source->count[GNN_VALIDATION] =
        gnn__any_marked(gnn__train_mask(data, config, GNN_VALIDATION), gnn_data_nodes(data));
    source->identity = gnn__identify_data(data, config);
    source->fixed = drops ? GNN_OFF : GNN_ON;
    return drops ? open_drop(nodes, config, gnn_context_seed(context)) : GNN_OK;
}

/* Full batch: one step per epoch. */
static int source_of_whole(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                           gnn_data_t *data, const gnn_train_config_t *config)
{
    nodes_t *nodes;
    GNN_TRY(gnn__new(&nodes, 1, sizeof *nodes, "a source of batches"));
    nodes->base = gnn__source_state(&of_nodes, &nodes->base, get);
    return gnn__source_finish(source, &nodes->base, open_nodes(nodes, model, context, data, config));
}

/* One step per batch of pairs. */
static int source_of_links(gnn_source_t **source, const gnn_model_t *model, const gnn_data_t *data,
                           const gnn_train_config_t *config)
{
    const gnn_link_source_config_t how = {
        .seed = config->sampling ? config->sampling->sampler.seed : 0, .sampling = config->sampling};
    return gnn_source_of_links(source, model, data, config->links, &how);
}

/* Settings that only full-batch training, or node classification, supports. */
static int check_alone(const gnn_train_config_t *c)
{
    const char *what = c->links ? "links" : "typed samples", *other = NULL;
    if (c->drop_edge != 0 || c->drop_node != 0)
        other = "drop_edge and drop_node";
    else if (c->targets)
        other = "targets";
    else if (c->links && c->typed)
        other = "typed samples";
    else if (c->links ? c->class_weight != NULL || c->splits != NULL : c->sampling != NULL)
        other = c->links ? "class_weight and splits" : "sampling";
    else if (!c->links && c->loss != GNN_LOSS_CROSS_ENTROPY)
        other = "a loss other than cross-entropy";
    return other ? gnn__error(GNN_EUNSUPPORTED, "training on %s takes no %s", what, other) : GNN_OK;
}

static int check_nodes(const gnn_model_t *model, const gnn_data_t *data,
                       const gnn_train_config_t *config)
{
    if (config->sampling && (config->drop_edge != 0 || config->drop_node != 0))
        return gnn__error(GNN_EUNSUPPORTED, "drop_edge and drop_node are for training on the "
                                            "whole graph, samples leave edges out anyway");
    if (config->splits)
        GNN_TRY(gnn__split_fits(config->splits, gnn_data_nodes(data), "nodes", config->split));
    if (!config->splits || !config->targets)
        GNN_TRY(check_data(model, data, config->splits ? 0 : config->split, config->metric));
    GNN_TRY(config->targets ? check_numbers(data, config) : check_targets(data, config));
    return check_slots(model, data, config);
}

static int source_of(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                     gnn_data_t *data, const gnn_train_config_t *config)
{
    if (config->links || config->typed)
        GNN_TRY(check_alone(config));
    if (config->links)
        return source_of_links(source, model, data, config);
    GNN_TRY(check_nodes(model, data, config));
    if (config->typed)
        return gnn__batches_of_types(source, model, context, data, config);
    return config->sampling ? gnn__batches_of_samples(source, model, context, data, config)
                            : source_of_whole(source, model, context, data, config);
}

int gnn__batches_of_data(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                         gnn_data_t *data, const gnn_train_config_t *config)
{
    GNN_TRY(source_of(source, model, context, data, config));
    (*source)->state->of_data = true;
    return GNN_OK;
}

/* A metric on some rows of a model's output, of labels, or of targets if these are NULL. */
typedef struct {
    const int32_t *labels;
    const gnn_tensor_t *targets;
    const uint8_t *mask;
} truth_t;

static int measure(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                   const truth_t *truth, gnn_metric_t metric, double *value)
{
    nodes_t nodes = {0};
    gnn__run_t run = {0};
    gnn__pool_t pool = {.metric = metric};
    gnn_model_inputs_t inputs;
    int rc;
    nodes.model = model;
    nodes.data = data;
    GNN_CHECK(inputs_of(&nodes, model, data, &inputs));
    GNN_CHECK(split_inputs(&nodes, context, &inputs));
    GNN_CHECK(prepare_own(&nodes, GNN_OFF));
    GNN_CHECK(gnn_tape_new(&run.tape, context));
    GNN_CHECK(gnn__run_forward(&run, model, &inputs, NULL, 0, true));
    const gnn_tensor_t outputs = gnn_tape_value(run.tape, run.logits);
    if (nodes.split && outputs.rows != context->ranks->hi - context->ranks->lo)
        GNN_CHECK(gnn__error(GNN_EUNSUPPORTED,
                             "ranks: the model's output has %lld rows, this rank "
                             "owns %lld nodes",
                             (long long)outputs.rows,
                             (long long)(context->ranks->hi - context->ranks->lo)));
    if (truth->targets && truth->targets->cols != outputs.cols)
        GNN_CHECK(gnn__error(GNN_ESHAPE, "targets of %lld columns, the model puts out %lld",
                             (long long)truth->targets->cols, (long long)outputs.cols));
    if (truth->targets && nodes.split)
        nodes.own_targets = own_window(context->ranks, truth->targets);
    GNN_CHECK(gnn__pool_add(&pool, &outputs, truth->labels ? truth->labels + nodes.first : NULL,
                            nodes.split ? &nodes.own_targets : truth->targets,
                            truth->mask ? truth->mask + nodes.first : NULL));
    if (nodes.split)
        GNN_CHECK(gnn__pool_gather(&pool, context->ranks));
    rc = gnn__pool_metric(&pool, value);
done:
    gnn__pool_free(&pool);
    free_nodes(&nodes);
    gnn_tape_free(run.tape);
    return rc;
}

int gnn_evaluate(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                 int64_t split, int part, gnn_metric_t metric, double *value)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    GNN__NEED(value);
    GNN_TRY(check_data(model, data, split, metric));
    if (part < GNN_TRAIN || part > GNN_TEST)
        return gnn__error(GNN_EINVALID, "gnn_evaluate: expected part %d to %d, got %d", GNN_TRAIN,
                          GNN_TEST, part);
    if ((int)metric < 0 || metric > GNN_METRIC_AVERAGE_PRECISION)
        return gnn__error(GNN_EINVALID, "gnn_evaluate: expected metric 0 to %d, got %d",
                          GNN_METRIC_AVERAGE_PRECISION, (int)metric);
    const truth_t truth = {.labels = gnn_data_labels(data), .mask = gnn_data_mask(data, part, split)};
    gnn__ranks_open(context);
    return gnn__ranks_close(context, measure(model, context, data, &truth, metric, value));
}

int gnn_evaluate_targets(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                         const char *targets, const gnn_split_t *splits, int64_t split, int part,
                         gnn_metric_t metric, double *value)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    GNN__NEED(targets);
    GNN__NEED(value);
    const gnn_tensor_t *rows = gnn_data_rows(data, GNN_ON_NODES, targets);
    if (!rows || !gnn__takes_targets(metric))
        return gnn__error(GNN_EINVALID, "gnn_evaluate_targets: %s \"%s\", metric %d",
                          rows ? "array" : "no array of reals on nodes is called", targets,
                          (int)metric);
    if (part < -1 || part > GNN_TEST)
        return gnn__error(GNN_EINVALID, "gnn_evaluate_targets: part %d, -1 to %d are expected",
                          part, GNN_TEST);
    splits = splits ? splits : gnn_data_split(data);
    GNN_TRY(gnn__split_fits(splits, gnn_data_nodes(data), "nodes", split));
    const truth_t truth = {.targets = rows,
                           .mask = part < 0 ? NULL : gnn_split_mask(splits, part, split)};
    gnn__ranks_open(context);
    return gnn__ranks_close(context, measure(model, context, data, &truth, metric, value));
}

/* Each rank computes its own rows in one pass, then all get all. */
static int predict_over_ranks(const gnn_model_t *model, gnn_context_t *context, nodes_t *nodes,
                              gnn_model_inputs_t *inputs, const gnn_tensor_t *out)
{
    gnn_real_t *own = NULL, *all = NULL;
    int rc;
    GNN_CHECK(split_inputs(nodes, context, inputs));
    GNN_CHECK(prepare_own(nodes, GNN_OFF));
    const int64_t rows = context->ranks->hi - context->ranks->lo;
    GNN_CHECK(gnn__new(&own, rows * out->cols, sizeof *own, "outputs of a rank"));
    GNN_CHECK(gnn__new(&all, context->ranks->n * out->cols, sizeof *all, "outputs of all ranks"));
    const gnn_tensor_t to = gnn_tensor(own, rows, out->cols);
    GNN_CHECK(gnn_model_forward(model, context, inputs, &to));
    GNN_CHECK(gnn__ranks_rows(context->ranks, own, sizeof *own * (size_t)out->cols, all));
    for (int64_t r = 0; r < context->ranks->n; r++)
        memcpy(gnn__row(out, r), all + r * out->cols, sizeof *all * (size_t)out->cols);
done:
    gnn_free(own);
    gnn_free(all);
    return rc;
}

/* A model's output over the whole set, in one pass, or (rows_at_once >= 0) in chunks of rows. */
static int predict(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                   int64_t rows_at_once, const gnn_tensor_t *out)
{
    nodes_t nodes = {0};
    gnn_model_inputs_t inputs;
    nodes.model = model;
    nodes.data = data;
    gnn__ranks_open(context);
    int rc = inputs_of(&nodes, model, data, &inputs);
    if (rc == GNN_OK && context->ranks && out->rows != gnn_data_nodes(data))
        rc = gnn__error(GNN_ESHAPE, "ranks: the output has %lld rows, the set %lld nodes",
                        (long long)out->rows, (long long)gnn_data_nodes(data));
    if (rc == GNN_OK && context->ranks)
        rc = predict_over_ranks(model, context, &nodes, &inputs, out);
    else if (rc == GNN_OK)
        rc = rows_at_once < 0 ? gnn_model_forward(model, context, &inputs, out)
                              : gnn_model_infer_layers(model, context, &inputs, rows_at_once, out);
    rc = gnn__ranks_close(context, rc);
    free_nodes(&nodes);
    return rc;
}

int gnn_predict(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                const gnn_tensor_t *out)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    GNN__NEED(out);
    return predict(model, context, data, -1, out);
}

int gnn_predict_layers(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                       int64_t rows_at_once, const gnn_tensor_t *out)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    GNN__NEED(out);
    if (rows_at_once < 0)
        return gnn__error(GNN_EINVALID, "rows_at_once = %lld is negative", (long long)rows_at_once);
    return predict(model, context, data, rows_at_once, out);
}
