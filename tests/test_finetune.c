/* Fine-tuning: new classes on a pretrained encoder are trained, saved as a folder and opened again;
 * every kind of folder that is opened can be written. */
#include "bert_small.h"

#include <gnn/finetune.h>

/* ---- a small task ---- */

static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\nthe\na\nis\n";
static const char *const texts[] = {
    "the film is good", "a bad film",   "good",        "bad",
    "a good film",      "the film bad", "a film good", "is the film bad"};
static const int32_t labels[] = {1, 0, 1, 0, 1, 0, 1, 0};
static const char *const names[] = {"no", "yes"};
enum { TEXTS = 8, CLASSES = 2 };

static const gnn_labelled_texts_t task = {{TEXTS, texts, NULL}, labels};

typedef struct {
    gnn_context_t *context;
    gnn_pretrained_t *p;
} tuned_t;

static tuned_t open_new(gnn_real_t dropout)
{
    tuned_t t = {0};
    write_all();
    write_text("vocab.txt", vocabulary);
    ck_ok(gnn_context_new(&t.context, &(gnn_context_config_t){.seed = 3}));
    ck_ok(gnn_pretrained_open_classes(
        &t.p, t.context, test_folder,
        &(gnn_classes_config_t){.count = CLASSES, .names = names, .dropout = dropout}));
    return t;
}

static void close_tuned(tuned_t *t)
{
    gnn_pretrained_free(t->p);
    gnn_context_free(t->context);
    count_files(1);
}

static void train(tuned_t *t, int64_t epochs, int64_t sentences, int64_t accumulate,
                  gnn_optimizer_config_t optimizer, gnn_train_result_t *result)
{
    gnn_source_t *source = NULL;
    ck_ok(gnn_source_of_texts(&source, t->p, &task, &task,
                              &(gnn_text_source_config_t){.sentences = sentences}));
    ck_ok(gnn_train_batches(gnn_pretrained_model(t->p), t->context, source,
                            &(gnn_train_config_t){.epochs = epochs,
                                                  .optimizer = optimizer,
                                                  .accumulate = accumulate,
                                                  .watch = GNN_WATCH_NONE},
                            result));
    gnn_source_free(source);
}

static void classify(const tuned_t *t, gnn_real_t logits[TEXTS * CLASSES])
{
    const gnn_tensor_t out = gnn_tensor(logits, TEXTS, CLASSES);
    ck_ok(gnn_pretrained_classify(t->p, t->context, &task.texts, &out));
}

/* All parameters, concatenated; the caller's. */
static gnn_real_t *parameters(const tuned_t *t, int64_t *count)
{
    const gnn_model_t *model = gnn_pretrained_model(t->p);
    gnn_real_t *all = NULL;
    *count = 0;
    for (int64_t k = 0; k < gnn_model_field_count(model); k++) {
        gnn_tensor_t field;
        ck_ok(gnn_model_field(model, gnn_model_field_name(model, k), &field, NULL));
        all = realloc(all, (size_t)(*count + field.rows * field.cols) * sizeof *all);
        for (int64_t r = 0; r < field.rows; r++, *count += field.cols)
            memcpy(all + *count, gnn__row(&field, r), (size_t)field.cols * sizeof *all);
    }
    return all;
}

/* Of files, and of folders of files. */
static void remove_saved(const char *path)
{
    char inner[1200];
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *d; (d = readdir(folder)) != NULL;) {
        snprintf(inner, sizeof inner, "%s/%s", path, d->d_name);
        if (d->d_name[0] != '.' && unlink(inner) != 0)
            remove_saved(inner);
    }
    closedir(folder);
    ck_assert_int_eq(rmdir(path), 0);
}

/* ---- training, saving, loading ---- */

START_TEST(fine_tuning_learns_and_reloads)
{
    tuned_t t = open_new(0);
    gnn_real_t before[TEXTS * CLASSES], after[TEXTS * CLASSES];
    gnn_train_result_t result;
    char folder[600];
    ck_assert_int_eq(gnn_pretrained_label_count(t.p), CLASSES);
    ck_assert_str_eq(gnn_pretrained_label(t.p, 1), "yes");
    classify(&t, before);
    for (int k = 0; k < TEXTS * CLASSES; k++)
        ck_assert(before[k] == 0);
    train(&t, 60, 4, 1, (gnn_optimizer_config_t){.kind = GNN_ADAMW, .lr = (gnn_real_t)0.01}, &result);
    ck_assert_double_gt(result.validation_metric, 0.99);
    classify(&t, before);
    snprintf(folder, sizeof folder, "%s", in_folder("saved"));
    ck_ok(gnn_pretrained_save(t.p, folder));
    gnn_pretrained_free(t.p);
    ck_ok(gnn_pretrained_open(&t.p, t.context, folder));
    classify(&t, after);
    ck_assert_double_le(test_error(after, before, TEXTS * CLASSES), GNN_DOUBLE ? 1e-6 : 0);
    ck_assert_str_eq(gnn_pretrained_label(t.p, 0), "no");
    ck_assert_int_eq(gnn_pretrained_max_length(t.p), PLACES);
    remove_saved(folder);
    close_tuned(&t);
}
END_TEST

