/* The layer: spans and edges agree for every preset, sparse and dense features agree, halves make
 * the whole, threads change no bit. */
#include "layer_run.h"

static gnn_context_t *context;

static void set_up(void)
{
    ck_ok(gnn_context_new(
        &context, &(gnn_context_config_t){.threads = 2, .deterministic = GNN_ON, .seed = 11}));
}

static void tear_down(void)
{
    gnn_context_free(context);
}

/* A config of each preset that runs on any square graph: 12 features in, 12 out. */
static gnn_layer_config_t config_of(gnn_preset_t preset)
{
    gnn_layer_config_t c = {.preset = preset, .in = 12, .out = 12};
    bool attends = preset == GNN_PRESET_GAT || preset == GNN_PRESET_GATV2 ||
                   preset == GNN_PRESET_TRANSFORMER_CONV || preset == GNN_PRESET_TRANSFORMER;
    if (attends)
        c.heads = 3;
    if (attends && preset != GNN_PRESET_TRANSFORMER)
        c.combine = GNN_HEADS_AVERAGE;
    if (preset == GNN_PRESET_GINE)
        c.edge_dim = 2;
    if (preset == GNN_PRESET_GIN || preset == GNN_PRESET_GINE)
        c.learn_eps = GNN_ON;
    return c;
}

/* Forward and backward with dropout on. */
static result_t run(const gnn_layer_t *layer, gnn_context_t *with, const gnn_graph_t *graph,
                    gnn_real_t *features, int64_t n)
{
    gnn_tape_t *tape;
    const gnn_tensor_t x = gnn_tensor(features, n, 12);
    ck_ok(gnn_tape_new(&tape, with));
    result_t r = run_layer(layer, tape, graph, &(features_t){.x = &x, .training = 1});
    ck_ok(gnn_tape_status(tape));
    gnn_tape_free(tape);
    return r;
}

START_TEST(spans_equal_edges_for_every_preset)
{
    const int64_t lengths[] = {5, 0, 9, 1, 16}, n = 31;
    gnn_real_t *x = test_reals(n * 12, 2);
    for (gnn_preset_t p = GNN_PRESET_NONE + 1; p < GNN_PRESET_COUNT; p++) {
        gnn_graph_t *spans, *edges;
        gnn_layer_t *layer;
        gnn_layer_config_t c = config_of(p);
        if (p == GNN_PRESET_GINE) /* edge features need edges */
            continue;
        c.dropout = (gnn_real_t)0.3;
        ck_ok(gnn_graph_causal(&spans, 5, lengths));
        ck_ok(gnn_graph_to_edges(&edges, spans));
        ck_ok(gnn_layer_new(&layer, context, &c));
        ck_ok(gnn_layer_prepare(layer, spans, GNN_ON));
        ck_ok(gnn_layer_prepare(layer, edges, GNN_ON));
        result_t a = run(layer, context, spans, x, n), b = run(layer, context, edges, x, n);
        ck_assert_msg(test_error(a.y, b.y, n * 12) < TOLERANCE_OUT, "%s: outputs differ by %g",
                      gnn_preset_name(p), test_error(a.y, b.y, n * 12));
        ck_assert_msg(test_error(a.dx, b.dx, n * 12) < TOLERANCE_GRAD, "%s: dx differs by %g",
                      gnn_preset_name(p), test_error(a.dx, b.dx, n * 12));
        ck_assert_msg(test_error(a.parameters, b.parameters, a.n_parameters) < TOLERANCE_GRAD,
                      "%s: parameter gradients differ", gnn_preset_name(p));
        free_result(&a);
        free_result(&b);
        gnn_layer_free(layer);
        gnn_graph_free(spans);
        gnn_graph_free(edges);
    }
    free(x);
}
END_TEST

