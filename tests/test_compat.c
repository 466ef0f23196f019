/* Programs and files of other versions: models that version 0.1 saved, and structs that are shorter
 * or longer than the library's. */
#include "saved_by_0_1.h"
#include "support.h"

#include <gnn/collection.h>
#include <gnn/explain.h>
#include <gnn/finetune.h>
#include <gnn/inspect.h>
#include <gnn/links.h>
#include <gnn/memory.h>
#include <gnn/sequences.h>
#include <lib/layer/layer.h>
#include <stddef.h>
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
    const int64_t count = gnn_arrays_count(arrays);
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
    gnn_layer_config_t c = GNN_CONFIG(.in = 4), shorter = GNN_CONFIG(.in = 4);
    for (size_t k = 0; k < gnn_score_count(); k++) {
        ck_ok(gnn_layer_config_set(&c, "aggregator", gnn_score_at(k)->name));
        ck_assert_ptr_eq(c.aggregator, &gnn_aggregator_attention);
        ck_assert_ptr_eq(c.score, gnn_score_at(k));
    }
    ck_fails(gnn_layer_config_set_sized(&shorter, offsetof(gnn_layer_config_t, score), "aggregator",
                                        "additive"),
             GNN_EUNSUPPORTED, "needs .score, which is newer");
}
END_TEST

/* ---- structs ---- */

/* As if fields from dropout_out on did not exist yet: memory after the struct is not read. */
START_TEST(a_shorter_config_has_defaults_after_its_end)
{
    const size_t size = offsetof(gnn_layer_config_t, dropout_out);
    gnn_layer_config_t config = GNN_TRANSFORMER(.in = 4, .heads = 2, .dropout = (gnn_real_t)0.5),
                       resolved;
    memset((char *)&config + size, 0x55, sizeof config - size);
    memset(&resolved, 0x33, sizeof resolved);
    ck_ok(gnn_layer_config_resolve_sized(&resolved, &config, size));
    ck_assert_int_eq(resolved.feed_forward, 16);
    ck_assert_int_eq(*((char *)&resolved + size), 0x33);
    gnn_layer_t *layer;
    ck_ok(gnn_layer_new_sized(&layer, context, &config, size));
    ck_assert(gnn_layer_config(layer)->dropout_out == (gnn_real_t)0.5);
    gnn_layer_free(layer);
}
END_TEST

typedef struct {
    gnn_layer_config_t config;
    int64_t later;
} newer_t;

START_TEST(unknown_fields_of_a_longer_config_must_be_zero)
{
    newer_t newer = {GNN_GCN(.in = 4), 0}, resolved;
    memset(&resolved, 0x33, sizeof resolved);
    ck_ok(gnn_layer_config_resolve_sized(&resolved.config, &newer.config, sizeof newer));
    ck_assert_int_eq(resolved.config.out, 4);
    ck_assert_int_eq(resolved.later, 0);
    newer.later = 3;
    ck_fails(gnn_layer_config_resolve_sized(&resolved.config, &newer.config, sizeof newer),
             GNN_EUNSUPPORTED, "this version of the library has no fields");
    gnn_layer_t *layer = NULL;
    ck_fails(gnn_layer_new_sized(&layer, context, &newer.config, sizeof newer), GNN_EUNSUPPORTED,
             "bytes");
    ck_assert_ptr_null(layer);
}
END_TEST

START_TEST(models_take_configs_of_other_lengths)
{
    const size_t size = offsetof(gnn_layer_config_t, dropout_out);
    char configs[2 * sizeof(gnn_layer_config_t)];
    gnn_layer_config_t config = GNN_GCN(.in = 4, .out = 5);
    memcpy(configs, &config, size);
    config = GNN_GCN(.in = 5, .out = 3);
    memcpy(configs + size, &config, size);
    gnn_model_t *model;
    ck_ok(gnn_model_new_sized(&model, context, 2, (const gnn_layer_config_t *)(void *)configs, size));
    ck_assert_int_eq(gnn_layer_width(gnn_model_layer(model, 1)), 3);
    gnn_model_free(model);
}
END_TEST

