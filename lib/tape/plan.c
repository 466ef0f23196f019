/* Planning of a tape's memory in four passes: readers of values (uses; fuse.c then fuses ops),
 * lifetimes (times), offsets (first fit, largest first), pointers (bind). */
#include <lib/base/ranks.h>
#include <lib/tape/tape.h>

#include <stdlib.h>

/* ---- pass 1: uses ---- */

bool gnn__tape_overlap(const gnn__value_t *v, const gnn__value_t *w)
{
    return v->base == w->base && w->row < v->row + v->rows && v->row < w->row + w->rows &&
           w->col < v->col + v->cols && v->col < w->col + w->cols;
}

/* True if views cover their base exactly and without overlap: backward then writes each like a
 * value; otherwise the base's gradient is zeroed first. */
static bool views_tile(const gnn_tape_t *tape, gnn_var_t base)
{
    const gnn__value_t *b = &tape->values[base];
    int64_t covered = 0;
    for (gnn_var_t x = base + 1; x < tape->n_values; x++) {
        const gnn__value_t *v = &tape->values[x];
        if (v->kind != GNN__VALUE_VIEW || v->base != base || !v->consumed)
            continue;
        covered += v->rows * v->cols;
        for (gnn_var_t y = x + 1; y < tape->n_values; y++) {
            const gnn__value_t *w = &tape->values[y];
            if (w->kind == GNN__VALUE_VIEW && w->consumed && gnn__tape_overlap(v, w))
                return false;
        }
    }
    return covered == b->rows * b->cols;
}

static void find_uses(gnn_tape_t *tape)
{
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        gnn__value_t *v = &tape->values[x];
        v->consumed = v->tiled = v->has_views = false;
        v->first_use = INT32_MAX;
        v->last_use = -1;
        v->offset = v->grad_offset = -1;
        v->data_of = v->grad_of = GNN_NONE;
    }
    for (int32_t k = 0; k < tape->n_nodes; k++)
        for (int i = 0; i < tape->nodes[k]->n_own; i++) {
            if (tape->nodes[k]->in[i] == GNN_NONE)
                continue;
            gnn__value_t *v = &tape->values[tape->nodes[k]->in[i]], *b = &tape->values[v->base];
            v->consumed = true;
            b->has_views |= v != b;
            b->first_use = k < b->first_use ? k : b->first_use;
            b->last_use = k;
        }
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        if (tape->values[x].has_views && !tape->values[x].consumed)
            tape->values[x].tiled = views_tile(tape, x);
}

/* True if v and w overlap at a different origin or width. Ops split all inputs by rows and heads
 * alike, so two threads could add to the same element of the gradient (decision 011). */
static bool are_crossed(const gnn__value_t *v, const gnn__value_t *w)
{
    return gnn__tape_overlap(v, w) && (v->row != w->row || v->col != w->col || v->cols != w->cols);
}

/* Only views can overlap. */
static bool is_crossed(const gnn_tape_t *tape, const gnn__node_t *node)
{
    bool crossed = false;
    for (int i = 0; i < node->n_own; i++) {
        const gnn__value_t *v = node->in[i] == GNN_NONE ? NULL : &tape->values[node->in[i]];
        for (int j = 0; v && v->kind == GNN__VALUE_VIEW && j < node->n_own; j++)
            crossed |= node->in[j] != GNN_NONE && are_crossed(v, &tape->values[node->in[j]]);
    }
    return crossed;
}

static void find_crossed(gnn_tape_t *tape)
{
    for (int32_t k = 0; tape->recording && k < tape->n_nodes; k++)
        tape->nodes[k]->crossed = is_crossed(tape, tape->nodes[k]);
}

/* ---- pass 2: times ---- */

static void extend(gnn__value_t *v, int32_t time)
{
    if (v->last_time < time)
        v->last_time = time;
}

/* The value in whose memory x is. */
static gnn__value_t *memory_of(const gnn_tape_t *tape, gnn_var_t x)
{
    while (tape->values[x].data_of != GNN_NONE)
        x = tape->values[x].data_of;
    return &tape->values[x];
}

static void find_times(gnn_tape_t *tape)
{
    int32_t n = tape->n_nodes, end = 2 * n + 1;
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        gnn__value_t *v = &tape->values[x];
        v->last_time = v->born = v->node;
        if (v->kept || v->last_use < 0)
            v->last_time = end;
    }
    for (int32_t k = 0; k < n; k++) {
        gnn__node_t *node = tape->nodes[k];
        bool backward = tape->recording && node->backward;
        if (node->fused)
            continue;
        for (int i = 0; i < node->call.n_in; i++)
            if (node->in[i] != GNN_NONE) {
                gnn__value_t *b = &tape->values[tape->values[node->in[i]].base];
                extend(b, backward && node->call.in[i].keep ? 2 * n - 1 - k : k);
            }
        for (int i = 0; i < node->call.n_out; i++)
            if (backward && node->call.out[i].keep)
                extend(&tape->values[node->result + i], 2 * n - 1 - k);
    }
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        const gnn__value_t *v = &tape->values[x];
        gnn__value_t *h = memory_of(tape, x);
        extend(h, v->last_time);
        h->born = v->node < h->born ? v->node : h->born;
    }
}

