/* All numbers that one receiver hears normalised together, as all columns of all nodes of one
 * graph of a batch: u_j = x_j - mean of x, y_j = u_j / sqrt(mean of u^2 + eps), with means over
 * nodes and columns. x (n_src x d). Options: eps [1e-5]; a second one other than 0 adds eps to the
 * root instead [0]. A sender belongs to one receiver; one that belongs to none gets 0. Ba et al.
 * 2016 (layer norm), as LayerNorm(mode="graph") of PyG has it. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    GNN_TRY(gnn__op_dense(call, "segment_layer_norm", 0, 0, 1));
    GNN_TRY(gnn__op_senders_once(call, "segment_layer_norm", &pairs));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[0].wants_grad;
    return GNN_OK;
}

/* Of one receiver: its pairs, one over how many numbers they are, their mean, and what u is
 * multiplied by; outside: eps stands outside of the root, whose value is `root`. */
typedef struct {
    int64_t from, to;
    double share, mean, root, inverse;
    int outside;
} segment_t;

static const gnn_real_t *heard(const gnn_tensor_t *t, const gnn__pairs_t *pairs, int64_t at)
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
            s.mean += (double)heard(x, pairs, at)[c] * s.share;
    for (int64_t at = s.from; at < s.to; at++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double u = (double)heard(x, pairs, at)[c] - s.mean;
            square += u * u * s.share;
        }
    const double eps = gnn__op_option(call, 0, 1e-5);
    s.root = s.outside ? sqrt(square) : sqrt(square + eps);
    s.inverse = 1 / (s.outside ? s.root + eps : s.root);
    return s;
}

static int forward(gnn_op_call_t *call)
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
                    (gnn_real_t)(((double)heard(x, pairs, at)[c] - s.mean) * s.inverse);
    }
    return GNN_OK;
}

/* du = inverse (dy - u mean(u dy) inverse / root), dx = du - mean(du); the mean of u is 0, so the
 * mean of du is inverse times that of dy. A root of 0 has no slope. */
static void segment_grad(const gnn_op_call_t *call, const gnn__pairs_t *pairs, const segment_t *s)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad, *dx = &call->in[0].grad;
    double along = 0, mean = 0;
    for (int64_t at = s->from; at < s->to; at++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double d = (double)heard(dy, pairs, at)[c] * s->share;
            mean += d;
            along += ((double)heard(x, pairs, at)[c] - s->mean) * d;
        }
    along *= s->root > 0 ? s->inverse / s->root : 0;
    for (int64_t at = s->from; at < s->to; at++)
        for (int64_t c = 0; c < x->cols; c++)
            gnn__row(dx, gnn__pairs_col(pairs, at))[c] +=
                (gnn_real_t)(s->inverse * ((double)heard(dy, pairs, at)[c] - mean -
                                           ((double)heard(x, pairs, at)[c] - s->mean) * along));
}

static int backward(gnn_op_call_t *call)
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

const gnn_op_t gnn_op_segment_layer_norm = {.name = "segment_layer_norm",
                                            .shape = shape,
                                            .forward = forward,
                                            .backward = backward,
                                            .flags = GNN_OP_READS_GRAPH};
