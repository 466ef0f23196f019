/* One small BERT in other forms: types of weights, names, relatives; and batches that do not fit
 * it. */
#include "bert_small.h"

/* ---- types of weights and names ---- */

/* 16-bit values: bf16, or fp16, of small multiples of 1/16. */
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

START_TEST(fp16_and_bf16_weights_convert_exactly)
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

/* A space at the end of the header moves all arrays to odd addresses: they cannot be mapped. */
START_TEST(unaligned_arrays)
{
    static bytes_t b;
    gnn_real_t whole[ROWS * WIDTH];
    write_all();
    ck_ok(run(whole));
    read_bytes(in_folder("model.safetensors"), &b);
    const size_t header = 8 + (size_t)b.at[0] + ((size_t)b.at[1] << 8);
    memmove(b.at + header + 1, b.at + header, b.n - header);
    b.at[header] = ' ';
    b.n++;
    b.at[1] = (unsigned char)((header - 7) >> 8);
    b.at[0] = (unsigned char)(header - 7);
    write_bytes("model.safetensors", b.at, b.n);
    ck_same(whole);
}
END_TEST

/* ---- heads ---- */

/* y = x W' + b by the arrays NAME.weight and NAME.bias. */
static void dense(const char *name, int64_t rows, int64_t in, int64_t out, const double *x, double *y)
{
    char full[128];
    snprintf(full, sizeof full, "%s.weight", name);
    const float *w = bert.numbers[find(full)];
    snprintf(full, sizeof full, "%s.bias", name);
    const float *b = bert.numbers[find(full)];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < out; o++) {
            y[r * out + o] = (double)b[o];
            for (int64_t k = 0; k < in; k++)
                y[r * out + o] += x[r * in + k] * (double)w[o * in + k];
        }
}

static void ck_close(const gnn_real_t *got, const double *expected, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        ck_assert_msg(fabs((double)got[k] - expected[k]) < 1e-5, "number %d is %g, not %g", (int)k,
                      (double)got[k], expected[k]);
}

/* BERT's heads, and RoBERTa's, which have the same formulas. */
typedef struct heads {
    const char *type, *pooler, *classifier, *prefix, *norm, *bias;
} heads_t;
static const heads_t heads[] = {{"\"bert\"", "pooler.dense", "classifier",
                                 "cls.predictions.transform.", "LayerNorm", "cls.predictions.bias"},
                                {"\"roberta\", \"pad_token_id\": 0", "classifier.dense",
                                 "classifier.out_proj", "lm_head.", "layer_norm", "lm_head.bias"}};

static const heads_t *write_heads(int k)
{
    char config[1024];
    write_all();
    snprintf(config, sizeof config, "{\"model_type\": %s%s", heads[k].type,
             strchr(CONFIG_BUT("", "8", "2", "2"), ','));
    write_text("config.json", config);
    return &heads[k];
}

/* The pooler takes the first row of each sentence; the one that is empty has a row of zeros. */
START_TEST(classes_of_a_sentence)
{
    enum { CLASSES = 2 };
    gnn_real_t hidden[ROWS * WIDTH], logits[4 * CLASSES], pooled[4 * WIDTH];
    double x[4 * WIDTH] = {0}, y[4 * WIDTH], z[4 * CLASSES];
    static const int first[] = {0, 4, -1, 5};
    const heads_t *h = write_heads(_i);
    add_both("", h->pooler, WIDTH, WIDTH);
    add_both("", h->classifier, CLASSES, WIDTH);
    write_weights();
    ck_ok(value_of("hidden", ROWS, WIDTH, hidden));
    for (int s = 0; s < 4; s++)
        for (int k = 0; first[s] >= 0 && k < WIDTH; k++)
            x[s * WIDTH + k] = (double)hidden[first[s] * WIDTH + k];
    dense(h->pooler, 4, WIDTH, WIDTH, x, y);
    for (int k = 0; k < 4 * WIDTH; k++)
        y[k] = tanh(y[k]);
    dense(h->classifier, 4, WIDTH, CLASSES, y, z);
    ck_ok(value_of(_i ? "classifier.activation" : "pooled", 4, WIDTH, pooled));
    ck_close(pooled, y, 4 * WIDTH);
    ck_ok(value_of("logits", 4, CLASSES, logits));
    ck_close(logits, z, 4 * CLASSES);
}
END_TEST

static void norm_rows(int64_t rows, const char *name, double *x)
{
    char full[128];
    snprintf(full, sizeof full, "%s.weight", name);
    const float *gain = bert.numbers[find(full)];
    snprintf(full, sizeof full, "%s.bias", name);
    const float *shift = bert.numbers[find(full)];
    for (double *row = x; row < x + rows * WIDTH; row += WIDTH) {
        double mean = 0, square = 0;
        for (int k = 0; k < WIDTH; k++)
            mean += row[k] / WIDTH;
        for (int k = 0; k < WIDTH; k++)
            square += (row[k] - mean) * (row[k] - mean) / WIDTH;
        for (int k = 0; k < WIDTH; k++)
            row[k] = (row[k] - mean) / sqrt(square + 1e-12) * (double)gain[k] + (double)shift[k];
    }
}

