/* Trains a network with several seeds on one or several splits, with checkpoints. */
#include "citation.h"
#include "program.h"
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int has_nodes(const gnn_data_t *data, int part, int64_t split, int64_t *has)
{
    const uint8_t *mask = gnn_data_mask(data, part, split);
    const int64_t n = gnn_data_nodes(data);
    *has = mask && n > 0 && memchr(mask, 1, (size_t)n) != NULL;
    return program_count(has);
}

/* Without validation nodes the last epoch is kept, and --patience is an error. */
static int watch(recipe_t *r, const options_t *o, const gnn_data_t *data, int64_t split)
{
    int64_t has;
    GNN_TRY(has_nodes(data, GNN_VALIDATION, split, &has));
    if (has)
        return GNN_OK;
    r->watch = GNN_WATCH_NONE;
    r->patience = o->own.patience > 0 ? o->own.patience : 0;
    return GNN_OK;
}

static gnn_train_config_t config_of(const options_t *o, const recipe_t *r, watcher_t *w)
{
    gnn_train_config_t config = {.epochs = r->epochs,
                                 .patience = r->patience,
                                 .watch = r->watch,
                                 .metric = o->metric,
                                 .split = w->outcome->split,
                                 .optimizer.lr = (gnn_real_t)r->lr,
                                 .optimizer.weight_decay = (gnn_real_t)r->weight_decay,
                                 .stop = &program_stopped,
                                 .callback = watch_epoch,
                                 .user = w,
                                 .resume = o->resume ? GNN_ON : GNN_OFF};
    if (o->kind == GNN_LABELS_SEVERAL) {
        config.targets = "targets";
        config.loss = GNN_LOSS_BINARY_CROSS_ENTROPY;
    } else if (o->kind == GNN_LABELS_REAL) {
        config.targets = "targets.standard";
        config.loss = GNN_LOSS_MEAN_SQUARED;
    }
    return config;
}

static void tell_stop(const outcome_t *out, const char *checkpoint)
{
    fprintf(stderr, "split %lld, seed %lld stopped after %lld whole epochs%s%s\n",
            (long long)out->split, (long long)out->seed, (long long)out->result.epochs,
            checkpoint ? "; --resume goes on from " : "", checkpoint ? checkpoint : "");
}

static void tell_outcome(const options_t *o, const outcome_t *out)
{
    char room[3][24];
    fprintf(o->say, "split %lld, seed %lld: validation %s, test %s", (long long)out->split,
            (long long)out->seed, metric_text(o->metric, out->validation, room[0]),
            metric_text(o->metric, out->test, room[1]));
    if (task_second(o) != o->metric)
        fprintf(o->say, ", %s %s", metric_names[task_second(o)],
                metric_text(task_second(o), out->second, room[2]));
    fprintf(o->say, " (epoch %lld of %lld, %.1f s)\n", (long long)out->result.best_epoch,
            (long long)out->result.epochs, out->result.seconds);
    fflush(o->say);
}

/* Validates and tests a model; regression metrics are on the original scale. */
static int measure(outcome_t *out, const options_t *o, const gnn_model_t *model,
                   gnn_context_t *context, const gnn_data_t *data)
{
    GNN_TRY(task_measure(o, model, context, data, out->split, GNN_VALIDATION, o->metric,
                         &out->validation));
    GNN_TRY(task_measure(o, model, context, data, out->split, GNN_TEST, o->metric, &out->test));
    return task_measure(o, model, context, data, out->split, GNN_TEST, task_second(o), &out->second);
}

/* Regression targets are standardised. */
static int train_values(gnn_model_t *model, outcome_t *out, gnn_context_t *context,
                        gnn_data_t *data, const gnn_train_config_t *config)
{
    const int64_t cols = gnn_data_rows(data, GNN_ON_NODES, "targets")->cols;
    double *mean = calloc((size_t)(2 * cols), sizeof *mean);
    int rc = mean ? task_standardise(data, out->split, mean, mean + cols) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = gnn_train(model, context, data, config, &out->result);
    if (rc == GNN_OK)
        rc = recipe_rescale(model, mean, mean + cols);
    free(mean);
    return rc;
}

