/* Ranks as threads of one process: weights, outputs and metrics have the same bits for any count of
 * ranks and threads; an error on one rank ends all. */
#include "ranks_threads.h"

#include <lib/base/ranks.h>
#include <unistd.h>

/* ---- trials ---- */

#define GCN                                                                  \
    TRIAL("gcn", GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU), \
          GNN_GCN(.in = 16, .out = TRIAL_CLASSES))

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

/* ---- rows that are computed while messages travel ---- */

/* Messages that this rank has added up. */
static _Thread_local int64_t added;

static void add_counted(const gnn_aggregate_shape_t *shape, gnn_real_t *state, const gnn_edge_t *edge)
{
    added++;
    gnn_aggregator_sum.accumulate(shape, state, edge);
}

/* A transport that delays, and looks at what is done when its rank begins to wait. */
typedef struct {
    gnn_transport_t transport, *inner;
    const trial_case_t *c;
    gnn_real_t *outputs;
    int64_t expected, edges;      /* messages of receivers without senders of other ranks; of all */
    bool travels;                 /* false: rows arrive before any is computed */
    int64_t added, added_at_wait; /* when it has ended, when it began to wait for rows last */
} watched_t;

static int exchange_watched(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    watched_t *w = t->user;
    return w->inner->exchange(w->inner, send, receive);
}

static int start_watched(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    watched_t *w = t->user;
    return w->inner->start(w->inner, send, receive);
}

static int finish_watched(gnn_transport_t *t)
{
    watched_t *w = t->user;
    w->added_at_wait = added;
    return w->inner->finish(w->inner);
}

/* Counts messages of own receivers as the library divides rows. */
static void count_messages(watched_t *w, const gnn_graph_t *graph)
{
    const int64_t n = w->c->nodes, slices = (n + GNN_SLICE - 1) / GNN_SLICE;
    int64_t *before = calloc((size_t)slices + 1, sizeof *before), book[MOST_RANKS + 1];
    for (int64_t i = 0, sum = 0; i < n; i++) {
        gnn_graph_row_t row;
        ck_ok(gnn_graph_row(graph, 0, i, &row));
        sum += GNN__NODE_COST + row.count;
        before[i / GNN_SLICE + 1] = sum;
    }
    gnn__slice_book(n, w->inner->ranks, before, book);
    for (int64_t i = book[w->inner->rank]; i < book[w->inner->rank + 1]; i++) {
        gnn_graph_row_t row;
        bool own = true;
        ck_ok(gnn_graph_row(graph, 0, i, &row));
        for (int64_t k = 0; k < row.count; k++) {
            const int64_t j = gnn_graph_row_sender(&row, k);
            own &= j >= book[w->inner->rank] && j < book[w->inner->rank + 1];
        }
        w->edges += row.count;
        w->expected += own ? row.count : 0;
    }
    free(before);
}

