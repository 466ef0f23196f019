/* Nodes of one graph, or of the graphs of a model's slots: a source of one batch for the loop,
 * evaluation on a part of a split, and prediction. */
#include <graphs/halo.h>
#include <lib/data/data.h>
#include <lib/model/model.h>
#include <lib/train/drop_edges.h>
#include <lib/train/train.h>

typedef struct {
    gnn__source_state_t base;
    gnn__training_set_t set;
    gnn_batch_t batches[2]; /* training, validation */
    gnn_named_t *values;    /* (n_values) the set's inputs, or this rank's rows of them */
    int64_t n_values;
    const gnn_graph_t **graphs; /* by slot */
    gnn_tensor_t one_hot;       /* targets of losses that read no labels */
    const gnn_model_t *model;
    /* with dropped edges: the remaining graph, its inputs, and rows of edge arrays */
    gnn__drop_t drop;
    gnn_named_t *left_values;
    const gnn_graph_t **left_graphs;
    gnn_tensor_t *left_rows;
    /* over ranks: the graph of this rank, and its rows of the inputs and of the targets */
    gnn__halos_t *halos; /* one per graph of the set */
    bool split;
    gnn_tensor_t *own_rows, own_targets;
    gnn_sparse_t own_sparse;
    int64_t *own_indptr;     /* of own_sparse, from 0 on */
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

/* Fills `nodes` with all inputs that a model may name; the caller must not move the struct. */
static int inputs_of(nodes_t *nodes, gnn_model_inputs_t *inputs)
{
    const gnn__training_set_t *set = &nodes->set;
    GNN_TRY(gnn__new(&nodes->values, set->n_inputs, sizeof *nodes->values, "a model's inputs"));
    for (; nodes->n_values < set->n_inputs; nodes->n_values++)
        nodes->values[nodes->n_values] = set->inputs[nodes->n_values].whole;
    GNN_TRY(gnn__new(&nodes->graphs, set->n_slots, sizeof(gnn_graph_t *), "a model's graphs"));
    for (int slot = 0; slot < set->n_slots; slot++)
        nodes->graphs[slot] = set->graphs[slot];
    *inputs = (gnn_model_inputs_t){.graphs = nodes->graphs,
                                   .n_graphs = set->n_slots,
                                   .values = nodes->values,
                                   .n_values = nodes->n_values};
    return GNN_OK;
}

/* ---- over ranks: each computes its own rows, of a set of all rows or of its own ---- */

static gnn_tensor_t own_window(const nodes_t *nodes, const gnn__ranks_t *ranks, const gnn_tensor_t *t)
{
    return (gnn_tensor_t){gnn__row(t, nodes->first), ranks->hi - ranks->lo, t->cols, t->stride};
}

/* Own rows of sparse features. */
static int cut_sparse(nodes_t *nodes, const gnn__ranks_t *ranks, const gnn_sparse_t *x)
{
    const int64_t rows = ranks->hi - ranks->lo, *indptr = x->indptr + nodes->first;
    GNN_TRY(gnn__new(&nodes->own_indptr, rows + 1, sizeof *indptr, "row pointers"));
    for (int64_t r = 0; r <= rows; r++)
        nodes->own_indptr[r] = indptr[r] - indptr[0];
    nodes->own_sparse = (gnn_sparse_t){rows, x->cols, nodes->own_indptr, x->indices + indptr[0],
                                       x->values ? x->values + indptr[0] : NULL};
    return GNN_OK;
}

/* Rows of nodes become those of this rank; others stay whole. */
static int own_input(nodes_t *nodes, const gnn__ranks_t *ranks, int64_t v)
{
    gnn_named_t *value = &nodes->values[v];
    const void *own = NULL;
    if (nodes->set.inputs[v].place != GNN_ON_NODES)
        return GNN_OK;
    if (value->dense) {
        nodes->own_rows[v] = own_window(nodes, ranks, value->dense);
        own = value->dense = &nodes->own_rows[v];
    } else if (value->sparse) {
        GNN_TRY(cut_sparse(nodes, ranks, value->sparse));
        own = value->sparse = &nodes->own_sparse;
    } else if (value->ids) {
        own = value->ids += nodes->first;
        value->count = ranks->hi - ranks->lo;
    }
    nodes->own_inputs[nodes->n_own++] = own;
    return GNN_OK;
}

/* The weights of rows are degrees over the graphs of all slots. */
static int split_rows(const gnn__training_set_t *set, gnn__ranks_t *ranks)
{
    const int64_t n = set->nodes;
    int64_t *degree;
    int rc;
    if (set->ranks) {
        gnn__ranks_take_book(ranks, set->data->rank->n, set->data->rank->book);
        return GNN_OK;
    }
    GNN_TRY(gnn__new(&degree, n, sizeof *degree, "degrees"));
    for (int slot = 0; slot < set->n_slots; slot++) {
        const gnn_graph_t *graph = set->graphs[slot];
        if (graph->n_dst != n || graph->n_src != n)
            GNN_CHECK(gnn__error(GNN_EUNSUPPORTED,
                                 "ranks: expected graphs of all %lld nodes, that of slot %d has "
                                 "%lld receivers and %lld senders",
                                 (long long)n, slot, (long long)graph->n_dst,
                                 (long long)graph->n_src));
        for (int64_t i = 0; i < n && (slot == 0 || graph != set->graphs[0]); i++)
            degree[i] += graph->base.degree[i];
    }
    rc = gnn__ranks_split_rows(ranks, n, degree);
done:
    gnn_free(degree);
    return rc;
}

/* The graphs of this rank: slots may share one. */
static int own_graphs(nodes_t *nodes, gnn__ranks_t *ranks)
{
    const gnn__training_set_t *set = &nodes->set;
    const gnn_data_t *data = set->data;
    const uint64_t identity = data->rank ? data->rank->identity : gnn__data_sum(data);
    GNN_TRY(gnn__halos_of(&nodes->halos, set->several ? set->n_slots : set->n_slots > 0,
                          set->graphs, identity, ranks));
    for (int slot = 0; slot < set->n_slots; slot++)
        nodes->graphs[slot] = nodes->halos->own[set->several ? slot : 0];
    return GNN_OK;
}

/* The halo's rows of the inputs are pulled once in the call. */
static int keep_inputs(const nodes_t *nodes)
{
    const gnn_tensor_t **inputs;
    int64_t count = 0;
    int rc = gnn__new(&inputs, nodes->n_values, sizeof *inputs, "inputs");
    for (int64_t v = 0; v < nodes->n_values && rc == GNN_OK; v++)
        if (nodes->own_rows[v].data)
            inputs[count++] = &nodes->own_rows[v];
    for (int k = 0; k < nodes->halos->count && rc == GNN_OK; k++)
        rc = gnn__halo_set_inputs(nodes->halos->own[k]->halo, inputs, count);
    gnn_free(inputs);
    return rc;
}

static void forget_inputs(const nodes_t *nodes)
{
    for (int k = 0; nodes->halos && k < nodes->halos->count; k++)
        (void)gnn__halo_set_inputs(nodes->halos->own[k]->halo, NULL, 0);
}

static int split_inputs(nodes_t *nodes, const gnn_context_t *context)
{
    gnn__ranks_t *ranks = context->ranks;
    if (!ranks)
        return GNN_OK;
    GNN_TRY(gnn__ranks_same_data(ranks, &nodes->set));
    GNN_TRY(gnn__ranks_same_weights(ranks, context, nodes->model));
    GNN_TRY(split_rows(&nodes->set, ranks));
    GNN_TRY(own_graphs(nodes, ranks));
    nodes->split = true;
    nodes->first = nodes->set.ranks ? 0 : ranks->lo;
    GNN_TRY(gnn__new(&nodes->own_rows, nodes->n_values, sizeof *nodes->own_rows, "inputs"));
    GNN_TRY(gnn__new(&nodes->own_inputs, nodes->n_values, sizeof(void *), "inputs"));
    for (int64_t v = 0; v < nodes->n_values; v++)
        GNN_TRY(own_input(nodes, ranks, v));
    ranks->own = nodes->own_inputs;
    ranks->n_own = nodes->n_own;
    return keep_inputs(nodes);
}

/* Prepares the graphs of all slots: this rank's, or the set's. */
static int prepare(const nodes_t *nodes, gnn_flag_t backward)
{
    for (int slot = 0; slot < nodes->set.n_slots; slot++) {
        gnn_graph_t *graph = nodes->set.graphs[slot];
        if (nodes->split)
            graph = nodes->halos->own[nodes->set.several ? slot : 0];
        GNN_TRY(gnn_model_prepare(nodes->model, slot, graph, backward));
    }
    return GNN_OK;
}

static void free_nodes(nodes_t *nodes)
{
    forget_inputs(nodes);
    gnn__halos_release(nodes->halos);
    gnn_free(nodes->own_inputs);
    gnn_free(nodes->own_indptr);
    gnn_free(nodes->own_rows);
    gnn_free(nodes->values);
    gnn_free(nodes->graphs);
    gnn_free(nodes->one_hot.data);
    for (int64_t v = 0; nodes->left_rows && v < nodes->n_values; v++)
        gnn_free(nodes->left_rows[v].data);
    gnn_free(nodes->left_rows);
    gnn_free(nodes->left_values);
    gnn_free(nodes->left_graphs);
    gnn__drop_close(&nodes->drop);
    gnn__training_set_close(&nodes->set);
}

/* The targets of the loss: the set's array, or classes one-hot; NULL: it reads labels. */
static int find_targets(nodes_t *nodes, const gnn_tensor_t **targets)
{
    const gnn__training_set_t *set = &nodes->set;
    int64_t count;
    *targets = set->targets;
    if (set->targets || !gnn__training_set_has_targets(set))
        return GNN_OK;
    if (!gnn__mul(set->rows, set->classes, &count))
        return gnn__error(GNN_EOVERFLOW, "targets of %lld nodes and %lld classes do not fit",
                          (long long)set->rows, (long long)set->classes);
    GNN_TRY(gnn__new(&nodes->one_hot.data, count, sizeof *nodes->one_hot.data, "one-hot targets"));
    nodes->one_hot = gnn_tensor(nodes->one_hot.data, set->rows, set->classes);
    for (int64_t r = 0; r < set->rows; r++)
        gnn__training_set_target(set, r, gnn__row(&nodes->one_hot, r));
    *targets = &nodes->one_hot;
    return GNN_OK;
}

/* Allocates the remaining graph of a step, with the size of the whole. */
static int open_drop(nodes_t *nodes, const gnn_train_config_t *config, uint64_t seed)
{
    const int64_t edges = gnn_graph_n_edges(nodes->set.graph);
    GNN_TRY(gnn__drop_open(&nodes->drop, nodes->set.graph, (double)config->drop_edge,
                           (double)config->drop_node, seed));
    GNN_TRY(gnn__new(&nodes->left_rows, nodes->n_values, sizeof *nodes->left_rows, "inputs"));
    GNN_TRY(gnn__new(&nodes->left_values, nodes->n_values, sizeof *nodes->left_values, "inputs"));
    memcpy(nodes->left_values, nodes->values, (size_t)nodes->n_values * sizeof *nodes->values);
    for (int64_t v = 0; v < nodes->n_values; v++) {
        const gnn_tensor_t *whole = nodes->values[v].dense;
        int64_t count;
        if (nodes->set.inputs[v].place != GNN_ON_EDGES)
            continue;
        if (!gnn__mul(edges, whole->cols, &count))
            return gnn__error(GNN_EOVERFLOW, "%lld rows of edges do not fit", (long long)edges);
        gnn_tensor_t *rows = &nodes->left_rows[v];
        GNN_TRY(gnn__new(&rows->data, count, sizeof *rows->data, "rows of edges"));
        *rows = gnn_tensor(rows->data, edges, whole->cols);
        nodes->left_values[v].dense = rows;
    }
    return gnn__new(&nodes->left_graphs, nodes->set.n_slots, sizeof(gnn_graph_t *),
                    "a model's graphs");
}

static int make_batches(nodes_t *nodes, const gnn_context_t *context)
{
    const gnn__training_set_t *set = &nodes->set;
    gnn_model_inputs_t inputs;
    const gnn_tensor_t *targets;
    GNN_TRY(inputs_of(nodes, &inputs));
    GNN_TRY(split_inputs(nodes, context));
    GNN_TRY(prepare(nodes, GNN_ON));
    GNN_TRY(find_targets(nodes, &targets));
    if (targets && nodes->split) {
        nodes->own_targets = own_window(nodes, context->ranks, targets);
        targets = &nodes->own_targets;
    }
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++) {
        gnn_batch_t *batch = &nodes->batches[part];
        *batch = (gnn_batch_t){.inputs = inputs, .loss = gnn__training_set_loss(set, part)};
        batch->loss.labels = set->labels ? set->labels + nodes->first : NULL;
        batch->loss.targets = targets;
        batch->loss.mask = set->masks[part] + nodes->first;
    }
    return GNN_OK;
}

