/* libFuzzer: bytes as a program on a tape: ops with valid and invalid inputs, shapes and settings.
 * Valid programs run forward and backward, invalid ones set a message, without accesses out of
 * bounds. */
#include "../table_counts.h"
#include "fuzz.h"

#include <gnn/gnn.h>
#include <lib/aggregate/tables.h>
#include <math.h>

enum { NODES = 5, EDGES = 9, WIDTH = 4, VALUES = 40, BOUND = 4, MOST_ROWS = 64, MOST_COLS = 300 };

typedef struct {
    gnn_context_t *context;
    gnn_tape_t *tape;
    gnn_parameters_t *parameters;
    gnn_graph_t *graphs[3]; /* see fuzz_graphs */
    gnn_real_t numbers[NODES * 3 * WIDTH], memory[BOUND][NODES * 3 * WIDTH], running[2 * WIDTH];
    int32_t ids[NODES], indices[NODES];
    int64_t indptr[NODES + 1];
    gnn_sparse_t sparse;
    gnn_var_t vars[VALUES];
    int count;
} world_t;

static world_t *world(void)
{
    static world_t w;
    if (w.context)
        return &w;
    int32_t id;
    fuzz_must(gnn_context_new(&w.context, &(gnn_context_config_t){.threads = 1, .seed = 1}));
    fuzz_must(gnn_tape_new(&w.tape, w.context));
    fuzz_must(gnn_parameters_new(&w.parameters));
    fuzz_must(gnn_parameters_add(w.parameters, "w", WIDTH, WIDTH, GNN_INIT_GLOROT, 0, 0, 0, &id));
    fuzz_must(
        gnn_parameters_add(w.parameters, "wide", WIDTH, 3 * WIDTH, GNN_INIT_GLOROT, 0, 0, 0, &id));
    fuzz_must(gnn_parameters_add(w.parameters, "row", 1, WIDTH, GNN_INIT_NORMAL, 1, 0, 0, &id));
    fuzz_must(gnn_parameters_add(w.parameters, "one", 1, 1, GNN_INIT_NORMAL, 1, 0, 0, &id));
    fuzz_must(gnn_parameters_allocate(w.parameters, w.context));
    fuzz_graphs(w.graphs, NODES, EDGES);
    for (int g = 0; g < 3; g++)
        fuzz_must(gnn_graph_prepare(w.graphs[g], &(gnn_view_t){.backward = GNN_ON}));
    for (int k = 0; k < NODES * 3 * WIDTH; k++)
        w.numbers[k] = (gnn_real_t)(k * 37 % 101 + 1) / 50 - 1;
    for (int k = 0; k < NODES; k++) {
        w.ids[k] = k * 5 % 7 - 1;
        w.indices[k] = k % WIDTH;
        w.indptr[k + 1] = k + 1;
    }
    w.sparse = (gnn_sparse_t){NODES, WIDTH, w.indptr, w.indices, w.numbers};
    return &w;
}

/* ---- choices ---- */

/* Mostly one of the last values, else any, none, or an invalid one. */
static gnn_var_t draw_var(world_t *w, fuzz_bytes_t *b)
{
    const int how = fuzz_draw(b, 32);
    if (how == 31)
        return GNN_NONE;
    if (how == 30)
        return 1000;
    if (w->count == 0)
        return GNN_NONE;
    return w->vars[how < 16 ? w->count - 1 : fuzz_draw(b, w->count)];
}

static int64_t draw_size(fuzz_bytes_t *b)
{
    static const int64_t sizes[] = {1,         WIDTH, 2,         0,         3, NODES,
                                    2 * WIDTH, -1,    INT64_MAX, 3 * WIDTH, 1, 2};
    return sizes[fuzz_draw(b, 12)];
}

static gnn_real_t draw_real(fuzz_bytes_t *b)
{
    static const gnn_real_t reals[] = {
        0, 1, (gnn_real_t)0.5, -1, (gnn_real_t)1e-5, 2, (gnn_real_t)INFINITY, (gnn_real_t)NAN};
    return reals[fuzz_draw(b, 8)];
}

