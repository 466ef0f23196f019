/* Node classification on citation graphs: trains a network with several seeds, or runs a saved one.
 * `gnn citation --help` lists the options. */
#include "citation.h"
#include "program.h"
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000000000 };

static int largest_class(const gnn_data_t *data, int64_t *largest)
{
    const int32_t *labels = gnn_data_labels(data);
    int64_t *counts = calloc((size_t)gnn_data_classes(data) + 1, sizeof *counts);
    if (!counts)
        return GNN_EMEMORY;
    *largest = 0;
    for (int64_t i = 0; i < gnn_data_nodes(data); i++)
        if (labels[i] >= 0 && ++counts[labels[i]] > *largest)
            *largest = counts[labels[i]];
    free(counts);
    return GNN_OK;
}

/* Replaces the splits of the file by drawn ones (Shchur et al. 2018): a given count of each class
 * for training and for validation, all others for the test. Without classes: 60%, 20% and 20%. */
static int draw_splits(options_t *o, gnn_data_t *data)
{
    static const char *const each[] = {"train-each", "validation-each"};
    if (o->drawn == 0)
        return GNN_OK;
    const int classes = o->kind == GNN_LABELS_CLASSES;
    for (int k = 0; k < 2 && !classes; k++)
        if (options_gave(each[k])) {
            fprintf(stderr, "--%s: has no effect where there are no classes\n", each[k]);
            return PROGRAM_REFUSED;
        }
    int64_t largest = INT64_MAX;
    if (classes)
        GNN_TRY(largest_class(data, &largest));
    for (int k = 0; k < 2; k++)
        if (options_gave(each[k]) && o->each[k] > largest) {
            fprintf(stderr, "--%s: %lld, the largest class of %s has %lld nodes\n", each[k],
                    (long long)o->each[k], gnn_data_name(data), (long long)largest);
            return PROGRAM_REFUSED;
        }
    if (!options_gave("splits") && !options_gave("split"))
        o->splits = o->drawn;
    return gnn_data_split_draw(data, classes ? &(gnn_split_rule_t){.splits = o->drawn,
                                                                   .train_each = o->each[0],
                                                                   .validation_each = o->each[1]}
                                             : &(gnn_split_rule_t){.splits = o->drawn,
                                                                   .train_share = 0.6,
                                                                   .validation_share = 0.2});
}

/* Writes the requested outputs of the best model's logits. */
static int write_all(const options_t *o, const gnn_data_t *data, const study_t *study,
                     gnn_tensor_t *logits)
{
    int64_t split = study->outcomes[study->best].split;
    if (o->predict)
        GNN_TRY(write_predictions(logits, o, data, o->predict));
    if (o->report)
        GNN_TRY(print_classes(o->say, logits, data, split));
    if (o->confusion)
        GNN_TRY(write_confusion(logits, data, split, o->confusion));
    return o->scatter ? write_scatter(logits, data, split, o->scatter) : GNN_OK;
}

static int save(const options_t *o, const study_t *study)
{
    if (!o->save || program_rank() > 0)
        return GNN_OK;
    GNN_TRY(program_save_model("citation", o->save, study->model));
    if (!o->load && o->scale == SCALE_AUTO)
        fprintf(o->say, "saved %s, with --scale %s, which --load takes from it\n", o->save,
                scale_names[study->outcomes[study->best].choice.scale]);
    return GNN_OK;
}

/* Ranks with own rows: rank 0 opens the whole set for what it writes of all nodes. */
static int write_of_all(const options_t *o, const study_t *study, const gnn_tensor_t *own)
{
    gnn_tensor_t all = {.cols = own->cols, .stride = own->cols};
    gnn_data_t *whole = NULL;
    int rc = GNN_OK;
    if (!o->predict && !o->report && !o->confusion && !o->scatter)
        return GNN_OK;
    if (program_rank() == 0) {
        all.rows = gnn_partition_folder_sizes(program_folder()).nodes;
        all.data = calloc((size_t)(all.rows * all.cols), sizeof *all.data);
        rc = all.data ? gnn_data_open(&whole, o->data) : GNN_EMEMORY;
    }
    rc = program_agree(rc);
    if (rc == GNN_OK)
        rc = program_gather(own, &all);
    if (rc == GNN_OK && program_rank() == 0)
        rc = write_all(o, whole, study, &all);
    gnn_data_free(whole);
    free(all.data);
    return rc;
}

