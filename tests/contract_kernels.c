/* Sizes that kernels cut into tiles, blocks and chunks; threads; and what a run computes when it
 * need not compute everything. */
#include "contract.h"

#include <lib/aggregate/hints.h>
#include <lib/kernels/attention/attention.h>

static bool has_kernels(combination_t c)
{
    const gnn__hints_t hints = gnn__hints_of(&(gnn_aggregate_t){
        .aggregator = c.aggregator, .message = &gnn_message_linear, .score = c.score});
    return c.score ? hints.score != GNN__SCORE_OTHER : hints.reduction != GNN__REDUCTION_OTHER;
}

/* ---- sizes around tiles ---- */

/* Rows with kernels of their own, messages that kernels read in place, every size with every head
 * width, over alternating graphs and heads. */
START_TEST(kernels_at_every_size_and_width)
{
    static const int64_t sizes[] = {63, 64, 65, 127, 128, 129, 257}, widths[] = {1, 3, 6, 8, 64};
    size_t turn = 0;
    contract_open(2);
    for (size_t a = 0; a < combination_count(); a++)
        for (size_t k = 0; has_kernels(combination_at(a)) && k < 35; k++, turn++) {
            uint64_t seed = test_seed() + 1000 * a + k;
            int64_t n = sizes[k % 7];
            if (test_small() && (turn % 4 != 0 || n > 65))
                continue;
            size_t kind = turn % contract_graph_count();
            contract_case_t c = contract_case(k % 2, a, contract_graph(kind, n, seed),
                                              contract_graph_name(kind), seed);
            ck_assert(gnn__message_is_sender(c.message));
            c.d_v = widths[k % 5];
            c.d_k = turn % 3 ? c.d_v : widths[turn % 4];
            c.heads = contract_scored(&c) ? 1 << turn % 3 : 1;
            c.kv_heads = turn / 4 % 2 ? (c.heads + 1) / 2 : c.heads;
            c.dropout = contract_scored(&c) && turn % 2 ? 0.3 : 0;
            contract_check(&c);
            gnn_graph_t *edges = contract_edges_of(c.graph);
            gnn_graph_free(c.graph);
            c.graph = edges;
            c.weight = turn % 5 < 3;
            c.bias = contract_scored(&c) ? (edge_bias_t)(turn % 3) : BIAS_NONE;
            c.view.norm = turn % 7 < 2 ? GNN_GRAPH_NORM_ROW : GNN_GRAPH_NORM_NONE;
            contract_check(&c);
            gnn_graph_free(edges);
        }
    contract_close();
    contract_assert("kernels at every size and width");
}
END_TEST

/* ---- graphs that are cut into many chunks ---- */

static gnn_graph_t *long_graph(int which, uint64_t seed)
{
    const int64_t lengths[] = {2500, 0, 1, 1900};
    gnn_graph_t *spans = NULL, *edges = NULL, *both = NULL;
    switch (which) {
    case 0: ck_ok(gnn_graph_window(&spans, 4, lengths, 5, 1, GNN_OFF)); return spans;
    case 1: return contract_random_spans(4000, 3500, seed);
    case 2: return contract_random_edges(3000, 2500, 20000, seed);
    case 3: ck_ok(gnn_graph_causal(&spans, 2, (const int64_t[]){60, 1250})); return spans;
    }
    ck_ok(gnn_graph_window(&spans, 4, lengths, 2, 3, GNN_ON));
    edges = contract_random_edges(4401, 4401, 9000, seed);
    ck_ok(gnn_graph_merge(&both, 2, (const gnn_graph_t *const[]){edges, spans}));
    gnn_graph_free(spans);
    gnn_graph_free(edges);
    return both;
}

/* The causal graph, of 800,000 pairs, is for the sliding sums and for one attention. */
static void check_long(int which, size_t m, size_t a)
{
    uint64_t seed = test_seed() + 10 * a + (uint64_t)which;
    contract_case_t c = contract_case(m, a, long_graph(which, seed), "long", seed);
    c.d_v = c.d_k = which == 3 ? 1 : 3;
    if (which == 3)
        c.heads = c.kv_heads = 1;
    if (m > 1)
        contract_draw_switches(&c, true);
    contract_check(&c);
    gnn_graph_free(c.graph);
}

