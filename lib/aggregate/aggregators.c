/* The aggregators: how a receiver combines its messages. One entry after another: state,
 * accumulate, finish and their derivatives, the struct. Loops over wide rows are kernels of
 * lib/kernels, which run every column by itself. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/neighbours/neighbours.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- sum. State: the sum; backward: d_out ---- */

static size_t one_row(const gnn_aggregate_shape_t *shape)
{
    return (size_t)shape->width;
}

static void sum_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *sum, const gnn_edge_t *edge)
{
    gnn__elementwise_kernels()->scale(shape->width, 1, edge->message, true, sum);
}

/* Attention's state is the output row itself. */
static void copy_state(const gnn_aggregate_shape_t *shape, gnn_real_t *state, gnn_real_t *out)
{
    if (state != out)
        memcpy(out, state, sizeof *out * (size_t)shape->width);
}

static void take_gradient(const gnn_aggregate_shape_t *shape, gnn_real_t *state,
                          const gnn_real_t *out, const gnn_real_t *d_out)
{
    (void)out;
    if (state != d_out)
        memcpy(state, d_out, sizeof *state * (size_t)shape->width);
}

static void sum_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *d_out,
                                const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    (void)edge;
    if (grad->message)
        gnn__elementwise_kernels()->scale(shape->width, 1, d_out, true, grad->message);
}

const gnn_aggregator_t gnn_aggregator_sum = {
    .name = "sum",
    .paper = "Xu et al. 2019 (GIN)",
    .help = "the sum of all messages",
    .flags = GNN_AGGREGATOR_LINEAR,
    .state = one_row,
    .accumulate = sum_accumulate,
    .finish = copy_state,
    .finish_grad = take_gradient,
    .accumulate_grad = sum_accumulate_grad,
};

/* ---- attention: y_i = sum over j of w_ij m_ij, head by head. State: y_i; backward: d_out ---- */

/* A message of weight 0 (dropped, masked) is not read: 0 x NaN would be NaN. */
static void attention_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *y,
                                 const gnn_edge_t *edge)
{
    const int64_t d_v = shape->d_v;
    for (int64_t a = 0; a < shape->heads; a++, y += d_v) {
        const gnn_real_t weight = edge->weights[a],
                         *value = edge->message + gnn__value_head(shape, a) * d_v;
        for (int64_t c = 0; weight != 0 && c < d_v; c++)
            y[c] += weight * value[c];
    }
}

static void attention_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *d_out,
                                      const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    const int64_t d_v = shape->d_v;
    for (int64_t a = 0; a < shape->heads; a++, d_out += d_v) {
        const int64_t at = gnn__value_head(shape, a) * d_v;
        const gnn_real_t weight = edge->weights[a];
        gnn_real_t dot = 0;
        for (int64_t c = 0; grad->weights && c < d_v; c++)
            dot += d_out[c] * edge->message[at + c];
        for (int64_t c = 0; grad->message && weight != 0 && c < d_v; c++)
            grad->message[at + c] += weight * d_out[c];
        if (grad->weights)
            grad->weights[a] += dot;
    }
}

const gnn_aggregator_t gnn_aggregator_attention = {
    .name = "attention",
    .paper = "Bahdanau, Cho, Bengio 2015; Vaswani et al. 2017; Velickovic et al. 2018",
    .help = "the sum of messages by weights that a score of query and key, priors and a weigher make",
    .flags = GNN_AGGREGATOR_SCORED,
    .state = one_row,
    .accumulate = attention_accumulate,
    .finish = copy_state,
    .finish_grad = take_gradient,
    .accumulate_grad = attention_accumulate_grad,
};

/* ---- mean. State: count, sum; backward: count, gradient of every message ---- */

static size_t mean_state(const gnn_aggregate_shape_t *shape)
{
    return 1 + (size_t)shape->width;
}

static void mean_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_edge_t *edge)
{
    s[0] += 1;
    gnn__elementwise_kernels()->scale(shape->width, 1, edge->message, true, s + 1);
}

static void mean_finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    for (int64_t c = 0; c < shape->width; c++)
        out[c] = s[0] > 0 ? s[1 + c] / s[0] : 0;
}

static void mean_finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s,
                             const gnn_real_t *out, const gnn_real_t *d_out)
{
    (void)out;
    for (int64_t c = 0; c < shape->width; c++)
        s[1 + c] = s[0] > 0 ? d_out[c] / s[0] : 0;
}