START_TEST(threads_change_no_bit)
{
    const int64_t lengths[] = {40, 70, 33}, n = 143;
    gnn_real_t *x = test_reals(n * 12, 4);
    for (gnn_preset_t p = GNN_PRESET_NONE + 1; p < GNN_PRESET_COUNT; p++)
        for (int form = 0; form < 2 && p != GNN_PRESET_GINE; form++) {
            gnn_graph_t *graph, *edges;
            gnn_layer_t *layer;
            gnn_layer_config_t c = config_of(p);
            result_t first = {0};
            c.dropout = (gnn_real_t)0.5;
            ck_ok(gnn_graph_complete(&graph, 3, lengths));
            if (form) {
                ck_ok(gnn_graph_to_edges(&edges, graph));
                gnn_graph_free(graph);
                graph = edges;
            }
            ck_ok(gnn_layer_new(&layer, context, &c));
            ck_ok(gnn_layer_prepare(layer, graph, GNN_ON));
            for (int threads = 1; threads <= 4; threads *= 2) {
                gnn_context_t *with;
                ck_ok(gnn_context_new(&with, &(gnn_context_config_t){.threads = threads,
                                                                     .deterministic = GNN_ON,
                                                                     .seed = 11}));
                result_t r = run(layer, with, graph, x, n);
                if (threads > 1) {
                    ck_assert_msg(memcmp(first.y, r.y, sizeof *r.y * (size_t)(n * 12)) == 0,
                                  "%s: outputs", gnn_preset_name(p));
                    ck_assert_msg(memcmp(first.dx, r.dx, sizeof *r.dx * (size_t)(n * 12)) == 0,
                                  "%s: dx", gnn_preset_name(p));
                    ck_assert_msg(memcmp(first.parameters, r.parameters,
                                         sizeof *r.parameters * (size_t)r.n_parameters) == 0,
                                  "%s: parameters", gnn_preset_name(p));
                    free_result(&r);
                } else {
                    first = r;
                }
                gnn_context_free(with);
            }
            free_result(&first);
            gnn_layer_free(layer);
            gnn_graph_free(graph);
        }
    free(x);
}
END_TEST

START_TEST(sparse_features_equal_dense_ones)
{
    const gnn_preset_t presets[] = {GNN_PRESET_GCN,     GNN_PRESET_SAGE,
                                    GNN_PRESET_GIN,     GNN_PRESET_GAT,
                                    GNN_PRESET_GATV2,   GNN_PRESET_TRANSFORMER_CONV,
                                    GNN_PRESET_RESGATED};
    enum { N = 9, IN = 30, OUT = 4 };
    int64_t indptr[N + 1] = {0}, src[40], dst[40];
    int32_t indices[N * IN];
    gnn_real_t values[N * IN], dense[N * IN] = {0}, a[N * OUT], b[N * OUT];
    uint64_t state = 8;
    for (int r = 0; r < N; r++) {
        indptr[r + 1] = indptr[r];
        for (int c = r % 3; c < IN; c += 4 + r % 2) {
            values[indptr[r + 1]] = dense[r * IN + c] = (gnn_real_t)test_uniform(&state);
            indices[indptr[r + 1]++] = c;
        }
    }
    for (int k = 0; k < 40; k++) {
        src[k] = (int64_t)(9 * (0.5 + 0.5 * test_uniform(&state)));
        dst[k] = (int64_t)(9 * (0.5 + 0.5 * test_uniform(&state)));
    }
    gnn_graph_t *graph;
    gnn_sparse_t sparse = {N, IN, indptr, indices, values};
    gnn_tensor_t x = gnn_tensor(dense, N, IN), ya = gnn_tensor(a, N, OUT), yb = gnn_tensor(b, N, OUT);
    ck_ok(gnn_graph_from_edges(&graph, N, N, 40, src, dst));
    for (size_t k = 0; k < sizeof presets / sizeof *presets; k++) {
        gnn_layer_t *layer;
        ck_ok(gnn_layer_new(
            &layer, context,
            &(gnn_layer_config_t){.preset = presets[k], .in = IN, .out = OUT, .hidden = 8}));
        ck_ok(gnn_layer_prepare(layer, graph, GNN_OFF));
        ck_ok(gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){.x_src = &x}, &ya));
        ck_ok(gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){.x_sparse = &sparse}, &yb));
        ck_assert_msg(test_error(a, b, N * OUT) < TOLERANCE_OUT, "%s: %g",
                      gnn_preset_name(presets[k]), test_error(a, b, N * OUT));
        gnn_layer_free(layer);
    }
    gnn_graph_free(graph);
}
END_TEST

