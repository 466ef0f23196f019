/* Depth and time inside a model: loops over rounds, and along sequences. */
#include "zoo.h"

#include <math.h>

/* O1 | Universal Transformer | h <- h + code[i] + code[t], h <- h + attention(LN(h)), h <- h +
 * ffn(LN(h)), t = 1 .. steps: norms before, as the authors' code; the paper has them after |
 * O(steps n^2 d) | Dehghani et al. 2019 */
ENTRY(universal_transformer)
{
    const int64_t n = COUNT("x"), d = COLS("x"), steps = N("p.steps"), *place = zoo_positions(z);
    const int slot = zoo_complete(z), rounds = zoo_complete_of(z, 1, &steps);
    gnn_real_t *places = zoo_constant(z, "places", n, d), *codes = zoo_constant(z, "codes", steps, d);
    for (int64_t i = 0; i < n * d; i++)
        places[i] = REAL(zoo_element(z, "r.code", place[i / d] * d + i % d));
    for (int64_t i = 0; i < steps * d; i++)
        codes[i] = REAL(zoo_element(z, "r.code", d + i));
    SCALE("h0", "x", 1), ADD("h place", "h0", "places"), AT_ROUND("code", rounds, "codes");
    ADD("in", "h place", "code");
    STEP(LAYER, "h", .graph = slot, .inputs = {"in"},
         .layer = GNN_TRANSFORMER(.in = d, .heads = N("p.heads"), .feed_forward = COUNT("w.W1"),
                                  .norm_position = GNN_NORM_BEFORE, .norm_eps = REAL(R("p.eps")),
                                  .bias_project = GNN_OFF, .bias_out = GNN_OFF));
    REPEAT("y", slot, steps, LAST, "h", "h0", "h");
}

/* O2 | adaptive computation time | h_t = h_t-1 + f(h_t-1), p_t = sigmoid(w h_t + b); a row halts
 * once the sum of p exceeds 1 - eps, and is left out of f from then on; y = sum of p_t h_t, the
 * rest of 1 for the last | O(running d^2), running the rows that run, summed over the steps |
 * Graves 2016 */
ENTRY(adaptive_computation_time)
{
    const int64_t n = COUNT("x"), d = COLS("x"), hidden = COUNT("w.W1"), most = N("p.longest");
    const int rounds = zoo_complete_of(z, 1, &most);
    gnn_real_t *times = zoo_constant(z, "times", most, 1), *goes = zoo_constant(z, "goes", most, 1);
    for (int64_t t = 0; t < most; t++)
        times[t] = (gnn_real_t)(t + 1), goes[t] = t + 1 < most;
    zoo_filled(z, "one", n, 1, 1), zoo_filled(z, "zero", n, 1, 0), zoo_filled(z, "none", n, d, 0);
    SCALE("h0", "x", 1), SCALE("y0", "none", 1), CONCAT("state0", "one", "one", "zero");
    COLUMNS("left0", "state0", 0, 1), COLUMNS("on", "state0", 1, 1),
        COLUMNS("spent0", "state0", 2, 1);
    AT_ROUND("t", rounds, "times"), AT_ROUND("may go", rounds, "goes"),
        SUBTRACT("running", "on", "one");
    zoo_some_rows(z, "in", "h0", "running", "W1", "b1", hidden, d), ACTIVATION("relu", "in", RELU);
    zoo_some_rows(z, "out", "relu", "running", "W2", "b2", d, hidden), ADD("h", "h0", "out");
    AFFINE("w", "h", d, 1), ACTIVATION("p", "w", SIGMOID), SUBTRACT("after", "left0", "p");
    STEP(OP, "sure", .op = &gnn_op_between, .inputs = {"after"}, .options = {R("p.eps"), 1e9});
    MULTIPLY("go", "sure", "may go"), SUBTRACT("more", "p", "left0"), MULTIPLY("some", "more", "go");
    ADD("part", "left0", "some"), MULTIPLY("weight", "part", "on"), MULTIPLY("term", "h", "weight");
    ADD("y1", "y0", "term"), MULTIPLY("on1", "on", "go");
    MULTIPLY("used", "p", "on"), SUBTRACT("left1", "left0", "used"), SUBTRACT("halts", "one", "go");
    MULTIPLY("once", "halts", "on"), ADD("cost", "left0", "t"), MULTIPLY("spends", "once", "cost");
    ADD("spent1", "spent0", "spends"), CONCAT("state", "left1", "on1", "spent1"),
        CONCAT("result", "y1", "state");
    REPEAT("all", rounds, most, LAST, "result", "h0", "h", "y0", "y1", "state0", "state");
    COLUMNS("spent", "all", d + 2, 1), HOP("ponder", zoo_whole(z, n), "spent", 1, mean);
    zoo_also(z, "ponder", "ponder"), COLUMNS("y of all", "all", 0, d);
    MULTIPLY("y", "y of all", "one");
    SET("w.weight", "w"), SET("w.bias", "b");
    zoo_unchecked(z, "b", "a sum that cancels: 2.2e-4 in float32");
}

