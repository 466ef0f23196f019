/* The one layer: project, aggregate, update.
 *
 *     h_i' = update( h_i , aggregate over j in N(i) of message(h_i, h_j, e_ij) )
 *
 * A layer writes itself onto a tape, once for training and inference alike:
 *
 *   project     rows of senders [key | message parts] and receivers [query | message parts] by one product each
 *   aggregate   the op of lib/aggregate over the graph, whatever its form
 *   update      output product, self term, mlp, gru or feed-forward block; bias, dropout, residual, norm, activation
 *
 * What a config does not ask for puts nothing on the tape. A linear map that follows a linear aggregation of raw rows (SAGE, GIN) is moved before it when that is
 * cheaper or when the features are sparse: sum_j (W x_j) = W sum_j x_j. */
#include <lib/layer/layer.h>

#include <lib/ops/ops.h>
#include <lib/tape/tape.h>

static gnn_var_t parameter(const gnn_layer_t *layer, gnn_tape_t *tape, gnn__slot_t slot)
{
    return layer->id[slot] < 0 ? GNN_NONE
                               : gnn_tape_parameter(tape, layer->parameters, layer->id[slot]);
}

static gnn_var_t linear(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x, gnn__slot_t weight)
{
    return gnn_tape_linear(tape, x, parameter(layer, tape, weight),
                           parameter(layer, tape, weight + 1));
}

/* The first n rows: receivers among the senders. */
static gnn_var_t head_rows(gnn_tape_t *tape, gnn_var_t x, int64_t n)
{
    return gnn_tape_view(tape, x, 0, n, 0, gnn_tape_cols(tape, x));
}

static gnn_var_t columns(gnn_tape_t *tape, gnn_var_t x, int64_t col, int64_t cols)
{
    return cols == 0 ? GNN_NONE : gnn_tape_view(tape, x, 0, gnn_tape_rows(tape, x), col, cols);
}

static gnn_var_t norm(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x, gnn__slot_t gain)
{
    const gnn_layer_config_t *c = &layer->config;
    int64_t width = gnn_tape_cols(tape, x);
    gnn_tensor_t running = {gain == GNN__NORM2_GAIN ? layer->running2 : layer->running, 2, width,
                            width};
    return gnn_tape_norm(tape, c->norm, x, parameter(layer, tape, gain),
                         parameter(layer, tape, gain + 1), c->norm_eps,
                         layer->running ? &running : NULL, (gnn_real_t)0.1);
}

/* norm(x + dropout(u)), without either part where the config says so: an op of one pass where both are there. */
static gnn_var_t residual_norm(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x, gnn_var_t u,
                               gnn__slot_t gain)
{
    const gnn_layer_config_t *c = &layer->config;
    bool after = c->norm != GNN_NORM_NONE && c->norm_position == GNN_NORM_AFTER;
    if (c->residual == GNN_ON && after && c->norm != GNN_NORM_BATCH)
        return gnn__tape_add_norm(
            tape,
            &(gnn__norm_settings_t){.kind = c->norm, .eps = c->norm_eps, .rate = c->dropout_out}, x,
            u, parameter(layer, tape, gain), parameter(layer, tape, gain + 1));
    u = gnn_tape_dropout(tape, u, c->dropout_out);
    if (c->residual == GNN_ON)
        u = gnn_tape_add(tape, x, u, 1);
    return after ? norm(layer, tape, u, gain) : u;
}

/* ---- which linear map may go first ---- */

typedef enum { FOLD_NONE, FOLD_OUT, FOLD_MLP } fold_t;

