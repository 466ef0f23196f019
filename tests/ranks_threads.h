/* Trials over ranks that are threads: shared by the suites of ranks. */
#ifndef GNN_TESTS_RANKS_THREADS_H
#define GNN_TESTS_RANKS_THREADS_H

#include "ranks_trial.h"

#include <pthread.h>

enum { MOST_RANKS = 13 };

static const gnn_train_config_t few = {.epochs = 4, .optimizer = {.lr = (gnn_real_t)0.02}};

typedef struct {
    const trial_case_t *c;
    gnn_transport_t *transport;
    int threads;
    trial_result_t result;
} rank_t;

static inline void *run_rank(void *user)
{
    rank_t *rank = user;
    rank->result = trial_run(rank->c, rank->transport, rank->threads);
    return NULL;
}

/* cases[r] is rank r's. */
static inline void run_ranks(const trial_case_t *const *cases, int ranks, int threads,
                             uint64_t delays, trial_result_t *results)
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

static inline trial_result_t run_one(const trial_case_t *c, int threads)
{
    gnn_transport_t *one;
    ck_ok(gnn_transport_threads(&one, 1, 0));
    const trial_result_t result = trial_run(c, one, threads);
    gnn_transport_free(one);
    return result;
}

static inline void compare(const char *name, int ranks, const trial_result_t *a,
                           const trial_result_t *b)
{
    ck_assert_msg(b->rc == GNN_OK, "%s on %d ranks: %s", name, ranks, b->message);
    ck_assert_msg(memcmp(a->weights, b->weights, sizeof *a->weights * (size_t)a->n_weights) == 0,
                  "%s: weights on %d ranks differ from those of one (error %g)", name, ranks,
                  test_error(b->weights, a->weights, a->n_weights));
    const int64_t at = b->first * TRIAL_CLASSES, count = b->rows * TRIAL_CLASSES;
    ck_assert_msg(memcmp(a->outputs + at, b->outputs + at, sizeof *a->outputs * (size_t)count) == 0,
                  "%s: outputs on %d ranks differ from those of one", name, ranks);
    ck_assert(a->accuracy == b->accuracy);
    ck_assert(a->result.train_loss == b->result.train_loss);
    ck_assert(a->result.validation_loss == b->result.validation_loss);
    ck_assert(a->result.validation_metric == b->result.validation_metric);
}

static inline void check_equal(const trial_case_t *c, int ranks, int threads, uint64_t delays,
                               const trial_result_t *one)
{
    const trial_case_t *cases[MOST_RANKS] = {NULL};
    trial_result_t results[MOST_RANKS];
    for (int r = 0; r < ranks; r++)
        cases[r] = c;
    run_ranks(cases, ranks, threads, delays, results);
    for (int r = 0; r < ranks; r++) {
        compare(c->name, ranks, one, &results[r]);
        trial_free(&results[r]);
    }
}

/* On two and on five ranks. */
static inline void check_case(const trial_case_t *c)
{
    trial_result_t one = run_one(c, 1);
    ck_assert_msg(one.rc == GNN_OK, "%s: %s", c->name, one.message);
    check_equal(c, 2, 1, 0, &one);
    check_equal(c, 5, 1, 0, &one);
    trial_free(&one);
}

/* The bytes of a checkpoint, which is removed; for free. */
static inline char *read_checkpoint(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    char *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    remove(path);
    return bytes;
}

/* Compares it with that of another run, but for the seconds (8 bytes twice) and the file's own
 * checksum (16 digits). */
static inline void check_checkpoint(const char *path, const char *one, size_t size)
{
    size_t now;
    char *many = read_checkpoint(path, &now);
    size_t differ = 0;
    ck_assert_uint_eq(now, size);
    for (size_t k = 0; k < size; k++)
        differ += one[k] != many[k];
    ck_assert_msg(differ <= 32, "%zu bytes of the checkpoint differ", differ);
    free(many);
}

/* Trains on `ranks` ranks; the result of rank 0. */
static inline trial_result_t run_all(const trial_case_t *c, int ranks)
{
    const trial_case_t *cases[MOST_RANKS] = {NULL};
    trial_result_t results[MOST_RANKS];
    for (int r = 0; r < ranks; r++)
        cases[r] = c;
    run_ranks(cases, ranks, 1, 0, results);
    for (int r = 1; r < ranks; r++)
        trial_free(&results[r]);
    ck_assert_msg(results[0].rc == GNN_OK, "%s", results[0].message);
    return results[0];
}

#endif
