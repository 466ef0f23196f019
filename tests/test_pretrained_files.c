/* Folders of published models that are cut, damaged or lie, types of weights, files in pieces;
 * allocations that fail. The model is a BERT of a few numbers that the suite makes itself. */
#include "io_bytes.h"

#include <gnn/pretrained.h>
#include <sys/stat.h>

/* ---- a small BERT ---- */

enum { WORDS = 11, WIDTH = 8, INNER = 12, PLACES = 9, LAYERS = 2, MOST = 64 };

#define CONFIG_BUT(type, width, heads, layers)                                               \
    "{\"model_type\": " type ", \"hidden_size\": " width ", \"num_attention_heads\": " heads \
    ", \"num_hidden_layers\": " layers ", \"vocab_size\": 11, \"intermediate_size\": 12, "   \
    "\"max_position_embeddings\": 9, \"type_vocab_size\": 2, \"layer_norm_eps\": 1e-12, "    \
    "\"hidden_act\": \"gelu\", \"id2label\": {\"0\": \"bad\", \"1\": \"good\"}}"
#define CONFIG CONFIG_BUT("\"bert\"", "8", "2", "2")

typedef struct bert {
    gnn_array_t arrays[MOST];
    char names[MOST][96];
    float numbers[MOST][WIDTH * INNER + 32];
    unsigned short halves[MOST][WIDTH * INNER + 32];
    int64_t n;
} bert_t;

static bert_t bert; /* as the suite's folder holds it */

/* Multiples of 1/16 below 4: exact in 16 bits of either kind. */
static void add(const char *name, int64_t rows, int64_t cols)
{
    const int64_t k = bert.n++, count = rows * (cols ? cols : 1);
    uint64_t seed = (uint64_t)k + 1;
    ck_assert_int_lt(k, MOST);
    ck_assert_int_le(count, (int64_t)(sizeof bert.numbers[k] / sizeof(float)));
    snprintf(bert.names[k], sizeof bert.names[k], "%s", name);
    for (int64_t i = 0; i < count; i++)
        bert.numbers[k][i] = (float)(test_below(&seed, 17) - 8) / 16;
    bert.arrays[k] = (gnn_array_t){.name = bert.names[k],
                                   .dtype = GNN_DTYPE_FLOAT32,
                                   .ndim = cols ? 2 : 1,
                                   .shape = {rows, cols},
                                   .count = count,
                                   .data = bert.numbers[k]};
}

static void add_both(const char *prefix, const char *name, int64_t out, int64_t in)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    add(full, out, in);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    add(full, out, 0);
}

static void make_bert(void)
{
    bert.n = 0;
    add("embeddings.word_embeddings.weight", WORDS, WIDTH);
    add("embeddings.position_embeddings.weight", PLACES, WIDTH);
    add("embeddings.token_type_embeddings.weight", 2, WIDTH);
    add_both("embeddings.", "LayerNorm", WIDTH, 0);
    for (int k = 0; k < LAYERS; k++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "encoder.layer.%d.", k);
        add_both(prefix, "attention.self.query", WIDTH, WIDTH);
        add_both(prefix, "attention.self.key", WIDTH, WIDTH);
        add_both(prefix, "attention.self.value", WIDTH, WIDTH);
        add_both(prefix, "attention.output.dense", WIDTH, WIDTH);
        add_both(prefix, "attention.output.LayerNorm", WIDTH, 0);
        add_both(prefix, "intermediate.dense", INNER, WIDTH);
        add_both(prefix, "output.dense", WIDTH, INNER);
        add_both(prefix, "output.LayerNorm", WIDTH, 0);
    }
}

