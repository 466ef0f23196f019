/* Inside of a layer: its resolved config, its parameters, and the fields that they are known by. */
#ifndef GNN_LIB_LAYER_LAYER_H
#define GNN_LIB_LAYER_LAYER_H

#include <gnn/layer.h>
#include <lib/base/base.h>

/* Length of a parameter's name inside a layer, the final 0 included. */
enum { GNN__NAME = 48 };

/* A parameter that a layer, or a row in it, has declared. */
typedef struct gnn__owned {
    char name[GNN__NAME];
    int32_t id;
} gnn__owned_t;

/* What users know: a whole parameter, or columns of one that holds several side by side:
 * source = [key | message parts], target = [query | the receiver's message parts]. */
typedef struct gnn__field {
    const char *name;
    int32_t id;
    int64_t col, cols;
} gnn__field_t;

/* Numbers that move in training but are not learned: the running mean and variance of a batch norm
 * (2 x width). */
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
    int64_t own_key;   /* key columns of `source` that are not the message itself */
    int64_t own_query; /* query columns of `target` */
    int64_t source_message, target_message; /* projected message columns */
    int64_t aggregate;                      /* of what aggregation puts out, heads combined */
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

/* A receiver's row begins with what the senders' weights make of it, where the layer shares them.
 */
struct gnn_projection {
    int64_t capacity, n_dst, n_src;
    int64_t target_cols, source_cols, shared_cols;
    gnn_real_t *target, *source; /* capacity rows each; one block */
};

/* Preset row behind a config. */
typedef struct gnn__preset_row {
    const char *name, *paper;
    unsigned dropouts; /* those that .dropout sets: bits of presets.c */
    gnn_layer_config_t config;
} gnn__preset_row_t;
const gnn__preset_row_t *gnn__preset_row(gnn_preset_t preset);

void gnn__layer_widths(const gnn_layer_config_t *config, gnn__widths_t *widths);
/* The message under attention reads the same projection as the key. */
bool gnn__layer_key_is_message(const gnn_layer_config_t *config);
/* The aggregator has scores: a resolved config then has one in .score, else NULL. */
static inline bool gnn__scored(const gnn_layer_config_t *c)
{
    return (c->aggregator->flags & GNN_AGGREGATOR_SCORED) != 0;
}

/* Does the weight of the self-loops that the view adds change anything? */
static inline bool gnn__weighs_loops(const gnn_layer_config_t *c)
{
    return c->self_loops == GNN_ON && c->loop_weight != 1;
}

/* Declares a layer's parameters as PREFIX + name. Those whose field begins with `share_fields` (all
 * if NULL) are taken from `share` if that is given. */
int gnn__layer_declare(gnn_layer_t *layer, gnn_parameters_t *parameters, const char *prefix,
                       const gnn_layer_t *share, const char *share_fields);
/* The parameter of the name OWNER + PART ("out", ".weight"): its id, or -1. */
int32_t gnn__layer_parameter(const gnn_layer_t *layer, const char *owner, const char *part);
/* Is this parameter one of the layer's? */
bool gnn__layer_has(const gnn_layer_t *layer, int32_t id);
/* A program's config, which may be shorter or longer than this library's: what it lacks is 0.
 * GNN_EUNSUPPORTED if it sets what this library does not know. */
int gnn__config_take(gnn_layer_config_t *full, const gnn_layer_config_t *config, size_t size);
/* As gnn_layer_config_resolve, in place. */
int gnn__config_resolve(gnn_layer_config_t *config);
/* Makes a layer without parameters. `resolved` is borrowed for the layer's life. */
int gnn__layer_create(gnn_layer_t **layer, const gnn_layer_config_t *resolved);
/* What is asked of a hop besides its output while it is recorded. */
typedef struct gnn__hop_extras {
    const gnn_tensor_t *per_edge; /* where its attention weights go; NULL: not wanted */
    gnn_real_t *per_segment;
    /* (edges x 1) multiplies each message after all that weighs it, norms included; messages of
     * self-loops that a view adds stay. NULL: nothing does */
    const gnn_var_t *edge_mask;
} gnn__hop_extras_t;
gnn_var_t gnn__layer_record_hop(const gnn_layer_t *layer, gnn_tape_t *tape,
                                const gnn_graph_t *graph, const gnn_layer_vars_t *vars,
                                const gnn_score_vars_t *scores, const gnn__hop_extras_t *extras);

/* The two halves, for projections that are kept. Either side may be GNN_NONE. */
typedef struct gnn__projected {
    gnn_var_t target, source;
} gnn__projected_t;
gnn_var_t gnn__layer_project_target(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_project_source(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_prenorm(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_finish(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                            const gnn_layer_vars_t *vars, const gnn_score_vars_t *scores,
                            gnn__projected_t projected, const gnn__hop_extras_t *extras);
/* Are receivers projected by the senders' weights? */
bool gnn__layer_shares(const gnn_layer_t *layer);
int64_t gnn__layer_target_cols(const gnn_layer_t *layer);
int64_t gnn__layer_source_cols(const gnn_layer_t *layer);
/* The context's own tape for inference, reset. */
int gnn__context_tape(gnn_context_t *context, gnn_tape_t **tape);

#endif
