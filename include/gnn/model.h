/**
 * Models: a list of steps over layers and a few ops, with named values and graph slots. A plain
 * list of layers on one graph is the short form.
 */
#ifndef GNN_MODEL_H
#define GNN_MODEL_H

#include <gnn/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model: a list of steps, with their parameters and buffers. */
typedef struct gnn_model gnn_model_t;

/** Kinds of steps: GNN_STEP_LAYER (0), GNN_STEP_LINEAR, ... The table below says what each does. */
typedef enum {
#define GNN_STEP(id, name) GNN_STEP_##id,
#include <gnn/tables/steps.def>
#undef GNN_STEP
    GNN_STEP_COUNT
} gnn_step_kind_t;

/**
 * One step: what it is, what it reads by name, and its settings. Names are those of earlier steps,
 * or of inputs that come with each run. Zero in a field means its default; it must be zero where
 * the kind does not read it. Strings are copied.
 *
 *     kind          puts out                                      reads besides the names
 *     LAYER         one hop                                       layer, graph, share
 *     LINEAR        input W + b; W may be another step's table,   in, out, bias, share,
 *                   read transposed, or some rows of it           transposed, row, rows
 *     NORM          norm(input)                                   in, norm, eps, share
 *     ACTIVATION    activation(input)                             activation, options: slope of
 *                                                                 the leaky relu [0.2]
 *     DROPOUT       dropout(input)                                rate
 *     ADD           input + factor second                         factor
 *     CONCAT        input, second, ... eighth side by side
 *     EMBED         row ids[r] of a table                         in: rows of the table, out, share
 *     INPUT         the model's input of this name                out: its width [any]
 *     AGGREGATE     sum over j of w_ij m_j on rows that are       layer: how, its .in is the width
 *                   given: input (messages), query, key,          of a message; graph
 *                   receivers (their part of a message), gate,
 *                   edge_weight, edge_bias
 *     PARAMETER     learned rows, which hear no other row         rows, out, each_segment and
 *                                                                 graph, share
 *     STACK         input, second, ... eighth one under another
 *     VIEW          a block of the input                          row, rows, column, columns
 *     SCALE         factor input                                  factor
 *     MULTIPLY      input times second, element by element; the
 *                   second may be one row, column or number
 *     SCALE_HEADS   the input's heads times the columns of second
 *     MAXIMUM       the largest of input, second, ... eighth
 *     EDGE_ROWS     for each edge the input's row of its          graph, side
 *                   receiver or sender
 *     DETACH        input, through which no gradient passes
 *     OP            a named op (gnn/op.h), or one of your own,    op, options: its attributes;
 *                   on input, second, ... eighth                  graph, where the op reads one
 */
typedef struct gnn_step {
    gnn_step_kind_t kind;
    const char *name; /**< of its parameters and its output; NULL: its number, "0", "1", ... */
    gnn_layer_config_t layer; /**< LAYER: its config. AGGREGATE: of it what says how to aggregate */
    int graph;                /**< graph slot that the step runs on */
    /** senders' features, or the op's input; NULL: the previous step's output, "x" for the first */
    const char *input;
    const char *receivers;      /**< receivers' features; NULL: the first n_dst senders */
    const char *second, *third; /**< more inputs */
    const char *edge_features, *edge_weight, *edge_bias;
    /** this step's parameters whose field begins with `share_fields` are those of the step of this
     * name */
    const char *share;
    /** NULL: all of them; fields that lie side by side in one matrix (docs/parameters.md) only
     * together */
    const char *share_fields;
    int64_t in, out;
    gnn_activation_t activation;
    gnn_norm_t norm;
    gnn_real_t eps, rate;

    const char *fourth, *fifth, *sixth, *seventh, *eighth; /**< inputs after the third */
    const char *query, *key,
        *gate; /**< of AGGREGATE: (n_dst x heads*d_k), (n_src x kv_heads*d_k), (n_dst x heads) */
    gnn_flag_t bias; /**< of LINEAR [on] */
    /** LINEAR reads a shared matrix transposed [on where the matrix is a table of rows] */
    gnn_flag_t transposed;
    gnn_flag_t each_segment; /**< PARAMETER: the rows again for each segment of the graph [off] */
    gnn_sides_t side;        /**< of EDGE_ROWS: GNN_SIDE_RECEIVERS or GNN_SIDE_SENDERS */
    gnn_real_t factor; /**< [1]; of PARAMETER: what all its numbers start at [drawn, by Glorot] */
    /** of VIEW: the first row, and how many [all that follow]; of LINEAR: the rows of W that the
     * input meets [all]; `rows` of PARAMETER */
    int64_t row, rows;
    int64_t column, columns; /**< of VIEW [all that follow] */
    const gnn_op_t *op;      /**< of OP; one output */
    /** of OP: what its functions read as attributes, (const double *)call->attributes */
    double options[4];

    /** LAYER, AGGREGATE: (n_dst x heads*d_k) what priors multiply in place of the query */
    const char *prior_query;
    /** LAYER, AGGREGATE: the numbers of a prior as a value, which turns prior_K_given on: a table,
     * or a row for each receiver or sender, as the prior's row says */
    const char *prior_0, *prior_1, *prior_2;
} gnn_step_t;