static int write_outputs(const options_t *o, gnn_context_t *context, const gnn_data_t *data,
                         const study_t *study)
{
    GNN_TRY(save(o, study)); /* before calls that may fail */
    const int64_t n = gnn_data_nodes(data), outputs = task_outputs(o, data);
    gnn_tensor_t logits =
        gnn_tensor(calloc((size_t)(n * outputs) + 1, sizeof *logits.data), n, outputs);
    int rc = logits.data ? gnn_predict(study->model, context, data, &logits) : GNN_EMEMORY;
    if (rc == GNN_OK && program_folder())
        rc = write_of_all(o, study, &logits);
    else if (rc == GNN_OK && program_rank() == 0)
        rc = write_all(o, data, study, &logits);
    if (rc == GNN_OK && program_rank() == 0 && o->curve)
        rc = citation_write_curve(study, o, data, o->curve);
    free(logits.data);
    return rc;
}

static void print_summary(const options_t *o, const study_t *study)
{
    long long splits = o->load || !o->splits ? 1 : study->count / o->seeds,
              seeds = o->load ? 1 : o->seeds;
    char room[3][24];
    const gnn_metric_t second = task_second(o);
    if (isnan(study->mean)) {
        fprintf(o->say, "test %s: the test nodes give none\n", metric_names[o->metric]);
        return;
    }
    fprintf(o->say, "test %s %s", metric_names[o->metric],
            metric_text(o->metric, study->mean, room[0]));
    if (study->count > 1 && o->metric < GNN_METRIC_MAE)
        fprintf(o->say, " +- %.1f", 100 * study->deviation);
    else if (study->count > 1)
        fprintf(o->say, " +- %s", metric_text(o->metric, study->deviation, room[1]));
    if (second != o->metric)
        fprintf(o->say, " (%s %s)", metric_names[second],
                metric_text(second, study->second, room[2]));
    fprintf(o->say, " over ");
    if (splits > 1)
        fprintf(o->say, "%lld splits%s", splits, seeds > 1 ? " with " : "\n");
    if (splits == 1 || seeds > 1)
        fprintf(o->say, "%lld seed%s%s\n", seeds, seeds > 1 ? "s" : "", splits > 1 ? " each" : "");
}

/* Pictures and tables that compare classes. */
static int compares_classes(const options_t *o, const gnn_data_t *data)
{
    const char *option = o->confusion ? "--confusion"
                         : o->scatter ? "--scatter"
                         : o->report  ? "--report"
                                      : NULL;
    if (!option || o->kind == GNN_LABELS_CLASSES)
        return 0;
    fprintf(stderr, "%s: has no effect where there are no classes: %s has %s\n", option,
            gnn_data_name(data),
            o->kind == GNN_LABELS_SEVERAL ? "several labels per node" : "real values");
    return 1;
}

static int check_set(options_t *o, gnn_data_t *data)
{
    const char *lacks = gnn_data_features(data) == 0                   ? "features"
                        : gnn_data_label_kind(data) == GNN_LABELS_NONE ? "labels"
                                                                       : NULL;
    if (gnn_data_graphs(data) > 1) {
        fprintf(stderr, "citation: %s is a set of %lld graphs: gnn graphs classifies them\n",
                gnn_data_name(data), (long long)gnn_data_graphs(data));
        return PROGRAM_REFUSED;
    }
    if (lacks) {
        fprintf(stderr, "citation: %s has no %s: gnn convert adds them (--features, --labels)\n",
                gnn_data_name(data), lacks);
        return PROGRAM_REFUSED;
    }
    GNN_TRY(task_choose(o, data));
    return compares_classes(o, data) ? PROGRAM_REFUSED : GNN_OK;
}

