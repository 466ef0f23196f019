/* Fused ops of a tape's plan give the values and gradients of single ops; fusion is prevented by
 * keeping the intermediate value. */
#include "tape_fixture.h"

#include <lib/aggregate/aggregate.h>
#include <lib/kernels/attention/by_lane/by_lane.h>

/* Ops before a dropout: the norm of z + x dropped; f(x + b) dropped, b a row; f(x) dropped. */
typedef struct {
    gnn_activation_t f; /* GNN_ACTIVATION_DEFAULT: the norm */
    bool biased, alone; /* x has no other reader */
} dropping_t;

/* As one op or, with a kept intermediate value, as two. x and z, or z only, are read again later,
 * so that their gradients are accumulated. */
static gnn_var_t dropping(gnn_tape_t *t, gnn_var_t x, gnn_var_t z, const dropping_t *how, bool joined)
{
    const gnn_real_t rate = (gnn_real_t)0.3, eps = (gnn_real_t)1e-5;
    const gnn__norm_settings_t norm = {.kind = GNN_NORM_LAYER, .eps = eps, .rate = rate};
    gnn_var_t y;
    if (how->f == GNN_ACTIVATION_DEFAULT && joined) {
        y = gnn__tape_add_norm(t, &norm, z, x, GNN_NONE, GNN_NONE);
    } else if (how->f == GNN_ACTIVATION_DEFAULT) {
        y = gnn_tape_norm(t, GNN_NORM_LAYER, gnn_tape_add(t, z, gnn_tape_dropout(t, x, rate), 1),
                          GNN_NONE, GNN_NONE, eps, NULL, 0);
    } else {
        const gnn_var_t row = gnn_tape_view(t, z, 0, 1, 0, gnn_tape_cols(t, z));
        y = how->biased ? gnn__tape_activate(t, gnn_tape_add(t, x, row, 1), how->f, 0)
                        : gnn_tape_activation(t, x, how->f, 0);
        if (!joined)
            gnn_tape_keep(t, y);
        y = gnn_tape_add(t, z, gnn_tape_dropout(t, y, rate), 1);
    }
    return gnn_tape_add(t, how->alone ? y : gnn_tape_add(t, y, x, 1), z, 2);
}

enum { DROPPED_ROWS = 300, DROPPED_COLS = 43, DROPPED = DROPPED_ROWS * DROPPED_COLS };

/* y, dx and dz, concatenated. */
static void run_dropping(const dropping_t *how, bool joined, gnn_real_t *memory, gnn_real_t *out)
{
    const gnn_tensor_t x = gnn_tensor(memory, DROPPED_ROWS, DROPPED_COLS),
                       z = gnn_tensor(memory + DROPPED, DROPPED_ROWS, DROPPED_COLS),
                       dy = gnn_tensor(memory + 2 * DROPPED, DROPPED_ROWS, DROPPED_COLS);
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 1, 1);
    gnn_var_t in = gnn_tape_input(f.tape, &x, 1), other = gnn_tape_input(f.tape, &z, 1),
              y = dropping(f.tape, in, other, how, joined);
    gnn_tape_keep(f.tape, y);
    ck_ok(gnn_tape_forward(f.tape));
    ck_ok(gnn_tape_backward(f.tape, y, &dy));
    const gnn_tensor_t results[] = {gnn_tape_value(f.tape, y), gnn_tape_gradient(f.tape, in),
                                    gnn_tape_gradient(f.tape, other)};
    for (int k = 0; k < 3; k++)
        memcpy(out + k * DROPPED, results[k].data, DROPPED * sizeof *out);
    tear_down(&f);
}

START_TEST(fused_dropout_draws_the_same_mask)
{
    const dropping_t all[] = {{GNN_ACTIVATION_DEFAULT, false, false},
                              {GNN_GELU, false, false},
                              {GNN_ELU, false, false},
                              {GNN_RELU, false, false},
                              {GNN_ELU, false, true},
                              {GNN_RELU, false, true},
                              {GNN_LEAKY_RELU, false, true},
                              {GNN_ELU, true, false},
                              {GNN_RELU, true, false},
                              {GNN_ELU, true, true},
                              {GNN_RELU, true, true},
                              {GNN_SIGMOID, true, true},
                              {GNN_TANH, true, false}};
    gnn_real_t *memory = test_reals(3 * DROPPED, 4), *out = test_reals(6 * DROPPED, 5);
    /* A 0 that was kept has a slope, one that was dropped has none; the first two columns of z's
     * first row are 0, so these of x stay. */
    for (int64_t k = 0; k < DROPPED_ROWS; k++)
        memory[k * DROPPED_COLS + k % 2] = k % 4 < 2 ? 0 : (gnn_real_t)-0.0;
    memory[DROPPED] = memory[DROPPED + 1] = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        for (int joined = 0; joined < 2; joined++)
            run_dropping(&all[k], joined, memory, out + 3 * joined * DROPPED);
        ck_assert_double_lt(test_error(out, out + 3 * DROPPED, 3 * DROPPED), TOLERANCE_OUT);
    }
    free(memory);
    free(out);
}
END_TEST

