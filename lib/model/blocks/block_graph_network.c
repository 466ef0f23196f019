/* Edges, nodes and globals that all have values: e' = relu(W_e [sender, receiver, e, u]), v' =
 * relu(W_v [v, sum of e', u]), u' = relu(W_u [u, mean e', mean v']). Paper: Battaglia et al. 2018,
 * algorithm 1. */
#include <lib/model/blocks.h>

/* Slots behind .graph. */
enum { EDGES_TO_NODES, GLOBALS_TO_NODES, NODES_TO_GLOBALS, EDGES_TO_GLOBALS };

static const char *ends(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                        const char *input, gnn_sides_t side)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_EDGE_ROWS, .inputs = {input}, .side = side, .graph = b->graph});
}

static const char *gather(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
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
static const char *update(gnn_steps_t *steps, const gnn_block_t *b, const char *const parts[3],
                          const char *const in[4], int64_t width, int64_t out)
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
    const char *mine = gather(steps, b, "own_globals", whole, "sum", GLOBALS_TO_NODES, u),
               *from = ends(steps, b, "senders", x, GNN_SIDE_SENDERS),
               *to = ends(steps, b, "receivers", x, GNN_SIDE_RECEIVERS),
               *over = ends(steps, b, "edge_globals", mine, GNN_SIDE_SENDERS);
    edges = update(steps, b, (const char *[]){"edge_inputs", "edge_linear", "edges"},
                   (const char *[]){from, to, edges, over}, 2 * v + e + u, e);
    const char *sum = gather(steps, b, "heard", edges, "sum", EDGES_TO_NODES, e),
               *nodes = update(steps, b, (const char *[]){"node_inputs", "node_linear", "nodes"},
                               (const char *[]){x, sum, mine, NULL}, v + e + u, v),
               *mean_e = gather(steps, b, "edge_mean", edges, "mean", EDGES_TO_GLOBALS, e),
               *mean_v = gather(steps, b, "node_mean", nodes, "mean", NODES_TO_GLOBALS, v);
    update(steps, b, (const char *[]){"global_inputs", "global_linear", ""},
           (const char *[]){whole, mean_e, mean_v, NULL}, u + e + v, u);
}
