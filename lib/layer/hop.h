/* One hop of a layer inside lib/layer: the declaration of its parameters, its values on a tape, and
 * the functions of an update. */
#ifndef GNN_LIB_LAYER_HOP_H
#define GNN_LIB_LAYER_HOP_H

#include <lib/layer/layer.h>
#include <lib/ops/ops.h>
#include <lib/tape/tape.h>

/* ---- declaring parameters (layer_parameters.c) ---- */

/* The declaration of a layer's parameters. The first error stays: after it nothing more is
 * declared. */
typedef struct gnn__declare {
    gnn_layer_t *layer;
    gnn_parameters_t *parameters;
    const char *prefix;
    const gnn_layer_t *share; /* the layer whose parameters are used; NULL: none */
    const char *share_fields; /* those whose field begins so; NULL: all */
    bool found;               /* at least one field is shared */
    int rc;
} gnn__declare_t;

/* Declares a matrix, unless it is empty. Glorot's bound is that of `fan_in` and `fan_out`; 0: rows,
 * columns. */
void gnn__declare(gnn__declare_t *d, const char *name, int64_t rows, int64_t cols, gnn_init_t init,
                  double argument, int64_t fan_in, int64_t fan_out);
/* Declares NAME.weight (in x out, Glorot) and, with `bias`, NAME.bias. */
void gnn__declare_linear(gnn__declare_t *d, const char *name, int64_t in, int64_t out,
                         int64_t fan_out, gnn_flag_t bias);
/* Declares NAME.gain and NAME.shift of the config's norm, and the running statistics of batch
 * norm. */
void gnn__declare_norm(gnn__declare_t *d, const char *name, int64_t width);

/* ---- recording (layer.c, hop.c) ---- */

/* Products that are computed in another order than the formula has them (hop.c). */
typedef struct gnn__order {
    bool senders_late; /* W_source after the sum of raw rows */
    bool update_early; /* the update's first map before the sum */
    bool paired;       /* with the self term in the same product */
} gnn__order_t;

/* One hop on a tape. Absent values are GNN_NONE. */
typedef struct gnn__hop {
    const gnn_layer_t *layer;
    gnn_tape_t *tape;
    const gnn_graph_t *graph;
    const gnn_layer_vars_t *vars;
    const gnn__score_vars_t *scores; /* inputs of the scores; NULL: none */
    const gnn__hop_extras_t *extras; /* NULL: none */
    gnn__order_t order;
    const gnn_message_t *message; /* the config's; none where W_source comes after the sum */

    gnn_var_t x_dst, x_src;           /* features after input dropout */
    gnn_var_t normed_dst, normed_src; /* after pre-norm */
    gnn_var_t target, source; /* projected: [query | message parts], [key | message parts] */
    gnn_var_t shared;         /* receivers projected by the senders' weights */
    gnn_var_t x_i;            /* receivers as the update reads them */
    gnn_var_t self;           /* W_self x_i, where it came with an earlier product */
} gnn__hop_t;

/* A parameter by its name; GNN_NONE if there is none. */
gnn_var_t gnn__hop_parameter(const gnn__hop_t *hop, const char *name);
/* x W + b with NAME.weight and, if there is one, NAME.bias. */
gnn_var_t gnn__hop_linear(const gnn__hop_t *hop, const char *name, gnn_var_t x);
/* x + NAME.bias; x if there is none. */
gnn_var_t gnn__hop_bias(const gnn__hop_t *hop, const char *name, gnn_var_t x);
/* The config's norm with NAME.gain and NAME.shift. */
gnn_var_t gnn__hop_norm(const gnn__hop_t *hop, const char *name, gnn_var_t x);
/* norm(x + dropout(u)); residual, norm and dropout as the config has them. */
gnn_var_t gnn__hop_residual_norm(const gnn__hop_t *hop, const char *name, gnn_var_t x, gnn_var_t u);
/* W_self x_i. Sparse receivers that are the first senders are cut out after the product. */
gnn_var_t gnn__hop_self_term(const gnn__hop_t *hop);
/* The first n rows: receivers that are the first senders. */
gnn_var_t gnn__hop_first_rows(const gnn__hop_t *hop, gnn_var_t x, int64_t n);
/* Columns of x; GNN_NONE for none. */
gnn_var_t gnn__hop_columns(const gnn__hop_t *hop, gnn_var_t x, int64_t col, int64_t cols);

/* Chooses the order of the products from layer, tape, graph and vars. `projected`: senders are
 * projected already. */
gnn__order_t gnn__layer_order(const gnn__hop_t *hop, bool projected);
/* Records the products of the update that come before the sum, and sets hop->x_i. */
void gnn__hop_map_early(gnn__hop_t *hop);
/* Records W_source if it comes after the sum. */
gnn_var_t gnn__hop_map_late(const gnn__hop_t *hop, gnn_var_t a);

/* ---- updates (updates.c) ---- */

/* The functions of an update. They may be NULL, except `record`. */
struct gnn__update_rules {
    /* The update has a product from the aggregate to config.out features: heads then have
     * config.out / heads each. */
    bool mixes_heads;
    /* Columns of the output; NULL: config.out if it mixes heads, else those of the aggregate. */
    int64_t (*width)(const gnn_layer_config_t *config, int64_t aggregate);
    /* Checks a resolved config; an error names the setting that the update does not support. */
    int (*check)(const gnn_layer_config_t *config, const gnn__widths_t *width);
    /* Declares its parameters. */
    void (*declare)(gnn__declare_t *d);
    /* Records the update from receivers x_i and aggregate a. */
    gnn_var_t (*record)(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a);
    /* Records the part after the residual and its norm. */
    gnn_var_t (*after)(const gnn__hop_t *hop, gnn_var_t z);

    /* The parameter of a linear map that `record` begins with ("out": out.weight, out.bias),
     * recorded by gnn__update_first. It may be moved before a sum: W sum_j x_j = sum_j (W x_j).
     * NULL: none. */
    const char *first;
    bool first_reads_receiver; /* it maps x_i + a: if it is moved, x_i is mapped, too */
    bool first_is_all; /* `record` is a single linear map, so the self term can be fused into it */
    bool takes_self;   /* `record` adds W_self x_i itself */
};

/* Columns of the output of a layer of this config. */
int64_t gnn__update_width(const gnn_layer_config_t *config, int64_t aggregate);
/* The update's first map of z; only its bias if the map was moved before the aggregation. */
gnn_var_t gnn__update_first(const gnn__hop_t *hop, gnn_var_t z);
/* A `record` that is the first map of the aggregate alone. */
gnn_var_t gnn__update_first_alone(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a);

#endif
