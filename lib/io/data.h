/* Inside of data sets: what the readers, the splitter and the small built-in sets share. */
#ifndef GNN_LIB_IO_DATA_H
#define GNN_LIB_IO_DATA_H

#include <gnn/io.h>
#include <lib/base/base.h>

/* Fills a zeroed data set from the arrays of a file, in whichever layout they are (docs/formats.md). On failure the caller frees it. */
int gnn__data_read(gnn_data_t *data, const gnn_arrays_t *arrays);

/* The graph of m pairs (a[k], b[k]): both directions of each, without self-loops and duplicates, senders ascending. O(n + m). */
int gnn__data_graph(gnn_graph_t **graph, int64_t n, int64_t m, const int32_t *a, const int32_t *b);

/* Makes `splits` empty masks of each kind. */
int gnn__data_masks(gnn_data_t *data, int64_t splits);
/* Draws the one split of a set that came without: train 20 a class but no more than half of it, then 500 for validation and 1000 for testing, a third
 * and two thirds of the rest where there are fewer. Depends on labels and seed only. */
int gnn__data_split(gnn_data_t *data, uint64_t seed);
/* order = 0..n-1 shuffled by `seed`. */
void gnn__data_shuffle(int32_t *order, int64_t n, uint64_t seed);

#endif
