/* Golden files of the zoo: what attention weights are made of. Outputs and all gradients, on spans
 * and on the same edges. */
#include "zoo_tape.h"

static void project(zoo_t *z)
{
    rows_attend(z);
    if (!golden_has(&z->g, "w.q"))
        return;
    z->in[GNN_AGGREGATE_QUERY] = product(z, z->x, "w.q");
    z->in[GNN_AGGREGATE_KEY] = product(z, z->x, "w.k");
    z->in[GNN_AGGREGATE_SRC_MESSAGE] = product(z, z->x, "w.v");
}

/* ---- the cases: what each sets ---- */

static void rope(zoo_t *z)
{
    z->how.map = &gnn_map_rope;
    z->how.map_options[0] = real(z, "p.base");
    if (golden_has(&z->g, "p.part"))
        z->how.map_options[1] = real(z, "p.part");
    if (golden_has(&z->g, "p.factor"))
        z->how.map_options[2] = real(z, "p.factor");
}

static void rope_adjacent(zoo_t *z)
{
    rope(z);
    z->how.map_options[3] = 1;
}

static void slopes(zoo_t *z)
{
    z->how.priors[0].row = &gnn_prior_slope;
    z->in[GNN_AGGREGATE_PRIOR_0] = input(z, "r.slopes", ONE_ROW);
}

static void slopes_absolute(zoo_t *z)
{
    z->how.priors[0].row = &gnn_prior_slope_absolute;
    z->in[GNN_AGGREGATE_PRIOR_0] = input(z, "w.slopes", ONE_ROW);
}

static void table_clip(zoo_t *z)
{
    z->how.priors[0] = (gnn_prior_use_t){&gnn_prior_table, {2 * real(z, "p.clip") + 1}};
    z->in[GNN_AGGREGATE_PRIOR_0] = input(z, "w.table", SAME);
}

/* The file has the buckets of all distances too. */
static void t5(zoo_t *z, gnn_bucket_t rule)
{
    const double buckets = real(z, "p.buckets"), reach = real(z, "p.reach");
    int64_t count, *expected = golden_integers(&z->g, "r.bucket", &count);
    gnn_real_t *steps = golden_reals(&z->g, (int64_t)buckets);
    gnn_aggregate_shape_t shape = {.heads = 1, .options = {buckets, rule, reach}};
    for (int64_t b = 0; b < (int64_t)buckets; b++)
        steps[b] = (gnn_real_t)b;
    shape.parameters = gnn_tensor(steps, 1, (int64_t)buckets);
    for (int64_t k = 0; k < count; k++) {
        gnn_real_t bucket = 0;
        gnn_prior_table.strip(&shape, 0, k - count / 2, 1, &bucket);
        ck_assert_int_eq((int64_t)bucket, expected[k]);
    }
    z->how.priors[0] = (gnn_prior_use_t){&gnn_prior_table, {buckets, rule, reach}};
    z->how.shape.scale = 1;
    z->in[GNN_AGGREGATE_PRIOR_0] = input(z, "w.table", SAME);
}

static void t5_both(zoo_t *z)
{
    t5(z, GNN_BUCKET_LOG);
}

static void t5_causal(zoo_t *z)
{
    t5(z, GNN_BUCKET_LOG_CAUSAL);
}

static void shaw_keys(zoo_t *z)
{
    const double buckets = 2 * real(z, "p.clip") + 1;
    z->how.priors[0] = (gnn_prior_use_t){&gnn_prior_keys, {buckets, GNN_BUCKET_CLIP, 0, 1}};
    z->in[GNN_AGGREGATE_PRIOR_0] = input(z, "w.rk", SAME);
}

static void shaw_keys_values(zoo_t *z)
{
    shaw_keys(z);
    z->how.message = &gnn_message_by_distance;
    memcpy(z->how.message_options, z->how.priors[0].options, sizeof z->how.message_options);
    z->in[GNN_AGGREGATE_MESSAGE_PARAMETERS] = input(z, "w.rv", SAME);
}

static void music(zoo_t *z)
{
    const double rows = (double)golden_array(&z->g, "w.E")->shape[1];
    z->how.priors[0] = (gnn_prior_use_t){&gnn_prior_keys, {rows, GNN_BUCKET_CLIP_CAUSAL}};
    z->in[GNN_AGGREGATE_PRIOR_0] = input(z, "w.E", BY_HEAD);
}

