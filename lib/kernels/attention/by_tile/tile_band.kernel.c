/* Keys by distance inside of tiles. */
#include <lib/kernels/attention/by_tile/tile_band.h>

enum { BLOCK = GNN__KEY_BLOCK };

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t most(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* ---- forward ---- */

/* Blocks from .. to - 1 are what group g lacks; to is 0 if it needs none. */
static void lacking(const gnn__attention_t *a, const band_t *band, int g, int first, int end,
                    int64_t *from, int64_t *to)
{
    const int64_t low = band->x0 + first - (g * GROUP + GROUP - 1), high = band->x0 + end - g * GROUP;
    *from = *to = 0;
    if (first >= end) {
        band->done[g] = 0;
        return;
    }
    *to = least((most(high, 0) + BLOCK - 1) / BLOCK, a->prior.stride / BLOCK);
    *from = most(most(low, 0) / BLOCK, least(band->done[g], *to));
    band->done[g] = most(band->done[g], *to);
}

ONE_COPY void band_fill(const gnn__attention_t *a, int64_t head, const gnn_real_t *q, int64_t ldq,
                        int rows, const int *first, const int *end, const band_t *band)
{
    const int64_t width = a->keys.width, next = band->ld + 1;
    const gnn_real_t *keys = a->keys.blocks + head * a->keys.head_rows * width;
    const int groups = (rows + GROUP - 1) / GROUP;
    int64_t from[BAND_GROUPS], to[BAND_GROUPS], begin = INT64_MAX, stop = 0;
    for (int g = 0; g < groups; g++) {
        lacking(a, band, g, first[g], end[g], &from[g], &to[g]);
        begin = from[g] < to[g] ? least(begin, from[g]) : begin;
        stop = most(stop, to[g]);
    }
    for (int64_t b = begin; b < stop; b++)
        for (int g = 0; g < groups; g++)
            if (from[g] <= b && b < to[g])
                product(q + g * GROUP * ldq, ldq, 1, least(GROUP, rows - g * GROUP),
                        keys + b * BLOCK * width, BLOCK, a->d_k,
                        band->at + g * GROUP * next + (b * BLOCK - band->x0), next, BLOCK, false);
}

ONE_COPY void band_transpose(const band_t *band, int64_t r0, int rows, int c0, int c1, gnn_real_t *out)
{
    const gnn_real_t *row[LANES];
    for (int c = c0; c < c1; c += LANES) {
        for (int l = 0; l < LANES; l++)
            row[l] = band->at + (c + l) * band->ld;
        for (int r = 0; r < rows; r += LANES)
            transpose_square(row, r0 + r, out + r * COLUMNS + c, COLUMNS);
    }
}

/* ---- backward ---- */

static inline const gnn_real_t *key_row(const gnn__attention_t *a, int64_t head, int64_t place)
{
    return a->keys.rows + (head * a->keys.head_rows + place) * a->keys.width;
}

static void add_scaled(gnn_real_t *y, gnn_real_t by, const gnn_real_t *x, int64_t n)
{
    for (int64_t c = 0; c < n; c += LANES)
        gnn__vec_store(y + c, gnn__vec_load(y + c) + by * gnn__vec_load(x + c));
}

/* Pair by pair, which reads nothing that is not heard. */
static ONE_COPY void grads_of_pairs(const gnn__attention_t *a, const band_pairs_t *p, int64_t head,
                                    const panel_t *q, gnn_real_t *d_q, gnn_real_t *d_keys)
{
    const int64_t width = a->keys.width;
    for (int r = 0; r < p->rows; r++)
        for (int c = p->from[r]; c < p->to[r]; c++) {
            const int64_t place = p->x0 + r - c;
            const gnn_real_t d = p->d[r * COLUMNS + c];
            if (d_q)
                add_scaled(d_q + c * width, d, key_row(a, head, place), width);
            if (d_keys)
                add_scaled(d_keys + place * width, d, q->rows + c * q->ld, width);
        }
}

/* Each group of columns times the keys of the rows that it hears, some hundred places at a time. */
static void query_grads(const gnn__attention_t *a, const band_pairs_t *p, int64_t head,
                        gnn_real_t *d_q)
{
    enum { SOME = 128 };
    const int64_t width = a->keys.width;
    int64_t from[BAND_GROUPS], to[BAND_GROUPS], begin = INT64_MAX, stop = 0;
    int first = 0, end = 0, groups = 0;
    for (int c = 0; c < p->columns; c += GROUP, groups++) {
        const int last = (int)least(c + GROUP, p->columns) - 1;
        while (first < p->rows && p->to[first] <= c)
            first++;
        while (end < p->rows && p->from[end] <= last)
            end++;
        from[groups] = p->x0 + first - last;
        to[groups] = first < end ? p->x0 + end - c : from[groups];
        begin = first < end ? least(begin, from[groups]) : begin;
        stop = first < end ? most(stop, to[groups]) : stop;
    }
    for (int64_t x = begin; x < stop; x += SOME)
        for (int g = 0; g < groups; g++) {
            const int64_t at = most(x, from[g]), n = least(x + SOME, to[g]) - at, c = g * GROUP;
            if (n > 0)
                product(p->d + (at - p->x0 + c) * COLUMNS + c, COLUMNS + 1, COLUMNS,
                        least(GROUP, p->columns - c), key_row(a, head, at), width, n,
                        d_q + c * width, width, width, true);
        }
}

/* Each group of places times the queries that it meets. */
static void key_grads(const gnn__attention_t *a, const band_pairs_t *p, const panel_t *q,
                      gnn_real_t *d_keys)
{
    const int64_t width = a->keys.width;
    int64_t begin = INT64_MAX, stop = 0;
    for (int r = 0; r < p->rows; r++)
        if (p->from[r] < p->to[r]) {
            begin = least(begin, p->x0 + r - (p->to[r] - 1));
            stop = most(stop, p->x0 + r - p->from[r] + 1);
        }
    for (int64_t x = begin; x < stop; x += GROUP) {
        const int64_t places = least(GROUP, stop - x), c = most(p->x0 - (x + places - 1), 0),
                      end = least(p->x0 - x + p->rows, p->columns);
        if (c < end)
            product(p->d + (x - p->x0 + c) * COLUMNS + c, COLUMNS, COLUMNS + 1, places,
                    q->rows + c * q->ld, q->ld, end - c, d_keys + x * width, width, width, true);
    }
}

void band_grads(const gnn__attention_t *a, const band_pairs_t *pairs, int64_t head,
                const panel_t *q, gnn_real_t *d_q, gnn_real_t *d_keys)
{
    if (!a->keys.finite || !q->finite) {
        grads_of_pairs(a, pairs, head, q, d_q, d_keys);
        return;
    }
    if (d_q)
        query_grads(a, pairs, head, d_q);
    if (d_keys)
        key_grads(a, pairs, q, d_keys);
}
