/* Steps that many blocks are made of, one function each; blocks.h describes them. */
#include <lib/model/blocks.h>

gnn__part_name_t gnn__numbered(const char *before, int64_t number, const char *after)
{
    gnn__part_name_t part;
    snprintf(part.text, sizeof part.text, "%s%lld%s", before, (long long)number, after);
    return part;
}

const char *gnn__append_linear(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                               const char *input, int64_t in, int64_t out, gnn_flag_t bias)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {input}, .in = in, .out = out, .bias = bias});
}

const char *gnn__append_linear_rows(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                    const char *as, const char *input, int64_t row, int64_t rows,
                                    int64_t in, int64_t out)
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

const char *gnn__append_activation(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                   const char *input, gnn_activation_t activation)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .inputs = {input}, .activation = activation});
}

const char *gnn__append_add(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                            const char *input, const char *second, gnn_real_t factor)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {input, second}, .factor = factor});
}

const char *gnn__append_scale(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                              const char *input, gnn_real_t factor)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_SCALE, .inputs = {input}, .factor = factor});
}

const char *gnn__append_alias(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                              const char *input)
{
    return gnn__append_scale(steps, b, part, input, 1);
}

const char *gnn__append_multiply(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                 const char *input, const char *second)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_MULTIPLY, .inputs = {input, second}});
}

const char *gnn__append_inputs(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                               gnn_step_kind_t kind, const char *const in[8])
{
    gnn_step_t step = {.kind = kind};
    memcpy(step.inputs, in, sizeof step.inputs);
    return gnn__block_add(steps, b, part, step);
}

const char *gnn__append_concat(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                               const char *const in[8])
{
    if (!in[1])
        return gnn__append_alias(steps, b, part, in[0]);
    return gnn__append_inputs(steps, b, part, GNN_STEP_CONCAT, in);
}

const char *gnn__append_columns(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                const char *input, int64_t column, int64_t columns)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_VIEW, .inputs = {input}, .column = column, .columns = columns});
}

const char *gnn__append_rows(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                             int64_t rows, int64_t cols)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_PARAMETER, .rows = rows, .out = cols});
}

const char *gnn__append_constant(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                 int64_t cols, gnn_real_t start)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_PARAMETER, .rows = 1, .out = cols, .factor = start});
}

const char *gnn__append_bias(gnn_steps_t *steps, const gnn_block_t *b, const char *last,
                             const char *x, int64_t cols)
{
    const char *bias = gnn__append_constant(steps, b, "bias", cols, GNN_ZERO);
    return gnn__append_add(steps, b, last, x, bias, 1);
}

const char *gnn__append_edge_rows(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                  const char *input, gnn_sides_t side)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_EDGE_ROWS, .inputs = {input}, .side = side, .graph = b->graph});
}

const char *gnn__append_aggregate(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                  const char *input, const gnn_aggregator_t *aggregator, int graph,
                                  int64_t width)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .inputs = {input},
                                       .graph = graph,
                                       .layer = {.in = width, .aggregator = aggregator}});
}

/* A value added to all scores of a receiver leaves the softmax unchanged: their mean serves as the
 * query of additive scores. */
const char *gnn__append_edge_softmax(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                     const char *scores, const char *values, int64_t heads,
                                     int64_t width)
{
    const int edges = gnn__block_graph(b, 0);
    char name[2][64];
    snprintf(name[0], sizeof name[0], "%s.mean", part);
    snprintf(name[1], sizeof name[1], "%s.query", part);
    const char *mean = gnn__append_aggregate(steps, b, name[0], scores, &gnn_aggregator_mean, edges,
                                             heads),
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

const char *gnn__append_hop(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
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

void gnn__append_biased_attention(gnn_steps_t *steps, const gnn_block_t *b, const char *x,
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

const char *gnn__append_op(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                           const gnn_op_t *op, const char *const in[3], double option_0,
                           double option_1)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_OP,
                                       .op = op,
                                       .inputs = {in[0], in[1], in[2]},
                                       .graph = b->graph,
                                       .options = {option_0, option_1}});
}
