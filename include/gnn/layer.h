/**
 * The layer: one hop of message passing. There is one layer type; GCN, GAT and the Transformer are
 * configs of it.
 *
 *     gnn_layer_new(&layer, context, &GNN_GAT(.in = 1433, .out = 8, .heads = 8));
 *     gnn_layer_prepare(layer, graph, GNN_OFF);
 *     gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){ .x_src = &x }, &out);
 */
#ifndef GNN_LAYER_H
#define GNN_LAYER_H

#include <gnn/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A layer: its resolved config and its parameters. */
typedef struct gnn_layer gnn_layer_t;

/**
 * The update: h_i' from the aggregate `a` and the receiver's features x_i. An entry of
 * lib/layer/updates.def.
 *
 *     none           a                                        (+ W_self x_i with self_term)
 *     linear         W_out a                                  (+ W_self x_i with self_term)
 *     mlp            mlp((1 + eps) x_i + a), two products     GIN: Xu et al. 2019
 *     feed_forward   z = norm(x + W_out a), norm(z + ffn(z))  Transformer: Vaswani et al. 2017
 *     gated          as feed_forward, ffn(z) = W_1 (f(W_g z) * (W_0 z))      Shazeer 2020
 *     gru            GRU(a, x_i)                              gated graph networks: Li et al. 2016
 *     beta           b r + (1 - b) a, r = W_self x_i,         Graph Transformer: Shi et al. 2021
 *                    b = sigmoid(W_beta [a, r, a - r])
 */
typedef struct gnn_update {
    const char *name, *paper, *help;
    const struct gnn__update_rules *rules; /**< its functions, internal to the library */
} gnn_update_t;

/* Every entry is a constant: &gnn_update_mlp. */
#define GNN_UPDATE(name) GNN_API extern const gnn_update_t gnn_update_##name;
#include <gnn/tables/updates.def>
#undef GNN_UPDATE

/** The update of a name; NULL if there is none, and gnn_error_message() then lists the names.
 * Check it: in a config, NULL means the preset's choice (gnn_layer_config_set refuses a name). */
GNN_API const gnn_update_t *gnn_update_find(const char *name);

/** Combination of the outputs of heads. */
typedef enum { GNN_HEADS_DEFAULT = 0, GNN_HEADS_CONCAT, GNN_HEADS_AVERAGE } gnn_heads_t;
/** Position of the norm: after each part of the update (post-norm), or before it (pre-norm). */
typedef enum { GNN_NORM_POSITION_DEFAULT = 0, GNN_NORM_AFTER, GNN_NORM_BEFORE } gnn_norm_position_t;

/** Presets of a layer: GNN_PRESET_GCN, GNN_PRESET_SAGE, ... of lib/layer/presets.def. */
typedef enum {
    GNN_PRESET_NONE = 0,
#define GNN_PRESET(id, ...) GNN_PRESET_##id,
#include <gnn/tables/presets.def>
#undef GNN_PRESET
    GNN_PRESET_COUNT
} gnn_preset_t;

/** Values of an entry's options, in the entry's order; 0: the option's initial value. */
typedef double gnn_options_t[GNN_ROW_OPTIONS];

/** A prior of an attention layer, a term added to every score: {.prior = &gnn_prior_table,
 * .options = {32}}. */
typedef struct gnn_layer_prior {
    const gnn_prior_t *prior; /**< an entry of lib/aggregate/priors.def; NULL: none */
    gnn_options_t options;    /**< its options, in its order; 0: their initial values */
    /** GNN_ON: its values are an input of the layer (.priors of a step); GNN_OFF:
     * they are parameters of the layer */
    gnn_flag_t given;
} gnn_layer_prior_t;

/**
 * The config of a layer: sizes, entries of tables, and their options. Zero in a field means the
 * preset's choice, or the field's default where there is no preset; GNN_ZERO is a real that is
 * meant to be 0. docs/layer.md lists the fields with their meaning, range and default.
 */
typedef struct gnn_layer_config_s {
#define GNN_FIELD(type, name, kind, initial, low, high, help) type name;
#define GNN_FIELD_ARRAY(type, name, count) type name[count];
#define GNN_FIELD_AT(name, place, kind, initial, low, high, help)
#include <gnn/tables/fields.def>
#undef GNN_FIELD
#undef GNN_FIELD_ARRAY
#undef GNN_FIELD_AT
    /** GNN_ON in a config that gnn_layer_config_resolve made: a real that is 0 is meant to be 0 */
    gnn_flag_t resolved;
} gnn_layer_config_t;

/* Presets as config literals: GNN_GAT(.in = 64, .out = 7), or for any row of the list
 * GNN_PRESET_CONFIG(GAT, .in = 64, .out = 7). Each sets only .preset and what is written. */
