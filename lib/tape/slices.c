/* Ops over ranks, slice by slice. A call on one slice of rows reads and writes windows of the
 * rank's own rows, so its bits depend on the slice alone. Gradients of what all ranks have
 * (parameters, values made of them) are sums over the slices of all ranks. */
#include <lib/base/ranks.h>
#include <lib/tape/tape.h>

/* Most inputs of an op that runs by slices. */
enum { MOST_INPUTS = 32 };

typedef struct {
    gnn_op_call_t call;
    gnn_operand_t in[MOST_INPUTS];
    gnn_sparse_t sparse;
    int64_t indptr[GNN_SLICE + 1];
} slice_t;

static gnn_tensor_t window(gnn_tensor_t t, int64_t first, int64_t rows)
{
    if (t.data)
        t.data += first * (t.stride ? t.stride : t.cols);
    t.rows = rows;
    return t;
}

static void cut_sparse(slice_t *s, gnn_operand_t *in, int64_t first, int64_t rows)
{
    const gnn_sparse_t *x = in->sparse;
    const int64_t from = x->indptr[first];
    for (int64_t r = 0; r <= rows; r++)
        s->indptr[r] = x->indptr[first + r] - from;
    s->sparse = (gnn_sparse_t){rows, x->cols, s->indptr, x->indices + from,
                               x->values ? x->values + from : NULL};
    in->sparse = &s->sparse;
}

/* The call on slice k of the rank, without its outputs' memory. */
static int cut(const gnn_tape_t *tape, const gnn__node_t *node, int64_t k, slice_t *s)
{
    const gnn__ranks_t *ranks = tape->context->ranks;
    const int64_t first = k * GNN_SLICE, rows = gnn__slice_rows(ranks, k);
    s->call = node->call;
    s->call.in = s->in;
    for (int i = 0; i < node->n_own; i++) {
        s->in[i] = node->call.in[i];
        if (node->in[i] == GNN_NONE || tape->values[node->in[i]].over != GNN__OVER_OWN)
            continue;
        s->in[i].rows = rows;
        s->in[i].value = window(s->in[i].value, first, rows);
        s->in[i].grad = window(s->in[i].grad, first, rows);
        if (s->in[i].ids)
            s->in[i].ids += first;
        if (s->in[i].sparse)
            cut_sparse(s, &s->in[i], first, rows);
    }
    s->call.rng.row = (uint32_t)(ranks->lo + first);
    return node->op->shape(&s->call);
}

/* ---- when a node is added ---- */

static int refuse(const gnn__node_t *node)
{
    return gnn_op_fail(&node->call, GNN_EUNSUPPORTED, "ranks: op %s is not supported over ranks",
                       node->op->name);
}

static bool absent(const void *user, int input)
{
    const gnn__node_t *node = user;
    return input >= node->n_own || node->in[input] == GNN_NONE;
}

/* Sizes of all slices; values that one slice keeps are kept. */
static int measure(const gnn_tape_t *tape, gnn__node_t *node)
{
    gnn_op_call_t *call = &node->call;
    slice_t s;
    for (int64_t k = 0; k < gnn__slices(tape->context->ranks); k++) {
        GNN_TRY(cut(tape, node, k, &s));
        if (s.call.n_out != call->n_out ||
            s.call.out[0].rows != gnn__slice_rows(tape->context->ranks, k))
            return refuse(node);
        for (int i = 0; i < node->n_own; i++)
            call->in[i].keep |= s.in[i].keep;
        for (int i = 0; i < call->n_out; i++)
            call->out[i].keep |= s.call.out[i].keep;
        for (int i = 0; i < GNN_OP_SAVED; i++)
            if (s.call.saved_bytes[i] > node->slice_saved[i])
                node->slice_saved[i] = (size_t)gnn__round_up((int64_t)s.call.saved_bytes[i], 64);
        if (s.call.forward_scratch > call->forward_scratch)
            call->forward_scratch = s.call.forward_scratch;
        if (s.call.backward_scratch > call->backward_scratch)
            call->backward_scratch = s.call.backward_scratch;
    }
    for (int i = 0; i < GNN_OP_SAVED; i++)
        call->saved_bytes[i] = node->slice_saved[i] * (size_t)gnn__slices(tape->context->ranks);
    return GNN_OK;
}

int gnn__slices_check(const gnn_tape_t *tape, const gnn__node_t *node)
{
    for (int k = 0; k < node->n_own; k++)
        if (node->in[k] != GNN_NONE && tape->values[node->in[k]].over != GNN__OVER_NONE &&
            gnn__op_reads_whole(node->op, k))
            return gnn_op_fail(&node->call, GNN_EUNSUPPORTED,
                               "ranks: op %s reads all rows of input %d, of which a rank has only "
                               "those of its nodes",
                               node->op->name, k);
    return GNN_OK;
}

