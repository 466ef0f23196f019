/* Ops that order and match: rows of a segment by their values, and a different column for each row
 * at the least total cost. */
#include <lib/ops/named/choices.h>

/* Longest list of senders. */
static int64_t longest_list(const gnn__pairs_t *pairs)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        longest = gnn__max(longest, gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r));
    return longest;
}

/* ---- sort_rows ---- */

/* The senders of each receiver in rising order of a column, equal ones by their index: keys (n_src
 * x c) -> ids (n_src x c), those of a receiver in the rows of its own senders, so that with the
 * graph of a readout each segment holds a permutation of its rows. Of such ids the op gives the
 * inverse permutation: the rank of each row. A sender without a receiver keeps its own id. Buckets
 * of hashes: Kitaev et al. 2020. */

static int sort_rows_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    GNN_TRY(gnn__op_dense(call, "sort_rows", 0, 0, 1));
    GNN_TRY(gnn__op_senders_once(call, "sort_rows", &pairs));
    GNN_TRY(gnn__op_ids_fit(call, "sort_rows", call->in[0].rows));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    return gnn__op_list_bytes(call, pairs, &call->forward_scratch);
}

static int sort_rows_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "sort_rows");
    const gnn_tensor_t *y = &call->out[0].value;
    gnn__sender_value_t *list = call->scratch;
    for (int64_t r = 0; r < y->rows; r++)
        for (int64_t c = 0; c < y->cols; c++)
            gnn__row(y, r)[c] = (gnn_real_t)r;
    for (int64_t c = 0; c < y->cols; c++)
        for (int64_t r = 0; r < pairs->n_rows; r++) {
            const int64_t from = gnn__pairs_from(pairs, r),
                          count = gnn__op_sorted(call, pairs, r, c, false, list);
            for (int64_t k = 0; k < count; k++)
                gnn__row(y, gnn__pairs_col(pairs, from + k))[c] = (gnn_real_t)list[k].sender;
        }
    return GNN_OK;
}

const gnn_op_t gnn_op_sort_rows = {.name = "sort_rows",
                                   GNN__NO_OPTIONS,
                                   .shape = sort_rows_shape,
                                   .forward = sort_rows_forward,
                                   .flags = GNN_OP_READS_GRAPH};

/* ---- match_columns ---- */

/* A different column for each of the rows of a receiver, the sum of their costs as small as it can
 * be: costs (n_src x c) -> ids (n_src x 1), with the graph of a readout. Of more rows than columns
 * those left over have -1. Shortest augmenting paths: O(rows columns min(rows, columns)) per
 * receiver. Kuhn 1955; Jonker and Volgenant 1987; losses of sets: Carion et al. 2020. */

/* One problem of n items, each to be given one of m >= n places: items are rows and places columns,
 * or the reverse. Items and places count from 1; 0 is the start of a path. */
typedef struct {
    const gnn_tensor_t *costs;
    const gnn__pairs_t *pairs;
    int64_t from, n, m;                 /* row k of the problem is the sender of pair from + k */
    bool turned;                        /* rows are the places */
    double *of_item, *of_place, *least; /* dual values; the shortest paths so far */
    int64_t *item, *before; /* of a place: its item, and the place before it on the path */
    bool *done;
} matching_t;

static double cost_of(const matching_t *t, int64_t item, int64_t place)
{
    const int64_t row = t->turned ? place : item, column = t->turned ? item : place;
    return (double)gnn__row(t->costs, gnn__pairs_col(t->pairs, t->from + row - 1))[column - 1];
}

/* Extends the shortest paths by those over place `at`; gives the nearest place not done yet. */
static int64_t nearest_place(matching_t *t, int64_t at)
{
    const int64_t i = t->item[at];
    int64_t best = 0;
    for (int64_t j = 1; j <= t->m; j++) {
        if (t->done[j])
            continue;
        const double length = cost_of(t, i, j) - t->of_item[i] - t->of_place[j];
        if (length < t->least[j]) {
            t->least[j] = length;
            t->before[j] = at;
        }
        if (best == 0 || t->least[j] < t->least[best])
            best = j;
    }
    return best;
}

