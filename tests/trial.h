/* A trial of one op against a plain reference in double: values, and gradients against central
 * differences of that reference. What an op must not read is filled with NaN: scratch, padding
 * between rows, outputs before they are written, and values that it did not ask to keep for
 * backward. */
#ifndef GNN_TESTS_TRIAL_H
#define GNN_TESTS_TRIAL_H

#include "support.h"

#include <lib/ops/ops.h>

#include <float.h>

enum { MAX_INPUTS = 4 };

typedef struct trial trial_t;
/* Contiguous inputs to a contiguous output. */
typedef void (*reference_t)(const trial_t *t, double *const in[], double *out);

struct trial {
    gnn_op_call_t call;
    const gnn_op_t *op;
    reference_t reference;
    int64_t pad; /* elements between rows */
    bool dense[MAX_INPUTS];
};

static gnn_tensor_t tensor_new(int64_t rows, int64_t cols, int64_t pad)
{
    gnn_tensor_t t = {NULL, rows, cols, cols + pad};
    int64_t n = rows * t.stride;
    t.data = malloc(sizeof *t.data * (size_t)(n + 1));
    for (int64_t k = 0; k <= n; k++)
        t.data[k] = (gnn_real_t)NAN;
    return t;
}

static void tensor_fill(const gnn_tensor_t *t, uint64_t seed)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->cols; c++)
            gnn__row(t, r)[c] = (gnn_real_t)(1.5 * test_uniform(&seed));
}

/* Of the same shape; padding between rows is not compared. */
static bool tensor_same_bits(const gnn_tensor_t *a, const gnn_tensor_t *b)
{
    for (int64_t r = 0; r < a->rows; r++)
        if (memcmp(gnn__row(a, r), gnn__row(b, r), sizeof(gnn_real_t) * (size_t)a->cols) != 0)
            return false;
    return true;
}

static double *as_doubles(const gnn_tensor_t *t)
{
    double *out = malloc(sizeof *out * (size_t)(t->rows * t->cols + 1));
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->cols; c++)
            out[r * t->cols + c] = (double)gnn__row(t, r)[c];
    return out;
}

/* Marks an expected value that was not computed: a gradient outside of the sample. */
#define LEFT_OUT DBL_MAX

static double worst_error(const gnn_tensor_t *got, const double *expected, double offset)
{
    double worst = 0, largest = 1e-3;
    for (int64_t r = 0; r < got->rows; r++)
        for (int64_t c = 0; c < got->cols; c++) {
            double e = expected[r * got->cols + c],
                   d = fabs((double)gnn__row(got, r)[c] - offset - e);
            if (e == LEFT_OUT)
                continue;
            worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
            largest = fabs(e) > largest ? fabs(e) : largest;
        }
    return worst / largest;
}

static trial_t trial_new(const gnn_op_t *op, reference_t reference, gnn_context_t *context,
                         const void *attributes, int64_t pad)
{
    trial_t t = {.op = op, .reference = reference, .pad = pad};
    t.call.context = context;
    t.call.in = calloc(MAX_INPUTS, sizeof *t.call.in);
    t.call.attributes = attributes;
    t.call.training = t.call.recording = 1;
    t.call.rng = (gnn_rng_t){.seed = 42, .step = 3, .stream = 7};
    t.call.where = "layer 2";
    return t;
}

static gnn_operand_t *trial_input(trial_t *t, int64_t rows, int64_t cols)
{
    gnn_operand_t *in = &t->call.in[t->call.n_in];
    t->dense[t->call.n_in] = true;
    in->rows = rows;
    in->cols = cols;
    in->present = in->wants_grad = 1;
    in->value = tensor_new(rows, cols, rows == 1 ? 0 : t->pad);
    tensor_fill(&in->value, 100 + (uint64_t)t->call.n_in++);
    in->grad = tensor_new(rows, cols, rows == 1 ? 0 : t->pad);
    return in;
}

