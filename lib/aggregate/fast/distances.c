/* Priors and messages by distance, for the kernels of attention: values by distance that are
 * added to scores (strips), keys by distance that queries are multiplied with, rows by
 * distance that are added to values; each with the way back from its gradients. */
#include <lib/aggregate/fast/distances.h>
#include <lib/aggregate/strategies.h>
#include <lib/kernels/attention/by_tile/by_tile.h>

#include <limits.h>

/* ---- which distances there are ---- */

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

/* Adds positions that a part has of its own; NULL: it has none. */
static void widen(extent_t *e, int64_t n, const int64_t *positions)
{
    for (int64_t k = 0; positions && k < n; k++) {
        e->least = gnn__min(e->least, positions[k]);
        e->most = gnn__max(e->most, positions[k]);
    }
}

static void find_range(const gnn__plan_t *plan, gnn__distance_prior_t *prior)
{
    const gnn_graph_t *g = plan->graph;
    extent_t dst = positions_of(g->n_dst, g->n_segments, g->dst_segments, g->dst_start),
             src = positions_of(g->n_src, g->n_segments, g->src_segments, g->src_start);
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        widen(&dst, g->n_dst, plan->view->parts[p].dst_position);
        widen(&src, g->n_src, plan->view->parts[p].src_position);
    }
    prior->sets = gnn__parts_differ(plan) ? plan->view->n_parts : 1;
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

/* The call reads distances. */
static bool reads_distances(const gnn__plan_t *plan)
{
    return plan->has_priors || plan->by_distance;
}

/* Prior p has values by distance, rather than keys. */
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
    enum { SPARE = 1 << 14, MOST_SUMS = 1 << 25, MOST_SETS = 8 };
    gnn__distance_prior_t prior;
    int64_t sums = 0;
    if (!reads_distances(plan))
        return true;
    find_range(plan, &prior);
    if (prior.count > 4 * (plan->graph->n_dst + plan->graph->n_src) + SPARE)
        return false;
    return !has_strips(plan) ||
           (gnn__mul(prior.stride, plan->shape.heads * gnn__most_chunks(plan->view), &sums) &&
            sums <= MOST_SUMS && prior.sets <= MOST_SETS);
}

/* True if every row's run of positions lies in one segment. Neither bounds of runs nor
 * segments decrease from row to row. */
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

/* True if no sender has receivers in two segments. */
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
    return !reads_distances(plan) ||
           (!plan->view->parts[p].dst_position && !pairs->row_order && !pairs->col_order &&
            runs_in_segments(pairs, g->n_segments, g->src_segments) &&
            segments_apart(pairs, g->n_segments, g->dst_segments));
}

/* ---- strips: values by distance ---- */

/* out += the terms of the priors of a set for head a at distances first .. first + count - 1. */
static void fill_head(const gnn__plan_t *plan, int64_t set, int64_t a, int64_t first, int64_t count,
                      gnn_real_t *out)
{
    for (int p = 0; p < GNN_PRIORS; p++)
        if (is_strip(plan, p) && gnn__has_prior(plan, p, set))
            plan->prior[p]->strip(&plan->prior_shape[p], a, first, count, out);
}

static void fold_head(const gnn__plan_t *plan, int64_t set, int64_t a, int64_t first, int64_t count,
                      const gnn_real_t *d)
{
    for (int p = 0; p < GNN_PRIORS; p++)
        if (is_strip(plan, p) && gnn__has_prior(plan, p, set) &&
            gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p))
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
    carve->overflow |= !gnn__mul(prior->stride, plan->shape.heads, &all) ||
                       !gnn__mul(all, chunks, &sums) || !gnn__mul(all, prior->sets, &all);
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
    const int64_t stride = prior->stride, heads = plan->shape.heads, rows = prior->sets * heads;
    if (!reads_distances(plan))
        return;
    gnn__positions(g, true, prior->positions);
    gnn__positions(g, false, prior->positions + g->n_dst);
    if (!has_strips(plan))
        return;
    memset(prior->up, 0, sizeof *prior->up * (size_t)(rows * stride));
    for (int64_t r = 0; r < rows; r++)
        fill_head(plan, r / heads, r % heads, prior->first, prior->count,
                  prior->up + r * stride + GNN__PRIOR_MARGIN);
    for (int64_t r = 0; backward && r < rows; r++)
        for (int64_t x = 0; x < stride; x++)
            prior->down[r * stride + x] = prior->up[(r + 1) * stride - 1 - x];
    if (prior->sums)
        memset(prior->sums, 0, sizeof *prior->sums * (size_t)(rows * stride));
}

