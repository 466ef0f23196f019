/* Attention with a prior, and scores without queries and keys. */
#include "zoo.h"

#include <math.h>

/* Distances j - i from -(longest - 1) on, as prior_table reads them with clip: 1 x (2 longest -
 * 1). */
static gnn_real_t *add_distances(zoo_t *z, const char *name, int64_t rows)
{
    const int64_t n = zoo_longest(z), all = 2 * n - 1;
    gnn_real_t *t = zoo_constant(z, name, rows, all);
    for (int64_t k = 0; k < rows * all; k++)
        t[k] = (gnn_real_t)(k % all - n + 1);
    return t;
}

/* Attention whose table of scores by distance is a value (heads x distances). */
static void by_table(zoo_t *z, const char *table)
{
    STEP(LAYER, "y", .graph = zoo_complete(z), .inputs = {"x"}, .priors = {table},
         .layer = {.in = COLS("x"),
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .priors = {{&gnn_prior_table, {2 * (double)zoo_longest(z) - 1}, GNN_ON}}});
}

/* Attention by priors alone: queries and keys are 0. */
static void without_scores(zoo_t *z, const char *prior, const gnn_prior_t *kind, double option)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    zoo_filled(z, "zero", COUNT("x"), heads, 0);
    LINEAR("v", "x", d, d);
    STEP(AGGREGATE, "a", .graph = zoo_complete(z), .query = "zero", .key = "zero", .inputs = {"v"},
         .priors = {prior},
         .layer = {.in = d,
                   .heads = heads,
                   .d_k = 1,
                   .d_v = d / heads,
                   .aggregator = &gnn_aggregator_attention,
                   .priors = {{kind, {option}, GNN_ON}}});
    LINEAR("o", "a", d, d);
}

/* I2 | Gaussian Transformer | s_ij - |w (i - j)^2 + b| | O(n^2 d) | Guo et al. 2019 */
ENTRY(gaussian_transformer)
{
    const int64_t heads = N("p.heads"), all = 2 * zoo_longest(z) - 1;
    gnn_real_t *t = add_distances(z, "squares", heads);
    for (int64_t k = 0; k < heads * all; k++)
        t[k] *= t[k];
    zoo_filled(z, "ones", heads, all, 1);
    PARAMETER("w", 1, 1), PARAMETER("b", 1, 1);
    MULTIPLY("wd", "squares", "w"), MULTIPLY("bs", "ones", "b"), ADD("t", "wd", "bs");
    ACTIVATION("t+", "t", RELU), SCALE("-t", "t", -1), ACTIVATION("t-", "-t", RELU);
    ADD("|t|", "t+", "t-"), SCALE("table", "|t|", -1);
    by_table(z, "table");
}

/* I8 | Hard-coded Gaussian | w_ij = N(j; i + o_h, 1) / sum over j, without queries and keys | O(n^2
 * d) | You et al. 2020 */
ENTRY(hard_coded_gaussian)
{
    const int64_t heads = N("p.heads"), all = 2 * zoo_longest(z) - 1;
    gnn_real_t *t = add_distances(z, "table", heads);
    for (int64_t k = 0; k < heads * all; k++) {
        const double far = (double)t[k] - zoo_element(z, "r.offset", k / all);
        t[k] = REAL(-far * far / 2);
    }
    without_scores(z, "table", &gnn_prior_table, (double)all);
}

/* K18 | Quadratic encoding: attention as a convolution | s_ij = -a_h ((j - i) - D_h)^2 | O(n^2
 * d) | Cordonnier et al. 2020 */
ENTRY(quadratic)
{
    const int64_t heads = N("p.heads"), all = 2 * zoo_longest(z) - 1;
    add_distances(z, "distance", heads);
    zoo_filled(z, "ones", heads, all, 1);
    PARAMETER("alpha", heads, 1), PARAMETER("center", heads, 1);
    MULTIPLY("centres", "ones", "center"), SUBTRACT("far", "distance", "centres");
    MULTIPLY("far2", "far", "far"), MULTIPLY("t", "far2", "alpha"), SCALE("table", "t", -1);
    without_scores(z, "table", &gnn_prior_table, (double)all);
}

/* I1 | Local Transformer | s_ij - (j - P_i)^2 / (2 sig_i^2), centre and width of the window
 * from the query | O(n^2 d) | Yang et al. 2018 */
