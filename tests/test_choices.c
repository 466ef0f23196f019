/* Ids as values: what is chosen, gradients of ops that read ids by finite differences, attention
 * among chosen senders against the same pairs as a graph, and golden files of mixtures of experts
 * that choose by themselves. */
#include "zoo_tape.h"

#include <gnn/model.h>

/* ---- by hand ---- */

static gnn_var_t apply(gnn_tape_t *tape, const gnn_op_t *op, gnn_op_options_t how,
                       const gnn_var_t *in, int n)
{
    return gnn_tape_op(tape, op, in, n, &how, sizeof how);
}

typedef struct {
    gnn_context_t *context;
    gnn_tape_t *tape;
} bench_t;

static bench_t bench(int threads)
{
    bench_t b;
    ck_ok(gnn_context_new(&b.context, &(gnn_context_config_t){.threads = threads, .seed = 3}));
    ck_ok(gnn_tape_new(&b.tape, b.context));
    gnn_tape_reset(b.tape, 0, 0);
    return b;
}

static void leave(bench_t *b)
{
    gnn_tape_free(b->tape);
    gnn_context_free(b->context);
}

static gnn_var_t given(bench_t *b, gnn_real_t *numbers, int64_t rows, int64_t cols)
{
    const gnn_tensor_t t = gnn_tensor(numbers, rows, cols);
    return gnn_tape_input(b->tape, &t, 0);
}

static void expect(bench_t *b, gnn_var_t y, int64_t rows, int64_t cols, const double *expected)
{
    gnn_tape_keep(b->tape, y);
    ck_assert_msg(gnn_tape_status(b->tape) == GNN_OK, "%s", gnn_error_message());
    ck_ok(gnn_tape_forward(b->tape));
    const gnn_tensor_t value = gnn_tape_value(b->tape, y);
    ck_assert(value.rows == rows && value.cols == cols);
    for (int64_t k = 0; k < rows * cols; k++)
        ck_assert_msg((double)value.data[k] == expected[k], "element %lld is %g, expected %g",
                      (long long)k, (double)value.data[k], expected[k]);
    gnn_tape_reset(b->tape, 0, 0);
}

/* Of equal scores the first; minus infinity and NaN never. */
START_TEST(best_columns_by_hand)
{
    gnn_real_t x[] = {1, 5, 5, 2, -INFINITY, NAN, 3, -INFINITY}, ids[] = {2, 2, 0, -1, 2, 0};
    gnn_real_t wide[12] = {0};
    bench_t b = bench(2);
    gnn_var_t in[2] = {given(&b, x, 2, 4)};
    expect(&b, apply(b.tape, &gnn_op_choose, (gnn_op_options_t){{3}, NULL}, in, 1), 2, 3,
           (double[]){1, 2, 3, 2, -1, -1});
    in[0] = given(&b, x, 2, 4);
    expect(&b, apply(b.tape, &gnn_op_choose, (gnn_op_options_t){{1, 2}, NULL}, in, 1), 2, 2,
           (double[]){1, 2, -1, 2});
    in[0] = given(&b, ids, 3, 2);
    in[1] = given(&b, wide, 3, 4);
    expect(&b, apply(b.tape, &gnn_op_mark_columns, (gnn_op_options_t){{0}, NULL}, in, 2), 3, 4,
           (double[]){0, 0, 2, 0, 1, 0, 0, 0, 1, 0, 1, 0});
    in[0] = given(&b, ids, 3, 2);
    in[1] = given(&b, wide, 3, 4);
    expect(&b, apply(b.tape, &gnn_op_limit_ids, (gnn_op_options_t){{2}, NULL}, in, 2), 3, 2,
           (double[]){2, -1, 0, -1, 2, 0});
    in[0] = given(&b, ids, 3, 2);
    in[1] = given(&b, wide, 3, 4);
    expect(&b, apply(b.tape, &gnn_op_limit_ids, (gnn_op_options_t){{1}, NULL}, in, 2), 3, 2,
           (double[]){2, -1, 0, -1, -1, -1});
    leave(&b);
}
END_TEST

/* Columns choose among the rows of each segment. */
START_TEST(best_rows_by_hand)
{
    gnn_real_t x[] = {1, 6, 5, 5, 3, 4, 9, 0, 9, 2};
    bench_t b = bench(2);
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_bipartite(&graph, 2, (const int64_t[]){1, 1}, (const int64_t[]){3, 2}));
    const gnn_var_t in = given(&b, x, 5, 2);
    expect(&b, apply(b.tape, &gnn_op_choose_rows, (gnn_op_options_t){{2}, graph}, &in, 1), 4, 2,
           (double[]){1, 2, 0, 1, 3, 4, 4, 3});
    leave(&b);
    gnn_graph_free(graph);
}
END_TEST

