/* Ops and views on a tape. An op has a block of memory that its call points into; its inputs are
 * checked when it is added. */
#include <lib/base/options.h>
#include <lib/base/ranks.h>
#include <lib/tape/tape.h>

/* Limit on an op's inputs. A block has at least LEAST_ATTRIBUTES bytes for attributes, so that
 * another op can replace its op (gnn__tape_activate). */
enum { MOST_INPUTS = 4096, LEAST_ATTRIBUTES = 64 };
_Static_assert(sizeof(gnn__activation_settings_t) <= LEAST_ATTRIBUTES,
               "a sum has room for the settings of an activation that is fused into it");

static int grow_nodes(gnn_tape_t *tape)
{
    if (tape->n_nodes < tape->nodes_capacity)
        return GNN_OK;
    int32_t capacity = tape->nodes_capacity ? 2 * tape->nodes_capacity : 32;
    GNN_TRY(gnn__grow(&tape->nodes, tape->nodes_capacity, capacity, sizeof *tape->nodes,
                      "a tape's ops"));
    tape->nodes_capacity = capacity;
    return GNN_OK;
}

/* Offsets of a node's block. */
typedef struct {
    int64_t operands, ids, attributes, bytes;
} layout_t;

/* Offsets at 16-byte boundaries. False if the size overflows. */
static bool lay_out(int64_t n_inputs, size_t attribute_bytes, layout_t *l)
{
    const int64_t slots = n_inputs + GNN__FUSED_INPUTS;
    if (attribute_bytes > INT64_MAX)
        return false;
    const int64_t attributes = gnn__max((int64_t)attribute_bytes, LEAST_ATTRIBUTES);
    return gnn__pad((int64_t)sizeof(gnn__node_t), 16, &l->operands) &&
           gnn__pad(l->operands + slots * (int64_t)sizeof(gnn_operand_t), 16, &l->ids) &&
           gnn__pad(l->ids + slots * (int64_t)sizeof(gnn_var_t), 16, &l->attributes) &&
           gnn__add(l->attributes, attributes, &l->bytes);
}

/* The next node, cleared. Reuses the block that was here before the last reset if it is large
 * enough. */
static int take_node(gnn_tape_t *tape, const gnn_op_t *op, int n_inputs, size_t bytes,
                     gnn__node_t **node)
{
    layout_t l;
    GNN_TRY(grow_nodes(tape));
    if (n_inputs < 0 || n_inputs > MOST_INPUTS)
        return gnn__error(GNN_EINVALID, "%s%sop %s: expected 0 to %d inputs, got %d", tape->where,
                          *tape->where ? ": " : "", op->name, MOST_INPUTS, n_inputs);
    if (!lay_out(n_inputs, bytes, &l))
        return gnn__error(GNN_EOVERFLOW, "%s%sop %s: the size of %zu bytes of attributes overflows",
                          tape->where, *tape->where ? ": " : "", op->name, bytes);
    gnn__node_t **at = &tape->nodes[tape->n_nodes];
    if (!*at || (*at)->bytes < l.bytes) {
        gnn_free(*at);
        *at = NULL;
        GNN_TRY(gnn__new(at, l.bytes, 1, "a tape's op"));
        (*at)->bytes = l.bytes;
    }
    const int64_t room = (*at)->bytes;
    char *block = (char *)*at;
    memset(block, 0, (size_t)l.attributes);
    *node = *at;
    **node = (gnn__node_t){.bytes = room,
                           .op = op,
                           .in = (gnn_var_t *)(void *)(block + l.ids),
                           .attributes = block + l.attributes};
    (*node)->call.in = (gnn_operand_t *)(void *)(block + l.operands);
    return GNN_OK;
}

/* An input as an op's shape function sees it, before values exist. */
static gnn_operand_t operand(const gnn__value_t *v)
{
    return (gnn_operand_t){.rows = v->rows,
                           .cols = v->cols,
                           .sparse = v->sparse,
                           .ids = v->ids,
                           .present = 1,
                           .wants_grad = v->wants_grad,
                           .value = {NULL, v->rows, v->cols, v->cols},
                           .grad = {NULL, v->rows, v->cols, v->cols}};
}

uint32_t gnn__tape_next_stream(gnn_tape_t *tape)
{
    return (tape->model_step & 0xffff) << 8 | (tape->op_number++ & 0xff);
}

/* Refuses a sparse input unless the op takes it, and its dropout unless the op applies it. */
static int check_sparse(const gnn__node_t *node, const gnn__value_t *v, int k)
{
    const bool drops = node->op->traits && node->op->traits->drops_sparse;
    if (k >= 32 || !(node->op->sparse_inputs >> k & 1))
        return gnn_op_fail(
            &node->call, GNN_EUNSUPPORTED,
            "op %s: expected a dense input %d, got a sparse one, which only linear reads: see gnn__sparse_to_dense",
            node->op->name, k);
    if (v->sparse_dropout > 0 && !drops)
        return gnn_op_fail(&node->call, GNN_EUNSUPPORTED,
                           "op %s: input %d is a sparse value with dropout, which only linear reads",
                           node->op->name, k);
    return GNN_OK;
}

