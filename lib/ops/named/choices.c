/* Ops that choose: the best columns of a row, the best senders of a column, the best senders of a
 * receiver; and values of the chosen. */
#include <lib/ops/named/choices.h>

#include <omp.h>

/* ---- ids ---- */

int gnn__op_ids_fit(const gnn_op_call_t *call, const char *name, int64_t count)
{
    if (count <= GNN__MOST_IDS)
        return GNN_OK;
    return gnn_op_fail(call, GNN_EOVERFLOW, "%s: ids name at most %lld rows, got %lld", name,
                       (long long)GNN__MOST_IDS, (long long)count);
}

int gnn__op_ids(const gnn_op_call_t *call, const char *name, int k, int64_t most)
{
    const gnn_tensor_t *ids = &call->in[k].value;
    for (int64_t r = 0; r < ids->rows; r++)
        for (int64_t c = 0; c < ids->cols; c++) {
            const double id = (double)gnn__row(ids, r)[c];
            if (!(id >= -1 && id < (double)most) || id != floor(id))
                return gnn_op_fail(call, GNN_EINVALID,
                                   "%s: id %lld of row %lld is %g, expected an integer in -1..%lld",
                                   name, (long long)c, (long long)r, id, (long long)most - 1);
        }
    return GNN_OK;
}

int gnn__by_id_bytes(const gnn_op_call_t *call, int k, int64_t count, size_t *bytes)
{
    int64_t elements, all;
    if (!gnn__mul(call->in[k].rows, call->in[k].cols, &elements) ||
        !gnn__add(elements, count + 2, &all))
        return gnn_op_fail(call, GNN_EOVERFLOW, "a list of ids does not fit");
    return gnn__op_bytes(call, all, 1, sizeof(int64_t), bytes);
}

gnn__by_id_t gnn__by_id(const gnn_tensor_t *ids, int64_t count, void *block)
{
    int64_t *start = block, *order = start + count + 2;
    memset(start, 0, sizeof *start * (size_t)(count + 2));
    for (int64_t r = 0; r < ids->rows; r++)
        for (int64_t c = 0; c < ids->cols; c++)
            start[gnn__id_at(ids, r, c) + 2] += gnn__id_at(ids, r, c) >= 0;
    for (int64_t j = 2; j < count + 2; j++)
        start[j] += start[j - 1];
    for (int64_t r = 0; r < ids->rows; r++)
        for (int64_t c = 0; c < ids->cols; c++)
            if (gnn__id_at(ids, r, c) >= 0)
                order[start[gnn__id_at(ids, r, c) + 1]++] = r * ids->cols + c;
    return (gnn__by_id_t){start, order};
}

/* ---- lists of the best ---- */

typedef struct {
    gnn_real_t *scores, *ids;
    int64_t held, most;
} best_t;

/* Candidates come in rising order of ids: of equal scores the lowest id is kept. Minus infinity and
 * NaN are never among the best. */
static void consider(best_t *best, gnn_real_t score, int64_t id)
{
    int64_t at = best->held;
    if (!(score > -INFINITY) || (at == best->most && !(score > best->scores[at - 1])))
        return;
    if (at < best->most)
        best->held++;
    else
        at--;
    for (; at > 0 && best->scores[at - 1] < score; at--) {
        best->scores[at] = best->scores[at - 1];
        best->ids[at] = best->ids[at - 1];
    }
    best->scores[at] = score;
    best->ids[at] = (gnn_real_t)id;
}

static void fill_up(const best_t *best)
{
    for (int64_t k = best->held; k < best->most; k++)
        best->ids[k] = -1;
}

/* Scratch of one list of scores per thread. */
static int list_bytes(gnn_op_call_t *call, int64_t k)
{
    const int64_t threads = gnn__most_threads(call->context, call->threads);
    return gnn__op_bytes(call, threads, gnn__round_up(k, 16), sizeof(gnn_real_t),
                         &call->forward_scratch);
}

static best_t list_of(const gnn_op_call_t *call, int64_t k, gnn_real_t *ids)
{
    gnn_real_t *scores = call->scratch;
    return (best_t){scores + omp_get_thread_num() * gnn__round_up(k, 16), ids, 0, k};
}

/* ---- choose ---- */

/* The k best columns of each row, or of each of the blocks that they divide into, the best first,
 * -1 where there are fewer: scores (n x c) -> ids (n x k), or of each block (n x blocks*k). Of
 * equal scores the first column is chosen; minus infinity is never chosen. Options: k, count of
 * blocks [1]. Routers of experts: Shazeer et al. 2017; in groups: DeepSeek-AI 2024. */

