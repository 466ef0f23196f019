/* Loops inside a model (steps repeat and at) equal the steps written out; a run in stages
 * computes each step once. */
#include "support.h"

#include <lib/model/model.h>

enum { D = 6, SEQUENCES = 3, TOTAL = 5 + 1 + 3, LONGEST = 5 };
static const int64_t lengths[SEQUENCES] = {5, 1, 3};

static gnn_context_t *context;
static gnn_graph_t *graphs[3]; /* complete, a chain, without segments */
static gnn_real_t *x_data;
static gnn_tensor_t x;

static void set_up(void)
{
    int64_t src[TOTAL], dst[TOTAL];
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_graph_complete(&graphs[0], SEQUENCES, lengths));
    ck_ok(gnn_graph_window(&graphs[1], SEQUENCES, lengths, 1, 1, GNN_ON));
    for (int64_t k = 0; k < TOTAL; k++)
        src[k] = dst[k] = k;
    ck_ok(gnn_graph_from_edges(&graphs[2], TOTAL, TOTAL, TOTAL, gnn_ints((const int64_t *)src),
                               gnn_ints((const int64_t *)dst)));
    x_data = test_reals(TOTAL * D, 5);
    x = gnn_tensor(x_data, TOTAL, D);
}

static void tear_down(void)
{
    for (int k = 0; k < 3; k++)
        gnn_graph_free(graphs[k]);
    gnn_context_free(context);
    free(x_data);
}

/* ---- running a list of steps ---- */

typedef struct {
    gnn_model_t *model;
    gnn_tape_t *tape;
    gnn_var_t vars[2], y;
} run_t;

static gnn_named_t value = {.name = "x", .wants_grad = 1};

static gnn_model_inputs_t inputs_of(void)
{
    value.dense = &x;
    return (gnn_model_inputs_t){(const gnn_graph_t *const *)graphs, 3, &value, 1};
}

static gnn_model_t *build(const gnn_step_t *steps, int64_t count)
{
    gnn_model_t *model = NULL;
    ck_ok(gnn_model_from_steps(&model, context, count, steps));
    uint64_t seed = 11;
    for (int64_t k = 0; k < gnn_model_field_count(model); k++) {
        gnn_tensor_t t;
        ck_ok(gnn_model_field(model, gnn_model_field_name(model, k), &t, NULL));
        for (int64_t r = 0; r < t.rows; r++)
            for (int64_t c = 0; c < t.cols; c++)
                t.data[r * (t.stride ? t.stride : t.cols) + c] =
                    (gnn_real_t)(0.5 * test_uniform(&seed));
    }
    return model;
}

/* Both ways; the gradient of the output is all 1. */
static run_t both_ways(const gnn_step_t *steps, int64_t count)
{
    run_t run = {.model = build(steps, count)};
    const gnn_model_inputs_t inputs = inputs_of();
    for (int k = 0; k < gnn_model_graph_count(run.model); k++)
        ck_ok(gnn_model_prepare(run.model, k, graphs[k], GNN_ON));
    ck_ok(gnn_tape_new(&run.tape, context));
    gnn_tape_reset(run.tape, 1, 1);
    run.y = gnn_model_record(run.model, run.tape, &inputs, run.vars);
    ck_ok(gnn_tape_status(run.tape));
    gnn_tape_keep(run.tape, run.y);
    gnn_tape_set_step(run.tape, 1);
    ck_ok(gnn_tape_forward(run.tape));
    const int64_t size = gnn_tape_rows(run.tape, run.y) * gnn_tape_cols(run.tape, run.y);
    gnn_real_t *ones = malloc(sizeof *ones * (size_t)size);
    for (int64_t k = 0; k < size; k++)
        ones[k] = 1;
    const gnn_tensor_t dy =
        gnn_tensor(ones, gnn_tape_rows(run.tape, run.y), gnn_tape_cols(run.tape, run.y));
    ck_ok(gnn_tape_backward(run.tape, run.y, &dy));
    free(ones);
    return run;
}

