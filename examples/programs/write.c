/* A language model: trains on a text, by characters or subword tokens, is evaluated on the end of
 * the text, and generates text.
 *
 *     gnn write --data input.txt --save bard.safetensors
 *     gnn write --load bard.safetensors --prompt "ROMEO:" --length 500 --temperature 0.8
 *     gnn write --model gpt2 --prompt "A graph is" --top-p 0.95 --temperature 1
 */
#include "write.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- training ---- */

static gnn_sequences_t one_sequence(const gnn_tokens_t *t)
{
    return (gnn_sequences_t){.count = 1, .lengths = t->lengths, .ids = t->ids};
}

static int train(write_run_t *r, const write_t *o)
{
    const gnn_sequences_t parts[] = {one_sequence(r->tokens[0]), one_sequence(r->tokens[1])};
    GNN_TRY(gnn_source_of_tokens(
        &r->source, r->own.model, &parts[0], r->tokens[1]->rows > 1 ? &parts[1] : NULL,
        &(gnn_token_source_config_t){
            .tokens = o->train.tokens, .window = o->window, .seed = (uint64_t)o->train.seed + 1}));
    const double words = (double)text_words(r->text) * (double)r->cut / (double)r->bytes;
    GNN_TRY(text_train("write", r->own.model, r->context, r->source, &o->train, NULL,
                       (int64_t)words, &r->trained));
    return o->save ? language_model_save(&r->own, o->save) : GNN_OK;
}

static int learn(write_run_t *r, const write_t *o)
{
    const int64_t held_out = r->bytes - r->cut;
    GNN_TRY(language_model_new(&r->own, r->context, o, r->text, r->cut));
    GNN_TRY(write_encode(&r->own, r->text, r->cut, &r->tokens[0]));
    GNN_TRY(write_encode(&r->own, r->text + r->cut, held_out, &r->tokens[1]));
    fprintf(stderr,
            "write: %lld characters to learn from, %lld held out, %lld tokens in the "
            "vocabulary, %lld weights\n",
            (long long)write_characters(r->text, r->cut),
            (long long)write_characters(r->text + r->cut, held_out),
            (long long)gnn_tokenizer_size(r->own.tokenizer),
            (long long)text_weights(r->own.model, NULL));
    return train(r, o);
}

/* ---- generation ---- */

static int show_piece(void *user, int64_t text, const char *piece, int64_t bytes)
{
    const write_t *o = user;
    if (o->samples == 1) {
        fwrite(piece, 1, (size_t)bytes, stdout);
        fflush(stdout);
    }
    (void)text;
    return 0;
}

/* A folder's setting applies unless the option is given; --top-k 0 is all tokens. */
static gnn_generation_t settings(const write_t *o)
{
    gnn_generation_t how = {.length = o->length, .temperature = GNN_ZERO, .samples = o->samples};
    if (o->temperature > 0) {
        how.temperature = (gnn_real_t)o->temperature;
        how.seed = (uint64_t)o->train.seed;
        if (options_gave("top-k"))
            how.top_k = o->top_k > 0 ? o->top_k : INT64_MAX;
        if (options_gave("top-p"))
            how.top_p = o->top_p > 0 ? (gnn_real_t)o->top_p : GNN_ZERO;
    }
    if (!o->json) {
        how.on_text = show_piece;
        how.user = (void *)o;
    }
    return how;
}

static int go_on(const write_run_t *r, const write_t *o)
{
    const gnn_writer_t writer = {
        .pretrained = r->pretrained, .model = r->own.model, .tokenizer = r->own.tokenizer};
    const gnn_generation_t how = settings(o);
    gnn_written_t *written;
    int64_t tokens = 0;
    const double start = text_seconds();
    if (!o->json && o->samples == 1)
        printf("%s", o->prompt);
    GNN_TRY(gnn_generate_texts(&writer, r->context, &(gnn_texts_t){1, &o->prompt, NULL}, &how,
                               &written));
    for (int64_t k = 0; k < written->count; k++) {
        tokens += written->lengths[k];
        if (!o->json && o->samples > 1)
            printf("---- %lld\n%s%s\n", (long long)k + 1, o->prompt, written->texts[k]);
    }
    const double seconds = text_seconds() - start;
    if (!o->json && o->samples == 1)
        printf("\n");
    if (o->json) {
        printf(", \"texts\": [");
        for (int64_t k = 0; k < written->count; k++) {
            printf(k ? ", " : "");
            program_json_string(stdout, written->texts[k]);
        }
        printf("], ");
        program_json_number(stdout, "tokens_per_second", seconds > 0 ? (double)tokens / seconds : 0);
    } else {
        fprintf(stderr, "write: %lld tokens in %.2f s, %.0f tokens/s\n", (long long)tokens, seconds,
                seconds > 0 ? (double)tokens / seconds : 0);
    }
    gnn_written_free(written);
    return GNN_OK;
}

/* ---- main ---- */

static void say(const write_run_t *r, const write_t *o)
{
    if (!o->json) {
        if (r->measured)
            fprintf(stderr, "write: %.4f nats per character on held-out text\n", r->nats);
        return;
    }
    printf("{\"weights\": %lld",
           (long long)text_weights(
               r->pretrained ? gnn_pretrained_model(r->pretrained) : r->own.model, NULL));
    if (r->measured) {
        printf(", ");
        program_json_number(stdout, "nats_per_character", r->nats);
    }
    if (!o->load && !o->pretrained) {
        printf(", \"epochs\": %lld, ", (long long)r->trained.epochs);
        text_trained_json(stdout, &r->trained);
    }
}

