/* Checkpoints: a resumed training has the same bits as an uninterrupted one, and damaged or foreign
 * files change nothing. */
#include "checkpoint_trial.h"
#include "io_bytes.h"

#include <lib/data/arrays/arrays.h>
#include <lib/train/checkpoint.h>

/* ---- the same bits ---- */

static gnn_arrays_t *read_arrays(const char *path)
{
    gnn_arrays_t *arrays;
    ck_ok(gnn_safetensors_read(&arrays, path, NULL));
    return arrays;
}

/* Two checkpoints are the same but for the seconds. */
static void same_checkpoints(const char *one, const char *other)
{
    gnn_arrays_t *a = read_arrays(one), *b = read_arrays(other);
    ck_assert_int_eq(a->count, b->count);
    ck_assert_int_ge(a->count, 5);
    for (int64_t k = 0; k < a->count; k++) {
        const gnn_array_t *x = gnn_arrays_at(a, k), *y = gnn_arrays_find(b, x->name);
        ck_assert_ptr_nonnull(y);
        ck_assert_int_eq(x->count, y->count);
        bool numbers = strcmp(x->name, "numbers") == 0;
        for (int64_t i = 0; i < x->count; i++)
            if (!numbers || (i != 2 && i != 9))
                ck_assert_msg(
                    memcmp((const char *)x->data + i * (int64_t)gnn__element(x->dtype)->size,
                           (const char *)y->data + i * (int64_t)gnn__element(x->dtype)->size,
                           gnn__element(x->dtype)->size) == 0,
                    "\"%s\", number %lld: %.17g and %.17g", x->name, (long long)i,
                    gnn_array_get(x, i), gnn_array_get(y, i));
    }
    gnn_arrays_free(a);
    gnn_arrays_free(b);
}

static void same_results(const gnn_train_result_t *a, const gnn_train_result_t *b)
{
    ck_assert_int_eq(a->epochs, b->epochs);
    ck_assert_int_eq(a->best_epoch, b->best_epoch);
    ck_assert(a->train_loss == b->train_loss && a->validation_loss == b->validation_loss &&
              a->validation_metric == b->validation_metric);
}

static void same_weights(const trial_t *a, const trial_t *b)
{
    int64_t length, buffers = gnn_model_buffer_count(a->model);
    const gnn_real_t *x = gnn_parameters_block(gnn_model_parameters(a->model), 0, &length),
                     *y = gnn_parameters_block(gnn_model_parameters(b->model), 0, &length);
    ck_assert(memcmp(x, y, sizeof *x * (size_t)length) == 0);
    ck_assert_int_gt(buffers, 0);
    for (int64_t k = 0; k < buffers; k++) {
        gnn_tensor_t t, u;
        ck_ok(gnn_model_buffer(a->model, gnn_model_buffer_name(a->model, k), &t));
        ck_ok(gnn_model_buffer(b->model, gnn_model_buffer_name(b->model, k), &u));
        ck_assert(memcmp(t.data, u.data, sizeof *t.data * (size_t)(t.rows * t.cols)) == 0);
    }
}

/* One run into `path`; the seed of a resumed one is another, it must not matter. */
static trial_t *run(const char *path, gnn_optimizer_kind_t kind, int64_t epochs, int stop_at_step,
                    bool resumed, int expected, gnn_train_result_t *result)
{
    trial_t *t = trial_new(resumed ? 99 : 3, HIDDEN, 0.3);
    gnn_train_config_t config = trial_config(t, epochs, kind, path);
    config.resume = resumed ? GNN_ON : GNN_OFF;
    config.patience = 100;
    t->stop_at_step = stop_at_step;
    int rc = gnn_train_batches(t->model, t->context, &t->source, &config, result);
    ck_assert_msg(rc == expected, "%d: %s", rc, gnn_error_message());
    return t;
}

