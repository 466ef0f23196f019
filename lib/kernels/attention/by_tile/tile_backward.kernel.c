/* Dot-product attention on spans, backward: alpha is recomputed tile by tile, with senders as rows
 * and receivers as columns. A call owns its senders' gradients; those of receivers (d_q) are summed
 * in memory of its own, which the caller adds up in a fixed order.
 *
 *     alpha = exp(scale q.k - lse_i)   d_alpha = dY_i . v_j
 *     d_score = scale alpha (keep d_alpha - delta_i)
 *     d_q_i += sum_j d_score k_j       d_k_j += sum_i d_score q_i
 *     d_v_j += sum_i keep alpha dY_i
 *     d_prior of a distance += sum of d_score over its pairs, before the scale
 *     keys by distance: d_q_i += sum_j d_score key, d_key += sum of d_score q_i likewise
 *
 * Passes of a piece of senders and a head; each inverts one of tile_forward.kernel.c:
 *
 *     pack        pack_receivers    a tile of 64 receivers, q and dY as rows and transposed
 *     for each strip of 48 senders:
 *       keys      multiply_keys     products with keys by distance
 *       score     score_product     p = k q'
 *       d_alpha   score_product     d = v dY'
 *       weigh     weigh             p = keep alpha, d = d_score
 *       prior     add_diagonals     sums of d along diagonals
 *       softcap   uncap             d *= derivative
 *       d_v       span_product      d_v += p dY
 *       d_k       span_product      d_k += d q
 *       d_q       add_queries       d_q += d' k
 *     keys        send_keys         gradients of keys by distance, for the whole piece
 *
 * Keys are packed times scale and log2 e, so scores are in units of log2; the scale of d_score is
 * applied to the sums. */
#include <lib/kernels/attention/by_tile/tile.h>
#include <lib/kernels/attention/by_tile/by_tile.h>

enum { ROWS = GNN__TILE_ROWS };

typedef struct grad_state {
    /* rows x ldk or ldv of senders: keys, values, their gradients */
    gnn_real_t *k, *v, *d_k, *d_v;
    gnn_real_t *k_rows; /* keys as an operand b of products; differs from k in bf16 */
    bool keys_finite;
    uint32_t node[ROWS];
    /* the tile of receivers as rows (64 x ldk, ldv) and transposed; 64 scalars each */
    gnn_real_t *q_rows, *q_t, *dy_rows, *dy_t, *lse, *delta;
    panel_t q, dy;
    bool in_callers_memory, fresh; /* fresh: nothing was added to the tile's d_q yet */
    /* STRIP x 64: keep alpha, d_score */
    gnn_real_t *p, *d, *d_rows; /* d as an operand b */
    gnn_precision_t level; /* below `highest` operands are converted to bf16 words once packed */
    int64_t ldk, ldv;
    gnn_real_t *slopes;    /* with a softcap: STRIP x 64, its derivatives */
    gnn__tile_sums_t sums; /* sums by distance of the current head */
    /* With keys by distance only: the tile's receivers times the keys of all senders; a strip of
     * that, transposed; d_score of all senders; queries in fp32. */
    band_t band;
    int64_t done[BAND_GROUPS];
    uint8_t known[BAND_GROUPS];
    gnn_real_t *band_strip, *all_d, *key_q_rows;
    panel_t key_q;
    drawn_t drawn;
} grad_state_t;

enum { BAND_ROW = ROWS + 2 * BAND_SLACK };

