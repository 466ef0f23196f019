/* Models with batch norm and dropout on 1, 2, 3, 4, 7 and 13 ranks, each of which owns rows:
 * weights, outputs, metrics and checkpoints are equal byte for byte, also of trainings that are
 * resumed on another count. */
#include "ranks_models.h"
#include "ranks_threads.h"

#include <unistd.h>

static const int counts[] = {2, 3, 4, 7, 13};

/* Half of the epochs on two ranks, the others on seven. */
static void check_resumed(const trial_case_t *given, const char *path, const char *bytes, size_t size)
{
    trial_case_t c = *given;
    c.train.epochs = given->train.epochs / 2;
    trial_result_t half = run_all(&c, 2);
    trial_free(&half);
    c.train.epochs = given->train.epochs;
    c.train.resume = GNN_ON;
    trial_result_t whole = run_all(&c, 7);
    trial_free(&whole);
    check_checkpoint(path, bytes, size);
}

START_TEST(a_model_is_equal_byte_for_byte_on_13_ranks)
{
    char path[] = "/tmp/gnn_ranks_XXXXXX";
    const trial_case_t c = model_case(_i, path);
    size_t size;
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    remove(path);
    trial_result_t one = run_one(&c, 1);
    ck_assert_msg(one.rc == GNN_OK, "%s: %s", c.name, one.message);
    char *bytes = read_checkpoint(path, &size);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        check_equal(&c, counts[k], 1, 0, &one);
        check_checkpoint(path, bytes, size);
    }
    check_resumed(&c, path, bytes, size);
    trial_free(&one);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks_models");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 900);
    tcase_add_loop_test(tests, a_model_is_equal_byte_for_byte_on_13_ranks, 0, MODELS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
