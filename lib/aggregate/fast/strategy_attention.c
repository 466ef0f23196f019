/* The strategy of attention by tiles and by rows, part by part: in tiles where the scores are
 * dot products on spans, else row by row. Saved for backward: the output and one log-sum-exp per
 * receiver and head; a part's backward gets those of all parts together. */
#include <lib/aggregate/fast/attention_call.h>
#include <lib/aggregate/fast/distances.h>
#include <lib/aggregate/fast/tile_units.h>
#include <lib/aggregate/strategies.h>
#include <lib/aggregate/tables.h>
#include <lib/kernels/attention/attention.h>
#include <lib/kernels/attention/by_tile/by_tile.h>

#include <math.h>
#include <omp.h>

/* ---- a learned sink per head ---- */

/* With l the log-sum-exp of a receiver's scores and s the sink, the weights of a softmax are
 * exp(score - l), those with a sink exp(score - l'), l' = log(exp(l) + exp(s)): the output times
 * exp(l - l'). Backward reads l' in place of l, and nothing else. */
static bool has_sink(const gnn__plan_t *plan)
{
    return plan->hints.weigher == GNN__WEIGHER_SOFTMAX_SINK;
}

/* log(exp(l) + exp(s)) */
static double join(double l, double s)
{
    const double most = l > s ? l : s, least = l > s ? s : l;
    return most == -INFINITY ? most : most + log1p(exp(least - most));
}

static void sink_row(const gnn__plan_t *plan, int64_t i, gnn_real_t *lse)
{
    const gnn_real_t *sink = plan->weigher_shape.parameters.data;
    const int64_t d_v = plan->shape.d_v;
    gnn_real_t *y = gnn__row(&plan->out, i);
    for (int64_t a = 0; a < plan->shape.heads; a++, y += d_v) {
        const double l = plan->view->degree[i] > 0 ? (double)lse[a] : -INFINITY,
                     joined = join(l, (double)sink[a]);
        const gnn_real_t factor = l == -INFINITY ? 0 : (gnn_real_t)exp(l - joined);
        for (int64_t c = 0; factor != 0 && c < d_v; c++)
            y[c] *= factor;
        lse[a] = (gnn_real_t)joined;
    }
}

static void sink_rows(const gnn__plan_t *plan, gnn_real_t *lse, int threads)
{
    if (!has_sink(plan))
        return;
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < plan->graph->n_dst; i++)
        sink_row(plan, i, lse + i * plan->shape.heads);
}

static void sink_grad(const gnn__plan_t *plan, const gnn_real_t *lse, const gnn_real_t *delta)
{
    const gnn_tensor_t *d_sink = &plan->d[GNN_AGGREGATE_WEIGHER_PARAMETERS];
    const int64_t heads = plan->shape.heads;
    for (int64_t a = 0; d_sink->data && has_sink(plan) && a < heads; a++) {
        const double sink = (double)plan->weigher_shape.parameters.data[a];
        double sum = 0;
        for (int64_t k = a; k < plan->graph->n_dst * heads; k += heads)
            sum += lse[k] == -INFINITY ? 0 : exp(sink - (double)lse[k]) * (double)delta[k];
        d_sink->data[a] -= (gnn_real_t)sum;
    }
}

/* ---- memory of a run, and which parts go in tiles ---- */

typedef struct attention_run {
    int64_t *bounds;
    gnn_real_t *scratch; /* scratch_size values per thread */
    int64_t scratch_size;
    gnn_real_t *largest, *sum; /* n_dst x heads */
    gnn_real_t *delta;         /* n_dst x heads, backward */
    gnn_real_t *d_a;           /* chunks x heads * d_k, backward */
    gnn_real_t *tiles;         /* forward: packed tiles; backward: their sums of d_q */
    gnn__distance_prior_t prior;
    gnn__distance_keys_t keys;
    gnn__distance_values_t values;
} attention_run_t;

/* True if part p, which `a` describes, goes in tiles. They take no weights and no values by
 * distance: a normalised view of spans goes row by row. */
static bool in_tiles(const gnn__plan_t *plan, int64_t p, const gnn__attention_t *a)
{
    return a->score == GNN__SCORE_DOT && gnn__pairs_form(&a->pairs) == GNN__SPANS && !a->dst_scale &&
           !a->src_scale && !gnn__values_by_distance(plan) && gnn__distances_are_straight(plan, p);
}

