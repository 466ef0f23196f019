/* Positions of nodes: eigenvectors against a golden case, by residual and orthogonality, dense and
 * sparse; walks against powers of a matrix; layouts by what a reader of the picture sees. */
#include "support.h"

#include <graphs/graph.h>

enum { K = 6 };

/* Both directions of a ring with chords, so that eigenvalues are apart. */
static gnn_graph_t *ring(int64_t n)
{
    int64_t m = 0, *src = malloc((size_t)(8 * n) * sizeof *src), *dst = src + 4 * n;
    gnn_graph_t *graph;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < 2; c++) {
            const int64_t j = c ? (i * i * 7 + 3) % n : (i + 1) % n;
            if (j == i)
                continue;
            src[m] = i, dst[m++] = j;
            src[m] = j, dst[m++] = i;
        }
    ck_ok(gnn_graph_from_edges(&graph, n, n, m, src, dst));
    free(src);
    return graph;
}

/* y = (I - D^-1/2 A D^-1/2) x with in-degrees, for symmetric graphs. */
static void laplacian(const gnn_graph_t *graph, const double *x, double *y)
{
    const int64_t n = graph->n_dst, m = gnn_graph_n_pairs(graph);
    int64_t *src = malloc((size_t)(2 * m) * sizeof *src), *dst = src + m;
    double *degree = calloc((size_t)n, sizeof *degree);
    ck_ok(gnn_graph_pairs(graph, src, dst, NULL));
    for (int64_t k = 0; k < m; k++)
        degree[dst[k]] += src[k] != dst[k];
    memcpy(y, x, (size_t)n * sizeof *y);
    for (int64_t k = 0; k < m; k++)
        if (src[k] != dst[k])
            y[dst[k]] -= x[src[k]] / sqrt(degree[dst[k]] * degree[src[k]]);
    free(src);
    free(degree);
}

static void ck_spectrum(const gnn_graph_t *graph, double tolerance)
{
    const int64_t n = graph->n_dst;
    gnn_real_t *data = malloc((size_t)(n * K) * sizeof *data), values[K];
    double *x = malloc((size_t)(2 * n) * sizeof *x), *y = x + n;
    gnn_tensor_t positions = gnn_tensor(data, n, K);
    ck_ok(gnn_graph_laplacian_positions(graph, &positions, values));
    for (int64_t c = 0; c < K; c++) {
        double most = 0, worst = 0, length = 0, across = 0;
        for (int64_t i = 0; i < n; i++) {
            x[i] = (double)data[i * K + c];
            length += x[i] * x[i];
            across += c > 0 ? x[i] * (double)data[i * K + c - 1] : 0;
            /* of several within rounding the first */
            most = fabs(x[i]) > fabs(most) * (1 + 1e-5) ? x[i] : most;
        }
        laplacian(graph, x, y);
        for (int64_t i = 0; i < n; i++)
            worst = fmax(worst, fabs(y[i] - (double)values[c] * x[i]));
        ck_assert_msg(worst < tolerance, "vector %d: residual %g", (int)c, worst);
        ck_assert_msg(fabs(length - 1) < tolerance && fabs(across) < tolerance && most > 0,
                      "vector %d: length %g, along the one before %g, largest %g", (int)c, length,
                      across, most);
        ck_assert(c == 0 || values[c] >= values[c - 1]);
        ck_assert((double)values[c] > 1e-4 && (double)values[c] < 2);
    }
    free(data);
    free(x);
}

START_TEST(laplacian_eigenvectors_match)
{
    static const int64_t sizes[] = {7, 60, 400, 401, 3000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0] - (test_small() ? 1 : 0); k++) {
        gnn_graph_t *graph = ring(sizes[k]);
        ck_spectrum(graph, 2e-6);
        gnn_graph_free(graph);
    }
}
END_TEST

/* A directed graph and self-loops make no difference to both directions; a complete graph is a
 * graph as any other. */
