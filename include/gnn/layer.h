/**
 * The layer: one hop of message passing. There is one layer type; GCN, GAT and the Transformer are configs of it.
 *
 *     gnn_layer_new(&layer, context, &GNN_GAT(.in = 1433, .out = 8, .heads = 8, .activation = GNN_ELU));
 *     gnn_layer_prepare(layer, graph, GNN_OFF);
 *     gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){ .x_src = &x }, &out);
 */
#ifndef GNN_LAYER_H
#define GNN_LAYER_H

#include <gnn/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnn_layer gnn_layer_t;

/**
 * What is made of the aggregate `a`: a row of the table of updates (lib/layer/updates.def).
 *
 *     none           a                                        (+ W_self x_i with self_term)
 *     linear         W_out a                                  (+ W_self x_i with self_term)
 *     mlp            mlp((1 + eps) x_i + a), two products     GIN: Xu et al. 2019
 *     feed_forward   z = norm(x + W_out a), norm(z + ffn(z))  Transformer: Vaswani et al. 2017
 *     gru            GRU(a, x_i)                              gated graph networks: Li et al. 2016
 */
typedef struct gnn_update {
    const char *name, *paper, *help;
    const struct gnn__update_rules *rules; /**< what it does; the library's own */
} gnn_update_t;

/* Every row is a constant: &gnn_update_mlp. */
#define GNN_UPDATE(name) GNN_API extern const gnn_update_t gnn_update_##name;
#include <gnn/tables/updates.def>
#undef GNN_UPDATE
#define GNN_UPDATE_NONE (&gnn_update_none)
#define GNN_UPDATE_LINEAR (&gnn_update_linear)
#define GNN_UPDATE_MLP (&gnn_update_mlp)
#define GNN_UPDATE_FEED_FORWARD (&gnn_update_feed_forward)
#define GNN_UPDATE_GRU (&gnn_update_gru)

GNN_API size_t gnn_update_count(void);
/** Row `index`, NULL past the last. */
GNN_API const gnn_update_t *gnn_update_at(size_t index);
/** The row of a name. NULL if there is none, and gnn_error_message() then lists those that there are. */
GNN_API const gnn_update_t *gnn_update_find(const char *name);

typedef enum { GNN_HEADS_DEFAULT = 0, GNN_HEADS_CONCAT, GNN_HEADS_AVERAGE } gnn_heads_t;
typedef enum { GNN_NORM_POSITION_DEFAULT = 0, GNN_NORM_AFTER, GNN_NORM_BEFORE } gnn_norm_position_t;

/** Rows of lib/layer/presets.def. */
typedef enum {
    GNN_PRESET_NONE = 0,
    GNN_PRESET_GCN,
    GNN_PRESET_SAGE,
    GNN_PRESET_GIN,
    GNN_PRESET_GINE,
    GNN_PRESET_GAT,
    GNN_PRESET_GATV2,
    GNN_PRESET_TRANSFORMER_CONV,
    GNN_PRESET_RESGATED,
    GNN_PRESET_GATED_GRAPH,
    GNN_PRESET_TRANSFORMER,
    GNN_PRESET_COUNT
} gnn_preset_t;

/** Zero in a field means the preset's choice, or the value in brackets where there is no preset. */
typedef struct gnn_layer_config {
    gnn_preset_t preset;
    int64_t in;     /**< features of a sender (and of a receiver unless in_dst is set) */
    int64_t in_dst; /**< features of a receiver [in] */
    int64_t out; /**< output features; of one head where heads are concatenated without an output product [in] */
    int64_t heads;    /**< [1] */
    int64_t kv_heads; /**< [heads] */
    int64_t d_k,
        d_v; /**< width of a head's keys and values [out, or out / heads under an output product] */
    int64_t edge_dim;     /**< width of edge features, 0: none taken */
    int64_t hidden;       /**< inner width of mlp [out] */
    int64_t feed_forward; /**< inner width of the feed-forward block [4 out] */

    const gnn_message_t *message;
    const gnn_aggregator_t *aggregator;
    const gnn_update_t *update; /**< [none] */
    double options[4];          /**< the aggregator's options; 0: its initial values */

    gnn_flag_t self_loops;       /**< the graph's view has them [off] */
    gnn_graph_norm_t graph_norm; /**< [none] */
    gnn_heads_t combine;         /**< [concat] */
    gnn_flag_t share_weights; /**< receivers are projected by the senders' weights (GAT; GATv2's share_weights) [off] */
    gnn_flag_t self_term; /**< + W_self x_i [off] */
    gnn_flag_t learn_eps; /**< GIN's eps is learned [off] */
    gnn_real_t eps;       /**< GIN's eps, or its first value [0] */

    gnn_flag_t bias_project; /**< on query, key, value, gate products [off] */
    gnn_flag_t bias_out;     /**< on the output [on] */
    gnn_flag_t bias_update;  /**< on the self term, mlp, feed-forward and gru products [on] */

    gnn_activation_t activation;        /**< of the output [identity] */
    gnn_activation_t hidden_activation; /**< inside mlp and feed-forward [relu] */
    gnn_real_t slope;                   /**< leaky relu in additive scores [0.2] */
    gnn_real_t scale;                   /**< of dot scores [1 / sqrt(d_k)] */
    gnn_distance_bias_t distance;       /**< score bias by distance [none] */
    int64_t distance_buckets;

    gnn_flag_t residual;               /**< x_i + ... [off] */
    gnn_norm_t norm;                   /**< [none] */
    gnn_norm_position_t norm_position; /**< [after] */
    gnn_real_t norm_eps;               /**< [1e-5] */

    gnn_real_t dropout;           /**< sets those of the four that the preset names */
    gnn_real_t dropout_in;        /**< on x */
    gnn_real_t dropout_attention; /**< on attention weights */
    gnn_real_t dropout_message;   /**< on projected messages (not on scores) */
    gnn_real_t dropout_out; /**< on the update before the residual is added, and inside the feed-forward block */
} gnn_layer_config_t;

