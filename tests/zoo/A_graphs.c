/* Graphs and graph networks. */
#include "zoo.h"

#include <math.h>

/* A5 | Graph Transformer | y = LN(h + W2 relu(W1 h + b1) + b2), h = LN(x_i + W_O sum over
 * neighbours of softmax_j(s_ij) v_j) | O(m d + n d^2) | Dwivedi and Bresson 2021 */
ENTRY(graph_transformer)
{
    STEP(LAYER, "y", .graph = zoo_edges(z), .inputs = {"x"},
         .layer = GNN_TRANSFORMER(.in = COLS("x"), .heads = N("p.heads"),
                                  .feed_forward = COUNT("w.W1"), .norm_eps = REAL(R("p.eps")),
                                  .bias_project = GNN_OFF, .bias_out = GNN_OFF));
    SET("y.norm.gain", "norm1"), SET("y.norm.shift", "bias1");
    SET("y.norm2.gain", "norm2"), SET("y.norm2.shift", "bias2");
}

/* A5 | Graph Transformer with edge features | s_ij = (q_i k_j / sqrt(width)) E e_ij, summed per
 * head | O(m d) | Dwivedi and Bresson 2021 */
ENTRY(graph_transformer_edges)
{
    zoo_edges(z), zoo_incidence(z);
    zoo_block(z, "graph_transformer_edges",
              (gnn_block_t){.name = "y",
                            .input = "x",
                            .width = COLS("x"),
                            .heads = N("p.heads"),
                            .edges = "e",
                            .edge_width = COLS("e")});
    TURN("y.query.weight", "q"), TURN("y.key.weight", "k"), TURN("y.value.weight", "v");
    TURN("y.edge.weight", "E"), TURN("y.edges.weight", "OE"), TURN("y.out.weight", "o");
    zoo_also(z, "y.edges", "edge_y");
}

/* A5 | Laplacian positions | y = [x, eigenvectors of I - D^-1/2 A D^-1/2] | O(n^3) once |
 * Dwivedi and Bresson 2021 */
ENTRY(laplacian_positions)
{
    zoo_edges(z);
    const gnn_tensor_t positions = gnn_tensor(
        zoo_constant(z, "positions", COUNT("x"), COLS("r.vectors")), COUNT("x"), COLS("r.vectors"));
    ck_ok(gnn_graph_laplacian_positions(z->graphs[0], &positions, NULL));
    CONCAT("y", "x", "positions");
}

/* A7 | Graph network | e' = relu(W_e [x_src, x_dst, e, u] + b), x' = relu(W_v [x, sum of incoming
 * e', u] + b), u' = relu(W_u [u, mean e', mean x'] + b); y: x', e', u' as one row | O(m d^2) |
 * Battaglia et al. 2018 */
ENTRY(graph_network)
{
    const int64_t n = COUNT("x"), wholes = COUNT("u");
    int64_t m, *src = zoo_integers(z, "src", &m), *dst = zoo_integers_of(z, "dst", m),
               *batch = zoo_integers_of(z, "batch", n);
    int64_t *edge = zoo_room(z, m), *of_edge = zoo_room(z, m), *node = zoo_room(z, n);
    for (int64_t k = 0; k < m; k++)
        edge[k] = k, of_edge[k] = batch[src[k]];
    for (int64_t k = 0; k < n; k++)
        node[k] = k;
    zoo_edges(z), zoo_edges_of(z, n, m, m, edge, dst), zoo_edges_of(z, n, wholes, n, batch, node);
    zoo_edges_of(z, wholes, n, n, node, batch), zoo_edges_of(z, wholes, m, m, edge, of_edge);
    zoo_block(z, "graph_network",
              (gnn_block_t){.name = "y",
                            .input = "x",
                            .edges = "e",
                            .globals = "u",
                            .width = COLS("x"),
                            .edge_width = COLS("e"),
                            .global_width = COLS("u")});
    OP("nodes", fold_rows, "y.nodes", (double)n), OP("edges", fold_rows, "y.edges", (double)m),
        OP("globals", fold_rows, "y", (double)wholes);
    CONCAT("all", "nodes", "edges", "globals");
    const char *const parts[] = {"edge", "node", "global"};
    for (int k = 0; k < 3; k++) {
        TURN(NAMED("y.%s_linear.weight", parts[k]), NAMED("%s_model.l.weight", parts[k]));
        SET(NAMED("y.%s_linear.bias", parts[k]), NAMED("%s_model.l.bias", parts[k]));
    }
}

