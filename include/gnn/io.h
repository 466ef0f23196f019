/**
 * Data and weights, in and out. Readers never trust a file: sizes are checked before anything is
 * allocated, memory is bounded by the file's size, and an error says which file, where, what was
 * expected and what came. Nothing half built is left behind.
 */
#ifndef GNN_IO_H
#define GNN_IO_H

#include <gnn/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays by name: .npz (and .npy inside) ---- */

/** An array of any rank, C order, contiguous. Owned by its gnn_arrays_t. */
typedef struct gnn_array {
    const char *name;
    gnn_dtype_t dtype;
    int ndim;
    int64_t shape[8];
    int64_t count; /**< product of the shape */
    const void *data;
} gnn_array_t;

/** Arrays by name that were read from one file. */
typedef struct gnn_arrays gnn_arrays_t;

/** The array as one of indices, where it is of int32 or int64 (functions that take it refuse other
 * types). */
static inline gnn_ints_t gnn_array_ints(const gnn_array_t *array)
{
    gnn_ints_t ints;
    ints.data = array->data;
    ints.type = array->dtype;
    return ints;
}

/** Limits on what a reader accepts; 0: the default in brackets. */
typedef struct gnn_limits {
    uint64_t max_bytes;  /**< unpacked, all arrays together [8 GiB] */
    int64_t max_entries; /**< [4096] */
    /** unpacked over packed size of one entry [1100, what deflate can reach] */
    uint64_t max_ratio;
    /** unpacked over packed size of a whole file, beyond the first 64 MiB of a .npz and 8 MiB of a
     * gzipped text [200] */
    uint64_t max_growth;
} gnn_limits_t;

/** Reads every plain array of a .npz; object arrays are left out and never unpickled. GNN_EIO,
 * GNN_EFORMAT, GNN_EMEMORY. */
GNN_API int gnn_npz_read(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits);
/**
 * Maps a .npy file: the header is read and checked, the numbers stay on the disk until they are
 * looked at. The owner ends the mapping: hand it to the borrower of the memory
 * (gnn_graph_borrow_csr, gnn_data_new), or call owner->release(owner->user).
 *
 * @param[out] array  type, shape, read-only numbers aligned for their type, the file's name; valid
 *                    until the release
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT (no .npy, or the file is shorter or longer than its header
 *         says); GNN_EUNSUPPORTED (objects or text, Fortran order of a matrix, numbers that are not
 *         aligned, as numpy before 1.14 wrote some); GNN_EMEMORY. Nothing is mapped then.
 *
 * The file must not be cut short while it is mapped: a read beyond its end kills the program with
 * SIGBUS, as it does with any mapped file. Cost: O(1).
 */
GNN_API int gnn_npy_map(gnn_array_t *array, gnn_owner_t *owner, const char *path);
/**
 * Writes one array as a .npy that numpy.load opens, in the machine's order of bytes, C order.
 *
 * @param[in] array  its name is not written
 * @return GNN_OK; GNN_ESHAPE (shape and count do not agree); GNN_EINVALID (no name, no such type,
 *         no data); GNN_EUNSUPPORTED (a type that numpy lacks: bfloat16); GNN_EIO; GNN_EMEMORY. The
 *         file appears complete or not at all.
 */
GNN_API int gnn_npy_write(const char *path, const gnn_array_t *array);
/** Writes arrays as a compressed .npz by temporary file and rename. */
GNN_API int gnn_npz_write(const char *path, int64_t count, const gnn_array_t *arrays);
/** Reads the arrays and the metadata strings of a safetensors file; the format's own rules are all
 * checked. */
GNN_API int gnn_safetensors_read(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits);
/** Writes arrays as a safetensors file, with `n_metadata` pairs of key and value in its header. */
GNN_API int gnn_safetensors_write(const char *path, int64_t n_arrays, const gnn_array_t *arrays,
                                  int64_t n_metadata, const char *const (*metadata)[2]);
/** Frees arrays with their names and metadata; NULL is fine. */
GNN_API void gnn_arrays_free(gnn_arrays_t *arrays);
/** Count of the arrays; 0 for NULL. */
GNN_API int64_t gnn_arrays_count(const gnn_arrays_t *arrays);
/** The array of an index, in the order of the file; NULL past the last. */
GNN_API const gnn_array_t *gnn_arrays_at(const gnn_arrays_t *arrays, int64_t index);
/** The array of a name; NULL if there is none. */
GNN_API const gnn_array_t *gnn_arrays_find(const gnn_arrays_t *arrays, const char *name);
/** A metadata string of safetensors, or NULL. */
GNN_API const char *gnn_arrays_metadata(const gnn_arrays_t *arrays, const char *key);
/** Element k of an array, converted to double. */
GNN_API double gnn_array_get(const gnn_array_t *array, int64_t k);
/** Converts all elements of an array to reals, into `out` (array->count, caller's). */
GNN_API void gnn_array_reals(const gnn_array_t *array, gnn_real_t *out);

/* ---- graphs for other programs ---- */

