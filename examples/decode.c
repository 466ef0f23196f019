/* A small language model: trains a causal Transformer on the characters of a text, then generates
 * two texts in one batch.
 *
 * decode [FILE] a text to train on; without it, a built-in rhyme
 *
 * Training uses windows of WINDOW letters; generation appends one letter at a time to a KV cache
 * (gnn_state_t). */
#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 128, WIDTH = 48, WINDOW = 48, SEQUENCES = 8, STEPS = 400, WRITTEN = 64 };

static const char *const rhyme =
    "a node hears a node and a node hears a word, a word hears a word and a word can be heard. ";

static int make_model(gnn_model_t **model, gnn_context_t *context)
{
    const gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = WIDTH, .heads = 4, .norm_position = GNN_NORM_BEFORE);
    return gnn_model_from_steps(
        model, context, 7,
        (gnn_step_t[]){
            {.kind = GNN_STEP_EMBED, .name = "letter", .inputs = {"letters"}, .in = LETTERS, .out = WIDTH},
            {.kind = GNN_STEP_EMBED, .name = "place", .inputs = {"places"}, .in = WINDOW, .out = WIDTH},
            {.kind = GNN_STEP_ADD, .inputs = {"letter", "place"}},
            {.layer = layer},
            {.layer = layer},
            {.kind = GNN_STEP_NORM, .in = WIDTH, .norm = GNN_NORM_LAYER},
            {.kind = GNN_STEP_LINEAR, .in = WIDTH, .out = LETTERS, .share = "letter"}});
}

/* ---- learning ---- */

/* One training batch: SEQUENCES pieces of the text, and the next letter of each letter. */
typedef struct {
    int32_t letters[SEQUENCES * WINDOW], places[SEQUENCES * WINDOW], next[SEQUENCES * WINDOW];
} batch_t;

static void draw(batch_t *b, const char *text, size_t length)
{
    for (int s = 0, k = 0; s < SEQUENCES; s++) {
        const size_t from = (size_t)rand() % (length - WINDOW - 1);
        for (int p = 0; p < WINDOW; p++, k++) {
            b->letters[k] = text[from + (size_t)p] & (LETTERS - 1);
            b->next[k] = text[from + (size_t)p + 1] & (LETTERS - 1);
            b->places[k] = p;
        }
    }
}

/* The batch's arrays keep their addresses, so the tape is recorded once and run repeatedly. */
static int record(const gnn_model_t *model, gnn_tape_t *tape, const gnn_graph_t *graph,
                  const batch_t *b, gnn_var_t *loss)
{
    const gnn_named_t values[] = {{.name = "letters", .ids = b->letters, .count = SEQUENCES * WINDOW},
                                  {.name = "places", .ids = b->places, .count = SEQUENCES * WINDOW}};
    gnn_tape_reset(tape, 1, 1);
    const gnn_var_t logits =
        gnn_model_record(model, tape, &(gnn_model_inputs_t){&graph, 1, values, 2}, NULL);
    *loss = gnn_tape_loss(tape, logits, &(gnn_loss_t){.labels = b->next});
    gnn_tape_keep(tape, *loss);
    return gnn_tape_status(tape);
}

static int learn(const gnn_model_t *model, gnn_tape_t *tape, gnn_optimizer_t *optimizer,
                 const char *text, size_t length)
{
    static batch_t batch;
    int64_t lengths[SEQUENCES];
    gnn_graph_t *graph;
    gnn_var_t loss;
    for (int s = 0; s < SEQUENCES; s++)
        lengths[s] = WINDOW;
    GNN_TRY(gnn_graph_causal(&graph, SEQUENCES, lengths));
    GNN_TRY(gnn_model_prepare(model, 0, graph, GNN_ON));
    draw(&batch, text, length);
    int rc = record(model, tape, graph, &batch, &loss);
    for (int k = 0; rc == GNN_OK && k < STEPS; k++) {
        draw(&batch, text, length);
        rc = gnn_tape_forward(tape);
        if (rc == GNN_OK)
            rc = gnn_tape_backward(tape, loss, NULL);
        if (rc == GNN_OK)
            rc = gnn_optimizer_step(optimizer, 1);
        gnn_parameters_zero_gradients(gnn_model_parameters(model));
        if (k % 100 == 99)
            printf("step %d: loss %.3f\n", k + 1, (double)gnn_tape_value(tape, loss).data[0]);
    }
    gnn_graph_free(graph);
    return rc;
}

