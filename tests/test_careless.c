/* Careless programs: forks, invalid class weights, resuming on other data, unwritable paths, files
 * of unknown origin. */
#include "io_bytes.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 40, F = 4, M = 160 };

static gnn_context_t *context_of(int threads)
{
    gnn_context_t *context;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = threads, .seed = 3}));
    return context;
}

/* Two classes that are separable by features; `turned` swaps them. */
static gnn_data_t *small_set(bool turned)
{
    gnn_data_t *data;
    int64_t src[M], dst[M];
    int32_t labels[N];
    uint8_t masks[3][N] = {0};
    gnn_real_t *numbers = test_reals(N * F, 7);
    const gnn_tensor_t x = gnn_tensor(numbers, N, F);
    for (int k = 0; k < M; k++) {
        src[k] = (7 * k + k / N) % N;
        dst[k] = k % N;
    }
    for (int i = 0; i < N; i++) {
        labels[i] = (i + turned) % 2;
        numbers[i * F] += (gnn_real_t)(i % 2);
        masks[i % 3][i] = 1;
    }
    gnn_split_t *split;
    ck_ok(gnn_split_from_masks(&split, N, 1, masks[0], masks[1], masks[2]));
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = N,
                                                   .edges = M,
                                                   .src = gnn_ints(src),
                                                   .dst = gnn_ints(dst),
                                                   .x = &x,
                                                   .labels = gnn_ints(labels),
                                                   .split = split}));
    gnn_split_free(split);
    free(numbers);
    return data;
}

static gnn_model_t *small_gcn(gnn_context_t *context)
{
    gnn_model_t *model;
    ck_ok(gnn_model_new(&model, context, 2,
                        (gnn_layer_config_t[]){GNN_GCN(.in = F, .out = 8, .activation = GNN_RELU),
                                               GNN_GCN(.in = 8, .out = 2)}));
    return model;
}

START_TEST(a_child_of_fork_computes)
{
    setenv("GNN_GRAIN", "1", 1); /* threads even for little work */
    gnn_context_t *context = context_of(2);
    gnn_data_t *data = small_set(false);
    gnn_model_t *model = small_gcn(context);
    gnn_real_t here[N * 2], there[N * 2];
    gnn_tensor_t out = gnn_tensor(here, N, 2);
    int ends[2], status = -1;
    ck_ok(gnn_model_prepare(model, 0, gnn_data_graph(data), GNN_OFF));
    ck_ok(gnn_predict(model, context, data, &out));
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        gnn_tensor_t mine = gnn_tensor(there, N, 2);
        int rc = gnn_predict(model, context, data, &mine);
        if (rc != GNN_OK || write(ends[1], there, sizeof there) != (ssize_t)sizeof there)
            _exit(1);
        raise(SIGKILL); /* no tool looks for leaks in a process that ends so */
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the child's status is %d",
                  status);
    ck_assert_int_eq(read(ends[0], there, sizeof there), (ssize_t)sizeof there);
    ck_assert_mem_eq(here, there, sizeof here);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

static int train_with(gnn_data_t *data, gnn_train_config_t config)
{
    gnn_context_t *context = context_of(1);
    gnn_model_t *model = small_gcn(context);
    int rc = gnn_train(model, context, data, &config, NULL);
    gnn_model_free(model);
    gnn_context_free(context);
    return rc;
}

START_TEST(class_weights_must_be_finite)
{
    gnn_data_t *data = small_set(false);
    const gnn_real_t nan[] = {(gnn_real_t)NAN, 1}, none[] = {0, 0}, negative[] = {-1, 1},
                     good[] = {0, 1};
    ck_fails(train_with(data, (gnn_train_config_t){.epochs = 1, .class_weight = nan}), GNN_EINVALID,
             "class_weight[0] is nan");
    ck_fails(train_with(data, (gnn_train_config_t){.epochs = 1, .class_weight = none}),
             GNN_EINVALID, "weighs anything");
    ck_fails(train_with(data, (gnn_train_config_t){.epochs = 1, .class_weight = negative}),
             GNN_EINVALID, "class_weight[0] is -1");
    ck_ok(train_with(data, (gnn_train_config_t){.epochs = 1, .class_weight = good}));
    ck_fails(train_with(data, (gnn_train_config_t){.epochs = 1,
                                                   .optimizer = {.eps = (gnn_real_t)INFINITY}}),
             GNN_EINVALID, "eps is inf");
    gnn_data_free(data);
}
END_TEST

