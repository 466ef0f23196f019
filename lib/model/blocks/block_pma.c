/* Pooling by attention: learned rows hear relu(linear(X)). Paper: Lee et al. 2019, eq. 11. */
#include <lib/model/blocks/set_attention.h>

void gnn__block_pma(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_add(
        steps, b, "linear",
        (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {x}, .in = b->width, .out = b->width});
    x = gnn__block_add(steps, b, "rectified",
                       (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    const char *rows = gnn__block_rows(steps, b, b->graph);
    gnn__block_attend(steps, b, "", rows, x, b->graph);
}