/* ---- parts ---- */

/* The distance of row r and column c is c plus a value of the row, or on a transposed part that
 * value minus c. Its index among the strips, from one end or from the other, is
 * prior->shift[r] + c. A row with an empty run continues the row before. */
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

/* The first value of part p's set among those of all. */
static int64_t set_at(const gnn__plan_t *plan, const gnn__distance_prior_t *prior, int64_t p)
{
    return prior->sets > 1 ? p * plan->shape.heads * prior->stride : 0;
}

void gnn__distance_prior_part(const gnn__plan_t *plan, const gnn__distance_prior_t *prior,
                              int64_t p, bool tiles, gnn__attention_t *a)
{
    if (!prior->positions)
        return;
    const gnn__part_t *part = &plan->view->parts[p];
    const gnn_real_t *strips = tiles && a->transposed ? prior->down : prior->up;
    const int64_t *dst = part->dst_position ? part->dst_position : prior->positions,
                  *src = part->src_position ? part->src_position
                                            : prior->positions + plan->graph->n_dst;
    a->prior = (gnn__prior_strips_t){.at = strips ? strips + set_at(plan, prior, p) : NULL,
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

void gnn__distance_prior_add(const gnn__plan_t *plan, const gnn__distance_prior_t *prior, int64_t p,
                             int64_t chunks, bool tiles)
{
    const int64_t stride = prior->stride, heads = plan->shape.heads;
    const gnn_real_t *from = prior->partials;
    for (int64_t c = 0; prior->sums && c < chunks; c++)
        for (int64_t a = 0; a < heads; a++, from += stride) {
            gnn_real_t *to = prior->sums + set_at(plan, prior, p) + a * stride;
            for (int64_t x = 0; x < stride; x++)
                to[x] += from[tiles ? stride - 1 - x : x];
        }
}

void gnn__distance_prior_grad(const gnn__plan_t *plan, const gnn__distance_prior_t *prior)
{
    const int64_t heads = plan->shape.heads;
    for (int64_t r = 0; prior->sums && r < prior->sets * heads; r++)
        fold_head(plan, r / heads, r % heads, prior->first, prior->count,
                  prior->sums + r * prior->stride + GNN__PRIOR_MARGIN);
}

/* ---- keys by distance ---- */

/* ---- what there is ---- */

static bool is_keys(const gnn__plan_t *plan, int p)
{
    return plan->prior[p] && plan->prior[p]->key_row;
}

bool gnn__has_keys(const gnn__plan_t *plan)
{
    bool has = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        has |= is_keys(plan, p);
    return has;
}

static bool wants_key_gradients(const gnn__plan_t *plan)
{
    bool wants = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        wants |= is_keys(plan, p) && gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p);
    return wants;
}

/* True if all heads read the same columns of every table. */
static bool heads_share(const gnn__plan_t *plan)
{
    bool share = true;
    for (int p = 0; p < GNN_PRIORS; p++)
        for (int64_t h = 1; is_keys(plan, p) && h < plan->shape.heads; h++)
            share &= plan->prior[p]->key_column(&plan->prior_shape[p], h) ==
                     plan->prior[p]->key_column(&plan->prior_shape[p], 0);
    return share;
}

static int64_t width_of(const gnn__plan_t *plan)
{
    const gnn__attention_t a = gnn__attention_describe(plan);
    return gnn__tile_row(&a, a.d_k);
}

bool gnn__distance_keys_fit(const gnn__plan_t *plan, gnn__key_chunks_t chunks)
{
    enum { FEW = 1 << 25, TIMES_ROWS = 8 };
    int64_t first, count, numbers = 0, nodes = 0;
    if (!gnn__has_keys(plan) || chunks.tiles == 0)
        return true;
    const int64_t stride = gnn__distance_places(plan, &first, &count), width = width_of(plan);
    if (!gnn__mul(stride, plan->shape.heads * width, &numbers) ||
        !gnn__mul(numbers, chunks.tiles, &numbers) ||
        !gnn__mul(plan->graph->n_dst + plan->graph->n_src, plan->shape.heads * width, &nodes))
        return false;
    return numbers <= FEW || numbers / TIMES_ROWS <= nodes;
}

/* ---- memory ---- */

static void carve_sums(gnn__carve_t *carve, gnn__key_chunks_t chunks, int64_t all,
                       gnn__distance_keys_t *keys)
{
    int64_t tiles = 0, rows = 0;
    carve->overflow |=
        !gnn__mul(all, chunks.tiles, &tiles) || !gnn__mul(keys->parameters, chunks.rows, &rows);
    keys->partials = gnn__carve(carve, tiles, sizeof *keys->partials);
    keys->row_partials = gnn__carve(carve, rows, sizeof *keys->row_partials);
    if (chunks.tiles == 0)
        keys->partials = NULL;
    if (chunks.rows == 0)
        keys->row_partials = NULL;
}

void gnn__distance_keys_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                              gnn__key_chunks_t chunks, gnn__distance_keys_t *keys)
{
    int64_t all = 0;
    memset(keys, 0, sizeof *keys);
    if (!gnn__has_keys(plan))
        return;
    const int64_t heads = plan->shape.heads;
    keys->stride = gnn__distance_places(plan, &keys->first, &keys->count);
    for (int p = 0; p < GNN_PRIORS; p++)
        if (is_keys(plan, p)) {
            const gnn_tensor_t *t = &plan->in[GNN_AGGREGATE_PRIOR_0 + p];
            keys->row[p] = gnn__carve(carve, keys->stride, sizeof *keys->row[p]);
            keys->column[p] = gnn__carve(carve, heads, sizeof *keys->column[p]);
            keys->parameters += gnn__round_up(t->rows * t->cols, 16);
        }
    carve->overflow |= !gnn__mul(keys->stride, heads * width_of(plan), &all);
    const int64_t laid_out = chunks.tiles == 0 ? 0 : heads_share(plan) ? all / heads : all;
    keys->rows = gnn__carve(carve, laid_out, sizeof *keys->rows);
    keys->blocks = gnn__carve(carve, laid_out, sizeof *keys->blocks);
    if (chunks.tiles == 0)
        keys->rows = keys->blocks = NULL;
    if (backward)
        carve_sums(carve, chunks, all, keys);
    if (!wants_key_gradients(plan))
        keys->partials = keys->row_partials = NULL;
}

