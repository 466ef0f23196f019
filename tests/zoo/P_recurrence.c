/* Adaptive depth, recurrence over segments, hierarchy. */
#include "zoo.h"

#include <math.h>

/* A pre-norm layer whose parameters are those of `owner` (NULL: its own). */
static void pre_norm(zoo_t *z, const char *name, int slot, const char *x, const char *owner,
                     int64_t heads, const char *hidden)
{
    STEP(LAYER, name, .graph = slot, .inputs = {x}, .share = owner,
         .layer =
             GNN_TRANSFORMER(.in = COLS(zoo_has(z, "mem") && strcmp(x, "patches") == 0 ? "mem" : "x"),
                             .heads = heads, .feed_forward = COUNT(hidden),
                             .norm_position = GNN_NORM_BEFORE, .norm_eps = REAL(R("p.eps")),
                             .bias_project = GNN_OFF, .bias_out = GNN_OFF));
}

/* Logits of the mean row after each of the layers, concatenated. */
static void exits(zoo_t *z)
{
    const int64_t d = COLS("x"), classes = COUNT("w.1.C");
    const int slot = zoo_complete(z), pool = zoo_pool(z, 1);
    for (int l = 1; l <= 4; l++) {
        pre_norm(z, NAMED("%d", l), slot, l > 1 ? NAMED("%d", l - 1) : "x", NULL, N("p.heads"),
                 "w.1.W1");
        HOP(NAMED("mean%d", l), pool, NAMED("%d", l), d, mean),
            AFFINE(NAMED("%d.C", l), NAMED("mean%d", l), d, classes);
        SET(NAMED("%d.C.bias", l), NAMED("%d.c", l));
    }
    CONCAT("y", "1.C", "2.C", "3.C", "4.C");
}

/* O4 | DeeBERT | y_l = W_l h_l after every layer l, by gnn_staged_value; a sentence leaves where
 * the entropy is low enough | O(n^2 d) for each layer that is run | Xin et al. 2020 */
ENTRY(exit_entropy)
{
    exits(z);
}

/* O5 | PABEE | y_l = W_l h_l after every layer l, by gnn_staged_value; a sentence leaves where the
 * answer has stayed the same | O(n^2 d) for each layer that is run | Zhou et al. 2020 */
ENTRY(exit_patience)
{
    exits(z);
}

/* O7 | Voting exit | y_l = W_l h_l after every layer l, by gnn_staged_value; a sentence leaves
 * where the layers agree | O(n^2 d) for each layer that is run | Sun et al. 2021 */
ENTRY(exit_voting)
{
    exits(z);
}

/* A pre-norm layer for the rows that `on` has 1 for; the others keep their state, and are read. */
static void some_rows_layer(zoo_t *z, const char *name, const char *x, const char *on,
                            const char *running)
{
    const int64_t d = COLS("x"), hidden = COUNT(NAMED("w.%s.W1", name)), heads = N("p.heads");
    const char *norm = NAMED("%s.norm_a", name), *after = NAMED("%s.norm_f", name),
               *mid = NAMED("%s.mid", name), *ids = NAMED("%s.ids", name);
    MULTIPLY(NAMED("%s.on", ids), "rows + 1", on), SUBTRACT(ids, NAMED("%s.on", ids), "ones");
    NORM(norm, x, LAYER, d, R("p.eps")), LINEAR(NAMED("%s.k", name), norm, d, d),
        LINEAR(NAMED("%s.v", name), norm, d, d);
    zoo_some_rows(z, NAMED("%s.query", name), norm, running, NAMED("%s.q", name), NULL, d, d);
    STEP(OP, NAMED("%s.products", name), .op = &gnn_op_score_rows, .options = {(double)heads},
         .inputs = {NAMED("%s.query", name), NAMED("%s.k", name), ids});
    SCALE(NAMED("%s.scores", name), NAMED("%s.products", name), 1 / sqrt((double)(d / heads)));
    OP(NAMED("%s.w", name), softmax_rows, NAMED("%s.scores", name), (double)heads);
    STEP(OP, NAMED("%s.heads", name), .op = &gnn_op_weigh_rows, .options = {(double)heads},
         .inputs = {NAMED("%s.w", name), NAMED("%s.v", name), ids});
    zoo_some_rows(z, NAMED("%s.read", name), NAMED("%s.heads", name), running, NAMED("%s.o", name),
                  NULL, d, d);
    ADD(mid, x, NAMED("%s.read", name)), NORM(after, mid, LAYER, d, R("p.eps"));
    zoo_some_rows(z, NAMED("%s.in", name), after, running, NAMED("%s.W1", name),
                  NAMED("%s.b1", name), hidden, d);
    ACTIVATION(NAMED("%s.relu", name), NAMED("%s.in", name), RELU);
    zoo_some_rows(z, NAMED("%s.f", name), NAMED("%s.relu", name), running, NAMED("%s.W2", name),
                  NAMED("%s.b2", name), d, hidden);
    ADD(name, mid, NAMED("%s.f", name));
}

