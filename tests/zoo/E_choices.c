/* Choices inside a model: which scores count, which experts a row gets. The decisions are the
 * model's own. */
#include "zoo.h"

#include <math.h>

/* Complete attention without biases; settings follow. */
#define CHOOSING(...) \
    zoo_complete(z);  \
    ATTENTION("y", 0, "x", COLS("x"), .heads = N("p.heads"), __VA_ARGS__)
#define AT_FACTOR REAL(R("p.score_factor") / sqrt((double)COLS("x") / (double)N("p.heads")))

/* E1 | Top-k attention (explicit sparse Transformer) | softmax over the k largest scores |
 * O(n^2 d) | Zhao et al. 2019 */
ENTRY(topk_scores)
{
    CHOOSING(.weigher = &gnn_weigher_top, .weigher_options = {R("p.top")});
}

/* 6.3 | Sparsemax attention | w = max(0, s - tau), sum 1 | O(n^2 d) | Martins and Astudillo 2016 */
ENTRY(weigher_sparsemax)
{
    CHOOSING(.weigher = &gnn_weigher_sparsemax, .scale = AT_FACTOR);
}

/* 6.3 | Entmax attention | w = max(0, s / 2 - tau)^2, sum 1 | O(n^2 d) | Peters et al. 2019 */
ENTRY(weigher_entmax15)
{
    CHOOSING(.weigher = &gnn_weigher_entmax15, .scale = AT_FACTOR);
}

/* ---- mixtures of experts ---- */

/* y_e of every chosen expert, concatenated: W2_e relu(W1_e x + b1_e) + b2_e. */
static void experts_of(zoo_t *z, const char *x, const char *ids)
{
    const int64_t experts = N("p.experts"), d = COLS("x"), hidden = zoo_shape(z, "w.W1", 1);
    PARAMETER("W1", experts * hidden, d), PARAMETER("b1", experts, hidden);
    PARAMETER("W2", experts * d, hidden), PARAMETER("b2", experts, d);
    STEP(OP, "h", .op = &gnn_op_grouped_product, .inputs = {x, "W1", ids, "b1"},
         .options = {(double)experts, 1});
    ACTIVATION("a", "h", RELU);
    STEP(OP, "experts", .op = &gnn_op_grouped_product, .inputs = {"a", "W2", ids, "b2"},
         .options = {(double)experts, 1});
}

static void experts(zoo_t *z, const char *ids)
{
    experts_of(z, "x", ids);
}

/* Logits of the router, and the experts with the largest. */
static void route(zoo_t *z, const char *weight)
{
    LINEAR(weight, "x", COLS("x"), N("p.experts"));
    OP("ids", choose, weight, R("p.top"));
    zoo_also(z, "ids", "r.expert");
}

/* Gates of the chosen, scaled to sum 1. */
static void scaled_to_one(zoo_t *z, const char *gates)
{
    OP2("own", pick_columns, gates, "ids");
    OP("logs", log, "own", 0);
    OP("gates", softmax_rows, "logs", 0);
}

/* M5 | Switch Transformer | y = p_e FFN_e(x), e the largest gate | O(n d hidden) |
 * Fedus et al. 2021 */
ENTRY(moe_switch)
{
    route(z, "router");
    OP("p", softmax_rows, "router", 0);
    OP2("gates", pick_columns, "p", "ids");
    experts(z, "ids");
    OP2("y", blend_heads, "experts", "gates");
}

/* M5 | Switch Transformer with a capacity | y_i = p_ie expert_e(x_i), e = argmax p_i, for the first
 * ceil(n / experts) rows of each e; 0 for the others | O(n d hidden) | Fedus et al. 2021 */
ENTRY(moe_switch_capacity)
{
    const int64_t rows = COUNT("x"), experts_ = N("p.experts");
    LINEAR("router", "x", COLS("x"), experts_);
    OP("all", choose, "router", R("p.top"));
    STEP(OP, "ids", .op = &gnn_op_limit_ids, .inputs = {"all", "router"},
         .options = {(double)((rows + experts_ - 1) / experts_)});
    zoo_also(z, "ids", "r.expert");
    OP("p", softmax_rows, "router", 0);
    OP2("gates", pick_columns, "p", "ids");
    experts(z, "ids");
    OP2("y", blend_heads, "experts", "gates");
}

/* M4 | GShard | y = sum over the two largest p_e, p = softmax(W x), of p_e / (p_1 + p_2)
 * expert_e(x) | O(n d hidden) | Lepikhin et al. 2020 */
ENTRY(moe_top2)
{
    route(z, "router");
    OP("p", softmax_rows, "router", 0);
    scaled_to_one(z, "p");
    experts(z, "ids");
    OP2("y", blend_heads, "experts", "gates");
}

/* M4 | Softmax after the choice (Mixtral) | y = sum over the two largest logits l_e of softmax(l_1,
 * l_2)_e expert_e(x) | O(n d hidden) | Jiang et al. 2024 */
ENTRY(moe_top2_softmax_after)
{
    route(z, "router");
    OP2("own", pick_columns, "router", "ids");
    OP("gates", softmax_rows, "own", 0);
    experts(z, "ids");
    OP2("y", blend_heads, "experts", "gates");
}

/* 6.3 | Sigmoid gates (DeepSeek-V3) | y = 2.5 sum over the two largest g_e, g = sigmoid(W x), of
 * g_e / (g_1 + g_2) expert_e(x) | O(n d hidden) | DeepSeek-AI 2024 */
ENTRY(moe_sigmoid)
{
    route(z, "router");
    ACTIVATION("p", "router", SIGMOID);
    scaled_to_one(z, "p");
    experts(z, "ids");
    OP2("sum", blend_heads, "experts", "gates");
    SCALE("y", "sum", 2.5);
}

/* M4 | Mixtral's block | y = sum over the two largest p_e of p_e / (p_1 + p_2) W_down (silu(W_gate
 * x) * W_up x) | O(n d hidden) | Jiang et al. 2024 */
ENTRY(moe_swiglu)
{
    const int64_t count = N("p.experts"), d = COLS("x"), hidden = COLS("w.experts.down_proj");
    route(z, "gate.weight");
    OP("p", softmax_rows, "gate.weight", 0);
    scaled_to_one(z, "p");
    PARAMETER("experts.gate_up_proj", 2 * count * hidden, d);
    PARAMETER("experts.down_proj", count * d, hidden);
    STEP(OP, "both", .op = &gnn_op_grouped_product, .inputs = {"x", "experts.gate_up_proj", "ids"},
         .options = {(double)count, 1});
    for (int64_t s = 0; s < N("p.top"); s++) {
        COLUMNS(NAMED("g%d", (int)s), "both", 2 * s * hidden, hidden);
        COLUMNS(NAMED("u%d", (int)s), "both", (2 * s + 1) * hidden, hidden);
        ACTIVATION(NAMED("a%d", (int)s), NAMED("g%d", (int)s), SILU);
        MULTIPLY(NAMED("h%d", (int)s), NAMED("a%d", (int)s), NAMED("u%d", (int)s));
    }
    zoo_concat(z, "h", "h", N("p.top"));
    STEP(OP, "experts", .op = &gnn_op_grouped_product, .inputs = {"h", "experts.down_proj", "ids"},
         .options = {(double)count, 1});
    OP2("y", blend_heads, "experts", "gates");
}