static int take_inputs(gnn_tape_t *tape, gnn__node_t *node, const gnn_var_t *inputs)
{
    for (int k = 0; k < node->n_own; k++) {
        node->in[k] = inputs[k];
        if (inputs[k] == GNN_NONE)
            continue;
        gnn__value_t *v = gnn__tape_at(tape, inputs[k]);
        if (!v)
            return tape->status;
        if (v->sparse)
            GNN_TRY(check_sparse(node, v, k));
        node->call.in[k] = operand(v);
        if (v->halves)
            node->companion = (gnn__companion_t){.fp16 = v->halves, .input = k};
        node->backward |= v->wants_grad;
    }
    return GNN_OK;
}

static int check_options(const gnn_op_call_t *call, const gnn_op_t *op)
{
    const gnn_op_options_t *given = call->attributes;
    double resolved[GNN_ROW_OPTIONS];
    int rc = gnn__check_options("op", op->name, op->options, op->n_options);
    if (rc == GNN_OK)
        rc = gnn__resolve_options(op->name, op->options, op->n_options, given->options, resolved);
    return rc == GNN_OK || !*call->where ? rc : gnn__error_prefix(rc, "%s", call->where);
}

/* Fills a cleared node and lets the op check its inputs. */
static int describe(gnn_tape_t *tape, gnn__node_t *node, const gnn_var_t *inputs, int n_inputs,
                    const void *attributes, size_t bytes)
{
    gnn_op_call_t *call = &node->call;
    call->context = tape->context;
    call->companion = &node->companion;
    call->n_in = node->n_own = n_inputs;
    call->n_out = 1;
    call->training = tape->training;
    call->recording = tape->recording;
    call->where = tape->where;
    call->rng.stream = gnn__tape_next_stream(tape);
    node->segment = tape->recomputes ? tape->segments : 0;
    if (bytes)
        memcpy(node->attributes, attributes, bytes);
    call->attributes = node->attributes;
    GNN_TRY(take_inputs(tape, node, inputs));
    if (gnn__ranks_split(tape->context))
        GNN_TRY(gnn__slices_check(tape, node));
    if ((node->op->options || node->op->n_options > 0) && bytes >= sizeof(gnn_op_options_t))
        GNN_TRY(check_options(call, node->op));
    GNN_TRY(node->op->shape(call));
    if (gnn__ranks_split(tape->context))
        GNN_TRY(gnn__slices_describe(tape, node));
    node->backward &= node->op->backward != NULL;
    return GNN_OK;
}

static int add_node(gnn_tape_t *tape, const gnn_op_t *op, const gnn_var_t *inputs, int n_inputs,
                    const void *attributes, size_t bytes, gnn__node_t **node)
{
    GNN_TRY(take_node(tape, op, n_inputs, bytes, node));
    return describe(tape, *node, inputs, n_inputs, attributes, bytes);
}

/* Replaces inputs whose fp16 or bf16 elements the op cannot read by widened ones. *widened stays
 * NULL if there are none. */
static int widen_inputs(gnn_tape_t *tape, const gnn_op_t *op, const gnn_var_t *inputs, int n_inputs,
                        const void *attributes, gnn_var_t **widened)
{
    bool reads = false;
    for (int k = 0; k < n_inputs; k++) {
        const gnn__fp16_t *w =
            inputs[k] >= 0 && inputs[k] < tape->n_values ? tape->values[inputs[k]].halves : NULL;
        if (!w)
            continue;
        if (!reads && op->traits && op->traits->reads_fp16 &&
            op->traits->reads_fp16(attributes, k, w)) {
            reads = true;
            continue;
        }
        if (!*widened) {
            GNN_TRY(gnn__new(widened, n_inputs, sizeof **widened, "inputs of an op"));
            memcpy(*widened, inputs, (size_t)n_inputs * sizeof **widened);
        }
        (*widened)[k] = gnn__tape_op_once(tape, &gnn__op_widen, inputs[k], NULL, 0);
    }
    return tape->status;
}

static int add_widened(gnn_tape_t *tape, const gnn_op_t *op, const gnn_var_t *inputs, int n_inputs,
                       const void *attributes, size_t bytes, gnn__node_t **node)
{
    gnn_var_t *widened = NULL;
    int rc = widen_inputs(tape, op, inputs, n_inputs, attributes, &widened);
    if (rc == GNN_OK)
        rc = add_node(tape, op, widened ? widened : inputs, n_inputs, attributes, bytes, node);
    gnn_free(widened);
    return rc;
}

