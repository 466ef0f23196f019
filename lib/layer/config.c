/* Resolving a config: 0 becomes the preset's value, then the default; then sizes that follow from
 * others, then checks. */
#include <lib/aggregate/tables.h>
#include <lib/base/settings.h>
#include <lib/layer/config_fields.h>
#include <lib/layer/hop.h>
#include <lib/layer/score_config.h>

#include <math.h>

int64_t gnn__update_width(const gnn_layer_config_t *config, int64_t aggregate)
{
    const struct gnn__update_rules *rules = config->update->rules;
    return rules->width         ? rules->width(config, aggregate)
           : rules->mixes_heads ? config->out
                                : aggregate;
}

/* The preset's value where the program left 0, else the default. GNN_ZERO becomes 0. */
static void fill_real(gnn_real_t *value, gnn_real_t preset, double initial, bool resolved)
{
    if (*value == 0 && !resolved)
        *value = preset != 0 ? preset : (gnn_real_t)initial;
    if (fabs((double)*value) < 1e-30)
        *value = 0;
}

static void fill(const gnn__field_row_t *f, void *place, const void *preset, bool resolved)
{
    switch (f->kind->stored) {
    case GNN__STORED_REAL:
        fill_real(place, *(const gnn_real_t *)preset, f->initial, resolved);
        return;
    case GNN__STORED_COUNT:
        if (*(int64_t *)place == 0)
            *(int64_t *)place =
                *(const int64_t *)preset ? *(const int64_t *)preset : (int64_t)f->initial;
        return;
    case GNN__STORED_WORD:
        if (*(int *)place == 0)
            *(int *)place = *(const int *)preset ? *(const int *)preset : (int)f->initial;
        return;
    case GNN__STORED_ROW:
        if (!*(const void **)place)
            *(const void **)place = *(const void *const *)preset;
        return;
    case GNN__STORED_LIST: return; /* options have the initial values of their entry */
    }
}

static void fill_fields(gnn_layer_config_t *c, const gnn__preset_row_t *p)
{
    const gnn__field_row_t *f;
    for (size_t k = 0; (f = gnn__config_field(k)); k++)
        fill(f, (char *)c + f->offset, gnn__field_place(f, &p->config), c->resolved == GNN_ON);
}

/* The rates that a preset names are .dropout unless they are set. */
static void fill_dropouts(gnn_layer_config_t *c, unsigned which)
{
    gnn_real_t *const rates[] = {&c->dropout_in, &c->dropout_attention, &c->dropout_message,
                                 &c->dropout_out};
    for (unsigned k = 0; k < 4; k++)
        if (*rates[k] == 0 && (which >> k & 1) && c->resolved != GNN_ON)
            *rates[k] = c->dropout;
}

/* A preset's score goes with its aggregator: where the config has another without scores, there is
 * none. `given`: the program has set one itself. */
static void fill_score(gnn_layer_config_t *c, bool given)
{
    if (gnn__scored(c) && !c->score)
        c->score = &gnn_score_dot;
    if (!gnn__scored(c) && !given)
        c->score = NULL;
}

/* Options have the initial values of their entry. */
static void fill_options(double *given, const gnn_option_t *options, size_t n_options)
{
    for (size_t k = 0; k < GNN_ROW_OPTIONS && k < n_options; k++)
        if (given[k] == 0)
            given[k] = options[k].initial;
}

static void fill_rows(gnn_layer_config_t *c)
{
    /* TransformerConv adds projected edge features to keys and values alike. */
    if (c->edge_dim > 0 && gnn__scores_keys(c->score) &&
        !(c->score->flags & GNN_SCORE_KEY_IS_MESSAGE) && c->message->projects &&
        gnn__message_is_sender(c->message))
        c->message = &gnn_message_linear_edge;
    fill_options(c->options, c->aggregator->options, c->aggregator->n_options);
    if (c->score)
        fill_options(c->score_options, c->score->options, c->score->n_options);
}

static int check_fields(const gnn_layer_config_t *c)
{
    const gnn__field_row_t *f;
    for (size_t k = 0; (f = gnn__config_field(k)); k++)
        GNN_TRY(gnn__config_check(f, c));
    for (size_t p = 0; p < sizeof c->priors / sizeof *c->priors; p++)
        GNN_TRY(gnn__check_flag(c->priors[p].given, "config field .priors[].given"));
    return gnn__check_flag(c->resolved, "config field .resolved");
}

static int check_shared_heads(const char *what, int64_t heads, int64_t shared)
{
    if (heads % shared == 0)
        return GNN_OK;
    return gnn__error(GNN_ESHAPE, "%lld heads cannot share %lld %s heads: %lld does not divide %lld",
                      (long long)heads, (long long)shared, what, (long long)shared, (long long)heads);
}