/* O6 | Token-level exit | h_l = layer(h_(l-1)) for rows whose neighbourhood is not certain; rows
 * that are keep their state, which later layers read as keys and values | O(running n d), running
 * the rows that run, in each layer | Li et al. 2021 */
ENTRY(exit_tokens)
{
    const int64_t n = COUNT("x"), d = COLS("x"), classes = COUNT("w.C"), most = zoo_longest(z);
    const int near = zoo_window(z, N("p.window"), 1, GNN_OFF);
    gnn_real_t *rows = zoo_rows_of_segment(z, "rows + 1");
    for (int64_t e = 0; e < n * most; e++)
        rows[e] += 1;
    zoo_filled(z, "one", n, 1, 1), zoo_filled(z, "ones", 1, most, 1), SCALE("on1", "one", 1);
    for (int l = 1; l <= 4; l++) {
        const char *x = l > 1 ? NAMED("%d", l - 1) : "x", *on = NAMED("on%d", l),
                   *layer = NAMED("%d", l);
        const char *running = NAMED("running%d", l);
        SUBTRACT(running, on, "one"), some_rows_layer(z, layer, x, on, running);
        if (l == 4)
            break;
        STEP(LINEAR, l > 1 ? NAMED("C%d", l) : "C", .inputs = {layer}, .in = d, .out = classes,
             .bias = GNN_OFF, .share = l > 1 ? "C" : NULL);
        DETACH(NAMED("logits%d", l), l > 1 ? NAMED("C%d", l) : "C"),
            OP(NAMED("p%d", l), softmax_rows, NAMED("logits%d", l), 0);
        OP(NAMED("log%d", l), log, NAMED("p%d", l), 0),
            MULTIPLY(NAMED("pl%d", l), NAMED("p%d", l), NAMED("log%d", l));
        OP(NAMED("sum%d", l), head_sum, NAMED("pl%d", l), 1),
            SCALE(NAMED("u%d", l), NAMED("sum%d", l), -1 / log((double)classes));
        HOP(NAMED("most%d", l), near, NAMED("u%d", l), 1, max);
        STEP(OP, NAMED("stay%d", l), .op = &gnn_op_between, .inputs = {NAMED("most%d", l)},
             .options = {R("p.threshold"), 1e9});
        MULTIPLY(NAMED("on%d", l + 1), on, NAMED("stay%d", l));
    }
}

/* E4 | Reversible layers (Reformer) | y1 = x1 + attention(LN x2), y2 = x2 + feed-forward(LN y1)
 * | O(n^2 d) | Kitaev et al. 2020 */
ENTRY(reversible)
{
    const int64_t d = COLS("x") / 2;
    const int slot = zoo_complete(z);
    COLUMNS("a0", "x", 0, d), COLUMNS("b0", "x", d, d);
    for (int k = 1; k <= 2; k++) {
        const char *a = NAMED("a%d", k), *b = NAMED("b%d", k), *last = NAMED("b%d", k - 1),
                   *layer = NAMED("%d", k);
        NORM(NAMED("%d.norm_a", k), last, LAYER, d, R("p.eps")),
            ATTENTION(layer, slot, NAMED("%d.norm_a", k), d, .heads = N("p.heads"));
        ADD(a, NAMED("a%d", k - 1), layer), NORM(NAMED("%d.norm_f", k), a, LAYER, d, R("p.eps"));
        FEED_FORWARD(NAMED("f%d", k), NAMED("%d.norm_f", k), NAMED("%d.", k), RELU),
            ADD(b, last, NAMED("f%d", k));
    }
    CONCAT("y", "a2", "b2");
}

