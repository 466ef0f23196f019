/* Aggregations of the senders of a receiver that need all of them at once: median, quantile,
 * product, the k largest. */
#include <lib/ops/named/named_ops.h>

/* ---- median ---- */

/* Lower median of each column over the senders of a receiver; 0 if it has none. The gradient goes
 * to the sender of the median, the first of equal values. PyG's MedianAggregation. */

static int median_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    GNN_TRY(gnn__op_dense(call, "median", 0, 0, 1));
    GNN_TRY(gnn__op_senders(call, "median", &pairs));
    const int64_t n = gnn__op_options(call)->graph->n_dst;
    gnn__op_output(call, n, call->in[0].cols);
    GNN_TRY(gnn__op_list_bytes(call, pairs, &call->forward_scratch));
    return gnn__op_bytes(call, call->recording ? n : 0, call->in[0].cols, sizeof(int64_t),
                         &call->saved_bytes[0]);
}

static gnn__sender_value_t median(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r,
                                  int64_t c)
{
    gnn__sender_value_t *list = call->scratch;
    const int64_t count = gnn__op_sorted(call, pairs, r, c, false, list);
    return count == 0 ? (gnn__sender_value_t){0, -1} : list[(count - 1) / 2];
}

static int median_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "median");
    const gnn_tensor_t *y = &call->out[0].value;
    int64_t *senders = call->recording ? call->saved[0] : NULL;
    for (int64_t i = 0; i < y->rows; i++)
        memset(gnn__row(y, i), 0, sizeof(gnn_real_t) * (size_t)y->cols);
    for (int64_t k = 0; senders && k < y->rows * y->cols; k++)
        senders[k] = -1;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            const int64_t i = gnn__pairs_node(pairs, r);
            const gnn__sender_value_t m = median(call, pairs, r, c);
            gnn__row(y, i)[c] = m.value;
            if (senders)
                senders[i * y->cols + c] = m.sender;
        }
    return GNN_OK;
}

static int median_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t *senders = call->saved[0];
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t i = 0; i < dy->rows; i++)
        for (int64_t c = 0; c < dy->cols; c++)
            if (senders[i * dy->cols + c] >= 0)
                gnn__row(&call->in[0].grad, senders[i * dy->cols + c])[c] += gnn__row(dy, i)[c];
    return GNN_OK;
}

const gnn_op_t gnn_op_median = {.name = "median",
                                GNN__NO_OPTIONS,
                                .shape = median_shape,
                                .forward = median_forward,
                                .backward = median_backward,
                                .flags = GNN_OP_READS_GRAPH};

/* ---- quantile ---- */

/* Quantile of each column over the senders of a receiver; 0 if it has none. Of k sorted values the
 * one at position q (k - 1); between two of them by option 1: 0 linear, 1 lower, 2 higher, 3
 * midpoint, 4 nearest. Option 0: q in [0, 1]. PyG's QuantileAggregation. */

enum { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST, MODES };

/* The two senders (-1: none) and the weight of the second. */
typedef struct {
    int64_t sender[2];
    double weight;
} between_t;

static int quantile_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    const double *options = gnn__op_options(call)->options;
    GNN_TRY(gnn__op_dense(call, "quantile", 0, 0, 1));
    if (!(options[0] >= 0 && options[0] <= 1) || !(options[1] >= 0 && options[1] < MODES))
        return gnn_op_fail(call, GNN_EINVALID,
                           "quantile: expected q in [0, 1] and a rule in 0..4, got %g and %g",
                           options[0], options[1]);
    GNN_TRY(gnn__op_senders(call, "quantile", &pairs));
    const int64_t n = gnn__op_options(call)->graph->n_dst;
    gnn__op_output(call, n, call->in[0].cols);
    GNN_TRY(gnn__op_list_bytes(call, pairs, &call->forward_scratch));
    return gnn__op_bytes(call, call->recording ? n : 0, call->in[0].cols, sizeof(between_t),
                         &call->saved_bytes[0]);
}

