/* Losses over the rows that count. Forward computes the gradient as well; backward only scales it.
 *
 * Cross-entropy as torch.nn.functional.cross_entropy, with class weights w, smoothing s and c
 * classes. Row i with label y contributes
 *   (1 - s) w_y (lse - x_y) + s/c sum_k w_k (lse - x_k), divided by the sum of w_y.
 * Binary cross-entropy of logits and squared error: the mean over counted rows and columns. A row
 * weight multiplies a row's loss and its contribution to the divisor. */
#include <lib/base/ranks.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

#include <math.h>

enum { ROWS_AT_ONCE = 32 };

static const gnn_loss_t *settings(const gnn_op_call_t *call)
{
    return call->attributes;
}

static bool counts(const gnn_loss_t *how, int64_t r)
{
    return (!how->mask || how->mask[r]) &&
           (how->kind != GNN_LOSS_CROSS_ENTROPY || how->labels[r] != -1);
}

/* The first row >= r that counts, or `end`. Skips eight rows at once where the mask is 0: few
 * nodes of a graph have labels. */
static int64_t next_row(const gnn_loss_t *how, int64_t r, int64_t end)
{
    static const uint8_t none[8] = {0};
    for (; r < end && !counts(how, r); r++)
        if (how->mask && end - r > 8 && memcmp(how->mask + r, none, sizeof none) == 0)
            r += 7;
    return r;
}

static int check_settings(const gnn_op_call_t *call)
{
    const gnn_loss_t *how = settings(call);
    const gnn_operand_t *x = &call->in[0];
    if (how->kind < GNN_LOSS_CROSS_ENTROPY || how->kind > GNN_LOSS_MEAN_SQUARED)
        return gnn_op_fail(call, GNN_EINVALID, "loss %d, expected a gnn_loss_kind_t", (int)how->kind);
    if (how->classes && how->classes != x->cols)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "the loss expects a column of logits per class, %lld, got %lld",
                           (long long)how->classes, (long long)x->cols);
    if (how->kind == GNN_LOSS_CROSS_ENTROPY) {
        if (!how->labels && x->rows > 0)
            return gnn_op_fail(call, GNN_EINVALID, "cross-entropy needs labels");
        if (x->cols == 1 && x->rows > 0)
            return gnn_op_fail(call, GNN_ESHAPE,
                               "cross-entropy of one column is 0 whatever the logits: expected a "
                               "column per class; one column takes GNN_LOSS_BINARY_CROSS_ENTROPY");
        if (!(how->label_smoothing >= 0 && how->label_smoothing < 1))
            return gnn_op_fail(call, GNN_EINVALID, "label smoothing is in [0, 1), got %g",
                               (double)how->label_smoothing);
        return GNN_OK;
    }
    if (how->label_smoothing != 0 || how->class_weight)
        return gnn_op_fail(call, GNN_EUNSUPPORTED,
                           "label smoothing and class weights belong to cross-entropy");
    if (!how->targets)
        return gnn_op_fail(call, GNN_EINVALID, "this loss needs targets of %lld x %lld",
                           (long long)x->rows, (long long)x->cols);
    if (how->targets->rows != x->rows || how->targets->cols != x->cols)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "the loss expects targets of %lld x %lld, got %lld x %lld",
                           (long long)x->rows, (long long)x->cols, (long long)how->targets->rows,
                           (long long)how->targets->cols);
    return GNN_OK;
}

