/* Edge features in the keys of additive-v2 scores. Included by kernels only. */
#ifndef GNN_KERNELS_EDGE_KEYS_H
#define GNN_KERNELS_EDGE_KEYS_H

#include <lib/kernels/attention/by_lane/edge_terms.h>

/* b->rows = the other ends' keys (queries, where rows are senders) plus the projected features of
 * the edges at places at .. */
#define edge_key_rows GNN__KERNEL(lanes_edge_key_rows)
void edge_key_rows(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *keys,
                   int64_t at);

/* The block as kernels of pairs see it whose keys are b->rows: pair e has row e. */
static inline lane_block_t counted_block(const lane_block_t *b)
{
    lane_block_t counted = *b;
    counted.other = b->counted;
    return counted;
}

static inline gnn__matrix_t counted_keys(const gnn__lanes_t *l, const lane_block_t *b)
{
    return (gnn__matrix_t){b->rows, l->row_numbers};
}

/* A block of a receiver whose queries are `own`, with g in `second` and b->rows as edge_key_rows
 * leaves them, which are lost. Gradients of features are added to; d_weights (d_e rows of
 * row_numbers, or NULL) gains what the pairs give to those of the weights, less the factor a. */
#define edge_key_grads GNN__KERNEL(lanes_edge_key_grads)
void edge_key_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, const gnn_real_t *own,
                    gnn_real_t *d_weights);

#endif
