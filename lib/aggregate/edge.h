/* One pair (i hears j) made ready for the four small functions of a row, and one thread's scratch for it. */
#ifndef GNN_AGGREGATE_EDGE_H
#define GNN_AGGREGATE_EDGE_H

#include <lib/aggregate/aggregate.h>

/* Scratch rows of one thread. */
typedef struct gnn__lane {
    gnn_real_t *edge, *d_edge;                  /* edge_width: projected features */
    gnn_real_t *key, *d_key;                    /* key_width: key plus projected features */
    gnn_real_t *message, *weighted, *d_message; /* message_width */
    gnn_real_t *bias, *d_bias;                  /* heads */
    gnn_real_t *keep;                           /* heads, rounded up to 8 */
    gnn_real_t *d_out;                          /* out_width */
    gnn_real_t *state;
} gnn__lane_t;

/* Numbers in a lane, whole cache lines. */
int64_t gnn__lane_size(const gnn__plan_t *plan);
gnn__lane_t gnn__lane(const gnn__plan_t *plan, gnn_real_t *block);

/* One part being walked, with what every pair of it needs. */
typedef struct gnn__listener {
    const gnn__plan_t *plan;
    const gnn__part_t *part;
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
    int64_t i, j, number; /* the edge's number: -1 on spans */
    const gnn_real_t *dst, *src, *projected,
        *message;             /* of the message row; message is not weighted yet */
    gnn_real_t weight, scale; /* weight = input weight * scale */
    int64_t distance;
} gnn__pair_t;

/* The next pair of a row; 0 at its end. Pointers are into the inputs and the lane: valid until the next call. */
int gnn__next_pair(const gnn__listener_t *listener, gnn__walk_t *walk, const gnn__lane_t *lane,
                   gnn__pair_t *pair);

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
