/* Joining ops while a tape is planned. Only then is it known who reads a value; one that a single op reads, and nobody wants to see, is a value in between:
 *
 *   dropout                     is done by the op that makes what it drops, forward and backward
 *   sum, biased activation      behind an aggregation: its forward makes them row by row
 *   sum of two products         the second product is added to what the first one wrote
 *   elementwise ops             write over what they read
 *   gradient of a sum           is its summands' own
 *
 * A tape that is planned anew (a value became kept) is joined anew. */
#include <lib/aggregate/aggregate.h>
#include <lib/tape/tape.h>

static gnn__activation_t *settings(gnn__node_t *node)
{
    return (gnn__activation_t *)(void *)node->attributes;
}

static gnn__finished_aggregate_t *finished(gnn__node_t *node)
{
    return (gnn__finished_aggregate_t *)(void *)node->attributes;
}

static gnn__linear_t *product(gnn__node_t *node)
{
    return (gnn__linear_t *)(void *)node->attributes;
}

/* Ops that can drop what they make. */
static bool drops_too(const gnn__node_t *node)
{
    return node->op == &gnn__op_bias || node->op == &gnn__op_activation;
}

static int separate(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    const bool finishes = node->call.n_in > node->n_own,
               drops = !node->folded && node->result != node->out;
    node->folded = node->done = false;
    node->result = node->out;
    for (int i = 0; i < node->call.n_out; i++) {
        gnn__value_t *v = &tape->values[node->out + i];
        v->node = k;
        v->folded = false;
    }
    node->call.n_in = node->n_own;
    if (drops)
        settings(node)->rate = 0;
    if (node->op == &gnn__op_linear)
        product(node)->adds = false;
    return finishes || drops ? node->op->shape(&node->call) : GNN_OK;
}

int gnn__tape_separate(gnn_tape_t *tape)
{
    for (int32_t k = 0; k < tape->n_nodes; k++)
        GNN_TRY(separate(tape, k));
    return GNN_OK;
}

/* Nobody but node k reads it. */
static bool is_between(const gnn__value_t *v, int32_t k)
{
    return v->kind == GNN__VALUE_OUTPUT && !v->kept && !v->has_views && v->first_use == k &&
           v->last_use == k;
}

/* y = x + z. */
static bool is_sum(const gnn__node_t *node)
{
    return node->op == &gnn__op_add && ((const gnn__add_t *)node->call.attributes)->alpha == 1;
}

/* May an op write to the value's memory while others still read inputs? Not where the caller's memory for it is an input's too. */
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

/* The node that makes input 0 of node k does it too, and makes what node k would have made. */
static int join_dropout(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    gnn__value_t *between = &tape->values[node->in[0]];
    gnn__node_t *maker = is_between(between, k) ? tape->nodes[between->node] : NULL;
    if (!maker || !drops_too(maker) || settings(maker)->rate > 0)
        return GNN_OK;
    settings(maker)->rate = ((const gnn__rate_t *)node->call.attributes)->rate;
    maker->call.rng.stream = node->call.rng.stream;
    maker->result = node->out;
    tape->values[maker->result].node = between->node;
    between->folded = node->folded = true;
    return maker->op->shape(&maker->call);
}

/* ---- aggregations that finish their rows ---- */

/* Whose forward makes the value: the first of those that were joined. */
static gnn__node_t *maker_of(const gnn_tape_t *tape, gnn_var_t x)
{
    gnn__node_t *node = tape->nodes[tape->values[x].node];
    while (node->done)
        node = tape->nodes[tape->values[node->in[0]].node];
    return node;
}

/* Is the value there before the node runs? */
static bool is_there(const gnn_tape_t *tape, gnn_var_t x, const gnn__node_t *node)
{
    return tape->values[tape->values[x].base].node < tape->values[node->out].node;
}

static void open_places(gnn__node_t *maker)
{
    for (int i = maker->n_own; i < GNN__THEN_INPUTS; i++) {
        maker->in[i] = GNN_NONE;
        maker->call.in[i] = (gnn_operand_t){0};
    }
    maker->call.n_in = GNN__THEN_INPUTS;
    finished(maker)->f = (gnn__activation_t){.kind = GNN_IDENTITY};
}

static int join(gnn_tape_t *tape, gnn__node_t *maker, int place, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    if (maker->call.n_in == maker->n_own)
        open_places(maker);
    maker->in[place] = node->in[1];
    maker->call.in[place] = node->call.in[1];
    if (node->op == &gnn__op_bias) {
        finished(maker)->f = *settings(node);
        finished(maker)->stream = node->call.rng.stream;
    }
    tape->values[node->in[0]].data_of = node->result;
    node->done = true;
    return maker->op->shape(&maker->call);
}

