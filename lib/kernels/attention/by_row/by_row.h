/* Attention row by row: a walk over each row's pairs in blocks, for all scores, edge inputs and
 * both forms. */
#ifndef GNN_KERNELS_BY_ROW_H
#define GNN_KERNELS_BY_ROW_H

#include <lib/kernels/attention/attention.h>

/* Sums over all pairs; NULL: not wanted. */
typedef struct gnn__row_sums {
    gnn_real_t *a;      /* heads * d_k */
    gnn_real_t *prior;  /* heads * prior.stride */
    gnn_real_t *keys;   /* those of all key tables, one after another */
    gnn_real_t *values; /* of the table of values */
} gnn__row_sums_t;

typedef struct gnn__attention_rows {
    void (*forward)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch);
    /* dY . Y of every head */
    void (*delta)(const gnn__attention_t *a, int64_t i0, int64_t i1, gnn_real_t *delta);
    /* These rows' sums are added. */
    void (*receive)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch,
                    const gnn__row_sums_t *sums);
    void (*send)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch);
} gnn__attention_rows_t;
const gnn__attention_rows_t *gnn__attention_rows(void);

/* Numbers of scratch per thread. */
int64_t gnn__attention_rows_scratch(const gnn__attention_t *a);

#endif