/* M6 | Expert prototyping | the best expert of each group, summed with their gates |
 * O(n d hidden) | Yang et al. 2021 */
ENTRY(moe_prototypes)
{
    const int64_t half = N("p.experts") / 2;
    LINEAR("router", "x", COLS("x"), 2 * half);
    COLUMNS("first", "router", 0, half), COLUMNS("second", "router", half, half);
    OP("id0", choose, "first", 1), OP("id1", choose, "second", 1);
    zoo_filled(z, "half", 1, 1, (double)half);
    ADD("id1.up", "id1", "half");
    CONCAT("ids", "id0", "id1.up");
    zoo_also(z, "ids", "r.expert");
    OP("p", softmax_rows, "router", 2);
    OP2("gates", pick_columns, "p", "ids");
    experts(z, "ids");
    OP2("y", blend_heads, "experts", "gates");
}

/* 6.3 | Expert choice | y_i = sum over the experts e that take i, each the `capacity` rows with its
 * largest p_ie, of p_ie expert_e(x_i), p = softmax(W x) | O(experts capacity d hidden) | Zhou et
 * al. 2022 */
ENTRY(moe_expert_choice)
{
    const int64_t count = N("p.experts"), k = N("p.capacity");
    gnn_real_t *expert = zoo_constant(z, "expert", count, k),
               *gate = zoo_constant(z, "gate", count, k);
    for (int64_t at = 0; at < count * k; at++) {
        expert[at] = REAL(at / k);
        gate[at] = REAL(at % k * count + at / k);
    }
    LINEAR("router", "x", COLS("x"), count);
    OP("p", softmax_rows, "router", 0);
    STEP(OP, "ids", .op = &gnn_op_choose_rows, .inputs = {"p"}, .options = {(double)k},
         .graph = zoo_whole(z, COUNT("x")));
    zoo_also(z, "ids", "r.rows");
    OP2("rows", gather_rows, "x", "ids"), OP2("all gates", gather_rows, "p", "ids");
    OP2("gates", pick_columns, "all gates", "gate");
    experts_of(z, "rows", "expert");
    SCALE_HEADS("weighed", "experts", "gates");
    OP2("y", scatter_rows, "weighed", "ids", "x");
}

/* M7 | Hash layers | y_i = expert_e(x_i), e the expert of word i in a table | O(n d hidden) |
 * Roller et al. 2021 */
ENTRY(moe_hash)
{
    const int64_t n = COUNT("x"), *expert = zoo_integers_of(z, "r.expert", n);
    gnn_real_t *ids = zoo_constant(z, "ids", n, 1);
    for (int64_t r = 0; r < n; r++)
        ids[r] = REAL(expert[r]);
    experts(z, "ids");
}

/* M3 | Product keys | the best of all pairs of sub-keys, each half choosing first: softmax of their
 * scores over value rows | O(n heads (keys + k^2) d) | Lample et al. 2019 */
ENTRY(product_key_memory)
{
    const int64_t heads = N("p.heads"), keys = N("p.keys"), k = N("p.k"), n = COUNT("x"),
                  width = COLS("w.keys"), all = zoo_shape(z, "w.values.weight", 1);
    gnn_real_t *first = zoo_constant(z, "first", k, k * k),
               *second = zoo_constant(z, "second", k, k * k);
    for (int64_t at = 0; at < k * k; at++) {
        first[at / k * k * k + at] = 1;
        second[at % k * k * k + at] = 1;
    }
    const int whole = zoo_complete_of(z, 1, &n);
    LINEAR("to_queries.weight", "x", COLS("x"), 2 * heads * width);
    PARAMETER("values.weight", keys * keys, all);
    for (int h = 0; h < heads; h++) {
        for (int p = 0; p < 2; p++) {
            const char *const norm = h + p > 0 ? NAMED("norm%d%d", h, p) : "norm";
            COLUMNS(NAMED("q%d%d", h, p), "to_queries.weight", (p * heads + h) * width, width);
            STEP(NORM, norm, .inputs = {NAMED("q%d%d", h, p)}, .norm = GNN_NORM_LAYER, .in = width,
                 .share = h + p > 0 ? "norm" : NULL);
            LINEAR(NAMED("s%d%d", h, p), norm, width, keys);
            BIND(NAMED("s%d%d.weight", h, p), "keys", .strided = true, .row_step = 1,
                 .col_step = 2 * width, .base = (h * keys * 2 + p) * width);
            OP(NAMED("c%d%d", h, p), choose, NAMED("s%d%d", h, p), (double)k);
            OP2(NAMED("b%d%d", h, p), pick_columns, NAMED("s%d%d", h, p), NAMED("c%d%d", h, p));
            STEP(OP, NAMED("B%d%d", h, p), .op = &gnn_op_segment_matmul, .graph = whole,
                 .inputs = {NAMED("b%d%d", h, p), p ? "second" : "first"});
            STEP(OP, NAMED("C%d%d", h, p), .op = &gnn_op_segment_matmul, .graph = whole,
                 .inputs = {NAMED("c%d%d", h, p), p ? "second" : "first"});
        }
        ADD(NAMED("pairs%d", h), NAMED("B%d0", h), NAMED("B%d1", h));
        ADD_TIMES(NAMED("rows%d", h), NAMED("C%d1", h), (double)keys, NAMED("C%d0", h));
        OP(NAMED("best%d", h), choose, NAMED("pairs%d", h), (double)k);
        OP2(NAMED("own%d", h), pick_columns, NAMED("pairs%d", h), NAMED("best%d", h));
        OP2(NAMED("taken%d", h), pick_columns, NAMED("rows%d", h), NAMED("best%d", h));
        OP(NAMED("w%d", h), softmax_rows, NAMED("own%d", h), 0);
        OP2(NAMED("y%d", h), weigh_rows, NAMED("w%d", h), "values.weight", NAMED("taken%d", h));
    }
    zoo_concat(z, "taken", "taken", heads);
    zoo_also(z, "taken", "r.taken");
    zoo_sum(z, "y", "y", heads);
}

