/**
 * Explanations: which edges and which features a prediction comes from.
 *
 * One row of a model's output is explained: a node's, a graph's (behind a readout) or an edge's.
 * Two inputs are looked at, on a tape on which the model's weights are constants: the features, and
 * a mask that multiplies each message along an edge, after everything else that weighs it
 * (attention, edge weights, norms by degree), in every hop over the graph. Self-loops that a layer
 * adds are no edges and stay, as in PyG.
 *
 *     gnn_explanation_t *why;
 *     GNN_TRY(gnn_explain(&why, model, context, &inputs, node, NULL));
 *     ... why->edges, why->features ...
 *     gnn_explanation_free(why);
 *
 * Of a node only the part of the graph is run that its prediction depends on: as many hops around
 * it as the model has layers one behind another, with the degrees of the whole graph.
 */
#ifndef GNN_EXPLAIN_H
#define GNN_EXPLAIN_H

#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whose feature mask GNNExplainer learns. */
typedef enum {
    GNN_EXPLAIN_EACH = 0, /**< of every node for itself */
    GNN_EXPLAIN_COMMON,   /**< one number a column, for all nodes */
    GNN_EXPLAIN_NONE      /**< none: features are not looked at */
} gnn_explain_features_t;

/** How to explain. Zero in a field means the default in brackets. */
typedef struct gnn_explain_config {
    /**
     * of gnn_explain_method_at ["gnn_explainer"]. p is the probability of what is explained, z its
     * logit (of a regression the output):
     *
     *     gnn_explainer         masks in (0, 1) that keep p high, are small and decided: minimise
     *                           -log p + size |mask| + entropy H(mask). Ying et al. 2019
     *     integrated_gradients  the integral of dz from all features (or edges) 0 to what they are;
     *                           adds up to the difference of z. Sundararajan et al. 2017
     *     saliency              |dz / d feature|, |dz / d mask| at mask 1. Simonyan et al. 2014
     *     occlusion             p less p without the edge, or without the column of features
     *     attention             an edge's weight, mean over heads, largest of the hops
     */
    const char *method;
    const char *input; /**< the features' name among the inputs ["x"] */
    int slot;       /**< the graph slot whose edges are explained; others that have the same graph
                          are masked too [0] */
    int64_t output; /**< column k is written k + 1 [0: the largest; one column: by sign] */
    /** what a row of the output is: logits of classes; logits of labels that are independent (and
     * of one column, whatever stands here); numbers */
    gnn_loss_kind_t loss;
    gnn_explain_features_t features; /**< gnn_explainer [each] */
    int64_t epochs;                  /**< gnn_explainer [100] */
    gnn_real_t lr;                   /**< gnn_explainer [0.01] */
    /** gnn_explainer, as PyG's: [0.005] times the sum of the edges' mask, [1] times the mean of
     * their entropy, [1] times the mean of the features' mask, [0.1] times that of their entropy.
     * GNN_ZERO: none */
    gnn_real_t edge_size, edge_entropy, feature_size, feature_entropy;
    int64_t steps; /**< integrated_gradients: points of the integral, by the midpoint rule [50] */
    uint64_t seed; /**< gnn_explainer: of the masks' first values; 0 is a seed like any other */
} gnn_explain_config_t;

/** What gnn_explain found. Arrays belong to the explanation. */
typedef struct gnn_explanation {
    const char *method;
    int64_t row, output;  /**< what was explained, and the column of it, from 0 */
    double probability;   /**< p, as told; of a regression the output */
    int64_t hops;         /**< as far as the row hears; -1: the whole graph was run */
    int64_t n_nodes;      /**< that were run */
    const int64_t *nodes; /**< (n_nodes) their numbers; where hops >= 0 the row's is the first */
    int64_t n_edges;      /**< between them */
    const int64_t *edge_numbers; /**< (n_edges) the user's numbers */
    gnn_tensor_t edges;          /**< (m x 1) importance by the user's edge numbers; 0 if not run */
    /** (n_nodes x d) importance of the features of nodes[k]; (1 x d) of columns (occlusion, and a
     * common mask); 0 x 0: none (attention, no such input, GNN_EXPLAIN_NONE) */
    gnn_tensor_t features;
    gnn_tensor_t logits; /**< (1 x c) the row as the model puts it out */
    /** integrated_gradients: z, and z without features and without edges; else 0 */
    double value, value_without_features, value_without_edges;
} gnn_explanation_t;

/** A row of the table of methods (lib/explain/explainers.def). */
typedef struct gnn_explain_method {
    const char *name, *paper, *help;
} gnn_explain_method_t;
/** The method of an index; NULL past the last. */
GNN_API const gnn_explain_method_t *gnn_explain_method_at(size_t index);

GNN_API int gnn_explain_sized(gnn_explanation_t **explanation, const gnn_model_t *model,
                              gnn_context_t *context, const gnn_model_inputs_t *inputs, int64_t row,
                              const gnn_explain_config_t *config, size_t size);
