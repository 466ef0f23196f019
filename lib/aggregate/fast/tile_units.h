/* Attention in tiles: units of work, and what each thread owns. */
#ifndef GNN_AGGREGATE_TILE_UNITS_H
#define GNN_AGGREGATE_TILE_UNITS_H

#include <lib/kernels/attention/attention.h>

/* `packed` holds gnn__tiles_packed(a) values. */
void gnn__tiles_forward(const gnn__attention_t *a, gnn_real_t *scratch, int64_t scratch_size,
                        gnn_real_t *packed, int threads);
int64_t gnn__tiles_packed(const gnn__attention_t *a);

/* The transposed part; `sums` holds gnn__tiles_sums(a) values. By distance, for each of
 * gnn__tiles_chunks(a) chunks of senders, overwritten; NULL: not wanted. d_prior: heads x
 * a->prior.stride. d_keys: heads x a->prior.stride rows of a->keys.width values. */
void gnn__tiles_backward(const gnn__attention_t *a, gnn_real_t *scratch, int64_t scratch_size,
                         gnn_real_t *sums, gnn_real_t *d_prior, gnn_real_t *d_keys, int threads);
int64_t gnn__tiles_sums(const gnn__attention_t *a);
int64_t gnn__tiles_chunks(const gnn__attention_t *a);

#endif
