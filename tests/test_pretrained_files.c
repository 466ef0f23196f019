/* Truncated, damaged and inconsistent folders of published models, sharded files, failing
 * allocations. The model is a tiny BERT that the suite makes. */
#include "bert_small.h"

#include <sys/stat.h>

/* ---- files in pieces ---- */

static void write_shards(const char *second_file, const char *moved)
{
    static char index[1 << 14];
    const int64_t half = bert.n / 2;
    size_t at = (size_t)snprintf(index, sizeof index, "{\"metadata\": {}, \"weight_map\": {");
    for (int64_t k = 0; k < bert.n; k++) {
        const bool second = k >= half && !(moved && strcmp(moved, bert.names[k]) == 0);
        ck_assert_uint_lt(at, sizeof index - 512);
        at += (size_t)snprintf(index + at, 256, "%s\"%s\": \"%s\"", k ? ", " : "", bert.names[k],
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
    ck_bad(GNN_EFORMAT, "is not the name of a file");
    write_text("model.safetensors.index.json", "{\"weight_map\": 3}");
    ck_bad(GNN_EFORMAT, "weight_map");
    write_text("model.safetensors.index.json", "{\"weight_map\": {\"a\": 3}}");
    ck_bad(GNN_EFORMAT, "is not the name of a file");
    write_text("model.safetensors.index.json", "{\"weight_map\": ");
    ck_bad(GNN_EFORMAT, "model.safetensors.index.json: line 1");
    remove(in_folder("model.safetensors.index.json"));
    ck_bad(GNN_EIO, "model.safetensors");
}
END_TEST

/* The second file with one more array. */
static void write_more(const gnn_array_t *more)
{
    gnn_array_t arrays[MOST];
    const int64_t half = bert.n / 2, n = bert.n - half;
    ck_assert_int_lt(n, MOST);
    memcpy(arrays, bert.arrays + half, (size_t)n * sizeof *arrays);
    arrays[n] = *more;
    ck_ok(gnn_safetensors_write(in_folder("b.safetensors"), n + 1, arrays, 0, NULL));
}

/* All arrays of the files that an index names belong to the model, as in the package, where the
 * last of two of one name would win. */
START_TEST(arrays_beside_the_index)
{
    gnn_real_t whole[ROWS * WIDTH];
    static char index[512];
    write_all();
    ck_ok(run(whole));
    write_shards("b.safetensors", NULL);
    snprintf(index, sizeof index,
             "{\"weight_map\": {\"%s\": \"a.safetensors\", \"%s\": \"b.safetensors\"}}",
             bert.names[0], bert.names[bert.n - 1]);
    write_text("model.safetensors.index.json", index);
    ck_same(whole);
    write_more(&bert.arrays[0]);
    ck_bad(GNN_EFORMAT, "two of its files have an array embeddings.word_embeddings.weight");
    gnn_array_t extra = bert.arrays[0];
    extra.name = "extra";
    write_more(&extra);
    ck_bad(GNN_EFORMAT, "the array extra belongs to nothing");
    remove(in_folder("model.safetensors.index.json"));
}
END_TEST

/* Dimensions of size 1 change nothing; a bias of two rows is refused. */
START_TEST(dimensions_of_arrays)
{
    gnn_real_t whole[ROWS * WIDTH];
    write_all();
    ck_ok(run(whole));
    gnn_array_t *bias = &bert.arrays[find("encoder.layer.0.output.dense.bias")],
                *matrix = &bert.arrays[find("encoder.layer.0.output.dense.weight")];
    bias->ndim = 2;
    bias->shape[0] = 1;
    bias->shape[1] = WIDTH;
    matrix->ndim = 3;
    matrix->shape[2] = matrix->shape[1];
    matrix->shape[1] = matrix->shape[0];
    matrix->shape[0] = 1;
    write_weights();
    ck_same(whole);
    bias->shape[0] = 2;
    bias->shape[1] = WIDTH / 2;
    write_weights();
    ck_bad(GNN_ESHAPE, "array encoder.layer.0.output.dense.bias is 2 x 4");
}
END_TEST

/* ---- tables of rotary positions ---- */

/* The folder with a RoFormer whose table has the values of the formula plus `shift`; the table. */
static float *write_roformer(int64_t rows, int64_t cols, double shift)
{
    make_bert();
    gnn_array_t *table = &bert.arrays[find("embeddings.position_embeddings.weight")];
    float *values = bert.numbers[table - bert.arrays];
    strcpy(bert.names[table - bert.arrays], "encoder.embed_positions.weight");
    table->shape[0] = rows;
    table->shape[1] = cols;
    table->count = rows * cols;
    for (int64_t p = 0; p < rows; p++)
        for (int64_t t = 0; t < cols / 2; t++) {
            const double angle = (double)p * pow(10000, -2 * (double)t / (double)cols);
            values[p * cols + t] = (float)(sin(angle) + shift);
            values[p * cols + cols / 2 + t] = (float)(cos(angle) + shift);
        }
    write_text("config.json", CONFIG_BUT("\"roformer\"", "8", "2", "2"));
    write_weights();
    return values;
}

/* The table of the formula, rounded or not, and no table are one model; with another one the model
 * rotates by it. Tables of other sizes and values that are not finite are refused. */
START_TEST(tables_of_rotary_positions)
{
    static const char place[] = "encoder.embed_positions.weight";
    const int64_t cols = WIDTH / 2, n = ROWS * WIDTH;
    gnn_real_t whole[ROWS * WIDTH], other[ROWS * WIDTH];
    write_roformer(PLACES, cols, 0);
    ck_ok(run(whole));
    bert.arrays[find(place)] = bert.arrays[--bert.n];
    write_weights();
    ck_same(whole);
    write_roformer(PLACES, cols, 5e-7);
    ck_same(whole);
    write_roformer(PLACES, cols, 3e-6);
    ck_ok(run(other));
    ck_assert_double_lt(test_error(other, whole, n), 1e-4);
    ck_assert_double_gt(test_error(other, whole, n), 0);
    write_roformer(PLACES, cols, 0.25);
    ck_ok(run(other));
    ck_assert_double_gt(test_error(other, whole, n), 1e-3);
    write_roformer(PLACES - 1, cols, 0);
    ck_bad(GNN_ESHAPE,
           "array encoder.embed_positions.weight is 8 x 4, layer.0.map.table needs 9 x 4");
    write_roformer(PLACES, 2 * cols, 0);
    ck_bad(GNN_ESHAPE,
           "array encoder.embed_positions.weight is 9 x 8, layer.0.map.table needs 9 x 4");
    write_roformer(PLACES, cols, 0)[5] = (float)NAN;
    write_weights();
    ck_bad(GNN_ENUMERIC, "array encoder.embed_positions.weight: element 5 is");
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
    CK_CONFIG("{\"model_type\": \"bert\"}", GNN_ESHAPE, "the steps have 108891648 parameters");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "\"wide\"", "2", "2"), GNN_EUNSUPPORTED,
              "config.json: bert: \"hidden_size\" is \"wide\"");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "null", "2", "2"), GNN_EUNSUPPORTED, "hidden_size");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8.5", "2", "2"), GNN_EUNSUPPORTED, "an integer");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "-8", "2", "2"), GNN_EUNSUPPORTED, "-8");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "16", "2", "2"), GNN_ESHAPE, "11 x 8");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "1000000000", "2", "2"), GNN_ESHAPE, "parameters");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "3", "2"), GNN_ESHAPE, "3");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "3"), GNN_ENOTFOUND, "encoder.layer.2.");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "1"), GNN_EFORMAT, "belongs to nothing");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "1e9"), GNN_EUNSUPPORTED, "an integer of at least 0");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "1000000000"), GNN_EFORMAT, "from 0 to 1000");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "2", "[]"), GNN_EUNSUPPORTED,
              "integer of at least 0 is expected");
    CK_CONFIG(CONFIG_BUT("\"bert\"", "8", "0", "2"), GNN_EUNSUPPORTED,
              "\"num_attention_heads\" is 0");
    CK_CONFIG("{\"model_type\": \"bert\", \"model_type\": \"bert\"}", GNN_EFORMAT, "line 1");
}
END_TEST

