/* Steps that many blocks are made of, one function each. They return the step's name. */
#ifndef GNN_LIB_MODEL_BLOCKS_PIECES_H
#define GNN_LIB_MODEL_BLOCKS_PIECES_H

#include <lib/model/blocks.h>

/* PART as "format" with a number: "lins.%lld". */
typedef struct gnn__part_name {
    char text[64];
} gnn__part_name_t;

static inline gnn__part_name_t gnn__numbered(const char *before, int64_t number, const char *after)
{
    gnn__part_name_t part;
    snprintf(part.text, sizeof part.text, "%s%lld%s", before, (long long)number, after);
    return part;
}

static inline const char *gnn__piece_linear(gnn_steps_t *steps, const gnn_block_t *b,
                                            const char *part, const char *input, int64_t in,
                                            int64_t out, gnn_flag_t bias)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {input}, .in = in, .out = out, .bias = bias});
}

/* A product of values side by side is the sum of products of each: rows row .. row + rows - 1 of
 * the matrix of step `part`, which has `in`. `as` NULL: the step `part` itself, with the bias; else
 * another one, of that name. */
static inline const char *gnn__piece_part(gnn_steps_t *steps, const gnn_block_t *b,
                                          const char *part, const char *as, const char *input,
                                          int64_t row, int64_t rows, int64_t in, int64_t out)
{
    char owner[160];
    snprintf(owner, sizeof owner, "%s.%s", b->name, part);
    return gnn__block_add(steps, b, as ? as : part,
                          (gnn_step_t){.kind = GNN_STEP_LINEAR,
                                       .inputs = {input},
                                       .in = in,
                                       .out = out,
                                       .row = row,
                                       .rows = rows,
                                       .bias = as ? GNN_OFF : GNN_ON,
                                       .share = as ? owner : NULL});
}

static inline const char *gnn__piece_activation(gnn_steps_t *steps, const gnn_block_t *b,
                                                const char *part, const char *input,
                                                gnn_activation_t activation)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .inputs = {input}, .activation = activation});
}

/* input + factor second */
static inline const char *gnn__piece_add(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                         const char *input, const char *second, gnn_real_t factor)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {input, second}, .factor = factor});
}

static inline const char *gnn__piece_scale(gnn_steps_t *steps, const gnn_block_t *b,
                                           const char *part, const char *input, gnn_real_t factor)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_SCALE, .inputs = {input}, .factor = factor});
}

/* The value itself under another name: no op is run. */
static inline const char *gnn__piece_same(gnn_steps_t *steps, const gnn_block_t *b,
                                          const char *part, const char *input)
{
    return gnn__piece_scale(steps, b, part, input, 1);
}

static inline const char *gnn__piece_multiply(gnn_steps_t *steps, const gnn_block_t *b,
                                              const char *part, const char *input, const char *second)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_MULTIPLY, .inputs = {input, second}});
}

/* A step that reads up to eight values. */
static inline const char *gnn__piece_of_eight(gnn_steps_t *steps, const gnn_block_t *b,
                                              const char *part, gnn_step_kind_t kind,
                                              const char *const in[8])
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = kind,
                     .inputs = {in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]}});
}

/* Side by side; one value alone stays as it is. */
static inline const char *gnn__piece_concat(gnn_steps_t *steps, const gnn_block_t *b,
                                            const char *part, const char *const in[8])
{
    if (!in[1])
        return gnn__piece_same(steps, b, part, in[0]);
    return gnn__piece_of_eight(steps, b, part, GNN_STEP_CONCAT, in);
}

static inline const char *gnn__piece_columns(gnn_steps_t *steps, const gnn_block_t *b,
                                             const char *part, const char *input, int64_t column,
                                             int64_t columns)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_VIEW, .inputs = {input}, .column = column, .columns = columns});
}

/* Learned rows. */
static inline const char *gnn__piece_rows(gnn_steps_t *steps, const gnn_block_t *b,
                                          const char *part, int64_t rows, int64_t cols)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_PARAMETER, .rows = rows, .out = cols});
}

