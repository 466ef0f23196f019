/* A language model learns a text, by characters or by tokens of several, is measured on the end of
 * the text, and writes on.
 *
 *     write --text input.txt --save bard.safetensors
 *     write --load bard.safetensors --prompt "ROMEO:" --length 500 --temperature 0.8
 *     write --pretrained gpt2 --prompt "A graph is" --top-p 0.95 --temperature 1
 */
#include "write.h"

#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    gnn_context_t *context;
    language_model_t own;
    gnn_pretrained_t *pretrained;
    char *text; /* all of it; what is held out begins at `cut` */
    int64_t bytes, cut;
    gnn_tokens_t *tokens[2]; /* of what is learned, and of what is held out */
    gnn_token_source_t *source;
    text_trained_t trained;
    double nats; /* a character, on held-out text */
    int measured;
} run_t;

static const char rhyme[] =
    "A node hears a node and a node hears a word, a word hears a word and a word can be heard.\n"
    "The edge of a graph is the way of a word, from one that has spoken to one that has heard.\n";

/* ---- the text ---- */

static int take_text(run_t *r, const char *path)
{
    enum { TIMES = 60 };
    gnn_lines_t *lines = NULL;
    if (path)
        GNN_TRY(gnn_lines_read(&lines, path));
    for (int64_t k = 0; lines && k < lines->count; k++)
        r->bytes += lines->bytes[k] + 1;
    r->bytes = lines ? r->bytes : (int64_t)(TIMES * (sizeof rhyme - 1));
    r->text = malloc((size_t)r->bytes + 1);
    if (r->text && !lines)
        for (int64_t k = 0; k < r->bytes; k++)
            r->text[k] = rhyme[k % (int64_t)(sizeof rhyme - 1)];
    for (int64_t k = 0, at = 0; r->text && lines && k < lines->count; at += lines->bytes[k++] + 1) {
        memcpy(r->text + at, lines->at[k], (size_t)lines->bytes[k]);
        r->text[at + lines->bytes[k]] = '\n';
    }
    gnn_lines_free(lines);
    return r->text ? GNN_OK : GNN_EMEMORY;
}

/* The end of the text is held out; the cut is between two characters. */
static void cut_text(run_t *r, double held_out)
{
    r->text[r->bytes] = '\0';
    r->cut = (int64_t)((double)r->bytes * (1 - held_out));
    while (r->cut > 0 && r->cut < r->bytes && ((unsigned char)r->text[r->cut] & 0xc0) == 0x80)
        r->cut--;
}

static int64_t characters(const char *text, int64_t bytes)
{
    int64_t count = 0;
    for (int64_t k = 0; k < bytes; k++)
        count += ((unsigned char)text[k] & 0xc0) != 0x80;
    return count;
}

/* ---- training ---- */

static gnn_sequences_t one_sequence(const gnn_tokens_t *t)
{
    return (gnn_sequences_t){.count = 1, .lengths = t->lengths, .ids = t->ids};
}

static int encode(const language_model_t *m, const char *text, int64_t bytes, gnn_tokens_t **tokens)
{
    return gnn_tokenizer_encode(m->tokenizer, &(gnn_texts_t){1, &text, &bytes}, NULL, NULL, tokens);
}

/* Logits after each of some tokens, which are one sequence. */
static int logits_of(const gnn_model_t *model, gnn_context_t *context, const int32_t *ids,
                     int64_t rows, const gnn_tensor_t *out)
{
    gnn_graph_t *graph;
    GNN_TRY(gnn_graph_causal(&graph, 1, &rows));
    const gnn_graph_t *graphs[] = {graph};
    const gnn_named_t values[] = {{.name = "ids", .ids = ids, .count = rows}};
    int rc = gnn_model_prepare(model, 0, graph, GNN_OFF);
    if (rc == GNN_OK)
        rc = gnn_model_forward(model, context, &(gnn_model_inputs_t){graphs, 1, values, 1}, out);
    gnn_graph_free(graph);
    return rc;
}

/* -log p of a token. */
static double surprise(const gnn_real_t *logits, int64_t n, int32_t id)
{
    double most = (double)logits[0], sum = 0;
    for (int64_t k = 1; k < n; k++)
        most = (double)logits[k] > most ? (double)logits[k] : most;
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)logits[k] - most);
    return most + log(sum) - (double)logits[id];
}

