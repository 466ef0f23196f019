/* Models: kinds of steps, names, shared matrices, values by name, blocks, and models with rows of
 * the user's own in files. */
#include "support.h"

#include <lib/model/steps.h>

#include <math.h>
#include <time.h>
#include <unistd.h>

enum { N = 6, D = 4 };

static gnn_context_t *context;
static gnn_graph_t *graphs[2];
static gnn_real_t numbers[N * D], edge_numbers[N * D];
static gnn_tensor_t x, e;
static gnn_named_t values[2];
static char path[64];

/* Slot 0: two sentences; slot 1: a ring of edges. */
static void set_up(void)
{
    const int64_t lengths[] = {2, 4};
    int64_t src[N], dst[N];
    uint64_t state = 7;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_graph_causal(&graphs[0], 2, lengths));
    for (int64_t k = 0; k < N; k++) {
        dst[k] = k;
        src[k] = (k + 1) % N;
    }
    ck_ok(gnn_graph_from_edges(&graphs[1], N, N, N, src, dst));
    for (int k = 0; k < N * D; k++) {
        numbers[k] = (gnn_real_t)test_uniform(&state);
        edge_numbers[k] = (gnn_real_t)test_uniform(&state);
    }
    x = gnn_tensor(numbers, N, D);
    e = gnn_tensor(edge_numbers, N, D);
    values[0] = (gnn_named_t){.name = "x", .dense = &x};
    values[1] = (gnn_named_t){.name = "e", .dense = &e};
    snprintf(path, sizeof path, "/tmp/gnn-model-%d.safetensors", (int)getpid());
}

static void tear_down(void)
{
    remove(path);
    gnn_graph_free(graphs[0]);
    gnn_graph_free(graphs[1]);
    gnn_context_free(context);
}

static gnn_model_inputs_t inputs(void)
{
    return (gnn_model_inputs_t){(const gnn_graph_t *const *)graphs, 2, values, 2};
}

static gnn_model_t *make(int64_t count, const gnn_step_t *steps)
{
    gnn_model_t *model = NULL;
    ck_ok(gnn_model_from_steps(&model, context, count, steps));
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_model_prepare(model, k, graphs[k], GNN_ON));
    return model;
}

static int refuse(int64_t count, const gnn_step_t *steps)
{
    gnn_model_t *model = NULL;
    int rc = gnn_model_from_steps(&model, context, count, steps);
    ck_assert_ptr_null(model);
    return rc;
}

/* The value of a step, of `rows` x `cols`, into `out`. */
static void value(const gnn_model_t *model, const char *name, int64_t rows, int64_t cols,
                  gnn_real_t *out)
{
    const gnn_model_inputs_t in = inputs();
    gnn_tensor_t t = gnn_tensor(out, rows, cols);
    ck_ok(gnn_model_value(model, context, &in, name, &t));
}

/* ---- rows of the user's: y = x + options[0], with options[1] inputs; a sum under another name
 * ---- */

static int shift_shape(gnn_op_call_t *call)
{
    const double *options = call->attributes;
    if (call->n_in != (int)options[1])
        return gnn_op_fail(call, GNN_EINVALID, "shift takes %d inputs, got %d", (int)options[1],
                           call->n_in);
    call->out[0].rows = call->in[0].rows;
    call->out[0].cols = call->in[0].cols;
    return GNN_OK;
}

static int shift_forward(gnn_op_call_t *call)
{
    const double *options = call->attributes;
    const gnn_tensor_t *from = &call->in[0].value, *to = &call->out[0].value;
    for (int64_t r = 0; r < to->rows; r++)
        for (int64_t c = 0; c < to->cols; c++)
            gnn__row(to, r)[c] = gnn__row(from, r)[c] + (gnn_real_t)options[0];
    return GNN_OK;
}

static const gnn_op_t shift = {.name = "shift", .shape = shift_shape, .forward = shift_forward};

static gnn_aggregator_t own_sum(void)
{
    gnn_aggregator_t row = *gnn_aggregator_find("sum");
    row.name = "my_sum";
    return row;
}

/* ---- every kind ---- */

