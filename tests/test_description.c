/* Models described by examples/from_pyg.py: loading from a text, errors of wrong ones, and outputs
 * equal to PyG's. tests/pyg/modules.py wrote the files in tests/pyg/modules, and writes more into
 * $GNN_DESCRIBED. */
#include "golden.h"

#include <dirent.h>
#include <unistd.h>

/* ---- files that this test writes ---- */

typedef struct {
    gnn_context_t *context;
    gnn_model_t *model;
    char path[64];
} described_t;

static int load(described_t *d, const char *steps, const char *graphs, int64_t count,
                const gnn_array_t *arrays)
{
    const char *const metadata[][2] = {{"gnn.description", steps}, {"gnn.graphs", graphs}};
    snprintf(d->path, sizeof d->path, "/tmp/gnn-described-%d.safetensors", (int)getpid());
    ck_ok(gnn_safetensors_write(d->path, count, arrays, graphs ? 2 : 1, metadata));
    d->model = NULL;
    const int rc = gnn_model_load(&d->model, d->context, d->path);
    remove(d->path);
    return rc;
}

static gnn_array_t matrix(const char *name, int64_t rows, int64_t cols, const float *data)
{
    return (gnn_array_t){.name = name,
                         .dtype = GNN_DTYPE_FLOAT32,
                         .ndim = cols ? 2 : 1,
                         .shape = {rows, cols},
                         .count = cols ? rows * cols : rows,
                         .data = data};
}

#define STEPS(text) "{\"format\": 1, \"steps\": [" text "]}"
#define SUM \
    "{\"kind\": \"layer\", \"name\": \"a\", \"layer\": {\"preset\": \"gcn\", \"in\": 2, \"out\": 1, \"self_loops\": \"off\", \"loop_features\": \"off\", \"graph_norm\": \"none\"}}"
#define TWICE "{\"kind\": \"scale\", \"name\": \"b\", \"factor\": 2}"
#define EDGES "[{\"kind\": \"edges\", \"source\": \"edge_index\"}]"

static const float weights[] = {1, 10}, bias[] = {100};

/* 2 (x_0 + 10 x_1 + 100) of the one sender; saved and loaded again, the model does the same. */
START_TEST(a_description_and_two_arrays_make_a_model)
{
    described_t d = {0};
    const int64_t src[] = {0}, dst[] = {1};
    const gnn_edge_list_t edges = {.name = "edge_index",
                                   .n_dst = 2,
                                   .n_src = 2,
                                   .n_edges = 1,
                                   .src = gnn_ints(src),
                                   .dst = gnn_ints(dst)};
    const gnn_slot_sources_t sources = {.edges = &edges, .n_edges = 1};
    const gnn_array_t arrays[] = {matrix("a.lin.weight", 1, 2, weights),
                                  matrix("a.bias", 1, 0, bias)};
    gnn_real_t x[] = {1, 2, 3, 4}, y[2];
    const gnn_tensor_t features = gnn_tensor(x, 2, 2), out = gnn_tensor(y, 2, 1);
    ck_ok(gnn_context_new(&d.context, NULL));
    ck_ok(load(&d, STEPS(SUM ", " TWICE), EDGES, 2, arrays));
    for (int k = 0; k < 2; k++) {
        const char *source = NULL;
        gnn_graph_t *graph = NULL;
        ck_assert_str_eq(gnn_model_slot(d.model, 0, &source, NULL), "edges");
        ck_assert_str_eq(source, "edge_index");
        ck_assert_ptr_null(gnn_model_slot(d.model, 1, NULL, NULL));
        ck_ok(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph));
        ck_ok(gnn_model_predict(d.model, d.context, graph, &features, NULL, &out));
        ck_assert_double_eq((double)y[0], 200);
        ck_assert_double_eq((double)y[1], 242);
        gnn_graph_free(graph);
        ck_ok(gnn_model_save(d.model, d.path));
        gnn_model_free(d.model);
        ck_ok(gnn_model_load(&d.model, d.context, d.path));
    }
    remove(d.path);
    gnn_model_free(d.model);
    gnn_context_free(d.context);
}
END_TEST

