/* The named ops (lib/ops/ops.def): gradients by finite differences, the same bits with any thread
 * count, gradient accumulation, messages for wrong inputs. test_named_values.c has their values. */
#include "named_ops.h"

#include <math.h>

enum { MOST_INPUTS = 5, ROOM = 512 };

/* Inputs of these shapes; rows 0: absent. Values are in low .. low + 1. */
typedef struct {
    const gnn_op_t *op;
    int64_t shape[MOST_INPUTS][2];
    double options[4], low;
    gnn_graph_t *(*graph)(void); /* NULL: three_receivers */
} case_t;

/* Nine rows, and edges from a row to a later one: chains, joins, forks, a row by itself. */
static gnn_graph_t *acyclic(void)
{
    const int64_t src[] = {0, 1, 2, 2, 3, 5, 0, 4, 8, 8}, dst[] = {1, 2, 4, 3, 4, 4, 4, 6, 5, 8};
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_from_edges(&graph, SENDERS, SENDERS, 10, src, dst));
    return graph;
}

/* Sequences of 4, 1 and 4 rows. */
static gnn_graph_t *chains(void)
{
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_window(&graph, 3, (const int64_t[]){4, 1, 4}, 1, 1, GNN_ON));
    return graph;
}

static const case_t cases[] = {
    {&gnn_op_power, {{5, 3}}, {2.5, 0.25}, 0.1, NULL},
    {&gnn_op_power, {{5, 3}}, {2}, -0.5, NULL},
    {&gnn_op_power, {{5, 3}}, {-0.5}, 0.3, NULL},
    {&gnn_op_power_by, {{5, 3}, {1, 1}}, {0}, 0.4, NULL},
    {&gnn_op_log, {{5, 3}}, {0.5}, 0.1, NULL},
    {&gnn_op_exp, {{5, 3}}, {0.5}, 0.1, NULL},
    {&gnn_op_exp, {{5, 3}}, {0}, -0.5, NULL},
    {&gnn_op_sin, {{5, 3}}, {0}, -0.5, NULL},
    {&gnn_op_sin, {{5, 3}}, {-2, 0.5}, 0.1, NULL},
    {&gnn_op_cos, {{5, 3}}, {0}, -0.5, NULL},
    {&gnn_op_cos, {{5, 3}}, {1.5, -0.5}, 0.1, NULL},
    {&gnn_op_segment_matmul, {{3, 4}, {6, 6}}, {2, 0}, -0.5, NULL},
    {&gnn_op_segment_matmul, {{SENDERS, 4}, {SENDERS, 6}}, {2, 1}, -0.5, NULL},
    {&gnn_op_inverse, {{4, 6}}, {3}, 0.3, NULL},
    {&gnn_op_fourier, {{SENDERS, 3}}, {0}, -0.5, chains},
    {&gnn_op_fourier, {{SENDERS, 3}}, {1}, -0.5, NULL},
    {&gnn_op_fourier, {{SENDERS, 17}}, {2}, -0.5, chains},
    {&gnn_op_clamp, {{7, 3}}, {-0.2, 0.2}, -0.5, NULL},
    {&gnn_op_floor, {{7, 3}}, {0}, 0.1, NULL},
    {&gnn_op_head_sum, {{5, 6}}, {3}, -0.5, NULL},
    {&gnn_op_fold_heads, {{5, 6}}, {3}, -0.5, NULL},
    {&gnn_op_mix_heads, {{5, 6}, {3, 4}}, {0}, -0.5, NULL},
    {&gnn_op_mix_heads, {{7, 1}, {1, 4}}, {0}, -0.5, NULL},
    {&gnn_op_unit_heads, {{5, 6}}, {2}, -0.5, NULL},
    {&gnn_op_block_product, {{5, 6}, {6, 4}}, {3}, -0.5, NULL},
    {&gnn_op_block_product, {{5, 6}, {6, 4}}, {0}, -0.5, NULL},
    {&gnn_op_softmax_rows, {{5, 4}}, {0}, -0.5, NULL},
    {&gnn_op_row_matrix, {{5, 3}, {5, 12}}, {0}, -0.5, NULL},
    {&gnn_op_gaussian, {{6, 2}, {3, 2}, {3, 2}}, {0}, 0.4, NULL},
    {&gnn_op_fold_rows, {{6, 3}}, {2}, -0.5, NULL},
    {&gnn_op_unfold_rows, {{3, 6}}, {2}, -0.5, NULL},
    {&gnn_op_transpose_heads, {{5, 6}}, {2}, -0.5, NULL},
    {&gnn_op_lstm_cell, {{5, 12}, {5, 6}}, {0}, -0.5, NULL},
    {&gnn_op_lstm_cell, {{5, 12}}, {0}, -0.5, NULL},
    {&gnn_op_lstm_senders, {{SENDERS, 3}, {3, 8}, {2, 8}, {1, 8}}, {0}, -0.5, NULL},
    {&gnn_op_gru_senders, {{SENDERS, 3}, {3, 6}, {2, 6}, {2, 6}}, {0}, -0.5, NULL},
    {&gnn_op_delta, {{SENDERS, 6}, {SENDERS, 6}, {SENDERS, 4}, {SENDERS, 2}}, {2}, -0.5, NULL},
    {&gnn_op_delta, {{SENDERS, 6}, {SENDERS, 6}, {SENDERS, 4}, {SENDERS, 6}}, {2, 0.7, 1}, -0.5, NULL},
    {&gnn_op_delta, {{SENDERS, 6}, {SENDERS, 6}, {SENDERS, 4}, {SENDERS, 2}}, {2, 0.7, 1}, -0.5, NULL},
    {&gnn_op_rnn_sweep, {{SENDERS, 2}, {2, 2}, {1, 2}}, {0, 1}, -0.5, acyclic},
    {&gnn_op_rnn_sweep, {{SENDERS, 2}, {2, 2}, {1, 2}, {3, 2}}, {1}, 0.1, chains},
    {&gnn_op_gru_sweep, {{SENDERS, 6}, {2, 6}, {1, 6}}, {0}, -0.5, acyclic},
    {&gnn_op_gru_sweep, {{SENDERS, 6}, {2, 6}, {1, 6}, {3, 2}}, {0, 1}, -0.5, chains},
    {&gnn_op_lstm_sweep, {{SENDERS, 8}, {2, 8}, {1, 8}}, {0}, -0.5, acyclic},
    {&gnn_op_lstm_sweep, {{SENDERS, 8}, {2, 8}, {1, 8}, {1, 4}}, {0, 1}, -0.5, acyclic},
    {&gnn_op_lstm_sweep, {{SENDERS, 8}, {2, 8}, {1, 8}, {3, 4}}, {0}, -0.5, chains},
    {&gnn_op_lstm_sweep, {{SENDERS, 8}, {2, 20}, {1, 8}, {10, 1}, {1, 4}}, {2}, -0.5, acyclic},
    {&gnn_op_median, {{SENDERS, 3}}, {0}, -0.5, NULL},
    {&gnn_op_quantile, {{SENDERS, 3}}, {0.3}, -0.5, NULL},
    {&gnn_op_quantile, {{SENDERS, 3}}, {0.3, 3}, -0.5, NULL},
    {&gnn_op_segment_product, {{SENDERS, 3}}, {0}, 0.3, NULL},
    {&gnn_op_sort_pool, {{SENDERS, 3}}, {3}, -0.5, NULL},
    {&gnn_op_sort_pool, {{SENDERS, 3}}, {3, 1}, -0.5, NULL},
    {&gnn_op_top_rows, {{SENDERS, 3}}, {2}, -0.5, NULL},
    {&gnn_op_top_rows, {{SENDERS, 3}, {SENDERS, 1}}, {0.5}, -0.5, NULL},
    {&gnn_op_segment_norm, {{SENDERS, 3}, {1, 3}}, {0.01}, -0.5, NULL},
    {&gnn_op_segment_norm, {{SENDERS, 3}}, {0.01}, -0.5, NULL},
    {&gnn_op_segment_layer_norm, {{SENDERS, 3}}, {0.01}, -0.5, NULL},
    {&gnn_op_segment_layer_norm, {{SENDERS, 3}}, {0.01, 1}, -0.5, NULL},
    {&gnn_op_pair_norm, {{6, 3}}, {2, 0.01}, -0.5, NULL},
    {&gnn_op_rows_of_degree, {{3, 4}}, {4, 5}, -0.5, NULL},
    {&gnn_op_rows_of_degree, {{3, 4}}, {0, 0}, -0.5, NULL},
    {&gnn_op_place_by_degree, {{1, 3}, {1, 3}}, {4, 9}, -0.5, NULL},
    {&gnn_op_place_by_degree, {{1, 3}, {0, 0}}, {0, 0}, -0.5, NULL},
};

