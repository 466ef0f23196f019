/* Metrics per class, and the confusion matrix. */
#include <lib/train/train.h>

static int check(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask,
                 int64_t classes, const gnn_tensor_t *confusion)
{
    if (!logits || !labels)
        return gnn__error(GNN_EINVALID, "metrics per class: logits and labels must be given");
    GNN_TRY(gnn__tensor_check(logits, "logits"));
    if (logits->cols < 1)
        return gnn__error(GNN_EINVALID, "metrics per class: logits of no class");
    if (confusion) {
        GNN_TRY(gnn__tensor_check(confusion, "confusion"));
        if (confusion->rows != classes || confusion->cols != classes)
            return gnn__error(
                GNN_ESHAPE, "metrics per class: confusion is %lld x %lld, there are %lld classes",
                (long long)confusion->rows, (long long)confusion->cols, (long long)classes);
    }
    for (int64_t r = 0; r < logits->rows; r++)
        if (gnn__counts(labels, mask, r) && labels[r] >= classes)
            return gnn__error(GNN_EINVALID,
                              "metrics per class: label %d in row %lld, there are %lld classes",
                              (int)labels[r], (long long)r, (long long)classes);
    return GNN_OK;
}

/* Fills support, predicted and hits, and `confusion`. */
static void count(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask,
                  gnn_class_metrics_t *of, const gnn_tensor_t *confusion)
{
    for (int64_t r = 0; confusion && r < confusion->rows; r++)
        memset(gnn__row(confusion, r), 0, sizeof *confusion->data * (size_t)confusion->cols);
    for (int64_t r = 0; r < logits->rows; r++) {
        if (!gnn__counts(labels, mask, r))
            continue;
        int64_t taken = gnn__predicted(logits, r), is = labels[r];
        of[is].support++;
        if (taken < 0)
            continue;
        of[taken].predicted++;
        of[is].hits += taken == is;
        if (confusion)
            gnn__row(confusion, is)[taken] += 1;
    }
}

int gnn_metric_per_class(const gnn_tensor_t *logits, const int32_t *labels, const uint8_t *mask,
                         gnn_class_metrics_t *per_class, const gnn_tensor_t *confusion)
{
    GNN__NEED(logits);
    GNN__NEED(labels);
    int64_t classes = !logits ? 0 : logits->cols == 1 ? 2 : logits->cols;
    gnn_class_metrics_t *of;
    GNN_TRY(check(logits, labels, mask, classes, confusion));
    GNN_TRY(gnn__new(&of, classes, sizeof *of, "counts of classes"));
    count(logits, labels, mask, of, confusion);
    for (int64_t c = 0; per_class && c < classes; c++) {
        gnn_class_metrics_t m = of[c];
        double hits = (double)m.hits, none = m.support + m.predicted == 0 ? NAN : 0;
        m.precision = m.predicted ? hits / (double)m.predicted : none;
        m.recall = m.support ? hits / (double)m.support : none;
        m.f1 = m.support + m.predicted ? 2 * hits / (double)(m.support + m.predicted) : none;
        per_class[c] = m;
    }
    gnn_free(of);
    return GNN_OK;
}
