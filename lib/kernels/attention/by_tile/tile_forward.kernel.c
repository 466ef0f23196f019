/* Dot-product attention on spans, forward: up to GNN__TILE_ROWS receivers against tiles of senders
 * with a running softmax. A tile is packed once for all of these rows.
 *
 *     pack       pack_tile          keys transposed (d_k x 64), values (64 x d_v), at bf16 as words
 *     for each strip of 48 rows:
 *       spans      span_bounds      columns of the tile that each row attends
 *       keys       multiply_keys    products with keys by distance, if there are any
 *       score      score_product    p = q k', 48 x 64, in units of log2
 *       softcap    cap_strip
 *       softmax    softmax          2^(p - largest); a new maximum rescales sums and y
 *       dropout    drop
 *       values     span_product     y += p v
 *     finish     forward_end        y / sum, log-sum-exp */
#include <lib/kernels/attention/by_tile/tile.h>
#include <lib/kernels/attention/by_tile/by_tile.h>

typedef struct forward_state {
    gnn_real_t *keys, *keys_t, *values; /* buffers for a tile: 64 x d_k, d_k x 64, 64 x d_v */
    const gnn_real_t *k;                /* keys of the tile: keys_t, or where a->packed has them */
    panel_t v;
    bool packed;
    gnn_real_t *q, *y; /* queries (times scale and log2 e), weighted sums: rows x ldk, rows x ldv */
    gnn_real_t *p;     /* STRIP x 64, scores, then weights */
    gnn_real_t *sum;   /* rows x LANES, per-lane sums */
    gnn_real_t *largest;
    int64_t ldk, ldv;
    /* Below `highest` q, keys_t, values and p are converted to bf16 words once packed. */
    gnn_precision_t level;
    /* With keys by distance only: queries that meet them (own_q if those of the scores do not
     * serve), STRIP x BAND_ROW products of a strip, products of each row that belong to the next
     * tile, and with shared keys. */
    const gnn_real_t *key_q;
    gnn_real_t *own_q, *band, *spill;
    gnn_real_t *ends;
    int64_t done[GNN__TILE_ROWS / GROUP];
    uint8_t known[GNN__TILE_ROWS / GROUP];
    drawn_t drawn;
    uint32_t node[GNN__TILE_ROWS];
} forward_state_t;

enum { BAND_ROW = COLUMNS + 2 * BAND_SLACK };

static ONE_COPY void forward_scratch(const gnn__attention_t *a, forward_state_t *s,
                                     gnn_real_t *scratch)
{
    gnn__carve_t c = {.base = (char *)scratch};
    s->ldk = gnn__tile_row(a, a->d_k);
    s->ldv = gnn__tile_row(a, a->d_v);
    s->keys = carve_reals(&c, COLUMNS * s->ldk);
    s->keys_t = carve_reals(&c, COLUMNS * s->ldk);
    s->values = carve_reals(&c, COLUMNS * s->ldv);
    s->p = carve_reals(&c, STRIP * COLUMNS);
    s->q = carve_reals(&c, GNN__TILE_ROWS * s->ldk);
    s->y = carve_reals(&c, GNN__TILE_ROWS * s->ldv);
    s->sum = carve_reals(&c, GNN__TILE_ROWS * LANES);
    s->largest = carve_reals(&c, GNN__TILE_ROWS);
    if (a->keys.count > 0) {
        s->band = carve_reals(&c, STRIP * BAND_ROW);
        s->spill = carve_reals(&c, GNN__TILE_ROWS * BAND_SLACK);
        s->ends = carve_reals(&c, 2 * GNN__TILE_ROWS);
        s->own_q = carve_reals(&c, GNN__TILE_ROWS * s->ldk);
    }
    s->drawn.bits = gnn__carve(&c, 0, 1);
}

/* Loads the queries that meet keys by distance: those of the scores, unless these are in bf16 or
 * others. */
