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

/** Kinds of steps: GNN_STEP_LAYER (0), GNN_STEP_LINEAR, ... gnn_step_t lists their outputs. */
typedef enum {
#define GNN_STEP(id, name) GNN_STEP_##id,
#include <gnn/tables/steps.def>
#undef GNN_STEP
    GNN_STEP_COUNT
} gnn_step_kind_t;

/**
 * One step: its kind, the names of the values that it reads, and its settings. Names are those of
 * earlier steps, or of inputs that are given with each call. Zero in a field means its default; a
 * field that the kind does not read must be zero. Strings are copied.
 *
 *     kind          output                                        fields besides .inputs
 *     LAYER         one hop                                       layer, graph, receivers, share,
 *                                                                 edge_features, edge_weight,
 *                                                                 edge_bias, gate, prior_query,
 *                                                                 priors
 *     LINEAR        x W + b; W may be another step's table,       in, out, bias, share, transposed,
 *                   transposed, or some rows of it                row, rows
 *     NORM          norm(x)                                       in, norm, eps, share
 *     ACTIVATION    activation(x)                                 activation, options: slope of
 *                                                                 the leaky relu [0.2]
 *     DROPOUT       dropout(x)                                    rate
 *     ADD           x + factor y                                  factor
 *     CONCAT        up to 8 inputs, concatenated by columns
 *     EMBED         row ids[r] of a table                         in: rows of the table, out, share
 *     INPUT         the model's input of this name                out: its width [any]
 *     AGGREGATE     sum over j of w_ij m_ij over given rows:      layer: how, its .in is the width
 *                   inputs[0] (messages), query, key, receivers   of a message; graph; edge_weight,
 *                   (their part of a message)                     edge_bias, gate, prior_query,
 *                                                                 priors
 *     PARAMETER     learned rows; no inputs                       rows, out, each_segment and
 *                                                                 graph, share, factor
 *     STACK         up to 8 inputs, concatenated by rows
 *     VIEW          a block of x                                  row, rows, column, columns
 *     SCALE         factor x                                      factor
 *     MULTIPLY      x y, element by element; y may be one row,
 *                   column or value
 *     SCALE_HEADS   the heads of x, each times a column of y
 *     MAXIMUM       the largest of up to 8 inputs, by element
 *     EDGE_ROWS     for each edge the row of x of its receiver    graph, side
 *                   or sender
 *     DETACH        x, without a gradient
 *     OP            a named op (gnn/op.h), or an op of the        op, options: its attributes;
 *                   program, on up to 8 inputs                    graph, where the op reads one
 *     REPEAT        inputs[0] after `rows` rounds of the steps    rows, graph, each_segment
 *                   before it (see below)
 *     AT            the rows of x that belong to the round: row   graph, rows [1], side
 *                   round rows + q of each segment, zeros past
 *                   its end
 *
 * REPEAT is a loop. inputs[1] and inputs[2] are the first and the next value of what it carries
 * from round to round, as inputs[3], inputs[4] and inputs[5], inputs[6] may be. Its body are the
 * earlier steps on which inputs[0] or a next value depends and which themselves depend on a first
 * value or on a step of kind AT; other steps run once. In each round but the first the body reads
 * the next values of the round before it in place of the first values. Parameters are the same in
 * all rounds, and gradients pass through all of them. Steps after a loop that read one of its body
 * read its first round.
 *
 *     {.kind = GNN_STEP_SCALE, .name = "h0", .inputs = {"x"}},
 *     {.kind = GNN_STEP_LAYER, .name = "h", .inputs = {"h0"}, .layer = {...}},
 *     {.kind = GNN_STEP_REPEAT, .inputs = {"h", "h0", "h"}, .rows = 6}     one layer, six times
 *
 * A loop along sequences reads its inputs by AT and has .each_segment, which puts the rows of all
 * rounds together: row t of each segment is that of round t.
 */
