/* Invariances: NaN in another sentence, permuted nodes, thread count, the storage of the graph with
 * dropout; and refused inputs. */
#include "contract.h"

/* ---- a NaN sentence ---- */

enum { SENTENCES = 3, SICK = 1 };

static bool in_sentence(const int64_t *segments, int64_t row, int64_t sentence)
{
    return row >= segments[sentence] && row < segments[sentence + 1];
}

/* Rows of the receivers or senders of the sick sentence become NaN. */
static void infect(gnn_tensor_t *x, const int64_t *segments)
{
    for (int64_t i = segments[SICK]; x->data && i < segments[SICK + 1]; i++)
        for (int64_t c = 0; c < x->cols; c++)
            gnn__row(x, i)[c] = (gnn_real_t)NAN;
}

static void compare_healthy(const contract_run_t *a, const gnn_real_t *x, const gnn_real_t *y,
                            const int64_t *segments, int64_t cols, const char *what)
{
    int64_t differ = 0;
    for (int64_t i = 0; i < segments[SENTENCES]; i++)
        if (!in_sentence(segments, i, SICK))
            differ += memcmp(x + i * cols, y + i * cols, sizeof *x * (size_t)cols) != 0;
    contract_judge(&a->c, what, (double)differ, 0,
                   "rows of other sentences whose bits a NaN sentence changed");
}

static void check_infection(contract_case_t c)
{
    static const int by_node[] = {GNN_AGGREGATE_SRC_MESSAGE, GNN_AGGREGATE_DST_MESSAGE,
                                  GNN_AGGREGATE_QUERY, GNN_AGGREGATE_KEY, GNN_AGGREGATE_GATE};
    const int64_t *segments = gnn_graph_dst_segments(c.graph);
    ck_ok(gnn_graph_prepare(c.graph, &c.view));
    contract_run_t *well = contract_run_new(&c), *sick = contract_run_new(&c);
    for (int k = 0; k < 5; k++)
        infect(&sick->in[by_node[k]], segments);
    contract_library(well);
    contract_library(sick);
    compare_healthy(well, well->out, sick->out, segments, well->out_width, "output");
    for (int k = 0; k < 5; k++)
        if (well->grad[by_node[k]])
            compare_healthy(well, well->grad[by_node[k]], sick->grad[by_node[k]], segments,
                            well->in[by_node[k]].cols, contract_input_name(by_node[k]));
    contract_run_free(well);
    contract_run_free(sick);
}

static gnn_graph_t *sentences(size_t kind, int64_t scale)
{
    const int64_t lengths[SENTENCES] = {3 * scale + 1, scale + 2, 2 * scale + 3};
    gnn_graph_t *g = NULL;
    const gnn_topology_t *t = gnn_topology_at(kind);
    ck_ok(t->build(&g, SENTENCES, lengths, NULL));
    return g;
}

static void infect_at(gnn_precision_t level)
{
    contract_open_at(1, level);
    for (size_t kind = 0; kind < topology_count(); kind++)
        for (size_t a = 0; a < combination_count(); a++)
            for (int64_t scale = 1; scale <= (test_small() ? 2 : 22); scale += scale > 3 ? 18 : 1) {
                gnn_graph_t *g = sentences(kind, scale);
                check_infection(contract_case(0, a, g, contract_graph_name(kind), 7 + kind));
                gnn_graph_free(g);
            }
    contract_close();
}

START_TEST(nan_in_a_sentence_changes_no_bit_of_others)
{
    contract_open(1);
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            for (size_t kind = 0; kind < topology_count(); kind++)
                for (int64_t scale = 1; scale <= (test_small() ? m == 0 ? 21 : 1 : 41); scale += 20) {
                    gnn_graph_t *g = sentences(kind, scale);
                    contract_case_t c = contract_case(m, a, g, contract_graph_name(kind), 7 + kind);
                    c.d_v = scale == 21 ? 8 : 3;
                    c.gate = scale == 1; /* the driver; then kernels, where the row has some */
                    check_infection(c);
                    c.graph = contract_edges_of(g);
                    check_infection(c);
                    gnn_graph_free(c.graph);
                    gnn_graph_free(g);
                }
    contract_close();
    /* Not with AMX, which rounds sums differently from the kernel that replaces it next to a
     * NaN. */
    for (int level = GNN_PRECISION_HIGH; !gnn__amx_granted() && level <= GNN_PRECISION_MEDIUM; level++)
        infect_at((gnn_precision_t)level);
    contract_assert("a NaN sentence");
}
END_TEST

