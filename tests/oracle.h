/* The oracle of the contract test: the op `aggregate` written from its formulas alone, in double
 * precision, as plain loops over an explicit list of pairs. It has no parts, tiles, states or saved
 * values.
 *
 * Every quantity is a term: its value, and the bound B that the same formula gives when each
 * term and each difference is replaced by the sum of absolute values. Rounding in any order of
 * summation is a small multiple of B. */
#ifndef GNN_TESTS_ORACLE_H
#define GNN_TESTS_ORACLE_H

#include <gnn/tape.h>
#include <math.h>
#include <stdbool.h>

typedef struct term {
    double v, b;
} term_t;

static inline term_t term(double x)
{
    return (term_t){x, fabs(x)};
}

static inline term_t plus(term_t x, term_t y)
{
    return (term_t){x.v + y.v, x.b + y.b};
}

static inline term_t minus(term_t x, term_t y)
{
    return (term_t){x.v - y.v, x.b + y.b};
}

static inline term_t times(term_t x, term_t y)
{
    return (term_t){x.v * y.v, x.b * y.b};
}

static inline term_t scaled(double f, term_t x)
{
    return (term_t){f * x.v, fabs(f) * x.b};
}

static inline void add_to(term_t *sum, term_t x)
{
    sum->v += x.v;
    sum->b += x.b;
}

typedef enum {
    ORACLE_NONE,
    ORACLE_LINEAR,
    ORACLE_LINEAR_EDGE,
    ORACLE_RELU_SUM,
    ORACLE_GATE,
    ORACLE_BY_DISTANCE,
    ORACLE_MESSAGES
} oracle_message_t;
typedef enum {
    ORACLE_SOFTMAX,
    ORACLE_SOFTMAX_SINK,
    ORACLE_LINEAR_WEIGHTS,
    ORACLE_SIGMOID,
    ORACLE_BEST,
    ORACLE_DECAY,
    ORACLE_RATIO,
    ORACLE_TOP,
    ORACLE_SPARSEMAX,
    ORACLE_ENTMAX15,
    ORACLE_COLLISION,
    ORACLE_WEIGHERS
} oracle_weigher_t;
typedef enum {
    ORACLE_SLOPE,
    ORACLE_SLOPE_ABSOLUTE,
    ORACLE_TABLE,
    ORACLE_KEYS,
    ORACLE_RECEIVER,
    ORACLE_SENDER,
    ORACLE_SENDER_KEYS,
    ORACLE_PLACE,
    ORACLE_DECAY_PRIOR,
    ORACLE_PRIORS
} oracle_prior_t;
typedef enum {
    ORACLE_SUM,
    ORACLE_MEAN,
    ORACLE_MAX,
    ORACLE_MIN,
    ORACLE_STD,
    ORACLE_DOT,
    ORACLE_ADDITIVE,
    ORACLE_ADDITIVE_V2,
    ORACLE_VAR,
    ORACLE_SOFTMAX_MEAN,
    ORACLE_ADDITIVE_TANH,
    ORACLE_AGGREGATORS
} oracle_aggregator_t;

/* An input as the op takes it and, after oracle_run, its gradient. cols 0: absent. */
typedef struct oracle_array {
    int64_t rows, cols;
    double *value;
    term_t *grad;
} oracle_array_t;

/* A pair of receiver i and sender j. `edge`: the edge id, n_edges + i for an added self-loop, -1
 * for a pair of a span. */
typedef struct oracle_pair {
    int64_t i, j, edge;
    double scale; /* of the view's norm */
    int64_t part; /* of the graph, from 1; self-loops that are added to several are of one more */
    double distance; /* position of j minus position of i, both in the pair's part */
    double place;    /* position of j in the pair's part */
    double at_i, at_j;
} oracle_pair_t;

