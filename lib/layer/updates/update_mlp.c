/* GIN: h_i' = W_1 f(W_0 ((1 + eps) x_i + a) + b_0) + b_1. Xu et al. 2019, equation 4.1. */
#include <lib/layer/update.h>

static int check(const gnn_layer_config_t *c, const gnn__widths_t *w)
{
    if (w->aggregate != c->in_dst)
        return gnn__error(GNN_ESHAPE, "update mlp adds x_i (%lld features) to the aggregate (%lld)",
                          (long long)c->in_dst, (long long)w->aggregate);
    return GNN_OK;
}

static void declare(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = d->layer->config;
    if (c->learn_eps == GNN_ON)
        gnn__declare(d, "eps", 1, 1, GNN_INIT_CONSTANT, (double)c->eps, 0, 0);
    gnn__declare_linear(d, "mlp.0", d->layer->width.aggregate, c->hidden, 0, c->bias_update);
    gnn__declare_linear(d, "mlp.1", c->hidden, c->out, 0, c->bias_update);
}

/* (1 + eps) x_i + a. */
static gnn_var_t add_receiver(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    const gnn_var_t eps = gnn__hop_parameter(hop, "eps");
    if (eps != GNN_NONE)
        return gnn_tape_add_scaled(hop->tape, x_i, a, eps);
    return gnn_tape_add(hop->tape, a, x_i, 1 + hop->layer->config->eps);
}

static gnn_var_t record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    gnn_var_t z = gnn__update_first(hop, add_receiver(hop, x_i, a));
    z = gnn_tape_activation(hop->tape, z, hop->layer->config->hidden_activation, 0);
    return gnn__hop_bias(hop, "out", gnn__hop_linear(hop, "mlp.1", z));
}

static const struct gnn__update_rules rules = {.mixes_heads = true,
                                               .check = check,
                                               .declare = declare,
                                               .record = record,
                                               .first = "mlp.0",
                                               .first_reads_receiver = true};
const gnn_update_t gnn_update_mlp = {"mlp", "Xu et al. 2019",
                                     "two products of (1 + eps) x_i + the aggregate", &rules};