/* ---- renumbering nodes ---- */

/* Node i becomes (5 i + 3) mod n. */
static int64_t renumbered(int64_t i, int64_t n)
{
    return (5 * i + 3) % n;
}

static gnn_graph_t *renumber_edges(const gnn_graph_t *g, int64_t n)
{
    int64_t m = gnn_graph_n_pairs(g);
    int64_t *src = malloc(sizeof *src * (size_t)(m + 1)),
            *dst = malloc(sizeof *dst * (size_t)(m + 1)),
            *edge = malloc(sizeof *edge * (size_t)(m + 1));
    int64_t *new_src = malloc(sizeof *src * (size_t)(m + 1)),
            *new_dst = malloc(sizeof *dst * (size_t)(m + 1));
    ck_ok(gnn_graph_pairs(g, src, dst, edge));
    for (int64_t k = 0; k < m; k++) {
        new_src[edge[k]] = renumbered(src[k], n);
        new_dst[edge[k]] = renumbered(dst[k], n);
    }
    gnn_graph_t *other = NULL;
    ck_ok(gnn_graph_from_edges(&other, n, n, m, new_src, new_dst));
    int64_t *const all[] = {src, dst, edge, new_src, new_dst};
    for (int k = 0; k < 5; k++)
        free(all[k]);
    return other;
}

/* Row i of `from` to row renumbered(i) of `to`. */
static void renumber_rows(gnn_real_t *to, const gnn_real_t *from, int64_t n, int64_t cols)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + renumbered(i, n) * cols, from + i * cols, sizeof *to * (size_t)cols);
}

static bool by_node(int k)
{
    return k <= GNN_AGGREGATE_KEY || k == GNN_AGGREGATE_GATE;
}

/* Permutes the results of c in place, so that they are comparable with those of d. */
static void check_renumbered(contract_case_t c, int64_t n)
{
    contract_case_t d = c;
    d.graph = renumber_edges(c.graph, n);
    contract_run_t *one = contract_run(&c);
    ck_ok(gnn_graph_prepare(d.graph, &d.view));
    contract_run_t *other = contract_run_new(&d);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        if (other->grad[k] && by_node(k))
            renumber_rows(other->in[k].data, one->in[k].data, n, one->in[k].cols);
    renumber_rows(other->d_out, one->d_out, n, one->out_width);
    contract_library(other);
    gnn_real_t *rows = malloc(sizeof *rows * 4096);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        if (one->grad[k] && by_node(k)) {
            renumber_rows(rows, one->grad[k], n, one->in[k].cols);
            memcpy(one->grad[k], rows, sizeof *rows * (size_t)(n * one->in[k].cols));
        }
    renumber_rows(rows, one->out, n, one->out_width);
    memcpy(one->out, rows, sizeof *rows * (size_t)(n * one->out_width));
    free(rows);
    contract_compare_runs(one, other);
    contract_run_free(one);
    contract_run_free(other);
    gnn_graph_free(d.graph);
}

START_TEST(permuted_nodes_permute_the_output)
{
    const int64_t n = 13;
    contract_open(1);
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            for (uint64_t variant = 0; variant < 4; variant++) {
                gnn_graph_t *g = contract_random_edges(n, n, 40, test_seed() + variant);
                contract_case_t c =
                    contract_case(m, a, g, "renumbered", test_seed() + 9 * m + a + variant);
                c.features = c.weight = variant % 2;
                c.bias = variant % 2 && contract_scored(&c) ? BIAS_PER_HEAD : BIAS_NONE;
                c.gate = true;
                c.view.norm = variant == 2 ? GNN_GRAPH_NORM_SYMMETRIC : GNN_GRAPH_NORM_NONE;
                c.view.self_loops = variant >= 2 ? GNN_ON : GNN_OFF;
                if (!(c.message->flags & GNN_MESSAGE_READS_DISTANCE)) /* that is of places */
                    check_renumbered(c, n);
                gnn_graph_free(g);
            }
    contract_close();
    contract_assert("renumbered nodes");
}
END_TEST

/* ---- dropout ---- */

/* All messages are 1 and all scores are equal: the output of receiver i is (its kept pairs) scale /
 * n. */
