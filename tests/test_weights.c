/* Weights files: round trips are exact; every kind of invalid file is refused with a message and
 * without leaks. */
#include "support.h"

#include <lib/data/arrays/arrays.h>
#include <unistd.h>

static gnn_context_t *context;
static char path[64];

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, NULL));
    snprintf(path, sizeof path, "/tmp/gnn-weights-%d.safetensors", (int)getpid());
}

static void tear_down(void)
{
    remove(path);
    gnn_context_free(context);
}

/* ---- models to save ---- */

/* Values without a short decimal form, and explicit zeros. */
static gnn_layer_config_t awkward(gnn_preset_t preset)
{
    gnn_layer_config_t c;
    memset(&c, 0, sizeof c); /* padding too: configs are compared as bytes */
    c.preset = preset;
    c.in = 6;
    c.out = 6;
    c.dropout = (gnn_real_t)(1.0 / 3);
    c.dropout_attention = GNN_ZERO;
    c.slope = (gnn_real_t)0.1 / 3;
    c.norm_eps = (gnn_real_t)1e-12;
    c.eps = (gnn_real_t)-7e-9;
    if (preset == GNN_PRESET_GAT || preset == GNN_PRESET_TRANSFORMER)
        c.heads = 2;
    if (preset == GNN_PRESET_GINE || preset == GNN_PRESET_TRANSFORMER_CONV)
        c.edge_dim = 3;
    if (preset == GNN_PRESET_GIN)
        c.learn_eps = GNN_ON;
    return c;
}

static gnn_model_t *chain(void)
{
    gnn_model_t *model = NULL;
    gnn_layer_config_t layers[3];
    layers[0] = awkward(GNN_PRESET_GAT);
    layers[1] = awkward(GNN_PRESET_TRANSFORMER);
    layers[1].in = 12;
    layers[1].out = 12;
    layers[1].norm = GNN_NORM_BATCH;
    layers[2] = awkward(GNN_PRESET_SAGE);
    layers[2].in = 12;
    layers[2].aggregator = gnn_aggregator_find("std");
    layers[2].slope = GNN_ZERO;
    ck_ok(gnn_model_new(&model, context, 3, layers));
    return model;
}

/* Every kind of step, shared parameters, two graphs, names. */
static gnn_model_t *steps(void)
{
    gnn_model_t *model = NULL;
    gnn_step_t s[] = {
        {.kind = GNN_STEP_EMBED, .name = "words", .inputs = {"ids"}, .in = 9, .out = 6},
        {.name = "a", .layer = awkward(GNN_PRESET_GATED_GRAPH)},
        {.name = "b \"quoted\" \xc3\xa9",
         .layer = awkward(GNN_PRESET_GATED_GRAPH),
         .share = "a",
         .share_fields = "gru"},
        {.kind = GNN_STEP_NORM,
         .name = "norm",
         .norm = GNN_NORM_BATCH,
         .in = 6,
         .eps = (gnn_real_t)0.1 / 7},
        {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)0.1},
        {.kind = GNN_STEP_ACTIVATION, .activation = GNN_GELU_TANH},
        {.name = "cross",
         .layer = awkward(GNN_PRESET_TRANSFORMER),
         .graph = 1,
         .inputs = {"words"},
         .receivers = "norm"},
        {.kind = GNN_STEP_ADD, .inputs = {NULL, "a"}},
        {.kind = GNN_STEP_CONCAT, .inputs = {NULL, "a", "words"}},
        {.kind = GNN_STEP_LINEAR, .name = "head", .in = 18, .out = 2},
    };
    ck_ok(gnn_model_from_steps(&model, context, sizeof s / sizeof s[0], s));
    return model;
}

/* ---- coming back ---- */

static void same_numbers(const char *name, const gnn_tensor_t *a, const gnn_tensor_t *b)
{
    ck_assert_msg(a->rows == b->rows && a->cols == b->cols, "%s: shapes differ", name);
    for (int64_t r = 0; r < a->rows; r++)
        ck_assert_msg(memcmp(gnn__row(a, r), gnn__row(b, r), sizeof(gnn_real_t) * (size_t)a->cols) ==
                          0,
                      "%s: row %lld differs", name, (long long)r);
}

