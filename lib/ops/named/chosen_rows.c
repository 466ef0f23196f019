/* Ops on the rows that ids name: products with them, weighted sums of them, copies and sums. Memory
 * grows with the count of ids, and every row's gradient has one owner, so results do not depend on
 * the count of threads. */
#include <lib/ops/named/choices.h>

/* ---- score_rows, weigh_rows ---- */

/* Rows of heads against rows that ids name. Coefficients (n x H*k): those of head h in columns
 * h*k ... Ids are (n x k), shared by the heads, or (n x H*k). Heads of x may be fewer: they are
 * shared. */
typedef struct {
    const gnn_tensor_t *ids, *x;
    int64_t heads, per, width, k; /* per: heads that share one of x; width: of a head */
    bool own;                     /* every head has its own ids */
} listed_t;

enum { FIRST, ROWS, IDS };

static listed_t listed_of(const gnn_op_call_t *call, int64_t width, int64_t k)
{
    const int64_t heads = (int64_t)gnn__op_option(call, 0, 1),
                  x_heads = width > 0 ? call->in[ROWS].cols / width : heads;
    return (listed_t){&call->in[IDS].value,
                      &call->in[ROWS].value,
                      heads,
                      x_heads > 0 ? heads / x_heads : 1,
                      width,
                      k,
                      call->in[IDS].cols != k};
}

static inline int64_t listed_id(const listed_t *l, int64_t i, int64_t a, int64_t s)
{
    return gnn__id_at(l->ids, i, l->own ? a * l->k + s : s);
}

static inline const gnn_real_t *listed_row(const listed_t *l, int64_t id, int64_t a)
{
    return gnn__row(l->x, id) + a / l->per * l->width;
}

/* coefficients = row . x, or `none` for -1. */
static void dots(const listed_t *l, int64_t i, const gnn_real_t *row, gnn_real_t none, bool add,
                 gnn_real_t *coefficients)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    for (int64_t a = 0; a < l->heads; a++)
        for (int64_t s = 0; s < l->k; s++) {
            const int64_t id = listed_id(l, i, a, s);
            const gnn_real_t y = id < 0 ? none
                                        : (gnn_real_t)kernels->dot(l->width, row + a * l->width,
                                                                   listed_row(l, id, a));
            coefficients[a * l->k + s] = add ? coefficients[a * l->k + s] + y : y;
        }
}

/* row += coefficients x. */
static void sums(const listed_t *l, int64_t i, const gnn_real_t *coefficients, gnn_real_t *row)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    for (int64_t a = 0; a < l->heads; a++)
        for (int64_t s = 0; s < l->k; s++) {
            const int64_t id = listed_id(l, i, a, s);
            if (id >= 0)
                kernels->scale(l->width, coefficients[a * l->k + s], listed_row(l, id, a), true,
                               row + a * l->width);
        }
}

/* d_x of one row += coefficients times the rows of `of` that named it. */
static void send_back(const listed_t *l, const gnn__by_id_t *by, int64_t id,
                      const gnn_tensor_t *coefficients, const gnn_tensor_t *of, gnn_real_t *d_x)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t cols = l->ids->cols;
    for (int64_t at = by->start[id]; at < by->start[id + 1]; at++) {
        const int64_t i = by->order[at] / cols, c = by->order[at] % cols,
                      first = l->own ? c / l->k : 0, last = l->own ? first + 1 : l->heads;
        for (int64_t a = first; a < last; a++)
            kernels->scale(l->width, gnn__row(coefficients, i)[a * l->k + c % l->k],
                           gnn__row(of, i) + a * l->width, true, d_x + a / l->per * l->width);
    }
}

static void send_all_back(const gnn_op_call_t *call, const listed_t *l,
                          const gnn_tensor_t *coefficients, const gnn_tensor_t *of)
{
    const gnn_tensor_t *d_x = &call->in[ROWS].grad;
    if (!gnn__wants(call, ROWS))
        return;
    const gnn__by_id_t by = gnn__by_id(l->ids, d_x->rows, call->scratch);
    const int threads = gnn__op_threads(call, 2 * l->ids->rows * l->heads * l->k * l->width);
    GNN__PARALLEL_FOR (threads, int64_t j = 0; j < d_x->rows; j++)
        send_back(l, &by, j, coefficients, of, gnn__row(d_x, j));
}

