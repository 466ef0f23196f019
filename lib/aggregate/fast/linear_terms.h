/* Sums of products over spans, the parts of linear attention; linear_terms.c explains them. */
#ifndef GNN_AGGREGATE_FAST_LINEAR_TERMS_H
#define GNN_AGGREGATE_FAST_LINEAR_TERMS_H

#include <lib/aggregate/aggregate.h>

/* A head's columns of a matrix; those of the next head follow `apart` columns later. */
typedef struct gnn__head_columns {
    gnn_real_t *data; /* of row 0 */
    int64_t stride, apart, width;
} gnn__head_columns_t;

/* out_r += scale sum over c of f_rc (a_r . b_c) c_c for `heads` heads of a and out, which share b
 * and c. Rows are pairs->n_rows, columns pairs->n_cols. */
typedef struct gnn__linear_term {
    const gnn__pairs_t *pairs;
    gnn__head_columns_t a, b, c, out; /* of widths d_b, d_b, d_c, d_c */
    int64_t heads;
    gnn_real_t scale;
    /* f_rc = exp(row_log[r * log_stride] + col_log[c * log_stride]), for one head; NULL: 1 */
    const double *row_log, *col_log;
    int64_t log_stride;
} gnn__linear_term_t;

/* The first row of the run after the one that begins with `row`: rows of a run overlap each other's
 * spans one after another, and two runs have no column in common. */
int64_t gnn__linear_run_end(const gnn__pairs_t *pairs, int64_t row);
int64_t gnn__linear_runs(const gnn__pairs_t *pairs);
/* Multiply-adds of a term. */
double gnn__linear_cost(const gnn__pairs_t *pairs, int64_t heads, double d_b, double d_c);
/* Values of one thread's scratch, for widths of at most `d` and products d_b d_c of at most
 * `square`. False: they do not fit. */
bool gnn__linear_scratch(int64_t d, int64_t square, int64_t *size);
/* The rows row0 .. row1 - 1, one run. */
void gnn__linear_rows(const gnn__linear_term_t *t, int64_t d, int64_t square, gnn_real_t *scratch,
                      int64_t row0, int64_t row1);

#endif
