/* Attention to all nodes that decays with the hops between them: softmax(s_ij + hops_ij log
 * gamma_h), gamma learned for each head. edges: a column of hops on the edges of `graph`, which
 * has all pairs. After Liu et al. 2024 (Gradformer). */
#include <lib/model/blocks/pieces.h>

void gnn__block_hop_decay(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width and .edges", b->width > 0 && b->edges);
    const char *gamma =
        gnn__piece_constant(steps, b, "gamma", b->heads > 0 ? b->heads : 1, (gnn_real_t)0.5);
    gamma = gnn__piece_op(steps, b, "rate", &gnn_op_log, (const char *[3]){gamma}, 0, 0);
    gnn__piece_attend(steps, b, x,
                      gnn__piece_op(steps, b, "bias", &gnn_op_mix_heads,
                                    (const char *[3]){b->edges, gamma}, 0, 0));
}