/* Classes of pairs are those of the tokens of both texts with their types; a pair differs from the
 * concatenated text. */
START_TEST(pairs_of_texts)
{
    static const char *const first[] = {"the film is good", "bad"}, *const second[] = {"good", "a"};
    const gnn_texts_t one = {2, first, NULL}, other = {2, second, NULL}, few = {1, second, NULL};
    gnn_real_t pairs[2 * CLASSES], expected[2 * CLASSES], alone[2 * CLASSES];
    const gnn_tensor_t out = gnn_tensor(pairs, 2, CLASSES), y = gnn_tensor(expected, 2, CLASSES),
                       z = gnn_tensor(alone, 2, CLASSES);
    gnn_tokens_t *tokens;
    gnn_pretrained_batch_t *batch;
    tuned_t t = open_new(GNN_ZERO);
    train(&t, 3, 4, 1, (gnn_optimizer_config_t){.kind = GNN_ADAMW, .lr = (gnn_real_t)0.01}, NULL);
    ck_ok(gnn_pretrained_classify_pairs(t.p, t.context, &one, &other, &out));
    ck_ok(gnn_tokenizer_encode(gnn_pretrained_tokenizer(t.p), &one, &other,
                               &(gnn_encoding_t){.max_length = PLACES}, &tokens));
    ck_ok(gnn_pretrained_batch_new(
        &batch, t.p,
        &(gnn_sequences_t){
            .count = 2, .lengths = tokens->lengths, .ids = tokens->ids, .types = tokens->types}));
    ck_ok(gnn_model_value(gnn_pretrained_model(t.p), t.context, gnn_pretrained_batch_inputs(batch),
                          "classes", &y));
    ck_assert_mem_eq(pairs, expected, sizeof pairs);
    ck_ok(gnn_pretrained_classify(t.p, t.context, &one, &z));
    ck_assert_mem_ne(pairs, alone, sizeof pairs);
    ck_fails(gnn_pretrained_classify_pairs(t.p, t.context, &one, &few, &out), GNN_EINVALID,
             "expected equal counts");
    ck_fails(gnn_pretrained_classify_pairs(t.p, t.context, &one, NULL, &out), GNN_EINVALID, "second");
    gnn_pretrained_batch_free(batch);
    gnn_tokens_free(tokens);
    close_tuned(&t);
}
END_TEST

/* Two batches of four that make one step are one batch of eight: all losses are means. */
START_TEST(accumulated_batches_equal_one)
{
    gnn_real_t *one, *two;
    int64_t n, m;
    const gnn_optimizer_config_t sgd = {.kind = GNN_SGD, .lr = (gnn_real_t)0.1};
    for (int64_t epochs = 1; epochs < 4; epochs += 2) {
        tuned_t t = open_new(GNN_ZERO);
        train(&t, epochs, 8, 1, sgd, NULL);
        one = parameters(&t, &n);
        close_tuned(&t);
        t = open_new(GNN_ZERO);
        train(&t, epochs, 4, 2, sgd, NULL);
        two = parameters(&t, &m);
        close_tuned(&t);
        ck_assert_int_eq(n, m);
        ck_assert_double_le(test_error(two, one, n), TOLERANCE_OUT);
        free(one);
        free(two);
    }
}
END_TEST

/* Frozen depths keep their bits, others move; rates fall with the depth. */
START_TEST(learning_rates_follow_depth)
{
    tuned_t t = open_new(0);
    const gnn_model_t *model = gnn_pretrained_model(t.p);
    const gnn_parameter_group_t *groups;
    int64_t n_groups, moved = 0;
    gnn_tensor_t field;
    gnn_real_t word[WIDTH], query[WIDTH];
    ck_ok(gnn_pretrained_groups(t.p, 0.5, 2, &groups, &n_groups));
    ck_assert_int_eq(n_groups, 7);
    for (int64_t k = 0; k < n_groups; k++) {
        const double rate = strncmp(groups[k].prefix, "layer.1.", 8) == 0   ? 0.5
                            : strncmp(groups[k].prefix, "classes.", 8) == 0 ? 1
                            : strncmp(groups[k].prefix, "layer.0.", 8) == 0 ? 1e-37
                                                                            : -1;
        if (rate > 0)
            ck_assert_double_eq_tol((double)groups[k].lr_scale, rate, 1e-7);
    }
    ck_ok(gnn_model_field(model, "words.table", &field, NULL));
    memcpy(word, gnn__row(&field, 5), sizeof word);
    ck_ok(gnn_model_field(model, "layer.1.query.weight", &field, NULL));
    memcpy(query, gnn__row(&field, 0), sizeof query);
    train(&t, 5, 4, 1,
          (gnn_optimizer_config_t){
              .kind = GNN_ADAMW, .weight_decay = 1, .groups = groups, .n_groups = n_groups},
          NULL);
    for (int c = 0; c < WIDTH; c++)
        moved += query[c] != gnn__row(&field, 0)[c];
    ck_ok(gnn_model_field(model, "words.table", &field, NULL));
    ck_assert_mem_eq(gnn__row(&field, 5), word, sizeof word);
    ck_assert_int_eq(moved, WIDTH);
    close_tuned(&t);
}
END_TEST

