/* Translation by an encoder-decoder Transformer: trains on two parallel texts, translates lines,
 * and measures BLEU.
 *
 *     gnn translate --source train.de.gz --target train.en.gz --validation-source val.de.gz
 *         --validation-target val.en.gz --save de-en.safetensors
 *     gnn translate --load de-en.st --test-source test.de.gz --test-target test.en.gz --beams 5
 *     echo "ein hund läuft im schnee ." | gnn translate --load de-en.st --input -
 *     gnn translate --model opus-mt-de-en --input german.txt
 */
#include "translate.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    gnn_context_t *context;
    translator_t translator;
    pairs_t train, validation, test;
    gnn_text_lines_t *input; /* of --input; NULL: standard input */
    text_trained_t trained;
    gnn_bleu_t bleu;
    double test_seconds;
} run_t;

/* ---- training ---- */

static int take_pairs(run_t *r, const translate_t *o)
{
    enum { TRAIN = 6000, DEV = 200, TEST = 200 };
    if (o->test_source)
        GNN_TRY(pairs_read(&r->test, o->test_source, o->test_target));
    if (o->load || o->pretrained)
        return GNN_OK;
    if (o->source)
        GNN_TRY(pairs_read(&r->train, o->source, o->target));
    if (o->validation_source)
        GNN_TRY(pairs_read(&r->validation, o->validation_source, o->validation_target));
    if (o->source)
        return GNN_OK;
    fprintf(stderr, "translate: no --source: numbers in German and English take its place\n");
    GNN_TRY(pairs_numbers(&r->train, 0, TRAIN));
    GNN_TRY(pairs_numbers(&r->validation, TRAIN, DEV));
    return r->test.count ? GNN_OK : pairs_numbers(&r->test, TRAIN + DEV, TEST);
}

static int train(run_t *r, const translate_t *o)
{
    encoded_t sides[2] = {{.lengths = {NULL}}, {.lengths = {NULL}}};
    gnn_source_t *source = NULL;
    GNN_TRY(translator_new(&r->translator, r->context, o, &r->train));
    const translator_t *t = &r->translator;
    GNN_TRY(translate_can_look(t, o));
    fprintf(stderr, "translate: %lld pairs, %lld tokens in the vocabulary, %lld weights\n",
            (long long)r->train.count, (long long)gnn_tokenizer_size(t->tokenizer),
            (long long)text_weights(t->model, "places"));
    int rc = encode_lines(&sides[0], t, r->train.count, r->train.source, r->train.target);
    if (rc == GNN_OK && r->validation.count)
        rc = encode_lines(&sides[1], t, r->validation.count, r->validation.source,
                          r->validation.target);
    if (rc == GNN_OK)
        rc = gnn_source_of_tokens(
            &source, t->model, &sides[0].sequences, r->validation.count ? &sides[1].sequences : NULL,
            &(gnn_token_source_config_t){.tokens = o->train.tokens,
                                         .label_smoothing = (gnn_real_t)o->train.smoothing,
                                         .seed = (uint64_t)o->train.seed + 1});
    if (rc == GNN_OK)
        rc = text_train("translate", t->model, r->context, source, &o->train, "places",
                        r->train.words, &r->trained);
    gnn_source_free(source);
    encoded_free(&sides[0]);
    encoded_free(&sides[1]);
    if (rc == GNN_OK && o->save)
        rc = translator_save(t, o->save);
    return rc;
}

/* ---- translation ---- */

static void free_lines(char **lines, int64_t count)
{
    for (int64_t k = 0; lines && k < count; k++)
        free(lines[k]);
    free(lines);
}

static int test(run_t *r, const translate_t *o)
{
    char **out = calloc((size_t)r->test.count, sizeof *out);
    const double start = text_seconds();
    int rc = out ? translate_lines(&r->translator, r->context, o, r->test.count, r->test.source, out)
                 : GNN_EMEMORY;
    r->test_seconds = text_seconds() - start;
    if (rc == GNN_OK)
        rc = gnn_bleu(&r->bleu, r->test.count, (const char *const *)out, r->test.target,
                      o->keep_case ? GNN_OFF : GNN_ON);
    program_file_t to = {0};
    if (rc == GNN_OK && o->output)
        rc = program_create(&to, o->output);
    for (int64_t k = 0; to.file && k < r->test.count; k++)
        fprintf(to.file, "%s\n", out[k]);
    if (to.file)
        rc = program_finish(&to, rc);
    for (int64_t k = 0; rc == GNN_OK && k < 3 && k < r->test.count; k++)
        fprintf(stderr, "  %s\n    %s\n    (%s)\n", r->test.source[k], out[k], r->test.target[k]);
    free_lines(out, r->test.count);
    return rc;
}

/* Prints the translations. */
static int translate_all(const run_t *r, const translate_t *o, const gnn_text_lines_t *lines)
{
    char **out = calloc((size_t)lines->count + 1, sizeof *out);
    int rc = out ? translate_lines(&r->translator, r->context, o, lines->count, lines->at, out)
                 : GNN_EMEMORY;
    for (int64_t k = 0; rc == GNN_OK && k < lines->count; k++)
        printf("%s\n", out[k]);
    free_lines(out, lines->count);
    fflush(stdout);
    return rc;
}

