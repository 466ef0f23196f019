/* START HERE. The one layer:
 *
 *     h_i' = update( h_i , aggregate over j in N(i) of message(h_i, h_j, e_ij) )
 *
 * It is recorded on a tape in three steps, for training and inference alike:
 *
 *   project     one product for the senders' rows [key, message parts], and one for the receivers'
 *               [query, message parts]
 *   aggregate   one op over the graph, in either of its forms: entries of messages.def and
 *               aggregators.def (lib/aggregate)
 *   update      the entry of updates.def, self term, residual, norm, activation
 *
 * gnn__layer_record_hop, at the end of this file, is the three in a row.
 *
 * From here: updates.c has the updates; layer_parameters.c the parameters; config.c fills in the
 * fields that a config leaves open; hop.c moves a product to the other side of the sum where that
 * is cheaper; api.c has the functions that programs call. */
#include <lib/base/ranks.h>
#include <lib/layer/hop.h>
#include <lib/layer/score_config.h>

/* ---- project ---- */

gnn_var_t gnn__layer_prenorm(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x)
{
    const gnn_layer_config_t *c = layer->config;
    const gnn__hop_t hop = {.layer = layer, .tape = tape};
    const bool before = c->norm != GNN_NORM_NONE && c->norm_position == GNN_NORM_BEFORE;
    return before ? gnn__hop_norm(&hop, "norm", x) : x;
}

/* x W by the weights of a side; GNN_NONE if it has none. */
static gnn_var_t project_side(const gnn_layer_t *layer, gnn_tape_t *tape, const char *side,
                              gnn_var_t x)
{
    const gnn__hop_t hop = {.layer = layer, .tape = tape};
    return gnn__layer_parameter(layer, side, ".weight") < 0 ? GNN_NONE
                                                            : gnn__hop_linear(&hop, side, x);
}

gnn_var_t gnn__layer_project_target(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x)
{
    return project_side(layer, tape, "target", x);
}

gnn_var_t gnn__layer_project_source(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x)
{
    return project_side(layer, tape, "source", x);
}

/* Dropout and pre-norm of receivers and senders. Receivers that are the first senders share
 * theirs. */
static void take_features(gnn__hop_t *hop)
{
    const gnn_real_t rate = hop->layer->config->dropout_in;
    const bool both = hop->vars->x_dst == GNN_NONE;
    hop->x_src = gnn_tape_dropout(hop->tape, hop->vars->x_src, rate);
    hop->x_dst = both ? hop->x_src : gnn_tape_dropout(hop->tape, hop->vars->x_dst, rate);
    hop->normed_src = both ? gnn__layer_prenorm(hop->layer, hop->tape, hop->x_src) : hop->x_src;
    hop->normed_dst = both ? hop->normed_src : gnn__layer_prenorm(hop->layer, hop->tape, hop->x_dst);
}

/* The first n_dst rows if receivers are the first senders. Sparse rows are cut after their
 * product. */
static gnn_var_t receivers(const gnn__hop_t *hop, gnn_var_t x)
{
    const bool fewer =
        hop->vars->x_dst == GNN_NONE && gnn_graph_n_dst(hop->graph) < gnn_graph_n_src(hop->graph);
    return fewer && x != GNN_NONE && !gnn__tape_is_sparse(hop->tape, x)
               ? gnn__hop_first_rows(hop, x, gnn_graph_n_dst(hop->graph))
               : x;
}

static void project(gnn__hop_t *hop)
{
    const gnn_layer_t *layer = hop->layer;
    gnn_tape_t *tape = hop->tape;
    take_features(hop);
    hop->x_dst = receivers(hop, hop->x_dst);
    hop->normed_dst = receivers(hop, hop->normed_dst);
    if (!hop->order.senders_late)
        hop->source = gnn__layer_project_source(layer, tape, hop->normed_src);
    hop->target = receivers(hop, gnn__layer_project_target(layer, tape, hop->normed_dst));
    if (gnn__layer_shares(layer))
        hop->shared = receivers(hop, hop->vars->x_dst == GNN_NONE
                                         ? hop->source
                                         : gnn__layer_project_source(layer, tape, hop->normed_dst));
}

/* ---- aggregate ---- */

static void message_inputs(const gnn__hop_t *hop, gnn_var_t *in)
{
    const gnn__widths_t *w = &hop->layer->width;
    const gnn_var_t message = hop->message->projects
                                  ? gnn__hop_columns(hop, hop->source, w->own_key, w->source_message)
                                  : hop->normed_src;
    in[GNN_AGGREGATE_SRC_MESSAGE] =
        gnn_tape_dropout(hop->tape, message, hop->layer->config->dropout_message);
    if (w->target_message > 0)
        in[GNN_AGGREGATE_DST_MESSAGE] =
            gnn__hop_columns(hop, hop->target, w->own_query, w->target_message);
}

/* Additive scores read one value per head of senders and receivers; if both are the same rows, one
 * op reads them once. */