/* ---- pass 3: offsets ---- */

static int add_buffer(gnn_tape_t *tape, int64_t bytes, int32_t from, int32_t to, int64_t *where)
{
    int64_t padded;
    *where = 0;
    if (bytes == 0)
        return GNN_OK;
    if (!gnn__pad(bytes, 64, &padded))
        return gnn__error(GNN_EOVERFLOW, "a tape's buffer: the size of %lld bytes overflows",
                          (long long)bytes);
    if (tape->n_buffers == tape->buffers_capacity) {
        int64_t capacity = tape->buffers_capacity ? 2 * tape->buffers_capacity : 128;
        GNN_TRY(gnn__grow(&tape->buffers, tape->n_buffers, capacity, sizeof *tape->buffers,
                          "a tape's plan"));
        GNN_TRY(gnn__grow(&tape->placed, 0, capacity, sizeof *tape->placed, "a tape's plan"));
        tape->buffers_capacity = capacity;
    }
    tape->buffers[tape->n_buffers++] = (gnn__buffer_t){padded, 0, from, to, where};
    return GNN_OK;
}

static int value_bytes(const gnn__value_t *v, int64_t *bytes)
{
    int64_t count;
    if (!gnn__mul(v->rows, v->cols, &count) || !gnn__mul(count, sizeof(gnn_real_t), bytes))
        return gnn__error(GNN_EOVERFLOW, "a value: the size of %lld x %lld overflows",
                          (long long)v->rows, (long long)v->cols);
    return GNN_OK;
}

/* The value whose gradient memory v uses. */
static gnn__value_t *holder(gnn_tape_t *tape, gnn__value_t *v)
{
    while (v->grad_of != GNN_NONE || v->kind == GNN__VALUE_VIEW)
        v = &tape->values[v->kind == GNN__VALUE_VIEW ? v->base : v->grad_of];
    return v;
}

/* A gradient is alive from the backward of its last reader (or the root) to the backward of its
 * producer; one with aliases, over the union of their lifetimes. */
static void find_gradient_times(gnn_tape_t *tape)
{
    const int32_t n = tape->n_nodes;
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        gnn__value_t *v = &tape->values[x];
        v->grad_from = v->kept || v->last_use < 0 ? n - 1 : 2 * n - 1 - v->last_use;
        v->grad_to = v->leaf_grad ? 2 * n + 1 : 2 * n - 1 - v->node;
    }
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        const gnn__value_t *v = &tape->values[x];
        gnn__value_t *h = v->grad_of == GNN_NONE ? NULL : holder(tape, &tape->values[x]);
        if (!h)
            continue;
        h->grad_from = v->grad_from < h->grad_from ? v->grad_from : h->grad_from;
        h->grad_to = v->grad_to > h->grad_to ? v->grad_to : h->grad_to;
    }
}

static int collect_value(gnn_tape_t *tape, gnn__value_t *v)
{
    int64_t bytes;
    if ((v->kind != GNN__VALUE_OUTPUT && !v->leaf_grad) || v->fused_away)
        return GNN_OK;
    GNN_TRY(value_bytes(v, &bytes));
    if (v->kind == GNN__VALUE_OUTPUT && !v->bound && v->data_of == GNN_NONE)
        GNN_TRY(add_buffer(tape, bytes, v->born, v->last_time, &v->offset));
    if (!tape->recording || !v->wants_grad || v->grad_of != GNN_NONE)
        return GNN_OK;
    return add_buffer(tape, bytes, v->grad_from, v->grad_to, &v->grad_offset);
}

static int collect(gnn_tape_t *tape)
{
    tape->n_buffers = 0;
    tape->scratch = 0;
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        GNN_TRY(collect_value(tape, &tape->values[x]));
    for (int32_t k = 0; k < tape->n_nodes; k++) {
        gnn__node_t *node = tape->nodes[k];
        int32_t to = tape->recording && node->backward ? 2 * tape->n_nodes - 1 - k : k;
        if (node->fused)
            continue;
        for (int i = 0; i < GNN_OP_SAVED; i++)
            GNN_TRY(add_buffer(tape, (int64_t)node->call.saved_bytes[i], k, to,
                               &node->saved_offset[i]));
        if (node->call.forward_scratch > tape->scratch)
            tape->scratch = node->call.forward_scratch;
        if (tape->recording && node->backward && node->call.backward_scratch > tape->scratch)
            tape->scratch = node->call.backward_scratch;
    }
    return GNN_OK;
}

static int larger_first(const void *a, const void *b)
{
    const gnn__buffer_t *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->from > y->from) - (x->from < y->from);
}

/* First fit: the lowest offset without a buffer that is alive at the same time. `placed` is sorted
 * by offset. */