/* ---- generation ---- */

/* The most probable letter. */
static int32_t choose(const gnn_tensor_t *logits, int64_t row)
{
    int32_t best = 0;
    for (int32_t c = 1; c < LETTERS; c++)
        if (logits->data[row * LETTERS + c] > logits->data[row * LETTERS + best])
            best = c;
    return best;
}

/* Prefills two prompts of different lengths in one call; then appends one letter per text at a
 * time. */
static int write_on(const gnn_model_t *model, gnn_context_t *context, const char *const begin[2])
{
    enum { MOST = 32 };
    int32_t letters[2 * MOST], places[2 * MOST];
    static gnn_real_t numbers[2 * MOST * LETTERS];
    char text[2][WRITTEN + 1] = {"", ""};
    int64_t counts[2] = {0, 0}, n = 0;
    gnn_state_t *state;
    int rc = GNN_OK;
    GNN_TRY(gnn_state_new(&state, model, context,
                          &(gnn_state_config_t){.segments = 2, .capacity = WINDOW}));
    for (int s = 0; s < 2; s++)
        for (const char *c = begin[s]; *c && counts[s] < MOST; c++, counts[s]++, n++) {
            letters[n] = *c & (LETTERS - 1);
            places[n] = (int32_t)counts[s];
        }
    for (int k = 0; k < WRITTEN && gnn_state_length(state, 0) + counts[0] <= WINDOW &&
                    gnn_state_length(state, 1) + counts[1] <= WINDOW && rc == GNN_OK;
         k++) {
        const gnn_named_t values[] = {{.name = "letters", .ids = letters, .count = n},
                                      {.name = "places", .ids = places, .count = n}};
        const gnn_tensor_t logits = gnn_tensor(numbers, n, LETTERS);
        rc = gnn_model_advance(model, context, state, counts,
                               &(gnn_model_inputs_t){.values = values, .n_values = 2}, &logits);
        for (int64_t s = 0, last = -1; rc == GNN_OK && s < 2; s++) {
            last += counts[s];
            letters[s] = choose(&logits, last);
            places[s] = (int32_t)gnn_state_length(state, s);
            text[s][k] = (char)letters[s];
        }
        counts[0] = counts[1] = 1;
        n = 2;
    }
    for (int s = 0; rc == GNN_OK && s < 2; s++)
        printf("%s|%s\n", begin[s], text[s]);
    gnn_state_free(state);
    return rc;
}

/* ---- the program ---- */

static size_t read_text(char *text, size_t size, const char *path)
{
    size_t length = 0;
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (file) {
        length = fread(text, 1, size, file);
        fclose(file);
    }
    for (size_t k = 0; !path && k < size; k++)
        text[k] = rhyme[k % strlen(rhyme)];
    return path ? length : size;
}

static int run(const char *text, size_t length)
{
    static const char *const begin[] = {"a node hears", "and a word "};
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_tape_t *tape;
    gnn_optimizer_t *optimizer;
    GNN_TRY(gnn_context_new(&context, NULL));
    GNN_TRY(make_model(&model, context));
    GNN_TRY(gnn_tape_new(&tape, context));
    GNN_TRY(gnn_optimizer_new(&optimizer, context, gnn_model_parameters(model),
                              &(gnn_optimizer_config_t){.lr = (gnn_real_t)0.003, .clip_norm = 1}));
    GNN_TRY(learn(model, tape, optimizer, text, length));
    GNN_TRY(write_on(model, context, begin));
    gnn_optimizer_free(optimizer);
    gnn_tape_free(tape);
    gnn_model_free(model);
    gnn_context_free(context);
    return GNN_OK;
}

int main(int argc, char **argv)
{
    static char text[1 << 16];
    const size_t length = read_text(text, sizeof text, argc > 1 ? argv[1] : NULL);
    if (length < WINDOW + 2) {
        fprintf(stderr, "decode: %s is not there, or shorter than %d letters\n",
                argc > 1 ? argv[1] : "", WINDOW + 2);
        return 1;
    }
    if (run(text, length) != GNN_OK) {
        fprintf(stderr, "decode: %s\n", gnn_error_message());
        return 1;
    }
    if (ferror(stdout) || fflush(stdout) != 0) {
        perror("decode");
        return 1;
    }
    return 0;
}