static void head_dots(const gnn__hop_t *hop, gnn_var_t *key, gnn_var_t *query)
{
    const int64_t heads = hop->layer->config->heads;
    const gnn_var_t sender = gnn__hop_parameter(hop, "attention.sender"),
                    receiver = gnn__hop_parameter(hop, "attention.receiver");
    /* Both as one value would have twice the rows of a rank. */
    if (*key != *query || gnn__ranks_split(hop->tape->context)) {
        *key = gnn_tape_head_dot(hop->tape, *key, sender, heads);
        *query = gnn_tape_head_dot(hop->tape, *query, receiver, heads);
        return;
    }
    const gnn_var_t both =
        gnn_tape_op(hop->tape, &gnn__op_head_dot, (gnn_var_t[]){*key, sender, receiver}, 3,
                    &(gnn__heads_settings_t){heads}, sizeof(gnn__heads_settings_t));
    const int64_t n = gnn_tape_rows(hop->tape, *key);
    *key = gnn_tape_view(hop->tape, both, 0, n, 0, heads);
    *query = gnn_tape_view(hop->tape, both, n, n, 0, heads);
}

/* The norm of queries or keys; NAME.gain is its parameter. */
static gnn_var_t norm_rows(const gnn__hop_t *hop, const char *name, gnn_var_t x)
{
    const gnn_layer_config_t *c = hop->layer->config;
    const gnn_var_t gain = gnn__hop_parameter(hop, name);
    if (gain == GNN_NONE || x == GNN_NONE)
        return x;
    const gnn__head_norm_settings_t how = {
        gnn_tape_cols(hop->tape, x) / gnn_tape_cols(hop->tape, gain), c->norm_eps};
    return gnn_tape_op(hop->tape, &gnn__op_head_norm, (gnn_var_t[]){x, gain}, 2, &how, sizeof how);
}

/* Inputs of the score: keys of the senders, queries of the receivers. */
static void score_inputs(const gnn__hop_t *hop, gnn_var_t *in)
{
    const gnn_layer_config_t *c = hop->layer->config;
    const gnn__widths_t *w = &hop->layer->width;
    const int64_t cols = gnn__layer_key_is_message(c) ? w->message : w->own_key;
    gnn_var_t key = gnn__hop_columns(hop, hop->source, 0, cols);
    gnn_var_t query = hop->shared != GNN_NONE ? gnn__hop_columns(hop, hop->shared, 0, cols)
                                              : gnn__hop_columns(hop, hop->target, 0, w->own_query);
    key = norm_rows(hop, "key_norm.gain", key);
    query = norm_rows(hop, "query_norm.gain", query);
    if (gnn__scores_heads(c->score))
        head_dots(hop, &key, &query);
    in[GNN_AGGREGATE_KEY] = key;
    in[GNN_AGGREGATE_QUERY] = query;
}

/* Edge features must be given if .edge_dim is set, and only then. */
static int check_edge_features(const gnn__hop_t *hop)
{
    const long long wanted = hop->layer->config->edge_dim;
    const char *where = hop->tape->where && *hop->tape->where ? hop->tape->where : "layer";
    const gnn_var_t given = hop->vars->edge_features;
    if (given == GNN_NONE)
        return gnn__error(GNN_EINVALID,
                          "%s: config field .edge_dim = %lld, but no edge features are given "
                          "(.edge_features of a step names them)",
                          where, wanted);
    if (gnn_tape_status(hop->tape) == GNN_OK && gnn_tape_cols(hop->tape, given) != wanted)
        return gnn__error(GNN_ESHAPE,
                          "%s: config field .edge_dim = %lld, but %lld edge features are given",
                          where, wanted, (long long)gnn_tape_cols(hop->tape, given));
    return GNN_OK;
}

/* Edge features are projected for messages, for keys or for both. Additive scores read e . (W a)
 * per head, a matrix of d_e x heads in place of d_e x heads*d_k. */
static void edge_features(const gnn__hop_t *hop, gnn_var_t *in)
{
    const gnn_layer_config_t *c = hop->layer->config;
    const int rc = check_edge_features(hop);
    if (rc != GNN_OK) {
        (void)gnn_tape_fail(hop->tape, rc);
        return;
    }
    const gnn_var_t weight = gnn__hop_parameter(hop, "edge.weight");
    in[GNN_AGGREGATE_EDGE_FEATURES] = hop->vars->edge_features;
    if (c->self_loops == GNN_ON && c->loop_features == GNN_ON)
        in[GNN_AGGREGATE_EDGE_FEATURES] = gnn__tape_op_once(
            hop->tape, &gnn__op_loop_rows, hop->vars->edge_features,
            &(gnn__loop_rows_settings_t){hop->graph}, sizeof(gnn__loop_rows_settings_t));
    if (c->message->edge_parts > 0) {
        in[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT] = weight;
        in[GNN_AGGREGATE_EDGE_MESSAGE_BIAS] = gnn__hop_parameter(hop, "edge.bias");
    }
    if (gnn__scored(c))
        in[GNN_AGGREGATE_EDGE_KEY_WEIGHT] =
            gnn__scores_heads(c->score)
                ? gnn_tape_head_dot(hop->tape, weight, gnn__hop_parameter(hop, "attention.edge"),
                                    c->heads)
                : weight;
}

