/* kill -9 at random moments: a training that was killed, went on and finished has the weights of
 * one that was left alone, byte for byte. The program runs itself as the one that trains: a process
 * of its own, not a copy of one with threads. */
#include "checkpoint_trial.h"
#include "io_bytes.h"

#include <lib/train/train.h>

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { KILLS = 20, SAMPLED_KILLS = 3, EPOCHS = 400, SAMPLED_EPOCHS = 30, SPACE = 1000 };

static const char *train_into;

/* Count of kills of a sampled training: GNN_TEST_KILLS, or SAMPLED_KILLS. */
static int sampled_kills(void)
{
    const char *more = getenv("GNN_TEST_KILLS");
    return more ? atoi(more) : SAMPLED_KILLS;
}

/* The program that is killed: trains into `train_into`, then saves the weights next to it. */
START_TEST(train_until_killed)
{
    char saved[600];
    gnn_train_result_t result;
    trial_t *t = trial_new(3, HIDDEN, 0.3);
    gnn_train_config_t config = trial_config(t, EPOCHS, GNN_ADAMW, train_into);
    config.checkpoint_every = 1;
    config.resume = GNN_ON;
    config.watch = GNN_WATCH_LOSS;
    snprintf(saved, sizeof saved, "%s.weights", train_into);
    ck_ok(gnn_train_batches(t->model, t->context, &t->source, &config, &result));
    ck_ok(gnn_model_save(t->model, saved));
    trial_free(t);
}
END_TEST

/* ---- the same on samples of a graph ---- */

enum { NODES = 600, MESSAGES = 6000 };

static gnn_data_t *graph_set(void)
{
    static int64_t src[MESSAGES], dst[MESSAGES];
    static int32_t labels[NODES];
    static uint8_t masks[3][NODES];
    uint64_t state = 9;
    gnn_data_t *data;
    gnn_real_t *x = test_reals((int64_t)NODES * IN, 13);
    const gnn_tensor_t features = gnn_tensor(x, NODES, IN);
    for (int64_t i = 0; i < NODES; i++) {
        labels[i] = (int32_t)(i % CLASSES);
        x[i * IN + labels[i]] += 1;
        masks[i / CLASSES % 3][i] = 1;
    }
    for (int64_t k = 0; k < MESSAGES; k++) {
        src[k] = test_below(&state, NODES);
        dst[k] = test_below(&state, NODES);
    }
    gnn_split_t *split;
    ck_ok(gnn_split_from_masks(&split, NODES, 1, masks[0], masks[1], masks[2]));
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = NODES,
                                                   .edges = MESSAGES,
                                                   .src = gnn_ints(src),
                                                   .dst = gnn_ints(dst),
                                                   .x = &features,
                                                   .labels = gnn_ints(labels),
                                                   .split = split}));
    gnn_split_free(split);
    free(x);
    return data;
}

/* Batches are drawn ahead by a thread of their own. */
START_TEST(train_on_samples_until_killed)
{
    static const int64_t fan_outs[] = {5, 5};
    char saved[600];
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_data_t *data = graph_set();
    const gnn_sampling_t sampling = {
        .sampler = {.hops = 2, .fan_outs = fan_outs, .seed = 4}, .batch = 25, .prefetch = GNN_ON};
    gnn_step_t steps[] = {{.layer = GNN_SAGE(.in = IN, .out = HIDDEN, .activation = GNN_RELU,
                                             .dropout = (gnn_real_t)0.3),
                           .graph = 0},
                          {.layer = GNN_SAGE(.in = HIDDEN, .out = CLASSES), .graph = 1}};
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 6}));
    ck_ok(gnn_model_from_steps(&model, context, 2, steps));
    ck_ok(gnn_train(model, context, data,
                    &(gnn_train_config_t){.epochs = SAMPLED_EPOCHS,
                                          .checkpoint = train_into,
                                          .checkpoint_every = 1,
                                          .resume = GNN_ON,
                                          .sampling = &sampling},
                    NULL));
    snprintf(saved, sizeof saved, "%s.weights", train_into);
    ck_ok(gnn_model_save(model, saved));
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

/* ---- killing ---- */

/* By name: under valgrind /proc/self/exe is valgrind. */
static const char *program, *what = "--train";

static pid_t start(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        /* Programs of another processor need a runner (tools/arm64.sh). */
        execlp("sh", "sh", "-c", "exec ${GNN_TEST_RUNNER:-} \"$0\" \"$@\"", program, what, path,
               (char *)NULL);
        _exit(127);
    }
    ck_assert_int_gt(child, 0);
    return child;
}

