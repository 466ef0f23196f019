/* Fields of a layer's config: one list has names, ranges and defaults. */
#include "support.h"

#include <lib/layer/config_fields.h>
#include <locale.h>
#include <stddef.h>

static gnn_layer_config_t config;

static void set_up(void)
{
    config = (gnn_layer_config_t){.in = 6};
}

START_TEST(every_kind_of_field_is_set_by_name)
{
    ck_ok(gnn_layer_config_set(&config, "preset", "gat"));
    ck_ok(gnn_layer_config_set(&config, "heads", "8"));
    ck_ok(gnn_layer_config_set(&config, "self_loops", "off"));
    ck_ok(gnn_layer_config_set(&config, "activation", "gelu_tanh"));
    ck_ok(gnn_layer_config_set(&config, "slope", "0.125"));
    ck_ok(gnn_layer_config_set(&config, "dropout", "5e-1"));
    ck_ok(gnn_layer_config_set(&config, "message", "relu_sum"));
    ck_ok(gnn_layer_config_set(&config, "aggregator", "max"));
    ck_ok(gnn_layer_config_set(&config, "update", "gru"));
    ck_ok(gnn_layer_config_set(&config, "options", "0.5,2"));
    ck_assert(config.preset == GNN_PRESET_GAT && config.heads == 8 && config.self_loops == GNN_OFF);
    ck_assert(config.activation == GNN_GELU_TANH && config.slope == (gnn_real_t)0.125);
    ck_assert(config.dropout == (gnn_real_t)0.5);
    ck_assert_str_eq(config.message->name, "relu_sum");
    ck_assert_str_eq(config.aggregator->name, "max");
    ck_assert_ptr_eq(config.update, &gnn_update_gru);
    ck_assert(config.options[0] == 0.5 && config.options[1] == 2 && config.options[2] == 0);
    ck_ok(gnn_layer_config_set(&config, "heads", "default"));
    ck_ok(gnn_layer_config_set(&config, "update", "default"));
    ck_assert(config.heads == 0 && config.update == NULL);
}
END_TEST

/* A zero that is written is meant: it is not the preset's choice. */
START_TEST(an_explicit_zero_is_not_a_default)
{
    gnn_layer_config_t resolved;
    char text[32];
    ck_ok(gnn_layer_config_set(&config, "slope", "0"));
    ck_ok(gnn_layer_config_get(&config, "slope", text, sizeof text));
    ck_assert_str_eq(text, "0");
    ck_ok(gnn_layer_config_resolve(&resolved, &config));
    ck_assert(resolved.slope == 0);
    ck_ok(gnn_layer_config_set(&config, "slope", "default"));
    ck_ok(gnn_layer_config_resolve(&resolved, &config));
    ck_assert(resolved.slope == (gnn_real_t)0.2);
}
END_TEST

/* A real that was meant to be 0 stays 0, though 0 means the default in other configs. */
START_TEST(a_resolved_config_resolves_to_itself)
{
    for (gnn_preset_t p = GNN_PRESET_NONE; p < GNN_PRESET_COUNT; p++) {
        gnn_layer_config_t resolved, again;
        config = (gnn_layer_config_t){.preset = p,
                                      .in = 6,
                                      .dropout = (gnn_real_t)0.3,
                                      .dropout_in = GNN_ZERO,
                                      .dropout_attention = GNN_ZERO,
                                      .slope = GNN_ZERO,
                                      .scale = GNN_ZERO,
                                      .norm_eps = GNN_ZERO};
        config.edge_dim = p == GNN_PRESET_GINE ? 3 : 0;
        ck_ok(gnn_layer_config_resolve(&resolved, &config));
        ck_assert(resolved.slope == 0 && resolved.scale == 0 && resolved.dropout_in == 0);
        ck_ok(gnn_layer_config_resolve(&again, &resolved));
        ck_assert_mem_eq(&again, &resolved, sizeof resolved);
    }
    config.resolved = (gnn_flag_t)7;
    ck_fails(gnn_layer_config_resolve(&config, &config), GNN_EINVALID,
             "config field .resolved = 7 is not a flag");
}
END_TEST

static const struct {
    const char *name, *value;
    int code;
    const char *words;
} wrong[] = {
    {"head", "8", GNN_ENOTFOUND, "no config field is called \"head\"; there are: preset, in, in_dst"},
    {"heads", "", GNN_EINVALID, "config field .heads = \"\": expected a value of kind integer"},
    {"heads", "8x", GNN_EINVALID, "expected a value of kind integer"},
    {"heads", "2.5", GNN_EINVALID, "expected a value of kind integer"},
    {"heads", "70000", GNN_EINVALID, "config field .heads = 70000 lies outside 0..65536"},
    {"heads", "99999999999999999999", GNN_EINVALID, "expected a value of kind integer"},
    {"in", "0", GNN_EINVALID, "config field .in = 0 lies outside 1..2147483647"},
    {"slope", "abc", GNN_EINVALID, "config field .slope = \"abc\": expected a value of kind real"},
    {"slope", "1e99", GNN_EINVALID, ""},
    {"slope", "nan", GNN_EINVALID, "expected a value of kind real"},
    {"slope", "0,2", GNN_EINVALID, "expected a value of kind real"},
    {"dropout", "1", GNN_EINVALID, "config field .dropout = 1 lies outside [0, 1)"},
    {"dropout", "-0.1", GNN_EINVALID, "lies outside [0, 1)"},
    {"options", "1,2,3,4,5", GNN_EINVALID, "config field .options"},
    {"options", "1,,2", GNN_EINVALID, "config field .options"},
    {"activation", "swish", GNN_ENOTFOUND,
     "no activation is called \"swish\"; there are: default, identity, relu, leaky_relu"},
    {"self_loops", "yes", GNN_ENOTFOUND,
     "no self_loops is called \"yes\"; there are: default, on, off"},
    {"aggregator", "maximum", GNN_ENOTFOUND,
     "no aggregator is called \"maximum\"; there are: sum, mean, max"},
    {"message", "shout", GNN_ENOTFOUND, "no message is called \"shout\"; there are: none, linear"},
    {"update", "lstm", GNN_ENOTFOUND, "no update is called \"lstm\"; there are: none, linear, mlp"},
    {"preset", "gta", GNN_ENOTFOUND, "no preset is called \"gta\"; there are: none, gcn, sage"},
};

