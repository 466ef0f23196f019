/* igraph, both ways: directions, edge ids, attributes, named graphs, errors that return, the
 * caller's handlers and stack; and igraph as an oracle for what libgnn has itself. */
#include "support.h"

#include <graphs/graph.h>

#if GNN_WITH_IGRAPH
#include <gnn/igraph.h>
#include <graphs/igraph/call.h>
#include <graphs/undirected.h>
#include <pthread.h>

static igraph_t small(igraph_bool_t directed)
{
    igraph_t g;
    ck_assert_int_eq(igraph_small(&g, 5, directed, 0, 1, 3, 3, 2, 1, 0, 1, 4, 0, -1), IGRAPH_SUCCESS);
    return g;
}

START_TEST(undirected_edges_become_two_messages_and_a_loop_one)
{
    igraph_t ig = small(IGRAPH_UNDIRECTED);
    gnn_graph_t *g;
    int64_t *map, src[9], dst[9], edge[9];
    int seen[5] = {0};
    ck_ok(gnn_graph_from_igraph(&g, &ig, &map));
    ck_ok(gnn__graph_validate(g));
    ck_assert(g->n_dst == 5 && gnn_graph_n_edges(g) == 9);
    ck_ok(gnn_graph_pairs(g, src, dst, edge));
    for (int k = 0; k < 9; k++) {
        igraph_integer_t e = map[edge[k]], from = IGRAPH_FROM(&ig, e), to = IGRAPH_TO(&ig, e);
        ck_assert((src[k] == from && dst[k] == to) || (src[k] == to && dst[k] == from));
        seen[e] += src[k] == dst[k] ? 2 : src[k] < dst[k] ? 1 : 100;
    }
    ck_assert(seen[0] == 101 && seen[1] == 2 && seen[2] == 101 && seen[3] == 101 && seen[4] == 101);
    gnn_free(map);
    gnn_graph_free(g);
    igraph_destroy(&ig);
}
END_TEST

START_TEST(directed_edges_keep_their_direction_there_and_back)
{
    igraph_t ig = small(IGRAPH_DIRECTED), back;
    gnn_graph_t *g, *again;
    int64_t src[5], dst[5], edge[5];
    ck_ok(gnn_graph_from_igraph(&g, &ig, NULL));
    ck_ok(gnn_graph_pairs(g, src, dst, edge));
    for (int k = 0; k < 5; k++)
        ck_assert(src[k] == IGRAPH_FROM(&ig, edge[k]) && dst[k] == IGRAPH_TO(&ig, edge[k]));
    ck_ok(gnn_graph_to_igraph(g, NULL, &back));
    ck_assert(igraph_is_directed(&back) && igraph_ecount(&back) == 5);
    for (int k = 0; k < 5; k++)
        ck_assert(src[k] == IGRAPH_FROM(&back, k) && dst[k] == IGRAPH_TO(&back, k));
    ck_ok(gnn_graph_from_igraph(&again, &back, NULL));
    ck_assert_int_eq(gnn_graph_n_edges(again), 5);
    gnn_graph_free(g);
    gnn_graph_free(again);
    igraph_destroy(&ig);
    igraph_destroy(&back);
}
END_TEST

START_TEST(spans_become_edges_of_an_igraph)
{
    gnn_graph_t *g;
    igraph_t ig;
    ck_ok(gnn_graph_complete(&g, 2, (int64_t[]){3, 2}));
    ck_ok(gnn_graph_to_igraph(g, NULL, &ig));
    ck_assert(igraph_vcount(&ig) == 5 && igraph_ecount(&ig) == 13);
    igraph_destroy(&ig);
    gnn_graph_free(g);
    ck_ok(gnn_graph_bipartite(&g, 1, (int64_t[]){3}, (int64_t[]){2}));
    ck_fails(gnn_graph_to_igraph(g, NULL, &ig), GNN_ETOPOLOGY, "3 receivers and 2 senders");
    gnn_graph_free(g);
    ck_ok(gnn_graph_complete(&g, 0, NULL));
    ck_ok(gnn_graph_to_igraph(g, NULL, &ig));
    ck_assert_int_eq(igraph_vcount(&ig), 0);
    igraph_destroy(&ig);
    gnn_graph_free(g);
}
END_TEST

