/* Linear attention on spans: y_i = scale sum over j of (q_i . k_j) v_j.
 *
 * The sum over senders that several receivers have in common is one matrix, M = sum of k_j v_j',
 * and their outputs are scale q_i M; spans move to the right only, so that M grows from one chunk
 * of receivers to the next, and what the chunk's receivers do not have in common is summed pair by
 * pair, as a masked product:
 *
 *     senders        lo of the first   lo of the last      hi of the first   hi of the last
 *     row 0                 |=================================|
 *     ...                        |===============================|
 *     last row                              |================================|
 *                           |--- masked ----|----- in M -------|--- masked --|
 *
 * Complete and bipartite graphs have no masked part, causal ones one of a chunk's length:
 * O((receivers + senders) d_k d_v). A window is summed anew for each chunk, or as masked products
 * where that is cheaper. Nothing is saved. Every pass has the same form, by receiver or by sender,
 * out_r += scale sum over c of (a_r . b_c) c_c:
 *
 *     y = (q, k, v)      d_q = (d_y, v, k)      d_v = (k, q, d_y)      d_k = (v, d_y, q)
 *
 * Katharopoulos et al. 2020; chunks as in Hua et al. 2022 (FLASH). */
#include <lib/aggregate/strategies.h>
#include <lib/kernels/dense/dense.h>

#include <omp.h>

/* Rows of a chunk whose spans differ, and columns of one masked product. */
enum { ROWS = 64, PIECE = 128 };

/* A head's columns of a matrix; those of the next head follow `width` columns later. */
typedef struct head {
    gnn_real_t *data; /* of row 0 */
    int64_t stride, width;
} head_t;

/* out_r += scale sum over c of (a_r . b_c) c_c for `heads` heads of a and out, which share b and c.
 * Rows are pairs->n_rows, columns pairs->n_cols. */
typedef struct term {
    const gnn__pairs_t *pairs;
    head_t a, b, c, out; /* of widths d_b, d_b, d_c, d_c */
    int64_t heads;
    gnn_real_t scale;
} term_t;

/* Columns lo .. hi - 1. */
typedef struct range {
    int64_t lo, hi;
} range_t;

/* Rows row0 .. row1 - 1: what all of them have, and what some row has. */
typedef struct chunk {
    int64_t row0, row1;
    range_t common, any;
} chunk_t;

/* One thread's memory. */
typedef struct state {
    gnn_real_t *m;          /* (d_b x d_c) sum of b_c c_c' over `sums` */
    gnn_real_t *transposed; /* (d_b x PIECE) */
    gnn_real_t *products;   /* (ROWS x PIECE) */
    range_t sums;
} state_t;

/* ---- chunks ---- */

static bool is_empty(const gnn__pairs_t *pairs, int64_t row)
{
    return pairs->lo[row] >= pairs->hi[row];
}

/* The first row of the run after the one that begins with `row`: rows of a run overlap each other's
 * spans one after another, and two runs have no column in common. */
static int64_t run_end(const gnn__pairs_t *pairs, int64_t row)
{
    int64_t reached = -1;
    for (; row < pairs->n_rows; row++) {
        if (is_empty(pairs, row))
            continue;
        if (reached >= 0 && pairs->lo[row] >= reached)
            break;
        reached = pairs->hi[row];
    }
    return row;
}

static int64_t count_runs(const gnn__pairs_t *pairs)
{
    int64_t count = 0;
    for (int64_t row = 0; row < pairs->n_rows; row = run_end(pairs, row))
        count++;
    return count;
}

/* M only grows if rows are taken in the order in which their spans grow: from the last row up where
 * the spans of the run end together. */
static bool grows_downwards(const gnn__pairs_t *pairs, int64_t row0, int64_t row1)
{
    while (row0 < row1 && is_empty(pairs, row0))
        row0++;
    while (row0 < row1 && is_empty(pairs, row1 - 1))
        row1--;
    return row0 >= row1 || pairs->hi[row0] != pairs->hi[row1 - 1] ||
           pairs->lo[row0] == pairs->lo[row1 - 1];
}

