/* Ranks as threads of one process: weights, outputs and metrics have the same bits for any count of
 * ranks and threads; an error on one rank ends all. */
#include "ranks_trial.h"

#include <lib/base/ranks.h>
#include <pthread.h>

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
    const trial_case_t *cases[MOST_RANKS];
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

#define GCN                                                                    \
    TRIAL("gcn", GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),   \
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
        sum[r] = (sum_t){transports[r], slices * GNN__SLICE - 100, 0};
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
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
