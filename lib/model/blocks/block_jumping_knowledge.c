/* Layers one after another, whose outputs are all read at the end: side by side, or the largest of
 * each element. Paper: Xu et al. 2018 (jumping knowledge). */
#include <lib/model/blocks/pieces.h>

enum { MOST = 8 };

void gnn__block_jumping_knowledge(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *heard[MOST] = {NULL}, *input = gnn__block_input(steps, b);
    const int64_t hops = b->hops > 0 ? b->hops : 1;
    gnn_layer_config_t layer = b->layer;
    char part[48];
    gnn__block_need(steps, b, "hops in 1..8", hops <= MOST);
    for (int64_t k = 0; k < hops && k < MOST; k++) {
        snprintf(part, sizeof part, "%lld", (long long)k);
        heard[k] = input = gnn__block_add(
            steps, b, part, (gnn_step_t){.inputs = {input}, .graph = b->graph, .layer = layer});
        if (layer.out > 0)
            layer.in = b->width > 0 ? b->width : layer.out;
    }
    gnn__piece_of_eight(steps, b, "",
                        hops == 1              ? GNN_STEP_SCALE
                        : b->maximum == GNN_ON ? GNN_STEP_MAXIMUM
                                               : GNN_STEP_CONCAT,
                        heard);
}
