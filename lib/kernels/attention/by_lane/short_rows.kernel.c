/* Additive attention for short rows: a handful of receivers, or senders, at once. Their pairs
 * follow one another in the lists, so that what is done per pair (scores, exp, dropout) runs over
 * all of them in whole registers; only maxima, sums and gathers go row by row. */
#include <lib/kernels/attention/by_lane/edge_terms.h>
#include <lib/kernels/attention/by_lane/gather.h>
#include <lib/kernels/attention/by_lane/scores.h>
#include <lib/kernels/attention/by_lane/sender.h>
#include <lib/kernels/attention/by_lane/short_rows.h>

enum { HANDFUL = 32 };

/* Rows row .. row + rows - 1; pairs start[r] .. start[r + 1] - 1 of the block are row r's. Arrays
 * of rows x width. */
typedef struct handful {
    int64_t row;
    int rows, start[HANDFUL + 1];
    gnn_real_t largest[HANDFUL * HEADS], sum[HANDFUL * HEADS], a_sum[HANDFUL * HEADS];
} handful_t;

/* As many rows as fit a block; fewer than two are not worth it. */
static bool take(const gnn__lanes_t *l, lane_block_t *b, int64_t row, handful_t *f)
{
    const gnn__pairs_t *p = &l->a->pairs;
    if (PATTERN > 1 || !p->indptr || l->a->heads != l->width)
        return false;
    const int64_t at = p->indptr[row];
    f->row = row;
    f->rows = 0;
    f->start[0] = 0;
    while (f->rows < HANDFUL && row + f->rows < b->row1 &&
           p->indptr[row + f->rows + 1] - at <= BLOCK_PAIRS) {
        f->rows++;
        f->start[f->rows] = (int)(p->indptr[row + f->rows] - at);
    }
    b->n = f->start[f->rows];
    if (f->rows < 2 || b->n == 0)
        return false;
    lane_block_load(l, b, row, at, at + b->n);
    if (has_logits(l))
        edge_terms(l, b, at);
    return true;
}

/* Every pair gets a copy of its row's numbers. Whole registers: what they write behind a row is the
 * next row's to write again, or padding. */
GNN__INLINE void spread(const handful_t *f, const gnn_real_t *numbers, int64_t stride,
                        gnn_real_t *out, const int width)
{
    for (int r = 0; r < f->rows; r++) {
        const gnn__vec_t x = gnn__vec_pattern(numbers + r * stride, width, 0);
        for (int n = f->start[r] * width; n < f->start[r + 1] * width; n += LANES)
            gnn__vec_store(out + n, x);
    }
}

/* The numbers of row r's pairs, a register at a time; `none` where the row has ended. */
GNN__INLINE gnn__vec_t row_part(const handful_t *f, const gnn_real_t *x, int r, int at,
                                gnn_real_t none, const int width)
{
    const int count = (f->start[r + 1] - f->start[r]) * width - at;
    const gnn__vec_t y = gnn__vec_load(x + f->start[r] * width + at);
    return count >= LANES ? y : gnn__vec_select(first_lanes(count), y, gnn__vec_all(none));
}

/* Largest scores of every row, and spread over its pairs what is subtracted before exp. */
GNN__INLINE void find_largest(const gnn__lanes_t *l, const lane_block_t *b, handful_t *f,
                              const int width)
{
    gnn_real_t base[HANDFUL * HEADS];
    for (int r = 0; r < f->rows; r++) {
        gnn__vec_t most = gnn__vec_all(-INFINITY);
        for (int x = 0; x < (f->start[r + 1] - f->start[r]) * width; x += LANES)
            most = gnn__vec_max(row_part(f, b->score, r, x, -INFINITY, width), most);
        most = gnn__vec_leaky(gnn__vec_reduce(most, width, true), l->slope);
        gnn__vec_put(f->largest + r * width, most, width, 0);
        gnn__vec_put(base + r * width, gnn__vec_select(most == -INFINITY, gnn__vec_all(0), most),
                     width, 0);
    }
    spread(f, base, width, b->weight, width);
}

/* Scores become weights, and in `score` weights before dropout; where backward will ask, negative
 * ones for pairs with s <= 0. */
