/* Scores and aggregation of a config: its widths, the settings of the op, and the parameters that
 * its aggregator, message, weigher and priors own. */
#include <lib/layer/score_config.h>

#include <lib/tape/tape.h>

/* ---- widths ---- */

bool gnn__layer_key_is_message(const gnn_layer_config_t *c)
{
    return c->message->projects && c->message->src_parts == 1 && c->d_k == c->d_v &&
           c->key_heads == c->value_heads && c->score &&
           (c->score->flags & GNN_SCORE_KEY_IS_MESSAGE);
}

void gnn__layer_widths(const gnn_layer_config_t *c, gnn__widths_t *w)
{
    bool scored = gnn__scored(c), per_head = gnn__scores_heads(c->score);
    bool from_message = scored && gnn__layer_key_is_message(c);
    memset(w, 0, sizeof *w);
    w->message = scored                 ? c->value_heads * c->d_v
                 : c->message->projects ? (c->d_v ? c->d_v : c->out)
                                        : c->in;
    w->key = !scored ? 0 : per_head ? c->heads : c->key_heads * c->d_k;
    w->query = !scored ? 0 : per_head ? c->heads : c->heads * c->d_k;
    w->own_key = !scored || from_message ? 0 : c->key_heads * c->d_k;
    w->own_query = !scored || c->share_weights == GNN_ON ? 0 : c->heads * c->d_k;
    w->source_message = c->message->projects ? c->message->src_parts * w->message : 0;
    w->target_message = c->message->projects ? c->message->dst_parts * w->message : 0;
    w->aggregate = !scored                           ? w->message
                   : c->combine == GNN_HEADS_AVERAGE ? c->d_v
                                                     : c->heads * c->d_v;
    w->edge = c->message->edge_parts > 0 ? c->message->edge_parts * w->message
              : scored                   ? c->key_heads * c->d_k
                                         : 0;
}

/* ---- the op's settings ---- */

/* A setting of a resolved config, in which 0 is 0, for a struct in which 0 is the default. */
static gnn_real_t meant(gnn_real_t value)
{
    return value != 0 ? value : GNN_ZERO;
}

gnn_aggregate_t gnn__scores_settings(const gnn_layer_config_t *c, const gnn_graph_t *graph,
                                     const gnn__hop_extras_t *extras)
{
    gnn_aggregate_t how = {.aggregator = c->aggregator,
                           .message = c->message,
                           .graph = graph,
                           .view = {.self_loops = c->self_loops, .norm = c->graph_norm},
                           .edge_weights_out = extras ? extras->per_edge : NULL,
                           .segment_weights_out = extras ? extras->per_segment : NULL,
                           .running = extras ? extras->running : NULL,
                           .dropout = c->dropout_attention,
                           .score = c->score,
                           .map = c->map,
                           .weigher = c->weigher};
    if (gnn__scored(c))
        how.shape = (gnn_aggregate_shape_t){.heads = c->heads,
                                            .key_heads = c->key_heads,
                                            .value_heads = c->value_heads,
                                            .d_k = c->d_k,
                                            .d_v = c->d_v,
                                            .scale = meant(c->scale),
                                            .slope = meant(c->slope),
                                            .softcap = c->softcap};
    memcpy(how.shape.options, c->options, sizeof how.shape.options);
    memcpy(how.message_options, c->message_options, sizeof how.message_options);
    memcpy(how.score_options, c->score_options, sizeof how.score_options);
    memcpy(how.map_options, c->map_options, sizeof how.map_options);
    memcpy(how.weigher_options, c->weigher_options, sizeof how.weigher_options);
    for (int p = 0; p < GNN_PRIORS; p++) {
        how.priors[p].row = c->priors[p].prior;
        memcpy(how.priors[p].options, c->priors[p].options, sizeof how.priors[p].options);
    }
    return how;
}

/* ---- owned parameters ---- */

static gnn_aggregate_shape_t sizes_of(const gnn_layer_config_t *c)
{
    gnn__widths_t w;
    gnn_aggregate_shape_t shape = gnn__scores_settings(c, NULL, NULL).shape;
    gnn__layer_widths(c, &w);
    shape.heads = shape.heads ? shape.heads : 1;
    shape.message_width = w.message;
    shape.d_v = shape.d_v ? shape.d_v : w.message;
    shape.width = gnn__scored(c) ? shape.heads * shape.d_v : w.message;
    return shape;
}

