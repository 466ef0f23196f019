/* Linear attention (the weighers linear, decay and ratio, with maps and factors) on spans against
 * the same pairs as edges, which the reference runs: long causal rows, windows, spans of any length
 * with empty ones among them. */
#include "support.h"

#include <gnn/gnn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, FACTORS, INPUTS = FACTORS + GNN_PRIORS + 1 };
enum { MOST_FEATURES = 12 };

/* Weights as functions of products. */
typedef struct form {
    const gnn_weigher_t *weigher;
    const gnn_prior_t *prior[GNN_PRIORS];
    const gnn_map_t *map;
    double map_options[GNN_ROW_OPTIONS];
} form_t;

typedef struct sizes {
    int64_t heads, shared, d_k, d_v;
} sizes_t;

/* One run: its inputs are drawn by the seed, so that two runs read the same values. */
typedef struct run {
    gnn_context_t *context;
    gnn_tape_t *tape;
    gnn_tensor_t out, gradient[INPUTS]; /* copies */
    int count;                          /* of gradients */
} run_t;

static double drawn(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (double)(1 << 24) * 2 - 1;
}

static gnn_tensor_t normal_rows(int64_t rows, int64_t cols, uint64_t seed)
{
    gnn_real_t *data = malloc(sizeof *data * (size_t)(rows * cols + 1));
    for (int64_t k = 0; k < rows * cols; k++)
        data[k] = (gnn_real_t)drawn(&seed);
    return gnn_tensor(data, rows, cols);
}

static gnn_tensor_t copy_of(gnn_tensor_t t)
{
    gnn_real_t *data = malloc(sizeof *data * (size_t)(t.rows * t.cols + 1));
    for (int64_t r = 0; r < t.rows; r++)
        memcpy(data + r * t.cols, t.data + r * t.stride, sizeof *data * (size_t)t.cols);
    return gnn_tensor(data, t.rows, t.cols);
}

/* Gates and slopes let weights decay, as they do in models. */
static gnn_tensor_t factors_of(const gnn_prior_t *prior, const gnn_graph_t *g, int64_t heads)
{
    const int64_t rows = prior == &gnn_prior_slope      ? 1
                         : prior == &gnn_prior_receiver ? gnn_graph_n_dst(g)
                                                        : gnn_graph_n_src(g);
    gnn_tensor_t t = normal_rows(rows, heads, 5);
    for (int64_t k = 0; k < rows * heads; k++) {
        const gnn_real_t x = t.data[k];
        t.data[k] = prior == &gnn_prior_decay   ? (x - 1) / 4
                    : prior == &gnn_prior_slope ? (x + 2) / 50
                                                : 2 * x;
    }
    return t;
}

static gnn_aggregate_t settings(const gnn_graph_t *g, sizes_t s, const form_t *form)
{
    gnn_aggregate_t how = {.aggregator = &gnn_aggregator_attention,
                           .message = gnn_message_find("none"),
                           .weigher = form->weigher,
                           .map = form->map,
                           .graph = g,
                           .shape = {.heads = s.heads,
                                     .key_heads = s.shared,
                                     .value_heads = s.shared,
                                     .d_k = s.d_k,
                                     .d_v = s.d_v,
                                     .scale = (gnn_real_t)0.25}};
    memcpy(how.map_options, form->map_options, sizeof how.map_options);
    for (int p = 0; p < GNN_PRIORS; p++)
        how.priors[p].row = form->prior[p];
    return how;
}

/* Rows that keep sums of weights away from 0 where these are divided by. */
static void keep_positive(gnn_tensor_t t, const form_t *form)
{
    for (int64_t k = 0; form->weigher == &gnn_weigher_ratio && k < t.rows * t.cols; k++)
        t.data[k] = (gnn_real_t)(0.1 + fabs((double)t.data[k]));
}

