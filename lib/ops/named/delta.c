/* ---- delta ---- */

/* A memory of d_k x d_v values per head that each row of a segment decays, corrects and reads, from
 * the first row of the segment to the last:
 *
 *     S = diag(exp(g)) S     u = beta (v - S' k)     S = S + k u'     y = scale S' q
 *
 * q, k (n x heads d_k), v (n x heads d_v), beta (n x heads), g (n x heads, or n x heads d_k: a gate
 * per channel of k; absent: 0) -> (n x heads d_v). Options: heads [1], scale [1 / sqrt(d_k)], plain
 * [0]: with 1 there is no beta, so that input 3 is g, and u = v. Rows and their segments are the
 * senders of the graph; its pairs are not read.
 *
 * DeltaNet (Schlag et al. 2021, Yang et al. 2024), gated DeltaNet (Yang et al. 2025), with a gate
 * per channel KDA (Kimi Linear 2025); plain: GLA (Yang et al. 2024), with d_k = d_v = 1 diagonal
 * recurrences (HGRN, Qin et al. 2023).
 *
 * One unit per segment and head: in chunks of rows where memories are wide, else row by row, as
 * below. Gates multiply the memory itself, so that nothing in it is larger than what rows
 * have written. Backward keeps the memory at the first row of each
 * chunk, and makes those of the rows of one chunk at a time again. */
#include <lib/kernels/simd/real_math.h>
#include <lib/ops/named/delta.h>

#include <omp.h>

enum { Q = GNN__DELTA_Q, K = GNN__DELTA_K, V = GNN__DELTA_V, REST, INPUTS = REST + 2 };
enum { CHUNK = 32, WIDE = 16 };

typedef gnn__delta_t sizes_t;
typedef gnn__delta_unit_t unit_t;

static int read_sizes(const gnn_op_call_t *call, sizes_t *s)
{
    GNN_TRY(gnn__op_heads(call, "delta", &s->heads));
    s->d_k = call->in[Q].cols / s->heads;
    s->d_v = call->in[V].cols / s->heads;
    const bool plain = gnn__op_options(call)->options[2] > 0;
    s->beta = !plain && gnn__has_input(call, REST) ? REST : -1;
    s->gates = gnn__has_input(call, plain ? REST : REST + 1) ? (plain ? REST : REST + 1) : -1;
    s->by_channel = s->gates >= 0 && call->in[s->gates].cols != s->heads;
    s->scale = (gnn_real_t)gnn__op_option(call, 1, 1 / sqrt((double)gnn__max(s->d_k, 1)));
    if (s->d_v * s->heads != call->in[V].cols)
        return gnn__error(GNN_ESHAPE, "delta: %lld heads do not divide %lld columns of values",
                          (long long)s->heads, (long long)call->in[V].cols);
    return gnn__mul(s->d_k, s->d_v, &s->square)
               ? GNN_OK
               : gnn__error(GNN_EOVERFLOW, "delta: a memory of %lld x %lld values does not fit",
                            (long long)s->d_k, (long long)s->d_v);
}

/* NULL: row by row, which is faster for narrow memories. */
static const gnn__delta_form_t *form_of(const sizes_t *s)
{
    if (s->d_k < WIDE || s->d_v < WIDE)
        return NULL;
    return s->gates >= 0 && s->by_channel ? &gnn__delta_by_channel : &gnn__delta_by_head;
}

static const gnn_graph_t *graph_of(const gnn_op_call_t *call)
{
    return gnn__op_options(call)->graph;
}

/* The segments of the senders; without segments all rows are one. */
static int64_t segment_count(const gnn_graph_t *g)
{
    return g->n_segments > 0 ? g->n_segments : 1;
}

static void segment_rows(const gnn_graph_t *g, int64_t segment, int64_t *row0, int64_t *row1)
{
    *row0 = g->n_segments > 0 ? g->src_segments[segment] : 0;
    *row1 = g->n_segments > 0 ? g->src_segments[segment + 1] : g->n_src;
}

static int64_t most_rows(const gnn_graph_t *g)
{
    int64_t most = 0, row0, row1;
    for (int64_t s = 0; s < segment_count(g); s++) {
        segment_rows(g, s, &row0, &row1);
        most = gnn__max(most, row1 - row0);
    }
    return most;
}

static int64_t most_chunks(const gnn_graph_t *g)
{
    return (most_rows(g) + CHUNK - 1) / CHUNK;
}

/* Values of one thread's scratch in backward: memories of a chunk's rows and of chunks, the
 * gradient of the memory, corrections of a chunk's rows and three rows. */