/* Weight of the upper of two neighbouring values. */
static double upper_weight(double position, int mode)
{
    const double fraction = position - floor(position);
    switch (mode) {
    case LOWER: return 0;
    case HIGHER: return fraction > 0 ? 1 : 0;
    case MIDPOINT: return fraction > 0 ? 0.5 : 0;
    case NEAREST: return nearbyint(position) - floor(position);
    default: return fraction;
    }
}

static gnn_real_t find(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r, int64_t c,
                       between_t *found)
{
    const double *options = gnn__op_options(call)->options;
    gnn__sender_value_t *list = call->scratch;
    const int64_t count = gnn__op_sorted(call, pairs, r, c, false, list);
    if (count == 0)
        return 0;
    const double position = options[0] * (double)(count - 1);
    const int64_t low = (int64_t)floor(position), high = gnn__min(low + 1, count - 1);
    *found =
        (between_t){{list[low].sender, list[high].sender}, upper_weight(position, (int)options[1])};
    return (gnn_real_t)((1 - found->weight) * (double)list[low].value +
                        found->weight * (double)list[high].value);
}

static int quantile_forward(gnn_op_call_t *call)
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

static int quantile_backward(gnn_op_call_t *call)
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
                gnn__row(dx, b->sender[0])[c] += (gnn_real_t)((1 - b->weight) * d);
                gnn__row(dx, b->sender[1])[c] += (gnn_real_t)(b->weight * d);
            }
        }
    return GNN_OK;
}

static const gnn_option_t quantile_options[] = {
    {"q", 0, 0, 1, "", GNN_OPTION_REAL},
    GNN__CHOICE_OPTION("rule", MODES - 1, "0: linear, 1: lower, 2: higher, 3: midpoint, 4: nearest")};

const gnn_op_t gnn_op_quantile = {.name = "quantile",
                                  GNN__OPTIONS(quantile_options),
                                  .shape = quantile_shape,
                                  .forward = quantile_forward,
                                  .backward = quantile_backward,
                                  .flags = GNN_OP_READS_GRAPH};

/* ---- segment_product ---- */

/* Product of each column over the senders of a receiver; 1 if it has none. The derivative by one
 * sender is the product of the others, computed without division where a factor is 0. PyG's
 * MulAggregation. */

static int segment_product_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    GNN_TRY(gnn__op_dense(call, "segment_product", 0, 0, 1));
    GNN_TRY(gnn__op_senders(call, "segment_product", &pairs));
    gnn__op_output(call, gnn__op_options(call)->graph->n_dst, call->in[0].cols);
    call->in[0].keep = call->in[0].wants_grad;
    GNN_TRY(gnn__op_list_bytes(call, pairs, &call->forward_scratch));
    return gnn__op_list_bytes(call, pairs, &call->backward_scratch);
}

/* Product of `count` values, except the one at `left_out`. */
static double product(const gnn__sender_value_t *list, int64_t count, int64_t left_out)
{
    double y = 1;
    for (int64_t k = 0; k < count; k++)
        if (k != left_out)
            y *= (double)list[k].value;
    return y;
}

static int segment_product_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "segment_product");
    const gnn_tensor_t *y = &call->out[0].value;
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t c = 0; c < y->cols; c++)
            gnn__row(y, i)[c] = 1;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            gnn__sender_value_t *list = call->scratch;
            const int64_t count = gnn__op_sorted(call, pairs, r, c, false, list);
            gnn__row(y, gnn__pairs_node(pairs, r))[c] = (gnn_real_t)product(list, count, -1);
        }
    return GNN_OK;
}

/* Adds the gradients from column c of one receiver: by division if no factor is 0. */
static void column_backward(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r,
                            int64_t c, double dy)
{
    gnn__sender_value_t *list = call->scratch;
    const int64_t count = gnn__op_sorted(call, pairs, r, c, false, list);
    const double y = product(list, count, -1);
    for (int64_t k = 0; k < count; k++) {
        const double others = y != 0 ? y / (double)list[k].value : product(list, count, k);
        gnn__row(&call->in[0].grad, list[k].sender)[c] += (gnn_real_t)(dy * others);
    }
}

