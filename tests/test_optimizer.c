/* Optimisers and schedules against their formulas in double, metrics against brute force. */
#include "support.h"

#include <lib/tape/tape.h>

enum {
    A = 35,
    B = 7,
    C = 4,
    ALL = A + B + C
}; /* elements of "0.a" (5 x 7), "1.b" (1 x 7), "1.c" (2 x 2) */

static gnn_context_t *context;

static void open_context(void)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 3}));
}

static void close_context(void)
{
    gnn_context_free(context);
}

static gnn_parameters_t *three_parameters(void)
{
    gnn_parameters_t *p;
    int32_t id;
    ck_ok(gnn_parameters_new(&p));
    ck_ok(gnn_parameters_add(p, "0.a", 5, 7, GNN_INIT_NORMAL, 0.5, 0, 0, &id));
    ck_ok(gnn_parameters_add(p, "1.b", 1, 7, GNN_INIT_NORMAL, 0.5, 0, 0, &id));
    ck_ok(gnn_parameters_add(p, "1.c", 2, 2, GNN_INIT_NORMAL, 0.5, 0, 0, &id));
    ck_ok(gnn_parameters_allocate(p, context));
    return p;
}

/* All values concatenated, without padding. */
static void gather(const gnn_parameters_t *p, int gradients, gnn_real_t *out)
{
    for (int32_t id = 0; id < gnn_parameters_count(p); id++) {
        gnn_tensor_t t = gradients ? gnn_parameters_gradient(p, id) : gnn_parameters_value(p, id);
        for (int64_t k = 0; k < t.rows * t.cols; k++)
            *out++ = gnn__row(&t, k / t.cols)[k % t.cols];
    }
}

static void draw_gradients(gnn_parameters_t *p, uint64_t *state, double size)
{
    for (int32_t id = 0; id < gnn_parameters_count(p); id++) {
        gnn_tensor_t t = gnn_parameters_gradient(p, id);
        for (int64_t k = 0; k < t.rows * t.cols; k++)
            gnn__row(&t, k / t.cols)[k % t.cols] = (gnn_real_t)(size * test_uniform(state));
    }
}

/* One backward pass; "0.a" is read once, twice, or once and through a view; "1.c" is not read. */
static void pass_back(gnn_parameters_t *p, int uses, bool through_view)
{
    gnn_tape_t *tape;
    gnn_real_t *numbers = test_reals(3 * 5, 4);
    gnn_tensor_t x = gnn_tensor(numbers, 3, 5);
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 0);
    gnn_var_t a = gnn_tape_parameter(tape, p, 0), b = gnn_tape_parameter(tape, p, 1),
              in = gnn_tape_input(tape, &x, 0), y = gnn_tape_linear(tape, in, a, b);
    for (int k = 1; k < uses; k++) {
        const gnn_var_t w = through_view ? gnn_tape_view(tape, a, 0, 5, 0, 7) : a;
        y = gnn_tape_add(tape, y, gnn_tape_linear(tape, in, w, b), 1);
    }
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, y, NULL));
    gnn_tape_free(tape);
    free(numbers);
}

/* Memory that holds something else in between is as good as memory that is set to 0. */
START_TEST(zeroed_gradients_read_as_zero)
{
    gnn_real_t once[ALL], twice[ALL], got[ALL];
    int64_t length;
    gnn_parameters_t *p = three_parameters();
    pass_back(p, 1, false);
    gather(p, 1, once);
    pass_back(p, 1, false);
    gather(p, 1, twice);
    for (int k = 0; k < ALL; k++)
        ck_assert_double_eq_tol(twice[k], 2 * once[k], TOLERANCE_OUT);
    gnn_real_t *block = gnn_parameters_block(p, 1, &length);
    for (int uses = 1; uses <= 3; uses++)
        for (int view = 0; view < 2; view++) {
            for (int64_t k = 0; k < length; k++)
                block[k] = 7;
            gnn_parameters_zero_gradients(p);
            pass_back(p, uses, view);
            for (int k = 0; k < 4; k++) /* not requested since */
                ck_assert(block[gnn__parameters_offset(p, 2) + k] == 0);
            gather(p, 1, got);
            for (int k = 0; k < ALL; k++)
                ck_assert_double_eq_tol(got[k], (gnn_real_t)uses * once[k], 10 * TOLERANCE_OUT);
        }
    gnn_parameters_zero_gradients(p);
    gather(p, 1, got);
    for (int k = 0; k < ALL; k++)
        ck_assert(got[k] == 0);
    gnn_parameters_free(p);
}
END_TEST

