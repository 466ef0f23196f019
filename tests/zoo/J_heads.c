/* Heads, scores and weights. */
#include "zoo.h"

#include <math.h>

/* q, k and v of x, each d columns without a bias. */
static void project(zoo_t *z)
{
    const int64_t d = COLS("x");
    LINEAR("q", "x", d, COUNT("w.q")), LINEAR("k", "x", d, COUNT("w.k"));
    LINEAR("v", "x", d, COUNT("w.v"));
}

/* Causal attention in which query heads share heads of keys and values. */
static void shared_heads(zoo_t *z)
{
    ATTENTION("y", zoo_causal(z), "x", COLS("x"), .heads = N("p.heads"),
              .key_heads = N("p.kv_heads"), .value_heads = N("p.kv_heads"));
}

/* J9 | Multi-query attention | y = concat over h of softmax(q_h k' / sqrt(width)) v W_O: one key
 * and one value head, causal | O(n^2 d) | Shazeer 2019 */
ENTRY(multi_query)
{
    shared_heads(z);
}

/* 6.3 | Grouped-query attention | y = concat over h of softmax(q_h k_g' / sqrt(width)) v_g W_O, g =
 * floor(h kv_heads / heads), causal | O(n^2 d) | Ainslie et al. 2023 */
ENTRY(grouped_query)
{
    shared_heads(z);
}

/* 6.3 | Key and value heads of different counts | y = concat over h of softmax(q_h k' /
 * sqrt(width)) v_h W_O: one key head, value heads as many as query heads | O(n^2 d) | Shazeer 2019
 * */
ENTRY(key_heads_value_heads)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"),
              .key_heads = N("p.key_heads"), .value_heads = N("p.value_heads"));
}

/* J10 | Free head size | y = concat of heads softmax(q k' / sqrt(d_k)) v W_O, d_k and d_v chosen
 * freely | O(n^2 heads (d_k + d_v)) | Bhojanapalli et al. 2020 */
ENTRY(free_head_size)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"), .d_k = N("p.d_k"),
              .d_v = N("p.d_v"));
}

/* J11 | Gates of heads | y = sum over heads of xi_h head_h W_O; the gradient of xi_h is a head's
 * importance | O(n^2 d) | Michel et al. 2019 */
ENTRY(head_gates)
{
    const int64_t d = COLS("x");
    project(z);
    ATTEND("a", zoo_complete(z), "q", "k", "v", d, .heads = N("p.heads"));
    PARAMETER("xi", 1, N("p.heads"));
    SCALE_HEADS("gated", "a", "xi");
    LINEAR("o", "gated", d, d);
}

/* J11 | Hard-concrete gates | g = clamp(s (b - a) + a, 0, 1), s = sigmoid((logit u + log alpha) /
 * beta); their L0 norm | O(heads) | Louizos et al. 2018, Voita et al. 2019 */
ENTRY(hard_concrete_gates)
{
    const int64_t heads = COUNT("w.log_alpha");
    const double beta = R("p.beta"), low = R("p.gamma"), high = R("p.zeta");
    gnn_real_t *noise = zoo_constant(z, "noise", heads, 1);
    for (int64_t h = 0; h < heads; h++)
        noise[h] = REAL(log(zoo_element(z, "r.u", h) / (1 - zoo_element(z, "r.u", h))));
    zoo_filled(z, "low", heads, 1, low), zoo_filled(z, "shift", heads, 1, -beta * log(-low / high));
    PARAMETER("log_alpha", heads, 1);
    ADD("drawn", "log_alpha", "noise"), SCALE("cold", "drawn", 1 / beta),
        ACTIVATION("s", "cold", SIGMOID);
    SCALE("wide", "s", high - low), ADD("stretched", "wide", "low");
    OP("gates", clamp, "stretched", 0, 1);
    ADD("open", "log_alpha", "shift"), ACTIVATION("chance", "open", SIGMOID);
    HOP("L0", zoo_whole(z, heads), "chance", 1, sum);
    STACK("y", "gates", "L0");
}

/* J3 | Talking heads | w = P_w softmax(P_l s), both products over heads, y = w v W_O | O(n^2 (d +
 * heads^2)) | Shazeer et al. 2020 */
