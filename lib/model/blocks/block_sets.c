/* Attention within and between sets: the blocks of the Set Transformer. Lee et al. 2019. */
#include <lib/model/blocks.h>
#include <math.h>

static const char *mab_linear(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                              const char *what, const char *input)
{
    char part[64];
    snprintf(part, sizeof part, "%s%s", prefix, what);
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {input}, .in = b->width, .out = b->width});
}

static const char *mab_heads(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                             const char *const rows[3], int graph)
{
    char part[64];
    snprintf(part, sizeof part, "%sattention", prefix);
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .query = rows[0],
                                       .key = rows[1],
                                       .inputs = {rows[2]},
                                       .graph = graph,
                                       .layer = {.in = b->width,
                                                 .heads = b->heads,
                                                 .aggregator = &gnn_aggregator_attention,
                                                 .scale = 1 / (gnn_real_t)sqrt((double)b->width)}});
}

/* MAB(x, y): q = x W_q, o = q + heads(q, y W_k, y W_v), o + relu(o W_o); scores by 1 / sqrt(width
 * of all mab_heads), no norms. Steps are named PREFIX.query, ..., and the last one PREFIX without
 * its dot, or NAME for the prefix "". Lee et al. 2019, eq. 6 to 8. */
static const char *mab(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix, const char *x,
                       const char *y, int graph)
{
    char part[64];
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *rows[3] = {mab_linear(steps, b, prefix, "query", x)};
    rows[1] = mab_linear(steps, b, prefix, "key", y);
    rows[2] = mab_linear(steps, b, prefix, "value", y);
    const char *gathered = mab_heads(steps, b, prefix, rows, graph);
    snprintf(part, sizeof part, "%ssum", prefix);
    const char *sum = gnn__block_add(
        steps, b, part, (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {rows[0], gathered}});
    mab_linear(steps, b, prefix, "out", sum);
    snprintf(part, sizeof part, "%srelu", prefix);
    gnn__block_add(steps, b, part, (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    snprintf(part, sizeof part, "%.*s", (int)(strlen(prefix) - (*prefix != 0)), prefix);
    return gnn__block_add(steps, b, part, (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {NULL, sum}});
}

/* Learned rows, repeated for each segment of the graph. */
static const char *learned_rows(gnn_steps_t *steps, const gnn_block_t *b, int graph)
{
    return gnn__block_add(steps, b, "rows",
                          (gnn_step_t){.kind = GNN_STEP_PARAMETER,
                                       .rows = b->rows > 0 ? b->rows : 1,
                                       .out = b->width,
                                       .each_segment = GNN_ON,
                                       .graph = graph});
}

void gnn__block_mab(gnn_steps_t *steps, const gnn_block_t *b)
{
    gnn__block_need(steps, b, "memory", b->memory);
    mab(steps, b, "", gnn__block_input(steps, b), b->memory, b->graph);
}

/* sab: MAB(X, X). Eq. 8. */

void gnn__block_sab(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    mab(steps, b, "", x, x, b->graph);
}

/* isab: H = MAB(I, X) for a few learned rows I, then MAB(X, H): O(n rows) instead of O(n^2). Eq. 9
 * and 10. */

void gnn__block_isab(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b), *rows = learned_rows(steps, b, b->graph),
               *gathered = mab(steps, b, "in.", rows, x, b->graph);
    mab(steps, b, "", x, gathered, gnn__block_graph(b, 0));
}

/* pma: pooling by attention, MAB(learned rows, relu(linear(X))). Eq. 11. */

void gnn__block_pma(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_add(
        steps, b, "linear",
        (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {x}, .in = b->width, .out = b->width});
    x = gnn__block_add(steps, b, "rectified",
                       (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    const char *rows = learned_rows(steps, b, b->graph);
    mab(steps, b, "", rows, x, b->graph);
}

/* set_transformer: pooling as PyG's SetTransformerAggregation: nodes attend to their segment,
 * `rows` learned rows to the nodes, then to one another; concatenated they are the segment's row.
 * Each is attention, a residual, and x + relu(linear(x)), each followed by a layer norm if
 * layer.norm is layer. `graph` is complete within segments, graphs[0] goes from nodes to the
 * learned rows, graphs[1] is complete among these. */

static const char *set_norm(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix, int index,
                            const char *x)
{
    char part[64];
    if (b->layer.norm != GNN_NORM_LAYER)
        return x;
    snprintf(part, sizeof part, "%s.mab.layer_norm%d", prefix, index);
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_NORM, .inputs = {x}, .in = b->width, .norm = GNN_NORM_LAYER});
}

/* PREFIX.mab.WHAT. */
static gnn__part_name_t mab_part(const char *prefix, const char *what)
{
    gnn__part_name_t part;
    snprintf(part.text, sizeof part.text, "%.24s.mab.%.24s", prefix, what);
    return part;
}

/* Attention of x to y. */
static const char *set_attention(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                                 const char *x, const char *y, int graph)
{
    const gnn_layer_config_t heads = {.preset = GNN_PRESET_TRANSFORMER,
                                      .in = b->width,
                                      .heads = b->heads > 0 ? b->heads : 1,
                                      .update = &gnn_update_linear,
                                      .residual = GNN_OFF,
                                      .norm = GNN_NORM_NONE};
    const char *z = gnn__block_add(
        steps, b, mab_part(prefix, "attn").text,
        (gnn_step_t){.inputs = {y}, .receivers = x == y ? NULL : x, .graph = graph, .layer = heads});
    z = gnn__append_add(steps, b, mab_part(prefix, "sum").text, z, x, 1);
    x = set_norm(steps, b, prefix, 1, z);
    z = gnn__append_linear(steps, b, mab_part(prefix, "lin").text, x, b->width, b->width, GNN_ON);
    z = gnn__append_activation(steps, b, mab_part(prefix, "relu").text, z, GNN_RELU);
    z = gnn__append_add(steps, b, mab_part(prefix, "more").text, z, x, 1);
    return set_norm(steps, b, prefix, 2, z);
}

void gnn__block_set_transformer(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    const int64_t rows = b->rows > 0 ? b->rows : 1;
    gnn__block_need(steps, b, "width", b->width > 0);
    gnn__block_need(steps, b, "layer.norm of none or layer",
                    b->layer.norm <= GNN_NORM_NONE || b->layer.norm == GNN_NORM_LAYER);
    x = set_attention(steps, b, "encoders.0", x, x, b->graph);
    x = gnn__append_linear(steps, b, "pma.lin", x, b->width, b->width, GNN_ON);
    x = gnn__append_activation(steps, b, "pma.relu", x, GNN_RELU);
    const char *seeds = gnn__block_add(steps, b, "pma.seed",
                                       (gnn_step_t){.kind = GNN_STEP_PARAMETER,
                                                    .rows = rows,
                                                    .out = b->width,
                                                    .each_segment = GNN_ON,
                                                    .graph = gnn__block_graph(b, 0)});
    x = set_attention(steps, b, "pma", seeds, x, gnn__block_graph(b, 0));
    x = set_attention(steps, b, "decoders.0", x, x, gnn__block_graph(b, 1));
    gnn__append_op(steps, b, "", &gnn_op_fold_rows, (const char *[3]){x}, (double)rows, 0);
}
