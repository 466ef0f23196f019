/* SAC: Li et al. 2020. An LSTM names the senders of each receiver one by one, attention runs over
 * these edges alone, and the LSTM learns by the score function, rewarded by the task.
 *
 *     s_0 = LSTM(x_i, 0)    s_t = LSTM(x_j(t-1), s_t-1)    s_t = [h_t | c_t]
 *     p_t = softmax over j of h_t . (K x_j)                 j(t) drawn from p_t
 *     y_i = W [sum over t of softmax over t (q_i . k_j(t) / sqrt(d)) v_j(t)]
 *     L = -log p(right) - F sum over t of (R_i - mean R) log p_t[j(t)],   R_i = p(right)
 *
 * There is no published reference to compare values with: the oracle here is the formula in double
 * precision, whose differences give the gradients. */
#include "support.h"

enum {
    SEQUENCES = 48,
    WORDS = 6,
    ROWS = SEQUENCES * WORDS,
    VALUES = 3,
    ANSWERS = 2 * VALUES - 1,
    D = VALUES + 3,
    STATE = 12,
    HEAD = 8,
    HIDDEN = 16,
    EDGES = 2
};
#define WEIGHT 4.0 /* F */

/* ---- a task that needs two edges ---- */

/* Each word has a value; one word carries mark A, another one mark B. The label of every word is
 * the sum of the values of these two. */
typedef struct {
    gnn_real_t words[ROWS * D], near[ROWS * WORDS], answers[ROWS * ANSWERS];
    int32_t labels[ROWS], marked[ROWS][EDGES];
    gnn_tensor_t x, ids, truth;
    gnn_graph_t *graph;
    gnn_named_t values[3];
} task_t;

static void make_task(task_t *t, uint64_t seed)
{
    const int64_t all = ROWS;
    memset(t, 0, sizeof *t);
    for (int s = 0; s < SEQUENCES; s++) {
        int value[WORDS];
        const int a = (int)test_below(&seed, WORDS),
                  b = (a + 1 + (int)test_below(&seed, WORDS - 1)) % WORDS;
        for (int w = 0; w < WORDS; w++) {
            gnn_real_t *word = t->words + (s * WORDS + w) * D;
            value[w] = (int)test_below(&seed, VALUES);
            for (int c = 0; c < D; c++)
                word[c] = (gnn_real_t)(0.1 * test_uniform(&seed));
            word[value[w]] += 1;
            word[VALUES] += w == a;
            word[VALUES + 1] += w == b;
        }
        for (int w = 0; w < WORDS; w++) {
            const int row = s * WORDS + w;
            t->labels[row] = value[a] + value[b];
            t->answers[row * ANSWERS + t->labels[row]] = 1;
            t->marked[row][0] = s * WORDS + a;
            t->marked[row][1] = s * WORDS + b;
            for (int j = 0; j < WORDS; j++)
                t->near[row * WORDS + j] = (gnn_real_t)(s * WORDS + j);
        }
    }
    t->x = gnn_tensor(t->words, ROWS, D);
    t->ids = gnn_tensor(t->near, ROWS, WORDS);
    t->truth = gnn_tensor(t->answers, ROWS, ANSWERS);
    ck_ok(gnn_graph_complete(&t->graph, 1, &all));
    t->values[0] = (gnn_named_t){.name = "x", .dense = &t->x};
    t->values[1] = (gnn_named_t){.name = "near", .dense = &t->ids};
    t->values[2] = (gnn_named_t){.name = "truth", .dense = &t->truth};
}

/* ---- the model ---- */

#define LINEAR(NAME, X, IN, OUT)                                                   \
    {                                                                              \
        .kind = GNN_STEP_LINEAR, .name = NAME, .inputs = {X}, .in = IN, .out = OUT \
    }
#define PLAIN(NAME, X, IN, OUT)                                                                     \
    {                                                                                               \
        .kind = GNN_STEP_LINEAR, .name = NAME, .inputs = {X}, .in = IN, .out = OUT, .bias = GNN_OFF \
    }