/* ---- choose_senders against brute force ---- */

enum { NODES = 13, HEADS = 2, WIDTH = 3, BEST = 4 };

static double dot(const gnn_real_t *q, const gnn_real_t *k)
{
    double sum = 0;
    for (int c = 0; c < WIDTH; c++)
        sum += (double)q[c] * (double)k[c];
    return sum;
}

typedef struct {
    gnn_real_t q[NODES * HEADS * WIDTH], k[NODES * HEADS * WIDTH], w[NODES * HEADS];
    int key_heads;
    bool together;
} senders_t;

static double score_of(const senders_t *s, int i, int j, int a)
{
    const gnn_real_t *q = s->q + i * HEADS * WIDTH, *k = s->k + j * s->key_heads * WIDTH;
    const int step = s->key_heads == 1 ? 0 : WIDTH;
    if (!s->together)
        return dot(q + a * WIDTH, k + a * step);
    double sum = 0;
    for (int h = 0; h < HEADS; h++)
        sum += (double)s->w[i * HEADS + h] * fmax(0, dot(q + h * WIDTH, k + h * step));
    return sum;
}

/* Receivers choose among themselves and earlier nodes of their segment. */
static void check_senders(senders_t *s, const int *segment, const gnn_graph_t *graph)
{
    bench_t b = bench(2);
    const int lists = s->together ? 1 : HEADS;
    double expected[NODES * HEADS * BEST];
    gnn_var_t in[3] = {given(&b, s->q, NODES, HEADS * WIDTH),
                       given(&b, s->k, NODES, s->key_heads * WIDTH), GNN_NONE};
    if (s->together)
        in[2] = given(&b, s->w, NODES, HEADS);
    for (int i = 0; i < NODES; i++)
        for (int a = 0; a < lists; a++) {
            bool taken[NODES] = {false};
            for (int n = 0; n < BEST; n++) {
                int best = -1;
                for (int j = 0; j <= i; j++)
                    if (segment[j] == segment[i] && !taken[j] &&
                        (best < 0 || score_of(s, i, j, a) > score_of(s, i, best, a)))
                        best = j;
                expected[(i * lists + a) * BEST + n] = best;
                if (best >= 0)
                    taken[best] = true;
            }
        }
    expect(&b, apply(b.tape, &gnn_op_choose_senders, (gnn_op_options_t){{BEST, HEADS}, graph}, in, 3),
           NODES, lists * BEST, expected);
    leave(&b);
}

START_TEST(best_senders_are_those_of_brute_force)
{
    senders_t s;
    uint64_t seed = test_seed() + (uint64_t)_i;
    const int64_t lengths[] = {8, 5};
    int segment[NODES];
    gnn_graph_t *graph = NULL;
    for (int i = 0; i < NODES; i++)
        segment[i] = i >= 8;
    for (int k = 0; k < NODES * HEADS * WIDTH; k++) {
        s.q[k] = (gnn_real_t)test_uniform(&seed);
        s.k[k] = (gnn_real_t)test_uniform(&seed);
        s.w[k % (NODES * HEADS)] = (gnn_real_t)test_uniform(&seed);
    }
    s.key_heads = _i % 2 ? HEADS : 1;
    s.together = _i >= 2;
    ck_ok(gnn_graph_causal(&graph, 2, lengths));
    check_senders(&s, segment, graph);
    gnn_graph_free(graph);
}
END_TEST

/* ---- gradients of ops that read ids ---- */

enum { MOST = 4, ROOM = 256 };

/* The last inputs are ids below `ids`, and the others are values; input 2 is optional. */
typedef struct {
    const gnn_op_t *op;
    int64_t shape[MOST][2];
    double options[4];
    int id_input, ids;
} case_t;

