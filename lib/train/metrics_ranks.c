/* Ranking metrics: average precision, mean reciprocal rank, Hits@k. */
#include <gnn/links.h>
#include <lib/train/train.h>

/* Count of the elements equal to the last one, from `at` down, among n ascending ones. */
static int64_t equal_ones(const double *x, int64_t at, double value)
{
    int64_t count = 0;
    while (at - count > 0 && x[at - count - 1] == value)
        count++;
    return count;
}

/* Scores of both classes, ascending; thresholds are traversed in descending order. */
static double step_sum(const double *negative, int64_t negatives, const double *positive,
                       int64_t positives)
{
    double sum = 0;
    for (int64_t p = positives, n = negatives; p > 0;) {
        const double top =
            n > 0 && negative[n - 1] > positive[p - 1] ? negative[n - 1] : positive[p - 1];
        const int64_t hits = equal_ones(positive, p, top);
        p -= hits;
        n -= equal_ones(negative, n, top);
        const double above = (double)(positives - p);
        sum += (double)hits / (double)positives * above / (above + (double)(negatives - n));
    }
    return sum;
}

double gnn__average_precision(const gnn_tensor_t *logits, const int32_t *labels,
                              const uint8_t *mask, double *sort)
{
    int64_t negatives = 0, positives = 0;
    if (logits->cols < 1 || logits->cols > 2)
        return NAN;
    for (int64_t r = 0; r < logits->rows; r++) {
        if (!gnn__counts(labels, mask, r))
            continue;
        const double score = gnn__score_of(logits, r);
        if (isnan(score))
            return NAN;
        if (labels[r] == 0)
            sort[negatives++] = score;
        else
            sort[logits->rows - ++positives] = score;
    }
    double *positive = sort + logits->rows - positives;
    if (positives == 0)
        return NAN;
    gnn__sort_numbers(sort, negatives);
    gnn__sort_numbers(positive, positives);
    return step_sum(sort, negatives, positive, positives);
}

double gnn__metric_average_precision(const gnn_tensor_t *logits, const int32_t *labels,
                                     const uint8_t *mask)
{
    double *sort = NULL;
    if (!logits || !labels || gnn__new(&sort, logits->rows, sizeof *sort, "scores to sort") != GNN_OK)
        return NAN;
    const double value = gnn__average_precision(logits, labels, mask, sort);
    gnn_free(sort);
    return value;
}

double gnn_metric_mrr(const gnn_tensor_t *links, const gnn_tensor_t *others)
{
    GNN__NEED_OR(links, NAN);
    GNN__NEED_OR(others, NAN);
    double sum = 0;
    if (!links || !others || links->cols != 1 || links->rows != others->rows || links->rows == 0)
        return NAN;
    for (int64_t r = 0; r < links->rows; r++) {
        const double own = (double)gnn__row(links, r)[0];
        double rank = 1;
        if (isnan(own))
            return NAN;
        for (int64_t k = 0; k < others->cols; k++) {
            const double other = (double)gnn__row(others, r)[k];
            if (isnan(other))
                return NAN;
            rank += other > own ? 1 : other == own ? 0.5 : 0;
        }
        sum += 1 / rank;
    }
    return sum / (double)links->rows;
}

/* The k-th largest of a column, or NaN. */
static double kth_largest(const gnn_tensor_t *x, int64_t k)
{
    double *sort, value = NAN;
    if (gnn__new(&sort, x->rows, sizeof *sort, "scores to sort") != GNN_OK)
        return NAN;
    for (int64_t r = 0; r < x->rows; r++)
        if (isnan(sort[r] = (double)gnn__row(x, r)[0]))
            goto done;
    gnn__sort_numbers(sort, x->rows);
    value = sort[x->rows - k];
done:
    gnn_free(sort);
    return value;
}

double gnn_metric_hits(const gnn_tensor_t *links, const gnn_tensor_t *others, int64_t k)
{
    GNN__NEED_OR(links, NAN);
    GNN__NEED_OR(others, NAN);
    int64_t hits = 0;
    if (!links || !others || links->cols != 1 || others->cols != 1 || links->rows == 0 || k < 1)
        return NAN;
    const double least = others->rows < k ? -INFINITY : kth_largest(others, k);
    for (int64_t r = 0; r < links->rows; r++) {
        const double own = (double)gnn__row(links, r)[0];
        if (isnan(own) || isnan(least))
            return NAN;
        hits += own > least || others->rows < k;
    }
    return (double)hits / (double)links->rows;
}