/* ---- which keys ---- */

/* Finds the range of slots that pairs of parts in tiles have. */
static void find_reach(const gnn__plan_t *plan, const gnn__distance_prior_t *prior,
                       const gnn__distance_keys_t *keys, gnn__keys_t *k)
{
    const int64_t *dst = prior->positions, *src = dst + plan->graph->n_dst,
                  origin = GNN__PRIOR_MARGIN - keys->first;
    k->low = keys->stride;
    k->high = -1;
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__pairs_t *pairs = &plan->view->parts[p].pairs;
        if (gnn__pairs_form(pairs) != GNN__SPANS || !gnn__distances_are_straight(plan, p))
            continue;
        for (int64_t r = 0; r < pairs->n_rows; r++) {
            const int64_t lo = pairs->lo[r], hi = pairs->hi[r];
            if (lo == hi)
                continue;
            k->low = gnn__min(k->low, src[lo] - dst[r] + origin);
            k->high = gnn__max(k->high, src[lo] + hi - 1 - lo - dst[r] + origin);
        }
    }
}

static void find_rows(const gnn__plan_t *plan, const gnn__distance_keys_t *keys, int p,
                      int64_t from, int64_t to)
{
    for (int64_t x = from; x < to; x++)
        keys->row[p][x] = (int32_t)plan->prior[p]->key_row(&plan->prior_shape[p],
                                                           x - GNN__PRIOR_MARGIN + keys->first);
    for (int64_t h = 0; h < plan->shape.heads; h++)
        keys->column[p][h] = plan->prior[p]->key_column(&plan->prior_shape[p], h);
}

/* Tables, with the rows of slots from .. to - 1. */
static void find_tables(const gnn__plan_t *plan, const gnn__distance_keys_t *keys, int64_t from,
                        int64_t to, gnn__keys_t *k)
{
    int64_t sums = 0;
    k->count = 0;
    for (int p = 0; p < GNN_PRIORS; p++) {
        if (!is_keys(plan, p))
            continue;
        const gnn_tensor_t *t = &plan->in[GNN_AGGREGATE_PRIOR_0 + p];
        find_rows(plan, keys, p, from, to);
        k->table[k->count++] =
            (gnn__key_table_t){t->data, t->stride, t->cols, keys->row[p], keys->column[p], sums};
        sums += gnn__round_up(t->rows * t->cols, 16);
    }
}

static bool share_key(const gnn__keys_t *k, int64_t x, int64_t y)
{
    bool share = true;
    for (int64_t t = 0; t < k->count; t++)
        share &= k->table[t].row[x] == k->table[t].row[y];
    return share;
}

