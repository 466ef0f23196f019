/* Ranks as threads of one process: weights, outputs and metrics have the same bits for any count of
 * ranks and threads; an error on one rank ends all. */
#include "ranks_trial.h"

#include <lib/base/ranks.h>
#include <pthread.h>
#include <unistd.h>

/* ---- running a trial on ranks ---- */

enum { MOST_RANKS = 13 };

typedef struct {
    const trial_case_t *c;
    gnn_transport_t *transport;
    int threads;
    trial_result_t result;
} rank_t;

static void *run_rank(void *user)
{
    rank_t *rank = user;
    rank->result = trial_run(rank->c, rank->transport, rank->threads);
    return NULL;
}

/* cases[r] is rank r's. */
static void run_ranks(const trial_case_t *const *cases, int ranks, int threads, uint64_t delays,
                      trial_result_t *results)
{
    gnn_transport_t *transports[MOST_RANKS];
    pthread_t running[MOST_RANKS];
    rank_t rank[MOST_RANKS];
    ck_ok(gnn_transport_threads(transports, ranks, delays));
    for (int r = 0; r < ranks; r++) {
        rank[r] = (rank_t){.c = cases[r], .transport = transports[r], .threads = threads};
        ck_assert_int_eq(pthread_create(&running[r], NULL, run_rank, &rank[r]), 0);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(running[r], NULL);
        results[r] = rank[r].result;
        gnn_transport_free(transports[r]);
    }
}

static trial_result_t run_one(const trial_case_t *c, int threads)
{
    gnn_transport_t *one;
    ck_ok(gnn_transport_one(&one));
    const trial_result_t result = trial_run(c, one, threads);
    gnn_transport_free(one);
    return result;
}

static void compare(const char *name, int ranks, const trial_result_t *a, const trial_result_t *b)
{
    ck_assert_msg(b->rc == GNN_OK, "%s on %d ranks: %s", name, ranks, b->message);
    ck_assert_msg(memcmp(a->weights, b->weights, sizeof *a->weights * (size_t)a->n_weights) == 0,
                  "%s: weights on %d ranks differ from those of one (error %g)", name, ranks,
                  test_error(b->weights, a->weights, a->n_weights));
    ck_assert_msg(memcmp(a->outputs, b->outputs, sizeof *a->outputs * (size_t)a->n_outputs) == 0,
                  "%s: outputs on %d ranks differ from those of one", name, ranks);
    ck_assert(a->accuracy == b->accuracy);
    ck_assert(a->result.train_loss == b->result.train_loss);
    ck_assert(a->result.validation_loss == b->result.validation_loss);
    ck_assert(a->result.validation_metric == b->result.validation_metric);
}

static void check_equal(const trial_case_t *c, int ranks, int threads, uint64_t delays,
                        const trial_result_t *one)
{
    const trial_case_t *cases[MOST_RANKS] = {NULL};
    trial_result_t results[MOST_RANKS];
    for (int r = 0; r < ranks; r++)
        cases[r] = c;
    run_ranks(cases, ranks, threads, delays, results);
    for (int r = 0; r < ranks; r++) {
        compare(c->name, ranks, one, &results[r]);
        trial_free(&results[r]);
    }
}

/* ---- trials ---- */

#define GCN                                                                  \
    TRIAL("gcn", GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU), \
          GNN_GCN(.in = 16, .out = TRIAL_CLASSES))

static const gnn_train_config_t few = {.epochs = 4, .optimizer = {.lr = (gnn_real_t)0.02}};

START_TEST(gcn_has_the_same_bits_on_any_count_of_ranks)
{
    static const int counts[] = {1, 2, 3, 4, 7, 13};
    const trial_case_t c = {GCN, .nodes = 2300, .train = few};
    trial_result_t one = run_one(&c, 2);
    compare(c.name, 1, &one, &one);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        check_equal(&c, counts[k], k % 2 ? 1 : 2, 0, &one);
    trial_free(&one);
}
END_TEST

/* The transport itself changes the order of sums, not the function. */
START_TEST(one_rank_equals_a_training_without_ranks_to_rounding)
{
    const trial_case_t c = {GCN, .nodes = 1100, .train = few};
    trial_result_t one = run_one(&c, 2), none = trial_run(&c, NULL, 2);
    ck_assert_int_eq(none.rc, GNN_OK);
    ck_assert_double_lt(test_error(one.weights, none.weights, one.n_weights), 1e-3);
    ck_assert_double_lt(test_error(one.outputs, none.outputs, one.n_outputs), 1e-3);
    trial_free(&one);
    trial_free(&none);
}
END_TEST