static int64_t chunks_of(const gnn_op_call_t *call)
{
    return (call->in[0].rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
}

static int loss_shape(gnn_op_call_t *call)
{
    size_t sums, rows = 0;
    GNN_TRY(gnn__op_dense(call, "loss", 0, 0, 1));
    GNN_TRY(check_settings(call));
    gnn__op_output(call, 1, 1);
    GNN_TRY(gnn__op_bytes(call, chunks_of(call), 1, sizeof(double), &sums));
    if (call->recording && call->in[0].wants_grad)
        GNN_TRY(gnn__op_bytes(call, call->in[0].rows, call->in[0].cols, sizeof(gnn_real_t),
                              &call->saved_bytes[0]));
    else
        GNN_TRY(gnn__op_bytes(call, chunks_of(call), call->in[0].cols, sizeof(gnn_real_t), &rows));
    call->forward_scratch = sums + rows;
    return GNN_OK;
}

static double row_weight(const gnn_loss_t *how, int64_t r)
{
    return how->row_weight ? (double)how->row_weight[r] : 1;
}

/* The divisor, of rows from..end - 1: the sum of the labels' weights, or the count of elements. 0
 * if no row counts. */
static int denominator(const gnn_op_call_t *call, int64_t from, int64_t end, double *total)
{
    const gnn_loss_t *how = settings(call);
    const int64_t classes = call->in[0].cols;
    *total = 0;
    for (int64_t r = next_row(how, from, end); r < end; r = next_row(how, r + 1, end)) {
        if (how->kind != GNN_LOSS_CROSS_ENTROPY) {
            *total += row_weight(how, r) * (double)classes;
            continue;
        }
        const int32_t label = how->labels[r];
        if (label < 0 || label >= classes)
            return gnn_op_fail(call, GNN_EINVALID,
                               "row %lld has label %lld, there are %lld classes (columns of logits)",
                               (long long)r, (long long)label, (long long)classes);
        *total += row_weight(how, r) * (how->class_weight ? (double)how->class_weight[label] : 1);
    }
    return GNN_OK;
}

enum { FEW = 64, LANES = 64 / sizeof(gnn_real_t) };

/* g = exp(x - max(x)); returns the sum. Few classes are padded to whole vectors, because remainder
 * loops would cost more than the vector loops. */
static double exps(int64_t c, const gnn_real_t *x, gnn_real_t *max, gnn_real_t *g)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t padded = (c + LANES - 1) / LANES * LANES;
    gnn_real_t row[FEW], e[FEW];
    if (padded > FEW) {
        *max = kernels->max(c, x);
        return kernels->exp_sum(c, x, *max, g);
    }
    memcpy(row, x, (size_t)c * sizeof *x);
    for (int64_t k = c; k < padded; k++)
        row[k] = x[0];
    *max = kernels->max(padded, row);
    for (int64_t k = c; k < padded; k++)
        row[k] = (gnn_real_t)-1e30;
    const double sum = kernels->exp_sum(padded, row, *max, e);
    memcpy(g, e, (size_t)c * sizeof *g);
    return sum;
}

/* Loss of one row; g receives its gradient times `scale`, or serves as scratch for the exps. */
static double cross_entropy(const gnn_loss_t *how, int64_t c, const gnn_real_t *x, int32_t label,
                            gnn_real_t scale, gnn_real_t *g)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_real_t *w = how->class_weight;
    gnn_real_t max;
    const double sum = exps(c, x, &max, g), lse = (double)max + log(sum),
                 spread = (double)how->label_smoothing / (double)c;
    const double own = (1 - (double)how->label_smoothing) * (w ? (double)w[label] : 1);
    double loss = own * (lse - (double)x[label]), weights = 0;
    if (spread > 0)
        for (int64_t k = 0; k < c; k++) {
            loss += spread * (w ? (double)w[k] : 1) * (lse - (double)x[k]);
            weights += w ? (double)w[k] : 1;
        }
    kernels->scale(c, (gnn_real_t)((own + spread * weights) / sum) * scale, g, false, g);
    if (spread > 0)
        for (int64_t k = 0; k < c; k++)
            g[k] -= (gnn_real_t)spread * (w ? w[k] : 1) * scale;
    g[label] -= (gnn_real_t)own * scale;
    return loss;
}

static double row_loss(const gnn_op_call_t *call, int64_t r, gnn_real_t scale, gnn_real_t *g)
{
    const gnn_loss_t *how = settings(call);
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_tensor_t *x = &call->in[0].value;
    if (how->kind == GNN_LOSS_CROSS_ENTROPY)
        return cross_entropy(how, x->cols, gnn__row(x, r), how->labels[r], scale, g);
    if (how->kind == GNN_LOSS_BINARY_CROSS_ENTROPY)
        return kernels->binary_cross_entropy(x->cols, gnn__row(x, r), gnn__row(how->targets, r),
                                             scale, g);
    return kernels->squared(x->cols, gnn__row(x, r), gnn__row(how->targets, r), scale, g);
}