/* The chunk at one end of the rows *row0 .. *row1 - 1, which it is taken from. False: none is left.
 * Rows with equal spans make a chunk of any length. */
static bool take_chunk(const gnn__pairs_t *pairs, bool downwards, int64_t *row0, int64_t *row1,
                       chunk_t *c)
{
    while (*row0 < *row1 && is_empty(pairs, downwards ? *row0 : *row1 - 1))
        downwards ? (*row0)++ : (*row1)--;
    if (*row0 >= *row1)
        return false;
    const int64_t step = downwards ? 1 : -1, left = *row1 - *row0,
                  first = downwards ? *row0 : *row1 - 1;
    const int32_t lo = pairs->lo[first], hi = pairs->hi[first];
    int64_t n = 1;
    while (n < left && pairs->lo[first + n * step] == lo && pairs->hi[first + n * step] == hi)
        n++;
    if (n == 1)
        for (; n < left && n < ROWS; n++) {
            const int64_t row = first + n * step;
            if (is_empty(pairs, row) || pairs->lo[row] >= hi || pairs->hi[row] <= lo)
                break;
        }
    const int64_t last = first + (n - 1) * step;
    c->row0 = downwards ? first : last;
    c->row1 = c->row0 + n;
    c->common = (range_t){pairs->lo[c->row1 - 1], pairs->hi[c->row0]};
    c->any = (range_t){pairs->lo[c->row0], pairs->hi[c->row1 - 1]};
    *(downwards ? row0 : row1) = downwards ? c->row1 : c->row0;
    return true;
}

/* ---- whether M is worth it ---- */

/* Does M hold columns that are not wanted? Then it is summed anew. */
static bool starts_anew(range_t sums, range_t wanted)
{
    return sums.lo >= sums.hi || sums.lo < wanted.lo || sums.hi > wanted.hi;
}

static double missing(range_t sums, range_t wanted)
{
    const int64_t all = wanted.hi - wanted.lo;
    return (double)(starts_anew(sums, wanted) ? all : all - (sums.hi - sums.lo));
}

/* Multiply-adds of the common columns of a chunk: through M, which holds `sums` before, or pair by
 * pair. */
static double cost_through(const chunk_t *c, int64_t heads, double d_b, double d_c, range_t sums)
{
    return (missing(sums, c->common) + (double)((c->row1 - c->row0) * heads)) * d_b * d_c;
}

static double cost_by_pairs(const chunk_t *c, int64_t heads, double d_b, double d_c, range_t columns)
{
    return (double)((c->row1 - c->row0) * heads) * (double)(columns.hi - columns.lo) * (d_b + d_c);
}

static bool is_through(const chunk_t *c, int64_t heads, double d_b, double d_c, range_t sums)
{
    return cost_through(c, heads, d_b, d_c, sums) <= cost_by_pairs(c, heads, d_b, d_c, c->common);
}

static double cost_of(const gnn__pairs_t *pairs, int64_t heads, double d_b, double d_c)
{
    double cost = 0;
    for (int64_t begin = 0, end; begin < pairs->n_rows; begin = end) {
        int64_t row0 = begin, row1 = end = run_end(pairs, begin);
        const bool downwards = grows_downwards(pairs, row0, row1);
        range_t sums = {0};
        chunk_t c;
        while (take_chunk(pairs, downwards, &row0, &row1, &c)) {
            cost += cost_by_pairs(&c, heads, d_b, d_c, c.any);
            if (!is_through(&c, heads, d_b, d_c, sums))
                continue;
            cost += cost_through(&c, heads, d_b, d_c, sums) -
                    cost_by_pairs(&c, heads, d_b, d_c, c.common);
            sums = c.common;
        }
    }
    return cost;
}

/* ---- one chunk ---- */

