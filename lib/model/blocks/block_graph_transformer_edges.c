/* Attention in which edges have a say: scores are sums over a head's channels of q_i k_j / sqrt(d)
 * E e_ij; a softmax over neighbours. NAME.edges = O_e (the products before the sum), NAME = O
 * (what is heard). Edge features: edges, edge_width. `graph`, and graphs[0] from its edges to
 * their receivers. Paper: Dwivedi and Bresson 2021, eq. 9-15. */
#include <lib/model/blocks/pieces.h>
#include <math.h>

void gnn__block_graph_transformer_edges(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t d = b->width, heads = b->heads > 0 ? b->heads : 1;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .edges and .edge_width",
                    d > 0 && b->edges && b->edge_width > 0);
    const char *q = gnn__piece_linear(steps, b, "query", x, d, d, GNN_OFF),
               *k = gnn__piece_linear(steps, b, "key", x, d, d, GNN_OFF),
               *v = gnn__piece_linear(steps, b, "value", x, d, d, GNN_OFF),
               *e = gnn__piece_linear(steps, b, "edge", b->edges, b->edge_width, d, GNN_OFF);
    q = gnn__piece_ends(steps, b, "queries", q, GNN_SIDE_RECEIVERS);
    k = gnn__piece_ends(steps, b, "keys", k, GNN_SIDE_SENDERS);
    v = gnn__piece_ends(steps, b, "values", v, GNN_SIDE_SENDERS);
    q = gnn__piece_multiply(steps, b, "pairs", q, k);
    q = gnn__piece_scale(steps, b, "scaled", q, (gnn_real_t)(1 / sqrt((double)d / (double)heads)));
    e = gnn__piece_multiply(steps, b, "products", q, e);
    gnn__piece_linear(steps, b, "edges", e, d, d, GNN_OFF);
    e = gnn__piece_op(steps, b, "scores", &gnn_op_head_sum, (const char *[3]){e}, (double)heads, 0);
    x = gnn__piece_weigh(steps, b, "heard", e, v, heads, d);
    gnn__piece_same(steps, b, "", gnn__piece_linear(steps, b, "out", x, d, d, GNN_OFF));
}
