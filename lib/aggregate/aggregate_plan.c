/* The plan of one aggregation: defaults of the shape, the view of the graph, checks of all
 * inputs against the graph, the entries and each other, and the strategy that runs it. */
#include <graphs/halo.h>
#include <lib/aggregate/strategies.h>
#include <lib/aggregate/tables.h>

#include <math.h>

/* ---- checks of inputs; messages name the input and what was expected ---- */

static const char *const names[GNN_AGGREGATE_INPUTS] = {"src_message",
                                                        "dst_message",
                                                        "query",
                                                        "key",
                                                        "edge_features",
                                                        "edge_message_weight",
                                                        "edge_message_bias",
                                                        "edge_key_weight",
                                                        "edge_weight",
                                                        "edge_bias",
                                                        "parameters",
                                                        "message_parameters",
                                                        "score_parameters",
                                                        "weigher_parameters",
                                                        "prior_0",
                                                        "prior_1",
                                                        "prior_2",
                                                        "prior_query",
                                                        "gate",
                                                        "map_parameters"};

/* An input that is given must have this shape. */
static int expect(const gnn__plan_t *plan, int k, int64_t rows, int64_t cols)
{
    const gnn_tensor_t *t = &plan->in[k];
    if (!plan->has[k] || (t->rows == rows && t->cols == cols))
        return GNN_OK;
    return gnn__error(GNN_ESHAPE, "aggregate: %s is %lld x %lld, expected %lld x %lld", names[k],
                      (long long)t->rows, (long long)t->cols, (long long)rows, (long long)cols);
}

static int need(const gnn__plan_t *plan, int k, const char *who)
{
    return plan->has[k] ? GNN_OK : gnn__error(GNN_EINVALID, "aggregate: %s needs %s", who, names[k]);
}

static int refuse(const gnn__plan_t *plan, int k, int code, const char *why)
{
    return plan->has[k] ? gnn__error(code, "aggregate: %s takes no %s", why, names[k]) : GNN_OK;
}

/* Spans store nothing per edge, so they can carry none of the three edge inputs. */
static int check_forms(const gnn__plan_t *plan)
{
    static const int edge_inputs[] = {GNN_AGGREGATE_EDGE_FEATURES, GNN_AGGREGATE_EDGE_WEIGHT,
                                      GNN_AGGREGATE_EDGE_BIAS};
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        if (gnn__pairs_form(&plan->view->parts[p].pairs) == GNN__EDGES)
            continue;
        for (size_t e = 0; e < sizeof edge_inputs / sizeof *edge_inputs; e++)
            if (plan->has[edge_inputs[e]])
                return gnn__error(
                    GNN_EUNSUPPORTED,
                    "aggregate: part %lld of the graph stores spans, which take no %s: see gnn_graph_to_edges",
                    (long long)p, names[edge_inputs[e]]);
    }
    return GNN_OK;
}

static int check_nodes(const gnn__plan_t *plan)
{
    int64_t n_dst = plan->graph->n_dst, n_src = plan->graph->n_src, width = plan->message_width;
    if (plan->message->dst_parts)
        GNN_TRY(need(plan, GNN_AGGREGATE_DST_MESSAGE, plan->message->name));
    else
        GNN_TRY(refuse(plan, GNN_AGGREGATE_DST_MESSAGE, GNN_EINVALID, plan->message->name));
    GNN_TRY(expect(plan, GNN_AGGREGATE_SRC_MESSAGE, n_src, plan->message->src_parts * width));
    GNN_TRY(expect(plan, GNN_AGGREGATE_DST_MESSAGE, n_dst, plan->message->dst_parts * width));
    GNN_TRY(expect(plan, GNN_AGGREGATE_QUERY, n_dst, plan->query_width));
    GNN_TRY(expect(plan, GNN_AGGREGATE_KEY, n_src, plan->key_width));
    return expect(plan, GNN_AGGREGATE_GATE, n_dst, plan->shape.heads);
}