static void mean_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                                 const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    (void)edge;
    if (grad->message)
        gnn__elementwise_kernels()->scale(shape->width, 1, s + 1, true, grad->message);
}

const gnn_aggregator_t gnn_aggregator_mean = {
    .name = "mean",
    .paper = "Hamilton, Ying, Leskovec 2017 (GraphSAGE)",
    .help = "the sum of all messages, divided by their count (edge weights do not change the count)",
    .flags = GNN_AGGREGATOR_LINEAR,
    .state = mean_state,
    .accumulate = mean_accumulate,
    .finish = mean_finish,
    .finish_grad = mean_finish_grad,
    .accumulate_grad = mean_accumulate_grad,
};

/* ---- max, min. State: the extreme of every column, then the count of messages that share it (0:
 * there was none). Ties share the gradient equally; NaN wins and stays, and then no sender gets a
 * gradient ---- */

static size_t extreme_state(const gnn_aggregate_shape_t *shape)
{
    return 2 * (size_t)shape->width;
}

static void max_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *best,
                           const gnn_edge_t *edge)
{
    gnn__pair_kernels()->extreme(shape->width, true, edge->message, best, best + shape->width);
}

static void min_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *best,
                           const gnn_edge_t *edge)
{
    gnn__pair_kernels()->extreme(shape->width, false, edge->message, best, best + shape->width);
}

static void extreme_finish(const gnn_aggregate_shape_t *shape, gnn_real_t *best, gnn_real_t *out)
{
    memcpy(out, best, sizeof *out * (size_t)shape->width);
}

/* The count becomes the gradient of each of the messages that share the extreme. */
static void extreme_finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *best,
                                const gnn_real_t *out, const gnn_real_t *d_out)
{
    (void)out;
    gnn_real_t *ties = best + shape->width;
    for (int64_t c = 0; c < shape->width; c++)
        ties[c] = ties[c] > 0 ? d_out[c] / ties[c] : 0;
}

static void extreme_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *best,
                                    const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    if (grad->message)
        gnn__pair_kernels()->extreme_grad(shape->width, edge->message, best, best + shape->width,
                                          grad->message);
}

const gnn_aggregator_t gnn_aggregator_max = {
    .name = "max",
    .paper = "Hamilton, Ying, Leskovec 2017 (GraphSAGE)",
    .help = "the largest value of every column; ties share the gradient equally",
    .state = extreme_state,
    .accumulate = max_accumulate,
    .finish = extreme_finish,
    .finish_grad = extreme_finish_grad,
    .accumulate_grad = extreme_accumulate_grad,
};

const gnn_aggregator_t gnn_aggregator_min = {
    .name = "min",
    .paper = "Hamilton, Ying, Leskovec 2017 (GraphSAGE)",
    .help = "the smallest value of every column; ties share the gradient equally",
    .state = extreme_state,
    .accumulate = min_accumulate,
    .finish = extreme_finish,
    .finish_grad = extreme_finish_grad,
    .accumulate_grad = extreme_accumulate_grad,
};

/* ---- var, std, by Welford's recurrence. State: count, means, sums of squared differences;
 * backward: a factor in place of the sums, which times (message - mean) is the message's gradient
 * ---- */

static size_t welford_state(const gnn_aggregate_shape_t *shape)
{
    return 1 + 2 * (size_t)shape->width;
}

static void welford_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s,
                               const gnn_edge_t *edge)
{
    gnn_real_t *mean = s + 1;
    s[0] += 1;
    gnn__pair_kernels()->welford(shape->width, s[0], edge->message, mean, mean + shape->width);
}

static void welford_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                                    const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    const gnn_real_t *mean = s + 1, *factor = mean + shape->width;
    if (grad->message)
        gnn__pair_kernels()->welford_grad(shape->width, factor, edge->message, mean, grad->message);
}

static void var_finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    for (int64_t c = 0; c < shape->width; c++)
        out[c] = s[0] > 0 ? s[1 + shape->width + c] / s[0] : 0;
}

/* The factor is 2 d_out / count. */
static void var_finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s,
                            const gnn_real_t *out, const gnn_real_t *d_out)
{
    (void)out;
    for (int64_t c = 0; c < shape->width; c++)
        s[1 + shape->width + c] = s[0] > 0 ? 2 * d_out[c] / s[0] : 0;
}

