/* Attention in tiles, backward. */
#ifndef GNN_KERNELS_TILE_BACKWARD_H
#define GNN_KERNELS_TILE_BACKWARD_H

#include <lib/kernels/attention/by_tile/by_tile.h>

/* On the transposed part: rows are senders. */
typedef struct gnn__attention_tiles_grad {
    /* Any number of rows, key and value heads kv0 .. kv1 - 1 and all heads that read them. d_q: for
     * each of these heads the sums of columns lo[row0] .. hi[row1 - 1] - 1, rows of
     * gnn__tile_row(d_k) numbers, overwritten. d_prior: for each of these heads a->prior.stride
     * numbers, overwritten by what these rows give to the gradient of the prior, which stand in
     * reverse as it does; NULL: not wanted. */
    void (*send)(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t kv0, int64_t kv1,
                 gnn_real_t *d_q, gnn_real_t *d_prior, gnn_real_t *scratch);
    /* Such sums of columns c0 .. c1 - 1 become one head of the receivers' gradients, or are added
     * to it. */
    void (*receive)(const gnn__attention_t *a, int64_t c0, int64_t c1, int64_t head, bool add,
                    const gnn_real_t *d_q);
} gnn__attention_tiles_grad_t;
const gnn__attention_tiles_grad_t *gnn__attention_tiles_grad(void);

#endif
