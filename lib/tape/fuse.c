/* Joining ops while a tape is planned. Only then is it known who reads a value; one that a single
 * op reads, and that is not kept, is a value in between:
 *
 *   dropout                    is done by the op that makes what it drops, forward and backward
 *   sum, biased activation     behind an op that can finish its rows: its forward does them too
 *   sum of two products        the second product is added to what the first one wrote
 *   elementwise ops            write over what they read
 *   gradient of a sum          is its summands' own
 *
 * What an op can do its descriptor says (gnn/op.h, lib/ops/traits.h). A tape that is planned anew,
 * because a value became kept, is joined anew. */
#include <lib/tape/tape.h>

static const gnn__op_traits_t *traits(const gnn__node_t *node)
{
    static const gnn__op_traits_t none;
    return node->op->traits ? node->op->traits : &none;
}

/* Where the node's op has the rate of its dropout; NULL: it does none. */
static gnn_real_t *rate_of(const gnn__node_t *node)
{
    return traits(node)->rate ? traits(node)->rate(node->attributes) : NULL;
}

static int separate(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    const bool finishes = node->call.finish != NULL,
               drops = !node->absorbed && node->result != node->out;
    node->absorbed = node->joined = false;
    node->result = node->out;
    for (int i = 0; i < node->call.n_out; i++) {
        gnn__value_t *v = &tape->values[node->out + i];
        v->node = k;
        v->absent = false;
    }
    node->call.n_in = node->n_own;
    node->call.finish = NULL;
    if (drops)
        *rate_of(node) = 0;
    if (traits(node)->adds)
        *traits(node)->adds(node->attributes) = false;
    return finishes || drops ? node->op->shape(&node->call) : GNN_OK;
}

int gnn__tape_separate(gnn_tape_t *tape)
{
    for (int32_t k = 0; k < tape->n_nodes; k++)
        GNN_TRY(separate(tape, k));
    return GNN_OK;
}

/* Is node k its only reader? */
static bool is_between(const gnn__value_t *v, int32_t k)
{
    return v->kind == GNN__VALUE_OUTPUT && !v->kept && !v->has_views && v->first_use == k &&
           v->last_use == k;
}

/* y = x + z. */
static bool is_sum(const gnn__node_t *node)
{
    return traits(node)->alpha && traits(node)->alpha(node->attributes) == 1;
}

/* May an op write to the value's memory while others still read inputs? Not where the caller's
 * memory for it is an input's too. */
static bool is_apart(const gnn_tape_t *tape, gnn_var_t y)
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

/* The node that makes input 0 of node k, a dropout, does it too, and makes what node k would have
 * made. */
static int join_dropout(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    gnn__value_t *between = &tape->values[node->in[0]];
    gnn__node_t *maker = is_between(between, k) ? tape->nodes[between->node] : NULL;
    gnn_real_t *rate = maker && maker->call.n_out == 1 ? rate_of(maker) : NULL;
    if (!rate || *rate > 0)
        return GNN_OK;
    *rate = *rate_of(node);
    maker->call.rng.stream = node->call.rng.stream;
    maker->result = node->out;
    tape->values[maker->result].node = between->node;
    between->absent = node->absorbed = true;
    return maker->op->shape(&maker->call);
}

/* ---- ops that finish their rows ---- */

/* Whose forward makes the value: the first of those that were joined. */
static gnn__node_t *maker_of(const gnn_tape_t *tape, gnn_var_t x)
{
    gnn__node_t *node = tape->nodes[tape->values[x].node];
    while (node->joined)
        node = tape->nodes[tape->values[node->in[0]].node];
    return node;
}

/* Is the value there before the node runs? */
static bool is_there(const gnn_tape_t *tape, gnn_var_t x, const gnn__node_t *node)
{
    return tape->values[tape->values[x].base].node < tape->values[node->out].node;
}

/* The operand behind the maker's own. */
static const gnn_operand_t *add_operand(gnn__node_t *maker, const gnn__node_t *from, int input)
{
    const int place = maker->call.n_in++;
    maker->in[place] = from->in[input];
    maker->call.in[place] = from->call.in[input];
    return &maker->call.in[place];
}

static int join(gnn_tape_t *tape, gnn__node_t *maker, unsigned part, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    gnn__finish_t *finish = &maker->finish;
    if (!maker->call.finish)
        *finish = (gnn__finish_t){.f = {.kind = GNN_IDENTITY}};
    maker->call.finish = finish;
    *(part == GNN__FINISH_BIAS ? &finish->bias : &finish->summand) = add_operand(maker, node, 1);
    if (traits(node)->f) {
        finish->f = *traits(node)->f(node->attributes);
        finish->stream = node->call.rng.stream;
    }
    tape->values[node->in[0]].data_of = node->result;
    node->joined = true;
    return maker->op->shape(&maker->call);
}

/* Which part of a gnn__finish_t node k would be, and whether a dropout comes with it; 0: none. */
static unsigned finish_of(const gnn__node_t *node)
{
    const bool biased = traits(node)->f != NULL;
    if (!biased && !is_sum(node))
        return 0;
    if (!biased && node->call.in[1].rows == node->call.in[0].rows)
        return GNN__FINISH_SUMMAND;
    return GNN__FINISH_BIAS | (biased && *rate_of(node) > 0 ? GNN__FINISH_DROPOUT : 0);
}

/* Is there a place for these parts behind those that were joined before? The bias comes last. */
static bool has_place(const gnn__finish_t *finish, unsigned parts)
{
    return !finish || (!finish->bias && !(finish->summand && parts == GNN__FINISH_SUMMAND));
}

