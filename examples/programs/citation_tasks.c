/* Tasks on nodes by the kind of their labels (one class, several labels, real values), with their
 * losses and metrics. */
#include "citation.h"
#include "program.h"
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- metrics ---- */

const char *const metric_names[] = {
    [GNN_METRIC_ACCURACY] = "accuracy",
    [GNN_METRIC_MACRO_F1] = "macro-F1",
    [GNN_METRIC_ROC_AUC] = "ROC-AUC",
    [GNN_METRIC_AVERAGE_PRECISION] = "average precision",
    [GNN_METRIC_MICRO_F1] = "micro-F1",
    [GNN_METRIC_MEAN_AUC] = "mean ROC-AUC",
    [GNN_METRIC_MAE] = "MAE",
    [GNN_METRIC_RMSE] = "RMSE",
    [GNN_METRIC_R2] = "R2",
};

/* The choices of --metric, auto first; -1: not available for the kind. */
static const int measures[][GNN_LABELS_REAL + 1] = {
    [0] = {-1, GNN_METRIC_ACCURACY, GNN_METRIC_MICRO_F1, GNN_METRIC_MAE},
    [1] = {-1, GNN_METRIC_ACCURACY, -1, -1},
    [2] = {-1, GNN_METRIC_MACRO_F1, GNN_METRIC_MICRO_F1, -1},
    [3] = {-1, GNN_METRIC_ROC_AUC, GNN_METRIC_MEAN_AUC, -1},
    [4] = {-1, -1, -1, GNN_METRIC_MAE},
    [5] = {-1, -1, -1, GNN_METRIC_RMSE},
    [6] = {-1, -1, -1, GNN_METRIC_R2},
};
static const char *const choices[] = {"", "accuracy, f1 or auc", "f1 or auc", "mae, rmse or r2"};
static const char *const kinds[] = {"no labels", "classes", "several labels per node", "real values"};

const char *metric_text(gnn_metric_t metric, double value, char room[24])
{
    if (metric == GNN_METRIC_MAE || metric == GNN_METRIC_RMSE)
        snprintf(room, 24, isnan(value) ? "-" : "%.4g", value);
    else if (metric == GNN_METRIC_R2)
        snprintf(room, 24, isnan(value) ? "-" : "%.3f", value);
    else
        program_percent(value, room);
    return room;
}

gnn_metric_t task_second(const options_t *o)
{
    if (o->kind == GNN_LABELS_SEVERAL)
        return o->metric == GNN_METRIC_MICRO_F1 ? GNN_METRIC_MEAN_AUC : GNN_METRIC_MICRO_F1;
    if (o->kind == GNN_LABELS_REAL)
        return o->metric == GNN_METRIC_R2 ? GNN_METRIC_MAE : GNN_METRIC_R2;
    return o->metric;
}

/* ---- targets ---- */

/* Converts class indices to real values. */
static int classes_as_values(gnn_data_t *data)
{
    const int64_t n = gnn_data_nodes(data);
    const gnn_array_t made = {
        "targets", sizeof(gnn_real_t) == 8 ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32, 2, {n, 1}, n,
        NULL};
    gnn_real_t *values = calloc((size_t)n, sizeof *values);
    gnn_array_t array = made;
    if (!values)
        return GNN_EMEMORY;
    for (int64_t i = 0; i < n; i++)
        values[i] = (gnn_real_t)gnn_data_labels(data)[i];
    array.data = values;
    const int rc = gnn_data_array_set(data, GNN_ON_NODES, &array);
    free(values);
    return rc;
}

static int refuse(const gnn_data_t *data, const char *option, const char *word, gnn_label_kind_t kind)
{
    fprintf(stderr, "citation: %s%s does not fit %s, which has %s", option, word,
            gnn_data_name(data), kinds[kind]);
    return PROGRAM_REFUSED;
}

/* Several labels of all ranks are bits. */
static int kind_of(const gnn_data_t *data, gnn_label_kind_t *kind)
{
    int64_t real;
    *kind = gnn_data_label_kind(data);
    real = *kind == GNN_LABELS_REAL;
    GNN_TRY(program_count(&real));
    if (real)
        *kind = GNN_LABELS_REAL;
    return GNN_OK;
}

static int choose_kind(options_t *o, gnn_data_t *data)
{
    static const char *const words[] = {"auto", "classes", "several", "real"};
    gnn_label_kind_t kind;
    GNN_TRY(kind_of(data, &kind));
    const task_t task = (task_t)o->task;
    o->kind = task == TASK_AUTO ? kind : (gnn_label_kind_t)task;
    if (task == TASK_AUTO || (gnn_label_kind_t)task == kind)
        return GNN_OK;
    if (task == TASK_REAL && kind == GNN_LABELS_CLASSES)
        return classes_as_values(data);
    refuse(data, "--task ", words[task], kind);
    fprintf(stderr, " (docs/formats.md has the forms of labels)\n");
    return PROGRAM_REFUSED;
}

