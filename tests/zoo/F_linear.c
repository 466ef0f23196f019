/* Linear attention, decays, and recurrences with a diagonal state: one aggregation with running
 * sums. */
#include "zoo.h"

#include <math.h>

/* Added to the sum of weights: nothing, as in the papers. */
#define NO_EPS 1e-30
#define RATIO(SLOT, EPS, ...)                                                                  \
    ATTENTION("y", SLOT, "x", COLS("x"), .heads = N("p.heads"), .weigher = &gnn_weigher_ratio, \
              .weigher_options = {EPS}, __VA_ARGS__)

/* F1 | Linear Transformer | y_i = phi(q_i) S / (phi(q_i) z), S = sum over j of phi(k_j)' v_j, z =
 * sum of phi(k_j)', phi = elu + 1 | O(n d^2 / heads) | Katharopoulos et al. 2020 */
ENTRY(linear_elu1)
{
    RATIO(zoo_complete(z), NO_EPS, .map = &gnn_map_elu1);
}

/* F1 | Linear Transformer, causal | y_i = phi(q_i) S_i / (phi(q_i) z_i), S_i = sum over j <= i of
 * phi(k_j)' v_j, z_i = sum of phi(k_j)', phi = elu + 1 | O(n d^2 / heads) | Katharopoulos et al.
 * 2020 */
ENTRY(linear_elu1_causal)
{
    RATIO(zoo_causal(z), NO_EPS, .map = &gnn_map_elu1);
}

/* F1 | Linear attention over a window | y_i = phi(q_i) S_i / (phi(q_i) z_i), sums over the rows i -
 * back .. i, phi = elu + 1 | O(n d^2 / heads) | Katharopoulos et al. 2020 */
ENTRY(linear_window)
{
    RATIO(zoo_window(z, N("p.back"), 1, GNN_ON), NO_EPS, .map = &gnn_map_elu1);
}

/* F3 | Performer, positive features | y = phi(q) phi(k)' v / (phi(q) phi(k)' 1), phi(x) = exp(w . x
 * - |x|^2 / 2) / sqrt(m), x times width^(-1/4), causal | O(n m d) | Choromanski et al. 2021 */
ENTRY(performer_positive_exact)
{
    RATIO(zoo_causal(z), NO_EPS, .map = &gnn_map_favor, .map_options = {(double)COUNT("r.W")});
    TURN("y.map.features", "r.W");
}

/* F4 | Performer, relu features | phi(x) = relu(w . x) + eps | O(n m d) | Choromanski et al.
 * 2021 */
ENTRY(performer_relu)
{
    RATIO(zoo_complete(z), NO_EPS, .map = &gnn_map_favor_relu,
          .map_options = {(double)COUNT("r.W"), R("p.eps")});
    TURN("y.map.features", "r.W");
}

/* F2 | Performer, trigonometric features | phi(x) = exp(|x|^2 / 2) / sqrt(m) [sin(w . x), cos(w
 * . x)] | O(n m d) | Choromanski et al. 2020 */
ENTRY(performer_trigonometric)
{
    RATIO(zoo_complete(z), NO_EPS, .map = &gnn_map_favor_trigonometric,
          .map_options = {(double)COUNT("r.W")});
    TURN("y.map.features", "r.W");
}

/* F5 | Random feature attention | phi(x) = [sin(w . x), cos(w . x)] / sqrt(m) of unit rows,
 * causal | O(n m d) | Peng et al. 2021 */
ENTRY(rfa)
{
    RATIO(zoo_causal(z), NO_EPS, .map = &gnn_map_rfa,
          .map_options = {(double)COUNT("r.W"), R("p.sigma")});
    TURN("y.map.features", "r.W");
}

/* Logarithms of sigmoid(x), or of 1 - sigmoid(x). */
static void log_sigmoid(zoo_t *z, const char *name, const char *x, double sign)
{
    SCALE(NAMED("%s.x", name), x, -sign),
        ACTIVATION(NAMED("%s.soft", name), NAMED("%s.x", name), SOFTPLUS);
    SCALE(name, NAMED("%s.soft", name), -1);
}