static gnn_operand_t *trial_ids(trial_t *t, const int32_t *ids, int64_t count)
{
    gnn_operand_t *in = &t->call.in[t->call.n_in++];
    *in = (gnn_operand_t){.rows = count, .cols = 1, .ids = ids, .present = 1};
    return in;
}

/* The dropout factor of an element of the call's output. */
static double multiplier(const trial_t *t, gnn_real_t rate, int64_t r, int64_t c)
{
    gnn_real_t keep[8];
    gnn__dropout_t d = gnn__dropout(t->call.rng, rate);
    gnn__dropout_draw(&d, (uint32_t)r, (uint32_t)(c / 8), 0, keep);
    return (double)keep[c % 8];
}

static void *poison(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(memory, 0xff, (bytes + 127) / 64 * 64);
    return memory;
}

static int trial_shape(trial_t *t)
{
    gnn_operand_t whole[MAX_INPUTS];
    gnn_op_call_t *call = &t->call;
    memcpy(whole, call->in, sizeof whole);
    for (int k = 0; k < call->n_in; k++)
        call->in[k].value.data = call->in[k].grad.data = NULL;
    int rc = t->op->shape(call);
    for (int k = 0; k < call->n_in; k++) {
        call->in[k].value = whole[k].value;
        call->in[k].grad = whole[k].grad;
    }
    return rc;
}

static int trial_forward(trial_t *t)
{
    gnn_operand_t *out = &t->call.out[0];
    GNN_TRY(trial_shape(t));
    out->value = tensor_new(out->rows, out->cols, out->rows == 1 ? 0 : t->pad);
    out->grad = tensor_new(out->rows, out->cols, out->rows == 1 ? 0 : t->pad);
    tensor_fill(&out->grad, 999);
    for (int k = 0; k < GNN_OP_SAVED; k++)
        t->call.saved[k] = t->call.recording ? poison(t->call.saved_bytes[k]) : NULL;
    t->call.scratch = poison(t->call.forward_scratch);
    int rc = t->op->forward(&t->call);
    free(t->call.scratch);
    return rc;
}

/* The value, or NaN if backward did not request it. */
static gnn_tensor_t visible(const gnn_tensor_t *value, bool kept)
{
    gnn_tensor_t copy = tensor_new(value->rows, value->cols, value->stride - value->cols);
    for (int64_t r = 0; kept && r < value->rows; r++)
        memcpy(gnn__row(&copy, r), gnn__row(value, r), sizeof(gnn_real_t) * (size_t)value->cols);
    return copy;
}

static int trial_backward(trial_t *t, int accumulate)
{
    gnn_op_call_t call = t->call;
    gnn_operand_t in[MAX_INPUTS];
    call.in = memcpy(in, t->call.in, sizeof in);
    for (int k = 0; k < call.n_in; k++)
        if (t->dense[k]) {
            call.in[k].accumulate = accumulate;
            call.in[k].value = visible(&t->call.in[k].value, t->call.in[k].keep);
            for (int64_t r = 0; r < call.in[k].rows; r++)
                for (int64_t c = 0; c < call.in[k].cols; c++)
                    gnn__row(&call.in[k].grad, r)[c] = (gnn_real_t)(accumulate ? 1 : NAN);
        }
    call.out[0].value = visible(&t->call.out[0].value, t->call.out[0].keep);
    call.scratch = poison(call.backward_scratch);
    int rc = t->op->backward(&call);
    free(call.scratch);
    free(call.out[0].value.data);
    for (int k = 0; k < call.n_in; k++)
        if (t->dense[k])
            free(call.in[k].value.data);
    return rc;
}

static void trial_free(trial_t *t)
{
    for (int k = 0; k < t->call.n_in; k++)
        if (t->dense[k]) {
            free(t->call.in[k].value.data);
            free(t->call.in[k].grad.data);
        }
    free(t->call.out[0].value.data);
    free(t->call.out[0].grad.data);
    for (int k = 0; k < GNN_OP_SAVED; k++)
        free(t->call.saved[k]);
    free(t->call.in);
}

