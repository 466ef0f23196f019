/* Activations, losses, optimisers and whole training runs against PyTorch and PyG. */
#include "golden.h"

#include <lib/data/arrays/arrays.h>

/* ---- one op: forward, then backward from `gy` ---- */

typedef struct {
    golden_t file;
    gnn_tape_t *tape;
    gnn_tensor_t x, gy;
    gnn_var_t in;
} op_case_t;

static bool open_op(op_case_t *c, const char *file)
{
    memset(c, 0, sizeof *c);
    if (!golden_open(&c->file, file))
        return false;
    c->x = golden_tensor(&c->file, "x");
    c->gy = golden_tensor(&c->file, "gy");
    ck_ok(gnn_tape_new(&c->tape, c->file.context));
    gnn_tape_reset(c->tape, 1, 1);
    c->in = gnn_tape_input(c->tape, &c->x, 1);
    return true;
}

static void finish_op(op_case_t *c, gnn_var_t y)
{
    gnn_tape_keep(c->tape, y);
    ck_ok(gnn_tape_forward(c->tape));
    gnn_tensor_t value = gnn_tape_value(c->tape, y);
    golden_same(&c->file, "y", &value, GOLDEN_OUT);
    ck_ok(gnn_tape_backward(c->tape, y, &c->gy));
    gnn_tensor_t gradient = gnn_tape_gradient(c->tape, c->in);
    golden_same(&c->file, "dx", &gradient, GOLDEN_GRAD);
    gnn_tape_free(c->tape);
    golden_close(&c->file);
}

static const struct {
    const char *file;
    gnn_activation_t kind;
} activations[] = {
    {"act_relu", GNN_RELU}, {"act_leaky_relu", GNN_LEAKY_RELU}, {"act_elu", GNN_ELU},
    {"act_gelu", GNN_GELU}, {"act_gelu_tanh", GNN_GELU_TANH},   {"act_silu", GNN_SILU},
    {"act_tanh", GNN_TANH}, {"act_sigmoid", GNN_SIGMOID},       {"act_softplus", GNN_SOFTPLUS},
};

START_TEST(activations_equal_pytorch)
{
    op_case_t c;
    if (open_op(&c, activations[_i].file))
        finish_op(&c, gnn_tape_activation(c.tape, c.in, activations[_i].kind, 0));
}
END_TEST

static const struct {
    const char *file;
    gnn_loss_kind_t kind;
    double label_smoothing;
} losses[] = {
    {"loss_cross_entropy", GNN_LOSS_CROSS_ENTROPY, 0},
    {"loss_cross_entropy_smooth", GNN_LOSS_CROSS_ENTROPY, 0.1},
    {"loss_cross_entropy_weighted", GNN_LOSS_CROSS_ENTROPY, 0},
    {"loss_bce", GNN_LOSS_BINARY_CROSS_ENTROPY, 0},
    {"loss_mse", GNN_LOSS_MEAN_SQUARED, 0},
};

static void labels_and_mask(golden_t *g, int32_t **labels, uint8_t **mask)
{
    int64_t n, *numbers = golden_integers(g, "mask", &n);
    *mask = malloc((size_t)n);
    *labels = malloc(sizeof **labels * (size_t)n);
    for (int64_t k = 0; k < n; k++)
        (*mask)[k] = numbers[k] != 0;
    numbers = golden_has(g, "labels") ? golden_integers(g, "labels", NULL) : numbers;
    for (int64_t k = 0; k < n; k++)
        (*labels)[k] = (int32_t)numbers[k];
}

START_TEST(losses_equal_pytorch)
{
    op_case_t c;
    int32_t *labels;
    uint8_t *mask;
    gnn_tensor_t targets = {0}, weight = {0};
    if (!open_op(&c, losses[_i].file))
        return;
    labels_and_mask(&c.file, &labels, &mask);
    if (golden_has(&c.file, "targets"))
        targets = golden_tensor(&c.file, "targets");
    if (golden_has(&c.file, "weight"))
        weight = golden_tensor(&c.file, "weight");
    gnn_loss_t loss = {.kind = losses[_i].kind,
                       .labels = labels,
                       .mask = mask,
                       .targets = targets.data ? &targets : NULL,
                       .label_smoothing = (gnn_real_t)losses[_i].label_smoothing,
                       .class_weight = weight.data};
    finish_op(&c, gnn_tape_loss(c.tape, c.in, &loss));
    free(labels);
    free(mask);
}
END_TEST

/* ---- optimisers: six steps on given gradients ---- */