/* ---- segments of one text, one after another: a round of a loop each ---- */

/* The rows of a segment, "chunk", and the loop's graph. A program whose text comes in parts runs
 * one round at a time: it gives the memory as an input, and reads the next one by
 * gnn_staged_value. */
static int chunks(zoo_t *z)
{
    const int64_t all = COUNT("x");
    zoo_divides(z, "p.segment", all);
    const int text = zoo_complete_of(z, 1, &all);
    STEP(AT, "chunk", .graph = text, .inputs = {"x"}, .rows = N("p.segment"));
    return text;
}

/* A prior per sender that hides the first hidden[t] of `memory` rows in segment t; then come the
 * segment's rows. */
static void hide_rows(zoo_t *z, int64_t memory, const int64_t *hidden)
{
    const int64_t n = N("p.segment"), rounds = COUNT("x") / n, each = memory + n,
                  all = rounds * each, heads = N("p.heads");
    gnn_real_t *hides = zoo_constant(z, "hides", all, heads);
    for (int64_t t = 0; t < rounds; t++)
        for (int64_t e = 0; e < hidden[t] * heads; e++)
            hides[t * each * heads + e] = REAL(-1e9);
    STEP(AT, "hide", .graph = zoo_complete_of(z, 1, &all), .inputs = {"hides"}, .rows = each);
}

/* The first segment has no memory. */
static void hidden_memory(zoo_t *z, int64_t memory)
{
    int64_t *hidden = zoo_room(z, COUNT("x") / N("p.segment"));
    hidden[0] = memory;
    hide_rows(z, memory, hidden);
}

/* A pre-norm layer over a segment: causal, after `rows` memory rows that all of them read. The
 * names of its arrays begin with `layer`. */
static void segment_layer(zoo_t *z, const char *name, const char *layer, const char *x,
                          const char *memory, int64_t rows)
{
    const int64_t d = COLS("x"), n = N("p.segment"), hidden = COUNT(NAMED("w.%sW1", layer));
    const double eps = R("p.eps");
    const char *own = NAMED("%snorm_a", layer), *of_memory = NAMED("%s.norm m", name),
               *keys = NAMED("%s.keys", name), *mid = NAMED("%s.mid", name),
               *norm = NAMED("%snorm_f", layer), *relu = NAMED("%s.relu", name);
    int32_t *low = zoo_room32(z, n), *high = zoo_room32(z, n);
    for (int64_t i = 0; i < n; i++)
        high[i] = (int32_t)(rows + i + 1);
    NORM(own, x, LAYER, d, eps);
    STEP(NORM, of_memory, .inputs = {memory}, .norm = GNN_NORM_LAYER, .in = d, .eps = REAL(eps),
         .share = own);
    STACK(keys, of_memory, own), LINEAR(NAMED("%sq", layer), own, d, d),
        LINEAR(NAMED("%sk", layer), keys, d, d), LINEAR(NAMED("%sv", layer), keys, d, d);
    STEP(AGGREGATE, NAMED("%s.a", name), .graph = zoo_spans_of(z, n, rows + n, low, high),
         .query = NAMED("%sq", layer), .key = NAMED("%sk", layer), .inputs = {NAMED("%sv", layer)},
         .priors = {"hide"},
         .layer = {.in = d,
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .priors = {{&gnn_prior_sender, .given = GNN_ON}}});
    LINEAR(NAMED("%so", layer), NAMED("%s.a", name), d, d), ADD(mid, x, NAMED("%so", layer));
    NORM(norm, mid, LAYER, d, eps), AFFINE(NAMED("%sW1", layer), norm, d, hidden);
    ACTIVATION(relu, NAMED("%sW1", layer), RELU);
    AFFINE(NAMED("%sW2", layer), relu, hidden, d), ADD(name, mid, NAMED("%sW2", layer));
}

/* Layer l of a segment reads the stopped states of the segment before: of its input, or of its
 * output. */
