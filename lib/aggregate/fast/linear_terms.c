/* Sums of products out_r += scale sum over c of f_rc (a_r . b_c) c_c over spans, of which linear
 * attention consists: f_rc is 1, or exp(x_r + y_c). The sum over columns that several rows have in
 * common is one matrix, M = sum of b_c c_c', and their rows are a_r M; spans move to the right
 * only, so that M grows from one chunk of rows to the next, and what the chunk's rows do not have
 * in common is summed pair by pair, as a masked product:
 *
 *     columns        lo of the first   lo of the last      hi of the first   hi of the last
 *     row 0                 |=================================|
 *     ...                        |===============================|
 *     last row                              |================================|
 *                           |--- masked ----|----- in M -------|--- masked --|
 *
 * Complete and bipartite graphs have no masked part, causal ones one of a chunk's length:
 * O((rows + columns) d_b d_c). A window is summed anew for each chunk, or as masked products where
 * that is cheaper.
 *
 * With factors M is the sum of exp(y_c - Y) b_c c_c', Y the largest y of its columns, so that
 * nothing in it overflows, and what is lost in it is small next to another column in every row;
 * a_r is multiplied by exp(x_r + Y), the largest factor of the row. Masked products take
 * exp(x_r + y_c) pair by pair. Sums are made in double: running sums of gates grow large, their
 * differences do not.
 *
 * Katharopoulos et al. 2020; chunks as in Hua et al. 2022 (FLASH). */
#include <lib/aggregate/fast/linear_terms.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <math.h>

/* Rows of a chunk whose spans differ, and columns of one masked product; rows of one product, whose
 * columns are those of their own spans: under a diagonal of 64 rows 5 eighths of the square. */
enum { ROWS = 64, PIECE = 128, STRIP = 16 };

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
    gnn_real_t *m;          /* (d_b x d_c) sum of exp(y_c - top) b_c c_c' over `sums` */
    gnn_real_t *transposed; /* (d_b x PIECE) */
    gnn_real_t *scaled;     /* (PIECE x d_b) rows times their factors */
    gnn_real_t *products;   /* (ROWS x PIECE) */
    gnn_real_t *factors;    /* (PIECE) */
    range_t sums;
    double top; /* the largest y of `sums`, with factors */
} state_t;

/* ---- chunks ---- */

static bool is_empty(const gnn__pairs_t *pairs, int64_t row)
{
    return pairs->lo[row] >= pairs->hi[row];
}

int64_t gnn__linear_run_end(const gnn__pairs_t *pairs, int64_t row)
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

