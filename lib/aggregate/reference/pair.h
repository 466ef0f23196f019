/* One pair (receiver i, sender j) made ready for the functions of the entries, and one
 * thread's scratch for it. */
#ifndef GNN_AGGREGATE_PAIR_H
#define GNN_AGGREGATE_PAIR_H

#include <lib/aggregate/aggregate.h>
#include <lib/kernels/neighbours/neighbours.h>

/* Scores of one receiver that are kept from the first pass over its pairs to the second. */
enum { GNN__KEPT_SCORES = 4096 };

/* Pairs whose gradients of projected features are summed together. */
enum { GNN__WAITING = 32 };

/* Gradients of projected features wait until there are GNN__WAITING of them, or the chunk
 * ends: then all are added to the weight's gradient, in order. The row after the last is free
 * for the current pair. */
typedef struct gnn__waiting {
    int64_t *count;
    const gnn_real_t **features; /* of each pair */
    gnn_real_t *d;               /* GNN__WAITING rows */
} gnn__waiting_t;

/* Scratch rows of one thread. */
typedef struct gnn__pair_scratch {
    gnn_real_t *edge;                           /* edge_width: projected features */
    gnn_real_t *key;                            /* key_width: key plus projected features */
    gnn__waiting_t d_edge, d_key;               /* rows of edge_width and of key_width */
    gnn_real_t *message, *weighted, *d_message; /* message_width */
    gnn_real_t *scores, *d_scores, *capped;     /* heads; capped: before priors were added */
    /* heads, where priors are logarithms of factors: the factors, and derivatives with respect to
     * the logarithms */
    gnn_real_t *terms, *d_terms;
    /* heads, with scores: the weigher's weights; times dropout and the edge's weight; derivatives
     * by these */
    gnn_real_t *plain_weights, *weights, *d_weights;
    gnn_real_t *keep;  /* heads, rounded up to 8 */
    gnn_real_t *d_out; /* out_width */
    gnn_real_t *kept;  /* GNN__KEPT_SCORES, of scored rows */
} gnn__pair_scratch_t;

/* Bytes of one thread's scratch; too many for an address are an overflow of *carve. */
int64_t gnn__pair_scratch_bytes(const gnn__plan_t *plan, gnn__carve_t *carve);
gnn__pair_scratch_t gnn__pair_scratch(const gnn__plan_t *plan, void *block);

/* Rows of a node that are far from those of the node before: prefetched. */
typedef struct gnn__far_rows {
    const char *rows;
    int64_t stride, bytes; /* from row to row, and how many of one are fetched */
} gnn__far_rows_t;

enum { GNN__FAR_ROWS = 4 };

/* One part being walked, with whatever all its pairs share. */
typedef struct gnn__walk {
    const gnn__plan_t *plan;
    const gnn__pairs_t *pairs;
    bool transposed; /* rows are senders */
    int64_t part;
    const gnn_real_t *dst_scale, *src_scale;
    const int64_t *dst_position, *src_position; /* NULL where no row reads distances */
    bool silent;                                /* messages are not read, and not made */
    /* Of the node at the other end of a pair; empty on spans, whose rows follow one another. */
    gnn__far_rows_t far[GNN__FAR_ROWS];
    int n_far;
    bool far_features; /* the features of edges too */
} gnn__walk_t;

gnn__walk_t gnn__walk(const gnn__plan_t *plan, int64_t p, bool transposed, const int64_t *positions);

/* Adds a matrix whose rows are prefetched. */
void gnn__walk_far_rows(gnn__walk_t *walk, const gnn_tensor_t *rows);

typedef struct gnn__pair {
    gnn_edge_t edge;
    gnn_score_rows_t compared;                   /* query and key, of scored rows */
    int64_t part, i, j, number, distance, place; /* edge: its id, -1 on spans */
    gnn_message_rows_t rows;
    const gnn_real_t *message; /* not weighted yet */
    gnn_real_t weight, scale;  /* weight = input weight * scale */
    const gnn_real_t *keep;    /* (heads) dropout of the weights: 0 or 1 / (1 - rate), or NULL */
} gnn__pair_t;

/* Identifies pair `at` of a row whose node is `node`: receiver, sender, edge id, distance. */
void gnn__pair_meet(const gnn__walk_t *walk, int64_t node, int64_t at, gnn__pair_t *pair);
/* Loads its message (unless the walk is silent), weight and dropout. Pointers are into the
 * inputs and the scratch: valid until the next call. */
void gnn__pair_load(const gnn__walk_t *walk, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair);

/* ---- scores ---- */

/* out += the features of the user's edge `number` times input `input` (d_e x columns of
 * `out`); nothing for an edge that the library added. */
void gnn__pair_project(const gnn__plan_t *plan, int64_t number, int input, gnn_real_t *out);
/* Fills scratch->scores: of every head, with cap, edge bias and priors. */
void gnn__pair_scores(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair);

/* Targets of the derivatives of a pair's scores; NULL, or data NULL, where they are not
 * wanted. */
typedef struct gnn__pair_scores_grad {
    gnn_score_grad_t score;
    gnn_real_t *bias; /* (heads) */
    gnn_prior_grad_t prior[GNN_PRIORS];
} gnn__pair_scores_grad_t;

/* Derivatives of scratch->d_scores, after gnn__pair_scores; d_scores are overwritten. */
void gnn__pair_scores_grad(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                           const gnn__pair_t *pair, gnn__pair_scores_grad_t *grad);

/* The weights of a pair from its scores and its receiver's settled state: scratch->plain_weights,
 * and scratch->weights, which pair->edge then reads. gnn__pair_load comes before. */
void gnn__pair_weights(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                       const gnn_real_t *state, const gnn_real_t *scores, gnn__pair_t *pair);

/* Dropout of head a times the edge's weight. */
static inline gnn_real_t gnn__pair_factor(const gnn__pair_t *pair, int64_t a)
{
    return pair->keep ? pair->weight * pair->keep[a] : pair->weight;
}

/* The weight by which input `input` projects features. */
static inline gnn__feature_weight_t gnn__pair_projection(const gnn__plan_t *plan, int input)
{
    const gnn_tensor_t *w = &plan->in[input];
    return (gnn__feature_weight_t){
        .count = plan->d_e, .n = w->cols, .stride = w->stride, .weight = w->data};
}

/* The edge has a row in the edge inputs: self-loops that the library added do not. */
static inline bool gnn__users_edge(const gnn__plan_t *plan, int64_t number)
{
    return number >= 0 && number < plan->graph->n_edges;
}

/* The edge has features: those of self-loops may follow those of the user's edges. */
static inline bool gnn__has_features(const gnn__plan_t *plan, int64_t number)
{
    return number >= 0 && number < plan->in[GNN_AGGREGATE_EDGE_FEATURES].rows;
}

#endif