/* Some lines at a time; from a terminal, line by line. */
static int translate_stream(const run_t *r, const translate_t *o, FILE *file)
{
    const int64_t most = isatty(fileno(file)) ? 1 : o->at_once;
    int64_t before = 0;
    int rc = GNN_OK, more = 1;
    while (rc == GNN_OK && more) {
        gnn_text_lines_t *lines;
        rc = program_lines_next(&lines, file, most, &before);
        more = lines != NULL;
        if (more)
            rc = translate_all(r, o, lines);
        gnn_text_lines_free(lines);
    }
    return rc;
}

static int translate_input(const run_t *r, const translate_t *o)
{
    return r->input ? translate_all(r, o, r->input) : translate_stream(r, o, stdin);
}

/* ---- main ---- */

static void say(const run_t *r, const translate_t *o)
{
    const gnn_bleu_t *b = &r->bleu;
    const double words = r->test_seconds > 0 ? (double)b->length / r->test_seconds : 0;
    if (!o->json) {
        if (r->test.count)
            printf("BLEU %.2f (%.1f/%.1f/%.1f/%.1f, brevity %.3f), beams %lld, %.0f words/s\n",
                   b->score, b->precisions[0], b->precisions[1], b->precisions[2], b->precisions[3],
                   b->brevity, (long long)o->beams, words);
        return;
    }
    const gnn_pretrained_t *p = r->translator.pretrained;
    printf("{\"weights\": %lld",
           (long long)text_weights(p ? gnn_pretrained_model(p) : r->translator.model,
                                   p ? NULL : "places"));
    if (!o->load && !o->pretrained) {
        printf(", \"epochs\": %lld, \"best_epoch\": %lld, ", (long long)r->trained.epochs,
               (long long)r->trained.best_epoch);
        text_trained_json(stdout, &r->trained);
    }
    if (r->test.count) {
        printf(", \"beams\": %lld, ", (long long)o->beams);
        program_json_number(stdout, "bleu", b->score);
        printf(", ");
        program_json_number(stdout, "brevity", b->brevity);
        printf(", ");
        program_json_number(stdout, "test_words_per_second", words);
    }
    printf("}\n");
}

static int run(run_t *r, const translate_t *o)
{
    GNN_TRY(text_context(&r->context, &o->train));
    GNN_TRY(take_pairs(r, o));
    if (o->input && strcmp(o->input, "-") != 0)
        GNN_TRY(gnn_text_lines_read(&r->input, o->input));
    GNN_TRY(o->pretrained ? translator_open(&r->translator, r->context, o)
            : o->load     ? translator_load(&r->translator, r->context, o->load)
                          : train(r, o));
    GNN_TRY(translate_can_look(&r->translator, o));
    if (r->test.count)
        GNN_TRY(test(r, o));
    if (o->input)
        GNN_TRY(translate_input(r, o));
    if (o->sentence)
        GNN_TRY(translate_look(&r->translator, r->context, o));
    say(r, o);
    return gnn_profile_write(r->context, stderr);
}

/* Options of a published folder. */
#define PUBLISHED_OPTIONS(o)                                                                 \
    INPUT("model", &(o)->pretrained,                                                         \
          "a folder as Hugging Face publishes them: Marian, T5, mBART, NLLB ...", "FOLDER"), \
        FLAG("keep-16-bits", &(o)->keep_16_bits, "keeps bf16 and fp16 weights in 16 bits",   \
             .where = "model"),                                                              \
        TEXT("target-language", &(o)->language, "language token of mBART, M2M-100 and NLLB", \
             "TOKEN", .where = "model")

/* Pairs of files whose lines are translations of each other. */
#define PARALLEL_TEXTS(o)                                                                          \
    INPUT("source", &(o)->source, "training text [generated German numerals]", "FILE",             \
          .where = "target !load|model"),                                                          \
        INPUT("target", &(o)->target, "its translation, line by line", "FILE",                     \
              .where = "source !load|model"),                                                      \
        INPUT("validation-source", &(o)->validation_source, "validation text, for the best epoch", \
              "FILE", .where = "source validation-target"),                                        \
        INPUT("validation-target", &(o)->validation_target, "its translation", "FILE",             \
              .where = "validation-source"),                                                       \
        INPUT("test-source", &(o)->test_source, "test text, translated for BLEU", "FILE",          \
              .where = "test-target"),                                                             \
        INPUT("test-target", &(o)->test_target, "its translation", "FILE", .where = "test-source")

