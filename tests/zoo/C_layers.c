/* Layers that rows name and that presets and blocks are: golden cases of PyTorch and PyG, which lie
 * next to the zoo's. */
#include "zoo.h"

/* ---- layers of graphs ---- */

/* A1 | GNN layer | y_i = W_self x_i + W sum over neighbours of w_ij x_j + b | O(edges d + n d^2) |
 * Morris et al. 2019 */
ENTRY(graphconv)
{
    STEP(LAYER, "y", .graph = zoo_edges(z), .inputs = {"x"}, .edge_weight = "ew",
         .layer = {.in = COLS("x"),
                   .out = COUNT("w.lin_rel.weight"),
                   .message = &gnn_message_none,
                   .update = &gnn_update_linear,
                   .self_term = GNN_ON,
                   .bias_update = GNN_OFF});
    TURN("y.out.weight", "lin_rel.weight"), SET("y.out.bias", "lin_rel.bias");
    TURN("y.self.weight", "lin_root.weight");
}

/* A2 | GCN | y_i = sum over j = i and neighbours of x_j W / sqrt(d_i d_j) + b, d the degrees with
 * the self-loop | O(edges d + n d^2) | Kipf and Welling 2017 */
ENTRY(gcn)
{
    STEP(LAYER, "y", .graph = zoo_edges(z), .inputs = {"x"},
         .layer = GNN_GCN(.in = COLS("x"), .out = COUNT("w.lin.weight")));
    TURN("y.value.weight", "lin.weight"), SET("y.out.bias", "bias");
}

/* y_i = W_l (sum, mean or maximum of x_j) + b + W_r x_i. */
static void sage(zoo_t *z, const gnn_aggregator_t *aggregator)
{
    STEP(LAYER, "y", .graph = zoo_edges(z), .inputs = {"x"},
         .layer =
             GNN_SAGE(.in = COLS("x"), .out = COUNT("w.lin_l.weight"), .aggregator = aggregator));
    TURN("y.out.weight", "lin_l.weight"), SET("y.out.bias", "lin_l.bias");
    TURN("y.self.weight", "lin_r.weight");
}

/* A3 | Sum as aggregator | y_i = W_l sum over neighbours of x_j + b + W_r x_i | O(edges d + n d^2)
 * | Hamilton et al. 2017 */
ENTRY(sage_sum)
{
    sage(z, &gnn_aggregator_sum);
}

/* A3 | GraphSAGE: mean as aggregator | y_i = W_l mean over neighbours of x_j + b + W_r x_i |
 * O(edges d + n d^2) | Hamilton et al. 2017 */
ENTRY(sage_mean)
{
    sage(z, &gnn_aggregator_mean);
}

/* A3 | Maximum as aggregator | y_i = W_l max over neighbours of x_j, by column, + b + W_r x_i |
 * O(edges d + n d^2) | Hamilton et al. 2017 */
ENTRY(sage_max)
{
    sage(z, &gnn_aggregator_max);
}

/* A4 | GAT | y_i = concat over heads of sum over j = i and neighbours of softmax_j(leaky_relu(a_l .
 * W x_i + a_r . W x_j)) W x_j, + b; slope 0.2; an own self-loop in the edges is replaced |
 * O(edges d + n d^2) | Velickovic et al. 2018 */
ENTRY(gat)
{
    STEP(LAYER, "y", .graph = zoo_edges(z), .inputs = {"x"},
         .layer = GNN_GAT(.in = COLS("x"), .out = COUNT("w.lin.weight") / N("p.heads"),
                          .heads = N("p.heads")));
    TURN("y.value.weight", "lin.weight"), SET("y.out.bias", "bias");
    SET("y.attention.receiver", "att_dst"), SET("y.attention.sender", "att_src");
}

/* A6 | MoNet | y_i = mean over neighbours of sum over kernels k of w_k(e_ij) x_j G_k, + x_i W_root
 * + b, w_k(e) = exp(-sum over columns of (e - mu_k)^2 / (2 sigma_k^2)) | O(n kernels d^2 + edges
 * kernels d), kernels the rows of w.mu | Monti et al. 2017 */
ENTRY(gmm)
{
    zoo_edges(z), zoo_incidence(z);
    zoo_block(z, "gmm",
              (gnn_block_t){.name = "y",
                            .input = "x",
                            .width = COLS("x"),
                            .out = COUNT("w.bias"),
                            .rows = COUNT("w.mu"),
                            .edges = "e",
                            .edge_width = COLS("e")});
    SET("y.mu.rows", "mu"), SET("y.sigma.rows", "sigma"), SET("y.g.weight", "g");
    TURN("y.root.weight", "root.weight"), SET("y.bias.rows", "bias");
}

/* ---- attention ---- */

/* The matrices of query, key and value are rows of one array. */
static void bind_attention(zoo_t *z, const char *step, const char *prefix)
{
    static const char *const names[] = {"query", "key", "value"};
    const int64_t d = COLS("x");
    for (int k = 0; k < 3; k++) {
        BIND(NAMED("%s.%s.weight", step, names[k]), NAMED("%sin_proj_weight", prefix),
             .base = k * d * d, .layout = TURNED);
        BIND(NAMED("%s.%s.bias", step, names[k]), NAMED("%sin_proj_bias", prefix), .base = k * d);
    }
    TURN(NAMED("%s.out.weight", step), NAMED("%sout_proj.weight", prefix));
    SET(NAMED("%s.out.bias", step), NAMED("%sout_proj.bias", prefix));
}

