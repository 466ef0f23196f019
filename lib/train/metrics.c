/* Metrics in double. Rows with mask 0 or label -1 are excluded; a row of NaN has no prediction and
 * is wrong. */
#include <lib/train/train.h>

/* The largest logit's column; one column is the logit of class 1. -1 for a row of NaN. */
int64_t gnn__predicted(const gnn_tensor_t *logits, int64_t r)
{
    const gnn_real_t *row = gnn__row(logits, r);
    if (logits->cols == 1)
        return isnan(row[0]) ? -1 : row[0] > 0;
    int64_t best = -1;
    for (int64_t c = 0; c < logits->cols; c++)
        if (!isnan(row[c]) && (best < 0 || row[c] > row[best]))
            best = c;
    return best;
}

static double accuracy(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask)
{
    int64_t counted = 0, right = 0;
    for (int64_t r = 0; r < logits->rows; r++) {
        if (!gnn__counts(labels, mask, r))
            continue;
        counted++;
        right += gnn__predicted(logits, r) == labels[r];
    }
    return counted ? (double)right / (double)counted : NAN;
}

/* Sums 2 tp / (2 tp + fp + fn) over classes that occur or are predicted; `tally` is (classes x 2):
 * hits, and rows predicted plus rows labelled. */
static double f1_of(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask,
                    int64_t classes, int64_t *tally)
{
    for (int64_t r = 0; r < logits->rows; r++) {
        if (!gnn__counts(labels, mask, r))
            continue;
        int64_t p = gnn__predicted(logits, r);
        if (p >= 0)
            tally[2 * p + 1]++;
        if (labels[r] < classes)
            tally[2 * labels[r] + 1]++;
        if (p == labels[r])
            tally[2 * p]++;
    }
    int64_t counted = 0;
    double sum = 0;
    for (int64_t c = 0; c < classes; c++) {
        if (tally[2 * c + 1] == 0)
            continue;
        counted++;
        sum += 2 * (double)tally[2 * c] / (double)tally[2 * c + 1];
    }
    return counted ? sum / (double)counted : NAN;
}

static double macro_f1(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask)
{
    int64_t small[512] = {0}, *tally = small;
    int64_t classes = logits->cols == 1 ? 2 : logits->cols;
    if (2 * classes > (int64_t)(sizeof small / sizeof *small) &&
        gnn__new(&tally, 2 * classes, sizeof *tally, "counts of macro-F1") != GNN_OK)
        return NAN;
    double f1 = f1_of(logits, labels, mask, classes, tally);
    if (tally != small)
        gnn_free(tally);
    return f1;
}

static void sift_down(double *x, int64_t root, int64_t n)
{
    for (int64_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && x[child + 1] > x[child])
            child++;
        if (x[root] >= x[child])
            return;
        double swap = x[root];
        x[root] = x[child];
        x[child] = swap;
    }
}

/* Heap sort, ascending, in place. */
void gnn__sort_numbers(double *x, int64_t n)
{
    for (int64_t k = n / 2 - 1; k >= 0; k--)
        sift_down(x, k, n);
    for (int64_t end = n - 1; end > 0; end--) {
        double swap = x[0];
        x[0] = x[end];
        x[end] = swap;
        sift_down(x, 0, end);
    }
}

/* Count of the elements below x among n sorted ones; ties count half. */
double gnn__rank_of(const double *sorted, int64_t n, double x)
{
    int64_t below = 0, upto = 0;
    for (int64_t lo = 0, hi = n; lo < hi;) {
        int64_t middle = lo + (hi - lo) / 2;
        if (sorted[middle] < x)
            lo = below = middle + 1;
        else
            hi = middle;
    }
    upto = below;
    for (int64_t lo = below, hi = n; lo < hi;) {
        int64_t middle = lo + (hi - lo) / 2;
        if (sorted[middle] <= x)
            lo = upto = middle + 1;
        else
            hi = middle;
    }
    return 0.5 * ((double)below + (double)upto);
}

double gnn__roc_auc(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask,
                    double *sort)
{
    int64_t negatives = 0, positives = 0;
    if (logits->cols < 1 || logits->cols > 2)
        return NAN;
    for (int64_t r = 0; r < logits->rows; r++) {
        if (!gnn__counts(labels, mask, r))
            continue;
        if (isnan(gnn__score_of(logits, r)))
            return NAN;
        if (labels[r] == 0)
            sort[negatives++] = gnn__score_of(logits, r);
        else
            positives++;
    }
    if (negatives == 0 || positives == 0)
        return NAN;
    gnn__sort_numbers(sort, negatives);
    double sum = 0;
    for (int64_t r = 0; r < logits->rows; r++)
        if (gnn__counts(labels, mask, r) && labels[r] != 0)
            sum += gnn__rank_of(sort, negatives, gnn__score_of(logits, r));
    return sum / ((double)negatives * (double)positives);
}

static double roc_auc(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask)
{
    double *sort = NULL;
    if (gnn__new(&sort, logits->rows, sizeof *sort, "scores to sort") != GNN_OK)
        return NAN;
    double auc = gnn__roc_auc(logits, labels, mask, sort);
    gnn_free(sort);
    return auc;
}

double gnn_metric(gnn_metric_t metric, const gnn_tensor_t *logits, const int32_t *labels,
                  const uint8_t *mask)
{
    GNN__NEED_OR(logits, NAN);
    GNN__NEED_OR(labels, NAN);
    typedef double (*metric_t)(const gnn_tensor_t *, const int32_t *, const uint8_t *);
    static const metric_t of_labels[] = {
        [GNN_METRIC_ACCURACY] = accuracy,
        [GNN_METRIC_MACRO_F1] = macro_f1,
        [GNN_METRIC_ROC_AUC] = roc_auc,
        [GNN_METRIC_AVERAGE_PRECISION] = gnn__metric_average_precision,
    };
    if (!logits || !labels) {
        (void)gnn__error(GNN_EINVALID, "a metric needs logits and labels");
        return NAN;
    }
    if ((size_t)metric >= sizeof of_labels / sizeof *of_labels) {
        (void)gnn__error(GNN_EINVALID, "metric %d is not one of labels", (int)metric);
        return NAN;
    }
    return of_labels[metric](logits, labels, mask);
}