/* W_out, or the mlp's first product, in front of a linear aggregation of raw rows. */
static fold_t fold(const gnn_layer_t *layer, const gnn_tape_t *tape, gnn_var_t x_src, bool paired)
{
    const gnn_layer_config_t *c = &layer->config;
    bool raw = strcmp(c->message->name, "none") == 0 &&
               (c->aggregator->flags & GNN_AGGREGATOR_LINEAR) && !gnn__scored(c);
    bool sparse = gnn_tape_is_sparse(tape, x_src);
    if (!raw || c->dropout_message > 0 ||
        (c->norm != GNN_NORM_NONE && c->norm_position == GNN_NORM_BEFORE))
        return FOLD_NONE;
    if (gnn__has_out_product(c) && (sparse || c->in > c->out || (paired && c->in == c->out)))
        return FOLD_OUT;
    if (c->update == GNN_UPDATE_MLP && (sparse || c->in > c->hidden))
        return FOLD_MLP;
    return FOLD_NONE;
}

/* May W_out and the self term's weights stand side by side in one product? It reads the rows once, and wide products are faster than narrow ones. */
static bool pairs_products(const gnn_layer_t *layer, const gnn_tape_t *tape,
                           const gnn_graph_t *graph, const gnn_layer_vars_t *vars)
{
    return layer->config.self_term == GNN_ON && layer->id[GNN__SELF_WEIGHT + 1] < 0 &&
           vars->x_dst == GNN_NONE && gnn_graph_n_dst(graph) == gnn_graph_n_src(graph) &&
           !gnn_tape_is_sparse(tape, vars->x_src);
}

/* Sums of raw rows that are projected afterwards: fewer numbers to gather where W widens them, and a first layer's backward then has nothing to gather at all. */
static bool aggregates_first(const gnn_layer_t *layer, const gnn_tape_t *tape, gnn_var_t x_src)
{
    const gnn_layer_config_t *c = &layer->config;
    return strcmp(c->message->name, "linear") == 0 && !gnn__scored(c) &&
           (c->aggregator->flags & GNN_AGGREGATOR_LINEAR) && c->edge_dim == 0 &&
           c->dropout_message == 0 && layer->id[GNN__SOURCE_BIAS] < 0 && layer->width.own_key == 0 &&
           c->in < layer->width.source_message && !gnn_tape_is_sparse(tape, x_src);
}

/* ---- project ---- */

gnn_var_t gnn__layer_prenorm(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x)
{
    const gnn_layer_config_t *c = &layer->config;
    return c->norm != GNN_NORM_NONE && c->norm_position == GNN_NORM_BEFORE
               ? norm(layer, tape, x, GNN__NORM_GAIN)
               : x;
}

gnn_var_t gnn__layer_project_target(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x)
{
    return layer->id[GNN__TARGET_WEIGHT] < 0 ? GNN_NONE : linear(layer, tape, x, GNN__TARGET_WEIGHT);
}

gnn_var_t gnn__layer_project_source(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x)
{
    return layer->id[GNN__SOURCE_WEIGHT] < 0 ? GNN_NONE : linear(layer, tape, x, GNN__SOURCE_WEIGHT);
}

/* Both sides of one call: what each side looks like before and after its product. */
typedef struct {
    gnn_var_t x_dst, x_src; /* features after input dropout, before any norm */
    gnn_var_t normed_dst, normed_src;
    gnn__projected_t projected;
    gnn_var_t shared; /* receivers projected by the senders' weights, or GNN_NONE */
    bool late;        /* senders are projected after they are summed */
    bool paired;      /* the self term is there already */
    gnn_var_t self;
} sides_t;

