/* Pictures of citation: scatter plot of the nodes, curves of a training run, confusion matrix. */
#include "citation.h"
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scatter plot ---- */

static const char *const *names_of(const gnn_data_t *data)
{
    return gnn_data_class_names(data);
}

/* Draws `points`, and the edges of a small graph. */
static int draw_plane(FILE *file, const gnn_data_t *data, int64_t split, const gnn_tensor_t *points,
                      const int32_t *classes, const char *subtitle, int with_links)
{
    int64_t m = with_links ? gnn_graph_n_edges(gnn_data_graph(data)) : 0,
            *from = calloc((size_t)(2 * m + 1), sizeof *from);
    char title[200];
    snprintf(title, sizeof title, "%s: %lld nodes by predicted class", gnn_data_name(data),
             (long long)gnn_data_nodes(data));
    gnn_scatter_t scatter = {.points = *points,
                             .classes = classes,
                             .class_names = names_of(data),
                             .n_classes = gnn_data_classes(data),
                             .emphasis = gnn_data_mask(data, GNN_TRAIN, split),
                             .line_from = from,
                             .line_to = from + m,
                             .n_lines = m,
                             .title = title,
                             .subtitle = subtitle};
    int rc = from ? GNN_OK : GNN_EMEMORY;
    if (rc == GNN_OK && with_links)
        rc = gnn_graph_pairs(gnn_data_graph(data), from, from + m, NULL);
    if (rc == GNN_OK)
        rc = gnn_svg_scatter(file, &scatter);
    free(from);
    return rc;
}

/* Normalises a node's output to a direction, since nodes with large logits would dominate the
 * scale. */
static void directions(gnn_tensor_t *logits)
{
    for (int64_t i = 0; i < logits->rows; i++) {
        gnn_real_t *row = logits->data + i * logits->stride;
        double mean = 0, squares = 0;
        for (int64_t c = 0; c < logits->cols; c++)
            mean += (double)row[c] / (double)logits->cols;
        for (int64_t c = 0; c < logits->cols; c++)
            squares += ((double)row[c] - mean) * ((double)row[c] - mean);
        for (int64_t c = 0; c < logits->cols; c++)
            row[c] = (gnn_real_t)(((double)row[c] - mean) / (sqrt(squares) + 1e-30));
    }
}

static int place(gnn_tensor_t *logits, const gnn_data_t *data, const gnn_tensor_t *points,
                 int is_graph, char *subtitle, size_t size)
{
    double share[2] = {0};
    if (is_graph) {
        snprintf(subtitle, size, "joined nodes lie close together; rings: labelled for training");
        return gnn_graph_layout_weighted(gnn_data_graph(data), NULL, 1, points);
    }
    directions(logits);
    int rc = gnn_pca_2d(logits, points, share);
    snprintf(
        subtitle, size,
        "principal components of the output's direction, %.0f%% and %.0f%% of its variance; rings: labelled for training",
        100 * share[0], 100 * share[1]);
    return rc;
}

int write_scatter(gnn_tensor_t *logits, const gnn_data_t *data, int64_t split, const char *path)
{
    gnn_tensor_t points = gnn_tensor(calloc((size_t)(2 * gnn_data_nodes(data)), sizeof(gnn_real_t)),
                                     gnn_data_nodes(data), 2);
    int32_t *classes = calloc((size_t)gnn_data_nodes(data), sizeof *classes);
    program_file_t to = {0};
    char subtitle[200];
    const int is_graph = gnn_data_nodes(data) <= 200;
    int rc = points.data && classes ? program_create(&to, path) : GNN_EMEMORY;
    for (int64_t i = 0; rc == GNN_OK && i < gnn_data_nodes(data); i++)
        classes[i] = likeliest(logits, i);
    if (rc == GNN_OK)
        rc = place(logits, data, &points, is_graph, subtitle, sizeof subtitle);
    if (rc == GNN_OK)
        rc = draw_plane(to.file, data, split, &points, classes, subtitle, is_graph);
    if (to.file)
        rc = program_finish(&to, rc);
    free(classes);
    free(points.data);
    return rc;
}

/* ---- the training ---- */

