/* Fusion while a tape is planned, when the readers of each value are known. A value that a single
 * op reads and that is not kept is an intermediate:
 *
 *   dropout                  is done by the op that produces its input, forward and backward
 *   sum, biased activation   becomes part of the epilogue of the op before it, forward only
 *   sum of two products      the second product is accumulated onto the first
 *   elementwise ops          write in place
 *   gradient of a sum        shares memory with the gradients of its summands
 *
 * An op's traits state what it can fuse (gnn/op.h, lib/ops/traits.h). A tape that is planned again,
 * because a value became kept, is fused again. */
#include <lib/tape/tape.h>

static const gnn__op_traits_t *traits(const gnn__node_t *node)
{
    static const gnn__op_traits_t none;
    return node->op->traits ? node->op->traits : &none;
}

/* Pointer to the dropout rate of the node's op; NULL if it has none. */
static gnn_real_t *rate_of(const gnn__node_t *node)
{
    return traits(node)->rate ? traits(node)->rate(node->attributes) : NULL;
}

static int unfuse(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    const bool epilogue = node->companion.finish != NULL,
               drops = !node->fused && node->result != node->out;
    node->fused = node->forward_fused = false;
    node->result = node->out;
    for (int i = 0; i < node->call.n_out; i++) {
        gnn__value_t *v = &tape->values[node->out + i];
        v->node = k;
        v->fused_away = false;
    }
    node->call.n_in = node->n_own;
    node->companion.finish = NULL;
    if (drops)
        *rate_of(node) = 0;
    if (traits(node)->adds)
        *traits(node)->adds(node->attributes) = false;
    return epilogue || drops ? node->op->shape(&node->call) : GNN_OK;
}

int gnn__tape_unfuse(gnn_tape_t *tape)
{
    for (int32_t k = 0; k < tape->n_nodes; k++)
        GNN_TRY(unfuse(tape, k));
    return GNN_OK;
}

/* True if node k is the only reader of an unkept output. Values between segments are read again
 * when node k is, so that no op may write over them. */
static bool is_intermediate(const gnn_tape_t *tape, const gnn__value_t *v, int32_t k)
{
    return v->kind == GNN__VALUE_OUTPUT && !v->kept && !v->has_views && v->first_use == k &&
           v->last_use == k && tape->nodes[v->node]->segment == tape->nodes[k]->segment;
}

/* y = x + z. */
static bool is_sum(const gnn__node_t *node)
{
    return traits(node)->alpha && traits(node)->alpha(node->attributes) == 1;
}

/* True if writing y early cannot overwrite an input: the caller may have bound an output to an
 * input's memory. */
static bool aliases_no_input(const gnn_tape_t *tape, gnn_var_t y)
{
    const gnn__value_t *v = &tape->values[y];
    if (!v->bound)
        return true;
    const gnn_real_t *end = v->external.data + v->external.stride * v->rows;
    for (gnn_var_t x = 0; x < tape->n_values; x++) {
        const gnn_tensor_t *t = &tape->values[x].external;
        if (tape->values[x].kind == GNN__VALUE_INPUT && t->data && t->data < end &&
            v->external.data < t->data + t->stride * t->rows)
            return false;
    }
    return true;
}

/* ---- dropout ---- */

/* Fuses node k, a dropout, into the node that produces its input, which then produces node k's
 * output. */
static int fuse_dropout(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    gnn__value_t *input = &tape->values[node->in[0]];
    gnn__node_t *producer = is_intermediate(tape, input, k) ? tape->nodes[input->node] : NULL;
    gnn_real_t *rate = producer && producer->call.n_out == 1 ? rate_of(producer) : NULL;
    if (!rate || *rate > 0)
        return GNN_OK;
    *rate = *rate_of(node);
    producer->call.rng.stream = node->call.rng.stream;
    producer->result = node->out;
    tape->values[producer->result].node = input->node;
    input->fused_away = node->fused = true;
    return producer->op->shape(&producer->call);
}

/* ---- epilogues ---- */

/* The node whose forward computes x: the first of a chain of fused nodes. */
static gnn__node_t *producer_of(const gnn_tape_t *tape, gnn_var_t x)
{
    gnn__node_t *node = tape->nodes[tape->values[x].node];
    while (node->forward_fused)
        node = tape->nodes[tape->values[node->in[0]].node];
    return node;
}

