/* Keys by distance in attention by tile: the band of products of queries with keys (tile.h has the
 * picture), and its gradients.
 *
 *     band_pack         rows of keys -> blocks with slots in lanes
 *     band_fill         group of queries x missing blocks of keys -> band, stored diagonally
 *     band_transpose    strip of the band for tiles with senders as rows (backward)
 *     band_grads        derivatives of scores x keys -> d_q;  x queries -> d_keys
 *
 * Distances beyond a limit share a key: all slots up to `near`, and all from `far` on. Their
 * product is computed once per row and repeated. */
#include <lib/kernels/attention/by_tile/tile.h>

enum { BLOCK = GNN__KEY_BLOCK };

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t most(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

void band_pack(const gnn_real_t *rows, int64_t width, gnn_real_t *block)
{
    const gnn_real_t *row[LANES];
    for (int r = 0; r < BLOCK; r += LANES) {
        for (int l = 0; l < LANES; l++)
            row[l] = rows + (r + l) * width;
        for (int64_t x = 0; x < width; x += LANES)
            transpose_square(row, x, block + x * BLOCK + r, BLOCK);
    }
}

/* ---- forward ---- */

/* Blocks from .. to - 1 are missing for group g; to = 0 if it needs none. */
static void missing_blocks(const gnn__attention_t *a, const band_t *band, int g, int first, int end,
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

/* Blocks whose slots share the near key, share the far key, or neither. */
enum { NEAR_END, FAR_END, WITHIN };

static int shared_key_of(const gnn__attention_t *a, int64_t block)
{
    if ((block + 1) * BLOCK - 1 <= a->keys.near)
        return NEAR_END;
    return block * BLOCK >= a->keys.far ? FAR_END : WITHIN;
}

/* The block that is stored in place of all blocks at its end. */
static int64_t stored_block(const gnn__attention_t *a, int end, int64_t block)
{
    if (end == NEAR_END)
        return (a->keys.near + 1) / BLOCK - 1;
    return end == FAR_END ? (a->keys.far + BLOCK - 1) / BLOCK : block;
}

/* Fills a block for rows whose product with the shared key is known. */
static void repeat_shared(const gnn_real_t *ends, int64_t rows, gnn_real_t *out, int64_t next)
{
    for (int64_t r = 0; r < rows; r++)
        for (int c = 0; c < BLOCK; c += LANES)
            gnn__vec_store(out + r * next + c, gnn__vec_all(ends[2 * r]));
}

/* Multiplies group g of rows with one block; out is where row 0 of the group meets the block's
 * first slot. */
static void fill_group(const gnn__attention_t *a, const gnn_real_t *q, int64_t ldq, int64_t rows,
                       const gnn_real_t *keys, int64_t block, int g, const band_t *band,
                       gnn_real_t *out)
{
    const int end = shared_key_of(a, block);
    const int64_t next = band->ld + 1;
    gnn_real_t *ends = band->ends + 2 * g * GROUP + (end == FAR_END);
    if (end != WITHIN && band->known[g] >> end & 1) {
        repeat_shared(ends, rows, out, next);
        return;
    }
    product(q, ldq, 1, rows, keys + stored_block(a, end, block) * BLOCK * a->keys.width, BLOCK,
            a->d_k, out, next, BLOCK, false);
    for (int64_t r = 0; end != WITHIN && r < rows; r++)
        ends[2 * r] = out[r * next];
    band->known[g] |= (uint8_t)(end != WITHIN ? 1 << end : 0);
}

ONE_COPY void band_fill(const gnn__attention_t *a, int64_t head, const gnn_real_t *q, int64_t ldq,
                        int rows, const int *first, const int *end, const band_t *band)
{
    const int64_t width = a->keys.width, next = band->ld + 1;
    const gnn_real_t *keys = a->keys.blocks + head * a->keys.head_rows * width;
    const int groups = (rows + GROUP - 1) / GROUP;
    int64_t from[BAND_GROUPS], to[BAND_GROUPS], begin = INT64_MAX, stop = 0;
    for (int g = 0; g < groups; g++) {
        missing_blocks(a, band, g, first[g], end[g], &from[g], &to[g]);
        begin = from[g] < to[g] ? least(begin, from[g]) : begin;
        stop = most(stop, to[g]);
    }
    for (int64_t b = begin; b < stop; b++)
        for (int g = 0; g < groups; g++)
            if (from[g] <= b && b < to[g])
                fill_group(a, q + g * GROUP * ldq, ldq, least(GROUP, rows - g * GROUP), keys, b, g,
                           band, band->at + g * GROUP * next + (b * BLOCK - band->x0));
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

/* Pair by pair, which reads attended elements only. */
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

/* Multiplies each group of columns with the keys of the rows that attend it, SOME slots at a
 * time. */
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
        from[groups] = most(p->x0 + first - last, a->keys.near + 1);
        to[groups] = first < end ? least(p->x0 + end - c, a->keys.far) : 0;
        begin = from[groups] < to[groups] ? least(begin, from[groups]) : begin;
        stop = most(stop, to[groups]);
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

/* Multiplies each group of slots with the queries that meet it. */
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
    begin = most(begin, a->keys.near + 1);
    stop = least(stop, a->keys.far);
    for (int64_t x = begin; x < stop; x += GROUP) {
        const int64_t places = least(GROUP, stop - x), c = most(p->x0 - (x + places - 1), 0),
                      end = least(p->x0 - x + p->rows, p->columns);
        if (c < end)
            product(p->d + (x - p->x0 + c) * COLUMNS + c, COLUMNS, COLUMNS + 1, places,
                    q->rows + c * q->ld, q->ld, end - c, d_keys + x * width, width, width, true);
    }
}

/* sums[c] = sum of the derivatives of column c over slots up to `near`, or from `far` on. */
static void sum_shared(const gnn__attention_t *a, const band_pairs_t *p, int end, gnn_real_t *sums)
{
    clear(sums, COLUMNS);
    for (int r = 0; r < p->rows; r++) {
        const int64_t near = p->x0 + r - a->keys.near, far = p->x0 + r - a->keys.far;
        const int from = (int)(end == FAR_END ? 0 : least(most(near, 0), COLUMNS)),
                  to = (int)(end == FAR_END ? least(most(far + 1, 0), COLUMNS) : COLUMNS);
        for (int c = from / LANES * LANES; c < to; c += LANES) {
            const gnn__vec_t d = gnn__vec_load(p->d + r * COLUMNS + c);
            gnn__vec_store(sums + c,
                           gnn__vec_load(sums + c) + choose(columns_inside(c, from, to), d, 0));
        }
    }
}

/* Slots that share a key act as one. */
static void shared_key_grads(const gnn__attention_t *a, const band_pairs_t *p, int end,
                             int64_t head, const panel_t *q, gnn_real_t *d_q, gnn_real_t *d_keys)
{
    const int64_t width = a->keys.width, place = end == FAR_END ? a->keys.far : a->keys.near;
    gnn_real_t sums[COLUMNS];
    sum_shared(a, p, end, sums);
    if (d_q)
        product(sums, 1, 1, p->columns, key_row(a, head, place), width, 1, d_q, width, width, true);
    if (d_keys)
        product(sums, 0, 1, 1, q->rows, q->ld, p->columns, d_keys + place * width, width, width,
                true);
}

void band_grads(const gnn__attention_t *a, const band_pairs_t *pairs, int64_t head,
                const panel_t *q, gnn_real_t *d_q, gnn_real_t *d_keys)
{
    if (!a->keys.finite || !q->finite) {
        grads_of_pairs(a, pairs, head, q, d_q, d_keys);
        return;
    }
    if (a->keys.near >= a->keys.low)
        shared_key_grads(a, pairs, NEAR_END, head, q, d_q, d_keys);
    if (a->keys.far <= a->keys.high)
        shared_key_grads(a, pairs, FAR_END, head, q, d_q, d_keys);
    if (d_q)
        query_grads(a, pairs, head, d_q);
    if (d_keys)
        key_grads(a, pairs, q, d_keys);
}
