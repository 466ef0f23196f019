/* libFuzzer: the input as a treebank. */
#include "fuzz.h"

#include <gnn/text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_treebank_t *bank = NULL;
    const int rc = gnn_treebank_read(&bank, fuzz_path(data, size));
    if ((rc != GNN_OK) != (bank == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    if (!bank)
        return 0;
    int64_t row = 0;
    for (int64_t s = 0; s < bank->count; row += bank->lengths[s++])
        for (int64_t k = 0; k < bank->lengths[s]; k++) {
            int64_t steps = 0;
            for (int64_t at = k; at >= 0; at = bank->heads[row + at])
                if (at >= bank->lengths[s] || steps++ > bank->lengths[s])
                    abort();
            if (!*bank->words[row + k] || bank->punctuation[row + k] > 1)
                abort();
        }
    if (row != bank->rows)
        abort();
    gnn_treebank_free(bank);
    return 0;
}