#define OP(NAME, OP_, ...)                                                                \
    {                                                                                     \
        .kind = GNN_STEP_OP, .name = NAME, .op = &gnn_op_##OP_, .inputs = { __VA_ARGS__ } \
    }
/* From the state "s" T: the edge T, its sender's id and log-probability. */
#define EDGE(T)                                                                              \
    {.kind = GNN_STEP_VIEW, .name = "h" T, .inputs = {"s" T}, .columns = STATE},             \
        OP("logits" T, score_rows, "h" T, "K", "near"), OP("edge" T, draw, "logits" T),      \
        OP("sender" T, pick_columns, "near", "edge" T), OP("p" T, softmax_rows, "logits" T), \
        OP("log" T, log, "p" T), OP("log p" T, pick_columns, "log" T, "edge" T)

static const gnn_step_t sac[] = {
    PLAIN("K", "x", D, STATE),
    LINEAR("W", "x", D, 4 * STATE),
    OP("s0", lstm_cell, "W"),
    EDGE("0"),
    OP("x1", gather_rows, "x", "sender0"),
    {.kind = GNN_STEP_LINEAR, .name = "W1", .inputs = {"x1"}, .in = D, .out = 4 * STATE, .share = "W"},
    PLAIN("U", "h0", STATE, 4 * STATE),
    {.kind = GNN_STEP_ADD, .name = "gates1", .inputs = {"W1", "U"}},
    OP("s1", lstm_cell, "gates1", "s0"),
    EDGE("1"),
    {.kind = GNN_STEP_CONCAT, .name = "senders", .inputs = {"sender0", "sender1"}},
    PLAIN("q", "x", D, HEAD),
    PLAIN("k", "x", D, HEAD),
    PLAIN("v", "x", D, HEAD),
    OP("products", score_rows, "q", "k", "senders"),
    {.kind = GNN_STEP_SCALE, .name = "scores", .factor = (gnn_real_t)0.35355339059327373},
    OP("w", softmax_rows, "scores"),
    OP("attended", weigh_rows, "w", "v", "senders"),
    LINEAR("hidden", "attended", HEAD, HIDDEN),
    {.kind = GNN_STEP_ACTIVATION, .name = "active", .activation = GNN_TANH},
    LINEAR("answer", "active", HIDDEN, ANSWERS),
    OP("p", softmax_rows, "answer"),
    {.kind = GNN_STEP_MULTIPLY, .name = "right", .inputs = {"p", "truth"}},
    {.kind = GNN_STEP_OP, .name = "p right", .op = &gnn_op_head_sum, .options = {1}},
    {.kind = GNN_STEP_AGGREGATE,
     .name = "baseline",
     .inputs = {"p right"},
     .layer = {.in = 1, .aggregator = &gnn_aggregator_mean}},
    {.kind = GNN_STEP_ADD, .name = "better", .inputs = {"p right", "baseline"}, .factor = -1},
    {.kind = GNN_STEP_DETACH, .name = "reward"},
    {.kind = GNN_STEP_ADD, .name = "log p", .inputs = {"log p0", "log p1"}},
    {.kind = GNN_STEP_MULTIPLY, .name = "score", .inputs = {"log p", "reward"}},
    {.kind = GNN_STEP_SCALE, .name = "y", .inputs = {"answer"}}};
enum { STEPS = sizeof sac / sizeof *sac };

static gnn_model_inputs_t inputs_of(task_t *t)
{
    return (gnn_model_inputs_t){(const gnn_graph_t *const *)&t->graph, 1, t->values, 3};
}

/* ---- the oracle ---- */

enum { KEYS, GATES, GATES_BIAS, BACK, Q, K, V, HIDE, HIDE_BIAS, ANSWER, ANSWER_BIAS, FIELDS };
static const struct {
    const char *name;
    int rows, cols;
} fields[FIELDS] = {{"K.weight", D, STATE},     {"W.weight", D, 4 * STATE},
                    {"W.bias", 1, 4 * STATE},   {"U.weight", STATE, 4 * STATE},
                    {"q.weight", D, HEAD},      {"k.weight", D, HEAD},
                    {"v.weight", D, HEAD},      {"hidden.weight", HEAD, HIDDEN},
                    {"hidden.bias", 1, HIDDEN}, {"answer.weight", HIDDEN, ANSWERS},
                    {"answer.bias", 1, ANSWERS}};

