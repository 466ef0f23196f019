/* Every column normalised over what one receiver hears, as over the nodes of one graph of a batch:
 * y_j = u_j / sqrt(mean of u^2 + eps), u_j = x_j - s mean of x. x (n_src x d), s (1 x d), absent:
 * 1. Option: eps [1e-5]. A sender belongs to one receiver; who belongs to none gets 0. Cai et al.
 * 2021 (GraphNorm); Ulyanov et al. 2016 (instance norm) where s is absent. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
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

/* Of one receiver and column: the mean of x, and 1 / sqrt(mean of u^2 + eps). */
typedef struct {
    int64_t from, to, c;
    double share, mean, s, inverse;
} column_t;

static double number(const gnn_tensor_t *t, const gnn__pairs_t *pairs, int64_t at, int64_t c)
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
        k.mean += number(x, pairs, at, c) * k.share;
    for (int64_t at = k.from; at < k.to; at++) {
        const double u = number(x, pairs, at, c) - k.s * k.mean;
        square += u * u * k.share;
    }
    k.inverse = 1 / sqrt(square + gnn__op_option(call, 0, 1e-5));
    return k;
}

static int forward(gnn_op_call_t *call)
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
                    (gnn_real_t)((number(x, pairs, at, c) - k.s * k.mean) * k.inverse);
        }
    return GNN_OK;
}

/* du = inverse (dy - y mean(y dy)), dx = du - s mean(du), ds = - mean sum(du); returns ds. */
static double column_grad(const gnn_op_call_t *call, const gnn__pairs_t *pairs, const column_t *k)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    double along = 0, sum = 0;
    for (int64_t at = k->from; at < k->to; at++)
        along += (number(x, pairs, at, k->c) - k->s * k->mean) * k->inverse *
                 number(dy, pairs, at, k->c) * k->share;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t at = k->from; at < k->to; at++) {
            const double y = (number(x, pairs, at, k->c) - k->s * k->mean) * k->inverse,
                         du = k->inverse * (number(dy, pairs, at, k->c) - y * along);
            if (pass == 0)
                sum += du;
            else if (gnn__wants(call, 0))
                gnn__row(&call->in[0].grad, gnn__pairs_col(pairs, at))[k->c] +=
                    (gnn_real_t)(du - k->s * sum * k->share);
        }
    return -k->mean * sum;
}

static int backward(gnn_op_call_t *call)
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
        gnn__op_add_numbers(&call->in[1], d_s);
    return GNN_OK;
}

const gnn_op_t gnn_op_segment_norm = {.name = "segment_norm",
                                      .shape = shape,
                                      .forward = forward,
                                      .backward = backward,
                                      .flags = GNN_OP_READS_GRAPH};