typedef struct gnn_step {
    gnn_step_kind_t kind;
    const char *name; /**< of its output and its parameters; NULL: its index, "0", "1", ... */
    /** LAYER: its config. AGGREGATE: its config, of which it reads the fields about aggregation */
    gnn_layer_config_t layer;
    int graph; /**< graph slot of the kinds that run on a graph [0] */
    /** the values that the step reads, in order: x, y, ...; of LAYER the senders' features, of
     * AGGREGATE the messages. The first NULL: the previous step's output, "x" for the first step */
    const char *inputs[8];
    const char *receivers; /**< LAYER, AGGREGATE: (n_dst x ...); NULL: the first n_dst senders */
    const char *edge_features; /**< LAYER: (m x layer.edge_dim); NULL: none */
    const char *edge_weight;   /**< LAYER, AGGREGATE: (m x 1); NULL: none */
    const char *edge_bias;     /**< LAYER, AGGREGATE: (m x 1) or (m x heads); NULL: none */
    const char *query;         /**< AGGREGATE: (n_dst x heads*d_k), or (n_dst x heads) */
    const char *key;           /**< AGGREGATE: (n_src x key_heads*d_k), or (n_src x heads) */
    const char *gate;          /**< LAYER, AGGREGATE: (n_dst x heads) times the heads' outputs */
    /** LAYER, AGGREGATE: (n_dst x heads*d_k) multiplied by priors in place of the query */
    const char *prior_query;
    /** LAYER, AGGREGATE: the values of layer.priors[k] as an input, which turns its .given on: a
     * table, or one row per receiver or sender, as the prior declares; NULL: parameters */
    const char *priors[GNN_PRIORS];
    /** the earlier step whose parameters this step uses; NULL: it has its own. STEP.FIELD: one
     * parameter of a step that is not a layer ("norm.shift"), as the first parameter of this one */
    const char *share;
    /** `share` only parameters whose name begins so; NULL: all. Those that lie in one matrix
     * (docs/parameters.md) are shared together */
    const char *share_fields;
    int64_t in;  /**< LINEAR, NORM: columns of the input. EMBED: rows of the table */
    int64_t out; /**< LINEAR, EMBED, PARAMETER: columns of the output. INPUT: its columns [any] */
    gnn_activation_t activation; /**< ACTIVATION [identity] */
    gnn_norm_t norm;             /**< NORM; needed */
    gnn_real_t eps;              /**< NORM: added to the variance [1e-5] */
    gnn_real_t rate;             /**< DROPOUT: 0 to below 1 */
    gnn_real_t factor; /**< ADD, SCALE: [1]. PARAMETER: initial value of all elements [Glorot] */
    gnn_flag_t bias;   /**< LINEAR: [on] */
    gnn_flag_t transposed; /**< LINEAR with `share`: [on where the matrix is a table of rows] */
    /** PARAMETER: the rows once per segment of the graph [off]. REPEAT: the rows of all rounds, in
     * the order of the graph's receivers [off: those of the last round] */
    gnn_flag_t each_segment;
    /** EDGE_ROWS: GNN_SIDE_RECEIVERS or GNN_SIDE_SENDERS; needed. AT: the segments of these
     * [receivers] */
    gnn_sides_t side;
    int64_t row;        /**< VIEW: the first row. LINEAR: the first row of W that is multiplied */
    int64_t rows;       /**< VIEW: [all that follow]. LINEAR: rows of W that are multiplied [all].
                   * PARAMETER: count of the learned rows; needed. REPEAT: rounds [as many as the
                   * longest segment of the graph needs]. AT: rows per segment and round [1] */
    int64_t column;     /**< VIEW: the first column */
    int64_t columns;    /**< VIEW: [all that follow] */
    const gnn_op_t *op; /**< OP; with one output; needed */
    /** OP: its attributes, (const double *)call->attributes. ACTIVATION: see above */
    double options[4];
} gnn_step_t;

/**
 * Makes a model of layers one after another, all on graph slot 0.
 *
 * @param[in] count   count of the layers, at least 1
 * @param[in] layers  (count) copied; each reads the output of the one before
 * @return as gnn_model_from_steps
 */
GNN_API int gnn_model_new(gnn_model_t **model, gnn_context_t *context, int64_t count,
                          const gnn_layer_config_t *layers);
/**
 * Makes a model of steps; the last step's output is the model's. Errors name the step and the
 * field.
 *
 * @param[in] count  count of the steps, at least 1
 * @param[in] steps  (count) copied
 * @return GNN_OK; GNN_EINVALID (a NULL, no step, a field, a name twice); GNN_ENOTFOUND: no
 *         earlier step to share parameters with; GNN_ESHAPE: widths of inputs do not match;
 *         GNN_EOVERFLOW; GNN_EMEMORY; else as gnn_layer_config_resolve
 */
