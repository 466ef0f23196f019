/* Batches of sequences: inputs and targets of each row, each sequence once per epoch, an
 * encoder-decoder that learns to reverse digits, and the bits of a resumed training. */
#include "support.h"

#include <stdio.h>
#include <unistd.h>

enum { DIGITS = 10, BEGIN = 10, END = 11, WORDS = 12, WIDTH = 32, PLACES = 16, MOST = 2048 };

/* ---- a task: digits, written in reverse ---- */

typedef struct {
    int64_t lengths[MOST], written_lengths[MOST];
    int32_t ids[MOST * 8], written[MOST * 8];
    gnn_sequences_t sequences;
} task_t;

static task_t *make_task(int64_t count, uint64_t seed)
{
    task_t *t = calloc(1, sizeof *t);
    int64_t rows = 0, written = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t n = 2 + test_below(&seed, 5);
        for (int64_t d = 0; d < n; d++)
            t->ids[rows + d] = (int32_t)test_below(&seed, DIGITS);
        t->written[written++] = BEGIN;
        for (int64_t d = 0; d < n; d++)
            t->written[written++] = t->ids[rows + n - 1 - d];
        t->written[written++] = END;
        t->lengths[k] = n;
        t->written_lengths[k] = n + 2;
        rows += n;
    }
    t->sequences = (gnn_sequences_t){.count = count,
                                     .lengths = t->lengths,
                                     .ids = t->ids,
                                     .decoder_lengths = t->written_lengths,
                                     .decoder_ids = t->written};
    return t;
}

static gnn_model_t *make_model(gnn_context_t *context, double dropout)
{
    const gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = WIDTH, .heads = 4, .feed_forward = 2 * WIDTH,
                        .norm_position = GNN_NORM_BEFORE, .dropout = (gnn_real_t)dropout);
    gnn_steps_t *steps;
    gnn_model_t *model;
    ck_ok(gnn_steps_new(&steps));
    for (int side = 0; side < 2; side++) {
        gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_EMBED,
                                           .name = side ? "written" : "words",
                                           .inputs = {side ? "decoder_ids" : "ids"},
                                           .in = WORDS,
                                           .out = WIDTH,
                                           .share = side ? "words" : NULL});
        gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_EMBED,
                                           .name = side ? "written_places" : "places",
                                           .inputs = {side ? "decoder_positions" : "positions"},
                                           .in = PLACES,
                                           .out = WIDTH,
                                           .share = side ? "places" : NULL});
        gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_ADD,
                                           .inputs = {side ? "written" : "words",
                                                      side ? "written_places" : "places"}});
        if (side == 0)
            gnn_steps_add(steps, &(gnn_step_t){.name = "memory", .layer = layer});
        else
            gnn_steps_block(
                steps, "decoder_layer",
                &(gnn_block_t){.name = "decoder", .memory = "memory", .graph = 1, .layer = layer});
    }
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_NORM, .in = WIDTH, .norm = GNN_NORM_LAYER});
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .in = WIDTH, .out = WORDS});
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

/* A language model over `WORDS` tokens. */
static gnn_model_t *make_language_model(gnn_context_t *context)
{
    gnn_model_t *model;
    ck_ok(gnn_model_from_steps(
        &model, context, 3,
        (gnn_step_t[]){{.kind = GNN_STEP_EMBED, .inputs = {"ids"}, .in = WORDS, .out = WIDTH},
                       {.layer = GNN_TRANSFORMER(.in = WIDTH, .heads = 4, .map = &gnn_map_rope)},
                       {.kind = GNN_STEP_LINEAR, .in = WIDTH, .out = WORDS}}));
    return model;
}

/* ---- batches ---- */

static const gnn_named_t *input(const gnn_batch_t *batch, const char *name)
{
    for (int64_t k = 0; k < batch->inputs.n_values; k++)
        if (strcmp(batch->inputs.values[k].name, name) == 0)
            return &batch->inputs.values[k];
    ck_abort_msg("there is no input \"%s\"", name);
    return NULL;
}

/* The sequence of the task that starts at these rows, identified by its digits; of equal ones the
 * lowest unused index. */
static int64_t find(const task_t *t, const bool *seen, const int32_t *ids, int64_t n)
{
    for (int64_t k = 0, at = 0; k < t->sequences.count; at += t->lengths[k++])
        if (!seen[k] && t->lengths[k] == n && memcmp(t->ids + at, ids, (size_t)n * sizeof *ids) == 0)
            return k;
    return -1;
}