static int choose_shape(gnn_op_call_t *call)
{
    int64_t k, blocks, all;
    GNN_TRY(gnn__op_dense(call, "choose", 0, 0, 1));
    GNN_TRY(gnn__op_integer(call, "choose", 0, GNN__MOST_IDS, &k));
    GNN_TRY(gnn__op_integer(call, "choose", 1, GNN__MOST_IDS, &blocks));
    GNN_TRY(gnn__op_ids_fit(call, "choose", call->in[0].cols));
    if (call->in[0].cols % blocks != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "choose: %lld columns do not divide into %lld blocks",
                           (long long)call->in[0].cols, (long long)blocks);
    if (!gnn__mul(k, blocks, &all))
        return gnn_op_fail(call, GNN_EOVERFLOW, "choose: the count of ids overflows");
    gnn__op_output(call, call->in[0].rows, all);
    return list_bytes(call, k);
}

static int choose_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t blocks = (int64_t)gnn__op_option(call, 1, 1), k = y->cols / blocks,
                  each = x->cols / blocks;
    const int threads = gnn__op_threads(call, 4 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t b = 0; b < blocks; b++) {
            best_t best = list_of(call, k, gnn__row(y, r) + b * k);
            for (int64_t c = b * each; c < (b + 1) * each; c++)
                consider(&best, gnn__row(x, r)[c], c);
            fill_up(&best);
        }
    return GNN_OK;
}

static const gnn_option_t choose_options[] = {
    GNN__COUNT_OPTION("k", GNN__MOST_IDS, "columns per row and block"),
    GNN__COUNT_OPTION("blocks", GNN__MOST_IDS, "")};

const gnn_op_t gnn_op_choose = {.name = "choose",
                                GNN__OPTIONS(choose_options),
                                .shape = choose_shape,
                                .forward = choose_forward,
                                .flags = GNN_OP_BY_ROWS};

/* ---- choose_rows ---- */

/* The k best senders of each receiver in each column: scores (n_src x c) -> ids (n_dst*c x k),
 * those of receiver i and column e in row i*c + e, as of choose. Option: k. Experts that choose
 * words: Zhou et al. 2022, with the graph of a readout. */

static int choose_rows_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    int64_t k, rows;
    GNN_TRY(gnn__op_dense(call, "choose_rows", 0, 0, 1));
    GNN_TRY(gnn__op_integer(call, "choose_rows", 0, GNN__MOST_IDS, &k));
    GNN_TRY(gnn__op_senders(call, "choose_rows", &pairs));
    GNN_TRY(gnn__op_ids_fit(call, "choose_rows", call->in[0].rows));
    if (!gnn__mul(gnn__op_options(call)->graph->n_dst, call->in[0].cols, &rows))
        return gnn_op_fail(call, GNN_EOVERFLOW, "choose_rows: the count of rows overflows");
    gnn__op_output(call, rows, k);
    return list_bytes(call, k);
}

static int choose_rows_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "choose_rows");
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    for (int64_t r = 0; r < y->rows; r++)
        for (int64_t k = 0; k < y->cols; k++)
            gnn__row(y, r)[k] = -1;
    const int threads = gnn__op_threads(call, 4 * pairs->count * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            best_t best =
                list_of(call, y->cols, gnn__row(y, gnn__pairs_node(pairs, r) * x->cols + c));
            for (int64_t at = gnn__pairs_from(pairs, r); at < gnn__pairs_to(pairs, r); at++) {
                const int64_t j = gnn__pairs_col(pairs, at);
                consider(&best, gnn__row(x, j)[c], j);
            }
            fill_up(&best);
        }
    return GNN_OK;
}

static const gnn_option_t choose_rows_options[] = {
    GNN__COUNT_OPTION("k", GNN__MOST_IDS, "senders per receiver and column")};

const gnn_op_t gnn_op_choose_rows = {.name = "choose_rows",
                                     GNN__OPTIONS(choose_rows_options),
                                     .shape = choose_rows_shape,
                                     .forward = choose_rows_forward,
                                     .flags = GNN_OP_READS_GRAPH};

/* ---- choose_senders ---- */

/* The k senders of each receiver whose keys have the largest products with its query: q (n_dst x
 * H*d), keys (n_src x H*d or d, shared by the heads) -> ids (n_dst x H*k), those of head h in
 * columns h*k ... With weights (n_dst x H) all heads choose together, by the sum of w_h max(0,
 * q_h . k_h): ids (n_dst x k), the indexer of DeepSeek-V3.2. Scores are never stored. Options:
 * k, H [1]. */

enum { QUERIES, KEYS, WEIGHTS };

