/* Layers' outputs weighed by what a bidirectional LSTM over them says: input is `hops` outputs of
 * `width` columns side by side, at most 8; `hidden` [hops width / 2] numbers of state in each
 * direction. Paper: Xu et al. 2018. */
#include <lib/model/blocks/pieces.h>

enum { MOST = 8 };

/* A product whose weights the first of its name owns: SIDE.WHAT, then SIDE.WHAT.n. */
static const char *product(gnn_steps_t *steps, const gnn_block_t *b, const char *side,
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

static const char *sum(gnn_steps_t *steps, const gnn_block_t *b, const char *side, const char *what,
                       int64_t n, const char *x, const char *z)
{
    char part[64];
    snprintf(part, sizeof part, "%s.%s.%lld", side, what, (long long)n);
    return gnn__piece_add(steps, b, part, x, z, 1);
}

/* One direction: the states of all steps, in the order of time. */
static void run(gnn_steps_t *steps, const gnn_block_t *b, const char *side, bool backward,
                const char *const x[MOST], int64_t hidden, const char *states[MOST])
{
    char part[64];
    const char *h = NULL, *state = NULL;
    snprintf(part, sizeof part, "%s.bias_hh", side);
    const char *bias = gnn__piece_constant(steps, b, part, 4 * hidden, GNN_ZERO);
    for (int64_t n = 0; n < b->hops; n++) {
        const int64_t t = backward ? b->hops - 1 - n : n;
        const char *gates = product(steps, b, side, "ih", n, x[t], b->width, 4 * hidden);
        gates = sum(steps, b, side, "biased", n, gates, bias);
        if (h)
            gates = sum(steps, b, side, "gates", n,
                        product(steps, b, side, "hh", n - 1, h, hidden, 4 * hidden), gates);
        snprintf(part, sizeof part, "%s.state.%lld", side, (long long)n);
        state =
            gnn__piece_op(steps, b, part, &gnn_op_lstm_cell, (const char *[3]){gates, state}, 0, 0);
        snprintf(part, sizeof part, "%s.h.%lld", side, (long long)n);
        states[t] = h = gnn__piece_columns(steps, b, part, state, 0, hidden);
    }
}

void gnn__block_jumping_lstm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hidden = b->hidden > 0 ? b->hidden : b->hops * b->width / 2;
    const char *x = gnn__block_input(steps, b), *parts[MOST] = {NULL}, *ahead[MOST] = {NULL},
               *back[MOST] = {NULL}, *scores[MOST] = {NULL};
    gnn__block_need(steps, b, "width, and .hops in 2..8",
                    b->width > 0 && b->hops > 1 && b->hops <= MOST);
    for (int64_t t = 0; t < b->hops && t < MOST; t++)
        parts[t] =
            gnn__piece_columns(steps, b, gnn__numbered("x.", t, "").text, x, t * b->width, b->width);
    if (steps->status != GNN_OK)
        return;
    run(steps, b, "ahead", false, parts, hidden, ahead);
    run(steps, b, "back", true, parts, hidden, back);
    for (int64_t t = 0; t < b->hops; t++) {
        const char *both = gnn__piece_concat(steps, b, gnn__numbered("both.", t, "").text,
                                             (const char *[8]){ahead[t], back[t]});
        scores[t] = product(steps, b, "att", "score", t, both, 2 * hidden, 1);
    }
    const char *all = gnn__piece_concat(steps, b, "scores", scores),
               *weights = gnn__piece_op(steps, b, "weights", &gnn_op_softmax_rows,
                                        (const char *[3]){all}, 0, 0);
    x = gnn__block_add(steps, b, "weighed",
                       (gnn_step_t){.kind = GNN_STEP_SCALE_HEADS, .inputs = {x, weights}});
    gnn__piece_op(steps, b, "", &gnn_op_fold_heads, (const char *[3]){x}, (double)b->hops, 0);
}