static void begin_keys(const gnn__attention_t *a, forward_state_t *s, int64_t rows, int64_t groups,
                       int64_t head)
{
    memset(s->done, 0, sizeof s->done);
    memset(s->known, 0, sizeof s->known);
    s->key_q = s->q;
    if (!IN_BF16(s->level) && !a->keys.apart)
        return;
    pack_rows(&a->keys.q, s->node, (int)rows, (int)groups, head * a->d_k, a->d_k, s->ldk,
              a->scale * log2_e, s->own_q);
    s->key_q = s->own_q;
}

static void forward_begin(const gnn__attention_t *a, forward_state_t *s, int64_t row0, int64_t rows,
                          int64_t head)
{
    const int64_t groups = (rows + GROUP - 1) / GROUP * GROUP;
    for (int64_t r = 0; r < rows; r++)
        s->node[r] = (uint32_t)gnn__pairs_node(&a->pairs, row0 + r);
    pack_rows(&a->q, s->node, (int)rows, (int)groups, head * a->d_k, a->d_k, s->ldk,
              a->scale * log2_e, s->q);
    if (IN_BF16(s->level))
        bf16_rows(s->q, groups * s->ldk, SPLIT(s->level));
    if (a->keys.count > 0)
        begin_keys(a, s, rows, groups, head);
    clear(s->y, groups * s->ldv);
    clear(s->sum, rows * LANES);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = s->node[r] * a->heads + head;
        s->largest[r] = a->first ? -INFINITY : a->state.largest[at] * log2_e;
        if (!a->first)
            s->sum[r * LANES] = a->state.sum[at];
        if (!a->first)
            memcpy(s->y + r * s->ldv, gnn__matrix_row(&a->y, s->node[r]) + head * a->d_v,
                   sizeof *s->y * (size_t)a->d_v);
    }
}

static void forward_end(const gnn__attention_t *a, const forward_state_t *s, int64_t rows,
                        int64_t head)
{
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = s->node[r] * a->heads + head;
        gnn_real_t *y = gnn__matrix_row(&a->y, s->node[r]) + head * a->d_v;
        const gnn_real_t sum = sum_of_lanes(gnn__vec_load(s->sum + r * LANES));
        gnn_real_t scale = 1;
        if (a->last)
            scale = sum == 0 ? 0 : 1 / sum;
        put_scaled(s->y + r * s->ldv, a->d_v, scale, false, y);
        if (a->state.sum)
            a->state.sum[at] = sum;
        if (!a->state.largest)
            continue;
        a->state.largest[at] = a->last && sum == 0 ? -INFINITY : s->largest[r] * ln_2;
        if (a->last && sum != 0)
            a->state.largest[at] += (gnn_real_t)log((double)sum);
    }
}

/* Weights may reach 2^RAISE before the running maximum is raised, so that most rows keep the
 * maximum of their first tile. */
enum { RAISE = 8 };

/* Online-softmax step: raises the running maximum and rescales the accumulated sums. */
static void online_softmax_update(forward_state_t *s, int64_t r, gnn__vec_t best)
{
    const gnn_real_t found = largest_lane(best);
    if (s->largest[r] == -INFINITY) {
        s->largest[r] = found;
        return;
    }
    const gnn__vec_t shrink = exp2_of(gnn__vec_all(s->largest[r] - found));
    gnn_real_t *sum = s->sum + r * LANES, *y = s->y + r * s->ldv;
    s->largest[r] = found;
    gnn__vec_store(sum, shrink * gnn__vec_load(sum));
    for (int64_t c = 0; c < s->ldv; c += LANES)
        gnn__vec_store(y + c, shrink * gnn__vec_load(y + c));
}

/* Replaces the scores of row r in columns c0 .. c1 - 1 (whole registers) by 2^(score - largest),
 * after adding the prior and the products with keys by distance where these are not NULL. masked:
 * columns outside from .. to - 1 become 0. */
