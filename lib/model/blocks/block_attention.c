/* Blocks of attention: Transformer layers, attention next to message passing, and attention whose
 * scores depend on edges or on distances in a graph. */
#include <lib/model/blocks.h>
#include <math.h>

/* decoder_layer: causal self-attention without a feed-forward block, then attention to memory with
 * one. Vaswani et al. 2017. */

void gnn__block_decoder_layer(gnn_steps_t *steps, const gnn_block_t *b)
{
    gnn_layer_config_t alone = b->layer;
    const char *input = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "memory", b->memory);
    alone.update = &gnn_update_linear;
    const char *self = gnn__block_add(
        steps, b, "", (gnn_step_t){.inputs = {input}, .graph = b->graph, .layer = alone});
    gnn__block_add(steps, b, ":cross",
                   (gnn_step_t){.inputs = {b->memory},
                                .receivers = self,
                                .graph = gnn__block_graph(b, 0),
                                .layer = b->layer});
}

/* gps: a layer over the graph's edges plus attention to every node, then an mlp; each with its
 * residual and layer.norm. Rampasek et al. 2022. */

/* layer.norm of a value; the value itself if there is none. */
static const char *gps_norm(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                            const char *input, int64_t width)
{
    const gnn_norm_t kind = b->layer.norm;
    if (kind == GNN_NORM_DEFAULT || kind == GNN_NORM_NONE)
        return input;
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_NORM, .inputs = {input}, .in = width, .norm = kind});
}

/* norm(x + dropout(f)) */
static const char *gps_residual(gnn_steps_t *steps, const gnn_block_t *b, const char *parts[3],
                                const char *x, const char *f, int64_t width)
{
    if (b->dropout > 0)
        f = gnn__block_add(steps, b, parts[0],
                           (gnn_step_t){.kind = GNN_STEP_DROPOUT, .inputs = {f}, .rate = b->dropout});
    f = gnn__block_add(steps, b, parts[1], (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {f, x}});
    return gps_norm(steps, b, parts[2], f, width);
}

static const char *gps_mlp(gnn_steps_t *steps, const gnn_block_t *b, const char *x, int64_t width)
{
    const int64_t hidden = b->hidden > 0 ? b->hidden : 2 * width;
    gnn__block_add(steps, b, "mlp.0",
                   (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {x}, .in = width, .out = hidden});
    gnn__block_add(steps, b, "mlp.relu",
                   (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    if (b->dropout > 0)
        gnn__block_add(steps, b, "mlp.dropout",
                       (gnn_step_t){.kind = GNN_STEP_DROPOUT, .rate = b->dropout});
    return gnn__block_add(steps, b, "mlp.1",
                          (gnn_step_t){.kind = GNN_STEP_LINEAR, .in = hidden, .out = width});
}

void gnn__block_gps(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    const int64_t width = b->width > 0 ? b->width : b->layer.in;
    gnn_layer_config_t local = b->layer;
    const gnn_layer_config_t global = {.preset = GNN_PRESET_TRANSFORMER,
                                       .in = width,
                                       .heads = b->heads,
                                       .update = &gnn_update_linear,
                                       .residual = GNN_OFF,
                                       .norm = GNN_NORM_NONE};
    gnn__block_need(steps, b, "layer.in of 0 or .width", b->layer.in == 0 || b->layer.in == width);
    local.norm = GNN_NORM_NONE;
    local.in = width;
    const char *gathered = gnn__block_add(
        steps, b, "local", (gnn_step_t){.inputs = {x}, .graph = b->graph, .layer = local});
    gathered = gps_residual(steps, b, (const char *[]){"local.dropout", "local.sum", "local.norm"},
                            x, gathered, width);
    const char *all =
        gnn__block_add(steps, b, "attention",
                       (gnn_step_t){.inputs = {x}, .graph = gnn__block_graph(b, 0), .layer = global});
    all = gps_residual(steps, b,
                       (const char *[]){"attention.dropout", "attention.sum", "attention.norm"}, x,
                       all, width);
    const char *both = gnn__block_add(steps, b, "sum",
                                      (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {gathered, all}});
    const bool norms = b->layer.norm > GNN_NORM_NONE;
    gps_residual(steps, b, (const char *[]){"mlp.last", norms ? "mlp.sum" : "", ""}, both,
                 gps_mlp(steps, b, both, width), width);
}

/* agnn: y_i = sum over j of softmax_j(beta cos(x_i, x_j)) x_j with self-loops; beta is learned.
 * Thekumparampil et al. 2018. */

void gnn__block_agnn(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *unit = gnn__block_add(
                   steps, b, "unit",
                   (gnn_step_t){
                       .kind = GNN_STEP_NORM, .inputs = {x}, .in = b->width, .norm = GNN_NORM_L2}),
               *beta = gnn__append_constant(steps, b, "beta", 1, 1),
               *query = gnn__append_multiply(steps, b, "query", unit, beta);
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                .inputs = {x},
                                .query = query,
                                .key = unit,
                                .graph = b->graph,
                                .layer = {.in = b->width,
                                          .aggregator = &gnn_aggregator_attention,
                                          .self_loops = GNN_ON,
                                          .scale = 1}});
}

