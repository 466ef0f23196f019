/* Dot-product attention on spans, backward: alpha is computed again tile by tile, once with receivers as rows (d_q) and once with senders as rows (d_k, d_v), so
 * that every thread owns what it writes.
 *
 *     alpha = exp(scale q.k - lse_i)     d_alpha = dY_i . v_j     d_score = scale alpha (keep d_alpha - delta_i)
 *     d_q_i += sum_j d_score k_j         d_k_j += sum_i d_score q_i         d_v_j += sum_i keep alpha dY_i */
#include <lib/kernels/attention_tiles.h>
#include <lib/kernels/isa.h>

typedef struct grad_state {
    /* The tile, packed both ways: what makes scores (k, or q), and what makes d_alpha (v, or dY). */
    gnn_real_t *scores, *scores_t, *products, *products_t;
    gnn_real_t *alpha, *d_alpha, *keep; /* GROUP x 64 each */
    gnn_real_t *lse, *delta;            /* of the tile's columns (64), where those are receivers */
    gnn_real_t *d_score, *d_product;    /* rows x ldk, rows x ldv: the rows' gradients */
    int64_t ldk, ldv;
    const gnn_real_t *score_row[GNN__TILE_ROWS],
        *product_row[GNN__TILE_ROWS]; /* q and dY of the rows, or k and v */
    int64_t node[GNN__TILE_ROWS];
} grad_state_t;

static void grad_begin(const gnn__attention_t *a, grad_state_t *s, int64_t rows, gnn_real_t *scratch)
{
    s->ldk = whole_lanes(a->d_k);
    s->ldv = whole_lanes(a->d_v);
    s->scores = take(&scratch, COLUMNS * s->ldk);
    s->scores_t = take(&scratch, COLUMNS * s->ldk);
    s->products = take(&scratch, COLUMNS * s->ldv);
    s->products_t = take(&scratch, COLUMNS * s->ldv);
    s->alpha = take(&scratch, GROUP * COLUMNS);
    s->d_alpha = take(&scratch, GROUP * COLUMNS);
    s->keep = take(&scratch, GROUP * COLUMNS);
    s->lse = take(&scratch, COLUMNS);
    s->delta = take(&scratch, COLUMNS);
    s->d_score = take(&scratch, GNN__TILE_ROWS * s->ldk);
    s->d_product = take(&scratch, GNN__TILE_ROWS * s->ldv);
    memset(s->d_score, 0, sizeof(gnn_real_t) * (size_t)(rows * s->ldk));
    memset(s->d_product, 0, sizeof(gnn_real_t) * (size_t)(rows * s->ldv));
}

static void set_rows(const gnn__attention_t *a, grad_state_t *s, int64_t row0, int64_t rows,
                     const gnn__matrix_t *score, int64_t score_head,
                     const gnn__matrix_t *product_of, int64_t product_head)
{
    for (int64_t r = 0; r < rows; r++) {
        s->node[r] = gnn__pairs_node(&a->pairs, row0 + r);
        s->score_row[r] = gnn__matrix_row(score, s->node[r]) + score_head * a->d_k;
        s->product_row[r] = gnn__matrix_row(product_of, s->node[r]) + product_head * a->d_v;
    }
}

static void pack_tile(const gnn__attention_t *a, grad_state_t *s, const tile_t *t,
                      const gnn__matrix_t *score, int64_t score_head,
                      const gnn__matrix_t *product_of, int64_t product_head)
{
    pack_rows(score, t, score_head * a->d_k, a->d_k, s->ldk, s->scores);
    transpose(s->scores, s->ldk, a->d_k, s->scores_t);
    pack_rows(product_of, t, product_head * a->d_v, a->d_v, s->ldv, s->products);
    transpose(s->products, s->ldv, a->d_v, s->products_t);
}

/* Adds the rows' sums to one head of a gradient. */
static void add_rows(const grad_state_t *s, int64_t rows, const gnn_real_t *sums, int64_t ld,
                     const gnn__matrix_t *d, int64_t first, int64_t count)
{
    for (int64_t r = 0; d->at && r < rows; r++) {
        gnn_real_t *row = gnn__matrix_row(d, s->node[r]) + first;
        for (int64_t c = 0; c < count; c++)
            row[c] += sums[r * ld + c];
    }
}

