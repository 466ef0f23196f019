/* A training over ranks whose weights are compared with those of one rank: shared by the suites of
 * ranks. Every rank draws the same set and the same model. */
#ifndef GNN_TESTS_RANKS_TRIAL_H
#define GNN_TESTS_RANKS_TRIAL_H

#include "support.h"

#include <gnn/partition.h>
#include <gnn/ranks.h>

enum { TRIAL_IN = 24, TRIAL_CLASSES = 5, TRIAL_EDGE = 3 };

/* Ranks are threads or programs, in which assertions of Check do not work. */
static inline void trial_must(int rc)
{
    if (rc == GNN_OK)
        return;
    fprintf(stderr, "a trial over ranks: code %d: %s\n", rc, gnn_error_message());
    abort();
}

/* A trial: set, layers and settings. */
typedef struct {
    const char *name;
    int64_t nodes;
    const gnn_layer_config_t *layers;
    int n_layers;
    bool sparse, directed, near;       /* near: all edges are to near nodes */
    void (*steps)(gnn_steps_t *steps); /* the model in place of layers; NULL: none */
    int relations;                     /* graphs of slots; 0: none */
    gnn_train_config_t train;
    const char *folder; /* a partition in place of the drawn set; NULL: none */
    bool own_rows;      /* each rank opens its rows of the folder */
} trial_case_t;

/* The result of one rank. */
typedef struct {
    int rc;
    char message[256];
    gnn_real_t *weights, *outputs; /* for free */
    int64_t n_weights, n_outputs;
    int64_t first, rows; /* of `outputs` that this rank has computed */
    double accuracy;
    gnn_train_result_t result;
} trial_result_t;

/* About ten edges per node, two in three to near nodes. */
static inline void trial_edges(const trial_case_t *c, int64_t *src, int64_t *dst, int64_t count)
{
    uint64_t state = 7;
    for (int64_t k = 0; k < count; k++) {
        src[k] = test_below(&state, c->nodes);
        dst[k] = k % 3 == 0 && !c->near ? test_below(&state, c->nodes)
                                        : (src[k] + 1 + test_below(&state, 40)) % c->nodes;
    }
}

/* Arrays on edges: "e" (edges x TRIAL_EDGE), and the positive "w". */
static inline void trial_edge_arrays(gnn_data_t *data)
{
    const int64_t m = gnn_graph_n_edges(gnn_data_graph(data));
    gnn_real_t *e = test_reals(m * TRIAL_EDGE, 5), *w = test_reals(m, 6);
    for (int64_t k = 0; k < m; k++)
        w[k] = (gnn_real_t)1.5 + w[k] / 2;
    trial_must(gnn_data_array_set(
        data, GNN_ON_EDGES,
        &(gnn_array_t){.name = "e",
                       .dtype = sizeof(gnn_real_t) == 4 ? GNN_DTYPE_FLOAT32 : GNN_DTYPE_FLOAT64,
                       .ndim = 2,
                       .shape = {m, TRIAL_EDGE},
                       .count = m * TRIAL_EDGE,
                       .data = e}));
    trial_must(gnn_data_array_set(
        data, GNN_ON_EDGES,
        &(gnn_array_t){.name = "w",
                       .dtype = sizeof(gnn_real_t) == 4 ? GNN_DTYPE_FLOAT32 : GNN_DTYPE_FLOAT64,
                       .ndim = 2,
                       .shape = {m, 1},
                       .count = m,
                       .data = w}));
    free(e);
    free(w);
}

/* Relation r has every edge whose index is r modulo their count. */
static inline void trial_relations(const trial_case_t *c, gnn_data_t *data)
{
    const int64_t m = 5 * c->nodes;
    int64_t *src = malloc((size_t)m * sizeof *src), *dst = malloc((size_t)m * sizeof *dst);
    gnn_graph_t *graphs[8];
    for (int r = 0; r < c->relations; r++) {
        int64_t count = 0;
        trial_edges(c, src, dst, m);
        for (int64_t k = r; k < m; k += c->relations, count++) {
            src[count] = src[k];
            dst[count] = dst[k];
        }
        trial_must(gnn_graph_from_edges(&graphs[r], c->nodes, c->nodes, count, gnn_ints(src),
                                        gnn_ints(dst)));
    }
    trial_must(gnn_data_graphs_set(data, c->relations, graphs));
    free(src);
    free(dst);
}

