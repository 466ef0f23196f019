/* Recurrent cells in the order of a graph: ops rnn_sweep, gru_sweep and lstm_sweep. Row i starts
 * from the states of the rows j with an edge j -> i:
 *
 *     state_i = cell(gates_i, sum over j -> i of h_j U + b, states j)
 *
 * gates (n x g), from rows of x by one product outside; U (d x u); b (1 x g) -> states (n x s).
 *
 *     op          g     u            s     options
 *     rnn_sweep   d     d            d     0: relu instead of tanh [0], 1: reverse [0]
 *     gru_sweep   3 d   3 d          d     0: unused, 1: reverse
 *     lstm_sweep  4 d   N (3 + N) d  2 d   0: places N [1], 1: reverse; N > 1: input 3 is places
 *
 * A state of an lstm is [h | c], its gates are i, f, g, o. Each sender j has a forget gate of its
 * own, c_i = sigmoid(i) tanh(g) + sum of sigmoid(f_j) c_j: over a chain the LSTM of Hochreiter and
 * Schmidhuber 1997, over a tree the child-sum Tree-LSTM of Tai et al. 2015. With N places (m x 1,
 * 0 .. N - 1 for each edge; -1 is read as 0) their N-ary one: U holds per place the columns i,
 * f_0 .. f_(N - 1), g, o, and f_k is a sum over all senders of column block f_k of their places.
 * Other cells start from the sum of the states.
 *
 * The last input, if given, has the state of each segment (segments x s) that rows without senders
 * start from; else it is 0. Self-loops are not read, so that a causal window of width 1 is a chain;
 * `reverse` reads all edges against their direction. A cycle is an error.
 *
 * Rows are processed by level, the length of the longest path that ends in them: a level is one
 * product with U over its rows, such as step t of all sequences of a batch. The gradient of U is
 * one product over all rows. */
#include <lib/kernels/simd/real_math.h>
#include <lib/ops/named/choices.h>
#include <lib/ops/named/named_ops.h>

#include <omp.h>

enum { GATES, MATRIX, BIAS, REST, INPUTS = REST + 2 };

/* A forget gate that is open to the last bit: senders' own gates are applied before the cell. */
#define OPEN ((gnn_real_t)60)

/* Rows in the order of their levels; predecessors by position in that order. Initial states are
 * nodes n, n + 1, ... at level 0. */
typedef struct order {
    int64_t rows, nodes, pairs, levels;
    int64_t *node;  /* (nodes) by position */
    int64_t *start; /* (nodes + 1) first position of each level */
    int64_t *from;  /* (nodes + 1) by position: its first slot in `pred` */
    int64_t *pred;  /* (pairs + nodes) positions */
    int64_t *edge;  /* (pairs + nodes) edge ids, -1: none */
    int64_t *after; /* (nodes + 1), successors while the order is made */
    int64_t *next;  /* (pairs + nodes) */
    int64_t *wait;  /* (nodes) predecessors not yet placed; then positions by node */
    bool *root;     /* (nodes) has no predecessor but an initial state */
    bool once;      /* no node has more than one successor */
} order_t;

typedef struct sweep sweep_t;

typedef struct cell {
    const char *name;
    int64_t gates, states; /* g / d, s / d */
    void (*row)(const sweep_t *w, int64_t at, gnn_real_t *work);
    /* Adds to the gradients of row `at`'s gates, of b's row and of its senders' states and h U. */
    void (*row_grad)(const sweep_t *w, int64_t at, gnn_real_t *work);
} cell_t;

struct sweep {
    const cell_t *cell;
    const gnn_op_call_t *call;
    int64_t d, g, s, chunk, sent_cols; /* chunk: columns of h U for one place */
    int64_t places;
    bool reverse;
    int place_input, initial; /* indices of these inputs; -1: absent */
    order_t order;
    gnn_real_t *state;            /* nodes x s */
    gnn_real_t *sent;             /* nodes x sent_cols: h U */
    gnn_real_t *d_state, *d_sent; /* the same */
    gnn_real_t *d_bias;           /* nodes x g */
    void *column_scratch;
    gnn_real_t *work; /* per thread */
    int64_t work_each;
};

/* ---- sizes ---- */