/* F6 | Random feature attention, gated | S_t = g S + (1 - g) phi(k) v', z alike, g = sigmoid(x
 * . w + b) | O(n m d) | Peng et al. 2021 */
ENTRY(rfa_gate)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    AFFINE("g", "x", d, heads), SET("g.bias", "b"), log_sigmoid(z, "keep", "g", 1),
        log_sigmoid(z, "enter", "g", -1);
    STEP(LAYER, "y", .graph = zoo_causal(z), .inputs = {"x"}, .priors = {"keep", "enter"},
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .map = &gnn_map_rfa,
                   .map_options = {(double)COUNT("r.W"), R("p.sigma")},
                   .weigher = &gnn_weigher_ratio,
                   .weigher_options = {NO_EPS},
                   .priors = {{&gnn_prior_decay, .given = GNN_ON},
                              {&gnn_prior_sender, .given = GNN_ON}}});
    TURN("y.map.features", "r.W");
}

/* F7 | DPFP | products of relu([x, -x]) with itself shifted, over their sum; causal | O(n nu
 * d^2) | Schlag et al. 2021 */
ENTRY(dpfp)
{
    ATTENTION("y", zoo_causal(z), "x", COLS("x"), .heads = N("p.heads"), .scale = 1,
              .map = &gnn_map_dpfp, .map_options = {R("p.nu"), R("p.eps")},
              .weigher = &gnn_weigher_linear);
}

/* 6.3 | Based, Taylor features | weights 1 + s + s^2 / 2 over their sum, causal | O(n d^3 /
 * heads^2) | Arora et al. 2024 */
ENTRY(taylor)
{
    RATIO(zoo_causal(z), R("p.eps"), .scale = 1, .map = &gnn_map_taylor);
}

/* 6.3 | cosFormer | y_i = sum over j <= i of w_ij v_j / sum of w_ij, w_ij = relu(q_i) . relu(k_j)
 * cos(pi/2 (i - j) / M) | O(n d^2) | Qin et al. 2022 */
ENTRY(cosformer)
{
    RATIO(zoo_causal(z), NO_EPS, .map = &gnn_map_cosformer, .map_options = {R("p.longest")});
}

/* F3 | Performer, positive features with a maximum | y = phi(q) phi(k)' v / (phi(q) phi(k)' 1),
 * phi(x) = (exp(w . x - |x|^2 / 2 - max) + eps) / sqrt(m), x times width^(-1/4); no gradient
 * through the maximum | O(n m d) | Choromanski et al. 2021 */
