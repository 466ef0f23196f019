/* Inputs and settings of the op `aggregate`: refusals and their messages, entries by name, entries
 * of a program. */
#include "aggregate_run.h"

#include <lib/aggregate/tables.h>

/* ---- refusals ---- */

typedef struct refusal {
    const char *aggregator, *message;
    int input; /* given a shape of rows x cols */
    int64_t rows, cols;
    int code;
    const char *words;
} refusal_t;

static const refusal_t refusals[] = {
    {"sum", "linear", GNN_AGGREGATE_SRC_MESSAGE, 9, 4, GNN_ESHAPE,
     "src_message is 9 x 4, expected 13 x 4"},
    {"dot", "linear", GNN_AGGREGATE_QUERY, 10, 7, GNN_ESHAPE, "query has 7 columns"},
    {"dot", "linear", GNN_AGGREGATE_KEY, 13, 10, GNN_ESHAPE, "key is 13 x 10, expected 13 x 8"},
    {"dot", "linear", GNN_AGGREGATE_SRC_MESSAGE, 13, 7, GNN_ESHAPE,
     "width 7 cannot be split into 2 heads"},
    {"additive", "linear", GNN_AGGREGATE_QUERY, 10, 3, GNN_ESHAPE, "query is 10 x 3, expected 10 x 2"},
    {"additive_v2", "linear", GNN_AGGREGATE_SCORE_PARAMETERS, 1, 9, GNN_ESHAPE,
     "parameters is 1 x 9, expected 1 x 8"},
    {"sum", "linear", GNN_AGGREGATE_QUERY, 10, 4, GNN_EUNSUPPORTED, "sum takes no query"},
    {"sum", "linear", GNN_AGGREGATE_EDGE_BIAS, 50, 1, GNN_EUNSUPPORTED, "sum takes no edge_bias"},
    {"dot", "linear", GNN_AGGREGATE_EDGE_BIAS, 50, 3, GNN_ESHAPE, "edge_bias is 50 x 3"},
    {"max", "linear", GNN_AGGREGATE_EDGE_WEIGHT, 49, 1, GNN_ESHAPE,
     "edge_weight is 49 x 1, expected 50 x 1"},
    {"sum", "linear", GNN_AGGREGATE_EDGE_FEATURES, 50, 3, GNN_EINVALID, "edge_features need"},
    {"sum", "linear_edge", GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, 3, 4, GNN_EINVALID,
     "needs edge_features"},
    {"sum", "linear", GNN_AGGREGATE_DST_MESSAGE, 10, 4, GNN_EINVALID, "linear takes no dst_message"},
    {"dot", "linear", GNN_AGGREGATE_PRIOR_0, 1, 2, GNN_EINVALID,
     "an aggregation without this prior takes no prior_0"},
    {"dot", "linear", GNN_AGGREGATE_PRIOR_QUERY, 10, 8, GNN_EINVALID,
     "without a prior that reads queries takes no prior_query"},
    {"dot", "linear", GNN_AGGREGATE_WEIGHER_PARAMETERS, 1, 2, GNN_EINVALID,
     "softmax takes no weigher_parameters"},
    {"sum", "linear", GNN_AGGREGATE_PRIOR_0, 1, 2, GNN_EUNSUPPORTED, "sum takes no prior_0"},
    {"dot", "linear", GNN_AGGREGATE_GATE, 10, 3, GNN_ESHAPE, "gate is 10 x 3, expected 10 x 2"},
};