static int segment_product_backward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "segment_product");
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < dy->cols; c++)
            column_backward(call, pairs, r, c, (double)gnn__row(dy, gnn__pairs_node(pairs, r))[c]);
    return GNN_OK;
}

const gnn_op_t gnn_op_segment_product = {.name = "segment_product",
                                         GNN__NO_OPTIONS,
                                         .shape = segment_product_shape,
                                         .forward = segment_product_forward,
                                         .backward = segment_product_backward,
                                         .flags = GNN_OP_READS_GRAPH};

/* ---- sort_pool ---- */

/* SortPool, Zhang et al. 2018: the k senders of a receiver with the largest values in the last
 * column, in descending order, or, with option 1, its first k senders in their order (PyG's
 * to_dense_batch); concatenated; 0 where there are fewer. (n_src x d) -> (n_dst x k*d). Option 0:
 * k. */

static int sort_pool_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    int64_t k, cols;
    GNN_TRY(gnn__op_dense(call, "sort_pool", 0, 0, 1));
    GNN_TRY(gnn__op_integer(call, "sort_pool", 0, INT32_MAX, &k));
    GNN_TRY(gnn__op_senders(call, "sort_pool", &pairs));
    const int64_t n = gnn__op_options(call)->graph->n_dst;
    if (!gnn__mul(k, call->in[0].cols, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "sort_pool: the count of columns overflows");
    gnn__op_output(call, n, cols);
    GNN_TRY(gnn__op_list_bytes(call, pairs, &call->forward_scratch));
    return gnn__op_bytes(call, call->recording ? n : 0, k, sizeof(int64_t), &call->saved_bytes[0]);
}

/* The senders of row r in the order in which they are concatenated; returns their count. */
static int64_t in_order(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r,
                        gnn__sender_value_t *list)
{
    if (gnn__op_options(call)->options[1] == 0)
        return gnn__op_sorted(call, pairs, r, call->in[0].cols - 1, true, list);
    const int64_t from = gnn__pairs_from(pairs, r), count = gnn__pairs_to(pairs, r) - from;
    for (int64_t k = 0; k < count; k++)
        list[k].sender = gnn__pairs_col(pairs, from + k);
    return count;
}

static int sort_pool_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "sort_pool");
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t k = x->cols > 0 ? y->cols / x->cols : 0;
    int64_t *senders = call->recording ? call->saved[0] : NULL;
    for (int64_t i = 0; i < y->rows; i++)
        memset(gnn__row(y, i), 0, sizeof(gnn_real_t) * (size_t)y->cols);
    for (int64_t at = 0; senders && at < y->rows * k; at++)
        senders[at] = -1;
    for (int64_t r = 0; k > 0 && r < pairs->n_rows; r++) {
        gnn__sender_value_t *list = call->scratch;
        const int64_t i = gnn__pairs_node(pairs, r), count = in_order(call, pairs, r, list);
        for (int64_t at = 0; at < k && at < count; at++) {
            memcpy(gnn__row(y, i) + at * x->cols, gnn__row(x, list[at].sender),
                   sizeof(gnn_real_t) * (size_t)x->cols);
            if (senders)
                senders[i * k + at] = list[at].sender;
        }
    }
    return GNN_OK;
}

static int sort_pool_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad, *dx = &call->in[0].grad;
    const int64_t *senders = call->saved[0];
    if (!gnn__wants(call, 0) || dx->cols == 0)
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t i = 0; i < dy->rows; i++)
        for (int64_t at = 0; at < dy->cols / dx->cols; at++) {
            const int64_t j = senders[i * (dy->cols / dx->cols) + at];
            if (j >= 0)
                gnn__elementwise_kernels()->scale(dx->cols, 1, gnn__row(dy, i) + at * dx->cols,
                                                  true, gnn__row(dx, j));
        }
    return GNN_OK;
}

