/* The adaptive thread count: its decision on simulated measurements, and measured loops. */
#include "support.h"

#include <lib/tape/tape.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the adaptive thread count, on simulated measurements (seconds) ---- */

/* A loop whose two threads compute for `first` and `second` seconds, where other processes keep the
 * second from running for `waited`; by one thread it takes the sum. */
typedef struct {
    double first, second, waited;
} simulated_t;

/* Seconds of one loop with the decided thread count. */
static double simulate(gnn__adaptive_t *a, const simulated_t *l, int *threads)
{
    const double sum = l->first + l->second, other = l->second + l->waited;
    *threads = gnn__adaptive_threads(a, 2);
    if (*threads == 1) {
        gnn__adaptive_note(a, 2, 1, &(gnn__loop_times_t){sum, sum, sum, 0});
        return sum;
    }
    const gnn__loop_times_t times = {.seconds = l->first > other ? l->first : other,
                                     .work = sum,
                                     .longest = l->first > l->second ? l->first : l->second,
                                     .waited = l->waited};
    gnn__adaptive_note(a, 2, 2, &times);
    return times.seconds;
}

/* Seconds of `count` such loops; *by_all: how many of them two threads ran. */
static double simulate_all(gnn__adaptive_t *a, const simulated_t *l, int count, int *by_all)
{
    double seconds = 0;
    *by_all = 0;
    for (int k = 0; k < count; k++) {
        int threads;
        seconds += simulate(a, l, &threads);
        *by_all += threads == 2;
    }
    return seconds;
}

START_TEST(idle_machine_uses_all_threads_from_the_first_run)
{
    const simulated_t loops[] = {{1e-4, 1e-4, 0}, {0.25, 0.25, 0}};
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        gnn__adaptive_t a = {0};
        int by_all;
        simulate_all(&a, &loops[k], 10000, &by_all);
        ck_assert_int_eq(by_all, 10000);
    }
}
END_TEST

START_TEST(uneven_chunks_are_not_a_busy_machine)
{
    gnn__adaptive_t a = {0};
    int by_all;
    simulate_all(&a, &(simulated_t){0.09, 0.01, 0}, 1000, &by_all);
    ck_assert_int_eq(by_all, 1000);
    simulate_all(&a, &(simulated_t){0.1, 0, 0}, 1000, &by_all);
    ck_assert_int_eq(by_all, 1000);
    /* Eight threads, one of which has a chunk ten times as long. */
    for (int k = 0; k < 1000; k++)
        gnn__adaptive_note(&a, 8, 8, &(gnn__loop_times_t){0.1, 0.17, 0.1, 0});
    ck_assert_int_eq(gnn__adaptive_threads(&a, 8), 8);
    /* Loops that always use one thread are not measured. */
    for (int k = 0; k < 1000; k++)
        gnn__adaptive_note(&a, 2, 1, &(gnn__loop_times_t){0.1, 0.01, 0.01, 0.09});
    ck_assert_int_eq(gnn__adaptive_threads(&a, 2), 2);
}
END_TEST

START_TEST(preempted_threads_make_loops_use_fewer)
{
    /* Milliseconds of waiting in loops of 1 ms, 10 ms and 36 ms; the last as under nice. */
    const simulated_t loops[] = {{5e-4, 5e-4, 4e-3}, {5e-3, 5e-3, 0.02}, {0.018, 0.018, 0.5}};
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        const simulated_t *l = &loops[k];
        const int count = (int)(20 / (l->first + l->second));
        gnn__adaptive_t a = {0};
        int by_all;
        const double seconds = simulate_all(&a, l, count, &by_all);
        ck_assert_double_lt(seconds, 1.1 * count * (l->first + l->second));
        ck_assert_int_ge(by_all, 2); /* all are tried again */
        /* The other process ends: all again, within ten seconds. */
        const simulated_t idle = {l->first, l->second, 0};
        simulate_all(&a, &idle, (int)(10 / (l->first + l->second)) + 1, &by_all);
        simulate_all(&a, &idle, count, &by_all);
        ck_assert_int_eq(by_all, count);
        /* It starts again: the first loop that waits decides, or the first few. */
        simulate_all(&a, l, count, &by_all);
        ck_assert_int_lt(by_all, count / 20);
    }
    /* One of eight threads is late by three loops; fewer are seven. */
    gnn__adaptive_t a = {0};
    for (int k = 0; k < 3; k++)
        gnn__adaptive_note(&a, 8, 8, &(gnn__loop_times_t){4e-3, 8e-3, 1e-3, 3e-3});
    ck_assert_int_eq(gnn__adaptive_threads(&a, 8), 7);
    ck_assert_int_eq(gnn__adaptive_threads(&(gnn__adaptive_t){.rest = 1}, 16), 14);
    ck_assert_int_eq(gnn__adaptive_threads(&(gnn__adaptive_t){.rest = 1}, 3), 2);
}
END_TEST