static const case_t cases[] = {
    {&gnn_op_pick_columns, {{5, 4}, {5, 3}}, {0}, 1, 4},
    {&gnn_op_score_rows, {{4, 6}, {7, 6}, {4, 3}}, {2}, 2, 7},
    {&gnn_op_score_rows, {{4, 6}, {7, 3}, {4, 6}}, {2, 1}, 2, 7},
    {&gnn_op_weigh_rows, {{4, 6}, {7, 6}, {4, 3}}, {2}, 2, 7},
    {&gnn_op_weigh_rows, {{4, 6}, {7, 3}, {4, 6}}, {2, 1}, 2, 7},
    {&gnn_op_blend_heads, {{5, 6}, {5, 2}}, {0}, -1, 0},
    {&gnn_op_gather_rows, {{5, 3}, {6, 2}}, {0}, 1, 5},
    {&gnn_op_scatter_rows, {{6, 4}, {6, 2}, {5, 1}}, {0}, 1, 5},
    {&gnn_op_grouped_product, {{6, 2}, {6, 4}, {6, 2}, {3, 4}}, {3}, 2, 3},
    {&gnn_op_grouped_product, {{6, 4}, {6, 3}, {6, 2}}, {3}, 2, 3},
    {&gnn_op_grouped_product, {{6, 2}, {12, 2}, {6, 2}, {3, 4}}, {3, 1}, 2, 3},
    {&gnn_op_grouped_product, {{7, 2}, {6, 4}}, {3}, -1, 0},
    {&gnn_op_grouped_product, {{7, 2}, {12, 2}}, {3, 1}, -1, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct {
    gnn_real_t in[MOST][ROOM], d[MOST][ROOM], y[ROOM], gy[ROOM];
    int64_t n_y;
} run_t;

static void draw(const case_t *c, run_t *r)
{
    uint64_t seed = 23;
    for (int k = 0; k < MOST; k++)
        for (int64_t e = 0; e < ROOM; e++)
            r->in[k][e] = k == c->id_input
                              ? (gnn_real_t)((int64_t)test_below(&seed, (uint64_t)c->ids + 1) - 1)
                              : (gnn_real_t)(0.5 * test_uniform(&seed));
    for (int64_t e = 0; e < ROOM; e++)
        r->gy[e] = (gnn_real_t)test_uniform(&seed);
}

/* The sum of y gy; elements of minus infinity are left out. */
static double loss_of(const case_t *c, int threads, bool backward, run_t *r)
{
    gnn_context_t *context;
    gnn_tape_t *tape;
    gnn_var_t in[MOST];
    double loss = 0;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = threads}));
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, backward, 1);
    for (int k = 0; k < MOST; k++) {
        const gnn_tensor_t t = gnn_tensor(r->in[k], c->shape[k][0], c->shape[k][1]);
        in[k] = t.rows ? gnn_tape_input(tape, &t, k != c->id_input) : GNN_NONE;
    }
    const gnn_op_options_t how = {{c->options[0], c->options[1]}, NULL};
    const gnn_var_t y = gnn_tape_op(tape, c->op, in, MOST, &how, sizeof how);
    gnn_tape_keep(tape, y);
    ck_assert_msg(gnn_tape_status(tape) == GNN_OK, "%s", gnn_error_message());
    ck_ok(gnn_tape_forward(tape));
    const gnn_tensor_t value = gnn_tape_value(tape, y),
                       gy = gnn_tensor(r->gy, value.rows, value.cols);
    r->n_y = value.rows * value.cols;
    memcpy(r->y, value.data, sizeof *r->y * (size_t)r->n_y);
    for (int64_t e = 0; e < r->n_y; e++)
        loss += isinf(r->y[e]) ? 0 : (double)r->y[e] * (double)r->gy[e];
    if (backward)
        ck_ok(gnn_tape_backward(tape, y, &gy));
    for (int k = 0; backward && k < MOST; k++)
        if (in[k] != GNN_NONE && k != c->id_input)
            memcpy(r->d[k], gnn_tape_gradient(tape, in[k]).data,
                   sizeof *r->d[k] * (size_t)(c->shape[k][0] * c->shape[k][1]));
    gnn_tape_free(tape);
    gnn_context_free(context);
    return loss;
}

START_TEST(gradients_are_those_of_finite_differences)
{
    const case_t *c = &cases[_i];
    const double eps = GNN_DOUBLE ? 1e-6 : 4e-3, tolerance = GNN_DOUBLE ? 1e-7 : 2e-2;
    run_t r, other;
    draw(c, &r);
    loss_of(c, 1, true, &r);
    other = r;
    loss_of(c, 3, true, &other);
    ck_assert_mem_eq(r.y, other.y, sizeof *r.y * (size_t)r.n_y);
    for (int k = 0; k < MOST; k++)
        for (int64_t e = 0; k != c->id_input && e < c->shape[k][0] * c->shape[k][1]; e++) {
            ck_assert(r.d[k][e] == other.d[k][e]);
            run_t moved = r;
            moved.in[k][e] = (gnn_real_t)((double)r.in[k][e] + eps);
            const double high = loss_of(c, 1, false, &moved);
            moved.in[k][e] = (gnn_real_t)((double)r.in[k][e] - eps);
            const double slope = (high - loss_of(c, 1, false, &moved)) / (2 * eps);
            ck_assert_msg(fabs(slope - (double)r.d[k][e]) <= tolerance * (1 + fabs(slope)),
                          "%s: input %d, number %lld: %g, by differences %g", c->op->name, k,
                          (long long)e, (double)r.d[k][e], slope);
        }
}
END_TEST

/* ---- attention among chosen senders ---- */

enum { N = 9, M = 11, K = 4, D = 6 };

