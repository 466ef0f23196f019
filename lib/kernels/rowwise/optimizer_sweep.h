/* Sweeps over the flat block of parameters. */
#ifndef GNN_KERNELS_OPTIMIZER_H
#define GNN_KERNELS_OPTIMIZER_H

#include <lib/base/base.h>

/* What one sweep multiplies by, in the precision of the numbers. */
typedef struct {
    gnn_real_t lr, scale, l2, shrink, momentum, one_beta1, beta2, one_beta2, root_correction2, eps;
    bool nesterov;
} gnn__sweep_t;

typedef struct gnn__optimizer_kernels {
    /* Steps of n numbers p with gradients g. torch.optim.SGD: g += wd p; b = momentum b + g;
     * p -= lr (nesterov ? g + momentum b : b); b NULL: no momentum. */
    void (*sgd)(const gnn__sweep_t *s, gnn_real_t *p, const gnn_real_t *g, gnn_real_t *b, int64_t n);
    /* torch.optim.Adam and AdamW: m += (1 - beta1)(g - m); v = beta2 v + (1 - beta2) g^2;
     * p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps). Adam adds wd p to the gradient
     * (l2), AdamW multiplies p by 1 - lr wd before (shrink). RMSprop is Adam whose m is the
     * gradient itself, without corrections. */
    void (*adam)(const gnn__sweep_t *s, gnn_real_t *p, const gnn_real_t *g, gnn_real_t *m,
                 gnn_real_t *v, int64_t n);
    /* The sum of squares, in double. */
    double (*squares)(int64_t n, const gnn_real_t *x);
    bool (*finite)(int64_t n, const gnn_real_t *x);
} gnn__optimizer_kernels_t;
const gnn__optimizer_kernels_t *gnn__optimizer_kernels(void);

#endif
