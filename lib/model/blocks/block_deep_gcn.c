/* A deep GCN's layer with its residual before the norm: x + conv(dropout(relu(norm(x)))), conv
 * being the block gen of these settings and norm layer.norm [layer]. Paper: Li et al. 2020
 * (DeeperGCN, res+). */
#include <lib/model/blocks/pieces.h>

void gnn__block_deep_gcn(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn_block_t conv = *b;
    char name[160];
    gnn__block_need(steps, b, "width", b->width > 0);
    conv.input = gnn__block_add(
        steps, b, "norm",
        (gnn_step_t){.kind = GNN_STEP_NORM,
                     .inputs = {x},
                     .in = b->width,
                     .norm = b->layer.norm > GNN_NORM_NONE ? b->layer.norm : GNN_NORM_LAYER});
    conv.input = gnn__piece_activation(steps, b, "act", conv.input, GNN_RELU);
    if (b->dropout > 0)
        conv.input = gnn__block_add(
            steps, b, "dropout",
            (gnn_step_t){.kind = GNN_STEP_DROPOUT, .inputs = {conv.input}, .rate = b->dropout});
    snprintf(name, sizeof name, "%s.conv", b->name);
    conv.name = name;
    conv.out = b->width;
    gnn__block_gen(steps, &conv);
    if (steps->status == GNN_OK)
        gnn__piece_add(steps, b, "", steps->list[steps->count - 1].name, x, 1);
}