/* Every pair of a batch: what is written is what is read in reverse, each row learns the next. */
static void ck_batch(const task_t *t, const gnn_batch_t *batch, bool *seen, int64_t *rows)
{
    const gnn_named_t *read = input(batch, "ids"), *places = input(batch, "positions"),
                      *written = input(batch, "decoder_ids"),
                      *written_places = input(batch, "decoder_positions");
    const gnn_graph_t *const *g = batch->inputs.graphs;
    const int64_t *from = gnn_graph_dst_segments(g[0]), *to = gnn_graph_dst_segments(g[1]);
    ck_assert_int_eq(batch->inputs.n_graphs, 3);
    ck_assert_int_eq(gnn_graph_n_dst(g[2]), written->count);
    ck_assert_int_eq(gnn_graph_n_src(g[2]), read->count);
    const int64_t count = gnn_graph_n_segments(g[0]);
    ck_assert_int_eq(gnn_graph_n_segments(g[1]), count);
    for (int64_t s = 0; s < count; s++) {
        const int64_t n = from[s + 1] - from[s], k = find(t, seen, read->ids + from[s], n);
        ck_assert_int_ge(k, 0);
        seen[k] = true;
        ck_assert_int_eq(to[s + 1] - to[s], n + 1);
        for (int64_t p = 0; p <= n; p++) {
            const int64_t row = to[s] + p;
            ck_assert_int_eq(written->ids[row], p == 0 ? BEGIN : read->ids[from[s] + n - p]);
            ck_assert_int_eq(batch->loss.labels[row], p == n ? END : read->ids[from[s] + n - 1 - p]);
            ck_assert_int_eq(written_places->ids[row], p);
            if (p < n)
                ck_assert_int_eq(places->ids[from[s] + p], p);
        }
    }
    *rows = read->count + written->count;
}

START_TEST(an_epoch_has_each_pair_once)
{
    enum { COUNT = 200, TOKENS = 150 };
    task_t *t = make_task(COUNT, 5);
    gnn_context_t *context;
    gnn_source_t *source;
    int32_t first[2] = {0, 0};
    ck_ok(gnn_context_new(&context, NULL));
    gnn_model_t *model = make_model(context, 0);
    ck_ok(gnn_source_of_tokens(
        &source, model, &t->sequences, &t->sequences,
        &(gnn_token_source_config_t){.tokens = TOKENS, .label_smoothing = (gnn_real_t)0.1}));
    const gnn_source_t *s = source;
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++)
        for (int64_t epoch = 1; epoch <= 2; epoch++) {
            bool seen[COUNT] = {false};
            int64_t most = 0, all = 0, rows;
            for (int64_t b = 0; b < s->count[part]; b++) {
                gnn_batch_t batch = {0};
                ck_ok(s->get(s->user, part, epoch, b, &batch));
                ck_batch(t, &batch, seen, &rows);
                ck_assert_double_eq((double)batch.loss.label_smoothing,
                                    part == GNN_TRAIN ? (double)(gnn_real_t)0.1 : 0);
                if (b == 0 && part == GNN_TRAIN)
                    memcpy(&first[epoch - 1], input(&batch, "ids")->ids, sizeof *first);
                most = rows > most ? rows : most;
                all += rows;
            }
            for (int k = 0; k < COUNT; k++)
                ck_assert_msg(seen[k], "pair %d is in no batch", k);
            ck_assert_int_eq(s->count[part], (all + TOKENS - 1) / TOKENS);
            ck_assert_int_le(most, TOKENS + 2 * 7);
        }
    gnn_source_free(source);
    gnn_model_free(model);
    gnn_context_free(context);
    free(t);
}
END_TEST

/* Ids of the first training batch of some epochs. */
static void first_rows(const gnn_source_t *s, int64_t epoch, int32_t out[8])
{
    gnn_batch_t batch = {0};
    ck_ok(s->get(s->user, GNN_TRAIN, epoch, 0, &batch));
    memcpy(out, input(&batch, "ids")->ids, 8 * sizeof *out);
}

