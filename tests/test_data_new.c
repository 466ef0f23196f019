/* Data sets of a program's own arrays, arrays by name, borrowed memory. */
#include "data_tiny.h"
#include "readers.h"

#include <graphs/graph.h>
#include <lib/data/arrays/arrays.h>
#include <lib/data/data.h>

enum { N = 5, M = 4, F = 2 };
static const int64_t src[M] = {0, 1, 2, 3}, dst[M] = {1, 2, 2, 4};
static const gnn_real_t weight[M] = {1, 2, 3, 4};
static gnn_real_t numbers[N * F] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static const gnn_tensor_t x = {numbers, N, F, F};
static const int32_t labels[N] = {0, 1, 2, -5, 1};
static const uint8_t train[N] = {1, 0, 0, 0, 0}, validation[N] = {0, 2, 0, 0, 0},
                     test[N] = {0, 0, 1, 0, 1};

static gnn_split_t *split_of(const uint8_t *of_train, const uint8_t *of_validation,
                             const uint8_t *of_test)
{
    gnn_split_t *split;
    ck_ok(gnn_split_from_masks(&split, N, 1, of_train, of_validation, of_test));
    return split;
}

static gnn_split_t *split;

static void make_split(void)
{
    split = split_of(train, validation, test);
}

static void free_split(void)
{
    gnn_split_free(split);
}

static gnn_data_config_t plain_config(void)
{
    return (gnn_data_config_t){.nodes = N,
                               .edges = M,
                               .src = gnn_ints(src),
                               .dst = gnn_ints(dst),
                               .weight = weight,
                               .x = &x,
                               .labels = gnn_ints(labels),
                               .split = split};
}

static gnn_data_t *made(gnn_data_config_t config)
{
    gnn_data_t *data = NULL;
    ck_ok(gnn_data_new(&data, &config));
    ck_ok(gnn__graph_validate(gnn_data_graph(data)));
    return data;
}

START_TEST(edges_stay_as_they_are_given)
{
    gnn_data_t *data = made(plain_config());
    ck_assert_str_eq(gnn_data_name(data), "data");
    ck_assert_str_eq(messages(data), "1<0 2<1 2<2 4<3");
    ck_assert_int_eq(gnn_data_nodes(data), N);
    ck_assert_int_eq(gnn_data_features(data), F);
    ck_assert_int_eq(gnn_data_classes(data), 3);
    ck_labels(data, N, (const int32_t[]){0, 1, 2, -1, 1});
    ck_assert_mem_eq(gnn_data_x(data)->data, numbers, sizeof numbers);
    ck_assert(gnn_data_x(data)->data != numbers && !gnn_data_sparse(data));
    ck_assert_mem_eq(gnn_data_mask(data, GNN_VALIDATION, 0), ((uint8_t[]){0, 1, 0, 0, 0}), N);
    ck_assert_ptr_null(gnn_data_mask(data, GNN_TEST, 1));
    ck_assert_ptr_null(gnn_data_mask(data, 3, 0));
    ck_assert_mem_eq(gnn_data_rows(data, GNN_ON_EDGES, "weight")->data, weight, sizeof weight);
    gnn_data_free(data);
}
END_TEST

START_TEST(edge_features_become_an_array_and_follow_their_link)
{
    static gnn_real_t rows[M * 3] = {1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0};
    const gnn_tensor_t features = {rows, M, 2, 3};
    gnn_data_config_t config = plain_config();
    config.edge_features = &features;
    for (int both = 0; both < 2; both++) {
        config.both_ways = both ? GNN_ON : GNN_OFF;
        gnn_data_t *data = made(config);
        const gnn_tensor_t *held = gnn_data_rows(data, GNN_ON_EDGES, "features");
        ck_assert(held && held->rows == (both ? 2 * M : M) && held->cols == 2);
        for (int64_t k = 0; k < held->rows; k++)
            ck_assert_mem_eq(held->data + k * held->stride, rows + k % M * 3, 2 * sizeof *rows);
        gnn_data_free(data);
    }
    gnn_data_t *none;
    const gnn_tensor_t few = {rows, M - 1, 2, 3};
    config.edge_features = &few;
    ck_fails(gnn_data_new(&none, &config), GNN_ESHAPE, ".edge_features is 3 x 2, there are 4 edges");
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(both_ways_makes_two_edges_per_link)
{
    gnn_data_config_t config = plain_config();
    config.both_ways = GNN_ON;
    gnn_data_t *data = made(config);
    int64_t from[2 * M], to[2 * M], edge[2 * M];
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), from, to, edge));
    for (int k = 0; k < 2 * M; k++) {
        int64_t e = edge[k];
        ck_assert_int_eq(from[k], e < M ? src[e] : dst[e - M]);
        ck_assert_int_eq(to[k], e < M ? dst[e] : src[e - M]);
        ck_assert(gnn_data_rows(data, GNN_ON_EDGES, "weight")->data[e] == weight[e % M]);
    }
    gnn_data_free(data);
}
END_TEST

