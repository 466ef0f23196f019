/* libFuzzer: vocab.json, a byte 1, merges.txt, a byte 1, and a text for the tokenizer of both. */
#include "fuzz_tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *vocabulary, *merges;
    const size_t v = fuzz_part(&vocabulary, &data, &size), m = fuzz_part(&merges, &data, &size);
    fuzz_file("vocab.json", vocabulary, v);
    fuzz_open(fuzz_file("merges.txt", merges, m), data, size);
    return 0;
}