static int64_t sender_heads(const gnn_op_call_t *call)
{
    return (int64_t)gnn__op_option(call, 1, 1);
}

static int choose_senders_shape(gnn_op_call_t *call)
{
    const char *name = "choose_senders";
    const gnn__pairs_t *pairs = gnn__op_pairs(call, name);
    int64_t k, heads, cols;
    GNN_TRY(gnn__op_dense(call, name, 0, 2, 2));
    GNN_TRY(gnn__op_integer(call, name, 0, GNN__MOST_IDS, &k));
    GNN_TRY(gnn__op_integer(call, name, 1, INT32_MAX, &heads));
    const gnn_graph_t *g = gnn__op_options(call)->graph;
    if (!pairs)
        return g ? GNN_EUNSUPPORTED : GNN_EINVALID;
    const int64_t width = call->in[QUERIES].cols;
    if (width % heads != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "%s: %lld columns do not divide into %lld heads", name,
                           (long long)width, (long long)heads);
    GNN_TRY(gnn__op_expect(call, name, QUERIES, g->n_dst, width));
    GNN_TRY(gnn__op_expect(call, name, KEYS, g->n_src,
                           call->in[KEYS].cols == width / heads ? width / heads : width));
    const bool together = gnn__has_input(call, WEIGHTS);
    if (together)
        GNN_TRY(gnn__op_expect(call, name, WEIGHTS, g->n_dst, heads));
    GNN_TRY(gnn__op_ids_fit(call, name, g->n_src));
    if (!gnn__mul(k, together ? 1 : heads, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "%s: the count of columns overflows", name);
    gnn__op_output(call, g->n_dst, cols);
    return list_bytes(call, k);
}

/* The score of a pair in head h; without a head, of all heads together. */
static gnn_real_t pair_score(const gnn_op_call_t *call, int64_t i, int64_t j, int64_t h)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t heads = sender_heads(call), d = call->in[QUERIES].cols / heads,
                  step = call->in[KEYS].cols == d ? 0 : d;
    const gnn_real_t *q = gnn__row(&call->in[QUERIES].value, i),
                     *key = gnn__row(&call->in[KEYS].value, j);
    if (h >= 0)
        return (gnn_real_t)kernels->dot(d, q + h * d, key + h * step);
    double sum = 0;
    for (int64_t a = 0; a < heads; a++)
        sum += (double)gnn__row(&call->in[WEIGHTS].value, i)[a] *
               fmax(0, kernels->dot(d, q + a * d, key + a * step));
    return (gnn_real_t)sum;
}

static int choose_senders_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "choose_senders");
    const gnn_tensor_t *y = &call->out[0].value;
    const bool together = gnn__has_input(call, WEIGHTS);
    const int64_t lists = together ? 1 : sender_heads(call), k = y->cols / lists;
    for (int64_t r = 0; r < y->rows; r++)
        for (int64_t c = 0; c < y->cols; c++)
            gnn__row(y, r)[c] = -1;
    const int threads = gnn__op_threads(call, 2 * pairs->count * call->in[QUERIES].cols);
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, 16), int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t h = 0; h < lists; h++) {
            const int64_t i = gnn__pairs_node(pairs, r);
            best_t best = list_of(call, k, gnn__row(y, i) + h * k);
            for (int64_t at = gnn__pairs_from(pairs, r); at < gnn__pairs_to(pairs, r); at++) {
                const int64_t j = gnn__pairs_col(pairs, at);
                consider(&best, pair_score(call, i, j, together ? -1 : h), j);
            }
            fill_up(&best);
        }
    return GNN_OK;
}

/* For profiles: a product per pair and head. */
static void choose_senders_work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "choose_senders");
    if (pairs && !backward)
        work->flops = 2 * (double)pairs->count * (double)call->in[QUERIES].cols;
}

static const gnn_option_t choose_senders_options[] = {
    GNN__COUNT_OPTION("k", GNN__MOST_IDS, "senders per receiver"),
    GNN__COUNT_OPTION("heads", INT32_MAX, "")};

const gnn_op_t gnn_op_choose_senders = {.name = "choose_senders",
                                        GNN__OPTIONS(choose_senders_options),
                                        .shape = choose_senders_shape,
                                        .forward = choose_senders_forward,
                                        .work = choose_senders_work,
                                        .flags = GNN_OP_READS_GRAPH};

/* ---- pick_columns ---- */

/* The columns of each row that ids name: x (n x c), ids (n x k) -> (n x k); 0 for -1. Gates of the
 * chosen experts. */