/* C1 | Multi-head attention | y_i = concat over heads of sum over j of softmax_j(s_ij) v_j, times
 * W_O, + b; q, k, v with biases | O(n^2 d) | Vaswani et al. 2017 */
ENTRY(mha_self)
{
    LAYER("y", zoo_complete(z), "x", .in = COLS("x"), .heads = N("p.heads"),
          .aggregator = &gnn_aggregator_attention, .update = &gnn_update_linear,
          .bias_project = GNN_ON);
    bind_attention(z, "y", "");
}

/* C2 | Masked attention | y_i = concat over heads of sum over j <= i of softmax_j(s_ij) v_j, times
 * W_O, + b | O(n^2 d) | Vaswani et al. 2017 */
ENTRY(mha_causal)
{
    LAYER("y", zoo_causal(z), "x", .in = COLS("x"), .heads = N("p.heads"),
          .aggregator = &gnn_aggregator_attention, .update = &gnn_update_linear,
          .bias_project = GNN_ON);
    bind_attention(z, "y", "");
}

/* C3 | Cross-attention | y_i = concat over heads of sum over rows j of mem of softmax_j(s_ij) v_j,
 * times W_O, + b; q of x, k and v of mem | O(n m d) | Vaswani et al. 2017 */
ENTRY(mha_cross)
{
    STEP(LAYER, "y", .graph = zoo_across(z), .inputs = {"mem"}, .receivers = "x",
         .layer = {.in = COLS("x"),
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_project = GNN_ON});
    bind_attention(z, "y", "");
}

/* ---- blocks of the Transformer ---- */

static void bind_feed_forward(zoo_t *z, const char *step)
{
    for (int k = 0; k < 2; k++) {
        TURN(NAMED("%s.ffn.%d.weight", step, k), NAMED("linear%d.weight", k + 1));
        SET(NAMED("%s.ffn.%d.bias", step, k), NAMED("linear%d.bias", k + 1));
    }
}

static void bind_norm(zoo_t *z, const char *field, const char *norm)
{
    SET(NAMED("%s.gain", field), NAMED("%s.weight", norm));
    SET(NAMED("%s.shift", field), NAMED("%s.bias", norm));
}

static void encoder(zoo_t *z, gnn_norm_position_t position)
{
    STEP(LAYER, "y", .graph = zoo_complete(z), .inputs = {"x"},
         .layer =
             GNN_TRANSFORMER(.in = COLS("x"), .heads = N("p.heads"),
                             .feed_forward = COUNT("w.linear1.weight"), .norm_position = position));
    bind_attention(z, "y", "self_attn."), bind_feed_forward(z, "y");
    bind_norm(z, "y.norm", "norm1"), bind_norm(z, "y.norm2", "norm2");
}

/* L1 | Encoder layer, post-LN | h = LN(x + attention(x)), y = LN(h + W2 relu(W1 h + b1) + b2) |
 * O(n^2 d + n d hidden) | Vaswani et al. 2017 */
ENTRY(encoder_post_relu)
{
    encoder(z, GNN_NORM_AFTER);
}

/* L2 | Encoder layer, pre-LN | h = x + attention(LN(x)), y = h + W2 relu(W1 LN(h) + b1) + b2 |
 * O(n^2 d + n d hidden) | Xiong et al. 2020 */
ENTRY(encoder_pre_relu)
{
    encoder(z, GNN_NORM_BEFORE);
}

/* C4 | Decoder layer | a = LN(x + attention over j <= i), h = LN(a + attention over rows of mem),
 * y = LN(h + W2 relu(W1 h + b1) + b2); an encoder-decoder gives it the encoder's last rows as mem |
 * O(n (n + m) d + n d hidden) | Vaswani et al. 2017 */
ENTRY(decoder_post)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    STEP(LAYER, "own", .graph = zoo_causal(z), .inputs = {"x"},
         .layer = GNN_TRANSFORMER(.in = d, .heads = heads, .update = &gnn_update_linear));
    STEP(LAYER, "y", .graph = zoo_across(z), .inputs = {"mem"}, .receivers = "own",
         .layer =
             GNN_TRANSFORMER(.in = d, .heads = heads, .feed_forward = COUNT("w.linear1.weight")));
    bind_attention(z, "own", "self_attn."), bind_norm(z, "own.norm", "norm1");
    bind_attention(z, "y", "multihead_attn."), bind_norm(z, "y.norm", "norm2");
    bind_feed_forward(z, "y"), bind_norm(z, "y.norm2", "norm3");
}

FAMILY(C, AT(graphconv), AT(gcn), AT(sage_sum), AT(sage_mean), AT(sage_max), AT(gat), AT(gmm),
       AT(mha_self), AT(mha_causal), AT(mha_cross), AT(encoder_post_relu), AT(encoder_pre_relu),
       AT(decoder_post))
