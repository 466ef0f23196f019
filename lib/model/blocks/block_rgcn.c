/* A weight for each relation, made of `rows` bases: y_i = sum over r of mean over j in N_r(i) of
 * x_j W_r + x_i R + b, W_r = sum over k of c_rk V_k. `hops` relations, each a slot: `graph`, the
 * next one, ... (the parts of one graph, gnn_graph_part); at most 8. Paper: Schlichtkrull et al.
 * 2018 (R-GCN). */
#include <lib/model/blocks/pieces.h>

enum { MOST = 8 };

void gnn__block_rgcn(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in,
                  relations = b->hops > 0 ? b->hops : 1, bases = b->rows > 0 ? b->rows : relations;
    const char *x = gnn__block_input(steps, b), *parts[MOST] = {NULL};
    gnn__block_need(steps, b, "width", in > 0);
    gnn__block_need(steps, b, "hops in 1..8", relations <= MOST);
    for (int64_t r = 0; r < relations && r < MOST; r++)
        parts[r] = gnn__piece_heard(steps, b, gnn__numbered("heard.", r, "").text, x,
                                    &gnn_aggregator_mean, b->graph + (int)r, in);
    const char *z = relations > 1 ? gnn__piece_concat(steps, b, "heard", parts) : parts[0],
               *mix = gnn__piece_rows(steps, b, "comp", relations, bases);
    z = gnn__piece_op(steps, b, "bases", &gnn_op_mix_heads, (const char *[3]){z, mix}, 0, 0);
    z = gnn__piece_linear(steps, b, "weight", z, bases * in, out, GNN_OFF);
    x = gnn__piece_linear(steps, b, "root", x, in, out, GNN_OFF);
    z = gnn__piece_add(steps, b, "sum", z, x, 1);
    gnn__piece_bias(steps, b, "", z, out);
}
