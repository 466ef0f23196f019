/**
 * Input and output of data and weights. Readers do not trust a file: sizes are checked before
 * memory is allocated, memory is bounded by the file's size, and an error gives the file, the
 * position, what was expected and what was found. After an error no partial object remains.
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

/** Named arrays of one file. */
typedef struct gnn_arrays gnn_arrays_t;

/** The array as an array of indices, if it is int32 or int64 (functions that take it refuse other
 * types). */
static inline gnn_ints_t gnn_array_ints(const gnn_array_t *array)
{
    gnn_ints_t ints;
    ints.data = array->data;
    ints.type = array->dtype;
    return ints;
}

/** Limits of readers; 0: the default in brackets. */
typedef struct gnn_limits {
    uint64_t max_bytes;  /**< unpacked size of all arrays [8 GiB] */
    int64_t max_entries; /**< [4096] */
    /** unpacked over packed size of one entry [1100, deflate's maximum] */
    uint64_t max_ratio;
    /** unpacked over packed size of a whole file, beyond the first 64 MiB of a .npz and 8 MiB of a
     * gzipped text [200] */
    uint64_t max_growth;
} gnn_limits_t;

/**
 * Reads every plain array of a .npz; object arrays are skipped and never unpickled. GNN_EIO,
 * GNN_EFORMAT, GNN_EMEMORY.
 *
 * @param[in] limits  NULL, and 0 in a field: the defaults
 */
GNN_API int gnn_npz_read(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits);
/**
 * Maps a .npy file: the header is read and checked, elements are paged in on access. The owner ends
 * the mapping: pass it to the borrower of the memory (gnn_graph_borrow_csr, gnn_data_new), or call
 * owner->release(owner->user).
 *
 * @param[out] array  type, shape, read-only elements aligned for their type, the file's name; valid
 *                    until the release
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT (not a .npy, or its size does not match the header);
 *         GNN_EUNSUPPORTED (objects or text, a matrix in Fortran order, unaligned elements, as
 *         numpy before 1.14 wrote some); GNN_EMEMORY. Nothing is mapped then.
 *
 * The file must not be truncated while it is mapped: an access beyond its end raises SIGBUS. Cost:
 * O(1).
 */
GNN_API int gnn_npy_map(gnn_array_t *array, gnn_owner_t *owner, const char *path);
/**
 * Writes one array as a .npy for numpy.load, in native byte order and C order.
 *
 * @param[in] array  its name is not written
 * @return GNN_OK; GNN_ESHAPE (shape and count do not agree); GNN_EINVALID (no path, no such type,
 *         no data); GNN_EUNSUPPORTED (a type that numpy lacks: bfloat16); GNN_EIO; GNN_EMEMORY. The
 *         file appears complete or not at all.
 */
GNN_API int gnn_npy_write(const char *path, const gnn_array_t *array);
/**
 * Writes arrays as a compressed .npz by temporary file and rename.
 *
 * @param[in] count   count of the arrays
 * @param[in] arrays  (count) with distinct names
 * @return GNN_OK; GNN_EINVALID (a NULL, an array without name, type or data, a name twice);
 *         GNN_ESHAPE: shape and count do not agree; GNN_EOVERFLOW; GNN_EIO; GNN_EMEMORY. The file
 *         appears complete or not at all
 */
GNN_API int gnn_npz_write(const char *path, int64_t count, const gnn_array_t *arrays);
/**
 * Reads the arrays and the metadata strings of a safetensors file; all rules of the format are
 * checked.
 *
 * @param[in] limits  NULL, and 0 in a field: the defaults
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EIO; GNN_EFORMAT: not such a file, or beyond `limits`;
 *         GNN_EMEMORY
 */
GNN_API int gnn_safetensors_read(gnn_arrays_t **arrays, const char *path, const gnn_limits_t *limits);
/**
 * Writes arrays as a safetensors file, with metadata in the header.
 *
 * @param[in] n_arrays    count of the arrays
 * @param[in] arrays      (n_arrays) with distinct names
 * @param[in] n_metadata  count of the pairs
 * @param[in] metadata    (n_metadata) {key, value} in UTF-8; NULL if there are none
 * @return GNN_OK; GNN_EINVALID (a NULL, an array without name, type or data, a name twice, text
 *         that is not UTF-8); GNN_ESHAPE: shape and count do not agree; GNN_EOVERFLOW; GNN_EIO;
 *         GNN_EMEMORY
 */
