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

int32_t gnn__tape_segment_start(const gnn_tape_t *tape, int32_t k)
{
    const int32_t segment = tape->nodes[k]->segment;
    if (!segment || (k + 1 < tape->n_nodes && tape->nodes[k + 1]->segment == segment))
        return -1;
    while (k > 0 && tape->nodes[k - 1]->segment == segment)
        k--;
    return k;
}

/* Times of all passes. */
static void schedule(gnn_tape_t *tape)
{
    int32_t time = tape->n_nodes;
    for (int32_t k = tape->n_nodes - 1; k >= 0; k--) {
        const int32_t start = gnn__tape_segment_start(tape, k);
        if (!tape->nodes[k]->segment)
            tape->nodes[k]->again = -1;
        for (int32_t j = start; start >= 0 && j <= k; j++)
            tape->nodes[j]->again = time++;
        tape->nodes[k]->back = time++;
    }
    tape->end = time;
}

/* The value in whose memory x is. */
static gnn__value_t *memory_of(const gnn_tape_t *tape, gnn_var_t x)
{
    while (tape->values[x].data_of != GNN_NONE)
        x = tape->values[x].data_of;
    return &tape->values[x];
}

/* True if only nodes of the segment that produces v read it. */
static bool is_inner(const gnn_tape_t *tape, const gnn__value_t *v)
{
    if (v->kind != GNN__VALUE_OUTPUT || v->kept || v->last_use < 0)
        return false;
    const int32_t segment = tape->nodes[v->node]->segment;
    return segment && tape->nodes[v->first_use]->segment == segment &&
           tape->nodes[v->last_use]->segment == segment;
}

static bool saves(const gnn__node_t *node)
{
    bool saves = false;
    for (int i = 0; node->backward && i < GNN_OP_SAVED; i++)
        saves |= node->call.saved_bytes[i] > 0;
    return saves;
}

/* Marks the nodes of segments that run again: those that save memory for backward or write to that
 * of an inner value, and all that write to memory which one of them writes to. */
static void find_again(gnn_tape_t *tape)
{
    bool changed = tape->segments > 0;
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        tape->values[x].inner = tape->values[x].again = is_inner(tape, &tape->values[x]);
    for (int32_t k = 0; k < tape->n_nodes; k++)
        tape->nodes[k]->runs_again = false;
    while (changed) {
        changed = false;
        for (int32_t k = 0; k < tape->n_nodes; k++) {
            gnn__node_t *node = tape->nodes[k];
            if (!node->segment || node->fused || node->forward_fused || node->runs_again)
                continue;
            node->runs_again = saves(node);
            for (int i = 0; i < node->call.n_out; i++)
                node->runs_again |= memory_of(tape, node->result + i)->again;
            for (int i = 0; node->runs_again && i < node->call.n_out; i++)
                memory_of(tape, node->result + i)->again = true;
            changed |= node->runs_again;
        }
    }
}

static void extend(const gnn_tape_t *tape, gnn__value_t *v, int32_t time)
{
    int32_t *last = v->inner && time >= tape->n_nodes ? &v->again_to : &v->last_time;
    if (*last < time)
        *last = time;
}

/* Times at which node k reads and writes. */
static void extend_operands(gnn_tape_t *tape, int32_t k)
{
    const gnn__node_t *node = tape->nodes[k];
    const bool backward = tape->recording && node->backward;
    for (int i = 0; i < node->call.n_in; i++) {
        gnn__value_t *b =
            node->in[i] == GNN_NONE ? NULL : &tape->values[tape->values[node->in[i]].base];
        if (!b)
            continue;
        extend(tape, b, k);
        if (node->segment)
            extend(tape, b, node->again);
        if (backward && node->call.in[i].keep)
            extend(tape, b, node->back);
    }
    for (int i = 0; i < node->call.n_out; i++) {
        if (node->runs_again)
            extend(tape, &tape->values[node->result + i], node->again);
        if (backward && node->call.out[i].keep)
            extend(tape, &tape->values[node->result + i], node->back);
    }
}