static const struct {
    const char *steps, *graphs, *words;
    int code;
} wrong[] = {
    {STEPS("{\"block\": \"sgd\", \"name\": \"a\"}"), EDGES, "there is no block \"sgd\"",
     GNN_ENOTFOUND},
    {STEPS("{\"block\": \"sgc\", \"name\": \"a\", \"widht\": 2}"), EDGES, "unknown field \"widht\"",
     GNN_EFORMAT},
    {STEPS("{\"block\": \"arma\", \"name\": \"a\", \"width\": 2, \"hops\": 5000, \"rows\": 5000}"),
     EDGES, "hops = 5000 and rows = 5000", GNN_EFORMAT},
    {STEPS("{\"block\": 3}"), EDGES, "a string is expected", GNN_EFORMAT},
    {STEPS("{\"block\": \"sgc\", \"name\": \"a\", \"width\": 2, \"layer\": {\"heads\": -1}}"),
     EDGES, "outside", GNN_EFORMAT},
    {STEPS("{\"kind\": \"layer\", \"name\": \"a\", \"layer\": {\"preset\": \"transformer\", \"in\": 2, "
           "\"out\": 2, \"prior_0\": \"table\", \"prior_0_options\": [1.5, 0, 0, 0]}}"),
     EDGES, "table: option buckets is 1.5, expected an integer from 1", GNN_EINVALID},
    {"{\"steps\": []}", EDGES, "\"format\"", GNN_EFORMAT},
    {STEPS(SUM), "[{\"kind\": \"edge\"}]", "there is no kind of graph \"edge\"", GNN_EFORMAT},
    {STEPS(SUM), "[{\"kind\": 3}]", "slot 0", GNN_EFORMAT},
    {STEPS(SUM), "[{\"kind\": \"relation\", \"number\": -1}]", "outside", GNN_EFORMAT},
    {STEPS(SUM), "{}", "an array of at most", GNN_EFORMAT},
    {STEPS("{\"block\": \"sgc\", \"name\": \"a\", \"width\": 2, \"hops\": 0}"), EDGES,
     "field hops: 0, at least 1 is expected", GNN_EFORMAT},
    {STEPS("{\"block\": \"cheb\", \"name\": \"a\", \"width\": 2, \"edge_weight\": \"w\"}"), EDGES,
     "block a (cheb) reads no .edge_weight", GNN_EINVALID},
    {STEPS("{\"block\": \"rgcn\", \"name\": \"a\", \"width\": 2, \"edge_weight\": \"w\"}"), EDGES,
     "block a (rgcn) reads no .edge_weight", GNN_EINVALID}};

START_TEST(wrong_descriptions_are_refused)
{
    described_t d = {0};
    const gnn_array_t arrays[] = {matrix("a.lin.weight", 1, 2, weights),
                                  matrix("a.bias", 1, 0, bias)};
    ck_ok(gnn_context_new(&d.context, NULL));
    ck_assert_int_eq(load(&d, wrong[_i].steps, wrong[_i].graphs, 2, arrays), wrong[_i].code);
    ck_assert_msg(strstr(gnn_error_message(), wrong[_i].words) != NULL, "%s", gnn_error_message());
    ck_assert_ptr_null(d.model);
    gnn_context_free(d.context);
}
END_TEST

START_TEST(graphs_of_slots_need_their_sources)
{
    described_t d = {0};
    gnn_graph_t *graph = NULL;
    const int64_t ends[] = {0};
    const gnn_array_t arrays[] = {matrix("a.lin.weight", 1, 2, weights),
                                  matrix("a.bias", 1, 0, bias)};
    gnn_edge_list_t edges = {.name = "other",
                             .n_dst = 2,
                             .n_src = 2,
                             .n_edges = 1,
                             .src = gnn_ints(ends),
                             .dst = gnn_ints(ends)};
    const gnn_slot_sources_t sources = {.edges = &edges, .n_edges = 1};
    ck_ok(gnn_context_new(&d.context, NULL));
    ck_ok(load(&d, STEPS(SUM), "[{\"kind\": \"relation\", \"source\": \"edge_index\"}]", 2, arrays));
    ck_assert_int_eq(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph), GNN_ENOTFOUND);
    edges.name = "edge_index";
    ck_assert_int_eq(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph), GNN_EINVALID);
    gnn_model_free(d.model);
    ck_ok(load(&d, STEPS(SUM), NULL, 2, arrays));
    ck_assert_int_eq(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph), GNN_ENOTFOUND);
    ck_assert_ptr_null(graph);
    gnn_model_free(d.model);
    gnn_context_free(d.context);
}
END_TEST