GNN_API int gnn_safetensors_write(const char *path, int64_t n_arrays, const gnn_array_t *arrays,
                                  int64_t n_metadata, const char *const (*metadata)[2]);
/** Frees arrays with their names and metadata; may be NULL. */
GNN_API void gnn_arrays_free(gnn_arrays_t *arrays);
/** The array of an index, in the order of the file; NULL past the last. */
GNN_API const gnn_array_t *gnn_arrays_at(const gnn_arrays_t *arrays, int64_t index);
/** The array of a name; NULL if there is none. */
GNN_API const gnn_array_t *gnn_arrays_find(const gnn_arrays_t *arrays, const char *name);
/**
 * A metadata string of safetensors, or NULL.
 *
 * @param[in] key  name of the string
 */
GNN_API const char *gnn_arrays_metadata(const gnn_arrays_t *arrays, const char *key);
/**
 * Element k of an array, converted to double.
 *
 * @param[in] k  from 0 to array->count less 1; not checked
 */
GNN_API double gnn_array_get(const gnn_array_t *array, int64_t k);

/* ---- graphs for other programs ---- */

/**
 * Writes a graph as GraphML through igraph, after gnn_igraph_use (gnn/igraph.h): directed sender
 * -> receiver, one edge for each pair of gnn_graph_pairs, in its order.
 *
 * @param[in] graph   n nodes that both send and receive
 * @param[in] names   (n) UTF-8, the node attribute "name"; NULL: none
 * @param[in] weight  (gnn_graph_n_pairs), the edge attribute "weight"; NULL: none
 * @param[in] path    the file to write
 * @return GNN_OK; GNN_EINVALID (a name is not UTF-8); GNN_ETOPOLOGY (n_dst != n_src); GNN_ENUMERIC
 *         (a weight is not finite); GNN_EIO; GNN_EUNSUPPORTED before gnn_igraph_use; one of
 *         igraph's codes.
 *
 * The file appears complete or not at all. Cost: O(n + m) time and memory. Threads: takes igraph's
 * lock.
 */
GNN_API int gnn_graph_write_graphml(const gnn_graph_t *graph, const char *const *names,
                                    const gnn_real_t *weight, const char *path);

/* ---- weights ---- */

/**
 * A text of the program's own that the model's file and its checkpoints hold as metadata
 * "gnn.note", such as the preparation of its inputs: a loaded model has it again.
 *
 * @param[in] note  UTF-8, copied; NULL: none
 * @return GNN_OK; GNN_EINVALID: no model, or no text in UTF-8; GNN_EMEMORY
 */
GNN_API int gnn_model_set_note(gnn_model_t *model, const char *note);
/** The text of gnn_model_set_note, the model's own; NULL if there is none. */
GNN_API const char *gnn_model_note(const gnn_model_t *model);
/**
 * Saves config, parameters and buffers as safetensors; the configs are in the metadata, so that
 * gnn_model_load needs the file only.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EUNSUPPORTED: a parameter is stored as fp16 or bf16;
 *         GNN_EIO; GNN_EMEMORY
 */
GNN_API int gnn_model_save(const gnn_model_t *model, const char *path);
/**
 * Loads a model from a file that gnn_model_save wrote, or examples/from_pyg.py from a module of
 * PyTorch Geometric (gnn_model_graphs then makes the graphs of its slots).
 *
 * @return GNN_OK; GNN_EIO; GNN_EFORMAT, GNN_ESHAPE, GNN_ENOTFOUND, GNN_ENUMERIC with the file and
 *         the position; GNN_EMEMORY
 */
GNN_API int gnn_model_load(gnn_model_t **model, gnn_context_t *context, const char *path);