typedef struct {
    double p[ALL], m[ALL], v[ALL];
    gnn_optimizer_kind_t kind;
    double lr, momentum, decay, clip, beta1, beta2, eps;
    bool nesterov, groups;
    int t;
} reference_t;

/* One step per element, as written in torch.optim. */
static void reference_step(reference_t *r, const gnn_real_t *gradients, double factor)
{
    double norm = 0, scale = 1;
    for (int k = 0; k < ALL; k++)
        norm += (double)gradients[k] * (double)gradients[k];
    if (r->clip > 0 && r->clip / (sqrt(norm) + 1e-6) < 1)
        scale = r->clip / (sqrt(norm) + 1e-6);
    r->t++;
    for (int k = 0; k < ALL; k++) {
        bool second = r->groups && k >= A, frozen = r->groups && k >= A + B;
        double lr = frozen ? 0 : factor * r->lr * (second ? 0.5 : 1), decay = second ? 0 : r->decay;
        double g = scale * (double)gradients[k];
        if (r->kind == GNN_ADAMW)
            r->p[k] -= lr * decay * r->p[k];
        else
            g += decay * r->p[k];
        if (r->kind == GNN_SGD) {
            r->m[k] = r->t == 1 ? g : r->momentum * r->m[k] + g;
            r->p[k] -= lr * (r->nesterov ? g + r->momentum * r->m[k] : r->m[k]);
            continue;
        }
        if (r->kind == GNN_RMSPROP) {
            r->v[k] = r->beta2 * r->v[k] + (1 - r->beta2) * g * g;
            r->p[k] -= lr * g / (sqrt(r->v[k]) + r->eps);
            continue;
        }
        r->m[k] = r->beta1 * r->m[k] + (1 - r->beta1) * g;
        r->v[k] = r->beta2 * r->v[k] + (1 - r->beta2) * g * g;
        double m = r->m[k] / (1 - pow(r->beta1, r->t)), v = r->v[k] / (1 - pow(r->beta2, r->t));
        r->p[k] -= lr * m / (sqrt(v) + r->eps);
    }
}

static const gnn_optimizer_config_t optimizers[] = {
    {.kind = GNN_SGD, .lr = 0.1f},
    {.kind = GNN_SGD, .lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f},
    {.kind = GNN_SGD,
     .lr = 0.05f,
     .momentum = 0.8f,
     .nesterov = GNN_ON,
     .weight_decay = 0.02f,
     .clip_norm = 0.5f},
    {.kind = GNN_ADAM},
    {.kind = GNN_ADAM, .lr = 0.02f, .weight_decay = 0.1f, .beta1 = 0.8f, .beta2 = 0.95f, .eps = 1e-6f},
    {.kind = GNN_ADAMW, .lr = 0.03f, .weight_decay = 0.3f, .clip_norm = 1},
    {.weight_decay = 0.05f, .clip_norm = 1000},
    {.kind = GNN_RMSPROP, .weight_decay = 0.05f},
    {.kind = GNN_RMSPROP, .lr = 0.03f, .beta2 = 0.9f, .eps = 1e-6f, .clip_norm = 0.7f},
};