/** The name of a kind of steps, such as "linear"; NULL for what is no kind. */
GNN_API const char *gnn_step_kind_name(gnn_step_kind_t kind);

GNN_API int gnn_model_new_sized(gnn_model_t **model, gnn_context_t *context, int64_t count,
                                const gnn_layer_config_t *layers, size_t size);
/** Makes a model of `count` layers one after another, all on graph slot 0. Inline: it passes the
 * size of the program's struct on. */
static inline int gnn_model_new(gnn_model_t **model, gnn_context_t *context, int64_t count,
                                const gnn_layer_config_t *layers)
{
    return gnn_model_new_sized(model, context, count, layers, sizeof *layers);
}
GNN_API int gnn_model_from_steps_sized(gnn_model_t **model, gnn_context_t *context, int64_t count,
                                       const gnn_step_t *steps, size_t size, size_t config_size);
/** Makes a model of steps; the last step's output is the model's. Errors name the step and the
 * field. Inline. */
static inline int gnn_model_from_steps(gnn_model_t **model, gnn_context_t *context, int64_t count,
                                       const gnn_step_t *steps)
{
    return gnn_model_from_steps_sized(model, context, count, steps, sizeof *steps,
                                      sizeof(gnn_layer_config_t));
}
/** Frees a model with its parameters; NULL is fine. Tapes and states that were made with it must
 * not run afterwards. */
GNN_API void gnn_model_free(gnn_model_t *model);

/* ---- lists of steps, and blocks: steps that go together ---- */

/**
 * A list of steps that grows. The first error stays, as on a tape: later calls do nothing, and
 * gnn_model_build returns it.
 *
 *     gnn_steps_new(&steps);
 *     gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .in = 16, .out = 64});
 *     gnn_steps_block(steps, "gps", &(gnn_block_t){.name = "gps.0", .layer = GNN_GIN(.in = 64),
 *                                                  .heads = 4});
 *     gnn_model_build(&model, context, steps);
 */
typedef struct gnn_steps gnn_steps_t;
/** Makes an empty list of steps, the caller's, for gnn_steps_free. Errors: GNN_EMEMORY. */
GNN_API int gnn_steps_new(gnn_steps_t **steps);
/** Frees a list of steps; NULL is fine. Models that were built from it stay. */
GNN_API void gnn_steps_free(gnn_steps_t *steps);
GNN_API int gnn_steps_add_sized(gnn_steps_t *steps, const gnn_step_t *step, size_t size,
                                size_t config_size);
/** Appends a step; its strings are copied. Inline. */
static inline int gnn_steps_add(gnn_steps_t *steps, const gnn_step_t *step)
{
    return gnn_steps_add_sized(steps, step, sizeof *step, sizeof(gnn_layer_config_t));
}
/** Count of the steps that a list has so far. */
GNN_API int64_t gnn_steps_count(const gnn_steps_t *steps);
/** The steps, owned by the list, until it grows. */
GNN_API const gnn_step_t *gnn_steps_list(const gnn_steps_t *steps);
/** Makes the model of a list of steps, as gnn_model_from_steps; the list stays the caller's. */
GNN_API int gnn_model_build(gnn_model_t **model, gnn_context_t *context, const gnn_steps_t *steps);

