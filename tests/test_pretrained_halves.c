/* Weights that are kept in 16 bits: the model computes what it computes with the same weights in
 * full, and what it cannot do is refused by name. */
#include "bert_small.h"
#include "published.h"
#include "peak.h"

#include <gnn/generate.h>
#include <gnn/train.h>
#include <gnn/finetune.h>
#include <lib/data/arrays/arrays.h>

static gnn_context_t *context;

static void open_context(void)
{
    make_folder();
    ck_ok(gnn_context_new(&context, NULL));
}

static void close_context(void)
{
    gnn_context_free(context);
}

/* The nearest 16-bit value: for bf16 the upper half of a float; fp16 with subnormals. */
static uint16_t half_of(double x, gnn_dtype_t dtype)
{
    const int bits = dtype == GNN_DTYPE_BFLOAT16 ? 7 : 10,
              bias = dtype == GNN_DTYPE_BFLOAT16 ? 127 : 15;
    int exponent;
    frexp(x, &exponent);
    exponent = x == 0 || exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    const long whole = lrint(ldexp(fabs(x), bits - exponent));
    const uint32_t sign = x < 0 ? 0x8000u : 0;
    /* a fraction that is rounded up to 2 moves the exponent by itself */
    return (uint16_t)(sign + ((uint32_t)(exponent + bias - 1) << bits) + (uint32_t)whole);
}

/* Copies a folder's config, and its arrays with floating-point ones in 16 bits; 1: matrices only,
 * of alternating types, so that parameters of several arrays are mixed. */
static void write_halves_of(const char *folder, gnn_dtype_t dtype, bool mixed)
{
    static bytes_t config;
    char path[1200];
    gnn_arrays_t *arrays;
    snprintf(path, sizeof path, "%s/config.json", folder);
    read_bytes(path, &config);
    write_bytes("config.json", config.at, config.n);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    ck_ok(gnn_safetensors_read(&arrays, path, NULL));
    const int64_t n = arrays->count;
    gnn_array_t *list = calloc((size_t)n, sizeof *list);
    for (int64_t k = 0; k < n; k++) {
        const gnn_array_t *a = gnn_arrays_at(arrays, k);
        uint16_t *halves = calloc((size_t)a->count + 1, sizeof *halves);
        list[k] = *a;
        for (int64_t i = 0; i < a->count; i++)
            halves[i] = half_of(gnn_array_get(a, i), dtype);
        list[k].dtype = !mixed || k % 2               ? dtype
                        : dtype == GNN_DTYPE_BFLOAT16 ? GNN_DTYPE_FLOAT16
                                                      : GNN_DTYPE_BFLOAT16;
        if (list[k].dtype != dtype)
            for (int64_t i = 0; i < a->count; i++)
                halves[i] = half_of(gnn_array_get(a, i), list[k].dtype);
        list[k].data = halves;
    }
    ck_ok(gnn_safetensors_write(in_folder("model.safetensors"), n, list, 0, NULL));
    for (int64_t k = 0; k < n; k++)
        free((void *)(uintptr_t)list[k].data);
    free(list);
    gnn_arrays_free(arrays);
}

static gnn_pretrained_t *open_with(gnn_flag_t keep)
{
    gnn_pretrained_t *p = NULL;
    const int rc = gnn_pretrained_open_with(&p, context, test_folder,
                                            &(gnn_pretrained_config_t){.keep_16_bits = keep});
    ck_assert_msg(rc == GNN_OK, "%s", gnn_error_message());
    return p;
}

static void ck_within(const gnn_real_t *got, const gnn_real_t *expected, int64_t n, double bound)
{
    double size = 1;
    for (int64_t k = 0; k < n; k++)
        size = fmax(size, fabs((double)expected[k]));
    for (int64_t k = 0; k < n; k++)
        ck_assert_msg(fabs((double)got[k] - (double)expected[k]) <= bound * size,
                      "number %d is %.9g, not %.9g", (int)k, (double)got[k], (double)expected[k]);
}

static void ck_near(const gnn_real_t *got, const gnn_real_t *expected, int64_t n)
{
    ck_within(got, expected, n, GNN_DOUBLE ? 1e-13 : 2e-6);
}

