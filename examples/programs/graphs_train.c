/* Training of graphs: on the split of the set, or over the folds of a cross-validation. */
#include "graphs.h"
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Arguments of the callback of one fold. */
typedef struct {
    const options_t *options;
    fold_t *fold;
    int64_t number;
    FILE *log;
    int terminal;
    double told;
} watcher_t;

static int watch(void *user, const gnn_progress_t *now)
{
    watcher_t *w = user;
    w->fold->curve[now->epoch - 1] = now->validation_metric;
    w->fold->loss[now->epoch - 1] = now->validation_loss;
    w->fold->seconds = now->seconds;
    if (w->log)
        fprintf(w->log, "%lld,%lld,%.9g,%.9g,%.9g,%.9g,%.3f\n", (long long)w->number,
                (long long)now->epoch, now->train_loss, now->validation_loss,
                now->validation_metric, now->lr, now->seconds);
    if (!w->terminal && now->seconds < w->told + 5)
        return 0;
    w->told = now->seconds;
    fprintf(stderr, "%sfold %lld of %lld: epoch %lld of %lld, loss %.3f, validation %.1f%%%s",
            w->terminal ? "\r\033[K" : "", (long long)w->number + 1, (long long)w->options->folds,
            (long long)now->epoch, (long long)now->epochs, now->train_loss,
            100 * now->validation_metric, w->terminal ? "" : "\n");
    return 0;
}

const gnn_array_t *own_split(const gnn_data_t *data)
{
    const gnn_array_t *array;
    gnn_data_place_t place;
    for (int64_t k = 0; (array = gnn_data_array_at(data, k, &place)); k++)
        if (place == GNN_ON_GRAPHS && strncmp(array->name, "split.", 6) == 0)
            return array;
    return NULL;
}

/* Rejects a part without graphs. */
static int own_parts(const gnn_data_t *data, gnn_split_t **split)
{
    static const char *const words[] = {"training", "validation", "test"};
    const gnn_array_t *array = own_split(data);
    const int64_t graphs = gnn_data_graphs(data);
    GNN_TRY(gnn_split_new(split, graphs, 1));
    for (int p = GNN_TRAIN; p <= GNN_TEST; p++) {
        uint8_t *mask = calloc((size_t)graphs, 1);
        int any = 0;
        for (int64_t g = 0; mask && g < graphs; g++)
            any |= mask[g] = gnn_array_get(array, g) == p;
        int rc = mask ? gnn_split_set_mask(*split, p, 0, mask, 1) : GNN_EMEMORY;
        free(mask);
        GNN_TRY(rc);
        if (!any) {
            fprintf(stderr, "graphs: %s has no %s graphs: --protocol mean\n", array->name, words[p]);
            return PROGRAM_REFUSED;
        }
    }
    return GNN_OK;
}

/* Fold f is for testing; with PROTOCOL_HELD the next one is for validation. Otherwise all other
 * folds are for training, and with PROTOCOL_MEAN fold f also chooses the epoch. */
static int make_folds(const options_t *o, const gnn_data_t *data, gnn_split_t **split)
{
    const int64_t graphs = gnn_data_graphs(data);
    uint8_t *others = calloc((size_t)graphs, 1);
    int rc = others ? gnn_split_folds(split, gnn_data_graph_labels(data), graphs, o->folds,
                                      (uint64_t)o->seed)
                    : GNN_EMEMORY;
    for (int64_t f = 0; f < o->folds && rc == GNN_OK && o->protocol != PROTOCOL_HELD; f++) {
        const uint8_t *judged = gnn_split_mask(*split, GNN_TEST, f);
        for (int64_t g = 0; g < graphs; g++)
            others[g] = !judged[g];
        rc = gnn_split_set_mask(*split, GNN_TRAIN, f, others, 1);
        if (rc == GNN_OK)
            rc = gnn_split_set_mask(*split, GNN_VALIDATION, f,
                                    o->protocol == PROTOCOL_MEAN ? judged : NULL, 1);
        if (rc == GNN_OK && o->protocol == PROTOCOL_MEAN)
            rc = gnn_split_set_mask(*split, GNN_TEST, f, NULL, 1);
    }
    free(others);
    return rc;
}

