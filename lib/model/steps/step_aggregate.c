/* A step of kind aggregate: y_i = sum over j of w_ij m_ij over rows of other steps, without a
 * layer's projections and update. Of .layer it reads the fields about aggregation; .layer.in is the
 * width of a message, and the message is the sender's row unless another one is named. */
#include <lib/layer/score_config.h>
#include <lib/model/steps.h>

enum { MESSAGES, RECEIVERS, QUERY, KEY, EDGE_WEIGHT, EDGE_BIAS, SCORES };

static const gnn__step_input_t inputs[] = {
    GNN__INPUT(inputs[0]),   GNN__INPUT(receivers), GNN__INPUT(query), GNN__INPUT(key),
    GNN__INPUT(edge_weight), GNN__INPUT(edge_bias), GNN__SCORE_INPUTS};

static int check_rows(const gnn__model_step_t *s, const gnn_layer_config_t *c)
{
    if (gnn__scored(c) != (s->step.query && s->step.key))
        return gnn__error(GNN_EINVALID, "%s: aggregator %s %s .query and .key", s->where,
                          c->aggregator->name, gnn__scored(c) ? "needs" : "has no scores: no");
    if (c->update != &gnn_update_none)
        return gnn__error(GNN_EUNSUPPORTED, "%s: an aggregation has no update", s->where);
    if (c->edge_dim > 0)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s: an aggregation on given rows takes no edge features", s->where);
    return GNN_OK;
}

static void set_defaults(gnn_layer_config_t *c)
{
    if (!c->message && c->preset == GNN_PRESET_NONE)
        c->message = &gnn_message_none;
}

static int declare(gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_layer_config_t *c = &s->step.layer;
    GNN_TRY(check_rows(s, c));
    gnn__row_piece_t owned[GNN__MOST_PIECES];
    const int n = gnn__scores_pieces(c, owned);
    for (int k = 0; k < n; k++)
        GNN_TRY(gnn__step_parameter(model, s, owned[k].name, owned[k].piece.rows, owned[k].piece.cols,
                                    owned[k].piece.init, owned[k].piece.init_argument, NULL));
    return GNN_OK;
}

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    const gnn_layer_config_t *c = &s->step.layer;
    const bool scored = gnn__scored(c), per_head = gnn__scores_heads(c->score);
    const int64_t message = scored ? c->value_heads * c->d_v : c->in;
    if (c->message->src_parts > 0)
        GNN_TRY(gnn__step_expect(model, s, in, MESSAGES, c->message->src_parts * message,
                                 "columns of messages"));
    if (scored)
        GNN_TRY(gnn__step_expect(model, s, in, QUERY, per_head ? c->heads : c->heads * c->d_k,
                                 "columns in .query"));
    if (scored)
        GNN_TRY(gnn__step_expect(model, s, in, KEY, per_head ? c->heads : c->key_heads * c->d_k,
                                 "columns in .key"));
    s->width = !scored ? c->in : c->combine == GNN_HEADS_AVERAGE ? c->d_v : c->heads * c->d_v;
    return GNN_OK;
}

/* The step that is recorded, to find its parameters. */
typedef struct {
    const gnn__recording_t *r;
    const gnn__model_step_t *s;
} place_t;

static gnn_var_t owned_value(const void *from, const char *name)
{
    const place_t *at = from;
    return gnn__step_value(at->r, at->s, name);
}

static void send(const gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in,
                 gnn_var_t sent[GNN__SENT])
{
    (void)r;
    (void)s;
    sent[0] = in[MESSAGES];
    sent[1] = in[KEY];
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *given)
{
    const gnn_layer_config_t *c = &s->step.layer;
    const gnn_graph_t *graph = gnn__step_graph(r, s);
    const gnn__hop_extras_t extras = gnn__step_extras(r, graph);
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    if (!graph)
        return GNN_NONE;
    gnn_aggregate_t how = gnn__scores_settings(c, graph, &extras);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    const gnn_var_t messages = r->sent ? r->sent[0] : given[MESSAGES],
                    key = r->sent ? r->sent[1] : given[KEY];
    in[GNN_AGGREGATE_SRC_MESSAGE] = gnn_tape_dropout(r->tape, messages, c->dropout_message);
    in[GNN_AGGREGATE_DST_MESSAGE] = given[RECEIVERS];
    in[GNN_AGGREGATE_QUERY] = given[QUERY];
    in[GNN_AGGREGATE_KEY] = key;
    in[GNN_AGGREGATE_EDGE_WEIGHT] = given[EDGE_WEIGHT];
    in[GNN_AGGREGATE_EDGE_BIAS] = given[EDGE_BIAS];
    gnn__scores_inputs(c, r->tape, owned_value, &(place_t){r, s}, in);
    const gnn__score_vars_t scores = gnn__step_score_vars(given + SCORES);
    gnn__scores_given(&scores, in);
    return gnn__scores_record(c, r->tape, &how, in, &extras);
}

static int prepare(const gnn__model_step_t *s, gnn_graph_t *graph, gnn_flag_t backward)
{
    return gnn__scores_prepare(&s->step.layer, graph, backward);
}

const gnn__step_row_t gnn__step_kind_aggregate = {
    .name = "aggregate",
    .reads = GNN__READS(GNN__AT(share), GNN__AT(share_fields)),
    .inputs = inputs,
    .n_inputs = SCORES + GNN__N_SCORE_INPUTS,
    .uses_graph = true,
    .has_config = true,
    .set_defaults = set_defaults,
    .config_reads = GNN__READS(
        GNN__CONFIG_AT(preset), GNN__CONFIG_AT(in), GNN__CONFIG_AT(out), GNN__CONFIG_AT(heads),
        GNN__CONFIG_AT(d_k), GNN__CONFIG_AT(d_v), GNN__CONFIG_AT(edge_dim), GNN__CONFIG_AT(message),
        GNN__CONFIG_AT(aggregator), GNN__CONFIG_AT(score), GNN__CONFIG_AT(score_options),
        GNN__CONFIG_AT(update), GNN__CONFIG_AT(options), GNN__CONFIG_AT(self_loops),
        GNN__CONFIG_AT(graph_norm), GNN__CONFIG_AT(combine), GNN__CONFIG_AT(slope),
        GNN__CONFIG_AT(scale), GNN__CONFIG_AT(dropout), GNN__CONFIG_AT(dropout_attention),
        GNN__CONFIG_AT(dropout_message), GNN__CONFIG_AT(key_heads), GNN__CONFIG_AT(value_heads),
        GNN__CONFIG_AT(message_options), GNN__CONFIG_AT(map), GNN__CONFIG_AT(map_options),
        GNN__CONFIG_AT(weigher), GNN__CONFIG_AT(weigher_options), GNN__CONFIG_AT(softcap),
        GNN__CONFIG_AT(priors[0].prior), GNN__CONFIG_AT(priors[0].options),
        GNN__CONFIG_AT(priors[0].given), GNN__CONFIG_AT(priors[1].prior),
        GNN__CONFIG_AT(priors[1].options), GNN__CONFIG_AT(priors[1].given),
        GNN__CONFIG_AT(priors[2].prior), GNN__CONFIG_AT(priors[2].options),
        GNN__CONFIG_AT(priors[2].given), GNN__CONFIG_AT(loop_weight)),
    .attends = true,
    .declare = declare,
    .width = width,
    .record = record,
    .incremental = GNN__NEEDS_CACHE,
    .senders = 1u << MESSAGES | 1u << KEY,
    .edges = 1u << EDGE_WEIGHT | 1u << EDGE_BIAS,
    .priors = SCORES + 2,
    .send = send,
    .prepare = prepare};
