/* The rules of gnn_bucket_t. */
#include <lib/aggregate/priors/bucket.h>
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

int64_t gnn__bucket(const double *options, int64_t distance)
{
    const int64_t n = (int64_t)options[BUCKETS], half = n / 2;
    switch ((gnn_bucket_t)options[RULE]) {
    case GNN_BUCKET_CLIP_CAUSAL: return gnn__max(gnn__min(distance + n - 1, n - 1), 0);
    case GNN_BUCKET_LOG:
        return (distance > 0 ? half : 0) +
               by_logarithm(gnn__max(half, 1), options[REACH], distance < 0 ? -distance : distance);
    case GNN_BUCKET_LOG_CAUSAL: return by_logarithm(n, options[REACH], gnn__max(-distance, 0));
    default: return gnn__max(gnn__min(distance + half, n - 1), 0);
    }
}