/* Finds the ranges at both ends in which all slots have the same keys: up to k->near those of
 * the first, from k->far on those of the last. */
static void find_ends(gnn__keys_t *k)
{
    enum { BLOCK = GNN__KEY_BLOCK };
    k->near = k->low;
    k->far = k->high;
    while (k->near < k->high && share_key(k, k->near + 1, k->low))
        k->near++;
    while (k->far - 1 > k->near && share_key(k, k->far - 1, k->high))
        k->far--;
    if ((k->near + 1) / BLOCK * BLOCK - BLOCK < k->low)
        k->near = k->low - 1;
    if ((k->far + BLOCK - 1) / BLOCK * BLOCK + BLOCK > k->high + 1)
        k->far = k->high + 1;
    k->first = gnn__max(k->low, k->near);
    k->last = gnn__min(k->high, k->far);
}

/* ---- laying them out ---- */

/* Fills the rows of one block of one head; false: some value is not finite. */
static bool fill_rows(const gnn__attention_t *a, int64_t h, int64_t block, gnn_real_t factor,
                      gnn_real_t *rows)
{
    const int64_t d_k = a->d_k;
    gnn_real_t nothing = 0;
    memset(rows, 0, sizeof *rows * (size_t)(GNN__KEY_BLOCK * a->keys.width));
    for (int64_t x = block * GNN__KEY_BLOCK; x < (block + 1) * GNN__KEY_BLOCK; x++) {
        for (int64_t t = 0; x >= a->keys.low && x <= a->keys.high && t < a->keys.count; t++) {
            const gnn__key_table_t *table = &a->keys.table[t];
            const gnn_real_t *key = table->at + table->row[x] * table->stride + table->column[h];
#pragma omp simd reduction(+ : nothing)
            for (int64_t c = 0; c < d_k; c++) {
                rows[c] += factor * key[c];
                nothing += rows[c] * 0;
            }
        }
        rows += a->keys.width;
    }
    return nothing == 0;
}

/* Lays out one block more on either side of the slots that differ: kernels multiply whole
 * groups of rows. */
static void lay_out(const gnn__distance_keys_t *keys, gnn_real_t factor, int threads,
                    gnn__attention_t *a)
{
    const int64_t size = GNN__KEY_BLOCK * a->keys.width,
                  from = gnn__max((a->keys.first + 1) / GNN__KEY_BLOCK - 1, 0),
                  to = gnn__min(a->keys.last / GNN__KEY_BLOCK + 2, keys->stride / GNN__KEY_BLOCK),
                  heads = a->keys.head_rows > 0 ? a->heads : 1;
    const gnn__attention_tiles_t *kernels = gnn__attention_tiles();
    int broken = 0;
    GNN__PARALLEL (threads) {
#pragma omp for schedule(static) reduction(| : broken) collapse(2) nowait
        for (int64_t h = 0; h < heads; h++)
            for (int64_t b = from; b < to; b++) {
                const int64_t at = h * a->keys.head_rows * a->keys.width + b * size;
                broken |= !fill_rows(a, h, b, factor, keys->rows + at);
                kernels->pack_keys(keys->rows + at, a->keys.width, keys->blocks + at);
            }
    }
    a->keys.finite = !broken;
}

void gnn__distance_keys_fill(const gnn__plan_t *plan, bool backward,
                             const gnn__distance_prior_t *prior, const gnn__distance_keys_t *keys,
                             int threads, gnn__attention_t *a)
{
    const double log2_e = 1.4426950408889634;
    bool all_in_tiles = keys->rows != NULL;
    if (keys->stride == 0)
        return;
    find_reach(plan, prior, keys, &a->keys);
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        all_in_tiles &= gnn__pairs_form(&plan->view->parts[p].pairs) == GNN__SPANS &&
                        gnn__distances_are_straight(plan, p);
    if (all_in_tiles)
        find_tables(plan, keys, a->keys.low, a->keys.high + 1, &a->keys);
    else
        find_tables(plan, keys, GNN__PRIOR_MARGIN, GNN__PRIOR_MARGIN + keys->count, &a->keys);
    a->keys.width = gnn__tile_row(a, a->d_k);
    a->keys.head_rows = heads_share(plan) ? 0 : keys->stride;
    a->keys.rows = keys->rows;
    a->keys.blocks = keys->blocks;
    find_ends(&a->keys);
    if (keys->rows)
        lay_out(keys, backward ? (gnn_real_t)(log2_e * (double)a->scale) : 1, threads, a);
}

/* ---- gradients ---- */