static gnn_var_t input(world_t *w, fuzz_bytes_t *b)
{
    static const int64_t shapes[][2] = {{NODES, WIDTH}, {NODES, 3 * WIDTH}, {1, WIDTH}, {NODES, 1},
                                        {NODES, 2},     {2, WIDTH},         {EDGES, 1}, {1, 1}};
    const int64_t *shape = shapes[fuzz_draw(b, 8)];
    const gnn_tensor_t x = gnn_tensor(w->numbers, shape[0], shape[1]);
    switch (fuzz_draw(b, 8)) {
    case 0: return gnn_tape_sparse(w->tape, &w->sparse);
    case 1: return gnn_tape_ids(w->tape, w->ids, NODES);
    case 2:
    case 3: return gnn_tape_parameter(w->tape, w->parameters, fuzz_draw(b, 6) - 1);
    default: return gnn_tape_input(w->tape, &x, fuzz_draw(b, 2));
    }
}

static gnn_var_t aggregate(world_t *w, fuzz_bytes_t *b)
{
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    gnn_aggregate_t how = {
        .aggregator = gnn__aggregator_at((size_t)fuzz_draw(b, (int)aggregator_count())),
        .message = gnn__message_at((size_t)fuzz_draw(b, (int)message_count())),
        .graph = w->graphs[fuzz_draw(b, 3)],
        .view = {.self_loops = fuzz_draw(b, 8) ? GNN_OFF : GNN_ON,
                 .norm = (gnn_graph_norm_t)(fuzz_draw(b, 8) ? 0 : fuzz_draw(b, 4))},
        .shape = {.heads = draw_size(b),
                  .key_heads = draw_size(b),
                  .value_heads = draw_size(b),
                  .d_k = fuzz_draw(b, 2) ? 0 : draw_size(b),
                  .d_v = fuzz_draw(b, 2) ? 0 : draw_size(b),
                  .scale = fuzz_draw(b, 2) ? 0 : draw_real(b)},
        .dropout = fuzz_draw(b, 2) ? 0 : draw_real(b),
        .priors = {{.options = {fuzz_draw(b, 4), fuzz_draw(b, 5)}}},
        .weigher_options = {fuzz_draw(b, 3)},
        .map_options = {0, fuzz_draw(b, 4)}};
    how.priors[0].row = gnn__prior_at((size_t)fuzz_draw(b, 2 * (int)prior_count()));
    how.score = gnn__score_at((size_t)fuzz_draw(b, 2 * (int)score_count()));
    how.weigher = gnn__weigher_at((size_t)fuzz_draw(b, 2 * (int)weigher_count()));
    how.map = gnn__map_at((size_t)fuzz_draw(b, 2 * (int)map_count()));
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = fuzz_draw(b, 3) ? GNN_NONE : draw_var(w, b);
    in[GNN_AGGREGATE_SRC_MESSAGE] = draw_var(w, b);
    if (how.aggregator->flags & GNN_AGGREGATOR_SCORED) {
        in[GNN_AGGREGATE_QUERY] = draw_var(w, b);
        in[GNN_AGGREGATE_KEY] = draw_var(w, b);
    }
    return gnn_tape_aggregate(w->tape, &how, in);
}

static gnn_var_t loss(world_t *w, fuzz_bytes_t *b)
{
    static const uint8_t mask[MOST_ROWS] = {1, 0, 1, 1, 0, 0, 1};
    static const int32_t labels[MOST_ROWS] = {0, 2, -1, 1, 3, 0, 12, 1};
    static const gnn_real_t weight[MOST_COLS] = {1, (gnn_real_t)0.5, 2, 0, 1, 1};
    static gnn_tensor_t targets;
    targets = gnn_tensor(w->numbers, NODES, draw_size(b) % (3 * WIDTH + 1));
    const gnn_loss_t how = {.kind = (gnn_loss_kind_t)fuzz_draw(b, 4),
                            .labels = fuzz_draw(b, 4) ? labels : NULL,
                            .targets = fuzz_draw(b, 4) ? &targets : NULL,
                            .mask = fuzz_draw(b, 2) ? mask : NULL,
                            .label_smoothing = fuzz_draw(b, 2) ? 0 : draw_real(b),
                            .class_weight = fuzz_draw(b, 2) ? weight : NULL};
    return gnn_tape_loss(w->tape, draw_var(w, b), &how);
}

