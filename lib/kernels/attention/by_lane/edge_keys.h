/* Edge features in the keys of additive-v2 scores. Included by kernels only. */
#ifndef GNN_KERNELS_EDGE_KEYS_H
#define GNN_KERNELS_EDGE_KEYS_H

#include <lib/kernels/attention/by_lane/edge_terms.h>

/* b->features = rows of features of the block's pairs; zeros for pairs that have none, and behind
 * the last pair for as many as a register holds. */
#define edge_feature_rows GNN__KERNEL(lanes_edge_feature_rows)
void edge_feature_rows(const gnn__lanes_t *l, const lane_block_t *b);
/* Features of the next block's pairs are on their way. */
#define await_edge_features GNN__KERNEL(lanes_await_edge_features)
void await_edge_features(const gnn__lanes_t *l, const lane_block_t *b);

/* Scores of a block from rows: own queries (rows are senders: keys), the other ends' keys and
 * projected features; what stands behind the last pair is of no use. `keep`: b->rows = these
 * rows. */
#define edge_key_scores GNN__KERNEL(lanes_edge_key_scores)
void edge_key_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                     const gnn__matrix_t *keys, bool keep);

/* A block whose scores were made with `keep`, with g in `second`: y gains g where the row is above
 * 0, p what the pairs give to d_a. Where rows are receivers, gradients of features gain theirs;
 * d_weights (d_e rows of row_numbers, or NULL), what the pairs give to those of the weights, less
 * the factor a; and d_senders, if not NULL, what they give to keys that are values, dY being `dy`.
 * The rows are lost. */
#define edge_key_block GNN__KERNEL(lanes_edge_key_block)
void edge_key_block(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *dy,
                    gnn_real_t *d_weights, gnn_real_t *d_senders);

#endif
