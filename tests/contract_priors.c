/* Terms added to scores in the kernels that support them: by distance in tiles on spans, row by row
 * on edges and for irregular distances, at every precision; by edge in the by-lane kernels; other
 * weighers and priors in strips. Checks that the intended implementation ran. */
#include "contract.h"

#include <graphs/graph.h>
#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/neighbours/neighbours.h>
#include <lib/tape/tape.h>

/* ---- which way ran ---- */

/* Does the profile have a line for implementation `way`? */
static bool profile_says(const char *way)
{
    const gnn__profile_t *profile = contract_tape()->context->profile;
    for (int64_t k = 0; profile && k < profile->count; k++)
        if (strstr(profile->rows[k].name, way))
            return true;
    return false;
}

static void check_way(const contract_case_t *c, const char *way)
{
    setenv("GNN_PROFILE", "1", 1);
    contract_open(2);
    contract_check(c);
    if (!profile_says(way))
        contract_failure(c, "the profile has no %s", way);
    contract_close();
    unsetenv("GNN_PROFILE");
}

/* ---- cases ---- */

/* Distances are regular in the first four, not for senders in steps or random spans over two
 * segments. */
enum { STRAIGHT = 4, GRAPHS = 6 };

static gnn_graph_t *prior_graph(size_t kind, int64_t n)
{
    const int64_t lengths[] = {n, 0, n / 3, 1}, others[] = {n / 2, 3, n, 2};
    gnn_graph_t *g = NULL, *parts[2] = {NULL};
    switch (kind) {
    case 0: ck_ok(gnn_graph_causal(&g, 4, lengths)); break;
    case 1: ck_ok(gnn_graph_complete(&g, 1, lengths)); break;
    case 2: ck_ok(gnn_graph_window(&g, 4, lengths, 7, 1, GNN_OFF)); break;
    case 3: ck_ok(gnn_graph_bipartite(&g, 4, lengths, others)); break;
    case 4: ck_ok(gnn_graph_window(&g, 1, lengths, 3, 2, GNN_OFF)); return g;
    default:
        ck_ok(gnn_graph_window(&parts[0], 1, lengths, 5, 1, GNN_ON));
        parts[1] = contract_random_edges(n, n, 3 * n, 17);
        ck_ok(gnn_graph_merge(&g, 2, (const gnn_graph_t *const *)parts));
        gnn_graph_free(parts[0]);
        gnn_graph_free(parts[1]);
        return g;
    }
    for (int64_t s = 0; s < gnn_graph_n_segments(g); s++)
        ck_ok(gnn__graph_set_start(g, s, 2 * s, 5 * s + 1));
    return g;
}

static contract_case_t prior_case(size_t turn, gnn_graph_t *g)
{
    static const int64_t widths[] = {1, 16, 7, 64, 8};
    contract_case_t c = contract_case_of("dot", g, "priors", test_seed() + 11 * turn);
    c.priors[0] = turn % 2 ? (gnn_prior_use_t){&gnn_prior_table, {7}}
                           : (gnn_prior_use_t){&gnn_prior_slope, {0}};
    if (turn % 2)
        c.weigher = &gnn_weigher_softmax_sink;
    if (turn % 5 == 3)
        c.priors[1] = (gnn_prior_use_t){&gnn_prior_slope_absolute, {0}};
    if (turn % 4 == 2)
        c.priors[2] = (gnn_prior_use_t){&gnn_prior_table, {9, GNN_BUCKET_LOG, 40}};
    c.d_v = widths[turn % 5];
    c.d_k = turn % 3 ? c.d_v : widths[turn % 4];
    c.heads = 1 << turn % 3;
    c.kv_heads = turn / 4 % 2 ? (c.heads + 1) / 2 : c.heads;
    c.dropout = turn / 2 % 2 ? 0.3 : 0;
    c.strided = turn % 7 == 0;
    ck_ok(gnn_graph_prepare(g, &c.view));
    return c;
}

/* ---- tests ---- */

static const char *way_of_kind(size_t kind)
{
    return kind < STRAIGHT ? "[by_tile]" : kind == 4 ? "[by_row]" : "[by_tile+by_row]";
}