/* Files with another vocabulary size than the model are refused. */
START_TEST(files_of_other_sizes)
{
    static const char *const names[] = {"sentencepiece.bpe.model", "source.spm"};
    for (int k = 0; k < 2; k++) {
        write_all();
        write_text(names[k], "any");
        ck_bad(GNN_EUNSUPPORTED, "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)");
        ck_bad(GNN_EUNSUPPORTED, names[k]);
        remove(in_folder(names[k]));
    }
}
END_TEST

/* The error for weights in other formats explains them, also for an adapter next to readable
 * weights. */
START_TEST(weights_of_other_programs)
{
    static const struct {
        const char *name, *words;
    } files[] = {{"pytorch_model.bin", "pickled weights of PyTorch. In Python: import torch"},
                 {"pytorch_model.bin.index.json", "in several files"},
                 {"adapter_model.safetensors", "without the model that it changes"},
                 {"adapter_model.bin", "merge_and_unload()"},
                 {"some-q4_0.gguf", "some-q4_0.gguf holds a model of llama.cpp"},
                 {"tf_model.h5", "from_tf=True"},
                 {"flax_model.msgpack", "from_flax=True"},
                 {"model.onnx", "a graph of ONNX"},
                 {"consolidated.00.pth", "names of their own"}};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        write_all();
        remove(in_folder("model.safetensors"));
        write_text(files[k].name, "any");
        ck_bad(GNN_EUNSUPPORTED, files[k].words);
        remove(in_folder("config.json"));
        ck_bad(GNN_EUNSUPPORTED, files[k].words);
        remove(in_folder(files[k].name));
    }
    write_all();
    write_text("adapter_config.json", "{}");
    ck_bad(GNN_EUNSUPPORTED, "an adapter changes the weights of model.safetensors");
    remove(in_folder("adapter_config.json"));
    write_text("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    ck_bad(GNN_EFORMAT, "model.safetensors: a pointer of Git LFS");
}
END_TEST