typedef struct {
    gnn_real_t q[N * D], k[M * D], v[M * D], ids[N * K], gy[N * D];
} attention_t;

static gnn_var_t by_ids(gnn_tape_t *tape, const gnn_var_t *qkv, gnn_var_t ids)
{
    const gnn_op_options_t heads = {{HEADS}, NULL};
    const gnn_var_t s = apply(tape, &gnn_op_score_rows, heads, (gnn_var_t[]){qkv[0], qkv[1], ids}, 3),
                    scaled = gnn_tape_scale(tape, s, (gnn_real_t)(1 / sqrt((double)D / HEADS)));
    const gnn_var_t w = apply(tape, &gnn_op_softmax_rows, heads, &scaled, 1);
    return apply(tape, &gnn_op_weigh_rows, heads, (gnn_var_t[]){w, qkv[2], ids}, 3);
}

static gnn_var_t by_graph(gnn_tape_t *tape, const gnn_var_t *qkv, const gnn_graph_t *graph)
{
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    in[GNN_AGGREGATE_QUERY] = qkv[0];
    in[GNN_AGGREGATE_KEY] = qkv[1];
    in[GNN_AGGREGATE_SRC_MESSAGE] = qkv[2];
    return gnn_tape_aggregate(tape,
                              &(gnn_aggregate_t){.aggregator = &gnn_aggregator_attention,
                                                 .message = &gnn_message_none,
                                                 .graph = graph,
                                                 .shape = {.heads = HEADS}},
                              in);
}

static gnn_graph_t *graph_of_ids(const attention_t *a)
{
    int64_t src[N * K], dst[N * K], edges = 0;
    gnn_graph_t *graph = NULL;
    for (int i = 0; i < N; i++)
        for (int s = 0; s < K; s++)
            if (a->ids[i * K + s] >= 0) {
                src[edges] = (int64_t)a->ids[i * K + s];
                dst[edges++] = i;
            }
    ck_ok(gnn_graph_from_edges(&graph, N, M, edges, src, dst));
    ck_ok(gnn_graph_prepare(graph, &(gnn_view_t){.backward = GNN_ON}));
    return graph;
}

/* The ids of a row are unlike, some rows have fewer, and one has none. */
START_TEST(attention_by_ids_is_that_of_the_graph)
{
    attention_t a;
    uint64_t seed = test_seed();
    for (int e = 0; e < M * D; e++) {
        a.q[e % (N * D)] = (gnn_real_t)test_uniform(&seed);
        a.k[e] = (gnn_real_t)test_uniform(&seed);
        a.v[e] = (gnn_real_t)test_uniform(&seed);
        a.gy[e % (N * D)] = (gnn_real_t)test_uniform(&seed);
    }
    for (int i = 0; i < N; i++)
        for (int s = 0; s < K; s++)
            a.ids[i * K + s] = (gnn_real_t)(i == 4 || (i % 3 == 0 && s > 1) ? -1 : (3 * s + i) % M);
    gnn_graph_t *graph = graph_of_ids(&a);
    gnn_real_t y[2][N * D], d[2][3][M * D];
    const gnn_tensor_t gy = gnn_tensor(a.gy, N, D);
    for (int form = 0; form < 2; form++) {
        bench_t b = bench(2);
        gnn_tape_reset(b.tape, 1, 0);
        const gnn_tensor_t t[3] = {gnn_tensor(a.q, N, D), gnn_tensor(a.k, M, D),
                                   gnn_tensor(a.v, M, D)};
        gnn_var_t qkv[3];
        for (int k = 0; k < 3; k++)
            qkv[k] = gnn_tape_input(b.tape, &t[k], 1);
        const gnn_var_t out =
            form ? by_graph(b.tape, qkv, graph) : by_ids(b.tape, qkv, given(&b, a.ids, N, K));
        gnn_tape_keep(b.tape, out);
        ck_ok(gnn_tape_forward(b.tape));
        memcpy(y[form], gnn_tape_value(b.tape, out).data, sizeof y[form]);
        ck_ok(gnn_tape_backward(b.tape, out, &gy));
        for (int k = 0; k < 3; k++)
            memcpy(d[form][k], gnn_tape_gradient(b.tape, qkv[k]).data,
                   sizeof(gnn_real_t) * (size_t)(t[k].rows * D));
        leave(&b);
    }
    for (int e = 0; e < N * D; e++)
        ck_assert_double_eq_tol((double)y[0][e], (double)y[1][e], TOLERANCE_OUT);
    for (int k = 0; k < 3; k++)
        for (int e = 0; e < (k ? M : N) * D; e++)
            ck_assert_double_eq_tol((double)d[0][k][e], (double)d[1][k][e], TOLERANCE_GRAD);
    gnn_graph_free(graph);
}
END_TEST

/* ---- golden files: the decisions are ours ---- */