/* One op, until the intermediate value is kept; then two, with the same values. */
START_TEST(ops_are_fused_again_in_every_plan)
{
    gnn_real_t *memory = test_reals(40 * 8, 4), first[40 * 8];
    const gnn_tensor_t x = gnn_tensor(memory, 40, 8);
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 1, 1);
    gnn_var_t between = gnn_tape_activation(f.tape, gnn_tape_input(f.tape, &x, 1), GNN_TANH, 0),
              y = gnn_tape_dropout(f.tape, between, (gnn_real_t)0.5);
    ck_ok(gnn_tape_forward(f.tape));
    ck_assert_ptr_null(gnn_tape_value(f.tape, between).data);
    memcpy(first, gnn_tape_value(f.tape, y).data, sizeof first);
    gnn_tape_keep(f.tape, between);
    ck_ok(gnn_tape_forward(f.tape));
    ck_assert_mem_eq(first, gnn_tape_value(f.tape, y).data, sizeof first);
    for (int k = 0; k < 40 * 8; k++)
        ck_assert_double_eq_tol((double)gnn_tape_value(f.tape, between).data[k],
                                tanh((double)memory[k]), 1e-5);
    free(memory);
    tear_down(&f);
}
END_TEST

/* A value that only its sum reads shares the gradient of the sum, also with that of a view; unless
 * `shared`, other ops read it too, without effect. */
static gnn_var_t summing(gnn_tape_t *t, gnn_var_t x, bool shared, gnn_var_t *sum)
{
    const int64_t half = gnn_tape_cols(t, x) / 2, rows = gnn_tape_rows(t, x);
    gnn_var_t y = gnn_tape_activation(t, x, GNN_SIGMOID, 0),
              left = gnn_tape_view(t, y, 0, rows, 0, half),
              right = gnn_tape_view(t, y, 0, rows, half, half),
              a = gnn_tape_activation(t, left, GNN_TANH, 0), s = gnn_tape_add(t, a, right, 1);
    *sum = s;
    if (!shared)
        s = gnn_tape_add(t, gnn_tape_add(t, s, a, 0), right, 0);
    gnn_var_t z = gnn_tape_activation(t, s, GNN_ELU, 0);
    return gnn_tape_add(t, gnn_tape_add(t, z, s, 2), gnn_tape_activation(t, s, GNN_GELU, 0), 1);
}

START_TEST(a_sum_and_its_summands_share_a_gradient)
{
    enum { ROWS = 50, COLS = 12 };
    gnn_real_t *memory = test_reals(ROWS * COLS, 4), dx[2][ROWS * COLS];
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, COLS);
    for (int shared = 0; shared < 2; shared++) {
        fixture_t f = set_up();
        gnn_tape_reset(f.tape, 1, 0);
        gnn_var_t sum, in = gnn_tape_input(f.tape, &x, 1), y = summing(f.tape, in, shared, &sum);
        ck_ok(gnn_tape_forward(f.tape));
        ck_ok(gnn_tape_backward(f.tape, y, NULL));
        memcpy(dx[shared], gnn_tape_gradient(f.tape, in).data, sizeof dx[shared]);
        const gnn_var_t of = f.tape->values[sum].grad_of;
        ck_assert_int_ne(of, GNN_NONE);
        ck_assert_int_eq(f.tape->values[of].kind == GNN__VALUE_VIEW, shared);
        tear_down(&f);
    }
    ck_assert_double_lt(test_error(dx[0], dx[1], ROWS * COLS), TOLERANCE_OUT);
    free(memory);
}
END_TEST

/* ---- aggregations that finish their rows, sums of two products, ops that write over what they
 * read ---- */