/* Where node k adds a matrix or a row to what an op makes that can finish its rows, that op does
 * it. */
static int join_rows(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    const unsigned parts = finish_of(node);
    if (!parts || !is_between(&tape->values[node->in[0]], k))
        return GNN_OK;
    gnn__node_t *maker = maker_of(tape, node->in[0]);
    if (!traits(maker)->finishes || !is_there(tape, node->in[1], maker) ||
        !is_apart(tape, node->result) || !has_place(maker->call.finish, parts) ||
        (traits(maker)->finishes(&maker->call) & parts) != parts)
        return GNN_OK;
    return join(tape, maker, parts & (GNN__FINISH_SUMMAND | GNN__FINISH_BIAS), k);
}

/* ---- sums of two products ---- */

static gnn__product_kind_t kind_of(const gnn__node_t *node)
{
    return traits(node)->product ? traits(node)->product(&node->call) : GNN__PRODUCT_NONE;
}

/* The node of a dense product that only node k reads, or NULL. */
static gnn__node_t *product_for(const gnn_tape_t *tape, gnn_var_t x, int32_t k)
{
    const gnn__value_t *v = &tape->values[x];
    gnn__node_t *node = is_between(v, k) ? tape->nodes[v->node] : NULL;
    return node && node->result == node->out && kind_of(node) != GNN__PRODUCT_NONE ? node : NULL;
}

static void join_products(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    if (!is_sum(node) || node->joined || node->call.in[0].rows != node->call.in[1].rows ||
        !is_apart(tape, node->result))
        return;
    gnn__node_t *x = product_for(tape, node->in[0], k), *z = product_for(tape, node->in[1], k);
    if (!x || !z || x == z)
        return;
    gnn__node_t *later = tape->values[x->out].node > tape->values[z->out].node ? x : z;
    if (kind_of(later) != GNN__PRODUCT_ADDS)
        return;
    *traits(later)->adds(later->attributes) = true;
    tape->values[x->out].data_of = tape->values[z->out].data_of = node->result;
    node->joined = true;
}

/* ---- elementwise ops ---- */

static bool keeps_output(const gnn__node_t *node)
{
    bool keeps = false;
    for (int i = 0; i < node->call.n_out; i++)
        keeps |= node->call.out[i].keep;
    return keeps;
}

/* Does the node's backward read the value? */
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

/* Node k writes over its input where neither its own backward nor that of the input's maker asks
 * for it. */
static void write_over(gnn_tape_t *tape, int32_t k)
{
    const gnn__node_t *node = tape->nodes[k];
    if (!is_elementwise(node) || node->absorbed || node->joined)
        return;
    gnn__value_t *x = &tape->values[node->in[0]];
    if (!is_between(x, k) || tape->values[node->result].bound)
        return;
    const bool makers =
        keeps_output(tape->nodes[x->node]) || keeps_output(maker_of(tape, node->in[0]));
    if (!tape->recording || (!keeps_input(node, node->in[0]) && !makers))
        x->data_of = node->result;
}

int gnn__tape_join(gnn_tape_t *tape)
{
    for (int32_t k = 0; k < tape->n_nodes; k++)
        if (traits(tape->nodes[k])->is_dropout)
            GNN_TRY(join_dropout(tape, k));
    for (int32_t k = 0; k < tape->n_nodes; k++) {
        GNN_TRY(join_rows(tape, k));
        join_products(tape, k);
    }
    for (int32_t k = 0; k < tape->n_nodes; k++)
        write_over(tape, k);
    return GNN_OK;
}

/* ---- gradients of sums ---- */

/* One op reads it, and as one of its inputs only. */
static bool read_once(const gnn_tape_t *tape, gnn_var_t x)
{
    int readers = 0;
    for (int32_t k = tape->values[tape->values[x].base].first_use;
         k <= tape->values[tape->values[x].base].last_use; k++)
        for (int i = 0; i < tape->nodes[k]->n_own; i++)
            readers += tape->nodes[k]->in[i] == x;
    return readers == 1;
}

/* The gradient of input i is that of the sum, number for number. */
static bool passes_on(const gnn__node_t *sum, int i)
{
    const gnn_op_call_t *call = &sum->call;
    return (i == 0 || is_sum(sum)) && call->in[i].rows == call->out[0].rows;
}

static void share(gnn_tape_t *tape, const gnn__node_t *sum)
{
    gnn__value_t *y = &tape->values[sum->result];
    for (int i = 0; i < 2; i++) {
        gnn__value_t *x = &tape->values[sum->in[i]];
        if (!x->wants_grad || !passes_on(sum, i) || !read_once(tape, sum->in[i]))
            continue;
        if (x->kind == GNN__VALUE_OUTPUT && !x->has_views)
            x->grad_of = sum->result;
        else if (x->kind == GNN__VALUE_VIEW && tape->values[x->base].kind == GNN__VALUE_OUTPUT &&
                 tape->values[x->base].tiled && !y->has_views && y->grad_of == GNN_NONE)
            y->grad_of = sum->in[i];
    }
}

/* A view among the summands lends its place in the whole to the sum; summands of their own borrow
 * the sum's. */
void gnn__tape_share_gradients(gnn_tape_t *tape)
{
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        tape->values[x].grad_of = GNN_NONE;
    for (int32_t k = 0; tape->recording && k < tape->n_nodes; k++)
        if (traits(tape->nodes[k])->alpha && tape->nodes[k]->backward && !tape->nodes[k]->absorbed)
            share(tape, tape->nodes[k]);
}
