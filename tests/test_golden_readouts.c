/* Readouts, norms over graphs, jumping knowledge and label propagation against PyG: outputs and
 * gradients. Sizes are the files'. */
#include "zoo_case.h"

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
        .inputs = {"x"},
        .layer = {.in = zoo_cols(&z, "x"), .aggregator = plain_readouts[_i].aggregator}};
    if (plain_readouts[_i].op)
        step = (gnn_step_t){.kind = GNN_STEP_OP,
                            .op = plain_readouts[_i].op,
                            .inputs = {"x"},
                            .options = {plain_readouts[_i].op->n_options
                                            ? (double)(zoo_cols(&z, "y") / zoo_cols(&z, "x"))
                                            : 0}};
    zoo_add(&z, step);
    zoo_run(&z, NULL, 0);
}
END_TEST

START_TEST(readout_softmax)
{
    zoo_t z;
    if (!open_batch(&z, "readout_softmax"))
        return;
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                             .name = "w",
                             .inputs = {"x"},
                             .layer = {.in = zoo_cols(&z, "x"),
                                       .aggregator = &gnn_aggregator_softmax_mean}});
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
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
    zoo_block(&z, named_blocks[_i].block, zoo_wide(&z));
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

/* Cases of the project's own (tests/pyg/make.py). */
START_TEST(layer_norm_over_graphs)
{
    zoo_t z;
    if (!open_batch(&z, _i == 0 ? "pyg/layer_norm_graphs" : "pyg/layer_norm_whole"))
        return;
    gnn_block_t b = zoo_wide(&z);
    b.factor = (gnn_real_t)1e-3;
    b.theta = (gnn_real_t)_i;
    zoo_block(&z, "graph_layer_norm", b);
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
    zoo_block(&z, "lstm_readout", zoo_sized(&z));
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
    gnn_block_t b = zoo_wide(&z);
    b.hops = 3;
    zoo_block(&z, "set2set", b);
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
    gnn_block_t b = zoo_wide(z);
    b.rows = zoo_cols(z, "y") / b.width;
    b.heads = heads;
    b.layer.norm = golden_has(&z->g, "w.pma.mab.layer_norm1.weight") ? GNN_NORM_LAYER : GNN_NORM_NONE;
    add_set_graphs(z, b.rows);
    zoo_block(z, "set_transformer", b);
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
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_OP, .op = &gnn_op_pair_norm, .inputs = {"x"}});
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
    gnn_block_t b = zoo_wide(&z);
    b.memory = "msg";
    b.input = "x";
    zoo_block(&z, "message_norm", b);
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
                             .inputs = {"x0", "x1", "x2"}});
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
    zoo_add(&z,
            (gnn_step_t){.kind = GNN_STEP_CONCAT, .name = "layers", .inputs = {"x0", "x1", "x2"}});
    zoo_block(&z, "jumping_lstm",
              (gnn_block_t){.width = zoo_cols(&z, "x0"),
                            .hops = 3,
                            .hidden = golden_array(&z.g, "w.lstm.weight_hh_l0")->shape[1]});
    zoo_run(&z, places, 10);
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
    zoo_block(
        &z, "label_propagation",
        (gnn_block_t){
            .input = "labels", .width = zoo_cols(&z, "y"), .hops = 4, .factor = (gnn_real_t)0.8});
    build(&z);
    zoo_same_value(&z, "w", "y");
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
    zoo_block(&z, "correct_and_smooth",
              (gnn_block_t){.input = "soft",
                            .memory = "labels",
                            .globals = "known",
                            .width = zoo_cols(&z, "y"),
                            .hops = 4,
                            .factor = (gnn_real_t)0.7,
                            .rows = 3,
                            .theta = (gnn_real_t)0.6});
    build(&z);
    zoo_same_value(&z, "w.corrected", "corrected");
    zoo_same_value(&z, "w", "y");
    zoo_close(&z);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_readouts");
    TCase *c = tcase_create("golden_readouts");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, readout_softmax);
    tcase_add_test(c, readout_lstm);
    tcase_add_test(c, readout_set2set);
    tcase_add_test(c, readout_set_transformer);
    tcase_add_test(c, set_transformer_of_the_zoo);
    tcase_add_test(c, norm_pair);
    tcase_add_test(c, norm_message);
    tcase_add_test(c, jumping_knowledge_by_lstm);
    tcase_add_test(c, label_propagation);
    tcase_add_test(c, correct_and_smooth);
    tcase_add_loop_test(c, readouts_without_weights, 0, 6);
    tcase_add_loop_test(c, blocks_over_a_batch, 0, 4);
    tcase_add_loop_test(c, layer_norm_over_graphs, 0, 2);
    tcase_add_loop_test(c, jumping_knowledge, 0, 2);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