static void recurrence(zoo_t *z, bool of_output)
{
    const int64_t n = N("p.segment");
    const int text = chunks(z);
    hidden_memory(z, n), zoo_filled(z, "none", n, COLS("x"), 0);
    SCALE("m1", "none", 1), SCALE("m2", "none", 1);
    segment_layer(z, "x1", "1.", "chunk", "m1", n), segment_layer(z, "x2", "2.", "x1", "m2", n);
    DETACH("next m1", of_output ? "x1" : "chunk"), DETACH("next m2", of_output ? "x2" : "x1");
    REPEAT("y", text, 0, ALL, "x2", "m1", "next m1", "m2", "next m2");
}

/* P1 | Transformer-XL, memory | h_l = layer of [h_(l-1) of the segment before, without gradient;
 * h_(l-1)], two layers with LN before, h_0 = x | O(n^2 d) a segment | Dai et al. 2019 */
ENTRY(xl_recurrence)
{
    recurrence(z, false);
}

/* P5 | ERNIE-Doc | h_l = layer of [h_l of the segment before, without gradient; h_(l-1)], two
 * layers with LN before, h_0 = x | O(n^2 d) a segment | Ding et al. 2021 */
ENTRY(ernie_doc_recurrence)
{
    recurrence(z, true);
}

/* P4 | Recurrence added to GPT-2 | one row from the mean states of all layers of the segment
 * before, read by every layer | O(n^2 d) a segment | Yoshida et al. 2020 */
ENTRY(recurrence_summary)
{
    const int64_t n = N("p.segment"), d = COLS("x"), hidden = COUNT("w.z.W1");
    const int text = chunks(z), whole = zoo_whole(z, n);
    hidden_memory(z, 1), zoo_filled(z, "none", 1, d, 0), SCALE("m", "none", 1);
    segment_layer(z, "x1", "1.", "chunk", "m", 1), segment_layer(z, "x2", "2.", "x1", "m", 1);
    PARAMETER("a", 1, 3), OP("shares", softmax_rows, "a", 0);
    const char *states[] = {"chunk", "x1", "x2"};
    for (int l = 0; l <= 2; l++) {
        HOP(NAMED("mean%d", l), whole, states[l], d, mean),
            COLUMNS(NAMED("share%d", l), "shares", l, 1);
        MULTIPLY(NAMED("part%d", l), NAMED("mean%d", l), NAMED("share%d", l));
    }
    zoo_sum(z, "z", "part", 3), AFFINE("z.W1", "z", d, hidden), ACTIVATION("zr", "z.W1", RELU);
    AFFINE("z.W2", "zr", hidden, d);
    REPEAT("y", text, 0, ALL, "x2", "m", "z.W2");
}

/* Of the rows of all rounds, `before` of memory and n of the segment: the segments', then the last
 * memory. */
static void rows_then_memory(zoo_t *z, const char *result, const char *first, const char *next,
                             int64_t before, int64_t after)
{
    const int64_t n = N("p.segment"), rounds = COUNT("x") / n, each = before + n + after,
                  all = rounds * each, memory = before + after;
    int32_t *ids = zoo_ids(z, "order", rounds * n + memory);
    for (int64_t i = 0; i < rounds * n; i++)
        ids[i] = (int32_t)(i / n * each + before + i % n);
    for (int64_t j = 0; j < memory; j++)
        ids[rounds * n + j] = (int32_t)((rounds - 1) * each + (before ? j : n + j));
    REPEAT("all", zoo_complete_of(z, 1, &all), 0, ALL, result, first, next);
    PICK("y", "all", "order");
}

/* 6.3 | Recurrent memory transformer | [m', h] = layer of [m, x] of a segment, m <- m'; y: h of all
 * segments, then the last m | O(n^2 d) a segment | Bulatov et al. 2022 */
ENTRY(recurrent_memory)
{
    const int64_t memory = COUNT("w.M"), all = N("p.segment") + memory;
    (void)chunks(z);
    PARAMETER("M", memory, COLS("x")), SCALE("m", "M", 1), STACK("in", "m", "chunk");
    pre_norm(z, "layer", zoo_complete_of(z, 1, &all), "in", NULL, N("p.heads"), "w.W1");
    ROWS("next m", "layer", 0, memory);
    rows_then_memory(z, "layer", "m", "next m", memory, 0);
}

