#include "citation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Logits of all nodes, malloc'd. */
static int predict(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data, gnn_tensor_t *logits)
{
    *logits = gnn_tensor(calloc((size_t)(data->n * data->classes), sizeof *logits->data), data->n, data->classes);
    if (!logits->data)
        return GNN_EMEMORY;
    return gnn_model_predict(model, context, data->graph, data->x.data ? &data->x : NULL, data->x.data ? NULL : &data->sparse, logits);
}

static int32_t likeliest(const gnn_tensor_t *logits, int64_t i)
{
    const gnn_real_t *row = logits->data + i * logits->stride;
    int32_t best = 0;
    for (int32_t c = 1; c < logits->cols; c++)
        if (row[c] > row[best])
            best = c;
    return best;
}

static double probability(const gnn_tensor_t *logits, int64_t i, int32_t class)
{
    const gnn_real_t *row = logits->data + i * logits->stride;
    double sum = 0;
    for (int64_t c = 0; c < logits->cols; c++)
        sum += exp((double)row[c] - (double)row[class]);
    return 1 / sum;
}

static int close_file(FILE *file, const char *path, int rc)
{
    int failed = ferror(file);
    if ((fclose(file) != 0 || failed) && rc == GNN_OK) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return GNN_EIO;
    }
    return rc;
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return file;
}

int write_predictions(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data, const char *path)
{
    gnn_tensor_t logits;
    int rc = predict(model, context, data, &logits);
    FILE *file = rc == GNN_OK ? open_file(path) : NULL;
    if (rc == GNN_OK && !file)
        rc = GNN_EIO;
    if (rc == GNN_OK) {
        fprintf(file, "node,predicted,probability,label\n");
        for (int64_t i = 0; i < data->n; i++) {
            int32_t class = likeliest(&logits, i);
            fprintf(file, "%lld,%d,%.6f,%d\n", (long long)i, class, probability(&logits, i, class), data->labels[i]);
        }
        rc = close_file(file, path, rc);
    }
    free(logits.data);
    return rc;
}

/* ---- the plane ---- */

enum { MOST_CLASSES = 512 };

/* One main direction of the centred rows by power iteration, orthogonal to `other` (NULL: none). */
static void main_direction(const gnn_tensor_t *x, const double *other, double *direction)
{
    double next[MOST_CLASSES];
    for (int64_t c = 0; c < x->cols; c++)
        direction[c] = 1.0 / (double)(c + 1 + (other != NULL));
    for (int round = 0; round < 200; round++) {
        double dot = 0, norm = 0;
        for (int64_t c = 0; other && c < x->cols; c++)
            dot += direction[c] * other[c];
        for (int64_t c = 0; c < x->cols; c++) {
            direction[c] -= other ? dot * other[c] : 0;
            norm += direction[c] * direction[c];
            next[c] = 0;
        }
        for (int64_t c = 0; c < x->cols; c++)
            direction[c] /= sqrt(norm) + 1e-300;
        for (int64_t i = 0; i < x->rows && round < 199; i++) {
            const gnn_real_t *row = x->data + i * x->stride;
            double along = 0;
            for (int64_t c = 0; c < x->cols; c++)
                along += (double)row[c] * direction[c];
            for (int64_t c = 0; c < x->cols; c++)
                next[c] += along * (double)row[c];
        }
        if (round < 199)
            memcpy(direction, next, sizeof *direction * (size_t)x->cols);
    }
}

/* Principal components: centres x in place, and fills points (n x 2). */
static void project(gnn_tensor_t *x, gnn_tensor_t *points)
{
    double axes[2][MOST_CLASSES];
    for (int64_t c = 0; c < x->cols; c++) {
        double mean = 0;
        for (int64_t i = 0; i < x->rows; i++)
            mean += (double)x->data[i * x->stride + c] / (double)x->rows;
        for (int64_t i = 0; i < x->rows; i++)
            x->data[i * x->stride + c] -= (gnn_real_t)mean;
    }
    main_direction(x, NULL, axes[0]);
    main_direction(x, axes[0], axes[1]);
    for (int64_t i = 0; i < x->rows; i++)
        for (int a = 0; a < 2; a++) {
            double along = 0;
            for (int64_t c = 0; c < x->cols; c++)
                along += (double)x->data[i * x->stride + c] * axes[a][c];
            points->data[2 * i + a] = (gnn_real_t)along;
        }
}

/* Draws `points` with the classes in `logits`; the karate club with its friendships. */
static int draw(FILE *file, const gnn_data_t *data, int64_t split, const gnn_tensor_t *points, const int32_t *classes, int is_graph)
{
    int64_t m = gnn_graph_n_edges(data->graph), *from = NULL;
    char title[200];
    snprintf(title, sizeof title, "%s: %lld nodes by predicted class", data->name, (long long)data->n);
    gnn_scatter_t scatter = {.points = *points, .classes = classes, .n_classes = data->classes, .emphasis = data->masks[GNN_TRAIN][split], .title = title,
                             .subtitle = is_graph ? "igraph's layout; rings: labelled for training" : "main directions of the output; rings: labelled for training"};
    if (is_graph) {
        from = calloc((size_t)(2 * m), sizeof *from);
        int rc = from ? gnn_graph_pairs(data->graph, from, from + m, NULL) : GNN_EMEMORY;
        if (rc != GNN_OK) {
            free(from);
            return rc;
        }
        scatter.line_from = from;
        scatter.line_to = from + m;
        scatter.n_lines = m;
    }
    int rc = gnn_svg_scatter(file, &scatter);
    free(from);
    return rc;
}

int write_plot(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data, int64_t split, const char *path)
{
    gnn_tensor_t logits, points = gnn_tensor(calloc((size_t)(2 * data->n), sizeof(gnn_real_t)), data->n, 2);
    int32_t *classes = calloc((size_t)data->n, sizeof *classes);
    int rc = predict(model, context, data, &logits), is_graph = GNN_HAS_IGRAPH && data->n <= 200;
    FILE *file = rc == GNN_OK ? open_file(path) : NULL;
    if (rc == GNN_OK && (!file || !points.data || !classes))
        rc = file ? GNN_EMEMORY : GNN_EIO;
    if (rc == GNN_OK && data->classes > MOST_CLASSES)
        rc = GNN_EUNSUPPORTED;
    for (int64_t i = 0; rc == GNN_OK && i < data->n; i++)
        classes[i] = likeliest(&logits, i);
#if GNN_HAS_IGRAPH
    if (rc == GNN_OK && is_graph)
        rc = gnn_graph_layout(data->graph, 1, &points);
#endif
    if (rc == GNN_OK && !is_graph)
        project(&logits, &points);
    if (rc == GNN_OK)
        rc = draw(file, data, split, &points, classes, is_graph);
    if (file)
        rc = close_file(file, path, rc);
    free(classes);
    free(points.data);
    free(logits.data);
    return rc;
}