static bool backward_values(const gnn_op_call_t *call, const sizes_t *s, int64_t *count)
{
    int64_t memories = 0, rows = 0;
    if (form_of(s))
        return form_of(s)->values(s, most_rows(graph_of(call)), true, count);
    return gnn__mul(CHUNK + 2 + most_chunks(graph_of(call)), s->square, &memories) &&
           gnn__mul(2 * CHUNK + 3, s->d_v, &rows) && gnn__add(memories, rows, count) &&
           gnn__add(*count, s->d_k + 16, count);
}

/* The same in forward: a memory and a correction. */
static bool forward_values(const sizes_t *s, int64_t *count)
{
    if (form_of(s))
        return form_of(s)->values(s, 0, false, count);
    return gnn__add(s->square, s->d_v, count);
}

static int delta_shape(gnn_op_call_t *call)
{
    sizes_t s;
    int64_t backward = 0, forward = 0;
    GNN_TRY(gnn__op_dense(call, "delta", 0, INPUTS - 1, REST));
    if (!graph_of(call))
        return gnn__error(GNN_EINVALID, "delta: needs a graph, whose segments are sequences");
    const int64_t n = graph_of(call)->n_src;
    GNN_TRY(read_sizes(call, &s));
    GNN_TRY(gnn__op_expect(call, "delta", Q, n, s.heads * s.d_k));
    GNN_TRY(gnn__op_expect(call, "delta", K, n, s.heads * s.d_k));
    GNN_TRY(gnn__op_expect(call, "delta", V, n, s.heads * s.d_v));
    if (s.beta >= 0)
        GNN_TRY(gnn__op_expect(call, "delta", s.beta, n, s.heads));
    if (s.gates >= 0)
        GNN_TRY(gnn__op_expect(call, "delta", s.gates, n, s.by_channel ? s.heads * s.d_k : s.heads));
    gnn__op_output(call, n, s.heads * s.d_v);
    for (int k = 0; k < INPUTS; k++)
        if (gnn__has_input(call, k))
            call->in[k].keep = 1;
    if (!backward_values(call, &s, &backward) || !forward_values(&s, &forward))
        return gnn__error(GNN_EOVERFLOW, "delta: the memory it needs does not fit an address");
    const int threads = gnn__most_threads(call->context, call->threads);
    GNN_TRY(gnn__op_bytes(call, threads, forward, sizeof(gnn_real_t), &call->forward_scratch));
    return gnn__op_bytes(call, threads, backward, sizeof(gnn_real_t), &call->backward_scratch);
}

/* ---- one row ---- */

static gnn_real_t *head_row(const gnn_tensor_t *t, const unit_t *u, int64_t row, int64_t width)
{
    return gnn__row(t, row) + u->head * width;
}

/* exp of the gate of channel c */
static gnn_real_t kept(const unit_t *u, int64_t row, int64_t c)
{
    if (u->s->gates < 0)
        return 1;
    const gnn_real_t *gates = gnn__row(&u->call->in[u->s->gates].value, row);
    return gnn__exp(u->s->by_channel ? gates[u->head * u->s->d_k + c] : gates[u->head]);
}

/* The memory before a row becomes the one after it; e (d_v) = v - S' k. */
static void write_row(const unit_t *u, int64_t row, const gnn_real_t *before, gnn_real_t *memory,
                      gnn_real_t *restrict e)
{
    const int64_t d_k = u->s->d_k, d_v = u->s->d_v;
    const gnn_real_t *k = head_row(&u->call->in[K].value, u, row, d_k),
                     *v = head_row(&u->call->in[V].value, u, row, d_v);
    const bool corrects = u->s->beta >= 0;
    const gnn_real_t beta = corrects ? gnn__row(&u->call->in[u->s->beta].value, row)[u->head] : 1;
    memcpy(e, v, sizeof *e * (size_t)d_v);
    for (int64_t c = 0; c < d_k; c++) {
        const gnn_real_t by = kept(u, row, c), key = corrects ? k[c] : 0;
        gnn_real_t *m = memory + c * d_v;
        for (int64_t f = 0; f < d_v; f++) {
            m[f] = by * before[c * d_v + f];
            e[f] -= key * m[f];
        }
    }
    for (int64_t c = 0; c < d_k; c++)
        for (int64_t f = 0; f < d_v; f++)
            memory[c * d_v + f] += beta * k[c] * e[f];
}