/**
 * Writes a graph as GraphML through igraph, after gnn_igraph_use (gnn/igraph.h): directed sender
 * -> receiver, one edge for each pair of gnn_graph_pairs, in its order.
 *
 * @param[in] graph   n nodes that both send and receive
 * @param[in] names   (n) UTF-8, the node attribute "name"; NULL: none
 * @param[in] weight  (gnn_graph_n_pairs), the edge attribute "weight", as an attention map's
 *                    entries; NULL: none
 * @param[in] path    the file to write
 * @return GNN_OK; GNN_EINVALID (a name is no text); GNN_ETOPOLOGY (n_dst != n_src); GNN_ENUMERIC (a
 *         weight is not finite); GNN_EIO; GNN_EUNSUPPORTED before gnn_igraph_use; one of
 *         igraph's codes.
 *
 * The file appears complete or not at all. Cost: O(n + m) time and memory. Threads: takes igraph's
 * lock.
 */
GNN_API int gnn_graph_write_graphml(const gnn_graph_t *graph, const char *const *names,
                                    const gnn_real_t *weight, const char *path);

/* ---- weights ---- */

/** Saves config, parameters and buffers as safetensors; the configs are in the metadata, so that
 * gnn_model_load needs only the file. */
GNN_API int gnn_model_save(const gnn_model_t *model, const char *path);
/**
 * Makes the model that a file holds: one of gnn_model_save, or a module of PyTorch Geometric that
 * examples/from_pyg.py traced (gnn_model_graphs then makes the graphs of its slots).
 *
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT, GNN_ESHAPE, GNN_ENOTFOUND, GNN_ENUMERIC with the file's
 *         name and the place; GNN_EMEMORY
 */
GNN_API int gnn_model_load(gnn_model_t **model, gnn_context_t *context, const char *path);

/** A row of your own: the table that it would stand in ("aggregator", "message", "update", "map",
 * "weigher", "prior" or "op"), and its address. */
typedef struct gnn_row {
    const char *table;
    const void *row;
} gnn_row_t;
/** Table entries of the program's own, for gnn_model_load_with. */
typedef struct gnn_rows {
    int64_t count;
    const gnn_row_t *list;
} gnn_rows_t;

/**
 * gnn_model_load for a model that has aggregators, messages or ops from outside the library: a file
 * holds their names alone.
 *
 *     gnn_row_t mine[] = {{"aggregator", &median}, {"op", &my_op}};
 *     gnn_model_load_with(&model, context, path, &(gnn_rows_t){2, mine});
 *
 * @param[in] rows  borrowed during the call; the rows themselves must live as long as the model.
 *                  NULL: none
 * @return GNN_OK; GNN_EINVALID: an entry of the list without a row, or of no such table;
 *         GNN_EFORMAT names a row that is neither in the library nor in the list; else as
 *         gnn_model_load
 */
GNN_API int gnn_model_load_with(gnn_model_t **model, gnn_context_t *context, const char *path,
                                const gnn_rows_t *rows);

/** Naming conventions of other libraries (lib/io/weights/names.def): PyG's and PyTorch's modules;
 * arrays per head, numbered by layer. */
typedef enum {
    GNN_NAMES_OWN = 0,
    GNN_NAMES_PYG,
    /** MultiheadAttention, TransformerEncoderLayer, the self-attention of TransformerDecoderLayer:
     * told by the config */
    GNN_NAMES_PYTORCH,
    GNN_NAMES_GAT_REFERENCE,
    /** the other half of TransformerDecoderLayer; in a model, steps that name their receivers are
     * taken for it */
    GNN_NAMES_PYTORCH_DECODER_CROSS
} gnn_names_t;

/**
 * Copies arrays into a layer's fields by the names another library uses; `prefix` stands before
 * each name ("w.", "encoder.layers.0."). Layouts are turned as the table says (a PyTorch Linear is
 * out x in); numbers may be of any floating type. Everything is checked before anything is copied.
 * GNN_ENOTFOUND: a field has no array; GNN_EFORMAT: an array under the prefix belongs to no field,
 * or is not floating; GNN_ESHAPE with both shapes; GNN_ENUMERIC: a number is not finite, with its
 * place; GNN_EUNSUPPORTED: there is no such module there.
 */
GNN_API int gnn_layer_import(gnn_layer_t *layer, gnn_names_t names, const char *prefix,
                             const gnn_arrays_t *arrays);
/** Writes a layer's values (gradients 0) or gradients (1) in shape and layout of another library:
 * those of array `name` (without prefix) into `out`, `count` reals. The reverse of
 * gnn_layer_import. GNN_ENOTFOUND if the name does not belong to this
 *  layer; GNN_ESHAPE if `count` is another. */
GNN_API int gnn_layer_export(const gnn_layer_t *layer, gnn_names_t names, const char *name,
                             int gradients, gnn_real_t *out, int64_t count);
/** Copies arrays into all steps of a model that have parameters, by the names another library uses:
 * `prefix` is completed for each step, %lld by its number among them ("%lld." for PyG's
 * Sequential),
 * %s by its name up to a colon, so that two steps may share a module ("decoder.0",
 * "decoder.0:cross"). Steps with the same prefix share arrays. Errors: as gnn_layer_import. */
GNN_API int gnn_model_import(gnn_model_t *model, gnn_names_t names, const char *prefix,
                             const gnn_arrays_t *arrays);
/** Writes values or gradients of a model in shape and layout of another library, as
 * gnn_layer_export does for a layer; `name` is the whole name, prefix included. */
GNN_API int gnn_model_export(const gnn_model_t *model, gnn_names_t names, const char *prefix,
                             const char *name, int gradients, gnn_real_t *out, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
