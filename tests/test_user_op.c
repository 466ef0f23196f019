/* A tape depends only on the descriptor of an op: ops of the user run in place, read sparse values,
 * count their work and get settings and threads like the library's. */
#include "tape_fixture.h"

#include <lib/tape/tape.h>

enum { ROWS = 30, COLS = 7, NUMBERS = ROWS * COLS };

/* ---- an op of a user's: y = a x ---- */

/* Settings, and what forward and backward saw. */
typedef struct {
    gnn_real_t a;
    struct seen *seen;
} half_t;

struct seen {
    const gnn_real_t *x, *y;
    int threads, backward_threads;
};

static int half_shape(gnn_op_call_t *call)
{
    if (call->n_in != 1 || !call->in[0].present)
        return gnn_op_fail(call, GNN_EINVALID, "half takes 1 input, got %d", call->n_in);
    call->out[0].rows = call->in[0].rows;
    call->out[0].cols = call->in[0].cols;
    return GNN_OK;
}

/* y (+)= a x; the derivative needs no value, so `shape` keeps none. */
static void scale(gnn_real_t a, const gnn_tensor_t *x, bool add, const gnn_tensor_t *y)
{
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            gnn_real_t *to = y->data + r * y->stride + c, v = a * x->data[r * x->stride + c];
            *to = add ? *to + v : v;
        }
}

static int half_forward(gnn_op_call_t *call)
{
    const half_t *how = call->attributes;
    *how->seen = (struct seen){call->in[0].value.data, call->out[0].value.data, call->threads, -1};
    scale(how->a, &call->in[0].value, false, &call->out[0].value);
    return GNN_OK;
}

static int half_backward(gnn_op_call_t *call)
{
    const half_t *how = call->attributes;
    how->seen->backward_threads = call->threads;
    if (call->in[0].grad.data)
        scale(how->a, &call->out[0].grad, call->in[0].accumulate != 0, &call->in[0].grad);
    return GNN_OK;
}

static void half_work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    work->flops = (backward ? 2 : 1) * (double)(call->out[0].rows * call->out[0].cols);
}

static const gnn_op_t half = {.name = "half",
                              .shape = half_shape,
                              .forward = half_forward,
                              .backward = half_backward,
                              .flags = GNN_OP_ELEMENTWISE,
                              .work = half_work};

/* Its derivative reads x, as a square's does. */
static int keeping_shape(gnn_op_call_t *call)
{
    GNN_TRY(half_shape(call));
    call->in[0].keep = 1;
    return GNN_OK;
}

static gnn_var_t put(gnn_tape_t *tape, const gnn_op_t *op, gnn_var_t x, struct seen *seen)
{
    const half_t how = {(gnn_real_t)0.5, seen};
    return gnn_tape_op(tape, op, &x, 1, &how, sizeof how);
}

/* y = half(3 x): does half write over 3 x? Values and gradients are right either way. */
static bool is_written_over(const gnn_op_t *op, bool recording)
{
    fixture_t f = set_up();
    gnn_real_t *memory = test_reals(NUMBERS, 4);
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, COLS);
    struct seen seen;
    gnn_tape_reset(f.tape, recording, 0);
    const gnn_var_t in = gnn_tape_input(f.tape, &x, 1),
                    y = put(f.tape, op, gnn_tape_scale(f.tape, in, 3), &seen);
    ck_ok(gnn_tape_forward(f.tape));
    const gnn_tensor_t v = gnn_tape_value(f.tape, y);
    for (int k = 0; k < NUMBERS; k++)
        ck_assert_double_eq_tol((double)v.data[k], 1.5 * (double)memory[k], 1e-6);
    if (recording) {
        ck_ok(gnn_tape_backward(f.tape, y, NULL));
        for (int k = 0; k < NUMBERS; k++)
            ck_assert_double_eq((double)gnn_tape_gradient(f.tape, in).data[k], 1.5);
    }
    free(memory);
    tear_down(&f);
    return seen.x == seen.y;
}

START_TEST(an_elementwise_op_of_a_user_writes_over_its_input)
{
    gnn_op_t apart = half, keeping = half;
    apart.flags = 0;
    keeping.shape = keeping_shape;
    for (int recording = 0; recording < 2; recording++) {
        ck_assert(is_written_over(&half, recording));
        ck_assert(!is_written_over(&apart, recording));
        ck_assert_int_eq(is_written_over(&keeping, recording), !recording);
    }
}
END_TEST

/* An op with GNN_OP_ELEMENTWISE whose output has another shape does not run in place. */
static int narrow_shape(gnn_op_call_t *call)
{
    GNN_TRY(half_shape(call));
    call->out[0].cols--;
    return GNN_OK;
}

