/* Every key of a published model's files, changed and dropped: results match the packages
 * transformers and sentence-transformers, or the error names the key. tests/transformers/keys.py,
 * generations.py and sentences.py write the tables and document their lines. */
#include "members.h"
#include "published.h"

#include <gnn/generate.h>

enum { N_SAMPLED = 6, STRIDE = 7919 };

/* The checkpoint whose changes follow. */
typedef struct {
    gnn_context_t *context;
    json_t *line; /* owns the others */
    const char *name, *step;
    json_t *files, *arrays, *inputs;
    double scale, values[N_SAMPLED];
    int64_t changes, refused;
} table_t;

static void cut_file(const char *name, double part)
{
    struct stat s;
    ck_assert_int_eq(stat(in_folder(name), &s), 0);
    ck_assert_int_eq(truncate(in_folder(name), (off_t)((double)s.st_size * part)), 0);
}

/* A file of the checkpoint with some keys changed, or dropped, or cut short; null: without the
 * file. */
static void write_change(const table_t *t, const char *name, const json_t *change)
{
    const json_t *base = json_object_get(t->files, name), *whole = json_object_get(change, "whole"),
                 *part = json_object_get(change, "part");
    json_t *changed = base ? json_deep_copy(base) : json_object();
    if (json_is_null(change)) {
        remove(in_folder(name));
    } else if (part) {
        cut_file(name, json_number_value(part));
    } else if (whole) {
        write_file(name, whole);
    } else {
        for (size_t k = 0; k < json_array_size(change); k++)
            json_object_del(changed, json_string_value(json_array_get(change, k)));
        if (json_is_object(change))
            json_object_update(changed, (json_t *)change);
        write_file(name, changed);
    }
    json_decref(changed);
}

static void write_back(const table_t *t, const char *name)
{
    const json_t *base = json_object_get(t->files, name), *shapes = json_object_get(t->arrays, name);
    if (base)
        write_file(name, base);
    else if (shapes)
        write_arrays(name, shapes);
    else
        remove(in_folder(name));
}

/* ---- what the library makes of it ---- */

static int64_t take_integers(const json_t *list, void *to, bool wide)
{
    const int64_t n = (int64_t)json_array_size(list);
    for (int64_t k = 0; k < n; k++)
        if (wide)
            ((int64_t *)to)[k] = json_integer_value(json_array_get(list, (size_t)k));
        else
            ((int32_t *)to)[k] = (int32_t)json_integer_value(json_array_get(list, (size_t)k));
    return n;
}

static int64_t sum_of(const int64_t *lengths, int64_t n)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += lengths[k];
    return sum;
}

static int sequences_value(const table_t *t, const gnn_pretrained_t *p, int64_t rows,
                           gnn_real_t **out, int64_t *count)
{
    static int64_t lengths[2][16];
    static int32_t ids[2][256];
    gnn_tensor_t pixels = {0};
    gnn_pretrained_batch_t *batch = NULL;
    gnn_sequences_t s = {.lengths = lengths[0], .ids = ids[0]};
    const json_t *image = json_object_get(t->inputs, "pixels"),
                 *written = json_object_get(t->inputs, "decoder_lengths");
    s.count = take_integers(json_object_get(t->inputs, "lengths"), lengths[0], true);
    take_integers(json_object_get(t->inputs, "ids"), ids[0], false);
    if (written) {
        take_integers(written, lengths[1], true);
        take_integers(json_object_get(t->inputs, "decoder_ids"), ids[1], false);
        s.decoder_lengths = lengths[1];
        s.decoder_ids = ids[1];
    }
    float *drawn = NULL;
    gnn_real_t *real = NULL;
    if (image) {
        int64_t shape[8], size = 1;
        ck_assert_uint_le(json_array_size(image), 8);
        take_integers(image, shape, true);
        for (size_t k = 1; k < json_array_size(image); k++)
            size *= shape[k];
        s = (gnn_sequences_t){.count = shape[0],
                              .pixels = &pixels,
                              .height = shape[json_array_size(image) - 2],
                              .width = shape[json_array_size(image) - 1]};
        drawn = weights_of("pixels", 4, shape[0] * size);
        real = malloc(sizeof *real * (size_t)(shape[0] * size));
        for (int64_t k = 0; k < shape[0] * size; k++)
            real[k] = (gnn_real_t)drawn[k];
        pixels = gnn_tensor(real, shape[0], size);
    }
    int rc = gnn_pretrained_batch_new(&batch, p, &s);
    if (rc == GNN_OK) {
        const gnn_model_t *model = gnn_pretrained_model(p);
        const char *name = gnn_model_find(model, t->step) >= 0 ? t->step : "hidden";
        const int64_t step = gnn_model_find(model, name), width = gnn_model_width(model, step);
        if (strcmp(name, t->step) != 0) /* a change without the head: a row for each token */
            rows = sum_of(s.decoder_lengths ? s.decoder_lengths : s.lengths, s.count);
        *count = rows * width;
        *out = calloc((size_t)*count + 1, sizeof **out);
        const gnn_tensor_t value = gnn_tensor(*out, rows, width);
        rc = gnn_model_value(model, t->context, gnn_pretrained_batch_inputs(batch), name, &value);
    }
    gnn_pretrained_batch_free(batch);
    free(drawn);
    free(real);
    return rc;
}

