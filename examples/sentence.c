/*
 * A Transformer that learns which word a verb agrees with: "the keys near the old cabinet of my
 * sisters [is|are] lost" -> are. A batch of sentences is one graph. --topology says who hears whom,
 * and is the only thing that changes between full attention, causal attention, a sliding window,
 * and full attention stored edge by edge.
 */
#include "sentence.h"

#include "classify.h"
#include "program.h"

#include <getopt.h>
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

/* Words + places -> Transformer layers -> singular or plural, at every word; only the verb's answer
 * counts. */
static int make_model(gnn_model_t **model, gnn_context_t *context, int64_t layers)
{
    gnn_step_t steps[16] = {
        {.kind = GNN_STEP_EMBED, .name = "word", .input = "words", .in = language_size(), .out = WIDTH},
        {.kind = GNN_STEP_EMBED, .name = "place", .input = "places", .in = MAX_WORDS, .out = WIDTH},
        {.kind = GNN_STEP_ADD, .input = "word", .second = "place"}};
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
                                 .lr = (gnn_real_t)0.003,
                                 .watch = GNN_WATCH_LOSS,
                                 .callback = show_progress,
                                 .optimizer = {.clip_norm = 1},
                                 .schedule = {.kind = GNN_SCHEDULE_COSINE,
                                              .warmup = TRAINING,
                                              .period = options->epochs * TRAINING}};
    GNN_TRY(gnn_train_batches(*model, context, &source, &config, NULL));
    return report(*model, context, options, packs + TRAINING, HELD_OUT);
}

static void usage(FILE *to)
{
    fprintf(
        to,
        "usage: sentence [--topology complete|causal|window=N|edges] [--layers N] [--epochs N] [--seed N] [--threads N] [--plot FILE.svg]\n"
        "       sentence --data FILE ...: sentences that people wrote; sentence --data FILE --help has more\n");
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

static int parse(options_t *o, int argc, char **argv)
{
    const struct option known[] = {
        {"topology", 1, 0, 't'}, {"layers", 1, 0, 'l'}, {"epochs", 1, 0, 'e'}, {"seed", 1, 0, 's'},
        {"threads", 1, 0, 'j'},  {"plot", 1, 0, 'p'},   {"help", 0, 0, 'h'},   {0, 0, 0, 0}};
    int64_t seed = (int64_t)o->seed, threads = o->threads;
    for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        if (c == 't' && !set_topology(o, optarg))
            return 0;
        if ((c == 'l' && !program_whole("--layers", optarg, 1, 8, &o->layers)) ||
            (c == 'e' && !program_whole("--epochs", optarg, 1, 1000000, &o->epochs)) ||
            (c == 's' && !program_whole("--seed", optarg, 0, INT64_MAX, &seed)) ||
            (c == 'j' && !program_whole("--threads", optarg, 0, 1024, &threads)))
            return 0;
        if (c == 'p')
            o->picture = optarg;
        if (c == 'h') {
            usage(stdout);
            exit(program_ends("sentence", EXIT_SUCCESS));
        }
        if (c == '?')
            return 0;
    }
    o->seed = (uint64_t)seed;
    o->threads = (int)threads;
    return optind == argc;
}

int main(int argc, char **argv)
{
    options_t options = {
        .topology = COMPLETE, .layers = 1, .epochs = 10, .seed = 1, .name = "complete"};
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "--data") == 0 || strcmp(argv[k], "--load") == 0)
            return classify_main(argc, argv);
    pack_t *packs = calloc(TRAINING + HELD_OUT, sizeof *packs);
    if (!parse(&options, argc, argv)) {
        usage(stderr);
        free(packs);
        return 2;
    }
    int rc = packs ? gnn_context_new(&context, &(gnn_context_config_t){.seed = options.seed,
                                                                       .threads = options.threads})
                   : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = run(&options, context, &model, packs);
    if (rc == GNN_OK)
        rc = gnn_profile_write(context, stderr);
    if (rc != GNN_OK)
        fprintf(stderr, "sentence: %s%s%s\n", gnn_error_string(rc),
                *gnn_error_message() ? ": " : "", gnn_error_message());
    for (int k = 0; packs && k < TRAINING + HELD_OUT; k++)
        gnn_graph_free(packs[k].graph);
    free(packs);
    gnn_model_free(model);
    gnn_context_free(context);
    return program_ends("sentence", rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}
