/* Norms over the senders of a receiver, such as the nodes of a graph, and over all rows. */
#include <lib/ops/named/named_ops.h>

/* ---- segment_norm ---- */

/* Norm of each column over the senders of one receiver, such as the nodes of one graph of a batch:
 * y_j = u_j / sqrt(mean of u^2 + eps), u_j = x_j - s mean of x. x (n_src x d), s (1 x d; absent:
 * 1). Option: eps [1e-5]. A sender has at most one receiver; without one its row is 0. GraphNorm,
 * Cai et al. 2021; without s instance norm, Ulyanov et al. 2016. */

static int segment_norm_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    GNN_TRY(gnn__op_dense(call, "segment_norm", 0, 1, 1));
    GNN_TRY(gnn__op_senders_once(call, "segment_norm", &pairs));
    if (gnn__has_input(call, 1))
        GNN_TRY(gnn__op_expect(call, "segment_norm", 1, 1, call->in[0].cols));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    for (int k = 0; k < 2; k++)
        if (gnn__has_input(call, k))
            call->in[k].keep = 1;
    return gnn__op_bytes(call, 1, call->in[0].cols, sizeof(double), &call->backward_scratch);
}

/* One receiver and column: mean of x, and inverse = 1 / sqrt(mean of u^2 + eps). */
typedef struct {
    int64_t from, to, c;
    double share, mean, s, inverse;
} column_t;

static double sender_value(const gnn_tensor_t *t, const gnn__pairs_t *pairs, int64_t at, int64_t c)
{
    return (double)gnn__row(t, gnn__pairs_col(pairs, at))[c];
}

static column_t column(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r, int64_t c)
{
    const gnn_tensor_t *x = &call->in[0].value;
    column_t k = {.from = gnn__pairs_from(pairs, r), .to = gnn__pairs_to(pairs, r), .c = c};
    double square = 0;
    k.share = 1 / fmax((double)(k.to - k.from), 1);
    k.s = gnn__has_input(call, 1) ? (double)call->in[1].value.data[c] : 1;
    for (int64_t at = k.from; at < k.to; at++)
        k.mean += sender_value(x, pairs, at, c) * k.share;
    for (int64_t at = k.from; at < k.to; at++) {
        const double u = sender_value(x, pairs, at, c) - k.s * k.mean;
        square += u * u * k.share;
    }
    k.inverse = 1 / sqrt(square + gnn__op_option(call, 0, 1e-5));
    return k;
}

static int segment_norm_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "segment_norm");
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    for (int64_t r = 0; r < y->rows; r++)
        memset(gnn__row(y, r), 0, sizeof(gnn_real_t) * (size_t)y->cols);
    const int threads = gnn__op_threads(call, 6 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t c = 0; c < x->cols; c++)
        for (int64_t r = 0; r < pairs->n_rows; r++) {
            const column_t k = column(call, pairs, r, c);
            for (int64_t at = k.from; at < k.to; at++)
                gnn__row(y, gnn__pairs_col(pairs, at))[c] =
                    (gnn_real_t)((sender_value(x, pairs, at, c) - k.s * k.mean) * k.inverse);
        }
    return GNN_OK;
}

/* du = inverse (dy - y mean(y dy)), dx = du - s mean(du), ds = -mean sum(du); returns ds. */
static double column_grad(const gnn_op_call_t *call, const gnn__pairs_t *pairs, const column_t *k)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    double along = 0, sum = 0;
    for (int64_t at = k->from; at < k->to; at++)
        along += (sender_value(x, pairs, at, k->c) - k->s * k->mean) * k->inverse *
                 sender_value(dy, pairs, at, k->c) * k->share;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t at = k->from; at < k->to; at++) {
            const double y = (sender_value(x, pairs, at, k->c) - k->s * k->mean) * k->inverse,
                         du = k->inverse * (sender_value(dy, pairs, at, k->c) - y * along);
            if (pass == 0)
                sum += du;
            else if (gnn__wants(call, 0))
                gnn__row(&call->in[0].grad, gnn__pairs_col(pairs, at))[k->c] +=
                    (gnn_real_t)(du - k->s * sum * k->share);
        }
    return -k->mean * sum;
}

