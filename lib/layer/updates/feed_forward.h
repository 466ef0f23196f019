/* What the Transformer's block is with a gate and without: z = norm(x_i + W_out a + b), h_i' =
 * norm2(z + W_1 inner(z)). The second norm stands before or after, like the first. */
#ifndef GNN_LIB_LAYER_UPDATES_FEED_FORWARD_H
#define GNN_LIB_LAYER_UPDATES_FEED_FORWARD_H

#include <lib/layer/update.h>

static inline void feed_forward_declare(gnn__declare_t *d, bool gated)
{
    const gnn_layer_config_t *c = d->layer->config;
    gnn__declare_linear(d, "out", d->layer->width.aggregate, c->out, 0, GNN_OFF);
    if (gated)
        gnn__declare_linear(d, "ffn.gate", c->out, c->feed_forward, 0, c->bias_update);
    gnn__declare_linear(d, "ffn.0", c->out, c->feed_forward, 0, c->bias_update);
    gnn__declare_linear(d, "ffn.1", c->feed_forward, c->out, 0, c->bias_update);
    gnn__declare_norm(d, "norm2", c->out);
}

/* f(NAME u), f the config's hidden activation. */
static inline gnn_var_t feed_forward_bent(const gnn__hop_t *hop, const char *name, gnn_var_t u)
{
    return gnn_tape_activation(hop->tape, gnn__hop_linear(hop, name, u),
                               hop->layer->config->hidden_activation, 0);
}

static inline gnn_var_t feed_forward_after(const gnn__hop_t *hop, gnn_var_t z,
                                           gnn_var_t (*inner)(const gnn__hop_t *hop, gnn_var_t u))
{
    const gnn_layer_config_t *c = hop->layer->config;
    gnn_var_t u = c->norm_position == GNN_NORM_BEFORE ? gnn__hop_norm(hop, "norm2", z) : z;
    u = inner(hop, u);
    u = gnn__hop_linear(hop, "ffn.1", gnn_tape_dropout(hop->tape, u, c->dropout_out));
    return gnn__hop_residual_norm(hop, "norm2", z, u);
}

#endif