static int narrow_forward(gnn_op_call_t *call)
{
    const half_t *how = call->attributes;
    *how->seen = (struct seen){.x = call->in[0].value.data, .y = call->out[0].value.data};
    gnn_tensor_t x = call->in[0].value;
    x.cols--;
    scale(how->a, &x, false, &call->out[0].value);
    return GNN_OK;
}

START_TEST(another_shape_is_not_written_over)
{
    const gnn_op_t narrow = {.name = "narrow",
                             .shape = narrow_shape,
                             .forward = narrow_forward,
                             .flags = GNN_OP_ELEMENTWISE};
    gnn_real_t *memory = test_reals(NUMBERS, 4);
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, COLS);
    fixture_t f = set_up();
    struct seen seen;
    gnn_tape_reset(f.tape, 0, 0);
    put(f.tape, &narrow, gnn_tape_scale(f.tape, gnn_tape_input(f.tape, &x, 0), 3), &seen);
    ck_ok(gnn_tape_forward(f.tape));
    ck_assert_ptr_ne(seen.x, seen.y);
    free(memory);
    tear_down(&f);
}
END_TEST

START_TEST(an_op_fails_with_its_own_message)
{
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 0, 0);
    gnn__tape_set_place(f.tape, 0, "step 4");
    ck_assert_int_eq(gnn_tape_op(f.tape, &half, NULL, 0, NULL, 0), GNN_NONE);
    ck_fails(gnn_tape_status(f.tape), GNN_EINVALID, "step 4: half takes 1 input, got 0");
    tear_down(&f);
}
END_TEST

START_TEST(an_op_counts_its_own_work)
{
    gnn_real_t *memory = test_reals(NUMBERS, 4);
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, COLS);
    struct seen seen;
    setenv("GNN_PROFILE", "1", 1);
    fixture_t f = set_up();
    unsetenv("GNN_PROFILE");
    gnn_tape_reset(f.tape, 1, 0);
    const gnn_var_t y = put(f.tape, &half, gnn_tape_input(f.tape, &x, 1), &seen);
    ck_ok(gnn_tape_forward(f.tape));
    ck_ok(gnn_tape_backward(f.tape, y, NULL));
    const gnn__profile_t *profile = f.context->profile;
    ck_assert_int_eq(profile->count, 2);
    for (int64_t k = 0; k < 2; k++) {
        const gnn__profile_row_t *row = &profile->rows[k];
        ck_assert_str_eq(row->name, "half");
        ck_assert_double_eq(row->flops, row->backward ? 2 * NUMBERS : NUMBERS);
        ck_assert_double_eq(row->bytes,
                            (row->backward ? 4 : 2) * NUMBERS * (double)sizeof(gnn_real_t));
    }
    free(memory);
    tear_down(&f);
}
END_TEST

/* ---- sparse inputs ---- */

static int count_shape(gnn_op_call_t *call)
{
    call->out[0].rows = call->in[0].rows;
    call->out[0].cols = 1;
    return GNN_OK;
}

/* Count of the stored values of each row. */
static int count_forward(gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    for (int64_t r = 0; r < x->rows; r++)
        call->out[0].value.data[r] = (gnn_real_t)(x->indptr[r + 1] - x->indptr[r]);
    return GNN_OK;
}

START_TEST(an_op_reads_the_sparse_inputs_that_it_names)
{
    const int64_t indptr[] = {0, 2, 3};
    const int32_t indices[] = {0, 4, 2};
    const gnn_sparse_t s = {2, 5, indptr, indices, NULL};
    gnn_op_t count = {.name = "count", .shape = count_shape, .forward = count_forward};
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 0, 1);
    gnn_var_t x = gnn_tape_sparse(f.tape, &s);
    gnn_tape_op(f.tape, &count, &x, 1, NULL, 0);
    ck_fails(gnn_tape_status(f.tape), GNN_EUNSUPPORTED,
             "op count: expected a dense input 0, got a sparse one");
    count.sparse_inputs = 1;
    gnn_tape_reset(f.tape, 0, 1);
    x = gnn_tape_sparse(f.tape, &s);
    const gnn_var_t y = gnn_tape_op(f.tape, &count, &x, 1, NULL, 0);
    ck_ok(gnn_tape_forward(f.tape));
    ck_assert_double_eq((double)gnn_tape_value(f.tape, y).data[0], 2);
    ck_assert_double_eq((double)gnn_tape_value(f.tape, y).data[1], 1);
    x = gnn_tape_dropout(f.tape, x, (gnn_real_t)0.5);
    gnn_tape_op(f.tape, &count, &x, 1, NULL, 0);
    ck_fails(gnn_tape_status(f.tape), GNN_EUNSUPPORTED, "a sparse value with dropout");
    tear_down(&f);
}
END_TEST

