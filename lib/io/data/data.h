/* Inside of data sets: what the readers, the splitter and the small built-in sets share. */
#ifndef GNN_LIB_IO_DATA_H
#define GNN_LIB_IO_DATA_H

#include <gnn/io.h>
#include <lib/base/base.h>
#include <lib/io/arrays/text_file.h>

/* ---- from files: each fills a zeroed data set but for its name; on failure the caller frees it, and the message names the file ---- */

int gnn__data_read_npz(gnn_data_t *data, const char *path);
/* NAME.content and NAME.cites, by either path. */
int gnn__data_read_linqs(gnn_data_t *data, const char *path);
/* A folder as OGB unpacks it. */
int gnn__data_read_ogb(gnn_data_t *data, const char *path);
int gnn__data_read_edge_list(gnn_data_t *data, const char *path);
int gnn__data_read_graphml(gnn_data_t *data, const char *path);

/* A set that is its links alone: no features, no labels, one split that holds nobody. */
int gnn__data_bare(gnn_data_t *data, int64_t n, int64_t m, const int32_t *a, const int32_t *b);
/* A class is a number below this, or below the number of nodes: labels are counted, and a file of a few bytes must not ask for gigabytes. */
#define GNN__MOST_CLASSES 65536

/* Classes by name: labels[k] is the place of words[k] among the names in the order of their bytes, -1 where it is empty. data->class_names and
 * data->classes come from it. */
int gnn__data_class_words(gnn_data_t *data, const gnn__text_t *text, const gnn__text_field_t *words,
                          int64_t count, int32_t *labels);
/* The optional arrays class_names and class_name_offsets. */
int gnn__data_class_names(gnn_data_t *data, const gnn_arrays_t *arrays);
void gnn__data_free_class_names(gnn_data_t *data);

/* ---- parts ---- */

/* Fills a zeroed data set from the arrays of a file, in whichever layout they are (docs/formats.md). On failure the caller frees it. */
int gnn__data_from_arrays(gnn_data_t *data, const gnn_arrays_t *arrays);

/* The graph of m pairs (a[k], b[k]): both directions of each, without self-loops and duplicates, senders ascending. O(n + m). */
int gnn__data_graph(gnn_graph_t **graph, int64_t n, int64_t m, const int32_t *a, const int32_t *b);

/* Fills `to` with `from` in another order: row r is row order[r], in the graph, if there is one, and in features, labels and masks; the rest is
 * copied as it stands. On failure, and in the end, the caller frees the rows. */
int gnn__data_arrange(gnn_data_t *to, const gnn_data_t *from, const int64_t *order);
/* Frees graph, features, labels and masks. */
void gnn__data_free_rows(gnn_data_t *data);
/* Makes `splits` empty masks of each kind. */
int gnn__data_masks(gnn_data_t *data, int64_t splits);
/* Draws the one split of a set that came without: train 20 a class but no more than half of it, then 500 for validation and 1000 for testing, a third
 * and two thirds of the rest where there are fewer. Depends on labels and seed only. */
int gnn__data_split(gnn_data_t *data, uint64_t seed);
/* order = 0..n-1 shuffled by `seed`. */
void gnn__data_shuffle(int32_t *order, int64_t n, uint64_t seed);

#endif
