/* Signals of training: noise and draws inside a model, terms of a loss, and hard attention that
 * learns by the score function (REINFORCE). */
#include "support.h"

enum { SEQUENCES = 96, WORDS = 6, D = 8, CLASSES = 3, ROWS = SEQUENCES * WORDS };

/* ---- noise and draws ---- */

static gnn_tensor_t run_op(gnn_context_t *context, const gnn_op_t *op, const double *options,
                           const gnn_tensor_t *x, bool training, uint32_t step, gnn_real_t *out)
{
    gnn_tape_t *tape = NULL;
    gnn_op_options_t how = {.graph = NULL};
    memcpy(how.options, options, sizeof how.options);
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 0, training);
    gnn_tape_set_step(tape, step);
    const gnn_var_t in = gnn_tape_input(tape, x, 0),
                    y = gnn_tape_op(tape, op, &in, 1, &how, sizeof how);
    gnn_tape_keep(tape, y);
    ck_ok(gnn_tape_forward(tape));
    const gnn_tensor_t value = gnn_tape_value(tape, y);
    memcpy(out, value.data, sizeof *out * (size_t)(value.rows * value.cols));
    const gnn_tensor_t copy = gnn_tensor(out, value.rows, value.cols);
    gnn_tape_free(tape);
    return copy;
}

/* Mean and variance of each kind of noise. */
START_TEST(noise_has_its_moments_while_training)
{
    enum { N = 400, C = 50 };
    static gnn_real_t zeros[N * C], y[N * C], again[N * C];
    const double mean[] = {0.5772, 0, 0, 0}, variance[] = {1.6449, 3.2899, 1, 1.0 / 3};
    const double options[4] = {_i, 2};
    const gnn_tensor_t x = gnn_tensor(zeros, N, C);
    gnn_context_t *context = NULL, *one = NULL;
    double sum = 0, squares = 0;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_context_new(&one, &(gnn_context_config_t){.threads = 1}));
    run_op(context, &gnn_op_noise, options, &x, true, 3, y);
    for (int k = 0; k < N * C; k++) {
        sum += (double)y[k] / 2;
        squares += (double)y[k] * (double)y[k] / 4;
    }
    const double m = sum / (N * C);
    ck_assert_double_lt(fabs(m - mean[_i]), 0.04);
    ck_assert_double_lt(fabs(squares / (N * C) - m * m - variance[_i]), 0.08 * variance[_i] + 0.01);
    run_op(one, &gnn_op_noise, options, &x, true, 3, again);
    ck_assert_mem_eq(y, again, sizeof y);
    run_op(context, &gnn_op_noise, options, &x, true, 4, again);
    ck_assert_mem_ne(y, again, sizeof y);
    run_op(context, &gnn_op_noise, options, &x, false, 3, again);
    ck_assert_mem_eq(again, zeros, sizeof again);
    gnn_context_free(context);
    gnn_context_free(one);
}
END_TEST

START_TEST(draws_follow_the_softmax)
{
    enum { N = 4000, C = 4 };
    static gnn_real_t logits[N * 2 * C], ids[N * 2];
    const double options[4] = {2};
    int counts[2 * C] = {0};
    gnn_context_t *context = NULL;
    ck_ok(gnn_context_new(&context, NULL));
    for (int r = 0; r < N; r++)
        for (int c = 0; c < 2 * C; c++)
            logits[r * 2 * C + c] = c < C    ? (gnn_real_t)log(c + 1.0)
                                    : c == C ? 0
                                             : (gnn_real_t)-INFINITY;
    const gnn_tensor_t x = gnn_tensor(logits, N, 2 * C);
    run_op(context, &gnn_op_draw, options, &x, true, 1, ids);
    for (int k = 0; k < 2 * N; k++)
        counts[(int)ids[k]]++;
    for (int c = 0; c < C; c++)
        ck_assert_double_lt(fabs(counts[c] / (double)N - (c + 1) / 10.0), 0.03);
    ck_assert_int_eq(counts[C], N); /* the only column of its block that is not minus infinity */
    run_op(context, &gnn_op_draw, options, &x, false, 1, ids);
    for (int k = 0; k < 2 * N; k++)
        ck_assert_int_eq((int)ids[k], k % 2 ? C : C - 1);
    for (int c = 0; c < 2 * C; c++)
        logits[c] = (gnn_real_t)-INFINITY;
    run_op(context, &gnn_op_draw, options, &x, true, 1, ids);
    ck_assert_int_eq((int)ids[0], -1);
    gnn_context_free(context);
}
END_TEST

