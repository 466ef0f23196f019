/* Each channel times a gate that is worked out from its mean over the segment. Paper: Hu et al.
 * 2018. */
#include <lib/model/blocks.h>

static gnn_step_t hear(const gnn_block_t *b, const char *aggregator, const char *input, int graph)
{
    return (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                        .inputs = {input},
                        .graph = graph,
                        .layer = {.in = b->width, .aggregator = gnn_aggregator_find(aggregator)}};
}

void gnn__block_squeeze_excite(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hidden = b->hidden > 0 ? b->hidden : gnn__max(1, b->width / 4);
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    gnn__block_add(steps, b, "mean", hear(b, "mean", x, b->graph));
    gnn__block_add(steps, b, "fc1",
                   (gnn_step_t){.kind = GNN_STEP_LINEAR, .in = b->width, .out = hidden});
    gnn__block_add(steps, b, "relu",
                   (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    gnn__block_add(steps, b, "fc2",
                   (gnn_step_t){.kind = GNN_STEP_LINEAR, .in = hidden, .out = b->width});
    const char *gate = gnn__block_add(
        steps, b, "gate", (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_SIGMOID});
    const char *spread =
        gnn__block_add(steps, b, "spread", hear(b, "sum", gate, gnn__block_graph(b, 0)));
    gnn__block_add(steps, b, "", (gnn_step_t){.kind = GNN_STEP_MULTIPLY, .inputs = {x, spread}});
}
