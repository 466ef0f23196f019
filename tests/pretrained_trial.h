/* A published model under test: its folder, what it should compute, memory that the test frees. */
#ifndef GNN_TESTS_PRETRAINED_TRIAL_H
#define GNN_TESTS_PRETRAINED_TRIAL_H

#include "support.h"

#include <gnn/pretrained.h>

typedef struct trial {
    char folder[1200];
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_arrays_t *expected;
    gnn_pretrained_batch_t *batch;
    gnn_sequences_t sequences;
    int64_t rows;
    void *owned[16];
    int n_owned;
} trial_t;

static inline void *keep(trial_t *t, void *memory)
{
    ck_assert_int_lt(t->n_owned, 16);
    return t->owned[t->n_owned++] = memory;
}

static inline void trial_close(trial_t *t)
{
    gnn_pretrained_batch_free(t->batch);
    gnn_pretrained_free(t->p);
    gnn_arrays_free(t->expected);
    gnn_context_free(t->context);
    for (int k = 0; k < t->n_owned; k++)
        free(t->owned[k]);
}

static inline const gnn_array_t *array(const trial_t *t, const char *name)
{
    const gnn_array_t *a = gnn_arrays_find(t->expected, name);
    ck_assert_msg(a != NULL, "%s has no array %s", t->folder, name);
    return a;
}

/* False, and skipped, where the folder is absent. */
bool trial_open(trial_t *t, const char *name);
/* Images, features or tokens of expected.npz. */
void trial_batch(trial_t *t);

#endif
