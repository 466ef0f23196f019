/* Queries of models, lists of steps, tapes and tables, and a few ops by their formulas. */
#include "support.h"

#include <lib/layer/config_fields.h>
#include <lib/model/steps.h>
#include <lib/tape/tape.h>

#include <unistd.h>

static gnn_context_t *context;

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
}

static void tear_down(void)
{
    gnn_context_free(context);
}

START_TEST(a_list_of_steps_keeps_its_steps)
{
    gnn_steps_t *steps;
    char name[] = "first";
    ck_ok(gnn_steps_new(&steps));
    ck_assert_int_eq(gnn_steps_count(steps), 0);
    ck_ok(gnn_steps_add(steps,
                        &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = name, .in = 3, .out = 5}));
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_DROPOUT}));
    name[0] = 'F'; /* strings are copied */
    ck_assert_int_eq(gnn_steps_count(steps), 2);
    const gnn_step_t *list = gnn_steps_list(steps);
    ck_assert_str_eq(list[0].name, "first");
    ck_assert_int_eq(list[0].out, 5);
    ck_assert_int_eq(list[1].kind, GNN_STEP_DROPOUT);
    gnn_steps_free(steps);
}
END_TEST

START_TEST(a_model_knows_widths_and_inputs)
{
    gnn_model_t *model;
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_LINEAR, .name = "wide", .inputs = {"words"}, .in = 3, .out = 8},
        {.kind = GNN_STEP_CONCAT, .name = "both", .inputs = {"wide", "wide"}},
        {.kind = GNN_STEP_ADD, .inputs = {"both", "shift"}}};
    ck_ok(gnn_model_from_steps(&model, context, 3, steps));
    ck_assert_int_eq(gnn_model_width(model, 0), 8);
    ck_assert_int_eq(gnn_model_width(model, 1), 16);
    ck_assert_int_eq(gnn_model_width(model, gnn_model_find(model, "both")), 16);
    ck_assert_int_eq(gnn_model_find(model, "none"), -1);
    ck_assert_int_eq(gnn_model_input_count(model), 2);
    ck_assert_str_eq(gnn_model_input_name(model, 0), "words");
    ck_assert_str_eq(gnn_model_input_name(model, 1), "shift");
    gnn_model_free(model);
}
END_TEST

START_TEST(tables_name_their_entries)
{
    ck_assert_str_eq(gnn__step_kind_name(GNN_STEP_LINEAR), "linear");
    ck_assert_ptr_null(gnn__step_kind_name(GNN_STEP_COUNT));
    ck_assert_uint_gt(block_count(), 0);
    for (size_t k = 0; k < block_count(); k++)
        ck_assert_uint_gt(strlen(gnn_block_name(k)), 0);
    ck_assert_ptr_null(gnn_block_name(block_count()));
    for (size_t k = 0; k < update_count(); k++)
        ck_assert_ptr_eq(gnn_update_find(gnn__update_at(k)->name), gnn__update_at(k));
    ck_assert_ptr_null(gnn_update_find("mpl"));
    ck_assert_ptr_nonnull(strstr(gnn_error_message(), "mlp")); /* the names that there are */
}
END_TEST

START_TEST(defaults_of_a_config_are_resolved)
{
    gnn_layer_config_t full;
    ck_ok(gnn_layer_config_resolve(&full, &GNN_GAT(.in = 12, .out = 8, .heads = 4)));
    ck_assert_str_eq(full.aggregator->name, "attention");
    ck_assert_str_eq(full.score->name, "additive");
    ck_assert_int_eq(full.self_loops, GNN_ON);
    ck_assert_int_eq(full.key_heads, 4);
    ck_assert_int_eq(full.in_dst, 12);
    ck_fails(gnn_layer_config_resolve(&full, &GNN_GAT(.in = 0, .out = 8)), GNN_EINVALID, "in");
}
END_TEST

START_TEST(a_score_goes_with_attention)
{
    gnn_layer_config_t full;
    ck_ok(gnn_layer_config_resolve(&full,
                                   &GNN_CONFIG(.in = 4, .aggregator = &gnn_aggregator_attention)));
    ck_assert_ptr_eq(full.score, &gnn_score_dot);
    ck_ok(gnn_layer_config_resolve(&full, &GNN_GAT(.in = 4, .score = &gnn_score_dot)));
    ck_assert_ptr_eq(full.score, &gnn_score_dot);
    ck_ok(gnn_layer_config_resolve(&full, &GNN_GAT(.in = 4, .aggregator = &gnn_aggregator_mean)));
    ck_assert_ptr_null(full.score);
    ck_ok(gnn_layer_config_resolve(&full, &full));
    ck_assert_ptr_null(full.score);
    ck_fails(gnn_layer_config_resolve(&full, &GNN_SAGE(.in = 4, .score = &gnn_score_dot)),
             GNN_EUNSUPPORTED, "a score needs an attention aggregator, mean has no scores");
}
END_TEST

