/* h_i' = a + b. */
#include <lib/layer/update.h>

static int check(const gnn_layer_config_t *c, const gnn__widths_t *w)
{
    (void)w;
    if (!c->message->projects && !gnn__scored(c) && c->out != c->in)
        return gnn__error(GNN_ESHAPE, "message %s and no update keep %lld features, but .out = %lld",
                          c->message->name, (long long)c->in, (long long)c->out);
    return GNN_OK;
}

static gnn_var_t record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    (void)x_i;
    return gnn__hop_bias(hop, "out", a);
}

static const struct gnn__update_rules rules = {.check = check, .record = record};
const gnn_update_t gnn_update_none = {"none", "", "the aggregate itself", &rules};
