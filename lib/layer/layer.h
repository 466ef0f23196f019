/* Inside of a layer: its resolved config, where its parameters are, and the fields that they are known by. */
#ifndef GNN_LIB_LAYER_LAYER_H
#define GNN_LIB_LAYER_LAYER_H

#include <gnn/layer.h>
#include <lib/base/base.h>

/* Parameters of a layer. One matrix may hold several fields side by side: source = [key | message parts], target = [query | receiver's message parts]. */
typedef enum {
    GNN__SOURCE_WEIGHT,
    GNN__SOURCE_BIAS,
    GNN__TARGET_WEIGHT,
    GNN__TARGET_BIAS,
    GNN__ATTENTION_RECEIVER,
    GNN__ATTENTION_SENDER,
    GNN__ATTENTION_EDGE,
    GNN__ATTENTION_VECTOR,
    GNN__DISTANCE,
    GNN__EDGE_WEIGHT,
    GNN__EDGE_BIAS,
    GNN__EPS,
    GNN__OUT_WEIGHT,
    GNN__OUT_BIAS,
    GNN__SELF_WEIGHT,
    GNN__SELF_BIAS,
    GNN__MLP0_WEIGHT,
    GNN__MLP0_BIAS,
    GNN__MLP1_WEIGHT,
    GNN__MLP1_BIAS,
    GNN__FFN0_WEIGHT,
    GNN__FFN0_BIAS,
    GNN__FFN1_WEIGHT,
    GNN__FFN1_BIAS,
    GNN__GRU_INPUT_WEIGHT,
    GNN__GRU_INPUT_BIAS,
    GNN__GRU_HIDDEN_WEIGHT,
    GNN__GRU_HIDDEN_BIAS,
    GNN__NORM_GAIN,
    GNN__NORM_SHIFT,
    GNN__NORM2_GAIN,
    GNN__NORM2_SHIFT,
    GNN__SLOTS
} gnn__slot_t;

typedef struct gnn__field {
    const char *name;
    gnn__slot_t slot;
    int64_t col, cols; /* inside the parameter */
} gnn__field_t;

enum { GNN__MAX_FIELDS = GNN__SLOTS + 4 };

/* Widths that follow from a config. */
typedef struct gnn__widths {
    int64_t message;   /* of one message: kv_heads * d_v under attention */
    int64_t key;       /* of a key row: kv_heads * d_k, heads (additive), 0 (not scored) */
    int64_t query;     /* heads * d_k, heads, 0 */
    int64_t own_key;   /* key columns of `source` that are not the message itself */
    int64_t own_query; /* query columns of `target` */
    int64_t source_message, target_message; /* projected message columns */
    int64_t aggregate;                      /* of what aggregation puts out, heads combined */
    int64_t edge;                           /* of projected edge features */
} gnn__widths_t;

struct gnn_layer {
    gnn_layer_config_t config; /* resolved */
    gnn__widths_t width;
    gnn_parameters_t *parameters;
    bool owns_parameters;
    int32_t id[GNN__SLOTS]; /* -1: this layer has none */
    gnn__field_t fields[GNN__MAX_FIELDS];
    int64_t n_fields;
    gnn_real_t *running;  /* of the first batch norm (2 x its width), then of the second; or NULL */
    gnn_real_t *running2; /* the second one's, in the same block */
};

/* A receiver's row begins with what the senders' weights make of it, where the layer shares them. */
struct gnn_projection {
    int64_t capacity, n_dst, n_src;
    int64_t target_cols, source_cols, shared_cols;
    gnn_real_t *target, *source; /* capacity rows each; one block */
};

/* Preset row behind a config. */
typedef struct gnn__preset {
    const char *name, *paper, *message, *aggregator;
    unsigned dropouts;
    gnn_layer_config_t config;
} gnn__preset_t;
const gnn__preset_t *gnn__preset(gnn_preset_t preset);

void gnn__layer_widths(const gnn_layer_config_t *config, gnn__widths_t *widths);
/* The message under attention reads the same projection as the key. */
bool gnn__layer_key_is_message(const gnn_layer_config_t *config);
static inline bool gnn__scored(const gnn_layer_config_t *c)
{
    return (c->aggregator->flags & GNN_AGGREGATOR_SCORED) != 0;
}
static inline bool gnn__has_out_product(const gnn_layer_config_t *c)
{
    return c->update == GNN_UPDATE_LINEAR || c->update == GNN_UPDATE_FEED_FORWARD;
}
/* Does a product of the update decide how many features go out? Otherwise they are those of the aggregate. */
static inline bool gnn__update_sets_width(const gnn_layer_config_t *c)
{
    return gnn__has_out_product(c) || c->update == GNN_UPDATE_MLP || c->update == GNN_UPDATE_GRU;
}

/* Declares a layer's parameters as PREFIX + slot name. Slots whose name begins with `share_fields` (all if NULL) are taken from `share` if that is given. */
int gnn__layer_declare(gnn_layer_t *layer, gnn_parameters_t *parameters, const char *prefix,
                       const gnn_layer_t *share, const char *share_fields);
const char *gnn__slot_name(gnn__slot_t slot);
/* A layer without parameters yet: config resolved, widths known. */
int gnn__layer_create(gnn_layer_t **layer, const gnn_layer_config_t *config);
/* Attention weights on request while recording: where they go, or NULL. */
typedef struct gnn__attention_out {
    const gnn_tensor_t *per_edge;
    gnn_real_t *per_segment;
} gnn__attention_out_t;
gnn_var_t gnn__layer_record(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                            const gnn_layer_vars_t *vars, const gnn__attention_out_t *weights);

/* The two halves, for projections that are kept. Either side may be GNN_NONE. */
typedef struct gnn__projected {
    gnn_var_t target, source;
} gnn__projected_t;
gnn_var_t gnn__layer_project_target(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_project_source(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_prenorm(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x);
gnn_var_t gnn__layer_finish(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                            const gnn_layer_vars_t *vars, gnn__projected_t projected,
                            const gnn__attention_out_t *weights);
/* Are receivers projected by the senders' weights? */
bool gnn__layer_shares(const gnn_layer_t *layer);
int64_t gnn__layer_target_cols(const gnn_layer_t *layer);
int64_t gnn__layer_source_cols(const gnn_layer_t *layer);
/* The context's own tape for inference, reset. */
int gnn__context_tape(gnn_context_t *context, gnn_tape_t **tape);

#endif
