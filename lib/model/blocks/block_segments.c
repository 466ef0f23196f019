/* Blocks with a value per segment (a graph of a batch): norms over a segment, channel gates,
 * globals. The norms' `graph` goes from nodes to one row per segment. */
#include <lib/model/blocks.h>

/* instance_norm: weight (x - mean) / std + bias, per column. Ulyanov et al. 2016. */

void gnn__block_instance_norm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *weight = gnn__append_constant(steps, b, "weight", b->width, 1);
    x = gnn__append_op(steps, b, "normed", &gnn_op_segment_norm, (const char *[3]){x}, 0, 0);
    x = gnn__append_multiply(steps, b, "weighed", x, weight);
    gnn__append_bias(steps, b, "", x, b->width);
}

/* graph_norm: weight (x - s mean) / std + bias, per column; s is learned. Cai et al. 2021. */

void gnn__block_graph_norm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *share = gnn__append_constant(steps, b, "mean_scale", b->width, 1),
               *weight = gnn__append_constant(steps, b, "weight", b->width, 1);
    x = gnn__append_op(steps, b, "normed", &gnn_op_segment_norm, (const char *[3]){x, share}, 0, 0);
    x = gnn__append_multiply(steps, b, "weighed", x, weight);
    gnn__append_bias(steps, b, "", x, b->width);
}

/* graph_layer_norm: weight (x - mean) / std + bias, over all columns together. factor: eps [1e-5],
 * added to the variance; with theta 1 to the deviation. Ba et al. 2016. */

void gnn__block_graph_layer_norm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *weight = gnn__append_constant(steps, b, "weight", b->width, 1);
    x = gnn__append_op(steps, b, "normed", &gnn_op_segment_layer_norm, (const char *[3]){x},
                       (double)b->factor, (double)b->theta);
    x = gnn__append_multiply(steps, b, "weighed", x, weight);
    gnn__append_bias(steps, b, "", x, b->width);
}

/* message_norm: s |x_i| m_i / |m_i|, m = memory (messages); s is learned. Li et al. 2020
 * (DeeperGCN). */

void gnn__block_message_norm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width and .memory", b->width > 0 && b->memory);
    const char *scale = gnn__append_constant(steps, b, "scale", 1, 1),
               *square = gnn__append_multiply(steps, b, "square", x, x),
               *sum = gnn__append_op(steps, b, "sum", &gnn_op_head_sum, (const char *[3]){square},
                                     1, 0),
               *length =
                   gnn__append_op(steps, b, "length", &gnn_op_power, (const char *[3]){sum}, 0.5, 0),
               *unit = gnn__block_add(steps, b, "unit",
                                      (gnn_step_t){.kind = GNN_STEP_NORM,
                                                   .inputs = {b->memory},
                                                   .in = b->width,
                                                   .norm = GNN_NORM_L2}),
               *as_long = gnn__append_multiply(steps, b, "as_long", unit, length);
    gnn__append_multiply(steps, b, "", as_long, scale);
}

/* squeeze_excite: each channel times a gate, an mlp of its mean over the segment. Hu et al.
 * 2018. */

static gnn_step_t aggregated(const gnn_block_t *b, const char *aggregator, const char *input,
                             int graph)
{
    return (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                        .inputs = {input},
                        .graph = graph,
                        .layer = {.in = b->width, .aggregator = gnn_aggregator_find(aggregator)}};
}

void gnn__block_squeeze_excite(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hidden = b->hidden > 0 ? b->hidden : gnn__max(1, b->width / 4);
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    gnn__block_add(steps, b, "mean", aggregated(b, "mean", x, b->graph));
    gnn__block_add(steps, b, "fc1",
                   (gnn_step_t){.kind = GNN_STEP_LINEAR, .in = b->width, .out = hidden});
    gnn__block_add(steps, b, "relu",
                   (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    gnn__block_add(steps, b, "fc2",
                   (gnn_step_t){.kind = GNN_STEP_LINEAR, .in = hidden, .out = b->width});
    const char *gate = gnn__block_add(
        steps, b, "gate", (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_SIGMOID});
    const char *spread =
        gnn__block_add(steps, b, "spread", aggregated(b, "sum", gate, gnn__block_graph(b, 0)));
    gnn__block_add(steps, b, "", (gnn_step_t){.kind = GNN_STEP_MULTIPLY, .inputs = {x, spread}});
}

/* graph_network: edges, nodes and globals with values: e' = relu(W_e [sender, receiver, e, u]), v'
 * = relu(W_v [v, sum of e', u]), u' = relu(W_u [u, mean e', mean v']). Battaglia et al. 2018,
 * algorithm 1. */

/* Indices of .graphs. */
enum { EDGES_TO_NODES, GLOBALS_TO_NODES, NODES_TO_GLOBALS, EDGES_TO_GLOBALS };

static const char *edge_rows(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                             const char *input, gnn_sides_t side)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_EDGE_ROWS, .inputs = {input}, .side = side, .graph = b->graph});
}

static const char *aggregate(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                             const char *input, const char *aggregator, int slot, int64_t width)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                     .inputs = {input},
                     .graph = gnn__block_graph(b, slot),
                     .layer = {.in = width, .aggregator = gnn_aggregator_find(aggregator)}});
}

/* relu(W [inputs] + b) */
static const char *concat_linear_relu(gnn_steps_t *steps, const gnn_block_t *b,
                                      const char *const parts[3], const char *const in[4],
                                      int64_t width, int64_t out)
{
    gnn__block_add(steps, b, parts[0],
                   (gnn_step_t){.kind = GNN_STEP_CONCAT, .inputs = {in[0], in[1], in[2], in[3]}});
    gnn__block_add(steps, b, parts[1],
                   (gnn_step_t){.kind = GNN_STEP_LINEAR, .in = width, .out = out});
    return gnn__block_add(steps, b, parts[2],
                          (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
}

void gnn__block_graph_network(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t v = b->width, e = b->edge_width, u = b->global_width;
    const char *x = gnn__block_input(steps, b), *whole = b->globals, *edges = b->edges;
    gnn__block_need(steps, b, "edges and .globals", edges && whole);
    gnn__block_need(steps, b, "width, .edge_width and .global_width", v > 0 && e > 0 && u > 0);
    const char *mine = aggregate(steps, b, "own_globals", whole, "sum", GLOBALS_TO_NODES, u),
               *from = edge_rows(steps, b, "senders", x, GNN_SIDE_SENDERS),
               *to = edge_rows(steps, b, "receivers", x, GNN_SIDE_RECEIVERS),
               *over = edge_rows(steps, b, "edge_globals", mine, GNN_SIDE_SENDERS);
    edges = concat_linear_relu(steps, b, (const char *[]){"edge_inputs", "edge_linear", "edges"},
                               (const char *[]){from, to, edges, over}, 2 * v + e + u, e);
    const char *sum = aggregate(steps, b, "heard", edges, "sum", EDGES_TO_NODES, e),
               *nodes = concat_linear_relu(steps, b,
                                           (const char *[]){"node_inputs", "node_linear", "nodes"},
                                           (const char *[]){x, sum, mine, NULL}, v + e + u, v),
               *mean_e = aggregate(steps, b, "edge_mean", edges, "mean", EDGES_TO_GLOBALS, e),
               *mean_v = aggregate(steps, b, "node_mean", nodes, "mean", NODES_TO_GLOBALS, v);
    concat_linear_relu(steps, b, (const char *[]){"global_inputs", "global_linear", ""},
                       (const char *[]){whole, mean_e, mean_v, NULL}, u + e + v, u);
}