enum { CASES = sizeof cases / sizeof *cases };

static gnn_graph_t *graph_of(const case_t *c)
{
    return c->graph ? c->graph() : three_receivers();
}

typedef struct {
    gnn_real_t in[MOST_INPUTS][ROOM], d[MOST_INPUTS][ROOM], y[ROOM], gy[ROOM];
    int64_t n_y;
} run_t;

/* The input that holds ids instead of values, which has no gradient; -1: none. */
static int ids_of(const case_t *c)
{
    return c->op == &gnn_op_lstm_sweep && c->options[0] > 1 ? 3 : -1;
}

static void draw(const case_t *c, run_t *r)
{
    uint64_t seed = 17;
    for (int k = 0; k < MOST_INPUTS; k++)
        for (int64_t e = 0; e < ROOM; e++)
            r->in[k][e] = k == ids_of(c) ? (gnn_real_t)(e % (int64_t)c->options[0])
                                         : (gnn_real_t)(c->low + 0.5 + 0.5 * test_uniform(&seed));
    for (int64_t e = 0; e < ROOM; e++)
        r->gy[e] = (gnn_real_t)test_uniform(&seed);
}

/* The loss, the sum of y gy; with `backward` gradients too, those of x used twice where `twice`. */
static double run(const case_t *c, const gnn_graph_t *graph, int threads, bool backward, bool twice,
                  run_t *r)
{
    gnn_context_t *context;
    gnn_tape_t *tape;
    gnn_var_t in[MOST_INPUTS];
    const gnn_op_options_t how = {{c->options[0], c->options[1], c->options[2], c->options[3]},
                                  graph};
    double loss = 0;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = threads}));
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, backward, 1);
    for (int k = 0; k < MOST_INPUTS; k++) {
        const gnn_tensor_t t = gnn_tensor(r->in[k], c->shape[k][0], c->shape[k][1]);
        in[k] = t.rows ? gnn_tape_input(tape, &t, 1) : GNN_NONE;
    }
    gnn_var_t y = gnn_tape_op(tape, c->op, in, MOST_INPUTS, &how, sizeof how);
    if (twice)
        y = gnn_tape_add(tape, y, gnn_tape_op(tape, c->op, in, MOST_INPUTS, &how, sizeof how), 1);
    gnn_tape_keep(tape, y);
    ck_ok(gnn_tape_forward(tape));
    const gnn_tensor_t value = gnn_tape_value(tape, y),
                       gy = gnn_tensor(r->gy, value.rows, value.cols);
    r->n_y = value.rows * value.cols;
    ck_assert_int_le(r->n_y, ROOM);
    memcpy(r->y, value.data, sizeof *r->y * (size_t)r->n_y);
    for (int64_t e = 0; e < r->n_y; e++)
        loss += (double)r->y[e] * (double)r->gy[e];
    if (backward)
        ck_ok(gnn_tape_backward(tape, y, &gy));
    for (int k = 0; backward && k < MOST_INPUTS; k++)
        if (in[k] != GNN_NONE)
            memcpy(r->d[k], gnn_tape_gradient(tape, in[k]).data,
                   sizeof *r->d[k] * (size_t)(c->shape[k][0] * c->shape[k][1]));
    gnn_tape_free(tape);
    gnn_context_free(context);
    return loss;
}