int64_t gnn__linear_runs(const gnn__pairs_t *pairs)
{
    int64_t count = 0;
    for (int64_t row = 0; row < pairs->n_rows; row = gnn__linear_run_end(pairs, row))
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

double gnn__linear_cost(const gnn__pairs_t *pairs, int64_t heads, double d_b, double d_c)
{
    double cost = 0;
    for (int64_t begin = 0, end; begin < pairs->n_rows; begin = end) {
        int64_t row0 = begin, row1 = end = gnn__linear_run_end(pairs, begin);
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

/* ---- factors ---- */

static bool has_factors(const gnn__linear_term_t *t)
{
    return t->row_log != NULL;
}

static double row_log(const gnn__linear_term_t *t, int64_t row)
{
    return t->row_log[row * t->log_stride];
}

static double col_log(const gnn__linear_term_t *t, int64_t col)
{
    return t->col_log[col * t->log_stride];
}

static gnn_real_t *row_of(const gnn__head_columns_t *h, int64_t row, int64_t head)
{
    return h->data + row * h->stride + head * h->apart;
}

/* s->scaled: rows first .. first + n - 1 of h times exp(s->factors). */
static void scale_rows(const gnn__head_columns_t *h, const state_t *s, int64_t first, int64_t n,
                       int64_t head)
{
    gnn__elementwise_kernels()->exp(n, s->factors, s->factors);
    for (int64_t r = 0; r < n; r++)
        gnn__elementwise_kernels()->scale(h->width, s->factors[r], row_of(h, first + r, head),
                                          false, s->scaled + r * h->width);
}

/* ---- one chunk ---- */

/* M += a' c over n rows of c from column lo on; a (n x d_b) with this stride. */
static void add_product(const gnn__linear_term_t *t, const state_t *s, const gnn_real_t *a,
                        int64_t stride, int64_t lo, int64_t n)
{
    gnn__gemm_block_kernels()->multiply(&(gnn__gemm_block_t){.m = t->b.width,
                                                             .n = t->c.width,
                                                             .k = n,
                                                             .a = a,
                                                             .a_row = 1,
                                                             .a_col = stride,
                                                             .b = row_of(&t->c, lo, 0),
                                                             .ldb = t->c.stride,
                                                             .c = s->m,
                                                             .ldc = t->c.width,
                                                             .alpha = 1});
}

/* The factors of M become those of a larger top. */
static void raise_top(const gnn__linear_term_t *t, state_t *s, int64_t lo, int64_t hi)
{
    double top = s->top;
    for (int64_t c = lo; c < hi; c++)
        top = fmax(top, col_log(t, c));
    if (top > s->top && s->top > -INFINITY) {
        const int64_t n = t->b.width * t->c.width;
        gnn__elementwise_kernels()->scale(n, (gnn_real_t)exp(s->top - top), s->m, false, s->m);
    }
    s->top = top;
}

/* M += sum over lo .. hi - 1 */
static void add_to_sums(const gnn__linear_term_t *t, state_t *s, int64_t lo, int64_t hi)
{
    if (lo >= hi)
        return;
    if (!has_factors(t)) {
        add_product(t, s, row_of(&t->b, lo, 0), t->b.stride, lo, hi - lo);
        return;
    }
    raise_top(t, s, lo, hi);
    for (; lo < hi && s->top != -INFINITY; lo += PIECE) {
        const int64_t n = gnn__min(PIECE, hi - lo);
        for (int64_t c = 0; c < n; c++)
            s->factors[c] = (gnn_real_t)(col_log(t, lo + c) - s->top);
        scale_rows(&t->b, s, lo, n, 0);
        add_product(t, s, s->scaled, t->b.width, lo, n);
    }
}

static void move_sums(const gnn__linear_term_t *t, state_t *s, range_t wanted)
{
    if (starts_anew(s->sums, wanted)) {
        memset(s->m, 0, sizeof *s->m * (size_t)(t->b.width * t->c.width));
        s->sums = (range_t){wanted.lo, wanted.lo};
        s->top = -INFINITY;
    }
    add_to_sums(t, s, wanted.lo, s->sums.lo);
    add_to_sums(t, s, s->sums.hi, wanted.hi);
    s->sums = wanted;
}

/* out += scale a M for n rows from row0 on; a (n x d_b) with this stride. */
static void add_rows(const gnn__linear_term_t *t, const state_t *s, const gnn_real_t *a,
                     int64_t stride, int64_t row0, int64_t n, int64_t head)
{
    gnn__gemm_block_kernels()->multiply(&(gnn__gemm_block_t){.m = n,
                                                             .n = t->c.width,
                                                             .k = t->b.width,
                                                             .a = a,
                                                             .a_row = stride,
                                                             .a_col = 1,
                                                             .b = s->m,
                                                             .ldb = t->c.width,
                                                             .c = row_of(&t->out, row0, head),
                                                             .ldc = t->out.stride,
                                                             .alpha = t->scale});
}

/* out_r += scale exp(x_r + top) a_r M */
static void add_through_sums(const gnn__linear_term_t *t, const state_t *s, const chunk_t *c)
{
    for (int64_t h = 0; h < t->heads && !has_factors(t); h++)
        add_rows(t, s, row_of(&t->a, c->row0, h), t->a.stride, c->row0, c->row1 - c->row0, h);
    for (int64_t row = c->row0; has_factors(t) && row < c->row1; row += PIECE) {
        const int64_t n = gnn__min(PIECE, c->row1 - row);
        for (int64_t r = 0; r < n; r++)
            s->factors[r] = (gnn_real_t)(row_log(t, row + r) + s->top);
        scale_rows(&t->a, s, row, n, 0);
        add_rows(t, s, s->scaled, t->a.width, row, n, 0);
    }
}

/* The products of one row with the columns piece.lo + lo .. piece.lo + hi - 1 times their
 * factors. */
static void multiply_factors(const gnn__linear_term_t *t, const state_t *s, int64_t row,
                             range_t piece, int64_t lo, int64_t hi, gnn_real_t *product)
{
    const double of_row = row_log(t, row);
    for (int64_t c = lo; c < hi; c++)
        s->factors[c] = (gnn_real_t)(of_row + col_log(t, piece.lo + c));
    gnn__elementwise_kernels()->exp(hi - lo, s->factors + lo, s->factors + lo);
    gnn__elementwise_kernels()->multiply(hi - lo, product + lo, s->factors + lo, false, product + lo);
}

/* products (rows x piece) = f_rc (a_r . b_c), 0 where c is not in row r's span; the columns of b'
 * are `apart` apart. */
static void multiply_pairs(const gnn__linear_term_t *t, const state_t *s, int64_t row0, int64_t rows,
                           range_t piece, const gnn_real_t *turned, int64_t apart, int64_t head)
{
    const int64_t n = piece.hi - piece.lo;
    memset(s->products, 0, sizeof *s->products * (size_t)(rows * n));
    gnn__gemm_block_kernels()->multiply(&(gnn__gemm_block_t){.m = rows,
                                                             .n = n,
                                                             .k = t->b.width,
                                                             .a = row_of(&t->a, row0, head),
                                                             .a_row = t->a.stride,
                                                             .a_col = 1,
                                                             .b = turned,
                                                             .ldb = apart,
                                                             .c = s->products,
                                                             .ldc = n,
                                                             .alpha = t->scale});
    for (int64_t r = 0; r < rows; r++) {
        gnn_real_t *product = s->products + r * n;
        const int64_t lo = gnn__min(gnn__max(t->pairs->lo[row0 + r] - piece.lo, 0), n),
                      hi = gnn__max(gnn__min(t->pairs->hi[row0 + r] - piece.lo, n), 0);
        memset(product, 0, sizeof *product * (size_t)lo);
        memset(product + hi, 0, sizeof *product * (size_t)(n - hi));
        if (has_factors(t) && lo < hi)
            multiply_factors(t, s, row0 + r, piece, lo, hi, product);
    }
}

/* rows x piece of products, from row0 on, times the piece's rows of c */
static void add_products(const gnn__linear_term_t *t, const gnn_real_t *products, int64_t row0,
                         int64_t rows, int64_t stride, range_t columns, int64_t head)
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
static void add_by_row(const gnn__linear_term_t *t, const state_t *s, int64_t row0, int64_t rows,
                       range_t piece, int64_t head)
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
static bool load_piece(const gnn__linear_term_t *t, const state_t *s, range_t piece)
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

/* The columns of a piece that some of the rows have, to a multiple of 8. */
static range_t strip_of(const gnn__pairs_t *pairs, int64_t row0, int64_t rows, range_t piece)
{
    const int64_t lo = gnn__max(pairs->lo[row0], piece.lo) - piece.lo,
                  hi = gnn__min(pairs->hi[row0 + rows - 1], piece.hi) - piece.lo;
    return (range_t){piece.lo + lo / 8 * 8,
                     piece.lo + gnn__min((hi + 7) / 8 * 8, piece.hi - piece.lo)};
}

/* out_r += sum over the piece's columns in row r's span of scale (a_r . b_c) c_c */
static void add_piece(const gnn__linear_term_t *t, const state_t *s, const chunk_t *c, range_t piece)
{
    const bool finite = load_piece(t, s, piece);
    const int64_t apart = piece.hi - piece.lo;
    for (int64_t row0 = c->row0; row0 < c->row1; row0 += STRIP) {
        const int64_t rows = gnn__min(STRIP, c->row1 - row0);
        const range_t own = strip_of(t->pairs, row0, rows, piece);
        for (int64_t h = 0; h < t->heads && own.lo < own.hi; h++) {
            multiply_pairs(t, s, row0, rows, own, s->transposed + own.lo - piece.lo, apart, h);
            if (finite)
                add_products(t, s->products, row0, rows, own.hi - own.lo, own, h);
            else
                add_by_row(t, s, row0, rows, own, h);
        }
    }
}

static void add_pairs(const gnn__linear_term_t *t, const state_t *s, const chunk_t *c, int64_t lo,
                      int64_t hi)
{
    for (; lo < hi; lo += PIECE)
        add_piece(t, s, c, (range_t){lo, gnn__min(lo + PIECE, hi)});
}

/* ---- a run ---- */

static bool add_size(int64_t *size, int64_t a, int64_t b)
{
    int64_t count;
    return gnn__mul(a, b, &count) && gnn__add(*size, gnn__round_up(count, 16), size);
}

bool gnn__linear_scratch(int64_t d, int64_t square, int64_t *size)
{
    *size = 0;
    return add_size(size, square, 1) && add_size(size, d, PIECE) && add_size(size, d, PIECE) &&
           add_size(size, ROWS, PIECE) && add_size(size, 1, PIECE);
}

/* The parts of the scratch, in the order in which gnn__linear_scratch counts them. */
static state_t lay_out(int64_t d, int64_t square, gnn_real_t *scratch)
{
    state_t s = {.m = scratch, .top = -INFINITY};
    s.transposed = s.m + gnn__round_up(square, 16);
    s.scaled = s.transposed + d * PIECE;
    s.products = s.scaled + d * PIECE;
    s.factors = s.products + ROWS * PIECE;
    return s;
}

void gnn__linear_rows(const gnn__linear_term_t *t, int64_t d, int64_t square, gnn_real_t *scratch,
                      int64_t row0, int64_t row1)
{
    const bool downwards = grows_downwards(t->pairs, row0, row1);
    const double d_b = (double)t->b.width, d_c = (double)t->c.width;
    state_t s = lay_out(d, square, scratch);
    chunk_t c;
    while (take_chunk(t->pairs, downwards, &row0, &row1, &c)) {
        if (!is_through(&c, t->heads, d_b, d_c, s.sums)) {
            add_pairs(t, &s, &c, c.any.lo, c.any.hi);
            continue;
        }
        move_sums(t, &s, c.common);
        add_through_sums(t, &s, &c);
        add_pairs(t, &s, &c, c.any.lo, c.common.lo);
        add_pairs(t, &s, &c, c.common.hi, c.any.hi);
    }
}