/* 6.3 | Mixture of depths | the k rows of a sentence with the largest r = x . u: y = x + r f(x),
 * the others stay | O(rows d hidden), rows of each segment | Raposo et al. 2024 */
ENTRY(mixture_of_depths)
{
    const int64_t k = N("p.rows"), d = COLS("x"), hidden = zoo_shape(z, "w.W1", 0);
    LINEAR("u", "x", d, 1);
    STEP(OP, "ids", .op = &gnn_op_choose_rows, .inputs = {"u"}, .options = {(double)k},
         .graph = zoo_pool(z, 1));
    OP2("rows", gather_rows, "x", "ids"), OP2("gates", gather_rows, "u", "ids");
    for (int s = 0; s < k; s++) {
        const char *const norm = s ? NAMED("norm%d", s) : "norm", *const one = s ? NAMED("W1.%d", s) : "W1",
                          *const two = s ? NAMED("W2.%d", s) : "W2";
        COLUMNS(NAMED("row%d", s), "rows", s * d, d);
        STEP(NORM, norm, .inputs = {NAMED("row%d", s)}, .norm = GNN_NORM_LAYER, .in = d,
             .eps = REAL(R("p.eps")), .share = s ? "norm" : NULL);
        STEP(LINEAR, one, .inputs = {norm}, .in = d, .out = hidden, .share = s ? "W1" : NULL);
        ACTIVATION(NAMED("inner%d", s), one, RELU);
        STEP(LINEAR, two, .inputs = {NAMED("inner%d", s)}, .in = hidden, .out = d,
             .share = s ? "W2" : NULL);
        SCALE(NAMED("f%d", s), two, 1);
    }
    zoo_concat(z, "f", "f", k);
    SCALE_HEADS("weighed", "f", "gates");
    OP2("change", scatter_rows, "weighed", "ids", "x");
    ADD("y", "x", "change");
}

/* 6.3 | MoBA, NSA's selection | the rows of the own block up to itself, and of the k earlier blocks
 * whose mean key has the largest product with the query, per head | O(n (n / block + top block) d)
 * | Lu et al. 2025 */
ENTRY(block_topk)
{
    const int64_t b = N("p.block"), k = N("p.top"), heads = N("p.heads"), n = COUNT("x"),
                  d = COLS("x"), blocks = (n + b - 1) / b;
    int64_t *src = zoo_room(z, n), *block = zoo_room(z, n);
    int32_t *low = zoo_room32(z, n), *high = zoo_room32(z, n);
    gnn_real_t *after = zoo_constant(z, "rows of blocks, plus 1", blocks, b),
               *own = zoo_constant(z, "own", n, b);
    for (int64_t i = 0; i < n; i++) {
        src[i] = i, block[i] = i / b, high[i] = (int32_t)(i / b);
        after[i] = REAL(i + 1);
        for (int64_t c = 0; c < b; c++)
            own[i * b + c] = REAL(i / b * b + c <= i ? i / b * b + c : -1);
    }
    const int means = zoo_edges_of(z, blocks, n, n, src, block),
              before = zoo_spans_of(z, n, blocks, low, high);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    HOP("K", means, "k", d, mean);
    STEP(OP, "chosen", .op = &gnn_op_choose_senders, .inputs = {"q", "K"}, .graph = before,
         .options = {(double)k, (double)heads});
    OP2("after", gather_rows, "rows of blocks, plus 1", "chosen");
    zoo_filled(z, "one", 1, heads * k * b, 1), SUBTRACT("rows", "after", "one");
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("far%d", h), "rows", h * k * b, k * b);
        CONCAT(NAMED("ids%d", h), "own", NAMED("far%d", h));
    }
    zoo_concat(z, "ids", "ids", heads);
    STEP(OP, "products", .op = &gnn_op_score_rows, .inputs = {"q", "k", "ids"},
         .options = {(double)heads, 1});
    SCALE("scores", "products", 1 / sqrt((double)d / (double)heads));
    OP("w", softmax_rows, "scores", (double)heads);
    STEP(OP, "heads", .op = &gnn_op_weigh_rows, .inputs = {"w", "v", "ids"},
         .options = {(double)heads});
    LINEAR("o", "heads", d, d);
}

/* From rows to their landmark: equal parts of each segment. */
static int landmarks(zoo_t *z, int64_t m)
{
    const int64_t n = COUNT("x"), *place = zoo_positions(z);
    int64_t segments, *lengths = zoo_segments(z, &segments), *src = zoo_room(z, n),
                      *dst = zoo_room(z, n);
    for (int64_t i = 0, s = -1; i < n; i++) {
        s += place[i] == 0;
        zoo_divides(z, "p.landmarks", lengths[s]);
        src[i] = i;
        dst[i] = s * m + place[i] / (lengths[s] / m);
    }
    return zoo_edges_of(z, segments * m, n, n, src, dst);
}

/* Products of the small matrices of segments and heads: form 0 x y, 1 x' y, 2 x y'. */
static void small_product(zoo_t *z, const char *name, const char *x, const char *y, int slot,
                          double form)
{
    STEP(OP, name, .op = &gnn_op_segment_matmul, .inputs = {x, y}, .graph = slot,
         .options = {(double)N("p.heads"), form});
}

/* softmax(q K') Z softmax(Q k') v, "near"; Q and K are landmarks, "A" their weights. */
static void nystrom_parts(zoo_t *z, int64_t inner, void (*inverse_of)(zoo_t *z, int among))
{
    const int64_t heads = N("p.heads"), m = N("p.landmarks");
    const int means = landmarks(z, m), among = zoo_among(z, m), pool = zoo_pool(z, m),
              unpool = zoo_unpool(z, m);
    HOP("Q", means, "q", inner, mean), HOP("K", means, "k", inner, mean);
    small_product(z, "scores", "Q", "K", among, 2), OP("A", softmax_rows, "scores", (double)heads);
    inverse_of(z, among);
    ATTEND("F", pool, "Q", "k", "v", inner, .heads = heads, .scale = 1);
    small_product(z, "ZF", "Z", "F", among, 0);
    ATTEND("near", unpool, "q", "K", "ZF", inner, .heads = heads, .scale = 1);
    zoo_slack(z, 30); /* landmarks of drawn rows are alike: A is nearly singular */
}

static void nystrom_inputs(zoo_t *z, int64_t inner)
{
    LINEAR("to_qkv.weight", "x", COLS("x"), 3 * inner);
    COLUMNS("q0", "to_qkv.weight", 0, inner), COLUMNS("k", "to_qkv.weight", inner, inner);
    COLUMNS("v", "to_qkv.weight", 2 * inner, inner);
    SCALE("q", "q0", 1 / sqrt((double)inner / (double)N("p.heads")));
}

static void exact_inverse(zoo_t *z, int among)
{
    (void)among;
    OP("Z", inverse, "A", (double)N("p.heads"));
}