START_TEST(kinds_have_names)
{
    ck_assert_str_eq(gnn__step_kind_name(GNN_STEP_LAYER), "layer");
    ck_assert_str_eq(gnn__step_kind_name(GNN_STEP_OP), "op");
    ck_assert_ptr_null(gnn__step_kind_name(GNN_STEP_COUNT));
    ck_assert_ptr_null(gnn__step_kind_name((gnn_step_kind_t)-1));
    for (int k = 0; k < GNN_STEP_COUNT; k++)
        for (int j = 0; j < k; j++)
            ck_assert_str_ne(gnn__step_kind_name((gnn_step_kind_t)k),
                             gnn__step_kind_name((gnn_step_kind_t)j));
}
END_TEST

enum { EVERY = 18 };

/* All kinds but those of other suites (embed, norm, dropout), and rows of the user's. */
static void every_kind(gnn_step_t *steps, const gnn_aggregator_t *mine)
{
    const gnn_layer_config_t dot = {.in = D, .heads = 2, .aggregator = &gnn_aggregator_attention};
    const gnn_step_t list[EVERY] = {
        {.kind = GNN_STEP_INPUT, .name = "x", .out = D},
        {.kind = GNN_STEP_INPUT, .name = "e"},
        {.name = "hop", .inputs = {"x"}, .layer = {.in = D, .aggregator = mine}},
        {.kind = GNN_STEP_LINEAR, .name = "q", .in = D, .out = D, .bias = GNN_OFF},
        {.kind = GNN_STEP_LINEAR, .name = "k", .inputs = {"hop"}, .in = D, .out = D, .share = "q"},
        {.kind = GNN_STEP_AGGREGATE, .name = "a", .query = "q", .key = "k", .layer = dot},
        {.kind = GNN_STEP_LINEAR, .name = "g", .in = D, .out = 2},
        {.kind = GNN_STEP_SCALE_HEADS, .name = "gated", .inputs = {"a", "g"}},
        {.kind = GNN_STEP_EDGE_ROWS, .name = "ends", .graph = 1, .side = GNN_SIDE_SENDERS},
        {.kind = GNN_STEP_MULTIPLY, .name = "product", .inputs = {NULL, "e"}},
        {.kind = GNN_STEP_MAXIMUM, .name = "most", .inputs = {NULL, "e", "ends"}},
        {.kind = GNN_STEP_DETACH, .name = "cut"},
        {.kind = GNN_STEP_SCALE, .name = "twice", .factor = 2},
        {.kind = GNN_STEP_OP,
         .name = "shifted",
         .op = &shift,
         .options = {0.1 / 3, 2},
         .inputs = {NULL, "e"}},
        {.kind = GNN_STEP_PARAMETER, .name = "rows", .rows = 2, .out = D, .each_segment = GNN_ON},
        {.kind = GNN_STEP_STACK, .name = "all", .inputs = {"shifted", "rows"}},
        {.kind = GNN_STEP_ADD, .name = "sum", .inputs = {NULL, "all"}, .factor = (gnn_real_t)-0.3},
        {.kind = GNN_STEP_VIEW, .name = "part", .row = 1, .rows = 5, .column = 1, .columns = 3}};
    memcpy(steps, list, sizeof list);
}

START_TEST(every_kind_survives_saving)
{
    const gnn_aggregator_t mine = own_sum();
    const gnn_row_t rows[] = {{"op", &shift}, {"aggregator", &mine}};
    gnn_step_t steps[EVERY];
    gnn_real_t before[5 * 3], after[5 * 3];
    gnn_model_t *loaded = NULL;
    every_kind(steps, &mine);
    gnn_model_t *model = make(EVERY, steps);
    value(model, "part", 5, 3, before);
    ck_ok(gnn_model_save(model, path));
    ck_ok(gnn_model_load_with(&loaded, context, path, &(gnn_rows_t){2, rows}));
    value(loaded, "part", 5, 3, after);
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_int_eq(gnn_model_field_count(loaded), gnn_model_field_count(model));
    gnn_model_free(loaded);
    ck_fails(gnn_model_load(&loaded, context, path), GNN_EFORMAT, "\"my_sum\"");
    ck_fails(gnn_model_load_with(&loaded, context, path,
                                 &(gnn_rows_t){1, &(gnn_row_t){"agregator", rows[0].row}}),
             GNN_EINVALID,
             "entry 0 of 1 rows: there is no table \"agregator\"; there are aggregator,");
    ck_fails(gnn_model_load_with(&loaded, context, path, &(gnn_rows_t){1, &(gnn_row_t){"op", NULL}}),
             GNN_EINVALID, "entry 0 of 1 rows: a table and a row");
    ck_fails(gnn_model_load_with(&loaded, context, path, &(gnn_rows_t){1, rows}), GNN_EFORMAT,
             "\"my_sum\"");
    ck_fails(gnn_model_load_with(&loaded, context, path, &(gnn_rows_t){1, rows + 1}), GNN_EFORMAT,
             "\"shift\"");
    gnn_model_free(model);
}
END_TEST