static int segment_norm_backward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "segment_norm");
    double *d_s = call->scratch;
    const int64_t cols = call->in[0].cols;
    gnn__op_begin(call, 0);
    if (gnn__has_input(call, 1))
        gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 12 * call->in[0].rows * cols);
    GNN__PARALLEL_FOR (threads, int64_t c = 0; c < cols; c++) {
        d_s[c] = 0;
        for (int64_t r = 0; r < pairs->n_rows; r++) {
            const column_t k = column(call, pairs, r, c);
            d_s[c] += column_grad(call, pairs, &k);
        }
    }
    if (gnn__wants(call, 1))
        gnn__op_accumulate(&call->in[1], d_s);
    return GNN_OK;
}

static const gnn_option_t segment_norm_options[] = {GNN__REAL_OPTION("eps", 1e-5, "")};

const gnn_op_t gnn_op_segment_norm = {.name = "segment_norm",
                                      GNN__OPTIONS(segment_norm_options),
                                      .shape = segment_norm_shape,
                                      .forward = segment_norm_forward,
                                      .backward = segment_norm_backward,
                                      .flags = GNN_OP_READS_GRAPH};

/* ---- segment_layer_norm ---- */

/* Layer norm over all columns of all senders of one receiver, as LayerNorm(mode="graph") of PyG:
 * u_j = x_j - mean of x, y_j = u_j / sqrt(mean of u^2 + eps), with means over nodes and columns. x
 * (n_src x d). Options: eps [1e-5]; option 1 other than 0: u / (sqrt(mean of u^2) + eps). A sender
 * has at most one receiver; without one its row is 0. Ba et al. 2016. */

static int segment_layer_norm_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    GNN_TRY(gnn__op_dense(call, "segment_layer_norm", 0, 0, 1));
    GNN_TRY(gnn__op_senders_once(call, "segment_layer_norm", &pairs));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[0].wants_grad;
    return GNN_OK;
}

/* One receiver: its pairs, 1 / the count of their elements, mean, root, and the factor of u;
 * outside: eps is added to the root. */
typedef struct {
    int64_t from, to;
    double share, mean, root, inverse;
    int outside;
} segment_t;

static const gnn_real_t *sender_row(const gnn_tensor_t *t, const gnn__pairs_t *pairs, int64_t at)
{
    return gnn__row(t, gnn__pairs_col(pairs, at));
}

static segment_t segment(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r)
{
    const gnn_tensor_t *x = &call->in[0].value;
    segment_t s = {.from = gnn__pairs_from(pairs, r), .to = gnn__pairs_to(pairs, r)};
    double square = 0;
    s.outside = gnn__op_option(call, 1, 0) != 0;
    s.share = 1 / fmax((double)((s.to - s.from) * x->cols), 1);
    for (int64_t at = s.from; at < s.to; at++)
        for (int64_t c = 0; c < x->cols; c++)
            s.mean += (double)sender_row(x, pairs, at)[c] * s.share;
    for (int64_t at = s.from; at < s.to; at++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double u = (double)sender_row(x, pairs, at)[c] - s.mean;
            square += u * u * s.share;
        }
    const double eps = gnn__op_option(call, 0, 1e-5);
    s.root = s.outside ? sqrt(square) : sqrt(square + eps);
    s.inverse = 1 / (s.outside ? s.root + eps : s.root);
    return s;
}

static int segment_layer_norm_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "segment_layer_norm");
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    for (int64_t r = 0; r < y->rows; r++)
        memset(gnn__row(y, r), 0, sizeof(gnn_real_t) * (size_t)y->cols);
    const int threads = gnn__op_threads(call, 6 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < pairs->n_rows; r++) {
        const segment_t s = segment(call, pairs, r);
        for (int64_t at = s.from; at < s.to; at++)
            for (int64_t c = 0; c < x->cols; c++)
                gnn__row(y, gnn__pairs_col(pairs, at))[c] =
                    (gnn_real_t)(((double)sender_row(x, pairs, at)[c] - s.mean) * s.inverse);
    }
    return GNN_OK;
}

/* du = inverse (dy - u mean(u dy) inverse / root), dx = du - mean(du); as the mean of u is 0, the
 * mean of du is inverse times that of dy. The derivative at a root of 0 is taken as 0. */
