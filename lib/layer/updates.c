/* The updates: h_i' from the receiver's features x_i and the aggregate a. */
#include <lib/layer/hop.h>

/* ---- shared by updates ---- */

gnn_var_t gnn__update_first(const gnn__hop_t *hop, gnn_var_t z)
{
    const char *name = hop->layer->config->update->rules->first;
    return hop->order.update_early ? gnn__hop_bias(hop, name, z) : gnn__hop_linear(hop, name, z);
}

gnn_var_t gnn__update_first_alone(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    (void)x_i;
    return gnn__update_first(hop, a);
}

/* none: h_i' = a + b. */

static int none_check(const gnn_layer_config_t *c, const gnn__widths_t *w)
{
    (void)w;
    if (!c->message->projects && !gnn__scored(c) && c->out != c->in)
        return gnn__error(GNN_ESHAPE, "message %s and no update keep %lld features, but .out = %lld",
                          c->message->name, (long long)c->in, (long long)c->out);
    return GNN_OK;
}

static gnn_var_t none_record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    (void)x_i;
    return gnn__hop_bias(hop, "out", a);
}

static const struct gnn__update_rules none_rules = {.check = none_check, .record = none_record};
const gnn_update_t gnn_update_none = {"none", "", "the aggregate itself", &none_rules};

/* linear: h_i' = W_out a + b. Hamilton et al. 2017. */

static void linear_declare(gnn__declare_t *d)
{
    const gnn_layer_t *layer = d->layer;
    gnn__declare_linear(d, "out", layer->width.aggregate, layer->config->out, 0, GNN_OFF);
}

static const struct gnn__update_rules linear_rules = {.mixes_heads = true,
                                                      .declare = linear_declare,
                                                      .record = gnn__update_first_alone,
                                                      .first = "out",
                                                      .first_is_all = true};
const gnn_update_t gnn_update_linear = {"linear", "Hamilton et al. 2017",
                                        "one product of the aggregate", &linear_rules};

/* mlp: h_i' = W_1 f(W_0 ((1 + eps) x_i + a) + b_0) + b_1. Xu et al. 2019 (GIN), eq. 4.1. */

static int mlp_check(const gnn_layer_config_t *c, const gnn__widths_t *w)
{
    if (w->aggregate != c->in_dst)
        return gnn__error(GNN_ESHAPE, "update mlp adds x_i (%lld features) to the aggregate (%lld)",
                          (long long)c->in_dst, (long long)w->aggregate);
    return GNN_OK;
}

static void mlp_declare(gnn__declare_t *d)
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

static gnn_var_t mlp_record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    gnn_var_t z = gnn__update_first(hop, add_receiver(hop, x_i, a));
    z = gnn_tape_activation(hop->tape, z, hop->layer->config->hidden_activation, 0);
    return gnn__hop_bias(hop, "out", gnn__hop_linear(hop, "mlp.1", z));
}

static const struct gnn__update_rules mlp_rules = {.mixes_heads = true,
                                                   .check = mlp_check,
                                                   .declare = mlp_declare,
                                                   .record = mlp_record,
                                                   .first = "mlp.0",
                                                   .first_reads_receiver = true};
const gnn_update_t gnn_update_mlp = {"mlp", "Xu et al. 2019",
                                     "two products of (1 + eps) x_i + the aggregate", &mlp_rules};

/* gru: h_i' = GRU(a, x_i) with input a and state x_i. Li et al. 2016, eq. 3 to 6. */

static int gru_check(const gnn_layer_config_t *c, const gnn__widths_t *w)
{
    (void)w;
    if (c->out != c->in_dst)
        return gnn__error(
            GNN_ESHAPE,
            "update gru keeps its state's width: .out = %lld, receivers have %lld features",
            (long long)c->out, (long long)c->in_dst);
    return GNN_OK;
}

static void gru_declare(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = d->layer->config;
    gnn__declare_linear(d, "gru.input", d->layer->width.aggregate, 3 * c->out, c->out,
                        c->bias_update);
    gnn__declare_linear(d, "gru.hidden", c->out, 3 * c->out, c->out, c->bias_update);
}

static gnn_var_t gru_record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    a = gnn_tape_gru(hop->tape, gnn__hop_linear(hop, "gru.input", a),
                     gnn__hop_linear(hop, "gru.hidden", x_i), x_i);
    return gnn__hop_bias(hop, "out", a);
}

static const struct gnn__update_rules gru_rules = {
    .mixes_heads = true, .check = gru_check, .declare = gru_declare, .record = gru_record};
const gnn_update_t gnn_update_gru = {"gru", "Li et al. 2016",
                                     "a gated step of the receiver's state", &gru_rules};

/* beta: h_i' = b r + (1 - b) a with r = W_self x_i, b = sigmoid(W [a, r, a - r]). Shi et al. 2021,
 * eq. 5. */

static int beta_check(const gnn_layer_config_t *c, const gnn__widths_t *w)
{
    (void)w;
    if (c->self_term != GNN_ON)
        return gnn__error(GNN_EINVALID, "update beta mixes in W_self x_i: it needs .self_term");
    return GNN_OK;
}