/* Multipliers of the pairs of a row whose node is `node` with the tile's columns. */
static void keep_row(const gnn__attention_t *a, const tile_t *t, int64_t node, int64_t head,
                     gnn_real_t *keep)
{
    uint32_t same[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        same[c] = (uint32_t)node;
    if (a->transposed)
        gnn__keep_head(a->dropout, COLUMNS, t->node, same, head, keep);
    else
        gnn__keep_head(a->dropout, COLUMNS, same, t->node, head, keep);
}

/* alpha of one row, 0 outside of what it hears; lse and delta of the row, or of the columns where step is 1. */
static void alpha_row(const gnn__attention_t *a, gnn_real_t *alpha, const gnn_real_t *lse, int step,
                      int from, int to)
{
    const gnn_real_t scale = a->scale;
#pragma omp simd
    for (int c = 0; c < COLUMNS; c++) {
        const gnn_real_t e = gnn__exp(scale * alpha[c] - lse[c * step]);
        alpha[c] = c >= from && c < to ? e : 0;
    }
}

static void d_score_row(const gnn__attention_t *a, gnn_real_t *d_alpha, const gnn_real_t *alpha,
                        const gnn_real_t *keep, const gnn_real_t *delta, int step, int from, int to)
{
    const gnn_real_t scale = a->scale;
#pragma omp simd
    for (int c = 0; c < COLUMNS; c++) {
        const gnn_real_t d =
            scale * alpha[c] * ((keep ? keep[c] * d_alpha[c] : d_alpha[c]) - delta[c * step]);
        d_alpha[c] = c >= from && c < to ? d : 0;
    }
}

/* ---- by receiver ---- */

static void receive_group(const gnn__attention_t *a, grad_state_t *s, const tile_t *t,
                          const group_t *g, int64_t r0, int64_t head)
{
    const gnn_real_t *d[GROUP];
    product(s->score_row + r0, g->rows, s->scores_t, COLUMNS, 0, a->d_k, s->alpha, COLUMNS, COLUMNS,
            false);
    product(s->product_row + r0, g->rows, s->products_t, COLUMNS, 0, a->d_v, s->d_alpha, COLUMNS,
            COLUMNS, false);
    for (int r = 0; r < g->rows; r++) {
        const int64_t at = s->node[r0 + r] * a->heads + head;
        const gnn_real_t lse = lse_shift(a->lse[at]);
        gnn_real_t *keep = a->dropout ? s->keep + r * COLUMNS : NULL;
        if (keep)
            keep_row(a, t, s->node[r0 + r], head, keep);
        alpha_row(a, s->alpha + r * COLUMNS, &lse, 0, g->from[r], g->to[r]);
        d_score_row(a, s->d_alpha + r * COLUMNS, s->alpha + r * COLUMNS, keep, a->delta + at, 0,
                    g->from[r], g->to[r]);
        d[r] = s->d_alpha + r * COLUMNS;
    }
    heard_product(g, d, s->scores, s->ldk, s->d_score + r0 * s->ldk, s->ldk);
}

static void receive(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head,
                    gnn_real_t *scratch)
{
    grad_state_t s;
    tile_t t;
    const int64_t kv = head / (a->heads / a->kv_heads);
    grad_begin(a, &s, row1 - row0, scratch);
    set_rows(a, &s, row0, row1 - row0, &a->q, head, &a->dy, head);
    for (bool first = true; next_tile(a, &t, row0, row1, first); first = false) {
        pack_tile(a, &s, &t, &a->k, kv, &a->v, kv);
        for (int64_t row = row0; row < row1; row += GROUP) {
            const group_t g = group_at(a, &t, row, row1);
            if (g.any)
                receive_group(a, &s, &t, &g, row - row0, head);
        }
    }
    add_rows(&s, row1 - row0, s.d_score, s.ldk, &a->d_q, head * a->d_k, a->d_k);
}

/* ---- by sender ---- */

static void pack_receivers(const gnn__attention_t *a, grad_state_t *s, const tile_t *t, int64_t head)
{
    for (int c = 0; c < COLUMNS; c++) {
        const bool there = c >= t->from && c < t->to;
        s->lse[c] = there ? lse_shift(a->lse[t->node[c] * a->heads + head]) : INFINITY;
        s->delta[c] = there ? a->delta[t->node[c] * a->heads + head] : 0;
    }
}

static void send_group(const gnn__attention_t *a, grad_state_t *s, const tile_t *t,
                       const group_t *g, int64_t r0, int64_t head)
{
    const gnn_real_t *alpha[GROUP], *d[GROUP];
    product(s->score_row + r0, g->rows, s->scores_t, COLUMNS, 0, a->d_k, s->alpha, COLUMNS, COLUMNS,
            false);
    product(s->product_row + r0, g->rows, s->products_t, COLUMNS, 0, a->d_v, s->d_alpha, COLUMNS,
            COLUMNS, false);
    for (int r = 0; r < g->rows; r++) {
        gnn_real_t *row = s->alpha + r * COLUMNS, *keep = a->dropout ? s->keep + r * COLUMNS : NULL;
        if (keep)
            keep_row(a, t, s->node[r0 + r], head, keep);
        alpha_row(a, row, s->lse, 1, g->from[r], g->to[r]);
        d_score_row(a, s->d_alpha + r * COLUMNS, row, keep, s->delta, 1, g->from[r], g->to[r]);
        for (int c = 0; keep && c < COLUMNS; c++)
            row[c] *= keep[c];
        alpha[r] = row;
        d[r] = s->d_alpha + r * COLUMNS;
    }
    heard_product(g, alpha, s->products, s->ldv, s->d_product + r0 * s->ldv, s->ldv);
    heard_product(g, d, s->scores, s->ldk, s->d_score + r0 * s->ldk, s->ldk);
}

static void send(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t kv,
                 gnn_real_t *scratch)
{
    grad_state_t s;
    tile_t t;
    const int64_t group = a->heads / a->kv_heads;
    grad_begin(a, &s, row1 - row0, scratch);
    set_rows(a, &s, row0, row1 - row0, &a->k, kv, &a->v, kv);
    for (int64_t head = kv * group; head < (kv + 1) * group; head++)
        for (bool first = true; next_tile(a, &t, row0, row1, first); first = false) {
            pack_tile(a, &s, &t, &a->q, head, &a->dy, head);
            pack_receivers(a, &s, &t, head);
            for (int64_t row = row0; row < row1; row += GROUP) {
                const group_t g = group_at(a, &t, row, row1);
                if (g.any)
                    send_group(a, &s, &t, &g, row - row0, head);
            }
        }
    add_rows(&s, row1 - row0, s.d_score, s.ldk, &a->d_k_rows, kv * a->d_k, a->d_k);
    add_rows(&s, row1 - row0, s.d_product, s.ldv, &a->d_v_rows, kv * a->d_v, a->d_v);
}

extern const gnn__attention_tiles_grad_t GNN__KERNEL(attention_tiles_grad);
const gnn__attention_tiles_grad_t GNN__KERNEL(attention_tiles_grad) = {receive, send};
