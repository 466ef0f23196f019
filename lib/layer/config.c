/* Resolving a config: preset, then defaults, then checks. Zero means "the preset's choice". */
#include <lib/layer/update.h>

#include <math.h>

enum { DROP_IN = 1, DROP_ATTENTION = 2, DROP_MESSAGE = 4, DROP_OUT = 8 };

static const gnn__preset_t presets[] = {
    [GNN_PRESET_NONE] =
        {"none", "", "linear", "sum", DROP_IN | DROP_ATTENTION, {.update = GNN_UPDATE_NONE}},
#define GNN_PRESET(id, name, paper, message, aggregator, dropouts, ...) \
    [GNN_PRESET_##id] = {name, paper, message, aggregator, dropouts, {__VA_ARGS__}},
#include <lib/layer/presets.def>
#undef GNN_PRESET
};

const gnn__preset_t *gnn__preset(gnn_preset_t preset)
{
    return preset >= GNN_PRESET_NONE && preset < GNN_PRESET_COUNT ? &presets[preset] : NULL;
}

const char *gnn_preset_name(gnn_preset_t preset)
{
    return preset > GNN_PRESET_NONE && preset < GNN_PRESET_COUNT ? presets[preset].name : NULL;
}

gnn_preset_t gnn_preset_find(const char *name)
{
    for (gnn_preset_t p = GNN_PRESET_NONE + 1; p < GNN_PRESET_COUNT; p++)
        if (strcmp(name, presets[p].name) == 0)
            return p;
    return GNN_PRESET_NONE;
}

/* Takes the preset's value where the user left 0, else the library's default. */
#define FILL(field, fallback)                                          \
    do {                                                               \
        if (!c->field)                                                 \
            c->field = p->config.field ? p->config.field : (fallback); \
    } while (0)
#define FILL_REAL(field, fallback)                                                      \
    do {                                                                                \
        if (c->field == 0)                                                              \
            c->field = p->config.field != 0 ? p->config.field : (gnn_real_t)(fallback); \
        if (fabs((double)c->field) < 1e-30)                                             \
            c->field = 0;                                                               \
    } while (0)

static void fill_choices(gnn_layer_config_t *c, const gnn__preset_t *p)
{
    FILL(update, GNN_UPDATE_NONE);
    FILL(self_loops, GNN_OFF);
    FILL(graph_norm, GNN_GRAPH_NORM_NONE);
    FILL(combine, GNN_HEADS_CONCAT);
    FILL(share_weights, GNN_OFF);
    FILL(self_term, GNN_OFF);
    FILL(learn_eps, GNN_OFF);
    FILL(bias_project, GNN_OFF);
    FILL(bias_out, GNN_ON);
    FILL(bias_update, GNN_ON);
    FILL(activation, GNN_IDENTITY);
    FILL(hidden_activation, GNN_RELU);
    FILL(residual, GNN_OFF);
    FILL(norm, GNN_NORM_NONE);
    FILL(norm_position, GNN_NORM_AFTER);
    FILL_REAL(norm_eps, 1e-5);
    FILL_REAL(slope, 0.2);
    FILL_REAL(eps, 0);
}

static void fill_dropouts(gnn_layer_config_t *c, unsigned which)
{
    gnn_real_t *const rates[] = {&c->dropout_in, &c->dropout_attention, &c->dropout_message,
                                 &c->dropout_out};
    for (unsigned k = 0; k < 4; k++) {
        if (*rates[k] == 0 && (which >> k & 1))
            *rates[k] = c->dropout;
        if (fabs((double)*rates[k]) < 1e-30)
            *rates[k] = 0;
    }
}

static void fill_rows(gnn_layer_config_t *c, const gnn__preset_t *p)
{
    if (!c->message)
        c->message = gnn_message_find(p->message);
    if (!c->aggregator)
        c->aggregator = gnn_aggregator_find(p->aggregator);
    /* TransformerConv adds projected edge features to keys and values alike. */
    if (c->edge_dim > 0 && gnn__scored(c) && c->aggregator->score_width == GNN_SCORE_PER_KEY &&
        !c->aggregator->parameters_per_key && c->message->projects && c->message->is_sender)
        c->message = gnn_message_find("linear_edge");
    for (size_t k = 0; k < 4 && k < c->aggregator->n_options; k++)
        if (c->options[k] == 0)
            c->options[k] = c->aggregator->options[k].initial;
}

static int check_range(const char *field, int64_t value, int64_t low, int64_t high)
{
    if (value < low || value > high)
        return gnn__error(GNN_EINVALID, "config field .%s = %lld lies outside %lld..%lld", field,
                          (long long)value, (long long)low, (long long)high);
    return GNN_OK;
}

static int check_rate(const char *field, gnn_real_t rate)
{
    if (!(rate >= 0 && rate < 1))
        return gnn__error(GNN_EINVALID, "config field .%s = %g lies outside [0, 1)", field,
                          (double)rate);
    return GNN_OK;
}

static int check_enums(const gnn_layer_config_t *c)
{
    GNN_TRY(check_range("preset", c->preset, GNN_PRESET_NONE, GNN_PRESET_COUNT - 1));
    GNN_TRY(check_range("combine", c->combine, 0, GNN_HEADS_AVERAGE));
    GNN_TRY(check_range("activation", c->activation, 0, GNN_SOFTPLUS));
    GNN_TRY(check_range("hidden_activation", c->hidden_activation, 0, GNN_SOFTPLUS));
    GNN_TRY(check_range("norm", c->norm, 0, GNN_NORM_RMS));
    GNN_TRY(check_range("norm_position", c->norm_position, 0, GNN_NORM_BEFORE));
    GNN_TRY(check_range("graph_norm", c->graph_norm, 0, GNN_GRAPH_NORM_ROW));
    GNN_TRY(check_range("distance", c->distance, 0, GNN_DISTANCE_TABLE));
    GNN_TRY(check_rate("dropout", c->dropout));
    GNN_TRY(check_rate("dropout_in", c->dropout_in));
    GNN_TRY(check_rate("dropout_attention", c->dropout_attention));
    GNN_TRY(check_rate("dropout_message", c->dropout_message));
    return check_rate("dropout_out", c->dropout_out);
}

static int check_sizes(const gnn_layer_config_t *c)
{
    const int64_t most = INT32_MAX;
    GNN_TRY(check_range("in", c->in, 1, most));
    GNN_TRY(check_range("in_dst", c->in_dst, 0, most));
    GNN_TRY(check_range("out", c->out, 0, most));
    GNN_TRY(check_range("heads", c->heads, 0, 4096));
    GNN_TRY(check_range("kv_heads", c->kv_heads, 0, 4096));
    GNN_TRY(check_range("d_k", c->d_k, 0, most));
    GNN_TRY(check_range("d_v", c->d_v, 0, most));
    GNN_TRY(check_range("edge_dim", c->edge_dim, 0, most));
    GNN_TRY(check_range("hidden", c->hidden, 0, most));
    return check_range("feed_forward", c->feed_forward, 0, most);
}

/* Widths of heads: out of one head, or out / heads where an output product mixes them. */
static int fill_heads(gnn_layer_config_t *c)
{
    if (!c->heads)
        c->heads = 1;
    if (!c->kv_heads)
        c->kv_heads = c->heads;
    if (!gnn__scored(c)) {
        if (c->heads > 1)
            return gnn__error(
                GNN_EINVALID,
                "config field .heads = %lld needs an attention aggregator; %s has no heads",
                (long long)c->heads, c->aggregator->name);
        return GNN_OK;
    }
    if (c->heads % c->kv_heads)
        return gnn__error(GNN_ESHAPE,
                          "%lld heads cannot share %lld key/value heads: %lld does not divide %lld",
                          (long long)c->heads, (long long)c->kv_heads, (long long)c->kv_heads,
                          (long long)c->heads);
    if (c->kv_heads != c->heads && c->aggregator->score_width == GNN_SCORE_PER_HEAD)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s scores have one key per head: .kv_heads = %lld must equal .heads = %lld",
                          c->aggregator->name, (long long)c->kv_heads, (long long)c->heads);
    const bool mixed = c->update->rules->mixes_heads;
    if (mixed && (!c->d_k || !c->d_v) && c->out % c->heads)
        return gnn__error(GNN_ESHAPE, "%lld heads do not divide %lld output features",
                          (long long)c->heads, (long long)c->out);
    int64_t head = mixed ? c->out / c->heads : c->out;
    if (!c->message->projects) {
        if (c->in % c->kv_heads)
            return gnn__error(
                GNN_ESHAPE, "message %s is the raw row: %lld heads do not divide %lld input features",
                c->message->name, (long long)c->kv_heads, (long long)c->in);
        c->d_v = c->in / c->kv_heads;
    }
    if (!c->d_v)
        c->d_v = head;
    if (!c->d_k)
        c->d_k = c->d_v;
    return GNN_OK;
}

