/* What is heard, memory, at the length of the row that hears it: s |x_i| m_i / |m_i|, s learned.
 * Paper: Li et al. 2020 (DeeperGCN). */
#include <lib/model/blocks/pieces.h>

void gnn__block_message_norm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width and .memory", b->width > 0 && b->memory);
    const char *scale = gnn__piece_constant(steps, b, "scale", 1, 1),
               *square = gnn__piece_multiply(steps, b, "square", x, x),
               *sum =
                   gnn__piece_op(steps, b, "sum", &gnn_op_head_sum, (const char *[3]){square}, 1, 0),
               *length =
                   gnn__piece_op(steps, b, "length", &gnn_op_power, (const char *[3]){sum}, 0.5, 0),
               *unit = gnn__block_add(steps, b, "unit",
                                      (gnn_step_t){.kind = GNN_STEP_NORM,
                                                   .inputs = {b->memory},
                                                   .in = b->width,
                                                   .norm = GNN_NORM_L2}),
               *as_long = gnn__piece_multiply(steps, b, "as_long", unit, length);
    gnn__piece_multiply(steps, b, "", as_long, scale);
}
