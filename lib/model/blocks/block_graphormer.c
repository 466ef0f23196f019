/* Attention to all nodes with a learned number for the hops between two, after a learned row for
 * each degree is added: memory, an input of degrees (ids below `rows`), edges, an input of hops on
 * the edges of `graph` (ids below edge_width), which has all pairs. Paper: Ying et al. 2021, eq. 5
 * and 6. */
#include <lib/model/blocks/pieces.h>

static const char *embed(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                         const char *ids, int64_t rows, int64_t cols)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_EMBED, .inputs = {ids}, .in = rows, .out = cols});
}

void gnn__block_graphormer(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .memory, .rows, .edges and .edge_width",
                    b->width > 0 && b->memory && b->rows > 0 && b->edges && b->edge_width > 0);
    const char *degree = embed(steps, b, "degree", b->memory, b->rows, b->width),
               *hops = embed(steps, b, "hops", b->edges, b->edge_width, b->heads > 0 ? b->heads : 1);
    gnn__piece_attend(steps, b, gnn__piece_add(steps, b, "placed", x, degree, 1), hops);
}