static void project(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                    const gnn_layer_vars_t *vars, sides_t *s)
{
    const gnn_layer_config_t *c = &layer->config;
    bool both = vars->x_dst == GNN_NONE,
         narrow = both && gnn_graph_n_dst(graph) < gnn_graph_n_src(graph);
    int64_t n = gnn_graph_n_dst(graph);
    s->x_src = gnn_tape_dropout(tape, vars->x_src, c->dropout_in);
    s->x_dst = both ? s->x_src : gnn_tape_dropout(tape, vars->x_dst, c->dropout_in);
    s->normed_src = both ? gnn__layer_prenorm(layer, tape, s->x_src) : s->x_src;
    s->normed_dst = both ? s->normed_src : gnn__layer_prenorm(layer, tape, s->x_dst);
    if (narrow && !gnn_tape_is_sparse(tape, s->x_src)) {
        s->x_dst = head_rows(tape, s->x_dst, n);
        s->normed_dst = head_rows(tape, s->normed_dst, n);
    }
    s->projected.source = s->late ? GNN_NONE : gnn__layer_project_source(layer, tape, s->normed_src);
    s->projected.target = gnn__layer_project_target(layer, tape, s->normed_dst);
    s->shared = GNN_NONE;
    if (gnn__layer_shares(layer))
        s->shared =
            both ? s->projected.source : gnn__layer_project_source(layer, tape, s->normed_dst);
    if (narrow && s->projected.target != GNN_NONE)
        s->projected.target = head_rows(tape, s->projected.target, n);
    if (narrow && s->shared != GNN_NONE)
        s->shared = head_rows(tape, s->shared, n);
}

/* ---- aggregate ---- */

/* Numbers per head of senders and receivers; where both have the same rows, by one op that reads them once. */
static void head_dots(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t *key, gnn_var_t *query)
{
    const int64_t heads = layer->config.heads;
    const gnn_var_t sender = parameter(layer, tape, GNN__ATTENTION_SENDER),
                    receiver = parameter(layer, tape, GNN__ATTENTION_RECEIVER);
    if (*key == *query) {
        const gnn_var_t both =
            gnn_tape_op(tape, &gnn__op_head_dot, (gnn_var_t[]){*key, sender, receiver}, 3,
                        &(gnn__heads_settings_t){heads}, sizeof(gnn__heads_settings_t));
        const int64_t n = gnn_tape_rows(tape, *key);
        *key = gnn_tape_view(tape, both, 0, n, 0, heads);
        *query = gnn_tape_view(tape, both, n, n, 0, heads);
        return;
    }
    *key = gnn_tape_head_dot(tape, *key, sender, heads);
    *query = gnn_tape_head_dot(tape, *query, receiver, heads);
}

/* Rows that the score reads: key of the senders, query of the receivers. */
static void score_inputs(const gnn_layer_t *layer, gnn_tape_t *tape, const sides_t *s, gnn_var_t *in)
{
    const gnn_layer_config_t *c = &layer->config;
    const gnn__widths_t *w = &layer->width;
    bool from_message = gnn__layer_key_is_message(c);
    const int64_t cols = from_message ? w->message : w->own_key;
    gnn_var_t key = columns(tape, s->projected.source, 0, cols);
    gnn_var_t query = s->shared != GNN_NONE ? columns(tape, s->shared, 0, cols)
                                            : columns(tape, s->projected.target, 0, w->own_query);
    if (c->aggregator->score_width == GNN_SCORE_PER_HEAD)
        head_dots(layer, tape, &key, &query);
    in[GNN_AGGREGATE_KEY] = key;
    in[GNN_AGGREGATE_QUERY] = query;
    in[GNN_AGGREGATE_PARAMETERS] = parameter(layer, tape, GNN__ATTENTION_VECTOR);
    in[GNN_AGGREGATE_PRIOR_0] = parameter(layer, tape, GNN__DISTANCE);
}

static void message_inputs(const gnn_layer_t *layer, gnn_tape_t *tape, const sides_t *s, gnn_var_t *in)
{
    const gnn_layer_config_t *c = &layer->config;
    const gnn__widths_t *w = &layer->width;
    gnn_var_t message = c->message->projects && !s->late
                            ? columns(tape, s->projected.source, w->own_key, w->source_message)
                            : s->normed_src;
    in[GNN_AGGREGATE_SRC_MESSAGE] = gnn_tape_dropout(tape, message, c->dropout_message);
    if (w->target_message > 0)
        in[GNN_AGGREGATE_DST_MESSAGE] =
            columns(tape, s->projected.target, w->own_query, w->target_message);
}

