/* Attention by cosines: y_i = sum over j of softmax_j(beta cos(x_i, x_j)) x_j, self-loops
 * included, beta learned. Paper: Thekumparampil et al. 2018 (AGNN). */
#include <lib/model/blocks/pieces.h>

void gnn__block_agnn(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *unit = gnn__block_add(
                   steps, b, "unit",
                   (gnn_step_t){
                       .kind = GNN_STEP_NORM, .inputs = {x}, .in = b->width, .norm = GNN_NORM_L2}),
               *beta = gnn__piece_constant(steps, b, "beta", 1, 1),
               *query = gnn__piece_multiply(steps, b, "query", unit, beta);
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                .inputs = {x},
                                .query = query,
                                .key = unit,
                                .graph = b->graph,
                                .layer = {.in = b->width,
                                          .aggregator = &gnn_aggregator_attention,
                                          .self_loops = GNN_ON,
                                          .scale = 1}});
}