static void grad_scratch(const gnn__attention_t *a, grad_state_t *s, gnn_real_t *scratch)
{
    gnn__carve_t c = {.base = (char *)scratch};
    s->ldk = gnn__tile_row(a, a->d_k);
    s->ldv = gnn__tile_row(a, a->d_v);
    s->q_rows = carve_reals(&c, COLUMNS * s->ldk);
    s->q_t = carve_reals(&c, COLUMNS * s->ldk);
    s->dy_rows = carve_reals(&c, COLUMNS * s->ldv);
    s->dy_t = carve_reals(&c, COLUMNS * s->ldv);
    s->lse = carve_reals(&c, COLUMNS);
    s->delta = carve_reals(&c, COLUMNS);
    s->p = carve_reals(&c, STRIP * COLUMNS);
    if (a->keys.count > 0) {
        s->band = (band_t){carve_reals(&c, COLUMNS * BAND_ROW) + BAND_SLACK, BAND_ROW, 0, s->done,
                           carve_reals(&c, 2 * (COLUMNS + GROUP)),           s->known};
        s->band_strip = carve_reals(&c, STRIP * COLUMNS);
        s->all_d = carve_reals(&c, (ROWS + 2 * BAND_GUARD) * COLUMNS) + BAND_GUARD * COLUMNS;
        s->key_q_rows = carve_reals(&c, COLUMNS * s->ldk);
        clear(s->all_d - BAND_GUARD * COLUMNS, BAND_GUARD * COLUMNS);
    }
    if (a->softcap > 0)
        s->slopes = carve_reals(&c, STRIP * COLUMNS);
    s->d = carve_reals(&c, STRIP * COLUMNS);
    s->d_rows = IN_BF16(a->level) ? carve_reals(&c, room_of(a->level, STRIP) * COLUMNS) : s->d;
    s->k = carve_reals(&c, ROWS * s->ldk);
    s->d_k = carve_reals(&c, ROWS * s->ldk);
    s->v = carve_reals(&c, ROWS * s->ldv);
    s->d_v = carve_reals(&c, ROWS * s->ldv);
    s->k_rows = IN_BF16(a->level) ? carve_reals(&c, room_of(a->level, ROWS) * s->ldk) : s->k;
    s->drawn.bits = gnn__carve(&c, 0, 1);
}

static void begin_senders(const gnn__attention_t *a, grad_state_t *s, int64_t row0, int64_t rows,
                          int64_t kv)
{
    const int groups = (int)((rows + GROUP - 1) / GROUP * GROUP);
    for (int64_t r = 0; r < rows; r++)
        s->node[r] = (uint32_t)gnn__pairs_node(&a->pairs, row0 + r);
    s->keys_finite = pack_rows(&a->k, s->node, (int)rows, groups, kv * a->d_k, a->d_k, s->ldk,
                               a->scale * log2_e, s->k);
    pack_rows(&a->v, s->node, (int)rows, groups, kv * a->d_v, a->d_v, s->ldv, 1, s->v);
    if (IN_BF16(s->level)) {
        bf16_pairs(s->k, rows, s->ldk, s->k_rows, SPLIT(s->level));
        bf16_rows(s->k, groups * s->ldk, SPLIT(s->level));
        bf16_rows(s->v, groups * s->ldv, SPLIT(s->level));
    }
    clear(s->d_k, groups * s->ldk);
    clear(s->d_v, groups * s->ldv);
}

/* One head of a gradient (+)= factor * sums of the senders' rows. */
static void put_rows(const grad_state_t *s, int64_t rows, gnn_real_t factor, const gnn_real_t *sums,
                     int64_t ld, bool add, const gnn__matrix_t *d, int64_t first, int64_t count)
{
    for (int64_t r = 0; d->at && r < rows; r++)
        put_scaled(sums + r * ld, count, factor, add, gnn__matrix_row(d, s->node[r]) + first);
}

