/* Training of graphs: on the split of the set, or over the folds of a cross-validation. */
#include "graphs.h"
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the callback of one fold knows. */
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

/* A part without graphs leaves nothing to learn from, to choose by or to report. */
static int set_own_parts(const gnn_data_t *data, int8_t *part)
{
    static const char *const words[] = {"training", "validation", "test"};
    const gnn_array_t *split = own_split(data);
    int64_t count[3] = {0};
    for (int64_t g = 0; g < gnn_data_graphs(data); g++) {
        const double number = gnn_array_get(split, g);
        part[g] = number >= GNN_TRAIN && number <= GNN_TEST ? (int8_t)number : -1;
        if (part[g] >= 0)
            count[part[g]]++;
    }
    for (int p = GNN_TRAIN; p <= GNN_TEST; p++)
        if (count[p] == 0) {
            fprintf(stderr, "graphs: %s has no %s graphs: --protocol mean\n", split->name, words[p]);
            return PROGRAM_REFUSED;
        }
    return GNN_OK;
}

/* Fold f is judged; with PROTOCOL_HELD the next one is held out to choose the epoch by. */
static void set_parts(const options_t *o, const int32_t *fold, int64_t graphs, int64_t f, int8_t *part)
{
    const int64_t next = (f + 1) % o->folds;
    for (int64_t g = 0; g < graphs; g++)
        part[g] = fold[g] == f ? o->protocol == PROTOCOL_MEAN ? GNN_VALIDATION : GNN_TEST
                  : o->protocol == PROTOCOL_HELD && fold[g] == next ? GNN_VALIDATION
                                                                    : GNN_TRAIN;
}

static int train(const options_t *o, gnn_context_t *context, gnn_graph_batches_t *batches,
                 gnn_model_t *model, watcher_t *w)
{
    gnn_source_t source = gnn_graph_batches_source(batches);
    gnn_train_result_t result;
    const gnn_train_config_t config = {
        .epochs = o->epochs,
        .lr = (gnn_real_t)o->lr,
        .weight_decay = (gnn_real_t)o->weight_decay,
        .schedule = {.kind = o->period ? GNN_SCHEDULE_STEP : GNN_SCHEDULE_CONSTANT,
                     .period = o->period * source.count[GNN_TRAIN],
                     .gamma = 0.5},
        .callback = watch,
        .user = w,
        .stop = &program_stopped};
    GNN_TRY(gnn_train_batches(model, context, &source, &config, &result));
    w->fold->epoch = result.best_epoch;
    return GNN_OK;
}

/* Share of the test's graphs that the model's best weights know. */
static int test(const gnn_data_t *data, gnn_context_t *context, gnn_graph_batches_t *batches,
                const gnn_model_t *model, const int8_t *part, double *accuracy)
{
    const int64_t graphs = gnn_data_graphs(data), classes = gnn_data_classes(data);
    gnn_tensor_t logits =
        gnn_tensor(calloc((size_t)(graphs * classes), sizeof(gnn_real_t)), graphs, classes);
    uint8_t *mask = calloc((size_t)graphs, 1);
    int rc = logits.data && mask ? gnn_graph_batches_predict(batches, model, context, &logits)
                                 : GNN_EMEMORY;
    for (int64_t g = 0; rc == GNN_OK && g < graphs; g++)
        mask[g] = part[g] == GNN_TEST;
    if (rc == GNN_OK)
        *accuracy = gnn_metric_accuracy(&logits, gnn_data_graph_labels(data), mask);
    free(logits.data);
    free(mask);
    return rc;
}