START_TEST(wrong_inputs_are_named)
{
    const refusal_t *f = &refusals[_i];
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = random_edges(10, 13, 50, 1);
    job_t job = job_new(g, f->message, f->aggregator, (sizes_t){2, 2, 4, 4, 0}, false);
    free(job.in[f->input].data);
    give(&job, f->input, f->rows, f->cols);
    run_t r;
    ck_fails(run_op(&r, &job, context, false, false), f->code, f->words);
    run_free(&r);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

/* Settings of maps, priors and weighers. */
typedef struct setting {
    const char *aggregator;
    int64_t d_k;
    void (*set)(gnn_aggregate_t *how);
    int code;
    const char *words;
} setting_t;

static void set_softcap(gnn_aggregate_t *how)
{
    how->shape.softcap = (gnn_real_t)NAN;
}

static void set_rope(gnn_aggregate_t *how)
{
    how->map = &gnn_map_rope;
}

static void set_wide_rope(gnn_aggregate_t *how)
{
    how->map = &gnn_map_rope;
    how->map_options[1] = 64;
}

static void set_base(gnn_aggregate_t *how)
{
    how->map = &gnn_map_rope;
    how->map_options[0] = -1;
}

static void set_keys(gnn_aggregate_t *how)
{
    how->priors[1].row = &gnn_prior_keys;
}

static void set_rule(gnn_aggregate_t *how)
{
    how->priors[0] = (gnn_prior_use_t){&gnn_prior_table, {8, GNN_BUCKETS}};
}

static void set_sink(gnn_aggregate_t *how)
{
    how->weigher = &gnn_weigher_softmax_sink;
}

static void set_key_heads(gnn_aggregate_t *how)
{
    how->shape.key_heads = 3;
}

static const setting_t settings[] = {
    {"dot", 4, set_softcap, GNN_EINVALID, "softcap must be 0 or above, got nan"},
    {"dot", 5, set_rope, GNN_EINVALID,
     "map rope: it rotates pairs, so the width must be even (d_k is 5)"},
    {"dot", 4, set_wide_rope, GNN_EINVALID, "map rope: it rotates more values than a head has"},
    {"dot", 4, set_base, GNN_EINVALID, "rope: option base is -1, expected 1 to 1e+12"},
    {"additive", 4, set_rope, GNN_EUNSUPPORTED, "map rope needs queries and keys of d_k values"},
    {"additive", 4, set_keys, GNN_EINVALID, "prior keys needs prior_query"},
    {"dot", 4, set_keys, GNN_EINVALID, "keys needs prior_1"},
    {"dot", 4, set_rule, GNN_EINVALID, "table: option rule is 6, expected an integer from 0 to 5"},
    {"dot", 4, set_sink, GNN_EINVALID, "softmax_sink needs weigher_parameters"},
    {"dot", 4, set_key_heads, GNN_EINVALID, "3 key heads do not divide 2 heads"},
    {"sum", 4, set_sink, GNN_EUNSUPPORTED, "sum has no scores, so it takes no weigher"},
    {"sum", 4, set_rope, GNN_EUNSUPPORTED, "sum has no scores, so it takes no map"},
};

START_TEST(wrong_settings_are_named)
{
    const setting_t *f = &settings[_i];
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = random_edges(10, 13, 50, 1);
    job_t job = job_new(g, "linear", f->aggregator, (sizes_t){2, 2, f->d_k, 4, 0}, false);
    f->set(&job.how);
    run_t r;
    ck_fails(run_op(&r, &job, context, false, false), f->code, f->words);
    run_free(&r);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

/* ---- rows of a program's own ---- */

static gnn_real_t relu(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                       gnn_real_t score)
{
    (void)shape, (void)head, (void)state;
    return score > 0 ? score : 0;
}

static gnn_real_t relu_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                            const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                            gnn_real_t d_weight, gnn_real_t delta)
{
    (void)shape, (void)head, (void)state, (void)weight, (void)delta;
    return score > 0 ? d_weight : 0;
}

static const gnn_weigher_t relu_weigher = {.name = "relu", .weight = relu, .weight_grad = relu_grad};

static size_t declare_one(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    (void)shape;
    pieces[0] = (gnn_piece_t){.name = "one", .rows = 1, .cols = 1};
    return 1;
}

/* The value, for senders at an even distance. */
static void even(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first, int64_t count,
                 gnn_real_t *out)
{
    (void)head;
    for (int64_t c = 0; c < count; c++)
        out[c] += (first + c) % 2 == 0 ? shape->parameters.data[0] : 0;
}

static void even_grad(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                      int64_t count, const gnn_real_t *d_strip, const gnn_tensor_t *d_parameters)
{
    (void)shape, (void)head;
    for (int64_t c = 0; c < count; c++)
        d_parameters->data[0] += (first + c) % 2 == 0 ? d_strip[c] : 0;
}

static const gnn_prior_t even_prior = {.name = "even",
                                       .flags = GNN_PRIOR_READS_DISTANCE,
                                       .declare = declare_one,
                                       .strip = even,
                                       .strip_grad = even_grad};

/* One key for senders at an even distance, and one for the others; all heads share them. */
static size_t declare_keys(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "parity", .rows = 2, .cols = shape->d_k};
    return 1;
}

