/* Shared by the strategies: zeroed and written gradients of inputs, threads that may write them,
 * partial sums of chunks, the most chunks of a view, positions of nodes. */
#include <graphs/halo.h>
#include <lib/aggregate/strategies.h>

/* ---- gradients of inputs ---- */

void gnn__zero_gradients(const gnn__plan_t *plan, unsigned but)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        const bool zero = gnn__wants_gradient(plan, k) && !plan->d_added[k] && !(but >> k & 1);
        const int64_t rows = zero ? plan->in[k].rows : 0, cols = plan->in[k].cols;
        const int threads = gnn__plan_threads(plan, rows * cols / 4);
        GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++)
            memset(gnn__row(&plan->d[k], r), 0, sizeof(gnn_real_t) * (size_t)cols);
    }
}

bool gnn__gradients_apart(const gnn_tensor_t *a, const gnn_tensor_t *b)
{
    if (a->data && b->data && a->stride == b->stride && a->stride > 0) {
        const int64_t shift = (b->data - a->data) % a->stride,
                      at = shift < 0 ? shift + a->stride : shift;
        if (at >= a->cols && at + b->cols <= a->stride)
            return true;
    }
    return !a->data || !b->data || a->rows == 0 || b->rows == 0 ||
           a->data + (a->rows - 1) * a->stride + a->cols <= b->data ||
           b->data + (b->rows - 1) * b->stride + b->cols <= a->data;
}

unsigned gnn__written_gradients(const gnn__plan_t *plan, gnn__form_t form)
{
    static const int rows_of_nodes[] = {GNN_AGGREGATE_SRC_MESSAGE, GNN_AGGREGATE_KEY,
                                        GNN_AGGREGATE_QUERY};
    const gnn__pairs_t *pairs = &plan->view->parts->pairs;
    unsigned written = 0;
    if (plan->view->n_parts != 1 || gnn__pairs_form(pairs) != form ||
        pairs->n_rows != plan->graph->n_dst || pairs->n_cols != plan->graph->n_src)
        return 0;
    for (int n = 0; n < 3; n++) {
        const int k = rows_of_nodes[n];
        bool alone = gnn__wants_gradient(plan, k) && !plan->d_added[k];
        for (int other = 0; alone && other < GNN_AGGREGATE_INPUTS; other++)
            alone = other == k || !gnn__wants_gradient(plan, other) ||
                    gnn__gradients_apart(&plan->d[k], &plan->d[other]);
        written |= alone ? 1u << k : 0;
    }
    return written;
}

/* The pass that writes a gradient: 1 by sender, 2 by receiver and edge; 0: it is written
 * outside of parallel loops. */
static int pass_of(const gnn__plan_t *plan, int input)
{
    switch (input) {
    case GNN_AGGREGATE_SRC_MESSAGE:
    case GNN_AGGREGATE_KEY: return 1;
    case GNN_AGGREGATE_DST_MESSAGE:
    case GNN_AGGREGATE_QUERY:
    case GNN_AGGREGATE_PRIOR_QUERY:
    case GNN_AGGREGATE_GATE:
    case GNN_AGGREGATE_EDGE_FEATURES:
    case GNN_AGGREGATE_EDGE_WEIGHT:
    case GNN_AGGREGATE_EDGE_BIAS: return 2;
    case GNN_AGGREGATE_PRIOR_0:
    case GNN_AGGREGATE_PRIOR_1:
    case GNN_AGGREGATE_PRIOR_2: {
        const gnn_prior_numbers_t numbers = gnn__prior_numbers(plan, input);
        return numbers == GNN_PRIOR_PER_SENDER ? 1 : numbers == GNN_PRIOR_PER_RECEIVER ? 2 : 0;
    }
    default: return 0;
    }
}

/* True if row r of one window shares memory with row s of the other, r != s: a row then has
 * two owners. */