int task_choose(options_t *o, gnn_data_t *data)
{
    static const char *const words[] = {"auto", "accuracy", "f1", "auc", "mae", "rmse", "r2"};
    GNN_TRY(choose_kind(o, data));
    if (o->kind == GNN_LABELS_CLASSES)
        GNN_TRY(program_has_classes("citation", gnn_data_name(data), gnn_data_classes(data)));
    if (measures[o->measure][o->kind] < 0) {
        refuse(data, "--metric ", words[o->measure], o->kind);
        fprintf(stderr, ": %s\n", choices[o->kind]);
        return PROGRAM_REFUSED;
    }
    o->metric = (gnn_metric_t)measures[o->measure][o->kind];
    return GNN_OK;
}

int64_t task_outputs(const options_t *o, const gnn_data_t *data)
{
    return o->kind == GNN_LABELS_CLASSES ? gnn_data_classes(data)
                                         : gnn_data_rows(data, GNN_ON_NODES, "targets")->cols;
}

int task_measure(const options_t *o, const gnn_model_t *model, gnn_context_t *context,
                 const gnn_data_t *data, int64_t split, int part, gnn_metric_t metric, double *value)
{
    if (o->kind == GNN_LABELS_CLASSES)
        return gnn_evaluate(model, context, data, split, part, metric, value);
    return gnn_evaluate_targets(model, context, data, "targets", NULL, split, part, metric, value);
}

/* ---- scales of real values ---- */

/* sums[c] = of masked rows where `mean` is NULL, or of their squared distances from it; sums[cols]:
 * their count. Over ranks slices are added in their order, whatever rank has them. */
static int sum_columns(const gnn_tensor_t *of, const uint8_t *mask, const double *mean, double *sums)
{
    int64_t first = 0, nodes = of->rows, per = of->rows > 0 ? of->rows : 1;
    if (program_folder()) {
        per = GNN_SLICE;
        GNN_TRY(program_first_row(&first));
        nodes = gnn_partition_folder_sizes(program_folder()).nodes;
    }
    const int64_t cols = of->cols, slices = (nodes + per - 1) / per, each = cols + 1;
    double *all = calloc((size_t)(slices * each), sizeof *all);
    if (!all)
        return GNN_EMEMORY;
    for (int64_t r = 0; r < of->rows; r++) {
        double *to = all + (first + r) / per * each;
        to[cols] += mask[r] != 0;
        for (int64_t c = 0; c < cols && mask[r]; c++) {
            const double value = (double)of->data[r * of->stride + c];
            to[c] += mean ? pow(value - mean[c], 2) : value;
        }
    }
    const int rc = program_sum(slices * each, all);
    for (int64_t c = 0; c < each; c++)
        sums[c] = 0;
    for (int64_t k = 0; k < slices * each; k++)
        sums[k % each] += all[k];
    free(all);
    return rc;
}

/* Mean and standard deviation of each column over the masked rows; 1 for constant columns. */
static int measure_columns(const gnn_tensor_t *of, const uint8_t *mask, double *mean, double *spread)
{
    double *sums = calloc((size_t)of->cols + 1, sizeof *sums);
    int rc = sums ? sum_columns(of, mask, NULL, sums) : GNN_EMEMORY;
    const double count = rc == GNN_OK ? sums[of->cols] : 0;
    for (int64_t c = 0; c < of->cols && rc == GNN_OK; c++)
        mean[c] = sums[c] / (count > 0 ? count : 1);
    if (rc == GNN_OK)
        rc = sum_columns(of, mask, mean, sums);
    for (int64_t c = 0; c < of->cols && rc == GNN_OK; c++) {
        spread[c] = count > 0 ? sqrt(sums[c] / count) : 1;
        if (!(spread[c] > 1e-12 * fabs(mean[c])))
            spread[c] = 1;
    }
    free(sums);
    return rc;
}

int task_standardise(gnn_data_t *data, int64_t split, double *mean, double *spread)
{
    const gnn_array_t *targets = gnn_data_array_find(data, GNN_ON_NODES, "targets");
    const gnn_tensor_t *of = gnn_data_rows(data, GNN_ON_NODES, "targets");
    gnn_real_t *values = calloc((size_t)(of->rows * of->cols), sizeof *values);
    gnn_array_t made = *targets;
    if (!values && of->rows > 0)
        return GNN_EMEMORY;
    const int measured = measure_columns(of, gnn_data_mask(data, GNN_TRAIN, split), mean, spread);
    if (measured != GNN_OK) {
        free(values);
        return measured;
    }
    for (int64_t k = 0; k < of->rows * of->cols; k++)
        values[k] = (gnn_real_t)(((double)of->data[k / of->cols * of->stride + k % of->cols] -
                                  mean[k % of->cols]) /
                                 spread[k % of->cols]);
    made.name = "targets.standard";
    made.data = values;
    const int rc = gnn_data_array_set(data, GNN_ON_NODES, &made);
    free(values);
    return rc;
}
