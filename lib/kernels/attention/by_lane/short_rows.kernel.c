/* Additive attention for rows of few pairs, several receivers (or senders) at once. On most graphs
 * a row has fewer pairs than a block has room for, and a register of pairs x width would be mostly
 * padding. The pairs of consecutive rows are contiguous in the lists, so as many rows as fit are
 * taken as one block:
 *
 *     rows         row 0          row 1     row 2                row 3     (empty)
 *     start        0              3         5                    9    9
 *     block        p0  p1  p2   | p3  p4  | p5  p6  p7  p8     |
 *     registers    [p0 p1] [p2  p3] [p4  p5] [p6 p7] [p8 --]             width 8, 16 lanes
 *
 * Passes over whole registers, whatever row a pair belongs to, alternate with passes per row:
 *
 *     spread          row -> pairs    each pair gets a copy of its row's query
 *     scores_short    registers       score = copy + k_j, minus infinity after the last pair
 *     find_maxima    per row         maximum of its scores; spread as what to subtract before exp
 *     weigh_short     registers       exp, dropout; the sign of a weight records s <= 0
 *     add_weights          per row         sum of weights, and A
 *     finish_sums     registers       1 / sum, log-sum-exp of all rows
 *     forward_...     per row         gather, with sums that never leave registers where rows are
 *                                     narrow, take four registers, or two halves of four
 *     back_short, send_...            the same for senders: weights, d_v and d_k */
#include <lib/kernels/attention/by_lane/edge_inputs.h>
#include <lib/kernels/attention/by_lane/lane_block.h>
#include <lib/kernels/attention/by_lane/lane_passes.h>

enum { BATCH_ROWS = 32 };

/* Rows row .. row + rows - 1; pairs start[r] .. start[r + 1] - 1 of the block belong to row r.
 * Arrays are rows x width. */
typedef struct row_batch {
    int64_t row;
    int rows, start[BATCH_ROWS + 1];
    bool due; /* in this phase */
    gnn_real_t largest[BATCH_ROWS * HEADS], sum[BATCH_ROWS * HEADS], a_sum[BATCH_ROWS * HEADS];
} row_batch_t;

/* Takes as many rows as fit a block; false if those are fewer than two, or rows do not qualify. */
static bool take_rows(const gnn__lanes_t *l, lane_block_t *b, int64_t row, row_batch_t *f)
{
    const gnn__pairs_t *p = &l->a->pairs;
    if (PATTERN > 1 || !p->indptr || l->a->heads != l->width)
        return false;
    const int64_t at = p->indptr[row];
    f->row = row;
    f->rows = 0;
    f->start[0] = 0;
    while (f->rows < BATCH_ROWS && row + f->rows < b->row1 &&
           p->indptr[row + f->rows + 1] - at <= BLOCK_PAIRS) {
        f->rows++;
        f->start[f->rows] = (int)(p->indptr[row + f->rows] - at);
    }
    b->n = f->start[f->rows];
    if (f->rows < 2 || b->n == 0)
        return false;
    f->due = gnn__pairs_due(p, row, f->rows);
    if (!f->due)
        return true;
    lane_block_load(l, b, row, at, at + b->n);
    if (has_logits(l))
        edge_terms(l, b, at);
    return true;
}

/* Copies each row's pattern to all its pairs. Stores whole registers: the excess is overwritten by
 * the next row, or is padding. */
GNN__INLINE void spread(const row_batch_t *f, const gnn_real_t *elements, int64_t stride,
                        gnn_real_t *out, const int width)
{
    for (int r = 0; r < f->rows; r++) {
        const gnn__vec_t x = gnn__vec_pattern(elements + r * stride, width, 0);
        for (int n = f->start[r] * width; n < f->start[r + 1] * width; n += LANES)
            gnn__vec_store(out + n, x);
    }
}

/* LANES elements of row r's pairs, from element `at` on; `none` after the row's last. */
GNN__INLINE gnn__vec_t row_part(const row_batch_t *f, const gnn_real_t *x, int r, int at,
                                gnn_real_t none, const int width)
{
    const int count = (f->start[r + 1] - f->start[r]) * width - at;
    const gnn__vec_t y = gnn__vec_load(x + f->start[r] * width + at);
    return count >= LANES ? y : gnn__vec_select(first_lanes(count), y, gnn__vec_all(none));
}