START_TEST(resumed_epochs_equal_an_uninterrupted_run)
{
    make_folder();
    for (gnn_optimizer_kind_t kind = GNN_SGD; kind <= GNN_RMSPROP; kind++) {
        gnn_train_result_t all, first, both;
        char whole[512], parts[512];
        snprintf(whole, sizeof whole, "%s", in_folder("whole"));
        snprintf(parts, sizeof parts, "%s", in_folder("parts"));
        trial_t *a = run(whole, kind, 19, 0, false, GNN_OK, &all);
        for (int64_t n = 1; n < 19; n += 5) {
            trial_free(run(parts, kind, n, 0, false, GNN_OK, &first));
            trial_t *b = run(parts, kind, 19, 0, true, GNN_OK, &both);
            same_weights(a, b);
            same_results(&all, &both);
            same_checkpoints(whole, parts);
            ck_assert_int_eq(gnn_context_seed(b->context), 3);
            trial_free(b);
        }
        trial_free(a);
    }
    ck_assert_int_eq(count_files(0), 2);
    remove_folder();
}
END_TEST

/* The flag is set during every step of three epochs: within an epoch, and after its last step. */
START_TEST(a_training_stopped_after_any_step_resumes)
{
    make_folder();
    gnn_train_result_t all, half, both;
    char whole[512], parts[512];
    snprintf(whole, sizeof whole, "%s", in_folder("whole"));
    snprintf(parts, sizeof parts, "%s", in_folder("parts"));
    trial_t *a = run(whole, GNN_ADAM, 7, 0, false, GNN_OK, &all);
    for (int step = 1; step <= 3 * BATCHES; step++) {
        trial_free(run(parts, GNN_ADAM, 7, step, false, GNN_ESTOPPED, &half));
        ck_assert_int_eq(half.epochs, (step - 1) / BATCHES);
        trial_t *b = run(parts, GNN_ADAM, 7, 0, true, GNN_OK, &both);
        ck_assert_int_eq(b->steps, 7 * BATCHES - step);
        same_weights(a, b);
        same_results(&all, &both);
        same_checkpoints(whole, parts);
        trial_free(b);
    }
    trial_free(a);
    remove_folder();
}
END_TEST

START_TEST(a_finished_training_is_not_trained_again)
{
    make_folder();
    const char *path = in_folder("c");
    for (int by_patience = 0; by_patience < 2; by_patience++) {
        gnn_train_result_t first, again;
        trial_t *a = trial_new(3, HIDDEN, 0.3), *b = trial_new(4, HIDDEN, 0.3);
        gnn_train_config_t config = trial_config(a, by_patience ? 500 : 8, GNN_ADAM, path);
        config.patience = by_patience ? 4 : 0;
        ck_ok(gnn_train_batches(a->model, a->context, &a->source, &config, &first));
        ck_assert_int_lt(first.epochs, 500);
        config.resume = GNN_ON;
        config.stop = &b->stop;
        ck_ok(gnn_train_batches(b->model, b->context, &b->source, &config, &again));
        ck_assert_int_eq(b->steps, 0);
        same_weights(a, b);
        same_results(&first, &again);
        trial_free(a);
        trial_free(b);
    }
    remove_folder();
}
END_TEST

START_TEST(without_a_file_a_training_starts_from_scratch)
{
    make_folder();
    trial_t *t = trial_new(3, HIDDEN, 0.3);
    gnn_train_config_t config = trial_config(t, 2, GNN_ADAM, in_folder("none"));
    gnn_train_result_t result;
    config.resume = GNN_ON;
    ck_ok(gnn_train_batches(t->model, t->context, &t->source, &config, &result));
    ck_assert_int_eq(t->steps, 2 * BATCHES);
    config.checkpoint = NULL;
    ck_fails(gnn_train_batches(t->model, t->context, &t->source, &config, &result), GNN_EINVALID,
             "checkpoint");
    config.checkpoint = in_folder("no/such/folder");
    config.resume = GNN_OFF;
    ck_fails(gnn_train_batches(t->model, t->context, &t->source, &config, &result), GNN_EIO,
             "no/such/folder");
    config.checkpoint_every = -1;
    ck_fails(gnn_train_batches(t->model, t->context, &t->source, &config, &result), GNN_EINVALID,
             "checkpoint_every");
    trial_free(t);
    remove_folder();
}
END_TEST

/* ---- files that are not to be trusted ---- */

/* Trains a little and leaves a checkpoint at in_folder("c"). */
static void make_checkpoint(void)
{
    gnn_train_result_t result;
    make_folder();
    trial_free(run(in_folder("c"), GNN_ADAM, 4, 0, false, GNN_OK, &result));
}