static void *predict_watched(void *user)
{
    watched_t *w = user;
    gnn_context_t *context;
    gnn_model_t *model;
    w->transport = *w->inner;
    w->transport.exchange = exchange_watched;
    w->transport.start = w->travels ? start_watched : NULL;
    w->transport.finish = w->travels ? finish_watched : NULL;
    w->transport.user = w;
    added = 0;
    gnn_data_t *data = trial_data(w->c);
    count_messages(w, gnn_data_graph(data));
    trial_must(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    trial_must(gnn_context_set_ranks(context, &w->transport));
    trial_must(gnn_model_new(&model, context, w->c->n_layers, w->c->layers));
    const gnn_tensor_t out = gnn_tensor(w->outputs, w->c->nodes, TRIAL_CLASSES);
    trial_must(gnn_predict(model, context, data, &out));
    w->added = added;
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    return NULL;
}

static void watch_ranks(const trial_case_t *c, int ranks, bool travels, watched_t *w,
                        gnn_real_t *outputs)
{
    gnn_transport_t *transports[MOST_RANKS];
    pthread_t running[MOST_RANKS];
    ck_ok(gnn_transport_threads(transports, ranks, 17));
    for (int r = 0; r < ranks; r++) {
        w[r] = (watched_t){.inner = transports[r],
                           .c = c,
                           .outputs = outputs + r * c->nodes * TRIAL_CLASSES,
                           .travels = travels};
        ck_assert_int_eq(pthread_create(&running[r], NULL, predict_watched, &w[r]), 0);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(running[r], NULL);
        gnn_transport_free(transports[r]);
    }
}

START_TEST(rows_without_halo_are_computed_before_the_wait)
{
    gnn_aggregator_t counted = gnn_aggregator_sum;
    counted.name = "counted";
    counted.accumulate = add_counted;
    const trial_case_t c = {
        TRIAL("counted", GNN_SAGE(.in = TRIAL_IN, .out = TRIAL_CLASSES, .aggregator = &counted)),
        .nodes = 2300};
    gnn_real_t *outputs = calloc((size_t)(3 * c.nodes * TRIAL_CLASSES), sizeof *outputs);
    for (int ranks = 2; ranks <= 3; ranks++)
        for (int travels = 0; travels < 2; travels++) {
            watched_t w[3];
            watch_ranks(&c, ranks, travels, w, outputs);
            for (int r = 0; r < ranks; r++) {
                ck_assert_int_gt(w[r].expected, 0);
                ck_assert_int_lt(w[r].expected, w[r].edges);
                ck_assert_int_eq(w[r].added, w[r].edges);
                ck_assert_int_eq(w[r].added_at_wait, travels ? w[r].expected : 0);
            }
        }
    free(outputs);
}
END_TEST

/* Every strategy; the counter is the library's. A batch of short rows is early as a whole. */
START_TEST(all_strategies_compute_rows_while_messages_travel)
{
    const trial_case_t cases[] = {
        {TRIAL("sum", GNN_GIN(.in = TRIAL_IN, .out = TRIAL_CLASSES))},
        {TRIAL("max",
               GNN_SAGE(.in = TRIAL_IN, .out = TRIAL_CLASSES, .aggregator = &gnn_aggregator_max))},
        {TRIAL("by lane", GNN_GAT(.in = TRIAL_IN, .out = TRIAL_CLASSES))},
        {TRIAL("by lane, packed", GNN_GATV2(.in = TRIAL_IN, .out = TRIAL_CLASSES, .heads = 4,
                                            .combine = GNN_HEADS_AVERAGE))},
        {TRIAL("by row", GNN_GATV2(.in = TRIAL_IN, .out = TRIAL_CLASSES, .heads = 9,
                                   .combine = GNN_HEADS_AVERAGE))},
        {TRIAL("reference",
               GNN_SAGE(.in = TRIAL_IN, .out = TRIAL_CLASSES, .aggregator = &gnn_aggregator_std))},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        trial_case_t c = cases[k];
        c.nodes = 1700;
        c.near = true;
        const size_t count = (size_t)(3 * c.nodes * TRIAL_CLASSES);
        gnn_real_t *early = calloc(count, sizeof *early), *late = calloc(count, sizeof *late);
        watched_t w[3];
        watch_ranks(&c, 3, true, w, early);
        for (int r = 0; r < 3; r++)
            ck_assert_msg(w[r].transport.early_rows > 0, "%s: rank %d", c.name, r);
        watch_ranks(&c, 3, false, w, late);
        for (int r = 0; r < 3; r++)
            ck_assert_int_eq(w[r].transport.early_rows, 0);
        ck_assert_msg(memcmp(early, late, count * sizeof *early) == 0, "%s", c.name);
        c.train = few;
        trial_result_t one = run_one(&c, 1);
        check_equal(&c, 4, 1, 7 + k, &one);
        trial_free(&one);
        free(early);
        free(late);
    }
}
END_TEST

/* ---- losses and checkpoints ---- */

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

static void mixed_by_nodes(gnn_steps_t *steps)
{
    trial_must(gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_LINEAR, .name = "wide", .inputs = {"x"}, .in = TRIAL_IN, .out = 600}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_OP,
                                                  .name = "mixed",
                                                  .inputs = {"wide", "x"},
                                                  .op = &gnn_op_mix_heads}));
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .in = TRIAL_IN, .out = TRIAL_CLASSES}));
}