ENTRY(gaussian_local)
{
    const int64_t d = COLS("x"), n = COUNT("x"), heads = N("p.heads"), width = d / heads,
                  *place = zoo_positions(z);
    int64_t count, row = 0, *lengths = zoo_segments(z, &count);
    gnn_real_t *length = zoo_constant(z, "n", n, 1), *sender = zoo_constant(z, "j", n, 3),
               *less = zoo_constant(z, "-middle", n, 1);
    for (int64_t s = 0; s < count; s++)
        for (int64_t p = 0; p < lengths[s]; p++, row++) {
            const double middle = (double)(lengths[s] - 1) / 2, at = (double)place[row] - middle;
            length[row] = (gnn_real_t)lengths[s], less[row] = (gnn_real_t)-middle;
            sender[3 * row] = (gnn_real_t)(at * at), sender[3 * row + 1] = (gnn_real_t)at;
            sender[3 * row + 2] = 1;
        }
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    for (int h = 0; h < heads; h++) {
        const char *q = NAMED("q%d", h),
                   *share[] = {h ? "Wp" : NULL, h ? "vp" : NULL, h ? "vd" : NULL};
#define PART(name) (h ? NAMED("%s.%s", q, name) : name)
        COLUMNS(NAMED("%s.own", q), "q", h * width, width);
        STEP(LINEAR, PART("Wp"), .inputs = {NAMED("%s.own", q)}, .in = width, .out = width,
             .bias = GNN_OFF, .share = share[0]);
        ACTIVATION(NAMED("%s.t", q), PART("Wp"), TANH);
        STEP(LINEAR, PART("vp"), .inputs = {NAMED("%s.t", q)}, .in = width, .out = 1,
             .bias = GNN_OFF, .share = share[1]);
        STEP(LINEAR, PART("vd"), .inputs = {NAMED("%s.t", q)}, .in = width, .out = 1,
             .bias = GNN_OFF, .share = share[2]);
        ACTIVATION(NAMED("%s.p", q), PART("vp"), SIGMOID),
            MULTIPLY(NAMED("%s.n p", q), NAMED("%s.p", q), "n"),
            ADD(NAMED("%s.P", q), NAMED("%s.n p", q), "-middle");
        ACTIVATION(NAMED("%s.d", q), PART("vd"), SIGMOID),
            MULTIPLY(NAMED("%s.D", q), NAMED("%s.d", q), "n");
        OP(NAMED("%s.1/D2", q), power, NAMED("%s.D", q), -2),
            SCALE(NAMED("%s.i", q), NAMED("%s.1/D2", q), -2);
        MULTIPLY(NAMED("%s.iP", q), NAMED("%s.i", q), NAMED("%s.P", q)),
            SCALE(NAMED("%s.2iP", q), NAMED("%s.iP", q), -2);
        MULTIPLY(NAMED("%s.iP2", q), NAMED("%s.iP", q), NAMED("%s.P", q));
        SCALE(NAMED("%s.scaled", q), NAMED("%s.own", q), 1 / sqrt((double)width));
        CONCAT(q, NAMED("%s.scaled", q), NAMED("%s.i", q), NAMED("%s.2iP", q), NAMED("%s.iP2", q));
        COLUMNS(NAMED("k%d.own", h), "k", h * width, width),
            CONCAT(NAMED("k%d", h), NAMED("k%d.own", h), "j");
#undef PART
    }
    zoo_concat(z, "queries", "q", heads), zoo_concat(z, "keys", "k", heads);
    ATTEND("a", zoo_complete(z), "queries", "keys", "v", d, .heads = heads, .d_k = width + 3,
           .d_v = width, .scale = 1);
    LINEAR("o", "a", d, d);
}

/* Rows of a learned table by the row's position: heads * cols columns of the array (heads x
 * places x cols). */
static void rows_by_place(zoo_t *z, const char *name, const char *array)
{
    const int64_t places = zoo_shape(z, NAMED("w.%s", array), 1), *place = zoo_positions(z),
                  cols =
                      zoo_shape(z, NAMED("w.%s", array), 0) * zoo_shape(z, NAMED("w.%s", array), 2);
    if (!zoo_given(z, "place")) {
        int32_t *ids = zoo_ids(z, "place", COUNT("x"));
        for (int64_t i = 0; i < COUNT("x"); i++)
            ids[i] = (int32_t)place[i];
    }
    STEP(EMBED, name, .inputs = {"place"}, .in = places, .out = cols);
    BIND(NAMED("%s.table", name), array, .layout = BY_HEAD);
}