static void pack_receivers(const gnn__attention_t *a, grad_state_t *s, const tile_t *t, int64_t head)
{
    const int whole = (int)gnn__tile_width(t->count);
    s->q = panel_of(a, &a->q, t, head * a->d_k, a->d_k, s->in_callers_memory, s->q_rows);
    s->dy = panel_of(a, &a->grad.y, t, head * a->d_v, a->d_v, s->in_callers_memory, s->dy_rows);
    transpose(&s->q, t->count, s->ldk, s->q_t);
    transpose(&s->dy, t->count, s->ldv, s->dy_t);
    if (IN_BF16(s->level)) {
        bf16_pairs(s->q_t, s->ldk, COLUMNS, s->q_t, SPLIT(s->level));
        bf16_pairs(s->dy_t, s->ldv, COLUMNS, s->dy_t, SPLIT(s->level));
        bf16_pairs(s->q_rows, t->count, s->ldk, s->q_rows, SPLIT(s->level));
        bf16_pairs(s->dy_rows, t->count, s->ldv, s->dy_rows, SPLIT(s->level));
    }
    if (a->keys.count > 0 && !a->keys.apart && !IN_BF16(s->level))
        s->key_q = s->q;
    else if (a->keys.count > 0)
        s->key_q = panel_of(a, &a->keys.q, t, head * a->d_k, a->d_k, false, s->key_q_rows);
    for (int c = 0; c < whole; c++) {
        const int64_t at = t->node[c] * a->heads + head;
        /* without senders every alpha is 0 */
        const bool silent = c >= t->count || a->grad.lse[at] == -INFINITY;
        s->lse[c] = silent ? INFINITY : a->grad.lse[at] * log2_e;
        s->delta[c] = c < t->count ? a->grad.delta[at] : 0;
    }
}

/* Replaces a row's scores and d_alpha by keep alpha and d_score; masked: 0 outside from .. to -
 * 1. */
GNN__INLINE void weigh_row(const grad_state_t *s, gnn_real_t *p, gnn_real_t *d, int c0, int c1,
                           const keep_t *keep, const gnn_real_t *prior, const gnn_real_t *band,
                           bool masked, int from, int to)
{
    for (int c = c0; c < c1; c += LANES) {
        gnn__vec_t score = gnn__vec_load(p + c);
        if (prior)
            score += log2_e * gnn__vec_load(prior + c);
        if (band)
            score += gnn__vec_load(band + c);
        gnn__vec_t alpha = exp2_of(score - gnn__vec_load(s->lse + c)),
                   d_alpha = gnn__vec_load(d + c), kept = alpha;
        if (keep) {
            kept = apply_dropout(keep, c, kept);
            d_alpha = apply_dropout(keep, c, d_alpha);
        }
        gnn__vec_t d_score = alpha * (d_alpha - gnn__vec_load(s->delta + c));
        if (masked) {
            const lanes_t there = columns_inside(c, from, to);
            kept = choose(there, kept, 0);
            d_score = choose(there, d_score, 0);
        }
        gnn__vec_store(p + c, kept);
        gnn__vec_store(d + c, d_score);
    }
}

static void weigh(const gnn__attention_t *a, const grad_state_t *s, const tile_t *t,
                  const spans_t *h, const strip_t *strip, int64_t head)
{
    const int c0 = lanes_from(h, h->all_first), c1 = lanes_to(h->all_end);
    const int64_t row0 = strip->row0 + strip_first(strip);
    for (int r = 0; r < h->rows; r++) {
        gnn_real_t *p = s->p + r * COLUMNS, *d = s->d + r * COLUMNS;
        keep_t row, *keep = a->dropout ? &row : NULL;
        if (keep)
            keep_row(a, &s->drawn, row0 + r, t->at, h->from[r], h->to[r], head, keep);
        const int from = h->from[r], to = h->to[r];
        const gnn_real_t *prior = a->prior.at && from < to ? prior_of(a, t, row0 + r, head) : NULL;
        if (a->keys.count > 0)
            weigh_row(s, p, d, c0, c1, keep, prior, s->band_strip + r * COLUMNS, true, from, to);
        else if (prior)
            weigh_row(s, p, d, c0, c1, keep, prior, NULL, true, from, to);
        else if (from == c0 && to == c1)
            weigh_row(s, p, d, c0, c1, keep, NULL, NULL, false, 0, 0);
        else
            weigh_row(s, p, d, c0, c1, keep, NULL, NULL, true, from, to);
    }
}

