/* The messages: what a sender sends to a receiver. One entry after another: forward, backward, the
 * struct. */
#include <lib/aggregate/buckets.h>
#include <lib/aggregate/hints.h>
#include <lib/base/base.h>
#include <lib/kernels/neighbours/neighbours.h>
#include <string.h>

/* ---- none: x_j; linear: W x_j. The layer has made the row: it is the message ---- */

static void sender(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                   gnn_real_t *message)
{
    memcpy(message, rows->src, sizeof *message * (size_t)shape->message_width);
}

static void sender_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                        const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    (void)rows;
    for (int64_t c = 0; grad->src && c < shape->message_width; c++)
        grad->src[c] += d_message[c];
}

const gnn_message_t gnn_message_none = {
    .name = "none",
    .paper = "Hamilton, Ying, Leskovec 2017 (GraphSAGE)",
    .help = "x_j: the sender's features as they are",
    .projects = 0,
    .src_parts = 1,
    .message = sender,
    .message_grad = sender_grad,
};

const gnn_message_t gnn_message_linear = {
    .name = "linear",
    .paper = "Kipf, Welling 2017 (GCN)",
    .help = "W x_j: the sender's features after a linear map",
    .projects = 1,
    .src_parts = 1,
    .message = sender,
    .message_grad = sender_grad,
};

/* ---- linear_edge: W x_j + E e_ij ---- */

static void linear_edge(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                        gnn_real_t *m)
{
    const int64_t width = shape->message_width;
    const gnn_real_t *src = rows->src, *edge = rows->edge;
    for (int64_t c = 0; c < width; c++)
        m[c] = edge ? src[c] + edge[c] : src[c];
}

static void linear_edge_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                             const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    const int64_t width = shape->message_width;
    (void)rows;
    for (int64_t c = 0; grad->src && c < width; c++)
        grad->src[c] += d_message[c];
    for (int64_t c = 0; grad->edge && c < width; c++)
        grad->edge[c] += d_message[c];
}

const gnn_message_t gnn_message_linear_edge = {
    .name = "linear_edge",
    .paper = "Shi et al. 2021 (TransformerConv)",
    .help = "W x_j + E e_ij: sender's and edge's features, each after a linear map",
    .projects = 1,
    .src_parts = 1,
    .edge_parts = 1,
    .message = linear_edge,
    .message_grad = linear_edge_grad,
};

/* ---- relu_sum: relu(x_j + E e_ij) ---- */

static void relu_sum(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                     gnn_real_t *m)
{
    gnn__pair_kernels()->relu_sum(shape->message_width, rows->src, rows->edge, m);
}

static void relu_sum_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                          const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    gnn_real_t *const both[] = {grad->src, grad->edge};
    for (int to = 0; to < 2; to++)
        if (both[to])
            gnn__pair_kernels()->relu_sum_grad(shape->message_width, rows->src, rows->edge,
                                               d_message, both[to]);
}

const gnn_message_t gnn_message_relu_sum = {
    .name = "relu_sum",
    .paper = "Hu et al. 2020 (GINE)",
    .help = "relu(x_j + E e_ij)",
    .projects = 0,
    .src_parts = 1,
    .edge_parts = 1,
    .message = relu_sum,
    .message_grad = relu_sum_grad,
};

/* ---- gate: sigmoid(A x_i + B x_j) * V x_j ---- */

static void gate(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows, gnn_real_t *m)
{
    gnn__pair_kernels()->gate(shape->message_width, rows->dst, rows->src, rows->edge, m);
}

static void gate_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                      const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    gnn__pair_kernels()->gate_grad(shape->message_width, rows->dst, rows->src, rows->edge,
                                   d_message, grad->dst, grad->src, grad->edge);
}

const gnn_message_t gnn_message_gate = {
    .name = "gate",
    .paper = "Bresson, Laurent 2017 (ResGatedGraphConv)",
    .help = "sigmoid(A x_i + B x_j) * V x_j; edge features enter both factors",
    .projects = 1,
    .src_parts = 2,
    .dst_parts = 1,
    .edge_parts = 2,
    .message = gate,
    .message_grad = gate_grad,
};

/* ---- by_distance: W x_j + b, a learned row b per bucket of distances ---- */

enum { SHARED = GNN__BUCKET_REACH + 1 };

static const gnn_option_t by_distance_options[] = {
    GNN__BUCKET_OPTIONS,
    {"shared", 0, 0, 1, "1: all heads share one row of d_v values per bucket", GNN_OPTION_INTEGER}};

/* Columns of the table. */
static int64_t table_cols(const gnn_aggregate_shape_t *shape)
{
    return shape->options[SHARED] > 0 ? shape->d_v : shape->message_width;
}

int64_t gnn__message_distance_row(const gnn_aggregate_shape_t *shape, int64_t distance)
{
    return gnn__bucket(shape->options, distance);
}

int64_t gnn__message_distance_column(const gnn_aggregate_shape_t *shape, int64_t head)
{
    return shape->options[SHARED] > 0 ? 0 : head * shape->d_v;
}

static size_t declare_table(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    const int64_t buckets = (int64_t)shape->options[GNN__BUCKET_COUNT];
    pieces[0] = (gnn_piece_t){.name = "message.distance",
                              .rows = buckets,
                              .cols = table_cols(shape),
                              .init = GNN_INIT_GLOROT,
                              .fan_in = buckets,
                              .fan_out = shape->d_v};
    return 1;
}

static void by_distance(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                        gnn_real_t *m)
{
    const gnn_real_t *added =
        gnn__row(&shape->parameters, gnn__message_distance_row(shape, rows->distance));
    const int64_t width = table_cols(shape);
    for (int64_t from = 0; from < shape->message_width; from += width)
        for (int64_t c = 0; c < width; c++)
            m[from + c] = rows->src[from + c] + added[c];
}

static void by_distance_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                             const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    const int64_t width = table_cols(shape);
    gnn_real_t *d_added = NULL;
    if (grad->parameters.data)
        d_added = gnn__row(&grad->parameters, gnn__message_distance_row(shape, rows->distance));
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
    .options = by_distance_options,
    .n_options = sizeof by_distance_options / sizeof *by_distance_options,
    .declare = declare_table,
    .message = by_distance,
    .message_grad = by_distance_grad,
};
