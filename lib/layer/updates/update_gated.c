/* The Transformer's block with a gate: z = norm(x_i + W_out a + b), and then
 * h_i' = norm2(z + W_1 (f(W_g z) * (W_0 z))): SwiGLU, GEGLU, ReGLU by f. Shazeer 2020. The second
 * norm stands before or after, like the first. */
#include <lib/layer/update.h>

static void declare(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = &d->layer->config;
    gnn__declare_linear(d, "out", d->layer->width.aggregate, c->out, 0, GNN_OFF);
    gnn__declare_linear(d, "ffn.gate", c->out, c->feed_forward, 0, c->bias_update);
    gnn__declare_linear(d, "ffn.0", c->out, c->feed_forward, 0, c->bias_update);
    gnn__declare_linear(d, "ffn.1", c->feed_forward, c->out, 0, c->bias_update);
    gnn__declare_norm(d, "norm2", c->out);
}

static gnn_var_t record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    (void)x_i;
    return gnn__update_first(hop, a);
}

static gnn_var_t gated(const gnn__hop_t *hop, gnn_var_t z)
{
    const gnn_layer_config_t *c = &hop->layer->config;
    gnn_var_t u = c->norm_position == GNN_NORM_BEFORE ? gnn__hop_norm(hop, "norm2", z) : z;
    const gnn_var_t gate =
        gnn_tape_activation(hop->tape, gnn__hop_linear(hop, "ffn.gate", u), c->hidden_activation, 0);
    u = gnn_tape_multiply(hop->tape, gnn__hop_linear(hop, "ffn.0", u), gate);
    u = gnn__hop_linear(hop, "ffn.1", gnn_tape_dropout(hop->tape, u, c->dropout_out));
    return gnn__hop_residual_norm(hop, "norm2", z, u);
}

static const struct gnn__update_rules rules = {.mixes_heads = true,
                                               .declare = declare,
                                               .record = record,
                                               .after = gated,
                                               .first = "out",
                                               .first_is_all = true};
const gnn_update_t gnn_update_gated = {
    "gated", "Shazeer 2020", "one product of the aggregate, then a gated feed-forward block", &rules};