static void close_run(run_t *run)
{
    gnn_tape_free(run->tape);
    gnn_model_free(run->model);
}

static void same_tensors(const gnn_tensor_t *a, const gnn_tensor_t *b, const char *what)
{
    ck_assert_int_eq(a->rows, b->rows);
    ck_assert_int_eq(a->cols, b->cols);
    double worst = 0, largest = 1e-30;
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t c = 0; c < a->cols; c++) {
            const double u = (double)a->data[r * (a->stride ? a->stride : a->cols) + c],
                         v = (double)b->data[r * (b->stride ? b->stride : b->cols) + c];
            worst = fmax(worst, fabs(u - v));
            largest = fmax(largest, fabs(v));
        }
    ck_assert_msg(worst <= TOLERANCE_OUT * largest, "%s differs by %g of %g", what, worst, largest);
}

/* Outputs, and gradients of the input and of all fields, which have the same names. */
static void same_runs(const run_t *a, const run_t *b)
{
    const gnn_tensor_t ya = gnn_tape_value(a->tape, a->y), yb = gnn_tape_value(b->tape, b->y),
                       da = gnn_tape_gradient(a->tape, a->vars[0]),
                       db = gnn_tape_gradient(b->tape, b->vars[0]);
    same_tensors(&ya, &yb, "the output");
    same_tensors(&da, &db, "the gradient of x");
    ck_assert_int_eq(gnn_model_field_count(a->model), gnn_model_field_count(b->model));
    for (int64_t k = 0; k < gnn_model_field_count(a->model); k++) {
        const char *name = gnn_model_field_name(a->model, k);
        gnn_tensor_t u, v;
        ck_ok(gnn_model_field(a->model, name, NULL, &u));
        ck_ok(gnn_model_field(b->model, name, NULL, &v));
        same_tensors(&u, &v, name);
    }
}

#define COUNT_OF(list) ((int64_t)(sizeof(list) / sizeof *(list)))
#define LAYER_CONFIG \
    GNN_TRANSFORMER(.in = D, .heads = 2, .feed_forward = 8, .norm_position = GNN_NORM_BEFORE)

/* ---- loops ---- */

START_TEST(loop_equals_shared_layers)
{
    const gnn_step_t loop[] = {
        {.kind = GNN_STEP_SCALE, .name = "h0", .inputs = {"x"}},
        {.kind = GNN_STEP_LAYER, .name = "h", .inputs = {"h0"}, .layer = LAYER_CONFIG},
        {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"h", "h0", "h"}, .rows = 3}};
    const gnn_step_t shared[] = {
        {.kind = GNN_STEP_LAYER, .name = "h", .inputs = {"x"}, .layer = LAYER_CONFIG},
        {.kind = GNN_STEP_LAYER, .name = "h2", .share = "h", .layer = LAYER_CONFIG},
        {.kind = GNN_STEP_LAYER, .name = "h3", .share = "h", .layer = LAYER_CONFIG}};
    run_t a = both_ways(loop, COUNT_OF(loop)), b = both_ways(shared, COUNT_OF(shared));
    same_runs(&a, &b);
    close_run(&a);
    close_run(&b);
}
END_TEST

