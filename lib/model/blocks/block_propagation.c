/* Blocks that propagate rows over a normalised adjacency A = D^-1/2 (A_0 + I) D^-1/2, with few
 * weights or none. "Without self-loops" leaves I out. */
#include <lib/model/blocks.h>

/* sgc: A^hops x W + b. Wu et al. 2019. */

void gnn__block_sgc(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t k = 0; k < hops; k++)
        x = gnn__append_hop(steps, b, gnn__numbered("hop.", k, "").text, x, b->width, GNN_ON);
    gnn__append_alias(steps, b, "", gnn__append_linear(steps, b, "lin", x, b->width, out, GNN_ON));
}

/* ssg: (factor x + (1 - factor) / hops sum over k = 1 .. hops of A^k x) W + b. Zhu and Koniusz 2021
 * (SSGC). */

void gnn__block_ssg(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const gnn_real_t alpha = b->factor == 0 ? (gnn_real_t)0.1 : b->factor,
                     share = (1 - alpha) / (gnn_real_t)hops;
    const char *x = gnn__block_input(steps, b), *z = x;
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *sum = gnn__append_scale(steps, b, "own", x, alpha);
    for (int64_t k = 0; k < hops; k++) {
        z = gnn__append_hop(steps, b, gnn__numbered("hop.", k, "").text, z, b->width, GNN_ON);
        sum = gnn__append_add(steps, b, gnn__numbered("sum.", k, "").text, sum, z, share);
    }
    gnn__append_alias(steps, b, "", gnn__append_linear(steps, b, "lin", sum, b->width, out, GNN_ON));
}

/* lg: the mean of x, A x, ..., A^hops x without self-loops; no weights. He et al. 2020
 * (LightGCN). */

void gnn__block_lg(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1;
    const char *x = gnn__block_input(steps, b), *sum = x;
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t k = 0; k < hops; k++) {
        x = gnn__append_hop(steps, b, gnn__numbered("hop.", k, "").text, x, b->width, GNN_OFF);
        sum = gnn__append_add(steps, b, gnn__numbered("sum.", k, "").text, sum, x, 1);
    }
    gnn__append_scale(steps, b, "", sum, 1 / (gnn_real_t)(hops + 1));
}

/* tag: sum over k = 0 .. hops of A^k x W_k + b, without self-loops. Du et al. 2017 (TAGCN). */

void gnn__block_tag(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b), *sum = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t k = 0; k <= hops; k++) {
        if (k > 0)
            x = gnn__append_hop(steps, b, gnn__numbered("hop.", k, "").text, x, b->width, GNN_OFF);
        const char *y = gnn__append_linear(steps, b, gnn__numbered("lins.", k, "").text, x,
                                           b->width, out, GNN_OFF);
        sum = sum ? gnn__append_add(steps, b, gnn__numbered("sum.", k, "").text, sum, y, 1) : y;
    }
    gnn__append_bias(steps, b, "", sum, out);
}

/* mixhop: [x W_0, A x W_1, ...] + b up to power `hops`, at most 7; `out` columns for each power.
 * Abu-El-Haija et al. 2019. */

enum { MOST_POWERS = 8 };

void gnn__block_mixhop(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b), *parts[MOST_POWERS] = {NULL};
    gnn__block_need(steps, b, "width", b->width > 0);
    gnn__block_need(steps, b, "hops in 1..7", hops < MOST_POWERS);
    for (int64_t k = 0; k <= hops && k < MOST_POWERS; k++) {
        if (k > 0)
            x = gnn__append_hop(steps, b, gnn__numbered("hop.", k, "").text, x, b->width, GNN_ON);
        parts[k] = gnn__append_linear(steps, b, gnn__numbered("lins.", k, "").text, x, b->width,
                                      out, GNN_OFF);
    }
    const char *all = gnn__append_concat(steps, b, "all", parts);
    gnn__append_bias(steps, b, "", all, (hops + 1) * out);
}

/* cheb: sum over k < hops of T_k(L) x W_k + b with the Chebyshev polynomials T_0 x = x, T_1 x = L
 * x, T_k = 2 L T_k-1 - T_k-2 of the scaled Laplacian L = -D^-1/2 A_0 D^-1/2, whose largest
 * eigenvalue is taken as 2. D is the out-degree, as in PyG. Defferrard et al. 2016. */

