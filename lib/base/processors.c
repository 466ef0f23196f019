/* How many threads are of use to this process: the processors that it may run on, and the share of their time that its control groups grant. */
#include <lib/base/base.h>

#include <stdlib.h>
#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

enum { PATH_ROOM = 4096, MOST_PROCESSORS = 1 << 15 };

static int online(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MOST_PROCESSORS ? MOST_PROCESSORS : (int)count;
}

/* Those that the scheduler may put this thread on: cpusets and taskset narrow them down. The set of one word per 64 processors grows until the system takes it. */
static int allowed(void)
{
#if defined(__linux__)
    for (int room = 1024; room <= MOST_PROCESSORS; room *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        const size_t bytes = CPU_ALLOC_SIZE((size_t)room);
        const bool known = set && sched_getaffinity(0, bytes, set) == 0;
        const int count = known ? CPU_COUNT_S(bytes, set) : 0;
        if (set)
            CPU_FREE(set);
        if (count > 0)
            return count;
    }
#endif
    return online();
}

/* The first line of a file; false without one. */
static bool read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(line, size, file);
    if (file)
        fclose(file);
    return read;
}

/* Processors that quota of every period is worth, to the nearest: a thread more than that would stand still together with all others for part of each period. 0: no
 * limit. */
static int worth(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    const long long count = quota / period + (quota % period >= period - period / 2);
    return count < 1 ? 1 : count > MOST_PROCESSORS ? 0 : (int)count;
}

/* Version 2: "max 100000" or "150000 100000". */
static int quota_of_v2(const char *folder)
{
    char path[PATH_ROOM + 32], line[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    return read_line(path, line, sizeof line) && sscanf(line, "%lld %lld", &quota, &period) == 2
               ? worth(quota, period)
               : 0;
}

/* Version 1: a quota of -1 is none. */
static int quota_of_v1(const char *folder)
{
    char path[PATH_ROOM + 32], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof quota))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_line(path, period, sizeof period)
               ? worth(strtoll(quota, NULL, 10), strtoll(period, NULL, 10))
               : 0;
}

static int smaller(int a, int b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The least of a group and of all above it. In a container the path may be the host's, and only the top of what is mounted is there to be read. */
static int least_quota(const char *mount, const char *group, int (*quota_of)(const char *folder))
{
    char path[PATH_ROOM];
    const int length = snprintf(path, sizeof path, "%s%s", mount, group);
    if (length < 0 || length >= PATH_ROOM)
        return 0;
    const char *const top = path + strlen(mount);
    int least = 0;
    for (;;) {
        least = smaller(least, quota_of(path));
        char *slash = strrchr(path, '/');
        if (!slash || slash < top)
            return least;
        *slash = 0;
    }
}

/* Is `name` one of the words of a list "cpu,cpuacct" that ends at `end`? */
static bool lists(const char *list, const char *end, const char *name)
{
    const size_t length = strlen(name);
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list)), *stop = comma ? comma : end;
        if ((size_t)(stop - list) == length && memcmp(list, name, length) == 0)
            return true;
        list = stop + 1;
    }
    return false;
}

/* A line "NUMBER:CONTROLLERS:GROUP"; version 2 names no controllers. */
static int quota_of_line(const char *root, char *line)
{
    char mount[PATH_ROOM];
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group || group[1] != '/')
        return 0;
    const bool v2 = group == controllers;
    if (!v2 && !lists(controllers, group, "cpu"))
        return 0;
    *group++ = 0;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, v2 ? "" : "/", v2 ? "" : controllers);
    if (group[1] == 0)
        group = ""; /* the top itself */
    int least = least_quota(mount, group, v2 ? quota_of_v2 : quota_of_v1);
    if (v2) { /* beside groups of version 1 */
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/unified", root);
        least = smaller(least, least_quota(mount, group, quota_of_v2));
    }
    return least;
}

int gnn__processors_granted(const char *root)
{
    char line[PATH_ROOM];
    int least = 0;
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file))
        least = smaller(least, quota_of_line(root, line));
    if (file)
        fclose(file);
    return least;
}

int gnn__processors(void)
{
    return smaller(allowed(), gnn__processors_granted(""));
}