enum { NODES = 70, EDGES = 400, MANY_EDGES = 1500, WIDE = 21 };

typedef struct {
    const char *aggregator;
    gnn_activation_t f;
    gnn_real_t rate;
    bool summand, biased; /* what follows the aggregation */
} finishing_t;

static gnn_graph_t *graph_of(int edges)
{
    int64_t src[MANY_EDGES], dst[MANY_EDGES];
    gnn_graph_t *graph;
    uint64_t seed = 3;
    for (int k = 0; k < edges; k++) { /* the last node has no senders */
        src[k] = (int64_t)((test_uniform(&seed) + 1) / 2 * NODES);
        dst[k] = (int64_t)((test_uniform(&seed) + 1) / 2 * (NODES - 1));
    }
    ck_ok(gnn_graph_from_edges(&graph, NODES, NODES, edges, src, dst));
    ck_ok(gnn_graph_prepare(graph, &(gnn_view_t){.backward = GNN_ON}));
    return graph;
}

/* One value in between; kept where ops must run one by one. */
static gnn_var_t passing(gnn_tape_t *t, gnn_var_t x, bool joined)
{
    if (!joined)
        gnn_tape_keep(t, x);
    return x;
}

static void no_inputs(gnn_var_t *in)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
}

/* The plain aggregation of x. */
static gnn_var_t heard(gnn_tape_t *t, const char *aggregator, const gnn_graph_t *graph, gnn_var_t x)
{
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    no_inputs(in);
    in[GNN_AGGREGATE_SRC_MESSAGE] = x;
    return gnn_tape_aggregate(t,
                              &(gnn_aggregate_t){.aggregator = gnn_aggregator_find(aggregator),
                                                 .message = gnn_message_find("none"),
                                                 .graph = graph},
                              in);
}

/* z W = [left | right]; dropout(f(sum of left + right + b)), then tanh of it twice over. */
static gnn_var_t finishing(const fixture_t *f, const gnn_graph_t *graph, gnn_var_t x,
                           const finishing_t *how, bool joined)
{
    gnn_tape_t *t = f->tape;
    const gnn_var_t z = gnn_tape_linear(t, x, gnn_tape_parameter(t, f->parameters, 0), GNN_NONE),
                    left = gnn_tape_view(t, z, 0, NODES, 0, WIDE);
    gnn_var_t y = passing(t, heard(t, how->aggregator, graph, left), joined);
    if (how->summand)
        y = passing(t, gnn_tape_add(t, y, gnn_tape_view(t, z, 0, NODES, WIDE, WIDE), 1), joined);
    if (how->biased)
        y = gnn__tape_activate(t, gnn_tape_add(t, y, gnn_tape_parameter(t, f->parameters, 1), 1),
                               how->f, 0);
    if (how->rate > 0)
        y = gnn_tape_dropout(t, passing(t, y, joined), how->rate);
    y = gnn_tape_activation(t, passing(t, y, joined), GNN_TANH, 0);
    return gnn_tape_activation(t, passing(t, y, joined), GNN_TANH, 0);
}

/* y, dx and the parameters' gradients, concatenated; returns their count. */
static int64_t run_finishing(const finishing_t *how, const gnn_graph_t *graph, bool recording,
                             bool joined, gnn_real_t *x, gnn_real_t *out)
{
    int32_t id;
    fixture_t f = set_up();
    ck_ok(gnn_parameters_add(f.parameters, "w", 9, 2 * WIDE, GNN_INIT_GLOROT, 0, 0, 0, &id));
    ck_ok(gnn_parameters_add(f.parameters, "b", 1, WIDE, GNN_INIT_NORMAL, 0.5, 0, 0, &id));
    ck_ok(gnn_parameters_allocate(f.parameters, f.context));
    gnn_tape_reset(f.tape, recording, 1);
    const gnn_tensor_t rows = gnn_tensor(x, NODES, 9);
    const gnn_var_t input = gnn_tape_input(f.tape, &rows, 1),
                    y = finishing(&f, graph, input, how, joined);
    gnn_real_t *at = out;
    for (int again = 0; again < 2; again++) {
        at = out;
        ck_ok(gnn_tape_forward(f.tape));
        memcpy(at, gnn_tape_value(f.tape, y).data, sizeof *at * NODES * WIDE);
        at += NODES * WIDE;
        if (!recording)
            continue;
        for (int p = 0; p < 2; p++) {
            const gnn_tensor_t d = gnn_parameters_gradient(f.parameters, p);
            memset(d.data, 0, sizeof *d.data * (size_t)(d.rows * d.cols));
        }
        ck_ok(gnn_tape_backward(f.tape, y, NULL));
        const gnn_tensor_t d[] = {gnn_tape_gradient(f.tape, input),
                                  gnn_parameters_gradient(f.parameters, 0),
                                  gnn_parameters_gradient(f.parameters, 1)};
        for (int k = 0; k < 3; at += d[k].rows * d[k].cols, k++)
            memcpy(at, d[k].data, sizeof *at * (size_t)(d[k].rows * d[k].cols));
    }
    int done = 0;
    for (int32_t k = 0; k < f.tape->n_nodes; k++)
        done += f.tape->nodes[k]->forward_fused;
    ck_assert_int_eq(done, joined ? how->summand + how->biased : 0);
    tear_down(&f);
    return at - out;
}

