/* h_i' = W_out a + b. */
#include <lib/layer/update.h>

static void declare(gnn__declare_t *d)
{
    const gnn_layer_t *layer = d->layer;
    gnn__declare_linear(d, "out", layer->width.aggregate, layer->config->out, 0, GNN_OFF);
}

static const struct gnn__update_rules rules = {.mixes_heads = true,
                                               .declare = declare,
                                               .record = gnn__update_first_alone,
                                               .first = "out",
                                               .first_is_all = true};
const gnn_update_t gnn_update_linear = {"linear", "Hamilton et al. 2017",
                                        "one product of the aggregate", &rules};