/* `bad`: the row of a sender whose values are NaN; -1: none. */
static run_t run_new(const gnn_graph_t *g, sizes_t s, const form_t *form, int threads, int64_t bad)
{
    run_t r = {0};
    const gnn_aggregate_t how = settings(g, s, form);
    const int64_t n = gnn_graph_n_dst(g), m = gnn_graph_n_src(g);
    gnn_tensor_t x[INPUTS] = {normal_rows(n, s.heads * s.d_k, 1), normal_rows(m, s.shared * s.d_k, 2),
                              normal_rows(m, s.shared * s.d_v, 3)},
                 d_out = normal_rows(n, s.heads * s.d_v, 4);
    gnn_var_t in[GNN_AGGREGATE_INPUTS], leaves[INPUTS] = {0};
    int count = FACTORS;
    keep_positive(x[Q], form);
    keep_positive(x[K], form);
    if (bad >= 0)
        x[V].data[bad * x[V].stride] = (gnn_real_t)NAN;
    ck_ok(gnn_context_new(&r.context, &(gnn_context_config_t){.threads = threads}));
    ck_ok(gnn_tape_new(&r.tape, r.context));
    gnn_tape_reset(r.tape, 1, 0);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    for (int p = 0; p < GNN_PRIORS; p++)
        if (form->prior[p]) {
            x[count] = factors_of(form->prior[p], g, s.heads);
            leaves[count] = gnn_tape_input(r.tape, &x[count], 1);
            in[GNN_AGGREGATE_PRIOR_0 + p] = leaves[count++];
        }
    if (form->map && form->map->declare) {
        x[count] = normal_rows(s.d_k, MOST_FEATURES, 6);
        leaves[count] = gnn_tape_input(r.tape, &x[count], 1);
        in[GNN_AGGREGATE_MAP_PARAMETERS] = leaves[count++];
    }
    for (int k = 0; k < FACTORS; k++)
        leaves[k] = gnn_tape_input(r.tape, &x[k], 1);
    in[GNN_AGGREGATE_QUERY] = leaves[Q];
    in[GNN_AGGREGATE_KEY] = leaves[K];
    in[GNN_AGGREGATE_SRC_MESSAGE] = leaves[V];
    const gnn_var_t out = gnn_tape_aggregate(r.tape, &how, in);
    gnn_tape_keep(r.tape, out);
    ck_ok(gnn_tape_status(r.tape));
    ck_ok(gnn_tape_forward(r.tape));
    r.out = copy_of(gnn_tape_value(r.tape, out));
    ck_ok(gnn_tape_backward(r.tape, out, &d_out));
    r.count = count;
    for (int k = 0; k < count; k++) {
        r.gradient[k] = copy_of(gnn_tape_gradient(r.tape, leaves[k]));
        free(x[k].data);
    }
    free(d_out.data);
    return r;
}

static void run_free(run_t *r)
{
    free(r->out.data);
    for (int k = 0; k < r->count; k++)
        free(r->gradient[k].data);
    gnn_tape_free(r->tape);
    gnn_context_free(r->context);
}

static void ck_near(const gnn_tensor_t *a, const gnn_tensor_t *b, const char *what)
{
    double largest = 0, off = 0;
    for (int64_t k = 0; k < a->rows * a->cols; k++) {
        ck_assert_msg(isnan(a->data[k]) == isnan(b->data[k]), "%s: element %lld is %g, expected %g",
                      what, (long long)k, (double)a->data[k], (double)b->data[k]);
        if (isnan(a->data[k]))
            continue;
        largest = fmax(largest, fabs((double)b->data[k]));
        off = fmax(off, fabs((double)a->data[k] - (double)b->data[k]));
    }
    ck_assert_msg(off <= 2e-5 * (largest > 0 ? largest : 1), "%s: off by %g of %g", what, off,
                  largest);
}

static void ck_runs_near(const run_t *a, const run_t *b)
{
    static const char *const names[] = {"d_q", "d_k", "d_v"};
    ck_near(&a->out, &b->out, "y");
    for (int k = 0; k < a->count; k++)
        ck_near(&a->gradient[k], &b->gradient[k], k < FACTORS ? names[k] : "d_factors");
}

static bool same(const gnn_tensor_t *a, const gnn_tensor_t *b)
{
    return memcmp(a->data, b->data, sizeof *a->data * (size_t)(a->rows * a->cols)) == 0;
}

/* ---- graphs ---- */

static gnn_graph_t *causal(void)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_causal(&g, 4, (int64_t[]){1, 70, 3, 260}));
    return g;
}

static gnn_graph_t *complete(void)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_complete(&g, 3, (int64_t[]){5, 1, 150}));
    return g;
}

static gnn_graph_t *window(void)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_window(&g, 2, (int64_t[]){90, 300}, 20, 1, GNN_OFF));
    return g;
}

