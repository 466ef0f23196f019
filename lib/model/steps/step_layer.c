/* A step of kind layer: one hop over the graph of its slot. */
#include <lib/model/steps.h>

enum { SENDERS, RECEIVERS, EDGE_FEATURES, EDGE_WEIGHT, EDGE_BIAS, SCORES };

static const gnn__step_input_t inputs[] = {GNN__INPUT(inputs[0]),     GNN__INPUT(receivers),
                                           GNN__INPUT(edge_features), GNN__INPUT(edge_weight),
                                           GNN__INPUT(edge_bias),     GNN__SCORE_INPUTS};

/* Running statistics are allocated with the layer: their width must be one that a file could
 * fill. */
static int check(const gnn_model_t *model, const gnn__model_step_t *s)
{
    const gnn_layer_config_t *c = &s->step.layer;
    gnn__widths_t width;
    if (c->norm != GNN_NORM_BATCH)
        return GNN_OK;
    gnn__layer_widths(c, &width);
    return gnn__step_check_running(model, s, gnn__max(gnn__max(c->in_dst, c->out), width.aggregate));
}

static const gnn_layer_t *find_layer(const gnn_model_t *model, const char *name)
{
    const int64_t k = gnn_model_find(model, name);
    return k < 0 ? NULL : model->steps[k].layer;
}

static int declare(gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    char *prefix = NULL;
    const gnn_layer_t *share = t->share ? find_layer(model, t->share) : NULL;
    if (t->share && !share)
        return gnn__error(GNN_ENOTFOUND, "%s: no earlier layer step %s to share parameters with",
                          s->where, t->share);
    GNN_TRY(gnn__layer_create(&s->layer, &t->layer));
    GNN_TRY(gnn__asprintf(&prefix, "%s.", s->name));
    const int rc = gnn__layer_declare(s->layer, model->parameters, prefix, share, t->share_fields);
    gnn_free(prefix);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", s->where);
}

static int width(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    const gnn_layer_config_t *c = s->layer->config;
    GNN_TRY(gnn__step_expect(model, s, in, SENDERS, c->in, "input features"));
    GNN_TRY(gnn__step_expect(model, s, in, RECEIVERS, c->in_dst, "receiver features"));
    if (c->edge_dim == 0 && s->step.edge_features)
        return gnn__error(GNN_EINVALID,
                          "%s: .edge_features names \"%s\", but .layer.edge_dim, their count, is 0",
                          s->where, s->step.edge_features);
    if (c->edge_dim > 0)
        GNN_TRY(gnn__step_expect(model, s, in, EDGE_FEATURES, c->edge_dim, "edge features"));
    s->width = gnn_layer_width(s->layer);
    return GNN_OK;
}

static int check_receivers(const gnn__model_step_t *s, const gnn_tape_t *tape, int64_t n_dst,
                           gnn_var_t x_dst)
{
    const gnn_layer_config_t *c = s->layer->config;
    if (gnn_tape_cols(tape, x_dst) != c->in_dst)
        return gnn__error(GNN_ESHAPE, "%s expects %lld receiver features, the tensor has %lld",
                          s->where, (long long)c->in_dst, (long long)gnn_tape_cols(tape, x_dst));
    if (gnn_tape_rows(tape, x_dst) != n_dst)
        return gnn__error(GNN_ESHAPE, "%s: the graph has %lld receivers, the tensor %lld rows",
                          s->where, (long long)n_dst, (long long)gnn_tape_rows(tape, x_dst));
    return GNN_OK;
}

static int check_rows(const gnn__model_step_t *s, const gnn_tape_t *tape, const gnn_graph_t *graph,
                      const gnn_layer_vars_t *vars)
{
    const gnn_layer_config_t *c = s->layer->config;
    int64_t cols = gnn_tape_cols(tape, vars->x_src), rows = gnn_tape_rows(tape, vars->x_src),
            n_dst = gnn_graph_n_dst(graph);
    if (cols != c->in)
        return gnn__error(GNN_ESHAPE, "%s expects %lld input features, the tensor has %lld",
                          s->where, (long long)c->in, (long long)cols);
    if (rows != gnn_graph_n_src(graph))
        return gnn__error(GNN_ESHAPE, "%s: the graph has %lld senders, the tensor %lld rows",
                          s->where, (long long)gnn_graph_n_src(graph), (long long)rows);
    if (vars->x_dst != GNN_NONE)
        return check_receivers(s, tape, n_dst, vars->x_dst);
    if (n_dst > rows)
        return gnn__error(GNN_ESHAPE,
                          "%s: the graph has %lld receivers and %lld senders: .receivers is needed",
                          s->where, (long long)n_dst, (long long)rows);
    return GNN_OK;
}