/* ---- calls ---- */

enum { LONG = 5000 };

static int long_shape(gnn_op_call_t *call)
{
    const unsigned char *bytes = call->attributes;
    ck_assert_int_eq((int)((uintptr_t)bytes % 16), 0);
    for (int k = 0; k < LONG; k++)
        ck_assert_int_eq(bytes[k], k % 251);
    return half_shape(call);
}

START_TEST(attributes_may_be_long)
{
    const gnn_op_t op = {.name = "long", .shape = long_shape, .forward = half_forward};
    unsigned char bytes[LONG];
    gnn_real_t number = 1;
    const gnn_tensor_t x = gnn_tensor(&number, 1, 1);
    fixture_t f = set_up();
    for (int k = 0; k < LONG; k++)
        bytes[k] = (unsigned char)(k % 251);
    for (int run = 0; run < 3; run++) {
        gnn__fail_allocation(0);
        gnn_tape_reset(f.tape, 0, 0);
        const gnn_var_t in = gnn_tape_input(f.tape, &x, 0);
        gnn_tape_scale(f.tape, in, 2); /* a short one beside it */
        gnn_tape_op(f.tape, &op, &in, 1, bytes, LONG);
        ck_ok(gnn_tape_status(f.tape));
        if (run > 0)
            ck_assert_int_eq(gnn__fail_allocation(0), 0);
    }
    gnn_var_t in = gnn_tape_input(f.tape, &x, 0);
    gnn_tape_op(f.tape, &op, &in, 1, bytes, SIZE_MAX);
    ck_fails(gnn_tape_status(f.tape), GNN_EOVERFLOW, "bytes of attributes overflows");
    tear_down(&f);
}
END_TEST

/* Passes nothing back, and notes its threads. */
static int pair_shape(gnn_op_call_t *call)
{
    call->out[0].rows = call->in[0].rows;
    call->out[0].cols = call->in[0].cols;
    return GNN_OK;
}

static int pair_backward(gnn_op_call_t *call)
{
    for (int k = 0; k < 2; k++)
        for (int64_t r = 0; !call->in[k].accumulate && r < call->in[k].grad.rows; r++)
            memset(call->in[k].grad.data + r * call->in[k].grad.stride, 0,
                   (size_t)call->in[k].cols * sizeof(gnn_real_t));
    ((const half_t *)call->attributes)->seen->backward_threads = call->threads;
    return GNN_OK;
}

START_TEST(calls_carry_the_thread_count)
{
    const gnn_op_t pair = {
        .name = "pair", .shape = pair_shape, .forward = half_forward, .backward = pair_backward};
    gnn_real_t *memory = test_reals(NUMBERS, 4);
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, COLS);
    for (int crossed = 0; crossed < 2; crossed++) {
        struct seen seen;
        const half_t how = {1, &seen};
        fixture_t f = set_up();
        gnn_tape_reset(f.tape, 1, 0);
        const gnn_var_t in = gnn_tape_input(f.tape, &x, 1),
                        part = gnn_tape_view(f.tape, in, 0, ROWS, crossed, COLS - 1),
                        same = gnn_tape_view(f.tape, in, 0, ROWS, 0, COLS - 1),
                        y = gnn_tape_op(f.tape, &pair, (gnn_var_t[]){part, same}, 2, &how,
                                        sizeof how);
        ck_ok(gnn_tape_forward(f.tape));
        ck_ok(gnn_tape_backward(f.tape, y, NULL));
        ck_assert_int_eq(seen.threads, 0);
        ck_assert_int_eq(seen.backward_threads, crossed);
        ck_assert_int_eq(gnn_context_threads(f.context), 2);
        tear_down(&f);
    }
    free(memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("user_op");
    TCase *c = tcase_create("user_op");
    tcase_add_test(c, an_elementwise_op_of_a_user_writes_over_its_input);
    tcase_add_test(c, another_shape_is_not_written_over);
    tcase_add_test(c, an_op_fails_with_its_own_message);
    tcase_add_test(c, an_op_counts_its_own_work);
    tcase_add_test(c, an_op_reads_the_sparse_inputs_that_it_names);
    tcase_add_test(c, attributes_may_be_long);
    tcase_add_test(c, calls_carry_the_thread_count);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