static gnn_var_t op(world_t *w, fuzz_bytes_t *b)
{
    gnn_tape_t *t = w->tape;
    const gnn_tensor_t running = gnn_tensor(w->running, 2, WIDTH);
    const gnn_var_t x = draw_var(w, b), y = draw_var(w, b), z = draw_var(w, b),
                    list[] = {x, y, z, x, y, z, x, y, z, x};
    switch (fuzz_draw(b, 16)) {
    case 0: return gnn_tape_linear(t, x, y, z);
    case 1: return gnn_tape_add(t, x, y, draw_real(b));
    case 2: return gnn_tape_add_scaled(t, x, y, z);
    case 3:
        return gnn_tape_activation(t, x, (gnn_activation_t)fuzz_draw(b, GNN_ACTIVATION_COUNT + 1),
                                   draw_real(b));
    case 4: return gnn_tape_dropout(t, x, draw_real(b));
    case 5:
        return gnn_tape_norm(t, (gnn_norm_t)fuzz_draw(b, GNN_NORM_RMS + 2), x, y, z,
                             (gnn_real_t)1e-5, fuzz_draw(b, 2) ? &running : NULL, draw_real(b));
    case 6: return gnn_tape_concat(t, list, fuzz_draw(b, 11));
    case 7: return gnn_tape_gather(t, x, y);
    case 8: return gnn_tape_head_dot(t, x, y, draw_size(b));
    case 9: return gnn_tape_head_mean(t, x, draw_size(b));
    case 10: return gnn_tape_gru(t, x, y, z);
    case 11:
        return gnn_tape_weight_norm(t, x, w->graphs[fuzz_draw(b, 3)], (gnn_flag_t)fuzz_draw(b, 3),
                                    (gnn_graph_norm_t)fuzz_draw(b, 5));
    case 12:
    case 13: return aggregate(w, b);
    case 14: return loss(w, b);
    default: return gnn_tape_view(t, x, draw_size(b), draw_size(b), draw_size(b), draw_size(b));
    }
}

/* ---- running ---- */

static void check_words(int rc)
{
    if (rc != GNN_OK && !*gnn_error_message())
        abort();
}

static void bind(world_t *w, fuzz_bytes_t *b, int place)
{
    const gnn_var_t x = draw_var(w, b);
    const gnn_tensor_t memory =
        gnn_tensor(w->memory[place], gnn_tape_rows(w->tape, x), gnn_tape_cols(w->tape, x));
    if (memory.rows * memory.cols <= NODES * 3 * WIDTH)
        gnn_tape_bind(w->tape, x, &memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes_t bytes = {data, size};
    world_t *w = world();
    const int recording = fuzz_draw(&bytes, 2);
    memset(w->running, 0, sizeof w->running);
    w->count = 0;
    gnn_tape_reset(w->tape, recording, fuzz_draw(&bytes, 2));
    for (int k = 0; k < 3; k++)
        w->vars[w->count++] = input(w, &bytes);
    for (int bound = 0; bytes.left > 0 && w->count < VALUES && gnn_tape_status(w->tape) == GNN_OK;) {
        const int what = fuzz_draw(&bytes, 16);
        if (what == 15 && bound < BOUND)
            bind(w, &bytes, bound++);
        else if (what == 14)
            gnn_tape_keep(w->tape, draw_var(w, &bytes));
        else
            w->vars[w->count++] = what < 4 ? input(w, &bytes) : op(w, &bytes);
        if (gnn_tape_cols(w->tape, w->vars[w->count - 1]) > MOST_COLS)
            return 0;
    }
    check_words(gnn_tape_status(w->tape));
    check_words(gnn_tape_forward(w->tape));
    for (int k = 0; k < w->count; k++) {
        const gnn_tensor_t y = gnn_tape_value(w->tape, w->vars[k]);
        volatile double sum = 0;
        for (int64_t r = 0; y.data && r < y.rows; r++)
            for (int64_t c = 0; c < y.cols; c++)
                sum = sum + (double)y.data[r * y.stride + c];
    }
    if (recording)
        check_words(gnn_tape_backward(w->tape, w->vars[w->count - 1], NULL));
    return 0;
}
