/* The named ops (lib/ops/ops.def): their values, compared with values by hand, with formulas and
 * with other strategies. test_named_ops.c has their gradients. */
#include "named_ops.h"

#include <math.h>

static void expect(const gnn_op_t *op, const gnn_graph_t *graph, const gnn_tensor_t *x,
                   const gnn_op_options_t *options, int64_t rows, int64_t cols,
                   const double *expected)
{
    fixture_t f = set_up();
    gnn_op_options_t how = *options;
    how.graph = graph;
    gnn_tape_reset(f.tape, 0, 0);
    const gnn_var_t in = gnn_tape_input(f.tape, x, 0),
                    y = gnn_tape_op(f.tape, op, &in, 1, &how, sizeof how);
    gnn_tape_keep(f.tape, y);
    ck_ok(gnn_tape_forward(f.tape));
    const gnn_tensor_t value = gnn_tape_value(f.tape, y);
    ck_assert(value.rows == rows && value.cols == cols);
    for (int64_t k = 0; k < rows * cols; k++)
        ck_assert_double_eq_tol((double)value.data[k], expected[k], 1e-6);
    tear_down(&f);
}

/* Segments of 5 and 2 rows, chunks of 2; buckets are signs, which the second round reverses. Sorted
 * rows of the first segment: 0 2 4 1 3 and one that is not there; 1 3 0 2 4. */
START_TEST(near_hashes_by_hand)
{
    enum { ROWS = 7, LATER = 1 << 16, MOST = 8 };
    gnn_real_t numbers[ROWS] = {3, -1, 2, -5, 1, 4, -4}, turns[] = {1, -1}, two = 2;
    static const struct {
        double rounds, near;
        int64_t k;
        double ids[5][MOST];
    } lists[] = {{1, 1, 4, {{3, -1, 0, 2}, {0, 2, 4, 1}, {3, -1, 0, 2}, {4, 1, 3, -1}, {0, 2, 4, 1}}},
                 {1,
                  1 + LATER,
                  4,
                  {{-1, -1, 0, -1}, {0, -1, -1, 1}, {-1, -1, 0, 2}, {-1, 1, 3, -1}, {0, 2, 4, 1}}},
                 {2,
                  1,
                  8,
                  {{4, -1, 0, 2, 1, 3, 0, 2},
                   {0, 2, 4, 1, 3, -1, 1, 3},
                   {4, -1, 0, 2, 1, 3, 0, 2},
                   {4, 1, 3, -1, 3, -1, 1, 3},
                   {0, 2, 4, 1, 0, 2, 4, -1}}}};
    const gnn_tensor_t x = gnn_tensor(numbers, ROWS, 1), buckets = gnn_tensor(&two, 1, 1);
    gnn_graph_t *graph;
    ck_ok(gnn_graph_bipartite(&graph, 2, (int64_t[]){1, 1}, (int64_t[]){5, 2}));
    fixture_t f = set_up();
    for (size_t c = 0; c < sizeof lists / sizeof *lists; c++) {
        const gnn_tensor_t rotations = gnn_tensor(turns, 1, (int64_t)lists[c].rounds);
        const gnn_op_options_t how = {{1, lists[c].rounds, 2, lists[c].near}, graph};
        gnn_tape_reset(f.tape, 0, 0);
        const gnn_var_t in[] = {gnn_tape_input(f.tape, &x, 0), gnn_tape_input(f.tape, &rotations, 0),
                                gnn_tape_input(f.tape, &buckets, 0)};
        const gnn_var_t y = gnn_tape_op(f.tape, &gnn_op_lsh_rows, in, 3, &how, sizeof how);
        gnn_tape_keep(f.tape, y);
        ck_ok(gnn_tape_forward(f.tape));
        const gnn_tensor_t value = gnn_tape_value(f.tape, y);
        ck_assert(value.rows == ROWS && value.cols == lists[c].k);
        for (int64_t r = 0; r < 5; r++)
            for (int64_t k = 0; k < value.cols; k++)
                ck_assert((double)value.data[r * value.cols + k] == lists[c].ids[r][k]);
        for (int64_t k = 0; k < value.cols; k++) {
            ck_assert(value.data[5 * value.cols + k] == (k == 0 ? 5 : k == 1 && c != 1 ? 6 : -1));
            ck_assert(value.data[6 * value.cols + k] == (k == 0 ? 5 : k == 1 ? 6 : -1));
        }
    }
    two = 3;
    gnn_tape_reset(f.tape, 0, 0);
    const gnn_tensor_t one = gnn_tensor(turns, 1, 1);
    const gnn_var_t odd[] = {gnn_tape_input(f.tape, &x, 0), gnn_tape_input(f.tape, &one, 0),
                             gnn_tape_input(f.tape, &buckets, 0)};
    gnn_tape_op(f.tape, &gnn_op_lsh_rows, odd, 3, &(gnn_op_options_t){{1, 1, 2, 0}, graph},
                sizeof(gnn_op_options_t));
    ck_fails(gnn_tape_forward(f.tape), GNN_EINVALID, "expected even counts");
    tear_down(&f);
    gnn_graph_free(graph);
}
END_TEST

