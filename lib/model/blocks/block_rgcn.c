/* A weight for each relation: y_i = sum over r of mean over j in N_r(i) of x_j W_r, + x_i R + b.
 * With `rows` bases W_r = sum over k of c_rk V_k; with `heads` blocks W_r is block-diagonal. `hops`
 * relations, each a slot: `graph`, the next one, ... (the parts of one graph: gnn_graph_part).
 * Paper: Schlichtkrull et al. 2018 (R-GCN). */
#include <lib/model/blocks/pieces.h>

/* Block `rows` of learned rows. */
static const char *rows_of(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                           const char *input, int64_t row, int64_t rows)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_VIEW, .inputs = {input}, .row = row, .rows = rows});
}

/* What is heard along all relations; `weights`: a row of coefficients, or the matrices, of each. */
static const char *relations(gnn_steps_t *steps, const gnn_block_t *b, const char *x,
                             const char *weights, const gnn_op_t *op, int64_t each)
{
    const char *sum = NULL;
    for (int64_t r = 0; r < (b->hops > 0 ? b->hops : 1); r++) {
        const char *heard = gnn__piece_heard(steps, b, gnn__numbered("heard.", r, "").text, x,
                                             &gnn_aggregator_mean, b->graph + (int)r, b->width),
                   *own =
                       rows_of(steps, b, gnn__numbered("of.", r, "").text, weights, r * each, each),
                   *z = gnn__piece_op(steps, b, gnn__numbered("relation.", r, "").text, op,
                                      (const char *[3]){heard, own}, (double)b->heads, 0);
        sum = sum ? gnn__piece_add(steps, b, gnn__numbered("sum.", r, "").text, sum, z, 1) : z;
    }
    return sum;
}

void gnn__block_rgcn(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in, count = b->hops > 0 ? b->hops : 1,
                  bases = b->rows > 0 ? b->rows : count;
    const char *x = gnn__block_input(steps, b), *z;
    gnn__block_need(steps, b, "width", in > 0);
    gnn__block_need(steps, b, "heads that divide .width and .out",
                    b->heads <= 1 || (in % b->heads == 0 && out % b->heads == 0));
    if (steps->status != GNN_OK)
        return;
    if (b->heads > 1) {
        const char *w = gnn__piece_rows(steps, b, "weight", count * in, out / b->heads);
        z = relations(steps, b, x, w, &gnn_op_block_product, in);
    } else {
        const char *mix = gnn__piece_rows(steps, b, "comp", count, bases);
        z = relations(steps, b, x, mix, &gnn_op_mix_heads, 1);
        z = gnn__piece_linear(steps, b, "weight", z, bases * in, out, GNN_OFF);
    }
    x = gnn__piece_linear(steps, b, "root", x, in, out, GNN_OFF);
    z = gnn__piece_add(steps, b, "both", z, x, 1);
    gnn__piece_bias(steps, b, "", z, out);
}