/* Appends the parameters of one entry. */
static int append(const gnn_aggregate_shape_t *sizes, gnn_row_declare_t *declare,
                  const gnn_option_t *options, size_t n_options, const double *given, int input,
                  const char *prefix, gnn__row_piece_t *owned)
{
    gnn_aggregate_shape_t shape = *sizes;
    gnn_piece_t pieces[GNN_ROW_PIECES] = {{0}};
    if (!declare || gnn__resolve_options("", options, n_options, given, shape.options) != GNN_OK)
        return 0;
    const size_t declared = declare(&shape, pieces);
    const int n = (int)(declared < GNN_ROW_PIECES ? declared : GNN_ROW_PIECES);
    for (int k = 0; k < n; k++) {
        owned[k] = (gnn__row_piece_t){.input = input, .piece = pieces[k]};
        snprintf(owned[k].name, sizeof owned[k].name, "%s%s", prefix, pieces[k].name);
    }
    return n;
}

int gnn__scores_pieces(const gnn_layer_config_t *c, gnn__row_piece_t owned[GNN__MOST_PIECES])
{
    const gnn_aggregate_shape_t sizes = sizes_of(c);
    const gnn_aggregator_t *a = c->aggregator;
    const gnn_message_t *m = c->message;
    const gnn_score_t *s = c->score;
    const gnn_weigher_t *w = c->weigher;
    int n = append(&sizes, a->declare, a->options, a->n_options, c->options,
                   GNN_AGGREGATE_PARAMETERS, "", owned);
    if (s)
        n += append(&sizes, s->declare, s->options, s->n_options, c->score_options,
                    GNN_AGGREGATE_SCORE_PARAMETERS, "", owned + n);
    n += append(&sizes, m->declare, m->options, m->n_options, c->message_options,
                GNN_AGGREGATE_MESSAGE_PARAMETERS, "", owned + n);
    if (w)
        n += append(&sizes, w->declare, w->options, w->n_options, c->weigher_options,
                    GNN_AGGREGATE_WEIGHER_PARAMETERS, "", owned + n);
    if (c->map && c->map->apply)
        n += append(&sizes, c->map->declare, c->map->options, c->map->n_options, c->map_options,
                    GNN_AGGREGATE_MAP_PARAMETERS, "", owned + n);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn_prior_t *prior = c->priors[p].prior;
        char prefix[] = "prior_0.";
        prefix[6] = (char)('0' + p);
        if (prior && c->priors[p].given != GNN_ON)
            n += append(&sizes, prior->declare, prior->options, prior->n_options,
                        c->priors[p].options, GNN_AGGREGATE_PRIOR_0 + p, prefix, owned + n);
    }
    return n;
}

/* Several parameters as one row: all elements of the first, row by row, then those of the
 * second. */
static gnn_var_t one_row(gnn_tape_t *tape, const gnn__row_piece_t *owned, int n,
                         gnn__scores_value_t *value, const void *from)
{
    enum { MOST = 256 };
    gnn_var_t rows[MOST];
    int count = 0;
    for (int k = 0; k < n; k++) {
        const gnn_var_t x = value(from, owned[k].name);
        for (int64_t r = 0; r < owned[k].piece.rows; r++) {
            if (count == MOST) {
                rows[0] = gnn_tape_concat(tape, rows, count);
                count = 1;
            }
            rows[count++] = gnn_tape_view(tape, x, r, 1, 0, owned[k].piece.cols);
        }
    }
    return gnn_tape_concat(tape, rows, count);
}

void gnn__scores_inputs(const gnn_layer_config_t *c, gnn_tape_t *tape, gnn__scores_value_t *value,
                        const void *from, gnn_var_t in[GNN_AGGREGATE_INPUTS])
{
    gnn__row_piece_t owned[GNN__MOST_PIECES];
    const int n = gnn__scores_pieces(c, owned);
    for (int k = 0, next; k < n; k = next) {
        for (next = k + 1; next < n && owned[next].input == owned[k].input;)
            next++;
        in[owned[k].input] = next == k + 1 ? value(from, owned[k].name)
                                           : one_row(tape, owned + k, next - k, value, from);
    }
}