typedef enum { LARGEST, SCALED, AFTER, SIGMOID } gates_t;

typedef struct {
    const char *name;
    gates_t gates;
    double factor;
    bool limited;
} mixture_t;

static const mixture_t mixtures[] = {
    {"moe_switch", LARGEST, 1, false}, {"moe_switch_capacity", LARGEST, 1, true},
    {"moe_top2", SCALED, 1, false},    {"moe_top2_softmax_after", AFTER, 1, false},
    {"moe_swiglu", SCALED, 1, false},  {"moe_sigmoid", SIGMOID, 2.5, false},
};
enum { MIXTURES = sizeof mixtures / sizeof *mixtures };

static gnn_var_t named(zoo_t *z, const gnn_op_t *op, double option, const gnn_var_t *in, int n)
{
    return apply(z->tape, op, (gnn_op_options_t){{option, op == &gnn_op_grouped_product}, NULL}, in,
                 n);
}

/* Rows divided by their sums: the softmax of logarithms. */
static gnn_var_t to_one(zoo_t *z, gnn_var_t x)
{
    const gnn_op_options_t none = {{0}, NULL};
    const gnn_var_t logs = apply(z->tape, &gnn_op_log, none, &x, 1);
    return apply(z->tape, &gnn_op_softmax_rows, none, &logs, 1);
}

static gnn_var_t experts(zoo_t *z, double count, gnn_var_t ids)
{
    if (!golden_has(&z->g, "w.W1")) {
        const gnn_var_t both =
            named(z, &gnn_op_grouped_product, count,
                  (gnn_var_t[]){z->x, input(z, "w.experts.gate_up_proj", STACKED), ids}, 3);
        /* each block is gate, then up */
        const int64_t k = gnn_tape_cols(z->tape, ids), f = gnn_tape_cols(z->tape, both) / k / 2,
                      n = gnn_tape_rows(z->tape, both);
        gnn_var_t parts[8];
        for (int64_t s = 0; s < k; s++) {
            const gnn_var_t gate = gnn_tape_view(z->tape, both, 0, n, 2 * s * f, f),
                            up = gnn_tape_view(z->tape, both, 0, n, (2 * s + 1) * f, f);
            parts[s] =
                gnn_tape_multiply(z->tape, gnn_tape_activation(z->tape, gate, GNN_SILU, 0), up);
        }
        const gnn_var_t h = gnn_tape_concat(z->tape, parts, (int)k);
        return named(z, &gnn_op_grouped_product, count,
                     (gnn_var_t[]){h, input(z, "w.experts.down_proj", STACKED), ids}, 3);
    }
    const gnn_var_t h =
        named(z, &gnn_op_grouped_product, count,
              (gnn_var_t[]){z->x, input(z, "w.W1", STACKED), ids, input(z, "w.b1", SAME)}, 4);
    return named(z, &gnn_op_grouped_product, count,
                 (gnn_var_t[]){gnn_tape_activation(z->tape, h, GNN_RELU, 0),
                               input(z, "w.W2", STACKED), ids, input(z, "w.b2", SAME)},
                 4);
}

static gnn_var_t gates_of(zoo_t *z, const mixture_t *m, gnn_var_t logits, gnn_var_t ids)
{
    const gnn_op_options_t none = {{0}, NULL};
    gnn_var_t p = logits;
    if (m->gates == SIGMOID)
        p = gnn_tape_activation(z->tape, logits, GNN_SIGMOID, 0);
    else if (m->gates != AFTER)
        p = apply(z->tape, &gnn_op_softmax_rows, none, &logits, 1);
    const gnn_var_t own = apply(z->tape, &gnn_op_pick_columns, none, (gnn_var_t[]){p, ids}, 2);
    if (m->gates == LARGEST)
        return own;
    if (m->gates == AFTER)
        return apply(z->tape, &gnn_op_softmax_rows, none, &own, 1);
    return gnn_tape_scale(z->tape, to_one(z, own), (gnn_real_t)m->factor);
}

static void same_ids(zoo_t *z, const char *name, gnn_var_t ids)
{
    int64_t count, *expected = golden_integers(&z->g, name, &count);
    const gnn_tensor_t ours = gnn_tape_value(z->tape, ids);
    ck_assert_int_eq(count, ours.rows * ours.cols);
    for (int64_t k = 0; k < count; k++)
        ck_assert_int_eq((int64_t)ours.data[k], expected[k]);
}

