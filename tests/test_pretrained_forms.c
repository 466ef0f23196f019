/* One small BERT in other forms: types of weights, names, relatives; and batches that do not fit
 * it. */
#include "bert_small.h"

/* ---- types of weights and names ---- */

/* Numbers of 16 bits: the upper half of a float32, or a float16, of small multiples of 1/16. */
static unsigned short as_bfloat16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (unsigned short)(bits >> 16);
}

static unsigned short as_float16(float x)
{
    int exponent;
    const float mantissa = frexpf(fabsf(x), &exponent); /* 0.5 .. 1 */
    if (x == 0)
        return 0;
    return (unsigned short)((x < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                            ((int)(mantissa * 2048) & 1023));
}

static void write_halves(gnn_dtype_t dtype)
{
    for (int64_t k = 0; k < bert.n; k++) {
        for (int64_t i = 0; i < bert.arrays[k].count; i++)
            bert.halves[k][i] = dtype == GNN_DTYPE_FLOAT16 ? as_float16(bert.numbers[k][i])
                                                           : as_bfloat16(bert.numbers[k][i]);
        bert.arrays[k].dtype = dtype;
        bert.arrays[k].data = bert.halves[k];
    }
    write_weights();
}

START_TEST(weights_of_16_bits_are_the_same_numbers)
{
    gnn_real_t whole[ROWS * WIDTH];
    write_all();
    ck_ok(run(whole));
    write_halves(GNN_DTYPE_FLOAT16);
    ck_same(whole);
    write_halves(GNN_DTYPE_BFLOAT16);
    ck_same(whole);
}
END_TEST

/* Names with "bert." in front, and norms as TensorFlow's files call them. */
START_TEST(names_with_prefix_and_old_norms)
{
    gnn_real_t whole[ROWS * WIDTH];
    write_all();
    ck_ok(run(whole));
    for (int64_t k = 0; k < bert.n; k++) {
        char name[96], *norm;
        snprintf(name, sizeof name, "bert.%.80s", bert.names[k]);
        if ((norm = strstr(name, "LayerNorm.weight")))
            strcpy(norm, "LayerNorm.gamma");
        if ((norm = strstr(name, "LayerNorm.bias")))
            strcpy(norm, "LayerNorm.beta");
        strcpy(bert.names[k], name);
    }
    write_weights();
    ck_same(whole);
}
END_TEST

/* ---- relatives that are BERT where their sizes say so ---- */

static void ck_near(const gnn_real_t *expected)
{
    gnn_real_t out[ROWS * WIDTH];
    ck_ok(run(out));
    ck_assert_double_le(test_error(out, expected, ROWS * WIDTH), 1e-6);
}

START_TEST(electra_is_bert_where_words_are_as_wide_as_layers)
{
    gnn_real_t whole[ROWS * WIDTH];
    write_all();
    ck_ok(run(whole));
    write_text("config.json", CONFIG_BUT("\"electra\", \"embedding_size\": 8", "8", "2", "2"));
    ck_same(whole);
    write_text("config.json", CONFIG_BUT("\"electra\", \"embedding_size\": 4", "8", "2", "2"));
    gnn_real_t out[ROWS * WIDTH];
    ck_fails(run(out), GNN_ESHAPE, "11 x 4");
}
END_TEST

/* The same numbers in all layers. */
static void make_layers_equal(void)
{
    for (int64_t k = 0; k < bert.n; k++) {
        char name[96];
        strcpy(name, bert.names[k]);
        if (strncmp(name, "encoder.layer.1.", 16) != 0)
            continue;
        name[14] = '0';
        memcpy(bert.numbers[k], bert.numbers[find(name)], sizeof bert.numbers[k]);
    }
}

static void rename_to_albert(void)
{
    static const char *const names[][2] = {{"attention.self.", "attention."},
                                           {"attention.output.dense", "attention.dense"},
                                           {"attention.output.LayerNorm", "attention.LayerNorm"},
                                           {"intermediate.dense", "ffn"},
                                           {"output.dense", "ffn_output"},
                                           {"output.LayerNorm", "full_layer_layer_norm"}};
    for (int64_t k = 0; k < bert.n; k++)
        for (int n = 0; n < 6; n++) {
            char name[96];
            const size_t length = strlen(names[n][0]);
            strcpy(name, bert.names[k]);
            if (strncmp(name, "encoder.layer.0.", 16) != 0 ||
                strncmp(name + 16, names[n][0], length) != 0)
                continue;
            snprintf(bert.names[k], sizeof bert.names[k],
                     "albert.encoder.albert_layer_groups.0.albert_layers.0.%s%s", names[n][1],
                     name + 16 + length);
        }
}

START_TEST(albert_is_bert_where_all_layers_are_equal)
{
    gnn_real_t whole[ROWS * WIDTH];
    write_all();
    make_layers_equal();
    write_weights();
    ck_ok(run(whole));
    rename_to_albert();
    int64_t n = 0;
    for (int64_t k = 0; k < bert.n; k++)
        if (strncmp(bert.names[k], "encoder.layer.1.", 16) != 0)
            bert.arrays[n++] = bert.arrays[k];
    bert.n = n;
    /* words as wide as layers go through a product by 1; slots of dropped arrays are free */
    static const char *const mapping[] = {"encoder.embedding_hidden_mapping_in.weight",
                                          "encoder.embedding_hidden_mapping_in.bias"};
    static float one[WIDTH * WIDTH], zero[WIDTH];
    for (int k = 0; k < WIDTH; k++)
        one[k * WIDTH + k] = 1;
    bert.arrays[bert.n++] =
        (gnn_array_t){mapping[0], GNN_DTYPE_FLOAT32, 2, {WIDTH, WIDTH}, WIDTH * WIDTH, one};
    bert.arrays[bert.n++] = (gnn_array_t){mapping[1], GNN_DTYPE_FLOAT32, 1, {WIDTH}, WIDTH, zero};
    write_weights();
    write_text("config.json", CONFIG_BUT("\"albert\", \"embedding_size\": 8", "8", "2", "2"));
    ck_near(whole);
    write_text("config.json", CONFIG_BUT("\"albert\", \"embedding_size\": 8, \"num_hidden_groups\": 2",
                                         "8", "2", "2"));
    gnn_real_t out[ROWS * WIDTH];
    ck_fails(run(out), GNN_EFORMAT, "several groups");
}
END_TEST

/* ---- batches ---- */

START_TEST(bad_batches)
{
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_batch_t *batch;
    gnn_real_t numbers[WIDTH * ROWS];
    const gnn_tensor_t t = gnn_tensor(numbers, 1, WIDTH);
    const int64_t one = 1, negative = -1, long_one = PLACES + 1;
    const int32_t far = WORDS;
    write_all();
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_pretrained_open(&p, context, test_folder));
    ck_assert_str_eq(gnn_pretrained_architecture(p), "bert");
    ck_assert_int_eq(gnn_pretrained_max_length(p), PLACES);
    ck_assert_int_eq(gnn_pretrained_label_count(p), 2);
    ck_assert_str_eq(gnn_pretrained_label(p, 1), "good");
    ck_assert_ptr_null(gnn_pretrained_label(p, 2));
    ck_assert_int_eq(gnn_pretrained_embedding_width(p), -1);
#define CK_BATCH(code, words, ...) \
    ck_fails(gnn_batch_new(&batch, p, &(gnn_sequences_t){__VA_ARGS__}), code, words)
    CK_BATCH(GNN_EINVALID, "no lengths", .count = 1);
    CK_BATCH(GNN_EINVALID, "-1 tokens", .count = 1, .lengths = &negative, .ids = ids);
    CK_BATCH(GNN_ESHAPE, "has 10 tokens, the model takes 9", .count = 1, .lengths = &long_one,
             .ids = ids);
    CK_BATCH(GNN_EINVALID, "ids", .count = 1, .lengths = &one);
    CK_BATCH(GNN_EINVALID, "pixels", .count = 1, .pixels = &t);
    CK_BATCH(GNN_ESHAPE, "id 11", .count = 1, .lengths = &one, .ids = &far);
    ck_assert_ptr_null(batch);
    ck_fails(gnn_batch_new(&batch, NULL, NULL), GNN_EINVALID, "pretrained");
    ck_fails(gnn_batch_new(NULL, p, NULL), GNN_EINVALID, "place");
    gnn_pretrained_free(p);
    ck_fails(gnn_pretrained_open(NULL, context, test_folder), GNN_EINVALID, "place");
    ck_fails(gnn_pretrained_open(&p, context, NULL), GNN_EINVALID, "folder");
    ck_fails(gnn_pretrained_open(&p, NULL, test_folder), GNN_EINVALID, "context");
    ck_fails(gnn_pretrained_open(&p, context, "/nowhere"), GNN_EIO, "/nowhere");
    ck_assert_ptr_null(p);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pretrained_forms");
    TCase *c = tcase_create("pretrained_forms");
    tcase_add_unchecked_fixture(c, make_folder, NULL);
    tcase_add_test(c, weights_of_16_bits_are_the_same_numbers);
    tcase_add_test(c, names_with_prefix_and_old_norms);
    tcase_add_test(c, electra_is_bert_where_words_are_as_wide_as_layers);
    tcase_add_test(c, albert_is_bert_where_all_layers_are_equal);
    tcase_add_test(c, bad_batches);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
