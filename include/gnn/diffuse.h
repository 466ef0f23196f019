/** Diffusion of graphs: personalised PageRank and the heat kernel as a transform (GDC). */
#ifndef GNN_DIFFUSE_H
#define GNN_DIFFUSE_H

#include <gnn/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What walks of a diffusion weigh: theta_k of k steps. */
typedef enum {
    GNN_DIFFUSION_PAGERANK = 0, /**< alpha (1 - alpha)^k: personalised PageRank, Page et al. 1999 */
    GNN_DIFFUSION_HEAT          /**< e^-t t^k / k!: the heat kernel, Kondor and Lafferty 2002 */
} gnn_diffusion_kind_t;

/** Settings of gnn_graph_diffuse; 0: the default in brackets. */
typedef struct gnn_diffusion {
    gnn_diffusion_kind_t kind; /**< [personalised PageRank] */
    gnn_real_t alpha;          /**< chance that a walk ends at each step [0.15] */
    gnn_real_t time;           /**< t of the heat kernel [3] */
    gnn_real_t loop_weight;    /**< of the self-loop that each node gets [1]; GNN_ZERO: none */
    gnn_graph_norm_t norm_in;  /**< of the graph before: [symmetric], or row */
    gnn_graph_norm_t norm_out; /**< of what is kept: [row], symmetric or none */
    int64_t top;               /**< the strongest senders that a receiver keeps [all] */
    gnn_real_t threshold;      /**< weaker ones are left out [0] */
    /** what can add no more than this to a number is not followed [1e-8] */
    gnn_real_t tolerance;
    /** senders that receivers keep in the mean: the threshold is then half way between the
     * (`average` n)-th strongest of all pairs and the next, and what equals it is kept [all] */
    int64_t average;
} gnn_diffusion_t;

GNN_API int gnn_graph_diffuse_sized(gnn_graph_t **graph, gnn_real_t **weight, const gnn_graph_t *of,
                                    const gnn_real_t *edge_weight, gnn_context_t *context,
                                    const gnn_diffusion_t *config, size_t size);
/**
 * Graph diffusion: each node hears those that walks from it lead to, by S = sum over k of theta_k
 * T^k, T the normalised graph; of each receiver's row the strongest or those above a threshold are
 * kept, and normalised again. PyG's GDC in its exact form: norm `row` is its "col" (a receiver
 * hears 1 in all), `top` its topk of dim 0, `average` its avg_degree. Layers on the result read
 * `weight` and need neither self-loops nor a norm.
 *
 * @param[out] graph        n nodes, one part of edges in the order of receivers, then senders; the
 *                          caller's, for gnn_graph_free
 * @param[out] weight       (its edges), the caller's, for gnn_free
 * @param[in]  of           one kind of nodes; parallel pairs add up
 * @param[in]  edge_weight  (edges of `of`) at least 0; NULL: all 1, as pairs of spans are
 * @param[in]  context      its threads work; NULL: one. The numbers are the same for any number
 * @param[in]  config       NULL: all defaults
 * @return GNN_OK; GNN_EINVALID (a setting); GNN_ETOPOLOGY; GNN_ENUMERIC: a weight is negative or
 *         not finite; GNN_EMEMORY. *graph and *weight are NULL then. Inline.
 *
 * Cost: for each node the pairs that its walks pass, which `tolerance` bounds: with 1e-8 nearly the
 * whole graph, again and again (n m log(tolerance) / log(1 - alpha) at most); O(n) memory a thread,
 * and 16 bytes a pair that is kept; with `average` up to 4 `average` n + 1,024 n pairs before they
 * are chosen.
 * Paper: Gasteiger et al. 2019 (GDC).
 */
static inline int gnn_graph_diffuse(gnn_graph_t **graph, gnn_real_t **weight, const gnn_graph_t *of,
                                    const gnn_real_t *edge_weight, gnn_context_t *context,
                                    const gnn_diffusion_t *config)
{
    return gnn_graph_diffuse_sized(graph, weight, of, edge_weight, context, config, sizeof *config);
}

#ifdef __cplusplus
}
#endif
#endif