static gnn_graph_t *wide_causal_window(void)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_window(&g, 1, (int64_t[]){400}, 150, 1, GNN_ON));
    return g;
}

static gnn_graph_t *bipartite(void)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_bipartite(&g, 3, (int64_t[]){130, 2, 0}, (int64_t[]){40, 200, 7}));
    return g;
}

/* Spans that grow by steps of any size, some of them empty. */
static gnn_graph_t *any_spans(void)
{
    enum { N = 300, M = 260 };
    int32_t lo[N], hi[N];
    uint64_t state = 5;
    int32_t a = 0, b = 0;
    gnn_graph_t *g;
    for (int i = 0; i < N; i++) {
        a += drawn(&state) > 0.4 ? (int32_t)(3 * fabs(drawn(&state))) : 0;
        b += drawn(&state) > 0.2 ? (int32_t)(5 * fabs(drawn(&state))) : 0;
        b = b > M ? M : b;
        a = a > b || i % 40 == 17 ? b : a; /* an empty span */
        lo[i] = a;
        hi[i] = b;
    }
    ck_ok(gnn_graph_from_spans(&g, N, M, NULL, NULL, lo, hi));
    return g;
}

/* Ends of spans come closer: the last receivers have few senders. */
static gnn_graph_t *shrinking(void)
{
    enum { N = 200 };
    int32_t lo[N], hi[N];
    gnn_graph_t *g;
    for (int i = 0; i < N; i++) {
        lo[i] = i;
        hi[i] = N;
    }
    ck_ok(gnn_graph_from_spans(&g, N, N, NULL, NULL, lo, hi));
    return g;
}

static gnn_graph_t *(*const graphs[])(void) = {causal,    complete,  window,   wide_causal_window,
                                               bipartite, any_spans, shrinking};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

static const sizes_t sizes[] = {{1, 1, 8, 8}, {4, 2, 19, 24}, {3, 3, 64, 5}, {2, 1, 1, 1}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static gnn_graph_t *graph_at(int k)
{
    gnn_graph_t *g = graphs[k]();
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.backward = GNN_ON}));
    return g;
}

/* ---- tests ---- */