/* clang-format off */
#define GNN_CONFIG(...) ((gnn_layer_config_t){__VA_ARGS__})
#define GNN_PRESET_CONFIG(id, ...) GNN_CONFIG(.preset = GNN_PRESET_##id, __VA_ARGS__)
/** Kipf & Welling 2017 */
#define GNN_GCN(...) GNN_CONFIG(.preset = GNN_PRESET_GCN, __VA_ARGS__)
/** Hamilton et al. 2017 */
#define GNN_SAGE(...) GNN_CONFIG(.preset = GNN_PRESET_SAGE, __VA_ARGS__)
/** Xu et al. 2019 */
#define GNN_GIN(...) GNN_CONFIG(.preset = GNN_PRESET_GIN, __VA_ARGS__)
/** Hu et al. 2020 */
#define GNN_GINE(...) GNN_CONFIG(.preset = GNN_PRESET_GINE, __VA_ARGS__)
/** Velickovic et al. 2018 */
#define GNN_GAT(...) GNN_CONFIG(.preset = GNN_PRESET_GAT, __VA_ARGS__)
/** Brody et al. 2022 */
#define GNN_GATV2(...) GNN_CONFIG(.preset = GNN_PRESET_GATV2, __VA_ARGS__)
/** Shi et al. 2021 */
#define GNN_TRANSFORMER_CONV(...) GNN_CONFIG(.preset = GNN_PRESET_TRANSFORMER_CONV, __VA_ARGS__)
/** Bresson & Laurent 2017 */
#define GNN_RESGATED(...) GNN_CONFIG(.preset = GNN_PRESET_RESGATED, __VA_ARGS__)
/** Li et al. 2016; one hop */
#define GNN_GATED_GRAPH(...) GNN_CONFIG(.preset = GNN_PRESET_GATED_GRAPH, __VA_ARGS__)
/** Vaswani et al. 2017 */
#define GNN_TRANSFORMER(...) GNN_CONFIG(.preset = GNN_PRESET_TRANSFORMER, __VA_ARGS__)
/* clang-format on */

/** The name of a preset, such as "gat"; NULL for GNN_PRESET_NONE and other values. */
GNN_API const char *gnn_preset_name(gnn_preset_t preset);
/** The preset of a name; GNN_PRESET_NONE if there is none, and gnn_error_message() then lists the
 * names. */
GNN_API gnn_preset_t gnn_preset_find(const char *name);

/* ---- configs ---- */

/** The description of one field of a config. */
typedef struct gnn_config_field {
    const char *name; /**< "heads" */
    const char *kind; /**< of its values: "integer", "rate", "flag", "activation", ... */
    const char *help; /**< one line; in brackets, the default that follows from other fields */
    double initial;   /**< the default; of an enum its value */
    double low, high; /**< range of an integer or a real */
} gnn_config_field_t;

/**
 * Fills in every field of a config as the layer will use it: resolving the result again gives the
 * same config.
 *
 * @return GNN_OK; GNN_EINVALID, GNN_ESHAPE or GNN_EUNSUPPORTED with the field's name and value
 */
GNN_API int gnn_layer_config_resolve(gnn_layer_config_t *resolved, const gnn_layer_config_t *config);

/** Describes field `index`, from 0. Errors: GNN_ENOTFOUND (past the last field). */
GNN_API int gnn_layer_config_field(size_t index, gnn_config_field_t *field);
/**
 * The name of an index among those that a field takes as its value ("relu"; the names of a table's
 * entries). NULL past the last, and for fields of integers and reals.
 *
 * @param[in] field  name of the field
 */
GNN_API const char *gnn_layer_config_choice(const char *field, size_t index);

/**
 * Sets a field by name: ("heads", "8"), ("aggregator", "max"), ("activation", "elu"), ("residual",
 * "on"), ("options", "0.5,2"), ("prior_0", "slope"). "default" is the preset's choice; a real that
 * is written as 0 is meant to be 0. The config is unchanged after an error.
 *
 * @param[in] value  text of the value
 * @return GNN_OK; GNN_ENOTFOUND with the list of names, if there is no field, entry or value of
 *         that name; GNN_EINVALID for a value that is not of the field's kind or lies outside its
 *         range.
 */
GNN_API int gnn_layer_config_set(gnn_layer_config_t *config, const char *name, const char *value);

/**
 * Writes a field's value as gnn_layer_config_set reads it. GNN_ENOTFOUND; GNN_EOVERFLOW if it is
 * longer.
 *
 * @param[out] value   (length) caller's; overwritten
 * @param[in]  length  bytes of `value`, with the terminating zero
 */
GNN_API int gnn_layer_config_get(const gnn_layer_config_t *config, const char *name, char *value,
                                 size_t length);

/* ---- layers ---- */

