/* The mean of powers and its root: clamp(mean over j of clamp(x_j)^p)^(1/p), clamp to 1e-4 .. 100
 * as in PyG, p learned from factor [1] on; a receiver that hears no sender gets 1e-4^(1/p). `graph`
 * goes from nodes to one row a segment, or is any other. Paper: Li et al. 2020 (DeeperGCN). */
#include <lib/model/blocks/pieces.h>

void gnn__block_power_mean(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *p = gnn__piece_constant(steps, b, "p", 1, b->factor != 0 ? b->factor : 1),
               *root = gnn__piece_op(steps, b, "root", &gnn_op_power, (const char *[3]){p}, -1, 0);
    x = gnn__piece_op(steps, b, "clamped", &gnn_op_clamp, (const char *[3]){x}, 1e-4, 100);
    x = gnn__piece_op(steps, b, "powers", &gnn_op_power_by, (const char *[3]){x, p}, 0, 0);
    x = gnn__piece_heard(steps, b, "mean", x, &gnn_aggregator_mean, b->graph, b->width);
    x = gnn__piece_op(steps, b, "mean_clamped", &gnn_op_clamp, (const char *[3]){x}, 1e-4, 100);
    gnn__piece_op(steps, b, "", &gnn_op_power_by, (const char *[3]){x, root}, 0, 0);
}
