/* Op delta in chunks of rows, for gates per channel. With G_i the sums of the gates of a chunk up
 * to row i (a row of d_k values), o the product of elements and S the memory before the chunk:
 *
 *     M_ij = sum over channels of exp(G_i - G_j) o k_i o k_j, j < i      A_ij: q_i for k_i, j <= i
 *     (I + diag(beta) M) U = diag(beta) (V - (K o exp(G)) S)
 *     Y = scale ((Q o exp(G)) S + A U)
 *     S after it = diag(exp(G_last)) S + (K o exp(G_last - G))' U
 *
 * exp(G_i - G_j) is a product of exp(G_i - G_b) and exp(G_b - G_j) for the rows i of a block that
 * begins with row b, so that M and A are products of matrices (Yang et al. 2024, Kimi Linear 2025).
 * A block ends before a channel has decayed by exp(-FAR): rows of earlier blocks have factors of at
 * most 1, those of the block of at most exp(FAR), where gates are at most 0.
 *
 * Backward keeps S at the first row of each chunk and computes the chunk again: R, dU, dV, dM and
 * dA as in delta_chunks.c. With gq, gp and gt the gradients that q, the keys of receivers (rows of
 * M, and K o exp(G)) and the keys of senders get, dG = q o gq + k o (gp - gt). */
#include <lib/ops/named/delta_rows.h>

enum { ROWS = GNN__DELTA_ROWS };
#define FAR 10.0

typedef gnn__delta_rows_t rows_t;

typedef struct chunk {
    const gnn__delta_unit_t *unit;
    const gnn__delta_t *s;
    int64_t row, n;
    rows_t q, k, v;
    gnn_real_t *memory, *d_memory;     /* d_k x d_v: before the chunk; gradient after it */
    gnn_real_t *starts;                /* backward: the memory before each chunk */
    gnn_real_t *turned;                /* a transpose */
    gnn_real_t *m, *a, *d_m, *d_a;     /* ROWS x ROWS */
    gnn_real_t *u, *ks, *temporary;    /* ROWS x d_v: U, K S, any */
    gnn_real_t *d_u, *d_v;             /* ROWS x d_v: R, dV */
    gnn_real_t *beta;                  /* ROWS */
    gnn_real_t *factor, *kf, *qf;      /* ROWS x d_k: exp(G); k and q times it */
    gnn_real_t *left, *kl;             /* ROWS x d_k: exp(G_last - G); k times it */
    gnn_real_t *within, *kw, *qw;      /* ROWS x d_k: of a block: exp(G - G_b); k and q times it */
    gnn_real_t *before, *kb, *product; /* ROWS x d_k: exp(G_b - G); k times it; any */
    gnn_real_t *gq, *gp, *gt;          /* ROWS x d_k */
    gnn_real_t *d_last;                /* d_k: gradient of G_last by what the chunk leaves */
    double *sums;                      /* ROWS x d_k: G */
} chunk_t;

