/* NULL arguments: an error that names the function and the argument, and no crash.
 */
#include "support.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The last call failed with GNN_EINVALID and named what is missing. */
#define MISSING(call, argument)                                                                   \
    do {                                                                                          \
        ck_assert_int_eq(call, GNN_EINVALID);                                                     \
        ck_assert_msg(strstr(gnn_error_message(), argument " is NULL") != NULL, "%s says \"%s\"", \
                      #call, gnn_error_message());                                                \
    } while (0)

static gnn_context_t *context;
static gnn_graph_t *graph;
static gnn_model_t *model;
static gnn_layer_t *layer;

static void set_up(void)
{
    const int64_t lengths[] = {2};
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_graph_complete(&graph, 1, lengths));
    ck_ok(gnn_layer_new(&layer, context, &GNN_GCN(.in = 2, .out = 2)));
    ck_ok(gnn_model_new(&model, context, 1, &GNN_GCN(.in = 2, .out = 2)));
}

static void tear_down(void)
{
    gnn_model_free(model);
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    gnn_context_free(context);
}

START_TEST(layers)
{
    gnn_real_t numbers[4] = {0};
    const gnn_tensor_t x = gnn_tensor(numbers, 2, 2);
    const gnn_inputs_t inputs = {.x_src = &x};
    gnn_layer_t *made = NULL;
    MISSING(gnn_layer_new(NULL, context, &GNN_GCN(.in = 2, .out = 2)), "layer");
    MISSING(gnn_layer_new(&made, NULL, &GNN_GCN(.in = 2, .out = 2)), "context");
    MISSING(gnn_layer_new(&made, context, NULL), "config");
    MISSING(gnn_model_new(NULL, context, 1, &GNN_GCN(.in = 2, .out = 2)), "gnn_model_new: model");
    MISSING(gnn_layer_forward(NULL, context, graph, &inputs, &x), "layer");
    MISSING(gnn_layer_forward(layer, NULL, graph, &inputs, &x), "context");
    MISSING(gnn_layer_forward(layer, context, NULL, &inputs, &x), "graph");
    MISSING(gnn_layer_forward(layer, context, graph, NULL, &x), "inputs");
    MISSING(gnn_layer_forward(layer, context, graph, &inputs, NULL), "out");
    MISSING(gnn_layer_prepare(layer, NULL, GNN_ON), "graph");
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(models)
{
    gnn_real_t numbers[4] = {0};
    const gnn_tensor_t x = gnn_tensor(numbers, 2, 2);
    const gnn_model_inputs_t inputs = {0};
    const gnn_step_t step = {0};
    gnn_model_t *made = NULL;
    gnn_state_t *state = NULL;
    MISSING(gnn_model_new(&made, context, 1, NULL), "layers");
    MISSING(gnn_model_new(&made, NULL, 1, &GNN_GCN(.in = 2, .out = 2)), "context");
    MISSING(gnn_model_from_steps(NULL, context, 1, &step), "model");
    MISSING(gnn_model_from_steps(&made, context, 1, NULL), "steps");
    MISSING(gnn_model_prepare(NULL, 0, graph, GNN_ON), "model");
    MISSING(gnn_model_prepare(model, 0, NULL, GNN_ON), "graph");
    MISSING(gnn_model_forward(model, context, NULL, &x), "inputs");
    MISSING(gnn_model_forward(model, NULL, &inputs, &x), "context");
    MISSING(gnn_model_forward(model, context, &inputs, NULL), "out");
    MISSING(gnn_model_value(model, context, &inputs, NULL, &x), "name");
    MISSING(gnn_model_graphs(NULL, &(gnn_slot_sources_t){0}, GNN_OFF, &graph), "model");
    MISSING(gnn_model_graphs(model, NULL, GNN_OFF, &graph), "sources");
    MISSING(gnn_model_graphs(model, &(gnn_slot_sources_t){0}, GNN_OFF, NULL), "graphs");
    ck_assert_ptr_null(gnn_model_slot(NULL, 0, NULL, NULL));
    MISSING(gnn_model_save(NULL, "none"), "model");
    MISSING(gnn_model_save(model, NULL), "path");
    MISSING(gnn_state_new(&state, model, context, NULL), "config");
    MISSING(gnn_train(NULL, context, NULL, NULL, NULL), "model");
    MISSING(gnn_predict(model, context, NULL, &x), "data");
    MISSING(gnn_graph_prepare(NULL, &(gnn_view_t){0}), "graph");
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(tapes)
{
    gnn_tape_t *tape = NULL;
    gnn_parameters_t *parameters = NULL;
    gnn_real_t number = 1;
    const gnn_tensor_t x = gnn_tensor(&number, 1, 1);
    MISSING(gnn_context_new(NULL, NULL), "context");
    MISSING(gnn_tape_new(NULL, context), "tape");
    MISSING(gnn_tape_new(&tape, NULL), "context");
    MISSING(gnn_tape_forward(NULL), "tape");
    MISSING(gnn_tape_backward(NULL, 0, NULL), "tape");
    gnn_tape_reset(NULL, 1, 1);
    ck_assert_int_eq(gnn_tape_input(NULL, &x, 0), GNN_NONE);
    ck_ok(gnn_tape_new(&tape, context));
    ck_assert_int_eq(gnn_tape_input(tape, NULL, 0), GNN_NONE);
    MISSING(gnn_tape_forward(tape), "x");
    gnn_tape_reset(tape, 0, 0);
    ck_assert_int_eq(gnn_tape_parameter(tape, NULL, 0), GNN_NONE);
    MISSING(gnn_tape_forward(tape), "parameters");
    gnn_tape_free(tape);
    MISSING(gnn_parameters_new(NULL), "parameters");
    ck_ok(gnn_parameters_new(&parameters));
    MISSING(gnn_parameters_add(parameters, NULL, 1, 1, GNN_INIT_ZEROS, 0, 0, 0, NULL), "name");
    MISSING(gnn_op_fail(NULL, GNN_EINVALID, "x"), "gnn_op_fail: call");
    MISSING(gnn_clip_gradients(NULL, 1, NULL), "parameters");
    MISSING(gnn_optimizer_step(NULL, 1), "optimizer");
    gnn_parameters_free(parameters);
}
END_TEST

START_TEST(metrics)
{
    gnn_real_t number = 1;
    const int32_t label = 0;
    const gnn_tensor_t x = gnn_tensor(&number, 1, 1);
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ACCURACY, NULL, &label, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ACCURACY, &x, NULL, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_MACRO_F1, NULL, &label, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ROC_AUC, &x, NULL, NULL));
    ck_assert_int_eq(gnn_preset_find(NULL), GNN_PRESET_NONE);
}
END_TEST