/* ---- the check itself ---- */

static double objective(const trial_t *t, double *const in[], double *out)
{
    const gnn_tensor_t *dy = &t->call.out[0].grad;
    double sum = 0;
    t->reference(t, in, out);
    for (int64_t r = 0; r < dy->rows; r++)
        for (int64_t c = 0; c < dy->cols; c++)
            sum += out[r * dy->cols + c] * (double)gnn__row(dy, r)[c];
    return sum;
}

/* Each element costs two runs of the reference: of many, one in so many that 150 to 300 are looked
 * at, first and last among them. The distance is odd, so that every column of an even width has its
 * turn. */
static double *differences(const trial_t *t, double *const in[], double *out, int k)
{
    const double eps = 1e-6;
    const int64_t n = t->call.in[k].rows * t->call.in[k].cols;
    const int64_t most = test_small() ? 40 : 300, step = n > most ? n / most * 2 + 1 : 1;
    double *d = malloc(sizeof *d * (size_t)(n + 1));
    for (int64_t e = 0; e < n; e++) {
        const double x = in[k][e];
        d[e] = LEFT_OUT;
        if (e % step != 0 && e != n - 1)
            continue;
        in[k][e] = x + eps;
        double above = objective(t, in, out);
        in[k][e] = x - eps;
        d[e] = (above - objective(t, in, out)) / (2 * eps);
        in[k][e] = x;
    }
    return d;
}

static void check_input(trial_t *t, double *const in[], double *out, int k, int accumulate)
{
    double *expected = differences(t, in, out, k);
    double error = worst_error(&t->call.in[k].grad, expected, accumulate);
    ck_assert_msg(error < (GNN_DOUBLE ? 1e-5 : 1e-4),
                  "%s: gradient of input %d is off by %g (accumulate %d, pad %d)", t->op->name, k,
                  error, accumulate, (int)t->pad);
    free(expected);
}

/* Values and all gradients, overwritten and added to; frees the trial. */
static void check_trial(trial_t *t)
{
    double *in[MAX_INPUTS] = {0};
    ck_ok(trial_forward(t));
    for (int k = 0; k < t->call.n_in; k++)
        in[k] = t->dense[k] ? as_doubles(&t->call.in[k].value) : NULL;
    double *out = as_doubles(&t->call.out[0].value);
    t->reference(t, in, out);
    double error = worst_error(&t->call.out[0].value, out, 0);
    ck_assert_msg(error < TOLERANCE_OUT, "%s: off by %g", t->op->name, error);
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        ck_ok(trial_backward(t, accumulate));
        for (int k = 0; k < t->call.n_in; k++)
            if (t->dense[k])
                check_input(t, in, out, k, accumulate);
    }
    for (int k = 0; k < t->call.n_in; k++)
        free(in[k]);
    free(out);
    trial_free(t);
}

/* Inputs of these shapes, with contiguous or strided rows. */
enum { PAD = 3 };

static void check_shapes(const gnn_op_t *op, reference_t reference, gnn_context_t *context,
                         const void *attributes, int count, const int64_t shapes[][2])
{
    for (int64_t pad = 0; pad <= PAD; pad += PAD) {
        trial_t t = trial_new(op, reference, context, attributes, pad);
        for (int k = 0; k < count; k++)
            trial_input(&t, shapes[k][0], shapes[k][1]);
        check_trial(&t);
    }
}

static gnn_context_t *context_new(int threads, bool deterministic)
{
    gnn_context_t *context;
    ck_ok(gnn_context_new(
        &context, &(gnn_context_config_t){.threads = threads,
                                          .deterministic = deterministic ? GNN_ON : GNN_OFF}));
    return context;
}

#endif