/* Checks heads, ids (n x k or H*k), and the rows of x, of width `width` a head. */
static int check_listed(gnn_op_call_t *call, const char *name, int64_t heads, int64_t width)
{
    const int64_t x_heads = width > 0 ? call->in[ROWS].cols / width : 0;
    if (width == 0 || call->in[ROWS].cols % width != 0 || x_heads == 0 || heads % x_heads != 0)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "%s: rows of %lld columns do not fit %lld heads of width %lld", name,
                           (long long)call->in[ROWS].cols, (long long)heads, (long long)width);
    GNN_TRY(gnn__op_expect(call, name, IDS, call->in[FIRST].rows, call->in[IDS].cols));
    return GNN_OK;
}

static int listed_output(gnn_op_call_t *call, int64_t cols)
{
    gnn__op_output(call, call->in[FIRST].rows, cols);
    for (int k = 0; k < 3; k++)
        call->in[k].keep = call->recording;
    return gnn__by_id_bytes(call, IDS, call->in[ROWS].rows, &call->backward_scratch);
}

/* For profiles: a multiply-add per id, head and column. */
static double listed_flops(const listed_t *l)
{
    double named = 0;
    for (int64_t i = 0; l->ids->data && i < l->ids->rows; i++)
        for (int64_t c = 0; c < l->ids->cols; c++)
            named += gnn__id_at(l->ids, i, c) >= 0;
    return 2 * named * (double)(l->own ? l->width : l->heads * l->width);
}

/* score_rows: products of each head of a query with the keys that ids name: q (n x H*d), keys (m x
 * H*d, or fewer heads), ids (n x k or n x H*k) -> (n x H*k); minus infinity for -1, which a softmax
 * gives weight 0. Options: H [1]; 1: each head has its own ids. Attention among chosen senders is
 * softmax_rows of it, then weigh_rows. */

static int64_t score_k(const gnn_op_call_t *call)
{
    const int64_t heads = (int64_t)gnn__op_option(call, 0, 1);
    return gnn__op_options(call)->options[1] != 0 ? call->in[IDS].cols / heads : call->in[IDS].cols;
}

static int score_rows_shape(gnn_op_call_t *call)
{
    int64_t heads, cols;
    GNN_TRY(gnn__op_dense(call, "score_rows", 0, 2, 3));
    GNN_TRY(gnn__op_heads(call, "score_rows", &heads));
    GNN_TRY(check_listed(call, "score_rows", heads, call->in[FIRST].cols / heads));
    if (gnn__op_options(call)->options[1] != 0 && call->in[IDS].cols % heads != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "score_rows: %lld ids do not divide into %lld heads",
                           (long long)call->in[IDS].cols, (long long)heads);
    if (!gnn__mul(heads, score_k(call), &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "score_rows: the count of columns overflows");
    return listed_output(call, cols);
}

static int score_rows_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *q = &call->in[FIRST].value, *y = &call->out[0].value;
    const listed_t l = listed_of(call, q->cols / (int64_t)gnn__op_option(call, 0, 1), score_k(call));
    GNN_TRY(gnn__op_ids(call, "score_rows", IDS, l.x->rows));
    const int threads = gnn__op_threads(call, 2 * y->rows * y->cols * l.width);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < y->rows; i++)
        dots(&l, i, gnn__row(q, i), -INFINITY, false, gnn__row(y, i));
    return GNN_OK;
}

static int score_rows_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *q = &call->in[FIRST].value, *dy = &call->out[0].grad;
    const listed_t l = listed_of(call, q->cols / (int64_t)gnn__op_option(call, 0, 1), score_k(call));
    for (int k = 0; k < 3; k++)
        gnn__op_begin(call, k);
    const int threads = gnn__op_threads(call, 2 * dy->rows * dy->cols * l.width);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < (gnn__wants(call, FIRST) ? dy->rows : 0); i++)
        sums(&l, i, gnn__row(dy, i), gnn__row(&call->in[FIRST].grad, i));
    send_all_back(call, &l, dy, q);
    return GNN_OK;
}

static void score_rows_work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const listed_t l =
        listed_of(call, call->in[FIRST].cols / (int64_t)gnn__op_option(call, 0, 1), score_k(call));
    work->flops = (backward ? 2 : 1) * listed_flops(&l);
}

static const gnn_option_t score_rows_options[] = {
    GNN__COUNT_OPTION("heads", INT32_MAX, ""),
    GNN__CHOICE_OPTION("own", 1, "1: each head has its own ids")};