GNN_API int gnn_model_from_steps(gnn_model_t **model, gnn_context_t *context, int64_t count,
                                 const gnn_step_t *steps);
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
/**
 * Appends a step; its strings are copied.
 *
 * @return GNN_OK; the first error of this list; GNN_EMEMORY
 */
GNN_API int gnn_steps_add(gnn_steps_t *steps, const gnn_step_t *step);
/** Count of the steps that a list has so far. */
GNN_API int64_t gnn_steps_count(const gnn_steps_t *steps);
/** The steps, owned by the list, until it grows. */
GNN_API const gnn_step_t *gnn_steps_list(const gnn_steps_t *steps);
/**
 * Makes the model of a list of steps, as gnn_model_from_steps; the list stays the caller's.
 *
 * @return GNN_OK; the first error of gnn_steps_add and gnn_steps_block; else as
 *         gnn_model_from_steps
 */
GNN_API int gnn_model_build(gnn_model_t **model, gnn_context_t *context, const gnn_steps_t *steps);

/**
 * Settings of a block. Its steps are named NAME.something, the last one NAME unless stated
 * otherwise. A block runs on graph slot `graph`, and on graphs[0], graphs[1], ...: graph + 1, graph
 * + 2, ... where they are 0.
 *
 *     decoder_layer      layer (a Transformer's config), input, memory; `graph` is causal,
 *                        graphs[0] goes from memory to input. Two layers, NAME and NAME:cross, the
 *                        second with the feed-forward block. Vaswani et al. 2017
 *     appnp              width, hops, factor [0.1]: z = (1 - factor) A z + factor input, on a
 *                        symmetrically normalised `graph`. Gasteiger et al. 2019
 *     gps                layer on `graph` plus attention with `heads` on graphs[0], each with its
 *                        residual (and layer.norm); an mlp of inner width `hidden` [2 width];
 *                        dropout. Rampasek et al. 2022
 *     jumping_knowledge  `hops` layers of config `layer`; their outputs concatenated, or with
 *                        .maximum the largest of each element; at most 8. Xu et al. 2018
 *     mab                attention of input to memory over `graph`: width (of both), heads. Lee et
 *                        al. 2019
 *     sab                mab of input with itself
 *     isab               `rows` learned rows attend to input over `graph`, input to them over
 *                        graphs[0]
 *     pma                `rows` learned rows attend to relu(linear(input)) over `graph`
 *     squeeze_excite     input * sigmoid(mlp(mean of the segment)): width, hidden [width / 4];
 *                        `graph` from rows to one row per segment, graphs[0] back. Hu et al. 2018
 *     graph_network      input (width), edges (edge_width), globals (global_width): NAME.edges,
 *                        NAME.nodes, NAME (globals); `graph` of edges between nodes, graphs[0]
 *                        from edges to their receivers, graphs[1] from globals to their nodes,
 *                        graphs[2] from nodes and graphs[3] from edges to their globals.
 *                        Battaglia et al. 2018
 *
 * Layers of more than one step; docs/blocks.md has their formulas and the module of PyG that each
 * corresponds to. All read width and out [width].
 *
 *     sage_project                       layer, whose senders pass relu(linear) first
 *     sgc ssg lg tag cheb arma mixhop    hops; ssg: factor [0.1]; arma: rows stacks; edge_weight
 *     le                                 one hop of differences
 *     deep_gcn                           as gen, after layer.norm and dropout
 *     gcn2                               memory (the first features), factor [0.1], theta
 *     agnn gen                           gen: hidden, layer.aggregator [softmax_mean], or
 *                                        factor, the initial exponent of a power mean
 *     mf                                 hops: the largest degree with separate weights
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
 *   on `graph`, from nodes to one row per segment:
 *     attentional set2set power_mean     set2set: hops
 *     lstm_readout set_transformer       set_transformer: heads, rows; `graph` complete, graphs[0]
 *                                        from nodes to its rows, graphs[1] complete among these
 *     graph_norm instance_norm           rows of nodes, normalised over each segment
 *     graph_layer_norm                   the same, over all columns together
 *   on pairs of nodes, by the inputs "sources" and "targets" (gnn/links.h):
 *     link_dot link_bilinear             one score per pair
 *     link_distance
 *     link_product link_mlp              hidden [width], dropout, out [1]; link_mlp: edges,
 *                                        edge_width (rows of pairs)
 *   on nodes of several types (gnn/hetero.h), with values named input.TYPE ["x.TYPE"] and
 *   NAME.TYPE; types, relations; a type's width is its own, else width:
 *     hgt                                heads; receivers of type t on slot graph + t
 *                                        (gnn_graph_towards)
 *     hetero_conv                        layer; relation r is slot graph + r (gnn_graph_relation);
 *                                        aggregators: sum, mean or max over relations [sum]
 *     hetero_linear                      layer.activation
 *   on rows, or labels:
 *     message_norm jumping_lstm          memory (messages); hops layers, concatenated, hidden
 *     label_propagation                  factor, hops
 *     correct_and_smooth                 memory (labels), globals (known), factor, hops, theta,
 *                                        rows
 */
