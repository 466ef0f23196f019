/* Gradients of published models: against those of transformers in the arrays of saved folders, and
 * against differences where the package has the model no longer. */
#include "pretrained_trial.h"
#include "published.h"

#include <lib/data/arrays/arrays.h>
#include <time.h>

static const char *const trained[] = {
    "bert_masked",      "longt5_global",      "longt5_global_plain", "pegasus_x",
    "pegasus_x_even",   "poolformer_classes", "poolformer_plain",    "poolformer_wide",
    "perceiver_masked", "perceiver_classes",  "perceiver_pixels",    "funnel_masked",
    "funnel_classes",   "funnel_tags",        "funnel_replaced",     "convbert_masked",
    "reformer_trained"};

/* Gradients of the sum of the logits, or else hidden states, each times the cosine of its index.
 * Returns the bytes of the tape. */
static size_t run_backward(trial_t *t)
{
    const gnn_model_t *model = gnn_pretrained_model(t->p);
    const int64_t logits = gnn_model_find(model, "logits"),
                  step = logits >= 0 ? logits : gnn_model_find(model, "hidden");
    gnn_var_t *outputs = keep(t, calloc((size_t)gnn_model_step_count(model), sizeof *outputs));
    gnn_tape_t *tape;
    ck_ok(gnn_tape_new(&tape, t->context));
    gnn_tape_reset(tape, 1, 0);
    gnn_parameters_zero_gradients(gnn_model_parameters(model));
    gnn_model_record_all(model, tape, gnn_pretrained_batch_inputs(t->batch), NULL, outputs);
    const gnn_var_t root = outputs[step];
    gnn_tape_keep(tape, root);
    const int64_t rows = gnn_tape_rows(tape, root), cols = gnn_tape_cols(tape, root);
    gnn_real_t *d = keep(t, malloc((size_t)(rows * cols + 1) * sizeof *d));
    const gnn_tensor_t d_root = gnn_tensor(d, rows, cols);
    for (int64_t k = 0; k < rows * cols; k++)
        d[k] = (gnn_real_t)cos((double)k);
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, root, &d_root));
    const size_t bytes = gnn_tape_bytes(tape);
    gnn_tape_free(tape);
    return bytes;
}

/* The batch anew, for gradients. */
static void batch_for_training(trial_t *t)
{
    gnn_pretrained_batch_free(t->batch);
    ck_ok(gnn_pretrained_batch_new_with(&t->batch, t->p, &t->sequences,
                                        &(gnn_pretrained_batch_config_t){.backward = GNN_ON}));
}

/* Puts gradients in place of values; with `constants`, not in fields without a gradient. */
static void put_gradients(const gnn_model_t *model, bool constants)
{
    for (int64_t f = 0; f < gnn_model_field_count(model); f++) {
        gnn_tensor_t value, gradient;
        bool any = !constants;
        ck_ok(gnn_model_field(model, gnn_model_field_name(model, f), &value, &gradient));
        for (int64_t k = 0; k < value.rows * value.cols; k++)
            any |= gradient.data[k / value.cols * gradient.stride + k % value.cols] != 0;
        for (int64_t r = 0; any && r < value.rows; r++)
            memcpy(value.data + r * value.stride, gradient.data + r * gradient.stride,
                   (size_t)value.cols * sizeof *value.data);
    }
}

/* Reformer's folder cannot hold other constants than those of its config. */
static bool has_constants(const char *name)
{
    return strncmp(name, "reformer", 8) == 0;
}

static double largest_of(const gnn_array_t *a)
{
    double most = 0;
    for (int64_t k = 0; k < a->count; k++)
        most = fmax(most, fabs(gnn_array_get(a, k)));
    return most;
}

