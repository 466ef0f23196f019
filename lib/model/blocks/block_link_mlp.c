/* Scores, or logits of classes, of each pair: an mlp of [u, v] or [u, v, e], u and v the rows of its
 * source and target, e its own row of `edges`. */
#include <lib/model/blocks/link_ends.h>

void gnn__block_link_mlp(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn__link_ends_t ends = gnn__link_ends(steps, b);
    gnn__block_need(steps, b, "edge_width", !b->edges || b->edge_width > 0);
    const char *pair =
        gnn__piece_concat(steps, b, "pair", (const char *[8]){ends.source, ends.target, b->edges});
    gnn__link_mlp(steps, b, pair, 2 * b->width + (b->edges ? b->edge_width : 0));
}