START_TEST(chunk_boundaries_give_the_same_rows)
{
    contract_open(2);
    for (int which = 0; which < (test_small() ? 0 : 5); which++)
        for (size_t a = 0; a < combination_count(); a++) {
            if (which != 3 || a < 2 || strcmp(combination_at(a).name, "dot") == 0)
                check_long(which, a % 2, a);
            if (which != 3)
                check_long(which, 2 + (a + (size_t)which) % (message_count() - 2), a);
        }
    contract_close();
    if (!test_small())
        contract_assert("graphs of many chunks");
}
END_TEST

/* ---- threads ---- */

static void compare_bits(const contract_run_t *a, const contract_run_t *b, const char *what)
{
    size_t bytes = sizeof(gnn_real_t) * (size_t)(a->n_dst * a->out_width);
    contract_judge(&a->c, "output", memcmp(a->out, b->out, bytes) != 0, 0, what);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        if (a->grad[k] && (a->wanted & b->wanted) >> k & 1)
            contract_judge(&a->c, contract_input_name(k),
                           memcmp(a->grad[k], b->grad[k],
                                  sizeof(gnn_real_t) * (size_t)(a->in[k].rows * a->in[k].cols)) != 0,
                           0, what);
}

static void open_threads(int threads, gnn_precision_t level)
{
    if (level == GNN_PRECISION_HIGHEST)
        contract_open(threads);
    else
        contract_open_at(threads, level);
}

/* A graph large enough for several threads; its case runs with 1, 2 and 4. */
static void check_threads(contract_case_t c, gnn_precision_t level)
{
    contract_run_t *runs[3];
    ck_ok(gnn_graph_prepare(c.graph, &c.view));
    for (int k = 0; k < 3; k++) {
        open_threads(1 << k, level);
        runs[k] = contract_run_new(&c);
        contract_library(runs[k]);
        contract_close();
    }
    compare_bits(runs[0], runs[1], "bits with two threads");
    compare_bits(runs[0], runs[2], "bits with four threads");
    for (int k = 0; k < 3; k++)
        contract_run_free(runs[k]);
}

static gnn_graph_t *threads_graph(uint64_t variant, uint64_t seed)
{
    const int64_t n = test_small() ? 20 : 300, long_ones[] = {4 * n, 3 * n};
    gnn_graph_t *g = NULL;
    switch (variant) {
    case 0: return contract_random_edges(n, n, 12 * n, seed);
    case 1: return contract_random_spans(10 * n, 9 * n, seed);
    case 2: return contract_random_merge(n, 2, seed);
    default: ck_ok(gnn_graph_window(&g, 2, long_ones, 4, 1, GNN_OFF)); return g;
    }
}

START_TEST(same_bits_with_one_two_and_four_threads)
{
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            for (uint64_t variant = 0; variant < 4; variant++) {
                if (test_small() && (m + a + variant) % 4 != 0)
                    continue;
                uint64_t seed = test_seed() + 21 * m + a + 1000 * variant;
                gnn_graph_t *g = threads_graph(variant, seed);
                contract_case_t c = contract_case(m, a, g, "threads", seed);
                c.d_v = c.d_k = variant == 2 ? 16 : 5;
                contract_draw_switches(&c, true);
                c.dropout = contract_scored(&c) ? 0.4 : 0;
                check_threads(c, GNN_PRECISION_HIGHEST);
                gnn_graph_free(g);
            }
    contract_assert("1, 2 and 4 threads");
}
END_TEST

/* Keys by distance in tiles, whose sums by distance belong to chunks; and with a cap. */
START_TEST(keys_same_bits_on_all_threads)
{
    for (int k = 0; k < 4; k++) {
        const int64_t n = test_small() ? 60 : 700;
        gnn_graph_t *g = NULL;
        ck_ok(k % 2 ? gnn_graph_causal(&g, 1, &n) : gnn_graph_complete(&g, 1, &n));
        contract_case_t c = contract_case_of("dot", g, "keys, threads", test_seed() + (uint64_t)k);
        c.priors[0] = (gnn_prior_use_t){&gnn_prior_keys, {k < 2 ? 1500 : 12}};
        c.priors[0].options[3] = k == 2;
        c.prior_query = k == 1;
        c.softcap = k == 3 ? 0.8 : 0;
        c.dropout = 0.3;
        check_threads(c, GNN_PRECISION_HIGHEST);
        gnn_graph_free(g);
    }
    contract_assert("keys on 1, 2 and 4 threads");
}
END_TEST

