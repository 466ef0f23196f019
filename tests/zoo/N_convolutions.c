/* Lightweight and convolutional models, and other architectures. */
#include "zoo.h"

#include <math.h>

/* ---- convolutions whose weights are normalised ---- */

/* The sum over k of row i + from + k of x times weight k of its head; weights heads x taps. */
static void light(zoo_t *z, const char *name, const char *x, const char *weights, int64_t from)
{
    const int64_t heads = COUNT("w.w"), taps = COLS("w.w");
    OP("softmax", softmax_rows, weights, 0);
    for (int k = 0; k < taps; k++) {
        zoo_shift(z, NAMED("moved%d", k), x, from + k);
        COLUMNS(NAMED("column%d", k), "softmax", k, 1),
            OP(NAMED("tap%d", k), fold_rows, NAMED("column%d", k), (double)heads);
        SCALE_HEADS(NAMED("part%d", k), NAMED("moved%d", k), NAMED("tap%d", k));
    }
    zoo_sum(z, name, "part", taps);
}

/* N7 | LightConv | y_i = sum over o of softmax(w_h)_o x_i+o, weights shared by the channels of
 * a head | O(n d taps) | Wu et al. 2019 */
ENTRY(light_conv)
{
    PARAMETER("w", COUNT("w.w"), COLS("w.w"));
    light(z, "y", "x", "w", -COLS("w.w") / 2);
}

/* N7 | LightConv, causal | y_i = sum over k >= 0 of softmax(w_h)_k x_(i - k) | O(n d taps) | Wu et
 * al. 2019 */
ENTRY(light_conv_causal)
{
    PARAMETER("w", COUNT("w.w"), COLS("w.w"));
    light(z, "y", "x", "w", 1 - COLS("w.w"));
}

static void dynamic(zoo_t *z, int64_t from)
{
    const int64_t heads = N("p.heads"), taps = N("p.width");
    LINEAR("W", "x", COLS("x"), heads * taps);
    for (int h = 0; h < heads; h++)
        COLUMNS(NAMED("scores%d", h), "W", h * taps, taps),
            OP(NAMED("softmax%d", h), softmax_rows, NAMED("scores%d", h), 0);
    for (int k = 0; k < taps; k++) {
        for (int h = 0; h < heads; h++)
            COLUMNS(NAMED("w%d_%d", k, h), NAMED("softmax%d", h), k, 1);
        zoo_concat(z, NAMED("tap%d", k), NAMED("w%d_", k), heads),
            zoo_shift(z, NAMED("moved%d", k), "x", from + k);
        SCALE_HEADS(NAMED("part%d", k), NAMED("moved%d", k), NAMED("tap%d", k));
    }
    zoo_sum(z, "y", "part", taps);
}

/* N8 | DynamicConv | weights softmax(W_h x_i) of the receiver | O(n d taps) | Wu et al. 2019 */
ENTRY(dynamic_conv)
{
    dynamic(z, -N("p.width") / 2);
}

/* N8 | DynamicConv, causal | y_i = sum over k of softmax(W_h x_i)_k x_(i - width + 1 + k) | O(n d
 * taps) | Wu et al. 2019 */
ENTRY(dynamic_conv_causal)
{
    dynamic(z, 1 - N("p.width"));
}

/* N1 | Lite Transformer | y = W [attention(left half of x), light convolution(GLU(W_g right half of
 * x))] | O(n^2 d / 2) | Wu et al. 2020 */
ENTRY(lite_transformer)
{
    const int64_t d = COLS("x"), half = d / 2;
    COLUMNS("left", "x", 0, half), COLUMNS("right", "x", half, half);
    ATTENTION("a", zoo_complete(z), "left", half, .heads = N("p.heads"));
    LINEAR("glu", "right", half, 2 * half), COLUMNS("value", "glu", 0, half),
        COLUMNS("gate", "glu", half, half);
    ACTIVATION("open", "gate", SIGMOID), MULTIPLY("gated", "value", "open");
    PARAMETER("w", COUNT("w.w"), COLS("w.w"));
    light(z, "conv", "gated", "w", -COLS("w.w") / 2);
    CONCAT("both", "a", "conv"), LINEAR("W", "both", d, d);
}

/* N6 | ConvS2S | h = (x + GLU(conv(x))) sqrt(1/2), y = (h + softmax((W h + x) mem') (mem + emb))
 * sqrt(1/2), conv over i - 2 .. i | O(n m d) | Gehring et al. 2017 */
