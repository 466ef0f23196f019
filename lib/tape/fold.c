/* Joining ops while a tape is planned. Only then is it known who reads a value: a dropout whose input nobody else reads, and nobody wants to see, is done by the op that
 * makes this input, in the same sweep over memory; a biased activation likewise by an aggregation that is not recorded; and the gradient of a sum is its summands' own. A tape that is planned anew (a value became kept) is joined anew. */
#include <lib/aggregate/aggregate.h>
#include <lib/tape/tape.h>

static gnn__activation_t *settings(gnn__node_t *node)
{
    return (gnn__activation_t *)(void *)node->attributes;
}

/* Ops that can drop what they make. */
static bool drops_too(const gnn__node_t *node)
{
    return node->op == &gnn__op_bias || node->op == &gnn__op_activation;
}

/* Takes back what an earlier plan joined. */
static int separate(gnn_tape_t *tape)
{
    for (int32_t k = 0; k < tape->n_nodes; k++) {
        gnn__node_t *node = tape->nodes[k];
        const bool joined = !node->folded && node->result != node->out;
        node->folded = false;
        node->result = node->out;
        for (int i = 0; i < node->call.n_out; i++) {
            tape->values[node->out + i].node = k;
            tape->values[node->out + i].folded = false;
        }
        if (!joined)
            continue;
        if (node->op == &gnn__op_aggregate)
            node->call.n_in = GNN_AGGREGATE_INPUTS;
        else
            settings(node)->rate = 0;
        GNN_TRY(node->op->shape(&node->call));
    }
    return GNN_OK;
}

/* Nobody but node k reads it. */
static bool is_between(const gnn__value_t *v, int32_t k)
{
    return v->kind == GNN__VALUE_OUTPUT && !v->kept && !v->has_views && v->first_use == k &&
           v->last_use == k;
}

/* `maker` makes what node k would have made of its output. */
static int take_over(gnn_tape_t *tape, gnn__node_t *maker, int32_t k)
{
    gnn__value_t *between = &tape->values[tape->nodes[k]->in[0]];
    maker->result = tape->nodes[k]->out;
    tape->values[maker->result].node = between->node;
    between->folded = tape->nodes[k]->folded = true;
    return maker->op->shape(&maker->call);
}

static int join_dropout(gnn_tape_t *tape, gnn__node_t *maker, int32_t k)
{
    const gnn_op_call_t *dropout = &tape->nodes[k]->call;
    if (!drops_too(maker) || settings(maker)->rate > 0)
        return GNN_OK;
    settings(maker)->rate = ((const gnn__rate_t *)dropout->attributes)->rate;
    maker->call.rng.stream = dropout->rng.stream;
    return take_over(tape, maker, k);
}

static int join_bias(gnn_tape_t *tape, gnn__node_t *maker, int32_t k)
{
    gnn__node_t *bias = tape->nodes[k];
    if (tape->recording || maker->op != &gnn__op_aggregate || settings(bias)->rate > 0 ||
        !gnn__aggregate_finishes(&maker->call))
        return GNN_OK;
    ((gnn__finished_aggregate_t *)(void *)maker->attributes)->f = *settings(bias);
    maker->in[GNN_AGGREGATE_INPUTS] = bias->in[1];
    maker->call.in[GNN_AGGREGATE_INPUTS] = bias->call.in[1];
    maker->call.n_in = GNN_AGGREGATE_INPUTS + 1;
    return take_over(tape, maker, k);
}

int gnn__tape_fold(gnn_tape_t *tape)
{
    GNN_TRY(separate(tape));
    for (int32_t k = 0; k < tape->n_nodes; k++) {
        gnn__node_t *node = tape->nodes[k];
        if (node->op != &gnn__op_dropout && node->op != &gnn__op_bias)
            continue;
        const gnn__value_t *between = &tape->values[node->in[0]];
        if (!is_between(between, k))
            continue;
        gnn__node_t *maker = tape->nodes[between->node];
        GNN_TRY(node->op == &gnn__op_dropout ? join_dropout(tape, maker, k)
                                             : join_bias(tape, maker, k));
    }
    return GNN_OK;
}

_Static_assert(sizeof(gnn__finished_aggregate_t) <= GNN__ATTRIBUTE_BYTES &&
                   GNN_AGGREGATE_INPUTS < GNN_OP_INPUTS,
               "a node has room for an aggregation and what is joined to it");

/* ---- gradients of sums ---- */

/* One op reads it, and as one of its inputs only. */
static bool read_once(const gnn_tape_t *tape, gnn_var_t x)
{
    int readers = 0;
    for (int32_t k = tape->values[tape->values[x].base].first_use;
         k <= tape->values[tape->values[x].base].last_use; k++)
        for (int i = 0; i < tape->nodes[k]->call.n_in; i++)
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