START_TEST(priors_in_tiles_and_rows)
{
    static const int64_t sizes[] = {5, 63, 64, 65, 130, 257};
    for (size_t turn = 0; turn < (test_small() ? 6 : 72); turn++) {
        const size_t kind = turn % GRAPHS;
        gnn_graph_t *g = prior_graph(kind, sizes[turn / GRAPHS % 6]), *edges = contract_edges_of(g);
        contract_case_t c = prior_case(turn, g);
        check_way(&c, way_of_kind(kind));
        c.graph = edges;
        c.weight = turn % 2;
        c.bias = (edge_bias_t)(turn % 3);
        c.score = turn % 4 ? &gnn_score_dot : &gnn_score_additive;
        ck_ok(gnn_graph_prepare(edges, &c.view));
        check_way(&c, "[by_row]");
        gnn_graph_free(edges);
        gnn_graph_free(g);
    }
    contract_assert("priors in tiles and rows");
}
END_TEST

/* Cases in tiles at a level below the highest. */
static void check_level(contract_case_t (*make)(size_t turn, gnn_graph_t *g), gnn_precision_t level)
{
    for (size_t turn = 0; turn < (test_small() ? 2 : 16); turn++) {
        gnn_graph_t *g = prior_graph(turn % STRAIGHT, 100 + 70 * (int64_t)(turn % 3));
        const contract_case_t c = make(turn, g);
        contract_open_at(2, level);
        contract_check(&c);
        contract_close();
        gnn_graph_free(g);
    }
}

START_TEST(priors_in_bf16)
{
    check_level(prior_case, (gnn_precision_t)_i);
    contract_assert(_i == GNN_PRECISION_HIGH ? "priors at high" : "priors at medium");
}
END_TEST

/* ---- keys by distance ---- */

/* Keys that all distances beyond some share, keys of every distance, keys that heads share, several
 * tables, with and without queries of their own. */
static contract_case_t key_case(size_t turn, gnn_graph_t *g)
{
    contract_case_t c = prior_case(turn, g);
    const double buckets = turn % 2 ? 600 : (double)(1 + turn % 7 * 4),
                 rule = (double)(turn / 2 % GNN_BUCKETS), shared = turn % 3 == 1;
    c.priors[0] = (gnn_prior_use_t){&gnn_prior_keys, {buckets, rule, 50, shared}};
    c.priors[1] = (gnn_prior_use_t){NULL, {0}};
    if (turn % 3 == 2)
        c.priors[1] = (gnn_prior_use_t){&gnn_prior_table, {9}};
    if (turn % 5 == 4)
        c.priors[2] =
            (gnn_prior_use_t){&gnn_prior_keys, {5, GNN_BUCKET_CLIP, 50, (double)(turn % 2)}};
    c.prior_query = turn / 3 % 2;
    c.softcap = turn % 4 == 3 ? 0.8 : 0;
    return c;
}

START_TEST(keys_in_tiles_and_rows)
{
    static const int64_t sizes[] = {5, 63, 64, 65, 130, 257, 500};
    for (size_t turn = 0; turn < (test_small() ? 6 : 84); turn++) {
        const size_t kind = turn % GRAPHS;
        gnn_graph_t *g = prior_graph(kind, sizes[turn / GRAPHS % 7]), *edges = contract_edges_of(g);
        contract_case_t c = key_case(turn, g);
        check_way(&c, way_of_kind(kind));
        c.graph = edges;
        c.weight = turn % 2;
        c.bias = (edge_bias_t)(turn % 3);
        if (turn % 4 == 0) {
            c.score = &gnn_score_additive;
            c.prior_query = true;
        }
        ck_ok(gnn_graph_prepare(edges, &c.view));
        check_way(&c, "[by_row]");
        gnn_graph_free(edges);
        gnn_graph_free(g);
    }
    contract_assert("keys in tiles and rows");
}
END_TEST

/* Scores that are capped before priors are added, without and with priors by distance. */
START_TEST(caps_in_tiles_and_rows)
{
    static const int64_t sizes[] = {5, 63, 64, 65, 130, 257};
    for (size_t turn = 0; turn < (test_small() ? 6 : 48); turn++) {
        const size_t kind = turn % GRAPHS;
        gnn_graph_t *g = prior_graph(kind, sizes[turn / GRAPHS % 6]), *edges = contract_edges_of(g);
        contract_case_t c = prior_case(turn, g);
        c.softcap = turn % 2 ? 0.8 : 3;
        if (kind == 0 || kind == 2)
            memset(c.priors, 0, sizeof c.priors);
        check_way(&c, way_of_kind(kind));
        c.graph = edges;
        c.score = turn % 3 == 0   ? &gnn_score_additive
                  : turn % 3 == 1 ? &gnn_score_additive_v2
                                  : &gnn_score_dot;
        ck_ok(gnn_graph_prepare(edges, &c.view));
        check_way(&c, "[by_row]");
        gnn_graph_free(edges);
        gnn_graph_free(g);
    }
    contract_assert("caps in tiles and rows");
}
END_TEST