START_TEST(all_threads_where_they_gain_beside_other_processes)
{
    /* The second thread has half of a processor, and chunks are dealt. */
    gnn__adaptive_t a = {0};
    for (int k = 0; k < 1000; k++)
        gnn__adaptive_note(&a, 2, 2, &(gnn__loop_times_t){0.01, 0.015, 0.01, 0.005});
    ck_assert_int_eq(gnn__adaptive_threads(&a, 2), 2);
    /* One interruption of 3 ms. */
    gnn__adaptive_note(&a, 2, 2, &(gnn__loop_times_t){0.0035, 0.001, 0.0005, 0.003});
    ck_assert_int_eq(gnn__adaptive_threads(&a, 2), 2);
    ck_assert_double_gt(a.loss, 0.002);
    for (int k = 0; k < 10; k++)
        gnn__adaptive_note(&a, 2, 2, &(gnn__loop_times_t){0.0005, 0.001, 0.0005, 0});
    ck_assert(a.loss == 0);
    /* Both processors are busy: one thread alone would have half of one, too. */
    a = (gnn__adaptive_t){.rest = 1};
    for (int k = 0; gnn__adaptive_threads(&a, 2) == 1; k++) {
        gnn__adaptive_note(&a, 2, 1, &(gnn__loop_times_t){0.02, 0.01, 0.01, 0.01});
        ck_assert_int_lt(k, 100);
    }
    for (int k = 0; k < 20; k++)
        gnn__adaptive_note(&a, 2, 2, &(gnn__loop_times_t){0.015, 0.01, 0.005, 0.015});
    ck_assert_int_eq(gnn__adaptive_threads(&a, 2), 2);
    /* That is forgotten after some seconds. */
    for (int k = 0; k < 1000; k++)
        gnn__adaptive_note(&a, 2, 2, &(gnn__loop_times_t){0.01, 0.02, 0.01, 0});
    gnn__adaptive_note(&a, 2, 2, &(gnn__loop_times_t){0.015, 0.01, 0.005, 0.015});
    ck_assert_int_eq(gnn__adaptive_threads(&a, 2), 1);
}
END_TEST

/* ---- measured loops ---- */

enum { SIDE = 300 };

START_TEST(each_iteration_of_a_measured_loop_runs_once)
{
    enum { N = 1000 };
    static int ran[N];
    for (int threads = 1; threads <= 4; threads++) {
        gnn_context_t *context;
        memset(ran, 0, sizeof ran);
        ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 4}));
        ck_ok(gnn__team_start(context));
        gnn__adaptive_begin(context);
        GNN__PARALLEL_FOR (threads, int64_t k = 0; k < N; k++)
            ran[k]++;
        GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, 7), int64_t k = 0; k < N; k++)
            ran[k]++;
        GNN__EACH_CHUNK (k, N, threads)
            ran[k]++;
        int teams = 0;
        GNN__PARALLEL (threads) {
#pragma omp atomic
            teams++;
        }
        gnn__adaptive_end(context);
        for (int k = 0; k < N; k++)
            ck_assert_int_eq(ran[k], 3);
        ck_assert_int_eq(teams, threads);
        ck_assert_int_eq(context->fewer, 0);
        gnn_context_free(context);
    }
}
END_TEST