/* Widths of heads: out, or out / heads if an output product mixes them. */
static int fill_heads(gnn_layer_config_t *c)
{
    c->key_heads = c->key_heads ? c->key_heads : c->heads;
    c->value_heads = c->value_heads ? c->value_heads : c->heads;
    if (!gnn__scored(c)) {
        if (c->heads > 1)
            return gnn__error(
                GNN_EINVALID,
                "config field .heads = %lld needs an attention aggregator; %s has no heads",
                (long long)c->heads, c->aggregator->name);
        return GNN_OK;
    }
    GNN_TRY(check_shared_heads("key", c->heads, c->key_heads));
    GNN_TRY(check_shared_heads("value", c->heads, c->value_heads));
    if (c->key_heads != c->heads && gnn__scores_heads(c->score))
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s scores have one key per head: .key_heads = %lld must equal .heads = %lld",
                          c->score->name, (long long)c->key_heads, (long long)c->heads);
    const bool mixed = c->update->rules->mixes_heads;
    if (mixed && (!c->d_k || !c->d_v) && c->out % c->heads)
        return gnn__error(GNN_ESHAPE, "%lld heads do not divide %lld output features",
                          (long long)c->heads, (long long)c->out);
    int64_t head = mixed ? c->out / c->heads : c->out;
    if (!c->message->projects) {
        if (c->in % c->value_heads)
            return gnn__error(
                GNN_ESHAPE, "message %s is the raw row: %lld heads do not divide %lld input features",
                c->message->name, (long long)c->value_heads, (long long)c->in);
        c->d_v = c->in / c->value_heads;
    }
    if (!c->d_v)
        c->d_v = head;
    if (!c->d_k)
        c->d_k = c->d_v;
    return GNN_OK;
}

/* `scaled`: .scale is set, to GNN_ZERO too, which is 0 by now. */
static int fill_sizes(gnn_layer_config_t *c, bool scaled)
{
    if (!c->in_dst)
        c->in_dst = c->in;
    if (!c->out)
        c->out = c->in;
    GNN_TRY(fill_heads(c));
    if (!c->hidden)
        c->hidden = c->out;
    if (!c->feed_forward)
        GNN_TRY(gnn__mul(4, c->out, &c->feed_forward)
                    ? GNN_OK
                    : gnn__error(GNN_EOVERFLOW, "feed-forward width of %lld outputs",
                                 (long long)c->out));
    if (!scaled)
        c->scale = (gnn_real_t)(1.0 / sqrt((double)(c->d_k ? c->d_k : 1)));
    return GNN_OK;
}

/* Combinations that are not supported. */
static int check_combination(const gnn_layer_config_t *c)
{
    gnn__widths_t w;
    gnn__layer_widths(c, &w);
    if (c->edge_dim > 0 && c->message->edge_parts == 0 && !gnn__scored(c))
        return gnn__error(
            GNN_EUNSUPPORTED,
            "neither message %s nor aggregator %s reads edge features, but .edge_dim = %lld",
            c->message->name, c->aggregator->name, (long long)c->edge_dim);
    if (c->share_weights == GNN_ON && c->in_dst != c->in)
        return gnn__error(
            GNN_ESHAPE,
            "shared weights need equal widths: receivers have %lld features, senders %lld",
            (long long)c->in_dst, (long long)c->in);
    if (c->share_weights == GNN_ON && c->key_heads != c->heads)
        return gnn__error(GNN_ESHAPE, "shared weights need %lld keys, got .key_heads = %lld",
                          (long long)c->heads, (long long)c->key_heads);
    if (c->edge_dim > 0 && gnn__scored(c) && w.edge != c->key_heads * c->d_k)
        return gnn__error(
            GNN_ESHAPE,
            "edge features are projected once for messages (%lld columns) and keys (%lld)",
            (long long)w.edge, (long long)(c->key_heads * c->d_k));
    if (gnn__weighs_loops(c) && c->graph_norm == GNN_GRAPH_NORM_NONE)
        return gnn__error(GNN_EUNSUPPORTED,
                          "config field .loop_weight = %g needs a norm of the graph by degrees",
                          (double)c->loop_weight);
    if (c->update->rules->check)
        GNN_TRY(c->update->rules->check(c, &w));
    const int64_t out = gnn__update_width(c, w.aggregate);
    if (c->residual == GNN_ON && out != c->in_dst)
        return gnn__error(GNN_ESHAPE, "a residual adds x_i (%lld features) to %lld output features",
                          (long long)c->in_dst, (long long)out);
    return gnn__scores_check(c);
}

int64_t gnn_layer_width(const gnn_layer_t *layer)
{
    GNN__NEED_OR(layer, 0);
    return gnn__update_width(layer->config, layer->width.aggregate);
}

int gnn__config_resolve(gnn_layer_config_t *c)
{
    GNN_TRY(check_fields(c));
    const gnn__preset_row_t *p = gnn__preset_row(c->preset);
    const bool scaled = c->scale != 0 || c->resolved == GNN_ON;
    const bool score_given = c->score != NULL;
    fill_dropouts(c, p->dropouts);
    fill_fields(c, p);
    fill_score(c, score_given);
    const gnn_aggregate_t how = gnn__scores_settings(c, NULL, NULL);
    GNN_TRY(gnn__check_entries(&how));
    fill_rows(c);
    GNN_TRY(fill_sizes(c, scaled));
    GNN_TRY(check_combination(c));
    c->resolved = GNN_ON;
    return GNN_OK;
}

int gnn_layer_config_resolve(gnn_layer_config_t *resolved, const gnn_layer_config_t *config)
{
    GNN__NEED(resolved);
    GNN__NEED(config);
    gnn_layer_config_t full = *config;
    GNN_TRY(gnn__config_resolve(&full));
    *resolved = full;
    return GNN_OK;
}