/* multi_graph: attention whose heads run on different graphs: `hops` groups of heads, at most 8, on
 * the slots `graph`, graph + 1, ...; concatenated, then a product. Xu et al. 2021 (Multi-Graph
 * Transformer). */

enum { MOST_GROUPS = 8 };

/* The columns of one group. */
static const char *group_of(gnn_steps_t *steps, const gnn_block_t *b, const char *rows, int64_t g)
{
    const int64_t cols = b->width / b->hops;
    char part[64];
    const char *dot = strrchr(rows, '.');
    snprintf(part, sizeof part, "%s.%lld", dot ? dot + 1 : rows, (long long)g);
    return gnn__append_columns(steps, b, part, rows, g * cols, cols);
}

void gnn__block_multi_graph(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t d = b->width, groups = b->hops, heads = b->heads > 0 ? b->heads : groups;
    const char *x = gnn__block_input(steps, b), *gathered[MOST_GROUPS] = {NULL};
    gnn__block_need(steps, b, "hops in 1..8, which divide .width and .heads",
                    d > 0 && groups >= 1 && groups <= MOST_GROUPS && d % groups == 0 &&
                        heads % groups == 0);
    const char *q = gnn__append_linear(steps, b, "query", x, d, d, GNN_OFF),
               *k = gnn__append_linear(steps, b, "key", x, d, d, GNN_OFF),
               *v = gnn__append_linear(steps, b, "value", x, d, d, GNN_OFF);
    if (steps->status != GNN_OK)
        return;
    for (int64_t g = 0; g < groups; g++) {
        const char *rows[3] = {group_of(steps, b, q, g), group_of(steps, b, k, g),
                               group_of(steps, b, v, g)};
        gathered[g] =
            gnn__block_add(steps, b, gnn__numbered("heard.", g, "").text,
                           (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                        .query = rows[0],
                                        .key = rows[1],
                                        .inputs = {rows[2]},
                                        .graph = b->graph + (int)g,
                                        .layer = {.in = d / groups,
                                                  .heads = heads / groups,
                                                  .aggregator = &gnn_aggregator_attention}});
    }
    x = gnn__append_concat(steps, b, "heard", gathered);
    gnn__append_alias(steps, b, "", gnn__append_linear(steps, b, "out", x, d, d, GNN_OFF));
}

/* graph_transformer_edges: scores are sums over a head's channels of q_i k_j / sqrt(d) E e_ij, with
 * a softmax over neighbours. NAME.edges = O_e (the products before the sum), NAME = O (the
 * aggregate). `graph`, and graphs[0] from its edges to their receivers. Dwivedi and Bresson 2021,
 * eq. 9-15. */