ENTRY(talking_heads)
{
    const int64_t n = COUNT("x"), d = COLS("x"), heads = N("p.heads"), most = zoo_longest(z);
    const gnn_real_t *rows = zoo_rows_of_segment(z, "rows");
    gnn_real_t *scored = zoo_constant(z, "scored", n, most),
               *hides = zoo_constant(z, "hides", n, heads * most);
    for (int64_t e = 0; e < n * most; e++) { /* past the end of a segment a row that is hidden */
        scored[e] = rows[e] < 0 ? rows[e / most * most] : rows[e];
        for (int64_t h = 0; h < heads; h++)
            hides[e / most * heads * most + h * most + e % most] = REAL(rows[e] < 0 ? -1e9 : 0);
    }
    project(z);
    STEP(OP, "products", .op = &gnn_op_score_rows, .inputs = {"q", "k", "scored"},
         .options = {(double)heads});
    SCALE("scores", "products", 1 / sqrt((double)d / (double)heads));
    PARAMETER("Pl", heads, heads), OP2("mixed", mix_heads, "scores", "Pl"), TURN("Pl.rows", "Pl");
    ADD("seen", "mixed", "hides"), OP("a", softmax_rows, "seen", (double)heads);
    PARAMETER("Pw", heads, heads), OP2("w", mix_heads, "a", "Pw"), TURN("Pw.rows", "Pw");
    STEP(OP, "heads", .op = &gnn_op_weigh_rows, .inputs = {"w", "v", "rows"},
         .options = {(double)heads});
    LINEAR("o", "heads", d, d);
}

/* J4 | Collaborative heads | head_i = softmax((x W_q diag(m_i)) (x W_k)'), keys shared | O(n^2
 * heads shared) | Cordonnier et al. 2020 */
ENTRY(collaborative_heads)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), shared = N("p.shared");
    project(z);
    for (int h = 0; h < heads; h++) {
        PARAMETER(NAMED("m%d", h), 1, shared);
        BIND(NAMED("m%d.rows", h), "m", .base = h * shared);
        MULTIPLY(NAMED("q%d", h), "q", NAMED("m%d", h));
    }
    zoo_concat(z, "queries", "q", heads);
    ATTEND("a", zoo_complete(z), "queries", "k", "v", d, .heads = heads, .key_heads = 1,
           .d_k = shared, .d_v = d / heads, .scale = REAL(1 / sqrt((double)d / (double)heads)));
    LINEAR("o", "a", d, d);
}

/* J6 | Multi-Scale Transformer | head h reads the window |i - j| <= w_h | O(n w d), w the mean
 * window | Guo et al. 2020 */
ENTRY(multi_scale)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads,
                  *windows = zoo_integers_of(z, "p.windows", heads);
    project(z);
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("q%d", h), "q", h * width, width);
        COLUMNS(NAMED("k%d", h), "k", h * width, width);
        COLUMNS(NAMED("v%d", h), "v", h * width, width);
        ATTEND(NAMED("head%d", h), zoo_window(z, windows[h], 1, GNN_OFF), NAMED("q%d", h),
               NAMED("k%d", h), NAMED("v%d", h), width, .heads = 1);
    }
    zoo_concat(z, "heads", "head", heads);
    LINEAR("o", "heads", d, d);
}

/* v = squash(sum over heads of c_hj u_hj). */
static void capsule(zoo_t *z, int64_t round, int64_t j, int64_t heads, int64_t width)
{
    const char *v = NAMED("v%d_%d", (int)round, (int)j);
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("%s.c%d", v, h), NAMED("c%d_%d", (int)round, h), j, 1);
        MULTIPLY(NAMED("%s.part%d", v, h), NAMED("u%d_%d", h, (int)j), NAMED("%s.c%d", v, h));
    }
    zoo_sum(z, NAMED("%s.s", v), NAMED("%s.part", v), heads);
    MULTIPLY(NAMED("%s.s2", v), NAMED("%s.s", v), NAMED("%s.s", v));
    OP(NAMED("%s.n2", v), head_sum, NAMED("%s.s2", v), 1);
    (void)width;
    OP(NAMED("%s.a", v), power, NAMED("%s.n2", v), -1, 1);
    OP(NAMED("%s.b", v), power, NAMED("%s.n2", v), -0.5, R("p.eps"));
    MULTIPLY(NAMED("%s.ab", v), NAMED("%s.a", v), NAMED("%s.b", v));
    MULTIPLY(NAMED("%s.f", v), NAMED("%s.ab", v), NAMED("%s.n2", v));
    MULTIPLY(v, NAMED("%s.s", v), NAMED("%s.f", v));
}

/* J7 | Routing by agreement of head outputs | u_hj = o_h W_hj, three rounds of c = softmax(b),
 * v = squash(sum c u), b += u . v | O(n heads capsules d rounds) | Li et al. 2019, Sabour et
 * al. 2017 */
