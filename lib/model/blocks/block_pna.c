/* Several aggregators side by side, each times three scalers of the degree d: 1, log(d + 1) /
 * theta and theta / log(d + 1), theta being the mean of log(d + 1) over the training graphs.
 * Messages are a product of [x_i, x_j], the sum of a row of i and one of j: what most aggregators
 * make of it follows from those of j, with nothing of the size of the edges. A product of [x_i,
 * what is heard] and one more follow.
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

/* How the largest or the mean of p_i + c_j over j follows from that of c_j: p_i is added where i
 * hears a sender at all; variances do not change. */
typedef enum { SHIFTED, UNCHANGED, OTHER } moved_t;

static moved_t moves(const gnn_aggregator_t *a)
{
    if (a == &gnn_aggregator_mean || a == &gnn_aggregator_max || a == &gnn_aggregator_min)
        return SHIFTED;
    return a == &gnn_aggregator_std || a == &gnn_aggregator_var ? UNCHANGED : OTHER;
}

/* What aggregator `count` makes of p_i + c_j, `own` being p of those that hear someone. */
static const char *heard_by(gnn_steps_t *steps, const gnn_block_t *b, int64_t count,
                            const char *own, const char *sent)
{
    const gnn_aggregator_t *a = b->aggregators[count];
    const gnn__part_name_t name = gnn__numbered("heard.", count, "");
    if (moves(a) == UNCHANGED)
        return gnn__piece_heard(steps, b, name.text, sent, a, b->graph, b->width);
    if (moves(a) == SHIFTED) {
        sent = gnn__piece_heard(steps, b, gnn__numbered("sent.", count, "").text, sent, a, b->graph,
                                b->width);
        return gnn__piece_add(steps, b, name.text, sent, own, 1);
    }
    own = gnn__piece_ends(steps, b, gnn__numbered("to.", count, "").text, own, GNN_SIDE_RECEIVERS);
    sent = gnn__piece_ends(steps, b, gnn__numbered("from.", count, "").text, sent, GNN_SIDE_SENDERS);
    own = gnn__piece_add(steps, b, gnn__numbered("message.", count, "").text, own, sent, 1);
    return gnn__piece_heard(steps, b, name.text, own, a, gnn__block_graph(b, 0), b->width);
}

void gnn__block_pna(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b), *parts[8] = {NULL};
    int64_t count = 0;
    gnn__block_need(steps, b, "width, .theta and .aggregators",
                    in > 0 && b->theta > 0 && b->aggregators[0]);
    const char *own = gnn__piece_part(steps, b, "pre_nns.0.0", NULL, x, 0, in, 2 * in, in),
               *sent = gnn__piece_part(steps, b, "pre_nns.0.0", "sent", x, in, in, 2 * in, in),
               *hears =
                   gnn__piece_op(steps, b, "senders", &gnn_op_degree, (const char *[3]){x}, 0, 0);
    hears = gnn__piece_op(steps, b, "hears", &gnn_op_between, (const char *[3]){hears}, 0.5, 1e30);
    own = gnn__piece_multiply(steps, b, "own", own, hears);
    for (; count < 4 && b->aggregators[count]; count++)
        parts[count] = heard_by(steps, b, count, own, sent);
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