START_TEST(a_moved_linear_map_changes_nothing)
{
    /* W before or after the sum: the products of SAGE and GIN move first if they narrow (30 -> 4,
     * 30 -> 5), that of GCN last if it widens (12 -> 30). dropout_message, which is off in
     * inference, prevents the move. */
    const struct {
        gnn_preset_t preset;
        int64_t in, out;
    } cases[] = {{GNN_PRESET_SAGE, 30, 4}, {GNN_PRESET_GIN, 30, 30}, {GNN_PRESET_GCN, 12, 30}};
    const int64_t n = 25;
    gnn_graph_t *graph;
    gnn_real_t *memory = test_reals(n * 30, 3), a[25 * 30], b[25 * 30];
    ck_ok(gnn_graph_window(&graph, 1, &n, 3, 2, GNN_OFF));
    for (int k = 0; k < 3; k++) {
        gnn_layer_t *moved, *kept;
        gnn_layer_config_t c = {
            .preset = cases[k].preset, .in = cases[k].in, .out = cases[k].out, .hidden = 5};
        gnn_tensor_t x = gnn_tensor(memory, n, c.in), ya = gnn_tensor(a, n, c.out),
                     yb = gnn_tensor(b, n, c.out);
        ck_ok(gnn_layer_new(&moved, context, &c));
        c.dropout_message = (gnn_real_t)0.5;
        ck_ok(gnn_layer_new(&kept, context, &c));
        ck_ok(gnn_layer_prepare(moved, graph, GNN_OFF));
        ck_ok(gnn_layer_forward(moved, context, graph, &(gnn_inputs_t){.x_src = &x}, &ya));
        ck_ok(gnn_layer_forward(kept, context, graph, &(gnn_inputs_t){.x_src = &x}, &yb));
        ck_assert_msg(test_error(a, b, n * c.out) < TOLERANCE_OUT, "%s: %g",
                      gnn_preset_name(cases[k].preset), test_error(a, b, n * c.out));
        gnn_layer_free(moved);
        gnn_layer_free(kept);
    }
    gnn_graph_free(graph);
    free(memory);
}
END_TEST

/* A norm before the layer has width `in`, inside it `out`: running statistics of both are used in
 * inference. */
START_TEST(batch_norms_have_widths_of_their_own)
{
    const int64_t n = 40;
    gnn_real_t *memory = test_reals(n * 5, 6), *y = test_reals(n * 12, 1);
    const gnn_tensor_t x = gnn_tensor(memory, n, 5), out = gnn_tensor(y, n, 12);
    gnn_graph_t *graph;
    gnn_layer_t *layer;
    gnn_tape_t *tape;
    ck_ok(gnn_graph_window(&graph, 1, &n, 1, 1, GNN_OFF));
    ck_ok(gnn_layer_new(&layer, context,
                        &(gnn_layer_config_t){.in = 5,
                                              .out = 12,
                                              .update = &gnn_update_feed_forward,
                                              .norm = GNN_NORM_BATCH,
                                              .norm_position = GNN_NORM_BEFORE}));
    ck_ok(gnn_layer_prepare(layer, graph, GNN_ON));
    ck_ok(gnn_tape_new(&tape, context));
    gnn_real_t *seen = NULL;
    for (int step = 0; step < 200; step++) { /* running statistics move a tenth of the way */
        free(seen);
        result_t r = run_layer(layer, tape, graph, &(features_t){.x = &x, .training = 1});
        ck_ok(gnn_tape_status(tape));
        seen = r.y;
        r.y = NULL;
        free_result(&r);
    }
    ck_ok(gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){.x_src = &x}, &out));
    /* Variances are of n - 1 in inference. */
    ck_assert_double_lt(test_error(y, seen, n * 12), 0.05);
    gnn_tape_free(tape);
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    free(seen);
    free(memory);
    free(y);
}
END_TEST