START_TEST(attributes_follow_the_edge_map)
{
    igraph_t plain = small(IGRAPH_UNDIRECTED), ig, weighted;
    gnn_graph_t *g;
    int64_t *map;
    gnn_real_t values[9], weight[5] = {5, 4, 3, 2, 1};
    ck_fails(gnn_igraph_edge_attribute(&plain, "weight", NULL, 5, values), GNN_EUNSUPPORTED,
             "igraph_set_attribute_table");
    igraph_set_attribute_table(&igraph_cattribute_table);
    ck_fails(gnn_igraph_edge_attribute(&plain, "weight", NULL, 5, values), GNN_ENOTFOUND,
             "without an attribute handler");
    igraph_set_attribute_table(NULL);
    igraph_destroy(&plain);
    igraph_set_attribute_table(&igraph_cattribute_table);
    ig = small(IGRAPH_UNDIRECTED);
    for (int e = 0; e < 5; e++)
        SETEAN(&ig, "weight", e, 10 + e);
    SETEAS(&ig, "colour", 0, "red");
    ck_ok(gnn_graph_from_igraph(&g, &ig, &map));
    ck_ok(gnn_igraph_edge_attribute(&ig, "weight", map, 9, values));
    for (int k = 0; k < 9; k++)
        ck_assert(values[k] == (gnn_real_t)(10 + map[k]));
    ck_fails(gnn_igraph_edge_attribute(&ig, "colour", map, 9, values), GNN_ENOTFOUND,
             "no numeric edge attribute \"colour\"");
    ck_fails(gnn_igraph_edge_attribute(&ig, "width", map, 9, values), GNN_ENOTFOUND,
             "no numeric edge attribute \"width\"");
    ck_fails(gnn_igraph_edge_attribute(&ig, "weight", NULL, 9, values), GNN_EINVALID,
             "edge 5 is igraph's edge 5, the igraph has 5 edges");
    ck_fails(gnn_igraph_edge_attribute(&ig, "weight", map, -1, values), GNN_EINVALID,
             "m: expected a count >= 0, got -1");
    ck_fails(gnn_igraph_edge_attribute(&ig, NULL, map, 9, values), GNN_EINVALID, "name is NULL");
    gnn_free(map);
    gnn_graph_free(g);
    igraph_destroy(&ig);

    ck_ok(gnn_graph_from_edges(&g, 3, 3, 5, ((int64_t[]){0, 1, 2, 2, 1}),
                               ((int64_t[]){0, 0, 1, 2, 2})));
    ck_ok(gnn_graph_to_igraph(g, weight, &weighted));
    for (int e = 0; e < 5; e++)
        ck_assert(EAN(&weighted, "weight", e) == (double)weight[e]);
    igraph_destroy(&weighted);
    igraph_set_attribute_table(NULL);
    ck_fails(gnn_graph_to_igraph(g, weight, &weighted), GNN_EUNSUPPORTED,
             "igraph_set_attribute_table");
    gnn_graph_free(g);
}
END_TEST

START_TEST(named_graphs)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_famous(&g, "Zachary"));
    ck_assert(gnn_graph_n_dst(g) == 34 && gnn_graph_n_edges(g) == 2 * 78);
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){GNN_ON, GNN_GRAPH_NORM_SYMMETRIC, GNN_ON}));
    ck_ok(gnn__graph_validate(g));
    gnn_graph_free(g);
    ck_fails(gnn_graph_famous(&g, "Zacharias"), IGRAPH_EINVAL, "igraph: ");
    ck_assert(strstr(gnn_error_message(), "Zacharias") != NULL);
    ck_assert_ptr_null(g);
    ck_fails(gnn_graph_famous(&g, NULL), GNN_EINVALID, "name is NULL");
    ck_fails(gnn_graph_from_igraph(&g, NULL, NULL), GNN_EINVALID, "igraph is NULL");
}
END_TEST

/* ---- igraph as an oracle ---- */