static const form_t linear = {.weigher = &gnn_weigher_linear};
static const form_t forms[] = {
    {.weigher = &gnn_weigher_decay},
    {.weigher = &gnn_weigher_ratio},
    {.weigher = &gnn_weigher_decay, .prior = {&gnn_prior_receiver}},
    {.weigher = &gnn_weigher_decay, .prior = {&gnn_prior_sender, &gnn_prior_slope}},
    {.weigher = &gnn_weigher_ratio, .prior = {&gnn_prior_slope}},
    {.weigher = &gnn_weigher_decay, .prior = {&gnn_prior_receiver, NULL, &gnn_prior_sender}},
    {.weigher = &gnn_weigher_decay, .prior = {&gnn_prior_decay}},
    {.weigher = &gnn_weigher_ratio, .prior = {&gnn_prior_decay, &gnn_prior_sender}},
    {.weigher = &gnn_weigher_ratio, .map = &gnn_map_elu1},
    {.weigher = &gnn_weigher_ratio, .map = &gnn_map_relu, .map_options = {0.1}},
    {.weigher = &gnn_weigher_ratio, .map = &gnn_map_exp, .prior = {&gnn_prior_slope}},
    {.weigher = &gnn_weigher_ratio, .map = &gnn_map_favor, .map_options = {MOST_FEATURES}},
    {.weigher = &gnn_weigher_ratio, .map = &gnn_map_favor_relu, .map_options = {MOST_FEATURES, 0.1}},
    {.weigher = &gnn_weigher_decay,
     .map = &gnn_map_favor_trigonometric,
     .map_options = {MOST_FEATURES}},
    {.weigher = &gnn_weigher_decay, .map = &gnn_map_rfa, .map_options = {MOST_FEATURES}},
    {.weigher = &gnn_weigher_ratio, .map = &gnn_map_taylor},
    {.weigher = &gnn_weigher_linear, .map = &gnn_map_dpfp},
    {.weigher = &gnn_weigher_decay,
     .map = &gnn_map_cosformer,
     .map_options = {400},
     .prior = {&gnn_prior_decay}},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* Spans give what the same pairs as edges give. Frees g. `bad`: as in run_new. */
static void check_spans(gnn_graph_t *g, sizes_t s, const form_t *form, int64_t bad)
{
    gnn_graph_t *edges;
    ck_ok(gnn_graph_to_edges(&edges, g));
    ck_ok(gnn_graph_prepare(edges, &(gnn_view_t){.backward = GNN_ON}));
    run_t a = run_new(g, s, form, 2, bad), b = run_new(edges, s, form, 2, bad);
    ck_runs_near(&a, &b);
    run_free(&a);
    run_free(&b);
    gnn_graph_free(edges);
    gnn_graph_free(g);
}

START_TEST(spans_equal_edges)
{
    check_spans(graph_at(_i / SIZES), sizes[_i % SIZES], &linear, -1);
}
END_TEST

static bool fits(const gnn_graph_t *g, const form_t *form)
{
    bool gates = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        gates |= form->prior[p] == &gnn_prior_decay;
    return !gates || gnn_graph_n_dst(g) == gnn_graph_n_src(g);
}

START_TEST(forms_on_spans_equal_those_on_edges)
{
    gnn_graph_t *g = graph_at((_i / FORMS + _i % FORMS) % GRAPHS);
    const form_t *form = &forms[_i % FORMS];
    if (fits(g, form))
        check_spans(g, (sizes_t){4, 2, 9, 24}, form, -1);
    else
        gnn_graph_free(g);
}
END_TEST

/* exp of a sum of gates alone would be 0 or infinite long before the last row. */
START_TEST(gates_that_close_lose_no_digits)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_causal(&g, 1, (int64_t[]){500}));
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.backward = GNN_ON}));
    const int64_t n = 500;
    gnn_real_t rows[500], gates[500], values[500];
    gnn_context_t *context;
    gnn_tape_t *tape;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_tape_new(&tape, context));
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    double state = 0;
    for (int64_t i = 0; i < n; i++) {
        rows[i] = 1;
        values[i] = (gnn_real_t)(i % 7 + 1);
        gates[i] = (gnn_real_t)(i % 3 == 0 ? -40 : -0.125);
    }
    const gnn_tensor_t x = gnn_tensor(rows, n, 1), v = gnn_tensor(values, n, 1),
                       c = gnn_tensor(gates, n, 1);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    in[GNN_AGGREGATE_QUERY] = in[GNN_AGGREGATE_KEY] = gnn_tape_input(tape, &x, 0);
    in[GNN_AGGREGATE_SRC_MESSAGE] = gnn_tape_input(tape, &v, 0);
    in[GNN_AGGREGATE_PRIOR_0] = gnn_tape_input(tape, &c, 0);
    const form_t form = {.weigher = &gnn_weigher_decay, .prior = {&gnn_prior_decay}};
    gnn_aggregate_t how = settings(g, (sizes_t){1, 1, 1, 1}, &form);
    how.shape.scale = 1;
    const gnn_var_t y = gnn_tape_aggregate(tape, &how, in);
    gnn_tape_keep(tape, y);
    ck_ok(gnn_tape_forward(tape));
    for (int64_t i = 0; i < n; i++) {
        state = state * exp((double)gates[i]) + (double)values[i];
        ck_assert_double_eq_tol((double)gnn_tape_value(tape, y).data[i], state, 2e-6 * state);
    }
    gnn_tape_free(tape);
    gnn_context_free(context);
    gnn_graph_free(g);
}
END_TEST

START_TEST(same_bits_with_one_and_three_threads)
{
    gnn_graph_t *g = graph_at(_i % GRAPHS);
    const form_t *form = _i < GRAPHS ? &linear : &forms[5];
    run_t a = run_new(g, sizes[1], form, 1, -1), b = run_new(g, sizes[1], form, 3, -1);
    ck_assert(same(&a.out, &b.out));
    for (int k = 0; k < a.count; k++)
        ck_assert(same(&a.gradient[k], &b.gradient[k]));
    run_free(&a);
    run_free(&b);
    gnn_graph_free(g);
}
END_TEST

/* A NaN reaches the receivers of its sender, and no others. */
START_TEST(nan_stays_in_its_spans)
{
    check_spans(graph_at(_i), sizes[1], &linear, 30);
}
END_TEST