/* Inputs and settings that need an aggregator with scores. */
static int check_scored(const gnn__plan_t *plan)
{
    static const int score_inputs[] = {GNN_AGGREGATE_QUERY,
                                       GNN_AGGREGATE_KEY,
                                       GNN_AGGREGATE_EDGE_KEY_WEIGHT,
                                       GNN_AGGREGATE_EDGE_BIAS,
                                       GNN_AGGREGATE_SCORE_PARAMETERS,
                                       GNN_AGGREGATE_WEIGHER_PARAMETERS,
                                       GNN_AGGREGATE_PRIOR_0,
                                       GNN_AGGREGATE_PRIOR_1,
                                       GNN_AGGREGATE_PRIOR_2,
                                       GNN_AGGREGATE_PRIOR_QUERY,
                                       GNN_AGGREGATE_MAP_PARAMETERS};
    const char *const name = plan->aggregator->name;
    if (plan->scored)
        return GNN_OK;
    for (size_t k = 0; k < sizeof score_inputs / sizeof *score_inputs; k++)
        GNN_TRY(refuse(plan, score_inputs[k], GNN_EUNSUPPORTED, name));
    if (plan->how->edge_weights_out || plan->how->segment_weights_out)
        return gnn__error(
            GNN_EUNSUPPORTED,
            "aggregate: %s computes no attention weights for .edge_weights_out or .segment_weights_out, expected an aggregator with scores",
            name);
    const char *const what = plan->how->score          ? "score"
                             : plan->has_priors        ? "prior"
                             : plan->map               ? "map"
                             : plan->how->weigher      ? "weigher"
                             : plan->shape.softcap > 0 ? "softcap"
                                                       : NULL;
    if (what)
        return gnn__error(GNN_EUNSUPPORTED, "aggregate: %s has no scores, so it takes no %s", name,
                          what);
    return GNN_OK;
}

static int check_projections(gnn__plan_t *plan)
{
    const int64_t edge_width = plan->message->edge_parts * plan->message_width;
    plan->d_e =
        plan->has[GNN_AGGREGATE_EDGE_FEATURES] ? plan->in[GNN_AGGREGATE_EDGE_FEATURES].cols : 0;
    for (int k = GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT; k <= GNN_AGGREGATE_EDGE_KEY_WEIGHT; k++) {
        if (k != GNN_AGGREGATE_EDGE_MESSAGE_BIAS && plan->has[k])
            GNN_TRY(need(plan, GNN_AGGREGATE_EDGE_FEATURES, names[k]));
        if (k != GNN_AGGREGATE_EDGE_KEY_WEIGHT && plan->message->edge_parts == 0)
            GNN_TRY(refuse(plan, k, GNN_EINVALID, plan->message->name));
    }
    if (!gnn__has_loop_features(plan))
        GNN_TRY(expect(plan, GNN_AGGREGATE_EDGE_FEATURES, plan->graph->n_edges, plan->d_e));
    GNN_TRY(expect(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, plan->d_e, edge_width));
    GNN_TRY(expect(plan, GNN_AGGREGATE_EDGE_MESSAGE_BIAS, 1, edge_width));
    GNN_TRY(expect(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT, plan->d_e, plan->key_width));
    plan->edge_message = plan->has[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT];
    plan->edge_key = plan->has[GNN_AGGREGATE_EDGE_KEY_WEIGHT];
    plan->edge_width =
        plan->edge_message || plan->has[GNN_AGGREGATE_EDGE_MESSAGE_BIAS] ? edge_width : 0;
    if (plan->has[GNN_AGGREGATE_EDGE_FEATURES] && !plan->edge_message && !plan->edge_key)
        return gnn__error(GNN_EINVALID,
                          "aggregate: edge_features need edge_message_weight or edge_key_weight");
    return GNN_OK;
}

