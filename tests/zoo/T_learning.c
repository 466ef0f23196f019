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

/* B15 | Entropy of a distribution | mean over rows of -sum p log p | O(n classes) | Xu et al. 2015
 * */
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
    double first = 0;
    for (int64_t e = 0; e < experts; e++)
        first += zoo_element(z, "x", e);
    zoo_filled(z, "ones", 1, experts, 1);
    OP("p", softmax_rows, "x", 0),
        HOP("s", zoo_whole(z, COUNT("x")), fabs(first - 1) < 1e-3 ? "x" : "p", experts, sum);
    OP("sum", head_sum, "s", 1), SCALE("mean", "sum", 1 / (double)experts),
        MULTIPLY("means", "ones", "mean");
    SUBTRACT("far", "s", "means"), MULTIPLY("far2", "far", "far"), OP("squares", head_sum, "far2", 1);
    SCALE("variance", "squares", 1 / (double)(experts - 1)), MULTIPLY("mean2", "mean", "mean");
    OP("inverse", power, "mean2", -1, 1e-10), MULTIPLY("y", "variance", "inverse");
}

/* T5 | Distillation | T^2 KL(softmax(t / T), softmax(x / T)), T = 2, t the teacher's logits | O(n
 * classes) | Hinton et al. 2015 */
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

/* T7 | REINFORCE | -mean of (R_i - mean R) log softmax(x_i)[a_i], actions and rewards given | O(n
 * classes) | Williams 1992 */
