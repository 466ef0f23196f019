/* Blocks and lists of steps against PyG: outputs and gradients. Weights come by PyG's names where
 * steps are called what its modules are called, else by a list of places. Sizes are the files', so
 * that another set at $GNN_GOLDEN passes as well. */
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

static void block(zoo_t *z, const char *name, gnn_block_t settings)
{
    settings.name = settings.name ? settings.name : "w";
    ck_ok(gnn_steps_block(z->steps, name, &settings));
}

/* Width and output columns as the file has them. */
static gnn_block_t sized(zoo_t *z)
{
    return (gnn_block_t){.width = zoo_cols(z, "x"), .out = zoo_cols(z, "y")};
}

/* Where the weights of a case lie, made while it is set up. */
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

/* How often a numbered array is there: "w.lins.%d.weight". */
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
    block(&z, "sage_project",
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
    gnn_block_t b = sized(&z);
    b.hops = 2;
    block(&z, "sgc", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(appnp)
{
    zoo_t z;
    if (!open_nodes(&z, "appnp"))
        return;
    gnn_block_t b = sized(&z);
    b.hops = 5;
    b.factor = (gnn_real_t)0.1;
    block(&z, "appnp", b);
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
    gnn_block_t b = sized(&z);
    const int64_t products = count_arrays(&z, "w.lins.", ".weight");
    b.hops = products - powers[_i].less;
    b.out = golden_array(&z.g, "w.lins.0.weight")->shape[0];
    block(&z, powers[_i].file, b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(arma)
{
    zoo_t z;
    places_t p = {.count = 0};
    if (!open_nodes(&z, "arma"))
        return;
    gnn_block_t b = sized(&z);
    const int64_t *shape = golden_array(&z.g, "w.root_weight")->shape;
    b.hops = shape[0];
    b.rows = shape[1];
    block(&z, "arma", b);
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
    static const place_t places[] = {{"w.weight1.weight", "weight1", SAME, 0}};
    zoo_t z;
    if (!open_nodes(&z, "gcn2"))
        return;
    zoo_input(&z, "x0");
    z.values[1].wants_grad = 0; /* the file has no gradient of it */
    gnn_block_t b = sized(&z);
    b.memory = "x0";
    b.factor = (gnn_real_t)0.1;
    b.theta = (gnn_real_t)log(0.5 / 2 + 1);
    block(&z, "gcn2", b);
    zoo_run(&z, places, 1);
}
END_TEST

/* ---- attention, softmax and degrees ---- */

START_TEST(agnn)
{
    zoo_t z;
    if (!open_nodes(&z, "agnn"))
        return;
    block(&z, "agnn", sized(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(gen)
{
    static const place_t places[] = {{"w.lin_src.weight", "lin_src.weight", TURNED, 0},
                                     {"w.lin_dst.weight", "lin_dst.weight", TURNED, 0},
                                     {"w.aggr_module.temperature", "aggr_module.t", SAME, 0},
                                     {"w.mlp.0.weight", "mlp.0.weight", TURNED, 0}};
    zoo_t z;
    if (!open_nodes(&z, "gen"))
        return;
    block(&z, "gen", sized(&z));
    zoo_run(&z, places, 4);
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
    gnn_block_t b = sized(&z);
    b.theta = (gnn_real_t)mean_log_degree(&z);
    const gnn_aggregator_t *const four[] = {&gnn_aggregator_mean, &gnn_aggregator_min,
                                            &gnn_aggregator_max, &gnn_aggregator_std};
    memcpy(b.aggregators, four, sizeof four);
    block(&z, "pna", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(general_mf)
{
    zoo_t z;
    if (!open_nodes(&z, "general_mf"))
        return;
    gnn_block_t b = sized(&z);
    b.hops = count_arrays(&z, "w.lins_l.", ".weight") - 1;
    block(&z, "mf", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* ---- messages on edges ---- */

static gnn_block_t edge_sized(zoo_t *z)
{
    gnn_block_t b = sized(z);
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
    block(&z, "edgeconv", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(film)
{
    zoo_t z;
    if (!open_nodes(&z, "film"))
        return;
    block(&z, "film", edge_sized(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(cg)
{
    zoo_t z;
    if (!open_nodes(&z, "cg"))
        return;
    block(&z, "cg", edge_sized(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(gmm)
{
    static const place_t places[] = {{"w.mu.rows", "mu", SAME, 0},
                                     {"w.sigma.rows", "sigma", SAME, 0},
                                     {"w.g.weight", "g", SAME, 0},
                                     {"w.root.weight", "root.weight", TURNED, 0},
                                     {"w.bias.rows", "bias", SAME, 0}};
    zoo_t z;
    if (!open_nodes(&z, "gmm"))
        return;
    gnn_block_t b = edge_sized(&z);
    b.rows = golden_array(&z.g, "w.mu")->shape[0];
    block(&z, "gmm", b);
    zoo_run(&z, places, 5);
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
    block(&z, "nnconv", b);
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
    static const place_t places[] = {{"w.comp.rows", "comp", SAME, 0},
                                     {"w.weight.weight", "weight", SAME, 0},
                                     {"w.root.weight", "root", SAME, 0},
                                     {"w.bias.rows", "bias", SAME, 0}};
    zoo_t z;
    if (!zoo_open_base(&z, "rgcn"))
        return;
    zoo_input(&z, "x");
    gnn_block_t b = sized(&z);
    b.hops = golden_array(&z.g, "w.comp")->shape[0];
    b.rows = golden_array(&z.g, "w.comp")->shape[1];
    add_relations(&z, b.hops);
    block(&z, "rgcn", b);
    zoo_run(&z, places, 4);
}
END_TEST

/* ---- readouts and norms over the graphs of a batch ---- */

static bool open_batch(zoo_t *z, const char *name)
{
    if (!zoo_open_base(z, name))
        return false;
    zoo_input(z, "x");
    zoo_readout(z);
    return true;
}

static const struct {
    const char *file;
    const gnn_aggregator_t *aggregator;
    const gnn_op_t *op;
} plain_readouts[] = {
    {"readout_sum", &gnn_aggregator_sum, NULL}, {"readout_mean", &gnn_aggregator_mean, NULL},
    {"readout_max", &gnn_aggregator_max, NULL}, {"readout_std", &gnn_aggregator_std, NULL},
    {"readout_median", NULL, &gnn_op_median},   {"readout_sort", NULL, &gnn_op_sort_pool}};

START_TEST(readouts_without_weights)
{
    zoo_t z;
    if (!open_batch(&z, plain_readouts[_i].file))
        return;
    gnn_step_t step = {
        .kind = GNN_STEP_AGGREGATE,
        .input = "x",
        .layer = {.in = zoo_cols(&z, "x"), .aggregator = plain_readouts[_i].aggregator}};
    if (plain_readouts[_i].op)
        step = (gnn_step_t){.kind = GNN_STEP_OP,
                            .op = plain_readouts[_i].op,
                            .input = "x",
                            .options = {(double)(zoo_cols(&z, "y") / zoo_cols(&z, "x"))}};
    zoo_add(&z, step);
    zoo_run(&z, NULL, 0);
}
END_TEST

START_TEST(readout_softmax)
{
    static const place_t places[] = {{"w.temperature", "t", SAME, 0}};
    zoo_t z;
    if (!open_batch(&z, "readout_softmax"))
        return;
    zoo_add(&z,
            (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                         .name = "w",
                         .input = "x",
                         .layer = {.in = zoo_cols(&z, "x"), .aggregator = &gnn_aggregator_softmax}});
    zoo_run(&z, places, 1);
}
END_TEST

static const struct {
    const char *file, *block;
} named_blocks[] = {{"readout_attentional", "attentional"},
                    {"readout_power_mean", "power_mean"},
                    {"norm_graph", "graph_norm"},
                    {"norm_instance", "instance_norm"}};

START_TEST(blocks_over_a_batch)
{
    zoo_t z;
    if (!open_batch(&z, named_blocks[_i].file))
        return;
    block(&z, named_blocks[_i].block, sized(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

START_TEST(readout_lstm)
{
    static const place_t places[] = {{"w.weight_ih.rows", "lstm.weight_ih_l0", TURNED, 0},
                                     {"w.weight_hh.rows", "lstm.weight_hh_l0", TURNED, 0},
                                     {"w.bias_ih.rows", "lstm.bias_ih_l0", SAME, 0},
                                     {"w.bias_hh.rows", "lstm.bias_hh_l0", SAME, 0}};
    zoo_t z;
    if (!open_batch(&z, "readout_lstm"))
        return;
    block(&z, "lstm_readout", sized(&z));
    zoo_run(&z, places, 4);
}
END_TEST

START_TEST(readout_set2set)
{
    static const place_t places[] = {{"w.lstm.ih.weight", "lstm.weight_ih_l0", TURNED, 0},
                                     {"w.lstm.hh.weight", "lstm.weight_hh_l0", TURNED, 0},
                                     {"w.bias_ih.rows", "lstm.bias_ih_l0", SAME, 0},
                                     {"w.bias_hh.rows", "lstm.bias_hh_l0", SAME, 0}};
    zoo_t z;
    if (!open_batch(&z, "readout_set2set"))
        return;
    gnn_block_t b = sized(&z);
    b.hops = 3;
    block(&z, "set2set", b);
    zoo_run(&z, places, 4);
}
END_TEST

/* Complete inside of the graphs, from nodes to `rows` rows each, complete among these. */
static void add_set_graphs(zoo_t *z, int64_t rows)
{
    const gnn_graph_t *readout = z->graphs[0];
    const int64_t segments = gnn_graph_n_segments(readout), *first = gnn_graph_src_segments(readout);
    int64_t lengths[64], many[64];
    ck_assert_int_lt(segments, 64);
    for (int64_t k = 0; k < segments; k++) {
        lengths[k] = first[k + 1] - first[k];
        many[k] = rows;
    }
    gnn_graph_free(z->graphs[0]);
    ck_ok(gnn_graph_complete(&z->graphs[0], segments, lengths));
    zoo_between(z, segments, many, lengths);
    ck_ok(gnn_graph_complete(&z->graphs[z->n_graphs++], segments, many));
}

static void set_transformer(zoo_t *z, int64_t heads)
{
    gnn_block_t b = sized(z);
    b.rows = zoo_cols(z, "y") / b.width;
    b.heads = heads;
    b.layer.norm = golden_has(&z->g, "w.pma.mab.layer_norm1.weight") ? GNN_NORM_LAYER : GNN_NORM_NONE;
    add_set_graphs(z, b.rows);
    block(z, "set_transformer", b);
    zoo_run_imported(z, GNN_NAMES_PYTORCH, "%s.");
}

START_TEST(readout_set_transformer)
{
    zoo_t z;
    if (open_batch(&z, "readout_set_transformer"))
        set_transformer(&z, 1);
}
END_TEST

START_TEST(set_transformer_of_the_zoo)
{
    zoo_t z;
    if (!open_batch(&z, "zoo/set_transformer_aggregation"))
        return;
    set_transformer(&z, zoo_number(&z, "p.heads"));
}
END_TEST

START_TEST(norm_pair)
{
    zoo_t z;
    if (!open_batch(&z, "norm_pair"))
        return;
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_OP, .op = &gnn_op_pair_norm, .input = "x"});
    zoo_run(&z, NULL, 0);
}
END_TEST

START_TEST(norm_message)
{
    zoo_t z;
    if (!open_batch(&z, "norm_message"))
        return;
    zoo_input(&z, "msg");
    z.values[1].wants_grad = 0;
    gnn_block_t b = sized(&z);
    b.memory = "msg";
    b.input = "x";
    block(&z, "message_norm", b);
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* ---- jumping knowledge ---- */

static bool open_layers(zoo_t *z, const char *name)
{
    if (!zoo_open_base(z, name))
        return false;
    for (int k = 0; k < 3; k++)
        zoo_input(z, (const char *[]){"x0", "x1", "x2"}[k]);
    return true;
}

START_TEST(jumping_knowledge)
{
    zoo_t z;
    if (!open_layers(&z, _i ? "jk_max" : "jk_cat"))
        return;
    zoo_add(&z, (gnn_step_t){.kind = _i ? GNN_STEP_MAXIMUM : GNN_STEP_CONCAT,
                             .input = "x0",
                             .second = "x1",
                             .third = "x2"});
    zoo_run(&z, NULL, 0);
}
END_TEST

START_TEST(jumping_knowledge_by_lstm)
{
    static const place_t places[] = {{"w.ahead.ih.weight", "lstm.weight_ih_l0", TURNED, 0},
                                     {"w.ahead.ih.bias", "lstm.bias_ih_l0", SAME, 0},
                                     {"w.ahead.hh.weight", "lstm.weight_hh_l0", TURNED, 0},
                                     {"w.ahead.bias_hh.rows", "lstm.bias_hh_l0", SAME, 0},
                                     {"w.back.ih.weight", "lstm.weight_ih_l0_reverse", TURNED, 0},
                                     {"w.back.ih.bias", "lstm.bias_ih_l0_reverse", SAME, 0},
                                     {"w.back.hh.weight", "lstm.weight_hh_l0_reverse", TURNED, 0},
                                     {"w.back.bias_hh.rows", "lstm.bias_hh_l0_reverse", SAME, 0},
                                     {"w.att.score.weight", "att.weight", TURNED, 0},
                                     {"w.att.score.bias", "att.bias", SAME, 0}};
    zoo_t z;
    if (!open_layers(&z, "jk_lstm"))
        return;
    zoo_add(
        &z,
        (gnn_step_t){
            .kind = GNN_STEP_CONCAT, .name = "layers", .input = "x0", .second = "x1", .third = "x2"});
    block(&z, "jumping_lstm",
          (gnn_block_t){.width = zoo_cols(&z, "x0"),
                        .hops = 3,
                        .hidden = golden_array(&z.g, "w.lstm.weight_hh_l0")->shape[1]});
    zoo_run(&z, places, 10);
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
    block(&z, "gps",
          (gnn_block_t){.heads = zoo_number(&z, "heads"), .layer = GNN_GCN(.in = zoo_cols(&z, "x"))});
    zoo_run(&z, places, 14);
}
END_TEST

/* ---- labels ---- */

enum { KNOWN_NODES = 4096 };

typedef struct {
    gnn_real_t labels[KNOWN_NODES], known[KNOWN_NODES];
    gnn_tensor_t of_labels, of_known;
} known_t;

/* A 1 in the class of each node that `mask` has, and a column of these nodes. */
static void take_known(zoo_t *z, known_t *k)
{
    int64_t n, *labels = golden_integers(&z->g, "labels", &n),
               *mask = golden_integers(&z->g, "mask", NULL), classes = zoo_cols(z, "y");
    ck_assert_int_le(n * classes, KNOWN_NODES);
    memset(k, 0, sizeof *k);
    for (int64_t i = 0; i < n; i++) {
        k->known[i] = mask[i] ? 1 : 0;
        k->labels[i * classes + labels[i]] = k->known[i];
    }
    k->of_labels = gnn_tensor(k->labels, n, classes);
    k->of_known = gnn_tensor(k->known, n, 1);
    z->values[z->n_values++] = (gnn_named_t){.name = "labels", .dense = &k->of_labels};
    z->values[z->n_values++] = (gnn_named_t){.name = "known", .dense = &k->of_known};
    z->graphs[z->n_graphs++] = golden_graph(&z->g, n);
}

static void same_value(zoo_t *z, const char *step, const char *array)
{
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z->graphs, z->n_graphs,
                                       z->values, z->n_values};
    const gnn_array_t *a = golden_array(&z->g, array);
    const gnn_tensor_t out =
        gnn_tensor(golden_reals(&z->g, a->count), a->shape[0], a->count / a->shape[0]);
    ck_ok(gnn_model_value(z->model, z->g.context, &inputs, step, &out));
    golden_same(&z->g, array, &out, GOLDEN_OUT);
}

static void build(zoo_t *z)
{
    ck_ok(gnn_model_build(&z->model, z->g.context, z->steps));
    for (int k = 0; k < z->n_graphs; k++)
        ck_ok(gnn_model_prepare(z->model, k, z->graphs[k], GNN_OFF));
}

START_TEST(label_propagation)
{
    zoo_t z;
    known_t known;
    if (!zoo_open_base(&z, "label_propagation"))
        return;
    take_known(&z, &known);
    block(&z, "label_propagation",
          (gnn_block_t){
              .input = "labels", .width = zoo_cols(&z, "y"), .hops = 4, .factor = (gnn_real_t)0.8});
    build(&z);
    same_value(&z, "w", "y");
    zoo_close(&z);
}
END_TEST

START_TEST(correct_and_smooth)
{
    zoo_t z;
    known_t known;
    if (!zoo_open_base(&z, "correct_and_smooth"))
        return;
    zoo_input(&z, "soft");
    take_known(&z, &known);
    block(&z, "correct_and_smooth",
          (gnn_block_t){.input = "soft",
                        .memory = "labels",
                        .globals = "known",
                        .width = zoo_cols(&z, "y"),
                        .hops = 4,
                        .factor = (gnn_real_t)0.7,
                        .rows = 3,
                        .theta = (gnn_real_t)0.6});
    build(&z);
    same_value(&z, "w.corrected", "corrected");
    same_value(&z, "w", "y");
    zoo_close(&z);
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
    tcase_add_test(c, readout_softmax);
    tcase_add_test(c, readout_lstm);
    tcase_add_test(c, readout_set2set);
    tcase_add_test(c, readout_set_transformer);
    tcase_add_test(c, set_transformer_of_the_zoo);
    tcase_add_test(c, norm_pair);
    tcase_add_test(c, norm_message);
    tcase_add_test(c, jumping_knowledge_by_lstm);
    tcase_add_test(c, gps);
    tcase_add_test(c, label_propagation);
    tcase_add_test(c, correct_and_smooth);
    tcase_add_loop_test(c, readouts_without_weights, 0, 6);
    tcase_add_loop_test(c, blocks_over_a_batch, 0, 4);
    tcase_add_loop_test(c, jumping_knowledge, 0, 2);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
