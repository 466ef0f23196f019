/* Products of two values segment by segment and head by head, and inverses of small matrices. */
#include <lib/kernels/dense/lapack.h>
#include <lib/ops/named/named_ops.h>

/* ---- segment_matmul ---- */

/* Products of the matrices of each segment of the graph and each head. Options: heads H [1]; the
 * form. A graph without segments is one.
 *
 *     0: A_s B_s    A (n_dst x H*q), B (S*q x H*r)           -> (n_dst x H*r)
 *     1: A_s' B_s   A (n_src x H*q), B (n_src x H*r)         -> (S*q x H*r)
 *     2: A_s B_s'   A (n_dst x H*q), B (n_src x H*q), every
 *                   segment having the same m senders        -> (n_dst x H*m)
 *
 * The sums of keys and values of linear attention are form 1, queries times these form 0. */

typedef enum { PLAIN, LEFT_TURNED, RIGHT_TURNED, FORMS } form_t;
typedef enum { OF_RECEIVERS, OF_SENDERS, OF_SEGMENTS } rows_of_t;
enum { A, B, Y };

/* The owners of the rows of A, of B and of the result. */
static const rows_of_t rows_of[FORMS][3] = {{OF_RECEIVERS, OF_SEGMENTS, OF_RECEIVERS},
                                            {OF_SENDERS, OF_SENDERS, OF_SEGMENTS},
                                            {OF_RECEIVERS, OF_SENDERS, OF_RECEIVERS}};

typedef struct {
    const gnn_graph_t *graph;
    form_t form;
    int64_t heads, segments, width; /* width: q */
} matmul_t;

static matmul_t matmul_of(const gnn_op_call_t *call)
{
    const gnn_op_options_t *o = gnn__op_options(call);
    const int64_t heads = (int64_t)gnn__op_option(call, 0, 1);
    return (matmul_t){o->graph, (form_t)o->options[1], heads,
                      o->graph->n_segments > 0 ? o->graph->n_segments : 1, call->in[0].cols / heads};
}

/* First row of segment s. */
static int64_t first_row(const matmul_t *m, int operand, int64_t s)
{
    const gnn_graph_t *g = m->graph;
    const rows_of_t side = rows_of[m->form][operand];
    if (side == OF_SEGMENTS)
        return s * m->width;
    if (g->n_segments > 0)
        return side == OF_SENDERS ? g->src_segments[s] : g->dst_segments[s];
    return s > 0 ? (side == OF_SENDERS ? g->n_src : g->n_dst) : 0;
}

/* The matrix of segment s and head h. */
static gnn_tensor_t matrix_of(const matmul_t *m, int operand, const gnn_tensor_t *t, int64_t s,
                              int64_t h)
{
    const int64_t from = first_row(m, operand, s), cols = t->cols / m->heads;
    return (gnn_tensor_t){gnn__row(t, from) + h * cols, first_row(m, operand, s + 1) - from, cols,
                          gnn__stride(t)};
}

/* Senders of every segment; -1 if they differ. */
static int64_t senders_each(const matmul_t *m)
{
    const int64_t each = first_row(m, B, 1);
    for (int64_t s = 1; s < m->segments; s++)
        if (first_row(m, B, s + 1) - first_row(m, B, s) != each)
            return -1;
    return each;
}

static int64_t rows_expected(const matmul_t *m, int operand)
{
    return first_row(m, operand, m->segments);
}

