/* The plan of one aggregation: defaults of the shape, the view of the graph, and the way that runs
 * it. */
#include <lib/aggregate/tables.h>
#include <lib/aggregate/ways.h>

#include <math.h>

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

/* Numbers in one message, read from the first input that has them. */
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

/* Settings that stand behind the aggregator's scores: what they are worth, and what is added. */
static int resolve_rows(gnn__plan_t *plan)
{
    const gnn_aggregate_t *how = plan->how;
    plan->weigher = how->weigher ? how->weigher : &gnn_weigher_softmax;
    plan->hints = gnn__hints_of(plan->aggregator, plan->message, plan->score, plan->weigher);
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

/* Sizes for one row, with its own options and parameters. */
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

/* The aggregator's own comes last: the others are copies of it. */
static int resolve_shapes(gnn__plan_t *plan)
{
    const gnn_aggregate_t *how = plan->how;
    const gnn_message_t *m = plan->message;
    const gnn_weigher_t *w = plan->weigher;
    const gnn_aggregator_t *a = plan->aggregator;
    GNN_TRY(resolve_shape(plan, m->name, m->options, m->n_options, how->message_options,
                          GNN_AGGREGATE_MESSAGE_PARAMETERS, &plan->message_shape));
    GNN_TRY(resolve_shape(plan, w->name, w->options, w->n_options, how->weigher_options,
                          GNN_AGGREGATE_WEIGHER_PARAMETERS, &plan->weigher_shape));
    if (plan->score)
        GNN_TRY(resolve_shape(plan, plan->score->name, plan->score->options, plan->score->n_options,
                              how->score_options, GNN_AGGREGATE_SCORE_PARAMETERS, &plan->score_shape));
    if (plan->map)
        GNN_TRY(resolve_shape(plan, plan->map->name, plan->map->options, plan->map->n_options,
                              how->map_options, -1, &plan->map_shape));
    for (int p = 0; p < GNN_PRIORS; p++)
        if (plan->prior[p])
            GNN_TRY(resolve_shape(plan, plan->prior[p]->name, plan->prior[p]->options,
                                  plan->prior[p]->n_options, how->priors[p].options,
                                  GNN_AGGREGATE_PRIOR_0 + p, &plan->prior_shape[p]));
    return resolve_shape(plan, a->name, a->options, a->n_options, how->shape.options,
                         GNN_AGGREGATE_PARAMETERS, &plan->shape);
}

static void take_finish(gnn__plan_t *plan, const gnn_op_call_t *call)
{
    const gnn__finish_t *finish = call->finish;
    const gnn_rng_t rng = {call->rng.seed, call->rng.step, finish->stream};
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
    GNN_TRY(gnn__check_aggregator(how->aggregator));
    GNN_TRY(gnn__check_message(how->message));
    plan->how = how;
    plan->aggregator = how->aggregator;
    plan->message = how->message;
    plan->graph = how->graph;
    plan->shape = how->shape;
    plan->scored = (plan->aggregator->flags & GNN_AGGREGATOR_SCORED) != 0;
    if (plan->scored) {
        plan->score = how->score ? how->score : &gnn_score_dot;
        GNN_TRY(gnn__check_score(plan->score));
    }
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
    GNN_TRY(gnn__plan_inputs(plan));
    if (plan->scored && (int64_t)plan->aggregator->state(&plan->shape) != plan->out_width)
        return gnn__error(GNN_EINVALID,
                          "aggregate: the state of %s, which has scores, is the output row of %lld "
                          "values, got %zu",
                          plan->aggregator->name, (long long)plan->out_width,
                          plan->aggregator->state(&plan->shape));

    if (!(how->dropout >= 0 && how->dropout < 1))
        return gnn__error(GNN_EINVALID, "aggregate: dropout must be in [0, 1), got %g",
                          (double)how->dropout);
    if (call->finish)
        take_finish(plan, call);
    plan->dropping = call->training && plan->scored && how->dropout > 0;
    if (plan->dropping)
        plan->dropout = gnn__dropout(call->rng, how->dropout);
    plan->way = gnn__way_of(plan);
    return GNN_OK;
}

int64_t gnn__most_chunks(const gnn__built_view_t *view)
{
    int64_t most = 0;
    for (int64_t p = 0; p < view->n_parts; p++)
        for (int side = 0; side < (view->transposed ? 2 : 1); side++) {
            const gnn__pairs_t *pairs = side ? &view->transposed[p].pairs : &view->parts[p].pairs;
            most = gnn__max(most, gnn__pairs_max_chunks(pairs, gnn__per_chunk(pairs)));
        }
    return most;
}