/* The method that packed weights is named, with what unpacks it where the package can. */
START_TEST(packed_weights)
{
    static const char *const methods[][2] = {{"fp8", "FineGrainedFP8Config(dequantize=True)"},
                                             {"bitsandbytes", ".dequantize().save_pretrained("},
                                             {"mxfp4", "Mxfp4Config(dequantize=True)"},
                                             {"gptq", "which its README names"},
                                             {"awq", "weights packed by awq"}};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        char text[1024];
        write_all();
        snprintf(text, sizeof text,
                 "{\"quantization_config\": {\"bits\": 4, \"quant_method\": \"%s\"}, %s",
                 methods[k][0], &CONFIG[1]);
        write_text("config.json", text);
        ck_bad(GNN_EUNSUPPORTED, methods[k][1]);
        ck_bad(GNN_EUNSUPPORTED, methods[k][0]);
    }
}
END_TEST

/* Every key is read, harmless or expected at a value: CONFIG with one more. */
START_TEST(every_key_is_known)
{
    static const struct {
        const char *key;
        int code;
        const char *words;
    } keys[] = {{"\"nosuch\": 3", GNN_EUNSUPPORTED, "config.json: \"nosuch\" is 3"},
                {"\"is_decoder\": true", GNN_EUNSUPPORTED, "\"is_decoder\" is true, false is"},
                {"\"is_decoder\": false", GNN_OK, ""},
                {"\"hidden_dropout_prob\": 0.9", GNN_OK, ""},
                {"\"num_beams\": 4", GNN_OK, ""}, /* generation checks these, embedding does not */
                {"\"watermarking_config\": {\"bias\": 2}, \"num_beams\": \"four\"", GNN_OK, ""},
                {"\"quantization_config\": {\"quant_method\": \"fp8\"}", GNN_EUNSUPPORTED, "fp8"},
                {"\"position_embedding_type\": \"relative_key\"", GNN_EUNSUPPORTED, "relative_key"},
                {"\"architectures\": [\"BertModel\"]", GNN_OK, ""},
                {"\"architectures\": [\"BertForMaskedLM\"]", GNN_ENOTFOUND, "ends in ForMaskedLM"},
                {"\"architectures\": [\"BertForSpeech\"]", GNN_EUNSUPPORTED, "BertForSpeech"}};
    gnn_real_t out[ROWS * WIDTH];
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        char text[1024];
        write_all();
        snprintf(text, sizeof text, "{%s, %s", keys[k].key, &CONFIG[1]);
        write_text("config.json", text);
        if (keys[k].code == GNN_OK)
            ck_ok(run(out));
        else
            ck_bad(keys[k].code, keys[k].words);
    }
}
END_TEST