static int read_sizes(const cell_t *cell, const gnn_op_call_t *call, sweep_t *w)
{
    const double *options = gnn__op_options(call)->options;
    int rest = REST;
    *w = (sweep_t){.cell = cell, .call = call, .d = call->in[MATRIX].rows, .places = 1};
    if (w->d < 1 || w->d > INT32_MAX / 64)
        return gnn_op_fail(call, GNN_ESHAPE, "%s: a state of %lld columns", cell->name,
                           (long long)w->d);
    if (cell->states == 2)
        GNN_TRY(gnn__op_integer(call, cell->name, 0, 64, &w->places));
    w->reverse = options[1] != 0;
    w->g = cell->gates * w->d;
    w->s = cell->states * w->d;
    w->chunk = (cell->gates + w->places - 1) * w->d;
    w->sent_cols = w->places * w->chunk;
    w->place_input = w->places > 1 ? rest++ : -1;
    w->initial = gnn__has_input(call, rest) ? rest : -1;
    return GNN_OK;
}

static void carve_order(gnn__carve_t *carve, order_t *o)
{
    int64_t ends = 0, nodes = 0;
    carve->overflow |= !gnn__add(o->pairs, o->nodes, &ends) || !gnn__add(o->nodes, 2, &nodes);
    o->node = gnn__carve(carve, nodes, sizeof(int64_t));
    o->start = gnn__carve(carve, nodes, sizeof(int64_t));
    o->from = gnn__carve(carve, nodes, sizeof(int64_t));
    o->after = gnn__carve(carve, nodes, sizeof(int64_t));
    o->wait = gnn__carve(carve, nodes, sizeof(int64_t));
    o->root = gnn__carve(carve, nodes, sizeof(bool));
    o->pred = gnn__carve(carve, ends, sizeof(int64_t));
    o->edge = gnn__carve(carve, ends, sizeof(int64_t));
    o->next = gnn__carve(carve, ends, sizeof(int64_t));
}

/* Places the buffers; while recording, h U of all rows is kept for backward. */
static int lay_out(sweep_t *w, void *scratch, bool backward, size_t *bytes)
{
    const gnn_op_call_t *call = w->call;
    gnn__carve_t carve = {.base = scratch};
    const int64_t n = w->order.nodes;
    int64_t states = 0, sent = 0, bias = 0;
    size_t columns = 0;
    carve.overflow |= !gnn__mul(n, w->s, &states) || !gnn__mul(n, w->sent_cols, &sent) ||
                      !gnn__mul(n, w->g, &bias);
    carve_order(&carve, &w->order);
    w->work_each = 12 * w->d + 16; /* gru: gates 3, state 1, kept 4, gradients 4 */
    w->work = gnn__carve(&carve, gnn__most_threads(call->context, call->threads) * w->work_each,
                         sizeof(gnn_real_t));
    w->state = gnn__carve(&carve, states, sizeof(gnn_real_t));
    if (backward) {
        GNN_TRY(gnn__column_bytes(call, n, w->g, &columns));
        w->d_state = gnn__carve(&carve, states, sizeof(gnn_real_t));
        w->d_sent = gnn__carve(&carve, sent, sizeof(gnn_real_t));
        w->d_bias = gnn__carve(&carve, bias, sizeof(gnn_real_t));
        w->column_scratch = gnn__carve(&carve, (int64_t)columns, 1);
    }
    w->sent =
        call->recording || backward ? call->saved[0] : gnn__carve(&carve, sent, sizeof(gnn_real_t));
    *bytes = (size_t)carve.used;
    return carve.overflow ? gnn_op_fail(call, GNN_EOVERFLOW,
                                        "%s: the size of its workspace overflows", w->cell->name)
                          : GNN_OK;
}

static int open_sweep(const cell_t *cell, const gnn_op_call_t *call, sweep_t *w)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, cell->name);
    if (!pairs)
        return GNN_EUNSUPPORTED;
    GNN_TRY(read_sizes(cell, call, w));
    w->order.rows = w->order.nodes = pairs->n_rows;
    w->order.pairs = pairs->count;
    if (w->initial >= 0)
        w->order.nodes += call->in[w->initial].rows;
    return GNN_OK;
}