static int check_edges(const gnn__plan_t *plan)
{
    const int64_t m = plan->graph->n_edges;
    if (plan->in[GNN_AGGREGATE_EDGE_WEIGHT].rows != m + plan->graph->n_dst)
        GNN_TRY(expect(plan, GNN_AGGREGATE_EDGE_WEIGHT, m, 1));
    GNN_TRY(expect(plan, GNN_AGGREGATE_EDGE_WEIGHT, plan->in[GNN_AGGREGATE_EDGE_WEIGHT].rows, 1));
    if (plan->in[GNN_AGGREGATE_EDGE_BIAS].cols != plan->shape.heads)
        GNN_TRY(expect(plan, GNN_AGGREGATE_EDGE_BIAS, m, 1));
    return expect(plan, GNN_AGGREGATE_EDGE_BIAS, m, plan->in[GNN_AGGREGATE_EDGE_BIAS].cols);
}

/* The parameters that an entry declares are given, and no others. */
static int check_owned(const gnn__plan_t *plan, const char *row, gnn_row_declare_t *declare,
                       const gnn_aggregate_shape_t *shape, int input)
{
    int64_t rows, cols;
    GNN_TRY(gnn__declared_size(declare, shape, &rows, &cols));
    if (!declare)
        return refuse(plan, input, GNN_EINVALID, row);
    GNN_TRY(need(plan, input, row));
    return expect(plan, input, rows, cols);
}

/* The name in messages of the entry whose rows a prior or a map reads. */
static const char *name_of(const gnn__plan_t *plan)
{
    return plan->score ? plan->score->name : plan->aggregator->name;
}

/* Rows that a map makes wider or narrower are not those that a prior multiplies. */
static int check_wide(const gnn__plan_t *plan, const gnn_prior_t *row)
{
    if (!(row->flags & (GNN_PRIOR_READS_QUERY | GNN_PRIOR_READS_KEY)) || !plan->map ||
        plan->shape.d_k == plan->map_shape.d_k)
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED,
                      "aggregate: prior %s multiplies rows of %lld values, map %s makes %lld of them",
                      row->name, (long long)plan->map_shape.d_k, plan->map->name,
                      (long long)plan->shape.d_k);
}

/* Running sums are taken along segments that receivers and senders share. */
static int check_running(const gnn__plan_t *plan, const gnn_prior_t *row)
{
    const gnn_graph_t *g = plan->graph;
    bool same = g->n_dst == g->n_src;
    for (int64_t s = 0; same && s < g->n_segments; s++)
        same = g->dst_segments[s + 1] == g->src_segments[s + 1];
    return same ? GNN_OK
                : gnn__error(GNN_EUNSUPPORTED,
                             "aggregate: prior %s sums gates along segments, which needs a graph "
                             "whose receivers are its senders",
                             row->name);
}

static int check_prior(const gnn__plan_t *plan, int p)
{
    const gnn_prior_t *row = plan->prior[p];
    const int input = GNN_AGGREGATE_PRIOR_0 + p;
    int64_t rows, cols;
    if (!row)
        return refuse(plan, input, GNN_EINVALID, "an aggregation without this prior");
    if ((row->flags & GNN_PRIOR_READS_QUERY) && !plan->has[GNN_AGGREGATE_PRIOR_QUERY] &&
        !gnn__scores_keys(plan->score))
        return gnn__error(
            GNN_EINVALID,
            "aggregate: prior %s needs prior_query: queries of %s have one value per head",
            row->name, name_of(plan));
    if ((row->flags & GNN_PRIOR_READS_KEY) && !gnn__scores_keys(plan->score))
        return gnn__error(
            GNN_EUNSUPPORTED,
            "aggregate: prior %s multiplies keys of d_k values, %s has one value per head",
            row->name, name_of(plan));
    GNN_TRY(check_wide(plan, row));
    GNN_TRY(gnn__declared_size(row->declare, &plan->prior_shape[p], &rows, &cols));
    GNN_TRY(need(plan, input, row->name));
    if (row->flags & GNN_PRIOR_RUNNING) {
        GNN_TRY(check_running(plan, row));
        rows = plan->graph->n_src;
    }
    if (row->numbers != GNN_PRIOR_SHARED)
        rows = row->numbers == GNN_PRIOR_PER_RECEIVER ? plan->graph->n_dst : plan->graph->n_src;
    return expect(plan, input, rows, cols);
}

