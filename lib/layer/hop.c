/* Parts of a hop: products, norms, residuals, and the order of the products. The formula has
 *
 *     update( h_i , sum_j W_source x_j )     and     update( h_i , sum_j x_j ) = .. W sum_j x_j ..
 *
 * Where the aggregation is linear, W sum_j x_j = sum_j (W x_j), so a product may come before or
 * after the sum:
 *
 *   W_source after the sum       if it widens rows: narrower rows are gathered, and a first layer's
 *                                backward pass gathers none, since features need no gradient
 *   the update's before it       if it narrows rows, or if the features are sparse
 *   ... with the self term's     as one product [W, W_self], which reads the rows once
 *
 * The result is the same up to rounding. */
#include <lib/aggregate/hints.h>
#include <lib/layer/hop.h>

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

/* The running statistics of a batch norm; data NULL for other norms. */
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

/* One fused op if there are both a residual and a norm. */
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

/* ---- the order of the products ---- */

/* True if the aggregate is a linear function of the senders' rows, raw or projected by one
 * product. */
static bool sums_rows(const gnn_layer_config_t *c)
{
    return (c->aggregator->flags & GNN_AGGREGATOR_LINEAR) && !gnn__scored(c) &&
           gnn__message_is_sender(c->message) && c->dropout_message == 0;
}

static bool senders_late(const gnn__hop_t *hop)
{
    const gnn_layer_config_t *c = hop->layer->config;
    return sums_rows(c) && c->message->projects && c->edge_dim == 0 &&
           gnn__layer_parameter(hop->layer, "source", ".bias") < 0 &&
           hop->layer->width.own_key == 0 && c->in < hop->layer->width.source_message &&
           !gnn__tape_is_sparse(hop->tape, hop->vars->x_src);
}

/* True if the update's product and the self term's can be one: wide products are faster than narrow
 * ones. */
static bool pairs(const gnn__hop_t *hop)
{
    const gnn_layer_config_t *c = hop->layer->config;
    return c->update->rules->first_is_all && c->self_term == GNN_ON &&
           gnn__layer_parameter(hop->layer, "self", ".bias") < 0 && hop->vars->x_dst == GNN_NONE &&
           gnn_graph_n_dst(hop->graph) == gnn_graph_n_src(hop->graph) &&
           !gnn__tape_is_sparse(hop->tape, hop->vars->x_src);
}

/* At equal widths one product of both is faster, unless the rows need no gradient: their
 * aggregation then has no backward, and over ranks their halo is pulled once. */
static bool update_early(const gnn__hop_t *hop, bool paired)
{
    const gnn_layer_config_t *c = hop->layer->config;
    const char *first = c->update->rules->first;
    const bool normed = c->norm != GNN_NORM_NONE && c->norm_position == GNN_NORM_BEFORE;
    if (!first || !sums_rows(c) || c->message->projects || normed)
        return false;
    const int32_t weight = gnn__layer_parameter(hop->layer, first, ".weight");
    const int64_t width = gnn_parameters_value(hop->layer->parameters, weight).cols;
    return gnn__tape_is_sparse(hop->tape, hop->vars->x_src) || c->in > width ||
           (paired && c->in == width && !gnn__tape_is_constant(hop->tape, hop->vars->x_src));
}

gnn__order_t gnn__layer_order(const gnn__hop_t *hop, bool projected)
{
    const bool paired = pairs(hop), early = update_early(hop, paired);
    return (gnn__order_t){.senders_late = !projected && senders_late(hop),
                          .update_early = early,
                          .paired = early && paired};
}

static gnn_var_t weight_of(const gnn__hop_t *hop, const char *owner)
{
    return gnn_tape_parameter(hop->tape, hop->layer->parameters,
                              gnn__layer_parameter(hop->layer, owner, ".weight"));
}

void gnn__hop_map_early(gnn__hop_t *hop)
{
    const struct gnn__update_rules *rules = hop->layer->config->update->rules;
    hop->x_i = hop->x_dst;
    if (!hop->order.update_early)
        return;
    gnn_var_t weight = weight_of(hop, rules->first);
    if (hop->order.paired) {
        const int64_t width = gnn_tape_cols(hop->tape, weight);
        const gnn_var_t both[] = {weight, weight_of(hop, "self")};
        const gnn_var_t z =
            gnn_tape_linear(hop->tape, hop->x_src, gnn_tape_concat(hop->tape, both, 2), GNN_NONE);
        hop->normed_src = gnn__hop_columns(hop, z, 0, width);
        hop->self = gnn__hop_columns(hop, z, width, width);
        return;
    }
    hop->normed_src = gnn_tape_linear(hop->tape, hop->x_src, weight, GNN_NONE);
    if (rules->first_reads_receiver)
        hop->x_i = hop->vars->x_dst == GNN_NONE
                       ? gnn__hop_first_rows(hop, hop->normed_src, gnn_graph_n_dst(hop->graph))
                       : gnn_tape_linear(hop->tape, hop->x_dst, weight, GNN_NONE);
}

gnn_var_t gnn__hop_map_late(const gnn__hop_t *hop, gnn_var_t a)
{
    return hop->order.senders_late
               ? gnn_tape_linear(hop->tape, a, weight_of(hop, "source"), GNN_NONE)
               : a;
}
