/* Metrics of multi-label and regression targets. Rows with mask 0 are excluded. */
#include <lib/train/train.h>

static bool fit(const gnn_tensor_t *outputs, const gnn_tensor_t *targets)
{
    return outputs && targets && outputs->rows == targets->rows && outputs->cols == targets->cols;
}

static double micro_f1(const gnn_tensor_t *logits, const gnn_tensor_t *targets, const uint8_t *mask)
{
    int64_t hits = 0, either = 0;
    if (!fit(logits, targets))
        return NAN;
    for (int64_t r = 0; r < logits->rows; r++)
        for (int64_t c = 0; c < logits->cols && gnn__counts(NULL, mask, r); c++) {
            const bool is = gnn__row(targets, r)[c] > (gnn_real_t)0.5,
                       said = gnn__row(logits, r)[c] > 0;
            hits += is && said;
            either += is + said;
        }
    return either ? 2 * (double)hits / (double)either : NAN;
}

/* The mean over all elements of |y - t|, or of its square. */
static double mean_error(const gnn_tensor_t *outputs, const gnn_tensor_t *targets,
                         const uint8_t *mask, bool square)
{
    double sum = 0;
    int64_t counted = 0;
    if (!fit(outputs, targets))
        return NAN;
    for (int64_t r = 0; r < outputs->rows; r++)
        for (int64_t c = 0; c < outputs->cols && gnn__counts(NULL, mask, r); c++, counted++) {
            const double off = (double)gnn__row(outputs, r)[c] - (double)gnn__row(targets, r)[c];
            sum += square ? off * off : fabs(off);
        }
    return counted ? sum / (double)counted : NAN;
}

static double mae(const gnn_tensor_t *outputs, const gnn_tensor_t *targets, const uint8_t *mask)
{
    return mean_error(outputs, targets, mask, false);
}

static double rmse(const gnn_tensor_t *outputs, const gnn_tensor_t *targets, const uint8_t *mask)
{
    return sqrt(mean_error(outputs, targets, mask, true));
}

/* R^2 of one column; false if its targets are constant. */
static bool column_r2(const gnn_tensor_t *outputs, const gnn_tensor_t *targets, const uint8_t *mask,
                      int64_t c, double *value)
{
    double mean = 0, off = 0, spread = 0, counted = 0;
    for (int64_t r = 0; r < targets->rows; r++)
        if (gnn__counts(NULL, mask, r)) {
            mean += (double)gnn__row(targets, r)[c];
            counted++;
        }
    mean /= counted;
    for (int64_t r = 0; r < targets->rows; r++)
        if (gnn__counts(NULL, mask, r)) {
            const double t = (double)gnn__row(targets, r)[c], y = (double)gnn__row(outputs, r)[c];
            off += (y - t) * (y - t);
            spread += (t - mean) * (t - mean);
        }
    *value = 1 - off / spread;
    return spread > 0;
}

static double r2(const gnn_tensor_t *outputs, const gnn_tensor_t *targets, const uint8_t *mask)
{
    double sum = 0;
    int64_t counted = 0;
    if (!fit(outputs, targets))
        return NAN;
    for (int64_t c = 0; c < targets->cols; c++) {
        double r2;
        if (column_r2(outputs, targets, mask, c, &r2)) {
            sum += r2;
            counted++;
        }
    }
    return counted ? sum / (double)counted : NAN;
}

/* AUC of one column: the fraction of correctly ordered pairs of a row with the label and one
 * without; ties count half. NaN without both kinds. */
static double column_auc(const gnn_tensor_t *logits, const gnn_tensor_t *targets,
                         const uint8_t *mask, int64_t c, double *sort)
{
    int64_t negatives = 0, positives = 0;
    double sum = 0;
    for (int64_t r = 0; r < logits->rows; r++) {
        if (!gnn__counts(NULL, mask, r))
            continue;
        if (isnan(gnn__row(logits, r)[c]))
            return NAN;
        if (gnn__row(targets, r)[c] > (gnn_real_t)0.5)
            positives++;
        else
            sort[negatives++] = (double)gnn__row(logits, r)[c];
    }
    if (negatives == 0 || positives == 0)
        return NAN;
    gnn__sort_numbers(sort, negatives);
    for (int64_t r = 0; r < logits->rows; r++)
        if (gnn__counts(NULL, mask, r) && gnn__row(targets, r)[c] > (gnn_real_t)0.5)
            sum += gnn__rank_of(sort, negatives, (double)gnn__row(logits, r)[c]);
    return sum / ((double)negatives * (double)positives);
}

double gnn__mean_auc(const gnn_tensor_t *logits, const gnn_tensor_t *targets, const uint8_t *mask,
                     double *sort)
{
    double sum = 0;
    int64_t counted = 0;
    for (int64_t c = 0; c < logits->cols; c++) {
        const double auc = column_auc(logits, targets, mask, c, sort);
        if (isnan(auc))
            continue;
        sum += auc;
        counted++;
    }
    return counted ? sum / (double)counted : NAN;
}

static double mean_auc(const gnn_tensor_t *logits, const gnn_tensor_t *targets, const uint8_t *mask)
{
    double *sort;
    if (!fit(logits, targets) ||
        gnn__new(&sort, logits->rows, sizeof *sort, "scores to sort") != GNN_OK)
        return NAN;
    const double value = gnn__mean_auc(logits, targets, mask, sort);
    gnn_free(sort);
    return value;
}

double gnn_metric_of_targets(gnn_metric_t metric, const gnn_tensor_t *outputs,
                             const gnn_tensor_t *targets, const uint8_t *mask)
{
    GNN__NEED_OR(outputs, NAN);
    GNN__NEED_OR(targets, NAN);
    typedef double (*metric_t)(const gnn_tensor_t *, const gnn_tensor_t *, const uint8_t *);
    static const metric_t of_targets[] = {
        [GNN_METRIC_MICRO_F1] = micro_f1,
        [GNN_METRIC_MEAN_AUC] = mean_auc,
        [GNN_METRIC_MAE] = mae,
        [GNN_METRIC_RMSE] = rmse,
        [GNN_METRIC_R2] = r2,
    };
    if (!gnn__takes_targets(metric)) {
        (void)gnn__error(GNN_EINVALID, "metric %d is not one of targets", (int)metric);
        return NAN;
    }
    return of_targets[metric](outputs, targets, mask);
}
