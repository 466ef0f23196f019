/* Attention by its own kernels (lib/kernels/attention.h): rows for anything, tiles for dot scores on spans. Saved for backward: the output and one log-sum-exp per
 * receiver and head; a part's backward gets those of all parts together. */
#include <lib/aggregate/attention.h>
#include <lib/aggregate/attention_lanes.h>
#include <lib/aggregate/attention_tiles.h>
#include <lib/aggregate/own.h>
#include <lib/aggregate/rows.h>

#include <omp.h>

typedef struct attention_run {
    int64_t *bounds;
    gnn_real_t *lanes; /* one per thread */
    int64_t lane_size;
    gnn_real_t *largest, *sum; /* n_dst x heads */
    gnn_real_t *delta;         /* n_dst x heads, backward */
    gnn_real_t *d_a;           /* chunks x heads * d_k, backward */
    gnn_real_t *tiles;         /* forward: packed tiles; backward: their sums of d_q */
} attention_run_t;

static gnn__score_t score_of(const gnn__plan_t *plan)
{
    const struct gnn__aggregator_kernels *k = plan->row->kernels;
    return k == &gnn__dot_kernels        ? GNN__SCORE_DOT
           : k == &gnn__additive_kernels ? GNN__SCORE_ADDITIVE
                                         : GNN__SCORE_ADDITIVE_V2;
}

static gnn__matrix_t matrix(const gnn_tensor_t *t)
{
    return (gnn__matrix_t){t->data, t->stride};
}

gnn__attention_t gnn__attention_describe(const gnn__plan_t *plan)
{
    gnn__attention_t a = {.score = score_of(plan),
                          .heads = plan->shape.heads,
                          .kv_heads = plan->shape.kv_heads,
                          .d_k = plan->shape.d_k,
                          .d_v = plan->shape.d_v};
    a.scale = plan->shape.scale;
    a.level = gnn__attention_level(plan->context);
    a.amx = a.level != GNN_PRECISION_HIGHEST && gnn__amx_granted();
    a.slope = plan->shape.slope;
    a.a = plan->shape.parameters;
    a.q = matrix(&plan->in[GNN_AGGREGATE_QUERY]);
    a.k = matrix(&plan->in[GNN_AGGREGATE_KEY]);
    a.v = matrix(&plan->in[GNN_AGGREGATE_SRC_MESSAGE]);
    a.y = matrix(&plan->out);
    a.bias = matrix(&plan->in[GNN_AGGREGATE_EDGE_BIAS]);
    a.biases = plan->in[GNN_AGGREGATE_EDGE_BIAS].rows;
    a.bias_cols = plan->in[GNN_AGGREGATE_EDGE_BIAS].cols;
    a.weight = matrix(&plan->in[GNN_AGGREGATE_EDGE_WEIGHT]);
    a.weights = plan->in[GNN_AGGREGATE_EDGE_WEIGHT].rows;
    a.dropout = plan->dropping ? &plan->dropout : NULL;
    return a;
}

void gnn__attention_part(const gnn__plan_t *plan, int64_t p, gnn__pass_t pass, gnn__attention_t *a)
{
    const bool transposed = pass == GNN__SEND;
    const gnn__part_t *part = transposed ? &plan->view->transposed[p] : &plan->view->parts[p];
    a->pairs = gnn__pairs_of(part);
    a->transposed = transposed;
    a->dst_scale = gnn__dst_scale(part, transposed);
    a->src_scale = gnn__src_scale(part, transposed);
    a->first = p == 0;
    a->last = p + 1 == plan->view->n_parts;
}

void gnn__attention_gradients(const gnn__plan_t *plan, const gnn_op_call_t *call, gnn__attention_t *a)
{
    a->lse = call->saved[0];
    a->dy = matrix(&plan->d_out);
    a->d_q = matrix(&plan->d[GNN_AGGREGATE_QUERY]);
    a->d_k_rows = matrix(&plan->d[GNN_AGGREGATE_KEY]);
    a->d_v_rows = matrix(&plan->d[GNN_AGGREGATE_SRC_MESSAGE]);
    a->d_bias = matrix(&plan->d[GNN_AGGREGATE_EDGE_BIAS]);
    a->d_weight = matrix(&plan->d[GNN_AGGREGATE_EDGE_WEIGHT]);
}

void gnn__attention_keep(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        call->keep_in |= plan->has[k] ? 1u << k : 0;
    call->keep_out = 1;
}

/* Tiles know no weights: a normalised view of spans goes row by row. */
static bool in_tiles(const gnn__attention_t *a)
{
    return a->score == GNN__SCORE_DOT && !a->pairs.indptr && !a->dst_scale && !a->src_scale;
}

