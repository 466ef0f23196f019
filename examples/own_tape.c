/* New maths without a layer or a model: a recurrent network on a tape, with a training loop of its
 * own. The program remembers the first letter of a word:
 *
 *     h_t = GRU(W e(x_t), U h_t-1),    logits = norm(max_t h_t + h_T) E'
 *
 * E embeds the letters and, transposed, scores them (tied embeddings). */
#include <gnn/gnn.h>
#include <gnn/tape.h>
#include <gnn/train.h>
#include <stdio.h>
#include <stdlib.h>

enum { LETTERS = 8, LENGTH = 6, WORDS = 64, WIDTH = 16, STEPS = 300 };

typedef struct {
    gnn_parameters_t *parameters;
    int32_t embedding, w, w_bias, u, u_bias, gain, shift;
    gnn_tape_t *tape;
    gnn_var_t logits, loss;
    int32_t letters[LENGTH][WORDS];
    gnn_real_t zeros[WORDS * WIDTH];
} net_t;

/* ---- parameters ---- */

static int declare(net_t *net, gnn_context_t *context)
{
    gnn_parameters_t *p;
    GNN_TRY(gnn_parameters_new(&net->parameters));
    p = net->parameters;
    GNN_TRY(gnn_parameters_add(p, "embedding", LETTERS, WIDTH, GNN_INIT_NORMAL, 0.3, 0, 0,
                               &net->embedding));
    GNN_TRY(gnn_parameters_add(p, "w", WIDTH, 3 * WIDTH, GNN_INIT_GLOROT, 0, 0, 0, &net->w));
    GNN_TRY(gnn_parameters_add(p, "w.bias", 1, 3 * WIDTH, GNN_INIT_ZEROS, 0, 0, 0, &net->w_bias));
    GNN_TRY(gnn_parameters_add(p, "u", WIDTH, 3 * WIDTH, GNN_INIT_GLOROT, 0, 0, 0, &net->u));
    GNN_TRY(gnn_parameters_add(p, "u.bias", 1, 3 * WIDTH, GNN_INIT_ZEROS, 0, 0, 0, &net->u_bias));
    GNN_TRY(gnn_parameters_add(p, "gain", 1, WIDTH, GNN_INIT_ONES, 0, 0, 0, &net->gain));
    GNN_TRY(gnn_parameters_add(p, "shift", 1, WIDTH, GNN_INIT_ZEROS, 0, 0, 0, &net->shift));
    return gnn_parameters_allocate(p, context); /* drawn by the seed of the context */
}

static gnn_var_t parameter(const net_t *net, int32_t id)
{
    return gnn_tape_parameter(net->tape, net->parameters, id);
}

/* ---- the network: recorded once, run in every step. Errors are sticky ---- */

static int record(net_t *net, int training)
{
    const gnn_tensor_t start = gnn_tensor(net->zeros, WORDS, WIDTH);
    gnn_tape_t *tape = net->tape;
    gnn_var_t states[LENGTH];
    gnn_tape_reset(tape, training, training);
    const gnn_var_t embedding = parameter(net, net->embedding), w = parameter(net, net->w),
                    w_bias = parameter(net, net->w_bias), u = parameter(net, net->u),
                    u_bias = parameter(net, net->u_bias);
    gnn_var_t h = gnn_tape_input(tape, &start, 0);
    for (int t = 0; t < LENGTH; t++) {
        const gnn_var_t letters = gnn_tape_ids(tape, net->letters[t], WORDS),
                        x = gnn_tape_gather(tape, embedding, letters);
        h = states[t] = gnn_tape_gru(tape, gnn_tape_linear(tape, x, w, w_bias),
                                     gnn_tape_linear(tape, h, u, u_bias), h);
    }
    const gnn_var_t sum = gnn_tape_add(tape, gnn_tape_maximum(tape, states, LENGTH), h, 1);
    const gnn_var_t row =
        gnn_tape_norm(tape, GNN_NORM_LAYER, gnn_tape_activation(tape, sum, GNN_TANH, 0),
                      parameter(net, net->gain), parameter(net, net->shift), 1e-5f, NULL, 0);
    net->logits = gnn_tape_linear_transposed(tape, row, embedding, GNN_NONE);
    net->loss =
        gnn_tape_loss(tape, net->logits, &(gnn_loss_t){.labels = net->letters[0], .mask = NULL});
    gnn_tape_keep(tape, net->logits);
    gnn_tape_keep(tape, net->loss);
    return gnn_tape_status(tape);
}

