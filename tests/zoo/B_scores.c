/* Sequence models, convolutions, and attention before the Transformer. */
#include "zoo.h"

#include <math.h>

/* ---- scores over the states of an encoder ---- */

/* B7 | Luong, dot | s_ij = q_i . k_j | O(n m d) | Luong et al. 2015 */
ENTRY(luong_dot)
{
    ATTEND("y", zoo_across(z), "x", "mem", "mem", COLS("x"), .scale = 1);
}

/* B8 | Luong, general | s_ij = q_i . W k_j | O(n m d) | Luong et al. 2015 */
ENTRY(luong_general)
{
    LINEAR("W", "x", COLS("x"), COLS("mem"));
    ATTEND("y", zoo_across(z), "W", "mem", "mem", COLS("x"), .scale = 1);
    BIND("W.weight", "W", .layout = SAME);
}

/* B6 | Luong, concat; Bahdanau's score | s_ij = v . tanh(W [q_i, k_j]) | O(n m d) | Luong et
 * al. 2015, Bahdanau et al. 2015 */
ENTRY(luong_concat)
{
    const int64_t d = COLS("x"), hidden = COUNT("w.W");
    LINEAR("Wq", "x", d, hidden), LINEAR("Wk", "mem", COLS("mem"), hidden);
    BIND("Wq.weight", "W", .strided = true, .row_step = 1, .col_step = COLS("w.W"));
    BIND("Wk.weight", "W", .strided = true, .base = d, .row_step = 1, .col_step = COLS("w.W"));
    ATTEND("y", zoo_across(z), "Wq", "Wk", "mem", COLS("mem"), .d_k = hidden, .d_v = COLS("mem"),
           .score = &gnn_score_additive_tanh);
    BIND("y.attention.vector", "v", .base = 0);
}

/* B9 | Luong, location | s_ij = (W q_i)_j, by the sender's place | O(n m d) | Luong et al. 2015 */
ENTRY(luong_location)
{
    const int64_t places = COUNT("w.W"), d = COLS("mem");
    LINEAR("W", "x", COLS("x"), places);
    zoo_filled(z, "zero", COUNT("x"), 1, 0), zoo_filled(z, "no keys", COUNT("mem"), 1, 0);
    STEP(AGGREGATE, "y", .graph = zoo_across(z), .query = "zero", .key = "no keys",
         .inputs = {"mem"}, .priors = {"W"},
         .layer = {.in = d,
                   .d_k = 1,
                   .d_v = d,
                   .aggregator = &gnn_aggregator_attention,
                   .priors = {{&gnn_prior_place, {(double)places}, GNN_ON}}});
}

/* B10 | Cosine scores, content addressing | s_ij = beta_i cos(q_i, k_j), beta = softplus(x u +
 * b) | O(n m d) | Graves et al. 2014 */
ENTRY(cosine_scores)
{
    const int64_t d = COLS("x");
    AFFINE("u", "x", d, 1), ACTIVATION("beta", "u", SOFTPLUS);
    BIND("u.bias", "b", .base = 0);
    STEP(NORM, "unit x", .inputs = {"x"}, .norm = GNN_NORM_L2, .in = d);
    STEP(NORM, "unit mem", .inputs = {"mem"}, .norm = GNN_NORM_L2, .in = d);
    MULTIPLY("q", "unit x", "beta");
    ATTEND("y", zoo_across(z), "q", "unit mem", "mem", d, .scale = 1);
}

/* B13 | A score network with more layers | s_ij = v . relu(W2 relu(W1 [q_i, k_j])) | O(n m d^2)
 * | Bahdanau et al. 2015 */
ENTRY(mlp_scores)
{
    const int64_t d = COLS("mem"), hidden = COUNT("w.W2");
    const int slot = zoo_as_edges(z, zoo_across(z));
    EDGE_ROWS("of receivers", slot, "x", RECEIVERS), EDGE_ROWS("of senders", slot, "mem", SENDERS);
    CONCAT("pairs", "of receivers", "of senders");
    FEED_FORWARD("f", "pairs", "", RELU), ACTIVATION("r", "f", RELU);
    LINEAR("v", "r", hidden, 1);
    zoo_filled(z, "zero", COUNT("x"), 1, 0), zoo_filled(z, "no keys", COUNT("mem"), 1, 0);
    STEP(AGGREGATE, "y", .graph = slot, .query = "zero", .key = "no keys", .inputs = {"mem"},
         .edge_bias = "v",
         .layer = {.in = d, .d_k = 1, .d_v = d, .aggregator = &gnn_aggregator_attention});
}

