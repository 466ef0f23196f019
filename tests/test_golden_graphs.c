/* Graph transformers of the zoo: attention over edges with features, to all nodes by hops, over
 * several graphs, over pairs that values choose. Outputs and all gradients. */
#include "zoo_case.h"

#define RUN(z, places) zoo_run(z, places, sizeof(places) / sizeof *(places))

static bool open_case(zoo_t *z, const char *name)
{
    if (!zoo_open(z, name))
        return false;
    zoo_input(z, "x");
    return true;
}

/* Heads as the file has them, too; the block reads x. */
static gnn_block_t sized(zoo_t *z)
{
    gnn_block_t b = zoo_sized(z);
    b.input = "x";
    b.heads = golden_has(&z->g, "p.heads") ? zoo_number(z, "p.heads") : 1;
    return b;
}

/* A complete graph as edges, by receiver. */
static void add_all_pairs(zoo_t *z)
{
    gnn_graph_t *spans = NULL;
    ck_ok(gnn_graph_complete(&spans, 1, &z->tensors[0].rows));
    ck_ok(gnn_graph_to_edges(&z->graphs[z->n_graphs++], spans));
    gnn_graph_free(spans);
}

/* An array of integers as an input of ids; owned by the file. */
static void add_ids(zoo_t *z, const char *name, const char *array)
{
    int64_t n, *numbers = golden_integers(&z->g, array, &n);
    int32_t *ids = (int32_t *)(void *)golden_reals(&z->g, n);
    for (int64_t k = 0; k < n; k++)
        ids[k] = (int32_t)numbers[k];
    z->values[z->n_values++] = (gnn_named_t){.name = name, .ids = ids, .count = n};
}

static void add_incidence(zoo_t *z)
{
    ck_ok(gnn_graph_incidence(&z->graphs[z->n_graphs], z->graphs[z->n_graphs - 1]));
    z->n_graphs++;
}

/* ---- one layer ---- */

START_TEST(graph_transformer)
{
    static const place_t places[] = {
        {"0.query.weight", "q", TURNED, 0},  {"0.key.weight", "k", TURNED, 0},
        {"0.value.weight", "v", TURNED, 0},  {"0.out.weight", "o", TURNED, 0},
        {"0.ffn.0.weight", "W1", TURNED, 0}, {"0.ffn.0.bias", "b1", SAME, 0},
        {"0.ffn.1.weight", "W2", TURNED, 0}, {"0.ffn.1.bias", "b2", SAME, 0},
        {"0.norm.gain", "norm1", SAME, 0},   {"0.norm.shift", "bias1", SAME, 0},
        {"0.norm2.gain", "norm2", SAME, 0},  {"0.norm2.shift", "bias2", SAME, 0}};
    zoo_t z;
    if (!open_case(&z, "graph_transformer"))
        return;
    zoo_graph(&z);
    zoo_add(&z,
            (gnn_step_t){
                .inputs = {"x"},
                .layer = GNN_TRANSFORMER(.in = zoo_cols(&z, "x"), .heads = zoo_number(&z, "p.heads"),
                                         .feed_forward = golden_array(&z.g, "w.W1")->shape[0],
                                         .norm_eps = (gnn_real_t)zoo_real(&z, "p.eps"),
                                         .bias_project = GNN_OFF, .bias_out = GNN_OFF)});
    RUN(&z, places);
}
END_TEST

/* ---- scores on edges ---- */

START_TEST(graph_transformer_edges)
{
    static const place_t places[] = {
        {"w.query.weight", "q", TURNED, 0},  {"w.key.weight", "k", TURNED, 0},
        {"w.value.weight", "v", TURNED, 0},  {"w.edge.weight", "E", TURNED, 0},
        {"w.edges.weight", "OE", TURNED, 0}, {"w.out.weight", "o", TURNED, 0}};
    for (int which = 0; which < 2; which++) {
        zoo_t z;
        if (!open_case(&z, "graph_transformer_edges"))
            return;
        zoo_input(&z, "e");
        zoo_graph(&z);
        add_incidence(&z);
        gnn_block_t b = sized(&z);
        b.edges = "e";
        b.edge_width = zoo_cols(&z, "e");
        zoo_block(&z, "graph_transformer_edges", b);
        if (which == 0) {
            RUN(&z, places);
            continue;
        }
        zoo_record(&z, places, 6);
        zoo_same_value(&z, "w.edges", "edge_y");
        zoo_close(&z);
    }
}
END_TEST

