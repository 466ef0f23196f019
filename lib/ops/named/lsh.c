/* Lists of rows by locality-sensitive hashing. Kitaev, Kaiser, Levskaya 2020; the hash: Andoni et
 * al. 2015. */
#include <lib/ops/named/choices.h>

/* ---- lsh_rows ---- */

/* Rows whose hashes are near that of each row and head: x (n x H*d), rotations (H*d x rounds*r),
 * buckets (1 x f) -> ids (n x H*k), k = rounds chunk (1 + before + after), -1 for none; over the
 * graph of a readout, whose receivers are the segments. The hash of a row in a round is the index
 * of the largest of [x R, -x R]; with f counts of buckets R has a part for each, and its index is
 * one of f digits of the hash; r is half of the sum of the counts. Rows of a segment, sorted by
 * hash and then by index, round after round, are cut into chunks: a row lists its chunk, those
 * `before` it and those `after`, the first chunk of all following the last one. A row that is met
 * again is listed again.
 *
 *     sorted rows of round 0      sorted rows of round 1
 *     [chunk 0] [chunk 1] ...     [chunk C / 2] ...  [chunk C - 1] [chunk 0] ...
 *
 * A segment counts as many rows as the next common multiple of `chunk` and `other`, the chunk of
 * other layers, unless it has at most the smaller of both; rows that there are not come last. One
 * of at most a chunk lists all of its rows once. Options: H [1], rounds [1], chunk [1]; before +
 * 256 after + 65536 if later rows are not listed + 131072 other [chunk]. No gradient flows through
 * it. */

enum { X, ROTATIONS, BUCKETS, MOST_FACTORS = 8, MOST_BUCKETS = 1 << 20, LATER = 1 << 16 };

typedef struct lsh {
    int64_t heads, width, rounds, chunk, before, after, other, half, buckets;
    int64_t factors[MOST_FACTORS], n_factors;
    bool causal;
} lsh_t;

static lsh_t lsh_of(const gnn_op_call_t *call)
{
    const int64_t near = (int64_t)gnn__op_options(call)->options[3];
    lsh_t l = {.heads = (int64_t)gnn__op_option(call, 0, 1),
               .rounds = (int64_t)gnn__op_option(call, 1, 1),
               .chunk = (int64_t)gnn__op_option(call, 2, 1),
               .before = near % 256,
               .after = near / 256 % 256,
               .causal = near / LATER % 2 == 1,
               .other = near / (2 * LATER),
               .buckets = 1,
               .n_factors = call->in[BUCKETS].cols};
    l.other = l.other > 0 ? l.other : l.chunk;
    l.width = call->in[X].cols / l.heads;
    return l;
}

/* Reads the counts of buckets, which are values. */
static int take_factors(const gnn_op_call_t *call, lsh_t *l)
{
    int64_t sum = 0;
    for (int64_t f = 0; f < l->n_factors; f++) {
        const double x = (double)call->in[BUCKETS].value.data[f];
        if (!(x >= 2 && x <= MOST_BUCKETS) || x != 2 * floor(x / 2) ||
            (l->buckets *= (int64_t)x) > MOST_BUCKETS)
            return gnn_op_fail(call, GNN_EINVALID,
                               "lsh_rows: input 2: expected even counts whose product is at most "
                               "%d, got %g",
                               (int)MOST_BUCKETS, x);
        l->factors[f] = (int64_t)x;
        sum += (int64_t)x;
    }
    l->half = sum / 2;
    return gnn__op_expect(call, "lsh_rows", ROTATIONS, call->in[X].cols, l->half * l->rounds);
}

/* Rows that a segment of n rows counts. */
static int64_t counted(const lsh_t *l, int64_t n)
{
    int64_t a = l->chunk, b = l->other;
    while (b > 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    const int64_t multiple = l->chunk / a * l->other;
    return n <= gnn__min(l->chunk, l->other) ? n : (n + multiple - 1) / multiple * multiple;
}

static int64_t most_counted(const lsh_t *l, const gnn__pairs_t *pairs)
{
    int64_t most = 1;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        most = gnn__max(most, counted(l, gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r)));
    return most;
}

/* A segment and the buffers of a head: rows in their order, round after round; the hashes of a
 * round; where the rows of each hash begin. Rows count from the segment's first one. */
