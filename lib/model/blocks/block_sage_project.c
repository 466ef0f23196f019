/* A layer whose senders pass relu(W x + b) first, as SAGEConv's with project=True; receivers stay
 * what they are. Paper: Hamilton et al. 2017, the pooling aggregator. */
#include <lib/model/blocks.h>

void gnn__block_sage_project(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    const int64_t width = b->layer.in;
    gnn__block_need(steps, b, "layer.in", width > 0);
    gnn__block_add(steps, b, "lin",
                   (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {x}, .in = width, .out = width});
    const char *sent = gnn__block_add(
        steps, b, "relu", (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    gnn__block_add(
        steps, b, "",
        (gnn_step_t){.inputs = {sent}, .receivers = x, .graph = b->graph, .layer = b->layer});
}
