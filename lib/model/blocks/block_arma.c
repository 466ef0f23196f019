/* Stacks of hops that all read the input again: h_0 = x, h_t+1 = relu(A h_t W_t + x V_t + b_t),
 * without self-loops; the mean over `rows` stacks. Paper: Bianchi et al. 2021 (ARMA). */
#include <lib/model/blocks/pieces.h>

void gnn__block_arma(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width,
                  stacks = b->rows > 0 ? b->rows : 1;
    const char *x = gnn__block_input(steps, b), *sum = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t s = 0; s < stacks; s++) {
        const char *h = x;
        for (int64_t t = 0; t < hops; t++) {
            const gnn_layer_config_t hop = {.in = t == 0 ? b->width : out,
                                            .in_dst = b->width,
                                            .out = out,
                                            .graph_norm = GNN_GRAPH_NORM_SYMMETRIC,
                                            .self_term = GNN_ON,
                                            .bias_update = GNN_OFF,
                                            .activation = GNN_RELU};
            char part[48];
            snprintf(part, sizeof part, "%lld.%lld", (long long)s, (long long)t);
            h = gnn__block_add(steps, b, part,
                               (gnn_step_t){.inputs = {h},
                                            .receivers = x,
                                            .graph = b->graph,
                                            .edge_weight = b->edge_weight,
                                            .layer = hop});
        }
        sum = sum ? gnn__piece_add(steps, b, gnn__numbered("sum.", s, "").text, sum, h, 1) : h;
    }
    gnn__piece_scale(steps, b, "", sum, 1 / (gnn_real_t)stacks);
}
