/* Layers and norms against PyTorch and PyG: the same weights, inputs and output gradients give the
 * same outputs and gradients. All names of weights come from lib/weights/names.def; all sizes
 * from the files, so that another set at $GNN_GOLDEN passes as well. */
#include "golden.h"

#include <lib/data/arrays/arrays.h>
#include <stdarg.h>

enum { MOST_STEPS = 32, MOST_INPUTS = 4, MOST_GRAPHS = 3 };

typedef struct {
    golden_t file;
    gnn_names_t names;
    const char *prefix;
    gnn_step_t steps[MOST_STEPS];
    int64_t n_steps;
    char words[MOST_STEPS][64]; /* names of steps */
    gnn_graph_t *graphs[MOST_GRAPHS];
    int n_graphs;
    gnn_named_t inputs[MOST_INPUTS];
    gnn_tensor_t tensors[MOST_INPUTS];
    int64_t n_inputs;
    gnn_model_t *model;
} golden_case_t;

/* ---- making the case ---- */

static int64_t dimension(const golden_t *g, const char *name, int d)
{
    const gnn_array_t *a = golden_array(g, name);
    ck_assert_int_lt(d, a->ndim);
    return a->shape[d];
}

static void add_inputs(golden_case_t *c)
{
    static const char *const names[MOST_INPUTS] = {"x", "mem", "e", "ew"};
    for (int k = 0; k < MOST_INPUTS; k++)
        if (golden_has(&c->file, names[k])) {
            c->tensors[c->n_inputs] = golden_tensor(&c->file, names[k]);
            c->inputs[c->n_inputs] =
                (gnn_named_t){.name = names[k], .dense = &c->tensors[c->n_inputs], .wants_grad = 1};
            c->n_inputs++;
        }
}

static void add_graph(golden_case_t *c, gnn_graph_t *graph)
{
    c->graphs[c->n_graphs++] = graph;
}

static void add_sentences(golden_case_t *c, const char *lengths,
                          int (*make)(gnn_graph_t **, int64_t, const int64_t *))
{
    int64_t n, *list = golden_integers(&c->file, lengths, &n);
    gnn_graph_t *graph = NULL;
    ck_ok(make(&graph, n, list));
    add_graph(c, graph);
}

static void add_cross(golden_case_t *c)
{
    int64_t n, *to = golden_integers(&c->file, "lengths", &n),
               *from = golden_integers(&c->file, "lengths_mem", NULL);
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_bipartite(&graph, n, to, from));
    add_graph(c, graph);
}

/* Sizes of a config from the shapes in the file; `prefix` precedes the names of this layer's
 * weights. */
static gnn_layer_config_t sized(const golden_t *g, gnn_layer_config_t config, const char *prefix)
{
    char name[128];
    bool mixed = config.preset == GNN_PRESET_TRANSFORMER;
    bool attends = mixed || config.preset == GNN_PRESET_GAT || config.preset == GNN_PRESET_GATV2 ||
                   config.preset == GNN_PRESET_TRANSFORMER_CONV;
    config.in = dimension(g, "x", 1);
    config.out = dimension(g, "y", 1);
    if (attends)
        config.heads = (int64_t)gnn_array_get(golden_array(g, "heads"), 0);
    if (attends && !mixed && config.combine != GNN_HEADS_AVERAGE)
        config.out /= config.heads;
    if (golden_has(g, "e"))
        config.edge_dim = dimension(g, "e", 1);
    if (golden_has(g, "w.nn.0.weight"))
        config.hidden = dimension(g, "w.nn.0.weight", 0);
    snprintf(name, sizeof name, "%slinear1.weight", prefix);
    if (mixed && golden_has(g, name))
        config.feed_forward = dimension(g, name, 0);
    return config;
}

