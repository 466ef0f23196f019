/* Arrays of indices: int32 and int64, each array by itself, wherever a program hands them over. */
#include "support.h"

#include <gnn/links.h>
#include <gnn/sample.h>
#include <graphs/graph.h>

enum { N = 4, M = 5 };
static const int64_t indptr64[N + 1] = {0, 2, 2, 3, 5}, indices64[M] = {1, 3, 0, 2, 1};
static const int32_t indptr32[N + 1] = {0, 2, 2, 3, 5}, indices32[M] = {1, 3, 0, 2, 1};
static const int64_t dst64[M] = {0, 0, 2, 3, 3};
static const int32_t dst32[M] = {0, 0, 2, 3, 3};

/* The edges above, and nothing else. */
static void check_graph(gnn_graph_t *graph)
{
    int64_t src[M], dst[M], edge[M];
    ck_ok(gnn__graph_validate(graph));
    ck_assert_int_eq(gnn_graph_n_edges(graph), M);
    ck_ok(gnn_graph_pairs(graph, src, dst, edge));
    for (int k = 0; k < M; k++)
        ck_assert(src[k] == indices64[k] && dst[k] == dst64[k] && edge[k] == k);
    gnn_graph_free(graph);
}

static gnn_ints_t either(int wide, const int64_t *of64, const int32_t *of32)
{
    return wide ? gnn_ints(of64) : gnn_ints(of32);
}

START_TEST(graphs_accept_int32_and_int64)
{
    gnn_graph_t *graph;
    ck_ok(gnn_graph_from_csr(&graph, N, N, indptr32, indices32)); /* SciPy */
    check_graph(graph);
    ck_ok(gnn_graph_from_csr(&graph, N, N, indptr64, indices64)); /* PyG */
    check_graph(graph);
    for (int k = 0; k < 4; k++) {
        const gnn_ints_t indptr = either(k & 1, indptr64, indptr32),
                         indices = either(k & 2, indices64, indices32),
                         dst = either(k & 1, dst64, dst32);
        ck_ok(gnn_graph_from_csr(&graph, N, N, indptr, indices));
        check_graph(graph);
        ck_ok(gnn_graph_borrow_csr(&graph, N, N, indptr, indices, NULL));
        /* Arrays of the graph's own types are not copied. */
        const gnn__pairs_t *pairs = &graph->base.parts[0].pairs;
        ck_assert_int_eq((const void *)pairs->indptr == (const void *)indptr64, k & 1);
        ck_assert_int_eq((const void *)pairs->indices == (const void *)indices32, !(k & 2));
        check_graph(graph);
        ck_ok(gnn_graph_from_edges(&graph, N, N, M, indices, dst));
        check_graph(graph);
    }
}
END_TEST

START_TEST(pointer_types_select_element_types)
{
    long long *far = NULL;
    const long near[] = {0};
    int32_t narrow[] = {0};
    ck_assert_int_eq(gnn_ints(far).type, GNN_DTYPE_INT64);
    ck_assert_int_eq(gnn_ints(near).type, GNN_DTYPE_INT64);
    ck_assert_int_eq(gnn_ints(narrow).type, GNN_DTYPE_INT32);
    ck_assert_int_eq(gnn_ints((const int32_t[]){1, 2}).type, GNN_DTYPE_INT32);
    ck_assert_ptr_null(gnn_ints(NULL).data);
    const gnn_array_t array = {"a", GNN_DTYPE_INT64, 1, {M}, M, indices64};
    ck_assert(gnn_array_ints(&array).data == indices64);
    ck_assert_int_eq(gnn_array_ints(&array).type, GNN_DTYPE_INT64);
}
END_TEST

