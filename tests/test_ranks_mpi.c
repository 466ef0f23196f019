/* Ranks by MPI: mpirun starts tests/ranks_program, whose weights have the same bits for any count
 * of ranks, and which ends on all ranks if one has an error. Left out where there is no MPI. */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

/* Settings by environment variables, since options differ between implementations: more ranks than
 * processors, root, no network. MPI itself leaks when it ends; the suite ranks has the leaks of the
 * library. The address sanitizer's dlopen does not search the run path of the command. */
#define MPIRUN                                                                                  \
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "                                \
    "PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 "                                \
    "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe " \
    "OMPI_MCA_btl=^tcp OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 "                       \
    "LD_LIBRARY_PATH=" GNN_EXAMPLES "/..${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "                 \
    "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 timeout 120 mpirun -n %d %s %s 2>&1"

#define COMMAND GNN_EXAMPLES "/../gnn"
#define CITATION "citation --data karate --layer gcn --epochs 30 --seeds 2 --threads 1"

#define DIVERGES "citation --data karate --layer gcn2 --lr 1000 --recipe general --threads 1"

/* A part of what a program printed, for messages. */
#define PART "%.2000s"

static int run(int ranks, const char *program, const char *argument, char *out, size_t size);

/* MPI may be installed and unable to start processes, as in a container without a network. */
static bool has_mpi(void)
{
    const char *why = NULL;
    char out[4096];
    if (!RANKS_PROGRAM[0])
        why = "built without MPI";
    else if (system("command -v mpirun > /dev/null") != 0)
        why = "mpirun is not installed";
    else if (run(2, "true", "", out, sizeof out) != 0)
        why = "mpirun cannot start two processes";
    if (why)
        test_leave_out("ranks_mpi", why);
    return !why;
}

/* Exit status of mpirun; `out` receives what it prints. */
static int run(int ranks, const char *program, const char *argument, char *out, size_t size)
{
    char command[2048];
    snprintf(command, sizeof command, MPIRUN, ranks, program, argument);
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
    ck_assert_msg(run(1, RANKS_PROGRAM, "", one, sizeof one) == 0, PART, one);
    const char *hash = strstr(one, "hash ");
    ck_assert_msg(hash != NULL, PART, one);
    char expected[32];
    snprintf(expected, sizeof expected, "%.21s", hash);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        ck_assert_msg(run(counts[k], RANKS_PROGRAM, "", many, sizeof many) == 0, "%d ranks: " PART,
                      counts[k], many);
        ck_assert_msg(strstr(many, expected) != NULL, "%d ranks: expected %s, got " PART, counts[k],
                      expected, many);
    }
}
END_TEST

START_TEST(another_set_on_one_rank_ends_all)
{
    char out[8192], line[32];
    if (!has_mpi())
        return;
    ck_assert_msg(run(3, RANKS_PROGRAM, "1", out, sizeof out) == 0, PART, out);
    for (int r = 0; r < 3; r++) {
        snprintf(line, sizeof line, "rank %d: code", r);
        ck_assert_msg(strstr(out, line) != NULL, "rank %d goes on: " PART, r, out);
    }
    ck_assert_msg(strstr(out, "hash") == NULL, PART, out);
}
END_TEST