/* ---- along sequences ---- */

/* A GRU cell on one row per segment: x W + b and h U + c. */
static void gru_cell(zoo_t *z, const char *name, const char *x, const char *h, int64_t segments)
{
    const int64_t in = COLS("w.weight_ih"), d = COLS("w.weight_hh");
    int64_t *ones = zoo_room(z, segments);
    for (int64_t s = 0; s < segments; s++)
        ones[s] = 1;
    AFFINE("gates", x, in, 3 * d), PARAMETER("U", d, 3 * d), PARAMETER("c", 1, 3 * d);
    STEP(OP, name, .op = &gnn_op_gru_sweep, .graph = zoo_complete_of(z, segments, ones),
         .inputs = {"gates", "U", "c", h});
    TURN("gates.weight", "weight_ih"), TURN("U.rows", "weight_hh");
    SET("gates.bias", "bias_ih"), SET("c.rows", "bias_hh");
}

/* B6 | Bahdanau, decoder | s_i = GRU([y_i-1, z_i], s_i-1), z_i the memory by softmax of v . tanh(W
 * s_i-1 + U h_j) | O(n m d) | Bahdanau et al. 2015 */
ENTRY(bahdanau_decoder)
{
    const int64_t d = COUNT("w.Ws"), hidden = COUNT("w.W"), wide = COLS("mem");
    int64_t count, *lengths = zoo_segments(z, &count), *one = zoo_room(z, count);
    for (int64_t s = 0; s < count; s++)
        one[s] = 1;
    const int text = zoo_complete_of(z, count, lengths),
              read = zoo_bipartite(z, count, one, zoo_segments_mem(z));
    HOP("mean", read, "mem", wide, mean), LINEAR("Ws", "mean", wide, d), ACTIVATION("s0", "Ws", TANH);
    AFFINE("U mem", "mem", wide, hidden), AT_ROUND("word", text, "x"), LINEAR("W", "s0", d, hidden);
    ATTEND("z", read, "W", "U mem", "mem", wide, .d_k = hidden, .d_v = wide,
           .score = &gnn_score_additive_tanh);
    CONCAT("in", "word", "z"), gru_cell(z, "s", "in", "s0", count);
    REPEAT("y", text, 0, ALL, "s", "s0", "s");
    TURN("U mem.weight", "U"), SET("U mem.bias", "b"), BIND("z.attention.vector", "v", .base = 0);
}

/* B11 | Neural Turing machine | w = softmax(beta cos(k, M_i)); w <- g w + (1 - g) w_before; w <-
 * sum over o = -1 .. 1 of shift_o w_(i - o); w <- w^gamma / sum; r = w M, M <- M (1 - w e') + w a';
 * gamma = 1 + softplus, beta = softplus, g, e = sigmoid, shift = softmax of W x; w_before is first
 * (1, 0, ...) | O(n rows width + n d width) | Graves et al. 2014 */
