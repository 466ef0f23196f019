/* libFuzzer: bytes as the choices in a model's steps. A valid model runs forward and backward, and
 * survives saving with the same bits; an invalid one sets a message. */
#include "../table_counts.h"
#include "fuzz.h"

#include <gnn/gnn.h>
#include <lib/aggregate/tables.h>
#include <lib/layer/config_fields.h>

enum { NODES = 7, EDGES = 15, WIDTH = 4, IN_EDGES = 2, STEPS = 5 };

static int64_t draw_width(fuzz_bytes_t *b)
{
    static const int64_t widths[] = {0, WIDTH, 1, 3, 8, WIDTH, 2 * WIDTH, -1};
    return widths[fuzz_draw(b, 8)];
}

static gnn_real_t draw_rate(fuzz_bytes_t *b)
{
    static const gnn_real_t rates[] = {0, (gnn_real_t)0.5, (gnn_real_t)0.1, 1};
    return rates[fuzz_draw(b, 4)];
}

static gnn_flag_t draw_flag(fuzz_bytes_t *b)
{
    return (gnn_flag_t)fuzz_draw(b, 3);
}

/* Names of inputs, of steps, and unknown ones. */
static const char *draw_name(fuzz_bytes_t *b)
{
    static const char *const names[] = {NULL, "x",   "0", "1", "2", NULL,
                                        "3",  "ids", "e", "w", "y", "z"};
    return names[fuzz_draw(b, 12)];
}

static gnn_layer_config_t draw_layer(fuzz_bytes_t *b)
{
    gnn_layer_config_t c = {.preset = (gnn_preset_t)fuzz_draw(b, GNN_PRESET_COUNT)};
    c.in = fuzz_draw(b, 4) ? WIDTH : draw_width(b);
    c.out = draw_width(b);
    c.heads = fuzz_draw(b, 4);
    if (fuzz_draw(b, 2))
        return c;
    const int message = fuzz_draw(b, (int)message_count() + 1),
              aggregator = fuzz_draw(b, (int)aggregator_count() + 1);
    c.message = message ? gnn__message_at((size_t)message - 1) : NULL;
    c.aggregator = aggregator ? gnn__aggregator_at((size_t)aggregator - 1) : NULL;
    c.update = gnn__update_at((size_t)fuzz_draw(b, (int64_t)update_count() + 1));
    c.in_dst = fuzz_draw(b, 3) ? 0 : draw_width(b);
    c.key_heads = fuzz_draw(b, 4);
    c.value_heads = fuzz_draw(b, 4);
    c.d_k = draw_width(b);
    c.d_v = draw_width(b);
    c.edge_dim = fuzz_draw(b, 3) ? 0 : IN_EDGES;
    c.hidden = draw_width(b);
    c.feed_forward = draw_width(b);
    c.self_loops = draw_flag(b);
    c.graph_norm = (gnn_graph_norm_t)fuzz_draw(b, GNN_GRAPH_NORM_ROW + 1);
    c.combine = (gnn_heads_t)fuzz_draw(b, 3);
    c.share_weights = draw_flag(b);
    c.self_term = draw_flag(b);
    c.learn_eps = draw_flag(b);
    c.bias_project = draw_flag(b);
    c.bias_out = draw_flag(b);
    c.bias_update = draw_flag(b);
    c.activation = (gnn_activation_t)fuzz_draw(b, GNN_ACTIVATION_COUNT + 1);
    c.hidden_activation = (gnn_activation_t)fuzz_draw(b, GNN_ACTIVATION_COUNT);
    c.priors[0].prior = gnn__prior_at((size_t)fuzz_draw(b, (int64_t)prior_count() + 1));
    c.priors[0].options[0] = fuzz_draw(b, 4);
    c.residual = draw_flag(b);
    c.norm = (gnn_norm_t)fuzz_draw(b, GNN_NORM_RMS + 2);
    c.norm_position = (gnn_norm_position_t)fuzz_draw(b, 3);
    c.dropout = draw_rate(b);
    c.dropout_message = draw_rate(b);
    return c;
}