/* Rows of one head may be read where they are: with few edges, more than a block of them, in
 * several parts. */
static gnn_graph_t *narrow_graph(size_t turn, uint64_t seed)
{
    const int64_t n = test_small() ? 9 : 60;
    switch (turn % 3) {
    case 0: return contract_random_edges(n, n + 7, 3 * n, seed);
    case 1: return contract_random_edges(n / 2, n, 90 * n, seed);
    default: return contract_random_merge(n, 3, seed);
    }
}

/* Against the oracle, and the same bits on all threads; frees the graph. */
static void check_small_heads(contract_case_t c)
{
    contract_open(2);
    contract_check(&c);
    contract_close();
    check_threads(c, GNN_PRECISION_HIGHEST);
    gnn_graph_free(c.graph);
}

START_TEST(one_narrow_head)
{
    static const int64_t widths[] = {1, 2, 3, 7, 8, 15, 16, 17};
    for (size_t turn = 0; turn < 96; turn += test_small() ? 5 : 1) {
        const uint64_t seed = test_seed() + 7 * turn;
        contract_case_t c = contract_case_of("additive", narrow_graph(turn, seed), "narrow", seed);
        c.values = (values_t)(turn / 6 % 3);
        c.d_v = widths[turn / 3 % 8];
        c.heads = c.kv_heads = 1;
        c.dropout = turn % 2 ? 0.3 : 0;
        c.strided = turn % 4 < 2;
        check_small_heads(c);
    }
    contract_assert("one head of a few numbers");
}
END_TEST

/* Narrow heads that together fill registers may be read in place; shapes that almost do, and dense
 * graphs, may not. Nodes with more than a block of senders or receivers. */
static gnn_graph_t *shared_graph(size_t turn, uint64_t seed)
{
    const int64_t n = test_small() ? 9 : 60;
    switch (turn % 5) {
    case 2: return contract_random_edges(3, 3 * n, 11 * n, seed);
    case 3: return contract_random_edges(3 * n, 3, 11 * n, seed);
    default: return narrow_graph(turn % 5 < 2 ? turn % 5 : 2, seed);
    }
}

START_TEST(small_heads_that_share_registers)
{
    static const int64_t shapes[][2] = {{8, 8}, {4, 8}, {8, 4}, {8, 2},
                                        {4, 4}, {4, 2}, {2, 8}, {7, 8}};
    for (size_t turn = 0; turn < 80; turn += test_small() ? 3 : 1) {
        const uint64_t seed = test_seed() + 7 * turn;
        contract_case_t c = contract_case_of("additive", shared_graph(turn, seed), "shared", seed);
        c.heads = c.kv_heads = shapes[turn / 5 % 8][0];
        c.d_v = shapes[turn / 5 % 8][1];
        c.dropout = turn % 2 ? 0.3 : 0;
        c.strided = turn % 4 < 2;
        check_small_heads(c);
    }
    contract_assert("small heads that share registers");
}
END_TEST

/* Dot and additive-v2 scores: one narrow head has pairs in SIMD lanes if degrees are large, heads
 * that fill four registers stay in registers; and neighbouring shapes. Keys may be the values. */
START_TEST(scores_of_rows_in_every_layout)
{
    static const int64_t shapes[][3] = {{1, 2, 2},  {1, 1, 1}, {1, 3, 7}, {1, 16, 16}, {1, 17, 2},
                                        {1, 2, 17}, {8, 8, 8}, {4, 8, 8}, {8, 8, 2},   {7, 8, 8}};
    for (size_t turn = 0; turn < 200; turn += test_small() ? 7 : 1) {
        const uint64_t seed = test_seed() + 7 * turn;
        contract_case_t c = contract_case_of(turn % 2 ? "dot" : "additive_v2",
                                             shared_graph(turn / 2, seed), "rows", seed);
        c.heads = c.kv_heads = shapes[turn / 20][0];
        c.d_k = shapes[turn / 20][1];
        c.d_v = shapes[turn / 20][2];
        c.dropout = turn / 2 % 2 ? 0.3 : 0;
        c.strided = turn % 3 == 0;
        c.shared = turn / 4 % 2 && c.d_k == c.d_v;
        check_small_heads(c);
    }
    contract_assert("scores of rows");
}
END_TEST

/* ---- attention in bf16 ---- */