/* A state keeps the projection of each sender, and its features if they are the message. Pre-norm
 * applies to both sides if they are the same rows. */
static void send(const gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in,
                 gnn_var_t sent[GNN__SENT])
{
    const bool both = s->in[RECEIVERS] == GNN__NOT_READ;
    const gnn_var_t x = both ? gnn__layer_prenorm(s->layer, r->tape, in[SENDERS]) : in[SENDERS];
    sent[0] = gnn__layer_project_source(s->layer, r->tape, x);
    sent[1] = s->layer->config->message->projects ? GNN_NONE : x;
}

/* Projects the receivers; the senders' projections are those of the state. */
static gnn_var_t record_continued(const gnn__recording_t *r, const gnn__model_step_t *s,
                                  const gnn_graph_t *graph, const gnn_layer_vars_t *vars,
                                  const gnn__score_vars_t *scores)
{
    const gnn_var_t x = vars->x_dst != GNN_NONE ? vars->x_dst : vars->x_src,
                    normed = gnn__layer_prenorm(s->layer, r->tape, x);
    gnn_var_t target[2] = {GNN_NONE, gnn__layer_project_target(s->layer, r->tape, normed)};
    if (gnn__layer_shares(s->layer)) {
        target[0] = gnn__layer_project_source(s->layer, r->tape, normed);
        target[1] = target[1] == GNN_NONE ? target[0] : gnn_tape_concat(r->tape, target, 2);
    }
    const gnn__projected_t projected = {.target = target[1], .source = r->sent[0]};
    const gnn_layer_vars_t own = {.x_dst = x,
                                  .x_src = r->sent[1] != GNN_NONE ? r->sent[1] : x,
                                  .edge_features = GNN_NONE,
                                  .edge_weight = GNN_NONE,
                                  .edge_bias = GNN_NONE};
    return gnn__layer_finish(s->layer, r->tape, graph, &own, scores, projected, NULL);
}

static gnn_var_t record(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in)
{
    const gnn_layer_vars_t vars = {.x_dst = in[RECEIVERS],
                                   .x_src = in[SENDERS],
                                   .edge_features = in[EDGE_FEATURES],
                                   .edge_weight = in[EDGE_WEIGHT],
                                   .edge_bias = in[EDGE_BIAS]};
    const gnn__score_vars_t scores = gnn__step_score_vars(in + SCORES);
    const gnn_graph_t *graph = gnn__step_graph(r, s);
    if (graph && r->sent)
        return record_continued(r, s, graph, &vars, &scores);
    if (!graph || gnn_tape_fail(r->tape, check_rows(s, r->tape, graph, &vars)) != GNN_OK)
        return GNN_NONE;
    const gnn__hop_extras_t extras = gnn__step_extras(r, graph);
    return gnn__layer_record_hop(s->layer, r->tape, graph, &vars, &scores, &extras);
}

static int prepare(const gnn__model_step_t *s, gnn_graph_t *graph, gnn_flag_t backward)
{
    return gnn_layer_prepare(s->layer, graph, backward);
}

const gnn__step_row_t gnn__step_kind_layer = {
    .name = "layer",
    .reads = GNN__READS(GNN__AT(share), GNN__AT(share_fields)),
    .inputs = inputs,
    .n_inputs = SCORES + GNN__N_SCORE_INPUTS,
    .uses_graph = true,
    .has_config = true,
    .attends = true,
    .check = check,
    .declare = declare,
    .width = width,
    .record = record,
    .incremental = GNN__NEEDS_CACHE,
    .senders = 1u << SENDERS,
    .edges = 1u << EDGE_FEATURES | 1u << EDGE_WEIGHT | 1u << EDGE_BIAS,
    .priors = SCORES + 2,
    .send = send,
    .prepare = prepare};