START_TEST(ops_over_a_graph_by_hand)
{
    gnn_real_t numbers[] = {3, 1, 2, 8, 5, 7, 6, 9, 4},
               three[] = {(gnn_real_t)-1.5, (gnn_real_t)0.5, 2};
    const gnn_tensor_t x = gnn_tensor(numbers, SENDERS, 1), halves = gnn_tensor(three, 3, 1);
    gnn_graph_t *graph = three_receivers();
    expect(&gnn_op_median, graph, &x, &(gnn_op_options_t){{0}, NULL}, 3, 1, (double[]){2, 0, 6});
    expect(&gnn_op_sort_pool, graph, &x, &(gnn_op_options_t){{2}, NULL}, 3, 2,
           (double[]){8, 3, 0, 0, 9, 7});
    expect(&gnn_op_sort_pool, graph, &x, &(gnn_op_options_t){{2, 1}, NULL}, 3, 2,
           (double[]){3, 1, 0, 0, 5, 7});
    expect(&gnn_op_top_rows, graph, &x, &(gnn_op_options_t){{2}, NULL}, SENDERS, 1,
           (double[]){1, 0, 0, 1, 0, 1, 0, 1, 0});
    expect(&gnn_op_top_rows, graph, &x, &(gnn_op_options_t){{0.5}, NULL}, SENDERS, 1,
           (double[]){1, 0, 0, 1, 0, 1, 1, 1, 0});
    expect(&gnn_op_degree, graph, &x, &(gnn_op_options_t){{0}, NULL}, 3, 1, (double[]){4, 0, 5});
    expect(&gnn_op_degree, graph, &x, &(gnn_op_options_t){{0, 1}, NULL}, 3, 1, (double[]){4, 1, 5});
    expect(&gnn_op_degree, graph, &x, &(gnn_op_options_t){{1}, NULL}, SENDERS, 1,
           (double[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
    expect(&gnn_op_floor, graph, &halves, &(gnn_op_options_t){{0}, NULL}, 3, 1, (double[]){-2, 0, 2});
    expect(&gnn_op_between, graph, &x, &(gnn_op_options_t){{2, 5}, NULL}, SENDERS, 1,
           (double[]){1, 0, 1, 0, 1, 0, 0, 0, 1});
    gnn_graph_free(graph);
}
END_TEST

/* Rows of heads and of positions change places; folded rows come back. */
START_TEST(rearranged_by_hand)
{
    gnn_real_t numbers[] = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
    const gnn_tensor_t x = gnn_tensor(numbers, 2, 6);
    expect(&gnn_op_transpose_heads, NULL, &x, &(gnn_op_options_t){{2}, NULL}, 2, 6,
           (double[]){1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 16});
    expect(&gnn_op_unfold_rows, NULL, &x, &(gnn_op_options_t){{3}, NULL}, 6, 2,
           (double[]){1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16});
}
END_TEST

/* Rows of each segment in rising order of a column, equal ones as they stand; sorted once more, the
 * rank of each row. */
START_TEST(sorted_rows_by_hand)
{
    gnn_real_t numbers[] = {3, 1, 3, 0, 5, -7, 5, 6, -INFINITY};
    const double order[] = {3, 1, 0, 2, 8, 5, 4, 6, 7}, rank[] = {2, 1, 3, 0, 6, 5, 7, 8, 4};
    gnn_real_t orders[SENDERS];
    const gnn_tensor_t x = gnn_tensor(numbers, SENDERS, 1);
    gnn_graph_t *graph = three_receivers();
    expect(&gnn_op_sort_rows, graph, &x, &(gnn_op_options_t){{0}, NULL}, SENDERS, 1, order);
    for (int k = 0; k < SENDERS; k++)
        orders[k] = (gnn_real_t)order[k];
    const gnn_tensor_t again = gnn_tensor(orders, SENDERS, 1);
    expect(&gnn_op_sort_rows, graph, &again, &(gnn_op_options_t){{0}, NULL}, SENDERS, 1, rank);
    gnn_graph_free(graph);
}
END_TEST

/* The least sum of costs of rows `row` .. end - 1, whose columns are not in `taken`; `spare` of
 * them may have none. */
static double least_cost(const gnn_tensor_t *costs, int64_t row, int64_t end, unsigned taken,
                         int64_t spare)
{
    double least = row == end ? 0 : INFINITY;
    for (int64_t c = 0; row < end && c < costs->cols; c++)
        if (!(taken >> c & 1))
            least = fmin(least, (double)gnn__row(costs, row)[c] +
                                    least_cost(costs, row + 1, end, taken | 1u << c, spare));
    if (row < end && spare > 0)
        least = fmin(least, least_cost(costs, row + 1, end, taken, spare - 1));
    return least;
}

/* Against all assignments, with more columns than rows and fewer. */
START_TEST(matched_columns_have_the_least_cost)
{
    const int64_t cols = 2 + _i % 5, first[] = {0, 4}, end[] = {4, SENDERS};
    gnn_real_t numbers[SENDERS * 6];
    uint64_t seed = 31 + (uint64_t)_i;
    const gnn_tensor_t x = gnn_tensor(numbers, SENDERS, cols);
    const gnn_op_options_t how = {{0}, three_receivers()};
    fixture_t f = set_up();
    for (int k = 0; k < SENDERS * 6; k++)
        numbers[k] = (gnn_real_t)(_i < 5 ? floor(3 * test_uniform(&seed)) : test_uniform(&seed));
    gnn_tape_reset(f.tape, 0, 0);
    const gnn_var_t in = gnn_tape_input(f.tape, &x, 0),
                    y = gnn_tape_op(f.tape, &gnn_op_match_columns, &in, 1, &how, sizeof how);
    gnn_tape_keep(f.tape, y);
    ck_ok(gnn_tape_forward(f.tape));
    const gnn_real_t *id = gnn_tape_value(f.tape, y).data;
    for (int s = 0; s < 2; s++) {
        const int64_t rows = end[s] - first[s], spare = rows > cols ? rows - cols : 0;
        int64_t without = 0;
        double cost = 0;
        unsigned taken = 0;
        for (int64_t r = first[s]; r < end[s]; r++) {
            without += id[r] < 0;
            if (id[r] < 0)
                continue;
            ck_assert(id[r] < (gnn_real_t)cols && !(taken >> (int)id[r] & 1));
            taken |= 1u << (int)id[r];
            cost += (double)gnn__row(&x, r)[(int64_t)id[r]];
        }
        ck_assert_int_eq(without, spare);
        ck_assert_double_eq_tol(cost, least_cost(&x, first[s], end[s], 0, spare), 1e-5);
    }
    numbers[1] = NAN;
    ck_fails(gnn_tape_forward(f.tape), GNN_EINVALID, "the cost of row 0 and column 1 is nan");
    tear_down(&f);
    gnn_graph_free((gnn_graph_t *)how.graph);
}
END_TEST

/* The value passes as it is; its gradient has the second input added, once per use. */
START_TEST(added_gradients_by_hand)
{
    gnn_real_t numbers[] = {1, 2, 3, 4}, added[] = {10, 20, 30, 40};
    const gnn_op_options_t how = {{0}, NULL};
    const gnn_tensor_t x = gnn_tensor(numbers, 2, 2), g = gnn_tensor(added, 2, 2);
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 1, 0);
    const gnn_var_t in[] = {gnn_tape_input(f.tape, &x, 1), gnn_tape_input(f.tape, &g, 1)},
                    y = gnn_tape_op(f.tape, &gnn_op_add_gradient, in, 2, &how, sizeof how),
                    z = gnn_tape_add(f.tape, y, in[0], 3);
    gnn_tape_keep(f.tape, z);
    ck_ok(gnn_tape_forward(f.tape));
    ck_ok(gnn_tape_backward(f.tape, z, NULL));
    for (int k = 0; k < 4; k++) {
        ck_assert_double_eq_tol((double)gnn_tape_value(f.tape, z).data[k], 4.0 * (k + 1), 1e-6);
        ck_assert_double_eq_tol((double)gnn_tape_gradient(f.tape, in[0]).data[k],
                                4 + 10.0 * (k + 1), 1e-5);
        ck_assert_double_eq((double)gnn_tape_gradient(f.tape, in[1]).data[k], 0);
    }
    tear_down(&f);
}
END_TEST

/* Of the senders that take part, in each column by itself; of equal scores the first. */
START_TEST(top_rows_are_those_of_senders_that_take_part)
{
    gnn_real_t scores[] = {3, 1, 1, 1, 2, 1, 8, 1, 5, 4, 7, 4, 6, 9, 9, 4, 4, 4},
               part[] = {1, 1, 0, 0, 0, 1, 0, 1, 1};
    const double expected[] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0};
    const gnn_tensor_t x = gnn_tensor(scores, SENDERS, 2), takes = gnn_tensor(part, SENDERS, 1);
    gnn_graph_t *graph = three_receivers();
    fixture_t f = set_up();
    const gnn_op_options_t half = {{0.5}, graph};
    gnn_tape_reset(f.tape, 0, 0);
    const gnn_var_t in[] = {gnn_tape_input(f.tape, &x, 0), gnn_tape_input(f.tape, &takes, 0)},
                    y = gnn_tape_op(f.tape, &gnn_op_top_rows, in, 2, &half, sizeof half);
    gnn_tape_keep(f.tape, y);
    ck_ok(gnn_tape_forward(f.tape));
    for (int k = 0; k < 2 * SENDERS; k++)
        ck_assert_double_eq((double)gnn_tape_value(f.tape, y).data[k], expected[k]);
    tear_down(&f);
    gnn_graph_free(graph);
}
END_TEST

START_TEST(diagonal_blocks_multiply_separately)
{
    gnn_real_t numbers[] = {1, 2, 3, 4}, weights[] = {1, 10, 100, 1000};
    const gnn_tensor_t x = gnn_tensor(numbers, 1, 4), w = gnn_tensor(weights, 4, 1);
    const gnn_op_options_t two = {{2}, NULL};
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 0, 0);
    const gnn_var_t in[] = {gnn_tape_input(f.tape, &x, 0), gnn_tape_input(f.tape, &w, 0)},
                    y = gnn_tape_op(f.tape, &gnn_op_block_product, in, 2, &two, sizeof two);
    gnn_tape_keep(f.tape, y);
    ck_ok(gnn_tape_forward(f.tape));
    ck_assert(gnn_tape_value(f.tape, y).data[0] == 21 && gnn_tape_value(f.tape, y).data[1] == 4300);
    tear_down(&f);
}
END_TEST