ENTRY(conv_seq2seq)
{
    const int64_t d = COLS("x");
    zoo_unfold(z, "around", "x", -2, 0, 1), AFFINE("conv", "around", 3 * d, 2 * d),
        SET("conv.bias", "b");
    COLUMNS("value", "conv", 0, d), COLUMNS("gate", "conv", d, d),
        ACTIVATION("open", "gate", SIGMOID);
    MULTIPLY("glu", "value", "open"), ADD("h0", "x", "glu"), SCALE("h", "h0", sqrt(0.5));
    LINEAR("W", "h", d, d), ADD("q", "W", "x"), ADD("v", "mem", "emb");
    ATTEND("a", zoo_across(z), "q", "mem", "v", d, .scale = 1);
    ADD("sum", "h", "a"), SCALE("y", "sum", sqrt(0.5));
}

/* N9 | ConvNeXt block | y = x + g (W2 gelu(W1 LN(depthwise 7 x 7 x))) | O(n d (49 + d)) | Liu
 * et al. 2022 */
ENTRY(convnext_block)
{
    const int64_t d = COLS("x"), hidden = COUNT("w.mlp.fc1.bias");
    zoo_depthwise_grid(z, "conv", "x", "conv_dw.weight", zoo_shape(z, "w.conv_dw.weight", -1) / 2);
    PARAMETER("conv_dw.bias", 1, d), ADD("biased", "conv", "conv_dw.bias");
    NORM("norm", "biased", LAYER, d, R("p.eps")), AFFINE("mlp.fc1", "norm", d, hidden),
        ACTIVATION("gelu", "mlp.fc1", GELU);
    AFFINE("mlp.fc2", "gelu", hidden, d), PARAMETER("gamma", 1, d),
        MULTIPLY("scaled", "mlp.fc2", "gamma"), ADD("y", "x", "scaled");
}

/* A product per group of columns. */
static void group_linear(zoo_t *z, const char *name, const char *x, const char *array)
{
    const char *of = NAMED("w.%s", array);
    const int64_t groups = zoo_shape(z, of, 0), out = zoo_shape(z, of, 1), in = zoo_shape(z, of, 2);
    for (int g = 0; g < groups; g++) {
        COLUMNS(NAMED("%s.in%d", name, g), x, g * in, in),
            LINEAR(NAMED("%s.out%d", name, g), NAMED("%s.in%d", name, g), in, out);
        BIND(NAMED("%s.out%d.weight", name, g), array, .layout = TURNED, .base = g * in * out);
    }
    zoo_concat(z, name, NAMED("%s.out", name), groups);
}

/* N3 | DeLighT, group linear with shuffle | y_g = B_g [shuffle(a)_g, x_g], a_g = A_g x_g, g the
 * groups of columns; shuffle takes columns from the groups in turn | O(n d^2 / groups) | Mehta et
 * al. 2021 */
ENTRY(group_linear_shuffle)
{
    const int64_t d = COLS("x"), groups = N("p.groups"), all = groups * zoo_shape(z, "w.A", 1),
                  width = all / groups, own = d / groups;
    group_linear(z, "a", "x", "A");
    for (int c = 0; c < all; c++)
        COLUMNS(NAMED("c%d", c), "a", c % groups * width + c / groups, 1);
    zoo_concat(z, "shuffled", "c", all);
    for (int g = 0; g < groups; g++) {
        COLUMNS(NAMED("s%d", g), "shuffled", g * width, width),
            COLUMNS(NAMED("x%d", g), "x", g * own, own);
        CONCAT(NAMED("mixed%d", g), NAMED("s%d", g), NAMED("x%d", g));
    }
    zoo_concat(z, "mixed", "mixed", groups);
    group_linear(z, "y", "mixed", "B");
}

/* sum over k of weight k times value k; weights are columns of one row. */
static void mixture(zoo_t *z, const char *name, const char *weights, int64_t row,
                    const char *values, int64_t count)
{
    for (int k = 0; k < count; k++) {
        STEP(VIEW, NAMED("%s.w%d", name, k), .inputs = {weights}, .row = row, .rows = 1,
             .column = k, .columns = 1);
        MULTIPLY(NAMED("%s.part%d", name, k), NAMED("%s%d", values, k), NAMED("%s.w%d", name, k));
    }
    zoo_sum(z, name, NAMED("%s.part", name), count);
}

/* N4 | Transparent attention | decoder layer l reads sum over i of softmax(w_l)_i H_i | O(n d
 * layers) | Bapna et al. 2018 */