/**
 * Settings of a block. Its steps are called NAME.something, the last one NAME unless said
 * otherwise. The graph slots that a block runs on are `graph`, and graphs[0], graphs[1], ...: graph
 * + 1, graph + 2, ... where they are 0.
 *
 *     decoder_layer      layer (a Transformer's config), input, memory; `graph` is causal,
 *                        graphs[0] goes from memory to input. Two layers, NAME and NAME:cross, the
 *                        second with the feed-forward block. Vaswani et al. 2017
 *     appnp              width, hops, factor [0.1]: z = (1 - factor) A z + factor input, on a
 *                        symmetrically normalised `graph`. Gasteiger et al. 2019
 *     gps                layer on `graph`, beside attention with `heads` on graphs[0]; each with
 *                        its residual (and layer.norm), added; an mlp of inner width `hidden`
 *                        [2 width]; dropout. Rampasek et al. 2022
 *     jumping_knowledge  `hops` layers of config `layer`; their outputs side by side, or with
 *                        .maximum the largest of each element; at most 8. Xu et al. 2018
 *     mab                input hears memory over `graph`: width (of both), heads. Lee et al. 2019
 *     sab                mab of input with itself
 *     isab               `rows` learned rows hear input over `graph`, input hears them over
 *                        graphs[0]
 *     pma                `rows` learned rows hear relu(linear(input)) over `graph`
 *     squeeze_excite     input * sigmoid(mlp(mean of the segment)): width, hidden [width / 4];
 *                        `graph` from rows to one row a segment, graphs[0] back. Hu et al. 2018
 *     graph_network      input (width), edges (edge_width), globals (global_width): NAME.edges,
 *                        NAME.nodes, NAME (globals); `graph` of edges between nodes, graphs[0]
 *                        from edges to their receivers, graphs[1] from globals to their nodes,
 *                        graphs[2] from nodes and graphs[3] from edges to their globals.
 *                        Battaglia et al. 2018
 *
 * Layers of more than one step; docs/blocks.md has their formulas, and says which module of PyG
 * each is. All read width and out [width].
 *
 *     sage_project                       layer, whose senders pass relu(linear) first
 *     sgc ssg lg tag cheb arma mixhop    hops; ssg: factor [0.1]; arma: rows stacks; edge_weight
 *     le                                 one hop of differences
 *     deep_gcn                           gen's, with layer.norm and dropout before it
 *     gcn2                               memory (the first features), factor [0.1], theta
 *     agnn gen                           gen: hidden, layer.aggregator [softmax_mean], or
 *                                        factor, the first exponent of a power mean
 *     mf                                 hops: the largest degree that has weights of its own
 *     rgcn                               hops relations on slots graph, graph + 1, ...; rows bases,
 *                                        or heads blocks
 *     pinsage                            hidden, edge_weight
 *     gmm                                edges, edge_width; rows kernels
 *   on `graph` and graphs[0], from its edges to their receivers (gnn_graph_incidence):
 *     edgeconv film cg nnconv pna        edges, edge_width; hidden; pna: aggregators, theta, the
 *                                        mean of log(degree + 1)
 *     graph_transformer_edges exphormer  heads, edges, edge_width; exphormer: hops learned rows
 *   on a graph of all pairs:
 *     sgformer hop_decay graphormer      heads; edges (hops), memory (degrees), edge_width, rows
 *     multi_graph                        heads, hops groups of them on slots graph, graph + 1, ...
 *   on `graph`, from nodes to one row a segment:
 *     attentional set2set power_mean     set2set: hops
 *     lstm_readout set_transformer       set_transformer: heads, rows; `graph` complete, graphs[0]
 *                                        from nodes to its rows, graphs[1] complete among these
 *     graph_norm instance_norm           rows of nodes, normalised over each segment
 *     graph_layer_norm                   the same, all columns together
 *   on pairs of nodes, by the inputs "sources" and "targets" (gnn/links.h):
 *     link_dot link_bilinear             one score a pair
 *     link_distance
 *     link_product link_mlp              hidden [width], dropout, out [1]; link_mlp: edges,
 *                                        edge_width (rows of pairs)
 *   on nodes of several types (gnn/hetero.h), whose values are called input.TYPE ["x.TYPE"] and
 *   NAME.TYPE; types, relations; a type's width is its own, else width:
 *     hgt                                heads; type t hears on slot graph + t (gnn_graph_towards)
 *     hetero_conv                        layer; relation r is slot graph + r (gnn_graph_relation);
 *                                        aggregators: sum, mean or max over relations [sum]
 *     hetero_linear                      layer.activation
 *   on rows, or labels:
 *     message_norm jumping_lstm          memory (messages); hops layers side by side, hidden
 *     label_propagation                  factor, hops
 *     correct_and_smooth                 memory (labels), globals (known), factor, hops, theta,
 *                                        rows
 */