/* ---- names and widths ---- */

START_TEST(undeclared_inputs_are_refused)
{
    gnn_step_t steps[] = {{.kind = GNN_STEP_INPUT, .name = "x", .out = D},
                          {.kind = GNN_STEP_LINEAR, .name = "a", .in = D, .out = D},
                          {.kind = GNN_STEP_ADD, .name = "b", .inputs = {NULL, "xx"}}};
    ck_fails(refuse(3, steps), GNN_ENOTFOUND,
             "step b reads \"xx\": no input is declared and no earlier step has this name");
    gnn_model_t *model = make(2, steps + 1); /* nothing is declared: an input like another */
    ck_assert_str_eq(gnn_model_input_name(model, 1), "xx");
    gnn_model_free(model);
}
END_TEST

START_TEST(inputs_are_listed)
{
    gnn_model_t *model = make(2, (gnn_step_t[]){{.kind = GNN_STEP_ADD, .inputs = {NULL, "memory"}},
                                                {.kind = GNN_STEP_ADD, .inputs = {NULL, "x"}}});
    ck_assert_int_eq(gnn_model_input_count(model), 2);
    ck_assert_str_eq(gnn_model_input_name(model, 0), "x");
    ck_assert_str_eq(gnn_model_input_name(model, 1), "memory");
    ck_assert_ptr_null(gnn_model_input_name(model, 2));
    ck_assert_int_eq(gnn_model_width(model, 1), -1);
    gnn_model_free(model);
}
END_TEST

START_TEST(widths_are_checked_when_a_model_is_made)
{
    const gnn_step_t in = {.kind = GNN_STEP_INPUT, .name = "x", .out = D};
    ck_fails(refuse(2, (gnn_step_t[]){in, {.kind = GNN_STEP_LINEAR, .name = "a", .in = 3, .out = 1}}),
             GNN_ESHAPE, "step a expects 3 input features, step x puts out 4");
    ck_fails(refuse(3, (gnn_step_t[]){in,
                                      {.kind = GNN_STEP_CONCAT, .inputs = {NULL, "x"}},
                                      {.kind = GNN_STEP_ADD, .name = "s", .inputs = {NULL, "x"}}}),
             GNN_ESHAPE, "step s expects 8 columns in .inputs[1], step x puts out 4");
    ck_fails(
        refuse(2, (gnn_step_t[]){in, {.kind = GNN_STEP_VIEW, .name = "v", .column = 2, .columns = 3}}),
        GNN_ESHAPE, "step v: 3 columns from column 2 on, step x puts out 4");
    ck_fails(refuse(2, (gnn_step_t[]){in,
                                      {.kind = GNN_STEP_AGGREGATE,
                                       .name = "a",
                                       .query = "x",
                                       .key = "x",
                                       .layer = {.in = D,
                                                 .heads = 2,
                                                 .d_k = 3,
                                                 .aggregator = &gnn_aggregator_attention}}}),
             GNN_ESHAPE, "step a expects 6 columns in .query, step x puts out 4");
    ck_fails(refuse(1, (gnn_step_t[]){{.kind = GNN_STEP_AGGREGATE,
                                       .name = "a",
                                       .layer = {.in = D, .aggregator = &gnn_aggregator_attention}}}),
             GNN_EINVALID, "step a: aggregator attention needs .query and .key");
    ck_fails(refuse(1, (gnn_step_t[]){{.kind = GNN_STEP_OP}}), GNN_EINVALID, "needs .op");
    ck_fails(refuse(1, (gnn_step_t[]){{.kind = GNN_STEP_EDGE_ROWS}}), GNN_EINVALID, ".side");
    ck_fails(refuse(1, (gnn_step_t[]){{.kind = GNN_STEP_PARAMETER, .out = 2}}), GNN_EINVALID,
             ".rows = 0");
    ck_fails(refuse(1, (gnn_step_t[]){{.kind = GNN_STEP_STACK}}), GNN_EINVALID, "needs .inputs[1]");
}
END_TEST

