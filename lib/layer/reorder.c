/* Which product goes first. The formula writes
 *
 *     update( h_i , sum_j W_source x_j )     and     update( h_i , sum_j x_j ) = .. W sum_j x_j ..
 *
 * but where an aggregation is linear, W sum_j x_j = sum_j (W x_j): a product may stand on either
 * side of the sum:
 *
 *   W_source after the sum       where it widens rows: fewer numbers are gathered, and a first
 *                                layer's backward pass gathers nothing: features need no gradient
 *   the update's before it       where it narrows rows, or where the features are sparse
 *   ... and the self term's      in one product [W | W_self], which reads the rows once
 *
 * The answer is the same up to rounding; only the time differs. */
#include <lib/aggregate/hints.h>
#include <lib/layer/update.h>

/* Is the aggregate a linear function of the senders' rows, projected by one product of their own or
 * not at all? */
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
           !gnn_tape_is_sparse(hop->tape, hop->vars->x_src);
}

/* May the update's product and the self term's stand side by side? Wide products are faster than
 * narrow ones. */
static bool pairs(const gnn__hop_t *hop)
{
    const gnn_layer_config_t *c = hop->layer->config;
    return c->update->rules->first_is_all && c->self_term == GNN_ON &&
           gnn__layer_parameter(hop->layer, "self", ".bias") < 0 && hop->vars->x_dst == GNN_NONE &&
           gnn_graph_n_dst(hop->graph) == gnn_graph_n_src(hop->graph) &&
           !gnn_tape_is_sparse(hop->tape, hop->vars->x_src);
}

static bool update_early(const gnn__hop_t *hop, bool paired)
{
    const gnn_layer_config_t *c = hop->layer->config;
    const char *first = c->update->rules->first;
    const bool normed = c->norm != GNN_NORM_NONE && c->norm_position == GNN_NORM_BEFORE;
    if (!first || !sums_rows(c) || c->message->projects || normed)
        return false;
    const int32_t weight = gnn__layer_parameter(hop->layer, first, ".weight");
    const int64_t width = gnn_parameters_value(hop->layer->parameters, weight).cols;
    return gnn_tape_is_sparse(hop->tape, hop->vars->x_src) || c->in > width ||
           (paired && c->in == width);
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