/* Z by six steps from A' over its largest column sum in any head: Z (13 I - A Z (15 I - A Z (7 I -
 * A Z))) / 4. */
static void iterated_inverse(zoo_t *z, int among)
{
    const int64_t heads = N("p.heads"), m = N("p.landmarks"), all = heads * m;
    int64_t segments;
    (void)zoo_segments(z, &segments);
    int64_t *ones = zoo_room(z, segments), *rows = zoo_room(z, segments);
    for (int64_t s = 0; s < segments; s++)
        ones[s] = 1, rows[s] = m;
    const int down = zoo_bipartite(z, segments, ones, rows),
              up = zoo_bipartite(z, segments, rows, ones);
    static const int times[] = {7, 15, 13};
    for (int k = 0; k < 4; k++) {
        gnn_real_t *unit = zoo_constant(z, NAMED("unit%d", k), segments * m, all);
        for (int64_t e = 0; e < segments * m * all; e++)
            unit[e] = REAL(e / all % m == e % m ? (k < 3 ? times[k] : 1) : 0);
    }
    HOP("sums", down, "A", all, sum);
    for (int c = 0; c < (int)all; c++)
        COLUMNS(NAMED("sum%d", c), "sums", c, 1);
    zoo_maximum(z, "most", "sum", all), OP("by", power, "most", -1), HOP("rows by", up, "by", 1, sum);
    small_product(z, "A'", "A", "unit3", among, 1), MULTIPLY("Z0", "A'", "rows by");
    for (int t = 1; t <= 6; t++) {
        const char *last = NAMED("Z%d", t - 1), *az = NAMED("AZ%d", t);
        small_product(z, az, "A", last, among, 0);
        SUBTRACT(NAMED("a%d", t), "unit0", az),
            small_product(z, NAMED("b%d", t), az, NAMED("a%d", t), among, 0);
        SUBTRACT(NAMED("c%d", t), "unit1", NAMED("b%d", t));
        small_product(z, NAMED("d%d", t), az, NAMED("c%d", t), among, 0);
        SUBTRACT(NAMED("e%d", t), "unit2", NAMED("d%d", t));
        small_product(z, NAMED("f%d", t), last, NAMED("e%d", t), among, 0);
        SCALE(t < 6 ? NAMED("Z%d", t) : "Z", NAMED("f%d", t), 0.25);
    }
}

/* A convolution of v over three positions, one weight per head and position. */
static void convolved_heads(zoo_t *z, const char *name, const char *array)
{
    const int64_t heads = N("p.heads");
    zoo_filled(z, "ones", COUNT("x"), heads, 1);
    for (int t = 0; t < 3; t++) {
        PARAMETER(NAMED("conv%d", t), 1, heads);
        BIND(NAMED("conv%d.rows", t), array, .base = t, .strided = true, .row_step = 1,
             .col_step = 3);
        MULTIPLY(NAMED("each%d", t), "ones", NAMED("conv%d", t));
        zoo_shift(z, NAMED("v%d", t), "v", t - 1);
        SCALE_HEADS(NAMED("tap%d", t), NAMED("v%d", t), NAMED("each%d", t));
    }
    zoo_sum(z, name, "tap", 3);
}

/* H3 | Nystrom attention | softmax(q K~') pinv(softmax(Q~ K~')) softmax(Q~ k') v and a convolution
 * of v, landmarks are means of neighbours | O(n m d) | Xiong et al. 2021 */
ENTRY(nystrom)
{
    const int64_t inner = zoo_shape(z, "w.to_qkv.weight", 0) / 3;
    nystrom_inputs(z, inner), nystrom_parts(z, inner, iterated_inverse);
    convolved_heads(z, "conv", "res_conv.weight"), ADD("sum", "near", "conv");
    AFFINE("to_out.0", "sum", inner, COLS("x"));
}

/* H3 | Nystrom attention with an exact inverse | softmax(q K~') softmax(Q~ K~')^-1 softmax(Q~
 * k') v, landmarks are means of neighbours | O(n m d) | Xiong et al. 2021 */
ENTRY(nystrom_exact_inverse)
{
    const int64_t inner = zoo_shape(z, "w.to_qkv.weight", 0) / 3;
    nystrom_inputs(z, inner), nystrom_parts(z, inner, exact_inverse);
    AFFINE("to_out.0", "near", inner, COLS("x"));
}

/* H3 | Nystromformer | y = softmax(q K~') pinv(softmax(Q~ K~')) softmax(Q~ k') v + conv(v), q and k
 * with biases, each times width^(-1/4) | O(n m d) | Xiong et al. 2021 */
ENTRY(nystromformer_package)
{
    const int64_t d = COLS("x"), inner = COUNT("w.query.weight");
    const double scale = pow((double)inner / (double)N("p.heads"), -0.25);
    AFFINE("query", "x", d, inner), AFFINE("key", "x", d, inner), AFFINE("value", "x", d, inner);
    SCALE("q", "query", scale), SCALE("k", "key", scale), SCALE("v", "value", 1);
    nystrom_parts(z, inner, iterated_inverse);
    convolved_heads(z, "conv", "conv.weight"), ADD("y", "near", "conv");
}

/* ---- sines ---- */

/* K3 | Learned frequencies | p = [sin(i w), cos(i w)], y = x + p | O(n d) | Wang et al. 2021 */
ENTRY(learned_frequencies)
{
    const int64_t n = COUNT("x"), *place = zoo_positions(z);
    gnn_real_t *positions = zoo_constant(z, "i", n, 1);
    for (int64_t r = 0; r < n; r++)
        positions[r] = REAL(place[r]);
    PARAMETER("omega", 1, COLS("x") / 2);
    zoo_filled(z, "ones", n, COLS("x") / 2, 1);
    MULTIPLY("rows", "ones", "omega");
    MULTIPLY("angles", "rows", "i");
    OP("s", sin, "angles", 0), OP("c", cos, "angles", 0);
    CONCAT("p", "s", "c");
    ADD("y", "x", "p");
}

/* K14 | Complex embedding | h = r_j exp(i (w_j p + theta_j)) of word j at place p, y = [Re, Im] of
 * (A + i B) h | O(n d) | Wang et al. 2020 */