static int segment_matmul_shape(gnn_op_call_t *call)
{
    const char *name = "segment_matmul";
    const double form = gnn__op_options(call)->options[1];
    int64_t heads, cols;
    GNN_TRY(gnn__op_dense(call, name, 0, 1, 2));
    GNN_TRY(gnn__op_heads(call, name, &heads));
    if (!(form >= 0 && form < FORMS) || form != floor(form))
        return gnn_op_fail(call, GNN_EINVALID, "%s: option 1: expected a form 0, 1 or 2, got %g",
                           name, form);
    if (!gnn__op_options(call)->graph)
        return gnn_op_fail(call, GNN_EINVALID, "%s needs a graph", name);
    const matmul_t m = matmul_of(call);
    GNN_TRY(gnn__op_expect(call, name, 0, rows_expected(&m, A), call->in[0].cols));
    GNN_TRY(gnn__op_expect(call, name, 1, rows_expected(&m, B),
                           m.form == RIGHT_TURNED ? call->in[0].cols : call->in[1].cols));
    const int64_t each = m.form == RIGHT_TURNED ? senders_each(&m) : call->in[1].cols / heads;
    if (each < 0 || call->in[1].cols % heads != 0)
        return gnn_op_fail(call, GNN_ESHAPE,
                           each < 0 ? "%s: segments have unlike counts of senders, form 2 needs equal"
                                    : "%s: columns of the second input do not divide into heads",
                           name);
    if (!gnn__mul(each, heads, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "%s: the count of columns overflows", name);
    gnn__op_output(call, rows_expected(&m, Y), cols);
    call->in[0].keep = call->in[1].wants_grad;
    call->in[1].keep = call->in[0].wants_grad;
    return GNN_OK;
}

/* c = op(a) op(b), or += where `add`; over no terms it is 0. */
static int product(const gnn_op_call_t *call, const gnn_tensor_t *a, bool turn_a,
                   const gnn_tensor_t *b, bool turn_b, const gnn_tensor_t *c, bool add)
{
    const int64_t terms = turn_a ? a->rows : a->cols;
    for (int64_t r = 0; terms == 0 && !add && r < c->rows; r++)
        memset(gnn__row(c, r), 0, sizeof(gnn_real_t) * (size_t)c->cols);
    if (terms == 0 || c->rows == 0 || c->cols == 0)
        return GNN_OK;
    return gnn__op_product(call, a, turn_a, b, turn_b, c, add, NULL);
}

static int segment_matmul_forward(gnn_op_call_t *call)
{
    const matmul_t m = matmul_of(call);
    for (int64_t s = 0; s < m.segments; s++)
        for (int64_t h = 0; h < m.heads; h++) {
            const gnn_tensor_t a = matrix_of(&m, A, &call->in[0].value, s, h),
                               b = matrix_of(&m, B, &call->in[1].value, s, h),
                               y = matrix_of(&m, Y, &call->out[0].value, s, h);
            GNN_TRY(product(call, &a, m.form == LEFT_TURNED, &b, m.form == RIGHT_TURNED, &y, false));
        }
    return GNN_OK;
}

static int matrix_backward(const gnn_op_call_t *call, const matmul_t *m, int64_t s, int64_t h)
{
    const gnn_tensor_t dy = matrix_of(m, Y, &call->out[0].grad, s, h);
    if (gnn__wants(call, 0)) {
        const gnn_tensor_t b = matrix_of(m, B, &call->in[1].value, s, h),
                           da = matrix_of(m, A, &call->in[0].grad, s, h);
        if (m->form == LEFT_TURNED)
            GNN_TRY(product(call, &b, false, &dy, true, &da, true));
        else
            GNN_TRY(product(call, &dy, false, &b, m->form == PLAIN, &da, true));
    }
    if (gnn__wants(call, 1)) {
        const gnn_tensor_t a = matrix_of(m, A, &call->in[0].value, s, h),
                           db = matrix_of(m, B, &call->in[1].grad, s, h);
        if (m->form == RIGHT_TURNED)
            GNN_TRY(product(call, &dy, true, &a, false, &db, true));
        else
            GNN_TRY(product(call, &a, m->form == PLAIN, &dy, false, &db, true));
    }
    return GNN_OK;
}

static int segment_matmul_backward(gnn_op_call_t *call)
{
    const matmul_t m = matmul_of(call);
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    for (int64_t s = 0; s < m.segments; s++)
        for (int64_t h = 0; h < m.heads; h++)
            GNN_TRY(matrix_backward(call, &m, s, h));
    return GNN_OK;
}

static const gnn_option_t segment_matmul_options[] = {
    GNN__COUNT_OPTION("heads", INT32_MAX, ""),
    GNN__CHOICE_OPTION("form", FORMS - 1, "of the product")};

const gnn_op_t gnn_op_segment_matmul = {.name = "segment_matmul",
                                        GNN__OPTIONS(segment_matmul_options),
                                        .shape = segment_matmul_shape,
                                        .forward = segment_matmul_forward,
                                        .backward = segment_matmul_backward,
                                        .flags = GNN_OP_READS_GRAPH};

/* ---- inverse ---- */

/* Inverses of square matrices: x (S*m x H*m) is S by H matrices of m x m. Option: H [1].
 * Computed in double by LAPACK, by LU with pivots; the gradient is -Y' dY Y'. A matrix that is not
 * finite has an inverse of NaN. GNN_EINVALID where a matrix has no inverse. */

static int inverse_shape(gnn_op_call_t *call)
{
    int64_t heads;
    GNN_TRY(gnn__op_heads(call, "inverse", &heads));
    const int64_t m = call->in[0].cols / heads;
    if (m == 0 ? call->in[0].rows > 0 : call->in[0].rows % m != 0)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "inverse: %lld rows do not divide into matrices of %lld rows",
                           (long long)call->in[0].rows, (long long)m);
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->out[0].keep = call->in[0].wants_grad;
    int64_t work;
    GNN_TRY(gnn__op_bytes(call, m, m, sizeof(double), &call->backward_scratch));
    if (!gnn__inverse_scratch(m, &work))
        return gnn_op_fail(call, GNN_EUNSUPPORTED, "inverse: matrices of %lld rows", (long long)m);
    call->forward_scratch = call->backward_scratch + (size_t)work;
    return GNN_OK;
}