static const gnn_option_t sort_pool_options[] = {
    GNN__COUNT_OPTION("k", INT32_MAX, "senders per receiver"),
    GNN__CHOICE_OPTION("ordered", 1, "1: the first k senders in their order")};

const gnn_op_t gnn_op_sort_pool = {.name = "sort_pool",
                                   GNN__OPTIONS(sort_pool_options),
                                   .shape = sort_pool_shape,
                                   .forward = sort_pool_forward,
                                   .backward = sort_pool_backward,
                                   .flags = GNN_OP_READS_GRAPH};

/* ---- top_rows ---- */

/* 1 at the senders of a receiver with the largest scores, 0 elsewhere, in each column by itself:
 * scores (n_src x c), and of which senders it chooses (n_src x 1: those that are not 0; may be
 * absent) -> (n_src x c). Option 0, k: 1 or more is how many of each receiver, below 1 the share of
 * them, rounded up in float32 as PyG's SelectTopK does. Of equal scores the first sender's is
 * chosen. No gradient passes: scores reach the loss by what they scale. Gao and Ji 2019 (Graph
 * U-Nets); with experts as columns Zhou et al. 2022 (expert choice). */

static int top_rows_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    const double k = gnn__op_options(call)->options[0];
    GNN_TRY(gnn__op_dense(call, "top_rows", 0, 1, 1));
    if (!(k > 0) || !(k <= INT32_MAX) || (k >= 1 && k != floor(k)))
        return gnn_op_fail(call, GNN_EINVALID,
                           "top_rows: option 0: expected a share in (0, 1) or an integer, got %g", k);
    GNN_TRY(gnn__op_senders_once(call, "top_rows", &pairs));
    if (call->n_in > 1 && call->in[1].present)
        GNN_TRY(gnn__op_expect(call, "top_rows", 1, call->in[0].rows, 1));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    return gnn__op_list_bytes(call, pairs, &call->forward_scratch);
}

/* Leaves in the list the senders that take part, in their order. */
static int64_t taking_part(const gnn_op_call_t *call, gnn__sender_value_t *list, int64_t count)
{
    int64_t left = 0;
    if (call->n_in < 2 || !call->in[1].present)
        return count;
    for (int64_t k = 0; k < count; k++)
        if (gnn__row(&call->in[1].value, list[k].sender)[0] != 0)
            list[left++] = list[k];
    return left;
}

static int top_rows_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "top_rows");
    const gnn_tensor_t *y = &call->out[0].value;
    const double k = gnn__op_options(call)->options[0];
    gnn__sender_value_t *list = call->scratch;
    for (int64_t j = 0; j < y->rows; j++)
        memset(gnn__row(y, j), 0, sizeof(gnn_real_t) * (size_t)y->cols);
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            const int64_t count =
                taking_part(call, list, gnn__op_sorted(call, pairs, r, c, true, list));
            const int64_t most = k >= 1 ? (int64_t)k : (int64_t)ceilf((float)k * (float)count);
            for (int64_t at = 0; at < count && at < most; at++)
                gnn__row(y, list[at].sender)[c] = 1;
        }
    return GNN_OK;
}

static int top_rows_backward(gnn_op_call_t *call)
{
    for (int k = 0; k < call->n_in; k++)
        gnn__op_begin(call, k);
    return GNN_OK;
}

static const gnn_option_t top_rows_options[] = {
    GNN__REAL_OPTION("k", 0, "a count, or below 1 a share")};

const gnn_op_t gnn_op_top_rows = {.name = "top_rows",
                                  GNN__OPTIONS(top_rows_options),
                                  .shape = top_rows_shape,
                                  .forward = top_rows_forward,
                                  .backward = top_rows_backward,
                                  .flags = GNN_OP_READS_GRAPH};