/* True if every head has columns of its own. */
static bool columns_apart(const gnn__distance_keys_t *keys, int p, int64_t heads, int64_t d_k)
{
    bool apart = true;
    for (int64_t h = 1; h < heads; h++)
        apart &= keys->column[p][h] >= keys->column[p][h - 1] + d_k;
    return apart;
}

/* Adds the sums of one head to the gradient of the table of prior p. */
static void fold_keys(const gnn__plan_t *plan, const gnn__distance_keys_t *keys,
                      const gnn__attention_t *a, int p, int64_t h, int64_t chunks)
{
    const int64_t width = a->keys.width, d_k = a->d_k, stride = keys->stride;
    const gnn_real_t scale = a->scale;
    for (int64_t x = a->keys.first; x <= a->keys.last; x++) {
        gnn_real_t *to =
            gnn__row(&plan->d[GNN_AGGREGATE_PRIOR_0 + p], keys->row[p][x]) + keys->column[p][h];
        for (int64_t c = 0; c < chunks; c++) {
            const gnn_real_t *from = keys->partials + ((c * a->heads + h) * stride + x) * width;
#pragma omp simd
            for (int64_t k = 0; k < d_k; k++)
                to[k] += scale * from[k];
        }
    }
}

static void fold_tiles(const gnn__plan_t *plan, const gnn__distance_keys_t *keys,
                       const gnn__attention_t *a, int p, int64_t chunks, int threads)
{
    const int together = columns_apart(keys, p, a->heads, a->d_k) ? threads : 1;
    GNN__PARALLEL_FOR (together, int64_t h = 0; h < a->heads; h++)
        fold_keys(plan, keys, a, p, h, chunks);
}

void gnn__distance_keys_grad(const gnn__plan_t *plan, const gnn__distance_keys_t *keys,
                             const gnn__attention_t *a, int64_t chunks, bool tiles, int threads)
{
    int64_t t = 0;
    for (int p = 0; p < GNN_PRIORS; p++) {
        if (!is_keys(plan, p))
            continue;
        const int64_t at = a->keys.table[t++].sums;
        if (tiles && keys->partials && gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p))
            fold_tiles(plan, keys, a, p, chunks, threads);
        else if (!tiles && keys->row_partials)
            gnn__add_chunks(&plan->d[GNN_AGGREGATE_PRIOR_0 + p], keys->row_partials + at, chunks,
                            keys->parameters);
    }
}

/* ---- values by distance ---- */

void gnn__distance_values_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                                int64_t chunks, gnn__distance_values_t *values)
{
    const gnn_tensor_t *table = &plan->in[GNN_AGGREGATE_MESSAGE_PARAMETERS];
    int64_t first, count, sums = 0;
    memset(values, 0, sizeof *values);
    if (!gnn__values_by_distance(plan))
        return;
    const int64_t places = gnn__distance_places(plan, &first, &count);
    values->parameters = gnn__round_up(table->rows * table->cols, 16);
    carve->overflow |= !gnn__mul(values->parameters, chunks, &sums);
    values->row = gnn__carve(carve, places, sizeof *values->row);
    values->column = gnn__carve(carve, plan->shape.value_heads, sizeof *values->column);
    if (backward)
        values->partials = gnn__carve(carve, sums, sizeof *values->partials);
    if (!gnn__wants_gradient(plan, GNN_AGGREGATE_MESSAGE_PARAMETERS))
        values->partials = NULL;
}

void gnn__distance_values_fill(const gnn__plan_t *plan, const gnn__distance_values_t *values,
                               gnn__attention_t *a)
{
    const gnn_tensor_t *table = &plan->in[GNN_AGGREGATE_MESSAGE_PARAMETERS];
    int64_t first, count;
    if (!values->row)
        return;
    gnn__distance_places(plan, &first, &count);
    for (int64_t k = 0; k < count; k++)
        values->row[GNN__PRIOR_MARGIN + k] =
            (int32_t)gnn__message_distance_row(&plan->message_shape, first + k);
    for (int64_t h = 0; h < plan->shape.value_heads; h++)
        values->column[h] = gnn__message_distance_column(&plan->message_shape, h);
    a->values =
        (gnn__key_table_t){table->data, table->stride, table->cols, values->row, values->column, 0};
}

void gnn__distance_values_grad(const gnn__plan_t *plan, const gnn__distance_values_t *values,
                               int64_t chunks)
{
    if (values->partials)
        gnn__add_chunks(&plan->d[GNN_AGGREGATE_MESSAGE_PARAMETERS], values->partials, chunks,
                        values->parameters);
}
