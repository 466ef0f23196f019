/* Labels spread over the graph: z = clamp(factor A z + (1 - factor) y) to 0..1, `hops` times, A
 * normalised symmetrically without self-loops; input y has a 1 in the class of each known node, 0
 * elsewhere; width classes. Paper: Zhu and Ghahramani 2002. */
#include <lib/model/blocks/propagation.h>

void gnn__block_label_propagation(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *y = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width and .factor", b->width > 0 && b->factor > 0);
    gnn__piece_same(steps, b, "",
                    gnn__piece_spread(steps, b, "spread", y, b->hops > 0 ? b->hops : 1, b->factor, 0));
}