/* ---- keys by distance ---- */

/* Multiplies the tile's receivers with the keys of the strip's senders and transposes the
 * result. */
static void multiply_keys(const gnn__attention_t *a, grad_state_t *s, const tile_t *t,
                          const spans_t *h, int64_t r0, int64_t head)
{
    int first[BAND_GROUPS], end[BAND_GROUPS], begin = 0, stop = 0;
    for (int c = 0, g = 0; c < t->count; c += GROUP, g++) {
        while (begin < h->rows && h->to[begin] <= c)
            begin++;
        while (stop < h->rows && h->from[stop] < c + GROUP)
            stop++;
        first[g] = (int)r0 + begin;
        end[g] = (int)r0 + stop;
    }
    band_fill(a, head, s->key_q.rows, s->key_q.ld, t->count, first, end, &s->band);
    band_transpose(&s->band, r0, h->rows, lanes_from(h, h->all_first), lanes_to(h->all_end),
                   s->band_strip);
}

/* Keeps the derivatives of the strip's scores until all senders have met the tile. */
static void keep_derivatives(const grad_state_t *s, const spans_t *h, int64_t r0)
{
    const int c0 = lanes_from(h, h->all_first), c1 = lanes_to(h->all_end);
    gnn_real_t *to = s->all_d + r0 * COLUMNS;
    for (int r = 0; r < h->rows; r++, to += COLUMNS) {
        clear(to, c0);
        clear(to + c1, COLUMNS - c1);
        if (s->d + r * COLUMNS != to)
            memcpy(to + c0, s->d + r * COLUMNS + c0, sizeof *to * (size_t)(c1 - c0));
    }
}

/* Gradients of keys by distance, and of what they multiply, from a piece of senders and the
 * tile. */
static void send_keys(const gnn__attention_t *a, const grad_state_t *s, const tile_t *t,
                      int64_t row0, int64_t row1, int64_t head, gnn_real_t *d_key_q)
{
    band_pairs_t pairs = {.rows = (int)(row1 - row0), .columns = t->count, .x0 = s->band.x0};
    pairs.d = s->all_d;
    clear(s->all_d + pairs.rows * COLUMNS, BAND_GUARD * COLUMNS);
    for (int r = 0; r < pairs.rows; r++) {
        const int64_t from = a->pairs.lo[row0 + r] - t->at, to = a->pairs.hi[row0 + r] - t->at;
        pairs.from[r] = clamp_column(from, t->count);
        pairs.to[r] = clamp_column(to, t->count);
    }
    band_grads(a, &pairs, head, &s->key_q, d_key_q, s->sums.d_keys);
}

/* Sums d_score along the diagonals of the strip. Rows are visited LANES apart, so that successive
 * stores hit the same addresses or disjoint ones, and no load waits for a store that it overlaps in
 * part. */
static void add_diagonals(const gnn__attention_t *a, const grad_state_t *s, const tile_t *t,
                          const spans_t *h, int64_t row0)
{
    const int c0 = lanes_from(h, h->all_first), c1 = lanes_to(h->all_end);
    for (int first = 0; first < LANES; first++)
        for (int r = first; r < h->rows; r += LANES) {
            const gnn_real_t *d = s->d + r * COLUMNS;
            if (h->from[r] >= h->to[r])
                continue;
            gnn_real_t *sums = s->sums.d_prior + a->prior.shift[row0 + r] + t->at;
            for (int c = c0; c < c1; c += LANES)
                gnn__vec_store(sums + c, gnn__vec_load(sums + c) + gnn__vec_load(d + c));
        }
}

/* Turns derivatives of capped scores into those of the scores. Columns that are not attended are 0,
 * whatever their score was. */