ENTRY(ntm_memory)
{
    const int64_t d = COLS("x"), rows = N("p.rows"), width = N("p.width");
    int64_t count, *lengths = zoo_segments(z, &count), *one = zoo_room(z, count),
                   *each = zoo_room(z, count);
    gnn_real_t *first = zoo_constant(z, "first", count, rows);
    for (int64_t s = 0; s < count; s++)
        one[s] = 1, each[s] = rows, first[s * rows] = 1;
    const int text = zoo_complete_of(z, count, lengths), read = zoo_bipartite(z, count, one, each),
              write = zoo_bipartite(z, count, each, one);
    EACH("M", read, rows, width), SCALE("w0", "first", 1), AT_ROUND("word", text, "x");
    LINEAR("k", "word", d, width), LINEAR("beta", "word", d, 1), LINEAR("g", "word", d, 1),
        LINEAR("s", "word", d, 3), LINEAR("gamma", "word", d, 1), LINEAR("e", "word", d, width),
        LINEAR("a", "word", d, width);
    NORM("k1", "k", L2, width, 1e-12), ACTIVATION("strength", "beta", SOFTPLUS),
        MULTIPLY("query", "k1", "strength"), NORM("M1", "M", L2, width, 1e-12);
    STEP(OP, "scores", .op = &gnn_op_segment_matmul, .graph = read, .inputs = {"query", "M1"},
         .options = {1, 2});
    OP("wc", softmax_rows, "scores", 1), ACTIVATION("g1", "g", SIGMOID),
        SUBTRACT("new", "wc", "w0"), MULTIPLY("some new", "new", "g1"), ADD("wg", "w0", "some new");
    OP("shifts", softmax_rows, "s", 1);
    for (int o = -1; o <= 1; o++) {
        for (int64_t i = 0; i < rows; i++)
            COLUMNS(NAMED("from%d %d", o, (int)i), "wg", (i - o + rows) % rows, 1);
        zoo_concat(z, NAMED("moved%d", o), NAMED("from%d ", o), rows);
        COLUMNS(NAMED("shift%d", o), "shifts", o + 1, 1);
        MULTIPLY(NAMED("term%d", o + 1), NAMED("moved%d", o), NAMED("shift%d", o));
    }
    zoo_sum(z, "shifted", "term", 3), OP("logs", log, "shifted", 0), zoo_filled(z, "one", 1, 1, 1);
    ACTIVATION("gamma0", "gamma", SOFTPLUS), ADD("gamma1", "gamma0", "one"),
        MULTIPLY("sharp", "logs", "gamma1"), OP("w1", softmax_rows, "sharp", 1);
    STEP(OP, "r", .op = &gnn_op_segment_matmul, .graph = read, .inputs = {"w1", "M"},
         .options = {1, 0});
    ACTIVATION("e1", "e", SIGMOID);
    STEP(OP, "we", .op = &gnn_op_segment_matmul, .graph = write, .inputs = {"w1", "e1"},
         .options = {1, 1});
    STEP(OP, "wa", .op = &gnn_op_segment_matmul, .graph = write, .inputs = {"w1", "a"},
         .options = {1, 1});
    MULTIPLY("erased", "M", "we"), SUBTRACT("kept", "M", "erased"), ADD("M2", "kept", "wa");
    REPEAT("y", text, 0, ALL, "r", "M", "M2", "w0", "w1");
}

/* Ids of the rows that row p of a segment reads: the memories before it, then its own key, which
 * follows all memories. */
static void earlier_rows(zoo_t *z)
{
    int64_t count, row = 0, *lengths = zoo_segments(z, &count), longest = zoo_longest(z),
                   n = COUNT("x");
    gnn_real_t *ids = zoo_constant(z, "ids", n, longest), *own = zoo_constant(z, "own + 1", n, 1);
    for (int64_t s = 0; s < count; s++)
        for (int64_t p = 0, first = row; p < lengths[s]; p++, row++) {
            own[row] = (gnn_real_t)(row + 1);
            for (int64_t j = 0; j < longest; j++)
                ids[row * longest + j] = (gnn_real_t)(j < p ? first + j : j == p ? n + s : -1);
        }
}

/* Attention of a layer to the memories and to its own input, then its feed-forward block. */
static void feedback_layer(zoo_t *z, const char *name, const char *x, int l)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    const char *own = NAMED("norm_a%d", l), *norm = NAMED("norm_f%d", l);
    NORM(own, x, LAYER, d, R("p.eps")), LINEAR(NAMED("q%d", l), own, d, d);
    for (int value = 0; value < 2; value++) {
        const char *which = value ? "v" : "k", *of = l > 1 ? NAMED("%s%d", which, l) : which;
        STEP(LINEAR, of, .inputs = {own}, .in = d, .out = d, .bias = GNN_OFF,
             .share = l > 1 ? which : NULL);
        STACK(NAMED("%ss%d", which, l), value ? "V0" : "K0", of);
    }
    STEP(OP, NAMED("products%d", l), .op = &gnn_op_score_rows,
         .inputs = {NAMED("q%d", l), NAMED("ks%d", l), "earlier"}, .options = {(double)heads});
    SCALE(NAMED("scores%d", l), NAMED("products%d", l), 1 / sqrt((double)(d / heads)));
    OP(NAMED("weights%d", l), softmax_rows, NAMED("scores%d", l), (double)heads);
    STEP(OP, NAMED("read%d", l), .op = &gnn_op_weigh_rows,
         .inputs = {NAMED("weights%d", l), NAMED("vs%d", l), "earlier"}, .options = {(double)heads});
    LINEAR(NAMED("o%d", l), NAMED("read%d", l), d, d), ADD(NAMED("mid%d", l), x, NAMED("o%d", l));
    NORM(norm, NAMED("mid%d", l), LAYER, d, R("p.eps"));
    FEED_FORWARD(NAMED("ffn%d", l), norm, NAMED("%d", l), RELU);
    ADD(name, NAMED("mid%d", l), NAMED("ffn%d", l));
}

