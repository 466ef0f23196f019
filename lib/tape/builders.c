/* The builders of ops: public functions that put an op on a tape. */
#include <graphs/halo.h>
#include <lib/aggregate/aggregate.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/ops/ops.h>
#include <lib/tape/tape.h>

gnn_var_t gnn_tape_linear(gnn_tape_t *tape, gnn_var_t x, gnn_var_t w, gnn_var_t b)
{
    GNN__NEED_OR(tape, GNN_NONE);
    gnn__value_t *input = gnn__tape_at(tape, x);
    if (!input)
        return GNN_NONE;
    gnn_real_t rate = input->sparse_dropout;
    uint32_t stream = input->stream;
    gnn_var_t y = gnn_tape_op(tape, &gnn__op_linear, (gnn_var_t[]){x, w, b}, 3,
                              &(gnn__linear_settings_t){.sparse_dropout = rate},
                              sizeof(gnn__linear_settings_t));
    if (rate > 0)
        gnn__tape_set_stream(tape, y, stream);
    return y;
}

gnn_var_t gnn_tape_linear_transposed(gnn_tape_t *tape, gnn_var_t x, gnn_var_t w, gnn_var_t b)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_linear, (gnn_var_t[]){x, w, b}, 3,
                       &(gnn__linear_settings_t){.transposed = true}, sizeof(gnn__linear_settings_t));
}

gnn_var_t gnn_tape_add(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z, gnn_real_t alpha)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_add, (gnn_var_t[]){x, z}, 2, &(gnn__add_settings_t){alpha},
                       sizeof(gnn__add_settings_t));
}

gnn_var_t gnn_tape_add_scaled(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z, gnn_var_t eps)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_add_scaled, (gnn_var_t[]){x, z, eps}, 3, NULL, 0);
}

gnn_var_t gnn_tape_scale(gnn_tape_t *tape, gnn_var_t x, gnn_real_t alpha)
{
    GNN__NEED_OR(tape, GNN_NONE);
    if (alpha == 1)
        return gnn__tape_at(tape, x) ? x : GNN_NONE;
    return gnn_tape_op(tape, &gnn__op_scale, &x, 1, &(gnn__scale_settings_t){.alpha = alpha},
                       sizeof(gnn__scale_settings_t));
}

gnn_var_t gnn_tape_multiply(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_multiply, (gnn_var_t[]){x, z}, 2,
                       &(gnn__multiply_settings_t){0}, sizeof(gnn__multiply_settings_t));
}

gnn_var_t gnn_tape_scale_heads(gnn_tape_t *tape, gnn_var_t x, gnn_var_t g)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_scale_heads, (gnn_var_t[]){x, g}, 2,
                       &(gnn__multiply_settings_t){0}, sizeof(gnn__multiply_settings_t));
}

gnn_var_t gnn_tape_maximum(gnn_tape_t *tape, const gnn_var_t *x, int count)
{
    GNN__NEED_OR(tape, GNN_NONE);
    if (count > 0)
        GNN__NEED_ON(tape, x);
    return gnn_tape_op(tape, &gnn__op_maximum, x, count, NULL, 0);
}

gnn_var_t gnn_tape_activation(gnn_tape_t *tape, gnn_var_t x, gnn_activation_t kind, gnn_real_t slope)
{
    GNN__NEED_OR(tape, GNN_NONE);
    if (kind == GNN_IDENTITY || kind == GNN_ACTIVATION_DEFAULT)
        return gnn__tape_at(tape, x) ? x : GNN_NONE;
    gnn__activation_settings_t how = {kind, slope == 0 ? (gnn_real_t)0.2 : slope, 0};
    return gnn_tape_op(tape, &gnn__op_activation, &x, 1, &how, sizeof how);
}

/* The last node, if it is x = z + bias with one row of bias, and an op exists that fuses it with
 * the activation. */
static gnn__node_t *biased_sum(const gnn_tape_t *tape, gnn_var_t x,
                               const gnn__activation_settings_t *how)
{
    if (tape->n_nodes == 0 || x != tape->n_values - 1 || gnn__ranks_split(tape->context))
        return NULL;
    const gnn__value_t *v = &tape->values[x];
    gnn__node_t *node = tape->nodes[tape->n_nodes - 1];
    const gnn__op_traits_t *traits = node->op->traits;
    const gnn_operand_t *in = node->call.in;
    if (v->node != tape->n_nodes - 1 || v->kept || !traits || !traits->with_activation ||
        traits->alpha(node->attributes) != 1 || in[1].rows != 1 || in[0].rows == 1)
        return NULL;
    return !node->backward || gnn__activation_from_output(how->kind, how->slope) ? node : NULL;
}