typedef struct gnn_block {
    const char *name;  /**< needed */
    const char *input; /**< NULL: the step before */
    const char *memory, *edges, *globals;
    int graph, graphs[4];
    int64_t width, edge_width, global_width;
    int64_t heads, hidden, rows, hops; /**< [1], as told, [1], [1] */
    gnn_real_t factor, dropout;
    gnn_flag_t maximum;
    gnn_layer_config_t layer;
    int64_t out;             /**< [width] */
    const char *edge_weight; /**< of blocks that propagate: the value with them; NULL: none */
    gnn_real_t theta;        /**< as told */
    const gnn_aggregator_t *aggregators[4]; /**< as told */
    const char *types;     /**< of nodes, with their width or without: "paper:128 author:64" */
    const char *relations; /**< FROM__NAME__TO: "author__writes__paper paper__cites__paper" */
} gnn_block_t;
GNN_API int gnn_steps_block_sized(gnn_steps_t *steps, const char *block,
                                  const gnn_block_t *settings, size_t size, size_t config_size);
/** Appends a block. GNN_ENOTFOUND with the names there are; GNN_EINVALID names a field. Inline. */
static inline int gnn_steps_block(gnn_steps_t *steps, const char *block, const gnn_block_t *settings)
{
    return gnn_steps_block_sized(steps, block, settings, sizeof *settings,
                                 sizeof(gnn_layer_config_t));
}
/** Count of the blocks that gnn_steps_block knows. */
GNN_API size_t gnn_block_count(void);
/** The name of a block, such as "gps"; NULL past the last. */
GNN_API const char *gnn_block_name(size_t index);

/* ---- looking at a model ---- */

/** Count of the steps of a model; of a model of layers, of its layers. */
GNN_API int64_t gnn_model_step_count(const gnn_model_t *model);
/** A step of a model as it was given, owned by the model; NULL past the last. */
GNN_API const gnn_step_t *gnn_model_step(const gnn_model_t *model, int64_t index);
/** The layer of a step, owned by the model; NULL for ops. */
GNN_API gnn_layer_t *gnn_model_layer(const gnn_model_t *model, int64_t index);
/** The index of the step of a name, or -1. */
GNN_API int64_t gnn_model_find(const gnn_model_t *model, const char *name);
/** Columns that a step puts out; -1 where they are known only when it runs (they depend on those of
 * an input that is not declared). */
GNN_API int64_t gnn_model_width(const gnn_model_t *model, int64_t index);
/** Count of the inputs that the model reads: names that no step has, or that GNN_STEP_INPUT
 * declares, in the order in which they are read. */
GNN_API int64_t gnn_model_input_count(const gnn_model_t *model);
/** The name of an input that the model reads, owned by the model; NULL past the last. */
GNN_API const char *gnn_model_input_name(const gnn_model_t *model, int64_t index);
/** The block that holds all parameters of a model, owned by the model. */
GNN_API gnn_parameters_t *gnn_model_parameters(const gnn_model_t *model);
/** Count of the graph slots of a model. */
GNN_API int gnn_model_graph_count(const gnn_model_t *model);

/** Count of the fields of all steps, each called "STEP.FIELD" ("0.value.weight"); shared ones are
 * listed once, under their first step. */
GNN_API int64_t gnn_model_field_count(const gnn_model_t *model);
/** The name of a field of a model, "STEP.FIELD", owned by the model; NULL past the last. */
GNN_API const char *gnn_model_field_name(const gnn_model_t *model, int64_t index);
/** Gives views of a field's values and gradients, as gnn_layer_field does; NULL: not wanted.
 * GNN_ENOTFOUND if there is none of that name. */
GNN_API int gnn_model_field(const gnn_model_t *model, const char *name, gnn_tensor_t *value,
                            gnn_tensor_t *gradient);