START_TEST(exphormer)
{
    static const place_t places[] = {
        {"w.virtual.rows", "virtual", SAME, 0}, {"w.query.weight", "q", TURNED, 0},
        {"w.key.weight", "k", TURNED, 0},       {"w.value.weight", "v", TURNED, 0},
        {"w.kind.table", "E", SAME, 0},         {"w.out.weight", "o", TURNED, 0}};
    zoo_t z;
    if (!open_case(&z, "exphormer"))
        return;
    const int64_t n = z.tensors[0].rows, more = golden_array(&z.g, "w.virtual")->shape[0];
    int64_t m, *src = golden_integers(&z.g, "r.pair_src", &m),
               *dst = golden_integers(&z.g, "r.pair_dst", NULL);
    ck_ok(gnn_graph_from_edges(&z.graphs[z.n_graphs++], n + more, n + more, m, src, dst));
    add_incidence(&z);
    add_ids(&z, "kinds", "r.pair_kind");
    gnn_block_t b = sized(&z);
    b.edges = "kinds";
    b.edge_width = golden_array(&z.g, "w.E")->shape[0];
    b.hops = more;
    zoo_block(&z, "exphormer", b);
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_VIEW, .inputs = {"w"}, .rows = n});
    /* A copy: a gradient enters no window. */
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_OP, .op = &gnn_op_power});
    RUN(&z, places);
}
END_TEST

/* ---- all nodes ---- */

START_TEST(sgformer)
{
    static const place_t places[] = {{"w.q.weight", "q", TURNED, 0},
                                     {"w.k.weight", "k", TURNED, 0},
                                     {"w.v.weight", "v", TURNED, 0}};
    zoo_t z;
    if (!open_case(&z, "sgformer_pyg"))
        return;
    ck_ok(gnn_graph_complete(&z.graphs[z.n_graphs++], 1, &z.tensors[0].rows));
    const gnn_block_t b = sized(&z);
    zoo_block(&z, "sgformer", b);
    RUN(&z, places);
}
END_TEST

START_TEST(hop_decay)
{
    static const place_t places[] = {{"w.gamma.rows", "gamma", SAME, 0},
                                     {"w.query.weight", "q", TURNED, 0},
                                     {"w.key.weight", "k", TURNED, 0},
                                     {"w.value.weight", "v", TURNED, 0},
                                     {"w.out.weight", "o", TURNED, 0}};
    zoo_t z;
    if (!open_case(&z, "hop_decay"))
        return;
    const gnn_tensor_t hops = golden_tensor(&z.g, "r.hops");
    const gnn_tensor_t column = gnn_tensor(hops.data, hops.rows * hops.cols, 1);
    z.values[z.n_values++] = (gnn_named_t){.name = "hops", .dense = &column};
    add_all_pairs(&z);
    gnn_block_t b = sized(&z);
    b.edges = "hops";
    zoo_block(&z, "hop_decay", b);
    RUN(&z, places);
}
END_TEST

START_TEST(graphormer)
{
    static const place_t places[] = {
        {"w.degree.table", "degree", SAME, 0}, {"w.hops.table", "table", TURNED, 0},
        {"w.query.weight", "q", TURNED, 0},    {"w.key.weight", "k", TURNED, 0},
        {"w.value.weight", "v", TURNED, 0},    {"w.out.weight", "o", TURNED, 0}};
    zoo_t z;
    if (!open_case(&z, "graphormer"))
        return;
    add_all_pairs(&z);
    add_ids(&z, "degrees", "r.degree");
    add_ids(&z, "hops", "r.hops");
    gnn_block_t b = sized(&z);
    b.memory = "degrees";
    b.rows = golden_array(&z.g, "w.degree")->shape[0];
    b.edges = "hops";
    b.edge_width = zoo_cols(&z, "w.table");
    zoo_block(&z, "graphormer", b);
    RUN(&z, places);
}
END_TEST

/* Pairs up to a distance, as edges; without self-loops unless `own`. */
static void add_near(zoo_t *z, int64_t least, int64_t most)
{
    int64_t count, *hops = golden_integers(&z->g, "r.hops", &count), m = 0;
    int64_t *src = golden_integers(&z->g, "r.hops", NULL),
            *dst = golden_integers(&z->g, "r.hops", NULL);
    const int64_t n = z->tensors[0].rows;
    for (int64_t k = 0; k < count; k++)
        if (hops[k] >= least && hops[k] <= most) {
            src[m] = k % n;
            dst[m++] = k / n;
        }
    ck_ok(gnn_graph_from_edges(&z->graphs[z->n_graphs++], n, n, m, src, dst));
}