static bool rows_cross(const gnn_tensor_t *a, const gnn_tensor_t *b)
{
    if (!a->data || !b->data || a->rows == 0 || b->rows == 0)
        return false;
    const gnn_real_t *a_end = a->data + (a->rows - 1) * a->stride + a->cols,
                     *b_end = b->data + (b->rows - 1) * b->stride + b->cols;
    if (a->data >= b_end || b->data >= a_end)
        return false;
    if (a->stride != b->stride)
        return true;
    int64_t shift = b->data - a->data;
    return shift >= 0 ? shift + b->cols > a->stride : a->cols - shift > a->stride;
}

bool gnn__gradients_cross(const gnn__plan_t *plan)
{
    for (int a = 0; a < GNN_AGGREGATE_INPUTS; a++)
        for (int b = a + 1; b < GNN_AGGREGATE_INPUTS; b++)
            if (pass_of(plan, a) != 0 && pass_of(plan, b) != 0 && rows_cross(&plan->d[a], &plan->d[b]))
                return true;
    return false;
}

int gnn__gradient_threads(const gnn__plan_t *plan, int64_t work)
{
    for (int a = 0; a < GNN_AGGREGATE_INPUTS; a++)
        for (int b = a + 1; b < GNN_AGGREGATE_INPUTS; b++)
            if (pass_of(plan, a) != 0 && pass_of(plan, a) == pass_of(plan, b) &&
                rows_cross(&plan->d[a], &plan->d[b]))
                return 1;
    return gnn__plan_threads(plan, work);
}

int gnn__sum_slices(const gnn__plan_t *plan, gnn_real_t *partials, int64_t *chunks, int64_t size)
{
    const gnn__halo_t *halo = plan->graph->wide_of;
    if (!halo)
        return GNN_OK;
    gnn__slice_sums_t sums = gnn__slice_sums(halo->ranks, size);
    const double *total;
    for (int64_t k = 0; k < gnn__slices(halo->ranks); k++) {
        double *block;
        GNN_TRY(gnn__slice_sums_next(&sums, &block));
        for (int64_t c = 0; c < size; c++)
            block[c] = (double)partials[k * size + c];
        gnn__slice_sums_add(&sums, gnn__first_slice(halo->ranks) + k);
    }
    GNN_TRY(gnn__slice_sums_end(&sums, &total));
    for (int64_t c = 0; c < size; c++)
        partials[c] = (gnn_real_t)total[c];
    *chunks = 1;
    return GNN_OK;
}

void gnn__add_chunks(const gnn_tensor_t *target, const gnn_real_t *partials, int64_t chunks,
                     int64_t stride)
{
    for (int64_t c = 0; target->data && c < chunks; c++)
        for (int64_t r = 0; r < target->rows; r++)
            for (int64_t x = 0; x < target->cols; x++)
                gnn__row(target, r)[x] += partials[c * stride + r * target->cols + x];
}

int gnn__add_partials(const gnn__plan_t *plan, const gnn_tensor_t *target, gnn_real_t *partials,
                      int64_t chunks, int64_t stride)
{
    if (target->data)
        GNN_TRY(gnn__sum_slices(plan, partials, &chunks, stride));
    gnn__add_chunks(target, partials, chunks, stride);
    return GNN_OK;
}

/* ---- passes over rows ---- */

/* Steps in which the slices of early rows run; after each, messages are moved on. */
enum { STEPS = 16 };

int gnn__await_halo(const gnn__plan_t *plan)
{
    return plan->graph->wide_of ? gnn__ranks_arrive(plan->graph->wide_of->ranks) : GNN_OK;
}

int64_t gnn__rows_at_hand(const gnn__plan_t *plan, int64_t rows)
{
    return plan->graph->wide_of ? plan->graph->wide_of->n_own : rows;
}

/* Runs the early, or the late, rows of a slice: each run of them in one call. */
static void run_slice(const gnn__pairs_t *pairs, int64_t first, bool late, const gnn__row_pass_t *pass)
{
    const int64_t end = gnn__min(first + GNN_SLICE, pairs->own_rows);
    int64_t row = first, from;
    if (pass->phase) {
        pass->rows(pass->user, first, end);
        return;
    }
    while (row < end) {
        while (row < end && (pairs->late[row] != 0) != late)
            row++;
        for (from = row; row < end && (pairs->late[row] != 0) == late;)
            row++;
        if (from < row)
            pass->rows(pass->user, from, row);
    }
}

