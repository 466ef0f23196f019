/* Progress of a training run: a bar or lines, the log, and the history for the curve. */
#include "citation.h"
#include "program.h"
#include "ranks.h"

#include <stdlib.h>

void free_history(history_t *h)
{
    for (int k = 0; k < 4; k++)
        free(h->columns[k]);
    *h = (history_t){0};
}

static int remember(history_t *h, const gnn_progress_t *now)
{
    const double values[4] = {(double)now->epoch, now->train_loss, now->validation_loss,
                              now->validation_metric};
    if (h->count == h->room) {
        const int64_t room = h->room ? 2 * h->room : 256;
        for (int k = 0; k < 4; k++) {
            double *more = realloc(h->columns[k], sizeof *more * (size_t)room);
            h->failed = !more;
            if (!more)
                return 0;
            h->columns[k] = more;
        }
        h->room = room;
    }
    for (int k = 0; k < 4; k++)
        h->columns[k][h->count] = values[k];
    h->count++;
    return 1;
}

/* A bar on a terminal; elsewhere a line every five seconds. */
static void show(watcher_t *w, const gnn_progress_t *now)
{
    const int64_t width = 30, filled = width * now->epoch / now->epochs;
    const outcome_t *o = w->outcome;
    const char *trial = w->trial ? w->trial : "", *of = w->trial ? " tried, " : "";
    char room[24];
    if (w->terminal && (now->epoch % 5 == 0 || now->epoch == 1))
        fprintf(stderr,
                "\r%s%ssplit %lld, seed %lld [%.*s%.*s] epoch %lld, loss %.3f, validation %s ",
                trial, of, (long long)o->split, (long long)o->seed, (int)filled,
                "##############################", (int)(width - filled),
                "..............................", (long long)now->epoch, now->train_loss,
                metric_text(w->options->metric, now->validation_metric, room));
    if (program_rank() > 0 || w->terminal || now->seconds < w->told + 5)
        return;
    w->told = now->seconds;
    fprintf(stderr, "%s%ssplit %lld, seed %lld: epoch %lld of %lld, loss %.3f, validation %s\n",
            trial, of, (long long)o->split, (long long)o->seed, (long long)now->epoch,
            (long long)now->epochs, now->train_loss,
            metric_text(w->options->metric, now->validation_metric, room));
}

int watch_epoch(void *user, const gnn_progress_t *now)
{
    watcher_t *w = user;
    show(w, now);
    if (w->log) {
        fprintf(w->log, "%lld,%lld,%lld,%.9g,%.9g,%.9g,%.9g,%d,%.3f\n", (long long)w->outcome->split,
                (long long)w->outcome->seed, (long long)now->epoch, now->train_loss,
                now->validation_loss, now->validation_metric, now->lr, now->improved, now->seconds);
        fflush(w->log);
    }
    return w->options->curve && !remember(&w->history, now);
}

/* The metric's column name. */
static const char *measure_word(const options_t *o)
{
    static const char *const words[] = {
        [GNN_METRIC_ACCURACY] = "accuracy", [GNN_METRIC_MACRO_F1] = "f1",
        [GNN_METRIC_ROC_AUC] = "auc",       [GNN_METRIC_MICRO_F1] = "f1",
        [GNN_METRIC_MEAN_AUC] = "auc",      [GNN_METRIC_MAE] = "mae",
        [GNN_METRIC_RMSE] = "rmse",         [GNN_METRIC_R2] = "r2"};
    return words[o->metric];
}

/* A resumed training appends to the same file. */
int open_log(FILE **log, const options_t *o)
{
    if (!o->log)
        return GNN_OK;
    *log = open_file(o->log, o->resume ? "a" : "w");
    if (!*log)
        return GNN_EIO;
    fseek(*log, 0, SEEK_END);
    if (ftell(*log) == 0)
        fprintf(*log,
                "split,seed,epoch,train_loss,validation_loss,validation_%s,lr,improved,seconds\n",
                measure_word(o));
    return GNN_OK;
}