/* The largest score of every row, and, spread over its pairs in `weight`, what is subtracted before
 * exp. */
GNN__INLINE void find_maxima(const gnn__lanes_t *l, const lane_block_t *b, row_batch_t *f,
                             const int width)
{
    gnn_real_t base[BATCH_ROWS * HEADS];
    for (int r = 0; r < f->rows; r++) {
        gnn__vec_t most = gnn__vec_all(-INFINITY);
        for (int x = 0; x < (f->start[r + 1] - f->start[r]) * width; x += LANES)
            most = gnn__vec_max(row_part(f, b->score, r, x, -INFINITY, width), most);
        most = gnn__vec_leaky(gnn__vec_reduce(most, width, true), l->slope);
        gnn__vec_store_pattern(f->largest + r * width, most, width, 0);
        gnn__vec_store_pattern(base + r * width,
                               gnn__vec_select(most == -INFINITY, gnn__vec_all(0), most), width, 0);
    }
    spread(f, base, width, b->weight, width);
}

/* Replaces scores by weights before dropout, negated for pairs with s <= 0 where backward will need
 * that; `weight` is after dropout. */
static void weigh_short(const gnn__lanes_t *l, const lane_block_t *block, int elements)
{
    const lane_block_t b = *block;
    const bool records = l->p_sums != NULL;
    const gnn_real_t slope = l->slope;
    for (int x = 0; x < padded(elements); x += LANES) {
        const gnn__vec_t score = gnn__vec_load(b.score + x);
        const gnn__vec_bits_t negative = ~(score > 0);
        gnn__vec_t w = gnn__vec_exp(gnn__vec_leaky(score, slope) - gnn__vec_load(b.weight + x));
        gnn__vec_store(b.score + x, records ? gnn__vec_select(negative, -w, w) : w);
        w = drop(&b, x, w);
        gnn__vec_store(b.weight + x, w);
        if (records)
            gnn__vec_store(b.second + x, gnn__vec_where(negative, w));
    }
}

/* sum[r] = the sum of row r's scores. */
GNN__INLINE void sum_rows(const lane_block_t *b, row_batch_t *f, const int width)
{
    for (int r = 0; r < f->rows; r++) {
        gnn__vec_t sum = gnn__vec_all(0);
        for (int x = 0; x < (f->start[r + 1] - f->start[r]) * width; x += LANES)
            sum += row_part(f, b->score, r, x, 0, width);
        gnn__vec_store_pattern(f->sum + r * width, gnn__vec_reduce(sum, width, false), width, 0);
    }
}

/* Sums of the weights, and A where it is recorded. */
GNN__INLINE void add_weights(const gnn__lanes_t *l, const lane_block_t *b, row_batch_t *f,
                             const int width)
{
    if (!l->p_sums) {
        sum_rows(b, f, width);
        return;
    }
    for (int r = 0; r < f->rows; r++) {
        gnn__vec_t sum = gnn__vec_all(0), a = gnn__vec_all(0);
        for (int x = 0; x < (f->start[r + 1] - f->start[r]) * width; x += LANES) {
            const gnn__vec_t w = row_part(f, b->score, r, x, 0, width);
            const gnn__vec_bits_t negative = w < 0;
            sum += gnn__vec_select(negative, -w, w);
            a += gnn__vec_where(negative, -w);
        }
        gnn__vec_store_pattern(f->sum + r * width, gnn__vec_reduce(sum, width, false), width, 0);
        gnn__vec_store_pattern(f->a_sum + r * width, gnn__vec_reduce(a, width, false), width, 0);
    }
}

GNN__INLINE void scores_short(const gnn__lanes_t *l, const lane_block_t *b, row_batch_t *f,
                              const bool edges, const int width)
{
    const int n = b->n * width;
    const gnn__matrix_t source = edge_source(l);
    spread(f, gnn__matrix_row(&l->q, f->row), l->q.stride, b->weight, width);
    for (int x = 0; x < padded(n); x += LANES) {
        const gnn__vec_t s = rows_at(&l->k, b->other, x, width) + gnn__vec_load(b->weight + x);
        if (edges)
            prefetch_pairs(&source, b, x, width);
        gnn__vec_store(b->score + x, edges ? s + gnn__vec_load(b->edge + x) : s);
    }
    for (int x = n; x < padded(n); x++)
        b->score[x] = -INFINITY;
    find_maxima(l, b, f, width);
    weigh_short(l, b, n);
    add_weights(l, b, f, width);
}