static int texts_value(const table_t *t, const gnn_pretrained_t *p, gnn_real_t **out, int64_t *count)
{
    const char *texts[16];
    const json_t *list = json_object_get(t->inputs, "texts");
    const int64_t n = (int64_t)json_array_size(list), width = gnn_pretrained_embedding_width(p);
    for (int64_t k = 0; k < n; k++)
        texts[k] = json_string_value(json_array_get(list, (size_t)k));
    *count = n * (width > 0 ? width : 1);
    *out = calloc((size_t)*count + 1, sizeof **out);
    const gnn_tensor_t value = gnn_tensor(*out, n, width > 0 ? width : 1);
    return gnn_pretrained_embed(p, t->context, &(gnn_texts_t){n, texts, NULL}, &value);
}

/* The tokens that the model writes, `longest` for each text, -1 after its end. */
static int written_value(const table_t *t, const gnn_pretrained_t *p, gnn_real_t **out, int64_t *count)
{
    const json_t *prompts = json_object_get(t->inputs, "prompts");
    const int64_t longest = json_integer_value(json_object_get(t->inputs, "longest"));
    const gnn_writer_t writer = {.pretrained = p};
    gnn_written_t *written;
    int64_t lengths[16], rows = 0, at = 0;
    int32_t ids[256];
    gnn_sequences_t s = {.count = (int64_t)json_array_size(prompts), .lengths = lengths, .ids = ids};
    for (int64_t k = 0; k < s.count; rows += lengths[k++])
        lengths[k] = take_integers(json_array_get(prompts, (size_t)k), ids + rows, false);
    GNN_TRY(gnn_generate(&writer, t->context, &s, NULL, &written));
    *count = written->count * longest;
    *out = calloc((size_t)*count + 1, sizeof **out);
    for (int64_t k = 0; k < written->count; at += written->lengths[k++])
        for (int64_t i = 0; i < longest; i++)
            (*out)[k * longest + i] =
                (gnn_real_t)(i < written->lengths[k] ? written->ids[at + i] : -1);
    gnn_written_free(written);
    return GNN_OK;
}

/* The values that the folder gives, or an error. */
static int values_of(const table_t *t, gnn_real_t **out, int64_t *count)
{
    gnn_pretrained_t *p = NULL;
    *out = NULL;
    int rc = gnn_pretrained_open(&p, t->context, test_folder);
    if (rc == GNN_OK && json_object_get(t->inputs, "texts"))
        rc = texts_value(t, p, out, count);
    else if (rc == GNN_OK && json_object_get(t->inputs, "prompts"))
        rc = written_value(t, p, out, count);
    else if (rc == GNN_OK)
        rc = sequences_value(t, p, json_integer_value(json_object_get(t->inputs, "rows")), out,
                             count);
    gnn_pretrained_free(p);
    return rc;
}

/* ---- lines ---- */

