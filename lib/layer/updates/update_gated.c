/* The Transformer's block with a gate: z = norm(x_i + W_out a + b), and then
 * h_i' = norm2(z + W_1 (f(W_g z) * (W_0 z))): SwiGLU, GEGLU, ReGLU by f. Shazeer 2020. */
#include <lib/layer/updates/feed_forward.h>

static void declare(gnn__declare_t *d)
{
    feed_forward_declare(d, true);
}

static gnn_var_t inner(const gnn__hop_t *hop, gnn_var_t u)
{
    const gnn_var_t gate = feed_forward_bent(hop, "ffn.gate", u);
    return gnn_tape_multiply(hop->tape, gnn__hop_linear(hop, "ffn.0", u), gate);
}

static gnn_var_t after(const gnn__hop_t *hop, gnn_var_t z)
{
    return feed_forward_after(hop, z, inner);
}

static const struct gnn__update_rules rules = {.mixes_heads = true,
                                               .declare = declare,
                                               .record = gnn__update_first_alone,
                                               .after = after,
                                               .first = "out",
                                               .first_is_all = true};
const gnn_update_t gnn_update_gated = {
    "gated", "Shazeer 2020", "one product of the aggregate, then a gated feed-forward block", &rules};
