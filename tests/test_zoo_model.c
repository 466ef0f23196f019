/* Golden files of the zoo: systems that are lists of steps, and blocks. Outputs and all
 * gradients. */
#include "zoo_case.h"

#include <math.h>

#define RUN(z, places) zoo_run(z, places, sizeof(places) / sizeof *(places))

/* ---- aggregation on given rows ---- */

static gnn_step_t hears(zoo_t *z, const char *query, const char *memory)
{
    return (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                        .query = query,
                        .key = memory,
                        .inputs = {memory},
                        .layer = {.in = zoo_cols(z, "x"), .aggregator = &gnn_aggregator_attention}};
}

START_TEST(luong)
{
    static const place_t general[] = {{"score.weight", "W", SAME, 0}};
    zoo_t z;
    if (!zoo_open(&z, _i ? "luong_general" : "luong_dot"))
        return;
    zoo_input(&z, "x");
    zoo_input(&z, "mem");
    zoo_lengths(&z, "lengths", "lengths_mem");
    gnn_step_t attention = hears(&z, _i ? "score" : "x", "mem");
    attention.layer.scale = 1;
    if (_i)
        zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_LINEAR,
                                 .name = "score",
                                 .in = zoo_cols(&z, "x"),
                                 .out = zoo_cols(&z, "mem"),
                                 .bias = GNN_OFF});
    zoo_add(&z, attention);
    zoo_run(&z, general, _i);
}
END_TEST

/* The same value by name, and its weights as an attention map. */
START_TEST(luong_weights)
{
    zoo_t z;
    if (!zoo_open(&z, "luong_dot"))
        return;
    zoo_input(&z, "x");
    zoo_input(&z, "mem");
    zoo_lengths(&z, "lengths", "lengths_mem");
    gnn_step_t attention = hears(&z, "x", "mem");
    attention.layer.scale = 1;
    attention.name = "heard";
    zoo_add(&z, attention);
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_VIEW, .columns = 2});
    ck_ok(gnn_model_build(&z.model, z.g.context, z.steps));
    gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z.graphs, 1, z.values, 2};
    const gnn_array_t *y = golden_array(&z.g, "y"), *w = golden_array(&z.g, "weights");
    gnn_tensor_t out = gnn_tensor(golden_reals(&z.g, y->count), y->shape[0], y->shape[1]),
                 weights = gnn_tensor(golden_reals(&z.g, w->count), 1, w->count);
    ck_ok(gnn_model_value(z.model, z.g.context, &inputs, "heard", &out));
    golden_same(&z.g, "y", &out, GOLDEN_OUT);
    ck_ok(gnn_model_attention(z.model, z.g.context, &inputs, 0, NULL, weights.data));
    golden_same(&z.g, "weights", &weights, GOLDEN_OUT);
    zoo_close(&z);
}
END_TEST

/* ---- learned rows, stacked rows ---- */

#define PRODUCTS(step)                                                            \
    {step ".query.weight", "q", TURNED, 0}, {step ".key.weight", "k", TURNED, 0}, \
        {step ".value.weight", "v", TURNED, 0},                                   \
    {                                                                             \
        step ".out.weight", "o", TURNED, 0                                        \
    }

/* Edges among words (n of them, then `rows` per sentence): a window, and global rows. */
static void add_external_graph(zoo_t *z, int64_t rows, int64_t window)
{
    int64_t count, *lengths = golden_integers(&z->g, "lengths", &count), n = 0, m = 0, at_word = 0;
    for (int64_t s = 0; s < count; s++)
        n += lengths[s];
    const int64_t all = n + rows * count;
    int64_t *src = calloc((size_t)(all * all), sizeof *src),
            *dst = calloc((size_t)(all * all), sizeof *dst);
    for (int64_t s = 0; s < count; at_word += lengths[s++])
        for (int64_t i = -rows; i < lengths[s]; i++)
            for (int64_t j = -rows; j < lengths[s]; j++)
                if (i < 0 || j < 0 || llabs(i - j) <= window) {
                    dst[m] = i < 0 ? n + s * rows + rows + i : at_word + i;
                    src[m++] = j < 0 ? n + s * rows + rows + j : at_word + j;
                }
    ck_ok(gnn_graph_from_edges(&z->graphs[z->n_graphs++], all, all, m, src, dst));
    free(src);
    free(dst);
    ck_ok(gnn_graph_complete(&z->graphs[z->n_graphs++], count, lengths));
}

