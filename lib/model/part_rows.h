/* Rows of an input that a part of the graph reads, gathered into memory that is reused from batch
 * to batch. */
#ifndef GNN_LIB_MODEL_PART_ROWS_H
#define GNN_LIB_MODEL_PART_ROWS_H

#include <gnn/model.h>
#include <lib/base/base.h>

/* The rows of a part: row k is nodes[k], or edges[k], or first + k if both are NULL. */
typedef struct gnn__part_index {
    const int32_t *nodes;
    const int64_t *edges;
    int64_t first, count;
} gnn__part_index_t;

static inline int64_t gnn__part_row(const gnn__part_index_t *index, int64_t k)
{
    return index->nodes ? index->nodes[k] : index->edges ? index->edges[k] : index->first + k;
}

typedef struct gnn__part_rows {
    gnn_tensor_t dense;
    gnn_sparse_t sparse;
    gnn_real_t *numbers; /* elements of dense rows, or values of sparse ones */
    int64_t *indptr;
    int32_t *indices; /* of sparse rows; ids */
    int64_t numbers_room, indptr_room, indices_room;
} gnn__part_rows_t;

void gnn__part_rows_free(gnn__part_rows_t *rows);
/* *out becomes those rows of `from`, under its name, in the memory of `to`. Consecutive rows of a
 * dense tensor are a view of it. `context` NULL: one thread. */
int gnn__part_rows_take(gnn__part_rows_t *to, const gnn_named_t *from,
                        const gnn__part_index_t *index, gnn_context_t *context, gnn_named_t *out);

#endif
