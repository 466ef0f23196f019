/* The prior that is a learned number per head and bucket of distances. */
#include <lib/aggregate/priors/bucket.h>
#include <lib/base/base.h>

static const gnn_option_t options[] = {GNN__BUCKET_OPTIONS};

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "table",
                              .rows = shape->heads,
                              .cols = (int64_t)shape->options[BUCKETS],
                              .init = GNN_INIT_ZEROS};
    return 1;
}

static void strip(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first, int64_t count,
                  gnn_real_t *out)
{
    const gnn_real_t *table = gnn__row(&shape->parameters, head);
    for (int64_t c = 0; c < count; c++)
        out[c] += table[gnn__bucket(shape->options, first + c)];
}

static void strip_grad(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                       int64_t count, const gnn_real_t *d_strip, const gnn_tensor_t *d_parameters)
{
    gnn_real_t *d_table = gnn__row(d_parameters, head);
    for (int64_t c = 0; c < count; c++)
        d_table[gnn__bucket(shape->options, first + c)] += d_strip[c];
}

const gnn_prior_t gnn_prior_table = {
    .name = "table",
    .paper = "Raffel et al. 2020 (T5); Liu et al. 2021 (Swin)",
    .help = "a number per head and bucket of distances (heads x buckets)",
    .flags = GNN_PRIOR_READS_DISTANCE,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .declare = declare,
    .strip = strip,
    .strip_grad = strip_grad,
};