void gnn__scores_given(const gnn__score_vars_t *given, gnn_var_t in[GNN_AGGREGATE_INPUTS])
{
    if (!given)
        return;
    in[GNN_AGGREGATE_GATE] = given->gate;
    in[GNN_AGGREGATE_PRIOR_QUERY] = given->prior_query;
    for (int p = 0; p < GNN_PRIORS; p++)
        if (given->prior[p] != GNN_NONE)
            in[GNN_AGGREGATE_PRIOR_0 + p] = given->prior[p];
}

/* ---- the op ---- */

/* With edge weights the norm is computed from them on the tape, over the same view without norm,
 * which is prepared, too. */
int gnn__scores_prepare(const gnn_layer_config_t *c, gnn_graph_t *graph, gnn_flag_t backward)
{
    gnn_view_t view = {c->self_loops, c->graph_norm, backward};
    GNN_TRY(gnn_graph_prepare(graph, &view));
    if (c->graph_norm == GNN_GRAPH_NORM_NONE ||
        (gnn_graph_n_edges(graph) == 0 && gnn_graph_n_pairs(graph) > 0 && !gnn__weighs_loops(c)))
        return GNN_OK; /* pairs of a topology have no edge weights */
    view.norm = GNN_GRAPH_NORM_NONE;
    return gnn_graph_prepare(graph, &view);
}

/* Weights times the mask. Those of self-loops, which follow the edges', are not masked. */
static gnn_var_t masked(gnn_tape_t *tape, gnn_var_t weight, gnn_var_t mask)
{
    if (weight == GNN_NONE)
        return mask;
    const int64_t all = gnn_tape_rows(tape, weight), m = gnn_tape_rows(tape, mask);
    if (all <= m)
        return gnn_tape_multiply(tape, weight, mask);
    const gnn_var_t edges = gnn_tape_view(tape, weight, 0, m, 0, 1),
                    loops = gnn_tape_view(tape, weight, m, all - m, 0, 1);
    return gnn_tape_stack(tape, (gnn_var_t[]){gnn_tape_multiply(tape, edges, mask), loops}, 2);
}

gnn_var_t gnn__scores_record(const gnn_layer_config_t *c, gnn_tape_t *tape, gnn_aggregate_t *how,
                             gnn_var_t in[GNN_AGGREGATE_INPUTS], const gnn__hop_extras_t *extras)
{
    gnn_var_t *weight = &in[GNN_AGGREGATE_EDGE_WEIGHT];
    /* edge weights are normalised on the tape, since they may be learned, and so are self-loops
     * with a weight: the view is then the one without norm */
    if (c->graph_norm != GNN_GRAPH_NORM_NONE && (*weight != GNN_NONE || gnn__weighs_loops(c))) {
        *weight = gnn__tape_weigh_edges(tape, *weight, how->graph, c->self_loops, c->graph_norm,
                                        c->loop_weight);
        how->view.norm = GNN_GRAPH_NORM_NONE;
    }
    if (extras && extras->edge_mask)
        *weight = masked(tape, *weight, *extras->edge_mask);
    const gnn_var_t y = gnn_tape_aggregate(tape, how, in);
    return gnn__scored(c) && c->combine == GNN_HEADS_AVERAGE && c->heads > 1
               ? gnn_tape_head_mean(tape, y, c->heads)
               : y;
}

/* ---- checks ---- */

/* An entry of the program may declare too many parameters. */
static int check_declared(const gnn_layer_config_t *c, const char *kind, const char *name,
                          const gnn_option_t *options, size_t n_options, const double *given,
                          gnn_row_declare_t *declare)
{
    gnn_aggregate_shape_t shape = sizes_of(c);
    int64_t rows, cols;
    GNN_TRY(gnn__resolve_options(name, options, n_options, given, shape.options));
    int rc = gnn__declared_size(declare, &shape, &rows, &cols);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s %s", kind, name);
}