typedef struct gnn_block {
    const char *name;  /**< of the block's steps; needed */
    const char *input; /**< the value that it reads; NULL: the previous step's output */
    /** the second value: decoder_layer, mab: rows to attend to. gcn2: the first features.
     * message_norm: messages. graphormer: degrees. correct_and_smooth: labels */
    const char *memory;
    /** values on edges (m x edge_width), of the blocks whose list above names `edges`; graphormer,
     * exphormer: ids below edge_width. link_mlp: rows of pairs */
    const char *edges;
    /** graph_network: (segments x global_width). correct_and_smooth: (n x 1) */
    const char *globals;
    int graph;            /**< the first graph slot [0] */
    int graphs[4];        /**< further graph slots [graph + 1, graph + 2, ...] */
    int64_t width;        /**< columns of input; needed, except by blocks that read layer.in */
    int64_t edge_width;   /**< columns of edges, or count of their ids */
    int64_t global_width; /**< graph_network: columns of globals */
    int64_t heads;        /**< of attention [1]; rgcn: blocks of W_r. multi_graph: [hops] */
    /** inner width of an mlp or LSTM: gps [2 width], squeeze_excite [width / 4], jumping_lstm [hops
     * width / 2], pinsage, link_product, link_mlp [width], edgeconv, gen, deep_gcn [one product],
     * nnconv: needed */
    int64_t hidden;
    /** learned rows: isab, pma, set_transformer [1]. arma: stacks [1]. gmm: kernels [1]. rgcn:
     * bases [none]. graphormer: degrees; needed. correct_and_smooth: hops of smoothing [1] */
    int64_t rows;
    /** repetitions of a hop or a layer [1]. rgcn: relations. mf: the largest degree. multi_graph:
     * groups of heads. exphormer: learned rows [0] */
    int64_t hops;
    /** weight of the input: appnp, gcn2, ssg [0.1]. label_propagation, correct_and_smooth: weight
     * of the neighbours; needed. gen, power_mean: initial exponent [none, 1]. graph_layer_norm: eps
     * [1e-5] */
    gnn_real_t factor;
    gnn_real_t dropout; /**< gps, deep_gcn, link_product, link_mlp: rate [0] */
    gnn_flag_t maximum; /**< jumping_knowledge: the largest of each element [off] */
    /** config of the block's layers: decoder_layer, gps, jumping_knowledge, sage_project,
     * hetero_conv. Of others the member named in the list above */
    gnn_layer_config_t layer;
    int64_t out;             /**< columns of the output [width; link_product, link_mlp: 1] */
    const char *edge_weight; /**< blocks that propagate: the value with edge weights; NULL: none */
    /** gcn2: weight of the product; needed. pna: mean of log(degree + 1); needed.
     * correct_and_smooth: factor of smoothing; needed. graph_layer_norm: 1 adds eps to the
     * deviation */
    gnn_real_t theta;
    const gnn_aggregator_t *aggregators[4]; /**< pna: up to 4; needed. hetero_conv: one [sum] */
    const char *types; /**< hgt, hetero_*: node types, with or without width: "paper:128 author" */
    const char *relations; /**< FROM__NAME__TO: "author__writes__paper paper__cites__paper" */
} gnn_block_t;
/**
 * Appends a block. GNN_ENOTFOUND with the list of names; GNN_EINVALID names a setting that is
 * missing, or that is set although the block does not read it.
 *
 * @param[in] block  name of the block
 */
