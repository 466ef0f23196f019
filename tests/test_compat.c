/* Files of other versions: models that version 0.1 and later ones saved. */
#include "saved_by_0_1.h"
#include "support.h"

#include <lib/aggregate/tables.h>
#include <lib/data/arrays/arrays.h>
#include <lib/layer/layer.h>
#include <unistd.h>

static gnn_context_t *context;

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, NULL));
}

static void tear_down(void)
{
    gnn_context_free(context);
}

/* ---- files ---- */

/* The saved header with values of the test; the last twelve are running mean and variance. */
static void write_saved(const char *path)
{
    const uint64_t length = sizeof saved_header - 1;
    float numbers[SAVED_NUMBERS];
    for (int k = 0; k < SAVED_NUMBERS; k++)
        numbers[k] = k >= SAVED_NUMBERS - 12 ? 1.0f : (float)((k * 7) % 13 - 6) / 16;
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(&length, sizeof length, 1, file), 1);
    ck_assert_uint_eq(fwrite(saved_header, length, 1, file), 1);
    ck_assert_uint_eq(fwrite(numbers, sizeof numbers, 1, file), 1);
    fclose(file);
}

/* The output of version 0.1 for the same file. */
START_TEST(a_model_of_version_0_1_loads_and_computes_the_same)
{
    static const double expected[] = {0.181768671, -0.060511142,  0.178456739, -0.0441851467,
                                      0.175187483, -0.0275104791, 0.172026709, -0.0112322271,
                                      0.169102892, 0.00353871286};
    enum { N = 5, IN = 6, OUT = 2 };
    char path[64];
    gnn_model_t *model;
    gnn_graph_t *graph;
    gnn_real_t features[N * IN], out[N * OUT];
    const gnn_tensor_t x = gnn_tensor(features, N, IN), y = gnn_tensor(out, N, OUT);
    for (int k = 0; k < N * IN; k++)
        features[k] = (gnn_real_t)(k % 7) / 8 - (gnn_real_t)0.25;
    snprintf(path, sizeof path, "/tmp/gnn-compat-%d.safetensors", (int)getpid());
    write_saved(path);
    ck_ok(gnn_model_load(&model, context, path));
    remove(path);
    ck_ok(gnn_graph_causal(&graph, 1, (int64_t[]){N}));
    ck_ok(gnn_model_prepare(model, 0, graph, GNN_OFF));
    ck_ok(gnn_model_predict(model, context, graph, &x, NULL, &y));
    for (int k = 0; k < N * OUT; k++)
        ck_assert_double_eq_tol((double)out[k], expected[k], 1e-4);
    const gnn_layer_config_t *gat = gnn_layer_config(gnn_model_layer(model, 0));
    ck_assert(gat->preset == GNN_PRESET_GAT && gat->heads == 2 && gat->out == 4);
    ck_assert(gat->activation == GNN_ELU && gat->dropout_attention == (gnn_real_t)0.5);
    gnn_graph_free(graph);
    gnn_model_free(model);
}
END_TEST

/* TEXT with the first FROM replaced; the caller's. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *made = malloc(strlen(text) + strlen(to) + 1);
    ck_assert_msg(at && made, "%s is not in %s", from, text);
    sprintf(made, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return made;
}

/* Writes a file again with the keys and names that versions before 0.2 had for key_heads,
 * value_heads and the first prior. */
static void write_former(const char *path)
{
    gnn_arrays_t *arrays;
    gnn_array_t list[16];
    ck_ok(gnn_safetensors_read(&arrays, path, NULL));
    const int64_t count = arrays->count;
    ck_assert_int_le(count, 16);
    for (int64_t k = 0; k < count; k++) {
        list[k] = *gnn_arrays_at(arrays, k);
        if (strcmp(list[k].name, "0.prior_0.table") == 0)
            list[k].name = "0.distance";
    }
    char *heads = replaced(gnn_arrays_metadata(arrays, "gnn.model"),
                           "\"key_heads\":2,\"value_heads\":2", "\"kv_heads\":2"),
         *steps = replaced(heads, "\"prior_0\":\"table\"",
                           "\"distance\":\"table\",\"distance_buckets\":5");
    const char *const metadata[][2] = {{"gnn.model", steps}};
    ck_ok(gnn_safetensors_write(path, count, list, 1, metadata));
    free(heads);
    free(steps);
    gnn_arrays_free(arrays);
}