/* Presets as config literals: GNN_GAT(.in = 64, .out = 7). Each sets only .preset and what is written. */
/* clang-format off */
#define GNN_CONFIG(...) ((gnn_layer_config_t){__VA_ARGS__})
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

/** Name of a preset ("gat"), or NULL; the preset of a name, or GNN_PRESET_NONE. */
GNN_API const char *gnn_preset_name(gnn_preset_t preset);
GNN_API gnn_preset_t gnn_preset_find(const char *name);
/** The config with every field filled in, as the layer will use it. GNN_EINVALID / GNN_ESHAPE with the field's name and value. */
GNN_API int gnn_layer_config_resolve(gnn_layer_config_t *resolved, const gnn_layer_config_t *config);

typedef struct gnn_inputs {
    const gnn_tensor_t *x_dst; /**< (n_dst x in_dst); NULL: receivers are the first n_dst senders */
    const gnn_tensor_t *x_src; /**< (n_src x in) */
    const gnn_sparse_t *x_sparse;      /**< instead of x_src: sparse features */
    const gnn_tensor_t *edge_features; /**< (m x edge_dim) */
    const gnn_tensor_t *edge_weight;   /**< (m x 1) */
    const gnn_tensor_t *edge_bias;     /**< (m x 1) or (m x heads) */
} gnn_inputs_t;

/** A layer with parameters of its own, drawn from the context's seed. Errors: as gnn_layer_config_resolve, GNN_EMEMORY. */
GNN_API int gnn_layer_new(gnn_layer_t **layer, gnn_context_t *context,
                          const gnn_layer_config_t *config);
GNN_API void gnn_layer_free(gnn_layer_t *layer);
GNN_API const gnn_layer_config_t *gnn_layer_config(const gnn_layer_t *layer);
/** Builds the view of `graph` that this layer needs; backward GNN_ON for training. */
GNN_API int gnn_layer_prepare(const gnn_layer_t *layer, gnn_graph_t *graph, gnn_flag_t backward);
/** Features that the layer puts out. */
GNN_API int64_t gnn_layer_width(const gnn_layer_t *layer);

/** Inference (no dropout): out (n_dst x width), caller's, overwritten. Threads: many may share a layer, each with its context. */
GNN_API int gnn_layer_forward(const gnn_layer_t *layer, gnn_context_t *context,
                              const gnn_graph_t *graph, const gnn_inputs_t *inputs,
                              const gnn_tensor_t *out);

/* The same in two halves: projections of senders may be kept and used again (a key/value cache). */
typedef struct gnn_projection gnn_projection_t;
GNN_API int gnn_projection_new(gnn_projection_t **projection, const gnn_layer_t *layer,
                               int64_t capacity);
GNN_API void gnn_projection_free(gnn_projection_t *projection);
/** Projects rows of x (dense) for one or both sides; fills the projection from row `at` on (0: from the start). */
GNN_API int gnn_layer_project(const gnn_layer_t *layer, gnn_context_t *context, const gnn_tensor_t *x,
                              gnn_sides_t sides, int64_t at, gnn_projection_t *projection);
/** Aggregates and updates. `receivers` and `senders` may be the same projection. inputs->x_src (or x_dst) are still what the update reads of h_i. */
GNN_API int gnn_layer_aggregate(const gnn_layer_t *layer, gnn_context_t *context,
                                const gnn_graph_t *graph, const gnn_inputs_t *inputs,
                                const gnn_projection_t *receivers, const gnn_projection_t *senders,
                                const gnn_tensor_t *out);

/** Attention weights of this layer on these inputs, after the softmax. per_edge (m x heads) by the user's edge numbers and / or per_segment
 *  (for each segment heads x receivers x senders, one after another); NULL: not wanted. GNN_EUNSUPPORTED if the layer does not attend. */
GNN_API int gnn_layer_attention(const gnn_layer_t *layer, gnn_context_t *context,
                                const gnn_graph_t *graph, const gnn_inputs_t *inputs,
                                const gnn_tensor_t *per_edge, gnn_real_t *per_segment);

/** On a tape: variables instead of tensors; GNN_NONE where absent. */
typedef struct gnn_layer_vars {
    gnn_var_t x_dst, x_src, edge_features, edge_weight, edge_bias;
} gnn_layer_vars_t;
GNN_API gnn_var_t gnn_layer_record(const gnn_layer_t *layer, gnn_tape_t *tape,
                                   const gnn_graph_t *graph, const gnn_layer_vars_t *vars);

/* ---- parameters by field: "key.weight", "value.bias", "attention.src", ... (docs/parameters.md lists them) ---- */

GNN_API int64_t gnn_layer_field_count(const gnn_layer_t *layer);
GNN_API const char *gnn_layer_field_name(const gnn_layer_t *layer, int64_t index);
/** A view (rows x cols with stride) of a field's values or gradients; weights are in x out, heads one after another. GNN_ENOTFOUND. */
GNN_API int gnn_layer_field(const gnn_layer_t *layer, const char *name, gnn_tensor_t *value,
                            gnn_tensor_t *gradient);
GNN_API gnn_parameters_t *gnn_layer_parameters(const gnn_layer_t *layer);

#ifdef __cplusplus
}
#endif
#endif