/* The most that any part's tiles need for all threads. */
static int64_t tile_memory(const gnn__plan_t *plan, gnn__attention_t a, gnn__pass_t pass)
{
    int64_t most = 0;
    for (int64_t p = 0; (pass == GNN__FORWARD || plan->view->transposed) && p < plan->view->n_parts;
         p++) {
        gnn__attention_part(plan, p, pass, &a);
        const int64_t numbers = !in_tiles(plan, p, &a) ? 0
                                : pass == GNN__FORWARD ? gnn__tiles_packed(&a)
                                                       : gnn__tiles_sums(&a);
        most = gnn__max(most, numbers);
    }
    return most;
}

/* True if sums and maxima are needed after a part is done. Those of a single part in tiles are
 * needed by backward only. */
static bool leaves_sums(const gnn__plan_t *plan)
{
    gnn__attention_t a = gnn__attention_describe(plan);
    gnn__attention_part(plan, 0, GNN__FORWARD, &a);
    return plan->view->n_parts > 1 || !in_tiles(plan, 0, &a);
}

/* The most chunks of any part that have sums of their own by distance; `most` is the count for
 * parts that go row by row. */
static int64_t most_prior_chunks(const gnn__plan_t *plan, gnn__attention_t a, int64_t most)
{
    for (int64_t p = 0; plan->has_priors && plan->view->transposed && p < plan->view->n_parts; p++) {
        gnn__attention_part(plan, p, GNN__SEND, &a);
        if (in_tiles(plan, p, &a))
            most = gnn__max(most, gnn__tiles_chunks(&a));
    }
    return most;
}

/* Counts the chunks that have sums of their own of keys; forward has one, which counts as one in
 * tiles. */
static gnn__key_chunks_t key_chunks(const gnn__plan_t *plan, gnn__attention_t a)
{
    gnn__key_chunks_t chunks = {0, 0};
    if (!gnn__has_keys(plan))
        return chunks;
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        gnn__attention_part(plan, p, GNN__FORWARD, &a);
        if (in_tiles(plan, p, &a))
            chunks.tiles = 1;
        else
            chunks.rows = gnn__most_chunks(plan->view);
    }
    if (chunks.tiles > 0)
        chunks.tiles = most_prior_chunks(plan, a, chunks.tiles);
    return chunks;
}

static bool takes(const gnn__plan_t *plan)
{
    return gnn__attention_is_fast(plan) && plan->edge_width == 0 && !plan->edge_key &&
           gnn__distance_prior_fits(plan) &&
           gnn__distance_keys_fit(plan, key_chunks(plan, gnn__attention_describe(plan)));
}

