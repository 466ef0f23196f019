/* libFuzzer: two texts as features and labels of two small graphs, whose nodes are integers and
 * words. */
#include "fuzz.h"

static void read_both(const char *links, const char *features, const char *labels)
{
    gnn_data_t *set = NULL;
    if (gnn_data_open(&set, fuzz_file("f.edges", (const uint8_t *)links, strlen(links))) != GNN_OK)
        abort();
    if (gnn_data_add_csv(set, features, labels) != GNN_OK && !*gnn_error_message())
        abort();
    fuzz_set(GNN_OK, set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char features[256], labels[256];
    const uint8_t *part;
    const size_t n = fuzz_part(&part, &data, &size);
    snprintf(features, sizeof features, "%s", fuzz_file("x.csv", part, n));
    snprintf(labels, sizeof labels, "%s", fuzz_file("y.csv", data, size));
    read_both("0 1\n1 2\n", n > 0 ? features : NULL, size > 0 ? labels : NULL);
    read_both("a b\nb \"c d\"\n", n > 0 ? features : NULL, size > 0 ? labels : NULL);
    return 0;
}
