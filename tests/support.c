/* Shared by the suites: random numbers, files, errors. */
#include "support.h"

#if GNN_WITH_IGRAPH
#include <gnn/igraph.h>
#endif
#include <lib/kernels/isa.h>

#include <unistd.h>

double test_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int32_t)(*state >> 32) * 0x1p-31;
}

int64_t test_below(uint64_t *state, int64_t n)
{
    return (int64_t)((test_uniform(state) + 1) / 2 * (double)n);
}

gnn_real_t *test_reals(int64_t n, uint64_t seed)
{
    gnn_real_t *x = malloc(sizeof *x * (size_t)(n > 0 ? n : 1));
    for (int64_t k = 0; k < n; k++)
        x[k] = (gnn_real_t)test_uniform(&seed);
    return x;
}

double test_error(const gnn_real_t *a, const gnn_real_t *b, int64_t n)
{
    double worst = 0, largest = 0;
    for (int64_t k = 0; k < n; k++) {
        double x = (double)a[k], y = (double)b[k];
        if (isnan(x) && isnan(y))
            continue;
        if (isnan(x) || isnan(y))
            return INFINITY;
        if (!(fabs(x - y) <= worst))
            worst = fabs(x - y);
        if (!(fabs(y) <= largest))
            largest = fabs(y);
    }
    return worst == 0 ? 0 : worst / largest;
}

const char *test_doubled_place(const char *message)
{
    for (const char *at = message, *end; (end = strstr(at, ": ")) != NULL; at = end + 2) {
        const size_t length = (size_t)(end + 2 - at);
        for (const char *later = end + 2; later;
             later = (later = strstr(later, ": ")) ? later + 2 : NULL)
            if (strncmp(later, at, length) == 0)
                return at;
    }
    return NULL;
}

static const char *find(const char *variable, const char *fallback, const char *file)
{
    static char path[4096];
    const char *folder = getenv(variable);
    snprintf(path, sizeof path, "%s/%s", folder && *folder ? folder : fallback, file);
    return access(path, R_OK) == 0 ? path : NULL;
}

const char *test_data(const char *file)
{
    return find("GNN_DATA", GNN_SOURCE_ROOT "/../shared/data", file);
}

const char *test_golden(const char *file)
{
    const char *folder = getenv("GNN_GOLDEN"),
               *found = find("GNN_GOLDEN", GNN_SOURCE_ROOT "/../shared/golden", file);
    if (found || (folder && *folder))
        return found;
    return find("GNN_GOLDEN", GNN_SOURCE_ROOT "/tests/golden/layers", file);
}

const char *test_checkpoint(const char *file)
{
    return getenv("GNN_CHECKPOINTS") ? find("GNN_CHECKPOINTS", "", file) : NULL;
}

void test_skip(const char *name, const char *why)
{
    printf("SKIP %s: %s\n", name, why);
    fflush(stdout);
    const char *required = getenv("GNN_REQUIRE_DATA");
    ck_assert_msg(!required || strcmp(required, "1") != 0,
                  "%s was skipped (%s) under GNN_REQUIRE_DATA=1", name, why);
}

void test_leave_out(const char *name, const char *why)
{
    printf("LEFT OUT %s: %s\n", name, why);
    fflush(stdout);
}

int test_instruction_sets(void)
{
    return 1 + (int)gnn__min(gnn__isa(), GNN__ISA_V4);
}

bool test_small(void)
{
    const char *small = getenv("GNN_TEST_SMALL");
    return small && *small && strcmp(small, "0") != 0;
}

uint64_t test_seed(void)
{
    static uint64_t seed;
    if (!seed) {
        const char *text = getenv("GNN_TEST_SEED");
        seed = text && *text ? strtoull(text, NULL, 0) : 20170612;
        printf("GNN_TEST_SEED=%llu\n", (unsigned long long)seed);
        fflush(stdout);
    }
    return seed;
}

/* check ends a test after 4 seconds, which a suite that is run by hand on a busy machine exceeds:
 * the limit is for tests that hang. check reads it when a case is made, which main does first. */
__attribute__((constructor)) static void limit_tests(void)
{
    setenv("CK_DEFAULT_TIMEOUT", "900", 0);
}

int test_main(Suite *suite)
{
#if GNN_WITH_IGRAPH
    if (gnn_igraph_use() != GNN_OK) {
        printf("gnn_igraph_use: %s\n", gnn_error_message());
        return EXIT_FAILURE;
    }
#endif
    setenv("GNN_GRAIN", "2000", 0); /* small cases reach every parallel loop */
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    printf("CHECKS %d %d\n", run - failed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