static void free_source(gnn__source_state_t *state)
{
    free_nodes((nodes_t *)state);
    gnn_free(state);
}

static const gnn__source_kind_t of_nodes = {"gnn_source_of_data", free_source};

static int open_nodes(nodes_t *nodes, gnn_context_t *context, const gnn_train_config_t *config)
{
    const bool drops = config->drop_edge != 0 || config->drop_node != 0;
    if (context->ranks && drops)
        return gnn__error(GNN_EUNSUPPORTED, "ranks: drop_edge and drop_node are not supported");
    GNN_TRY(make_batches(nodes, context));
    gnn_source_t *source = &nodes->base.source;
    source->count[GNN_TRAIN] = 1;
    bool validates;
    GNN_TRY(gnn__training_set_any(&nodes->set, GNN_VALIDATION, &validates));
    source->count[GNN_VALIDATION] = validates;
    GNN_TRY(gnn__identify_data(&source->identity, &nodes->set, config));
    source->fixed = drops ? GNN_OFF : GNN_ON;
    return drops ? open_drop(nodes, config, gnn_context_seed(context)) : GNN_OK;
}

int gnn__batches_of_nodes(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                          gnn__training_set_t *set, const gnn_train_config_t *config)
{
    nodes_t *nodes;
    GNN_TRY(gnn__new(&nodes, 1, sizeof *nodes, "a source of batches"));
    nodes->base = gnn__source_state(&of_nodes, &nodes->base, get);
    nodes->set = gnn__training_set_move(set);
    nodes->model = model;
    return gnn__source_finish(source, &nodes->base, open_nodes(nodes, context, config));
}