ENTRY(performer_positive)
{
    const int64_t d = COLS("x"), n = COUNT("x"), heads = N("p.heads"), width = d / heads,
                  m = COUNT("r.W");
    const int complete = zoo_complete(z), pool = zoo_pool(z, 1);
    const double root = pow((double)width, -0.25);
    zoo_filled(z, "ones", n, m, 1), zoo_filled(z, "one", n, 1, 1),
        zoo_filled(z, "eps", 1, m, R("p.eps"));
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    for (int h = 0; h < heads; h++) {
        for (int side = 0; side < 2; side++) {
            const char *p = NAMED("%c%d", "qk"[side], h);
            const bool first = h == 0 && side == 0;
            COLUMNS(NAMED("%s.own", p), side ? "k" : "q", h * width, width),
                SCALE(NAMED("%s.x", p), NAMED("%s.own", p), root);
            const char *wx = first ? "r.W" : NAMED("%s.w", p);
            STEP(LINEAR, wx, .inputs = {NAMED("%s.x", p)}, .in = width, .out = m, .bias = GNN_OFF,
                 .share = first ? NULL : "r.W");
            MULTIPLY(NAMED("%s.x2", p), NAMED("%s.x", p), NAMED("%s.x", p)),
                OP(NAMED("%s.l2", p), head_sum, NAMED("%s.x2", p), 1);
            for (int c = 0; c < m; c++)
                COLUMNS(NAMED("%s.c%d", p, c), wx, c, 1);
            zoo_maximum(z, NAMED("%s.rows", p), NAMED("%s.c", p), m);
            if (side)
                HOP(NAMED("%s.all", p), pool, NAMED("%s.rows", p), 1, max),
                    zoo_spread(z, NAMED("%s.max", p), NAMED("%s.all", p));
            DETACH(NAMED("%s.stop", p), side ? NAMED("%s.max", p) : NAMED("%s.rows", p));
            ADD_TIMES(NAMED("%s.less", p), NAMED("%s.stop", p), 0.5, NAMED("%s.l2", p));
            MULTIPLY(NAMED("%s.wide", p), "ones", NAMED("%s.less", p)),
                SUBTRACT(NAMED("%s.e", p), wx, NAMED("%s.wide", p));
            OP(NAMED("%s.exp", p), exp, NAMED("%s.e", p), 0),
                ADD(NAMED("%s.phi", p), NAMED("%s.exp", p), "eps");
        }
        COLUMNS(NAMED("v%d", h), "v", h * width, width),
            CONCAT(NAMED("v%d.1", h), NAMED("v%d", h), "one");
        ATTEND(NAMED("sums%d", h), complete, NAMED("q%d.phi", h), NAMED("k%d.phi", h),
               NAMED("v%d.1", h), width + 1, .d_k = m, .d_v = width + 1, .scale = 1,
               .weigher = &gnn_weigher_linear);
        COLUMNS(NAMED("above%d", h), NAMED("sums%d", h), 0, width),
            COLUMNS(NAMED("below%d", h), NAMED("sums%d", h), width, 1);
        OP(NAMED("inverse%d", h), power, NAMED("below%d", h), -1),
            MULTIPLY(NAMED("head%d", h), NAMED("above%d", h), NAMED("inverse%d", h));
    }
    zoo_concat(z, "heads", "head", heads), LINEAR("o", "heads", d, d);
}

/* ---- softmax of keys over positions ---- */

/* q' (softmax over the senders of k)' v, heads of queries over one key and value head each. */
static void lambda(zoo_t *z, const char *name, const char *q, const char *k, const char *v,
                   int64_t keys, int64_t values, int pool)
{
    int64_t count;
    zoo_segments(z, &count);
    if (!zoo_given(z, "ones"))
        zoo_filled(z, "ones", count, keys, 1);
    ATTEND(NAMED("%s.S", name), pool, "ones", k, v, values, .heads = keys, .value_heads = 1,
           .d_k = 1, .d_v = values, .scale = 1);
    zoo_spread(z, NAMED("%s.Sx", name), NAMED("%s.S", name)),
        OP2(name, row_matrix, q, NAMED("%s.Sx", name));
}

/* F1 | Efficient attention | softmax of q over its width, of k over the senders, y = q' (k' v)
 * | O(n d^2 / heads) | Shen et al. 2021 */
ENTRY(linear_softmax_maps)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads;
    const int pool = zoo_pool(z, 1);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("q%d", h), "q", h * width, width),
            COLUMNS(NAMED("k%d", h), "k", h * width, width),
            COLUMNS(NAMED("v%d", h), "v", h * width, width);
        OP(NAMED("p%d", h), softmax_rows, NAMED("q%d", h), 0),
            SCALE(NAMED("s%d", h), NAMED("p%d", h), 1 / sqrt((double)width));
        lambda(z, NAMED("head%d", h), NAMED("s%d", h), NAMED("k%d", h), NAMED("v%d", h), width,
               width, pool);
    }
    zoo_concat(z, "heads", "head", heads), LINEAR("o", "heads", d, d);
}

/* 6.3 | Lambda layer, content | y_i = q_i (softmax over positions(K)' V), shared by the heads |
 * O(n d d_k) | Bello 2021 */