ENTRY(routing_by_agreement)
{
    const int64_t heads = N("p.heads"), capsules = N("p.capsules"), d = zoo_shape(z, "w.W", 2),
                  out = zoo_shape(z, "w.W", 3), rounds = N("p.rounds");
    zoo_filled(z, "b0", COUNT("x"), capsules, 0);
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("o%d", h), "x", h * d, d);
        for (int j = 0; j < capsules; j++) {
            LINEAR(NAMED("u%d_%d", h, j), NAMED("o%d", h), d, out);
            BIND(NAMED("u%d_%d.weight", h, j), "W", .base = (h * capsules + j) * d * out);
        }
    }
    for (int r = 0; r < rounds; r++) {
        for (int h = 0; h < heads; h++)
            STEP(OP, NAMED("c%d_%d", r, h), .op = &gnn_op_softmax_rows,
                 .inputs = {r ? NAMED("b%d_%d", r, h) : "b0"});
        for (int j = 0; j < capsules; j++)
            capsule(z, r, j, heads, out);
        for (int h = 0; h < heads && r + 1 < rounds; h++) {
            for (int j = 0; j < capsules; j++) {
                const char *uv = NAMED("uv%d_%d_%d", r, h, j);
                MULTIPLY(NAMED("%s:", uv), NAMED("u%d_%d", h, j), NAMED("v%d_%d", r, j));
                OP(uv, head_sum, NAMED("%s:", uv), 1);
            }
            zoo_concat(z, NAMED("g%d_%d", r, h), NAMED("uv%d_%d_", r, h), capsules);
            ADD(NAMED("b%d_%d", r + 1, h), r ? NAMED("b%d_%d", r, h) : "b0", NAMED("g%d_%d", r, h));
        }
    }
    zoo_concat(z, "y", NAMED("v%d_", (int)rounds - 1), capsules);
}

/* Columns of x for each head again. */
static void for_heads(zoo_t *z, const char *name, const char *x, int64_t heads)
{
    for (int h = 0; h < heads; h++)
        SCALE(NAMED("%s%d", name, h), x, 1);
    zoo_concat(z, name, name, heads);
}

/* J8 | EM routing | votes V_hj of heads for capsules; a round takes the weighted mean and variance
 * of the votes of each capsule, its activation sigmoid(b_a - sum (b_u + log sigma) sum_h R), then R
 * = softmax of log a_j N(V; mean, variance) | O(n heads capsules d rounds) | Hinton et al. 2018,
 * Gu and Feng 2019 */
ENTRY(em_routing)
{
    const int64_t n = COUNT("x"), heads = N("p.heads"), capsules = N("p.capsules"),
                  d = zoo_shape(z, "w.W", 2), out = zoo_shape(z, "w.W", 3), rounds = N("p.rounds");
    const double J = (double)capsules, H = (double)heads;
    PARAMETER("W", heads * d, capsules * out);
    STEP(OP, "V", .op = &gnn_op_block_product, .inputs = {"x", "W"}, .options = {H});
    BIND("W.rows", "W", .strided = true, .row_block = d, .row_outer = capsules * d * out,
         .row_step = out, .col_block = out, .col_outer = d * out, .col_step = 1);
    PARAMETER("u", 1, heads * d), MULTIPLY("x u", "x", "u"), OP("x.u", head_sum, "x u", H),
        ACTIVATION("a", "x.u", SIGMOID);
    PARAMETER("bu", 1, capsules), PARAMETER("ba", 1, capsules);
    zoo_filled(z, "R0", n, heads * capsules, 1 / J),
        zoo_filled(z, "least", 1, capsules * out, R("p.eps"));
    for (int t = 0; t < (int)rounds; t++) {
        const char *Ra = NAMED("Ra%d", t), *total = NAMED("total%d", t), *by = NAMED("by%d", t),
                   *mean = NAMED("mean%d", t), *apart = NAMED("apart%d", t),
                   *s2 = NAMED("s2.%d", t), *square = NAMED("square%d", t),
                   *logs = NAMED("log s2.%d", t), *active = NAMED("a%d", t),
                   *sums = NAMED("log sum%d", t), *first = NAMED("first mean%d", t),
                   *from = NAMED("from first%d", t), *more = NAMED("more%d", t);
        SCALE_HEADS(Ra, NAMED("R%d", t), "a"), OP(total, fold_heads, Ra, H), OP(by, power, total, -1);
        SCALE_HEADS(NAMED("RaV%d", t), "V", Ra),
            OP(NAMED("sum%d", t), fold_heads, NAMED("RaV%d", t), H);
        SCALE_HEADS(first, NAMED("sum%d", t), by), for_heads(z, NAMED("firsts%d.", t), first, heads);
        SUBTRACT(from, "V", NAMED("firsts%d.", t));
        /* Adds the mean of what remains: a vote with nearly all of the weight is as near to the
         * mean as its rounding. */
        SCALE_HEADS(NAMED("Ra from%d", t), from, Ra),
            OP(NAMED("remains%d", t), fold_heads, NAMED("Ra from%d", t), H);
        SCALE_HEADS(more, NAMED("remains%d", t), by), for_heads(z, NAMED("mores%d.", t), more, heads);
        ADD(mean, first, more), SUBTRACT(apart, from, NAMED("mores%d.", t));
        MULTIPLY(square, apart, apart);
        SCALE_HEADS(NAMED("Ra s%d", t), square, Ra),
            OP(NAMED("spread%d", t), fold_heads, NAMED("Ra s%d", t), H);
        SCALE_HEADS(NAMED("var%d", t), NAMED("spread%d", t), by), ADD(s2, NAMED("var%d", t), "least");
        OP(logs, log, s2, 0), OP(sums, head_sum, logs, J), SCALE(NAMED("half%d", t), sums, 0.5);
        ADD_TIMES(NAMED("bits%d", t), NAMED("half%d", t), (double)out, "bu");
        MULTIPLY(NAMED("cost%d", t), NAMED("bits%d", t), total),
            SCALE(NAMED("-cost%d", t), NAMED("cost%d", t), -1);
        ADD(NAMED("logit%d", t), NAMED("-cost%d", t), "ba"),
            ACTIVATION(active, NAMED("logit%d", t), SIGMOID);
        if (t + 1 == (int)rounds)
            break;
        OP(NAMED("by s2.%d", t), power, s2, -1),
            for_heads(z, NAMED("precision%d.", t), NAMED("by s2.%d", t), heads);
        MULTIPLY(NAMED("far%d", t), square, NAMED("precision%d.", t)),
            OP(NAMED("distance%d", t), head_sum, NAMED("far%d", t), H * J);
        OP(NAMED("log a%d", t), log, active, 0),
            SUBTRACT(NAMED("of j%d", t), NAMED("log a%d", t), NAMED("half%d", t));
        for_heads(z, NAMED("of hj%d.", t), NAMED("of j%d", t), heads);
        ADD_TIMES(NAMED("lp%d", t), NAMED("of hj%d.", t), -0.5, NAMED("distance%d", t));
        OP(NAMED("R%d", t + 1), softmax_rows, NAMED("lp%d", t), H);
    }
    zoo_also(z, NAMED("a%d", (int)rounds - 1), "a");
    SCALE_HEADS("y", NAMED("mean%d", (int)rounds - 1), NAMED("a%d", (int)rounds - 1));
}

