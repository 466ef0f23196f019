/* Terms of losses, as steps that end in one value. */
#include "zoo.h"

#include <math.h>

/* The sum of all elements, times a factor. */
static void total(zoo_t *z, const char *name, const char *x, int64_t rows, double factor)
{
    OP(NAMED("%s.rows", name), head_sum, x, 1);
    HOP(NAMED("%s.sum", name), zoo_whole(z, rows), NAMED("%s.rows", name), 1, sum);
    SCALE(name, NAMED("%s.sum", name), factor);
}

/* B15 | Entropy of a distribution | mean over rows of -sum p log p | O(n c) | Xu et al. 2015 */
ENTRY(loss_entropy)
{
    OP("p", softmax_rows, "x", 0), OP("log", log, "p", 0), MULTIPLY("pl", "p", "log");
    total(z, "y", "pl", COUNT("x"), -1 / (double)COUNT("x"));
}

/* M5 | Router z-loss | mean of logsumexp(x)^2 | O(n experts) | Zoph et al. 2022 */
ENTRY(loss_router_z)
{
    OP("p", softmax_rows, "x", 0), COLUMNS("p0", "p", 0, 1), OP("log", log, "p0", 0),
        COLUMNS("x0", "x", 0, 1);
    SUBTRACT("lse", "x0", "log"), MULTIPLY("square", "lse", "lse");
    total(z, "y", "square", COUNT("x"), 1 / (double)COUNT("x"));
}

/* M5 | Load balance (Switch) | E sum over experts of share_e mean softmax_e | O(n experts) |
 * Fedus et al. 2022 */
ENTRY(loss_balance)
{
    const int64_t n = COUNT("x"), experts = COLS("x");
    const int whole = zoo_whole(z, n);
    zoo_filled(z, "ones", n, experts, 1);
    for (int e = 0; e < experts; e++)
        COLUMNS(NAMED("x%d", e), "x", e, 1);
    zoo_maximum(z, "max", "x", experts), MULTIPLY("maxima", "ones", "max"),
        SUBTRACT("less", "x", "maxima");
    STEP(OP, "best", .op = &gnn_op_between, .inputs = {"less"}, .options = {0, 1e9});
    HOP("share", whole, "best", experts, mean), OP("p", softmax_rows, "x", 0),
        HOP("mean", whole, "p", experts, mean);
    MULTIPLY("product", "share", "mean"), OP("sum", head_sum, "product", 1),
        SCALE("y", "sum", (double)experts);
}

/* M4 | Importance of experts | CV^2 of the summed gates: variance over mean^2 | O(n experts) |
 * Shazeer et al. 2017 */
ENTRY(loss_importance)
{
    const int64_t experts = COLS("x");
    const gnn_array_t *x = golden_array(&z->g, "x");
    double first = 0;
    for (int64_t e = 0; e < experts; e++)
        first += gnn_array_get(x, e);
    zoo_filled(z, "ones", 1, experts, 1);
    OP("p", softmax_rows, "x", 0),
        HOP("s", zoo_whole(z, COUNT("x")), fabs(first - 1) < 1e-3 ? "x" : "p", experts, sum);
    OP("sum", head_sum, "s", 1), SCALE("mean", "sum", 1 / (double)experts),
        MULTIPLY("means", "ones", "mean");
    SUBTRACT("far", "s", "means"), MULTIPLY("far2", "far", "far"), OP("squares", head_sum, "far2", 1);
    SCALE("variance", "squares", 1 / (double)(experts - 1)), MULTIPLY("mean2", "mean", "mean");
    OP("inverse", power, "mean2", -1, 1e-10), MULTIPLY("y", "variance", "inverse");
}

/* T5 | Distillation | T^2 KL(softmax(t / T), softmax(x / T)), T = 2, t the teacher's logits |
 * O(n c) | Hinton et al. 2015 */
ENTRY(loss_distillation)
{
    const double temperature = 2;
    SCALE("cold t", "r.teacher", 1 / temperature), OP("p", softmax_rows, "cold t", 0),
        OP("log p", log, "p", 0);
    SCALE("cold x", "x", 1 / temperature), OP("q", softmax_rows, "cold x", 0),
        OP("log q", log, "q", 0);
    SUBTRACT("ratio", "log p", "log q"), MULTIPLY("term", "ratio", "p");
    total(z, "y", "term", COUNT("x"), temperature * temperature / (double)COUNT("x"));
}

/* T7 | REINFORCE | -mean of (R_i - mean R) log softmax(x_i)[a_i], actions and rewards given |
 * O(n c) | Williams 1992 */
ENTRY(loss_score_function)
{
    const int64_t n = COUNT("x"), c = COLS("x"), *action = zoo_integers(z, "r.action", NULL);
    const gnn_array_t *reward = golden_array(&z->g, "r.reward");
    gnn_real_t *weight = zoo_constant(z, "weight", n, c);
    double mean = 0;
    for (int64_t i = 0; i < n; i++)
        mean += gnn_array_get(reward, i) / (double)n;
    for (int64_t i = 0; i < n; i++)
        weight[i * c + action[i]] = REAL(-(gnn_array_get(reward, i) - mean) / (double)n);
    OP("p", softmax_rows, "x", 0), OP("log", log, "p", 0), MULTIPLY("term", "log", "weight");
    total(z, "y", "term", n, 1);
}

/* -sum over i of log softmax(q_i . k_j / tau)[i], times a factor. */
static void nce(zoo_t *z, const char *name, const char *q, const char *k, double factor)
{
    const int64_t n = COUNT("x"), d = COLS("x");
    if (!zoo_given(z, "identity"))
        zoo_identity(z, "identity", n);
    ATTEND(NAMED("%s.s", name), zoo_complete_of(z, 1, &n), q, k, "identity", n, .d_k = d, .d_v = n,
           .scale = REAL(1 / R("p.tau")), .weigher = &gnn_weigher_linear);
    OP(NAMED("%s.p", name), softmax_rows, NAMED("%s.s", name), 0),
        OP(NAMED("%s.log", name), log, NAMED("%s.p", name), 0);
    MULTIPLY(NAMED("%s.own", name), NAMED("%s.log", name), "identity"),
        total(z, name, NAMED("%s.own", name), n, -factor / (double)n);
}

/* T4 | Contrastive predictive coding (InfoNCE) | mean of -log softmax_j(z_j . c_i / tau)[i] |
 * O(n^2 d) | van den Oord et al. 2018 */
ENTRY(loss_info_nce)
{
    nce(z, "y", "c", "x", 1);
}

/* T4 | CLIP's loss | InfoNCE of unit rows both ways | O(n^2 d) | Radford et al. 2021 */
ENTRY(loss_info_nce_both)
{
    STEP(NORM, "unit x", .inputs = {"x"}, .norm = GNN_NORM_L2, .in = COLS("x"));
    STEP(NORM, "unit c", .inputs = {"c"}, .norm = GNN_NORM_L2, .in = COLS("x"));
    nce(z, "a", "unit x", "unit c", 0.5), nce(z, "b", "unit c", "unit x", 0.5), ADD("y", "a", "b");
}

FAMILY(T, AT(loss_entropy), AT(loss_router_z), AT(loss_balance), AT(loss_importance),
       AT(loss_distillation), AT(loss_score_function), AT(loss_info_nce), AT(loss_info_nce_both))