void gnn__block_graph_transformer_edges(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t d = b->width, heads = b->heads > 0 ? b->heads : 1;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .edges and .edge_width",
                    d > 0 && b->edges && b->edge_width > 0);
    const char *q = gnn__append_linear(steps, b, "query", x, d, d, GNN_OFF),
               *k = gnn__append_linear(steps, b, "key", x, d, d, GNN_OFF),
               *v = gnn__append_linear(steps, b, "value", x, d, d, GNN_OFF),
               *e = gnn__append_linear(steps, b, "edge", b->edges, b->edge_width, d, GNN_OFF);
    q = gnn__append_edge_rows(steps, b, "queries", q, GNN_SIDE_RECEIVERS);
    k = gnn__append_edge_rows(steps, b, "keys", k, GNN_SIDE_SENDERS);
    v = gnn__append_edge_rows(steps, b, "values", v, GNN_SIDE_SENDERS);
    q = gnn__append_multiply(steps, b, "pairs", q, k);
    q = gnn__append_scale(steps, b, "scaled", q, (gnn_real_t)(1 / sqrt((double)d / (double)heads)));
    e = gnn__append_multiply(steps, b, "products", q, e);
    gnn__append_linear(steps, b, "edges", e, d, d, GNN_OFF);
    e = gnn__append_op(steps, b, "scores", &gnn_op_head_sum, (const char *[3]){e}, (double)heads, 0);
    x = gnn__append_edge_softmax(steps, b, "heard", e, v, heads, d);
    gnn__append_alias(steps, b, "", gnn__append_linear(steps, b, "out", x, d, d, GNN_OFF));
}

/* exphormer: one softmax over pairs of several kinds: a graph's edges, an expander's, and those to
 * and from `hops` learned rows, which follow the nodes and are output with them. Keys are
 * multiplied by a learned row of the pair's kind (edges: ids below edge_width). `graph` of all
 * pairs, and graphs[0] from them to their receivers. Shirzad et al. 2023. */

void gnn__block_exphormer(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t d = b->width, heads = b->heads > 0 ? b->heads : 1;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .edges and .edge_width",
                    d > 0 && b->edges && b->edge_width > 0);
    if (b->hops > 0) {
        const char *more = gnn__append_rows(steps, b, "virtual", b->hops, d);
        x = gnn__block_add(steps, b, "rows",
                           (gnn_step_t){.kind = GNN_STEP_STACK, .inputs = {x, more}});
    }
    const char *q = gnn__append_linear(steps, b, "query", x, d, d, GNN_OFF),
               *k = gnn__append_linear(steps, b, "key", x, d, d, GNN_OFF),
               *v = gnn__append_linear(steps, b, "value", x, d, d, GNN_OFF),
               *kind = gnn__block_add(
                   steps, b, "kind",
                   (gnn_step_t){
                       .kind = GNN_STEP_EMBED, .inputs = {b->edges}, .in = b->edge_width, .out = d});
    q = gnn__append_edge_rows(steps, b, "queries", q, GNN_SIDE_RECEIVERS);
    k = gnn__append_edge_rows(steps, b, "keys", k, GNN_SIDE_SENDERS);
    v = gnn__append_edge_rows(steps, b, "values", v, GNN_SIDE_SENDERS);
    k = gnn__append_multiply(steps, b, "kinds", k, kind);
    k = gnn__append_multiply(steps, b, "products", q, k);
    k = gnn__append_op(steps, b, "sums", &gnn_op_head_sum, (const char *[3]){k}, (double)heads, 0);
    k = gnn__append_scale(steps, b, "scores", k, (gnn_real_t)(1 / sqrt((double)d / (double)heads)));
    x = gnn__append_edge_softmax(steps, b, "heard", k, v, heads, d);
    gnn__append_alias(steps, b, "", gnn__append_linear(steps, b, "out", x, d, d, GNN_OFF));
}

/* hop_decay: softmax(s_ij + hops_ij log gamma_h) over all nodes, gamma learned per head. edges:
 * a column of hops on the edges of `graph`, which has all pairs. After Liu et al. 2024
 * (Gradformer). */