/* The most that any part's tiles need for all threads. */
static int64_t tile_memory(const gnn__plan_t *plan, gnn__attention_t a, gnn__pass_t pass)
{
    int64_t most = 0;
    for (int64_t p = 0; (pass == GNN__FORWARD || plan->view->transposed) && p < plan->view->n_parts;
         p++) {
        gnn__attention_part(plan, p, pass, &a);
        const int64_t numbers = !in_tiles(&a)          ? 0
                                : pass == GNN__FORWARD ? gnn__tiles_packed(&a)
                                                       : gnn__tiles_sums(&a);
        most = numbers > most ? numbers : most;
    }
    return most;
}

/* One part leaves sums and maxima of its rows to nobody, but to backward. */
static bool leaves_sums(const gnn__plan_t *plan)
{
    gnn__attention_t a = gnn__attention_describe(plan);
    gnn__attention_part(plan, 0, GNN__FORWARD, &a);
    return plan->view->n_parts > 1 || !in_tiles(&a);
}

static int memory(const gnn__plan_t *plan, void *scratch, bool backward, attention_run_t *run,
                  size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const gnn__attention_t a = gnn__attention_describe(plan);
    const int64_t most = gnn__most_chunks(plan->view), rows = gnn__attention_rows_scratch(&a),
                  tiles = gnn__attention_tiles_scratch(&a);
    int64_t lanes = 0, states = 0, sums = 0;
    run->lane_size = ((rows > tiles ? rows : tiles) + 15) / 16 * 16;
    carve.overflow |= !gnn__mul(run->lane_size, plan->context->threads, &lanes) ||
                      !gnn__mul(plan->graph->n_dst, a.heads, &states) ||
                      !gnn__mul(most, a.heads * a.d_k, &sums);
    run->bounds = gnn__carve(&carve, most + 1, sizeof *run->bounds);
    run->lanes = gnn__carve(&carve, lanes, sizeof *run->lanes);
    if (backward) {
        run->delta = gnn__carve(&carve, states, sizeof *run->delta);
        run->d_a =
            gnn__carve(&carve, plan->has[GNN_AGGREGATE_PARAMETERS] ? sums : 0, sizeof *run->d_a);
        run->tiles = gnn__carve(&carve, tile_memory(plan, a, GNN__SEND), sizeof *run->tiles);
    } else {
        const bool leaves = leaves_sums(plan), apart = leaves && !plan->recording;
        run->sum = leaves ? gnn__carve(&carve, states, sizeof *run->sum) : NULL;
        run->largest = apart ? gnn__carve(&carve, states, sizeof *run->largest) : NULL;
        run->tiles = gnn__carve(&carve, tile_memory(plan, a, GNN__FORWARD), sizeof *run->tiles);
    }
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    attention_run_t run;
    if (gnn__lanes_take(plan))
        return gnn__lanes_sizes(plan, call);
    GNN_TRY(memory(plan, NULL, false, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    GNN_TRY(memory(plan, NULL, true, &run, &call->backward_scratch));
    gnn__carve_t saved = {0};
    gnn__carve(&saved, plan->graph->n_dst * plan->shape.heads, sizeof(gnn_real_t));
    gnn__attention_keep(plan, call);
    return gnn__carved(&saved, &call->saved_bytes[0]);
}

int64_t gnn__attention_work(const gnn__plan_t *plan)
{
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        pairs += plan->view->parts[p].pairs + plan->view->parts[p].n_rows;
    const int64_t most = (int64_t)1 << 40;
    return (pairs < most ? pairs : most) *
           (plan->out_width + plan->query_width + 8 * plan->shape.heads);
}

/* ---- one part, in fixed chunks ---- */

static void run_rows(const gnn__plan_t *plan, const attention_run_t *run, const gnn__attention_t *a,
                     const gnn__part_t *part, gnn__pass_t pass, int threads)
{
    const gnn__attention_rows_t *kernels = gnn__attention_rows();
    const int64_t chunks = gnn__part_chunks(part, gnn__per_chunk(part), run->bounds),
                  width = a->heads * a->d_k;
    const bool parameters = pass == GNN__RECEIVE && gnn__wants(plan, GNN_AGGREGATE_PARAMETERS);
    gnn__deal_t deal = gnn__deal(chunks, threads);
#pragma omp parallel num_threads(threads)
    for (int64_t c; (c = gnn__deal_next(&deal)) >= 0;) {
        gnn_real_t *lane = run->lanes + omp_get_thread_num() * run->lane_size,
                   *d_a = parameters ? run->d_a + c * width : NULL;
        if (d_a)
            memset(d_a, 0, sizeof *d_a * (size_t)width);
        if (pass == GNN__FORWARD)
            kernels->forward(a, run->bounds[c], run->bounds[c + 1], lane);
        else if (pass == GNN__RECEIVE)
            kernels->receive(a, run->bounds[c], run->bounds[c + 1], lane, d_a);
        else
            kernels->send(a, run->bounds[c], run->bounds[c + 1], lane);
    }
    if (parameters)
        gnn__add_partials(&plan->d[GNN_AGGREGATE_PARAMETERS], run->d_a, chunks, width);
}

/* Tiles do both passes of backward in one, by sender. */
static void run_part(const gnn__plan_t *plan, const attention_run_t *run, gnn__attention_t *a,
                     int64_t p, gnn__pass_t pass, int threads)
{
    gnn__attention_part(plan, p, pass, a);
    if (in_tiles(a) && pass == GNN__FORWARD)
        gnn__tiles_forward(a, run->lanes, run->lane_size, run->tiles, threads);
    else if (in_tiles(a) && pass == GNN__SEND)
        gnn__tiles_backward(a, run->lanes, run->lane_size, run->tiles, threads);
    else if (!in_tiles(a) && (pass != GNN__SEND || a->d_k_rows.at || a->d_v_rows.at))
        run_rows(plan, run, a, pass == GNN__SEND ? &plan->view->transposed[p] : &plan->view->parts[p],
                 pass, threads);
}

/* ---- forward and backward ---- */

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    attention_run_t run;
    size_t bytes;
    if (gnn__lanes_take(plan))
        return gnn__lanes_forward(plan, call);
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    gnn__attention_t a = gnn__attention_describe(plan);
    a.largest = plan->recording ? call->saved[0] : run.largest;
    a.sum = run.sum;
    const int threads = gnn__threads(plan->context, gnn__attention_work(plan));
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        run_part(plan, &run, &a, p, GNN__FORWARD, threads);
    return GNN_OK;
}

static void compute_delta(const gnn__plan_t *plan, const attention_run_t *run,
                          const gnn__attention_t *a, int threads)
{
    const gnn__attention_rows_t *kernels = gnn__attention_rows();
    const int64_t n = plan->graph->n_dst, per = 256, blocks = (n + per - 1) / per;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t b = 0; b < blocks; b++)
        kernels->delta(a, b * per, b * per + per < n ? b * per + per : n, run->delta);
}