/* The last step of a model for two sequences of the given length. */
static gnn_real_t *values_of(const gnn_pretrained_t *p, int64_t each, int64_t *n)
{
    enum { MOST_TOKENS = 64 };
    int32_t tokens[MOST_TOKENS];
    const int64_t two[] = {each, each};
    const gnn_model_t *model = gnn_pretrained_model(p);
    const int64_t width = gnn_model_width(model, gnn_model_step_count(model) - 1);
    gnn_pretrained_batch_t *batch;
    for (int k = 0; k < 2 * each; k++)
        tokens[k] = 1 + k * 7 % 10;
    *n = 2 * each * width;
    gnn_real_t *out = test_reals(*n, 1);
    const gnn_tensor_t y = gnn_tensor(out, 2 * each, width);
    ck_ok(gnn_pretrained_batch_new(&batch, p,
                                   &(gnn_sequences_t){.count = 2, .lengths = two, .ids = tokens}));
    ck_ok(gnn_model_forward(model, context, gnn_pretrained_batch_inputs(batch), &y));
    gnn_pretrained_batch_free(batch);
    return out;
}

static void ck_same_values(int64_t each)
{
    int64_t n, m;
    gnn_pretrained_t *whole = open_with(GNN_OFF), *kept = open_with(GNN_ON);
    gnn_real_t *expected = values_of(whole, each, &n), *got = values_of(kept, each, &m);
    ck_assert_int_eq(n, m);
    ck_near(got, expected, n);
    free(expected);
    free(got);
    gnn_pretrained_free(whole);
    gnn_pretrained_free(kept);
}

/* Count of the arrays of a model kept in 16 bits, at least the embeddings. */
static int64_t count_kept(const gnn_pretrained_t *p)
{
    const gnn_model_t *model = gnn_pretrained_model(p);
    int64_t kept = 0;
    gnn_tensor_t t;
    for (int64_t k = 0; k < gnn_model_field_count(model); k++)
        kept += gnn_model_field(model, gnn_model_field_name(model, k), &t, NULL) == GNN_EUNSUPPORTED;
    return kept;
}

START_TEST(a_small_bert)
{
    const gnn_dtype_t dtype = _i ? GNN_DTYPE_BFLOAT16 : GNN_DTYPE_FLOAT16;
    write_all();
    write_halves_of(test_folder, dtype, false);
    gnn_pretrained_t *p = open_with(GNN_ON);
    ck_assert_int_eq(count_kept(p), 3 + LAYERS * 6);
    gnn_pretrained_free(p);
    ck_same_values(4);
    ck_same_values(9);
}
END_TEST

/* Queries of one kind among keys and values of another are widened, like all of float32. */
START_TEST(mixed_weight_types_load)
{
    write_all();
    write_halves_of(test_folder, GNN_DTYPE_BFLOAT16, true);
    ck_same_values(4);
    write_all();
    gnn_pretrained_t *p = open_with(GNN_ON);
    ck_assert_int_eq(count_kept(p), 0);
    gnn_pretrained_free(p);
    ck_same_values(3);
}
END_TEST

START_TEST(calls_that_need_fp32_weights_are_refused)
{
    static const int64_t four = 4;
    gnn_optimizer_t *optimizer = NULL;
    gnn_pretrained_batch_t *batch;
    gnn_tape_t *tape;
    gnn_tensor_t t;
    write_all();
    write_halves_of(test_folder, GNN_DTYPE_BFLOAT16, false);
    gnn_pretrained_t *p = open_with(GNN_ON);
    gnn_model_t *model = gnn_pretrained_model(p);
    ck_fails(gnn_model_field(model, "words.table", &t, NULL), GNN_EUNSUPPORTED, "fp16 or bf16");
    ck_fails(gnn_optimizer_new(&optimizer, context, gnn_model_parameters(model), NULL),
             GNN_EUNSUPPORTED, "fp16 or bf16");
    ck_fails(gnn_model_save(model, in_folder("saved.safetensors")), GNN_EUNSUPPORTED, "fp16 or bf16");
    ck_ok(gnn_pretrained_batch_new(&batch, p,
                                   &(gnn_sequences_t){.count = 1, .lengths = &four, .ids = ids}));
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 1);
    gnn_model_record(model, tape, gnn_pretrained_batch_inputs(batch), NULL);
    ck_fails(gnn_tape_status(tape), GNN_EUNSUPPORTED, "training");
    gnn_tape_free(tape);
    gnn_pretrained_batch_free(batch);
    gnn_pretrained_free(p);
}
END_TEST

/* ---- fine-tuning ---- */

