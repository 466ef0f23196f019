/* One run of a layer on a tape, forward and back, and what came of it; for the suites about
 * layers. */
#ifndef GNN_TESTS_LAYER_RUN_H
#define GNN_TESTS_LAYER_RUN_H

#include "support.h"

enum { EDGE_FEATURES, EDGE_WEIGHT, EDGE_BIAS, EDGE_INPUTS };

typedef struct {
    gnn_real_t *y, *dx, *parameters; /* dx: NULL for sparse features */
    gnn_real_t *d_edge[EDGE_INPUTS];
    int64_t n_y, n_x, n_parameters, n_edge[EDGE_INPUTS];
} result_t;

typedef struct {
    const gnn_tensor_t *x;                 /* or */
    const gnn_sparse_t *sparse;            /* features */
    const gnn_tensor_t *edge[EDGE_INPUTS]; /* or NULL */
    int training;                          /* dropout is on */
} features_t;

static inline void free_result(result_t *r)
{
    free(r->y);
    free(r->dx);
    free(r->parameters);
    for (int k = 0; k < EDGE_INPUTS; k++)
        free(r->d_edge[k]);
}

static inline gnn_real_t *copy_of(const gnn_real_t *from, int64_t n)
{
    gnn_real_t *to = malloc(sizeof *to * (size_t)(n > 0 ? n : 1));
    memcpy(to, from, sizeof *to * (size_t)n);
    return to;
}

/* The tape's status is the caller's to look at: with an error nothing is run, and all is NULL. */
static inline result_t run_layer(const gnn_layer_t *layer, gnn_tape_t *tape,
                                 const gnn_graph_t *graph, const features_t *of)
{
    result_t r = {0};
    const int64_t n = gnn_graph_n_dst(graph), width = gnn_layer_width(layer);
    gnn_real_t *seed = test_reals(n * width, 9);
    const gnn_tensor_t d = gnn_tensor(seed, n, width);
    gnn_tape_reset(tape, 1, of->training);
    gnn_tape_set_step(tape, 3);
    gnn_parameters_zero_gradients(gnn_layer_parameters(layer));
    const gnn_var_t in =
        of->sparse ? gnn_tape_sparse(tape, of->sparse) : gnn_tape_input(tape, of->x, 1);
    gnn_var_t edge[EDGE_INPUTS];
    for (int k = 0; k < EDGE_INPUTS; k++)
        edge[k] = of->edge[k] ? gnn_tape_input(tape, of->edge[k], 1) : GNN_NONE;
    const gnn_layer_vars_t vars = {GNN_NONE, in, edge[EDGE_FEATURES], edge[EDGE_WEIGHT],
                                   edge[EDGE_BIAS]};
    const gnn_var_t y = gnn_layer_record(layer, tape, graph, &vars);
    if (gnn_tape_status(tape) == GNN_OK) {
        ck_ok(gnn_tape_forward(tape));
        ck_ok(gnn_tape_backward(tape, y, &d));
        const gnn_real_t *block =
            gnn_parameters_block(gnn_layer_parameters(layer), 1, &r.n_parameters);
        r.n_y = n * width;
        r.y = copy_of(gnn_tape_value(tape, y).data, r.n_y);
        r.parameters = copy_of(block, r.n_parameters);
        r.n_x = of->sparse ? 0 : of->x->rows * of->x->cols;
        for (int k = 0; k < EDGE_INPUTS; k++)
            if (of->edge[k]) {
                r.n_edge[k] = of->edge[k]->rows * of->edge[k]->cols;
                r.d_edge[k] = copy_of(gnn_tape_gradient(tape, edge[k]).data, r.n_edge[k]);
            }
        r.dx = of->sparse ? NULL : copy_of(gnn_tape_gradient(tape, in).data, r.n_x);
    }
    free(seed);
    return r;
}

#endif
