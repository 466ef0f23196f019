/* libFuzzer: bytes as the texts of a described model, steps and graphs separated by a newline. The
 * file has enough weights for models to be built. */
#include "fuzz.h"
#include "fuzz_json.h"

#include <gnn/gnn.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 1024, ROOM = 1 << 17 };

typedef struct {
    uint8_t at[ROOM];
    size_t n;
} file_t;

static void put(file_t *f, const char *text)
{
    const size_t n = strlen(text);
    if (f->n + n <= ROOM)
        memcpy(f->at + f->n, text, n);
    f->n += f->n + n <= ROOM ? n : 0;
}

/* The text as a string of JSON. */
static void put_string(file_t *f, const char *text)
{
    char escaped[8];
    put(f, "\"");
    for (; *text; text++) {
        if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\') {
            if (f->n < ROOM)
                f->at[f->n++] = (uint8_t)*text;
            continue;
        }
        snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned char)*text);
        put(f, escaped);
    }
    put(f, "\"");
}

/* A model's file: the two texts as metadata, and an array of zeros that nothing names. */
static const char *described(const char *steps, const char *graphs)
{
    static const uint8_t zeros[4 * NUMBERS];
    static file_t f;
    char array[96];
    f.n = 8;
    put(&f, "{\"__metadata__\": {\"gnn.description\": ");
    put_string(&f, steps);
    put(&f, ", \"gnn.graphs\": ");
    put_string(&f, graphs);
    snprintf(array, sizeof array,
             "}, \"n\": {\"dtype\": \"F32\", \"shape\": [%d], \"data_offsets\": [0, %d]}}", NUMBERS,
             4 * NUMBERS);
    put(&f, array);
    const uint64_t header = f.n - 8;
    memcpy(f.at, &header, sizeof header);
    if (f.n + sizeof zeros <= ROOM) {
        memcpy(f.at + f.n, zeros, sizeof zeros);
        f.n += sizeof zeros;
    }
    return fuzz_path(f.at, f.n);
}

static void load(const char *steps, const char *graphs)
{
    static gnn_context_t *context;
    gnn_model_t *model = NULL;
    if (!context)
        fuzz_must(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    const int rc = gnn_model_load(&model, context, described(steps, graphs));
    if ((rc != GNN_OK) != (model == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    for (int k = 0; model && gnn_model_slot(model, k, NULL, NULL); k++)
        continue;
    gnn_model_free(model);
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
    load(text, graphs ? graphs : "[]");
    free(text);
    return 0;
}
