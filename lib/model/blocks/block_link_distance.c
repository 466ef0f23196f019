/* The score of each pair: b - |u - v|^2 with a learned b, u and v the rows of its nodes. Paper: Hoff
 * et al. 2002 (latent spaces). */
#include <lib/model/blocks/link_ends.h>

void gnn__block_link_distance(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn__link_ends_t ends = gnn__link_ends(steps, b);
    const char *bias = gnn__piece_constant(steps, b, "bias", 1, 1),
               *less = gnn__piece_add(steps, b, "difference", ends.source, ends.target, -1),
               *squares = gnn__piece_multiply(steps, b, "squares", less, less),
               *far = gnn__link_sum(steps, b, "distance", squares),
               *near = gnn__piece_scale(steps, b, "near", far, -1);
    gnn__piece_add(steps, b, "", near, bias, 1);
}