static gnn_step_t *add_step(golden_case_t *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static gnn_step_t *add_step(golden_case_t *c, const char *format, ...)
{
    va_list arguments;
    ck_assert_int_lt(c->n_steps, MOST_STEPS);
    va_start(arguments, format);
    vsnprintf(c->words[c->n_steps], sizeof c->words[0], format, arguments);
    va_end(arguments);
    gnn_step_t *step = &c->steps[c->n_steps];
    step->name = c->words[c->n_steps++];
    return step;
}

static void make_model(golden_case_t *c)
{
    ck_ok(gnn_model_from_steps(&c->model, c->file.context, c->n_steps, c->steps));
    ck_ok(gnn_model_import(c->model, c->names, c->prefix, c->file.arrays));
    for (int k = 0; k < c->n_graphs; k++)
        ck_ok(gnn_model_prepare(c->model, k, c->graphs[k], GNN_ON));
}

static void free_case(golden_case_t *c)
{
    gnn_model_free(c->model);
    for (int k = 0; k < c->n_graphs; k++)
        gnn_graph_free(c->graphs[k]);
    golden_close(&c->file);
}

/* ---- comparing ---- */

static gnn_model_inputs_t model_inputs(const golden_case_t *c)
{
    return (gnn_model_inputs_t){.graphs = (const gnn_graph_t *const *)c->graphs,
                                .n_graphs = c->n_graphs,
                                .values = c->inputs,
                                .n_values = c->n_inputs};
}

static void compare_input_gradients(golden_case_t *c, const gnn_tape_t *tape, const gnn_var_t *vars)
{
    char name[32];
    for (int64_t k = 0; k < c->n_inputs; k++) {
        gnn_tensor_t gradient = gnn_tape_gradient(tape, vars[k]);
        snprintf(name, sizeof name, "d%s", c->inputs[k].name);
        golden_same(&c->file, name, &gradient, GOLDEN_GRAD);
    }
}

/* Every weight of the file, exported under its own name and layout. */
static void compare_weight_gradients(golden_case_t *c)
{
    char name[160];
    int64_t compared = 0;
    for (int64_t k = 0; k < c->file.arrays->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(c->file.arrays, k);
        if (strncmp(a->name, "w.", 2) != 0)
            continue;
        gnn_tensor_t ours = gnn_tensor(golden_reals(&c->file, a->count), 1, a->count);
        ck_ok(gnn_model_export(c->model, c->names, c->prefix, a->name, 1, ours.data, a->count));
        snprintf(name, sizeof name, "d%s", a->name);
        golden_same(&c->file, name, &ours, GOLDEN_GRAD);
        compared++;
    }
    ck_assert_msg(compared > 0, "%s: no weights in the file", c->file.name);
}

static void compare_training(golden_case_t *c)
{
    gnn_tape_t *tape = NULL;
    gnn_var_t vars[MOST_INPUTS];
    gnn_model_inputs_t inputs = model_inputs(c);
    gnn_tensor_t gy = golden_tensor(&c->file, "gy");
    ck_ok(gnn_tape_new(&tape, c->file.context));
    gnn_tape_reset(tape, 1, 1);
    gnn_var_t y = gnn_model_record(c->model, tape, &inputs, vars);
    gnn_tape_keep(tape, y);
    ck_ok(gnn_tape_forward(tape));
    gnn_tensor_t value = gnn_tape_value(tape, y);
    golden_same(&c->file, "y", &value, GOLDEN_OUT);
    gnn_parameters_zero_gradients(gnn_model_parameters(c->model));
    ck_ok(gnn_tape_backward(tape, y, &gy));
    compare_input_gradients(c, tape, vars);
    compare_weight_gradients(c);
    gnn_tape_free(tape);
}

static void compare_inference(golden_case_t *c, const char *expected)
{
    gnn_model_inputs_t inputs = model_inputs(c);
    int64_t rows = dimension(&c->file, "y", 0), cols = dimension(&c->file, "y", 1);
    gnn_tensor_t out = gnn_tensor(golden_reals(&c->file, rows * cols), rows, cols);
    ck_ok(gnn_model_forward(c->model, c->file.context, &inputs, &out));
    golden_same(&c->file, expected, &out, GOLDEN_OUT);
    golden_keep_model(&c->file, c->model, &inputs, &out);
}

static void compare_attention(golden_case_t *c)
{
    gnn_model_inputs_t inputs = model_inputs(c);
    int64_t count = golden_array(&c->file, "weights")->count;
    gnn_tensor_t out = gnn_tensor(golden_reals(&c->file, count), 1, count);
    ck_ok(gnn_model_attention(c->model, c->file.context, &inputs, 0, NULL, out.data));
    golden_same(&c->file, "weights", &out, GOLDEN_OUT);
}

/* ---- one layer ---- */

typedef enum { EDGES, COMPLETE, CAUSAL, CROSS } topology_t;

typedef struct {
    const char *file;
    gnn_names_t names;
    topology_t topology;
    int64_t hops; /* 0: 1 */
    gnn_layer_config_t config;
} layer_case_t;

#define ATTENTION_ALONE                                                                  \
    .preset = GNN_PRESET_TRANSFORMER, .update = &gnn_update_linear, .residual = GNN_OFF, \
    .norm = GNN_NORM_NONE
#define ENCODER(position, act)                                              \
    .preset = GNN_PRESET_TRANSFORMER, .norm_position = GNN_NORM_##position, \
    .hidden_activation = GNN_##act

/* PyG 2.8.1 heeds GCNConv's `improved` with edge weights alone. */
/* clang-format off */
static const layer_case_t layers[] = {
    {"gcn", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GCN}},
    {"gcn_weighted", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GCN}},
    {"sage_mean", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_SAGE}},
    {"sage_max", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_SAGE}},
    {"sage_sum", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_SAGE}},
    {"sage_min", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_SAGE}},
    {"gin", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GIN, .learn_eps = GNN_ON}},
    {"gine", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GINE}},
    {"gat", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GAT}},
    {"gat_average", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GAT, .combine = GNN_HEADS_AVERAGE, .self_loops = GNN_OFF}},
    {"gat_edge", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GAT, .self_loops = GNN_OFF}},
    {"gatv2", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GATV2}},
    {"gatv2_shared", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GATV2, .share_weights = GNN_ON}},
    {"transformer_conv", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_TRANSFORMER_CONV}},
    {"transformer_conv_edge", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_TRANSFORMER_CONV}},
    {"gat_edge_loops", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GAT}},
    {"gatv2_edge_loops", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GATV2}},
    {"gat_residual", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GAT, .self_term = GNN_ON, .bias_update = GNN_OFF}},
    {"sage_normalize", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_SAGE, .norm = GNN_NORM_L2}},
    {"transformer_conv_beta", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_TRANSFORMER_CONV, .update = &gnn_update_beta}},
    {"transformer_conv_average", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_TRANSFORMER_CONV, .combine = GNN_HEADS_AVERAGE}},
    {"gcn_improved", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GCN}},
    {"pyg/gcn_improved", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_GCN, .loop_weight = 2}},
    {"resgated", GNN_NAMES_PYG, EDGES, 0, {.preset = GNN_PRESET_RESGATED}},
    {"gated_graph", GNN_NAMES_PYG, EDGES, 3, {.preset = GNN_PRESET_GATED_GRAPH}},
    {"graphconv", GNN_NAMES_PYG, EDGES, 0, {.update = &gnn_update_linear, .self_term = GNN_ON, .bias_update = GNN_OFF}},
    {"mha_self", GNN_NAMES_PYTORCH, COMPLETE, 0, {ATTENTION_ALONE}},
    {"mha_causal", GNN_NAMES_PYTORCH, CAUSAL, 0, {ATTENTION_ALONE}},
    {"mha_cross", GNN_NAMES_PYTORCH, CROSS, 0, {ATTENTION_ALONE}},
    {"encoder_post_relu", GNN_NAMES_PYTORCH, COMPLETE, 0, {ENCODER(AFTER, RELU)}},
    {"encoder_post_gelu", GNN_NAMES_PYTORCH, COMPLETE, 0, {ENCODER(AFTER, GELU)}},
    {"encoder_pre_relu", GNN_NAMES_PYTORCH, COMPLETE, 0, {ENCODER(BEFORE, RELU)}},
    {"encoder_pre_gelu", GNN_NAMES_PYTORCH, COMPLETE, 0, {ENCODER(BEFORE, GELU)}},
};
/* clang-format on */

