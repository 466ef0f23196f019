/* Products with one matrix per group of rows: experts. */
#include <lib/ops/named/choices.h>
#include <lib/ops/traits.h>

/* ---- grouped_product ---- */

/* y = x W_e for each id e of a row: x (n x d), or one block per id (n x k*d), W (E*d x f, the
 * matrices stacked), ids (n x k), a bias (E x f), which may be absent -> (n x k*f); 0 for -1.
 * Without ids (GNN_NONE, or a step with two inputs) row r has the id r mod E. Options: E; 1: W
 * is (E*f x d), and y = x W_e', as PyTorch has experts.
 *
 * Rows are sorted by their id and multiplied in blocks, one dense product a block; memory grows
 * with the count of ids. A mixture of experts: Shazeer et al. 2017; Fedus et al. 2021 (Switch). */

enum { X, W, IDS, BIAS, AT_ONCE = 512 };

typedef struct {
    int64_t groups, d, f, k, pairs;
    bool own; /* x has a block per id */
    bool turned;
} grouped_t;

static grouped_t grouped_of(const gnn_op_call_t *call)
{
    const int64_t groups = (int64_t)gnn__op_option(call, 0, 1),
                  k = gnn__has_input(call, IDS) ? call->in[IDS].cols : 1;
    const bool turned = gnn__op_options(call)->options[1] != 0;
    const int64_t each = call->in[W].rows / groups, d = turned ? call->in[W].cols : each;
    return (grouped_t){.groups = groups,
                       .d = d,
                       .f = turned ? each : call->in[W].cols,
                       .k = k,
                       .pairs = call->in[X].rows * k,
                       .own = call->in[X].cols != d,
                       .turned = turned};
}

/* The scratch of a pass: the pairs by group, and a block of gathered rows on either side. */
typedef struct {
    void *sorted;
    gnn_real_t *x, *y;
} room_t;

static int room_bytes(const gnn_op_call_t *call, const grouped_t *g, size_t *bytes)
{
    gnn__carve_t carve = {0};
    const int64_t at_once = gnn__min(g->pairs, AT_ONCE);
    int64_t list, x, y;
    if (!gnn__add(g->pairs, g->groups + 2, &list) || !gnn__mul(at_once, g->d, &x) ||
        !gnn__mul(at_once, g->f, &y))
        return gnn_op_fail(call, GNN_EOVERFLOW, "grouped_product does not fit");
    gnn__carve(&carve, list, sizeof(int64_t));
    gnn__carve(&carve, x, sizeof(gnn_real_t));
    gnn__carve(&carve, y, sizeof(gnn_real_t));
    if (carve.overflow)
        return gnn_op_fail(call, GNN_EOVERFLOW, "grouped_product does not fit");
    *bytes = (size_t)carve.used;
    return GNN_OK;
}

static room_t room_of(const gnn_op_call_t *call, const grouped_t *g)
{
    gnn__carve_t carve = {.base = call->scratch};
    const int64_t at_once = gnn__min(g->pairs, AT_ONCE);
    room_t room;
    room.sorted = gnn__carve(&carve, g->pairs + g->groups + 2, sizeof(int64_t));
    room.x = gnn__carve(&carve, at_once * g->d, sizeof(gnn_real_t));
    room.y = gnn__carve(&carve, at_once * g->f, sizeof(gnn_real_t));
    return room;
}

