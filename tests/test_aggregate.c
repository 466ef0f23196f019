/* Internals of the op `aggregate`: kernels against the generic driver, spans against edges, thread
 * counts, and shared gradients. Expected values are tested by the contract test
 * (test_contract.c). */
#include "aggregate_run.h"

#include <lib/aggregate/tables.h>

/* ---- tests ---- */

/* Runs `job` on graph g with the row's kernels or without them. */
static void run_on(run_t *r, job_t *job, const gnn_graph_t *g, gnn_context_t *context, bool generic,
                   bool training)
{
    job->how.graph = g;
    job->generic = generic;
    ck_ok(run_op(r, job, context, true, training));
    run_backward(r, job);
}

/* With edge inputs, with edge inputs and dropout, without edge inputs, and so with a NaN. */
static void check_kernels(gnn_graph_t *g, const char *aggregator, sizes_t s, gnn_context_t *context)
{
    for (int turn = 0; turn < 4; turn++) {
        job_t job = job_new(g, "linear", aggregator, s, turn < 2 && !has_spans(g));
        const int training = turn == 1;
        job.how.dropout = (gnn_real_t)0.4;
        if (turn == 3 && !job.combination.score)
            job.in[GNN_AGGREGATE_SRC_MESSAGE].data[s.d_v - 1] = (gnn_real_t)NAN;
        run_t own, generic;
        run_on(&own, &job, g, context, false, training);
        run_on(&generic, &job, g, context, true, training);
        compare(&own, &generic, &job, "kernels against the driver,", TOLERANCE_OUT, TOLERANCE_GRAD);
        run_free(&own);
        run_free(&generic);
        job_free(&job);
    }
}

START_TEST(kernels_equal_driver)
{
    gnn_context_t *context = context_new(1);
    const combination_t row = combination_at((size_t)_i / GRAPHS);
    const gnn__hints_t hints = gnn__hints_of(&(gnn_aggregate_t){
        .aggregator = row.aggregator, .message = &gnn_message_linear, .score = row.score});
    const bool known =
        row.score ? hints.score != GNN__SCORE_OTHER : hints.reduction != GNN__REDUCTION_OTHER;
    for (int n = 0; n < SIZES && known; n++) {
        if (test_small() && test_sizes[n] > 20)
            continue;
        gnn_graph_t *g = graph_at(_i % GRAPHS, test_sizes[n]);
        prepare(g);
        for (int w = 0; w < WIDTHS; w++)
            check_kernels(g, row.name, test_widths[w], context);
        gnn_graph_free(g);
    }
    gnn_context_free(context);
}
END_TEST

/* Every message x aggregator: equal results with spans and edges. */
static void check_forms(gnn_graph_t *g, const gnn_graph_t *edges, const char *message,
                        const char *aggregator, gnn_context_t *context)
{
    job_t job = job_new(g, message, aggregator, (sizes_t){4, 2, 5, 6, 0}, false);
    job.how.dropout = (gnn_real_t)0.3;
    for (int generic = 0; generic < 2; generic++) {
        run_t a, b;
        run_on(&a, &job, g, context, generic, true);
        run_on(&b, &job, edges, context, generic, true);
        compare(&a, &b, &job, "spans against edges,", TOLERANCE_OUT, TOLERANCE_GRAD);
        run_free(&a);
        run_free(&b);
    }
    job_free(&job);
}

START_TEST(spans_equal_edges)
{
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = graph_at(_i, test_small() ? 9 : 33), *edges;
    ck_ok(gnn_graph_to_edges(&edges, g));
    prepare(g);
    prepare(edges);
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            check_forms(g, edges, gnn__message_at(m)->name, combination_at(a).name, context);
    gnn_graph_free(g);
    gnn_graph_free(edges);
    gnn_context_free(context);
}
END_TEST

