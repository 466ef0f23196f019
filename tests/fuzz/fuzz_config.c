/* libFuzzer: config.json of a published model, whose other files are whole. */
#define FUZZ_PART 0
#include "fuzz_one_file.h"