static int read_options(translate_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        HEADING("Texts: one sentence per line, gzipped or not"),
        PARALLEL_TEXTS(o),
        INPUT("input", &o->input, "text to translate to standard output; - is standard input",
              "FILE|-"),
        OUTPUT("output", &o->output, "translations of the test text", "FILE"),
        HEADING("Model"),
        STORED("save", &o->save, "the model; its tokenizer goes to FILE.tokenizer.json", "FILE",
               .where = "!load|model", .companion = ".tokenizer.json"),
        INPUT("load", &o->load, "a saved model instead of training", "FILE", .where = "!model"),
        PUBLISHED_OPTIONS(o),
        WHOLE("vocabulary", &o->vocabulary, "size of the shared vocabulary", 258, 1000000,
              .where = "!load|model"),
        WHOLE("width", &o->width, "columns of a row", 8, 65536, .where = "!load|model"),
        WHOLE("layers", &o->layers, "of the encoder, and of the decoder", 1, 1000,
              .where = "!load|model"),
        WHOLE("heads", &o->heads, "of attention", 1, 4096, .where = "!load|model"),
        WHOLE("feed-forward", &o->feed_forward, "inner width of a layer", 1, 1000000,
              .where = "!load|model"),
        WHOLE("max-length", &o->max_length, "uses the first N tokens of a sentence", 4, 65536,
              .where = "!load|model"),
        CHOICE("score", &o->score, "score of the cross-attention",
               "scaled|general|additive|cosine|location|hard", .where = "!load|model"),
        FLAG("keep-case", &o->keep_case, "case-sensitive, also for BLEU"),
        HEADING("Training"),
        TEXT_TRAIN_OPTIONS(o->train, "!load|model"),
        REAL("smoothing", &o->train.smoothing, "of labels", 0, 0.99, .where = "!load|model"),
        HEADING("Translating"),
        WHOLE("beams", &o->beams,
              "beams; 1: greedy [with --model what "
              "the folder says]",
              1, 1000),
        REAL("length-penalty", &o->length_penalty, "larger values favour longer translations", 0,
             100, .where = "beams"),
        WHOLE("at-once", &o->at_once, "lines per batch", 1, 100000),
        HEADING("Inspection"),
        TEXT("sentence", &o->sentence, "sentence to translate to standard output", "TEXT",
             .where = "!model"),
        OUTPUT("heatmap", &o->heatmap, "cross-attention as a heat map", "FILE.svg",
               .where = "sentence"),
        OUTPUT("html", &o->html, "cross-attention of all layers and heads as a page", "FILE.html",
               .where = "sentence"),
        WHOLE("show-layer", &o->layer, "index of the layer to show [the last]", 0, 1000,
              .where = "heatmap"),
        WHOLE("show-head", &o->head, "index of the head [the mean of all]", 0, 4096,
              .where = "heatmap"),
        HEADING("Results"),
        FLAG("json", &o->json, "the measurements as one JSON object on standard output",
             .where = "!input|sentence")};
    const program_t program = {.name = "translate",
                               .usage = "[OPTION]...",
                               .options = rows,
                               .n_options = (int)(sizeof rows / sizeof *rows)};
    return options_read(&program, argc, argv, status);
}

/* Checks that the table of options cannot express. */
static int check(const translate_t *o)
{
    const int tests = o->test_source || (!o->source && !o->load && !o->pretrained);
    const int translates = tests || o->input || o->sentence;
    if (o->width % o->heads != 0 || o->width % 2 != 0)
        fprintf(stderr, "translate: --width %lld is not an even multiple of --heads %lld\n",
                (long long)o->width, (long long)o->heads);
    else if (o->pretrained && !translates)
        fprintf(stderr, "--model: --input or --test-source is expected, too\n");
    else if (o->load && !translates)
        fprintf(stderr, "--load: --input, --sentence or --test-source is expected, too\n");
    else if (o->output && !tests)
        fprintf(stderr, "--output: has no effect without --test-source\n");
    else if (!translates && options_gave("beams"))
        fprintf(stderr, "--beams: has no effect without --input, --sentence or --test-source\n");
    else if (o->beams == 1 && options_gave("length-penalty"))
        fprintf(stderr, "--length-penalty: has no effect with --beams 1\n");
    else if (!tests && !o->input && options_gave("at-once"))
        fprintf(stderr, "--at-once: has no effect without --input or --test-source\n");
    else
        return 1;
    return 0;
}

int translate_main(int argc, char **argv)
{
    translate_t o = {.vocabulary = 600,
                     .width = 64,
                     .layers = 2,
                     .heads = 4,
                     .feed_forward = 128,
                     .max_length = 256,
                     .beams = 1,
                     .layer = -1,
                     .head = -1,
                     .length_penalty = 1,
                     .at_once = 64,
                     .train = {.epochs = 8,
                               .tokens = 1024,
                               .lr = 0.003,
                               .warmup = 100,
                               .dropout = 0.05,
                               .smoothing = 0.1,
                               .seed = 1}};
    run_t r = {.context = NULL};
    int status;
    if (!read_options(&o, argc, argv, &status))
        return status;
    if (!check(&o))
        return 2;
    const int rc = run(&r, &o);
    program_fails("translate", rc);
    pairs_free(&r.train);
    pairs_free(&r.validation);
    pairs_free(&r.test);
    gnn_text_lines_free(r.input);
    translator_free(&r.translator);
    gnn_context_free(r.context);
    return program_ends_with("translate", rc);
}