static gnn_real_t *row_of(const head_t *h, int64_t row, int64_t head)
{
    return h->data + row * h->stride + head * h->width;
}

/* M += sum of b_c c_c' over lo .. hi - 1 */
static void add_to_sums(const term_t *t, state_t *s, int64_t lo, int64_t hi)
{
    if (lo >= hi)
        return;
    gnn__gemm_block_kernels()->multiply(&(gnn__gemm_block_t){.m = t->b.width,
                                                             .n = t->c.width,
                                                             .k = hi - lo,
                                                             .a = row_of(&t->b, lo, 0),
                                                             .a_row = 1,
                                                             .a_col = t->b.stride,
                                                             .b = row_of(&t->c, lo, 0),
                                                             .ldb = t->c.stride,
                                                             .c = s->m,
                                                             .ldc = t->c.width,
                                                             .alpha = 1});
}

static void move_sums(const term_t *t, state_t *s, range_t wanted)
{
    if (starts_anew(s->sums, wanted)) {
        memset(s->m, 0, sizeof *s->m * (size_t)(t->b.width * t->c.width));
        s->sums = (range_t){wanted.lo, wanted.lo};
    }
    add_to_sums(t, s, wanted.lo, s->sums.lo);
    add_to_sums(t, s, s->sums.hi, wanted.hi);
    s->sums = wanted;
}

/* out_r += scale a_r M */
static void add_through_sums(const term_t *t, const state_t *s, const chunk_t *c)
{
    for (int64_t h = 0; h < t->heads; h++)
        gnn__gemm_block_kernels()->multiply(&(gnn__gemm_block_t){.m = c->row1 - c->row0,
                                                                 .n = t->c.width,
                                                                 .k = t->b.width,
                                                                 .a = row_of(&t->a, c->row0, h),
                                                                 .a_row = t->a.stride,
                                                                 .a_col = 1,
                                                                 .b = s->m,
                                                                 .ldb = t->c.width,
                                                                 .c = row_of(&t->out, c->row0, h),
                                                                 .ldc = t->out.stride,
                                                                 .alpha = t->scale});
}

/* products (rows x piece) = a_r . b_c, 0 where c is not in row r's span */
static void multiply_pairs(const term_t *t, const state_t *s, int64_t row0, int64_t rows,
                           range_t piece, int64_t head)
{
    const int64_t n = piece.hi - piece.lo;
    memset(s->products, 0, sizeof *s->products * (size_t)(rows * n));
    gnn__gemm_block_kernels()->multiply(&(gnn__gemm_block_t){.m = rows,
                                                             .n = n,
                                                             .k = t->b.width,
                                                             .a = row_of(&t->a, row0, head),
                                                             .a_row = t->a.stride,
                                                             .a_col = 1,
                                                             .b = s->transposed,
                                                             .ldb = n,
                                                             .c = s->products,
                                                             .ldc = n,
                                                             .alpha = t->scale});
    for (int64_t r = 0; r < rows; r++) {
        gnn_real_t *product = s->products + r * n;
        const int64_t lo = gnn__max(t->pairs->lo[row0 + r] - piece.lo, 0),
                      hi = gnn__max(gnn__min(t->pairs->hi[row0 + r] - piece.lo, n), 0);
        memset(product, 0, sizeof *product * (size_t)gnn__min(lo, n));
        memset(product + hi, 0, sizeof *product * (size_t)(n - hi));
    }
}

/* rows x piece of products, from row0 on, times the piece's rows of c */
static void add_products(const term_t *t, const gnn_real_t *products, int64_t row0, int64_t rows,
                         int64_t stride, range_t columns, int64_t head)
{
    gnn__gemm_block_kernels()->multiply(&(gnn__gemm_block_t){.m = rows,
                                                             .n = t->c.width,
                                                             .k = columns.hi - columns.lo,
                                                             .a = products,
                                                             .a_row = stride,
                                                             .a_col = 1,
                                                             .b = row_of(&t->c, columns.lo, 0),
                                                             .ldb = t->c.stride,
                                                             .c = row_of(&t->out, row0, head),
                                                             .ldc = t->out.stride,
                                                             .alpha = 1});
}

