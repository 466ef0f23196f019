/* What oneDNN's products have laid out, or rounded, of weights that stay as they are. */
#ifndef GNN_KERNELS_PREPACKED_H
#define GNN_KERNELS_PREPACKED_H

#include <lib/kernels/dense/dense.h>
#include <lib/kernels/dense/onednn.h>

/* Of which matrix a pack is, and in what form. */
typedef struct gnn__prepacked_key {
    const gnn_real_t *b;
    int64_t rows, cols, stride;
    bool transposed;
    gnn_precision_t level;
    gnn__layout_view_t layout; /* NULL: the order that the matrix has */
} gnn__prepacked_key_t;

bool gnn__prepacked_cover(const gnn__prepacked_t *prepacked, const gnn_real_t *b);
/* NULL if there is none. It stays until all are freed. */
void *gnn__prepacked_find(gnn__prepacked_t *prepacked, const gnn__prepacked_key_t *key);
/* Takes `pack`, of gnn__aligned, over, and returns the one that products read from now on: another
 * thread's, where that was faster. NULL, and the pack is still the caller's: no memory. */
void *gnn__prepacked_add(gnn__prepacked_t *prepacked, const gnn__prepacked_key_t *key, void *pack);

#endif