START_TEST(spans_orders_and_globals_accept_int32_and_int64)
{
    const int64_t lo64[] = {0, 1, 2}, hi64[] = {2, 3, 3}, order64[] = {2, 0, 1};
    const int32_t lo32[] = {0, 1, 2}, hi32[] = {2, 3, 3}, order32[] = {2, 0, 1};
    const int64_t length = 3;
    gnn_graph_t *made[2], *again[2], *global[2];
    ck_ok(gnn_graph_from_spans(&made[0], 3, 3, order32, NULL, lo32, hi32));
    ck_ok(gnn_graph_from_spans(&made[1], 3, 3, order64, NULL, lo64, hi64));
    ck_ok(gnn_graph_renumber(&again[0], made[0], order32));
    ck_ok(gnn_graph_renumber(&again[1], made[1], order64));
    ck_ok(gnn_graph_window_global(&global[0], 1, &length, 1, 1, order32));
    ck_ok(gnn_graph_window_global(&global[1], 1, &length, 1, 1, order64));
    gnn_graph_t **const pairs[] = {made, again, global};
    for (int k = 0; k < 3; k++) {
        int64_t src[2][9], dst[2][9];
        for (int type = 0; type < 2; type++) {
            ck_ok(gnn_graph_pairs(pairs[k][type], src[type], dst[type], NULL));
            ck_ok(gnn__graph_validate(pairs[k][type]));
        }
        const int64_t count = gnn_graph_n_pairs(pairs[k][0]);
        ck_assert_int_eq(gnn_graph_n_pairs(pairs[k][1]), count);
        ck_assert_mem_eq(src[0], src[1], (size_t)count * sizeof(int64_t));
        ck_assert_mem_eq(dst[0], dst[1], (size_t)count * sizeof(int64_t));
        gnn_graph_free(pairs[k][0]);
        gnn_graph_free(pairs[k][1]);
    }
}
END_TEST

/* 2^32 + 1 is 1 in 32 bits. */
START_TEST(values_beyond_32_bits_are_refused_with_their_index)
{
    const int64_t far[] = {0, 1, 4294967297, 2, 1}, lo[] = {0, 4294967296}, hi[] = {1, 4294967297};
    gnn_graph_t *graph = NULL;
    gnn_sparse_t sparse;
    gnn_owner_t owner;
    ck_fails(gnn_graph_from_csr(&graph, N, N, indptr32, far), GNN_EOVERFLOW,
             "indices[2] = 4294967297 does not fit");
    ck_fails(gnn_graph_borrow_csr(&graph, N, N, indptr32, far, NULL), GNN_EOVERFLOW, "indices[2]");
    ck_fails(gnn_graph_from_edges(&graph, N, N, M, far, dst32), GNN_ETOPOLOGY,
             "src[2] = 4294967297, but there are 4 senders");
    ck_fails(gnn_graph_from_spans(&graph, 2, 2, NULL, NULL, lo, hi), GNN_EOVERFLOW,
             "lo[1] = 4294967296");
    ck_fails(gnn_graph_renumber(&graph, NULL, far), GNN_EINVALID, "gnn_graph_renumber: of is NULL");
    ck_fails(gnn_sparse_from_csr(&sparse, &owner, N, N, indptr32, far, NULL), GNN_EOVERFLOW,
             "indices[2]");
    ck_assert(!graph && !sparse.indptr && !owner.release);
}
END_TEST

START_TEST(other_types_of_elements_are_refused)
{
    float wrong[M] = {0};
    void *untyped = wrong;
    const gnn_array_t array = {"a", GNN_DTYPE_FLOAT32, 1, {M}, M, wrong};
    gnn_graph_t *graph = NULL;
    gnn_data_t *data;
    ck_fails(gnn_graph_from_csr(&graph, N, N, untyped, indices32), GNN_EINVALID,
             "indptr: expected an int32_t or int64_t array");
    ck_fails(gnn_graph_from_edges(&graph, N, N, M, gnn_array_ints(&array), dst32), GNN_EINVALID,
             "src: expected an int32_t or int64_t array");
    ck_fails(gnn_data_new(&data, &(gnn_data_config_t){.nodes = N, .labels = gnn_array_ints(&array)}),
             GNN_EINVALID, ".labels: expected an int32_t or int64_t array");
    ck_fails(gnn_graph_from_csr(&graph, N, N, NULL, indices32), GNN_EINVALID, "indptr is NULL");
    ck_fails(gnn_graph_from_csr(&graph, N, N, indptr32, NULL), GNN_EINVALID, "indices is NULL");
}
END_TEST

START_TEST(sparse_features_of_any_types_become_views)
{
    const gnn_real_t values[M] = {1, 2, 3, 4, 5};
    for (int k = 0; k < 4; k++) {
        gnn_sparse_t sparse;
        gnn_owner_t owner;
        ck_ok(gnn_sparse_from_csr(&sparse, &owner, N, N, either(k & 1, indptr64, indptr32),
                                  either(k & 2, indices64, indices32), values));
        ck_assert_int_eq(sparse.indptr == indptr64, k & 1);
        ck_assert_int_eq(sparse.indices == indices32, !(k & 2));
        ck_assert_int_eq(owner.release == NULL, k == 1); /* nothing was copied */
        ck_assert_mem_eq(sparse.indptr, indptr64, sizeof indptr64);
        ck_assert_mem_eq(sparse.indices, indices32, sizeof indices32);
        ck_assert(sparse.values == values);
        if (owner.release)
            owner.release(owner.user);
    }
    gnn_sparse_t sparse;
    gnn_owner_t owner;
    ck_fails(gnn_sparse_from_csr(&sparse, &owner, N, 2, indptr32, indices32, NULL), GNN_ESHAPE, "");
    ck_fails(gnn_sparse_from_csr(&sparse, &owner, 2, N, ((int32_t[]){0, 3, 1}), indices32, NULL),
             GNN_ESHAPE, "indptr[2]: expected at least 3, got 1");
    ck_fails(gnn_sparse_from_csr(&sparse, &owner, N, N, NULL, indices32, NULL), GNN_EINVALID,
             "indptr is NULL");
}
END_TEST

