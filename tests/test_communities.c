/* Orders of nodes by communities. */
#include "graph_zoo.h"

#include <graphs/graph.h>

/* `towns` of 6 nodes, all connected except one pair; node k is in town k % towns, and the first
 * node of a town is linked to the next town's. */
static gnn_graph_t *make_towns(int64_t towns)
{
    enum { OF = 6 };
    const int64_t n = towns * OF;
    int64_t m = 0, *src = zeros(n * n, sizeof *src), *dst = zeros(n * n, sizeof *dst);
    gnn_graph_t *g;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const bool town = i % towns == j % towns && i != j && i / towns + j / towns != 2 * OF - 3,
                       road = i < towns && j == (i + 1) % towns;
            if (town || road) {
                dst[m] = i;
                src[m++] = j;
            }
        }
    ck_ok(gnn_graph_from_edges(&g, n, n, m, src, dst));
    free(src);
    free(dst);
    return g;
}

/* Every node has one position. */
static void check_places(const int64_t *order, int64_t n)
{
    bool *seen = zeros(n, sizeof *seen);
    for (int64_t r = 0; r < n; r++) {
        ck_assert(order[r] >= 0 && order[r] < n && !seen[order[r]]);
        seen[order[r]] = true;
    }
    free(seen);
}

START_TEST(communities_are_contiguous)
{
    enum { TOWNS = 7, OF = 6 };
    gnn_graph_t *g = make_towns(TOWNS);
    int64_t order[TOWNS * OF], again[TOWNS * OF];
    ck_ok(gnn_graph_community_order(g, order));
    check_places(order, TOWNS * OF);
    for (int64_t r = 0; r < TOWNS * OF; r++) {
        const int64_t i = order[r], j = r % OF ? order[r - 1] : i;
        ck_assert_int_eq(i % TOWNS, order[r - r % OF] % TOWNS);
        ck_assert(r % OF == 0 || g->base.degree[j] > g->base.degree[i] ||
                  (g->base.degree[j] == g->base.degree[i] && j < i));
        ck_assert(r % OF > 0 || i < TOWNS);
    }
    ck_ok(gnn_graph_community_order(g, again));
    ck_assert_mem_eq(again, order, sizeof order);
    gnn_graph_free(g);
}
END_TEST

/* Parts of a graph count together: edges that are in the second part alone are as good. */
START_TEST(communities_of_parts)
{
    gnn_graph_t *towns = make_towns(5), *none, *both;
    int64_t order[30], merged[30];
    ck_ok(gnn_graph_from_edges(&none, 30, 30, 0, NULL, NULL));
    ck_ok(gnn_graph_merge(&both, 2, (const gnn_graph_t *const[]){none, towns}));
    ck_ok(gnn_graph_community_order(towns, order));
    ck_ok(gnn_graph_community_order(both, merged));
    ck_assert_mem_eq(merged, order, sizeof order);
    gnn_graph_free(towns);
    gnn_graph_free(none);
    gnn_graph_free(both);
}
END_TEST

/* A town alone, spans, no edges. */
START_TEST(without_communities_degrees_descend)
{
    gnn_graph_t *graphs[3] = {make_towns(1)};
    ck_ok(make_spans(&graphs[1]));
    ck_ok(make_empty(&graphs[2]));
    for (int k = 0; k < 3; k++) {
        const int64_t n = graphs[k]->n_dst;
        int64_t *order = zeros(n, sizeof *order), *falling = zeros(n, sizeof *falling);
        ck_ok(gnn__graph_degree_order(graphs[k], falling));
        ck_ok(gnn_graph_community_order(graphs[k], order));
        ck_assert_mem_eq(order, falling, (size_t)n * sizeof *order);
        free(order);
        free(falling);
        gnn_graph_free(graphs[k]);
    }
}
END_TEST

/* Communities of high and low degree alternate: each half of the rows has about half of the
 * work. */
START_TEST(rows_are_balanced)
{
    enum { OF = 8, TOWNS = 20, N = OF * TOWNS };
    int64_t m = 0, heard = 0, order[N], *src = zeros(N * OF, sizeof *src),
            *dst = zeros(N * OF, sizeof *dst);
    gnn_graph_t *g;
    /* the first half is complete, the others have two neighbours */
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 1; k < OF; k++)
            if (i < N / 2 || k == 1 || k == OF - 1) {
                dst[m] = i;
                src[m++] = i - i % OF + (i + k) % OF;
            }
    ck_ok(gnn_graph_from_edges(&g, N, N, m, src, dst));
    ck_ok(gnn_graph_community_order(g, order));
    check_places(order, N);
    for (int64_t r = 0; r < N; r++) {
        ck_assert_int_eq(order[r] / OF, order[r - r % OF] / OF);
        ck_assert_double_lt(fabs((double)heard / (double)m - (double)r / N), 1.0 / TOWNS);
        heard += g->base.degree[order[r]];
    }
    free(src);
    free(dst);
    gnn_graph_free(g);
}
END_TEST

START_TEST(orders_are_permutations)
{
    for (int k = 0; k < ZOO; k++) {
        gnn_graph_t *g;
        ck_ok(zoo[k](&g));
        const int64_t n = g->n_dst;
        int64_t *order = zeros(n, sizeof *order);
        if (g->n_src != n)
            ck_fails(gnn_graph_community_order(g, order), GNN_ETOPOLOGY, "receivers and");
        else
            ck_ok(gnn_graph_community_order(g, order));
        if (g->n_src == n)
            check_places(order, n);
        free(order);
        gnn_graph_free(g);
    }
}
END_TEST

START_TEST(failures_are_named)
{
    gnn_graph_t *g = make_towns(2);
    int64_t order[12];
    ck_fails(gnn_graph_community_order(g, NULL), GNN_EINVALID,
             "gnn_graph_community_order: order is NULL");
    ck_fails(gnn_graph_community_order(NULL, order), GNN_EINVALID,
             "gnn_graph_community_order: graph is NULL");
    gnn__fail_allocation(2);
    ck_fails(gnn_graph_community_order(g, order), GNN_EMEMORY, "communities");
    gnn__fail_allocation(0);
    gnn_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("communities");
    TCase *tests = tcase_create("communities");
    tcase_add_test(tests, communities_are_contiguous);
    tcase_add_test(tests, communities_of_parts);
    tcase_add_test(tests, without_communities_degrees_descend);
    tcase_add_test(tests, rows_are_balanced);
    tcase_add_test(tests, orders_are_permutations);
    tcase_add_test(tests, failures_are_named);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
