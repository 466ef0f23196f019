/* Keys by distance for the kernels of attention, and the way back from their gradients. */
#include <lib/aggregate/fast/distance_keys.h>
#include <lib/kernels/attention/by_tile/by_tile.h>

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

static bool wants_gradients(const gnn__plan_t *plan)
{
    bool wants = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        wants |= is_keys(plan, p) && gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p);
    return wants;
}

/* Do all heads read the same columns of every table? */
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
    if (!wants_gradients(plan))
        keys->partials = keys->row_partials = NULL;
}

/* ---- which keys ---- */

/* The places that the pairs of parts in tiles have. */
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

/* Tables, with the rows of places from .. to - 1. */
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

/* How far the keys of the first place reach, and from where on those of the last do. */
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

/* The rows of one block of one head; false: some number is not finite. */
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

/* A block more on either side of the places that differ: kernels multiply whole groups of rows. */
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

/* Does every head have columns of its own? */
static bool columns_apart(const gnn__distance_keys_t *keys, int p, int64_t heads, int64_t d_k)
{
    bool apart = true;
    for (int64_t h = 1; h < heads; h++)
        apart &= keys->column[p][h] >= keys->column[p][h - 1] + d_k;
    return apart;
}

/* The sums of one head go to the table of prior p. */
static void fold_head(const gnn__plan_t *plan, const gnn__distance_keys_t *keys,
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
        fold_head(plan, keys, a, p, h, chunks);
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
            gnn__add_partials(&plan->d[GNN_AGGREGATE_PRIOR_0 + p], keys->row_partials + at, chunks,
                              keys->parameters);
    }
}