static int fill_sizes(gnn_layer_config_t *c)
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
    if (c->scale == 0)
        c->scale = (gnn_real_t)(1.0 / sqrt((double)(c->d_k ? c->d_k : 1)));
    return GNN_OK;
}

/* Combinations that make no sense, each with its words. */
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
    if (c->share_weights == GNN_ON && c->kv_heads != c->heads)
        return gnn__error(GNN_ESHAPE, "shared weights need %lld keys, got .kv_heads = %lld",
                          (long long)c->heads, (long long)c->kv_heads);
    if (c->edge_dim > 0 && gnn__scored(c) && w.edge != c->kv_heads * c->d_k)
        return gnn__error(GNN_ESHAPE,
                          "edge features serve messages (%lld numbers) and keys (%lld) alike",
                          (long long)w.edge, (long long)(c->kv_heads * c->d_k));
    if (c->update->rules->check)
        GNN_TRY(c->update->rules->check(c, &w));
    const int64_t out = gnn__update_width(c, w.aggregate);
    if (c->residual == GNN_ON && out != c->in_dst)
        return gnn__error(GNN_ESHAPE, "a residual adds x_i (%lld features) to %lld output features",
                          (long long)c->in_dst, (long long)out);
    if (c->distance != GNN_DISTANCE_NONE && !gnn__scored(c))
        return gnn__error(GNN_EUNSUPPORTED,
                          "a distance bias needs an attention aggregator, %s has no scores",
                          c->aggregator->name);
    if (c->distance == GNN_DISTANCE_TABLE && c->distance_buckets < 1)
        return gnn__error(GNN_EINVALID, "a distance table needs .distance_buckets >= 1, got %lld",
                          (long long)c->distance_buckets);
    return GNN_OK;
}