/* Measures a part, or (part < 0) all rows. */
static int measure(nodes_t *nodes, gnn_context_t *context, int part, gnn_metric_t metric,
                   double *value)
{
    const gnn__training_set_t *set = &nodes->set;
    const uint8_t *mask = part < 0 ? NULL : set->masks[part];
    gnn__run_t run = {0};
    gnn__pool_t pool = {.metric = metric};
    gnn_model_inputs_t inputs;
    int rc;
    GNN_CHECK(inputs_of(nodes, &inputs));
    GNN_CHECK(split_inputs(nodes, context));
    GNN_CHECK(nodes->split ? prepare(nodes, GNN_OFF) : GNN_OK);
    GNN_CHECK(gnn_tape_new(&run.tape, context));
    GNN_CHECK(gnn__run_forward(&run, nodes->model, &inputs, NULL, 0, true));
    const gnn_tensor_t outputs = gnn_tape_value(run.tape, run.logits);
    if (nodes->split && outputs.rows != context->ranks->hi - context->ranks->lo)
        GNN_CHECK(gnn__error(GNN_EUNSUPPORTED,
                             "ranks: the model's output has %lld rows, this rank "
                             "owns %lld nodes",
                             (long long)outputs.rows,
                             (long long)(context->ranks->hi - context->ranks->lo)));
    GNN_CHECK(gnn__training_set_measures(set, outputs.cols));
    if (set->targets && nodes->split)
        nodes->own_targets = own_window(nodes, context->ranks, set->targets);
    GNN_CHECK(gnn__pool_add(&pool, &outputs, set->labels ? set->labels + nodes->first : NULL,
                            nodes->split ? &nodes->own_targets : set->targets,
                            mask ? mask + nodes->first : NULL));
    if (nodes->split)
        GNN_CHECK(gnn__pool_gather(&pool, context->ranks));
    rc = gnn__pool_metric(&pool, value);
done:
    gnn__pool_free(&pool);
    gnn_tape_free(run.tape);
    return rc;
}