/* B19 | Luong, predictive local attention | weights softmax(s) exp(-(j - p_i)^2 / (2 sigma^2)) of
 * the senders within D of p_i = S sigmoid(v . tanh(W q_i)), whose ids the model computes | O(n D
 * d) | Luong et al. 2015 */
ENTRY(luong_local_predictive)
{
    const int64_t n = COUNT("x"), d = COLS("x"), hidden = COUNT("w.W"), D = (int64_t)R("p.D"),
                  near = 2 * D + 1, *across = zoo_segments_mem(z);
    int64_t count, row = 0, from = 0, *lengths = zoo_segments(z, &count);
    gnn_real_t *senders = zoo_constant(z, "S", n, 1), *first = zoo_constant(z, "first + 1", n, near),
               *last = zoo_constant(z, "last", n, near),
               *offset = zoo_constant(z, "offset", 1, near);
    for (int64_t o = 0; o < near; o++)
        offset[o] = REAL(o - D);
    for (int64_t s = 0; s < count; from += across[s++])
        for (int64_t i = 0; i < lengths[s]; i++, row++) {
            senders[row] = REAL(across[s]);
            for (int64_t o = 0; o < near; o++)
                first[row * near + o] = REAL(from + 1), last[row * near + o] = REAL(across[s] - 1);
        }
    LINEAR("W", "x", d, hidden), ACTIVATION("t", "W", TANH), LINEAR("v", "t", hidden, 1);
    ACTIVATION("part", "v", SIGMOID), MULTIPLY("p", "part", "S");
    DETACH("place", "p"), OP("centre", floor, "place", 0), zoo_filled(z, "ones", n, near, 1);
    MULTIPLY("centres", "ones", "centre"), ADD("j", "centres", "offset");
    MULTIPLY("p each", "ones", "p"), SUBTRACT("far", "p each", "j"), SUBTRACT("left", "last", "j");
    OP("from 0", between, "j", 0, 1e9), OP("to S", between, "left", 0, 1e9);
    STEP(OP, "within D", .op = &gnn_op_between, .inputs = {"far"}, .options = {-R("p.D"), R("p.D")});
    MULTIPLY("exist", "from 0", "to S"), MULTIPLY("near", "exist", "within D");
    zoo_filled(z, "one", 1, near, 1), ADD("row + 1", "j", "first + 1"),
        MULTIPLY("of near", "row + 1", "near"), SUBTRACT("ids", "of near", "one");
    OP2("s", score_rows, "x", "mem", "ids"), OP("a", softmax_rows, "s", 0);
    MULTIPLY("far2", "far", "far"), SCALE("e", "far2", -2 / (R("p.D") * R("p.D"))),
        OP("nearness", exp, "e", 0), MULTIPLY("w", "a", "nearness");
    OP2("y", weigh_rows, "w", "mem", "ids");
}

/* A10 | End-to-end memory network | u <- u H + sum of softmax(u . A m_j) C m_j, a few hops |
 * O(n m d hops) | Sukhbaatar et al. 2015 */
ENTRY(memory_network)
{
    const int64_t d = COLS("x");
    const int slot = zoo_across(z);
    LINEAR("A", "mem", COLS("mem"), d), LINEAR("C", "mem", COLS("mem"), d);
    for (int k = 0; k < N("p.hops"); k++) {
        const char *u = k ? NAMED("u%d", k) : "x";
        STEP(LINEAR, k ? NAMED("H%d", k) : "H", .inputs = {u}, .in = d, .out = d, .bias = GNN_OFF,
             .share = k ? "H" : NULL);
        ATTEND(NAMED("o%d", k), slot, u, "A", "C", d, .scale = 1);
        ADD(NAMED("u%d", k + 1), k ? NAMED("H%d", k) : "H", NAMED("o%d", k));
    }
}