/* Fields of the kinds after the first eight. */
static void draw_more(fuzz_bytes_t *b, gnn_step_t *s)
{
    const int scored = (int)fuzz_draw(b, 2);
    s->name = fuzz_draw(b, 3) ? NULL : draw_name(b);
    s->receivers = fuzz_draw(b, 4) ? NULL : draw_name(b);
    s->query = scored ? draw_name(b) : NULL;
    s->key = scored ? draw_name(b) : NULL;
    s->gate = fuzz_draw(b, 4) ? NULL : draw_name(b);
    s->inputs[3] = fuzz_draw(b, 2) ? NULL : draw_name(b);
    s->edge_weight = fuzz_draw(b, 4) ? NULL : "w";
    s->each_segment = draw_flag(b);
    s->side = (gnn_sides_t)fuzz_draw(b, 4);
    s->factor = draw_rate(b);
    s->row = fuzz_draw(b, 3);
    s->rows = fuzz_draw(b, 4);
    s->column = fuzz_draw(b, 3);
    s->columns = fuzz_draw(b, 4);
}

static gnn_step_t draw_step(fuzz_bytes_t *b)
{
    static const char *const fields[] = {NULL, "value", "norm", "out", "mlp.0", "none"};
    gnn_step_t s = {.kind = (gnn_step_kind_t)(fuzz_draw(b, 2) ? GNN_STEP_LAYER
                                                              : fuzz_draw(b, GNN_STEP_COUNT + 1))};
    s.inputs[0] = draw_name(b);
    s.graph = fuzz_draw(b, 3);
    if (s.kind == GNN_STEP_LAYER || s.kind == GNN_STEP_AGGREGATE)
        s.layer = draw_layer(b);
    if (s.kind == GNN_STEP_LAYER) {
        s.receivers = fuzz_draw(b, 4) ? NULL : draw_name(b);
        s.edge_features = s.layer.edge_dim > 0 ? "e" : NULL;
        s.edge_weight = fuzz_draw(b, 3) ? NULL : "w";
        s.edge_bias = fuzz_draw(b, 3) ? NULL : "w";
        s.share = fuzz_draw(b, 3) ? NULL : draw_name(b);
        s.share_fields = fields[fuzz_draw(b, 6)];
        return s;
    }
    s.inputs[1] = draw_name(b);
    s.inputs[2] = draw_name(b);
    s.in = fuzz_draw(b, 2) ? WIDTH : draw_width(b);
    s.out = fuzz_draw(b, 2) ? WIDTH : draw_width(b);
    s.activation = (gnn_activation_t)fuzz_draw(b, GNN_ACTIVATION_COUNT + 1);
    s.norm = (gnn_norm_t)fuzz_draw(b, GNN_NORM_RMS + 2);
    s.rate = draw_rate(b);
    if (s.kind > GNN_STEP_EMBED)
        draw_more(b, &s);
    s.share = fuzz_draw(b, 3) ? NULL : draw_name(b);
    s.transposed = draw_flag(b);
    s.bias = draw_flag(b);
    return s;
}

/* ---- what every model runs on ---- */

typedef struct {
    gnn_context_t *context;
    gnn_tape_t *tape;
    gnn_graph_t *graphs[3]; /* see fuzz_graphs */
    gnn_real_t numbers[NODES * WIDTH + EDGES * IN_EDGES + EDGES];
    int32_t ids[NODES];
    gnn_tensor_t x, e, w;
    gnn_named_t values[4];
} world_t;

static world_t *world(void)
{
    static world_t w;
    if (w.context)
        return &w;
    fuzz_must(gnn_context_new(&w.context, &(gnn_context_config_t){.threads = 1, .seed = 1}));
    fuzz_must(gnn_tape_new(&w.tape, w.context));
    fuzz_graphs(w.graphs, NODES, EDGES);
    for (int k = 0; k < NODES * WIDTH + EDGES * IN_EDGES + EDGES; k++)
        w.numbers[k] = (gnn_real_t)(k * 37 % 101 + 1) / 50;
    for (int k = 0; k < NODES; k++)
        w.ids[k] = k * 5 % WIDTH - 1;
    w.x = gnn_tensor(w.numbers, NODES, WIDTH);
    w.e = gnn_tensor(w.numbers + NODES * WIDTH, EDGES, IN_EDGES);
    w.w = gnn_tensor(w.numbers + NODES * WIDTH + EDGES * IN_EDGES, EDGES, 1);
    w.values[0] = (gnn_named_t){.name = "x", .dense = &w.x, .wants_grad = 1};
    w.values[1] = (gnn_named_t){.name = "e", .dense = &w.e};
    w.values[2] = (gnn_named_t){.name = "w", .dense = &w.w, .wants_grad = 1};
    w.values[3] = (gnn_named_t){.name = "ids", .ids = w.ids, .count = NODES};
    return &w;
}