START_TEST(wrong_options_are_refused)
{
    gnn_real_t zeros[6] = {0};
    const gnn_tensor_t x = gnn_tensor(zeros, 2, 3);
    gnn_context_t *context = NULL;
    ck_ok(gnn_context_new(&context, NULL));
    for (int k = 0; k < 2; k++) {
        gnn_tape_t *tape = NULL;
        const gnn_op_options_t how = {.options = {k ? 2 : 7}};
        ck_ok(gnn_tape_new(&tape, context));
        gnn_tape_reset(tape, 0, 1);
        const gnn_var_t in = gnn_tape_input(tape, &x, 0);
        gnn_tape_op(tape, k ? &gnn_op_draw : &gnn_op_noise, &in, 1, &how, sizeof how);
        ck_fails(gnn_tape_status(tape), k ? GNN_ESHAPE : GNN_EINVALID,
                 k ? "3 columns do not divide into 2 blocks"
                   : "noise: option kind is 7, expected an integer from 0 to 3");
        gnn_tape_free(tape);
    }
    gnn_context_free(context);
}
END_TEST

/* ---- a task with one marked word ---- */

/* Every word is a class in its first columns and noise; one is marked in column D - 1, and its
 * class is the label of the sequence. */
typedef struct {
    gnn_real_t words[ROWS * D], answers[SEQUENCES * CLASSES];
    int32_t labels[SEQUENCES], marked[SEQUENCES];
    gnn_tensor_t x, truth;
    gnn_graph_t *graphs[2];
    gnn_named_t values[2];
} task_t;

static void make_task(task_t *t, uint64_t seed)
{
    const int64_t all = SEQUENCES;
    int64_t ones[SEQUENCES], each[SEQUENCES];
    memset(t, 0, sizeof *t);
    for (int s = 0; s < SEQUENCES; s++) {
        ones[s] = 1;
        each[s] = WORDS;
        t->marked[s] = (int32_t)test_below(&seed, WORDS);
        for (int w = 0; w < WORDS; w++) {
            gnn_real_t *word = t->words + (s * WORDS + w) * D;
            const int64_t class = test_below(&seed, CLASSES);
            for (int c = 0; c < D; c++)
                word[c] = (gnn_real_t)(0.1 * test_uniform(&seed));
            word[class] += 1;
            word[D - 1] += w == t->marked[s];
            if (w == t->marked[s])
                t->labels[s] = (int32_t) class;
        }
        t->answers[s * CLASSES + t->labels[s]] = 1;
    }
    t->x = gnn_tensor(t->words, ROWS, D);
    t->truth = gnn_tensor(t->answers, SEQUENCES, CLASSES);
    ck_ok(gnn_graph_bipartite(&t->graphs[0], SEQUENCES, ones, each));
    ck_ok(gnn_graph_complete(&t->graphs[1], 1, &all));
    t->values[0] = (gnn_named_t){.name = "x", .dense = &t->x};
    t->values[1] = (gnn_named_t){.name = "truth", .dense = &t->truth};
}

static void free_task(task_t *t)
{
    for (int k = 0; k < 2; k++)
        gnn_graph_free(t->graphs[k]);
}

/* One word of each sequence is drawn and classified. "score" is the log-probability of the word
 * times how much better than chance the answer is. */