#define SCORES_SHORT(width)                                                                      \
    PER_WIDTH scores_short_##width(const gnn__lanes_t *l, const lane_block_t *b, row_batch_t *f) \
    {                                                                                            \
        if (has_logits(l))                                                                       \
            scores_short(l, b, f, true, width);                                                  \
        else                                                                                     \
            scores_short(l, b, f, false, width);                                                 \
    }
FOR_WIDTHS(SCORES_SHORT)

/* Stores elements from .. of an array that other threads write from `end` on. */
GNN__INLINE void store_until(gnn_real_t *at, gnn__vec_t x, int from, int end)
{
    if (end - from >= LANES)
        gnn__vec_store(at + from, x);
    else
        gnn__vec_store_first(at + from, x, end - from);
}

/* Log-sum-exps and A of all rows. `sum` becomes the factor of the row's values. */
static void finish_sums(const gnn__lanes_t *l, row_batch_t *f)
{
    const gnn__attention_t *a = l->a;
    const int elements = f->rows * l->width;
    for (int x = elements; x < padded(elements); x++) {
        f->sum[x] = 1;
        f->largest[x] = f->a_sum[x] = 0;
    }
    for (int x = 0; x < elements; x += LANES) {
        const gnn__vec_t sum = gnn__vec_load(f->sum + x), largest = gnn__vec_load(f->largest + x);
        const gnn__vec_bits_t nothing = sum == 0;
        gnn__vec_t inverse = gnn__vec_all(1);
        if (a->last)
            inverse = gnn__vec_select(nothing, gnn__vec_all(0), 1 / sum);
        else
            store_until(a->state.sum + f->row * l->width, sum, x, elements);
        if (a->state.largest)
            store_until(a->state.largest + f->row * l->width,
                        a->last ? gnn__vec_select(nothing, gnn__vec_all(-INFINITY),
                                                  largest + gnn__vec_log(sum))
                                : largest,
                        x, elements);
        if (l->p_sums)
            store_until(l->a_sums + f->row * l->width, inverse * gnn__vec_load(f->a_sum + x), x,
                        elements);
        gnn__vec_store(f->sum + x, inverse);
    }
}

/* Makes *row, a copy of block b, the block of row r alone. */
GNN__INLINE void row_block(const lane_block_t *b, const row_batch_t *f, int r, int width,
                           lane_block_t *row)
{
    row->n = f->start[r + 1] - f->start[r];
    row->other = b->other + f->start[r];
    row->weight = b->weight + f->start[r] * width;
    row->second = b->second + f->start[r] * width;
}

/* One head narrower than a register: its sums never leave one. */
GNN__INLINE void forward_narrow(const gnn__lanes_t *l, const lane_block_t *b, const row_batch_t *f,
                                const bool two)
{
    const int n = narrow_width(l);
    for (int r = 0; r < f->rows; r++) {
        const int64_t i = f->row + r;
        gnn__vec_t p = {0}, y = narrow_sum(b, &l->v, n, f->start[r], f->start[r + 1], &p, two);
        gnn__vec_store_first(gnn__matrix_row(&l->a->y, i), f->sum[r] * y, n);
        if (two)
            gnn__vec_store(l->p_sums + i * l->value_numbers, f->sum[r] * p);
    }
}

/* True for rows of four registers that small heads share, as in most GATs: their sums stay in these
 * registers. */
GNN__INLINE bool fits_four_registers(const gnn__lanes_t *l, const gnn_real_t *y)
{
    return shared_width(l) && l->value_numbers == 4 * LANES && !streams(l, y);
}

GNN__INLINE void forward_four_registers(const gnn__lanes_t *l, const lane_block_t *b,
                                        const row_batch_t *f, const bool two)
{
    gnn__vec_bits_t head[4];
    for (int v = 0; v < 4; v++)
        head[v] = gnn__vec_head_of_lane(shared_width(l), v);
    for (int r = 0; r < f->rows; r++) {
        const int64_t i = f->row + r;
        const gnn__vec_t inverse = gnn__vec_pattern(f->sum + r * l->width, HEADS, 0);
        gnn_real_t *y = gnn__matrix_row(&l->a->y, i);
        gnn__vec_t sum[4] = {{0}}, sum_p[4] = {{0}};
        shared_sums(b, &l->v, f->start[r], f->start[r + 1], l->width, head, sum, sum_p, 4, two);
        for (int v = 0; v < 4; v++) {
            const gnn__vec_t by = gnn__vec_spread(inverse, head[v]);
            gnn__vec_store(y + v * LANES, by * sum[v]);
            if (two)
                gnn__vec_store(l->p_sums + i * l->value_numbers + v * LANES, by * sum_p[v]);
        }
    }
}