static void run_slices(const gnn__pairs_t *pairs, int64_t first, int64_t count, bool late,
                       int threads, const gnn__row_pass_t *pass)
{
    GNN__EACH_CHUNK (s, count, threads)
        run_slice(pairs, (first + s) * GNN_SLICE, late, pass);
}

static int run_early(gnn__ranks_t *ranks, const gnn__pairs_t *pairs, int threads,
                     const gnn__row_pass_t *pass)
{
    const int64_t slices = (pairs->own_rows + GNN_SLICE - 1) / GNN_SLICE,
                  step = gnn__max(slices / STEPS, 4 * threads);
    if (pass->phase)
        pass->phase(pass->user, GNN__EARLY_ROWS);
    for (int64_t first = 0; first < slices; first += step) {
        run_slices(pairs, first, gnn__min(slices - first, step), false, threads, pass);
        GNN_TRY(gnn__ranks_advance(ranks));
    }
    for (int64_t r = 0; r < pairs->own_rows && !pass->phase; r++)
        ranks->transport->early_rows += !pairs->late[r];
    return GNN_OK;
}

/* The halo's rows, which are empty, are the last. */
static void run_late(const gnn__pairs_t *pairs, int threads, const gnn__row_pass_t *pass)
{
    if (pass->phase)
        pass->phase(pass->user, GNN__LATE_ROWS);
    run_slices(pairs, 0, (pairs->own_rows + GNN_SLICE - 1) / GNN_SLICE, true, threads, pass);
    if (pairs->n_rows > pairs->own_rows)
        pass->rows(pass->user, pairs->own_rows, pairs->n_rows);
}

int gnn__pass_rows(const gnn__plan_t *plan, const gnn__pairs_t *pairs, int64_t *bounds, int threads,
                   const gnn__row_pass_t *pass)
{
    gnn__ranks_t *ranks = plan->graph->wide_of ? plan->graph->wide_of->ranks : NULL;
    const bool early = ranks && ranks->n_flights > 0 && pairs->late;
    if (early)
        GNN_TRY(run_early(ranks, pairs, threads, pass));
    GNN_TRY(gnn__await_halo(plan));
    if (ranks && pass->arrived)
        pass->arrived(pass->user);
    if (early) {
        run_late(pairs, threads, pass);
        return GNN_OK;
    }
    const int64_t chunks = gnn__chunks(pairs, bounds);
    GNN__EACH_CHUNK (c, chunks, threads)
        pass->rows(pass->user, bounds[c], bounds[c + 1]);
    return GNN_OK;
}

/* ---- chunks and positions ---- */

int64_t gnn__most_chunks(const gnn__built_view_t *view)
{
    int64_t most = 1;
    for (int64_t p = 0; p < view->n_parts; p++)
        for (int side = 0; side < (view->transposed ? 2 : 1); side++) {
            const gnn__pairs_t *pairs = side ? &view->transposed[p].pairs : &view->parts[p].pairs;
            most = gnn__max(most, gnn__pairs_max_chunks(pairs, gnn__per_chunk(pairs)));
        }
    return most;
}

void gnn__positions(const gnn_graph_t *g, bool receivers, int64_t *positions)
{
    const int64_t n = receivers ? g->n_dst : g->n_src,
                  *offsets = receivers ? g->dst_segments : g->src_segments,
                  *starts = receivers ? g->dst_start : g->src_start;
    for (int64_t k = 0; k < n; k++)
        positions[k] = g->wide_of ? g->wide_of->nodes[k] : k;
    for (int64_t s = 0; s < g->n_segments; s++)
        for (int64_t k = offsets[s]; k < offsets[s + 1]; k++)
            positions[k] = k - offsets[s] + starts[s];
}