/**
 * Explains one row of a model's output.
 *
 * @param[out] explanation  the caller's, for gnn_explanation_free; NULL after an error
 * @param[in]  model        its weights and gradients stay as they are
 * @param[in]  inputs       as for gnn_model_forward, dense or sparse features. Where the
 *                          neighbourhood is enough (a node, rows that hear one another over one
 *                          graph of one part) the graph needs no preparation; else it is prepared
 *                          with GNN_ON (gnn_model_prepare)
 * @param[in]  row          of the output: a node, a graph, an edge
 * @param[in]  config       NULL: all defaults
 * @return GNN_OK; GNN_EINVALID (a NULL, a row or column that there is not, a setting out of its
 *         range); GNN_ENOTFOUND (a method, an input); GNN_EUNSUPPORTED (no layer and no aggregation
 *         runs over the slot's graph; attention where there is none); GNN_EUNPREPARED; GNN_ESHAPE;
 *         GNN_EMEMORY
 *
 * Cost: a forward and backward run over the neighbourhood for each epoch or step (two for each step
 * of integrated gradients, one forward run for each edge and column that is not 0 of occlusion),
 * and its features as dense rows. Deterministic: yes, for any number of threads. Threads: reads the
 * model; the context is the caller's. Papers: above. Inline.
 */
static inline int gnn_explain(gnn_explanation_t **explanation, const gnn_model_t *model,
                              gnn_context_t *context, const gnn_model_inputs_t *inputs, int64_t row,
                              const gnn_explain_config_t *config)
{
    return gnn_explain_sized(explanation, model, context, inputs, row, config, sizeof *config);
}
/** Frees an explanation; NULL is fine. */
GNN_API void gnn_explanation_free(gnn_explanation_t *explanation);

/** What of an explanation is held against the model. */
typedef struct gnn_fidelity_config {
    /** so many edges of the highest importance are kept whole, the others taken away [0: the
     * importance itself is the mask; it must lie in 0 .. 1]; -1: all stay */
    int64_t edges;
    int64_t features;  /**< the same of the entries of `features` */
    const char *input; /**< as gnn_explain_config_t; so are the next two */
    int slot;
    gnn_loss_kind_t loss;
} gnn_fidelity_config_t;

/** How well an explanation fits the model. `y` is the class (or label) that was explained. */
typedef struct gnn_fidelity {
    /** 1: without the explanation the model says something else than y (good); 0. Mean over many
     * rows: fidelity+ as PyG's */
    double plus;
    /** 1: from the explanation alone the model says something else (bad); 0. fidelity- as PyG's */
    double minus;
    double plus_probability, minus_probability; /**< p(y) less p(y) without it, or from it alone */
    /** 1 - exp(-KL(q, p)) of the probabilities p and those from the explanation alone, q */
    double unfaithfulness;
    double sparsity; /**< the share of edges that were run that it leaves out */
} gnn_fidelity_t;

GNN_API int gnn_explain_fidelity_sized(const gnn_model_t *model, gnn_context_t *context,
                                       const gnn_model_inputs_t *inputs,
                                       const gnn_explanation_t *explanation,
                                       const gnn_fidelity_config_t *config, size_t size,
                                       gnn_fidelity_t *fidelity);
/**
 * Runs the model on the explanation alone (inputs times the mask) and on what it leaves (inputs
 * times 1 - mask).
 *
 * @param[in]  inputs       those that were explained
 * @param[in]  config       NULL: all defaults
 * @param[out] fidelity     caller's, overwritten
 * @return GNN_OK; GNN_EINVALID: a mask of importance that does not lie in 0 .. 1, a number of
 *         edges; GNN_EUNSUPPORTED: a regression; else as gnn_explain
 *
 * Cost: three forward runs. Papers: Pope et al. 2019, Yuan et al. 2022 (fidelity), Agarwal et al.
 * 2023 (unfaithfulness). Inline.
 */
static inline int gnn_explain_fidelity(const gnn_model_t *model, gnn_context_t *context,
                                       const gnn_model_inputs_t *inputs,
                                       const gnn_explanation_t *explanation,
                                       const gnn_fidelity_config_t *config, gnn_fidelity_t *fidelity)
{
    return gnn_explain_fidelity_sized(model, context, inputs, explanation, config, sizeof *config,
                                      fidelity);
}

/** What gnn_data_ba_shapes draws. Zero: the default in brackets. */
typedef struct gnn_ba_shapes {
    int64_t nodes;  /**< of the Barabási-Albert graph, at least 6 [300] */
    int64_t houses; /**< tied to it, a node each [80] */
    double extra;   /**< random links besides, as a share of the nodes [0.1]; negative: none */
    uint64_t seed;
} gnn_ba_shapes_t;
/**
 * BA-Shapes: a graph in which each new node is tied to 5 earlier ones in proportion to their
 * degree, houses of five nodes tied to nodes of it, and random links. Classes: 0 the graph, of a
 * house 1 roof, 2 the two below, 3 the two at the ground. Features are all 1. The edge array
 * "motif" is 1 on the edges of houses, 0 on others. 80 of 100 nodes are for training, 10 for
 * validation and 10 for the test.
 *
 * @param[in] shapes  NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. The same set for the same seed. O(nodes +
 * links), and all links are looked through for each that is extra
 *
 * Paper: Ying et al. 2019, section 5.
 */
GNN_API int gnn_data_ba_shapes(gnn_data_t **data, const gnn_ba_shapes_t *shapes);

#ifdef __cplusplus
}
#endif
#endif
