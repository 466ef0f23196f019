/* Which parameters a config has, how they start, and the fields they are known by. */
#include <lib/layer/layer.h>

static const char *const slot_names[GNN__SLOTS] = {
    "source.weight",      "source.bias",      "target.weight",     "target.bias",
    "attention.receiver", "attention.sender", "attention.edge",    "attention.vector",
    "distance",           "edge.weight",      "edge.bias",         "eps",
    "out.weight",         "out.bias",         "self.weight",       "self.bias",
    "mlp.0.weight",       "mlp.0.bias",       "mlp.1.weight",      "mlp.1.bias",
    "ffn.0.weight",       "ffn.0.bias",       "ffn.1.weight",      "ffn.1.bias",
    "gru.input.weight",   "gru.input.bias",   "gru.hidden.weight", "gru.hidden.bias",
    "norm.gain",          "norm.shift",       "norm2.gain",        "norm2.shift",
};

const char *gnn__slot_name(gnn__slot_t slot)
{
    return slot_names[slot];
}

bool gnn__layer_shares(const gnn_layer_t *layer)
{
    return layer->config.share_weights == GNN_ON && gnn__scored(&layer->config);
}

int64_t gnn__layer_target_cols(const gnn_layer_t *layer)
{
    return layer->width.own_query + layer->width.target_message;
}

int64_t gnn__layer_source_cols(const gnn_layer_t *layer)
{
    return layer->width.own_key + layer->width.source_message;
}

/* What a declaration needs at every step. */
typedef struct {
    gnn_layer_t *layer;
    gnn_parameters_t *parameters;
    const char *prefix;
    const gnn_layer_t *share;
    const char *share_fields;
    bool found; /* some field to share */
    int rc;
} declare_t;

static bool begins(const declare_t *d, const char *name)
{
    return !d->share_fields || strncmp(name, d->share_fields, strlen(d->share_fields)) == 0;
}

/* Are the fields of this parameter to be shared? They stand side by side in one matrix: all of them or none. */
static bool shared(declare_t *d, gnn__slot_t slot)
{
    int64_t fields = 0, wanted = 0;
    for (int64_t k = 0; d->share && k < d->share->n_fields; k++)
        if (d->share->fields[k].slot == slot) {
            fields++;
            wanted += begins(d, d->share->fields[k].name);
        }
    if (wanted > 0 && wanted < fields)
        d->rc = gnn__error(GNN_EUNSUPPORTED, "\"%s\" would share a part of %s, which is shared whole",
                           d->share_fields, slot_names[slot]);
    d->found |= wanted > 0;
    return wanted > 0 || (d->share && fields == 0 && begins(d, slot_names[slot]));
}

static int share(const declare_t *d, gnn__slot_t slot, int64_t rows, int64_t cols)
{
    int32_t id = d->share->id[slot];
    if (id < 0)
        return gnn__error(GNN_ENOTFOUND, "the step to share with has no parameter %s",
                          slot_names[slot]);
    gnn_tensor_t t = gnn_parameters_value(d->parameters, id);
    if (t.rows != rows || t.cols != cols)
        return gnn__error(GNN_ESHAPE,
                          "parameter %s is %lld x %lld here, %lld x %lld in the step to share with",
                          slot_names[slot], (long long)rows, (long long)cols, (long long)t.rows,
                          (long long)t.cols);
    d->layer->id[slot] = id;
    return GNN_OK;
}

static void add(declare_t *d, gnn__slot_t slot, int64_t rows, int64_t cols, gnn_init_t init,
                double argument, int64_t fan_in, int64_t fan_out)
{
    char *name = NULL;
    if (d->rc != GNN_OK || rows == 0 || cols == 0)
        return;
    const bool is_shared = shared(d, slot);
    if (d->rc != GNN_OK)
        return;
    if (is_shared) {
        d->rc = share(d, slot, rows, cols);
        return;
    }
    d->rc = gnn__asprintf(&name, "%s%s", d->prefix, slot_names[slot]);
    if (d->rc == GNN_OK)
        d->rc = gnn_parameters_add(d->parameters, name, rows, cols, init, argument, fan_in, fan_out,
                                   &d->layer->id[slot]);
    gnn_free(name);
}

