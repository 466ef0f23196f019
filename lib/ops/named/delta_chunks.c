/* Op delta in chunks of rows, for gates that are one value per head (or absent). With G_i the sum
 * of the gates of a chunk up to row i, D_ij = exp(G_i - G_j) and S the memory before the chunk:
 *
 *     M_ij = D_ij k_i . k_j, j < i       A_ij = D_ij q_i . k_j, j <= i
 *     (I + diag(beta) M) U = diag(beta) (V - diag(exp(G)) K S)
 *     Y = scale (diag(exp(G)) Q S + A U)
 *     S after it = exp(G_last) S + (diag(exp(G_last - G)) K)' U
 *
 * so that all but the triangular solve are products of small blocks (the WY form of Bischof and Van
 * Loan 1987, as Yang et al. 2024 have it). Only differences of gates are exponentiated: a factor is
 * at most 1 where gates are at most 0.
 *
 * Backward keeps S at the first row of each chunk and computes the chunk again. With R = (I +
 * diag(beta) M)^-T dU and dV = diag(beta) R: dM = -dV U', dA = scale dY U', d_beta_i = R_i . e_i,
 * e = V - diag(exp(G)) K S - M U. */
#include <lib/ops/named/delta_rows.h>

enum { ROWS = GNN__DELTA_ROWS };

typedef gnn__delta_rows_t rows_t;

typedef struct chunk {
    const gnn__delta_unit_t *unit;
    const gnn__delta_t *s;
    int64_t row, n;
    rows_t q, k, v, y;
    gnn_real_t *memory;         /* d_k x d_v: before the chunk */
    gnn_real_t *turned;         /* a transpose: of K (d_k x ROWS), U, S or its gradient */
    gnn_real_t *m, *a, *decay;  /* ROWS x ROWS */
    gnn_real_t *u, *ks, *qs;    /* ROWS x d_v: U, K S, Q S */
    gnn_real_t *temporary;      /* ROWS x d_v */
    gnn_real_t *beta, *factor;  /* ROWS: beta; exp(G) */
    gnn_real_t *left;           /* ROWS: exp(G_last - G) */
    double *sums, *d_sums;      /* ROWS: G and its gradient */
    gnn_real_t *starts;         /* backward: the memory before each chunk */
    gnn_real_t *d_memory;       /* d_k x d_v: after the chunk, then before it */
    gnn_real_t *d_m, *d_a;      /* ROWS x ROWS */
    gnn_real_t *d_u, *d_v, *dy; /* ROWS x d_v: R, dV, scale exp(G) dY */
    gnn_real_t *kd;             /* ROWS x d_v: K d_memory */
} chunk_t;

static int64_t lay_out(chunk_t *c, const gnn__delta_t *s, int64_t chunks, gnn_real_t *scratch,
                       bool *fits)
{
    gnn__carve_t carve = {.base = (char *)scratch};
    const size_t real = sizeof(gnn_real_t);
    const int64_t wide = ROWS * s->d_v, across = ROWS * gnn__max(s->d_k, s->d_v);
    int64_t starts = 0;
    carve.overflow |= !gnn__mul(chunks, s->square, &starts);
    c->memory = gnn__carve(&carve, s->square, real);
    c->turned = gnn__carve(&carve, gnn__max(s->square, across), real);
    gnn_real_t **const squares[] = {&c->m, &c->a, &c->decay, &c->d_m, &c->d_a};
    gnn_real_t **const wides[] = {&c->u,   &c->ks,  &c->qs, &c->temporary,
                                  &c->d_u, &c->d_v, &c->dy, &c->kd};
    gnn_real_t **const lines[] = {&c->beta, &c->factor, &c->left};
    for (int k = 0; k < (chunks > 0 ? 5 : 3); k++)
        *squares[k] = gnn__carve(&carve, ROWS * ROWS, real);
    for (int k = 0; k < (chunks > 0 ? 8 : 4); k++)
        *wides[k] = gnn__carve(&carve, wide, real);
    for (int k = 0; k < 3; k++)
        *lines[k] = gnn__carve(&carve, ROWS, real);
    c->sums = gnn__carve(&carve, ROWS, sizeof(double));
    c->d_sums = gnn__carve(&carve, ROWS, sizeof(double));
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

/* ---- blocks ---- */

static void multiply(int64_t m, int64_t n, int64_t k, gnn_real_t alpha, rows_t a, rows_t b, rows_t c)
{
    gnn__delta_add(m, n, k, alpha, a, false, b, c);
}

static void multiply_turned(int64_t m, int64_t n, int64_t k, gnn_real_t alpha, rows_t a, rows_t b,
                            rows_t c)
{
    gnn__delta_add(m, n, k, alpha, a, true, b, c);
}

/* ---- a chunk ---- */

static rows_t head_rows(const gnn_tensor_t *t, const chunk_t *c, int64_t width)
{
    if (!t->data)
        return (rows_t){NULL, 0};
    return (rows_t){gnn__row(t, c->row) + c->unit->head * width, gnn__stride(t)};
}

static double gate_of(const chunk_t *c, int64_t i)
{
    if (c->s->gates < 0)
        return 0;
    return gnn__delta_gate(gnn__row(&c->unit->call->in[c->s->gates].value, c->row + i)[c->unit->head]);
}

static void enter(chunk_t *c, int64_t row, int64_t row1)
{
    const gnn_op_call_t *call = c->unit->call;
    const gnn__delta_t *s = c->s;
    double sum = 0;
    c->row = row;
    c->n = gnn__min(ROWS, row1 - row);
    c->q = head_rows(&call->in[GNN__DELTA_Q].value, c, s->d_k);
    c->k = head_rows(&call->in[GNN__DELTA_K].value, c, s->d_k);
    c->v = head_rows(&call->in[GNN__DELTA_V].value, c, s->d_v);
    for (int64_t i = 0; i < c->n; i++) {
        c->sums[i] = sum += gate_of(c, i);
        c->beta[i] = s->beta >= 0 ? gnn__row(&call->in[s->beta].value, row + i)[c->unit->head] : 1;
    }
    for (int64_t i = 0; i < c->n; i++) {
        c->factor[i] = gnn__exp((gnn_real_t)c->sums[i]);
        c->left[i] = gnn__exp((gnn_real_t)(sum - c->sums[i]));
    }
}

/* x (n x n) = D times products, in columns below row `i + diagonal`; 0 elsewhere. */
static void mask(const chunk_t *c, gnn_real_t *x, int64_t diagonal)
{
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t end = i + diagonal;
        gnn_real_t *row = x + i * ROWS;
        const gnn_real_t *decay = c->decay + i * ROWS;
        for (int64_t j = 0; c->s->gates >= 0 && j < end; j++)
            row[j] *= decay[j];
        gnn__delta_clear(row + end, c->n - end);
    }
}