static void read_row(const unit_t *u, int64_t row, const gnn_real_t *memory)
{
    const int64_t d_k = u->s->d_k, d_v = u->s->d_v;
    const gnn_real_t *q = head_row(&u->call->in[Q].value, u, row, d_k);
    gnn_real_t *restrict y = head_row(&u->call->out[0].value, u, row, d_v);
    memset(y, 0, sizeof *y * (size_t)d_v);
    for (int64_t c = 0; c < d_k; c++)
        for (int64_t f = 0; f < d_v; f++)
            y[f] += u->s->scale * q[c] * memory[c * d_v + f];
}

static int delta_forward(gnn_op_call_t *call)
{
    sizes_t s;
    GNN_TRY(read_sizes(call, &s));
    const gnn_graph_t *g = graph_of(call);
    gnn_real_t *scratch = call->scratch;
    int64_t each = 0;
    (void)forward_values(&s, &each);
    const int threads = gnn__op_threads(call, 3 * g->n_src * s.heads * s.square);
    GNN__PARALLEL_FOR (threads, int64_t n = 0; n < segment_count(g) * s.heads; n++) {
        const unit_t u = {call, &s, n % s.heads};
        gnn_real_t *memory = scratch + omp_get_thread_num() * each;
        int64_t row0, row1;
        segment_rows(g, n / s.heads, &row0, &row1);
        if (form_of(&s)) {
            form_of(&s)->forward(&u, row0, row1, memory);
            continue;
        }
        memset(memory, 0, sizeof *memory * (size_t)s.square);
        for (int64_t row = row0; row < row1; row++) {
            write_row(&u, row, memory, memory, memory + s.square);
            read_row(&u, row, memory);
        }
    }
    return GNN_OK;
}

/* ---- backward ---- */

/* One thread's memory in backward. */
typedef struct work {
    gnn_real_t *starts;        /* by chunk: the memory before its first row */
    gnn_real_t *memories;      /* of a chunk: before its first row, after each row */
    gnn_real_t *d_memory;      /* the gradient of the memory after the row at hand */
    gnn_real_t *e;             /* (CHUNK x d_v) */
    gnn_real_t *d_u, *d_e, *u; /* (d_v) */
} work_t;

static work_t lay_out(const sizes_t *s, int64_t chunks, gnn_real_t *scratch)
{
    work_t w = {.starts = scratch};
    w.memories = w.starts + chunks * s->square;
    w.d_memory = w.memories + (CHUNK + 1) * s->square;
    w.e = w.d_memory + s->square;
    w.d_u = w.e + CHUNK * s->d_v;
    w.d_e = w.d_u + s->d_v;
    w.u = w.d_e + s->d_v;
    return w;
}

/* Adds to the gradient of input k, where it is wanted. */
static void give(const unit_t *u, int input, int64_t row, int64_t col, gnn_real_t d)
{
    if (input >= 0 && u->call->in[input].grad.data)
        gnn__row(&u->call->in[input].grad, row)[col] += d;
}

/* Through y = scale S' q, then S = D + k u': d_u and the gradient of S, which is that of D before
 * the correction. */
static void read_row_grad(const unit_t *u, int64_t row, const gnn_real_t *memory, const work_t *w)
{
    const int64_t d_k = u->s->d_k, d_v = u->s->d_v;
    const gnn_real_t *q = head_row(&u->call->in[Q].value, u, row, d_k),
                     *k = head_row(&u->call->in[K].value, u, row, d_k),
                     *d_y = head_row(&u->call->out[0].grad, u, row, d_v), scale = u->s->scale;
    memset(w->d_u, 0, sizeof *w->d_u * (size_t)d_v);
    for (int64_t c = 0; c < d_k; c++) {
        gnn_real_t *d = w->d_memory + c * d_v;
        give(u, Q, row, u->head * d_k + c, scale * gnn__delta_dot(memory + c * d_v, d_y, d_v));
        for (int64_t f = 0; f < d_v; f++) {
            d[f] += scale * q[c] * d_y[f];
            w->d_u[f] += k[c] * d[f];
        }
        give(u, K, row, u->head * d_k + c, gnn__delta_dot(d, w->u, d_v));
    }
}

