/* An LSTM that asks the set `hops` times: q, h = lstm([q, r], h), r = sum over j of softmax_j(q
 * x_j) x_j; [q, r] goes out. `graph` goes from nodes to one row a segment. Paper: Vinyals et al.
 * 2016. */
#include <lib/model/blocks/pieces.h>

/* [h | c] after gates that read [q, r] and h; the first step reads neither. */
static const char *ask(gnn_steps_t *steps, const gnn_block_t *b, int64_t t, const char *bias,
                       const char *read, const char *state)
{
    char owner[2][96];
    const char *gates = bias;
    if (t > 0) {
        const char *names[2] = {"lstm.ih", "lstm.hh"};
        const char *inputs[2] = {read, gnn__piece_columns(steps, b, gnn__numbered("h.", t, "").text,
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
            gates = gnn__piece_add(steps, b, gnn__numbered(k ? "gates." : "half.", t, "").text, z,
                                   gates, 1);
        }
    }
    return gnn__piece_op(steps, b, gnn__numbered("state.", t, "").text, &gnn_op_lstm_cell,
                         (const char *[3]){gates, t > 0 ? state : NULL}, 0, 0);
}

static const char *bias_of(gnn_steps_t *steps, const gnn_block_t *b, const char *part)
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
    const char *one = bias_of(steps, b, "bias_ih"), *two = bias_of(steps, b, "bias_hh"),
               *bias = gnn__piece_add(steps, b, "biases", one, two, 1);
    for (int64_t t = 0; t < hops; t++) {
        state = ask(steps, b, t, bias, read, state);
        const char *q = gnn__piece_columns(steps, b, gnn__numbered("q.", t, "").text, state, 0,
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
        read = gnn__piece_concat(steps, b, t < hops - 1 ? gnn__numbered("read.", t, "").text : "",
                                 (const char *[8]){q, r});
    }
}
