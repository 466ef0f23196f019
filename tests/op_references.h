/* The ops once more, as plain loops in double over contiguous arrays. */
#ifndef GNN_TESTS_OP_REFERENCES_H
#define GNN_TESTS_OP_REFERENCES_H

#include "trial.h"

/* Of the first input. */
#define ROWS (t->call.in[0].rows)
#define COLS (t->call.in[0].cols)

static void reference_linear(const trial_t *t, double *const in[], double *out)
{
    const int64_t n = t->call.in[1].cols;
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < n; c++) {
            double sum = t->call.n_in > 2 ? in[2][c] : 0;
            for (int64_t k = 0; k < COLS; k++)
                sum += in[0][r * COLS + k] * in[1][k * n + c];
            out[r * n + c] = sum;
        }
}

static void reference_add(const trial_t *t, double *const in[], double *out)
{
    const double alpha = (double)((const gnn__add_settings_t *)t->call.attributes)->alpha;
    for (int64_t e = 0; e < ROWS * COLS; e++)
        out[e] = in[0][e] + alpha * in[1][t->call.in[1].rows == 1 ? e % COLS : e];
}

static void reference_add_scaled(const trial_t *t, double *const in[], double *out)
{
    for (int64_t e = 0; e < ROWS * COLS; e++)
        out[e] = (1 + in[2][0]) * in[0][e] + in[1][e];
}

static double activation(gnn_activation_t kind, double slope, double x)
{
    switch (kind) {
    case GNN_RELU: return x > 0 ? x : 0;
    case GNN_LEAKY_RELU: return x > 0 ? x : x * slope;
    case GNN_ELU: return x > 0 ? x : expm1(x);
    case GNN_GELU: return x * 0.5 * erfc(-x * sqrt(0.5));
    case GNN_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case GNN_SILU: return x / (1 + exp(-x));
    case GNN_TANH: return tanh(x);
    case GNN_SIGMOID: return 1 / (1 + exp(-x));
    case GNN_SOFTPLUS: return x > 20 ? x : log1p(exp(x));
    default: return x;
    }
}

static void reference_activation(const trial_t *t, double *const in[], double *out)
{
    const gnn__activation_settings_t *how = t->call.attributes;
    for (int64_t e = 0; e < ROWS * COLS; e++)
        out[e] = activation(how->kind, how->slope == 0 ? 0.2 : (double)how->slope, in[0][e]);
}

static void reference_bias(const trial_t *t, double *const in[], double *out)
{
    const gnn__activation_settings_t *how = t->call.attributes;
    for (int64_t e = 0; e < ROWS * COLS; e++)
        out[e] = activation(how->kind, (double)how->slope, in[0][e] + in[1][e % COLS]);
}

/* The mask of a sparse matrix is keyed by the index of the stored value in its row. */
static void drop_dense(const trial_t *t, const gnn_sparse_t *x, gnn_real_t rate)
{
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t k = x->indptr[r]; k < x->indptr[r + 1]; k++)
            gnn__row(&t->call.in[0].value, r)[x->indices[k]] *=
                (gnn_real_t)multiplier(t, rate, r, k - x->indptr[r]);
}

static void reference_dropout(const trial_t *t, double *const in[], double *out)
{
    const gnn_real_t rate = ((const gnn__dropout_settings_t *)t->call.attributes)->rate;
    for (int64_t e = 0; e < ROWS * COLS; e++)
        out[e] = in[0][e] * (t->call.training ? multiplier(t, rate, e / COLS, e % COLS) : 1);
}

/* A vector of `count` elements with stride `step`. */
static void normalise(const double *x, int64_t count, int64_t step, bool rms, double eps, double *y)
{
    double mean = 0, square = 0;
    for (int64_t k = 0; k < count && !rms; k++)
        mean += x[k * step] / (double)count;
    for (int64_t k = 0; k < count; k++)
        square += (x[k * step] - mean) * (x[k * step] - mean) / (double)count;
    for (int64_t k = 0; k < count; k++)
        y[k * step] = (x[k * step] - mean) / sqrt(square + eps);
}

static void reference_norm(const trial_t *t, double *const in[], double *out)
{
    const gnn__norm_settings_t *how = t->call.attributes;
    const double eps = how->eps == 0 ? 1e-5 : (double)how->eps;
    double *x = malloc(sizeof(double) * (size_t)(ROWS * COLS + 1));
    for (int64_t e = 0; e < ROWS * COLS; e++)
        x[e] = in[0][e] + (t->call.n_in > 3 ? in[3][e] : 0);
    if (how->kind == GNN_NORM_BATCH && !t->call.training)
        for (int64_t e = 0; e < ROWS * COLS; e++)
            out[e] = (x[e] - (double)how->running.data[e % COLS]) /
                     sqrt((double)gnn__row(&how->running, 1)[e % COLS] + eps);
    else
        for (int64_t k = 0; k < (how->kind == GNN_NORM_BATCH ? COLS : ROWS); k++) {
            int64_t at = how->kind == GNN_NORM_BATCH ? k : k * COLS;
            normalise(x + at, how->kind == GNN_NORM_BATCH ? ROWS : COLS,
                      how->kind == GNN_NORM_BATCH ? COLS : 1, how->kind == GNN_NORM_RMS, eps,
                      out + at);
        }
    for (int64_t e = 0; e < ROWS * COLS && t->call.n_in > 1; e++)
        out[e] = out[e] * in[1][e % COLS] + in[2][e % COLS];
    free(x);
}

