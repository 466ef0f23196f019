/* The Transformer's block: z = norm(x_i + W_out a + b), h_i' = norm2(z + W_1 f(W_0 z + b_0) + b_1).
 * Vaswani et al. 2017, section 3.3. */
#include <lib/layer/updates/feed_forward.h>

static void declare(gnn__declare_t *d)
{
    feed_forward_declare(d, false);
}

static gnn_var_t inner(const gnn__hop_t *hop, gnn_var_t u)
{
    return feed_forward_bent(hop, "ffn.0", u);
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
const gnn_update_t gnn_update_feed_forward = {
    "feed_forward", "Vaswani et al. 2017",
    "one product of the aggregate, then two of each row by itself", &rules};