typedef struct sorting {
    const lsh_t *lsh;
    const gnn__pairs_t *pairs;
    int64_t from, n, counted, head;
    int32_t *order, *hash, *start;
} sorting_t;

static int64_t row_of(const sorting_t *s, int64_t p)
{
    return gnn__pairs_col(s->pairs, s->from + p);
}

/* int32_t elements per head. */
static int64_t room(const lsh_t *l, int64_t most)
{
    return most * (l->rounds + 1) + MOST_BUCKETS + 2;
}

/* ---- hashes ---- */

static double rotated(const gnn_real_t *x, const gnn_tensor_t *rotations, const sorting_t *s,
                      int64_t column)
{
    const int64_t d = s->lsh->width;
    double sum = 0;
    for (int64_t c = 0; c < d; c++)
        sum += (double)x[c] * (double)gnn__row(rotations, s->head * d + c)[column];
    return sum;
}

/* One digit: the first of the largest among `half` products and their negatives. */
static int64_t digit(const gnn_real_t *x, const gnn_tensor_t *rotations, const sorting_t *s,
                     int64_t column, int64_t half)
{
    double most = -INFINITY, least = INFINITY;
    int64_t at_most = 0, at_least = 0;
    for (int64_t k = 0; k < half; k++) {
        const double y = rotated(x, rotations, s, column + k);
        if (y > most) {
            most = y;
            at_most = k;
        }
        if (y < least) {
            least = y;
            at_least = half + k;
        }
    }
    return -least > most ? at_least : at_most;
}

static int64_t hash_of(const gnn_op_call_t *call, const sorting_t *s, int64_t p, int64_t round)
{
    const lsh_t *l = s->lsh;
    const gnn_real_t *x = gnn__row(&call->in[X].value, row_of(s, p)) + s->head * l->width;
    int64_t hash = 0, unit = 1, column = round * l->half;
    for (int64_t f = 0; f < l->n_factors; f++) {
        hash += unit * digit(x, &call->in[ROTATIONS].value, s, column, l->factors[f] / 2);
        unit *= l->factors[f];
        column += l->factors[f] / 2;
    }
    return hash;
}

/* A counting sort, which keeps the order of rows of one hash. */
static void sort_round(const gnn_op_call_t *call, const sorting_t *s, int64_t round)
{
    const int64_t buckets = s->lsh->buckets;
    int32_t *order = s->order + round * s->counted;
    memset(s->start, 0, sizeof *s->start * (size_t)(buckets + 2));
    for (int64_t p = 0; p < s->counted; p++) {
        s->hash[p] = (int32_t)(p < s->n ? hash_of(call, s, p, round) : buckets);
        s->start[s->hash[p] + 1]++;
    }
    for (int64_t h = 0; h < buckets; h++)
        s->start[h + 1] += s->start[h];
    for (int64_t p = 0; p < s->counted; p++)
        order[s->start[s->hash[p]]++] = (int32_t)p;
}

/* ---- lists ---- */

static void put(const sorting_t *s, int64_t p, int64_t q, gnn_real_t *id)
{
    const bool listed = q < s->n && (!s->lsh->causal || q <= p);
    *id = (gnn_real_t)(listed ? row_of(s, q) : -1);
}

/* The lists of a chunk's rows in its round. */
static void list_chunk(const sorting_t *s, int64_t chunk, const gnn_tensor_t *ids)
{
    const lsh_t *l = s->lsh;
    const int64_t chunks = l->rounds * s->counted / l->chunk,
                  near = l->chunk * (1 + l->before + l->after),
                  round = chunk * l->chunk / s->counted;
    for (int64_t k = 0; k < l->chunk; k++) {
        const int64_t p = s->order[chunk * l->chunk + k];
        if (p >= s->n)
            continue;
        gnn_real_t *id = gnn__row(ids, row_of(s, p)) + (s->head * l->rounds + round) * near;
        for (int64_t step = -l->before; step <= l->after; step++) {
            const int64_t moved = step > chunks || -step > chunks ? 0 : step,
                          at = (chunk + moved + chunks) % chunks;
            for (int64_t c = 0; c < l->chunk; c++)
                put(s, p, s->order[at * l->chunk + c], id++);
        }
    }
}