/* A step's config is in its middle: later fields move with the config's length. */
START_TEST(steps_take_configs_of_other_lengths)
{
    const size_t config_size = offsetof(gnn_layer_config_t, dropout_out),
                 tail = offsetof(gnn_step_t, graph),
                 size = offsetof(gnn_step_t, layer) + config_size + sizeof(gnn_step_t) - tail;
    const gnn_step_t step = {
        .name = "hop", .layer = GNN_GCN(.in = 4, .out = 5), .graph = 2, .inputs = {"words"}};
    char *shorter = malloc(size);
    gnn_model_t *model;
    gnn_steps_t *steps;
    memcpy(shorter, &step, offsetof(gnn_step_t, layer) + config_size);
    memcpy(shorter + offsetof(gnn_step_t, layer) + config_size, (const char *)&step + tail,
           sizeof step - tail);
    const gnn_step_t *given = (const gnn_step_t *)(void *)shorter;
    ck_ok(gnn_model_from_steps_sized(&model, context, 1, given, size, config_size));
    ck_assert_str_eq(gnn_model_step(model, 0)->inputs[0], "words");
    ck_assert_int_eq(gnn_model_step(model, 0)->graph, 2);
    ck_assert_int_eq(gnn_layer_width(gnn_model_layer(model, 0)), 5);
    gnn_model_free(model);
    ck_ok(gnn_steps_new(&steps));
    ck_ok(gnn_steps_add_sized(steps, given, size, config_size));
    ck_assert_str_eq(gnn_steps_list(steps)[0].inputs[0], "words");
    gnn_steps_free(steps);
    free(shorter);
}
END_TEST

typedef struct {
    gnn_block_t block;
    int64_t later;
} newer_block_t;

/* A block's config is in its middle, like a step's. */
START_TEST(blocks_take_settings_of_other_lengths)
{
    newer_block_t newer = {{.name = "sgc", .width = 4, .out = 5, .hops = 2}, 0};
    gnn_steps_t *steps;
    ck_ok(gnn_steps_new(&steps));
    ck_ok(gnn_steps_block_sized(steps, "sgc", &newer.block, sizeof newer, sizeof newer.block.layer));
    newer.later = 1;
    ck_fails(gnn_steps_block_sized(steps, "sgc", &newer.block, sizeof newer, sizeof newer.block.layer),
             GNN_EUNSUPPORTED, "sets fields that this version of the library does not have");
    gnn_steps_free(steps);
}
END_TEST

START_TEST(fields_by_name_respect_the_config_size)
{
    const size_t size = offsetof(gnn_layer_config_t, dropout_out);
    gnn_layer_config_t config = GNN_GCN(.in = 4);
    gnn_config_field_t field;
    char text[64] = "";
    memset((char *)&config + size, 0x55, sizeof config - size);
    ck_ok(gnn_layer_config_set_sized(&config, size, "heads", "3"));
    ck_ok(gnn_layer_config_get_sized(&config, size, "heads", text, sizeof text));
    ck_assert_str_eq(text, "3");
    ck_assert_int_ne(gnn_layer_config_set_sized(&config, size, "dropout_out", "0.5"), GNN_OK);
    ck_assert_int_eq(*((char *)&config + size), 0x55);
    memset(&field, 0x33, sizeof field);
    ck_ok(gnn_layer_config_field_sized(0, &field, offsetof(gnn_config_field_t, help)));
    ck_assert_int_eq(*(char *)&field.help, 0x33);
}
END_TEST

/* ---- configs are passed with their size; structs contained by value have a fixed layout ---- */

#define TAKES(function, ...)                                    \
    static int told_##function(const void *config, size_t size) \
    {                                                           \
        return gnn_##function##_sized(__VA_ARGS__);             \
    }
TAKES(context_new, NULL, config, size)
TAKES(data_new, NULL, config, size)
TAKES(train, NULL, NULL, NULL, config, size, NULL, sizeof(gnn_train_result_t))
TAKES(train_batches, NULL, NULL, NULL, config, size, NULL, sizeof(gnn_train_result_t))
TAKES(train_memory, NULL, NULL, NULL, config, size, NULL)
TAKES(batches_new, NULL, NULL, NULL, NULL, config, size)
TAKES(graph_batches_new, NULL, NULL, NULL, NULL, config, size)
TAKES(link_batches_new, NULL, NULL, NULL, NULL, config, size)
TAKES(link_batches_classes, NULL, NULL, NULL, gnn_ints(NULL), NULL, config, size)
TAKES(token_source_new, NULL, NULL, NULL, NULL, config, size)
TAKES(text_source_new, NULL, NULL, NULL, NULL, config, size)
TAKES(pretrained_open_with, NULL, NULL, NULL, config, size)
TAKES(attention_of_text, NULL, NULL, NULL, NULL, config, size)
TAKES(attachment_new, NULL, NULL, NULL, NULL, config, size)
TAKES(graph_diffuse, NULL, NULL, NULL, NULL, NULL, config, size)
TAKES(hetero_sampler_new, NULL, NULL, config, size)
TAKES(explain, NULL, NULL, NULL, NULL, 0, config, size)
TAKES(explain_fidelity, NULL, NULL, NULL, NULL, config, size, NULL)
TAKES(state_new, NULL, NULL, NULL, config, size)
TAKES(pretrained_open_classes, NULL, NULL, NULL, config, size)
TAKES(pretrained_batch_new_with, NULL, NULL, NULL, config, size)
TAKES(pretrained_zero_shot, NULL, NULL, NULL, NULL, config, NULL, size)