/* A9 | Syntax-augmented layer | y = g attention over the tree + (1 - g) x, g = sigmoid(W x + b)
 * | O(n d^2) | Sachan et al. 2021 */
ENTRY(syntax_layer)
{
    AFFINE("W", "x", COLS("x"), COLS("x")), ACTIVATION("g", "W", SIGMOID);
    ATTENTION("a", zoo_edges(z), "x", COLS("x"), .heads = N("p.heads"));
    SUBTRACT("change", "a", "x"), MULTIPLY("gated", "g", "change"), ADD("y", "x", "gated");
}

/* A12 | PinSage | n_i = weighted mean of relu(Q h_j), y = relu(W [h_i, n_i]), normalised | O(m
 * d) | Ying et al. 2018 */
ENTRY(pinsage)
{
    zoo_edges(z);
    zoo_block(z, "pinsage",
              (gnn_block_t){.name = "y",
                            .input = "x",
                            .width = COLS("x"),
                            .out = COUNT("w.W"),
                            .hidden = COUNT("w.Q"),
                            .edge_weight = "ew"});
    TURN("y.message.weight", "Q"), SET("y.message.bias", "q"), TURN("y.out.weight", "W"),
        SET("y.out.bias", "w");
}

/* Pairs of at most `most` hops, as edges. */
static void add_near(zoo_t *z, int64_t least, int64_t most)
{
    int64_t count, m = 0, *hops = zoo_integers(z, "r.hops", &count), n = COUNT("x");
    int64_t *src = zoo_room(z, count), *dst = zoo_room(z, count);
    for (int64_t k = 0; k < count; k++)
        if (hops[k] >= least && hops[k] <= most)
            src[m] = k % n, dst[m++] = k / n;
    zoo_edges_of(z, n, n, m, src, dst);
}

static void bind_projections(zoo_t *z)
{
    TURN("y.query.weight", "q"), TURN("y.key.weight", "k"), TURN("y.value.weight", "v"),
        TURN("y.out.weight", "o");
}

/* A14 | Multi-Graph Transformer | head h = sum over j of softmax_j(s_ij) v_j on graph h:
 * neighbours, at most two hops, all nodes | O(m d) | Xu et al. 2021 */
ENTRY(multi_graph_heads)
{
    add_near(z, 1, 1), add_near(z, 0, 2), add_near(z, 0, INT64_MAX);
    zoo_block(z, "multi_graph",
              (gnn_block_t){
                  .name = "y", .input = "x", .width = COLS("x"), .heads = N("p.heads"), .hops = 3});
    bind_projections(z);
}

/* 6.3 | Decay by hops (Gradformer) | softmax(s_ij + hops_ij log g_h) over all nodes | O(n^2 d)
 * | Liu et al. 2024 */
ENTRY(hop_decay)
{
    const int64_t n = COUNT("x");
    int64_t *hops = zoo_integers_of(z, "r.hops", n * n);
    gnn_real_t *far = zoo_constant(z, "hops", n * n, 1);
    for (int64_t k = 0; k < n * n; k++)
        far[k] = (gnn_real_t)hops[k];
    zoo_as_edges(z, zoo_complete_of(z, 1, &n));
    zoo_block(z, "hop_decay",
              (gnn_block_t){.name = "y",
                            .input = "x",
                            .graph = 1,
                            .width = COLS("x"),
                            .heads = N("p.heads"),
                            .edges = "hops"});
    SET("y.gamma.rows", "gamma"), bind_projections(z);
}

/* 6.3 | Graphormer | s_ij + b_h[hops], a learned row by degree added to x | O(n^2 d) | Ying et
 * al. 2021 */