START_TEST(external_global_rows)
{
    static const place_t places[] = {{"rows.rows", "rows", SAME, 0}, PRODUCTS("y")};
    zoo_t z;
    if (!zoo_open(&z, "external_global_rows"))
        return;
    const int64_t d = zoo_cols(&z, "x"), rows = zoo_number(&z, "p.rows");
    zoo_input(&z, "x");
    add_external_graph(&z, rows, zoo_number(&z, "p.w"));
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_PARAMETER,
                             .name = "rows",
                             .rows = rows,
                             .out = d,
                             .each_segment = GNN_ON,
                             .graph = 1});
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_STACK, .name = "both", .inputs = {"x", "rows"}});
    zoo_add(&z, (gnn_step_t){.name = "y",
                             .layer = {.in = d,
                                       .heads = zoo_number(&z, "p.heads"),
                                       .aggregator = &gnn_aggregator_attention,
                                       .update = &gnn_update_linear,
                                       .bias_out = GNN_OFF}});
    RUN(&z, places);
}
END_TEST

static void add_product(zoo_t *z, const char *name, const char *input, int64_t d)
{
    zoo_add(z, (gnn_step_t){.kind = GNN_STEP_LINEAR,
                            .name = name,
                            .inputs = {input},
                            .in = d,
                            .out = d,
                            .bias = GNN_OFF});
}

/* Learned keys and values follow all words; words attend to earlier words of their sentence, and to
 * all learned rows. */
static void add_all_attention_graph(zoo_t *z, int64_t rows)
{
    int64_t count, *lengths = golden_integers(&z->g, "lengths", &count), n = 0, from = 0;
    gnn_graph_t *parts[2];
    for (int64_t s = 0; s < count; s++)
        n += lengths[s];
    int32_t *lo = calloc((size_t)(4 * n + 1), sizeof *lo), *hi = lo + n, *low = hi + n,
            *high = low + n;
    for (int64_t s = 0; s < count; from += lengths[s++])
        for (int64_t i = 0; i < lengths[s]; i++) {
            lo[from + i] = (int32_t)from;
            hi[from + i] = (int32_t)(from + i + 1);
        }
    for (int64_t i = 0; i < n; i++) {
        low[i] = (int32_t)n;
        high[i] = (int32_t)(n + rows);
    }
    ck_ok(gnn_graph_from_spans(&parts[0], n, n + rows, NULL, NULL, lo, hi));
    ck_ok(gnn_graph_from_spans(&parts[1], n, n + rows, NULL, NULL, low, high));
    ck_ok(gnn_graph_merge(&z->graphs[z->n_graphs++], 2, (const gnn_graph_t *const *)parts));
    gnn_graph_free(parts[0]);
    gnn_graph_free(parts[1]);
    free(lo);
}