static contract_run_t *uniform_run(gnn_graph_t *g, uint64_t seed, uint32_t step, uint32_t model_step)
{
    contract_case_t c = contract_case_of("dot", g, "uniform", seed);
    c.heads = c.kv_heads = 10;
    c.d_k = c.d_v = 1;
    c.dropout = 0.5;
    c.step = step;
    c.model_step = model_step;
    ck_ok(gnn_graph_prepare(g, &c.view));
    contract_run_t *r = contract_run_new(&c);
    for (int64_t k = 0; k < r->in[GNN_AGGREGATE_QUERY].rows * 10; k++)
        r->in[GNN_AGGREGATE_QUERY].data[k] = 0;
    for (int64_t k = 0; k < r->in[GNN_AGGREGATE_SRC_MESSAGE].rows * 10; k++)
        r->in[GNN_AGGREGATE_SRC_MESSAGE].data[k] = 1;
    contract_library(r);
    return r;
}

static bool same_output(const contract_run_t *a, const contract_run_t *b)
{
    bool same = true;
    for (int64_t k = 0; k < a->n_dst * a->out_width; k++)
        same = same && fabs((double)(a->out[k] - b->out[k])) < 1e-4;
    return same;
}

START_TEST(dropout_is_keyed_by_its_use)
{
    gnn_graph_t *g = NULL, *edges = NULL, *twice = NULL;
    ck_ok(gnn_graph_complete(&g, 1, (const int64_t[]){40}));
    edges = contract_edges_of(g);
    ck_ok(gnn_graph_merge(&twice, 2, (const gnn_graph_t *const[]){g, edges}));
    contract_open(1);
    contract_run_t *first = uniform_run(g, 1, 2, 3),
                   *others[] = {uniform_run(edges, 1, 2, 3), uniform_run(twice, 1, 2, 3),
                                uniform_run(g, 2, 2, 3), uniform_run(g, 1, 3, 3),
                                uniform_run(g, 1, 2, 4)};
    contract_close();
    ck_assert(same_output(first, others[0]));  /* the other form */
    ck_assert(same_output(first, others[1]));  /* parallel pairs share their mask */
    ck_assert(!same_output(first, others[2])); /* another seed */
    ck_assert(!same_output(first, others[3])); /* another training step */
    ck_assert(!same_output(first, others[4])); /* another model step */
    double mean = 0;
    for (int64_t k = 0; k < 400; k++)
        mean += (double)first->out[k] / 400;
    ck_assert_double_eq_tol(mean, 1, 0.05); /* 16000 draws: 6 deviations */
    ck_assert(first->rng.seed == 1 && first->rng.step == 2 && first->rng.stream >> 8 == 3);
    contract_run_free(first);
    for (int k = 0; k < 5; k++)
        contract_run_free(others[k]);
    gnn_graph_free(g);
    gnn_graph_free(edges);
    gnn_graph_free(twice);
}
END_TEST

START_TEST(two_aggregations_of_one_program_draw_independently)
{
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_complete(&g, 1, (const int64_t[]){30}));
    contract_open(1);
    contract_run_t *r = uniform_run(g, 1, 2, 3);
    gnn_var_t vars[GNN_AGGREGATE_INPUTS];
    gnn_var_t one = contract_record(r, vars),
              two = gnn_tape_aggregate(contract_tape(), &r->how, vars);
    gnn_tape_keep(contract_tape(), two);
    ck_ok(gnn_tape_status(contract_tape()));
    ck_ok(gnn_tape_forward(contract_tape()));
    gnn_tensor_t a = gnn_tape_value(contract_tape(), one), b = gnn_tape_value(contract_tape(), two);
    int64_t differ = 0;
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t c = 0; c < a.cols; c++)
            differ += fabs((double)(gnn__row(&a, i)[c] - gnn__row(&b, i)[c])) > 1e-4;
    ck_assert_int_gt(differ, 150);
    r->training = 0;
    contract_record(r, vars); /* not training: nothing is dropped */
    ck_ok(gnn_tape_forward(contract_tape()));
    a = gnn_tape_value(contract_tape(), one);
    for (int64_t i = 0; i < a.rows; i++)
        ck_assert_double_eq_tol((double)gnn__row(&a, i)[i % a.cols], 1, 1e-5);
    contract_run_free(r);
    contract_close();
    gnn_graph_free(g);
}
END_TEST

/* Draws for eight heads are kept for a piece of rows at a time; pieces with too many columns draw
 * head by head. */
typedef enum { COMPLETE, CAUSAL, WINDOW, BIPARTITE } runs_t;
typedef struct long_runs {
    runs_t kind;
    int64_t segments, n_dst, n_src, heads, kv_heads; /* WINDOW: n_src to either side */
} long_runs_t;