ENTRY(graphormer)
{
    const int64_t n = COUNT("x");
    zoo_as_edges(z, zoo_complete_of(z, 1, &n));
    zoo_block(z, "graphormer",
              (gnn_block_t){.name = "y",
                            .input = "x",
                            .graph = 1,
                            .width = COLS("x"),
                            .heads = N("p.heads"),
                            .memory = "r.degree",
                            .rows = COUNT("w.degree"),
                            .edges = "r.hops",
                            .edge_width = COLS("w.table")});
    SET("y.degree.table", "degree"), TURN("y.hops.table", "table"), bind_projections(z);
}

/* 6.3 | Exphormer | softmax over the pairs of src, dst, an expander and virtual nodes of s_ij = sum
 * over columns of q_i k_j E[kind_ij] / sqrt(width) | O((m + n) d) | Shirzad et al. 2023 */
ENTRY(exphormer)
{
    const int64_t n = COUNT("x"), more = COUNT("w.virtual");
    int64_t m, *src = zoo_integers(z, "r.pair_src", &m), *dst = zoo_integers_of(z, "r.pair_dst", m);
    zoo_edges_of(z, n + more, n + more, m, src, dst), zoo_incidence(z);
    zoo_block(z, "exphormer",
              (gnn_block_t){.name = "all",
                            .input = "x",
                            .width = COLS("x"),
                            .heads = N("p.heads"),
                            .edges = "r.pair_kind",
                            .edge_width = COUNT("w.E"),
                            .hops = more});
    ROWS("nodes", "all", 0, n), OP("y", power, "nodes", 1);
    SET("all.virtual.rows", "virtual"), SET("all.kind.table", "E");
    TURN("all.query.weight", "q"), TURN("all.key.weight", "k"), TURN("all.value.weight", "v"),
        TURN("all.out.weight", "o");
}

/* 6.3 | GPS with multi-head attention | h = (x + W sum over j = i and neighbours of x_j) + (x +
 * attention over all nodes), y = h + mlp(h) | O(m d + n^2 d) | Rampasek et al. 2022 */
ENTRY(gps_multihead)
{
    const int64_t n = COUNT("x"), d = COLS("x");
    zoo_edges(z), zoo_complete_of(z, 1, &n);
    zoo_block(z, "gps",
              (gnn_block_t){.name = "y",
                            .input = "x",
                            .heads = N("p.heads"),
                            .layer = {.in = d,
                                      .message = &gnn_message_none,
                                      .aggregator = &gnn_aggregator_sum,
                                      .update = &gnn_update_linear,
                                      .self_loops = GNN_ON}});
    TURN("y.local.out.weight", "conv.nn.weight"), SET("y.local.out.bias", "conv.nn.bias");
    const char *const names[] = {"query", "key", "value"};
    for (int k = 0; k < 3; k++) {
        BIND(NAMED("y.attention.%s.weight", names[k]), "attn.in_proj_weight", .layout = TURNED,
             .base = k * d * d);
        BIND(NAMED("y.attention.%s.bias", names[k]), "attn.in_proj_bias", .base = k * d);
    }
    TURN("y.attention.out.weight", "attn.out_proj.weight"),
        SET("y.attention.out.bias", "attn.out_proj.bias");
    TURN("y.mlp.0.weight", "mlp.0.weight"), SET("y.mlp.0.bias", "mlp.0.bias");
    TURN("y.mlp.1.weight", "mlp.3.weight"), SET("y.mlp.1.bias", "mlp.3.bias");
}

/* 6.3 | SGFormer, as PyG has it | y = (n v_i + q_i (sum k v')) / (n + q_i . sum k), unit rows |
 * O(n d^2) | Wu et al. 2023 */
ENTRY(sgformer_pyg)
{
    const int64_t n = COUNT("x");
    zoo_complete_of(z, 1, &n);
    zoo_block(z, "sgformer",
              (gnn_block_t){.name = "y", .input = "x", .width = COLS("x"), .heads = N("p.heads")});
    TURN("y.q.weight", "q"), TURN("y.k.weight", "k"), TURN("y.v.weight", "v");
}