ENTRY(complex_embedding)
{
    int64_t n, segments, *words = zoo_integers(z, "ids", &n), *lengths = zoo_segments(z, &segments);
    const int64_t vocabulary = COUNT("w.r"), d = COLS("w.r");
    int32_t *ids = zoo_ids(z, "words", n);
    gnn_real_t *places = zoo_constant(z, "p", n, 1);
    for (int64_t r = 0; r < n; r++)
        ids[r] = (int32_t)words[r];
    for (int64_t s = 0; s < segments; s++)
        for (int64_t at = 0; at < lengths[s]; at++)
            *places++ = REAL(at);
    STEP(EMBED, "r", .inputs = {"words"}, .in = vocabulary, .out = d);
    STEP(EMBED, "omega", .inputs = {"words"}, .in = vocabulary, .out = d);
    STEP(EMBED, "theta", .inputs = {"words"}, .in = vocabulary, .out = d);
    MULTIPLY("turns", "omega", "p"), ADD("angle", "turns", "theta");
    OP("cosine", cos, "angle", 0), OP("sine", sin, "angle", 0);
    MULTIPLY("re", "r", "cosine"), MULTIPLY("im", "r", "sine");
    LINEAR("A", "re", d, d), LINEAR("B", "im", d, d);
    STEP(LINEAR, "A im", .inputs = {"im"}, .in = d, .out = d, .bias = GNN_OFF, .share = "A");
    STEP(LINEAR, "B re", .inputs = {"re"}, .in = d, .out = d, .bias = GNN_OFF, .share = "B");
    SUBTRACT("real", "A", "B"), ADD("imaginary", "A im", "B re");
    CONCAT("y", "real", "imaginary");
}

/* ---- drawn choices ---- */

/* B15 | Hard attention by REINFORCE | y_i = v of one drawn sender; L = -(R - b) log a_i[drawn] - c
 * H(a_i); op draw in a program, draws of the file here | O(n^2 d) | Xu et al. 2015 */
ENTRY(hard_attention_reinforce)
{
    const int64_t n = COUNT("x"), d = COUNT("w.q"), heads = N("p.heads"), most = zoo_longest(z),
                  *at = zoo_integers_of(z, "r.drawn", n * heads);
    gnn_real_t *drawn = zoo_constant(z, "drawn", n, heads), *gain = zoo_constant(z, "gain", n, 1);
    for (int64_t e = 0; e < n * heads; e++)
        drawn[e] = REAL(e % heads * most + at[e]);
    for (int64_t i = 0; i < n; i++)
        gain[i] = REAL(R("p.baseline")) - REAL(zoo_element(z, "r.reward", i));
    zoo_rows_of_segment(z, "rows");
    LINEAR("q", "x", COLS("x"), d), LINEAR("k", "x", COLS("x"), d), LINEAR("v", "x", COLS("x"), d);
    STEP(OP, "products", .op = &gnn_op_score_rows, .inputs = {"q", "k", "rows"},
         .options = {(double)heads});
    SCALE("scores", "products", 1 / sqrt((double)d / (double)heads));
    OP("a", softmax_rows, "scores", (double)heads), OP("log a", log, "a", 1e-30);
    zoo_filled(z, "width", n, heads * most, 0), OP2("one-hot", mark_columns, "drawn", "width");
    STEP(OP, "heads", .op = &gnn_op_weigh_rows, .inputs = {"one-hot", "v", "rows"},
         .options = {(double)heads});
    LINEAR("o", "heads", d, d);
    OP2("log p", pick_columns, "log a", "drawn"), MULTIPLY("score", "log p", "gain"),
        OP("scores of rows", head_sum, "score", 1);
    MULTIPLY("al", "a", "log a"), OP("entropy", head_sum, "al", 1);
    ADD_TIMES("loss of rows", "scores of rows", R("p.entropy"), "entropy");
    HOP("loss", zoo_whole(z, n), "loss of rows", 1, sum), zoo_filled(z, "rest", 1, d - 1, 0);
    CONCAT("last row", "loss", "rest"), STACK("y", "o", "last row");
}

/* ---- hashes ---- */

/* The buckets of each head and round, columns of "bucket0", ...: the largest of [q R, -q R], which
 * has no gradient; "q" is also the keys, of length 1. */
static void hash(zoo_t *z)
{
    const int64_t d = COUNT("w.qk"), heads = N("p.heads"), width = d / heads,
                  rounds = N("p.rounds"), half = zoo_shape(z, "r.rotations", 2);
    LINEAR("qk", "x", COLS("x"), d), LINEAR("v", "x", COLS("x"), d),
        OP("keys", unit_heads, "qk", (double)heads), DETACH("stopped", "qk");
    for (int h = 0; h < heads; h++) {
        const char *turned = h ? NAMED("turned%d", h) : "turned";
        COLUMNS(NAMED("q%d", h), "stopped", h * width, width);
        STEP(LINEAR, turned, .inputs = {NAMED("q%d", h)}, .in = width, .out = rounds * half,
             .bias = GNN_OFF, .share = h ? "turned" : NULL);
        SCALE(NAMED("back%d", h), turned, -1);
        for (int r = 0; r < rounds; r++) {
            COLUMNS(NAMED("side%d.%d", h, 2 * r), turned, r * half, half);
            COLUMNS(NAMED("side%d.%d", h, 2 * r + 1), NAMED("back%d", h), r * half, half);
        }
        zoo_concat(z, NAMED("sides%d", h), NAMED("side%d.", h), 2 * rounds);
        OP(NAMED("bucket%d", h), choose, NAMED("sides%d", h), 1, (double)rounds);
    }
    SET("turned.weight", "r.rotations");
}

/* Softmax over the listed rows of scores q . k / sqrt(width), itself -5e4; a row that is listed
 * twice counts twice. `more` NULL, or terms of the scores. */
static void attend_listed(zoo_t *z, const char *ids, bool own, int64_t count, const char *more)
{
    const int64_t n = COUNT("x"), d = COUNT("w.qk"), heads = N("p.heads"), all = heads * count;
    STEP(OP, "products", .op = &gnn_op_score_rows, .inputs = {"qk", "keys", ids},
         .options = {(double)heads, own});
    SCALE("scores", "products", 1 / sqrt((double)d / (double)heads));
    zoo_filled(z, "ones", n, all, 1), SUBTRACT("others", "ones", "itself");
    MULTIPLY("of others", "scores", "others"), ADD_TIMES("of all", "of others", -5e4, "itself");
    if (more)
        ADD("summed", "of all", more);
    OP("w", softmax_rows, more ? "summed" : "of all", (double)heads);
    STEP(OP, "heads", .op = &gnn_op_weigh_rows, .inputs = {"w", "v", ids},
         .options = {(double)heads});
    LINEAR("o", "heads", d, d);
}

/* 1 where ids - own lies in low .. high. */
static void where(zoo_t *z, const char *name, double low, double high)
{
    STEP(OP, name, .op = &gnn_op_between, .inputs = {"away"}, .options = {low, high});
}

/* Of head h the rows in the chunk of each row and in the chunk before, round by round: rows sorted
 * by bucket are cut into chunks, the first of all follows the last. */