/* I9 | Synthesizer, dense | s_i = W2_h relu(W1 x_i): a score for each position | O(n^2 d) | Tay
 * et al. 2020 */
ENTRY(synthesizer_dense)
{
    const int64_t places = zoo_shape(z, "w.W2", 1), hidden = COUNT("w.W1"), heads = N("p.heads");
    AFFINE("W1", "x", COLS("x"), hidden), ACTIVATION("r", "W1", RELU);
    AFFINE("W2", "r", hidden, heads * places);
    BIND("W2.weight", "W2", .layout = TURNED);
    without_scores(z, "W2", &gnn_prior_place, (double)places);
}

/* I10 | Synthesizer, random | s = R_h, learned | O(n^2 d) | Tay et al. 2020 */
ENTRY(synthesizer_random)
{
    rows_by_place(z, "R", "R");
    without_scores(z, "R", &gnn_prior_place, (double)zoo_shape(z, "w.R", 1));
}

/* I10 | Synthesizer, factorised | s = A_h B_h', both learned | O(n^2 d) | Tay et al. 2020 */
ENTRY(synthesizer_factorised)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    rows_by_place(z, "A", "A"), rows_by_place(z, "B", "B");
    LINEAR("v", "x", d, d);
    ATTEND("a", zoo_complete(z), "A", "B", "v", d, .heads = heads, .d_k = zoo_shape(z, "w.A", 2),
           .d_v = d / heads, .scale = 1);
    LINEAR("o", "a", d, d);
}

/* I10 | Synthesizer, mixture | s = a_h R_h + (1 - a_h) q . k / sqrt(width) | O(n^2 d) | Tay et
 * al. 2020 */
ENTRY(synthesizer_mixture)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    PARAMETER("a", 1, heads), ACTIVATION("part", "a", SIGMOID), SCALE("-part", "part", -1);
    zoo_filled(z, "one", 1, heads, 1);
    ADD("rest", "-part", "one");
    rows_by_place(z, "R", "R"), SCALE_HEADS("random", "R", "part");
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    SCALE_HEADS("query", "q", "rest");
    STEP(AGGREGATE, "h", .graph = zoo_complete(z), .query = "query", .key = "k", .inputs = {"v"},
         .priors = {"random"},
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .priors = {{&gnn_prior_place, {(double)zoo_shape(z, "w.R", 1)}, GNN_ON}}});
    LINEAR("o", "h", d, d);
}

/* I4 | RealFormer | s_2 = q_2 k_2' / sqrt(width) + s_1; the scores of both layers are those of the
 * concatenated queries and keys | O(n^2 d layers) | He et al. 2020 */
ENTRY(realformer)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads;
    const int slot = zoo_complete(z);
    LINEAR("q1", "x", d, d), LINEAR("k1", "x", d, d), LINEAR("v1", "x", d, d);
    ATTEND("a1", slot, "q1", "k1", "v1", d, .heads = heads);
    LINEAR("o1", "a1", d, d), ADD("y1", "x", "o1");
    LINEAR("q2", "y1", d, d), LINEAR("k2", "y1", d, d), LINEAR("v2", "y1", d, d);
    zoo_beside(z, "query", "q2", "q1", heads, width), zoo_beside(z, "key", "k2", "k1", heads, width);
    ATTEND("a2", slot, "query", "key", "v2", d, .heads = heads, .d_k = 2 * width, .d_v = width,
           .scale = REAL(1 / sqrt((double)width)));
    LINEAR("o2", "a2", d, d), ADD("y", "y1", "o2");
}

/* I5 | Lazyformer | h = x + W_O1 softmax(q1 k1') x W_V1, y = h + W_O2 softmax(q1 k1') h W_V2: the
 * second layer keeps the weights of the first | O(n^2 d) | Ying et al. 2021 */
