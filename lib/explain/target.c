/* The output of a row that is explained: one of several classes, one of several independent
 * labels, or a regression output. */
#include <lib/explain/explain.h>

#include <math.h>

static bool one_column(const gnn_tensor_t *logits, gnn_loss_kind_t loss)
{
    return logits->cols == 1 && loss != GNN_LOSS_MEAN_SQUARED;
}

static int64_t largest(const gnn_tensor_t *logits)
{
    int64_t best = 0;
    for (int64_t c = 1; c < logits->cols; c++)
        if (logits->data[c] > logits->data[best])
            best = c;
    return best;
}

int gnn__target(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t wanted, int64_t *output)
{
    const bool one = one_column(logits, loss);
    const int64_t count = one ? 2 : logits->cols;
    if (wanted < 0 || wanted > count)
        return gnn__error(GNN_EINVALID, "output to explain: expected 1 to %lld, or 0, got %lld",
                          (long long)count, (long long)wanted);
    if (wanted > 0)
        *output = wanted - 1;
    else
        *output = one ? logits->data[0] > 0 : largest(logits);
    return GNN_OK;
}

/* 1 or -1: with one column, the logit of class 0 is negated. */
static double sign(int64_t cols, gnn_loss_kind_t loss, int64_t output)
{
    return cols == 1 && loss != GNN_LOSS_MEAN_SQUARED && output == 0 ? -1 : 1;
}

static int64_t column(int64_t cols, int64_t output)
{
    return cols == 1 ? 0 : output;
}

static double sigmoid(double z)
{
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

static double softmax(const gnn_tensor_t *logits, int64_t output)
{
    const double most = (double)logits->data[largest(logits)];
    double sum = 0;
    for (int64_t c = 0; c < logits->cols; c++)
        sum += exp((double)logits->data[c] - most);
    return exp((double)logits->data[output] - most) / sum;
}

double gnn__target_logit(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t output)
{
    return sign(logits->cols, loss, output) * (double)logits->data[column(logits->cols, output)];
}

double gnn__target_probability(const gnn_tensor_t *logits, gnn_loss_kind_t loss, int64_t output)
{
    const double z = gnn__target_logit(logits, loss, output);
    if (loss == GNN_LOSS_MEAN_SQUARED)
        return z;
    return logits->cols == 1 || loss == GNN_LOSS_BINARY_CROSS_ENTROPY ? sigmoid(z)
                                                                      : softmax(logits, output);
}

void gnn__target_logit_grad(int64_t cols, gnn_loss_kind_t loss, int64_t output, gnn_real_t *d_row)
{
    for (int64_t c = 0; c < cols; c++)
        d_row[c] = 0;
    d_row[column(cols, output)] = (gnn_real_t)sign(cols, loss, output);
}

void gnn__target_loss_grad(const gnn_tensor_t *logits, const gnn_tensor_t *first,
                           gnn_loss_kind_t loss, int64_t output, gnn_real_t *d_row)
{
    const int64_t cols = logits->cols, at = column(cols, output);
    gnn__target_logit_grad(cols, loss, output, d_row);
    if (loss == GNN_LOSS_MEAN_SQUARED) {
        d_row[at] = 2 * (logits->data[at] - first->data[at]);
    } else if (cols == 1 || loss == GNN_LOSS_BINARY_CROSS_ENTROPY) {
        d_row[at] *= (gnn_real_t)(gnn__target_probability(logits, loss, output) - 1);
    } else {
        for (int64_t c = 0; c < cols; c++)
            d_row[c] = (gnn_real_t)(softmax(logits, c) - (c == output));
    }
}

bool gnn__target_predicted(const gnn_tensor_t *logits, const gnn_tensor_t *first,
                           gnn_loss_kind_t loss, int64_t output)
{
    if (one_column(logits, loss))
        return (logits->data[0] > 0) == (output == 1);
    if (loss == GNN_LOSS_BINARY_CROSS_ENTROPY)
        return (logits->data[output] > 0) == (first->data[output] > 0);
    return largest(logits) == output;
}

double gnn__target_divergence(const gnn_tensor_t *q, const gnn_tensor_t *p, gnn_loss_kind_t loss,
                              int64_t output)
{
    const bool two = q->cols == 1 || loss == GNN_LOSS_BINARY_CROSS_ENTROPY;
    double sum = 0;
    for (int64_t c = 0; c < (two ? 2 : q->cols); c++) {
        double a = two ? gnn__target_probability(q, loss, output) : softmax(q, c),
               b = two ? gnn__target_probability(p, loss, output) : softmax(p, c);
        a = two && c == 1 ? 1 - a : a;
        b = two && c == 1 ? 1 - b : b;
        sum += a > 0 ? a * (log(a) - log(b > 0 ? b : 1e-300)) : 0;
    }
    return sum > 0 ? sum : 0;
}