static int train(const options_t *o, gnn_context_t *context, gnn_source_t *source,
                 gnn_model_t *model, watcher_t *w)
{
    gnn_train_result_t result;
    const gnn_train_config_t config = {
        .epochs = o->epochs,
        .optimizer.lr = (gnn_real_t)o->lr,
        .optimizer.weight_decay = (gnn_real_t)o->weight_decay,
        .schedule = {.kind = o->period ? GNN_SCHEDULE_STEP : GNN_SCHEDULE_CONSTANT,
                     .period = o->period * source->count[GNN_TRAIN],
                     .gamma = o->period ? 0.5 : 0},
        .watch = o->watch == GRAPHS_WATCH_LOSS ? GNN_WATCH_LOSS : GNN_WATCH_METRIC,
        .callback = watch,
        .user = w,
        .stop = &program_stopped};
    GNN_TRY(gnn_train_batches(model, context, source, &config, &result));
    w->fold->epoch = result.best_epoch;
    return GNN_OK;
}

/* Test accuracy of the best weights. */
static int test(const gnn_data_t *data, gnn_context_t *context, gnn_source_t *source,
                const gnn_model_t *model, const uint8_t *mask, double *accuracy)
{
    const int64_t graphs = gnn_data_graphs(data), classes = gnn_data_classes(data);
    gnn_tensor_t logits =
        gnn_tensor(calloc((size_t)(graphs * classes), sizeof(gnn_real_t)), graphs, classes);
    int rc = logits.data ? gnn_source_predict_graphs(source, model, context, &logits) : GNN_EMEMORY;
    if (rc == GNN_OK)
        *accuracy = gnn_metric(GNN_METRIC_ACCURACY, &logits, gnn_data_graph_labels(data), mask);
    free(logits.data);
    return rc;
}

static int run_fold(const options_t *o, gnn_context_t *context, gnn_data_t *data,
                    const gnn_split_t *splits, watcher_t *w)
{
    gnn_model_t *model = NULL;
    gnn_source_t *source = NULL;
    const gnn_graph_source_config_t how = {.size = o->batch,
                                           .per_epoch = o->per_epoch,
                                           .split = w->number,
                                           .seed = (uint64_t)(o->seed * 1000 + w->number)};
    gnn_context_set_seed(context, (uint64_t)(o->seed * 1000 + w->number));
    int rc = graphs_build_model(&model, context, o, data);
    if (rc == GNN_OK && w->number == 0)
        program_tell_unread("graphs", model, data);
    if (rc == GNN_OK)
        rc = gnn_source_of_graphs(&source, model, data, splits, &how);
    if (rc == GNN_OK)
        rc = train(o, context, source, model, w);
    if (rc == GNN_OK && o->protocol != PROTOCOL_MEAN)
        rc = test(data, context, source, model, gnn_split_mask(splits, GNN_TEST, w->number),
                  &w->fold->test);
    if (rc == GNN_OK && o->save && w->number == 0)
        rc = program_save_model("graphs", o->save, model);
    gnn_source_free(source);
    gnn_model_free(model);
    return rc;
}

/* The result of each fold is that of the epoch that is best on average over folds. */
static void choose_epoch(study_t *s, graphs_watch_t watch)
{
    int64_t best = 0;
    for (int64_t e = 1; e < s->epochs; e++)
        if (watch == GRAPHS_WATCH_LOSS ? s->mean_loss[e] < s->mean_loss[best]
                                       : s->mean_curve[e] > s->mean_curve[best])
            best = e;
    for (int64_t f = 0; f < s->count; f++) {
        s->folds[f].epoch = best + 1;
        s->folds[f].test = s->folds[f].curve[best];
    }
}