static void check_bf16(gnn_precision_t level, size_t turn)
{
    static const int64_t sizes[] = {49, 65, 127, 200, 257, 400},
                         widths[] = {1, 48, 7, 32, 64, 16, 80};
    const uint64_t seed = test_seed() + turn;
    const size_t kind = turn % contract_graph_count();
    const int64_t n = sizes[turn % 6];
    contract_case_t c =
        contract_case_of("dot", contract_graph(kind, n, seed), contract_graph_name(kind), seed);
    c.d_v = widths[turn % 7];
    c.d_k = turn % 3 ? c.d_v : widths[turn % 4];
    c.heads = 1 << turn % 3;
    c.kv_heads = turn / 4 % 2 ? (c.heads + 1) / 2 : c.heads;
    c.dropout = turn % 2 ? 0.3 : 0;
    contract_open_at(2, level);
    contract_check(&c);
    contract_close();
    if (turn % 4 == 0)
        check_threads(c, level);
    gnn_graph_free(c.graph);
}

START_TEST(bf16_is_near_the_oracle_and_the_same_on_all_threads)
{
    for (size_t turn = 0; turn < (test_small() ? 4 : 90); turn++)
        check_bf16((gnn_precision_t)_i, turn);
    contract_assert(_i == GNN_PRECISION_HIGH ? "attention at high" : "attention at medium");
}
END_TEST

/* That a level is exact enough could also mean that it was not used. */
START_TEST(bf16_is_used_where_the_processor_has_it)
{
    const gnn_precision_t level = (gnn_precision_t)_i;
    gnn_graph_t *g = NULL;
    gnn_context_t *context;
    contract_run_t *runs[2];
    ck_ok(gnn_graph_complete(&g, 1, (const int64_t[]){130}));
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.backward = GNN_ON}));
    const contract_case_t c = contract_case_of("dot", g, "complete", 5);
    for (int k = 0; k < 2; k++) {
        open_threads(1, k ? level : GNN_PRECISION_HIGHEST);
        runs[k] = contract_run_new(&c);
        contract_library(runs[k]);
        contract_close();
    }
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.precision = level}));
    context->forced = true;
    const size_t bytes = sizeof(gnn_real_t) * (size_t)(runs[0]->n_dst * runs[0]->out_width);
    const int output = memcmp(runs[0]->out, runs[1]->out, bytes),
              key = memcmp(runs[0]->grad[GNN_AGGREGATE_KEY], runs[1]->grad[GNN_AGGREGATE_KEY], bytes);
    ck_assert_int_eq(output != 0, gnn__attention_level(context) == level);
    ck_assert_int_eq(key != 0, gnn__attention_level(context) == level);
    for (int k = 0; k < 2; k++)
        contract_run_free(runs[k]);
    gnn_context_free(context);
    gnn_graph_free(g);
}
END_TEST

/* ---- less than everything ---- */

static contract_run_t *run_partly(const contract_case_t *c, int recording, int training,
                                  unsigned wanted)
{
    contract_run_t *r = contract_run_new(c);
    r->recording = recording;
    r->training = training;
    r->wanted = wanted;
    contract_library(r);
    return r;
}

static contract_case_t drawn_case(size_t m, size_t a, uint64_t variant)
{
    uint64_t seed = test_seed() + 13 * m + 101 * a + 1009 * variant;
    size_t kind = (size_t)(seed % contract_graph_count());
    contract_case_t c =
        contract_case(m, a, contract_graph(kind, 16, seed), contract_graph_name(kind), seed);
    contract_draw_switches(&c, false);
    if (variant % 2) {
        gnn_graph_t *edges = contract_edges_of(c.graph);
        gnn_graph_free(c.graph);
        c.graph = edges;
        contract_draw_switches(&c, true);
    }
    ck_ok(gnn_graph_prepare(c.graph, &c.view));
    return c;
}

/* Frees the graph. */
static void compare_inference(contract_case_t c)
{
    contract_run_t *inference = run_partly(&c, 0, 0, 0), *training = run_partly(&c, 1, 0, ~0u);
    inference->wanted = 0;
    compare_bits(training, inference, "inference against training");
    contract_run_free(inference);
    contract_run_free(training);
    gnn_graph_free(c.graph);
}