/* The count of classes in the config is that of the head's array. */
START_TEST(classes_are_the_rows_of_the_head)
{
    static const struct {
        const char *keys, *words; /* NULL: the folder opens */
    } counts[] = {
        {"\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}", NULL},
        {"\"num_labels\": 3", NULL},
        {"\"id2label\": null", "\"id2label\" has 2 classes where it is missing, 3 are expected"},
        {"\"problem_type\": \"other\"", "where it is missing"},
        {"\"num_labels\": 3, \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}", NULL},
        {"\"num_labels\": 5, \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}",
         "\"num_labels\" has 5 classes, 3 are expected"}, /* it counts more in the package */
        {"\"id2label\": {\"0\": \"a\", \"1\": \"b\"}", "\"id2label\" has 2 classes, 3 are expected"},
        {"\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\", \"3\": \"d\", \"4\": \"e\"}",
         "\"id2label\" has 5 classes, 3 are expected"},
        {"\"id2label\": {}", "\"id2label\" has 0 classes"},
        {"\"num_labels\": 5", "\"num_labels\" has 5 classes, 3 are expected"},
    };
    static const char *const tasks[] = {"BertForSequenceClassification",
                                        "BertForTokenClassification"};
    gnn_real_t out[ROWS * WIDTH];
    write_all();
    const int length = (int)(strstr(CONFIG, "\"id2label\"") - CONFIG);
    for (size_t k = 0; k < 2 * sizeof counts / sizeof *counts; k++) {
        char text[1024];
        make_bert();
        if (k % 2 == 0)
            add_both("", "pooler.dense", WIDTH, WIDTH);
        add_both("", "classifier", 3, WIDTH);
        write_weights();
        snprintf(text, sizeof text, "%.*s\"architectures\": [\"%s\"], %s}", length, CONFIG,
                 tasks[k % 2], counts[k / 2].keys);
        write_text("config.json", text);
        if (counts[k / 2].words)
            ck_bad(GNN_ESHAPE, counts[k / 2].words);
        else
            ck_ok(run(out));
    }
}
END_TEST

/* Answers have two classes; without "architectures" the arrays name the head, and "id2label" its
 * classes. */
START_TEST(classes_of_answers_and_of_folders_without_a_class)
{
    static const struct {
        const char *array, *keys, *words;
    } counts[] = {
        {"qa_outputs", "\"architectures\": [\"BertForQuestionAnswering\"]", NULL},
        {"qa_outputs", "\"architectures\": [\"BertForQuestionAnswering\"], \"num_labels\": 2", NULL},
        {"qa_outputs", "\"architectures\": [\"BertForQuestionAnswering\"], \"num_labels\": 3",
         "\"num_labels\" has 3 classes, 2 are expected"},
        {"qa_outputs", "\"num_labels\": 3", "\"num_labels\" has 3 classes, 2 are expected"},
        {"classifier", "\"num_labels\": 2", NULL},
        {"classifier", "\"id2label\": {\"0\": \"a\"}", "\"id2label\" has 1 classes, 2 are expected"},
        {"classifier", "\"problem_type\": null", NULL},
    };
    gnn_real_t out[ROWS * WIDTH];
    write_all();
    const int length = (int)(strstr(CONFIG, "\"id2label\"") - CONFIG);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        char text[1024];
        make_bert();
        add_both("", counts[k].array, 2, WIDTH);
        write_weights();
        snprintf(text, sizeof text, "%.*s%s}", length, CONFIG, counts[k].keys);
        write_text("config.json", text);
        if (counts[k].words)
            ck_bad(GNN_ESHAPE, counts[k].words);
        else
            ck_ok(run(out));
    }
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
    ck_bad(GNN_ENUMERIC, "element 13 is");
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
    write_text("pool/config.json", "{\"pooling_mode_max_tokens\": true, \"embedding_dimension\": 8}");
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
    write_text("pool/config.json", "{\"pooling_mode\": \"median\", \"embedding_dimension\": 8}");
    ck_bad(GNN_EUNSUPPORTED, "\"pooling_mode\" is \"median\"");
    unlink(in_folder("pool/config.json"));
    ck_bad(GNN_EUNSUPPORTED,
           "pool/config.json (missing): pooling: \"embedding_dimension\" is (nothing)");
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