GNN_API int gnn_steps_block(gnn_steps_t *steps, const char *block, const gnn_block_t *settings);
/** The name of a block, such as "gps"; NULL past the last. */
GNN_API const char *gnn_block_name(size_t index);

/* ---- the parts of a model ---- */

/** Count of the steps of a model; each layer of gnn_model_new is a step. */
GNN_API int64_t gnn_model_step_count(const gnn_model_t *model);
/** A step of a model with its config resolved, owned by the model; NULL past the last. */
GNN_API const gnn_step_t *gnn_model_step(const gnn_model_t *model, int64_t index);
/** The layer of a step, owned by the model; NULL for ops. */
GNN_API gnn_layer_t *gnn_model_layer(const gnn_model_t *model, int64_t index);
/** The index of the step of a name, or -1. */
GNN_API int64_t gnn_model_find(const gnn_model_t *model, const char *name);
/** Columns of a step's output; -1 where they are known only when it runs (they depend on those of
 * an input that is not declared). */
GNN_API int64_t gnn_model_width(const gnn_model_t *model, int64_t index);
/** Count of the inputs of a model: names that are not names of steps, or that GNN_STEP_INPUT
 * declares, in the order in which they are read. */
GNN_API int64_t gnn_model_input_count(const gnn_model_t *model);
/** The name of an input of a model, owned by the model; NULL past the last. */
GNN_API const char *gnn_model_input_name(const gnn_model_t *model, int64_t index);
/** The block that holds all parameters of a model, owned by the model. */
GNN_API gnn_parameters_t *gnn_model_parameters(const gnn_model_t *model);
/** Count of the graph slots of a model. */
GNN_API int gnn_model_graph_count(const gnn_model_t *model);

/** Count of the fields of all steps, named "STEP.FIELD" ("0.value.weight"); shared ones are listed
 * once, under their first step. */
GNN_API int64_t gnn_model_field_count(const gnn_model_t *model);
/** The name of a field of a model, "STEP.FIELD", owned by the model; NULL past the last. */
GNN_API const char *gnn_model_field_name(const gnn_model_t *model, int64_t index);
/** Gives views of a field's values and gradients, as gnn_layer_field does; `value` and `gradient`
 * may be NULL.
 * GNN_ENOTFOUND if there is none of that name. */
GNN_API int gnn_model_field(const gnn_model_t *model, const char *name, gnn_tensor_t *value,
                            gnn_tensor_t *gradient);
/** Count of the buffers: values that training updates without a gradient (batch norm's running mean
 * and variance), with names like those of fields. */
GNN_API int64_t gnn_model_buffer_count(const gnn_model_t *model);
/** The name of a buffer of a model, owned by the model; NULL past the last. */
GNN_API const char *gnn_model_buffer_name(const gnn_model_t *model, int64_t index);
/** Gives a view of a buffer's values. GNN_ENOTFOUND if there is none of that name. */
GNN_API int gnn_model_buffer(const gnn_model_t *model, const char *name, gnn_tensor_t *value);

/**
 * Builds the views of one slot's graph that the model's layers need.
 *
 * @param[in]     slot      index of the graph slot; steps on other slots need a call of their own
 * @param[in,out] graph     keeps the views, for later calls too
 * @param[in]     backward  GNN_ON: with the transpose, which gradients need; else for inference
 *                          alone
 * @return as gnn_graph_prepare
 */
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

/** The edges and sizes that the graphs of a described model are made from. */
typedef struct gnn_slot_sources {
    const gnn_edge_list_t *edges; /**< (n_edges) lists of edges */
    int64_t n_edges;
    const int64_t *lengths; /**< nodes of each graph of a batch; NULL: the nodes are one graph */
    int64_t n_lengths;
} gnn_slot_sources_t;

