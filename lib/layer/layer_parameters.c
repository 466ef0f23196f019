/* Parameters of a layer: their declaration, initial values, and the fields that programs know them
 * by. */
#include <lib/base/room.h>
#include <lib/layer/hop.h>
#include <lib/layer/score_config.h>

/* ---- declared parameters ---- */

/* OWNER + PART into `into`, which has GNN__NAME characters. */
static int join(char *into, const char *owner, const char *part)
{
    const int length = snprintf(into, GNN__NAME, "%s%s", owner, part);
    if (length < 0 || length >= GNN__NAME)
        return gnn__error(GNN_EINVALID, "the name %s%s has more than %d characters", owner, part,
                          GNN__NAME - 1);
    return GNN_OK;
}

/* True if `name` is OWNER + PART. By characters: most names differ in the first one, and recording
 * compares often. */
static bool is_named(const char *name, const char *owner, const char *part)
{
    for (; *owner; owner++, name++)
        if (*owner != *name)
            return false;
    return strcmp(name, part) == 0;
}

int32_t gnn__layer_parameter(const gnn_layer_t *layer, const char *owner, const char *part)
{
    for (int64_t k = 0; k < layer->n_matrices; k++)
        if (is_named(layer->matrices[k].name, owner, part))
            return layer->matrices[k].id;
    return -1;
}

static int append_matrix(gnn_layer_t *layer, const char *name, int32_t id)
{
    gnn__owned_t made = {.id = id};
    GNN_TRY(join(made.name, name, ""));
    GNN_TRY(gnn__one_more(&layer->matrices, layer->n_matrices, sizeof made, "a layer's parameters"));
    layer->matrices[layer->n_matrices++] = made;
    return GNN_OK;
}

/* Running mean 0 and variance 1. */
static int append_buffer(gnn_layer_t *layer, const char *owner, int64_t width)
{
    gnn__statistics_t made = {.width = width};
    GNN_TRY(join(made.name, owner, ".running"));
    GNN_TRY(gnn__one_more(&layer->buffers, layer->n_buffers, sizeof made, "a layer's buffers"));
    GNN_TRY(gnn__new(&made.values, 2 * width, sizeof *made.values, "running statistics"));
    for (int64_t k = 0; k < width; k++)
        made.values[width + k] = 1;
    layer->buffers[layer->n_buffers++] = made;
    return GNN_OK;
}

/* ---- parameters shared with another layer ---- */

static bool begins(const gnn__declare_t *d, const char *name)
{
    return !d->share_fields || strncmp(name, d->share_fields, strlen(d->share_fields)) == 0;
}

/* True if the fields of this parameter are shared. Fields of one matrix are shared together. */
static bool shared(gnn__declare_t *d, const char *name)
{
    int64_t fields = 0, wanted = 0;
    const int32_t id = d->share ? gnn__layer_parameter(d->share, name, "") : -1;
    for (int64_t k = 0; id >= 0 && k < d->share->n_fields; k++)
        if (d->share->fields[k].id == id) {
            fields++;
            wanted += begins(d, d->share->fields[k].name);
        }
    if (wanted > 0 && wanted < fields)
        d->rc = gnn__error(GNN_EUNSUPPORTED,
                           "\"%s\" would share a part of %s, whose fields are shared together",
                           d->share_fields, name);
    d->found |= wanted > 0;
    return wanted > 0 || (d->share && fields == 0 && begins(d, name));
}

static int share(const gnn__declare_t *d, const char *name, int64_t rows, int64_t cols)
{
    const int32_t id = gnn__layer_parameter(d->share, name, "");
    if (id < 0)
        return gnn__error(GNN_ENOTFOUND, "the step to share with has no parameter %s", name);
    gnn_tensor_t t = gnn_parameters_value(d->parameters, id);
    if (t.rows != rows || t.cols != cols)
        return gnn__error(
            GNN_ESHAPE, "parameter %s is %lld x %lld here, %lld x %lld in the step to share with",
            name, (long long)rows, (long long)cols, (long long)t.rows, (long long)t.cols);
    return append_matrix(d->layer, name, id);
}

/* ---- declaring ---- */

static int add(gnn__declare_t *d, const char *name, int64_t rows, int64_t cols, gnn_init_t init,
               double argument, int64_t fan_in, int64_t fan_out)
{
    char *full = NULL;
    int32_t id = -1;
    GNN_TRY(gnn__asprintf(&full, "%s%s", d->prefix, name));
    int rc =
        gnn_parameters_add(d->parameters, full, rows, cols, init, argument, fan_in, fan_out, &id);
    gnn_free(full);
    return rc == GNN_OK ? append_matrix(d->layer, name, id) : rc;
}

