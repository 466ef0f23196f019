/* Dot-product attention on spans, forward: GNN__TILE_ROWS receivers against tiles of 64 senders with a running softmax. Scores of a group of rows stay in L1. */
#include <lib/kernels/attention_tiles.h>
#include <lib/kernels/isa.h>

typedef struct forward_state {
    gnn_real_t *keys, *keys_t, *values; /* the tile: 64 x d_k, d_k x 64, 64 x d_v */
    gnn_real_t *y;                      /* rows x ldv: weighted sums */
    gnn_real_t *p;                      /* GROUP x 64 */
    gnn_real_t *keep;                   /* 64 */
    int64_t ldk, ldv;
    gnn_real_t largest[GNN__TILE_ROWS], sum[GNN__TILE_ROWS];
    const gnn_real_t *q[GNN__TILE_ROWS];
    int64_t node[GNN__TILE_ROWS];
} forward_state_t;

static void forward_begin(const gnn__attention_t *a, forward_state_t *s, int64_t row0, int64_t row1,
                          int64_t head, gnn_real_t *scratch)
{
    s->ldk = whole_lanes(a->d_k);
    s->ldv = whole_lanes(a->d_v);
    s->keys = take(&scratch, COLUMNS * s->ldk);
    s->keys_t = take(&scratch, COLUMNS * s->ldk);
    s->values = take(&scratch, COLUMNS * s->ldv);
    s->p = take(&scratch, GROUP * COLUMNS);
    s->keep = take(&scratch, COLUMNS);
    s->y = take(&scratch, GNN__TILE_ROWS * s->ldv);
    for (int64_t r = 0; r < row1 - row0; r++) {
        const int64_t i = s->node[r] = gnn__pairs_node(&a->pairs, row0 + r);
        s->q[r] = gnn__matrix_row(&a->q, i) + head * a->d_k;
        s->largest[r] = a->first ? -INFINITY : a->largest[i * a->heads + head];
        s->sum[r] = a->first ? 0 : a->sum[i * a->heads + head];
        memset(s->y + r * s->ldv, 0, sizeof *s->y * (size_t)s->ldv);
        if (!a->first)
            memcpy(s->y + r * s->ldv, gnn__matrix_row(&a->y, i) + head * a->d_v,
                   sizeof *s->y * (size_t)a->d_v);
    }
}

static void forward_end(const gnn__attention_t *a, const forward_state_t *s, int64_t rows,
                        int64_t head)
{
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = s->node[r] * a->heads + head;
        gnn_real_t *y = gnn__matrix_row(&a->y, s->node[r]) + head * a->d_v;
        const gnn_real_t sum = s->sum[r], scale = !a->last ? 1 : sum == 0 ? 0 : 1 / sum;
        for (int64_t c = 0; c < a->d_v; c++)
            y[c] = scale * s->y[r * s->ldv + c];
        a->sum[at] = sum;
        a->largest[at] = !a->last   ? s->largest[r]
                         : sum == 0 ? -INFINITY
                                    : s->largest[r] + (gnn_real_t)log((double)sum);
    }
}

static gnn_real_t largest_of(const gnn_real_t *p)
{
    gnn_real_t most[LANES], best = p[0];
    memcpy(most, p, sizeof most);
    for (int c = LANES; c < COLUMNS; c += LANES)
        for (int l = 0; l < LANES; l++)
            most[l] = p[c + l] > most[l] ? p[c + l] : most[l];
    for (int l = 0; l < LANES; l++)
        best = most[l] > best ? most[l] : best;
    return best;
}

/* Scores of one row become exp(score - largest); the row's sums are rescaled. */
static void softmax_row(const gnn__attention_t *a, forward_state_t *s, int64_t r, gnn_real_t *p,
                        int from, int to)
{
    const gnn_real_t scale = a->scale;
    for (int c = 0; c < COLUMNS; c++)
        p[c] = c >= from && c < to ? scale * p[c] : -INFINITY;
    const gnn_real_t found = largest_of(p), most = found > s->largest[r] ? found : s->largest[r],
                     base = most == -INFINITY ? 0 : most;
    if (most != s->largest[r]) {
        const gnn_real_t shrink = gnn__exp(s->largest[r] - base);
        s->sum[r] *= shrink;
        for (int64_t c = 0; c < s->ldv; c++)
            s->y[r * s->ldv + c] *= shrink;
        s->largest[r] = most;
    }
    gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < COLUMNS; c++) {
        p[c] = gnn__exp(p[c] - base);
        sum += p[c];
    }
    s->sum[r] += sum;
}

static void drop_row(const gnn__attention_t *a, const forward_state_t *s, const tile_t *t,
                     int64_t r, int64_t head, gnn_real_t *p)
{
    uint32_t i[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        i[c] = (uint32_t)s->node[r];
    gnn__keep_head(a->dropout, COLUMNS, i, t->node, head, s->keep);
    for (int c = 0; c < COLUMNS; c++)
        p[c] *= s->keep[c];
}

static void forward_group(const gnn__attention_t *a, forward_state_t *s, const tile_t *t,
                          const group_t *g, int64_t r0, int64_t head)
{
    const gnn_real_t *p[GROUP];
    product(s->q + r0, g->rows, s->keys_t, COLUMNS, 0, a->d_k, s->p, COLUMNS, COLUMNS, false);
    for (int r = 0; r < g->rows; r++) {
        gnn_real_t *row = s->p + r * COLUMNS;
        p[r] = row;
        if (g->from[r] == g->to[r])
            continue;
        softmax_row(a, s, r0 + r, row, g->from[r], g->to[r]);
        if (a->dropout)
            drop_row(a, s, t, r0 + r, head, row);
    }
    heard_product(g, p, s->values, s->ldv, s->y + r0 * s->ldv, s->ldv);
}

static void forward(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head,
                    gnn_real_t *scratch)
{
    forward_state_t s;
    tile_t t;
    const int64_t kv = head / (a->heads / a->kv_heads);
    forward_begin(a, &s, row0, row1, head, scratch);
    for (bool first = true; next_tile(a, &t, row0, row1, first); first = false) {
        pack_rows(&a->k, &t, kv * a->d_k, a->d_k, s.ldk, s.keys);
        transpose(s.keys, s.ldk, a->d_k, s.keys_t);
        pack_rows(&a->v, &t, kv * a->d_v, a->d_v, s.ldv, s.values);
        for (int64_t row = row0; row < row1; row += GROUP) {
            const group_t g = group_at(a, &t, row, row1);
            if (g.any)
                forward_group(a, &s, &t, &g, row - row0, head);
        }
    }
    forward_end(a, &s, row1 - row0, head);
}

extern const gnn__attention_tiles_t GNN__KERNEL(attention_tiles);
const gnn__attention_tiles_t GNN__KERNEL(attention_tiles) = {forward};