/* The file's rows are by i - j; ours end with the receiver itself. */
static void transformer_xl(zoo_t *z)
{
    const gnn_tensor_t r = golden_tensor(&z->g, "r.R");
    gnn_tensor_t turned = gnn_tensor(golden_reals(&z->g, r.rows * r.cols), r.rows, r.cols);
    for (int64_t k = 0; k < r.rows; k++)
        memcpy(gnn__row(&turned, k), gnn__row(&r, r.rows - 1 - k), sizeof *r.data * (size_t)r.cols);
    const gnn_var_t q = z->in[GNN_AGGREGATE_QUERY];
    z->how.priors[0] = (gnn_prior_use_t){&gnn_prior_keys, {(double)r.rows, GNN_BUCKET_CLIP_CAUSAL}};
    z->in[GNN_AGGREGATE_PRIOR_0] = product(z, gnn_tape_input(z->tape, &turned, 0), "w.r");
    z->in[GNN_AGGREGATE_QUERY] = gnn_tape_add(z->tape, q, input(z, "w.u", ONE_ROW), 1);
    z->in[GNN_AGGREGATE_PRIOR_QUERY] = gnn_tape_add(z->tape, q, input(z, "w.vb", ONE_ROW), 1);
}

static void softcap(zoo_t *z)
{
    z->how.shape.softcap = (gnn_real_t)real(z, "p.cap");
}

static void sinks(zoo_t *z)
{
    z->how.weigher = &gnn_weigher_softmax_sink;
    z->in[GNN_AGGREGATE_WEIGHER_PARAMETERS] = input(z, "w.sink", ONE_ROW);
}

static void linear(zoo_t *z)
{
    z->how.weigher = &gnn_weigher_linear;
}

static void sigmoid(zoo_t *z)
{
    z->how.weigher = &gnn_weigher_sigmoid;
    z->how.weigher_options[0] = 1;
}

static void best(zoo_t *z)
{
    z->how.weigher = &gnn_weigher_best;
}

static void top(zoo_t *z)
{
    z->how.weigher = &gnn_weigher_top;
    z->how.weigher_options[0] = real(z, "p.top");
}

/* Queries are projections times a factor. */
static void at_factor(zoo_t *z, const gnn_weigher_t *weigher)
{
    z->how.weigher = weigher;
    z->how.shape.scale =
        (gnn_real_t)(real(z, "p.score_factor") /
                     sqrt((double)gnn_tape_cols(z->tape, z->x) / real(z, "p.heads")));
}

static void sparsemax(zoo_t *z)
{
    at_factor(z, &gnn_weigher_sparsemax);
}

static void entmax15(zoo_t *z)
{
    at_factor(z, &gnn_weigher_entmax15);
}

static void few_heads(zoo_t *z)
{
    const bool apart = golden_has(&z->g, "p.key_heads");
    z->how.shape.key_heads = number(z, apart ? "p.key_heads" : "p.kv_heads");
    z->how.shape.value_heads = number(z, apart ? "p.value_heads" : "p.kv_heads");
}

static void nothing(zoo_t *z)
{
    (void)z;
}

typedef struct {
    const char *name;
    bool causal;
    void (*set)(zoo_t *z);
} case_t;