enum { LAYERS = sizeof layers / sizeof layers[0] };

/* The rows of the tables that a file's name asks for. */
static gnn_layer_config_t with_rows(gnn_layer_config_t config, const char *file)
{
    const char *aggregator = strncmp(file, "sage_", 5) == 0 ? file + 5 : NULL;
    if (config.norm == GNN_NORM_L2)
        aggregator = "mean";
    if (strcmp(file, "graphconv") == 0) {
        config.message = gnn_message_find("none");
        aggregator = "sum";
    }
    if (aggregator)
        config.aggregator = gnn_aggregator_find(aggregator);
    return config;
}

static void add_topology(golden_case_t *c, topology_t topology)
{
    if (topology == EDGES)
        add_graph(c, golden_graph(&c->file, dimension(&c->file, "x", 0)));
    else if (topology == CROSS)
        add_cross(c);
    else
        add_sentences(c, "lengths", topology == CAUSAL ? gnn_graph_causal : gnn_graph_complete);
}

START_TEST(layers_equal_pytorch_and_pyg)
{
    const layer_case_t *l = &layers[_i];
    golden_case_t c = {.names = l->names, .prefix = "w."};
    if (!golden_open(&c.file, l->file))
        return;
    add_inputs(&c);
    add_topology(&c, l->topology);
    for (int64_t k = 0; k < (l->hops ? l->hops : 1); k++) {
        gnn_step_t *s = add_step(&c, "%lld", (long long)k);
        s->layer = sized(&c.file, with_rows(l->config, l->file), "w.");
        s->edge_features = golden_has(&c.file, "e") ? "e" : NULL;
        s->edge_weight = golden_has(&c.file, "ew") ? "ew" : NULL;
        s->inputs[0] = l->topology == CROSS ? "mem" : NULL;
        s->receivers = l->topology == CROSS ? "x" : NULL;
        s->share = k > 0 ? "0" : NULL;
        s->share_fields = "gru";
    }
    make_model(&c);
    compare_training(&c);
    compare_inference(&c, "y");
    if (golden_has(&c.file, "weights"))
        compare_attention(&c);
    free_case(&c);
}
END_TEST

