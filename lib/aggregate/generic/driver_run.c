/* What forward and backward of the generic driver share: memory of a run, and the walk over a part's pairs. */
#include <lib/aggregate/generic/driver.h>

#include <omp.h>

int64_t gnn__driver_work(const gnn__plan_t *plan)
{
    const int64_t most = (int64_t)1 << 40; /* beyond that every thread has enough to do */
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        pairs += plan->view->parts[p].pairs.count;
    return gnn__min(pairs, most) *
           (plan->message_width + plan->key_width + plan->d_e * plan->edge_width + 16);
}

void gnn__driver_common_memory(const gnn__plan_t *plan, gnn__carve_t *carve, gnn__driver_run_t *run)
{
    const int64_t positions = gnn__positions_size(plan);
    int64_t scratch = 0;
    run->bounds = gnn__carve(carve, gnn__most_chunks(plan->view) + 1, sizeof *run->bounds);
    run->positions = gnn__carve(carve, positions, sizeof *run->positions);
    if (positions == 0)
        run->positions = NULL;
    run->scratch_bytes = gnn__pair_scratch_bytes(plan, carve);
    run->state_size = (int64_t)plan->aggregator->state(&plan->shape);
    carve->overflow |= !gnn__mul(run->scratch_bytes, plan->threads, &scratch);
    run->scratch = gnn__carve(carve, scratch, 1);
}

gnn__pair_scratch_t gnn__driver_scratch(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    return gnn__pair_scratch(plan, run->scratch + omp_get_thread_num() * run->scratch_bytes);
}

int64_t gnn__driver_visit(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t p,
                          bool transposed, int threads, gnn__visit_t *visit)
{
    const gnn__listener_t listener = gnn__listener(plan, p, transposed, run->positions);
    const gnn__pairs_t *pairs = listener.pairs;
    const int64_t chunks = gnn__chunks(pairs, run->bounds);
    const bool sums = run->partials && !transposed;
    GNN__EACH_CHUNK (c, chunks, threads) {
        const gnn__pair_scratch_t scratch = gnn__driver_scratch(plan, run);
        gnn_real_t *partial = sums ? run->partials + c * run->shared.size : NULL;
        gnn__pair_t pair;
        if (partial)
            memset(partial, 0, sizeof *partial * (size_t)run->shared.size);
        for (int64_t r = run->bounds[c]; r < run->bounds[c + 1]; r++) {
            const int64_t node = gnn__pairs_node(pairs, r), to = gnn__pairs_to(pairs, r);
            for (int64_t at = gnn__pairs_from(pairs, r); at < to; at++) {
                gnn__pair_load(&listener, node, at, &scratch, &pair);
                visit(plan, run, &scratch, &pair, partial);
            }
        }
    }
    return chunks;
}