/* A last layer with more or fewer columns than the set has classes, for nodes and samples. */
START_TEST(widths_that_are_not_the_classes)
{
    static const int64_t all[] = {-1, -1};
    const gnn_sampling_t sampling = {.sampler = {.method = "around", .hops = 2, .fan_outs = all}};
    gnn_data_t *data = small_set(false);
    gnn_context_t *context = context_of(1);
    double value;
    for (int out = 1; out <= 4; out++)
        for (int sampled = 0; sampled < 2; sampled++) {
            const gnn_train_config_t config = {.epochs = 1, .sampling = sampled ? &sampling : NULL};
            gnn_model_t *model;
            char words[96];
            ck_ok(gnn_model_new(
                &model, context, 2,
                (gnn_layer_config_t[]){GNN_GCN(.in = F, .out = 4), GNN_GCN(.in = 4, .out = out)}));
            snprintf(words, sizeof words,
                     "the loss expects a column of logits per class, 2, got %d", out);
            if (out == 2)
                ck_ok(gnn_train(model, context, data, &config, NULL));
            else
                ck_fails(gnn_train(model, context, data, &config, NULL), GNN_ESHAPE, words);
            ck_ok(gnn_model_prepare(model, 0, gnn_data_graph(data), GNN_OFF));
            ck_ok(gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value));
            gnn_model_free(model);
        }
    gnn_context_free(context);
    gnn_data_free(data);
}
END_TEST

START_TEST(resuming_needs_the_same_data)
{
    gnn_data_t *data = small_set(false), *turned = small_set(true);
    const gnn_real_t weight[] = {1, 3};
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("state"));
    gnn_train_config_t config = {.epochs = 2, .checkpoint = path, .resume = GNN_ON}, other = config;
    ck_ok(train_with(data, config));
    ck_fails(train_with(turned, config), GNN_EINVALID, "settings");
    other.class_weight = weight;
    ck_fails(train_with(data, other), GNN_EINVALID, "settings");
    config.epochs = 3;
    ck_ok(train_with(data, config));
    gnn_data_free(data);
    gnn_data_free(turned);
}
END_TEST

static int count_epochs(void *user, const gnn_progress_t *progress)
{
    (void)progress;
    ++*(int *)user;
    return 0;
}

static int drop_folder(void *user, const gnn_progress_t *progress)
{
    if (progress->epoch == 20)
        rmdir(user);
    return 0;
}

START_TEST(checkpoints_that_cannot_be_written)
{
    gnn_data_t *data = small_set(false);
    char path[512], folder[512];
    int epochs = 0;
    snprintf(path, sizeof path, "%s", in_folder("none/state"));
    ck_fails(train_with(data, (gnn_train_config_t){.epochs = 9,
                                                   .checkpoint = path,
                                                   .callback = count_epochs,
                                                   .user = &epochs}),
             GNN_EIO, "the checkpoint");
    ck_assert_int_eq(epochs, 0);
    /* The folder is removed during the training: the best weights are still kept. */
    snprintf(folder, sizeof folder, "%s", in_folder("gone"));
    snprintf(path, sizeof path, "%s", in_folder("gone/state"));
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    gnn_context_t *context = context_of(1);
    gnn_model_t *model = small_gcn(context);
    gnn_train_result_t result;
    double value;
    ck_fails(gnn_train(model, context, data,
                       &(gnn_train_config_t){.epochs = 60,
                                             .optimizer.lr = (gnn_real_t)0.5,
                                             .checkpoint = path,
                                             .checkpoint_every = 1000,
                                             .callback = drop_folder,
                                             .user = folder},
                       &result),
             GNN_EIO, "gone/state");
    ck_assert_int_lt(result.best_epoch, 60);
    ck_ok(gnn_evaluate(model, context, data, 0, GNN_VALIDATION, GNN_METRIC_ACCURACY, &value));
    ck_assert_double_eq(value, result.validation_metric);
    gnn_model_free(model);
    gnn_context_free(context);
    gnn_data_free(data);
}
END_TEST