/* ---- decoders and the whole Transformer: steps over several graphs ---- */

enum { MEMORY_GRAPH, CAUSAL_GRAPH, CROSS_GRAPH };

/* TransformerDecoderLayer: causal attention without a feed-forward block, then attention to
 * `memory` with one. */
static void add_decoder(golden_case_t *c, gnn_layer_config_t config, const char *name,
                        const char *input, const char *memory)
{
    gnn_step_t *self = add_step(c, "%s", name), *cross = add_step(c, "%s:cross", name);
    self->inputs[0] = input;
    self->graph = CAUSAL_GRAPH;
    self->layer = config;
    self->layer.update = &gnn_update_linear;
    cross->inputs[0] = memory;
    cross->receivers = self->name;
    cross->graph = CROSS_GRAPH;
    cross->layer = config;
}

static void add_final_norm(golden_case_t *c, const char *name)
{
    gnn_step_t *s = add_step(c, "%s", name);
    s->kind = GNN_STEP_NORM;
    s->norm = GNN_NORM_LAYER;
    s->in = dimension(&c->file, "y", 1);
}

static void add_three_graphs(golden_case_t *c)
{
    add_sentences(c, "lengths_mem", gnn_graph_complete);
    add_sentences(c, "lengths", gnn_graph_causal);
    add_cross(c);
}

START_TEST(decoders_equal_pytorch)
{
    golden_case_t c = {.names = GNN_NAMES_PYTORCH, .prefix = "w."};
    if (!golden_open(&c.file, _i ? "decoder_pre" : "decoder_post"))
        return;
    gnn_layer_config_t config = {.preset = GNN_PRESET_TRANSFORMER,
                                 .norm_position = _i ? GNN_NORM_BEFORE : GNN_NORM_AFTER};
    add_inputs(&c);
    add_three_graphs(&c);
    add_decoder(&c, sized(&c.file, config, "w."), "decoder", "x", "mem");
    make_model(&c);
    compare_training(&c);
    compare_inference(&c, "y");
    free_case(&c);
}
END_TEST

