/**
 * Explanations: importance of edges and features for a prediction.
 *
 * One row of a model's output is explained: that of a node, a graph (after a readout) or an edge.
 * The weights are constants; the variables are the features, and a mask that multiplies each
 * message along an edge, after all other factors (attention, edge weights, norms by degree), in
 * every hop over the graph. Self-loops that a layer adds are not masked, as in PyG.
 *
 *     gnn_explanation_t *why;
 *     GNN_TRY(gnn_explain(&why, model, context, &inputs, node, NULL));
 *     ... why->edges, why->features ...
 *     gnn_explanation_free(why);
 *
 * For a node, only the subgraph that its prediction depends on is run: as many hops as the model
 * has layers in sequence, with the degrees of the whole graph.
 */
#ifndef GNN_EXPLAIN_H
#define GNN_EXPLAIN_H

#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The feature mask that GNNExplainer learns. */
typedef enum {
    GNN_EXPLAIN_EACH = 0, /**< one value per node and column */
    GNN_EXPLAIN_COMMON,   /**< one value per column, shared by all nodes */
    GNN_EXPLAIN_NONE      /**< none: features are not explained */
} gnn_explain_features_t;

/** Settings of gnn_explain. Zero in a field means the default in brackets. */
typedef struct gnn_explain_config {
    /**
     * a name of gnn_explain_method_at ["gnn_explainer"]. p is the probability of the explained
     * class, z its logit (in a regression the output):
     *
     *     gnn_explainer         masks in (0, 1) that keep p high, sparse and near 0 or 1: minimise
     *                           -log p + size |mask| + entropy H(mask). Ying et al. 2019
     *     integrated_gradients  the integral of dz from features (or edges) scaled by 0 to 1;
     *                           adds up to the difference of z. Sundararajan et al. 2017
     *     saliency              |dz / d feature|, |dz / d mask| at mask 1. Simonyan et al. 2014
     *     occlusion             p minus p without the edge, or without the feature column
     *     attention             an edge's attention weight, mean over heads, maximum over hops
     */
    const char *method;
    const char *input; /**< name of the model input that holds the features ["x"] */
    /** the graph slot whose edges are explained; other slots with the same graph are masked too
     * [0] */
    int slot;
    /** 1 + the column to explain [0: the column of the largest logit; with one column by sign] */
    int64_t output;
    /** meaning of the output: cross-entropy: logits of classes; binary cross-entropy: independent
     * logits (always for one column); mean squared: regression */
    gnn_loss_kind_t loss;
    gnn_explain_features_t features; /**< gnn_explainer [each] */
    int64_t epochs;                  /**< gnn_explainer [100] */
    gnn_real_t lr;                   /**< gnn_explainer [0.01] */
    /** gnn_explainer: coefficients of the sum of the edge mask [0.005], the mean of its entropy
     * [1], the mean of the feature mask [1] and of its entropy [0.1], as in PyG. GNN_ZERO: none */
    gnn_real_t edge_size, edge_entropy, feature_size, feature_entropy;
    int64_t steps; /**< integrated_gradients: points of the midpoint rule [50] */
    uint64_t seed; /**< gnn_explainer: of the masks' initial values */
} gnn_explain_config_t;

/** An explanation. Arrays belong to it. */
typedef struct gnn_explanation {
    const char *method;
    int64_t row, output;  /**< the row that was explained, and its column, from 0 */
    double probability;   /**< p of the explained class; in a regression the output */
    int64_t hops;         /**< radius of the subgraph that was run; -1: the whole graph */
    int64_t n_nodes;      /**< nodes that were run */
    const int64_t *nodes; /**< (n_nodes) their ids; if hops >= 0 that of the row is the first */
    int64_t n_edges;      /**< edges between them */
    const int64_t *edge_numbers; /**< (n_edges) their edge ids */
    gnn_tensor_t edges;          /**< (m x 1) importance by edge id; 0 if not run */
    /** (n_nodes x d) importance of the features of nodes[k]; (1 x d) of columns (occlusion,
     * GNN_EXPLAIN_COMMON); 0 x 0: none (attention, no such input, GNN_EXPLAIN_NONE) */
    gnn_tensor_t features;
    gnn_tensor_t logits; /**< (1 x c) the row of the model's output */
    /** integrated_gradients: z, and z without features and without edges; else 0 */
    double value, value_without_features, value_without_edges;
} gnn_explanation_t;

/** An entry of the table of methods (lib/explain/explainers.def). */
typedef struct gnn_explain_method {
    const char *name, *paper, *help;
} gnn_explain_method_t;
/** The method of an index; NULL past the last. */
GNN_API const gnn_explain_method_t *gnn_explain_method_at(size_t index);

