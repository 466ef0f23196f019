/* Attention with heads in lanes: forward for all scores, backward for additive ones; attention_lanes.h has the formulas. */
#include <lib/kernels/attention_lanes.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/lanes_block.h>
#include <lib/kernels/lanes_factors.h>
#include <lib/kernels/lanes_few.h>
#include <lib/kernels/lanes_pairs.h>
#include <lib/kernels/lanes_rows.h>
#include <lib/kernels/lanes_short.h>

/* ---- forward ---- */

/* The largest score of the block joins; what was gathered is rescaled to it. Returns what is subtracted before exp. */
static __attribute__((noinline)) void raise(const gnn__lanes_t *l, const block_t *b, state_t *s,
                                            gnn__vec_t *base, bool fresh, int width)
{
    gnn__vec_t most[PATTERN], shrink[PATTERN];
    bool changed = false;
    for (int u = 0; u < parts_of(width); u++)
        most[u] = gnn__vec_all(-INFINITY);
    for (int x = 0; x < padded(b->n * width); x += LANES)
        most[x / LANES % parts_of(width)] =
            gnn__vec_max(gnn__vec_load(b->score + x), most[x / LANES % parts_of(width)]);
    for (int u = 0; u < parts_of(width); u++) {
        most[u] = leaky(fold(most[u], width, true), l->slope);
        most[u] = gnn__vec_max(most[u], s->largest[u]);
        base[u] = gnn__vec_select(most[u] == -INFINITY, gnn__vec_all(0), most[u]);
        if (fresh) {
            s->largest[u] = most[u];
            continue;
        }
        shrink[u] = gnn__vec_exp(s->largest[u] - base[u]);
        s->sum[u] *= shrink[u];
        s->share[u] *= shrink[u];
        changed |= differs(most[u], s->largest[u]);
        s->largest[u] = most[u];
    }
    if (changed) {
        scale_row(l, b->y, shrink, b->y, width);
        if (l->negative)
            scale_row(l, b->p, shrink, b->p, width);
    }
}

/* Scores become weights. */
static __attribute__((noinline)) void weigh(const gnn__lanes_t *l, const block_t *block,
                                            state_t *state, const gnn__vec_t *base, int width)
{
    const block_t b = *block; /* these stay in registers: what is stored might else change them */
    state_t s = *state;
    const bool records = l->negative != NULL;
    const gnn_real_t slope = l->slope;
    for (int x = 0; x < padded(b.n * width); x += LANES) {
        const int u = x / LANES % parts_of(width);
        const gnn__vec_t score = gnn__vec_load(b.score + x);
        take_weights(&b, records, x, gnn__vec_exp(leaky(score, slope) - base[u]), ~(score > 0),
                     &s.sum[u], &s.share[u]);
    }
    *state = s;
}

/* State, y and P of a receiver that earlier parts have begun. */
static __attribute__((noinline)) void resume_row(const gnn__lanes_t *l, const block_t *b, int64_t i,
                                                 state_t *s, int width)
{
    const gnn__attention_t *a = l->a;
    read_some(a->largest + i * a->heads, a->heads, s->largest, -INFINITY, width);
    read_some(a->sum + i * a->heads, a->heads, s->sum, 0, width);
    load_row(l, gnn__matrix_row(&a->y, i), b->y, width);
    if (few(l))
        few_unfold(b->y, a->d_v);
    if (l->negative)
        read_some(l->share + i * width, width, s->share, 0, width);
    for (int u = 0; u < parts_of(width); u++) {
        /* Lanes of a head are added up again at the end: one of them keeps the sum. */
        s->sum[u] = gnn__vec_where(first_lanes(width), s->sum[u]);
        s->share[u] = gnn__vec_where(first_lanes(width), s->share[u]);
    }
    if (!l->negative)
        return;
    memcpy(b->p, l->negative + i * l->row, sizeof *b->p * (size_t)l->row);
}