const gnn_op_t gnn_op_score_rows = {.name = "score_rows",
                                    GNN__OPTIONS(score_rows_options),
                                    .shape = score_rows_shape,
                                    .forward = score_rows_forward,
                                    .work = score_rows_work,
                                    .backward = score_rows_backward};

/* weigh_rows: weighted sums of the rows that ids name: weights (n x H*k), values (m x V*d), ids
 * (n x k or n x H*k) -> (n x H*d). Options: H [1], V [H]. */

static int64_t value_width(const gnn_op_call_t *call)
{
    const double heads = gnn__op_option(call, 0, 1);
    return call->in[ROWS].cols / (int64_t)gnn__op_option(call, 1, heads);
}

static int weigh_rows_shape(gnn_op_call_t *call)
{
    int64_t heads, value_heads, cols;
    GNN_TRY(gnn__op_dense(call, "weigh_rows", 0, 2, 3));
    GNN_TRY(gnn__op_heads(call, "weigh_rows", &heads));
    GNN_TRY(gnn__op_integer(call, "weigh_rows", 1, INT32_MAX, &value_heads));
    GNN_TRY(check_listed(call, "weigh_rows", heads, value_width(call)));
    const int64_t k = call->in[FIRST].cols / heads;
    if (call->in[IDS].cols != k && call->in[IDS].cols != call->in[FIRST].cols)
        return gnn_op_fail(call, GNN_ESHAPE, "weigh_rows expects %lld or %lld ids, got %lld",
                           (long long)k, (long long)call->in[FIRST].cols,
                           (long long)call->in[IDS].cols);
    if (!gnn__mul(heads, value_width(call), &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "weigh_rows: the count of columns overflows");
    return listed_output(call, cols);
}

static listed_t weighed_of(const gnn_op_call_t *call)
{
    return listed_of(call, value_width(call),
                     call->in[FIRST].cols / (int64_t)gnn__op_option(call, 0, 1));
}

static int weigh_rows_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *w = &call->in[FIRST].value, *y = &call->out[0].value;
    const listed_t l = weighed_of(call);
    GNN_TRY(gnn__op_ids(call, "weigh_rows", IDS, l.x->rows));
    const int threads = gnn__op_threads(call, 2 * w->rows * w->cols * l.width);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < y->rows; i++) {
        memset(gnn__row(y, i), 0, sizeof(gnn_real_t) * (size_t)y->cols);
        sums(&l, i, gnn__row(w, i), gnn__row(y, i));
    }
    return GNN_OK;
}

static int weigh_rows_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *w = &call->in[FIRST].value, *dy = &call->out[0].grad;
    const listed_t l = weighed_of(call);
    for (int k = 0; k < 3; k++)
        gnn__op_begin(call, k);
    const int threads = gnn__op_threads(call, 2 * w->rows * w->cols * l.width);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < (gnn__wants(call, FIRST) ? dy->rows : 0); i++)
        dots(&l, i, gnn__row(dy, i), 0, true, gnn__row(&call->in[FIRST].grad, i));
    send_all_back(call, &l, w, dy);
    return GNN_OK;
}

static void weigh_rows_work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const listed_t l = weighed_of(call);
    work->flops = (backward ? 2 : 1) * listed_flops(&l);
}

static const gnn_option_t weigh_rows_options[] = {
    GNN__COUNT_OPTION("heads", INT32_MAX, ""),
    {"value_heads", 0, 0, INT32_MAX, "0: heads", GNN_OPTION_INTEGER}};

const gnn_op_t gnn_op_weigh_rows = {.name = "weigh_rows",
                                    GNN__OPTIONS(weigh_rows_options),
                                    .shape = weigh_rows_shape,
                                    .forward = weigh_rows_forward,
                                    .work = weigh_rows_work,
                                    .backward = weigh_rows_backward};

/* ---- gather_rows, scatter_rows ---- */

/* y (n x k*d) = or += the rows of x that ids (n x k) name, concatenated; 0 for -1. */
static void gather(const gnn_op_call_t *call, const gnn_tensor_t *x, const gnn_tensor_t *ids,
                   bool add, const gnn_tensor_t *y)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t d = x->cols;
    const int threads = gnn__op_threads(call, y->rows * y->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < y->rows; r++)
        for (int64_t c = 0; c < ids->cols; c++) {
            gnn_real_t *to = gnn__row(y, r) + c * d;
            if (gnn__id_at(ids, r, c) >= 0)
                kernels->scale(d, 1, gnn__row(x, gnn__id_at(ids, r, c)), add, to);
            else if (!add)
                memset(to, 0, sizeof *to * (size_t)d);
        }
}