static void segment_grad(const gnn_op_call_t *call, const gnn__pairs_t *pairs, const segment_t *s)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad, *dx = &call->in[0].grad;
    double along = 0, mean = 0;
    for (int64_t at = s->from; at < s->to; at++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double d = (double)sender_row(dy, pairs, at)[c] * s->share;
            mean += d;
            along += ((double)sender_row(x, pairs, at)[c] - s->mean) * d;
        }
    along *= s->root > 0 ? s->inverse / s->root : 0;
    for (int64_t at = s->from; at < s->to; at++)
        for (int64_t c = 0; c < x->cols; c++)
            gnn__row(dx, gnn__pairs_col(pairs, at))[c] +=
                (gnn_real_t)(s->inverse * ((double)sender_row(dy, pairs, at)[c] - mean -
                                           ((double)sender_row(x, pairs, at)[c] - s->mean) * along));
}

static int segment_layer_norm_backward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "segment_layer_norm");
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    const int threads = gnn__op_threads(call, 8 * call->in[0].rows * call->in[0].cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < pairs->n_rows; r++) {
        const segment_t s = segment(call, pairs, r);
        segment_grad(call, pairs, &s);
    }
    return GNN_OK;
}

static const gnn_option_t segment_layer_norm_options[] = {
    GNN__REAL_OPTION("eps", 1e-5, ""),
    GNN__CHOICE_OPTION("outside", 1, "1: eps is added to the root")};

const gnn_op_t gnn_op_segment_layer_norm = {.name = "segment_layer_norm",
                                            GNN__OPTIONS(segment_layer_norm_options),
                                            .shape = segment_layer_norm_shape,
                                            .forward = segment_layer_norm_forward,
                                            .backward = segment_layer_norm_backward,
                                            .flags = GNN_OP_READS_GRAPH};

/* ---- pair_norm ---- */

/* PairNorm, Zhao and Akoglu 2020: u = x - mean of rows, y = scale u / sqrt(eps + mean of |u_i|^2).
 * Options: scale [1], eps [1e-5]. */

static int pair_norm_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "pair_norm", 0, 0, 1));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[0].wants_grad;
    GNN_TRY(gnn__op_bytes(call, 1, call->in[0].cols, sizeof(double), &call->forward_scratch));
    return gnn__op_bytes(call, 2, call->in[0].cols, sizeof(double), &call->backward_scratch);
}

/* Column means of t. */
static void means(const gnn_tensor_t *t, double *mean)
{
    memset(mean, 0, sizeof *mean * (size_t)t->cols);
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->cols; c++)
            mean[c] += (double)gnn__row(t, r)[c] / (double)t->rows;
}

/* scale / sqrt(eps + mean of |u_i|^2) */
static double factor(const gnn_op_call_t *call, const double *mean)
{
    const gnn_tensor_t *x = &call->in[0].value;
    double square = 0;
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double u = (double)gnn__row(x, r)[c] - mean[c];
            square += u * u / (double)x->rows;
        }
    return gnn__op_option(call, 0, 1) / sqrt(gnn__op_option(call, 1, 1e-5) + square);
}

static int pair_norm_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    double *mean = call->scratch;
    means(x, mean);
    const double f = factor(call, mean);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            gnn__row(y, r)[c] = (gnn_real_t)(f * ((double)gnn__row(x, r)[c] - mean[c]));
    return GNN_OK;
}

/* du = f (dy - u (sum of u dy) f^2 / (n scale^2)), dx = du - mean of du; the mean of u is 0. */
static int pair_norm_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    double *mean = call->scratch, *d_mean = mean + x->cols, along = 0;
    const double scale = gnn__op_option(call, 0, 1);
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    means(x, mean);
    means(dy, d_mean);
    const double f = factor(call, mean);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            along += ((double)gnn__row(x, r)[c] - mean[c]) * (double)gnn__row(dy, r)[c];
    along *= f * f / (scale * scale * (double)x->rows);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            gnn__row(&call->in[0].grad, r)[c] +=
                (gnn_real_t)(f * ((double)gnn__row(dy, r)[c] - d_mean[c] -
                                  ((double)gnn__row(x, r)[c] - mean[c]) * along));
    return GNN_OK;
}

static const gnn_option_t pair_norm_options[] = {GNN__REAL_OPTION("scale", 1, ""),
                                                 GNN__REAL_OPTION("eps", 1e-5, "")};

const gnn_op_t gnn_op_pair_norm = {.name = "pair_norm",
                                   GNN__OPTIONS(pair_norm_options),
                                   .shape = pair_norm_shape,
                                   .forward = pair_norm_forward,
                                   .backward = pair_norm_backward};
