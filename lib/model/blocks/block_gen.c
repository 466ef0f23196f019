/* GENConv: messages relu(W_s x_j) + 1e-7, combined by layer.aggregator (softmax, where none is
 * named), or with .factor by a power mean whose exponent starts there; added to W_d x_i, then an
 * mlp. The products of senders and receivers are there where widths differ; the mlp has `hidden`
 * inner columns with norm layer.norm [layer], or is one product where that is 0. Paper: Li et al.
 * 2020 (DeeperGCN). */
#include <lib/model/blocks/pieces.h>

static const char *mlp(gnn_steps_t *steps, const gnn_block_t *b, const char *x, int64_t out)
{
    if (b->hidden == 0)
        return gnn__piece_linear(steps, b, "mlp.0", x, out, out, GNN_OFF);
    gnn__piece_linear(steps, b, "mlp.0", x, out, b->hidden, GNN_OFF);
    gnn__block_add(
        steps, b, "mlp.1",
        (gnn_step_t){.kind = GNN_STEP_NORM,
                     .in = b->hidden,
                     .norm = b->layer.norm > GNN_NORM_NONE ? b->layer.norm : GNN_NORM_LAYER});
    x = gnn__piece_activation(steps, b, "mlp.2", NULL, GNN_RELU);
    return gnn__piece_linear(steps, b, "mlp.4", x, b->hidden, out, GNN_OFF);
}

/* The step NAME.aggr_module. */
static const char *combined(gnn_steps_t *steps, const gnn_block_t *b, const char *sent, int64_t out)
{
    const gnn_aggregator_t *a = b->layer.aggregator;
    char name[160];
    if (b->factor == 0)
        return gnn__piece_heard(steps, b, "aggr_module", sent, a ? a : &gnn_aggregator_softmax_mean,
                                b->graph, out);
    snprintf(name, sizeof name, "%s.aggr_module", b->name);
    gnn__block_power_mean(
        steps,
        &(gnn_block_t){
            .name = name, .input = sent, .graph = b->graph, .width = out, .factor = b->factor});
    return steps->status == GNN_OK ? steps->list[steps->count - 1].name : "";
}

void gnn__block_gen(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b), *sent = x;
    gnn__block_need(steps, b, "width", b->width > 0);
    if (out != b->width) {
        sent = gnn__piece_linear(steps, b, "lin_src", x, b->width, out, GNN_OFF);
        x = gnn__piece_linear(steps, b, "lin_dst", x, b->width, out, GNN_OFF);
    }
    sent = gnn__piece_activation(steps, b, "message", sent, GNN_RELU);
    sent = gnn__piece_op(steps, b, "shifted", &gnn_op_power, (const char *[3]){sent}, 1, 1e-7);
    x = gnn__piece_add(steps, b, "sum", combined(steps, b, sent, out), x, 1);
    gnn__piece_same(steps, b, "", mlp(steps, b, x, out));
}
