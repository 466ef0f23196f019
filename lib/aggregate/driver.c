/* The generic driver, forward: state, accumulate part after part, finish. Every thread owns receivers; a receiver takes its senders in the order of its part,
 * so the number of threads changes nothing. */
#include <lib/aggregate/driver.h>

#include <omp.h>

int64_t gnn__work(const gnn__plan_t *plan)
{
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        pairs += plan->view->parts[p].pairs;
    const int64_t most = (int64_t)1 << 40; /* beyond that every thread has enough to do */
    return (pairs < most ? pairs : most) *
           (plan->message_width + plan->key_width + plan->d_e * plan->edge_width + 16);
}

void gnn__run_common(const gnn__plan_t *plan, gnn__carve_t *carve, gnn__run_t *run)
{
    run->bounds = gnn__carve(carve, gnn__most_chunks(plan->view) + 1, sizeof *run->bounds);
    run->positions = gnn__carve(carve, gnn__positions_size(plan), sizeof *run->positions);
    run->lane_size = gnn__lane_size(plan);
    run->state_size = (int64_t)plan->row->state(&plan->shape);
    int64_t lanes = 0;
    carve->overflow |= !gnn__mul(run->lane_size, plan->context->threads, &lanes);
    run->lanes = gnn__carve(carve, lanes, sizeof *run->lanes);
    if (gnn__positions_size(plan) == 0)
        run->positions = NULL;
}

static int64_t all_states(const gnn__plan_t *plan, const gnn__run_t *run, gnn__carve_t *carve)
{
    int64_t count = 0;
    carve->overflow |= !gnn__mul(plan->graph->n_dst, run->state_size, &count);
    return count;
}

static int forward_memory(const gnn__plan_t *plan, void *scratch, gnn__run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    gnn__run_common(plan, &carve, run);
    if (!plan->recording)
        run->states = gnn__carve(&carve, all_states(plan, run, &carve), sizeof *run->states);
    return gnn__carved(&carve, bytes);
}

static bool takes(const gnn__plan_t *plan)
{
    (void)plan;
    return true;
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__run_t run = {0};
    GNN_TRY(forward_memory(plan, NULL, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    gnn__carve_t saved = {0};
    gnn__carve(&saved, all_states(plan, &run, &saved), sizeof(gnn_real_t));
    GNN_TRY(gnn__carved(&saved, &call->saved_bytes[0]));
    saved = (gnn__carve_t){0};
    int64_t outputs = 0;
    saved.overflow |= !gnn__mul(plan->graph->n_dst, plan->out_width, &outputs);
    gnn__carve(&saved, plan->has[GNN_AGGREGATE_GATE] ? outputs : 0, sizeof(gnn_real_t));
    GNN_TRY(gnn__carved(&saved, &call->saved_bytes[1]));
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        call->keep_in |= plan->has[k] ? 1u << k : 0;
    call->keep_out = plan->has[GNN_AGGREGATE_GATE] ? 0 : 1;
    return gnn__driver_backward_memory(plan, NULL, &run, &call->backward_scratch);
}

static void hear_part(const gnn__plan_t *plan, const gnn__run_t *run, int64_t p, int threads)
{
    const gnn__listener_t listener = gnn__listener(plan, p, false, run->positions);
    const int64_t chunks =
        gnn__part_chunks(listener.part, gnn__per_chunk(listener.part), run->bounds);
    gnn__deal_t deal = gnn__deal(chunks, threads);
#pragma omp parallel num_threads(threads)
    for (int64_t c; (c = gnn__deal_next(&deal)) >= 0;) {
        const gnn__lane_t lane = gnn__lane(plan, run->lanes + omp_get_thread_num() * run->lane_size);
        gnn__pair_t pair;
        for (int64_t r = run->bounds[c]; r < run->bounds[c + 1]; r++) {
            gnn__walk_t walk = gnn__walk_row(listener.part, r);
            while (gnn__next_pair(&listener, &walk, &lane, &pair))
                plan->row->accumulate(&plan->shape, gnn__state(run, pair.i), &pair.edge);
        }
    }
}

static void finish_row(const gnn__plan_t *plan, const gnn__run_t *run, int64_t i)
{
    gnn_real_t *out = gnn__row(&plan->out, i), *raw = run->raw ? run->raw + i * plan->out_width : out;
    if (plan->view->degree[i] == 0)
        memset(raw, 0, sizeof *raw * (size_t)plan->out_width);
    else
        plan->row->finish(&plan->shape, gnn__state(run, i), raw);
    if (!plan->has[GNN_AGGREGATE_GATE])
        return;
    const gnn_real_t *gate = gnn__row(&plan->in[GNN_AGGREGATE_GATE], i);
    for (int64_t c = 0; c < plan->out_width; c++)
        out[c] = gate[c / plan->shape.d_v] * raw[c];
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__run_t run = {0};
    size_t bytes;
    GNN_TRY(forward_memory(plan, call->scratch, &run, &bytes));
    const int64_t n = plan->graph->n_dst;
    if (plan->recording) {
        run.states = call->saved[0];
        run.raw = plan->has[GNN_AGGREGATE_GATE] ? call->saved[1] : NULL;
    }
    if (n * run.state_size > 0)
        memset(run.states, 0, sizeof *run.states * (size_t)(n * run.state_size));
    gnn__fill_positions(plan, run.positions);
    const int threads = gnn__threads(plan->context, gnn__work(plan));
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        hear_part(plan, &run, p, threads);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        finish_row(plan, &run, i);
    gnn__weights_out(plan, &run);
    return GNN_OK;
}

const struct gnn__aggregator_kernels gnn__driver = {takes, sizes, forward, gnn__driver_backward,
                                                    NULL};
