/* Weights by degree: y_i = W_d sum over j of x_j + b_d + V_d x_i, d the number of senders that i
 * hears, at most `hops`. Each row meets its own degree's weights alone. Paper: Duvenaud et al. 2015
 * (neural fingerprints). */
#include <lib/model/blocks/pieces.h>

enum { AT_ONCE = 8 };

/* Degrees beyond the last have its weights. */
static double most_of(int64_t d, int64_t last)
{
    return d == last ? 1e30 : (double)d;
}

/* What degree d makes of its rows, which stand alone. */
static const char *of_degree(gnn_steps_t *steps, const gnn_block_t *b, const char *const in[2],
                             int64_t d, int64_t last, int64_t out)
{
    static const char *const picked[] = {"heard.", "own."}, *const maps[] = {"lins_l.", "lins_r."};
    const char *y[2];
    for (int k = 0; k < 2; k++) {
        y[k] = gnn__piece_op(steps, b, gnn__numbered(picked[k], d, "").text, &gnn_op_rows_of_degree,
                             (const char *[3]){in[k]}, (double)d, most_of(d, last));
        y[k] = gnn__piece_linear(steps, b, gnn__numbered(maps[k], d, "").text, y[k], b->width, out,
                                 k == 0 ? GNN_ON : GNN_OFF);
    }
    return gnn__piece_add(steps, b, gnn__numbered("both.", d, "").text, y[0], y[1], 1);
}

/* Rows of degrees d and after, up to eight of them, at their places. */
static const char *place(gnn_steps_t *steps, const gnn_block_t *b, const char *const of[AT_ONCE],
                         int64_t d, double most)
{
    return gnn__block_add(
        steps, b, gnn__numbered("placed.", d, "").text,
        (gnn_step_t){.kind = GNN_STEP_OP,
                     .op = &gnn_op_place_by_degree,
                     .inputs = {of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7]},
                     .graph = b->graph,
                     .options = {(double)d, most}});
}

void gnn__block_mf(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t last = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *in[2] = {NULL, gnn__block_input(steps, b)}, *sum = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    in[0] = gnn__piece_heard(steps, b, "heard", in[1], &gnn_aggregator_sum, b->graph, b->width);
    for (int64_t d = 0; d <= last; d += AT_ONCE) {
        const char *of[AT_ONCE] = {NULL};
        int64_t count = 0;
        for (; count < AT_ONCE && d + count <= last; count++)
            of[count] = of_degree(steps, b, in, d + count, last, out);
        const char *y = place(steps, b, of, d, most_of(d + count - 1, last));
        sum = sum ? gnn__piece_add(steps, b, gnn__numbered("sum.", d, "").text, sum, y, 1) : y;
    }
    gnn__piece_same(steps, b, "", sum);
}
