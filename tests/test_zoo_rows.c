/* Golden files of the zoo on a tape: Bahdanau's decoder step by step, and the attention weights of
 * scores over encoder states. Outputs and all gradients. A map and a prior by themselves: what a
 * model can run stands in the gallery. */
#include "zoo_tape.h"

/* ---- scores over encoder states ---- */

/* Receivers attend to the states `mem` of their sentence. */
static gnn_var_t memory(zoo_t *z)
{
    int64_t n, *heard = golden_integers(&z->g, "lengths_mem", &n),
               *lengths = golden_integers(&z->g, "lengths", NULL);
    ck_ok(gnn_graph_bipartite(&z->graph, n, lengths, heard));
    ck_ok(gnn_graph_prepare(z->graph, &(gnn_view_t){.backward = GNN_ON}));
    const gnn_var_t mem = input(z, "mem", SAME);
    z->x = input(z, "x", SAME);
    z->how = (gnn_aggregate_t){.aggregator = &gnn_aggregator_attention,
                               .message = &gnn_message_none,
                               .graph = z->graph,
                               .shape = {.heads = 1, .scale = 1}};
    z->in[GNN_AGGREGATE_SRC_MESSAGE] = z->in[GNN_AGGREGATE_KEY] = mem;
    z->in[GNN_AGGREGATE_QUERY] = z->x;
    return mem;
}

static void concat(zoo_t *z)
{
    const gnn_var_t mem = memory(z), w = input(z, "w.W", SAME);
    const int64_t rows = gnn_tape_rows(z->tape, w), d = gnn_tape_cols(z->tape, z->x);
    z->how.score = &gnn_score_additive_tanh;
    z->in[GNN_AGGREGATE_QUERY] =
        gnn_tape_linear_transposed(z->tape, z->x, gnn_tape_view(z->tape, w, 0, rows, 0, d), GNN_NONE);
    z->in[GNN_AGGREGATE_KEY] =
        gnn_tape_linear_transposed(z->tape, mem, gnn_tape_view(z->tape, w, 0, rows, d, d), GNN_NONE);
    z->in[GNN_AGGREGATE_SCORE_PARAMETERS] = input(z, "w.v", ONE_ROW);
}

/* The score is the receiver's value for the sender's position only; other terms are 0. */
static void location(zoo_t *z)
{
    const gnn_var_t mem = memory(z), numbers = product(z, z->x, "w.W");
    const int64_t n = gnn_tape_rows(z->tape, z->x), m = gnn_tape_rows(z->tape, mem);
    gnn_real_t *zeros = golden_reals(&z->g, n + m);
    memset(zeros, 0, (size_t)(n + m) * sizeof *zeros);
    const gnn_tensor_t none = gnn_tensor(zeros, n, 1), no_keys = gnn_tensor(zeros, m, 1);
    z->in[GNN_AGGREGATE_QUERY] = gnn_tape_input(z->tape, &none, 0);
    z->in[GNN_AGGREGATE_KEY] = gnn_tape_input(z->tape, &no_keys, 0);
    z->how.priors[0] = (gnn_prior_use_t){&gnn_prior_place, {(double)gnn_tape_cols(z->tape, numbers)}};
    z->in[GNN_AGGREGATE_PRIOR_0] = numbers;
}

/* Lengths of 1, the receiver's times its beta: the map l2 takes both to length 1, so beta is
 * outside of it. */
static void cosine(zoo_t *z)
{
    const gnn_var_t mem = memory(z);
    const gnn_var_t sharp = gnn_tape_linear_transposed(z->tape, z->x, input(z, "w.u", ONE_ROW),
                                                       input(z, "w.b", ONE_ROW));
    const gnn_var_t beta = gnn_tape_activation(z->tape, sharp, GNN_SOFTPLUS, 0);
    gnn_var_t unit[2] = {z->x, mem};
    for (int k = 0; k < 2; k++)
        unit[k] = gnn_tape_norm(z->tape, GNN_NORM_L2, unit[k], GNN_NONE, GNN_NONE, 0, NULL, 0);
    z->in[GNN_AGGREGATE_QUERY] = gnn_tape_multiply(z->tape, unit[0], beta);
    z->in[GNN_AGGREGATE_KEY] = unit[1];
}