/* A factor and a slope of 0 are not replaced by the defaults 1 and 0.2. */
START_TEST(a_zero_in_a_file_is_not_a_default)
{
    described_t d = {0};
    gnn_real_t x[] = {-3, 4}, y[2];
    const gnn_tensor_t values = gnn_tensor(x, 2, 1), out = gnn_tensor(y, 2, 1);
    const gnn_named_t input = {.name = "x", .dense = &values};
    const gnn_model_inputs_t inputs = {.values = &input, .n_values = 1};
    const char *const steps[] = {
        STEPS("{\"kind\": \"scale\", \"name\": \"a\", \"input\": \"x\", \"factor\": 0}"),
        STEPS("{\"kind\": \"activation\", \"name\": \"a\", \"input\": \"x\", \"activation\": "
              "\"leaky_relu\", \"options\": [0, 0, 0, 0]}")};
    ck_ok(gnn_context_new(&d.context, NULL));
    for (int k = 0; k < 2; k++) {
        ck_ok(load(&d, steps[k], NULL, 0, NULL));
        ck_ok(gnn_model_forward(d.model, d.context, &inputs, &out));
        ck_assert_double_eq_tol((double)y[0], 0, 1e-30);
        ck_assert_double_eq_tol((double)y[1], k == 0 ? 0 : 4, 1e-30);
        gnn_model_free(d.model);
    }
    gnn_context_free(d.context);
}
END_TEST

/* ---- edges that operations make of a list ---- */

/* Edges 0->1, 1->1, 2->1, 1->1, 1->0 of types 0, 1, 0, 1, 1 with values 1, 2, 4, 8, 16 on them; a
 * sum of these values at receivers 0, 1, 2, or on the edges that are made. */
static const struct {
    const char *slots, *source;
    int rows;
    double expected[8];
} derived[] = {{"carried", "edge_index:reverse", 5, {1, 2, 4, 8, 16}},
               {"carried", "edge_index:without_loops", 3, {1, 4, 16}},
               {"carried", "edge_index:add_loops", 8, {1, 2, 4, 8, 16, 0, 0, 0}},
               {"carried", "edge_index:remaining", 6, {1, 4, 16, 0, 8, 0}},
               {"carried", "edge_index:type=1", 3, {2, 8, 16}},
               {"incidence", "edge_index", 3, {16, 15, 0}},
               {"incidence", "edge_index:reverse", 3, {1, 26, 4}},
               {"whole_edges", "edge_index", 1, {31}},
               {"whole_ends", "edge_index", 1, {7}}};

START_TEST(values_follow_the_edges_that_operations_make)
{
    described_t d = {0};
    char graphs[200];
    gnn_graph_t *graph = NULL;
    const int64_t src[] = {0, 1, 2, 1, 1}, dst[] = {1, 1, 1, 1, 0}, type[] = {0, 1, 0, 1, 1};
    const gnn_edge_list_t edges = {.name = "edge_index",
                                   .n_dst = 3,
                                   .n_src = 3,
                                   .n_edges = 5,
                                   .src = gnn_ints(src),
                                   .dst = gnn_ints(dst),
                                   .type = gnn_ints(type)};
    const gnn_edge_list_t untyped = {.name = "edge_index",
                                     .n_dst = 3,
                                     .n_src = 3,
                                     .n_edges = 5,
                                     .src = gnn_ints(src),
                                     .dst = gnn_ints(dst)};
    const bool loops =
        strstr(derived[_i].source, "add_loops") || strstr(derived[_i].source, "remaining");
    const gnn_slot_sources_t sources = {.edges = loops ? &untyped : &edges, .n_edges = 1};
    gnn_real_t x[] = {1, 2, 4, 8, 16}, y[8];
    const bool of_nodes = strcmp(derived[_i].slots, "whole_ends") == 0;
    const gnn_tensor_t values = gnn_tensor(x, of_nodes ? 3 : 5, 1),
                       out = gnn_tensor(y, derived[_i].rows, 1);
    snprintf(graphs, sizeof graphs, "[{\"kind\": \"%s\", \"source\": \"%s\"}]", derived[_i].slots,
             derived[_i].source);
    ck_ok(gnn_context_new(&d.context, NULL));
    ck_ok(load(
        &d,
        STEPS("{\"kind\": \"aggregate\", \"name\": \"a\", \"layer\": {\"in\": 1, \"aggregator\": \"sum\"}}"),
        graphs, 0, NULL));
    ck_ok(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph));
    ck_ok(gnn_model_predict(d.model, d.context, graph, &values, NULL, &out));
    for (int k = 0; k < derived[_i].rows; k++)
        ck_assert_double_eq((double)y[k], derived[_i].expected[k]);
    gnn_graph_free(graph);
    gnn_model_free(d.model);
    gnn_context_free(d.context);
}
END_TEST