START_TEST(gradients_are_those_of_finite_differences)
{
    const case_t *c = &cases[_i];
    const double eps = GNN_DOUBLE ? 1e-6 : 4e-3, tolerance = GNN_DOUBLE ? 1e-7 : 2e-2;
    run_t r, other;
    gnn_graph_t *graph = graph_of(c);
    draw(c, &r);
    run(c, graph, 2, true, false, &r);
    for (int k = 0; k < MOST_INPUTS; k++)
        for (int64_t e = 0; k != ids_of(c) && e < c->shape[k][0] * c->shape[k][1]; e++) {
            other = r;
            other.in[k][e] = (gnn_real_t)((double)r.in[k][e] + eps);
            const double high = run(c, graph, 1, false, false, &other);
            other.in[k][e] = (gnn_real_t)((double)r.in[k][e] - eps);
            const double low = run(c, graph, 1, false, false, &other),
                         slope = (high - low) / (2 * eps);
            ck_assert_msg(fabs(slope - (double)r.d[k][e]) <= tolerance * (1 + fabs(slope)),
                          "%s: input %d, value %lld: %g, by differences %g", c->op->name, k,
                          (long long)e, (double)r.d[k][e], slope);
        }
    gnn_graph_free(graph);
}
END_TEST

/* A value that two ops read gets both gradients; and threads change no bit. */
START_TEST(gradients_add_up_and_threads_change_no_bit)
{
    const case_t *c = &cases[_i];
    run_t once, twice, threads;
    gnn_graph_t *graph = graph_of(c);
    draw(c, &once);
    twice = threads = once;
    run(c, graph, 1, true, false, &once);
    run(c, graph, 3, true, false, &threads);
    run(c, graph, 1, true, true, &twice);
    ck_assert_mem_eq(once.y, threads.y, sizeof *once.y * (size_t)once.n_y);
    for (int k = 0; k < MOST_INPUTS; k++)
        for (int64_t e = 0; e < c->shape[k][0] * c->shape[k][1]; e++) {
            ck_assert(once.d[k][e] == threads.d[k][e]);
            ck_assert_double_eq_tol((double)twice.d[k][e], 2 * (double)once.d[k][e],
                                    TOLERANCE_OUT * (1 + fabs((double)once.d[k][e])));
        }
    gnn_graph_free(graph);
}
END_TEST

