/* The message W x_j + b, with a learned row b per bucket of distances. */
#include <lib/aggregate/priors/bucket.h>
#include <lib/base/base.h>

enum { SHARED = REACH + 1 };

static const gnn_option_t options[] = {
    GNN__BUCKET_OPTIONS, {"shared", 0, 0, 1, "1: all heads share one row of d_v numbers per bucket"}};

/* Numbers in a row of the table. */
static int64_t width_of(const gnn_aggregate_shape_t *shape)
{
    return shape->options[SHARED] > 0 ? shape->d_v : shape->message_width;
}

static int64_t value_row(const gnn_aggregate_shape_t *shape, int64_t distance)
{
    return gnn__bucket(shape->options, distance);
}

static int64_t value_column(const gnn_aggregate_shape_t *shape, int64_t head)
{
    return shape->options[SHARED] > 0 ? 0 : head * shape->d_v;
}

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "message.distance",
                              .rows = (int64_t)shape->options[BUCKETS],
                              .cols = width_of(shape),
                              .init = GNN_INIT_GLOROT,
                              .fan_in = (int64_t)shape->options[BUCKETS],
                              .fan_out = shape->d_v};
    return 1;
}

static void message(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows, gnn_real_t *m)
{
    const gnn_real_t *added = gnn__row(&shape->parameters, value_row(shape, rows->distance));
    const int64_t width = width_of(shape);
    for (int64_t from = 0; from < shape->message_width; from += width)
        for (int64_t c = 0; c < width; c++)
            m[from + c] = rows->src[from + c] + added[c];
}

static void message_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    const int64_t width = width_of(shape);
    gnn_real_t *d_added =
        grad->parameters.data ? gnn__row(&grad->parameters, value_row(shape, rows->distance)) : NULL;
    for (int64_t c = 0; c < shape->message_width; c++) {
        if (grad->src)
            grad->src[c] += d_message[c];
        if (d_added)
            d_added[c % width] += d_message[c];
    }
}

const gnn_message_t gnn_message_by_distance = {
    .name = "by_distance",
    .paper = "Shaw, Uszkoreit, Vaswani 2018, eq. 3",
    .help = "W x_j + b, a learned row b per bucket of distances",
    .flags = GNN_MESSAGE_READS_DISTANCE,
    .projects = 1,
    .src_parts = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .declare = declare,
    .message = message,
    .message_grad = message_grad,
    .value_row = value_row,
    .value_column = value_column,
};
