/* One pair (i hears j) made ready for the functions of the rows, and one thread's scratch for
 * it. */
#ifndef GNN_AGGREGATE_PAIR_H
#define GNN_AGGREGATE_PAIR_H

#include <lib/aggregate/aggregate.h>

/* Scores of one receiver that are kept from the first pass over its pairs to the second. */
enum { GNN__KEPT_SCORES = 4096 };

/* Scratch rows of one thread. */
typedef struct gnn__pair_scratch {
    gnn_real_t *edge, *d_edge;                  /* edge_width: projected features */
    gnn_real_t *key, *d_key;                    /* key_width: key plus projected features */
    gnn_real_t *message, *weighted, *d_message; /* message_width */
    gnn_real_t *scores, *d_scores, *capped;     /* heads; capped: before priors were added */
    gnn_real_t *keep;                           /* heads, rounded up to 8 */
    gnn_real_t *d_out;                          /* out_width */
    gnn_real_t *kept;                           /* GNN__KEPT_SCORES, of scored rows */
} gnn__pair_scratch_t;

/* Bytes of one thread's scratch; too many for an address are an overflow of *carve. */
int64_t gnn__pair_scratch_bytes(const gnn__plan_t *plan, gnn__carve_t *carve);
gnn__pair_scratch_t gnn__pair_scratch(const gnn__plan_t *plan, void *block);

/* One part being walked, with what every pair of it needs. */
typedef struct gnn__listener {
    const gnn__plan_t *plan;
    const gnn__pairs_t *pairs;
    bool transposed; /* rows are senders */
    const gnn_real_t *dst_scale, *src_scale;
    const int64_t *dst_position, *src_position; /* NULL where no row reads distances */
} gnn__listener_t;

gnn__listener_t gnn__listener(const gnn__plan_t *plan, int64_t p, bool transposed,
                              const int64_t *positions);

typedef struct gnn__pair {
    gnn_edge_t edge;
    int64_t i, j, number, distance, place; /* number: of the edge, -1 on spans */
    gnn_message_rows_t rows;
    const gnn_real_t *message; /* not weighted yet */
    gnn_real_t weight, scale;  /* weight = input weight * scale */
    const gnn_real_t *keep;    /* (heads) dropout of the weights: 0 or 1 / (1 - rate), or NULL */
} gnn__pair_t;

/* The pair at place `at` of a row whose node is `node`: who it is, and how far apart. */
void gnn__pair_meet(const gnn__listener_t *listener, int64_t node, int64_t at, gnn__pair_t *pair);
/* Its message, weight and dropout. Pointers are into the inputs and the scratch: valid until the
 * next call. */
void gnn__pair_load(const gnn__listener_t *listener, const gnn__pair_scratch_t *scratch,
                    gnn__pair_t *pair);

/* ---- pair_scores.c ---- */

/* out += the features of the user's edge `number` times input `input` (d_e x columns of `out`);
 * nothing for an edge that the library added. */
void gnn__pair_project(const gnn__plan_t *plan, int64_t number, int input, gnn_real_t *out);
/* scratch->scores: of every head, with cap, edge bias and priors. */
void gnn__pair_scores(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair);

/* Where the derivatives of a pair's scores go; NULL, or data NULL, where they are not wanted. */
typedef struct gnn__scores_grad {
    gnn_edge_grad_t edge;
    gnn_real_t *bias; /* (heads) */
    gnn_prior_grad_t prior[GNN_PRIORS];
} gnn__scores_grad_t;

/* Of scratch->d_scores, after gnn__pair_scores; d_scores are used up. */
void gnn__pair_scores_grad(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                           const gnn__pair_t *pair, gnn__scores_grad_t *grad);

/* Does this edge have a row in the edge inputs? Self-loops that the library added do not. */
static inline bool gnn__users_edge(const gnn__plan_t *plan, int64_t number)
{
    return number >= 0 && number < plan->graph->n_edges;
}

/* Does it have features? Those of self-loops may be given after those of the user's edges. */
static inline bool gnn__has_features(const gnn__plan_t *plan, int64_t number)
{
    return number >= 0 && number < plan->in[GNN_AGGREGATE_EDGE_FEATURES].rows;
}

#endif