START_TEST(optimizers_follow_their_formulas)
{
    const gnn_parameter_group_t groups[] = {{"1.", 0.5f, GNN_ZERO}, {"1.c", GNN_ZERO, GNN_ZERO}};
    gnn_optimizer_config_t c = optimizers[_i / 2];
    if (_i % 2) {
        c.groups = groups;
        c.n_groups = 2;
    }
    reference_t r = {.kind = c.kind ? c.kind : GNN_ADAM,
                     .lr = c.lr != 0 ? (double)c.lr : 0.01,
                     .momentum = (double)c.momentum,
                     .decay = (double)c.weight_decay,
                     .clip = (double)c.clip_norm,
                     .beta1 = c.beta1 != 0 ? (double)c.beta1 : 0.9,
                     .beta2 = c.beta2 != 0            ? (double)c.beta2
                              : c.kind == GNN_RMSPROP ? 0.99
                                                      : 0.999,
                     .eps = c.eps != 0 ? (double)c.eps : 1e-8,
                     .nesterov = c.nesterov == GNN_ON,
                     .groups = _i % 2};
    gnn_parameters_t *p = three_parameters();
    gnn_optimizer_t *o;
    gnn_real_t values[ALL], gradients[ALL], expected[ALL];
    uint64_t state = 5;
    gather(p, 0, values);
    for (int k = 0; k < ALL; k++)
        r.p[k] = (double)values[k];
    ck_ok(gnn_optimizer_new(&o, context, p, &c));
    for (int step = 1; step <= 6; step++) {
        double factor = step > 3 ? 0.25 : 1;
        draw_gradients(p, &state, 2);
        gather(p, 1, gradients);
        gnn__fail_allocation(0);
        ck_ok(gnn_optimizer_step(o, factor));
        ck_assert_int_eq(gnn__fail_allocation(0), 0);
        reference_step(&r, gradients, factor);
        gather(p, 0, values);
        for (int k = 0; k < ALL; k++)
            expected[k] = (gnn_real_t)r.p[k];
        double error = test_error(values, expected, ALL);
        ck_assert_msg(error < (GNN_DOUBLE ? 1e-13 : 2e-6), "case %d, step %d: error %g", _i, step,
                      error);
    }
    ck_assert_int_eq(gnn_optimizer_steps(o), 6);
    int64_t length;
    gnn_real_t *block = gnn_parameters_block(p, 0, &length);
    double of_block = 0, of_parameters = 0;
    for (int64_t k = 0; k < length; k++)
        of_block += fabs((double)block[k]);
    for (int k = 0; k < ALL; k++)
        of_parameters += fabs((double)values[k]);
    ck_assert_double_eq_tol(of_block, of_parameters, 1e-9); /* padding is still 0 */
    gnn_optimizer_free(o);
    gnn_parameters_free(p);
}
END_TEST

START_TEST(optimizer_names_a_nan_gradient_and_changes_nothing)
{
    gnn_parameters_t *p = three_parameters();
    gnn_optimizer_t *o;
    gnn_real_t before[ALL], after[ALL];
    uint64_t state = 5;
    ck_ok(gnn_optimizer_new(&o, context, p, NULL));
    draw_gradients(p, &state, 1);
    gnn_tensor_t b = gnn_parameters_gradient(p, 1), c = gnn_parameters_gradient(p, 2);
    gnn__row(&b, 0)[3] = (gnn_real_t)INFINITY;
    gnn__row(&c, 1)[1] = (gnn_real_t)NAN;
    gather(p, 0, before);
    ck_fails(gnn_optimizer_step(o, 1), GNN_ENUMERIC, "gradient of \"1.b\" is inf at row 0, column 3");
    ck_fails(gnn_clip_gradients(p, 1, NULL), GNN_ENUMERIC, "\"1.b\"");
    gather(p, 0, after);
    ck_assert(memcmp(before, after, sizeof before) == 0);
    ck_assert_int_eq(gnn_optimizer_steps(o), 0);
    gnn_optimizer_free(o);
    gnn_parameters_free(p);
}
END_TEST

START_TEST(optimizer_refuses_what_is_out_of_range)
{
    gnn_parameters_t *p = three_parameters();
    gnn_optimizer_t *o;
    const gnn_parameter_group_t unknown = {"7.", 0, 0}, negative = {"1.", -1, 0};
    ck_fails(gnn_optimizer_new(&o, context, p, &(gnn_optimizer_config_t){.lr = -1}), GNN_EINVALID,
             "lr is -1");
    ck_fails(gnn_optimizer_new(&o, context, p, &(gnn_optimizer_config_t){.momentum = (gnn_real_t)0.5}),
             GNN_EINVALID, "Adam reads no momentum");
    ck_fails(gnn_optimizer_new(&o, context, p,
                               &(gnn_optimizer_config_t){.kind = GNN_SGD, .beta1 = (gnn_real_t)0.5}),
             GNN_EINVALID, "SGD reads no beta1");
    ck_fails(
        gnn_optimizer_new(&o, context, p,
                          &(gnn_optimizer_config_t){.kind = GNN_RMSPROP, .beta1 = (gnn_real_t)0.5}),
        GNN_EINVALID, "RMSprop reads no beta1");
    ck_fails(gnn_optimizer_new(&o, context, p, &(gnn_optimizer_config_t){.beta2 = 1}), GNN_EINVALID,
             "beta2");
    ck_fails(gnn_optimizer_new(&o, context, p,
                               &(gnn_optimizer_config_t){.kind = GNN_SGD, .nesterov = GNN_ON}),
             GNN_EINVALID, "nesterov");
    ck_fails(gnn_optimizer_new(&o, context, p,
                               &(gnn_optimizer_config_t){.groups = &unknown, .n_groups = 1}),
             GNN_ENOTFOUND, "begins with \"7.\"");
    ck_fails(gnn_optimizer_new(&o, context, p,
                               &(gnn_optimizer_config_t){.groups = &negative, .n_groups = 1}),
             GNN_EINVALID, "lr_scale -1");
    ck_ok(gnn_optimizer_new(&o, context, p, NULL));
    ck_fails(gnn_optimizer_step(o, NAN), GNN_EINVALID, "lr_factor");
    gnn_optimizer_free(o);
    gnn_parameters_free(p);
}
END_TEST