/* x over its Frobenius norm. */
static void over_norm(zoo_t *z, const char *name, const char *x, int all)
{
    MULTIPLY(NAMED("%s.2", name), x, x), OP(NAMED("%s.rows", name), head_sum, NAMED("%s.2", name), 1);
    HOP(NAMED("%s.sum", name), all, NAMED("%s.rows", name), 1, sum);
    OP(NAMED("%s.f", name), power, NAMED("%s.sum", name), -0.5),
        MULTIPLY(name, x, NAMED("%s.f", name));
}

/* 6.3 | SGFormer | y = D^-1 (v + Q (K' v) / n), D = diag(1 + Q (K' 1) / n), Q = x W_Q and K = x W_K
 * over their Frobenius norms | O(n d^2) | Wu et al. 2023 */
ENTRY(sgformer_paper)
{
    const int64_t n = COUNT("x"), d = COLS("x");
    const int all = zoo_whole(z, n), complete = zoo_complete_of(z, 1, &n);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    over_norm(z, "q.unit", "q", all), over_norm(z, "k.unit", "k", all);
    zoo_filled(z, "one", n, 1, 1), zoo_filled(z, "n", 1, 1, (double)n);
    CONCAT("v.1", "v", "one");
    ATTEND("sums", complete, "q.unit", "k.unit", "v.1", d + 1, .d_k = d, .d_v = d + 1, .scale = 1,
           .weigher = &gnn_weigher_linear);
    COLUMNS("above0", "sums", 0, d), ADD_TIMES("above", "above0", (double)n, "v");
    COLUMNS("below0", "sums", d, 1), ADD("below", "below0", "n"), OP("1/below", power, "below", -1);
    MULTIPLY("y", "above", "1/below");
}

/* D^-1/2 A D^-1/2, as edges with weights. */
static int normalised(zoo_t *z)
{
    const int64_t n = COUNT("x");
    int64_t m, *src = zoo_integers(z, "src", &m), *dst = zoo_integers_of(z, "dst", m),
               *degree = zoo_room(z, n);
    gnn_real_t *weight = zoo_constant(z, "norm", m, 1);
    for (int64_t e = 0; e < m; e++)
        degree[dst[e]]++;
    for (int64_t e = 0; e < m; e++)
        weight[e] = REAL(1 / sqrt((double)degree[src[e]] * (double)degree[dst[e]]));
    return zoo_edges(z);
}

/* 6.3 | DIFFormer | y = x / 2 + mean over heads of (a + p) / 2, a_i = sum over j of w_ij v_j / sum
 * over j of w_ij, w_ij = 1 + cos(q_i, k_j), p = D^-1/2 A D^-1/2 v | O(n d^2 + m d) | Wu et al. 2023
 * */
ENTRY(difformer)
{
    const int64_t n = COUNT("x"), d = COLS("x"), heads = N("p.heads"), all = COUNT("w.q"),
                  width = all / heads;
    const int edges = normalised(z), complete = zoo_complete_of(z, 1, &n);
    LINEAR("q", "x", d, all), LINEAR("k", "x", d, all), LINEAR("v", "x", d, all);
    OP("q.unit", unit_heads, "q", (double)heads), OP("k.unit", unit_heads, "k", (double)heads);
    zoo_filled(z, "ones", n, heads, 1);
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("one%d", h), "ones", h, 1);
        const char *const from[] = {"q.unit", "k.unit", "v"}, *const to[] = {"q1", "k1", "v1"};
        for (int k = 0; k < 3; k++) {
            COLUMNS(NAMED("%s.own%d", to[k], h), from[k], h * width, width);
            CONCAT(NAMED("%s.%d", to[k], h), NAMED("%s.own%d", to[k], h), NAMED("one%d", h));
        }
        ATTEND(NAMED("sums%d", h), complete, NAMED("q1.%d", h), NAMED("k1.%d", h),
               NAMED("v1.%d", h), width + 1, .scale = 1, .weigher = &gnn_weigher_linear);
        COLUMNS(NAMED("above%d", h), NAMED("sums%d", h), 0, width),
            COLUMNS(NAMED("below%d", h), NAMED("sums%d", h), width, 1);
        OP(NAMED("inverse%d", h), power, NAMED("below%d", h), -1),
            MULTIPLY(NAMED("head%d", h), NAMED("above%d", h), NAMED("inverse%d", h));
    }
    zoo_concat(z, "all", "head", heads);
    STEP(AGGREGATE, "near", .graph = edges, .inputs = {"v"}, .edge_weight = "norm",
         .layer = {.in = all, .aggregator = &gnn_aggregator_sum});
    ADD("both", "all", "near"), OP("folded", fold_heads, "both", (double)heads),
        SCALE("mean", "folded", 0.5 / (double)heads);
    SCALE("half", "x", 0.5), ADD("y", "half", "mean");
}

