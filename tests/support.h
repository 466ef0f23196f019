/* Shared by the suites: assertions on codes and messages, random numbers, comparison of arrays,
 * paths of data. */
#ifndef GNN_TESTS_SUPPORT_H
#define GNN_TESTS_SUPPORT_H

#include "table_counts.h"

#include <check.h>
#include <gnn/gnn.h>
#include <lib/base/base.h>
#include <math.h>
#include <stdlib.h>

/* The call succeeds; its message is shown if not. */
#define ck_ok(call)                                                                          \
    do {                                                                                     \
        int ck_code = (call);                                                                \
        ck_assert_msg(ck_code == GNN_OK, "%s: %d, %s", #call, ck_code, gnn_error_message()); \
    } while (0)
/* A place of a message, before a colon, that it names twice; NULL: none. */
const char *test_doubled_place(const char *message);
/* The call fails with this code, and the message contains `words` and names no place twice. */
#define ck_fails(call, expected, words)                                                         \
    do {                                                                                        \
        int ck_code = (call);                                                                   \
        ck_assert_msg(ck_code == (expected), "%s: expected %d, got %d (%s)", #call,             \
                      (int)(expected), ck_code, gnn_error_message());                           \
        ck_assert_msg(strstr(gnn_error_message(), words) != NULL,                               \
                      "%s: the message \"%s\" does not say \"%s\"", #call, gnn_error_message(), \
                      words);                                                                   \
        ck_assert_msg(!test_doubled_place(gnn_error_message()), "\"%s\" names a place twice",   \
                      gnn_error_message());                                                     \
    } while (0)

/* Tolerances of this build: outputs and gradients against a reference. */
#define TOLERANCE_OUT (GNN_DOUBLE ? 1e-12 : 1e-5)
#define TOLERANCE_GRAD (GNN_DOUBLE ? 1e-12 : 1e-4)

/* A reproducible uniform random number in [-1, 1). */
double test_uniform(uint64_t *state);
/* 0 .. n - 1 */
int64_t test_below(uint64_t *state, int64_t n);
/* n reals in [-1, 1), malloc'd. */
gnn_real_t *test_reals(int64_t n, uint64_t seed);
/* max|a - b| / max|b| over n elements (0/0 counts as 0; NaN on one side only gives infinity). */
double test_error(const gnn_real_t *a, const gnn_real_t *b, int64_t n);
/* A path below $GNN_DATA (else ../shared/data relative to the source tree), or NULL if the file is
 * absent: the test then calls test_skip. Static storage. */
const char *test_data(const char *file);
/* The same below $GNN_GOLDEN; else in ../shared/golden, then in tests/golden/layers. */
const char *test_golden(const char *file);
/* Below the folder GNN_CHECKPOINTS, which tests/transformers/make.py fills. */
const char *test_checkpoint(const char *file);
/* Notes that something was skipped and why: prints "SKIP name: why" to stdout, which tests/run.sh
 * counts. Fails if GNN_REQUIRE_DATA=1. */
void test_skip(const char *name, const char *why);
/* The same for what this machine lacks though all data is there: a Python package, files that a
 * script makes with one. Never fails. */
void test_leave_out(const char *name, const char *why);
/* Under GNN_TEST_SMALL=1 large products are cut down: valgrind is some thirty times slower. */
bool test_small(void);
/* Count of the kernel tables that this processor runs: baseline, AVX2, AVX-512. */
int test_instruction_sets(void);
/* The seed of random tests: $GNN_TEST_SEED, or a constant. Printed once. */
uint64_t test_seed(void);
/* Runs a suite: exit status for main. Prints "CHECKS name passed failed" for tests/run.sh. Suites
 * run without fork under valgrind and sanitizers (CK_FORK=no). */
int test_main(Suite *suite);

#endif
