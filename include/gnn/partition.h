/**
 * Partitions: the nodes of a data set divided into parts, one per machine, and folders that hold a
 * set in this order, from which a rank maps only its own rows.
 *
 *     gnn_partition_new(&partition, data, &(gnn_partition_config_t){.parts = 8});
 *     gnn_partition_write(partition, data, "cora-8");
 *     gnn_partition_folder_open(&folder, "cora-8", 0);
 *     gnn_partition_folder_book(folder, ranks, book);
 *     gnn_partition_folder_rows(folder, book[rank], book[rank + 1], &rows);
 *
 * Nodes are renumbered so that a part is a range of rows: part p holds rows book[p] ..
 * book[p + 1] - 1, and each border is a multiple of GNN_SLICE rows, except for the last, the count
 * of nodes.
 * Other counts of ranks group the same slices, so that every count loads the same folder. The
 * senders of a receiver ascend by row: their order does not depend on the count of ranks.
 *
 * A receiver whose sender is in another part needs that row: its part's halo is the set of such
 * senders, each once. The backward pass needs the gradients of receivers in other parts.
 */
#ifndef GNN_PARTITION_H
#define GNN_PARTITION_H

#include <gnn/data.h>
#include <gnn/ranks.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The largest count of parts. */
#define GNN_MAX_PARTS 4096

/** A partition of the nodes of a set. */
typedef struct gnn_partition gnn_partition_t;

/** Settings of gnn_partition_new. Zero means the default in brackets. */
typedef struct gnn_partition_config {
    int64_t parts; /**< at least 1, at most the count of slices and GNN_MAX_PARTS */
    /** "metis": few edges between parts, equal sums of node weights, and as many training nodes in
     * each; "hash": nodes drawn at random, "range": ranges of the set's order with equal sums of
     * node weights, both in O(nodes) memory. With `part_of`: NULL ["metis"] */
    const char *method;
    gnn_ints_t part_of; /**< (nodes) the part of each node, from 0; no array: by `method` */
    /** of "metis" and "range": weight of a node: its in-degree plus this [16] */
    int64_t node_cost;
    int64_t split; /**< split whose training nodes are balanced and counted */
    uint64_t seed; /**< of "metis" and "hash" */
} gnn_partition_config_t;

/**
 * Divides the nodes of a set into parts.
 *
 * Borders are rounded to slices: up to half a slice of nodes per border moves to a neighbouring
 * part, those with few neighbours in their own.
 *
 * @param[out] partition  the caller's, for gnn_partition_free
 * @param[in] data        one graph of one part of edges; read, not kept
 * @param[in] config      must not be NULL
 * @return GNN_OK; GNN_EINVALID (a count of parts or another setting, with its value; more parts
 *         than slices); GNN_ENOTFOUND (no such method); GNN_EUNSUPPORTED (spans, segments, several
 *         graphs; "metis" without METIS, or with more links than its indices count); GNN_EMEMORY.
 *
 * Cost: O(nodes + edges) time; O(nodes + parts^2) memory, so that a set of mapped arrays larger
 * than memory can be partitioned by "range" or "hash". "metis" needs O(nodes + edges) memory.
 * Paper: Karypis and Kumar 1998.
 */
GNN_API int gnn_partition_new(gnn_partition_t **partition, const gnn_data_t *data,
                              const gnn_partition_config_t *config);
/** Frees a partition; may be NULL. */
GNN_API void gnn_partition_free(gnn_partition_t *partition);

/** The parts of a partition. Arrays are the partition's. */
typedef struct gnn_partition_sizes_s {
    int64_t parts;       /**< count of the parts */
    int64_t cut;         /**< edges whose ends are in two parts */
    const char *method;  /**< a name of gnn_partition_config_t.method, or "given" */
    const int64_t *book; /**< (parts + 1) first row of each part, and the count of nodes */
    /** (parts x parts) rows that part r sends to part c before each aggregation, at
     * [r * parts + c] */
    const int64_t *traffic;
} gnn_partition_sizes_t;
/** Reads the sizes of a partition, which must not be NULL. */
GNN_API gnn_partition_sizes_t gnn_partition_sizes(const gnn_partition_t *partition);

