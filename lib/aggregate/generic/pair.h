/* One pair (i hears j) made ready for the four small functions of an aggregator, and one thread's scratch for it. */
#ifndef GNN_AGGREGATE_PAIR_H
#define GNN_AGGREGATE_PAIR_H

#include <lib/aggregate/aggregate.h>

/* Scratch rows of one thread. */
typedef struct gnn__pair_scratch {
    gnn_real_t *edge, *d_edge;                  /* edge_width: projected features */
    gnn_real_t *key, *d_key;                    /* key_width: key plus projected features */
    gnn_real_t *message, *weighted, *d_message; /* message_width */
    gnn_real_t *bias, *d_bias;                  /* heads */
    gnn_real_t *keep;                           /* heads, rounded up to 8 */
    gnn_real_t *d_out;                          /* out_width */
    gnn_real_t *state;
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
    const int64_t *dst_position, *src_position; /* NULL without a distance bias */
} gnn__listener_t;

gnn__listener_t gnn__listener(const gnn__plan_t *plan, int64_t p, bool transposed,
                              const int64_t *positions);

/* Positions of receivers, then of senders, inside their segments: n_dst + n_src numbers, or none without a distance bias. */
int64_t gnn__positions_size(const gnn__plan_t *plan);
void gnn__fill_positions(const gnn__plan_t *plan, int64_t *positions);

typedef struct gnn__pair {
    gnn_edge_t edge;
    int64_t i, j, number; /* of the edge: -1 on spans */
    const gnn_real_t *dst, *src, *projected,
        *message;             /* of the message row; message is not weighted yet */
    gnn_real_t weight, scale; /* weight = input weight * scale */
    int64_t distance;
} gnn__pair_t;

/* The pair at place `at` of a row whose node is `node`. Pointers are into the inputs and the scratch: valid until the next call. */
void gnn__pair_load(const gnn__listener_t *listener, int64_t node, int64_t at,
                    const gnn__pair_scratch_t *scratch, gnn__pair_t *pair);

/* Does this edge have a row in the edge inputs? Self-loops that the library added do not. */
static inline bool gnn__users_edge(const gnn__plan_t *plan, int64_t number)
{
    return number >= 0 && number < plan->graph->n_edges;
}

/* Column of the distance table. */
static inline int64_t gnn__bucket(const gnn__plan_t *plan, int64_t distance)
{
    int64_t buckets = plan->how->distance_buckets, at = distance + buckets / 2;
    return at < 0 ? 0 : at >= buckets ? buckets - 1 : at;
}

#endif
