/* Declaring parameters: the layer and the rows that it is made of name what they own, and ask for
 * it by the same name when they record. */
#ifndef GNN_LIB_LAYER_DECLARE_H
#define GNN_LIB_LAYER_DECLARE_H

#include <lib/layer/layer.h>

/* One declaration of a layer's parameters. Errors are sticky: after the first one nothing more is
 * declared. */
typedef struct gnn__declare {
    gnn_layer_t *layer;
    gnn_parameters_t *parameters;
    const char *prefix;
    const gnn_layer_t *share; /* its fields that begin with `share_fields` are taken; NULL: none */
    const char *share_fields; /* NULL: all of them */
    bool found;               /* some field to share */
    int rc;
} gnn__declare_t;

/* One matrix. `fan_in` and `fan_out` are those that Glorot's bound is taken of; 0: its rows, its
 * columns. Nothing for a matrix without numbers. */
void gnn__declare(gnn__declare_t *d, const char *name, int64_t rows, int64_t cols, gnn_init_t init,
                  double argument, int64_t fan_in, int64_t fan_out);
/* NAME.weight (in x out) by Glorot and, with `bias`, NAME.bias. `fan_out` as above. */
void gnn__declare_linear(gnn__declare_t *d, const char *name, int64_t in, int64_t out,
                         int64_t fan_out, gnn_flag_t bias);
/* NAME.gain and NAME.shift of the config's norm, and the running statistics of batch norm. */
void gnn__declare_norm(gnn__declare_t *d, const char *name, int64_t width);

#endif
