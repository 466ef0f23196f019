/* Metrics over the rows of several batches. */
#include <lib/train/train.h>

void gnn__pool_free(gnn__pool_t *pool)
{
    gnn_free(pool->logits);
    gnn_free(pool->labels);
    gnn_free(pool->targets);
    gnn_free(pool->sort);
    *pool = (gnn__pool_t){0};
}

void gnn__pool_reset(gnn__pool_t *pool, gnn_metric_t metric)
{
    pool->rows = pool->hits = 0;
    pool->metric = metric;
}

static int make_room(gnn__pool_t *pool, int64_t rows)
{
    if (rows <= pool->room)
        return GNN_OK;
    int64_t room = rows > 2 * pool->room ? rows : 2 * pool->room, old, wanted;
    if (!gnn__mul(pool->room, pool->cols, &old) || !gnn__mul(room, pool->cols, &wanted))
        return gnn__error(GNN_EOVERFLOW, "%lld rows of %lld logits do not fit", (long long)room,
                          (long long)pool->cols);
    GNN_TRY(gnn__grow(&pool->logits, old, wanted, sizeof *pool->logits,
                      "logits of the validation part"));
    GNN_TRY(gnn__grow(&pool->labels, pool->room, room, sizeof *pool->labels,
                      "labels of the validation part"));
    pool->room = room;
    return GNN_OK;
}

/* Targets are stored in pools with real targets only. */
static int make_target_room(gnn__pool_t *pool)
{
    int64_t old, wanted;
    if (pool->targets_room >= pool->room)
        return GNN_OK;
    if (!gnn__mul(pool->targets_room, pool->cols, &old) || !gnn__mul(pool->room, pool->cols, &wanted))
        return gnn__error(GNN_EOVERFLOW, "%lld rows of %lld targets do not fit",
                          (long long)pool->room, (long long)pool->cols);
    GNN_TRY(gnn__grow(&pool->targets, old, wanted, sizeof *pool->targets,
                      "targets of the validation part"));
    pool->targets_room = pool->room;
    return GNN_OK;
}

int gnn__pool_add(gnn__pool_t *pool, const gnn_tensor_t *logits, const int32_t *labels,
                  const gnn_tensor_t *targets, const uint8_t *mask)
{
    int64_t counted = 0, hits = 0;
    const size_t bytes = sizeof *pool->logits * (size_t)logits->cols;
    for (int64_t r = 0; r < logits->rows; r++)
        if (gnn__counts(labels, mask, r)) {
            counted++;
            hits += labels && gnn__predicted(logits, r) == labels[r];
        }
    if (pool->cols != logits->cols) {
        if (pool->rows > 0)
            return gnn__error(GNN_ESHAPE, "validation batches have %lld and %lld output features",
                              (long long)pool->cols, (long long)logits->cols);
        const gnn_metric_t metric = pool->metric;
        gnn__pool_free(pool);
        pool->metric = metric;
        pool->cols = logits->cols;
    }
    if (pool->metric == GNN_METRIC_ACCURACY) {
        pool->rows += counted;
        pool->hits += hits;
        return GNN_OK;
    }
    GNN_TRY(make_room(pool, pool->rows + counted));
    if (!labels)
        GNN_TRY(make_target_room(pool));
    for (int64_t r = 0; r < logits->rows; r++) {
        if (!gnn__counts(labels, mask, r))
            continue;
        memcpy(pool->logits + pool->rows * pool->cols, gnn__row(logits, r), bytes);
        if (!labels)
            memcpy(pool->targets + pool->rows * pool->cols, gnn__row(targets, r), bytes);
        else
            pool->labels[pool->rows] = labels[r];
        pool->rows++;
    }
    return GNN_OK;
}

/* Blocks of `bytes` bytes per row of all ranks, in order; *array grows to `rows` rows. */
static int gather(gnn__ranks_t *ranks, void *array, size_t bytes, const size_t *counts, int64_t rows)
{
    char *own, *all;
    memcpy(&own, array, sizeof own);
    GNN_TRY(gnn__new(&all, rows, bytes, "outputs of the validation part"));
    const int rc = gnn__ranks_gather(ranks, own, counts, bytes, all);
    if (rc == GNN_OK)
        memcpy(array, &all, sizeof all);
    gnn_free(rc == GNN_OK ? own : all);
    return rc;
}

