/* Node classification on citation graphs: trains a network with several seeds, or runs a saved one.
 * `citation --help` lists the options. */
#include "citation.h"
#include "program.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: citation [--data FILE|karate] [--model gcn|sage|gin|gat|gatv2|transformer|mlp] [--metric accuracy|f1|auc]\n"
    "                [--seeds N] [--epochs N] [--split N | --splits N|all] [--threads N]\n"
    "                [--checkpoint FILE [--resume|--overwrite]] [--save FILE] [--load FILE]\n"
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

enum { MOST = 1000000000 };

static int set_number(options_t *o, int option, const char *value)
{
    int64_t threads = 0;
    switch (option) {
    case 'n': return program_whole("--seeds", value, 1, 1000000, &o->seeds);
    case 'e': return program_whole("--epochs", value, 1, MOST, &o->epochs);
    case 'i': return program_whole("--split", value, 0, MOST, &o->split);
    case 'I':
        return strcmp(value, "all") == 0 ? (o->splits = -1, 1)
                                         : program_whole("--splits", value, 1, MOST, &o->splits);
    default:
        return program_whole("--threads", value, 0, 1024, &threads) && (o->threads = (int)threads, 1);
    }
}

static int none_of(const char *option, const char *value, const char *names)
{
    fprintf(stderr, "%s: \"%s\" is none of %s\n", option, value, names);
    return 0;
}

static int set(options_t *o, int option, const char *value)
{
    static const char *const metrics[] = {"accuracy", "f1", "auc"};
    const char **const texts[] = {['d'] = &o->data,      ['s'] = &o->save, ['l'] = &o->load,
                                  ['p'] = &o->predict,   ['g'] = &o->plot, ['v'] = &o->curve,
                                  ['x'] = &o->confusion, ['L'] = &o->log,  ['k'] = &o->checkpoint};
    int *const flags[] = {
        ['j'] = &o->json, ['r'] = &o->report, ['R'] = &o->resume, ['O'] = &o->overwrite};
    if (option == 'm')
        return (o->recipe = recipe_find(value)) != NULL || none_of("--model", value, recipe_names());
    if (strchr("dslpgvxLk", option))
        return *texts[option] = value, 1;
    if (strchr("jrRO", option))
        return *flags[option] = 1;
    for (int k = 0; option == 'c' && k < 3; k++)
        if (strcmp(value, metrics[k]) == 0)
            return o->metric = (gnn_metric_t)k, 1;
    return option == 'c' ? none_of("--metric", value, "accuracy, f1, auc")
                         : set_number(o, option, value);
}

/* 0: go on; otherwise the program ends with *status. */
static int read_options(options_t *o, int argc, char **argv, int *status)
{
    static const struct option known[] = {
        {"data", 1, 0, 'd'},   {"model", 1, 0, 'm'},     {"metric", 1, 0, 'c'},
        {"seeds", 1, 0, 'n'},  {"epochs", 1, 0, 'e'},    {"split", 1, 0, 'i'},
        {"splits", 1, 0, 'I'}, {"threads", 1, 0, 't'},   {"checkpoint", 1, 0, 'k'},
        {"resume", 0, 0, 'R'}, {"overwrite", 0, 0, 'O'}, {"save", 1, 0, 's'},
        {"load", 1, 0, 'l'},   {"report", 0, 0, 'r'},    {"json", 0, 0, 'j'},
        {"log", 1, 0, 'L'},    {"predict", 1, 0, 'p'},   {"plot", 1, 0, 'g'},
        {"curve", 1, 0, 'v'},  {"confusion", 1, 0, 'x'}, {"help", 0, 0, 'h'},
        {0, 0, 0, 0}};
    int bad = 0;
    for (int c; !bad && (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage, stdout);
            *status = program_ends("citation", EXIT_SUCCESS);
            return 1;
        }
        bad = c == '?' || !set(o, c, optarg);
    }
    if (!bad && optind < argc)
        bad = fprintf(stderr, "\"%s\" is no option\n", argv[optind]);
    if (!bad && o->resume && !o->checkpoint)
        bad = fprintf(stderr, "--resume: --checkpoint FILE is expected, too\n");
    if (bad)
        fprintf(stderr, "citation: --help lists the options\n");
    *status = 2;
    return bad;
}

/* Before hours of training, not after them. */
static int can_write(const options_t *o)
{
    return program_can_write("--save", o->save) && program_can_write("--predict", o->predict) &&
           program_can_write("--plot", o->plot) && program_can_write("--curve", o->curve) &&
           program_can_write("--confusion", o->confusion) && program_can_write("--log", o->log) &&
           program_can_write("--checkpoint", o->checkpoint);
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
    if (!can_write(&options))
        return EXIT_FAILURE;
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
    return program_ends("citation", rc == GNN_OK         ? EXIT_SUCCESS
                                    : rc == GNN_ESTOPPED ? 130
                                                         : EXIT_FAILURE);
}