/* h_t = tanh(x_t W + h_t-1 U + b), which is op rnn_sweep over a chain. */
static void add_cell(gnn_step_t *steps, int64_t *count, bool by_loop)
{
    const gnn_step_t gates = {.kind = GNN_STEP_LINEAR,
                              .name = "gates",
                              .inputs = {"x"},
                              .in = D,
                              .out = D},
                     matrix = {.kind = GNN_STEP_PARAMETER, .name = "U", .rows = D, .out = D},
                     bias = {.kind = GNN_STEP_PARAMETER, .name = "b", .rows = 1, .out = D};
    const gnn_step_t loop[] = {
        {.kind = GNN_STEP_AT, .name = "g", .inputs = {"gates"}, .graph = 1},
        {.kind = GNN_STEP_SCALE, .name = "h0", .inputs = {"g"}, .factor = (gnn_real_t)1e-30},
        {.kind = GNN_STEP_OP,
         .name = "hU",
         .op = &gnn_op_segment_matmul,
         .graph = 2,
         .inputs = {"h0", "U"}},
        {.kind = GNN_STEP_ADD, .name = "sum", .inputs = {"g", "hU"}},
        {.kind = GNN_STEP_ADD, .name = "biased", .inputs = {"sum", "b"}},
        {.kind = GNN_STEP_ACTIVATION, .name = "h", .inputs = {"biased"}, .activation = GNN_TANH},
        {.kind = GNN_STEP_REPEAT,
         .name = "y",
         .inputs = {"h", "h0", "h"},
         .graph = 1,
         .each_segment = GNN_ON}};
    steps[(*count)++] = gates;
    steps[(*count)++] = matrix;
    steps[(*count)++] = bias;
    for (int64_t k = 0; by_loop && k < COUNT_OF(loop); k++)
        steps[(*count)++] = loop[k];
    if (!by_loop)
        steps[(*count)++] = (gnn_step_t){.kind = GNN_STEP_OP,
                                         .name = "y",
                                         .op = &gnn_op_rnn_sweep,
                                         .graph = 1,
                                         .inputs = {"gates", "U", "b"}};
}

START_TEST(loop_along_sequences_equals_sweep)
{
    gnn_step_t loop[16], sweep[16];
    int64_t n = 0, m = 0;
    const int64_t all = SEQUENCES, one = 1;
    add_cell(loop, &n, true);
    add_cell(sweep, &m, false);
    gnn_graph_free(graphs[2]);
    ck_ok(gnn_graph_bipartite(&graphs[2], 1, &all, &one));
    run_t a = both_ways(loop, n), b = both_ways(sweep, m);
    same_runs(&a, &b);
    close_run(&a);
    close_run(&b);
}
END_TEST

/* Rounds of two rows: the rows of a segment in order, its odd last row alone. */
START_TEST(rounds_of_several_rows_put_back_what_they_took)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_SCALE, .name = "twice", .inputs = {"x"}, .factor = 2},
        {.kind = GNN_STEP_AT, .name = "part", .inputs = {"twice"}, .graph = 1, .rows = 2},
        {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"part"}, .graph = 1, .each_segment = GNN_ON}};
    const gnn_step_t plain[] = {{.kind = GNN_STEP_SCALE, .name = "y", .inputs = {"x"}, .factor = 2}};
    run_t a = both_ways(steps, COUNT_OF(steps)), b = both_ways(plain, 1);
    same_runs(&a, &b);
    close_run(&a);
    close_run(&b);
}
END_TEST

/* A loop reads the result of an earlier one, which depends on the rounds of that one alone. */
START_TEST(loops_follow_one_another)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_SCALE, .name = "twice", .inputs = {"x"}, .factor = 2},
        {.kind = GNN_STEP_AT, .name = "row", .inputs = {"twice"}, .graph = 1},
        {.kind = GNN_STEP_REPEAT, .name = "first", .inputs = {"row"}, .graph = 1, .each_segment = GNN_ON},
        {.kind = GNN_STEP_SCALE, .name = "h0", .inputs = {"x"}},
        {.kind = GNN_STEP_ADD, .name = "h", .inputs = {"h0", "first"}},
        {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"h", "h0", "h"}, .rows = 3}};
    const gnn_step_t plain[] = {
        {.kind = GNN_STEP_SCALE, .name = "y", .inputs = {"x"}, .factor = 1 + 3 * 2}};
    run_t a = both_ways(steps, COUNT_OF(steps)), b = both_ways(plain, 1);
    same_runs(&a, &b);
    close_run(&a);
    close_run(&b);
}
END_TEST

