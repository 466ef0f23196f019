/* The thread count of a context: processors, cpusets, quotas of control groups; forks, and lack of
 * memory for threads. */
#include "support.h"

#include <ftw.h>
#include <lib/tape/tape.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- control groups, in a folder in place of / ---- */

static char root[64];

static void root_new(void)
{
    strcpy(root, "/tmp/gnn-cgroup-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

static void root_free(void)
{
    ck_assert_int_eq(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = 0;
        mkdir(full, 0700);
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

START_TEST(quotas_of_version_2)
{
    root_new();
    ck_assert_int_eq(gnn__processors_granted(root), 0);
    put("/proc/self/cgroup", "0::/batch/job\n");
    ck_assert_int_eq(gnn__processors_granted(root), 0);
    put("/sys/fs/cgroup/batch/job/cpu.max", "max 100000\n");
    ck_assert_int_eq(gnn__processors_granted(root), 0);
    put("/sys/fs/cgroup/batch/cpu.max", "350000 100000\n"); /* 3.5: to the nearest, and up */
    ck_assert_int_eq(gnn__processors_granted(root), 4);
    put("/sys/fs/cgroup/batch/job/cpu.max", "140000 100000\n");
    ck_assert_int_eq(gnn__processors_granted(root), 1);
    put("/sys/fs/cgroup/batch/job/cpu.max", "160000 100000\n");
    ck_assert_int_eq(gnn__processors_granted(root), 2);
    put("/sys/fs/cgroup/batch/job/cpu.max", "5000 100000\n"); /* a part of one is one */
    ck_assert_int_eq(gnn__processors_granted(root), 1);
    put("/sys/fs/cgroup/batch/job/cpu.max", "nonsense\n");
    ck_assert_int_eq(gnn__processors_granted(root), 4);
    root_free();
}
END_TEST

/* In a container the group's path may be the host's; what is mounted is the container's own. */
START_TEST(quotas_at_the_mounted_root)
{
    root_new();
    put("/proc/self/cgroup", "0::/kubepods/pod1/c2\n");
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    ck_assert_int_eq(gnn__processors_granted(root), 3);
    put("/proc/self/cgroup", "0::/\n");
    ck_assert_int_eq(gnn__processors_granted(root), 3);
    root_free();
}
END_TEST

START_TEST(quotas_of_version_1)
{
    root_new();
    put("/proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/x\n");
    ck_assert_int_eq(gnn__processors_granted(root), 0);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(gnn__processors_granted(root), 0);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "200000\n");
    ck_assert_int_eq(gnn__processors_granted(root), 2);
    put("/sys/fs/cgroup/cpuset/other/cpu.cfs_quota_us", "100000\n"); /* not where quotas are */
    put("/sys/fs/cgroup/cpuset/other/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(gnn__processors_granted(root), 2);
    root_free();
}
END_TEST

/* ---- contexts ---- */

static int threads_of_context(int wanted)
{
    gnn_context_t *context;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = wanted}));
    const int threads = gnn_context_threads(context);
    gnn_context_free(context);
    return threads;
}

START_TEST(all_threads_are_those_of_the_cpuset)
{
    cpu_set_t before, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    ck_assert_int_le(threads_of_context(0), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0 && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(gnn__processors(), 1);
    ck_assert_int_eq(threads_of_context(0), 1);
    ck_assert_int_eq(threads_of_context(3), 3); /* the caller's value is kept */
    ck_assert_int_eq(sched_setaffinity(0, sizeof before, &before), 0);
}
END_TEST

/* ---- forks and memory ---- */

enum { SIDE = 300, STOPPED = 77 };

/* A product and a sum on a tape of its own; the code, and the sum in *total. */
static int run_tape(gnn_context_t *context, gnn_real_t *x, gnn_real_t *total)
{
    const gnn_tensor_t at = gnn_tensor(x, SIDE, SIDE);
    gnn_tape_t *tape;
    GNN_TRY(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 0, 0);
    const gnn_var_t in = gnn_tape_input(tape, &at, 0),
                    y = gnn_tape_activation(tape, gnn_tape_linear(tape, in, in, GNN_NONE), GNN_TANH,
                                            0);
    gnn_tape_keep(tape, y);
    const int rc = gnn_tape_forward(tape);
    *total = 0;
    for (int64_t k = 0; rc == GNN_OK && k < SIDE * SIDE; k++)
        *total += gnn_tape_value(tape, y).data[k];
    gnn_tape_free(tape);
    return rc;
}

/* Runs in a child; its exit status. One that hangs is stopped. */
static int in_child(void (*what)(void *user), void *user)
{
    int status;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        alarm(60);
        what(user);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : STOPPED;
}

typedef struct {
    gnn_context_t *context;
    gnn_real_t *x, expected;
} forked_t;

static void use_in_child(void *user)
{
    const forked_t *f = user;
    gnn_context_t *own;
    gnn_real_t total;
    if (run_tape(f->context, f->x, &total) != GNN_OK || total != f->expected)
        _exit(1);
    if (gnn_context_new(&own, &(gnn_context_config_t){.threads = 2, .deterministic = GNN_ON}) !=
            GNN_OK ||
        run_tape(own, f->x, &total) != GNN_OK || total != f->expected)
        _exit(2);
    gnn_context_free(own);
}

START_TEST(a_forked_child_computes)
{
    forked_t f = {.x = test_reals(SIDE * SIDE, 3)};
    ck_ok(gnn_context_new(&f.context, &(gnn_context_config_t){.threads = 2, .deterministic = GNN_ON}));
    ck_ok(run_tape(f.context, f.x, &f.expected));
    ck_assert_int_eq(in_child(use_in_child, &f), 0);
    gnn_real_t again; /* the parent's team is untouched */
    ck_ok(run_tape(f.context, f.x, &again));
    ck_assert(again == f.expected);
    ck_assert_int_eq(gnn__team_size(f.context), 2);
    gnn_context_free(f.context);
    free(f.x);
}
END_TEST

#ifndef __has_feature
#define __has_feature(x) 0
#endif
/* Sanitizers reserve address space of their own; libomp, which clang builds use, takes memory for
 * its threads beyond their stacks, and ends the program where there is none. */
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SHADOWED = true };
#else
enum { SHADOWED = false };
#endif

static int64_t address_space(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%lld", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

typedef struct {
    int64_t left; /* MB of address space */
    int threads;
} limited_t;

/* Exits with 0 or with the code less 1000. */
static void use_limited(void *user)
{
    const limited_t *limited = user;
    const int64_t all = address_space() + (limited->left << 20);
    gnn_context_t *context;
    gnn_real_t total, *x = test_reals(SIDE * SIDE, 3);
    setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)all, (rlim_t)all});
    if (gnn_context_new(&context, &(gnn_context_config_t){.threads = limited->threads,
                                                          .deterministic = GNN_ON}) != GNN_OK)
        _exit(1);
    const int rc = run_tape(context, x, &total);
    _exit(rc == GNN_OK ? 0 : rc - 1000);
}