/* Nats per character of the held-out text, in pieces of a window of which only the second half
 * counts: what stands there has half a window before it, at least. */
static int measure(run_t *r, const write_t *o)
{
    const language_model_t *m = &r->own;
    gnn_tokens_t *tokens;
    double nats = 0;
    int rc = GNN_OK;
    GNN_TRY(encode(m, r->text + r->cut, r->bytes - r->cut, &tokens));
    const int64_t n = tokens->rows - 1, step = o->window / 2,
                  words = gnn_tokenizer_size(m->tokenizer);
    gnn_real_t *numbers = calloc((size_t)(o->window * words), sizeof *numbers);
    if (!numbers)
        rc = GNN_EMEMORY;
    for (int64_t from = 0; rc == GNN_OK && from < n; from += step) {
        const int64_t begin = from - step > 0 ? from - step : 0;
        const int64_t end = from + step < n ? from + step : n, rows = end - begin;
        const gnn_tensor_t out = gnn_tensor(numbers, rows, words);
        rc = logits_of(m->model, r->context, tokens->ids + begin, rows, &out);
        for (int64_t k = from - begin; rc == GNN_OK && k < rows; k++)
            nats += surprise(out.data + k * words, words, tokens->ids[begin + k + 1]);
    }
    r->nats = nats / (double)characters(r->text + r->cut, r->bytes - r->cut);
    r->measured = rc == GNN_OK;
    free(numbers);
    gnn_tokens_free(tokens);
    return rc;
}

static int train(run_t *r, const write_t *o)
{
    const gnn_sequences_t parts[] = {one_sequence(r->tokens[0]), one_sequence(r->tokens[1])};
    GNN_TRY(gnn_token_source_new(
        &r->source, r->own.model, &parts[0], r->tokens[1]->rows > 1 ? &parts[1] : NULL,
        &(gnn_token_source_config_t){
            .tokens = o->train.tokens, .window = o->window, .seed = (uint64_t)o->train.seed + 1}));
    GNN_TRY(text_train("write", r->own.model, r->context, gnn_token_source(r->source), &o->train,
                       NULL, text_words(r->text), &r->trained));
    return o->save ? language_model_save(&r->own, o->save) : GNN_OK;
}

static int learn(run_t *r, const write_t *o)
{
    const int64_t held_out = r->bytes - r->cut;
    GNN_TRY(language_model_new(&r->own, r->context, o, r->text, r->cut));
    GNN_TRY(encode(&r->own, r->text, r->cut, &r->tokens[0]));
    GNN_TRY(encode(&r->own, r->text + r->cut, held_out, &r->tokens[1]));
    fprintf(stderr,
            "write: %lld characters to learn from, %lld held out, %lld tokens in the "
            "vocabulary, %lld weights\n",
            (long long)characters(r->text, r->cut), (long long)characters(r->text + r->cut, held_out),
            (long long)gnn_tokenizer_size(r->own.tokenizer),
            (long long)text_weights(r->own.model, NULL));
    return train(r, o);
}

/* ---- writing ---- */

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

static int go_on(const run_t *r, const write_t *o)
{
    const gnn_writer_t writer = {
        .pretrained = r->pretrained, .model = r->own.model, .tokenizer = r->own.tokenizer};
    const gnn_generation_t how = {.length = o->length,
                                  .temperature = (gnn_real_t)o->temperature,
                                  .top_k = o->top_k,
                                  .top_p = (gnn_real_t)o->top_p,
                                  .seed = (uint64_t)o->train.seed,
                                  .samples = o->samples,
                                  .on_text = o->json ? NULL : show_piece,
                                  .user = (void *)o};
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

/* ---- the whole ---- */

static void say(const run_t *r, const write_t *o)
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
        program_json_number(stdout, "train_loss", r->trained.train_loss);
        printf(", ");
        program_json_number(stdout, "held_out_loss", r->trained.validation_loss);
        printf(", ");
        program_json_number(stdout, "train_seconds", r->trained.seconds);
        printf(", ");
        program_json_number(stdout, "train_words_per_second", r->trained.words_per_second);
    }
}