/* P3 | Memformer | m = unit(M); for each segment o = x + attention(x) + W_ro softmax(rq(x) rk(m)')
 * rv(m); m_i <- unit(softmax over [m_i, o] of mq(m_i) . mk / (sqrt(d) tau)) mv; y = o of all
 * segments, then m | O(n^2 d) a segment | Wu et al. 2020 */
ENTRY(memformer)
{
    const int64_t n = N("p.segment"), slots = N("p.slots"), d = COLS("x");
    int64_t m = 0, *src = zoo_room(z, slots * (n + 1)), *dst = zoo_room(z, slots * (n + 1));
    for (int64_t i = 0; i < slots; i++)
        for (int64_t j = -1; j < n; j++)
            src[m] = j < 0 ? i : slots + j, dst[m++] = i;
    (void)chunks(z);
    PARAMETER("M", slots, d), STEP(NORM, "m", .inputs = {"M"}, .norm = GNN_NORM_L2, .in = d);
    STEP(LAYER, "own", .graph = zoo_complete_of(z, 1, &n), .inputs = {"chunk"},
         .layer = {.in = d,
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .residual = GNN_ON});
    LINEAR("rq", "chunk", d, d), LINEAR("rk", "m", d, d), LINEAR("rv", "m", d, d);
    ATTEND("read", zoo_bipartite(z, 1, &n, &slots), "rq", "rk", "rv", d, .heads = N("p.heads"));
    LINEAR("ro", "read", d, d), ADD("out", "own", "ro"), STACK("both", "m", "out");
    LINEAR("mq", "m", d, d), LINEAR("mk", "both", d, d), LINEAR("mv", "both", d, d);
    ATTEND("written", zoo_edges_of(z, slots, slots + n, m, src, dst), "mq", "mk", "mv", d,
           .scale = REAL(1 / (sqrt((double)d) * R("p.tau"))));
    STEP(NORM, "next m", .inputs = {"written"}, .norm = GNN_NORM_L2, .in = d);
    STACK("rows", "out", "next m"), rows_then_memory(z, "rows", "m", "next m", 0, slots);
}

/* The two halves of a memory, row by row, as one: their mean, maximum, or a convolution. */
typedef enum { MEAN, LARGEST, CONVOLUTION } squeeze_t;

static void squeeze(zoo_t *z, squeeze_t how)
{
    const int64_t d = COLS("x");
    OP("pairs", fold_rows, "mem", 2), COLUMNS("even", "pairs", 0, d), COLUMNS("odd", "pairs", d, d);
    if (how == MEAN)
        ADD("both", "even", "odd"), SCALE("new", "both", 0.5);
    else if (how == LARGEST)
        STEP(MAXIMUM, "new", .inputs = {"even", "odd"});
    else
        AFFINE("conv", "pairs", 2 * d, d), SCALE("new", "conv", 1), SET("conv.bias", "cb");
}

/* A parameter of the layer as a value, without its gradient. */
static void stopped(zoo_t *z, const char *name, const char *field, int64_t rows)
{
    STEP(PARAMETER, NAMED("%s.own", name), .rows = rows, .out = COLS("x"), .share = field);
    DETACH(name, NAMED("%s.own", name));
}

/* LN x with the stopped gains of the layer. */
static void stopped_norm(zoo_t *z, const char *name, const char *x)
{
    NORM(NAMED("%s.plain", name), x, LAYER, COLS("x"), R("p.eps"));
    zoo_fixed(z, NAMED("%s.plain", name));
    MULTIPLY(NAMED("%s.scaled", name), NAMED("%s.plain", name), "gain");
    ADD(name, NAMED("%s.scaled", name), "shift");
}

/* Attention of the segment's rows to `rows` rows x, with the stopped parameters. */
static void stopped_attention(zoo_t *z, const char *name, const char *x, int64_t rows)
{
    const int64_t n = N("p.segment");
    const int slot = zoo_complete_of(z, 1, &rows);
    stopped_norm(z, NAMED("%s.norm", name), x);
    for (const char *c = "kv"; *c; c++)
        STEP(OP, NAMED("%s.%c", name, *c), .op = &gnn_op_segment_matmul, .graph = slot,
             .inputs = {NAMED("%s.norm", name), NAMED("W%c", *c)});
    ATTEND(name, zoo_bipartite(z, 1, &n, &rows), "query", NAMED("%s.k", name), NAMED("%s.v", name),
           COLS("x"), .heads = N("p.heads"));
}