static int64_t lay_out(chunk_t *c, const gnn__delta_t *s, int64_t chunks, gnn_real_t *scratch,
                       bool *fits)
{
    gnn__carve_t carve = {.base = (char *)scratch};
    const size_t real = sizeof(gnn_real_t);
    const int64_t wide = ROWS * s->d_v, deep = ROWS * s->d_k;
    int64_t starts = 0;
    gnn_real_t **const squares[] = {&c->m, &c->a, &c->d_m, &c->d_a};
    gnn_real_t **const wides[] = {&c->u, &c->ks, &c->temporary, &c->d_u, &c->d_v};
    gnn_real_t **const deeps[] = {&c->factor,  &c->kf, &c->qf, &c->left,   &c->kl,
                                  &c->within,  &c->kw, &c->qw, &c->before, &c->kb,
                                  &c->product, &c->gq, &c->gp, &c->gt};
    carve.overflow |= !gnn__mul(chunks, s->square, &starts);
    c->memory = gnn__carve(&carve, s->square, real);
    c->turned = gnn__carve(&carve, gnn__max(s->square, gnn__max(wide, deep)), real);
    for (int k = 0; k < (chunks > 0 ? 4 : 2); k++)
        *squares[k] = gnn__carve(&carve, ROWS * ROWS, real);
    for (int k = 0; k < (chunks > 0 ? 5 : 3); k++)
        *wides[k] = gnn__carve(&carve, wide, real);
    for (int k = 0; k < (chunks > 0 ? 14 : 10); k++)
        *deeps[k] = gnn__carve(&carve, deep, real);
    c->beta = gnn__carve(&carve, ROWS, real);
    c->d_last = gnn__carve(&carve, s->d_k, real);
    c->sums = gnn__carve(&carve, deep, sizeof(double));
    c->starts = gnn__carve(&carve, starts, real);
    c->d_memory = gnn__carve(&carve, chunks > 0 ? s->square : 0, real);
    *fits = !carve.overflow;
    return carve.used / (int64_t)real;
}

static bool values(const gnn__delta_t *s, int64_t rows, bool backward, int64_t *count)
{
    chunk_t c = {.s = s};
    bool fits = false;
    *count = lay_out(&c, s, backward ? gnn__max(gnn__delta_chunks_of(rows), 1) : 0, NULL, &fits);
    return fits && gnn__add(*count, 64, count);
}

/* ---- a chunk ---- */

static rows_t head_rows(const gnn_tensor_t *t, const chunk_t *c, int64_t width)
{
    if (!t->data)
        return (rows_t){NULL, 0};
    return (rows_t){gnn__row(t, c->row) + c->unit->head * width, gnn__stride(t)};
}

static rows_t wide(const chunk_t *c, gnn_real_t *x)
{
    return (rows_t){x, c->s->d_v};
}

static rows_t deep(const chunk_t *c, gnn_real_t *x)
{
    return (rows_t){x, c->s->d_k};
}

/* y = exp(x - from), and ky = k o y, qy = q o y (NULL: not made) of one row. */
static void decay(const chunk_t *c, int64_t row, const double *x, const double *from, gnn_real_t *y,
                  gnn_real_t *ky, gnn_real_t *qy)
{
    const gnn_real_t *k = c->k.at + row * c->k.stride, *q = c->q.at + row * c->q.stride;
#pragma omp simd
    for (int64_t e = 0; e < c->s->d_k; e++) {
        y[e] = gnn__exp((gnn_real_t)(x[e] - from[e]));
        ky[e] = k[e] * y[e];
    }
    for (int64_t e = 0; qy && e < c->s->d_k; e++)
        qy[e] = q[e] * y[e];
}

static void enter(chunk_t *c, int64_t row, int64_t row1)
{
    const gnn_op_call_t *call = c->unit->call;
    const gnn__delta_t *s = c->s;
    const int64_t d = s->d_k;
    c->row = row;
    c->n = gnn__min(ROWS, row1 - row);
    c->q = head_rows(&call->in[GNN__DELTA_Q].value, c, d);
    c->k = head_rows(&call->in[GNN__DELTA_K].value, c, d);
    c->v = head_rows(&call->in[GNN__DELTA_V].value, c, s->d_v);
    const rows_t gates = head_rows(&call->in[s->gates].value, c, d);
    for (int64_t i = 0; i < c->n; i++) {
        c->beta[i] = s->beta >= 0 ? gnn__row(&call->in[s->beta].value, row + i)[c->unit->head] : 1;
        for (int64_t e = 0; e < d; e++)
            c->sums[i * d + e] =
                (i ? c->sums[(i - 1) * d + e] : 0) + gnn__delta_gate(gates.at[i * gates.stride + e]);
    }
    for (int64_t i = 0; i < c->n; i++) {
        const gnn_real_t *k = c->k.at + i * c->k.stride, *q = c->q.at + i * c->q.stride;
#pragma omp simd
        for (int64_t e = i * d; e < (i + 1) * d; e++) {
            c->factor[e] = gnn__exp((gnn_real_t)c->sums[e]);
            c->kf[e] = k[e - i * d] * c->factor[e];
            c->qf[e] = q[e - i * d] * c->factor[e];
        }
        decay(c, i, c->sums + (c->n - 1) * d, c->sums + i * d, c->left + i * d, c->kl + i * d, NULL);
    }
}