START_TEST(receivers_may_be_the_first_senders)
{
    /* five receivers among nine senders: the same as giving the five rows apart */
    gnn_graph_t *graph;
    gnn_real_t *memory = test_reals(9 * 12, 7), a[5 * 12], b[5 * 12];
    gnn_tensor_t x = gnn_tensor(memory, 9, 12), five = gnn_tensor(memory, 5, 12),
                 ya = gnn_tensor(a, 5, 12), yb = gnn_tensor(b, 5, 12);
    ck_ok(gnn_graph_from_csr(&graph, 5, 9, ((int64_t[]){0, 2, 5, 5, 8, 9}),
                             ((int32_t[]){0, 8, 1, 4, 7, 2, 2, 3, 6})));
    const gnn_preset_t presets[] = {
        GNN_PRESET_SAGE,     GNN_PRESET_GIN,         GNN_PRESET_TRANSFORMER_CONV,
        GNN_PRESET_RESGATED, GNN_PRESET_TRANSFORMER, GNN_PRESET_GATED_GRAPH};
    for (size_t k = 0; k < sizeof presets / sizeof *presets; k++) {
        gnn_layer_t *layer;
        gnn_layer_config_t c = config_of(presets[k]);
        ck_ok(gnn_layer_new(&layer, context, &c));
        ck_ok(gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){.x_src = &x}, &ya));
        ck_ok(gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){.x_src = &x, .x_dst = &five},
                                &yb));
        ck_assert_msg(test_error(a, b, 5 * 12) < TOLERANCE_OUT, "%s: %g",
                      gnn_preset_name(presets[k]), test_error(a, b, 5 * 12));
        gnn_layer_free(layer);
    }
    gnn_graph_free(graph);
    free(memory);
}
END_TEST

START_TEST(attention_weights_add_up_to_one)
{
    const int64_t lengths[] = {3, 5}, n = 8;
    gnn_graph_t *graph, *edges;
    gnn_layer_t *layer;
    gnn_real_t *memory = test_reals(n * 12, 6), weights[3 * (9 + 25)], per_edge[34 * 3];
    gnn_tensor_t x = gnn_tensor(memory, n, 12), w = gnn_tensor(per_edge, 34, 3);
    ck_ok(gnn_graph_complete(&graph, 2, lengths));
    ck_ok(gnn_graph_to_edges(&edges, graph));
    ck_ok(gnn_layer_new(&layer, context, &GNN_TRANSFORMER(.in = 12, .heads = 3)));
    ck_ok(gnn_layer_attention(layer, context, graph, &(gnn_inputs_t){.x_src = &x}, NULL, weights));
    ck_ok(gnn_layer_attention(layer, context, edges, &(gnn_inputs_t){.x_src = &x}, &w, NULL));
    for (int row = 0; row < 3 * 8; row++) {
        int length = row < 9 ? 3 : 5, start = row < 9 ? 3 * row : 27 + 5 * (row - 9);
        double sum = 0;
        for (int k = 0; k < length; k++)
            sum += (double)weights[start + k];
        ck_assert_double_eq_tol(sum, 1, 1e-5);
    }
    /* edge id of sender j for receiver i of the second sentence: 9 + 5 i + j */
    for (int h = 0; h < 3; h++)
        for (int k = 0; k < 25; k++)
            ck_assert_double_eq_tol((double)weights[27 + 25 * h + k],
                                    (double)per_edge[(9 + k) * 3 + h], 1e-6);
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    gnn_graph_free(edges);
    free(memory);
}
END_TEST

/* ---- rotation by given frequencies ---- */

enum { N_ROTATED = 20, ROTATED = 16 };

/* Frequencies of rope with base 100, or a row for each position with their sines and cosines. */
static void fill_rotation(const gnn_tensor_t *f, int64_t width)
{
    const int64_t pairs = width / 2;
    for (int64_t r = 0; r < f->rows; r++)
        for (int64_t t = 0; t < pairs; t++) {
            const double frequency = pow(100, -2 * (double)t / (double)width);
            gnn_real_t *row = f->data + r * f->stride;
            row[t] = (gnn_real_t)(f->rows > 1 ? sin((double)r * frequency) : frequency);
            if (f->rows > 1)
                row[pairs + t] = (gnn_real_t)cos((double)r * frequency);
        }
}

