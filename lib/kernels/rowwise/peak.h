/* What the machine can do at most, measured for profiles. */
#ifndef GNN_KERNELS_ROOF_H
#define GNN_KERNELS_ROOF_H

#include <lib/base/base.h>

typedef struct gnn__peak_kernels {
    /* `rounds` of multiply-adds on registers alone: returns a number that depends on all of them,
     * and how many operations a round has. */
    gnn_real_t (*multiply_add)(int64_t rounds, gnn_real_t by, double *operations);
    /* Reads n numbers once. */
    gnn_real_t (*read)(int64_t n, const gnn_real_t *x);
} gnn__peak_kernels_t;
const gnn__peak_kernels_t *gnn__peak_kernels(void);

#endif
