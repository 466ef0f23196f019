/* The classifier: its steps, its training, its test. */
#include "classify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LAYERS = 8 };

/* Tables are drawn with deviation 1; smaller ones are sooner what they learn than what was drawn. */
static int scale_table(const gnn_model_t *model, const char *name, int sinusoidal)
{
    gnn_tensor_t table;
    GNN_TRY(gnn_model_field(model, name, &table, NULL));
    if (sinusoidal)
        GNN_TRY(gnn_positions_sinusoidal(&table));
    for (int64_t k = 0; k < table.rows * table.cols; k++)
        table.data[k] *= (gnn_real_t)0.1;
    return GNN_OK;
}

static gnn_layer_config_t mean_layer(int64_t width)
{
    return (gnn_layer_config_t){.in = width, .aggregator = gnn_aggregator_find("mean"), .message = gnn_message_find("none"), .update = GNN_UPDATE_NONE};
}

static gnn_layer_config_t attention_layer(int64_t width, int64_t heads)
{
    return (gnn_layer_config_t){.in = width, .out = width, .heads = heads, .aggregator = gnn_aggregator_find("dot"), .message = gnn_message_find("linear"),
                                .update = GNN_UPDATE_LINEAR, .bias_project = GNN_ON};
}

/* No layers: words -> mean over the words -> relu -> classes, which is an MLP with one hidden layer on bags of words. */
static int new_bag(gnn_model_t **model, gnn_context_t *context, const classify_t *o, const gnn_vocabulary_t *vocabulary)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_EMBED, .name = "word", .input = "words", .in = gnn_vocabulary_size(vocabulary), .out = o->width},
        {.name = "readout", .graph = 1, .layer = mean_layer(o->width)},
        {.kind = GNN_STEP_ACTIVATION, .name = "relu", .activation = GNN_RELU},
        {.kind = GNN_STEP_DROPOUT, .name = "drop", .rate = (gnn_real_t)o->dropout},
        {.kind = GNN_STEP_LINEAR, .name = "class", .in = o->width, .out = gnn_vocabulary_labels(vocabulary)}};
    GNN_TRY(gnn_model_from_steps(model, context, sizeof steps / sizeof *steps, steps));
    return scale_table(*model, "word.table", 0);
}

/* Words + positions -> Transformer layers -> mean over the words, or attention of one more node whose query is learned -> classes. */
int classifier_new(gnn_model_t **model, gnn_context_t *context, const classify_t *o, const gnn_vocabulary_t *vocabulary)
{
    static const char *const names[MOST_LAYERS] = {"layer1", "layer2", "layer3", "layer4", "layer5", "layer6", "layer7", "layer8"};
    gnn_step_t steps[MOST_LAYERS + 8] = {
        {.kind = GNN_STEP_EMBED, .name = "word", .input = "words", .in = gnn_vocabulary_size(vocabulary), .out = o->width},
        {.kind = GNN_STEP_EMBED, .name = "place", .input = "places", .in = o->max_words, .out = o->width},
        {.kind = GNN_STEP_ADD, .name = "sum", .input = "word", .second = "place"},
        {.kind = GNN_STEP_DROPOUT, .name = "drop", .rate = (gnn_real_t)o->dropout}};
    int64_t n = 4;
    if (o->layers == 0)
        return new_bag(model, context, o, vocabulary);
    for (int64_t k = 0; k < o->layers && k < MOST_LAYERS; k++)
        steps[n++] = (gnn_step_t){.name = names[k], .layer = GNN_TRANSFORMER(.in = o->width, .heads = o->heads, .feed_forward = 2 * o->width,
                                                                             .dropout = (gnn_real_t)0.1)};
    const char *words = steps[n - 1].name;
    if (o->node)
        steps[n++] = (gnn_step_t){.kind = GNN_STEP_EMBED, .name = "query", .input = "queries", .in = 1, .out = o->width};
    steps[n++] = (gnn_step_t){.name = "readout", .graph = 1, .input = words, .receivers = o->node ? "query" : NULL,
                              .layer = o->node ? attention_layer(o->width, o->heads) : mean_layer(o->width)};
    steps[n++] = (gnn_step_t){.kind = GNN_STEP_DROPOUT, .name = "drop2", .rate = (gnn_real_t)o->dropout};
    steps[n++] = (gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "class", .in = o->width, .out = gnn_vocabulary_labels(vocabulary)};
    GNN_TRY(gnn_model_from_steps(model, context, n, steps));
    GNN_TRY(scale_table(*model, "word.table", 0));
    return scale_table(*model, "place.table", o->sinusoidal);
}

int64_t classifier_step(const gnn_model_t *model, const char *name)
{
    for (int64_t k = gnn_model_step_count(model) - 1; k >= 0; k--)
        if (strcmp(gnn_model_step(model, k)->name, name) == 0)
            return k;
    return -1;
}

/* ---- training ---- */

