/* Ids as values: an op chooses them, others read them. An id is an element of a dense value, an
 * integer from 0 or -1 for none, and no gradient flows through it. */
#ifndef GNN_OPS_NAMED_CHOICES_H
#define GNN_OPS_NAMED_CHOICES_H

#include <lib/ops/named/named_ops.h>

/* Most rows that ids can name: reals hold all integers up to there. */
#define GNN__MOST_IDS (GNN_DOUBLE ? (int64_t)INT32_MAX : (int64_t)1 << 24)

/* GNN_EOVERFLOW if `count` rows or columns are too many for ids. */
int gnn__op_ids_fit(const gnn_op_call_t *call, const char *name, int64_t count);
/* GNN_EINVALID unless all elements of input k are integers in -1 .. most - 1. */
int gnn__op_ids(const gnn_op_call_t *call, const char *name, int k, int64_t most);

static inline int64_t gnn__id_at(const gnn_tensor_t *ids, int64_t r, int64_t c)
{
    return (int64_t)gnn__row(ids, r)[c];
}

/* The elements of a matrix of ids by their id: those of id j are order[start[j]] ..
 * order[start[j + 1] - 1], counted row by row, in rising order. Elements of -1 are left out. */
typedef struct gnn__by_id {
    int64_t *start, *order;
} gnn__by_id_t;

/* Bytes for `count` ids and all elements of input k. */
int gnn__by_id_bytes(const gnn_op_call_t *call, int k, int64_t count, size_t *bytes);
/* A counting sort into such a block. */
gnn__by_id_t gnn__by_id(const gnn_tensor_t *ids, int64_t count, void *block);

#endif
