/* libFuzzer: any bytes as a file that the library saved, whose checksum holds: a model, and a
 * checkpoint of a small one. What is taken is finite and runs. */
#include "fuzz.h"
#include "fuzz_json.h"

#include <gnn/gnn.h>
#include <math.h>

enum { NODES = 7, EDGES = 15, WIDTH = 4 };

/* run.sh links with --wrap for it: files that were changed have another. */
int __wrap_gnn__checksum_check(const gnn_arrays_t *file);
int __wrap_gnn__checksum_check(const gnn_arrays_t *file)
{
    (void)file;
    return GNN_OK;
}

/* ---- mutations: of the header as JSON, its length set again, or of the bytes after it ---- */

static size_t header_of(const uint8_t *data, size_t size)
{
    uint64_t length;
    if (size < sizeof length)
        return 0;
    memcpy(&length, data, sizeof length);
    return length <= size - sizeof length ? (size_t)length : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static uint8_t body[1 << 16];
    const size_t header = header_of(data, size), from = sizeof(uint64_t) + header;
    if (header == 0 || seed % 8 == 0 || size - from > sizeof body)
        return LLVMFuzzerMutate(data, size, max_size);
    if (seed % 8 == 1)
        return from + LLVMFuzzerMutate(data + from, size - from, max_size - from);
    memcpy(body, data + from, size - from);
    const uint64_t length = fuzz_json_mutate(data + sizeof length, header,
                                             max_size - sizeof length - (size - from), seed / 8);
    memcpy(data, &length, sizeof length);
    memcpy(data + sizeof length + length, body, size - from);
    return sizeof length + (size_t)length + size - from;
}

/* ---- a model, as any program loads one ---- */

static void check_words(int rc)
{
    if (rc != GNN_OK && !*gnn_error_message())
        abort();
}

static void run(const gnn_model_t *model, gnn_context_t *context)
{
    static gnn_graph_t *graphs[3];
    static gnn_real_t numbers[NODES * WIDTH];
    static int32_t ids[NODES];
    if (!graphs[0])
        fuzz_graphs(graphs, NODES, EDGES);
    const gnn_graph_t *const all[] = {graphs[0], graphs[1], graphs[2]};
    const gnn_tensor_t x = gnn_tensor(numbers, NODES, WIDTH);
    const gnn_named_t values[] = {{.name = "x", .dense = &x},
                                  {.name = "ids", .ids = ids, .count = NODES}};
    const gnn_model_inputs_t inputs = {all, 3, values, 2};
    const int64_t width = gnn_model_width(model, gnn_model_step_count(model) - 1);
    if (width < 1 || width > 1 << 12)
        return;
    gnn_real_t *memory = calloc((size_t)(NODES * width), sizeof *memory);
    const gnn_tensor_t y = gnn_tensor(memory, NODES, width);
    for (int slot = 0; slot < 3; slot++)
        check_words(gnn_model_prepare(model, slot, graphs[slot], GNN_ON));
    check_words(gnn_model_forward(model, context, &inputs, &y));
    free(memory);
}

/* ---- a checkpoint ---- */

typedef struct {
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_optimizer_t *optimizer;
} trained_t;

static trained_t *trained(void)
{
    static trained_t t;
    if (t.context)
        return &t;
    fuzz_must(gnn_context_new(&t.context, &(gnn_context_config_t){.threads = 1, .seed = 1}));
    fuzz_must(gnn_model_new(&t.model, t.context, 1,
                            (gnn_layer_config_t[]){GNN_GCN(.in = WIDTH, .out = 2)}));
    fuzz_must(gnn_optimizer_new(&t.optimizer, t.context, gnn_model_parameters(t.model),
                                &(gnn_optimizer_config_t){0}));
    return &t;
}

/* After an error the weights are the former ones. */
static void resume(trained_t *t, const char *path)
{
    int64_t count;
    gnn_checkpoint_t state = {0};
    const gnn_real_t *weights = gnn_parameters_block(gnn_model_parameters(t->model), 0, &count);
    gnn_real_t before[64];
    if (count > 64)
        abort();
    memcpy(before, weights, sizeof *before * (size_t)count);
    const int rc = gnn_checkpoint_load(path, t->model, t->optimizer, &state);
    check_words(rc);
    if (rc != GNN_OK && memcmp(before, weights, sizeof *before * (size_t)count) != 0)
        abort();
    for (int64_t k = 0; k < count; k++)
        if (!isfinite(weights[k]))
            abort();
    if (rc == GNN_OK && (state.epoch < 1 || state.batch < 0 || state.step < 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trained_t *t = trained();
    const char *path = fuzz_path(data, size);
    gnn_model_t *model = NULL;
    const int rc = gnn_model_load(&model, t->context, path);
    check_words(rc);
    if ((rc != GNN_OK) != (model == NULL))
        abort();
    if (model)
        run(model, t->context);
    gnn_model_free(model);
    resume(t, path);
    return 0;
}