/* ---- shared matrices ---- */

START_TEST(a_matrix_is_one_parameter)
{
    gnn_tensor_t t;
    gnn_step_t steps[] = {
        {.kind = GNN_STEP_PARAMETER, .name = "table", .rows = 7, .out = D},
        {.kind = GNN_STEP_LINEAR, .name = "logits", .inputs = {"x"}, .in = D, .out = 7, .share = "table"},
        {.kind = GNN_STEP_LINEAR,
         .name = "back",
         .in = 7,
         .out = D,
         .share = "table",
         .transposed = GNN_OFF,
         .bias = GNN_OFF},
        {.kind = GNN_STEP_LINEAR,
         .name = "again",
         .inputs = {"x"},
         .in = D,
         .out = 7,
         .share = "logits",
         .share_fields = "bias"}};
    gnn_model_t *model = make(4, steps);
    ck_assert_int_eq(gnn_model_field_count(model), 3);
    ck_ok(gnn_model_field(model, "table.rows", &t, NULL));
    ck_ok(gnn_model_field(model, "logits.bias", &t, NULL));
    ck_ok(gnn_model_field(model, "again.weight", &t, NULL));
    ck_fails(gnn_model_field(model, "again.bias", &t, NULL), GNN_ENOTFOUND, "again.bias");
    /* logits = x T', back = logits T + b T' */
    gnn_real_t logits[N * 7], back[N * D];
    value(model, "logits", N, 7, logits);
    value(model, "back", N, D, back);
    ck_ok(gnn_model_field(model, "table.rows", &t, NULL));
    double sum = 0, again = 0;
    for (int c = 0; c < D; c++)
        sum += (double)numbers[D + c] * (double)gnn__row(&t, 3)[c];
    for (int c = 0; c < 7; c++)
        again += (double)logits[7 + c] * (double)gnn__row(&t, c)[2];
    ck_assert_double_eq_tol(sum, (double)logits[7 + 3], 1e-6);
    ck_assert_double_eq_tol(again, (double)back[D + 2], 1e-5);
    gnn_model_free(model);
    steps[1].transposed = GNN_OFF;
    ck_fails(refuse(2, steps), GNN_ESHAPE,
             "step logits: weight is 4 x 7, rows of step table is 7 x 4");
    steps[1].share = "nobody";
    ck_fails(refuse(2, steps), GNN_ENOTFOUND, "step logits: no earlier step nobody");
    steps[0] = (gnn_step_t){.name = "hop", .layer = GNN_GCN(.in = D)};
    steps[1].share = "hop";
    ck_fails(refuse(2, steps), GNN_ENOTFOUND, "step hop has no parameter to share with an op");
}
END_TEST

/* One parameter of a step is a value of its own, which a step may stop. */
START_TEST(a_share_may_name_one_parameter)
{
    gnn_tensor_t t;
    gnn_step_t steps[] = {
        {.kind = GNN_STEP_LINEAR, .name = "a.b", .inputs = {"x"}, .in = D, .out = 3},
        {.kind = GNN_STEP_NORM, .name = "norm", .norm = GNN_NORM_LAYER, .in = 3},
        {.kind = GNN_STEP_PARAMETER, .name = "shift", .rows = 1, .out = 3, .share = "norm.shift"},
        {.kind = GNN_STEP_PARAMETER, .name = "W", .rows = D, .out = 3, .share = "a.b.weight"},
        {.kind = GNN_STEP_LINEAR,
         .name = "own bias",
         .inputs = {"x"},
         .in = D,
         .out = 3,
         .share = "a.b.weight"}};
    gnn_model_t *model = make(5, steps);
    gnn_real_t moved[3], weight[D * 3];
    ck_assert_int_eq(gnn_model_field_count(model), 5);
    ck_ok(gnn_model_field(model, "own bias.bias", &t, NULL));
    ck_ok(gnn_model_field(model, "norm.shift", &t, NULL));
    t.data[1] = 7;
    value(model, "shift", 1, 3, moved);
    value(model, "W", D, 3, weight);
    ck_assert_double_eq((double)moved[1], 7);
    ck_ok(gnn_model_field(model, "a.b.weight", &t, NULL));
    ck_assert_mem_eq(weight, t.data, sizeof weight);
    gnn_model_free(model);
    steps[2].share = "norm.scale";
    ck_fails(refuse(3, steps), GNN_ENOTFOUND, "step shift: no earlier step norm.scale");
    steps[2].share = "norm.shift";
    steps[2].out = 4;
    ck_fails(refuse(3, steps), GNN_ESHAPE, "shift of step norm.shift is 1 x 3");
}
END_TEST