static int check_rows(const gnn__plan_t *plan)
{
    bool reads = false;
    GNN_TRY(check_owned(plan, plan->aggregator->name, plan->aggregator->declare, &plan->shape,
                        GNN_AGGREGATE_PARAMETERS));
    GNN_TRY(check_owned(plan, plan->message->name, plan->message->declare, &plan->message_shape,
                        GNN_AGGREGATE_MESSAGE_PARAMETERS));
    if (plan->scored)
        GNN_TRY(check_owned(plan, plan->score->name, plan->score->declare, &plan->score_shape,
                            GNN_AGGREGATE_SCORE_PARAMETERS));
    if (plan->scored)
        GNN_TRY(check_owned(plan, plan->weigher->name, plan->weigher->declare, &plan->weigher_shape,
                            GNN_AGGREGATE_WEIGHER_PARAMETERS));
    for (int p = 0; p < GNN_PRIORS; p++) {
        GNN_TRY(check_prior(plan, p));
        reads |= plan->prior[p] && (plan->prior[p]->flags & GNN_PRIOR_READS_QUERY);
    }
    if (!reads)
        return refuse(plan, GNN_AGGREGATE_PRIOR_QUERY, GNN_EINVALID,
                      "an aggregation without a prior that reads queries");
    return expect(plan, GNN_AGGREGATE_PRIOR_QUERY, plan->graph->n_dst,
                  plan->shape.heads * plan->shape.d_k);
}

/* The map was checked before its width was asked for. */
static int check_map(const gnn__plan_t *plan)
{
    if (!plan->map)
        return refuse(plan, GNN_AGGREGATE_MAP_PARAMETERS, GNN_EINVALID,
                      "an aggregation without a map");
    if (plan->edge_key && plan->shape.d_k != plan->map_shape.d_k)
        return gnn__error(GNN_EUNSUPPORTED,
                          "aggregate: map %s makes rows of another width, which takes no %s",
                          plan->map->name, names[GNN_AGGREGATE_EDGE_KEY_WEIGHT]);
    return check_owned(plan, plan->map->name, plan->map->declare, &plan->map_shape,
                       GNN_AGGREGATE_MAP_PARAMETERS);
}

static int check_weights_out(const gnn__plan_t *plan)
{
    const gnn_tensor_t *t = plan->how->edge_weights_out;
    if (t && (t->rows != plan->graph->n_edges || t->cols != plan->shape.heads))
        return gnn__error(GNN_ESHAPE,
                          "aggregate: edge_weights_out is %lld x %lld, expected %lld x %lld",
                          (long long)t->rows, (long long)t->cols, (long long)plan->graph->n_edges,
                          (long long)plan->shape.heads);
    if (plan->how->segment_weights_out && plan->graph->n_segments == 0)
        return gnn__error(GNN_EUNSUPPORTED,
                          "aggregate: weights per segment need a graph with segments");
    return GNN_OK;
}

static int check_inputs(gnn__plan_t *plan)
{
    GNN_TRY(check_forms(plan));
    GNN_TRY(check_scored(plan));
    GNN_TRY(check_nodes(plan));
    GNN_TRY(check_projections(plan));
    GNN_TRY(check_edges(plan));
    GNN_TRY(check_rows(plan));
    GNN_TRY(check_map(plan));
    return check_weights_out(plan);
}

/* ---- the list of strategies ---- */

/* Best first: a new one goes before the first that is slower than it; the last takes every
 * call. Attention's are explained at the top of lib/kernels/attention/attention.h. */
static const gnn__strategy_t *const strategies[] = {
    &gnn__strategy_sum,       /* sum and mean of senders' rows */
    &gnn__strategy_extreme,   /* max and min of senders' rows on one list of edges */
    &gnn__strategy_by_lane,   /* attention with few heads on edges */
    &gnn__strategy_attention, /* attention by tiles and by rows */
    &gnn__strategy_aligned,   /* the same, on copies of its inputs */
    &gnn__strategy_linear,    /* linear attention on spans */
    &gnn__strategy_by_strip,  /* other weighers and priors on spans */
    &gnn__strategy_reference, /* everything */
};