static int evaluate(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                    const gnn__learnt_t *learnt, int part, double *value)
{
    nodes_t nodes = {.model = model};
    gnn__ranks_outer_t outer;
    int rc = gnn__ranks_open(context, &outer);
    if (rc == GNN_OK)
        rc = gnn__training_set_open(&nodes.set, model, data, context);
    if (rc == GNN_OK)
        rc = gnn__training_set_truth(&nodes.set, learnt);
    if (rc == GNN_OK)
        rc = gnn__training_set_slots(&nodes.set);
    if (rc == GNN_OK)
        rc = measure(&nodes, context, part, learnt->metric, value);
    rc = gnn__ranks_close(context, &outer, rc);
    free_nodes(&nodes);
    return rc;
}

int gnn_evaluate(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                 int64_t split, int part, gnn_metric_t metric, double *value)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    GNN__NEED(value);
    if (part < GNN_TRAIN || part > GNN_TEST)
        return gnn__error(GNN_EINVALID, "gnn_evaluate: expected part %d to %d, got %d", GNN_TRAIN,
                          GNN_TEST, part);
    if ((int)metric < 0 || metric > GNN_METRIC_AVERAGE_PRECISION)
        return gnn__error(GNN_EINVALID, "gnn_evaluate: expected metric 0 to %d, got %d",
                          GNN_METRIC_AVERAGE_PRECISION, (int)metric);
    const gnn__learnt_t learnt = {.split = split, .metric = metric};
    return evaluate(model, context, data, &learnt, part, value);
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
    if (!gnn__takes_targets(metric))
        return gnn__error(GNN_EINVALID, "gnn_evaluate_targets: expected metric %d to %d, got %d",
                          GNN_METRIC_MICRO_F1, GNN_METRIC_R2, (int)metric);
    if (part < -1 || part > GNN_TEST)
        return gnn__error(GNN_EINVALID, "gnn_evaluate_targets: part %d, -1 to %d are expected",
                          part, GNN_TEST);
    const gnn__learnt_t learnt = {
        .targets = targets, .splits = splits, .split = split, .metric = metric};
    return evaluate(model, context, data, &learnt, part, value);
}