typedef struct {
    const task_t *t;
    double *at[FIELDS];
    int senders[ROWS][EDGES]; /* decisions and rewards stay those of the model */
    double reward[ROWS];
} oracle_t;

/* y += x W, W (n x m) */
static void product(const double *x, const double *w, int n, int m, double *y)
{
    for (int k = 0; k < n; k++)
        for (int c = 0; c < m; c++)
            y[c] += x[k] * w[k * m + c];
}

static void word_of(const oracle_t *o, int row, double *x)
{
    for (int c = 0; c < D; c++)
        x[c] = (double)o->t->words[row * D + c];
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void lstm(const oracle_t *o, int row, double *h, double *c)
{
    double x[D], gates[4 * STATE];
    word_of(o, row, x);
    memcpy(gates, o->at[GATES_BIAS], sizeof gates);
    product(x, o->at[GATES], D, 4 * STATE, gates);
    product(h, o->at[BACK], STATE, 4 * STATE, gates);
    for (int k = 0; k < STATE; k++) {
        c[k] = sigmoid(gates[STATE + k]) * c[k] + sigmoid(gates[k]) * tanh(gates[2 * STATE + k]);
        h[k] = sigmoid(gates[3 * STATE + k]) * tanh(c[k]);
    }
}

/* log softmax of n values, at one of them. */
static double log_share(const double *x, int n, int at)
{
    double most = x[0], sum = 0;
    for (int k = 1; k < n; k++)
        most = fmax(most, x[k]);
    for (int k = 0; k < n; k++)
        sum += exp(x[k] - most);
    return x[at] - most - log(sum);
}

/* Sum over the edges of log p. */
static double log_edges(const oracle_t *o, int row)
{
    double h[STATE] = {0}, c[STATE] = {0}, sum = 0;
    const int first = row / WORDS * WORDS;
    for (int e = 0; e < EDGES; e++) {
        double logits[WORDS];
        lstm(o, e == 0 ? row : o->senders[row][e - 1], h, c);
        for (int j = 0; j < WORDS; j++) {
            double x[D], key[STATE] = {0};
            word_of(o, first + j, x);
            product(x, o->at[KEYS], D, STATE, key);
            logits[j] = 0;
            for (int k = 0; k < STATE; k++)
                logits[j] += h[k] * key[k];
        }
        sum += log_share(logits, WORDS, o->senders[row][e] - first);
    }
    return sum;
}

static double log_right(const oracle_t *o, int row)
{
    double x[D], q[HEAD] = {0}, scores[EDGES] = {0}, out[HEAD] = {0}, v[EDGES][HEAD] = {{0}},
                 hidden[HIDDEN], answer[ANSWERS];
    word_of(o, row, x);
    product(x, o->at[Q], D, HEAD, q);
    for (int e = 0; e < EDGES; e++) {
        double key[HEAD] = {0};
        word_of(o, o->senders[row][e], x);
        product(x, o->at[K], D, HEAD, key);
        product(x, o->at[V], D, HEAD, v[e]);
        for (int k = 0; k < HEAD; k++)
            scores[e] += q[k] * key[k] / sqrt(HEAD);
    }
    for (int e = 0; e < EDGES; e++)
        for (int k = 0; k < HEAD; k++)
            out[k] += exp(log_share(scores, EDGES, e)) * v[e][k];
    memcpy(hidden, o->at[HIDE_BIAS], sizeof hidden);
    product(out, o->at[HIDE], HEAD, HIDDEN, hidden);
    for (int k = 0; k < HIDDEN; k++)
        hidden[k] = tanh(hidden[k]);
    memcpy(answer, o->at[ANSWER_BIAS], sizeof answer);
    product(hidden, o->at[ANSWER], HIDDEN, ANSWERS, answer);
    return log_share(answer, ANSWERS, o->t->labels[row]);
}

/* L, the sum over some rows. */
enum { CHECKED = 2 * WORDS };
static double loss(const oracle_t *o)
{
    double sum = 0;
    for (int row = 0; row < CHECKED; row++)
        sum -= log_right(o, row) + WEIGHT * o->reward[row] * log_edges(o, row);
    return sum;
}

/* ---- tests ---- */

static double element(const gnn_tensor_t *x, int k, int cols)
{
    return (double)x->data[k / cols * x->stride + k % cols];
}

/* Gradients of L on the rows that the oracle takes. */
static void model_gradients(const gnn_model_t *model, gnn_context_t *context, task_t *t)
{
    static gnn_real_t d_out[ROWS];
    const gnn_model_inputs_t inputs = inputs_of(t);
    const gnn_tensor_t d = gnn_tensor(d_out, ROWS, 1);
    gnn_tape_t *tape;
    for (int row = 0; row < ROWS; row++)
        d_out[row] = row < CHECKED;
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 0);
    gnn_parameters_zero_gradients(gnn_model_parameters(model));
    const gnn_var_t root = gnn_model_record(model, tape, &inputs, NULL);
    gnn_tape_keep(tape, root);
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, root, &d));
    gnn_tape_free(tape);
}