static inline gnn_data_t *trial_data(const trial_case_t *c)
{
    const int64_t n = c->nodes, m = 5 * n;
    int64_t *src = malloc((size_t)m * sizeof *src), *dst = malloc((size_t)m * sizeof *dst),
            *indptr = malloc((size_t)(n + 1) * sizeof *indptr);
    int32_t *labels = malloc((size_t)n * sizeof *labels),
            *columns = malloc((size_t)(3 * n) * sizeof *columns);
    gnn_real_t *x = test_reals(n * TRIAL_IN, 3);
    uint64_t state = 11;
    gnn_data_t *data;
    trial_edges(c, src, dst, m);
    for (int64_t i = 0; i < n; i++) {
        labels[i] = (int32_t)(x[i * TRIAL_IN] > 0 ? test_below(&state, 3) : i % TRIAL_CLASSES);
        for (int k = 0; k < 3; k++)
            columns[3 * i + k] = (int32_t)((k * 8) + test_below(&state, 8));
        indptr[i] = 3 * i;
    }
    indptr[n] = 3 * n;
    const gnn_tensor_t dense = gnn_tensor(x, n, TRIAL_IN);
    const gnn_sparse_t sparse = {n, TRIAL_IN, indptr, columns, x};
    trial_must(gnn_data_new(&data, &(gnn_data_config_t){.nodes = n,
                                                        .edges = m,
                                                        .src = gnn_ints(src),
                                                        .dst = gnn_ints(dst),
                                                        .both_ways = c->directed ? GNN_OFF : GNN_ON,
                                                        .x = c->sparse ? NULL : &dense,
                                                        .sparse = c->sparse ? &sparse : NULL,
                                                        .labels = gnn_ints(labels),
                                                        .classes = TRIAL_CLASSES}));
    free(src);
    free(dst);
    free(indptr);
    free(labels);
    free(columns);
    free(x);
    trial_edge_arrays(data);
    if (c->relations)
        trial_relations(c, data);
    return data;
}

static inline int trial_calls(const trial_case_t *c, gnn_context_t *context, gnn_model_t *model,
                              gnn_data_t *data, trial_result_t *result)
{
    const gnn_tensor_t out =
        gnn_tensor(result->outputs + result->first * TRIAL_CLASSES, result->rows, TRIAL_CLASSES);
    GNN_TRY(gnn_train(model, context, data, &c->train, &result->result));
    GNN_TRY(gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &result->accuracy));
    return gnn_predict(model, context, data, &out);
}

static inline void trial_keep_weights(const gnn_model_t *model, trial_result_t *result)
{
    const gnn_parameters_t *p = gnn_model_parameters(model);
    for (int32_t id = 0; id < gnn_parameters_count(p); id++) {
        const gnn_tensor_t value = gnn_parameters_value(p, id);
        const int64_t count = value.rows * value.cols;
        result->weights =
            realloc(result->weights, (size_t)(result->n_weights + count) * sizeof *result->weights);
        memcpy(result->weights + result->n_weights, value.data, (size_t)count * sizeof *value.data);
        result->n_weights += count;
    }
}

static inline gnn_model_t *trial_model(const trial_case_t *c, gnn_context_t *context)
{
    gnn_model_t *model;
    gnn_steps_t *steps;
    if (!c->steps) {
        trial_must(gnn_model_new(&model, context, c->n_layers, c->layers));
        return model;
    }
    trial_must(gnn_steps_new(&steps));
    c->steps(steps);
    trial_must(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

/* The set of a trial: drawn, or read from its folder, whole or own rows. */
static inline int trial_open(const trial_case_t *c, gnn_context_t *context,
                             const gnn_transport_t *transport, gnn_data_t **data,
                             trial_result_t *result)
{
    gnn_partition_folder_t *folder;
    int64_t book[64];
    result->rows = c->nodes;
    if (!c->folder) {
        *data = trial_data(c);
        return GNN_OK;
    }
    if (!c->own_rows)
        return gnn_data_open(data, c->folder);
    GNN_TRY(gnn_data_open_rank(data, context, c->folder));
    GNN_TRY(gnn_partition_folder_open(&folder, c->folder, 0));
    const int rc = gnn_partition_folder_book(folder, transport->ranks, book);
    gnn_partition_folder_free(folder);
    result->first = book[transport->rank];
    result->rows = gnn_data_nodes(*data);
    return rc;
}

/* One rank of a trial. */
static inline trial_result_t trial_run(const trial_case_t *c, gnn_transport_t *transport, int threads)
{
    trial_result_t result = {.n_outputs = c->nodes * TRIAL_CLASSES};
    gnn_context_t *context;
    gnn_data_t *data = NULL;
    result.outputs = calloc((size_t)result.n_outputs, sizeof *result.outputs);
    trial_must(gnn_context_new(&context, &(gnn_context_config_t){.threads = threads, .seed = 5}));
    trial_must(gnn_context_set_ranks(context, transport));
    gnn_model_t *model = trial_model(c, context);
    result.rc = trial_open(c, context, transport, &data, &result);
    if (result.rc == GNN_OK)
        result.rc = trial_calls(c, context, model, data, &result);
    if (result.rc != GNN_OK)
        snprintf(result.message, sizeof result.message, "%s", gnn_error_message());
    trial_keep_weights(model, &result);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    return result;
}

static inline void trial_free(trial_result_t *result)
{
    free(result->weights);
    free(result->outputs);
}

/* clang-format off */
#define TRIAL(label, ...) .name = label, .n_layers = sizeof((gnn_layer_config_t[]){__VA_ARGS__}) / sizeof(gnn_layer_config_t), .layers = (const gnn_layer_config_t[]){__VA_ARGS__}
/* clang-format on */

#endif