static void uncap(const grad_state_t *s, const spans_t *h)
{
    const int c0 = lanes_from(h, h->all_first), c1 = lanes_to(h->all_end);
    for (int r = 0; r < h->rows; r++)
        for (int c = c0; c < c1; c += LANES) {
            const int at = r * COLUMNS + c;
            const gnn__vec_t d = gnn__vec_load(s->d + at), slope = gnn__vec_load(s->slopes + at);
            gnn__vec_store(s->d + at, choose(~(lanes_t)(d == (gnn__vec_t){0}), d * slope, 0));
        }
}

/* d_q of the tile's receivers += d_score' k. Where a key is not finite, receivers that do not
 * attend all of the strip are processed one by one. */
static void add_queries(const grad_state_t *s, const spans_t *h, int64_t r0, gnn_real_t *d_q)
{
    const bool add = !s->fresh || r0 > 0;
    const int64_t step = next_row(s->level, COLUMNS), ldk = next_row(s->level, s->ldk);
    const bool in_bf16 = IN_BF16(s->level);
    const gnn_real_t *k = (in_bf16 ? s->k_rows : s->k) + room_of(s->level, r0) * s->ldk,
                     *d = in_bf16 ? s->d_rows : s->d;
    if (!h->cut || s->keys_finite) {
        h->multiply(d + h->all_first, 1, step, h->all_end - h->all_first, k, ldk,
                    words_of(s->level, h->rows), d_q + h->all_first * s->ldk, s->ldk, s->ldk, add);
        return;
    }
    for (int c = h->all_first; c < h->all_end; c++) {
        int first = 0, end = h->rows;
        while (first < end && h->to[first] <= c)
            first++;
        while (end > first && h->from[end - 1] > c)
            end--;
        row_product(h, d + c, step, k, s->ldk, first, end, d_q + c * s->ldk, s->ldk);
    }
}

/* A strip of senders against the tile; d_q starts at the tile's first receiver. */
static void send_strip(const gnn__attention_t *a, grad_state_t *s, const tile_t *t,
                       const strip_t *strip, int64_t head, bool more, gnn_real_t *d_q)
{
    spans_t h;
    const int64_t r0 = strip_first(strip);
    const int64_t ldk = room_of(s->level, s->ldk), ldv = room_of(s->level, s->ldv);
    span_bounds(a, t, strip->row0 + r0, strip_rows(strip), s->level, &h);
    prefetch_next(a, t, strip, &a->q, head * a->d_k, a->d_k);
    if (last_tile(a, t, strip)) {
        const int64_t kv = head / (a->heads / a->kv_heads);
        prefetch_rows(strip, s->node, &a->grad.k, kv * a->d_k, a->d_k, true);
        prefetch_rows(strip, s->node, &a->grad.v, kv * a->d_v, a->d_v, true);
    }
    if (more && last_tile(a, t, strip)) {
        prefetch_rows(strip, s->node, &a->k, (head + 1) * a->d_k, a->d_k, false);
        prefetch_rows(strip, s->node, &a->v, (head + 1) * a->d_v, a->d_v, false);
        prefetch_first(a, strip, &a->q, (head + 1) * a->d_k, a->d_k);
        prefetch_first(a, strip, &a->grad.y, (head + 1) * a->d_v, a->d_v);
    }
    if (a->keys.count > 0 && !IN_BF16(s->level) && a->softcap == 0)
        s->d = s->d_rows = s->all_d + r0 * COLUMNS;
    if (h.all_end <= h.all_first) {
        if (a->keys.count > 0)
            clear(s->all_d + r0 * COLUMNS, h.rows * COLUMNS);
        return;
    }
    if (a->keys.count > 0)
        multiply_keys(a, s, t, &h, r0, head);
    score_product(&h, s->k + r0 * ldk, ldk, a->d_k, s->q_t, s->p);
    prefetch_next(a, t, strip, &a->grad.y, head * a->d_v, a->d_v);
    if (a->softcap > 0)
        cap_strip(a, &h, s->p, s->slopes);
    score_product(&h, s->v + r0 * ldv, ldv, a->d_v, s->dy_t, s->d);
    weigh(a, s, t, &h, strip, head);
    if (s->sums.d_prior)
        add_diagonals(a, s, t, &h, strip->row0 + r0);
    if (a->keys.count > 0)
        keep_derivatives(s, &h, r0);
    if (a->softcap > 0)
        uncap(s, &h);
    if (IN_BF16(s->level)) {
        bf16_pairs(s->d, h.rows, COLUMNS, s->d_rows, SPLIT(s->level));
        bf16_rows(s->d, h.rows * COLUMNS, SPLIT(s->level));
        bf16_rows(s->p, h.rows * COLUMNS, SPLIT(s->level));
    }
    if (a->grad.v.at)
        span_product(&h, s->p, &s->dy, s->d_v + r0 * s->ldv, s->ldv);
    if (a->grad.k.at)
        span_product(&h, s->d, &s->q, s->d_k + r0 * s->ldk, s->ldk);
    if (a->grad.q.at)
        add_queries(s, &h, r0, d_q);
}