/* The end of the block that begins with row b. */
static int64_t block_end(const chunk_t *c, int64_t b)
{
    const int64_t d = c->s->d_k;
    for (int64_t i = b + 1; i < c->n; i++)
        for (int64_t e = 0; e < d; e++)
            if (fabs(c->sums[i * d + e] - c->sums[b * d + e]) > FAR)
                return i;
    return c->n;
}

/* Factors of rows b .. end - 1 as receivers, of rows 0 .. end - 1 as senders. */
static void block_factors(const chunk_t *c, int64_t b, int64_t end)
{
    const int64_t d = c->s->d_k;
    const double *from = c->sums + b * d;
    for (int64_t i = b; i < end; i++)
        decay(c, i, c->sums + i * d, from, c->within + i * d, c->kw + i * d, c->qw + i * d);
    for (int64_t j = 0; j < end; j++)
        decay(c, j, from, c->sums + j * d, c->before + j * d, c->kb + j * d, NULL);
}

/* Zeros from column i + diagonal of row i on. */
static void mask(const chunk_t *c, gnn_real_t *x, int64_t diagonal)
{
    for (int64_t i = 0; i < c->n; i++)
        gnn__delta_clear(x + i * ROWS + i + diagonal, c->n - i - diagonal);
}

/* M where there is a correction, and A. */
static void pairs(const chunk_t *c)
{
    const int64_t d = c->s->d_k;
    gnn__delta_clear(c->m, ROWS * c->n);
    gnn__delta_clear(c->a, ROWS * c->n);
    for (int64_t b = 0, end; b < c->n; b = end) {
        end = block_end(c, b);
        block_factors(c, b, end);
        const rows_t turned = gnn__delta_turn(end, d, deep(c, c->kb), c->turned, ROWS);
        if (c->s->beta >= 0)
            gnn__delta_add(end - b, end, d, 1, deep(c, c->kw + b * d), false, turned,
                           (rows_t){c->m + b * ROWS, ROWS});
        gnn__delta_add(end - b, end, d, 1, deep(c, c->qw + b * d), false, turned,
                       (rows_t){c->a + b * ROWS, ROWS});
    }
    mask(c, c->m, 0);
    mask(c, c->a, 1);
}

/* U, and K S where there is a correction. */
static void corrections(const chunk_t *c)
{
    const int64_t d = c->s->d_v;
    gnn__delta_scale(c->n, d, c->beta, 1, c->v, c->u);
    if (c->s->beta < 0)
        return;
    gnn__delta_clear(c->ks, c->n * d);
    gnn__delta_add(c->n, d, c->s->d_k, 1, deep(c, c->kf), false, wide(c, c->memory), wide(c, c->ks));
    for (int64_t i = 0; i < c->n; i++) {
        gnn__delta_subtract(d, c->beta[i], c->ks + i * d, c->u + i * d);
        for (int64_t j = 0; j < i; j++)
            gnn__delta_subtract(d, c->beta[i] * c->m[i * ROWS + j], c->u + j * d, c->u + i * d);
    }
}

/* Row e of x times exp(G_last) of channel e. */
static void scale_channels(const chunk_t *c, gnn_real_t *x)
{
    gnn__delta_scale(c->s->d_k, c->s->d_v, c->factor + (c->n - 1) * c->s->d_k, 1, wide(c, x), x);
}