/* Through u = beta (v - D' k) and D = diag(exp(g)) S. `before`: S. */
static void write_row_grad(const unit_t *u, int64_t row, const gnn_real_t *before, const work_t *w)
{
    const int64_t d_k = u->s->d_k, d_v = u->s->d_v, at = u->head * d_k;
    const gnn_real_t *k = head_row(&u->call->in[K].value, u, row, d_k);
    const bool corrects = u->s->beta >= 0;
    for (int64_t c = 0; c < d_k; c++) {
        const gnn_real_t by = kept(u, row, c), *s = before + c * d_v;
        gnn_real_t *d = w->d_memory + c * d_v;
        if (corrects)
            give(u, K, row, at + c, -by * gnn__delta_dot(s, w->d_e, d_v));
        for (int64_t f = 0; corrects && f < d_v; f++)
            d[f] -= k[c] * w->d_e[f];
        give(u, u->s->gates, row, u->s->by_channel ? at + c : u->head,
             by * gnn__delta_dot(d, s, d_v));
        for (int64_t f = 0; f < d_v; f++)
            d[f] *= by;
    }
}

static void row_grad(const unit_t *u, int64_t row, int64_t in_chunk, const work_t *w)
{
    const int64_t d_v = u->s->d_v, square = u->s->square;
    const bool corrects = u->s->beta >= 0;
    const gnn_real_t beta = corrects ? gnn__row(&u->call->in[u->s->beta].value, row)[u->head] : 1,
                     *e = w->e + in_chunk * d_v, *before = w->memories + in_chunk * square;
    for (int64_t f = 0; f < d_v; f++)
        w->u[f] = beta * e[f];
    read_row_grad(u, row, before + square, w);
    give(u, u->s->beta, row, u->head, gnn__delta_dot(w->d_u, e, d_v));
    for (int64_t f = 0; f < d_v; f++) {
        w->d_e[f] = beta * w->d_u[f];
        give(u, V, row, u->head * d_v + f, w->d_e[f]);
    }
    write_row_grad(u, row, before, w);
}

static void unit_grad(const unit_t *u, int64_t row0, int64_t row1, const work_t *w)
{
    const int64_t square = u->s->square, d_v = u->s->d_v, chunks = (row1 - row0 + CHUNK - 1) / CHUNK;
    const size_t bytes = sizeof(gnn_real_t) * (size_t)square;
    memset(w->memories, 0, bytes);
    for (int64_t row = row0; row < row1; row++) {
        if ((row - row0) % CHUNK == 0)
            memcpy(w->starts + (row - row0) / CHUNK * square, w->memories, bytes);
        write_row(u, row, w->memories, w->memories, w->e);
    }
    memset(w->d_memory, 0, bytes);
    for (int64_t c = chunks - 1; c >= 0; c--) {
        const int64_t first = row0 + c * CHUNK, rows = gnn__min(CHUNK, row1 - first);
        memcpy(w->memories, w->starts + c * square, bytes);
        for (int64_t r = 0; r < rows; r++)
            write_row(u, first + r, w->memories + r * square, w->memories + (r + 1) * square,
                      w->e + r * d_v);
        for (int64_t r = rows - 1; r >= 0; r--)
            row_grad(u, first + r, r, w);
    }
}

static int delta_backward(gnn_op_call_t *call)
{
    sizes_t s;
    int64_t each = 0;
    GNN_TRY(read_sizes(call, &s));
    const gnn_graph_t *g = graph_of(call);
    gnn_real_t *scratch = call->scratch;
    for (int k = 0; k < INPUTS; k++)
        if (gnn__has_input(call, k))
            gnn__op_begin(call, k);
    (void)backward_values(call, &s, &each);
    const int64_t chunks = most_chunks(g);
    const int threads = gnn__op_threads(call, 12 * g->n_src * s.heads * s.square);
    GNN__PARALLEL_FOR (threads, int64_t n = 0; n < segment_count(g) * s.heads; n++) {
        const unit_t u = {call, &s, n % s.heads};
        gnn_real_t *own = scratch + omp_get_thread_num() * each;
        const work_t w = lay_out(&s, chunks, own);
        int64_t row0, row1;
        segment_rows(g, n / s.heads, &row0, &row1);
        if (form_of(&s))
            form_of(&s)->backward(&u, row0, row1, own);
        else
            unit_grad(&u, row0, row1, &w);
    }
    return GNN_OK;
}

static const gnn_option_t delta_options[] = {
    GNN__COUNT_OPTION("heads", INT32_MAX, ""), GNN__REAL_OPTION("scale", 0, "0: 1 / sqrt(d_k)"),
    GNN__CHOICE_OPTION("plain", 1, "1: u = v, without beta")};

const gnn_op_t gnn_op_delta = {.name = "delta",
                               GNN__OPTIONS(delta_options),
                               .shape = delta_shape,
                               .forward = delta_forward,
                               .backward = delta_backward,
                               .flags = GNN_OP_READS_GRAPH};