void gnn__declare(gnn__declare_t *d, const char *name, int64_t rows, int64_t cols, gnn_init_t init,
                  double argument, int64_t fan_in, int64_t fan_out)
{
    if (d->rc != GNN_OK || rows == 0 || cols == 0)
        return;
    const bool is_shared = shared(d, name);
    if (d->rc == GNN_OK)
        d->rc = is_shared ? share(d, name, rows, cols)
                          : add(d, name, rows, cols, init, argument, fan_in, fan_out);
}

/* NAME + PART. */
static void declare_part(gnn__declare_t *d, const char *owner, const char *part, int64_t rows,
                         int64_t cols, gnn_init_t init, int64_t fan_in, int64_t fan_out)
{
    char name[GNN__NAME];
    if (d->rc == GNN_OK)
        d->rc = join(name, owner, part);
    if (d->rc == GNN_OK)
        gnn__declare(d, name, rows, cols, init, 0, fan_in, fan_out);
}

void gnn__declare_linear(gnn__declare_t *d, const char *name, int64_t in, int64_t out,
                         int64_t fan_out, gnn_flag_t bias)
{
    declare_part(d, name, ".weight", in, out, GNN_INIT_GLOROT, in, fan_out ? fan_out : out);
    if (bias == GNN_ON && in > 0)
        declare_part(d, name, ".bias", 1, out, GNN_INIT_ZEROS, 0, 0);
}

void gnn__declare_norm(gnn__declare_t *d, const char *name, int64_t width)
{
    const gnn_norm_t norm = d->layer->config->norm;
    if (norm == GNN_NORM_NONE || norm == GNN_NORM_L2)
        return;
    declare_part(d, name, ".gain", 1, width, GNN_INIT_ONES, 0, 0);
    if (norm != GNN_NORM_RMS)
        declare_part(d, name, ".shift", 1, width, GNN_INIT_ZEROS, 0, 0);
    if (norm == GNN_NORM_BATCH && d->rc == GNN_OK)
        d->rc = append_buffer(d->layer, name, width);
}

/* ---- the parameters of a layer ---- */

bool gnn__layer_shares(const gnn_layer_t *layer)
{
    return layer->config->share_weights == GNN_ON && gnn__scored(layer->config);
}

int64_t gnn__layer_target_cols(const gnn_layer_t *layer)
{
    return layer->width.own_query + layer->width.target_message;
}

int64_t gnn__layer_source_cols(const gnn_layer_t *layer)
{
    return layer->width.own_key + layer->width.source_message;
}

/* A vector of d_k elements per head; each head has its own Glorot bound. */
static void declare_head_vector(gnn__declare_t *d, const char *name)
{
    const gnn_layer_config_t *c = d->layer->config;
    gnn__declare(d, name, 1, c->heads * (c->d_k ? c->d_k : 1), GNN_INIT_GLOROT, 0, c->heads, c->d_k);
}

/* One matrix per side; each field in it has its own Glorot bound. */
static void declare_projection(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = d->layer->config;
    const gnn__widths_t *w = &d->layer->width;
    gnn__declare_linear(d, "source", c->in, gnn__layer_source_cols(d->layer),
                        w->own_key ? w->own_key : w->message, c->bias_project);
    gnn__declare_linear(d, "target", c->in_dst, gnn__layer_target_cols(d->layer),
                        w->own_query ? w->own_query : w->message, c->bias_project);
}

/* Parameters of the aggregator, message, weigher and priors. */
static void declare_owned(gnn__declare_t *d)
{
    gnn__row_piece_t owned[GNN__MOST_PIECES];
    const int n = gnn__scores_pieces(d->layer->config, owned);
    for (int k = 0; k < n; k++) {
        const gnn_piece_t *p = &owned[k].piece;
        gnn__declare(d, owned[k].name, p->rows, p->cols, p->init, p->init_argument, p->fan_in,
                     p->fan_out);
    }
}

/* The gains of the norms of queries and keys. */
static void declare_query_key_norm(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = d->layer->config;
    const bool by_head = c->qk_norm_heads == GNN_ON;
    if (c->qk_norm != GNN_ON)
        return;
    gnn__declare(d, "query_norm.gain", 1, (by_head ? 1 : c->heads) * c->d_k, GNN_INIT_ONES, 0, 0, 0);
    gnn__declare(d, "key_norm.gain", 1, (by_head ? 1 : c->key_heads) * c->d_k, GNN_INIT_ONES, 0, 0,
                 0);
}

static void declare_scores(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = d->layer->config;
    declare_query_key_norm(d);
    if (gnn__scores_heads(c->score)) {
        declare_head_vector(d, "attention.receiver");
        declare_head_vector(d, "attention.sender");
        if (c->edge_dim > 0)
            declare_head_vector(d, "attention.edge");
    }
}

static void declare_edges(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = d->layer->config;
    const bool biased = c->message->edge_parts > 0 && !gnn__scored(c) && c->bias_project == GNN_ON;
    gnn__declare_linear(d, "edge", c->edge_dim, d->layer->width.edge, 0, biased ? GNN_ON : GNN_OFF);
}