START_TEST(mixtures_of_experts_as_published)
{
    const mixture_t *m = &mixtures[_i];
    zoo_t z;
    if (!zoo_start(&z, m->name))
        return;
    const double count = real(&z, "p.experts"), k = real(&z, "p.top");
    z.x = input(&z, "x", SAME);
    const gnn_var_t logits =
        product(&z, z.x, golden_has(&z.g, "w.router") ? "w.router" : "w.gate.weight");
    gnn_var_t ids = named(&z, &gnn_op_choose, k, &logits, 1);
    if (m->limited)
        ids = named(&z, &gnn_op_limit_ids, ceil((double)gnn_tape_rows(z.tape, z.x) / count),
                    (gnn_var_t[]){ids, logits}, 2);
    gnn_tape_keep(z.tape, ids);
    const gnn_var_t out =
        named(&z, &gnn_op_blend_heads, 0,
              (gnn_var_t[]){experts(&z, count, ids), gates_of(&z, m, logits, ids)}, 2);
    gnn_tape_keep(z.tape, out);
    ck_assert_msg(gnn_tape_status(z.tape) == GNN_OK, "%s", gnn_error_message());
    ck_ok(gnn_tape_forward(z.tape));
    same_ids(&z, "r.expert", ids);
    check_and_close(&z, out);
}
END_TEST

/* Every expert takes its rows: they are gathered, multiplied as rows of the expert, and added. */
START_TEST(experts_choose_as_published)
{
    zoo_t z;
    if (!zoo_start(&z, "moe_expert_choice"))
        return;
    const double count = real(&z, "p.experts"), k = real(&z, "p.capacity");
    const gnn_op_options_t none = {{0}, NULL};
    z.x = input(&z, "x", SAME);
    const int64_t n = gnn_tape_rows(z.tape, z.x);
    ck_ok(gnn_graph_bipartite(&z.graph, 1, (const int64_t[]){1}, &n));
    const gnn_var_t logits = product(&z, z.x, "w.router"),
                    gates = apply(z.tape, &gnn_op_softmax_rows, none, &logits, 1),
                    ids = apply(z.tape, &gnn_op_choose_rows, (gnn_op_options_t){{k}, z.graph},
                                &gates, 1);
    const gnn_var_t rows = apply(z.tape, &gnn_op_gather_rows, none, (gnn_var_t[]){z.x, ids}, 2),
                    of_rows = apply(z.tape, &gnn_op_gather_rows, none, (gnn_var_t[]){gates, ids}, 2);
    gnn_var_t parts[8], own[8];
    const gnn_var_t w1 = input(&z, "w.W1", STACKED), w2 = input(&z, "w.W2", STACKED),
                    b1 = input(&z, "w.b1", SAME), b2 = input(&z, "w.b2", SAME);
    for (int64_t s = 0; s < (int64_t)k; s++) {
        const int64_t d = gnn_tape_cols(z.tape, z.x), e = (int64_t)count;
        const gnn_var_t h =
            named(&z, &gnn_op_grouped_product, count,
                  (gnn_var_t[]){gnn_tape_view(z.tape, rows, 0, e, s * d, d), w1, GNN_NONE, b1}, 4);
        parts[s] =
            named(&z, &gnn_op_grouped_product, count,
                  (gnn_var_t[]){gnn_tape_activation(z.tape, h, GNN_RELU, 0), w2, GNN_NONE, b2}, 4);
        /* the gate of expert e in row e */
        gnn_real_t *numbers = golden_reals(&z.g, e);
        for (int64_t r = 0; r < e; r++)
            numbers[r] = (gnn_real_t)r;
        const gnn_tensor_t column = gnn_tensor(numbers, e, 1);
        own[s] = apply(z.tape, &gnn_op_pick_columns, none,
                       (gnn_var_t[]){gnn_tape_view(z.tape, of_rows, 0, e, s * e, e),
                                     gnn_tape_input(z.tape, &column, 0)},
                       2);
    }
    const gnn_var_t y = gnn_tape_scale_heads(z.tape, gnn_tape_concat(z.tape, parts, (int)k),
                                             gnn_tape_concat(z.tape, own, (int)k));
    const gnn_var_t out = apply(z.tape, &gnn_op_scatter_rows, none, (gnn_var_t[]){y, ids, z.x}, 3);
    gnn_tape_keep(z.tape, ids);
    gnn_tape_keep(z.tape, out);
    ck_assert_msg(gnn_tape_status(z.tape) == GNN_OK, "%s", gnn_error_message());
    ck_ok(gnn_tape_forward(z.tape));
    same_ids(&z, "r.rows", ids);
    check_and_close(&z, out);
}
END_TEST

/* ---- a mixture as steps (docs/blocks.md) ---- */

enum { E = 8, TWO = 2, WIDE = 64, HIDDEN = 48, ROWS = 40 };