START_TEST(aggregation_fuses_its_epilogue)
{
    const finishing_t all[] = {{"sum", GNN_RELU, (gnn_real_t)0.4, true, true},
                               {"mean", GNN_ELU, (gnn_real_t)0.4, true, true},
                               {"mean", GNN_LEAKY_RELU, 0, false, true},
                               {"sum", GNN_IDENTITY, 0, true, true},
                               {"mean", GNN_IDENTITY, 0, true, false}};
    gnn_graph_t *graph = graph_of(EDGES);
    gnn_real_t *x = test_reals(NODES * 9, 4), *out = test_reals(2 * 4000, 5);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (int recording = 0; recording < 2; recording++) {
            const int64_t n = run_finishing(&all[k], graph, recording, true, x, out);
            ck_assert_int_eq(run_finishing(&all[k], graph, recording, false, x, out + 4000), n);
            ck_assert_double_lt(test_error(out, out + 4000, n), TOLERANCE_OUT);
        }
    free(x);
    free(out);
    gnn_graph_free(graph);
}
END_TEST

/* One receiver: its row and the bias have one shape, and f follows all the same. */
START_TEST(one_receiver_fuses_its_epilogue)
{
    enum { SENDERS = 5 };
    const int64_t src[SENDERS] = {0, 1, 2, 3, 4}, dst[SENDERS] = {0};
    gnn_graph_t *graph;
    ck_ok(gnn_graph_from_edges(&graph, 1, SENDERS, SENDERS, src, dst));
    gnn_real_t *memory = test_reals((SENDERS + 1) * WIDE, 4);
    const gnn_tensor_t x = gnn_tensor(memory, SENDERS, WIDE),
                       b = gnn_tensor(memory + SENDERS * WIDE, 1, WIDE);
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 0, 0);
    ck_ok(gnn_graph_prepare(graph, &(gnn_view_t){0}));
    const gnn_var_t rows = gnn_tape_input(f.tape, &x, 0), bias = gnn_tape_input(f.tape, &b, 0),
                    sum = gnn_tape_add(f.tape, heard(f.tape, "sum", graph, rows), bias, 1),
                    y = gnn__tape_activate(f.tape, sum, GNN_RELU, 0);
    ck_ok(gnn_tape_forward(f.tape));
    ck_assert(f.tape->nodes[1]->forward_fused);
    for (int c = 0; c < WIDE; c++) {
        double expected = (double)b.data[c];
        for (int r = 0; r < SENDERS; r++)
            expected += (double)gnn__row(&x, r)[c];
        ck_assert_double_eq_tol((double)gnn_tape_value(f.tape, y).data[c], fmax(expected, 0), 1e-5);
    }
    tear_down(&f);
    free(memory);
    gnn_graph_free(graph);
}
END_TEST

/* Receivers with 0, 4 or 30 consecutive senders, in a permuted order of senders. */
static gnn_graph_t *spans_of(void)
{
    int32_t dst[NODES], src[NODES], lo[NODES], hi[NODES];
    gnn_graph_t *graph;
    for (int r = 0; r < NODES; r++) {
        dst[r] = r * 11 % NODES;
        src[r] = r * 3 % NODES;
        lo[r] = r / 2;
        hi[r] = r / 2 + (r < 9 ? 0 : r < 40 ? 4 : 30);
    }
    ck_ok(gnn_graph_from_spans(&graph, NODES, NODES, dst, src, lo, hi));
    ck_ok(gnn_graph_prepare(graph, &(gnn_view_t){0}));
    return graph;
}