static void ck_values(const table_t *t, const char *change)
{
    gnn_real_t *out;
    int64_t count = 0;
    const int rc = values_of(t, &out, &count);
    ck_assert_msg(rc == GNN_OK, "%s: %s: %s", t->name, change, gnn_error_message());
    for (int k = 0; k < N_SAMPLED; k++) {
        const double ours = (double)out[(k + 1) * STRIDE % count];
        ck_assert_msg(fabs(ours - t->values[k]) <= 1e-5 * t->scale,
                      "%s: %s: value %d is %.9g, %.9g expected", t->name, change, k, ours,
                      t->values[k]);
    }
    free(out);
}

static void ck_refused(table_t *t, const char *change, const char *words)
{
    gnn_real_t *out;
    int64_t count;
    const int rc = values_of(t, &out, &count);
    ck_assert_msg(rc != GNN_OK, "%s: %s is taken", t->name, change);
    ck_assert_msg(strstr(gnn_error_message(), words) != NULL, "%s: %s: \"%s\" is not named by %s",
                  t->name, change, words, gnn_error_message());
    free(out);
    t->refused++;
}

static void take_change(table_t *t, const json_t *line, const char *text)
{
    const char *verdict = json_string_value(json_array_get(line, 0)),
               *file = json_string_value(json_array_get(line, 1));
    if (strcmp(verdict, "~") == 0) {
        t->scale = json_number_value(json_array_get(line, 3));
        for (int k = 0; k < N_SAMPLED; k++)
            t->values[k] = json_number_value(json_array_get(json_array_get(line, 4), (size_t)k));
    }
    t->changes++;
    if (test_small() && t->changes % 20 != 1)
        return;
    write_change(t, file, json_array_get(line, 2));
    if (strcmp(verdict, "!") == 0)
        ck_refused(t, text, json_string_value(json_array_get(line, 3)));
    else
        ck_values(t, text);
    write_back(t, file);
}

static void take_checkpoint(table_t *t, json_t *line)
{
    json_decref(t->line);
    t->line = json_incref(line);
    t->name = json_string_value(json_array_get(line, 1));
    t->files = json_array_get(line, 2);
    t->arrays = json_array_get(line, 3);
    t->inputs = json_array_get(line, 4);
    t->step = json_string_value(json_array_get(line, 5));
    clear_folder(test_folder);
    write_published(t->files, t->arrays);
}

static const char *const tables[] = {
    "tests/golden/keys.jsonl.gz",        "tests/golden/classes.jsonl.gz",
    "tests/golden/experts.jsonl.gz",     "tests/golden/architectures.jsonl.gz",
    "tests/golden/generations.jsonl.gz", "tests/golden/sentences.jsonl.gz",
    "tests/golden/systems.jsonl.gz",     "tests/golden/latents.jsonl.gz",
    "tests/golden/averages.jsonl.gz",    "tests/golden/hashes.jsonl.gz",
    "tests/golden/blocks.jsonl.gz",      "tests/golden/memories.jsonl.gz",
    "tests/golden/published.jsonl.gz"};

START_TEST(every_key_is_used_harmless_or_refused)
{
    char path[1024];
    gnn_text_lines_t *lines;
    table_t t = {.changes = 0};
    snprintf(path, sizeof path, "%s/%s", GNN_SOURCE_ROOT, tables[_i]);
    ck_ok(gnn_context_new(&t.context, NULL));
    ck_ok(gnn_text_lines_read(&lines, path));
    for (int64_t k = 0; k < lines->count; k++) {
        json_t *line;
        ck_ok(gnn__json_parse(&line, lines->at[k], (int64_t)strlen(lines->at[k]),
                              GNN__JSON_UNIQUE | GNN__JSON_WIDE, JSON_LEVELS));
        if (strcmp(json_string_value(json_array_get(line, 0)), "checkpoint") == 0)
            take_checkpoint(&t, line);
        else
            take_change(&t, line, lines->at[k]);
        json_decref(line);
    }
    printf("%s: %lld changes, %lld refused\n", tables[_i], (long long)t.changes,
           (long long)t.refused);
    ck_assert_int_gt(t.changes, 100);
    clear_folder(test_folder);
    json_decref(t.line);
    gnn_text_lines_free(lines);
    gnn_context_free(t.context);
}
END_TEST

/* A value outside of the range of its key's kind is refused with the range (ALBERT, the first of
 * the table). */