/* 6.3 | Polynormer, global attention | y = relu(W_o (LN(a) (h + 0.9)) + b), a = k (k' v) / (k sum
 * of k' + 1e-6), k = sigmoid(x W_k), h = x W_h + b; columns of heads are interleaved in a | O(n
 * d^2) | Deng et al. 2024 */
ENTRY(polynormer_attention)
{
    const int64_t n = COUNT("x"), d = COLS("x"), heads = N("p.heads"), all = COUNT("w.k.weight"),
                  width = all / heads;
    AFFINE("h_lins", "x", d, all);
    LINEAR("k0", "x", d, all), LINEAR("v", "x", d, all);
    BIND("k0.weight", "k.weight", .strided = true, .row_step = 1, .col_block = width,
         .col_outer = d, .col_step = heads * d);
    BIND("v.weight", "v.weight", .strided = true, .row_step = 1, .col_block = width, .col_outer = d,
         .col_step = heads * d);
    ACTIVATION("k", "k0", SIGMOID);
    ATTEND("a", zoo_complete_of(z, 1, &n), "k", "k", "v", all, .heads = heads, .scale = 1,
           .weigher = &gnn_weigher_linear);
    HOP("sum", zoo_whole(z, n), "k", all, sum), MULTIPLY("kk", "k", "sum"),
        OP("below0", head_sum, "kk", (double)heads);
    zoo_filled(z, "eps", 1, heads, 1e-6), zoo_filled(z, "beta", 1, all, 0.9);
    ADD("below", "below0", "eps"), OP("1/below", power, "below", -1),
        SCALE_HEADS("ratio", "a", "1/below");
    for (int k = 0; k < all; k++)
        COLUMNS(NAMED("c%d", k), "ratio", k % heads * width + k / heads, 1);
    zoo_concat(z, "turned", "c", all);
    NORM("lns", "turned", LAYER, all, 1e-5), ADD("gate", "h_lins", "beta"),
        MULTIPLY("gated", "lns", "gate");
    AFFINE("lin_out", "gated", all, COUNT("w.lin_out.bias")), ACTIVATION("y", "lin_out", RELU);
}

/* E1 | Neighbours by values | y_i = attention over the k rows of the segment that are nearest to
 * x_i | O(n^2 d) to find them | Roy et al. 2021 */
ENTRY(nearest_by_values)
{
    const gnn_tensor_t x = golden_tensor(&z->g, "x");
    int64_t count, *lengths = zoo_segments(z, &count);
    ck_ok(gnn_graph_nearest(&z->graphs[z->n_graphs++], &x, count, lengths, N("p.k")));
    ATTENTION("y", 0, "x", COLS("x"), .heads = N("p.heads"));
}

/* 6.3 | Dynamic graph CNN | y_i = max over the k rows nearest to x_i of relu(W [x_i, x_j - x_i] +
 * b) | O(n^2 d) to find them | Wang et al. 2019 */
ENTRY(dynamic_edge_conv)
{
    const gnn_tensor_t x = golden_tensor(&z->g, "x");
    int64_t count, *lengths = zoo_segments(z, &count);
    ck_ok(gnn_graph_nearest(&z->graphs[z->n_graphs++], &x, count, lengths, N("p.k")));
    zoo_incidence(z);
    zoo_block(z, "edgeconv",
              (gnn_block_t){.name = "y", .input = "x", .width = COLS("x"), .out = COUNT("w.b")});
    TURN("y.nn.0.weight", "W"), SET("y.nn.0.bias", "b");
}