/* Segments of every size up to 40 rows, and of sizes with large prime factors. */
START_TEST(fourier_is_the_sum_of_its_formula)
{
    enum { SIZES = 44, WIDE = 6 };
    int64_t lengths[SIZES] = {0}, rows = 0;
    for (int64_t k = 0; k < SIZES; k++)
        rows += lengths[k] = k < 40 ? k + 1 : (int64_t[]){97, 128, 2 * 53, 390}[k - 40];
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_complete(&graph, SIZES, lengths));
    fixture_t f = set_up();
    gnn_real_t *data = malloc((size_t)(rows * WIDE) * sizeof *data);
    for (int64_t k = 0; k < rows * WIDE; k++)
        data[k] = (gnn_real_t)(k * 37 % 101) / 101;
    const gnn_tensor_t x = gnn_tensor(data, rows, WIDE);
    for (int axes = 0; axes < 3; axes++) {
        const gnn_op_options_t options = {{axes}, graph};
        gnn_tape_reset(f.tape, 0, 0);
        const gnn_var_t in = gnn_tape_input(f.tape, &x, 0),
                        y = gnn_tape_op(f.tape, &gnn_op_fourier, &in, 1, &options, sizeof options);
        gnn_tape_keep(f.tape, y);
        ck_ok(gnn_tape_forward(f.tape));
        const gnn_tensor_t out = gnn_tape_value(f.tape, y);
        for (int64_t s = 0, at = 0; s < SIZES; at += lengths[s++])
            for (int64_t a = 0; a < lengths[s]; a += 1 + lengths[s] / 7)
                for (int64_t b = 0; b < WIDE; b++) {
                    double sum = 0;
                    for (int64_t t = 0; t < lengths[s]; t++)
                        for (int64_t c = 0; c < WIDE; c++)
                            if ((axes != 1 || c == b) && (axes != 2 || t == a))
                                sum += (double)data[(at + t) * WIDE + c] *
                                       cos(6.283185307179586 *
                                           ((axes != 2
                                                 ? (double)(a * t % lengths[s]) / (double)lengths[s]
                                                 : 0) +
                                            (axes != 1 ? (double)(b * c % WIDE) / WIDE : 0)));
                    ck_assert_double_eq_tol((double)out.data[(at + a) * WIDE + b], sum,
                                            1e-6 * (double)(lengths[s] * WIDE));
                }
    }
    free(data);
    gnn_graph_free(graph);
    tear_down(&f);
}
END_TEST