static void read_decisions(oracle_t *o, const gnn_model_t *model, gnn_context_t *context, task_t *t)
{
    static gnn_real_t senders[ROWS * EDGES], reward[ROWS];
    const gnn_model_inputs_t inputs = inputs_of(t);
    const gnn_tensor_t ids = gnn_tensor(senders, ROWS, EDGES), r = gnn_tensor(reward, ROWS, 1);
    ck_ok(gnn_model_value(model, context, &inputs, "senders", &ids));
    ck_ok(gnn_model_value(model, context, &inputs, "reward", &r));
    for (int row = 0; row < ROWS; row++) {
        o->reward[row] = (double)reward[row];
        for (int e = 0; e < EDGES; e++)
            o->senders[row][e] = (int)senders[row * EDGES + e];
    }
}

START_TEST(values_and_gradients_match_the_formula)
{
    static task_t t;
    static oracle_t o;
    static gnn_real_t total[ROWS];
    static double room[FIELDS][D * 4 * STATE + STATE * 4 * STATE];
    gnn_step_t steps[STEPS + 3];
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    memcpy(steps, sac, sizeof sac);
    steps[STEPS] = (gnn_step_t)OP("log right", log, "p right");
    steps[STEPS + 1] = (gnn_step_t){.kind = GNN_STEP_ADD,
                                    .name = "sum",
                                    .inputs = {"log right", "score"},
                                    .factor = (gnn_real_t)WEIGHT};
    steps[STEPS + 2] = (gnn_step_t){.kind = GNN_STEP_SCALE, .name = "loss", .factor = -1};
    make_task(&t, 11);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 4}));
    ck_ok(gnn_model_from_steps(&model, context, STEPS + 3, steps));
    ck_ok(gnn_model_prepare(model, 0, t.graph, GNN_ON));
    const gnn_model_inputs_t inputs = inputs_of(&t);
    const gnn_tensor_t out = gnn_tensor(total, ROWS, 1);
    o.t = &t;
    read_decisions(&o, model, context, &t);
    for (int f = 0; f < FIELDS; f++) {
        gnn_tensor_t value;
        ck_ok(gnn_model_field(model, fields[f].name, &value, NULL));
        ck_assert_int_eq(value.rows * value.cols, fields[f].rows * fields[f].cols);
        o.at[f] = room[f];
        for (int k = 0; k < fields[f].rows * fields[f].cols; k++)
            room[f][k] = element(&value, k, fields[f].cols);
    }
    ck_ok(gnn_model_value(model, context, &inputs, "loss", &out));
    double sum = 0;
    for (int row = 0; row < CHECKED; row++)
        sum += (double)total[row];
    ck_assert_double_eq_tol(sum, loss(&o), 1e-4);
    model_gradients(model, context, &t);
    double worst = 0, largest = 0;
    for (int f = 0; f < FIELDS; f++) {
        gnn_tensor_t gradient;
        ck_ok(gnn_model_field(model, fields[f].name, NULL, &gradient));
        for (int k = 0; k < fields[f].rows * fields[f].cols; k++) {
            const double x = room[f][k], h = 1e-5;
            room[f][k] = x + h;
            const double up = loss(&o);
            room[f][k] = x - h;
            const double expected = (up - loss(&o)) / (2 * h);
            room[f][k] = x;
            const double got = element(&gradient, k, fields[f].cols);
            worst = fmax(worst, fabs(got - expected));
            largest = fmax(largest, fabs(expected));
        }
    }
    printf("SAC: gradients differ by at most %.2g of %.3g\n", worst, largest);
    ck_assert_double_lt(worst, 1e-4 * largest);
    gnn_model_free(model);
    gnn_context_free(context);
    gnn_graph_free(t.graph);
}
END_TEST

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    task_t *t = user;
    (void)part;
    (void)epoch;
    (void)index;
    batch->inputs = inputs_of(t);
    batch->loss = (gnn_loss_t){.kind = GNN_LOSS_CROSS_ENTROPY, .labels = t->labels};
    return GNN_OK;
}

