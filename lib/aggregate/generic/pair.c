/* Making a pair ready: its message, weight, key, bias and dropout, from whatever inputs there are. */
#include <lib/aggregate/generic/pair.h>

static gnn_real_t *numbers(gnn__carve_t *c, int64_t count)
{
    return gnn__carve(c, count, sizeof(gnn_real_t));
}

static gnn__pair_scratch_t lay_out(const gnn__plan_t *plan, gnn__carve_t *c)
{
    const int64_t heads = plan->shape.heads;
    gnn__pair_scratch_t s;
    s.edge = numbers(c, plan->edge_width);
    s.d_edge = numbers(c, plan->edge_width);
    s.key = numbers(c, plan->key_width);
    s.d_key = numbers(c, plan->key_width);
    s.message = numbers(c, plan->message_width);
    s.weighted = numbers(c, plan->message_width);
    s.d_message = numbers(c, plan->message_width);
    s.bias = numbers(c, heads);
    s.d_bias = numbers(c, heads);
    s.keep = numbers(c, gnn__round_up(heads, 8));
    s.d_out = numbers(c, plan->out_width);
    s.state = numbers(c, (int64_t)plan->aggregator->state(&plan->shape));
    return s;
}

int64_t gnn__pair_scratch_bytes(const gnn__plan_t *plan, gnn__carve_t *carve)
{
    gnn__carve_t counted = {0};
    lay_out(plan, &counted);
    carve->overflow |= counted.overflow;
    return counted.used;
}

gnn__pair_scratch_t gnn__pair_scratch(const gnn__plan_t *plan, void *block)
{
    return lay_out(plan, &(gnn__carve_t){.base = block});
}

gnn__listener_t gnn__listener(const gnn__plan_t *plan, int64_t p, bool transposed,
                              const int64_t *positions)
{
    const gnn__part_t *part = gnn__part_of(plan, p, transposed);
    return (gnn__listener_t){.plan = plan,
                             .pairs = &part->pairs,
                             .transposed = transposed,
                             .dst_scale = gnn__dst_scale(part, transposed),
                             .src_scale = gnn__src_scale(part, transposed),
                             .dst_position = positions,
                             .src_position = positions ? positions + plan->graph->n_dst : NULL};
}

/* ---- positions ---- */

int64_t gnn__positions_size(const gnn__plan_t *plan)
{
    return plan->how->distance == GNN_DISTANCE_NONE ? 0 : plan->graph->n_dst + plan->graph->n_src;
}

static void fill_side(int64_t n, int64_t segments, const int64_t *offsets, const int64_t *starts,
                      int64_t *positions)
{
    for (int64_t k = 0; k < n; k++)
        positions[k] = k;
    for (int64_t s = 0; s < segments; s++)
        for (int64_t k = offsets[s]; k < offsets[s + 1]; k++)
            positions[k] = k - offsets[s] + starts[s];
}

void gnn__fill_positions(const gnn__plan_t *plan, int64_t *positions)
{
    const gnn_graph_t *g = plan->graph;
    if (gnn__positions_size(plan) == 0)
        return;
    fill_side(g->n_dst, g->n_segments, g->dst_segments, g->dst_start, positions);
    fill_side(g->n_src, g->n_segments, g->src_segments, g->src_start, positions + g->n_dst);
}

/* ---- one pair ---- */

/* out += row f of the features times weight (d_e x cols). */
static void project(const gnn_real_t *f, int64_t d_e, const gnn_tensor_t *weight, gnn_real_t *out)
{
    for (int64_t e = 0; e < d_e; e++) {
        const gnn_real_t *w = gnn__row(weight, e);
        for (int64_t c = 0; c < weight->cols; c++)
            out[c] += f[e] * w[c];
    }
}

static void load_message(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                         gnn__pair_t *pair)
{
    const int64_t width = plan->message_width;
    pair->src = plan->has[GNN_AGGREGATE_SRC_MESSAGE]
                    ? gnn__row(&plan->in[GNN_AGGREGATE_SRC_MESSAGE], pair->j)
                    : NULL;
    pair->dst = plan->has[GNN_AGGREGATE_DST_MESSAGE]
                    ? gnn__row(&plan->in[GNN_AGGREGATE_DST_MESSAGE], pair->i)
                    : NULL;
    pair->projected = NULL;
    if (plan->edge_width) {
        if (plan->has[GNN_AGGREGATE_EDGE_MESSAGE_BIAS])
            memcpy(scratch->edge, plan->in[GNN_AGGREGATE_EDGE_MESSAGE_BIAS].data,
                   sizeof(gnn_real_t) * (size_t)plan->edge_width);
        else
            memset(scratch->edge, 0, sizeof(gnn_real_t) * (size_t)plan->edge_width);
        if (plan->edge_message && gnn__users_edge(plan, pair->number))
            project(gnn__row(&plan->in[GNN_AGGREGATE_EDGE_FEATURES], pair->number), plan->d_e,
                    &plan->in[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT], scratch->edge);
        pair->projected = scratch->edge;
    }
    if (plan->message->is_sender) {
        pair->message = pair->src;
        return;
    }
    plan->message->message(width, pair->dst, pair->src, pair->projected, scratch->message);
    pair->message = scratch->message;
}