/* Packed rows of 8 heads x 8, a pattern per register (AVX2): half a row at a time has its sums, and
 * second sums, in registers. */
enum { HALF = 4 };

GNN__INLINE bool fits_two_halves(const gnn__lanes_t *l)
{
    return LANES == HEADS && l->layout == GNN__PACKED && l->width == HEADS &&
           l->value_numbers == 2 * HALF * LANES && l->a->d_v == 8;
}

GNN__INLINE void half_sums(const lane_block_t *b, const gnn__matrix_t *m, int first, int from,
                           int to, gnn__vec_t *sum, gnn__vec_t *sum_p, const bool two)
{
    gnn__vec_t y0 = {0}, y1 = {0}, y2 = {0}, y3 = {0}, p0 = {0}, p1 = {0}, p2 = {0}, p3 = {0};
    for (int e = from; e < to; e++) {
        const gnn_real_t *row = gnn__matrix_row(m, b->other[e]) + first,
                         *next = gnn__matrix_row(m, b->other[e + AHEAD]) + first;
        const gnn__vec_t w = gnn__vec_load(b->weight + e * HEADS),
                         w_p = two ? gnn__vec_load(b->second + e * HEADS) : w;
        const gnn__vec_t x0 = gnn__vec_load(row), x1 = gnn__vec_load(row + LANES);
        const gnn__vec_t x2 = gnn__vec_load(row + 2 * LANES), x3 = gnn__vec_load(row + 3 * LANES);
        __builtin_prefetch(next);
        __builtin_prefetch(next + 2 * LANES);
        y0 += w * x0;
        y1 += w * x1;
        y2 += w * x2;
        y3 += w * x3;
        if (two) {
            p0 += w_p * x0;
            p1 += w_p * x1;
            p2 += w_p * x2;
            p3 += w_p * x3;
        }
    }
    sum[0] = y0, sum[1] = y1, sum[2] = y2, sum[3] = y3;
    sum_p[0] = p0, sum_p[1] = p1, sum_p[2] = p2, sum_p[3] = p3;
}

GNN__INLINE void forward_two_halves(const gnn__lanes_t *l, const lane_block_t *b,
                                    const row_batch_t *f, const bool two)
{
    for (int r = 0; r < f->rows; r++) {
        const int64_t i = f->row + r;
        const gnn__vec_t inverse = gnn__vec_load(f->sum + r * HEADS);
        gnn_real_t *p = two ? l->p_sums + i * l->value_numbers : NULL;
        gnn__vec_t sum[HALF], sum_p[HALF];
        for (int first = 0; first < 2 * HALF * LANES; first += HALF * LANES) {
            half_sums(b, &l->v, first, f->start[r], f->start[r + 1], sum, sum_p, two);
            for (int v = 0; v < HALF; v++) {
                gnn__vec_store(b->y + first + v * LANES, inverse * sum[v]);
                if (two)
                    gnn__vec_store(p + first + v * LANES, inverse * sum_p[v]);
            }
        }
        unpack_row(l, b->y, gnn__matrix_row(&l->a->y, i), l->a->d_v, false, HEADS);
    }
}

/* Gathers rows whose sums stay in registers; false: no such form takes these rows. */
static bool forward_in_registers(const gnn__lanes_t *l, const lane_block_t *b, const row_batch_t *f)
{
    const bool two = l->p_sums != NULL;
    if (narrow_width(l))
        two ? forward_narrow(l, b, f, true) : forward_narrow(l, b, f, false);
    else if (fits_four_registers(l, l->a->y.at))
        two ? forward_four_registers(l, b, f, true) : forward_four_registers(l, b, f, false);
    else if (fits_two_halves(l) && !(l->finish && !finishes_later(l)))
        two ? forward_two_halves(l, b, f, true) : forward_two_halves(l, b, f, false);
    else
        return false;
    return true;
}