static gnn_tensor_t square_of(const gnn_tensor_t *t, int64_t m, int64_t s, int64_t h)
{
    return (gnn_tensor_t){gnn__row(t, s * m) + h * m, m, m, gnn__stride(t)};
}

static int invert(gnn_op_call_t *call, int64_t m, int64_t s, int64_t h)
{
    const gnn_tensor_t x = square_of(&call->in[0].value, m, s, h),
                       y = square_of(&call->out[0].value, m, s, h);
    double *matrix = call->scratch;
    bool finite = true;
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < m; c++) {
            matrix[r * m + c] = (double)gnn__row(&x, r)[c];
            finite = finite && isfinite(matrix[r * m + c]);
        }
    if (finite && !gnn__inverse(matrix, m, matrix + m * m))
        return gnn_op_fail(call, GNN_EINVALID, "inverse: matrix %lld of head %lld has no inverse",
                           (long long)s, (long long)h);
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < m; c++)
            gnn__row(&y, r)[c] = finite ? (gnn_real_t)matrix[r * m + c] : (gnn_real_t)NAN;
    return GNN_OK;
}

static int inverse_forward(gnn_op_call_t *call)
{
    const int64_t heads = (int64_t)gnn__op_option(call, 0, 1), m = call->in[0].cols / heads;
    for (int64_t s = 0; m > 0 && s < call->in[0].rows / m; s++)
        for (int64_t h = 0; h < heads; h++)
            GNN_TRY(invert(call, m, s, h));
    return GNN_OK;
}

/* dx -= Y' dY Y' of one matrix. */
static void inverse_grad(const gnn_op_call_t *call, int64_t m, int64_t s, int64_t h)
{
    const gnn_tensor_t y = square_of(&call->out[0].value, m, s, h),
                       dy = square_of(&call->out[0].grad, m, s, h),
                       dx = square_of(&call->in[0].grad, m, s, h);
    double *inner = call->scratch; /* Y' dY */
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < m; c++) {
            inner[r * m + c] = 0;
            for (int64_t k = 0; k < m; k++)
                inner[r * m + c] += (double)gnn__row(&y, k)[r] * (double)gnn__row(&dy, k)[c];
        }
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < m; c++) {
            double sum = 0;
            for (int64_t k = 0; k < m; k++)
                sum += inner[r * m + k] * (double)gnn__row(&y, c)[k];
            gnn__row(&dx, r)[c] -= (gnn_real_t)sum;
        }
}

static int inverse_backward(gnn_op_call_t *call)
{
    const int64_t heads = (int64_t)gnn__op_option(call, 0, 1), m = call->in[0].cols / heads;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t s = 0; m > 0 && s < call->in[0].rows / m; s++)
        for (int64_t h = 0; h < heads; h++)
            inverse_grad(call, m, s, h);
    return GNN_OK;
}

static const gnn_option_t inverse_options[] = {GNN__COUNT_OPTION("heads", INT32_MAX, "")};

const gnn_op_t gnn_op_inverse = {.name = "inverse",
                                 GNN__OPTIONS(inverse_options),
                                 .shape = inverse_shape,
                                 .forward = inverse_forward,
                                 .backward = inverse_backward};