static int run_fold(const options_t *o, gnn_context_t *context, gnn_data_t *data,
                    const int8_t *part, watcher_t *w)
{
    gnn_model_t *model = NULL;
    gnn_graph_batches_t *batches = NULL;
    const gnn_graph_batches_config_t how = {
        .size = o->batch, .per_epoch = o->per_epoch, .seed = (uint64_t)(o->seed * 1000 + w->number)};
    gnn_context_set_seed(context, (uint64_t)(o->seed * 1000 + w->number));
    int rc = graphs_build_model(&model, context, o, data);
    if (rc == GNN_OK)
        rc = gnn_graph_batches_new(&batches, data, model, part, &how);
    if (rc == GNN_OK)
        rc = train(o, context, batches, model, w);
    if (rc == GNN_OK && o->protocol != PROTOCOL_MEAN)
        rc = test(data, context, batches, model, part, &w->fold->test);
    if (rc == GNN_OK && o->save && w->number == 0)
        rc = program_save_model("graphs", o->save, model);
    gnn_graph_batches_free(batches);
    gnn_model_free(model);
    return rc;
}

/* The epoch that is best in the mean over folds gives each fold its figure. */
static void choose_epoch(study_t *s)
{
    int64_t best = 0;
    for (int64_t e = 1; e < s->epochs; e++)
        if (s->mean_curve[e] > s->mean_curve[best])
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
        for (int64_t f = 0; f < s->count; f++)
            s->mean_curve[e] += s->folds[f].curve[e] / n;
    }
    if (o->protocol == PROTOCOL_MEAN)
        choose_epoch(s);
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
    s->mean_curve = calloc((size_t)s->epochs, sizeof *s->mean_curve);
    s->index = calloc((size_t)s->epochs, sizeof *s->index);
    int whole = s->folds && s->mean_curve && s->index;
    for (int64_t f = 0; whole && f < o->folds; f++)
        whole = (s->folds[f].curve = calloc((size_t)s->epochs, sizeof(double))) != NULL;
    return whole ? GNN_OK : GNN_EMEMORY;
}

static int run_folds(study_t *s, const options_t *o, gnn_context_t *context, gnn_data_t *data,
                     const int32_t *fold, int8_t *part, FILE *log)
{
    const int64_t many = o->most_folds && o->most_folds < o->folds ? o->most_folds : o->folds;
    for (int64_t f = 0; f < many; f++) {
        watcher_t w = {.options = o,
                       .fold = &s->folds[f],
                       .number = f,
                       .log = log,
                       .terminal = isatty(STDERR_FILENO)};
        if (o->protocol != PROTOCOL_OWN)
            set_parts(o, fold, gnn_data_graphs(data), f, part);
        int rc = run_fold(o, context, data, part, &w);
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
    const int64_t graphs = gnn_data_graphs(data);
    int32_t *fold = calloc((size_t)graphs, sizeof *fold);
    int8_t *part = calloc((size_t)graphs, sizeof *part);
    FILE *log = o->log ? fopen(o->log, "w") : NULL;
    int rc = fold && part ? make_study(s, o) : GNN_EMEMORY;
    if (rc == GNN_OK && o->log && !log) {
        perror(o->log);
        rc = PROGRAM_REFUSED;
    }
    if (log)
        fprintf(log, "fold,epoch,train_loss,validation_loss,validation_accuracy,lr,seconds\n");
    if (rc == GNN_OK)
        rc = o->protocol == PROTOCOL_OWN ? set_own_parts(data, part)
                                         : gnn_split_folds(gnn_data_graph_labels(data), graphs,
                                                           o->folds, (uint64_t)o->seed, fold);
    if (rc == GNN_OK)
        rc = run_folds(s, o, context, data, fold, part, log);
    if (rc == GNN_OK)
        summarise(s, o);
    if (log && fclose(log) != 0 && rc == GNN_OK) {
        perror(o->log);
        rc = PROGRAM_REFUSED;
    }
    free(fold);
    free(part);
    return rc;
}

void graphs_study_free(study_t *s)
{
    for (int64_t f = 0; s->folds && f < s->count; f++)
        free(s->folds[f].curve);
    free(s->folds);
    free(s->mean_curve);
    free(s->index);
}