/* The first that takes the call. */
static const gnn__strategy_t *strategy_of(const gnn__plan_t *plan)
{
    const bool loops = gnn__has_loop_features(plan);
    size_t k = 0;
    const bool ranks = plan->graph->wide_of != NULL;
    while ((loops && !strategies[k]->loop_features) ||
           (ranks && !gnn__runs_over_ranks(strategies[k], plan)) || !strategies[k]->takes(plan))
        k++;
    return strategies[k];
}

/* Sums of earlier rows are those of linear attention. */
static int check_sums(const gnn__plan_t *plan)
{
    if (plan->recording)
        return gnn__error(GNN_EUNSUPPORTED, "aggregate: sums of earlier rows have no gradient");
    if (!plan->strategy->continues_sums)
        return gnn__error(GNN_EUNSUPPORTED,
                          "aggregate: sums of earlier rows need linear attention over spans");
    return GNN_OK;
}

/* ---- the plan ---- */

static gnn_tensor_t window(gnn_tensor_t t, int64_t rows, int64_t cols)
{
    t.rows = rows;
    t.cols = cols;
    t.stride = t.stride ? t.stride : cols;
    return t;
}

static int read_operands(gnn__plan_t *plan, const gnn_op_call_t *call)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS && k < call->n_in; k++) {
        const gnn_operand_t *operand = &call->in[k];
        if (!operand->present)
            continue;
        if (operand->sparse || operand->ids)
            return gnn__error(GNN_EUNSUPPORTED, "aggregate: input %d must be dense", k);
        plan->has[k] = true;
        plan->in[k] = window(operand->value, operand->rows, operand->cols);
        plan->d[k] = window(operand->grad, operand->rows, operand->cols);
        plan->d_added[k] = operand->accumulate != 0;
    }
    plan->out = window(call->out[0].value, call->out[0].rows, call->out[0].cols);
    plan->d_out = window(call->out[0].grad, call->out[0].rows, call->out[0].cols);
    return GNN_OK;
}

/* Width of a message, from the first input that has it. */
static int find_message_width(gnn__plan_t *plan, int64_t *width)
{
    const gnn_message_t *m = plan->message;
    int k = m->src_parts ? GNN_AGGREGATE_SRC_MESSAGE : GNN_AGGREGATE_DST_MESSAGE;
    int parts = m->src_parts ? m->src_parts : m->dst_parts;
    if (parts == 0 || !plan->has[k])
        return gnn__error(GNN_EINVALID, "aggregate: message %s needs %s", m->name,
                          k == GNN_AGGREGATE_SRC_MESSAGE ? "src_message" : "dst_message");
    if (plan->in[k].cols % parts != 0)
        return gnn__error(GNN_ESHAPE,
                          "aggregate: message %s expects %d equal parts per row, got %lld columns",
                          m->name, parts, (long long)plan->in[k].cols);
    *width = plan->in[k].cols / parts;
    return GNN_OK;
}

/* Heads of keys or values divide those of queries. */
static int resolve_shared_heads(const char *what, int64_t heads, int64_t *shared)
{
    *shared = *shared ? *shared : heads;
    return heads % *shared == 0
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "aggregate: %lld %s heads do not divide %lld heads",
                            (long long)*shared, what, (long long)heads);
}

static int resolve_heads(gnn__plan_t *plan)
{
    gnn_aggregate_shape_t *s = &plan->shape;
    const int64_t given[] = {s->heads, s->key_heads, s->value_heads, s->d_k, s->d_v};
    for (size_t k = 0; k < sizeof given / sizeof *given; k++)
        if (given[k] < 0 || given[k] > INT32_MAX)
            return gnn__error(GNN_EINVALID, "aggregate: heads and widths lie in 0..%d, got %lld",
                              INT32_MAX, (long long)given[k]);
    s->heads = s->heads ? s->heads : 1;
    GNN_TRY(resolve_shared_heads("key", s->heads, &s->key_heads));
    GNN_TRY(resolve_shared_heads("value", s->heads, &s->value_heads));
    if (!plan->scored && s->heads != 1)
        return gnn__error(GNN_EINVALID, "aggregate: %s has no scores, so heads must be 1, got %lld",
                          plan->aggregator->name, (long long)s->heads);
    return GNN_OK;
}