typedef struct {
    const char *score;
    int64_t heads, d;
    int64_t gap; /* between the rows of y */
    gnn_activation_t f;
} attending_t;

/* f(attention + b) of q, k, v and b in `memory`, into `out`: rows of heads * d with padding. */
static void attend(const gnn_graph_t *graph, const attending_t *how, bool joined,
                   gnn_real_t *memory, gnn_real_t *out)
{
    const int64_t cols = how->heads * how->d,
                  keys = strcmp(how->score, "additive") == 0 ? how->heads : cols;
    const gnn_tensor_t q = gnn_tensor(memory, NODES, keys),
                       k = gnn_tensor(memory + 100, NODES, keys),
                       v = gnn_tensor(memory + 200, NODES, cols),
                       b = gnn_tensor(memory + 300, 1, cols),
                       y = {.rows = NODES, .cols = cols, .stride = cols + how->gap, .data = out};
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 0, 0);
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    no_inputs(in);
    in[GNN_AGGREGATE_QUERY] = gnn_tape_input(f.tape, &q, 0);
    in[GNN_AGGREGATE_KEY] = gnn_tape_input(f.tape, &k, 0);
    in[GNN_AGGREGATE_SRC_MESSAGE] = gnn_tape_input(f.tape, &v, 0);
    const gnn_aggregate_t attention = {.aggregator = &gnn_aggregator_attention,
                                       .score = gnn_score_find(how->score),
                                       .message = gnn_message_find("none"),
                                       .graph = graph,
                                       .shape = {.heads = how->heads, .d_v = how->d}};
    const gnn_var_t sum = passing(f.tape, gnn_tape_aggregate(f.tape, &attention, in), joined),
                    biased = gnn_tape_add(f.tape, sum, gnn_tape_input(f.tape, &b, 0), 1),
                    finished = gnn__tape_activate(f.tape, biased, how->f, 0);
    gnn_tape_bind(f.tape, finished, &y);
    ck_ok(gnn_tape_forward(f.tape));
    int done = 0;
    for (int32_t n = 0; n < f.tape->n_nodes; n++)
        done += f.tape->nodes[n]->forward_fused;
    ck_assert_int_eq(done, joined && gnn__attention_lanes() ? 1 : 0);
    tear_down(&f);
}

/* Receivers of small and large degree, as edges and spans; heads that fill registers, share them,
 * or are copied; contiguous and strided rows. */
START_TEST(attention_fuses_its_epilogue)
{
    enum { GAP = 3, MOST = NODES * (64 + GAP) };
    const attending_t all[] = {
        {"additive", 8, 8, 0, GNN_ELU},      {"additive", 8, 8, GAP, GNN_ELU},
        {"additive", 1, 5, 0, GNN_TANH},     {"additive", 1, 5, GAP, GNN_TANH},
        {"additive", 1, 16, 0, GNN_SIGMOID}, {"additive", 4, 3, 0, GNN_ELU},
        {"additive", 8, 8, 0, GNN_IDENTITY}, {"dot", 2, 5, 0, GNN_TANH},
        {"dot", 1, 5, GAP, GNN_ELU},         {"dot", 8, 8, 0, GNN_RELU}};
    gnn_graph_t *const graphs[] = {graph_of(EDGES), graph_of(MANY_EDGES), spans_of()};
    gnn_real_t *memory = test_reals(300 + NODES * 64, 4), *out = test_reals(2 * MOST, 5);
    for (int g = 0; g < 3; g++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            if (g == 2 && strcmp(all[k].score, "dot") == 0)
                continue; /* tiles finish nothing */
            const int64_t numbers = NODES * (all[k].heads * all[k].d + all[k].gap) - all[k].gap;
            memcpy(out + MOST, out, MOST * sizeof *out); /* padding is unchanged */
            attend(graphs[g], &all[k], true, memory, out);
            attend(graphs[g], &all[k], false, memory, out + MOST);
            ck_assert_double_lt(test_error(out, out + MOST, numbers), TOLERANCE_OUT);
        }
    free(memory);
    free(out);
    for (int g = 0; g < 3; g++)
        gnn_graph_free(graphs[g]);
}
END_TEST