START_TEST(what_does_not_run_over_ranks_is_refused_by_name)
{
    trial_case_t gcn = {GCN, .nodes = 600, .train = few};
    gcn.train.drop_edge = (gnn_real_t)0.1;
    check_refused(&gcn, "drop_edge");
}
END_TEST

/* Each batch of samples is one rank's, so that its values can be computed again. */
START_TEST(values_are_computed_again_for_samples_alone)
{
    static const int64_t fan_outs[] = {4, 4};
    static const gnn_sampling_t sampling = {
        .batch = 64, .sampler = {.method = "neighbours", .hops = 2, .fan_outs = fan_outs}};
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_LAYER, .layer = GNN_SAGE(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU)},
        {.kind = GNN_STEP_LAYER, .graph = 1, .layer = GNN_SAGE(.in = 16, .out = TRIAL_CLASSES)}};
    const trial_case_t c = {.name = "again", .nodes = 600};
    gnn_train_config_t config = few;
    gnn_data_t *data = trial_data(&c);
    trial_result_t kept[2] = {{0}, {0}};
    gnn_transport_t *one;
    gnn_context_t *context;
    ck_ok(gnn_transport_threads(&one, 1, 0));
    for (int again = 0; again < 2; again++) {
        gnn_model_t *model;
        ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
        ck_ok(gnn_context_set_ranks(context, one));
        ck_ok(gnn_model_from_steps(&model, context, 2, steps));
        ck_ok(gnn_model_set_recompute(model, 2 * again));
        config.sampling = NULL;
        if (again)
            ck_fails(gnn_train(model, context, data, &config, NULL), GNN_EUNSUPPORTED,
                     "values are not recomputed over ranks");
        config.sampling = &sampling;
        ck_ok(gnn_train(model, context, data, &config, NULL));
        trial_keep_weights(model, &kept[again]);
        gnn_model_free(model);
        gnn_context_free(context);
    }
    ck_assert_mem_eq(kept[0].weights, kept[1].weights,
                     sizeof *kept[0].weights * (size_t)kept[0].n_weights);
    trial_free(&kept[0]);
    trial_free(&kept[1]);
    gnn_data_free(data);
    gnn_transport_free(one);
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
    ck_ok(gnn_transport_threads(&one, 1, 0));
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

/* x' weights of its own: a slice of the second x is not the matrix that one rank reads. */
START_TEST(rows_of_nodes_as_a_weight_are_refused_on_every_count)
{
    trial_case_t c = {.name = "weights", .nodes = 600, .steps = mixed_by_nodes, .train = few};
    check_refused(&c, "op mix_heads reads all rows of input 1");
    const trial_case_t *cases[] = {&c, &c};
    trial_result_t results[2];
    run_ranks(cases, 2, 1, 0, results);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(results[r].rc, GNN_EUNSUPPORTED);
        ck_assert_msg(strstr(results[r].message, "mix_heads"), "%s", results[r].message);
        trial_free(&results[r]);
    }
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

START_TEST(a_loss_that_is_not_finite_is_blamed_on_all_ranks)
{
    trial_case_t c = {GCN, .nodes = 1700, .sparse = true, .train = few};
    trial_case_t *cases[] = {&c, &c, &c};
    c.train.optimizer.lr = (gnn_real_t)(GNN_DOUBLE ? 1e200 : 1e30);
    check_all_end(cases, 3, "epoch");
    c.train.optimizer.kind = GNN_SGD;
    check_all_end(cases, 3, " is ");
}
END_TEST