START_TEST(all_attention)
{
    static const place_t places[] = {{"q.weight", "q", TURNED, 0},  {"k.weight", "k", TURNED, 0},
                                     {"v.weight", "v", TURNED, 0},  {"o.weight", "o", TURNED, 0},
                                     {"mk.rows", "mk", BY_HEAD, 0}, {"mv.rows", "mv", BY_HEAD, 0},
                                     {"y.gain", "norm", SAME, 0},   {"y.shift", "bias", SAME, 0}};
    zoo_t z;
    if (!zoo_open(&z, "all_attention"))
        return;
    const int64_t d = zoo_cols(&z, "x"), rows = zoo_number(&z, "p.rows");
    zoo_input(&z, "x");
    add_all_attention_graph(&z, rows);
    add_product(&z, "q", "x", d);
    add_product(&z, "k", "x", d);
    add_product(&z, "v", "x", d);
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_PARAMETER, .name = "mk", .rows = rows, .out = d});
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_PARAMETER, .name = "mv", .rows = rows, .out = d});
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_STACK, .name = "keys", .inputs = {"k", "mk"}});
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_STACK, .name = "messages", .inputs = {"v", "mv"}});
    gnn_step_t attention = hears(&z, "q", "keys");
    attention.inputs[0] = "messages";
    attention.layer.heads = zoo_number(&z, "p.heads");
    zoo_add(&z, attention);
    add_product(&z, "o", NULL, d);
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_ADD, .inputs = {NULL, "x"}});
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_NORM,
                             .name = "y",
                             .norm = GNN_NORM_LAYER,
                             .in = d,
                             .eps = (gnn_real_t)zoo_real(&z, "p.eps")});
    RUN(&z, places);
}
END_TEST

/* ---- tied embeddings ---- */

START_TEST(tied_embedding)
{
    static const place_t places[] = {{"word.table", "E", SAME, 0},
                                     {"layer.query.weight", "q", TURNED, 0},
                                     {"layer.key.weight", "k", TURNED, 0},
                                     {"layer.value.weight", "v", TURNED, 0},
                                     {"layer.out.weight", "o", TURNED, 0},
                                     {"layer.ffn.0.weight", "W1", TURNED, 0},
                                     {"layer.ffn.0.bias", "b1", SAME, 0},
                                     {"layer.ffn.1.weight", "W2", TURNED, 0},
                                     {"layer.ffn.1.bias", "b2", SAME, 0},
                                     {"layer.norm.gain", "norm_a", SAME, 0},
                                     {"layer.norm.shift", "bias_a", SAME, 0},
                                     {"layer.norm2.gain", "norm_f", SAME, 0},
                                     {"layer.norm2.shift", "bias_f", SAME, 0}};
    zoo_t z;
    if (!zoo_open(&z, "tied_embedding"))
        return;
    const gnn_array_t *table = golden_array(&z.g, "w.E");
    const int64_t words = table->shape[0], d = table->shape[1];
    int64_t n, segments, *ids = golden_integers(&z.g, "ids", &n),
                         *lengths = golden_integers(&z.g, "lengths", &segments);
    int32_t small[256];
    ck_assert_int_le(n, 256);
    for (int64_t k = 0; k < n; k++)
        small[k] = (int32_t)ids[k];
    z.values[z.n_values++] = (gnn_named_t){.name = "ids", .ids = small, .count = n};
    ck_ok(gnn_graph_complete(&z.graphs[z.n_graphs++], segments, lengths));
    zoo_add(&z,
            (gnn_step_t){
                .kind = GNN_STEP_EMBED, .name = "word", .inputs = {"ids"}, .in = words, .out = d});
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_SCALE, .factor = (gnn_real_t)sqrt((double)d)});
    zoo_add(&z, (gnn_step_t){.name = "layer",
                             .layer = GNN_TRANSFORMER(.in = d, .heads = zoo_number(&z, "p.heads"),
                                                      .feed_forward = zoo_cols(&z, "w.b1"),
                                                      .norm_position = GNN_NORM_BEFORE,
                                                      .norm_eps = (gnn_real_t)zoo_real(&z, "p.eps"),
                                                      .bias_project = GNN_OFF, .bias_out = GNN_OFF)});
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_LINEAR,
                             .name = "logits",
                             .in = d,
                             .out = words,
                             .bias = GNN_OFF,
                             .share = "word"});
    RUN(&z, places);
}
END_TEST

/* ---- Set Transformer ---- */

#define MAB(step, prefix)                                                                        \
    {step "query.weight", prefix "q", TURNED, 0}, {step "query.bias", prefix "bq", SAME, 0},     \
        {step "key.weight", prefix "k", TURNED, 0}, {step "key.bias", prefix "bk", SAME, 0},     \
        {step "value.weight", prefix "v", TURNED, 0}, {step "value.bias", prefix "bv", SAME, 0}, \
        {step "out.weight", prefix "o", TURNED, 0},                                              \
    {                                                                                            \
        step "out.bias", prefix "bo", SAME, 0                                                    \
    }