/* A rank without a batch does not know the columns. */
static int share_cols(gnn__pool_t *pool, gnn__ranks_t *ranks)
{
    int64_t *cols;
    GNN_TRY(gnn__new(&cols, ranks->transport->ranks, sizeof *cols, "columns of ranks"));
    const int rc = gnn__ranks_gather(ranks, &pool->cols, NULL, sizeof pool->cols, cols);
    for (int r = 0; rc == GNN_OK && r < ranks->transport->ranks; r++)
        pool->cols = gnn__max(pool->cols, cols[r]);
    gnn_free(cols);
    return rc;
}

int gnn__pool_gather(gnn__pool_t *pool, gnn__ranks_t *ranks)
{
    size_t *counts;
    int64_t rows = 0;
    int rc;
    if (pool->metric == GNN_METRIC_ACCURACY) {
        GNN_TRY(gnn__ranks_total(ranks, &pool->rows));
        return gnn__ranks_total(ranks, &pool->hits);
    }
    GNN_TRY(share_cols(pool, ranks));
    const size_t row = sizeof *pool->logits * (size_t)pool->cols;
    const bool targets = gnn__takes_targets(pool->metric);
    GNN_TRY(gnn__new(&counts, ranks->transport->ranks, sizeof *counts, "rows of ranks"));
    GNN_CHECK(gnn__ranks_gather(ranks, &pool->rows, NULL, sizeof pool->rows, counts));
    for (int r = 0; r < ranks->transport->ranks; r++)
        rows += (int64_t)counts[r];
    GNN_CHECK(gather(ranks, &pool->logits, row, counts, rows));
    if (targets)
        GNN_CHECK(gather(ranks, &pool->targets, row, counts, rows));
    GNN_CHECK(gather(ranks, &pool->labels, sizeof *pool->labels, counts, rows));
    /* the arrays are as long as the rows now, whatever they were */
    gnn_free(pool->sort);
    pool->sort = NULL;
    pool->sort_room = 0;
    pool->rows = pool->room = rows;
    pool->targets_room = targets ? rows : 0;
done:
    gnn_free(counts);
    return rc;
}

/* Area under a curve of sorted scores. */
static int area(gnn__pool_t *pool, gnn_metric_t metric, const gnn_tensor_t *logits, double *value)
{
    if (pool->sort_room < pool->room) {
        GNN_TRY(gnn__grow(&pool->sort, pool->sort_room, pool->room, sizeof *pool->sort,
                          "scores to sort"));
        pool->sort_room = pool->room;
    }
    if (metric == GNN_METRIC_ROC_AUC)
        *value = gnn__roc_auc(logits, pool->labels, NULL, pool->sort);
    else if (metric == GNN_METRIC_AVERAGE_PRECISION)
        *value = gnn__average_precision(logits, pool->labels, NULL, pool->sort);
    else {
        const gnn_tensor_t targets = gnn_tensor(pool->targets, pool->rows, pool->cols);
        *value = gnn__mean_auc(logits, &targets, NULL, pool->sort);
    }
    return GNN_OK;
}

int gnn__pool_metric(gnn__pool_t *pool, double *value)
{
    const gnn_tensor_t logits = gnn_tensor(pool->logits, pool->rows, pool->cols),
                       targets = gnn_tensor(pool->targets, pool->rows, pool->cols);
    const gnn_metric_t metric = pool->metric;
    *value = NAN;
    if (pool->rows == 0)
        return GNN_OK;
    if (metric == GNN_METRIC_ACCURACY)
        *value = (double)pool->hits / (double)pool->rows;
    else if (metric == GNN_METRIC_MACRO_F1)
        *value = gnn_metric(metric, &logits, pool->labels, NULL);
    else if (gnn__takes_targets(metric) && metric != GNN_METRIC_MEAN_AUC)
        *value = gnn_metric_of_targets(metric, &logits, &targets, NULL);
    else
        return area(pool, metric, &logits, value);
    return GNN_OK;
}