/* The memory before the chunk becomes the one after it. */
static void advance(const chunk_t *c)
{
    scale_channels(c, c->memory);
    gnn__delta_add(c->s->d_k, c->s->d_v, c->n, 1, deep(c, c->kl), true, wide(c, c->u),
                   wide(c, c->memory));
}

static void forward(const gnn__delta_unit_t *unit, int64_t row0, int64_t row1, gnn_real_t *scratch)
{
    const gnn__delta_t *s = unit->s;
    chunk_t c = {.unit = unit, .s = s};
    bool fits;
    (void)lay_out(&c, s, 0, scratch, &fits);
    gnn__delta_clear(c.memory, s->square);
    for (int64_t row = row0; row < row1; row += ROWS) {
        enter(&c, row, row1);
        const rows_t y = head_rows(&unit->call->out[0].value, &c, s->d_v);
        pairs(&c);
        corrections(&c);
        for (int64_t i = 0; i < c.n; i++)
            gnn__delta_clear(y.at + i * y.stride, s->d_v);
        gnn__delta_add(c.n, s->d_v, s->d_k, s->scale, deep(&c, c.qf), false, wide(&c, c.memory), y);
        gnn__delta_add(c.n, s->d_v, c.n, s->scale, (rows_t){c.a, ROWS}, false, wide(&c, c.u), y);
        advance(&c);
    }
}

/* ---- backward ---- */

static rows_t grad_rows(const chunk_t *c, int input, int64_t width)
{
    return gnn__wants(c->unit->call, input) ? head_rows(&c->unit->call->in[input].grad, c, width)
                                            : (rows_t){NULL, 0};
}

/* d_u = (I + diag(beta) M)^-T (scale A' dY + (K o left) d_memory), d_v = diag(beta) d_u. */
static void corrections_grad(const chunk_t *c, rows_t d_y)
{
    const gnn__delta_t *s = c->s;
    const int64_t d = s->d_v;
    gnn__delta_clear(c->d_u, c->n * d);
    gnn__delta_add(c->n, d, s->d_k, 1, deep(c, c->kl), false, wide(c, c->d_memory), wide(c, c->d_u));
    gnn__delta_add(c->n, d, c->n, s->scale, (rows_t){c->a, ROWS}, true, d_y, wide(c, c->d_u));
    for (int64_t i = c->n - 1; i > 0 && s->beta >= 0; i--)
        for (int64_t j = 0; j < i; j++)
            gnn__delta_subtract(d, c->beta[i] * c->m[i * ROWS + j], c->d_u + i * d, c->d_u + j * d);
    gnn__delta_scale(c->n, d, c->beta, 1, wide(c, c->d_u), c->d_v);
}

/* The gradient of beta, by e = V - K S - M U. */
static void beta_grad(const chunk_t *c)
{
    const int64_t d = c->s->d_v, head = c->unit->head;
    if (c->s->beta < 0 || !gnn__wants(c->unit->call, c->s->beta))
        return;
    gnn__delta_scale(c->n, d, NULL, 1, c->v, c->temporary);
    gnn__delta_subtract(c->n * d, 1, c->ks, c->temporary);
    gnn__delta_add(c->n, d, c->n, -1, (rows_t){c->m, ROWS}, false, wide(c, c->u),
                   wide(c, c->temporary));
    for (int64_t i = 0; i < c->n; i++)
        gnn__row(&c->unit->call->in[c->s->beta].grad, c->row + i)[head] +=
            gnn__delta_dot(c->d_u + i * d, c->temporary + i * d, d);
}