START_TEST(keys_of_former_versions_make_the_same_model)
{
    char path[64];
    gnn_model_t *model, *former;
    snprintf(path, sizeof path, "/tmp/gnn-compat-%d.safetensors", (int)getpid());
    ck_ok(gnn_model_new(
        &model, context, 1,
        &GNN_TRANSFORMER_CONV(.in = 4, .heads = 4, .key_heads = 2, .value_heads = 2,
                              .priors = {{.prior = &gnn_prior_table, .options = {5}}})));
    gnn_tensor_t table, again;
    ck_ok(gnn_model_field(model, "0.prior_0.table", &table, NULL));
    for (int64_t k = 0; k < table.rows * table.cols; k++)
        table.data[k] = (gnn_real_t)k / 8;
    ck_ok(gnn_model_save(model, path));
    write_former(path);
    ck_ok(gnn_model_load(&former, context, path));
    remove(path);
    ck_assert_mem_eq(gnn_layer_config(gnn_model_layer(former, 0)),
                     gnn_layer_config(gnn_model_layer(model, 0)), sizeof(gnn_layer_config_t));
    ck_ok(gnn_model_field(former, "0.prior_0.table", &again, NULL));
    ck_assert_mem_eq(again.data, table.data, (size_t)(table.rows * table.cols) * sizeof *table.data);
    gnn_model_free(model);
    gnn_model_free(former);
}
END_TEST

/* Saved while scores stood among the aggregators: GAT's, GATv2's, a Transformer's and
 * additive_tanh's, and dot scores in a step of its own. `expected`: what that library computed. */
START_TEST(a_model_whose_scores_were_aggregators_loads_and_computes_the_same)
{
    static const double expected[] = {-1.15070176,  0.164693996, -1.09195149, 0.882789552,
                                      -1.05933094,  0.185678944, -1.10824931, 0.83450979,
                                      -0.962649226, 0.199121833, -1.13075519, 0.809123933,
                                      -0.858600497, 0.209730059, -1.14544833, 0.783603251};
    static const gnn_score_t *const scores[] = {&gnn_score_additive, &gnn_score_additive_v2,
                                                &gnn_score_dot, &gnn_score_additive_tanh,
                                                &gnn_score_dot};
    enum { N = 4, IN = 3, OUT = 4 };
    gnn_model_t *model, *again;
    gnn_graph_t *graph;
    gnn_real_t features[N * IN], out[2][N * OUT];
    char path[64];
    const gnn_tensor_t x = gnn_tensor(features, N, IN);
    for (int k = 0; k < N * IN; k++)
        features[k] = (gnn_real_t)(k % 7) / 8 - (gnn_real_t)0.25;
    ck_ok(gnn_model_load(&model, context,
                         GNN_SOURCE_ROOT "/tests/golden/attention_by_name.safetensors"));
    for (int64_t k = 0; k < 5; k++) {
        const gnn_layer_config_t *c = &gnn_model_step(model, k)->layer;
        ck_assert_ptr_eq(c->aggregator, &gnn_aggregator_attention);
        ck_assert_ptr_eq(c->score, scores[k]);
    }
    snprintf(path, sizeof path, "/tmp/gnn-compat-%d.safetensors", (int)getpid());
    ck_ok(gnn_model_save(model, path));
    ck_ok(gnn_model_load(&again, context, path));
    remove(path);
    ck_ok(gnn_graph_causal(&graph, 1, (int64_t[]){N}));
    for (int k = 0; k < 2; k++) {
        gnn_model_t *m = k ? again : model;
        const gnn_tensor_t y = gnn_tensor(out[k], N, OUT);
        ck_ok(gnn_model_prepare(m, 0, graph, GNN_OFF));
        ck_ok(gnn_model_predict(m, context, graph, &x, NULL, &y));
        for (int64_t c = 0; c < N * OUT; c++)
            ck_assert_double_eq_tol((double)out[k][c], expected[c], 1e-5);
        gnn_model_free(m);
    }
    gnn_graph_free(graph);
}
END_TEST

START_TEST(scores_that_were_aggregators_are_set_by_name)
{
    gnn_layer_config_t c = GNN_CONFIG(.in = 4);
    for (size_t k = 0; k < score_count(); k++) {
        ck_ok(gnn_layer_config_set(&c, "aggregator", gnn__score_at(k)->name));
        ck_assert_ptr_eq(c.aggregator, &gnn_aggregator_attention);
        ck_assert_ptr_eq(c.score, gnn__score_at(k));
    }
}
END_TEST

/* ---- trainings of other versions, on karate (tests/golden/saved/make.c) ---- */