/* Gates W x + b in the order of lstm_sweep; the states are [h, c]. */
static void tree_gates(zoo_t *z, int64_t d)
{
    const int64_t in = COLS("x");
    AFFINE("Wi", "x", in, d), AFFINE("Wf", "x", in, d), AFFINE("Wu", "x", in, d);
    AFFINE("Wo", "x", in, d), CONCAT("gates", "Wi", "Wf", "Wu", "Wo");
    zoo_filled(z, "zeros", 1, 4 * d, 0);
}

/* A8 | child-sum Tree-LSTM | i, o, u from W x + U (sum of children's h), f_k from W_f x + U_f h_k,
 * c = i u + sum of f_k c_k, h = o tanh(c) | O(n d^2), a product per level | Tai et al. 2015 */
ENTRY(tree_lstm_child_sum)
{
    const char *const gates[] = {"Ui", "Uf", "Uu", "Uo"};
    const int64_t d = COUNT("w.bi");
    tree_gates(z, d);
    for (int k = 0; k < 4; k++)
        PARAMETER(gates[k], d, d), TURN(NAMED("%s.rows", gates[k]), gates[k]);
    CONCAT("U", "Ui", "Uf", "Uu", "Uo");
    STEP(OP, "states", .op = &gnn_op_lstm_sweep, .graph = zoo_edges(z),
         .inputs = {"gates", "U", "zeros"});
    COLUMNS("c", "states", d, d), COLUMNS("h", "states", 0, d);
    zoo_filled(z, "one", 1, 1, 1), MULTIPLY("y", "h", "one");
    zoo_also(z, "c", "c");
}

/* Block `at` of an array of d x d blocks, transposed. */
static void tree_block(zoo_t *z, const char *name, const char *array, int64_t at, int64_t d)
{
    PARAMETER(name, d, d);
    BIND(NAMED("%s.rows", name), array, .base = at * d * d, .strided = true, .row_step = 1,
         .col_step = d);
}

/* A8 | N-ary Tree-LSTM | i, o, u from W x + sum over places l of U_l h_l, f_k from W_f x + sum of
 * U_kl h_l | O(n d^2), a product per level | Tai et al. 2015 */
ENTRY(tree_lstm_n_ary)
{
    const int64_t d = COUNT("w.bi"), places = COUNT("w.Ui");
    int64_t m, *given = zoo_integers(z, "r.place", &m);
    gnn_real_t *place = zoo_constant(z, "place", m, 1);
    for (int64_t e = 0; e < m; e++)
        place[e] = (gnn_real_t)given[e];
    tree_gates(z, d);
    for (int l = 0; l < (int)places; l++) {
        tree_block(z, NAMED("i%d", l), "Ui", l, d);
        for (int k = 0; k < (int)places; k++)
            tree_block(z, NAMED("f%d.%d", l, k), "Uf", k * places + l, d);
        tree_block(z, NAMED("u%d", l), "Uu", l, d), tree_block(z, NAMED("o%d", l), "Uo", l, d);
        zoo_concat(z, NAMED("f%d", l), NAMED("f%d.", l), places);
        CONCAT(NAMED("place%d", l), NAMED("i%d", l), NAMED("f%d", l), NAMED("u%d", l),
               NAMED("o%d", l));
    }
    zoo_concat(z, "U", "place", places);
    STEP(OP, "states", .op = &gnn_op_lstm_sweep, .graph = zoo_edges(z),
         .inputs = {"gates", "U", "zeros", "place"}, .options = {(double)places});
    COLUMNS("h", "states", 0, d);
    zoo_filled(z, "one", 1, 1, 1), MULTIPLY("y", "h", "one");
}

FAMILY(A, AT(graph_transformer), AT(graph_transformer_edges), AT(laplacian_positions),
       AT(graph_network), AT(syntax_layer), AT(pinsage), AT(multi_graph_heads), AT(hop_decay),
       AT(graphormer), AT(exphormer), AT(gps_multihead), AT(sgformer_pyg), AT(sgformer_paper),
       AT(difformer), AT(polynormer_attention), AT(nearest_by_values), AT(dynamic_edge_conv),
       AT(tree_lstm_child_sum), AT(tree_lstm_n_ary))