int citation_write_curve(const study_t *study, const options_t *o, const gnn_data_t *data,
                         const char *path)
{
    const outcome_t *best = &study->outcomes[study->best];
    const history_t *h = &study->history;
    const gnn_curve_t curves[3] = {
        {.name = "training", .x = h->columns[0], .y = h->columns[1], .count = h->count},
        {.name = "validation", .x = h->columns[0], .y = h->columns[2], .count = h->count},
        {.name = "validation", .x = h->columns[0], .y = h->columns[3], .count = h->count, .panel = 1}};
    const char *const panels[2] = {"loss", metric_names[o->metric]};
    char title[200], subtitle[200], mark[60];
    snprintf(title, sizeof title, "Training of %s on %s", o->recipe->name, gnn_data_name(data));
    snprintf(subtitle, sizeof subtitle,
             "split %lld, seed %lld; test %s %.1f%%. The training loss is measured with dropout.",
             (long long)best->split, (long long)best->seed, metric_names[o->metric],
             100 * best->test);
    snprintf(mark, sizeof mark, "best epoch %lld", (long long)best->result.best_epoch);
    program_file_t to;
    GNN_TRY(program_create(&to, path));
    int rc = gnn_svg_curves(to.file, &(gnn_curves_t){.curves = curves,
                                                     .n_curves = 3,
                                                     .panel_names = panels,
                                                     .n_panels = 2,
                                                     .title = title,
                                                     .subtitle = subtitle,
                                                     .x_axis = "epoch",
                                                     .mark = (double)best->result.best_epoch,
                                                     .mark_name = mark});
    return program_finish(&to, rc);
}

/* ---- confusion matrix ---- */

/* Converts counts to fractions of their row, and `labels` to "name (count)". */
static void label_rows(const gnn_data_t *data, const gnn_tensor_t *cells, char (*room)[160],
                       const char **rows, const char **cols, double *right)
{
    double hits = 0, all = 0;
    for (int64_t r = 0; r < gnn_data_classes(data); r++) {
        gnn_real_t *row = cells->data + r * cells->stride;
        double total = 0;
        for (int64_t c = 0; c < gnn_data_classes(data); c++)
            total += (double)row[c];
        hits += (double)row[r];
        all += total;
        for (int64_t c = 0; c < gnn_data_classes(data); c++)
            row[c] = total > 0 ? (gnn_real_t)((double)row[c] / total) : 0;
        char number[32];
        snprintf(room[2 * r], sizeof *room, "%.100s", citation_class_name(data, r, number));
        snprintf(room[2 * r + 1], sizeof *room, "%.100s (%.0f)",
                 citation_class_name(data, r, number), total);
        cols[r] = room[2 * r];
        rows[r] = room[2 * r + 1];
    }
    *right = all > 0 ? hits / all : 0;
}

int write_confusion(const gnn_tensor_t *logits, const gnn_data_t *data, int64_t split,
                    const char *path)
{
    size_t k = (size_t)gnn_data_classes(data);
    gnn_tensor_t cells = gnn_tensor(calloc(k * k, sizeof(gnn_real_t)), gnn_data_classes(data),
                                    gnn_data_classes(data));
    char(*room)[160] = calloc(2 * k, sizeof *room), subtitle[160], title[160];
    const char **labels = calloc(2 * k, sizeof *labels);
    program_file_t to = {0};
    double right = 0;
    int rc = cells.data && room && labels ? program_create(&to, path) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = gnn_metric_per_class(logits, gnn_data_labels(data),
                                  gnn_data_mask(data, GNN_TEST, split), NULL, &cells);
    if (rc == GNN_OK)
        label_rows(data, &cells, room, labels, labels + k, &right);
    snprintf(title, sizeof title, "%s: which class is taken for which", gnn_data_name(data));
    snprintf(subtitle, sizeof subtitle,
             "share of each class's test nodes (their number beside its name); %.1f%% of all are right",
             100 * right);
    if (rc == GNN_OK)
        rc = gnn_svg_heatmap(to.file, &(gnn_heatmap_t){.values = cells,
                                                       .row_labels = labels,
                                                       .col_labels = labels + k,
                                                       .title = title,
                                                       .subtitle = subtitle,
                                                       .row_axis = "class",
                                                       .col_axis = "predicted",
                                                       .low = 0,
                                                       .high = 1,
                                                       .mark_row = -1,
                                                       .mark_col = -1});
    if (to.file)
        rc = program_finish(&to, rc);
    free(cells.data);
    free(room);
    free(labels);
    return rc;
}