static void decays(const chunk_t *c)
{
    for (int64_t i = 0; i < c->n && c->s->gates >= 0; i++)
        for (int64_t j = 0; j <= i; j++)
            c->decay[i * ROWS + j] = gnn__exp((gnn_real_t)(c->sums[i] - c->sums[j]));
}

/* Solves (I + diag(beta) M) U = U in place. */
static void solve(const chunk_t *c)
{
    const int64_t d = c->s->d_v;
    for (int64_t i = 1; i < c->n; i++)
        for (int64_t j = 0; j < i; j++)
            gnn__delta_subtract(d, c->beta[i] * c->m[i * ROWS + j], c->u + j * d, c->u + i * d);
}

/* U, and M, K S where there is a correction. */
static void corrections(const chunk_t *c, rows_t keys_turned)
{
    const gnn__delta_t *s = c->s;
    const rows_t memory = {c->memory, s->d_v};
    gnn__delta_scale(c->n, s->d_v, c->beta, 1, c->v, c->u);
    if (s->beta < 0)
        return;
    gnn__delta_clear(c->m, ROWS * c->n);
    multiply(c->n, c->n, s->d_k, 1, c->k, keys_turned, (rows_t){c->m, ROWS});
    mask(c, c->m, 0);
    gnn__delta_clear(c->ks, c->n * s->d_v);
    multiply(c->n, s->d_v, s->d_k, 1, c->k, memory, (rows_t){c->ks, s->d_v});
    for (int64_t i = 0; i < c->n; i++)
        gnn__delta_subtract(s->d_v, c->beta[i] * c->factor[i], c->ks + i * s->d_v, c->u + i * s->d_v);
    solve(c);
}

/* A and Q S. */
static void readings(const chunk_t *c, rows_t keys_turned)
{
    const gnn__delta_t *s = c->s;
    gnn__delta_clear(c->a, ROWS * c->n);
    multiply(c->n, c->n, s->d_k, 1, c->q, keys_turned, (rows_t){c->a, ROWS});
    mask(c, c->a, 1);
    gnn__delta_clear(c->qs, c->n * s->d_v);
    multiply(c->n, s->d_v, s->d_k, 1, c->q, (rows_t){c->memory, s->d_v}, (rows_t){c->qs, s->d_v});
}

