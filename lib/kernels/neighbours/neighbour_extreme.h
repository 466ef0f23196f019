/* The largest, or least, of what neighbours say, number by number, on edges, and its gradient. Rows
 * are handed to one thread each and take their neighbours in order. */
#ifndef GNN_KERNELS_EXTREME_H
#define GNN_KERNELS_EXTREME_H

#include <lib/kernels/neighbours/pairs.h>

typedef struct gnn__neighbour_extreme {
    gnn__pairs_t pairs; /* of edges */
    int64_t width;
    gnn_real_t sign;         /* receive; 1: the largest; -1: the least */
    const gnn_real_t *other; /* rows of neighbours */
    gnn_real_t *own;         /* and of those who hear them; receive writes these */
    int64_t ldother, ldown;
    /* match */
    const gnn_real_t *gain;
    gnn_real_t *to;
    int64_t ldgain, ldto;
    bool add; /* to what stands there */
} gnn__neighbour_extreme_t;

typedef struct gnn__neighbour_extreme_kernels {
    /* own_r = the largest other_n of the neighbours n of row r; 0 where there are none, NaN where
     * one of them is. */
    void (*receive)(const gnn__neighbour_extreme_t *e, int64_t row0, int64_t row1);
    /* to_r (+)= sum of gain_n, number by number, over neighbours whose other_n is own_r. How many
     * share an extreme is such a sum, of ones, and the gradient one of shares, over the transposed
     * part. */
    void (*match)(const gnn__neighbour_extreme_t *e, int64_t row0, int64_t row1);
} gnn__neighbour_extreme_kernels_t;
/* NULL: this processor has none. */
const gnn__neighbour_extreme_kernels_t *gnn__neighbour_extreme_kernels(void);

#endif