START_TEST(clipping_only_reduces_the_norm)
{
    gnn_parameters_t *p = three_parameters();
    gnn_real_t before[ALL], after[ALL];
    uint64_t state = 9;
    double norm, sum = 0, now = 0;
    draw_gradients(p, &state, 3);
    gather(p, 1, before);
    for (int k = 0; k < ALL; k++)
        sum += (double)before[k] * (double)before[k];
    ck_ok(gnn_clip_gradients(p, 1000, &norm));
    gather(p, 1, after);
    ck_assert(memcmp(before, after, sizeof before) == 0);
    ck_assert_double_eq_tol(norm, sqrt(sum), 1e-9);
    ck_ok(gnn_clip_gradients(p, (gnn_real_t)0.5, &norm));
    gather(p, 1, after);
    for (int k = 0; k < ALL; k++)
        now += (double)after[k] * (double)after[k];
    ck_assert_double_eq_tol(sqrt(now), 0.5, 1e-6);
    ck_assert_double_eq_tol((double)after[7] / (double)before[7], 0.5 / (sqrt(sum) + 1e-6), 1e-7);
    ck_fails(gnn_clip_gradients(p, 0, NULL), GNN_EINVALID, "max_norm");
    gnn_parameters_free(p);
}
END_TEST

START_TEST(schedules_follow_their_formulas)
{
    gnn_schedule_t constant = {.warmup = 4},
                   steps = {.kind = GNN_SCHEDULE_STEP, .period = 3, .gamma = 0.5};
    gnn_schedule_t linear = {.kind = GNN_SCHEDULE_LINEAR, .period = 10, .warmup = 2};
    gnn_schedule_t cosine = {.kind = GNN_SCHEDULE_COSINE, .period = 10, .warmup = 2, .gamma = 0.1};
    gnn_schedule_t paper = {.kind = GNN_SCHEDULE_WARMUP, .warmup = 4000, .width = 512};
    for (int64_t s = 1; s <= 30; s++) {
        double x = (double)s;
        ck_assert_double_eq_tol(gnn_schedule_factor(&constant, s), s < 4 ? x / 4 : 1, 1e-15);
        ck_assert_double_eq_tol(gnn_schedule_factor(&steps, s), pow(0.5, floor((x - 1) / 3)), 1e-15);
        double t = fmin(fmax(x - 3, 0) / 10, 1);
        ck_assert_double_eq_tol(gnn_schedule_factor(&cosine, s),
                                s <= 2 ? x / 2 : 0.1 + 0.45 * (1 + cos(acos(-1) * t)), 1e-12);
        double p = x * 500;
        ck_assert_double_eq_tol(gnn_schedule_factor(&paper, s * 500),
                                fmin(1 / sqrt(p), p * pow(4000, -1.5)) / sqrt(512), 1e-12);
    }
    ck_assert_double_eq_tol(
        gnn_schedule_factor(&(gnn_schedule_t){.kind = GNN_SCHEDULE_STEP, .period = 1}, 3), 0.01,
        1e-15);
    ck_assert_double_eq(gnn_schedule_factor(&(gnn_schedule_t){0}, 1000), 1);
    ck_assert_double_eq_tol(gnn_schedule_factor(&linear, 1), 0.5, 1e-12);
    ck_assert_double_eq_tol(gnn_schedule_factor(&linear, 3), 1, 1e-12);
    ck_assert_double_eq_tol(gnn_schedule_factor(&linear, 6), 0.7, 1e-12);
    ck_assert_double_eq_tol(gnn_schedule_factor(&linear, 99), 0, 1e-12);
}
END_TEST

/* ---- metrics ---- */

