/* Tasks made by seed that papers set for their systems: recall of rewritten keys (the delta rule
 * against linear attention), copying by induction (two layers against one), ListOps, sentiment of
 * trees, a pursuit that has to halt in time, a neural Turing machine that copies. One line per
 * task, system, seed and step: share of right answers on fresh sequences. */
#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 32 };

/* ---- recall of rewritten keys ---- */

/* WRITES pairs of a key and a value, keys written again with other values; then every key once,
 * whose answer is its last value. A row: the key, the value, and a mark of questions. */
enum { KEYS = 8, WRITES = 24, RECALL_COLS = 2 * KEYS + 1 };

static void draw_recall(batch_t *b, uint64_t *seed)
{
    b->rows = 0;
    b->sequences = SEQUENCES;
    b->cols = RECALL_COLS;
    memset(b->x, 0, sizeof b->x);
    for (int s = 0; s < SEQUENCES; s++) {
        int32_t last[KEYS];
        b->lengths[s] = WRITES + KEYS;
        for (int k = 0; k < KEYS; k++)
            last[k] = -1;
        for (int t = 0; t < WRITES + KEYS; t++, b->rows++) {
            gnn_real_t *row = b->x + b->rows * RECALL_COLS;
            const int64_t key = t < WRITES ? below(seed, KEYS) : t - WRITES;
            row[key] = 1;
            b->labels[b->rows] = t < WRITES ? -1 : last[key];
            if (t < WRITES) {
                last[key] = (int32_t)below(seed, KEYS);
                row[KEYS + last[key]] = 1;
            } else {
                row[2 * KEYS] = 1;
            }
        }
    }
}

static void project(gnn_steps_t *steps, int64_t cols, int64_t d)
{
    for (const char *const *name = (const char *const[]){"q", "k", "v", NULL}; *name; name++)
        gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR,
                                           .name = *name,
                                           .inputs = {"x"},
                                           .in = cols,
                                           .out = d,
                                           .bias = GNN_OFF});
}

static int answer(gnn_steps_t *steps, int64_t d)
{
    return gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "answer", .in = d, .out = KEYS});
}

enum { D = 32 };

static int build_delta(gnn_steps_t *steps, int64_t cols)
{
    project(steps, cols, D);
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_OP,
                                       .name = "unit",
                                       .op = &gnn_op_unit_heads,
                                       .inputs = {"k"},
                                       .options = {1}});
    gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "b", .inputs = {"x"}, .in = cols, .out = 1});
    gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_ACTIVATION, .name = "beta", .activation = GNN_SIGMOID});
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_OP,
                                       .name = "memory",
                                       .op = &gnn_op_delta,
                                       .inputs = {"q", "unit", "v", "beta"},
                                       .options = {1}});
    return answer(steps, D);
}

static int attention(gnn_steps_t *steps, int64_t cols, const gnn_map_t *map,
                     const gnn_weigher_t *weigher)
{
    project(steps, cols, D);
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .name = "memory",
                                       .query = "q",
                                       .key = "k",
                                       .inputs = {"v"},
                                       .layer = {.in = D,
                                                 .aggregator = &gnn_aggregator_attention,
                                                 .map = map,
                                                 .weigher = weigher}});
    return answer(steps, D);
}

static int build_linear(gnn_steps_t *steps, int64_t cols)
{
    return attention(steps, cols, NULL, &gnn_weigher_linear);
}

static int build_elu1(gnn_steps_t *steps, int64_t cols)
{
    return attention(steps, cols, &gnn_map_elu1, &gnn_weigher_ratio);
}

static int build_softmax(gnn_steps_t *steps, int64_t cols)
{
    return attention(steps, cols, NULL, NULL);
}

/* ---- copying by induction ---- */

/* Random words of a drawn count, and the same words again: from the second word of the
 * repetition on, the next word is known from what followed the last time. */
enum { VOCABULARY = 16, SHORTEST = 8, LONGEST = 16 };