static void edge_inputs(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                        const gnn_layer_vars_t *vars, gnn_var_t *in, gnn_view_t *view)
{
    const gnn_layer_config_t *c = &layer->config;
    in[GNN_AGGREGATE_EDGE_BIAS] = vars->edge_bias;
    in[GNN_AGGREGATE_EDGE_WEIGHT] = vars->edge_weight;
    if (vars->edge_weight != GNN_NONE && c->graph_norm != GNN_GRAPH_NORM_NONE) {
        in[GNN_AGGREGATE_EDGE_WEIGHT] =
            gnn_tape_weight_norm(tape, vars->edge_weight, graph, c->self_loops, c->graph_norm);
        view->norm = GNN_GRAPH_NORM_NONE;
    }
    if (c->edge_dim == 0)
        return;
    gnn_var_t weight = parameter(layer, tape, GNN__EDGE_WEIGHT);
    in[GNN_AGGREGATE_EDGE_FEATURES] = vars->edge_features;
    if (c->message->edge_parts > 0) {
        in[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT] = weight;
        in[GNN_AGGREGATE_EDGE_MESSAGE_BIAS] = parameter(layer, tape, GNN__EDGE_BIAS);
    }
    if (gnn__scored(c)) /* additive: e . (W a) per head, so that d_e x heads numbers do what d_e x heads*d_k would */
        in[GNN_AGGREGATE_EDGE_KEY_WEIGHT] =
            c->aggregator->score_width == GNN_SCORE_PER_HEAD
                ? gnn_tape_head_dot(tape, weight, parameter(layer, tape, GNN__ATTENTION_EDGE),
                                    c->heads)
                : weight;
}

static gnn_prior_use_t distance_prior(const gnn_layer_config_t *c)
{
    static const gnn_prior_t *const rows[] = {NULL, &gnn_prior_slope, &gnn_prior_table};
    return (gnn_prior_use_t){.row = rows[c->distance], .options = {(double)c->distance_buckets}};
}

static gnn_var_t aggregate(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                           const gnn_layer_vars_t *vars, const sides_t *s,
                           const gnn__attention_out_t *weights)
{
    const gnn_layer_config_t *c = &layer->config;
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    gnn_aggregate_t how = {.aggregator = c->aggregator,
                           .message = s->late ? &gnn_message_none : c->message,
                           .graph = graph,
                           .dropout = c->dropout_attention,
                           .priors = {distance_prior(c)},
                           .view = {.self_loops = c->self_loops, .norm = c->graph_norm},
                           .edge_weights_out = weights ? weights->per_edge : NULL,
                           .segment_weights_out = weights ? weights->per_segment : NULL};
    if (gnn__scored(c))
        how.shape = (gnn_aggregate_shape_t){.heads = c->heads,
                                            .key_heads = c->kv_heads,
                                            .value_heads = c->kv_heads,
                                            .d_k = c->d_k,
                                            .d_v = c->d_v,
                                            .scale = c->scale,
                                            .slope = c->slope};
    memcpy(how.shape.options, c->options, sizeof how.shape.options);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    message_inputs(layer, tape, s, in);
    if (gnn__scored(c))
        score_inputs(layer, tape, s, in);
    edge_inputs(layer, tape, graph, vars, in, &how.view);
    gnn_var_t a = gnn_tape_aggregate(tape, &how, in);
    if (s->late)
        return gnn_tape_linear(tape, a, parameter(layer, tape, GNN__SOURCE_WEIGHT), GNN_NONE);
    return gnn__scored(c) && c->combine == GNN_HEADS_AVERAGE && c->heads > 1
               ? gnn_tape_head_mean(tape, a, c->heads)
               : a;
}

/* ---- update ---- */