/* Sums of d_q: rows of ldk elements, `columns` of them per head. apart: sums of what keys by
 * distance multiply, if these are not the queries; else NULL. */
typedef struct sums {
    gnn_real_t *at, *apart;
    int64_t first, columns, clean; /* columns below `clean` hold sums, or 0 */
} sums_t;

/* A piece of senders and one head that reads their keys. */
static void send_piece(const gnn__attention_t *a, grad_state_t *s, int64_t row0, int64_t row1,
                       int64_t head, bool more, gnn_real_t *d_q, gnn_real_t *d_key_q)
{
    tile_t t;
    for (bool first = true; next_tile(a, &t, row0, row1, first); first = false) {
        const int64_t at = (t.at - a->pairs.lo[row0]) * s->ldk;
        pack_receivers(a, s, &t, head);
        if (a->keys.count > 0) {
            s->band.x0 = a->prior.stride - 1 - a->prior.shift[row0] - t.at;
            memset(s->done, 0, sizeof s->done);
            memset(s->known, 0, sizeof s->known);
        }
        for (strip_t k = first_strip(row0, row1); k.index < k.count; k.index++)
            send_strip(a, s, &t, &k, head, more, d_q + at);
        if (a->keys.count > 0)
            send_keys(a, s, &t, row0, row1, head, d_key_q ? d_key_q + at : NULL);
    }
}

/* Clears the columns that the piece meets first; they are overwritten instead by its only tile, if
 * that is read in place. */
static void open_sums(const gnn__attention_t *a, grad_state_t *s, int64_t row0, int64_t row1,
                      int64_t heads, sums_t *sums)
{
    const int64_t lo = a->pairs.lo[row0], hi = a->pairs.hi[row1 - 1];
    s->in_callers_memory = in_place(a, row0, row1);
    s->level = s->in_callers_memory ? GNN_PRECISION_HIGHEST : a->level;
    s->fresh = s->in_callers_memory && lo >= sums->clean;
    const int64_t end = s->fresh ? lo : hi;
    for (int64_t h = 0; end > sums->clean && h < heads; h++) {
        const int64_t at = (h * sums->columns + sums->clean - sums->first) * s->ldk;
        clear(sums->at + at, (end - sums->clean) * s->ldk);
        if (sums->apart)
            clear(sums->apart + at, (end - sums->clean) * s->ldk);
    }
    sums->clean = hi > sums->clean ? hi : sums->clean;
}

/* Clears the sums by distance of `heads` heads; of keys, those of distances that pairs have. */
static void open_distances(const gnn__attention_t *a, const gnn__tile_sums_t *of, int64_t heads)
{
    const int64_t width = a->keys.width;
    if (of->d_prior)
        clear(of->d_prior, heads * a->prior.stride);
    for (int64_t h = 0; of->d_keys && h < heads; h++)
        clear(of->d_keys + (h * a->prior.stride + a->keys.first) * width,
              (a->keys.last + 1 - a->keys.first) * width);
}