GNN__INLINE void softmax_row(forward_state_t *s, int64_t r, gnn_real_t *p, int c0, int c1,
                             const gnn_real_t *prior, const gnn_real_t *band, bool masked, int from,
                             int to)
{
    const gnn__vec_t most = gnn__vec_all(s->largest[r]);
    gnn__vec_t best = most, sum;
    for (int c = c0; c < c1; c += LANES) {
        gnn__vec_t x = gnn__vec_load(p + c);
        if (prior)
            x += log2_e * gnn__vec_load(prior + c);
        if (band)
            x += gnn__vec_load(band + c);
        if (masked) {
            x = choose(columns_inside(c, from, to), x, -INFINITY);
            gnn__vec_store(p + c, x);
        }
        best = larger(x, best);
    }
    if (any_above(best, most + RAISE))
        online_softmax_update(s, r, best);
    const gnn__vec_t base = gnn__vec_all(s->largest[r] == -INFINITY ? 0 : s->largest[r]);
    sum = gnn__vec_load(s->sum + r * LANES);
    for (int c = c0; c < c1; c += LANES) {
        const gnn__vec_t e = exp2_of(gnn__vec_load(p + c) - base);
        sum += e;
        gnn__vec_store(p + c, e);
    }
    gnn__vec_store(s->sum + r * LANES, sum);
}

/* With priors or keys by distance: a function of its own, so that the plain one keeps its
 * registers. */
static ONE_COPY void softmax_by_distance(const gnn__attention_t *a, forward_state_t *s,
                                         const tile_t *t, const spans_t *h, const strip_t *strip,
                                         int64_t head)
{
    const int64_t r0 = strip_first(strip);
    for (int r = 0; r < h->rows; r++) {
        const int g = r / GROUP, c0 = lanes_from(h, h->first[g]), c1 = lanes_to(h->end[g]);
        gnn_real_t *p = s->p + r * COLUMNS;
        const int from = h->from[r], to = h->to[r];
        const gnn_real_t *prior =
            a->prior.at && from < to ? prior_of(a, t, strip->row0 + r0 + r, head) : NULL;
        if (a->keys.count > 0)
            softmax_row(s, r0 + r, p, c0, c1, prior, s->band + r * BAND_ROW + BAND_SLACK, true,
                        from, to);
        else
            softmax_row(s, r0 + r, p, c0, c1, prior, NULL, true, from, to);
    }
}

static void softmax(forward_state_t *s, const spans_t *h, int64_t r0)
{
    for (int r = 0; r < h->rows; r++) {
        const int g = r / GROUP, c0 = lanes_from(h, h->first[g]), c1 = lanes_to(h->end[g]);
        gnn_real_t *p = s->p + r * COLUMNS;
        if (h->from[r] == c0 && h->to[r] == c1)
            softmax_row(s, r0 + r, p, c0, c1, NULL, NULL, false, 0, 0);
        else
            softmax_row(s, r0 + r, p, c0, c1, NULL, NULL, true, h->from[r], h->to[r]);
    }
}

static void drop(const gnn__attention_t *a, const forward_state_t *s, const tile_t *t,
                 const spans_t *h, const strip_t *strip, int64_t head)
{
    keep_t keep;
    for (int r = 0; r < h->rows; r++) {
        gnn_real_t *p = s->p + r * COLUMNS;
        if (h->to[r] <= h->from[r])
            continue;
        keep_row(a, &s->drawn, strip->row0 + strip_first(strip) + r, t->at, h->from[r], h->to[r],
                 head, &keep);
        for (int c = lanes_from(h, h->from[r]); c < h->to[r]; c += LANES)
            gnn__vec_store(p + c, apply_dropout(&keep, c, gnn__vec_load(p + c)));
    }
}

