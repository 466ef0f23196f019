/* Readouts: `graph` goes from the nodes of a segment to one row. And jumping knowledge, which reads
 * out several layers. */
#include <lib/model/blocks.h>

/* attentional: sum over nodes of softmax(g(x)) x with a linear gate g (PyG's
 * AttentionalAggregation). Li et al. 2016, eq. 7. */

void gnn__block_attentional(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    /* a value added to all scores of a receiver changes no weight: their mean serves as query */
    const char *gate = gnn__append_linear(steps, b, "gate_nn", x, b->width, 1, GNN_ON),
               *mean =
                   gnn__append_aggregate(steps, b, "mean", gate, &gnn_aggregator_mean, b->graph, 1),
               *query = gnn__block_add(steps, b, "query",
                                       (gnn_step_t){.kind = GNN_STEP_DETACH, .inputs = {mean}});
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                .inputs = {x},
                                .query = query,
                                .key = gate,
                                .graph = b->graph,
                                .layer = {.in = b->width,
                                          .aggregator = &gnn_aggregator_attention,
                                          .score = &gnn_score_additive,
                                          .slope = 1}});
}

/* set2set: an LSTM that queries the set `hops` times: q, h = lstm([q, r], h), r = sum over j of
 * softmax_j(q x_j) x_j; the output is [q, r]. Vinyals et al. 2016. */

/* [h, c] from gates that read [q, r] and h; the first step has neither. */
static const char *lstm_step(gnn_steps_t *steps, const gnn_block_t *b, int64_t t, const char *bias,
                             const char *read, const char *state)
{
    char owner[2][96];
    const char *gates = bias;
    if (t > 0) {
        const char *names[2] = {"lstm.ih", "lstm.hh"};
        const char *inputs[2] = {read, gnn__append_columns(steps, b, gnn__numbered("h.", t, "").text,
                                                           state, 0, b->width)};
        for (int k = 0; k < 2; k++) {
            snprintf(owner[k], sizeof owner[k], "%s.%s", b->name, names[k]);
            const char *z =
                gnn__block_add(steps, b, t == 1 ? names[k] : gnn__numbered(names[k], t, "").text,
                               (gnn_step_t){.kind = GNN_STEP_LINEAR,
                                            .inputs = {inputs[k]},
                                            .in = (2 - k) * b->width,
                                            .out = 4 * b->width,
                                            .bias = GNN_OFF,
                                            .share = t == 1 ? NULL : owner[k]});
            gates = gnn__append_add(steps, b, gnn__numbered(k ? "gates." : "half.", t, "").text, z,
                                    gates, 1);
        }
    }
    return gnn__append_op(steps, b, gnn__numbered("state.", t, "").text, &gnn_op_lstm_cell,
                          (const char *[3]){gates, t > 0 ? state : NULL}, 0, 0);
}

static const char *lstm_bias(gnn_steps_t *steps, const gnn_block_t *b, const char *part)
{
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_PARAMETER,
                                       .rows = 1,
                                       .out = 4 * b->width,
                                       .factor = GNN_ZERO,
                                       .each_segment = GNN_ON,
                                       .graph = b->graph});
}

void gnn__block_set2set(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b), *read = NULL, *state = NULL;
    const int64_t hops = b->hops > 0 ? b->hops : 1;
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *one = lstm_bias(steps, b, "bias_ih"), *two = lstm_bias(steps, b, "bias_hh"),
               *bias = gnn__append_add(steps, b, "biases", one, two, 1);
    for (int64_t t = 0; t < hops; t++) {
        state = lstm_step(steps, b, t, bias, read, state);
        const char *q = gnn__append_columns(steps, b, gnn__numbered("q.", t, "").text, state, 0,
                                            b->width),
                   *r = gnn__block_add(steps, b, gnn__numbered("r.", t, "").text,
                                       (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                                    .inputs = {x},
                                                    .query = q,
                                                    .key = x,
                                                    .graph = b->graph,
                                                    .layer = {.in = b->width,
                                                              .aggregator = &gnn_aggregator_attention,
                                                              .scale = 1}});
        read = gnn__append_concat(steps, b, t < hops - 1 ? gnn__numbered("read.", t, "").text : "",
                                  (const char *[8]){q, r});
    }
}

/* lstm_readout: the last state of an LSTM over the nodes of a segment, in their order. Hamilton et
 * al. 2017. */

void gnn__block_lstm_readout(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *in = gnn__append_rows(steps, b, "weight_ih", b->width, 4 * out),
               *own = gnn__append_rows(steps, b, "weight_hh", out, 4 * out),
               *one = gnn__append_constant(steps, b, "bias_ih", 4 * out, GNN_ZERO),
               *two = gnn__append_constant(steps, b, "bias_hh", 4 * out, GNN_ZERO),
               *bias = gnn__append_add(steps, b, "biases", one, two, 1);
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.kind = GNN_STEP_OP,
                                .op = &gnn_op_lstm_senders,
                                .inputs = {x, in, own, bias},
                                .graph = b->graph});
}

/* jumping_knowledge: `hops` layers; the output is all of their outputs, concatenated, or the
 * largest of each element. Xu et al. 2018. */

enum { MOST_LAYERS = 8 }; /* inputs of a step */