/* Three carried values at once; a step outside of the loop reads the first round. */
START_TEST(carried_values_move_together)
{
    const gnn_step_t steps[] = {{.kind = GNN_STEP_SCALE, .name = "a", .inputs = {"x"}},
                                {.kind = GNN_STEP_SCALE, .name = "b", .inputs = {"x"}, .factor = 2},
                                {.kind = GNN_STEP_SCALE, .name = "c", .inputs = {"x"}, .factor = 3},
                                {.kind = GNN_STEP_ADD, .name = "next", .inputs = {"b", "c"}},
                                {.kind = GNN_STEP_REPEAT,
                                 .name = "loop",
                                 .inputs = {"next", "a", "b", "b", "c", "c", "next"},
                                 .rows = 4},
                                {.kind = GNN_STEP_ADD, .name = "y", .inputs = {"loop", "next"}}};
    /* 2 3 5 | 3 5 8 | 5 8 13 | 8 13 21: the fourth round's next is 21, the first round's 5 */
    const gnn_step_t plain[] = {
        {.kind = GNN_STEP_SCALE, .name = "y", .inputs = {"x"}, .factor = 21 + 5}};
    run_t a = both_ways(steps, COUNT_OF(steps)), b = both_ways(plain, 1);
    same_runs(&a, &b);
    close_run(&a);
    close_run(&b);
}
END_TEST

START_TEST(rounds_drop_different_elements)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_SCALE, .name = "h0", .inputs = {"x"}},
        {.kind = GNN_STEP_DROPOUT, .name = "dropped", .inputs = {"x"}, .rate = (gnn_real_t)0.5},
        {.kind = GNN_STEP_SCALE, .name = "of h", .inputs = {"h0"}, .factor = (gnn_real_t)1e-30},
        {.kind = GNN_STEP_ADD, .name = "input", .inputs = {"x", "of h"}},
        {.kind = GNN_STEP_DROPOUT, .name = "d", .inputs = {"input"}, .rate = (gnn_real_t)0.5},
        {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"d", "h0", "d"}, .rows = 2},
        {.kind = GNN_STEP_ADD, .name = "difference", .inputs = {"y", "d"}, .factor = -1}};
    run_t run = both_ways(steps, COUNT_OF(steps));
    const gnn_tensor_t y = gnn_tape_value(run.tape, run.y);
    int64_t other = 0;
    for (int64_t k = 0; k < y.rows * y.cols; k++)
        other += fabs((double)y.data[k]) > 1e-3;
    ck_assert_int_gt(other, TOTAL * D / 5);
    close_run(&run);
}
END_TEST

/* ---- errors ---- */

static const char *refused(const gnn_step_t *steps, int64_t count)
{
    gnn_model_t *model = NULL;
    ck_assert_int_ne(gnn_model_from_steps(&model, context, count, steps), GNN_OK);
    ck_assert_ptr_null(model);
    return gnn_error_message();
}

START_TEST(models_are_refused_by_name)
{
    const gnn_step_t h0 = {.kind = GNN_STEP_SCALE, .name = "h0", .inputs = {"x"}},
                     h = {.kind = GNN_STEP_SCALE, .name = "h", .inputs = {"h0"}};
    const gnn_step_t of_input[] = {
        h0, {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"h0", "x", "h0"}, .rows = 2}};
    const gnn_step_t half[] = {
        h0, h, {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"h", "h0"}, .rows = 2}};
    const gnn_step_t still[] = {
        h0, h, {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"h0"}, .rows = 2}};
    const gnn_step_t nested[] = {
        h0,
        h,
        {.kind = GNN_STEP_REPEAT, .name = "inner", .inputs = {"h", "h0", "h"}, .rows = 2},
        {.kind = GNN_STEP_REPEAT, .name = "outer", .inputs = {"inner", "h0", "inner"}, .rows = 2}};
    const gnn_step_t wide[] = {
        {.kind = GNN_STEP_LINEAR, .name = "h0", .inputs = {"x"}, .in = D, .out = 3},
        {.kind = GNN_STEP_CONCAT, .name = "h", .inputs = {"h0", "h0"}},
        {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"h", "h0", "h"}, .rows = 2}};
    const gnn_step_t negative[] = {
        h0, h, {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"h", "h0", "h"}, .rows = -1}};
    ck_assert_ptr_nonnull(strstr(refused(of_input, 2), "\"x\" is an input"));
    ck_assert_ptr_nonnull(strstr(refused(half, 3), "both or neither"));
    ck_assert_ptr_nonnull(strstr(refused(still, 3), "no step before it depends"));
    ck_assert_ptr_nonnull(strstr(refused(nested, 4), "has the loop step inner"));
    ck_assert_ptr_nonnull(strstr(refused(wide, 3), "columns of a carried value"));
    ck_assert_ptr_nonnull(strstr(refused(negative, 3), "expected 0 to 1000000"));
}
END_TEST