START_TEST(same_bits_with_any_threads)
{
    const combination_t row = combination_at((size_t)_i);
    static const int graphs[] = {0, 1, 3, 6};
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++)
        for (int generic = 0; generic < 2; generic++) {
            gnn_graph_t *g = graph_at(graphs[k], test_small() ? 60 : 600);
            prepare(g);
            job_t job = job_new(g,
                                has_spans(g) ? "linear"
                                : generic    ? "linear_edge"
                                             : "none",
                                row.name, (sizes_t){8, 8, 8, 8, generic ? 3 : 0}, !has_spans(g));
            job.how.dropout = (gnn_real_t)0.5;
            run_t runs[3];
            for (int t = 0; t < 3; t++) {
                gnn_context_t *context = context_new(1 << t);
                run_on(&runs[t], &job, g, context, generic, true);
                gnn_context_free(context);
                compare(&runs[t], &runs[0], &job, "threads,", 0, 0);
            }
            for (int t = 0; t < 3; t++)
                run_free(&runs[t]);
            job_free(&job);
            gnn_graph_free(g);
        }
}
END_TEST

/* A sentence full of NaN must not change a bit of the others. */
START_TEST(nan_stays_in_its_sentence)
{
    const combination_t row = combination_at((size_t)_i);
    const int64_t lengths[] = {7, 40, 16, 90}, poisoned = 47, until = 63, n = 153;
    gnn_context_t *context = context_new(1);
    for (int which = 0; which < 2; which++) {
        gnn_graph_t *g;
        ck_ok(which ? gnn_graph_causal(&g, 4, lengths) : gnn_graph_complete(&g, 4, lengths));
        prepare(g);
        job_t job = job_new(g, "linear", row.name, (sizes_t){2, 2, 8, 8, 0}, false);
        run_t clean, dirty;
        run_on(&clean, &job, g, context, false, false);
        for (int k = 0; k <= GNN_AGGREGATE_KEY; k++)
            for (int64_t c = poisoned * job.in[k].cols;
                 job.present[k] && c < until * job.in[k].cols; c++)
                job.in[k].data[c] = NAN;
        run_on(&dirty, &job, g, context, false, false);
        ck_assert(dirty.memory[0][poisoned * dirty.call.out[0].cols] !=
                      dirty.memory[0][poisoned * dirty.call.out[0].cols] ||
                  strcmp(row.name, "std") == 0);
        for (int64_t i = 0; i < n; i++) {
            if (i >= poisoned && i < until)
                continue;
            int64_t w = clean.call.out[0].cols;
            ck_assert_msg(memcmp(clean.memory[0] + i * w, dirty.memory[0] + i * w,
                                 sizeof(gnn_real_t) * (size_t)w) == 0,
                          "%s: row %d changed", row.name, (int)i);
            for (int k = 0; k <= GNN_AGGREGATE_KEY; k++)
                if (job.present[k])
                    ck_assert_msg(memcmp(clean.grads[k] + i * job.in[k].cols,
                                         dirty.grads[k] + i * job.in[k].cols,
                                         sizeof(gnn_real_t) * (size_t)job.in[k].cols) == 0,
                                  "%s: gradient %d of row %d changed", row.name, k, (int)i);
        }
        run_free(&clean);
        run_free(&dirty);
        job_free(&job);
        gnn_graph_free(g);
    }
    gnn_context_free(context);
}
END_TEST

static void same_row(const gnn_real_t *a, const gnn_real_t *b, int64_t row, int64_t width,
                     const char *aggregator, const char *what)
{
    ck_assert_msg(memcmp(a + row * width, b + row * width, sizeof *a * (size_t)width) == 0,
                  "%s: %s of row %d changed", aggregator, what, (int)row);
}

/* NaN in one word of a long text: receivers that do not attend to it keep every bit of their output
 * and d_query, and senders that share no receiver with it their other gradients, although both
 * kinds are in the same block of a kernel. */