/* All rows except receiver `broken` and its senders: those outside of low .. broken. */
static void compare_outside(const contract_run_t *a, const contract_run_t *b, int input,
                            int64_t low, int64_t broken)
{
    const int64_t cols = a->in[input].cols;
    double worst = 0;
    for (int64_t k = 0; k < a->in[input].rows * cols; k++) {
        const double d = fabs((double)a->grad[input][k] - (double)b->grad[input][k]);
        if (k / cols < low || k / cols > broken)
            worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
    }
    contract_judge(&a->c, contract_input_name(input), worst, 1e-4, "beside a broken query");
}

/* A NaN query affects its receiver and that receiver's senders only. */
START_TEST(keys_with_a_nan_query)
{
    const int64_t n = 150, reach = 40, broken = 100;
    gnn_graph_t *g = NULL;
    contract_run_t *runs[2];
    ck_ok(gnn_graph_window(&g, 1, &n, reach, 1, GNN_ON));
    contract_case_t c = contract_case_of("dot", g, "broken query", test_seed());
    c.priors[0] = (gnn_prior_use_t){&gnn_prior_keys, {_i ? 9 : 2 * (double)n, GNN_BUCKET_CLIP}};
    ck_ok(gnn_graph_prepare(g, &c.view));
    contract_open(2);
    for (int k = 0; k < 2; k++) {
        runs[k] = contract_run_new(&c);
        for (int64_t x = 0; k && x < runs[k]->in[GNN_AGGREGATE_QUERY].cols; x++)
            gnn__row(&runs[k]->in[GNN_AGGREGATE_QUERY], broken)[x] = (gnn_real_t)NAN;
        contract_library(runs[k]);
    }
    compare_outside(runs[0], runs[1], GNN_AGGREGATE_QUERY, broken, broken);
    compare_outside(runs[0], runs[1], GNN_AGGREGATE_KEY, broken - reach, broken);
    compare_outside(runs[0], runs[1], GNN_AGGREGATE_SRC_MESSAGE, broken - reach, broken);
    ck_assert(isnan((double)runs[1]->out[broken * runs[1]->out_width]));
    contract_run_free(runs[0]);
    contract_run_free(runs[1]);
    contract_close();
    gnn_graph_free(g);
    contract_assert("keys beside a broken query");
}
END_TEST

/* ---- values by distance ---- */

START_TEST(values_by_distance_in_rows)
{
    static const int64_t sizes[] = {5, 63, 65, 130};
    for (size_t turn = 0; turn < (test_small() ? 6 : 48); turn++) {
        gnn_graph_t *g = prior_graph(turn % GRAPHS, sizes[turn / GRAPHS % 4]),
                    *edges = contract_edges_of(g);
        contract_case_t c = key_case(turn, g);
        if (turn % 3 == 0)
            memset(c.priors, 0, sizeof c.priors);
        c.message = &gnn_message_by_distance;
        memcpy(c.message_options,
               (double[]){turn % 2 ? 400 : 9, (double)(turn % GNN_BUCKETS), 30, turn % 5 == 4},
               4 * sizeof(double));
        c.prior_query &= turn % 3 != 0;
        check_way(&c, "[by_row]");
        c.graph = edges;
        c.weight = turn % 2;
        ck_ok(gnn_graph_prepare(edges, &c.view));
        check_way(&c, "[by_row]");
        gnn_graph_free(edges);
        gnn_graph_free(g);
    }
    contract_assert("values by distance in rows");
}
END_TEST

/* ---- gates ---- */

