/* Weights files are untrusted input: faults of config and bytes are refused with a message before
 * large allocations. */
#include "support.h"

#include <unistd.h>

static gnn_context_t *context;
static char path[64];

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, NULL));
    snprintf(path, sizeof path, "/tmp/gnn-config-%d.safetensors", (int)getpid());
}

static void tear_down(void)
{
    remove(path);
    gnn_context_free(context);
}

/* A file with two small arrays and this text as its steps. */
static void write_steps(const char *text)
{
    static const float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const gnn_array_t arrays[] = {
        {.name = "0.value.weight",
         .dtype = GNN_DTYPE_FLOAT32,
         .ndim = 2,
         .shape = {3, 2},
         .count = 6,
         .data = numbers},
        {.name = "0.out.bias",
         .dtype = GNN_DTYPE_FLOAT32,
         .ndim = 2,
         .shape = {1, 2},
         .count = 2,
         .data = numbers},
    };
    const char *const metadata[][2] = {{"gnn.model", text}};
    ck_ok(gnn_safetensors_write(path, 2, arrays, text ? 1 : 0, metadata));
}

static int load(const char *text)
{
    gnn_model_t *model = NULL;
    write_steps(text);
    int rc = gnn_model_load(&model, context, path);
    ck_assert_int_eq(rc == GNN_OK, model != NULL);
    gnn_model_free(model);
    return rc;
}

#define STEPS(steps) "{\"format\": 1, \"steps\": [" steps "]}"
#define LAYER(fields) STEPS("{\"kind\": \"layer\", \"layer\": {" fields "}}")
#define GCN "\"preset\": \"gcn\", \"in\": 3, \"out\": 2"

START_TEST(a_minimal_config_is_enough)
{
    ck_ok(load(LAYER(GCN)));
    ck_ok(load(LAYER(
        GCN
        ", \"slope\": 0, \"dropout_in\": 5e-1, \"options\": [0, 0, 0, 0], \"message\": \"linear\"")));
}
END_TEST

/* Programs may not set such fields any more; files that have them were written when they could, and
 * are written again as they were. */
START_TEST(unread_fields_in_files_are_accepted)
{
    gnn_model_t *model = NULL;
    write_steps(STEPS("{\"kind\": \"layer\", \"eps\": 1, \"layer\": {" GCN "}}, "
                      "{\"kind\": \"dropout\", \"rate\": 0.5, \"in\": 7, \"graph\": 3}"));
    for (int k = 0; k < 2; k++) {
        ck_ok(gnn_model_load(&model, context, path));
        ck_assert(gnn_model_step(model, 0)->eps == 1);
        ck_assert_int_eq(gnn_model_step(model, 1)->in, 7);
        ck_assert_int_eq(gnn_model_step(model, 1)->graph, 3);
        ck_ok(gnn_model_save(model, path));
        gnn_model_free(model);
    }
}
END_TEST