START_TEST(batches_are_shuffled_per_epoch)
{
    tuned_t t = open_new(0);
    gnn_source_t *source = NULL;
    int32_t seen[3][TEXTS];
    ck_ok(gnn_source_of_texts(&source, t.p, &task, NULL,
                              &(gnn_text_source_config_t){.sentences = 3, .seed = 5}));
    ck_assert_int_eq(source->count[GNN_TRAIN], 3);
    ck_assert_int_eq(source->count[GNN_VALIDATION], 0);
    for (int64_t run = 0; run < 3; run++)
        for (int64_t k = 0, at = 0; k < 3; k++) {
            gnn_batch_t batch = {0};
            ck_ok(source->get(source->user, GNN_TRAIN, run == 1 ? 2 : 1, k, &batch));
            for (int64_t i = 0; i < (k < 2 ? 3 : 2); i++)
                seen[run][at++] = batch.loss.labels[i];
        }
    ck_assert_mem_eq(seen[0], seen[2], sizeof seen[0]);
    ck_assert_mem_ne(seen[0], seen[1], sizeof seen[0]);
    gnn_source_free(source);
    close_tuned(&t);
}
END_TEST

/* ---- every folder can be written ---- */

static const char *const folders[] = {
    "checkpoints/bert",      "checkpoints/roberta", "checkpoints/distilbert",
    "checkpoints/mpnet",     "checkpoints/gpt2",    "checkpoints/llama",
    "checkpoints/vit",       "checkpoints/t5",      "checkpoints/marian",
    "zoo/models/mistral",    "zoo/models/t5_gated", "zoo/models/gpt_neox",
    "zoo/models/gpt_neo",    "zoo/models/gptj",     "zoo/models/bloom",
    "zoo/models/falcon",     "zoo/models/mpt",      "zoo/models/gemma2",
    "zoo/models/modernbert", "zoo/models/led",      "checkpoints/longformer",
    "zoo/models/qwen3",      "zoo/models/olmo2",    "zoo/models/deberta",
    "zoo/models/deberta_v2"};

/* Weights are halved before saving, so that the loaded ones differ from the original file. */
START_TEST(saved_folders_open)
{
    gnn_context_t *context = NULL;
    gnn_pretrained_t *p = NULL, *q = NULL;
    char file[256], folder[1200], saved[600];
    snprintf(file, sizeof file, "%s/config.json", folders[_i]);
    const char *path = test_golden(file);
    if (!path) {
        test_skip(folders[_i], "the golden checkpoints are not there");
        return;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    snprintf(saved, sizeof saved, "%s", in_folder("written"));
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_pretrained_open(&p, context, folder));
    const gnn_model_t *model = gnn_pretrained_model(p);
    for (int64_t k = 0; k < gnn_model_field_count(model); k++) {
        gnn_tensor_t x;
        ck_ok(gnn_model_field(model, gnn_model_field_name(model, k), &x, NULL));
        for (int64_t i = 0; i < x.rows * x.cols; i++)
            gnn__row(&x, i / x.cols)[i % x.cols] /= 2;
    }
    ck_ok(gnn_pretrained_save(p, saved));
    ck_ok(gnn_pretrained_open(&q, context, saved));
    int64_t other = 0;
    for (int64_t k = 0; k < gnn_model_field_count(model); k++) {
        const char *name = gnn_model_field_name(model, k);
        gnn_tensor_t x, y;
        ck_ok(gnn_model_field(model, name, &x, NULL));
        ck_ok(gnn_model_field(gnn_pretrained_model(q), name, &y, NULL));
        for (int64_t i = 0; i < x.rows * x.cols; i++)
            other += fabs((double)gnn__row(&x, i / x.cols)[i % x.cols] -
                          (double)gnn__row(&y, i / x.cols)[i % x.cols]) > 1e-6;
        const bool made =
            strstr(name, "slopes") || strstr(name, "positions.table") || strstr(name, "key.bias");
        ck_assert_msg(other == 0 || made, "%s: %s: %lld numbers differ", folders[_i], name,
                      (long long)other);
        other = 0;
    }
    gnn_pretrained_free(p);
    gnn_pretrained_free(q);
    gnn_context_free(context);
    remove_saved(saved);
}
END_TEST

