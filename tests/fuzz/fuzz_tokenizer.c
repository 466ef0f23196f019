/* libFuzzer: a tokenizer in any format, then a text and one byte, which says how long it is. */
#include "fuzz_tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t said = size > 0 ? data[size - 1] : 0, length = said < size ? said : 0,
                 file = size > 0 ? size - 1 - length : 0;
    fuzz_open(fuzz_path(data, file), data + file, length);
    return 0;
}