static const struct {
    const char *text, *words;
    int code;
} wrong[] = {
    {NULL, "no metadata \"gnn.model\"", GNN_EFORMAT},
    {"", "(byte 0)", GNN_EFORMAT},
    {"{\"format\": 1, \"steps\": [", "byte", GNN_EFORMAT},
    {"[]", "an array \"steps\" is expected", GNN_EFORMAT},
    {"{\"format\": 2, \"steps\": []}", "format 1 is expected", GNN_EFORMAT},
    {"{\"format\": 1.0, \"steps\": []}", "format 1 is expected", GNN_EFORMAT},
    {"{\"format\": 1, \"steps\": {}}", "an array \"steps\" is expected", GNN_EFORMAT},
    {"{\"format\": 1, \"steps\": [], \"more\": 0}", "is expected", GNN_EFORMAT},
    {"{\"format\": 1, \"format\": 1, \"steps\": []}", "duplicate", GNN_EFORMAT},
    {STEPS(""), "a model has 0 steps", GNN_EINVALID},
    {STEPS("7"), "step 0: an object is expected, got an integer", GNN_EFORMAT},
    {STEPS("{\"kind\": \"layer\"}"), "a step of kind layer lacks a field layer", GNN_EFORMAT},
    {STEPS("{\"kind\": \"add\", \"layer\": {}}"), "a step of kind add has a field layer", GNN_EFORMAT},
    {STEPS("{\"kind\": \"convolution\"}"),
     "step 0: field kind: no kind of step is called \"convolution\"; there are: layer, linear",
     GNN_EFORMAT},
    {STEPS("{\"kind\": 0}"), "field kind: a string is expected, got an integer", GNN_EFORMAT},
    {STEPS("{\"kind\": \"norm\", \"norm\": \"layer\", \"in\": 3, \"wide\": 4}"),
     "unknown field \"wide\"", GNN_EFORMAT},
    {STEPS("{\"kind\": \"add\", \"name\": [\"x\"]}"),
     "field name: a string is expected, got an array", GNN_EFORMAT},
    {STEPS("{\"kind\": \"add\", \"name\": \"a\\u0000b\"}"), "byte", GNN_EFORMAT},
    {STEPS("{\"kind\": \"add\", \"name\": \"\\ud800\"}"), "byte", GNN_EFORMAT},
    {STEPS("{\"kind\": \"add\", \"graph\": 2147483648}"),
     "field graph: 2147483648 lies outside 0..2147483647", GNN_EFORMAT},
    {STEPS("{\"kind\": \"dropout\", \"rate\": \"half\"}"),
     "field rate: a number is expected, got a string", GNN_EFORMAT},
    {STEPS("{\"kind\": \"dropout\", \"rate\": 1.5}"), ".rate = 1.5 lies outside [0, 1)", GNN_EINVALID},
    {LAYER("\"in\": true"), "field layer: field in: an integer is expected, got true", GNN_EFORMAT},
    {LAYER("\"in\": null"), "field in: an integer is expected, got null", GNN_EFORMAT},
    {LAYER("\"in\": {}"), "field in: an integer is expected, got an object", GNN_EFORMAT},
    {LAYER("\"in\": 3.0"), "field in: an integer is expected, got a number", GNN_EFORMAT},
    {LAYER("\"in\": -3"), "field in: -3 lies outside", GNN_EFORMAT},
    {LAYER("\"in\": 99999999999999999999"), "byte", GNN_EFORMAT},
    {LAYER("\"in\": 9223372036854775807"), ".in = 9223372036854775807 lies outside", GNN_EINVALID},
    {LAYER("\"slope\": 1e999"), "byte", GNN_EFORMAT},
    {LAYER("\"slope\": NaN"), "byte", GNN_EFORMAT},
    {LAYER("\"heads\": 0, \"in\": 0, \"out\": 2"), ".in = 0 lies outside", GNN_EINVALID},
    {LAYER("\"options\": [1, 2, 3]"), "an array of 4 values is expected", GNN_EFORMAT},
    {LAYER("\"options\": [1, 2, 3, \"4\"]"), "field options: a number is expected, got a string",
     GNN_EFORMAT},
    {LAYER("\"aggregator\": \"average\""),
     "no aggregator is called \"average\"; there are: sum, mean", GNN_EFORMAT},
    {LAYER("\"message\": \"shout\""), "no message is called \"shout\"; there are: none, linear",
     GNN_EFORMAT},
    {LAYER("\"update\": \"nand\""),
     "field update: no update is called \"nand\"; there are: none, linear", GNN_EFORMAT},
    {LAYER(GCN ", \"heads\": 3"), "config field .heads = 3 needs an attention aggregator",
     GNN_EINVALID},
    {LAYER(GCN ", \"in\": 3"), "duplicate", GNN_EFORMAT},
    {LAYER("\"preset\": \"gcn\", \"in\": 3, \"out\": 3"), "12 parameters, the file holds 8 values",
     GNN_ESHAPE},
    {LAYER("\"preset\": \"gcn\", \"in\": 2, \"out\": 2"),
     "0.value.weight is 3 x 2, the model expects 2 x 2", GNN_ESHAPE},
    /* Terabytes and worse. */
    {LAYER("\"preset\": \"gcn\", \"in\": 2000000000, \"out\": 2000000000"),
     "the file holds 8 values", GNN_ESHAPE},
    {LAYER("\"preset\": \"transformer\", \"in\": 2147483647, \"heads\": 1, \"feed_forward\": 2147483647"),
     "overflows", GNN_EOVERFLOW},
    {LAYER("\"preset\": \"gcn\", \"in\": 3, \"out\": 2000000000, \"norm\": \"batch\""),
     "the file holds 8 values", GNN_ESHAPE},
    {STEPS("{\"kind\": \"norm\", \"norm\": \"batch\", \"in\": 2000000000}"),
     "the file holds 8 values", GNN_ESHAPE},
    {STEPS("{\"kind\": \"norm\", \"norm\": \"batch\", \"in\": 2000000000000}"),
     "the file holds 8 values", GNN_ESHAPE},
    {STEPS("{\"kind\": \"linear\", \"in\": 3037000500, \"out\": 3037000500}"), "overflows",
     GNN_EOVERFLOW},
    {STEPS("{\"kind\": \"linear\", \"in\": 2000000000, \"out\": 2000000000}"),
     "the file holds 8 values", GNN_ESHAPE},
};

START_TEST(wrong_configs_are_refused)
{
    ck_fails(load(wrong[_i].text), wrong[_i].code, wrong[_i].words);
    ck_assert_ptr_nonnull(strstr(gnn_error_message(), "gnn-config-"));
}
END_TEST