static int64_t parity_row(const gnn_aggregate_shape_t *shape, int64_t distance)
{
    (void)shape;
    return distance & 1;
}

static int64_t first_column(const gnn_aggregate_shape_t *shape, int64_t head)
{
    (void)shape, (void)head;
    return 0;
}

static const gnn_prior_t parity_prior = {.name = "parity",
                                         .flags = GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_QUERY,
                                         .declare = declare_keys,
                                         .key_row = parity_row,
                                         .key_column = first_column};

/* Priors with key_row need the flags READS_QUERY and READS_DISTANCE. */
START_TEST(keys_without_their_flags)
{
    gnn_prior_t broken = parity_prior;
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = graph_at(2, 9);
    job_t job = job_new(g, "none", "dot", (sizes_t){2, 2, 4, 4, 0}, false);
    run_t r;
    broken.flags = GNN_PRIOR_READS_QUERY;
    job.how.priors[0].row = &broken;
    give(&job, GNN_AGGREGATE_PRIOR_0, 2, 4);
    ck_fails(run_op(&r, &job, context, false, false), GNN_EINVALID,
             ".key_row needs the flags 0x3, .flags is 0x1");
    run_free(&r);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

/* A weigher and two priors from outside the library: spans and edges agree, and so do the kernels
 * that add the priors as strips and as products with keys. */
START_TEST(entries_of_the_program)
{
    gnn_context_t *context = context_new(2);
    int even_moved = 0;
    for (int turn = 0; turn < 8; turn++) {
        gnn_graph_t *spans = graph_at(2 + turn % 4, 33), *edges = NULL;
        ck_ok(gnn_graph_to_edges(&edges, spans));
        prepare(spans);
        prepare(edges);
        job_t job = job_new(spans, "none", "dot", (sizes_t){2, 2, 8, 8, 0}, false);
        job.how.weigher = turn < 4 ? &relu_weigher : NULL;
        job.how.priors[2].row = &even_prior;
        give(&job, GNN_AGGREGATE_PRIOR_2, 1, 1);
        job.how.priors[1].row = &parity_prior;
        give(&job, GNN_AGGREGATE_PRIOR_1, 2, 8);
        run_t one, other;
        ck_ok(run_op(&one, &job, context, true, false));
        run_backward(&one, &job);
        job.how.graph = edges;
        job.generic = true;
        ck_ok(run_op(&other, &job, context, true, false));
        run_backward(&other, &job);
        compare(&one, &other, &job, "rows of your own", 1e-5, 1e-4);
        /* 0 but for rounding where all senders are at an even distance and weights sum to 1 */
        even_moved += fabs(one.grads[GNN_AGGREGATE_PRIOR_2][0]) > 0.05;
        ck_assert(one.grads[GNN_AGGREGATE_PRIOR_1][0] != 0);
        run_free(&one);
        run_free(&other);
        job_free(&job);
        gnn_graph_free(spans);
        gnn_graph_free(edges);
    }
    ck_assert_int_eq(even_moved, 7);
    gnn_context_free(context);
}
END_TEST

START_TEST(spans_refuse_edge_inputs)
{
    static const int inputs[] = {GNN_AGGREGATE_EDGE_WEIGHT, GNN_AGGREGATE_EDGE_BIAS,
                                 GNN_AGGREGATE_EDGE_FEATURES};
    static const char *const words[] = {"part 0 of the graph stores spans, which take no edge_weight",
                                        "no edge_bias", "no edge_features"};
    gnn_context_t *context = context_new(1);
    gnn_graph_t *g = graph_at(2, 9);
    job_t job = job_new(g, "linear", "dot", (sizes_t){2, 2, 4, 4, 0}, false);
    give(&job, inputs[_i], gnn_graph_n_edges(g), 1);
    run_t r;
    ck_fails(run_op(&r, &job, context, false, false), GNN_EUNSUPPORTED, words[_i]);
    run_free(&r);
    ck_fails((job.present[inputs[_i]] = false, run_op(&r, &job, context, true, false)),
             GNN_EUNPREPARED, "gnn_graph_prepare");
    run_free(&r);
    job_free(&job);
    gnn_graph_free(g);
    gnn_context_free(context);
}
END_TEST

START_TEST(tables_find_their_entries)
{
    for (size_t k = 0; k < aggregator_count(); k++)
        ck_assert_ptr_eq(gnn_aggregator_find(gnn__aggregator_at(k)->name), gnn__aggregator_at(k));
    for (size_t k = 0; k < message_count(); k++)
        ck_assert_ptr_eq(gnn_message_find(gnn__message_at(k)->name), gnn__message_at(k));
    for (size_t k = 0; k < score_count(); k++)
        ck_assert_ptr_eq(gnn_score_find(gnn__score_at(k)->name), gnn__score_at(k));
    for (size_t k = 0; k < prior_count(); k++)
        ck_assert_ptr_eq(gnn_prior_find(gnn__prior_at(k)->name), gnn__prior_at(k));
    for (size_t k = 0; k < weigher_count(); k++)
        ck_assert_ptr_eq(gnn_weigher_find(gnn__weigher_at(k)->name), gnn__weigher_at(k));
    for (size_t k = 0; k < map_count(); k++)
        ck_assert_ptr_eq(gnn_map_find(gnn__map_at(k)->name), gnn__map_at(k));
    ck_assert_ptr_eq(gnn_aggregator_find("max"), &gnn_aggregator_max);
    ck_assert_ptr_null(gnn_aggregator_find("median"));
    ck_assert_ptr_nonnull(
        strstr(gnn_error_message(), "no aggregator is called \"median\"; expected sum, mean, max"));
    ck_assert_ptr_null(gnn_aggregator_find("dot"));
    ck_assert_ptr_nonnull(strstr(gnn_error_message(), "dot is a score: set .aggregator = attention"));
    ck_assert_ptr_null(gnn_score_find("sum"));
    ck_assert_ptr_nonnull(
        strstr(gnn_error_message(),
               "no score is called \"sum\"; expected dot, additive, additive_v2 or additive_tanh"));
    ck_assert_ptr_null(gnn__score_at(score_count()));
    ck_assert_ptr_null(gnn_message_find(NULL));
    ck_assert_ptr_null(gnn__aggregator_at(aggregator_count()));
    ck_assert_ptr_null(gnn__message_at(message_count()));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aggregate_inputs");
    TCase *inputs = tcase_create("inputs");
    tcase_add_loop_test(inputs, wrong_inputs_are_named, 0, sizeof refusals / sizeof *refusals);
    tcase_add_loop_test(inputs, wrong_settings_are_named, 0, sizeof settings / sizeof *settings);
    tcase_add_test(inputs, entries_of_the_program);
    tcase_add_test(inputs, keys_without_their_flags);
    tcase_add_loop_test(inputs, spans_refuse_edge_inputs, 0, 3);
    tcase_add_test(inputs, tables_find_their_entries);
    suite_add_tcase(suite, inputs);
    return test_main(suite);
}