/* Selects the sums by distance of head `index` of this call. */
static void choose_head(const gnn__attention_t *a, const gnn__tile_sums_t *of, int64_t index,
                        grad_state_t *s)
{
    s->sums.d_prior = of->d_prior ? of->d_prior + index * a->prior.stride : NULL;
    s->sums.d_keys = of->d_keys ? of->d_keys + index * a->prior.stride * a->keys.width : NULL;
}

static void send(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t kv0, int64_t kv1,
                 const gnn__tile_sums_t *of, gnn_real_t *scratch)
{
    grad_state_t s;
    const int64_t group = a->heads / a->kv_heads, column0 = a->pairs.lo[row0];
    sums_t sums = {of->d_q, of->d_key_q == of->d_q ? NULL : of->d_key_q, column0,
                   a->pairs.hi[row1 - 1] - column0, column0};
    grad_scratch(a, &s, scratch);
    open_distances(a, of, (kv1 - kv0) * group);
    if (BF16_PRODUCTS && a->amx)
        amx_begin();
    for (int64_t end; row0 < row1; row0 = end) {
        end = piece_end(a, row0, row0 + a->rows < row1 ? row0 + a->rows : row1);
        const int64_t rows = end - row0;
        open_sums(a, &s, row0, end, (kv1 - kv0) * group, &sums);
        int64_t at = (a->pairs.lo[row0] - sums.first) * s.ldk;
        for (int64_t kv = kv0; kv < kv1; kv++) {
            begin_senders(a, &s, row0, rows, kv);
            for (int64_t h = 0; h < group; h++, at += sums.columns * s.ldk) {
                const int64_t head = kv * group + h;
                choose_head(a, of, head - kv0 * group, &s);
                if (a->dropout && (head == kv0 * group || head % 8 == 0))
                    draw_piece(a, row0, end, head, &s.drawn);
                send_piece(a, &s, row0, end, head, group == 1 && kv + 1 < kv1, sums.at + at,
                           of->d_key_q ? of->d_key_q + at : NULL);
            }
            put_rows(&s, rows, a->scale, s.d_k, s.ldk, !a->grad.writes_k, &a->grad.k, kv * a->d_k,
                     a->d_k);
            put_rows(&s, rows, 1, s.d_v, s.ldv, !a->grad.writes_v, &a->grad.v, kv * a->d_v, a->d_v);
        }
    }
    if (BF16_PRODUCTS && a->amx)
        amx_end();
}

enum { AHEAD = 8 };

static void receive(const gnn__attention_t *a, int64_t c0, int64_t c1, int64_t head, bool add,
                    const gnn_real_t *d_q)
{
    const int64_t ldk = gnn__tile_row(a, a->d_k);
    for (int64_t c = c0; c < c1; c++, d_q += ldk) {
        if (c + AHEAD < c1) {
            const gnn_real_t *x =
                gnn__matrix_row(&a->grad.q, gnn__pairs_col(&a->pairs, c + AHEAD)) + head * a->d_k;
            for (int64_t i = 0; i < a->d_k; i += 64 / (int64_t)sizeof *x)
                __builtin_prefetch(x + i, 1);
        }
        gnn_real_t *row = gnn__matrix_row(&a->grad.q, gnn__pairs_col(&a->pairs, c)) + head * a->d_k;
        put_scaled(d_q, a->d_k, ln_2, add, row);
    }
}

extern const gnn__attention_tiles_grad_t GNN__KERNEL(attention_tiles_grad);
const gnn__attention_tiles_grad_t GNN__KERNEL(attention_tiles_grad) = {.send = send,
                                                                       .receive = receive};