static int check_inputs(const sweep_t *w, const gnn_graph_t *g, const gnn__pairs_t *pairs)
{
    const gnn_op_call_t *call = w->call;
    const char *name = w->cell->name;
    const int64_t segments = g->n_segments > 0 ? g->n_segments : 1;
    if (g->n_dst != g->n_src)
        return gnn_op_fail(call, GNN_ETOPOLOGY,
                           "%s expects a graph whose receivers are its senders, got %lld receivers "
                           "and %lld senders",
                           name, (long long)g->n_dst, (long long)g->n_src);
    GNN_TRY(gnn__op_expect(call, name, GATES, g->n_dst, w->g));
    GNN_TRY(gnn__op_expect(call, name, MATRIX, w->d, w->sent_cols));
    GNN_TRY(gnn__op_expect(call, name, BIAS, 1, w->g));
    if (w->place_input >= 0 && !gnn__has_input(call, w->place_input))
        return gnn_op_fail(call, GNN_EINVALID,
                           "%s: %lld places, but no input with the place of each edge", name,
                           (long long)w->places);
    if (w->place_input >= 0 && !pairs->indptr)
        return gnn_op_fail(call, GNN_EUNSUPPORTED, "%s: places need a graph of stored edges", name);
    if (w->place_input >= 0)
        GNN_TRY(gnn__op_expect(call, name, w->place_input, g->n_edges, 1));
    return w->initial >= 0 ? gnn__op_expect(call, name, w->initial, segments, w->s) : GNN_OK;
}

static int shape(const cell_t *cell, gnn_op_call_t *call)
{
    sweep_t w;
    GNN_TRY(gnn__op_dense(call, cell->name, 0, INPUTS - 1, REST));
    GNN_TRY(open_sweep(cell, call, &w));
    GNN_TRY(check_inputs(&w, gnn__op_options(call)->graph, gnn__op_pairs(call, cell->name)));
    gnn__op_output(call, w.order.rows, w.s);
    for (int k = 0; k < INPUTS; k++)
        if (gnn__has_input(call, k))
            call->in[k].keep = call->recording;
    call->out[0].keep = call->recording;
    if (call->recording)
        GNN_TRY(gnn__op_bytes(call, w.order.nodes, w.sent_cols, sizeof(gnn_real_t),
                              &call->saved_bytes[0]));
    GNN_TRY(lay_out(&w, NULL, false, &call->forward_scratch));
    return call->recording ? lay_out(&w, NULL, true, &call->backward_scratch) : GNN_OK;
}

/* ---- the order ---- */

static int64_t segment_of(const sweep_t *w, int64_t row)
{
    return gnn__max(gnn__graph_dst_segment(gnn__op_options(w->call)->graph, row), 0);
}

typedef void (*visit_t)(order_t *o, int64_t before, int64_t after, int64_t edge);

/* Calls `visit` for every edge but self-loops, from predecessor to successor. */
static void each_pair(sweep_t *w, visit_t visit)
{
    const gnn__pairs_t *p = gnn__op_pairs(w->call, w->cell->name);
    for (int64_t r = 0; r < p->n_rows; r++)
        for (int64_t at = gnn__pairs_from(p, r); at < gnn__pairs_to(p, r); at++) {
            const int64_t i = gnn__pairs_node(p, r), j = gnn__pairs_col(p, at);
            if (i != j)
                visit(&w->order, w->reverse ? i : j, w->reverse ? j : i, gnn__pairs_edge(p, at));
        }
}

static void count_pair(order_t *o, int64_t before, int64_t after, int64_t edge)
{
    (void)edge;
    o->after[before + 1]++;
    o->wait[after]++;
}

static void store_successor(order_t *o, int64_t before, int64_t after, int64_t edge)
{
    (void)edge;
    o->next[o->after[before]++] = after;
}

/* `wait` has positions by node. */
static void store_predecessor(order_t *o, int64_t before, int64_t after, int64_t edge)
{
    const int64_t slot = o->from[o->wait[after]]++;
    o->pred[slot] = o->wait[before];
    o->edge[slot] = edge;
}

static void starts_from_counts(int64_t *starts, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        starts[k + 1] += starts[k];
}

/* After a pass that moved every start to the next one. */
static void starts_back(int64_t *starts, int64_t n)
{
    memmove(starts + 1, starts, sizeof *starts * (size_t)n);
    starts[0] = 0;
}

