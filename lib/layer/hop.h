/* A layer while it is recorded: the values of one hop, and the pieces that layer.c, reorder.c and
 * the updates put together. */
#ifndef GNN_LIB_LAYER_HOP_H
#define GNN_LIB_LAYER_HOP_H

#include <lib/layer/layer.h>
#include <lib/ops/ops.h>
#include <lib/tape/tape.h>

/* Which products stand elsewhere than the formula writes them (reorder.c). */
typedef struct gnn__order {
    bool senders_late; /* W_source multiplies the sum of raw rows */
    bool update_early; /* the update's first map is done before the sum */
    bool paired;       /* and the self term's in the same product */
} gnn__order_t;

/* One hop on a tape. Values that are not there are GNN_NONE. */
typedef struct gnn__hop {
    const gnn_layer_t *layer;
    gnn_tape_t *tape;
    const gnn_graph_t *graph;
    const gnn_layer_vars_t *vars;
    const gnn_score_vars_t *scores;  /* NULL: nothing beside */
    const gnn__hop_extras_t *extras; /* NULL: nothing besides */
    gnn__order_t order;
    const gnn_message_t *message; /* the config's, or raw rows that are projected later */

    gnn_var_t x_dst, x_src;           /* features after input dropout */
    gnn_var_t normed_dst, normed_src; /* after the norm, where that stands before */
    gnn_var_t target, source; /* projected: [query | message parts], [key | message parts] */
    gnn_var_t shared;         /* receivers projected by the senders' weights */
    gnn_var_t x_i;            /* receivers as the update reads them */
    gnn_var_t self;           /* W_self x_i, where it came with an earlier product */
} gnn__hop_t;

/* A parameter by its name, GNN_NONE if the layer has none of it. */
gnn_var_t gnn__hop_parameter(const gnn__hop_t *hop, const char *name);
/* x W + b by NAME.weight and NAME.bias; the bias need not be there. */
gnn_var_t gnn__hop_linear(const gnn__hop_t *hop, const char *name, gnn_var_t x);
/* x + NAME.bias, or x. */
gnn_var_t gnn__hop_bias(const gnn__hop_t *hop, const char *name, gnn_var_t x);
/* The config's norm by NAME.gain and NAME.shift. */
gnn_var_t gnn__hop_norm(const gnn__hop_t *hop, const char *name, gnn_var_t x);
/* norm(x + dropout(u)), without what the config does not ask for. */
gnn_var_t gnn__hop_residual_norm(const gnn__hop_t *hop, const char *name, gnn_var_t x, gnn_var_t u);
/* W_self x_i. Sparse receivers among the senders are multiplied with them and cut out later. */
gnn_var_t gnn__hop_self_term(const gnn__hop_t *hop);
/* The first n rows: receivers among the senders. */
gnn_var_t gnn__hop_first_rows(const gnn__hop_t *hop, gnn_var_t x, int64_t n);
/* Columns of x; GNN_NONE for none. */
gnn_var_t gnn__hop_columns(const gnn__hop_t *hop, gnn_var_t x, int64_t col, int64_t cols);

/* Decides where products stand. Reads layer, tape, graph and vars. `projected`: W_source has been
 * multiplied already. */
gnn__order_t gnn__layer_order(const gnn__hop_t *hop, bool projected);
/* Records those of the update that stand before the sum, and says what the update reads as x_i. */
void gnn__hop_map_early(gnn__hop_t *hop);
/* Records W_source where it stands after the sum. */
gnn_var_t gnn__hop_map_late(const gnn__hop_t *hop, gnn_var_t a);

#endif