/* Seconds of the processor that a chain of named steps takes to make. */
static double seconds_to_make(int64_t count)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    char name[2][24] = {"x", ""};
    ck_ok(gnn_steps_new(&steps));
    for (int64_t k = 0; k < count; k++) {
        snprintf(name[1], sizeof name[1], "step %lld", (long long)k);
        ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_ADD,
                                                 .name = name[1],
                                                 .inputs = {name[0], k % 2 ? "x" : "other"}}));
        memcpy(name[0], name[1], sizeof name[0]);
    }
    const clock_t start = clock();
    ck_ok(gnn_model_build(&model, context, steps));
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    ck_assert_int_eq(gnn_model_find(model, name[0]), count - 1);
    ck_assert_int_eq(gnn_model_input_count(model), 2);
    gnn_model_free(model);
    gnn_steps_free(steps);
    return seconds;
}

/* Sixteen times the steps: 16 times the time, where names in pairs took 256. */
START_TEST(making_a_model_is_linear_in_its_steps)
{
    double least = INFINITY;
    seconds_to_make(1000);
    for (int k = 0; k < 3; k++)
        least = fmin(least, seconds_to_make(32000) / fmax(seconds_to_make(2000), 1e-4));
    ck_assert_msg(least < 80, "16 times the steps take %.0f times the time", least);
}
END_TEST

/* ---- values by name ---- */

START_TEST(a_value_runs_only_the_steps_it_needs)
{
    gnn_model_t *model = make(
        3,
        (gnn_step_t[]){{.kind = GNN_STEP_SCALE, .name = "twice", .factor = 2},
                       {.name = "hop", .layer = GNN_GAT(.in = D), .graph = 1, .inputs = {"absent"}},
                       {.kind = GNN_STEP_ADD, .name = "sum", .inputs = {"twice", "x"}}});
    gnn_model_inputs_t in = {NULL, 0, values, 1};
    gnn_real_t out[N * D];
    gnn_tensor_t y = gnn_tensor(out, N, D);
    ck_ok(gnn_model_value(model, context, &in, "sum", &y));
    ck_assert_double_eq_tol((double)out[5], 3 * (double)numbers[5], 1e-6);
    ck_fails(gnn_model_value(model, context, &in, "hop", &y), GNN_ENOTFOUND, "reads \"absent\"");
    ck_fails(gnn_model_value(model, context, &in, "none", &y), GNN_ENOTFOUND, "no step \"none\"");
    ck_assert_int_eq(gnn_model_find(model, "sum"), 2);
    ck_assert_int_eq(gnn_model_find(model, "none"), -1);
    gnn_model_free(model);
}
END_TEST

/* A model whose output is an input, or a part of one, has a root of backward as others do. */
START_TEST(an_input_as_output_has_a_gradient)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_INPUT, .name = "x", .out = D},
        {.kind = GNN_STEP_VIEW, .name = "part", .row = 1, .rows = 3, .column = 1, .columns = 2}};
    for (int64_t count = 1; count <= 2; count++) {
        gnn_tape_t *tape;
        gnn_var_t vars[2];
        gnn_model_t *model = make(count, steps);
        gnn_model_inputs_t in = inputs();
        in.n_values = 1;
        values[0].wants_grad = 1;
        ck_ok(gnn_tape_new(&tape, context));
        gnn_tape_reset(tape, 1, 0);
        const gnn_var_t y = gnn_model_record(model, tape, &in, vars);
        ck_ok(gnn_tape_forward(tape));
        ck_ok(gnn_tape_backward(tape, y, NULL));
        const gnn_tensor_t d = gnn_tape_gradient(tape, vars[0]);
        ck_assert_int_eq(d.rows, N);
        for (int64_t r = 0; r < N; r++)
            for (int64_t c = 0; c < D; c++)
                ck_assert(gnn__row(&d, r)[c] == (count == 1 || (r >= 1 && r < 4 && c >= 1 && c < 3)));
        gnn_tape_free(tape);
        gnn_model_free(model);
    }
}
END_TEST