/* Nodes whose predecessors are all placed, first in, first out: levels come in order. */
static int place_nodes(sweep_t *w)
{
    order_t *o = &w->order;
    int64_t placed = 0;
    for (int64_t i = o->rows; i < o->nodes; i++)
        o->node[placed++] = i;
    for (int64_t i = 0; i < o->rows; i++)
        if (o->wait[i] == 0)
            o->node[placed++] = i;
    o->levels = 0;
    for (int64_t at = 0, end = 0; at < placed; at++) {
        if (at == end) {
            o->start[o->levels++] = at;
            end = placed;
        }
        const int64_t i = o->node[at];
        for (int64_t k = o->after[i]; k < o->after[i + 1]; k++)
            if (--o->wait[o->next[k]] == 0)
                o->node[placed++] = o->next[k];
    }
    o->start[o->levels] = placed;
    return placed == o->nodes
               ? GNN_OK
               : gnn_op_fail(w->call, GNN_ETOPOLOGY,
                             "%s: %lld of %lld rows lie on a cycle of the graph or "
                             "after one, so they have no order",
                             w->cell->name, (long long)(o->nodes - placed), (long long)o->rows);
}

/* Rows without predecessors start from their segment's initial state. */
static void each_root(sweep_t *w, visit_t visit)
{
    for (int64_t i = 0; i < w->order.rows && w->initial >= 0; i++)
        if (w->order.root[i])
            visit(&w->order, w->order.rows + segment_of(w, i), i, -1);
}

static int make_order(sweep_t *w)
{
    order_t *o = &w->order;
    memset(o->after, 0, sizeof *o->after * (size_t)(o->nodes + 1));
    memset(o->wait, 0, sizeof *o->wait * (size_t)o->nodes);
    memset(o->from, 0, sizeof *o->from * (size_t)(o->nodes + 1));
    each_pair(w, count_pair);
    for (int64_t i = 0; i < o->rows; i++)
        o->root[i] = o->wait[i] == 0;
    each_root(w, count_pair);
    o->once = true;
    for (int64_t i = 0; i < o->nodes; i++)
        o->once &= o->after[i + 1] <= 1;
    starts_from_counts(o->after, o->nodes);
    each_pair(w, store_successor);
    each_root(w, store_successor);
    starts_back(o->after, o->nodes);
    GNN_TRY(place_nodes(w));
    for (int64_t at = 0; at < o->nodes; at++)
        o->wait[o->node[at]] = at;
    for (int64_t i = 0; i < o->nodes; i++)
        for (int64_t k = o->after[i]; k < o->after[i + 1]; k++)
            o->from[o->wait[o->next[k]] + 1]++;
    starts_from_counts(o->from, o->nodes);
    each_pair(w, store_predecessor);
    each_root(w, store_predecessor);
    starts_back(o->from, o->nodes);
    return GNN_OK;
}

/* ---- of one row ---- */

static int64_t senders_of(const sweep_t *w, int64_t at)
{
    return w->order.from[at + 1] - w->order.from[at];
}

static gnn_real_t *gates_of(const sweep_t *w, int64_t at)
{
    return gnn__row(&w->call->in[GATES].value, w->order.node[at]);
}

static gnn_real_t *state_of(const sweep_t *w, int64_t at)
{
    return w->state + at * w->s;
}

/* The place of slot k among its receiver's senders. */
static int64_t place_of(const sweep_t *w, int64_t k)
{
    const int64_t edge = w->order.edge[k];
    if (w->place_input < 0 || edge < 0)
        return 0;
    const double place = (double)*gnn__row(&w->call->in[w->place_input].value, edge);
    return place > 0 ? (int64_t)place : 0;
}

/* The part of h U that slot k reads, or of its gradient. */
static gnn_real_t *sent_at(const sweep_t *w, gnn_real_t *sent, int64_t k)
{
    return sent + w->order.pred[k] * w->sent_cols + place_of(w, k) * w->chunk;
}

static void add(int64_t n, const gnn_real_t *x, gnn_real_t *y)
{
    gnn__elementwise_kernels()->scale(n, 1, x, true, y);
}

/* b plus what the row's senders sent, for cells whose chunks are gates; prev: the sum of their
 * states. */