static int grouped_product_shape(gnn_op_call_t *call)
{
    const char *name = "grouped_product";
    int64_t groups, cols;
    GNN_TRY(gnn__op_dense(call, name, 0, 3, 2));
    GNN_TRY(gnn__op_integer(call, name, 0, GNN__MOST_IDS, &groups));
    const bool ids = gnn__has_input(call, IDS);
    if (ids)
        GNN_TRY(gnn__op_expect(call, name, IDS, call->in[X].rows, call->in[IDS].cols));
    const grouped_t g = grouped_of(call);
    if (call->in[W].rows % groups != 0 || g.d < 1 || (g.own && call->in[X].cols != g.k * g.d))
        return gnn_op_fail(
            call, GNN_ESHAPE, "%s: %lld rows of weights are not %lld matrices for %lld columns",
            name, (long long)call->in[W].rows, (long long)groups, (long long)call->in[X].cols);
    if (gnn__has_input(call, BIAS))
        GNN_TRY(gnn__op_expect(call, name, BIAS, groups, g.f));
    if (!gnn__mul(g.k, g.f, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "%s: the count of columns overflows", name);
    gnn__op_output(call, call->in[X].rows, cols);
    call->in[X].keep = call->in[W].wants_grad;
    call->in[W].keep = call->in[X].wants_grad;
    if (ids)
        call->in[IDS].keep = call->recording;
    GNN_TRY(room_bytes(call, &g, &call->forward_scratch));
    call->backward_scratch = call->forward_scratch;
    return GNN_OK;
}

/* Pairs (row, block) by group; without ids as if there were a column of r mod E. */
static gnn__by_id_t sorted_pairs(const gnn_op_call_t *call, const grouped_t *g, void *block)
{
    if (gnn__has_input(call, IDS))
        return gnn__by_id(&call->in[IDS].value, g->groups, block);
    gnn__by_id_t by = {block, (int64_t *)block + g->groups + 2};
    by.start[0] = 0;
    for (int64_t e = 0; e < g->groups; e++) {
        int64_t at = by.start[e];
        for (int64_t r = e; r < g->pairs; r += g->groups)
            by.order[at++] = r;
        by.start[e + 1] = at;
    }
    return by;
}

static gnn_real_t *block_of(const gnn_tensor_t *t, const grouped_t *g, bool own, int64_t width,
                            int64_t pair)
{
    return gnn__row(t, pair / g->k) + (own ? pair % g->k * width : 0);
}

/* Rows `count` of the pairs from `at` on, copied to `to`. */
static gnn_tensor_t collect(const grouped_t *g, const gnn__by_id_t *by, int64_t at, int64_t count,
                            const gnn_tensor_t *from, bool own, int64_t width, gnn_real_t *to)
{
    for (int64_t r = 0; r < count; r++)
        memcpy(to + r * width, block_of(from, g, own, width, by->order[at + r]),
               sizeof *to * (size_t)width);
    return (gnn_tensor_t){to, count, width, width};
}

static gnn_tensor_t matrix_of(const gnn_tensor_t *w, const grouped_t *g, int64_t e)
{
    const int64_t rows = w->rows / g->groups;
    return gnn__rows(w, e * rows, rows);
}

/* ---- forward ---- */

static int multiply_block(const gnn_op_call_t *call, const grouped_t *g, const gnn__by_id_t *by,
                          const room_t *room, int64_t e, int64_t at, int64_t count)
{
    const gnn_tensor_t x = collect(g, by, at, count, &call->in[X].value, g->own, g->d, room->x),
                       w = matrix_of(&call->in[W].value, g, e), y = {room->y, count, g->f, g->f};
    const gnn_real_t *bias = gnn__has_input(call, BIAS) ? gnn__row(&call->in[BIAS].value, e) : NULL;
    GNN_TRY(gnn__op_product(call, &x, false, &w, g->turned, &y, false, bias));
    for (int64_t r = 0; r < count; r++)
        memcpy(block_of(&call->out[0].value, g, true, g->f, by->order[at + r]), room->y + r * g->f,
               sizeof *room->y * (size_t)g->f);
    return GNN_OK;
}

static void clear_unchosen(const gnn_op_call_t *call, const grouped_t *g)
{
    const gnn_tensor_t *ids = &call->in[IDS].value;
    for (int64_t r = 0; gnn__has_input(call, IDS) && r < ids->rows; r++)
        for (int64_t c = 0; c < g->k; c++)
            if (gnn__id_at(ids, r, c) < 0)
                memset(gnn__row(&call->out[0].value, r) + c * g->f, 0,
                       sizeof(gnn_real_t) * (size_t)g->f);
}

static int grouped_product_forward(gnn_op_call_t *call)
{
    const grouped_t g = grouped_of(call);
    const room_t room = room_of(call, &g);
    if (gnn__has_input(call, IDS))
        GNN_TRY(gnn__op_ids(call, "grouped_product", IDS, g.groups));
    const gnn__by_id_t by = sorted_pairs(call, &g, room.sorted);
    clear_unchosen(call, &g);
    for (int64_t e = 0; e < g.groups; e++)
        for (int64_t at = by.start[e]; g.f > 0 && at < by.start[e + 1]; at += AT_ONCE)
            GNN_TRY(multiply_block(call, &g, &by, &room, e, at,
                                   gnn__min(by.start[e + 1] - at, AT_ONCE)));
    return GNN_OK;
}

/* ---- backward ---- */

/* Adds a block of gradients of x to their rows. */
static void spread(const gnn_op_call_t *call, const grouped_t *g, const gnn__by_id_t *by,
                   const gnn_real_t *d_x, int64_t at, int64_t count)
{
    for (int64_t r = 0; r < count; r++)
        gnn__elementwise_kernels()->scale(
            g->d, 1, d_x + r * g->d, true,
            block_of(&call->in[X].grad, g, g->own, g->d, by->order[at + r]));
}

static int backward_block(const gnn_op_call_t *call, const grouped_t *g, const gnn__by_id_t *by,
                          const room_t *room, int64_t e, int64_t at, int64_t count)
{
    const gnn_tensor_t dy = collect(g, by, at, count, &call->out[0].grad, true, g->f, room->y);
    if (gnn__wants(call, X)) {
        const gnn_tensor_t w = matrix_of(&call->in[W].value, g, e),
                           d_x = {room->x, count, g->d, g->d};
        GNN_TRY(gnn__op_product(call, &dy, false, &w, !g->turned, &d_x, false, NULL));
        spread(call, g, by, room->x, at, count);
    }
    if (gnn__wants(call, W)) {
        const gnn_tensor_t x = collect(g, by, at, count, &call->in[X].value, g->own, g->d, room->x),
                           d_w = matrix_of(&call->in[W].grad, g, e);
        GNN_TRY(g->turned ? gnn__op_product(call, &dy, true, &x, false, &d_w, true, NULL)
                          : gnn__op_product(call, &x, true, &dy, false, &d_w, true, NULL));
    }
    for (int64_t r = 0; gnn__wants(call, BIAS) && r < count; r++)
        gnn__elementwise_kernels()->scale(g->f, 1, room->y + r * g->f, true,
                                          gnn__row(&call->in[BIAS].grad, e));
    return GNN_OK;
}

static int grouped_product_backward(gnn_op_call_t *call)
{
    const grouped_t g = grouped_of(call);
    const room_t room = room_of(call, &g);
    for (int k = 0; k < call->n_in; k++)
        gnn__op_begin(call, k);
    const gnn__by_id_t by = sorted_pairs(call, &g, room.sorted);
    for (int64_t e = 0; e < g.groups; e++)
        for (int64_t at = by.start[e]; g.f > 0 && at < by.start[e + 1]; at += AT_ONCE)
            GNN_TRY(backward_block(call, &g, &by, &room, e, at,
                                   gnn__min(by.start[e + 1] - at, AT_ONCE)));
    return GNN_OK;
}

/* For profiles: the products alone. */
static void grouped_product_work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const grouped_t g = grouped_of(call);
    work->flops = 2.0 * (double)g.pairs * (double)g.d * (double)g.f * (backward ? 2 : 1);
}