/* ---- every pointer of every function ---- */

typedef struct {
    const char *function, *argument; /* argument NULL: a function that frees takes NULL */
    void (*call)(int at);
    int at;
} null_call_t;

/* Zeros, to which the other pointers point: a function sees a NULL before it reads anything. */
static _Alignas(64) char some[1 << 16];
static const gnn_ints_t some_ints = {.type = GNN_DTYPE_INT64, .data = some};

#include "null_calls.h"

enum { CALLS = sizeof null_calls / sizeof *null_calls };

/* Of the calls so far; in memory that a child shares. */
typedef struct {
    size_t next;
    int faults;
} progress_t;

static void make_calls(progress_t *progress)
{
    char expected[256];
    while (progress->next < CALLS) {
        const null_call_t *c = &null_calls[progress->next++];
        memset(some, 0, sizeof some);
        gnn_op_fail(&(gnn_op_call_t){0}, GNN_EINVALID, "no message");
        c->call(c->at);
        snprintf(expected, sizeof expected, "%s: %s is NULL", c->function,
                 c->argument ? c->argument : "");
        if (c->argument && strstr(gnn_error_message(), expected) != gnn_error_message()) {
            fprintf(stderr, "expected \"%s\", got \"%s\"\n", expected, gnn_error_message());
            progress->faults++;
        }
    }
}

/* A child makes the calls; if one of them ends it, another child goes on with the next. */
START_TEST(every_pointer_of_every_function)
{
    progress_t *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(progress != MAP_FAILED);
    *progress = (progress_t){0};
    ck_assert_int_gt(FUNCTIONS, 300);
    while (progress->next < CALLS) {
        const pid_t child = fork();
        int status = 0;
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            make_calls(progress);
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        if (status == 0)
            continue;
        const null_call_t *c = &null_calls[progress->next - 1];
        fprintf(stderr, "%s crashes where %s is NULL\n", c->function,
                c->argument ? c->argument : "its argument");
        progress->faults++;
    }
    const int faults = progress->faults;
    munmap(progress, sizeof *progress);
    printf("%d calls of %d functions, %d pointers may be NULL\n", (int)CALLS, (int)FUNCTIONS,
           (int)PERMITTED);
    ck_assert_msg(faults == 0, "%d calls with a NULL", faults);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("null");
    TCase *c = tcase_create("null");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, layers);
    tcase_add_test(c, models);
    tcase_add_test(c, tapes);
    tcase_add_test(c, metrics);
    tcase_add_test(c, every_pointer_of_every_function);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
