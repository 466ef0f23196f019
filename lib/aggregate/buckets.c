/* The rules of gnn_bucket_t. */
#include <lib/aggregate/buckets.h>
#include <lib/base/base.h>
#include <math.h>

/* Half of the n rows for the distances 0, 1, ... , the others in steps of equal ratio up to
 * `reach`. */
static int64_t by_logarithm(int64_t n, double reach, int64_t distance)
{
    const int64_t exact = n / 2;
    if (distance < exact || n < 2)
        return gnn__min(distance, n - 1);
    if ((double)distance >= reach)
        return n - 1;
    const double ratio = log((double)distance / (double)exact) / log(reach / (double)exact);
    const double at = (double)exact + ratio * (double)(n - exact);
    return at < (double)(n - 1) ? (int64_t)at : n - 1;
}

/* From the sender: n / 4 exact distances to either side, the others in steps of equal ratio. */
static int64_t by_logarithm_back(int64_t n, double reach, int64_t distance)
{
    const int64_t span = n / 2, middle = span / 2, length = distance < 0 ? -distance : distance;
    int64_t steps = length;
    if (length > middle && middle > 0 && reach - 1 > (double)middle) {
        const double ratio = log((double)length / (double)middle) / log((reach - 1) / (double)middle);
        steps = middle + (int64_t)fmin(ceil(ratio * (double)(middle - 1)), (double)span);
    }
    return span + (distance < 0 ? steps : -steps);
}

static int64_t clip(int64_t row, int64_t n)
{
    return gnn__max(gnn__min(row, n - 1), 0);
}

int64_t gnn__bucket(const double *options, int64_t distance)
{
    const int64_t n = (int64_t)options[GNN__BUCKET_COUNT], half = n / 2;
    switch ((gnn_bucket_t)options[GNN__BUCKET_RULE]) {
    case GNN_BUCKET_CLIP_CAUSAL: return clip(distance + n - 1, n);
    case GNN_BUCKET_LOG:
        return (distance > 0 ? half : 0) + by_logarithm(gnn__max(half, 1), options[GNN__BUCKET_REACH],
                                                        distance < 0 ? -distance : distance);
    case GNN_BUCKET_LOG_CAUSAL:
        return by_logarithm(n, options[GNN__BUCKET_REACH], gnn__max(-distance, 0));
    case GNN_BUCKET_CLIP_BACK: return clip(half - distance, n);
    case GNN_BUCKET_LOG_BACK:
        return clip(by_logarithm_back(n, options[GNN__BUCKET_REACH], distance), n);
    default: return clip(distance + half, n);
    }
}
