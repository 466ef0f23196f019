/* Training runs of links over seeds, each with its own split, initial weights and negative
 * pairs. */
#include "links.h"
#include "program.h"
#include "scale.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

const char *const figure_names[6] = {"auc",     "average_precision", "mrr",
                                     "hits@10", "hits@50",           "hits@100"};

void figures_of(const gnn_link_metrics_t *m, double figures[6])
{
    const double all[6] = {m->auc,     m->average_precision, m->mrr,
                           m->hits_10, m->hits_50,           m->hits_100};
    for (int k = 0; k < 6; k++)
        figures[k] = all[k];
}

/* Arguments of the callback of one training. */
typedef struct {
    const options_t *options;
    int64_t seed;
    history_t *history; /* NULL: not kept */
    FILE *log;
    int terminal;
    double told;
} watcher_t;

static int watch(void *user, const gnn_progress_t *now)
{
    watcher_t *w = user;
    history_t *h = w->history;
    if (h) {
        h->epoch[h->count] = (double)now->epoch;
        h->train[h->count] = now->train_loss;
        h->validation[h->count] = now->validation_loss;
        h->metric[h->count++] = now->validation_metric;
    }
    if (w->log)
        fprintf(w->log, "%lld,%lld,%.9g,%.9g,%.9g,%.3f\n", (long long)w->seed, (long long)now->epoch,
                now->train_loss, now->validation_loss, now->validation_metric, now->seconds);
    if (!w->terminal && now->seconds < w->told + 5)
        return 0;
    w->told = now->seconds;
    fprintf(stderr, "%sseed %lld: epoch %lld of %lld, loss %.3f, validation %.1f%s",
            w->terminal ? "\r\033[K" : "", (long long)w->seed, (long long)now->epoch,
            (long long)now->epochs, now->train_loss, 100 * now->validation_metric,
            w->terminal ? "" : "\n");
    return 0;
}

static int train(const options_t *o, gnn_context_t *context, gnn_source_t *source,
                 gnn_model_t *model, watcher_t *w, outcome_t *out)
{
    static const gnn_watch_t watches[] = {GNN_WATCH_METRIC, GNN_WATCH_METRIC, GNN_WATCH_LOSS,
                                          GNN_WATCH_NONE};
    gnn_train_result_t result;
    const gnn_train_config_t config = {
        .epochs = o->epochs,
        .patience = watches[o->watch] == GNN_WATCH_NONE ? 0 : o->patience,
        .optimizer.lr = (gnn_real_t)o->lr,
        .optimizer.weight_decay = (gnn_real_t)o->weight_decay,
        .watch = watches[o->watch],
        .metric = o->watch == WATCH_AP ? GNN_METRIC_AVERAGE_PRECISION : GNN_METRIC_ROC_AUC,
        .callback = watch,
        .user = w,
        .stop = &program_stopped};
    int rc = gnn_train_batches(model, context, source, &config, &result);
    if (w->terminal)
        fprintf(stderr, "\r\033[K");
    GNN_TRY(rc);
    out->validation = result.validation_metric;
    out->epoch = result.best_epoch;
    out->epochs = result.epochs;
    out->seconds = result.seconds;
    return GNN_OK;
}

/* Trains a model, unless one was loaded, and evaluates it on the test links. */
static int run_model(const options_t *o, gnn_context_t *context, gnn_data_t *data,
                     gnn_links_t *links, watcher_t *w, gnn_model_t *loaded, outcome_t *out)
{
    gnn_model_t *model = loaded;
    gnn_source_t *source = NULL;
    const gnn_link_source_config_t how = {
        .size = o->batch, .drawn = o->negatives, .seed = (uint64_t)out->seed};
    int rc = loaded ? GNN_OK : links_build_model(&model, context, o, data);
    if (rc == GNN_OK && out->seed == o->seed)
        program_tell_unread("links", model, data);
    if (rc == GNN_OK && !loaded)
        rc = scale_note(model, (scale_t)o->scale, 0, NULL, graph_as_stored(o->directed));
    if (rc == GNN_OK)
        rc = gnn_source_of_links(&source, model, data, links, &how);
    if (rc == GNN_OK && !o->load)
        rc = train(o, context, source, model, w, out);
    if (rc == GNN_OK)
        rc = gnn_source_measure_links(source, model, context, GNN_TEST, &out->test);
    const int first = out->seed == o->seed;
    if (rc == GNN_OK && o->save && first)
        rc = program_save_model("links", o->save, model);
    if (rc == GNN_OK && o->predict && first)
        rc = write_scores(o, data, links, source, model, context);
    gnn_source_free(source);
    if (!loaded)
        gnn_model_free(model);
    return rc;
}

