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

/* Logits of the mean row after each of the layers, side by side. */
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

/* O4 | DeeBERT | logits after every layer by gnn_staged_value; a sentence leaves where the entropy
 * is low enough | O(n^2 d layers run) | Xin et al. 2020 */
ENTRY(exit_entropy)
{
    exits(z);
}

/* O5 | PABEE | logits after every layer by gnn_staged_value; a sentence leaves where the answer has
 * stayed the same | O(n^2 d layers run) | Zhou et al. 2020 */
ENTRY(exit_patience)
{
    exits(z);
}

/* O7 | Voting exit | logits after every layer by gnn_staged_value; a sentence leaves where the
 * layers agree | O(n^2 d layers run) | Sun et al. 2021 */
ENTRY(exit_voting)
{
    exits(z);
}

/* O6 | Token-level exit | rows whose neighbourhood is certain keep their state from then on |
 * O(n^2 d layers) | Li et al. 2021 */
ENTRY(exit_tokens)
{
    const int64_t n = COUNT("x"), d = COLS("x"), classes = COUNT("w.C");
    const int slot = zoo_complete(z), near = zoo_window(z, N("p.window"), 1, GNN_OFF);
    zoo_filled(z, "on0", n, 1, 1), SCALE("x0", "x", 1);
    for (int l = 1; l <= 4; l++) {
        const char *x = NAMED("x%d", l - 1), *on = NAMED("on%d", l - 1);
        pre_norm(z, NAMED("%d", l), slot, x, NULL, N("p.heads"), "w.1.W1");
        SUBTRACT(NAMED("change%d", l), NAMED("%d", l), x),
            MULTIPLY(NAMED("kept%d", l), NAMED("change%d", l), on);
        ADD(NAMED("x%d", l), x, NAMED("kept%d", l));
        if (l == 4)
            break;
        STEP(LINEAR, l > 1 ? NAMED("C%d", l) : "C", .inputs = {NAMED("x%d", l)}, .in = d,
             .out = classes, .bias = GNN_OFF, .share = l > 1 ? "C" : NULL);
        DETACH(NAMED("logits%d", l), l > 1 ? NAMED("C%d", l) : "C"),
            OP(NAMED("p%d", l), softmax_rows, NAMED("logits%d", l), 0);
        OP(NAMED("log%d", l), log, NAMED("p%d", l), 0),
            MULTIPLY(NAMED("pl%d", l), NAMED("p%d", l), NAMED("log%d", l));
        OP(NAMED("sum%d", l), head_sum, NAMED("pl%d", l), 1),
            SCALE(NAMED("u%d", l), NAMED("sum%d", l), -1 / log((double)classes));
        HOP(NAMED("most%d", l), near, NAMED("u%d", l), 1, max);
        STEP(OP, NAMED("stay%d", l), .op = &gnn_op_between, .inputs = {NAMED("most%d", l)},
             .options = {R("p.threshold"), 1e9});
        MULTIPLY(NAMED("on%d", l), on, NAMED("stay%d", l));
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

/* ---- segments of one text, one after another ---- */

/* A step of this kind that owns its parameters the first time, and shares them from then on. */
static const char *again(zoo_t *z, const char *owner, const char *as, gnn_step_t step)
{
    const bool first = !zoo_step_exists(z, owner);
    step.name = first ? owner : as;
    step.share = first ? NULL : owner;
    zoo_add(z, step);
    return first ? owner : as;
}

static const char *product(zoo_t *z, const char *prefix, const char *array, const char *as,
                           const char *x, gnn_flag_t bias)
{
    const char *of = NAMED("w.%s%s", prefix, array);
    return again(
        z, NAMED("%s%s", prefix, array), as,
        (gnn_step_t){
            .kind = GNN_STEP_LINEAR, .inputs = {x}, .in = COLS(of), .out = COUNT(of), .bias = bias});
}

static const char *normed(zoo_t *z, const char *prefix, const char *array, const char *as,
                          const char *x)
{
    return again(z, NAMED("%s%s", prefix, array), as,
                 (gnn_step_t){.kind = GNN_STEP_NORM,
                              .inputs = {x},
                              .norm = GNN_NORM_LAYER,
                              .in = COLS("x"),
                              .eps = REAL(R("p.eps"))});
}

/* A pre-norm layer over a segment of n rows: causal, after `memory` rows that all of them read. */
static void segment_layer(zoo_t *z, const char *name, const char *prefix, const char *x,
                          const char *memory, int64_t rows)
{
    const int64_t d = COLS("x"), n = N("p.segment");
    int32_t *low = zoo_room32(z, n), *high = zoo_room32(z, n);
    for (int64_t i = 0; i < n; i++)
        high[i] = (int32_t)(rows + i + 1);
    const int slot = zoo_spans_of(z, n, rows + n, low, high);
    const char *own = normed(z, prefix, "norm_a", NAMED("%s.h", name), x), *keys = own;
    if (memory) {
        STACK(NAMED("%s.all", name), normed(z, prefix, "norm_a", NAMED("%s.m", name), memory), own);
        keys = NAMED("%s.all", name);
    }
    const char *q = product(z, prefix, "q", NAMED("%s.q", name), own, GNN_OFF),
               *k = product(z, prefix, "k", NAMED("%s.k", name), keys, GNN_OFF),
               *v = product(z, prefix, "v", NAMED("%s.v", name), keys, GNN_OFF);
    ATTEND(NAMED("%s.a", name), slot, q, k, v, d, .heads = N("p.heads"));
    ADD(NAMED("%s.x", name), x,
        product(z, prefix, "o", NAMED("%s.o", name), NAMED("%s.a", name), GNN_OFF));
    const char *inner =
        product(z, prefix, "W1", NAMED("%s.W1", name),
                normed(z, prefix, "norm_f", NAMED("%s.f", name), NAMED("%s.x", name)), GNN_ON);
    ACTIVATION(NAMED("%s.relu", name), inner, RELU);
    ADD(name, NAMED("%s.x", name),
        product(z, prefix, "W2", NAMED("%s.W2", name), NAMED("%s.relu", name), GNN_ON));
}

/* Layer l of segment t reads the stopped states of the segment before: of its input, or of its
 * output. */
static void recurrence(zoo_t *z, bool of_output)
{
    const int64_t n = N("p.segment"), segments = COUNT("x") / n;
    for (int t = 0; t < segments; t++) {
        ROWS(NAMED("s%d_0", t), "x", t * n, n);
        for (int l = 1; l <= 2; l++) {
            if (!of_output && t + 1 < segments)
                DETACH(NAMED("m%d_%d", t, l), NAMED("s%d_%d", t, l - 1));
            segment_layer(z, NAMED("s%d_%d", t, l), NAMED("%d.", l), NAMED("s%d_%d", t, l - 1),
                          t ? NAMED("m%d_%d", t - 1, l) : NULL, t ? n : 0);
            if (of_output && t + 1 < segments)
                DETACH(NAMED("m%d_%d", t, l), NAMED("s%d_%d", t, l));
        }
        SCALE(NAMED("y%d", t), NAMED("s%d_2", t), 1);
    }
    zoo_stack(z, "y", "y", segments);
}

/* P1 | Transformer-XL, memory | a layer reads its own stopped input of the segment before |
 * O(n^2 d) a segment | Dai et al. 2019 */
ENTRY(xl_recurrence)
{
    recurrence(z, false);
}

/* P5 | ERNIE-Doc | a layer reads its own stopped output of the segment before | O(n^2 d) a
 * segment | Ding et al. 2021 */
ENTRY(ernie_doc_recurrence)
{
    recurrence(z, true);
}

/* P4 | Recurrence added to GPT-2 | one row from the mean states of all layers of the segment
 * before, read by every layer | O(n^2 d) a segment | Yoshida et al. 2020 */
ENTRY(recurrence_summary)
{
    const int64_t n = N("p.segment"), segments = COUNT("x") / n, d = COLS("x");
    const int whole = zoo_whole(z, n);
    PARAMETER("a", 1, 3), OP("shares", softmax_rows, "a", 0);
    for (int t = 0; t < segments; t++) {
        ROWS(NAMED("s%d_0", t), "x", t * n, n);
        for (int l = 1; l <= 2; l++)
            segment_layer(z, NAMED("s%d_%d", t, l), NAMED("%d.", l), NAMED("s%d_%d", t, l - 1),
                          t ? NAMED("row%d", t - 1) : NULL, t ? 1 : 0);
        SCALE(NAMED("y%d", t), NAMED("s%d_2", t), 1);
        for (int l = 0; l <= 2 && t + 1 < segments; l++) {
            HOP(NAMED("mean%d_%d", t, l), whole, NAMED("s%d_%d", t, l), d, mean),
                COLUMNS(NAMED("share%d_%d", t, l), "shares", l, 1);
            MULTIPLY(NAMED("part%d_%d", t, l), NAMED("mean%d_%d", t, l), NAMED("share%d_%d", t, l));
        }
        if (t + 1 == segments)
            break;
        zoo_sum(z, NAMED("z%d", t), NAMED("part%d_", t), 3);
        ACTIVATION(NAMED("zr%d", t),
                   product(z, "z.", "W1", NAMED("zw%d", t), NAMED("z%d", t), GNN_ON), RELU);
        SCALE(NAMED("row%d", t), product(z, "z.", "W2", NAMED("zv%d", t), NAMED("zr%d", t), GNN_ON),
              1);
    }
    zoo_stack(z, "y", "y", segments);
}

/* 6.3 | Recurrent memory transformer | memory rows before each segment; their outputs are the
 * next segment's memory | O(n^2 d) a segment | Bulatov et al. 2022 */
ENTRY(recurrent_memory)
{
    const int64_t n = N("p.segment"), segments = COUNT("x") / n, memory = COUNT("w.M"),
                  all = n + memory;
    const int slot = zoo_complete_of(z, 1, &all);
    PARAMETER("M", memory, COLS("x"));
    for (int t = 0; t < segments; t++) {
        const char *layer = NAMED("layer%d", t);
        ROWS(NAMED("x%d", t), "x", t * n, n),
            STACK(NAMED("in%d", t), t ? NAMED("M%d", t) : "M", NAMED("x%d", t));
        pre_norm(z, layer, slot, NAMED("in%d", t), t ? "layer0" : NULL, N("p.heads"), "w.W1");
        ROWS(NAMED("M%d", t + 1), layer, 0, memory), ROWS(NAMED("y%d", t), layer, memory, n);
    }
    SCALE(NAMED("y%d", (int)segments), NAMED("M%d", (int)segments), 1);
    zoo_stack(z, "y", "y", segments + 1);
}

/* P3 | Memformer | slots carried over segments: rows read them, then each slot reads itself and
 * the segment | O(n^2 d) a segment | Wu et al. 2020 */
ENTRY(memformer)
{
    const int64_t n = N("p.segment"), segments = COUNT("x") / n, slots = N("p.slots"), d = COLS("x");
    int64_t m = 0, *src = zoo_room(z, slots * (n + 1)), *dst = zoo_room(z, slots * (n + 1));
    for (int64_t i = 0; i < slots; i++)
        for (int64_t j = -1; j < n; j++)
            src[m] = j < 0 ? i : slots + j, dst[m++] = i;
    const int among = zoo_complete_of(z, 1, &n), read = zoo_bipartite(z, 1, &n, &slots),
              write = zoo_edges_of(z, slots, slots + n, m, src, dst);
    PARAMETER("M", slots, d), STEP(NORM, "M0", .inputs = {"M"}, .norm = GNN_NORM_L2, .in = d);
    for (int t = 0; t < segments; t++) {
        const char *x = NAMED("x%d", t), *memory = NAMED("M%d", t), *y = NAMED("y%d", t);
        ROWS(x, "x", t * n, n);
        STEP(LAYER, NAMED("own%d", t), .graph = among, .inputs = {x}, .share = t ? "own0" : NULL,
             .layer = {.in = d,
                       .heads = N("p.heads"),
                       .aggregator = &gnn_aggregator_attention,
                       .update = &gnn_update_linear,
                       .bias_out = GNN_OFF,
                       .residual = GNN_ON});
        const char *q = product(z, "", "rq", NAMED("rq%d", t), x, GNN_OFF),
                   *k = product(z, "", "rk", NAMED("rk%d", t), memory, GNN_OFF),
                   *v = product(z, "", "rv", NAMED("rv%d", t), memory, GNN_OFF);
        ATTEND(NAMED("read%d", t), read, q, k, v, d, .heads = N("p.heads"));
        ADD(y, NAMED("own%d", t),
            product(z, "", "ro", NAMED("ro%d", t), NAMED("read%d", t), GNN_OFF));
        STACK(NAMED("all%d", t), memory, y);
        const char *mq = product(z, "", "mq", NAMED("mq%d", t), memory, GNN_OFF),
                   *mk = product(z, "", "mk", NAMED("mk%d", t), NAMED("all%d", t), GNN_OFF),
                   *mv = product(z, "", "mv", NAMED("mv%d", t), NAMED("all%d", t), GNN_OFF);
        ATTEND(NAMED("slots%d", t), write, mq, mk, mv, d,
               .scale = REAL(1 / (sqrt((double)d) * R("p.tau"))));
        STEP(NORM, NAMED("M%d", t + 1), .inputs = {NAMED("slots%d", t)}, .norm = GNN_NORM_L2,
             .in = d);
    }
    SCALE(NAMED("y%d", (int)segments), NAMED("M%d", (int)segments), 1);
    zoo_stack(z, "y", "y", segments + 1);
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

/* P9 | Hi-Transformer | sentences, then their first rows over the document, then sentences with
 * those rows before them | O(n^2 d) a sentence | Wu et al. 2021 */
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

/* P11 | TNT | pixels of a patch through a layer, joined and added to its patch, then a layer
 * over patches | O(pixels^2 patches d + patches^2 d) | Han et al. 2021 */
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
       AT(recurrent_memory), AT(gated_context), AT(paragraph_pooling), AT(two_level),
       AT(transformer_in_transformer))