static const gnn_step_t hard_attention[] = {
    {.kind = GNN_STEP_LINEAR, .name = "s", .inputs = {"x"}, .in = D, .out = 1},
    {.kind = GNN_STEP_OP, .name = "logits of words", .op = &gnn_op_fold_rows, .options = {WORDS}},
    {.kind = GNN_STEP_OP, .name = "word", .op = &gnn_op_draw},
    {.kind = GNN_STEP_OP,
     .name = "one-hot",
     .op = &gnn_op_mark_columns,
     .inputs = {"word", "logits of words"}},
    {.kind = GNN_STEP_OP,
     .name = "read",
     .op = &gnn_op_segment_matmul,
     .inputs = {"one-hot", "x"},
     .graph = 0},
    {.kind = GNN_STEP_OP, .name = "p words", .op = &gnn_op_softmax_rows, .inputs = {"logits of words"}},
    {.kind = GNN_STEP_OP, .name = "logs", .op = &gnn_op_log},
    {.kind = GNN_STEP_OP, .name = "log p", .op = &gnn_op_pick_columns, .inputs = {"logs", "word"}},
    {.kind = GNN_STEP_LINEAR, .name = "answer", .inputs = {"read"}, .in = D, .out = CLASSES},
    {.kind = GNN_STEP_OP, .name = "p", .op = &gnn_op_softmax_rows, .inputs = {"answer"}},
    {.kind = GNN_STEP_MULTIPLY, .name = "right", .inputs = {"p", "truth"}},
    {.kind = GNN_STEP_OP, .name = "p right", .op = &gnn_op_head_sum, .options = {1}},
    {.kind = GNN_STEP_AGGREGATE,
     .name = "baseline",
     .graph = 1,
     .inputs = {"p right"},
     .layer = {.in = 1, .aggregator = &gnn_aggregator_mean}},
    {.kind = GNN_STEP_ADD, .name = "better", .inputs = {"p right", "baseline"}, .factor = -1},
    {.kind = GNN_STEP_DETACH, .name = "reward"},
    {.kind = GNN_STEP_MULTIPLY, .name = "score", .inputs = {"log p", "reward"}},
    {.kind = GNN_STEP_SCALE, .name = "y", .inputs = {"answer"}}};

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    task_t *t = user;
    (void)part;
    (void)epoch;
    (void)index;
    batch->inputs = (gnn_model_inputs_t){(const gnn_graph_t *const *)t->graphs, 2, t->values, 2};
    batch->loss = (gnn_loss_t){.kind = GNN_LOSS_CROSS_ENTROPY, .labels = t->labels};
    return GNN_OK;
}

/* Share of the sequences whose marked word is the one that inference takes. */
static double found(const gnn_model_t *model, gnn_context_t *context, task_t *t)
{
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)t->graphs, 2, t->values, 2};
    gnn_real_t ids[SEQUENCES];
    const gnn_tensor_t out = gnn_tensor(ids, SEQUENCES, 1);
    double hits = 0;
    ck_ok(gnn_model_value(model, context, &inputs, "word", &out));
    for (int s = 0; s < SEQUENCES; s++)
        hits += (int)ids[s] == t->marked[s];
    return hits / SEQUENCES;
}

static double train(uint64_t seed, const gnn_loss_term_t *terms, int64_t n_terms, int64_t epochs,
                    gnn_train_result_t *result)
{
    static task_t t;
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    make_task(&t, 7 * seed + 1);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = seed}));
    ck_ok(gnn_model_from_steps(
        &model, context, (int64_t)(sizeof hard_attention / sizeof *hard_attention), hard_attention));
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_model_prepare(model, k, t.graphs[k], GNN_ON));
    const gnn_source_t source = {.get = get, .count = {1, 0, 0}, .user = &t, .fixed = GNN_ON};
    const gnn_train_config_t config = {
        .epochs = epochs, .optimizer = {.lr = (gnn_real_t)0.05}, .terms = terms, .n_terms = n_terms};
    ck_ok(gnn_train_batches(model, context, &source, &config, result));
    const double share = found(model, context, &t);
    gnn_model_free(model);
    gnn_context_free(context);
    free_task(&t);
    return share;
}

/* Without the term no gradient reaches the scores of words: they stay those of the first epoch. */
START_TEST(hard_attention_finds_the_marked_word)
{
    const gnn_loss_term_t reinforce = {"score", -4};
    gnn_train_result_t with, without;
    const double share = train((uint64_t)_i + 1, &reinforce, 1, 300, &with),
                 before = train((uint64_t)_i + 1, NULL, 0, 1, &without),
                 after = train((uint64_t)_i + 1, NULL, 0, 300, &without);
    printf("REINFORCE seed %d: marked word found in %.3f of sequences, without the term %.3f\n",
           _i + 1, share, after);
    ck_assert_double_gt(share, 0.95);
    ck_assert_double_eq(before, after);
}
END_TEST