static void weigh_short(const gnn__lanes_t *l, const lane_block_t *block, int numbers)
{
    const lane_block_t b = *block;
    const bool records = l->p_sums != NULL;
    const gnn_real_t slope = l->slope;
    for (int x = 0; x < padded(numbers); x += LANES) {
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

/* Each row's sum of `score`. */
GNN__INLINE void sum_rows(const lane_block_t *b, handful_t *f, const int width)
{
    for (int r = 0; r < f->rows; r++) {
        gnn__vec_t sum = gnn__vec_all(0);
        for (int x = 0; x < (f->start[r + 1] - f->start[r]) * width; x += LANES)
            sum += row_part(f, b->score, r, x, 0, width);
        gnn__vec_put(f->sum + r * width, gnn__vec_reduce(sum, width, false), width, 0);
    }
}

/* Sums of the weights, and A. */
GNN__INLINE void add_up(const gnn__lanes_t *l, const lane_block_t *b, handful_t *f, const int width)
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
        gnn__vec_put(f->sum + r * width, gnn__vec_reduce(sum, width, false), width, 0);
        gnn__vec_put(f->a_sum + r * width, gnn__vec_reduce(a, width, false), width, 0);
    }
}

GNN__INLINE void scores_short(const gnn__lanes_t *l, const lane_block_t *b, handful_t *f,
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
    find_largest(l, b, f, width);
    weigh_short(l, b, n);
    add_up(l, b, f, width);
}

#define SCORES_SHORT(width)                                                               \
    MADE scores_short_##width(const gnn__lanes_t *l, const lane_block_t *b, handful_t *f) \
    {                                                                                     \
        if (has_logits(l))                                                                \
            scores_short(l, b, f, true, width);                                           \
        else                                                                              \
            scores_short(l, b, f, false, width);                                          \
    }
FOR_WIDTHS(SCORES_SHORT)

/* Numbers x .. of an array that others write behind `end`. */
GNN__INLINE void store_until(gnn_real_t *at, gnn__vec_t x, int from, int end)
{
    if (end - from >= LANES)
        gnn__vec_store(at + from, x);
    else
        gnn__vec_store_first(at + from, x, end - from);
}

/* Log-sum-exps and A of all rows; `sum` becomes what the rows are multiplied by. */
static void finish_sums(const gnn__lanes_t *l, handful_t *f)
{
    const gnn__attention_t *a = l->a;
    const int numbers = f->rows * l->width;
    for (int x = numbers; x < padded(numbers); x++) {
        f->sum[x] = 1;
        f->largest[x] = f->a_sum[x] = 0;
    }
    for (int x = 0; x < numbers; x += LANES) {
        const gnn__vec_t sum = gnn__vec_load(f->sum + x), largest = gnn__vec_load(f->largest + x);
        const gnn__vec_bits_t nothing = sum == 0;
        gnn__vec_t inverse = gnn__vec_all(1);
        if (a->last)
            inverse = gnn__vec_select(nothing, gnn__vec_all(0), 1 / sum);
        else
            store_until(a->state.sum + f->row * l->width, sum, x, numbers);
        if (a->state.largest)
            store_until(a->state.largest + f->row * l->width,
                        a->last ? gnn__vec_select(nothing, gnn__vec_all(-INFINITY),
                                                  largest + gnn__vec_log(sum))
                                : largest,
                        x, numbers);
        if (l->p_sums)
            store_until(l->a_sums + f->row * l->width, inverse * gnn__vec_load(f->a_sum + x), x,
                        numbers);
        gnn__vec_store(f->sum + x, inverse);
    }
}

/* The pairs of row r as a block of their own; *row is a copy of the block to begin with. */
GNN__INLINE void row_block(const lane_block_t *b, const handful_t *f, int r, int width,
                           lane_block_t *row)
{
    row->n = f->start[r + 1] - f->start[r];
    row->other = b->other + f->start[r];
    row->weight = b->weight + f->start[r] * width;
    row->second = b->second + f->start[r] * width;
}