static int64_t place(gnn__buffer_t **placed, int64_t count, gnn__buffer_t *b)
{
    int64_t offset = 0, at = count;
    for (int64_t k = 0; k < count; k++) {
        const gnn__buffer_t *p = placed[k];
        if (p->to < b->from || b->to < p->from)
            continue;
        if (p->offset >= offset + b->bytes)
            break;
        if (p->offset + p->bytes > offset)
            offset = p->offset + p->bytes;
    }
    b->offset = offset;
    while (at > 0 && placed[at - 1]->offset > offset)
        at--;
    memmove(placed + at + 1, placed + at, sizeof *placed * (size_t)(count - at));
    placed[at] = b;
    return offset + b->bytes;
}

static int64_t place_all(gnn_tape_t *tape)
{
    int64_t top = 0;
    if (tape->n_buffers > 1)
        qsort(tape->buffers, (size_t)tape->n_buffers, sizeof *tape->buffers, larger_first);
    for (int64_t k = 0; k < tape->n_buffers; k++) {
        int64_t end = place(tape->placed, k, &tape->buffers[k]);
        *tape->buffers[k].where = tape->buffers[k].offset;
        top = end > top ? end : top;
    }
    return top;
}

/* ---- pass 4: pointers ---- */

static gnn_tensor_t window(gnn_tensor_t t, const gnn__value_t *v)
{
    gnn_tensor_t w = {t.data ? t.data + v->row * t.stride + v->col : NULL, v->rows, v->cols,
                      t.stride};
    return w;
}

static void bind_value(gnn_tape_t *tape, gnn__value_t *v, char *base)
{
    gnn_tensor_t none = {NULL, v->rows, v->cols, v->cols};
    v->data = v->grad = none;
    switch (v->kind) {
    case GNN__VALUE_INPUT: v->data = v->external; break;
    case GNN__VALUE_PARAMETER:
        v->data = gnn_parameters_value(v->parameters, v->parameter);
        v->grad = gnn__gradient_memory(v->parameters, v->parameter);
        break;
    case GNN__VALUE_OUTPUT:
        if (v->fused_away)
            return;
        if (v->bound)
            v->data = v->external;
        else if (v->data_of == GNN_NONE)
            v->data = gnn_tensor((gnn_real_t *)(void *)(base + v->offset), v->rows, v->cols);
        break;
    case GNN__VALUE_VIEW:
        v->data = window(tape->values[v->base].data, v);
        if (v->wants_grad)
            v->grad = window(tape->values[v->base].grad, v);
        return;
    default: return;
    }
    if (v->grad_offset >= 0)
        v->grad = gnn_tensor((gnn_real_t *)(void *)(base + v->grad_offset), v->rows, v->cols);
}

/* Follows data_of and grad_of to the value that owns the memory. */
static void bind_shared(const gnn_tape_t *tape, gnn_var_t x)
{
    gnn__value_t *v = &tape->values[x];
    const gnn__value_t *h = v;
    while (h->grad_of != GNN_NONE)
        h = &tape->values[h->grad_of];
    v->grad = h->grad;
    if (v->data_of != GNN_NONE)
        v->data = memory_of(tape, x)->data;
}

static void bind_node(gnn_tape_t *tape, gnn__node_t *node, char *base)
{
    gnn_op_call_t *call = &node->call;
    for (int i = 0; i < call->n_in; i++)
        if (node->in[i] != GNN_NONE)
            call->in[i].value = tape->values[node->in[i]].data;
    for (int i = 0; i < call->n_out; i++)
        call->out[i].value = tape->values[node->result + i].data;
    /* Gives even an empty first buffer a non-NULL address in training, so that ops with no rows
     * need no special case. */
    for (int i = 0; i < GNN_OP_SAVED; i++)
        call->saved[i] = call->saved_bytes[i] || (i == 0 && tape->recording)
                             ? base + node->saved_offset[i]
                             : NULL;
}

/* All passes but the last; *top receives the bytes of the values. */
static int lay_out(gnn_tape_t *tape, size_t *top)
{
    GNN_TRY(gnn__tape_unfuse(tape));
    find_uses(tape);
    find_crossed(tape);
    /* Over ranks ops run slice by slice, each with memory of its own. */
    if (!gnn__ranks_split(tape->context)) {
        GNN_TRY(gnn__tape_fuse(tape));
        gnn__tape_share_gradients(tape);
    }
    find_times(tape);
    find_gradient_times(tape);
    GNN_TRY(collect(tape));
    *top = (size_t)place_all(tape);
    return GNN_OK;
}

int gnn__tape_size(gnn_tape_t *tape, size_t *values, size_t *scratch)
{
    GNN_TRY(lay_out(tape, values));
    *scratch = tape->scratch;
    return GNN_OK;
}

int gnn__tape_plan(gnn_tape_t *tape)
{
    size_t top;
    GNN_TRY(lay_out(tape, &top));
    GNN_TRY(gnn__arena_reserve(&tape->arena, top ? top : 64, "a tape's values"));
    char *base = gnn__arena_take(&tape->arena, top ? top : 64);
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        bind_value(tape, &tape->values[x], base);
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        bind_shared(tape, x);
    for (int32_t k = 0; k < tape->n_nodes; k++)
        bind_node(tape, tape->nodes[k], base);
    tape->planned = true;
    return GNN_OK;
}