/* The memory before the chunk becomes the one after it. */
static void advance(const chunk_t *c)
{
    const gnn__delta_t *s = c->s;
    const gnn_real_t all = c->factor[c->n - 1];
    for (int64_t e = 0; e < s->square && s->gates >= 0; e++)
        c->memory[e] *= all;
    gnn__delta_scale(c->n, s->d_v, c->left, 1, (rows_t){c->u, s->d_v}, c->temporary);
    multiply_turned(s->d_k, s->d_v, c->n, 1, c->k, (rows_t){c->temporary, s->d_v},
                    (rows_t){c->memory, s->d_v});
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
        const rows_t keys = gnn__delta_turn(c.n, s->d_k, c.k, c.turned, ROWS),
                     y = head_rows(&unit->call->out[0].value, &c, s->d_v);
        decays(&c);
        corrections(&c, keys);
        readings(&c, keys);
        for (int64_t i = 0; i < c.n; i++)
            gnn__delta_scale(1, s->d_v, NULL, s->scale * c.factor[i],
                             (rows_t){c.qs + i * s->d_v, s->d_v}, y.at + i * y.stride);
        multiply(c.n, s->d_v, c.n, s->scale, (rows_t){c.a, ROWS}, (rows_t){c.u, s->d_v}, y);
        advance(&c);
    }
}

/* ---- backward ---- */

static rows_t grad_rows(const chunk_t *c, int input, int64_t width)
{
    return gnn__wants(c->unit->call, input) ? head_rows(&c->unit->call->in[input].grad, c, width)
                                            : (rows_t){NULL, 0};
}

/* Adds to the gradient of an input with one value per row and head. */
static void give_value(const chunk_t *c, int input, int64_t i, double d)
{
    gnn_real_t *at = gnn__row(&c->unit->call->in[input].grad, c->row + i) + c->unit->head;
    *at += (gnn_real_t)d;
}

/* d_u = (I + diag(beta) M)^-T (scale A' dY + diag(left) K d_memory). */
static void corrections_grad(const chunk_t *c, rows_t d_y)
{
    const gnn__delta_t *s = c->s;
    const int64_t d = s->d_v;
    gnn__delta_clear(c->kd, c->n * d);
    multiply(c->n, d, s->d_k, 1, c->k, (rows_t){c->d_memory, d}, (rows_t){c->kd, d});
    gnn__delta_scale(c->n, d, c->left, 1, (rows_t){c->kd, d}, c->d_u);
    multiply_turned(c->n, d, c->n, s->scale, (rows_t){c->a, ROWS}, d_y, (rows_t){c->d_u, d});
    for (int64_t i = c->n - 1; i > 0 && s->beta >= 0; i--)
        for (int64_t j = 0; j < i; j++)
            gnn__delta_subtract(d, c->beta[i] * c->m[i * ROWS + j], c->d_u + i * d, c->d_u + j * d);
    gnn__delta_scale(c->n, d, c->beta, 1, (rows_t){c->d_u, d}, c->d_v);
}

/* The gradient of beta, by e = V - diag(exp(G)) K S - M U. */
static void beta_grad(const chunk_t *c)
{
    const int64_t d = c->s->d_v;
    if (c->s->beta < 0 || !gnn__wants(c->unit->call, c->s->beta))
        return;
    gnn__delta_scale(c->n, d, NULL, 1, c->v, c->temporary);
    for (int64_t i = 0; i < c->n; i++)
        gnn__delta_subtract(d, c->factor[i], c->ks + i * d, c->temporary + i * d);
    multiply(c->n, d, c->n, -1, (rows_t){c->m, ROWS}, (rows_t){c->u, d}, (rows_t){c->temporary, d});
    for (int64_t i = 0; i < c->n; i++)
        give_value(c, c->s->beta, i, (double)gnn__delta_dot(c->d_u + i * d, c->temporary + i * d, d));
}

/* d_m and d_a, times D; before that their part of the gradient of G. */
static void pairs_grad(const chunk_t *c, rows_t d_y)
{
    const gnn__delta_t *s = c->s;
    const int64_t d = s->d_v;
    const rows_t turned = gnn__delta_turn(c->n, d, (rows_t){c->u, d}, c->turned, ROWS);
    gnn__delta_clear(c->d_a, ROWS * c->n);
    multiply(c->n, c->n, d, s->scale, d_y, turned, (rows_t){c->d_a, ROWS});
    gnn__delta_clear(c->d_m, ROWS * c->n);
    if (s->beta >= 0)
        multiply(c->n, c->n, d, -1, (rows_t){c->d_v, d}, turned, (rows_t){c->d_m, ROWS});
    for (int64_t i = 0; i < c->n && s->gates >= 0; i++)
        for (int64_t j = 0; j < i; j++) {
            const int64_t at = i * ROWS + j;
            const double t = (double)c->d_a[at] * (double)c->a[at] +
                             (s->beta >= 0 ? (double)c->d_m[at] * (double)c->m[at] : 0);
            c->d_sums[i] += t;
            c->d_sums[j] -= t;
        }
    mask(c, c->d_m, 0);
    mask(c, c->d_a, 1);
}