/* Its error is not one of a collective call: the others learn of it when it frees its context. */
START_TEST(a_rank_that_leaves_early_ends_the_others)
{
    trial_case_t a = {GCN, .nodes = 1100, .train = few}, b = a;
    const trial_case_t *cases[] = {&a, &b, &a};
    trial_result_t results[3];
    b.folder = "/nowhere";
    run_ranks(cases, 3, 1, 0, results);
    for (int r = 0; r < 3; r++) {
        const char *words = r == 1 ? "nowhere" : "rank 1 has freed its context";
        ck_assert_msg(results[r].rc != GNN_OK && strstr(results[r].message, words),
                      "rank %d: %d, %s", r, results[r].rc, results[r].message);
        trial_free(&results[r]);
    }
}
END_TEST

/* The folder of checkpoints goes away after the first epoch. */
static int remove_folder_once(void *user, const gnn_progress_t *progress)
{
    (void)progress;
    rmdir(user);
    return 0;
}

START_TEST(checkpoints_that_fail_or_differ_end_all)
{
    char folder[] = "/tmp/gnn_ranks_XXXXXX", path[60], missing[60];
    trial_case_t a = {GCN, .nodes = 1100, .train = few}, b;
    trial_case_t *cases[] = {&a, &a, &a}, *others[] = {&a, &a, &b};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    snprintf(missing, sizeof missing, "%s/missing", folder);
    a.train.checkpoint = "/nowhere/checkpoint";
    check_all_end(cases, 3, "/nowhere/checkpoint");
    a.train.checkpoint = path;
    a.train.epochs = 2;
    trial_result_t half = run_all(&a, 3);
    trial_free(&half);
    a.train.epochs = 4;
    a.train.resume = GNN_ON;
    b = a;
    b.train.checkpoint = missing; /* of this rank's machine */
    check_all_end(others, 3, "ranks 0 and 2 have different checkpoints");
    remove(path);
    a.train.resume = GNN_OFF;
    a.train.checkpoint_every = 1;
    a.train.callback = remove_folder_once;
    a.train.user = folder;
    check_all_end(cases, 3, path);
}
END_TEST

/* The first message of one rank has the version of another library. */
typedef struct {
    gnn_transport_t transport, *inner;
    const trial_case_t *c;
    bool other, sent;
    trial_result_t result;
} versioned_t;

static int exchange_versioned(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    versioned_t *v = t->user;
    uint8_t *version = (uint8_t *)send[0].data + 4;
    if (v->other && !v->sent)
        *version ^= 1;
    v->sent = true;
    return v->inner->exchange(v->inner, send, receive);
}

static void *run_versioned(void *user)
{
    versioned_t *v = user;
    v->result = trial_run(v->c, &v->transport, 1);
    return NULL;
}