int64_t gnn_layer_width(const gnn_layer_t *layer)
{
    return gnn__update_width(&layer->config, layer->width.aggregate);
}

int gnn_layer_config_resolve(gnn_layer_config_t *resolved, const gnn_layer_config_t *config)
{
    gnn_layer_config_t filled = *config, *c = &filled;
    GNN_TRY(check_enums(c));
    GNN_TRY(check_sizes(c));
    const gnn__preset_t *p = gnn__preset(c->preset);
    fill_rows(c, p);
    fill_choices(c, p);
    fill_dropouts(c, p->dropouts);
    GNN_TRY(fill_sizes(c));
    GNN_TRY(check_combination(c));
    *resolved = filled;
    return GNN_OK;
}

bool gnn__layer_key_is_message(const gnn_layer_config_t *c)
{
    return c->message->projects && c->message->src_parts == 1 && c->d_k == c->d_v &&
           (c->aggregator->score_width == GNN_SCORE_PER_HEAD || c->aggregator->parameters_per_key);
}

void gnn__layer_widths(const gnn_layer_config_t *c, gnn__widths_t *w)
{
    bool scored = gnn__scored(c), per_head = c->aggregator->score_width == GNN_SCORE_PER_HEAD;
    bool from_message = scored && gnn__layer_key_is_message(c);
    memset(w, 0, sizeof *w);
    w->message = scored                 ? c->kv_heads * c->d_v
                 : c->message->projects ? (c->d_v ? c->d_v : c->out)
                                        : c->in;
    w->key = !scored ? 0 : per_head ? c->heads : c->kv_heads * c->d_k;
    w->query = !scored ? 0 : per_head ? c->heads : c->heads * c->d_k;
    w->own_key = !scored || from_message ? 0 : c->kv_heads * c->d_k;
    w->own_query = !scored || c->share_weights == GNN_ON ? 0 : c->heads * c->d_k;
    w->source_message = c->message->projects ? c->message->src_parts * w->message : 0;
    w->target_message = c->message->projects ? c->message->dst_parts * w->message : 0;
    w->aggregate = !scored                           ? w->message
                   : c->combine == GNN_HEADS_AVERAGE ? c->d_v
                                                     : c->heads * c->d_v;
    w->edge = c->message->edge_parts > 0 ? c->message->edge_parts * w->message
              : scored                   ? c->kv_heads * c->d_k
                                         : 0;
}
