/* h_i' = W_out a + b. */
#include <lib/layer/update.h>

static void declare(gnn__declare_t *d)
{
    const gnn_layer_t *layer = d->layer;
    gnn__declare_linear(d, "out", layer->width.aggregate, layer->config.out, 0, GNN_OFF);
}

static gnn_var_t record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    (void)x_i;
    return gnn__update_first(hop, a);
}

static const struct gnn__update_rules rules = {
    .mixes_heads = true, .declare = declare, .record = record, .first = "out", .first_is_all = true};
const gnn_update_t gnn_update_linear = {"linear", "Hamilton et al. 2017",
                                        "one product of the aggregate", &rules};