static int get_batch(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    const batches_t *const *both = user;
    const batch_t *b = &both[part]->batch[index];
    if (part == GNN_TRAIN)
        gnn_pack_drop_words(b->pack, b->options->word_dropout, b->options->seed, epoch, b->ids);
    batch->inputs = batch_inputs(b);
    batch->loss = (gnn_loss_t){.labels = b->pack->labels};
    return GNN_OK;
}

static int show_progress(void *user, const gnn_progress_t *now)
{
    (void)user;
    int live = isatty(STDERR_FILENO);
    fprintf(stderr, "%sepoch %lld of %lld: loss %.4f, held-out loss %.4f, accuracy %.1f%%%s, %.0f s%s", live ? "\r\033[K" : "", (long long)now->epoch,
            (long long)now->epochs, now->train_loss, now->validation_loss, 100 * now->validation_metric, now->improved ? " (best)" : "", now->seconds,
            live && now->epoch < now->epochs ? "" : "\n");
    return 0;
}

int classifier_train(gnn_model_t *model, gnn_context_t *context, const classify_t *o, const batches_t *train, const batches_t *dev)
{
    const batches_t *both[] = {train, dev};
    const gnn_parameter_group_t fixed = {.prefix = "place.", .lr_scale = GNN_ZERO, .weight_decay = GNN_ZERO};
    gnn_source_t source = {.get = get_batch, .count = {train->packs->count, dev->packs->count, 0}, .user = both};
    gnn_train_config_t config = {.epochs = o->epochs, .lr = (gnn_real_t)o->lr, .weight_decay = (gnn_real_t)o->weight_decay, .patience = o->patience,
                                 .callback = show_progress,
                                 .optimizer = {.kind = GNN_ADAMW, .clip_norm = 1, .groups = &fixed, .n_groups = o->sinusoidal ? 1 : 0},
                                 .schedule = {.kind = GNN_SCHEDULE_COSINE, .warmup = 50, .period = o->epochs * train->packs->count, .gamma = 0.05}};
    return gnn_train_batches(model, context, &source, &config, NULL);
}

/* ---- testing ---- */

static int to_edges(const gnn_model_t *model, const batch_t *b, gnn_graph_t *edges[2])
{
    for (int slot = 0; slot < 2; slot++) {
        GNN_TRY(gnn_graph_to_edges(&edges[slot], b->graphs[slot]));
        GNN_TRY(gnn_model_prepare(model, slot, edges[slot], GNN_OFF));
    }
    return GNN_OK;
}

/* The best class, and how far the second best is behind it. */
static int64_t best_class(const gnn_real_t *logits, int64_t classes, double *margin)
{
    int64_t best = 0;
    *margin = INFINITY;
    for (int64_t c = 1; c < classes; c++)
        if (logits[c] > logits[best])
            best = c;
    for (int64_t c = 0; c < classes; c++)
        if (c != best && logits[best] - logits[c] < (gnn_real_t)*margin)
            *margin = (double)(logits[best] - logits[c]);
    return best;
}

static int compare(const gnn_model_t *model, gnn_context_t *context, const batch_t *b, const gnn_tensor_t *out, gnn_real_t *memory, int64_t counts[2])
{
    gnn_graph_t *edges[2] = {NULL, NULL};
    gnn_tensor_t other = gnn_tensor(memory, out->rows, out->cols);
    gnn_model_inputs_t inputs = batch_inputs(b);
    inputs.graphs = (const gnn_graph_t *const *)edges;
    int rc = to_edges(model, b, edges);
    if (rc == GNN_OK)
        rc = gnn_model_forward(model, context, &inputs, &other);
    for (int64_t s = 0; rc == GNN_OK && s < out->rows; s++) {
        double margin, unused;
        int64_t best = best_class(out->data + s * out->cols, out->cols, &margin);
        counts[0] += margin > 1e-4;
        counts[1] += margin > 1e-4 && best_class(memory + s * out->cols, out->cols, &unused) != best;
    }
    gnn_graph_free(edges[0]);
    gnn_graph_free(edges[1]);
    return rc;
}

int classifier_test(const gnn_model_t *model, gnn_context_t *context, const batches_t *test, double *accuracy, int64_t edges[2])
{
    enum { LOGITS = 64 * 1000 }; /* sentences of a pack, labels of a corpus */
    static gnn_real_t logits[LOGITS], other[LOGITS];
    int64_t classes = gnn_model_step(model, gnn_model_step_count(model) - 1)->out, right = 0, count = 0;
    for (int64_t k = 0; k < test->packs->count; k++) {
        const batch_t *b = &test->batch[k];
        gnn_tensor_t out = gnn_tensor(logits, b->pack->sentences, classes);
        gnn_model_inputs_t inputs = batch_inputs(b);
        double margin;
        GNN_TRY(gnn_model_forward(model, context, &inputs, &out));
        for (int64_t s = 0; s < out.rows; s++, count++)
            right += best_class(logits + s * classes, classes, &margin) == b->pack->labels[s];
        if (edges)
            GNN_TRY(compare(model, context, b, &out, other, edges));
    }
    *accuracy = 100 * (double)right / (double)count;
    return GNN_OK;
}