static const gnn_step_t mixture[] = {
    {.kind = GNN_STEP_LINEAR, .name = "router", .inputs = {"x"}, .in = WIDE, .out = E, .bias = GNN_OFF},
    {.kind = GNN_STEP_OP, .name = "ids", .op = &gnn_op_choose, .options = {TWO}},
    {.kind = GNN_STEP_OP, .name = "best", .inputs = {"router", "ids"}, .op = &gnn_op_pick_columns},
    {.kind = GNN_STEP_OP, .name = "gates", .op = &gnn_op_softmax_rows},
    {.kind = GNN_STEP_PARAMETER, .name = "gate", .rows = E * WIDE, .out = HIDDEN},
    {.kind = GNN_STEP_PARAMETER, .name = "up", .rows = E * WIDE, .out = HIDDEN},
    {.kind = GNN_STEP_PARAMETER, .name = "down", .rows = E * HIDDEN, .out = WIDE},
    {.kind = GNN_STEP_OP,
     .name = "g",
     .inputs = {"x", "gate", "ids"},
     .op = &gnn_op_grouped_product,
     .options = {E}},
    {.kind = GNN_STEP_ACTIVATION, .name = "act", .activation = GNN_SILU},
    {.kind = GNN_STEP_OP,
     .name = "u",
     .inputs = {"x", "up", "ids"},
     .op = &gnn_op_grouped_product,
     .options = {E}},
    {.kind = GNN_STEP_MULTIPLY, .name = "h", .inputs = {"act", "u"}},
    {.kind = GNN_STEP_OP,
     .name = "y",
     .inputs = {"h", "down", "ids"},
     .op = &gnn_op_grouped_product,
     .options = {E}},
    {.kind = GNN_STEP_OP, .name = "out", .inputs = {"y", "gates"}, .op = &gnn_op_blend_heads},
};

static gnn_tensor_t field(const gnn_model_t *model, const char *name)
{
    gnn_tensor_t value;
    ck_ok(gnn_model_field(model, name, &value, NULL));
    return value;
}

/* y += gate * expert e of row x, in double. */
static void add_expert(const gnn_model_t *model, const gnn_real_t *x, int e, double gate, double *y)
{
    const gnn_tensor_t g = field(model, "gate.rows"), u = field(model, "up.rows"),
                       down = field(model, "down.rows");
    for (int f = 0; f < HIDDEN; f++) {
        double a = 0, b = 0;
        for (int c = 0; c < WIDE; c++) {
            a += (double)x[c] * (double)gnn__row(&g, e * WIDE + c)[f];
            b += (double)x[c] * (double)gnn__row(&u, e * WIDE + c)[f];
        }
        for (int c = 0; c < WIDE; c++)
            y[c] += gate * a / (1 + exp(-a)) * b * (double)gnn__row(&down, e * HIDDEN + f)[c];
    }
}