/* Two segments of 3 senders, and 1 and 2 receivers: A B' of each, then its inverse alone. */
START_TEST(matrices_of_segments_by_hand)
{
    gnn_real_t a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 1, -1},
               square[] = {0, 2, 4, 1}, singular[] = {1, 2, 2, 4};
    const double products[] = {1, 2, 3, 6, 8, -1, 10, 12, -1}, inverse[] = {-0.125, 0.25, 0.5, 0},
                 slopes[] = {2, 2, 3, 1, 3, 1};
    const gnn_tensor_t queries = gnn_tensor(a, 3, 2), keys = gnn_tensor(b, 6, 2),
                       x = gnn_tensor(square, 2, 2), none = gnn_tensor(singular, 2, 2);
    gnn_graph_t *graph = NULL;
    fixture_t f = set_up();
    ck_ok(gnn_graph_bipartite(&graph, 2, (const int64_t[]){1, 2}, (const int64_t[]){3, 3}));
    const gnn_op_options_t turned = {{1, 2}, graph}, one = {{0}, NULL};
    gnn_tape_reset(f.tape, 1, 0);
    const gnn_var_t in[] = {gnn_tape_input(f.tape, &queries, 1), gnn_tape_input(f.tape, &keys, 1)},
                    y = gnn_tape_op(f.tape, &gnn_op_segment_matmul, in, 2, &turned, sizeof turned);
    const gnn_var_t matrix = gnn_tape_input(f.tape, &x, 0),
                    z = gnn_tape_op(f.tape, &gnn_op_inverse, &matrix, 1, &one, sizeof one);
    gnn_tape_keep(f.tape, y);
    gnn_tape_keep(f.tape, z);
    ck_ok(gnn_tape_forward(f.tape));
    for (int k = 0; k < 9; k++)
        ck_assert_double_eq_tol((double)gnn_tape_value(f.tape, y).data[k], products[k], 1e-6);
    for (int k = 0; k < 4; k++)
        ck_assert_double_eq_tol((double)gnn_tape_value(f.tape, z).data[k], inverse[k], 1e-6);
    ck_ok(gnn_tape_backward(f.tape, y, NULL));
    for (int k = 0; k < 6; k++)
        ck_assert_double_eq_tol((double)gnn_tape_gradient(f.tape, in[0]).data[k], slopes[k], 1e-6);
    gnn_tape_reset(f.tape, 0, 0);
    const gnn_var_t flat = gnn_tape_input(f.tape, &none, 0);
    gnn_tape_op(f.tape, &gnn_op_inverse, &flat, 1, &one, sizeof one);
    ck_fails(gnn_tape_forward(f.tape), GNN_EINVALID, "matrix 0 of head 0 has no inverse");
    tear_down(&f);
    gnn_graph_free(graph);
}
END_TEST