/* A folder of 3000 nodes in four parts, for system("rm -r"). */
static void draw_folder(char folder[32])
{
    char command[600];
    strcpy(folder, "/tmp/gnn_ranks_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "%s draw %s/set 3000 12 4", RANKS_JOB, folder);
    ck_assert_int_eq(system(command), 0);
}

static void remove_folder(const char *folder)
{
    char command[600];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* The first hash that a job prints. */
static void job_hash(int ranks, const char *folder, const char *options, char hash[32])
{
    char arguments[400], out[4096];
    snprintf(arguments, sizeof arguments, "train folder=%s %s", folder, options);
    ck_assert_msg(run(ranks, RANKS_JOB, arguments, out, sizeof out) == 0, PART, out);
    const char *found = strstr(out, "hash ");
    ck_assert_msg(found != NULL, PART, out);
    snprintf(hash, 32, "%.21s", found);
}

START_TEST(own_rows_and_samples_have_the_same_weights_on_any_count_of_ranks)
{
    static const char *const options[] = {"own=1", "own=0", "samples=1 accumulate=4 batch=32"};
    char folder[32], command[600], one[32], many[32], whole[32] = "";
    if (!has_mpi())
        return;
    draw_folder(folder);
    snprintf(command, sizeof command, "%s/set", folder);
    for (int k = 0; k < 3; k++) {
        job_hash(1, command, options[k], one);
        for (int ranks = 2; ranks <= 4; ranks += 2) {
            job_hash(ranks, command, options[k], many);
            ck_assert_msg(strcmp(one, many) == 0, "%s on %d ranks: expected %s, got %s", options[k],
                          ranks, one, many);
        }
        if (k == 1)
            ck_assert_str_eq(one, whole);
        strcpy(whole, one);
    }
    remove_folder(folder);
}
END_TEST

/* GNN_TEST_KILLS of them [3]; tests/ranks_by_mpi.sh does more by hand. */
START_TEST(killed_ranks_end_all_and_trainings_resume)
{
    const char *kills = getenv("GNN_TEST_KILLS");
    char command[600], line[300], last[300] = "";
    if (!has_mpi())
        return;
    snprintf(command, sizeof command, "sh %s/tests/ranks_kills.sh %s %s 2>&1", GNN_SOURCE_ROOT,
             RANKS_JOB, kills ? kills : "3");
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    while (fgets(line, sizeof line, pipe)) {
        fputs(line, stdout);
        strcpy(last, line);
    }
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_msg(strncmp(last, "KILLS", 5) == 0 && strstr(last, " 0\n"), "%s", last);
}
END_TEST

/* The command over ranks: rank 0 alone prints, and its lines are the same but for seconds and for
 * the lines of progress, which depend on time. */
static void cut_times(char *text)
{
    for (char *loss = strstr(text, ", loss "); loss; loss = strstr(text, ", loss ")) {
        const char *after = strchr(loss, '\n');
        while (loss > text && loss[-1] != '\n')
            loss--;
        memmove(loss, after ? after + 1 : "", strlen(after ? after + 1 : "") + 1);
    }
    for (char *at = strstr(text, " s)"); at; at = strstr(at + 1, " s)")) {
        char *seconds = at;
        while (seconds > text && seconds[-1] != ' ')
            seconds--;
        memmove(seconds, at, strlen(at) + 1);
        at = seconds;
    }
}

START_TEST(the_command_prints_the_same_on_any_count_of_ranks)
{
    char one[8192], many[8192];
    if (!has_mpi())
        return;
    ck_assert_msg(run(1, COMMAND, CITATION, one, sizeof one) == 0, PART, one);
    cut_times(one);
    ck_assert_msg(strstr(one, "test accuracy") != NULL, PART, one);
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        ck_assert_msg(run(ranks, COMMAND, CITATION, many, sizeof many) == 0, PART, many);
        cut_times(many);
        ck_assert_str_eq(one, many);
    }
}
END_TEST

START_TEST(the_command_opens_own_rows_of_a_partition)
{
    char folder[32], arguments[600], command[600], one[8192], many[8192];
    if (!has_mpi())
        return;
    draw_folder(folder);
    for (int ranks = 1; ranks <= 7; ranks += 3) {
        snprintf(arguments, sizeof arguments,
                 "citation --data %s/set --layer gcn --epochs 8 --threads 1 --report "
                 "--save %s/model%d --predict %s/classes%d.csv",
                 folder, folder, ranks, folder, ranks);
        ck_assert_msg(run(ranks, COMMAND, arguments, many, sizeof many) == 0, PART, many);
        ck_assert_msg(strstr(many, "each rank opens its own rows") != NULL, PART, many);
        if (ranks == 1)
            strcpy(one, many);
        snprintf(command, sizeof command,
                 "cmp %s/model1 %s/model%d && cmp %s/classes1.csv %s/classes%d.csv", folder, folder,
                 ranks, folder, folder, ranks);
        ck_assert_msg(system(command) == 0, "%d ranks", ranks);
    }
    ck_assert_msg(strstr(one, "mean of classes") != NULL, PART, one);
    snprintf(arguments, sizeof arguments, "citation --data %s/set --scale columns", folder);
    ck_assert_msg(run(2, COMMAND, arguments, many, sizeof many) != 0, PART, many);
    ck_assert_msg(strstr(many, "--scale columns: needs all nodes") != NULL, PART, many);
    remove_folder(folder);
}
END_TEST

/* Times that a text stands in another. */
static int count_of(const char *text, const char *words)
{
    int count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

/* Rank 0 runs the command with `first`, the others with `others`. By a shell: Open
 * MPI 5.0 crashes where mpirun is told two programs. */
static int run_unlike(int ranks, const char *first, const char *others, char *out, size_t size)
{
    char script[600];
    snprintf(script, sizeof script,
             "-c 'case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) exec " COMMAND
             " %s ;; *) exec " COMMAND " %s ;; esac'",
             first, others);
    return run(ranks, "sh", script, out, size);
}

/* Before any call of the library, in one, and of one rank alone; the others end. */
START_TEST(errors_are_printed_once_by_the_rank_that_has_them)
{
    static const struct {
        const char *first, *others, *words; /* of rank 0; of the other ranks, NULL: the same */
    } cases[] = {
        {"citation --data /nowhere/set", NULL, "/nowhere/set"},
        {"citation --dat karate", NULL, "no such option"},
        {"citation --data karate --metric auc --task several", NULL, "does not fit"},
        {"citation --data karate --split 9", NULL, "split 9"},
        {"citation --data karate --load /nowhere/model", NULL, "/nowhere/model"},
        {CITATION, "citation --bogus", "--bogus: citation has no such option"},
        {CITATION, "citation --data /nowhere/set", "/nowhere/set"},
        {CITATION, "citation --data karate --layer sage --threads 1", "have different"},
        {CITATION, "citation --help", "ranks differ"},
    };
    char out[8192];
    if (!has_mpi())
        return;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *others = cases[k].others ? cases[k].others : cases[k].first;
        ck_assert_msg(run_unlike(2 + (int)(k % 2), cases[k].first, others, out, sizeof out) != 0,
                      "%s: " PART, others, out);
        ck_assert_msg(count_of(out, cases[k].words) == 1, "%s: " PART, others, out);
    }
}
END_TEST

START_TEST(an_error_of_all_ranks_is_printed_once)
{
    char out[8192];
    if (GNN_DOUBLE || !has_mpi()) /* in double the largest rate does not overflow */
        return;
    ck_assert_msg(run(3, COMMAND, DIVERGES, out, sizeof out) != 0, PART, out);
    const char *found = strstr(out, "citation: ");
    ck_assert_msg(found != NULL && strstr(found, "epoch 1, step 1"), PART, out);
    ck_assert_msg(strstr(found + 1, "citation: ") == NULL, PART, out);
}
END_TEST

START_TEST(a_program_of_one_process_is_refused_over_ranks)
{
    char out[8192];
    if (!has_mpi())
        return;
    ck_assert_msg(run(2, COMMAND, "partition karate", out, sizeof out) != 0, PART, out);
    ck_assert_msg(strstr(out, "partition runs in one process, 2 were started") != NULL, PART, out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks_mpi");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 900);
    tcase_add_test(tests, weights_have_the_same_bits_on_any_count_of_ranks);
    tcase_add_test(tests, another_set_on_one_rank_ends_all);
    tcase_add_test(tests, the_command_prints_the_same_on_any_count_of_ranks);
    tcase_add_test(tests, an_error_of_all_ranks_is_printed_once);
    tcase_add_test(tests, errors_are_printed_once_by_the_rank_that_has_them);
    tcase_add_test(tests, the_command_opens_own_rows_of_a_partition);
    tcase_add_test(tests, a_program_of_one_process_is_refused_over_ranks);
    tcase_add_test(tests, own_rows_and_samples_have_the_same_weights_on_any_count_of_ranks);
    tcase_add_test(tests, killed_ranks_end_all_and_trainings_resume);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