gnn_var_t gnn__tape_activate(gnn_tape_t *tape, gnn_var_t x, gnn_activation_t kind, gnn_real_t slope)
{
    const gnn__activation_settings_t how = {kind, slope == 0 ? (gnn_real_t)0.2 : slope, 0};
    if (kind == GNN_IDENTITY || kind == GNN_ACTIVATION_DEFAULT || !gnn__tape_at(tape, x))
        return gnn_tape_activation(tape, x, kind, slope);
    gnn__node_t *node = biased_sum(tape, x, &how);
    if (!node)
        return gnn_tape_activation(tape, x, kind, slope);
    node->op = node->op->traits->with_activation;
    memcpy(node->attributes, &how, sizeof how);
    return gnn_tape_fail(tape, node->op->shape(&node->call)) == GNN_OK ? x : GNN_NONE;
}

/* True if an op may fuse this dropout: the rate drops something and is valid (gnn_tape_dropout
 * refuses others). */
static bool drops(const gnn_tape_t *tape, gnn_real_t rate)
{
    return tape->training && rate >= (gnn_real_t)1e-30 && rate < 1;
}

/* A sparse value stays sparse: linear drops its stored values as it reads them. */
static gnn_var_t sparse_dropout(gnn_tape_t *tape, gnn_var_t x, gnn_real_t rate)
{
    gnn_var_t dropped = gnn_tape_sparse(tape, tape->values[x].sparse);
    if (dropped != GNN_NONE) {
        tape->values[dropped].sparse_dropout = rate;
        tape->values[dropped].stream = gnn__tape_next_stream(tape);
    }
    return dropped;
}

gnn_var_t gnn_tape_dropout(gnn_tape_t *tape, gnn_var_t x, gnn_real_t rate)
{
    GNN__NEED_OR(tape, GNN_NONE);
    gnn__value_t *v = gnn__tape_at(tape, x);
    if (!v)
        return GNN_NONE;
    if (!(rate >= 0 && rate < 1)) {
        gnn_tape_fail(tape, gnn__error(GNN_EINVALID, "%s%sexpected a dropout rate in [0, 1), got %g",
                                       tape->where, *tape->where ? ": " : "", (double)rate));
        return GNN_NONE;
    }
    if (rate < (gnn_real_t)1e-30 || !tape->training)
        return x;
    if (v->sparse)
        return sparse_dropout(tape, x, rate);
    return gnn_tape_op(tape, &gnn__op_dropout, &x, 1, &(gnn__dropout_settings_t){rate},
                       sizeof(gnn__dropout_settings_t));
}

gnn_var_t gnn_tape_norm(gnn_tape_t *tape, gnn_norm_t kind, gnn_var_t x, gnn_var_t gain,
                        gnn_var_t shift, gnn_real_t eps, const gnn_tensor_t *running,
                        gnn_real_t momentum)
{
    GNN__NEED_OR(tape, GNN_NONE);
    if (kind == GNN_NORM_NONE || kind == GNN_NORM_DEFAULT)
        return gnn__tape_at(tape, x) ? x : GNN_NONE;
    if (kind == GNN_NORM_L2)
        return gnn_tape_op(tape, &gnn__op_unit_rows, &x, 1, &(gnn__heads_settings_t){1},
                           sizeof(gnn__heads_settings_t));
    gnn__norm_settings_t how = {kind, eps, momentum, running ? *running : (gnn_tensor_t){0}, 0};
    return gnn_tape_op(tape, &gnn__op_norm, (gnn_var_t[]){x, gain, shift}, 3, &how, sizeof how);
}

gnn_var_t gnn__tape_add_norm(gnn_tape_t *tape, const gnn__norm_settings_t *how, gnn_var_t x,
                             gnn_var_t residual, gnn_var_t gain, gnn_var_t shift)
{
    gnn__norm_settings_t own = *how;
    const bool drop = drops(tape, own.rate);
    const uint32_t stream = drop ? gnn__tape_next_stream(tape) : 0;
    if (!drop) {
        residual = gnn_tape_dropout(tape, residual, own.rate);
        own.rate = 0;
    }
    gnn_var_t y = gnn_tape_op(tape, &gnn__op_norm, (gnn_var_t[]){x, gain, shift, residual}, 4, &own,
                              sizeof own);
    if (drop)
        gnn__tape_set_stream(tape, y, stream);
    return y;
}

gnn_var_t gnn_tape_concat(gnn_tape_t *tape, const gnn_var_t *x, int count)
{
    GNN__NEED_OR(tape, GNN_NONE);
    if (count > 0)
        GNN__NEED_ON(tape, x);
    return gnn_tape_op(tape, &gnn__op_concat, x, count, NULL, 0);
}

gnn_var_t gnn_tape_stack(gnn_tape_t *tape, const gnn_var_t *x, int count)
{
    GNN__NEED_OR(tape, GNN_NONE);
    if (count > 0)
        GNN__NEED_ON(tape, x);
    return gnn_tape_op(tape, &gnn__op_stack, x, count, NULL, 0);
}

gnn_var_t gnn_tape_repeat_rows(gnn_tape_t *tape, gnn_var_t x, int64_t times)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_repeat_rows, &x, 1, &(gnn__repeat_settings_t){times},
                       sizeof(gnn__repeat_settings_t));
}

