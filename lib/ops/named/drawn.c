/* Ops that draw: noise added to values, and columns drawn from a distribution. Draws are keyed by
 * seed, training step, op and element, so that a run is repeated by its seed, on any count of
 * threads. Without training nothing is drawn: noise adds nothing, and the likeliest column is
 * taken. */
#include <lib/ops/named/choices.h>

/* The stream of this op in this step, and the counter of an element in it. */
static uint64_t stream_of(const gnn_op_call_t *call)
{
    return (uint64_t)call->rng.stream << 32 | call->rng.step;
}

static uint64_t counter_of(const gnn_op_call_t *call, int64_t row, int64_t column, int64_t cols)
{
    return ((uint64_t)call->rng.row + (uint64_t)row) * (uint64_t)cols + (uint64_t)column;
}

/* A uniform value in (0, 1) for an element. */
static double uniform_of(const gnn_op_call_t *call, int64_t row, int64_t column, int64_t cols)
{
    const double u =
        gnn__uniform(call->rng.seed, stream_of(call), counter_of(call, row, column, cols));
    return u > 0 ? u : 1e-18;
}

static double gumbel(double u)
{
    return -log(-log(u));
}

/* ---- noise ---- */

/* y = x + scale * noise while training, else x; dx = dy. Options: the noise, 0: Gumbel (the largest
 * of logits with it is a draw from their softmax), 1: logistic (the logit of a uniform value), 2:
 * normal, 3: uniform in [-1, 1); scale [1]. Jang et al. 2017 (Gumbel softmax); Louizos et al. 2018
 * (hard concrete gates). */

enum { GUMBEL, LOGISTIC, NORMAL, UNIFORM, KINDS };

static int noise_shape(gnn_op_call_t *call)
{
    const double kind = gnn__op_options(call)->options[0];
    GNN_TRY(gnn__op_dense(call, "noise", 0, 0, 1));
    if (!(kind >= 0 && kind < KINDS && kind == floor(kind)))
        return gnn_op_fail(call, GNN_EINVALID, "noise: the kind is %g, expected 0 to %d", kind,
                           KINDS - 1);
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    return GNN_OK;
}

static double noise_of(const gnn_op_call_t *call, int kind, int64_t r, int64_t c, int64_t cols)
{
    if (kind == NORMAL)
        return gnn__normal(call->rng.seed, stream_of(call), counter_of(call, r, c, cols));
    const double u = uniform_of(call, r, c, cols);
    if (kind == GUMBEL)
        return gumbel(u);
    return kind == LOGISTIC ? log(u) - log1p(-u) : 2 * u - 1;
}

static int noise_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int kind = (int)gnn__op_options(call)->options[0];
    const double scale = call->training ? gnn__op_option(call, 1, 1) : 0;
    const int threads = gnn__op_threads(call, 40 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double more = call->training ? scale * noise_of(call, kind, r, c, x->cols) : 0;
            gnn__row(y, r)[c] = (gnn_real_t)((double)gnn__row(x, r)[c] + more);
        }
    return GNN_OK;
}

static int noise_backward(gnn_op_call_t *call)
{
    if (gnn__wants(call, 0))
        gnn__op_send(call, 1, &call->out[0].grad, &call->in[0].grad, call->in[0].accumulate);
    return GNN_OK;
}

static const gnn_option_t noise_options[] = {
    GNN__CHOICE_OPTION("kind", KINDS - 1, "0: Gumbel, 1: logistic, 2: normal, 3: uniform"),
    GNN__REAL_OPTION("scale", 1, "")};

const gnn_op_t gnn_op_noise = {.name = "noise",
                               GNN__OPTIONS(noise_options),
                               .shape = noise_shape,
                               .forward = noise_forward,
                               .backward = noise_backward,
                               .flags = GNN_OP_ELEMENTWISE | GNN_OP_BY_ROWS};

/* ---- draw ---- */

/* A column of each row, or of each of the blocks that they divide into, drawn with the
 * probabilities softmax(x): x (n x c) -> ids (n x blocks), counted from the row's first column; -1
 * where all are minus infinity. Without training the largest, the first of equal ones. Options:
 * count of blocks [1]. No gradient passes: the score function is log softmax(x) at the id
 * (pick_columns), times the reward, as a term of the loss. Williams 1992; Xu et al. 2015. */

static int draw_shape(gnn_op_call_t *call)
{
    int64_t blocks;
    GNN_TRY(gnn__op_dense(call, "draw", 0, 0, 1));
    GNN_TRY(gnn__op_integer(call, "draw", 0, GNN__MOST_IDS, &blocks));
    GNN_TRY(gnn__op_ids_fit(call, "draw", call->in[0].cols));
    if (call->in[0].cols % blocks != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "draw: %lld columns do not divide into %lld blocks",
                           (long long)call->in[0].cols, (long long)blocks);
    gnn__op_output(call, call->in[0].rows, blocks);
    return GNN_OK;
}

static int64_t drawn_column(const gnn_op_call_t *call, int64_t r, int64_t from, int64_t to)
{
    const gnn_tensor_t *x = &call->in[0].value;
    double best = -INFINITY;
    int64_t id = -1;
    for (int64_t c = from; c < to; c++) {
        const double more = call->training ? gumbel(uniform_of(call, r, c, x->cols)) : 0,
                     score = (double)gnn__row(x, r)[c] + more;
        if (score > best) {
            best = score;
            id = c;
        }
    }
    return id;
}

static int draw_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t blocks = y->cols, each = blocks ? x->cols / blocks : 0;
    const int threads = gnn__op_threads(call, 40 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t b = 0; b < blocks; b++)
            gnn__row(y, r)[b] = (gnn_real_t)drawn_column(call, r, b * each, (b + 1) * each);
    return GNN_OK;
}

static const gnn_option_t draw_options[] = {GNN__COUNT_OPTION("blocks", GNN__MOST_IDS, "")};

const gnn_op_t gnn_op_draw = {.name = "draw",
                              GNN__OPTIONS(draw_options),
                              .shape = draw_shape,
                              .forward = draw_forward,
                              .flags = GNN_OP_BY_ROWS};