/* ---- blocks ---- */

START_TEST(a_list_keeps_its_first_error)
{
    gnn_steps_t *steps;
    gnn_model_t *model = NULL;
    ck_ok(gnn_steps_new(&steps));
    ck_fails(gnn_steps_block(steps, "gsp", &(gnn_block_t){.name = "b"}), GNN_ENOTFOUND,
             "no block \"gsp\"; there are decoder_layer, appnp, gps");
    ck_fails(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_SCALE}), GNN_ENOTFOUND, "gsp");
    ck_fails(gnn_model_build(&model, context, steps), GNN_ENOTFOUND, "gsp");
    gnn_steps_free(steps);
    for (size_t k = 0; k < block_count(); k++) {
        ck_ok(gnn_steps_new(&steps));
        ck_fails(gnn_steps_block(steps, gnn_block_name(k), &(gnn_block_t){0}), GNN_EINVALID,
                 "needs .name");
        gnn_steps_free(steps);
    }
    ck_ok(gnn_steps_new(&steps));
    ck_fails(gnn_steps_block(steps, "mab", &(gnn_block_t){.name = "b", .width = 4}), GNN_EINVALID,
             "block b needs .memory");
    gnn_steps_free(steps);
    ck_assert_ptr_null(gnn_block_name(block_count()));
}
END_TEST

/* A block without its settings names them, or its model does; none has steps to run. */
START_TEST(blocks_name_missing_settings)
{
    for (size_t k = 0; k < block_count(); k++) {
        gnn_steps_t *steps;
        gnn_model_t *model = NULL;
        ck_ok(gnn_steps_new(&steps));
        int rc = gnn_steps_block(steps, gnn_block_name(k), &(gnn_block_t){.name = "b"});
        if (rc == GNN_OK)
            rc = gnn_model_build(&model, context, steps);
        ck_assert_msg(rc == GNN_EINVALID || rc == GNN_ESHAPE, "block %s: %d, %s", gnn_block_name(k),
                      rc, gnn_error_message());
        ck_assert_msg(strlen(gnn_error_message()) > 10, "block %s", gnn_block_name(k));
        gnn_steps_free(steps);
    }
}
END_TEST

static gnn_model_t *build(const char *block, gnn_block_t settings)
{
    gnn_steps_t *steps;
    gnn_model_t *model = NULL;
    settings.name = "b";
    ck_ok(gnn_steps_new(&steps));
    ck_ok(gnn_steps_block(steps, block, &settings));
    ck_ok(gnn_model_build(&model, context, steps));
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_model_prepare(model, k, graphs[k], GNN_OFF));
    gnn_steps_free(steps);
    return model;
}

/* Ring with self-loops: every degree is 2, so A is the mean of a node and the next. */
START_TEST(appnp_propagates)
{
    gnn_model_t *model =
        build("appnp", (gnn_block_t){.graph = 1, .width = D, .hops = 3, .factor = (gnn_real_t)0.25});
    double z[N][D], next[N][D];
    gnn_real_t out[N * D];
    for (int r = 0; r < N; r++)
        for (int c = 0; c < D; c++)
            z[r][c] = (double)numbers[r * D + c];
    for (int k = 0; k < 3; k++) {
        for (int r = 0; r < N; r++)
            for (int c = 0; c < D; c++)
                next[r][c] =
                    0.75 * 0.5 * (z[r][c] + z[(r + 1) % N][c]) + 0.25 * (double)numbers[r * D + c];
        memcpy(z, next, sizeof z);
    }
    value(model, "b", N, D, out);
    for (int k = 0; k < N * D; k++)
        ck_assert_double_eq_tol((double)out[k], z[k / D][k % D], 1e-6);
    gnn_model_free(model);
}
END_TEST