/* 6.3 | Differential attention | (softmax(q1 k1) - lambda softmax(q2 k2)) v, causal | O(n^2 d)
 * | Ye et al. 2024 */
ENTRY(differential)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = 2 * d / heads;
    project(z);
    ATTEND("a", zoo_causal(z), "q", "k", "v", d, .heads = heads, .value_heads = heads / 2,
           .d_k = d / heads, .d_v = width);
    for (int g = 0; g < heads / 2; g++) {
        COLUMNS(NAMED("first%d", g), "a", 2 * g * width, width);
        COLUMNS(NAMED("second%d", g), "a", (2 * g + 1) * width, width);
        PARAMETER(NAMED("lam%d", g), 1, 1);
        BIND(NAMED("lam%d.rows", g), "lam", .base = g);
        MULTIPLY(NAMED("less%d", g), NAMED("second%d", g), NAMED("lam%d", g));
        SUBTRACT(NAMED("head%d", g), NAMED("first%d", g), NAMED("less%d", g));
    }
    zoo_concat(z, "heads", "head", heads / 2);
    LINEAR("o", "heads", d, d);
}

/* 6.3 | Output gate | y = W_O (sigmoid(x W_g) heads), causal | O(n^2 d) | Ma et al. 2022, Qwen
 * Team 2025 */
ENTRY(gated_output)
{
    const int64_t d = COLS("x");
    project(z);
    LINEAR("g", "x", d, d), ACTIVATION("gate", "g", SIGMOID);
    ATTEND("a", zoo_causal(z), "q", "k", "v", d, .heads = N("p.heads"));
    MULTIPLY("gated", "gate", "a");
    LINEAR("o", "gated", d, d);
}

/* 6.3 | Latent attention (MLA) | keys and values from c = x W_c, a rotated key shared by the
 * heads, causal | O(n^2 d) | DeepSeek-AI 2024 */
ENTRY(latent_attention)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), turned = N("p.rope_width"),
                  latent = N("p.latent"), width = COUNT("w.uk") / heads;
    LINEAR("c", "x", d, latent), LINEAR("q", "x", d, COUNT("w.q")),
        LINEAR("qr", "x", d, COUNT("w.qr"));
    LINEAR("kr", "x", d, turned), LINEAR("uk", "c", latent, COUNT("w.uk")),
        LINEAR("uv", "c", latent, COUNT("w.uv"));
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("q%d:r", h), "qr", h * turned, turned),
            COLUMNS(NAMED("q%d:c", h), "q", h * width, width);
        CONCAT(NAMED("q%d", h), NAMED("q%d:r", h), NAMED("q%d:c", h));
        COLUMNS(NAMED("k%d:c", h), "uk", h * width, width),
            CONCAT(NAMED("k%d", h), "kr", NAMED("k%d:c", h));
    }
    zoo_concat(z, "queries", "q", heads), zoo_concat(z, "keys", "k", heads);
    ATTEND("a", zoo_causal(z), "queries", "keys", "uv", COUNT("w.uv"), .heads = heads,
           .d_k = turned + width, .d_v = COUNT("w.uv") / heads, .map = &gnn_map_rope,
           .map_options = {R("p.base"), (double)turned, 1, 1});
    LINEAR("o", "a", COUNT("w.uv"), d);
}