static void fails_to_run(const gnn_step_t *steps, int64_t count, int code, const char *words)
{
    gnn_model_t *model = build(steps, count);
    const gnn_model_inputs_t inputs = inputs_of();
    gnn_real_t out[TOTAL * D];
    const gnn_tensor_t y = gnn_tensor(out, TOTAL, D);
    ck_fails(gnn_model_forward(model, context, &inputs, &y), code, words);
    gnn_model_free(model);
}

START_TEST(runs_are_refused_by_name)
{
    const gnn_step_t few[] = {
        {.kind = GNN_STEP_AT, .name = "part", .graph = 1},
        {.kind = GNN_STEP_REPEAT, .name = "y", .graph = 1, .rows = 3, .each_segment = GNN_ON}};
    const gnn_step_t whole[] = {{.kind = GNN_STEP_AT, .name = "part", .graph = 2},
                                {.kind = GNN_STEP_REPEAT, .name = "y", .rows = 3}};
    const gnn_step_t uneven[] = {
        {.kind = GNN_STEP_AT, .name = "part", .graph = 1},
        {.kind = GNN_STEP_VIEW, .name = "two of three", .rows = 2},
        {.kind = GNN_STEP_REPEAT, .name = "y", .graph = 1, .each_segment = GNN_ON}};
    fails_to_run(few, 2, GNN_ESHAPE,
                 ".rows = 3 rounds with 1 rows per segment each, expected at least the 5 rows");
    fails_to_run(whole, 2, GNN_ETOPOLOGY, "slot 2 has no segments");
    fails_to_run(uneven, 3, GNN_ESHAPE, "a round has 2 rows, expected a multiple of the 3 segments");
}
END_TEST

START_TEST(decoding_refuses_a_loop)
{
    const gnn_step_t loop[] = {
        {.kind = GNN_STEP_SCALE, .name = "h0", .inputs = {"x"}},
        {.kind = GNN_STEP_LAYER, .name = "h", .inputs = {"h0"}, .layer = LAYER_CONFIG},
        {.kind = GNN_STEP_REPEAT, .name = "y", .inputs = {"h", "h0", "h"}, .rows = 3}};
    gnn_model_t *model = build(loop, COUNT_OF(loop));
    gnn_state_t *state = NULL;
    ck_fails(gnn_state_new(&state, model, context, &(gnn_state_config_t){.capacity = 4}),
             GNN_EUNSUPPORTED, "repeat cannot run incrementally");
    gnn_model_free(model);
}
END_TEST

/* ---- a run in stages ---- */