/** A table entry of the program's own: the name of its table ("aggregator", "message", "update",
 * "map", "weigher", "prior", "score" or "op"), and its address. */
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
 * gnn_model_load for a model with aggregators, messages or ops from outside the library, since a
 * file holds only their names.
 *
 *     gnn_row_t mine[] = {{"aggregator", &median}, {"op", &my_op}};
 *     gnn_model_load_with(&model, context, path, &(gnn_rows_t){2, mine});
 *
 * @param[in] rows  borrowed during the call; the entries themselves must outlive the model. NULL:
 *                  none
 * @return GNN_OK; GNN_EINVALID: an element of the list without an address, or with an unknown
 *         table; GNN_EFORMAT names an entry that is neither in the library nor in the list; else as
 *         gnn_model_load
 */
GNN_API int gnn_model_load_with(gnn_model_t **model, gnn_context_t *context, const char *path,
                                const gnn_rows_t *rows);

/** Naming conventions of other libraries (lib/weights/names.def): PyG's, PyTorch's and DGL's
 * modules; arrays per head, numbered by layer. */
typedef enum {
    GNN_NAMES_OWN = 0,
    GNN_NAMES_PYG,
    /** MultiheadAttention, TransformerEncoderLayer or the self-attention of
     * TransformerDecoderLayer, depending on the config */
    GNN_NAMES_PYTORCH,
    GNN_NAMES_GAT_REFERENCE,
    /** the cross-attention and feed-forward of TransformerDecoderLayer; in a model, used for steps
     * that name their receivers */
    GNN_NAMES_PYTORCH_DECODER_CROSS,
    /** DGL's GraphConv, SAGEConv, GINConv, GATConv, GATv2Conv */
    GNN_NAMES_DGL
} gnn_names_t;

/**
 * Copies arrays into a layer's parameters by the names of another library after a prefix ("w.",
 * "encoder.layers.0."). Layouts are transposed where needed (a PyTorch Linear is out x in);
 * elements may be of any floating-point type. Everything is checked before anything is copied.
 * GNN_ENOTFOUND: a parameter has no array; GNN_EFORMAT: an array under the prefix has no parameter,
 * or is not floating-point; GNN_ESHAPE with both shapes; GNN_ENUMERIC: an element is not finite,
 * with its index; GNN_EUNSUPPORTED: that library has no such module.
 *
 * @param[in] prefix  precedes each name in the arrays
 */
GNN_API int gnn_layer_import(gnn_layer_t *layer, gnn_names_t names, const char *prefix,
                             const gnn_arrays_t *arrays);
/**
 * Writes parameter values (gradients 0) or gradients (1) of a layer in the layout of another
 * library: those of array `name` (without prefix) into `out`, `count` reals. The inverse of
 * gnn_layer_import. GNN_ENOTFOUND if the layer has no such array; GNN_ESHAPE if `count` differs
 * from its size.
 *
 * @param[in]  gradients  0: values; 1: gradients
 * @param[out] out        (count) caller's; overwritten
 * @param[in]  count      count of the elements of the array
 */
GNN_API int gnn_layer_export(const gnn_layer_t *layer, gnn_names_t names, const char *name,
                             int gradients, gnn_real_t *out, int64_t count);
/**
 * Copies arrays into all model steps with parameters, by the names of another library. In `prefix`,
 * %lld is replaced by the index of the step among them ("%lld." for PyG's Sequential), %s by its
 * name up to a colon, so that two steps may share a module ("decoder.0", "decoder.0:cross"). Steps
 * with the same prefix share arrays. Errors: as gnn_layer_import.
 *
 * @param[in] prefix  precedes each name in the arrays
 */
GNN_API int gnn_model_import(gnn_model_t *model, gnn_names_t names, const char *prefix,
                             const gnn_arrays_t *arrays);
/**
 * gnn_layer_export for a model; `name` includes the prefix.
 *
 * @param[in]  prefix     as in gnn_model_import
 * @param[in]  gradients  0: values; 1: gradients
 * @param[out] out        (count) caller's; overwritten
 * @param[in]  count      count of the elements of the array
 * @return as gnn_layer_export; GNN_EINVALID: `prefix`
 */
GNN_API int gnn_model_export(const gnn_model_t *model, gnn_names_t names, const char *prefix,
                             const char *name, int gradients, gnn_real_t *out, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