/* If a row of c is not finite, 0 times it would be NaN: each row then multiplies the columns of
 * its own span only. */
static void add_by_row(const term_t *t, const state_t *s, int64_t row0, int64_t rows, range_t piece,
                       int64_t head)
{
    const int64_t n = piece.hi - piece.lo;
    for (int64_t r = 0; r < rows; r++) {
        const range_t own = {gnn__max(t->pairs->lo[row0 + r], piece.lo),
                             gnn__min(t->pairs->hi[row0 + r], piece.hi)};
        if (own.lo < own.hi)
            add_products(t, s->products + r * n + own.lo - piece.lo, row0 + r, 1, n, own, head);
    }
}

/* transposed (d_b x piece) = b'. Returns whether all of the piece's rows of c are finite. */
static bool load_piece(const term_t *t, const state_t *s, range_t piece)
{
    const int64_t n = piece.hi - piece.lo;
    gnn_real_t zero = 0;
    for (int64_t j = 0; j < n; j++) {
        const gnn_real_t *b = row_of(&t->b, piece.lo + j, 0), *c = row_of(&t->c, piece.lo + j, 0);
        for (int64_t d = 0; d < t->b.width; d++)
            s->transposed[d * n + j] = b[d];
        for (int64_t d = 0; d < t->c.width; d++)
            zero += c[d] * 0;
    }
    return zero == 0;
}

/* out_r += sum over the piece's columns in row r's span of scale (a_r . b_c) c_c */
static void add_piece(const term_t *t, const state_t *s, const chunk_t *c, range_t piece)
{
    const bool finite = load_piece(t, s, piece);
    for (int64_t row0 = c->row0; row0 < c->row1; row0 += ROWS)
        for (int64_t h = 0; h < t->heads; h++) {
            const int64_t rows = gnn__min(ROWS, c->row1 - row0);
            multiply_pairs(t, s, row0, rows, piece, h);
            if (finite)
                add_products(t, s->products, row0, rows, piece.hi - piece.lo, piece, h);
            else
                add_by_row(t, s, row0, rows, piece, h);
        }
}

static void add_pairs(const term_t *t, const state_t *s, const chunk_t *c, int64_t lo, int64_t hi)
{
    for (; lo < hi; lo += PIECE)
        add_piece(t, s, c, (range_t){lo, gnn__min(lo + PIECE, hi)});
}

/* The rows of one run. */
static void run_rows(const term_t *t, state_t *s, int64_t row0, int64_t row1)
{
    const bool downwards = grows_downwards(t->pairs, row0, row1);
    const double d_b = (double)t->b.width, d_c = (double)t->c.width;
    chunk_t c;
    s->sums = (range_t){0};
    while (take_chunk(t->pairs, downwards, &row0, &row1, &c)) {
        if (!is_through(&c, t->heads, d_b, d_c, s->sums)) {
            add_pairs(t, s, &c, c.any.lo, c.any.hi);
            continue;
        }
        move_sums(t, s, c.common);
        add_through_sums(t, s, &c);
        add_pairs(t, s, &c, c.any.lo, c.common.lo);
        add_pairs(t, s, &c, c.common.hi, c.any.hi);
    }
}

/* ---- passes over all runs and heads ---- */

typedef enum pass { FORWARD, QUERIES, MESSAGES, KEYS } pass_t;

typedef struct run {
    int64_t *begin;      /* (runs + 1) first rows */
    gnn_real_t *scratch; /* (threads x scratch_size) */
    int64_t scratch_size, sums_size, transposed_size;
} run_t;

static int64_t most_runs(const gnn__plan_t *plan, bool backward)
{
    int64_t most = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        for (int side = 0; side < (backward && plan->view->transposed ? 2 : 1); side++)
            most = gnn__max(most, count_runs(&gnn__part_of(plan, p, side)->pairs));
    return most;
}

