/* Linear attention over all nodes with the node itself n times: y_i = (v_i + mean over j of (q_i .
 * k_j) v_j) / (1 + mean over j of q_i . k_j), rows of q and k of length 1 in each head; the mean
 * over heads. `graph` is complete. Paper: Wu et al. 2023 (SGFormer), with the lengths that PyG's
 * SGFormerAttention takes. */
#include <lib/model/blocks/pieces.h>

void gnn__block_sgformer(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t d = b->width, heads = b->heads > 0 ? b->heads : 1;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", d > 0);
    const char *q = gnn__piece_linear(steps, b, "q", x, d, d, GNN_OFF),
               *k = gnn__piece_linear(steps, b, "k", x, d, d, GNN_OFF),
               *v = gnn__piece_linear(steps, b, "v", x, d, d, GNN_OFF),
               *count = gnn__piece_op(steps, b, "count", &gnn_op_degree, (const char *[3]){x}, 0, 1),
               *share =
                   gnn__piece_op(steps, b, "share", &gnn_op_power, (const char *[3]){count}, -1, 0);
    q = gnn__piece_op(steps, b, "queries", &gnn_op_unit_heads, (const char *[3]){q}, (double)heads,
                      0);
    k = gnn__piece_op(steps, b, "keys", &gnn_op_unit_heads, (const char *[3]){k}, (double)heads, 0);
    const char *heard = gnn__block_add(steps, b, "heard",
                                       (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                                    .inputs = {v},
                                                    .query = q,
                                                    .key = k,
                                                    .graph = b->graph,
                                                    .layer = {.in = d,
                                                              .heads = heads,
                                                              .aggregator = &gnn_aggregator_attention,
                                                              .weigher = &gnn_weigher_linear,
                                                              .scale = 1}}),
               *mean = gnn__piece_heard(steps, b, "mean_key", k, &gnn_aggregator_mean, b->graph, d);
    heard = gnn__piece_multiply(steps, b, "mean", heard, share);
    heard = gnn__piece_add(steps, b, "own", heard, v, 1);
    mean = gnn__piece_multiply(steps, b, "products", q, mean);
    mean =
        gnn__piece_op(steps, b, "sums", &gnn_op_head_sum, (const char *[3]){mean}, (double)heads, 0);
    mean = gnn__piece_op(steps, b, "factors", &gnn_op_power, (const char *[3]){mean}, -1, 1);
    heard = gnn__block_add(steps, b, "heads",
                           (gnn_step_t){.kind = GNN_STEP_SCALE_HEADS, .inputs = {heard, mean}});
    heard = gnn__piece_op(steps, b, "sum", &gnn_op_fold_heads, (const char *[3]){heard},
                          (double)heads, 0);
    gnn__piece_scale(steps, b, "", heard, 1 / (gnn_real_t)heads);
}