int citation_train_model(gnn_model_t *model, watcher_t *w, outcome_t *out, gnn_context_t *context,
                         gnn_data_t *data, const char *checkpoint)
{
    const options_t *o = w->options;
    recipe_t r = o->chosen.recipe;
    GNN_TRY(watch(&r, o, data, out->split));
    const gnn_parameter_group_t groups[2] = {
        {.prefix = "scale.", .lr_scale = GNN_ZERO, .weight_decay = GNN_ZERO},
        {.prefix = r.group, .weight_decay = r.group_decay > 0 ? (gnn_real_t)r.group_decay : GNN_ZERO}};
    gnn_train_config_t config = config_of(o, &r, w);
    config.checkpoint = checkpoint;
    config.optimizer.groups = r.rescaled ? groups : groups + 1;
    config.optimizer.n_groups = (r.rescaled != 0) + (r.group != NULL);
    int rc = r.rescaled ? train_values(model, out, context, data, &config)
                        : gnn_train(model, context, data, &config, &out->result);
    if (w->terminal)
        fprintf(stderr, "\r%110s\r", "");
    if (rc == GNN_ESTOPPED)
        tell_stop(out, checkpoint);
    if (w->history.failed) /* which has ended the training as if it had been complete */
        rc = GNN_EMEMORY;
    return rc;
}

/* Is a validation figure better than that of the best training so far? */
static int is_better(const study_t *s, const options_t *o, const outcome_t *out)
{
    const double before = s->model ? s->outcomes[s->best].validation : NAN;
    const int less = o->metric == GNN_METRIC_MAE || o->metric == GNN_METRIC_RMSE;
    return !s->model || (less ? out->validation < before : out->validation > before);
}

/* Returns 0 after an error message: the checkpoint exists, and neither option is given. */
static int may_keep(const options_t *o, const char *name)
{
    if (!o->checkpoint || o->resume || o->overwrite || access(name, F_OK) != 0)
        return 1;
    fprintf(stderr,
            "--checkpoint: %s holds a training; --resume goes on, --overwrite starts anew\n", name);
    return 0;
}

static void checkpoint_name(char *name, size_t size, const options_t *o, const outcome_t *out,
                            int64_t runs)
{
    snprintf(name, size, runs > 1 ? "%s.split%lld-seed%lld" : "%s",
             o->checkpoint ? o->checkpoint : "", (long long)out->split, (long long)out->seed);
}

/* The choice for the runs of a split: that of the checkpoint that is resumed, which short runs
 * made before it; else by short runs. */
static int choose(options_t *o, gnn_context_t *context, sets_t *sets, const outcome_t *out,
                  int64_t runs)
{
    char name[4096], graph[GRAPH_WORDS];
    int scale = o->scale, blocks = -1;
    checkpoint_name(name, sizeof name, o, out, runs);
    if (o->resume && access(name, F_OK) == 0)
        GNN_TRY(scale_of_checkpoint("citation", name, graph_words(graph, o), &scale, &blocks));
    if (blocks < 0)
        return trial_choose(o, context, sets, out);
    if (o->has_form && blocks == (o->other_form.recipe.build == build_blocks))
        o->chosen = o->other_form;
    o->chosen.scale = (scale_t)scale;
    return GNN_OK;
}

/* Builds and trains a model, and keeps it with its history if it is the best so far. */
static int run_one(study_t *s, const options_t *o, gnn_context_t *context, sets_t *sets, FILE *log,
                   int64_t runs)
{
    outcome_t *out = &s->outcomes[s->count];
    watcher_t w = {.options = o, .outcome = out, .log = log, .terminal = isatty(STDERR_FILENO)};
    gnn_data_t *data;
    gnn_model_t *model = NULL;
    char name[4096], graph[GRAPH_WORDS];
    checkpoint_name(name, sizeof name, o, out, runs);
    out->choice = o->chosen;
    GNN_TRY(set_of(&data, sets, out->choice.scale));
    gnn_context_set_seed(context, (uint64_t)out->seed);
    int rc = out->choice.recipe.build(&model, context, &out->choice.recipe, data);
    if (rc == GNN_OK && s->count == 0)
        program_tell_unread("citation", model, data);
    if (rc == GNN_OK)
        rc = scale_note(model, out->choice.scale, out->choice.recipe.build == build_blocks, data,
                        graph_words(graph, o));
    if (rc == GNN_OK)
        rc = citation_train_model(model, &w, out, context, data, o->checkpoint ? name : NULL);
    if (rc == GNN_OK)
        rc = measure(out, o, model, context, data);
    if (rc == GNN_OK)
        tell_outcome(o, out);
    if (rc == GNN_OK && is_better(s, o, out)) {
        gnn_model_t *model_before = s->model;
        history_t history_before = s->history;
        s->best = s->count;
        s->model = model;
        s->history = w.history;
        model = model_before;
        w.history = history_before;
    }
    s->count += rc == GNN_OK;
    gnn_model_free(model);
    free_history(&w.history);
    return rc;
}