static int pick_columns_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "pick_columns", 0, 1, 2));
    GNN_TRY(gnn__op_expect(call, "pick_columns", 1, call->in[0].rows, call->in[1].cols));
    gnn__op_output(call, call->in[0].rows, call->in[1].cols);
    call->in[1].keep = call->in[0].wants_grad;
    return GNN_OK;
}

static int pick_columns_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *ids = &call->in[1].value, *y = &call->out[0].value;
    GNN_TRY(gnn__op_ids(call, "pick_columns", 1, x->cols));
    for (int64_t r = 0; r < y->rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            const int64_t id = gnn__id_at(ids, r, c);
            gnn__row(y, r)[c] = id < 0 ? 0 : gnn__row(x, r)[id];
        }
    return GNN_OK;
}

static int pick_columns_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *ids = &call->in[1].value, *dy = &call->out[0].grad;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    for (int64_t r = 0; gnn__wants(call, 0) && r < dy->rows; r++)
        for (int64_t c = 0; c < dy->cols; c++)
            if (gnn__id_at(ids, r, c) >= 0)
                gnn__row(&call->in[0].grad, r)[gnn__id_at(ids, r, c)] += gnn__row(dy, r)[c];
    return GNN_OK;
}

const gnn_op_t gnn_op_pick_columns = {.name = "pick_columns",
                                      GNN__NO_OPTIONS,
                                      .shape = pick_columns_shape,
                                      .forward = pick_columns_forward,
                                      .backward = pick_columns_backward,
                                      .flags = GNN_OP_BY_ROWS};

/* ---- mark_columns ---- */

/* The count of each column among the ids of a row: ids (n x k), a value (n x c), of which only the
 * width is read -> (n x c). Its means over rows are the loads of experts. */

static int mark_columns_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "mark_columns", 0, 1, 2));
    GNN_TRY(gnn__op_expect(call, "mark_columns", 1, call->in[0].rows, call->in[1].cols));
    gnn__op_output(call, call->in[0].rows, call->in[1].cols);
    return GNN_OK;
}

static int mark_columns_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *ids = &call->in[0].value, *y = &call->out[0].value;
    GNN_TRY(gnn__op_ids(call, "mark_columns", 0, y->cols));
    for (int64_t r = 0; r < y->rows; r++) {
        memset(gnn__row(y, r), 0, sizeof(gnn_real_t) * (size_t)y->cols);
        for (int64_t c = 0; c < ids->cols; c++)
            if (gnn__id_at(ids, r, c) >= 0)
                gnn__row(y, r)[gnn__id_at(ids, r, c)] += 1;
    }
    return GNN_OK;
}

const gnn_op_t gnn_op_mark_columns = {.name = "mark_columns",
                                      GNN__NO_OPTIONS,
                                      .shape = mark_columns_shape,
                                      .forward = mark_columns_forward,
                                      .flags = GNN_OP_BY_ROWS};

/* ---- limit_ids ---- */

/* Each id at most `capacity` times: later ones become -1, in the order of columns, then rows, so
 * that first choices go before second ones. Option: capacity. Fedus et al. 2021 (Switch). */

static int limit_ids_shape(gnn_op_call_t *call)
{
    int64_t capacity;
    GNN_TRY(gnn__op_dense(call, "limit_ids", 0, 1, 2));
    GNN_TRY(gnn__op_integer(call, "limit_ids", 0, INT32_MAX, &capacity));
    GNN_TRY(gnn__op_expect(call, "limit_ids", 1, call->in[0].rows, call->in[1].cols));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    return gnn__op_bytes(call, call->in[1].cols, 1, sizeof(int64_t), &call->forward_scratch);
}

static int limit_ids_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *ids = &call->in[0].value, *y = &call->out[0].value;
    const int64_t capacity = (int64_t)gnn__op_option(call, 0, 1), groups = call->in[1].cols;
    int64_t *counts = call->scratch;
    GNN_TRY(gnn__op_ids(call, "limit_ids", 0, groups));
    memset(counts, 0, sizeof *counts * (size_t)groups);
    for (int64_t c = 0; c < y->cols; c++)
        for (int64_t r = 0; r < y->rows; r++) {
            const int64_t id = gnn__id_at(ids, r, c);
            gnn__row(y, r)[c] = (gnn_real_t)(id >= 0 && counts[id]++ < capacity ? id : -1);
        }
    return GNN_OK;
}

static const gnn_option_t limit_ids_options[] = {
    GNN__COUNT_OPTION("capacity", INT32_MAX, "of each id")};

const gnn_op_t gnn_op_limit_ids = {.name = "limit_ids",
                                   GNN__OPTIONS(limit_ids_options),
                                   .shape = limit_ids_shape,
                                   .forward = limit_ids_forward};