START_TEST(seeds_accept_int32_and_int64)
{
    const int64_t fan_outs[] = {2}, far[] = {4294967297};
    gnn_graph_t *graph;
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    int32_t nodes[2][N];
    int64_t count[2];
    ck_ok(gnn_graph_from_csr(&graph, N, N, indptr32, indices32));
    ck_ok(gnn_sampler_new(&sampler, graph, &(gnn_sampler_config_t){.hops = 1, .fan_outs = fan_outs}));
    ck_ok(gnn_sample_new(&sample, sampler));
    for (int wide = 0; wide < 2; wide++) {
        ck_ok(gnn_sample_draw(sample, NULL, 2, either(wide, (int64_t[]){3, 2}, (int32_t[]){3, 2}),
                              0, 0));
        const int32_t *drawn = gnn_sample_nodes(sample, &count[wide]);
        memcpy(nodes[wide], drawn, (size_t)count[wide] * sizeof *drawn);
    }
    ck_assert_int_eq(count[0], count[1]);
    ck_assert_mem_eq(nodes[0], nodes[1], (size_t)count[0] * sizeof(int32_t));
    ck_fails(gnn_sample_draw(sample, NULL, 1, far, 0, 0), GNN_EOVERFLOW, "seeds[0] = 4294967297");
    ck_assert_ptr_null(gnn_sample_graph(sample, 0));
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    gnn_graph_free(graph);
}
END_TEST

START_TEST(data_sets_and_relations_accept_int32_and_int64)
{
    const int64_t labels64[N] = {0, 1, -100, 2};
    const int32_t labels32[N] = {0, 1, -1, 2}, cites32[] = {1, 0};
    const int64_t writes64[] = {0, 0};
    gnn_data_t *data;
    for (int k = 0; k < 4; k++) {
        ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = N,
                                                       .edges = M,
                                                       .src = either(k & 1, indices64, indices32),
                                                       .dst = either(k & 2, dst64, dst32),
                                                       .both_ways = k == 3 ? GNN_ON : GNN_OFF,
                                                       .labels = either(k & 1, labels64, labels32)}));
        ck_assert_mem_eq(gnn_data_labels(data), labels32, sizeof labels32);
        ck_assert_int_eq(gnn_data_classes(data), 3);
        ck_assert_int_eq(gnn_graph_n_edges(gnn_data_graph(data)), k == 3 ? 2 * M : M);
        gnn_data_free(data);
    }
    const gnn_node_type_t types[] = {{.name = "author", .count = 1},
                                     {.name = "paper", .count = 2, .labels = gnn_ints(labels64)}};
    const gnn_relation_t relations[] = {
        {"author", "writes", "paper", 2, gnn_ints(writes64), gnn_ints(cites32)},
        {"paper", "cites", "paper", 2, gnn_ints(writes64), gnn_ints(cites32)}};
    ck_ok(gnn_data_hetero(&data, &(gnn_hetero_t){types, 2, relations, 2}));
    ck_assert_mem_eq(gnn_data_labels(data), ((int32_t[]){-1, 0, 1}), 3 * sizeof(int32_t));
    ck_assert_int_eq(gnn_graph_n_edges(gnn_data_graph(data)), 4);
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index_arrays");
    TCase *tests = tcase_create("index_arrays");
    tcase_add_test(tests, graphs_accept_int32_and_int64);
    tcase_add_test(tests, pointer_types_select_element_types);
    tcase_add_test(tests, spans_orders_and_globals_accept_int32_and_int64);
    tcase_add_test(tests, values_beyond_32_bits_are_refused_with_their_index);
    tcase_add_test(tests, other_types_of_elements_are_refused);
    tcase_add_test(tests, sparse_features_of_any_types_become_views);
    tcase_add_test(tests, seeds_accept_int32_and_int64);
    tcase_add_test(tests, data_sets_and_relations_accept_int32_and_int64);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