/* ---- gates from readouts ---- */

/* B22 | Squeeze and excitation | y = x sigmoid(W2 relu(W1 mean x)) | O(n d) | Hu et al. 2018 */
ENTRY(squeeze_excite)
{
    zoo_pool(z, 1), zoo_unpool(z, 1);
    zoo_block(
        z, "squeeze_excite",
        (gnn_block_t){.name = "y", .input = "x", .width = COLS("x"), .hidden = COUNT("w.fc1.bias")});
    BIND("y.fc1.weight", "fc1.weight", .layout = TURNED), BIND("y.fc1.bias", "fc1.bias", .base = 0);
    BIND("y.fc2.weight", "fc2.weight", .layout = TURNED), BIND("y.fc2.bias", "fc2.bias", .base = 0);
}

/* B23 | ECA-Net | y = x sigmoid(convolution over the channels of mean x) | O(n d) | Wang et al.
 * 2020 */
ENTRY(eca)
{
    const int64_t d = COLS("x"), taps = zoo_shape(z, "w.conv.weight", -1), reach = taps / 2;
    int64_t count;
    zoo_segments(z, &count);
    HOP("mean", zoo_pool(z, 1), "x", d, mean);
    zoo_filled(z, "pad", count, reach, 0);
    CONCAT("padded", "pad", "mean", "pad");
    for (int k = 0; k < taps; k++) {
        COLUMNS(NAMED("moved%d", k), "padded", k, d);
        PARAMETER(NAMED("tap%d", k), 1, 1), BIND(NAMED("tap%d.rows", k), "conv.weight", .base = k);
        MULTIPLY(NAMED("part%d", k), NAMED("moved%d", k), NAMED("tap%d", k));
    }
    zoo_sum(z, "conv", "part", taps), ACTIVATION("gate", "conv", SIGMOID);
    zoo_spread(z, "gates", "gate"), MULTIPLY("y", "x", "gates");
}

/* The channel gate's network on one readout; the first call owns the parameters. */
static void channel(zoo_t *z, const char *name, const char *x, bool first)
{
    const int64_t d = COLS("x"), hidden = COUNT("w.channel.fc1.weight");
    const char *fc1 = first ? "channel.fc1" : NAMED("%s.fc1", name), *relu = NAMED("%s.relu", name);
    STEP(LINEAR, fc1, .inputs = {x}, .in = d, .out = hidden, .bias = GNN_OFF,
         .share = first ? NULL : "channel.fc1");
    ACTIVATION(relu, fc1, RELU);
    STEP(LINEAR, first ? "channel.fc2" : name, .inputs = {relu}, .in = hidden, .out = d,
         .bias = GNN_OFF, .share = first ? NULL : "channel.fc2");
}

/* B24 | CBAM | x1 = x sigmoid(f(mean over pixels) + f(max over pixels)), f = W2 relu(W1 .), y = x1
 * sigmoid(bn(conv([mean, max over channels of x1]))) | O(n d) | Woo et al. 2018 */
ENTRY(cbam)
{
    const int64_t d = COLS("x"), reach = zoo_shape(z, "w.spatial.conv.conv.weight", -1) / 2;
    const int slot = zoo_pool(z, 1);
    HOP("mean", slot, "x", d, mean), HOP("max", slot, "x", d, max);
    channel(z, "of mean", "mean", true), channel(z, "of max", "max", false);
    ADD("g0", "channel.fc2", "of max"), ACTIVATION("g", "g0", SIGMOID);
    zoo_spread(z, "channels", "g"), MULTIPLY("x1", "x", "channels");
    OP("sum", head_sum, "x1", 1), SCALE("mean of x1", "sum", 1 / (double)d);
    for (int c = 0; c < d; c++)
        COLUMNS(NAMED("c%d", c), "x1", c, 1);
    zoo_maximum(z, "max of x1", "c", d);
    CONCAT("both", "mean of x1", "max of x1"), zoo_unfold_grid(z, "around", "both", reach);
    LINEAR("spatial.conv.conv", "around", 2 * (2 * reach + 1) * (2 * reach + 1), 1);
    SCALE("normal", "spatial.conv.conv", 1 / sqrt(1 + 1e-5));
    PARAMETER("spatial.conv.bn.weight", 1, 1), PARAMETER("spatial.conv.bn.bias", 1, 1);
    MULTIPLY("bn", "normal", "spatial.conv.bn.weight"), ADD("place", "bn", "spatial.conv.bn.bias");
    ACTIVATION("pixels", "place", SIGMOID), MULTIPLY("y", "x1", "pixels");
}

