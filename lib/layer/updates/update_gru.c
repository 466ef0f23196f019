/* h_i' = GRU(a, x_i): the aggregate is the input, the receiver's features are the state. Li et al.
 * 2016, equations 3-6. */
#include <lib/layer/update.h>

static int check(const gnn_layer_config_t *c, const gnn__widths_t *w)
{
    (void)w;
    if (c->out != c->in_dst)
        return gnn__error(
            GNN_ESHAPE,
            "update gru keeps its state's width: .out = %lld, receivers have %lld features",
            (long long)c->out, (long long)c->in_dst);
    return GNN_OK;
}

static void declare(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = d->layer->config;
    gnn__declare_linear(d, "gru.input", d->layer->width.aggregate, 3 * c->out, c->out,
                        c->bias_update);
    gnn__declare_linear(d, "gru.hidden", c->out, 3 * c->out, c->out, c->bias_update);
}

static gnn_var_t record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    a = gnn_tape_gru(hop->tape, gnn__hop_linear(hop, "gru.input", a),
                     gnn__hop_linear(hop, "gru.hidden", x_i), x_i);
    return gnn__hop_bias(hop, "out", a);
}

static const struct gnn__update_rules rules = {
    .mixes_heads = true, .check = check, .declare = declare, .record = record};
const gnn_update_t gnn_update_gru = {"gru", "Li et al. 2016",
                                     "a gated step of the receiver's state", &rules};
