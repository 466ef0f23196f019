/*
 * A Transformer that learns which word a verb agrees with: "the keys near the old cabinet of my
 * sisters [is|are] lost" -> are. A batch of sentences is one graph. --topology is the only
 * difference between full attention, causal attention, a sliding window, and full attention stored
 * as edges.
 */
#include "sentence.h"

#include "classify.h"
#include "options.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRAINING = 96, HELD_OUT = 16 }; /* packs */

int make_graph(gnn_graph_t **graph, topology_t topology, int64_t window, const int64_t *lengths)
{
    if (topology == CAUSAL)
        return gnn_graph_causal(graph, SENTENCES, lengths);
    if (topology == WINDOW)
        return gnn_graph_window(graph, SENTENCES, lengths, window, 1, GNN_OFF);
    if (topology == COMPLETE)
        return gnn_graph_complete(graph, SENTENCES, lengths);
    gnn_graph_t *complete;
    GNN_TRY(gnn_graph_complete(&complete, SENTENCES, lengths));
    int rc = gnn_graph_to_edges(graph, complete);
    gnn_graph_free(complete);
    return rc;
}

static int make_pack(pack_t *p, const gnn_model_t *model, const options_t *options, uint64_t *state)
{
    for (int s = 0; s < SENTENCES; s++) {
        const sentence_t *from = &p->sentences[s];
        p->sentences[s] = language_sentence(state);
        p->lengths[s] = from->length;
        for (int k = 0; k < from->length; k++, p->rows++) {
            p->words[p->rows] = from->words[k];
            p->places[p->rows] = k;
            p->answers[p->rows] = k == from->verb ? from->plural : -1;
        }
    }
    p->values[0] = (gnn_named_t){.name = "words", .ids = p->words, .count = p->rows};
    p->values[1] = (gnn_named_t){.name = "places", .ids = p->places, .count = p->rows};
    GNN_TRY(make_graph(&p->graph, options->topology, options->window, p->lengths));
    return gnn_model_prepare(model, 0, p->graph, GNN_ON);
}

static int get_batch(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    (void)epoch;
    pack_t *p = (pack_t *)user + (part == GNN_TRAIN ? 0 : TRAINING) + index;
    batch->inputs = pack_inputs(p);
    batch->loss = (gnn_loss_t){.labels = p->answers};
    return GNN_OK;
}

/* Words + positions -> Transformer layers -> singular or plural per word; the loss is on the verb
 * only. */
static int make_model(gnn_model_t **model, gnn_context_t *context, int64_t layers)
{
    gnn_step_t steps[16] = {
        {.kind = GNN_STEP_EMBED, .name = "word", .inputs = {"words"}, .in = language_size(), .out = WIDTH},
        {.kind = GNN_STEP_EMBED, .name = "place", .inputs = {"places"}, .in = MAX_WORDS, .out = WIDTH},
        {.kind = GNN_STEP_ADD, .inputs = {"word", "place"}}};
    int64_t n = 3;
    for (int64_t k = 0; k < layers; k++)
        steps[n++] = (gnn_step_t){.kind = GNN_STEP_LAYER,
                                  .layer = GNN_TRANSFORMER(.in = WIDTH, .heads = HEADS,
                                                           .feed_forward = 2 * WIDTH,
                                                           .dropout_attention = (gnn_real_t)0.2)};
    steps[n++] = (gnn_step_t){.kind = GNN_STEP_LINEAR, .in = WIDTH, .out = 2};
    return gnn_model_from_steps(model, context, n, steps);
}

static int show_progress(void *user, const gnn_progress_t *now)
{
    (void)user;
    int going_on = isatty(STDERR_FILENO) && now->epoch < now->epochs;
    fprintf(stderr, "%sepoch %lld of %lld: loss %.4f, held-out accuracy %.1f%%, %.0f s%s",
            isatty(STDERR_FILENO) ? "\r" : "", (long long)now->epoch, (long long)now->epochs,
            now->train_loss, 100 * now->validation_metric, now->seconds, going_on ? "  " : "\n");
    return 0;
}

static int run(const options_t *options, gnn_context_t *context, gnn_model_t **model, pack_t *packs)
{
    uint64_t state = options->seed;
    GNN_TRY(make_model(model, context, options->layers));
    for (int k = 0; k < TRAINING + HELD_OUT; k++)
        GNN_TRY(make_pack(&packs[k], *model, options, &state));
    gnn_source_t source = {.get = get_batch, .count = {TRAINING, HELD_OUT, 0}, .user = packs};
    gnn_train_config_t config = {.epochs = options->epochs,
                                 .watch = GNN_WATCH_LOSS,
                                 .callback = show_progress,
                                 .stop = &program_stopped,
                                 .optimizer = {.clip_norm = 1, .lr = (gnn_real_t)0.003},
                                 .schedule = {.kind = GNN_SCHEDULE_COSINE,
                                              .warmup = TRAINING,
                                              .period = options->epochs * TRAINING}};
    program_catch_interrupt();
    GNN_TRY(gnn_train_batches(*model, context, &source, &config, NULL));
    program_let_interrupt();
    return report(*model, context, options, packs + TRAINING, HELD_OUT);
}