/* ---- convolutions: products with the rows around ---- */

/* B26 | Convolution over positions | y_i = sum over k of W_k x_i+k | O(n d^2 taps) | Gehring et
 * al. 2017 */
ENTRY(conv1d)
{
    zoo_unfold(z, "around", "x", -1, 1, 1);
    AFFINE("y", "around", 3 * COLS("x"), COUNT("w.bias"));
    BIND("y.weight", "weight", .automatic = true), BIND("y.bias", "bias", .base = 0);
}

/* B26 | Convolution, dilated and causal | y_i = sum over k of W_k x_i-2k | O(n d^2 taps) | van
 * den Oord et al. 2016 */
ENTRY(conv1d_dilated_causal)
{
    zoo_unfold(z, "around", "x", -2, 0, 2);
    AFFINE("y", "around", 3 * COLS("x"), COUNT("w.bias"));
    BIND("y.weight", "weight", .automatic = true), BIND("y.bias", "bias", .base = 0);
}

/* B26 | Convolution, depthwise separable | y = W h + b, h_i = sum over k of w_k x_(i + k) + b_0,
 * w_k per channel | O(n d (taps + d)) | Chollet 2017 */
ENTRY(conv1d_separable)
{
    const int64_t reach = zoo_shape(z, "w.0.weight", -1) / 2;
    zoo_depthwise(z, "depthwise", "x", "0.weight", -reach, reach);
    PARAMETER("0.bias", 1, COLS("x")), ADD("biased", "depthwise", "0.bias");
    AFFINE("1", "biased", COLS("x"), COUNT("w.1.bias"));
}

/* B26 | Convolution on a grid | y = W [x at the 3 x 3 pixels around] + b, zeros beyond the border;
 * rows of x are pixels | O(n d^2 taps) | LeCun et al. 1989 */
ENTRY(conv2d_grid)
{
    zoo_unfold_grid(z, "around", "x", 1);
    AFFINE("y", "around", 9 * COLS("x"), COUNT("w.bias"));
    BIND("y.weight", "weight", .automatic = true), BIND("y.bias", "bias", .base = 0);
}

/* ---- fully connected over positions ---- */

/* sum over j of T[i, j] x_j + b_i, in every segment. */
static void over_positions(zoo_t *z, const char *name, const char *x, int64_t d)
{
    const int64_t n = COUNT("x"), longest = COUNT("w.T"), *place = zoo_positions(z);
    int32_t *ids = zoo_ids(z, "place", n);
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)place[i];
    zoo_filled(z, "zero", n, 1, 0), zoo_filled(z, "ones", n, d, 1);
    STEP(EMBED, "T", .inputs = {"place"}, .in = longest, .out = longest);
    STEP(EMBED, "b", .inputs = {"place"}, .in = longest, .out = 1);
    STEP(AGGREGATE, "mixed", .graph = zoo_complete(z), .query = "zero", .key = "zero",
         .inputs = {x}, .priors = {"T"},
         .layer = {.in = d,
                   .d_k = 1,
                   .d_v = d,
                   .aggregator = &gnn_aggregator_attention,
                   .weigher = &gnn_weigher_linear,
                   .priors = {{&gnn_prior_place, {(double)longest}, GNN_ON}}});
    MULTIPLY("bias", "ones", "b"), ADD(name, "mixed", "bias");
}

/* B27 | MLP-Mixer, over positions | y_i = x_i + sum over j of T[i, j] x_j + b_i | O(n^2 d) |
 * Tolstikhin et al. 2021 */
ENTRY(mix_positions)
{
    over_positions(z, "all", "x", COLS("x"));
    ADD("y", "x", "all");
}