START_TEST(eigenvectors_ignore_direction_and_storage)
{
    static const int64_t src[] = {0, 1, 2, 3, 1, 2}, dst[] = {1, 2, 3, 4, 1, 0}, both = 12, five = 5;
    int64_t s[12], d[12];
    gnn_graph_t *one, *two, *complete;
    gnn_real_t a[15], b[15];
    gnn_tensor_t first = gnn_tensor(a, 5, 3), second = gnn_tensor(b, 5, 3);
    for (int k = 0; k < 6; k++) {
        s[k] = d[6 + k] = src[k];
        d[k] = s[6 + k] = dst[k];
    }
    ck_ok(gnn_graph_from_edges(&one, 5, 5, 6, src, dst));
    ck_ok(gnn_graph_from_edges(&two, 5, 5, both, s, d));
    ck_ok(gnn_graph_laplacian_positions(one, &first, NULL));
    ck_ok(gnn_graph_laplacian_positions(two, &second, NULL));
    for (int k = 0; k < 15; k++)
        ck_assert(fabs((double)(a[k] - b[k])) < 1e-6);
    ck_ok(gnn_graph_complete(&complete, 1, &five));
    gnn_real_t c[5 * 6];
    gnn_tensor_t wide = gnn_tensor(c, 5, 6);
    gnn_real_t all[6];
    ck_ok(gnn_graph_laplacian_positions(complete, &wide, all));
    for (int k = 0; k < 4; k++)
        ck_assert(fabs((double)all[k] - 1.25) < 1e-6);
    for (int i = 0; i < 5; i++)
        ck_assert(c[i * 6 + 4] == 0 && c[i * 6 + 5] == 0);
    gnn_graph_free(one);
    gnn_graph_free(two);
    gnn_graph_free(complete);
}
END_TEST

START_TEST(golden_eigenvectors)
{
    const char *path = test_golden("zoo/laplacian_positions.npz");
    gnn_arrays_t *arrays;
    if (!path) {
        test_skip("golden_eigenvectors", "no zoo");
        return;
    }
    ck_ok(gnn_npz_read(&arrays, path, NULL));
    const gnn_array_t *src = gnn_arrays_find(arrays, "src"), *dst = gnn_arrays_find(arrays, "dst"),
                      *vectors = gnn_arrays_find(arrays, "r.vectors"),
                      *values = gnn_arrays_find(arrays, "r.values");
    ck_assert(src && dst && vectors && values);
    const int64_t n = vectors->shape[0], cols = vectors->shape[1];
    int64_t *s = malloc(2 * (size_t)src->count * sizeof *s), *d = s + src->count;
    for (int64_t k = 0; k < src->count; k++) {
        s[k] = (int64_t)gnn_array_get(src, k);
        d[k] = (int64_t)gnn_array_get(dst, k);
    }
    gnn_graph_t *graph;
    gnn_real_t *got = test_reals(n * cols, 1), *value = test_reals(cols, 2);
    gnn_tensor_t positions = gnn_tensor(got, n, cols);
    ck_ok(gnn_graph_from_edges(&graph, n, n, src->count, s, d));
    ck_ok(gnn_graph_laplacian_positions(graph, &positions, value));
    for (int64_t k = 0; k < n * cols; k++)
        ck_assert_msg(fabs((double)got[k] - gnn_array_get(vectors, k)) < 1e-6,
                      "entry %d: %g, expected %g", (int)k, (double)got[k], gnn_array_get(vectors, k));
    for (int64_t c = 0; c < cols; c++)
        ck_assert(fabs((double)value[c] - gnn_array_get(values, c + 1)) < 1e-6);
    free(value);
    free(got);
    free(s);
    gnn_graph_free(graph);
    gnn_arrays_free(arrays);
}
END_TEST

/* Powers of the matrix, written out. */
START_TEST(walk_positions_are_diagonals_of_powers)
{
    enum { N = 21 };
    static const int64_t extra_src[] = {0, 0, 5, 20}, extra_dst[] = {0, 3, 5, 4};
    gnn_graph_t *base = ring(N), *graph;
    int64_t m = gnn_graph_n_pairs(base), src[400], dst[400];
    double p[N][N] = {{0}}, power[N][N] = {{0}}, next[N][N], out[N] = {0};
    gnn_real_t got[N * K];
    gnn_tensor_t positions = gnn_tensor(got, N, K);
    ck_ok(gnn_graph_pairs(base, src, dst, NULL));
    memcpy(src + m, extra_src, sizeof extra_src);
    memcpy(dst + m, extra_dst, sizeof extra_dst);
    ck_ok(gnn_graph_from_edges(&graph, N, N, m + 4, src, dst));
    for (int64_t k = 0; k < m + 4; k++)
        out[src[k]]++;
    for (int64_t k = 0; k < m + 4; k++)
        p[src[k]][dst[k]] += 1 / out[src[k]];
    ck_ok(gnn_graph_walk_positions(graph, &positions));
    for (int i = 0; i < N; i++)
        power[i][i] = 1;
    for (int c = 0; c < K; c++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                next[i][j] = 0;
                for (int k = 0; k < N; k++)
                    next[i][j] += power[i][k] * p[k][j];
            }
        memcpy(power, next, sizeof power);
        for (int i = 0; i < N; i++)
            ck_assert_msg(fabs((double)got[i * K + c] - power[i][i]) < 1e-6,
                          "node %d, %d steps: %g, expected %g", i, c + 1, (double)got[i * K + c],
                          power[i][i]);
    }
    gnn_graph_free(base);
    gnn_graph_free(graph);
}
END_TEST