typedef struct {
    const char *name;
    void (*set)(zoo_t *z);
} scores_t;

static const scores_t scores[] = {
    {"luong_concat", concat}, {"luong_location", location}, {"cosine_scores", cosine}};

START_TEST(scores_over_encoder_states)
{
    zoo_t z;
    if (!zoo_start(&z, scores[_i].name))
        return;
    const gnn_array_t *w = golden_array(&z.g, "weights");
    scores[_i].set(&z);
    gnn_real_t *weights = golden_reals(&z.g, w->count);
    z.how.segment_weights_out = weights;
    const gnn_var_t y = gnn_tape_aggregate(z.tape, &z.how, z.in);
    gnn_tape_keep(z.tape, y);
    ck_ok(gnn_tape_forward(z.tape));
    const gnn_tensor_t found = gnn_tensor(weights, 1, w->count);
    golden_same(&z.g, "weights", &found, GOLDEN_OUT);
    check_and_close(&z, y);
}
END_TEST

/* ---- Bahdanau's decoder, step by step ---- */

typedef struct {
    int64_t sentences, longest, *lengths, *heard;
    gnn_graph_t *one; /* from a sentence's states to its one receiver */
    gnn_var_t mem, keys, vector, from_state, input_weight, input_bias, state_weight, state_bias;
} decoder_t;

/* Row t of each sentence; the last one where it has ended. */
static gnn_var_t words_at(zoo_t *z, const decoder_t *d, int64_t t, int32_t *ids)
{
    int64_t from = 0;
    for (int64_t s = 0; s < d->sentences; from += d->lengths[s++])
        ids[s] = (int32_t)(from + (t < d->lengths[s] ? t : d->lengths[s] - 1));
    return gnn_tape_gather(z->tape, z->x, gnn_tape_ids(z->tape, ids, d->sentences));
}

static gnn_var_t hears(zoo_t *z, const decoder_t *d, gnn_var_t state)
{
    z->how = (gnn_aggregate_t){.aggregator = &gnn_aggregator_attention,
                               .score = &gnn_score_additive_tanh,
                               .message = &gnn_message_none,
                               .graph = d->one,
                               .shape = {.heads = 1}};
    z->in[GNN_AGGREGATE_QUERY] = gnn_tape_linear_transposed(z->tape, state, d->from_state, GNN_NONE);
    z->in[GNN_AGGREGATE_KEY] = d->keys;
    z->in[GNN_AGGREGATE_SRC_MESSAGE] = d->mem;
    z->in[GNN_AGGREGATE_SCORE_PARAMETERS] = d->vector;
    return gnn_tape_aggregate(z->tape, &z->how, z->in);
}

static gnn_var_t step(zoo_t *z, const decoder_t *d, gnn_var_t word, gnn_var_t state)
{
    const gnn_var_t both[] = {word, hears(z, d, state)};
    const gnn_var_t gates_x = gnn_tape_linear_transposed(z->tape, gnn_tape_concat(z->tape, both, 2),
                                                         d->input_weight, d->input_bias);
    const gnn_var_t gates_h =
        gnn_tape_linear_transposed(z->tape, state, d->state_weight, d->state_bias);
    return gnn_tape_gru(z->tape, gates_x, gates_h, state);
}

/* tanh(W_s mean of the states). */
static gnn_var_t first_state(zoo_t *z, const decoder_t *d)
{
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = z->in[k] = GNN_NONE;
    in[GNN_AGGREGATE_SRC_MESSAGE] = d->mem;
    const gnn_aggregate_t mean = {
        .aggregator = &gnn_aggregator_mean, .message = &gnn_message_none, .graph = d->one};
    return gnn_tape_activation(z->tape, product(z, gnn_tape_aggregate(z->tape, &mean, in), "w.Ws"),
                               GNN_TANH, 0);
}

