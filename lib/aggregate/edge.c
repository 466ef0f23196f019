#include <lib/aggregate/edge.h>

static gnn_real_t *take(gnn_real_t *block, int64_t *at, int64_t count)
{
    gnn_real_t *row = block ? block + *at : NULL;
    *at += (count + 15) / 16 * 16;
    return row;
}

/* Lays a lane out in `block` (NULL: only counts); returns how many numbers it takes. */
static int64_t lay_out(const gnn__plan_t *plan, gnn_real_t *block, gnn__lane_t *lane)
{
    const int64_t heads = plan->shape.heads;
    int64_t at = 0;
    lane->edge = take(block, &at, plan->edge_width);
    lane->d_edge = take(block, &at, plan->edge_width);
    lane->key = take(block, &at, plan->key_width);
    lane->d_key = take(block, &at, plan->key_width);
    lane->message = take(block, &at, plan->message_width);
    lane->weighted = take(block, &at, plan->message_width);
    lane->d_message = take(block, &at, plan->message_width);
    lane->bias = take(block, &at, heads);
    lane->d_bias = take(block, &at, heads);
    lane->keep = take(block, &at, (heads + 7) / 8 * 8);
    lane->d_out = take(block, &at, plan->out_width);
    lane->state = take(block, &at, (int64_t)plan->row->state(&plan->shape));
    return at;
}

int64_t gnn__lane_size(const gnn__plan_t *plan)
{
    gnn__lane_t lane;
    return lay_out(plan, NULL, &lane);
}

gnn__lane_t gnn__lane(const gnn__plan_t *plan, gnn_real_t *block)
{
    gnn__lane_t lane;
    lay_out(plan, block, &lane);
    return lane;
}

gnn__listener_t gnn__listener(const gnn__plan_t *plan, int64_t p, bool transposed,
                              const int64_t *positions)
{
    const gnn__part_t *part = transposed ? &plan->view->transposed[p] : &plan->view->parts[p];
    const int64_t *src_positions = positions ? positions + plan->graph->n_dst : NULL;
    return (gnn__listener_t){plan,
                             part,
                             transposed,
                             gnn__dst_scale(part, transposed),
                             gnn__src_scale(part, transposed),
                             positions,
                             src_positions};
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

static void load_message(const gnn__plan_t *plan, const gnn__lane_t *lane, gnn__pair_t *pair)
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
            memcpy(lane->edge, plan->in[GNN_AGGREGATE_EDGE_MESSAGE_BIAS].data,
                   sizeof(gnn_real_t) * (size_t)plan->edge_width);
        else
            memset(lane->edge, 0, sizeof(gnn_real_t) * (size_t)plan->edge_width);
        if (plan->edge_message && gnn__users_edge(plan, pair->number))
            project(gnn__row(&plan->in[GNN_AGGREGATE_EDGE_FEATURES], pair->number), plan->d_e,
                    &plan->in[GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT], lane->edge);
        pair->projected = lane->edge;
    }
    if (plan->message->is_sender) {
        pair->message = pair->src;
        return;
    }
    plan->message->message(width, pair->dst, pair->src, pair->projected, lane->message);
    pair->message = lane->message;
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

static void load_key(const gnn__plan_t *plan, const gnn__lane_t *lane, gnn__pair_t *pair)
{
    pair->edge.query = gnn__row(&plan->in[GNN_AGGREGATE_QUERY], pair->i);
    pair->edge.key = gnn__row(&plan->in[GNN_AGGREGATE_KEY], pair->j);
    if (!plan->edge_key || !gnn__users_edge(plan, pair->number))
        return;
    memcpy(lane->key, pair->edge.key, sizeof(gnn_real_t) * (size_t)plan->key_width);
    project(gnn__row(&plan->in[GNN_AGGREGATE_EDGE_FEATURES], pair->number), plan->d_e,
            &plan->in[GNN_AGGREGATE_EDGE_KEY_WEIGHT], lane->key);
    pair->edge.key = lane->key;
}

static void load_bias(const gnn__listener_t *l, const gnn__lane_t *lane, gnn__pair_t *pair)
{
    const gnn__plan_t *plan = l->plan;
    const gnn_tensor_t *bias = &plan->in[GNN_AGGREGATE_EDGE_BIAS],
                       *distance = &plan->in[GNN_AGGREGATE_DISTANCE];
    const bool has_bias = plan->has[GNN_AGGREGATE_EDGE_BIAS] && gnn__users_edge(plan, pair->number);
    pair->edge.bias = NULL;
    if (!has_bias && !l->dst_position)
        return;
    for (int64_t a = 0; a < plan->shape.heads; a++)
        lane->bias[a] = has_bias ? gnn__row(bias, pair->number)[bias->cols == 1 ? 0 : a] : 0;
    pair->edge.bias = lane->bias;
    if (!l->dst_position)
        return;
    pair->distance = l->src_position[pair->j] - l->dst_position[pair->i];
    for (int64_t a = 0; a < plan->shape.heads; a++)
        lane->bias[a] += plan->how->distance == GNN_DISTANCE_SLOPE
                             ? distance->data[a] * (gnn_real_t)pair->distance
                             : gnn__row(distance, a)[gnn__bucket(plan, pair->distance)];
}

static void load_scored(const gnn__listener_t *l, const gnn__lane_t *lane, gnn__pair_t *pair)
{
    const gnn__plan_t *plan = l->plan;
    load_key(plan, lane, pair);
    load_bias(l, lane, pair);
    pair->edge.message = pair->message;
    pair->edge.weight = pair->weight;
    pair->edge.keep = NULL;
    if (!plan->dropping)
        return;
    for (int64_t a = 0; a < plan->shape.heads; a += 8)
        gnn__dropout_draw(&plan->dropout, (uint32_t)pair->i, (uint32_t)pair->j, (uint32_t)(a / 8),
                          lane->keep + a);
    pair->edge.keep = lane->keep;
}

static void load_unscored(const gnn__plan_t *plan, const gnn__lane_t *lane, gnn__pair_t *pair)
{
    pair->edge = (gnn_edge_t){.message = pair->message, .weight = 1};
    if (pair->weight == 1)
        return;
    for (int64_t c = 0; c < plan->message_width; c++)
        lane->weighted[c] = pair->weight * pair->message[c];
    pair->edge.message = lane->weighted;
}

int gnn__next_pair(const gnn__listener_t *l, gnn__walk_t *walk, const gnn__lane_t *lane,
                   gnn__pair_t *pair)
{
    int64_t other;
    if (!gnn__walk_next(walk, &other, &pair->number))
        return 0;
    pair->i = l->transposed ? other : walk->node;
    pair->j = l->transposed ? walk->node : other;
    load_message(l->plan, lane, pair);
    load_weight(l, pair);
    if (l->plan->scored)
        load_scored(l, lane, pair);
    else
        load_unscored(l->plan, lane, pair);
    return 1;
}
