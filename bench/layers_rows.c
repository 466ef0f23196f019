/* The layers, blocks, readouts and norms that bench/layers.c can run, one entry each. */
#include "layers_rows.h"

#include <string.h>

enum { HEAD_WIDTH = WIDTH / HEADS, NARROW = 8, HIDDEN = 2 * WIDTH };

/* ---- steps before some blocks ---- */

/* Layers without weights follow a linear map, as in their papers. */
static bool product(gnn_steps_t *steps)
{
    return gnn_steps_add(
               steps,
               &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "before", .in = WIDTH, .out = WIDTH}) ==
           GNN_OK;
}

static bool narrow_product(gnn_steps_t *steps)
{
    return gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR,
                                              .name = "before",
                                              .in = WIDTH,
                                              .out = NARROW}) == GNN_OK;
}

/* Three GCNs, concatenated. */
static bool three_layers(gnn_steps_t *steps)
{
    return gnn_steps_block(steps, "jumping_knowledge",
                           &(gnn_block_t){.name = "before",
                                          .hops = 3,
                                          .layer = GNN_GCN(.in = WIDTH, .out = WIDTH,
                                                           .activation = GNN_RELU)}) == GNN_OK;
}

/* ---- the table ---- */

#define W .width = WIDTH
#define ON_EDGES .edges = "edges", .edge_width = EDGE_WIDTH
#define LAYER(row, ...)                                                \
    {                                                                  \
        .name = row, .slots = "g", .settings = {.layer = __VA_ARGS__ } \
    }
#define BLOCK(row, graphs, which, ...)                                            \
    {                                                                             \
        .name = row, .slots = graphs, .block = which, .settings = { __VA_ARGS__ } \
    }
/* After a linear map. */
#define BEHIND(row, graphs, which, ...)                                                             \
    {                                                                                               \
        .name = row, .slots = graphs, .block = which, .settings = {__VA_ARGS__}, .prepend = product \
    }
#define STEP(row, graphs, ...)                                                  \
    {                                                                           \
        .name = row, .slots = graphs, .step = {__VA_ARGS__}, .prepend = product \
    }