START_TEST(values_of_another_kind_are_refused)
{
    static const struct {
        const char *change, *expected;
    } refused[] = {{"{\"hidden_size\": 0}", "an integer of at least 1"},
                   {"{\"hidden_size\": 16.5}", "an integer of at least 1"},
                   {"{\"num_hidden_layers\": -1}", "an integer of at least 0"},
                   {"{\"layer_norm_eps\": 0}", "a number above 0"},
                   {"{\"layer_norm_eps\": \"small\"}", "a number above 0"},
                   {"{\"hidden_act\": 3}", "a text"},
                   {"{\"pad_token_id\": \"[PAD]\"}", "\"pad_token_id\" is \"[PAD]\", an integer"},
                   {"{\"pad_token_id\": [0]}", "an integer"},
                   {"{\"eos_token_id\": [1, \"b\"]}",
                    "an integer of at least 0 or a list of integers of at least 0"},
                   {"{\"architectures\": [\"BertModel\", 3]}", "a list of texts"}};
    gnn_text_lines_t *lines;
    table_t t = {.changes = 0};
    json_t *line;
    ck_ok(gnn_context_new(&t.context, NULL));
    ck_ok(gnn_text_lines_read(&lines, GNN_SOURCE_ROOT "/tests/golden/keys.jsonl.gz"));
    ck_ok(gnn__json_parse(&line, lines->at[0], (int64_t)strlen(lines->at[0]),
                          GNN__JSON_UNIQUE | GNN__JSON_WIDE, JSON_LEVELS));
    take_checkpoint(&t, line);
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        json_t *change;
        ck_ok(gnn__json_parse(&change, refused[k].change, (int64_t)strlen(refused[k].change),
                              GNN__JSON_UNIQUE, JSON_LEVELS));
        write_change(&t, "config.json", change);
        ck_refused(&t, refused[k].change, refused[k].expected);
        write_back(&t, "config.json");
        json_decref(change);
    }
    clear_folder(test_folder);
    json_decref(line);
    json_decref(t.line);
    gnn_text_lines_free(lines);
    gnn_context_free(t.context);
}
END_TEST

/* Opens a checkpoint of a table. */
static gnn_pretrained_t *open_named(gnn_context_t *context, const char *table, const char *name)
{
    char path[1024];
    gnn_text_lines_t *lines;
    gnn_pretrained_t *p = NULL;
    table_t t = {.changes = 0};
    snprintf(path, sizeof path, "%s/%s", GNN_SOURCE_ROOT, table);
    ck_ok(gnn_text_lines_read(&lines, path));
    for (int64_t k = 0; k < lines->count && !p; k++) {
        json_t *line;
        ck_ok(gnn__json_parse(&line, lines->at[k], (int64_t)strlen(lines->at[k]),
                              GNN__JSON_UNIQUE | GNN__JSON_WIDE, JSON_LEVELS));
        if (strcmp(json_string_value(json_array_get(line, 0)), "checkpoint") == 0 &&
            strcmp(json_string_value(json_array_get(line, 1)), name) == 0) {
            take_checkpoint(&t, line);
            ck_ok(gnn_pretrained_open(&p, context, test_folder));
        }
        json_decref(line);
    }
    ck_assert_ptr_nonnull(p);
    json_decref(t.line);
    gnn_text_lines_free(lines);
    return p;
}

/* ---- fields of sequences ---- */

static const gnn_pretrained_t *of_sequences;

/* The model's inputs, and its graphs. Images are as many as are counted. */
static int run_sequences(const void *config, uint64_t *sum)
{
    gnn_sequences_t s = *(const gnn_sequences_t *)config;
    gnn_pretrained_batch_t *batch;
    gnn_tensor_t pixels;
    if (s.pixels) {
        pixels = *s.pixels;
        pixels.rows = s.count;
        s.pixels = &pixels;
    }
    GNN_TRY(gnn_pretrained_batch_new(&batch, of_sequences, &s));
    const gnn_model_inputs_t *inputs = gnn_pretrained_batch_inputs(batch);
    for (int64_t k = 0; k < inputs->n_values; k++) {
        const gnn_named_t *v = &inputs->values[k];
        if (v->ids)
            digest(sum, v->ids, (size_t)v->count * sizeof *v->ids);
        if (v->dense)
            digest(sum, v->dense->data,
                   (size_t)(v->dense->rows * v->dense->cols) * sizeof(gnn_real_t));
    }
    for (int64_t k = 0; k < inputs->n_graphs; k++) {
        const int64_t pairs = gnn_graph_n_pairs(inputs->graphs[k]);
        digest(sum, &pairs, sizeof pairs);
    }
    gnn_pretrained_batch_free(batch);
    return GNN_OK;
}