/* GIN: (1 + eps) x_i + a. */
static gnn_var_t add_self(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x, gnn_var_t a)
{
    if (layer->id[GNN__EPS] >= 0)
        return gnn_tape_add_scaled(tape, x, a, parameter(layer, tape, GNN__EPS));
    return gnn_tape_add(tape, a, x, 1 + layer->config.eps);
}

static gnn_var_t add_bias(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x, gnn__slot_t slot)
{
    return layer->id[slot] < 0 ? x : gnn_tape_add(tape, x, parameter(layer, tape, slot), 1);
}

/* The self term's rows: receivers stand among sparse senders only as whole matrices. */
static gnn_var_t self_term(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x_dst, int64_t n)
{
    return head_rows(tape, linear(layer, tape, x_dst, GNN__SELF_WEIGHT), n);
}

static gnn_var_t update_mlp(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x_dst,
                            gnn_var_t a, fold_t folded)
{
    gnn_var_t z = add_self(layer, tape, x_dst, a);
    z = folded == FOLD_MLP ? add_bias(layer, tape, z, GNN__MLP0_BIAS)
                           : linear(layer, tape, z, GNN__MLP0_WEIGHT);
    z = gnn_tape_activation(tape, z, layer->config.hidden_activation, 0);
    return linear(layer, tape, z, GNN__MLP1_WEIGHT);
}

/* The transformer's second half; the norm stands before or after it like the first. */
static gnn_var_t feed_forward(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t z)
{
    const gnn_layer_config_t *c = &layer->config;
    bool before = c->norm_position == GNN_NORM_BEFORE;
    gnn_var_t u = before ? norm(layer, tape, z, GNN__NORM2_GAIN) : z;
    u = gnn_tape_activation(tape, linear(layer, tape, u, GNN__FFN0_WEIGHT), c->hidden_activation, 0);
    u = gnn_tape_dropout(tape, u, c->dropout_out);
    u = linear(layer, tape, u, GNN__FFN1_WEIGHT);
    return residual_norm(layer, tape, z, u, GNN__NORM2_GAIN);
}

static gnn_var_t update_core(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x_dst,
                             gnn_var_t a, fold_t folded)
{
    switch (layer->config.update) {
    case GNN_UPDATE_LINEAR:
    case GNN_UPDATE_FEED_FORWARD:
        return folded == FOLD_OUT ? add_bias(layer, tape, a, GNN__OUT_BIAS)
                                  : linear(layer, tape, a, GNN__OUT_WEIGHT);
    case GNN_UPDATE_MLP:
        return add_bias(layer, tape, update_mlp(layer, tape, x_dst, a, folded), GNN__OUT_BIAS);
    case GNN_UPDATE_GRU:
        a = gnn_tape_gru(tape, linear(layer, tape, a, GNN__GRU_INPUT_WEIGHT),
                         linear(layer, tape, x_dst, GNN__GRU_HIDDEN_WEIGHT), x_dst);
        return add_bias(layer, tape, a, GNN__OUT_BIAS);
    default: return add_bias(layer, tape, a, GNN__OUT_BIAS);
    }
}

static gnn_var_t update(const gnn_layer_t *layer, gnn_tape_t *tape, const sides_t *s,
                        gnn_var_t mlp_self, gnn_var_t a, fold_t folded, int64_t n)
{
    const gnn_layer_config_t *c = &layer->config;
    if (s->paired)
        a = gnn_tape_add(tape, a, s->self, 1);
    gnn_var_t u = update_core(layer, tape,
                              c->update == GNN_UPDATE_MLP && folded == FOLD_MLP ? mlp_self : s->x_dst,
                              a, folded);
    if (c->self_term == GNN_ON && !s->paired)
        u = gnn_tape_add(tape, u, self_term(layer, tape, s->normed_dst, n), 1);
    u = residual_norm(layer, tape, s->x_dst, u, GNN__NORM_GAIN);
    if (c->update == GNN_UPDATE_FEED_FORWARD)
        u = feed_forward(layer, tape, u);
    return gnn__tape_activate(tape, u, c->activation, 0);
}

