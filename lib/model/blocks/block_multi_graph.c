/* Attention whose heads look at different graphs: `hops` groups of heads, at most 8, on the slots
 * `graph`, graph + 1, ...; side by side, and a product. Paper: Xu et al. 2021 (Multi-Graph
 * Transformer). */
#include <lib/model/blocks/pieces.h>

enum { MOST = 8 };

/* Columns of one group, of all groups' rows. */
static const char *group_of(gnn_steps_t *steps, const gnn_block_t *b, const char *rows, int64_t g)
{
    const int64_t cols = b->width / b->hops;
    char part[64];
    const char *dot = strrchr(rows, '.');
    snprintf(part, sizeof part, "%s.%lld", dot ? dot + 1 : rows, (long long)g);
    return gnn__piece_columns(steps, b, part, rows, g * cols, cols);
}

void gnn__block_multi_graph(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t d = b->width, groups = b->hops, heads = b->heads > 0 ? b->heads : groups;
    const char *x = gnn__block_input(steps, b), *heard[MOST] = {NULL};
    gnn__block_need(steps, b, "hops in 1..8, which divide .width and .heads",
                    d > 0 && groups >= 1 && groups <= MOST && d % groups == 0 && heads % groups == 0);
    const char *q = gnn__piece_linear(steps, b, "query", x, d, d, GNN_OFF),
               *k = gnn__piece_linear(steps, b, "key", x, d, d, GNN_OFF),
               *v = gnn__piece_linear(steps, b, "value", x, d, d, GNN_OFF);
    if (steps->status != GNN_OK)
        return;
    for (int64_t g = 0; g < groups; g++) {
        const char *rows[3] = {group_of(steps, b, q, g), group_of(steps, b, k, g),
                               group_of(steps, b, v, g)};
        heard[g] = gnn__block_add(steps, b, gnn__numbered("heard.", g, "").text,
                                  (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                               .query = rows[0],
                                               .key = rows[1],
                                               .inputs = {rows[2]},
                                               .graph = b->graph + (int)g,
                                               .layer = {.in = d / groups,
                                                         .heads = heads / groups,
                                                         .aggregator = &gnn_aggregator_attention}});
    }
    x = gnn__piece_concat(steps, b, "heard", heard);
    gnn__piece_same(steps, b, "", gnn__piece_linear(steps, b, "out", x, d, d, GNN_OFF));
}