static void list_all(const sorting_t *s, const gnn_tensor_t *ids)
{
    const lsh_t *l = s->lsh;
    const int64_t k = l->rounds * l->chunk * (1 + l->before + l->after);
    for (int64_t p = 0; p < s->n; p++) {
        gnn_real_t *id = gnn__row(ids, row_of(s, p)) + s->head * k;
        for (int64_t q = 0; q < k; q++)
            put(s, p, q, id + q);
    }
}

static void run_head(const gnn_op_call_t *call, const sorting_t *s)
{
    const lsh_t *l = s->lsh;
    const gnn_tensor_t *ids = &call->out[0].value;
    if (s->counted <= l->chunk) {
        list_all(s, ids);
        return;
    }
    for (int64_t round = 0; round < l->rounds; round++)
        sort_round(call, s, round);
    for (int64_t chunk = 0; chunk < l->rounds * s->counted / l->chunk; chunk++)
        list_chunk(s, chunk, ids);
}

/* ---- the op ---- */

static int check_option(const gnn_op_call_t *call, int k, double least, double most)
{
    const double x = gnn__op_options(call)->options[k];
    if (x == 0 || (x >= least && x <= most && x == floor(x)))
        return GNN_OK;
    return gnn_op_fail(call, GNN_EINVALID,
                       "lsh_rows: option %d: expected an integer in %.0f..%.0f, got %g", k, least,
                       most, x);
}

static int lsh_rows_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    int64_t heads, cols = 0;
    GNN_TRY(gnn__op_dense(call, "lsh_rows", 0, 2, 3));
    GNN_TRY(gnn__op_heads(call, "lsh_rows", &heads));
    GNN_TRY(gnn__op_senders_once(call, "lsh_rows", &pairs));
    GNN_TRY(gnn__op_ids_fit(call, "lsh_rows", call->in[X].rows));
    GNN_TRY(check_option(call, 1, 1, 1 << 10));
    GNN_TRY(check_option(call, 2, 1, 1 << 16));
    GNN_TRY(check_option(call, 3, 0, (double)(2 * LATER) * (1 << 16)));
    const lsh_t l = lsh_of(call);
    GNN_TRY(gnn__op_expect(call, "lsh_rows", BUCKETS, 1, gnn__min(l.n_factors, MOST_FACTORS)));
    if (!gnn__mul(heads, l.rounds * l.chunk * (1 + l.before + l.after), &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "lsh_rows: the count of columns overflows");
    gnn__op_output(call, call->in[X].rows, cols);
    return gnn__op_bytes(call, heads, room(&l, most_counted(&l, pairs)), sizeof(int32_t),
                         &call->forward_scratch);
}

static int lsh_rows_forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "lsh_rows");
    const gnn_tensor_t *ids = &call->out[0].value;
    lsh_t l = lsh_of(call);
    GNN_TRY(take_factors(call, &l));
    for (int64_t r = 0; r < ids->rows; r++)
        for (int64_t c = 0; c < ids->cols; c++)
            gnn__row(ids, r)[c] = -1;
    const int64_t most = most_counted(&l, pairs);
    const int threads = gnn__op_threads(call, ids->rows * l.heads * l.width * l.half * l.rounds);
    GNN__PARALLEL_FOR (threads, int64_t a = 0; a < l.heads; a++)
        for (int64_t r = 0; r < pairs->n_rows; r++) {
            int32_t *at = (int32_t *)call->scratch + a * room(&l, most);
            const int64_t from = gnn__pairs_from(pairs, r), n = gnn__pairs_to(pairs, r) - from;
            run_head(call, &(sorting_t){&l, pairs, from, n, counted(&l, n), a,
                                        at + most + MOST_BUCKETS + 2, at, at + most});
        }
    return GNN_OK;
}

static const gnn_option_t lsh_rows_options[] = {
    GNN__COUNT_OPTION("heads", INT32_MAX, ""),
    GNN__COUNT_OPTION("rounds", 1 << 10, "of hashing"),
    GNN__COUNT_OPTION("chunk", 1 << 16, "rows"),
    {"near", 0, 0, 2.0 * LATER *(1 << 16), "before + 256 after + ...", GNN_OPTION_INTEGER}};

const gnn_op_t gnn_op_lsh_rows = {.name = "lsh_rows",
                                  GNN__OPTIONS(lsh_rows_options),
                                  .shape = lsh_rows_shape,
                                  .forward = lsh_rows_forward,
                                  .flags = GNN_OP_READS_GRAPH};