static gnn_graph_t *graph_of_runs(const long_runs_t *c)
{
    gnn_graph_t *g = NULL;
    const int64_t dst[] = {c->n_dst, c->n_dst, c->n_dst}, src[] = {c->n_src, c->n_src, c->n_src};
    switch (c->kind) {
    case COMPLETE: ck_ok(gnn_graph_complete(&g, c->segments, dst)); break;
    case CAUSAL: ck_ok(gnn_graph_causal(&g, c->segments, dst)); break;
    case WINDOW: ck_ok(gnn_graph_window(&g, c->segments, dst, c->n_src, 1, GNN_OFF)); break;
    case BIPARTITE: ck_ok(gnn_graph_bipartite(&g, c->segments, dst, src)); break;
    }
    return g;
}

START_TEST(dropout_of_long_runs_is_that_of_their_pairs)
{
    static const long_runs_t cases[] = {
        {WINDOW, 2, 40, 30, 8, 8},       {COMPLETE, 2, 210, 0, 4, 4},
        {CAUSAL, 1, 430, 0, 12, 12},     {WINDOW, 1, 700, 70, 8, 8},
        {COMPLETE, 1, 390, 0, 12, 2},    {COMPLETE, 3, 150, 0, 8, 8},
        {BIPARTITE, 1, 250, 2600, 4, 4}, {BIPARTITE, 1, 100, 6000, 3, 3},
        {CAUSAL, 1, 1000, 0, 8, 8}};
    const size_t count = test_small() ? 1 : sizeof cases / sizeof *cases;
    contract_open(1);
    for (size_t k = 0; k < count; k++) {
        contract_case_t c =
            contract_case_of("dot", graph_of_runs(&cases[k]), "long runs", test_seed() + 3 * k);
        c.heads = cases[k].heads;
        c.kv_heads = cases[k].kv_heads;
        c.d_k = c.d_v = 3;
        c.dropout = 0.3;
        contract_check(&c);
        gnn_graph_free(c.graph);
    }
    contract_close();
    contract_assert("dropout of long runs");
}
END_TEST

/* ---- refusals ---- */

static void check_refusal(gnn_graph_t *g, size_t m, size_t a)
{
    for (int which = 0; which < 3; which++) {
        contract_case_t c = contract_case(m, a, g, "spans", 3);
        c.weight = which == 0;
        c.bias = which == 1 && contract_scored(&c) ? BIAS_SHARED : BIAS_NONE;
        c.features = which == 2 && (contract_scored(&c) || c.message->edge_parts);
        if (!c.weight && c.bias == BIAS_NONE && !c.features)
            continue;
        gnn_var_t vars[GNN_AGGREGATE_INPUTS];
        contract_run_t *r = contract_run_new(&c);
        contract_record(r, vars);
        ck_fails(gnn_tape_status(contract_tape()), GNN_EUNSUPPORTED, "spans");
        ck_assert_msg(strstr(gnn_error_message(), "part 1") != NULL,
                      "the message does not name the part: %s", gnn_error_message());
        contract_run_free(r);
    }
}

START_TEST(spans_refuse_edge_inputs)
{
    gnn_graph_t *spans = NULL, *both = NULL, *edges = contract_random_edges(9, 9, 20, 4);
    ck_ok(gnn_graph_complete(&spans, 1, (const int64_t[]){9}));
    ck_ok(gnn_graph_merge(&both, 2, (const gnn_graph_t *const[]){edges, spans}));
    ck_ok(gnn_graph_prepare(both, &(gnn_view_t){GNN_OFF, GNN_GRAPH_NORM_NONE, GNN_ON}));
    contract_open(1);
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            check_refusal(both, m, a);
    contract_close();
    gnn_graph_free(spans);
    gnn_graph_free(edges);
    gnn_graph_free(both);
}
END_TEST

TCase *contract_invariance_tests(void)
{
    TCase *t = tcase_create("invariance");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, nan_in_a_sentence_changes_no_bit_of_others);
    tcase_add_test(t, permuted_nodes_permute_the_output);
    tcase_add_test(t, dropout_is_keyed_by_its_use);
    tcase_add_test(t, two_aggregations_of_one_program_draw_independently);
    tcase_add_test(t, dropout_of_long_runs_is_that_of_their_pairs);
    tcase_add_test(t, spans_refuse_edge_inputs);
    return t;
}
