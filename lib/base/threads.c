/* Threads: the processors that a process may use, the OpenMP team, and worker threads. */
#include <lib/base/room.h>

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

/* ---- processors: the affinity mask, and processor time that control groups grant ---- */

enum { PATH_ROOM = 4096, MOST_PROCESSORS = 1 << 15 };

static int online(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return (int)gnn__max(gnn__min(count, MOST_PROCESSORS), 1);
}

/* Size of the affinity mask, which cpusets and taskset narrow. The mask grows until the system
 * accepts its size. */
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

/* The first line of a file; false if there is none. */
static bool read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(line, size, file);
    if (file)
        fclose(file);
    return read;
}

/* Processors equivalent to `quota` per period, rounded: with more threads all would be suspended
 * for part of each period. 0: no limit. */
static int quota_processors(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    const long long count = quota / period + (quota % period >= period - period / 2);
    if (count > MOST_PROCESSORS)
        return 0;
    return count < 1 ? 1 : (int)count;
}

/* Version 2: "max 100000" or "150000 100000". */
static int quota_of_v2(const char *folder)
{
    char path[PATH_ROOM + 32], line[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    return read_line(path, line, sizeof line) && sscanf(line, "%lld %lld", &quota, &period) == 2
               ? quota_processors(quota, period)
               : 0;
}

/* Version 1: a quota of -1 means no limit. */
static int quota_of_v1(const char *folder)
{
    char path[PATH_ROOM + 32], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof quota))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_line(path, period, sizeof period)
               ? quota_processors(strtoll(quota, NULL, 10), strtoll(period, NULL, 10))
               : 0;
}

static int tighter(int a, int b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The tightest limit of a group and its ancestors. In a container the path may be the host's; then
 * only the root of the mount is readable. */
static int least_quota(const char *mount, const char *group, int (*quota_of)(const char *folder))
{
    char path[PATH_ROOM];
    const int length = snprintf(path, sizeof path, "%s%s", mount, group);
    if (length < 0 || length >= PATH_ROOM)
        return 0;
    const char *const top = path + strlen(mount);
    int least = 0;
    for (;;) {
        least = tighter(least, quota_of(path));
        char *slash = strrchr(path, '/');
        if (!slash || slash < top)
            return least;
        *slash = 0;
    }
}

/* True if `name` is in a list "cpu,cpuacct" that ends at `end`. */
static bool contains(const char *list, const char *end, const char *name)
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

/* The limit by a line "ID:CONTROLLERS:GROUP" of /proc/self/cgroup; version 2 has no controllers. */
static int quota_of_line(const char *root, char *line)
{
    char mount[PATH_ROOM];
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group || group[1] != '/')
        return 0;
    const bool v2 = group == controllers;
    if (!v2 && !contains(controllers, group, "cpu"))
        return 0;
    *group++ = 0;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, v2 ? "" : "/", v2 ? "" : controllers);
    if (group[1] == 0)
        group = ""; /* the root group */
    int least = least_quota(mount, group, v2 ? quota_of_v2 : quota_of_v1);
    if (v2) { /* a hybrid hierarchy has version 2 here */
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/unified", root);
        least = tighter(least, least_quota(mount, group, quota_of_v2));
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
        least = tighter(least, quota_of_line(root, line));
    if (file)
        fclose(file);
    return least;
}

int gnn__processors(void)
{
    return tighter(allowed(), gnn__processors_granted(""));
}

/* ---- the team ---- */

/* The OpenMP team of a thread of the program: its size, starting it, forks, and BLAS buffers of
 * its threads. */

/* OpenMP keeps a worker team per master thread. After fork() only the caller survives, and a
 * parallel region in the child would deadlock. */
static _Thread_local bool has_team, lost_team;