/**
 * The kind of graph of a slot, if the model was loaded from a file that declares it.
 *
 * @param[in]  slot    index of the graph slot
 * @param[out] source  the argument whose edges it is made from, owned by the model; NULL where it
 *                     is made from the graphs' sizes. The pointer may be NULL
 * @param[out] value   the relation, or the count of learned rows per graph. The pointer may be NULL
 * @return the kind: "edges"; "relation" (the edges of one type); "incidence" (from edges to their
 *         receivers); "readout" (from the nodes of a graph to one row); "spread" (the reverse);
 *         "complete" (the nodes of each graph); "seeds" (from nodes to learned rows),
 *         "among_seeds"; "beside" (the lists of edges that *source names, separated by whitespace,
 *         each with its own senders: gnn_graph_beside); "whole" (from all nodes to one row),
 *         "whole_edges" (from all edges to one row), "whole_ends" (from all their senders, or,
 *         where *value is 1, all their receivers); "carried" (from the edges before the last
 *         operation to those after it), "loops" (from nodes to the self-loops that it added). NULL:
 *         not declared
 *
 * Operations may follow the argument's name, each after a colon: "reverse", "without_loops",
 * "add_loops", "remaining" (one self-loop per node in place of existing ones), "type=K".
 */
GNN_API const char *gnn_model_slot(const gnn_model_t *model, int slot, const char **source,
                                   int64_t *value);
/**
 * Makes the graphs of all slots and prepares them for the model.
 *
 * @param[in]  sources   borrowed during the call
 * @param[in]  backward  GNN_ON for training
 * @param[out] graphs    (gnn_model_graph_count), each the caller's, for gnn_graph_free; all NULL
 *                       after an error
 * @return GNN_OK; GNN_ENOTFOUND: a slot is not declared, or edges of that name are not given;
 *         GNN_EINVALID: edges without types; else as the constructors of graphs
 *
 * Cost: O(n + m) time and memory for each slot.
 */
GNN_API int gnn_model_graphs(const gnn_model_t *model, const gnn_slot_sources_t *sources,
                             gnn_flag_t backward, gnn_graph_t **graphs);

/** A named input. Exactly one of dense, sparse, ids is given. An input on edges has one row per
 * edge of a graph: where slots have different graphs, one input of its name is given per slot. */
typedef struct gnn_named {
    const char *name;
    const gnn_tensor_t *dense;
    const gnn_sparse_t *sparse;
    const int32_t *ids;
    int64_t count;  /**< of ids */
    int wants_grad; /**< dense only: gnn_tape_gradient will be asked for */
    int slot;       /**< k + 1: for the steps on graph slot k alone; 0: for all */
} gnn_named_t;

/** The inputs of a model in one call: a graph per slot, and values by name. All are borrowed. */
typedef struct gnn_model_inputs {
    const gnn_graph_t *const *graphs; /**< one per slot */
    int64_t n_graphs;
    const gnn_named_t *values;
    int64_t n_values;
} gnn_model_inputs_t;

/**
 * Runs a model for inference.
 *
 * @param[in]  inputs  a prepared graph for each slot (gnn_model_prepare), and the values that steps
 *                     read
 * @param[out] out     (rows x cols of the last step), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID (a NULL, no graph for a slot); GNN_ENOTFOUND: no value of a name
 *         that a step reads; GNN_EUNPREPARED: call gnn_model_prepare for this model and graph
 *         first; GNN_ESHAPE; GNN_EMEMORY
 */
GNN_API int gnn_model_forward(const gnn_model_t *model, gnn_context_t *context,
                              const gnn_model_inputs_t *inputs, const gnn_tensor_t *out);
/**
 * The output of a step, by its name: embeddings, a readout, any value inside the model. Only the
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
 * Inference in the common case: one graph, features "x".
 *
 * @param[in]  graph   prepared by gnn_model_prepare; NULL for a model that reads no graph
 * @param[in]  x       dense features; NULL: `sparse` holds them
 * @param[in]  sparse  sparse features; NULL: `x` holds them
 * @param[out] out     (rows x cols of the last step), caller's; overwritten
 * @return as gnn_model_forward
 */
GNN_API int gnn_model_predict(const gnn_model_t *model, gnn_context_t *context,
                              const gnn_graph_t *graph, const gnn_tensor_t *x,
                              const gnn_sparse_t *sparse, const gnn_tensor_t *out);