static __attribute__((noinline)) void finish_row(const gnn__lanes_t *l, const block_t *b, int64_t i,
                                                 state_t *s, int width)
{
    const gnn__attention_t *a = l->a;
    gnn__vec_t inverse[PATTERN], lse[PATTERN];
    fill(inverse, 1);
    fill(lse, 0);
    for (int u = 0; u < parts_of(width); u++) {
        s->sum[u] = fold(s->sum[u], width, false);
        s->share[u] = fold(s->share[u], width, false);
        if (a->last)
            inverse[u] = gnn__vec_select(s->sum[u] == 0, gnn__vec_all(0), 1 / s->sum[u]);
        s->share[u] *= inverse[u];
    }
    if (a->largest) {
        for (int u = 0; u < parts_of(width); u++)
            lse[u] = a->last ? gnn__vec_select(s->sum[u] == 0, gnn__vec_all(-INFINITY),
                                               s->largest[u] + gnn__vec_log(s->sum[u]))
                             : s->largest[u];
        write_heads(a->largest + i * a->heads, a->heads, lse, false, width);
    }
    if (!a->last)
        write_heads(a->sum + i * a->heads, a->heads, s->sum, false, width);
    if (few(l))
        few_fold(b->y, a->d_v);
    scale_row_out(l, b->y, inverse, gnn__matrix_row(&a->y, i), width);
    if (!l->negative)
        return;
    write_heads(l->share + i * width, width, s->share, false, width);
    scale_row(l, b->p, inverse, l->negative + i * l->row, width);
}

/* Pairs of a row from which on it does better by factors than in a handful of rows by exp. */
enum { BY_FACTORS = 8 };

/* Rows row0 .. row1 - 1, one by one where they do not follow one another. */
static void finish_rows(const gnn__lanes_t *l, int64_t row0, int64_t row1)
{
    const gnn__attention_t *a = l->a;
    const int64_t step = a->pairs.row_order ? 1 : row1 - row0;
    for (int64_t row = row0; row < row1; row += step)
        l->finish(l->how, gnn__matrix_row(&a->y, gnn__pairs_node(&a->pairs, row)), step, a->y.stride);
}

/* One row, of any length. */
static void forward_row(const gnn__lanes_t *l, block_t *b, int64_t row)
{
    const int width = l->width;
    const gnn__attention_t *a = l->a;
    const bool additive = a->score == GNN__SCORE_ADDITIVE;
    const int64_t i = gnn__pairs_node(&a->pairs, row), to = gnn__pairs_to(&a->pairs, row);
    state_t s;
    gnn__vec_t q[PATTERN], base[PATTERN];
    bool fresh = a->first;
    fill(s.largest, -INFINITY);
    fill(s.sum, 0);
    fill(s.share, 0);
    if (l->key_factors && fresh && gather_by_factors(l, b, row, &s)) {
        finish_row(l, b, i, &s, width);
        return;
    }
    if (!fresh)
        resume_row(l, b, i, &s, width);
    if (additive)
        read_pattern(gnn__matrix_row(&l->q, i), q, width);
    for (int64_t at = gnn__pairs_from(&a->pairs, row); at < to; at += PAIRS, fresh = false) {
        block_load(l, b, row, at, to);
        if (additive)
            BY_WIDTH(width, scores_additive, &l->k, b, q);
        else
            pair_scores(l, b, gnn__matrix_row(&l->q, i), &l->k, NULL, &l->v);
        raise(l, b, &s, base, fresh, width);
        weigh(l, b, &s, base, width);
        if (few(l))
            few_gather(l, b, b->weight, false, fresh, b->y);
        else
            gather(l, b, &l->v, l->row, fresh, l->negative != NULL);
    }
    if (fresh)
        clear_row(l, b);
    finish_row(l, b, i, &s, width);
}

static void forward(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch)
{
    const gnn__pairs_t *p = &l->a->pairs;
    const bool handfuls = l->a->score == GNN__SCORE_ADDITIVE && l->a->first,
               later = finishes_later(l);
    block_t b = block_at(l, row1, scratch);
    int64_t finished = row0;
    for (int64_t row = row0, done; row < row1; row += done) {
        const bool by_factors =
            l->key_factors && gnn__pairs_to(p, row) - gnn__pairs_from(p, row) >= BY_FACTORS;
        done = handfuls && !by_factors ? forward_short(l, &b, row) : 0;
        if (done == 0) {
            forward_row(l, &b, row);
            done = 1;
        }
        /* Some rows together: one by one each would wait for the last, all at once they would be far away. */
        if (later && (row + done - finished >= l->at_once || row + done == row1)) {
            finish_rows(l, finished, row + done);
            finished = row + done;
        }
    }
    gnn__vec_all_passed();
}

/* ---- backward ---- */