static void pairs_grad(const chunk_t *c, rows_t d_y)
{
    const gnn__delta_t *s = c->s;
    const int64_t d = s->d_v;
    const rows_t turned = gnn__delta_turn(c->n, d, wide(c, c->u), c->turned, ROWS);
    gnn__delta_clear(c->d_a, ROWS * c->n);
    gnn__delta_add(c->n, c->n, d, s->scale, d_y, false, turned, (rows_t){c->d_a, ROWS});
    gnn__delta_clear(c->d_m, ROWS * c->n);
    if (s->beta >= 0)
        gnn__delta_add(c->n, c->n, d, -1, wide(c, c->d_v), false, turned, (rows_t){c->d_m, ROWS});
    mask(c, c->d_m, 0);
    mask(c, c->d_a, 1);
}

/* x o= f. */
static void times(int64_t count, const gnn_real_t *restrict f, gnn_real_t *restrict x)
{
#pragma omp simd
    for (int64_t e = 0; e < count; e++)
        x[e] *= f[e];
}

/* gq, gp and gt by the memory before the chunk and after it, and d_last. */
static void memory_keys_grad(const chunk_t *c, rows_t d_y)
{
    const gnn__delta_t *s = c->s;
    const int64_t n = c->n, d = s->d_k, count = n * d;
    const gnn_real_t *factor = c->factor + (n - 1) * d;
    rows_t turned = gnn__delta_turn(d, s->d_v, wide(c, c->memory), c->turned, d);
    gnn__delta_clear(c->gq, count);
    gnn__delta_clear(c->gp, count);
    gnn__delta_clear(c->gt, count);
    gnn__delta_add(n, d, s->d_v, s->scale, d_y, false, turned, deep(c, c->gq));
    if (s->beta >= 0)
        gnn__delta_add(n, d, s->d_v, -1, wide(c, c->d_v), false, turned, deep(c, c->gp));
    turned = gnn__delta_turn(d, s->d_v, wide(c, c->d_memory), c->turned, d);
    gnn__delta_add(n, d, s->d_v, 1, wide(c, c->u), false, turned, deep(c, c->gt));
    times(count, c->factor, c->gq);
    times(count, c->factor, c->gp);
    times(count, c->left, c->gt);
    for (int64_t e = 0; e < d; e++) {
        gnn_real_t sum =
            factor[e] * gnn__delta_dot(c->memory + e * s->d_v, c->d_memory + e * s->d_v, s->d_v);
        for (int64_t i = 0; i < n; i++)
            sum += c->k.at[i * c->k.stride + e] * c->gt[i * d + e];
        c->d_last[e] = sum;
    }
}

/* to += x o f of the rows from b on. */
static void add_times(const chunk_t *c, int64_t b, int64_t end, const gnn_real_t *f, gnn_real_t *to)
{
    const gnn_real_t *x = c->product;
#pragma omp simd
    for (int64_t e = b * c->s->d_k; e < end * c->s->d_k; e++)
        to[e] += x[e] * f[e];
}

/* gq, gp and gt by M and A, block by block. */
static void pair_keys_grad(const chunk_t *c)
{
    const int64_t d = c->s->d_k;
    for (int64_t b = 0, end; b < c->n; b = end) {
        end = block_end(c, b);
        block_factors(c, b, end);
        const int64_t rows = end - b;
        const rows_t d_a = {c->d_a + b * ROWS, ROWS}, d_m = {c->d_m + b * ROWS, ROWS},
                     product = deep(c, c->product), of_block = deep(c, c->product + b * d);
        gnn__delta_clear(of_block.at, rows * d);
        gnn__delta_add(rows, d, end, 1, d_a, false, deep(c, c->kb), of_block);
        add_times(c, b, end, c->within, c->gq);
        gnn__delta_clear(of_block.at, rows * d);
        if (c->s->beta >= 0)
            gnn__delta_add(rows, d, end, 1, d_m, false, deep(c, c->kb), of_block);
        add_times(c, b, end, c->within, c->gp);
        gnn__delta_clear(product.at, end * d);
        gnn__delta_add(end, d, rows, 1, d_a, true, deep(c, c->qw + b * d), product);
        if (c->s->beta >= 0)
            gnn__delta_add(end, d, rows, 1, d_m, true, deep(c, c->kw + b * d), product);
        add_times(c, 0, end, c->before, c->gt);
    }
}