START_TEST(order_depends_on_seed_and_epoch)
{
    task_t *t = make_task(100, 6);
    gnn_context_t *context;
    gnn_source_t *source[3];
    int32_t a[8], b[8];
    ck_ok(gnn_context_new(&context, NULL));
    gnn_model_t *model = make_model(context, 0);
    for (int k = 0; k < 3; k++)
        ck_ok(gnn_source_of_tokens(
            &source[k], model, &t->sequences, NULL,
            &(gnn_token_source_config_t){.tokens = 64, .seed = (uint64_t)k / 2 + 1}));
    first_rows(source[0], 3, a);
    first_rows(source[1], 9, b);
    ck_assert(memcmp(a, b, sizeof a) != 0);
    first_rows(source[1], 3, b);
    ck_assert_mem_eq(a, b, sizeof a);
    first_rows(source[2], 3, b);
    ck_assert(memcmp(a, b, sizeof a) != 0);
    ck_assert_uint_eq(source[0]->identity, source[1]->identity);
    ck_assert_uint_ne(source[0]->identity, source[2]->identity);
    for (int k = 0; k < 3; k++)
        gnn_source_free(source[k]);
    gnn_model_free(model);
    gnn_context_free(context);
    free(t);
}
END_TEST

START_TEST(windows_of_one_long_sequence)
{
    enum { LONG = 103, WINDOW = 10 };
    int32_t ids[LONG];
    int64_t length = LONG, shifts = 0, at_first = -1;
    gnn_context_t *context;
    gnn_source_t *source;
    for (int32_t k = 0; k < LONG; k++)
        ids[k] = k; /* only looked at here, never run */
    const gnn_sequences_t text = {.count = 1, .lengths = &length, .ids = ids};
    ck_ok(gnn_context_new(&context, NULL));
    gnn_model_t *model = make_language_model(context);
    ck_ok(gnn_source_of_tokens(&source, model, &text, &text,
                               &(gnn_token_source_config_t){.tokens = 30, .window = WINDOW}));
    const gnn_source_t *s = source;
    ck_assert_int_eq(s->count[GNN_TRAIN], 3);
    ck_assert_int_eq(s->count[GNN_VALIDATION], 4);
    for (int64_t epoch = 1; epoch <= 6; epoch++) {
        bool seen[LONG] = {false};
        int64_t rows = 0, shift = -1;
        for (int64_t b = 0; b < s->count[GNN_TRAIN]; b++) {
            gnn_batch_t batch = {0};
            ck_ok(s->get(s->user, GNN_TRAIN, epoch, b, &batch));
            const gnn_named_t *read = input(&batch, "ids");
            for (int64_t k = 0; k < read->count; k++, rows++) {
                ck_assert_int_eq(batch.loss.labels[k], read->ids[k] + 1);
                ck_assert(!seen[read->ids[k]]);
                seen[read->ids[k]] = true;
                if (k % WINDOW == 0)
                    shift = read->ids[k] % WINDOW;
            }
        }
        ck_assert_int_eq(rows, 90);
        shifts += at_first >= 0 && shift != at_first;
        at_first = at_first < 0 ? shift : at_first;
    }
    ck_assert_int_gt(shifts, 0);
    gnn_source_free(source);
    gnn_model_free(model);
    gnn_context_free(context);
}
END_TEST

/* ---- learning ---- */

static gnn_train_result_t train(gnn_model_t *model, gnn_context_t *context,
                                const gnn_source_t *source, int64_t epochs, const char *checkpoint,
                                volatile int *stop)
{
    gnn_train_result_t result;
    const int64_t steps = epochs * source->count[GNN_TRAIN];
    const int rc = gnn_train_batches(
        model, context, source,
        &(gnn_train_config_t){.epochs = epochs,
                              .optimizer.lr = (gnn_real_t)0.005,
                              .optimizer.clip_norm = 1,
                              .schedule = {.kind = GNN_SCHEDULE_COSINE, .warmup = 10, .period = steps},
                              .watch = GNN_WATCH_LOSS,
                              .checkpoint = checkpoint,
                              .resume = checkpoint ? GNN_ON : GNN_OFF,
                              .stop = stop},
        &result);
    ck_assert_msg(rc == GNN_OK || rc == GNN_ESTOPPED, "%d, %s", rc, gnn_error_message());
    return result;
}