START_TEST(another_version_on_one_rank_ends_all)
{
    enum { RANKS = 3 };
    const trial_case_t c = {GCN, .nodes = 1100, .train = few};
    gnn_transport_t *transports[RANKS];
    versioned_t ranks[RANKS];
    pthread_t running[RANKS];
    ck_ok(gnn_transport_threads(transports, RANKS, 3));
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (versioned_t){.inner = transports[r], .c = &c, .other = r == 1};
        ranks[r].transport = (gnn_transport_t){.name = "versioned",
                                               .rank = r,
                                               .ranks = RANKS,
                                               .exchange = exchange_versioned,
                                               .user = &ranks[r]};
        ck_assert_int_eq(pthread_create(&running[r], NULL, run_versioned, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; r++) {
        const trial_result_t *result = &ranks[r].result;
        pthread_join(running[r], NULL);
        gnn_transport_free(transports[r]);
        ck_assert_msg(result->rc == GNN_EINVALID &&
                          strstr(result->message,
                                 "ranks 0 and 1 run different versions of libgnn: " GNN_VERSION),
                      "rank %d: %d, %s", r, result->rc, result->message);
        trial_free(&ranks[r].result);
    }
}
END_TEST

/* ---- calls of programs ---- */

typedef struct {
    gnn_transport_t *transport;
    int code;        /* what it passes */
    double value;    /* its summand, then the sum */
    int agreed, sum; /* what it gets */
    char message[100];
} caller_t;

static void *agree_and_sum(void *user)
{
    caller_t *c = user;
    gnn_context_t *context;
    double values[2] = {c->value, 1};
    trial_must(gnn_context_new(&context, NULL));
    trial_must(gnn_context_set_ranks(context, c->transport));
    c->sum = gnn_ranks_sum(context, 2, values);
    c->value = values[0] + 100 * values[1];
    if (c->code != GNN_OK)
        (void)gnn_data_open(&(gnn_data_t *){NULL}, "/nowhere/of/this/rank");
    c->agreed = gnn_ranks_agree(context, c->code);
    snprintf(c->message, sizeof c->message, "%s", c->agreed ? gnn_error_message() : "");
    gnn_context_free(context);
    return NULL;
}

static void call_on_three(caller_t callers[3])
{
    gnn_transport_t *transports[3];
    pthread_t running[3];
    ck_ok(gnn_transport_threads(transports, 3, 5));
    for (int r = 0; r < 3; r++) {
        callers[r].transport = transports[r];
        ck_assert_int_eq(pthread_create(&running[r], NULL, agree_and_sum, &callers[r]), 0);
    }
    for (int r = 0; r < 3; r++) {
        pthread_join(running[r], NULL);
        gnn_transport_free(transports[r]);
    }
}

START_TEST(programs_agree_on_errors_and_add_up_values)
{
    caller_t good[3] = {{.value = 1}, {.value = 2}, {.value = 4}},
             bad[3] = {{.value = 1}, {.code = GNN_EIO}, {.code = GNN_EFORMAT}};
    gnn_context_t *alone;
    double value = 7;
    call_on_three(good);
    call_on_three(bad);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(good[r].agreed, GNN_OK);
        ck_assert_int_eq(good[r].sum, GNN_OK);
        ck_assert(good[r].value == 307);
        ck_assert_int_eq(bad[r].agreed, GNN_EIO); /* the lowest rank's */
        ck_assert_msg((strncmp(bad[r].message, "rank 1: ", 8) == 0) == (r != 1), "%s",
                      bad[r].message);
        ck_assert_msg(strstr(bad[r].message, "/nowhere/of/this/rank"), "%s", bad[r].message);
    }
    ck_ok(gnn_context_new(&alone, NULL));
    ck_assert_int_eq(gnn_ranks_agree(alone, GNN_EIO), GNN_EIO);
    ck_ok(gnn_ranks_sum(alone, 1, &value));
    ck_assert(value == 7);
    ck_fails(gnn_ranks_sum(alone, 1, NULL), GNN_EINVALID, "values");
    ck_fails(gnn_ranks_agree(NULL, GNN_OK), GNN_EINVALID, "context");
    gnn_context_free(alone);
}
END_TEST

/* ---- calls within a training ---- */

typedef struct {
    gnn_transport_t *transport;
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_data_t *data, *other;
    bool calls; /* the callback of the training makes calls */
    int epochs;
    trial_result_t result;
} caller_within_t;

/* Of both sets, whose rows are split otherwise, of values, and of a split that is not there. */
static int call_within(void *user, const gnn_progress_t *progress)
{
    caller_within_t *c = user;
    double value, sum = 1;
    const int test = GNN_TEST, accuracy = GNN_METRIC_ACCURACY;
    (void)progress;
    c->epochs++;
    if (!c->calls)
        return 0;
    trial_must(gnn_evaluate(c->model, c->context, c->data, 0, test, accuracy, &value));
    trial_must(gnn_evaluate(c->model, c->context, c->other, 0, test, accuracy, &value));
    trial_must(gnn_ranks_sum(c->context, 1, &sum));
    const int rc = gnn_evaluate(c->model, c->context, c->data, 7, test, accuracy, &value);
    return rc != GNN_EINVALID || sum != (double)c->transport->ranks;
}