static void summarise(study_t *s)
{
    double squares = 0, n = (double)s->count;
    for (int64_t k = 0; k < s->count; k++)
        s->mean += s->outcomes[k].test / n;
    for (int64_t k = 0; k < s->count; k++)
        s->second += s->outcomes[k].second / n;
    for (int64_t k = 0; k < s->count; k++)
        squares += (s->outcomes[k].test - s->mean) * (s->outcomes[k].test - s->mean);
    s->deviation = s->count > 1 ? sqrt(squares / (n - 1)) : 0;
}

/* Checks of all runs before the first one: checkpoints that exist, and --patience on splits without
 * validation nodes. */
static int check_runs(const study_t *s, const options_t *o, const gnn_data_t *data, int64_t runs)
{
    char name[4096];
    for (int64_t k = 0; k < runs; k++) {
        const outcome_t *out = &s->outcomes[k];
        checkpoint_name(name, sizeof name, o, out, runs);
        if (!may_keep(o, name))
            return PROGRAM_REFUSED;
        int64_t has = 1;
        if (o->own.patience > 0)
            GNN_TRY(has_nodes(data, GNN_VALIDATION, out->split, &has));
        if (!has) {
            fprintf(stderr, "--patience: split %lld of %s has no validation nodes to watch\n",
                    (long long)out->split, gnn_data_name(data));
            return PROGRAM_REFUSED;
        }
    }
    return GNN_OK;
}

int citation_study_train(study_t *study, const options_t *o, gnn_context_t *context, sets_t *sets)
{
    gnn_data_t *first;
    GNN_TRY(set_of(&first, sets, o->chosen.scale));
    const int64_t splits = o->splits < 0 ? gnn_data_splits(first) : o->splits,
                  begin = splits ? 0 : o->split, runs = (splits ? splits : 1) * o->seeds;
    options_t own = *o; /* with what validation of the split chooses */
    FILE *log = NULL;
    study->outcomes = calloc((size_t)runs, sizeof *study->outcomes);
    for (int64_t k = 0; study->outcomes && k < runs; k++) {
        study->outcomes[k].split = begin + k / o->seeds;
        study->outcomes[k].seed = o->seed + k % o->seeds;
    }
    int rc = study->outcomes ? check_runs(study, o, first, runs) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = open_log(&log, o);
    for (int64_t k = 0; k < runs && rc == GNN_OK; k++) {
        if (k % o->seeds == 0) {
            own.chosen = o->chosen;
            rc = choose(&own, context, sets, &study->outcomes[k], runs);
        }
        if (rc == GNN_OK)
            rc = run_one(study, &own, context, sets, log, runs);
    }
    if (log)
        rc = close_file(log, o->log, rc);
    summarise(study);
    return rc;
}

int citation_study_evaluate(study_t *study, const options_t *o, gnn_context_t *context,
                            gnn_data_t *data)
{
    study->outcomes = calloc(1, sizeof *study->outcomes);
    if (!study->outcomes)
        return GNN_EMEMORY;
    if (gnn_model_graph_count(study->model) > 0 && !program_folder())
        GNN_TRY(gnn_model_prepare(study->model, 0, gnn_data_graph(data), GNN_OFF));
    outcome_t *out = study->outcomes;
    out->split = o->split;
    GNN_TRY(measure(out, o, study->model, context, data));
    study->count = 1;
    summarise(study);
    return GNN_OK;
}

void citation_study_free(study_t *study)
{
    free(study->outcomes);
    gnn_model_free(study->model);
    free_history(&study->history);
}