/* Values and gradients of one layer with the map. `width`: rotated values of each head of 16. */
static result_t run_rotated(const gnn_map_t *map, int64_t width, bool adjacent, double factor,
                            gnn_real_t scale)
{
    gnn_graph_t *g;
    gnn_layer_t *layer;
    gnn_tensor_t f;
    gnn_tape_t *tape;
    const bool given = map != &gnn_map_rope, table = map == &gnn_map_rope_table;
    const char *field = table ? "map.table" : "map.frequencies";
    gnn_layer_config_t c = GNN_TRANSFORMER(.in = 2 * ROTATED, .heads = 2, .map = map, .scale = scale);
    const double rope[] = {100, (double)width, factor, adjacent},
                 frequencies[] = {(double)width, adjacent, factor, 0},
                 rows[] = {N_ROTATED, (double)width, adjacent, 0};
    memcpy(c.map_options, table ? rows : given ? frequencies : rope, sizeof rope);
    ck_ok(gnn_graph_causal(&g, 1, (int64_t[]){N_ROTATED}));
    ck_ok(gnn_layer_new(&layer, context, &c));
    ck_ok(gnn_layer_prepare(layer, g, GNN_ON));
    if (given) {
        ck_ok(gnn_layer_field(layer, field, &f, NULL));
        ck_assert_int_eq(f.rows, table ? N_ROTATED : 1);
        ck_assert_int_eq(f.cols, table ? width : width / 2);
        fill_rotation(&f, width);
    }
    gnn_real_t *x = test_reals(N_ROTATED * 2 * ROTATED, 5);
    const gnn_tensor_t in = gnn_tensor(x, N_ROTATED, 2 * ROTATED);
    ck_ok(gnn_tape_new(&tape, context));
    result_t r = run_layer(layer, tape, g, &(features_t){.x = &in});
    ck_ok(gnn_tape_status(tape));
    if (given) {
        ck_ok(gnn_layer_field(layer, field, NULL, &f));
        for (int64_t k = 0; k < f.rows * f.cols; k++)
            ck_assert_double_eq((double)f.data[k / f.cols * f.stride + k % f.cols], 0);
    }
    gnn_tape_free(tape);
    gnn_layer_free(layer);
    gnn_graph_free(g);
    free(x);
    return r;
}

/* With rope's frequencies the same values, whole heads or a part; with all of a head, a gain is a
 * scale of the scores. */
START_TEST(given_frequencies_rotate_as_rope_does)
{
    const int64_t width = _i % 2 ? ROTATED : ROTATED / 2, n = N_ROTATED * 2 * ROTATED;
    const bool gain = _i >= 4;
    const gnn_real_t scale = (gnn_real_t)0.25;
    result_t a = run_rotated(&gnn_map_rope, gain ? ROTATED : width, _i / 2 % 2, 1,
                             gain ? 4 * scale : scale),
             b = run_rotated(&gnn_map_rope_given, gain ? ROTATED : width, _i / 2 % 2, gain ? 2 : 1,
                             scale);
    ck_assert_double_lt(test_error(a.y, b.y, n), TOLERANCE_OUT);
    ck_assert_double_lt(test_error(a.dx, b.dx, n), TOLERANCE_GRAD);
    free_result(&a);
    free_result(&b);
}
END_TEST

/* The same with a table of rope's sines and cosines. */
START_TEST(a_table_rotates_as_rope_does)
{
    const int64_t width = _i % 2 ? ROTATED : ROTATED / 2, n = N_ROTATED * 2 * ROTATED;
    const gnn_real_t scale = (gnn_real_t)0.25;
    result_t a = run_rotated(&gnn_map_rope, width, _i / 2 % 2, 1, scale),
             b = run_rotated(&gnn_map_rope_table, width, _i / 2 % 2, 1, scale);
    ck_assert_double_lt(test_error(a.y, b.y, n), TOLERANCE_OUT);
    ck_assert_double_lt(test_error(a.dx, b.dx, n), TOLERANCE_GRAD);
    free_result(&a);
    free_result(&b);
}
END_TEST

