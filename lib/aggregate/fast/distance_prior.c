/* What distances add to scores, for the kernels of attention: numbers by distance, and the way back
 * from their gradients. */
#include <lib/aggregate/fast/distance_prior.h>
#include <lib/aggregate/positions.h>

#include <limits.h>

/* ---- distances ---- */

/* Positions of one side: the smallest and the largest. No nodes: 1 and 0. */
typedef struct extent {
    int64_t least, most;
} extent_t;

static extent_t positions_of(int64_t n, int64_t segments, const int64_t *offsets,
                             const int64_t *starts)
{
    extent_t e = {INT64_MAX, INT64_MIN};
    if (segments == 0 && n > 0)
        e = (extent_t){0, n - 1};
    for (int64_t s = 0; s < segments; s++) {
        const int64_t length = offsets[s + 1] - offsets[s];
        if (length == 0)
            continue;
        e.least = gnn__min(e.least, starts[s]);
        e.most = gnn__max(e.most, starts[s] + length - 1);
    }
    return e.most < e.least ? (extent_t){1, 0} : e;
}

static void find_range(const gnn__plan_t *plan, gnn__distance_prior_t *prior)
{
    const gnn_graph_t *g = plan->graph;
    const extent_t dst = positions_of(g->n_dst, g->n_segments, g->dst_segments, g->dst_start),
                   src = positions_of(g->n_src, g->n_segments, g->src_segments, g->src_start);
    prior->first = src.least - dst.most;
    prior->count = gnn__max(src.most - dst.least - prior->first + 1, 0);
    prior->stride = gnn__round_up(prior->count + 2 * GNN__PRIOR_MARGIN, GNN__KEY_BLOCK);
}

int64_t gnn__distance_places(const gnn__plan_t *plan, int64_t *first, int64_t *count)
{
    gnn__distance_prior_t prior;
    find_range(plan, &prior);
    *first = prior.first;
    *count = prior.count;
    return prior.stride;
}

/* Does the call need to know distances at all? */
static bool reads_distances(const gnn__plan_t *plan)
{
    return plan->has_priors || plan->by_distance;
}

/* Does prior p have numbers by distance, rather than keys? */
static bool is_strip(const gnn__plan_t *plan, int p)
{
    return plan->prior[p] && plan->prior[p]->strip;
}

static bool has_strips(const gnn__plan_t *plan)
{
    bool has = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        has |= is_strip(plan, p);
    return has;
}

bool gnn__distance_prior_fits(const gnn__plan_t *plan)
{
    enum { SPARE = 1 << 14, MOST_SUMS = 1 << 25 };
    gnn__distance_prior_t prior;
    int64_t sums = 0;
    if (!reads_distances(plan))
        return true;
    find_range(plan, &prior);
    if (prior.count > 4 * (plan->graph->n_dst + plan->graph->n_src) + SPARE)
        return false;
    return !has_strips(plan) ||
           (gnn__mul(prior.stride, plan->shape.heads * gnn__most_chunks(plan->view), &sums) &&
            sums <= MOST_SUMS);
}

/* Does every row's run of places lie in one segment? Neither ends nor segments ever move to the
 * left. */
static bool runs_in_segments(const gnn__pairs_t *pairs, int64_t segments, const int64_t *offsets)
{
    for (int64_t r = 0, s = 0; r < pairs->n_rows && s < segments; r++) {
        if (pairs->lo[r] == pairs->hi[r])
            continue;
        while (offsets[s + 1] <= pairs->lo[r])
            s++;
        if (pairs->hi[r] > offsets[s + 1])
            return false;
    }
    return true;
}

/* Does no sender have receivers in two segments? */
static bool segments_apart(const gnn__pairs_t *pairs, int64_t segments, const int64_t *offsets)
{
    for (int64_t s = 1; s < segments; s++) {
        const int64_t row = offsets[s];
        if (row > 0 && row < pairs->n_rows && pairs->lo[row] < pairs->hi[row - 1])
            return false;
    }
    return true;
}

bool gnn__distances_are_straight(const gnn__plan_t *plan, int64_t p)
{
    const gnn_graph_t *g = plan->graph;
    const gnn__pairs_t *pairs = &plan->view->parts[p].pairs;
    return !reads_distances(plan) || (!pairs->row_order && !pairs->col_order &&
                                      runs_in_segments(pairs, g->n_segments, g->src_segments) &&
                                      segments_apart(pairs, g->n_segments, g->dst_segments));
}

/* ---- numbers by distance ---- */

/* What all priors together say of head a at distances first .. first + count - 1. */
static void fill_head(const gnn__plan_t *plan, int64_t a, int64_t first, int64_t count,
                      gnn_real_t *out)
{
    for (int p = 0; p < GNN_PRIORS; p++)
        if (is_strip(plan, p))
            plan->prior[p]->strip(&plan->prior_shape[p], a, first, count, out);
}

static void fold_head(const gnn__plan_t *plan, int64_t a, int64_t first, int64_t count,
                      const gnn_real_t *d)
{
    for (int p = 0; p < GNN_PRIORS; p++)
        if (is_strip(plan, p) && gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p))
            plan->prior[p]->strip_grad(&plan->prior_shape[p], a, first, count, d,
                                       &plan->d[GNN_AGGREGATE_PRIOR_0 + p]);
}