static void *train_with_calls(void *user)
{
    caller_within_t *c = user;
    const trial_case_t one = {GCN, .nodes = 1700}, other = {GCN, .nodes = 1100};
    gnn_train_config_t config = few;
    config.callback = call_within;
    config.user = c;
    c->data = trial_data(&one);
    c->other = trial_data(&other);
    trial_must(gnn_context_new(&c->context, &(gnn_context_config_t){.threads = 1, .seed = 5}));
    trial_must(gnn_context_set_ranks(c->context, c->transport));
    c->model = trial_model(&one, c->context);
    trial_must(gnn_train(c->model, c->context, c->data, &config, NULL));
    trial_keep_weights(c->model, &c->result);
    gnn_model_free(c->model);
    gnn_data_free(c->data);
    gnn_data_free(c->other);
    gnn_context_free(c->context);
    return NULL;
}

START_TEST(calls_of_a_callback_do_not_change_a_training)
{
    enum { RANKS = 3 };
    caller_within_t callers[2][RANKS];
    for (int calls = 0; calls < 2; calls++) {
        gnn_transport_t *transports[RANKS];
        pthread_t running[RANKS];
        ck_ok(gnn_transport_threads(transports, RANKS, 3));
        for (int r = 0; r < RANKS; r++) {
            callers[calls][r] = (caller_within_t){.transport = transports[r], .calls = calls};
            ck_assert_int_eq(pthread_create(&running[r], NULL, train_with_calls, &callers[calls][r]),
                             0);
        }
        for (int r = 0; r < RANKS; r++) {
            pthread_join(running[r], NULL);
            gnn_transport_free(transports[r]);
        }
    }
    for (int r = 0; r < RANKS; r++) {
        const trial_result_t *a = &callers[0][r].result, *b = &callers[1][r].result;
        ck_assert_int_eq(callers[1][r].epochs, few.epochs);
        ck_assert_mem_eq(a->weights, b->weights, sizeof *a->weights * (size_t)a->n_weights);
        trial_free(&callers[0][r].result);
        trial_free(&callers[1][r].result);
    }
}
END_TEST

/* ---- sets that change ---- */

typedef struct {
    gnn_transport_t *transport;
    int (*change)(gnn_data_t *data);
    bool changes; /* this rank's set */
    int before, after;
    char message[100];
} changer_t;

static int scale_rows(gnn_data_t *data)
{
    return gnn_data_row_normalise(data);
}

static int to_unit_rows(gnn_data_t *data)
{
    return gnn_data_row_unit(data);
}

static int standardise(gnn_data_t *data)
{
    return gnn_data_standardise(data, -1);
}

static int set_array(gnn_data_t *data)
{
    gnn_real_t value = 3;
    return gnn_data_array_set(
        data, GNN_ON_GRAPHS,
        &(gnn_array_t){.name = "one",
                       .dtype = sizeof value == 4 ? GNN_DTYPE_FLOAT32 : GNN_DTYPE_FLOAT64,
                       .ndim = 1,
                       .shape = {1},
                       .count = 1,
                       .data = &value});
}

static int set_graphs(gnn_data_t *data)
{
    static const int64_t ends[2] = {0, 1};
    gnn_graph_t *graph;
    GNN_TRY(gnn_graph_from_edges(&graph, gnn_data_nodes(data), gnn_data_nodes(data), 1,
                                 gnn_ints(ends), gnn_ints(ends + 1)));
    return gnn_data_graphs_set(data, 1, &graph);
}

static int to_degrees(gnn_data_t *data)
{
    return gnn_data_degree_features(data, TRIAL_IN - 1);
}

