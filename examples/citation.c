/* Node classification on citation graphs: trains a network with several seeds, or runs a saved one.
 * `citation --help` lists the options. */
#include "citation.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: citation [--data FILE|karate] [--model gcn|sage|gin|gat|gatv2|transformer|mlp] [--metric accuracy|f1|auc]\n"
    "                [--seeds N] [--epochs N] [--split N | --splits N|all] [--threads N]\n"
    "                [--checkpoint FILE [--resume]] [--save FILE] [--load FILE]\n"
    "                [--report] [--json] [--log FILE.csv] [--predict FILE.csv]\n"
    "                [--plot FILE.svg] [--curve FILE.svg] [--confusion FILE.svg]\n"
    "Ctrl-C ends after the running step, leaves a checkpoint if one is wanted, and exits with 130; a second one exits at once.\n";

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (stopped)
        _exit(130);
    stopped = 1;
}

/* Bags of words count 0 or 1: their rows are divided by their sums, as in the papers. */
static int normalise(gnn_data_t *data)
{
    const gnn_sparse_t *sparse = gnn_data_sparse(data);
    if (!sparse)
        return GNN_OK;
    for (int64_t k = 0; k < sparse->indptr[sparse->rows]; k++)
        if (sparse->values[k] != 1)
            return GNN_OK;
    return gnn_data_row_normalise(data);
}

/* What is asked for of the best model's logits. */
static int write_all(const options_t *o, const gnn_data_t *data, const study_t *study,
                     gnn_tensor_t *logits)
{
    int64_t split = study->outcomes[study->best].split;
    if (o->report)
        GNN_TRY(print_classes(o->say, logits, data, split));
    if (o->predict)
        GNN_TRY(write_predictions(logits, data, o->predict));
    if (o->confusion)
        GNN_TRY(write_confusion(logits, data, split, o->confusion));
    return o->plot ? write_plot(logits, data, split, o->plot) : GNN_OK;
}

static int write_outputs(const options_t *o, gnn_context_t *context, const gnn_data_t *data,
                         const study_t *study)
{
    gnn_tensor_t logits = gnn_tensor(
        calloc((size_t)(gnn_data_nodes(data) * gnn_data_classes(data)), sizeof *logits.data),
        gnn_data_nodes(data), gnn_data_classes(data));
    int rc = logits.data ? gnn_predict(study->model, context, data, &logits) : GNN_EMEMORY;
    if (rc == GNN_OK && o->save)
        rc = gnn_model_save(study->model, o->save);
    if (rc == GNN_OK)
        rc = write_all(o, data, study, &logits);
    if (rc == GNN_OK && o->curve && !o->load)
        rc = write_curve(study, o, data, o->curve);
    free(logits.data);
    return rc;
}

static void print_summary(const options_t *o, const study_t *study)
{
    long long splits = o->load || !o->splits ? 1 : study->count / o->seeds,
              seeds = o->load ? 1 : o->seeds;
    fprintf(o->say, "test %s %.1f +- %.1f over ", metric_names[o->metric], 100 * study->mean,
            100 * study->deviation);
    if (splits > 1)
        fprintf(o->say, "%lld splits%s", splits, seeds > 1 ? " with " : "\n");
    if (splits == 1 || seeds > 1)
        fprintf(o->say, "%lld seeds%s\n", seeds, splits > 1 ? " each" : "");
}

static int run(const options_t *o, gnn_context_t *context, gnn_data_t **data, study_t *study)
{
    char text[400];
    GNN_TRY(strcmp(o->data, "karate") == 0 ? gnn_data_karate(data) : gnn_data_open(data, o->data));
    gnn_data_describe(*data, text, sizeof text);
    fprintf(o->say, "%s\n", text);
    GNN_TRY(normalise(*data));
    GNN_TRY(gnn_data_reorder(*data)); /* what is written keeps the file's numbers */
    GNN_TRY(o->load ? study_load(study, o, context, *data) : study_train(study, o, context, *data));
    GNN_TRY(write_outputs(o, context, *data, study));
    if (o->json)
        print_json(stdout, o, *data, study);
    print_summary(o, study);
    fflush(stdout);
    return GNN_OK;
}