START_TEST(multi_graph_heads)
{
    static const place_t places[] = {{"w.query.weight", "q", TURNED, 0},
                                     {"w.key.weight", "k", TURNED, 0},
                                     {"w.value.weight", "v", TURNED, 0},
                                     {"w.out.weight", "o", TURNED, 0}};
    zoo_t z;
    if (!open_case(&z, "multi_graph_heads"))
        return;
    add_near(&z, 1, 1);
    add_near(&z, 0, 2);
    add_near(&z, 0, INT64_MAX);
    gnn_block_t b = sized(&z);
    b.hops = 3;
    zoo_block(&z, "multi_graph", b);
    RUN(&z, places);
}
END_TEST

/* ---- by importance, by values ---- */

START_TEST(pinsage)
{
    static const place_t places[] = {{"w.message.weight", "Q", TURNED, 0},
                                     {"w.message.bias", "q", SAME, 0},
                                     {"w.out.weight", "W", TURNED, 0},
                                     {"w.out.bias", "w", SAME, 0}};
    zoo_t z;
    if (!open_case(&z, "pinsage"))
        return;
    zoo_input(&z, "ew");
    zoo_graph(&z);
    gnn_block_t b = sized(&z);
    b.edge_weight = "ew";
    b.hidden = golden_array(&z.g, "w.Q")->shape[0];
    zoo_block(&z, "pinsage", b);
    RUN(&z, places);
}
END_TEST

/* Senders of receivers from the file, in any order, with -1 for shorter sentences. */
static void same_neighbours(zoo_t *z, const gnn_graph_t *graph)
{
    int64_t count, *expected = golden_integers(&z->g, "r.neighbours", &count),
                   m = gnn_graph_n_edges(graph), k = zoo_cols(z, "r.neighbours"), there = 0;
    int64_t *src = golden_integers(&z->g, "r.neighbours", NULL),
            *dst = golden_integers(&z->g, "r.neighbours", NULL);
    for (int64_t at = 0; at < count; at++)
        there += expected[at] >= 0;
    ck_assert_int_eq(m, there);
    ck_ok(gnn_graph_pairs(graph, src, dst, NULL));
    for (int64_t e = 0; e < m; e++) {
        int64_t found = 0;
        for (int64_t c = 0; c < k; c++)
            found += expected[dst[e] * k + c] == src[e];
        ck_assert_int_eq(found, 1);
    }
}

START_TEST(dynamic_edge_conv)
{
    static const place_t places[] = {{"w.nn.0.weight", "W", TURNED, 0},
                                     {"w.nn.0.bias", "b", SAME, 0}};
    zoo_t z;
    if (!open_case(&z, "dynamic_edge_conv"))
        return;
    int64_t segments, *lengths = golden_integers(&z.g, "lengths", &segments);
    const gnn_array_t *neighbours = golden_array(&z.g, "r.neighbours");
    ck_assert_int_eq(neighbours->ndim, 2);
    ck_ok(gnn_graph_nearest(&z.graphs[z.n_graphs++], &z.tensors[0], segments, lengths,
                            zoo_number(&z, "p.k")));
    same_neighbours(&z, z.graphs[0]);
    add_incidence(&z);
    const gnn_block_t b = sized(&z);
    zoo_block(&z, "edgeconv", b);
    RUN(&z, places);
}
END_TEST

/* ---- positions ---- */

/* Eigenvectors are from the file, concatenated with x. */
START_TEST(laplacian_positions)
{
    zoo_t z;
    gnn_real_t values[8], numbers[8 * 64];
    if (!open_case(&z, "laplacian_positions"))
        return;
    zoo_graph(&z);
    const int64_t n = z.tensors[0].rows, k = zoo_cols(&z, "r.vectors");
    ck_assert(k <= 8 && n <= 64);
    const gnn_tensor_t positions = gnn_tensor(numbers, n, k);
    ck_ok(gnn_graph_laplacian_positions(z.graphs[0], &positions, values));
    golden_same(&z.g, "r.vectors", &positions, GOLDEN_OUT);
    const gnn_array_t *all = golden_array(&z.g, "r.values");
    for (int64_t c = 0; c < k; c++)
        ck_assert_double_eq_tol((double)values[c], gnn_array_get(all, c + 1), GOLDEN_OUT);
    z.values[z.n_values++] = (gnn_named_t){.name = "positions", .dense = &positions};
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_CONCAT, .inputs = {"x", "positions"}});
    zoo_run(&z, NULL, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_graphs");
    TCase *c = tcase_create("golden_graphs");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, graph_transformer);
    tcase_add_test(c, graph_transformer_edges);
    tcase_add_test(c, exphormer);
    tcase_add_test(c, sgformer);
    tcase_add_test(c, hop_decay);
    tcase_add_test(c, graphormer);
    tcase_add_test(c, multi_graph_heads);
    tcase_add_test(c, pinsage);
    tcase_add_test(c, dynamic_edge_conv);
    tcase_add_test(c, laplacian_positions);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