static void chunks_of(zoo_t *z, int h, int sorted)
{
    const int64_t n = COUNT("x"), chunk = N("p.chunk"), rounds = N("p.rounds"), each = n / chunk,
                  all = rounds * each;
    if (h == 0) {
        int32_t *before = zoo_ids(z, "chunk before", all);
        for (int64_t c = 0; c < all; c++)
            before[c] = (int32_t)((c + all - 1) % all);
        for (int r = 0; r < rounds; r++) {
            int32_t *of_rank = zoo_ids(z, NAMED("chunk of rank %d", r), n);
            for (int64_t i = 0; i < n; i++)
                of_rank[i] = (int32_t)(r * each + i / chunk);
        }
    }
    STEP(OP, NAMED("order%d", h), .op = &gnn_op_sort_rows, .graph = sorted,
         .inputs = {NAMED("bucket%d", h)});
    STEP(OP, NAMED("rank%d", h), .op = &gnn_op_sort_rows, .graph = sorted,
         .inputs = {NAMED("order%d", h)});
    for (int r = 0; r < rounds; r++) {
        COLUMNS(NAMED("order%d.%d", h, r), NAMED("order%d", h), r, 1);
        OP(NAMED("chunk%d.%d", h, r), fold_rows, NAMED("order%d.%d", h, r), (double)chunk);
    }
    zoo_stack(z, NAMED("chunks%d", h), NAMED("chunk%d.", h), rounds);
    PICK(NAMED("before%d", h), NAMED("chunks%d", h), "chunk before");
    CONCAT(NAMED("pairs%d", h), NAMED("chunks%d", h), NAMED("before%d", h));
    for (int r = 0; r < rounds; r++) {
        COLUMNS(NAMED("rank%d.%d", h, r), NAMED("rank%d", h), r, 1);
        PICK(NAMED("ranked%d.%d", h, r), NAMED("pairs%d", h), NAMED("chunk of rank %d", r));
        OP2(NAMED("listed%d.%d", h, r), gather_rows, NAMED("ranked%d.%d", h, r),
            NAMED("rank%d.%d", h, r));
    }
    zoo_concat(z, NAMED("listed%d", h), NAMED("listed%d.", h), rounds);
}

/* Rows read the chunk of their hash and the one before; "away" is the distance to the listed. */
static void lsh(zoo_t *z, bool causal)
{
    const int64_t n = COUNT("x"), heads = N("p.heads"), count = 2 * N("p.chunk") * N("p.rounds"),
                  all = heads * count;
    const int sorted = zoo_pool(z, 1);
    zoo_one_segment(z), zoo_divides(z, "p.chunk", n), hash(z);
    for (int h = 0; h < heads; h++)
        chunks_of(z, h, sorted);
    zoo_concat(z, "listed", "listed", heads);
    gnn_real_t *own = zoo_constant(z, "own", n, all);
    for (int64_t e = 0; e < n * all; e++)
        own[e] = REAL(e / all);
    SUBTRACT("away", "listed", "own"), where(z, "itself", -0.5, 0.5);
    if (causal) {
        where(z, "later", 0.5, 1e9), zoo_filled(z, "one", 1, all, 1), ADD("from 1", "listed", "one");
        MULTIPLY("late", "from 1", "later"), SUBTRACT("earlier", "from 1", "late"),
            SUBTRACT("ids", "earlier", "one");
    }
    attend_listed(z, causal ? "ids" : "listed", true, count, NULL);
}

/* E3 | Reformer | rows are sorted by the bucket of their hash, in rounds; a row reads its chunk and
 * the one before, all rounds in one softmax; queries are keys | O(n rounds chunk d) |
 * Kitaev et al. 2020 */
ENTRY(reformer_lsh)
{
    lsh(z, false);
}

/* E3 | Reformer, causal | y_i: softmax over j <= i of s_ij, j in the chunk of i or the one before,
 * of the rows sorted by their hash, in all rounds; q = k | O(n rounds chunk d) | Kitaev et al. 2020
 * */
ENTRY(reformer_lsh_causal)
{
    lsh(z, true);
}

/* E3 | LSH attention | w_ij = softmax over the j whose hash is that of i in some round of s_ij, q =
 * k; pairs are compared as values | O(n^2 d) | Kitaev et al. 2020 */
ENTRY(reformer_lsh_paper)
{
    const int64_t n = COUNT("x"), heads = N("p.heads"), rounds = N("p.rounds"),
                  buckets = N("p.buckets"), most = zoo_longest(z), *place = zoo_positions(z);
    hash(z), zoo_rows_of_segment(z, "rows"), zoo_filled(z, "buckets", n, rounds * buckets, 0);
    gnn_real_t *itself = zoo_constant(z, "itself", n, heads * most);
    for (int64_t e = 0; e < n * heads * most; e++)
        itself[e] = place[e / (heads * most)] == e % most;
    for (int h = 0; h < heads; h++) {
        OP2(NAMED("marks%d", h), mark_columns, NAMED("bucket%d", h), "buckets");
        OP2(NAMED("agree%d", h), score_rows, NAMED("marks%d", h), NAMED("marks%d", h), "rows");
        STEP(OP, NAMED("same%d", h), .op = &gnn_op_between, .inputs = {NAMED("agree%d", h)},
             .options = {0.5, 1e9});
    }
    zoo_concat(z, "same", "same", heads), zoo_filled(z, "all", n, heads * most, 1),
        SUBTRACT("apart", "same", "all"), SCALE("hides", "apart", 1e6);
    attend_listed(z, "rows", false, most, "hides");
}

/* ---- rows that choose each other ---- */

/* Product of l2-normalised rows of a head with its centroids, which do not learn. */
static void nearness(zoo_t *z, const char *name, const char *x, int h, bool first)
{
    const int64_t clusters = N("p.clusters"), width = zoo_shape(z, "r.means", 2);
    NORM(NAMED("%s.unit", name), x, L2, width, 1e-12);
    STEP(LINEAR, first ? NAMED("means%d", h) : name, .inputs = {NAMED("%s.unit", name)},
         .in = width, .out = clusters, .bias = GNN_OFF, .share = first ? NULL : NAMED("means%d", h));
    if (first) {
        BIND(NAMED("means%d.weight", h), "r.means", .base = h * clusters * width, .strided = true,
             .row_step = 1, .col_step = width);
        SCALE(name, NAMED("means%d", h), 1);
    }
}

/* E2 | Routing Transformer | every centroid takes the rows nearest to it as queries and as keys,
 * attention among them; a row has the mean of the clusters that took it | O(n^1.5 d) | Roy et al.
 * 2021 */
