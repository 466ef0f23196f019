/* Ranks by MPI: mpirun starts tests/ranks_program, whose weights have the same bits for any count
 * of ranks, and which ends on all ranks if one has an error. Left out where there is no MPI. */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

/* Oversubscription by environment variables, since options differ between implementations. */
#define MPIRUN                                                                                  \
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "                                \
    "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe " \
    "OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 timeout 120 mpirun -n %d %s %s 2>&1"

static bool has_mpi(void)
{
    if (RANKS_PROGRAM[0] && system("command -v mpirun > /dev/null") == 0)
        return true;
    test_leave_out("ranks_mpi", RANKS_PROGRAM[0] ? "there is no mpirun" : "built without MPI");
    return false;
}

/* Exit status of mpirun; `out` receives what it prints. */
static int run(int ranks, const char *argument, char *out, size_t size)
{
    char command[1024];
    snprintf(command, sizeof command, MPIRUN, ranks, RANKS_PROGRAM, argument);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t used = fread(out, 1, size - 1, pipe);
    out[used] = 0;
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(weights_have_the_same_bits_on_any_count_of_ranks)
{
    static const int counts[] = {2, 3, 4, 7};
    char one[4096], many[4096];
    if (!has_mpi())
        return;
    ck_assert_msg(run(1, "", one, sizeof one) == 0, "%s", one);
    const char *hash = strstr(one, "hash ");
    ck_assert_msg(hash != NULL, "%s", one);
    char expected[32];
    snprintf(expected, sizeof expected, "%.21s", hash);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        ck_assert_msg(run(counts[k], "", many, sizeof many) == 0, "%d ranks: %s", counts[k], many);
        ck_assert_msg(strstr(many, expected) != NULL, "%d ranks: expected %s, got %s", counts[k],
                      expected, many);
    }
}
END_TEST

START_TEST(another_set_on_one_rank_ends_all)
{
    char out[8192], line[32];
    if (!has_mpi())
        return;
    ck_assert_msg(run(3, "1", out, sizeof out) == 0, "%s", out);
    for (int r = 0; r < 3; r++) {
        snprintf(line, sizeof line, "rank %d: code", r);
        ck_assert_msg(strstr(out, line) != NULL, "rank %d goes on: %s", r, out);
    }
    ck_assert_msg(strstr(out, "hash") == NULL, "%s", out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks_mpi");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 900);
    tcase_add_test(tests, weights_have_the_same_bits_on_any_count_of_ranks);
    tcase_add_test(tests, another_set_on_one_rank_ends_all);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