/* ---- running one ---- */

static void check_words(int rc)
{
    if (rc != GNN_OK && !*gnn_error_message())
        abort();
}

/* The saved model gives the same bits, or the same refusal. */
static void reload(world_t *w, const gnn_model_t *model, const gnn_model_inputs_t *inputs,
                   int64_t rows, int64_t cols)
{
    gnn_model_t *loaded = NULL;
    static char path[64];
    if (!*path)
        snprintf(path, sizeof path, "%s/gnn-fuzz-%d.safetensors",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    gnn_real_t *memory = calloc((size_t)(2 * rows * cols) + 1, sizeof *memory);
    const gnn_tensor_t a = gnn_tensor(memory, rows, cols),
                       b = gnn_tensor(memory + rows * cols, rows, cols);
    const int rc = gnn_model_forward(model, w->context, inputs, &a);
    check_words(rc);
    if (gnn_model_save(model, path) == GNN_OK) {
        fuzz_must(gnn_model_load(&loaded, w->context, path));
        if (gnn_model_forward(loaded, w->context, inputs, &b) != rc ||
            memcmp(a.data, b.data, sizeof *a.data * (size_t)(rows * cols)) != 0)
            abort();
        gnn_model_free(loaded);
    }
    free(memory);
}

static void run(world_t *w, const gnn_model_t *model)
{
    const gnn_graph_t *graphs[] = {w->graphs[0], w->graphs[1], w->graphs[2]};
    const gnn_model_inputs_t inputs = {graphs, 3, w->values, 4};
    for (int slot = 0; slot < 3; slot++)
        check_words(gnn_model_prepare(model, slot, w->graphs[slot], GNN_ON));
    gnn_tape_reset(w->tape, 1, 1);
    const gnn_var_t y = gnn_model_record(model, w->tape, &inputs, NULL);
    const int64_t rows = gnn_tape_rows(w->tape, y), cols = gnn_tape_cols(w->tape, y);
    int rc = gnn_tape_status(w->tape);
    check_words(rc);
    if (rc != GNN_OK)
        return;
    gnn_tape_keep(w->tape, y);
    check_words(gnn_tape_forward(w->tape));
    if (gnn_tape_status(w->tape) == GNN_OK)
        check_words(gnn_tape_backward(w->tape, y, NULL));
    reload(w, model, &inputs, rows, cols);
}

/* Incremental rows, if the model supports them: results or an error message. */
static void go_on(world_t *w, const gnn_model_t *model)
{
    const gnn_graph_t *graphs[] = {w->graphs[0], w->graphs[1], w->graphs[2]};
    const gnn_model_inputs_t fixed = {graphs, 3, w->values + 1, 3};
    const gnn_tensor_t row = gnn_tensor(w->numbers, 1, WIDTH);
    const gnn_named_t value = {.name = "x", .dense = &row};
    const int64_t width = gnn_model_width(model, gnn_model_step_count(model) - 1);
    gnn_state_t *state = NULL;
    if (width < 0 || width > 1 << 16)
        return;
    gnn_real_t *memory = calloc((size_t)width + 1, sizeof *memory);
    const gnn_tensor_t y = gnn_tensor(memory, 1, width);
    int rc = gnn_state_new(&state, model, w->context,
                           &(gnn_state_config_t){.capacity = 3, .fixed = &fixed});
    check_words(rc);
    for (int k = 0; rc == GNN_OK && k < 4; k++) {
        rc = gnn_model_advance(model, w->context, state, NULL,
                               &(gnn_model_inputs_t){.values = &value, .n_values = 1}, &y);
        check_words(rc);
        if (gnn_state_length(state, 0) != k + (rc == GNN_OK))
            abort();
    }
    gnn_state_free(state);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes_t bytes = {data, size};
    world_t *w = world();
    gnn_step_t steps[STEPS];
    gnn_model_t *model = NULL;
    const int count = 1 + fuzz_draw(&bytes, STEPS);
    for (int k = 0; k < count; k++)
        steps[k] = draw_step(&bytes);
    const int rc = gnn_model_from_steps(&model, w->context, count, steps);
    check_words(rc);
    if ((rc == GNN_OK) != (model != NULL))
        abort();
    if (model) {
        run(w, model);
        go_on(w, model);
    }
    gnn_model_free(model);
    return 0;
}