ENTRY(transparent_attention)
{
    const int64_t decoders = COUNT("w.s"), layers = COLS("w.s");
    PARAMETER("s", decoders, layers), OP("softmax", softmax_rows, "s", 0);
    SCALE("h0", "x", 1);
    for (int l = 1; l < layers; l++)
        FEED_FORWARD(NAMED("f%d", l), NAMED("h%d", l - 1), NAMED("%d", l), RELU),
            ADD(NAMED("h%d", l), NAMED("h%d", l - 1), NAMED("f%d", l));
    for (int l = 0; l < decoders; l++)
        mixture(z, NAMED("mix%d", l), "softmax", l, "h", layers);
    zoo_concat(z, "y", "mix", decoders);
}

/* ---- orders of sublayers ---- */

/* Q1 | Macaron | x1 = x + ffn1(LN(x)) / 2, x2 = x1 + attention(LN(x1)), y = x2 + ffn2(LN(x2)) / 2 |
 * O(n^2 d) | Lu et al. 2019 */
ENTRY(macaron)
{
    const int64_t d = COLS("x");
    NORM("norm_a", "x", LAYER, d, R("p.eps")), FEED_FORWARD("f1", "norm_a", "1", RELU),
        ADD_TIMES("x1", "x", 0.5, "f1");
    NORM("norm_b", "x1", LAYER, d, R("p.eps")),
        ATTENTION("a", zoo_complete(z), "norm_b", d, .heads = N("p.heads")), ADD("x2", "x1", "a");
    NORM("norm_c", "x2", LAYER, d, R("p.eps")), FEED_FORWARD("f2", "norm_c", "2", RELU),
        ADD_TIMES("y", "x2", 0.5, "f2");
}

/* Q2 | Sandwich | h <- h + attention(LN(h)) twice, then h <- h + ffn(LN(h)) twice | O(n^2 d) |
 * Press et al. 2020 */
ENTRY(sandwich_order)
{
    const int64_t d = COLS("x");
    const int slot = zoo_complete(z);
    for (int k = 1; k <= 4; k++) {
        const char *x = k > 1 ? NAMED("x%d", k - 1) : "x", *norm = NAMED("norm_%d", k);
        NORM(norm, x, LAYER, d, R("p.eps"));
        if (k <= 2)
            ATTENTION(NAMED("%d", k), slot, norm, d, .heads = N("p.heads"));
        else
            FEED_FORWARD(NAMED("f%d", k), norm, NAMED("_f%d", k - 2), RELU);
        ADD(NAMED("x%d", k), x, k <= 2 ? NAMED("%d", k) : NAMED("f%d", k));
    }
}

/* Q4 | Evolved Transformer, encoder cell | a = x + GLU(LN(x)); b = a + pw(dw(LN(relu(left LN(a)) +
 * relu(conv3(LN(a)))))); c = b + attention(LN(b)); y = c + ffn(LN(c)) | O(n^2 d) | So et al. 2019
 * */
ENTRY(evolved_encoder_cell)
{
    const int64_t d = COLS("x"), left = COUNT("w.left"), right = COUNT("w.right"),
                  reach = zoo_shape(z, "w.dw", -1) / 2;
    NORM("norm1", "x", LAYER, d, R("p.eps")), LINEAR("glu", "norm1", d, 2 * d);
    COLUMNS("value", "glu", 0, d), COLUMNS("gate", "glu", d, d), ACTIVATION("open", "gate", SIGMOID);
    MULTIPLY("gated", "value", "open"), ADD("x1", "x", "gated"),
        NORM("norm2", "x1", LAYER, d, R("p.eps"));
    LINEAR("left", "norm2", d, left), ACTIVATION("l", "left", RELU);
    zoo_unfold(z, "around", "norm2", -1, 1, 1), LINEAR("right", "around", 3 * d, right),
        ACTIVATION("r", "right", RELU);
    zoo_filled(z, "pad", COUNT("x"), left - right, 0);
    CONCAT("wide", "r", "pad"), ADD("t", "l", "wide"), NORM("norm3", "t", LAYER, left, R("p.eps"));
    zoo_depthwise(z, "conv", "norm3", "dw", -reach, reach), LINEAR("pw", "conv", left, d),
        ADD("x2", "x1", "pw");
    NORM("norm4", "x2", LAYER, d, R("p.eps")),
        ATTENTION("a", zoo_complete(z), "norm4", d, .heads = N("p.heads")), ADD("x3", "x2", "a");
    NORM("norm5", "x3", LAYER, d, R("p.eps")), FEED_FORWARD("f", "norm5", "", RELU),
        ADD("y", "x3", "f");
}

