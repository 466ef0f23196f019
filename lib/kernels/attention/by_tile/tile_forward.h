/* Attention in tiles, forward. */
#ifndef GNN_KERNELS_TILE_FORWARD_H
#define GNN_KERNELS_TILE_FORWARD_H

#include <lib/kernels/attention/by_tile/by_tile.h>

typedef struct gnn__attention_tiles {
    /* Rows row0 .. row1 - 1, heads head0 .. head1 - 1. */
    void (*forward)(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head0,
                    int64_t head1, gnn_real_t *scratch);
    /* One tile of a->packed. */
    void (*pack)(const gnn__attention_t *a, int64_t tile, int64_t kv, gnn_real_t *scratch);
    /* GNN__KEY_BLOCK rows of keys become a block of places side by side. */
    void (*pack_keys)(const gnn_real_t *rows, int64_t width, gnn_real_t *block);
} gnn__attention_tiles_t;
const gnn__attention_tiles_t *gnn__attention_tiles(void);

#endif
