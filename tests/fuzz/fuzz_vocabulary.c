/* libFuzzer: bytes as a vocabulary; a vocabulary that was read finds each of its words. */
#include "fuzz.h"

#include <gnn/text.h>

static void look(const gnn_vocabulary_t *v)
{
    for (int64_t k = 1; k < gnn_vocabulary_size(v); k++)
        if (gnn_vocabulary_find(v, gnn_vocabulary_word(v, k)) != k)
            abort();
    for (int64_t k = 0; k < gnn_vocabulary_labels(v); k++)
        if (!*gnn_vocabulary_label(v, k))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_vocabulary_t *v = NULL;
    int rc = gnn_vocabulary_load(&v, fuzz_path(data, size));
    if ((rc != GNN_OK) != (v == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    if (v)
        look(v);
    gnn_vocabulary_free(v);
    return 0;
}
