/* A small Transformer, trained on agreement, for machines without a pretrained model. */
#include "inspect.h"
#include "language.h"
#include "program.h"

#include <stdlib.h>

enum { BATCHES = 48, SENTENCES = 32, WIDTH = 32, EPOCHS = 6, LAYERS = 2, HEADS = 4 };

/* Concatenated sentences with their graph. */
typedef struct {
    int64_t lengths[SENTENCES], rows;
    int32_t words[SENTENCES * MAX_WORDS], places[SENTENCES * MAX_WORDS],
        answers[SENTENCES * MAX_WORDS];
    gnn_named_t values[2];
    gnn_graph_t *graph;
    const gnn_graph_t *graphs[1];
} small_t;

static int fill(small_t *b, const gnn_model_t *model, const sentence_t *sentences, int64_t count)
{
    b->rows = 0;
    for (int64_t s = 0; s < count; s++) {
        b->lengths[s] = sentences[s].length;
        for (int k = 0; k < sentences[s].length; k++, b->rows++) {
            b->words[b->rows] = sentences[s].words[k];
            b->places[b->rows] = k;
            b->answers[b->rows] = k == sentences[s].verb ? sentences[s].plural : -1;
        }
    }
    b->values[0] = (gnn_named_t){.name = "words", .ids = b->words, .count = b->rows};
    b->values[1] = (gnn_named_t){.name = "places", .ids = b->places, .count = b->rows};
    GNN_TRY(gnn_graph_complete(&b->graph, count, b->lengths));
    b->graphs[0] = b->graph;
    return gnn_model_prepare(model, 0, b->graph, GNN_ON);
}

static gnn_model_inputs_t inputs_of(const small_t *b)
{
    return (gnn_model_inputs_t){
        .graphs = b->graphs, .n_graphs = 1, .values = b->values, .n_values = 2};
}

static int get_batch(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    const small_t *b = (small_t *)user + index;
    (void)part, (void)epoch;
    batch->inputs = inputs_of(b);
    batch->loss = (gnn_loss_t){.labels = b->answers};
    return GNN_OK;
}

static int make_model(gnn_model_t **model, gnn_context_t *context)
{
    const gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = WIDTH, .heads = HEADS, .feed_forward = 2 * WIDTH);
    return gnn_model_from_steps(
        model, context, 6,
        (gnn_step_t[]){
            {.kind = GNN_STEP_EMBED,
             .name = "word",
             .inputs = {"words"},
             .in = language_size(),
             .out = WIDTH},
            {.kind = GNN_STEP_EMBED, .name = "place", .inputs = {"places"}, .in = MAX_WORDS, .out = WIDTH},
            {.kind = GNN_STEP_ADD, .inputs = {"word", "place"}},
            {.kind = GNN_STEP_LAYER, .name = "layer.0", .layer = layer},
            {.kind = GNN_STEP_LAYER, .name = "layer.1", .layer = layer},
            {.kind = GNN_STEP_LINEAR, .in = WIDTH, .out = 2}});
}

static int learn(gnn_model_t *model, gnn_context_t *context, small_t *batches, uint64_t *state)
{
    sentence_t sentences[SENTENCES];
    for (int k = 0; k < BATCHES; k++) {
        for (int s = 0; s < SENTENCES; s++)
            sentences[s] = language_sentence(state);
        GNN_TRY(fill(&batches[k], model, sentences, SENTENCES));
    }
    const gnn_source_t source = {.get = get_batch, .count = {BATCHES, 0, 0}, .user = batches};
    const gnn_train_config_t how = {.epochs = EPOCHS,
                                    .watch = GNN_WATCH_NONE,
                                    .optimizer = {.clip_norm = 1, .lr = (gnn_real_t)0.003}};
    return gnn_train_batches(model, context, &source, &how, NULL);
}

/* A statement of suitable length. */
static sentence_t choose(uint64_t *state)
{
    sentence_t s = language_sentence(state);
    for (int k = 0; k < 1000 && (s.question || s.length < 10 || s.length > 14); k++)
        s = language_sentence(state);
    return s;
}

static int look(gnn_attention_maps_t **attention, const gnn_model_t *model, gnn_context_t *context,
                small_t *b, uint64_t *state)
{
    const sentence_t s = choose(state);
    const char *words[MAX_WORDS];
    for (int k = 0; k < s.length; k++)
        words[k] = language_word(s.words[k]);
    gnn_graph_free(b->graph);
    b->graph = NULL;
    GNN_TRY(fill(b, model, &s, 1));
    const gnn_model_inputs_t inputs = inputs_of(b);
    return gnn_attention_of_model(attention, model, context, &inputs, words);
}

int inspect_small(gnn_attention_maps_t **attention, gnn_context_t *context, const inspect_t *o)
{
    uint64_t state = (uint64_t)o->seed;
    gnn_model_t *model = NULL;
    small_t *batches = calloc(BATCHES, sizeof *batches);
    int rc = batches ? make_model(&model, context) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = program_can_show(o->layer, LAYERS, o->head, HEADS);
    if (rc == GNN_OK)
        rc = learn(model, context, batches, &state);
    if (rc == GNN_OK)
        rc = look(attention, model, context, batches, &state);
    for (int k = 0; batches && k < BATCHES; k++)
        gnn_graph_free(batches[k].graph);
    free(batches);
    gnn_model_free(model);
    return rc;
}