/* A matrix that is not finite has an inverse of NaN, so that a training finds it; others keep
 * theirs. A permutation needs pivots. */
START_TEST(inverse_of_matrices_that_are_not_finite)
{
    gnn_real_t rows[] = {NAN, 2, 4, 1, 0, 2, 4, 0, 1, INFINITY, 0, 1};
    const double other[] = {0, 0.25, 0.5, 0};
    const gnn_tensor_t x = gnn_tensor(rows, 6, 2);
    fixture_t f = set_up();
    const gnn_op_options_t one = {{0}, NULL};
    gnn_tape_reset(f.tape, 0, 0);
    const gnn_var_t in = gnn_tape_input(f.tape, &x, 0),
                    y = gnn_tape_op(f.tape, &gnn_op_inverse, &in, 1, &one, sizeof one);
    gnn_tape_keep(f.tape, y);
    ck_ok(gnn_tape_forward(f.tape));
    const gnn_real_t *value = gnn_tape_value(f.tape, y).data;
    for (int k = 0; k < 4; k++) {
        ck_assert(isnan(value[k]) && isnan(value[8 + k]));
        ck_assert_double_eq_tol((double)value[4 + k], other[k], 1e-7);
    }
    tear_down(&f);
}
END_TEST

/* ---- delta in chunks ---- */