ENTRY(routing_nearest)
{
    const int64_t n = COUNT("x"), d = COUNT("w.q"), heads = N("p.heads"), width = d / heads,
                  window = N("p.window"), clusters = N("p.clusters");
    const int whole = zoo_whole(z, n);
    LINEAR("q", "x", COLS("x"), d), LINEAR("k", "x", COLS("x"), d), LINEAR("v", "x", COLS("x"), d);
    zoo_filled(z, "ones", clusters, 1, 1), zoo_filled(z, "count", n, 1, 0);
    for (int h = 0; h < (int)heads; h++) {
        const char *kinds[] = {"q", "k", "v"};
        for (int p = 0; p < 3; p++)
            COLUMNS(NAMED("%s%d", kinds[p], h), kinds[p], h * width, width);
        nearness(z, NAMED("near q%d", h), NAMED("q%d", h), h, true);
        nearness(z, NAMED("near k%d", h), NAMED("k%d", h), h, false);
        for (int p = 0; p < 2; p++)
            STEP(OP, NAMED("rows %s%d", kinds[p], h), .op = &gnn_op_choose_rows, .graph = whole,
                 .inputs = {NAMED("near %s%d", kinds[p], h)}, .options = {(double)window});
        for (int t = 0; t < (int)window; t++) {
            const char *at = NAMED("%d.%d", h, t), *rows = NAMED("at%s", at);
            COLUMNS(rows, NAMED("rows q%d", h), t, 1);
            OP2(NAMED("q%s", at), gather_rows, NAMED("q%d", h), rows);
            OP2(NAMED("s%s", at), score_rows, NAMED("q%s", at), NAMED("k%d", h),
                NAMED("rows k%d", h));
            SCALE(NAMED("e%s", at), NAMED("s%s", at), 1 / sqrt((double)width));
            OP(NAMED("a%s", at), softmax_rows, NAMED("e%s", at), 1);
            OP2(NAMED("m%s", at), weigh_rows, NAMED("a%s", at), NAMED("v%d", h),
                NAMED("rows k%d", h));
            OP2(NAMED("y%s", at), scatter_rows, NAMED("m%s", at), rows, "count");
            OP2(NAMED("n%s", at), scatter_rows, "ones", rows, "count");
        }
        zoo_sum(z, NAMED("sum%d", h), NAMED("y%d.", h), window);
        zoo_sum(z, NAMED("n%d", h), NAMED("n%d.", h), window);
        OP(NAMED("by%d", h), power, NAMED("n%d", h), -1, R("p.eps"));
        MULTIPLY(NAMED("head%d", h), NAMED("sum%d", h), NAMED("by%d", h));
    }
    zoo_concat(z, "heads", "head", heads), LINEAR("o", "heads", d, d);
}

/* E2 | Routing Transformer, by nearest centroid | softmax over j with the same nearest centroid as
 * i, of unit rows; pairs are compared as values | O(n^2 d) | Roy et al. 2021 */
ENTRY(routing_argmax)
{
    const int64_t n = COUNT("x"), d = COUNT("w.q"), heads = N("p.heads"), width = d / heads;
    LINEAR("q", "x", COLS("x"), d), LINEAR("k", "x", COLS("x"), d), LINEAR("v", "x", COLS("x"), d);
    zoo_rows_of_segment(z, "rows"), zoo_filled(z, "clusters", n, N("p.clusters"), 0),
        zoo_filled(z, "one", 1, 1, 1), zoo_filled(z, "half", 1, 1, 0.5);
    for (int h = 0; h < (int)heads; h++) {
        const char *kinds[] = {"q", "k", "v"};
        for (int p = 0; p < 3; p++)
            COLUMNS(NAMED("%s%d", kinds[p], h), kinds[p], h * width, width);
        nearness(z, NAMED("near q%d", h), NAMED("q%d", h), h, true);
        nearness(z, NAMED("near k%d", h), NAMED("k%d", h), h, false);
        for (int p = 0; p < 2; p++) {
            const char *bucket = NAMED("bucket %s%d", kinds[p], h);
            OP(bucket, choose, NAMED("near %s%d", kinds[p], h), 1);
            OP2(NAMED("own %s%d", kinds[p], h), mark_columns, bucket, "clusters");
        }
        OP2(NAMED("same%d", h), score_rows, NAMED("own q%d", h), NAMED("own k%d", h), "rows");
        OP2(NAMED("s%d", h), score_rows, NAMED("q%d", h), NAMED("k%d", h), "rows");
        SCALE(NAMED("e%d", h), NAMED("s%d", h), 1 / sqrt((double)width));
        zoo_filled(z, NAMED("ones%d", h), n, zoo_longest(z), 1);
        SUBTRACT(NAMED("other%d", h), NAMED("same%d", h), NAMED("ones%d", h));
        ADD_TIMES(NAMED("f%d", h), NAMED("e%d", h), 1e4, NAMED("other%d", h));
        OP(NAMED("a%d", h), softmax_rows, NAMED("f%d", h), 1);
        MULTIPLY(NAMED("b%d", h), NAMED("a%d", h), NAMED("same%d", h));
        OP2(NAMED("head%d", h), weigh_rows, NAMED("b%d", h), NAMED("v%d", h), "rows");
    }
    zoo_concat(z, "heads", "head", heads), LINEAR("o", "heads", d, d);
}

/* ---- blocks that are sorted ---- */

/* R x by blocks of rows: (blocks x blocks) times (blocks x block d), as rows again. */
static void sorted(zoo_t *z, const char *name, const char *x, int among, int64_t d)
{
    const int64_t n = COUNT("x"), block = N("p.block"), blocks = n / block;
    OP(NAMED("%s.folded", name), fold_rows, x, (double)block);
    STEP(OP, NAMED("%s.mixed", name), .op = &gnn_op_segment_matmul, .graph = among,
         .inputs = {"R", NAMED("%s.folded", name)}, .options = {1, 0});
    for (int64_t r = 0; r < block; r++)
        COLUMNS(NAMED("%s.row%d", name, (int)r), NAMED("%s.mixed", name), r * d, d);
    zoo_stack(z, NAMED("%s.turned", name), NAMED("%s.row", name), block);
    int32_t *ids = zoo_ids(z, NAMED("%s.order", name), n);
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(i % block * blocks + i / block);
    PICK(name, NAMED("%s.turned", name), NAMED("%s.order", name));
}