/* A gate multiplies what any way has made. */
START_TEST(gates_after_every_implementation)
{
    static const struct {
        const char *aggregator, *way;
        bool spans;
    } ways[] = {{"dot", "[by_tile]", true},       {"dot", "[by_row]", false},
                {"additive", "[by_lane/", false}, {"additive_v2", "[by_lane/", false},
                {"sum", "[sum", false},           {"mean", "[sum", true},
                {"max", "[extreme", false},       {"std", "[generic]", true}};
    for (size_t turn = 0; turn < 4 * sizeof ways / sizeof *ways; turn++) {
        const size_t k = turn / 4;
        const uint64_t seed = test_seed() + turn;
        gnn_graph_t *g = ways[k].spans ? prior_graph(turn % STRAIGHT, 70)
                                       : contract_random_edges(30, 30, 200, seed);
        contract_case_t c = contract_case_of(ways[k].aggregator, g, "gates", seed);
        c.gate = true;
        c.strided = turn % 2;
        c.weight = strcmp(ways[k].way, "[by_row]") == 0;
        c.map = turn % 4 == 3 && gnn__scores_keys(c.score) ? &gnn_map_rope : NULL;
        ck_ok(gnn_graph_prepare(g, &c.view));
        const bool lanes = strstr(ways[k].way, "lane") != NULL,
                   extreme = strstr(ways[k].way, "extreme") != NULL;
        check_way(&c, lanes && !gnn__attention_lanes()               ? "[by_row]"
                      : extreme && !gnn__neighbour_extreme_kernels() ? "[generic]"
                                                                     : ways[k].way);
        gnn_graph_free(g);
    }
    contract_assert("gates behind every way");
}
END_TEST

START_TEST(keys_in_bf16)
{
    check_level(key_case, (gnn_precision_t)_i);
    contract_assert(_i == GNN_PRECISION_HIGH ? "keys at high" : "keys at medium");
}
END_TEST

/* Keys of absent distances may have any value, and so may queries without senders in a tile. */
START_TEST(keys_of_absent_distances)
{
    const int64_t n = 150, reach = 40;
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_window(&g, 1, &n, reach, 1, GNN_ON));
    contract_case_t c = contract_case_of("dot", g, "unheard keys", test_seed());
    c.priors[0] = (gnn_prior_use_t){&gnn_prior_keys, {2 * (double)n, GNN_BUCKET_CLIP}};
    ck_ok(gnn_graph_prepare(g, &c.view));
    contract_open(2);
    contract_run_t *r = contract_run_new(&c);
    const gnn_tensor_t *keys = &r->in[GNN_AGGREGATE_PRIOR_0];
    for (int64_t row = 0; row < keys->rows; row++)
        for (int64_t x = 0; (row > n || row < n - reach) && x < keys->cols; x++)
            gnn__row(keys, row)[x] = (gnn_real_t)NAN;
    contract_oracle(r, 1e-6);
    contract_library(r);
    contract_compare(r);
    contract_run_free(r);
    contract_close();
    gnn_graph_free(g);
    contract_assert("keys of distances that no pair has");
}
END_TEST

/* Starts so far apart that a table of all distances would need more memory than the graph: the
 * generic driver runs. */
START_TEST(distances_too_many_to_materialise)
{
    const int64_t lengths[] = {9, 6};
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_causal(&g, 2, lengths));
    ck_ok(gnn__graph_set_start(g, 1, 1 << 29, 1 << 29));
    const contract_case_t c = prior_case(1, g);
    check_way(&c, "[generic]");
    gnn_graph_free(g);
    contract_assert("distances too many to write down");
}
END_TEST

/* ---- what edges add ---- */

/* Few pairs per receiver, many, and several blocks of them. */
static gnn_graph_t *edge_graph(size_t turn, uint64_t seed)
{
    switch (turn % 3) {
    case 0: return contract_random_edges(45, 45, 90, seed);
    case 1: return contract_random_edges(20, 30, 500, seed);
    default: return contract_random_edges(6, 6, 1500, seed);
    }
}

/* Widths of edge features with kernels of their own, and others. */
static const int64_t edge_widths[] = {8, 3, 16, 1, 21};

/* Every second case with n_dst == n_src adds self-loops; some have features, some nodes have a
 * stored loop. */
static void prepare_edges(contract_case_t *c, size_t turn)
{
    const bool square = gnn_graph_n_dst(c->graph) == gnn_graph_n_src(c->graph);
    c->edge_dim = edge_widths[turn % 5];
    c->view.self_loops = square && turn % 2 ? GNN_ON : GNN_OFF;
    c->loop_features = c->features && square && turn % 4 == 1;
    c->strided = turn % 5 == 0;
    ck_ok(gnn_graph_prepare(c->graph, &c->view));
}

