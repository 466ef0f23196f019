/* The small language of tutorial 4 and 5, and the loop that trains a model on it. */
#include "sentence_data.h"

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

void sentences_draw(sentences_t *sentences, unsigned seed)
{
    *sentences = (sentences_t){0};
    for (int s = 0; s < SENTENCES; s++) {
        unsigned marked = next(&seed) % WORDS, label = 0;
        sentences->lengths[s] = WORDS;
        for (unsigned w = 0; w < WORDS; w++) {
            unsigned symbol = next(&seed) % SYMBOLS;
            gnn_real_t *row = sentences->features + ((unsigned)s * WORDS + w) * FEATURES;
            row[symbol] = 1;
            row[SYMBOLS] = w == marked;
            if (w == marked)
                label = symbol;
        }
        for (int w = 0; w < WORDS; w++)
            sentences->labels[s * WORDS + w] = (int32_t)label;
    }
}

/** The source of batches: one batch for training and one for validation. */
typedef struct source {
    sentences_t sentences[2];
    gnn_tensor_t x[2];
    gnn_named_t input[2];
    const gnn_graph_t *graph;
} source_t;

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    source_t *source = user;
    (void)epoch;
    (void)index;
    *batch = (gnn_batch_t){
        .inputs = {&source->graph, 1, &source->input[part], 1},
        .loss = {.kind = GNN_LOSS_CROSS_ENTROPY, .labels = source->sentences[part].labels},
    };
    return GNN_OK;
}

static void fill(source_t *source, const gnn_graph_t *graph)
{
    source->graph = graph;
    for (unsigned part = 0; part < 2; part++) {
        sentences_draw(&source->sentences[part], 1 + part);
        source->x[part] = gnn_tensor(source->sentences[part].features, SENTENCES * WORDS, FEATURES);
        source->input[part] = (gnn_named_t){.name = "x", .dense = &source->x[part]};
    }
}

/* One layer between two linear maps; its input and output have equal widths. */
static int build(gnn_model_t **model, gnn_context_t *context, const gnn_layer_config_t *config)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_LINEAR, .name = "embed", .in = FEATURES, .out = config->in},
        {.kind = GNN_STEP_LAYER, .name = "layer", .layer = *config},
        {.kind = GNN_STEP_LINEAR, .name = "classes", .in = config->in, .out = SYMBOLS},
    };
    return gnn_model_from_steps(model, context, 3, steps);
}

int sentences_train(gnn_context_t *context, const gnn_layer_config_t *config, const char *topology,
                    const char *options, double *accuracy)
{
    static source_t source;
    gnn_graph_t *graph = NULL;
    gnn_model_t *model = NULL;
    gnn_train_result_t result;
    fill(&source, NULL);
    int code =
        gnn_topology_find(topology)->build(&graph, SENTENCES, source.sentences[0].lengths, options);
    source.graph = graph;
    if (code == GNN_OK)
        code = build(&model, context, config);
    if (code == GNN_OK)
        code = gnn_model_prepare(model, 0, graph, GNN_ON);
    if (code == GNN_OK)
        code = gnn_train_batches(
            model, context, &(gnn_source_t){.get = get, .count = {1, 1}, .user = &source},
            &(gnn_train_config_t){.epochs = 150, .optimizer.lr = 0.01f}, &result);
    if (code == GNN_OK)
        *accuracy = 100 * result.validation_metric;
    gnn_model_free(model);
    gnn_graph_free(graph);
    return code;
}