/* The mean squared difference of attention to the memory and to its compression, "aux row". */
static void compression_loss(zoo_t *z)
{
    const int64_t n = N("p.segment"), d = COLS("x"), rounds = COUNT("x") / n;
    gnn_real_t *has = zoo_constant(z, "has memory", rounds, 1);
    for (int64_t t = 1; t < rounds; t++)
        has[t] = 1;
    stopped(z, "gain", "norm_a.gain", 1), stopped(z, "shift", "norm_a.shift", 1);
    stopped(z, "Wq", "q", d), stopped(z, "Wk", "k", d), stopped(z, "Wv", "v", d);
    DETACH("fixed", "chunk"), stopped_norm(z, "fixed norm", "fixed");
    STEP(OP, "query", .op = &gnn_op_segment_matmul, .graph = zoo_complete_of(z, 1, &n),
         .inputs = {"fixed norm", "Wq"});
    stopped_attention(z, "of memory", "mem", n), stopped_attention(z, "of new", "new", n / 2);
    SUBTRACT("apart", "of memory", "of new"), MULTIPLY("square", "apart", "apart"),
        OP("of rows", head_sum, "square", 1), HOP("of all", zoo_whole(z, n), "of rows", 1, mean);
    AT_ROUND("counts", zoo_complete_of(z, 1, &rounds), "has memory"),
        MULTIPLY("aux", "of all", "counts"), SCALE("mean square", "aux", 1 / (double)d);
    zoo_filled(z, "ones", 1, d, 1), MULTIPLY("aux row", "ones", "mean square");
}

static void compressive(zoo_t *z, squeeze_t how)
{
    const int64_t n = N("p.segment"), d = COLS("x"), rounds = COUNT("x") / n, each = n + 1,
                  all = rounds * each;
    int64_t *hidden = zoo_room(z, rounds), *src = zoo_room(z, rounds), *dst = zoo_room(z, rounds);
    int32_t *order = zoo_ids(z, "order", rounds * n);
    hidden[0] = 2 * n, hidden[1] = n, hidden[2] = n / 2;
    for (int64_t i = 0; i < rounds * n; i++)
        order[i] = (int32_t)(i / n * each + i % n);
    for (int64_t t = 0; t < rounds; t++)
        src[t] = t * each + n;
    (void)chunks(z);
    hide_rows(z, 2 * n, hidden), zoo_filled(z, "none", n, d, 0);
    SCALE("mem", "none", 1), SCALE("older", "none", 1), STACK("memories", "older", "mem");
    segment_layer(z, "rows", "", "chunk", "memories", 2 * n), squeeze(z, how), compression_loss(z);
    ROWS("kept", "older", n / 2, n / 2), STACK("grown", "kept", "new"),
        DETACH("next older", "grown"), DETACH("next mem", "chunk"),
        STACK("result", "rows", "aux row");
    REPEAT("all", zoo_complete_of(z, 1, &all), 0, ALL, "result", "mem", "next mem", "older",
           "next older");
    PICK("y rows", "all", "order"),
        HOP("loss", zoo_edges_of(z, 1, all, rounds, src, dst), "all", d, sum);
    STACK("y", "y rows", "loss");
}

/* P2 | Compressive Transformer, mean | memory that falls out is kept as means of pairs; the loss of
 * compression, in the last row, compares attention to both, with stopped parameters | O(n^2 d) a
 * segment | Rae et al. 2020 */
ENTRY(compressive_mean)
{
    compressive(z, MEAN);
}

/* P2 | Compressive Transformer, maximum | c <- [c, max of pairs of the rows that fall out of the
 * memory], layers read [c, memory, segment] | O(n^2 d) a segment | Rae et al. 2020 */
ENTRY(compressive_max)
{
    compressive(z, LARGEST);
}

/* P2 | Compressive Transformer, convolution | c <- [c, W [pairs of the rows that fall out of the
 * memory]], layers read [c, memory, segment]; W learns from the loss of compression alone | O(n^2
 * d) a segment | Rae et al. 2020 */
ENTRY(compressive_conv)
{
    compressive(z, CONVOLUTION);
}

/* ---- hierarchy ---- */

