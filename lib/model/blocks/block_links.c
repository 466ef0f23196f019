/* Decoders of links: a score, or logits of classes, per pair of nodes. The inputs "sources" and
 * "targets" are the pairs' node indices; u and v are the rows of the source and the target. */
#include <lib/model/blocks.h>

typedef struct link_ends {
    const char *source, *target; /* steps: (pairs x width) each */
} link_ends_t;

static link_ends_t link_ends(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    return (link_ends_t){
        gnn__append_op(steps, b, "source", &gnn_op_pick_rows, (const char *[3]){x, "sources"}, 0, 0),
        gnn__append_op(steps, b, "target", &gnn_op_pick_rows, (const char *[3]){x, "targets"}, 0, 0)};
}

/* The sum over the columns of each row. */
static const char *row_sums(gnn_steps_t *steps, const gnn_block_t *b, const char *part, const char *x)
{
    return gnn__append_op(steps, b, part, &gnn_op_head_sum, (const char *[3]){x}, 1, 0);
}

/* The block's last steps: an mlp with one hidden layer from `in` columns to .out [1]. */
static void mlp(gnn_steps_t *steps, const gnn_block_t *b, const char *x, int64_t in)
{
    const int64_t hidden = b->hidden > 0 ? b->hidden : b->width;
    x = gnn__append_linear(steps, b, "hidden", x, in, hidden, GNN_ON);
    x = gnn__append_activation(steps, b, "relu", x, GNN_RELU);
    if (b->dropout > 0)
        x = gnn__block_add(steps, b, "dropout",
                           (gnn_step_t){.kind = GNN_STEP_DROPOUT, .inputs = {x}, .rate = b->dropout});
    gnn__append_linear(steps, b, "", x, hidden, b->out > 0 ? b->out : 1, GNN_ON);
}

/* link_dot: u . v. Kipf and Welling 2016 (GAE). */

void gnn__block_link_dot(gnn_steps_t *steps, const gnn_block_t *b)
{
    const link_ends_t ends = link_ends(steps, b);
    row_sums(steps, b, "", gnn__append_multiply(steps, b, "product", ends.source, ends.target));
}

/* link_bilinear: u W v, which may differ from the score of the reverse pair. Nickel et al. 2011
 * (RESCAL). */

void gnn__block_link_bilinear(gnn_steps_t *steps, const gnn_block_t *b)
{
    const link_ends_t ends = link_ends(steps, b);
    const char *projected =
        gnn__append_linear(steps, b, "turned", ends.source, b->width, b->width, GNN_OFF);
    row_sums(steps, b, "", gnn__append_multiply(steps, b, "product", projected, ends.target));
}

/* link_distance: b - |u - v|^2 with a learned b. Hoff et al. 2002 (latent spaces). */

void gnn__block_link_distance(gnn_steps_t *steps, const gnn_block_t *b)
{
    const link_ends_t ends = link_ends(steps, b);
    const char *bias = gnn__append_constant(steps, b, "bias", 1, 1),
               *less = gnn__append_add(steps, b, "difference", ends.source, ends.target, -1),
               *squares = gnn__append_multiply(steps, b, "squares", less, less),
               *far = row_sums(steps, b, "distance", squares),
               *near = gnn__append_scale(steps, b, "near", far, -1);
    gnn__append_add(steps, b, "", near, bias, 1);
}

/* link_product: mlp(u v), element by element; symmetric. Hu et al. 2020 (OGB's link predictor). */

void gnn__block_link_product(gnn_steps_t *steps, const gnn_block_t *b)
{
    const link_ends_t ends = link_ends(steps, b);
    mlp(steps, b, gnn__append_multiply(steps, b, "product", ends.source, ends.target), b->width);
}

/* link_mlp: mlp([u, v]), or mlp([u, v, e]) with e a row of `edges` per pair. */

void gnn__block_link_mlp(gnn_steps_t *steps, const gnn_block_t *b)
{
    const link_ends_t ends = link_ends(steps, b);
    gnn__block_need(steps, b, "edges with .edge_width", !b->edges == !b->edge_width);
    const char *pair =
        gnn__append_concat(steps, b, "pair", (const char *[8]){ends.source, ends.target, b->edges});
    mlp(steps, b, pair, 2 * b->width + (b->edges ? b->edge_width : 0));
}