/* Gradients stand in the arrays of a saved folder as the weights do that they are of. */
START_TEST(gradients_match_transformers)
{
    trial_t t;
    char path[1400];
    gnn_arrays_t *expected, *saved;
    int64_t compared = 0;
    double worst = 0, largest = 0;
    snprintf(path, sizeof path, "%s/gradients.safetensors", trained[_i]);
    const char *file = test_checkpoint(path);
    if (!file) {
        test_leave_out(trained[_i], "tests/transformers/make.py has not made its gradients");
        return;
    }
    ck_ok(gnn_safetensors_read(&expected, file, NULL));
    ck_assert(trial_open(&t, trained[_i]));
    trial_batch(&t);
    batch_for_training(&t);
    run_backward(&t);
    put_gradients(gnn_pretrained_model(t.p), has_constants(trained[_i]));
    make_folder();
    ck_ok(gnn_pretrained_save(t.p, test_folder));
    ck_ok(gnn_safetensors_read(&saved, in_folder("model.safetensors"), NULL));
    for (int64_t k = 0; k < expected->count; k++)
        largest = fmax(largest, largest_of(gnn_arrays_at(expected, k)));
    for (int64_t k = 0; k < expected->count; k++) {
        const gnn_array_t *theirs = gnn_arrays_at(expected, k),
                          *ours = gnn_arrays_find(saved, theirs->name);
        const double most = fmax(largest_of(theirs), 1e-2 * largest);
        double error = 0;
        if (!ours || (has_constants(trained[_i]) && largest_of(theirs) == 0))
            continue;
        ck_assert_int_eq(ours->count, theirs->count);
        for (int64_t i = 0; i < theirs->count; i++)
            error = fmax(error, fabs(gnn_array_get(theirs, i) - gnn_array_get(ours, i)));
        ck_assert_msg(error <= 1e-4 * most, "%s: the gradient of %s differs by %g of %g",
                      trained[_i], theirs->name, error, most);
        worst = fmax(worst, error / most);
        compared++;
    }
    printf("%s: gradients of %lld arrays of %lld, differences of at most %.2g\n", trained[_i],
           (long long)compared, (long long)expected->count, worst);
    ck_assert_int_gt(compared, expected->count / 2);
    gnn_arrays_free(expected);
    gnn_arrays_free(saved);
    clear_folder(test_folder);
    remove_folder();
    trial_close(&t);
}
END_TEST

/* Models that the package has no longer. Feed-forward blocks of Transformer-XL have ReLUs, whose
 * corners bound what differences in float can show. */
static const struct {
    const char *name;
    double bound;
} differed[] = {{"zoo/models/mega", 1e-4},
                {"zoo/models/mega_chunked", 1e-4},
                {"zoo/models/transfo_xl", 1e-3},
                {"zoo/models/rwkv", 1e-4}};

/* The sum whose gradients run_backward gives. */
static double cosine_sum(const trial_t *t, gnn_real_t *values, int64_t count, int64_t cols)
{
    const gnn_model_t *model = gnn_pretrained_model(t->p);
    const char *name = gnn_model_find(model, "logits") >= 0 ? "logits" : "hidden";
    const gnn_tensor_t out = gnn_tensor(values, count / cols, cols);
    double sum = 0;
    ck_ok(gnn_model_value(model, t->context, gnn_pretrained_batch_inputs(t->batch), name, &out));
    for (int64_t k = 0; k < count; k++)
        sum += (double)values[k] * cos((double)k);
    return sum;
}

/* Moves a field by `far` along its gradient, of this length. */
static void move(const gnn_tensor_t *value, const gnn_tensor_t *gradient, double far)
{
    for (int64_t r = 0; r < value->rows; r++)
        for (int64_t c = 0; c < value->cols; c++)
            value->data[r * value->stride + c] +=
                (gnn_real_t)(far * (double)gradient->data[r * gradient->stride + c]);
}

static double length_of(const gnn_tensor_t *x)
{
    double sum = 0;
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            sum += (double)x->data[r * x->stride + c] * (double)x->data[r * x->stride + c];
    return sqrt(sum);
}

/* Along its own gradient g a field changes the sum by |g| per length. Of some lengths one is right:
 * shorter ones are rounded, along longer ones the sum bends, and ReLUs have corners. */