/* Shares of the words of unseen sequences that are answered right, and whose two edges are those of
 * the marked words. */
typedef struct {
    double right, found;
} shares_t;

static shares_t measure(const gnn_model_t *model, gnn_context_t *context, task_t *t)
{
    static gnn_real_t y[ROWS * ANSWERS];
    static oracle_t o;
    const gnn_model_inputs_t inputs = inputs_of(t);
    const gnn_tensor_t out = gnn_tensor(y, ROWS, ANSWERS);
    shares_t s = {0, 0};
    read_decisions(&o, model, context, t);
    ck_ok(gnn_model_value(model, context, &inputs, "y", &out));
    for (int row = 0; row < ROWS; row++) {
        const int a = t->marked[row][0], b = t->marked[row][1], *e = o.senders[row];
        int best = 0;
        for (int c = 1; c < ANSWERS; c++)
            best = y[row * ANSWERS + c] > y[row * ANSWERS + best] ? c : best;
        s.right += best == t->labels[row] ? 1.0 / ROWS : 0;
        s.found += (e[0] == a && e[1] == b) || (e[0] == b && e[1] == a) ? 1.0 / ROWS : 0;
    }
    return s;
}

static shares_t train(uint64_t seed, const gnn_loss_term_t *terms, int64_t n_terms)
{
    static task_t t, unseen;
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    make_task(&t, 7 * seed + 1);
    make_task(&unseen, 1000 + seed);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = seed}));
    ck_ok(gnn_model_from_steps(&model, context, STEPS, sac));
    ck_ok(gnn_model_prepare(model, 0, t.graph, GNN_ON));
    ck_ok(gnn_model_prepare(model, 0, unseen.graph, GNN_ON));
    const gnn_source_t source = {.get = get, .count = {1, 0, 0}, .user = &t, .fixed = GNN_ON};
    const gnn_train_config_t config = {
        .epochs = 600, .optimizer = {.lr = (gnn_real_t)0.02}, .terms = terms, .n_terms = n_terms};
    ck_ok(gnn_train_batches(model, context, &source, &config, NULL));
    const shares_t shares = measure(model, context, &unseen);
    gnn_model_free(model);
    gnn_context_free(context);
    gnn_graph_free(t.graph);
    gnn_graph_free(unseen.graph);
    return shares;
}

START_TEST(edges_are_learned_by_reward)
{
    const gnn_loss_term_t reinforce = {"score", (gnn_real_t)-WEIGHT};
    const shares_t with = train((uint64_t)_i + 1, &reinforce, 1),
                   without = train((uint64_t)_i + 1, NULL, 0);
    printf("SAC seed %d: both marked words found in %.3f, right %.3f; without the term %.3f, %.3f\n",
           _i + 1, with.found, with.right, without.found, without.right);
    ck_assert_double_gt(with.found, 0.9);
    ck_assert_double_gt(with.right, 0.9);
    ck_assert_double_lt(without.found, 0.5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sac");
    TCase *t = tcase_create("sac");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, values_and_gradients_match_the_formula);
    tcase_add_loop_test(t, edges_are_learned_by_reward, 0, 3);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