START_TEST(ops_have_names)
{
    for (size_t k = 0; k < op_count(); k++)
        ck_assert_ptr_eq(gnn_op_find(gnn_op_at(k)->name), gnn_op_at(k));
    ck_assert_ptr_null(gnn_op_at(op_count()));
    ck_assert_ptr_null(gnn_op_find("nothing"));
    ck_assert_ptr_nonnull(strstr(gnn_error_message(), "power"));
}
END_TEST

/* Ops whose gradient another suite compares, or that have none. */
static const struct {
    const gnn_op_t *op;
    const char *where;
} elsewhere[] = {
    {&gnn_op_between, "0 by definition"},
    {&gnn_op_degree, "reads the graph alone"},
    {&gnn_op_autoscale, "0 by definition"},
    {&gnn_op_sort_rows, "ids"},
    {&gnn_op_match_columns, "ids"},
    {&gnn_op_lsh_rows, "ids"},
    {&gnn_op_add_gradient, "test_named_values"},
    {&gnn_op_pick_rows, "test_ops"},
    {&gnn_op_choose, "ids"},
    {&gnn_op_choose_rows, "ids"},
    {&gnn_op_choose_senders, "ids"},
    {&gnn_op_limit_ids, "ids"},
    {&gnn_op_mark_columns, "ids"},
    {&gnn_op_pick_columns, "test_choices"},
    {&gnn_op_score_rows, "test_choices"},
    {&gnn_op_weigh_rows, "test_choices"},
    {&gnn_op_gather_rows, "test_choices"},
    {&gnn_op_scatter_rows, "test_choices"},
    {&gnn_op_grouped_product, "test_choices"},
    {&gnn_op_blend_heads, "test_choices"},
    {&gnn_op_noise, "test_signals"},
    {&gnn_op_draw, "ids"},
};