/** A run of a model in stages: each step is computed when a value that needs it is read, and once.
 * Programs read a value, decide, and go on or stop: early exit, halting, choices between branches
 * of a model. */
typedef struct gnn_staged gnn_staged_t;
/**
 * Starts a run; no step is computed.
 *
 * @param[out] run                     the caller's, for gnn_staged_free
 * @param[in]  model, context, inputs  borrowed until gnn_staged_free; inputs that no step
 *                                     needs which is read may be absent
 * @return GNN_OK; GNN_EINVALID: a NULL; GNN_EMEMORY
 */
GNN_API int gnn_staged_new(gnn_staged_t **run, const gnn_model_t *model, gnn_context_t *context,
                           const gnn_model_inputs_t *inputs);
/** Frees a run with its values; NULL is fine. */
GNN_API void gnn_staged_free(gnn_staged_t *run);
/**
 * The value of a step: steps that it needs and that no earlier call has computed are computed now.
 *
 * @param[in]  name   of a step
 * @param[out] value  a view, which stays valid until gnn_staged_free
 * @return GNN_OK; GNN_ENOTFOUND: no step has this name; GNN_EUNSUPPORTED: the value is an input of
 *         ids or a sparse one; else as gnn_model_forward. After an error the run can go on
 *
 * Cost: that of the new steps. Memory: the values that steps read which are not computed yet, and
 * those of earlier calls. Threads: as gnn_model_forward.
 */
GNN_API int gnn_staged_value(gnn_staged_t *run, const char *name, gnn_tensor_t *value);

/** Puts the model on a tape. `vars` (n_values, or NULL) receives the variables of the inputs, in
 * their order. */
GNN_API gnn_var_t gnn_model_record(const gnn_model_t *model, gnn_tape_t *tape,
                                   const gnn_model_inputs_t *inputs, gnn_var_t *vars);
/** gnn_model_record, and `outputs` (gnn_model_step_count) receives the value of each step: losses
 * may read several. `vars` and `outputs` may be NULL. */
GNN_API gnn_var_t gnn_model_record_all(const gnn_model_t *model, gnn_tape_t *tape,
                                       const gnn_model_inputs_t *inputs, gnn_var_t *vars,
                                       gnn_var_t *outputs);
/**
 * Divides the steps into segments whose values training computes again in backward instead of
 * keeping them (gnn_tape_recompute): gnn_train, gnn_train_memory and every tape that records the
 * model follow it, results have the same bits. The last segment, with which backward begins, keeps
 * its values. Borders are where few values cross. The setting is not saved.
 *
 * @param[in] segments  0 or 1: values are kept; else at most as many as there are steps. The square
 *                      root of the count of layers needs the least memory for layers of equal size
 * @return GNN_OK; GNN_EINVALID (NULL, `segments`); GNN_EMEMORY. Over ranks a training run on the
 *         whole graph is then GNN_EUNSUPPORTED
 *
 * Cost: one more forward of all segments but the last. Paper: Chen et al. 2016.
 */
GNN_API int gnn_model_set_recompute(gnn_model_t *model, int64_t segments);
/**
 * Computes the attention weights of the layer or the aggregation at `step` for these inputs, as
 * gnn_layer_attention; `per_edge` and `per_segment` may be NULL.
 *
 * @param[in] step  index of the step
 * @return GNN_OK; GNN_EUNSUPPORTED: the step has no attention; else as gnn_model_forward
 */
GNN_API int gnn_model_attention(const gnn_model_t *model, gnn_context_t *context,
                                const gnn_model_inputs_t *inputs, int64_t step,
                                const gnn_tensor_t *per_edge, gnn_real_t *per_segment);

/* ---- incremental decoding with a KV cache ---- */

/** The KV cache of a model: for each layer the projected keys and values, or messages, of all rows
 * so far. */
typedef struct gnn_state gnn_state_t;

/** Settings of a state. Zero means the default in brackets. */
typedef struct gnn_state_config {
    int64_t segments; /**< count of sequences [1] */
    int64_t capacity; /**< most rows of a sequence; needed */
    /** (n_windows) per graph slot: a row attends to itself and that many rows before it, 0: all;
     * NULL: all */
    const int64_t *windows;
    int64_t n_windows;
    /** inputs that are not appended to (an encoder's tokens), and the graphs of the steps that
     * depend on them alone; NULL: none */
    const gnn_model_inputs_t *fixed;
} gnn_state_config_t;