/* The reverse: x = or += the sums of the blocks of y whose id is the row's. `block` has
 * gnn__by_id_bytes. */
static void scatter(const gnn_op_call_t *call, const gnn_tensor_t *y, const gnn_tensor_t *ids,
                    bool add, const gnn_tensor_t *x, void *block)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t d = x->cols, k = ids->cols;
    const gnn__by_id_t by = gnn__by_id(ids, x->rows, block);
    const int threads = gnn__op_threads(call, y->rows * y->cols);
    GNN__PARALLEL_FOR (threads, int64_t j = 0; j < x->rows; j++) {
        if (!add)
            memset(gnn__row(x, j), 0, sizeof(gnn_real_t) * (size_t)d);
        for (int64_t at = by.start[j]; at < by.start[j + 1]; at++)
            kernels->scale(d, 1, gnn__row(y, by.order[at] / k) + by.order[at] % k * d, true,
                           gnn__row(x, j));
    }
}

/* gather_rows: x (m x d), ids (n x k) -> the rows that they name, concatenated (n x k*d); 0 for
 * -1. */

static int gather_rows_shape(gnn_op_call_t *call)
{
    int64_t cols;
    GNN_TRY(gnn__op_dense(call, "gather_rows", 0, 1, 2));
    if (!gnn__mul(call->in[0].cols, call->in[1].cols, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "gather_rows: the count of columns overflows");
    gnn__op_output(call, call->in[1].rows, cols);
    call->in[1].keep = call->recording;
    return gnn__by_id_bytes(call, 1, call->in[0].rows, &call->backward_scratch);
}

static int gather_rows_forward(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_ids(call, "gather_rows", 1, call->in[0].rows));
    gather(call, &call->in[0].value, &call->in[1].value, false, &call->out[0].value);
    return GNN_OK;
}

static int gather_rows_backward(gnn_op_call_t *call)
{
    gnn__op_begin(call, 1);
    if (gnn__wants(call, 0))
        scatter(call, &call->out[0].grad, &call->in[1].value, call->in[0].accumulate != 0,
                &call->in[0].grad, call->scratch);
    return GNN_OK;
}

const gnn_op_t gnn_op_gather_rows = {.name = "gather_rows",
                                     GNN__NO_OPTIONS,
                                     .shape = gather_rows_shape,
                                     .forward = gather_rows_forward,
                                     .backward = gather_rows_backward};

/* scatter_rows: y (n x k*d), ids (n x k), a value (m x any), of which only the count of rows is
 * read -> (m x d), each row the sum of the blocks of y whose id it is. */

static int scatter_rows_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "scatter_rows", 0, 2, 3));
    const int64_t k = call->in[1].cols;
    GNN_TRY(gnn__op_expect(call, "scatter_rows", 1, call->in[0].rows, k));
    if (k < 1 || call->in[0].cols % k != 0)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "scatter_rows: %lld columns do not divide into %lld blocks",
                           (long long)call->in[0].cols, (long long)k);
    gnn__op_output(call, call->in[2].rows, call->in[0].cols / k);
    call->in[1].keep = call->recording;
    return gnn__by_id_bytes(call, 1, call->in[2].rows, &call->forward_scratch);
}

static int scatter_rows_forward(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_ids(call, "scatter_rows", 1, call->in[2].rows));
    scatter(call, &call->in[0].value, &call->in[1].value, false, &call->out[0].value, call->scratch);
    return GNN_OK;
}

static int scatter_rows_backward(gnn_op_call_t *call)
{
    gnn__op_begin(call, 1);
    gnn__op_begin(call, 2);
    if (gnn__wants(call, 0))
        gather(call, &call->out[0].grad, &call->in[1].value, call->in[0].accumulate != 0,
               &call->in[0].grad);
    return GNN_OK;
}

const gnn_op_t gnn_op_scatter_rows = {.name = "scatter_rows",
                                      GNN__NO_OPTIONS,
                                      .shape = scatter_rows_shape,
                                      .forward = scatter_rows_forward,
                                      .backward = scatter_rows_backward};
