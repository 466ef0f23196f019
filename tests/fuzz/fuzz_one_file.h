/* Changes one file of a folder's input alone (FUZZ_PART: 0 config.json, 1 the index, 2
 * modules.json, 3 the pooling), so that the others stay valid and reading continues after it. */
#ifndef GNN_TESTS_FUZZ_ONE_FILE_H
#define GNN_TESTS_FUZZ_ONE_FILE_H

#include "fuzz_folder.c"
#include "fuzz_json.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static uint8_t whole[1 << 16], part[1 << 16];
    const uint8_t *at = data, *file = data;
    size_t left = size, length = 0;
    if (max_size > sizeof whole || size > max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    for (int k = 0; k <= FUZZ_PART; k++)
        length = fuzz_part(&file, &at, &left);
    const size_t before = (size_t)(file - data), behind = size - before - length;
    memcpy(part, file, length);
    length = fuzz_json_mutate(part, length, max_size - before - behind, seed);
    for (size_t k = 0; k < length; k++)
        part[k] = part[k] == 1 ? ' ' : part[k];
    memcpy(whole, data + size - behind, behind);
    memcpy(data + before, part, length);
    memcpy(data + before + length, whole, behind);
    return before + length + behind;
}

#endif
