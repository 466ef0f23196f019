/* Classification of graphs: trains a network on the set's own split or on the folds of a
 * cross-validation. `gnn graphs --help` lists the options. */
#include "graphs.h"
#include "options.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1000000000, DRAWN = 300 };

static int open_set(const options_t *o, gnn_data_t **data)
{
    GNN_TRY(strcmp(o->data, "motifs") == 0 ? gnn_data_motifs(data, DRAWN, (uint64_t)o->seed)
                                           : gnn_data_open(data, o->data));
    if (!gnn_data_graph_labels(*data)) {
        fprintf(stderr,
                "graphs: %s: %lld graph%s without classes of graphs: the program predicts one class "
                "per graph, of two graphs or more\n",
                gnn_data_name(*data), (long long)gnn_data_graphs(*data),
                gnn_data_graphs(*data) == 1 ? "" : "s");
        return PROGRAM_REFUSED;
    }
    GNN_TRY(program_has_classes("graphs", gnn_data_name(*data), gnn_data_classes(*data)));
    if (o->degrees)
        GNN_TRY(gnn_data_degree_features(*data, 0));
    fprintf(o->say, "%s: %lld graphs, %lld nodes, %lld messages, %lld features, %lld classes\n",
            gnn_data_name(*data), (long long)gnn_data_graphs(*data),
            (long long)gnn_data_nodes(*data), (long long)gnn_graph_n_pairs(gnn_data_graph(*data)),
            (long long)gnn_data_features(*data), (long long)gnn_data_classes(*data));
    fflush(o->say);
    return GNN_OK;
}

/* "auto" is the set's split, if it has one and --folds is not given. */
static int choose_protocol(options_t *o, const gnn_data_t *data)
{
    const gnn_array_t *own = own_split(data);
    if (o->protocol == PROTOCOL_OWN && !own) {
        fprintf(stderr, "graphs: %s has no split of its own\n", gnn_data_name(data));
        return PROGRAM_REFUSED;
    }
    if (o->protocol == PROTOCOL_AUTO)
        o->protocol = own && !options_gave("folds") && !options_gave("most-folds") ? PROTOCOL_OWN
                                                                                   : PROTOCOL_MEAN;
    if (o->protocol != PROTOCOL_OWN && o->most_folds > o->folds) {
        fprintf(stderr, "--most-folds: got %lld of %lld folds\n", (long long)o->most_folds,
                (long long)o->folds);
        return PROGRAM_REFUSED;
    }
    if (o->protocol == PROTOCOL_HELD && o->folds < 3) {
        fprintf(stderr,
                "--folds: %lld, expected 3 or more with --protocol held-out: one fold for "
                "validation, one for testing\n",
                (long long)o->folds);
        return PROGRAM_REFUSED;
    }
    if (o->protocol != PROTOCOL_OWN)
        return GNN_OK;
    o->folds = 1;
    fprintf(o->say, "the set's %s\n", own->name);
    return GNN_OK;
}