gnn_var_t gnn_tape_op(gnn_tape_t *tape, const gnn_op_t *op, const gnn_var_t *inputs, int n_inputs,
                      const void *attributes, size_t bytes)
{
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, op);
    if (n_inputs > 0)
        GNN__NEED_ON(tape, inputs);
    gnn__node_t *node = NULL;
    if (tape->status != GNN_OK ||
        gnn_tape_fail(tape, add_widened(tape, op, inputs, n_inputs, attributes, bytes, &node)) !=
            GNN_OK)
        return GNN_NONE;
    node->out = node->result = tape->n_values;
    for (int k = 0; k < node->call.n_out; k++) {
        gnn__value_t *v = gnn__tape_append(tape, GNN__VALUE_OUTPUT, node->call.out[k].rows,
                                           node->call.out[k].cols);
        if (!v)
            return GNN_NONE;
        v->node = tape->n_nodes;
        v->wants_grad = tape->recording && node->backward;
        v->over = node->over;
    }
    tape->n_nodes++;
    return node->out;
}

gnn_var_t gnn__tape_op_once(gnn_tape_t *tape, const gnn_op_t *op, gnn_var_t input,
                            const void *attributes, size_t bytes)
{
    for (int32_t k = 0; tape->status == GNN_OK && k < tape->n_nodes; k++) {
        const gnn__node_t *node = tape->nodes[k];
        if (node->op == op && node->n_own == 1 && node->in[0] == input &&
            (bytes == 0 || memcmp(node->attributes, attributes, bytes) == 0))
            return node->out;
    }
    return gnn_tape_op(tape, op, &input, 1, attributes, bytes);
}

gnn_rng_t gnn__tape_rng(const gnn_tape_t *tape, gnn_var_t x)
{
    gnn_rng_t rng = {.seed = tape->context->seed, .step = tape->step};
    if (x >= 0 && x < tape->n_values && tape->values[x].node >= 0)
        rng.stream = tape->nodes[tape->values[x].node]->call.rng.stream;
    return rng;
}

void gnn__tape_set_stream(gnn_tape_t *tape, gnn_var_t x, uint32_t stream)
{
    if (tape->status == GNN_OK && x >= 0 && tape->values[x].node >= 0)
        tape->nodes[tape->values[x].node]->call.rng.stream = stream;
}

/* ---- views ---- */

/* Views: a part of another value, or a value without its gradient. */

/* A view of a dense value; without wants_grad, gradients stop there. */
static gnn_var_t window(gnn_tape_t *tape, gnn_var_t x, int64_t row, int64_t rows, int64_t col,
                        int64_t cols, bool wants_grad)
{
    gnn__value_t *v = gnn__tape_append(tape, GNN__VALUE_VIEW, rows, cols);
    if (!v)
        return GNN_NONE;
    const gnn__value_t *of = &tape->values[x];
    v->over = of->over;
    v->base = of->base;
    v->row = of->row + row;
    v->col = of->col + col;
    v->wants_grad = wants_grad;
    return (gnn_var_t)(v - tape->values);
}

gnn_var_t gnn_tape_view(gnn_tape_t *tape, gnn_var_t x, int64_t row, int64_t rows, int64_t col,
                        int64_t cols)
{
    GNN__NEED_OR(tape, GNN_NONE);
    gnn__value_t *of = gnn__tape_at(tape, x);
    if (!of)
        return GNN_NONE;
    if (of->sparse || of->ids || row < 0 || rows < 0 || col < 0 || cols < 0 ||
        rows > of->rows - row || cols > of->cols - col) {
        gnn_tape_fail(
            tape,
            gnn__error(
                GNN_ESHAPE,
                "a view from row %lld (%lld rows), column %lld (%lld columns) exceeds a dense value of %lld x %lld",
                (long long)row, (long long)rows, (long long)col, (long long)cols,
                (long long)of->rows, (long long)of->cols));
        return GNN_NONE;
    }
    if (row == 0 && col == 0 && rows == of->rows && cols == of->cols)
        return x;
    if (of->over != GNN__OVER_NONE && rows != of->rows) {
        gnn_tape_fail(tape, gnn__error(GNN_EUNSUPPORTED,
                                       "%s%sranks: a view of some rows of a value that ranks share",
                                       tape->where, *tape->where ? ": " : ""));
        return GNN_NONE;
    }
    if (of->halves) {
        x = gnn__tape_op_once(tape, &gnn__op_widen, x, NULL, 0);
        if (!(of = gnn__tape_at(tape, x)))
            return GNN_NONE;
    }
    return window(tape, x, row, rows, col, cols, of->wants_grad);
}

gnn_var_t gnn_tape_detach(gnn_tape_t *tape, gnn_var_t x)
{
    GNN__NEED_OR(tape, GNN_NONE);
    const gnn__value_t *of = gnn__tape_at(tape, x);
    if (!of)
        return GNN_NONE;
    return of->wants_grad ? window(tape, x, 0, of->rows, 0, of->cols, false) : x;
}
