/* Arrays of a checkpoint, read as matrices. */
#ifndef GNN_LIB_WEIGHTS_ARCH_ARCH_MATRIX_H
#define GNN_LIB_WEIGHTS_ARCH_ARCH_MATRIX_H

#include <gnn/io.h>
#include <lib/base/base.h>
#include <math.h>

typedef struct matrix {
    const gnn_array_t *array;
    int64_t rows, cols;
} matrix_t;

/* Leading dimensions of 1 are dropped; dimensions after the first are flattened into a row. */
static inline matrix_t as_matrix(const gnn_array_t *a)
{
    int first = 0;
    while (first < a->ndim - 1 && a->shape[first] == 1)
        first++;
    const int left = a->ndim - first;
    const int64_t rows = left < 2 ? 1 : a->shape[first];
    return (matrix_t){a, rows, rows > 0 ? a->count / rows : 0};
}

static inline void read_floats(const float *from, int64_t n, gnn_real_t *out)
{
    for (int64_t k = 0; k < n; k++)
        out[k] = (gnn_real_t)from[k];
}

static inline int read_row(const matrix_t *m, int64_t row, gnn_real_t *out)
{
    const int64_t at = row * m->cols;
    if (m->array->dtype == GNN_DTYPE_FLOAT32)
        read_floats((const float *)m->array->data + at, m->cols, out);
    else
        for (int64_t k = 0; k < m->cols; k++)
            out[k] = (gnn_real_t)gnn_array_get(m->array, at + k);
    for (int64_t k = 0; k < m->cols; k++)
        if (!isfinite(out[k]))
            return gnn__error(GNN_ENUMERIC, "array %s: element %lld is %g", m->array->name,
                              (long long)(at + k), (double)out[k]);
    return GNN_OK;
}

#endif
