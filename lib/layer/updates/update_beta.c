/* A gate between the receiver's own row and what it hears: with r = W_self x_i and b = sigmoid(W
 * [a, r, a - r]), h_i' = b r + (1 - b) a. Shi et al. 2021, equation 5. */
#include <lib/layer/update.h>

static int check(const gnn_layer_config_t *c, const gnn__widths_t *w)
{
    (void)w;
    if (c->self_term != GNN_ON)
        return gnn__error(GNN_EINVALID, "update beta mixes in W_self x_i: it needs .self_term");
    return GNN_OK;
}

static void declare(gnn__declare_t *d)
{
    gnn__declare_linear(d, "beta", 3 * d->layer->width.aggregate, 1, 0, GNN_OFF);
}

/* a + b (r - a) */
static gnn_var_t record(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    (void)x_i;
    const gnn_var_t r = gnn__hop_self_term(hop), more = gnn_tape_add(hop->tape, r, a, -1),
                    three[] = {a, r, gnn_tape_scale(hop->tape, more, -1)};
    gnn_var_t b = gnn__hop_linear(hop, "beta", gnn_tape_concat(hop->tape, three, 3));
    b = gnn_tape_activation(hop->tape, b, GNN_SIGMOID, 0);
    a = gnn_tape_add(hop->tape, a, gnn_tape_multiply(hop->tape, more, b), 1);
    return gnn__hop_bias(hop, "out", a);
}

static const struct gnn__update_rules rules = {
    .check = check, .declare = declare, .record = record, .takes_self = true};
const gnn_update_t gnn_update_beta = {"beta", "Shi et al. 2021",
                                      "a gate between W_self x_i and the aggregate", &rules};