#define MOVED(type, file, path) \
    "{\"type\": \"sentence_transformers." file "." type "\", \"path\": \"" path "\"}"

static void write_dense(const char *folder, int64_t in, int64_t out, const char *heard)
{
    char name[64], config[256];
    static float ones[3 * WIDTH];
    for (int k = 0; k < 3 * WIDTH; k++)
        ones[k] = 1;
    const gnn_array_t weight = {.name = "linear.weight",
                                .dtype = GNN_DTYPE_FLOAT32,
                                .ndim = 2,
                                .shape = {out, in},
                                .count = in * out,
                                .data = ones};
    mkdir(in_folder(folder), 0700);
    snprintf(name, sizeof name, "%s/config.json", folder);
    snprintf(config, sizeof config,
             "{\"in_features\": %d, \"out_features\": %d, \"bias\": false, "
             "\"activation_function\": \"torch.nn.modules.linear.Identity\", "
             "\"module_input_name\": \"%s\", \"module_output_name\": null}",
             (int)in, (int)out, heard);
    write_text(name, config);
    snprintf(name, sizeof name, "%s/model.safetensors", folder);
    ck_ok(gnn_safetensors_write(in_folder(name), 1, &weight, 0, NULL));
}

/* Version 6 of sentence-transformers writes other types; one type may come twice. */
START_TEST(modules_of_other_files)
{
    gnn_real_t pooled[4 * WIDTH], out[4 * 3];
    write_all();
    mkdir(in_folder("pool"), 0700);
    write_text("pool/config.json", "{\"pooling_mode\": \"mean\", \"embedding_dimension\": 8}");
    write_text("modules.json", "[" MOVED("Transformer", "base.modules.transformer", "") ", " MOVED(
                                   "Pooling", "sentence_transformer.modules.pooling", "pool") "]");
    ck_ok(value_of("embedding", 4, WIDTH, pooled));
    write_text("modules.json",
               "[" MOVED("Transformer", "base.modules.transformer", "") ", " MOVED(
                   "Pooling", "sentence_transformer.modules.pooling",
                   "pool") ", " MOVED("Dense", "base.modules.dense",
                                      "narrow") ", " MOVED("Dense", "base.modules.dense", "wide") "]");
    write_dense("narrow", WIDTH, 2, "sentence_embedding");
    write_dense("wide", 2, 3, "sentence_embedding");
    ck_ok(value_of("embedding", 4, 3, out));
    for (int s = 0; s < 4; s++) {
        double sum = 0;
        for (int k = 0; k < WIDTH; k++)
            sum += (double)pooled[s * WIDTH + k];
        for (int k = 0; k < 3; k++)
            ck_assert_double_eq_tol((double)out[s * 3 + k], 2 * sum, 1e-5 * (1 + fabs(sum)));
    }
    write_dense("wide", 2, 3, "token_embeddings");
    ck_fails(value_of("embedding", 4, 3, out), GNN_EUNSUPPORTED, "\"in_features\" is 2");
    write_dense("wide", 2, 3, "scores");
    ck_fails(value_of("embedding", 4, 3, out), GNN_EUNSUPPORTED, "\"scores\"");
}
END_TEST

static void ck_max_length(int64_t expected)
{
    gnn_context_t *context;
    gnn_pretrained_t *p;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_pretrained_open(&p, context, test_folder));
    ck_assert_int_eq(gnn_pretrained_max_length(p), expected);
    gnn_pretrained_free(p);
    gnn_context_free(context);
}

/* By sentence-transformers' file, from version 6 on by the tokenizer's; 10^30 means no limit. */
START_TEST(longest_texts)
{
    gnn_real_t out[ROWS * WIDTH];
    write_all();
    write_text("tokenizer_config.json", "{\"model_max_length\": 6}");
    ck_max_length(PLACES);
    write_text("sentence_bert_config.json", "{\"max_seq_length\": 5}");
    ck_max_length(5);
    write_text("sentence_bert_config.json", "{\"max_seq_length\": 500}");
    ck_max_length(PLACES);
    write_text("sentence_bert_config.json", "{\"transformer_task\": \"feature-extraction\"}");
    ck_max_length(6);
    write_text("tokenizer_config.json", "{\"model_max_length\": 1000000000000000019884624838656}");
    ck_max_length(PLACES);
    write_text("tokenizer_config.json", "{\"model_max_length\": ");
    ck_bad(GNN_EFORMAT, "tokenizer_config.json: line 1");
    remove(in_folder("tokenizer_config.json"));
    ck_max_length(PLACES);
    remove(in_folder("sentence_bert_config.json"));
    ck_ok(run(out));
}
END_TEST