ENTRY(lambda_layer)
{
    const int64_t d = COLS("x"), keys = N("p.d_k"), values = COUNT("w.v"), heads = N("p.heads");
    const int pool = zoo_pool(z, 1);
    LINEAR("q", "x", d, COUNT("w.q")), LINEAR("k", "x", d, keys), LINEAR("v", "x", d, values);
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("q%d", h), "q", h * keys, keys);
        lambda(z, NAMED("head%d", h), NAMED("q%d", h), "k", "v", keys, values, pool);
    }
    zoo_concat(z, "y", "head", heads);
}

/* ---- decays ---- */

/* 6.3 | RetNet, retention | y_i = sum over j <= i of q_i . k_j gamma_h^(i - j) v_j / sqrt(width) |
 * O(n d^2 / heads) | Sun et al. 2023 */
ENTRY(retention)
{
    const int64_t heads = N("p.heads");
    gnn_real_t *slopes = zoo_constant(z, "slopes", 1, heads);
    for (int64_t h = 0; h < heads; h++)
        slopes[h] = REAL(-log(zoo_element(z, "r.gamma", h)));
    STEP(LAYER, "y", .graph = zoo_causal(z), .inputs = {"x"}, .priors = {"slopes"},
         .layer = {.in = COLS("x"),
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .weigher = &gnn_weigher_decay,
                   .priors = {{&gnn_prior_slope, .given = GNN_ON}}});
}

/* 6.3 | Mamba-2, simple GLA | S_t = exp(g_t) S + k v', g = log sigmoid(x W_g) per head | O(n
 * d^2 / heads) | Dao and Gu 2024 */
ENTRY(scalar_gated_linear)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    LINEAR("g", "x", d, heads), log_sigmoid(z, "gates", "g", 1);
    STEP(LAYER, "y", .graph = zoo_causal(z), .inputs = {"x"}, .priors = {"gates"},
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .weigher = &gnn_weigher_decay,
                   .priors = {{&gnn_prior_decay, .given = GNN_ON}}});
}

/* 6.3 | Gated linear attention | S_t = diag(exp(g_t)) S + k v', a gate per key channel: factors
 * exp(c_i) and exp(-c_j) | O(n d^2 / heads) | Yang et al. 2024 */
ENTRY(gla)
{
    const int64_t d = COLS("x");
    const int slot = zoo_causal(z);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d), LINEAR("g", "x", d, d);
    log_sigmoid(z, "log", "g", 1),
        SCALE("gates", "log", 1 / (zoo_has(z, "p.gate_divisor") ? R("p.gate_divisor") : 1));
    HOP("c", slot, "gates", d, sum), OP("e^c", exp, "c", 0), SCALE("-c", "c", -1),
        OP("e^-c", exp, "-c", 0);
    MULTIPLY("query", "q", "e^c"), MULTIPLY("key", "k", "e^-c");
    ATTEND("a", slot, "query", "key", "v", d, .heads = N("p.heads"), .weigher = &gnn_weigher_linear),
        LINEAR("o", "a", d, d);
}

/* sum over j <= i of q_i k_j exp(gates after j up to i) v_j, a channel per head. */
static void scan(zoo_t *z, const char *name, int slot, const char *q, const char *k, const char *v,
                 const char *gates, const char *enter)
{
    const int64_t d = COLS("x");
    STEP(AGGREGATE, name, .graph = slot, .query = q, .key = k, .inputs = {v},
         .priors = {gates, enter},
         .layer = {.in = d,
                   .heads = d,
                   .d_k = 1,
                   .d_v = 1,
                   .aggregator = &gnn_aggregator_attention,
                   .scale = 1,
                   .weigher = &gnn_weigher_decay,
                   .priors = {{&gnn_prior_decay, .given = GNN_ON},
                              {enter ? &gnn_prior_sender : NULL,
                               .given = enter ? GNN_ON : GNN_FLAG_DEFAULT}}});
}

