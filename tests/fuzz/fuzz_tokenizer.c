/* libFuzzer: a tokenizer in any format, then a text and one byte with its length. */
#include "fuzz_json.h"
#include "fuzz_tokens.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Mutates the file if it is JSON; text and length byte stay. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static uint8_t tail[256];
    const size_t said = size > 0 ? data[size - 1] : 0, rest = said < size ? said + 1 : size;
    if (size == rest || data[0] != '{' || seed % 4 == 0 || rest > sizeof tail)
        return LLVMFuzzerMutate(data, size, max_size);
    memcpy(tail, data + size - rest, rest);
    const size_t made = fuzz_json_mutate(data, size - rest, max_size - rest, seed / 4);
    memcpy(data + made, tail, rest);
    return made + rest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t said = size > 0 ? data[size - 1] : 0, length = said < size ? said : 0,
                 file = size > 0 ? size - 1 - length : 0;
    fuzz_open(fuzz_path(data, file), data + file, length);
    return 0;
}
