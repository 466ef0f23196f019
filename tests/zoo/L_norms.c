/* Norms and residual rules. */
#include "zoo.h"

/* L3 | Admin | y = LN(omega x + f(x)), omega from a profiling pass | O(n d) | Liu et al. 2020 */
ENTRY(admin)
{
    const int64_t d = COLS("x");
    PARAMETER("omega", 1, d);
    MULTIPLY("scaled", "x", "omega");
    FEED_FORWARD("f", "x", "", RELU);
    ADD("sum", "scaled", "f");
    NORM("norm", "sum", LAYER, d, R("p.eps"));
}

/* The rows with mean 0 and deviation C, by d - 1. */
static void standardised(zoo_t *z)
{
    const int64_t d = COLS("x");
    zoo_approximate(z); /* eps is added to the deviation */
    NORM("rows", "x", LAYER, d, 1e-12);
    zoo_fixed(z, "rows");
    SCALE("y0", "rows", sqrt((double)(d - 1) / (double)d));
    zoo_filled(z, "one", 1, d, 1);
    SCALE("less", "y0", -R("p.k"));
    ADD("bracket", "less", "one");
}

/* L4 | AdaNorm | y = C (1 - k s) s, s = (x - mean) / std, no gradient through the bracket | O(n
 * d) | Xu et al. 2019 */
ENTRY(ada_norm)
{
    standardised(z);
    DETACH("stopped", "bracket");
    MULTIPLY("product", "y0", "stopped");
    SCALE("y", "product", R("p.C"));
}

/* L4 | AdaNorm, whole gradient | y = C (1 - k s) s | O(n d) | Xu et al. 2019 */
ENTRY(ada_norm_full_gradient)
{
    standardised(z);
    MULTIPLY("product", "y0", "bracket");
    SCALE("y", "product", R("p.C"));
}

/* L5 | ScaleNorm | y = g x / |x| | O(n d) | Nguyen and Salazar 2019 */
ENTRY(scale_norm)
{
    STEP(NORM, "unit", .inputs = {"x"}, .norm = GNN_NORM_L2, .in = COLS("x"));
    PARAMETER("g", 1, 1);
    MULTIPLY("y", "unit", "g");
}

/* L5 | l2 norm | y = x / |x| | O(n d) | Nguyen and Salazar 2019 */
ENTRY(l2_rows)
{
    STEP(NORM, "y", .inputs = {"x"}, .norm = GNN_NORM_L2, .in = COLS("x"));
}

/* Rows times 1 / psi, a row of running or of given statistics. */
static void by_deviation(zoo_t *z, const char *name, const char *square, double eps)
{
    OP(NAMED("%s.by", name), power, square, -0.5, eps);
    MULTIPLY(name, "x", NAMED("%s.by", name));
}

/* The norm of "unit", whose gradient is pulled towards 0 by the running nu; the next psi^2. A
 * program has the next nu from the gradient g of the gains: nu (1 - (1 - a) mean(unit^2)) + (1 - a)
 * gain g / n. */
static void power_norm_of(zoo_t *z)
{
    const int64_t d = COLS("x");
    const double a = R("p.a");
    zoo_row(z, "r.nu"), MULTIPLY("nu x", "unit", "r.nu"), SCALE("-nu x", "nu x", -1);
    DETACH("pull", "-nu x"), OP2("pulled", add_gradient, "unit", "pull");
    SCALE("kept", "r.psi2", a), ADD_TIMES("psi2", "kept", 1 - a, "mean square");
    PARAMETER("norm", 1, d), MULTIPLY("scaled", "pulled", "norm");
    PARAMETER("bias", 1, d), ADD("y", "scaled", "bias"), zoo_also(z, "psi2", "psi2_new");
}

static void squares(zoo_t *z)
{
    zoo_row(z, "r.psi2"), MULTIPLY("square", "x", "x");
    HOP("mean square", zoo_whole(z, COUNT("x")), "square", COLS("x"), mean);
}

