/* A quantile of every column over the senders of a receiver; 0 where it has none. Of k values in
 * order it is the one at q (k - 1), between two of them by option 1: 0 linear, 1 the lower, 2 the
 * higher, 3 their mean, 4 the nearer. Option 0: q in 0..1. PyG's QuantileAggregation. */
#include <lib/ops/rows/named_ops.h>

enum { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST, MODES };

/* Two senders (-1: none) and the share of the second. */
typedef struct {
    int64_t sender[2];
    double share;
} between_t;

static int shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    const double *options = gnn__op_options(call)->options;
    GNN_TRY(gnn__op_dense(call, "quantile", 0, 0, 1));
    if (!(options[0] >= 0 && options[0] <= 1) || !(options[1] >= 0 && options[1] < MODES))
        return gnn_op_fail(call, GNN_EINVALID, "quantile %g by rule %g: 0..1 and 0..4 are expected",
                           options[0], options[1]);
    GNN_TRY(gnn__op_senders(call, "quantile", &pairs));
    const int64_t n = gnn__op_options(call)->graph->n_dst;
    gnn__op_output(call, n, call->in[0].cols);
    GNN_TRY(gnn__op_list_bytes(call, pairs, &call->forward_scratch));
    return gnn__op_bytes(call, call->recording ? n : 0, call->in[0].cols, sizeof(between_t),
                         &call->saved_bytes[0]);
}

/* Shares of the second of two neighbours, by the rule. */
static double share_of(double place, int mode)
{
    const double fraction = place - floor(place);
    switch (mode) {
    case LOWER: return 0;
    case HIGHER: return fraction > 0 ? 1 : 0;
    case MIDPOINT: return fraction > 0 ? 0.5 : 0;
    case NEAREST: return nearbyint(place) - floor(place);
    default: return fraction;
    }
}

static gnn_real_t find(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r, int64_t c,
                       between_t *found)
{
    const double *options = gnn__op_options(call)->options;
    gnn__sender_number_t *list = call->scratch;
    const int64_t count = gnn__op_sorted(call, pairs, r, c, false, list);
    if (count == 0)
        return 0;
    const double place = options[0] * (double)(count - 1);
    const int64_t low = (int64_t)floor(place), high = gnn__min(low + 1, count - 1);
    *found = (between_t){{list[low].sender, list[high].sender}, share_of(place, (int)options[1])};
    return (gnn_real_t)((1 - found->share) * (double)list[low].value +
                        found->share * (double)list[high].value);
}

static int forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "quantile");
    const gnn_tensor_t *y = &call->out[0].value;
    between_t *saved = call->recording ? call->saved[0] : NULL;
    for (int64_t i = 0; i < y->rows; i++)
        memset(gnn__row(y, i), 0, sizeof(gnn_real_t) * (size_t)y->cols);
    for (int64_t k = 0; saved && k < y->rows * y->cols; k++)
        saved[k] = (between_t){{-1, -1}, 0};
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            const int64_t i = gnn__pairs_node(pairs, r);
            between_t found = {{-1, -1}, 0};
            gnn__row(y, i)[c] = find(call, pairs, r, c, &found);
            if (saved)
                saved[i * y->cols + c] = found;
        }
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad, *dx = &call->in[0].grad;
    const between_t *saved = call->saved[0];
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t i = 0; i < dy->rows; i++)
        for (int64_t c = 0; c < dy->cols; c++) {
            const between_t *b = &saved[i * dy->cols + c];
            const double d = (double)gnn__row(dy, i)[c];
            if (b->sender[0] >= 0) {
                gnn__row(dx, b->sender[0])[c] += (gnn_real_t)((1 - b->share) * d);
                gnn__row(dx, b->sender[1])[c] += (gnn_real_t)(b->share * d);
            }
        }
    return GNN_OK;
}

const gnn_op_t gnn_op_quantile = {.name = "quantile",
                                  .shape = shape,
                                  .forward = forward,
                                  .backward = backward,
                                  .flags = GNN_OP_READS_GRAPH};