static int64_t find(const char *name)
{
    for (int64_t k = 0; k < bert.n; k++)
        if (strcmp(bert.names[k], name) == 0)
            return k;
    ck_abort_msg("no array %s", name);
    return -1;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void write_weights(void)
{
    ck_ok(gnn_safetensors_write(in_folder("model.safetensors"), bert.n, bert.arrays, 0, NULL));
}

static void write_all(void)
{
    make_bert();
    write_text("config.json", CONFIG);
    write_weights();
    remove(in_folder("model.safetensors.index.json"));
    remove(in_folder("modules.json"));
}

/* ---- what it computes ---- */

static const int64_t lengths[] = {4, 1, 0, 3};
static const int32_t ids[] = {1, 2, 3, 4, 10, 5, 6, 7};
enum { ROWS = 8 };

static int run(gnn_real_t out[ROWS * WIDTH])
{
    gnn_context_t *context = NULL;
    gnn_pretrained_t *p = NULL;
    gnn_batch_t *batch = NULL;
    const gnn_tensor_t y = gnn_tensor(out, ROWS, WIDTH);
    int rc = gnn_context_new(&context, NULL);
    rc = rc == GNN_OK ? gnn_pretrained_open(&p, context, test_folder) : rc;
    rc = rc == GNN_OK
             ? gnn_batch_new(&batch, p, &(gnn_sequences_t){4, lengths, ids, NULL, NULL, NULL, NULL})
             : rc;
    rc = rc == GNN_OK ? gnn_model_value(gnn_pretrained_model(p), context, gnn_batch_inputs(batch),
                                        "hidden", &y)
                      : rc;
    gnn_batch_free(batch);
    gnn_pretrained_free(p);
    gnn_context_free(context);
    return rc;
}

static void ck_same(const gnn_real_t *expected)
{
    gnn_real_t out[ROWS * WIDTH];
    ck_ok(run(out));
    ck_assert_mem_eq(out, expected, sizeof out);
}

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

/* ---- files in pieces ---- */

static void write_shards(const char *second_file, const char *moved)
{
    static char index[1 << 14];
    const int64_t half = bert.n / 2;
    size_t at = (size_t)sprintf(index, "{\"metadata\": {}, \"weight_map\": {");
    for (int64_t k = 0; k < bert.n; k++) {
        const bool second = k >= half && !(moved && strcmp(moved, bert.names[k]) == 0);
        at += (size_t)sprintf(index + at, "%s\"%s\": \"%s\"", k ? ", " : "", bert.names[k],
                              second ? second_file : "a.safetensors");
    }
    strcpy(index + at, "}}");
    remove(in_folder("model.safetensors"));
    write_text("model.safetensors.index.json", index);
    ck_ok(gnn_safetensors_write(in_folder("a.safetensors"), half, bert.arrays, 0, NULL));
    ck_ok(gnn_safetensors_write(in_folder("b.safetensors"), bert.n - half, bert.arrays + half, 0,
                                NULL));
}

static void ck_bad(int code, const char *words)
{
    gnn_real_t out[ROWS * WIDTH];
    ck_fails(run(out), code, words);
}

START_TEST(files_in_pieces)
{
    gnn_real_t whole[ROWS * WIDTH];
    write_all();
    ck_ok(run(whole));
    write_shards("b.safetensors", NULL);
    ck_same(whole);
    write_shards("b.safetensors", bert.names[bert.n - 1]);
    ck_bad(GNN_EFORMAT, "the index says it has");
    write_shards("none.safetensors", NULL);
    ck_bad(GNN_EIO, "none.safetensors");
    write_shards("../b.safetensors", NULL);
    ck_bad(GNN_EFORMAT, "is no name of a file");
    write_text("model.safetensors.index.json", "{\"weight_map\": 3}");
    ck_bad(GNN_EFORMAT, "weight_map");
    write_text("model.safetensors.index.json", "{\"weight_map\": {\"a\": 3}}");
    ck_bad(GNN_EFORMAT, "is no name of a file");
    write_text("model.safetensors.index.json", "{\"weight_map\": ");
    ck_bad(GNN_EFORMAT, "model.safetensors.index.json: line 1");
    remove(in_folder("model.safetensors.index.json"));
    ck_bad(GNN_EIO, "model.safetensors");
}
END_TEST

/* ---- config.json ---- */

START_TEST(bad_config)
{
    write_all();
#define CK_CONFIG(text, code, words) (write_text("config.json", text), ck_bad(code, words))
    CK_CONFIG("[1]", GNN_EFORMAT, "model_type");
    CK_CONFIG("{}", GNN_EFORMAT, "model_type");
    CK_CONFIG("{\"model_type\": 3}", GNN_EFORMAT, "model_type");
    CK_CONFIG(CONFIG_BUT("\"magic\"", "8", "2", "2"), GNN_EUNSUPPORTED, "\"magic\" is not known");
    CK_CONFIG(CONFIG_BUT("\"magic\"", "8", "2", "2"), GNN_EUNSUPPORTED, "distilbert");
    CK_CONFIG("{\"model_type\": \"bert\"}", GNN_EFORMAT, "config.json has no \"");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "\"wide\"", "2", "2"), GNN_EFORMAT,
              "config.json: bert: words: field out");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "null", "2", "2"), GNN_EFORMAT, "hidden_size");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8.5", "2", "2"), GNN_EFORMAT, "whole number");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "-8", "2", "2"), GNN_EFORMAT, "-8");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "16", "2", "2"), GNN_ESHAPE, "11 x 8");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "1000000000", "2", "2"), GNN_ESHAPE, "parameters");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "3", "2"), GNN_ESHAPE, "3");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "3"), GNN_ENOTFOUND, "encoder.layer.2.");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "1"), GNN_EFORMAT, "belongs to nothing");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "1e9"), GNN_EFORMAT, "from 0 to 1000");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "[]"), GNN_EFORMAT, "number is expected");
    CK_CONFIG("{\"model_type\": \"bert\", \"model_type\": \"bert\"}", GNN_EFORMAT, "line 1");
}
END_TEST