static void beta_declare(gnn__declare_t *d)
{
    gnn__declare_linear(d, "beta", 3 * d->layer->width.aggregate, 1, 0, GNN_OFF);
}

/* a + b (r - a) */
static gnn_var_t beta_record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    (void)x_i;
    const gnn_var_t r = gnn__hop_self_term(hop), more = gnn_tape_add(hop->tape, r, a, -1),
                    three[] = {a, r, gnn_tape_scale(hop->tape, more, -1)};
    gnn_var_t b = gnn__hop_linear(hop, "beta", gnn_tape_concat(hop->tape, three, 3));
    b = gnn_tape_activation(hop->tape, b, GNN_SIGMOID, 0);
    a = gnn_tape_add(hop->tape, a, gnn_tape_multiply(hop->tape, more, b), 1);
    return gnn__hop_bias(hop, "out", a);
}

static const struct gnn__update_rules beta_rules = {
    .check = beta_check, .declare = beta_declare, .record = beta_record, .takes_self = true};
const gnn_update_t gnn_update_beta = {"beta", "Shi et al. 2021",
                                      "a gate between W_self x_i and the aggregate", &beta_rules};

/* The Transformer's block: z = norm(x_i + W_out a + b), h_i' = norm2(z + W_1 inner(z)). Both norms
 * come before or after. Vaswani et al. 2017, section 3.3. */

static void declare_feed_forward(gnn__declare_t *d, bool gated)
{
    const gnn_layer_config_t *c = d->layer->config;
    gnn__declare_linear(d, "out", d->layer->width.aggregate, c->out, 0, GNN_OFF);
    if (gated)
        gnn__declare_linear(d, "ffn.gate", c->out, c->feed_forward, 0, c->bias_update);
    gnn__declare_linear(d, "ffn.0", c->out, c->feed_forward, 0, c->bias_update);
    gnn__declare_linear(d, "ffn.1", c->feed_forward, c->out, 0, c->bias_update);
    gnn__declare_norm(d, "norm2", c->out);
}

/* f(NAME u), f the hidden activation. */
static gnn_var_t hidden_linear(const gnn__hop_t *hop, const char *name, gnn_var_t u)
{
    return gnn_tape_activation(hop->tape, gnn__hop_linear(hop, name, u),
                               hop->layer->config->hidden_activation, 0);
}

static gnn_var_t record_feed_forward(const gnn__hop_t *hop, gnn_var_t z,
                                     gnn_var_t (*inner)(const gnn__hop_t *hop, gnn_var_t u))
{
    const gnn_layer_config_t *c = hop->layer->config;
    gnn_var_t u = c->norm_position == GNN_NORM_BEFORE ? gnn__hop_norm(hop, "norm2", z) : z;
    u = inner(hop, u);
    u = gnn__hop_linear(hop, "ffn.1", gnn_tape_dropout(hop->tape, u, c->dropout_out));
    return gnn__hop_residual_norm(hop, "norm2", z, u);
}

/* feed_forward: inner(u) = f(W_0 u + b_0). */

static void feed_forward_declare(gnn__declare_t *d)
{
    declare_feed_forward(d, false);
}

static gnn_var_t feed_forward_inner(const gnn__hop_t *hop, gnn_var_t u)
{
    return hidden_linear(hop, "ffn.0", u);
}

static gnn_var_t feed_forward_after(const gnn__hop_t *hop, gnn_var_t z)
{
    return record_feed_forward(hop, z, feed_forward_inner);
}

static const struct gnn__update_rules feed_forward_rules = {.mixes_heads = true,
                                                            .declare = feed_forward_declare,
                                                            .record = gnn__update_first_alone,
                                                            .after = feed_forward_after,
                                                            .first = "out",
                                                            .first_is_all = true};
const gnn_update_t gnn_update_feed_forward = {
    "feed_forward", "Vaswani et al. 2017",
    "one product of the aggregate, then two of each row by itself", &feed_forward_rules};

/* gated: inner(u) = f(W_g u) * (W_0 u): SwiGLU, GEGLU, ReGLU by f. Shazeer 2020. */

static void gated_declare(gnn__declare_t *d)
{
    declare_feed_forward(d, true);
}

static gnn_var_t gated_inner(const gnn__hop_t *hop, gnn_var_t u)
{
    const gnn_var_t gate = hidden_linear(hop, "ffn.gate", u);
    return gnn_tape_multiply(hop->tape, gnn__hop_linear(hop, "ffn.0", u), gate);
}

static gnn_var_t gated_after(const gnn__hop_t *hop, gnn_var_t z)
{
    return record_feed_forward(hop, z, gated_inner);
}

static const struct gnn__update_rules gated_rules = {.mixes_heads = true,
                                                     .declare = gated_declare,
                                                     .record = gnn__update_first_alone,
                                                     .after = gated_after,
                                                     .first = "out",
                                                     .first_is_all = true};
const gnn_update_t gnn_update_gated = {
    "gated", "Shazeer 2020", "one product of the aggregate, then a gated feed-forward block",
    &gated_rules};