/* R by rounds that divide rows and columns by their sums, "k sorted" and "v sorted". */
static void sinkhorn(zoo_t *z)
{
    const int64_t n = COUNT("x"), d = COUNT("w.q"), block = N("p.block"), blocks = n / block,
                  hidden = COUNT("w.Wp");
    int64_t *src = zoo_room(z, n), *dst = zoo_room(z, n);
    zoo_divides(z, "p.block", n);
    for (int64_t i = 0; i < n; i++)
        src[i] = i, dst[i] = i / block;
    const int sums = zoo_edges_of(z, blocks, n, n, src, dst), column = zoo_whole(z, blocks),
              among = zoo_complete_of(z, 1, &blocks);
    LINEAR("q", "x", COLS("x"), d), LINEAR("k", "x", COLS("x"), d), LINEAR("v", "x", COLS("x"), d);
    HOP("blocks", sums, "x", COLS("x"), sum), AFFINE("Wp", "blocks", COLS("x"), hidden),
        ACTIVATION("relu", "Wp", RELU), AFFINE("Wb", "relu", hidden, blocks);
    OP("rows0", softmax_rows, "Wb", 1);
    for (int t = 0; t < (int)N("p.rounds"); t++) {
        const char *rows = NAMED("rows%d", t), *sum = NAMED("sum%d", t), *by = NAMED("by%d", t),
                   *columns = NAMED("columns%d", t), *last = NAMED("columns%d", t - 1);
        if (t > 0) {
            OP(NAMED("across%d", t), head_sum, last, 1),
                OP(NAMED("over%d", t), power, NAMED("across%d", t), -1);
            MULTIPLY(rows, last, NAMED("over%d", t));
        }
        HOP(sum, column, rows, blocks, sum), OP(by, power, sum, -1);
        MULTIPLY(t + 1 < (int)N("p.rounds") ? columns : "R", rows, by);
    }
    sorted(z, "k sorted", "k", among, d), sorted(z, "v sorted", "v", among, d);
    zoo_also(z, "R", "r.R");
}

/* E6 | Sparse Sinkhorn attention | softmax over the own block and block b of R K, R V; R =
 * softmax(W_b relu(W_p sums)) with rows and columns divided by their sums in turn | O(n block d) |
 * Tay et al. 2020 */
ENTRY(sinkhorn_attention)
{
    const int64_t n = COUNT("x"), d = COUNT("w.q"), block = N("p.block");
    sinkhorn(z);
    int64_t m = 0, *src = zoo_room(z, 2 * n * block), *dst = zoo_room(z, 2 * n * block);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < 2 * block; j++, m++)
            dst[m] = i, src[m] = j / block * n + i / block * block + j % block;
    STACK("keys", "k", "k sorted"), STACK("values", "v", "v sorted");
    ATTEND("a", zoo_edges_of(z, n, 2 * n, m, src, dst), "q", "keys", "values", d,
           .heads = N("p.heads"));
    LINEAR("o", "a", d, d);
}

/* E6 | SortCut | softmax over the first cut blocks of R K, R V, R as in Sparse Sinkhorn attention |
 * O(n cut block d) | Tay et al. 2020 */
ENTRY(sinkhorn_sortcut)
{
    const int64_t n = COUNT("x"), d = COUNT("w.q");
    sinkhorn(z);
    int32_t *low = zoo_room32(z, n), *high = zoo_room32(z, n);
    for (int64_t i = 0; i < n; i++)
        high[i] = (int32_t)(N("p.cut") * N("p.block"));
    ATTEND("a", zoo_spans_of(z, n, n, low, high), "q", "k sorted", "v sorted", d,
           .heads = N("p.heads"));
    LINEAR("o", "a", d, d);
}

/* H2 | CSALR | softmax(Q K~') (softmax(Q~ K~') + 1)^-1 softmax(Q~ K') V, landmarks are every third
 * row | O(n m d) | Chen et al. 2020 */
ENTRY(csalr)
{
    const int64_t d = COUNT("w.q"), heads = N("p.heads"), step = N("p.landmark_step");
    int64_t count, first = 0, *lengths = zoo_segments(z, &count);
    LINEAR("q", "x", COLS("x"), d), LINEAR("k", "x", COLS("x"), d), LINEAR("v", "x", COLS("x"), d);
    for (int s = 0; s < (int)count; first += lengths[s++]) {
        const int64_t n = lengths[s], m = (n + step - 1) / step;
        const int among = zoo_complete_of(z, 1, &m), pool = zoo_bipartite(z, 1, &m, &n),
                  unpool = zoo_bipartite(z, 1, &n, &m);
        int32_t *ids = zoo_ids(z, NAMED("landmarks%d", s), m);
        gnn_real_t *unit = zoo_constant(z, NAMED("unit%d", s), m, heads * m);
        for (int64_t j = 0; j < m; j++)
            ids[j] = (int32_t)(first + step * j);
        for (int64_t e = 0; e < m * heads * m; e++)
            unit[e] = e / (heads * m) == e % m;
        ROWS(NAMED("q%d", s), "q", first, n), ROWS(NAMED("k%d", s), "k", first, n),
            ROWS(NAMED("v%d", s), "v", first, n);
        PICK(NAMED("Q%d", s), "q", NAMED("landmarks%d", s)),
            PICK(NAMED("K%d", s), "k", NAMED("landmarks%d", s));
        small_product(z, NAMED("dots%d", s), NAMED("Q%d", s), NAMED("K%d", s), among, 2);
        SCALE(NAMED("scores%d", s), NAMED("dots%d", s), 1 / sqrt((double)d / (double)heads));
        OP(NAMED("A%d", s), softmax_rows, NAMED("scores%d", s), (double)heads);
        ADD(NAMED("B%d", s), NAMED("A%d", s), NAMED("unit%d", s));
        OP(NAMED("Z%d", s), inverse, NAMED("B%d", s), (double)heads);
        ATTEND(NAMED("F%d", s), pool, NAMED("Q%d", s), NAMED("k%d", s), NAMED("v%d", s), d,
               .heads = heads);
        small_product(z, NAMED("ZF%d", s), NAMED("Z%d", s), NAMED("F%d", s), among, 0);
        ATTEND(NAMED("y%d", s), unpool, NAMED("q%d", s), NAMED("K%d", s), NAMED("ZF%d", s), d,
               .heads = heads);
    }
    zoo_stack(z, "near", "y", count), LINEAR("o", "near", d, d);
}

FAMILY(E, AT(topk_scores), AT(weigher_sparsemax), AT(weigher_entmax15), AT(moe_switch),
       AT(moe_switch_capacity), AT(moe_top2), AT(moe_top2_softmax_after), AT(moe_sigmoid),
       AT(moe_swiglu), AT(moe_prototypes), AT(moe_expert_choice), AT(moe_hash),
       AT(product_key_memory), AT(mixture_of_depths), AT(block_topk), AT(nystrom_exact_inverse),
       AT(nystrom), AT(nystromformer_package), AT(learned_frequencies), AT(complex_embedding),
       AT(hard_attention_reinforce), AT(routing_nearest), AT(routing_argmax),
       AT(sinkhorn_attention), AT(sinkhorn_sortcut), AT(csalr), AT(reformer_lsh),
       AT(reformer_lsh_causal), AT(reformer_lsh_paper))