/* The gradients of q and k. On entry temporary = diag(exp(G)) dV, dy = scale diag(exp(G)) dY. */
static void keys_grad(const chunk_t *c)
{
    const gnn__delta_t *s = c->s;
    const int64_t d = s->d_v, n = c->n;
    const rows_t d_q = grad_rows(c, GNN__DELTA_Q, s->d_k), d_k = grad_rows(c, GNN__DELTA_K, s->d_k),
                 d_a = {c->d_a, ROWS}, d_m = {c->d_m, ROWS}, plain = {c->temporary, d};
    rows_t turned = gnn__delta_turn(s->d_k, d, (rows_t){c->memory, d}, c->turned, s->d_k);
    multiply(n, s->d_k, n, 1, d_a, c->k, d_q);
    multiply(n, s->d_k, d, 1, (rows_t){c->dy, d}, turned, d_q);
    multiply_turned(n, s->d_k, n, 1, d_a, c->q, d_k);
    if (s->beta >= 0) {
        multiply(n, s->d_k, n, 1, d_m, c->k, d_k);
        multiply_turned(n, s->d_k, n, 1, d_m, c->k, d_k);
        multiply(n, s->d_k, d, -1, plain, turned, d_k);
    }
    turned = gnn__delta_turn(s->d_k, d, (rows_t){c->d_memory, d}, c->turned, s->d_k);
    gnn__delta_scale(n, d, c->left, 1, (rows_t){c->u, d}, c->d_u);
    multiply(n, s->d_k, d, 1, (rows_t){c->d_u, d}, turned, d_k);
}

/* The rest of the gradient of G, and of the gates: sums from the end. */
static void gates_grad(const chunk_t *c)
{
    const gnn__delta_t *s = c->s;
    const int64_t d = s->d_v, last = c->n - 1;
    double sum = 0;
    for (int64_t i = 0; i < c->n; i++) {
        const double kept =
            (double)c->left[i] * (double)gnn__delta_dot(c->u + i * d, c->kd + i * d, d);
        c->d_sums[i] += (double)gnn__delta_dot(c->dy + i * d, c->qs + i * d, d) - kept;
        if (s->beta >= 0)
            c->d_sums[i] -= (double)gnn__delta_dot(c->temporary + i * d, c->ks + i * d, d);
        c->d_sums[last] += kept;
    }
    c->d_sums[last] +=
        (double)c->factor[last] * (double)gnn__delta_dot(c->d_memory, c->memory, s->square);
    for (int64_t i = last; i >= 0; i--)
        give_value(c, s->gates, i, sum += c->d_sums[i]);
}

/* The gradient of the memory after the chunk becomes that of the one before it. */
static void memory_grad(const chunk_t *c)
{
    const gnn__delta_t *s = c->s;
    const rows_t to = {c->d_memory, s->d_v};
    for (int64_t e = 0; e < s->square && s->gates >= 0; e++)
        c->d_memory[e] *= c->factor[c->n - 1];
    multiply_turned(s->d_k, s->d_v, c->n, 1, c->q, (rows_t){c->dy, s->d_v}, to);
    if (s->beta >= 0)
        multiply_turned(s->d_k, s->d_v, c->n, -1, c->k, (rows_t){c->temporary, s->d_v}, to);
}

static void chunk_grad(chunk_t *c)
{
    const gnn__delta_t *s = c->s;
    const int64_t d = s->d_v;
    const rows_t keys = gnn__delta_turn(c->n, s->d_k, c->k, c->turned, ROWS),
                 d_y = head_rows(&c->unit->call->out[0].grad, c, d),
                 d_v = grad_rows(c, GNN__DELTA_V, d);
    memset(c->d_sums, 0, sizeof *c->d_sums * ROWS);
    decays(c);
    corrections(c, keys);
    readings(c, keys);
    corrections_grad(c, d_y);
    beta_grad(c);
    for (int64_t i = 0; i < c->n && d_v.at; i++)
        gnn__delta_subtract(d, -1, c->d_v + i * d, d_v.at + i * d_v.stride);
    pairs_grad(c, d_y);
    gnn__delta_scale(c->n, d, c->factor, s->scale, d_y, c->dy);
    gnn__delta_scale(c->n, d, c->factor, 1, (rows_t){c->d_v, d}, c->temporary);
    keys_grad(c);
    if (s->gates >= 0 && gnn__wants(c->unit->call, s->gates))
        gates_grad(c);
    memory_grad(c);
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
        decays(&c);
        corrections(&c, gnn__delta_turn(c.n, s->d_k, c.k, c.turned, ROWS));
        advance(&c);
    }
    for (int64_t k = chunks - 1; k >= 0; k--) {
        memcpy(c.memory, c.starts + k * s->square, bytes);
        enter(&c, row0 + k * ROWS, row1);
        chunk_grad(&c);
    }
}

const gnn__delta_form_t gnn__delta_by_head = {values, forward, backward};