START_TEST(no_memory_for_threads_is_an_error)
{
    if (address_space() == 0 || SHADOWED || test_small())
        return; /* sanitizers and valgrind take address space of their own */
    char provider[256];
    gnn__dense_info(provider, sizeof provider);
    if (strstr(provider, "pthreads") || strstr(provider, "the system's BLAS")) {
        test_leave_out("no_memory_for_threads_is_an_error",
                       "the limits are those of OpenBLAS with OpenMP's threads");
        return;
    }
    for (int64_t left = 20; left < 2000; left += 165) { /* stacks, then buffers of products */
        const int code = in_child(use_limited, &(limited_t){left, 16});
        ck_assert_msg(code == GNN_EMEMORY - 1000, "%d MB left: %d", (int)left, code);
    }
    ck_assert_int_eq(in_child(use_limited, &(limited_t){40000, 16}), 0);
    /* Two threads need a buffer each. With one only, one may wait for ever. */
    for (int64_t left = 100; left < 256; left += 12) {
        const int code = in_child(use_limited, &(limited_t){left, 2});
        ck_assert_msg(code == GNN_EMEMORY - 1000, "%d MB left: %d", (int)left, code);
    }
    ck_assert_int_eq(in_child(use_limited, &(limited_t){600, 2}), 0);
    /* One thread needs one. */
    for (int64_t left = 10; left < 250; left += 20) {
        const int code = in_child(use_limited, &(limited_t){left, 1});
        ck_assert_msg(code == 0 || code == GNN_EMEMORY - 1000, "%d MB left: %d", (int)left, code);
    }
    ck_assert_int_eq(in_child(use_limited, &(limited_t){300, 1}), 0);
}
END_TEST

int main(int count, char **arguments)
{
    (void)count;
    /* Before libgomp is asked for anything: more threads than there are processors anywhere. */
    if (!getenv("GNN_TEST_MANY")) {
        setenv("GNN_TEST_MANY", "1", 1);
        setenv("OMP_NUM_THREADS", "1000", 1);
        /* By name: under valgrind /proc/self/exe is valgrind. Programs of another processor need a
         * runner (tools/arm64.sh). */
        execlp("sh", "sh", "-c", "exec ${GNN_TEST_RUNNER:-} \"$0\"", arguments[0], (char *)NULL);
    }
    Suite *suite = suite_create("threads");
    TCase *c = tcase_create("threads");
    tcase_add_test(c, quotas_of_version_2);
    tcase_add_test(c, quotas_at_the_mounted_root);
    tcase_add_test(c, quotas_of_version_1);
    tcase_add_test(c, all_threads_are_those_of_the_cpuset);
    tcase_set_timeout(c, 300);
    tcase_add_test(c, a_forked_child_computes);
    tcase_add_test(c, no_memory_for_threads_is_an_error);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