/* A file with a model's metadata alone. */
static const char *write_model(const char *steps)
{
    const char *const metadata[][2] = {{"gnn.model", steps}};
    ck_ok(gnn_safetensors_write(in_folder("model.st"), 0, NULL, 1, metadata));
    return in_folder("model.st");
}

static void *load_on_a_small_stack(void *unused)
{
    gnn_model_t *model;
    gnn_context_t *context = context_of(1);
    (void)unused;
    ck_fails(gnn_model_load(&model, context, in_folder("model.st")), GNN_EFORMAT,
             "more than 16 levels deep");
    gnn_context_free(context);
    return NULL;
}

START_TEST(model_files_are_flat_and_bounded)
{
    enum { DEEP = 2047, STEPS = 10001 };
    char *text = malloc(STEPS * 32 + 64);
    pthread_attr_t small;
    pthread_t thread;
    gnn_model_t *model;
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    text[2 * DEEP] = '\0';
    write_model(text);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    ck_assert_int_eq(pthread_create(&thread, &small, load_on_a_small_stack, NULL), 0);
    pthread_join(thread, NULL);
    size_t at = (size_t)sprintf(text, "{\"format\":1,\"steps\":[");
    for (int k = 0; k < STEPS; k++)
        at += (size_t)sprintf(text + at, "%s{\"kind\":\"activation\"}", k ? "," : "");
    sprintf(text + at, "]}");
    gnn_context_t *context = context_of(1);
    ck_fails(gnn_model_load(&model, context, write_model(text)), GNN_EFORMAT,
             "10001 steps, at most 10000");
    gnn_context_free(context);
    free(text);
}
END_TEST

/* A model without ops returns its input, which has no dense values if it is sparse or ids. */
START_TEST(sparse_inputs_passed_through_are_refused)
{
    const int64_t indptr[] = {0, 1, 2};
    const int32_t indices[] = {0, 1}, labels[] = {0, 1};
    const gnn_real_t values[] = {1, 1};
    const uint8_t all[] = {1, 1};
    const gnn_sparse_t x = {
        .rows = 2, .cols = 2, .indptr = indptr, .indices = indices, .values = values};
    gnn_split_t *split;
    ck_ok(gnn_split_from_masks(&split, 2, 1, all, all, all));
    const gnn_data_config_t config = {
        .nodes = 2, .sparse = &x, .labels = gnn_ints(labels), .split = split};
    gnn_context_t *context = context_of(1);
    gnn_model_t *model;
    gnn_data_t *data;
    double value;
    ck_ok(gnn_data_new(&data, &config));
    gnn_split_free(split);
    ck_ok(gnn_model_load(&model, context,
                         write_model("{\"format\":1,\"steps\":[{\"kind\":\"activation\"}]}")));
    ck_fails(gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value),
             GNN_EUNSUPPORTED, "is its input, which is sparse");
    ck_fails(gnn_train(model, context, data, &(gnn_train_config_t){.epochs = 1}, NULL),
             GNN_EUNSUPPORTED, "is its input, which is sparse");
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("careless");
    TCase *tests = tcase_create("careless");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, a_child_of_fork_computes);
    tcase_add_test(tests, class_weights_must_be_finite);
    tcase_add_test(tests, widths_that_are_not_the_classes);
    tcase_add_test(tests, resuming_needs_the_same_data);
    tcase_add_test(tests, checkpoints_that_cannot_be_written);
    tcase_add_test(tests, model_files_are_flat_and_bounded);
    tcase_add_test(tests, sparse_inputs_passed_through_are_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