START_TEST(the_karate_club_is_igraphs)
{
    enum { M = 156 };
    gnn_graph_t *g;
    gnn_data_t *data;
    int64_t got[3][M], expected[3][M];
    ck_ok(gnn_graph_famous(&g, "Zachary"));
    ck_ok(gnn_data_karate(&data));
    ck_assert_int_eq(gnn_graph_n_pairs(gnn_data_graph(data)), M);
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), got[0], got[1], got[2]));
    ck_ok(gnn_graph_pairs(g, expected[0], expected[1], expected[2]));
    ck_assert_int_eq(memcmp(got, expected, sizeof got), 0);
    gnn_graph_free(g);
    gnn_data_free(data);
}
END_TEST

START_TEST(every_igraph_code_has_a_description)
{
    for (int code = 1; code <= IGRAPH_ENOSOL; code++)
        if (code != 11) /* is not used */
            ck_assert_msg(strcmp(gnn_error_string(code), "igraph: unknown error") != 0, "%d: %s",
                          code, igraph_strerror((igraph_error_t)code));
    ck_assert_str_eq(gnn_error_string(IGRAPH_EATTRCOMBINE),
                     "igraph: attributes of this type cannot be combined in this way");
}
END_TEST

/* Random directed edges of 40 nodes, in several components; their sum of weights is igraph's. */
START_TEST(spanning_trees_are_igraphs)
{
    enum { N = 40, M = 60 };
    uint64_t state = (uint64_t)_i + 1;
    int64_t src[M], dst[M], from[N], to[N], count;
    igraph_integer_t ends[2 * M];
    gnn_real_t weight[M];
    double sum = 0, expected = 0;
    gnn_graph_t *g;
    igraph_t ig;
    igraph_vector_int_t view, tree;
    igraph_vector_t cost;
    for (int k = 0; k < M; k++) {
        src[k] = test_below(&state, N);
        dst[k] = test_below(&state, N);
    }
    ck_ok(gnn_graph_from_edges(&g, N, N, M, src, dst));
    ck_ok(gnn_graph_pairs(g, src, dst, NULL));
    igraph_vector_init(&cost, M);
    for (int k = 0; k < M; k++) {
        weight[k] = (gnn_real_t)test_uniform(&state);
        VECTOR(cost)[k] = -(double)weight[k];
        ends[2 * k] = src[k];
        ends[2 * k + 1] = dst[k];
    }
    view = gnn__igraph_view(ends, 2 * M);
    ck_assert_int_eq(igraph_create(&ig, &view, N, IGRAPH_UNDIRECTED), IGRAPH_SUCCESS);
    igraph_vector_int_init(&tree, 0);
#if IGRAPH_VERSION_MAJOR >= 1
    ck_assert_int_eq(igraph_minimum_spanning_tree(&ig, &tree, &cost, IGRAPH_MST_AUTOMATIC),
                     IGRAPH_SUCCESS);
#else
    ck_assert_int_eq(igraph_minimum_spanning_tree(&ig, &tree, &cost), IGRAPH_SUCCESS);
#endif
    for (igraph_integer_t k = 0; k < igraph_vector_int_size(&tree); k++)
        expected -= VECTOR(cost)[VECTOR(tree)[k]];
    ck_ok(gnn__graph_spanning_tree(g, weight, GNN_BOTH_MAX, from, to, &count));
    ck_assert_int_eq(count, igraph_vector_int_size(&tree));
    for (int64_t e = 0; e < count; e++) {
        double most = -INFINITY;
        ck_assert_int_lt(from[e], to[e]);
        for (int k = 0; k < M; k++)
            if ((src[k] == from[e] && dst[k] == to[e]) || (src[k] == to[e] && dst[k] == from[e]))
                most = fmax(most, (double)weight[k]);
        sum += most;
    }
    ck_assert_double_eq_tol(sum, expected, 1e-9);
    igraph_vector_destroy(&cost);
    igraph_vector_int_destroy(&tree);
    igraph_destroy(&ig);
    gnn_graph_free(g);
}
END_TEST

static int heard;

static void own_handler(const char *reason, const char *file, int line, igraph_error_t code)
{
    (void)reason, (void)file, (void)line, (void)code;
    heard++;
    IGRAPH_FINALLY_FREE();
}

static int freed;

