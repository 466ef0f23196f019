/* libFuzzer: seven texts as the parts of OGB's folder; an empty one is not there. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"f/raw/num-node-list.csv.gz", "f/raw/node-label.csv.gz",
                                        "f/raw/edge.csv.gz",          "f/raw/node-feat.csv.gz",
                                        "f/split/s/train.csv.gz",     "f/split/s/valid.csv.gz",
                                        "f/split/s/test.csv.gz"};
    fuzz_folder(sizeof names / sizeof names[0], names, data, size);
    return 0;
}
