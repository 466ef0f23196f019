/* The score of each pair: an mlp of u v, element by element, u and v the rows of its nodes; the same
 * for the reverse pair. Paper: Hu et al. 2020 (OGB's predictor of links). */
#include <lib/model/blocks/link_ends.h>

void gnn__block_link_product(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn__link_ends_t ends = gnn__link_ends(steps, b);
    gnn__link_mlp(steps, b, gnn__piece_multiply(steps, b, "product", ends.source, ends.target),
                  b->width);
}
