/* Node classification on citation graphs: trains a network with several seeds, or runs a saved one. `citation --help` lists the options. */
#include "citation.h"

#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const recipe_t *recipe;
    const char *data, *save, *load, *predict, *plot;
    int64_t seeds, epochs, split;
    gnn_metric_t metric;
    int threads, quiet;
} options_t;

static volatile int stopped;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

static int show_progress(void *user, const gnn_progress_t *now)
{
    const int64_t width = 30, filled = width * now->epoch / now->epochs;
    if (now->epoch % 5 == 0 || now->epoch == 1)
        fprintf(stderr, "\rseed %lld [%.*s%.*s] epoch %lld, loss %.3f, validation %.1f%% ", (long long)*(int64_t *)user, (int)filled,
                "##############################", (int)(width - filled), "..............................", (long long)now->epoch, now->train_loss,
                100 * now->validation_metric);
    return 0;
}

/* Bags of words count 0 or 1: their rows are divided by their sums, as in the papers. */
static int normalise(gnn_data_t *data)
{
    if (!data->sparse.indptr)
        return GNN_OK;
    for (int64_t k = 0; data->sparse.values && k < data->sparse.indptr[data->n]; k++)
        if (data->sparse.values[k] != 1)
            return GNN_OK;
    return gnn_data_row_normalise(data);
}

static int train_seed(const options_t *o, gnn_context_t *context, gnn_data_t *data, gnn_model_t *model, int64_t seed, double *validation, double *test)
{
    const recipe_t r = recipe_for(o->recipe, data);
    const gnn_parameter_group_t second = {.prefix = "1.", .weight_decay = GNN_ZERO};
    gnn_train_result_t result;
    gnn_train_config_t config = {.epochs = o->epochs ? o->epochs : r.epochs, .patience = r.patience, .watch = r.watch, .metric = o->metric, .split = o->split,
                                 .lr = (gnn_real_t)r.lr, .weight_decay = (gnn_real_t)r.weight_decay, .stop = &stopped};
    if (r.decay_first_layer_only) {
        config.optimizer.groups = &second;
        config.optimizer.n_groups = 1;
    }
    if (isatty(STDERR_FILENO)) {
        config.callback = show_progress;
        config.user = &seed;
    }
    int rc = gnn_train(model, context, data, &config, &result);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%100s\r", "");
    GNN_TRY(rc);
    GNN_TRY(gnn_evaluate(model, context, data, o->split, GNN_TEST, o->metric, test));
    *validation = result.validation_metric;
    printf("seed %lld: validation %.1f, test %.1f (epoch %lld of %lld, %.1f s)\n", (long long)seed, 100 * *validation, 100 * *test,
           (long long)result.best_epoch, (long long)result.epochs, result.seconds);
    fflush(stdout);
    return GNN_OK;
}

/* Trains once per seed; *best is the model with the best validation metric. */
static int train(const options_t *o, gnn_context_t *context, gnn_data_t *data, gnn_model_t **best)
{
    double sum = 0, squares = 0, best_validation = -1;
    for (int64_t seed = 0; seed < o->seeds; seed++) {
        gnn_model_t *model = NULL;
        double validation = 0, test = 0;
        gnn_context_set_seed(context, (uint64_t)seed);
        recipe_t r = recipe_for(o->recipe, data);
        int rc = recipe_build(&model, context, &r, data);
        if (rc == GNN_OK)
            rc = train_seed(o, context, data, model, seed, &validation, &test);
        sum += 100 * test;
        squares += 1e4 * test * test;
        if (rc == GNN_OK && (validation > best_validation || !*best)) {
            gnn_model_t *swap = *best;
            *best = model;
            model = swap;
            best_validation = validation;
        }
        gnn_model_free(model);
        GNN_TRY(rc);
    }
    const char *const names[] = {"accuracy", "macro-F1", "ROC-AUC"};
    double n = (double)o->seeds, mean = sum / n, variance = n > 1 ? (squares - n * mean * mean) / (n - 1) : 0;
    printf("test %s %.1f +- %.1f over %lld seeds\n", names[o->metric], mean, sqrt(fmax(variance, 0)), (long long)o->seeds);
    return GNN_OK;
}