/* ---- scores ---- */

/* A13 | Attention as an undirected weighted graph | q = k, so s_ij = s_ji | O(n^2 d) | Joshi
 * 2020 */
ENTRY(undirected)
{
    const int64_t d = COLS("x");
    LINEAR("qk", "x", d, d), LINEAR("v", "x", d, d);
    ATTEND("a", zoo_complete(z), "qk", "qk", "v", d, .heads = N("p.heads"));
    LINEAR("o", "a", d, d);
}

/* 6.3 | Capped scores (Gemma 2) | s = c tanh(q . k / (c sqrt(width))), causal | O(n^2 d) |
 * Gemma Team 2024 */
ENTRY(softcap)
{
    ATTENTION("y", zoo_causal(z), "x", COLS("x"), .heads = N("p.heads"), .softcap = REAL(R("p.cap")));
}

/* 6.3 | Cosine attention | s = g_h (q / |q|) . (k / |k|) | O(n^2 d) | Henry et al. 2020 */
ENTRY(qk_norm_l2)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    project(z);
    OP("unit q", unit_heads, "q", (double)heads), OP("unit k", unit_heads, "k", (double)heads);
    PARAMETER("g", 1, heads), SCALE_HEADS("scaled q", "unit q", "g");
    ATTEND("a", zoo_complete(z), "scaled q", "unit k", "v", d, .heads = heads, .scale = 1);
    LINEAR("o", "a", d, d);
}

/* 6.3 | Normalised queries and keys | s_ij = RMSNorm(q_i) . RMSNorm(k_j) / sqrt(width) per head,
 * gains shared by heads, causal | O(n^2 d) | Dehghani et al. 2023 */
ENTRY(qk_norm_rms)
{
    ATTENTION("y", zoo_causal(z), "x", COLS("x"), .heads = N("p.heads"), .qk_norm = GNN_ON,
              .norm_eps = REAL(R("p.eps")));
    BIND("y.query_norm.gain", "qn", .base = 0), BIND("y.key_norm.gain", "kn", .base = 0);
}

/* 6.3 | l2 scores | s_ij = -|q_i - k_j|^2 / sqrt(width) | O(n^2 d) | Kim et al. 2021 */
ENTRY(l2_scores)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads;
    const double scale = 1 / sqrt((double)width);
    project(z);
    MULTIPLY("k2", "k", "k"), OP("|k|^2", head_sum, "k2", (double)heads);
    SCALE("-|k|^2", "|k|^2", -scale);
    STEP(AGGREGATE, "a", .graph = zoo_complete(z), .query = "q", .key = "k", .inputs = {"v"},
         .priors = {"-|k|^2"},
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .scale = REAL(2 * scale),
                   .priors = {{&gnn_prior_sender, .given = GNN_ON}}});
    LINEAR("o", "a", d, d);
}

/* ---- weights ---- */

/* 6.3 | Sinks (GPT-OSS) | w_ij = exp(s_ij) / (exp(sink_h) + sum over j <= i of exp(s_ij)) | O(n^2
 * d) | OpenAI 2025 */
ENTRY(sinks)
{
    ATTENTION("y", zoo_causal(z), "x", COLS("x"), .heads = N("p.heads"),
              .weigher = &gnn_weigher_softmax_sink);
    BIND("y.attention.sink", "sink", .base = 0);
}

/* 6.3 | softmax1 | w_ij = exp(s_ij) / (1 + sum exp(s)): a sink of score 0 | O(n^2 d) | Miller
 * 2023 */
ENTRY(softmax_one)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"),
              .weigher = &gnn_weigher_softmax_sink);
    zoo_fixed(z, "y.attention.sink");
}

/* 6.3 | No softmax | w_ij = s_ij, causal | O(n d^2) | Katharopoulos et al. 2020 */
ENTRY(weigher_linear)
{
    ATTENTION("y", zoo_causal(z), "x", COLS("x"), .heads = N("p.heads"),
              .weigher = &gnn_weigher_linear);
}

/* 6.3 | Sigmoid attention | w_ij = sigmoid(s_ij - log n) | O(n^2 d) | Ramapuram et al. 2024 */
ENTRY(weigher_sigmoid)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"),
              .weigher = &gnn_weigher_sigmoid, .weigher_options = {1});
}

/* B15 | Hard attention, straight-through | forward w_ij = 1 for the largest s_ij, else 0; backward
 * the gradient of softmax(s) | O(n^2 d) | Bengio et al. 2013 */
ENTRY(hard_argmax_straight_through)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"),
              .weigher = &gnn_weigher_best);
}