/* ---- the whole ---- */

/* Aggregates z = x W in place of x, where `fold` allows it. */
static gnn_var_t folded_source(const gnn_layer_t *layer, gnn_tape_t *tape, gnn_var_t x, fold_t folded)
{
    gnn__slot_t weight = folded == FOLD_OUT ? GNN__OUT_WEIGHT : GNN__MLP0_WEIGHT;
    return gnn_tape_linear(tape, x, parameter(layer, tape, weight), GNN_NONE);
}

/* The same beside the self term. */
static void paired_source(const gnn_layer_t *layer, gnn_tape_t *tape, sides_t *s)
{
    const int64_t out = layer->config.out;
    const gnn_var_t weights[] = {parameter(layer, tape, GNN__OUT_WEIGHT),
                                 parameter(layer, tape, GNN__SELF_WEIGHT)};
    const gnn_var_t z = gnn_tape_linear(tape, s->x_src, gnn_tape_concat(tape, weights, 2), GNN_NONE);
    s->normed_src = columns(tape, z, 0, out);
    s->self = columns(tape, z, out, out);
}

static gnn_var_t aggregate_and_update(const gnn_layer_t *layer, gnn_tape_t *tape,
                                      const gnn_graph_t *graph, const gnn_layer_vars_t *vars,
                                      sides_t *s, const gnn__attention_out_t *weights)
{
    int64_t n = gnn_graph_n_dst(graph);
    const bool pairs = pairs_products(layer, tape, graph, vars);
    fold_t folded = fold(layer, tape, vars->x_src, pairs);
    gnn_var_t self = GNN_NONE;
    s->paired = pairs && folded == FOLD_OUT;
    if (s->paired) {
        paired_source(layer, tape, s);
    } else if (folded != FOLD_NONE) {
        s->normed_src = folded_source(layer, tape, s->x_src, folded);
        self = folded != FOLD_MLP        ? GNN_NONE
               : vars->x_dst == GNN_NONE ? head_rows(tape, s->normed_src, n)
                                         : folded_source(layer, tape, s->x_dst, folded);
    }
    gnn_var_t a = aggregate(layer, tape, graph, vars, s, weights);
    return update(layer, tape, s, self, a, folded, n);
}

gnn_var_t gnn__layer_record(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                            const gnn_layer_vars_t *vars, const gnn__attention_out_t *weights)
{
    sides_t s = {.late = aggregates_first(layer, tape, vars->x_src)};
    project(layer, tape, graph, vars, &s);
    return aggregate_and_update(layer, tape, graph, vars, &s, weights);
}

gnn_var_t gnn__layer_finish(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                            const gnn_layer_vars_t *vars, gnn__projected_t projected,
                            const gnn__attention_out_t *weights)
{
    bool both = vars->x_dst == GNN_NONE;
    int64_t n = gnn_graph_n_dst(graph);
    sides_t s = {.x_src = vars->x_src, .projected = projected, .shared = GNN_NONE};
    s.x_dst = both ? head_rows(tape, vars->x_src, n) : vars->x_dst;
    s.normed_src = both ? gnn__layer_prenorm(layer, tape, vars->x_src) : vars->x_src;
    s.normed_dst = both ? head_rows(tape, s.normed_src, n) : gnn__layer_prenorm(layer, tape, s.x_dst);
    if (gnn__layer_shares(layer)) {
        const int64_t shared = gnn__layer_source_cols(layer), own = gnn__layer_target_cols(layer);
        s.shared = columns(tape, projected.target, 0, shared);
        s.projected.target = columns(tape, projected.target, shared, own);
    }
    return aggregate_and_update(layer, tape, graph, vars, &s, weights);
}