/**
 * Makes a state without rows. Inputs that are not in `fixed` are those that grow. Steps that read
 * fixed inputs alone (an encoder) are run here, once, and so are the senders' projections of layers
 * whose senders are fixed (a decoder's attention to the encoder).
 *
 * Graph slots: for a layer whose senders grow, the state makes the graph: a row attends to the rows
 * of its sequence up to itself, or to a window of them. For a layer with fixed senders, `fixed`
 * gives the slot's graph, with one segment per sequence (its receivers may be any): a row attends
 * to all senders of its segment. For a step that is itself fixed, the graph is used as it is.
 *
 * @param[in] model   borrowed until gnn_state_free; its parameters must not change in between
 * @param[in] config  borrowed during the call
 * @return GNN_OK; GNN_EINVALID; GNN_EUNSUPPORTED names a step that cannot run incrementally
 *         (stacked rows, edge inputs, self-loops or a norm that a graph's view adds); GNN_EMEMORY;
 *         else as gnn_model_forward
 *
 * Memory: segments * capacity projected rows per layer, allocated at the first gnn_model_advance;
 * of linear attention over all earlier rows their sums, whatever the capacity.
 */
GNN_API int gnn_state_new(gnn_state_t **state, const gnn_model_t *model, gnn_context_t *context,
                          const gnn_state_config_t *config);
/** Frees a state; NULL is fine. The model stays. */
GNN_API void gnn_state_free(gnn_state_t *state);
/**
 * Count of the rows of a sequence.
 *
 * @param[in] segment  index of the sequence
 */
GNN_API int64_t gnn_state_length(const gnn_state_t *state, int64_t segment);
/**
 * Drops the rows of a sequence from `length` on. GNN_EINVALID: it has fewer. GNN_EUNSUPPORTED: a
 * step keeps sums over all rows (linear attention), and `length` is not 0. O(1).
 *
 * @param[in] segment  index of the sequence
 * @param[in] length   rows that stay
 */
GNN_API int gnn_state_truncate(gnn_state_t *state, int64_t segment, int64_t length);
/** Count of the sequences of a state. */
GNN_API int64_t gnn_state_segments(const gnn_state_t *state);
/**
 * Reorders the sequences: sequence k becomes a copy of the former sequence from[k]. Sequences may
 * be dropped, copied and permuted: a beam search keeps its best hypotheses in this way, and several
 * texts continue one prompt.
 *
 * @param[in] count  count of sequences after the call, at least 1
 * @param[in] from   (count) indices of sequences
 * @return GNN_OK; GNN_EINVALID; GNN_EOVERFLOW, GNN_EMEMORY: the state is as before
 *
 * Cost: O(rows of the sequences that move), with one sequence's rows of scratch; a count larger
 * than any before copies the whole state. Fixed rows (an encoder's) move only where sequence k
 * takes the place of one with other fixed rows.
 */
GNN_API int gnn_state_select(gnn_state_t *state, int64_t count, const int64_t *from);
/**
 * Appends rows to the sequences and computes the model's output for them: up to rounding the rows
 * of a forward pass over the whole sequences on causal graphs, at the cost of the new rows alone.
 *
 * @param[in]  counts  (segments) new rows of each sequence, 0 or more; NULL: one of each
 * @param[in]  inputs  the values that grow: the new rows of all sequences one after another; its
 *                     graphs are ignored
 * @param[out] out     (new rows x width of the last step), caller's; overwritten
 * @return GNN_OK; GNN_ESHAPE: a sequence would have more than `capacity` rows, or a tensor does not
 *         fit; after an error the state is as before
 *
 * Cost: that of the steps on the new rows; attention of a new row is O(length). Threads: a state
 * belongs to one thread at a time. Paper: Vaswani et al. 2017, section 3.2.3.
 */
GNN_API int gnn_model_advance(const gnn_model_t *model, gnn_context_t *context, gnn_state_t *state,
                              const int64_t *counts, const gnn_model_inputs_t *inputs,
                              const gnn_tensor_t *out);

#ifdef __cplusplus
}
#endif
#endif