static int open_whole(gnn_data_t **data, const options_t *o, int tells)
{
    char text[512];
    GNN_TRY(program_open_set(data, o->data, o->directed));
    gnn_data_describe(*data, text, sizeof text);
    if (tells)
        fprintf(o->say, "%s\n", text);
    return GNN_OK;
}

/* This rank's rows of a partition folder. */
static int open_rows(gnn_data_t **data, const options_t *o, int tells)
{
    const char *needs = o->directed                           ? "--directed"
                        : o->diffusion.kind != DIFFUSION_NONE ? "--diffusion"
                        : o->drawn                            ? "--draw-splits"
                        : o->scale == SCALE_COLUMNS           ? "--scale columns"
                                                              : NULL;
    if (needs) {
        fprintf(stderr,
                "%s: needs all nodes, of which a rank opens its own from a partition: start "
                "one process without mpirun, or give the set's file\n",
                needs);
        return PROGRAM_REFUSED;
    }
    GNN_TRY(program_open_rows(data, o->data));
    const gnn_partition_folder_sizes_t sizes = gnn_partition_folder_sizes(program_folder());
    if (tells)
        fprintf(o->say,
                "%s: %lld nodes, %lld messages, %lld features, %lld classes, %lld split%s; each rank "
                "opens its own rows\n",
                gnn_data_name(*data), (long long)sizes.nodes, (long long)sizes.edges,
                (long long)sizes.features, (long long)sizes.classes, (long long)sizes.splits,
                sizes.splits == 1 ? "" : "s");
    return GNN_OK;
}

int citation_open_set(gnn_data_t **data, options_t *o, gnn_context_t *context, int tells)
{
    if (program_is_partition(o->data))
        GNN_TRY(open_rows(data, o, tells));
    else
        GNN_TRY(open_whole(data, o, tells));
    fflush(o->say); /* before what goes to standard error */
    GNN_TRY(check_set(o, *data));
    GNN_TRY(draw_splits(o, *data));
    if (o->load && o->drawn > 1 && !options_gave("split")) {
        fprintf(stderr,
                "--draw-splits: a saved model is evaluated on one split: with --load, 1 or "
                "--split with the index of one is expected, got %lld\n",
                (long long)o->drawn);
        return PROGRAM_REFUSED;
    }
    if (!o->load && o->splits > gnn_data_splits(*data)) {
        fprintf(stderr, "--splits: %lld were asked for, %s has %lld\n", (long long)o->splits,
                gnn_data_name(*data), (long long)gnn_data_splits(*data));
        return PROGRAM_REFUSED;
    }
    return diffuse(data, context, o);
}

/* State of a run. */
typedef struct {
    study_t study;
    sets_t sets;
} work_t;

static int run(void *options, gnn_context_t *context, gnn_data_t **none, void *measured)
{
    options_t *o = options;
    study_t *study = &((work_t *)measured)->study;
    sets_t *sets = &((work_t *)measured)->sets;
    char graph[GRAPH_WORDS];
    gnn_data_t *data;
    int blocks;
    (void)none;
    sets->options = o;
    sets->context = context;
    GNN_TRY(citation_open_set(&sets->raw, o, context, 1));
    GNN_TRY(recipe_choose(o, sets->raw));
    if (o->load) {
        GNN_TRY(gnn_model_load(&study->model, context, o->load));
        GNN_TRY(scale_of_model("citation", o->load, study->model, sets->raw, graph_words(graph, o),
                               &o->scale, &blocks));
        o->chosen.scale = o->scale == SCALE_AUTO ? o->chosen.scale : (scale_t)o->scale;
        GNN_TRY(set_of(&data, sets, o->chosen.scale));
        program_tell_unread("citation", study->model, data);
        GNN_TRY(citation_study_evaluate(study, o, context, data));
    } else {
        recipe_print(o);
        GNN_TRY(citation_study_train(study, o, context, sets));
        GNN_TRY(set_of(&data, sets, study->outcomes[study->best].choice.scale));
    }
    GNN_TRY(write_outputs(o, context, data, study));
    if (o->json)
        citation_print_json(stdout, o, data, study);
    print_summary(o, study);
    fflush(stdout);
    return GNN_OK;
}

