/* Shared by the files of the contract suite: graphs, cases (one setting of the op `aggregate` on
 * one graph with random inputs), and the comparison with the oracle. */
#ifndef GNN_TESTS_CONTRACT_H
#define GNN_TESTS_CONTRACT_H

#include "combinations.h"
#include "oracle.h"
#include "support.h"

/* ---- drawing (contract_graphs.c) ---- */

typedef struct draw {
    uint64_t state;
} draw_t;
draw_t draw_from(uint64_t seed);
/* 0 .. n - 1 */
int64_t draw_below(draw_t *d, int64_t n);
/* True once in `n`. */
bool draw_once_in(draw_t *d, int64_t n);

/* ---- graphs (contract_graphs.c) ---- */

/* Every row of topologies.def, then random edges, random spans, merges of one to four mixed
 * parts, bipartite segments of unequal lengths. */
size_t contract_graph_count(void);
const char *contract_graph_name(size_t kind);
gnn_graph_t *contract_graph(size_t kind, int64_t n, uint64_t seed);
gnn_graph_t *contract_random_edges(int64_t n_dst, int64_t n_src, int64_t m, uint64_t seed);
gnn_graph_t *contract_random_spans(int64_t n_dst, int64_t n_src, uint64_t seed);
gnn_graph_t *contract_random_merge(int64_t n, int64_t parts, uint64_t seed);
/* As edges; `of` stays the caller's. */
gnn_graph_t *contract_edges_of(const gnn_graph_t *of);
bool contract_has_spans(const gnn_graph_t *g);

/* ---- cases (contract_case.c) ---- */

typedef enum {
    VALUES_REAL,
    VALUES_INTEGER,
    VALUES_WIDE
} values_t; /* in [-1, 1); -2..2; scores over +-100 with one dominant */
typedef enum { BIAS_NONE, BIAS_SHARED, BIAS_PER_HEAD } edge_bias_t;

typedef struct contract_case {
    const gnn_message_t *message;
    const gnn_aggregator_t *aggregator;
    const gnn_score_t *score; /* NULL without scores */
    gnn_graph_t *graph;
    const char *graph_name;
    int64_t heads, kv_heads, d_k,
        d_v; /* kv_heads: of keys; d_v: head width; the message width of rows without scores */
    bool features, loop_features, weight, loop_weights, message_bias;
    int64_t edge_dim; /* 0: 3 */
    edge_bias_t bias;
    bool gate, shared, strided;
    int64_t value_heads; /* 0: kv_heads */
    double message_options[GNN_ROW_OPTIONS];
    const gnn_map_t *map;
    double map_options[GNN_ROW_OPTIONS];
    gnn_prior_use_t priors[GNN_PRIORS];
    bool prior_query;
    const gnn_weigher_t *weigher;
    double weigher_options[GNN_ROW_OPTIONS], softcap;
    gnn_view_t view;
    double dropout, scale;
    values_t values;
    uint64_t seed;
    uint32_t step, model_step;
} contract_case_t;

bool contract_scored(const contract_case_t *c);
int64_t contract_value_heads(const contract_case_t *c);
/* A plain case: no edge inputs, no dropout, two heads where there are heads. */
contract_case_t contract_case(size_t message, size_t aggregator, gnn_graph_t *graph,
                              const char *name, uint64_t seed);
/* The same of the first message and an aggregator by its name. */
contract_case_t contract_case_of(const char *aggregator, gnn_graph_t *graph, const char *name,
                                 uint64_t seed);
/* Switches of a case drawn from its seed; edge inputs only if the graph has no spans and
 * `edge_inputs` is set. */
void contract_draw_switches(contract_case_t *c, bool edge_inputs);
/* Receivers are the senders, in the same segments. */
bool contract_one_side(const gnn_graph_t *g);

/* One case with its inputs and results. */
typedef struct contract_run {
    contract_case_t c;
    gnn_aggregate_t how;
    gnn_tensor_t in[GNN_AGGREGATE_INPUTS];
    int alias[GNN_AGGREGATE_INPUTS]; /* the input that shares this value, or itself */
    int64_t n_dst, out_width;
    gnn_real_t *d_out, *out;                /* n_dst x out_width */
    gnn_real_t *grad[GNN_AGGREGATE_INPUTS]; /* contiguous; NULL for absent inputs and aliases */
    /* what errors are measured by: gradients, then the output */
    double largest[GNN_AGGREGATE_INPUTS + 1];
    gnn_rng_t rng;
    oracle_t *oracle;
    int recording, training; /* 1 */
    unsigned wanted;         /* bit k: input k wants its gradient; all */
} contract_run_t;

/* The context and tape that all cases run on. */
void contract_open(int threads);
/* At a level of precision, where the processor has it; what follows is judged by its rounding. */
void contract_open_at(int threads, gnn_precision_t level);
void contract_close(void);
gnn_tape_t *contract_tape(void);

/* Draws the inputs. */
contract_run_t *contract_run_new(const contract_case_t *c);
void contract_run_free(contract_run_t *r);
/* Puts the case on the tape; fills r->rng. Returns the op's value, GNN_NONE on failure. */
gnn_var_t contract_record(contract_run_t *r, gnn_var_t vars[GNN_AGGREGATE_INPUTS]);
/* Forward and backward by the library into out and grad. */
void contract_library(contract_run_t *r);
/* Runs the oracle on the same inputs; `kinks`: gradients are 0 where a kink is closer. Before
 * contract_library. */
void contract_oracle(contract_run_t *r, double kinks);
/* Library against oracle, one library run against another of the same inputs. Failures are
 * counted and described. */
void contract_compare(contract_run_t *r);
void contract_compare_runs(const contract_run_t *a, const contract_run_t *b);
/* All of it for one case; the second frees the run. */
contract_run_t *contract_run(const contract_case_t *c);
void contract_check(const contract_case_t *c);
/* Fails the running test if any comparison failed since the last call; prints the count of compared
 * elements. */
void contract_assert(const char *what);
/* The least error that is allowed, where it is more than usual. */
void contract_allow(double error);
/* One comparison more; a failure if error > limit, or NaN. */
void contract_judge(const contract_case_t *c, const char *array, double error, double limit,
                    const char *what);
void contract_failure(const contract_case_t *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *contract_input_name(int k);

/* ---- the suite's parts, one file each ---- */

TCase *contract_numeric_tests(void); /* gradients against finite differences */
TCase *contract_named_tests(
    void); /* ties, wide scores, deviations, silent and heavy receivers, attention weights */
/* sizes that kernels cut into tiles, blocks and chunks; threads */
TCase *contract_kernel_tests(void);
TCase *contract_prior_tests(void);      /* score priors by distance, way by way */
TCase *contract_map_tests(void);        /* maps of rows, each against its formula */
TCase *contract_own_tests(void);        /* entries of a program */
TCase *contract_invariance_tests(void); /* NaN sentences, renumbering, threads, masks, refusals */

#endif