START_TEST(terms_are_weights_times_means)
{
    const gnn_loss_term_t terms[] = {{"p right", 2}, {"p words", 3}};
    gnn_train_result_t plain, more;
    train(5, NULL, 0, 1, &plain);
    train(5, terms, 1, 1, &more);
    ck_assert_double_gt(more.train_loss - plain.train_loss, 0.1);
    gnn_train_result_t both;
    train(5, terms, 2, 1, &both);
    /* the mean of a softmax over six words is 1/6 */
    ck_assert_double_eq_tol(both.train_loss - more.train_loss, 3.0 / WORDS, 1e-5);
}
END_TEST

START_TEST(wrong_terms_are_refused)
{
    const gnn_loss_term_t unknown = {"nowhere", 1}, infinite = {"score", (gnn_real_t)INFINITY};
    static task_t t;
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    make_task(&t, 3);
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_model_from_steps(
        &model, context, (int64_t)(sizeof hard_attention / sizeof *hard_attention), hard_attention));
    const gnn_source_t source = {.get = get, .count = {1, 0, 0}, .user = &t};
    gnn_train_config_t config = {.terms = &unknown, .n_terms = 1};
    ck_fails(gnn_train_batches(model, context, &source, &config, NULL), GNN_ENOTFOUND,
             "no step \"nowhere\"");
    config.terms = &infinite;
    ck_fails(gnn_train_batches(model, context, &source, &config, NULL), GNN_EINVALID,
             "the weight of term \"score\" is inf");
    config.terms = NULL;
    ck_fails(gnn_train_batches(model, context, &source, &config, NULL), GNN_EINVALID,
             ".terms is NULL");
    config = (gnn_train_config_t){.terms = &unknown, .n_terms = 17};
    ck_fails(gnn_train_batches(model, context, &source, &config, NULL), GNN_EINVALID, "at most 16");
    gnn_model_free(model);
    gnn_context_free(context);
    free_task(&t);
}
END_TEST

/* ---- differentiable search: two optimisers in turn ---- */

enum { SAMPLES = 128, WIDE = 5, CHOICES = 3 };

/* y = softmax(a) . [x, relu(x A), tanh(x B)]: Liu et al. 2019. */
static const gnn_step_t search[] = {
    {.kind = GNN_STEP_LINEAR, .name = "A", .inputs = {"x"}, .in = WIDE, .out = WIDE},
    {.kind = GNN_STEP_ACTIVATION, .name = "op1", .activation = GNN_RELU},
    {.kind = GNN_STEP_LINEAR, .name = "B", .inputs = {"x"}, .in = WIDE, .out = WIDE},
    {.kind = GNN_STEP_ACTIVATION, .name = "op2", .activation = GNN_TANH},
    {.kind = GNN_STEP_PARAMETER, .name = "a", .rows = 1, .out = CHOICES, .factor = 1},
    {.kind = GNN_STEP_OP, .name = "shares", .op = &gnn_op_softmax_rows},
    {.kind = GNN_STEP_VIEW, .name = "s0", .inputs = {"shares"}, .column = 0, .columns = 1},
    {.kind = GNN_STEP_VIEW, .name = "s1", .inputs = {"shares"}, .column = 1, .columns = 1},
    {.kind = GNN_STEP_VIEW, .name = "s2", .inputs = {"shares"}, .column = 2, .columns = 1},
    {.kind = GNN_STEP_MULTIPLY, .name = "y0", .inputs = {"x", "s0"}},
    {.kind = GNN_STEP_MULTIPLY, .name = "y1", .inputs = {"op1", "s1"}},
    {.kind = GNN_STEP_MULTIPLY, .name = "y2", .inputs = {"op2", "s2"}},
    {.kind = GNN_STEP_ADD, .name = "y01", .inputs = {"y0", "y1"}},
    {.kind = GNN_STEP_ADD, .name = "y", .inputs = {"y01", "y2"}}};

