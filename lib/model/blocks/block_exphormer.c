/* One softmax over pairs of several kinds: a graph's edges, an expander's, and those to and from
 * `hops` learned rows that follow the nodes; keys are multiplied by a learned row of the pair's
 * kind (edges: an input of ids, edge_width kinds). Rows of nodes and of the learned ones go out.
 * `graph` of all pairs, and graphs[0] from them to their receivers. Paper: Shirzad et al. 2023. */
#include <lib/model/blocks/pieces.h>
#include <math.h>

void gnn__block_exphormer(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t d = b->width, heads = b->heads > 0 ? b->heads : 1;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .edges and .edge_width",
                    d > 0 && b->edges && b->edge_width > 0);
    if (b->hops > 0) {
        const char *more = gnn__piece_rows(steps, b, "virtual", b->hops, d);
        x = gnn__block_add(steps, b, "rows",
                           (gnn_step_t){.kind = GNN_STEP_STACK, .inputs = {x, more}});
    }
    const char *q = gnn__piece_linear(steps, b, "query", x, d, d, GNN_OFF),
               *k = gnn__piece_linear(steps, b, "key", x, d, d, GNN_OFF),
               *v = gnn__piece_linear(steps, b, "value", x, d, d, GNN_OFF),
               *kind = gnn__block_add(
                   steps, b, "kind",
                   (gnn_step_t){
                       .kind = GNN_STEP_EMBED, .inputs = {b->edges}, .in = b->edge_width, .out = d});
    q = gnn__piece_ends(steps, b, "queries", q, GNN_SIDE_RECEIVERS);
    k = gnn__piece_ends(steps, b, "keys", k, GNN_SIDE_SENDERS);
    v = gnn__piece_ends(steps, b, "values", v, GNN_SIDE_SENDERS);
    k = gnn__piece_multiply(steps, b, "kinds", k, kind);
    k = gnn__piece_multiply(steps, b, "products", q, k);
    k = gnn__piece_op(steps, b, "sums", &gnn_op_head_sum, (const char *[3]){k}, (double)heads, 0);
    k = gnn__piece_scale(steps, b, "scores", k, (gnn_real_t)(1 / sqrt((double)d / (double)heads)));
    x = gnn__piece_weigh(steps, b, "heard", k, v, heads, d);
    gnn__piece_same(steps, b, "", gnn__piece_linear(steps, b, "out", x, d, d, GNN_OFF));
}