static void find_times(gnn_tape_t *tape)
{
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        gnn__value_t *v = &tape->values[x];
        v->last_time = v->born = v->node;
        v->again_from = v->inner ? tape->nodes[v->node]->again : 0;
        v->again_to = v->inner ? v->again_from : -1;
        if (v->kept || v->last_use < 0)
            v->last_time = tape->end;
    }
    for (int32_t k = 0; k < tape->n_nodes; k++)
        if (!tape->nodes[k]->fused)
            extend_operands(tape, k);
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        const gnn__value_t *v = &tape->values[x];
        gnn__value_t *h = memory_of(tape, x);
        extend(tape, h, v->last_time);
        h->born = v->node < h->born ? v->node : h->born;
        if (!v->inner || h == v)
            continue;
        extend(tape, h, v->again_to);
        h->again_from = h->inner && v->again_from < h->again_from ? v->again_from : h->again_from;
    }
}

/* ---- pass 3: offsets ---- */

/* `life` has the lifetimes. */
static int add_buffer(gnn_tape_t *tape, int64_t bytes, gnn__buffer_t life, int64_t *where)
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
    life.bytes = padded;
    life.where = where;
    tape->buffers[tape->n_buffers++] = life;
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
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        gnn__value_t *v = &tape->values[x];
        v->grad_from =
            v->kept || v->last_use < 0 ? tape->n_nodes - 1 : tape->nodes[v->last_use]->back;
        v->grad_to = v->leaf_grad || v->node < 0 ? tape->end : tape->nodes[v->node]->back;
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
        GNN_TRY(add_buffer(tape, bytes,
                           (gnn__buffer_t){.from = v->born,
                                           .to = v->last_time,
                                           .again_from = v->again_from,
                                           .again_to = v->again_to},
                           &v->offset));
    if (!tape->recording || !v->wants_grad || v->grad_of != GNN_NONE)
        return GNN_OK;
    return add_buffer(tape, bytes,
                      (gnn__buffer_t){.from = v->grad_from, .to = v->grad_to, .again_to = -1},
                      &v->grad_offset);
}

static int collect(gnn_tape_t *tape)
{
    tape->n_buffers = 0;
    tape->scratch = 0;
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        GNN_TRY(collect_value(tape, &tape->values[x]));
    for (int32_t k = 0; k < tape->n_nodes; k++) {
        gnn__node_t *node = tape->nodes[k];
        const int32_t back = tape->recording && node->backward ? node->back : k;
        gnn__buffer_t life = {.from = k, .to = node->runs_again ? k : back, .again_to = -1};
        if (node->fused)
            continue;
        if (node->runs_again)
            life.again_from = node->again, life.again_to = back > k ? back : node->again;
        for (int i = 0; i < GNN_OP_SAVED; i++)
            GNN_TRY(
                add_buffer(tape, (int64_t)node->call.saved_bytes[i], life, &node->saved_offset[i]));
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

static bool overlap(int32_t from, int32_t to, const gnn__buffer_t *b)
{
    return from <= to &&
           ((from <= b->to && b->from <= to) ||
            (b->again_from <= b->again_to && from <= b->again_to && b->again_from <= to));
}

static bool alive_together(const gnn__buffer_t *a, const gnn__buffer_t *b)
{
    return overlap(a->from, a->to, b) || overlap(a->again_from, a->again_to, b);
}

/* First fit: the lowest offset without a buffer that is alive at the same time. `placed` is sorted
 * by offset. */
static int64_t place(gnn__buffer_t **placed, int64_t count, gnn__buffer_t *b)
{
    int64_t offset = 0, at = count;
    for (int64_t k = 0; k < count; k++) {
        const gnn__buffer_t *p = placed[k];
        if (!alive_together(p, b))
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
    schedule(tape);
    find_again(tape);
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