/* P6 | HAN, gated context | y = g x + (1 - g) d, d attention to the context, g = sigmoid(W [x,
 * d] + b) | O(n m d) | Miculicich et al. 2018 */
ENTRY(gated_context)
{
    const int64_t d = COLS("x");
    CROSS("d", zoo_across(z), "x", "mem", d, .heads = N("p.heads"));
    CONCAT("both", "x", "d"), AFFINE("W", "both", 2 * d, d), ACTIVATION("g", "W", SIGMOID);
    SUBTRACT("change", "x", "d"), MULTIPLY("gated", "g", "change"), ADD("y", "d", "gated");
}

/* P8 | Paragraph pooling | softmax of x . a_h over the words, value heads summed, linear, LN |
 * O(n d) | Liu and Lapata 2019 */
ENTRY(paragraph_pooling)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    int64_t count;
    zoo_segments(z, &count), zoo_filled(z, "ones", count, heads, 1);
    LINEAR("a", "x", d, heads), LINEAR("v", "x", d, d);
    ATTEND("pooled", zoo_pool(z, 1), "ones", "a", "v", d, .heads = heads, .d_k = 1,
           .d_v = d / heads, .scale = 1);
    LINEAR("o", "pooled", d, d), NORM("norm", "o", LAYER, d, R("p.eps"));
}

/* P9 | Hi-Transformer | h = layer over each sentence, s = layer over the first rows of h, y = layer
 * over [s of the sentence, its h]; y: rows of words | O(n^2 d) a sentence | Wu et al. 2021 */
ENTRY(two_level)
{
    const int64_t n = COUNT("x");
    int64_t count, at = 0, m = 0, *lengths = zoo_segments(z, &count), *longer = zoo_room(z, count);
    int32_t *first = zoo_ids(z, "first", count), *order = zoo_ids(z, "order", n + count),
            *words = zoo_ids(z, "words", n);
    for (int64_t s = 0; s < count; at += lengths[s++]) {
        first[s] = (int32_t)at, longer[s] = lengths[s] + 1, order[m++] = (int32_t)(n + s);
        for (int64_t p = 0; p < lengths[s]; p++)
            words[at + p] = (int32_t)m, order[m++] = (int32_t)(at + p);
    }
    const int sentences = zoo_complete(z), document = zoo_complete_of(z, 1, &count),
              both = zoo_complete_of(z, count, longer);
    pre_norm(z, "1", sentences, "x", NULL, N("p.heads"), "w.1.W1");
    PICK("heads", "1", "first"), pre_norm(z, "2", document, "heads", NULL, N("p.heads"), "w.2.W1");
    STACK("rows", "1", "2"), PICK("in order", "rows", "order"),
        pre_norm(z, "3", both, "in order", NULL, N("p.heads"), "w.3.W1");
    PICK("y", "3", "words");
}

/* P11 | TNT | h = layer over the pixels of each patch, p = mem + W [h of its pixels], y = layer
 * over the patches p; both with LN before | O(patches pixels^2 inner + patches^2 d), inner the
 * columns of x, patches the rows of mem | Han et al. 2021 */
ENTRY(transformer_in_transformer)
{
    const int64_t patches = COUNT("mem"), pixels = N("p.pixels");
    int64_t *lengths = zoo_room(z, patches);
    for (int64_t k = 0; k < patches; k++)
        lengths[k] = pixels;
    pre_norm(z, "in", zoo_complete_of(z, patches, lengths), "x", NULL, N("p.inner_heads"), "w.in.W1");
    OP("joined", fold_rows, "in", (double)pixels),
        LINEAR("fc", "joined", pixels * COLS("x"), COLS("mem")), ADD("patches", "mem", "fc");
    pre_norm(z, "out", zoo_complete_of(z, 1, &patches), "patches", NULL, N("p.heads"), "w.out.W1");
}

FAMILY(P, AT(exit_entropy), AT(exit_patience), AT(exit_voting), AT(exit_tokens), AT(reversible),
       AT(xl_recurrence), AT(ernie_doc_recurrence), AT(recurrence_summary), AT(memformer),
       AT(recurrent_memory), AT(compressive_mean), AT(compressive_max), AT(compressive_conv),
       AT(gated_context), AT(paragraph_pooling), AT(two_level), AT(transformer_in_transformer))