static const char *const texts[] = {"the film is good", "a bad film", "good", "bad"};
static const int32_t classes[] = {1, 0, 1, 0};
enum { TEXTS = 4, CLASSES = 2 };

static gnn_pretrained_t *open_classes(int64_t kept)
{
    gnn_pretrained_t *p = NULL;
    ck_ok(gnn_pretrained_open_classes(
        &p, context, test_folder,
        &(gnn_classes_config_t){.count = CLASSES, .dropout = GNN_ZERO, .frozen_16_bits = kept}));
    return p;
}

static int train_above(gnn_pretrained_t *p, int64_t frozen)
{
    const gnn_labelled_texts_t task = {{TEXTS, texts, NULL}, classes};
    gnn_source_t *source;
    gnn_train_config_t how = {.epochs = 3, .optimizer = {.kind = GNN_ADAMW, .clip_norm = 1}};
    ck_ok(gnn_pretrained_groups(p, 1, frozen, &how.optimizer.groups, &how.optimizer.n_groups));
    ck_ok(gnn_source_of_texts(&source, p, &task, &task, NULL));
    const int rc = gnn_train_batches(gnn_pretrained_model(p), context, source, &how, NULL);
    gnn_source_free(source);
    return rc;
}

static void classify(const gnn_pretrained_t *p, gnn_real_t out[TEXTS * CLASSES])
{
    const gnn_tensor_t logits = gnn_tensor(out, TEXTS, CLASSES);
    ck_ok(gnn_pretrained_classify(p, context, &(gnn_texts_t){TEXTS, texts, NULL}, &logits));
}

/* Embeddings and `frozen - 1` layers in 16 bits: the same logits as with all weights widened, and
 * the written folder has the 16-bit arrays of the original. */
START_TEST(training_above_16_bit_layers_matches_full_precision)
{
    static const char vocabulary[] =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\nthe\na\nis\n";
    const int64_t frozen = _i + 1;
    gnn_real_t got[TEXTS * CLASSES], expected[TEXTS * CLASSES];
    gnn_arrays_t *before, *after;
    char path[1200];
    write_all();
    write_text("vocab.txt", vocabulary);
    write_halves_of(test_folder, GNN_DTYPE_BFLOAT16, false);
    gnn_pretrained_t *kept = open_classes(frozen), *whole = open_classes(0);
    ck_assert_int_eq(count_kept(kept), 3 + (frozen - 1) * 6);
    ck_fails(train_above(kept, frozen - 1), GNN_EUNSUPPORTED, "fp16 or bf16");
    ck_ok(train_above(kept, frozen));
    ck_ok(train_above(whole, frozen));
    classify(kept, got);
    classify(whole, expected);
    ck_near(got, expected, TEXTS * CLASSES);
    ck_assert(got[0] != 0);
    ck_ok(gnn_safetensors_read(&before, in_folder("model.safetensors"), NULL));
    snprintf(path, sizeof path, "%s", in_folder("saved"));
    ck_ok(gnn_pretrained_save(kept, path));
    gnn_pretrained_free(kept);
    ck_ok(gnn_pretrained_open(&kept, context, path));
    classify(kept, expected);
    /* a folder holds float32 */
    ck_within(got, expected, TEXTS * CLASSES, 2e-6);
    ck_ok(gnn_safetensors_read(&after, in_folder("saved/model.safetensors"), NULL));
    int64_t equal = 0;
    for (int64_t k = 0; k < before->count; k++) {
        const gnn_array_t *a = gnn_arrays_at(before, k), *b = gnn_arrays_find(after, a->name);
        equal += b && b->dtype == a->dtype && memcmp(a->data, b->data, 2 * (size_t)a->count) == 0;
    }
    ck_assert_int_eq(equal, 3 + (frozen - 1) * 6);
    gnn_arrays_free(before);
    gnn_arrays_free(after);
    gnn_pretrained_free(kept);
    gnn_pretrained_free(whole);
    clear_folder(path);
    ck_assert_int_eq(rmdir(path), 0);
    remove(in_folder("vocab.txt"));
}
END_TEST

