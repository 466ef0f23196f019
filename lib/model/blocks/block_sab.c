/* A set that hears itself: MAB(X, X). Paper: Lee et al. 2019, eq. 8. */
#include <lib/model/blocks/set_attention.h>

void gnn__block_sab(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_attend(steps, b, "", x, x, b->graph);
}
