/* Sums over neighbours: y_i = start_i + row_i * sum over j in the row of w_ij col_j x_j. Both
 * forms, both directions (the gradient is the same sum over the transposed part). Chunks of rows
 * are handed to one thread each; a row's senders are taken in order, so bits depend on nothing
 * else. */
#ifndef GNN_KERNELS_SPMM_H
#define GNN_KERNELS_SPMM_H

#include <lib/kernels/neighbours/pairs.h>

typedef struct gnn__neighbour_sum {
    gnn__pairs_t pairs;
    int64_t width;
    const gnn_real_t *x;
    int64_t ldx;
    gnn_real_t *y;
    int64_t ldy;
    bool held; /* edges: y is a block of rows from y_row on that is read again at once */
    int64_t y_row;
    const gnn_real_t *start; /* by node, may be y; NULL: 0 */
    int64_t ldstart;
    const gnn_real_t *row_scale, *col_scale; /* per node; NULL: 1 */
    const gnn_real_t *weight; /* by edge number; NULL, or an edge number from weights on: 1 */
    int64_t weight_stride, weights;
} gnn__neighbour_sum_t;

/* Features that one pass over a run handles. */
enum { GNN__SLIDE_BLOCK = 64 };

typedef struct gnn__neighbour_sum_kernels {
    void (*edges)(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1);
    /* Copies `count` rows without gaps to y, with streaming stores if y (`numbers` elements in all)
     * exceeds the caches. `last`: fence, so that other threads may read. */
    void (*store_rows)(const gnn_real_t *rows, int64_t count, int64_t width, gnn_real_t *y,
                       int64_t ldy, int64_t numbers, bool last);
    /* Sliding sums over spans for `count` features from `first` on. A queue of two stacks: sums of
     * suffixes of what was moved over, and one running sum of what came since; nothing is ever
     * subtracted. `suffix` has GNN__SLIDE_BLOCK numbers for each of the `longest` places that
     * gnn__slide_chunks found. */
    void (*spans)(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1, int64_t first,
                  int64_t count, gnn_real_t *suffix);
    /* d_weight[number] += row_i col_j (d_y_i . x_j) over edges; d_y takes y's place and stays as it
     * is. */
    void (*weight_grad)(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1,
                        gnn_real_t *d_weight, int64_t d_stride);
} gnn__neighbour_sum_kernels_t;
const gnn__neighbour_sum_kernels_t *gnn__neighbour_sum_kernels(void);

/* Cuts the rows of a spans part into at most GNN__SLIDE_CHUNKS chunks whose first runs cost no more
 * to sum anew than the chunk before did; bounds has one place more. *longest grows to the longest
 * suffix stack. */
enum { GNN__SLIDE_CHUNKS = 66 };
int64_t gnn__slide_chunks(const gnn__pairs_t *pairs, int64_t *bounds, int64_t *longest);

#endif
