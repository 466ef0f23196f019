/* Node classification on one graph: a source of one batch for the loop, and evaluation on a part of
 * a split. */
#include <lib/train/train.h>
#include <math.h>

typedef struct {
    gnn_batch_t batches[2]; /* training, validation */
    gnn_named_t *values; /* the features as "x", then the set's arrays of reals, by their names */
    int64_t n_values;
    const gnn_graph_t **graphs; /* the set's graph for every slot */
    gnn_tensor_t targets;       /* one-hot, for losses that want numbers instead of classes */
} nodes_t;

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    (void)epoch;
    (void)index;
    *batch = ((nodes_t *)user)->batches[part];
    return GNN_OK;
}

static int check_data(const gnn_model_t *model, const gnn_data_t *data, int64_t split,
                      gnn_metric_t metric)
{
    if (!model || !data)
        return gnn__error(GNN_EINVALID, "node classification: model and data must be given");
    if (split < 0 || split >= gnn_data_splits(data))
        return gnn__error(GNN_EINVALID, "split %lld was asked for, the data has %lld",
                          (long long)split, (long long)gnn_data_splits(data));
    if (metric == GNN_METRIC_ROC_AUC && gnn_data_classes(data) != 2)
        return gnn__error(GNN_EINVALID, "ROC AUC tells two classes apart, the set has %lld",
                          (long long)gnn_data_classes(data));
    return GNN_OK;
}

/* Fills `nodes` with all that a model may name; the caller's struct stays where it is. */
static int inputs_of(nodes_t *nodes, const gnn_model_t *model, const gnn_data_t *data,
                     gnn_model_inputs_t *inputs)
{
    const int64_t n = gnn_data_array_count(data);
    GNN_TRY(gnn__new(&nodes->values, n + 1, sizeof *nodes->values, "a model's inputs"));
    nodes->values[nodes->n_values++] =
        (gnn_named_t){.name = "x", .dense = gnn_data_x(data), .sparse = gnn_data_sparse(data)};
    for (int64_t k = 0; k < n; k++) {
        gnn_data_place_t place;
        const char *name = gnn_data_array_at(data, k, &place)->name;
        const gnn_tensor_t *rows = gnn_data_rows(data, place, name);
        if (rows)
            nodes->values[nodes->n_values++] = (gnn_named_t){.name = name, .dense = rows};
    }
    const int slots = gnn_model_graph_count(model);
    GNN_TRY(gnn__new(&nodes->graphs, slots, sizeof(gnn_graph_t *), "a model's graphs"));
    for (int k = 0; k < slots; k++)
        nodes->graphs[k] = gnn_data_graph(data);
    *inputs = (gnn_model_inputs_t){.graphs = nodes->graphs,
                                   .n_graphs = slots,
                                   .values = nodes->values,
                                   .n_values = nodes->n_values};
    return GNN_OK;
}

static void free_nodes(nodes_t *nodes)
{
    gnn_free(nodes->values);
    gnn_free(nodes->graphs);
    gnn_free(nodes->targets.data);
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

static int make_batches(nodes_t *nodes, const gnn_model_t *model, const gnn_data_t *data,
                        const gnn_train_config_t *config)
{
    gnn_model_inputs_t inputs;
    GNN_TRY(inputs_of(nodes, model, data, &inputs));
    if (config->loss != GNN_LOSS_CROSS_ENTROPY)
        GNN_TRY(make_targets(nodes, data));
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++) {
        nodes->batches[part] =
            (gnn_batch_t){.inputs = inputs,
                          .loss = {.kind = config->loss,
                                   .labels = gnn_data_labels(data),
                                   .targets = nodes->targets.data ? &nodes->targets : NULL,
                                   .mask = gnn_data_mask(data, part, config->split),
                                   .label_smoothing = part == GNN_TRAIN ? config->label_smoothing : 0,
                                   .class_weight = config->class_weight}};
    }
    return GNN_OK;
}

