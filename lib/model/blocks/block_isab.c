/* A set that hears itself by way of a few learned rows: H = MAB(I, X), MAB(X, H), O(n rows)
 * instead of O(n^2). Paper: Lee et al. 2019, eq. 9 and 10. */
#include <lib/model/blocks/set_attention.h>

void gnn__block_isab(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b), *rows = gnn__block_rows(steps, b, b->graph),
               *heard = gnn__block_attend(steps, b, "in.", rows, x, b->graph);
    gnn__block_attend(steps, b, "", x, heard, gnn__block_graph(b, 0));
}