/* True if x is computed before the node runs. */
static bool exists_before(const gnn_tape_t *tape, gnn_var_t x, const gnn__node_t *node)
{
    return tape->values[tape->values[x].base].node < tape->values[node->out].node;
}

/* Appends an operand to those of the producer. */
static const gnn_operand_t *add_operand(gnn__node_t *producer, const gnn__node_t *from, int input)
{
    const int slot = producer->call.n_in++;
    producer->in[slot] = from->in[input];
    producer->call.in[slot] = from->call.in[input];
    return &producer->call.in[slot];
}

static int fuse(gnn_tape_t *tape, gnn__node_t *producer, unsigned part, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    gnn__finish_t *finish = &producer->finish;
    if (!producer->companion.finish)
        *finish = (gnn__finish_t){.f = {.kind = GNN_IDENTITY}};
    producer->companion.finish = finish;
    *(part == GNN__FINISH_BIAS ? &finish->bias : &finish->summand) = add_operand(producer, node, 1);
    if (traits(node)->f) {
        finish->f = *traits(node)->f(node->attributes);
        finish->stream = node->call.rng.stream;
    }
    tape->values[node->in[0]].data_of = node->result;
    node->forward_fused = true;
    return producer->op->shape(&producer->call);
}

/* The parts of an epilogue that node k would be (GNN__FINISH_...); 0: none. */
static unsigned epilogue_of(const gnn__node_t *node)
{
    const bool biased = traits(node)->f != NULL;
    if (!biased && !is_sum(node))
        return 0;
    if (!biased && node->call.in[1].rows == node->call.in[0].rows)
        return GNN__FINISH_SUMMAND;
    return GNN__FINISH_BIAS | (biased && *rate_of(node) > 0 ? GNN__FINISH_DROPOUT : 0);
}

/* True if these parts fit after those already fused: the bias comes last. */
static bool epilogue_fits(const gnn__finish_t *finish, unsigned parts)
{
    return !finish || (!finish->bias && !(finish->summand && parts == GNN__FINISH_SUMMAND));
}

/* Fuses node k, which adds a matrix or a row to an op's output, into that op's epilogue if it has
 * one. */
static int fuse_epilogue(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    const unsigned parts = epilogue_of(node);
    if (!parts || !is_intermediate(tape, &tape->values[node->in[0]], k))
        return GNN_OK;
    gnn__node_t *producer = producer_of(tape, node->in[0]);
    if (!traits(producer)->finishes || !exists_before(tape, node->in[1], producer) ||
        !aliases_no_input(tape, node->result) || !epilogue_fits(producer->companion.finish, parts) ||
        (traits(producer)->finishes(&producer->call) & parts) != parts)
        return GNN_OK;
    return fuse(tape, producer, parts & (GNN__FINISH_SUMMAND | GNN__FINISH_BIAS), k);
}

/* ---- sums of two products ---- */

static gnn__product_kind_t kind_of(const gnn__node_t *node)
{
    return traits(node)->product ? traits(node)->product(&node->call) : GNN__PRODUCT_NONE;
}

/* The dense product that produces x if node k is its only reader; NULL otherwise. */
static gnn__node_t *sole_product(const gnn_tape_t *tape, gnn_var_t x, int32_t k)
{
    const gnn__value_t *v = &tape->values[x];
    gnn__node_t *node = is_intermediate(tape, v, k) ? tape->nodes[v->node] : NULL;
    return node && node->result == node->out && kind_of(node) != GNN__PRODUCT_NONE ? node : NULL;
}

static void fuse_products(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    if (!is_sum(node) || node->forward_fused || node->call.in[0].rows != node->call.in[1].rows ||
        !aliases_no_input(tape, node->result))
        return;
    gnn__node_t *x = sole_product(tape, node->in[0], k), *z = sole_product(tape, node->in[1], k);
    if (!x || !z || x == z)
        return;
    gnn__node_t *later = tape->values[x->out].node > tape->values[z->out].node ? x : z;
    if (kind_of(later) != GNN__PRODUCT_ADDS)
        return;
    *traits(later)->adds(later->attributes) = true;
    tape->values[x->out].data_of = tape->values[z->out].data_of = node->result;
    node->forward_fused = true;
}