static gnn_var_t owned_value(const void *hop, const char *name)
{
    return gnn__hop_parameter(hop, name);
}

/* Sums mapped rows if a product of the update comes first (hop.c). */
static gnn_var_t aggregate(gnn__hop_t *hop)
{
    const gnn_layer_config_t *c = hop->layer->config;
    gnn_aggregate_t how = gnn__scores_settings(c, hop->graph, hop->extras);
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    gnn__hop_map_early(hop);
    how.message = hop->message;
    message_inputs(hop, in);
    if (gnn__scored(c))
        score_inputs(hop, in);
    in[GNN_AGGREGATE_EDGE_BIAS] = hop->vars->edge_bias;
    in[GNN_AGGREGATE_EDGE_WEIGHT] = hop->vars->edge_weight;
    if (c->edge_dim > 0 || hop->vars->edge_features != GNN_NONE)
        edge_features(hop, in);
    gnn__scores_inputs(c, hop->tape, owned_value, hop, in);
    gnn__scores_given(hop->scores, in);
    return gnn__hop_map_late(hop, gnn__scores_record(c, hop->tape, &how, in, hop->extras));
}

/* ---- update ---- */

static gnn_var_t update(const gnn__hop_t *hop, gnn_var_t a)
{
    const gnn_layer_config_t *c = hop->layer->config;
    const struct gnn__update_rules *rules = c->update->rules;
    if (hop->order.paired)
        a = gnn_tape_add(hop->tape, a, hop->self, 1);
    gnn_var_t u = rules->record(hop, hop->x_i, a);
    if (c->self_term == GNN_ON && !hop->order.paired && !rules->takes_self)
        u = gnn_tape_add(hop->tape, u, gnn__hop_self_term(hop), 1);
    u = gnn__hop_residual_norm(hop, "norm", hop->x_dst, u);
    if (rules->after)
        u = rules->after(hop, u);
    return gnn__tape_activate(hop->tape, u, c->activation, 0);
}

/* ---- the whole ---- */

static gnn__hop_t begin(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                        const gnn_layer_vars_t *vars, const gnn__score_vars_t *scores,
                        const gnn__hop_extras_t *extras, bool projected)
{
    gnn__hop_t hop = {.layer = layer,
                      .tape = tape,
                      .graph = graph,
                      .vars = vars,
                      .scores = scores,
                      .extras = extras,
                      .target = GNN_NONE,
                      .source = GNN_NONE,
                      .shared = GNN_NONE,
                      .self = GNN_NONE};
    hop.order = gnn__layer_order(&hop, projected);
    hop.message = hop.order.senders_late ? &gnn_message_none : layer->config->message;
    return hop;
}

gnn_var_t gnn__layer_record_hop(const gnn_layer_t *layer, gnn_tape_t *tape,
                                const gnn_graph_t *graph, const gnn_layer_vars_t *vars,
                                const gnn__score_vars_t *scores, const gnn__hop_extras_t *extras)
{
    gnn__hop_t hop = begin(layer, tape, graph, vars, scores, extras, false);
    project(&hop);
    const gnn_var_t a = aggregate(&hop);
    return update(&hop, a);
}

/* The same from projected rows. With shared weights a receiver's row begins with its projection by
 * the senders' weights. */
gnn_var_t gnn__layer_finish(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                            const gnn_layer_vars_t *vars, const gnn__score_vars_t *scores,
                            gnn__projected_t projected, const gnn__hop_extras_t *extras)
{
    const bool both = vars->x_dst == GNN_NONE;
    const int64_t n = gnn_graph_n_dst(graph);
    gnn__hop_t hop = begin(layer, tape, graph, vars, scores, extras, true);
    hop.x_src = vars->x_src;
    hop.x_dst = both ? gnn__hop_first_rows(&hop, vars->x_src, n) : vars->x_dst;
    hop.normed_src = both ? gnn__layer_prenorm(layer, tape, vars->x_src) : vars->x_src;
    hop.normed_dst = both ? gnn__hop_first_rows(&hop, hop.normed_src, n)
                          : gnn__layer_prenorm(layer, tape, hop.x_dst);
    hop.source = projected.source;
    hop.target = projected.target;
    if (gnn__layer_shares(layer)) {
        const int64_t shared = gnn__layer_source_cols(layer), own = gnn__layer_target_cols(layer);
        hop.shared = gnn__hop_columns(&hop, projected.target, 0, shared);
        hop.target = gnn__hop_columns(&hop, projected.target, shared, own);
    }
    const gnn_var_t a = aggregate(&hop);
    return update(&hop, a);
}
