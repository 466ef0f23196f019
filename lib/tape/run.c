/* Runs a tape: forward in order, backward in reverse. The first op that writes a gradient
 * overwrites it, others add. */
#include <lib/base/ranks.h>
#include <lib/tape/tape.h>

static int reserve_scratch(gnn_tape_t *tape, void **scratch)
{
    size_t bytes = tape->scratch ? tape->scratch : 64;
    GNN_TRY(gnn__arena_reserve(&tape->context->scratch, bytes, "scratch memory"));
    *scratch = gnn__arena_take(&tape->context->scratch, bytes);
    return GNN_OK;
}

static double operand_bytes(const gnn_op_call_t *call, int k)
{
    const gnn_operand_t *x = &call->in[k];
    if (!x->present)
        return 0;
    if (x->sparse)
        return (double)x->sparse->indptr[x->rows] * (sizeof(gnn_real_t) + sizeof(int32_t));
    size_t element = sizeof(gnn_real_t);
    if (x->ids)
        element = sizeof(int32_t);
    else if (gnn__op_fp16(call, k))
        element = sizeof(uint16_t);
    return (double)x->rows * (double)x->cols * (double)element;
}

/* Estimated work of a node's pass, for profiles: every operand is read or written once, twice in
 * backward; ops add their flops. */
static gnn_op_work_t node_work(const gnn__node_t *node, bool backward)
{
    const gnn_op_call_t *call = &node->call;
    gnn_op_work_t work = {0};
    for (int k = 0; k < call->n_out; k++)
        work.bytes += (double)call->out[k].rows * (double)call->out[k].cols * sizeof(gnn_real_t);
    for (int k = 0; k < call->n_in; k++)
        work.bytes += operand_bytes(call, k);
    work.bytes *= backward ? 2 : 1;
    if (node->op->work)
        node->op->work(call, backward, &work);
    return work;
}

static int run_node(const gnn_tape_t *tape, gnn__node_t *node, bool backward)
{
    int (*const function)(gnn_op_call_t *) = backward ? node->op->backward : node->op->forward;
    gnn__adaptive_apply(tape->context);
    if (node->sliced)
        return gnn__slices_run(tape, node, backward);
    if (tape->context->ranks)
        tape->context->ranks->own_call = node->reads_own;
    if (!tape->context->profile)
        return function(&node->call);
    const double start = gnn__seconds();
    int rc = function(&node->call);
    gnn__profile_add(tape->context->profile, node->op->name, node->call.where, backward,
                     gnn__seconds() - start, node_work(node, backward));
    return rc;
}

/* Plans assume all threads of the context; loops may use fewer (base/adaptive_threads.c). Over
 * ranks nothing travels to the memory of the tape afterwards, also after an error. */
static int run_adaptively(gnn_tape_t *tape, int (*run)(gnn_tape_t *tape, void *scratch), void *scratch)
{
    gnn__adaptive_begin(tape->context);
    int rc = run(tape, scratch);
    gnn__adaptive_end(tape->context);
    if (tape->context->ranks) {
        const int travels = gnn__ranks_arrive(tape->context->ranks);
        rc = rc == GNN_OK ? travels : rc;
    }
    return rc;
}

static int run_nodes(gnn_tape_t *tape, void *scratch)
{
    for (int32_t k = 0; k < tape->n_nodes; k++) {
        gnn_op_call_t *call = &tape->nodes[k]->call;
        call->rng.seed = tape->context->seed;
        call->rng.step = tape->step;
        if (tape->nodes[k]->fused || tape->nodes[k]->forward_fused)
            continue;
        call->scratch = scratch;
        call->threads = 0;
        GNN_TRY(run_node(tape, tape->nodes[k], false));
    }
    tape->ran = true;
    return GNN_OK;
}

static int run_forward(gnn_tape_t *tape)
{
    void *scratch;
    GNN_TRY(gnn__team_start(tape->context));
    if (!tape->planned)
        GNN_TRY(gnn__tape_plan(tape));
    GNN_TRY(reserve_scratch(tape, &scratch));
    tape->context->prepacked = tape->prepacked;
    const int rc = run_adaptively(tape, run_nodes, scratch);
    tape->context->prepacked = NULL;
    return rc;
}

int gnn_tape_forward(gnn_tape_t *tape)
{
    GNN__NEED(tape);
    if (tape->status != GNN_OK)
        return gnn_tape_status(tape);
    return gnn_tape_fail(tape, run_forward(tape));
}

static void zero(const gnn_tensor_t *t)
{
    for (int64_t r = 0; t->data && r < t->rows; r++)
        memset(t->data + r * t->stride, 0, sizeof(gnn_real_t) * (size_t)t->cols);
}

/* Sets the target of input i's gradient, and whether it is accumulated. */
static void bind_gradient(gnn_tape_t *tape, gnn__value_t *v, gnn_operand_t *in)
{
    gnn__value_t *b = &tape->values[v->base];
    in->grad = v->grad;
    if (b->kind == GNN__VALUE_PARAMETER) {
        if (v != b)
            gnn__gradient_settle(b->parameters, b->parameter);
        in->accumulate = !gnn__gradient_is_new(b->parameters, b->parameter);
        return;
    }
    if (b->has_views && !b->tiled && !b->written)
        zero(&b->grad);
    gnn__value_t *target = b->tiled ? v : b;
    in->accumulate = target->written || (b->has_views && !b->tiled);
    target->written = b->written = true;
}

/* Zeroes the parts of a gradient that no op wrote. */
static void complete_gradient(gnn_tape_t *tape, gnn_var_t base)
{
    const gnn__value_t *b = &tape->values[base];
    if (!b->written)
        zero(&b->grad);
    for (gnn_var_t x = base + 1; b->written && b->tiled && x < tape->n_values; x++) {
        const gnn__value_t *v = &tape->values[x];
        if (v->kind == GNN__VALUE_VIEW && v->base == base && v->consumed && !v->written)
            zero(&v->grad);
    }
}