enum { DELTA_ROWS = 220, DELTA_HEADS = 2, DELTA_K = 20, DELTA_V = 24, DELTA_INPUTS = 5 };

/* Inputs q, k, v of d_v columns a head, beta (not where `plain`) and gates of `per`, 0: none. */
typedef struct {
    bool plain;
    int64_t per, d_v;
    gnn_real_t x[DELTA_INPUTS][DELTA_ROWS * DELTA_HEADS * DELTA_V];
    gnn_real_t d[DELTA_INPUTS][DELTA_ROWS * DELTA_HEADS * DELTA_V];
    gnn_real_t y[DELTA_ROWS * DELTA_HEADS * DELTA_V];
} delta_t;

static void run_delta(delta_t *t, const gnn_graph_t *graph)
{
    const int64_t widths[] = {DELTA_K, DELTA_K, t->d_v, t->plain ? 0 : 1, t->per};
    const gnn_op_options_t how = {{DELTA_HEADS, 0.3, t->plain}, graph};
    fixture_t f = set_up();
    gnn_var_t in[DELTA_INPUTS];
    int64_t size[DELTA_INPUTS];
    int count = 0;
    gnn_tape_reset(f.tape, 1, 0);
    for (int k = 0; k < DELTA_INPUTS; k++) {
        const gnn_tensor_t x = gnn_tensor(t->x[k], DELTA_ROWS, widths[k] * DELTA_HEADS);
        size[k] = DELTA_ROWS * x.cols;
        if (x.cols)
            in[count++] = gnn_tape_input(f.tape, &x, 1);
    }
    const gnn_var_t y = gnn_tape_op(f.tape, &gnn_op_delta, in, count, &how, sizeof how);
    gnn_tape_keep(f.tape, y);
    ck_ok(gnn_tape_forward(f.tape));
    const gnn_tensor_t value = gnn_tape_value(f.tape, y),
                       gy = gnn_tensor(t->x[2], DELTA_ROWS, value.cols);
    memcpy(t->y, value.data, sizeof *t->y * (size_t)size[2]);
    ck_ok(gnn_tape_backward(f.tape, y, &gy));
    for (int k = 0, at = 0; k < DELTA_INPUTS; k++)
        if (size[k])
            memcpy(t->d[k], gnn_tape_gradient(f.tape, in[at++]).data, sizeof *t->y * (size_t)size[k]);
    tear_down(&f);
}

/* No gates, one per head, and gates per channel: all near 0, or far apart, so that blocks of rows
 * are short. */
enum { NO_GATES, GATE_OF_HEAD, NEAR_GATES, FAR_GATES, GATES };