/* Rows x and tanh(2 x B) for a matrix B that all splits share. */
static void draw_split(gnn_real_t *x, gnn_real_t *y, uint64_t *seed)
{
    for (int r = 0; r < SAMPLES; r++)
        for (int c = 0; c < WIDE; c++)
            x[r * WIDE + c] = (gnn_real_t)test_uniform(seed);
    for (int r = 0; r < SAMPLES; r++)
        for (int c = 0; c < WIDE; c++) {
            double sum = 0;
            for (int k = 0; k < WIDE; k++)
                sum += (double)x[r * WIDE + k] * 2 * sin(1 + k + 3 * c);
            y[r * WIDE + c] = (gnn_real_t)tanh(sum);
        }
}

static void search_step(gnn_model_t *model, gnn_tape_t *tape, gnn_real_t *x, gnn_real_t *y,
                        gnn_optimizer_t *optimizer)
{
    const gnn_tensor_t in = gnn_tensor(x, SAMPLES, WIDE), out = gnn_tensor(y, SAMPLES, WIDE);
    const gnn_named_t value = {.name = "x", .dense = &in};
    gnn_tape_reset(tape, 1, 1);
    const gnn_var_t result = gnn_model_record(
                        model, tape, &(gnn_model_inputs_t){.values = &value, .n_values = 1}, NULL),
                    loss = gnn_tape_loss(
                        tape, result, &(gnn_loss_t){.kind = GNN_LOSS_MEAN_SQUARED, .targets = &out});
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, loss, NULL));
    ck_ok(gnn_optimizer_step(optimizer, 1));
}

/* Weights learn from one split, the choice from another; each optimiser freezes what is the
 * other's. */
START_TEST(two_optimisers_in_turn_find_the_op)
{
    static gnn_real_t x[2][SAMPLES * WIDE], y[2][SAMPLES * WIDE];
    const gnn_parameter_group_t weights[] = {{.prefix = "a.", .lr_scale = GNN_ZERO}},
                                choice[] = {{.prefix = "", .lr_scale = GNN_ZERO},
                                            {.prefix = "a.", .lr_scale = 1}};
    uint64_t seed = 5 + (uint64_t)_i;
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    gnn_tape_t *tape = NULL;
    gnn_optimizer_t *of_weights = NULL, *of_choice = NULL;
    gnn_tensor_t a, b;
    for (int k = 0; k < 2; k++)
        draw_split(x[k], y[k], &seed);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = seed}));
    ck_ok(gnn_model_from_steps(&model, context, sizeof search / sizeof *search, search));
    ck_ok(gnn_tape_new(&tape, context));
    ck_ok(gnn_optimizer_new(
        &of_weights, context, gnn_model_parameters(model),
        &(gnn_optimizer_config_t){.lr = (gnn_real_t)0.02, .groups = weights, .n_groups = 1}));
    ck_ok(gnn_optimizer_new(
        &of_choice, context, gnn_model_parameters(model),
        &(gnn_optimizer_config_t){.lr = (gnn_real_t)0.05, .groups = choice, .n_groups = 2}));
    ck_ok(gnn_model_field(model, "a.rows", &a, NULL));
    ck_ok(gnn_model_field(model, "B.weight", &b, NULL));
    for (int t = 0; t < 300; t++) {
        const gnn_real_t before = a.data[2];
        search_step(model, tape, x[0], y[0], of_weights);
        ck_assert(a.data[2] == before);
        const gnn_real_t weight = b.data[3];
        search_step(model, tape, x[1], y[1], of_choice);
        ck_assert(b.data[3] == weight);
    }
    const double sum = exp((double)a.data[0]) + exp((double)a.data[1]) + exp((double)a.data[2]);
    ck_assert_double_gt(exp((double)a.data[2]) / sum, 0.8);
    gnn_optimizer_free(of_weights);
    gnn_optimizer_free(of_choice);
    gnn_tape_free(tape);
    gnn_model_free(model);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("signals");
    TCase *t = tcase_create("signals");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, noise_has_its_moments_while_training, 0, 4);
    tcase_add_test(t, draws_follow_the_softmax);
    tcase_add_test(t, wrong_options_are_refused);
    tcase_add_loop_test(t, hard_attention_finds_the_marked_word, 0, 3);
    tcase_add_loop_test(t, two_optimisers_in_turn_find_the_op, 0, 3);
    tcase_add_test(t, terms_are_weights_times_means);
    tcase_add_test(t, wrong_terms_are_refused);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