ENTRY(loss_score_function)
{
    const int64_t n = COUNT("x"), c = COLS("x"), *action = zoo_integers_of(z, "r.action", n);
    gnn_real_t *weight = zoo_constant(z, "weight", n, c);
    double mean = 0;
    for (int64_t i = 0; i < n; i++)
        mean += zoo_element(z, "r.reward", i) / (double)n;
    for (int64_t i = 0; i < n; i++)
        weight[i * c + action[i]] = REAL(-(zoo_element(z, "r.reward", i) - mean) / (double)n);
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

/* T4 | CLIP's loss | L = (nce(x, c) + nce(c, x)) / 2, nce(a, b) = -mean of log softmax_j(a_i . b_j
 * / tau)[i], rows of length 1 | O(n^2 d) | Radford et al. 2021 */
ENTRY(loss_info_nce_both)
{
    STEP(NORM, "unit x", .inputs = {"x"}, .norm = GNN_NORM_L2, .in = COLS("x"));
    STEP(NORM, "unit c", .inputs = {"c"}, .norm = GNN_NORM_L2, .in = COLS("x"));
    nce(z, "a", "unit x", "unit c", 0.5), nce(z, "b", "unit c", "unit x", 0.5), ADD("y", "a", "b");
}

/* ---- losses of sets ---- */

/* Corners of boxes: centre - size / 2, centre + size / 2, which are columns of `x`. */
static void corners(zoo_t *z, const char *x)
{
    COLUMNS(NAMED("%s.c", x), x, 0, 2), COLUMNS(NAMED("%s.s", x), x, 2, 2);
    ADD_TIMES(NAMED("%s.low", x), NAMED("%s.c", x), -0.5, NAMED("%s.s", x));
    ADD_TIMES(NAMED("%s.high", x), NAMED("%s.c", x), 0.5, NAMED("%s.s", x));
}

/* Product of the two columns of x. */
static void area(zoo_t *z, const char *name, const char *x)
{
    COLUMNS(NAMED("%s.w", name), x, 0, 1), COLUMNS(NAMED("%s.h", name), x, 1, 1);
    MULTIPLY(name, NAMED("%s.w", name), NAMED("%s.h", name));
}

static void larger(zoo_t *z, const char *name, const char *a, const char *b)
{
    STEP(MAXIMUM, name, .inputs = {a, b});
}

/* min(a, b) = a + b - max(a, b) */
static void smaller(zoo_t *z, const char *name, const char *a, const char *b)
{
    larger(z, NAMED("%s.max", name), a, b), ADD(NAMED("%s.sum", name), a, b);
    SUBTRACT(name, NAMED("%s.sum", name), NAMED("%s.max", name));
}

static void quotient(zoo_t *z, const char *name, const char *a, const char *b)
{
    OP(NAMED("%s.by", name), power, b, -1), MULTIPLY(name, a, NAMED("%s.by", name));
}

/* Of the boxes in the rows of a and b: inter / union - (hull - union) / hull, plus 1. */
static void overlap(zoo_t *z, const char *name, const char *a, const char *b)
{
    const char *in = NAMED("%s.in", name), *hull = NAMED("%s.hull", name),
               *all = NAMED("%s.union", name);
    corners(z, a), corners(z, b);
    larger(z, NAMED("%s.low", in), NAMED("%s.low", a), NAMED("%s.low", b)),
        smaller(z, NAMED("%s.high", in), NAMED("%s.high", a), NAMED("%s.high", b));
    smaller(z, NAMED("%s.low", hull), NAMED("%s.low", a), NAMED("%s.low", b)),
        larger(z, NAMED("%s.high", hull), NAMED("%s.high", a), NAMED("%s.high", b));
    SUBTRACT(NAMED("%s.side", in), NAMED("%s.high", in), NAMED("%s.low", in)),
        ACTIVATION(NAMED("%s.sides", in), NAMED("%s.side", in), RELU),
        SUBTRACT(NAMED("%s.sides", hull), NAMED("%s.high", hull), NAMED("%s.low", hull));
    area(z, in, NAMED("%s.sides", in)), area(z, hull, NAMED("%s.sides", hull));
    area(z, NAMED("%s.a", name), NAMED("%s.s", a)), area(z, NAMED("%s.b", name), NAMED("%s.s", b));
    ADD(NAMED("%s.ab", name), NAMED("%s.a", name), NAMED("%s.b", name)),
        SUBTRACT(all, NAMED("%s.ab", name), in);
    quotient(z, NAMED("%s.iou", name), in, all), quotient(z, NAMED("%s.filled", name), all, hull);
    ADD(name, NAMED("%s.iou", name), NAMED("%s.filled", name));
}

/* The sum of |a - b| of each row. */
static void distance(zoo_t *z, const char *name, const char *a, const char *b)
{
    SUBTRACT(NAMED("%s.apart", name), a, b),
        SCALE(NAMED("%s.back", name), NAMED("%s.apart", name), -1);
    larger(z, NAMED("%s.abs", name), NAMED("%s.apart", name), NAMED("%s.back", name));
    OP(name, head_sum, NAMED("%s.abs", name), 1);
}

/* The query of each target, "ids": the cost -p[class] + 5 |box - box|_1 - 2 overlap is least. */
static void match_sets(zoo_t *z)
{
    const int64_t queries = COUNT("x"), targets = COUNT("r.target_class"),
                  pairs = targets * queries, one = 1;
    int64_t *src = zoo_room(z, pairs), *dst = zoo_room(z, pairs);
    for (int64_t e = 0; e < pairs; e++)
        src[e] = e % queries, dst[e] = e / queries;
    const int slot = zoo_edges_of(z, targets, queries, pairs, src, dst);
    EDGE_ROWS("pair p", slot, "p", SENDERS), EDGE_ROWS("pair class", slot, "class", RECEIVERS);
    EDGE_ROWS("pair box", slot, "box", SENDERS),
        EDGE_ROWS("pair target", slot, "r.target_box", RECEIVERS);
    MULTIPLY("p class", "pair p", "pair class"), OP("p of class", head_sum, "p class", 1);
    distance(z, "far", "pair box", "pair target"), overlap(z, "near", "pair box", "pair target");
    SCALE("5 far", "far", 5), SUBTRACT("some cost", "5 far", "p of class");
    ADD_TIMES("cost", "some cost", -2, "near"), OP("costs", fold_rows, "cost", (double)queries);
    STEP(OP, "ids", .op = &gnn_op_match_columns, .inputs = {"costs"},
         .graph = zoo_bipartite(z, 1, &one, &targets));
    zoo_also(z, "ids", "r.match");
}

/* S3 | DETR's loss | L = weighted cross-entropy of each query, of the class none without a target,
 * + 5 |box - box|_1 - 2 overlap of the matched; targets are matched to queries at the least cost |
 * O(targets^2 queries), queries the rows of x, targets those of r.target_box | Carion et al. 2020
 * */
ENTRY(loss_set_matching)
{
    const int64_t queries = COUNT("x"), classes = COLS("x"), targets = COUNT("r.target_class"),
                  *target = zoo_integers_of(z, "r.target_class", targets);
    gnn_real_t *of = zoo_constant(z, "class", targets, classes),
               *weigh = zoo_constant(z, "weight", 1, classes),
               *none = zoo_constant(z, "none", queries, classes);
    for (int64_t c = 0; c < classes; c++)
        weigh[c] = REAL(c + 1 < classes ? 1 : 0.1);
    for (int64_t t = 0; t < targets; t++)
        of[t * classes + target[t]] = 1;
    for (int64_t q = 0; q < queries; q++)
        none[q * classes + classes - 1] = 1;
    const int of_queries = zoo_whole(z, queries), of_targets = zoo_whole(z, targets);
    OP("p", softmax_rows, "x", 0), match_sets(z), OP2("matched", gather_rows, "box", "ids");
    OP2("labelled", scatter_rows, "class", "ids", "x"), OP("has label", head_sum, "labelled", 1);
    MULTIPLY("not none", "none", "has label"), SUBTRACT("rest", "none", "not none"),
        ADD("label", "labelled", "rest"), MULTIPLY("weighed", "label", "weight");
    OP("log p", log, "p", 0), MULTIPLY("terms", "log p", "weighed");
    OP("term", head_sum, "terms", 1), OP("share", head_sum, "weighed", 1);
    HOP("sum of terms", of_queries, "term", 1, sum),
        HOP("sum of shares", of_queries, "share", 1, sum);
    quotient(z, "log likelihood", "sum of terms", "sum of shares");
    distance(z, "apart", "matched", "r.target_box"), overlap(z, "overlap", "matched", "r.target_box");
    HOP("far of all", of_targets, "apart", 1, sum), HOP("near of all", of_targets, "overlap", 1, sum);
    zoo_filled(z, "four", 1, 1, 4),
        SUBTRACT("y0", "four", "log likelihood"); /* 2 (1 - (overlap - 1)) */
    ADD_TIMES("y1", "y0", 5 / (double)targets, "far of all");
    ADD_TIMES("y", "y1", -2 / (double)targets, "near of all");
}

FAMILY(T, AT(loss_entropy), AT(loss_router_z), AT(loss_balance), AT(loss_importance),
       AT(loss_distillation), AT(loss_score_function), AT(loss_info_nce), AT(loss_info_nce_both),
       AT(loss_set_matching))
