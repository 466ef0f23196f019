/* libFuzzer: any bytes as JSON. They are read as jansson reads them, or refused as it does; what
 * was read is written, and read again as the same. NUL bytes are refused, of which jansson drops
 * one after a literal. */
#include "fuzz.h"
#include "fuzz_json.h"

#include <lib/data/arrays/json_text.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return fuzz_json_mutate(data, size, max_size, seed);
}

enum { LEVELS = 64 };

static void write_and_read(const json_t *json)
{
    json_t *again = NULL;
    char *text;
    fuzz_must(gnn__json_write(&text, json, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    fuzz_must(gnn__json_parse(&again, text, (int64_t)strlen(text), GNN__JSON_UNIQUE, LEVELS));
    if (!json_equal(json, again))
        abort();
    json_decref(again);
    gnn_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    json_t *ours = NULL;
    memcpy(text, data, size);
    text[size] = '\0';
    json_t *theirs = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const int rc = gnn__json_parse(&ours, text, (int64_t)size, GNN__JSON_UNIQUE, LEVELS);
    const int other =
        rc != GNN_OK && (strstr(gnn_error_message(), "levels deep") || memchr(text, '\0', size));
    if ((rc == GNN_OK) != (ours != NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    if (!other && ((ours != NULL) != (theirs != NULL) || (ours && !json_equal(ours, theirs))))
        abort();
    if (ours)
        write_and_read(ours);
    json_decref(ours);
    json_decref(theirs);
    free(text);
    return 0;
}
