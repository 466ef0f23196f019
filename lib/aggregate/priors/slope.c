/* The prior of ALiBi: a slope per head times the signed distance. */
#include <lib/aggregate/priors/slope.h>

static void strip(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first, int64_t count,
                  gnn_real_t *out)
{
    const gnn_real_t slope = shape->parameters.data[head];
    for (int64_t c = 0; c < count; c++)
        out[c] += slope * (gnn_real_t)(first + c);
}

static void strip_grad(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                       int64_t count, const gnn_real_t *d_strip, const gnn_tensor_t *d_parameters)
{
    double sum = 0;
    (void)shape;
    for (int64_t c = 0; c < count; c++)
        sum += (double)d_strip[c] * (double)(first + c);
    d_parameters->data[head] += (gnn_real_t)sum;
}

const gnn_prior_t gnn_prior_slope = {
    .name = "slope",
    .paper = "Press, Smith, Lewis 2022 (ALiBi)",
    .help = "a slope per head times the distance, which is negative for senders before the receiver",
    .flags = GNN_PRIOR_READS_DISTANCE,
    .declare = slope_declare,
    .strip = strip,
    .strip_grad = strip_grad,
};