/* ---- options ---- */

static int take_splits(const char *value, void *to)
{
    int64_t *splits = to;
    return strcmp(value, "all") == 0 ? (*splits = -1, 1)
                                     : program_whole("--splits", value, 1, MOST, splits);
}

/* Each appends options to a table. -1, or 0 if 0 is not a valid value, means the recipe's. */
static int network_rows(option_t *to, options_t *o)
{
    const option_t rows[] = {
        HEADING("Data and network"),
        INPUT("data", &o->data,
              "a .npz, LINQS' files, OGB's folder, an edge list, GraphML or GML (docs/formats.md), or Zachary's karate club",
              "FILE|karate"),
        DIRECTED(&o->directed, .where = "!data=karate"),
        CHOICE("task", &o->task,
               "kind of labels: classes, several labels per node, real values; auto: detected",
               "auto|classes|several|real"),
        NAME("layer", &o->layer,
             "network: gcn, sage, gin, gat, gatv2, transformer, mlp, sgc, appnp, gcn2 or resgat",
             recipe_name, .where = "!load"),
        CHOICE("recipe", &o->settings,
               "settings of the network's paper, general ones, or auto: the paper's on sets like its own",
               "auto|paper|general", .where = "!load"),
        CHOICE("form", &o->form, "plain layers, or residual blocks with norms; auto: by the set",
               "auto|plain|residual", .where = "!load layer=gcn|sage|gin|gat|gatv2|mlp"),
        SCALE(&o->scale),
        INPUT("load", &o->load, "evaluates a saved model instead of training one", "FILE"),
    };
    memcpy(to, rows, sizeof rows);
    return (int)(sizeof rows / sizeof *rows);
}

static int training_rows(option_t *to, options_t *o)
{
    own_settings_t *own = &o->own;
    const option_t rows[] = {
        HEADING("Training"),
        WHOLE("seeds", &o->seeds, "count of trainings with different initial weights and dropout",
              1, 1000000, .where = "!load"),
        SEED(&o->seed, "of the first training [0]", .where = "!load"),
        WHOLE("split", &o->split, "index of the file's split [0]", 0, MOST, .where = "!splits"),
        TAKE("splits", &o->splits, "trains on each of the first N splits, or on all", "N|all",
             take_splits, .where = "!load"),
        WHOLE("draw-splits", &o->drawn, "uses N random splits instead of the file's", 1, 10000),
        WHOLE("train-each", &o->each[0], "training nodes per class in a random split", 1, MOST,
              .where = "draw-splits"),
        WHOLE("validation-each", &o->each[1], "validation nodes per class; all others are test nodes",
              1, MOST, .where = "draw-splits"),
        WHOLE("trial", &o->trial,
              "epochs of the short trainings that choose form and scale by validation; 0: none [150]",
              0, MOST, .where = "!load"),
        CHOICE("watch", &o->watch,
               "criterion for the best epoch on validation nodes: loss or --metric",
               "auto|loss|metric", .where = "!load"),
        WHOLE("epochs", &own->epochs, "maximum epochs [by recipe]", 1, MOST, .where = "!load"),
        WHOLE("patience", &own->patience,
              "epochs without improvement before stopping; 0: never [by recipe]", 0, MOST,
              .where = "!load"),
        WHOLE("hidden", &own->hidden, "hidden width, per head [by recipe]", 1, 65536,
              .where = "!load !layer=sgc"),
        WHOLE("heads", &own->heads, "attention heads of the hidden layer [by recipe]", 1, 1024,
              .where = "!load layer=gat|gatv2|transformer|resgat"),
        WHOLE("layers", &own->layers, "hops of sgc and appnp, layers of the others [by recipe]", 1,
              1024, .where = "!load layer=sgc|appnp|gcn2|resgat"),
        REAL("dropout", &own->dropout, "rate of dropout [by recipe]", 0, 0.99,
             .where = "!load !layer=sgc"),
        REAL("lr", &own->lr, "learning rate of Adam [by recipe]", 0, 1000, .where = "!load"),
        REAL("weight-decay", &own->weight_decay, "L2 penalty [by recipe]", 0, 1000, .where = "!load"),
        CHOICE("metric", &o->measure,
               "metric of validation and test; auto: accuracy for classes, f1 for several labels, mae for real values",
               "auto|accuracy|f1|auc|mae|rmse|r2"),
        THREADS(&o->threads),
        STORED("checkpoint", &o->checkpoint, "file of the training state", "FILE", .where = "!load"),
        FLAG("resume", &o->resume, "resumes from the checkpoint", .where = "checkpoint"),
        FLAG("overwrite", &o->overwrite, "overwrites an existing checkpoint",
             .where = "checkpoint !resume"),
    };
    memcpy(to, rows, sizeof rows);
    return (int)(sizeof rows / sizeof *rows);
}

