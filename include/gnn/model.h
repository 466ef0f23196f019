/**
 * Models: a list of steps over layers and a few ops, with named values and graph slots. A plain list of layers on one graph is the short form.
 */
#ifndef GNN_MODEL_H
#define GNN_MODEL_H

#include <gnn/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnn_model gnn_model_t;

typedef enum {
    GNN_STEP_LAYER = 0,
    GNN_STEP_LINEAR,     /**< input W + b                       in, out */
    GNN_STEP_NORM,       /**< norm(input)                       in, norm, eps */
    GNN_STEP_ACTIVATION, /**< activation(input)                 activation */
    GNN_STEP_DROPOUT,    /**< dropout(input)                    rate */
    GNN_STEP_ADD,        /**< input + second */
    GNN_STEP_CONCAT,     /**< input, second, third side by side */
    GNN_STEP_EMBED       /**< table[ids of input]               in: rows of the table, out */
} gnn_step_kind_t;

/** One step. Names refer to the model's inputs ("x", ...) or to outputs of earlier steps. Strings are copied. */
typedef struct gnn_step {
    gnn_step_kind_t kind;
    const char *name; /**< of its parameters and its output; NULL: its number, "0", "1", ... */
    gnn_layer_config_t layer; /**< for GNN_STEP_LAYER */
    int graph;                /**< graph slot that the layer runs on */
    const char *input; /**< senders' features, or the op's input; NULL: the previous step's output, "x" for the first */
    const char *receivers;      /**< receivers' features; NULL: the first n_dst senders */
    const char *second, *third; /**< more inputs of add and concat */
    const char *edge_features, *edge_weight, *edge_bias;
    const char *share; /**< this step's parameters whose field begins with `share_fields` are those of the step of this name */
    const char *share_fields; /**< NULL: all of them; fields that lie side by side in one matrix (docs/parameters.md) only together */
    int64_t in, out;
    gnn_activation_t activation;
    gnn_norm_t norm;
    gnn_real_t eps, rate;
} gnn_step_t;

/** A model of `count` layers one after another, all on graph slot 0. */
GNN_API int gnn_model_new(gnn_model_t **model, gnn_context_t *context, int64_t count,
                          const gnn_layer_config_t *layers);
/** A model of steps; the last step's output is the model's. Errors name the step and the field. */
GNN_API int gnn_model_from_steps(gnn_model_t **model, gnn_context_t *context, int64_t count,
                                 const gnn_step_t *steps);
GNN_API void gnn_model_free(gnn_model_t *model);

GNN_API int64_t gnn_model_step_count(const gnn_model_t *model);
GNN_API const gnn_step_t *gnn_model_step(const gnn_model_t *model, int64_t index);
/** The layer behind a step, NULL for ops. */
GNN_API gnn_layer_t *gnn_model_layer(const gnn_model_t *model, int64_t index);
GNN_API gnn_parameters_t *gnn_model_parameters(const gnn_model_t *model);
GNN_API int gnn_model_graph_count(const gnn_model_t *model);

/** All fields of all steps as "STEP.FIELD" ("0.value.weight"); shared ones are listed once, under their first step. */
GNN_API int64_t gnn_model_field_count(const gnn_model_t *model);
GNN_API const char *gnn_model_field_name(const gnn_model_t *model, int64_t index);
GNN_API int gnn_model_field(const gnn_model_t *model, const char *name, gnn_tensor_t *value,
                            gnn_tensor_t *gradient);
/** Numbers that move in training but are not learned (batch norm's running mean and variance), as fields too. */
GNN_API int64_t gnn_model_buffer_count(const gnn_model_t *model);
GNN_API const char *gnn_model_buffer_name(const gnn_model_t *model, int64_t index);
GNN_API int gnn_model_buffer(const gnn_model_t *model, const char *name, gnn_tensor_t *value);

/** Builds the views of one slot's graph that the model's layers need. */
GNN_API int gnn_model_prepare(const gnn_model_t *model, int slot, gnn_graph_t *graph,
                              gnn_flag_t backward);

/** A named input. Exactly one of dense, sparse, ids is given. */
typedef struct gnn_named {
    const char *name;
    const gnn_tensor_t *dense;
    const gnn_sparse_t *sparse;
    const int32_t *ids;
    int64_t count;  /**< of ids */
    int wants_grad; /**< dense only: gnn_tape_gradient will be asked for */
} gnn_named_t;

typedef struct gnn_model_inputs {
    const gnn_graph_t *const *graphs; /**< one per slot */
    int64_t n_graphs;
    const gnn_named_t *values;
    int64_t n_values;
} gnn_model_inputs_t;

/** Inference: out (rows x cols of the last step), caller's. */
GNN_API int gnn_model_forward(const gnn_model_t *model, gnn_context_t *context,
                              const gnn_model_inputs_t *inputs, const gnn_tensor_t *out);
/** The common case: one graph, features "x" (dense or sparse, the other NULL). */
GNN_API int gnn_model_predict(const gnn_model_t *model, gnn_context_t *context,
                              const gnn_graph_t *graph, const gnn_tensor_t *x,
                              const gnn_sparse_t *sparse, const gnn_tensor_t *out);
/** Puts the model on a tape. `vars` (n_values, or NULL) receives the variables of the inputs, in their order. */
GNN_API gnn_var_t gnn_model_record(const gnn_model_t *model, gnn_tape_t *tape,
                                   const gnn_model_inputs_t *inputs, gnn_var_t *vars);
/** Attention of the layer at `step` for these inputs, as gnn_layer_attention. */
GNN_API int gnn_model_attention(const gnn_model_t *model, gnn_context_t *context,
                                const gnn_model_inputs_t *inputs, int64_t step,
                                const gnn_tensor_t *per_edge, gnn_real_t *per_segment);

#ifdef __cplusplus
}
#endif
#endif