/* ---- elementwise ops ---- */

static bool keeps_output(const gnn__node_t *node)
{
    bool keeps = false;
    for (int i = 0; i < node->call.n_out; i++)
        keeps |= node->call.out[i].keep;
    return keeps;
}

/* True if the node's backward reads x. */
static bool keeps_input(const gnn__node_t *node, gnn_var_t x)
{
    bool keeps = false;
    for (int i = 0; node->backward && i < node->n_own; i++)
        keeps |= node->in[i] == x && node->call.in[i].keep;
    return keeps;
}

static bool is_elementwise(const gnn__node_t *node)
{
    return (node->op->flags & GNN_OP_ELEMENTWISE) && node->n_own > 0 && node->call.in[0].present &&
           node->call.out[0].rows == node->call.in[0].rows &&
           node->call.out[0].cols == node->call.in[0].cols;
}

/* Node k writes in place if neither its own backward nor that of the producer reads the input. */
static void write_in_place(gnn_tape_t *tape, int32_t k)
{
    const gnn__node_t *node = tape->nodes[k];
    if (!is_elementwise(node) || node->fused || node->forward_fused)
        return;
    gnn__value_t *x = &tape->values[node->in[0]];
    if (!is_intermediate(tape, x, k) || tape->values[node->result].bound)
        return;
    const bool keeps =
        keeps_output(tape->nodes[x->node]) || keeps_output(producer_of(tape, node->in[0]));
    if (!tape->recording || (!keeps_input(node, node->in[0]) && !keeps))
        x->data_of = node->result;
}

int gnn__tape_fuse(gnn_tape_t *tape)
{
    for (int32_t k = 0; k < tape->n_nodes; k++)
        if (traits(tape->nodes[k])->is_dropout)
            GNN_TRY(fuse_dropout(tape, k));
    for (int32_t k = 0; k < tape->n_nodes; k++) {
        GNN_TRY(fuse_epilogue(tape, k));
        fuse_products(tape, k);
    }
    for (int32_t k = 0; k < tape->n_nodes; k++)
        write_in_place(tape, k);
    return GNN_OK;
}

/* ---- gradients of sums ---- */

/* True if one op reads x, as one of its inputs only. */
static bool read_once(const gnn_tape_t *tape, gnn_var_t x)
{
    int readers = 0;
    for (int32_t k = tape->values[tape->values[x].base].first_use;
         k <= tape->values[tape->values[x].base].last_use; k++)
        for (int i = 0; i < tape->nodes[k]->n_own; i++)
            readers += tape->nodes[k]->in[i] == x;
    return readers == 1;
}

/* True if the gradient of input i equals that of the sum. */
static bool passes_gradient(const gnn__node_t *sum, int i)
{
    const gnn_op_call_t *call = &sum->call;
    return (i == 0 || is_sum(sum)) && call->in[i].rows == call->out[0].rows;
}

static void share(gnn_tape_t *tape, const gnn__node_t *sum)
{
    gnn__value_t *y = &tape->values[sum->result];
    for (int i = 0; i < 2; i++) {
        gnn__value_t *x = &tape->values[sum->in[i]];
        if (!x->wants_grad || !passes_gradient(sum, i) || !read_once(tape, sum->in[i]))
            continue;
        if (x->kind == GNN__VALUE_OUTPUT && !x->has_views)
            x->grad_of = sum->result;
        else if (x->kind == GNN__VALUE_VIEW && tape->values[x->base].kind == GNN__VALUE_OUTPUT &&
                 tape->values[x->base].tiled && !y->has_views && y->grad_of == GNN_NONE)
            y->grad_of = sum->in[i];
    }
}

/* A summand that is a view of a tiled value lends its part of the gradient to the sum; other
 * summands use the sum's. */
void gnn__tape_share_gradients(gnn_tape_t *tape)
{
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        tape->values[x].grad_of = GNN_NONE;
    for (int32_t k = 0; tape->recording && k < tape->n_nodes; k++)
        if (traits(tape->nodes[k])->alpha && tape->nodes[k]->backward && !tape->nodes[k]->fused)
            share(tape, tape->nodes[k]);
}