static int resolve_widths(gnn__plan_t *plan)
{
    gnn_aggregate_shape_t *s = &plan->shape;
    int64_t width = 0;
    GNN_TRY(resolve_heads(plan));
    GNN_TRY(find_message_width(plan, &width));
    plan->message_width = s->message_width = width;
    if (!gnn__splits(width, s->value_heads) || (width == 0 && s->heads > 1))
        return gnn__error(GNN_ESHAPE,
                          "aggregate: messages of width %lld cannot be split into %lld heads",
                          (long long)width, (long long)(width > 0 ? s->value_heads : s->heads));
    int64_t d_v = width / s->value_heads;
    if (s->d_v != 0 && s->d_v != d_v)
        return gnn__error(
            GNN_ESHAPE,
            "aggregate: d_v is %lld, but messages of width %lld with %lld heads give %lld",
            (long long)s->d_v, (long long)width, (long long)s->value_heads, (long long)d_v);
    s->d_v = d_v;
    if (!gnn__mul(s->heads, d_v, &plan->out_width))
        return gnn__error(GNN_EOVERFLOW, "aggregate: %lld heads of width %lld do not fit",
                          (long long)s->heads, (long long)d_v);
    if (s->width != 0 && s->width != plan->out_width)
        return gnn__error(GNN_ESHAPE, "aggregate: width is %lld, the inputs give %lld",
                          (long long)s->width, (long long)plan->out_width);
    s->width = plan->out_width;
    return GNN_OK;
}

static int resolve_scores(gnn__plan_t *plan)
{
    gnn_aggregate_shape_t *s = &plan->shape;
    plan->query_width = plan->key_width = 0;
    if (!plan->scored) {
        s->d_k = s->d_k ? s->d_k : s->d_v;
        return GNN_OK;
    }
    for (int k = GNN_AGGREGATE_QUERY; k <= GNN_AGGREGATE_KEY; k++)
        if (!plan->has[k])
            return gnn__error(GNN_EINVALID, "aggregate: aggregator %s needs %s",
                              plan->aggregator->name, k == GNN_AGGREGATE_QUERY ? "query" : "key");
    int64_t cols = plan->in[GNN_AGGREGATE_QUERY].cols;
    if (gnn__scores_keys(plan->score)) {
        if (cols % s->heads != 0 || (s->d_k != 0 && s->d_k != cols / s->heads))
            return gnn__error(GNN_ESHAPE,
                              "aggregate: query has %lld columns, expected %lld heads of width %lld",
                              (long long)cols, (long long)s->heads, (long long)s->d_k);
        s->d_k = cols / s->heads;
        plan->query_width = cols;
        plan->key_width = s->key_heads * s->d_k;
    } else {
        s->d_k = s->d_k ? s->d_k : s->d_v;
        plan->query_width = plan->key_width = s->heads;
    }
    s->scale = (gnn_real_t)gnn__setting(s->scale, s->d_k > 0 ? 1 / sqrt((double)s->d_k) : 1);
    s->slope = (gnn_real_t)gnn__setting(s->slope, 0.2);
    return GNN_OK;
}

/* Settings of attention other than its score: weigher, map, priors. */
static int resolve_rows(gnn__plan_t *plan)
{
    const gnn_aggregate_t *how = plan->how;
    plan->weigher = how->weigher ? how->weigher : &gnn_weigher_softmax;
    plan->map = how->map && how->map->apply ? how->map : NULL;
    plan->by_distance = (plan->message->flags & GNN_MESSAGE_READS_DISTANCE) != 0;
    for (int p = 0; p < GNN_PRIORS; p++) {
        plan->prior[p] = how->priors[p].row;
        plan->has_priors |= plan->prior[p] != NULL;
        plan->by_distance |= plan->prior[p] && (plan->prior[p]->flags & GNN_PRIOR_READS_DISTANCE);
    }
    if (!(plan->shape.softcap >= 0 && isfinite((double)plan->shape.softcap)))
        return gnn__error(GNN_EINVALID, "aggregate: softcap must be 0 or above, got %g",
                          (double)plan->shape.softcap);
    return GNN_OK;
}