/* Rows with heads fastest, S and what else senders ask of a receiver; with additive scores d_q. */
GNN__INLINE void prepare_rows(const gnn__lanes_t *l, int64_t i0, int64_t i1, const block_t *b,
                              const int width)
{
    const gnn__attention_t *a = l->a;
    const gnn__matrix_t lses = l->records, products = {lses.at + width, lses.stride},
                        records = {lses.at + 2 * width, lses.stride};
    for (int64_t i = i0; i < i1; i++) {
        gnn_real_t *dy = gnn__matrix_row(&l->dy, i), *y = gnn__matrix_row(&a->y, i);
        gnn__vec_t s[PATTERN], p[PATTERN], share[PATTERN], lse[PATTERN], q[PATTERN];
        fill(lse, 0);
        if (l->layout == GNN__PACKED) {
            load_row(l, gnn__matrix_row(&a->dy, i), dy, width);
            load_row(l, y, b->y, width);
            y = b->y;
        }
        row_products(l, dy, y, s, width);
        read_heads(a->lse + i * a->heads, a->heads, lse, -INFINITY, width);
        for (int u = 0; u < parts_of(width); u++)
            lse[u] = gnn__vec_select(lse[u] == -INFINITY, gnn__vec_all(INFINITY), lse[u]);
        write_heads(gnn__matrix_row(&lses, i), width, lse, false, width);
        write_heads(gnn__matrix_row(&products, i), width, s, false, width);
        if (!l->negative)
            continue;
        read_pattern(gnn__matrix_row(&l->q, i), q, width);
        write_heads(gnn__matrix_row(&records, i), width, q, false, width);
        row_products(l, dy, l->negative + i * l->row, p, width);
        read_pattern(l->share + i * width, share, width);
        for (int u = 0; u < parts_of(width); u++)
            p[u] = (1 - a->slope) * (s[u] * share[u] - p[u]);
        if (a->d_q.at)
            write_heads(gnn__matrix_row(&a->d_q, i), a->heads, p, !l->writes_q, width);
    }
}

#define PREPARE(width)                                                                    \
    MADE prepare_##width(const gnn__lanes_t *l, int64_t i0, int64_t i1, const block_t *b) \
    {                                                                                     \
        prepare_rows(l, i0, i1, b, width);                                                \
    }
FOR_WIDTHS(PREPARE)

static void prepare(const gnn__lanes_t *l, int64_t i0, int64_t i1, gnn_real_t *scratch)
{
    const block_t b = block_at(l, i1, scratch);
    if (few(l))
        few_prepare(l, i0, i1);
    else
        BY_WIDTH(l->width, prepare, l, i0, i1, &b);
}

/* Weights of a block of receivers; adds up alpha S, times the slope where s <= 0. */
GNN__INLINE void weigh_back(const gnn__lanes_t *l, const block_t *block, const gnn__vec_t *k,
                            gnn__vec_t *sum, const int width)
{
    const block_t b = *block;
    const gnn_real_t slope = l->a->slope;
    gnn__vec_t all[PATTERN];
    const gnn__matrix_t lse = l->records, s = {lse.at + width, lse.stride},
                        q = {lse.at + 2 * width, lse.stride};
    fill(all, 0);
    for (int x = 0; x < padded(b.n * width); x += LANES) {
        const int u = x / LANES % parts_of(width);
        const gnn__vec_t score = rows_at(&q, b.other, x, width) + k[u],
                         products = rows_at(&s, b.other, x, width);
        const gnn__vec_bits_t negative = ~(score > 0);
        gnn__vec_t w = gnn__vec_exp(leaky(score, slope) - rows_at(&lse, b.other, x, width));
        gnn__vec_t c = w * products;
        if (x + LANES > b.n * width) {
            w = gnn__vec_where(first_lanes(b.n * width - x), w);
            c = gnn__vec_where(first_lanes(b.n * width - x), c);
        }
        all[u] += gnn__vec_select(negative, slope * c, c);
        w = drop(&b, x, w);
        gnn__vec_store(b.weight + x, w);
        gnn__vec_store(b.negative + x, gnn__vec_where(negative, w));
    }
    for (int u = 0; u < parts_of(width); u++)
        sum[u] += all[u];
}

#define WEIGH_BACK(width)                                                                 \
    MADE weigh_back_##width(const gnn__lanes_t *l, const block_t *b, const gnn__vec_t *k, \
                            gnn__vec_t *sum)                                              \
    {                                                                                     \
        weigh_back(l, b, k, sum, width);                                                  \
    }
FOR_WIDTHS(WEIGH_BACK)

