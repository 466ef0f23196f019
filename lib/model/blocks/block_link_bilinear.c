/* The score of each pair: u W v, u and v the rows of its source and target. It may differ from that
 * of the reverse pair. Paper: Nickel et al. 2011 (RESCAL). */
#include <lib/model/blocks/link_ends.h>

void gnn__block_link_bilinear(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn__link_ends_t ends = gnn__link_ends(steps, b);
    const char *turned =
        gnn__piece_linear(steps, b, "turned", ends.source, b->width, b->width, GNN_OFF);
    gnn__link_sum(steps, b, "", gnn__piece_multiply(steps, b, "product", turned, ends.target));
}
