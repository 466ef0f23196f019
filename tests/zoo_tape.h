/* A golden case on a tape: inputs and weights by their names in the file, the output and every
 * gradient that the file has. */
#ifndef GNN_TESTS_ZOO_TAPE_H
#define GNN_TESTS_ZOO_TAPE_H

#include "golden.h"

#include <gnn/tape.h>
#include <math.h>

/* Layout of a value in its array: equal, as one row, heads x rows x width for our rows x heads
 * width, or matrices that stand below one another in ours. */
typedef enum { SAME, ONE_ROW, BY_HEAD, STACKED } layout_t;

typedef struct value {
    char name[32];
    layout_t layout;
    gnn_var_t var;
} value_t;

typedef struct zoo {
    golden_t g;
    gnn_tape_t *tape;
    gnn_graph_t *graph;
    value_t values[16];
    int n_values;
    gnn_aggregate_t how;
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    gnn_var_t x;
} zoo_t;

static inline int64_t number(zoo_t *z, const char *name)
{
    return golden_integers(&z->g, name, NULL)[0];
}

static inline double real(zoo_t *z, const char *name)
{
    return gnn_array_get(golden_array(&z->g, name), 0);
}

/* Our element at index `at` of the array. */
static inline int64_t place(const gnn_array_t *a, layout_t layout, int64_t at)
{
    if (layout != BY_HEAD)
        return at;
    const int64_t rows = a->shape[1], d = a->shape[2], cols = a->shape[0] * d, r = at / cols,
                  c = at % cols;
    return (c / d * rows + r) * d + c % d;
}

/* An input that wants its gradient if the file has one. */
static inline gnn_var_t input(zoo_t *z, const char *name, layout_t layout)
{
    char gradient[40];
    const gnn_array_t *a = golden_array(&z->g, name);
    gnn_tensor_t t = golden_tensor(&z->g, name);
    if (layout != SAME) {
        const int64_t cols = layout == ONE_ROW   ? a->count
                             : layout == STACKED ? a->shape[2]
                                                 : a->shape[0] * a->shape[2];
        t = gnn_tensor(t.data, a->count / cols, cols);
    }
    for (int64_t k = 0; k < a->count; k++)
        t.data[k] = (gnn_real_t)gnn_array_get(a, place(a, layout, k));
    snprintf(gradient, sizeof gradient, "d%s", name);
    const bool wanted = golden_has(&z->g, gradient);
    const gnn_var_t var = gnn_tape_input(z->tape, &t, wanted);
    if (wanted) {
        value_t *v = &z->values[z->n_values++];
        snprintf(v->name, sizeof v->name, "%s", name);
        v->layout = layout;
        v->var = var;
    }
    return var;
}

static inline void same_gradients(zoo_t *z)
{
    for (int k = 0; k < z->n_values; k++) {
        char name[40];
        const value_t *v = &z->values[k];
        snprintf(name, sizeof name, "d%s", v->name);
        const gnn_array_t *a = golden_array(&z->g, name);
        const gnn_tensor_t d = gnn_tape_gradient(z->tape, v->var);
        gnn_real_t *in_order = golden_reals(&z->g, a->count);
        ck_assert_int_eq(d.rows * d.cols, a->count);
        for (int64_t at = 0; at < a->count; at++)
            in_order[place(a, v->layout, at)] = gnn__row(&d, at / d.cols)[at % d.cols];
        const gnn_tensor_t ours = gnn_tensor(in_order, 1, a->count);
        golden_same(&z->g, name, &ours, GOLDEN_GRAD);
    }
}

/* W x, where the file has W out x in. */
static inline gnn_var_t product(zoo_t *z, gnn_var_t x, const char *weight)
{
    return gnn_tape_linear_transposed(z->tape, x, input(z, weight, SAME), GNN_NONE);
}

/* False, and skipped, where the file zoo/NAME is absent. The graph is the caller's to fill in. */
static inline bool zoo_start(zoo_t *z, const char *name)
{
    char file[80];
    memset(z, 0, sizeof *z);
    snprintf(file, sizeof file, "zoo/%s", name);
    if (!golden_open(&z->g, file))
        return false;
    ck_ok(gnn_tape_new(&z->tape, z->g.context));
    gnn_tape_reset(z->tape, 1, 0);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        z->in[k] = GNN_NONE;
    return true;
}

/* Self-attention of rows x on the graph by dot products, with inputs added later. */
static inline void rows_attend(zoo_t *z)
{
    z->x = input(z, "x", SAME);
    z->how = (gnn_aggregate_t){.aggregator = &gnn_aggregator_attention,
                               .message = &gnn_message_none,
                               .graph = z->graph,
                               .shape = {.heads = number(z, "p.heads")}};
}

static inline void check_and_close(zoo_t *z, gnn_var_t y)
{
    const gnn_tensor_t d_y = golden_tensor(&z->g, "gy");
    gnn_tape_keep(z->tape, y);
    ck_assert_msg(gnn_tape_status(z->tape) == GNN_OK, "%s: %s", z->g.name, gnn_error_message());
    ck_ok(gnn_tape_forward(z->tape));
    const gnn_tensor_t out = gnn_tape_value(z->tape, y);
    golden_same(&z->g, "y", &out, GOLDEN_OUT);
    ck_ok(gnn_tape_backward(z->tape, y, &d_y));
    same_gradients(z);
    gnn_tape_free(z->tape);
    gnn_graph_free(z->graph);
    golden_close(&z->g);
}

#endif
