/* Feed-forward blocks. */
#include "zoo.h"

/* M1 | Squared relu (Primer) | y = relu(x)^2 | O(n d) | So et al. 2021 */
ENTRY(relu_squared)
{
    ACTIVATION("r", "x", RELU);
    MULTIPLY("y", "r", "r");
}

/* M1 | Swish with a learned slope | y = x sigmoid(b x) | O(n d) | Ramachandran et al. 2017 */
ENTRY(swish_beta)
{
    PARAMETER("beta", 1, 1);
    MULTIPLY("scaled", "x", "beta");
    ACTIVATION("gate", "scaled", SIGMOID);
    MULTIPLY("y", "x", "gate");
}

/* y = (f(x W) (x V)) U. */
static void unit(zoo_t *z, gnn_activation_t f)
{
    const int64_t d = COLS("x"), hidden = COUNT("w.W");
    LINEAR("W", "x", d, hidden), LINEAR("V", "x", d, hidden);
    STEP(ACTIVATION, "gate", .inputs = {"W"}, .activation = f);
    MULTIPLY("product", "gate", "V");
    LINEAR("U", "product", hidden, COUNT("w.U"));
}

/* M2 | GLU | y = (sigmoid(x W) (x V)) U | O(n d hidden) | Shazeer 2020 */
ENTRY(glu)
{
    unit(z, GNN_SIGMOID);
}

/* M2 | Bilinear | y = ((x W) (x V)) U | O(n d hidden) | Shazeer 2020 */
ENTRY(bilinear)
{
    unit(z, GNN_IDENTITY);
}

/* M2 | SwiGLU | y = (silu(x W) (x V)) U | O(n d hidden) | Shazeer 2020 */
ENTRY(swiglu)
{
    unit(z, GNN_SILU);
}

/* M2 | GEGLU | y = (gelu(x W) (x V)) U | O(n d hidden) | Shazeer 2020 */
ENTRY(geglu)
{
    unit(z, GNN_GELU);
}

/* M2 | ReGLU | y = (relu(x W) (x V)) U | O(n d hidden) | Shazeer 2020 */
ENTRY(reglu)
{
    unit(z, GNN_RELU);
}

/* Causal over the words of a sentence, and from `rows` learned rows behind all words to every
 * word: two parts of spans. */
static int words_and_rows(zoo_t *z, int64_t rows)
{
    const int64_t n = COUNT("x"), *place = zoo_positions(z);
    int32_t *low = zoo_room32(z, n), *high = zoo_room32(z, n), *first = zoo_room32(z, n),
            *last = zoo_room32(z, n);
    for (int64_t i = 0; i < n; i++) {
        low[i] = (int32_t)(i - place[i]), high[i] = (int32_t)(i + 1);
        first[i] = (int32_t)n, last[i] = (int32_t)(n + rows);
    }
    zoo_spans_of(z, n, n + rows, low, high);
    zoo_spans_of(z, n, n + rows, first, last);
    return zoo_merge(z, 2);
}

/* Learned keys and values beside those of the words, in one softmax. */
static void with_learned_rows(zoo_t *z)
{
    const int64_t d = COLS("x"), rows = N("p.rows");
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    PARAMETER("mk", rows, d), PARAMETER("mv", rows, d);
    STACK("keys", "k", "mk"), STACK("values", "v", "mv");
    ATTEND("a", words_and_rows(z, rows), "q", "keys", "values", d, .heads = N("p.heads"));
    LINEAR("o", "a", d, d);
}

/* M8 | All-attention | learned keys and values per head in the same softmax, no feed-forward
 * block | O(n (n + rows) d) | Sukhbaatar et al. 2019 */
ENTRY(all_attention)
{
    with_learned_rows(z);
    ADD("sum", "o", "x");
    NORM("norm", "sum", LAYER, COLS("x"), R("p.eps"));
    BIND("norm.shift", "bias", .base = 0);
}

/* 6.3 | Learned key and value rows (num_mem_kv) | softmax over words and learned rows | O(n (n
 * + rows) d) | Sukhbaatar et al. 2019 */
ENTRY(value_zero_row)
{
    with_learned_rows(z);
}

/* I11 | Adapter | y = x + W2 relu(W1 x), a narrow inner width | O(n d hidden) | Houlsby et al. 2019
 * */
ENTRY(adapter)
{
    FEED_FORWARD("f", "x", "", RELU);
    ADD("y", "x", "f");
}

/* O3 | Conditional computation (CCT) | y = x + g f(x), g a gate per row from a small network; rows
 * whose gate is not above a threshold, 0 while training, are left out of f; (mean g - budget)^2 is
 * a term of the loss | O(running d^2), running the rows that run | Bapna et al. 2020 */
ENTRY(conditional)
{
    const int64_t n = COUNT("x"), d = COLS("x"), hidden = COUNT("w.W1");
    const double threshold = 0, budget = 0.5;
    AFFINE("Vg", "x", d, COUNT("w.Vg")), BIND("Vg.bias", "c", .base = 0);
    ACTIVATION("r", "Vg", RELU), AFFINE("Wg", "r", COUNT("w.Vg"), 1), ACTIVATION("g", "Wg", SIGMOID);
    OP("on", between, "g", threshold, 1), zoo_filled(z, "one", n, 1, 1),
        SUBTRACT("running", "on", "one");
    zoo_some_rows(z, "in", "x", "running", "W1", "b1", hidden, d), ACTIVATION("inner", "in", RELU);
    zoo_some_rows(z, "f", "inner", "running", "W2", "b2", d, hidden);
    HOP("used", zoo_whole(z, n), "g", 1, mean), zoo_filled(z, "budget", 1, 1, budget);
    SUBTRACT("over", "used", "budget"), MULTIPLY("budget loss", "over", "over");
    MULTIPLY("gate", "g", "on"), MULTIPLY("gated", "f", "gate"), ADD("y", "x", "gated");
}

/* A9 | Highway gate | y = g f(x) + (1 - g) x, g = sigmoid(x W + b) | O(n d^2) | Srivastava et
 * al. 2015 */
ENTRY(highway)
{
    AFFINE("Wg", "x", COLS("x"), COLS("x"));
    ACTIVATION("g", "Wg", SIGMOID);
    FEED_FORWARD("f", "x", "", RELU);
    SUBTRACT("change", "f", "x");
    MULTIPLY("gated", "change", "g");
    ADD("y", "x", "gated");
}

FAMILY(M, AT(relu_squared), AT(swish_beta), AT(glu), AT(bilinear), AT(swiglu), AT(geglu), AT(reglu),
       AT(all_attention), AT(value_zero_row), AT(adapter), AT(conditional), AT(highway))