/** Count of the buffers: values that move in training but are not learned (batch norm's running
 * mean and variance), with names like those of fields. */
GNN_API int64_t gnn_model_buffer_count(const gnn_model_t *model);
/** The name of a buffer of a model, owned by the model; NULL past the last. */
GNN_API const char *gnn_model_buffer_name(const gnn_model_t *model, int64_t index);
/** Gives a view of a buffer's values. GNN_ENOTFOUND if there is none of that name. */
GNN_API int gnn_model_buffer(const gnn_model_t *model, const char *name, gnn_tensor_t *value);

/** Builds the views of one slot's graph that the model's layers need. */
GNN_API int gnn_model_prepare(const gnn_model_t *model, int slot, gnn_graph_t *graph,
                              gnn_flag_t backward);

/* ---- the graphs of a model that examples/from_pyg.py described ---- */

/** Edges as PyG holds them: message e goes from src[e] to dst[e]. Borrowed. */
typedef struct gnn_edge_list {
    const char *name; /**< of the module's argument ("edge_index"); NULL: any */
    int64_t n_dst, n_src, n_edges;
    gnn_ints_t src, dst;
    gnn_ints_t type; /**< (n_edges) the relation of each edge, from 0; no array: none */
} gnn_edge_list_t;

/** What the graphs of a described model are made of. */
typedef struct gnn_slot_sources {
    const gnn_edge_list_t *edges;
    int64_t n_edges;
    const int64_t *lengths; /**< nodes of each graph of a batch; NULL: the nodes are one graph */
    int64_t n_lengths;
} gnn_slot_sources_t;

/**
 * How the graph of a slot is made, where the file that a model was loaded from says so.
 *
 * @param[out] source  the argument whose edges it is made of, owned by the model; NULL where it is
 *                     made of the graphs' sizes. The pointer may be NULL
 * @param[out] number  the relation, or how many learned rows a graph has. The pointer may be NULL
 * @return the word: "edges"; "relation" (the edges of one type); "incidence" (from edges to their
 *         receivers); "readout" (from the nodes of a graph to one row); "spread" (the reverse);
 *         "complete" (the nodes of each graph); "seeds" (from nodes to learned rows),
 *         "among_seeds"; "beside" (the lists of edges that *source names, separated by blanks, each
 *         with senders of its own: gnn_graph_beside); "whole" (from all nodes to one row),
 *         "whole_edges" (from all edges to one row); "carried" (from the edges before the last
 *         operation to those after it), "loops" (from nodes to the self-loops that it added).
 *         NULL: the file does not say
 *
 * Operations may follow the argument's name, each after a colon: "reverse", "without_loops",
 * "add_loops", "remaining" (a self-loop for each node in place of those that are there), "type=K".
 */
GNN_API const char *gnn_model_slot(const gnn_model_t *model, int slot, const char **source,
                                   int64_t *number);
/**
 * Makes the graphs of all slots and prepares them for the model.
 *
 * @param[in]  sources   borrowed during the call
 * @param[in]  backward  GNN_ON for training
 * @param[out] graphs    (gnn_model_graph_count), each the caller's, for gnn_graph_free; all NULL
 *                       after an error
 * @return GNN_OK; GNN_ENOTFOUND: the file does not say what a slot is, or edges of that name are
 *         not given; GNN_EINVALID: edges without types; else as the constructors of graphs
 *
 * Cost: O(n + m) time and memory for each slot.
 */
GNN_API int gnn_model_graphs(const gnn_model_t *model, const gnn_slot_sources_t *sources,
                             gnn_flag_t backward, gnn_graph_t **graphs);

/** A named input. Exactly one of dense, sparse, ids is given. An input on edges has rows for each
 * graph: where slots have graphs of their own there is one of its name for each slot. */
typedef struct gnn_named {
    const char *name;
    const gnn_tensor_t *dense;
    const gnn_sparse_t *sparse;
    const int32_t *ids;
    int64_t count;  /**< of ids */
    int wants_grad; /**< dense only: gnn_tape_gradient will be asked for */
    int slot;       /**< k + 1: for the steps on graph slot k alone; 0: for all */
} gnn_named_t;