/* N5 | Feedback Transformer | every layer of row t reads the memories of the rows before it, m_t =
 * sum over layers of softmax(s)_l x_t^l; keys and values of memories by one projection | O(n^2 d) |
 * Fan et al. 2021 */
ENTRY(feedback_transformer)
{
    const int64_t n = COUNT("x"), d = COLS("x");
    const int text = zoo_complete(z);
    earlier_rows(z), zoo_filled(z, "none", n, d, 0), zoo_filled(z, "one", 1, 1, 1);
    SCALE("K0", "none", 1), SCALE("V0", "none", 1);
    AT_ROUND("x0", text, "x"), AT_ROUND("earlier", text, "ids"), AT_ROUND("at + 1", text, "own + 1");
    SUBTRACT("at", "at + 1", "one"), PARAMETER("s", 1, 3), OP("shares", softmax_rows, "s", 1);
    feedback_layer(z, "x1", "x0", 1), feedback_layer(z, "x2", "x1", 2);
    for (int l = 0; l < 3; l++) {
        COLUMNS(NAMED("share%d", l), "shares", l, 1);
        MULTIPLY(NAMED("m%d", l), NAMED("x%d", l), NAMED("share%d", l));
    }
    zoo_sum(z, "m", "m", 3);
    STEP(LINEAR, "km", .inputs = {"m"}, .in = d, .out = d, .bias = GNN_OFF, .share = "k");
    STEP(LINEAR, "vm", .inputs = {"m"}, .in = d, .out = d, .bias = GNN_OFF, .share = "v");
    OP2("K written", scatter_rows, "km", "at", "none"), ADD("K1", "K0", "K written");
    OP2("V written", scatter_rows, "vm", "at", "none"), ADD("V1", "V0", "V written");
    REPEAT("y", text, 0, ALL, "x2", "K0", "K1", "V0", "V1");
}

/* B21 | Glimpses | g = tanh(Wx (the rows around l) + Wl l), h = GRU(g, h), l = Wo h + noise; rows
 * are chosen by the value l, without a gradient | O(glimpses d^2 + glimpses n) | Mnih et al.
 * 2014 */
ENTRY(glimpses)
{
    enum { AROUND = 8 }; /* places -AROUND n .. (AROUND + 1) n, which wrap */
    const int64_t n = COUNT("x"), d = COLS("x"), rounds = N("p.glimpses"), one = 1,
                  places = (2 * AROUND + 1) * n, state = COLS("w.weight_hh");
    gnn_real_t *place = zoo_constant(z, "places", places, 2),
               *rows = zoo_constant(z, "rows", places, 3);
    for (int64_t j = 0; j < places; j++) {
        const int64_t at = j - AROUND * n;
        place[2 * j] = REAL(at), place[2 * j + 1] = REAL(at * at);
        for (int64_t o = 0; o < 3; o++)
            rows[3 * j + o] = REAL((j + n + o - 1) % n);
    }
    gnn_real_t *noise = zoo_constant(z, "noise", rounds, 1);
    for (int64_t r = 0; r < rounds; r++)
        noise[r] = REAL(zoo_element(z, "r.noise", r));
    const int times = zoo_complete_of(z, 1, &rounds), near = zoo_bipartite(z, 1, &one, &places);
    zoo_filled(z, "l", 1, 1, 0), zoo_filled(z, "h", 1, state, 0), zoo_filled(z, "-1", 1, 1, -1);
    SCALE("l0", "l", 1), SCALE("h0", "h", 1), SCALE("2 l", "l0", 2), CONCAT("query", "2 l", "-1");
    STEP(OP, "centre", .op = &gnn_op_choose_senders, .graph = near, .inputs = {"query", "places"});
    OP2("around", gather_rows, "rows", "centre"), OP2("crop", gather_rows, "x", "around");
    LINEAR("Wx", "crop", 3 * d, COUNT("w.Wx")), LINEAR("Wl", "l0", 1, COUNT("w.Wx"));
    ADD("sum", "Wx", "Wl"), ACTIVATION("g", "sum", TANH), gru_cell(z, "h1", "g", "h0", 1);
    LINEAR("Wo", "h1", state, 1), AT_ROUND("moves", times, "noise"), ADD("l1", "Wo", "moves");
    REPEAT("y", times, 0, ALL, "h1", "l0", "l1", "h0", "h1");
}

FAMILY(O, AT(universal_transformer), AT(adaptive_computation_time), AT(bahdanau_decoder),
       AT(ntm_memory), AT(feedback_transformer), AT(glimpses))