/* ---- prompts ---- */

static void embed_text(const gnn_pretrained_t *p, gnn_context_t *context, const char *text,
                       gnn_real_t row[WIDTH])
{
    const gnn_tensor_t out = gnn_tensor(row, 1, WIDTH);
    ck_ok(gnn_pretrained_embed(p, context, &(gnn_texts_t){1, &text, NULL}, &out));
}

static void write_prompts(const char *pooling, const char *prompts)
{
    write_all();
    mkdir(in_folder("pool"), 0700);
    write_text("pool/config.json", pooling);
    write_text("modules.json", "[" MODULE("Transformer", "") ", " MODULE("Pooling", "pool") "]");
    write_text("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\nthe\na\nis\n");
    write_text("config_sentence_transformers.json", prompts);
}

#define PROMPTS "{\"prompts\": {\"query\": \"the film \", \"document\": \"\"}"

START_TEST(prompts)
{
    static const char *const names[] = {NULL, "document", "query"};
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_real_t plain[WIDTH], longer[WIDTH], row[WIDTH];
    ck_ok(gnn_context_new(&context, NULL));
    write_prompts("{\"pooling_mode\": \"mean\", \"embedding_dimension\": 8}",
                  PROMPTS ", \"default_prompt_name\": null}");
    ck_ok(gnn_pretrained_open(&p, context, test_folder));
    embed_text(p, context, "good", plain);
    embed_text(p, context, "the film good", longer);
    ck_assert_mem_ne(plain, longer, sizeof plain);
    for (int k = 0; k < 3; k++) {
        ck_ok(gnn_pretrained_choose_prompt(p, names[k]));
        embed_text(p, context, "good", row);
        ck_assert_mem_eq(row, k == 2 ? longer : plain, sizeof row);
    }
    ck_fails(gnn_pretrained_choose_prompt(p, "passage"), GNN_ENOTFOUND,
             "no prompt \"passage\"; it has: query, document");
    embed_text(p, context, "good", row);
    ck_assert_mem_eq(row, longer, sizeof row);
    const char *none = NULL;
    const gnn_tensor_t out = gnn_tensor(row, 1, WIDTH);
    ck_fails(gnn_pretrained_embed(p, context, &(gnn_texts_t){1, &none, NULL}, &out), GNN_EINVALID,
             "text 0 is NULL");
    gnn_pretrained_free(p);
    write_text("config_sentence_transformers.json", PROMPTS ", \"default_prompt_name\": \"query\"}");
    ck_ok(gnn_pretrained_open(&p, context, test_folder));
    embed_text(p, context, "good", row);
    ck_assert_mem_eq(row, longer, sizeof row);
    gnn_pretrained_free(p);
    write_prompts("{\"pooling_mode\": \"mean\", \"embedding_dimension\": 8, \"include_prompt\": false}",
                  PROMPTS "}");
    ck_ok(gnn_pretrained_open(&p, context, test_folder));
    ck_ok(gnn_pretrained_choose_prompt(p, "document"));
    embed_text(p, context, "good", row);
    ck_ok(gnn_pretrained_choose_prompt(p, "query"));
    embed_text(p, context, "good", longer);
    ck_assert_mem_ne(longer, row, sizeof row);
    gnn_pretrained_free(p);
    write_text("config_sentence_transformers.json", "{\"default_prompt_name\": \"query\"}");
    ck_fails(gnn_pretrained_open(&p, context, test_folder), GNN_ENOTFOUND,
             "\"default_prompt_name\": the folder has no prompt \"query\"; it has: none");
    gnn_context_free(context);
    remove(in_folder("config_sentence_transformers.json"));
    remove(in_folder("vocab.txt"));
}
END_TEST

/* ---- columns and similarity ---- */