/* s_ij + g_ij over tau, with the drawn noise as a bias of stored pairs. */
static void gumbel(zoo_t *z, const gnn_weigher_t *weigher)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), *place = zoo_positions(z);
    int64_t *src, *dst, count, *lengths = zoo_segments(z, &count);
    const int slot = zoo_as_edges(z, zoo_complete(z));
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    gnn_real_t *noise = zoo_constant(z, "noise", m, heads);
    int64_t e = 0;
    for (int64_t s = 0, at = 0; s < count; at += heads * lengths[s] * lengths[s], s++)
        for (int64_t k = 0; k < lengths[s] * lengths[s]; k++, e++)
            for (int64_t h = 0; h < heads; h++)
                noise[e * heads + h] = REAL(
                    zoo_element(z, "r.gumbel",
                                at + (h * lengths[s] + place[dst[e]]) * lengths[s] + place[src[e]]) /
                    R("p.tau"));
    STEP(LAYER, "y", .graph = slot, .inputs = {"x"}, .edge_bias = "noise",
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .weigher = weigher,
                   .scale = REAL(1 / (sqrt((double)d / (double)heads) * R("p.tau")))});
}

/* B16 | Gumbel softmax | w = softmax((q k' / sqrt(width) + g) / tau), g drawn | O(n^2 d) | Jang et
 * al. 2017 */
ENTRY(gumbel_attention)
{
    gumbel(z, &gnn_weigher_softmax);
}

/* B16 | Gumbel softmax, straight-through | forward w_ij = 1 for the largest (s_ij + g_ij) / tau,
 * else 0; backward the gradient of softmax((s + g) / tau) | O(n^2 d) | Jang et al. 2017 */
ENTRY(gumbel_attention_hard)
{
    gumbel(z, &gnn_weigher_best);
}

/* ---- weights from scores that are values ---- */

/* Stored pairs of every segment, receiver by receiver: senders 0 .. i, or 0 .. i - 1. */
static int earlier(zoo_t *z, bool itself)
{
    int64_t count, *lengths = zoo_segments(z, &count), m = 0, first = 0;
    for (int64_t s = 0; s < count; s++)
        m += lengths[s] * (lengths[s] + (itself ? 1 : -1)) / 2;
    int64_t *src = zoo_room(z, m), *dst = zoo_room(z, m), e = 0;
    for (int64_t s = 0; s < count; first += lengths[s++])
        for (int64_t i = 0; i < lengths[s]; i++)
            for (int64_t j = 0; j < i + itself; j++, e++)
                src[e] = first + j, dst[e] = first + i;
    return zoo_edges_of(z, first, first, m, src, dst);
}

/* "q", "k", "v", and on the pairs of a slot "s" (m x heads), the scaled scores. */
static void scores_of_pairs(zoo_t *z, int slot)
{
    const int64_t d = COUNT("w.q"), heads = N("p.heads");
    LINEAR("q", "x", COLS("x"), d), LINEAR("k", "x", COLS("x"), d);
    EDGE_ROWS("qe", slot, "q", RECEIVERS), EDGE_ROWS("ke", slot, "k", SENDERS);
    MULTIPLY("qk", "qe", "ke"), OP("dots", head_sum, "qk", (double)heads);
    SCALE("s", "dots", 1 / sqrt((double)d / (double)heads));
}

/* y = W_O (sum, or mean, over a receiver's pairs of w_ij v_j). */
static void weighed(zoo_t *z, int slot, const char *w, const gnn_aggregator_t *how)
{
    const int64_t d = COUNT("w.v");
    LINEAR("v", "x", COLS("x"), d), EDGE_ROWS("ve", slot, "v", SENDERS);
    SCALE_HEADS("messages", "ve", w);
    STEP(AGGREGATE, "heads", .graph = slot + 1, .inputs = {"messages"},
         .layer = {.in = d, .aggregator = how});
    LINEAR("o", "heads", d, COUNT("w.o"));
}

/* 6.3 | relu instead of softmax | w_ij = relu(s_ij) / n | O(n^2 d), pairs stored | Wortsman et al.
 * 2023 */
ENTRY(weigher_relu)
{
    const int slot = zoo_as_edges(z, zoo_complete(z));
    zoo_incidence(z), scores_of_pairs(z, slot);
    ACTIVATION("w", "s", RELU), weighed(z, slot, "w", &gnn_aggregator_mean);
}

/* 6.3 | relu squared instead of softmax | w_ij = relu(s_ij)^2 | O(n^2 d), pairs stored | So et al.
 * 2021 */
ENTRY(weigher_relu_squared)
{
    const int slot = zoo_as_edges(z, zoo_complete(z));
    zoo_incidence(z), scores_of_pairs(z, slot);
    ACTIVATION("r", "s", RELU), MULTIPLY("w", "r", "r");
    weighed(z, slot, "w", &gnn_aggregator_sum);
}

/* For each pair (i, j) the sum of x over i's pairs from j on, or after j; pairs as `earlier` has
 * them. */
