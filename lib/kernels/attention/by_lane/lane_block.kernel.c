/* Blocks of pairs with their dropout, and patterns whose heads are fewer than their lanes. */
#include <lib/kernels/attention/by_lane/lane_block.h>

/* ---- patterns ---- */

void read_some(const gnn_real_t *at, int64_t heads, gnn__vec_t *x, gnn_real_t none, int width)
{
    gnn_real_t all[ROOM];
    for (int h = 0; h < ROOM; h++)
        all[h] = none;
    memcpy(all, at, sizeof *at * (size_t)heads);
    read_pattern(all, x, width);
}

void write_some(gnn_real_t *at, int64_t heads, const gnn__vec_t *x, bool add, int width)
{
    gnn_real_t all[ROOM];
    gnn__vec_t before[PATTERN];
    fill(before, 0);
    if (add)
        read_some(at, heads, before, 0, width);
    for (int u = 0; u < pattern_registers(width); u++)
        gnn__vec_put(all, x[u] + before[u], width, u);
    memcpy(at, all, sizeof *at * (size_t)heads);
}

/* ---- blocks ---- */

lane_block_t lane_block_at(const gnn__lanes_t *l, int64_t row1, gnn_real_t *scratch)
{
    lane_block_t b = {
        .row1 = row1, .own_from = -OWN, .scale = l->a->dropout ? l->a->dropout->scale : 0};
    const int64_t indices = BLOCK_PAIRS + 2 * DRAWS, pairs = BLOCK_PAIRS * l->width + 16;
    gnn__carve_t c = {.base = (char *)scratch};
    b.copied = gnn__carve(&c, indices, sizeof *b.copied);
    b.ends[0] = gnn__carve(&c, DRAWN + DRAWS, sizeof *b.ends[0]);
    b.ends[1] = gnn__carve(&c, DRAWN + DRAWS, sizeof *b.ends[1]);
    memset(b.copied, 0, sizeof *b.copied * (size_t)indices);
    memset(b.ends[0], 0, sizeof *b.ends[0] * (DRAWN + DRAWS));
    memset(b.ends[1], 0, sizeof *b.ends[1] * (DRAWN + DRAWS));
    b.score = gnn__carve(&c, pairs, sizeof *b.score);
    b.weight = gnn__carve(&c, pairs, sizeof *b.weight);
    b.second = gnn__carve(&c, pairs, sizeof *b.second);
    b.edge = gnn__carve(&c, pairs, sizeof *b.edge);
    b.drawn = gnn__carve(&c, DRAWN * l->width + 16, sizeof(gnn_real_t));
    if (l->a->dropout) /* behind the last pair stands something, whatever it is: its weight is 0 */
        memset(b.drawn, 0,
               sizeof(gnn_real_t) * (size_t)(DRAWN * l->width / (GNN__KEEPS_BITS ? 32 : 1) + 16));
    b.y = gnn__carve(&c, l->value_numbers + l->key_numbers, sizeof *b.y);
    b.p = gnn__carve(&c, gnn__max(l->value_numbers, l->key_numbers), sizeof *b.p);
    for (int k = 0; k < 2; k++)
        b.sums[k] = gnn__carve(&c, 16 * l->a->d_e, sizeof *b.sums[k]);
    if (l->a->d_e > 0) {
        b.features = gnn__carve(&c, BLOCK_PAIRS, sizeof *b.features);
        b.zeros = gnn__carve(&c, l->a->d_e, sizeof *b.zeros);
        b.rows = gnn__carve(&c, BLOCK_PAIRS * l->row_numbers, sizeof *b.rows);
        memset(b.zeros, 0, sizeof *b.zeros * (size_t)l->a->d_e);
    }
    b.columns = gnn__carve(&c, 0, sizeof *b.columns);
    return b;
}

/* Draws for the pairs from place `at` of `row` on: a window over this and the next rows; on spans,
 * whose places are not their own, for this row. */
static void draw(const gnn__lanes_t *l, lane_block_t *b, int64_t row, int64_t at, int64_t to)
{
    const gnn__pairs_t *p = &l->a->pairs;
    uint32_t *others = b->ends[1];
    int n = 0;
    b->drawn_from = at;
    for (int64_t r = row; r < b->row1 && n < DRAWN; r++) {
        const uint32_t node = (uint32_t)gnn__pairs_node(p, r);
        const int count = to - at < DRAWN - n ? (int)(to - at) : DRAWN - n;
        for (int e = 0; e < count; e += DRAWS)
            for (int lane = 0; lane < DRAWS; lane++)
                b->ends[0][n + e + lane] = node; /* what is too many, the next row writes again */
        n += count;
        at += count;
        if (!p->indptr || r + 1 == b->row1)
            break;
        to = p->indptr[r + 2];
    }
    b->drawn_to = p->indptr ? at : b->drawn_from;
    at -= n;
    if (p->indptr && at + n + DRAWS <= p->indptr[p->n_rows])
        others = (uint32_t *)p->indices + at;
    else
        for (int e = 0; e < n; e++)
            others[e] = (uint32_t)gnn__pairs_col(p, at + e);
    gnn__keep_patterns(l->a->dropout, n, l->a->transposed ? others : b->ends[0],
                       l->a->transposed ? b->ends[0] : others, b->drawn, l->width);
}

/* The pairs at places at .. of a row; nodes of the next rows behind them, for the prefetch. */
void lane_block_load(const gnn__lanes_t *l, lane_block_t *b, int64_t row, int64_t at, int64_t to)
{
    const gnn__pairs_t *p = &l->a->pairs;
    b->n = (int)(to - at < BLOCK_PAIRS ? to - at : BLOCK_PAIRS);
    b->at = at;
    const int64_t end = p->indptr ? p->indptr[p->n_rows] : to,
                  there = end - at < b->n + AHEAD ? end - at : b->n + AHEAD;
    b->other = b->copied;
    b->coming = 0;
    if (p->indptr && at + BLOCK_PAIRS + 2 * DRAWS <= end)
        b->other = (const uint32_t *)p->indices + at;
    else
        for (int64_t e = 0; e < b->n + AHEAD; e++)
            b->copied[e] = (uint32_t)gnn__pairs_col(p, at + (e < there ? e : there - 1));
    if (!l->a->dropout || (l->a->transposed && l->pair_weights.at))
        return;
    if (at < b->drawn_from || at + b->n > b->drawn_to)
        draw(l, b, row, at, p->indptr ? p->indptr[row + 1] : to);
    b->kept = (at - b->drawn_from) * l->width;
}
