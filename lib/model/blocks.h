/* Blocks: functions that append steps to a list, and the steps that they are made of. An entry of
 * blocks.def is the function gnn__block_NAME in one of the files of blocks/. */
#ifndef GNN_LIB_MODEL_BLOCKS_H
#define GNN_LIB_MODEL_BLOCKS_H

#include <lib/model/steps.h>

struct gnn_steps {
    gnn_step_t *list; /* owns its strings */
    int64_t count, room;
    int64_t most;      /* steps that a list from a file may have; 0: any */
    int status;        /* the first error */
    char message[256]; /* its message */
};

/* Replaces the step's strings by copies; after a failure those that were not copied are NULL. */
int gnn__step_copy_strings(gnn_step_t *step);
void gnn__step_free_strings(gnn_step_t *step);
/* True if `value` is the name of an input of the step. */
bool gnn__step_reads(const gnn_step_t *step, const char *value);

/* Bounds a list that a file fills: more steps are GNN_EFORMAT. */
void gnn__steps_limit(gnn_steps_t *steps, int64_t most);
/* Records the first error of the list; returns rc. */
int gnn__steps_fail(gnn_steps_t *steps, int rc);

/* In the list of what a block reads: all of .layer, which the steps that have it check. */
#define GNN__WHOLE_LAYER sizeof(gnn_block_t)
/* GNN_EINVALID with the first setting of a block of this kind that is set although the list lacks
 * it. */
int gnn__block_check_unread(const gnn_block_t *b, const char *kind, gnn__offsets_t reads);

/* ---- for blocks ---- */

/* Appends a step named "NAME.part", or NAME if `part` is "", and returns its name, owned by the
 * list; "" after an error. */
const char *gnn__block_add(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                           gnn_step_t step);
/* The block's input; the previous step, or "x", if it is NULL. */
const char *gnn__block_input(gnn_steps_t *steps, const gnn_block_t *b);
/* Graph slot k of .graphs. */
int gnn__block_graph(const gnn_block_t *b, int k);
/* Fails with "block NAME needs .FIELD" unless it is given. */
void gnn__block_need(gnn_steps_t *steps, const gnn_block_t *b, const char *field, bool given);

/* A name of a part that is formatted in place. */
typedef struct gnn__part_name {
    char text[64];
} gnn__part_name_t;
/* BEFORE, the index, AFTER: "lins.3". */
gnn__part_name_t gnn__numbered(const char *before, int64_t index, const char *after);

/* The functions below append one step, or few, of block b and return the last one's name. `part` is
 * the step's name after that of the block (gnn__block_add); inputs are names of values. */

const char *gnn__append_linear(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                               const char *input, int64_t in, int64_t out, gnn_flag_t bias);
/* input times rows row .. row + rows - 1 of the matrix (in x out) of step `part`: a product of
 * concatenated values is a sum of such products. `as` NULL: the step `part` itself, with the bias;
 * else a step of that name that shares the matrix. */
const char *gnn__append_linear_rows(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                    const char *as, const char *input, int64_t row, int64_t rows,
                                    int64_t in, int64_t out);
const char *gnn__append_activation(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                   const char *input, gnn_activation_t activation);
/* input + factor second. */
const char *gnn__append_add(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                            const char *input, const char *second, gnn_real_t factor);
const char *gnn__append_scale(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                              const char *input, gnn_real_t factor);
/* The input under another name; runs no op. */
const char *gnn__append_alias(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                              const char *input);
const char *gnn__append_multiply(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                 const char *input, const char *second);
/* A step of a kind that has only inputs, up to eight. */
const char *gnn__append_inputs(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                               gnn_step_kind_t kind, const char *const in[8]);
/* Concatenates up to eight values by columns; a single value needs no step. */
const char *gnn__append_concat(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                               const char *const in[8]);
const char *gnn__append_columns(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                const char *input, int64_t column, int64_t columns);
/* Learned rows (rows x cols). */
const char *gnn__append_rows(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                             int64_t rows, int64_t cols);
/* A learned row whose elements start at `start`. */
const char *gnn__append_constant(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                 int64_t cols, gnn_real_t start);
/* x + a learned row that starts at 0. */
const char *gnn__append_bias(gnn_steps_t *steps, const gnn_block_t *b, const char *last,
                             const char *x, int64_t cols);
/* For each edge of the block's graph the row of its receiver or sender. */
const char *gnn__append_edge_rows(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                  const char *input, gnn_sides_t side);
/* Rows of `width` columns aggregated over a graph slot. */
const char *gnn__append_aggregate(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                  const char *input, const gnn_aggregator_t *aggregator, int graph,
                                  int64_t width);
/* Values on edges (m x width), weighted by a softmax of scores on edges (m x heads), over
 * graphs[0], from edges to their receivers. */
const char *gnn__append_edge_softmax(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                     const char *scores, const char *values, int64_t heads,
                                     int64_t width);
/* D^-1/2 A D^-1/2 x, with or without self-loops, weighted by the block's .edge_weight. */
const char *gnn__append_hop(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                            const char *input, int64_t width, gnn_flag_t self_loops);
/* The block's last step: attention on its graph with a bias on pairs (m x heads) and an output
 * product, without biases of projections. */
void gnn__append_biased_attention(gnn_steps_t *steps, const gnn_block_t *b, const char *x,
                                  const char *bias);
/* A named op on up to three values. */
const char *gnn__append_op(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                           const gnn_op_t *op, const char *const in[3], double option_0,
                           double option_1);

#define GNN_BLOCK(name, ...) void gnn__block_##name(gnn_steps_t *steps, const gnn_block_t *b);
#include <lib/model/blocks.def>
#undef GNN_BLOCK

#endif