START_TEST(metrics_equal_brute_force)
{
    enum { N = 120, CLASSES = 2 };
    gnn_real_t scores[N * CLASSES];
    int32_t labels[N];
    uint8_t mask[N];
    uint64_t state = 17 + (uint64_t)_i;
    int64_t counted = 0, right = 0, tp[2] = {0}, fp[2] = {0}, fn[2] = {0};
    double pairs = 0, won = 0;
    for (int r = 0; r < N; r++) { /* few levels: many ties */
        scores[2 * r] = (gnn_real_t)floor(3 * test_uniform(&state));
        scores[2 * r + 1] = (gnn_real_t)floor(3 * test_uniform(&state));
        labels[r] = test_uniform(&state) < -0.8 ? -1 : test_uniform(&state) < 0.2;
        mask[r] = test_uniform(&state) < 0.5;
    }
    for (int r = 0; r < N; r++) {
        if (!mask[r] || labels[r] < 0)
            continue;
        int32_t p = scores[2 * r + 1] > scores[2 * r];
        counted++;
        right += p == labels[r];
        tp[p] += p == labels[r];
        fp[p] += p != labels[r];
        fn[labels[r]] += p != labels[r];
        for (int s = 0; s < N; s++) {
            if (!mask[s] || labels[s] != 0 || labels[r] != 1)
                continue;
            double d = (double)(scores[2 * r + 1] - scores[2 * r]) -
                       (double)(scores[2 * s + 1] - scores[2 * s]);
            pairs++;
            won += d > 0 ? 1 : d == 0 ? 0.5 : 0;
        }
    }
    gnn_tensor_t logits = gnn_tensor(scores, N, CLASSES);
    double f1 = 0;
    for (int c = 0; c < 2; c++)
        f1 += (double)tp[c] / ((double)tp[c] + 0.5 * (double)(fp[c] + fn[c])) / 2;
    ck_assert_double_eq_tol(gnn_metric(GNN_METRIC_ACCURACY, &logits, labels, mask),
                            (double)right / (double)counted, 1e-15);
    ck_assert_double_eq_tol(gnn_metric(GNN_METRIC_MACRO_F1, &logits, labels, mask), f1, 1e-14);
    ck_assert_double_eq_tol(gnn_metric(GNN_METRIC_ROC_AUC, &logits, labels, mask), won / pairs,
                            1e-14);
}
END_TEST

START_TEST(metrics_of_odd_inputs)
{
    const gnn_real_t nan = (gnn_real_t)NAN;
    gnn_real_t scores[] = {nan, nan, nan, 1, 2, nan, 0, 5, 5, 0};
    int32_t labels[] = {0, 1, 0, 1, 1}, none[] = {-1, -1, -1, -1, -1};
    gnn_tensor_t two = gnn_tensor(scores, 5, 2), one = gnn_tensor((gnn_real_t[]){-1, 2, 3, -2}, 4, 1);
    ck_assert_double_eq(gnn_metric(GNN_METRIC_ACCURACY, &two, labels, NULL),
                        0.6); /* rows of NaN predict nothing; the last row is wrong */
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ROC_AUC, &two, labels, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ACCURACY, &two, none, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_MACRO_F1, &two, none, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ROC_AUC, &two, none, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ACCURACY, &two, labels, (const uint8_t[5]){0}));
    ck_assert_double_eq(gnn_metric(GNN_METRIC_ACCURACY, &one, (const int32_t[]){0, 1, 0, 0}, NULL),
                        0.75); /* one column is the logit of class 1 */
    ck_assert_double_eq(gnn_metric(GNN_METRIC_ROC_AUC, &one, (const int32_t[]){0, 1, 0, 0}, NULL),
                        2.0 / 3);
    /* Three classes, one of which neither occurs nor is predicted: two count. */
    gnn_tensor_t three = gnn_tensor((gnn_real_t[]){9, 0, 0, 0, 9, 0, 0, 9, 0}, 3, 3);
    ck_assert_double_eq_tol(
        gnn_metric(GNN_METRIC_MACRO_F1, &three, (const int32_t[]){0, 1, 0}, NULL), 2.0 / 3, 1e-15);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer");
    TCase *c = tcase_create("optimizer");
    tcase_add_checked_fixture(c, open_context, close_context);
    tcase_add_loop_test(c, optimizers_follow_their_formulas, 0,
                        2 * (int)(sizeof optimizers / sizeof *optimizers));
    tcase_add_test(c, zeroed_gradients_read_as_zero);
    tcase_add_test(c, optimizer_names_a_nan_gradient_and_changes_nothing);
    tcase_add_test(c, optimizer_refuses_what_is_out_of_range);
    tcase_add_test(c, clipping_only_reduces_the_norm);
    tcase_add_test(c, schedules_follow_their_formulas);
    tcase_add_loop_test(c, metrics_equal_brute_force, 0, 20);
    tcase_add_test(c, metrics_of_odd_inputs);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