/** What a model reads in one call: a graph per slot, and values by name. All are borrowed. */
typedef struct gnn_model_inputs {
    const gnn_graph_t *const *graphs; /**< one per slot */
    int64_t n_graphs;
    const gnn_named_t *values;
    int64_t n_values;
} gnn_model_inputs_t;

/** Runs a model for inference: out (rows x cols of the last step), caller's, overwritten. */
GNN_API int gnn_model_forward(const gnn_model_t *model, gnn_context_t *context,
                              const gnn_model_inputs_t *inputs, const gnn_tensor_t *out);
/**
 * What a step puts out, by its name: embeddings, a readout, any value inside the model. Only the
 * steps that it needs are run, so only their inputs and graphs must be given.
 *
 * @param[in]  name  of a step
 * @param[out] out   (rows x gnn_model_width of the step), caller's; overwritten
 * @return GNN_OK; GNN_ENOTFOUND: no step has this name; else as gnn_model_forward
 *
 * Cost: that of the steps. Threads: as gnn_model_forward.
 */
GNN_API int gnn_model_value(const gnn_model_t *model, gnn_context_t *context,
                            const gnn_model_inputs_t *inputs, const char *name,
                            const gnn_tensor_t *out);
/**
 * Inference step by step: each step runs over all its rows, a chunk at a time, before the next one
 * begins. A chunk's receivers hear all their senders, so the numbers are those of
 * gnn_model_forward, but for rounding; what it takes is memory for the values that later steps read
 * and for one chunk. For models that were trained on samples of a graph too large for one pass.
 *
 * @param[in]  inputs        graphs of one part of edges, which need no preparation; every slot that
 *                           is used has one
 * @param[in]  rows_at_once  rows of a chunk [0: 16,384]
 * @param[out] out           (rows x cols of the last step), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID; GNN_ENOTFOUND, GNN_ESHAPE; GNN_EUNSUPPORTED names a step that is no
 *         matter of rows (a readout, stacked rows, values on edges), or a graph that cannot be
 *         sampled; GNN_EMEMORY
 *
 * Cost: that of the steps, and for each layer the gathering of each chunk's senders. Threads: as
 * gnn_model_forward. Paper: Hamilton et al. 2017.
 */
GNN_API int gnn_model_infer_layers(const gnn_model_t *model, gnn_context_t *context,
                                   const gnn_model_inputs_t *inputs, int64_t rows_at_once,
                                   const gnn_tensor_t *out);
/** Inference in the common case: one graph, features "x" (dense or sparse, the other NULL). */
GNN_API int gnn_model_predict(const gnn_model_t *model, gnn_context_t *context,
                              const gnn_graph_t *graph, const gnn_tensor_t *x,
                              const gnn_sparse_t *sparse, const gnn_tensor_t *out);
/** Puts the model on a tape. `vars` (n_values, or NULL) receives the variables of the inputs, in
 * their order. */
GNN_API gnn_var_t gnn_model_record(const gnn_model_t *model, gnn_tape_t *tape,
                                   const gnn_model_inputs_t *inputs, gnn_var_t *vars);
/** gnn_model_record, and `outputs` (gnn_model_step_count) receives the value of each step: losses
 * may read several. */
GNN_API gnn_var_t gnn_model_record_all(const gnn_model_t *model, gnn_tape_t *tape,
                                       const gnn_model_inputs_t *inputs, gnn_var_t *vars,
                                       gnn_var_t *outputs);
/** Computes the attention weights of the layer or the aggregation at `step` for these inputs, as
 * gnn_layer_attention. */
GNN_API int gnn_model_attention(const gnn_model_t *model, gnn_context_t *context,
                                const gnn_model_inputs_t *inputs, int64_t step,
                                const gnn_tensor_t *per_edge, gnn_real_t *per_segment);

/* ---- going on: rows that are appended (decoding with a key/value cache) ---- */

/** What a model keeps of the rows that it has seen: for each layer what they have sent, in the
 * layer's own projected form. */
typedef struct gnn_state gnn_state_t;

/** Settings of a state. Zero means the default in brackets. */
typedef struct gnn_state_config {
    int64_t segments; /**< sequences that go on side by side [1] */
    int64_t capacity; /**< rows that each of them may come to have; needed */
    /** by graph slot: a row hears itself and so many rows before it, 0: all of them; NULL: all */
    const int64_t *windows;
    int64_t n_windows;
    /** inputs that do not grow (an encoder's words), and the graphs of what depends on them alone;
     * NULL: none */
    const gnn_model_inputs_t *fixed;
} gnn_state_config_t;