static int run(run_t *r, const write_t *o)
{
    GNN_TRY(text_context(&r->context, &o->train));
    if (o->text || (!o->load && !o->pretrained)) {
        GNN_TRY(take_text(r, o->text));
        cut_text(r, o->held_out);
    }
    if (o->pretrained)
        GNN_TRY(gnn_pretrained_open(&r->pretrained, r->context, o->pretrained));
    else
        GNN_TRY(o->load ? language_model_load(&r->own, r->context, o->load) : learn(r, o));
    if (r->text && r->own.model && r->cut + 1 < r->bytes)
        GNN_TRY(measure(r, o));
    say(r, o);
    if (o->length > 0)
        GNN_TRY(go_on(r, o));
    if (o->json)
        printf("}\n");
    return gnn_profile_write(r->context, stderr);
}

static int read_options(write_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        TEXT("text", &o->text, "to learn, or with --load to be measured on [a rhyme]", "FILE"),
        REAL("held-out", &o->held_out, "share at its end that is not learned", 0, 0.9),
        HEADING("Model"),
        OUTPUT("save", &o->save, "the model; its tokenizer goes to FILE.tokenizer.json", "FILE"),
        TEXT("load", &o->load, "a model that was saved, in place of training", "FILE"),
        TEXT("pretrained", &o->pretrained, "a folder as Hugging Face publishes them", "FOLDER"),
        WHOLE("vocabulary", &o->vocabulary, "tokens; 256 are the bytes alone", 256, 1000000),
        WHOLE("width", &o->width, "numbers of a row", 8, 65536),
        WHOLE("layers", &o->layers, "one after another", 1, 1000),
        WHOLE("heads", &o->heads, "of attention", 1, 4096),
        WHOLE("feed-forward", &o->feed_forward, "inner width of a layer", 1, 1000000),
        WHOLE("window", &o->window, "tokens that hear each other in training", 4, 1000000),
        HEADING("Training"),
        TEXT_TRAIN_OPTIONS(o->train),
        HEADING("Writing"),
        TEXT("prompt", &o->prompt, "what the text begins with", "\"...\""),
        WHOLE("length", &o->length, "tokens to write; 0: none", 0, 1000000),
        WHOLE("samples", &o->samples, "texts", 1, 100000),
        REAL("temperature", &o->temperature, "0: the likeliest token", 0, 100),
        WHOLE("top-k", &o->top_k, "draws from so many of the likeliest; 0: all [0]", 0, 1e9),
        REAL("top-p", &o->top_p, "draws from the likeliest with this probability", 0, 1),
        FLAG("json", &o->json, "all of it as one JSON object on standard output")};
    const program_t program = {
        .name = "write",
        .usage = "[OPTION]...",
        .summary = "Learns a text by characters or tokens, is measured on its end, and writes on.",
        .notes = "The held-out text is measured in nats per character, whatever the tokens are.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    return options_read(&program, argc, argv, status);
}

int main(int argc, char **argv)
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
                 .held_out = 0.1,
                 .temperature = 0.8,
                 .top_p = 1,
                 .train = {.epochs = 8, .tokens = 512, .lr = 0.003, .warmup = 20, .seed = 1}};
    run_t r = {.context = NULL};
    int status;
    if (!read_options(&o, argc, argv, &status))
        return status;
    static const char *const training[] = {"save", "checkpoint", "resume", "epochs", NULL};
    if ((o.load || o.pretrained) && options_idle(o.load ? "load" : "pretrained", training))
        return 2;
    if (o.width % (2 * o.heads) != 0) {
        fprintf(stderr, "write: --width %lld is no multiple of twice --heads %lld\n",
                (long long)o.width, (long long)o.heads);
        return 2;
    }
    const int rc = run(&r, &o);
    program_fails("write", rc);
    free(r.text);
    gnn_token_source_free(r.source);
    gnn_tokens_free(r.tokens[0]);
    gnn_tokens_free(r.tokens[1]);
    language_model_free(&r.own);
    gnn_pretrained_free(r.pretrained);
    gnn_context_free(r.context);
    return program_ends("write", rc == GNN_OK         ? EXIT_SUCCESS
                                 : rc == GNN_ESTOPPED ? 130
                                                      : EXIT_FAILURE);
}