static int result_rows(option_t *to, options_t *o)
{
    const option_t rows[] = {
        HEADING("Results"),
        STORED("save", &o->save, "saves the best model, for --load", "FILE"),
        FLAG("report", &o->report, "precision, recall and F1 of each class"),
        JSON(&o->json),
        OUTPUT("predict", &o->predict, "class and probability of each node", "FILE.csv"),
        OUTPUT("log", &o->log, "losses and validation metric of each epoch", "FILE.csv",
               .where = "!load"),
        OUTPUT("scatter", &o->scatter, "scatter plot of the nodes by their logits", "FILE.svg"),
        OUTPUT("curve", &o->curve, "losses over epochs", "FILE.svg", .where = "!load"),
        OUTPUT("confusion", &o->confusion, "confusion matrix", "FILE.svg"),
    };
    memcpy(to, rows, sizeof rows);
    return (int)(sizeof rows / sizeof *rows);
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    option_t rows[64];
    int n = network_rows(rows, o);
    n += diffusion_rows(rows + n, &o->diffusion);
    n += training_rows(rows + n, o);
    n += result_rows(rows + n, o);
    const program_t program = {
        .name = "citation",
        .usage = "[OPTION]...",
        .notes =
            "Ctrl-C ends after the running step, writes the checkpoint, if any, and exits with 130; a "
            "second one exits at once.",
        .options = rows,
        .n_options = n};
    if (!options_read(&program, argc, argv, status))
        return 0;
    *status = 2;
    o->recipe = recipe_find(o->layer);
    return diffusion_fits(&o->diffusion, o->recipe);
}

static void release(void *measured)
{
    work_t *work = measured;
    citation_study_free(&work->study);
    sets_free(&work->sets);
}

int citation_main(int argc, char **argv)
{
    options_t options = {.layer = "gat",
                         .data = "karate",
                         .seeds = 1,
                         .each = {20, 30},
                         .trial = 150,
                         .diffusion = {.alpha = 0.05, .time = 3},
                         .own = {.patience = -1, .dropout = -1, .lr = -1, .weight_decay = -1}};
    work_t work = {0};
    int status;
    if (!read_options(&options, argc, argv, &status))
        return status;
    options.say = options.json && program_rank() == 0 ? stderr : stdout;
    return program_run(
        &(program_run_t){
            .name = "citation", .options = &options, .measured = &work, .run = run, .release = release},
        options.threads);
}