/* What a sender's row of values has gathered. */
GNN__INLINE void give_values(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y,
                             const int width)
{
    if (!l->writes_v || !passes(l, y)) {
        send_row(l, x, y, l->a->d_v, !l->writes_v, width);
        return;
    }
    for (int64_t c = 0; c < l->row; c += LANES)
        gnn__vec_put_by(y + c, gnn__vec_load(x + c), true);
}

GNN__INLINE void finish_row_of(const gnn__lanes_t *l, const block_t *b, int64_t j,
                               const gnn__vec_t *sum, const int width)
{
    const gnn__attention_t *a = l->a;
    const gnn_real_t *v = gnn__matrix_row(&l->v, j);
    gnn__vec_t products[PATTERN];
    for (int64_t x = 0; x < l->row; x += 64 / (int64_t)sizeof *v) /* the next one's */
        __builtin_prefetch(v + l->v.stride + x);
    if (a->d_v_rows.at)
        give_values(l, b->y, gnn__matrix_row(&a->d_v_rows, j), width);
    if (!a->d_k_rows.at)
        return;
    for (int64_t x = 0; x < l->row; x += LANES)
        gnn__vec_store(b->p + x, gnn__vec_load(b->y + x) - (1 - a->slope) * gnn__vec_load(b->p + x));
    row_products(l, v, b->p, products, width);
    for (int u = 0; u < parts_of(width); u++)
        products[u] -= sum[u];
    write_heads(gnn__matrix_row(&a->d_k_rows, j), a->heads, products, !l->writes_k, width);
}

#define FINISH(width)                                                                              \
    MADE finish_##width(const gnn__lanes_t *l, const block_t *b, int64_t j, const gnn__vec_t *sum) \
    {                                                                                              \
        finish_row_of(l, b, j, sum, width);                                                        \
    }
FOR_WIDTHS(FINISH)

void finish_sender(const gnn__lanes_t *l, const block_t *b, int64_t j, const gnn__vec_t *sum,
                   int width)
{
    BY_WIDTH(width, finish, l, b, j, sum);
}

void clear_sender(const gnn__lanes_t *l, int64_t j)
{
    const gnn__attention_t *a = l->a;
    if (l->writes_v)
        memset(gnn__matrix_row(&a->d_v_rows, j), 0, sizeof(gnn_real_t) * (size_t)(a->heads * a->d_v));
    if (l->writes_k)
        memset(gnn__matrix_row(&a->d_k_rows, j), 0, sizeof(gnn_real_t) * (size_t)a->heads);
}

static void send_additive(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch)
{
    const int width = l->width;
    const gnn__attention_t *a = l->a;
    block_t b = block_at(l, row1, scratch);
    for (int64_t row = row0; row < row1; row++) {
        const int64_t done = send_short(l, &b, row);
        if (done > 0) {
            row += done - 1;
            continue;
        }
        const int64_t j = gnn__pairs_node(&a->pairs, row), from = gnn__pairs_from(&a->pairs, row),
                      to = gnn__pairs_to(&a->pairs, row);
        gnn__vec_t k[PATTERN], sum[PATTERN];
        if (from >= to) {
            clear_sender(l, j);
            continue;
        }
        fill(sum, 0);
        read_pattern(gnn__matrix_row(&l->k, j), k, width);
        for (int64_t at = from; at < to; at += PAIRS) {
            block_load(l, &b, row, at, to);
            BY_WIDTH(width, weigh_back, l, &b, k, sum);
            gather(l, &b, &l->dy, l->row, at == from, true);
        }
        for (int u = 0; u < parts_of(width); u++)
            sum[u] = fold(sum[u], width, false);
        finish_sender(l, &b, j, sum, width);
    }
    gnn__vec_all_passed();
}

static void send(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                 gnn_real_t *d_a)
{
    if (l->a->score != GNN__SCORE_ADDITIVE)
        send_pairs(l, row0, row1, scratch, d_a);
    else
        send_additive(l, row0, row1, scratch);
}

/* ---- copies with heads fastest ---- */

static void pack(const gnn__matrix_t *from, int64_t i0, int64_t i1, int64_t heads, int64_t d,
                 int width, const gnn__matrix_t *to, int64_t row)
{
    for (int64_t i = i0; i < i1; i++)
        pack_row(gnn__matrix_row(from, i), heads, d, width, gnn__matrix_row(to, i), row);
}

extern const gnn__attention_lanes_t GNN__KERNEL(attention_lanes);
const gnn__attention_lanes_t GNN__KERNEL(attention_lanes) = {
    pack, make_factors, forward, prepare, receive_pairs, collect_senders, send, IN_PLACE};