static void reference_concat(const trial_t *t, double *const in[], double *out)
{
    for (int64_t r = 0; r < ROWS; r++)
        for (int k = 0; k < t->call.n_in; k++)
            for (int64_t c = 0; c < t->call.in[k].cols; c++)
                *out++ = in[k][r * t->call.in[k].cols + c];
}

static void reference_gather(const trial_t *t, double *const in[], double *out)
{
    for (int64_t e = 0; e < t->call.in[1].rows * COLS; e++) {
        int64_t id = t->call.in[1].ids[e / COLS];
        out[e] = id < 0 ? 0 : in[0][id * COLS + e % COLS];
    }
}

static void reference_head_dot(const trial_t *t, double *const in[], double *out)
{
    const int64_t heads = ((const gnn__heads_settings_t *)t->call.attributes)->heads,
                  d = COLS / heads;
    const int64_t one = ROWS * heads;
    for (int64_t k = 0; k < (t->call.n_in - 1) * one; k++) {
        const double *x = in[0] + k % one * d, *a = in[1 + k / one] + k % heads * d;
        out[k] = 0;
        for (int64_t c = 0; c < d; c++)
            out[k] += x[c] * a[c];
    }
}

static void reference_head_norm(const trial_t *t, double *const in[], double *out)
{
    const gnn__head_norm_settings_t *how = t->call.attributes;
    const int64_t d = COLS / how->heads;
    for (int64_t part = 0; part < ROWS * how->heads; part++) {
        const double *x = in[0] + part * d;
        double square = 0;
        for (int64_t k = 0; k < d; k++)
            square += x[k] * x[k] / (double)d;
        for (int64_t k = 0; k < d; k++)
            out[part * d + k] = in[1][k] * x[k] / sqrt(square + (double)how->eps);
    }
}

static void reference_head_mean(const trial_t *t, double *const in[], double *out)
{
    const int64_t heads = ((const gnn__heads_settings_t *)t->call.attributes)->heads,
                  d = COLS / heads;
    for (int64_t e = 0; e < ROWS * d; e++) {
        out[e] = 0;
        for (int64_t h = 0; h < heads; h++)
            out[e] += in[0][e / d * COLS + h * d + e % d] / (double)heads;
    }
}

static void reference_gru(const trial_t *t, double *const in[], double *out)
{
    const int64_t d = t->call.in[2].cols;
    for (int64_t e = 0; e < ROWS * d; e++) {
        const double *x = in[0] + e / d * 3 * d + e % d, *h = in[1] + e / d * 3 * d + e % d;
        double r = 1 / (1 + exp(-x[0] - h[0])), z = 1 / (1 + exp(-x[d] - h[d]));
        out[e] = (1 - z) * tanh(x[2 * d] + r * h[2 * d]) + z * in[2][e];
    }
}

/* The graph of the test: edges 0->1, 2->1, 1->1, 1->2, 2->0, 0->1 again; node 3 has no senders. */
static const int64_t graph_src[] = {0, 2, 1, 1, 2, 0}, graph_dst[] = {1, 1, 1, 2, 0, 1};
enum { NODES = 4, EDGES = 6 };

static void reference_weight_norm(const trial_t *t, double *const in[], double *out)
{
    const gnn__weight_norm_settings_t *how = t->call.attributes;
    double degree[NODES] = {0};
    bool loop[NODES] = {how->self_loops == GNN_ON, false, how->self_loops == GNN_ON,
                        how->self_loops == GNN_ON};
    for (int e = 0; e < EDGES; e++)
        degree[graph_dst[e]] += in[0][e];
    for (int i = 0; i < NODES; i++)
        degree[i] += loop[i];
    for (int e = 0; e < EDGES + NODES; e++) {
        int64_t i = e < EDGES ? graph_dst[e] : e - EDGES, j = e < EDGES ? graph_src[e] : i;
        double w = e < EDGES ? in[0][e] : loop[i],
               by = how->kind == GNN_GRAPH_NORM_ROW ? degree[i] : sqrt(degree[i] * degree[j]);
        out[e] = by != 0 ? w / by : 0;
    }
}

static double element_loss(const gnn_loss_t *how, const double *x, int64_t c, int64_t r,
                           double *weight)
{
    double sum = 0, loss = 0,
           label =
               how->kind == GNN_LOSS_CROSS_ENTROPY ? (double)how->class_weight[how->labels[r]] : 1,
           s = (double)how->label_smoothing;
    for (int64_t k = 0; k < c; k++)
        sum += exp(x[k]);
    for (int64_t k = 0; k < c; k++) {
        double target = how->targets ? (double)gnn__row(how->targets, r)[k] : 0,
               p = 1 / (1 + exp(-x[k]));
        if (how->kind == GNN_LOSS_CROSS_ENTROPY)
            loss -= (log(exp(x[k]) / sum)) * ((k == how->labels[r] ? (1 - s) * label : 0) +
                                              s / (double)c * (double)how->class_weight[k]);
        else if (how->kind == GNN_LOSS_MEAN_SQUARED)
            loss += (x[k] - target) * (x[k] - target);
        else
            loss -= target * log(p) + (1 - target) * log(1 - p);
    }
    *weight = how->kind == GNN_LOSS_CROSS_ENTROPY ? label : (double)c;
    return loss;
}

static void reference_loss(const trial_t *t, double *const in[], double *out)
{
    const gnn_loss_t *how = t->call.attributes;
    double sum = 0, total = 0, weight;
    for (int64_t r = 0; r < ROWS; r++)
        if (how->mask[r] && (!how->labels || how->labels[r] >= 0)) {
            sum += element_loss(how, in[0] + r * COLS, COLS, r, &weight);
            total += weight;
        }
    out[0] = total > 0 ? sum / total : 0;
}

#endif