/* Adds the gradients of q, k and the gates: those of G summed from the end. */
static void give(const chunk_t *c)
{
    const int64_t d = c->s->d_k;
    const rows_t d_q = grad_rows(c, GNN__DELTA_Q, d), d_k = grad_rows(c, GNN__DELTA_K, d),
                 d_g = grad_rows(c, c->s->gates, d);
    for (int64_t i = c->n - 1; i >= 0; i--) {
        const gnn_real_t *q = c->q.at + i * c->q.stride, *k = c->k.at + i * c->k.stride,
                         *gq = c->gq + i * d, *gp = c->gp + i * d, *gt = c->gt + i * d;
        for (int64_t e = 0; d_q.at && e < d; e++)
            d_q.at[i * d_q.stride + e] += gq[e];
        for (int64_t e = 0; d_k.at && e < d; e++)
            d_k.at[i * d_k.stride + e] += gp[e] + gt[e];
        for (int64_t e = 0; d_g.at && e < d; e++) {
            c->d_last[e] += q[e] * gq[e] + k[e] * (gp[e] - gt[e]);
            d_g.at[i * d_g.stride + e] += c->d_last[e];
        }
    }
}

/* The gradient of the memory after the chunk becomes that of the one before it. */
static void memory_grad(const chunk_t *c, rows_t d_y)
{
    const gnn__delta_t *s = c->s;
    const rows_t to = wide(c, c->d_memory);
    scale_channels(c, c->d_memory);
    gnn__delta_add(s->d_k, s->d_v, c->n, s->scale, deep(c, c->qf), true, d_y, to);
    if (s->beta >= 0)
        gnn__delta_add(s->d_k, s->d_v, c->n, -1, deep(c, c->kf), true, wide(c, c->d_v), to);
}

static void chunk_grad(const chunk_t *c)
{
    const int64_t d = c->s->d_v;
    const rows_t d_y = head_rows(&c->unit->call->out[0].grad, c, d),
                 d_v = grad_rows(c, GNN__DELTA_V, d);
    pairs(c);
    corrections(c);
    corrections_grad(c, d_y);
    beta_grad(c);
    for (int64_t i = 0; i < c->n && d_v.at; i++)
        gnn__delta_subtract(d, -1, c->d_v + i * d, d_v.at + i * d_v.stride);
    pairs_grad(c, d_y);
    memory_keys_grad(c, d_y);
    pair_keys_grad(c);
    give(c);
    memory_grad(c, d_y);
}

static void backward(const gnn__delta_unit_t *unit, int64_t row0, int64_t row1, gnn_real_t *scratch)
{
    const gnn__delta_t *s = unit->s;
    const int64_t chunks = gnn__delta_chunks_of(row1 - row0);
    const size_t bytes = sizeof(gnn_real_t) * (size_t)s->square;
    chunk_t c = {.unit = unit, .s = s};
    bool fits;
    (void)lay_out(&c, s, gnn__max(chunks, 1), scratch, &fits);
    gnn__delta_clear(c.memory, s->square);
    gnn__delta_clear(c.d_memory, s->square);
    for (int64_t k = 0; k < chunks; k++) {
        memcpy(c.starts + k * s->square, c.memory, bytes);
        enter(&c, row0 + k * ROWS, row1);
        if (s->beta >= 0)
            pairs(&c);
        corrections(&c);
        advance(&c);
    }
    for (int64_t k = chunks - 1; k >= 0; k--) {
        memcpy(c.memory, c.starts + k * s->square, bytes);
        enter(&c, row0 + k * ROWS, row1);
        chunk_grad(&c);
    }
}

const gnn__delta_form_t gnn__delta_by_channel = {values, forward, backward};
