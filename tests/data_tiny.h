/* A tiny data set as arrays, to be written whole or with something wrong in it. */
#ifndef GNN_TESTS_DATA_TINY_H
#define GNN_TESTS_DATA_TINY_H

#include "io_bytes.h"

/* clang-format off */
#define INT64(name, n, ...) {name, GNN_DTYPE_INT64, 1, {n}, n, (const int64_t[]){__VA_ARGS__}}
#define INT32(name, n, ...) {name, GNN_DTYPE_INT32, 1, {n}, n, (const int32_t[]){__VA_ARGS__}}
#define FLOAT32(name, n, ...) {name, GNN_DTYPE_FLOAT32, 1, {n}, n, (const float[]){__VA_ARGS__}}
#define FLOAT64(name, n, ...) {name, GNN_DTYPE_FLOAT64, 1, {n}, n, (const double[]){__VA_ARGS__}}
#define BOOL(name, n, ...) {name, GNN_DTYPE_BOOL, 1, {n}, n, (const uint8_t[]){__VA_ARGS__}}
#define MATRIX(name, dtype, type, rows, cols, ...) \
    {name, dtype, 2, {rows, cols}, (rows) * (cols), (const type[]){__VA_ARGS__}}
/* clang-format on */

/* 4 nodes, edges 0-1, 1-2 (stored twice and one way), a self-loop on 3; 3 sparse features. */
enum { PARTS = 11 };
static const gnn_array_t tiny[PARTS] = {
    INT64("adj_indptr", 5, 0, 1, 3, 3, 5), INT32("adj_indices", 5, 1, 2, 2, 3, 0),
    INT64("adj_shape", 2, 4, 4),           INT64("attr_indptr", 5, 0, 2, 3, 3, 4),
    INT32("attr_indices", 4, 0, 2, 1, 0),  FLOAT32("attr_data", 4, 1, 3, -2, 0.5f),
    INT64("attr_shape", 2, 4, 3),          INT32("labels", 4, 0, 2, 2, -7),
    BOOL("train_mask", 4, 1, 0, 0, 0),     BOOL("val_mask", 4, 0, 1, 0, 0),
    BOOL("test_mask", 4, 0, 0, 1, 0),
};

/* Writes the tiny set with some arrays replaced (same name), added, or taken out (ndim -1). */
static inline const char *write_tiny(int count, const gnn_array_t *changes)
{
    gnn_array_t arrays[PARTS + 8];
    int n = PARTS;
    memcpy(arrays, tiny, sizeof tiny);
    for (int c = 0; c < count; c++) {
        int k = 0;
        while (k < n && strcmp(arrays[k].name, changes[c].name) != 0)
            k++;
        if (changes[c].ndim < 0) {
            arrays[k] = arrays[--n];
        } else {
            arrays[k] = changes[c];
            n += k == n;
        }
    }
    const char *path = in_folder("tiny.npz");
    ck_ok(gnn_npz_write(path, n, arrays));
    return path;
}

#endif
