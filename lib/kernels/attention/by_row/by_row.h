/* Attention row by row: a walk over each row's pairs in blocks, for all scores, edge inputs and
 * both forms. */
#ifndef GNN_KERNELS_BY_ROW_H
#define GNN_KERNELS_BY_ROW_H

#include <lib/kernels/attention/attention.h>

typedef struct gnn__attention_rows {
    void (*forward)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch);
    /* dY . Y of every head */
    void (*delta)(const gnn__attention_t *a, int64_t i0, int64_t i1, gnn_real_t *delta);
    /* d_a (heads * d_k), d_prior (heads * prior.stride): these rows' sums are added; NULL: not
     * wanted. */
    void (*receive)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch,
                    gnn_real_t *d_a, gnn_real_t *d_prior);
    void (*send)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch);
} gnn__attention_rows_t;
const gnn__attention_rows_t *gnn__attention_rows(void);

/* Numbers of scratch per thread. */
int64_t gnn__attention_rows_scratch(const gnn__attention_t *a);

#endif