typedef struct {
    trial_t *trial;
    gnn_optimizer_t *optimizer;
    gnn_checkpoint_t state;
    gnn_real_t *before;
    int64_t length;
} loader_t;

/* A model and an optimiser as make_checkpoint's, but for what the arguments change. */
static loader_t loader_new(int64_t hidden, double rate, gnn_optimizer_kind_t kind, double lr)
{
    loader_t l = {.trial = trial_new(7, hidden, rate)};
    gnn_train_config_t config = trial_config(l.trial, 1, kind, NULL);
    config.optimizer.lr = (gnn_real_t)lr;
    ck_ok(gnn_optimizer_new(&l.optimizer, l.trial->context, gnn_model_parameters(l.trial->model),
                            &config.optimizer));
    const gnn_real_t *block =
        gnn_parameters_block(gnn_model_parameters(l.trial->model), 0, &l.length);
    l.before = malloc(sizeof *block * (size_t)l.length);
    memcpy(l.before, block, sizeof *block * (size_t)l.length);
    l.state.n_best = l.length + 2 * hidden;
    l.state.best = calloc((size_t)l.state.n_best, sizeof *block);
    return l;
}

static void loader_free(loader_t *l, bool unchanged)
{
    const gnn_real_t *block =
        gnn_parameters_block(gnn_model_parameters(l->trial->model), 0, &l->length);
    ck_assert_int_eq(memcmp(block, l->before, sizeof *block * (size_t)l->length) == 0, unchanged);
    ck_assert_int_eq(gnn_optimizer_steps(l->optimizer) == 0, unchanged);
    ck_assert_int_eq(l->state.epoch == 0, unchanged);
    gnn_optimizer_free(l->optimizer);
    trial_free(l->trial);
    free(l->before);
    free(l->state.best);
}

static void refuses(int64_t hidden, double rate, gnn_optimizer_kind_t kind, double lr,
                    const char *settings, int code, const char *words)
{
    loader_t l = loader_new(hidden, rate, kind, lr);
    l.state.settings = settings;
    ck_fails(gnn_checkpoint_load(in_folder("c"), l.trial->model, l.optimizer, &l.state), code, words);
    loader_free(&l, true);
}

START_TEST(a_checkpoint_of_another_model_is_refused)
{
    make_checkpoint();
    loader_t fits = loader_new(HIDDEN, 0.3, GNN_ADAM, 0.02);
    ck_ok(gnn_checkpoint_load(in_folder("c"), fits.trial->model, fits.optimizer, &fits.state));
    ck_assert_int_eq(fits.state.epoch, 5);
    ck_assert_int_eq(fits.state.step, 4 * BATCHES);
    ck_assert_int_eq(gnn_optimizer_steps(fits.optimizer), 4 * BATCHES);
    loader_free(&fits, false);
    refuses(HIDDEN + 1, 0.3, GNN_ADAM, 0.02, NULL, GNN_ESHAPE,
            "it has 0.weight, 4 x 16, the model has 0.weight, 4 x 17");
    refuses(HIDDEN, 0.4, GNN_ADAM, 0.02, NULL, GNN_ESHAPE, "the steps are not");
    refuses(HIDDEN, 0.3, GNN_SGD, 0.02, NULL, GNN_EINVALID, "it has Adam lr");
    refuses(HIDDEN, 0.3, GNN_ADAM, 0.03, NULL, GNN_EINVALID, "another optimizer");
    refuses(HIDDEN, 0.3, GNN_ADAM, 0.02, "watch loss", GNN_EINVALID, "now they are watch loss");
    ck_ok(gnn_safetensors_write(in_folder("c"), 0, NULL, 0, NULL));
    refuses(HIDDEN, 0.3, GNN_ADAM, 0.02, NULL, GNN_EFORMAT, "not a checkpoint");
    unlink(in_folder("c"));
    refuses(HIDDEN, 0.3, GNN_ADAM, 0.02, NULL, GNN_EIO, "c: ");
    remove_folder();
}
END_TEST