int64_t forward_short(const gnn__lanes_t *l, lane_block_t *b, int64_t row)
{
    row_batch_t f;
    const int width = l->width;
    if (!take_rows(l, b, row, &f))
        return 0;
    if (!f.due)
        return f.rows;
    BY_WIDTH(width, scores_short, l, b, &f);
    finish_sums(l, &f);
    if (forward_in_registers(l, b, &f))
        return f.rows;
    lane_block_t pairs = *b;
    for (int r = 0; r < f.rows; r++) {
        row_block(b, &f, r, width, &pairs);
        gnn__vec_t inverse[PATTERN];
        read_pattern(f.sum + r * width, inverse, width);
        gather(l, &pairs, &l->v, l->value_numbers, true, l->p_sums != NULL);
        scale_row_out(l, b->y, inverse, gnn__matrix_row(&l->a->y, row + r), width);
        if (l->p_sums)
            scale_row(l, b->p, inverse, l->p_sums + (row + r) * l->value_numbers, width);
    }
    return f.rows;
}

/* ---- backward, per sender ---- */

GNN__INLINE void back_short(const gnn__lanes_t *l, const lane_block_t *b, row_batch_t *f,
                            const bool edges, const int width)
{
    const gnn_real_t slope = l->a->slope;
    const gnn__matrix_t lse = l->records, s = {lse.at + width, lse.stride},
                        q = {lse.at + 2 * width, lse.stride}, source = edge_source(l);
    spread(f, gnn__matrix_row(&l->k, f->row), l->k.stride, b->weight, width);
    for (int x = 0; x < padded(b->n * width); x += LANES) {
        gnn__vec_t score = rows_at(&q, b->other, x, width) + gnn__vec_load(b->weight + x);
        if (edges) {
            prefetch_pairs(&source, b, x, width);
            score += gnn__vec_load(b->edge + x);
            gnn__vec_store(b->edge + x, score);
        }
        const gnn__vec_bits_t negative = ~(score > 0);
        gnn__vec_t w = gnn__vec_exp(gnn__vec_leaky(score, slope) - rows_at(&lse, b->other, x, width));
        const gnn__vec_t c = w * rows_at(&s, b->other, x, width);
        gnn__vec_store(b->score + x, gnn__vec_select(negative, slope * c, c));
        w = drop(b, x, w);
        gnn__vec_store(b->weight + x, w);
        gnn__vec_store(b->second + x, gnn__vec_where(negative, w));
    }
    sum_rows(b, f, width);
}

#define BACK_SHORT(width)                                                                      \
    PER_WIDTH back_short_##width(const gnn__lanes_t *l, const lane_block_t *b, row_batch_t *f) \
    {                                                                                          \
        if (has_logits(l))                                                                     \
            back_short(l, b, f, true, width);                                                  \
        else                                                                                   \
            back_short(l, b, f, false, width);                                                 \
    }
FOR_WIDTHS(BACK_SHORT)

/* d_v and d_k of row r's sender, in the three forms. */
static void send_narrow(const gnn__lanes_t *l, const lane_block_t *b, const row_batch_t *f, int r)
{
    const gnn__attention_t *a = l->a;
    const int n = narrow_width(l);
    const int64_t j = f->row + r;
    gnn__vec_t p, y = narrow_sum(b, &l->dy, n, f->start[r], f->start[r + 1], &p, true);
    if (a->grad.v.at) {
        gnn_real_t *to = gnn__matrix_row(&a->grad.v, j);
        gnn__vec_store_first(to, l->writes_v ? y : y + gnn__vec_load_first(to, n), n);
    }
    if (a->grad.k.at) {
        gnn_real_t *to = gnn__matrix_row(&a->grad.k, j);
        p = gnn__vec_load_first(gnn__matrix_row(&l->v, j), n) * (y - (1 - a->slope) * p);
        *to = (l->writes_k ? 0 : *to) + (gnn__vec_reduce(p, 1, false)[0] - f->sum[r]);
    }
}