/* ---- refusals ---- */

START_TEST(bad_settings_are_named)
{
    tuned_t t = open_new(0);
    gnn_pretrained_t *p = NULL;
    gnn_source_t *source = NULL;
    const gnn_parameter_group_t *groups;
    int64_t n;
    gnn_real_t logits[TEXTS * 3];
    const gnn_tensor_t out = gnn_tensor(logits, TEXTS, 3);
    const int32_t wrong[] = {0, 1, 2, 0, 0, 0, 0, 0};
    ck_fails(gnn_pretrained_open_classes(&p, t.context, test_folder,
                                         &(gnn_classes_config_t){.count = 1}),
             GNN_EINVALID, "1 classes, from 2");
    ck_fails(gnn_pretrained_open_classes(&p, t.context, test_folder,
                                         &(gnn_classes_config_t){.count = 2, .dropout = 1}),
             GNN_EINVALID, ".dropout = 1");
    ck_fails(gnn_pretrained_open_classes(
                 &p, t.context, test_folder,
                 &(gnn_classes_config_t){.count = 2, .names = (const char *const[]){"a", NULL}}),
             GNN_EINVALID, "class 1 has no name");
    ck_assert_ptr_null(p);
    ck_fails(gnn_source_of_texts(&source, t.p, &(gnn_labelled_texts_t){task.texts, wrong}, NULL, NULL),
             GNN_EINVALID, "text 2 has label 2, the model has 2 classes");
    ck_fails(gnn_source_of_texts(&source, t.p, &(gnn_labelled_texts_t){task.texts, NULL}, NULL, NULL),
             GNN_EINVALID, "without labels");
    ck_assert_ptr_null(source);
    ck_fails(gnn_pretrained_groups(t.p, 2, 0, &groups, &n), GNN_EINVALID, "decay = 2");
    ck_fails(gnn_pretrained_classify(t.p, t.context, &task.texts, &out), GNN_ESHAPE, "8 x 2");
    ck_fails(gnn_pretrained_save(t.p, "/proc/none/folder"), GNN_EIO, "cannot be made");
    close_tuned(&t);
}
END_TEST

START_TEST(nulls_are_refused)
{
    tuned_t t = open_new(0);
    gnn_pretrained_t *p = NULL;
    gnn_source_t *source = NULL;
    const gnn_parameter_group_t *groups;
    int64_t n;
    const gnn_tensor_t out = {0};
    const gnn_classes_config_t c = {.count = 2};
    ck_assert_int_eq(gnn_pretrained_open_classes(NULL, t.context, "x", &c), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_open_classes(&p, NULL, "x", &c), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_open_classes(&p, t.context, NULL, &c), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_open_classes(&p, t.context, "x", NULL), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_save(NULL, "x"), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_save(t.p, NULL), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_classify(NULL, t.context, &task.texts, &out), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_classify(t.p, NULL, &task.texts, &out), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_classify(t.p, t.context, NULL, &out), GNN_EINVALID);
    ck_assert_int_ne(gnn_pretrained_classify(t.p, t.context, &task.texts, NULL), GNN_OK);
    ck_assert_int_eq(gnn_pretrained_groups(NULL, 1, 0, &groups, &n), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_groups(t.p, 1, 0, NULL, &n), GNN_EINVALID);
    ck_assert_int_eq(gnn_pretrained_groups(t.p, 1, 0, &groups, NULL), GNN_EINVALID);
    ck_assert_int_eq(gnn_source_of_texts(NULL, t.p, &task, NULL, NULL), GNN_EINVALID);
    ck_assert_int_eq(gnn_source_of_texts(&source, NULL, &task, NULL, NULL), GNN_EINVALID);
    ck_assert_int_eq(gnn_source_of_texts(&source, t.p, NULL, NULL, NULL), GNN_EINVALID);
    ck_assert_ptr_null(source);
    gnn_source_free(NULL);
    close_tuned(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("finetune");
    TCase *c = tcase_create("finetune");
    tcase_add_checked_fixture(c, make_folder, NULL);
    tcase_add_test(c, fine_tuning_learns_and_reloads);
    tcase_add_test(c, pairs_of_texts);
    tcase_add_test(c, accumulated_batches_equal_one);
    tcase_add_test(c, learning_rates_follow_depth);
    tcase_add_test(c, batches_are_shuffled_per_epoch);
    tcase_add_loop_test(c, saved_folders_open, 0, sizeof folders / sizeof *folders);
    tcase_add_test(c, bad_settings_are_named);
    tcase_add_test(c, nulls_are_refused);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