START_TEST(mixtures_are_models_of_steps)
{
    bench_t b = bench(2);
    gnn_model_t *model;
    gnn_real_t x[ROWS * WIDE], out[ROWS * WIDE];
    uint64_t seed = test_seed();
    ck_ok(gnn_model_from_steps(&model, b.context, sizeof mixture / sizeof *mixture, mixture));
    for (int k = 0; k < ROWS * WIDE; k++)
        x[k] = (gnn_real_t)test_uniform(&seed);
    const gnn_tensor_t in = gnn_tensor(x, ROWS, WIDE), y = gnn_tensor(out, ROWS, WIDE),
                       router = field(model, "router.weight");
    const gnn_named_t value = {.name = "x", .dense = &in};
    ck_ok(gnn_model_forward(model, b.context,
                            &(gnn_model_inputs_t){.values = &value, .n_values = 1}, &y));
    for (int r = 0; r < ROWS; r++) {
        double logits[E] = {0}, expected[WIDE] = {0};
        int first = 0, second = -1;
        for (int e = 0; e < E; e++) {
            for (int c = 0; c < WIDE; c++)
                logits[e] += (double)x[r * WIDE + c] * (double)gnn__row(&router, c)[e];
            first = logits[e] > logits[first] ? e : first;
        }
        for (int e = 0; e < E; e++)
            if (e != first && (second < 0 || logits[e] > logits[second]))
                second = e;
        const double gate = 1 / (1 + exp(logits[second] - logits[first]));
        add_expert(model, x + r * WIDE, first, gate, expected);
        add_expert(model, x + r * WIDE, second, 1 - gate, expected);
        for (int c = 0; c < WIDE; c++)
            ck_assert_double_eq_tol((double)out[r * WIDE + c], expected[c], TOLERANCE_OUT);
    }
    gnn_model_free(model);
    leave(&b);
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    case_t wrong;
    int code;
    const char *words;
} refused[] = {
    {{&gnn_op_choose, {{5, 4}}, {0.5}, -1, 0},
     GNN_EINVALID,
     "choose: option k is 0.5, expected an integer from 1"},
    {{&gnn_op_choose_senders, {{5, 4}, {5, 4}}, {2, 2}, -1, 0}, GNN_EINVALID, "needs a graph"},
    {{&gnn_op_choose_rows, {{5, 4}}, {2}, -1, 0}, GNN_EUNSUPPORTED, "needs a graph"},
    {{&gnn_op_pick_columns, {{5, 4}, {4, 2}}, {0}, 1, 4}, GNN_ESHAPE, "input 1 of 5 x 2, got 4 x 2"},
    {{&gnn_op_limit_ids, {{5, 2}, {4, 2}}, {2}, 0, 2}, GNN_ESHAPE, "input 1 of 5 x 2, got 4 x 2"},
    {{&gnn_op_mark_columns, {{5, 2}, {4, 2}}, {0}, 0, 2}, GNN_ESHAPE, "input 1 of 5 x 2, got 4 x 2"},
    {{&gnn_op_score_rows, {{5, 6}, {4, 5}, {5, 2}}, {2}, 2, 4},
     GNN_ESHAPE,
     "do not fit 2 heads of width 3"},
    {{&gnn_op_score_rows, {{5, 6}, {4, 6}, {5, 3}}, {2, 1}, 2, 4},
     GNN_ESHAPE,
     "3 ids do not divide into 2"},
    {{&gnn_op_weigh_rows, {{5, 6}, {4, 6}, {5, 2}}, {2}, 2, 4}, GNN_ESHAPE, "expects 3 or 6 ids, got 2"},
    {{&gnn_op_blend_heads, {{5, 5}, {5, 2}}, {0}, -1, 0}, GNN_ESHAPE, "do not divide into 2 heads"},
    {{&gnn_op_scatter_rows, {{5, 5}, {5, 2}, {4, 1}}, {0}, 1, 4},
     GNN_ESHAPE,
     "5 columns do not divide into 2"},
    {{&gnn_op_grouped_product, {{5, 2}, {7, 3}, {5, 2}}, {3}, 2, 3},
     GNN_ESHAPE,
     "are not 3 matrices for 2 columns"},
    {{&gnn_op_grouped_product, {{5, 2}, {6, 3}, {5, 2}, {2, 3}}, {3}, 2, 3},
     GNN_ESHAPE,
     "input 3 of 3 x 3, got 2 x 3"},
};

START_TEST(wrong_shapes_are_refused)
{
    const case_t *c = &refused[_i].wrong;
    static gnn_real_t numbers[ROOM];
    bench_t b = bench(1);
    gnn_var_t in[MOST];
    for (int k = 0; k < MOST; k++)
        in[k] = c->shape[k][0] ? given(&b, numbers, c->shape[k][0], c->shape[k][1]) : GNN_NONE;
    apply(b.tape, c->op, (gnn_op_options_t){{c->options[0], c->options[1]}, NULL}, in, MOST);
    ck_fails(gnn_tape_status(b.tape), refused[_i].code, refused[_i].words);
    leave(&b);
}
END_TEST

/* An id must be an integer in -1 .. rows - 1. */
START_TEST(wrong_ids_are_refused)
{
    static const double wrong[] = {5, -2, 0.5, NAN};
    const case_t *c = &cases[_i];
    if (c->id_input < 0)
        return;
    run_t r;
    draw(c, &r);
    for (int k = 0; k < 4; k++) {
        bench_t b = bench(1);
        gnn_var_t in[MOST];
        r.in[c->id_input][1] = (gnn_real_t)(k == 0 ? c->ids : wrong[k]);
        for (int n = 0; n < MOST; n++)
            in[n] = c->shape[n][0] ? given(&b, r.in[n], c->shape[n][0], c->shape[n][1]) : GNN_NONE;
        const gnn_var_t y =
            apply(b.tape, c->op, (gnn_op_options_t){{c->options[0], c->options[1]}, NULL}, in, MOST);
        gnn_tape_keep(b.tape, y);
        ck_fails(gnn_tape_forward(b.tape), GNN_EINVALID, "expected an integer in -1..");
        leave(&b);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choices");
    TCase *c = tcase_create("choices");
    tcase_add_test(c, best_columns_by_hand);
    tcase_add_test(c, best_rows_by_hand);
    tcase_add_loop_test(c, best_senders_are_those_of_brute_force, 0, 4);
    tcase_add_loop_test(c, gradients_are_those_of_finite_differences, 0, CASES);
    tcase_add_test(c, attention_by_ids_is_that_of_the_graph);
    tcase_add_loop_test(c, mixtures_of_experts_as_published, 0, MIXTURES);
    tcase_add_test(c, experts_choose_as_published);
    tcase_add_test(c, mixtures_are_models_of_steps);
    tcase_add_loop_test(c, wrong_shapes_are_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_loop_test(c, wrong_ids_are_refused, 0, CASES);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