/* The list is closed: an op of the table without a case of its gradient fails. */
START_TEST(every_op_has_a_case_of_its_gradient)
{
    for (size_t k = 0; k < op_count(); k++) {
        bool found = false;
        for (size_t c = 0; c < CASES; c++)
            found |= cases[c].op == gnn_op_at(k);
        for (size_t e = 0; e < sizeof elsewhere / sizeof *elsewhere; e++)
            found |= elsewhere[e].op == gnn_op_at(k);
        ck_assert_msg(found, "op %s has no case in tests/test_named_ops.c", gnn_op_at(k)->name);
    }
}
END_TEST

/* ---- options ---- */

/* The op on inputs of the case's shapes is refused with these words, if its option k is `value`. */
static void refuse_option(const case_t *c, size_t k, double value, const char *words)
{
    gnn_real_t zeros[ROOM] = {0};
    gnn_var_t in[MOST_INPUTS];
    fixture_t f = set_up();
    gnn_graph_t *graph = graph_of(c);
    gnn_op_options_t how = {.graph = graph};
    memcpy(how.options, c->options, sizeof how.options);
    how.options[k] = value;
    for (int i = 0; i < MOST_INPUTS; i++) {
        const gnn_tensor_t t = gnn_tensor(zeros, c->shape[i][0], c->shape[i][1]);
        in[i] = t.rows ? gnn_tape_input(f.tape, &t, 0) : GNN_NONE;
    }
    gnn_tape_op(f.tape, c->op, in, MOST_INPUTS, &how, sizeof how);
    ck_fails(gnn_tape_status(f.tape), GNN_EINVALID, words);
    tear_down(&f);
    gnn_graph_free(graph);
}

/* Fractions of what counts, switches or chooses, and values that no option reads. */
START_TEST(options_are_those_of_the_op)
{
    const case_t *c = &cases[_i];
    for (size_t k = 0; k < GNN_ROW_OPTIONS; k++) {
        const bool read = k < c->op->n_options;
        if (read && c->op->options[k].kind == GNN_OPTION_INTEGER)
            refuse_option(c, k, c->op->options[k].min + 0.5, c->op->name);
        else if (!read)
            refuse_option(c, k, 2, "expected at most");
    }
}
END_TEST