static void declare_update(gnn__declare_t *d)
{
    const gnn_layer_config_t *c = d->layer->config;
    const int64_t out = gnn__update_width(c, d->layer->width.aggregate);
    if (c->update->rules->declare)
        c->update->rules->declare(d);
    if (c->bias_out == GNN_ON)
        gnn__declare(d, "out.bias", 1, out, GNN_INIT_ZEROS, 0, 0, 0);
    if (c->self_term == GNN_ON)
        gnn__declare_linear(d, "self", c->in_dst, out, 0, c->bias_update);
    gnn__declare_norm(d, "norm", c->norm_position == GNN_NORM_BEFORE ? c->in_dst : out);
}

/* ---- fields: parameters by the names that programs use ---- */

/* A field that is some columns of a parameter. */
static void add_field(gnn_layer_t *layer, const char *name, int32_t id, int64_t col, int64_t cols)
{
    if (id >= 0 && cols > 0)
        layer->fields[layer->n_fields++] = (gnn__field_t){name, id, col, cols};
}

/* The fields in source and target. */
static void name_projection(gnn_layer_t *layer, bool bias)
{
    const gnn__widths_t *w = &layer->width;
    const int32_t source = gnn__layer_parameter(layer, "source", bias ? ".bias" : ".weight"),
                  target = gnn__layer_parameter(layer, "target", bias ? ".bias" : ".weight");
    const bool gate = layer->config->message->src_parts == 2;
    add_field(layer, bias ? "query.bias" : "query.weight", target, 0, w->own_query);
    add_field(layer, bias ? "gate_receiver.bias" : "gate_receiver.weight", target, w->own_query,
              w->target_message);
    add_field(layer, bias ? "key.bias" : "key.weight", source, 0, w->own_key);
    if (gate)
        add_field(layer, bias ? "gate_sender.bias" : "gate_sender.weight", source, w->own_key,
                  w->message);
    const int64_t before = gate ? w->message : 0;
    add_field(layer, bias ? "value.bias" : "value.weight", source, w->own_key + before,
              w->source_message - before);
}

/* Every other parameter is one field. */
static int name_fields(gnn_layer_t *layer)
{
    enum { PIECES = 10 };
    GNN_TRY(gnn__new(&layer->fields, layer->n_matrices + PIECES, sizeof *layer->fields,
                     "a layer's fields"));
    name_projection(layer, false);
    name_projection(layer, true);
    for (int64_t k = 0; k < layer->n_matrices; k++) {
        const gnn__owned_t *m = &layer->matrices[k];
        if (strncmp(m->name, "source.", 7) != 0 && strncmp(m->name, "target.", 7) != 0)
            add_field(layer, m->name, m->id, 0, gnn_parameters_value(layer->parameters, m->id).cols);
    }
    return GNN_OK;
}

int gnn__layer_declare(gnn_layer_t *layer, gnn_parameters_t *parameters, const char *prefix,
                       const gnn_layer_t *share_with, const char *share_fields)
{
    gnn__declare_t d = {
        layer, parameters, prefix, share_with, share_fields, !share_with || !share_fields, GNN_OK};
    layer->parameters = parameters;
    declare_projection(&d);
    declare_edges(&d);
    if (gnn__scored(layer->config))
        declare_scores(&d);
    declare_owned(&d);
    declare_update(&d);
    if (d.rc == GNN_OK && !d.found)
        d.rc = gnn__error(GNN_ENOTFOUND, "no field to share begins with \"%s\"", share_fields);
    return d.rc == GNN_OK ? name_fields(layer) : d.rc;
}

int64_t gnn_layer_field_count(const gnn_layer_t *layer)
{
    GNN__NEED_OR(layer, 0);
    return layer->n_fields;
}

const char *gnn_layer_field_name(const gnn_layer_t *layer, int64_t index)
{
    GNN__NEED_OR(layer, NULL);
    return index >= 0 && index < layer->n_fields ? layer->fields[index].name : NULL;
}

static gnn_tensor_t columns(gnn_tensor_t t, const gnn__field_t *f)
{
    return (gnn_tensor_t){t.data ? t.data + f->col : NULL, t.rows, f->cols, t.stride};
}

int gnn_layer_field(const gnn_layer_t *layer, const char *name, gnn_tensor_t *value,
                    gnn_tensor_t *gradient)
{
    GNN__NEED(layer);
    GNN__NEED(name);
    for (int64_t k = 0; k < layer->n_fields; k++) {
        const gnn__field_t *f = &layer->fields[k];
        if (strcmp(f->name, name) != 0)
            continue;
        if (value)
            *value = columns(gnn_parameters_value(layer->parameters, f->id), f);
        if (gradient)
            *gradient = columns(gnn_parameters_gradient(layer->parameters, f->id), f);
        return GNN_OK;
    }
    return gnn__error(GNN_ENOTFOUND, "the layer has no field %s", name);
}
