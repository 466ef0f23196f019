/* The team of threads that a thread of the caller's program works with: how many there are, that
 * there is memory for them, and what becomes of them at a fork. */
#include <lib/base/room.h>

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

/* Run-times keep a team for each thread that ever had one. A fork takes over the thread that calls
 * it and none of its team, and a region would wait for those for ever. */
static _Thread_local bool has_team, lost_team;

static void in_child(void)
{
    lost_team |= has_team;
    if (lost_team)
        omp_set_num_threads(1); /* for the regions of dense products */
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

/* Threads that end together, so that all of them have stacks at one time. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t all_there;
    bool end;
} trial_t;

static void *wait_for_all(void *user)
{
    trial_t *trial = user;
    pthread_mutex_lock(&trial->mutex);
    while (!trial->end)
        pthread_cond_wait(&trial->all_there, &trial->mutex);
    pthread_mutex_unlock(&trial->mutex);
    return NULL;
}

/* How many of so many threads the system starts. Their stacks stay in the C library's cache for
 * those that come next. */
static int started(int wanted, pthread_t *threads)
{
    trial_t trial = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    int count = 0;
    while (count < wanted && pthread_create(&threads[count], NULL, wait_for_all, &trial) == 0)
        count++;
    pthread_mutex_lock(&trial.mutex);
    trial.end = true;
    pthread_cond_broadcast(&trial.all_there);
    pthread_mutex_unlock(&trial.mutex);
    for (int k = 0; k < count; k++)
        pthread_join(threads[k], NULL);
    return count;
}

/* OpenMP's run-times end the program where a thread cannot be started, so it is tried
 * beforehand. */
static int try_threads(const gnn_context_t *context)
{
    const int others = context->threads - 1;
    pthread_t *threads;
    GNN_TRY(gnn__new(&threads, others, sizeof *threads, "threads"));
    const int count = started(others, threads);
    gnn_free(threads);
    if (count < others)
        return gnn__error(GNN_EMEMORY,
                          "no memory for %d threads, only for %d; a context may be made with fewer",
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
    int ran = 0; /* an empty region would not be one */
#pragma omp parallel num_threads(context->threads) reduction(+ : ran)
    ran += omp_get_num_threads() > 0;
    return ran > 0 ? GNN_OK : gnn__error(GNN_EMEMORY, "no thread ran");
}

/* Buffers that the provider keeps, and those that live contexts have claimed. */
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