START_TEST(jumping_knowledge_combines_layers)
{
    const gnn_layer_config_t layer = {.preset = GNN_PRESET_SAGE, .in = D, .out = D};
    gnn_model_t *model = build("jumping_knowledge",
                               (gnn_block_t){.hops = 3, .layer = layer, .maximum = _i ? GNN_ON : 0});
    gnn_real_t hops[3][N * D], out[N * D * 3];
    char name[8];
    for (int k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "b.%d", k);
        value(model, name, N, D, hops[k]);
    }
    value(model, "b", N, _i ? D : 3 * D, out);
    for (int r = 0; r < N; r++)
        for (int c = 0; c < D; c++) {
            const gnn_real_t *at = &hops[0][r * D + c];
            if (_i)
                ck_assert(out[r * D + c] ==
                          (gnn_real_t)fmax((double)at[0],
                                           fmax((double)at[N * D], (double)at[2 * N * D])));
            for (int k = 0; !_i && k < 3; k++)
                ck_assert(out[r * 3 * D + k * D + c] == hops[k][r * D + c]);
        }
    gnn_model_free(model);
}
END_TEST

/* Two layers, as tests against PyTorch's decoder spell them out. */
START_TEST(a_decoder_layer_is_two_layers)
{
    gnn_model_t *model =
        build("decoder_layer",
              (gnn_block_t){.memory = "e", .layer = GNN_TRANSFORMER(.in = D, .heads = 2)});
    ck_assert_int_eq(gnn_model_step_count(model), 2);
    ck_assert_int_eq(gnn_model_graph_count(model), 2);
    ck_assert_str_eq(gnn_model_step(model, 1)->name, "b:cross");
    ck_assert_str_eq(gnn_model_step(model, 1)->receivers, "b");
    ck_assert_ptr_eq(gnn_layer_config(gnn_model_layer(model, 0))->update, &gnn_update_linear);
    ck_assert_ptr_eq(gnn_layer_config(gnn_model_layer(model, 1))->update, &gnn_update_feed_forward);
    gnn_model_free(model);
}
END_TEST

START_TEST(a_model_outlives_the_context_that_it_was_made_with)
{
    gnn_context_t *contexts[2];
    gnn_graph_t *graph;
    gnn_model_t *model;
    gnn_real_t row[3 * 4] = {1, 0, 2, 0, 0, 3, 0, 1, 0, 0, 1, 1}, outs[2][3 * 2];
    const gnn_tensor_t in = gnn_tensor(row, 3, 4);
    const int64_t length = 3;
    ck_ok(gnn_graph_causal(&graph, 1, &length));
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_context_new(&contexts[k], &(gnn_context_config_t){.threads = 1}));
    ck_ok(gnn_model_new(&model, contexts[0], 1, &GNN_GCN(.in = 4, .out = 2)));
    ck_ok(gnn_model_prepare(model, 0, graph, GNN_OFF));
    for (int k = 0; k < 2; k++) {
        const gnn_tensor_t out = gnn_tensor(outs[k], 3, 2);
        ck_ok(gnn_model_predict(model, contexts[k], graph, &in, NULL, &out));
        gnn_context_free(contexts[k]);
    }
    ck_assert_mem_eq(outs[0], outs[1], sizeof outs[0]);
    gnn_model_free(model);
    gnn_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");
    TCase *c = tcase_create("model");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 600);
    tcase_add_test(c, a_model_outlives_the_context_that_it_was_made_with);
    tcase_add_test(c, kinds_have_names);
    tcase_add_test(c, an_input_as_output_has_a_gradient);
    tcase_add_test(c, every_kind_survives_saving);
    tcase_add_test(c, undeclared_inputs_are_refused);
    tcase_add_test(c, inputs_are_listed);
    tcase_add_test(c, widths_are_checked_when_a_model_is_made);
    tcase_add_test(c, a_matrix_is_one_parameter);
    tcase_add_test(c, a_share_may_name_one_parameter);
    tcase_add_test(c, making_a_model_is_linear_in_its_steps);
    tcase_add_test(c, a_value_runs_only_the_steps_it_needs);
    tcase_add_test(c, a_list_keeps_its_first_error);
    tcase_add_test(c, blocks_name_missing_settings);
    tcase_add_test(c, appnp_propagates);
    tcase_add_loop_test(c, jumping_knowledge_combines_layers, 0, 2);
    tcase_add_test(c, a_decoder_layer_is_two_layers);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