static void released(void *user)
{
    ++*(int *)user;
}

START_TEST(borrowed_arrays_are_not_copied_and_not_written)
{
    int count = 0;
    const gnn_owner_t owner = {released, &count};
    gnn_data_config_t config = plain_config();
    gnn_real_t before[N * F];
    config.owner = &owner;
    memcpy(before, numbers, sizeof before);
    gnn_data_t *data = made(config);
    ck_assert(gnn_data_x(data)->data == numbers && gnn_data_labels(data) == labels);
    ck_ok(gnn_data_row_normalise(data));
    ck_assert_double_eq_tol(gnn_data_x(data)->data[1], 2.0 / 3, 1e-6);
    ck_ok(gnn_data_reorder(data));
    ck_assert_mem_eq(numbers, before, sizeof before);
    ck_assert_int_eq(count, 0);
    gnn_data_free(data);
    ck_assert_int_eq(count, 1);
}
END_TEST

START_TEST(a_graph_changes_owner_on_success_only)
{
    int count = 0;
    const gnn_owner_t owner = {released, &count};
    gnn_graph_t *graph;
    gnn_data_t *data = (gnn_data_t *)&count;
    const int64_t length = N;
    gnn_data_config_t config = {.graph = NULL, .x = &x, .owner = &owner, .labels = gnn_ints(labels)};
    ck_ok(gnn_graph_complete(&graph, 1, &length));
    config.graph = graph;
    config.classes = 2;
    ck_fails(gnn_data_new(&data, &config), GNN_EINVALID, "class 2 at node 2, less than 2");
    ck_assert_ptr_null(data);
    ck_assert_int_eq(count, 0);
    ck_assert_int_eq(gnn_graph_n_dst(graph), N);
    config.classes = 0;
    ck_ok(gnn_data_new(&data, &config));
    ck_assert(gnn_data_graph(data) == graph);
    gnn_data_free(data);
    ck_assert_int_eq(count, 1);
}
END_TEST

START_TEST(wrong_arrays_are_refused)
{
    const int64_t far[M] = {0, 1, 2, 5};
    const gnn_real_t infinite[M] = {1, (gnn_real_t)INFINITY, 1, 1};
    const gnn_tensor_t shorter = {numbers, N - 1, F, F};
    const uint8_t unlabelled[N] = {0, 0, 0, 1, 0};
    const int64_t indptr[N + 1] = {0};
    const gnn_sparse_t sparse = {N, F, indptr, NULL, NULL};
    gnn_data_t *data;
#define BAD(code, words, ...)                                \
    do {                                                     \
        gnn_data_config_t config = plain_config();           \
        __VA_ARGS__;                                         \
        ck_fails(gnn_data_new(&data, &config), code, words); \
    } while (0)
    BAD(GNN_EINVALID, ".nodes is 0", config.nodes = 0);
    BAD(GNN_ETOPOLOGY, "src[3] = 5", config.src = gnn_ints(far));
    BAD(GNN_EINVALID, ".src and .dst", config.both_ways = GNN_ON, config.src.data = NULL);
    BAD(GNN_ENUMERIC, "row 1, column 0", config.weight = infinite);
    BAD(GNN_ESHAPE, "have 4 rows, the graph has 5", config.x = &shorter);
    BAD(GNN_EINVALID, "both given", config.sparse = &sparse);
    gnn_split_t *bad = split_of(NULL, NULL, unlabelled);
    BAD(GNN_EINVALID, "split 0 has node 3, whose label is -1, in its test part", config.split = bad);
    BAD(GNN_EINVALID, "class 1", config.class_names = ((const char *const[]){"a", "", "c"}));
    ck_fails(gnn_data_new(&data, NULL), GNN_EINVALID, "config is NULL");
    const gnn_data_config_t plain = plain_config();
    ck_fails(gnn_data_new(NULL, &plain), GNN_EINVALID, "data is NULL");
    gnn_split_free(bad);
}
END_TEST

/* ---- arrays by name ---- */