/* The second product is added to the first one's. */
START_TEST(a_sum_of_two_products_shares_memory)
{
    gnn_real_t *memory = test_reals(NODES * 12, 4), results[2][2 * NODES * 6 + 36 + 6];
    const gnn_tensor_t x = gnn_tensor(memory, NODES, 6), z = gnn_tensor(memory + NODES * 6, NODES, 6);
    for (int joined = 0; joined < 2; joined++) {
        int32_t id;
        fixture_t f = set_up();
        ck_ok(gnn_parameters_add(f.parameters, "w", 6, 6, GNN_INIT_GLOROT, 0, 0, 0, &id));
        ck_ok(gnn_parameters_add(f.parameters, "b", 1, 6, GNN_INIT_NORMAL, 0.5, 0, 0, &id));
        ck_ok(gnn_parameters_allocate(f.parameters, f.context));
        gnn_tape_reset(f.tape, 1, 0);
        const gnn_var_t w = gnn_tape_parameter(f.tape, f.parameters, 0),
                        b = gnn_tape_parameter(f.tape, f.parameters, 1),
                        in = gnn_tape_input(f.tape, &x, 1),
                        first = gnn_tape_linear(f.tape, in, w, b),
                        second = gnn_tape_linear(f.tape, gnn_tape_input(f.tape, &z, 0), w, GNN_NONE);
        const gnn_var_t sum = gnn_tape_add(f.tape, passing(f.tape, second, joined),
                                           passing(f.tape, first, joined), 1),
                        y = gnn_tape_activation(f.tape, sum, GNN_TANH, 0);
        ck_ok(gnn_tape_forward(f.tape));
        ck_ok(gnn_tape_backward(f.tape, y, NULL));
        ck_assert_int_eq(f.tape->nodes[f.tape->values[sum].node]->forward_fused, joined);
        ck_assert_int_eq(gnn_tape_value(f.tape, sum).data == NULL, true);
        memcpy(results[joined], gnn_tape_value(f.tape, y).data, sizeof(gnn_real_t) * NODES * 6);
        memcpy(results[joined] + NODES * 6, gnn_tape_gradient(f.tape, in).data,
               sizeof(gnn_real_t) * NODES * 6);
        memcpy(results[joined] + 2 * NODES * 6, gnn_parameters_gradient(f.parameters, 0).data,
               sizeof(gnn_real_t) * 36);
        memcpy(results[joined] + 2 * NODES * 6 + 36, gnn_parameters_gradient(f.parameters, 1).data,
               sizeof(gnn_real_t) * 6);
        tear_down(&f);
    }
    ck_assert_double_lt(test_error(results[0], results[1], 2 * NODES * 6 + 42), TOLERANCE_OUT);
    free(memory);
}
END_TEST

/* x + the sum of x over neighbours, in x's own memory: no op may be fused that reads x after the
 * write. */
START_TEST(elementwise_results_reuse_memory_of_inputs)
{
    gnn_graph_t *graph = graph_of(EDGES);
    gnn_real_t *memory = test_reals(NODES * WIDE, 4), expected[NODES * WIDE];
    for (int own = 0; own < 2; own++) {
        fixture_t f = set_up();
        const gnn_tensor_t x = gnn_tensor(memory, NODES, WIDE),
                           out = gnn_tensor(own ? memory : expected, NODES, WIDE);
        gnn_tape_reset(f.tape, 0, 0);
        const gnn_var_t rows = gnn_tape_input(f.tape, &x, 0),
                        y = gnn_tape_add(f.tape, heard(f.tape, "sum", graph, rows), rows, 1);
        gnn_tape_bind(f.tape, y, &out);
        ck_ok(gnn_tape_forward(f.tape));
        ck_assert_int_eq(f.tape->nodes[1]->forward_fused, !own);
        tear_down(&f);
    }
    ck_assert_double_lt(test_error(memory, expected, NODES * WIDE), TOLERANCE_OUT);
    free(memory);
    gnn_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tape_plan");
    TCase *c = tcase_create("plan");
    tcase_add_test(c, fused_dropout_draws_the_same_mask);
    tcase_add_test(c, ops_are_fused_again_in_every_plan);
    tcase_add_test(c, a_sum_and_its_summands_share_a_gradient);
    tcase_add_test(c, aggregation_fuses_its_epilogue);
    tcase_add_test(c, one_receiver_fuses_its_epilogue);
    tcase_add_test(c, attention_fuses_its_epilogue);
    tcase_add_test(c, a_sum_of_two_products_shares_memory);
    tcase_add_test(c, elementwise_results_reuse_memory_of_inputs);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
