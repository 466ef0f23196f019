/* A thread that does one job at a time beside the caller's own work. */
#include <lib/base/base.h>

#include <pthread.h>

struct gnn__worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void (*job)(void *user);
    void *user;
    bool asked, ends; /* asked: a job is wanted, or runs */
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
        return gnn__error(GNN_EMEMORY, "a thread could not be started");
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