/* ---- options ---- */

static int whole(const char *text, int64_t low, int64_t *number)
{
    char *end = NULL;
    *number = strtoll(text, &end, 10);
    return end != text && *end == 0 && *number >= low;
}

static int set_number(options_t *o, int option, const char *value)
{
    int64_t threads = 0;
    switch (option) {
    case 'n': return whole(value, 1, &o->seeds);
    case 'e': return whole(value, 1, &o->epochs);
    case 'i': return whole(value, 0, &o->split);
    case 'I': return strcmp(value, "all") == 0 ? (o->splits = -1, 1) : whole(value, 1, &o->splits);
    default: return whole(value, 0, &threads) && threads <= 1024 && (o->threads = (int)threads, 1);
    }
}

static int set(options_t *o, int option, const char *value)
{
    static const char *const metrics[] = {"accuracy", "f1", "auc"};
    const char **const texts[] = {['d'] = &o->data,      ['s'] = &o->save, ['l'] = &o->load,
                                  ['p'] = &o->predict,   ['g'] = &o->plot, ['v'] = &o->curve,
                                  ['x'] = &o->confusion, ['L'] = &o->log,  ['k'] = &o->checkpoint};
    int *const flags[] = {['j'] = &o->json, ['r'] = &o->report, ['R'] = &o->resume};
    if (option == 'm')
        return (o->recipe = recipe_find(value)) != NULL;
    if (strchr("dslpgvxLk", option))
        return *texts[option] = value, 1;
    if (strchr("jrR", option))
        return *flags[option] = 1;
    for (int k = 0; option == 'c' && k < 3; k++)
        if (strcmp(value, metrics[k]) == 0)
            return o->metric = (gnn_metric_t)k, 1;
    return option != 'c' && set_number(o, option, value);
}

/* 0: go on; otherwise the program ends with *status. */
static int read_options(options_t *o, int argc, char **argv, int *status)
{
    static const struct option known[] = {
        {"data", 1, 0, 'd'},      {"model", 1, 0, 'm'},   {"metric", 1, 0, 'c'},
        {"seeds", 1, 0, 'n'},     {"epochs", 1, 0, 'e'},  {"split", 1, 0, 'i'},
        {"splits", 1, 0, 'I'},    {"threads", 1, 0, 't'}, {"checkpoint", 1, 0, 'k'},
        {"resume", 0, 0, 'R'},    {"save", 1, 0, 's'},    {"load", 1, 0, 'l'},
        {"report", 0, 0, 'r'},    {"json", 0, 0, 'j'},    {"log", 1, 0, 'L'},
        {"predict", 1, 0, 'p'},   {"plot", 1, 0, 'g'},    {"curve", 1, 0, 'v'},
        {"confusion", 1, 0, 'x'}, {"help", 0, 0, 'h'},    {0, 0, 0, 0}};
    int bad = 0;
    for (int c; !bad && (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage, stdout);
            *status = EXIT_SUCCESS;
            return 1;
        }
        bad = c == '?' || !set(o, c, optarg);
    }
    bad = bad || optind < argc || (o->resume && !o->checkpoint);
    if (bad)
        fputs(usage, stderr);
    *status = 2;
    return bad;
}

int main(int argc, char **argv)
{
    options_t options = {.recipe = recipe_find("gat"), .data = "karate", .seeds = 1};
    gnn_context_t *context = NULL;
    gnn_data_t *data = NULL;
    study_t study = {0};
    int status;
    if (read_options(&options, argc, argv, &status))
        return status;
    options.say = options.json ? stderr : stdout;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = options.threads});
    if (rc == GNN_OK)
        rc = run(&options, context, &data, &study);
    if (rc != GNN_OK && rc != GNN_ESTOPPED)
        fprintf(stderr, "citation: %s%s%s\n", gnn_error_string(rc),
                *gnn_error_message() ? ": " : "", gnn_error_message());
    if (rc == GNN_OK)
        rc = gnn_profile_write(context, stderr);
    study_free(&study);
    gnn_data_free(data);
    gnn_context_free(context);
    return rc == GNN_OK ? EXIT_SUCCESS : rc == GNN_ESTOPPED ? 130 : EXIT_FAILURE;
}