/* Sums that never leave a register. */
GNN__INLINE void forward_narrow(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f,
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

/* Rows of four registers that small heads share, as most GATs have, get their sums in these
 * registers too. */
GNN__INLINE bool in_four(const gnn__lanes_t *l, const gnn_real_t *y)
{
    return shared_width(l) && l->value_numbers == 4 * LANES && !passes(l, y);
}

GNN__INLINE void forward_four(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f,
                              const bool two)
{
    gnn__vec_bits_t head[4];
    for (int v = 0; v < 4; v++)
        head[v] = gnn__vec_heads(shared_width(l), v);
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

/* Copies of eight heads of eight numbers, a pattern filling a register: half a row at a time has
 * its sums, and its second ones, in registers. */
enum { HALF = 4 };

GNN__INLINE bool in_halves(const gnn__lanes_t *l)
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
                         w_p = two ? gnn__vec_load(b->second + e * HEADS) : w,
                         x0 = gnn__vec_load(row), x1 = gnn__vec_load(row + LANES),
                         x2 = gnn__vec_load(row + 2 * LANES), x3 = gnn__vec_load(row + 3 * LANES);
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

GNN__INLINE void forward_halves(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f,
                                const bool two)
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

/* Rows whose sums stay in registers; false: there is no room for these rows'. */
static bool forward_in_registers(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f)
{
    const bool two = l->p_sums != NULL;
    if (narrow_width(l))
        two ? forward_narrow(l, b, f, true) : forward_narrow(l, b, f, false);
    else if (in_four(l, l->a->y.at))
        two ? forward_four(l, b, f, true) : forward_four(l, b, f, false);
    else if (in_halves(l) && !(l->finish && !finishes_later(l)))
        two ? forward_halves(l, b, f, true) : forward_halves(l, b, f, false);
    else
        return false;
    return true;
}

int64_t forward_short(const gnn__lanes_t *l, lane_block_t *b, int64_t row)
{
    handful_t f;
    const int width = l->width;
    if (!take(l, b, row, &f))
        return 0;
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

/* ---- backward, by sender ---- */

GNN__INLINE void back_short(const gnn__lanes_t *l, const lane_block_t *b, handful_t *f,
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

#define BACK_SHORT(width)                                                               \
    MADE back_short_##width(const gnn__lanes_t *l, const lane_block_t *b, handful_t *f) \
    {                                                                                   \
        if (has_logits(l))                                                              \
            back_short(l, b, f, true, width);                                           \
        else                                                                            \
            back_short(l, b, f, false, width);                                          \
    }
FOR_WIDTHS(BACK_SHORT)

/* The same for a sender: the gradients of its values and its key. */
static void send_narrow(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f, int r)
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

static void send_four(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f, int r)
{
    const gnn__attention_t *a = l->a;
    const int64_t j = f->row + r;
    const gnn_real_t *x = gnn__matrix_row(&l->v, j);
    gnn__vec_bits_t head[4];
    gnn__vec_t sum[4] = {{0}}, sum_p[4] = {{0}}, products[PATTERN];
    for (int v = 0; v < 4; v++) {
        head[v] = gnn__vec_heads(shared_width(l), v);
        __builtin_prefetch(x + l->v.stride + v * LANES); /* the next one's */
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

static void send_halves(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f, int r)
{
    const gnn__attention_t *a = l->a;
    const int64_t j = f->row + r;
    const gnn_real_t *x = gnn__matrix_row(&l->v, j), rest = 1 - a->slope;
    gnn__vec_t sum[HALF], sum_p[HALF], products[PATTERN];
    fill(products, 0);
    prefetch_eight(x + l->v.stride); /* the next one's */
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

/* The gradients of d_v and d_k of one row's sender. */
static void send_row(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f, int r)
{
    lane_block_t pairs = *b;
    gnn__vec_t sum[PATTERN];
    if (f->start[r] == f->start[r + 1]) {
        clear_sender(l, f->row + r);
    } else if (narrow_width(l)) {
        send_narrow(l, b, f, r);
    } else if (in_four(l, l->a->grad.v.at)) {
        send_four(l, b, f, r);
    } else if (in_halves(l)) {
        send_halves(l, b, f, r);
    } else {
        row_block(b, f, r, l->width, &pairs);
        read_pattern(f->sum + r * l->width, sum, l->width);
        gather(l, &pairs, &l->dy, l->value_numbers, true, true);
        finish_sender(l, &pairs, f->row + r, sum, l->width);
    }
}

/* Gradients of what the edges of all rows add to scores. */
static void short_edges(const gnn__lanes_t *l, const lane_block_t *b, const handful_t *f)
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
    handful_t f;
    if (!take(l, b, row, &f))
        return 0;
    BY_WIDTH(l->width, back_short, l, b, &f);
    for (int r = 0; r < f.rows; r++)
        send_row(l, b, &f, r);
    if (l->term_grads)
        short_edges(l, b, &f);
    return f.rows;
}