START_TEST(truncated_or_changed_checkpoints_are_refused)
{
    make_checkpoint();
    bytes_t whole;
    uint64_t state = 17;
    loader_t l = loader_new(HIDDEN, 0.3, GNN_ADAM, 0.02);
    read_bytes(in_folder("c"), &whole);
    ck_assert_uint_lt(whole.n, sizeof whole.at);
    for (size_t n = 0; n < whole.n; n++) {
        const char *path = write_bytes("cut", whole.at, n);
        int rc = gnn_checkpoint_load(path, l.trial->model, l.optimizer, &l.state);
        ck_assert_msg(rc == GNN_EFORMAT || rc == GNN_EIO, "%zu of %zu bytes: %d", n, whole.n, rc);
        unsigned char kept = whole.at[n];
        whole.at[n] ^= (unsigned char)(1 << (int)(4 + 4 * test_uniform(&state)));
        path = write_bytes("flipped", whole.at, whole.n);
        rc = gnn_checkpoint_load(path, l.trial->model, l.optimizer, &l.state);
        ck_assert_msg(rc != GNN_OK, "byte %zu of %zu was changed from %d to %d", n, whole.n, kept,
                      whole.at[n]);
        whole.at[n] = kept;
    }
    loader_free(&l, true);
    remove_folder();
}
END_TEST

/* Rewrites the checkpoint with one element of one array changed, and with a matching checksum
 * unless `checksum` is given. */
static void forge(const char *array, int64_t at, double value, const char *left_out,
                  const char *checksum)
{
    gnn_arrays_t *file = read_arrays(in_folder("c"));
    gnn_array_t arrays[8];
    const char *pairs[8][2];
    char sum[20];
    int64_t n = 0, m = file->n_metadata;
    for (int64_t k = 0; k < file->count; k++) {
        gnn_array_t *a = &file->items[k];
        if (strcmp(a->name, array) == 0 && a->dtype == GNN_DTYPE_INT64)
            ((int64_t *)a->data)[at] = (int64_t)value;
        else if (strcmp(a->name, array) == 0)
            ((gnn_real_t *)a->data)[at] = (gnn_real_t)value;
        if (strcmp(a->name, left_out) != 0)
            arrays[n++] = *a;
    }
    const char *const(*metadata)[2] = (const char *const(*)[2])pairs;
    for (int64_t k = 0; k < m; k++)
        for (int i = 0; i < 2; i++)
            pairs[k][i] = file->metadata[k][i];
    snprintf(sum, sizeof sum, "%016llx", (unsigned long long)gnn__checksum(n, arrays, m, metadata));
    for (int64_t k = 0; k < m; k++)
        if (strcmp(pairs[k][0], GNN__CHECKSUM_KEY) == 0)
            pairs[k][1] = checksum ? checksum : sum;
    ck_ok(gnn_safetensors_write(in_folder("c"), n, arrays, m, metadata));
    gnn_arrays_free(file);
}

