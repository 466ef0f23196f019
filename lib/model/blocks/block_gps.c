/* A layer over the graph's edges beside attention to every node, then an mlp; each with its
 * residual and the layer's norm. Paper: Rampasek et al. 2022 (GPS). */
#include <lib/model/blocks.h>

/* The norm that the local layer names, on a value; the value itself where it names none. */
static const char *normed(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
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
static const char *residual(gnn_steps_t *steps, const gnn_block_t *b, const char *parts[3],
                            const char *x, const char *f, int64_t width)
{
    if (b->dropout > 0)
        f = gnn__block_add(steps, b, parts[0],
                           (gnn_step_t){.kind = GNN_STEP_DROPOUT, .inputs = {f}, .rate = b->dropout});
    f = gnn__block_add(steps, b, parts[1], (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {f, x}});
    return normed(steps, b, parts[2], f, width);
}

static const char *mlp(gnn_steps_t *steps, const gnn_block_t *b, const char *x, int64_t width)
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
    const gnn_layer_config_t everyone = {.preset = GNN_PRESET_TRANSFORMER,
                                         .in = width,
                                         .heads = b->heads,
                                         .update = &gnn_update_linear,
                                         .residual = GNN_OFF,
                                         .norm = GNN_NORM_NONE};
    local.norm = GNN_NORM_NONE;
    local.in = width;
    const char *heard = gnn__block_add(
        steps, b, "local", (gnn_step_t){.inputs = {x}, .graph = b->graph, .layer = local});
    heard = residual(steps, b, (const char *[]){"local.dropout", "local.sum", "local.norm"}, x,
                     heard, width);
    const char *all = gnn__block_add(
        steps, b, "attention",
        (gnn_step_t){.inputs = {x}, .graph = gnn__block_graph(b, 0), .layer = everyone});
    all = residual(steps, b, (const char *[]){"attention.dropout", "attention.sum", "attention.norm"},
                   x, all, width);
    const char *both =
        gnn__block_add(steps, b, "sum", (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {heard, all}});
    const bool norms = b->layer.norm > GNN_NORM_NONE;
    residual(steps, b, (const char *[]){"mlp.last", norms ? "mlp.sum" : "", ""}, both,
             mlp(steps, b, both, width), width);
}