typedef struct oracle {
    gnn_aggregate_t how;
    oracle_message_t message;
    oracle_aggregator_t aggregator;
    oracle_weigher_t weigher;
    oracle_prior_t prior[GNN_PRIORS]; /* where how.priors has a row */
    int turns;                        /* 1: the map is rope, 2: Llama 3's, 3: YaRN's */
    bool unit;                        /* the map divides heads by their length */
    bool scored;
    int64_t n_dst, n_src, n_edges;
    int64_t heads, key_heads, value_heads, d_k, d_v, width, out_width, key_width, query_width;
    double scale, slope;
    int edge_parts;
    /* pairs sorted by receiver: those of i are first[i] .. first[i + 1] - 1 */
    int64_t n_pairs, *first;
    oracle_pair_t *pairs;
    oracle_array_t in[GNN_AGGREGATE_INPUTS];
    double *d_out; /* n_dst x out_width */
    gnn_rng_t rng;
    bool dropping;
    /* results */
    term_t *out;
    double *weights; /* n_pairs x heads: after the softmax, before dropout and edge weights */
    /* (n_dst x out_width) distance of the inputs of each element from the nearest kink, relative to
     * B; exact zeros and exact ties are excluded. */
    double *margin;
    /* of the receiver at hand: one row per pair ... */
    term_t *row_message, *row_d_message, *row_edge, *row_key, *row_d_key, *row_score, *row_d_score,
        *row_factor, *row_d_factor;
    term_t *row_capped, *row_believed; /* believed: weights that the gradients of scores take */
    double *row_keep;
    /* ... and the output before the gate, its gradient, and margins per message column and per
     * head */
    term_t *row_y, *row_d_y;
    /* the mapped query and its gradient, and the sink's share of every head */
    term_t *query, *d_query;
    double *sink;
    term_t *total;     /* sums of scores by which ratio divides */
    double *steepness; /* of every head: a factor of the derivatives by scores */
    double *margin_message, *margin_score;
} oracle_t;

/* Copies everything. in[k].data NULL: absent. `d_out` NULL: ones. Fails the running test when a
 * row of the tables is unknown to the oracle. */
oracle_t *oracle_new(const gnn_aggregate_t *how, const gnn_tensor_t in[GNN_AGGREGATE_INPUTS],
                     const gnn_real_t *d_out, gnn_rng_t rng, int training);
void oracle_free(oracle_t *o);
/* Maps have formulas of their own in tests/contract_maps.c. */
bool oracle_knows_map(const char *name);
/* Output and every gradient. */
void oracle_run(oracle_t *o);
/* The output alone. */
void oracle_forward(oracle_t *o);
/* After oracle_forward: sets the gradient of elements with a margin below `least` to 0, since two
 * correct programs may differ there. Returns their fraction. */
double oracle_leave_kinks_out(oracle_t *o, double least);
/* The attention matrix of every segment, in the layout of segment_weights_out. `n` receives its
 * length; malloc'd. */
double *oracle_segment_weights(const oracle_t *o, int64_t *n);

/* Between the oracle's files: forward of receiver i into out and the row_ buffers; gradients of
 * receiver i from them. */
void oracle__row_forward(oracle_t *o, int64_t i);
void oracle__row_backward(oracle_t *o, int64_t i);
/* Prior k is there, and is not of another part of the graph than the pair. */
static inline bool oracle__has_prior(const oracle_t *o, const oracle_pair_t *p, int k)
{
    const int64_t part = o->prior[k] == ORACLE_TABLE ? (int64_t)o->how.priors[k].options[3] : 0;
    return o->how.priors[k].row && (part == 0 || part == p->part);
}
/* Edge bias and priors of a pair. */
term_t oracle__terms(const oracle_t *o, const oracle_pair_t *p, const term_t *key, int64_t a);
/* The first row of the segment of a sender. */
int64_t oracle__segment_begin(const oracle_t *o, int64_t row);
/* Priors and the edge bias are logarithms of factors. */
static inline bool oracle__multiplies(const oracle_t *o)
{
    return o->weigher == ORACLE_DECAY || o->weigher == ORACLE_RATIO;
}
/* score times exp(terms) */
static inline term_t oracle__times_exp(term_t score, term_t terms)
{
    return (term_t){score.v * exp(terms.v), score.b * exp(terms.v) * (1 + terms.b)};
}
/* x / sum, whose error grows as the sum's terms cancel. */
static inline term_t oracle__over(term_t x, term_t sum)
{
    return (term_t){x.v / sum.v, x.b / fabs(sum.v) * (sum.b / fabs(sum.v))};
}
/* An option's value, where 0 means the initial one. */
static inline double oracle__option(double given, double initial)
{
    return given != 0 ? given : initial;
}
/* The row of a prior by distance in its table of n: the rules by their papers. */
int64_t oracle__bucket(const double *options, double distance);
/* Of a message by distance: the position in its table of the term added to element c. */
int64_t oracle__message_place(const oracle_t *o, double distance, int64_t c);
/* rope: element c of a row of heads of width d_k, rotated by `sign` times the position's angle. */
term_t oracle__turned(const oracle_t *o, const term_t *row, int64_t c, double position, int sign);
/* d_row[c]: the gradient of the map's result for element c of its input row. */
term_t oracle__map_grad(const oracle_t *o, const term_t *row, const term_t *d_mapped, int64_t c,
                        double position);
/* Columns of a receiver's row for one head of the prior `place`, and the sender's column. */
int64_t oracle__place(const double *options, double at_j, int64_t a);

#endif