gnn_var_t gnn_tape_edge_rows(gnn_tape_t *tape, gnn_var_t x, const gnn_graph_t *graph, gnn_sides_t side)
{
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, graph);
    return gnn_tape_op(tape, &gnn__op_edge_rows, &x, 1, &(gnn__edge_rows_settings_t){graph, side},
                       sizeof(gnn__edge_rows_settings_t));
}

gnn_var_t gnn_tape_gather(gnn_tape_t *tape, gnn_var_t table, gnn_var_t ids)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn_op_pick_rows, (gnn_var_t[]){table, ids}, 2, NULL, 0);
}

gnn_var_t gnn_tape_head_dot(gnn_tape_t *tape, gnn_var_t x, gnn_var_t a, int64_t heads)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_head_dot, (gnn_var_t[]){x, a}, 2,
                       &(gnn__heads_settings_t){heads}, sizeof(gnn__heads_settings_t));
}

gnn_var_t gnn_tape_head_mean(gnn_tape_t *tape, gnn_var_t x, int64_t heads)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_head_mean, &x, 1, &(gnn__heads_settings_t){heads},
                       sizeof(gnn__heads_settings_t));
}

gnn_var_t gnn_tape_gru(gnn_tape_t *tape, gnn_var_t gates_x, gnn_var_t gates_h, gnn_var_t h)
{
    GNN__NEED_OR(tape, GNN_NONE);
    return gnn_tape_op(tape, &gnn__op_gru, (gnn_var_t[]){gates_x, gates_h, h}, 3, NULL, 0);
}

gnn_var_t gnn_tape_weight_norm(gnn_tape_t *tape, gnn_var_t weight, const gnn_graph_t *graph,
                               gnn_flag_t self_loops, gnn_graph_norm_t kind)
{
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, graph);
    return gnn__tape_weigh_edges(tape, weight, graph, self_loops, kind, 1);
}

gnn_var_t gnn__tape_weigh_edges(gnn_tape_t *tape, gnn_var_t weight, const gnn_graph_t *graph,
                                gnn_flag_t self_loops, gnn_graph_norm_t kind, gnn_real_t loop_weight)
{
    gnn__weight_norm_settings_t how = {graph, self_loops, kind, loop_weight};
    return gnn_tape_op(tape, &gnn__op_weight_norm, &weight, 1, &how, sizeof how);
}

static void add_halo(gnn_tape_t *tape, const gnn_graph_t *graph, bool senders, gnn_var_t *x)
{
    gnn__halo_settings_t halo;
    memset(&halo, 0, sizeof halo); /* settings are compared with their padding */
    halo.graph = graph;
    halo.senders = senders;
    if (*x != GNN_NONE)
        *x = gnn__tape_op_once(tape, &gnn__op_halo_rows, *x, &halo, sizeof halo);
}

/* Over ranks: rows of nodes get those of the halo before the aggregation, which the output loses
 * again. */
static gnn_var_t aggregate_over_ranks(gnn_tape_t *tape, const gnn_aggregate_t *how,
                                      const gnn_var_t *inputs)
{
    static const struct {
        int input;
        bool senders;
    } nodes[] = {{GNN_AGGREGATE_SRC_MESSAGE, true},  {GNN_AGGREGATE_KEY, true},
                 {GNN_AGGREGATE_DST_MESSAGE, false}, {GNN_AGGREGATE_QUERY, false},
                 {GNN_AGGREGATE_GATE, false},        {GNN_AGGREGATE_PRIOR_QUERY, false}};
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    gnn_aggregate_t wide = *how;
    wide.graph = how->graph->halo->wide;
    memcpy(in, inputs, sizeof in);
    for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++)
        add_halo(tape, how->graph, nodes[k].senders, &in[nodes[k].input]);
    for (int p = 0; p < GNN_PRIORS; p++)
        if (how->priors[p].row && how->priors[p].row->numbers != GNN_PRIOR_SHARED)
            add_halo(tape, how->graph, how->priors[p].row->numbers == GNN_PRIOR_PER_SENDER,
                     &in[GNN_AGGREGATE_PRIOR_0 + p]);
    const gnn_var_t y =
        gnn_tape_op(tape, &gnn__op_aggregate, in, GNN_AGGREGATE_INPUTS, &wide, sizeof wide);
    return gnn_tape_op(tape, &gnn__op_own_rows, &y, 1, &(gnn__halo_settings_t){how->graph, false},
                       sizeof(gnn__halo_settings_t));
}

gnn_var_t gnn_tape_aggregate(gnn_tape_t *tape, const gnn_aggregate_t *how, const gnn_var_t *inputs)
{
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, how);
    GNN__NEED_ON(tape, inputs);
    if (how && how->graph && how->graph->halo)
        return aggregate_over_ranks(tape, how, inputs);
    return gnn_tape_op(tape, &gnn__op_aggregate, inputs, GNN_AGGREGATE_INPUTS, how, sizeof *how);
}

gnn_var_t gnn_tape_loss(gnn_tape_t *tape, gnn_var_t logits, const gnn_loss_t *loss)
{
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, loss);
    return gnn_tape_op(tape, &gnn__op_loss, &logits, 1, loss, sizeof *loss);
}
