/** Diffusion of graphs: personalised PageRank and the heat kernel as a transform (GDC). */
#ifndef GNN_DIFFUSE_H
#define GNN_DIFFUSE_H

#include <gnn/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Coefficients of a diffusion: theta_k of walks of k steps. */
typedef enum {
    GNN_DIFFUSION_PAGERANK = 0, /**< alpha (1 - alpha)^k: personalised PageRank, Page et al. 1999 */
    GNN_DIFFUSION_HEAT          /**< e^-t t^k / k!: the heat kernel, Kondor and Lafferty 2002 */
} gnn_diffusion_kind_t;

/** Settings of gnn_graph_diffuse; 0: the default in brackets. */
typedef struct gnn_diffusion {
    gnn_diffusion_kind_t kind; /**< [personalised PageRank] */
    gnn_real_t alpha;          /**< restart probability [0.15] */
    gnn_real_t time;           /**< t of the heat kernel [3] */
    gnn_real_t loop_weight;    /**< weight of the self-loops that are added [1]; GNN_ZERO: none */
    gnn_graph_norm_t norm_in;  /**< normalisation of the input graph: [symmetric], or row */
    gnn_graph_norm_t norm_out; /**< normalisation of the result: [row], symmetric or none */
    int64_t top;               /**< senders kept per receiver, the strongest ones [all] */
    gnn_real_t threshold;      /**< pairs below it are removed [0] */
    /** contributions that can add at most this to an element are not followed [1e-8] */
    gnn_real_t tolerance;
    /** mean count of senders per receiver: the threshold is then midway between the (`average`
     * n)-th strongest of all pairs and the next, and equal ones are kept [all] */
    int64_t average;
} gnn_diffusion_t;

/**
 * Graph diffusion: S = sum over k of theta_k T^k with the normalised graph T, sparsified per
 * receiver to the strongest senders or those above a threshold, and normalised again. PyG's GDC in
 * its exact form: norm `row` is its "col" (the weights of a receiver add up to 1), `top` its topk
 * of dim 0, `average` its avg_degree. Layers on the result read `weight` and need neither
 * self-loops nor a norm.
 *
 * @param[out] graph        n nodes, one part of edges sorted by receiver, then sender; the
 *                          caller's, for gnn_graph_free
 * @param[out] weight       (its edges), the caller's, for gnn_free
 * @param[in]  of           n_dst == n_src; weights of parallel pairs add up
 * @param[in]  edge_weight  (edges of `of`) at least 0; NULL: all 1, as pairs of spans are
 * @param[in]  context      its threads are used; NULL: one thread. The result does not depend on
 *                          the thread count
 * @param[in]  config       NULL: all defaults
 * @return GNN_OK; GNN_EINVALID (a setting); GNN_ETOPOLOGY; GNN_ENUMERIC: a weight is negative or
 *         not finite; GNN_EMEMORY. *graph and *weight are NULL then.
 *
 * Cost: per node, the pairs that its walks visit, which `tolerance` bounds: with 1e-8 nearly the
 * whole graph in each step (n m log(tolerance) / log(1 - alpha) at most); O(n) memory per thread,
 * and 16 bytes per pair kept; with `average` up to 4 `average` n + 1,024 n pairs before the
 * selection. Paper: Gasteiger et al. 2019 (GDC).
 */
GNN_API int gnn_graph_diffuse(gnn_graph_t **graph, gnn_real_t **weight, const gnn_graph_t *of,
                              const gnn_real_t *edge_weight, gnn_context_t *context,
                              const gnn_diffusion_t *config);

#ifdef __cplusplus
}
#endif
#endif