/* 6.3 | Diagonal recurrence (HGRN, minimal gated unit) | h_t = a_t h_t-1 + (1 - a_t) x W_i, a =
 * sigmoid(x W_f) | O(n d) | Qin et al. 2023 */
ENTRY(diagonal_recurrence)
{
    const int64_t d = COLS("x");
    LINEAR("f", "x", d, d), LINEAR("i", "x", d, d);
    log_sigmoid(z, "keep", "f", 1), log_sigmoid(z, "enter", "f", -1);
    zoo_filled(z, "ones", COUNT("x"), d, 1);
    scan(z, "y", zoo_causal(z), "ones", "ones", "i", "keep", "enter");
}

/* Row s of a learned array (channels x states). */
static void state_row(zoo_t *z, const char *name, const char *array, int64_t s)
{
    const int64_t states = COLS(NAMED("w.%s", array));
    PARAMETER(name, 1, COLS("x"));
    BIND(NAMED("%s.rows", name), array, .base = s, .strided = true, .row_step = 1,
         .col_step = states);
}

/* y = sum over states of C h + D x, h_t = exp(dt A) h + dt B x; A is "A0", "A1", ... */
static void selective(zoo_t *z, const char *name, const char *x, const char *dt, const char *b,
                      int64_t from_b, const char *c, int64_t from_c)
{
    const int64_t d = COLS("x"), states = N("p.states");
    const int slot = zoo_causal(z);
    zoo_filled(z, "ones", COUNT("x"), d, 1), MULTIPLY("dt x", dt, x);
    for (int s = 0; s < states; s++) {
        MULTIPLY(NAMED("gates%d", s), dt, NAMED("A%d", s));
        COLUMNS(NAMED("B%d", s), b, from_b + s, 1),
            MULTIPLY(NAMED("k%d", s), "ones", NAMED("B%d", s));
        COLUMNS(NAMED("C%d", s), c, from_c + s, 1),
            MULTIPLY(NAMED("q%d", s), "ones", NAMED("C%d", s));
        scan(z, NAMED("h%d", s), slot, NAMED("q%d", s), NAMED("k%d", s), "dt x",
             NAMED("gates%d", s), NULL);
    }
    zoo_sum(z, "states", "h", states), PARAMETER("D", 1, d), MULTIPLY("through", x, "D"),
        ADD(name, "states", "through");
}

/* 6.3 | Selective scan (S6) | h_t = exp(dt A) h + dt B x, y = C h + D x, dt, B and C from x |
 * O(n d states) | Gu and Dao 2024 */
ENTRY(selective_scan)
{
    const int64_t d = COLS("x"), states = N("p.states");
    AFFINE("dt", "x", d, d), SET("dt.bias", "b"), ACTIVATION("step", "dt", SOFTPLUS);
    LINEAR("B", "x", d, states), LINEAR("C", "x", d, states);
    for (int s = 0; s < states; s++)
        state_row(z, NAMED("A%d", s), "A", s);
    selective(z, "y", "x", "step", "B", 0, "C", 0);
}

/* 6.3 | Mamba block | [u, g] = W_in x, y = W_out (scan(silu(conv(u))) silu(g)), conv causal per
 * channel, scan as in selective_scan | O(n d (d + states)) | Gu and Dao 2024 */
