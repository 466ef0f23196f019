/* Layers without weights: the mean of x, A x, ..., A^hops x, A normalised symmetrically without
 * self-loops. Paper: He et al. 2020 (LightGCN). */
#include <lib/model/blocks/pieces.h>

void gnn__block_lg(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1;
    const char *x = gnn__block_input(steps, b), *sum = x;
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t k = 0; k < hops; k++) {
        x = gnn__piece_hop(steps, b, gnn__numbered("hop.", k, "").text, x, b->width, GNN_OFF);
        sum = gnn__piece_add(steps, b, gnn__numbered("sum.", k, "").text, sum, x, 1);
    }
    gnn__piece_scale(steps, b, "", sum, 1 / (gnn_real_t)(hops + 1));
}
