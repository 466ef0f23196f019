/* libFuzzer: two texts as features and labels of a small graph. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char links[] = "0 1\n1 2\n";
    char features[256];
    gnn_data_t *set = NULL;
    const uint8_t *part;
    size_t n = fuzz_part(&part, &data, &size);
    if (gnn_data_open(&set, fuzz_file("f.edges", (const uint8_t *)links, sizeof links - 1)) != GNN_OK)
        abort();
    snprintf(features, sizeof features, "%s", fuzz_file("x.csv", part, n));
    const char *labels = fuzz_file("y.csv", data, size);
    if (gnn_data_add_csv(set, n > 0 ? features : NULL, size > 0 ? labels : NULL) != GNN_OK &&
        !*gnn_error_message())
        abort();
    fuzz_set(GNN_OK, set);
    return 0;
}