static void read_senders(const sweep_t *w, int64_t at, gnn_real_t *sum, gnn_real_t *prev)
{
    memcpy(sum, gnn__row(&w->call->in[BIAS].value, 0), sizeof *sum * (size_t)w->g);
    memset(prev, 0, sizeof *prev * (size_t)w->s);
    for (int64_t k = w->order.from[at]; k < w->order.from[at + 1]; k++) {
        add(w->g, sent_at(w, w->sent, k), sum);
        add(w->s, state_of(w, w->order.pred[k]), prev);
    }
}

/* The gradients that read_senders passes back; d_prev may be NULL. */
static void give_senders(const sweep_t *w, int64_t at, const gnn_real_t *d_sum,
                         const gnn_real_t *d_prev)
{
    memcpy(w->d_bias + at * w->g, d_sum, sizeof *d_sum * (size_t)w->g);
    for (int64_t k = w->order.from[at]; k < w->order.from[at + 1]; k++) {
        add(w->g, d_sum, sent_at(w, w->d_sent, k));
        if (d_prev)
            add(w->s, d_prev, w->d_state + w->order.pred[k] * w->s);
    }
}

static void give_gates(const sweep_t *w, int64_t at, const gnn_real_t *d_gates)
{
    if (gnn__wants(w->call, GATES))
        add(w->g, d_gates, gnn__row(&w->call->in[GATES].grad, w->order.node[at]));
}

/* ---- rnn ---- */

static gnn_activation_t rnn_activation(const sweep_t *w)
{
    return gnn__op_options(w->call)->options[0] != 0 ? GNN_RELU : GNN_TANH;
}

static void rnn_row(const sweep_t *w, int64_t at, gnn_real_t *work)
{
    read_senders(w, at, work, work + w->g);
    add(w->g, gates_of(w, at), work);
    gnn__elementwise_kernels()->activate(rnn_activation(w), 0, w->d, work, state_of(w, at));
}

static void rnn_row_grad(const sweep_t *w, int64_t at, gnn_real_t *work)
{
    gnn__elementwise_kernels()->activate_grad(rnn_activation(w), 0, w->d, state_of(w, at),
                                              w->d_state + at * w->s, false, work);
    give_gates(w, at, work);
    give_senders(w, at, work, NULL);
}

static const cell_t rnn = {
    .name = "rnn_sweep", .gates = 1, .states = 1, .row = rnn_row, .row_grad = rnn_row_grad};

/* ---- gru: work is the gates of h, the state before, and what gru keeps ---- */

static void gru_keeping(const sweep_t *w, int64_t at, gnn_real_t *work, gnn_real_t *y,
                        gnn_real_t *keep)
{
    read_senders(w, at, work, work + w->g);
    gnn__elementwise_kernels()->gru(w->d, gates_of(w, at), work, work + w->g, y, keep);
}

static void gru_row(const sweep_t *w, int64_t at, gnn_real_t *work)
{
    gru_keeping(w, at, work, state_of(w, at), NULL);
}

static void gru_row_grad(const sweep_t *w, int64_t at, gnn_real_t *work)
{
    const int64_t d = w->d;
    gnn_real_t *prev = work + w->g, *keep = prev + d, *inner = keep + 4 * d;
    gru_keeping(w, at, work, inner, keep);
    gnn__elementwise_kernels()->gru_grad(d, keep, prev, w->d_state + at * d, inner, work);
    give_gates(w, at, inner);
    memcpy(inner + 2 * d, inner + 3 * d, sizeof *inner * (size_t)d);
    give_senders(w, at, inner, work);
}

static const cell_t gru = {
    .name = "gru_sweep", .gates = 3, .states = 1, .row = gru_row, .row_grad = gru_row_grad};

/* ---- lstm: work is the gates, the sum of the senders' c, one sender's forget gate ---- */

/* The columns of gates g and o in a chunk, which has a forget gate for each place. */
static int64_t after_forget(const sweep_t *w)
{
    return (1 + w->places) * w->d;
}

/* The forget gate of the sender in slot k, before its sigmoid. */
static void forget_sums(const sweep_t *w, int64_t at, int64_t k, gnn_real_t *f)
{
    const int64_t d = w->d, own = (1 + place_of(w, k)) * d;
    memcpy(f, gates_of(w, at) + d, sizeof *f * (size_t)d);
    add(d, gnn__row(&w->call->in[BIAS].value, 0) + d, f);
    if (w->places == 1)
        add(d, sent_at(w, w->sent, k) + d, f);
    for (int64_t l = w->order.from[at]; w->places > 1 && l < w->order.from[at + 1]; l++)
        add(d, sent_at(w, w->sent, l) + own, f);
}