/** The size of a part, and of its exchanges in one layer. */
typedef struct gnn_partition_part_s {
    int64_t nodes, edges;         /**< receivers, and their incoming edges */
    int64_t training;             /**< training nodes of the split */
    int64_t halo, sent;           /**< rows received, and sent, before an aggregation */
    int64_t halo_back, sent_back; /**< rows of gradients received, and sent */
    int64_t peers, peers_back;    /**< parts to which it sends */
    int64_t from, from_back;      /**< parts from which it receives */
    int64_t features;             /**< bytes of its rows of features, labels and masks */
} gnn_partition_part_t;
/**
 * Reads the sizes of a part. GNN_EINVALID: a NULL, or `part` is out of range.
 *
 * @param[in] part  index of the part
 */
GNN_API int gnn_partition_part(const gnn_partition_t *partition, int64_t part,
                               gnn_partition_part_t *sizes);

/** Bytes and messages of a part in a training step over the whole graph. */
typedef struct gnn_partition_step_s {
    int64_t bytes_sent, bytes_received, messages_sent, messages_received;
    /** features, graph with transpose, and the rows of all layers with halo and gradients */
    int64_t memory;
} gnn_partition_step_t;
/**
 * Computes bytes, messages and memory of a training step in which each layer exchanges one matrix
 * forward and its gradient backward. With e bytes per element and w the sum of the widths:
 *
 *     bytes sent     e w (sent + sent_back)
 *     messages sent  layers (peers + peers_back)
 *     memory         features + 8 (2 nodes + halo + 2) + 16 edges + 2 e w (nodes + halo)
 *
 * @param[in] part    index of the part
 * @param[in] layers  count of the layers, at least 1
 * @param[in] widths  (layers) columns of the matrix that a layer exchanges, at least 1
 * @return GNN_OK; GNN_EINVALID (a NULL, no such part, a width); GNN_EOVERFLOW
 */
GNN_API int gnn_partition_step(const gnn_partition_t *partition, int64_t part, int64_t layers,
                               const int64_t *widths, gnn_partition_step_t *step);

/* ---- folders (docs/partition.md) ---- */

/**
 * Writes a set in the order of a partition: arrays as .npy, and partition.json with a version and
 * checksums. gnn_data_open opens the folder as a set again, gnn_partition_folder_open maps it.
 *
 * @param[in] data    the set from which the partition was made, unchanged
 * @param[in] folder  must not exist, or be an empty folder; it appears complete or not at all
 * @return GNN_OK; GNN_EINVALID; GNN_EUNSUPPORTED: an array on types; GNN_EIO: the folder exists, or
 *         a write fails; GNN_EMEMORY
 *
 * Cost: O(size of the set) time, O(nodes) memory: rows are gathered and written block by block.
 */
GNN_API int gnn_partition_write(const gnn_partition_t *partition, const gnn_data_t *data,
                                const char *folder);

/** A folder of gnn_partition_write whose arrays are mapped. */
typedef struct gnn_partition_folder gnn_partition_folder_t;

/**
 * Maps a folder. Header, types, shapes and the book are checked; elements are paged in on access.
 *
 * @param[in] verify  1: also reads every array, compares its checksum, and checks that ids of nodes
 *                    and edges appear once each
 * @return GNN_OK; GNN_EIO (a file is missing or cannot be read); GNN_EFORMAT with file, position,
 *         what was expected and what was found; GNN_EUNSUPPORTED: another version; GNN_EMEMORY.
 *         `*folder` is NULL then.
 *
 * The files must not be truncated while they are mapped. Cost: O(parts + arrays); with `verify`
 * one pass over the files.
 */
GNN_API int gnn_partition_folder_open(gnn_partition_folder_t **folder, const char *path, int verify);
/** Ends the mapping, unless a set of gnn_data_open still reads it; may be NULL. */
GNN_API void gnn_partition_folder_free(gnn_partition_folder_t *folder);