static void in_child(void)
{
    lost_team |= has_team;
    if (lost_team)
        omp_set_num_threads(1); /* for the parallel regions of BLAS */
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

int gnn__team_size(const gnn_context_t *context)
{
    return lost_team ? 1 : context->threads;
}

/* ---- starting ---- */

/* Threads that wait until all have been started, so that all stacks exist at the same time. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool end;
} trial_t;

static void *wait_for_all(void *user)
{
    trial_t *trial = user;
    pthread_mutex_lock(&trial->mutex);
    while (!trial->end)
        pthread_cond_wait(&trial->ended, &trial->mutex);
    pthread_mutex_unlock(&trial->mutex);
    return NULL;
}

/* Starts up to `wanted` threads and returns the count that started. Their stacks stay in the C
 * library's cache for later threads. */
static int start_threads(int wanted, pthread_t *threads)
{
    trial_t trial = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    int count = 0;
    while (count < wanted && pthread_create(&threads[count], NULL, wait_for_all, &trial) == 0)
        count++;
    pthread_mutex_lock(&trial.mutex);
    trial.end = true;
    pthread_cond_broadcast(&trial.ended);
    pthread_mutex_unlock(&trial.mutex);
    for (int k = 0; k < count; k++)
        pthread_join(threads[k], NULL);
    return count;
}

/* OpenMP run times end the program if a thread cannot be started, so it is tried first. */
static int try_threads(const gnn_context_t *context)
{
    const int others = context->threads - 1;
    pthread_t *threads;
    GNN_TRY(gnn__new(&threads, others, sizeof *threads, "threads"));
    const int count = start_threads(others, threads);
    gnn_free(threads);
    if (count < others)
        return gnn__error(GNN_EMEMORY,
                          "no memory for %d threads, only for %d: create the context with fewer",
                          context->threads, count + 1);
    return GNN_OK;
}

int gnn__team_start(gnn_context_t *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (context->started || gnn__team_size(context) == 1)
        return GNN_OK;
    pthread_once(&once, watch_forks);
    GNN_TRY(try_threads(context));
    has_team = context->started = true;
    int ran = 0; /* so that the region is not optimised away */
#pragma omp parallel num_threads(context->threads) reduction(+ : ran)
    ran += omp_get_num_threads() > 0;
    return ran > 0 ? GNN_OK : gnn__error(GNN_EMEMORY, "the OpenMP run time started no thread");
}

/* Buffers that BLAS keeps, and those that live contexts have claimed. */
static struct {
    pthread_mutex_t mutex;
    int kept, claimed;
} buffers = {.mutex = PTHREAD_MUTEX_INITIALIZER};

int gnn__buffers_claim(gnn_context_t *context, int threads)
{
    if (threads <= context->buffers)
        return 0;
    pthread_mutex_lock(&buffers.mutex);
    buffers.claimed += threads - context->buffers;
    context->buffers = threads;
    const int missing = buffers.claimed > buffers.kept ? buffers.claimed - buffers.kept : 0;
    buffers.kept += missing;
    pthread_mutex_unlock(&buffers.mutex);
    return missing;
}

void gnn__buffers_return(gnn_context_t *context, int missing)
{
    pthread_mutex_lock(&buffers.mutex);
    buffers.claimed -= context->buffers;
    buffers.kept -= missing;
    context->buffers = 0;
    pthread_mutex_unlock(&buffers.mutex);
}

bool gnn__memory_is_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool gnn__has_room(size_t bytes)
{
    if (!gnn__memory_is_limited())
        return true;
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return false;
    munmap(room, bytes);
    return true;
}

/* ---- workers ---- */

/* A thread that runs one job at a time, concurrently with the caller. */

struct gnn__worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void (*job)(void *user);
    void *user;
    bool asked, ends; /* asked: a job is requested or running */
};

static void *serve(void *own)
{
    gnn__worker_t *w = own;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        while (!w->asked && !w->ends)
            pthread_cond_wait(&w->changed, &w->mutex);
        if (w->ends)
            break;
        pthread_mutex_unlock(&w->mutex);
        w->job(w->user);
        pthread_mutex_lock(&w->mutex);
        w->asked = false;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

int gnn__worker_new(gnn__worker_t **worker, void (*job)(void *user), void *user)
{
    gnn__worker_t *w;
    GNN_TRY(gnn__new(&w, 1, sizeof *w, "a thread"));
    w->job = job;
    w->user = user;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->changed, NULL);
    if (pthread_create(&w->thread, NULL, serve, w) != 0) {
        gnn_free(w);
        return gnn__error(GNN_EMEMORY, "cannot start a thread");
    }
    *worker = w;
    return GNN_OK;
}

void gnn__worker_start(gnn__worker_t *w)
{
    pthread_mutex_lock(&w->mutex);
    w->asked = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
}

void gnn__worker_wait(gnn__worker_t *w)
{
    pthread_mutex_lock(&w->mutex);
    while (w->asked)
        pthread_cond_wait(&w->changed, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

void gnn__worker_free(gnn__worker_t *w)
{
    if (!w)
        return;
    gnn__worker_wait(w);
    pthread_mutex_lock(&w->mutex);
    w->ends = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->changed);
    gnn_free(w);
}