/* Gates with the forget gate of the only sender, or an open one where each sender's is applied to
 * its c already. Returns the c that they multiply; NULL: 0. */
static const gnn_real_t *lstm_gates(const sweep_t *w, int64_t at, gnn_real_t *work)
{
    const int64_t d = w->d, first = w->order.from[at], last = w->order.from[at + 1], two = 2 * d;
    gnn_real_t *sum = work + 4 * d, *f = sum + d;
    memcpy(work, gates_of(w, at), sizeof *work * (size_t)(4 * d));
    add(4 * d, gnn__row(&w->call->in[BIAS].value, 0), work);
    for (int64_t k = first; k < last; k++) {
        const gnn_real_t *sent = sent_at(w, w->sent, k);
        add(d, sent, work);
        add(two, sent + after_forget(w), work + two);
    }
    if (last - first <= 1) {
        if (last > first)
            forget_sums(w, at, first, work + d);
        return last > first ? state_of(w, w->order.pred[first]) + d : NULL;
    }
    memset(sum, 0, sizeof *sum * (size_t)d);
    for (int64_t k = first; k < last; k++) {
        const gnn_real_t *c = state_of(w, w->order.pred[k]) + d;
        forget_sums(w, at, k, f);
        for (int64_t e = 0; e < d; e++)
            sum[e] += gnn__sigmoid(f[e]) * c[e];
    }
    for (int64_t e = 0; e < d; e++)
        work[d + e] = OPEN;
    return sum;
}

static void lstm_row(const sweep_t *w, int64_t at, gnn_real_t *work)
{
    const gnn_real_t *memory = lstm_gates(w, at, work);
    gnn__elementwise_kernels()->lstm(w->d, w->d, work, memory, state_of(w, at),
                                     state_of(w, at) + w->d);
}

/* Passes the gradient df of slot k's forget gate back to all that it is a sum of. */
static void give_forget(const sweep_t *w, int64_t at, int64_t k, const gnn_real_t *df,
                        gnn_real_t *d_gates)
{
    const int64_t d = w->d, own = (1 + place_of(w, k)) * d;
    add(d, df, d_gates + d);
    if (w->places == 1)
        add(d, df, sent_at(w, w->d_sent, k) + d);
    for (int64_t l = w->order.from[at]; w->places > 1 && l < w->order.from[at + 1]; l++)
        add(d, df, sent_at(w, w->d_sent, l) + own);
}

/* d_memory is the gradient of the sum of sigmoid(f_k) c_k. */
static void give_memories(const sweep_t *w, int64_t at, const gnn_real_t *d_memory,
                          gnn_real_t *d_gates, gnn_real_t *f)
{
    const int64_t d = w->d;
    for (int64_t k = w->order.from[at]; k < w->order.from[at + 1]; k++) {
        const gnn_real_t *c = state_of(w, w->order.pred[k]) + d;
        gnn_real_t *d_c = w->d_state + w->order.pred[k] * w->s + d;
        forget_sums(w, at, k, f);
        for (int64_t e = 0; e < d; e++) {
            const gnn_real_t open = gnn__sigmoid(f[e]);
            d_c[e] += d_memory[e] * open;
            f[e] = d_memory[e] * c[e] * open * (1 - open);
        }
        give_forget(w, at, k, f, d_gates);
    }
}

static void lstm_row_grad(const sweep_t *w, int64_t at, gnn_real_t *work)
{
    const int64_t d = w->d, count = senders_of(w, at);
    const gnn_real_t *memory = lstm_gates(w, at, work), *d_state = w->d_state + at * w->s;
    gnn_real_t *f = work + 5 * d, *d_memory = f + d, *d_gates = d_memory + d;
    memset(d_memory, 0, sizeof *work * (size_t)(5 * d));
    gnn__elementwise_kernels()->lstm_grad(d, d, work, memory, d_state, d_state + d, d_gates,
                                          d_memory);
    if (count > 1) {
        memset(d_gates + d, 0, sizeof *work * (size_t)d);
        give_memories(w, at, d_memory, d_gates, f);
    } else if (count == 1) {
        const int64_t k = w->order.from[at];
        memcpy(f, d_gates + d, sizeof *f * (size_t)d);
        memset(d_gates + d, 0, sizeof *f * (size_t)d);
        give_forget(w, at, k, f, d_gates);
        add(d, d_memory, w->d_state + w->order.pred[k] * w->s + d);
    }
    for (int64_t k = w->order.from[at]; k < w->order.from[at + 1]; k++) {
        add(d, d_gates, sent_at(w, w->d_sent, k));
        add(2 * d, d_gates + 2 * d, sent_at(w, w->d_sent, k) + after_forget(w));
    }
    give_gates(w, at, d_gates);
    memcpy(w->d_bias + at * w->g, d_gates, sizeof *d_gates * (size_t)w->g);
}