static bool wants_gradients(const gnn__plan_t *plan)
{
    bool wants = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        wants |= is_strip(plan, p) && gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p);
    return wants;
}

/* ---- memory ---- */

void gnn__distance_prior_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                               int64_t chunks, gnn__distance_prior_t *prior)
{
    const gnn_graph_t *g = plan->graph;
    int64_t all = 0, sums = 0;
    memset(prior, 0, sizeof *prior);
    if (!reads_distances(plan))
        return;
    find_range(plan, prior);
    carve->overflow |=
        !gnn__mul(prior->stride, plan->shape.heads, &all) || !gnn__mul(all, chunks, &sums);
    prior->positions = gnn__carve(carve, g->n_dst + g->n_src, sizeof *prior->positions);
    prior->shift = gnn__carve(carve, gnn__max(g->n_dst, g->n_src), sizeof *prior->shift);
    if (!has_strips(plan))
        return;
    prior->up = gnn__carve(carve, all, sizeof *prior->up);
    if (!backward)
        return;
    prior->down = gnn__carve(carve, all, sizeof *prior->down);
    prior->sums = gnn__carve(carve, all, sizeof *prior->sums);
    prior->partials = gnn__carve(carve, sums, sizeof *prior->partials);
    if (!wants_gradients(plan))
        prior->sums = prior->partials = NULL;
}

void gnn__distance_prior_fill(const gnn__plan_t *plan, bool backward, gnn__distance_prior_t *prior)
{
    const gnn_graph_t *g = plan->graph;
    const int64_t stride = prior->stride, all = stride * plan->shape.heads;
    if (!reads_distances(plan))
        return;
    gnn__positions(g, true, prior->positions);
    gnn__positions(g, false, prior->positions + g->n_dst);
    if (!has_strips(plan))
        return;
    memset(prior->up, 0, sizeof *prior->up * (size_t)all);
    for (int64_t a = 0; a < plan->shape.heads; a++)
        fill_head(plan, a, prior->first, prior->count, prior->up + a * stride + GNN__PRIOR_MARGIN);
    for (int64_t a = 0; backward && a < plan->shape.heads; a++)
        for (int64_t x = 0; x < stride; x++)
            prior->down[a * stride + x] = prior->up[(a + 1) * stride - 1 - x];
    if (prior->sums)
        memset(prior->sums, 0, sizeof *prior->sums * (size_t)all);
}

/* ---- parts ---- */

/* Rows that hear nothing go on as the row before.
 *
 * The distance of row r and place c is c + a number of the row, or on a transposed part that number
 * - c, and its place among the numbers, from one end or from the other, a number of the row + c. */
static void fill_shift(const gnn__distance_prior_t *prior, const gnn__attention_t *a,
                       const int64_t *rows, const int64_t *columns)
{
    const gnn__pairs_t *p = &a->pairs;
    const int64_t at_zero = GNN__PRIOR_MARGIN - prior->first,
                  origin = a->transposed ? prior->stride - 1 - at_zero : at_zero;
    for (int64_t r = 0; r < p->n_rows; r++)
        prior->shift[r] = p->lo[r] < p->hi[r] ? columns[p->lo[r]] - p->lo[r] - rows[r] + origin
                          : r > 0             ? prior->shift[r - 1] - 1
                                              : 0;
}

void gnn__distance_prior_part(const gnn__distance_prior_t *prior, bool tiles, gnn__attention_t *a)
{
    if (!prior->positions)
        return;
    const int64_t n_dst = a->transposed ? a->pairs.n_cols : a->pairs.n_rows;
    const int64_t *dst = prior->positions, *src = dst + n_dst;
    a->prior = (gnn__prior_strips_t){.at = tiles && a->transposed ? prior->down : prior->up,
                                     .stride = prior->stride,
                                     .dst_position = dst,
                                     .src_position = src,
                                     .origin = GNN__PRIOR_MARGIN - prior->first};
    if (tiles) {
        fill_shift(prior, a, a->transposed ? src : dst, a->transposed ? dst : src);
        a->prior.shift = prior->shift;
    }
}

/* ---- gradients ---- */

void gnn__distance_prior_add(const gnn__plan_t *plan, const gnn__distance_prior_t *prior,
                             int64_t chunks, bool tiles)
{
    const int64_t stride = prior->stride, heads = plan->shape.heads;
    const gnn_real_t *from = prior->partials;
    for (int64_t c = 0; prior->sums && c < chunks; c++)
        for (int64_t a = 0; a < heads; a++, from += stride) {
            gnn_real_t *to = prior->sums + a * stride;
            for (int64_t x = 0; x < stride; x++)
                to[x] += from[tiles ? stride - 1 - x : x];
        }
}

void gnn__distance_prior_grad(const gnn__plan_t *plan, const gnn__distance_prior_t *prior)
{
    for (int64_t a = 0; prior->sums && a < plan->shape.heads; a++)
        fold_head(plan, a, prior->first, prior->count,
                  prior->sums + a * prior->stride + GNN__PRIOR_MARGIN);
}
