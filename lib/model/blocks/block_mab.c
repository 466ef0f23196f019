/* The multihead attention block of a Set Transformer: one set hears another. */
#include <lib/model/blocks/set_attention.h>
#include <math.h>

static const char *product(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                           const char *what, const char *input)
{
    char part[64];
    snprintf(part, sizeof part, "%s%s", prefix, what);
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {input}, .in = b->width, .out = b->width});
}

static const char *heads(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                         const char *const rows[3], int graph)
{
    char part[64];
    snprintf(part, sizeof part, "%sattention", prefix);
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .query = rows[0],
                                       .key = rows[1],
                                       .inputs = {rows[2]},
                                       .graph = graph,
                                       .layer = {.in = b->width,
                                                 .heads = b->heads,
                                                 .aggregator = &gnn_aggregator_attention,
                                                 .scale = 1 / (gnn_real_t)sqrt((double)b->width)}});
}

const char *gnn__block_attend(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                              const char *x, const char *y, int graph)
{
    char part[64];
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *rows[3] = {product(steps, b, prefix, "query", x)};
    rows[1] = product(steps, b, prefix, "key", y);
    rows[2] = product(steps, b, prefix, "value", y);
    const char *heard = heads(steps, b, prefix, rows, graph);
    snprintf(part, sizeof part, "%ssum", prefix);
    const char *sum = gnn__block_add(steps, b, part,
                                     (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {rows[0], heard}});
    product(steps, b, prefix, "out", sum);
    snprintf(part, sizeof part, "%srelu", prefix);
    gnn__block_add(steps, b, part, (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    snprintf(part, sizeof part, "%.*s", (int)(strlen(prefix) - (*prefix != 0)), prefix);
    return gnn__block_add(steps, b, part, (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {NULL, sum}});
}

const char *gnn__block_rows(gnn_steps_t *steps, const gnn_block_t *b, int graph)
{
    return gnn__block_add(steps, b, "rows",
                          (gnn_step_t){.kind = GNN_STEP_PARAMETER,
                                       .rows = b->rows > 0 ? b->rows : 1,
                                       .out = b->width,
                                       .each_segment = GNN_ON,
                                       .graph = graph});
}

void gnn__block_mab(gnn_steps_t *steps, const gnn_block_t *b)
{
    gnn__block_need(steps, b, "memory", b->memory);
    gnn__block_attend(steps, b, "", gnn__block_input(steps, b), b->memory, b->graph);
}
