/**
 * Types shared by the entries of all tables. An entry is a const struct with a name, a paper and a
 * few functions; it lists its options and declares the parameters that it owns. A table is a list
 * of entries (gnn/tables/NAME.def), and every entry is a symbol of the library:
 * `&gnn_aggregator_max`.
 */
#ifndef GNN_ROW_H
#define GNN_ROW_H

#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Maximum count of an entry's options, and of its named parameters. */
#define GNN_ROW_OPTIONS 4
#define GNN_ROW_PIECES 8

/** The values that an option takes between its bounds. */
typedef enum {
    GNN_OPTION_REAL = 0, /**< every one but NaN */
    GNN_OPTION_INTEGER   /**< integers: counts, switches (0 or 1), values of an enum */
} gnn_option_kind_t;

/** A named setting of an entry. 0 in a config or an attribute means the initial value. */
typedef struct gnn_option {
    const char *name;
    double initial, min, max;
    const char *help;
    gnn_option_kind_t kind;
} gnn_option_t;

/** Initialisation of a parameter. */
typedef enum {
    GNN_INIT_ZEROS,
    GNN_INIT_ONES,
    GNN_INIT_GLOROT,
    GNN_INIT_UNIFORM_FAN_IN,
    GNN_INIT_NORMAL,
    GNN_INIT_CONSTANT
} gnn_init_t;

/** One named parameter of an entry. */
typedef struct gnn_piece {
    const char *name; /**< name in the layer: "attention.vector" */
    int64_t rows, cols;
    gnn_init_t init;
    double init_argument;    /**< constant, or standard deviation */
    int64_t fan_in, fan_out; /**< of GNN_INIT_GLOROT; 0: rows, cols */
} gnn_piece_t;

/**
 * Sizes and settings passed to the functions of every entry. The sizes are those of the whole
 * aggregation; `options` and `parameters` are the entry's own.
 */
typedef struct gnn_aggregate_shape {
    int64_t width;         /**< of an output row: heads * d_v for attention, else message_width */
    int64_t message_width; /**< of a message: value_heads * d_v for attention */
    int64_t heads;         /**< 1 where the aggregator has no scores */
    int64_t key_heads;     /**< divides heads: head a reads key head a / (heads / key_heads) */
    int64_t value_heads;   /**< divides heads: head a reads value head a / (heads / value_heads) */
    int64_t d_k, d_v;      /**< width of one head's key, and of its value */
    gnn_real_t scale;      /**< dot scores are multiplied by it */
    gnn_real_t slope;      /**< of the leaky ReLU in additive scores */
    /** c: scores become c tanh(score / c) before priors are added; 0: no cap */
    gnn_real_t softcap;
    double options[GNN_ROW_OPTIONS]; /**< values of the entry's options, in its order */
    /** Parameters that the entry owns. One: its rows x cols. Several: 1 x their total size, one
     * after another, each row-major. `data` is NULL if there are none, and during shape
     * inference. */
    gnn_tensor_t parameters;
} gnn_aggregate_shape_t;

/** Lists the parameters that an entry owns for these sizes and options; returns their count. */
typedef size_t gnn_row_declare_t(const gnn_aggregate_shape_t *shape,
                                 gnn_piece_t pieces[GNN_ROW_PIECES]);

#ifdef __cplusplus
}
#endif
#endif
