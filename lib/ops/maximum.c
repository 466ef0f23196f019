/* The largest of several values, element by element. Those that share it share its gradient
 * equally, as neighbours do in a maximum over them; NaN wins, and then no gradient passes. */
#include <lib/ops/support.h>

/* Numbers at once, so that they stay in the nearest cache while the inputs pass. */
enum { PIECE = 512 };

static int maximum_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = call->in;
    bool wants = false;
    GNN_TRY(gnn__op_dense(call, "maximum", 0, call->n_in - 1, call->n_in));
    if (call->n_in < 1)
        return gnn_op_fail(call, GNN_ESHAPE, "maximum expects at least one tensor");
    for (int k = 0; k < call->n_in; k++) {
        if (x[k].rows != x->rows || x[k].cols != x->cols)
            return gnn_op_fail(
                call, GNN_ESHAPE,
                "maximum expects %lld x %lld as its first tensor is, tensor %d is %lld x %lld",
                (long long)x->rows, (long long)x->cols, k, (long long)x[k].rows,
                (long long)x[k].cols);
        wants |= x[k].wants_grad;
    }
    gnn__op_output(call, x->rows, x->cols);
    for (int k = 0; k < call->n_in; k++)
        call->in[k].keep = wants;
    return GNN_OK;
}

/* Elements first .. first + n - 1 of a line: of one row, or of one piece of contiguous tensors. */
typedef struct {
    const gnn__lines_t *lines;
    int64_t line, first, n;
} piece_t;

static gnn_real_t *piece_of(const piece_t *p, const gnn_tensor_t *t)
{
    return gnn__line(p->lines, t, p->line) + p->first;
}

/* y may be the first input's own memory. */
static void largest(const gnn_op_call_t *call, const piece_t *p, gnn_real_t *y)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_real_t *first = piece_of(p, &call->in[0].value);
    kernels->maximum(p->n, first, first, y);
    for (int k = 1; k < call->n_in; k++)
        kernels->maximum(p->n, y, piece_of(p, &call->in[k].value), y);
}

static void share(const gnn_op_call_t *call, const piece_t *p)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn_real_t most[PIECE], ties[PIECE] = {0};
    largest(call, p, most);
    for (int k = 0; k < call->n_in; k++)
        kernels->count_ties(p->n, piece_of(p, &call->in[k].value), most, ties);
    for (int k = 0; k < call->n_in; k++)
        if (gnn__wants(call, k))
            kernels->maximum_grad(p->n, piece_of(p, &call->in[k].value), most, ties,
                                  piece_of(p, &call->out[0].grad), call->in[k].accumulate,
                                  piece_of(p, &call->in[k].grad));
}

static gnn__lines_t lines_of(const gnn_op_call_t *call, bool backward)
{
    const gnn_operand_t *y = &call->out[0];
    gnn__lines_t lines = gnn__lines(backward ? &y->grad : &y->value, NULL);
    for (int k = 0; k < call->n_in; k++) {
        gnn__lines_with(&lines, &call->in[k].value);
        if (backward && gnn__wants(call, k))
            gnn__lines_with(&lines, &call->in[k].grad);
    }
    return lines;
}

static int run(const gnn_op_call_t *call, bool backward)
{
    const gnn__lines_t lines = lines_of(call, backward);
    const int threads = gnn__op_threads(call, lines.total * call->n_in);
    GNN__PARALLEL_FOR (threads, int64_t line = 0; line < lines.count; line++) {
        const int64_t length = gnn__line_length(&lines, line);
        for (int64_t first = 0; first < length; first += PIECE) {
            const int64_t rest = length - first;
            const piece_t p = {&lines, line, first, rest < PIECE ? rest : PIECE};
            if (backward)
                share(call, &p);
            else
                largest(call, &p, piece_of(&p, &call->out[0].value));
        }
    }
    return GNN_OK;
}

static int maximum_forward(gnn_op_call_t *call)
{
    return run(call, false);
}

static int maximum_backward(gnn_op_call_t *call)
{
    return run(call, true);
}

const gnn_op_t gnn__op_maximum = {.name = "maximum",
                                  .shape = maximum_shape,
                                  .forward = maximum_forward,
                                  .backward = maximum_backward,
                                  .flags = GNN_OP_ELEMENTWISE};