static gnn_block_t set_block(zoo_t *z)
{
    return (gnn_block_t){.name = "y",
                         .input = "x",
                         .memory = "mem",
                         .width = zoo_cols(z, "x"),
                         .heads = zoo_number(z, "p.heads")};
}

START_TEST(mab)
{
    static const place_t places[] = {MAB("y.", "")};
    zoo_t z;
    if (!zoo_open(&z, "mab"))
        return;
    zoo_input(&z, "x");
    zoo_input(&z, "mem");
    zoo_lengths(&z, "lengths", "lengths_mem");
    gnn_block_t b = set_block(&z);
    ck_ok(gnn_steps_block(z.steps, "mab", &b));
    RUN(&z, places);
}
END_TEST

START_TEST(sab)
{
    static const place_t places[] = {MAB("y.", "")};
    zoo_t z;
    if (!zoo_open(&z, "sab"))
        return;
    zoo_input(&z, "x");
    zoo_lengths(&z, "lengths", "lengths");
    gnn_block_t b = set_block(&z);
    ck_ok(gnn_steps_block(z.steps, "sab", &b));
    RUN(&z, places);
}
END_TEST

START_TEST(isab)
{
    static const place_t places[] = {
        {"y.rows.rows", "points", SAME, 0}, MAB("y.in.", "a."), MAB("y.", "b.")};
    zoo_t z;
    if (!zoo_open(&z, "isab"))
        return;
    gnn_block_t b = set_block(&z);
    b.rows = zoo_number(&z, "p.points");
    int64_t n, *lengths = golden_integers(&z.g, "lengths", &n),
               *rows = zoo_each(&z, "lengths", b.rows);
    zoo_input(&z, "x");
    zoo_between(&z, n, rows, lengths);
    zoo_between(&z, n, lengths, rows);
    ck_ok(gnn_steps_block(z.steps, "isab", &b));
    RUN(&z, places);
}
END_TEST

START_TEST(pma)
{
    static const place_t places[] = {{"y.linear.weight", "W", TURNED, 0},
                                     {"y.linear.bias", "b", SAME, 0},
                                     {"y.rows.rows", "seeds", SAME, 0},
                                     MAB("y.", "")};
    zoo_t z;
    if (!zoo_open(&z, "pma"))
        return;
    gnn_block_t b = set_block(&z);
    b.rows = zoo_number(&z, "p.seeds");
    int64_t n, *lengths = golden_integers(&z.g, "lengths", &n);
    zoo_input(&z, "x");
    zoo_between(&z, n, zoo_each(&z, "lengths", b.rows), lengths);
    ck_ok(gnn_steps_block(z.steps, "pma", &b));
    RUN(&z, places);
}
END_TEST

/* ---- products, and values on edges ---- */

START_TEST(squeeze_excite)
{
    static const place_t places[] = {{"y.fc1.weight", "fc1.weight", TURNED, 0},
                                     {"y.fc1.bias", "fc1.bias", SAME, 0},
                                     {"y.fc2.weight", "fc2.weight", TURNED, 0},
                                     {"y.fc2.bias", "fc2.bias", SAME, 0}};
    zoo_t z;
    if (!zoo_open(&z, "squeeze_excite"))
        return;
    int64_t n, *lengths = golden_integers(&z.g, "lengths", &n), *one = zoo_each(&z, "lengths", 1);
    zoo_input(&z, "x");
    zoo_between(&z, n, one, lengths);
    zoo_between(&z, n, lengths, one);
    ck_ok(gnn_steps_block(z.steps, "squeeze_excite",
                          &(gnn_block_t){.name = "y",
                                         .width = zoo_cols(&z, "x"),
                                         .hidden = zoo_cols(&z, "w.fc1.bias")}));
    RUN(&z, places);
}
END_TEST