static int memory(const gnn__plan_t *plan, void *scratch, bool backward, run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const int64_t widest = gnn__max(plan->shape.d_k, plan->shape.d_v);
    int64_t all = 0;
    carve.overflow |= !gnn__mul(plan->shape.d_k, plan->shape.d_v, &run->sums_size) ||
                      !gnn__mul(widest, PIECE, &run->transposed_size);
    run->sums_size = gnn__round_up(run->sums_size, 16);
    run->scratch_size = run->sums_size + run->transposed_size + ROWS * PIECE;
    carve.overflow |= !gnn__mul(run->scratch_size, plan->threads, &all);
    run->begin = gnn__carve(&carve, most_runs(plan, backward) + 1, sizeof *run->begin);
    run->scratch = gnn__carve(&carve, all, sizeof *run->scratch);
    return gnn__carved(&carve, bytes);
}

static head_t heads_of(const gnn_tensor_t *t, int64_t first, int64_t width)
{
    return (head_t){t->data + first * width, t->stride, width};
}

/* Matrices that the pass reads and writes for one head of keys and values, and the query heads
 * from `a` on, one after another where they add to the same rows. */
static term_t term_of(const gnn__plan_t *plan, const gnn__pairs_t *pairs, pass_t pass,
                      int64_t shared, int64_t a)
{
    const int64_t d_k = plan->shape.d_k, d_v = plan->shape.d_v,
                  each = plan->shape.heads / plan->shape.key_heads;
    const head_t q = heads_of(&plan->in[GNN_AGGREGATE_QUERY], a, d_k),
                 k = heads_of(&plan->in[GNN_AGGREGATE_KEY], shared, d_k),
                 v = heads_of(&plan->in[GNN_AGGREGATE_SRC_MESSAGE], shared, d_v);
    const gnn_real_t scale = plan->shape.scale;
    if (pass == FORWARD)
        return (term_t){pairs, q, k, v, heads_of(&plan->out, a, d_v), each, scale};
    const head_t d_y = heads_of(&plan->d_out, a, d_v);
    switch (pass) {
    case QUERIES:
        return (term_t){pairs, d_y,  v, k, heads_of(&plan->d[GNN_AGGREGATE_QUERY], a, d_k),
                        each,  scale};
    case MESSAGES:
        return (term_t){
            pairs, k, q, d_y, heads_of(&plan->d[GNN_AGGREGATE_SRC_MESSAGE], shared, d_v), 1, scale};
    default:
        return (term_t){pairs, v,    d_y, q, heads_of(&plan->d[GNN_AGGREGATE_KEY], shared, d_k),
                        1,     scale};
    }
}

static void run_unit(const gnn__plan_t *plan, const run_t *run, const gnn__pairs_t *pairs,
                     pass_t pass, int64_t unit)
{
    const int64_t shared = unit % plan->shape.key_heads, r = unit / plan->shape.key_heads,
                  each = plan->shape.heads / plan->shape.key_heads;
    gnn_real_t *scratch = run->scratch + omp_get_thread_num() * run->scratch_size;
    state_t s = {.m = scratch,
                 .transposed = scratch + run->sums_size,
                 .products = scratch + run->sums_size + run->transposed_size};
    const bool by_receiver = pass == FORWARD || pass == QUERIES;
    for (int64_t a = shared * each; a < (shared + 1) * each; a += by_receiver ? each : 1) {
        const term_t t = term_of(plan, pairs, pass, shared, a);
        run_rows(&t, &s, run->begin[r], run->begin[r + 1]);
    }
}

/* Runs have neither rows nor columns in common, heads have columns of their own: a unit, one run of
 * one head, is the only one that adds to its elements. */