GNN_API int gnn_state_new_sized(gnn_state_t **state, const gnn_model_t *model, gnn_context_t *context,
                                const gnn_state_config_t *config, size_t size);
/**
 * A state without rows. Inputs that `fixed` does not have are those that grow. Steps that read
 * fixed inputs alone (an encoder) are run here, once, and so are the senders' projections of layers
 * whose senders are fixed (a decoder's attention to the encoder).
 *
 * Graph slots: of a layer whose rows grow, the slot's graph is made by the state: a row hears the
 * rows of its sequence up to itself, or up to `windows` before. Of a layer that hears fixed rows,
 * `fixed` gives the slot's graph, with a segment for each sequence (its receivers may be any): a
 * row hears all senders of its segment. Of a step that is fixed itself, the graph is used as it is.
 *
 * @param[in] model   borrowed until gnn_state_free; its parameters must not change in between
 * @param[in] config  borrowed during the call
 * @return GNN_OK; GNN_EINVALID; GNN_EUNSUPPORTED names a step that cannot go on row by row (stacked
 *         rows, edge inputs, self-loops or a norm that a graph's view adds); GNN_EMEMORY; else as
 *         gnn_model_forward
 *
 * Memory: segments * capacity rows of what each layer's senders send, made at the first
 * gnn_model_advance. Inline.
 */
static inline int gnn_state_new(gnn_state_t **state, const gnn_model_t *model,
                                gnn_context_t *context, const gnn_state_config_t *config)
{
    return gnn_state_new_sized(state, model, context, config, sizeof *config);
}
/** Frees a state; NULL is fine. The model stays. */
GNN_API void gnn_state_free(gnn_state_t *state);
/** Rows that a sequence has so far. */
GNN_API int64_t gnn_state_length(const gnn_state_t *state, int64_t segment);
/** Forgets the rows of a sequence from `length` on. GNN_EINVALID: it has fewer. O(1). */
GNN_API int gnn_state_truncate(gnn_state_t *state, int64_t segment, int64_t length);
/** Sequences that the state has. */
GNN_API int64_t gnn_state_segments(const gnn_state_t *state);
/**
 * Chooses who goes on: sequence k becomes a copy of the one that was number from[k]. Sequences may
 * be left out, be taken several times and change places: a beam search keeps its best in this way,
 * and several texts begin with one that was read once.
 *
 * @param[in] count  sequences that there are from now on, at least 1
 * @param[in] from   (count) numbers of sequences
 * @return GNN_OK; GNN_EINVALID; GNN_EOVERFLOW, GNN_EMEMORY: the state is as before
 *
 * Cost: O(rows of the sequences that move), with one sequence's rows of scratch; more sequences
 * than ever before copy the whole state. What is fixed (an encoder's rows) moves only where
 * sequence k comes from one that hears other fixed rows.
 */
GNN_API int gnn_state_select(gnn_state_t *state, int64_t count, const int64_t *from);
/**
 * Appends rows to the sequences and puts out the model's output for them: the same numbers, up to
 * rounding, as the rows of a forward pass over the whole sequences on causal graphs, at the cost of
 * the new rows alone.
 *
 * @param[in]  counts  (segments) new rows of each sequence, 0 or more; NULL: one of each
 * @param[in]  inputs  the values that grow: the new rows of all sequences one after another; graphs
 *                     are not read
 * @param[out] out     (new rows x width of the last step), caller's; overwritten
 * @return GNN_OK; GNN_ESHAPE: a sequence would have more than `capacity` rows, or a tensor does not
 *         fit; after an error the state is as before
 *
 * Cost: that of the steps on the new rows; attention of a new row is O(length). Threads: a state
 * belongs to one thread at a time.
 * Paper: Vaswani et al. 2017, section 3.2.3.   See also: gnn_layer_project
 */
GNN_API int gnn_model_advance(const gnn_model_t *model, gnn_context_t *context, gnn_state_t *state,
                              const int64_t *counts, const gnn_model_inputs_t *inputs,
                              const gnn_tensor_t *out);

#ifdef __cplusplus
}
#endif
#endif