/* Weights that make no mean, and nodes to learn from that have no class. */
static int check_targets(const gnn_data_t *data, const gnn_train_config_t *config)
{
    const int32_t *labels = gnn_data_labels(data);
    const uint8_t *mask = gnn_data_mask(data, GNN_TRAIN, config->split);
    const gnn_real_t *weight = config->class_weight;
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

/* A step an epoch, on the whole graph. */
static int train_whole(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                       const gnn_train_config_t *config, gnn_train_result_t *result)
{
    nodes_t nodes = {0};
    int rc;
    for (int slot = 0; slot < gnn_model_graph_count(model); slot++)
        GNN_CHECK(gnn_model_prepare(model, slot, gnn_data_graph(data), GNN_ON));
    GNN_CHECK(make_batches(&nodes, model, data, config));
    gnn_source_t source = {
        .get = get,
        .count = {1,
                  gnn__any_marked(gnn_data_mask(data, GNN_VALIDATION, config->split),
                                  gnn_data_nodes(data)),
                  0},
        .user = &nodes,
        .identity = gnn__identify_data(data, config)};
    rc = gnn__train_loop(model, context, &source, config, result, true);
done:
    free_nodes(&nodes);
    return rc;
}

/* A step a batch of samples. */
static int train_sampled(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                         const gnn_train_config_t *config, gnn_train_result_t *result)
{
    gnn_batches_t *batches;
    GNN_TRY(gnn_batches_new(&batches, model, context, data, config));
    const int rc =
        gnn__train_loop(model, context, gnn_batches_source(batches), config, result, false);
    gnn_batches_free(batches);
    return rc;
}

int gnn_train(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
              const gnn_train_config_t *config, gnn_train_result_t *result)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    const gnn_train_config_t initial = {0};
    if (!config)
        config = &initial;
    GNN_TRY(check_data(model, data, config->split, config->metric));
    if (!gnn__any_marked(gnn_data_mask(data, GNN_TRAIN, config->split), gnn_data_nodes(data)))
        return gnn__error(GNN_EINVALID, "split %lld of \"%s\" has no training nodes",
                          (long long)config->split, gnn_data_name(data));
    GNN_TRY(check_targets(data, config));
    return config->sampling ? train_sampled(model, context, data, config, result)
                            : train_whole(model, context, data, config, result);
}

int gnn_evaluate(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                 int64_t split, int part, gnn_metric_t metric, double *value)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    nodes_t nodes = {0};
    gnn__run_t run = {0};
    gnn__pool_t pool = {0};
    gnn_model_inputs_t inputs;
    int rc;
    GNN_TRY(check_data(model, data, split, metric));
    if (!value || part < GNN_TRAIN || part > GNN_TEST || (int)metric < 0 ||
        metric > GNN_METRIC_ROC_AUC)
        return gnn__error(GNN_EINVALID, "gnn_evaluate: part %d, metric %d", part, (int)metric);
    GNN_CHECK(inputs_of(&nodes, model, data, &inputs));
    GNN_CHECK(gnn_tape_new(&run.tape, context));
    GNN_CHECK(gnn__run_forward(&run, model, &inputs, NULL, 0, true));
    gnn_tensor_t logits = gnn_tape_value(run.tape, run.logits);
    GNN_CHECK(gnn__pool_add(&pool, &logits, gnn_data_labels(data), gnn_data_mask(data, part, split)));
    rc = gnn__pool_metric(&pool, metric, value);
done:
    gnn__pool_free(&pool);
    free_nodes(&nodes);
    gnn_tape_free(run.tape);
    return rc;
}

/* A model's output over the whole set, in one pass, or (rows_at_once >= 0) in chunks of rows. */
static int predict(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                   int64_t rows_at_once, const gnn_tensor_t *out)
{
    nodes_t nodes = {0};
    gnn_model_inputs_t inputs;
    int rc = inputs_of(&nodes, model, data, &inputs);
    if (rc == GNN_OK)
        rc = rows_at_once < 0 ? gnn_model_forward(model, context, &inputs, out)
                              : gnn_model_infer_layers(model, context, &inputs, rows_at_once, out);
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