/* A map that makes rows too wide, or a prior of other rows, is refused by name. */
START_TEST(widths_that_do_not_fit_are_refused)
{
    const struct {
        const gnn_map_t *map;
        const gnn_prior_t *prior;
        int64_t d_k;
        const char *says;
    } cases[] = {{&gnn_map_taylor, NULL, 128, "map taylor makes 8385 values of a head of 128"},
                 {&gnn_map_dpfp, &gnn_prior_keys, 8, "map dpfp changes the width"}};
    gnn_layer_config_t resolved, config = {.in = 64,
                                           .out = 64,
                                           .heads = 1,
                                           .aggregator = &gnn_aggregator_attention,
                                           .map = cases[_i].map,
                                           .d_k = cases[_i].d_k,
                                           .priors = {{.prior = cases[_i].prior}}};
    ck_assert_int_eq(gnn_layer_config_resolve(&resolved, &config), GNN_EUNSUPPORTED);
    ck_assert_msg(strstr(gnn_error_message(), cases[_i].says), "%s", gnn_error_message());
}
END_TEST

/* A head per column, as the states of Mamba have it: 5,120 are those of a model of width 2,560. */
enum { WIDE_ROWS = 9, WIDE = 5120 };

static void run_wide(gnn_context_t *context, const gnn_real_t *x, int64_t heads, gnn_real_t *out)
{
    const int64_t rows = WIDE_ROWS;
    gnn_model_t *model;
    gnn_graph_t *graph;
    gnn_steps_t *steps;
    ck_ok(gnn_steps_new(&steps));
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_SCALE,
                                             .name = "gates",
                                             .inputs = {"x"},
                                             .factor = (gnn_real_t)0.25}));
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                             .query = "x",
                                             .key = "x",
                                             .inputs = {"x"},
                                             .priors = {"gates"},
                                             .layer = {.in = heads,
                                                       .heads = heads,
                                                       .d_k = 1,
                                                       .d_v = 1,
                                                       .scale = 1,
                                                       .aggregator = &gnn_aggregator_attention,
                                                       .weigher = &gnn_weigher_decay,
                                                       .priors = {{.prior = &gnn_prior_decay}}}}));
    ck_ok(gnn_model_build(&model, context, steps));
    ck_ok(gnn_graph_causal(&graph, 1, &rows));
    ck_ok(gnn_model_prepare(model, 0, graph, GNN_OFF));
    const gnn_tensor_t in = {(gnn_real_t *)x, rows, heads, WIDE}, y = {out, rows, heads, WIDE};
    ck_ok(gnn_model_predict(model, context, graph, &in, NULL, &y));
    gnn_graph_free(graph);
    gnn_model_free(model);
    gnn_steps_free(steps);
}

START_TEST(thousands_of_heads_are_those_of_two_halves)
{
    gnn_context_t *context;
    gnn_tensor_t x = normal_rows(WIDE_ROWS, WIDE, 8);
    gnn_real_t *out[2] = {calloc(WIDE_ROWS * WIDE, sizeof *out[0]),
                          calloc(WIDE_ROWS * WIDE, sizeof *out[0])};
    for (int64_t k = 0; k < WIDE_ROWS * WIDE; k++)
        x.data[k] = (x.data[k] - 1) / 2;
    ck_ok(gnn_context_new(&context, NULL));
    run_wide(context, x.data, WIDE, out[0]);
    for (int half = 0; half < 2; half++)
        run_wide(context, x.data + half * WIDE / 2, WIDE / 2, out[1] + half * WIDE / 2);
    ck_assert_mem_eq(out[0], out[1], sizeof *out[0] * WIDE_ROWS * WIDE);
    gnn_context_free(context);
    free(x.data);
    free(out[0]);
    free(out[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("linear_attention");
    TCase *c = tcase_create("linear_attention");
    tcase_add_test(c, thousands_of_heads_are_those_of_two_halves);
    tcase_add_loop_test(c, spans_equal_edges, 0, GRAPHS * SIZES);
    tcase_add_loop_test(c, forms_on_spans_equal_those_on_edges, 0,
                        test_small() ? FORMS : GRAPHS * FORMS);
    tcase_add_test(c, gates_that_close_lose_no_digits);
    tcase_add_loop_test(c, same_bits_with_one_and_three_threads, 0, 2 * GRAPHS);
    tcase_add_loop_test(c, nan_stays_in_its_spans, 0, GRAPHS);
    tcase_add_loop_test(c, widths_that_do_not_fit_are_refused, 0, 2);
    suite_add_tcase(s, c);
    return test_main(s);
}