/* Count of the layers of one side in the file. */
static int64_t count_layers(const golden_t *g, const char *side)
{
    char name[128];
    for (int64_t k = 0;; k++) {
        snprintf(name, sizeof name, "w.%s.layers.%lld.linear1.weight", side, (long long)k);
        if (!golden_has(g, name))
            return k;
    }
}

START_TEST(transformers_equal_pytorch)
{
    golden_case_t c = {.names = GNN_NAMES_PYTORCH, .prefix = "w.%s."};
    char name[64];
    if (!golden_open(&c.file, _i ? "transformer_pre" : "transformer_post"))
        return;
    gnn_layer_config_t config = {.preset = GNN_PRESET_TRANSFORMER,
                                 .hidden_activation = GNN_GELU,
                                 .norm_position = _i ? GNN_NORM_BEFORE : GNN_NORM_AFTER};
    config = sized(&c.file, config, "w.encoder.layers.0.");
    add_inputs(&c);
    add_three_graphs(&c);
    for (int64_t k = 0; k < count_layers(&c.file, "encoder"); k++) {
        gnn_step_t *s = add_step(&c, "encoder.layers.%lld", (long long)k);
        s->inputs[0] = k == 0 ? "mem" : NULL;
        s->graph = MEMORY_GRAPH;
        s->layer = config;
    }
    add_final_norm(&c, "encoder.norm");
    for (int64_t k = 0; k < count_layers(&c.file, "decoder"); k++) {
        snprintf(name, sizeof name, "decoder.layers.%lld", (long long)k);
        add_decoder(&c, config, name, k == 0 ? "x" : NULL, "encoder.norm");
    }
    add_final_norm(&c, "decoder.norm");
    make_model(&c);
    compare_training(&c);
    compare_inference(&c, "y");
    free_case(&c);
}
END_TEST

/* ---- norms by themselves ---- */

static void norm_case(const char *file, gnn_norm_t norm, golden_case_t *c)
{
    *c = (golden_case_t){.names = GNN_NAMES_PYTORCH, .prefix = "w."};
    if (!golden_open(&c->file, file))
        return;
    add_inputs(c);
    add_final_norm(c, "norm");
    c->steps[0].norm = norm;
    make_model(c);
    compare_training(c);
}

START_TEST(layer_norm_equals_pytorch)
{
    golden_case_t c;
    norm_case("norm_layer", GNN_NORM_LAYER, &c);
    if (c.model)
        compare_inference(&c, "y");
    free_case(&c);
}
END_TEST

/* Running statistics after one step in training; then inference by them. */
START_TEST(batch_norm_equals_pytorch)
{
    golden_case_t c;
    gnn_tensor_t running;
    norm_case("norm_batch", GNN_NORM_BATCH, &c);
    if (c.model) {
        ck_ok(gnn_model_buffer(c.model, "norm.running", &running));
        gnn_tensor_t mean = gnn_tensor(running.data, 1, running.cols);
        gnn_tensor_t variance = gnn_tensor(gnn__row(&running, 1), 1, running.cols);
        golden_same(&c.file, "running_mean", &mean, GOLDEN_OUT);
        golden_same(&c.file, "running_var", &variance, GOLDEN_OUT);
        compare_inference(&c, "y_eval");
    }
    free_case(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden");
    TCase *tc = tcase_create("golden");
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, layers_equal_pytorch_and_pyg, 0, LAYERS);
    tcase_add_loop_test(tc, decoders_equal_pytorch, 0, 2);
    tcase_add_loop_test(tc, transformers_equal_pytorch, 0, 2);
    tcase_add_test(tc, layer_norm_equals_pytorch);
    tcase_add_test(tc, batch_norm_equals_pytorch);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
