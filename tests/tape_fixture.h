/* A context of two threads, a tape and parameters; for the suites about tapes. */
#ifndef GNN_TESTS_TAPE_FIXTURE_H
#define GNN_TESTS_TAPE_FIXTURE_H

#include "support.h"

#include <lib/tape/tape.h>

typedef struct {
    gnn_context_t *context;
    gnn_tape_t *tape;
    gnn_parameters_t *parameters;
} fixture_t;

static inline fixture_t set_up(void)
{
    fixture_t f;
    ck_ok(gnn_context_new(&f.context, &(gnn_context_config_t){.threads = 2, .seed = 5}));
    ck_ok(gnn_tape_new(&f.tape, f.context));
    ck_ok(gnn_parameters_new(&f.parameters));
    return f;
}

static inline void tear_down(fixture_t *f)
{
    gnn_tape_free(f->tape);
    gnn_parameters_free(f->parameters);
    gnn_context_free(f->context);
}

#endif