#define OF(member) MEMBER(gnn_sequences_t, member)
static const member_t of_fields[] = {OF(count),           OF(lengths),     OF(ids),    OF(types),
                                     OF(decoder_lengths), OF(decoder_ids), OF(pixels), OF(features),
                                     OF(height),          OF(width)};
#undef OF

static const int64_t two_and_three[] = {2, 3}, three_and_two[] = {3, 2};
static const int32_t some_ids[] = {5, 6, 7, 6, 5}, other_ids[] = {6, 6, 7, 5, 6},
                     some_types[] = {0, 1, 0, 0, 1}, no_types[5];

static const struct {
    const char *table, *name;
    bool images, decodes, types;
} readers[] = {{"keys", "bert_classes", false, false, true},
               {"keys", "distilbert_classes", false, false, false},
               {"keys", "gpt2_next", false, false, false},
               {"keys", "bart", false, true, false},
               {"systems", "swin_classes", true, false, false}};

/* Fields that a model does not read are refused, not passed over. */
START_TEST(fields_of_sequences)
{
    enum { PIXELS = 3 * 256 };
    static gnn_real_t data[2 * PIXELS + 1];
    char table[80];
    gnn_context_t *context;
    const gnn_tensor_t pixels = gnn_tensor(data, 2, PIXELS),
                       brighter = gnn_tensor(data + 1, 2, PIXELS), rows = gnn_tensor(data, 5, 4);
    const bool images = readers[_i].images, decodes = readers[_i].decodes;
    for (int k = 0; k <= 2 * PIXELS; k++)
        data[k] = (gnn_real_t)(k % 17);
    ck_ok(gnn_context_new(&context, NULL));
    snprintf(table, sizeof table, "tests/golden/%s.jsonl.gz", readers[_i].table);
    gnn_pretrained_t *p = open_named(context, table, readers[_i].name);
    of_sequences = p;
    gnn_sequences_t base = {.count = 2, .lengths = two_and_three, .ids = some_ids},
                    other = {.count = 1,
                             .lengths = three_and_two,
                             .ids = other_ids,
                             .types = some_types,
                             .decoder_lengths = three_and_two,
                             .decoder_ids = other_ids,
                             .pixels = images ? &brighter : &pixels,
                             .features = &rows,
                             .height = 8,
                             .width = 8};
    if (decodes) {
        base.decoder_lengths = two_and_three;
        base.decoder_ids = some_ids;
    }
    if (images)
        base = (gnn_sequences_t){.count = 2, .pixels = &pixels};
    ck_members(readers[_i].name, run_sequences, &base, &other, of_fields,
               sizeof of_fields / sizeof *of_fields, sizeof base);
    uint64_t before, after;
    if (!images) { /* types of 0 are those of no types */
        gnn_sequences_t typed = base;
        typed.types = no_types;
        ck_ok(run_digested(run_sequences, &base, &before));
        ck_ok(run_digested(run_sequences, &typed, &after));
        ck_assert_uint_eq(before, after);
        typed.types = some_types;
        if (!readers[_i].types)
            ck_fails(run_digested(run_sequences, &typed, &after), GNN_EINVALID,
                     "reads no .types, expected 0 of each token, token 1 has 1");
    }
    gnn_pretrained_free(p);
    clear_folder(test_folder);
    gnn_context_free(context);
}
END_TEST

