/* A decoder's layer is two layers: attention among what was said so far, without a feed-forward
 * block, then to the memory, with one. Paper: Vaswani et al. 2017. */
#include <lib/model/blocks.h>

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
