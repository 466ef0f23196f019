/* Link prediction: trains an encoder and a decoder on the training links of a graph and evaluates
 * them on the others. `gnn links --help` lists the options. */
#include "links.h"
#include "options.h"
#include "program.h"
#include "scale.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1000000000 };

static int open_set(options_t *o, gnn_context_t *context, gnn_data_t **data, study_t *study)
{
    char text[400];
    int blocks;
    GNN_TRY(program_open_set(data, o->data, o->directed));
    gnn_data_describe(*data, text, sizeof text);
    fprintf(o->say, "%s\n", text);
    fflush(o->say);
    if (gnn_data_features(*data) == 0) {
        fprintf(stderr, "links: %s has no features: gnn convert adds them (--features)\n",
                gnn_data_name(*data));
        return PROGRAM_REFUSED;
    }
    if (o->load) {
        GNN_TRY(gnn_model_load(&study->loaded, context, o->load));
        GNN_TRY(scale_of_model("links", o->load, study->loaded, NULL, graph_as_stored(o->directed),
                               &o->scale, &blocks));
    }
    scale_t scale = (scale_t)o->scale;
    if (scale == SCALE_AUTO)
        GNN_TRY(scale_for(*data, &scale));
    o->scale = (int)scale;
    GNN_TRY(scale_features(*data, o->scale));
    return keep_words_sparsely(*data);
}

static int run(void *options, gnn_context_t *context, gnn_data_t **data, void *measured)
{
    options_t *o = options;
    study_t *study = measured;
    GNN_TRY(open_set(o, context, data, study));
    GNN_TRY(links_study_run(study, o, context, *data));
    if (o->curve)
        GNN_TRY(links_write_curve(o, *data, study));
    if (o->json)
        links_print_json(stdout, o, *data, study);
    if (study->count > 1)
        fprintf(o->say, "test AUC %.1f +- %.1f, average precision %.1f +- %.1f over %lld seeds\n",
                100 * study->mean.auc, 100 * study->deviation.auc,
                100 * study->mean.average_precision, 100 * study->deviation.average_precision,
                (long long)study->count);
    else
        fprintf(o->say, "test AUC %.1f, average precision %.1f over 1 seed\n",
                100 * study->mean.auc, 100 * study->mean.average_precision);
    fflush(stdout);
    return GNN_OK;
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        HEADING("Data and network"),
        INPUT("data", &o->data,
              "a .npz, LINQS' files, OGB's folder (docs/formats.md), or Zachary's karate club",
              "FILE|karate"),
        SCALE(&o->scale),
        NAME("layer", &o->layer, "a preset of the library: gcn, sage, gat, gin, transformer ...",
             program_preset, .where = "!load"),
        CHOICE("decoder", &o->decoder, "score of a pair of nodes", DECODERS, .where = "!load"),
        WHOLE("layers", &o->layers, "hops", 1, 64, .where = "!load"),
        WHOLE("hidden", &o->hidden, "width of layers before the last", 1, 65536, .where = "!load"),
        WHOLE("out", &o->out, "width of the decoder's input", 1, 65536, .where = "!load"),
        WHOLE("heads", &o->heads, "attention heads", 1, 1024,
              .where = "!load layer=gat|gatv2|transformer_conv|transformer"),
        INPUT("load", &o->load, "evaluates a saved model instead of training one", "FILE"),
        HEADING("Training"),
        REAL("validation-share", &o->validation_share, "fraction of the links for validation",
             0.001, 0.9),
        REAL("test-share", &o->test_share, "fraction of the links for testing", 0.001, 0.9),
        FLAG("directed", &o->directed,
             "edges in the stored direction only, each a link of its own; else both directions of each link"),
        WHOLE("negatives", &o->negatives, "negative pairs per link, drawn in each epoch", 1, 1000,
              .where = "!load"),
        WHOLE("batch", &o->batch, "links per step; 0: all", 0, MOST, .where = "!load"),
        WHOLE("epochs", &o->epochs, "passes over the links", 1, MOST, .where = "!load"),
        WHOLE("patience", &o->patience, "epochs without improvement before stopping; 0: never", 0,
              MOST, .where = "!load !watch=last"),
        CHOICE("watch", &o->watch,
               "criterion for the best epoch on validation links; last: keeps the last epoch",
               "auc|ap|loss|last", .where = "!load"),
        REAL("dropout", &o->dropout, "rate of dropout on the layers' inputs", 0, 0.99,
             .where = "!load"),
        REAL("lr", &o->lr, "learning rate of Adam", 0, 1000, .where = "!load"),
        REAL("weight-decay", &o->weight_decay, "L2 penalty", 0, 1000, .where = "!load"),
        WHOLE("seeds", &o->seeds, "count of trainings with different splits and initial weights", 1,
              1000000),
        SEED(&o->seed, "of the first training [0]"),
        THREADS(&o->threads),
        HEADING("Results"),
        JSON(&o->json),
        STORED("save", &o->save, "the model of the first seed, for --load", "FILE"),
        OUTPUT("predict", &o->predict, "scores of the first seed's test pairs", "FILE.csv"),
        OUTPUT("log", &o->log, "losses and validation metric of each epoch", "FILE.csv",
               .where = "!load"),
        OUTPUT("curve", &o->curve, "losses over epochs of the first seed", "FILE.svg",
               .where = "!load"),
    };
    const program_t program = {
        .name = "links",
        .usage = "[OPTION]...",
        .notes = "Ctrl-C ends after the running step and exits with 130; a second one exits at once.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    return options_read(&program, argc, argv, status);
}

static void release(void *measured)
{
    links_study_free(measured);
}

static int fits(const options_t *o)
{
    if (strcmp(o->layer, "transformer") != 0 && !program_has_hidden(o->layers))
        return 0;
    return program_heads_divide(o->hidden, o->heads);
}

int links_main(int argc, char **argv)
{
    options_t options = {.data = "karate",
                         .layer = "gcn",
                         .layers = 2,
                         .hidden = 32,
                         .out = 16,
                         .heads = 1,
                         .epochs = 200,
                         .negatives = 1,
                         .lr = 0.01,
                         .validation_share = 0.05,
                         .test_share = 0.1,
                         .seeds = 1};
    study_t study = {0};
    int status;
    if (!read_options(&options, argc, argv, &status))
        return status;
    if (!fits(&options))
        return 2;
    options.say = options.json ? stderr : stdout;
    return program_run(
        &(program_run_t){
            .name = "links", .options = &options, .measured = &study, .run = run, .release = release},
        options.threads);
}