/* ---- layouts ---- */

START_TEST(layout_is_the_same_for_a_seed_and_spreads_nodes)
{
    gnn_graph_t *g;
    gnn_real_t a[68], b[34 * 3] = {0}, c[68];
    const gnn_tensor_t wide = {.data = b, .rows = 34, .cols = 2, .stride = 3},
                       ta = gnn_tensor(a, 34, 2), tc = gnn_tensor(c, 34, 2);
    gnn_data_t *karate;
    ck_ok(gnn_data_karate(&karate));
    const gnn_graph_t *club = gnn_data_graph(karate);
    ck_ok(gnn_graph_layout_weighted(club, NULL, 7, &ta));
    ck_ok(gnn_graph_layout_weighted(club, NULL, 7, &wide));
    ck_ok(gnn_graph_layout_weighted(club, NULL, 8, &tc));
    ck_assert(memcmp(a, c, sizeof a) != 0);
    for (int i = 0; i < 34; i++) {
        ck_assert(a[2 * i] == b[3 * i] && a[2 * i + 1] == b[3 * i + 1] && b[3 * i + 2] == 0);
        for (int j = 0; j < i; j++)
            ck_assert(hypot((double)(a[2 * i] - a[2 * j]), (double)(a[2 * i + 1] - a[2 * j + 1])) >
                      1e-3);
    }
    ck_fails(
        gnn_graph_layout_weighted(club, NULL, 7, &(gnn_tensor_t){.data = a, .rows = 33, .cols = 2}),
        GNN_ESHAPE, "positions: got 33 x 2, 34 nodes need 34 x 2");
    ck_fails(gnn_graph_layout_weighted(club, NULL, 7, &(gnn_tensor_t){.rows = 34, .cols = 2}),
             GNN_ESHAPE, "no data");
    ck_fails(gnn_graph_layout_weighted(NULL, NULL, 7, &ta), GNN_EINVALID, "graph is NULL");
    gnn_data_free(karate);
    for (int64_t n = 0; n < 3; n++) {
        const gnn_tensor_t few = gnn_tensor(a, n, 2);
        ck_ok(gnn_graph_complete(&g, 1, &n));
        ck_ok(gnn_graph_layout_weighted(g, NULL, 7, &few));
        for (int64_t k = 0; k < 2 * n; k++)
            ck_assert(isfinite((double)a[k]));
        gnn_graph_free(g);
    }
}
END_TEST

/* Sum of squared differences of distances on the page, scaled as fits best, from steps in the
 * graph, over that of steps themselves: 0 would be all steps seen as distances. */
static double stress(const gnn_real_t *at, int64_t n, const int64_t *steps)
{
    double dd = 0, ds = 0, ss = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            const double d = hypot((double)(at[2 * i] - at[2 * j]),
                                   (double)(at[2 * i + 1] - at[2 * j + 1])),
                         s = (double)steps[i * n + j];
            dd += d * d;
            ds += d * s;
            ss += s * s;
        }
    return (ss - ds * ds / dd) / ss;
}

/* The layout of a square grid of side * side nodes: distances are proportional to steps. Some seeds
 * end in a fold. */
static void ck_grid_is_seen(int64_t side)
{
    const int64_t n = side * side;
    int64_t m = 0, *src = malloc((size_t)(4 * n) * sizeof *src), *dst = src + 2 * n,
            *steps = malloc((size_t)(n * n) * sizeof *steps);
    gnn_real_t *at = malloc((size_t)(2 * n) * sizeof *at);
    const gnn_tensor_t positions = gnn_tensor(at, n, 2);
    gnn_graph_t *graph;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            steps[i * n + j] = llabs(i % side - j % side) + llabs(i / side - j / side);
        if (i % side + 1 < side)
            src[m] = i, dst[m++] = i + 1;
        if (i / side + 1 < side)
            src[m] = i, dst[m++] = i + side;
    }
    ck_ok(gnn_graph_from_edges(&graph, n, n, m, src, dst));
    double best = 1;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        ck_ok(gnn_graph_layout_weighted(graph, NULL, seed, &positions));
        best = fmin(best, stress(at, n, steps));
    }
    ck_assert_double_lt(best, 0.1);
    gnn_graph_free(graph);
    free(at);
    free(steps);
    free(src);
}

START_TEST(layout_distances_follow_grid_steps)
{
    ck_grid_is_seen(8);
}
END_TEST