static const struct {
    const char *kind, *source, *words;
    int code;
} wrong_slots[] = {
    {"edges", "edge_index:loops", "there is no operation \"loops\" on edges", GNN_EFORMAT},
    {"edges", "edge_index:type=1", ".type of the edges is NULL", GNN_EINVALID},
    {"carried", "edge_index", "expected EDGES:OPERATION", GNN_EFORMAT},
    {"edges", "edges:reverse", "no edges \"edges\" are given", GNN_ENOTFOUND}};

START_TEST(an_unknown_operation_on_edges_is_refused)
{
    described_t d = {0};
    char graphs[200];
    gnn_graph_t *graph = NULL;
    const int64_t ends[] = {0};
    const gnn_array_t arrays[] = {matrix("a.lin.weight", 1, 2, weights),
                                  matrix("a.bias", 1, 0, bias)};
    const gnn_edge_list_t edges = {.name = "edge_index",
                                   .n_dst = 2,
                                   .n_src = 2,
                                   .n_edges = 1,
                                   .src = gnn_ints(ends),
                                   .dst = gnn_ints(ends)};
    const gnn_slot_sources_t sources = {.edges = &edges, .n_edges = 1};
    snprintf(graphs, sizeof graphs, "[{\"kind\": \"%s\", \"source\": \"%s\"}]",
             wrong_slots[_i].kind, wrong_slots[_i].source);
    ck_ok(gnn_context_new(&d.context, NULL));
    ck_ok(load(&d, STEPS(SUM), graphs, 2, arrays));
    ck_fails(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph), wrong_slots[_i].code,
             wrong_slots[_i].words);
    gnn_model_free(d.model);
    gnn_context_free(d.context);
}
END_TEST

/* ---- modules of PyG ---- */

enum { MOST_SLOTS = 16, MOST_INPUTS = 8 };

typedef struct {
    golden_t g;
    gnn_model_t *model;
    gnn_graph_t *graphs[MOST_SLOTS];
    gnn_named_t values[MOST_INPUTS];
    gnn_tensor_t tensors[MOST_INPUTS];
    int32_t ids[64];
} module_t;

static void make_graphs(module_t *m)
{
    int64_t count = 0, lengths = 0, *edge_index = golden_integers(&m->g, "edge_index", &count),
            *of = golden_integers(&m->g, "lengths", &lengths);
    const int64_t n = golden_array(&m->g, "x")->shape[0], half = count / 2;
    const gnn_edge_list_t edges = {.n_dst = n,
                                   .n_src = n,
                                   .n_edges = half,
                                   .src = gnn_ints(edge_index),
                                   .dst = gnn_ints(edge_index + half),
                                   .type = gnn_ints(golden_integers(&m->g, "edge_type", NULL))};
    const gnn_slot_sources_t sources = {
        .edges = &edges, .n_edges = 1, .lengths = of, .n_lengths = lengths};
    ck_assert_int_le(gnn_model_graph_count(m->model), MOST_SLOTS);
    ck_ok(gnn_model_graphs(m->model, &sources, GNN_OFF, m->graphs));
}

static void give(module_t *m, int k)
{
    const char *name = gnn_model_input_name(m->model, k);
    const gnn_array_t *a = golden_array(&m->g, name);
    m->values[k] = (gnn_named_t){.name = name};
    if (a->dtype == GNN_DTYPE_INT64) {
        ck_assert_int_le(a->count, 64);
        for (int64_t i = 0; i < a->count; i++)
            m->ids[i] = (int32_t)gnn_array_get(a, i);
        m->values[k].ids = m->ids;
        m->values[k].count = a->count;
        return;
    }
    m->tensors[k] = golden_tensor(&m->g, name);
    m->values[k].dense = &m->tensors[k];
}