static void summarise(study_t *s, const options_t *o)
{
    double squares = 0, n = (double)s->count;
    for (int64_t e = 0; e < s->epochs; e++) {
        s->index[e] = (double)(e + 1);
        for (int64_t f = 0; f < s->count; f++) {
            s->mean_curve[e] += s->folds[f].curve[e] / n;
            s->mean_loss[e] += s->folds[f].loss[e] / n;
        }
    }
    if (o->protocol == PROTOCOL_MEAN)
        choose_epoch(s, (graphs_watch_t)o->watch);
    for (int64_t f = 0; f < s->count; f++)
        s->mean += s->folds[f].test / n;
    for (int64_t f = 0; f < s->count; f++)
        squares += (s->folds[f].test - s->mean) * (s->folds[f].test - s->mean);
    s->deviation = sqrt(squares / n);
}

static int make_study(study_t *s, const options_t *o)
{
    s->epochs = o->epochs;
    s->folds = calloc((size_t)o->folds, sizeof *s->folds);
    s->room = o->folds;
    s->mean_curve = calloc((size_t)s->epochs, sizeof *s->mean_curve);
    s->mean_loss = calloc((size_t)s->epochs, sizeof *s->mean_loss);
    s->index = calloc((size_t)s->epochs, sizeof *s->index);
    int whole = s->folds && s->mean_curve && s->mean_loss && s->index;
    for (int64_t f = 0; whole && f < o->folds; f++) {
        s->folds[f].curve = calloc((size_t)s->epochs, sizeof(double));
        s->folds[f].loss = calloc((size_t)s->epochs, sizeof(double));
        whole = s->folds[f].curve && s->folds[f].loss;
    }
    return whole ? GNN_OK : GNN_EMEMORY;
}

static int run_folds(study_t *s, const options_t *o, gnn_context_t *context, gnn_data_t *data,
                     const gnn_split_t *splits, FILE *log)
{
    const int64_t many = o->most_folds && o->most_folds < o->folds ? o->most_folds : o->folds;
    for (int64_t f = 0; f < many; f++) {
        watcher_t w = {.options = o,
                       .fold = &s->folds[f],
                       .number = f,
                       .log = log,
                       .terminal = isatty(STDERR_FILENO)};
        int rc = run_fold(o, context, data, splits, &w);
        if (w.terminal)
            fprintf(stderr, "\r\033[K");
        GNN_TRY(rc);
        s->count++;
        if (o->protocol != PROTOCOL_OWN)
            fprintf(o->say, "fold %lld: ", (long long)f);
        fprintf(o->say, "best validation %.1f (epoch %lld of %lld, %.1f s)",
                100 * w.fold->curve[w.fold->epoch - 1], (long long)w.fold->epoch,
                (long long)s->epochs, w.fold->seconds);
        if (o->protocol != PROTOCOL_MEAN)
            fprintf(o->say, ", test %.1f", 100 * w.fold->test);
        fprintf(o->say, "\n");
        fflush(o->say);
    }
    return GNN_OK;
}

int graphs_study_run(study_t *s, const options_t *o, gnn_context_t *context, gnn_data_t *data)
{
    gnn_split_t *splits = NULL;
    FILE *log = o->log ? fopen(o->log, "w") : NULL;
    int rc = make_study(s, o);
    if (rc == GNN_OK && o->log && !log) {
        perror(o->log);
        rc = PROGRAM_REFUSED;
    }
    if (log)
        fprintf(log, "fold,epoch,train_loss,validation_loss,validation_accuracy,lr,seconds\n");
    if (rc == GNN_OK)
        rc = o->protocol == PROTOCOL_OWN ? own_parts(data, &splits) : make_folds(o, data, &splits);
    if (rc == GNN_OK)
        rc = run_folds(s, o, context, data, splits, log);
    if (rc == GNN_OK)
        summarise(s, o);
    const int lost = log && ferror(log);
    if (log && (fclose(log) != 0 || lost) && rc == GNN_OK) {
        perror(o->log);
        rc = PROGRAM_REFUSED;
    }
    gnn_split_free(splits);
    return rc;
}

void graphs_study_free(study_t *s)
{
    for (int64_t f = 0; s->folds && f < s->room; f++) {
        free(s->folds[f].curve);
        free(s->folds[f].loss);
    }
    free(s->folds);
    free(s->mean_curve);
    free(s->mean_loss);
    free(s->index);
}
