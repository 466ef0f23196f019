/* The inside of a layer: its resolved config, its parameters, and the fields that they are known
 * by. */
#ifndef GNN_LIB_LAYER_LAYER_H
#define GNN_LIB_LAYER_LAYER_H

#include <gnn/layer.h>
#include <lib/base/base.h>

/* Size of a parameter's name inside a layer, with its final 0. */
enum { GNN__NAME = 48 };

/* A parameter that a layer, or an entry of a table in it, has declared. */
typedef struct gnn__owned {
    char name[GNN__NAME];
    int32_t id;
} gnn__owned_t;

/* A parameter as programs know it: a whole matrix, or some columns of source = [key, message parts]
 * or target = [query, the receiver's message parts]. */
typedef struct gnn__field {
    const char *name;
    int32_t id;
    int64_t col, cols;
} gnn__field_t;

/* The running mean and variance of a batch norm (2 x width), updated in training. */
typedef struct gnn__statistics {
    char name[GNN__NAME];
    gnn_real_t *values;
    int64_t width;
} gnn__statistics_t;

/* Widths that follow from a config. */
typedef struct gnn__widths {
    int64_t message;   /* of one message: value_heads * d_v under attention */
    int64_t key;       /* of a key row: key_heads * d_k, heads (additive), 0 (no scores) */
    int64_t query;     /* heads * d_k, heads, 0 */
    int64_t own_key;   /* key columns of `source`; 0 if the key is the message */
    int64_t own_query; /* query columns of `target` */
    int64_t source_message, target_message; /* projected message columns */
    int64_t aggregate;                      /* of the aggregate, heads combined */
    int64_t edge;                           /* of projected edge features */
} gnn__widths_t;

struct gnn_layer {
    const gnn_layer_config_t *config; /* resolved; that of a model's step, or own_config */
    gnn_layer_config_t *own_config;   /* NULL: the layer is part of a model */
    gnn__widths_t width;
    gnn_parameters_t *parameters;
    bool owns_parameters;
    gnn__owned_t *matrices;
    gnn__field_t *fields;
    gnn__statistics_t *buffers;
    int64_t n_matrices, n_fields, n_buffers;
};

/* Inputs of the scores of an attention layer in addition to the rows that it projects; GNN_NONE
 * where absent. */
typedef struct gnn__score_vars {
    gnn_var_t gate;        /* (n_dst x heads) multiplies the output of each head */
    gnn_var_t prior_query; /* (n_dst x heads*d_k) multiplied by priors in place of the query */
    /* values of a prior whose .given is on: of the shape that the prior declares, or one row per
     * receiver or sender (gnn_prior_t) */
    gnn_var_t prior[GNN_PRIORS];
} gnn__score_vars_t;

/* An entry of presets.def. */
typedef struct gnn__preset_row {
    const char *name, *paper;
    unsigned dropouts; /* rates that .dropout sets: bits of config_fields.c */
    gnn_layer_config_t config;
} gnn__preset_row_t;
const gnn__preset_row_t *gnn__preset_row(gnn_preset_t preset);

void gnn__layer_widths(const gnn_layer_config_t *config, gnn__widths_t *widths);
/* True if messages of attention are the same projection as the keys. */
bool gnn__layer_key_is_message(const gnn_layer_config_t *config);
/* The aggregator has scores: a resolved config then has one in .score, else NULL. */
static inline bool gnn__scored(const gnn_layer_config_t *c)
{
    return (c->aggregator->flags & GNN_AGGREGATOR_SCORED) != 0;
}

/* True if self-loops of the view have a weight other than 1. */
static inline bool gnn__weighs_loops(const gnn_layer_config_t *c)
{
    return c->self_loops == GNN_ON && c->loop_weight != 1;
}

/* Declares a layer's parameters as PREFIX + name. Those whose field begins with `share_fields`
 * (NULL: all) are those of `share`, if that is not NULL. */
int gnn__layer_declare(gnn_layer_t *layer, gnn_parameters_t *parameters, const char *prefix,
                       const gnn_layer_t *share, const char *share_fields);
/* The parameter of the name OWNER + PART ("out", ".weight"): its id, or -1. */
int32_t gnn__layer_parameter(const gnn_layer_t *layer, const char *owner, const char *part);
/* As gnn_layer_config_resolve, in place. */
int gnn__config_resolve(gnn_layer_config_t *config);
/* Makes a layer without parameters. `resolved` is borrowed for the layer's life. */
int gnn__layer_create(gnn_layer_t **layer, const gnn_layer_config_t *resolved);
/* Options of recording a hop. */
typedef struct gnn__hop_extras {
    const gnn_tensor_t *per_edge; /* attention weights, as gnn_layer_attention; NULL: none */
    gnn_real_t *per_segment;      /* the same per segment; NULL: none */
    gnn_real_t *running;          /* gnn_aggregate_t.running; NULL: none */
    /* (edges x 1) multiplies each message after weights and norms; messages of self-loops that a
     * view adds are not masked. NULL: none */
    const gnn_var_t *edge_mask;
} gnn__hop_extras_t;
gnn_var_t gnn__layer_record_hop(const gnn_layer_t *layer, gnn_tape_t *tape,
                                const gnn_graph_t *graph, const gnn_layer_vars_t *vars,
                                const gnn__score_vars_t *scores, const gnn__hop_extras_t *extras);

/* Projected rows of both sides; either may be GNN_NONE. */
typedef struct gnn__projected {
    gnn_var_t target, source;
} gnn__projected_t;
gnn_var_t gnn__layer_project_target(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_project_source(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_prenorm(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_finish(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                            const gnn_layer_vars_t *vars, const gnn__score_vars_t *scores,
                            gnn__projected_t projected, const gnn__hop_extras_t *extras);
/* True if receivers are projected by the senders' weights. */
bool gnn__layer_shares(const gnn_layer_t *layer);
int64_t gnn__layer_target_cols(const gnn_layer_t *layer);
int64_t gnn__layer_source_cols(const gnn_layer_t *layer);
/* The context's tape for inference, reset. */
int gnn__context_tape(gnn_context_t *context, gnn_tape_t **tape);

#endif
