/* libFuzzer: bytes as the arrays of an unpacked .npz: names of data sets, types, shapes and values
 * that nearly fit each other (CSR of PyTorch Geometric and of Shchur et al., lists of edges,
 * features, masks, class names). What becomes a set holds together. */
#include "fuzz.h"

#include <lib/data/arrays/arrays.h>
#include <lib/data/layouts.h>

static const char *const names[] = {"labels",        "node_labels",   "y",
                                    "adj_indptr",    "adj_indices",   "adj_shape",
                                    "adj_data",      "adj.indptr",    "adj.indices",
                                    "adj.shape",     "adj.data",      "attr_indptr",
                                    "attr_shape",    "attr_indices",  "attr_data",
                                    "attr_matrix",   "node_features", "x",
                                    "edges",         "messages",      "edge_index",
                                    "edge_weight",   "edge_weights",  "edge_attr",
                                    "edge_features", "train_mask",    "val_mask",
                                    "test_mask",     "train_masks",   "val_masks",
                                    "test_masks",    "class_names",   "class_name_offsets",
                                    "node.a",        "edge.a",        "graph.a"};

/* Mostly a node or a position in a row, sometimes far outside. */
static double draw_value(fuzz_bytes_t *b, int n)
{
    static const double far[] = {-1, 1e9, -1e18, 1e18, 255, 1e300, 0.5, -0.5};
    const int k = fuzz_draw(b, 64);
    return k >= 56 ? far[k - 56] : k % (n + 2);
}

static void put(void *data, gnn_dtype_t type, int64_t at, double v)
{
    const double whole = v > 9e18 ? 9e18 : v < -9e18 ? -9e18 : v;
    const int64_t i = (int64_t)whole;
    switch (type) {
    case GNN_DTYPE_FLOAT32: ((float *)data)[at] = (float)v; break;
    case GNN_DTYPE_FLOAT64: ((double *)data)[at] = v; break;
    case GNN_DTYPE_INT64: ((int64_t *)data)[at] = i; break;
    case GNN_DTYPE_UINT64: ((uint64_t *)data)[at] = (uint64_t)i; break;
    case GNN_DTYPE_INT32: ((int32_t *)data)[at] = (int32_t)(i % INT32_MAX); break;
    case GNN_DTYPE_UINT8: ((uint8_t *)data)[at] = (uint8_t)(i & 255); break;
    default: ((uint8_t *)data)[at] = i != 0; break; /* GNN_DTYPE_BOOL */
    }
}

static void add(gnn_arrays_t *arrays, fuzz_bytes_t *b, int n)
{
    static const gnn_dtype_t types[] = {GNN_DTYPE_INT64,  GNN_DTYPE_INT32, GNN_DTYPE_FLOAT32,
                                        GNN_DTYPE_BOOL,   GNN_DTYPE_UINT8, GNN_DTYPE_UINT64,
                                        GNN_DTYPE_FLOAT64};
    const int64_t sizes[] = {n, n + 1, 2, 2 * n, 1, 0, 3, 4};
    const char *name = names[fuzz_draw(b, sizeof names / sizeof *names)];
    gnn_array_t like = {.dtype = types[fuzz_draw(b, 7)], .ndim = 1 + fuzz_draw(b, 4) % 3, .count = 1};
    for (int k = 0; k < like.ndim; k++) {
        like.shape[k] = sizes[fuzz_draw(b, 8)];
        like.count *= like.shape[k];
    }
    const size_t bytes = (size_t)like.count * gnn__element(like.dtype)->size;
    void *data;
    fuzz_must(gnn__new(&data, (int64_t)bytes, 1, "an array"));
    for (int64_t k = 0; k < like.count; k++)
        put(data, like.dtype, k, draw_value(b, n));
    fuzz_must(gnn__arrays_add(arrays, name, strlen(name), &like, data));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes_t bytes = {data, size};
    gnn_arrays_t *arrays = NULL;
    gnn_data_t *set = NULL;
    const int n = 1 + fuzz_draw(&bytes, 6);
    fuzz_must(gnn__arrays_new(&arrays));
    while (bytes.left > 0)
        add(arrays, &bytes, n);
    if (gnn__arrays_seal(arrays) == GNN_OK) {
        fuzz_must(gnn__new(&set, 1, sizeof *set, "a data set"));
        int rc = gnn__data_from_arrays(set, arrays);
        if (rc == GNN_OK)
            fuzz_must(gnn__asprintf(&set->name, "f"));
        else
            gnn_data_free(set);
        fuzz_set(rc, rc == GNN_OK ? set : NULL);
    }
    gnn_arrays_free(arrays);
    return 0;
}