static char *nested(const char *open, const char *middle, const char *close, int depth)
{
    size_t a = strlen(open), b = strlen(close);
    char *text = malloc((a + b) * (size_t)depth + strlen(middle) + 1), *at = text;
    ck_assert_ptr_nonnull(text);
    for (int k = 0; k < depth; k++, at += a)
        memcpy(at, open, a);
    at = stpcpy(at, middle);
    for (int k = 0; k < depth; k++, at += b)
        memcpy(at, close, b);
    *at = '\0';
    return text;
}

START_TEST(deep_nesting_is_refused)
{
    char *lists = nested("[", "", "]", 200000), *objects = nested("{\"a\":", "1", "}", 200000),
         *inner = nested("[", "1", "]", 1000);
    char *text = malloc(strlen(inner) + 200);
    ck_assert_ptr_nonnull(text);
    ck_fails(load(lists), GNN_EFORMAT, "byte");
    ck_fails(load(objects), GNN_EFORMAT, "byte");
    sprintf(text, LAYER(GCN ", \"slope\": %s"), inner);
    ck_fails(load(text), GNN_EFORMAT, "more than 16 levels deep");
    free(lists);
    free(objects);
    free(inner);
    free(text);
}
END_TEST

/* Ten thousand steps and one are too many, and quickly so. */
START_TEST(too_many_steps_are_refused)
{
    char *list = nested("{\"kind\": \"dropout\"},", "{\"kind\": \"dropout\"}", "", 10000);
    char *text = malloc(strlen(list) + 64);
    ck_assert_ptr_nonnull(text);
    sprintf(text, "{\"format\": 1, \"steps\": [%s]}", list);
    ck_fails(load(text), GNN_EFORMAT, "10001 steps, at most 10000");
    free(list);
    free(text);
}
END_TEST

/* ---- whole files ---- */

static long read_bytes(unsigned char **bytes)
{
    FILE *file = fopen(path, "rb");
    *bytes = malloc(1 << 16);
    long length = (long)fread(*bytes, 1, 1 << 16, file);
    fclose(file);
    return length;
}

static void write_bytes(const unsigned char *bytes, long length)
{
    FILE *file = fopen(path, "wb");
    ck_assert_int_eq((long)fwrite(bytes, 1, (size_t)length, file), length);
    fclose(file);
}

static gnn_model_t *small(void)
{
    gnn_model_t *model = NULL;
    gnn_layer_config_t config = {.preset = GNN_PRESET_GCN, .in = 3, .out = 2};
    ck_ok(gnn_model_new(&model, context, 1, &config));
    return model;
}

START_TEST(truncated_files_are_refused)
{
    gnn_model_t *model = small(), *loaded = NULL;
    unsigned char *bytes;
    ck_ok(gnn_model_save(model, path));
    long length = read_bytes(&bytes);
    for (long n = 0; n < length; n++) {
        write_bytes(bytes, n);
        ck_assert_int_ne(gnn_model_load(&loaded, context, path), GNN_OK);
        ck_assert_ptr_null(loaded);
    }
    free(bytes);
    gnn_model_free(model);
}
END_TEST

/* With one wrong byte in the header, loading gives a model or an error with a message. */
START_TEST(damaged_headers_load_or_fail_cleanly)
{
    static const unsigned char damage[] = {'"', '9', '{', 0, 0xff, 'e', '-'};
    gnn_model_t *model = small(), *loaded = NULL;
    unsigned char *bytes;
    ck_ok(gnn_model_save(model, path));
    long length = read_bytes(&bytes), header = 8 + (long)bytes[0] + 256 * (long)bytes[1];
    for (long n = 8; n < header && n < length; n++) {
        unsigned char kept = bytes[n];
        bytes[n] = damage[n % (long)sizeof damage];
        write_bytes(bytes, length);
        if (gnn_model_load(&loaded, context, path) != GNN_OK) {
            ck_assert_ptr_null(loaded);
            ck_assert_int_gt((int)strlen(gnn_error_message()), 8);
        }
        gnn_model_free(loaded);
        loaded = NULL;
        bytes[n] = kept;
    }
    free(bytes);
    gnn_model_free(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights_config");
    TCase *tc = tcase_create("weights_config");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_minimal_config_is_enough);
    tcase_add_test(tc, unread_fields_in_files_are_accepted);
    tcase_add_loop_test(tc, wrong_configs_are_refused, 0, sizeof wrong / sizeof wrong[0]);
    tcase_add_test(tc, deep_nesting_is_refused);
    tcase_add_test(tc, too_many_steps_are_refused);
    tcase_add_test(tc, truncated_files_are_refused);
    tcase_add_test(tc, damaged_headers_load_or_fail_cleanly);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