/* Sizes for one entry, with its own options and parameters. */
static int resolve_shape(const gnn__plan_t *plan, const char *name, const gnn_option_t *options,
                         size_t n_options, const double *given, int input,
                         gnn_aggregate_shape_t *shape)
{
    double resolved[GNN_ROW_OPTIONS];
    GNN_TRY(gnn__resolve_options(name, options, n_options, given, resolved));
    *shape = plan->shape;
    memcpy(shape->options, resolved, sizeof resolved);
    shape->parameters = input < 0 ? (gnn_tensor_t){0} : plan->in[input];
    return GNN_OK;
}

/* The value of the option `part` of a prior, where it has one. */
static int resolve_part(gnn__plan_t *plan, int p)
{
    const gnn_prior_t *row = plan->prior[p];
    const int64_t parts = plan->graph->base.n_parts;
    plan->prior_part[p] = 0;
    for (size_t k = 0; k < row->n_options; k++)
        if (strcmp(row->options[k].name, "part") == 0)
            plan->prior_part[p] = (int64_t)plan->prior_shape[p].options[k];
    if (plan->prior_part[p] > parts)
        return gnn__error(GNN_EINVALID,
                          "aggregate: prior %s is of part %lld, expected 1 to %lld of the graph, or 0",
                          row->name, (long long)plan->prior_part[p], (long long)parts);
    return GNN_OK;
}

/* From here on d_k is the width after the map. */
static int resolve_map(gnn__plan_t *plan)
{
    const gnn_map_t *map = plan->how->map;
    if (!map || !plan->scored)
        return GNN_OK;
    GNN_TRY(resolve_shape(plan, map->name, map->options, map->n_options, plan->how->map_options,
                          GNN_AGGREGATE_MAP_PARAMETERS, &plan->map_shape));
    if (!plan->map)
        return GNN_OK;
    const int rc = gnn__check_map(map, plan->score, &plan->map_shape);
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "aggregate");
    plan->shape.d_k = gnn__map_width(map, &plan->map_shape);
    return GNN_OK;
}

/* Options of entries that are absent. An absent weigher or score of attention has a default, whose
 * options are checked. */
static int check_absent(const gnn__plan_t *plan)
{
    const gnn_aggregate_t *how = plan->how;
    if (!how->map)
        GNN_TRY(gnn__options_without("aggregate: map_options", "map", how->map_options));
    if (!plan->scored && !how->score)
        GNN_TRY(gnn__options_without("aggregate: score_options", "score", how->score_options));
    for (int p = 0; p < GNN_PRIORS; p++) {
        char field[48];
        snprintf(field, sizeof field, "aggregate: priors[%d].options", p);
        if (!how->priors[p].row)
            GNN_TRY(gnn__options_without(field, "prior", how->priors[p].options));
    }
    return GNN_OK;
}

/* The aggregator's own comes last: the others are copies of it. */
static int resolve_shapes(gnn__plan_t *plan)
{
    const gnn_aggregate_t *how = plan->how;
    const gnn_message_t *m = plan->message;
    const gnn_weigher_t *w = plan->weigher;
    const gnn_aggregator_t *a = plan->aggregator;
    GNN_TRY(check_absent(plan));
    GNN_TRY(resolve_map(plan));
    GNN_TRY(resolve_shape(plan, m->name, m->options, m->n_options, how->message_options,
                          GNN_AGGREGATE_MESSAGE_PARAMETERS, &plan->message_shape));
    GNN_TRY(resolve_shape(plan, w->name, w->options, w->n_options, how->weigher_options,
                          GNN_AGGREGATE_WEIGHER_PARAMETERS, &plan->weigher_shape));
    if (plan->score)
        GNN_TRY(resolve_shape(plan, plan->score->name, plan->score->options, plan->score->n_options,
                              how->score_options, GNN_AGGREGATE_SCORE_PARAMETERS, &plan->score_shape));
    for (int p = 0; p < GNN_PRIORS; p++)
        if (plan->prior[p]) {
            GNN_TRY(resolve_shape(plan, plan->prior[p]->name, plan->prior[p]->options,
                                  plan->prior[p]->n_options, how->priors[p].options,
                                  GNN_AGGREGATE_PRIOR_0 + p, &plan->prior_shape[p]));
            GNN_TRY(resolve_part(plan, p));
        }
    return resolve_shape(plan, a->name, a->options, a->n_options, how->shape.options,
                         GNN_AGGREGATE_PARAMETERS, &plan->shape);
}