static void free_own(int *what)
{
    freed += *what;
}

START_TEST(error_handlers_and_temporary_files_are_unchanged)
{
    igraph_error_handler_t *before = igraph_set_error_handler(own_handler);
    gnn_graph_t *g;
    int mine = 1;
    IGRAPH_FINALLY(free_own, &mine);
    ck_fails(gnn_graph_famous(&g, "no such graph"), IGRAPH_EINVAL, "igraph: ");
    ck_assert(heard == 0 && freed == 0 && IGRAPH_FINALLY_STACK_SIZE() == 1);
    IGRAPH_FINALLY_CLEAN(1);
    igraph_t ig;
    ck_assert_int_eq(igraph_famous(&ig, "no such graph"), IGRAPH_EINVAL);
    ck_assert_int_ge(heard, 1);
    ck_assert_ptr_eq(igraph_set_error_handler(before), own_handler);
}
END_TEST

static void *call_often(void *failed)
{
    for (int k = 0; k < 50; k++) {
        gnn_graph_t *g;
        if (gnn_igraph_use() != GNN_OK || !strstr(gnn_build_info(), "igraph in use"))
            *(int *)failed = 1;
        if (gnn_graph_famous(&g, k % 2 ? "Zachary" : "Nobody") !=
            (k % 2 ? (int)GNN_OK : (int)IGRAPH_EINVAL))
            *(int *)failed = 1;
        else if (k % 2 == 0 && !strstr(gnn_error_message(), "Nobody"))
            *(int *)failed = 1;
        gnn_graph_free(g);
    }
    return NULL;
}

START_TEST(calls_from_many_threads_take_turns)
{
    pthread_t threads[4];
    int failed[4] = {0};
    for (int t = 0; t < 4; t++)
        ck_assert_int_eq(pthread_create(&threads[t], NULL, call_often, &failed[t]), 0);
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
        ck_assert_int_eq(failed[t], 0);
    }
}
END_TEST

START_TEST(failing_allocations_leave_no_igraph_behind)
{
    igraph_t ig = small(IGRAPH_UNDIRECTED), out;
    gnn_graph_t *g, *kept;
    int64_t *map;
    ck_ok(gnn_graph_from_igraph(&kept, &ig, NULL));
    for (int call = 0; call < 3; call++) {
        int64_t n = 1;
        for (int rc = GNN_EMEMORY; rc != GNN_OK; n++) {
            gnn__fail_allocation(n);
            rc = call == 0   ? gnn_graph_from_igraph(&g, &ig, &map)
                 : call == 1 ? gnn_graph_famous(&g, "Zachary")
                             : gnn_graph_to_igraph(kept, NULL, &out);
            gnn__fail_allocation(0);
            ck_assert(rc == GNN_OK || rc == GNN_EMEMORY);
            ck_assert(call > 1 || (rc == GNN_OK) == (g != NULL));
            ck_assert(call != 0 || (rc == GNN_OK) == (map != NULL));
        }
        ck_assert_int_gt(n, 2);
        if (call < 2)
            gnn_graph_free(g);
        if (call == 0)
            gnn_free(map);
        if (call == 2)
            igraph_destroy(&out);
    }
    gnn_graph_free(kept);
    igraph_destroy(&ig);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("igraph");
    TCase *tests = tcase_create("igraph");
#if GNN_WITH_IGRAPH
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, undirected_edges_become_two_messages_and_a_loop_one);
    tcase_add_test(tests, directed_edges_keep_their_direction_there_and_back);
    tcase_add_test(tests, spans_become_edges_of_an_igraph);
    tcase_add_test(tests, attributes_follow_the_edge_map);
    tcase_add_test(tests, named_graphs);
    tcase_add_test(tests, the_karate_club_is_igraphs);
    tcase_add_test(tests, every_igraph_code_has_a_description);
    tcase_add_loop_test(tests, spanning_trees_are_igraphs, 0, 20);
    tcase_add_test(tests, error_handlers_and_temporary_files_are_unchanged);
    tcase_add_test(tests, calls_from_many_threads_take_turns);
    tcase_add_test(tests, failing_allocations_leave_no_igraph_behind);
#endif
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