/* B27 | gMLP | y = x + (u (T LN(v) + b)) W2, [u, v] = gelu(LN(x) W1) | O(n^2 d) | Liu et al.
 * 2021 */
ENTRY(gmlp)
{
    const int64_t d = COLS("x"), all = COUNT("w.b1"), half = all / 2;
    NORM("norm", "x", LAYER, d, 1e-5);
    AFFINE("W1", "norm", d, all), ACTIVATION("z", "W1", GELU);
    COLUMNS("u", "z", 0, half), COLUMNS("v", "z", half, half);
    NORM("norm2", "v", LAYER, half, 1e-5), over_positions(z, "gate", "norm2", half);
    MULTIPLY("uv", "u", "gate"), AFFINE("W2", "uv", half, d), ADD("y", "x", "W2");
}

/* The columns of a cell's gates. */
typedef struct {
    const gnn_op_t *op;
    int64_t gates;
    double option;
} recurrent_t;

/* The states of a recurrent cell over the rows of x, from `initial` (NULL: 0). Arrays are named
 * as PyTorch's: BEFOREweight_ihAFTER. */
static void recurrent(zoo_t *z, const char *name, const char *x, const char *initial, int slot,
                      const recurrent_t *cell, gnn_flag_t reverse, const char *before,
                      const char *after)
{
    const char *gates = NAMED("%s.gates", name), *matrix = NAMED("%s.U", name),
               *bias = NAMED("%s.b", name), *in = NAMED("%sweight_ih%s", before, after),
               *own = NAMED("%sweight_hh%s", before, after);
    const int64_t all = COUNT(NAMED("w.%s", in)), d = all / cell->gates;
    AFFINE(gates, x, COLS(NAMED("w.%s", in)), all);
    PARAMETER(matrix, COLS(NAMED("w.%s", own)), all), PARAMETER(bias, 1, all);
    TURN(NAMED("%s.weight", gates), in), TURN(NAMED("%s.rows", matrix), own);
    SET(NAMED("%s.bias", gates), NAMED("%sbias_ih%s", before, after));
    SET(NAMED("%s.rows", bias), NAMED("%sbias_hh%s", before, after));
    const bool only_h = cell->op != &gnn_op_lstm_sweep;
    STEP(OP, only_h ? name : NAMED("%s.states", name), .op = cell->op, .graph = slot,
         .inputs = {gates, matrix, bias, initial},
         .options = {cell->option, reverse == GNN_ON ? 1 : 0});
    if (!only_h)
        COLUMNS(name, NAMED("%s.states", name), 0, d);
}

static const recurrent_t rnn_cell = {&gnn_op_rnn_sweep, 1, 0};
static const recurrent_t relu_cell = {&gnn_op_rnn_sweep, 1, 1};
static const recurrent_t gru_cell = {&gnn_op_gru_sweep, 3, 0};
static const recurrent_t lstm_cell = {&gnn_op_lstm_sweep, 4, 0};

/* B1 | RNN | h_t = tanh(W x_t + U h_t-1 + b) | O(n d^2), n steps | Elman 1990 */
ENTRY(rnn_tanh)
{
    recurrent(z, "y", "x", NULL, zoo_chain(z, "lengths"), &rnn_cell, GNN_OFF, "", "_l0");
}

/* B1 | RNN with relu | h_t = relu(W x_t + U h_t-1 + b) | O(n d^2), n steps | Le et al. 2015 */
ENTRY(rnn_relu)
{
    recurrent(z, "y", "x", NULL, zoo_chain(z, "lengths"), &relu_cell, GNN_OFF, "", "_l0");
}

/* B2 | LSTM | c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c) | O(n d^2), n steps |
 * Hochreiter and Schmidhuber 1997 */
ENTRY(lstm)
{
    recurrent(z, "h", "x", NULL, zoo_chain(z, "lengths"), &lstm_cell, GNN_OFF, "", "_l0");
    zoo_filled(z, "one", 1, 1, 1), MULTIPLY("y", "h", "one");
}

/* B2 | LSTM with a projected state | h = W (o tanh(c)): the recurrent matrix is W' U | O(n d^2), n
 * steps | Sak et al. 2014 */
