/* The table of named ops (ops.def), and the helpers that they share. */
#include <lib/ops/named/named_ops.h>

#include <stdlib.h>

/* ---- the table ---- */

static const gnn_op_t *const ops[] = {
#define GNN_OP(name) &gnn_op_##name,
#include <lib/ops/ops.def>
#undef GNN_OP
};

enum { OPS = sizeof ops / sizeof *ops };

const gnn_op_t *gnn_op_at(size_t index)
{
    return index < OPS ? ops[index] : NULL;
}

static const char *name_at(size_t index)
{
    return index < OPS ? ops[index]->name : NULL;
}

const gnn_op_t *gnn_op_find(const char *name)
{
    GNN__NEED_OR(name, NULL);
    for (size_t k = 0; name && k < OPS; k++)
        if (strcmp(ops[k]->name, name) == 0)
            return ops[k];
    gnn__unknown_name("op", name, name_at);
    return NULL;
}

/* ---- checks ---- */

int gnn__op_integer(const gnn_op_call_t *call, const char *name, int k, int64_t most, int64_t *value)
{
    const double given = gnn__op_option(call, k, 1);
    if (!(given >= 1 && given <= (double)most) || given != floor(given))
        return gnn_op_fail(call, GNN_EINVALID,
                           "%s: option %d: expected an integer in 1..%lld, got %g", name, k,
                           (long long)most, given);
    *value = (int64_t)given;
    return GNN_OK;
}

int gnn__op_heads(const gnn_op_call_t *call, const char *name, int64_t *heads)
{
    GNN_TRY(gnn__op_dense(call, name, 0, 0, 1));
    GNN_TRY(gnn__op_integer(call, name, 0, INT32_MAX, heads));
    if (call->in[0].cols % *heads != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "%s: %lld columns do not divide into %lld heads", name,
                           (long long)call->in[0].cols, (long long)*heads);
    return GNN_OK;
}

int gnn__op_expect(const gnn_op_call_t *call, const char *name, int k, int64_t rows, int64_t cols)
{
    const gnn_operand_t *x = &call->in[k];
    if (x->rows == rows && x->cols == cols)
        return GNN_OK;
    return gnn_op_fail(call, GNN_ESHAPE, "%s expects input %d of %lld x %lld, got %lld x %lld", name,
                       k, (long long)rows, (long long)cols, (long long)x->rows, (long long)x->cols);
}

const gnn__pairs_t *gnn__op_pairs(const gnn_op_call_t *call, const char *name)
{
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    if (!graph) {
        gnn_op_fail(call, GNN_EINVALID, "%s needs a graph", name);
        return NULL;
    }
    if (graph->base.n_parts == 1)
        return &graph->base.parts[0].pairs;
    gnn_op_fail(call, GNN_EUNSUPPORTED, "%s expects a graph of one part, got %lld parts", name,
                (long long)graph->base.n_parts);
    return NULL;
}

int gnn__op_senders(const gnn_op_call_t *call, const char *name, const gnn__pairs_t **pairs)
{
    *pairs = gnn__op_pairs(call, name);
    if (!*pairs)
        return GNN_EUNSUPPORTED;
    return gnn__op_expect(call, name, 0, gnn__op_options(call)->graph->n_src, call->in[0].cols);
}

int gnn__op_senders_once(const gnn_op_call_t *call, const char *name, const gnn__pairs_t **pairs)
{
    GNN_TRY(gnn__op_senders(call, name, pairs));
    const int64_t senders = gnn__op_options(call)->graph->n_src;
    if ((*pairs)->count > senders)
        return gnn_op_fail(call, GNN_EUNSUPPORTED,
                           "%s expects at most one edge per sender, got %lld senders and %lld edges",
                           name, (long long)senders, (long long)(*pairs)->count);
    return GNN_OK;
}

/* ---- lists of a receiver's in-neighbours ---- */

int gnn__op_list_bytes(const gnn_op_call_t *call, const gnn__pairs_t *pairs, size_t *bytes)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        longest = gnn__max(longest, gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r));
    return gnn__op_bytes(call, longest, 1, sizeof(gnn__sender_value_t), bytes);
}

static int by_sender(const gnn__sender_value_t *x, const gnn__sender_value_t *y)
{
    return (x->sender > y->sender) - (x->sender < y->sender);
}

/* qsort's order: by value, ties by sender. */
static int ascending(const void *a, const void *b)
{
    const gnn__sender_value_t *x = a, *y = b;
    if (x->value == y->value)
        return by_sender(x, y);
    return x->value < y->value ? -1 : 1;
}

static int descending(const void *a, const void *b)
{
    const gnn__sender_value_t *x = a, *y = b;
    if (x->value == y->value)
        return by_sender(x, y);
    return x->value > y->value ? -1 : 1;
}

int64_t gnn__op_sorted(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r, int64_t c,
                       bool largest_first, gnn__sender_value_t *list)
{
    const int64_t from = gnn__pairs_from(pairs, r), count = gnn__pairs_to(pairs, r) - from;
    for (int64_t k = 0; k < count; k++) {
        const int64_t j = gnn__pairs_col(pairs, from + k);
        list[k] = (gnn__sender_value_t){gnn__row(&call->in[0].value, j)[c], j};
    }
    if (count > 0)
        qsort(list, (size_t)count, sizeof *list, largest_first ? descending : ascending);
    return count;
}

/* ---- gradients ---- */

void gnn__op_begin(const gnn_op_call_t *call, int k)
{
    const gnn_operand_t *x = &call->in[k];
    if (!gnn__wants(call, k) || x->accumulate)
        return;
    for (int64_t r = 0; r < x->rows; r++)
        memset(gnn__row(&x->grad, r), 0, sizeof(gnn_real_t) * (size_t)x->cols);
}

void gnn__op_accumulate(const gnn_operand_t *to, const double *values)
{
    for (int64_t r = 0; r < to->rows; r++)
        for (int64_t c = 0; c < to->cols; c++) {
            gnn_real_t *at = gnn__row(&to->grad, r) + c;
            *at = (gnn_real_t)((double)*at + values[r * to->cols + c]);
        }
}