/* A weight (Glorot) and, if wanted, its bias (zero). */
static void add_linear(declare_t *d, gnn__slot_t weight, int64_t in, int64_t out, int64_t fan_out,
                       gnn_flag_t bias)
{
    add(d, weight, in, out, GNN_INIT_GLOROT, 0, in, fan_out ? fan_out : out);
    if (bias == GNN_ON && in > 0)
        add(d, weight + 1, 1, out, GNN_INIT_ZEROS, 0, 0, 0);
}

static void add_norm(declare_t *d, gnn__slot_t gain, int64_t width)
{
    add(d, gain, 1, width, GNN_INIT_ONES, 0, 0, 0);
    if (d->layer->config.norm != GNN_NORM_RMS)
        add(d, gain + 1, 1, width, GNN_INIT_ZEROS, 0, 0, 0);
}

static void declare_projection(declare_t *d)
{
    const gnn_layer_config_t *c = &d->layer->config;
    const gnn__widths_t *w = &d->layer->width;
    int64_t head = c->heads * (c->d_k ? c->d_k : 1);
    bool additive = gnn__scored(c) && c->aggregator->score_width == GNN_SCORE_PER_HEAD;
    /* Side-by-side fields start as if each stood alone. */
    int64_t field = w->own_key ? w->own_key : w->message;
    add_linear(d, GNN__SOURCE_WEIGHT, c->in, gnn__layer_source_cols(d->layer), field,
               c->bias_project);
    add_linear(d, GNN__TARGET_WEIGHT, c->in_dst, gnn__layer_target_cols(d->layer),
               w->own_query ? w->own_query : w->message, c->bias_project);
    if (additive) {
        add(d, GNN__ATTENTION_RECEIVER, 1, head, GNN_INIT_GLOROT, 0, c->heads, c->d_k);
        add(d, GNN__ATTENTION_SENDER, 1, head, GNN_INIT_GLOROT, 0, c->heads, c->d_k);
    }
    if (gnn__scored(c) && c->aggregator->declare)
        add(d, GNN__ATTENTION_VECTOR, 1, head, GNN_INIT_GLOROT, 0, c->heads, c->d_k);
    if (c->edge_dim > 0) {
        add(d, GNN__EDGE_WEIGHT, c->edge_dim, w->edge, GNN_INIT_GLOROT, 0, 0, 0);
        if (c->message->edge_parts > 0 && !gnn__scored(c) && c->bias_project == GNN_ON)
            add(d, GNN__EDGE_BIAS, 1, w->edge, GNN_INIT_ZEROS, 0, 0, 0);
        if (additive)
            add(d, GNN__ATTENTION_EDGE, 1, head, GNN_INIT_GLOROT, 0, c->heads, c->d_k);
    }
    if (c->distance == GNN_DISTANCE_SLOPE)
        add(d, GNN__DISTANCE, 1, c->heads, GNN_INIT_ZEROS, 0, 0, 0);
    if (c->distance == GNN_DISTANCE_TABLE)
        add(d, GNN__DISTANCE, c->heads, c->distance_buckets, GNN_INIT_ZEROS, 0, 0, 0);
}

static void declare_update(declare_t *d)
{
    const gnn_layer_config_t *c = &d->layer->config;
    int64_t aggregate = d->layer->width.aggregate, out = gnn_layer_width(d->layer);
    if (c->learn_eps == GNN_ON)
        add(d, GNN__EPS, 1, 1, GNN_INIT_CONSTANT, (double)c->eps, 0, 0);
    if (gnn__has_out_product(c))
        add(d, GNN__OUT_WEIGHT, aggregate, out, GNN_INIT_GLOROT, 0, 0, 0);
    if (c->bias_out == GNN_ON)
        add(d, GNN__OUT_BIAS, 1, out, GNN_INIT_ZEROS, 0, 0, 0);
    if (c->self_term == GNN_ON)
        add_linear(d, GNN__SELF_WEIGHT, c->in_dst, out, 0, c->bias_update);
    if (c->update == GNN_UPDATE_MLP) {
        add_linear(d, GNN__MLP0_WEIGHT, aggregate, c->hidden, 0, c->bias_update);
        add_linear(d, GNN__MLP1_WEIGHT, c->hidden, out, 0, c->bias_update);
    }
    if (c->update == GNN_UPDATE_FEED_FORWARD) {
        add_linear(d, GNN__FFN0_WEIGHT, out, c->feed_forward, 0, c->bias_update);
        add_linear(d, GNN__FFN1_WEIGHT, c->feed_forward, out, 0, c->bias_update);
    }
    if (c->update == GNN_UPDATE_GRU) {
        add_linear(d, GNN__GRU_INPUT_WEIGHT, aggregate, 3 * out, out, c->bias_update);
        add_linear(d, GNN__GRU_HIDDEN_WEIGHT, out, 3 * out, out, c->bias_update);
    }
    if (c->norm != GNN_NORM_NONE) {
        add_norm(d, GNN__NORM_GAIN, c->norm_position == GNN_NORM_BEFORE ? c->in_dst : out);
        if (c->update == GNN_UPDATE_FEED_FORWARD)
            add_norm(d, GNN__NORM2_GAIN, out);
    }
}