static void draw_copy(batch_t *b, uint64_t *seed)
{
    b->rows = b->cols = 0;
    b->sequences = SEQUENCES;
    for (int s = 0; s < SEQUENCES; s++) {
        const int64_t half = SHORTEST + below(seed, LONGEST - SHORTEST + 1), first = b->rows;
        b->lengths[s] = 2 * half;
        for (int64_t t = 0; t < half; t++)
            b->words[first + t] = b->words[first + half + t] = (int32_t)below(seed, VOCABULARY);
        for (int64_t t = 0; t < 2 * half; t++)
            b->labels[first + t] = t > half && t + 1 < 2 * half ? b->words[first + t + 1] : -1;
        b->rows += 2 * half;
    }
}

static int transformer(gnn_steps_t *steps, int layers)
{
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_EMBED,
                                       .name = "words of x",
                                       .inputs = {"x"},
                                       .in = VOCABULARY,
                                       .out = 2 * D});
    for (int l = 0; l < layers; l++)
        gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_TRANSFORMER(.in = 2 * D, .heads = 2,
                                                                    .feed_forward = 4 * D,
                                                                    .norm_position = GNN_NORM_BEFORE,
                                                                    .map = &gnn_map_rope)});
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_NORM, .norm = GNN_NORM_LAYER, .in = 2 * D});
    return gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "answer", .in = 2 * D, .out = VOCABULARY});
}

static int build_one_layer(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    return transformer(steps, 1);
}

static int build_two_layers(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    return transformer(steps, 2);
}

/* ---- training ---- */

/* Graphs of the batch's slots, prepared. */
static int make_graphs(const system_t *s, const gnn_model_t *model, const batch_t *b,
                       gnn_graph_t *graphs[GRAPHS])
{
    GNN_TRY(s->graphs ? s->graphs(b, graphs)
                      : gnn_graph_causal(&graphs[0], b->sequences, b->lengths));
    for (int g = 0; g < gnn_model_graph_count(model); g++)
        GNN_TRY(gnn_model_prepare(model, g, graphs[g], GNN_ON));
    return GNN_OK;
}

/* Records the batch. */
static gnn_var_t record(const gnn_model_t *model, gnn_tape_t *tape, const batch_t *b,
                        gnn_graph_t *const graphs[GRAPHS])
{
    const gnn_tensor_t x = gnn_tensor((gnn_real_t *)b->x, b->rows, b->cols),
                       start = gnn_tensor((gnn_real_t *)b->start, b->sequences, b->start_cols),
                       places = gnn_tensor((gnn_real_t *)b->places, b->edges, 1);
    gnn_named_t values[3] = {{.name = "x", .dense = &x}};
    int64_t count = 1;
    if (!b->cols)
        values[0] = (gnn_named_t){.name = "x", .ids = b->words, .count = b->rows};
    if (b->start_cols)
        values[count++] = (gnn_named_t){.name = "start", .dense = &start};
    if (b->edges)
        values[count++] = (gnn_named_t){.name = "places", .dense = &places};
    return gnn_model_record(
        model, tape,
        &(gnn_model_inputs_t){(const gnn_graph_t *const *)graphs, GRAPHS, values, count}, NULL);
}

/* With `optimizer` takes a step, else counts right answers. */
static int run(const system_t *s, gnn_model_t *model, gnn_tape_t *tape, const batch_t *b,
               gnn_optimizer_t *optimizer, double lr_factor, double *right)
{
    gnn_graph_t *graphs[GRAPHS] = {NULL};
    int rc = make_graphs(s, model, b, graphs);
    gnn_tape_reset(tape, optimizer != NULL, optimizer != NULL);
    gnn_tape_fail(tape, rc);
    const gnn_var_t y = record(model, tape, b, graphs);
    if (optimizer) {
        const gnn_var_t loss = gnn_tape_loss(
            tape, y, &(gnn_loss_t){.kind = GNN_LOSS_CROSS_ENTROPY, .labels = b->labels});
        gnn_tape_forward(tape);
        gnn_tape_backward(tape, loss, NULL);
    } else {
        gnn_tape_keep(tape, y);
        gnn_tape_forward(tape);
        const gnn_tensor_t logits = gnn_tape_value(tape, y);
        *right = gnn_metric(GNN_METRIC_ACCURACY, &logits, b->labels, NULL);
    }
    rc = gnn_tape_status(tape);
    if (rc == GNN_OK && optimizer)
        rc = gnn_clip_gradients(gnn_model_parameters(model), 1, NULL);
    if (rc == GNN_OK && optimizer)
        rc = gnn_optimizer_step(optimizer, lr_factor);
    for (int g = 0; g < GRAPHS; g++)
        gnn_graph_free(graphs[g]);
    return rc;
}