static const cell_t lstm = {
    .name = "lstm_sweep", .gates = 4, .states = 2, .row = lstm_row, .row_grad = lstm_row_grad};

/* ---- level by level ---- */

static gnn_tensor_t block(gnn_real_t *base, int64_t stride, int64_t first, int64_t rows, int64_t cols)
{
    return (gnn_tensor_t){base + first * stride, rows, cols, stride};
}

/* h U of the rows of a level. */
static int send_level(const sweep_t *w, int64_t first, int64_t rows)
{
    const gnn_tensor_t h = block(w->state, w->s, first, rows, w->d),
                       sent = block(w->sent, w->sent_cols, first, rows, w->sent_cols);
    return gnn__op_product(w->call, &h, false, &w->call->in[MATRIX].value, false, &sent, false, NULL);
}

static void run_level(const sweep_t *w, int64_t first, int64_t end)
{
    const int threads = gnn__op_threads(w->call, 15 * (end - first) * w->g);
    GNN__PARALLEL_FOR (threads, int64_t at = first; at < end; at++) {
        if (w->order.node[at] >= w->order.rows)
            continue;
        w->cell->row(w, at, w->work + omp_get_thread_num() * w->work_each);
        memcpy(gnn__row(&w->call->out[0].value, w->order.node[at]), state_of(w, at),
               sizeof(gnn_real_t) * (size_t)w->s);
    }
}

/* States, or their gradients, in the order of levels: of rows from `rows`, of initial states from
 * `initial` (NULL: 0). */
static void read_states(const sweep_t *w, const gnn_tensor_t *rows, const gnn_tensor_t *initial,
                        gnn_real_t *states)
{
    const order_t *o = &w->order;
    const size_t bytes = sizeof *states * (size_t)w->s;
    const int threads = gnn__op_threads(w->call, o->nodes * w->s);
    GNN__PARALLEL_FOR (threads, int64_t at = 0; at < o->nodes; at++) {
        const int64_t i = o->node[at];
        if (i < o->rows && rows)
            memcpy(states + at * w->s, gnn__row(rows, i), bytes);
        else if (i >= o->rows && initial)
            memcpy(states + at * w->s, gnn__row(initial, i - o->rows), bytes);
        else if (i >= o->rows)
            memset(states + at * w->s, 0, bytes);
    }
}

static int forward(const cell_t *cell, gnn_op_call_t *call)
{
    sweep_t w;
    size_t bytes;
    GNN_TRY(open_sweep(cell, call, &w));
    if (w.place_input >= 0)
        GNN_TRY(gnn__op_ids(call, cell->name, w.place_input, w.places));
    GNN_TRY(lay_out(&w, call->scratch, false, &bytes));
    GNN_TRY(make_order(&w));
    if (w.initial >= 0)
        read_states(&w, NULL, &call->in[w.initial].value, w.state);
    for (int64_t t = 0; t < w.order.levels; t++) {
        const int64_t first = w.order.start[t], end = w.order.start[t + 1];
        run_level(&w, first, end);
        if (t + 1 < w.order.levels)
            GNN_TRY(send_level(&w, first, end - first));
    }
    return GNN_OK;
}

/* Two rows of a level may have one sender: then the level is one thread's. */
static void level_grad(const sweep_t *w, int64_t first, int64_t end)
{
    const int threads = w->order.once ? gnn__op_threads(w->call, 15 * (end - first) * w->g) : 1;
    GNN__PARALLEL_FOR (threads, int64_t at = first; at < end; at++)
        if (w->order.node[at] < w->order.rows)
            w->cell->row_grad(w, at, w->work + omp_get_thread_num() * w->work_each);
}