/* The output of FOLDER/NAME.safetensors for the inputs of FOLDER/NAME.npz. */
static void compare(const char *folder, const char *name)
{
    module_t m = {.model = NULL};
    char path[1200];
    snprintf(m.g.name, sizeof m.g.name, "%s", name);
    snprintf(path, sizeof path, "%s/%s.npz", folder, name);
    ck_ok(gnn_npz_read(&m.g.arrays, path, NULL));
    ck_ok(gnn_context_new(&m.g.context, NULL));
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    ck_assert_msg(gnn_model_load(&m.model, m.g.context, path) == GNN_OK, "%s: %s", name,
                  gnn_error_message());
    make_graphs(&m);
    const int64_t count = gnn_model_input_count(m.model);
    for (int k = 0; k < count; k++)
        give(&m, k);
    const gnn_array_t *y = golden_array(&m.g, "y");
    const int64_t rows = y->shape[0], cols = y->count / rows;
    const gnn_tensor_t out = gnn_tensor(golden_reals(&m.g, y->count), rows, cols);
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)m.graphs,
                                       gnn_model_graph_count(m.model), m.values, count};
    ck_assert_msg(gnn_model_forward(m.model, m.g.context, &inputs, &out) == GNN_OK, "%s: %s", name,
                  gnn_error_message());
    golden_same(&m.g, "y", &out, 1e-5);
    for (int k = 0; k < MOST_SLOTS; k++)
        gnn_graph_free(m.graphs[k]);
    gnn_model_free(m.model);
    golden_close(&m.g);
}

/* Compares the modules of a folder; returns their count. */
static int compare_all(const char *folder)
{
    int count = 0;
    DIR *all = opendir(folder);
    ck_assert_msg(all != NULL, "%s cannot be read", folder);
    for (struct dirent *e; (e = readdir(all)) != NULL;) {
        char name[64];
        const size_t length = strlen(e->d_name);
        if (length <= 4 || length > 60 || strcmp(e->d_name + length - 4, ".npz") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length - 4, e->d_name);
        compare(folder, name);
        count++;
    }
    closedir(all);
    return count;
}

#define LOOPS \
    "{\"kind\": \"layer\", \"name\": \"a\", \"layer\": {\"preset\": \"gcn\", \"in\": 2, \"out\": 1}}"

/* PyG keeps one self-loop per node if a layer adds them; two would give other results. */
START_TEST(two_self_loops_of_a_node_are_refused_where_a_step_adds_them)
{
    const int64_t src[] = {0, 1, 2, 1}, dst[] = {1, 1, 2, 1};
    const gnn_array_t arrays[] = {matrix("a.lin.weight", 1, 2, weights),
                                  matrix("a.bias", 1, 0, bias)};
    gnn_edge_list_t edges = {
        .n_dst = 3, .n_src = 3, .n_edges = 4, .src = gnn_ints(src), .dst = gnn_ints(dst)};
    const gnn_slot_sources_t sources = {.edges = &edges, .n_edges = 1};
    described_t d = {0};
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_context_new(&d.context, NULL));
    ck_ok(load(&d, STEPS(LOOPS), EDGES, 2, arrays));
    ck_fails(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph), GNN_EUNSUPPORTED,
             "node 1 has two self-loops (edges 1 and 3), and step a adds self-loops");
    ck_assert_ptr_null(graph);
    edges.n_edges = 3;
    ck_ok(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph));
    gnn_graph_free(graph);
    gnn_model_free(d.model);
    edges.n_edges = 4;
    ck_ok(load(&d, STEPS(SUM), EDGES, 2, arrays));
    ck_ok(gnn_model_graphs(d.model, &sources, GNN_OFF, &graph));
    gnn_graph_free(graph);
    gnn_model_free(d.model);
    gnn_context_free(d.context);
}
END_TEST

START_TEST(five_modules_match_pyg)
{
    ck_assert_int_eq(compare_all(GNN_SOURCE_ROOT "/tests/pyg/modules"), 6);
}
END_TEST

START_TEST(modules_of_another_folder)
{
    const char *folder = getenv("GNN_DESCRIBED");
    if (!folder)
        test_leave_out("modules_of_another_folder", "tests/house/pyg_modules.sh sets GNN_DESCRIBED");
    else
        ck_assert_int_gt(compare_all(folder), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("description");
    TCase *c = tcase_create("description");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_description_and_two_arrays_make_a_model);
    tcase_add_loop_test(c, wrong_descriptions_are_refused, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(c, graphs_of_slots_need_their_sources);
    tcase_add_loop_test(c, values_follow_the_edges_that_operations_make, 0,
                        (int)(sizeof derived / sizeof *derived));
    tcase_add_loop_test(c, an_unknown_operation_on_edges_is_refused, 0,
                        (int)(sizeof wrong_slots / sizeof *wrong_slots));
    tcase_add_test(c, a_zero_in_a_file_is_not_a_default);
    tcase_add_test(c, two_self_loops_of_a_node_are_refused_where_a_step_adds_them);
    tcase_add_test(c, five_modules_match_pyg);
    tcase_add_test(c, modules_of_another_folder);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