static const case_t cases[] = {
    {"rope_half", true, rope},
    {"rope_interleaved", false, rope_adjacent},
    {"rope_partial", true, rope},
    {"rope_scaled_linear", true, rope},
    {"alibi_causal", true, slopes},
    {"alibi_symmetric", false, slopes_absolute},
    {"distance_table_clip", false, table_clip},
    {"t5_buckets_both", false, t5_both},
    {"t5_buckets_causal", true, t5_causal},
    {"shaw_keys", false, shaw_keys},
    {"shaw_keys_values", false, shaw_keys_values},
    {"music_transformer", true, music},
    {"transformer_xl_attention", true, transformer_xl},
    {"softcap", true, softcap},
    {"sinks", true, sinks},
    {"weigher_linear", true, linear},
    {"weigher_sigmoid", false, sigmoid},
    {"topk_scores", false, top},
    {"weigher_sparsemax", false, sparsemax},
    {"weigher_entmax15", false, entmax15},
    {"multi_query", true, few_heads},
    {"grouped_query", true, few_heads},
    {"key_heads_value_heads", false, few_heads},
    {"head_gates", false, nothing},
    {"hard_argmax_straight_through", false, best},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- running ---- */

static gnn_graph_t *graph_of(zoo_t *z, bool causal, bool as_edges)
{
    int64_t n, *lengths = golden_integers(&z->g, "lengths", &n);
    gnn_graph_t *spans = NULL, *edges = NULL;
    ck_ok(causal ? gnn_graph_causal(&spans, n, lengths) : gnn_graph_complete(&spans, n, lengths));
    if (as_edges) {
        ck_ok(gnn_graph_to_edges(&edges, spans));
        gnn_graph_free(spans);
        spans = edges;
    }
    ck_ok(gnn_graph_prepare(spans, &(gnn_view_t){.backward = GNN_ON}));
    return spans;
}

static bool zoo_open(zoo_t *z, const char *name, bool causal, bool as_edges)
{
    if (!zoo_start(z, name))
        return false;
    z->graph = graph_of(z, causal, as_edges);
    return true;
}

START_TEST(attention_as_published)
{
    const case_t *c = &cases[_i / 2];
    zoo_t z;
    if (!zoo_open(&z, c->name, c->causal, _i % 2))
        return;
    project(&z);
    c->set(&z);
    gnn_var_t a = gnn_tape_aggregate(z.tape, &z.how, z.in);
    if (golden_has(&z.g, "w.xi"))
        a = gnn_tape_scale_heads(z.tape, a, input(&z, "w.xi", ONE_ROW));
    check_and_close(&z, product(&z, a, "w.o"));
}
END_TEST

/* Columns of both, head by head: [first | second] of head 0, then of head 1 ... */
static gnn_var_t beside(zoo_t *z, gnn_var_t first, gnn_var_t second)
{
    gnn_var_t parts[64];
    const int64_t heads = z->how.shape.heads, rows = gnn_tape_rows(z->tape, first),
                  d = gnn_tape_cols(z->tape, first) / heads;
    for (int64_t h = 0; h < heads; h++) {
        parts[2 * h] = gnn_tape_view(z->tape, first, 0, rows, h * d, d);
        parts[2 * h + 1] = gnn_tape_view(z->tape, second, 0, rows, h * d, d);
    }
    return gnn_tape_concat(z->tape, parts, (int)(2 * heads));
}

/* A_2 = q_2.k_2 + A_1 is attention on the concatenated rows of both layers. */
START_TEST(scores_of_the_layer_before)
{
    zoo_t z;
    if (!zoo_open(&z, "realformer", false, _i))
        return;
    project(&z);
    const gnn_var_t q1 = product(&z, z.x, "w.q1"), k1 = product(&z, z.x, "w.k1");
    z.how.shape.scale =
        (gnn_real_t)(1 / sqrt((double)gnn_tape_cols(z.tape, q1) / (double)z.how.shape.heads));
    z.in[GNN_AGGREGATE_QUERY] = q1;
    z.in[GNN_AGGREGATE_KEY] = k1;
    z.in[GNN_AGGREGATE_SRC_MESSAGE] = product(&z, z.x, "w.v1");
    const gnn_var_t y1 =
        gnn_tape_add(z.tape, z.x, product(&z, gnn_tape_aggregate(z.tape, &z.how, z.in), "w.o1"), 1);
    z.in[GNN_AGGREGATE_QUERY] = beside(&z, product(&z, y1, "w.q2"), q1);
    z.in[GNN_AGGREGATE_KEY] = beside(&z, product(&z, y1, "w.k2"), k1);
    z.in[GNN_AGGREGATE_SRC_MESSAGE] = product(&z, y1, "w.v2");
    check_and_close(
        &z,
        gnn_tape_add(z.tape, y1, product(&z, gnn_tape_aggregate(z.tape, &z.how, z.in), "w.o2"), 1));
}
END_TEST

/* The map by itself, row by row. */
START_TEST(rope_alone)
{
    static const char *const names[] = {"zoo/rope_map_half", "zoo/rope_map_interleaved"};
    golden_t g;
    if (!golden_open(&g, names[_i]))
        return;
    const gnn_tensor_t x = golden_tensor(&g, "x"), d_y = golden_tensor(&g, "gy");
    const gnn_tensor_t y = gnn_tensor(golden_reals(&g, x.rows * x.cols), x.rows, x.cols);
    const gnn_tensor_t d_x = gnn_tensor(golden_reals(&g, x.rows * x.cols), x.rows, x.cols);
    const int64_t heads = golden_integers(&g, "p.heads", NULL)[0];
    const gnn_aggregate_shape_t shape = {
        .heads = heads,
        .d_k = x.cols / heads,
        .options = {gnn_array_get(golden_array(&g, "p.base"), 0), 0, 1, _i}};
    gnn_real_t *numbers = golden_reals(&g, gnn_map_rope.numbers(&shape));
    int64_t segments, *lengths = golden_integers(&g, "lengths", &segments), row = 0;
    for (int64_t s = 0; s < segments; s++)
        for (int64_t p = 0; p < lengths[s]; p++, row++) {
            memset(gnn__row(&d_x, row), 0, sizeof *x.data * (size_t)x.cols);
            gnn_map_rope.prepare(&shape, p, numbers);
            gnn_map_rope.apply(&shape, heads, numbers, gnn__row(&x, row), gnn__row(&y, row));
            gnn_map_rope.apply_grad(&shape, heads, numbers, gnn__row(&x, row), gnn__row(&d_y, row),
                                    gnn__row(&d_x, row));
        }
    golden_same(&g, "y", &y, GOLDEN_OUT);
    golden_same(&g, "dx", &d_x, GOLDEN_GRAD);
    golden_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zoo");
    TCase *t = tcase_create("scores");
    tcase_add_loop_test(t, attention_as_published, 0, 2 * CASES);
    tcase_add_loop_test(t, scores_of_the_layer_before, 0, 2);
    tcase_add_loop_test(t, rope_alone, 0, 2);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