ENTRY(mamba_block)
{
    const int64_t d = COLS("x"), states = N("p.states"), rank = N("p.dt_rank"),
                  taps = zoo_shape(z, "w.conv1d.weight", -1);
    LINEAR("in_proj", "x", d, 2 * d), COLUMNS("u0", "in_proj", 0, d), COLUMNS("g", "in_proj", d, d);
    zoo_depthwise(z, "conv", "u0", "conv1d.weight", 1 - taps, 0), PARAMETER("conv1d.bias", 1, d);
    ADD("biased", "conv", "conv1d.bias"), ACTIVATION("u", "biased", SILU),
        LINEAR("x_proj", "u", d, rank + 2 * states);
    COLUMNS("low", "x_proj", 0, rank), AFFINE("dt_proj", "low", rank, d),
        ACTIVATION("dt", "dt_proj", SOFTPLUS);
    for (int s = 0; s < states; s++) {
        state_row(z, NAMED("log%d", s), "A_log", s);
        OP(NAMED("exp%d", s), exp, NAMED("log%d", s), 0),
            SCALE(NAMED("A%d", s), NAMED("exp%d", s), -1);
    }
    selective(z, "scanned", "u", "dt", "x_proj", rank, "x_proj", rank + states);
    ACTIVATION("gate", "g", SILU), MULTIPLY("gated", "scanned", "gate"),
        LINEAR("out_proj", "gated", d, d);
}

/* 6.3 | MEGA, damped moving average | h_t = alpha beta x_t + (1 - alpha delta) h_t-1, y = eta .
 * h | O(n d states) | Ma et al. 2022 */
ENTRY(mega_ema)
{
    const int64_t d = COLS("x"), states = N("p.states");
    const int slot = zoo_causal(z);
    zoo_filled(z, "ones", COUNT("x"), d, 1), zoo_filled(z, "one", 1, d, 1);
    for (int s = 0; s < states; s++) {
        state_row(z, NAMED("alpha%d", s), "alpha", s), state_row(z, NAMED("delta%d", s), "delta", s);
        state_row(z, NAMED("beta%d", s), "beta", s), state_row(z, NAMED("eta%d", s), "eta", s);
        ACTIVATION(NAMED("a%d", s), NAMED("alpha%d", s), SIGMOID),
            ACTIVATION(NAMED("d%d", s), NAMED("delta%d", s), SIGMOID);
        MULTIPLY(NAMED("ad%d", s), NAMED("a%d", s), NAMED("d%d", s)),
            SUBTRACT(NAMED("keep%d", s), "one", NAMED("ad%d", s));
        OP(NAMED("log%d", s), log, NAMED("keep%d", s), 0),
            SCALE(NAMED("slope%d", s), NAMED("log%d", s), -1);
        MULTIPLY(NAMED("ab%d", s), NAMED("a%d", s), NAMED("beta%d", s)),
            MULTIPLY(NAMED("abe%d", s), NAMED("ab%d", s), NAMED("eta%d", s));
        MULTIPLY(NAMED("v%d", s), "x", NAMED("abe%d", s));
        STEP(AGGREGATE, NAMED("h%d", s), .graph = slot, .query = "ones", .key = "ones",
             .inputs = {NAMED("v%d", s)}, .priors = {NAMED("slope%d", s)},
             .layer = {.in = d,
                       .heads = d,
                       .d_k = 1,
                       .d_v = 1,
                       .aggregator = &gnn_aggregator_attention,
                       .scale = 1,
                       .weigher = &gnn_weigher_decay,
                       .priors = {{&gnn_prior_slope, .given = GNN_ON}}});
    }
    zoo_sum(z, "y", "h", states);
}

/* ---- on graphs ---- */

/* 6.3 | GPS with a Performer | h = (x + W sum over j = i and neighbours of x_j) + (x + linear
 * attention over all nodes by relu features), y = h + mlp(h) | O(m d + n m d) | Rampasek et al.
 * 2022 */