static void run_pass(const gnn__plan_t *plan, const run_t *run, pass_t pass)
{
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__pairs_t *pairs = &gnn__part_of(plan, p, pass == MESSAGES || pass == KEYS)->pairs;
        int64_t runs = 0;
        run->begin[0] = 0;
        while (run->begin[runs] < pairs->n_rows) {
            run->begin[runs + 1] = run_end(pairs, run->begin[runs]);
            runs++;
        }
        const int64_t units = runs * plan->shape.key_heads;
        const int threads =
            gnn__plan_threads(plan, (pairs->n_rows + pairs->n_cols) * plan->shape.heads *
                                        plan->shape.d_k * plan->shape.d_v);
        GNN__EACH_CHUNK (u, units, threads) {
            run_unit(plan, run, pairs, pass, u);
        }
    }
}

/* ---- the implementation ---- */

/* A pair costs the reference some ten times what it costs in a masked product. */
static bool is_cheaper(const gnn__plan_t *plan, int64_t p)
{
    const gnn__part_t *part = &plan->view->parts[p];
    const gnn__pairs_t *pairs = &part->pairs;
    const double d_k = (double)plan->shape.d_k, d_v = (double)plan->shape.d_v;
    if (gnn__pairs_form(pairs) != GNN__SPANS || pairs->row_order || pairs->col_order ||
        part->scale_row || part->scale_col)
        return false;
    return cost_of(pairs, plan->shape.heads / plan->shape.key_heads, d_k, d_v) *
               (double)plan->shape.key_heads <=
           8 * (double)pairs->count * (double)plan->shape.heads * (d_k + d_v);
}

static bool takes(const gnn__plan_t *plan)
{
    bool all = plan->hints.score == GNN__SCORE_DOT && plan->hints.weigher == GNN__WEIGHER_LINEAR &&
               plan->hints.message == GNN__MESSAGE_SENDER && plan->has[GNN_AGGREGATE_SRC_MESSAGE] &&
               plan->shape.key_heads == plan->shape.value_heads && plan->shape.softcap == 0 &&
               !plan->has_priors && !plan->dropping && !plan->how->edge_weights_out &&
               !plan->how->segment_weights_out && plan->edge_width == 0 && !plan->edge_key &&
               !plan->has[GNN_AGGREGATE_EDGE_WEIGHT] && !plan->has[GNN_AGGREGATE_EDGE_BIAS] &&
               plan->shape.d_k > 0 && plan->shape.d_v > 0 && plan->view->n_parts > 0;
    for (int64_t p = 0; all && p < plan->view->n_parts; p++)
        all = is_cheaper(plan, p);
    return all;
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    GNN_TRY(memory(plan, NULL, false, &run, &call->forward_scratch));
    if (plan->recording)
        GNN_TRY(memory(plan, NULL, true, &run, &call->backward_scratch));
    call->in[GNN_AGGREGATE_QUERY].keep = call->in[GNN_AGGREGATE_KEY].keep =
        call->in[GNN_AGGREGATE_SRC_MESSAGE].keep = 1;
    return GNN_OK;
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    for (int64_t i = 0; i < plan->out.rows; i++)
        memset(gnn__row(&plan->out, i), 0, sizeof(gnn_real_t) * (size_t)plan->out_width);
    run_pass(plan, &run, FORWARD);
    return GNN_OK;
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    static const int written[] = {
        [QUERIES] = GNN_AGGREGATE_QUERY, [MESSAGES] = GNN_AGGREGATE_SRC_MESSAGE, [KEYS] = GNN_AGGREGATE_KEY};
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    gnn__zero_gradients(plan, 0);
    for (pass_t pass = QUERIES; pass <= KEYS; pass++)
        if (gnn__wants_gradient(plan, written[pass]))
            run_pass(plan, &run, pass);
    return GNN_OK;
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    (void)plan;
    snprintf(text, size, "linear");
}

const gnn__strategy_t gnn__strategy_linear = {
    .takes = takes, .sizes = sizes, .forward = forward, .backward = backward, .describe = describe};