/* Additive scores with edge features, a bias, or both, for every layout of values. */
START_TEST(edge_terms_in_lanes)
{
    static const int64_t shapes[][2] = {{8, 8}, {1, 5}, {4, 16}, {8, 3}, {3, 8}, {1, 16}, {2, 64}};
    for (size_t turn = 0; turn < (test_small() ? 6 : 63); turn++) {
        const uint64_t seed = test_seed() + 5 * turn;
        gnn_graph_t *g = edge_graph(turn / 3, seed);
        contract_case_t c = contract_case_of("additive", g, "edge terms", seed);
        c.heads = c.kv_heads = shapes[turn % 7][0];
        c.d_v = shapes[turn % 7][1];
        c.features = turn % 3 != 1;
        c.bias = turn % 3 == 0 ? BIAS_NONE : turn % 2 ? BIAS_SHARED : BIAS_PER_HEAD;
        c.dropout = turn % 4 == 1 ? 0.3 : 0;
        prepare_edges(&c, turn);
        check_way(&c, gnn__attention_lanes() ? "[by_lane/" : c.features ? "[generic]" : "[by_row]");
        gnn_graph_free(g);
    }
    contract_assert("edge terms in lanes");
}
END_TEST

/* Dot scores whose keys and values have edge features in them, as TransformerConv's do; also in
 * keys alone. */
START_TEST(edge_rows_in_lanes)
{
    static const int64_t shapes[][3] = {{8, 8, 8},   {1, 5, 5},  {4, 16, 16}, {8, 3, 3}, {3, 8, 5},
                                        {1, 16, 16}, {1, 2, 32}, {2, 7, 64},  {8, 8, 2}};
    for (size_t turn = 0; turn < (test_small() ? 6 : 72); turn++) {
        const uint64_t seed = test_seed() + 5 * turn;
        gnn_graph_t *g = edge_graph(turn / 3 + turn / 9, seed);
        contract_case_t c = contract_case_of("dot", g, "edge rows", seed);
        c.message = gnn_message_find(turn % 4 == 3 ? "linear" : "linear_edge");
        c.heads = c.kv_heads = shapes[turn % 9][0];
        c.d_k = shapes[turn % 9][1];
        c.d_v = shapes[turn % 9][2];
        c.features = true;
        c.bias = turn % 5 == 1 ? BIAS_SHARED : turn % 5 == 3 ? BIAS_PER_HEAD : BIAS_NONE;
        c.shared = turn % 3 == 0;
        c.dropout = turn % 4 == 1 ? 0.3 : 0;
        prepare_edges(&c, turn);
        check_way(&c, gnn__attention_lanes() ? "[by_lane/" : "[generic]");
        gnn_graph_free(g);
    }
    contract_assert("edge rows in lanes");
}
END_TEST

/* Additive-v2 scores whose keys have edge features in them, as GATv2's do, a bias, or both; and dot
 * scores with a bias alone. */
START_TEST(edge_keys_in_lanes)
{
    static const int64_t shapes[][3] = {{8, 8, 8},   {1, 5, 5},  {4, 16, 16}, {8, 3, 3}, {3, 8, 5},
                                        {1, 16, 16}, {1, 2, 32}, {2, 7, 64},  {8, 8, 2}};
    for (size_t turn = 0; turn < (test_small() ? 8 : 72); turn++) {
        const uint64_t seed = test_seed() + 5 * turn;
        gnn_graph_t *g = edge_graph(turn / 3 + turn / 9, seed);
        contract_case_t c =
            contract_case_of(turn % 6 == 5 ? "dot" : "additive_v2", g, "edge keys", seed);
        c.heads = c.kv_heads = shapes[turn % 9][0];
        c.d_k = shapes[turn % 9][1];
        c.d_v = shapes[turn % 9][2];
        c.features = turn % 3 != 2;
        c.bias = turn % 3 == 0 ? BIAS_NONE : turn % 2 ? BIAS_SHARED : BIAS_PER_HEAD;
        c.shared = turn % 3 == 0;
        c.dropout = turn % 4 == 1 ? 0.3 : 0;
        prepare_edges(&c, turn);
        check_way(&c, gnn__attention_lanes() ? "[by_lane/" : c.features ? "[generic]" : "[by_row]");
        gnn_graph_free(g);
    }
    contract_assert("edge keys in lanes");
}
END_TEST

/* ---- strips ---- */

/* Entries that meet whole rows of scores: weighers with a kernel and without, each without priors
 * and with those of nodes, of positions, and of keys of either side. */