/* y as `recording` runs compute it. */
static void forward_of(const gnn_layer_t *layer, const gnn_graph_t *graph, const gnn_tensor_t *x,
                       int recording, gnn_real_t *y)
{
    gnn_tape_t *tape;
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, recording, 0);
    gnn_var_t in = gnn_tape_input(tape, x, recording);
    gnn_var_t out = gnn_layer_record(
        layer, tape, graph, &(gnn_layer_vars_t){GNN_NONE, in, GNN_NONE, GNN_NONE, GNN_NONE});
    gnn_tape_keep(tape, out);
    ck_ok(gnn_tape_forward(tape));
    memcpy(y, gnn_tape_value(tape, out).data, sizeof *y * (size_t)(x->rows * 12));
    gnn_tape_free(tape);
}

/* In inference the aggregation fuses bias and activation: small and large degrees, one narrow head
 * and several heads. */
START_TEST(attention_fuses_its_epilogue)
{
    const int64_t lengths[] = {3, 5, 200}, n = 208;
    gnn_real_t *memory = test_reals(n * 12, 6), *a = test_reals(n * 12, 1),
               *b = test_reals(n * 12, 2);
    const gnn_tensor_t x = gnn_tensor(memory, n, 12);
    gnn_graph_t *graph, *edges;
    ck_ok(gnn_graph_complete(&graph, 3, lengths));
    ck_ok(gnn_graph_to_edges(&edges, graph));
    for (int k = 0; k < 6; k++) {
        int64_t count;
        gnn_layer_t *layer;
        ck_ok(gnn_layer_new(&layer, context,
                            &GNN_GAT(.in = 12, .out = k < 4 ? 12 : 4, .heads = k < 4 ? 1 : 3,
                                     .activation = k % 2 ? GNN_ELU : GNN_IDENTITY)));
        gnn_real_t *values = gnn_parameters_block(gnn_layer_parameters(layer), 0, &count),
                   *drawn = test_reals(count, 8 + (uint64_t)k);
        memcpy(values, drawn, sizeof *values * (size_t)count);
        ck_ok(gnn_layer_prepare(layer, edges, GNN_ON));
        forward_of(layer, edges, &x, 0, a);
        forward_of(layer, edges, &x, 1, b);
        ck_assert_double_lt(test_error(a, b, n * 12), TOLERANCE_OUT);
        gnn_layer_free(layer);
        free(drawn);
    }
    gnn_graph_free(graph);
    gnn_graph_free(edges);
    free(memory);
    free(a);
    free(b);
}
END_TEST

/* Of the parts of a graph that the prior `table` may be limited to. */
START_TEST(a_prior_of_no_part_is_refused)
{
    const int64_t n = 4;
    gnn_real_t memory[2 * 4 * 12] = {0};
    const gnn_tensor_t x = gnn_tensor(memory, n, 12), y = gnn_tensor(memory + n * 12, n, 12);
    gnn_layer_t *layer;
    gnn_graph_t *graph;
    ck_ok(gnn_graph_causal(&graph, 1, &n));
    gnn_layer_config_t c = config_of(GNN_PRESET_TRANSFORMER);
    c.priors[0].prior = &gnn_prior_table;
    c.priors[0].options[3] = 1.5;
    ck_fails(gnn_layer_new(&layer, context, &c), GNN_EINVALID, "table: option part is 1.5");
    c.priors[0].options[3] = 2;
    ck_ok(gnn_layer_new(&layer, context, &c));
    ck_ok(gnn_layer_prepare(layer, graph, GNN_OFF));
    ck_fails(gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){.x_src = &x}, &y),
             GNN_EINVALID, "expected 1 to 1 of the graph, or 0");
    gnn_layer_free(layer);
    gnn_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layer");
    TCase *c = tcase_create("layer");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, spans_equal_edges_for_every_preset);
    tcase_add_test(c, threads_change_no_bit);
    tcase_add_test(c, sparse_features_equal_dense_ones);
    tcase_add_test(c, a_moved_linear_map_changes_nothing);
    tcase_add_test(c, batch_norms_have_widths_of_their_own);
    tcase_add_test(c, receivers_may_be_the_first_senders);
    tcase_add_test(c, attention_weights_add_up_to_one);
    tcase_add_loop_test(c, given_frequencies_rotate_as_rope_does, 0, 6);
    tcase_add_loop_test(c, a_table_rotates_as_rope_does, 0, 4);
    tcase_add_test(c, attention_fuses_its_epilogue);
    tcase_add_test(c, a_prior_of_no_part_is_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
