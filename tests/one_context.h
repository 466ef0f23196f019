/* A context of two threads for each test of a suite. Included by suites that name it in
 * tcase_add_checked_fixture(tests, open_context, close_context). */
#ifndef GNN_TESTS_ONE_CONTEXT_H
#define GNN_TESTS_ONE_CONTEXT_H

#include "support.h"

static gnn_context_t *context;

static void open_context(void)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 1}));
}

static void close_context(void)
{
    gnn_context_free(context);
}

#endif