START_TEST(a_model_with_an_entry_of_the_program_is_loaded)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/gnn-asking-%d.safetensors", (int)getpid());
    gnn_aggregator_t mine = *gnn_aggregator_find("mean");
    gnn_model_t *model, *loaded;
    mine.name = "mine";
    const gnn_row_t row = {"aggregator", &mine};
    ck_ok(gnn_model_new(&model, context, 1,
                        &(gnn_layer_config_t){.in = 3, .out = 2, .aggregator = &mine}));
    ck_ok(gnn_model_save(model, path));
    ck_fails(gnn_model_load(&loaded, context, path), GNN_EFORMAT, "mine");
    ck_ok(gnn_model_load_with(&loaded, context, path, &(gnn_rows_t){1, &row}));
    ck_assert_ptr_eq(gnn_model_step(loaded, 0)->layer.aggregator, &mine);
    gnn_model_free(loaded);
    gnn_model_free(model);
    remove(path);
}
END_TEST

/* A tape that records, with x = (1 2; 3 -4) as an input that wants a gradient. */
static gnn_tape_t *tape_with(gnn_real_t x[4], gnn_var_t *input)
{
    gnn_tape_t *tape;
    const gnn_real_t values[] = {1, 2, 3, -4};
    memcpy(x, values, sizeof values);
    gnn_tensor_t view = gnn_tensor(x, 2, 2);
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 0);
    *input = gnn_tape_input(tape, &view, 1);
    return tape;
}

START_TEST(a_maximum_and_its_gradient)
{
    gnn_real_t x[4], z[4] = {1, 5, 0, -9};
    gnn_var_t a;
    gnn_tape_t *tape = tape_with(x, &a);
    gnn_tensor_t view = gnn_tensor(z, 2, 2);
    gnn_var_t y = gnn_tape_maximum(tape, (gnn_var_t[]){a, gnn_tape_input(tape, &view, 0)}, 2);
    gnn_tape_keep(tape, y);
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, y, NULL));
    const double value[] = {1, 5, 3, -4}, gradient[] = {0.5, 0, 1, 1}; /* a tie shares */
    gnn_tensor_t out = gnn_tape_value(tape, y), grad = gnn_tape_gradient(tape, a);
    for (int k = 0; k < 4; k++) {
        ck_assert_double_eq((double)out.data[k / 2 * out.stride + k % 2], value[k]);
        ck_assert_double_eq((double)grad.data[k / 2 * grad.stride + k % 2], gradient[k]);
    }
    ck_assert_uint_gt(gnn_tape_bytes(tape), 0);
    ck_assert_int_eq(gnn__tape_is_sparse(tape, a), 0);
    gnn_tape_free(tape);
}
END_TEST

START_TEST(rows_are_repeated_and_their_gradients_added)
{
    gnn_real_t x[4];
    gnn_var_t a;
    gnn_tape_t *tape = tape_with(x, &a);
    gnn_var_t y = gnn_tape_repeat_rows(tape, a, 3);
    gnn_tape_keep(tape, y);
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, y, NULL));
    gnn_tensor_t out = gnn_tape_value(tape, y), grad = gnn_tape_gradient(tape, a);
    ck_assert_int_eq(out.rows, 6);
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 2; c++)
            ck_assert_double_eq((double)out.data[r * out.stride + c], (double)x[r % 2 * 2 + c]);
    for (int k = 0; k < 4; k++)
        ck_assert_double_eq((double)grad.data[k / 2 * grad.stride + k % 2], 3);
    gnn_tape_free(tape);
}
END_TEST

START_TEST(a_tape_keeps_its_first_error)
{
    gnn_real_t x[4];
    gnn_var_t a;
    gnn_tape_t *tape = tape_with(x, &a);
    gnn_sparse_t sparse = {.rows = 1, .cols = 1, .indptr = (int64_t[]){0, 0}, .indices = NULL};
    gnn_var_t s = gnn_tape_sparse(tape, &sparse);
    ck_assert_int_eq(gnn__tape_is_sparse(tape, s), 1);
    ck_assert_int_eq(gnn_tape_fail(tape, GNN_OK), GNN_OK);
    ck_assert_int_eq(gnn_tape_fail(tape, GNN_ENUMERIC), GNN_ENUMERIC);
    ck_assert_int_eq(gnn_tape_fail(tape, GNN_EIO), GNN_ENUMERIC);
    ck_assert_int_eq(gnn_tape_scale(tape, a, 2), GNN_NONE);
    ck_assert_int_eq(gnn_tape_forward(tape), GNN_ENUMERIC);
    gnn_tape_free(tape);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("asking");
    TCase *t = tcase_create("asking");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_list_of_steps_keeps_its_steps);
    tcase_add_test(t, a_model_knows_widths_and_inputs);
    tcase_add_test(t, tables_name_their_entries);
    tcase_add_test(t, defaults_of_a_config_are_resolved);
    tcase_add_test(t, a_score_goes_with_attention);
    tcase_add_test(t, a_model_with_an_entry_of_the_program_is_loaded);
    tcase_add_test(t, a_maximum_and_its_gradient);
    tcase_add_test(t, rows_are_repeated_and_their_gradients_added);
    tcase_add_test(t, a_tape_keeps_its_first_error);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