ENTRY(lstm_projected)
{
    const int64_t all = COUNT("w.weight_hh_l0"), d = all / 4, few = COUNT("w.weight_hr_l0");
    PARAMETER("W", d, few), TURN("W.rows", "weight_hr_l0");
    LINEAR("WU", "W", few, all), TURN("WU.weight", "weight_hh_l0");
    AFFINE("gates", "x", COLS("x"), all), TURN("gates.weight", "weight_ih_l0");
    SET("gates.bias", "bias_ih_l0");
    PARAMETER("b", 1, all), SET("b.rows", "bias_hh_l0");
    STEP(OP, "states", .op = &gnn_op_lstm_sweep, .graph = zoo_chain(z, "lengths"),
         .inputs = {"gates", "WU", "b"});
    COLUMNS("h", "states", 0, d);
    STEP(LINEAR, "y", .inputs = {"h"}, .in = d, .out = few, .bias = GNN_OFF, .share = "W",
         .transposed = GNN_OFF);
}

/* B3 | GRU | h_t = (1 - z) n + z h_t-1, n = tanh(W x + r (U h_t-1 + b)) | O(n d^2), n steps | Cho
 * et al. 2014 */
ENTRY(gru)
{
    recurrent(z, "y", "x", NULL, zoo_chain(z, "lengths"), &gru_cell, GNN_OFF, "", "_l0");
}

/* Both directions, concatenated. */
static void both_directions(zoo_t *z, const char *name, const char *x, int slot,
                            const recurrent_t *cell, int64_t layer)
{
    const char *there = NAMED("%s.f", name), *back = NAMED("%s.r", name);
    recurrent(z, there, x, NULL, slot, cell, GNN_OFF, "", NAMED("_l%d", (int)layer));
    recurrent(z, back, x, NULL, slot, cell, GNN_ON, "", NAMED("_l%d_reverse", (int)layer));
    CONCAT(name, there, back);
}

/* B4 | bidirectional GRU | y_t = [GRU over x up to t, GRU over x from its end down to t] | O(n
 * d^2), n steps | Schuster and Paliwal 1997 */
ENTRY(gru_both)
{
    both_directions(z, "y", "x", zoo_chain(z, "lengths"), &gru_cell, 0);
}

/* B4 | stacked bidirectional LSTM | h = [LSTM over x, LSTM over x from its end], y = [LSTM over h,
 * LSTM over h from its end] | O(n d^2), n steps | Graves et al. 2013 */
ENTRY(lstm_stacked_both)
{
    const int slot = zoo_chain(z, "lengths");
    both_directions(z, "first", "x", slot, &lstm_cell, 0);
    both_directions(z, "y", "first", slot, &lstm_cell, 1);
}

/* B5 | encoder and decoder with one vector between | y = GRU over x from the state c, c the last
 * state of a GRU over mem | O((n + m) d^2) | Sutskever et al. 2014, Cho et al. 2014 */
ENTRY(seq2seq_bottleneck)
{
    int64_t count, *lengths = zoo_integers(z, "lengths_mem", &count), end = 0;
    int32_t *last = zoo_ids(z, "last", count);
    for (int64_t s = 0; s < count; s++)
        last[s] = (int32_t)((end += lengths[s]) - 1);
    recurrent(z, "encoded", "mem", NULL, zoo_chain(z, "lengths_mem"), &gru_cell, GNN_OFF, "enc.", "");
    PICK("bottleneck", "encoded", "last");
    recurrent(z, "y", "x", "bottleneck", zoo_chain(z, "lengths"), &gru_cell, GNN_OFF, "dec.", "");
}

FAMILY(B, AT(luong_dot), AT(luong_general), AT(luong_concat), AT(luong_location), AT(cosine_scores),
       AT(mlp_scores), AT(luong_local_predictive), AT(memory_network), AT(squeeze_excite), AT(eca),
       AT(cbam), AT(conv1d), AT(conv1d_dilated_causal), AT(conv1d_separable), AT(conv2d_grid),
       AT(mix_positions), AT(gmlp), AT(rnn_tanh), AT(rnn_relu), AT(lstm), AT(lstm_projected),
       AT(gru), AT(gru_both), AT(lstm_stacked_both), AT(seq2seq_bottleneck))