static void take_finish(gnn__plan_t *plan, const gnn_op_call_t *call)
{
    const gnn__finish_t *finish = gnn__op_finish(call);
    const gnn_rng_t rng = {call->rng.seed, call->rng.step, finish->stream, call->rng.row};
    if (finish->summand)
        plan->summand = window(finish->summand->value, call->out[0].rows, call->out[0].cols);
    plan->finishes = finish->bias != NULL;
    plan->bias = finish->bias ? finish->bias->value.data : NULL;
    plan->f = finish->f;
    if (plan->f.rate > 0)
        plan->last_dropout = gnn__dropout(rng, plan->f.rate);
}

int gnn__plan(gnn__plan_t *plan, const gnn_op_call_t *call)
{
    const gnn_aggregate_t *how = call->attributes;
    memset(plan, 0, sizeof *plan);
    if (!how || !how->aggregator || !how->message || !how->graph)
        return gnn__error(GNN_EINVALID, "aggregate: needs an aggregator, a message and a graph");
    GNN_TRY(gnn__check_entries(how));
    plan->how = how;
    plan->aggregator = how->aggregator;
    plan->message = how->message;
    plan->hints = gnn__hints_of(how);
    plan->graph = how->graph;
    plan->nodes = plan->graph->wide_of ? plan->graph->wide_of->nodes : NULL;
    plan->shape = how->shape;
    plan->scored = (plan->aggregator->flags & GNN_AGGREGATOR_SCORED) != 0;
    if (plan->scored)
        plan->score = how->score ? how->score : &gnn_score_dot;
    plan->context = call->context;
    plan->threads = gnn__most_threads(call->context, call->threads);
    plan->recording = call->recording != 0;
    GNN_TRY(read_operands(plan, call));

    gnn_view_t wanted = how->view;
    if (call->recording)
        wanted.backward = GNN_ON;
    plan->view = gnn__graph_view(plan->graph, &wanted);
    if (!plan->view)
        return GNN_EUNPREPARED;
    GNN_TRY(resolve_widths(plan));
    GNN_TRY(resolve_scores(plan));
    GNN_TRY(resolve_rows(plan));
    GNN_TRY(resolve_shapes(plan));
    GNN_TRY(check_inputs(plan));
    if (plan->scored && (int64_t)plan->aggregator->state(&plan->shape) != plan->out_width)
        return gnn__error(GNN_EINVALID,
                          "aggregate: the state of %s, which has scores, is the output row of %lld "
                          "values, got %zu",
                          plan->aggregator->name, (long long)plan->out_width,
                          plan->aggregator->state(&plan->shape));

    if (!(how->dropout >= 0 && how->dropout < 1))
        return gnn__error(GNN_EINVALID, "aggregate: dropout must be in [0, 1), got %g",
                          (double)how->dropout);
    if (gnn__op_finish(call))
        take_finish(plan, call);
    plan->dropping = call->training && plan->scored && how->dropout > 0;
    if (plan->dropping)
        plan->dropout = gnn__dropout(call->rng, how->dropout);
    plan->strategy = strategy_of(plan);
    if (how->running)
        GNN_TRY(check_sums(plan));
    if (plan->strategy->choose)
        plan->strategy->choose(plan);
    return GNN_OK;
}
