/* A hop that keeps a part of the first features, x0 = memory, and stays near the identity: z = (1
 * - factor) A x + factor x0, y = (1 - theta) z + theta z W. Paper: Chen et al. 2020 (GCNII), where
 * theta of layer l is log(lambda / l + 1). */
#include <lib/model/blocks/pieces.h>

void gnn__block_gcn2(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn_real_t alpha = b->factor == 0 ? (gnn_real_t)0.1 : b->factor;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .memory and .theta", b->width > 0 && b->memory && b->theta > 0);
    x = gnn__piece_hop(steps, b, "hop", x, b->width, GNN_ON);
    x = gnn__piece_scale(steps, b, "kept", x, 1 - alpha);
    const char *z = gnn__piece_add(steps, b, "mixed", x, b->memory, alpha),
               *product = gnn__piece_linear(steps, b, "weight1", z, b->width, b->width, GNN_OFF);
    if (b->theta == 1) {
        gnn__piece_same(steps, b, "", product);
        return;
    }
    z = gnn__piece_scale(steps, b, "near", z, 1 - b->theta);
    gnn__piece_add(steps, b, "", z, product, b->theta);
}
