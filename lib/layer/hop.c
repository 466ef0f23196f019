/* The pieces of a hop that layer.c, reorder.c and the updates put together. */
#include <lib/layer/update.h>

/* The parameter of the name OWNER + PART. */
static gnn_var_t part(const gnn__hop_t *hop, const char *owner, const char *part_name)
{
    const int32_t id = gnn__layer_parameter(hop->layer, owner, part_name);
    return id < 0 ? GNN_NONE : gnn_tape_parameter(hop->tape, hop->layer->parameters, id);
}

gnn_var_t gnn__hop_parameter(const gnn__hop_t *hop, const char *name)
{
    return part(hop, name, "");
}

gnn_var_t gnn__hop_linear(const gnn__hop_t *hop, const char *name, gnn_var_t x)
{
    return gnn_tape_linear(hop->tape, x, part(hop, name, ".weight"), part(hop, name, ".bias"));
}

gnn_var_t gnn__hop_bias(const gnn__hop_t *hop, const char *name, gnn_var_t x)
{
    const gnn_var_t bias = part(hop, name, ".bias");
    return bias == GNN_NONE ? x : gnn_tape_add(hop->tape, x, bias, 1);
}

/* The running statistics of a batch norm; no data for other norms. */
static gnn_tensor_t running(const gnn_layer_t *layer, const char *name)
{
    const size_t length = strlen(name);
    for (int64_t k = 0; k < layer->n_buffers; k++) {
        const gnn__statistics_t *b = &layer->buffers[k];
        if (strncmp(b->name, name, length) == 0 && strcmp(b->name + length, ".running") == 0)
            return gnn_tensor(b->values, 2, b->width);
    }
    return (gnn_tensor_t){0};
}

gnn_var_t gnn__hop_norm(const gnn__hop_t *hop, const char *name, gnn_var_t x)
{
    const gnn_layer_config_t *c = hop->layer->config;
    gnn_tensor_t statistics = running(hop->layer, name);
    return gnn_tape_norm(hop->tape, c->norm, x, part(hop, name, ".gain"), part(hop, name, ".shift"),
                         c->norm_eps, statistics.data ? &statistics : NULL, (gnn_real_t)0.1);
}

/* One op where residual and norm are both there. */
gnn_var_t gnn__hop_residual_norm(const gnn__hop_t *hop, const char *name, gnn_var_t x, gnn_var_t u)
{
    const gnn_layer_config_t *c = hop->layer->config;
    const bool after = c->norm != GNN_NORM_NONE && c->norm_position == GNN_NORM_AFTER;
    if (c->residual == GNN_ON && after && (c->norm == GNN_NORM_LAYER || c->norm == GNN_NORM_RMS))
        return gnn__tape_add_norm(
            hop->tape,
            &(gnn__norm_settings_t){.kind = c->norm, .eps = c->norm_eps, .rate = c->dropout_out}, x,
            u, part(hop, name, ".gain"), part(hop, name, ".shift"));
    u = gnn_tape_dropout(hop->tape, u, c->dropout_out);
    if (c->residual == GNN_ON)
        u = gnn_tape_add(hop->tape, x, u, 1);
    return after ? gnn__hop_norm(hop, name, u) : u;
}

gnn_var_t gnn__hop_first_rows(const gnn__hop_t *hop, gnn_var_t x, int64_t n)
{
    return gnn_tape_view(hop->tape, x, 0, n, 0, gnn_tape_cols(hop->tape, x));
}

gnn_var_t gnn__hop_columns(const gnn__hop_t *hop, gnn_var_t x, int64_t col, int64_t cols)
{
    return cols == 0 ? GNN_NONE
                     : gnn_tape_view(hop->tape, x, 0, gnn_tape_rows(hop->tape, x), col, cols);
}

gnn_var_t gnn__hop_self_term(const gnn__hop_t *hop)
{
    return gnn__hop_first_rows(hop, gnn__hop_linear(hop, "self", hop->normed_dst),
                               gnn_graph_n_dst(hop->graph));
}

gnn_var_t gnn__update_first(const gnn__hop_t *hop, gnn_var_t z)
{
    const char *name = hop->layer->config->update->rules->first;
    return hop->order.update_early ? gnn__hop_bias(hop, name, z) : gnn__hop_linear(hop, name, z);
}

gnn_var_t gnn__update_first_alone(const gnn__hop_t *hop, gnn_var_t x_i, gnn_var_t a)
{
    (void)x_i;
    return gnn__update_first(hop, a);
}