static double chunk_loss(const gnn_op_call_t *call, int64_t chunk, double total,
                         gnn_real_t *gradient, gnn_real_t *spare)
{
    const int64_t c = call->in[0].cols, from = chunk * ROWS_AT_ONCE;
    const int64_t end = gnn__min(from + ROWS_AT_ONCE, call->in[0].rows);
    const gnn_real_t scale = total > 0 ? (gnn_real_t)(1 / total) : 0;
    double sum = 0;
    if (gradient && c > 0)
        memset(gradient + from * c, 0, (size_t)((end - from) * c) * sizeof *gradient);
    for (int64_t r = next_row(settings(call), from, end); total > 0 && r < end;
         r = next_row(settings(call), r + 1, end)) {
        const double weight = row_weight(settings(call), r);
        sum += weight *
               row_loss(call, r, (gnn_real_t)weight * scale, gradient ? gradient + r * c : spare);
    }
    return sum;
}

/* ---- over ranks: sums slice by slice; a slice is a whole count of chunks ---- */

_Static_assert(GNN_SLICE % ROWS_AT_ONCE == 0, "chunks do not cross slices");

/* *total = the sum over all ranks of `values` per chunk of this rank. */
static int sum_chunks(gnn__ranks_t *ranks, const double *values, int64_t chunks, double *total)
{
    enum { OF_A_SLICE = GNN_SLICE / ROWS_AT_ONCE };
    gnn__slice_sums_t sums = gnn__slice_sums(ranks, 1);
    const double *sum;
    for (int64_t k = 0; k < gnn__slices(ranks); k++) {
        double *block;
        GNN_TRY(gnn__slice_sums_next(&sums, &block));
        for (int64_t c = k * OF_A_SLICE; c < gnn__min((k + 1) * OF_A_SLICE, chunks); c++)
            *block += values[c];
        gnn__slice_sums_add(&sums, gnn__first_slice(ranks) + k);
    }
    GNN_TRY(gnn__slice_sums_end(&sums, &sum));
    *total = *sum;
    return GNN_OK;
}

static int denominator_over_ranks(const gnn_op_call_t *call, gnn__ranks_t *ranks, double *sums,
                                  double *total)
{
    const int64_t rows = call->in[0].rows;
    for (int64_t k = 0; k < chunks_of(call); k++)
        GNN_TRY(denominator(call, k * ROWS_AT_ONCE, gnn__min((k + 1) * ROWS_AT_ONCE, rows), &sums[k]));
    return sum_chunks(ranks, sums, chunks_of(call), total);
}

static gnn__over_t over(const gnn_op_call_t *call, int *rc)
{
    (void)call, (void)rc;
    return GNN__OVER_NONE;
}

/* ---- the op ---- */

static int loss_forward(gnn_op_call_t *call)
{
    gnn__ranks_t *ranks = gnn__ranks_of_call(call->context);
    const int64_t chunks = chunks_of(call), c = call->in[0].cols;
    gnn_real_t *gradient = call->recording && call->in[0].wants_grad ? call->saved[0] : NULL;
    double *sums = call->scratch, total, sum = 0;
    gnn_real_t *spare = (gnn_real_t *)(sums + chunks);
    GNN_TRY(ranks ? denominator_over_ranks(call, ranks, sums, &total)
                  : denominator(call, 0, call->in[0].rows, &total));
    const int threads = gnn__op_threads(call, 16 * call->in[0].rows * c);
    /* Round-robin, because the rows of a split are often adjacent. */
    GNN__PARALLEL_FOR_AS (threads, schedule(static, 1), int64_t k = 0; k < chunks; k++)
        sums[k] = chunk_loss(call, k, total, gradient, spare + k * c);
    if (ranks)
        GNN_TRY(sum_chunks(ranks, sums, chunks, &sum));
    else
        for (int64_t k = 0; k < chunks; k++)
            sum += sums[k];
    call->out[0].value.data[0] = total > 0 ? (gnn_real_t)(sum / total) : 0;
    return GNN_OK;
}

static int loss_backward(gnn_op_call_t *call)
{
    if (!gnn__wants(call, 0))
        return GNN_OK;
    const gnn_tensor_t gradient = gnn_tensor(call->saved[0], call->in[0].rows, call->in[0].cols);
    gnn__op_send(call, call->out[0].grad.data[0], &gradient, &call->in[0].grad,
                 call->in[0].accumulate);
    return GNN_OK;
}

static const gnn__op_traits_t traits = {.over = over, .of_nodes = true};
const gnn_op_t gnn__op_loss = {.name = "loss",
                               .shape = loss_shape,
                               .forward = loss_forward,
                               .backward = loss_backward,
                               .traits = &traits};