/* A state has the encoder's tokens; those of a decoder come later. */
START_TEST(fields_of_states)
{
    gnn_context_t *context;
    gnn_state_t *state;
    ck_ok(gnn_context_new(&context, NULL));
    gnn_pretrained_t *p = open_named(context, "tests/golden/keys.jsonl.gz", "gpt2_next");
    ck_fails(gnn_pretrained_state(&state, p, context,
                                  &(gnn_sequences_t){.count = 2, .lengths = two_and_three}, 8),
             GNN_EINVALID, "reads no .lengths: gnn_pretrained_advance takes tokens");
    ck_fails(gnn_pretrained_state(&state, p, context,
                                  &(gnn_sequences_t){.count = 2, .ids = some_ids}, 8),
             GNN_EINVALID, "reads no .ids");
    gnn_pretrained_free(p);
    p = open_named(context, "tests/golden/keys.jsonl.gz", "bart");
    ck_fails(gnn_pretrained_state(&state, p, context,
                                  &(gnn_sequences_t){.count = 2,
                                                     .lengths = two_and_three,
                                                     .ids = some_ids,
                                                     .decoder_lengths = two_and_three},
                                  8),
             GNN_EINVALID, "reads no .decoder_lengths");
    ck_ok(gnn_pretrained_state(
        &state, p, context,
        &(gnn_sequences_t){.count = 2, .lengths = two_and_three, .ids = some_ids}, 8));
    gnn_state_free(state);
    gnn_pretrained_free(p);
    clear_folder(test_folder);
    gnn_context_free(context);
}
END_TEST

/* Images of a model that takes any size have one that the caller gives; others have image_size.
 * 16 x 25 pixels are as many as 20 x 20. */
START_TEST(images_of_another_size_are_refused)
{
    enum { CHANNELS = 3, MOST = CHANNELS * 400 };
    static gnn_real_t data[MOST];
    gnn_context_t *context;
    gnn_pretrained_batch_t *batch;
    const gnn_tensor_t pixels = gnn_tensor(data, 1, MOST),
                       small = gnn_tensor(data, 1, CHANNELS * 256);
    ck_ok(gnn_context_new(&context, NULL));
    gnn_pretrained_t *p = open_named(context, "tests/golden/blocks.jsonl.gz", "poolformer_classes");
    static const struct {
        int64_t height, width;
        int code;
        const char *expected;
    } refused[] = {{0, 0, GNN_EINVALID, "since the model has no image_size, got 0 x 0"},
                   {16, 0, GNN_EINVALID, "got 16 x 0"},
                   {-16, -25, GNN_EINVALID, "got -16 x -25"},
                   {1, 5000, GNN_EINVALID, "1 to 4096"},
                   {16, 24, GNN_ESHAPE, "1 images of 3 x 16 x 24 are expected"},
                   {4, 100, GNN_ESHAPE, "images of 4 x 100 pixels are too small"}};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        ck_fails(gnn_pretrained_batch_new(&batch, p,
                                          &(gnn_sequences_t){.count = 1,
                                                             .pixels = &pixels,
                                                             .height = refused[k].height,
                                                             .width = refused[k].width}),
                 refused[k].code, refused[k].expected);
    ck_ok(gnn_pretrained_batch_new(
        &batch, p, &(gnn_sequences_t){.count = 1, .pixels = &pixels, .height = 16, .width = 25}));
    gnn_pretrained_batch_free(batch);
    gnn_pretrained_free(p);
    p = open_named(context, "tests/golden/systems.jsonl.gz", "swin_classes");
    ck_fails(
        gnn_pretrained_batch_new(
            &batch, p, &(gnn_sequences_t){.count = 1, .pixels = &small, .height = 8, .width = 32}),
        GNN_ESHAPE, "images are 8 x 32 (height, width), 16 x 16 are expected (image_size)");
    ck_ok(gnn_pretrained_batch_new(&batch, p, &(gnn_sequences_t){.count = 1, .pixels = &small}));
    gnn_pretrained_batch_free(batch);
    gnn_pretrained_free(p);
    clear_folder(test_folder);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keys");
    TCase *keys = tcase_create("keys");
    tcase_add_unchecked_fixture(keys, make_folder, remove_folder);
    tcase_add_loop_test(keys, every_key_is_used_harmless_or_refused, 0,
                        sizeof tables / sizeof *tables);
    tcase_add_test(keys, values_of_another_kind_are_refused);
    tcase_add_loop_test(keys, fields_of_sequences, 0, (int)(sizeof readers / sizeof *readers));
    tcase_add_test(keys, fields_of_states);
    tcase_add_test(keys, images_of_another_size_are_refused);
    tcase_set_timeout(keys, 900);
    suite_add_tcase(suite, keys);
    return test_main(suite);
}