/* Each rank computes its own rows in one pass; then all get all, unless the set has own rows. */
static int predict_over_ranks(const gnn_model_t *model, gnn_context_t *context, nodes_t *nodes,
                              gnn_model_inputs_t *inputs, const gnn_tensor_t *out)
{
    gnn_real_t *own = NULL, *all = NULL;
    int rc;
    GNN_CHECK(split_inputs(nodes, context));
    GNN_CHECK(prepare(nodes, GNN_OFF));
    const int64_t rows = context->ranks->hi - context->ranks->lo;
    if (nodes->set.ranks)
        return gnn_model_forward(model, context, inputs, out);
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
    nodes_t nodes = {.model = model};
    gnn_model_inputs_t inputs;
    gnn__ranks_outer_t outer;
    int rc = gnn__ranks_open(context, &outer);
    if (rc == GNN_OK)
        rc = gnn__training_set_open(&nodes.set, model, data, context);
    if (rc == GNN_OK)
        rc = gnn__training_set_slots(&nodes.set);
    if (rc == GNN_OK)
        rc = inputs_of(&nodes, &inputs);
    if (rc == GNN_OK && context->ranks && out->rows != nodes.set.nodes)
        rc = gnn__error(GNN_ESHAPE, "ranks: the output has %lld rows, the set %lld nodes",
                        (long long)out->rows, (long long)nodes.set.nodes);
    if (rc == GNN_OK && context->ranks)
        rc = predict_over_ranks(model, context, &nodes, &inputs, out);
    else if (rc == GNN_OK)
        rc = rows_at_once < 0 ? gnn_model_forward(model, context, &inputs, out)
                              : gnn__model_infer_layers(model, context, &inputs, rows_at_once, out);
    rc = gnn__ranks_close(context, &outer, rc);
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
