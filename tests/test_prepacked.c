/* Weights that stay as they are: what products lay out or round of them is made once. */
#include "support.h"

#include <lib/kernels/dense/dense.h>
#include <lib/tape/tape.h>
#include <pthread.h>

enum { IN = 192, OUT = 160, FEW = 40, MANY = 900, THREADS = 4 };

static const gnn_precision_t levels[] = {GNN_PRECISION_HIGHEST, GNN_PRECISION_HIGH,
                                         GNN_PRECISION_MEDIUM};
enum { LEVELS = sizeof levels / sizeof *levels };

typedef struct {
    gnn_context_t *context;
    gnn_parameters_t *parameters;
    int32_t w;
} bed_t;

static gnn_context_t *context_at(gnn_precision_t level, int threads)
{
    gnn_context_t *context;
    ck_ok(gnn_context_new(
        &context, &(gnn_context_config_t){.threads = threads, .precision = level, .seed = 5}));
    context->forced = true;
    return context;
}

static bed_t bed_new(gnn_precision_t level)
{
    bed_t b = {.context = context_at(level, 2)};
    ck_ok(gnn_parameters_new(&b.parameters));
    ck_ok(gnn_parameters_add(b.parameters, "w", IN, OUT, GNN_INIT_GLOROT, 0, 0, 0, &b.w));
    ck_ok(gnn_parameters_allocate(b.parameters, b.context));
    return b;
}

static void bed_free(bed_t *b)
{
    gnn_parameters_free(b->parameters);
    gnn_context_free(b->context);
}

/* y = x w for `rows` drawn rows; the caller's. */
static gnn_real_t *multiply(const bed_t *b, gnn_context_t *context, int64_t rows)
{
    gnn_tape_t *tape;
    gnn_real_t *memory = test_reals(rows * IN, 3), *y = malloc((size_t)(rows * OUT) * sizeof *y);
    const gnn_tensor_t x = gnn_tensor(memory, rows, IN);
    ck_ok(gnn_tape_new(&tape, context));
    const gnn_var_t in = gnn_tape_input(tape, &x, 0),
                    w = gnn_tape_parameter(tape, b->parameters, b->w),
                    out = gnn_tape_linear(tape, in, w, GNN_NONE);
    ck_ok(gnn_tape_forward(tape));
    memcpy(y, gnn_tape_value(tape, out).data, (size_t)(rows * OUT) * sizeof *y);
    gnn_tape_free(tape);
    free(memory);
    return y;
}

/* Whether products of these sizes read something else than the weights as they are; contexts are
 * forced here. */
static bool lays_out(gnn_precision_t level)
{
    char text[200];
    gnn__dense_info(text, sizeof text);
    return gnn__onednn_has(level) && (strstr(text, ", AVX") || strstr(text, ", AMX"));
}

/* A direct write to a weight, which is not permitted, shows that the product used the packed
 * copy. */
START_TEST(weights_are_packed_once)
{
    const gnn_precision_t level = levels[_i];
    for (int64_t rows = FEW; rows <= MANY; rows += MANY - FEW) {
        bed_t b = bed_new(level);
        const size_t bytes = (size_t)(rows * OUT) * sizeof(gnn_real_t);
        gnn_real_t *plain = multiply(&b, b.context, rows);
        ck_ok(gnn__parameters_keep_packed(b.parameters));
        gnn_real_t *first = multiply(&b, b.context, rows);
        ck_assert_double_le(test_error(first, plain, rows * OUT), GNN_DOUBLE ? 1e-14 : 2e-6);
        if (lays_out(level))
            gnn_parameters_value(b.parameters, b.w).data[0] += 1000;
        gnn_real_t *second = multiply(&b, b.context, rows);
        ck_assert_mem_eq(first, second, bytes);
        free(plain);
        free(first);
        free(second);
        bed_free(&b);
    }
}
END_TEST

/* Many threads, each with a context of its own, meet the weights for the first time at once. */
typedef struct {
    const bed_t *bed;
    gnn_precision_t level;
    gnn_real_t *y;
} job_t;

static void *work(void *user)
{
    job_t *job = user;
    gnn_context_t *context = context_at(job->level, 1);
    job->y = multiply(job->bed, context, MANY);
    gnn_context_free(context);
    return NULL;
}

START_TEST(threads_share_packed_weights)
{
    bed_t b = bed_new(levels[_i]);
    pthread_t threads[THREADS];
    job_t jobs[THREADS];
    ck_ok(gnn__parameters_keep_packed(b.parameters));
    for (int k = 0; k < THREADS; k++) {
        jobs[k] = (job_t){&b, levels[_i], NULL};
        ck_assert_int_eq(pthread_create(&threads[k], NULL, work, &jobs[k]), 0);
    }
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    for (int k = 1; k < THREADS; k++)
        ck_assert_mem_eq(jobs[k].y, jobs[0].y, (size_t)(MANY * OUT) * sizeof(gnn_real_t));
    for (int k = 0; k < THREADS; k++)
        free(jobs[k].y);
    bed_free(&b);
}
END_TEST

START_TEST(packed_weights_cannot_be_trained)
{
    bed_t b = bed_new(GNN_PRECISION_HIGHEST);
    gnn_tape_t *tape;
    gnn_optimizer_t *optimizer;
    ck_ok(gnn__parameters_keep_packed(b.parameters));
    ck_ok(gnn__parameters_keep_packed(b.parameters));
    ck_ok(gnn_tape_new(&tape, b.context));
    gnn_tape_reset(tape, 1, 0);
    gnn_tape_parameter(tape, b.parameters, b.w);
    ck_fails(gnn_tape_forward(tape), GNN_EUNSUPPORTED, "training: the parameters are constant");
    ck_fails(gnn_optimizer_new(&optimizer, b.context, b.parameters,
                               &(gnn_optimizer_config_t){.kind = GNN_SGD}),
             GNN_EUNSUPPORTED, "optimizer: the parameters are constant");
    gnn_tape_free(tape);
    bed_free(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prepacked");
    TCase *c = tcase_create("prepacked");
    tcase_add_loop_test(c, weights_are_packed_once, 0, LEVELS);
    tcase_add_loop_test(c, threads_share_packed_weights, 0, LEVELS);
    tcase_add_test(c, packed_weights_cannot_be_trained);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
