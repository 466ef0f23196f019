/* Rows of a graph from outside, and edges that are borrowed. */
#include "graph_zoo.h"

#include <graphs/graph.h>

/* Every row matches gnn_graph_pairs, in all graphs of the zoo. */
START_TEST(rows_match_pairs)
{
    int (*const make[])(gnn_graph_t **) = {
        make_csr,    make_edges,    make_sampled,   make_empty,         make_spans,
        make_window, make_causal,   make_bipartite, make_window_global, make_batch,
        make_merge,  make_to_edges, make_nothing,   make_batch_of_edges};
    for (size_t g = 0; g < sizeof make / sizeof make[0]; g++) {
        gnn_graph_t *graph;
        gnn_graph_row_t row;
        ck_ok(make[g](&graph));
        int64_t m = gnn_graph_n_pairs(graph), at = 0, n = gnn_graph_n_dst(graph);
        int64_t *src = zeros(m, sizeof *src), *dst = zeros(m, sizeof *dst),
                *edge = zeros(m, sizeof *edge);
        ck_ok(gnn_graph_pairs(graph, src, dst, edge));
        for (int64_t p = 0; p < gnn_graph_n_parts(graph); p++)
            for (int64_t i = 0; i < n; i++) {
                ck_ok(gnn_graph_row(graph, p, i, &row));
                for (int64_t k = 0; k < row.count; k++, at++) {
                    ck_assert_int_eq(dst[at], i);
                    ck_assert_int_eq(gnn_graph_row_sender(&row, k), src[at]);
                    ck_assert_int_eq(gnn_graph_row_edge(&row, k), edge[at]);
                }
            }
        ck_assert_int_eq(at, m);
        ck_fails(gnn_graph_row(graph, 0, n, &row), GNN_EINVALID, "receiver");
        ck_fails(gnn_graph_row(graph, gnn_graph_n_parts(graph), 0, &row), GNN_EINVALID, "of a part");
        ck_fails(gnn_graph_row(graph, 0, 0, NULL), GNN_EINVALID, "gnn_graph_row: row is NULL");
        free(src);
        free(dst);
        free(edge);
        gnn_graph_free(graph);
    }
}
END_TEST

static void count_release(void *user)
{
    ++*(int *)user;
}

START_TEST(borrowed_edges_are_not_copied)
{
    const int64_t indptr[] = {0, 2, 2, 3}, falls[] = {0, 2, 1, 3}, none[] = {0, 0, 0, 0};
    const int32_t indices[] = {2, 0, 1};
    int released = 0;
    const gnn_owner_t owner = {count_release, &released};
    gnn_graph_t *g, *copy;
    gnn_graph_row_t row;
    ck_fails(gnn_graph_borrow_csr(&g, 3, 3, falls, indices, &owner), GNN_ETOPOLOGY, "indptr[2]");
    ck_fails(gnn_graph_borrow_csr(NULL, 3, 3, indptr, indices, &owner), GNN_EINVALID, "NULL");
    for (int64_t n = 1, rc = GNN_EMEMORY; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = gnn_graph_borrow_csr(&g, 3, 3, indptr, indices, &owner);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || rc == GNN_EMEMORY);
    }
    ck_assert_int_eq(released, 0);
    ck_ok(gnn_graph_from_csr(&copy, 3, 3, indptr, indices));
    same_tables(g, copy);
    ck_ok(gnn_graph_row(g, 0, 0, &row));
    ck_assert(row.senders == indices);
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){GNN_ON, GNN_GRAPH_NORM_SYMMETRIC, GNN_ON}));
    ck_ok(gnn__graph_validate(g));
    gnn_graph_free(copy);
    gnn_graph_free(g);
    ck_assert_int_eq(released, 1);
    ck_ok(gnn_graph_borrow_csr(&g, 3, 3, none, NULL, NULL));
    ck_ok(gnn__graph_validate(g));
    gnn_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph_rows");
    TCase *tests = tcase_create("graph_rows");
    tcase_add_test(tests, rows_match_pairs);
    tcase_add_test(tests, borrowed_edges_are_not_copied);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