START_TEST(non_finite_weights)
{
    gnn_pretrained_t *p;
    write_all();
    const int64_t k = find("encoder.layer.1.output.dense.weight");
    for (int64_t a = 0; a < bert.n; a++) {
        for (int64_t i = 0; i < bert.arrays[a].count; i++)
            bert.halves[a][i] = half_of((double)bert.numbers[a][i], GNN_DTYPE_BFLOAT16);
        bert.arrays[a].dtype = GNN_DTYPE_BFLOAT16;
        bert.arrays[a].data = bert.halves[a];
    }
    bert.halves[k][5] = 0x7f80;
    write_weights();
    ck_fails(gnn_pretrained_open_with(&p, context, test_folder,
                                      &(gnn_pretrained_config_t){.keep_16_bits = GNN_ON}),
             GNN_ENUMERIC, "element 5");
    ck_assert_ptr_null(p);
}
END_TEST

/* Models in published shapes: the text in one call, and token by token. */
START_TEST(decoders_match_with_fp16_and_bf16_weights)
{
    static const char *const names[] = {"gpt2", "llama"};
    char path[1200];
    snprintf(path, sizeof path, "checkpoints/%s/config.json", names[_i]);
    const char *config = test_golden(path);
    if (!config) {
        test_skip(names[_i], "the golden checkpoints are not there");
        return;
    }
    snprintf(path, sizeof path, "%.*s", (int)(strrchr(config, '/') - config), config);
    for (int k = 0; k < 2; k++) {
        int64_t n, width;
        write_halves_of(path, k ? GNN_DTYPE_BFLOAT16 : GNN_DTYPE_FLOAT16, false);
        ck_same_values(7);
        gnn_pretrained_t *p = open_with(GNN_ON);
        ck_assert_int_gt(count_kept(p), 4);
        gnn_real_t *expected = values_of(p, 7, &n);
        width = n / 14;
        gnn_real_t *row = test_reals(2 * width, 1);
        const gnn_tensor_t out = gnn_tensor(row, 2, width);
        gnn_state_t *state;
        ck_ok(gnn_pretrained_state(&state, p, context, &(gnn_sequences_t){.count = 2}, 7));
        for (int i = 0; i < 7; i++) {
            const int32_t next[] = {1 + i * 7 % 10, 1 + (i + 7) * 7 % 10};
            ck_ok(gnn_pretrained_advance(p, context, state, NULL, next, &out));
            ck_near(row, expected + i * width, width);
            ck_near(row + width, expected + (7 + i) * width, width);
        }
        gnn_state_free(state);
        free(row);
        free(expected);
        gnn_pretrained_free(p);
    }
}
END_TEST

/* ---- memory ---- */

/* A Llama of 38 million weights in bf16, whose parameters begin and end within pages. */
enum { WIDE = 960, DEEP = 2, GATED = 4096, LARGE = 8192 };

static int64_t write_large(void)
{
    static const struct {
        const char *name;
        int64_t rows, cols;
    } parts[] = {{"self_attn.q_proj", WIDE, WIDE},     {"self_attn.k_proj", WIDE, WIDE},
                 {"self_attn.v_proj", WIDE, WIDE},     {"self_attn.o_proj", WIDE, WIDE},
                 {"mlp.gate_proj", GATED, WIDE},       {"mlp.up_proj", GATED, WIDE},
                 {"mlp.down_proj", WIDE, GATED},       {"input_layernorm", WIDE, 0},
                 {"post_attention_layernorm", WIDE, 0}};
    enum { PARTS = sizeof parts / sizeof *parts, ALL = DEEP * PARTS + 2 };
    static char names[ALL][96];
    gnn_array_t arrays[ALL];
    uint16_t *values = calloc((size_t)LARGE * WIDE, sizeof *values);
    int64_t bytes = 0;
    for (int64_t k = 0; k < (int64_t)LARGE * WIDE; k++)
        values[k] = (uint16_t)(0x3c00 + k % 251);
    for (int k = 0; k < ALL; k++) {
        const int part = k % PARTS;
        const bool words = k == DEEP * PARTS, last = k > DEEP * PARTS;
        const int64_t rows = words  ? LARGE
                             : last ? WIDE
                                    : parts[part].rows,
                      cols = words  ? WIDE
                             : last ? 0
                                    : parts[part].cols;
        if (words || last)
            snprintf(names[k], sizeof names[k], "model.%s.weight", words ? "embed_tokens" : "norm");
        else
            snprintf(names[k], sizeof names[k], "model.layers.%d.%s.weight", k / PARTS,
                     parts[part].name);
        arrays[k] = (gnn_array_t){.name = names[k],
                                  .dtype = GNN_DTYPE_BFLOAT16,
                                  .ndim = cols ? 2 : 1,
                                  .shape = {rows, cols},
                                  .count = rows * (cols ? cols : 1),
                                  .data = values};
        bytes += 2 * arrays[k].count;
    }
    ck_ok(gnn_safetensors_write(in_folder("model.safetensors"), ALL, arrays, 0, NULL));
    write_text("config.json", "{\"model_type\": \"llama\", \"hidden_size\": 960, "
                              "\"num_attention_heads\": 8, \"num_hidden_layers\": 2, "
                              "\"vocab_size\": 8192, \"intermediate_size\": 4096, "
                              "\"tie_word_embeddings\": true}");
    free(values);
    return bytes;
}