static int memory(const gnn__plan_t *plan, void *scratch, bool backward, attention_run_t *run,
                  size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const gnn__attention_t a = gnn__attention_describe(plan);
    const int64_t most = gnn__most_chunks(plan->view), rows = gnn__attention_rows_scratch(&a),
                  tiles = gnn__attention_tiles_scratch(&a);
    int64_t scratch_all = 0, states = 0, sums = 0;
    run->scratch_size = gnn__round_up(gnn__max(rows, tiles), 16);
    carve.overflow |= !gnn__mul(run->scratch_size, plan->threads, &scratch_all) ||
                      !gnn__mul(plan->graph->n_dst, a.heads, &states) ||
                      !gnn__mul(most, a.heads * a.d_k, &sums);
    run->bounds = gnn__carve(&carve, most + 1, sizeof *run->bounds);
    run->scratch = gnn__carve(&carve, scratch_all, sizeof *run->scratch);
    gnn__distance_prior_carve(plan, &carve, backward, most_prior_chunks(plan, a, most), &run->prior);
    gnn__distance_keys_carve(plan, &carve, backward, key_chunks(plan, a), &run->keys);
    gnn__distance_values_carve(plan, &carve, backward, most, &run->values);
    if (backward) {
        run->delta = gnn__carve(&carve, states, sizeof *run->delta);
        run->d_a = gnn__carve(&carve, plan->has[GNN_AGGREGATE_SCORE_PARAMETERS] ? sums : 0,
                              sizeof *run->d_a);
        run->tiles = gnn__carve(&carve, tile_memory(plan, a, GNN__SEND), sizeof *run->tiles);
    } else {
        const bool leaves = leaves_sums(plan), apart = leaves && !plan->recording;
        run->sum = leaves ? gnn__carve(&carve, states, sizeof *run->sum) : NULL;
        run->largest = apart || (has_sink(plan) && !plan->recording)
                           ? gnn__carve(&carve, states, sizeof *run->largest)
                           : NULL;
        run->tiles = gnn__carve(&carve, tile_memory(plan, a, GNN__FORWARD), sizeof *run->tiles);
    }
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    attention_run_t run;
    GNN_TRY(memory(plan, NULL, false, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    GNN_TRY(memory(plan, NULL, true, &run, &call->backward_scratch));
    gnn__carve_t saved = {0};
    gnn__carve(&saved, plan->graph->n_dst * plan->shape.heads, sizeof(gnn_real_t));
    gnn__attention_keep(plan, call);
    return gnn__carved(&saved, &call->saved_bytes[0]);
}

/* ---- one part, in fixed chunks ---- */

static gnn_real_t *zeroed(gnn_real_t *sums, int64_t count)
{
    if (sums)
        memset(sums, 0, sizeof *sums * (size_t)count);
    return sums;
}

typedef struct {
    const gnn__plan_t *plan;
    const attention_run_t *run;
    const gnn__attention_t *a;
    gnn__pass_t pass;
    int threads;
} rows_pass_t;

/* Rows of a pass without sums of chunks. */
static void attend_rows(const void *user, int64_t row0, int64_t row1)
{
    const rows_pass_t *pass = user;
    const gnn__attention_rows_t *kernels = gnn__attention_rows();
    gnn_real_t *scratch = pass->run->scratch + omp_get_thread_num() * pass->run->scratch_size;
    if (pass->pass == GNN__FORWARD)
        kernels->forward(pass->a, row0, row1, scratch);
    else
        kernels->send(pass->a, row0, row1, scratch);
}

/* For rows from `first` to `end` - 1. */
static void compute_delta(const attention_run_t *run, const gnn__attention_t *a, int64_t first,
                          int64_t end, int threads)
{
    const gnn__attention_rows_t *kernels = gnn__attention_rows();
    const int64_t per = 256, blocks = (end - first + per - 1) / per;
    GNN__PARALLEL_FOR (threads, int64_t b = 0; b < blocks; b++)
        kernels->delta(a, first + b * per, gnn__min(first + b * per + per, end), run->delta);
}

static void compute_delta_of_halo(void *user)
{
    const rows_pass_t *pass = user;
    const int64_t end = pass->plan->graph->n_dst;
    if (pass->pass == GNN__SEND)
        compute_delta(pass->run, pass->a, gnn__rows_at_hand(pass->plan, end), end, pass->threads);
}

static int run_rows(const gnn__plan_t *plan, const attention_run_t *run, const gnn__attention_t *a,
                    int64_t p, gnn__pass_t pass, int threads)
{
    rows_pass_t rows = {plan, run, a, pass, threads};
    if (pass != GNN__RECEIVE)
        return gnn__pass_rows(
            plan, &a->pairs, run->bounds, threads,
            &(gnn__row_pass_t){.rows = attend_rows, .arrived = compute_delta_of_halo, .user = &rows});
    const gnn__attention_rows_t *kernels = gnn__attention_rows();
    const int64_t chunks = gnn__chunks(&a->pairs, run->bounds), width = a->heads * a->d_k;
    const bool parameters = gnn__wants_gradient(plan, GNN_AGGREGATE_SCORE_PARAMETERS);
    const int64_t sums = run->prior.sums ? a->heads * run->prior.stride : 0,
                  keys = run->keys.row_partials ? run->keys.parameters : 0,
                  values = run->values.partials ? run->values.parameters : 0;
    GNN__EACH_CHUNK (c, chunks, threads) {
        gnn_real_t *scratch = run->scratch + omp_get_thread_num() * run->scratch_size;
        const gnn__row_sums_t own = {
            zeroed(parameters ? run->d_a + c * width : NULL, width),
            zeroed(sums ? run->prior.partials + c * sums : NULL, sums),
            zeroed(keys ? run->keys.row_partials + c * keys : NULL, keys),
            zeroed(values ? run->values.partials + c * values : NULL, values)};
        kernels->receive(a, run->bounds[c], run->bounds[c + 1], scratch, &own);
    }
    if (parameters)
        GNN_TRY(gnn__add_partials(plan, &plan->d[GNN_AGGREGATE_SCORE_PARAMETERS], run->d_a, chunks,
                                  width));
    if (sums)
        gnn__distance_prior_add(plan, &run->prior, p, chunks, false);
    if (keys)
        gnn__distance_keys_grad(plan, &run->keys, a, chunks, false, threads);
    if (values)
        gnn__distance_values_grad(plan, &run->values, chunks);
    return GNN_OK;
}

/* Tiles do both passes of backward in one, by sender. */
static int run_part(const gnn__plan_t *plan, const attention_run_t *run, gnn__attention_t *a,
                    int64_t p, gnn__pass_t pass, int threads)
{
    gnn__attention_part(plan, p, pass, a);
    const bool tiles = in_tiles(plan, p, a);
    gnn__distance_prior_part(plan, &run->prior, p, tiles, a);
    if (tiles && pass == GNN__FORWARD) {
        gnn__tiles_forward(a, run->scratch, run->scratch_size, run->tiles, threads);
    } else if (tiles && pass == GNN__SEND) {
        gnn__tiles_backward(a, run->scratch, run->scratch_size, run->tiles, run->prior.partials,
                            run->keys.partials, threads);
        gnn__distance_prior_add(plan, &run->prior, p, gnn__tiles_chunks(a), true);
        gnn__distance_keys_grad(plan, &run->keys, a, gnn__tiles_chunks(a), true, threads);
    } else if (!tiles && (pass != GNN__SEND || a->grad.k.at || a->grad.v.at)) {
        return run_rows(plan, run, a, p, pass, threads);
    }
    return GNN_OK;
}

/* ---- forward and backward ---- */

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    attention_run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    gnn__attention_t a = gnn__attention_describe(plan);
    a.state.largest = plan->recording ? call->saved[0] : run.largest;
    a.state.sum = run.sum;
    gnn__distance_prior_fill(plan, false, &run.prior);
    const int threads = gnn__plan_threads(plan, gnn__attention_work(plan));
    gnn__distance_keys_fill(plan, false, &run.prior, &run.keys, threads, &a);
    gnn__distance_values_fill(plan, &run.values, &a);
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        GNN_TRY(run_part(plan, &run, &a, p, GNN__FORWARD, threads));
    sink_rows(plan, a.state.largest, threads);
    return GNN_OK;
}

/* Gradients that tiles write, and that are not zeroed before. */
static unsigned written_by_tiles(const gnn__plan_t *plan, gnn__attention_t *a)
{
    const unsigned written = gnn__written_gradients(plan, GNN__SPANS);
    if (written == 0)
        return 0;
    gnn__attention_part(plan, 0, GNN__SEND, a);
    if (!in_tiles(plan, 0, a))
        return 0;
    a->grad.writes_q = written >> GNN_AGGREGATE_QUERY & 1 ? plan->graph->n_dst : 0;
    a->grad.writes_k = written >> GNN_AGGREGATE_KEY & 1;
    a->grad.writes_v = written >> GNN_AGGREGATE_SRC_MESSAGE & 1;
    return written;
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    attention_run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    gnn__attention_t a = gnn__attention_describe(plan);
    gnn__attention_gradients(plan, call, &a);
    a.grad.delta = run.delta;
    gnn__zero_gradients(plan, written_by_tiles(plan, &a));
    gnn__distance_prior_fill(plan, true, &run.prior);
    const int threads = gnn__gradient_threads(plan, gnn__attention_work(plan));
    gnn__distance_keys_fill(plan, true, &run.prior, &run.keys, threads, &a);
    gnn__distance_values_fill(plan, &run.values, &a);
    compute_delta(&run, &a, 0, gnn__rows_at_hand(plan, plan->graph->n_dst), threads);
    sink_grad(plan, a.grad.lse, run.delta);
    const bool by_distance = run.prior.sums || run.keys.partials || run.values.partials ||
                             run.keys.row_partials || a.keys.d_q.at,
               by_sender = a.grad.q.at || a.grad.k.at || a.grad.v.at || by_distance,
               by_receiver = a.grad.q.at || a.grad.bias.at || a.grad.weight.at || by_distance ||
                             gnn__wants_gradient(plan, GNN_AGGREGATE_SCORE_PARAMETERS);
    for (int64_t p = 0; by_receiver && p < plan->view->n_parts; p++)
        GNN_TRY(run_part(plan, &run, &a, p, GNN__RECEIVE, threads));
    for (int64_t p = 0; by_sender && p < plan->view->n_parts; p++)
        GNN_TRY(run_part(plan, &run, &a, p, GNN__SEND, threads));
    gnn__distance_prior_grad(plan, &run.prior);
    return GNN_OK;
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    gnn__attention_t a = gnn__attention_describe(plan);
    bool tiles = false, rows = false;
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        gnn__attention_part(plan, p, GNN__FORWARD, &a);
        tiles |= in_tiles(plan, p, &a);
        rows |= !in_tiles(plan, p, &a);
    }
    snprintf(text, size, "%s%s%s", tiles ? "by_tile" : "", tiles && rows ? "+" : "",
             rows ? "by_row" : "");
}

static int64_t saved_row(const gnn__plan_t *plan, int k)
{
    return k == 0 ? plan->shape.heads : 0;
}

/* Sums by distance and those of sinks are not taken by slices. */
static bool takes_over_ranks(const gnn__plan_t *plan)
{
    return !plan->has_priors && !plan->by_distance && !has_sink(plan);
}

const gnn__strategy_t gnn__strategy_attention = {.takes = takes,
                                                 .saved_row = saved_row,
                                                 .takes_over_ranks = takes_over_ranks,
                                                 .sizes = sizes,
                                                 .forward = forward,
                                                 .backward = backward,
                                                 .describe = describe};