static void add_field(gnn_layer_t *layer, const char *name, gnn__slot_t slot, int64_t col,
                      int64_t cols)
{
    if (layer->id[slot] >= 0 && cols > 0)
        layer->fields[layer->n_fields++] = (gnn__field_t){name, slot, col, cols};
}

/* Pieces of source and target under their own names; every other parameter is a field by itself. */
static void name_projection(gnn_layer_t *layer, bool bias)
{
    const gnn__widths_t *w = &layer->width;
    gnn__slot_t source = bias ? GNN__SOURCE_BIAS : GNN__SOURCE_WEIGHT,
                target = bias ? GNN__TARGET_BIAS : GNN__TARGET_WEIGHT;
    bool gate = layer->config.message->src_parts == 2;
    add_field(layer, bias ? "query.bias" : "query.weight", target, 0, w->own_query);
    add_field(layer, bias ? "gate_receiver.bias" : "gate_receiver.weight", target, w->own_query,
              w->target_message);
    add_field(layer, bias ? "key.bias" : "key.weight", source, 0, w->own_key);
    if (gate)
        add_field(layer, bias ? "gate_sender.bias" : "gate_sender.weight", source, w->own_key,
                  w->message);
    if (w->source_message > 0)
        add_field(layer, bias ? "value.bias" : "value.weight", source,
                  w->own_key + (gate ? w->message : 0), w->message);
}

static void name_fields(gnn_layer_t *layer)
{
    layer->n_fields = 0;
    name_projection(layer, false);
    name_projection(layer, true);
    for (gnn__slot_t slot = GNN__ATTENTION_RECEIVER; slot < GNN__SLOTS; slot++)
        if (layer->id[slot] >= 0)
            add_field(layer, slot_names[slot], slot, 0,
                      gnn_parameters_value(layer->parameters, layer->id[slot]).cols);
}

int gnn__layer_declare(gnn_layer_t *layer, gnn_parameters_t *parameters, const char *prefix,
                       const gnn_layer_t *share_with, const char *share_fields)
{
    declare_t d = {
        layer, parameters, prefix, share_with, share_fields, !share_with || !share_fields, GNN_OK};
    layer->parameters = parameters;
    for (gnn__slot_t slot = 0; slot < GNN__SLOTS; slot++)
        layer->id[slot] = -1;
    declare_projection(&d);
    declare_update(&d);
    if (d.rc == GNN_OK && !d.found)
        d.rc = gnn__error(GNN_ENOTFOUND, "no field to share begins with \"%s\"", share_fields);
    if (d.rc == GNN_OK)
        name_fields(layer);
    return d.rc;
}

int64_t gnn_layer_field_count(const gnn_layer_t *layer)
{
    return layer->n_fields;
}

const char *gnn_layer_field_name(const gnn_layer_t *layer, int64_t index)
{
    return index >= 0 && index < layer->n_fields ? layer->fields[index].name : NULL;
}

static gnn_tensor_t columns(gnn_tensor_t t, const gnn__field_t *f)
{
    return (gnn_tensor_t){t.data ? t.data + f->col : NULL, t.rows, f->cols, t.stride};
}

int gnn_layer_field(const gnn_layer_t *layer, const char *name, gnn_tensor_t *value,
                    gnn_tensor_t *gradient)
{
    for (int64_t k = 0; k < layer->n_fields; k++) {
        const gnn__field_t *f = &layer->fields[k];
        if (strcmp(f->name, name) != 0)
            continue;
        if (value)
            *value = columns(gnn_parameters_value(layer->parameters, layer->id[f->slot]), f);
        if (gradient)
            *gradient = columns(gnn_parameters_gradient(layer->parameters, layer->id[f->slot]), f);
        return GNN_OK;
    }
    return gnn__error(GNN_ENOTFOUND, "the layer has no field %s", name);
}