START_TEST(every_op_lists_its_options)
{
    for (size_t k = 0; k < op_count(); k++) {
        const gnn_op_t *op = gnn_op_at(k);
        ck_assert_msg(op->options != NULL, "op %s has no .options", op->name);
        for (size_t o = 0; o < op->n_options; o++)
            ck_assert(op->options[o].initial == 0 || (op->options[o].initial >= op->options[o].min &&
                                                      op->options[o].initial <= op->options[o].max));
    }
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    case_t wrong;
    int code;
    const char *words;
} refused[] = {
    {{&gnn_op_head_sum, {{5, 6}}, {4}, 0, NULL}, GNN_ESHAPE, "6 columns do not divide into 4 heads"},
    {{&gnn_op_fold_heads, {{5, 6}}, {0.5}, 0, NULL}, GNN_EINVALID, "option heads is 0.5"},
    {{&gnn_op_mix_heads, {{5, 6}, {4, 2}}, {0}, 0, NULL}, GNN_ESHAPE, "do not divide into 4 heads"},
    {{&gnn_op_unit_heads, {{5, 6}}, {4}, 0, NULL}, GNN_ESHAPE, "do not divide into 4 heads"},
    {{&gnn_op_row_matrix, {{5, 3}, {5, 13}}, {0}, 0, NULL}, GNN_ESHAPE, "5 matrices of 3 rows"},
    {{&gnn_op_gaussian, {{5, 3}, {2, 3}, {2, 2}}, {0}, 0, NULL},
     GNN_ESHAPE,
     "input 2 of 2 x 3, got 2 x 2"},
    {{&gnn_op_rows_of_degree, {{5, 3}}, {0, 1}, 0, NULL}, GNN_ESHAPE, "input 0 of 3 x 3, got 5 x 3"},
    {{&gnn_op_rows_of_degree, {{3, 3}}, {2, 1}, 0, NULL}, GNN_EINVALID, "least <= most, got 2 and 1"},
    {{&gnn_op_place_by_degree, {{2, 3}}, {4, 4}, 0, NULL}, GNN_ESHAPE, "input 0 of 1 x 3, got 2 x 3"},
    {{&gnn_op_block_product, {{5, 6}, {5, 2}}, {3}, 0, NULL}, GNN_ESHAPE, "input 1 of 6 x 2, got 5 x 2"},
    {{&gnn_op_fold_rows, {{5, 3}}, {2}, 0, NULL}, GNN_ESHAPE, "5 rows do not divide"},
    {{&gnn_op_unfold_rows, {{5, 3}}, {2}, 0, NULL}, GNN_ESHAPE, "3 columns do not divide into 2 rows"},
    {{&gnn_op_transpose_heads, {{5, 6}}, {4}, 0, NULL}, GNN_ESHAPE, "do not divide into 4 heads"},
    {{&gnn_op_add_gradient, {{5, 3}, {5, 2}}, {0}, 0, NULL}, GNN_ESHAPE, "input 1 of 5 x 3, got 5 x 2"},
    {{&gnn_op_sort_rows, {{5, 3}}, {0}, 0, NULL}, GNN_ESHAPE, "input 0 of 9 x 3, got 5 x 3"},
    {{&gnn_op_match_columns, {{5, 3}}, {0}, 0, NULL}, GNN_ESHAPE, "input 0 of 9 x 3, got 5 x 3"},
    {{&gnn_op_lstm_cell, {{5, 10}}, {0}, 0, NULL}, GNN_ESHAPE, "gates of 4 h columns, got 10"},
    {{&gnn_op_median, {{5, 3}}, {0}, 0, NULL}, GNN_ESHAPE, "input 0 of 9 x 3, got 5 x 3"},
    {{&gnn_op_sort_pool, {{SENDERS, 3}}, {-1}, 0, NULL},
     GNN_EINVALID,
     "option k is -1, expected an integer from 1 to 2147483647"},
    {{&gnn_op_top_rows, {{SENDERS, 3}}, {1.5}, 0, NULL}, GNN_EINVALID, "an integer, got 1.5"},
    {{&gnn_op_top_rows, {{SENDERS, 3}, {SENDERS, 2}}, {2}, 0, NULL}, GNN_ESHAPE, "input 1 of 9 x 1"},
    {{&gnn_op_power_by, {{5, 3}, {1, 2}}, {0}, 0, NULL}, GNN_ESHAPE, "input 1 of 1 x 1, got 1 x 2"},
    {{&gnn_op_segment_matmul, {{SENDERS, 4}, {SENDERS, 4}}, {2, 2}, 0, NULL},
     GNN_ESHAPE,
     "input 0 of 3 x 4, got 9 x 4"},
    {{&gnn_op_segment_matmul, {{3, 4}, {SENDERS, 4}}, {2, 2}, 0, NULL},
     GNN_ESHAPE,
     "unlike counts of senders"},
    {{&gnn_op_segment_matmul, {{3, 4}, {6, 4}}, {2, 3}, 0, NULL},
     GNN_EINVALID,
     "option form is 3, expected an integer from 0 to 2"},
    {{&gnn_op_segment_matmul, {{3, 4}, {6, 5}}, {2}, 0, NULL}, GNN_ESHAPE, "do not divide into heads"},
    {{&gnn_op_fourier, {{SENDERS, 3}}, {3}, 0, NULL},
     GNN_EINVALID,
     "option axes is 3, expected an integer from 0 to 2"},
    {{&gnn_op_fourier, {{5, 3}}, {0}, 0, NULL}, GNN_ESHAPE, "input 0 of 9 x 3, got 5 x 3"},
    {{&gnn_op_inverse, {{5, 6}}, {3}, 0, NULL},
     GNN_ESHAPE,
     "5 rows do not divide into matrices of 2 rows"},
    {{&gnn_op_autoscale, {{5, 3}, {5, 3}, {5, 3}}, {0}, 0, NULL}, GNN_ESHAPE, "input 2 of 5 x 1"},
    {{&gnn_op_rnn_sweep, {{SENDERS, 2}, {2, 2}, {1, 2}}, {0}, 0, NULL},
     GNN_ETOPOLOGY,
     "got 3 receivers and 9 senders"},
    {{&gnn_op_gru_sweep, {{SENDERS, 6}, {2, 5}, {1, 6}}, {0}, 0, chains},
     GNN_ESHAPE,
     "input 1 of 2 x 6, got 2 x 5"},
    {{&gnn_op_lstm_sweep, {{SENDERS, 8}, {2, 8}, {1, 8}, {2, 4}}, {0}, 0, chains},
     GNN_ESHAPE,
     "input 3 of 3 x 4, got 2 x 4"},
    {{&gnn_op_lstm_sweep, {{SENDERS, 8}, {2, 20}, {1, 8}}, {2}, 0, acyclic},
     GNN_EINVALID,
     "2 places, but no input"},
    {{&gnn_op_lstm_sweep, {{SENDERS, 8}, {2, 20}, {1, 8}, {10, 1}}, {2}, 0, chains},
     GNN_EUNSUPPORTED,
     "a graph of stored edges"},
};