/* Where node k adds a matrix or a row to what an aggregation makes, the aggregation may do so; the row comes last. */
static int join_aggregate(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    const bool biased = node->op == &gnn__op_bias;
    if ((!biased && !is_sum(node)) || !is_between(&tape->values[node->in[0]], k))
        return GNN_OK;
    gnn__node_t *maker = maker_of(tape, node->in[0]);
    const gnn_operand_t *joined = maker->call.in;
    const int place = biased || node->call.in[1].rows != node->call.in[0].rows ? GNN__THEN_BIAS
                                                                               : GNN__THEN_SUMMAND;
    if (maker->op != &gnn__op_aggregate || !is_there(tape, node->in[1], maker) ||
        !is_apart(tape, node->result) ||
        (maker->call.n_in > maker->n_own && (joined[GNN__THEN_BIAS].present || joined[place].present)))
        return GNN_OK;
    const unsigned drops = biased && settings(node)->rate > 0,
                   needs = 1u << place | drops << GNN__THEN_INPUTS;
    return (gnn__aggregate_finishes(&maker->call) & needs) == needs ? join(tape, maker, place, k)
                                                                    : GNN_OK;
}

/* ---- sums of two products ---- */

/* The node of a dense product that only node k reads, or NULL. */
static gnn__node_t *product_for(const gnn_tape_t *tape, gnn_var_t x, int32_t k)
{
    const gnn__value_t *v = &tape->values[x];
    gnn__node_t *node = is_between(v, k) ? tape->nodes[v->node] : NULL;
    return node && node->op == &gnn__op_linear && !node->call.in[0].sparse ? node : NULL;
}

static void join_products(gnn_tape_t *tape, int32_t k)
{
    gnn__node_t *node = tape->nodes[k];
    if (!is_sum(node) || node->done || node->call.in[0].rows != node->call.in[1].rows ||
        !is_apart(tape, node->result))
        return;
    gnn__node_t *x = product_for(tape, node->in[0], k), *z = product_for(tape, node->in[1], k);
    if (!x || !z || x == z)
        return;
    gnn__node_t *later = tape->values[x->out].node > tape->values[z->out].node ? x : z;
    if (later->n_own > 2 && later->call.in[2].present)
        return;
    product(later)->adds = true;
    tape->values[x->out].data_of = tape->values[z->out].data_of = node->result;
    node->done = true;
}

/* ---- elementwise ops ---- */

static bool is_elementwise(const gnn__node_t *node)
{
    return node->op == &gnn__op_add || node->op == &gnn__op_bias ||
           node->op == &gnn__op_activation || node->op == &gnn__op_dropout;
}

/* Node k writes over its input where neither its own backward nor that of the input's maker asks for it. */
static void write_over(gnn_tape_t *tape, int32_t k)
{
    const gnn__node_t *node = tape->nodes[k];
    if (!is_elementwise(node) || node->folded || node->done)
        return;
    gnn__value_t *x = &tape->values[node->in[0]];
    if (!is_between(x, k) || tape->values[node->result].bound)
        return;
    const bool own = node->backward && (node->call.keep_in & 1u),
               makers = tape->nodes[x->node]->call.keep_out ||
                        maker_of(tape, node->in[0])->call.keep_out;
    if (!tape->recording || (!own && !makers))
        x->data_of = node->result;
}

int gnn__tape_fold(gnn_tape_t *tape)
{
    for (int32_t k = 0; k < tape->n_nodes; k++)
        if (tape->nodes[k]->op == &gnn__op_dropout)
            GNN_TRY(join_dropout(tape, k));
    for (int32_t k = 0; k < tape->n_nodes; k++) {
        GNN_TRY(join_aggregate(tape, k));
        join_products(tape, k);
    }
    for (int32_t k = 0; k < tape->n_nodes; k++)
        write_over(tape, k);
    return GNN_OK;
}

_Static_assert(sizeof(gnn__finished_aggregate_t) <= GNN__ATTRIBUTE_BYTES &&
                   GNN__THEN_INPUTS <= GNN_OP_INPUTS,
               "a node has room for an aggregation and what is joined to it");

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
    return (i == 0 || ((const gnn__add_t *)call->attributes)->alpha == 1) &&
           call->in[i].rows == call->out[0].rows;
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

/* A view among the summands lends its place in the whole to the sum; summands of their own borrow the sum's. */
void gnn__tape_share_gradients(gnn_tape_t *tape)
{
    for (gnn_var_t x = 0; x < tape->n_values; x++)
        tape->values[x].grad_of = GNN_NONE;
    for (int32_t k = 0; tape->recording && k < tape->n_nodes; k++)
        if (tape->nodes[k]->op == &gnn__op_add && tape->nodes[k]->backward && !tape->nodes[k]->folded)
            share(tape, tape->nodes[k]);
}