/* Learned numbers that start at a value. */
static inline const char *gnn__piece_constant(gnn_steps_t *steps, const gnn_block_t *b,
                                              const char *part, int64_t cols, gnn_real_t start)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_PARAMETER, .rows = 1, .out = cols, .factor = start});
}

/* x + a learned row. */
static inline const char *gnn__piece_bias(gnn_steps_t *steps, const gnn_block_t *b,
                                          const char *last, const char *x, int64_t cols)
{
    const char *bias = gnn__piece_constant(steps, b, "bias", cols, GNN_ZERO);
    return gnn__piece_add(steps, b, last, x, bias, 1);
}

/* The row of each edge's receiver or sender on the block's graph. */
static inline const char *gnn__piece_ends(gnn_steps_t *steps, const gnn_block_t *b,
                                          const char *part, const char *input, gnn_sides_t side)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_EDGE_ROWS, .inputs = {input}, .side = side, .graph = b->graph});
}

/* What is heard over a slot, without scores: rows of `width`. */
static inline const char *gnn__piece_heard(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                           const char *input, const gnn_aggregator_t *aggregator,
                                           int graph, int64_t width)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .inputs = {input},
                                       .graph = graph,
                                       .layer = {.in = width, .aggregator = aggregator}});
}

/* Values on edges weighed by a softmax of scores on edges (m x heads), over graphs[0], from edges
 * to their receivers. A number that all scores of a receiver share changes no weight: their mean is
 * the query. */
static inline const char *gnn__piece_weigh(gnn_steps_t *steps, const gnn_block_t *b,
                                           const char *part, const char *scores, const char *values,
                                           int64_t heads, int64_t width)
{
    const int edges = gnn__block_graph(b, 0);
    char name[2][64];
    snprintf(name[0], sizeof name[0], "%s.mean", part);
    snprintf(name[1], sizeof name[1], "%s.query", part);
    const char *mean =
                   gnn__piece_heard(steps, b, name[0], scores, &gnn_aggregator_mean, edges, heads),
               *query = gnn__block_add(steps, b, name[1],
                                       (gnn_step_t){.kind = GNN_STEP_DETACH, .inputs = {mean}});
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .inputs = {values},
                                       .query = query,
                                       .key = scores,
                                       .graph = edges,
                                       .layer = {.in = width,
                                                 .heads = heads,
                                                 .aggregator = &gnn_aggregator_attention,
                                                 .score = &gnn_score_additive,
                                                 .slope = 1}});
}

/* A hop of the normalised adjacency, with self-loops or without: D^-1/2 A D^-1/2 x. The block's
 * .edge_weight weighs it. */
static inline const char *gnn__piece_hop(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                         const char *input, int64_t width, gnn_flag_t self_loops)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.inputs = {input},
                                       .graph = b->graph,
                                       .edge_weight = b->edge_weight,
                                       .layer = {.in = width,
                                                 .out = width,
                                                 .message = &gnn_message_none,
                                                 .aggregator = &gnn_aggregator_sum,
                                                 .update = &gnn_update_none,
                                                 .self_loops = self_loops,
                                                 .graph_norm = GNN_GRAPH_NORM_SYMMETRIC,
                                                 .bias_out = GNN_OFF}});
}

/* The block's last step: attention on its graph with a bias on pairs, and the output product; no
 * biases of projections. */
static inline void gnn__piece_attend(gnn_steps_t *steps, const gnn_block_t *b, const char *x,
                                     const char *bias)
{
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.inputs = {x},
                                .graph = b->graph,
                                .edge_bias = bias,
                                .layer = {.preset = GNN_PRESET_TRANSFORMER,
                                          .in = b->width,
                                          .heads = b->heads > 0 ? b->heads : 1,
                                          .update = &gnn_update_linear,
                                          .residual = GNN_OFF,
                                          .norm = GNN_NORM_NONE,
                                          .bias_project = GNN_OFF,
                                          .bias_out = GNN_OFF}});
}

/* A named op on up to three values. */
static inline const char *gnn__piece_op(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                        const gnn_op_t *op, const char *const in[3],
                                        double option_0, double option_1)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_OP,
                                       .op = op,
                                       .inputs = {in[0], in[1], in[2]},
                                       .graph = b->graph,
                                       .options = {option_0, option_1}});
}

#endif
