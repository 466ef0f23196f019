/* What a row of updates.def does, and what its functions may call. */
#ifndef GNN_LIB_LAYER_UPDATE_H
#define GNN_LIB_LAYER_UPDATE_H

#include <lib/layer/declare.h>
#include <lib/layer/hop.h>

/* Every function may be NULL unless its comment says otherwise. */
struct gnn__update_rules {
    /* A product of the row makes config.out features of whatever width is aggregated; heads then
     * share config.out between them. */
    bool mixes_heads;
    /* Features that the row puts out; NULL: config.out where it mixes heads, else those of the
     * aggregate. */
    int64_t (*width)(const gnn_layer_config_t *config, int64_t aggregate);
    /* GNN_OK, or an error in words for a config that the row cannot run. Called on a resolved
     * config. */
    int (*check)(const gnn_layer_config_t *config, const gnn__widths_t *width);
    /* Declares the row's parameters. */
    void (*declare)(gnn__declare_t *d);
    /* Records the update of the receivers x_i by the aggregate a. Never NULL. */
    gnn_var_t (*record)(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a);
    /* Records what follows the residual and its norm. */
    gnn_var_t (*after)(const gnn__hop_t *hop, gnn_var_t z);

    /* The linear map at the head of `record`, "out" for out.weight and out.bias, which
     * gnn__update_first records. A sum of raw rows may be taken behind it instead: sum_j (W x_j) =
     * W sum_j x_j (reorder.c). NULL: there is none. */
    const char *first;
    bool first_reads_receiver; /* it maps x_i + a: where it moves, x_i goes through it too */
    bool first_is_all;         /* `record` is this map alone: another summand may join */
    bool takes_self;           /* `record` has W_self x_i in it: it is not added once more */
};

/* Features that a layer of this config puts out. */
int64_t gnn__update_width(const gnn_layer_config_t *config, int64_t aggregate);
/* The row's first map of z; where the map has been moved in front of the aggregation, only its bias
 * is left to add. */
gnn_var_t gnn__update_first(const gnn__hop_t *hop, gnn_var_t z);
/* A `record` that is the first map of the aggregate alone. */
gnn_var_t gnn__update_first_alone(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a);

#endif