/* L x */
static const char *laplacian(gnn_steps_t *steps, const gnn_block_t *b, int64_t k, const char *x,
                             const char *root)
{
    x = gnn__append_multiply(steps, b, gnn__numbered("sent.", k, "").text, x, root);
    x = gnn__append_aggregate(steps, b, gnn__numbered("heard.", k, "").text, x, &gnn_aggregator_sum,
                              b->graph, b->width);
    x = gnn__append_multiply(steps, b, gnn__numbered("normed.", k, "").text, x, root);
    return gnn__append_scale(steps, b, gnn__numbered("laplacian.", k, "").text, x, -1);
}

void gnn__block_cheb(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t terms = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b), *sum = NULL, *before = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *degree =
                   gnn__append_op(steps, b, "degree", &gnn_op_degree, (const char *[3]){x}, 1, 0),
               *root = gnn__append_op(steps, b, "root", &gnn_op_power, (const char *[3]){degree},
                                      -0.5, 0);
    for (int64_t k = 0; k < terms; k++) {
        if (k > 0) {
            const char *more = laplacian(steps, b, k, x, root);
            if (before) {
                more = gnn__append_scale(steps, b, gnn__numbered("twice.", k, "").text, more, 2);
                more =
                    gnn__append_add(steps, b, gnn__numbered("term.", k, "").text, more, before, -1);
            }
            before = x;
            x = more;
        }
        const char *y = gnn__append_linear(steps, b, gnn__numbered("lins.", k, "").text, x,
                                           b->width, out, GNN_OFF);
        sum = sum ? gnn__append_add(steps, b, gnn__numbered("sum.", k, "").text, sum, y, 1) : y;
    }
    gnn__append_bias(steps, b, "", sum, out);
}

/* arma: h_0 = x, h_t+1 = relu(A h_t W_t + x V_t + b_t), without self-loops; the mean over `rows`
 * stacks. Bianchi et al. 2021. */

void gnn__block_arma(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width,
                  stacks = b->rows > 0 ? b->rows : 1;
    const char *x = gnn__block_input(steps, b), *sum = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t s = 0; s < stacks; s++) {
        const char *h = x;
        for (int64_t t = 0; t < hops; t++) {
            const gnn_layer_config_t hop = {.in = t == 0 ? b->width : out,
                                            .in_dst = b->width,
                                            .out = out,
                                            .graph_norm = GNN_GRAPH_NORM_SYMMETRIC,
                                            .self_term = GNN_ON,
                                            .bias_update = GNN_OFF,
                                            .activation = GNN_RELU};
            char part[48];
            snprintf(part, sizeof part, "%lld.%lld", (long long)s, (long long)t);
            h = gnn__block_add(steps, b, part,
                               (gnn_step_t){.inputs = {h},
                                            .receivers = x,
                                            .graph = b->graph,
                                            .edge_weight = b->edge_weight,
                                            .layer = hop});
        }
        sum = sum ? gnn__append_add(steps, b, gnn__numbered("sum.", s, "").text, sum, h, 1) : h;
    }
    gnn__append_scale(steps, b, "", sum, 1 / (gnn_real_t)stacks);
}

/* appnp: z = (1 - factor) A z + factor x, `hops` times. Gasteiger et al. 2019. */

void gnn__block_appnp(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn_real_t alpha = b->factor == 0 ? (gnn_real_t)0.1 : b->factor;
    const int64_t hops = b->hops > 0 ? b->hops : 1;
    const char *x = gnn__block_input(steps, b), *z = x;
    char part[48];
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t k = 0; k < hops; k++) {
        snprintf(part, sizeof part, "%lld.hop", (long long)k);
        gnn__append_hop(steps, b, part, z, b->width, GNN_ON);
        snprintf(part, sizeof part, "%lld.scaled", (long long)k);
        gnn__block_add(steps, b, part, (gnn_step_t){.kind = GNN_STEP_SCALE, .factor = 1 - alpha});
        snprintf(part, sizeof part, "%lld", (long long)k);
        z = gnn__block_add(steps, b, k < hops - 1 ? part : "",
                           (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {NULL, x}, .factor = alpha});
    }
}

/* gcn2: z = (1 - factor) A x + factor x0, y = (1 - theta) z + theta z W, x0 = memory. Chen et al.
 * 2020 (GCNII), where theta of layer l is log(lambda / l + 1). */