START_TEST(messages_late_and_out_of_order_change_nothing)
{
    const trial_case_t c = {GCN, .nodes = 1600, .train = few};
    trial_result_t one = run_one(&c, 1);
    check_equal(&c, 4, 1, 99, &one);
    trial_free(&one);
}
END_TEST

START_TEST(ranks_without_rows_take_part)
{
    const trial_case_t c = {GCN, .nodes = 300, .train = few};
    trial_result_t one = run_one(&c, 1);
    check_equal(&c, 3, 1, 0, &one);
    trial_free(&one);
}
END_TEST

/* ---- layers ---- */

static void check_case(const trial_case_t *c)
{
    trial_result_t one = run_one(c, 1);
    ck_assert_msg(one.rc == GNN_OK, "%s: %s", c->name, one.message);
    check_equal(c, 2, 1, 0, &one);
    check_equal(c, 5, 1, 0, &one);
    trial_free(&one);
}

START_TEST(layers_have_the_same_bits_on_any_count_of_ranks)
{
    const trial_case_t cases[] = {
        {TRIAL("sage", GNN_SAGE(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),
               GNN_SAGE(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("gin", GNN_GIN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),
               GNN_GIN(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("gat", GNN_GAT(.in = TRIAL_IN, .out = 4, .heads = 4, .activation = GNN_ELU),
               GNN_GAT(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("gat of eight heads",
               GNN_GAT(.in = TRIAL_IN, .out = 8, .heads = 8, .activation = GNN_ELU),
               GNN_GAT(.in = 64, .out = TRIAL_CLASSES))},
        {TRIAL("transformer",
               GNN_PRESET_CONFIG(TRANSFORMER_CONV, .in = TRIAL_IN, .out = 8, .heads = 2,
                                 .activation = GNN_RELU),
               GNN_GCN(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("max",
               GNN_SAGE(.in = TRIAL_IN, .out = 16, .aggregator = &gnn_aggregator_max,
                        .activation = GNN_RELU),
               GNN_SAGE(.in = 16, .out = TRIAL_CLASSES, .aggregator = &gnn_aggregator_std))},
        {TRIAL("layer norm and residuals",
               GNN_GCN(.in = TRIAL_IN, .out = TRIAL_IN, .norm = GNN_NORM_LAYER, .residual = GNN_ON,
                       .activation = GNN_GELU),
               GNN_GCN(.in = TRIAL_IN, .out = TRIAL_CLASSES))},
        {TRIAL("dropout",
               GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU,
                       .dropout_in = (gnn_real_t)0.5),
               GNN_GCN(.in = 16, .out = TRIAL_CLASSES, .dropout_in = (gnn_real_t)0.5))},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        trial_case_t c = cases[k];
        c.nodes = 1700;
        c.train = few;
        c.directed = k % 2;
        check_case(&c);
    }
}
END_TEST

START_TEST(sparse_features_with_dropout_have_the_same_bits)
{
    const trial_case_t c = {TRIAL("sparse",
                                  GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU,
                                          .dropout_in = (gnn_real_t)0.3),
                                  GNN_GCN(.in = 16, .out = TRIAL_CLASSES)),
                            .nodes = 1700, .sparse = true, .train = few};
    check_case(&c);
}
END_TEST

START_TEST(losses_metrics_and_patience_are_those_of_the_whole_graph)
{
    trial_case_t c = {GCN, .nodes = 1700, .train = few};
    c.train.epochs = 30;
    c.train.patience = 2;
    c.train.label_smoothing = (gnn_real_t)0.1;
    check_case(&c);
    c.train.loss = GNN_LOSS_MEAN_SQUARED;
    c.train.label_smoothing = 0;
    check_case(&c);
    c.train.loss = GNN_LOSS_CROSS_ENTROPY;
    c.train.metric = GNN_METRIC_MACRO_F1;
    check_case(&c);
}
END_TEST

/* Trains on `ranks` ranks; the result of rank 0. */
static trial_result_t run_all(const trial_case_t *c, int ranks)
{
    const trial_case_t *cases[MOST_RANKS] = {NULL};
    trial_result_t results[MOST_RANKS];
    for (int r = 0; r < ranks; r++)
        cases[r] = c;
    run_ranks(cases, ranks, 1, 0, results);
    for (int r = 1; r < ranks; r++)
        trial_free(&results[r]);
    ck_assert_msg(results[0].rc == GNN_OK, "%s", results[0].message);
    return results[0];
}

START_TEST(trainings_resume_on_another_count_of_ranks)
{
    char path[] = "/tmp/gnn_ranks_XXXXXX";
    trial_case_t c = {GCN, .nodes = 1700, .train = few};
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    remove(path);
    c.train.watch = GNN_WATCH_NONE;
    c.train.epochs = 6;
    trial_result_t straight = run_one(&c, 1);
    c.train.checkpoint = path;
    c.train.epochs = 2;
    trial_result_t first = run_all(&c, 2);
    c.train.resume = GNN_ON;
    c.train.epochs = 4;
    trial_result_t second = run_all(&c, 3);
    c.train.epochs = 6;
    trial_result_t third = run_all(&c, 1);
    ck_assert(
        memcmp(first.weights, third.weights, sizeof *first.weights * (size_t)first.n_weights) != 0);
    ck_assert(memcmp(straight.weights, third.weights,
                     sizeof *first.weights * (size_t)first.n_weights) == 0);
    trial_free(&straight);
    trial_free(&first);
    trial_free(&second);
    trial_free(&third);
    remove(path);
}
END_TEST

/* ---- what does not run over ranks, by name ---- */

static void check_refused(const trial_case_t *c, const char *words)
{
    trial_result_t one = run_one(c, 1);
    ck_assert_msg(one.rc == GNN_EUNSUPPORTED && strstr(one.message, words), "%s: %d, %s", c->name,
                  one.rc, one.message);
    trial_free(&one);
}

START_TEST(what_does_not_run_over_ranks_is_refused_by_name)
{
    const int64_t fan_outs[] = {5};
    const gnn_sampling_t sampling = {.batch = 64, .sampler = {.hops = 1, .fan_outs = fan_outs}};
    trial_case_t norm = {TRIAL("norm", GNN_GCN(.in = TRIAL_IN, .out = TRIAL_CLASSES,
                                               .norm = GNN_NORM_BATCH)),
                         .nodes = 600, .train = few},
                 v2 = {TRIAL("gatv2", GNN_GATV2(.in = TRIAL_IN, .out = TRIAL_CLASSES)),
                       .nodes = 600, .train = few},
                 attention = {TRIAL("gat", GNN_GAT(.in = TRIAL_IN, .out = TRIAL_CLASSES,
                                                   .dropout_attention = (gnn_real_t)0.5)),
                              .nodes = 600, .train = few},
                 gcn = {GCN, .nodes = 600, .train = few};
    check_refused(&norm, "batch norm");
    check_refused(&v2, "score_parameters");
    check_refused(&attention, "dropout of messages or attention");
    gcn.train.drop_edge = (gnn_real_t)0.1;
    check_refused(&gcn, "drop_edge");
    gcn.train = few;
    gcn.train.sampling = &sampling;
    check_refused(&gcn, "samples");
}
END_TEST

/* Row r takes matrix r mod 3, whatever slice it is in; 512 is not a multiple of 3. */
START_TEST(an_op_that_reads_the_index_of_a_row_is_refused)
{
    const trial_case_t c = {.name = "experts", .nodes = 600};
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_PARAMETER, .name = "w", .rows = 3 * TRIAL_IN, .out = TRIAL_CLASSES},
        {.kind = GNN_STEP_OP,
         .name = "y",
         .inputs = {"x", "w"},
         .op = &gnn_op_grouped_product,
         .options = {3}}};
    gnn_data_t *data = trial_data(&c);
    gnn_transport_t *one;
    gnn_context_t *context;
    gnn_model_t *model;
    ck_ok(gnn_transport_one(&one));
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_model_from_steps(&model, context, 2, steps));
    ck_ok(gnn_train(model, context, data, &few, NULL));
    ck_ok(gnn_context_set_ranks(context, one));
    ck_fails(gnn_train(model, context, data, &few, NULL), GNN_EUNSUPPORTED,
             "op grouped_product is not supported over ranks");
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    gnn_transport_free(one);
}
END_TEST

/* ---- faults ---- */

static void check_all_end(trial_case_t *const *cases, int ranks, const char *words)
{
    const trial_case_t *given[MOST_RANKS];
    trial_result_t results[MOST_RANKS];
    memcpy(given, cases, sizeof *given * (size_t)ranks);
    run_ranks(given, ranks, 1, 3, results);
    for (int r = 0; r < ranks; r++) {
        ck_assert_msg(results[r].rc != GNN_OK && strstr(results[r].message, words),
                      "rank %d: %d, %s", r, results[r].rc, results[r].message);
        trial_free(&results[r]);
    }
}

START_TEST(ranks_that_differ_all_end_with_an_error)
{
    trial_case_t a = {GCN, .nodes = 1700, .train = few}, b = a;
    trial_case_t *cases[] = {&a, &a, &b};
    b.nodes = 900;
    check_all_end(cases, 3, "different data sets");
    b = a;
    b.train.epochs = 3;
    check_all_end(cases, 3, "rank");
    b = a;
    b.train.optimizer.lr = (gnn_real_t)0.01;
    check_all_end(cases, 3, "different weights");
    b = a;
    b.train.metric = (gnn_metric_t)99;
    check_all_end(cases, 3, "metric 99");
}
END_TEST

/* ---- sums ---- */

typedef struct {
    gnn_transport_t *transport;
    int64_t n;
    double total;
} sum_t;

static void *sum_rank(void *user)
{
    sum_t *sum = user;
    gnn_context_t *context;
    const double *total;
    int64_t *degree = calloc((size_t)sum->n, sizeof *degree);
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_context_set_ranks(context, sum->transport));
    gnn__ranks_open(context);
    gnn__ranks_split_rows(context->ranks, sum->n, degree);
    gnn__slice_sums_t sums = gnn__slice_sums(context->ranks, 1);
    for (int64_t k = 0; k < gnn__slices(context->ranks); k++) {
        double *block;
        const int64_t slice = gnn__first_slice(context->ranks) + k;
        ck_ok(gnn__slice_sums_next(&sums, &block));
        *block = 1 / (1 + (double)slice * (double)slice);
        gnn__slice_sums_add(&sums, slice);
    }
    ck_ok(gnn__slice_sums_end(&sums, &total));
    sum->total = *total;
    ck_ok(gnn__ranks_close(context, GNN_OK));
    gnn_context_free(context);
    free(degree);
    return NULL;
}

static double sum_over(int ranks, int64_t slices)
{
    gnn_transport_t *transports[MOST_RANKS];
    pthread_t running[MOST_RANKS];
    sum_t sum[MOST_RANKS];
    ck_ok(gnn_transport_threads(transports, ranks, 0));
    for (int r = 0; r < ranks; r++) {
        sum[r] = (sum_t){transports[r], slices * GNN_SLICE - 100, 0};
        ck_assert_int_eq(pthread_create(&running[r], NULL, sum_rank, &sum[r]), 0);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(running[r], NULL);
        gnn_transport_free(transports[r]);
        ck_assert(sum[r].total == sum[0].total);
    }
    return sum[0].total;
}

START_TEST(sums_over_slices_do_not_depend_on_ranks)
{
    for (int64_t slices = 1; slices < 40; slices += 1 + slices / 5) {
        const double one = sum_over(1, slices);
        double direct = 0;
        for (int64_t k = 0; k < slices; k++)
            direct += 1 / (1 + (double)k * (double)k);
        ck_assert_double_lt(fabs(one - direct), 1e-14);
        for (int ranks = 2; ranks <= MOST_RANKS; ranks += 1 + ranks / 3)
            ck_assert(sum_over(ranks, slices) == one);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, sums_over_slices_do_not_depend_on_ranks);
    tcase_add_test(tests, gcn_has_the_same_bits_on_any_count_of_ranks);
    tcase_add_test(tests, one_rank_equals_a_training_without_ranks_to_rounding);
    tcase_add_test(tests, messages_late_and_out_of_order_change_nothing);
    tcase_add_test(tests, ranks_without_rows_take_part);
    tcase_add_test(tests, layers_have_the_same_bits_on_any_count_of_ranks);
    tcase_add_test(tests, sparse_features_with_dropout_have_the_same_bits);
    tcase_add_test(tests, losses_metrics_and_patience_are_those_of_the_whole_graph);
    tcase_add_test(tests, trainings_resume_on_another_count_of_ranks);
    tcase_add_test(tests, what_does_not_run_over_ranks_is_refused_by_name);
    tcase_add_test(tests, an_op_that_reads_the_index_of_a_row_is_refused);
    tcase_add_test(tests, ranks_that_differ_all_end_with_an_error);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
