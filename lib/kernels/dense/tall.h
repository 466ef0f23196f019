/* Products of tall matrices in fp32 by oneDNN's serial sgemm, in pieces that threads take one by
 * one: docs/decisions/005-two-dense-providers.md. Bits are the same for any number of
 * threads that gnn__tall accepts. */
#ifndef GNN_KERNELS_TALL_H
#define GNN_KERNELS_TALL_H

#include <lib/kernels/dense/dense.h>

/* True if so many threads do better with pieces. */
bool gnn__tall(const gnn__product_t *product, int threads);
/* Called outside parallel regions, with OpenMP's number of threads set to `threads`.
 * GNN_EUNSUPPORTED (no message is set): oneDNN refused. */
int gnn__tall_product(const gnn__product_t *product, int threads, gnn__arena_t *arena);

#endif