/* L6 | PowerNorm | y = g x / psi + b, psi^2 the running mean of squares; backward adds -nu x / psi
 * to the gradient of x / psi, nu a running mean | O(n d) | Shen et al. 2020 */
ENTRY(power_norm)
{
    squares(z), by_deviation(z, "unit", "r.psi2", 0), power_norm_of(z);
}

/* L6 | PowerNorm, as the authors' code | y = g x / psi + b, psi^2 the running mean of squares; the
 * gradient is divided by the deviation of this batch, and -nu x / psi added | O(n d) | Shen et al.
 * 2020 */
ENTRY(power_norm_code)
{
    squares(z), by_deviation(z, "forward", "r.psi2", 0);
    DETACH("batch", "mean square"), by_deviation(z, "backward", "batch", 0);
    SUBTRACT("apart", "forward", "backward"), DETACH("step", "apart"),
        ADD("unit", "backward", "step");
    power_norm_of(z);
}

/* L7 | ReZero | y = x + a f(x), a = 0 at first | O(n d) | Bachlechner et al. 2021 */
ENTRY(rezero)
{
    FEED_FORWARD("f", "x", "", RELU);
    PARAMETER("a", 1, 1);
    MULTIPLY("scaled", "f", "a");
    ADD("y", "x", "scaled");
}

/* L8 | GTrXL gate | y = (1 - u) x + u tanh(W f + U (r x)), a GRU in place of + | O(n d^2) |
 * Parisotto et al. 2020 */
ENTRY(gtrxl_gate)
{
    const int64_t d = COLS("x");
    NORM("norm", "x", LAYER, d, R("p.eps"));
    FEED_FORWARD("f", "norm", "", RELU);
    ACTIVATION("f+", "f", RELU);
    LINEAR("Wr", "f+", d, d), LINEAR("Ur", "x", d, d);
    ADD("r0", "Wr", "Ur"), ACTIVATION("r", "r0", SIGMOID);
    LINEAR("Wz", "f+", d, d), LINEAR("Uz", "x", d, d);
    PARAMETER("bg", 1, d);
    ADD("u1", "Wz", "Uz"), SUBTRACT("u0", "u1", "bg"), ACTIVATION("u", "u0", SIGMOID);
    MULTIPLY("rx", "r", "x");
    LINEAR("Wh", "f+", d, d), LINEAR("Uh", "rx", d, d);
    ADD("h0", "Wh", "Uh"), ACTIVATION("h", "h0", TANH);
    SUBTRACT("change", "h", "x"), MULTIPLY("gated", "u", "change");
    ADD("y", "x", "gated");
}

/* L9 | DLCL | input of layer l = sum over k <= l of W_lk LN_k(y_k) | O(n d layers^2) | Wang et
 * al. 2019 */
ENTRY(dlcl)
{
    const int64_t d = COLS("x"), layers = COUNT("w.W") - 1;
    for (int64_t l = 0; l <= layers; l++) {
        const char *last = l ? NAMED("f%d", (int)l) : "x";
        NORM(NAMED("norm_%d", (int)l), last, LAYER, d, R("p.eps"));
        for (int64_t k = 0; k <= l; k++) {
            const char *w = NAMED("w%d_%d", (int)l, (int)k);
            PARAMETER(w, 1, 1);
            BIND(NAMED("%s.rows", w), "W", .base = l * COLS("w.W") + k);
            MULTIPLY(NAMED("m%d_%d", (int)l, (int)k), NAMED("norm_%d", (int)k), w);
        }
        zoo_sum(z, NAMED("in%d", (int)l), NAMED("m%d_", (int)l), l + 1);
        if (l < layers)
            FEED_FORWARD(NAMED("f%d", (int)l + 1), NAMED("in%d", (int)l), NAMED("%d", (int)l + 1),
                         RELU);
    }
}