static const gnn__op_traits_t traits = {.row_ids = IDS, .whole = 1u << W | 1u << BIAS};
static const gnn_option_t grouped_product_options[] = {
    GNN__COUNT_OPTION("groups", GNN__MOST_IDS, "count of matrices"),
    GNN__CHOICE_OPTION("transposed", 1, "1: y = x W_e'")};

const gnn_op_t gnn_op_grouped_product = {.name = "grouped_product",
                                         GNN__OPTIONS(grouped_product_options),
                                         .shape = grouped_product_shape,
                                         .forward = grouped_product_forward,
                                         .backward = grouped_product_backward,
                                         .work = grouped_product_work,
                                         .flags = GNN_OP_BY_ROWS,
                                         .traits = &traits};

/* ---- blend_heads ---- */

/* The sum of the heads of a row, each times its weight: x (n x k*d), weights (n x k) -> (n x d).
 * What the chosen experts of a row give, by their gates. */

static int blend_heads_shape(gnn_op_call_t *call)
{
    const int64_t k = call->in[1].cols;
    GNN_TRY(gnn__op_dense(call, "blend_heads", 0, 1, 2));
    GNN_TRY(gnn__op_expect(call, "blend_heads", 1, call->in[0].rows, k));
    if (k < 1 || call->in[0].cols % k != 0)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "blend_heads: %lld columns do not divide into %lld heads",
                           (long long)call->in[0].cols, (long long)k);
    gnn__op_output(call, call->in[0].rows, call->in[0].cols / k);
    call->in[0].keep = call->in[1].wants_grad;
    call->in[1].keep = call->in[0].wants_grad;
    return GNN_OK;
}

static int blend_heads_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *w = &call->in[1].value, *y = &call->out[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int threads = gnn__op_threads(call, 2 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < y->rows; r++)
        for (int64_t a = 0; a < w->cols; a++)
            kernels->scale(y->cols, gnn__row(w, r)[a], gnn__row(x, r) + a * y->cols, a > 0,
                           gnn__row(y, r));
    return GNN_OK;
}

static void blend_grad(const gnn_op_call_t *call, int64_t r)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    const gnn_real_t *dy = gnn__row(&call->out[0].grad, r);
    const int64_t d = call->out[0].grad.cols;
    for (int64_t a = 0; a < w->cols; a++) {
        if (gnn__wants(call, 0))
            kernels->scale(d, gnn__row(&w->value, r)[a], dy, x->accumulate != 0,
                           gnn__row(&x->grad, r) + a * d);
        if (gnn__wants(call, 1)) {
            gnn_real_t *to = gnn__row(&w->grad, r) + a;
            *to = (w->accumulate ? *to : 0) +
                  (gnn_real_t)kernels->dot(d, gnn__row(&x->value, r) + a * d, dy);
        }
    }
}

static int blend_heads_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int threads = gnn__op_threads(call, 4 * call->in[0].rows * call->in[0].cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < dy->rows; r++)
        blend_grad(call, r);
    return GNN_OK;
}

const gnn_op_t gnn_op_blend_heads = {.name = "blend_heads",
                                     GNN__NO_OPTIONS,
                                     .shape = blend_heads_shape,
                                     .forward = blend_heads_forward,
                                     .backward = blend_heads_backward,
                                     .flags = GNN_OP_BY_ROWS};