START_TEST(wrong_inputs_are_refused)
{
    const case_t *c = &refused[_i].wrong;
    gnn_graph_t *graph = graph_of(c);
    fixture_t f = set_up();
    gnn_real_t numbers[ROOM] = {0};
    gnn_var_t in[MOST_INPUTS];
    const gnn_op_options_t how = {{c->options[0], c->options[1]}, graph};
    for (int k = 0; k < MOST_INPUTS; k++) {
        const gnn_tensor_t t = gnn_tensor(numbers, c->shape[k][0], c->shape[k][1]);
        in[k] = t.rows ? gnn_tape_input(f.tape, &t, 1) : GNN_NONE;
    }
    gnn_tape_op(f.tape, c->op, in, MOST_INPUTS, &how, sizeof how);
    ck_fails(gnn_tape_status(f.tape), refused[_i].code, refused[_i].words);
    tear_down(&f);
    gnn_graph_free(graph);
}
END_TEST

START_TEST(a_sweep_refuses_a_cycle)
{
    const int64_t src[] = {0, 1, 2, 1}, dst[] = {1, 2, 1, 3};
    gnn_real_t numbers[8] = {0};
    const gnn_tensor_t gates = gnn_tensor(numbers, 4, 1), one = gnn_tensor(numbers, 1, 1);
    fixture_t f = set_up();
    gnn_op_options_t how = {.graph = NULL};
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_from_edges(&graph, 4, 4, 4, src, dst));
    how.graph = graph;
    const gnn_var_t u = gnn_tape_input(f.tape, &one, 0),
                    in[] = {gnn_tape_input(f.tape, &gates, 0), u, u};
    gnn_tape_keep(f.tape, gnn_tape_op(f.tape, &gnn_op_rnn_sweep, in, 3, &how, sizeof how));
    ck_fails(gnn_tape_forward(f.tape), GNN_ETOPOLOGY, "3 of 4 rows lie on a cycle");
    tear_down(&f);
    gnn_graph_free(graph);
}
END_TEST

