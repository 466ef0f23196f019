/* A program that links libgnn alone: the errors of calls that need igraph name the second library.
 * tests/meson.build links this suite without libgnn-igraph. */
#include "readers.h"

#include <gnn/build.h>
#include <lib/base/igraph.h>

#define WHAT_TO_DO "link gnn-igraph and call gnn_igraph_use()"

START_TEST(igraph_files_need_the_second_library)
{
    static const struct {
        const char *path, *text, *words;
    } files[] = {
        {"a.graphml", "<graphml/>", "a.graphml: GraphML is read by igraph: " WHAT_TO_DO},
        {"a", "<graphml/>", "a: GraphML is read by igraph: " WHAT_TO_DO},
        {"a.gml", GML, "a.gml: GML is read by igraph: " WHAT_TO_DO},
        {"b", GML, "b: GML is read by igraph: " WHAT_TO_DO},
    };
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
        ck_refused(write_text(files[k].path, files[k].text), files[k].path, GNN_EUNSUPPORTED,
                   files[k].words);
}
END_TEST

START_TEST(writing_graphml_needs_the_second_library)
{
    gnn_graph_t *graph;
    struct stat s;
    ck_ok(gnn_graph_complete(&graph, 1, (int64_t[]){3}));
    ck_fails(gnn_graph_write_graphml(graph, NULL, NULL, in_folder("c.graphml")), GNN_EUNSUPPORTED,
             "c.graphml: GraphML is written by igraph: " WHAT_TO_DO);
    ck_assert_int_ne(stat(in_folder("c.graphml"), &s), 0);
    ck_fails(gnn_graph_write_graphml(NULL, NULL, NULL, "c"), GNN_EINVALID, "NULL");
    gnn_graph_free(graph);
}
END_TEST

START_TEST(eigenvectors_of_many_nodes_need_the_second_library)
{
    enum { N = 20001 };
    int64_t *src = malloc(2 * N * sizeof *src), *dst = src + N;
    gnn_real_t *at = malloc(N * sizeof *at);
    gnn_tensor_t positions = gnn_tensor(at, N, 1);
    gnn_graph_t *graph;
    for (int64_t k = 0; k < N; k++) {
        src[k] = k;
        dst[k] = (k + 1) % N;
    }
    ck_ok(gnn_graph_from_edges(&graph, N, N, N, src, dst));
    ck_fails(gnn_graph_laplacian_positions(graph, &positions, NULL), GNN_EUNSUPPORTED,
             "eigenvectors of 20001 nodes, more than 20000: " WHAT_TO_DO);
    gnn_graph_free(graph);
    free(at);
    free(src);
}
END_TEST

START_TEST(another_builds_library_is_refused)
{
    static const gnn__igraph_functions_t none;
    const gnn__igraph_services_t *services;
    ck_fails(gnn_igraph_register("0.0.9 (float)", &none, &services), GNN_EUNSUPPORTED,
             "libgnn-igraph 0.0.9 (float) does not match libgnn " GNN_VERSION);
    ck_assert_ptr_null(gnn__igraph());
}
END_TEST

START_TEST(igraph_codes_have_descriptions)
{
    ck_assert_ptr_nonnull(strstr(gnn_build_info(), "igraph not in use"));
    ck_assert_str_eq(gnn_error_string(4), "igraph: invalid value");
    ck_assert_str_eq(gnn_error_string(17), "igraph: ARPACK failed");
    ck_assert_str_eq(gnn_error_string(46), "igraph: GLPK failed");
    ck_assert_str_eq(gnn_error_string(998), "igraph: unknown error");
    ck_assert_str_eq(gnn_error_string(-3), "unknown error");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("without igraph");
    TCase *tests = tcase_create("without igraph");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_add_test(tests, igraph_files_need_the_second_library);
    tcase_add_test(tests, writing_graphml_needs_the_second_library);
    tcase_add_test(tests, eigenvectors_of_many_nodes_need_the_second_library);
    tcase_add_test(tests, another_builds_library_is_refused);
    tcase_add_test(tests, igraph_codes_have_descriptions);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
