/* Shared by the forms of op delta: row by row (delta.c), and in chunks (delta_chunks.c, with gates
 * per channel delta_channels.c). */
#ifndef GNN_OPS_NAMED_DELTA_H
#define GNN_OPS_NAMED_DELTA_H

#include <lib/ops/named/named_ops.h>

enum { GNN__DELTA_Q, GNN__DELTA_K, GNN__DELTA_V };

typedef struct gnn__delta {
    int64_t heads, d_k, d_v, square; /* square: d_k d_v */
    int beta, gates;                 /* indices of these inputs; -1: absent */
    bool by_channel;
    gnn_real_t scale;
} gnn__delta_t;

/* One head of the rows of one segment. */
typedef struct gnn__delta_unit {
    const gnn_op_call_t *call;
    const gnn__delta_t *s;
    int64_t head;
} gnn__delta_unit_t;

static inline gnn_real_t gnn__delta_dot(const gnn_real_t *restrict a, const gnn_real_t *restrict b,
                                        int64_t n)
{
    gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* A form that computes the rows of a segment chunk by chunk. */
typedef struct gnn__delta_form {
    /* Count of scratch elements per thread for segments of at most `rows` rows; false: overflow. */
    bool (*values)(const gnn__delta_t *s, int64_t rows, bool backward, int64_t *count);
    /* Rows row0 .. row1 - 1 are one segment. */
    void (*forward)(const gnn__delta_unit_t *unit, int64_t row0, int64_t row1, gnn_real_t *scratch);
    /* Adds to the gradients of the inputs that want one. */
    void (*backward)(const gnn__delta_unit_t *unit, int64_t row0, int64_t row1, gnn_real_t *scratch);
} gnn__delta_form_t;

/* For gates that are one value per head, or absent; and for gates per channel. */
extern const gnn__delta_form_t gnn__delta_by_head, gnn__delta_by_channel;

#endif