void gnn__block_gcn2(gnn_steps_t *steps, const gnn_block_t *b)
{
    const gnn_real_t alpha = b->factor == 0 ? (gnn_real_t)0.1 : b->factor;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .memory and .theta", b->width > 0 && b->memory && b->theta > 0);
    x = gnn__append_hop(steps, b, "hop", x, b->width, GNN_ON);
    x = gnn__append_scale(steps, b, "kept", x, 1 - alpha);
    const char *z = gnn__append_add(steps, b, "mixed", x, b->memory, alpha),
               *product = gnn__append_linear(steps, b, "weight1", z, b->width, b->width, GNN_OFF);
    if (b->theta == 1) {
        gnn__append_alias(steps, b, "", product);
        return;
    }
    z = gnn__append_scale(steps, b, "near", z, 1 - b->theta);
    gnn__append_add(steps, b, "", z, product, b->theta);
}

/* le: sum over j of (W_1 x_j + b_1 - W_2 x_i) + W_3 x_i + b_3. Ranjan et al. 2020 (ASAP). */

void gnn__block_le(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *sent = gnn__append_linear(steps, b, "lin1", x, in, out, GNN_ON),
               *own = gnn__append_linear(steps, b, "lin2", x, in, out, GNN_OFF),
               *last = gnn__append_linear(steps, b, "lin3", x, in, out, GNN_ON),
               *count =
                   gnn__append_op(steps, b, "degree", &gnn_op_degree, (const char *[3]){x}, 0, 0);
    own = gnn__append_multiply(steps, b, "times", own, count);
    sent = gnn__append_aggregate(steps, b, "heard", sent, &gnn_aggregator_sum, b->graph, out);
    sent = gnn__append_add(steps, b, "difference", sent, own, -1);
    gnn__append_add(steps, b, "", sent, last, 1);
}

/* z = clamp(alpha A z + (1 - alpha) y) to low .. 1, `hops` times, starting at z = y. Steps are
 * named PREFIX.hop.k ... */
static const char *spread(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                          const char *y, int64_t hops, gnn_real_t alpha, double low)
{
    static const char *const words[] = {"hop", "kept", "sum", "clamped"};
    const char *z = y;
    for (int64_t k = 0; k < hops; k++) {
        char part[4][64];
        for (int w = 0; w < 4; w++)
            snprintf(part[w], sizeof part[w], "%s.%s.%lld", prefix, words[w], (long long)k);
        z = gnn__append_hop(steps, b, part[0], z, b->width, GNN_OFF);
        z = gnn__append_scale(steps, b, part[1], z, alpha);
        z = gnn__append_add(steps, b, part[2], z, y, 1 - alpha);
        z = gnn__append_op(steps, b, part[3], &gnn_op_clamp, (const char *[3]){z}, low, 1);
    }
    return z;
}

/* label_propagation: z = clamp(factor A z + (1 - factor) y) to 0 .. 1, `hops` times, without
 * self-loops. Input y (n x width) has a 1 in the class of each known node, else 0. Zhu and
 * Ghahramani 2002. */

void gnn__block_label_propagation(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *y = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width and .factor", b->width > 0 && b->factor > 0);
    gnn__append_alias(steps, b, "",
                      spread(steps, b, "spread", y, b->hops > 0 ? b->hops : 1, b->factor, 0));
}

/* correct_and_smooth: errors at known nodes are spread `hops` times with `factor` and added (the
 * step NAME.corrected); then known labels replace predictions and are spread `rows` times with
 * theta. Input: probabilities (n x width); memory: a 1 in the class of each known node, else 0;
 * globals: a column, 1 where a node is known. No gradients. Huang et al. 2021. */

void gnn__block_correct_and_smooth(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *soft = gnn__block_input(steps, b), *labels = b->memory, *known = b->globals;
    gnn__block_need(steps, b, "width, .memory, .globals, .factor and .theta",
                    b->width > 0 && labels && known && b->factor > 0 && b->theta > 0);
    const char *error = gnn__append_add(steps, b, "difference", labels, soft, -1);
    error = gnn__append_multiply(steps, b, "error", error, known);
    const char *error_spread =
                   spread(steps, b, "correct", error, b->hops > 0 ? b->hops : 1, b->factor, -1),
               *scaled = gnn__append_op(steps, b, "scaled", &gnn_op_autoscale,
                                        (const char *[3]){error_spread, error, known}, 0, 0),
               *corrected = gnn__append_add(steps, b, "corrected", scaled, soft, 1),
               *unknown = gnn__append_op(steps, b, "unknown", &gnn_op_between,
                                         (const char *[3]){known}, -0.5, 0.5),
               *kept = gnn__append_multiply(steps, b, "kept", corrected, unknown),
               *y = gnn__append_add(steps, b, "labelled", kept, labels, 1);
    gnn__append_alias(steps, b, "",
                      spread(steps, b, "smooth", y, b->rows > 0 ? b->rows : 1, b->theta, 0));
}
