/* Node classification on one graph: a source of one batch for the loop, and evaluation on a part of
 * a split. */
#include <lib/train/train.h>

typedef struct {
    gnn_batch_t batches[2]; /* training, validation */
    gnn_named_t x;
    const gnn_graph_t *graph;
    gnn_tensor_t targets; /* one-hot, for losses that want numbers instead of classes */
} nodes_t;

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    (void)epoch;
    (void)index;
    *batch = ((nodes_t *)user)->batches[part];
    return GNN_OK;
}

static int check_data(const gnn_model_t *model, const gnn_data_t *data, int64_t split)
{
    if (!model || !data)
        return gnn__error(GNN_EINVALID, "node classification: model and data must be given");
    if (split < 0 || split >= data->n_splits)
        return gnn__error(GNN_EINVALID, "split %lld was asked for, the data has %lld",
                          (long long)split, (long long)data->n_splits);
    if (gnn_model_graph_count(model) > 1)
        return gnn__error(
            GNN_EUNSUPPORTED,
            "the model runs on %d graphs, node classification has one: use gnn_train_batches",
            gnn_model_graph_count(model));
    return GNN_OK;
}

/* Fills `nodes` with the features and the graph; the caller's struct stays where it is. */
static gnn_model_inputs_t inputs_of(nodes_t *nodes, const gnn_model_t *model, const gnn_data_t *data)
{
    nodes->graph = data->graph;
    nodes->x = (gnn_named_t){.name = "x",
                             .dense = data->x.data ? &data->x : NULL,
                             .sparse = data->x.data ? NULL : &data->sparse};
    return (gnn_model_inputs_t){.graphs = &nodes->graph,
                                .n_graphs = gnn_model_graph_count(model),
                                .values = &nodes->x,
                                .n_values = 1};
}

static int make_targets(nodes_t *nodes, const gnn_data_t *data)
{
    int64_t count;
    if (!gnn__mul(data->n, data->classes, &count))
        return gnn__error(GNN_EOVERFLOW, "targets of %lld nodes and %lld classes do not fit",
                          (long long)data->n, (long long)data->classes);
    GNN_TRY(gnn__new(&nodes->targets.data, count, sizeof *nodes->targets.data, "one-hot targets"));
    nodes->targets = gnn_tensor(nodes->targets.data, data->n, data->classes);
    for (int64_t i = 0; i < data->n; i++)
        if (data->labels[i] >= 0 && data->labels[i] < data->classes)
            gnn__row(&nodes->targets, i)[data->labels[i]] = 1;
    return GNN_OK;
}

static bool any_set(const uint8_t *mask, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (mask[i])
            return true;
    return false;
}

static int make_batches(nodes_t *nodes, const gnn_model_t *model, const gnn_data_t *data,
                        const gnn_train_config_t *config)
{
    gnn_model_inputs_t inputs = inputs_of(nodes, model, data);
    if (config->loss != GNN_LOSS_CROSS_ENTROPY)
        GNN_TRY(make_targets(nodes, data));
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++) {
        nodes->batches[part] =
            (gnn_batch_t){.inputs = inputs,
                          .loss = {.kind = config->loss,
                                   .labels = data->labels,
                                   .targets = nodes->targets.data ? &nodes->targets : NULL,
                                   .mask = data->masks[part][config->split],
                                   .label_smoothing = part == GNN_TRAIN ? config->label_smoothing : 0,
                                   .class_weight = config->class_weight}};
    }
    return GNN_OK;
}

int gnn_train(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
              const gnn_train_config_t *config, gnn_train_result_t *result)
{
    gnn_train_config_t initial = {0};
    nodes_t nodes = {0};
    int rc;
    if (!config)
        config = &initial;
    GNN_TRY(check_data(model, data, config->split));
    if (!any_set(data->masks[GNN_TRAIN][config->split], data->n))
        return gnn__error(GNN_EINVALID, "split %lld of \"%s\" has no training nodes",
                          (long long)config->split, data->name ? data->name : "");
    if (gnn_model_graph_count(model) == 1)
        GNN_CHECK(gnn_model_prepare(model, 0, data->graph, GNN_ON));
    GNN_CHECK(make_batches(&nodes, model, data, config));
    gnn_source_t source = {
        .get = get,
        .count = {1, any_set(data->masks[GNN_VALIDATION][config->split], data->n), 0},
        .user = &nodes};
    rc = gnn__train_loop(model, context, &source, config, result, true);
done:
    gnn_free(nodes.targets.data);
    return rc;
}

int gnn_evaluate(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                 int64_t split, int part, gnn_metric_t metric, double *value)
{
    nodes_t nodes = {0};
    gnn__run_t run = {0};
    gnn__pool_t pool = {0};
    int rc;
    GNN_TRY(check_data(model, data, split));
    if (!value || part < GNN_TRAIN || part > GNN_TEST || (int)metric < 0 ||
        metric > GNN_METRIC_ROC_AUC)
        return gnn__error(GNN_EINVALID, "gnn_evaluate: part %d, metric %d", part, (int)metric);
    gnn_model_inputs_t inputs = inputs_of(&nodes, model, data);
    GNN_CHECK(gnn_tape_new(&run.tape, context));
    GNN_CHECK(gnn__run_forward(&run, model, &inputs, NULL, 0, true));
    gnn_tensor_t logits = gnn_tape_value(run.tape, run.logits);
    GNN_CHECK(gnn__pool_add(&pool, &logits, data->labels, data->masks[part][split]));
    rc = gnn__pool_metric(&pool, metric, value);
done:
    gnn__pool_free(&pool);
    gnn_tape_free(run.tape);
    return rc;
}
