/* A layer for each relation, and what a type hears along all that lead to it together: their sum,
 * mean or largest. Relation r is slot `graph` + r (gnn_graph_relation). The layer's config is
 * .layer; its widths are those of the types. Paper: Schlichtkrull et al. 2018; HeteroConv in
 * PyG. */
#include <lib/model/blocks/type_list.h>

typedef struct {
    gnn_steps_t *steps;
    const gnn_block_t *b;
    const gnn__type_list_t *list;
    int64_t out;
} hetero_t;

static const char *along(const hetero_t *h, int r)
{
    const gnn__type_list_t *list = h->list;
    const int from = list->relations[r].from, to = list->relations[r].to;
    const gnn__typed_name_t x = gnn__type_input(h->b, list->types[from].name),
                            receivers = gnn__type_input(h->b, list->types[to].name);
    gnn_step_t step = {.inputs = {x.text}, .graph = h->b->graph + r, .layer = h->b->layer};
    step.layer.in = list->types[from].width;
    step.layer.out = h->out;
    if (from != to) {
        step.receivers = receivers.text;
        step.layer.in_dst = list->types[to].width;
    }
    return gnn__block_add(h->steps, h->b, gnn__typed("convs.", list->relations[r].name).text, step);
}

/* Two of them as one. */
static const char *together(const hetero_t *h, const char *part, const char *a, const char *z)
{
    if (h->b->aggregators[0] != &gnn_aggregator_max)
        return gnn__piece_add(h->steps, h->b, part, a, z, 1);
    return gnn__block_add(h->steps, h->b, part,
                          (gnn_step_t){.kind = GNN_STEP_MAXIMUM, .inputs = {a, z}});
}

static void combine(const hetero_t *h, int t)
{
    const gnn__type_word_t type = h->list->types[t].name;
    const char *all = NULL;
    int count = 0;
    for (int r = 0; r < h->list->n_relations; r++)
        if (h->list->relations[r].to == t) {
            const char *one = along(h, r);
            all = count++ == 0
                      ? one
                      : together(h, gnn__typed("with.", h->list->relations[r].name).text, all, one);
        }
    const bool mean = h->b->aggregators[0] == &gnn_aggregator_mean;
    if (count > 0)
        gnn__piece_scale(h->steps, h->b, gnn__typed("", type).text, all,
                         mean ? 1 / (gnn_real_t)count : 1);
}

void gnn__block_hetero_conv(gnn_steps_t *steps, const gnn_block_t *b)
{
    gnn__type_list_t list;
    const gnn_aggregator_t *how = b->aggregators[0];
    hetero_t h = {.steps = steps, .b = b, .list = &list, .out = b->out > 0 ? b->out : b->width};
    gnn__block_need(steps, b, "out, or .width", h.out > 0);
    gnn__block_need(steps, b, "aggregators of sum, mean or max",
                    !how || how == &gnn_aggregator_sum || how == &gnn_aggregator_mean ||
                        how == &gnn_aggregator_max);
    if (!gnn__type_list_read(&list, steps, b))
        return;
    for (int t = 0; t < list.n_types; t++)
        combine(&h, t);
}