/* Inference saves nothing for a backward pass and drops nothing. */
START_TEST(inference_equals_training_without_dropout)
{
    contract_open(1);
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            for (uint64_t variant = 0; variant < 6; variant++)
                compare_inference(drawn_case(m, a, variant));
    contract_close();
    contract_assert("inference");
}
END_TEST

/* For receivers of large degree, weights are not computed from scores one by one; training keeps
 * some of them, inference none. */
START_TEST(inference_on_long_rows_equals_training)
{
    static const int64_t shapes[][2] = {{8, 8}, {1, 2}, {1, 5}, {1, 14}, {1, 1}, {8, 3}, {7, 8}};
    contract_open(2);
    for (size_t turn = 0; turn < 42; turn += test_small() ? 5 : 1) {
        const uint64_t seed = test_seed() + 7 * turn;
        contract_case_t c = contract_case_of("additive", narrow_graph(1, seed), "long rows", seed);
        c.heads = c.kv_heads = shapes[turn % 7][0];
        c.d_v = shapes[turn % 7][1];
        c.values = (values_t)(turn / 7 % 3);
        ck_ok(gnn_graph_prepare(c.graph, &c.view));
        compare_inference(c);
    }
    contract_close();
    contract_assert("inference on long rows");
}
END_TEST

/* Frees the graph. */
static void compare_alone(contract_case_t c)
{
    contract_run_t *all = contract_run(&c);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (!all->grad[k])
            continue;
        contract_run_t *alone = run_partly(&c, 1, 1, 1u << k);
        memcpy(alone->d_out, all->d_out, sizeof(gnn_real_t) * (size_t)(all->n_dst * all->out_width));
        contract_library(alone);
        compare_bits(all, alone, "bits of a gradient alone");
        contract_run_free(alone);
    }
    contract_run_free(all);
    gnn_graph_free(c.graph);
}

/* A gradient does not depend on which other gradients are asked for. */
START_TEST(single_gradients_equal_those_of_all)
{
    contract_open(1);
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            for (uint64_t variant = 0; variant < 4; variant++)
                compare_alone(drawn_case(m, a, variant));
    contract_close();
    contract_assert("gradients alone");
}
END_TEST

/* Nor where keys are values and nodes have many pairs, whose gradients may come from one pass. */
START_TEST(single_gradients_of_many_pairs)
{
    static const int64_t shapes[][2] = {{8, 8}, {7, 8}, {1, 2}, {1, 16}};
    contract_open(2);
    for (size_t turn = 0; turn < 32; turn += test_small() ? 3 : 1) {
        const uint64_t seed = test_seed() + 7 * turn;
        contract_case_t c =
            contract_case_of("additive_v2", narrow_graph(1, seed), "many pairs", seed);
        c.heads = c.kv_heads = shapes[turn % 4][0];
        c.d_k = c.d_v = shapes[turn % 4][1];
        c.dropout = turn / 4 % 2 ? 0.3 : 0;
        c.shared = turn / 8 % 2 == 0;
        c.features = turn >= 16;
        c.edge_dim = turn % 3 ? 8 : 11;
        ck_ok(gnn_graph_prepare(c.graph, &c.view));
        compare_alone(c);
    }
    contract_close();
    contract_assert("gradients of many pairs alone");
}
END_TEST

TCase *contract_kernel_tests(void)
{
    TCase *t = tcase_create("kernels");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, kernels_at_every_size_and_width);
    tcase_add_test(t, chunk_boundaries_give_the_same_rows);
    tcase_add_test(t, same_bits_with_one_two_and_four_threads);
    tcase_add_test(t, keys_same_bits_on_all_threads);
    tcase_add_test(t, one_narrow_head);
    tcase_add_test(t, small_heads_that_share_registers);
    tcase_add_test(t, scores_of_rows_in_every_layout);
    tcase_add_loop_test(t, bf16_is_near_the_oracle_and_the_same_on_all_threads, GNN_PRECISION_HIGH,
                        GNN_PRECISION_MEDIUM + 1);
    tcase_add_loop_test(t, bf16_is_used_where_the_processor_has_it, GNN_PRECISION_HIGH,
                        GNN_PRECISION_MEDIUM + 1);
    tcase_add_test(t, inference_equals_training_without_dropout);
    tcase_add_test(t, inference_on_long_rows_equals_training);
    tcase_add_test(t, single_gradients_equal_those_of_all);
    tcase_add_test(t, single_gradients_of_many_pairs);
    return t;
}