static int reorder(gnn_data_t *data)
{
    return gnn_data_reorder(data);
}

static void *evaluate_twice(void *user)
{
    changer_t *c = user;
    const trial_case_t trial = {GCN, .nodes = 600};
    gnn_context_t *context;
    gnn_data_t *data = trial_data(&trial);
    double value;
    trial_must(gnn_context_new(&context, NULL));
    trial_must(gnn_context_set_ranks(context, c->transport));
    gnn_model_t *model = trial_model(&trial, context);
    c->before = gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value);
    if (c->changes)
        trial_must(c->change(data));
    c->after = gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value);
    snprintf(c->message, sizeof c->message, "%s", gnn_error_message());
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    return NULL;
}

/* The hash of a set is kept between calls, until the set changes in any way. */
START_TEST(a_set_that_changes_on_one_rank_is_found)
{
    int (*const changes[])(gnn_data_t *) = {scale_rows, to_unit_rows, standardise, set_array,
                                            set_graphs, to_degrees,   reorder};
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        gnn_transport_t *transports[2];
        changer_t changers[2];
        pthread_t running[2];
        ck_ok(gnn_transport_threads(transports, 2, 0));
        for (int r = 0; r < 2; r++) {
            changers[r] =
                (changer_t){.transport = transports[r], .change = changes[k], .changes = r == 1};
            ck_assert_int_eq(pthread_create(&running[r], NULL, evaluate_twice, &changers[r]), 0);
        }
        for (int r = 0; r < 2; r++) {
            pthread_join(running[r], NULL);
            gnn_transport_free(transports[r]);
            ck_assert_int_eq(changers[r].before, GNN_OK);
            ck_assert_msg(changers[r].after == GNN_EINVALID &&
                              strstr(changers[r].message, "different data sets"),
                          "change %zu: %d, %s", k, changers[r].after, changers[r].message);
        }
    }
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
    gnn__ranks_outer_t outer;
    const double *total;
    int64_t *degree = calloc((size_t)sum->n, sizeof *degree);
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_context_set_ranks(context, sum->transport));
    ck_ok(gnn__ranks_open(context, &outer));
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
    ck_ok(gnn__ranks_close(context, &outer, GNN_OK));
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
    tcase_add_test(tests, programs_agree_on_errors_and_add_up_values);
    tcase_add_test(tests, calls_of_a_callback_do_not_change_a_training);
    tcase_add_test(tests, a_set_that_changes_on_one_rank_is_found);
    tcase_add_test(tests, gcn_has_the_same_bits_on_any_count_of_ranks);
    tcase_add_test(tests, one_rank_equals_a_training_without_ranks_to_rounding);
    tcase_add_test(tests, messages_late_and_out_of_order_change_nothing);
    tcase_add_test(tests, rows_without_halo_are_computed_before_the_wait);
    tcase_add_test(tests, all_strategies_compute_rows_while_messages_travel);
    tcase_add_test(tests, ranks_without_rows_take_part);
    tcase_add_test(tests, losses_metrics_and_patience_are_those_of_the_whole_graph);
    tcase_add_test(tests, trainings_resume_on_another_count_of_ranks);
    tcase_add_test(tests, what_does_not_run_over_ranks_is_refused_by_name);
    tcase_add_test(tests, values_are_computed_again_for_samples_alone);
    tcase_add_test(tests, rows_of_nodes_as_a_weight_are_refused_on_every_count);
    tcase_add_test(tests, an_op_that_reads_the_index_of_a_row_is_refused);
    tcase_add_test(tests, ranks_that_differ_all_end_with_an_error);
    tcase_add_test(tests, a_loss_that_is_not_finite_is_blamed_on_all_ranks);
    tcase_add_test(tests, a_rank_that_leaves_early_ends_the_others);
    tcase_add_test(tests, another_version_on_one_rank_ends_all);
    tcase_add_test(tests, checkpoints_that_fail_or_differ_end_all);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