static void same_text(const char *a, const char *b)
{
    ck_assert_int_eq(!a, !b);
    if (a)
        ck_assert_str_eq(a, b);
}

static void same_step(const gnn_model_t *a, const gnn_model_t *b, int64_t k)
{
    const gnn_step_t *s = gnn_model_step(a, k), *t = gnn_model_step(b, k);
    const gnn_layer_t *layer = gnn_model_layer(a, k);
    const char *const texts[][2] = {{s->name, t->name},
                                    {s->inputs[0], t->inputs[0]},
                                    {s->receivers, t->receivers},
                                    {s->inputs[1], t->inputs[1]},
                                    {s->inputs[2], t->inputs[2]},
                                    {s->edge_features, t->edge_features},
                                    {s->edge_weight, t->edge_weight},
                                    {s->edge_bias, t->edge_bias},
                                    {s->share, t->share},
                                    {s->share_fields, t->share_fields}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        same_text(texts[i][0], texts[i][1]);
    ck_assert(s->kind == t->kind && s->graph == t->graph && s->in == t->in && s->out == t->out &&
              s->activation == t->activation && s->norm == t->norm);
    ck_assert(memcmp(&s->eps, &t->eps, sizeof s->eps) == 0 &&
              memcmp(&s->rate, &t->rate, sizeof s->rate) == 0);
    ck_assert_int_eq(layer == NULL, gnn_model_layer(b, k) == NULL);
    if (layer)
        ck_assert_mem_eq(gnn_layer_config(layer), gnn_layer_config(gnn_model_layer(b, k)),
                         sizeof(gnn_layer_config_t));
}

static void same_model(const gnn_model_t *a, const gnn_model_t *b)
{
    gnn_tensor_t s, t;
    ck_assert_int_eq(gnn_model_step_count(a), gnn_model_step_count(b));
    for (int64_t k = 0; k < gnn_model_step_count(a); k++)
        same_step(a, b, k);
    ck_assert_int_eq(gnn_model_field_count(a), gnn_model_field_count(b));
    for (int64_t k = 0; k < gnn_model_field_count(a); k++) {
        const char *name = gnn_model_field_name(a, k);
        ck_assert_str_eq(name, gnn_model_field_name(b, k));
        ck_ok(gnn_model_field(a, name, &s, NULL));
        ck_ok(gnn_model_field(b, name, &t, NULL));
        same_numbers(name, &s, &t);
    }
    ck_assert_int_eq(gnn_model_buffer_count(a), gnn_model_buffer_count(b));
    for (int64_t k = 0; k < gnn_model_buffer_count(a); k++) {
        ck_ok(gnn_model_buffer(a, gnn_model_buffer_name(a, k), &s));
        ck_ok(gnn_model_buffer(b, gnn_model_buffer_name(a, k), &t));
        same_numbers(gnn_model_buffer_name(a, k), &s, &t);
    }
}

/* Changes every weight and buffer, so that equal values cannot come from the same seed. */
static void disturb(gnn_model_t *model)
{
    uint64_t state = 77;
    gnn_tensor_t t;
    for (int64_t k = 0; k < gnn_model_field_count(model) + gnn_model_buffer_count(model); k++) {
        int64_t fields = gnn_model_field_count(model);
        if (k < fields)
            ck_ok(gnn_model_field(model, gnn_model_field_name(model, k), &t, NULL));
        else
            ck_ok(gnn_model_buffer(model, gnn_model_buffer_name(model, k - fields), &t));
        for (int64_t i = 0; i < t.rows * t.cols; i++)
            gnn__row(&t, i / t.cols)[i % t.cols] =
                (gnn_real_t)(test_uniform(&state) / 3 + (k < fields ? 0 : 1));
    }
}

/* Loaded under another seed. */
static void save_and_compare(gnn_model_t *model)
{
    gnn_model_t *loaded = NULL;
    disturb(model);
    ck_ok(gnn_model_save(model, path));
    gnn_context_set_seed(context, 5);
    ck_ok(gnn_model_load(&loaded, context, path));
    same_model(model, loaded);
    gnn_model_free(loaded);
    gnn_model_free(model);
}

START_TEST(saving_preserves_every_bit)
{
    save_and_compare(_i ? steps() : chain());
}
END_TEST

START_TEST(the_note_of_a_model_is_saved)
{
    gnn_model_t *model = chain(), *loaded = NULL;
    ck_assert_ptr_null(gnn_model_note(model));
    ck_ok(gnn_model_set_note(model, "first"));
    ck_ok(gnn_model_set_note(model, "rows of length 1, \"\xc3\xa9\""));
    ck_fails(gnn_model_set_note(model, "\xff"), GNN_EINVALID, "UTF-8");
    ck_fails(gnn_model_set_note(NULL, "x"), GNN_EINVALID, "gnn_model_set_note");
    ck_assert_ptr_null(gnn_model_note(NULL));
    ck_ok(gnn_model_save(model, path));
    ck_ok(gnn_model_load(&loaded, context, path));
    ck_assert_str_eq(gnn_model_note(loaded), "rows of length 1, \"\xc3\xa9\"");
    gnn_model_free(loaded);
    ck_ok(gnn_model_set_note(model, NULL));
    ck_ok(gnn_model_save(model, path));
    ck_ok(gnn_model_load(&loaded, context, path));
    ck_assert_ptr_null(gnn_model_note(loaded));
    gnn_model_free(loaded);
    gnn_model_free(model);
}
END_TEST

START_TEST(every_preset_survives_saving)
{
    gnn_model_t *model = NULL;
    gnn_layer_config_t config = awkward((gnn_preset_t)_i);
    ck_ok(gnn_model_new(&model, context, 1, &config));
    save_and_compare(model);
}
END_TEST

START_TEST(predictions_are_the_same_bits)
{
    gnn_model_t *model = chain(), *loaded = NULL;
    gnn_graph_t *graph = NULL;
    const int64_t lengths[] = {5, 1, 4};
    gnn_real_t *x = test_reals(60, 3), *before = test_reals(60, 4), *after = test_reals(60, 5);
    gnn_tensor_t in = gnn_tensor(x, 10, 6), a = gnn_tensor(before, 10, 6),
                 b = gnn_tensor(after, 10, 6);
    disturb(model);
    ck_ok(gnn_model_save(model, path));
    ck_ok(gnn_model_load(&loaded, context, path));
    ck_ok(gnn_graph_causal(&graph, 3, lengths));
    ck_ok(gnn_model_prepare(loaded, 0, graph, GNN_OFF));
    ck_ok(gnn_model_predict(model, context, graph, &in, NULL, &a));
    ck_ok(gnn_model_predict(loaded, context, graph, &in, NULL, &b));
    ck_assert_mem_eq(before, after, 60 * sizeof *before);
    gnn_graph_free(graph);
    gnn_model_free(loaded);
    gnn_model_free(model);
    free(x);
    free(before);
    free(after);
}
END_TEST

START_TEST(negative_widths_are_refused_before_saving)
{
    gnn_model_t *model = NULL;
    const gnn_step_t list[] = {{.kind = GNN_STEP_ACTIVATION, .activation = GNN_TANH},
                               {.kind = GNN_STEP_LINEAR, .in = -1, .out = 7}};
    ck_fails(gnn_model_from_steps(&model, context, 2, list), GNN_EINVALID,
             "step 1: .in = -1 and .out = 7 must be at least 0");
}
END_TEST

/* ---- files with wrong arrays ---- */

static gnn_model_t *small(void)
{
    gnn_model_t *model = NULL;
    gnn_layer_config_t config = {.preset = GNN_PRESET_GCN, .in = 3, .out = 2};
    ck_ok(gnn_model_new(&model, context, 1, &config));
    return model;
}

/* The small model's file, its arrays passed through `change`. */
static void rewrite(int64_t (*change)(gnn_array_t *, int64_t))
{
    gnn_model_t *model = small();
    gnn_arrays_t *arrays = NULL;
    gnn_array_t list[8];
    ck_ok(gnn_model_save(model, path));
    ck_ok(gnn_safetensors_read(&arrays, path, NULL));
    int64_t count = arrays->count;
    for (int64_t k = 0; k < count; k++)
        list[k] = *gnn_arrays_at(arrays, k);
    const char *const metadata[][2] = {{"gnn.model", gnn_arrays_metadata(arrays, "gnn.model")}};
    ck_ok(gnn_safetensors_write(path, change(list, count), list, 1, metadata));
    gnn_arrays_free(arrays);
    gnn_model_free(model);
}

static gnn_array_t *weight(gnn_array_t *list, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (strcmp(list[k].name, "0.value.weight") == 0)
            return &list[k];
    ck_abort_msg("no weight");
}

static int64_t nothing(gnn_array_t *list, int64_t count)
{
    (void)list;
    return count;
}
static int64_t without_one(gnn_array_t *list, int64_t count)
{
    *weight(list, count) = list[count - 1];
    return count - 1;
}
static int64_t with_extra(gnn_array_t *list, int64_t count)
{
    list[count] = *weight(list, count);
    list[count].name = "0.another";
    return count + 1;
}
static int64_t renamed(gnn_array_t *list, int64_t count)
{
    weight(list, count)->name = "0.value.wait";
    return count;
}
static int64_t transposed(gnn_array_t *list, int64_t count)
{
    gnn_array_t *w = weight(list, count);
    w->shape[0] = 2;
    w->shape[1] = 3;
    return count;
}
static int64_t flat(gnn_array_t *list, int64_t count)
{
    gnn_array_t *w = weight(list, count);
    w->ndim = 1;
    w->shape[0] = 6;
    return count;
}
static int64_t larger(gnn_array_t *list, int64_t count)
{
    static const double numbers[12];
    gnn_array_t *w = weight(list, count);
    w->dtype = GNN_DTYPE_FLOAT64;
    w->shape[0] = 6;
    w->count = 12;
    w->data = numbers;
    return count;
}
static int64_t whole(gnn_array_t *list, int64_t count)
{
    static const int32_t numbers[6];
    weight(list, count)->dtype = GNN_DTYPE_INT32;
    weight(list, count)->data = numbers;
    return count;
}
static int64_t with_doubles(gnn_array_t *list, int64_t count, const double *numbers)
{
    weight(list, count)->dtype = GNN_DTYPE_FLOAT64;
    weight(list, count)->data = numbers;
    return count;
}
static const double doubles[6] = {1, 2, 3, 4, 5, 6};
static int64_t other_precision(gnn_array_t *list, int64_t count)
{
    return with_doubles(list, count, doubles);
}
static int64_t with_nan(gnn_array_t *list, int64_t count)
{
    static const double numbers[6] = {1, 2, 3, NAN, 5, 6};
    return with_doubles(list, count, numbers);
}
static int64_t with_infinity(gnn_array_t *list, int64_t count)
{
    static const double numbers[6] = {1, 2, 3, 4, 5, -INFINITY};
    return with_doubles(list, count, numbers);
}

static const struct {
    int64_t (*change)(gnn_array_t *, int64_t);
    int code;
    const char *words;
} wrong_arrays[] = {
    {without_one, GNN_ESHAPE, "8 parameters, the file holds 2 values"},
    {renamed, GNN_ENOTFOUND, "no array 0.value.weight"},
    {with_extra, GNN_EFORMAT, "array 0.another belongs to no field"},
    {transposed, GNN_ESHAPE, "0.value.weight is 2 x 3, the model expects 3 x 2"},
    {flat, GNN_ESHAPE, "0.value.weight is 6, the model expects 3 x 2"},
    {larger, GNN_ESHAPE, "0.value.weight is 6 x 2, the model expects 3 x 2"},
    {whole, GNN_EFORMAT, "0.value.weight holds int32"},
    {with_nan, GNN_ENUMERIC, "0.value.weight: row 1, column 1 is nan"},
    {with_infinity, GNN_ENUMERIC, "0.value.weight: row 2, column 1 is -inf"},
};

START_TEST(wrong_arrays_are_refused)
{
    gnn_model_t *loaded = NULL;
    rewrite(wrong_arrays[_i].change);
    ck_fails(gnn_model_load(&loaded, context, path), wrong_arrays[_i].code, wrong_arrays[_i].words);
    ck_assert_ptr_null(loaded);
    ck_assert_ptr_nonnull(strstr(gnn_error_message(), "gnn-weights-"));
}
END_TEST

START_TEST(either_precision_is_read)
{
    gnn_model_t *loaded = NULL;
    gnn_tensor_t t;
    rewrite(nothing);
    ck_ok(gnn_model_load(&loaded, context, path));
    gnn_model_free(loaded);
    rewrite(other_precision);
    ck_ok(gnn_model_load(&loaded, context, path));
    ck_ok(gnn_model_field(loaded, "0.value.weight", &t, NULL));
    for (int64_t k = 0; k < 6; k++)
        ck_assert_double_eq((double)gnn__row(&t, k / 2)[k % 2], doubles[k]);
    gnn_model_free(loaded);
}
END_TEST

/* ---- what is not saved ---- */

START_TEST(unloadable_models_are_not_saved)
{
    gnn_model_t *model = NULL;
    gnn_tensor_t t;
    gnn_aggregator_t own = *gnn_aggregator_find("sum");
    gnn_layer_config_t config = {.in = 3, .out = 2, .aggregator = &own};
    ck_ok(gnn_model_new(&model, context, 1, &config));
    ck_fails(gnn_model_save(model, path), GNN_EUNSUPPORTED,
             "step 0: aggregator sum is not the library's of that name");
    gnn_model_free(model);
    model = small();
    ck_ok(gnn_model_field(model, "0.value.weight", &t, NULL));
    t.data[1] = (gnn_real_t)NAN;
    ck_fails(gnn_model_save(model, path), GNN_ENUMERIC, "0.value.weight");
    t.data[1] = 0;
    ck_fails(gnn_model_save(model, "/tmp/no/such/folder/x.safetensors"), GNN_EIO, "x.safetensors");
    ck_assert_int_ne(access(path, F_OK), 0);
    gnn_model_free(model);
}
END_TEST

/* ---- failing allocations ---- */

START_TEST(failed_allocations_leave_nothing)
{
    gnn_model_t *model = steps(), *loaded = NULL;
    int rc = GNN_EMEMORY;
    for (int64_t n = 1; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = gnn_model_save(model, path);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "saving, allocation %lld: %d, %s",
                      (long long)n, rc, gnn_error_message());
    }
    rc = GNN_EMEMORY;
    for (int64_t n = 1; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = gnn_model_load(&loaded, context, path);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || (rc == GNN_EMEMORY && !loaded),
                      "loading, allocation %lld: %d, %s", (long long)n, rc, gnn_error_message());
    }
    same_model(model, loaded);
    gnn_model_free(loaded);
    gnn_model_free(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights");
    TCase *tc = tcase_create("weights");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, saving_preserves_every_bit, 0, 2);
    tcase_add_test(tc, the_note_of_a_model_is_saved);
    tcase_add_loop_test(tc, every_preset_survives_saving, GNN_PRESET_NONE, GNN_PRESET_COUNT);
    tcase_add_test(tc, predictions_are_the_same_bits);
    tcase_add_test(tc, negative_widths_are_refused_before_saving);
    tcase_add_loop_test(tc, wrong_arrays_are_refused, 0,
                        sizeof wrong_arrays / sizeof wrong_arrays[0]);
    tcase_add_test(tc, either_precision_is_read);
    tcase_add_test(tc, unloadable_models_are_not_saved);
    tcase_add_test(tc, failed_allocations_leave_nothing);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