const gnn_aggregator_t gnn_aggregator_var = {
    .name = "var",
    .paper = "Corso et al. 2020 (PNA)",
    .help = "the population variance of every column",
    .state = welford_state,
    .accumulate = welford_accumulate,
    .finish = var_finish,
    .finish_grad = var_finish_grad,
    .accumulate_grad = welford_accumulate_grad,
};

/* As in PyG, a population variance of at most 1e-5 counts as none: output and gradient are 0. */
static gnn_real_t deviation(gnn_real_t count, gnn_real_t squares)
{
    static const double least = 1e-5;
    const gnn_real_t variance = count > 0 ? squares / count : 0;
    return variance <= (gnn_real_t)least ? 0 : (gnn_real_t)sqrt((double)variance);
}

static void std_finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    for (int64_t c = 0; c < shape->width; c++)
        out[c] = deviation(s[0], s[1 + shape->width + c]);
}

/* The factor is d_out / (count * std). */
static void std_finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s,
                            const gnn_real_t *out, const gnn_real_t *d_out)
{
    (void)out;
    gnn_real_t *squares = s + 1 + shape->width;
    for (int64_t c = 0; c < shape->width; c++) {
        const gnn_real_t std = deviation(s[0], squares[c]);
        squares[c] = std == 0 ? 0 : d_out[c] / (s[0] * std);
    }
}

const gnn_aggregator_t gnn_aggregator_std = {
    .name = "std",
    .paper = "Corso et al. 2020 (PNA)",
    .help = "the population standard deviation of every column; 0 for variances up to 1e-5",
    .state = welford_state,
    .accumulate = welford_accumulate,
    .finish = std_finish,
    .finish_grad = std_finish_grad,
    .accumulate_grad = welford_accumulate_grad,
};

/* ---- softmax_mean: y = sum of w_j m_j, w_j = exp(t m_j) / sum of exp(t m), column by column, with
 * a learned temperature t. State: largest t m; sum of exp(t m - largest); sum of m times that,
 * which becomes y; backward: d_out over the sum ---- */

static size_t softmax_mean_declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    (void)shape;
    pieces[0] = (gnn_piece_t){
        .name = "temperature", .rows = 1, .cols = 1, .init = GNN_INIT_CONSTANT, .init_argument = 1};
    return 1;
}

static size_t softmax_mean_state(const gnn_aggregate_shape_t *shape)
{
    return 4 * (size_t)shape->width;
}

static void softmax_mean_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s,
                                    const gnn_edge_t *edge)
{
    const int64_t width = shape->width;
    gnn__pair_kernels()->soften(width, shape->parameters.data[0], edge->message, s, s + width,
                                s + 2 * width);
}

static void softmax_mean_finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    const gnn_real_t *sum = s + shape->width;
    gnn_real_t *y = s + 2 * shape->width;
    for (int64_t c = 0; c < shape->width; c++)
        out[c] = y[c] = sum[c] != 0 ? y[c] / sum[c] : 0;
}

static void softmax_mean_finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s,
                                     const gnn_real_t *out, const gnn_real_t *d_out)
{
    (void)out;
    const gnn_real_t *sum = s + shape->width;
    gnn_real_t *d_sum = s + 3 * shape->width;
    for (int64_t c = 0; c < shape->width; c++)
        d_sum[c] = sum[c] != 0 ? d_out[c] / sum[c] : 0;
}

static void softmax_mean_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                                         const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    const int64_t width = shape->width;
    const gnn_real_t d_t =
        gnn__pair_kernels()->soften_grad(width, shape->parameters.data[0], edge->message, s,
                                         s + 2 * width, s + 3 * width, grad->message);
    if (grad->parameters.data)
        grad->parameters.data[0] += d_t;
}

const gnn_aggregator_t gnn_aggregator_softmax_mean = {
    .name = "softmax_mean",
    .paper = "Li et al. 2020 (GENConv)",
    .help = "a mean of every column by a softmax of its values, with a learned temperature",
    .declare = softmax_mean_declare,
    .state = softmax_mean_state,
    .accumulate = softmax_mean_accumulate,
    .finish = softmax_mean_finish,
    .finish_grad = softmax_mean_finish_grad,
    .accumulate_grad = softmax_mean_accumulate_grad,
};