void gnn__block_hop_decay(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width and .edges", b->width > 0 && b->edges);
    const char *gamma =
        gnn__append_constant(steps, b, "gamma", b->heads > 0 ? b->heads : 1, (gnn_real_t)0.5);
    gamma = gnn__append_op(steps, b, "rate", &gnn_op_log, (const char *[3]){gamma}, 0, 0);
    gnn__append_biased_attention(steps, b, x,
                                 gnn__append_op(steps, b, "bias", &gnn_op_mix_heads,
                                                (const char *[3]){b->edges, gamma}, 0, 0));
}

/* graphormer: attention to all nodes with a learned bias per count of hops, after a learned row per
 * degree is added. memory: degrees (ids below `rows`); edges: hops on the edges of `graph`, which
 * has all pairs (ids below edge_width). Ying et al. 2021, eq. 5 and 6. */

static const char *embed(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                         const char *ids, int64_t rows, int64_t cols)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_EMBED, .inputs = {ids}, .in = rows, .out = cols});
}

void gnn__block_graphormer(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .memory, .rows, .edges and .edge_width",
                    b->width > 0 && b->memory && b->rows > 0 && b->edges && b->edge_width > 0);
    const char *degree = embed(steps, b, "degree", b->memory, b->rows, b->width),
               *hops = embed(steps, b, "hops", b->edges, b->edge_width, b->heads > 0 ? b->heads : 1);
    gnn__append_biased_attention(steps, b, gnn__append_add(steps, b, "placed", x, degree, 1), hops);
}

/* sgformer: linear attention over all n nodes with the node itself n times: y_i = (v_i + mean over
 * j of (q_i . k_j) v_j) / (1 + mean over j of q_i . k_j), where each head's q and k have length 1;
 * the mean over heads. `graph` is complete. Wu et al. 2023, with the lengths of PyG's
 * SGFormerAttention. */

void gnn__block_sgformer(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t d = b->width, heads = b->heads > 0 ? b->heads : 1;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", d > 0);
    const char *q = gnn__append_linear(steps, b, "q", x, d, d, GNN_OFF),
               *k = gnn__append_linear(steps, b, "k", x, d, d, GNN_OFF),
               *v = gnn__append_linear(steps, b, "v", x, d, d, GNN_OFF),
               *count = gnn__append_op(steps, b, "count", &gnn_op_degree, (const char *[3]){x}, 0, 1),
               *share =
                   gnn__append_op(steps, b, "share", &gnn_op_power, (const char *[3]){count}, -1, 0);
    q = gnn__append_op(steps, b, "queries", &gnn_op_unit_heads, (const char *[3]){q}, (double)heads,
                       0);
    k = gnn__append_op(steps, b, "keys", &gnn_op_unit_heads, (const char *[3]){k}, (double)heads, 0);
    const char *gathered =
                   gnn__block_add(steps, b, "heard",
                                  (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                               .inputs = {v},
                                               .query = q,
                                               .key = k,
                                               .graph = b->graph,
                                               .layer = {.in = d,
                                                         .heads = heads,
                                                         .aggregator = &gnn_aggregator_attention,
                                                         .weigher = &gnn_weigher_linear,
                                                         .scale = 1}}),
               *mean =
                   gnn__append_aggregate(steps, b, "mean_key", k, &gnn_aggregator_mean, b->graph, d);
    gathered = gnn__append_multiply(steps, b, "mean", gathered, share);
    gathered = gnn__append_add(steps, b, "own", gathered, v, 1);
    mean = gnn__append_multiply(steps, b, "products", q, mean);
    mean = gnn__append_op(steps, b, "sums", &gnn_op_head_sum, (const char *[3]){mean},
                          (double)heads, 0);
    mean = gnn__append_op(steps, b, "factors", &gnn_op_power, (const char *[3]){mean}, -1, 1);
    gathered = gnn__block_add(
        steps, b, "heads", (gnn_step_t){.kind = GNN_STEP_SCALE_HEADS, .inputs = {gathered, mean}});
    gathered = gnn__append_op(steps, b, "sum", &gnn_op_fold_heads, (const char *[3]){gathered},
                              (double)heads, 0);
    gnn__append_scale(steps, b, "", gathered, 1 / (gnn_real_t)heads);
}