START_TEST(masked_words)
{
    gnn_real_t hidden[ROWS * WIDTH], logits[ROWS * WORDS];
    double x[ROWS * WIDTH], y[ROWS * WIDTH], z[ROWS * WORDS];
    char name[96];
    const heads_t *h = write_heads(_i);
    add_both(h->prefix, "dense", WIDTH, WIDTH);
    add_both(h->prefix, h->norm, WIDTH, 0);
    add(h->bias, WORDS, 0);
    write_weights();
    ck_ok(value_of("hidden", ROWS, WIDTH, hidden));
    for (int k = 0; k < ROWS * WIDTH; k++)
        x[k] = (double)hidden[k];
    snprintf(name, sizeof name, "%sdense", h->prefix);
    dense(name, ROWS, WIDTH, WIDTH, x, y);
    for (int k = 0; k < ROWS * WIDTH; k++)
        y[k] *= 0.5 * (1 + erf(y[k] / sqrt(2)));
    snprintf(name, sizeof name, "%s%s", h->prefix, h->norm);
    norm_rows(ROWS, name, y);
    const float *table = bert.numbers[find("embeddings.word_embeddings.weight")],
                *bias = bert.numbers[find(h->bias)];
    for (int r = 0; r < ROWS; r++)
        for (int w = 0; w < WORDS; w++) {
            z[r * WORDS + w] = (double)bias[w];
            for (int k = 0; k < WIDTH; k++)
                z[r * WORDS + w] += y[r * WIDTH + k] * (double)table[w * WIDTH + k];
        }
    ck_ok(value_of("logits", ROWS, WORDS, logits));
    ck_close(logits, z, ROWS * WORDS);
}
END_TEST

/* ---- architectures that equal BERT for some sizes ---- */

static void ck_near(const gnn_real_t *expected)
{
    gnn_real_t out[ROWS * WIDTH];
    ck_ok(run(out));
    ck_assert_double_le(test_error(out, expected, ROWS * WIDTH), 1e-6);
}

START_TEST(electra_with_equal_widths_equals_bert)
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

/* The same weights in all layers. */
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

START_TEST(albert_equals_bert_with_shared_layers)
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
    ck_fails(run(out), GNN_EUNSUPPORTED, "\"num_hidden_groups\" is 2, 1 is expected");
}
END_TEST

/* ---- batches ---- */

START_TEST(bad_batches)
{
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_pretrained_batch_t *batch;
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
    ck_fails(gnn_pretrained_batch_new(&batch, p, &(gnn_sequences_t){__VA_ARGS__}), code, words)
    CK_BATCH(GNN_EINVALID, ".lengths of 1 sequences is NULL", .count = 1);
    CK_BATCH(GNN_EINVALID, "-1 tokens", .count = 1, .lengths = &negative, .ids = ids);
    CK_BATCH(GNN_ESHAPE, "has 10 tokens, the model takes 9", .count = 1, .lengths = &long_one,
             .ids = ids);
    CK_BATCH(GNN_EINVALID, "ids", .count = 1, .lengths = &one);
    CK_BATCH(GNN_EINVALID, "pixels", .count = 1, .pixels = &t);
    CK_BATCH(GNN_EINVALID, "height and width are 0 x 2 without pixels", .count = 1, .lengths = &one,
             .ids = ids, .width = 2);
    CK_BATCH(GNN_ESHAPE, "id 11", .count = 1, .lengths = &one, .ids = &far);
    ck_assert_ptr_null(batch);
    ck_fails(gnn_pretrained_batch_new_with(
                 &batch, p, &(gnn_sequences_t){.count = 1, .lengths = &one, .ids = ids},
                 &(gnn_pretrained_batch_config_t){.backward = (gnn_flag_t)7}),
             GNN_EINVALID, ".backward");
    ck_fails(gnn_pretrained_batch_new(&batch, NULL, NULL), GNN_EINVALID, "pretrained");
    ck_fails(gnn_pretrained_batch_new(NULL, p, NULL), GNN_EINVALID, "batch is NULL");
    gnn_pretrained_free(p);
    ck_fails(gnn_pretrained_open(NULL, context, test_folder), GNN_EINVALID, "pretrained is NULL");
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
    tcase_add_test(c, fp16_and_bf16_weights_convert_exactly);
    tcase_add_test(c, unaligned_arrays);
    tcase_add_test(c, names_with_prefix_and_old_norms);
    tcase_add_loop_test(c, classes_of_a_sentence, 0, 2);
    tcase_add_loop_test(c, masked_words, 0, 2);
    tcase_add_test(c, electra_with_equal_widths_equals_bert);
    tcase_add_test(c, albert_equals_bert_with_shared_layers);
    tcase_add_test(c, bad_batches);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