static void draw_delta(delta_t *t, bool plain, int gates)
{
    uint64_t seed = 23;
    memset(t, 0, sizeof *t);
    t->plain = plain;
    t->d_v = DELTA_V;
    t->per = gates == NO_GATES ? 0 : gates == GATE_OF_HEAD ? 1 : DELTA_K;
    for (int k = 0; k < DELTA_INPUTS; k++)
        for (int64_t e = 0; e < DELTA_ROWS * DELTA_HEADS * DELTA_V; e++) {
            const double u = test_uniform(&seed);
            t->x[k][e] = (gnn_real_t)(k == 4 ? -0.1 - 0.1 * u : k == 3 ? 0.5 + 0.4 * u : 0.5 * u);
            if (k == 4 && gates == FAR_GATES)
                t->x[k][e] = (gnn_real_t)(e % 7 == 0 ? -9 + u : -0.01);
        }
    t->x[4][2 * DELTA_HEADS * gnn__max(t->per, 1)] = -(gnn_real_t)INFINITY;
}

static void same_values(const gnn_real_t *a, const gnn_real_t *b, int64_t count)
{
    const double tolerance = GNN_DOUBLE ? 1e-11 : 2e-5;
    for (int64_t e = 0; e < count; e++)
        ck_assert_double_eq_tol((double)a[e], (double)b[e], tolerance * (1 + fabs((double)b[e])));
}

/* Columns `from` and on of the values of each head, which are few enough to run row by row: the
 * memory of a column does not depend on others. */
static void narrow_delta(delta_t *to, const delta_t *of, int64_t from, int64_t d_v)
{
    *to = *of;
    to->d_v = d_v;
    for (int64_t r = 0; r < DELTA_ROWS * DELTA_HEADS; r++)
        memcpy(to->x[2] + r * d_v, of->x[2] + r * DELTA_V + from, sizeof *to->y * (size_t)d_v);
}

/* Adds the gradients of half the values; those of values and y are put in their place. */
static void collect_delta(delta_t *to, const delta_t *half, int64_t from)
{
    for (int64_t r = 0; r < DELTA_ROWS * DELTA_HEADS; r++)
        for (int64_t c = 0; c < half->d_v; c++) {
            to->y[r * DELTA_V + from + c] = half->y[r * half->d_v + c];
            to->d[2][r * DELTA_V + from + c] = half->d[2][r * half->d_v + c];
        }
    for (int k = 0; k < DELTA_INPUTS; k++)
        for (int64_t e = 0; k != 2 && e < DELTA_ROWS * DELTA_HEADS * DELTA_K; e++)
            to->d[k][e] += half->d[k][e];
}

START_TEST(delta_in_chunks_equals_row_by_row)
{
    const bool plain = _i % 2;
    const int64_t half = DELTA_V / 2;
    delta_t *chunks = malloc(sizeof *chunks), *rows = malloc(sizeof *rows),
            *part = malloc(sizeof *part);
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_causal(&graph, 4, (const int64_t[]){150, 0, 1, 69}));
    draw_delta(chunks, plain, _i / 2);
    draw_delta(rows, plain, _i / 2);
    run_delta(chunks, graph);
    for (int64_t from = 0; from < DELTA_V; from += half) {
        narrow_delta(part, chunks, from, half);
        memset(part->d, 0, sizeof part->d);
        run_delta(part, graph);
        collect_delta(rows, part, from);
    }
    same_values(chunks->y, rows->y, DELTA_ROWS * DELTA_HEADS * DELTA_V);
    for (int k = 0; k < 4; k++)
        same_values(chunks->d[k], rows->d[k],
                    DELTA_ROWS * DELTA_HEADS *
                        (k == 3   ? 1
                         : k == 2 ? DELTA_V
                                  : DELTA_K));
    same_values(chunks->d[4], rows->d[4], DELTA_ROWS * DELTA_HEADS * chunks->per);
    gnn_graph_free(graph);
    free(chunks);
    free(rows);
    free(part);
}
END_TEST

/* ---- values of the senders of a receiver: four of the first, five of the third ---- */

static const double of_senders[SENDERS] = {3, -1, 2, 0.5, 1, 4, -2, 0.25, -3};

START_TEST(products_and_quantiles_by_hand)
{
    static const double between[5] = {-1 + 0.75 * 1.5, -1, 0.5, -0.25, 0.5};
    gnn_graph_t *graph = three_receivers();
    gnn_real_t x[SENDERS];
    const gnn_tensor_t column = gnn_tensor(x, SENDERS, 1);
    for (int k = 0; k < SENDERS; k++)
        x[k] = (gnn_real_t)of_senders[k];
    expect(&gnn_op_segment_product, graph, &column, &(gnn_op_options_t){.options = {0}}, 3, 1,
           (const double[]){-3, 1, 6});
    for (int rule = 0; rule < 5; rule++)
        expect(&gnn_op_quantile, graph, &column, &(gnn_op_options_t){.options = {0.25, rule}}, 3, 1,
               (const double[]){between[rule], 0, -2});
    gnn_graph_free(graph);
}
END_TEST