static int train(const system_t *s, uint64_t seed, int64_t steps)
{
    static batch_t b;
    memset(&b, 0, sizeof b);
    gnn_context_t *context;
    gnn_steps_t *list;
    gnn_model_t *model;
    gnn_tape_t *tape;
    gnn_optimizer_t *optimizer;
    uint64_t drawn = seed * 1000003u + 17, fresh = seed * 7919u + 5;
    double right = 0;
    GNN_TRY(gnn_context_new(&context, &(gnn_context_config_t){.seed = seed}));
    GNN_TRY(gnn_steps_new(&list));
    s->draw(&b, &drawn);
    GNN_TRY(s->build(list, b.cols));
    GNN_TRY(gnn_model_build(&model, context, list));
    GNN_TRY(gnn_tape_new(&tape, context));
    GNN_TRY(gnn_optimizer_new(&optimizer, context, gnn_model_parameters(model),
                              &(gnn_optimizer_config_t){.lr = (gnn_real_t)s->lr}));
    for (int64_t t = 0; t <= steps; t++) {
        if (t % (steps / 20) == 0) {
            const int batches = s->fresh ? s->fresh * (t == steps ? 4 : 1) : 1;
            double sum = 0;
            for (int k = 0; k < batches; k++, sum += right) {
                s->draw(&b, &fresh);
                GNN_TRY(run(s, model, tape, &b, NULL, 0, &right));
            }
            right = sum / batches;
            printf("%s\t%s\t%d\t%lld\t%.4f\n", s->task, s->system, (int)seed, (long long)t, right);
            fflush(stdout);
        }
        s->draw(&b, &drawn);
        GNN_TRY(run(s, model, tape, &b, optimizer, 1 - (double)t / (double)(steps + 1), NULL));
    }
    gnn_optimizer_free(optimizer);
    gnn_tape_free(tape);
    gnn_model_free(model);
    gnn_steps_free(list);
    gnn_context_free(context);
    return GNN_OK;
}

static const system_t tasks_of_memory[] = {
    {"recall", "delta rule", draw_recall, build_delta, 1200, 0.005, 0, NULL},
    {"recall", "linear attention", draw_recall, build_linear, 1200, 0.005, 0, NULL},
    {"recall", "linear attention, elu + 1", draw_recall, build_elu1, 1200, 0.005, 0, NULL},
    {"recall", "softmax attention", draw_recall, build_softmax, 1200, 0.005, 0, NULL},
    {"copying", "one layer", draw_copy, build_one_layer, 1600, 0.002, 0, NULL},
    {"copying", "two layers", draw_copy, build_two_layers, 1600, 0.002, 0, NULL},
    {0},
};

/* tasks [TASK [STEPS]] */
int main(int argc, char **argv)
{
    const system_t *const tables[] = {tasks_of_memory, tasks_of_trees, tasks_of_rounds};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (const system_t *s = tables[k]; s->task; s++)
            for (uint64_t seed = 1; seed <= SEEDS; seed++)
                if ((argc < 2 || strcmp(argv[1], s->task) == 0) &&
                    train(s, seed, argc > 2 ? atoll(argv[2]) : s->steps) != GNN_OK) {
                    fprintf(stderr, "tasks: %s, %s: %s\n", s->task, s->system, gnn_error_message());
                    return 1;
                }
    return 0;
}