static const struct {
    const char *file;
    gnn_optimizer_config_t config;
} optimizers[] = {
    {"optim_sgd",
     {.kind = GNN_SGD,
      .lr = (gnn_real_t)0.1,
      .momentum = (gnn_real_t)0.9,
      .weight_decay = (gnn_real_t)0.01}},
    {"optim_nesterov",
     {.kind = GNN_SGD, .lr = (gnn_real_t)0.1, .momentum = (gnn_real_t)0.9, .nesterov = GNN_ON}},
    {"optim_adam", {.kind = GNN_ADAM, .lr = (gnn_real_t)0.05, .weight_decay = (gnn_real_t)5e-4}},
    {"optim_rmsprop", {.kind = GNN_RMSPROP, .lr = (gnn_real_t)0.01}},
    {"optim_adamw",
     {.kind = GNN_ADAMW,
      .lr = (gnn_real_t)0.05,
      .beta1 = (gnn_real_t)0.9,
      .beta2 = (gnn_real_t)0.98,
      .eps = (gnn_real_t)1e-9,
      .weight_decay = (gnn_real_t)0.1}},
};

static gnn_parameters_t *one_parameter(golden_t *g, const gnn_tensor_t *start)
{
    gnn_parameters_t *parameters = NULL;
    int32_t id;
    ck_ok(gnn_parameters_new(&parameters));
    ck_ok(gnn_parameters_add(parameters, "p", start->rows, start->cols, GNN_INIT_ZEROS, 0, 0, 0, &id));
    ck_ok(gnn_parameters_allocate(parameters, g->context));
    gnn_tensor_t value = gnn_parameters_value(parameters, id);
    for (int64_t r = 0; r < value.rows; r++)
        memcpy(gnn__row(&value, r), gnn__row(start, r), sizeof *value.data * (size_t)value.cols);
    return parameters;
}

static void copy_rows(const gnn_tensor_t *to, const gnn_real_t *from)
{
    for (int64_t r = 0; r < to->rows; r++)
        memcpy(gnn__row(to, r), from + r * to->cols, sizeof *from * (size_t)to->cols);
}

START_TEST(optimizers_equal_pytorch)
{
    golden_t g;
    gnn_optimizer_t *optimizer = NULL;
    if (!golden_open(&g, optimizers[_i].file))
        return;
    gnn_tensor_t p0 = golden_tensor(&g, "p0"), grads = golden_tensor(&g, "grads");
    gnn_parameters_t *parameters = one_parameter(&g, &p0);
    gnn_tensor_t value = gnn_parameters_value(parameters, 0),
                 gradient = gnn_parameters_gradient(parameters, 0);
    gnn_tensor_t path = gnn_tensor(golden_reals(&g, grads.rows * grads.cols), grads.rows, grads.cols);
    ck_ok(gnn_optimizer_new(&optimizer, g.context, parameters, &optimizers[_i].config));
    for (int64_t step = 0; step < grads.rows; step++) {
        copy_rows(&gradient, gnn__row(&grads, step));
        ck_ok(gnn_optimizer_step(optimizer, 1));
        for (int64_t r = 0; r < value.rows; r++)
            memcpy(gnn__row(&path, step) + r * value.cols, gnn__row(&value, r),
                   sizeof *value.data * (size_t)value.cols);
    }
    golden_same(&g, "p", &path, GOLDEN_OUT);
    gnn_optimizer_free(optimizer);
    gnn_parameters_free(parameters);
    golden_close(&g);
}
END_TEST

START_TEST(clipping_equals_pytorch)
{
    golden_t g;
    double norm = 0;
    if (!golden_open(&g, "optim_clip"))
        return;
    gnn_tensor_t grad = golden_tensor(&g, "grad");
    gnn_parameters_t *parameters = one_parameter(&g, &grad);
    gnn_tensor_t gradient = gnn_parameters_gradient(parameters, 0);
    copy_rows(&gradient, grad.data);
    ck_ok(gnn_clip_gradients(parameters, 1, &norm));
    gnn_real_t found = (gnn_real_t)norm;
    gnn_tensor_t number = gnn_tensor(&found, 1, 1);
    golden_same(&g, "clipped", &gradient, GOLDEN_OUT);
    golden_same(&g, "norm", &number, GOLDEN_OUT);
    gnn_parameters_free(parameters);
    golden_close(&g);
}
END_TEST

/* ---- a training run: two layers, Adam, no dropout ---- */

typedef struct {
    golden_t file;
    gnn_graph_t *graph;
    gnn_model_t *model;
    gnn_tensor_t x;
    int32_t *labels;
    uint8_t *mask;
} run_t;

