/* libFuzzer: model.safetensors.index.json of a published model, whose other files are whole. */
#define FUZZ_PART 1
#include "fuzz_one_file.h"
