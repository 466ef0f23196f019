/* Pooling by attention as PyG puts it together: every node hears its segment, `rows` learned rows
 * hear the nodes, then one another; side by side they are the segment. Each is attention, a
 * residual, and x + relu(linear(x)), with layer norms behind both where layer.norm asks for them.
 * `graph` is complete inside of segments, graphs[0] goes from nodes to the learned rows, graphs[1]
 * is complete among these. Paper: Lee et al. 2019. */
#include <lib/model/blocks/pieces.h>

static const char *normed(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix, int number,
                          const char *x)
{
    char part[64];
    if (b->layer.norm != GNN_NORM_LAYER)
        return x;
    snprintf(part, sizeof part, "%s.mab.layer_norm%d", prefix, number);
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_NORM, .inputs = {x}, .in = b->width, .norm = GNN_NORM_LAYER});
}

/* The step PREFIX.mab.WHAT's name. */
static gnn__part_name_t part_of(const char *prefix, const char *what)
{
    gnn__part_name_t part;
    snprintf(part.text, sizeof part.text, "%.24s.mab.%.24s", prefix, what);
    return part;
}

/* x hears y. */
static const char *attend(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                          const char *x, const char *y, int graph)
{
    const gnn_layer_config_t heads = {.preset = GNN_PRESET_TRANSFORMER,
                                      .in = b->width,
                                      .heads = b->heads > 0 ? b->heads : 1,
                                      .update = &gnn_update_linear,
                                      .residual = GNN_OFF,
                                      .norm = GNN_NORM_NONE};
    const char *z = gnn__block_add(
        steps, b, part_of(prefix, "attn").text,
        (gnn_step_t){.inputs = {y}, .receivers = x == y ? NULL : x, .graph = graph, .layer = heads});
    z = gnn__piece_add(steps, b, part_of(prefix, "sum").text, z, x, 1);
    x = normed(steps, b, prefix, 1, z);
    z = gnn__piece_linear(steps, b, part_of(prefix, "lin").text, x, b->width, b->width, GNN_ON);
    z = gnn__piece_activation(steps, b, part_of(prefix, "relu").text, z, GNN_RELU);
    z = gnn__piece_add(steps, b, part_of(prefix, "more").text, z, x, 1);
    return normed(steps, b, prefix, 2, z);
}

void gnn__block_set_transformer(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    const int64_t rows = b->rows > 0 ? b->rows : 1;
    gnn__block_need(steps, b, "width", b->width > 0);
    x = attend(steps, b, "encoders.0", x, x, b->graph);
    x = gnn__piece_linear(steps, b, "pma.lin", x, b->width, b->width, GNN_ON);
    x = gnn__piece_activation(steps, b, "pma.relu", x, GNN_RELU);
    const char *seeds = gnn__block_add(steps, b, "pma.seed",
                                       (gnn_step_t){.kind = GNN_STEP_PARAMETER,
                                                    .rows = rows,
                                                    .out = b->width,
                                                    .each_segment = GNN_ON,
                                                    .graph = gnn__block_graph(b, 0)});
    x = attend(steps, b, "pma", seeds, x, gnn__block_graph(b, 0));
    x = attend(steps, b, "decoders.0", x, x, gnn__block_graph(b, 1));
    gnn__piece_op(steps, b, "", &gnn_op_fold_rows, (const char *[3]){x}, (double)rows, 0);
}