/* Weight of the input times the view's scales, the receiver's first: both ways of walking must agree to the bit, or ties would break. */
static void load_weight(const gnn__listener_t *l, gnn__pair_t *pair)
{
    const gnn_tensor_t *w = &l->plan->in[GNN_AGGREGATE_EDGE_WEIGHT];
    pair->scale =
        (l->dst_scale ? l->dst_scale[pair->i] : 1) * (l->src_scale ? l->src_scale[pair->j] : 1);
    pair->weight = pair->scale;
    if (l->plan->has[GNN_AGGREGATE_EDGE_WEIGHT] && pair->number < w->rows)
        pair->weight = *gnn__row(w, pair->number) * pair->scale;
}

static void load_key(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    pair->edge.query = gnn__row(&plan->in[GNN_AGGREGATE_QUERY], pair->i);
    pair->edge.key = gnn__row(&plan->in[GNN_AGGREGATE_KEY], pair->j);
    if (!plan->edge_key || !gnn__users_edge(plan, pair->number))
        return;
    memcpy(scratch->key, pair->edge.key, sizeof(gnn_real_t) * (size_t)plan->key_width);
    project(gnn__row(&plan->in[GNN_AGGREGATE_EDGE_FEATURES], pair->number), plan->d_e,
            &plan->in[GNN_AGGREGATE_EDGE_KEY_WEIGHT], scratch->key);
    pair->edge.key = scratch->key;
}

static void load_bias(const gnn__listener_t *l, const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    const gnn__plan_t *plan = l->plan;
    const gnn_tensor_t *bias = &plan->in[GNN_AGGREGATE_EDGE_BIAS],
                       *distance = &plan->in[GNN_AGGREGATE_DISTANCE];
    const bool has_bias = plan->has[GNN_AGGREGATE_EDGE_BIAS] && gnn__users_edge(plan, pair->number);
    pair->edge.bias = NULL;
    if (!has_bias && !l->dst_position)
        return;
    for (int64_t a = 0; a < plan->shape.heads; a++)
        scratch->bias[a] = has_bias ? gnn__row(bias, pair->number)[bias->cols == 1 ? 0 : a] : 0;
    pair->edge.bias = scratch->bias;
    if (!l->dst_position)
        return;
    pair->distance = l->src_position[pair->j] - l->dst_position[pair->i];
    for (int64_t a = 0; a < plan->shape.heads; a++)
        scratch->bias[a] += plan->how->distance == GNN_DISTANCE_SLOPE
                                ? distance->data[a] * (gnn_real_t)pair->distance
                                : gnn__row(distance, a)[gnn__bucket(plan, pair->distance)];
}

static void load_scored(const gnn__listener_t *l, const gnn__pair_scratch_t *scratch,
                        gnn__pair_t *pair)
{
    const gnn__plan_t *plan = l->plan;
    load_key(plan, scratch, pair);
    load_bias(l, scratch, pair);
    pair->edge.message = pair->message;
    pair->edge.weight = pair->weight;
    pair->edge.keep = NULL;
    if (!plan->dropping)
        return;
    for (int64_t a = 0; a < plan->shape.heads; a += 8)
        gnn__dropout_draw(&plan->dropout, (uint32_t)pair->i, (uint32_t)pair->j, (uint32_t)(a / 8),
                          scratch->keep + a);
    pair->edge.keep = scratch->keep;
}

static void load_unscored(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                          gnn__pair_t *pair)
{
    pair->edge = (gnn_edge_t){.message = pair->message, .weight = 1};
    if (pair->weight == 1)
        return;
    for (int64_t c = 0; c < plan->message_width; c++)
        scratch->weighted[c] = pair->weight * pair->message[c];
    pair->edge.message = scratch->weighted;
}

void gnn__pair_load(const gnn__listener_t *l, int64_t node, int64_t at,
                    const gnn__pair_scratch_t *scratch, gnn__pair_t *pair)
{
    const int64_t other = gnn__pairs_col(l->pairs, at);
    pair->number = gnn__pairs_edge(l->pairs, at);
    pair->i = l->transposed ? other : node;
    pair->j = l->transposed ? node : other;
    load_message(l->plan, scratch, pair);
    load_weight(l, pair);
    if (l->plan->scored)
        load_scored(l, scratch, pair);
    else
        load_unscored(l->plan, scratch, pair);
}