/** The inputs of a layer in one call. Tensors are borrowed; NULL where there is none. */
typedef struct gnn_inputs {
    const gnn_tensor_t *x_dst; /**< (n_dst x in_dst); NULL: receivers are the first n_dst senders */
    const gnn_tensor_t *x_src; /**< (n_src x in) */
    const gnn_sparse_t *x_sparse;      /**< instead of x_src: sparse features */
    const gnn_tensor_t *edge_features; /**< (m x edge_dim) */
    const gnn_tensor_t *edge_weight;   /**< (m x 1) */
    const gnn_tensor_t *edge_bias;     /**< (m x 1) or (m x heads) */
} gnn_inputs_t;

/**
 * Makes a layer that owns its parameters, drawn from the context's seed. Errors: as
 * gnn_layer_config_resolve, GNN_EMEMORY.
 *
 * @param[in] config  copied
 */
GNN_API int gnn_layer_new(gnn_layer_t **layer, gnn_context_t *context,
                          const gnn_layer_config_t *config);
/** Frees a layer with the parameters that it owns; NULL is fine. Tapes that record it must not run
 * afterwards. */
GNN_API void gnn_layer_free(gnn_layer_t *layer);
/** The resolved config of a layer, owned by the layer or by its model. */
GNN_API const gnn_layer_config_t *gnn_layer_config(const gnn_layer_t *layer);
/**
 * Builds the view of `graph` that this layer needs.
 *
 * @param[in,out] graph     keeps the view, for later calls too
 * @param[in]     backward  GNN_ON: with the transpose, which gradients need; else for inference
 *                          alone
 * @return as gnn_graph_prepare
 */
GNN_API int gnn_layer_prepare(const gnn_layer_t *layer, gnn_graph_t *graph, gnn_flag_t backward);
/** The width of a layer's output: columns of gnn_layer_forward's `out`. */
GNN_API int64_t gnn_layer_width(const gnn_layer_t *layer);

/**
 * Runs a layer for inference (no dropout). Threads: many may share a layer, each with its context.
 *
 * @param[in]  graph   prepared by gnn_layer_prepare
 * @param[in]  inputs  must not be NULL; either .x_src or .x_sparse
 * @param[out] out     (n_dst x width), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID (a NULL, both or none of .x_src and .x_sparse); GNN_EUNPREPARED:
 *         call gnn_layer_prepare for this layer and graph first; GNN_ESHAPE: sizes of an input or
 *         of out do not match the layer or the graph; GNN_EMEMORY
 */
GNN_API int gnn_layer_forward(const gnn_layer_t *layer, gnn_context_t *context,
                              const gnn_graph_t *graph, const gnn_inputs_t *inputs,
                              const gnn_tensor_t *out);

/** Computes the attention weights of a layer on these inputs, after the softmax: `per_edge` (m x
 * heads) by the user's edge ids and / or `per_segment` (for each segment heads x receivers x
 * senders, flattened one after another), where NULL means not wanted. GNN_EUNSUPPORTED if the layer
 * has no attention. */
GNN_API int gnn_layer_attention(const gnn_layer_t *layer, gnn_context_t *context,
                                const gnn_graph_t *graph, const gnn_inputs_t *inputs,
                                const gnn_tensor_t *per_edge, gnn_real_t *per_segment);

/** Inputs of a layer on a tape: variables instead of tensors; GNN_NONE where absent. */
typedef struct gnn_layer_vars {
    gnn_var_t x_dst, x_src, edge_features, edge_weight, edge_bias;
} gnn_layer_vars_t;
/** Records the layer on a tape, and returns its output (n_dst x width). The layer and the graph,
 * prepared by gnn_layer_prepare, must outlive the tape's runs. GNN_NONE after an error, which
 * gnn_tape_status returns. */
GNN_API gnn_var_t gnn_layer_record(const gnn_layer_t *layer, gnn_tape_t *tape,
                                   const gnn_graph_t *graph, const gnn_layer_vars_t *vars);

/* ---- parameters by field: "key.weight", "value.bias", "attention.sender", ... (docs/parameters.md
 * lists them) ---- */

/** Count of the named parameters of a layer. */
GNN_API int64_t gnn_layer_field_count(const gnn_layer_t *layer);
/** The name of a parameter of a layer, owned by the layer; NULL past the last. */
GNN_API const char *gnn_layer_field_name(const gnn_layer_t *layer, int64_t index);
/**
 * A view (rows x cols with stride) of a field's values or gradients; weights are in x out, heads
 * one after another. GNN_ENOTFOUND.
 *
 * @param[out] value     may be NULL
 * @param[out] gradient  may be NULL
 */
GNN_API int gnn_layer_field(const gnn_layer_t *layer, const char *name, gnn_tensor_t *value,
                            gnn_tensor_t *gradient);
/** The parameters of a layer, owned by the layer; those of its model, and owned by the model, if it
 * is a layer of a model. */
GNN_API gnn_parameters_t *gnn_layer_parameters(const gnn_layer_t *layer);

#ifdef __cplusplus
}
#endif
#endif