static int run(write_run_t *r, const write_t *o)
{
    GNN_TRY(text_context(&r->context, &o->train));
    if (o->data || (!o->load && !o->pretrained))
        GNN_TRY(write_take_text(r, o));
    if (o->pretrained)
        GNN_TRY(gnn_pretrained_open_with(
            &r->pretrained, r->context, o->pretrained,
            &(gnn_pretrained_config_t){.keep_16_bits = o->keep_16_bits ? GNN_ON : GNN_OFF}));
    else
        GNN_TRY(o->load ? language_model_load(&r->own, r->context, o->load) : learn(r, o));
    if (r->text && r->own.model && r->cut + 1 < r->bytes)
        GNN_TRY(write_measure(r, o));
    say(r, o);
    if (o->length > 0)
        GNN_TRY(go_on(r, o));
    if (o->json)
        printf("}\n");
    return gnn_profile_write(r->context, stderr);
}

/* Checks that the table of options cannot express: options without effect. */
static int idle(const write_t *o)
{
    static const struct {
        const char *name, *why;
    } all[] = {{"prompt", "with --length 0"},
               {"samples", "with --length 0"},
               {"temperature", "with --length 0"},
               {"top-k", "with --length 0"},
               {"top-p", "with --length 0"},
               {"top-k", "with --temperature 0"},
               {"top-p", "with --temperature 0"},
               {"seed", "without training and sampling"},
               {"window", "without --data, with --load"},
               {"validation-share", "without --data, with --load"}};
    const int silent = o->length == 0, greedy = o->temperature == 0;
    for (int k = 0; k < 10; k++) {
        const int off = k < 5   ? silent
                        : k < 7 ? greedy
                        : k < 8 ? (o->load || o->pretrained) && (silent || greedy)
                                : o->load && !o->data;
        if (off && options_gave(all[k].name)) {
            fprintf(stderr, "--%s: has no effect %s\n", all[k].name, all[k].why);
            return 1;
        }
    }
    return 0;
}

static int read_options(write_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        INPUT("data", &o->data, "training text, or with --load test text [a rhyme]", "FILE",
              .where = "!model"),
        REAL("validation-share", &o->validation_share, "fraction at its end that is held out", 0,
             0.9, .where = "!model"),
        HEADING("Model"),
        STORED("save", &o->save, "the model; its tokenizer goes to FILE.tokenizer.json", "FILE",
               .where = "!load|model", .companion = ".tokenizer.json"),
        INPUT("load", &o->load, "a saved model instead of training", "FILE", .where = "!model"),
        INPUT("model", &o->pretrained, "a folder as Hugging Face publishes them", "FOLDER"),
        FLAG("keep-16-bits", &o->keep_16_bits, "keeps bf16 and fp16 weights in 16 bits",
             .where = "model"),
        WHOLE("vocabulary", &o->vocabulary, "vocabulary size; 256: bytes only", 256, 1000000,
              .where = "!load|model"),
        WHOLE("width", &o->width, "columns of a row", 8, 65536, .where = "!load|model"),
        WHOLE("layers", &o->layers, "one after another", 1, 1000, .where = "!load|model"),
        WHOLE("heads", &o->heads, "of attention", 1, 4096, .where = "!load|model"),
        WHOLE("feed-forward", &o->feed_forward, "inner width of a layer", 1, 1000000,
              .where = "!load|model"),
        WHOLE("window", &o->window, "context window in training", 4, 1000000, .where = "!model"),
        HEADING("Training"),
        TEXT_TRAIN_OPTIONS(o->train, "!load|model"),
        HEADING("Writing"),
        TEXT("prompt", &o->prompt, "prompt", "TEXT"),
        WHOLE("length", &o->length, "tokens to generate; 0: none", 0, 1000000),
        WHOLE("samples", &o->samples, "texts", 1, 100000),
        REAL("temperature", &o->temperature, "0: greedy", 0, 100),
        WHOLE("top-k", &o->top_k,
              "samples from the N most probable tokens; 0: all [0, with --model what the folder "
              "says]",
              0, 1e9),
        REAL("top-p", &o->top_p,
             "nucleus sampling: cumulative probability [1, with --model what the folder says]", 0, 1),
        FLAG("json", &o->json, "results as one JSON object on standard output")};
    const program_t program = {
        .name = "write",
        .usage = "[OPTION]...",
        .notes = "The loss on the held-out text is in nats per character for any tokenizer.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    if (!options_read(&program, argc, argv, status))
        return 0;
    *status = 2;
    if (o->width % (2 * o->heads) != 0)
        fprintf(stderr, "write: --width %lld is not a multiple of twice --heads %lld\n",
                (long long)o->width, (long long)o->heads);
    return o->width % (2 * o->heads) == 0 && !idle(o);
}

int write_main(int argc, char **argv)
{
    write_t o = {.prompt = "A node ",
                 .vocabulary = 256,
                 .width = 64,
                 .layers = 2,
                 .heads = 4,
                 .feed_forward = 160,
                 .window = 64,
                 .length = 200,
                 .samples = 1,
                 .validation_share = 0.1,
                 .temperature = 0.8,
                 .train = {.epochs = 8, .tokens = 512, .lr = 0.003, .warmup = 20, .seed = 1}};
    write_run_t r = {.context = NULL};
    int status;
    if (!read_options(&o, argc, argv, &status))
        return status;
    const int rc = run(&r, &o);
    program_fails("write", rc);
    free(r.text);
    gnn_source_free(r.source);
    gnn_tokens_free(r.tokens[0]);
    gnn_tokens_free(r.tokens[1]);
    language_model_free(&r.own);
    gnn_pretrained_free(r.pretrained);
    gnn_context_free(r.context);
    return program_ends_with("write", rc);
}