static void draw_words(net_t *net, uint32_t *state)
{
    for (int t = 0; t < LENGTH; t++)
        for (int k = 0; k < WORDS; k++) {
            *state = *state * 1664525u + 1013904223u;
            net->letters[t][k] = (int32_t)(*state >> 16) % LETTERS;
        }
}

/* ---- the loop ---- */

static int train(net_t *net, gnn_context_t *context, uint32_t *state)
{
    const gnn_optimizer_config_t adam = {.lr = 0.01f};
    const gnn_schedule_t schedule = {.kind = GNN_SCHEDULE_COSINE, .warmup = 20, .period = STEPS};
    gnn_optimizer_t *optimizer;
    int64_t length;
    int rc = gnn_optimizer_new(&optimizer, context, net->parameters, &adam);
    if (rc == GNN_OK)
        rc = record(net, 1);
    for (int step = 0; rc == GNN_OK && step < STEPS; step++) {
        double norm;
        draw_words(net, state);
        gnn_tape_set_step(net->tape, (uint32_t)step);
        gnn_parameters_zero_gradients(net->parameters);
        rc = gnn_tape_forward(net->tape);
        if (rc == GNN_OK)
            rc = gnn_tape_backward(net->tape, net->loss, NULL);
        if (rc == GNN_OK)
            rc = gnn_clip_gradients(net->parameters, 1, &norm);
        if (rc == GNN_OK)
            rc = gnn_optimizer_step(optimizer, gnn_schedule_factor(&schedule, step));
    }
    gnn_parameters_block(net->parameters, 0, &length);
    if (rc == GNN_OK)
        printf("%lld steps, %d parameters of %lld values, %.0f KB on the tape, loss %.3f\n",
               (long long)gnn_optimizer_steps(optimizer), (int)gnn_parameters_count(net->parameters),
               (long long)length, (double)gnn_tape_bytes(net->tape) / 1e3,
               (double)gnn_tape_value(net->tape, net->loss).data[0]);
    gnn_optimizer_free(optimizer);
    return rc;
}

static int run(net_t *net, gnn_context_t *context)
{
    uint32_t state = (uint32_t)gnn_context_seed(context);
    GNN_TRY(declare(net, context));
    GNN_TRY(gnn_tape_new(&net->tape, context));
    GNN_TRY(train(net, context, &state));
    draw_words(net, &state); /* words that it has not seen */
    GNN_TRY(record(net, 0));
    GNN_TRY(gnn_tape_forward(net->tape));
    const gnn_tensor_t logits = gnn_tape_value(net->tape, net->logits);
    printf("first letter of %d new words: %.1f%% right\n", WORDS,
           100 * gnn_metric(GNN_METRIC_ACCURACY, &logits, net->letters[0], NULL));
    return GNN_OK;
}

int main(void)
{
    net_t *net = calloc(1, sizeof *net);
    gnn_context_t *context = NULL;
    int rc = net ? gnn_context_new(&context, &(gnn_context_config_t){.seed = 1}) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = run(net, context);
    if (rc != GNN_OK)
        fprintf(stderr, "own_tape: %s\n", gnn_error_message());
    if (net) {
        gnn_tape_free(net->tape);
        gnn_parameters_free(net->parameters);
    }
    gnn_context_free(context);
    free(net);
    return rc != GNN_OK || fflush(stdout) != 0;
}