ENTRY(gps_performer)
{
    const int64_t n = COUNT("x"), d = COLS("x"), heads = N("p.heads"),
                  hidden = COUNT("w.mlp.0.bias"), all = COUNT("w.attn.q.weight");
    const double root = pow((double)all / (double)heads, 0.25);
    HOP("sum", zoo_edges(z), "x", d, sum), ADD("near", "x", "sum"), AFFINE("conv.nn", "near", d, d),
        ADD("local", "x", "conv.nn");
    LINEAR("attn.q", "x", d, all), LINEAR("attn.k", "x", d, all), LINEAR("attn.v", "x", d, all),
        SCALE("q", "attn.q", root), SCALE("k", "attn.k", root);
    ATTEND("a", zoo_complete_of(z, 1, &n), "q", "k", "attn.v", all, .heads = heads,
           .map = &gnn_map_favor_relu, .map_options = {(double)COUNT("r.W"), 1e-3},
           .weigher = &gnn_weigher_ratio, .weigher_options = {NO_EPS});
    TURN("a.map.features", "r.W"), AFFINE("attn.attn_out", "a", all, d),
        ADD("global", "x", "attn.attn_out"), ADD("both", "local", "global");
    AFFINE("mlp.0", "both", d, hidden), ACTIVATION("relu", "mlp.0", RELU),
        AFFINE("mlp.3", "relu", hidden, d), ADD("y", "both", "mlp.3");
}

/* 6.3 | NodeFormer | y = W_O (a + sigmoid(b) D^-1/2 A D^-1/2 v), a_i = sum over j of w_ij v_j / sum
 * of w_ij, w_ij = phi(q_i / sqrt(tau)) . phi(k_j / sqrt(tau)) exp(g_j / tau), phi positive random
 * features | O(n m d) | Wu et al. 2022 */
ENTRY(nodeformer)
{
    const int64_t n = COUNT("x"), d = COLS("x"), heads = N("p.heads");
    const double root = 1 / sqrt(R("p.tau"));
    int64_t m, *src = zoo_integers(z, "src", &m), *dst = zoo_integers_of(z, "dst", m),
               *degree = zoo_room(z, n);
    gnn_real_t *weight = zoo_constant(z, "norm", m, 1), *noise = zoo_constant(z, "noise", n, heads);
    for (int64_t e = 0; e < m; e++)
        degree[dst[e]]++;
    for (int64_t e = 0; e < m; e++)
        weight[e] = REAL(1 / sqrt((double)degree[src[e]] * (double)degree[dst[e]]));
    for (int64_t k = 0; k < n * heads; k++)
        noise[k] = REAL(zoo_element(z, "r.gumbel", k % heads * n + k / heads) / R("p.tau"));
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d),
        SCALE("query", "q", root), SCALE("key", "k", root);
    STEP(AGGREGATE, "all", .graph = zoo_complete_of(z, 1, &n), .query = "query", .key = "key",
         .inputs = {"v"}, .priors = {"noise"},
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .map = &gnn_map_favor,
                   .map_options = {(double)COUNT("r.W")},
                   .weigher = &gnn_weigher_ratio,
                   .weigher_options = {NO_EPS},
                   .priors = {{&gnn_prior_sender, .given = GNN_ON}}});
    TURN("all.map.features", "r.W");
    STEP(AGGREGATE, "near", .graph = zoo_edges(z), .inputs = {"v"}, .edge_weight = "norm",
         .layer = {.in = d, .aggregator = &gnn_aggregator_sum});
    PARAMETER("b", 1, heads), ACTIVATION("share", "b", SIGMOID),
        SCALE_HEADS("part", "near", "share"), ADD("sum", "all", "part"), LINEAR("o", "sum", d, d);
}

/* The op delta over unit rows of keys; `gates` may be NULL. */
static void delta(zoo_t *z, const char *gates)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    OP("unit", unit_heads, "k", (double)heads);
    LINEAR("b", "x", d, heads), ACTIVATION("beta", "b", SIGMOID);
    STEP(OP, "memory", .op = &gnn_op_delta, .graph = zoo_causal(z),
         .inputs = {"q", "unit", "v", "beta", gates}, .options = {(double)heads});
    LINEAR("o", "memory", d, d);
}

/* F8 | DeltaNet | u = beta (v - S' k), S = S + k u', y = S' q / sqrt(d) | O(n d^2 / heads) |
 * Schlag et al. 2021, Yang et al. 2024 */
ENTRY(delta_rule)
{
    delta(z, NULL);
}