/* R6 | RMSNorm | y = g x / sqrt(mean x^2 + eps) | O(n d) | Zhang and Sennrich 2019 */
ENTRY(rms_norm)
{
    NORM("y", "x", RMS, COLS("x"), R("p.eps"));
    BIND("y.gain", "weight", .base = 0);
}

/* 6.3 | RMSNorm of Gemma | y = (1 + g) x / sqrt(mean x^2 + eps) | O(n d) | Gemma Team 2024 */
ENTRY(rms_norm_plus_one)
{
    const int64_t d = COLS("x");
    NORM("unit", "x", RMS, d, R("p.eps"));
    zoo_fixed(z, "unit");
    PARAMETER("g", 1, d);
    zoo_filled(z, "one", 1, d, 1);
    ADD("gain", "g", "one");
    MULTIPLY("y", "unit", "gain");
}

/* 6.3 | DeepNorm | y = LN(a x + f(x)), a = (2 layers)^(1/4) | O(n d) | Wang et al. 2022 */
ENTRY(deep_norm)
{
    FEED_FORWARD("f", "x", "", RELU);
    ADD_TIMES("sum", "f", R("p.alpha"), "x");
    NORM("norm", "sum", LAYER, COLS("x"), R("p.eps"));
}

/* 6.3 | LayerScale | y = x + l f(LN x), l per channel | O(n d) | Touvron et al. 2021 */
ENTRY(layer_scale)
{
    const int64_t d = COLS("x");
    NORM("norm", "x", LAYER, d, R("p.eps"));
    FEED_FORWARD("f", "norm", "", RELU);
    PARAMETER("l", 1, d);
    MULTIPLY("scaled", "f", "l");
    ADD("y", "x", "scaled");
}

/* S11 | Sandwich norm (CogView) | y = x + LN2(f(LN1 x)) | O(n d) | Ding et al. 2021 */
ENTRY(sandwich_norm)
{
    const int64_t d = COLS("x");
    NORM("norm", "x", LAYER, d, R("p.eps"));
    FEED_FORWARD("f", "norm", "", RELU);
    NORM("norm2", "f", LAYER, d, R("p.eps"));
    ADD("y", "x", "norm2");
}

/* 6.3 | Dynamic tanh | y = g tanh(a x) + b in place of a norm | O(n d) | Zhu et al. 2025 */
ENTRY(dynamic_tanh)
{
    const int64_t d = COLS("x");
    PARAMETER("alpha", 1, 1), PARAMETER("norm", 1, d), PARAMETER("bias", 1, d);
    MULTIPLY("scaled", "x", "alpha");
    ACTIVATION("bent", "scaled", TANH);
    MULTIPLY("gained", "bent", "norm");
    ADD("y", "gained", "bias");
}

/* 6.3 | Group norm by heads (RetNet) | y = LN of each head's columns, times gains, plus shifts, per
 * channel | O(n d) | Sun et al. 2023 */
ENTRY(group_norm_heads)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads;
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("x%d", h), "x", h * width, width);
        NORM(NAMED("n%d", h), NAMED("x%d", h), LAYER, width, R("p.eps"));
        zoo_fixed(z, NAMED("n%d", h));
    }
    zoo_concat(z, "heads", "n", heads);
    PARAMETER("norm", 1, d), PARAMETER("bias", 1, d);
    MULTIPLY("gained", "heads", "norm");
    ADD("y", "gained", "bias");
}

FAMILY(L, AT(power_norm), AT(power_norm_code), AT(admin), AT(ada_norm), AT(ada_norm_full_gradient),
       AT(scale_norm), AT(l2_rows), AT(rezero), AT(gtrxl_gate), AT(dlcl), AT(rms_norm),
       AT(rms_norm_plus_one), AT(deep_norm), AT(layer_scale), AT(sandwich_norm), AT(dynamic_tanh),
       AT(group_norm_heads))