START_TEST(arrays_have_names_and_domains)
{
    gnn_data_t *data = made(plain_config());
    const int32_t year[N] = {1990, 1991, 1992, 1993, 1994};
    const double pair[M * 2] = {1, 2, 3, 4, 5, 6, 7, 8};
    gnn_array_t years = {"year", GNN_DTYPE_INT32, 1, {N}, N, year};
    gnn_array_t pairs = {"features", GNN_DTYPE_FLOAT64, 2, {M, 2}, 2 * M, pair};
    gnn_data_place_t place = GNN_ON_GRAPHS;
    ck_ok(gnn_data_array_set(data, GNN_ON_NODES, &years));
    ck_ok(gnn_data_array_set(data, GNN_ON_EDGES, &pairs));
    ck_ok(gnn_data_array_set(data, GNN_ON_EDGES, &pairs)); /* replaces */
    ck_assert_int_eq(data->n_arrays, 3);
    ck_assert_str_eq(gnn_data_array_at(data, 1, &place)->name, "year");
    ck_assert_int_eq(place, GNN_ON_NODES);
    ck_assert_ptr_null(gnn_data_array_at(data, 3, NULL));
    ck_assert_ptr_null(gnn_data_array_find(data, GNN_ON_EDGES, "year"));
    ck_assert_ptr_null(gnn_data_rows(data, GNN_ON_NODES, "year"));
    const gnn_tensor_t *rows = gnn_data_rows(data, GNN_ON_EDGES, "features");
    ck_assert(rows->rows == M && rows->cols == 2 && rows->data[5] == 6);
    years.name = "labels";
    ck_fails(gnn_data_array_set(data, GNN_ON_NODES, &years), GNN_EINVALID, "the set's own");
    ck_fails(gnn_data_array_set(data, GNN_ON_EDGES, &years), GNN_ESHAPE, "5 rows, there are 4 edges");
    ck_fails(gnn_data_array_set(data, GNN_ON_GRAPHS, &years), GNN_ESHAPE, "there are 1 graphs");
    gnn_data_free(data);
}
END_TEST

START_TEST(arrays_on_nodes_follow_a_new_order)
{
    gnn_data_t *data = made(plain_config());
    const gnn_real_t year[N] = {1990, 1991, 1992, 1993, 1994};
    ck_ok(gnn_data_array_set(data, GNN_ON_NODES,
                             &(gnn_array_t){"year", GNN__REAL_DTYPE, 1, {N}, N, year}));
    ck_ok(gnn_data_reorder(data));
    ck_assert_int_ne(gnn_data_order(data)[0], 0);
    for (int r = 0; r < N; r++)
        ck_assert(gnn_data_rows(data, GNN_ON_NODES, "year")->data[r] == year[gnn_data_order(data)[r]]);
    gnn_data_free(data);
}
END_TEST

/* Receivers read edge rows in order; saved files keep the original edge ids. */
START_TEST(arrays_on_edges_follow_a_new_order)
{
    gnn_data_t *data = made(plain_config()), *again;
    int64_t from[M], to[M], edge[M], moved = 0;
    ck_assert_ptr_null(gnn_data_edge_order(data));
    ck_ok(gnn_data_reorder(data));
    const int64_t *order = gnn_data_order(data), *old = gnn_data_edge_order(data);
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), from, to, edge));
    for (int k = 0; k < M; k++) {
        ck_assert_int_eq(edge[k], k);
        ck_assert_int_eq(order[from[k]], src[old[k]]);
        ck_assert_int_eq(order[to[k]], dst[old[k]]);
        ck_assert(gnn_data_rows(data, GNN_ON_EDGES, "weight")->data[k] == weight[old[k]]);
        moved += old[k] != k;
    }
    ck_assert_int_gt(moved, 0);
    ck_ok(gnn_data_save(data, in_folder("edges.npz")));
    ck_ok(gnn_data_open(&again, in_folder("edges.npz")));
    ck_assert_mem_eq(gnn_data_rows(again, GNN_ON_EDGES, "weight")->data, weight, sizeof weight);
    ck_ok(gnn_graph_pairs(gnn_data_graph(again), from, to, edge));
    for (int k = 0; k < M; k++)
        ck_assert(from[k] == src[edge[k]] && to[k] == dst[edge[k]]);
    gnn_data_free(again);
    gnn_data_free(data);
}
END_TEST

/* ---- mapped files ---- */

typedef struct two {
    gnn_owner_t owners[2];
    int count;
} two_t;