static void decoder_open(zoo_t *z, decoder_t *d)
{
    d->lengths = golden_integers(&z->g, "lengths", &d->sentences);
    d->heard = golden_integers(&z->g, "lengths_mem", NULL);
    d->longest = 0;
    int64_t ones[64];
    ck_assert_int_le(d->sentences, 64);
    for (int64_t s = 0; s < d->sentences; s++) {
        ones[s] = 1;
        d->longest = d->lengths[s] > d->longest ? d->lengths[s] : d->longest;
    }
    ck_ok(gnn_graph_bipartite(&d->one, d->sentences, ones, d->heard));
    ck_ok(gnn_graph_prepare(d->one, &(gnn_view_t){.backward = GNN_ON}));
    z->graph = d->one;
    z->x = input(z, "x", SAME);
    d->mem = input(z, "mem", SAME);
    d->keys =
        gnn_tape_linear_transposed(z->tape, d->mem, input(z, "w.U", SAME), input(z, "w.b", ONE_ROW));
    d->vector = input(z, "w.v", ONE_ROW);
    d->from_state = input(z, "w.W", SAME);
    d->input_weight = input(z, "w.weight_ih", SAME);
    d->input_bias = input(z, "w.bias_ih", ONE_ROW);
    d->state_weight = input(z, "w.weight_hh", SAME);
    d->state_bias = input(z, "w.bias_hh", ONE_ROW);
}

START_TEST(bahdanau_decoder)
{
    zoo_t z;
    decoder_t d;
    int32_t row = 0;
    if (!zoo_start(&z, "bahdanau_decoder"))
        return;
    decoder_open(&z, &d);
    const size_t words = (size_t)(d.longest * d.sentences);
    gnn_var_t *states = golden_own(&z.g, sizeof *states * (size_t)d.longest);
    int32_t *ids = golden_own(&z.g, sizeof *ids * words);
    int32_t *order = golden_own(&z.g, sizeof *order * words);
    gnn_var_t state = first_state(&z, &d);
    for (int64_t t = 0; t < d.longest; t++)
        states[t] = state = step(&z, &d, words_at(&z, &d, t, ids + t * d.sentences), state);
    for (int64_t s = 0; s < d.sentences; s++)
        for (int64_t t = 0; t < d.lengths[s]; t++)
            order[row++] = (int32_t)(t * d.sentences + s);
    const gnn_var_t all = gnn_tape_stack(z.tape, states, (int)d.longest);
    check_and_close(&z, gnn_tape_gather(z.tape, all, gnn_tape_ids(z.tape, order, row)));
}
END_TEST

/* ---- entries by themselves: steps of a model that use them stand in the gallery ---- */

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

/* The buckets of T5 of all distances, both ways and causal. */
START_TEST(buckets_of_distances)
{
    static const char *const names[] = {"zoo/t5_buckets_both", "zoo/t5_buckets_causal"};
    golden_t g;
    if (!golden_open(&g, names[_i]))
        return;
    const double buckets = gnn_array_get(golden_array(&g, "p.buckets"), 0),
                 reach = gnn_array_get(golden_array(&g, "p.reach"), 0);
    int64_t count, *expected = golden_integers(&g, "r.bucket", &count);
    gnn_real_t *steps = golden_reals(&g, (int64_t)buckets);
    gnn_aggregate_shape_t shape = {
        .heads = 1, .options = {buckets, _i ? GNN_BUCKET_LOG_CAUSAL : GNN_BUCKET_LOG, reach}};
    for (int64_t b = 0; b < (int64_t)buckets; b++)
        steps[b] = (gnn_real_t)b;
    shape.parameters = gnn_tensor(steps, 1, (int64_t)buckets);
    for (int64_t k = 0; k < count; k++) {
        gnn_real_t bucket = 0;
        gnn_prior_table.strip(&shape, 0, k - count / 2, 1, &bucket);
        ck_assert_int_eq((int64_t)bucket, expected[k]);
    }
    golden_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zoo_rows");
    TCase *t = tcase_create("rows");
    tcase_add_loop_test(t, scores_over_encoder_states, 0, (int)(sizeof scores / sizeof *scores));
    tcase_add_test(t, bahdanau_decoder);
    tcase_add_loop_test(t, rope_alone, 0, 2);
    tcase_add_loop_test(t, buckets_of_distances, 0, 2);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