/* Vectors are truncated to their first columns, and compared by the folder's similarity. */
START_TEST(columns_and_similarity)
{
    static const char *const names[] = {"cosine", "dot", "euclidean", "manhattan"};
    static const gnn_real_t x[] = {3, 4}, y[] = {4, 3, 0, 2};
    const gnn_tensor_t one = {(gnn_real_t *)x, 1, 2, 2}, two = {(gnn_real_t *)y, 2, 2, 2};
    const double expected[4][2] = {{0.96, 0.8}, {24, 8}, {-sqrt(2), -sqrt(13)}, {-2, -5}};
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_real_t whole[WIDTH], row[WIDTH], scores[2];
    const gnn_tensor_t few = gnn_tensor(row, 1, 3), out = gnn_tensor(scores, 1, 2);
    const char *text = "good";
    ck_ok(gnn_context_new(&context, NULL));
    for (int k = 0; k < 4; k++) {
        char config[128];
        snprintf(config, sizeof config, "{\"truncate_dim\": 5, \"similarity_fn_name\": \"%s\"}",
                 names[k]);
        write_prompts("{\"pooling_mode\": \"mean\", \"embedding_dimension\": 8}", config);
        ck_ok(gnn_pretrained_open(&p, context, test_folder));
        ck_assert_str_eq(gnn_pretrained_similarity_name(p), names[k]);
        ck_ok(gnn_pretrained_similarity(p, &one, &two, &out));
        ck_assert_double_eq_tol((double)scores[0], expected[k][0], 1e-6);
        ck_assert_double_eq_tol((double)scores[1], expected[k][1], 1e-6);
        ck_fails(gnn_pretrained_similarity(p, &two, &one, &out), GNN_ESHAPE, "2 x 2 and 1 x 2");
        ck_assert_int_eq(gnn_pretrained_embedding_width(p), 5);
        ck_ok(gnn_pretrained_choose_width(p, 0));
        embed_text(p, context, text, whole);
        ck_ok(gnn_pretrained_choose_width(p, 3));
        ck_ok(gnn_pretrained_embed(p, context, &(gnn_texts_t){1, &text, NULL}, &few));
        ck_assert_mem_eq(row, whole, 3 * sizeof *row);
        ck_fails(gnn_pretrained_choose_width(p, -1), GNN_EINVALID, "-1 columns");
        ck_fails(gnn_pretrained_choose_language(p, "deu_Latn"), GNN_ENOTFOUND, "deu_Latn");
        ck_ok(gnn_pretrained_choose_language(p, NULL));
        gnn_pretrained_free(p);
    }
    gnn_context_free(context);
    remove(in_folder("config_sentence_transformers.json"));
    remove(in_folder("vocab.txt"));
}
END_TEST

/* ---- tokens past the table of positions ---- */

START_TEST(more_words_than_positions)
{
    static const int64_t nine = 9, ten = 10;
    static const int32_t words[10] = {1, 2, 3, 4, 5, 6, 7, 1, 2, 3};
    gnn_sequences_t one = {.count = 1, .lengths = &nine, .ids = words};
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_pretrained_batch_t *batch;
    write_all();
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_pretrained_open(&p, context, test_folder));
    ck_ok(gnn_pretrained_batch_new(&batch, p, &one));
    gnn_pretrained_batch_free(batch);
    one.lengths = &ten;
    ck_fails(gnn_pretrained_batch_new(&batch, p, &one), GNN_ESHAPE,
             "sequence 0 has 10 tokens, the model takes 9");
    gnn_pretrained_free(p);
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
    tcase_add_test(c, files_in_pieces);
    tcase_add_test(c, arrays_beside_the_index);
    tcase_add_test(c, dimensions_of_arrays);
    tcase_add_test(c, tables_of_rotary_positions);
    tcase_add_test(c, bad_config);
    tcase_add_test(c, every_key_is_known);
    tcase_add_test(c, classes_are_the_rows_of_the_head);
    tcase_add_test(c, classes_of_answers_and_of_folders_without_a_class);
    tcase_add_test(c, files_of_other_sizes);
    tcase_add_test(c, weights_of_other_programs);
    tcase_add_test(c, packed_weights);
    tcase_add_test(c, cut_files);
    tcase_add_test(c, bad_arrays);
    tcase_add_test(c, modules);
    tcase_add_test(c, modules_of_other_files);
    tcase_add_test(c, longest_texts);
    tcase_add_test(c, prompts);
    tcase_add_test(c, columns_and_similarity);
    tcase_add_test(c, more_words_than_positions);
    tcase_add_test(c, failing_allocations);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