/* Pointers to keys, values and the flag that values are finite in a packed tile. */
static void packed_tile(const gnn__attention_t *a, int64_t tile, int64_t kv, gnn_real_t *part[3])
{
    part[0] = a->packed + (kv * gnn__packed_tiles(a) + tile) * gnn__packed_tile(a);
    part[1] = part[0] + COLUMNS * room_of(a->level, gnn__tile_row(a, a->d_k));
    part[2] = part[1] + COLUMNS * room_of(a->level, gnn__tile_row(a, a->d_v));
}

static void find_tile(const gnn__attention_t *a, forward_state_t *s, const tile_t *t, int64_t kv)
{
    gnn_real_t *part[3];
    packed_tile(a, (t->at - a->pairs.lo[0]) / COLUMNS, kv, part);
    s->k = part[0];
    s->v = (panel_t){part[1], s->ldv, *part[2] != 0};
}

static ONE_COPY void pack_tile(const gnn__attention_t *a, forward_state_t *s, const tile_t *t,
                               int64_t kv, bool in_callers_memory, gnn_real_t *k, gnn_real_t *v)
{
    gnn_real_t *keys_t = IN_BF16(s->level) ? s->keys_t : k,
               *values = IN_BF16(s->level) ? s->values : v;
    const panel_t keys = panel_of(a, &a->k, t, kv * a->d_k, a->d_k, in_callers_memory, s->keys);
    transpose(&keys, t->count, s->ldk, keys_t);
    s->v = panel_of(a, &a->v, t, kv * a->d_v, a->d_v, in_callers_memory, values);
    s->k = k;
    if (IN_BF16(s->level)) {
        bf16_pairs(keys_t, s->ldk, COLUMNS, k, SPLIT(s->level));
        bf16_pairs(values, t->count, s->ldv, v, SPLIT(s->level));
        s->v.rows = v;
    }
}

static void prefetch_packed(const gnn__attention_t *a, const forward_state_t *s, const strip_t *strip)
{
    const int64_t size = gnn__packed_tile(a), line = 64 / (int64_t)sizeof *s->k,
                  end = (strip->index + 1) * size / strip->count;
    for (int64_t k = strip->index * size / strip->count; k < end; k += line)
        __builtin_prefetch(s->k + size + k);
}

/* Products of the strip's queries with keys by distance. Whole blocks of keys are multiplied;
 * products beyond this tile are kept in `spill` for the next one. */
static void multiply_keys(const gnn__attention_t *a, forward_state_t *s, const tile_t *t,
                          const spans_t *h, const strip_t *strip, int64_t head)
{
    const int64_t r0 = strip_first(strip);
    const band_t band = {
        s->band + BAND_SLACK, BAND_ROW,         a->prior.shift[strip->row0 + r0] + t->at,
        s->done + r0 / GROUP, s->ends + 2 * r0, s->known + r0 / GROUP};
    gnn_real_t *spill = s->spill + r0 * BAND_SLACK, *row = band.at;
    const size_t bytes = sizeof *spill * BAND_SLACK;
    for (int r = 0; r < h->rows; r++)
        memcpy(row + r * BAND_ROW, spill + r * BAND_SLACK, bytes);
    band_fill(a, head, s->key_q + r0 * s->ldk, s->ldk, h->rows, h->first, h->end, &band);
    for (int r = 0; r < h->rows; r++)
        memcpy(spill + r * BAND_SLACK, row + r * BAND_ROW + COLUMNS, bytes);
}