/* PyG's GPSConv: a GIN whose network is one linear, W(x_i + sum of x_j) + b, in parallel with
 * global attention. */
START_TEST(gps)
{
    static const place_t places[] = {{"y.local.out.weight", "conv.nn.weight", TURNED, 0},
                                     {"y.local.out.bias", "conv.nn.bias", SAME, 0},
                                     {"y.attention.query.weight", "attn.in_proj_weight", TURNED, 0},
                                     {"y.attention.key.weight", "attn.in_proj_weight", TURNED, 1},
                                     {"y.attention.value.weight", "attn.in_proj_weight", TURNED, 2},
                                     {"y.attention.query.bias", "attn.in_proj_bias", SAME, 0},
                                     {"y.attention.key.bias", "attn.in_proj_bias", SAME, 1},
                                     {"y.attention.value.bias", "attn.in_proj_bias", SAME, 2},
                                     {"y.attention.out.weight", "attn.out_proj.weight", TURNED, 0},
                                     {"y.attention.out.bias", "attn.out_proj.bias", SAME, 0},
                                     {"y.mlp.0.weight", "mlp.0.weight", TURNED, 0},
                                     {"y.mlp.0.bias", "mlp.0.bias", SAME, 0},
                                     {"y.mlp.1.weight", "mlp.3.weight", TURNED, 0},
                                     {"y.mlp.1.bias", "mlp.3.bias", SAME, 0}};
    zoo_t z;
    if (!zoo_open(&z, "gps_multihead"))
        return;
    const int64_t n = golden_array(&z.g, "x")->shape[0];
    zoo_input(&z, "x");
    z.graphs[z.n_graphs++] = golden_graph(&z.g, n);
    ck_ok(gnn_graph_complete(&z.graphs[z.n_graphs++], 1, &n));
    ck_ok(gnn_steps_block(z.steps, "gps",
                          &(gnn_block_t){.name = "y",
                                         .heads = zoo_number(&z, "p.heads"),
                                         .layer = {.in = zoo_cols(&z, "x"),
                                                   .message = gnn_message_find("none"),
                                                   .aggregator = gnn_aggregator_find("sum"),
                                                   .update = &gnn_update_linear,
                                                   .self_loops = GNN_ON}}));
    RUN(&z, places);
}
END_TEST

/* Slots of a graph network: nodes, their edges, the whole graphs. */
static void add_network_graphs(zoo_t *z, int64_t n, int64_t wholes)
{
    int64_t m, *src = golden_integers(&z->g, "src", &m), *dst = golden_integers(&z->g, "dst", NULL),
               *batch = golden_integers(&z->g, "batch", NULL),
               *edge = golden_integers(&z->g, "src", NULL),
               *node = golden_integers(&z->g, "batch", NULL),
               *of_edge = golden_integers(&z->g, "src", NULL);
    for (int64_t k = 0; k < m; k++) {
        edge[k] = k;
        of_edge[k] = batch[src[k]];
    }
    for (int64_t k = 0; k < n; k++)
        node[k] = k;
    ck_ok(gnn_graph_from_edges(&z->graphs[0], n, n, m, src, dst));
    ck_ok(gnn_graph_from_edges(&z->graphs[1], n, m, m, edge, dst));
    ck_ok(gnn_graph_from_edges(&z->graphs[2], n, wholes, n, batch, node));
    ck_ok(gnn_graph_from_edges(&z->graphs[3], wholes, n, n, node, batch));
    ck_ok(gnn_graph_from_edges(&z->graphs[4], wholes, m, m, edge, of_edge));
    z->n_graphs = 5;
}