/* Rounded, a share of few links may be none. */
static int has_validation(const options_t *o, const gnn_links_t *links)
{
    const int needed = !o->load && (o->watch != WATCH_LAST || o->patience > 0);
    if (!needed || gnn_links_of(links, GNN_VALIDATION).count > 0)
        return 1;
    fprintf(stderr,
            "links: the split has no link for validation: a larger --validation-share, or --watch "
            "last without --patience, is expected\n");
    return 0;
}

static int run_seed(const options_t *o, gnn_context_t *context, gnn_data_t *data, study_t *s,
                    FILE *log)
{
    outcome_t *out = &s->outcomes[s->count];
    gnn_links_t *links = NULL;
    watcher_t w = {.options = o,
                   .seed = out->seed,
                   .history = s->count == 0 ? &s->history : NULL,
                   .log = log,
                   .terminal = isatty(STDERR_FILENO)};
    const gnn_link_rule_t rule = {.validation_share = o->validation_share,
                                  .test_share = o->test_share,
                                  .directed = o->directed ? GNN_ON : GNN_OFF,
                                  .seed = (uint64_t)out->seed};
    gnn_context_set_seed(context, (uint64_t)out->seed);
    GNN_TRY(gnn_links_split(&links, gnn_data_graph(data), &rule));
    int rc = has_validation(o, links) ? GNN_OK : PROGRAM_REFUSED;
    if (rc == GNN_OK)
        rc = run_model(o, context, data, links, &w, s->loaded, out);
    gnn_links_free(links);
    GNN_TRY(rc);
    s->count++;
    fprintf(o->say, "seed %lld: ", (long long)out->seed);
    if (!o->load)
        fprintf(o->say, "validation %.1f (epoch %lld of %lld, %.1f s), ", 100 * out->validation,
                (long long)out->epoch, (long long)out->epochs, out->seconds);
    fprintf(o->say, "test AUC %.1f, AP %.1f, MRR %.1f\n", 100 * out->test.auc,
            100 * out->test.average_precision, 100 * out->test.mrr);
    fflush(o->say);
    return GNN_OK;
}

static void set_figures(gnn_link_metrics_t *m, const double f[6])
{
    *m = (gnn_link_metrics_t){f[0], f[1], f[2], f[3], f[4], f[5]};
}

static void summarise(study_t *s)
{
    double mean[6] = {0}, deviation[6] = {0}, figures[6];
    const double n = (double)s->count;
    for (int64_t k = 0; k < s->count; k++) {
        figures_of(&s->outcomes[k].test, figures);
        for (int f = 0; f < 6; f++)
            mean[f] += figures[f] / n;
    }
    for (int64_t k = 0; k < s->count; k++) {
        figures_of(&s->outcomes[k].test, figures);
        for (int f = 0; f < 6; f++)
            deviation[f] += (figures[f] - mean[f]) * (figures[f] - mean[f]) / fmax(n - 1, 1);
    }
    for (int f = 0; f < 6; f++)
        deviation[f] = sqrt(deviation[f]);
    set_figures(&s->mean, mean);
    set_figures(&s->deviation, deviation);
}

static int open_study(study_t *s, const options_t *o)
{
    history_t *h = &s->history;
    double **const columns[] = {&h->epoch, &h->train, &h->validation, &h->metric};
    s->outcomes = calloc((size_t)o->seeds, sizeof *s->outcomes);
    int whole = s->outcomes != NULL;
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        whole = (*columns[k] = calloc((size_t)o->epochs, sizeof(double))) && whole;
    return whole ? GNN_OK : GNN_EMEMORY;
}

int links_study_run(study_t *s, const options_t *o, gnn_context_t *context, gnn_data_t *data)
{
    FILE *log = o->log ? fopen(o->log, "w") : NULL;
    int rc = open_study(s, o);
    if (rc == GNN_OK && o->log && !log) {
        perror(o->log);
        rc = PROGRAM_REFUSED;
    }
    if (log)
        fprintf(log, "seed,epoch,train_loss,validation_loss,validation_metric,seconds\n");
    for (int64_t k = 0; k < o->seeds && rc == GNN_OK; k++) {
        s->outcomes[k].seed = o->seed + k;
        rc = run_seed(o, context, data, s, log);
    }
    const int lost = log && ferror(log);
    if (log && (fclose(log) != 0 || lost) && rc == GNN_OK) {
        perror(o->log);
        rc = PROGRAM_REFUSED;
    }
    summarise(s);
    return rc;
}

void links_study_free(study_t *s)
{
    gnn_model_free(s->loaded);
    free(s->outcomes);
    free(s->history.epoch);
    free(s->history.train);
    free(s->history.validation);
    free(s->history.metric);
}