static void sum_from(zoo_t *z, const char *name, int slot, const char *x, bool itself)
{
    int64_t *src, *dst;
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    int32_t *low = zoo_room32(z, m), *high = zoo_room32(z, m);
    for (int64_t e = m - 1; e >= 0; e--) {
        low[e] = (int32_t)(itself ? e : e + 1);
        high[e] = e + 1 < m && dst[e + 1] == dst[e] ? high[e + 1] : (int32_t)(e + 1);
    }
    HOP(name, zoo_spans_of(z, m, m, low, high), x, N("p.heads"), sum);
}

/* 6.3 | stick-breaking attention | w_ij = sigmoid(s_ij) product over j < t < i of (1 -
 * sigmoid(s_it)) | O(n^2 d), pairs stored | Tan et al. 2024 */
ENTRY(stick_breaking)
{
    const int slot = earlier(z, false);
    zoo_incidence(z), scores_of_pairs(z, slot);
    ACTIVATION("taken", "s", SIGMOID), ACTIVATION("passed", "s", SOFTPLUS);
    sum_from(z, "all passed", slot, "passed", false), SCALE("logs", "all passed", -1);
    OP("left", exp, "logs"), MULTIPLY("w", "taken", "left");
    weighed(z, slot, "w", &gnn_aggregator_sum);
}

/* 6.3 | slot attention's weights | w = softmax over the receivers of a sender, + eps; w_ij <- w_ij
 * / sum over j of w_ij | O(n^2 d), pairs stored | Locatello et al. 2020 */
ENTRY(slots)
{
    const int slot = zoo_as_edges(z, zoo_complete(z));
    const int64_t d = COUNT("w.v"), heads = N("p.heads"), n = COUNT("x");
    int64_t *src, *dst;
    zoo_incidence(z);
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    int64_t *own = zoo_room(z, m);
    for (int64_t e = 0; e < m; e++)
        own[e] = e;
    scores_of_pairs(z, slot);
    OP("e", exp, "s"), HOP("of senders", zoo_edges_of(z, n, m, m, own, src), "e", heads, sum);
    OP("inverse", power, "of senders", -1), EDGE_ROWS("by", slot, "inverse", SENDERS);
    MULTIPLY("shares", "e", "by"), zoo_filled(z, "eps", m, heads, R("p.eps"));
    ADD("w", "shares", "eps"), HOP("all", slot + 1, "w", heads, sum);
    OP("over", power, "all", -1);
    LINEAR("v", "x", COLS("x"), d), EDGE_ROWS("ve", slot, "v", SENDERS);
    SCALE_HEADS("messages", "ve", "w"), HOP("sums", slot + 1, "messages", d, sum);
    SCALE_HEADS("heads", "sums", "over"), LINEAR("o", "heads", d, COUNT("w.o"));
}

/* 6.3 | contextual positions (CoPE) | p_ij = sum over j <= t <= i of sigmoid(s_it), at most P - 1;
 * the score is s_ij + q_i . e[p_ij], interpolated | O(n^2 (d + positions)), pairs stored |
 * Golovneva et al. 2024 */
ENTRY(cope)
{
    const int slot = earlier(z, true);
    const int64_t d = COUNT("w.q"), heads = N("p.heads"), width = d / heads,
                  positions = N("p.positions");
    int64_t *src, *dst;
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    scores_of_pairs(z, slot);
    ACTIVATION("gates", "s", SIGMOID), sum_from(z, "counts", slot, "gates", true);
    OP("p", clamp, "counts", 0, (double)(positions - 1));
    for (int h = 0; h < (int)heads; h++) {
        COLUMNS(NAMED("q%d", h), "q", h * width, width);
        STEP(LINEAR, h > 0 ? NAMED("e%d", h) : "e", .inputs = {NAMED("q%d", h)}, .in = width,
             .out = positions, .bias = GNN_OFF, .share = h > 0 ? "e" : NULL);
    }
    zoo_filled(z, "ones", m, heads, 1);
    for (int r = 0; r < (int)positions; r++) {
        zoo_filled(z, NAMED("r%d", r), m, heads, r);
        SUBTRACT(NAMED("above%d", r), "p", NAMED("r%d", r));
        SUBTRACT(NAMED("below%d", r), NAMED("r%d", r), "p");
        ACTIVATION(NAMED("a%d", r), NAMED("above%d", r), RELU);
        ACTIVATION(NAMED("b%d", r), NAMED("below%d", r), RELU);
        ADD(NAMED("far%d", r), NAMED("a%d", r), NAMED("b%d", r));
        SUBTRACT(NAMED("near%d", r), "ones", NAMED("far%d", r));
        ACTIVATION(NAMED("hat%d", r), NAMED("near%d", r), RELU);
        for (int h = 0; h < (int)heads; h++)
            COLUMNS(NAMED("c%d.%d", r, h), h > 0 ? NAMED("e%d", h) : "e", r, 1);
        zoo_concat(z, NAMED("of%d", r), NAMED("c%d.", r), heads);
        EDGE_ROWS(NAMED("to%d", r), slot, NAMED("of%d", r), RECEIVERS);
        MULTIPLY(NAMED("term%d", r), NAMED("hat%d", r), NAMED("to%d", r));
    }
    zoo_sum(z, "bias", "term", positions);
    LINEAR("v", "x", COLS("x"), d);
    STEP(AGGREGATE, "heads", .graph = slot, .query = "q", .key = "k", .inputs = {"v"},
         .edge_bias = "bias",
         .layer = {.in = d, .heads = heads, .aggregator = &gnn_aggregator_attention});
    LINEAR("o", "heads", d, COUNT("w.o"));
}

