/* The ends of the pairs that a decoder scores: rows of nodes, gathered by the inputs "sources" and
 * "targets", lists of node numbers. */
#ifndef GNN_LIB_MODEL_BLOCKS_LINK_ENDS_H
#define GNN_LIB_MODEL_BLOCKS_LINK_ENDS_H

#include <lib/model/blocks/pieces.h>

typedef struct gnn__link_ends {
    const char *source, *target; /* steps: (pairs x width) each */
} gnn__link_ends_t;

static inline gnn__link_ends_t gnn__link_ends(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    return (gnn__link_ends_t){
        gnn__piece_op(steps, b, "source", &gnn_op_pick_rows, (const char *[3]){x, "sources"}, 0, 0),
        gnn__piece_op(steps, b, "target", &gnn_op_pick_rows, (const char *[3]){x, "targets"}, 0, 0)};
}

/* The sum of each row. */
static inline const char *gnn__link_sum(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                        const char *x)
{
    return gnn__piece_op(steps, b, part, &gnn_op_head_sum, (const char *[3]){x}, 1, 0);
}

/* The block's last steps: an mlp of one hidden layer, `in` columns to .out [1]. */
static inline void gnn__link_mlp(gnn_steps_t *steps, const gnn_block_t *b, const char *x, int64_t in)
{
    const int64_t hidden = b->hidden > 0 ? b->hidden : b->width;
    x = gnn__piece_linear(steps, b, "hidden", x, in, hidden, GNN_ON);
    x = gnn__piece_activation(steps, b, "relu", x, GNN_RELU);
    if (b->dropout > 0)
        x = gnn__block_add(steps, b, "dropout",
                           (gnn_step_t){.kind = GNN_STEP_DROPOUT, .inputs = {x}, .rate = b->dropout});
    gnn__piece_linear(steps, b, "", x, hidden, b->out > 0 ? b->out : 1, GNN_ON);
}

#endif