START_TEST(gradients_match_differences)
{
    enum { POINTS = 4, LENGTHS = 5 };
    static const double lengths[LENGTHS] = {3e-2, 1e-2, 5e-3, 2e-3, 1e-3},
                        at[POINTS] = {-2, -1, 1, 2}, weight[POINTS] = {1, -8, 8, -1};
    trial_t t;
    double worst = 0, largest = 0;
    if (!trial_open(&t, differed[_i].name))
        return;
    trial_batch(&t);
    const gnn_model_t *model = gnn_pretrained_model(t.p);
    batch_for_training(&t);
    const int64_t logits = gnn_model_find(model, "logits"),
                  cols =
                      gnn_model_width(model, logits >= 0 ? logits : gnn_model_find(model, "hidden")),
                  count = array(&t, logits >= 0 ? "logits" : "hidden")->count;
    gnn_real_t *values = keep(&t, malloc((size_t)count * sizeof *values));
    run_backward(&t);
    for (int64_t f = 0; f < gnn_model_field_count(model); f++) {
        gnn_tensor_t gradient;
        ck_ok(gnn_model_field(model, gnn_model_field_name(model, f), NULL, &gradient));
        largest = fmax(largest, length_of(&gradient));
    }
    for (int64_t f = 0; f < gnn_model_field_count(model); f++) {
        gnn_tensor_t value, gradient;
        double least = INFINITY;
        ck_ok(gnn_model_field(model, gnn_model_field_name(model, f), &value, &gradient));
        const double g = length_of(&gradient);
        for (int l = 0; g > 0 && l < LENGTHS; l++) {
            const double far = lengths[l] * (GNN_DOUBLE ? 0.1 : 1);
            double slope = 0;
            for (int k = 0; k < POINTS; k++) {
                move(&value, &gradient, at[k] * far / g);
                slope += weight[k] * cosine_sum(&t, values, count, cols) / (12 * far);
                move(&value, &gradient, -at[k] * far / g);
            }
            least = fmin(least, fabs(slope - g) / fmax(g, 0.1 * largest));
        }
        ck_assert_msg(g == 0 || least < differed[_i].bound,
                      "%s: along its gradient %s changes otherwise by %g", differed[_i].name,
                      gnn_model_field_name(model, f), least);
        worst = g == 0 ? worst : fmax(worst, least);
    }
    printf("%s: gradients of %lld fields, differences of at most %.2g\n", differed[_i].name,
           (long long)gnn_model_field_count(model), worst);
    trial_close(&t);
}
END_TEST

/* A window and the sums of blocks, both spans with a table each: no array has a row per pair, of
 * which four times the tokens have 16 times as many. */
START_TEST(memory_of_blocks_grows_with_tokens)
{
    enum { SIZES = 3, LEAST = 512, VOCABULARY = 41 };
    double bytes[SIZES];
    trial_t t;
    if (!trial_open(&t, "zoo/models/longt5_global"))
        return;
    int32_t *ids = keep(&t, malloc(sizeof *ids * (LEAST << SIZES)));
    for (int k = 0; k < LEAST << SIZES; k++)
        ids[k] = 2 + 7 * k % (VOCABULARY - 2);
    for (int k = 0; k < SIZES; k++) {
        const int64_t length = LEAST << k;
        t.sequences = (gnn_sequences_t){.count = 1, .lengths = &length, .ids = ids};
        batch_for_training(&t);
        const clock_t start = clock();
        bytes[k] = (double)run_backward(&t);
        printf("longt5_global: %lld tokens, %.0f bytes per token, %.3g s\n", (long long)length,
               bytes[k] / (double)length, (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    ck_assert_double_lt(bytes[SIZES - 1], 4.4 * bytes[0]);
    trial_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pretrained_gradients");
    TCase *models = tcase_create("models");
    tcase_add_loop_test(models, gradients_match_transformers, 0, sizeof trained / sizeof *trained);
    tcase_add_loop_test(models, gradients_match_differences, 0, sizeof differed / sizeof *differed);
    tcase_add_test(models, memory_of_blocks_grows_with_tokens);
    tcase_set_timeout(models, 600);
    suite_add_tcase(suite, models);
    return test_main(suite);
}
