/* The gallery: systems as entries, each a list of steps that a program can copy, run on the golden
 * case of its name and, without one, on drawn values.
 *
 * An entry is a comment in a fixed form and a function that adds graphs and steps:
 *
 *     // ROW | system | formula | cost | paper
 *     ENTRY(case) { ... }
 *
 * Inputs, hyperparameters and sizes are read from the case's arrays. A name that the steps read and
 * that no step has is an array of the case: x, mem, r.NAME. A parameter belongs to the array that
 * is named like its step (zoo_bind.c has the rules); BIND states the others. */
#ifndef GNN_TESTS_ZOO_ZOO_H
#define GNN_TESTS_ZOO_ZOO_H

#include "../zoo_case.h"

typedef struct {
    const char *name;
    void (*build)(zoo_t *z);
} entry_t;

typedef struct {
    const char *family;
    const entry_t *entries;
    int count;
} family_t;

#define ENTRY(name) static void entry_##name(zoo_t *z)
/* A further case that the same function builds. */
#define ALSO(name, other)              \
    static void entry_##name(zoo_t *z) \
    {                                  \
        entry_##other(z);              \
    }
#define AT(name)            \
    {                       \
#name, entry_##name \
    }
#define FAMILY(letter, ...)                                 \
    static const entry_t entries[] = {__VA_ARGS__};         \
    const family_t zoo_family_##letter = {#letter, entries, \
                                          (int)(sizeof entries / sizeof *entries)};

/* ---- steps, short ---- */

