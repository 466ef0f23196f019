/* Checks of the inputs of `aggregate`: against the graph, the row and each other. Messages name the
 * input and the numbers. */
#include <lib/aggregate/aggregate.h>
#include <lib/aggregate/tables.h>

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
                                                        "gate"};

const char *gnn_aggregate_input_name(int input)
{
    return input >= 0 && input < GNN_AGGREGATE_INPUTS ? names[input] : NULL;
}

/* If the input is there it must have this shape. */
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

/* Inputs and settings that only scores have a place for. */
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
                                       GNN_AGGREGATE_PRIOR_QUERY};
    const char *const name = plan->aggregator->name;
    if (plan->scored)
        return GNN_OK;
    for (size_t k = 0; k < sizeof score_inputs / sizeof *score_inputs; k++)
        GNN_TRY(refuse(plan, score_inputs[k], GNN_EUNSUPPORTED, name));
    if (plan->how->edge_weights_out || plan->how->segment_weights_out)
        return gnn__error(GNN_EUNSUPPORTED, "aggregate: %s has no attention weights to give out",
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

/* What a row says that it owns is there, and nothing else is. */
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

/* Does the row have all functions of one of the three kinds? Keys need both flags. */
static bool has_scores(const gnn_prior_t *row)
{
    const unsigned needed = GNN_PRIOR_READS_QUERY | GNN_PRIOR_READS_DISTANCE;
    if (row->key_row)
        return row->key_column && (row->flags & needed) == needed && row->numbers == GNN_PRIOR_SHARED;
    return row->strip ? row->strip_grad != NULL : row->score && row->score_grad;
}

/* What messages call the entry whose rows a prior or a map reads. */
static const char *name_of(const gnn__plan_t *plan)
{
    return plan->score ? plan->score->name : plan->aggregator->name;
}

static int check_prior(const gnn__plan_t *plan, int p)
{
    const gnn_prior_t *row = plan->prior[p];
    const int input = GNN_AGGREGATE_PRIOR_0 + p;
    int64_t rows, cols;
    if (!row)
        return refuse(plan, input, GNN_EINVALID, "an aggregation without this prior");
    if (!row->declare || !has_scores(row))
        return gnn__error(GNN_EINVALID,
                          "aggregate: prior %s needs declare, and score or strip with its gradient, "
                          "or key_row and key_column",
                          row->name);
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
    GNN_TRY(gnn__declared_size(row->declare, &plan->prior_shape[p], &rows, &cols));
    GNN_TRY(need(plan, input, row->name));
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

static int check_map(const gnn__plan_t *plan)
{
    const int rc = gnn__check_map(plan->map, plan->score, &plan->map_shape);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "aggregate");
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

int gnn__plan_inputs(gnn__plan_t *plan)
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