/* Zeroes unwritten parts of the outputs' gradients; false if no op wrote any of them, so that
 * backward can be skipped. */
static bool complete_outputs(gnn_tape_t *tape, const gnn__node_t *node)
{
    bool any = false;
    for (int i = 0; i < node->call.n_out; i++)
        any |= tape->values[node->result + i].written;
    for (int i = 0; any && i < node->call.n_out; i++)
        complete_gradient(tape, node->result + i);
    return any;
}

static int backward_node(gnn_tape_t *tape, gnn__node_t *node, void *scratch)
{
    gnn_op_call_t *call = &node->call;
    if (!node->backward || node->fused || !complete_outputs(tape, node))
        return GNN_OK;
    for (int i = 0; i < call->n_out; i++)
        call->out[i].grad = tape->values[node->result + i].grad;
    for (int i = 0; i < node->n_own; i++) {
        if (node->in[i] == GNN_NONE)
            continue;
        gnn__value_t *v = &tape->values[node->in[i]];
        call->in[i].grad.data = NULL;
        if (v->wants_grad)
            bind_gradient(tape, v, &call->in[i]);
    }
    call->scratch = scratch;
    call->threads = node->crossed ? 1 : 0;
    return run_node(tape, node, true);
}

static int seed(gnn_tape_t *tape, gnn_var_t root, const gnn_tensor_t *d_root)
{
    gnn__value_t *v = gnn__tape_at(tape, root);
    if (!v)
        return tape->status;
    if (v->kind != GNN__VALUE_OUTPUT || !v->wants_grad || (v->last_use >= 0 && !v->kept))
        return gnn__error(
            GNN_EINVALID,
            "the root of backward must be an op's output that depends on a parameter or a wanted input; if ops read it, it must be kept");
    if (d_root && (d_root->rows != v->rows || d_root->cols != v->cols))
        return gnn__error(GNN_ESHAPE,
                          "the gradient of the root: expected %lld x %lld, got %lld x %lld",
                          (long long)v->rows, (long long)v->cols, (long long)d_root->rows,
                          (long long)d_root->cols);
    for (int64_t r = 0; r < v->rows; r++)
        for (int64_t c = 0; c < v->cols; c++)
            v->grad.data[r * v->grad.stride + c] = d_root ? gnn__row(d_root, r)[c] : 1;
    v->written = true;
    return GNN_OK;
}

/* Computes the values of a segment again, before its backward. */
static int run_again(const gnn_tape_t *tape, int32_t first, int32_t last, void *scratch)
{
    int rc = GNN_OK;
    tape->context->prepacked = tape->prepacked;
    for (int32_t k = first; rc == GNN_OK && k <= last; k++) {
        gnn_op_call_t *call = &tape->nodes[k]->call;
        if (!tape->nodes[k]->runs_again)
            continue;
        call->scratch = scratch;
        call->threads = 0;
        call->again = 1;
        rc = run_node(tape, tape->nodes[k], false);
        call->again = 0;
    }
    tape->context->prepacked = NULL;
    return rc;
}

static int run_nodes_backward(gnn_tape_t *tape, void *scratch)
{
    for (int32_t k = tape->n_nodes - 1; k >= 0; k--) {
        const int32_t first = gnn__tape_segment_start(tape, k);
        if (first >= 0)
            GNN_TRY(run_again(tape, first, k, scratch));
        GNN_TRY(backward_node(tape, tape->nodes[k], scratch));
    }
    return GNN_OK;
}

static int run_backward(gnn_tape_t *tape, gnn_var_t root, const gnn_tensor_t *d_root)
{
    void *scratch;
    if (!tape->recording || !tape->ran)
        return gnn__error(GNN_EINVALID,
                          tape->recording
                              ? "backward: expected a forward pass before it"
                              : "this tape does not record: gnn_tape_reset(tape, 1, ...)");
    GNN_TRY(reserve_scratch(tape, &scratch));
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        tape->values[x].written = false;
    GNN_TRY(seed(tape, root, d_root));
    GNN_TRY(run_adaptively(tape, run_nodes_backward, scratch));
    const gnn_parameters_t *settled = NULL;
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        gnn__value_t *v = &tape->values[x];
        if (v->leaf_grad)
            complete_gradient(tape, x);
        if (v->kind == GNN__VALUE_PARAMETER && v->parameters != settled)
            gnn__gradients_settle(settled = v->parameters);
    }
    return GNN_OK;
}

int gnn_tape_backward(gnn_tape_t *tape, gnn_var_t root, const gnn_tensor_t *d_root)
{
    GNN__NEED(tape);
    if (tape->status != GNN_OK)
        return gnn_tape_status(tape);
    return gnn_tape_fail(tape, run_backward(tape, root, d_root));
}

gnn_tensor_t gnn_tape_value(const gnn_tape_t *tape, gnn_var_t x)
{
    GNN__NEED_OR(tape, (gnn_tensor_t){0});
    gnn_tensor_t none = {NULL, 0, 0, 0};
    return x >= 0 && x < tape->n_values && tape->ran && tape->values[x].data_of == GNN_NONE
               ? tape->values[x].data
               : none;
}

gnn_tensor_t gnn_tape_gradient(const gnn_tape_t *tape, gnn_var_t x)
{
    GNN__NEED_OR(tape, (gnn_tensor_t){0});
    gnn_tensor_t none = {NULL, 0, 0, 0};
    return x >= 0 && x < tape->n_values && tape->ran ? tape->values[x].grad : none;
}