/* h = (1 - z) n + z h with n = tanh(W x + b + r (U h + c)), a row of zeros once there are no more
 * senders. Cho et al. 2014. */
START_TEST(a_gru_over_senders_is_its_formula)
{
    enum { GRU_GATES = 3, STEPS = 5 };
    static const double w[GRU_GATES] = {0.4, -0.7, 0.9}, u[GRU_GATES] = {0.3, 0.5, -0.6},
                        b[2 * GRU_GATES] = {0.1, -0.2, 0.3, -0.1, 0.2, 0.15};
    static const int first[4] = {0, 4, 4, 9};
    gnn_graph_t *graph = three_receivers();
    gnn_real_t x[SENDERS], of_w[GRU_GATES], of_u[GRU_GATES], of_b[2 * GRU_GATES];
    fixture_t f = set_up();
    gnn_op_options_t how = {.graph = graph};
    for (int k = 0; k < SENDERS; k++)
        x[k] = (gnn_real_t)of_senders[k];
    for (int k = 0; k < 2 * GRU_GATES; k++)
        of_b[k] = (gnn_real_t)b[k];
    for (int k = 0; k < GRU_GATES; k++) {
        of_w[k] = (gnn_real_t)w[k];
        of_u[k] = (gnn_real_t)u[k];
    }
    const gnn_tensor_t rows = gnn_tensor(x, SENDERS, 1), of_x = gnn_tensor(of_w, 1, GRU_GATES),
                       of_h = gnn_tensor(of_u, 1, GRU_GATES), bias = gnn_tensor(of_b, 2, GRU_GATES);
    const gnn_var_t in[] = {gnn_tape_input(f.tape, &rows, 0), gnn_tape_input(f.tape, &of_x, 0),
                            gnn_tape_input(f.tape, &of_h, 0), gnn_tape_input(f.tape, &bias, 0)};
    const gnn_var_t y = gnn_tape_op(f.tape, &gnn_op_gru_senders, in, 4, &how, sizeof how);
    gnn_tape_keep(f.tape, y);
    ck_ok(gnn_tape_forward(f.tape));
    for (int i = 0; i < 3; i++) {
        double h = 0;
        for (int t = 0; t < STEPS; t++) {
            const double input = first[i] + t < first[i + 1] ? of_senders[first[i] + t] : 0,
                         r = 1 / (1 + exp(-(w[0] * input + b[0] + u[0] * h + b[3]))),
                         z = 1 / (1 + exp(-(w[1] * input + b[1] + u[1] * h + b[4]))),
                         n = tanh(w[2] * input + b[2] + r * (u[2] * h + b[5]));
            h = (1 - z) * n + z * h;
        }
        ck_assert_double_eq_tol((double)gnn_tape_value(f.tape, y).data[i], h, 1e-6);
    }
    tear_down(&f);
    gnn_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("named_values");
    TCase *c = tcase_create("named_values");
    tcase_add_test(c, near_hashes_by_hand);
    tcase_add_test(c, ops_over_a_graph_by_hand);
    tcase_add_test(c, products_and_quantiles_by_hand);
    tcase_add_test(c, a_gru_over_senders_is_its_formula);
    tcase_add_test(c, rearranged_by_hand);
    tcase_add_test(c, sorted_rows_by_hand);
    tcase_add_loop_test(c, matched_columns_have_the_least_cost, 0, 10);
    tcase_add_test(c, added_gradients_by_hand);
    tcase_add_test(c, top_rows_are_those_of_senders_that_take_part);
    tcase_add_test(c, diagonal_blocks_multiply_separately);
    tcase_add_test(c, fourier_is_the_sum_of_its_formula);
    tcase_add_test(c, matrices_of_segments_by_hand);
    tcase_add_test(c, inverse_of_matrices_that_are_not_finite);
    tcase_add_loop_test(c, delta_in_chunks_equals_row_by_row, 0, 2 * GATES);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