static int all_levels_grad(const sweep_t *w)
{
    for (int64_t t = w->order.levels - 1; t >= 0; t--) {
        const int64_t first = w->order.start[t], end = w->order.start[t + 1];
        const gnn_tensor_t d_h = block(w->d_state, w->s, first, end - first, w->d),
                           d_sent = block(w->d_sent, w->sent_cols, first, end - first, w->sent_cols);
        if (t + 1 < w->order.levels)
            GNN_TRY(gnn__op_product(w->call, &d_sent, false, &w->call->in[MATRIX].value, true, &d_h,
                                    true, NULL));
        level_grad(w, first, end);
    }
    return GNN_OK;
}

/* Of U, over the rows of all levels but the last, which sent nothing; of b and the initial
 * states. */
static int shared_grads(const sweep_t *w)
{
    const gnn_op_call_t *call = w->call;
    const order_t *o = &w->order;
    const int64_t senders = o->levels > 0 ? o->start[o->levels - 1] : 0;
    const gnn_tensor_t h = block(w->state, w->s, 0, senders, w->d),
                       d_sent = block(w->d_sent, w->sent_cols, 0, senders, w->sent_cols),
                       d_bias = block(w->d_bias, w->g, 0, o->nodes, w->g);
    if (gnn__wants(call, MATRIX) && senders > 0)
        GNN_TRY(gnn__op_product(call, &h, true, &d_sent, false, &call->in[MATRIX].grad, true, NULL));
    if (gnn__wants(call, BIAS))
        gnn__column_sum(call, &d_bias, 1, &call->in[BIAS], w->column_scratch);
    if (w->initial < 0 || !gnn__wants(call, w->initial))
        return GNN_OK;
    for (int64_t at = 0; at < o->nodes; at++)
        if (o->node[at] >= o->rows)
            add(w->s, w->d_state + at * w->s,
                gnn__row(&call->in[w->initial].grad, o->node[at] - o->rows));
    return GNN_OK;
}

static int backward(const cell_t *cell, gnn_op_call_t *call)
{
    sweep_t w;
    size_t bytes;
    GNN_TRY(open_sweep(cell, call, &w));
    GNN_TRY(lay_out(&w, call->scratch, true, &bytes));
    GNN_TRY(make_order(&w));
    for (int k = 0; k < INPUTS; k++)
        if (k != BIAS && gnn__has_input(call, k))
            gnn__op_begin(call, k);
    read_states(&w, &call->out[0].value, w.initial < 0 ? NULL : &call->in[w.initial].value, w.state);
    read_states(&w, &call->out[0].grad, NULL, w.d_state);
    memset(w.d_sent, 0, sizeof *w.d_sent * (size_t)(w.order.nodes * w.sent_cols));
    memset(w.d_bias, 0, sizeof *w.d_bias * (size_t)(w.order.nodes * w.g));
    GNN_TRY(all_levels_grad(&w));
    return shared_grads(&w);
}

/* ---- the ops ---- */

#define OP(cell)                                    \
    static int cell##_shape(gnn_op_call_t *call)    \
    {                                               \
        return shape(&cell, call);                  \
    }                                               \
    static int cell##_forward(gnn_op_call_t *call)  \
    {                                               \
        return forward(&cell, call);                \
    }                                               \
    static int cell##_backward(gnn_op_call_t *call) \
    {                                               \
        return backward(&cell, call);               \
    }                                               \
    const gnn_op_t gnn_op_##cell##_sweep = {        \
        .name = #cell "_sweep",                     \
        GNN__OPTIONS(cell##_options),               \
        .shape = cell##_shape,                      \
        .forward = cell##_forward,                  \
        .backward = cell##_backward,                \
        .flags = GNN_OP_READS_GRAPH,                \
    };

#define REVERSE GNN__CHOICE_OPTION("reverse", 1, "1: against the direction of edges")
static const gnn_option_t rnn_options[] = {GNN__CHOICE_OPTION("relu", 1, "1: relu, 0: tanh"),
                                           REVERSE},
                          gru_options[] = {GNN__CHOICE_OPTION("unused", 0, ""), REVERSE},
                          lstm_options[] = {GNN__COUNT_OPTION("places", 64, "of predecessors"),
                                            REVERSE};
OP(rnn)
OP(gru)
OP(lstm)