static void release_two(void *user)
{
    two_t *t = user;
    for (int k = 0; k < 2; k++)
        t->owners[k].release(t->owners[k].user);
    t->count++;
}

/* A .npy as numpy writes it. */
static const char *write_npy(const char *name, const gnn_array_t *array, int64_t cut)
{
    static unsigned char bytes[4096];
    char *header;
    int64_t length, size;
    ck_ok(gnn__npy_header(&header, &length, array));
    ck_ok(gnn__array_check(array, &size));
    memcpy(bytes, header, (size_t)length);
    memcpy(bytes + length, array->data, (size_t)size);
    gnn_free(header);
    return write_bytes(name, bytes, (size_t)(length + size - cut));
}

START_TEST(a_graph_of_mapped_files)
{
    const gnn_array_t indptr = INT64("indptr", 4, 0, 2, 2, 3), indices = INT32("indices", 3, 2, 0, 1);
    gnn_array_t arrays[2];
    two_t files = {.count = 0};
    const gnn_owner_t both = {release_two, &files};
    gnn_graph_t *graph;
    gnn_graph_row_t row;
    ck_ok(gnn_npy_map(&arrays[0], &files.owners[0], write_npy("indptr.npy", &indptr, 0)));
    ck_ok(gnn_npy_map(&arrays[1], &files.owners[1], write_npy("indices.npy", &indices, 0)));
    ck_assert_str_eq(arrays[0].name, "indptr.npy");
    ck_assert(arrays[0].dtype == GNN_DTYPE_INT64 && arrays[0].ndim == 1 && arrays[0].shape[0] == 4);
    ck_ok(gnn_graph_borrow_csr(&graph, 3, 3, gnn_array_ints(&arrays[0]), gnn_array_ints(&arrays[1]),
                               &both));
    ck_ok(gnn_graph_row(graph, 0, 2, &row));
    ck_assert_int_eq(gnn_graph_row_sender(&row, 0), 1);
    gnn_graph_free(graph);
    ck_assert_int_eq(files.count, 1);
}
END_TEST

START_TEST(files_that_cannot_be_mapped)
{
    const gnn_array_t numbers4 = INT64("numbers", 4, 0, 2, 2, 3);
    gnn_array_t array;
    gnn_owner_t owner;
    ck_fails(gnn_npy_map(&array, &owner, write_npy("a.npy", &numbers4, 8)), GNN_EFORMAT,
             "a.npy: declares 4 int64 (32 bytes), the file holds 24");
    ck_assert(!owner.release && !array.data);
    ck_fails(gnn_npy_map(&array, &owner, write_text("a.npy", "x")), GNN_EFORMAT,
             "1 bytes are not a .npy");
    ck_fails(gnn_npy_map(&array, &owner, write_text("a.npy", "not a numpy array")), GNN_EFORMAT,
             "magic");
    ck_fails(gnn_npy_map(&array, &owner, in_folder("nothing.npy")), GNN_EIO, "nothing.npy");
    ck_fails(gnn_npy_map(&array, NULL, "a"), GNN_EINVALID, "owner is NULL");
#define HEADED(text) "\x93NUMPY\1\0" text
    ck_fails(
        gnn_npy_map(
            &array, &owner,
            write_bytes(
                "a.npy",
                HEADED("\x46\0{'descr': '<i8', 'fortran_order': True, 'shape': (2, 2), }           \n") "12345678123456781234567812345678",
                80 + 32)),
        GNN_EUNSUPPORTED, "Fortran order");
    for (int n = 1, rc = GNN_EMEMORY; rc != GNN_OK; n++) {
        const char *path = write_npy("a.npy", &numbers4, 0);
        gnn__fail_allocation(n);
        rc = gnn_npy_map(&array, &owner, path);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || (rc == GNN_EMEMORY && !owner.release));
    }
    owner.release(owner.user);
}
END_TEST

/* ---- training ---- */

static double loss_of(gnn_data_t *data, const char *edge_weight)
{
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_train_result_t result;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_model_from_steps(
        &model, context, 1,
        (gnn_step_t[]){{.layer = GNN_GCN(.in = F, .out = 3), .edge_weight = edge_weight}}));
    ck_ok(gnn_train(model, context, data, &(gnn_train_config_t){.epochs = 1}, &result));
    gnn_model_free(model);
    gnn_context_free(context);
    return result.train_loss;
}