static int use_saved(const options_t *o, gnn_context_t *context, gnn_data_t *data, gnn_model_t **model)
{
    double test;
    const char *const names[] = {"accuracy", "macro-F1", "ROC-AUC"};
    GNN_TRY(gnn_model_load(model, context, o->load));
    if (gnn_model_graph_count(*model) > 0)
        GNN_TRY(gnn_model_prepare(*model, 0, data->graph, GNN_OFF));
    GNN_TRY(gnn_evaluate(*model, context, data, o->split, GNN_TEST, o->metric, &test));
    printf("test %s %.1f +- 0.0 over 1 seeds\n", names[o->metric], 100 * test);
    return GNN_OK;
}

static int run(const options_t *o, gnn_context_t *context, gnn_data_t **data, gnn_model_t **model)
{
    char text[400];
    GNN_TRY(strcmp(o->data, "karate") == 0 ? gnn_data_karate(data) : gnn_data_open(data, o->data));
    gnn_data_describe(*data, text, sizeof text);
    printf("%s\n", text);
    GNN_TRY(normalise(*data));
    GNN_TRY(o->load ? use_saved(o, context, *data, model) : train(o, context, *data, model));
    fflush(stdout);
    if (o->save)
        GNN_TRY(gnn_model_save(*model, o->save));
    if (o->predict)
        GNN_TRY(write_predictions(*model, context, *data, o->predict));
    return o->plot ? write_plot(*model, context, *data, o->split, o->plot) : GNN_OK;
}

static void usage(FILE *to)
{
    fprintf(to, "usage: citation [--data FILE.npz|karate] [--model gcn|sage|gin|gat|gatv2|transformer|mlp] [--seeds N] [--epochs N] [--split N]\n"
                "                [--metric accuracy|f1|auc] [--save FILE] [--load FILE] [--predict OUT.csv] [--plot FILE.svg] [--threads N]\n");
}

static int set(options_t *o, int option, const char *value)
{
    const char *const metrics[] = {"accuracy", "f1", "auc"};
    const char **const texts[] = {['d'] = &o->data, ['s'] = &o->save, ['l'] = &o->load, ['p'] = &o->predict, ['g'] = &o->plot};
    int64_t *const numbers[] = {['n'] = &o->seeds, ['e'] = &o->epochs, ['i'] = &o->split};
    if (option == 'm')
        return (o->recipe = recipe_find(value)) != NULL;
    if (option == 'c') {
        for (int k = 0; k < 3; k++)
            if (strcmp(value, metrics[k]) == 0)
                return o->metric = (gnn_metric_t)k, 1;
        return 0;
    }
    char *end = NULL;
    if (option == 't')
        return o->threads = (int)strtol(value, &end, 10), *end == 0;
    if (strchr("nei", option))
        return *numbers[option] = strtoll(value, &end, 10), *end == 0 && *numbers[option] >= (option == 'n');
    return strchr("dslpg", option) && (*texts[option] = value, 1);
}

int main(int argc, char **argv)
{
    const struct option known[] = {{"data", 1, 0, 'd'}, {"model", 1, 0, 'm'}, {"seeds", 1, 0, 'n'}, {"epochs", 1, 0, 'e'}, {"split", 1, 0, 'i'}, {"metric", 1, 0, 'c'},
                                   {"save", 1, 0, 's'}, {"load", 1, 0, 'l'}, {"predict", 1, 0, 'p'}, {"plot", 1, 0, 'g'}, {"threads", 1, 0, 't'}, {"help", 0, 0, 'h'},
                                   {0, 0, 0, 0}};
    options_t options = {.recipe = recipe_find("gat"), .data = "karate", .seeds = 1};
    for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;)
        if (c == 'h' || c == '?' || !set(&options, c, optarg)) {
            usage(c == 'h' ? stdout : stderr);
            return c == 'h' ? EXIT_SUCCESS : 2;
        }
    gnn_context_t *context = NULL;
    gnn_data_t *data = NULL;
    gnn_model_t *model = NULL;
    signal(SIGINT, on_interrupt);
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = options.threads});
    if (rc == GNN_OK)
        rc = run(&options, context, &data, &model);
    if (rc != GNN_OK)
        fprintf(stderr, "citation: %s%s%s\n", gnn_error_string(rc), *gnn_error_message() ? ": " : "", gnn_error_message());
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    return rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
