/* How many threads a context takes: processors, cpusets, quotas of control groups. */
#include "support.h"

#include <ftw.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- control groups, in a folder that stands for / ---- */

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
START_TEST(quotas_at_the_top_of_what_is_mounted)
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
    ck_assert_int_eq(threads_of_context(3), 3); /* what the caller asks for stands */
    ck_assert_int_eq(sched_setaffinity(0, sizeof before, &before), 0);
}
END_TEST

int main(void)
{
    /* Before libgomp is asked for anything: more threads than there are processors anywhere. */
    if (!getenv("GNN_TEST_MANY")) {
        setenv("GNN_TEST_MANY", "1", 1);
        setenv("OMP_NUM_THREADS", "1000", 1);
        execv("/proc/self/exe", (char *[]){"test_threads", NULL});
    }
    Suite *suite = suite_create("threads");
    TCase *c = tcase_create("threads");
    tcase_add_test(c, quotas_of_version_2);
    tcase_add_test(c, quotas_at_the_top_of_what_is_mounted);
    tcase_add_test(c, quotas_of_version_1);
    tcase_add_test(c, all_threads_are_those_of_the_cpuset);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
