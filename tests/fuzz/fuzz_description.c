/* libFuzzer: bytes as the texts of a described model, steps and graphs separated by a newline. The
 * file has enough weights for models to be built. */
#include "fuzz.h"
#include "fuzz_json.h"

#include <gnn/gnn.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 4096 };

static void load(const char *steps, const char *graphs, int64_t numbers)
{
    static const float zeros[NUMBERS];
    const gnn_array_t array = {.name = "none.of.these",
                               .dtype = GNN_DTYPE_FLOAT32,
                               .ndim = 1,
                               .shape = {numbers},
                               .count = numbers,
                               .data = zeros};
    const char *const metadata[][2] = {{"gnn.description", steps}, {"gnn.graphs", graphs}};
    /* a file that is replaced when it is written: /proc/self/fd holds none such */
    const char *path = fuzz_file("described.safetensors", NULL, 0);
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    if (gnn_context_new(&context, NULL) != GNN_OK)
        abort();
    if (gnn_safetensors_write(path, numbers > 0, &array, 2, metadata) == GNN_OK) {
        const int rc = gnn_model_load(&model, context, path);
        if (rc != GNN_OK && (model || !*gnn_error_message()))
            abort();
        for (int k = 0; model && gnn_model_slot(model, k, NULL, NULL); k++)
            continue;
    }
    gnn_model_free(model);
    gnn_context_free(context);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* The steps, or the graphs after the newline. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static uint8_t graphs[1 << 16];
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    const size_t steps = newline ? (size_t)(newline - data) : size, rest = size - steps;
    if (rest > sizeof graphs || seed % 8 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    if (rest > 1 && seed % 8 == 1)
        return steps + 1 +
               fuzz_json_mutate(data + steps + 1, rest - 1, max_size - steps - 1, seed / 8);
    memcpy(graphs, data + steps, rest);
    const size_t made = fuzz_json_mutate(data, steps, max_size - rest, seed / 8);
    memcpy(data + made, graphs, rest);
    return made + rest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    char *graphs = strchr(text, '\n');
    if (graphs)
        *graphs++ = '\0';
    load(text, graphs ? graphs : "[]", 0);
    load(text, graphs ? graphs : "[]", NUMBERS);
    free(text);
    return 0;
}