/* Pages of the mapped file are released once they are copied: the model is there once. Parameters
 * in full precision between those in 16 bits take their own bytes, not huge pages. */
START_TEST(opening_reads_the_file_once)
{
    gnn_pretrained_t *p;
    const int64_t bytes = write_large();
    if (!measurable("opening_reads_the_file_once"))
        return;
    forget_peak();
    const size_t before = status_bytes("VmRSS");
    ck_ok(gnn_pretrained_open_with(&p, context, test_folder,
                                   &(gnn_pretrained_config_t){.keep_16_bits = GNN_ON}));
    const double grown = (double)(status_bytes("VmHWM") - before) / (double)bytes;
    ck_assert_msg(grown > 0.9 && grown < 1.4, "%.2f times the file", grown);
    const double kept = (double)(status_bytes("VmRSS") - before) / (double)bytes;
    printf("%.2f times the file, then %.2f\n", grown, kept);
    ck_assert_msg(kept > 0.9 && kept < 1.1, "%.2f times the file", kept);
    gnn_pretrained_free(p);
}
END_TEST

static void ck_same_arrays(const char *a, const char *b)
{
    gnn_arrays_t *left, *right;
    ck_ok(gnn_safetensors_read(&left, a, NULL));
    ck_ok(gnn_safetensors_read(&right, b, NULL));
    ck_assert_int_eq(left->count, right->count);
    for (int64_t k = 0; k < left->count; k++) {
        const gnn_array_t *from = gnn_arrays_at(left, k), *to = gnn_arrays_find(right, from->name);
        ck_assert(to && to->count == from->count);
        int64_t same = 0;
        while (same < from->count && gnn_array_get(from, same) == gnn_array_get(to, same))
            same++;
        ck_assert_msg(same == from->count, "%s: number %lld differs", from->name, (long long)same);
    }
    gnn_arrays_free(left);
    gnn_arrays_free(right);
}

/* Weights are converted in parts while they are written, also of an array larger than a part. */
START_TEST(saving_does_not_copy_the_model)
{
    gnn_pretrained_t *p = NULL;
    char from[1024], to[1024];
    const int64_t bytes = write_large();
    ck_ok(gnn_pretrained_open_with(
        &p, context, test_folder, &(gnn_pretrained_config_t){.keep_16_bits = _i ? GNN_ON : GNN_OFF}));
    forget_peak();
    const size_t before = status_bytes("VmRSS");
    ck_ok(gnn_pretrained_save(p, in_folder("copy")));
    const double grown = (double)(status_bytes("VmHWM") - before) / (double)bytes;
    if (measurable("saving_does_not_copy_the_model"))
        ck_assert_msg(grown < 0.25, "%.2f times the file", grown);
    snprintf(from, sizeof from, "%s", in_folder("model.safetensors"));
    snprintf(to, sizeof to, "%s", in_folder("copy/model.safetensors"));
    ck_same_arrays(from, to);
    gnn_pretrained_free(p);
    unlink(to);
    unlink(in_folder("copy/config.json"));
    rmdir(in_folder("copy"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pretrained_halves");
    TCase *c = tcase_create("pretrained_halves");
    tcase_add_unchecked_fixture(c, open_context, close_context);
    tcase_add_loop_test(c, a_small_bert, 0, 2);
    tcase_add_test(c, mixed_weight_types_load);
    tcase_add_test(c, calls_that_need_fp32_weights_are_refused);
    tcase_add_loop_test(c, training_above_16_bit_layers_matches_full_precision, 0, 2);
    tcase_add_test(c, non_finite_weights);
    tcase_add_loop_test(c, decoders_match_with_fp16_and_bf16_weights, 0, 2);
    tcase_add_test(c, opening_reads_the_file_once);
    tcase_add_loop_test(c, saving_does_not_copy_the_model, 0, 2);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
