/* Blocks and lists of steps against PyG: outputs and gradients. Weights are imported by PyG's names
 * if steps have the names of its modules, else by a list. Sizes are the files', so that another set
 * at $GNN_GOLDEN passes as well. */
#include "zoo_case.h"

#include <stdarg.h>

/* Opens a case of one graph with the input x. */
static bool open_nodes(zoo_t *z, const char *name)
{
    if (!zoo_open_base(z, name))
        return false;
    zoo_input(z, "x");
    zoo_graph(z);
    return true;
}

/* Layout of the weights of a case, made during its setup. */
typedef struct {
    place_t list[96];
    char words[96][2][96];
    int count;
} places_t;

static void put(places_t *p, layout_t layout, int part, const char *array, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void put(places_t *p, layout_t layout, int part, const char *array, const char *format, ...)
{
    va_list arguments;
    ck_assert_int_lt(p->count, 96);
    char *field = p->words[p->count][0], *name = p->words[p->count][1];
    va_start(arguments, format);
    vsnprintf(field, sizeof p->words[0][0], format, arguments);
    va_end(arguments);
    snprintf(name, sizeof p->words[0][1], "%s", array);
    p->list[p->count++] = (place_t){field, name, layout, part};
}

/* Count of the arrays "w.lins.%d.weight". */
static int64_t count_arrays(zoo_t *z, const char *before, const char *after)
{
    char name[96];
    for (int64_t k = 0;; k++) {
        snprintf(name, sizeof name, "%s%lld%s", before, (long long)k, after);
        if (!golden_has(&z->g, name))
            return k;
    }
}

START_TEST(sage_project)
{
    zoo_t z;
    if (!open_nodes(&z, "sage_project"))
        return;
    zoo_block(&z, "sage_project",
              (gnn_block_t){.layer = GNN_SAGE(.in = zoo_cols(&z, "x"), .out = zoo_cols(&z, "y"))});
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* ---- hops ---- */

START_TEST(sgc)
{
    zoo_t z;
    if (!open_nodes(&z, "sgc"))
        return;
    gnn_block_t b = zoo_sized(&z);
    b.hops = 2;
    zoo_block(&z, "sgc", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(appnp)
{
    zoo_t z;
    if (!open_nodes(&z, "appnp"))
        return;
    gnn_block_t b = zoo_wide(&z);
    b.hops = 5;
    b.factor = (gnn_real_t)0.1;
    zoo_block(&z, "appnp", b);
    zoo_run(&z, NULL, 0);
}
END_TEST

static const struct {
    const char *file;
    int64_t less; /* hops than products */
} powers[] = {{"tag", 1}, {"cheb", 0}, {"mixhop", 1}};

START_TEST(powers_of_the_adjacency)
{
    zoo_t z;
    if (!open_nodes(&z, powers[_i].file))
        return;
    gnn_block_t b = zoo_sized(&z);
    const int64_t products = count_arrays(&z, "w.lins.", ".weight");
    b.hops = products - powers[_i].less;
    b.out = golden_array(&z.g, "w.lins.0.weight")->shape[0];
    zoo_block(&z, powers[_i].file, b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(arma)
{
    zoo_t z;
    places_t p = {.count = 0};
    if (!open_nodes(&z, "arma"))
        return;
    gnn_block_t b = zoo_sized(&z);
    const int64_t *shape = golden_array(&z.g, "w.root_weight")->shape;
    b.hops = shape[0];
    b.rows = shape[1];
    zoo_block(&z, "arma", b);
    for (int s = 0; s < b.rows; s++)
        put(&p, SAME, s, "init_weight", "w.%d.0.value.weight", s);
    for (int t = 1; t < b.hops; t++)
        for (int s = 0; s < b.rows; s++)
            put(&p, SAME, (t - 1) * (int)b.rows + s, "weight", "w.%d.%d.value.weight", s, t);
    for (int t = 0; t < b.hops; t++)
        for (int s = 0; s < b.rows; s++)
            put(&p, SAME, t * (int)b.rows + s, "root_weight", "w.%d.%d.self.weight", s, t);
    for (int t = 0; t < b.hops; t++)
        for (int s = 0; s < b.rows; s++)
            put(&p, SAME, t * (int)b.rows + s, "bias", "w.%d.%d.out.bias", s, t);
    zoo_run(&z, p.list, p.count);
}
END_TEST

START_TEST(gcn2)
{
    zoo_t z;
    if (!open_nodes(&z, "gcn2"))
        return;
    zoo_input(&z, "x0");
    z.values[1].wants_grad = 0; /* the file has no gradient of it */
    gnn_block_t b = zoo_wide(&z);
    b.memory = "x0";
    b.factor = (gnn_real_t)0.1;
    b.theta = (gnn_real_t)log(0.5 / 2 + 1);
    zoo_block(&z, "gcn2", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* ---- attention, softmax and degrees ---- */

START_TEST(agnn)
{
    zoo_t z;
    if (!open_nodes(&z, "agnn"))
        return;
    zoo_block(&z, "agnn", zoo_wide(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(gen)
{
    zoo_t z;
    if (!open_nodes(&z, "gen"))
        return;
    zoo_block(&z, "gen", zoo_sized(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* The mean of log(d + 1) over the degrees that `deg` counts. */
static double mean_log_degree(zoo_t *z)
{
    int64_t n, *count = golden_integers(&z->g, "deg", &n);
    double sum = 0, nodes = 0;
    for (int64_t d = 0; d < n; d++) {
        sum += log((double)d + 1) * (double)count[d];
        nodes += (double)count[d];
    }
    return sum / nodes;
}

START_TEST(pna)
{
    zoo_t z;
    if (!open_nodes(&z, "pna"))
        return;
    zoo_edges_to_nodes(&z);
    gnn_block_t b = zoo_sized(&z);
    b.theta = (gnn_real_t)mean_log_degree(&z);
    const gnn_aggregator_t *const four[] = {&gnn_aggregator_mean, &gnn_aggregator_min,
                                            &gnn_aggregator_max, &gnn_aggregator_std};
    memcpy(b.aggregators, four, sizeof four);
    zoo_block(&z, "pna", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(general_mf)
{
    zoo_t z;
    if (!open_nodes(&z, "general_mf"))
        return;
    gnn_block_t b = zoo_sized(&z);
    b.hops = count_arrays(&z, "w.lins_l.", ".weight") - 1;
    zoo_block(&z, "mf", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* ---- messages on edges ---- */

static gnn_block_t edge_sized(zoo_t *z)
{
    gnn_block_t b = zoo_sized(z);
    zoo_edges_to_nodes(z);
    if (golden_has(&z->g, "e")) {
        zoo_input(z, "e");
        b.edges = "e";
        b.edge_width = zoo_cols(z, "e");
    }
    return b;
}

START_TEST(edgeconv)
{
    zoo_t z;
    if (!open_nodes(&z, "edgeconv"))
        return;
    gnn_block_t b = edge_sized(&z);
    b.hidden = golden_array(&z.g, "w.nn.0.weight")->shape[0];
    zoo_block(&z, "edgeconv", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(film)
{
    zoo_t z;
    if (!open_nodes(&z, "film"))
        return;
    zoo_block(&z, "film", edge_sized(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(cg)
{
    zoo_t z;
    if (!open_nodes(&z, "cg"))
        return;
    gnn_block_t b = edge_sized(&z);
    b.out = 0;
    zoo_block(&z, "cg", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(gmm)
{
    zoo_t z;
    if (!open_nodes(&z, "gmm"))
        return;
    gnn_block_t b = edge_sized(&z);
    b.rows = golden_array(&z.g, "w.mu")->shape[0];
    zoo_block(&z, "gmm", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(nnconv)
{
    zoo_t z;
    if (!open_nodes(&z, "nnconv"))
        return;
    gnn_block_t b = edge_sized(&z);
    b.hidden = golden_array(&z.g, "w.nn.0.weight")->shape[0];
    b.layer.aggregator = &gnn_aggregator_mean;
    zoo_block(&z, "nnconv", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* The edges of each relation as a graph of its own. */
static void add_relations(zoo_t *z, int64_t relations)
{
    int64_t m, *src = golden_integers(&z->g, "src", &m), *dst = golden_integers(&z->g, "dst", NULL),
               *type = golden_integers(&z->g, "type", NULL),
               *a = golden_integers(&z->g, "src", NULL), *b = golden_integers(&z->g, "dst", NULL);
    const int64_t n = golden_array(&z->g, "x")->shape[0];
    for (int64_t r = 0; r < relations; r++) {
        int64_t count = 0;
        for (int64_t e = 0; e < m; e++)
            if (type[e] == r) {
                a[count] = src[e];
                b[count++] = dst[e];
            }
        ck_ok(gnn_graph_from_edges(&z->graphs[z->n_graphs++], n, n, count, a, b));
    }
}

START_TEST(rgcn)
{
    zoo_t z;
    if (!zoo_open_base(&z, "rgcn"))
        return;
    zoo_input(&z, "x");
    gnn_block_t b = zoo_sized(&z);
    b.hops = golden_array(&z.g, "w.comp")->shape[0];
    b.rows = golden_array(&z.g, "w.comp")->shape[1];
    add_relations(&z, b.hops);
    zoo_block(&z, "rgcn", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* ---- cases of the project's own: tests/pyg/make.py ---- */

START_TEST(ssg)
{
    zoo_t z;
    if (!open_nodes(&z, "pyg/ssg"))
        return;
    gnn_block_t b = zoo_sized(&z);
    b.hops = 3;
    b.factor = (gnn_real_t)0.2;
    zoo_block(&z, "ssg", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(lg)
{
    zoo_t z;
    if (!open_nodes(&z, "pyg/lg"))
        return;
    gnn_block_t b = zoo_wide(&z);
    b.hops = 3;
    zoo_block(&z, "lg", b);
    zoo_run(&z, NULL, 0);
}
END_TEST

START_TEST(le)
{
    zoo_t z;
    if (!open_nodes(&z, "pyg/le"))
        return;
    zoo_block(&z, "le", zoo_sized(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(deep_gcn)
{
    zoo_t z;
    if (!open_nodes(&z, "pyg/deep_gcn"))
        return;
    gnn_block_t b = zoo_wide(&z);
    b.hidden = golden_array(&z.g, "w.conv.mlp.0.weight")->shape[0];
    zoo_block(&z, "deep_gcn", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(gen_by_power_mean)
{
    zoo_t z;
    if (!open_nodes(&z, "pyg/gen_power"))
        return;
    gnn_block_t b = zoo_sized(&z);
    b.hidden = golden_array(&z.g, "w.mlp.0.weight")->shape[0];
    b.factor = 1;
    zoo_block(&z, "gen", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* More relations than a list of steps has inputs. */
START_TEST(rgcn_of_blocks)
{
    zoo_t z;
    if (!zoo_open_base(&z, "pyg/rgcn_blocks"))
        return;
    zoo_input(&z, "x");
    gnn_block_t b = zoo_sized(&z);
    b.hops = golden_array(&z.g, "w.weight")->shape[0];
    b.heads = golden_array(&z.g, "w.weight")->shape[1];
    add_relations(&z, b.hops);
    zoo_block(&z, "rgcn", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(gps)
{
    static const place_t places[] = {{"w.local.value.weight", "conv.lin.weight", TURNED, 0},
                                     {"w.local.out.bias", "conv.bias", SAME, 0},
                                     {"w.attention.query.weight", "attn.in_proj_weight", TURNED, 0},
                                     {"w.attention.key.weight", "attn.in_proj_weight", TURNED, 1},
                                     {"w.attention.value.weight", "attn.in_proj_weight", TURNED, 2},
                                     {"w.attention.query.bias", "attn.in_proj_bias", SAME, 0},
                                     {"w.attention.key.bias", "attn.in_proj_bias", SAME, 1},
                                     {"w.attention.value.bias", "attn.in_proj_bias", SAME, 2},
                                     {"w.attention.out.weight", "attn.out_proj.weight", TURNED, 0},
                                     {"w.attention.out.bias", "attn.out_proj.bias", SAME, 0},
                                     {"w.mlp.0.weight", "mlp.0.weight", TURNED, 0},
                                     {"w.mlp.0.bias", "mlp.0.bias", SAME, 0},
                                     {"w.mlp.1.weight", "mlp.3.weight", TURNED, 0},
                                     {"w.mlp.1.bias", "mlp.3.bias", SAME, 0}};
    zoo_t z;
    if (!open_nodes(&z, "gps"))
        return;
    ck_ok(gnn_graph_complete(&z.graphs[z.n_graphs++], 1, &z.tensors[0].rows));
    zoo_block(
        &z, "gps",
        (gnn_block_t){.heads = zoo_number(&z, "heads"), .layer = GNN_GCN(.in = zoo_cols(&z, "x"))});
    zoo_run(&z, places, 14);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_blocks");
    TCase *c = tcase_create("golden_blocks");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, sage_project);
    tcase_add_test(c, sgc);
    tcase_add_test(c, appnp);
    tcase_add_test(c, arma);
    tcase_add_test(c, gcn2);
    tcase_add_test(c, agnn);
    tcase_add_test(c, gen);
    tcase_add_test(c, pna);
    tcase_add_test(c, general_mf);
    tcase_add_test(c, edgeconv);
    tcase_add_test(c, film);
    tcase_add_test(c, cg);
    tcase_add_test(c, gmm);
    tcase_add_test(c, nnconv);
    tcase_add_test(c, rgcn);
    tcase_add_loop_test(c, powers_of_the_adjacency, 0, 3);
    tcase_add_test(c, gps);
    tcase_add_test(c, ssg);
    tcase_add_test(c, lg);
    tcase_add_test(c, le);
    tcase_add_test(c, deep_gcn);
    tcase_add_test(c, gen_by_power_mean);
    tcase_add_test(c, rgcn_of_blocks);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