static void pause_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&t, NULL);
}

/* Waits up to ten seconds for a file; processes start slowly on a busy machine. */
static void wait_for(const char *path)
{
    for (int k = 0; k < 2000 && access(path, F_OK) != 0; k++)
        pause_for(0.005);
}

/* Starts, waits, kills: true if the kill came before the end. Every fourth kill does not wait for
 * the first checkpoint. */
static bool start_and_kill(const char *path, int kill_number, double moment)
{
    int status;
    pid_t child = start(path);
    if (kill_number % 4 != 0)
        wait_for(path);
    pause_for(moment);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return true;
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    return false;
}

static void same_files(const char *one, const char *other)
{
    bytes_t a, b;
    read_bytes(one, &a);
    read_bytes(other, &b);
    ck_assert_uint_gt(a.n, SPACE);
    ck_assert_uint_eq(a.n, b.n);
    ck_assert(memcmp(a.at, b.at, a.n) == 0);
}

/* Lets the training end, and compares. */
static void finish(const char *path, const char *expected)
{
    int status;
    char saved[600];
    snprintf(saved, sizeof saved, "%s.weights", path);
    pid_t child = start(path);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    same_files(saved, expected);
    /* a kill may have hit the saving of the weights, whose temporary file is not removed */
    gnn__temporaries_sweep(saved);
    unlink(saved);
    unlink(path);
}

/* Completed epochs of a checkpoint; 0 without one. */
static int64_t epochs_of(const char *path)
{
    gnn_arrays_t *arrays;
    if (access(path, F_OK) != 0)
        return 0;
    ck_ok(gnn_safetensors_read(&arrays, path, NULL));
    int64_t epoch = (int64_t)gnn_array_get(gnn_arrays_find(arrays, "integers"), 3) - 1;
    gnn_arrays_free(arrays);
    return epoch;
}

/* Kills trainings `most` times, and compares each with one that was left alone. */
static void kill_and_compare(int most, int64_t epochs_in_all)
{
    char expected[512], path[512];
    int kills = 0, rounds = 0, amid = 0;
    uint64_t state = (uint64_t)time(NULL);
    make_folder();
    snprintf(path, sizeof path, "%s", in_folder("alone"));
    snprintf(expected, sizeof expected, "%s", in_folder("alone.weights"));
    int status;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    pid_t child = start(path);
    wait_for(path);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double alone = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    snprintf(path, sizeof path, "%s", in_folder("killed"));
    for (; kills < most && rounds < 2 * most; rounds++) {
        bool ended = false;
        while (!ended && kills < most) {
            ended =
                !start_and_kill(path, kills, fmin(alone / 4, 0.4) * (test_uniform(&state) + 1) / 2);
            kills += !ended;
            int64_t epochs = epochs_of(path);
            amid += !ended && epochs > 0 && epochs < epochs_in_all;
        }
        finish(path, expected);
    }
    printf("%d kills in %d trainings, %d of them amid the epochs; alone one takes %.2f s\n", kills,
           rounds, amid, alone);
    ck_assert_int_eq(kills, most);
    ck_assert_int_ge(amid, most / 4);
    ck_assert_int_eq(count_files(0), 2); /* no temporary file of a killed writer is left */
    remove_folder();
}

START_TEST(a_training_killed_twenty_times_has_the_same_weights)
{
    kill_and_compare(KILLS, EPOCHS);
}
END_TEST

START_TEST(a_sampled_training_killed_has_the_same_weights)
{
    what = "--train-sampled";
    kill_and_compare(sampled_kills(), SAMPLED_EPOCHS);
    what = "--train";
}
END_TEST

static Suite *suite_of(const char *name, const TTest *test)
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, test);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc != 3 || strncmp(argv[1], "--train", 7) != 0) {
        Suite *suite =
            suite_of("checkpoint_kill", a_training_killed_twenty_times_has_the_same_weights);
        TCase *sampled = tcase_create("checkpoint_kill_sampled");
        tcase_set_timeout(sampled, 600);
        tcase_add_test(sampled, a_sampled_training_killed_has_the_same_weights);
        suite_add_tcase(suite, sampled);
        return test_main(suite);
    }
    train_into = argv[2];
    const TTest *test =
        strcmp(argv[1], "--train") == 0 ? train_until_killed : train_on_samples_until_killed;
    SRunner *runner = srunner_create(suite_of("train", test));
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