static const gnn_step_t four_layers[] = {
    {.kind = GNN_STEP_LAYER, .name = "1", .inputs = {"x"}, .layer = LAYER_CONFIG},
    {.kind = GNN_STEP_LINEAR, .name = "exit 1", .in = D, .out = 2},
    {.kind = GNN_STEP_LAYER, .name = "2", .inputs = {"1"}, .layer = LAYER_CONFIG},
    {.kind = GNN_STEP_LINEAR, .name = "exit 2", .in = D, .out = 2, .share = "exit 1"},
    {.kind = GNN_STEP_LAYER, .name = "3", .inputs = {"2"}, .layer = LAYER_CONFIG},
    {.kind = GNN_STEP_LAYER, .name = "4", .inputs = {"3"}, .layer = LAYER_CONFIG},
    {.kind = GNN_STEP_REPEAT, .name = "again", .inputs = {"4", "3", "4"}, .rows = 3},
    {.kind = GNN_STEP_LINEAR, .name = "exit 4", .in = D, .out = 2, .share = "exit 1"}};

START_TEST(run_computes_each_step_once)
{
    gnn_model_t *model = build(four_layers, COUNT_OF(four_layers));
    const gnn_model_inputs_t inputs = inputs_of();
    const char *const names[] = {"exit 1", "exit 2", "1", "4", "exit 4", "exit 4", "2"};
    const int64_t steps[] = {2, 4, 4, 6, 8, 8, 8};
    gnn_real_t out[TOTAL * D];
    gnn_staged_t *run = NULL;
    gnn_tensor_t value_of;
    ck_ok(gnn_staged_new(&run, model, context, &inputs));
    ck_assert_int_eq(gnn__staged_steps(run), 0);
    for (int64_t k = 0; k < COUNT_OF(names); k++) {
        const gnn_tensor_t y =
            gnn_tensor(out, TOTAL, gnn_model_width(model, gnn_model_find(model, names[k])));
        ck_ok(gnn_staged_value(run, names[k], &value_of));
        ck_assert_int_eq(gnn__staged_steps(run), steps[k]);
        ck_ok(gnn_model_value(model, context, &inputs, names[k], &y));
        same_tensors(&value_of, &y, names[k]);
    }
    ck_fails(gnn_staged_value(run, "5", &value_of), GNN_ENOTFOUND, "no step \"5\"");
    gnn_staged_free(run);
    gnn_staged_free(NULL);
    gnn_model_free(model);
}
END_TEST

/* A step that fails leaves the run as it was; inputs that nothing reads may be absent. */
START_TEST(run_goes_on_after_an_error)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_LINEAR, .name = "a", .inputs = {"x"}, .in = D, .out = D},
        {.kind = GNN_STEP_ADD, .name = "b", .inputs = {"a", "given later"}},
        {.kind = GNN_STEP_ADD, .name = "c", .inputs = {"a", "x"}}};
    gnn_model_t *model = build(steps, COUNT_OF(steps));
    const gnn_model_inputs_t inputs = inputs_of();
    gnn_staged_t *run = NULL;
    gnn_tensor_t value_of;
    ck_ok(gnn_staged_new(&run, model, context, &inputs));
    ck_fails(gnn_staged_value(run, "b", &value_of), GNN_ENOTFOUND, "given later");
    ck_assert_int_eq(gnn__staged_steps(run), 0);
    ck_ok(gnn_staged_value(run, "c", &value_of));
    ck_assert_int_eq(gnn__staged_steps(run), 2);
    ck_fails(gnn_staged_value(run, "b", &value_of), GNN_ENOTFOUND, "given later");
    ck_ok(gnn_staged_value(run, "a", &value_of));
    gnn_staged_free(run);
    gnn_model_free(model);
}
END_TEST

/* ---- a text in parts ---- */

enum { PART = 3 };

/* A layer that reads its own output of the part before; `chunk` and `m` are steps or inputs. */
static int64_t add_recurrence(gnn_step_t *steps, int64_t n)
{
    const gnn_step_t body[] = {
        {.kind = GNN_STEP_STACK, .name = "keys", .inputs = {"m", "chunk"}},
        {.kind = GNN_STEP_LINEAR, .name = "q", .inputs = {"chunk"}, .in = D, .out = D},
        {.kind = GNN_STEP_LINEAR, .name = "k", .inputs = {"keys"}, .in = D, .out = D},
        {.kind = GNN_STEP_AGGREGATE,
         .name = "a",
         .graph = 0,
         .query = "q",
         .key = "k",
         .inputs = {"keys"},
         .layer = {.in = D, .heads = 2, .aggregator = &gnn_aggregator_attention}},
        {.kind = GNN_STEP_ADD, .name = "out", .inputs = {"chunk", "a"}},
        {.kind = GNN_STEP_DETACH, .name = "next", .inputs = {"out"}}};
    for (int64_t k = 0; k < COUNT_OF(body); k++)
        steps[n++] = body[k];
    return n;
}

