/* Predictions corrected by the errors at known nodes, spread `hops` times with `factor`, then
 * smoothed: known labels take their places and are spread `rows` times with theta. Input:
 * probabilities (width classes); memory: a 1 in the class of each known node, 0 elsewhere;
 * globals: a column, 1 where a node is known. NAME.corrected is what correcting gave. No
 * gradients. Paper: Huang et al. 2021. */
#include <lib/model/blocks/propagation.h>

void gnn__block_correct_and_smooth(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *soft = gnn__block_input(steps, b), *labels = b->memory, *known = b->globals;
    gnn__block_need(steps, b, "width, .memory, .globals, .factor and .theta",
                    b->width > 0 && labels && known && b->factor > 0 && b->theta > 0);
    const char *error = gnn__piece_add(steps, b, "difference", labels, soft, -1);
    error = gnn__piece_multiply(steps, b, "error", error, known);
    const char *spread = gnn__piece_spread(steps, b, "correct", error, b->hops > 0 ? b->hops : 1,
                                           b->factor, -1),
               *scaled = gnn__piece_op(steps, b, "scaled", &gnn_op_autoscale,
                                       (const char *[3]){spread, error, known}, 0, 0),
               *corrected = gnn__piece_add(steps, b, "corrected", scaled, soft, 1),
               *unknown = gnn__piece_op(steps, b, "unknown", &gnn_op_between,
                                        (const char *[3]){known}, -0.5, 0.5),
               *kept = gnn__piece_multiply(steps, b, "kept", corrected, unknown),
               *y = gnn__piece_add(steps, b, "labelled", kept, labels, 1);
    gnn__piece_same(steps, b, "",
                    gnn__piece_spread(steps, b, "smooth", y, b->rows > 0 ? b->rows : 1, b->theta, 0));
}