/* Moves the dual values so that the path to `next` is tight. */
static void shift_duals(matching_t *t, int64_t next)
{
    const double step = t->least[next];
    for (int64_t j = 0; j <= t->m; j++)
        if (t->done[j]) {
            t->of_item[t->item[j]] += step;
            t->of_place[j] -= step;
        } else {
            t->least[j] -= step;
        }
}

/* Gives item i a place along the shortest augmenting path. */
static void add_item(matching_t *t, int64_t i)
{
    int64_t at = 0;
    t->item[0] = i;
    for (int64_t j = 0; j <= t->m; j++) {
        t->least[j] = INFINITY;
        t->done[j] = false;
    }
    do {
        t->done[at] = true;
        const int64_t next = nearest_place(t, at);
        shift_duals(t, next);
        at = next;
    } while (t->item[at] != 0);
    for (; at != 0; at = t->before[at])
        t->item[at] = t->item[t->before[at]];
}

static matching_t matching_of(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r)
{
    const int64_t from = gnn__pairs_from(pairs, r), rows = gnn__pairs_to(pairs, r) - from,
                  cols = call->in[0].cols, room = gnn__max(longest_list(pairs), cols) + 1;
    double *reals = call->scratch;
    int64_t *ids = (int64_t *)(reals + 3 * room);
    memset(reals, 0, sizeof *reals * (size_t)(6 * room));
    return (matching_t){.costs = &call->in[0].value,
                        .pairs = pairs,
                        .from = from,
                        .n = gnn__min(rows, cols),
                        .m = gnn__max(rows, cols),
                        .turned = rows > cols,
                        .of_item = reals,
                        .of_place = reals + room,
                        .least = reals + 2 * room,
                        .item = ids,
                        .before = ids + room,
                        .done = (bool *)(ids + 2 * room)};
}

static int match_columns_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    int64_t room;
    GNN_TRY(gnn__op_dense(call, "match_columns", 0, 0, 1));
    GNN_TRY(gnn__op_senders_once(call, "match_columns", &pairs));
    GNN_TRY(gnn__op_ids_fit(call, "match_columns", call->in[0].cols));
    if (!gnn__add(gnn__max(longest_list(pairs), call->in[0].cols), 1, &room))
        return gnn_op_fail(call, GNN_EOVERFLOW, "match_columns: the count of columns overflows");
    gnn__op_output(call, call->in[0].rows, 1);
    return gnn__op_bytes(call, room, 6, sizeof(double), &call->forward_scratch);
}

static int check_costs(const gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value;
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            if (!isfinite((double)gnn__row(x, r)[c]))
                return gnn_op_fail(call, GNN_EINVALID,
                                   "match_columns: the cost of row %lld and column %lld is %g, "
                                   "expected a finite value",
                                   (long long)r, (long long)c, (double)gnn__row(x, r)[c]);
    return GNN_OK;
}

static int match_columns_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "match_columns");
    const gnn_tensor_t *y = &call->out[0].value;
    GNN_TRY(check_costs(call));
    for (int64_t r = 0; r < y->rows; r++)
        gnn__row(y, r)[0] = -1;
    for (int64_t r = 0; r < pairs->n_rows; r++) {
        matching_t t = matching_of(call, pairs, r);
        for (int64_t i = 1; i <= t.n; i++)
            add_item(&t, i);
        for (int64_t j = 1; j <= t.m; j++) {
            const int64_t row = t.turned ? j : t.item[j], column = t.turned ? t.item[j] : j;
            if (t.item[j] != 0)
                gnn__row(y, gnn__pairs_col(pairs, t.from + row - 1))[0] = (gnn_real_t)(column - 1);
        }
    }
    return GNN_OK;
}

const gnn_op_t gnn_op_match_columns = {.name = "match_columns",
                                       GNN__NO_OPTIONS,
                                       .shape = match_columns_shape,
                                       .forward = match_columns_forward,
                                       .flags = GNN_OP_READS_GRAPH};