/* Q5 | Differentiable search | y = sum over ops of softmax(a)_o op_o(x): identity, feed-forward,
 * attention, light convolution | O(n^2 d) | Zhao et al. 2021 */
ENTRY(darts_mix)
{
    SCALE("op0", "x", 1), FEED_FORWARD("op1", "x", "", RELU);
    ATTENTION("op2", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"));
    PARAMETER("w", COUNT("w.w"), COLS("w.w")), light(z, "op3", "x", "w", -COLS("w.w") / 2);
    PARAMETER("a", 1, 4), OP("shares", softmax_rows, "a", 0);
    mixture(z, "y", "shares", 0, "op", 4);
}

/* R4 | GPT-3's order | h1 = x + attention over j <= i, h2 = h1 + attention over i - w <= j <= i, y
 * = h2 + attention over j <= i | O(n^2 d) | Brown et al. 2020 */
ENTRY(dense_and_banded)
{
    const int64_t d = COLS("x");
    const int dense = zoo_causal(z), banded = zoo_window(z, N("p.w"), 1, GNN_ON);
    ATTENTION("1", dense, "x", d, .heads = N("p.heads"), .residual = GNN_ON);
    ATTENTION("2", banded, "1", d, .heads = N("p.heads"), .residual = GNN_ON);
    ATTENTION("3", dense, "2", d, .heads = N("p.heads"), .residual = GNN_ON);
}

/* S5 | ViViT, factorised | h = x + attention over the pixels of a frame, y = h + attention over the
 * frames of a pixel | O(n (pixels + frames) d) | Arnab et al. 2021 */
ENTRY(axial_sum_3d)
{
    const int64_t d = COLS("x"), frames = N("p.frames"), pixels = N("p.pixels"), n = frames * pixels;
    int64_t *lengths = zoo_room(z, frames);
    for (int64_t f = 0; f < frames; f++)
        lengths[f] = pixels;
    const int space = zoo_complete_of(z, frames, lengths);
    ck_ok(gnn_graph_window(&z->graphs[z->n_graphs++], 1, &n, frames, pixels, GNN_OFF));
    ATTENTION("1", space, "x", d, .heads = N("p.heads"), .residual = GNN_ON);
    ATTENTION("2", space + 1, "1", d, .heads = N("p.heads"), .residual = GNN_ON);
}

/* D16 | Axial Transformer | y = attention over the receiver's row + attention over its column | O(n
 * (rows + columns) d) | Ho et al. 2019 */
ENTRY(axial_attention)
{
    const int64_t d = COLS("x"), rows = N("p.rows"), columns = N("p.columns"), n = rows * columns;
    int64_t *lengths = zoo_room(z, rows);
    for (int64_t r = 0; r < rows; r++)
        lengths[r] = columns;
    ck_ok(gnn_graph_window(&z->graphs[z->n_graphs++], 1, &n, rows, columns, GNN_OFF));
    zoo_complete_of(z, rows, lengths);
    for (int k = 0; k < 2; k++) {
        const char *name = NAMED("axial_attentions.%d.fn", k);
        LAYER(name, k, "x", .in = d, .heads = N("p.heads"), .aggregator = &gnn_aggregator_attention,
              .update = &gnn_update_linear);
        TURN(NAMED("%s.query.weight", name), NAMED("%s.to_q.weight", name)),
            TURN(NAMED("%s.key.weight", name), NAMED("%s.to_kv.weight", name));
        BIND(NAMED("%s.value.weight", name), NAMED("%s.to_kv.weight", name), .layout = TURNED,
             .base = d * d);
        TURN(NAMED("%s.out.weight", name), NAMED("%s.to_out.weight", name)),
            SET(NAMED("%s.out.bias", name), NAMED("%s.to_out.bias", name));
    }
    ADD("y", "axial_attentions.0.fn", "axial_attentions.1.fn");
}

FAMILY(N, AT(light_conv), AT(light_conv_causal), AT(dynamic_conv), AT(dynamic_conv_causal),
       AT(lite_transformer), AT(conv_seq2seq), AT(convnext_block), AT(group_linear_shuffle),
       AT(transparent_attention), AT(macaron), AT(sandwich_order), AT(evolved_encoder_cell),
       AT(darts_mix), AT(dense_and_banded), AT(axial_sum_3d), AT(axial_attention))