/* Count of the sequences of the task that are generated correctly, by a state that encodes once. */
static int64_t right(const gnn_model_t *model, gnn_context_t *context, const task_t *t, int64_t beams)
{
    const int64_t n = t->sequences.count;
    int64_t rows = 0, hits = 0, ones[MOST];
    int32_t begin[MOST], places[MOST * 8];
    static const int32_t end = END;
    gnn_graph_t *graphs[3];
    gnn_written_t *written;
    for (int64_t k = 0; k < n; k++) {
        ones[k] = 1;
        begin[k] = BEGIN;
        for (int32_t p = 0; p < t->lengths[k]; p++)
            places[rows++] = p;
    }
    ck_ok(gnn_graph_complete(&graphs[0], n, t->lengths));
    ck_ok(gnn_graph_causal(&graphs[1], n, ones));
    ck_ok(gnn_graph_bipartite(&graphs[2], n, ones, t->lengths));
    for (int k = 0; k < 3; k++)
        ck_ok(gnn_model_prepare(model, k, graphs[k], GNN_OFF));
    const gnn_named_t values[] = {{.name = "ids", .ids = t->ids, .count = rows},
                                  {.name = "positions", .ids = places, .count = rows}};
    const gnn_model_inputs_t fixed = {(const gnn_graph_t *const *)graphs, 3, values, 2};
    const gnn_state_config_t state = {.fixed = &fixed};
    const gnn_writer_t writer = {
        .model = model, .ids = "decoder_ids", .positions = "decoder_positions", .state = &state};
    ck_ok(gnn_generate(
        &writer, context, &(gnn_sequences_t){.count = n, .lengths = ones, .ids = begin},
        &(gnn_generation_t){.length = 8, .end = &end, .n_end = 1, .beams = beams}, &written));
    const int32_t *ids = written->ids, *expected = t->written + 1;
    for (int64_t k = 0; k < n; ids += written->lengths[k++]) {
        const int64_t length = t->written_lengths[k] - 1;
        hits += written->lengths[k] == length &&
                memcmp(ids, expected, (size_t)length * sizeof *ids) == 0;
        expected += length + 1;
    }
    gnn_written_free(written);
    for (int k = 0; k < 3; k++)
        gnn_graph_free(graphs[k]);
    return hits;
}

START_TEST(an_encoder_decoder_learns_to_reverse_digits)
{
    task_t *t = make_task(test_small() ? 100 : 800, 7), *held_out = make_task(100, 8);
    gnn_context_t *context;
    gnn_source_t *source;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 2, .threads = 1}));
    gnn_model_t *model = make_model(context, 0);
    ck_ok(gnn_source_of_tokens(
        &source, model, &t->sequences, &held_out->sequences,
        &(gnn_token_source_config_t){.tokens = 256, .label_smoothing = (gnn_real_t)0.02}));
    const gnn_train_result_t result =
        train(model, context, source, test_small() ? 1 : 24, NULL, NULL);
    if (!test_small()) {
        ck_assert_msg(result.validation_loss < 0.15, "the loss is %g", result.validation_loss);
        ck_assert_int_ge(right(model, context, held_out, 1), 95);
        ck_assert_int_ge(right(model, context, held_out, 4), 95);
    }
    gnn_source_free(source);
    gnn_model_free(model);
    gnn_context_free(context);
    free(t);
    free(held_out);
}
END_TEST

/* Stops the training while the `left`-th batch from here is fetched. */
typedef struct {
    const gnn_source_t *inner;
    volatile int stop;
    int64_t left;
} stopper_t;

static int get_and_stop(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    stopper_t *s = user;
    if (part == GNN_TRAIN && --s->left == 0)
        s->stop = 1;
    return s->inner->get(s->inner->user, part, epoch, index, batch);
}

/* The sum of all weights' bits after a training that stops every `every` batches. */
static uint64_t trained_bits(const task_t *t, int64_t every, const char *path)
{
    uint64_t bits = 0;
    bool ended = false;
    while (!ended) {
        gnn_context_t *context;
        gnn_source_t *source;
        ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 4, .threads = 1}));
        gnn_model_t *model = make_model(context, 0.1);
        ck_ok(gnn_source_of_tokens(&source, model, &t->sequences, &t->sequences,
                                   &(gnn_token_source_config_t){.tokens = 200}));
        stopper_t stopper = {.inner = source, .left = every};
        gnn_source_t s = *stopper.inner;
        s.get = get_and_stop;
        s.user = &stopper;
        train(model, context, &s, 3, path, &stopper.stop);
        ended = !stopper.stop;
        bits = 0;
        for (int64_t k = 0; k < gnn_model_field_count(model); k++) {
            gnn_tensor_t field;
            ck_ok(gnn_model_field(model, gnn_model_field_name(model, k), &field, NULL));
            const unsigned char *byte = (const unsigned char *)field.data;
            for (size_t b = 0; b < (size_t)(field.rows * field.cols) * sizeof *field.data; b++)
                bits = bits * 1099511628211u + byte[b];
        }
        gnn_source_free(source);
        gnn_model_free(model);
        gnn_context_free(context);
    }
    return bits;
}