/**
 * Explains one row of a model's output.
 *
 * @param[out] explanation  the caller's, for gnn_explanation_free; NULL after an error
 * @param[in]  model        not changed, gradients included
 * @param[in]  inputs       as for gnn_model_forward, dense or sparse features. Where a subgraph is
 *                          run (a node, one graph of one part) the graph needs no preparation; else
 *                          it must be prepared with GNN_ON (gnn_model_prepare)
 * @param[in]  row          of the output: a node, a graph, an edge
 * @param[in]  config       NULL: all defaults
 * @return GNN_OK; GNN_EINVALID (a NULL, no such row or column, a setting out of its range);
 *         GNN_ENOTFOUND (a method, an input); GNN_EUNSUPPORTED (no layer and no aggregation runs
 *         over the slot's graph; method attention without attention layers); GNN_EUNPREPARED;
 *         GNN_ESHAPE; GNN_EMEMORY
 *
 * Cost: one forward and backward pass over the subgraph per epoch or step (two per step of
 * integrated gradients; in occlusion one forward pass per edge and per non-zero column), and its
 * features as dense rows. Deterministic: yes, with any thread count. Threads: reads the model; the
 * context is the caller's. Papers: above.
 */
GNN_API int gnn_explain(gnn_explanation_t **explanation, const gnn_model_t *model,
                        gnn_context_t *context, const gnn_model_inputs_t *inputs, int64_t row,
                        const gnn_explain_config_t *config);
/** Frees an explanation; may be NULL. */
GNN_API void gnn_explanation_free(gnn_explanation_t *explanation);

/** Settings of gnn_explain_fidelity. */
typedef struct gnn_fidelity_config {
    /** count of the most important edges, which are kept, the others removed [0: the importance
     * itself is the mask; it must be in [0, 1]]; -1: all are kept */
    int64_t edges;
    int64_t features;  /**< the same for the elements of `features` */
    const char *input; /**< as in gnn_explain_config_t, like the next two */
    int slot;
    gnn_loss_kind_t loss;
} gnn_fidelity_config_t;

/** Fidelity of an explanation. y is the explained class (or label). */
typedef struct gnn_fidelity {
    /** 1 if the prediction changes from y when the explanation is removed (good), else 0. The mean
     * over rows is PyG's fidelity+ */
    double plus;
    /** 1 if the prediction changes when only the explanation is kept (bad), else 0. The mean over
     * rows is PyG's fidelity- */
    double minus;
    double plus_probability,
        minus_probability; /**< p(y) minus p(y) without the explanation, and with it alone */
    /** 1 - exp(-KL(q, p)) of the probabilities p and those with the explanation alone, q */
    double unfaithfulness;
    double sparsity; /**< the share of the edges run that it excludes */
} gnn_fidelity_t;

/**
 * Runs the model on the explanation alone (inputs times mask) and on the remainder (inputs times 1
 * - mask).
 *
 * @param[in]  inputs       the inputs that were explained
 * @param[in]  config       NULL: all defaults
 * @param[out] fidelity     caller's, overwritten
 * @return GNN_OK; GNN_EINVALID: an importance outside [0, 1] used as a mask, a count of edges;
 *         GNN_EUNSUPPORTED: a regression; else as gnn_explain
 *
 * Cost: three forward runs. Papers: Pope et al. 2019, Yuan et al. 2022 (fidelity), Agarwal et al.
 * 2023 (unfaithfulness).
 */
GNN_API int gnn_explain_fidelity(const gnn_model_t *model, gnn_context_t *context,
                                 const gnn_model_inputs_t *inputs,
                                 const gnn_explanation_t *explanation,
                                 const gnn_fidelity_config_t *config, gnn_fidelity_t *fidelity);

/** Settings of gnn_data_ba_shapes. Zero: the default in brackets. */
typedef struct gnn_ba_shapes {
    int64_t nodes;  /**< of the Barabási-Albert graph, at least 6 [300] */
    int64_t houses; /**< houses attached to it, each by one edge [80] */
    double extra;   /**< random extra links, as a share of the nodes [0.1]; negative: none */
    uint64_t seed;
} gnn_ba_shapes_t;
/**
 * Generates BA-Shapes: a Barabási-Albert graph (each new node links to 5 earlier ones), houses of
 * five nodes attached to it, and random links. Classes: 0 the graph; in a house 1 the roof, 2 the
 * two nodes below it, 3 the two at the bottom. Features are all 1. The edge array "motif" is 1 on
 * the edges of houses, 0 on others. The split is 80% training, 10% validation, 10% test.
 *
 * @param[in] shapes  NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. The same set for the same seed. O(nodes + links), plus
 *         O(links) per extra link
 *
 * Paper: Ying et al. 2019, section 5.
 */
GNN_API int gnn_data_ba_shapes(gnn_data_t **data, const gnn_ba_shapes_t *shapes);

#ifdef __cplusplus
}
#endif
#endif