static void spin(double seconds)
{
    const double start = gnn__seconds();
    while (gnn__seconds() - start < seconds) {}
}

static bool tells_run_delay(void)
{
    long long ran = 0, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    const bool tells = file && fscanf(file, "%lld %lld", &ran, &waited) == 2 && waited > 0;
    if (file)
        fclose(file);
    return tells;
}

/* For a process of its own: two threads on one processor; ends with 0 if their waiting was
 * measured. */
static void share_a_processor(void)
{
    cpu_set_t one, may;
    gnn_context_t *context;
    sched_getaffinity(0, sizeof may, &may);
    CPU_ZERO(&one);
    for (int k = 0; k < CPU_SETSIZE && CPU_COUNT(&one) == 0; k++)
        if (CPU_ISSET(k, &may))
            CPU_SET(k, &one);
    sched_setaffinity(0, sizeof one, &one);
    if (gnn_context_new(&context, &(gnn_context_config_t){.threads = 2}) != GNN_OK ||
        gnn__team_start(context) != GNN_OK)
        _exit(1);
    gnn__adaptive_begin(context);
    int64_t waited = 0;
    for (int k = 0; k < 50 && waited == 0; k++) {
        gnn__loop_t loop = gnn__loop_begin(2);
#pragma omp parallel num_threads(2)
        {
            gnn__stay_t stay = gnn__stay_begin(&loop);
            spin(0.02);
            gnn__stay_end(&stay, &loop);
        }
        gnn__loop_end(&loop);
        waited = loop.waited;
        if (waited > loop.work + waited || loop.longest > loop.work)
            _exit(2);
    }
    _exit(waited > 0 ? 0 : 3);
}

START_TEST(waiting_for_a_processor_is_measured)
{
    if (!tells_run_delay() || test_small())
        return; /* valgrind schedules threads by itself */
    int status;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        share_a_processor();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(fewer_threads_compute_the_same_bits)
{
    enum { RUNS = 12 };
    gnn_context_t *context;
    gnn_real_t *x = test_reals(SIDE * SIDE, 3), first[SIDE];
    const gnn_tensor_t at = gnn_tensor(x, SIDE, SIDE);
    gnn_tape_t *tape;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .deterministic = GNN_ON}));
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 0, 1);
    const gnn_var_t in = gnn_tape_input(tape, &at, 0),
                    y = gnn_tape_activation(
                        tape,
                        gnn_tape_linear(tape, in, gnn_tape_dropout(tape, in, (gnn_real_t)0.5),
                                        GNN_NONE),
                        GNN_TANH, 0);
    gnn_tape_keep(tape, y);
    int fewer = 0;
    for (int k = 0; k < RUNS; k++) {
        /* With all threads; with fewer, as next to other processes; and with all again from the
         * second operation on. */
        context->adaptive.rest = (const double[]){0, 1e3, 1e-9}[k % 3];
        ck_ok(gnn_tape_forward(tape));
        fewer += context->after == 1;
        ck_assert_int_eq(context->fewer, 0);
        const gnn_tensor_t value = gnn_tape_value(tape, y);
        if (k == 0)
            memcpy(first, value.data, sizeof first);
        ck_assert_mem_eq(first, value.data, sizeof first);
    }
    ck_assert_int_ge(fewer, RUNS / 3); /* more on a busy machine */
    gnn_tape_free(tape);
    gnn_context_free(context);
    free(x);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("adaptive_threads");
    TCase *c = tcase_create("adaptive_threads");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, idle_machine_uses_all_threads_from_the_first_run);
    tcase_add_test(c, uneven_chunks_are_not_a_busy_machine);
    tcase_add_test(c, preempted_threads_make_loops_use_fewer);
    tcase_add_test(c, all_threads_where_they_gain_beside_other_processes);
    tcase_add_test(c, each_iteration_of_a_measured_loop_runs_once);
    tcase_add_test(c, waiting_for_a_processor_is_measured);
    tcase_add_test(c, fewer_threads_compute_the_same_bits);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