static void forward_strip(const gnn__attention_t *a, forward_state_t *s, const tile_t *t,
                          const strip_t *strip, int64_t head, int64_t kv, bool more)
{
    spans_t h;
    const int64_t r0 = strip_first(strip);
    const int64_t ldq = room_of(s->level, s->ldk);
    span_bounds(a, t, strip->row0 + r0, strip_rows(strip), s->level, &h);
    if (s->packed)
        prefetch_packed(a, s, strip);
    else
        prefetch_next(a, t, strip, &a->k, kv * a->d_k, a->d_k);
    if (last_tile(a, t, strip))
        prefetch_rows(strip, s->node, &a->y, head * a->d_v, a->d_v, true);
    if (more && !s->packed && last_tile(a, t, strip)) {
        const int64_t next = (head + 1) / (a->heads / a->kv_heads);
        prefetch_rows(strip, s->node, &a->q, (head + 1) * a->d_k, a->d_k, false);
        prefetch_first(a, strip, &a->k, next * a->d_k, a->d_k);
        prefetch_first(a, strip, &a->v, next * a->d_v, a->d_v);
    }
    if (h.all_end <= h.all_first) {
        memset(s->done + r0 / GROUP, 0, sizeof *s->done * (size_t)h.groups);
        return;
    }
    if (a->keys.count > 0)
        multiply_keys(a, s, t, &h, strip, head);
    score_product(&h, s->q + r0 * ldq, ldq, a->d_k, s->k, s->p);
    if (!s->packed)
        prefetch_next(a, t, strip, &a->v, kv * a->d_v, a->d_v);
    if (a->softcap > 0)
        cap_strip(a, &h, s->p, NULL);
    if (a->prior.at || a->keys.count > 0)
        softmax_by_distance(a, s, t, &h, strip, head);
    else
        softmax(s, &h, r0);
    if (a->dropout)
        drop(a, s, t, &h, strip, head);
    if (IN_BF16(s->level))
        bf16_rows(s->p, h.rows * COLUMNS, SPLIT(s->level));
    span_product(&h, s->p, &s->v, s->y + r0 * s->ldv, s->ldv);
}

static void forward_piece(const gnn__attention_t *a, forward_state_t *s, int64_t row0, int64_t row1,
                          int64_t head, bool more)
{
    tile_t t;
    const int64_t kv = head / (a->heads / a->kv_heads);
    const bool in_callers_memory = in_place(a, row0, row1);
    s->level = in_callers_memory ? GNN_PRECISION_HIGHEST : a->level;
    s->packed = a->packed && !in_callers_memory;
    forward_begin(a, s, row0, row1 - row0, head);
    for (bool first = true; next_tile(a, &t, row0, row1, first); first = false) {
        if (s->packed)
            find_tile(a, s, &t, kv);
        else
            pack_tile(a, s, &t, kv, in_callers_memory, s->keys_t, s->values);
        for (strip_t k = first_strip(row0, row1); k.index < k.count; k.index++)
            forward_strip(a, s, &t, &k, head, kv, more);
    }
    forward_end(a, s, row1 - row0, head);
}

static void pack(const gnn__attention_t *a, int64_t tile, int64_t kv, gnn_real_t *scratch)
{
    forward_state_t s = {0};
    tile_t t;
    gnn_real_t *part[3];
    forward_scratch(a, &s, scratch);
    packed_tile(a, tile, kv, part);
    s.level = a->level;
    next_tile(a, &t, 0, a->pairs.n_rows, true);
    t.at += (tile - 1) * COLUMNS;
    next_tile(a, &t, 0, a->pairs.n_rows, false);
    pack_tile(a, &s, &t, kv, false, part[0], part[1]);
    *part[2] = s.v.finite;
}

static void forward(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head0,
                    int64_t head1, gnn_real_t *scratch)
{
    forward_state_t s;
    forward_scratch(a, &s, scratch);
    if (BF16_PRODUCTS && a->amx)
        amx_begin();
    for (int64_t end; row0 < row1; row0 = end) {
        end = piece_end(a, row0, row1);
        for (int64_t head = head0; head < head1; head++) {
            if (a->dropout && (head == head0 || head % 8 == 0))
                draw_piece(a, row0, end, head, &s.drawn);
            forward_piece(a, &s, row0, end, head, head + 1 < head1);
        }
    }
    if (BF16_PRODUCTS && a->amx)
        amx_end();
}

extern const gnn__attention_tiles_t GNN__KERNEL(attention_tiles);
const gnn__attention_tiles_t GNN__KERNEL(attention_tiles) = {
    .forward = forward, .pack = pack, .pack_keys = band_pack};