#define REAL(value) ((gnn_real_t)(value))
#define STEP(KIND, NAME, ...) \
    zoo_add(z, (gnn_step_t){.kind = GNN_STEP_##KIND, .name = NAME, __VA_ARGS__})
/* x W without a bias, and with one. */
#define LINEAR(NAME, X, IN, OUT) \
    STEP(LINEAR, NAME, .inputs = {X}, .in = IN, .out = OUT, .bias = GNN_OFF)
#define AFFINE(NAME, X, IN, OUT) STEP(LINEAR, NAME, .inputs = {X}, .in = IN, .out = OUT)
#define NORM(NAME, X, KIND, IN, EPS) \
    STEP(NORM, NAME, .inputs = {X}, .norm = GNN_NORM_##KIND, .in = IN, .eps = REAL(EPS))
#define ACTIVATION(NAME, X, F) STEP(ACTIVATION, NAME, .inputs = {X}, .activation = GNN_##F)
#define ADD(NAME, X, Y) STEP(ADD, NAME, .inputs = {X, Y})
#define ADD_TIMES(NAME, X, FACTOR, Y) STEP(ADD, NAME, .inputs = {X, Y}, .factor = REAL(FACTOR))
#define SUBTRACT(NAME, X, Y) ADD_TIMES(NAME, X, -1, Y)
#define SCALE(NAME, X, FACTOR) STEP(SCALE, NAME, .inputs = {X}, .factor = REAL(FACTOR))
#define MULTIPLY(NAME, X, Y) STEP(MULTIPLY, NAME, .inputs = {X, Y})
#define SCALE_HEADS(NAME, X, Y) STEP(SCALE_HEADS, NAME, .inputs = {X, Y})
#define COLUMNS(NAME, X, FROM, COUNT) \
    STEP(VIEW, NAME, .inputs = {X}, .column = FROM, .columns = COUNT)
#define ROWS(NAME, X, FROM, COUNT) STEP(VIEW, NAME, .inputs = {X}, .row = FROM, .rows = COUNT)
#define CONCAT(NAME, ...) STEP(CONCAT, NAME, .inputs = {__VA_ARGS__})
#define STACK(NAME, ...) STEP(STACK, NAME, .inputs = {__VA_ARGS__})
#define DETACH(NAME, X) STEP(DETACH, NAME, .inputs = {X})
#define PARAMETER(NAME, COUNT, COLS) STEP(PARAMETER, NAME, .rows = COUNT, .out = COLS)
/* The same rows for each segment of the graph in a slot. */
#define EACH(NAME, SLOT, COUNT, COLS) \
    STEP(PARAMETER, NAME, .rows = COUNT, .out = COLS, .each_segment = GNN_ON, .graph = SLOT)
/* A named op on x, with options; with two values; on a graph. */
#define OP(NAME, OP_, X, ...) \
    STEP(OP, NAME, .op = &gnn_op_##OP_, .inputs = {X}, .options = {__VA_ARGS__})
#define OP2(NAME, OP_, ...) STEP(OP, NAME, .op = &gnn_op_##OP_, .inputs = {__VA_ARGS__})
/* Rows of x by ids (-1: zeros). */
#define PICK(NAME, X, IDS) OP2(NAME, pick_rows, X, IDS)
/* A layer with the settings that follow; the inputs of its step are x and a graph slot. */
#define LAYER(NAME, SLOT, X, ...) \
    STEP(LAYER, NAME, .graph = SLOT, .inputs = {X}, .layer = {__VA_ARGS__})
/* Attention with projections without biases. D columns; settings follow. */
#define ATTENTION(NAME, SLOT, X, D, ...)                                   \
    LAYER(NAME, SLOT, X, .in = D, .aggregator = &gnn_aggregator_attention, \
          .update = &gnn_update_linear, .bias_out = GNN_OFF, __VA_ARGS__)
/* The same over rows of another value: receivers x, senders y. */
#define CROSS(NAME, SLOT, X, Y, D, ...)                             \
    STEP(LAYER, NAME, .graph = SLOT, .inputs = {Y}, .receivers = X, \
         .layer = {.in = D,                                         \
                   .aggregator = &gnn_aggregator_attention,         \
                   .update = &gnn_update_linear,                    \
                   .bias_out = GNN_OFF,                             \
                   __VA_ARGS__})
/* Attention over given rows: queries, keys and values of D columns in all. */
#define ATTEND(NAME, SLOT, Q, K, V, D, ...)                                   \
    STEP(AGGREGATE, NAME, .graph = SLOT, .query = Q, .key = K, .inputs = {V}, \
         .layer = {.in = D, .aggregator = &gnn_aggregator_attention, __VA_ARGS__})
/* A sum, mean or maximum over the senders of a graph. */
#define HOP(NAME, SLOT, X, D, HOW)                      \
    STEP(AGGREGATE, NAME, .graph = SLOT, .inputs = {X}, \
         .layer = {.in = D, .aggregator = &gnn_aggregator_##HOW})
#define EDGE_ROWS(NAME, SLOT, X, SIDE) \
    STEP(EDGE_ROWS, NAME, .graph = SLOT, .inputs = {X}, .side = GNN_SIDE_##SIDE)
/* The rows of x that belong to a round: of each segment the row of that position. */
#define AT_ROUND(NAME, SLOT, X) STEP(AT, NAME, .graph = SLOT, .inputs = {X})
/* A loop of COUNT rounds; the result is of the LAST round, or the rows of ALL rounds in the order
 * of the slot's receivers. Then the result and pairs of a carried value: first, next. */
#define LAST GNN_OFF
#define ALL GNN_ON
#define REPEAT(NAME, SLOT, COUNT_, WHICH, ...)                               \
    STEP(REPEAT, NAME, .graph = SLOT, .rows = COUNT_, .each_segment = WHICH, \
         .inputs = {__VA_ARGS__})
/* NAME, formatted; valid for the next few calls. */
#define NAMED(...) zoo_named(__VA_ARGS__)
const char *zoo_named(const char *format, ...) GNN_PRINTF(1, 2);

/* Two affine maps with an activation: W1 b1, W2 b2 with `suffix`, in the arrays of that name. */
void zoo_feed_forward(zoo_t *z, const char *name, const char *x, const char *suffix,
                      gnn_activation_t activation);
#define FEED_FORWARD(NAME, X, SUFFIX, F) zoo_feed_forward(z, NAME, X, SUFFIX, GNN_##F)
/* The sum of values, or their columns concatenated, however many: prefix0, prefix1, ... */
void zoo_sum(zoo_t *z, const char *name, const char *prefix, int64_t count);
void zoo_concat(zoo_t *z, const char *name, const char *prefix, int64_t count);
void zoo_stack(zoo_t *z, const char *name, const char *prefix, int64_t count);
void zoo_maximum(zoo_t *z, const char *name, const char *prefix, int64_t count);
/* Columns of both, head by head: [x | y] of head 0, then of head 1, ... */
void zoo_beside(zoo_t *z, const char *name, const char *x, const char *y, int64_t heads,
                int64_t width);
/* A term of the scores of stored pairs (m x heads): scale q_i . t, t the row of a table of
 * `relations` x width that an id per edge selects. */
void zoo_relation_bias(zoo_t *z, const char *name, int slot, const char *q, const char *table,
                       int64_t relations, int64_t heads, int64_t width, const int64_t *ids);
/* W x + b (bias NULL: W x) for the rows that `running` (n x 1) has 0 for; zeros, and no work,
 * for those with -1. */
void zoo_some_rows(zoo_t *z, const char *name, const char *x, const char *running,
                   const char *weight, const char *bias, int64_t out, int64_t in);
/* A value of this name is given; a step of this name is in the list. */
bool zoo_given(const zoo_t *z, const char *name);
bool zoo_step_exists(zoo_t *z, const char *name);
/* Row r of y is row r + offset of x in its segment, else zeros. */
void zoo_shift(zoo_t *z, const char *name, const char *x, int64_t offset);
/* The same on a grid whose pixels are rows, of p.rows x p.columns each. */
void zoo_grid_shift(zoo_t *z, const char *name, const char *x, int64_t down, int64_t right);
/* A depthwise convolution over positions from..to, or over a grid of taps -reach .. reach in both
 * directions; the array is channels x ... x taps. */
void zoo_depthwise(zoo_t *z, const char *name, const char *x, const char *array, int64_t from,
                   int64_t to);
void zoo_depthwise_grid(zoo_t *z, const char *name, const char *x, const char *array, int64_t reach);
/* Columns of the rows around, concatenated: the input of a convolution as a product. */
void zoo_unfold(zoo_t *z, const char *name, const char *x, int64_t from, int64_t to, int64_t step);
void zoo_unfold_grid(zoo_t *z, const char *name, const char *x, int64_t reach);
/* Values of one per segment, repeated for its rows. */
void zoo_spread(zoo_t *z, const char *name, const char *x);

/* ---- sizes ---- */

#define COLS(ARRAY) zoo_cols(z, ARRAY)
#define COUNT(ARRAY) golden_array(&z->g, ARRAY)->shape[0]
#define N(ARRAY) zoo_number(z, ARRAY)
#define R(ARRAY) zoo_real(z, ARRAY)
bool zoo_has(zoo_t *z, const char *array);
int64_t zoo_shape(zoo_t *z, const char *array, int axis);
/* Element k of an array, all dimensions in one; fails where it has fewer. */
double zoo_element(zoo_t *z, const char *array, int64_t k);
/* Integers of an array, owned by the case; count may be NULL. */
int64_t *zoo_integers(zoo_t *z, const char *array, int64_t *count);
/* The same; fails unless there are `count`. */
int64_t *zoo_integers_of(zoo_t *z, const char *array, int64_t count);
/* Room for integers, all 0, owned by the case. */
int64_t *zoo_room(zoo_t *z, int64_t count);
int32_t *zoo_room32(zoo_t *z, int64_t count);
/* The lengths of the segments, which add up to the rows of x; of the second side, to mem's. */
int64_t *zoo_segments(zoo_t *z, int64_t *count);
int64_t *zoo_segments_mem(zoo_t *z);
int64_t zoo_longest(zoo_t *z);
/* Fails unless there is one segment: the steps do not tell several apart. */
void zoo_one_segment(zoo_t *z);
/* Fails unless the hyperparameter divides the count. */
void zoo_divides(zoo_t *z, const char *number, int64_t count);
/* The position of each row in its segment. */
int64_t *zoo_positions(zoo_t *z);

/* ---- graphs: each takes the next slot and returns it ---- */

int zoo_complete(zoo_t *z);
int zoo_causal(zoo_t *z);
int zoo_window(zoo_t *z, int64_t width, int64_t dilation, gnn_flag_t causal);
/* A topology of the library's table over the segments. */
int zoo_topology(zoo_t *z, const char *name, const char *options);
/* Sequences of the lengths of an array: each row after the one before it. */
int zoo_chain(zoo_t *z, const char *lengths);
/* From every row of the second side ("lengths_mem") to every row of the first. */
int zoo_across(zoo_t *z);
/* `rows` receivers per segment, senders the rows of x; and the reverse. */
int zoo_pool(zoo_t *z, int64_t rows);
int zoo_unpool(zoo_t *z, int64_t rows);
/* One receiver, and `rows` senders. */
int zoo_whole(zoo_t *z, int64_t rows);
/* Complete, `rows` per segment. */
int zoo_among(zoo_t *z, int64_t rows);
/* Segments of given lengths. */
int zoo_bipartite(zoo_t *z, int64_t segments, const int64_t *dst, const int64_t *src);
int zoo_complete_of(zoo_t *z, int64_t segments, const int64_t *lengths);
/* The arrays src and dst; receivers are the rows of x, senders those of mem, or of x. */
int zoo_edges(zoo_t *z);
int zoo_edges_of(zoo_t *z, int64_t n_dst, int64_t n_src, int64_t m, const int64_t *src,
                 const int64_t *dst);
/* The pairs of the graph in a slot, stored as edges. */
int zoo_as_edges(zoo_t *z, int slot);
/* A span for each row of x: senders from[i] .. to[i] - 1 of its segment's rows. */
typedef struct {
    int64_t from, to;
} span_t;
int zoo_spans(zoo_t *z, span_t (*span)(zoo_t *z, int64_t at, int64_t length, int64_t senders));
/* A span for each of n_dst receivers: senders low[i] .. high[i] - 1 of n_src. */
int zoo_spans_of(zoo_t *z, int64_t n_dst, int64_t n_src, const int32_t *low, const int32_t *high);
/* Row i reads row i alone: layers with an update of row by row. */
int zoo_itself(zoo_t *z, int64_t rows);
/* From the edges of the last slot to their receivers. */
int zoo_incidence(zoo_t *z);
/* The pairs of a slot, in the order of its edges. */
int64_t zoo_pairs(zoo_t *z, int slot, int64_t **src, int64_t **dst);
/* The union of the last `count` slots, in their place. */
int zoo_merge(zoo_t *z, int count);
/* The pairs of the slot are those of src and dst, where the case has them. */
void zoo_same_pairs(zoo_t *z, int slot);

/* ---- values ---- */

/* A constant value (rows x cols), to be filled. */
gnn_real_t *zoo_constant(zoo_t *z, const char *name, int64_t rows, int64_t cols);
void zoo_filled(zoo_t *z, const char *name, int64_t rows, int64_t cols, double value);
void zoo_identity(zoo_t *z, const char *name, int64_t n);
/* Ids of all rows of a row's segment (n x longest), -1 after them. */
gnn_real_t *zoo_rows_of_segment(zoo_t *z, const char *name);
/* An array as one row, with its gradient. */
void zoo_row(zoo_t *z, const char *array);
/* Ids, to be filled. */
int32_t *zoo_ids(zoo_t *z, const char *name, int64_t count);

/* ---- parameters and arrays ---- */

/* Element (r, c) of a field is element base + (r / row_block) row_step_out + (r % row_block)
 * row_step + (c / col_block) col_step_out + (c % col_block) col_step of the array. */
typedef struct {
    char field[64], array[64];
    int64_t base, row_block, row_outer, row_step, col_block, col_outer, col_step;
    layout_t layout;
    bool strided; /* steps are given; else they follow from layout and base */
    bool automatic;
} bind_t;
void zoo_bind(zoo_t *z, const char *field, const char *array, bind_t how);
/* `field` of the model is array `array`, from element .base on, .layout SAME or TURNED, or with
 * given steps. */
#define BIND(FIELD, ARRAY, ...) zoo_bind(z, FIELD, ARRAY, (bind_t){.field = "", __VA_ARGS__})
#define TURN(FIELD, ARRAY) BIND(FIELD, ARRAY, .layout = TURNED)
#define SET(FIELD, ARRAY) BIND(FIELD, ARRAY, .layout = SAME)
/* Tap k of a depthwise convolution: columns of the array (channels x ... x taps). */
#define BIND_TAP(FIELD, ARRAY, K, TAPS) \
    BIND(FIELD, ARRAY, .base = K, .strided = true, .col_step = TAPS, .row_step = 1)
/* The parameters of a step, or one field, keep their initial values: a norm without gains. */
void zoo_fixed(zoo_t *z, const char *step);
/* The gradient of the array is not compared, for the reason. */
void zoo_unchecked(zoo_t *z, const char *array, const char *reason);
/* Multiplies the tolerance between spans and edges on drawn values, which are ill-conditioned. */
void zoo_slack(zoo_t *z, double factor);
/* The file's formula has a term that the steps leave out, of some 1e-6 of the value: a double build
 * compares with the tolerances of a float build. */
void zoo_approximate(zoo_t *z);
/* A step's value is also an array of the case. */
void zoo_also(zoo_t *z, const char *step, const char *array);

/* ---- running ---- */

void zoo_entry_golden(const entry_t *entry);
/* Forward and backward on drawn values of so many times the rows: multiply-adds times two, plus the
 * values that ops move; the least processor time of seven passes on one thread. */
typedef struct {
    int64_t rows;
    double operations, seconds;
} zoo_cost_t;
zoo_cost_t zoo_entry_cost(const entry_t *entry, int64_t times);
void zoo_entry_drawn(const entry_t *entry);
/* Early exit by a run in stages (gnn_staged_new): the layers at which sentences leave are those of
 * the case, and later steps are not computed. */
void zoo_entry_exit(const entry_t *entry, bool (*leaves)(const void *answers, int layer));
bool zoo_exit_entropy(const void *answers, int layer);
bool zoo_exit_patience(const void *answers, int layer);
bool zoo_exit_voting(const void *answers, int layer);

#endif