/** The sizes of a folder. */
typedef struct gnn_partition_folder_sizes_s {
    int64_t nodes, edges, features, classes, splits, parts;
    const int64_t *book; /**< (parts + 1), the folder's */
} gnn_partition_folder_sizes_t;
/** Reads the sizes of a folder; `folder` must not be NULL. */
GNN_API gnn_partition_folder_sizes_t gnn_partition_folder_sizes(const gnn_partition_folder_t *folder);
/**
 * The rows of each rank: rank r owns book[r] .. book[r + 1] - 1. If `ranks` divides the count of
 * parts, ranks are unions of parts; otherwise slices are grouped by their weights, edges plus 16
 * per node. With more ranks than slices some ranks own no rows.
 *
 * @param[in] ranks  from 1 to GNN_MAX_PARTS
 * @param[out] book  (ranks + 1), caller's
 * @return GNN_OK; GNN_EINVALID; GNN_EFORMAT: indptr.npy falls. O(parts, or nodes / 512)
 */
GNN_API int gnn_partition_folder_book(const gnn_partition_folder_t *folder, int64_t ranks,
                                      int64_t *book);

/** Rows lo .. hi - 1 of a folder: pointers into the mapped arrays. */
typedef struct gnn_partition_folder_rows_s {
    int64_t lo, hi;
    /** (hi - lo + 1) offsets into indices and edges of the whole folder: row lo + r receives from
     * indices[indptr[r]] .. indices[indptr[r + 1] - 1] */
    const int64_t *indptr;
    const int32_t *indices; /**< senders, as rows of the whole folder */
    const int64_t *edges;   /**< edge ids of the original set */
    gnn_tensor_t x;         /**< (hi - lo x features); read only; data NULL if they are sparse */
    /** (hi - lo + 1) offsets into x_indices and x_values of the whole folder; NULL: dense */
    const int64_t *x_indptr;
    const int32_t *x_indices;
    const gnn_real_t *x_values;
    const int32_t *labels; /**< (hi - lo) */
    /** masks of the first split (hi - lo), that of split s at + s * nodes */
    const uint8_t *train, *validation, *test;
} gnn_partition_folder_rows_t;
/**
 * Reads a range of rows, whose ids are checked: senders are rows of the folder and ascend within a
 * receiver, columns are features.
 *
 * @param[in] lo, hi  0 <= lo <= hi <= nodes
 * @return GNN_OK; GNN_EINVALID: no such rows; GNN_EFORMAT names file and position. O(rows + edges
 *         of the rows); only their pages are read.
 */
GNN_API int gnn_partition_folder_rows(const gnn_partition_folder_t *folder, int64_t lo, int64_t hi,
                                      gnn_partition_folder_rows_t *rows);

/* ---- over ranks (docs/ranks.md) ---- */

/**
 * Opens the rows of this rank of a folder: a set for gnn_train, gnn_evaluate and gnn_predict over
 * the ranks of the context. Its nodes, features, labels and masks are those of own rows; its graph
 * has own receivers and the senders of all rows. What needs all nodes refuses the set
 * (GNN_EUNSUPPORTED): saving, random splits, samples. Arrays on edges are mapped whole, with a row
 * for each edge of all ranks in the order of the folder.
 *
 * A collective call: each rank reads its own rows, and some of the files once for their checksums.
 *
 * @param[out] data    for gnn_data_free; NULL after an error
 * @param[in] context  with ranks (gnn_context_set_ranks)
 * @param[in] folder   of gnn_partition_write, the same on all ranks
 * @return GNN_OK; GNN_EINVALID: a NULL, no ranks, or ranks with different folders; the errors of
 *         gnn_partition_folder_open and gnn_partition_folder_rows
 *
 * Cost: O(own rows and edges) time and memory, and the files' bytes divided by the ranks for
 * checksums. See also: gnn_partition_folder_book, for the rows of each rank.
 */
GNN_API int gnn_data_open_rank(gnn_data_t **data, gnn_context_t *context, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