static int set_topology(options_t *o, const char *name)
{
    const char *const names[] = {"complete", "causal", "window", "edges"};
    o->name = name;
    for (int k = 0; k < 4; k++)
        if (strcmp(name, names[k]) == 0 && k != WINDOW)
            return o->topology = (topology_t)k, 1;
    o->topology = WINDOW;
    if (strncmp(name, "window=", 7) == 0)
        return program_whole("--topology window", name + 7, 0, 1000000, &o->window);
    fprintf(stderr, "--topology: \"%s\" is none of complete, causal, window=N, edges\n", name);
    return 0;
}

static int take_topology(const char *value, void *to)
{
    *(const char **)to = value;
    return set_topology(&(options_t){0}, value);
}

/* ---- options ---- */

static const char on_ctrl_c[] =
    "Ctrl-C ends after the running step, writes the best model and exits with 130; a second one exits at once.";

static int read_options(options_t *o, classify_t *c, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        HEADING("Both tasks"),
        TAKE("topology", &c->topology,
             "senders of a word: all words, earlier ones, N on either side, or all of them stored as edges [complete]",
             "complete|causal|window=N|edges", take_topology),
        WHOLE("layers", &c->layers, "Transformer layers", 1, 8, .where = "!load"),
        WHOLE("epochs", &o->epochs, "passes over the sentences [10; 8 with --data]", 1, 1000000,
              .where = "!load"),
        SEED(&c->seed, "of weights, dropout and the generated sentences", .where = "!load"),
        THREADS(&c->threads),
        OUTPUT("heatmap", &c->heatmap, "attention as a heat map", "FILE.svg"),
        HEADING("Sentences with classes"),
        INPUT("data", &c->data, "training lines: class, tab, sentence", "FILE", .where = "!load"),
        INPUT("load", &c->load, "runs a saved model instead; its vocabulary is FILE.words", "FILE"),
        INPUT("validation", &c->validation, "validation sentences [a tenth of --data]", "FILE",
              .where = "data"),
        INPUT("test", &c->test, "test sentences", "FILE", .where = "data|load"),
        STORED("save", &c->save, "saves the best model, and its vocabulary as FILE.words", "FILE",
               .where = "data", .companion = ".words"),
        TEXT("sentence", &c->sentence, "classifies this sentence and shows its attention", "TEXT",
             .where = "data|load"),
        OUTPUT("graphml", &c->graphml, "that sentence as a graph with attention as edge weights",
               "FILE.graphml", .where = "sentence"),
        CHOICE("readout", &c->node, "mean over words, or attention readout", "mean|node",
               .where = "data"),
        CHOICE("positions", &c->sinusoidal, "position embedding", "learned|sinusoidal",
               .where = "data"),
        WHOLE("width", &c->width, "width of the embeddings", 1, 65536, .where = "data"),
        WHOLE("heads", &c->heads, "of attention", 1, 4096, .where = "data"),
        WHOLE("patience", &c->patience, "ends after so many epochs without a better one", 1,
              1000000, .where = "data"),
        WHOLE("max-length", &c->max_length, "uses the first N words of a sentence", 1, 1000000,
              .where = "data"),
        WHOLE("min-count", &c->min_count, "minimum frequency of words in the vocabulary", 1, 1e9,
              .where = "data"),
        REAL("dropout", &c->dropout, "rate of dropout", 0, 0.99, .where = "data"),
        REAL("word-dropout", &c->word_dropout, "word dropout in training", 0, 0.99, .where = "data"),
        REAL("lr", &c->lr, "learning rate of AdamW", 0, 1000, .where = "data"),
        REAL("weight-decay", &c->weight_decay, "of AdamW", 0, 1000, .where = "data"),
    };
    const program_t program = {.name = "sentence",
                               .usage = "[OPTION]...",
                               .notes = on_ctrl_c,
                               .options = rows,
                               .n_options = (int)(sizeof rows / sizeof *rows)};
    if (!options_read(&program, argc, argv, status))
        return 0;
    *status = 2;
    const int text = c->data || c->load;
    if (c->load && !c->test && !c->sentence)
        fprintf(stderr, "--load: --sentence or --test is expected, too\n");
    else if (text && c->heatmap && !c->sentence)
        fprintf(stderr, "--heatmap: has no effect without --sentence\n");
    else
        return set_topology(o, c->topology);
    return 0;
}

/* ---- the generated language ---- */

static int run_generated(const options_t *options)
{
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    pack_t *packs = calloc(TRAINING + HELD_OUT, sizeof *packs);
    int rc = packs ? gnn_context_new(&context, &(gnn_context_config_t){.seed = options->seed,
                                                                       .threads = options->threads})
                   : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = run(options, context, &model, packs);
    if (rc == GNN_OK)
        rc = gnn_profile_write(context, stderr);
    program_fails("sentence", rc);
    for (int k = 0; packs && k < TRAINING + HELD_OUT; k++)
        gnn_graph_free(packs[k].graph);
    free(packs);
    gnn_model_free(model);
    gnn_context_free(context);
    return rc;
}

int sentence_main(int argc, char **argv)
{
    options_t options = {0};
    classify_t text = {CLASSIFY_DEFAULTS};
    int status = 2;
    if (!read_options(&options, &text, argc, argv, &status))
        return status;
    if (options.epochs)
        text.epochs = options.epochs;
    if (text.data || text.load)
        return program_ends_with("sentence", classify(&text));
    options.epochs = options.epochs ? options.epochs : 10;
    options.layers = text.layers;
    options.seed = (uint64_t)text.seed;
    options.threads = (int)text.threads;
    options.picture = text.heatmap;
    return program_ends_with("sentence", run_generated(&options));
}
