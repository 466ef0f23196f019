/* Attention in tiles, backward. */
#ifndef GNN_KERNELS_TILE_BACKWARD_H
#define GNN_KERNELS_TILE_BACKWARD_H

#include <lib/kernels/attention/by_tile/by_tile.h>

/* What some rows give to gradients that are not theirs, for each of some heads; overwritten. NULL:
 * not wanted. */
typedef struct gnn__tile_sums {
    /* columns lo[row0] .. hi[row1 - 1] - 1, rows of gnn__tile_row(d_k) numbers: of queries, and of
     * what keys by distance multiply, which may be the queries */
    gnn_real_t *d_q, *d_key_q;
    gnn_real_t *d_prior; /* a->prior.stride numbers, in reverse as those of the prior are */
    gnn_real_t *d_keys;  /* a->prior.stride rows of a->keys.width numbers */
} gnn__tile_sums_t;

/* On the transposed part: rows are senders. */
typedef struct gnn__attention_tiles_grad {
    /* Any number of rows, key and value heads kv0 .. kv1 - 1 and all heads that read them. */
    void (*send)(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t kv0, int64_t kv1,
                 const gnn__tile_sums_t *sums, gnn_real_t *scratch);
    /* Such sums of columns c0 .. c1 - 1 become one head of the receivers' gradients, or are added
     * to it. */
    void (*receive)(const gnn__attention_t *a, int64_t c0, int64_t c1, int64_t head, bool add,
                    const gnn_real_t *d_q);
} gnn__attention_tiles_grad_t;
const gnn__attention_tiles_grad_t *gnn__attention_tiles_grad(void);

#endif
