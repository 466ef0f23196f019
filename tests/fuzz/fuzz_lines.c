/* libFuzzer: any bytes as lines of a text, gzipped ones too: every line is UTF-8, has the given
 * length, and contains no line ending. */
#include "fuzz.h"

#include <gnn/text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_text_lines_t *lines = NULL;
    const int rc = gnn_text_lines_read(&lines, fuzz_path(data, size));
    if ((rc != GNN_OK) != (lines == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    for (int64_t k = 0; lines && k < lines->count; k++)
        if (lines->bytes[k] < 0 || lines->at[k][lines->bytes[k]] != '\0' ||
            memchr(lines->at[k], '\n', (size_t)lines->bytes[k]))
            abort();
    gnn_text_lines_free(lines);
    return 0;
}