#define READOUT(row, how)                      \
    STEP(row, "r", .kind = GNN_STEP_AGGREGATE, \
         .layer = {.in = WIDTH, .aggregator = &gnn_aggregator_##how})

static const layers_row_t rows[] = {
    /* one hop */
    LAYER("gcn", GNN_GCN(.in = WIDTH, .out = WIDTH)),
    LAYER("sage_mean", GNN_SAGE(.in = WIDTH, .out = WIDTH)),
    LAYER("sage_max", GNN_SAGE(.in = WIDTH, .out = WIDTH, .aggregator = &gnn_aggregator_max)),
    LAYER("sage_std", GNN_SAGE(.in = WIDTH, .out = WIDTH, .aggregator = &gnn_aggregator_std)),
    LAYER("graph_conv", GNN_SAGE(.in = WIDTH, .out = WIDTH, .aggregator = &gnn_aggregator_sum)),
    LAYER("gin", GNN_GIN(.in = WIDTH, .out = WIDTH)),
    LAYER("gine", GNN_GINE(.in = WIDTH, .out = WIDTH, .edge_dim = EDGE_WIDTH)),
    LAYER("gat", GNN_GAT(.in = WIDTH, .out = HEAD_WIDTH, .heads = HEADS)),
    LAYER("gat_edges",
          GNN_GAT(.in = WIDTH, .out = HEAD_WIDTH, .heads = HEADS, .edge_dim = EDGE_WIDTH)),
    LAYER("gatv2", GNN_GATV2(.in = WIDTH, .out = HEAD_WIDTH, .heads = HEADS)),
    LAYER("transformer_conv", GNN_TRANSFORMER_CONV(.in = WIDTH, .out = HEAD_WIDTH, .heads = HEADS)),
    LAYER("resgated", GNN_RESGATED(.in = WIDTH, .out = WIDTH)),
    LAYER("gated_graph", GNN_GATED_GRAPH(.in = WIDTH, .out = WIDTH)),
    LAYER("graph_transformer", GNN_TRANSFORMER(.in = WIDTH, .heads = HEADS, .feed_forward = HIDDEN,
                                               .bias_project = GNN_OFF, .bias_out = GNN_OFF)),
    /* hops */
    BLOCK("sgc", "g", "sgc", W, .hops = 2),
    BLOCK("ssg", "g", "ssg", W, .hops = 2),
    BEHIND("lg", "g", "lg", W, .hops = 2),
    BLOCK("le", "g", "le", W),
    BEHIND("appnp", "g", "appnp", W, .hops = 10),
    BLOCK("tag", "g", "tag", W, .hops = 3),
    BLOCK("cheb", "g", "cheb", W, .hops = 3),
    BLOCK("arma", "g", "arma", W, .hops = 2, .rows = 2),
    BLOCK("gcn2", "g", "gcn2", W, .memory = "x", .theta = (gnn_real_t)0.4),
    BLOCK("mixhop", "g", "mixhop", W, .hops = 2),
    BLOCK("agnn", "g", "agnn", W),
    BLOCK("gen", "g", "gen", W, .hidden = HIDDEN),
    BLOCK("gen_power", "g", "gen", W, .hidden = HIDDEN, .factor = 1),
    BLOCK("deep_gcn", "g", "deep_gcn", W, .hidden = HIDDEN, .layer = {.norm = GNN_NORM_LAYER}),
    BLOCK("mf", "g", "mf", W, .hops = 10),
    BLOCK("rgcn", "0123", "rgcn", W, .hops = 4, .rows = 2),
    BLOCK("rgcn_blocks", "0123", "rgcn", W, .hops = 4, .heads = 4),
    BLOCK("sage_project", "g", "sage_project", W,
          .layer = GNN_SAGE(.in = WIDTH, .out = WIDTH, .aggregator = &gnn_aggregator_max)),
    /* values on edges */
    BLOCK("edgeconv", "ge", "edgeconv", W, .hidden = WIDTH),
    BLOCK("film", "ge", "film", W),
    BLOCK("cg", "ge", "cg", W, ON_EDGES),
    {.name = "gmm",
     .slots = "ge",
     .block = "gmm",
     .settings = {W, .rows = 3, .edges = "edges", .edge_width = 2},
     .edge_width = 2},
    {.name = "nnconv",
     .slots = "ge",
     .block = "nnconv",
     .settings = {.width = NARROW, .hidden = 2 * NARROW, ON_EDGES},
     .prepend = narrow_product},
    BLOCK("pna", "ge", "pna", W,
          .aggregators = {&gnn_aggregator_mean, &gnn_aggregator_min, &gnn_aggregator_max,
                          &gnn_aggregator_std}),
    /* several layers, all pairs */
    BLOCK("jk_cat", "g", "jumping_knowledge", .hops = 3,
          .layer = GNN_GCN(.in = WIDTH, .out = WIDTH, .activation = GNN_RELU)),
    BLOCK("jk_max", "g", "jumping_knowledge", .hops = 3, .maximum = GNN_ON,
          .layer = GNN_GCN(.in = WIDTH, .out = WIDTH, .activation = GNN_RELU)),
    {.name = "jk_lstm",
     .slots = "g",
     .block = "jumping_lstm",
     .settings = {W, .hops = 3},
     .prepend = three_layers},
    BLOCK("gps", "gc", "gps", .heads = 4,
          .layer = GNN_GIN(.in = WIDTH, .out = WIDTH, .norm = GNN_NORM_BATCH)),
    BLOCK("sgformer", "c", "sgformer", W, .heads = 4),
    /* one row per segment */
    READOUT("readout_sum", sum),
    READOUT("readout_mean", mean),
    READOUT("readout_max", max),
    READOUT("readout_std", std),
    READOUT("readout_softmax", softmax_mean),
    STEP("readout_median", "r", .kind = GNN_STEP_OP, .op = &gnn_op_median),
    BEHIND("readout_power", "r", "power_mean", W, .factor = 1),
    BLOCK("readout_attentional", "r", "attentional", W),
    BLOCK("readout_set2set", "r", "set2set", W, .hops = 3),
    BLOCK("readout_lstm", "r", "lstm_readout", W),
    BLOCK("readout_set_transformer", "csa", "set_transformer", W, .heads = 4, .rows = 1),
    /* norms */
    STEP("norm_layer", "g", .kind = GNN_STEP_NORM, .norm = GNN_NORM_LAYER, .in = WIDTH),
    STEP("norm_batch", "g", .kind = GNN_STEP_NORM, .norm = GNN_NORM_BATCH, .in = WIDTH),
    STEP("norm_pair", "g", .kind = GNN_STEP_OP, .op = &gnn_op_pair_norm, .options = {1, 0}),
    BEHIND("norm_graph", "r", "graph_norm", W),
    BEHIND("norm_instance", "r", "instance_norm", W),
};

const layers_row_t *layers_row_at(size_t k)
{
    return k < sizeof rows / sizeof *rows ? &rows[k] : NULL;
}

const layers_row_t *layers_row_find(const char *name)
{
    size_t k = 0;
    while (layers_row_at(k) && strcmp(rows[k].name, name) != 0)
        k++;
    return layers_row_at(k);
}

int layers_row_steps(const layers_row_t *row, double log_degree, gnn_steps_t *steps)
{
    gnn_block_t block = row->settings;
    gnn_step_t step = row->step;
    block.name = "layer";
    if (block.aggregators[0])
        block.theta = (gnn_real_t)log_degree;
    if (row->prepend && !row->prepend(steps))
        return GNN_EINVALID;
    if (row->block)
        return gnn_steps_block(steps, row->block, &block);
    if (!row->prepend)
        step = (gnn_step_t){.layer = block.layer,
                            .edge_features = block.layer.edge_dim ? "edges" : NULL};
    return gnn_steps_add(steps, &step);
}