START_TEST(training_reads_named_arrays)
{
    gnn_data_config_t config = plain_config();
    gnn_split_t *other = split_of(test, validation, test);
    config.split = other; /* node 2 receives from node 1 with weight 2 and from itself with 3 */
    gnn_data_t *data = made(config);
    const gnn_real_t ones[M] = {1, 1, 1, 1};
    double weighted = loss_of(data, "weight"), without = loss_of(data, NULL);
    ck_assert(fabs(weighted - without) > 1e-4);
    gnn_data_free(data);
    config.weight = ones;
    data = made(config);
    ck_assert_double_eq_tol(loss_of(data, "weight"), without, 1e-6);
    gnn_data_free(data);
    gnn_split_free(other);
}
END_TEST

START_TEST(arrays_are_saved_and_opened)
{
    gnn_data_config_t config = plain_config();
    const int32_t year[N] = {1990, 1991, 1992, 1993, 1994};
    for (int both = 0; both < 2; both++) {
        config.both_ways = both ? GNN_ON : GNN_OFF;
        gnn_data_t *data = made(config);
        ck_ok(gnn_data_array_set(data, GNN_ON_NODES,
                                 &(gnn_array_t){"year", GNN_DTYPE_INT32, 1, {N}, N, year}));
        ck_ok(gnn_data_save(data, in_folder("saved.npz")));
        gnn_data_t *again = opened(in_folder("saved.npz"));
        const gnn_array_t *years = gnn_data_array_find(again, GNN_ON_NODES, "year");
        ck_assert_str_eq(messages(again), both ? messages(data) : "1<0 2<1 2<2 4<3");
        ck_same_set(data, again);
        ck_assert(years && years->dtype == GNN_DTYPE_INT32);
        ck_assert_mem_eq(years->data, year, sizeof year);
        ck_assert_mem_eq(gnn_data_rows(again, GNN_ON_EDGES, "weight")->data,
                         gnn_data_rows(data, GNN_ON_EDGES, "weight")->data,
                         (size_t)gnn_graph_n_edges(gnn_data_graph(data)) * sizeof(gnn_real_t));
        gnn_data_free(again);
        gnn_data_free(data);
    }
}
END_TEST

START_TEST(every_allocation_of_a_set_fails_once)
{
    int64_t n = 1;
    gnn_data_config_t config = plain_config();
    config.both_ways = GNN_ON;
    config.class_names = (const char *const[]){"a", "b", "c"};
    for (int rc = GNN_EMEMORY; rc != GNN_OK; n++) {
        gnn_data_t *data = NULL;
        gnn__fail_allocation(n);
        rc = gnn_data_new(&data, &config);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || (rc == GNN_EMEMORY && !data), "allocation %d: %d", (int)n, rc);
        gnn_data_free(data);
    }
    ck_assert_int_gt(n, 15);
}
END_TEST

START_TEST(the_example_runs)
{
    if (access(GNN_EXAMPLES "/own_data", X_OK) != 0) {
        test_leave_out("the_example_runs", "built with -Dexamples=disabled");
        return;
    }
    ck_assert_int_eq(system("${GNN_TEST_RUNNER:-} " GNN_EXAMPLES "/own_data > own_data.out"), 0);
    FILE *file = fopen("own_data.out", "r");
    double accuracy = 0;
    char line[512];
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "test accuracy", 13) == 0)
            accuracy = atof(line + 13);
    fclose(file);
    remove("own_data.out");
    ck_assert_msg(accuracy > 60, "own_data: accuracy %g", accuracy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("data_new");
    TCase *tests = tcase_create("data_new");
    tcase_add_checked_fixture(tests, make_split, free_split);
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, edges_stay_as_they_are_given);
    tcase_add_test(tests, edge_features_become_an_array_and_follow_their_link);
    tcase_add_test(tests, both_ways_makes_two_edges_per_link);
    tcase_add_test(tests, borrowed_arrays_are_not_copied_and_not_written);
    tcase_add_test(tests, a_graph_changes_owner_on_success_only);
    tcase_add_test(tests, wrong_arrays_are_refused);
    tcase_add_test(tests, arrays_have_names_and_domains);
    tcase_add_test(tests, arrays_on_nodes_follow_a_new_order);
    tcase_add_test(tests, arrays_on_edges_follow_a_new_order);
    tcase_add_test(tests, training_reads_named_arrays);
    tcase_add_test(tests, a_graph_of_mapped_files);
    tcase_add_test(tests, files_that_cannot_be_mapped);
    tcase_add_test(tests, arrays_are_saved_and_opened);
    tcase_add_test(tests, every_allocation_of_a_set_fails_once);
    tcase_add_test(tests, the_example_runs);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
