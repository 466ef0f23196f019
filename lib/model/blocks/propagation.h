/* Spreading what is known over a graph, as label propagation and correct-and-smooth do. */
#ifndef GNN_LIB_MODEL_BLOCKS_PROPAGATION_H
#define GNN_LIB_MODEL_BLOCKS_PROPAGATION_H

#include <lib/model/blocks/pieces.h>

/* z = clamp(alpha A z + (1 - alpha) y) from `low` to `high`, `hops` times from z = y on; steps are
 * called PREFIX.hop.k ... */
static inline const char *gnn__piece_spread(gnn_steps_t *steps, const gnn_block_t *b,
                                            const char *prefix, const char *y, int64_t hops,
                                            gnn_real_t alpha, double low)
{
    static const char *const words[] = {"hop", "kept", "sum", "clamped"};
    const char *z = y;
    for (int64_t k = 0; k < hops; k++) {
        char part[4][64];
        for (int w = 0; w < 4; w++)
            snprintf(part[w], sizeof part[w], "%s.%s.%lld", prefix, words[w], (long long)k);
        z = gnn__piece_hop(steps, b, part[0], z, b->width, GNN_OFF);
        z = gnn__piece_scale(steps, b, part[1], z, alpha);
        z = gnn__piece_add(steps, b, part[2], z, y, 1 - alpha);
        z = gnn__piece_op(steps, b, part[3], &gnn_op_clamp, (const char *[3]){z}, low, 1);
    }
    return z;
}

#endif