START_TEST(a_resumed_training_gives_the_same_bits)
{
    char path[64];
    task_t *t = make_task(test_small() ? 40 : 120, 9);
    snprintf(path, sizeof path, "/tmp/gnn-sequences-%ld.ckpt", (long)getpid());
    const uint64_t whole = trained_bits(t, 0, NULL), parts = trained_bits(t, 4, path);
    ck_assert_uint_eq(whole, parts);
    remove(path);
    free(t);
}
END_TEST

/* ---- faults ---- */

START_TEST(faults)
{
    int64_t lengths[] = {2, 1}, one = 1;
    int32_t ids[] = {1, 2, 3};
    gnn_sequences_t s = {.count = 2, .lengths = lengths, .ids = ids};
    gnn_source_t *source;
    gnn_context_t *context;
    ck_ok(gnn_context_new(&context, NULL));
    gnn_model_t *model = make_model(context, 0), *language = make_language_model(context);
    ck_fails(gnn_source_of_tokens(NULL, model, &s, NULL, NULL), GNN_EINVALID, "source is NULL");
    ck_fails(gnn_source_of_tokens(&source, NULL, &s, NULL, NULL), GNN_EINVALID, "model is NULL");
    ck_fails(gnn_source_of_tokens(&source, model, NULL, NULL, NULL), GNN_EINVALID, "train is NULL");
    ck_fails(gnn_source_of_tokens(&source, model, &s, NULL, NULL), GNN_EINVALID,
             "lengths or ids of the decoder");
    ck_fails(gnn_source_of_tokens(&source, language, &s, NULL, NULL), GNN_EINVALID,
             "sequence 1 of the decoder has 1 tokens, expected at least 2");
    ck_fails(gnn_source_of_tokens(&source, language, &s, NULL,
                                  &(gnn_token_source_config_t){.tokens = -1}),
             GNN_EINVALID, ".tokens = -1");
    ck_fails(gnn_source_of_tokens(&source, language, &s, NULL,
                                  &(gnn_token_source_config_t){.label_smoothing = 1}),
             GNN_EINVALID, ".label_smoothing = 1");
    s.decoder_lengths = lengths;
    s.decoder_ids = ids;
    ck_fails(gnn_source_of_tokens(&source, model, &s, NULL, &(gnn_token_source_config_t){.window = 3}),
             GNN_EINVALID, ".window = 3, expected 0");
    s.count = 0;
    ck_fails(gnn_source_of_tokens(&source, language, &s, NULL, NULL), GNN_EINVALID, "0 sequences");
    ck_fails(gnn_source_of_tokens(&source, language,
                                  &(gnn_sequences_t){.count = 1, .lengths = &one, .ids = ids}, NULL,
                                  &(gnn_token_source_config_t){.window = 3}),
             GNN_EINVALID, "one token");
    ck_assert_ptr_null(source);
    gnn_source_free(NULL);
    gnn_model_free(model);
    gnn_model_free(language);
    gnn_context_free(context);
}
END_TEST

/* A window that is longer than the text leaves one shorter piece. */
START_TEST(a_short_text_is_one_window)
{
    int64_t length = 5;
    int32_t ids[] = {1, 2, 3, 4, 5};
    const gnn_sequences_t s = {.count = 1, .lengths = &length, .ids = ids};
    gnn_source_t *source;
    gnn_context_t *context;
    gnn_batch_t batch = {0};
    ck_ok(gnn_context_new(&context, NULL));
    gnn_model_t *model = make_language_model(context);
    ck_ok(gnn_source_of_tokens(&source, model, &s, &s, &(gnn_token_source_config_t){.window = 64}));
    const gnn_source_t *from = source;
    for (int part = 0; part < 2; part++) {
        ck_assert_int_eq(from->count[part], 1);
        ck_ok(from->get(from->user, part, 1, 0, &batch));
        ck_assert_int_eq(input(&batch, "ids")->count, 4);
        ck_assert_mem_eq(input(&batch, "ids")->ids, ids, 4 * sizeof *ids);
        ck_assert_mem_eq(batch.loss.labels, ids + 1, 4 * sizeof *ids);
    }
    gnn_source_free(source);
    gnn_model_free(model);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sequences");
    TCase *tests = tcase_create("sequences");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, an_epoch_has_each_pair_once);
    tcase_add_test(tests, order_depends_on_seed_and_epoch);
    tcase_add_test(tests, windows_of_one_long_sequence);
    tcase_add_test(tests, an_encoder_decoder_learns_to_reverse_digits);
    tcase_add_test(tests, a_resumed_training_gives_the_same_bits);
    tcase_add_test(tests, faults);
    tcase_add_test(tests, a_short_text_is_one_window);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