/* Products of relu([x, -x]) with itself shifted by one, over their sum, head by head. */
static void shifted_products(zoo_t *z, const char *name, const char *x, int64_t heads, int64_t width)
{
    for (int h = 0; h < (int)heads; h++) {
        const char *own = NAMED("%s.x%d", name, h), *minus = NAMED("%s.m%d", name, h),
                   *both = NAMED("%s.b%d", name, h), *r = NAMED("%s.r%d", name, h),
                   *last = NAMED("%s.l%d", name, h), *others = NAMED("%s.o%d", name, h),
                   *rolled = NAMED("%s.t%d", name, h), *products = NAMED("%s.p%d", name, h),
                   *sum = NAMED("%s.s%d", name, h), *over = NAMED("%s.i%d", name, h);
        COLUMNS(own, x, h * width, width), SCALE(minus, own, -1), CONCAT(both, own, minus);
        ACTIVATION(r, both, RELU), COLUMNS(last, r, 2 * width - 1, 1);
        COLUMNS(others, r, 0, 2 * width - 1), CONCAT(rolled, last, others);
        MULTIPLY(products, r, rolled), OP(sum, head_sum, products, 1);
        OP(over, power, sum, -1, R("p.eps")), SCALE_HEADS(NAMED("%s.%d", name, h), products, over);
    }
    zoo_concat(z, name, NAMED("%s.", name), heads);
}

/* F8 | fast weights | S = S + beta (v - S phi(k)) phi(k)', y = S phi(q), phi DPFP over its sum |
 * O(n d^2 / heads) | Schlag et al. 2021 */
ENTRY(fast_weights_delta)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    LINEAR("query.linear.weight", "x", d, d), LINEAR("key.linear.weight", "x", d, d);
    LINEAR("value.linear.weight", "x", d, d);
    shifted_products(z, "q", "query.linear.weight", heads, d / heads);
    shifted_products(z, "k", "key.linear.weight", heads, d / heads);
    LINEAR("interpolation_weight.0.linear.weight", "x", d, heads);
    ACTIVATION("beta", "interpolation_weight.0.linear.weight", SIGMOID);
    STEP(OP, "memory", .op = &gnn_op_delta, .graph = zoo_causal(z),
         .inputs = {"q", "k", "value.linear.weight", "beta"}, .options = {(double)heads, 1});
    AFFINE("output", "memory", d, d);
}

/* 6.3 | Gated DeltaNet | S_t = (I - beta k k') exp(g_t) S_t-1 + beta k v', y = S' q; g per head |
 * O(n d^2 / heads) | Yang et al. 2025 */
ENTRY(gated_delta_rule)
{
    LINEAR("g", "x", COLS("x"), N("p.heads")), log_sigmoid(z, "gates", "g", 1);
    delta(z, "gates");
}

/* 6.3 | Kimi delta attention | S_t = (I - beta k k') diag(exp(g_t)) S_t-1 + beta k v', y = S' q; g
 * per channel of k | O(n d^2 / heads) | Kimi Team 2025 */
ENTRY(kimi_delta)
{
    LINEAR("g", "x", COLS("x"), COLS("x")), log_sigmoid(z, "gates", "g", 1);
    delta(z, "gates");
}

FAMILY(F, AT(linear_elu1), AT(linear_elu1_causal), AT(linear_window), AT(performer_positive_exact),
       AT(performer_relu), AT(performer_trigonometric), AT(rfa), AT(rfa_gate), AT(dpfp), AT(taylor),
       AT(cosformer), AT(performer_positive), AT(linear_softmax_maps), AT(lambda_layer),
       AT(retention), AT(scalar_gated_linear), AT(gla), AT(diagonal_recurrence), AT(selective_scan),
       AT(mamba_block), AT(mega_ema), AT(gps_performer), AT(nodeformer), AT(delta_rule),
       AT(gated_delta_rule), AT(kimi_delta), AT(fast_weights_delta))