START_TEST(a_forged_file_with_a_valid_checksum_is_refused)
{
    make_checkpoint();
    const struct {
        const char *array;
        int64_t at;
        double value;
        const char *left_out, *checksum;
        int code;
        const char *words;
    } cases[] = {{"weights", 5, NAN, "", NULL, GNN_ENUMERIC, "element 5 of \"weights\""},
                 {"best", 2, INFINITY, "", NULL, GNN_ENUMERIC, "\"best\""},
                 {"integers", 3, 0, "", NULL, GNN_EFORMAT, "count from 1"},
                 {"integers", 4, -1, "", NULL, GNN_EFORMAT, "is -1"},
                 {"integers", 5, 9e18, "", NULL, GNN_EFORMAT, "element 5"},
                 {"", 0, 0, "moments.second", NULL, GNN_EFORMAT, "moments.second"},
                 {"", 0, 0, "integers", NULL, GNN_EFORMAT, "integers"},
                 {"", 0, 0, "", "0123456789abcdef", GNN_EFORMAT, "damaged"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gnn_train_result_t result;
        trial_free(run(in_folder("c"), GNN_ADAM, 4, 0, false, GNN_OK, &result));
        forge(cases[k].array, cases[k].at, cases[k].value, cases[k].left_out, cases[k].checksum);
        refuses(HIDDEN, 0.3, GNN_ADAM, 0.02, NULL, cases[k].code, cases[k].words);
    }
    remove_folder();
}
END_TEST

START_TEST(another_optimizer_or_a_nan_is_not_saved)
{
    make_checkpoint();
    loader_t l = loader_new(HIDDEN, 0.3, GNN_ADAM, 0.02),
             other = loader_new(HIDDEN, 0.3, GNN_ADAM, 0.02);
    ck_fails(gnn_checkpoint_save(in_folder("d"), l.trial->model, other.optimizer, &l.state),
             GNN_EINVALID, "another model");
    ck_fails(gnn_checkpoint_save(NULL, l.trial->model, l.optimizer, &l.state), GNN_EINVALID, "path");
    l.state.best[1] = NAN;
    ck_fails(gnn_checkpoint_save(in_folder("d"), l.trial->model, l.optimizer, &l.state),
             GNN_ENUMERIC, "\"best\"");
    ck_assert_int_eq(count_files(0), 1);
    loader_free(&l, true);
    loader_free(&other, true);
    remove_folder();
}
END_TEST

START_TEST(failed_allocations_change_nothing)
{
    make_checkpoint();
    loader_t l = loader_new(HIDDEN, 0.3, GNN_ADAM, 0.02);
    int codes[2] = {GNN_EMEMORY, GNN_EMEMORY};
    l.state.epoch = 1;
    for (int what = 0; what < 2; what++)
        for (int64_t n = 1; codes[what] != GNN_OK; n++) {
            ck_assert_int_lt(n, 1000);
            gnn__fail_allocation(n);
            codes[what] =
                what == 0
                    ? gnn_checkpoint_save(in_folder("d"), l.trial->model, l.optimizer, &l.state)
                    : gnn_checkpoint_load(in_folder("c"), l.trial->model, l.optimizer, &l.state);
            gnn__fail_allocation(0);
            ck_assert(codes[what] == GNN_OK || codes[what] == GNN_EMEMORY);
            ck_assert_int_eq(count_files(0), what == 1 || codes[what] == GNN_OK ? 2 : 1);
            ck_assert_int_eq(gnn_optimizer_steps(l.optimizer) == 0,
                             what == 0 || codes[what] != GNN_OK);
        }
    loader_free(&l, false);
    remove_folder();
}
END_TEST

START_TEST(only_temporary_files_of_killed_writers_are_removed)
{
    gnn_train_result_t result;
    const unsigned here = gnn__process_place();
    char gone[64], living[64], elsewhere[64], other[64], longer[64];
    make_folder();
    /* the id is above every process id of Linux */
    snprintf(gone, sizeof gone, "c.999999999-1-%08x.tmp", here);
    snprintf(living, sizeof living, "c.%ld-0-%08x.tmp", (long)getpid(), here);
    snprintf(elsewhere, sizeof elsewhere, "c.999999999-1-%08x.tmp", here ^ 1);
    snprintf(other, sizeof other, "d.999999999-1-%08x.tmp", here);
    snprintf(longer, sizeof longer, "c.999999999-1-%08x.tmp.txt", here);
    const char *const stay[] = {living, elsewhere, other, longer, "c.123", "c.x-1.tmp"};
    enum { STAY = sizeof stay / sizeof *stay };
    write_bytes(gone, "x", 1);
    for (int k = 0; k < STAY; k++)
        write_bytes(stay[k], "x", 1);
    trial_free(run(in_folder("c"), GNN_ADAM, 1, 0, true, GNN_OK, &result));
    for (int k = 0; k < STAY; k++)
        ck_assert_int_eq(access(in_folder(stay[k]), F_OK), 0);
    ck_assert_int_eq(access(in_folder(gone), F_OK), -1);
    ck_assert_int_eq(count_files(1), STAY + 1);
    remove_folder();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *tests = tcase_create("checkpoint");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, resumed_epochs_equal_an_uninterrupted_run);
    tcase_add_test(tests, a_training_stopped_after_any_step_resumes);
    tcase_add_test(tests, a_finished_training_is_not_trained_again);
    tcase_add_test(tests, without_a_file_a_training_starts_from_scratch);
    tcase_add_test(tests, a_checkpoint_of_another_model_is_refused);
    tcase_add_test(tests, truncated_or_changed_checkpoints_are_refused);
    tcase_add_test(tests, a_forged_file_with_a_valid_checksum_is_refused);
    tcase_add_test(tests, another_optimizer_or_a_nan_is_not_saved);
    tcase_add_test(tests, failed_allocations_change_nothing);
    tcase_add_test(tests, only_temporary_files_of_killed_writers_are_removed);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
