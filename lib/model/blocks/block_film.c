/* Messages that the receiver modulates: the mean over j of relu(g_i W x_j + b_i), [b_i, g_i] = F
 * x_i + f, plus the same of itself with its own weights. `graph`, and graphs[0] from its edges to
 * their receivers. Paper: Brockschmidt 2020 (GNN-FiLM). */
#include <lib/model/blocks/pieces.h>

/* relu(g z + b), [b, g] side by side in `film`. */
static const char *modulated(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                             const char *film, const char *z, int64_t out)
{
    char part[4][64];
    static const char *const names[] = {"beta", "gamma", "product", "sum"};
    for (int k = 0; k < 4; k++)
        snprintf(part[k], sizeof part[k], "%s.%s", prefix, names[k]);
    const char *beta = gnn__piece_columns(steps, b, part[0], film, 0, out),
               *gamma = gnn__piece_columns(steps, b, part[1], film, out, out);
    z = gnn__piece_multiply(steps, b, part[2], z, gamma);
    z = gnn__piece_add(steps, b, part[3], z, beta, 1);
    return gnn__piece_activation(steps, b, prefix, z, GNN_RELU);
}

void gnn__block_film(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *skip = gnn__piece_linear(steps, b, "lin_skip", x, in, out, GNN_OFF),
               *own = gnn__piece_linear(steps, b, "film_skip", x, in, 2 * out, GNN_OFF);
    own = modulated(steps, b, "own", own, skip, out);
    const char *sent = gnn__piece_linear(steps, b, "lins.0", x, in, out, GNN_OFF),
               *film = gnn__piece_linear(steps, b, "films.0", x, in, 2 * out, GNN_ON);
    sent = gnn__piece_ends(steps, b, "senders", sent, GNN_SIDE_SENDERS);
    film = gnn__piece_ends(steps, b, "receivers", film, GNN_SIDE_RECEIVERS);
    const char *message = modulated(steps, b, "message", film, sent, out),
               *heard = gnn__piece_heard(steps, b, "heard", message, &gnn_aggregator_mean,
                                         gnn__block_graph(b, 0), out);
    gnn__piece_add(steps, b, "", own, heard, 1);
}