/* J2 | guided attention | y = sum over heads and pairs of (A_h - P_h)^2: P_0 marks the row before,
 * P_1 the row after, others the first | O(n^2 d), pairs stored | Deshpande and Narasimhan 2020 */
ENTRY(guided_attention)
{
    const int slot = zoo_as_edges(z, zoo_complete(z));
    const int64_t heads = N("p.heads"), *place = zoo_positions(z);
    int64_t *src, *dst;
    zoo_incidence(z);
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    gnn_real_t *p = zoo_constant(z, "P", m, heads);
    for (int64_t e = 0; e < m; e++)
        for (int64_t h = 0; h < heads; h++) {
            const bool beside = src[e] == dst[e] + (h == 0 ? -1 : 1);
            p[e * heads + h] = h < 2 ? beside : place[src[e]] == 0;
        }
    scores_of_pairs(z, slot);
    OP("e", exp, "s"), HOP("all", slot + 1, "e", heads, sum), OP("over", power, "all", -1);
    EDGE_ROWS("by", slot, "over", RECEIVERS), MULTIPLY("A", "e", "by");
    SUBTRACT("off", "A", "P"), MULTIPLY("squares", "off", "off");
    OP("of pairs", head_sum, "squares", 1), HOP("y", zoo_whole(z, m), "of pairs", 1, sum);
}

/* -1 / H^2 times the sum over segments of the mean over rows of |sum of unit heads|^2: the
 * cosines of all pairs of heads. */
static void alike(zoo_t *z, const char *name, const char *x, int pool, int whole, int64_t heads)
{
    const char *unit = NAMED("unit %s", x), *sum = NAMED("sum %s", x), *square = NAMED("sq %s", x),
               *rows = NAMED("rows %s", x), *means = NAMED("means %s", x), *all = NAMED("all %s", x);
    OP(unit, unit_heads, x, (double)heads), OP(sum, fold_heads, unit, (double)heads);
    MULTIPLY(square, sum, sum), OP(rows, head_sum, square, 1), HOP(means, pool, rows, 1, mean);
    HOP(all, whole, means, 1, sum), SCALE(name, all, -1 / (double)(heads * heads));
}

/* J1 | disagreement of heads | -1 / H^2 times sums over pairs of heads: cosines of values, of
 * outputs, products of weights | O(n^2 d), pairs stored | Li et al. 2018 */
ENTRY(disagreement)
{
    const int slot = zoo_as_edges(z, zoo_complete(z)), pairs = zoo_incidence(z),
              pool = zoo_pool(z, 1);
    const int64_t heads = N("p.heads"), d = COUNT("w.o");
    int64_t segments, *src, *dst;
    (void)zoo_segments(z, &segments);
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    const int whole = zoo_whole(z, segments), all = zoo_whole(z, m);
    scores_of_pairs(z, slot);
    OP("e", exp, "s"), HOP("sums", pairs, "e", heads, sum), OP("over", power, "sums", -1);
    EDGE_ROWS("by", slot, "over", RECEIVERS), MULTIPLY("A", "e", "by");
    weighed(z, slot, "A", &gnn_aggregator_sum);
    alike(z, "values", "v", pool, whole, heads), alike(z, "outputs", "heads", pool, whole, heads);
    OP("mass", head_sum, "A", 1), MULTIPLY("mass2", "mass", "mass");
    HOP("overlap", all, "mass2", 1, sum);
    SCALE("positions", "overlap", -1 / (double)(heads * heads));
    zoo_filled(z, "none", 1, d - 3, 0), CONCAT("terms", "values", "outputs", "positions", "none");
    STACK("y", "o", "terms");
}

FAMILY(J, AT(multi_query), AT(grouped_query), AT(key_heads_value_heads), AT(free_head_size),
       AT(head_gates), AT(hard_concrete_gates), AT(talking_heads), AT(collaborative_heads),
       AT(multi_scale), AT(routing_by_agreement), AT(em_routing), AT(differential),
       AT(gated_output), AT(latent_attention), AT(undirected), AT(softcap), AT(qk_norm_l2),
       AT(qk_norm_rms), AT(l2_scores), AT(sinks), AT(softmax_one), AT(weigher_linear),
       AT(weigher_sigmoid), AT(hard_argmax_straight_through), AT(gumbel_attention),
       AT(gumbel_attention_hard), AT(weigher_relu), AT(weigher_relu_squared), AT(stick_breaking),
       AT(slots), AT(cope), AT(guided_attention), AT(disagreement))