START_TEST(a_sweep_refuses_a_place_that_there_is_not)
{
    const int64_t src[] = {0, 1}, dst[] = {2, 2};
    gnn_real_t numbers[12] = {0}, places[] = {0, 2};
    const gnn_tensor_t gates = gnn_tensor(numbers, 3, 4), u = gnn_tensor(numbers, 1, 10),
                       b = gnn_tensor(numbers, 1, 4), place = gnn_tensor(places, 2, 1);
    fixture_t f = set_up();
    gnn_op_options_t how = {{2}, NULL};
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_from_edges(&graph, 3, 3, 2, src, dst));
    how.graph = graph;
    const gnn_var_t in[] = {gnn_tape_input(f.tape, &gates, 0), gnn_tape_input(f.tape, &u, 0),
                            gnn_tape_input(f.tape, &b, 0), gnn_tape_input(f.tape, &place, 0)};
    gnn_tape_keep(f.tape, gnn_tape_op(f.tape, &gnn_op_lstm_sweep, in, 4, &how, sizeof how));
    ck_fails(gnn_tape_forward(f.tape), GNN_EINVALID,
             "id 0 of row 1 is 2, expected an integer in -1..1");
    tear_down(&f);
    gnn_graph_free(graph);
}
END_TEST

START_TEST(ops_over_a_graph_need_one_of_one_part)
{
    const gnn_op_t *const ops[] = {&gnn_op_median, &gnn_op_sort_pool, &gnn_op_segment_norm,
                                   &gnn_op_segment_layer_norm};
    enum { N = sizeof ops / sizeof *ops };
    gnn_graph_t *one = three_receivers(), *two = NULL;
    gnn_real_t numbers[SENDERS] = {0};
    const gnn_tensor_t x = gnn_tensor(numbers, SENDERS, 1);
    ck_ok(gnn_graph_merge(&two, 2, (const gnn_graph_t *const[]){one, one}));
    for (int k = 0; k < 2 * N; k++) {
        fixture_t f = set_up();
        const gnn_op_options_t how = {{0}, k < N ? NULL : two};
        const gnn_var_t in = gnn_tape_input(f.tape, &x, 1);
        gnn_tape_op(f.tape, ops[k % N], &in, 1, &how, sizeof how);
        ck_fails(gnn_tape_status(f.tape), GNN_EUNSUPPORTED, k < N ? "needs a graph" : "one part");
        tear_down(&f);
    }
    gnn_graph_free(one);
    gnn_graph_free(two);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("named_ops");
    TCase *c = tcase_create("named_ops");
    tcase_add_loop_test(c, gradients_are_those_of_finite_differences, 0, CASES);
    tcase_add_loop_test(c, gradients_add_up_and_threads_change_no_bit, 0, CASES);
    tcase_add_test(c, ops_have_names);
    tcase_add_test(c, every_op_has_a_case_of_its_gradient);
    tcase_add_test(c, every_op_lists_its_options);
    tcase_add_loop_test(c, options_are_those_of_the_op, 0, CASES);
    tcase_add_test(c, a_sweep_refuses_a_cycle);
    tcase_add_test(c, a_sweep_refuses_a_place_that_there_is_not);
    tcase_add_loop_test(c, wrong_inputs_are_refused, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_test(c, ops_over_a_graph_need_one_of_one_part);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