static int check_prior(const gnn_layer_config_t *c, int p)
{
    const gnn_prior_t *prior = c->priors[p].prior;
    if (!prior)
        return GNN_OK;
    GNN_TRY(check_declared(c, "prior", prior->name, prior->options, prior->n_options,
                           c->priors[p].options, prior->declare));
    if ((prior->numbers != GNN_PRIOR_SHARED || (prior->flags & GNN_PRIOR_RUNNING)) &&
        c->priors[p].given != GNN_ON)
        return gnn__error(GNN_EINVALID,
                          "prior %s reads one row per node, which must be an input: "
                          ".priors[%d].given, or .priors[%d] of a step",
                          prior->name, p, p);
    if ((prior->flags & (GNN_PRIOR_READS_QUERY | GNN_PRIOR_READS_KEY)) && !gnn__scores_keys(c->score))
        return gnn__error(GNN_EUNSUPPORTED,
                          "prior %s multiplies queries or keys of width d_k, %s has one value per head",
                          prior->name, c->score->name);
    return GNN_OK;
}

/* A map that changes the width of rows takes no terms that are made for rows as they were. */
static int check_width(const gnn_layer_config_t *c, const gnn_aggregate_shape_t *shape)
{
    const char *what = c->edge_dim > 0 ? "edge features" : NULL;
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn_prior_t *prior = c->priors[p].prior;
        if (prior && (prior->flags & (GNN_PRIOR_READS_QUERY | GNN_PRIOR_READS_KEY)))
            what = prior->name;
    }
    if (!what || !c->map || gnn__map_width(c->map, shape) == shape->d_k)
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED, "map %s changes the width of queries and keys, %s reads them",
                      c->map->name, what);
}

static int check_map(const gnn_layer_config_t *c)
{
    gnn_aggregate_shape_t shape = sizes_of(c);
    if (c->map)
        GNN_TRY(gnn__resolve_options(c->map->name, c->map->options, c->map->n_options,
                                     c->map_options, shape.options));
    GNN_TRY(gnn__check_map(c->map, c->score, &shape));
    if (c->map && c->map->apply)
        GNN_TRY(check_declared(c, "map", c->map->name, c->map->options, c->map->n_options,
                               c->map_options, c->map->declare));
    return check_width(c, &shape);
}

/* Settings of scores need an aggregator with scores. */
static int check_unscored(const gnn_layer_config_t *c)
{
    const struct {
        const char *name;
        bool set;
    } settings[] = {{"prior", c->priors[0].prior || c->priors[1].prior || c->priors[2].prior},
                    {"score", c->score != NULL},
                    {"map", c->map != NULL},
                    {"weigher", c->weigher != NULL},
                    {"softcap", c->softcap > 0}};
    const char *what = NULL;
    for (size_t k = 0; !what && k < sizeof settings / sizeof *settings; k++)
        what = settings[k].set ? settings[k].name : NULL;
    return what ? gnn__error(GNN_EUNSUPPORTED, "a %s needs an attention aggregator, %s has no scores",
                             what, c->aggregator->name)
                : GNN_OK;
}

/* Options of entries that are absent. */
static int check_absent(const gnn_layer_config_t *c)
{
    if (!c->score)
        GNN_TRY(gnn__options_without("score_options", "score", c->score_options));
    if (!c->map)
        GNN_TRY(gnn__options_without("map_options", "map", c->map_options));
    if (!c->weigher)
        GNN_TRY(gnn__options_without("weigher_options", "weigher", c->weigher_options));
    for (int p = 0; p < GNN_PRIORS; p++) {
        char field[48];
        snprintf(field, sizeof field, "priors[%d].options", p);
        if (!c->priors[p].prior)
            GNN_TRY(gnn__options_without(field, "prior", c->priors[p].options));
    }
    return GNN_OK;
}

int gnn__scores_check(const gnn_layer_config_t *c)
{
    const gnn_aggregator_t *a = c->aggregator;
    const gnn_message_t *m = c->message;
    const gnn_score_t *s = c->score;
    const gnn_weigher_t *w = c->weigher;
    GNN_TRY(
        check_declared(c, "aggregator", a->name, a->options, a->n_options, c->options, a->declare));
    GNN_TRY(check_declared(c, "message", m->name, m->options, m->n_options, c->message_options,
                           m->declare));
    GNN_TRY(check_absent(c));
    if (!gnn__scored(c))
        return check_unscored(c);
    GNN_TRY(check_declared(c, "score", s->name, s->options, s->n_options, c->score_options,
                           s->declare));
    if (w)
        GNN_TRY(check_declared(c, "weigher", w->name, w->options, w->n_options, c->weigher_options,
                               w->declare));
    for (int p = 0; p < GNN_PRIORS; p++)
        GNN_TRY(check_prior(c, p));
    return check_map(c);
}