ENTRY(lazyformer)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    const int slot = zoo_complete(z);
    LINEAR("q1", "x", d, d), LINEAR("k1", "x", d, d), LINEAR("v1", "x", d, d);
    ATTEND("a1", slot, "q1", "k1", "v1", d, .heads = heads);
    LINEAR("o1", "a1", d, d), ADD("y1", "x", "o1");
    LINEAR("v2", "y1", d, d);
    ATTEND("a2", slot, "q1", "k1", "v2", d, .heads = heads);
    LINEAR("o2", "a2", d, d), ADD("y", "y1", "o2");
}

/* I6 | CAMTL, conditional attention by tasks | softmax(s_ij + A_b[i, j] g_b[j] + b_b[j]) where i
 * and j are in block b, g = G task, b = B task | O(n^2 d) | Pilault et al. 2021 */
ENTRY(task_prior)
{
    const int64_t d = COLS("x"), n = COUNT("x"), heads = N("p.heads"), blocks = N("p.blocks"),
                  b = N("p.block"), tasks = COLS("task"), *place = zoo_positions(z);
    int32_t *ids = zoo_ids(z, "place", n);
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)place[i];
    LINEAR("g", "task", tasks, blocks * b), LINEAR("b", "task", tasks, blocks * b);
    zoo_spread(z, "gains", "g"), zoo_spread(z, "shifts", "b");
    STEP(EMBED, "A", .inputs = {"place"}, .in = blocks * b, .out = b);
    for (int k = 0; k < blocks; k++) {
        gnn_real_t *in = zoo_constant(z, NAMED("in%d", k), n, 1);
        for (int64_t i = 0; i < n; i++)
            in[i] = place[i] / b == k;
        COLUMNS(NAMED("g%d", k), "gains", k * b, b), COLUMNS(NAMED("b%d", k), "shifts", k * b, b);
        MULTIPLY(NAMED("s%d", k), "A", NAMED("g%d", k)),
            ADD(NAMED("t%d", k), NAMED("s%d", k), NAMED("b%d", k));
        MULTIPLY(NAMED("block%d", k), NAMED("t%d", k), NAMED("in%d", k));
    }
    zoo_concat(z, "head0", "block", blocks);
    for (int h = 1; h < heads; h++)
        SCALE(NAMED("head%d", h), "head0", 1);
    zoo_concat(z, "prior", "head", heads);
    STEP(LAYER, "y", .graph = zoo_complete(z), .inputs = {"x"}, .priors = {"prior"},
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .priors = {{&gnn_prior_place, {(double)(blocks * b)}, GNN_ON}}});
}

/* y = i x + f g, (i, f) = sigmoid([x, g] W + b). */
static void gated_average(zoo_t *z, const char *g, const char *weight)
{
    const int64_t d = COLS("x");
    CONCAT("both", "x", g);
    AFFINE(weight, "both", 2 * d, 2 * d), ACTIVATION("gates", weight, SIGMOID);
    COLUMNS("i", "gates", 0, d), COLUMNS("f", "gates", d, d);
    MULTIPLY("ix", "i", "x"), MULTIPLY("fg", "f", g), ADD("y", "ix", "fg");
}

/* I7 | Average attention network | g_t = mean of x_1 .. x_t, gated with x | O(n d) | Zhang et
 * al. 2018 */
ENTRY(average_attention)
{
    HOP("average", zoo_causal(z), "x", COLS("x"), mean);
    zoo_also(z, "average", "average");
    gated_average(z, "average", "W");
    BIND("W.weight", "weight", .layout = TURNED), BIND("W.bias", "bias", .base = 0);
}

/* I7 | Average attention network, with its feed-forward | g_t = W2 relu(W1 mean) | O(n d^2) |
 * Zhang et al. 2018 */
ENTRY(average_attention_ffn)
{
    HOP("average", zoo_causal(z), "x", COLS("x"), mean);
    FEED_FORWARD("g", "average", "", RELU);
    gated_average(z, "g", "W");
}

/* 6.3 | Forgetting Transformer | softmax(s_ij + c_i - c_j), c the running sum of log sigmoid(x
 * W_f) | O(n^2 d) | Lin et al. 2025 */