static void send_four_registers(const gnn__lanes_t *l, const lane_block_t *b, const row_batch_t *f,
                                int r)
{
    const gnn__attention_t *a = l->a;
    const int64_t j = f->row + r;
    const gnn_real_t *x = gnn__matrix_row(&l->v, j);
    gnn__vec_bits_t head[4];
    gnn__vec_t sum[4] = {{0}}, sum_p[4] = {{0}}, products[PATTERN];
    for (int v = 0; v < 4; v++) {
        head[v] = gnn__vec_head_of_lane(shared_width(l), v);
        __builtin_prefetch(x + l->v.stride + v * LANES); /* the next sender's values */
    }
    shared_sums(b, &l->dy, f->start[r], f->start[r + 1], l->width, head, sum, sum_p, 4, true);
    if (a->grad.v.at) {
        gnn_real_t *to = gnn__matrix_row(&a->grad.v, j);
        for (int v = 0; v < 4; v++, to += LANES)
            gnn__vec_store(to, l->writes_v ? sum[v] : sum[v] + gnn__vec_load(to));
    }
    if (a->grad.k.at) {
        for (int v = 0; v < 4; v++)
            sum[v] = gnn__vec_load(x + v * LANES) * (sum[v] - (1 - a->slope) * sum_p[v]);
        products[0] = shared_reduce(sum, shared_width(l), 4) -
                      gnn__vec_pattern(f->sum + r * l->width, HEADS, 0);
        write_heads(gnn__matrix_row(&a->grad.k, j), a->heads, products, !l->writes_k, l->width);
    }
}

static void send_two_halves(const gnn__lanes_t *l, const lane_block_t *b, const row_batch_t *f, int r)
{
    const gnn__attention_t *a = l->a;
    const int64_t j = f->row + r;
    const gnn_real_t *x = gnn__matrix_row(&l->v, j), rest = 1 - a->slope;
    gnn__vec_t sum[HALF], sum_p[HALF], products[PATTERN];
    fill_pattern(products, 0);
    prefetch_eight(x + l->v.stride); /* the next sender's values */
    for (int first = 0; first < 2 * HALF * LANES; first += HALF * LANES) {
        half_sums(b, &l->dy, first, f->start[r], f->start[r + 1], sum, sum_p, true);
        for (int v = 0; v < HALF; v++) {
            gnn__vec_store(b->y + first + v * LANES, sum[v]);
            products[0] += gnn__vec_load(x + first + v * LANES) * (sum[v] - rest * sum_p[v]);
        }
    }
    if (a->grad.v.at)
        unpack_row(l, b->y, gnn__matrix_row(&a->grad.v, j), a->d_v, !l->writes_v, HEADS);
    if (a->grad.k.at) {
        products[0] -= gnn__vec_load(f->sum + r * HEADS);
        write_heads(gnn__matrix_row(&a->grad.k, j), a->heads, products, !l->writes_k, HEADS);
    }
}

/* d_v and d_k of row r's sender in any form. */
static void send_row(const gnn__lanes_t *l, const lane_block_t *b, const row_batch_t *f, int r)
{
    lane_block_t pairs = *b;
    gnn__vec_t sum[PATTERN];
    if (f->start[r] == f->start[r + 1]) {
        clear_sender(l, f->row + r);
    } else if (narrow_width(l)) {
        send_narrow(l, b, f, r);
    } else if (fits_four_registers(l, l->a->grad.v.at)) {
        send_four_registers(l, b, f, r);
    } else if (fits_two_halves(l)) {
        send_two_halves(l, b, f, r);
    } else {
        row_block(b, f, r, l->width, &pairs);
        read_pattern(f->sum + r * l->width, sum, l->width);
        gather(l, &pairs, &l->dy, l->value_numbers, true, true);
        finish_sender(l, &pairs, f->row + r, sum, l->width);
    }
}

/* Gradients of what the edges of all rows add to scores. */
static void short_edges(const gnn__lanes_t *l, const lane_block_t *b, const row_batch_t *f)
{
    lane_block_t pairs = *b;
    for (int r = 0; r < f->rows; r++) {
        row_block(b, f, r, l->width, &pairs);
        value_products(l, &pairs, gnn__matrix_row(&l->v, f->row + r), &l->dy, pairs.second);
    }
    edge_grads(l, b, l->a->pairs.indptr[f->row]);
}

int64_t send_short(const gnn__lanes_t *l, lane_block_t *b, int64_t row)
{
    row_batch_t f;
    if (!take_rows(l, b, row, &f))
        return 0;
    if (!f.due)
        return f.rows;
    BY_WIDTH(l->width, back_short, l, b, &f);
    for (int r = 0; r < f.rows; r++)
        send_row(l, b, &f, r);
    if (l->term_grads)
        short_edges(l, b, &f);
    return f.rows;
}
