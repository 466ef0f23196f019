/* Several aggregators side by side, each times three scalers of the degree d: 1, log(d + 1) /
 * theta and theta / log(d + 1), theta being the mean of log(d + 1) over the training graphs.
 * Messages are a product of [x_i, x_j]; a product of [x_i, what is heard] and one more follow.
 * `graph`, and graphs[0] from its edges to their receivers; .aggregators, up to 4. Paper: Corso et
 * al. 2020 (PNA). */
#include <lib/model/blocks/pieces.h>

/* What is heard times a column of factors. */
static const char *scaled(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                          const char *heard, const char *log_degree, double power)
{
    const gnn__part_name_t factor = gnn__numbered(part, 0, "");
    const double theta = (double)b->theta;
    const char *column =
        gnn__piece_op(steps, b, factor.text, &gnn_op_power, (const char *[3]){log_degree}, power, 0);
    column = gnn__piece_scale(steps, b, gnn__numbered(part, 1, "").text, column,
                              (gnn_real_t)(power > 0 ? 1 / theta : theta));
    return gnn__piece_multiply(steps, b, part, heard, column);
}

void gnn__block_pna(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b), *parts[8] = {NULL};
    int64_t count = 0;
    gnn__block_need(steps, b, "width, .theta and .aggregators",
                    in > 0 && b->theta > 0 && b->aggregators[0]);
    const char *to = gnn__piece_ends(steps, b, "receivers", x, GNN_SIDE_RECEIVERS),
               *from = gnn__piece_ends(steps, b, "senders", x, GNN_SIDE_SENDERS),
               *pair = gnn__piece_concat(steps, b, "pair", (const char *[8]){to, from}),
               *message = gnn__piece_linear(steps, b, "pre_nns.0.0", pair, 2 * in, in, GNN_ON);
    for (; count < 4 && b->aggregators[count]; count++)
        parts[count] = gnn__piece_heard(steps, b, gnn__numbered("heard.", count, "").text, message,
                                        b->aggregators[count], gnn__block_graph(b, 0), in);
    const char *heard = gnn__piece_concat(steps, b, "heard", parts),
               *degree =
                   gnn__piece_op(steps, b, "degree", &gnn_op_degree, (const char *[3]){x}, 0, 1),
               *log_degree = gnn__piece_op(steps, b, "log_degree", &gnn_op_log,
                                           (const char *[3]){degree}, 1, 0),
               *more = scaled(steps, b, "amplified", heard, log_degree, 1),
               *less = scaled(steps, b, "attenuated", heard, log_degree, -1),
               *all = gnn__piece_concat(steps, b, "all", (const char *[8]){x, heard, more, less});
    const char *z =
        gnn__piece_linear(steps, b, "post_nns.0.0", all, (1 + 3 * count) * in, out, GNN_ON);
    gnn__piece_same(steps, b, "", gnn__piece_linear(steps, b, "lin", z, out, out, GNN_ON));
}