void gnn__block_jumping_knowledge(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *gathered[MOST_LAYERS] = {NULL}, *input = gnn__block_input(steps, b);
    const int64_t hops = b->hops > 0 ? b->hops : 1;
    gnn_layer_config_t layer = b->layer;
    char part[48];
    gnn__block_need(steps, b, "hops in 1..8", hops <= MOST_LAYERS);
    for (int64_t k = 0; k < hops && k < MOST_LAYERS; k++) {
        snprintf(part, sizeof part, "%lld", (long long)k);
        gathered[k] = input = gnn__block_add(
            steps, b, part, (gnn_step_t){.inputs = {input}, .graph = b->graph, .layer = layer});
        if (layer.out > 0)
            layer.in = b->width > 0 ? b->width : layer.out;
    }
    gnn__append_inputs(steps, b, "",
                       hops == 1              ? GNN_STEP_SCALE
                       : b->maximum == GNN_ON ? GNN_STEP_MAXIMUM
                                              : GNN_STEP_CONCAT,
                       gathered);
}

/* jumping_lstm: layers' outputs weighted by attention scores of a bidirectional LSTM over them.
 * Input: `hops` outputs of `width` columns, concatenated, at most 8; `hidden` [hops width / 2]
 * columns of state per direction. Xu et al. 2018. */

/* A product with the weights of the first one of its name: SIDE.WHAT, then SIDE.WHAT.n. */
static const char *shared_linear(gnn_steps_t *steps, const gnn_block_t *b, const char *side,
                                 const char *what, int64_t n, const char *x, int64_t in, int64_t out)
{
    char part[64], owner[128];
    snprintf(owner, sizeof owner, "%s.%s.%s", b->name, side, what);
    snprintf(part, sizeof part, n == 0 ? "%s.%s" : "%s.%s.%lld", side, what, (long long)n);
    return gnn__block_add(steps, b, part,
                          (gnn_step_t){.kind = GNN_STEP_LINEAR,
                                       .inputs = {x},
                                       .in = in,
                                       .out = out,
                                       .bias = strcmp(what, "hh") == 0 ? GNN_OFF : GNN_ON,
                                       .share = n == 0 ? NULL : owner});
}

static const char *lstm_sum(gnn_steps_t *steps, const gnn_block_t *b, const char *side,
                            const char *what, int64_t n, const char *x, const char *z)
{
    char part[64];
    snprintf(part, sizeof part, "%s.%s.%lld", side, what, (long long)n);
    return gnn__append_add(steps, b, part, x, z, 1);
}

/* One direction: the states of all steps, in the order of the layers. */
static void lstm_direction(gnn_steps_t *steps, const gnn_block_t *b, const char *side,
                           bool backward, const char *const x[MOST_LAYERS], int64_t hidden,
                           const char *states[MOST_LAYERS])
{
    char part[64];
    const char *h = NULL, *state = NULL;
    snprintf(part, sizeof part, "%s.bias_hh", side);
    const char *bias = gnn__append_constant(steps, b, part, 4 * hidden, GNN_ZERO);
    for (int64_t n = 0; n < b->hops; n++) {
        const int64_t t = backward ? b->hops - 1 - n : n;
        const char *gates = shared_linear(steps, b, side, "ih", n, x[t], b->width, 4 * hidden);
        gates = lstm_sum(steps, b, side, "biased", n, gates, bias);
        if (h)
            gates =
                lstm_sum(steps, b, side, "gates", n,
                         shared_linear(steps, b, side, "hh", n - 1, h, hidden, 4 * hidden), gates);
        snprintf(part, sizeof part, "%s.state.%lld", side, (long long)n);
        state =
            gnn__append_op(steps, b, part, &gnn_op_lstm_cell, (const char *[3]){gates, state}, 0, 0);
        snprintf(part, sizeof part, "%s.h.%lld", side, (long long)n);
        states[t] = h = gnn__append_columns(steps, b, part, state, 0, hidden);
    }
}

void gnn__block_jumping_lstm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hidden = b->hidden > 0 ? b->hidden : b->hops * b->width / 2;
    const char *x = gnn__block_input(steps, b), *parts[MOST_LAYERS] = {NULL},
               *ahead[MOST_LAYERS] = {NULL}, *back[MOST_LAYERS] = {NULL},
               *scores[MOST_LAYERS] = {NULL};
    gnn__block_need(steps, b, "width, and .hops in 2..8",
                    b->width > 0 && b->hops > 1 && b->hops <= MOST_LAYERS);
    for (int64_t t = 0; t < b->hops && t < MOST_LAYERS; t++)
        parts[t] = gnn__append_columns(steps, b, gnn__numbered("x.", t, "").text, x, t * b->width,
                                       b->width);
    if (steps->status != GNN_OK)
        return;
    lstm_direction(steps, b, "ahead", false, parts, hidden, ahead);
    lstm_direction(steps, b, "back", true, parts, hidden, back);
    for (int64_t t = 0; t < b->hops; t++) {
        const char *both = gnn__append_concat(steps, b, gnn__numbered("both.", t, "").text,
                                              (const char *[8]){ahead[t], back[t]});
        scores[t] = shared_linear(steps, b, "att", "score", t, both, 2 * hidden, 1);
    }
    const char *all = gnn__append_concat(steps, b, "scores", scores),
               *weights = gnn__append_op(steps, b, "weights", &gnn_op_softmax_rows,
                                         (const char *[3]){all}, 0, 0);
    x = gnn__block_add(steps, b, "weighed",
                       (gnn_step_t){.kind = GNN_STEP_SCALE_HEADS, .inputs = {x, weights}});
    gnn__append_op(steps, b, "", &gnn_op_fold_heads, (const char *[3]){x}, (double)b->hops, 0);
}