static contract_case_t strip_case(size_t turn, gnn_graph_t *g)
{
    static const char *const weighers[] = {"sigmoid",   "best",     "top",   "softmax",
                                           "sparsemax", "entmax15", "decay", "sigmoid"};
    static const gnn_prior_use_t terms[] = {{&gnn_prior_place, {9}},
                                            {&gnn_prior_decay, {0}},
                                            {&gnn_prior_sender_keys, {7, GNN_BUCKET_CLIP_BACK}},
                                            {&gnn_prior_sender_keys, {20, GNN_BUCKET_LOG, 40, 1}},
                                            {&gnn_prior_slope, {0}},
                                            {&gnn_prior_keys, {11}}};
    contract_case_t c = contract_case_of("dot", g, "strips", test_seed() + 11 * turn);
    const bool softmax = turn % 8 == 3, factors = turn % 8 == 6;
    c.weigher = gnn_weigher_find(weighers[turn % 8]);
    c.weigher_options[0] = turn % 8 == 1 ? 3 : turn % 8 == 2 ? 12 : turn % 8 == 7;
    if (softmax || factors)
        c.priors[0] = terms[factors ? 0 : turn / 8 % 3];
    else if (turn / 8 % 3 > 0)
        c.priors[0] = terms[turn / 3 % 6];
    if (turn / 8 % 3 == 2)
        c.priors[1] = (gnn_prior_use_t){turn % 2 ? &gnn_prior_sender : &gnn_prior_receiver, {0}};
    if (turn % 5 == 1)
        c.priors[2] = (gnn_prior_use_t){&gnn_prior_table, {9, GNN_BUCKET_LOG, 40}};
    c.prior_query = c.priors[0].row == &gnn_prior_keys && turn % 2;
    const bool keys = c.priors[0].row && (c.priors[0].row == &gnn_prior_keys ||
                                          c.priors[0].row == &gnn_prior_sender_keys);
    if (turn % 4 == 0 && turn % 3 == 1 && !keys) {
        c.score = &gnn_score_additive_tanh;
        c.weigher = turn % 16 == 0 ? &gnn_weigher_softmax : c.weigher;
        c.values = turn % 24 == 8 ? VALUES_WIDE : c.values;
    }
    c.heads = 1 << turn % 4;
    c.kv_heads = turn / 4 % 2 ? (c.heads + 1) / 2 : c.heads;
    c.value_heads = turn % 3 == 0 ? 1 : c.heads;
    c.d_k = turn % 7 == 0 ? 64 : turn % 2 ? 16 : 5;
    c.d_v = turn % 6 == 0 ? 64 : turn % 3 ? 7 : 16;
    c.softcap = turn % 4 == 1 ? 0.8 : 0;
    c.dropout = turn % 5 == 2 ? 0.3 : 0;
    c.strided = turn % 7 == 0;
    ck_ok(gnn_graph_prepare(g, &c.view));
    return c;
}

START_TEST(weighers_and_priors_in_strips)
{
    static const int64_t sizes[] = {1, 7, 65, 130};
    for (size_t turn = 0; turn < (test_small() ? 12 : 192); turn++) {
        gnn_graph_t *g = prior_graph(turn % 3, sizes[turn / 3 % 4]);
        const contract_case_t c = strip_case(turn, g);
        check_way(&c, "[by_strip]");
        gnn_graph_free(g);
    }
    contract_assert("weighers and priors in strips");
}
END_TEST

TCase *contract_prior_tests(void)
{
    TCase *t = tcase_create("priors");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, priors_in_tiles_and_rows);
    tcase_add_loop_test(t, priors_in_bf16, GNN_PRECISION_HIGH, GNN_PRECISION_MEDIUM + 1);
    tcase_add_test(t, keys_in_tiles_and_rows);
    tcase_add_test(t, caps_in_tiles_and_rows);
    tcase_add_loop_test(t, keys_with_a_nan_query, 0, 2);
    tcase_add_test(t, values_by_distance_in_rows);
    tcase_add_test(t, gates_after_every_implementation);
    tcase_add_loop_test(t, keys_in_bf16, GNN_PRECISION_HIGH, GNN_PRECISION_MEDIUM + 1);
    tcase_add_test(t, keys_of_absent_distances);
    tcase_add_test(t, distances_too_many_to_materialise);
    tcase_add_test(t, weighers_and_priors_in_strips);
    tcase_add_test(t, edge_terms_in_lanes);
    tcase_add_test(t, edge_rows_in_lanes);
    tcase_add_test(t, edge_keys_in_lanes);
    return t;
}