int gnn__slices_describe(gnn_tape_t *tape, gnn__node_t *node)
{
    const gnn__op_traits_t *traits = node->op->traits;
    bool own = false, wide = false;
    int rc = GNN_OK;
    for (int k = 0; k < node->n_own; k++)
        if (node->in[k] != GNN_NONE) {
            own |= tape->values[node->in[k]].over == GNN__OVER_OWN;
            wide |= tape->values[node->in[k]].over == GNN__OVER_WIDE;
        }
    node->sliced = false;
    node->over = GNN__OVER_NONE;
    memset(node->slice_saved, 0, sizeof node->slice_saved);
    if ((node->op->flags & GNN_OP_READS_GRAPH) && !(traits && traits->over))
        return refuse(node);
    node->reads_own = own || wide;
    if (!own && !wide)
        return traits && traits->of_nodes
                   ? gnn_op_fail(&node->call, GNN_EUNSUPPORTED,
                                 "ranks: op %s expects rows of nodes, which ranks own, got %lld "
                                 "rows that all ranks hold",
                                 node->op->name, (long long)node->call.in[0].rows)
                   : GNN_OK;
    gnn__over_t over = traits && traits->over ? traits->over(&node->call, &rc) : GNN__OVER_SLICES;
    if (rc != GNN_OK || over != GNN__OVER_SLICES) {
        node->over = over;
        return rc;
    }
    const bool by_rows = traits && traits->over;
    if (wide || node->n_own > MOST_INPUTS || !(by_rows || gnn__op_by_rows(node->op, absent, node)))
        return refuse(node);
    node->over = GNN__OVER_OWN;
    node->sliced = true;
    return measure(tape, node);
}

/* ---- running ---- */

/* The call on slice k with all of its memory. */
static int open_slice(const gnn_tape_t *tape, const gnn__node_t *node, int64_t k, slice_t *s)
{
    const gnn_op_call_t *whole = &node->call;
    const int64_t first = k * GNN_SLICE, rows = gnn__slice_rows(tape->context->ranks, k);
    GNN_TRY(cut(tape, node, k, s));
    for (int i = 0; i < whole->n_out; i++) {
        s->call.out[i].value = window(whole->out[i].value, first, rows);
        s->call.out[i].grad = window(whole->out[i].grad, first, rows);
    }
    for (int i = 0; i < GNN_OP_SAVED; i++)
        s->call.saved[i] = node->slice_saved[i]
                               ? (char *)whole->saved[i] + (size_t)k * node->slice_saved[i]
                           : whole->saved[i] ? whole->saved[i]
                                             : NULL;
    return GNN_OK;
}

static int run_forward(const gnn_tape_t *tape, const gnn__node_t *node)
{
    slice_t s;
    for (int64_t k = 0; k < gnn__slices(tape->context->ranks); k++) {
        GNN_TRY(open_slice(tape, node, k, &s));
        GNN_TRY(node->op->forward(&s.call));
    }
    return GNN_OK;
}

/* True for the gradient of an input that all ranks have. */
static bool is_shared(const gnn_tape_t *tape, const gnn__node_t *node, int i)
{
    return node->in[i] != GNN_NONE && node->call.in[i].grad.data &&
           tape->values[node->in[i]].over == GNN__OVER_NONE;
}

static int64_t count_shared(const gnn_tape_t *tape, const gnn__node_t *node)
{
    int64_t count = 0;
    for (int i = 0; i < node->n_own; i++)
        if (is_shared(tape, node, i))
            count += node->call.in[i].rows * node->call.in[i].cols;
    return count;
}

/* Backward of one slice: shared gradients go to `partial`, one after another. */
static int run_slice_backward(const gnn_tape_t *tape, const gnn__node_t *node, int64_t k,
                              int64_t count, gnn_real_t *partial)
{
    slice_t s;
    GNN_TRY(open_slice(tape, node, k, &s));
    memset(partial, 0, sizeof *partial * (size_t)count);
    for (int i = 0; i < node->n_own; i++) {
        if (!is_shared(tape, node, i))
            continue;
        s.in[i].grad = gnn_tensor(partial, s.in[i].rows, s.in[i].cols);
        s.in[i].accumulate = 0;
        partial += s.in[i].rows * s.in[i].cols;
    }
    return node->op->backward(&s.call);
}

static void write_shared(const gnn_tape_t *tape, const gnn__node_t *node, const double *total)
{
    for (int i = 0; i < node->n_own; i++) {
        const gnn_operand_t *in = &node->call.in[i];
        if (!is_shared(tape, node, i))
            continue;
        for (int64_t r = 0; r < in->rows; r++) {
            gnn_real_t *row = gnn__row(&in->grad, r);
            for (int64_t c = 0; c < in->cols; c++, total++)
                row[c] = (gnn_real_t)((in->accumulate ? (double)row[c] : 0) + *total);
        }
    }
}

static int run_backward(const gnn_tape_t *tape, const gnn__node_t *node)
{
    gnn__ranks_t *ranks = tape->context->ranks;
    const int64_t count = count_shared(tape, node);
    gnn__slice_sums_t sums = gnn__slice_sums(ranks, count);
    const double *total;
    GNN_TRY(gnn__reserve(&ranks->partial, &ranks->partial_room, count, sizeof *ranks->partial,
                         "gradients of a slice"));
    for (int64_t k = 0; k < gnn__slices(ranks); k++) {
        double *block;
        GNN_TRY(run_slice_backward(tape, node, k, count, ranks->partial));
        if (count == 0)
            continue;
        GNN_TRY(gnn__slice_sums_next(&sums, &block));
        for (int64_t c = 0; c < count; c++)
            block[c] = (double)ranks->partial[c];
        gnn__slice_sums_add(&sums, gnn__first_slice(ranks) + k);
    }
    if (count == 0)
        return GNN_OK;
    GNN_TRY(gnn__slice_sums_end(&sums, &total));
    write_shared(tape, node, total);
    return GNN_OK;
}

int gnn__slices_run(const gnn_tape_t *tape, gnn__node_t *node, bool backward)
{
    return backward ? run_backward(tape, node) : run_forward(tape, node);
}