/* Whatever is cut off, the folder is refused with the file's name. */
START_TEST(cut_files)
{
    static bytes_t b;
    write_all();
    for (size_t n = 0; n + 1 < sizeof CONFIG; n += 7) {
        char text[sizeof CONFIG] = CONFIG;
        text[n] = '\0';
        write_text("config.json", text);
        gnn_real_t out[ROWS * WIDTH];
        ck_assert_int_ne(run(out), GNN_OK);
        ck_assert_ptr_nonnull(strstr(gnn_error_message(), "config.json"));
    }
    write_text("config.json", CONFIG);
    FILE *file = fopen(in_folder("model.safetensors"), "rb");
    b.n = fread(b.at, 1, sizeof b.at, file);
    fclose(file);
    for (size_t n = 0; n < b.n; n += 97) {
        gnn_real_t out[ROWS * WIDTH];
        file = fopen(in_folder("model.safetensors"), "wb");
        ck_assert_uint_eq(fwrite(b.at, 1, n, file), n);
        fclose(file);
        ck_assert_int_ne(run(out), GNN_OK);
        ck_assert_ptr_nonnull(strstr(gnn_error_message(), "model.safetensors"));
    }
}
END_TEST

/* ---- arrays ---- */

START_TEST(bad_arrays)
{
    int64_t k;
    write_all();
    k = find("encoder.layer.1.output.dense.weight");
    strcpy(bert.names[k], "encoder.layer.1.output.dense.matrix");
    write_weights();
    ck_bad(GNN_ENOTFOUND, "encoder.layer.1.output.dense.weight");
    write_all();
    add("a.matrix.of.somebody.else", 2, 2);
    write_weights();
    ck_bad(GNN_EFORMAT, "a.matrix.of.somebody.else belongs to nothing");
    write_all();
    k = find("encoder.layer.0.intermediate.dense.weight");
    bert.arrays[k].shape[0] = WIDTH;
    bert.arrays[k].shape[1] = INNER;
    write_weights();
    ck_bad(GNN_ESHAPE, "8 x 12");
    write_all();
    k = find("embeddings.LayerNorm.bias");
    bert.arrays[k].dtype = GNN_DTYPE_INT32;
    write_weights();
    ck_bad(GNN_EFORMAT, "int32");
    write_all();
    k = find("encoder.layer.0.attention.self.key.weight");
    bert.numbers[k][13] = (float)NAN;
    write_weights();
    ck_bad(GNN_ENUMERIC, "number 13 is");
}
END_TEST

/* ---- modules ---- */

#define MODULE(type, path) \
    "{\"type\": \"sentence_transformers.models." type "\", \"path\": \"" path "\"}"

START_TEST(modules)
{
    gnn_context_t *context;
    gnn_pretrained_t *p;
    write_all();
    mkdir(in_folder("pool"), 0700);
    write_text("pool/config.json", "{\"pooling_mode_max_tokens\": true}");
    write_text("modules.json", "[" MODULE("Transformer", "") ", " MODULE(
                                   "Pooling", "pool") ", " MODULE("Normalize", "n") "]");
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_pretrained_open(&p, context, test_folder));
    ck_assert_int_eq(gnn_pretrained_embedding_width(p), WIDTH);
    ck_assert_ptr_null(gnn_pretrained_tokenizer(p));
    const char *text = "a";
    gnn_real_t row[WIDTH];
    const gnn_tensor_t out = gnn_tensor(row, 1, WIDTH);
    ck_fails(gnn_pretrained_embed(p, context, &(gnn_texts_t){1, &text, NULL}, &out),
             GNN_EUNSUPPORTED, "no tokenizer");
    gnn_pretrained_free(p);
    gnn_context_free(context);
    write_text("pool/config.json",
               "{\"pooling_mode_max_tokens\": true, \"pooling_mode_cls_token\": true}");
    ck_bad(GNN_ENOTFOUND, "several");
    write_text("modules.json", "[" MODULE("Transformer", "") ", " MODULE("Magic", "pool") "]");
    ck_bad(GNN_EUNSUPPORTED, "the module \"sentence_transformers.models.Magic\" is not known");
    write_text("modules.json", "[" MODULE("Pooling", "pool") "]");
    ck_bad(GNN_EUNSUPPORTED, "the first module");
    write_text("modules.json", "[" MODULE("Transformer", "../x") "]");
    ck_bad(GNN_EFORMAT, "inside the folder");
    write_text("modules.json", "[]");
    ck_bad(GNN_EFORMAT, "list of modules");
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

START_TEST(failing_allocations)
{
    gnn_real_t out[ROWS * WIDTH];
    int64_t n = 0;
    int rc;
    write_all();
    do {
        gnn__fail_allocation(++n);
        rc = run(out);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "allocation %d: %d, %s", (int)n, rc,
                      gnn_error_message());
    } while (rc != GNN_OK);
    ck_assert_int_gt(n, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pretrained_files");
    TCase *c = tcase_create("pretrained_files");
    tcase_add_unchecked_fixture(c, make_folder, NULL);
    tcase_add_test(c, weights_of_16_bits_are_the_same_numbers);
    tcase_add_test(c, names_with_prefix_and_old_norms);
    tcase_add_test(c, electra_is_bert_where_words_are_as_wide_as_layers);
    tcase_add_test(c, albert_is_bert_where_all_layers_are_equal);
    tcase_add_test(c, files_in_pieces);
    tcase_add_test(c, bad_config);
    tcase_add_test(c, cut_files);
    tcase_add_test(c, bad_arrays);
    tcase_add_test(c, modules);
    tcase_add_test(c, bad_batches);
    tcase_add_test(c, failing_allocations);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