/* Gradients that tiles write: nobody needs to zero them. */
static unsigned written_by_tiles(const gnn__plan_t *plan, gnn__attention_t *a)
{
    const unsigned written = gnn__written_gradients(plan, GNN__SPANS);
    if (written == 0)
        return 0;
    gnn__attention_part(plan, 0, GNN__SEND, a);
    if (!in_tiles(a))
        return 0;
    a->writes_q = written >> GNN_AGGREGATE_QUERY & 1 ? plan->graph->n_dst : 0;
    a->writes_k = written >> GNN_AGGREGATE_KEY & 1;
    a->writes_v = written >> GNN_AGGREGATE_SRC_MESSAGE & 1;
    return written;
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    attention_run_t run;
    size_t bytes;
    if (gnn__lanes_take(plan))
        return gnn__lanes_backward(plan, call);
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    gnn__attention_t a = gnn__attention_describe(plan);
    gnn__attention_gradients(plan, call, &a);
    a.delta = run.delta;
    gnn__zero_gradients(plan, written_by_tiles(plan, &a));
    const int threads = gnn__gradient_threads(plan, gnn__attention_work(plan));
    compute_delta(plan, &run, &a, threads);
    const bool by_receiver =
        a.d_q.at || a.d_bias.at || a.d_weight.at || gnn__wants(plan, GNN_AGGREGATE_PARAMETERS);
    for (int64_t p = 0; by_receiver && p < plan->view->n_parts; p++)
        run_part(plan, &run, &a, p, GNN__RECEIVE, threads);
    for (int64_t p = 0; (a.d_q.at || a.d_k_rows.at || a.d_v_rows.at) && p < plan->view->n_parts; p++)
        run_part(plan, &run, &a, p, GNN__SEND, threads);
    return GNN_OK;
}

/* A graph without parts goes to the driver, so do keys and values of width 0. */
static bool takes(const gnn__plan_t *plan)
{
    return gnn__is_plain(plan) && plan->view->n_parts > 0 && plan->shape.d_k > 0 &&
           plan->shape.d_v > 0;
}

/* Rows that are done after one part, not in tiles, and that backward will not ask for. */
static unsigned finishes(const gnn__plan_t *plan)
{
    return !plan->recording && plan->view->n_parts == 1 && gnn__lanes_take(plan)
               ? 1u << GNN__THEN_BIAS
               : 0;
}

const struct gnn__aggregator_kernels gnn__dot_kernels = {takes, sizes, forward, backward, finishes};
const struct gnn__aggregator_kernels gnn__additive_kernels = {takes, sizes, forward, backward,
                                                              finishes};
const struct gnn__aggregator_kernels gnn__additive_v2_kernels = {takes, sizes, forward, backward,
                                                                 finishes};