START_TEST(nan_stays_in_its_window)
{
    enum { N = 500, WORD = 247 };
    static const char *const scored[] = {"dot", "additive", "additive_v2"};
    const char *name = scored[_i / 2];
    const int64_t n = N, reach = _i % 2 ? 3 : 70;
    gnn_context_t *context = context_new(2);
    gnn_graph_t *g;
    ck_ok(gnn_graph_window(&g, 1, &n, reach, 1, GNN_OFF));
    prepare(g);
    job_t job = job_new(g, "linear", name, (sizes_t){2, 2, 20, 20, 0}, false);
    run_t clean, dirty;
    run_on(&clean, &job, g, context, false, false);
    for (int k = 0; k <= GNN_AGGREGATE_KEY; k++)
        for (int64_t c = 0; job.present[k] && c < job.in[k].cols; c++)
            job.in[k].data[WORD * job.in[k].cols + c] = NAN;
    run_on(&dirty, &job, g, context, false, false);
    const int64_t width = clean.call.out[0].cols;
    for (int64_t i = 0; i < n; i++) {
        const int64_t away = i < WORD ? WORD - i : i - WORD;
        if (away <= reach)
            ck_assert(isnan(dirty.memory[0][i * width]));
        else
            same_row(clean.memory[0], dirty.memory[0], i, width, name, "output");
        for (int k = 0; k <= GNN_AGGREGATE_KEY; k++)
            if (job.present[k] && away > (k == GNN_AGGREGATE_QUERY ? reach : 2 * reach))
                same_row(clean.grads[k], dirty.grads[k], i, job.in[k].cols, name, "gradient");
    }
    run_free(&clean);
    run_free(&dirty);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

/* Two inputs whose gradients share memory: the second adds to the first, with rows aligned (GATv2)
 * or shifted. */
static void check_shared(const char *aggregator, bool generic, int64_t shift)
{
    gnn_context_t *context = context_new(4);
    gnn_graph_t *g = graph_at(6, 400);
    prepare(g);
    job_t job = job_new(g, "linear", aggregator, (sizes_t){2, 2, 6, 6, 0}, false);
    const int64_t rows = 400, width = 12, numbers = (rows + shift) * width;
    run_t apart, shared;
    run_on(&apart, &job, g, context, generic, false);
    job.generic = generic;
    ck_ok(run_op(&shared, &job, context, true, false));
    gnn_real_t *both = test_reals(numbers, 3), *expected = test_reals(numbers, 3);
    for (int64_t k = 0; k < rows * width; k++)
        expected[k] = apart.grads[GNN_AGGREGATE_SRC_MESSAGE][k];
    for (int64_t k = 0; k < rows * width; k++)
        expected[shift * width + k] += apart.grads[GNN_AGGREGATE_KEY][k];
    shared.call.out[0].grad =
        gnn_tensor(shared.memory[GNN_OP_SAVED + 2] = test_reals(rows * width, 99), rows, width);
    shared.call.in[GNN_AGGREGATE_SRC_MESSAGE].grad = gnn_tensor(both, rows, width);
    shared.call.in[GNN_AGGREGATE_KEY].grad = gnn_tensor(both + shift * width, rows, width);
    shared.call.in[GNN_AGGREGATE_KEY].accumulate = 1;
    ck_ok(gnn__op_aggregate.backward(&shared.call));
    double e = error_of(both, expected, numbers);
    ck_assert_msg(e < TOLERANCE_OUT, "%s, rows shifted by %d: %g", aggregator, (int)shift, e);
    free(both);
    free(expected);
    run_free(&apart);
    run_free(&shared);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}

START_TEST(gradients_may_share_memory)
{
    for (int generic = 0; generic < 2; generic++)
        for (int64_t shift = 0; shift < 4; shift += 3) {
            check_shared("dot", generic, shift);
            check_shared("additive_v2", generic, shift);
        }
}
END_TEST

/* Keys that are the values, whose gradients are two: nodes have many pairs. */
START_TEST(keys_may_be_values)
{
    static const sizes_t sizes[] = {{8, 8, 8, 8, 0}, {1, 1, 2, 2, 0}, {1, 1, 16, 16, 0}};
    gnn_context_t *context = context_new(2);
    gnn_graph_t *g = random_edges(50, 60, 5000, 17);
    prepare(g);
    for (size_t k = 0; k < 2 * sizeof sizes / sizeof *sizes; k++) {
        job_t job = job_new(g, "linear", k % 2 ? "dot" : "additive_v2", sizes[k / 2], false);
        gnn_tensor_t *key = &job.in[GNN_AGGREGATE_KEY];
        gnn_real_t *own_data = key->data;
        run_t own, generic;
        key->data = job.in[GNN_AGGREGATE_SRC_MESSAGE].data;
        run_on(&own, &job, g, context, false, false);
        run_on(&generic, &job, g, context, true, false);
        compare(&own, &generic, &job, "keys that are values,", TOLERANCE_OUT, TOLERANCE_GRAD);
        run_free(&own);
        run_free(&generic);
        key->data = own_data;
        job_free(&job);
    }
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

/* Gradients that are added to keep what was there. */
START_TEST(gradients_add_up)
{
    gnn_context_t *context = context_new(1);
    const combination_t row = combination_at((size_t)_i / 2);
    gnn_graph_t *g = graph_at(0, 30);
    prepare(g);
    job_t job = job_new(g, "linear", row.name, (sizes_t){2, 2, 4, 4, 0}, _i % 2);
    run_t once;
    run_on(&once, &job, g, context, false, false);
    const gnn_operand_t *in = once.call.in;
    gnn_real_t *first[GNN_AGGREGATE_INPUTS] = {0};
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        const int64_t n = in[k].rows * in[k].cols;
        once.call.in[k].accumulate = 1;
        once.call.in[k].value = job.in[k];
        if (job.present[k])
            first[k] = memcpy(malloc(sizeof(gnn_real_t) * (size_t)n), once.grads[k],
                              sizeof(gnn_real_t) * (size_t)n);
    }
    ck_ok(gnn__op_aggregate.backward(&once.call));
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        for (int64_t x = 0; job.present[k] && x < in[k].rows * in[k].cols; x++)
            first[k][x] *= 2;
        if (job.present[k])
            ck_assert(error_of(once.grads[k], first[k], in[k].rows * in[k].cols) < TOLERANCE_GRAD);
        free(first[k]);
    }
    run_free(&once);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

/* Scores of minus infinity mask their pair; a receiver without other scores gets 0. */
START_TEST(infinite_bias_is_a_mask)
{
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = random_edges(20, 20, 120, 8);
    prepare(g);
    for (int generic = 0; generic < 2; generic++) {
        job_t job = job_new(g, "linear", "dot", (sizes_t){1, 1, 4, 4, 0}, true);
        int64_t src[120], dst[120], edge[120];
        ck_ok(gnn_graph_pairs(g, src, dst, edge));
        for (int k = 0; k < 120; k++)
            if (dst[k] == 3 || k % 5 == 0)
                job.in[GNN_AGGREGATE_EDGE_BIAS].data[edge[k]] = -INFINITY;
        run_t r;
        run_on(&r, &job, g, context, generic, false);
        for (int64_t c = 0; c < 80; c++)
            ck_assert(c / 4 == 3 ? r.memory[0][c] == 0 : isfinite((double)r.memory[0][c]));
        for (int k = 0; k < 120; k++)
            ck_assert(dst[k] != 3 || r.grads[GNN_AGGREGATE_EDGE_BIAS][edge[k]] == 0);
        for (int64_t c = 0; c < 80; c++)
            ck_assert(isfinite((double)r.grads[GNN_AGGREGATE_QUERY][c]) &&
                      isfinite((double)r.grads[GNN_AGGREGATE_KEY][c]));
        run_free(&r);
        job_free(&job);
    }
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aggregate");
    TCase *kernels = tcase_create("kernels");
    tcase_set_timeout(kernels, 600);
    tcase_add_loop_test(kernels, kernels_equal_driver, 0, (int)combination_count() * GRAPHS);
    tcase_add_loop_test(kernels, spans_equal_edges, 0, GRAPHS);
    tcase_add_loop_test(kernels, same_bits_with_any_threads, 0, (int)combination_count());
    tcase_add_loop_test(kernels, nan_stays_in_its_sentence, 0, (int)combination_count());
    tcase_add_loop_test(kernels, nan_stays_in_its_window, 0, 6);
    tcase_add_test(kernels, gradients_may_share_memory);
    tcase_add_test(kernels, keys_may_be_values);
    tcase_add_loop_test(kernels, gradients_add_up, 0, 2 * (int)combination_count());
    tcase_add_test(kernels, infinite_bias_is_a_mask);
    suite_add_tcase(suite, kernels);
    return test_main(suite);
}
