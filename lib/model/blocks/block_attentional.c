/* Rows weighed by a softmax of a learned number of each: `graph` from nodes to one row a segment.
 * Paper: Li et al. 2016, eq. 7 (PyG's AttentionalAggregation with a linear gate). */
#include <lib/model/blocks/pieces.h>

void gnn__block_attentional(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    /* A number that all scores of a receiver share changes no weight: their mean is a query. */
    const char *gate = gnn__piece_linear(steps, b, "gate_nn", x, b->width, 1, GNN_ON),
               *mean = gnn__piece_heard(steps, b, "mean", gate, &gnn_aggregator_mean, b->graph, 1),
               *query = gnn__block_add(steps, b, "query",
                                       (gnn_step_t){.kind = GNN_STEP_DETACH, .inputs = {mean}});
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                .inputs = {x},
                                .query = query,
                                .key = gate,
                                .graph = b->graph,
                                .layer = {.in = b->width,
                                          .aggregator = &gnn_aggregator_attention,
                                          .score = &gnn_score_additive,
                                          .slope = 1}});
}