/* Widths and heads of layer k from the shapes of its first weights. */
static gnn_layer_config_t layer_config(const golden_t *g, gnn_preset_t preset, int k)
{
    char name[64];
    snprintf(name, sizeof name, "w0.%d.lin.weight", k);
    const gnn_array_t *weight = golden_array(g, name);
    gnn_layer_config_t config = {.preset = preset, .in = weight->shape[1], .out = weight->shape[0]};
    config.activation = k == 0 ? GNN_ELU : GNN_IDENTITY;
    snprintf(name, sizeof name, "w0.%d.att_src", k);
    if (golden_has(g, name)) {
        config.heads = golden_array(g, name)->shape[1];
        config.out = golden_array(g, name)->shape[2];
    }
    return config;
}

static void make_run(run_t *r, gnn_preset_t preset)
{
    r->x = golden_tensor(&r->file, "x");
    r->graph = golden_graph(&r->file, r->x.rows);
    labels_and_mask(&r->file, &r->labels, &r->mask);
    gnn_layer_config_t layers[2] = {layer_config(&r->file, preset, 0),
                                    layer_config(&r->file, preset, 1)};
    ck_ok(gnn_model_new(&r->model, r->file.context, 2, layers));
    ck_ok(gnn_model_import(r->model, GNN_NAMES_PYG, "w0.%lld.", r->file.arrays));
    ck_ok(gnn_model_prepare(r->model, 0, r->graph, GNN_ON));
}

static void train(run_t *r, const gnn_tensor_t *losses_out)
{
    gnn_tape_t *tape = NULL;
    gnn_optimizer_t *optimizer = NULL;
    gnn_named_t value = {.name = "x", .dense = &r->x};
    gnn_model_inputs_t inputs = {.graphs = (const gnn_graph_t *const *)&r->graph,
                                 .n_graphs = 1,
                                 .values = &value,
                                 .n_values = 1};
    gnn_loss_t how = {.labels = r->labels, .mask = r->mask};
    gnn_optimizer_config_t config = {
        .kind = GNN_ADAM, .lr = (gnn_real_t)0.01, .weight_decay = (gnn_real_t)5e-4};
    gnn_parameters_t *parameters = gnn_model_parameters(r->model);
    ck_ok(gnn_optimizer_new(&optimizer, r->file.context, parameters, &config));
    ck_ok(gnn_tape_new(&tape, r->file.context));
    gnn_tape_reset(tape, 1, 1);
    gnn_var_t loss = gnn_tape_loss(tape, gnn_model_record(r->model, tape, &inputs, NULL), &how);
    gnn_tape_keep(tape, loss);
    for (int64_t step = 0; step < losses_out->rows; step++) {
        gnn_parameters_zero_gradients(parameters);
        ck_ok(gnn_tape_forward(tape));
        losses_out->data[step] = gnn_tape_value(tape, loss).data[0];
        ck_ok(gnn_tape_backward(tape, loss, NULL));
        ck_ok(gnn_optimizer_step(optimizer, 1));
    }
    gnn_tape_free(tape);
    gnn_optimizer_free(optimizer);
}

/* The weights after, each under the name of the weight before. */
static void compare_weights(run_t *r)
{
    char before[96];
    int64_t compared = 0;
    for (int64_t k = 0; k < r->file.arrays->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(r->file.arrays, k);
        if (strncmp(a->name, "w25.", 4) != 0)
            continue;
        gnn_tensor_t ours = gnn_tensor(golden_reals(&r->file, a->count), 1, a->count);
        snprintf(before, sizeof before, "w0.%s", a->name + 4);
        ck_ok(gnn_model_export(r->model, GNN_NAMES_PYG, "w0.%lld.", before, 0, ours.data, a->count));
        golden_same(&r->file, a->name, &ours, GOLDEN_GRAD);
        compared++;
    }
    ck_assert_int_gt(compared, 0);
}

START_TEST(training_equals_pyg)
{
    run_t r = {0};
    if (!golden_open(&r.file, _i ? "train_gat" : "train_gcn"))
        return;
    make_run(&r, _i ? GNN_PRESET_GAT : GNN_PRESET_GCN);
    int64_t steps = golden_array(&r.file, "loss")->count;
    gnn_tensor_t loss = gnn_tensor(golden_reals(&r.file, steps), steps, 1);
    train(&r, &loss);
    golden_same(&r.file, "loss", &loss, GOLDEN_OUT);
    compare_weights(&r);
    gnn_model_free(r.model);
    gnn_graph_free(r.graph);
    free(r.labels);
    free(r.mask);
    golden_close(&r.file);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

int main(void)
{
    Suite *suite = suite_create("golden_ops");
    TCase *tc = tcase_create("golden_ops");
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, activations_equal_pytorch, 0, COUNT(activations));
    tcase_add_loop_test(tc, losses_equal_pytorch, 0, COUNT(losses));
    tcase_add_loop_test(tc, optimizers_equal_pytorch, 0, COUNT(optimizers));
    tcase_add_test(tc, clipping_equals_pytorch);
    tcase_add_loop_test(tc, training_equals_pyg, 0, 2);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