/* A column of sum(value * gy) for each row. */
static gnn_var_t weighed(zoo_t *z, const char *step, const gnn_real_t *gy)
{
    const gnn_var_t value = z->outputs[gnn_model_find(z->model, step)];
    const int64_t rows = gnn_tape_rows(z->tape, value), cols = gnn_tape_cols(z->tape, value);
    gnn_tensor_t g = gnn_tensor((gnn_real_t *)(uintptr_t)gy, rows, cols),
                 ones = gnn_tensor(golden_reals(&z->g, cols), cols, 1);
    for (int64_t k = 0; k < cols; k++)
        ones.data[k] = 1;
    gnn_tape_keep(z->tape, value);
    return gnn_tape_linear(z->tape, gnn_tape_multiply(z->tape, value, gnn_tape_input(z->tape, &g, 0)),
                           gnn_tape_input(z->tape, &ones, 0), GNN_NONE);
}

/* Nodes, edges and globals are concatenated in y and gy. */
START_TEST(graph_network)
{
    static const char *const outputs[] = {"y.nodes", "y.edges", "y"};
    static const place_t places[] = {{"y.edge_linear.weight", "edge_model.l.weight", TURNED, 0},
                                     {"y.edge_linear.bias", "edge_model.l.bias", SAME, 0},
                                     {"y.node_linear.weight", "node_model.l.weight", TURNED, 0},
                                     {"y.node_linear.bias", "node_model.l.bias", SAME, 0},
                                     {"y.global_linear.weight", "global_model.l.weight", TURNED, 0},
                                     {"y.global_linear.bias", "global_model.l.bias", SAME, 0}};
    zoo_t z;
    gnn_var_t columns[3];
    if (!zoo_open(&z, "graph_network"))
        return;
    const gnn_array_t *y = golden_array(&z.g, "y");
    const gnn_tensor_t gy = golden_tensor(&z.g, "gy");
    gnn_tensor_t flat = gnn_tensor(golden_reals(&z.g, y->count), y->count, 1);
    zoo_input(&z, "x");
    zoo_input(&z, "e");
    zoo_input(&z, "u");
    add_network_graphs(&z, z.tensors[0].rows, z.tensors[2].rows);
    ck_ok(gnn_steps_block(z.steps, "graph_network",
                          &(gnn_block_t){.name = "y",
                                         .edges = "e",
                                         .globals = "u",
                                         .width = zoo_cols(&z, "x"),
                                         .edge_width = zoo_cols(&z, "e"),
                                         .global_width = zoo_cols(&z, "u")}));
    zoo_record(&z, places, 6);
    int64_t from = 0;
    for (int k = 0; k < 3; k++) {
        const gnn_var_t v = z.outputs[gnn_model_find(z.model, outputs[k])];
        columns[k] = weighed(&z, outputs[k], gy.data + from);
        from += gnn_tape_rows(z.tape, v) * gnn_tape_cols(z.tape, v);
    }
    const gnn_var_t all = gnn_tape_stack(z.tape, columns, 3);
    ck_ok(gnn_tape_forward(z.tape));
    from = 0;
    for (int k = 0; k < 3; k++) {
        const gnn_tensor_t t = gnn_tape_value(z.tape, z.outputs[gnn_model_find(z.model, outputs[k])]);
        for (int64_t r = 0; r < t.rows; r++, from += t.cols)
            memcpy(flat.data + from, gnn__row(&t, r), (size_t)t.cols * sizeof *flat.data);
    }
    golden_same(&z.g, "y", &flat, GOLDEN_OUT);
    ck_ok(gnn_tape_backward(z.tape, all, NULL));
    zoo_same_gradients(&z, places, 6);
    zoo_close(&z);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zoo_model");
    TCase *c = tcase_create("zoo_model");
    tcase_set_timeout(c, 600);
    tcase_add_loop_test(c, luong, 0, 2);
    tcase_add_test(c, luong_weights);
    tcase_add_test(c, external_global_rows);
    tcase_add_test(c, all_attention);
    tcase_add_test(c, tied_embedding);
    tcase_add_test(c, mab);
    tcase_add_test(c, sab);
    tcase_add_test(c, isab);
    tcase_add_test(c, pma);
    tcase_add_test(c, squeeze_excite);
    tcase_add_test(c, gps);
    tcase_add_test(c, graph_network);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