ENTRY(forgetting)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    const int slot = zoo_causal(z);
    LINEAR("f", "x", d, heads), SCALE("-f", "f", -1), ACTIVATION("soft", "-f", SOFTPLUS),
        SCALE("log", "soft", -1);
    HOP("c", slot, "log", heads, sum), SCALE("-c", "c", -1);
    STEP(LAYER, "y", .graph = slot, .inputs = {"x"}, .priors = {"c", "-c"},
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .priors = {{&gnn_prior_receiver, .given = GNN_ON},
                              {&gnn_prior_sender, .given = GNN_ON}}});
}

/* Scores of the pairs of a slot times `scale`, m x heads. */
static void pair_scores(zoo_t *z, const char *name, int slot, const char *layer, double scale)
{
    const char *q = NAMED("qe%s", layer), *k = NAMED("ke%s", layer), *qk = NAMED("qk%s", layer),
               *dots = NAMED("dots%s", layer);
    EDGE_ROWS(q, slot, NAMED("q%s", layer), RECEIVERS);
    EDGE_ROWS(k, slot, NAMED("k%s", layer), SENDERS);
    MULTIPLY(qk, q, k), OP(dots, head_sum, qk, (double)N("p.heads")), SCALE(name, dots, scale);
}

/* The pairs of a complete graph as pixels, a segment's receivers being rows: columns of the nine
 * around each, concatenated. */
static void pairs_around(zoo_t *z, const char *name, const char *x)
{
    int64_t count, *lengths = zoo_segments(z, &count), m = 0;
    for (int64_t s = 0; s < count; s++)
        m += lengths[s] * lengths[s];
    for (int tap = 0; tap < 9; tap++) {
        const int down = tap / 3 - 1, right = tap % 3 - 1;
        int32_t *ids = zoo_ids(z, NAMED("ids%d", tap), m);
        for (int64_t s = 0, e = 0; s < count; s++)
            for (int64_t at = 0; at < lengths[s] * lengths[s]; at++, e++) {
                const int64_t n = lengths[s], i = at / n + down, j = at % n + right;
                const bool inside = i >= 0 && i < n && j >= 0 && j < n;
                ids[e] = inside ? (int32_t)(e + down * n + right) : -1;
            }
        PICK(NAMED("tap%d", tap), x, NAMED("ids%d", tap));
    }
    zoo_concat(z, name, "tap", 9);
}

/* I3 | Evolving Attention | S = a S_2 + (1 - a) conv3x3(S_1), S_1 and S_2 the scores of two layers,
 * heads being channels | O(n^2 d), pairs stored | Wang et al. 2021 */
ENTRY(predictive_attention)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    const double alpha = R("p.alpha"), scale = 1 / sqrt((double)d / (double)heads);
    const int slot = zoo_as_edges(z, zoo_complete(z));
    for (int l = 1; l <= 2; l++) {
        const char *x = l > 1 ? "x1" : "x";
        LINEAR(NAMED("q%d", l), x, d, d), LINEAR(NAMED("k%d", l), x, d, d);
        LINEAR(NAMED("v%d", l), x, d, d);
        if (l == 1) {
            pair_scores(z, "S1", slot, "1", scale), pairs_around(z, "around", "S1");
            ATTEND("y1", slot, "q1", "k1", "v1", d, .heads = heads);
        } else {
            AFFINE("conv", "around", 9 * heads, heads), SCALE("prior", "conv", 1 - alpha);
            BIND("conv.weight", "conv", .strided = true, .row_block = heads, .row_outer = 1,
                 .row_step = 9, .col_step = 9 * heads);
            SET("conv.bias", "bias");
            STEP(AGGREGATE, "y2", .graph = slot, .query = "q2", .key = "k2", .inputs = {"v2"},
                 .edge_bias = "prior",
                 .layer = {.in = d,
                           .heads = heads,
                           .aggregator = &gnn_aggregator_attention,
                           .scale = REAL(alpha * scale)});
        }
        LINEAR(NAMED("o%d", l), NAMED("y%d", l), d, d);
        ADD(NAMED("x%d", l), x, NAMED("o%d", l));
    }
}

FAMILY(I, AT(gaussian_transformer), AT(hard_coded_gaussian), AT(quadratic), AT(gaussian_local),
       AT(synthesizer_dense), AT(synthesizer_random), AT(synthesizer_factorised),
       AT(synthesizer_mixture), AT(realformer), AT(lazyformer), AT(task_prior),
       AT(average_attention), AT(average_attention_ffn), AT(forgetting), AT(predictive_attention))