static int run(void *options, gnn_context_t *context, gnn_data_t **data, void *measured)
{
    options_t *o = options;
    study_t *study = measured;
    GNN_TRY(open_set(o, data));
    GNN_TRY(choose_protocol(o, *data));
    GNN_TRY(graphs_study_run(study, o, context, *data));
    if (o->curve)
        GNN_TRY(graphs_write_curve(o, *data, study));
    if (o->json)
        graphs_print_json(stdout, o, *data, study);
    fprintf(o->say, "test accuracy %.1f", 100 * study->mean);
    if (o->protocol != PROTOCOL_OWN)
        fprintf(o->say, " +- %.1f over %lld folds", 100 * study->deviation, (long long)study->count);
    const char *by = o->watch == GRAPHS_WATCH_LOSS ? " by loss" : "";
    if (o->protocol == PROTOCOL_OWN)
        fprintf(o->say, " (epoch %lld, the best on validation graphs%s)\n",
                (long long)study->folds[0].epoch, by);
    else if (o->protocol == PROTOCOL_MEAN)
        fprintf(o->say, " (epoch %lld, the best in their mean%s)\n",
                (long long)study->folds[0].epoch, by);
    else
        fprintf(o->say, " (each at the epoch that its held-out fold chose%s)\n", by);
    fflush(stdout);
    return GNN_OK;
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        HEADING("Data and network"),
        INPUT("data", &o->data,
              "a folder of TU Dortmund's collection or of OGB, a text of structure2vec "
              "(docs/formats.md), or motifs: generated graphs",
              "PATH|motifs"),
        FLAG("degrees", &o->degrees, "one-hot degrees as node features instead of the set's"),
        NAME("layer", &o->layer,
             "a preset of the library: gcn, sage, gat, transformer ...; gin has batch norms here",
             program_preset),
        NAME("readout", &o->readout, "one row per graph, by an aggregator or a block",
             graphs_readout_at),
        CHOICE("jump", &o->jump, "adds readouts of all layers, or uses the last layer only",
               "sum|last"),
        WHOLE("layers", &o->layers, "hops", 1, 64),
        WHOLE("hidden", &o->hidden, "width of the layers", 1, 65536),
        WHOLE("heads", &o->heads, "attention heads", 1, 1024,
              .where = "layer=gat|gatv2|transformer_conv|transformer"),
        HEADING("Training"),
        CHOICE("protocol", &o->protocol,
               "own: the set's array split.NAME, with the best epoch on its validation graphs; "
               "mean: folds, with the epoch that is best on average (Xu et al. 2019); held-out: "
               "folds, with the best epoch on another fold; auto: own if the set has a split",
               "auto|own|mean|held-out"),
        WHOLE("folds", &o->folds, "of the cross-validation", 2, 1000, .where = "!protocol=own"),
        WHOLE("most-folds", &o->most_folds, "runs the first N folds only; 0: all", 0, 1000,
              .where = "!protocol=own"),
        CHOICE("watch", &o->watch, "criterion for the best epoch: accuracy or loss", "metric|loss"),
        WHOLE("epochs", &o->epochs, "of each fold", 1, MOST),
        WHOLE("batch", &o->batch, "graphs of a batch", 1, MOST),
        WHOLE("per-epoch", &o->per_epoch, "batches per epoch; 0: one pass over the graphs", 0, MOST),
        REAL("lr", &o->lr, "learning rate of Adam", 0, 1000),
        WHOLE("period", &o->period, "epochs until the learning rate is halved; 0: never", 0, MOST),
        REAL("dropout", &o->dropout, "rate of dropout on the scores", 0, 0.99),
        REAL("weight-decay", &o->weight_decay, "L2 penalty", 0, 1000),
        SEED(&o->seed, "of folds, weights and dropout [0]"),
        THREADS(&o->threads),
        HEADING("Results"),
        JSON(&o->json),
        OUTPUT("log", &o->log, "losses and accuracy of each epoch of each fold", "FILE.csv"),
        OUTPUT("curve", &o->curve, "mean accuracy over epochs", "FILE.svg"),
        STORED("save", &o->save, "the model of the first fold", "FILE"),
    };
    const program_t program = {
        .name = "graphs",
        .usage = "[OPTION]...",
        .notes = "Ctrl-C ends after the running step and exits with 130; a second one exits at once.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    return options_read(&program, argc, argv, status);
}

static void release(void *measured)
{
    graphs_study_free(measured);
}

int graphs_main(int argc, char **argv)
{
    options_t options = {.data = "motifs",
                         .layer = "gin",
                         .readout = "sum",
                         .layers = 4,
                         .hidden = 32,
                         .heads = 1,
                         .folds = 10,
                         .epochs = 60,
                         .batch = 32,
                         .period = 50,
                         .lr = 0.01,
                         .dropout = 0.5};
    study_t study = {0};
    int status;
    if (!read_options(&options, argc, argv, &status))
        return status;
    if (!program_heads_divide(options.hidden, options.heads))
        return 2;
    options.say = options.json ? stderr : stdout;
    return program_run(
        &(program_run_t){
            .name = "graphs", .options = &options, .measured = &study, .run = run, .release = release},
        options.threads);
}