START_TEST(wrong_values_are_refused_and_change_nothing)
{
    gnn_layer_config_t before;
    config.heads = 3;
    memcpy(&before, &config, sizeof config);
    ck_fails(gnn_layer_config_set(&config, wrong[_i].name, wrong[_i].value), wrong[_i].code,
             wrong[_i].words);
    ck_assert_mem_eq(&before, &config, sizeof config);
}
END_TEST

/* set reads the output of get: a resolved config survives the round trip, also in a locale with a
 * decimal comma. */
START_TEST(every_field_comes_back_from_its_text)
{
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    setlocale(LC_ALL, locales[_i % 3]);
    for (gnn_preset_t p = GNN_PRESET_NONE; p < GNN_PRESET_COUNT; p++) {
        gnn_layer_config_t resolved, again = {.in = 1}, twice;
        gnn_config_field_t field;
        config = (gnn_layer_config_t){.preset = p, .in = 6, .out = 6, .dropout = (gnn_real_t)0.3};
        config.edge_dim = p == GNN_PRESET_GINE ? 3 : 0;
        ck_ok(gnn_layer_config_resolve(&resolved, &config));
        for (size_t k = 0; gnn_layer_config_field(k, &field) == GNN_OK; k++) {
            char text[128];
            ck_ok(gnn_layer_config_get(&resolved, field.name, text, sizeof text));
            ck_ok(gnn_layer_config_set(&again, field.name, text));
        }
        ck_ok(gnn_layer_config_resolve(&twice, &again));
        ck_assert_mem_eq(&twice, &resolved, sizeof resolved);
    }
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(a_short_buffer_is_refused)
{
    char text[4];
    config.heads = 1234;
    ck_fails(gnn_layer_config_get(&config, "heads", text, sizeof text), GNN_EOVERFLOW,
             "config field .heads = 1234 does not fit into 4 characters");
    config.heads = 123;
    ck_ok(gnn_layer_config_get(&config, "heads", text, sizeof text));
    ck_assert_str_eq(text, "123");
}
END_TEST

START_TEST(the_list_of_fields_is_complete)
{
    gnn_config_field_t field;
    size_t end = 0;
    size_t count = 0;
    for (size_t k = 0; gnn_layer_config_field(k, &field) == GNN_OK; k++, count++) {
        const gnn__field_row_t *f = gnn__config_field(k);
        ck_assert_msg(f->offset >= end && f->offset < end + 8, "%s overlaps or leaves a gap",
                      f->name);
        ck_assert_msg(strlen(field.help) > 5, "%s has no help", field.name);
        ck_assert(field.low <= field.initial || field.initial == 0);
        end = f->offset + f->size;
        for (size_t other = 0; other < k; other++)
            ck_assert_str_ne(gnn__config_field(other)->name, f->name);
    }
    ck_assert_uint_gt(count, 39);
    ck_assert(end <= offsetof(gnn_layer_config_t, resolved) &&
              end + 8 > offsetof(gnn_layer_config_t, resolved));
    ck_fails(gnn_layer_config_field(count, &field), GNN_ENOTFOUND, "has no field");
    ck_assert_str_eq(gnn_layer_config_choice("update", 2), "mlp");
    ck_assert_str_eq(gnn_layer_config_choice("residual", 1), "on");
    ck_assert_ptr_null(gnn_layer_config_choice("residual", 3));
    ck_assert_ptr_null(gnn_layer_config_choice("heads", 0));
    ck_assert_ptr_null(gnn_layer_config_choice("nothing", 0));
}
END_TEST

START_TEST(updates_are_found_by_name)
{
    for (size_t k = 0; k < update_count(); k++)
        ck_assert_ptr_eq(gnn_update_find(gnn__update_at(k)->name), gnn__update_at(k));
    ck_assert_ptr_null(gnn__update_at(update_count()));
    ck_assert_ptr_null(gnn_update_find("nand"));
    ck_assert_ptr_nonnull(
        strstr(gnn_error_message(), "no update is called \"nand\"; there are: none"));
    ck_assert_ptr_null(gnn_update_find(NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_fields");
    TCase *tests = tcase_create("config_fields");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, every_kind_of_field_is_set_by_name);
    tcase_add_test(tests, an_explicit_zero_is_not_a_default);
    tcase_add_test(tests, a_resolved_config_resolves_to_itself);
    tcase_add_loop_test(tests, wrong_values_are_refused_and_change_nothing, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(tests, every_field_comes_back_from_its_text, 0, 3);
    tcase_add_test(tests, a_short_buffer_is_refused);
    tcase_add_test(tests, the_list_of_fields_is_complete);
    tcase_add_test(tests, updates_are_found_by_name);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
