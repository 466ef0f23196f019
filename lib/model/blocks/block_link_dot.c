/* The score of each pair: the dot product of its nodes' rows. Paper: Kipf and Welling 2016 (GAE). */
#include <lib/model/blocks/link_ends.h>

void gnn__block_link_dot(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn__link_ends_t ends = gnn__link_ends(steps, b);
    gnn__link_sum(steps, b, "", gnn__piece_multiply(steps, b, "product", ends.source, ends.target));
}