/* A program that gives the memory as an input and reads the next one computes what the loop
 * does. */
START_TEST(memory_carried_between_runs_equals_the_loop)
{
    const int64_t total = TOTAL, part = PART, both = 2 * PART;
    gnn_step_t loop[12] = {
        {.kind = GNN_STEP_AT, .name = "chunk", .inputs = {"x"}, .graph = 1, .rows = PART},
        {.kind = GNN_STEP_SCALE, .name = "m", .inputs = {"none"}}};
    gnn_step_t alone[12];
    int64_t n = add_recurrence(loop, 2);
    loop[n++] = (gnn_step_t){.kind = GNN_STEP_REPEAT,
                             .name = "y",
                             .inputs = {"out", "m", "next"},
                             .graph = 1,
                             .each_segment = GNN_ON};
    gnn_graph_free(graphs[0]);
    gnn_graph_free(graphs[1]);
    ck_ok(gnn_graph_bipartite(&graphs[0], 1, &part, &both));
    ck_ok(gnn_graph_complete(&graphs[1], 1, &total));
    gnn_model_t *whole = build(loop, n), *parts = build(alone, add_recurrence(alone, 0));
    gnn_real_t memory[PART * D] = {0}, y[TOTAL * D];
    const gnn_tensor_t none = gnn_tensor(memory, PART, D), out = gnn_tensor(y, TOTAL, D);
    const gnn_named_t values[] = {{.name = "x", .dense = &x}, {.name = "none", .dense = &none}};
    ck_ok(gnn_model_forward(whole, context,
                            &(gnn_model_inputs_t){(const gnn_graph_t *const *)graphs, 2, values, 2},
                            &out));
    for (int64_t at = 0; at < TOTAL; at += PART) {
        const gnn_tensor_t chunk = gnn_tensor(x_data + at * D, PART, D),
                           expected = gnn_tensor(y + at * D, PART, D);
        const gnn_named_t own[] = {{.name = "chunk", .dense = &chunk}, {.name = "m", .dense = &none}};
        gnn_staged_t *run = NULL;
        gnn_tensor_t found, next;
        ck_ok(gnn_staged_new(&run, parts, context,
                             &(gnn_model_inputs_t){(const gnn_graph_t *const *)graphs, 1, own, 2}));
        ck_ok(gnn_staged_value(run, "out", &found));
        ck_ok(gnn_staged_value(run, "next", &next));
        same_tensors(&found, &expected, "a part");
        memcpy(memory, next.data, sizeof memory);
        gnn_staged_free(run);
    }
    gnn_model_free(whole);
    gnn_model_free(parts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rounds");
    TCase *t = tcase_create("rounds");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, loop_equals_shared_layers);
    tcase_add_test(t, loop_along_sequences_equals_sweep);
    tcase_add_test(t, rounds_of_several_rows_put_back_what_they_took);
    tcase_add_test(t, loops_follow_one_another);
    tcase_add_test(t, carried_values_move_together);
    tcase_add_test(t, rounds_drop_different_elements);
    tcase_add_test(t, models_are_refused_by_name);
    tcase_add_test(t, runs_are_refused_by_name);
    tcase_add_test(t, decoding_refuses_a_loop);
    tcase_add_test(t, memory_carried_between_runs_equals_the_loop);
    tcase_add_test(t, run_computes_each_step_once);
    tcase_add_test(t, run_goes_on_after_an_error);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