/* Two rings without an edge between them stay on the page, apart from each other. */
START_TEST(components_stay_close_without_overlap)
{
    enum { RING = 10, N = 2 * RING };
    int64_t src[N], dst[N];
    gnn_real_t at[2 * N];
    double middle[2][2] = {{0}}, reach = 0;
    const gnn_tensor_t positions = gnn_tensor(at, N, 2);
    gnn_graph_t *graph;
    for (int64_t k = 0; k < N; k++) {
        src[k] = k;
        dst[k] = k / RING * RING + (k + 1) % RING;
    }
    ck_ok(gnn_graph_from_edges(&graph, N, N, N, src, dst));
    ck_ok(gnn_graph_layout_weighted(graph, NULL, 3, &positions));
    for (int64_t k = 0; k < 2 * N; k++)
        middle[k / 2 / RING][k % 2] += (double)at[k] / RING;
    for (int64_t k = 0; k < N; k++)
        reach = fmax(reach, hypot((double)at[2 * k] - middle[k / RING][0],
                                  (double)at[2 * k + 1] - middle[k / RING][1]));
    const double apart = hypot(middle[0][0] - middle[1][0], middle[0][1] - middle[1][1]);
    ck_assert_double_gt(apart, 1.5 * reach);
    ck_assert_double_lt(apart, 5 * reach);
    gnn_graph_free(graph);
}
END_TEST

/* More nodes than push each other pair by pair. */
START_TEST(large_layouts_keep_grid_distances)
{
    ck_grid_is_seen(test_small() ? 18 : 31);
}
END_TEST

START_TEST(weights_and_allocations_of_layouts)
{
    static const int64_t src[] = {0, 1, 2, 3, 4}, dst[] = {1, 2, 3, 4, 0};
    gnn_graph_t *graph;
    gnn_real_t at[10], weight[5] = {GNN_DOUBLE ? (gnn_real_t)1e300 : (gnn_real_t)1e38, -1, 0, 1, 2};
    const gnn_tensor_t positions = gnn_tensor(at, 5, 2);
    int64_t n = 1;
    ck_ok(gnn_graph_from_edges(&graph, 5, 5, 5, src, dst));
    for (int rc = GNN_EMEMORY; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = gnn_graph_layout_weighted(graph, weight, 1, &positions);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || rc == GNN_EMEMORY);
    }
    ck_assert_int_gt(n, 5);
    for (int k = 0; k < 10; k++)
        ck_assert(isfinite((double)at[k]));
    weight[2] = (gnn_real_t)NAN;
    ck_fails(gnn_graph_layout_weighted(graph, weight, 1, &positions), GNN_ENUMERIC,
             "pair 2: expected a finite value, got nan");
    gnn_graph_free(graph);
}
END_TEST

START_TEST(bad_arguments)
{
    static const int64_t src[] = {0, 1}, dst[] = {1, 2};
    gnn_graph_t *graph, *two;
    gnn_real_t x[8];
    gnn_tensor_t small = gnn_tensor(x, 2, 2), good = gnn_tensor(x, 3, 2),
                 none = {.rows = 3, .cols = 2};
    ck_ok(gnn_graph_from_edges(&graph, 3, 3, 2, src, dst));
    ck_ok(gnn_graph_from_edges(&two, 3, 4, 2, src, dst));
    ck_fails(gnn_graph_laplacian_positions(NULL, &good, NULL), GNN_EINVALID, "graph is NULL");
    ck_fails(gnn_graph_walk_positions(graph, NULL), GNN_EINVALID, "positions is NULL");
    ck_fails(gnn_graph_walk_positions(graph, &small), GNN_ESHAPE, "got 2 x 2, 3 nodes need");
    ck_fails(gnn_graph_laplacian_positions(graph, &none, NULL), GNN_ESHAPE, "no data");
    ck_fails(gnn_graph_laplacian_positions(two, &good, NULL), GNN_ETOPOLOGY,
             "3 receivers and 4 senders");
    ck_ok(gnn_graph_walk_positions(graph, &good));
    gnn_graph_free(graph);
    gnn_graph_free(two);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("positions");
    TCase *c = tcase_create("positions");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, laplacian_eigenvectors_match);
    tcase_add_test(c, eigenvectors_ignore_direction_and_storage);
    tcase_add_test(c, golden_eigenvectors);
    tcase_add_test(c, walk_positions_are_diagonals_of_powers);
    tcase_add_test(c, layout_is_the_same_for_a_seed_and_spreads_nodes);
    tcase_add_test(c, layout_distances_follow_grid_steps);
    tcase_add_test(c, components_stay_close_without_overlap);
    tcase_add_test(c, large_layouts_keep_grid_distances);
    tcase_add_test(c, weights_and_allocations_of_layouts);
    tcase_add_test(c, bad_arguments);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