static const struct {
    const char *name;
    int (*take)(const void *config, size_t size);
    size_t size;
} takers[] = {
    {"gnn_context_new", told_context_new, sizeof(gnn_context_config_t)},
    {"gnn_data_new", told_data_new, sizeof(gnn_data_config_t)},
    {"gnn_train", told_train, sizeof(gnn_train_config_t)},
    {"gnn_train_batches", told_train_batches, sizeof(gnn_train_config_t)},
    {"gnn_train_memory", told_train_memory, sizeof(gnn_train_config_t)},
    {"gnn_batches_new", told_batches_new, sizeof(gnn_train_config_t)},
    {"gnn_graph_batches_new", told_graph_batches_new, sizeof(gnn_graph_batches_config_t)},
    {"gnn_link_batches_new", told_link_batches_new, sizeof(gnn_link_batches_config_t)},
    {"gnn_link_batches_classes", told_link_batches_classes, sizeof(gnn_link_batches_config_t)},
    {"gnn_graph_diffuse", told_graph_diffuse, sizeof(gnn_diffusion_t)},
    {"gnn_hetero_sampler_new", told_hetero_sampler_new, sizeof(gnn_hetero_sampler_config_t)},
    {"gnn_token_source_new", told_token_source_new, sizeof(gnn_token_source_config_t)},
    {"gnn_text_source_new", told_text_source_new, sizeof(gnn_text_source_config_t)},
    {"gnn_pretrained_open_with", told_pretrained_open_with, sizeof(gnn_pretrained_config_t)},
    {"gnn_attention_of_text", told_attention_of_text, sizeof(gnn_attention_config_t)},
    {"gnn_attachment_new", told_attachment_new, sizeof(gnn_attachment_config_t)},
    {"gnn_explain", told_explain, sizeof(gnn_explain_config_t)},
    {"gnn_explain_fidelity", told_explain_fidelity, sizeof(gnn_fidelity_config_t)},
    {"gnn_state_new", told_state_new, sizeof(gnn_state_config_t)},
    {"gnn_pretrained_open_classes", told_pretrained_open_classes, sizeof(gnn_classes_config_t)},
    {"gnn_pretrained_batch_new_with", told_pretrained_batch_new_with,
     sizeof(gnn_pretrained_batch_config_t)},
    {"gnn_pretrained_zero_shot", told_pretrained_zero_shot, sizeof(gnn_zero_shot_config_t)},
};

/* A field unknown to the library is refused before other checks; if it is 0 the call continues,
 * here to its first missing argument. */
START_TEST(fields_of_a_newer_program_are_refused_if_they_are_set)
{
    const size_t size = takers[_i].size + sizeof(double);
    char *config = calloc(1, size);
    ck_assert_ptr_nonnull(config);
    ck_assert_int_eq(takers[_i].take(config, size), GNN_EINVALID);
    config[size - 1] = 1;
    ck_fails(takers[_i].take(config, size), GNN_EUNSUPPORTED,
             "sets fields that this version of the library does not have");
    free(config);
}
END_TEST

/* Memory after an older program's struct is not read. */
START_TEST(fields_that_an_older_program_lacks_are_defaults)
{
    const size_t size = offsetof(gnn_context_config_t, seed);
    gnn_context_config_t config = {.threads = 1};
    gnn_context_t *one;
    memset((char *)&config + size, 0x55, sizeof config - size);
    ck_ok(gnn_context_new_sized(&one, &config, size));
    ck_assert_int_eq(gnn_context_threads(one), 1);
    ck_assert_uint_eq(gnn_context_seed(one), 0);
    gnn_context_free(one);
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
    tcase_add_test(tests, a_shorter_config_has_defaults_after_its_end);
    tcase_add_test(tests, unknown_fields_of_a_longer_config_must_be_zero);
    tcase_add_test(tests, models_take_configs_of_other_lengths);
    tcase_add_test(tests, steps_take_configs_of_other_lengths);
    tcase_add_test(tests, blocks_take_settings_of_other_lengths);
    tcase_add_test(tests, fields_by_name_respect_the_config_size);
    tcase_add_loop_test(tests, fields_of_a_newer_program_are_refused_if_they_are_set, 0,
                        sizeof takers / sizeof *takers);
    tcase_add_test(tests, fields_that_an_older_program_lacks_are_defaults);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