enum { PEOPLE = 34, SHOWN = 5 };
static const char *const versions[] = {"0.1", "f3a0f48"};

static void ck_logits(gnn_model_t *model, gnn_data_t *data, const double *expected)
{
    gnn_real_t logits[PEOPLE * 2];
    const gnn_tensor_t y = gnn_tensor(logits, PEOPLE, 2);
    ck_ok(gnn_model_prepare(model, 0, gnn_data_graph(data), GNN_OFF));
    ck_ok(gnn_predict(model, context, data, &y));
    for (int k = 0; k < 2 * SHOWN; k++)
        ck_assert_double_eq_tol((double)logits[k], expected[k], 1e-5);
}

/* Both versions computed these. */
START_TEST(a_model_that_another_version_trained_computes_the_same)
{
    static const double expected[2 * SHOWN] = {
        0.19977881,    -0.367674619, 0.211924985,  -0.264764249, 0.0420031399,
        -0.0167372674, 0.148999602,  -0.210652322, 0.14041768,   -0.159198463};
    char path[300];
    gnn_model_t *model;
    gnn_data_t *data;
    snprintf(path, sizeof path, "%s/tests/golden/saved/%s.model.safetensors", GNN_SOURCE_ROOT,
             versions[_i]);
    ck_ok(gnn_data_karate(&data));
    ck_ok(gnn_model_load(&model, context, path));
    ck_logits(model, data, expected);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

static void copy_file(const char *from, const char *to)
{
    char bytes[20000];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    ck_assert(in && out);
    const size_t size = fread(bytes, 1, sizeof bytes, in);
    ck_assert(size > 0 && feof(in) && fwrite(bytes, 1, size, out) == size);
    ck_assert(fclose(in) == 0 && fclose(out) == 0);
}

/* After 4 epochs, with dropout. Both versions went on to these values. */
START_TEST(a_checkpoint_of_another_version_is_resumed_to_the_same_weights)
{
    static const double expected[2 * SHOWN] = {0.605072141, -0.576064467, 0.496522188, -0.406817108,
                                               0.119726375, 0.0164759308, 0.392540455, -0.347609878,
                                               0.383632779, -0.317506284};
    char path[300], copy[64];
    gnn_model_t *model;
    gnn_data_t *data;
    gnn_train_result_t result;
    snprintf(path, sizeof path, "%s/tests/golden/saved/%s.checkpoint.safetensors", GNN_SOURCE_ROOT,
             versions[_i]);
    snprintf(copy, sizeof copy, "/tmp/gnn-compat-%d.safetensors", (int)getpid());
    copy_file(path, copy);
    ck_ok(gnn_data_karate(&data));
    gnn_context_set_seed(context, 5);
    ck_ok(gnn_model_new(
        &model, context, 2,
        (gnn_layer_config_t[]){GNN_GAT(.in = PEOPLE, .out = 4, .heads = 2, .activation = GNN_ELU,
                                       .dropout = (gnn_real_t)0.2),
                               GNN_GCN(.in = 8, .out = 2)}));
    gnn_train_config_t config = {.epochs = 8,
                                 .optimizer = {.lr = (gnn_real_t)0.02},
                                 .watch = GNN_WATCH_LOSS,
                                 .checkpoint = copy,
                                 .checkpoint_every = 100,
                                 .resume = GNN_ON};
    ck_ok(gnn_train(model, context, data, &config, &result));
    ck_assert_int_eq(result.epochs, 8);
    ck_assert_int_eq(result.best_epoch, 8);
    ck_assert_double_eq_tol(result.train_loss, 0.285520852, 1e-6);
    ck_logits(model, data, expected);
    config.optimizer.lr = (gnn_real_t)0.01;
    copy_file(path, copy);
    ck_fails(gnn_train(model, context, data, &config, NULL), GNN_EINVALID, "");
    remove(copy);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compat");
    TCase *tests = tcase_create("compat");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_model_of_version_0_1_loads_and_computes_the_same);
    tcase_add_test(tests, keys_of_former_versions_make_the_same_model);
    tcase_add_test(tests, a_model_whose_scores_were_aggregators_loads_and_computes_the_same);
    tcase_add_test(tests, scores_that_were_aggregators_are_set_by_name);
    tcase_add_loop_test(tests, a_model_that_another_version_trained_computes_the_same, 0, 2);
    if (!GNN_DOUBLE) /* of float builds */
        tcase_add_loop_test(tests, a_checkpoint_of_another_version_is_resumed_to_the_same_weights,
                            0, 2);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
